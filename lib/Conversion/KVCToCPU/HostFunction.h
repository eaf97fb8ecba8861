//===- HostFunction.h - the host side of CPU programs -----------*- C++ -*-===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Lowers one function of kvc operations to kernels and to the two entry points of
// the host ABI.
//===----------------------------------------------------------------------===//
#ifndef KVC_LIB_CONVERSION_KVCTOCPU_HOSTFUNCTION_H
#define KVC_LIB_CONVERSION_KVCTOCPU_HOSTFUNCTION_H

#include "AttentionKernel.h"
#include "Emitter.h"
#include "kvc/Conversion/HostEntries.h"

namespace kvc {

class HostFunction : HostEntries {
public:
  /// `symbols` is the table of the function's module.
  HostFunction(mlir::func::FuncOp function, int64_t index, CPUTier tier,
               mlir::SymbolTable &symbols);

  /// Emits the kernels, `needs` and `run` after the function, and adds them to the
  /// module's list. Emits an error if the function holds what has no lowering.
  llvm::LogicalResult lower();

private:
  /// Offsets of the parts of the workspace that one attention uses (i64).
  struct AttentionSpace {
    Value items, merges, parts, scratch, end;
  };
  /// The two kernels of an attention, and the merge of the first.
  struct AttentionFunctions {
    std::unique_ptr<AttentionKernel> decode, prefill;
    mlir::LLVM::LLVMFuncOp decodeFunction, mergeFunction, prefillFunction;
  };

  llvm::LogicalResult checkBody();

  // Kernels.
  mlir::LLVM::LLVMFuncOp
  emitKernel(mlir::Operation *op, llvm::StringRef name,
             llvm::function_ref<void(Value params, Value item, Value worker)> body);
  void emitAttentionKernels(AttentionOp op);

  // Entry points.
  void emitNeeds();
  llvm::LogicalResult emitRun();

  // Workspace.
  AttentionSpace emitAttentionSpace(const AttentionKernel &kernel, const Sizes &sizes,
                                    Value begin);
  /// True if it is a tensor that lies in the workspace.
  static bool isPlaced(Value result);
  /// End of the workspace, after the intermediate tensors and the largest attention or
  /// part of host code, of which `sizesOf` gives what the attentions depend on.
  Value emitWorkspaceEnd(const Shapes &shapes,
                         llvm::function_ref<Sizes(mlir::Operation *)> sizesOf);

  // Operations in `run`.
  llvm::LogicalResult emitOperation(mlir::Operation &op);
  void emitAttention(AttentionOp op);
  Value emitAttentionPhase(AttentionOp op, Phase phase, Value batch, Value params,
                           const Sizes &sizes);
  void emitAppend(AppendOp op);
  void emitRope(RopeOp op);
  void emitMerge(MergeOp op);

  /// Checks a batch or cache that was made in this function before it is used.
  void checkUse(Value batch, Value cache);
  void runRowKernel(mlir::Operation *op, Value params, Value tokens);
  Value parallelFor(mlir::LLVM::LLVMFuncOp kernel, Value params, Value count);

  void setTensor(Value params, int64_t field, Value tensor);
  void setArray(Value params, int64_t field, Value cache, llvm::StringRef name);
  void setComponent(Value params, int64_t field, Value cache, ComponentAttr component);

  Emitter e;
  llvm::DenseMap<mlir::Operation *, mlir::LLVM::LLVMFuncOp> rowKernels;
  llvm::DenseMap<mlir::Operation *, AttentionFunctions> attentions;
  Shapes shapes;  ///< In `run`.
  Value scratch; ///< Offset of what attentions and host code share.
};

} // namespace kvc

#endif // KVC_LIB_CONVERSION_KVCTOCPU_HOSTFUNCTION_H
