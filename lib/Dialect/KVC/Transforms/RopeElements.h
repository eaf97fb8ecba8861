//===- RopeElements.h - a rotary embedding by its elements ------*- C++ -*-===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef KVC_LIB_DIALECT_KVC_TRANSFORMS_ROPEELEMENTS_H
#define KVC_LIB_DIALECT_KVC_TRANSFORMS_ROPEELEMENTS_H

#include "AttentionElements.h"

namespace kvc {

/// A rotary embedding of `input`, whose dimensions are those of the tensor that is computed.
struct RopeElements {
  using Expr = mlir::AffineExpr;

  /// The frequency of a pair: `factor`, times the element `load` if there is one.
  struct Frequency {
    double factor = 1;
    Element load = nullptr;
  };

  mlir::Value input;
  llvm::SmallVector<Expr> dims; ///< All but the last of the result.
  RopeStyle style = RopeStyle::Half;
  double scale = 1; ///< Of cosines and sines.
  Element position = nullptr;
  llvm::SmallVector<Frequency> frequencies; ///< One for each pair.

  int64_t getRotaryWidth() const { return 2 * frequencies.size(); }
};

/// Matches the elements of `tensor`, one column after the other.
std::optional<RopeElements> matchRope(Elements &elements, mlir::Value tensor,
                                      RaiseFailure &why);

/// Makes the operation for an embedding that takes the place of `root`, and what it needs,
/// before `root`'s operation. Returns the value that replaces `root`.
mlir::Value buildRope(mlir::OpBuilder &b, Elements &elements, const RopeElements &rope,
                      mlir::Value root, RaiseFailure &why);

} // namespace kvc

#endif // KVC_LIB_DIALECT_KVC_TRANSFORMS_ROPEELEMENTS_H
