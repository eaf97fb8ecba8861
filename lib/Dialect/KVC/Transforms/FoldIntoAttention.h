//===- FoldIntoAttention.h - what keys and values are made of ---*- C++ -*-===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef KVC_LIB_DIALECT_KVC_TRANSFORMS_FOLDINTOATTENTION_H
#define KVC_LIB_DIALECT_KVC_TRANSFORMS_FOLDINTOATTENTION_H

#include "AttentionElements.h"

namespace kvc {

/// An attention that is there, by its elements.
AttentionElements readAttention(Elements &elements, DenseAttentionOp op);

/// Replaces attentions of a function by what `rewrite` returns, if it is not null.
void rewriteAttentions(
    mlir::func::FuncOp function,
    llvm::function_ref<mlir::Value(mlir::OpBuilder &, Elements &, DenseAttentionOp)> rewrite);

/// Tensors that are returned as caches: what is cached is what keys and values are.
bool isCached(mlir::Value value);

} // namespace kvc

#endif // KVC_LIB_DIALECT_KVC_TRANSFORMS_FOLDINTOATTENTION_H
