//===- AttentionKernel.cpp - attention of one query token -----------------===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "AttentionKernel.h"

#include "kvc/Conversion/WorkListKernel.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace kvc;

/// Values of one kernel that its steps share.
namespace {
struct Attention {
  KernelBuilder k;
  const AttentionConfig &config;
  ValueRange params;
  Lane lane;
  Value ring;           ///< Address of the ring, i32.
  Value kvHead, rowBlock;
  Value keyLane, valLane; ///< Offsets of this lane's matrix rows in a slot.

  using Fragment = SmallVector<Value, 4>;

  void setUp();
  void emitItem(Value index);
  SmallVector<Fragment> loadQuery(const WorkItemValues &item);
  SmallVector<Value> emitScores(Value slot, ArrayRef<Fragment> query);
  void emitOutput(Value slot, ArrayRef<Value> probabilities,
                  MutableArrayRef<Value> accumulators);
  /// Address of a lane's row with its first chunk, and of another one `step`
  /// pairs of chunks further.
  Value matrixAddress(Value laneAddress, int64_t step, int64_t bytes);
};
} // namespace

void Attention::setUp() {
  lane.thread = k.threadId();
  lane.warp = k.div(lane.thread, kWarpSize);
  lane.lane = k.bitAnd(lane.thread, kWarpSize - 1);
  lane.row = k.div(lane.lane, 4);
  lane.col = k.bitAnd(lane.lane, 3);
  ring = k.sharedBase();
  Value block = k.blockIdX();
  kvHead = k.div(block, config.rowBlocks());
  rowBlock = k.rem(block, config.rowBlocks());

  // ldmatrix: lane i names row i % 8 of matrix i / 8. The swizzle takes the row's
  // low three bits, which 8 rows more or a warp's slice do not change.
  Value warpRow = k.mul(lane.warp, config.tokensPerWarp);
  Value low = k.bitAnd(lane.lane, 7);
  Value matrix = k.div(lane.lane, 8);
  auto address = [&](Value row, Value chunk) {
    return k.add(k.mul(k.add(warpRow, row), config.rowBytes()),
                 k.mul(k.bitXor(chunk, low), 16));
  };
  // Keys: keys 0-7 chunk 0, keys 0-7 chunk 1, keys 8-15 chunk 0, 8-15 chunk 1.
  keyLane = address(k.add(low, k.mul(k.div(matrix, 2), 8)), k.bitAnd(matrix, 1));
  // Values: keys 0-7 chunk 0, keys 8-15 chunk 0, keys 0-7 chunk 1, 8-15 chunk 1.
  valLane = k.add(address(k.bitAnd(lane.lane, 15), k.div(lane.lane, 16)),
                  config.componentBytes());
}

Value Attention::matrixAddress(Value laneAddress, int64_t step, int64_t bytes) {
  // Chunk 2 * step + c of a row whose swizzle is x lies at (2 * step) ^ (c ^ x),
  // and rows are aligned to their size: one exclusive or does it.
  Value address = step == 0 ? laneAddress : k.bitXor(laneAddress, k.i32(step * 32));
  return k.at(k.toShared(address), bytes);
}

/// Loads the fragments of the queries, one for 16 columns. Rows past the group
/// are zero.
SmallVector<Attention::Fragment> Attention::loadQuery(const WorkItemValues &item) {
  using P = AttentionParam;
  Value zero = k.i32(0);
  SmallVector<Fragment> fragments(config.width / 16, Fragment(4, zero));
  Value group = k.i32(config.group);
  for (int64_t half = 0; half < config.halves(); ++half) {
    Value row = k.add(k.add(k.mul(rowBlock, 16), lane.row), half * 8);
    Value isHead = k.compare(KernelBuilder::Predicate::slt, row, group);
    Value head = k.add(k.mul(kvHead, config.group), k.select(isHead, row, zero));
    Value offset = k.add(k.mul(k.toI64(item.queryBegin), params[P::QueryTokenStride]),
                         k.mul(k.toI64(head), params[P::QueryHeadStride]));
    offset = k.add(offset, k.toI64(k.mul(lane.col, 2)));
    Value address = k.element(params[P::Query], offset, 2);
    for (int64_t step = 0; step < config.width / 16; ++step)
      for (int64_t columns = 0; columns < 2; ++columns) {
        Value loaded =
            k.load(k.i32Type(), k.at(address, (step * 16 + columns * 8) * 2), 4);
        fragments[step][columns * 2 + half] = k.select(isHead, loaded, zero);
      }
  }
  return fragments;
}

