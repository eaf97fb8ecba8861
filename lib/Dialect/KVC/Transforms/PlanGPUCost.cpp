//===- PlanGPUCost.cpp - what a stream costs on a GPU ---------------------===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// docs/Planning.md explains the model and its constants.
//===----------------------------------------------------------------------===//
#include "PlanGPUShape.h"

#include "llvm/Support/MathExtras.h"

#include <cmath>

using namespace mlir;
using namespace kvc;
using namespace kvc::plan;

// What a multiprocessor does in a clock, of every architecture since sm_90.
static constexpr double kLanes = 128, kSchedulers = 4, kExponentials = 16, kSharedBytes = 128;

/// Shares of the peaks that kernels reach.
static constexpr double kMatrixShare = 0.62, kMemoryShare = 0.9, kIssueShare = 0.7;
/// Instructions that one warp issues in a clock, between waiting for its
/// operands.
static constexpr double kWarpIssue = 0.3;
/// Transfers and computing overlap, but for this share of the shorter of the
/// two.
static constexpr double kOverlapLoss = 0.15;
/// The last cache gives so many times what memory gives.
static constexpr double kCacheSpeed = 2;
/// Seconds from a request of memory under load to its answer.
static constexpr double kMemoryLatency = 0.8e-6;
/// Decode over codes: instructions of a warp for a tile, however large, for its pages,
/// addresses and barriers; those for each scale that a token has; and those of an item
/// before and after its tiles. Counted on the emulator.
static constexpr double kTileInstructions = 85, kScaleInstructions = 20;
static constexpr double kItemInstructions = 600;
/// The work list, the attention, the merge of its parts.
static constexpr int64_t kKernels = 3;

namespace {
/// What one tile of keys takes of a multiprocessor, for the rows of a thread
/// block.
struct TileWork {
  double operations = 0, instructions = 0, exponentials = 0, sharedBytes = 0;
  double latency = 0; ///< Clocks from one tile to the next if nothing else runs.
};
} // namespace

StringRef plan::stringifyBound(Bound bound) {
  switch (bound) {
  case Bound::Memory:
    return "memory";
  case Bound::Cache:
    return "cache";
  case Bound::Matrix:
    return "matrix";
  case Bound::Shared:
    return "shared";
  case Bound::Issue:
    return "issue";
  case Bound::Latency:
    return "latency";
  }
  llvm_unreachable("unknown bound");
}

static TileWork getTileWork(const Problem &problem, const Shape &s) {
  double rows = s.rows, keys = s.keys, warps = s.warps;
  double scores = rows * keys, tileElements = keys * (s.keyWidth + s.valueWidth);
  TileWork work;
  work.operations = 2 * rows * tileElements;
  double matrixInstructions = work.operations / 4096; // m16n8k16

  // Elements that warps load from shared memory as operands.
  // In units of 16 bits; where each warp has all keys, it converts all codes.
  double readers = s.form == StreamForm::Rows ? warps : 1;
  double operands = readers * (tileElements + keys * (problem.operandColumns -
                                                      problem.keyPadded - problem.valuePadded));
  if (s.sharesQuery())
    operands += (s.form == StreamForm::Rows ? 1 : warps) * rows * s.keyWidth;
  if (s.form == StreamForm::Columns)
    operands += warps * scores;

  // Each score is scaled, compared, subtracted from, summed, packed and perhaps
  // masked; a softcap is a tanh by two more functions. Each accumulator is
  // scaled.
  double perScore = 6 + 6 * problem.softcaps;
  double lanes = scores * perScore + (s.splitsKeys() ? warps : 1) * rows * s.valueWidth;
  // Maxima and sums across the lanes of a row: 8 rows at a time.
  double rowStatistics = (s.form == StreamForm::Rows ? 1 : warps) * rows / 8 * 10;
  double copiedBytes = keys * problem.sharedTokenBytes;

  double conversions = readers * keys * problem.conversions;
  if (s.keepsOffsets())
    matrixInstructions += 2 * rows * keys * problem.offsetValueColumns / 4096;
  else
    conversions += readers * keys * problem.offsets;
  work.instructions = matrixInstructions + operands / 256 + lanes / 32 + rowStatistics +
                      copiedBytes / 512 * 3 + conversions;
  if (problem.decodesCodes())
    work.instructions += warps * (kTileInstructions + problem.tokenScales * kScaleInstructions);
  work.exponentials = scores * (1 + 2 * problem.softcaps);
  work.sharedBytes =
      operands * 2 + copiedBytes + (s.form == StreamForm::Columns ? scores * 2 : 0);
  // Products of one accumulator follow each other at 20 clocks; then softmax,
  // barrier.
  double valueSteps = std::ceil(keys / (s.splitsKeys() ? warps : 1) / 16);
  work.latency =
      300 + 20 * (s.keyWidth / 16.0 + valueSteps) + (s.form == StreamForm::Columns ? 150 : 0);
  return work;
}

/// The fewest keys of a work item, in multiples of `split`, of which all thread blocks
/// are resident at once, or all keys; of a deterministic attention just `split`.
static int64_t getItemKeys(const Problem &problem, const Shape &s, int64_t split,
                           int64_t slots) {
  if (problem.isDeterministic)
    return split;
  int64_t blocksPerItem = problem.kvHeads * s.rowBlocks;
  int64_t most = llvm::alignTo(problem.batch.kvTokens, split);
  if (countItems(problem, s.queryTokens, most).count * blocksPerItem >= slots)
    return most; // enough blocks without cutting any
  int64_t granules = countItems(problem, s.queryTokens, split).count * blocksPerItem;
  int64_t keys = std::min<int64_t>(most, split * llvm::divideCeil(granules, slots));
  while (keys < most && countItems(problem, s.queryTokens, keys).count * blocksPerItem > slots)
    keys = std::min(most, keys + split);
  return keys;
}

