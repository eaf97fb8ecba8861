//===- AttentionElements.h - an attention by its elements -------*- C++ -*-===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef KVC_LIB_DIALECT_KVC_TRANSFORMS_ATTENTIONELEMENTS_H
#define KVC_LIB_DIALECT_KVC_TRANSFORMS_ATTENTIONELEMENTS_H

#include "kvc/Analysis/Elements.h"
#include "kvc/Dialect/KVC/IR/KVC.h"

#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/Support/FormatVariadic.h"

namespace kvc {

/// An attention whose operands are loads over dimensions of its own: those of the tensor
/// that is computed, the keys, and the width of each term.
struct AttentionElements {
  using Expr = mlir::AffineExpr;

  struct Term {
    Element query, key;
    Expr width;
  };

  llvm::SmallVector<Term, 2> terms;
  Element value = nullptr;
  Element mask = nullptr;  ///< Added to the score, or i1; null if there is none.
  Element sinks = nullptr; ///< Null if there are none.
  double scale = 1;
  std::optional<double> softcap;
  bool isCausal = false;
  std::optional<int64_t> window;
  /// The modifiers, if they are known already, instead of cap, mask and window.
  std::optional<llvm::SmallVector<mlir::Attribute>> score;

  llvm::SmallVector<Expr> outputDims; ///< One for each dimension of the result.
  Expr keyDim;
  Expr keys;     ///< As many of keyDim's as queries may see, if the mask tells; else null.
  Expr queryDim; ///< One of the result's, if the mask tells; else null.
  Expr batchDim; ///< That of batch entries, if it is known; else null.
};

/// What an attempt to raise found in the way; empty if it is no attention at all.
struct RaiseFailure {
  std::string reason;
};

/// Matches the element of `tensor` that all its dimensions together say.
std::optional<AttentionElements> matchAttention(Elements &elements, mlir::Value tensor,
                                                RaiseFailure &why);

/// Makes the operation for an attention, and whatever reshapes of its operands it needs,
/// before `user`. Returns the tensor of `elementType` over the output's dimensions, or null.
/// `stop`: tensors that operands should rather be than what those are made of.
mlir::Value buildAttention(mlir::OpBuilder &b, Elements &elements, AttentionElements attention,
                           mlir::Operation *user, mlir::Type elementType,
                           llvm::function_ref<bool(mlir::Value)> stop, RaiseFailure &why);

/// Whether an operation of a function's block is used by nothing but those in `unused`. These
/// stay until the end, as the analysis knows values by where they are.
bool isUnused(mlir::Operation *op, const llvm::SmallPtrSetImpl<mlir::Operation *> &unused);

/// Replaces a tensor by another that differs in what is known of its shape.
void replaceTensor(mlir::OpBuilder &b, mlir::Value tensor, mlir::Value replacement);

} // namespace kvc

#endif // KVC_LIB_DIALECT_KVC_TRANSFORMS_ATTENTIONELEMENTS_H