/// Emits the scores of the warp's keys: for each half of the rows in turn, those
/// of columns 2 * col and 2 * col + 1 of each 8 keys.
SmallVector<Value> Attention::emitScores(Value slot, ArrayRef<Fragment> query) {
  int64_t keys = config.tokensPerWarp / 4;
  SmallVector<Value> scores(config.halves() * keys);
  Value laneAddress = k.add(slot, keyLane);
  SmallVector<Value, 4> zeros(4, k.f32(0.0));
  for (int64_t block = 0; block < config.tokensPerWarp / 16; ++block) {
    SmallVector<Value, 4> sums[2] = {zeros, zeros};
    for (auto [step, fragment] : llvm::enumerate(query)) {
      auto matrices = k.loadMatrices(
          matrixAddress(laneAddress, step, block * 16 * config.rowBytes()), false);
      for (int64_t i = 0; i < 2; ++i)
        sums[i] = k.multiply(fragment, ArrayRef<Value>(matrices).slice(2 * i, 2), sums[i],
                             config.element);
    }
    for (int64_t i = 0; i < 2; ++i)
      for (int64_t half = 0; half < config.halves(); ++half)
        for (int64_t column = 0; column < 2; ++column)
          scores[half * keys + (block * 2 + i) * 2 + column] =
              emitScore(k, config, sums[i][half * 2 + column]);
  }
  return scores;
}

/// Adds probabilities times values to the accumulators.
void Attention::emitOutput(Value slot, ArrayRef<Value> probabilities,
                           MutableArrayRef<Value> accumulators) {
  int64_t keys = config.tokensPerWarp / 4;
  Value laneAddress = k.add(slot, valLane);
  for (int64_t block = 0; block < config.tokensPerWarp / 16; ++block) {
    // The C fragments of 16 scores are the A fragment of their 16 keys.
    Fragment fragment(4, k.i32(0));
    for (int64_t i = 0; i < 2; ++i)
      for (int64_t half = 0; half < config.halves(); ++half) {
        const Value *pair = &probabilities[half * keys + (block * 2 + i) * 2];
        fragment[i * 2 + half] = k.packPair(pair[0], pair[1], config.element);
      }
    for (int64_t step = 0; step < config.width / 16; ++step) {
      auto matrices = k.loadMatrices(
          matrixAddress(laneAddress, step, block * 16 * config.rowBytes()), true);
      for (int64_t i = 0; i < 2; ++i) {
        auto tile = accumulators.slice((step * 2 + i) * 4, 4);
        llvm::copy(k.multiply(fragment, ArrayRef<Value>(matrices).slice(2 * i, 2), tile,
                              config.element),
                   tile.begin());
      }
    }
  }
}

