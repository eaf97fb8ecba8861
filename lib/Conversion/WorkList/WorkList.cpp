//===- WorkList.cpp - which keys and queries a kernel visits --------------===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "kvc/Conversion/WorkList.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace kvc;

namespace {
/// Arithmetic and memory accesses with little noise.
class ListBuilder {
public:
  ListBuilder(OpBuilder &b, Location loc) : b(b), loc(loc) {}

  Value i32(int64_t value) {
    return arith::ConstantOp::create(b, loc, b.getI32IntegerAttr(value));
  }
  Value i64(int64_t value) {
    return arith::ConstantOp::create(b, loc, b.getI64IntegerAttr(value));
  }
  Value add(Value lhs, Value rhs) { return arith::AddIOp::create(b, loc, lhs, rhs); }
  Value sub(Value lhs, Value rhs) { return arith::SubIOp::create(b, loc, lhs, rhs); }
  Value mul(Value lhs, Value rhs) { return arith::MulIOp::create(b, loc, lhs, rhs); }
  Value div(Value lhs, Value rhs) { return arith::DivUIOp::create(b, loc, lhs, rhs); }
  Value min(Value lhs, Value rhs) { return arith::MinSIOp::create(b, loc, lhs, rhs); }
  Value max(Value lhs, Value rhs) { return arith::MaxSIOp::create(b, loc, lhs, rhs); }
  Value select(Value condition, Value lhs, Value rhs) {
    return arith::SelectOp::create(b, loc, condition, lhs, rhs);
  }
  Value compare(arith::CmpIPredicate predicate, Value lhs, Value rhs) {
    return arith::CmpIOp::create(b, loc, predicate, lhs, rhs);
  }
  Value toI64(Value value) {
    if (value.getType().isInteger(64))
      return value;
    return arith::ExtSIOp::create(b, loc, b.getI64Type(), value);
  }

  /// Address `bytes` + `index` * `stride` after `base`, in 64 bits.
  Value at(Value base, Value index, int64_t stride, int64_t bytes) {
    Value offset = add(mul(toI64(index), i64(stride)), i64(bytes));
    return LLVM::GEPOp::create(b, loc, base.getType(), b.getI8Type(), base,
                               ArrayRef<LLVM::GEPArg>{offset});
  }
  Value load(Value base, Value index, int64_t stride, int64_t bytes, Type type) {
    return LLVM::LoadOp::create(b, loc, type, at(base, index, stride, bytes));
  }
  void store(Value value, Value base, Value index, int64_t stride, int64_t bytes) {
    LLVM::StoreOp::create(b, loc, value, at(base, index, stride, bytes));
  }
  Value loadI32(Value base, Value index) { return load(base, index, 4, 0, b.getI32Type()); }

  OpBuilder &b;
  Location loc;
};

/// A query block and the keys that it sees.
struct QueryBlock {
  Value sequence, queryBegin, queryCount, queryPos, kvBegin, kvEnd, kvLen, firstPage;
};
} // namespace

/// Keys from 0 to `kvLen` that at least one of the queries at `firstPos` to
/// `lastPos` sees.
static std::pair<Value, Value> emitVisibleKeys(ListBuilder &l, const WorkListConfig &config,
                                               Value firstPos, Value lastPos, Value kvLen) {
  Value zero = l.i32(0);
  Value length = l.max(kvLen, zero);
  KeyBounds bounds{zero, length, zero, length};
  for (ScoreModifierInterface modifier : config.modifiers)
    modifier.boundKeep(l.b, l.loc, firstPos, lastPos, bounds);
  Value begin = l.max(bounds.anyBegin, zero);
  Value end = l.min(bounds.anyEnd, length);
  Value none = l.compare(arith::CmpIPredicate::sge, begin, end);
  return {l.select(none, zero, begin), l.select(none, zero, end)};
}

/// Stores one item.
static void emitStoreItem(ListBuilder &l, Value items, Value index, const QueryBlock &block,
                          Value kvBegin, Value kvEnd, Value part, Value partCount,
                          Value firstPart) {
  auto store = [&](Value value, size_t bytes) {
    l.store(value, items, index, sizeof(WorkItem), bytes);
  };
  store(block.sequence, offsetof(WorkItem, sequence));
  store(block.queryBegin, offsetof(WorkItem, queryBegin));
  store(block.queryCount, offsetof(WorkItem, queryCount));
  store(block.queryPos, offsetof(WorkItem, queryPos));
  store(kvBegin, offsetof(WorkItem, kvBegin));
  store(kvEnd, offsetof(WorkItem, kvEnd));
  store(block.kvLen, offsetof(WorkItem, kvLen));
  store(part, offsetof(WorkItem, part));
  store(partCount, offsetof(WorkItem, partCount));
  store(firstPart, offsetof(WorkItem, firstPart));
  store(block.firstPage, offsetof(WorkItem, firstPage));
}

