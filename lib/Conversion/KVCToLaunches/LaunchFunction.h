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
#include "kvc/Conversion/KernelABI.h"
#include "kvc/Conversion/WorkList.h"

namespace kvc {

/// A kernel of the gpu.module.
struct Kernel {
  KernelDescription description;
  int32_t index; ///< In the program.
  mlir::LLVM::LLVMFuncOp op;
};

/// Lowers one function to the two entry points of the host ABI, which launch its
/// kernels.
class LaunchFunction : HostEntries {
public:
  /// `kernels` are those of the function, in the order of the gpu.module.
  LaunchFunction(mlir::func::FuncOp function, int64_t index, mlir::SymbolTable &symbols,
                 llvm::SmallVector<Kernel> kernels);

  /// Emits `needs` and `run` after the function, and adds them to the module's
  /// list. Emits an error if the kernels do not fit the function.
  llvm::LogicalResult lower();

private:
  /// Part of the workspace that one phase of an attention uses; offsets are i64.
  struct AttentionSpace {
    WorkListBounds bounds;
    Value target;  ///< "list target", i64.
    Value cluster; ///< "list cluster", i64.
    Value counts, items, merges, partsOutput, partsStats, end;
  };

  // Which kernels compute what (Kernels.cpp).
  llvm::LogicalResult assignKernels();
  llvm::LogicalResult checkKernel(const Kernel &kernel);
  llvm::LogicalResult checkParameters(const Kernel &kernel);
  llvm::LogicalResult checkOperation(mlir::Operation &op);
  llvm::LogicalResult checkPhases(AttentionOp op);
  llvm::LogicalResult checkPhase(AttentionOp op, KernelPhase phase);
  llvm::LogicalResult checkWritten();
  llvm::LogicalResult setAlignments();
  /// The operation that an entry of the kernel's parameters is about; null if there
  /// is none.
  mlir::Operation *getOwner(const Kernel &kernel, const KernelParameter &parameter);
  /// The tensor or cache that an entry stands for.
  Value getArgument(const Kernel &kernel, const KernelParameter &parameter);
  bool hasPhase(AttentionOp op, KernelPhase phase);
  /// The attention kernel that belongs to `kernel`, one of an attention.
  const Kernel &getAttentionKernel(const Kernel &kernel);

  // Entry points.
  void emitNeeds();
  void emitRun();
  void emitLauncher();
  /// The tensors of an operation have as many rows as its batch has tokens.
  void checkRows(mlir::Operation &op);
  /// Rows of the results of an operation in `run`, i64.
  Value emitRows(mlir::Operation *op);
  int32_t getMaxQueryLen();
  llvm::SmallVector<int32_t> getAlignments();

  // Workspace: the intermediate tensors, then what attentions and host code need in turn:
  // the kernels of one are done before those of the next begin.
  AttentionSpace emitAttentionSpace(const Kernel &attention, const Sizes &sizes, Value begin);
  /// Its end; fills `spaces`.
  Value emitWorkspaceEnd(const Shapes &shapes, llvm::function_ref<Sizes(AttentionOp)> sizesOf);
  bool isPlaced(Value result);

  // Launches (Launch.cpp).
  void emitLaunch(const Kernel &kernel);
  /// i64: the number of blocks that have work along the free dimension of the grid.
  Value emitUsefulBlocks(const Kernel &kernel);
  Value emitGrid(const Kernel &kernel, Value useful);
  /// As kvc_rt_api_t::launch takes it.
  Value emitClusterShape(const Kernel &kernel);
  /// The values of parameters as kvc_rt_api_t::launch takes them.
  Value emitParameters(const Kernel &kernel);
  void emitParameter(const Kernel &kernel, const KernelParameter &parameter,
                     llvm::SmallVectorImpl<Value> &results);
  /// Items to aim at, i64: with them, as many blocks as run at once are busy.
  Value emitTarget(const Kernel &attention, Value workers);
  /// Blocks of a cluster, i64: a power of two up to what the kernel takes, with which
  /// there are at least as many clusters as query blocks.
  Value emitCluster(const Kernel &attention, Value target, Value tokens);

  llvm::SmallVector<Kernel> kernels;
  llvm::SmallVector<mlir::Operation *> body; ///< The function's operations.
  llvm::DenseMap<mlir::Operation *, llvm::SmallVector<Kernel>> kernelsOf;
  llvm::DenseSet<mlir::Operation *> covered; ///< Named by another's kernel.
  llvm::DenseSet<Value> computed;            ///< Results that kernels write.
  llvm::DenseMap<Value, int32_t> alignments; ///< Of tensors and caches, in bytes.
  /// By attention kernel.
  llvm::DenseMap<mlir::Operation *, AttentionSpace> spaces;
  Value partSpace; ///< Where host code has its own, i64.
  Value workers;   ///< Multiprocessors of the stream in `run`, i32.
};

/// The batch of an operation; null if it has none.
mlir::Value getBatch(mlir::Operation *op);

} // namespace kvc

#endif // KVC_LIB_CONVERSION_KVCTOLAUNCHES_LAUNCHFUNCTION_H
