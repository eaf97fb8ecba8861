//===- Scores.cpp - scores, masks and the online softmax ------------------===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "AttentionKernel.h"

#include <cmath>

using namespace mlir;
using namespace kvc;

static constexpr double kLog2E = 1.4426950408889634074;

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

Value kvc::emitScore(KernelBuilder &k, const AttentionConfig &config, Value product) {
  auto tanh = [&](Value x) { return emitTanh(k, x); };
  ScoreMath math{tanh};
  bool changes = llvm::any_of(config.list.modifiers, [](ScoreModifierInterface modifier) {
    return modifier.changesScore();
  });
  if (!changes)
    return k.mulF(product, k.f32(config.scale * kLog2E));
  Value score = k.mulF(product, k.f32(config.scale));
  for (ScoreModifierInterface modifier : config.list.modifiers)
    if (modifier.changesScore())
      score = modifier.emitScore(k.b, k.loc, score, math);
  return k.mulF(score, k.f32(kLog2E));
}

KeyBounds kvc::emitKeyBounds(KernelBuilder &k, const AttentionConfig &config,
                             const WorkItemValues &item) {
  KeyBounds bounds{item.kvBegin, item.kvEnd, item.kvBegin, item.kvEnd};
  for (ScoreModifierInterface modifier : config.list.modifiers)
    modifier.boundKeep(k.b, k.loc, item.queryPos, item.queryPos, bounds);
  return bounds;
}

SmallVector<Value> kvc::emitMask(KernelBuilder &k, const AttentionConfig &config,
                                 const WorkItemValues &item, const KeyBounds &bounds,
                                 Value tileBegin, Value firstKey, ValueRange scores) {
  using Predicate = KernelBuilder::Predicate;
  Value startsBefore = k.compare(Predicate::slt, tileBegin, bounds.allBegin);
  Value endsAfter =
      k.compare(Predicate::sgt, k.add(tileBegin, config.tile()), bounds.allEnd);
  Value isEdge = arith::OrIOp::create(k.b, k.loc, startsBefore, endsAfter);

  SmallVector<Type> types(scores.getTypes());
  auto branch = scf::IfOp::create(k.b, k.loc, types, isEdge, /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(k.b);
  k.b.setInsertionPointToStart(branch.thenBlock());
  Value none = k.minusInfinity();
  Value length = k.sub(item.kvEnd, item.kvBegin);
  SmallVector<Value> masked(scores);
  int64_t keys = config.tokensPerWarp / 4; // of one lane
  for (int64_t i = 0; i < keys; ++i) {
    // Columns 2 * col and 2 * col + 1 of the i / 2-th 8 keys.
    Value key = k.add(firstKey, (i / 2) * 8 + i % 2);
    Value keep = k.compare(Predicate::ult, k.sub(key, item.kvBegin), length);
    for (ScoreModifierInterface modifier : config.list.modifiers)
      if (Value sees = modifier.emitKeep(k.b, k.loc, item.queryPos, key))
        keep = arith::AndIOp::create(k.b, k.loc, keep, sees);
    for (int64_t half = 0; half < config.halves(); ++half) {
      Value &score = masked[half * keys + i];
      score = k.select(keep, score, none);
    }
  }
  scf::YieldOp::create(k.b, k.loc, masked);
  k.b.setInsertionPointToStart(branch.elseBlock());
  scf::YieldOp::create(k.b, k.loc, scores);
  return branch.getResults();
}

Value kvc::emitFiniteMax(KernelBuilder &k, Value max) {
  // -inf - -inf would be NaN; with 0, exp2 of a score of -inf is 0 as it should.
  Value isNone = k.compareF(arith::CmpFPredicate::OEQ, max, k.minusInfinity());
  return k.select(isNone, k.f32(0.0), max);
}

Value kvc::emitSoftmaxStep(KernelBuilder &k, MutableArrayRef<Value> scores, RowStats &stats) {
  Value max = scores[0];
  for (Value score : scores.drop_front())
    max = k.maxF(max, score);
  // The four lanes that share a row.
  for (int64_t lanes : {1, 2})
    max = k.maxF(max, k.shuffleXor(max, lanes));
  max = k.maxF(max, stats.max);
  Value reference = emitFiniteMax(k, max);
  Value factor = k.exp2(k.subF(stats.max, reference));
  Value sum = k.mulF(stats.sum, factor);
  for (Value &score : scores) {
    score = k.exp2(k.subF(score, reference));
    sum = k.addF(sum, score);
  }
  stats = {max, sum};
  return factor;
}
