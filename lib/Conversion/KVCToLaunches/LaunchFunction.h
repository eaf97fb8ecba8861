//===- LaunchFunction.h - the host side of GPU programs ---------*- C++ -*-===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef KVC_LIB_CONVERSION_KVCTOLAUNCHES_LAUNCHFUNCTION_H
#define KVC_LIB_CONVERSION_KVCTOLAUNCHES_LAUNCHFUNCTION_H

#include "kvc/Conversion/HostEntries.h"
#include "kvc/Conversion/WorkList.h"

namespace kvc {

/// A kernel of the gpu.module, as its attributes describe it (KVCToNVVM.h).
struct Kernel {
  llvm::StringRef function, kind;
  int64_t grid[3]; ///< 0: what is useful, up to the limit.
  int64_t threads, sharedBytes;
  int32_t index; ///< In the program.
  mlir::LLVM::LLVMFuncOp op;
};

/// Lowers one function to the two entry points of the host ABI, which launch its
/// kernels.
class LaunchFunction : HostEntries {
public:
  /// `kernels` are those of the function, in the order of their launches.
  LaunchFunction(mlir::func::FuncOp function, int64_t index, mlir::SymbolTable &symbols,
                 llvm::SmallVector<Kernel> kernels);

  /// Emits `needs` and `run` after the function, and adds them to the module's
  /// list. Emits an error if the function holds what has no kernel.
  llvm::LogicalResult lower();

private:
  /// Part of the workspace that the attention uses; offsets are i64.
  struct AttentionSpace {
    WorkListBounds bounds;
    Value counts, items, merges, partOutput, partStats, end;
  };

  llvm::LogicalResult assignKernels();
  llvm::LogicalResult assign(mlir::Operation *op, llvm::ArrayRef<llvm::StringRef> kinds);
  /// A number that the attention's kernel states of itself.
  int64_t getConstant(AttentionOp op, llvm::StringRef name);

  // Entry points.
  void emitNeeds();
  void emitRun();
  /// The tensors of an operation have as many rows as its batch has tokens.
  void checkRows(mlir::Operation &op);
  llvm::SmallVector<int32_t> getAlignments();

  // Workspace: the intermediate tensors, then what the attention needs.
  AttentionSpace emitAttentionSpace(AttentionOp op, const Sizes &sizes, Value begin);
  /// Its end; fills `space` if there is an attention.
  Value emitWorkspaceEnd(llvm::function_ref<Sizes(AttentionOp)> sizesOf);

  // Operations in `run`.
  void emitAppend(AppendOp op);
  void emitAttention(AttentionOp op);

  // Launches.
  /// Lays the values of parameters out as kvc_rt_api_t::launch takes them.
  Value emitParameters(llvm::ArrayRef<Value> parameters);
  /// Launches `kernel` unless `useful` (i64), the number of blocks that have work
  /// along the free dimension of its grid, is 0.
  void emitLaunch(const Kernel &kernel, Value useful, Value parameters);
  Value emitGrid(const Kernel &kernel, Value useful);
  void appendView(Value cache, ComponentAttr component,
                  llvm::SmallVectorImpl<Value> &parameters);
  /// Data and strides of the first two dimensions.
  void appendTensor(Value tensor, llvm::SmallVectorImpl<Value> &parameters);

  llvm::SmallVector<Kernel> kernels;
  llvm::DenseMap<mlir::Operation *, llvm::SmallVector<Kernel>> kernelsOf;
  AttentionSpace space;
  Value workers; ///< Multiprocessors of the stream in `run`, i32.
};

} // namespace kvc

#endif // KVC_LIB_CONVERSION_KVCTOLAUNCHES_LAUNCHFUNCTION_H
