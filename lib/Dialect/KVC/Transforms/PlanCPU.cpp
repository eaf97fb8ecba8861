//===- PlanCPU.cpp - schedules of attention on the CPU --------------------===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Chooses register tiles so that the accumulators fit in the vector registers
// beside the operands, few rows are padding, and enough accumulators are in
// flight to hide the latency of the multiply-adds.
//===----------------------------------------------------------------------===//
#include "Plan.h"

#include "kvc/Dialect/KVC/IR/MatrixTiles.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace kvc;
using namespace kvc::plan;

/// Tokens of one step of the online softmax: its scores and 64 rows of K and V
/// of a head stay in the first-level cache.
static constexpr int64_t kTile = 64;
/// Rows that a prefill work item aims at, so that each loaded tile is used often
/// and the state of the rows stays in the second-level cache.
static constexpr int64_t kPrefillRows = 96;

/// Narrowest value for bf16_dot. Its weights are rounded to bf16, and the error of an
/// output row is small beside the row only if the row's elements do not all happen
/// to be small. The narrower the row, the likelier that is: of some 10^4 rows that
/// were compared, the worst error was 3.4e-3 at 128 columns and 4.5e-3 at 64.
static constexpr int64_t kMinDotWidth = 128;

/// Rows up to which decode multiplies bf16 in f32, not by bf16_dot: from memory it is as
/// fast or faster, as docs/Performance.md shows, and weights are exact. (Not so over codes.)
static constexpr int64_t kMaxFmaRows = 4;

/// Rows, and tiles of keys or columns beside each other, of bf16_tile: the eight registers
/// hold four sums and operands, and each row takes two rows of probabilities.
static constexpr int64_t kTileRows = 8, kTileVectors = 4;

/// Most vectors of value columns that a register tile may have.
static constexpr int64_t kMaxValueVectors = 16;

/// Accumulators that leave room for operands in the vector registers.
static int64_t getMaxAccumulators(CPUTier tier) {
  return getLanes(tier) == 16 ? 24 : 8;
}

/// Vectors beside `rows` rows: a power of two, so that it divides a tile.
static int64_t getVectors(int64_t rows, int64_t available, int64_t maxAccumulators) {
  int64_t vectors = llvm::bit_floor(
      static_cast<uint64_t>(std::max<int64_t>(1, maxAccumulators / rows)));
  return std::min(vectors, available);
}

/// The register tile for `totalRows` rows.
static RegisterTileAttr chooseTile(MLIRContext *context, CPUTier tier, int64_t totalRows,
                                   int64_t valueWidth, Products products) {
  int64_t maxAccumulators = getMaxAccumulators(tier), lanes = getLanes(tier);
  int64_t best = 1, bestCost = INT64_MAX;
  for (int64_t rows = 1; rows <= maxAccumulators / 2; ++rows) {
    int64_t padded = llvm::alignTo(totalRows, rows);
    int64_t vectors = getVectors(rows, kTile / lanes, maxAccumulators);
    // Multiply-adds and loads of one step of all rows, in the same unit.
    int64_t cost = padded * 4 * vectors + (padded / rows) * (vectors + rows);
    cost = cost * 16 / vectors;
    if (cost < bestCost)
      best = rows, bestCost = cost;
  }
  // The value's columns in chunks of equal size.
  int64_t columns = llvm::divideCeil(valueWidth, lanes);
  int64_t widest = std::clamp<int64_t>(maxAccumulators / best, 1, kMaxValueVectors);
  int64_t chunks = llvm::divideCeil(columns, widest);
  return RegisterTileAttr::get(context, best,
                               getVectors(best, kTile / lanes, maxAccumulators),
                               llvm::divideCeil(columns, chunks), products);
}

/// The same for products of tiles.
static RegisterTileAttr chooseMatrixTile(MLIRContext *context, int64_t totalRows,
                                         int64_t valueWidth) {
  int64_t blocks = llvm::divideCeil(totalRows, kTileRows);
  return RegisterTileAttr::get(context, llvm::divideCeil(totalRows, blocks), kTileVectors,
                               std::min(kTileVectors, valueWidth / kTileColumns),
                               Products::Bf16Tile);
}

