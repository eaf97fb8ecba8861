//===- FinishCluster.cpp - thread blocks that merge what they have --------===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Through distributed shared memory: what the warps have of a row together takes the
// place of the first warp, or of the ring, and each block of the query block reads its
// share of the rows from all of them.
//===----------------------------------------------------------------------===//
#include "Finish.h"

#include "llvm/Support/SaveAndRestore.h"

using namespace mlir;
using namespace kvc;
using namespace kvc::kvtile;

using Predicate = KernelBuilder::Predicate;

/// Waits until no other block reads the query in this one's shared memory: see
/// kvtile.gather_rows.
void Finish::waitForReaders() {
  if (mayBeCluster())
    k.guarded(k.isCluster(), [&] { k.clusterWait(); });
}

void Finish::emitMergedBlocks() {
  // In the place of the first warp, which no other thread reads there.
  forColumns(position.thread, k.i32(warps * kWarpSize),
             [&](Value row, Value column, Value isFirst) {
               SummedRow own = mergeWarps(row, column);
               k.storeRounded(own.columns, k.f32Type(), columnsAt(row, column));
               k.guarded(isFirst, [&] {
                 k.store(k.pair(own.max, own.sum), statsAt(blockStatsOffset(), row), 8);
               });
             });
  storeShares();
}

/// Stores what the warps have of all rows, each its own columns.
void Finish::storeOfColumns() {
  AccumulatorIndex index(tile);
  SmallVector<Value> totals = reduceSums();
  // No warp may still read a tile, or the sums of others.
  k.barrier();
  BlockOffset offset =
      emitBlockOffset(k, position, tile.getLayout(), tile.getWarpRows(), tile.getWarpColumns());
  Value column = addTo(k, offset.column, k.mul(position.quarter, 2 * interleave));
  Value isFirst = k.compare(Predicate::eq, column, k.i32(0));
  for (size_t line = 0; line < totals.size(); ++line) {
    Value row = k.add(position.group, line / 2 * 16 + line % 2 * 8);
    k.guarded(isFirst, [&] {
      k.store(k.pair(max[line], totals[line]), statsAt(blockStatsOffset(), row), 8);
    });
    Value to = columnsAt(row, column);
    for (int64_t c = 0; c < index.columns; c += interleave) {
      SmallVector<Value> columns = columnsOf(index, line, c);
      for (size_t i = 0; i < columns.size(); i += 4) // 16 bytes are stored at once
        k.storeRounded(ArrayRef(columns).slice(i, std::min<size_t>(4, columns.size() - i)),
                       k.f32Type(), k.at(to, c * 32 + i * 4));
    }
  }
}

/// Stores this block's share of the rows that blocks of the cluster have together.
void Finish::storeShares() {
  Value threads = k.i32(warps * kWarpSize);
  k.clusterBarrier();
  // Each of the blocks stores its share of the rows, in the part of the first one.
  Value rank = k.sub(k.clusterRank(), item.firstRank);
  llvm::SaveAndRestore part(item.part, k.sub(item.part, rank));
  forColumns(k.add(k.mul(rank, threads), position.thread), k.mul(item.numRanks, threads),
             [&](Value row, Value column, Value isFirst) {
               storeMerged(row, column, isFirst, mergeBlocks(row, column));
             });
  // No block may write its shared memory again, or end, while another one reads it.
  k.clusterBarrier();
}

SummedRow Finish::mergeBlocks(Value row, Value column) {
  Value stats = statsAt(blockStatsOffset(), row), results = columnsAt(row, column);
  // As many as there may be are read at once; those past the last one are it again.
  SmallVector<Value> exists, ofBlock, columns;
  SummedRow merged;
  for (int64_t i = 0; i < static_cast<int64_t>(*op.getCluster()); ++i) {
    Value number = k.i32(i);
    exists.push_back(k.compare(Predicate::slt, number, item.numRanks));
    Value rank = k.add(item.firstRank, k.min(number, k.add(item.numRanks, -1)));
    ofBlock.push_back(k.load(k.pairType(), k.inCluster(stats, rank), 8));
    columns.push_back(k.load(VectorType::get(kMergedColumns, k.f32Type()),
                             k.inCluster(results, rank), 4 * kMergedColumns));
    Value own = k.first(ofBlock.back());
    merged.max = i == 0 ? own : k.maxF(merged.max, own);
  }
  Value reference = emitFiniteMax(k, merged.max), zero = k.f32(0.0);
  merged.sum = zero;
  merged.columns.assign(kMergedColumns, zero);
  for (auto [isBlock, pair, own] : llvm::zip(exists, ofBlock, columns)) {
    Value factor = k.exp2(k.subF(k.first(pair), reference));
    auto addTo = [&, isBlock = isBlock](Value &total, Value value) {
      total = k.addF(total, k.select(isBlock, k.mulF(value, factor), zero));
    };
    addTo(merged.sum, k.second(pair));
    for (auto [total, value] : llvm::zip(merged.columns, k.fromVector(own)))
      addTo(total, value);
  }
  return merged;
}
