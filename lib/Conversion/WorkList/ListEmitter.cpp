//===- ListEmitter.cpp - emission of work lists ---------------------------===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "ListEmitter.h"

using namespace mlir;
using namespace kvc;

Value ListBuilder::i32(int64_t value) {
  return arith::ConstantOp::create(b, loc, b.getI32IntegerAttr(value));
}

Value ListBuilder::i64(int64_t value) {
  return arith::ConstantOp::create(b, loc, b.getI64IntegerAttr(value));
}

Value ListBuilder::toI64(Value value) {
  if (value.getType().isInteger(64))
    return value;
  return arith::ExtSIOp::create(b, loc, b.getI64Type(), value);
}

Value ListBuilder::at(Value base, Value index, int64_t stride, int64_t bytes) {
  Value offset = add(mul(toI64(index), i64(stride)), i64(bytes));
  return LLVM::GEPOp::create(b, loc, base.getType(), b.getI8Type(), base,
                             ArrayRef<LLVM::GEPArg>{offset});
}

SmallVector<Value> ListBuilder::loadVector(Value base, Value index, int64_t stride,
                                           int64_t bytes, Type element) {
  int64_t count = 128 / element.getIntOrFloatBitWidth();
  Value vector = LLVM::LoadOp::create(b, loc, VectorType::get(count, element),
                                      at(base, index, stride, bytes), /*alignment=*/16);
  SmallVector<Value> numbers;
  for (int64_t i = 0; i < count; ++i)
    numbers.push_back(LLVM::ExtractElementOp::create(b, loc, vector, i32(i)));
  return numbers;
}

Value ListBuilder::bits(Value number, int64_t first, int64_t count) {
  if (first > 0)
    number = arith::ShRUIOp::create(b, loc, number, i32(first));
  if (first + count < 32)
    number = arith::AndIOp::create(b, loc, number, i32((int64_t(1) << count) - 1));
  return number;
}

//===----------------------------------------------------------------------===//
// Query blocks
//===----------------------------------------------------------------------===//

/// Keys from 0 to `kvLen` that at least one of the queries at `firstPos` to
/// `lastPos` sees.
std::pair<Value, Value> ListEmitter::emitVisibleKeys(Value firstPos, Value lastPos,
                                                     Value kvLen) {
  Value zero = i32(0);
  Value length = max(kvLen, zero);
  KeyBounds bounds{zero, length, zero, length};
  for (ScoreModifierInterface modifier : config.modifiers)
    modifier.boundKeep(b, loc, firstPos, lastPos, bounds);
  Value begin = max(bounds.anyBegin, zero);
  Value end = min(bounds.anyEnd, length);
  Value none = compare(Predicate::sge, begin, end);
  return {select(none, zero, begin), select(none, zero, end)};
}

ValueRange ListEmitter::emitQueryBlocks(Value sequence, ValueRange inits, BlockFn body) {
  Value zero = i32(0), one = i32(1), queryTokens = i32(config.queryTokens);
  Value null = LLVM::ZeroOp::create(b, loc, args.pageStart.getType());
  Value isPadded =
      LLVM::ICmpOp::create(b, loc, LLVM::ICmpPredicate::eq, args.pageStart, null);
  Value queryBegin = loadI32(args.queryStart, sequence);
  Value queryLen = sub(loadI32(args.queryStart, add(sequence, one)), queryBegin);
  Value kvLen = loadI32(args.kvLens, sequence);
  auto pages = scf::IfOp::create(
      b, loc, isPadded,
      [&](OpBuilder &, Location) {
        scf::YieldOp::create(b, loc, mul(toI64(sequence), args.pageStride));
      },
      [&](OpBuilder &, Location) {
        scf::YieldOp::create(b, loc, toI64(loadI32(args.pageStart, sequence)));
      });

  Value hasQueries = compare(Predicate::sgt, queryLen, zero);
  Value blocks =
      select(hasQueries, add(div(sub(queryLen, one), queryTokens), one), zero);
  auto loop = scf::ForOp::create(b, loc, zero, blocks, one, inits);
  b.setInsertionPointToStart(loop.getBody());
  Value first = mul(loop.getInductionVar(), queryTokens);
  QueryBlock block;
  block.queryBegin = add(queryBegin, first);
  block.queryCount = min(queryTokens, sub(queryLen, first));
  block.queryPos = add(sub(kvLen, queryLen), first);
  block.kvLen = kvLen;
  block.firstPage = pages.getResult(0);
  Value lastPos = add(block.queryPos, sub(block.queryCount, one));
  std::tie(block.kvBegin, block.kvEnd) = emitVisibleKeys(block.queryPos, lastPos, kvLen);
  scf::YieldOp::create(b, loc, body(block, loop.getRegionIterArgs()));
  b.setInsertionPointAfter(loop);
  return loop.getResults();
}

/// True for a sequence that is longer than it may be.
Value ListEmitter::emitIsLonger(const QueryBlock &block) {
  return compare(Predicate::sgt, block.kvLen, args.maxKvLen);
}

std::pair<Value, Value> ListEmitter::emitTouched(const QueryBlock &block, Value keys) {
  // A block without keys has kvBegin == kvEnd == 0.
  Value one = i32(1);
  Value first = div(block.kvBegin, keys);
  Value last = div(max(sub(block.kvEnd, one), i32(0)), keys);
  return {first, add(sub(last, first), one)};
}

