//===- Rows.h - kernels over rows -------------------------------*- C++ -*-===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef KVC_LIB_CONVERSION_KVCTOKVTILE_ROWS_H
#define KVC_LIB_CONVERSION_KVCTOKVTILE_ROWS_H

#include "Kernels.h"

#include "kvc/Conversion/KernelBuilder.h"

namespace kvc {

/// The skeleton of kernels in which a thread block takes one row at a time: head
/// blockIdx.x of entries blockIdx.y, blockIdx.y + gridDim.y, ... (tokens, or what else
/// is counted), with the columns of a row shared among its threads.
class RowKernel {
public:
  using Value = mlir::Value;

  /// `columns`: those of the widest row.
  RowKernel(mlir::OpBuilder &b, mlir::Operation *op, int64_t columns);

  /// Creates the kernel, once `arguments` has its parameters. `gridZ`: blocks along z.
  kvtile::KernelOp begin(llvm::StringRef name, const KernelDescription &origin, KernelKind kind,
                         int64_t heads, int64_t gridZ = 1, int64_t sharedBytes = 0);
  void end() { kvtile::ReturnOp::create(k.b, k.loc); }

  /// Emits `body` for each entry of this block; `count` is i32 or i64.
  void forEntries(Value count, llvm::function_ref<void(Value)> body);
  /// Emits `body` for each of `count` columns of this thread, from `first` on.
  void forColumns(int64_t count, llvm::function_ref<void(Value)> body, int64_t first = 0);
  /// The maximum (f32) of `value` of 0 to `count` - 1, -inf if there is none, in all
  /// threads. Every thread of a warp has to get here.
  Value maxOf(Value count, llvm::function_ref<Value(Value)> value);

  /// Addresses in global memory.
  Value row(Value rows, Value token, Value head);
  Value pageRow(Value pages, Value slot, Value head);
  Value element(Value heads, Value head);
  /// Loads the f32 that `sinks`, a tensor that may be null, has for this head.
  Value loadSink(Value sinks);

  kvtile::KernelBuilder k;
  KernelArguments arguments;
  int64_t threads;
  Value thread, head; ///< i32
};

/// Calls its argument with the addresses of each row, before and after.
using ForEachRow = llvm::function_ref<void(
    llvm::function_ref<void(mlir::Value from, mlir::Value to)>)>;

/// Adds what a rotation takes, of a rope that is or is not the operation of the kernel.
void addRotation(KernelArguments &arguments, RopeOp op);

/// Rotates rows of one token as `op` says.
void emitRotation(RowKernel &kernel, RopeOp op, mlir::Value token, ForEachRow forEachRow);

/// Sine and cosine (f32) of an angle (f64): right to the last bits for angles below
/// 2^50, NaN for others, which have no digits left below a quarter.
std::pair<mlir::Value, mlir::Value> emitSineCosine(kvtile::KernelBuilder &k,
                                                   mlir::Value angle);

} // namespace kvc

#endif // KVC_LIB_CONVERSION_KVCTOKVTILE_ROWS_H
