//===- Verify.h - checks that operations share ------------------*- C++ -*-===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef KVC_LIB_DIALECT_KVC_IR_VERIFY_H
#define KVC_LIB_DIALECT_KVC_IR_VERIFY_H

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Operation.h"

namespace kvc {

/// Most terms of an attention: far above what models have, and low enough for code that
/// handles each of them in turn.
inline constexpr size_t kMaxTerms = 64;

llvm::LogicalResult verifyRank(mlir::Operation *op, llvm::StringRef what,
                               mlir::RankedTensorType type, int64_t rank);

/// Checks a static dimension. A dynamic one would hide a width or a number of
/// heads, which kernels need to know.
llvm::LogicalResult verifyDim(mlir::Operation *op, llvm::StringRef what,
                              mlir::RankedTensorType type, int64_t dim, int64_t expected);

/// Checks that two dimensions can be equal.
llvm::LogicalResult verifySameDim(mlir::Operation *op, llvm::StringRef what, int64_t actual,
                                  int64_t expected);

/// Checks what scores go through.
llvm::LogicalResult verifyScore(mlir::Operation *op, mlir::ArrayAttr modifiers,
                                mlir::FloatAttr scale);

/// Checks a rotation of rows of `width`; `theta` and `frequencies` may be null.
llvm::LogicalResult verifyRotation(mlir::Operation *op, int64_t width, int64_t rotaryWidth,
                                   mlir::FloatAttr theta, mlir::Value frequencies);

} // namespace kvc

#endif // KVC_LIB_DIALECT_KVC_IR_VERIFY_H
