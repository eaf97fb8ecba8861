//===- MatrixTiles.cpp - what AMX tiles of bf16 take ----------------------===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "kvc/Dialect/KVC/IR/MatrixTiles.h"

using namespace mlir;

/// Most rows that are left to multiply-adds in f32. With 4 query heads a KV head these were
/// 1.1 times as fast for bf16 and f8, with 8 tiles were, and as fast for i8.
static constexpr int64_t kMaxRows = 4, kMaxIntegerRows = 8;

static SmallVector<kvc::ComponentAttr> getComponents(kvc::AttentionOp op) {
  SmallVector<kvc::ComponentAttr> components = {op.getValueComponent()};
  for (unsigned i = 0; i < op.getQueries().size(); ++i)
    components.push_back(op.getTermComponent(i));
  return components;
}

bool kvc::hasTileWidths(AttentionOp op) {
  return llvm::all_of(getComponents(op), [](ComponentAttr component) {
    return component.getWidth() % kTileDepth == 0 && component.getWidth() <= kMaxTileWidth;
  });
}

bool kvc::takesTiles(AttentionOp op, int64_t rows) {
  auto isBF16 = [](Value value) { return getElementTypeOrSelf(value).isBF16(); };
  // bf16 holds every code exactly.
  auto fits = [&](ComponentAttr component) {
    Type element = component.getElementType();
    if (rows <= (element.isInteger(8) ? kMaxIntegerRows : kMaxRows))
      return false;
    return element.isBF16() || isQuantized(element);
  };
  return hasTileWidths(op) && isBF16(op.getOutput()) && llvm::all_of(op.getQueries(), isBF16) &&
         llvm::all_of(getComponents(op), fits);
}
