//===- IndexSpace.h - expressions of indices --------------------*- C++ -*-===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef KVC_ANALYSIS_INDEXSPACE_H
#define KVC_ANALYSIS_INDEXSPACE_H

#include "mlir/IR/AffineExpr.h"
#include "mlir/IR/MLIRContext.h"

#include <map>
#include <optional>

namespace kvc {

/// Affine expressions over dimensions whose extents are known, and over symbols, which are
/// at least 0 and may be factors and divisors too. Unlike MLIR's own simplification this
/// one uses the extents: (4 h + g) floordiv 4 is h where g is below 4.
class IndexSpace {
public:
  explicit IndexSpace(mlir::MLIRContext *context) : context(context) {}

  using Expr = mlir::AffineExpr;

  mlir::MLIRContext *getContext() const { return context; }
  Expr constant(int64_t value) const { return mlir::getAffineConstantExpr(value, context); }

  /// A new dimension, from 0 to `extent` - 1.
  Expr addDim(Expr extent);
  Expr getExtent(Expr dim) const;
  unsigned getNumDims() const { return extents.size(); }

  Expr addSymbol();
  /// From now on two symbols are one.
  void unify(Expr first, Expr second);
  /// Learns that two expressions are equal, as far as that makes symbols equal.
  void learnEqual(Expr first, Expr second);

  /// The canonical form; expressions that are found to be equal have the same.
  Expr simplify(Expr expr) const;
  bool areEqual(Expr first, Expr second) const { return simplify(first) == simplify(second); }
  /// Whether the canonical form is short enough to go on with: products of sums, and powers,
  /// grow fast.
  bool isShort(Expr expr) const;
  /// Whether the expression is at least 0 for all values of its dimensions (true), below 0
  /// for all (false), or neither is known.
  std::optional<bool> isNonNegative(Expr expr) const;

  /// `expr` = scale * dim + rest, where rest lacks the dimension. None if it occurs in
  /// another way.
  struct Linear {
    int64_t scale;
    Expr rest;
  };
  std::optional<Linear> getLinear(Expr expr, Expr dim) const;
  /// Whether the dimension occurs in the expression, simplified.
  bool contains(Expr expr, Expr dim) const;

private:
  struct Less {
    bool operator()(llvm::ArrayRef<Expr> first, llvm::ArrayRef<Expr> second) const;
  };
  /// Sum of products: coefficients of sorted lists of atoms, which are dimensions,
  /// symbols, and floordiv and mod of what does not simplify.
  using Polynomial = std::map<llvm::SmallVector<Expr, 2>, int64_t, Less>;

  static int compare(Expr first, Expr second);
  Expr findSymbol(Expr symbol) const;
  Polynomial expand(Expr expr) const;
  Expr toExpr(const Polynomial &polynomial) const;
  static void addTo(Polynomial &sum, const Polynomial &summand, int64_t factor = 1);
  Polynomial multiply(const Polynomial &first, const Polynomial &second) const;
  /// Quotient and remainder of a floored division.
  std::pair<Polynomial, Polynomial> divide(const Polynomial &dividend,
                                           const Polynomial &divisor) const;
  std::optional<std::pair<Polynomial, Polynomial>>
  divideByFactor(const Polynomial &dividend, const Polynomial &divisor) const;
  bool isRemainder(const Polynomial &value, const Polynomial &divisor) const;
  /// A constant that the value is never below, if one is found.
  std::optional<int64_t> getLowerBound(Polynomial value) const;
  /// The largest value of an atom, if it is known.
  std::optional<int64_t> getMax(Expr atom) const;
  bool isAtLeastZero(Expr atom) const;

  mlir::MLIRContext *context;
  llvm::SmallVector<Expr> extents;
  mutable llvm::SmallVector<unsigned> symbolParents;
};

} // namespace kvc

#endif // KVC_ANALYSIS_INDEXSPACE_H