void Attention::emitItem(Value index) {
  using Predicate = KernelBuilder::Predicate;
  OpBuilder &b = k.b;
  Location loc = k.loc;
  WorkItemValues item = emitLoadWorkItem(b, loc, params[AttentionParam::Items], index);
  KeyBounds bounds = emitKeyBounds(k, config, item);
  TileCopies copies(k, config, params, lane, item, kvHead, ring);
  int64_t ahead = config.stages - 1;

  // Without keys no tile is visited, and nothing is read.
  Value beginTile = k.div(item.kvBegin, config.tile());
  Value endTile = k.div(k.add(item.kvEnd, config.tile() - 1), config.tile());
  SmallVector<SmallVector<Value>> pageIds;
  for (int64_t stage = 0; stage <= ahead; ++stage)
    pageIds.push_back(copies.loadPageIds(k.add(beginTile, stage), endTile));
  for (int64_t stage = 0; stage < ahead; ++stage)
    copies.issue(k.add(beginTile, stage), endTile, k.i32(stage * config.slotBytes()),
                 pageIds[stage]);
  SmallVector<Fragment> query = loadQuery(item);

  // Carried: accumulators, maximum and sum of each half, the slot that is read,
  // the page ids of the next copy.
  int64_t numAccumulators = config.width / 8 * 4;
  SmallVector<Value> carried(numAccumulators, k.f32(0.0));
  for (int64_t half = 0; half < config.halves(); ++half)
    carried.append({k.minusInfinity(), k.f32(0.0)});
  carried.push_back(k.i32(0));
  carried.append(pageIds.back());

  auto loop = scf::ForOp::create(b, loc, beginTile, endTile, k.i32(1), carried);
  b.setInsertionPointToStart(loop.getBody());
  SmallVector<Value> values(loop.getRegionIterArgs());
  MutableArrayRef<Value> accumulators = MutableArrayRef(values).take_front(numAccumulators);
  MutableArrayRef<Value> rest = MutableArrayRef(values).drop_front(numAccumulators);
  Value tile = loop.getInductionVar();
  Value &slotOffset = rest[2 * config.halves()];
  MutableArrayRef<Value> nextIds = rest.drop_front(2 * config.halves() + 1);

  // This thread's copies of the tile are done; after the barrier so are all, and
  // no warp reads the slot of the tile before any more: it is filled next.
  k.waitForCopies(config.stages - 2);
  k.barrier();
  Value ringBytes = k.i32(config.ringBytes());
  Value isFirstSlot = k.compare(Predicate::eq, slotOffset, k.i32(0));
  Value previous = k.add(k.select(isFirstSlot, ringBytes, slotOffset), -config.slotBytes());
  copies.issue(k.add(tile, ahead), endTile, previous, nextIds);
  llvm::copy(copies.loadPageIds(k.add(tile, ahead + 1), endTile), nextIds.begin());

  Value slot = k.add(ring, slotOffset);
  SmallVector<Value> scores = emitScores(slot, query);
  Value tileBegin = k.mul(tile, config.tile());
  Value firstKey = k.add(k.add(tileBegin, k.mul(lane.warp, config.tokensPerWarp)),
                         k.mul(lane.col, 2));
  scores = emitMask(k, config, item, bounds, tileBegin, firstKey, scores);
  int64_t keys = config.tokensPerWarp / 4;
  for (int64_t half = 0; half < config.halves(); ++half) {
    RowStats stats{rest[2 * half], rest[2 * half + 1]};
    Value factor =
        emitSoftmaxStep(k, MutableArrayRef(scores).slice(half * keys, keys), stats);
    rest[2 * half] = stats.max;
    rest[2 * half + 1] = stats.sum;
    for (int64_t i = 0; i < numAccumulators; i += 4)
      for (int64_t column = 0; column < 2; ++column)
        accumulators[i + half * 2 + column] =
            k.mulF(accumulators[i + half * 2 + column], factor);
  }
  emitOutput(slot, scores, accumulators);
  Value next = k.add(slotOffset, config.slotBytes());
  slotOffset = k.select(k.compare(Predicate::eq, next, ringBytes), k.i32(0), next);
  scf::YieldOp::create(b, loc, values);

  b.setInsertionPointAfter(loop);
  ResultRange results = loop.getResults();
  SmallVector<RowStats> stats;
  for (int64_t half = 0; half < config.halves(); ++half)
    stats.push_back({results[numAccumulators + 2 * half], results[numAccumulators + 2 * half + 1]});
  emitFinish(k, config, params, lane, index, kvHead, rowBlock, ring,
             results.take_front(numAccumulators), stats);
}

//===----------------------------------------------------------------------===//
// Kernels
//===----------------------------------------------------------------------===//

