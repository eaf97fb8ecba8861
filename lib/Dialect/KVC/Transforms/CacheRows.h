//===- CacheRows.h - tensors as the rows of a cache -------------*- C++ -*-===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Operations on a cache take [tokens, heads, width], the tokens of all batch entries one
// after the other; a model's tensors have these dimensions in any order.
//===----------------------------------------------------------------------===//
#ifndef KVC_LIB_DIALECT_KVC_TRANSFORMS_CACHEROWS_H
#define KVC_LIB_DIALECT_KVC_TRANSFORMS_CACHEROWS_H

#include "kvc/Dialect/KVC/IR/KVC.h"

namespace kvc {

/// What a part of a tensor's dimension is: batch entries, tokens (keys or queries), heads
/// (outer ones, and groups within) or the width.
struct CacheAxis {
  DenseAttentionOp::Dim dim;
  int64_t size = mlir::ShapedType::kDynamic; ///< Static but for batch entries and tokens.

  bool operator==(const CacheAxis &other) const {
    return dim == other.dim && size == other.size;
  }
  bool isHead() const {
    return dim == DenseAttentionOp::KvHead || dim == DenseAttentionOp::Group;
  }
};

/// The parts of one dimension, outermost first; none if its size is 1. Batch entries and
/// tokens are outermost.
using CacheAxes = llvm::SmallVector<CacheAxis, 2>;

/// `tensor`, whose dimensions are `dims`, as [tokens, heads, width].
mlir::Value toRows(mlir::OpBuilder &b, mlir::Location loc, mlir::Value tensor,
                   llvm::ArrayRef<CacheAxes> dims);

/// The inverse, for a tensor of type `type` with at most one part a dimension. `batch`
/// and `tokens` are the sizes of the parts that are so.
mlir::Value fromRows(mlir::OpBuilder &b, mlir::Location loc, mlir::Value rows,
                     mlir::RankedTensorType type, llvm::ArrayRef<CacheAxes> dims,
                     mlir::OpFoldResult batch, mlir::OpFoldResult tokens);

/// `tensor` with its dimensions permuted; itself if there is nothing to do.
mlir::Value transpose(mlir::OpBuilder &b, mlir::Location loc, mlir::Value tensor,
                      llvm::ArrayRef<int64_t> permutation);

} // namespace kvc

#endif // KVC_LIB_DIALECT_KVC_TRANSFORMS_CACHEROWS_H
