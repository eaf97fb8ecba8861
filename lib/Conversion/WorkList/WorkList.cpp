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
  ListBuilder l(b, loc);
  auto load = [&](size_t bytes) {
    return l.load(items, index, sizeof(WorkItem), bytes, b.getI32Type());
  };
  WorkItemValues item;
  item.sequence = load(offsetof(WorkItem, sequence));
  item.queryBegin = load(offsetof(WorkItem, queryBegin));
  item.queryCount = load(offsetof(WorkItem, queryCount));
  item.queryPos = load(offsetof(WorkItem, queryPos));
  item.kvBegin = load(offsetof(WorkItem, kvBegin));
  item.kvEnd = load(offsetof(WorkItem, kvEnd));
  item.kvLen = load(offsetof(WorkItem, kvLen));
  item.part = load(offsetof(WorkItem, part));
  item.firstRank = load(offsetof(WorkItem, firstRank));
  item.numRanks = load(offsetof(WorkItem, numRanks));
  item.firstPage =
      l.load(items, index, sizeof(WorkItem), offsetof(WorkItem, firstPage), b.getI64Type());
  return item;
}

MergeEntryValues kvc::emitLoadMergeEntry(OpBuilder &b, Location loc, Value merges,
                                         Value index) {
  ListBuilder l(b, loc);
  auto load = [&](size_t bytes) {
    return l.load(merges, index, sizeof(MergeEntry), bytes, b.getI32Type());
  };
  return {load(offsetof(MergeEntry, queryBegin)), load(offsetof(MergeEntry, queryCount)),
          load(offsetof(MergeEntry, firstPart)), load(offsetof(MergeEntry, partCount)),
          load(offsetof(MergeEntry, firstRank))};
}
