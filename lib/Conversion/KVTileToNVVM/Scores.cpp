//===- Scores.cpp - modifiers and masks of scores -------------------------===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Lowering.h"

#include <optional>

using namespace mlir;
using namespace kvc;
using namespace kvc::kvtile;

using Predicate = KernelBuilder::Predicate;

/// Emits tanh(x) with a relative error below 2e-6 for every x: odd, through
/// exp(-2|x|), which never overflows, and by its series near 0, where 1 - exp
/// would cancel. A relative bound is needed because a softcap multiplies by any
/// factor. tanh.approx.f32 would err by 5e-4.
static Value emitTanh(KernelBuilder &k, Value x) {
  using Cmp = arith::CmpFPredicate;
  Value one = k.f32(1.0);
  Value magnitude = k.maxF(x, k.negF(x));
  Value e = k.exp2(k.mulF(magnitude, k.f32(-2.0 * kLog2E)));
  Value far = k.mulF(k.subF(one, e), k.reciprocal(k.addF(one, e)));
  Value isNegative = k.compareF(Cmp::OLT, x, k.f32(0.0));
  far = k.select(isNegative, k.negF(far), far);

  // x (1 - x^2/3 + 2 x^4/15 - 17 x^6/315 + 62 x^8/2835), within 1e-8 to 1/4.
  Value square = k.mulF(x, x);
  Value series = k.f32(62.0 / 2835.0);
  for (double factor : {-17.0 / 315.0, 2.0 / 15.0, -1.0 / 3.0, 1.0})
    series = k.addF(k.mulF(series, square), k.f32(factor));
  Value near = k.mulF(x, series);
  return k.select(k.compareF(Cmp::OLT, magnitude, k.f32(0.25)), near, far);
}

namespace {
/// Which keys and queries the elements of a tile stand for, for this thread.
class TilePositions {
public:
  TilePositions(KernelBuilder &k, ScoreOp op, const WorkItemValues &item, Value kvHead,
                Value firstRow, Value tile)
      : k(k), item(item), group(op.getGroup()), keysAxis(op.getKeysAxis()), kvHead(kvHead) {
    TileType type = op.getProducts().getType();
    ThreadPosition position(k);
    BlockOffset offset = emitBlockOffset(k, position, type.getLayout(), type.getWarpRows(),
                                         type.getWarpColumns());
    row = addTo(k, offset.row, position.group);
    column = addTo(k, offset.column, k.mul(position.quarter, 2));
    int64_t keys = keysAxis == 0 ? type.getRows() : type.getColumns();
    tileBegin = k.mul(tile, keys);
    tileEnd = k.add(tileBegin, keys);
    Value &keyIndex = keysAxis == 0 ? row : column;
    keyIndex = k.add(keyIndex, tileBegin);
    Value &queryIndex = keysAxis == 0 ? column : row;
    queryIndex = k.add(queryIndex, firstRow);
    // The rows of the block, as far as the item has them.
    int64_t rows = keysAxis == 0 ? type.getColumns() : type.getRows();
    lastRow = k.min(k.add(firstRow, rows - 1), k.add(k.mul(item.queryCount, group), -1));
    firstQuery = k.add(item.queryPos, k.div(firstRow, group));
    lastQuery = k.add(item.queryPos, k.div(k.max(lastRow, k.i32(0)), group));
  }

  /// Key of an element at atom row or column `atom`, and place in it.
  Value key(int64_t constant) {
    Value &value = keys[constant];
    if (!value)
      value = k.add(keysAxis == 0 ? row : column, constant);
    return value;
  }
  /// Position of the query of an element.
  Value query(int64_t constant) {
    Value &value = queries[constant];
    if (!value)
      value = k.add(item.queryPos, k.div(k.add(keysAxis == 0 ? column : row, constant), group));
    return value;
  }
  /// Query head of an element, likewise.
  Value head(int64_t constant) {
    Value &value = heads[constant];
    if (!value)
      value = k.add(k.mul(kvHead, group),
                    k.rem(k.add(keysAxis == 0 ? column : row, constant), group));
    return value;
  }

  Value tileBegin, tileEnd, firstQuery, lastQuery;

private:
  KernelBuilder &k;
  const WorkItemValues &item;
  int64_t group, keysAxis;
  Value kvHead, row, column, lastRow;
  DenseMap<int64_t, Value> keys, queries, heads;
};

struct LowerScore final : Lowering<ScoreOp> {
  using Lowering::Lowering;
  LogicalResult matchAndRewrite(ScoreOp op, Adaptor adaptor, Rewriter &rewriter) const override;
};
} // namespace

