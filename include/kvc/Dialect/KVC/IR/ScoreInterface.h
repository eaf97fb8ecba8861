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
  /// Emits tanh(x), elementwise.
  llvm::function_ref<mlir::Value(mlir::Value)> tanh;
};

/// Two half-open ranges of key positions: those that at least one query of a
/// tile sees, and those that all of them see. Either may be empty.
struct KeyBounds {
  mlir::Value anyBegin, anyEnd;
  mlir::Value allBegin, allEnd;
};

} // namespace kvc

#endif // KVC_DIALECT_KVC_IR_SCOREINTERFACE_H
