//===- Finish.cpp - from the warps' sums to rows of the output ------------===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "AttentionKernel.h"

using namespace mlir;
using namespace kvc;

static constexpr double kLn2 = 0.69314718055994530942;

Value kvc::emitLoadSink(KernelBuilder &k, const AttentionConfig &config, ValueRange params,
                        Value head) {
  unsigned sinks = config.sinksParam();
  Value offset = k.mul(k.toI64(head), params[sinks + 1]);
  Value sink = k.loadInvariant(k.f32Type(), k.element(params[sinks], offset, 4), 4);
  return k.mulF(sink, k.f32(1.0 / kLn2));
}

void kvc::emitStoreFinal(KernelBuilder &k, const AttentionConfig &config, ValueRange params,
                         Value token, Value head, Value column, Value writesLSE,
                         const MergedRow &row) {
  using P = AttentionParam;
  // A query that sees no key and has no sink: sum 0, output 0.
  Value zero = k.f32(0.0);
  Value isEmpty = k.compareF(arith::CmpFPredicate::OEQ, row.sum, zero);
  Value inverse = k.select(isEmpty, zero, k.reciprocal(row.sum));
  Value offset = k.add(k.mul(k.toI64(token), params[P::OutputTokenStride]),
                       k.mul(k.toI64(head), params[P::OutputHeadStride]));
  offset = k.add(offset, k.toI64(column));
  Value rounded = k.packPair(k.mulF(row.first, inverse), k.mulF(row.second, inverse),
                             config.element);
  k.store(rounded, k.element(params[P::Output], offset, 2), 4);
  if (!config.hasLSE)
    return;
  k.guarded(writesLSE, [&] {
    // The logarithm of a sum of 0 is -inf.
    Value lse = k.mulF(k.addF(row.max, k.log2(row.sum)), k.f32(kLn2));
    unsigned param = config.lseParam();
    Value position = k.add(k.mul(k.toI64(token), params[param + 1]),
                           k.mul(k.toI64(head), params[param + 2]));
    k.store(lse, k.element(params[param], position, 4), 4);
  });
}

/// Writes each warp's accumulators and statistics to shared memory.
static void emitStoreWarp(KernelBuilder &k, const AttentionConfig &config, const Lane &lane,
                          Value ring, ValueRange accumulators, ArrayRef<RowStats> stats) {
  Value isFirstCol = k.compare(KernelBuilder::Predicate::eq, lane.col, k.i32(0));
  for (auto [half, rowStats] : llvm::enumerate(stats)) {
    Value sum = rowStats.sum;
    for (int64_t lanes : {1, 2})
      sum = k.addF(sum, k.shuffleXor(sum, lanes));
    Value row = k.add(k.add(k.mul(lane.warp, config.rows()), lane.row), half * 8);
    Value address = k.add(ring, k.add(k.mul(row, config.resultRowBytes()),
                                      k.mul(lane.col, 8)));
    Value results = k.toShared(address);
    for (int64_t i = 0; i < config.width / 8; ++i)
      k.store(k.pair(accumulators[4 * i + 2 * half], accumulators[4 * i + 2 * half + 1]),
              k.at(results, i * 32), 8);
    k.guarded(isFirstCol, [&] {
      Value slot = k.add(k.add(ring, k.mul(row, 8)), config.statsOffset());
      k.store(k.pair(rowStats.max, sum), k.toShared(slot), 8);
    });
  }
}

