//===- WeightProduct.h - products of two weights ----------------*- C++ -*-===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//   (x U) W = x (U W)     a query that is a product, before an absorbed key
//   (x W) O = x (W O)     an absorbed value, before what multiplies the result
//
// Where both weights are constants, their product is one more.
//===----------------------------------------------------------------------===//
#ifndef KVC_LIB_DIALECT_KVC_TRANSFORMS_WEIGHTPRODUCT_H
#define KVC_LIB_DIALECT_KVC_TRANSFORMS_WEIGHTPRODUCT_H

#include "kvc/Analysis/Elements.h"

namespace kvc::absorb {

/// sum over `sumDim` of source * weight, which are loads.
struct LinearElement {
  mlir::Value tensor; ///< Whose elements these are.
  Element source, weight;
  mlir::AffineExpr sumDim;
};

/// Matches an element that is a sum of products of a tensor's elements with a constant's or an
/// argument's that `column` is an index of.
std::optional<LinearElement> matchLinear(Elements &elements, Element element,
                                         mlir::AffineExpr column);

/// What multiplies a tensor next, through operations that only move its elements. Its own
/// dimensions are not joined in the load's indices.
struct Consumer {
  mlir::Value tensor; ///< What comes of it.
  llvm::SmallVector<mlir::AffineExpr> dims;
  Element source; ///< A load of the tensor that is multiplied.
  Element weight;
  mlir::AffineExpr sumDim;
};
std::optional<Consumer> findConsumer(Elements &elements, mlir::Value tensor);

/// Whether anything needs a tensor besides operand `operand` of `op`: another operand or
/// operation, or one of the tensors in `kept`.
bool isNeeded(mlir::Value tensor, mlir::Operation *op, unsigned operand,
              llvm::ArrayRef<mlir::Value> kept);

/// Whether a loop of linalg may read a load: each index is another dimension, or 0.
bool isPlain(IndexSpace &space, Element load);

/// The dimensions that occur in loads.
llvm::SmallVector<mlir::AffineExpr> getDims(Elements &elements, llvm::ArrayRef<Element> loads);
/// The product of their extents; none if one is not static.
std::optional<double> countPoints(IndexSpace &space, llvm::ArrayRef<mlir::AffineExpr> dims);

/// sum over `sumDim` of first * second.
struct WeightProduct {
  Element first, second;
  mlir::AffineExpr sumDim;
  llvm::SmallVector<mlir::AffineExpr> dims; ///< All others of the two.

  WeightProduct(Elements &elements, Element first, Element second, mlir::AffineExpr sumDim);

  /// Computes it, in f64, as a constant of `elementType` before `user`; null if it cannot, and
  /// then says why.
  Element emit(mlir::OpBuilder &b, Elements &elements, mlir::Operation *user,
               mlir::Type elementType, std::string &why) const;
};

} // namespace kvc::absorb

#endif // KVC_LIB_DIALECT_KVC_TRANSFORMS_WEIGHTPRODUCT_H
