//===- WorkListBounds.cpp - how long work lists become --------------------===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// With a target T the device cuts keys into chunks of m splits. Let B be the number of
// query blocks, g(b) >= 1 the splits that block b touches, and G their sum; then
// m = max(1, ceil(G / T)), so that G / m <= T. A block with g(b) <= m is one item. Let
// S be the number of the others; of these each has g(b) >= m + 1, and in c(b) chunks.
//
// - m = 1: c(b) = g(b), and g(b) >= 2 of those in S. G <= T, so there are at most T
//   parts, S <= T / 2, and at most T items.
// - m >= 2: S * (m + 1) <= G, so S < T. A run of g splits lies in at most
//   floor((m - 1 + g - 1) / m) + 1 <= (g - 2) / m + 2 chunks: the worst run begins in
//   the last split of a chunk. So the parts are at most
//   sum over S of (g(b) / m + 2) <= G / m + 2 S < 3 T,
//   and the items at most (B - S) + (T + 2 S) = B + S + T.
//
// So in both cases: S <= min(B, T), at most 3 T parts, and at most B + min(B, T) + T
// items. A larger m only joins chunks, so the bounds for m = 1 without a target hold as
// well. A sequence that is longer than it may be counts as one split and one item.
//===----------------------------------------------------------------------===//
#include "ListEmitter.h"

using namespace mlir;
using namespace kvc;

WorkListBounds kvc::emitWorkListBounds(OpBuilder &b, Location loc, Value maxSequences,
                                       Value maxTokens, Value maxKvLen,
                                       const WorkListConfig &config, Value target) {
  ListBuilder l(b, loc);
  Value zero = l.i64(0), one = l.i64(1);
  Value tokens = l.toI64(maxTokens);
  Value split = l.i64(config.split);
  // Each sequence with queries has one block for its first query token, and one
  // more for each further `queryTokens` of them.
  Value sequences = l.min(l.toI64(maxSequences), tokens);
  Value further = l.div(l.sub(tokens, sequences), l.i64(config.queryTokens));
  Value blocks = l.add(sequences, further);
  Value splits = l.div(l.add(l.toI64(maxKvLen), l.i64(int64_t(config.split) - 1)), split);
  Value isSplit = l.compare(arith::CmpIPredicate::sgt, splits, one);
  WorkListBounds bounds;
  bounds.items = l.mul(blocks, l.max(splits, one));
  bounds.parts = l.select(isSplit, bounds.items, zero);
  bounds.merges = l.select(isSplit, blocks, zero);
  if (target) {
    Value items = l.add(l.add(blocks, l.min(blocks, target)), target);
    bounds.items = l.min(bounds.items, items);
    bounds.parts = l.min(bounds.parts, l.mul(target, l.i64(3)));
    bounds.merges = l.min(bounds.merges, target);
  }
  return bounds;
}
