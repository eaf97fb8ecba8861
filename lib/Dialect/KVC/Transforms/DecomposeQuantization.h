//===- DecomposeQuantization.h - codes in linalg ----------------*- C++ -*-===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef KVC_LIB_DIALECT_KVC_TRANSFORMS_DECOMPOSEQUANTIZATION_H
#define KVC_LIB_DIALECT_KVC_TRANSFORMS_DECOMPOSEQUANTIZATION_H

#include "kvc/Dialect/KVC/IR/KVC.h"

namespace kvc {

/// What the results of the operation are, in linalg, arith and math.
llvm::SmallVector<mlir::Value> decomposeQuantize(mlir::OpBuilder &b, QuantizeOp op);
mlir::Value decomposeDequantize(mlir::OpBuilder &b, DequantizeOp op);

} // namespace kvc

#endif // KVC_LIB_DIALECT_KVC_TRANSFORMS_DECOMPOSEQUANTIZATION_H
