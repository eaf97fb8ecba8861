//===- WorkList.cpp - which keys and queries a kernel visits --------------===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "ListEmitter.h"

using namespace mlir;
using namespace kvc;

void kvc::emitBuildWorkList(OpBuilder &b, Location loc, const WorkListArgs &args,
                            const WorkListConfig &config) {
  ListEmitter l(b, loc, args, config);
  Value zero = l.i32(0);
  auto sequences = scf::ForOp::create(b, loc, zero, args.numSequences, l.i32(1),
                                      ValueRange{zero, zero, zero});
  b.setInsertionPointToStart(sequences.getBody());
  Chunks chunks{l.i32(config.split), {}};
  scf::YieldOp::create(b, loc,
                       l.emitSequence(sequences.getInductionVar(), chunks,
                                      sequences.getRegionIterArgs(), /*stores=*/true));
  b.setInsertionPointAfter(sequences);
  l.emitStoreCounts(sequences.getResults());
}

WorkItemValues kvc::emitLoadWorkItem(OpBuilder &b, Location loc, Value items, Value index) {
  static_assert(offsetof(WorkItem, queryBegin) == 0 && offsetof(WorkItem, part) == 4 &&
                    offsetof(WorkItem, queryPos) == 8 && offsetof(WorkItem, queryCount) == 12 &&
                    offsetof(WorkItem, firstRank) == 14 && offsetof(WorkItem, numRanks) == 15 &&
                    offsetof(WorkItem, firstPage) == 16 && offsetof(WorkItem, kvBegin) == 24 &&
                    offsetof(WorkItem, kvEnd) == 28,
                "two vectors");
  ListBuilder l(b, loc);
  SmallVector<Value> numbers = l.loadVector(items, index, sizeof(WorkItem), 0, b.getI32Type());
  SmallVector<Value> wide = l.loadVector(items, index, sizeof(WorkItem), 16, b.getI64Type());
  WorkItemValues item;
  item.queryBegin = numbers[0];
  item.part = numbers[1];
  item.queryPos = numbers[2];
  item.queryCount = l.bits(numbers[3], 0, 16);
  item.firstRank = l.bits(numbers[3], 16, 8);
  item.numRanks = l.bits(numbers[3], 24, 8);
  item.firstPage = wide[0];
  item.kvBegin = l.toI32(wide[1]);
  item.kvEnd = l.toI32(arith::ShRUIOp::create(b, loc, wide[1], l.i64(32)));
  return item;
}

MergeEntryValues kvc::emitLoadMergeEntry(OpBuilder &b, Location loc, Value merges,
                                         Value index) {
  static_assert(offsetof(MergeEntry, queryBegin) == 0 && offsetof(MergeEntry, firstPart) == 4 &&
                    offsetof(MergeEntry, partCount) == 8 &&
                    offsetof(MergeEntry, queryCount) == 12 &&
                    offsetof(MergeEntry, firstRank) == 14,
                "one vector");
  ListBuilder l(b, loc);
  SmallVector<Value> numbers =
      l.loadVector(merges, index, sizeof(MergeEntry), 0, b.getI32Type());
  MergeEntryValues entry;
  entry.queryBegin = numbers[0];
  entry.firstPart = numbers[1];
  entry.partCount = numbers[2];
  entry.queryCount = l.bits(numbers[3], 0, 16);
  entry.firstRank = l.bits(numbers[3], 16, 16);
  return entry;
}