CPUScheduleAttr plan::planCPU(AttentionOp op, CPUTier tier, int64_t split) {
  auto isBF16 = [](Value value) {
    return cast<RankedTensorType>(value.getType()).getElementType().isBF16();
  };
  // bf16 holds every code exactly.
  auto fits = [](ComponentAttr component) {
    return component.getElementType().isBF16() || isQuantized(component.getElementType());
  };
  bool dot = tier == CPUTier::AVX512BF16 && isBF16(op.getOutput()) &&
             llvm::all_of(op.getQueries(), isBF16) && fits(op.getValueComponent()) &&
             op.getValueComponent().getWidth() >= kMinDotWidth;
  bool readsCodes = isQuantized(op.getValueComponent().getElementType());
  for (unsigned i = 0; i < op.getQueries().size(); ++i) {
    dot &= fits(op.getTermComponent(i));
    readsCodes |= isQuantized(op.getTermComponent(i).getElementType());
  }

  int64_t group = op.getGroup(), valueWidth = op.getValueComponent().getWidth();
  int64_t queryTokens = std::max<int64_t>(1, kPrefillRows / group);
  MLIRContext *context = op.getContext();
  auto choose = [&](int64_t rows) {
    if (tier == CPUTier::AMX && takesTiles(op, rows))
      return chooseMatrixTile(context, rows, valueWidth);
    bool takesDot = dot && (readsCodes || rows > kMaxFmaRows);
    return chooseTile(context, tier, rows, valueWidth,
                      takesDot ? Products::Bf16Dot : Products::Fma);
  };
  return CPUScheduleAttr::get(context, getLanes(tier), kTile, choose(group),
                              choose(group * queryTokens), queryTokens,
                              llvm::alignTo(split, kTile));
}

/// Operations of one score beside its products, most of them its exponential.
static constexpr int64_t kScoreOperations = 20;

Cost plan::getCPUCost(const Problem &problem, CPUScheduleAttr schedule, TargetAttr target) {
  bool isDecode = problem.phase == Phase::Decode;
  int64_t queryTokens = isDecode ? 1 : schedule.getQueryTokens();
  RegisterTileAttr tile = isDecode ? schedule.getDecode() : schedule.getPrefill();
  Visits visits = countVisits(problem, queryTokens, schedule.getTile());
  // Only decode cuts the keys of a sequence.
  int64_t itemKeys = isDecode ? schedule.getSplit() : problem.batch.kvTokens;
  Items items = countItems(problem, queryTokens, itemKeys);

  double kvHeads = problem.kvHeads, queryHeads = problem.queryHeads();
  double kv = visits.keys * kvHeads * problem.tokenBytes;
  double distinct = visits.distinct * kvHeads * problem.tokenBytes;
  double rows = problem.batch.sequences * problem.batch.queryTokens * queryHeads;
  Cost cost;
  cost.bytes = kv + visits.pages * kvHeads * 4 +
               items.queryTokens * queryHeads * problem.queryBytes +
               rows * problem.outputBytes +
               items.partTokens * queryHeads * (problem.valueWidth * 4 + 4) * 2;
  cost.memoryBytes = cost.bytes - (distinct <= target.getCache() ? kv - distinct : 0);

  double itemRows = llvm::alignTo(queryTokens * problem.group, tile.getRows());
  double scores = visits.tiles * schedule.getTile() * kvHeads * itemRows;
  cost.operations = scores * 2 * (problem.keyWidth + problem.valueWidth);
  double f32Rate = target.getF32Rate().convertToDouble();
  double dotRate = target.getMatrixRate(BFloat16Type::get(target.getContext()));
  bool usesDot = tile.getProducts() != Products::Fma && dotRate > 0;
  double compute = cost.operations / (usesDot ? dotRate : f32Rate) +
                   scores * kScoreOperations / f32Rate;
  double memory = cost.memoryBytes / target.getBandwidth().convertToDouble();
  cost.bound = memory > compute ? Bound::Memory : Bound::Matrix;
  cost.seconds = std::max(memory, compute);
  return cost;
}
