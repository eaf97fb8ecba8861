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

#include "llvm/ADT/StringMap.h"

namespace kvc {

/// Where a kernel comes from.
struct KernelOrigin {
  llvm::StringRef function;
  int32_t op; ///< Index of the operation in the function.
};

/// The parameters of a kernel, named as KernelABI.h says.
class KernelSignature {
public:
  explicit KernelSignature(mlir::Operation *op) : op(op) {}

  /// `alignment`: bytes that data and strides are a multiple of; 0: an element.
  void add(llvm::StringRef name);
  void addTensor(mlir::Value tensor, int32_t alignment = 0) {
    addTensorOf(op, tensor, alignment);
  }
  /// A tensor of `owner`, which may be another operation of the block, whose work this
  /// kernel does too.
  void addTensorOf(mlir::Operation *owner, mlir::Value tensor, int32_t alignment = 0);
  void addComponent(ComponentAttr component, int32_t alignment = 0);

  llvm::SmallVector<std::string> names;
  llvm::SmallVector<mlir::Type> types;
  llvm::SmallVector<int32_t> alignments;

private:
  friend class KernelArguments;
  mlir::Operation *op;
  llvm::StringMap<unsigned> indices;
  void add(std::string name, mlir::Type type, int32_t alignment);
  std::string nameOf(mlir::Operation *owner, mlir::Value tensor) const;
};

/// The arguments of a kernel by the same names.
class KernelArguments {
public:
  KernelArguments() = default;
  KernelArguments(const KernelSignature &signature, mlir::ValueRange values)
      : signature(&signature), values(values) {}

  mlir::Value get(llvm::StringRef name) const;
  mlir::Value tensor(mlir::Value tensor) const { return tensorOf(signature->op, tensor); }
  mlir::Value tensorOf(mlir::Operation *owner, mlir::Value tensor) const;
  mlir::Value component(ComponentAttr component) const;

private:
  const KernelSignature *signature = nullptr;
  mlir::ValueRange values;
};

/// Creates a kernel, with the builder at the start of its body and `arguments` set.
/// `grid`: 0 along a dimension where any number of blocks is right.
kvtile::KernelOp createKernel(mlir::OpBuilder &b, mlir::Location loc, llvm::StringRef name,
                              const KernelOrigin &origin, llvm::StringRef kind,
                              llvm::ArrayRef<int32_t> grid, int64_t threads,
                              int64_t sharedBytes, const KernelSignature &signature,
                              KernelArguments &arguments);

/// What the host must know to size the work list and the parts.
void setPartAttributes(kvtile::KernelOp kernel, AttentionOp op, const KernelShape &shape);

/// The attention of the items of one phase.
void emitStreamKernel(mlir::OpBuilder &b, llvm::StringRef name, llvm::StringRef phase,
                      const KernelOrigin &origin, AttentionOp op, const KernelShape &shape);

/// Puts the parts of the split items of one phase together.
void emitCombineKernel(mlir::OpBuilder &b, llvm::StringRef name, llvm::StringRef phase,
                       const KernelOrigin &origin, AttentionOp op, const KernelShape &shape);

void emitAppendKernel(mlir::OpBuilder &b, llvm::StringRef name, const KernelOrigin &origin,
                      AppendOp op);

/// The rope that makes `value`, if the kernel of `append` rotates as it copies.
RopeOp getFusedRope(AppendOp append, mlir::Value value);
/// True if a kernel of an append does the work of `rope`.
bool isFusedRope(RopeOp rope);

llvm::LogicalResult checkRope(RopeOp op);
void emitRopeKernel(mlir::OpBuilder &b, llvm::StringRef name, const KernelOrigin &origin,
                    RopeOp op);

llvm::LogicalResult checkMerge(MergeOp op);
void emitMergeKernel(mlir::OpBuilder &b, llvm::StringRef name, const KernelOrigin &origin,
                     MergeOp op);

} // namespace kvc

#endif // KVC_LIB_CONVERSION_KVCTOKVTILE_KERNELS_H