static KernelDescription describe(const AttentionConfig &config, KernelKind kind) {
  KernelDescription description;
  description.function = config.name;
  description.op = config.op;
  description.kind = kind;
  description.phase = KernelPhase::Decode;
  return description;
}

/// Operands of an attention with one term.
static constexpr int64_t kQueryOperand = 2, kSinksOperand = 3;

// Keys and values are copied 16 bytes at a time, queries and outputs by pairs.
static constexpr int32_t kCacheAlignment = 16, kRowAlignment = 4;

/// Adds the parameters that attention and combine share, see AttentionParam.
static void addParameters(KernelDescription &description, const AttentionConfig &config) {
  auto add = [&](KernelParameter parameter, int32_t alignment = 0) {
    description.parameters.push_back(parameter);
    description.alignments.push_back(alignment);
  };
  add(KernelParameter::operand(kQueryOperand), kRowAlignment);
  add(KernelParameter::component(config.key), kCacheAlignment);
  add(KernelParameter::component(config.value), kCacheAlignment);
  add(KernelValue::PageIds);
  add(KernelValue::ListItems);
  add(KernelValue::ListMerges);
  add(KernelValue::ListCounts);
  add(KernelParameter::result(0), kRowAlignment);
  add(KernelValue::PartsOutput);
  add(KernelValue::PartsStats);
  if (config.hasLSE)
    add(KernelParameter::result(1));
  if (config.hasSinks)
    add(KernelParameter::operand(kSinksOperand));
}

/// Registers that a thread may take. Two blocks share a multiprocessor for the
/// sake of their shared memory, or more where the tile is smaller; with 8 rows
/// and 16 keys a warp, 168 registers are enough for three of 128 threads. With
/// fewer warps, or pages of an odd size, the copies need more addresses.
static int64_t getMaxRegisters(const AttentionConfig &config) {
  bool isSmall = config.rows() == 8 && config.tokensPerWarp == 16 && config.warps >= 4 &&
                 llvm::isPowerOf2_64(config.pageSize);
  return isSmall ? 168 : 255;
}

static KernelDescription describeAttention(const AttentionConfig &config) {
  KernelDescription description = describe(config, KernelKind::Attention);
  description.grid[0] = config.kvHeads * config.rowBlocks();
  description.grid[1] = 0;
  description.threads = config.threads();
  description.sharedBytes = config.sharedBytes();
  description.split = config.list.split;
  description.queryTokens = config.list.queryTokens;
  description.queryHeads = config.queryHeads();
  description.width = config.width;
  description.deterministic = config.deterministic;
  addParameters(description, config);
  return description;
}

static void emitAttentionKernel(OpBuilder &b, AttentionOp op, const AttentionConfig &config,
                                const KernelDescription &description) {
  OpBuilder::InsertionGuard guard(b);
  Location loc = op.getLoc();
  KernelBuilder k(b, loc);
  LLVM::LLVMFuncOp kernel =
      createKernel(b, op, config.name + "_attention", description, kGlobalSpace);
  kernel->setAttr("nvvm.maxnreg", b.getI32IntegerAttr(getMaxRegisters(config)));

  Attention attention{k, config, kernel.getBody().front().getArguments(), {}, {}, {}, {}, {}, {}};
  attention.setUp();
  Value counts = attention.params[AttentionParam::Counts];
  Value items = k.load(k.i32Type(), k.at(counts, offsetof(WorkCounts, items)), 4);
  auto loop = scf::ForOp::create(b, loc, k.blockIdY(), items, k.gridDimY());
  b.setInsertionPointToStart(loop.getBody());
  attention.emitItem(loop.getInductionVar());
  b.setInsertionPointAfter(loop);
  LLVM::ReturnOp::create(b, loc, ValueRange{});
}

