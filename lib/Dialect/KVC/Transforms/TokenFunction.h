//===- TokenFunction.h - what rows of a cache are made of -------*- C++ -*-===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef KVC_LIB_DIALECT_KVC_TRANSFORMS_TOKENFUNCTION_H
#define KVC_LIB_DIALECT_KVC_TRANSFORMS_TOKENFUNCTION_H

#include "kvc/Analysis/Elements.h"

namespace kvc {

/// Columns of a row: elements of a source, in place or times a weight without tokens.
struct Segment {
  using Expr = mlir::AffineExpr;

  int64_t begin;            ///< First column.
  Expr column;              ///< From 0, over the columns of the segment.
  Element source;           ///< A load.
  Element weight = nullptr; ///< A load; null if the source's elements are the row's.
  Expr sumDim;              ///< Over which source times weight is summed.
};

/// More segments are not of any model, and each becomes a term.
inline constexpr size_t kMaxSegments = 16;

/// Rows of tokens as segments, one next to the other; nothing if there are more than
/// kMaxSegments.
///
///   row[.., w] = source[.., w - begin]                      moved, heads repeated
///   row[.., w] = sum over c of source[.., c] * weight[w, c] linear
///
/// `load`: of the rows. `token`, `column`: the dimensions of tokens and of their width; a
/// weight has not the former. `stop`: tensors to take as sources rather than what they are
/// made of.
std::optional<llvm::SmallVector<Segment>>
matchTokenFunction(Elements &elements, Element load, mlir::AffineExpr token,
                   mlir::AffineExpr column, llvm::function_ref<bool(mlir::Value)> stop);

/// A product further back than rows can be taken from.
struct Obstacle {
  std::string reason; ///< What was expected of the rows, and found.
  Element rows;       ///< A load of what the weight multiplies.
};

/// Why rows that are no product are none, if one is there: for remarks.
std::optional<Obstacle> findObstacle(Elements &elements, Element rows, mlir::AffineExpr token,
                                     llvm::function_ref<bool(mlir::Value)> stop);

/// The argument or constant that a load of a weight goes back to, or null.
Element findWeight(Elements &elements, Element load);

} // namespace kvc

#endif // KVC_LIB_DIALECT_KVC_TRANSFORMS_TOKENFUNCTION_H
