//===- ScoreInterface.h - what score modifiers emit with --------*- C++ -*-===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef KVC_DIALECT_KVC_IR_SCOREINTERFACE_H
#define KVC_DIALECT_KVC_IR_SCOREINTERFACE_H

#include "mlir/IR/Builders.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/STLFunctionalExtras.h"

namespace kvc {

/// The functions that a score modifier may need beyond `arith`. Each lowering
/// provides them in the form that its target computes best.
struct ScoreMath {
  /// Emit tanh(x) and 2^x, elementwise.
  llvm::function_ref<mlir::Value(mlir::Value)> tanh, exp2;
};

/// Where a score stands. Each function emits its value when it is called, so that a
/// kernel computes only what its modifiers ask for: integers of any type or indices, a
/// scalar or a vector as the score is.
struct ScorePoint {
  /// Positions of query and key within the sequence, and the query head.
  llvm::function_ref<mlir::Value()> queryPos, keyPos, queryHead;
  int64_t queryHeads; ///< Of the attention.
};

/// Two half-open ranges of key positions: those that at least one query of a
/// tile sees, and those that all of them see. Either may be empty.
struct KeyBounds {
  mlir::Value anyBegin, anyEnd;
  mlir::Value allBegin, allEnd;
};

} // namespace kvc

#endif // KVC_DIALECT_KVC_IR_SCOREINTERFACE_H
