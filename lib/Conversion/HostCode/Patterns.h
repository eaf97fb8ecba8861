//===- Patterns.h - patterns for host code ----------------------*- C++ -*-===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef KVC_LIB_CONVERSION_HOSTCODE_PATTERNS_H
#define KVC_LIB_CONVERSION_HOSTCODE_PATTERNS_H

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/IR/PatternMatch.h"

namespace kvc {

/// Takes the dimensions of a tensor that a loop carries, and whose shape no iteration
/// changes, from where the loop begins.
void populateLoopDimPatterns(mlir::RewritePatternSet &patterns);

/// Lets sums of floats be taken in any order.
void relaxSums(mlir::linalg::LinalgOp op);

} // namespace kvc

#endif // KVC_LIB_CONVERSION_HOSTCODE_PATTERNS_H