/// Calls `visit` with each register of the tile, and what to add to the thread's first
/// key and first query for its own.
template <typename Visitor> static void forEachScore(ScoreOp op, Visitor visit) {
  AccumulatorIndex index(op.getProducts().getType());
  for (int64_t r = 0; r < index.rows; ++r)
    for (int64_t c = 0; c < index.columns; ++c)
      for (int64_t half = 0; half < 2; ++half)
        for (int64_t column = 0; column < 2; ++column) {
          int64_t key = r * 16 + half * 8, query = c * 8 + column;
          if (op.getKeysAxis() != 0)
            std::swap(key, query);
          visit(index.registerOf(r, c, half, column), key, query);
        }
}

static SmallVector<ScoreModifierInterface> getModifiers(ScoreOp op) {
  return llvm::map_to_vector(op.getModifiers(), [](Attribute attribute) {
    return cast<ScoreModifierInterface>(attribute);
  });
}

LogicalResult LowerScore::matchAndRewrite(ScoreOp op, Adaptor adaptor,
                                          Rewriter &rewriter) const {
  KernelBuilder k(rewriter, op.getLoc());
  WorkItemValues item = unpackItem(adaptor.getItem());
  SmallVector<ScoreModifierInterface> modifiers = getModifiers(op);
  SmallVector<Value> scores(adaptor.getProducts());
  // Emitted when a modifier asks, else after the modifiers.
  std::optional<TilePositions> emitted;
  auto getPositions = [&]() -> TilePositions & {
    if (!emitted)
      emitted.emplace(k, op, item, adaptor.getKvHead()[0], adaptor.getFirstRow()[0],
                      adaptor.getTile()[0]);
    return *emitted;
  };

  auto tanh = [&](Value x) { return emitTanh(k, x); };
  auto exp2 = [&](Value x) { return k.exp2(x); };
  ScoreMath math{tanh, exp2};
  double scale = op.getScale().convertToDouble();
  forEachScore(op, [&](int64_t index, int64_t key, int64_t query) {
    Value &score = scores[index];
    if (scale != 1.0)
      score = k.mulF(score, k.f32(scale));
    auto queryPos = [&] { return getPositions().query(query); };
    auto keyPos = [&] { return getPositions().key(key); };
    auto queryHead = [&] { return getPositions().head(query); };
    ScorePoint point{queryPos, keyPos, queryHead, static_cast<int64_t>(op.getQueryHeads())};
    for (ScoreModifierInterface modifier : modifiers)
      if (modifier.changesScore())
        score = modifier.emitScore(rewriter, op.getLoc(), score, point, math);
  });

  // Only tiles at the edge of what the queries see are masked.
  TilePositions &positions = getPositions();
  KeyBounds bounds{item.kvBegin, item.kvEnd, item.kvBegin, item.kvEnd};
  for (ScoreModifierInterface modifier : modifiers)
    modifier.boundKeep(rewriter, op.getLoc(), positions.firstQuery, positions.lastQuery, bounds);
  Value startsBefore = k.compare(Predicate::slt, positions.tileBegin, bounds.allBegin);
  Value endsAfter = k.compare(Predicate::sgt, positions.tileEnd, bounds.allEnd);
  Value isEdge = arith::OrIOp::create(rewriter, op.getLoc(), startsBefore, endsAfter);
  SmallVector<Type> types(scores.size(), k.f32Type());
  auto branch = scf::IfOp::create(rewriter, op.getLoc(), types, isEdge, true);
  {
    OpBuilder::InsertionGuard guard(rewriter);
    rewriter.setInsertionPointToStart(branch.thenBlock());
    SmallVector<Value> masked(scores);
    Value none = k.minusInfinity(), length = k.sub(item.kvEnd, item.kvBegin);
    DenseMap<int64_t, Value> keysInItem;
    forEachScore(op, [&](int64_t index, int64_t keyConstant, int64_t queryConstant) {
      Value key = positions.key(keyConstant);
      Value &inItem = keysInItem[keyConstant];
      if (!inItem)
        inItem = k.compare(Predicate::ult, k.sub(key, item.kvBegin), length);
      Value keep = inItem;
      for (ScoreModifierInterface modifier : modifiers)
        if (Value sees = modifier.emitKeep(rewriter, op.getLoc(),
                                           positions.query(queryConstant), key))
          keep = arith::AndIOp::create(rewriter, op.getLoc(), keep, sees);
      masked[index] = k.select(keep, masked[index], none);
    });
    scf::YieldOp::create(rewriter, op.getLoc(), masked);
    rewriter.setInsertionPointToStart(branch.elseBlock());
    scf::YieldOp::create(rewriter, op.getLoc(), scores);
  }
  rewriter.replaceOpWithMultiple(op, {SmallVector<Value>(branch.getResults())});
  return success();
}

void kvtile::populateScorePatterns(TypeConverter &converter, RewritePatternSet &patterns) {
  patterns.add<LowerScore>(converter, patterns.getContext());
}