/// Merges one pair of columns of one row over the warps. A sink of -inf is none.
static MergedRow emitMergeWarps(KernelBuilder &k, const AttentionConfig &config, Value ring,
                                Value row, Value column, Value sink, Value &max) {
  Value statsAddress = k.add(k.add(ring, k.mul(row, 8)), config.statsOffset());
  Value statsPtr = k.toShared(statsAddress);
  Value resultPtr = k.toShared(
      k.add(ring, k.add(k.mul(row, config.resultRowBytes()), k.mul(column, 4))));
  SmallVector<Value> stats;
  max = sink;
  for (int64_t warp = 0; warp < config.warps; ++warp) {
    stats.push_back(k.load(k.pairType(), k.at(statsPtr, warp * config.rows() * 8), 8));
    max = k.maxF(max, k.first(stats.back()));
  }
  Value reference = emitFiniteMax(k, max);
  MergedRow merged{reference, k.exp2(k.subF(sink, reference)), k.f32(0.0), k.f32(0.0)};
  for (int64_t warp = 0; warp < config.warps; ++warp) {
    Value factor = k.exp2(k.subF(k.first(stats[warp]), reference));
    Value result = k.load(
        k.pairType(), k.at(resultPtr, warp * config.rows() * config.resultRowBytes()), 8);
    merged.sum = k.addF(merged.sum, k.mulF(k.second(stats[warp]), factor));
    merged.first = k.addF(merged.first, k.mulF(k.first(result), factor));
    merged.second = k.addF(merged.second, k.mulF(k.second(result), factor));
  }
  return merged;
}

void kvc::emitFinish(KernelBuilder &k, const AttentionConfig &config, ValueRange params,
                     const Lane &lane, Value itemIndex, Value kvHead, Value rowBlock, Value ring,
                     ValueRange accumulators, ArrayRef<RowStats> stats) {
  using P = AttentionParam;
  using Predicate = KernelBuilder::Predicate;
  OpBuilder &b = k.b;
  // The results take the place of the ring, where no warp may still read a tile.
  // (No copy is under way: each was awaited by the loop that read it.)
  k.barrier();
  emitStoreWarp(k, config, lane, ring, accumulators, stats);
  k.barrier();

  // Loaded again rather than kept in registers over the loop.
  WorkItemValues item = emitLoadWorkItem(b, k.loc, params[P::Items], itemIndex);
  int64_t pairs = config.width / 2;
  auto loop = scf::ForOp::create(b, k.loc, lane.thread, k.i32(config.rows() * pairs),
                                 k.i32(config.threads()));
  b.setInsertionPointToStart(loop.getBody());
  Value row = k.div(loop.getInductionVar(), pairs);
  Value pair = k.rem(loop.getInductionVar(), pairs);
  Value column = k.mul(pair, 2);
  Value inGroup = k.add(k.mul(rowBlock, 16), row);
  k.guarded(k.compare(Predicate::slt, inGroup, k.i32(config.group)), [&] {
    Value head = k.add(k.mul(kvHead, config.group), inGroup);
    Value isFirst = k.compare(Predicate::eq, pair, k.i32(0));
    Value isFinal = k.compare(Predicate::slt, item.part, k.i32(0));
    // A partial result has no sink: the combination counts it once.
    Value sink = k.minusInfinity();
    if (config.hasSinks)
      sink = k.select(isFinal, emitLoadSink(k, config, params, head), sink);
    Value max;
    MergedRow merged = emitMergeWarps(k, config, ring, row, column, sink, max);
    auto branch = scf::IfOp::create(b, k.loc, isFinal, /*withElseRegion=*/true);
    b.setInsertionPointToStart(branch.thenBlock());
    emitStoreFinal(k, config, params, item.queryBegin, head, column, isFirst, merged);
    b.setInsertionPointToStart(branch.elseBlock());
    Value partRow = k.add(k.mul(k.toI64(item.part), config.queryHeads()), k.toI64(head));
    Value offset = k.add(k.mul(partRow, config.width), k.toI64(column));
    k.store(k.pair(merged.first, merged.second), k.element(params[P::PartOutput], offset, 4),
            8);
    k.guarded(isFirst, [&] {
      k.store(k.pair(max, merged.sum), k.element(params[P::PartStats], partRow, 8), 8);
    });
  });
  b.setInsertionPointAfter(loop);
  // The next item fills the ring again.
  k.barrier();
}
