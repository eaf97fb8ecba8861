//===- MatrixTiles.h - what AMX tiles of bf16 take --------------*- C++ -*-===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A tdpbf16ps adds the product of up to 16 rows of 32 bf16 with 32 rows of 16 columns, which
// lie in pairs of rows (Intel, Architecture Instruction Set Extensions, chapter 3).
//===----------------------------------------------------------------------===//
#ifndef KVC_DIALECT_KVC_IR_MATRIXTILES_H
#define KVC_DIALECT_KVC_IR_MATRIXTILES_H

#include "kvc/Dialect/KVC/IR/KVC.h"

namespace kvc {

/// Elements that one product sums, and columns of its result.
inline constexpr int64_t kTileDepth = 32, kTileColumns = 16;

/// Widest component whose products are written out.
inline constexpr int64_t kMaxTileWidth = 1024;

/// Products of `op` are of whole tiles, and few enough to write each out: its widths are
/// multiples of 32 up to kMaxTileWidth.
bool hasTileWidths(AttentionOp op);

/// Tiles take the products of `op`, where the processor has them, of `rows` rows at a time. Not
/// those of few rows, which wait for memory or, of i8, for decoding to bf16: multiply-adds in
/// f32 are as fast, and spread what they load over their time.
bool takesTiles(AttentionOp op, int64_t rows);

} // namespace kvc

#endif // KVC_DIALECT_KVC_IR_MATRIXTILES_H
