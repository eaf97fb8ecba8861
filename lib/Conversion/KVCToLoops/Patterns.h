//===- Patterns.h - the definitions of the kvc operations -------*- C++ -*-===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One populate function a file, and what kvc-decompose does with functions.
//===----------------------------------------------------------------------===//
#ifndef KVC_LIB_CONVERSION_KVCTOLOOPS_PATTERNS_H
#define KVC_LIB_CONVERSION_KVCTOLOOPS_PATTERNS_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Transforms/DialectConversion.h"

namespace kvc {

/// In all of them `real` is the type of scores and sums, f32 or f64.
void populateAppendLoopPatterns(mlir::RewritePatternSet &patterns,
                                const mlir::TypeConverter &converter);
void populateAttentionLoopPatterns(mlir::RewritePatternSet &patterns,
                                   const mlir::TypeConverter &converter, mlir::Type real);
void populateMergeLoopPatterns(mlir::RewritePatternSet &patterns,
                               const mlir::TypeConverter &converter, mlir::Type real);
void populateRopeLoopPatterns(mlir::RewritePatternSet &patterns,
                              const mlir::TypeConverter &converter);
void populateEdgeLoopPatterns(mlir::RewritePatternSet &patterns,
                              const mlir::TypeConverter &converter);

/// Records the type of each public function with a body as its attribute
/// kFunctionTypeAttr. Fails if it cannot be an entry point of a program.
llvm::LogicalResult recordFunctionTypes(mlir::ModuleOp module);

/// Records what a call of a public function has to fulfil as its kChecksAttr.
void recordChecks(mlir::Operation *function);

} // namespace kvc

#endif // KVC_LIB_CONVERSION_KVCTOLOOPS_PATTERNS_H