static void emitCombineKernel(OpBuilder &b, AttentionOp op, const AttentionConfig &config) {
  using P = AttentionParam;
  OpBuilder::InsertionGuard guard(b);
  Location loc = op.getLoc();
  KernelBuilder k(b, loc);
  KernelDescription description = describe(config, KernelKind::Combine);
  description.grid[0] = config.queryHeads();
  description.grid[1] = 0;
  description.threads = config.width / 2;
  addParameters(description, config);
  LLVM::LLVMFuncOp kernel =
      createKernel(b, op, config.name + "_combine", description, kGlobalSpace);
  // Without a bound ptxas takes 32 registers and spills.
  kernel->setAttr("nvvm.maxnreg", b.getI32IntegerAttr(64));
  ValueRange params = kernel.getBody().front().getArguments();

  // One head of one query token a block, one pair of columns a thread.
  Value thread = k.threadId(), head = k.blockIdX();
  Value column = k.mul(thread, 2);
  Value merges = k.load(k.i32Type(), k.at(params[P::Counts], offsetof(WorkCounts, merges)), 4);
  auto entries = scf::ForOp::create(b, loc, k.blockIdY(), merges, k.gridDimY());
  b.setInsertionPointToStart(entries.getBody());
  MergeEntryValues entry =
      emitLoadMergeEntry(b, loc, params[P::Merges], entries.getInductionVar());
  auto rowOf = [&](Value part) {
    Value row = k.mul(k.toI64(k.add(entry.firstPart, part)), config.queryHeads());
    return k.add(row, k.toI64(head));
  };
  auto loadStats = [&](Value part) {
    return k.load(k.pairType(), k.element(params[P::PartStats], rowOf(part), 8), 8);
  };
  Value zero = k.i32(0), one = k.i32(1);
  Value sink = config.hasSinks ? emitLoadSink(k, config, params, head) : k.minusInfinity();

  auto maxLoop = scf::ForOp::create(b, loc, zero, entry.partCount, one, ValueRange{sink});
  b.setInsertionPointToStart(maxLoop.getBody());
  Value partMax = k.first(loadStats(maxLoop.getInductionVar()));
  scf::YieldOp::create(b, loc, k.maxF(maxLoop.getRegionIterArg(0), partMax));
  b.setInsertionPointAfter(maxLoop);
  Value max = emitFiniteMax(k, maxLoop.getResult(0));

  // The sink counts once, here.
  Value none = k.f32(0.0);
  Value sum = config.hasSinks ? k.exp2(k.subF(sink, max)) : none;
  auto sumLoop =
      scf::ForOp::create(b, loc, zero, entry.partCount, one, ValueRange{sum, none, none});
  b.setInsertionPointToStart(sumLoop.getBody());
  Value part = sumLoop.getInductionVar();
  Value stats = loadStats(part);
  Value factor = k.exp2(k.subF(k.first(stats), max));
  Value offset = k.add(k.mul(rowOf(part), config.width), k.toI64(column));
  Value output = k.load(k.pairType(), k.element(params[P::PartOutput], offset, 4), 8);
  auto accumulate = [&](unsigned i, Value value) {
    return k.addF(sumLoop.getRegionIterArg(i), k.mulF(value, factor));
  };
  scf::YieldOp::create(b, loc,
                       ValueRange{accumulate(0, k.second(stats)), accumulate(1, k.first(output)),
                                  accumulate(2, k.second(output))});
  b.setInsertionPointAfter(sumLoop);
  MergedRow row{max, sumLoop.getResult(0), sumLoop.getResult(1), sumLoop.getResult(2)};
  Value isFirst = k.compare(KernelBuilder::Predicate::eq, thread, zero);
  emitStoreFinal(k, config, params, entry.queryBegin, head, column, isFirst, row);
  b.setInsertionPointAfter(entries);
  LLVM::ReturnOp::create(b, loc, ValueRange{});
}

void kvc::emitAttentionKernels(OpBuilder &b, AttentionOp op, const AttentionConfig &config) {
  KernelDescription description = describeAttention(config);
  emitWorkListKernel(b, op, config.name + "_worklist", description);
  emitAttentionKernel(b, op, config, description);
  emitCombineKernel(b, op, config);
}
