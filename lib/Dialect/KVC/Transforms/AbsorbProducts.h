//===- AbsorbProducts.h - products around an attention ----------*- C++ -*-===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef KVC_LIB_DIALECT_KVC_TRANSFORMS_ABSORBPRODUCTS_H
#define KVC_LIB_DIALECT_KVC_TRANSFORMS_ABSORBPRODUCTS_H

#include "AbsorbCost.h"
#include "WeightProduct.h"

#include "mlir/IR/Remarks.h"

namespace kvc::absorb {

/// Which products of constant weights are computed at compile time.
enum class Precompute { None, Auto, All };

/// Absorbs what keys and values of one attention are made of.
class Absorber {
public:
  Absorber(mlir::OpBuilder &b, Elements &elements, DenseAttentionOp op, Precompute precompute);

  /// Whether there is anything to absorb.
  bool match();
  /// Says why keys and a value that are no products are none, where one is further back.
  void explain();
  /// The value that replaces the result, or null.
  mlir::Value absorb(RaiseFailure &why);
  const Parts &getParts() const { return parts; }
  /// Whether the value is parts next to each other, for which there is no way.
  bool hasValueParts() const { return valueParts > 1; }
  /// Keys that are absorbed.
  int64_t getNumKeys() const { return llvm::count_if(parts.keys, Parts::isProduct); }
  /// Products of weights that were computed, for remarks.
  llvm::ArrayRef<std::string> getPrecomputed() const { return precomputed; }

private:
  using Expr = mlir::AffineExpr;

  /// Bytes of weights in a call, and operations of a new token.
  struct Work {
    double bytes, operations;
  };
  /// A query as the product of a source with a weight that is two.
  struct CombinedQuery {
    Element source, weight;
    Expr sumDim;
  };

  Element getQuery(unsigned term, const Segment &segment);
  Element getMovedQuery(unsigned term, const Segment &segment);
  std::optional<CombinedQuery> combineQuery(unsigned term, const Segment &segment);
  bool absorbTerm(unsigned term, AttentionElements &absorbed);
  void combineOutput(mlir::Value latent, llvm::ArrayRef<Expr> latentDims);
  Element multiplyWeights(llvm::StringRef what, const WeightProduct &product,
                          mlir::Operation *user, Element source, std::optional<Work> before);
  std::optional<Work> getWork(Element source, Element weight);
  void addOuterDims(mlir::AffineMap map, llvm::ArrayRef<Expr> indices);
  mlir::Value emit(llvm::ArrayRef<Expr> dims, llvm::ArrayRef<Expr> sumDims,
                   llvm::ArrayRef<Element> factors);

  mlir::OpBuilder &b;
  Elements &elements;
  IndexSpace &space;
  DenseAttentionOp op;
  Precompute precompute;
  Parts parts;
  size_t valueParts = 1;
  llvm::SmallVector<std::string> precomputed;
  llvm::SmallVector<Expr> outerDims; ///< Of batch entries and new tokens.
};

} // namespace kvc::absorb

#endif // KVC_LIB_DIALECT_KVC_TRANSFORMS_ABSORBPRODUCTS_H