Value ListEmitter::emitTouchedSplits(Value sequence) {
  Value split = i32(config.split);
  auto addTouched = [&](const QueryBlock &block, ValueRange sum) -> SmallVector<Value> {
    Value count = select(emitIsLonger(block), i32(1), emitTouched(block, split).second);
    return {add(sum[0], toI64(count))};
  };
  return emitQueryBlocks(sequence, {i64(0)}, addTouched)[0];
}

//===----------------------------------------------------------------------===//
// Items
//===----------------------------------------------------------------------===//

void ListEmitter::emitStoreItem(Value index, const QueryBlock &block, Value kvBegin,
                                Value kvEnd, Value part, Value firstRank, Value numRanks) {
  auto storeField = [&](Value value, size_t bytes) {
    store(value, args.items, index, sizeof(WorkItem), bytes);
  };
  storeField(block.queryBegin, offsetof(WorkItem, queryBegin));
  storeField(part, offsetof(WorkItem, part));
  storeField(block.queryPos, offsetof(WorkItem, queryPos));
  storeField(truncate(block.queryCount, 16), offsetof(WorkItem, queryCount));
  storeField(truncate(firstRank, 8), offsetof(WorkItem, firstRank));
  storeField(truncate(numRanks, 8), offsetof(WorkItem, numRanks));
  storeField(block.firstPage, offsetof(WorkItem, firstPage));
  storeField(kvBegin, offsetof(WorkItem, kvBegin));
  storeField(kvEnd, offsetof(WorkItem, kvEnd));
}

/// Stores the one item of a block.
void ListEmitter::emitStoreOnly(const QueryBlock &block, ValueRange counts) {
  emitStoreItem(counts[0], block, block.kvBegin, block.kvEnd, /*part=*/i32(-1),
                rankOf(counts[0]), i32(1));
}

/// Stores the merge entry and the items of a block with `count` parts, from chunk
/// `first` on.
void ListEmitter::emitStoreParts(const QueryBlock &block, const Chunks &chunks,
                                 ValueRange counts, Value first, Value count) {
  Value items = counts[0], parts = counts[1], merges = counts[2];
  auto storeMerge = [&](Value value, size_t bytes) {
    store(value, args.merges, merges, sizeof(MergeEntry), bytes);
  };
  Value firstRank = rankOf(items), end = add(items, count), size = cluster();
  storeMerge(block.queryBegin, offsetof(MergeEntry, queryBegin));
  storeMerge(parts, offsetof(MergeEntry, firstPart));
  storeMerge(count, offsetof(MergeEntry, partCount));
  storeMerge(truncate(block.queryCount, 16), offsetof(MergeEntry, queryCount));
  storeMerge(truncate(firstRank, 16), offsetof(MergeEntry, firstRank));
  Value isOneCluster = compare(Predicate::sle, add(firstRank, count), size);
  auto loop = scf::ForOp::create(b, loc, i32(0), count, i32(1));
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(loop.getBody());
  Value index = loop.getInductionVar();
  Value begin = mul(add(first, index), chunks.keys);
  // Written so that nothing overflows near the largest length.
  Value kvEnd = add(begin, min(chunks.keys, sub(block.kvEnd, begin)));
  Value item = add(items, index), inCluster = sub(item, rankOf(item));
  Value low = max(items, inCluster), high = min(end, add(inCluster, size));
  emitStoreItem(item, block, max(block.kvBegin, begin), kvEnd,
                select(isOneCluster, i32(-1), add(parts, index)), sub(low, inCluster),
                sub(high, low));
}

SmallVector<Value> ListEmitter::emitBlock(const QueryBlock &block, const Chunks &chunks,
                                          ValueRange counts, bool stores) {
  Value zero = i32(0), one = i32(1);
  auto [first, touched] = emitTouched(block, chunks.keys);
  Value isOnly = arith::OrIOp::create(b, loc, emitIsLonger(block),
                                      compare(Predicate::eq, touched, one));
  if (chunks.splits) {
    Value splits = emitTouched(block, i32(config.split)).second;
    isOnly = arith::OrIOp::create(b, loc, isOnly,
                                  compare(Predicate::sle, splits, chunks.splits));
  }
  Value count = select(isOnly, one, touched);
  if (stores) {
    auto branch = scf::IfOp::create(b, loc, isOnly, /*withElseRegion=*/true);
    b.setInsertionPointToStart(branch.thenBlock());
    emitStoreOnly(block, counts);
    b.setInsertionPointToStart(branch.elseBlock());
    emitStoreParts(block, chunks, counts, first, count);
    b.setInsertionPointAfter(branch);
  }
  return {add(counts[0], count), add(counts[1], select(isOnly, zero, count)),
          add(counts[2], select(isOnly, zero, one))};
}

SmallVector<Value> ListEmitter::emitSequence(Value sequence, const Chunks &chunks,
                                             ValueRange counts, bool stores) {
  return llvm::to_vector(
      emitQueryBlocks(sequence, counts, [&](const QueryBlock &block, ValueRange before) {
        return emitBlock(block, chunks, before, stores);
      }));
}

void ListEmitter::emitStoreCounts(ValueRange counts) {
  Value zero = i32(0);
  auto storeCount = [&](Value value, size_t bytes) {
    store(value, args.counts, zero, 0, bytes);
  };
  storeCount(counts[0], offsetof(WorkCounts, items));
  storeCount(counts[1], offsetof(WorkCounts, parts));
  storeCount(counts[2], offsetof(WorkCounts, merges));
  storeCount(cluster(), offsetof(WorkCounts, cluster));
}
