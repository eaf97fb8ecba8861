//===- LoopNest.h - the elements of a linalg.generic, in loops --*- C++ -*-===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef KVC_LIB_CONVERSION_HOSTCODE_LOOPNEST_H
#define KVC_LIB_CONVERSION_HOSTCODE_LOOPNEST_H

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace kvc {

/// Whether the operation's reductions can be summed up in registers: no output moves along
/// with them.
bool sumsInRegisters(mlir::linalg::GenericOp op);

/// Emits the loops over sums inside of those over elements, which the caller opens.
class LoopNest {
public:
  using Value = mlir::Value;

  /// `map` gives operands, captured values and the sizes of loops where the code is emitted.
  LoopNest(mlir::linalg::GenericOp op, mlir::ImplicitLocOpBuilder &builder,
           llvm::ArrayRef<Value> sizes, const mlir::IRMapping &map)
      : position(op.getNumLoops()), op(op), b(builder), sizes(sizes), map(map) {}

  /// Computes the elements at `position` of the parallel loops: loads what sums start from,
  /// sums up, and stores.
  void emitElements();

  llvm::SmallVector<Value> position; ///< In each loop; those of reductions are set here.

private:
  Value index(int64_t value);
  llvm::SmallVector<Value> emitReductions(llvm::ArrayRef<unsigned> loops,
                                          mlir::ValueRange sums);
  llvm::SmallVector<Value> emitPoint(mlir::ValueRange sums);
  llvm::SmallVector<Value> subscripts(mlir::OpOperand &operand);

  mlir::linalg::GenericOp op;
  mlir::ImplicitLocOpBuilder &b;
  llvm::ArrayRef<Value> sizes; ///< Of the loops, before `map`.
  const mlir::IRMapping &map;
};

} // namespace kvc

#endif // KVC_LIB_CONVERSION_HOSTCODE_LOOPNEST_H
