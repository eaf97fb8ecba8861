//===- SizeEmitter.h - sizes as values --------------------------*- C++ -*-===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef KVC_LIB_DIALECT_KVC_TRANSFORMS_SIZEEMITTER_H
#define KVC_LIB_DIALECT_KVC_TRANSFORMS_SIZEEMITTER_H

#include "kvc/Analysis/Elements.h"

namespace kvc {

/// Emits sizes, and other expressions of symbols that are not negative, before an operation.
class SizeEmitter {
public:
  SizeEmitter(mlir::OpBuilder &b, Elements &elements, mlir::Operation *user)
      : b(b), elements(elements), user(user) {}

  /// The size as an attribute or an index; null if a symbol is not known yet before the
  /// operation.
  mlir::OpFoldResult emit(mlir::AffineExpr size);
  /// From now on, expressions may have the dimension.
  void setDim(mlir::AffineExpr dim, mlir::Value value) { dims[dim] = value; }

private:
  mlir::Value emitValue(mlir::AffineExpr size);

  mlir::OpBuilder &b;
  Elements &elements;
  mlir::Operation *user;
  llvm::DenseMap<mlir::AffineExpr, mlir::Value> dims;
};

} // namespace kvc

#endif // KVC_LIB_DIALECT_KVC_TRANSFORMS_SIZEEMITTER_H