/// Stores the items and the merge entry of one query block. `counts` are the
/// items, parts and merges before it; returns those after it.
static SmallVector<Value> emitBlockItems(ListBuilder &l, const WorkListArgs &args,
                                         const WorkListConfig &config,
                                         const QueryBlock &block, ValueRange counts) {
  OpBuilder &b = l.b;
  Value zero = l.i32(0), one = l.i32(1), none = l.i32(-1), split = l.i32(config.split);
  Value items = counts[0], parts = counts[1], merges = counts[2];

  // Splits that the keys touch: first .. first + count - 1. A block without
  // keys has kvBegin == kvEnd == 0, and still one item.
  Value firstSplit = l.div(block.kvBegin, split);
  Value lastSplit = l.div(l.max(l.sub(block.kvEnd, one), zero), split);
  Value longer = l.compare(arith::CmpIPredicate::sgt, block.kvLen, args.maxKvLen);
  Value count = l.select(longer, one, l.add(l.sub(lastSplit, firstSplit), one));
  Value isOnly = l.compare(arith::CmpIPredicate::eq, count, one);
  Value firstPart = l.select(isOnly, none, parts);

  auto branch = scf::IfOp::create(b, l.loc, isOnly, /*withElseRegion=*/true);
  b.setInsertionPointToStart(branch.thenBlock());
  emitStoreItem(l, args.items, items, block, block.kvBegin, block.kvEnd, none, one, none);

  b.setInsertionPointToStart(branch.elseBlock());
  auto storeMerge = [&](Value value, size_t bytes) {
    l.store(value, args.merges, merges, sizeof(MergeEntry), bytes);
  };
  storeMerge(block.queryBegin, offsetof(MergeEntry, queryBegin));
  storeMerge(block.queryCount, offsetof(MergeEntry, queryCount));
  storeMerge(parts, offsetof(MergeEntry, firstPart));
  storeMerge(count, offsetof(MergeEntry, partCount));
  auto loop = scf::ForOp::create(b, l.loc, zero, count, one);
  b.setInsertionPointToStart(loop.getBody());
  Value index = loop.getInductionVar();
  Value splitBegin = l.mul(l.add(firstSplit, index), split);
  // Written so that nothing overflows near the largest length.
  Value end = l.add(splitBegin, l.min(split, l.sub(block.kvEnd, splitBegin)));
  emitStoreItem(l, args.items, l.add(items, index), block, l.max(block.kvBegin, splitBegin),
                end, l.add(parts, index), count, firstPart);

  b.setInsertionPointAfter(branch);
  return {l.add(items, count), l.add(parts, l.select(isOnly, zero, count)),
          l.add(merges, l.select(isOnly, zero, one))};
}

void kvc::emitBuildWorkList(OpBuilder &b, Location loc, const WorkListArgs &args,
                            const WorkListConfig &config) {
  ListBuilder l(b, loc);
  Value zero = l.i32(0), one = l.i32(1), queryTokens = l.i32(config.queryTokens);
  Value null = LLVM::ZeroOp::create(b, loc, args.pageStart.getType());
  Value isPadded =
      LLVM::ICmpOp::create(b, loc, LLVM::ICmpPredicate::eq, args.pageStart, null);

  SmallVector<Value> counts = {zero, zero, zero};
  auto sequences = scf::ForOp::create(b, loc, zero, args.numSequences, one, counts);
  b.setInsertionPointToStart(sequences.getBody());
  Value sequence = sequences.getInductionVar();
  Value queryBegin = l.loadI32(args.queryStart, sequence);
  Value queryLen = l.sub(l.loadI32(args.queryStart, l.add(sequence, one)), queryBegin);
  Value kvLen = l.loadI32(args.kvLens, sequence);
  auto pages = scf::IfOp::create(
      b, loc, isPadded,
      [&](OpBuilder &, Location) {
        scf::YieldOp::create(b, loc, l.mul(l.toI64(sequence), args.pageStride));
      },
      [&](OpBuilder &, Location) {
        scf::YieldOp::create(b, loc, l.toI64(l.loadI32(args.pageStart, sequence)));
      });

  Value hasQueries = l.compare(arith::CmpIPredicate::sgt, queryLen, zero);
  Value blocks = l.select(hasQueries, l.add(l.div(l.sub(queryLen, one), queryTokens), one),
                          zero);
  auto blockLoop = scf::ForOp::create(b, loc, zero, blocks, one, sequences.getRegionIterArgs());
  b.setInsertionPointToStart(blockLoop.getBody());
  Value first = l.mul(blockLoop.getInductionVar(), queryTokens);
  QueryBlock block;
  block.sequence = sequence;
  block.queryBegin = l.add(queryBegin, first);
  block.queryCount = l.min(queryTokens, l.sub(queryLen, first));
  block.queryPos = l.add(l.sub(kvLen, queryLen), first);
  block.kvLen = kvLen;
  block.firstPage = pages.getResult(0);
  Value lastPos = l.add(block.queryPos, l.sub(block.queryCount, one));
  std::tie(block.kvBegin, block.kvEnd) =
      emitVisibleKeys(l, config, block.queryPos, lastPos, kvLen);
  scf::YieldOp::create(
      b, loc, emitBlockItems(l, args, config, block, blockLoop.getRegionIterArgs()));

  b.setInsertionPointAfter(blockLoop);
  scf::YieldOp::create(b, loc, blockLoop.getResults());
  b.setInsertionPointAfter(sequences);
  auto storeCount = [&](Value value, size_t bytes) {
    l.store(value, args.counts, zero, 0, bytes);
  };
  storeCount(sequences.getResult(0), offsetof(WorkCounts, items));
  storeCount(sequences.getResult(1), offsetof(WorkCounts, parts));
  storeCount(sequences.getResult(2), offsetof(WorkCounts, merges));
  storeCount(zero, offsetof(WorkCounts, reserved));
}

WorkListBounds kvc::emitWorkListBounds(OpBuilder &b, Location loc, Value maxSequences,
                                       Value maxTokens, Value maxKvLen,
                                       const WorkListConfig &config) {
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
  Value items = l.mul(blocks, l.max(splits, one));
  return {items, l.select(isSplit, items, zero), l.select(isSplit, blocks, zero)};
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
  item.partCount = load(offsetof(WorkItem, partCount));
  item.firstPart = load(offsetof(WorkItem, firstPart));
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
          load(offsetof(MergeEntry, firstPart)), load(offsetof(MergeEntry, partCount))};
}
