//===- ElementEmitter.h - tensors from their elements -----------*- C++ -*-===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef KVC_LIB_DIALECT_KVC_TRANSFORMS_ELEMENTEMITTER_H
#define KVC_LIB_DIALECT_KVC_TRANSFORMS_ELEMENTEMITTER_H

#include "kvc/Analysis/Elements.h"

namespace kvc {

/// A value of one type of floating point as one of another.
mlir::Value convertFloat(mlir::OpBuilder &b, mlir::Location loc, mlir::Value value,
                         mlir::Type type);

/// Whether indices of a tensor are `dims` in their order, or 0 where there is one element only.
bool areInPlace(Elements &elements, mlir::Value tensor, llvm::ArrayRef<mlir::AffineExpr> indices,
                llvm::ArrayRef<mlir::AffineExpr> dims);

/// Emits, before `user`, the tensor of `type` with one dimension for each of `dims`, whose
/// elements are the products of `factors`, which are loads, summed over `sumDims`: in f32, or
/// in f64 if the elements are f64, and rounded once. One factor and no sum is a copy. Null if a
/// size is not known before `user`.
mlir::Value emitProduct(mlir::OpBuilder &b, Elements &elements, mlir::Operation *user,
                        llvm::ArrayRef<mlir::AffineExpr> dims,
                        llvm::ArrayRef<mlir::AffineExpr> sumDims,
                        llvm::ArrayRef<Element> factors, mlir::Type elementType);

} // namespace kvc

#endif // KVC_LIB_DIALECT_KVC_TRANSFORMS_ELEMENTEMITTER_H
