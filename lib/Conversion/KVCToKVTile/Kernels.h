//===- Kernels.h - the kernels of kvc operations ----------------*- C++ -*-===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef KVC_LIB_CONVERSION_KVCTOKVTILE_KERNELS_H
#define KVC_LIB_CONVERSION_KVCTOKVTILE_KERNELS_H

#include "KernelShape.h"

#include "kvc/Conversion/KernelABI.h"

namespace kvc {

/// The parameters of a kernel, and what it is given for them once it is created.
class KernelArguments {
public:
  using Value = mlir::Value;

  explicit KernelArguments(mlir::Operation *op) : op(op) {}

  /// Adds a parameter. `alignment`: bytes that data and strides are a multiple of; 0: an
  /// element.
  void add(KernelValue value);
  void addTensor(Value tensor, int32_t alignment = 0) { addTensorOf(op, tensor, alignment); }
  /// A tensor of `owner`, which may be another operation of the block, whose work this
  /// kernel does too.
  void addTensorOf(mlir::Operation *owner, Value tensor, int32_t alignment = 0);
  /// An array of the cache: the elements of a component, its scales or zero points.
  void addArray(llvm::StringRef name, int32_t alignment = 0);

  Value get(KernelValue value) const { return find(value); }
  Value tensor(Value tensor) const { return tensorOf(op, tensor); }
  Value tensorOf(mlir::Operation *owner, Value tensor) const;
  Value array(llvm::StringRef name) const;

private:
  friend kvtile::KernelOp createKernel(mlir::OpBuilder &b, mlir::Location loc,
                                       llvm::StringRef name, KernelDescription description,
                                       KernelArguments &arguments);
  void add(const KernelParameter &parameter, mlir::Type type, int32_t alignment);
  KernelParameter parameterOf(mlir::Operation *owner, Value tensor) const;
  Value find(const KernelParameter &parameter) const;

  mlir::Operation *op;
  llvm::SmallVector<KernelParameter> parameters;
  llvm::SmallVector<mlir::Type> types;
  llvm::SmallVector<int32_t> alignments;
  mlir::ValueRange values;
};

/// Creates the kernel that `description` describes but for its parameters, which
/// `arguments` has, with the builder at the start of its body.
kvtile::KernelOp createKernel(mlir::OpBuilder &b, mlir::Location loc, llvm::StringRef name,
                              KernelDescription description, KernelArguments &arguments);

/// Describes the kernel of an attention, with what the host must know to size the work
/// list and the parts. `origin`: what all kernels of its phase share.
KernelDescription describeAttention(const KernelDescription &origin, AttentionOp op,
                                    const KernelShape &shape);

/// The attention of the items of one phase. Here as below, `origin` is the description of
/// function, operation and phase.
void emitStreamKernel(mlir::OpBuilder &b, llvm::StringRef name, const KernelDescription &origin,
                      AttentionOp op, const KernelShape &shape);

/// Puts the parts of the split items of one phase together.
void emitCombineKernel(mlir::OpBuilder &b, llvm::StringRef name,
                       const KernelDescription &origin, AttentionOp op,
                       const KernelShape &shape);

/// Copies the components that are not quantised.
void emitAppendKernel(mlir::OpBuilder &b, llvm::StringRef name, const KernelDescription &origin,
                      AppendOp op);

/// The same for components that are quantised, and the count of what was not finite in
/// what they are given.
void emitQuantizedAppendKernel(mlir::OpBuilder &b, llvm::StringRef name,
                               const KernelDescription &origin, AppendOp op);
void emitCountKernel(mlir::OpBuilder &b, llvm::StringRef name, const KernelDescription &origin,
                     AppendOp op);

/// The rope that makes `value`, if the kernel of `append` rotates as it copies.
RopeOp getFusedRope(AppendOp append, mlir::Value value);
/// True if a kernel of an append does the work of `rope`.
bool isFusedRope(RopeOp rope);

llvm::LogicalResult checkRope(RopeOp op);
void emitRopeKernel(mlir::OpBuilder &b, llvm::StringRef name, const KernelDescription &origin,
                    RopeOp op);

llvm::LogicalResult checkMerge(MergeOp op);
void emitMergeKernel(mlir::OpBuilder &b, llvm::StringRef name, const KernelDescription &origin,
                     MergeOp op);

} // namespace kvc

#endif // KVC_LIB_CONVERSION_KVCTOKVTILE_KERNELS_H