/// Sets the bytes that the kernels move.
static void setBytes(GPUCost &cost, const Problem &problem, const Shape &s,
                     const Visits &visits, const Items &items, TargetAttr target) {
  double readers = problem.kvHeads * s.rowBlocks, queryHeads = problem.queryHeads();
  double kv = visits.keys * readers * problem.tokenBytes;
  double pageIds = visits.pages * readers * 4;
  double query = items.queryTokens * queryHeads * problem.queryBytes;
  double output = problem.batch.sequences * problem.batch.queryTokens * queryHeads *
                  problem.outputBytes;
  // A part is a row in f32 and its log-sum-exp, written and read.
  double parts = items.partTokens * queryHeads * (problem.valueWidth * 4 + 4) * 2;
  cost.bytes = kv + pageIds + query + output + parts;
  // What is read again comes from the cache if all of it stays there. It counts
  // half: each half of it keeps what its multiprocessors read.
  double distinct = static_cast<double>(visits.distinct) * problem.kvHeads * problem.tokenBytes;
  bool staysInCache = distinct <= target.getCache() / 2;
  cost.memoryBytes = cost.bytes - (staysInCache ? kv - distinct : 0);
}

/// Sets the predicted time and what bounds it.
static void setTime(GPUCost &cost, const Problem &problem, const Shape &s, double tiles,
                    const TileWork &work, double matrixRate, TargetAttr target) {
  double processors = target.getProcessors();
  double clock = target.getF32Rate().convertToDouble() / (2 * kLanes * processors);
  double perClock = clock * processors; // of all multiprocessors together
  double active = std::clamp<int64_t>(llvm::divideCeil(cost.blocks, target.getProcessors()), 1,
                                      std::max<int64_t>(1, cost.resident));

  // Clocks that a multiprocessor is busy with a tile. Each scheduler has matrix
  // units of its own, and warps that never leave it.
  double warps = active * s.warps, schedulers = std::min(warps, kSchedulers);
  double matrixShare = kMatrixShare * schedulers / kSchedulers;
  std::pair<Bound, double> busy = {Bound::Matrix,
                                   work.operations * perClock / (matrixRate * matrixShare)};
  auto consider = [&](Bound bound, double clocks) {
    if (clocks > busy.second)
      busy = {bound, clocks};
  };
  consider(Bound::Shared, work.sharedBytes / kSharedBytes);
  double issue = std::min(kSchedulers * kIssueShare, warps * kWarpIssue);
  consider(Bound::Issue,
           std::max(work.instructions / issue,
                    work.exponentials / (kExponentials * schedulers / kSchedulers)));
  double tileClocks = active * busy.second;
  if (work.latency + busy.second > tileClocks)
    busy.first = Bound::Latency, tileClocks = work.latency + busy.second;

  double slots = processors * active;
  double waves = std::ceil(cost.blocks / slots);
  double computing = tiles / cost.blocks * waves * tileClocks / clock;

  // Memory gives no more than what is on its way divided by how long that
  // takes. Of the tile that is waited for, half is there.
  double inFlight = std::min<double>(cost.blocks, slots) * (s.stages - 1.5) * s.keys *
                    problem.tokenBytes / kMemoryLatency;
  double bandwidth = target.getBandwidth().convertToDouble() * kMemoryShare;
  double fromMemory = cost.memoryBytes / std::min(bandwidth, inFlight);
  double fromCache = cost.bytes / std::min(bandwidth * kCacheSpeed, inFlight);
  double transfer = std::max(fromMemory, fromCache);
  if (computing > transfer)
    cost.bound = busy.first;
  else
    cost.bound = fromMemory >= fromCache ? Bound::Memory : Bound::Cache;

  // Each wave begins with an empty ring and ends with the merge of its warps.
  double edges = kMemoryLatency + 2 * getMergeBytes(s) / kSharedBytes / clock;
  cost.seconds = std::max(computing, transfer) + kOverlapLoss * std::min(computing, transfer) +
                 waves * edges + kKernels * target.getLaunch().convertToDouble();
}

GPUCost plan::getGPUCost(const Problem &problem, GPUStreamAttr stream, int64_t split,
                         Type element, TargetAttr target) {
  Shape s(problem, stream);
  GPUCost cost;
  setResources(cost, problem, s, target);

  int64_t slots = target.getProcessors() * std::max<int64_t>(1, cost.resident);
  Visits visits = countVisits(problem, s.queryTokens, s.keys);
  Items items = countItems(problem, s.queryTokens, getItemKeys(problem, s, split, slots));
  cost.blocks = items.count * problem.kvHeads * s.rowBlocks;
  setBytes(cost, problem, s, visits, items, target);

  TileWork work = getTileWork(problem, s);
  double tiles = static_cast<double>(visits.tiles) * problem.kvHeads * s.rowBlocks;
  cost.operations = tiles * work.operations;
  cost.instructions = tiles * work.instructions;
  if (problem.decodesCodes())
    cost.instructions += cost.blocks * s.warps * kItemInstructions;
  setTime(cost, problem, s, tiles, work, target.getMatrixRate(element), target);
  return cost;
}
