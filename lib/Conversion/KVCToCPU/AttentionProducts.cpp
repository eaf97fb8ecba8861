//===- AttentionProducts.cpp - scores, softmax, weighted values -----------===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The register tiles. Each keeps rows x vectors accumulators in registers while it
// walks along the width (scores) or along the keys (values); lanes are keys in the
// one and columns in the other, so that nothing is summed across lanes.
//===----------------------------------------------------------------------===//
#include "AttentionKernel.h"

#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Dialect/X86Vector/X86VectorDialect.h"
#include "llvm/Support/MathExtras.h"

#include <limits>

using namespace mlir;

namespace kvc {

static constexpr double kLog2E = 1.4426950408889634;
/// Steps of an inner loop that are written out.
static constexpr int64_t kUnroll = 4;

/// acc + x . y, of pairs of bf16.
static Value dotBF16(Emitter &e, Value acc, Value x, Value y) {
  return x86vector::DotBF16Op::create(e.b, e.loc, acc.getType(), acc, x, y);
}

/// The two bf16 elements of each 32-bit lane, as vectors of f32.
static SmallVector<Value> splitPairs(Emitter &e, Value words) {
  auto type = cast<VectorType>(words.getType());
  auto constant = [&](uint32_t value) -> Value {
    return arith::ConstantOp::create(
        e.b, e.loc, DenseElementsAttr::get(type, e.b.getI32IntegerAttr(value)));
  };
  Value low = arith::ShLIOp::create(e.b, e.loc, words, constant(16));
  Value high = arith::AndIOp::create(e.b, e.loc, words, constant(0xffff0000));
  Type floats = type.clone(e.f32Type());
  return {arith::BitcastOp::create(e.b, e.loc, floats, low),
          arith::BitcastOp::create(e.b, e.loc, floats, high)};
}

/// A pair of bf16 in memory, in every 32-bit lane.
static Value broadcastPair(Emitter &e, Value address, int64_t lanes) {
  Value word = e.broadcast(e.load(e.i32Type(), address, 2), lanes);
  return vector::BitCastOp::create(e.b, e.loc, e.vectorOf(2 * lanes, e.b.getBF16Type()), word);
}

/// Loads one packed pair of `lanes` keys or columns: one vector of pairs for the
/// dot product, else a vector of f32 for each element of the pair.
static SmallVector<Value> loadPair(Emitter &e, Value address, Type element, int64_t pair,
                                   int64_t lanes, bool dot) {
  int64_t alignment = getByteWidth(element);
  if (dot)
    return {e.load(e.vectorOf(2 * lanes, element), address, alignment)};
  if (pair == 2)
    return splitPairs(e, e.load(e.vectorOf(lanes, e.i32Type()), address, alignment));
  return {e.toF32(e.load(e.vectorOf(lanes, element), address, alignment))};
}

//===----------------------------------------------------------------------===//
// Scores
//===----------------------------------------------------------------------===//

/// Position of the query of a row (i64), in every lane.
Value AttentionKernel::rowPosition(Value row) {
  Value token = e.toI32(e.div(row, group));
  return e.broadcast(e.add(queryPos, token), lanes);
}

/// Query head of a row of KV head `head` (i64 each), in every lane.
Value AttentionKernel::rowHead(Value head, Value row) {
  Value queryHead = e.add(e.mul(head, group), e.rem(row, group));
  return e.broadcast(e.toI32(queryHead), lanes);
}

/// Positions of a vector of keys, the first of them key `firstKey` (i64) of the tile.
Value AttentionKernel::keyPositions(Value firstKey) {
  SmallVector<int32_t> iota = llvm::to_vector(llvm::seq<int32_t>(0, lanes));
  Value lane = arith::ConstantOp::create(
      e.b, e.loc,
      DenseElementsAttr::get(e.vectorOf(lanes, e.i32Type()), ArrayRef<int32_t>(iota)));
  return e.add(lane, e.broadcast(e.toI32(e.add(tileBegin, firstKey)), lanes));
}

/// From a sum of products to a score in base 2.
Value AttentionKernel::modifyScore(Value product, const ScorePoint &point) {
  double scale = op.getScale().convertToDouble();
  SmallVector<ScoreModifierInterface> modifiers = op.getModifiers();
  bool changes = llvm::any_of(
      modifiers, [](ScoreModifierInterface modifier) { return modifier.changesScore(); });
  if (!changes)
    return e.mulf(product, e.splat(lanes, scale * kLog2E));
  auto tanh = [&](Value x) -> Value { return math::TanhOp::create(e.b, e.loc, x); };
  auto exp2 = [&](Value x) { return e.exp2(x); };
  ScoreMath math{tanh, exp2};
  Value score = e.mulf(product, e.splat(lanes, scale));
  for (ScoreModifierInterface modifier : modifiers)
    score = modifier.emitScore(e.b, e.loc, score, point, math);
  return e.mulf(score, e.splat(lanes, kLog2E));
}

/// Scores of one register tile of rows with all keys of the tile.
void AttentionKernel::emitScores(Value head, Value headIndex, Value firstRow) {
  int64_t numRows = registers.getRows(), numVectors = registers.getKeyVectors();
  int64_t keysPerStep = numVectors * lanes;
  e.loop(e.i64(0), e.i64(tile), keysPerStep, [&](Value firstKey) {
    SmallVector<Value> acc(numRows * numVectors, e.splat(lanes, 0.0));
    for (const Term &term : terms) {
      int64_t unitBytes = term.pair * getByteWidth(term.element);
      int64_t rowBytes = term.width * getByteWidth(queryElement);
      SmallVector<Value> keys, ahead;
      for (int64_t v = 0; v < numVectors; ++v) {
        // A block of 16 keys is one vector or several.
        Value key = e.add(firstKey, v * lanes);
        Value pointer = e.mul(e.div(key, kPackedTokens), sizeof(void *));
        Value inBlock = e.mul(e.rem(key, kPackedTokens), unitBytes);
        keys.push_back(
            e.offset(e.load(e.ptrType(), scratchAt(term.blocks, pointer)), inBlock));
        if (phase == Phase::Decode && term.isPacked() && v * lanes % kPackedTokens == 0)
          ahead.push_back(e.load(e.ptrType(), scratchAt(term.ahead, pointer)));
      }
      Value queries =
          scratchAt(term.queries, e.mul(stateRow(headIndex, firstRow), rowBytes));
      int64_t steps = term.width / term.pair;
      acc = e.loop(e.i64(0), e.i64(steps), kUnroll, acc, [&](Value first, ValueRange carried) {
        SmallVector<Value> acc(carried);
        Value keyOffset = e.mul(first, kPackedTokens * unitBytes);
        Value queryOffset = e.mul(first, term.pair * getByteWidth(queryElement));
        for (int64_t u = 0; u < kUnroll; ++u) {
          int64_t keyStep = u * kPackedTokens * unitBytes;
          for (Value pointer : ahead)
            if (keyStep % 64 == 0)
              e.prefetch(e.offset(e.offset(pointer, keyOffset), keyStep));
          SmallVector<SmallVector<Value>> loaded;
          for (Value pointer : keys)
            loaded.push_back(loadPair(e, e.offset(e.offset(pointer, keyOffset), keyStep),
                                      term.element, term.pair, lanes, dot));
          for (int64_t r = 0; r < numRows; ++r) {
            Value address = e.offset(e.offset(queries, queryOffset),
                                     r * rowBytes + u * term.pair * getByteWidth(queryElement));
            if (dot) {
              Value query = broadcastPair(e, address, lanes);
              for (int64_t v = 0; v < numVectors; ++v) {
                Value &sum = acc[r * numVectors + v];
                sum = dotBF16(e, sum, loaded[v][0], query);
              }
              continue;
            }
            for (int64_t p = 0; p < term.pair; ++p) {
              Value query =
                  e.broadcast(e.load(e.f32Type(), e.offset(address, p * 4)), lanes);
              for (int64_t v = 0; v < numVectors; ++v) {
                Value &sum = acc[r * numVectors + v];
                sum = e.fma(loaded[v][p], query, sum);
              }
            }
          }
        }
        return acc;
      });
    }
    Value row = scratchAt(scores, e.mul(firstKey, 4));
    for (int64_t r = 0; r < numRows; ++r)
      for (int64_t v = 0; v < numVectors; ++v) {
        auto queryPosition = [&] { return rowPosition(e.add(firstRow, r)); };
        auto keyPosition = [&] { return keyPositions(e.add(firstKey, v * lanes)); };
        auto queryHead = [&] { return rowHead(head, e.add(firstRow, r)); };
        ScorePoint point{queryPosition, keyPosition, queryHead, getQueryHeads()};
        e.store(modifyScore(acc[r * numVectors + v], point),
                e.offset(row, (r * tile + v * lanes) * 4));
      }
  });
}

/// Writes -inf over the scores of keys that a row does not see.
void AttentionKernel::emitMask(Value firstRow) {
  Value hidden = e.splat(lanes, -std::numeric_limits<float>::infinity());
  Value begin = e.broadcast(itemFields.kvBegin, lanes);
  Value end = e.broadcast(itemFields.kvEnd, lanes);
  e.loop(e.i64(0), e.i64(registers.getRows()), 1, [&](Value r) {
    Value position = rowPosition(e.add(firstRow, r));
    e.loop(e.i64(0), e.i64(tile), lanes, [&](Value firstKey) {
      Value key = keyPositions(firstKey);
      Value keep = e.logicalAnd(e.lessOrEqual(begin, key), e.less(key, end));
      for (ScoreModifierInterface modifier : op.getModifiers())
        if (Value kept = modifier.emitKeep(e.b, e.loc, position, key))
          keep = e.logicalAnd(keep, kept);
      Value address = scratchAt(scores, e.mul(e.add(e.mul(r, tile), firstKey), 4));
      Value score = e.load(e.vectorOf(lanes, e.f32Type()), address);
      e.store(e.select(keep, score, hidden), address);
    });
  });
}

/// One step of the online softmax: new maxima and sums, probabilities, and the
/// factor for what was summed before.
void AttentionKernel::emitSoftmax(Value headIndex, Value firstRow) {
  VectorType vector = e.vectorOf(lanes, e.f32Type());
  Value minusInfinity = e.f32(-std::numeric_limits<float>::infinity());
  e.loop(e.i64(0), e.i64(registers.getRows()), 1, [&](Value r) {
    Value index = stateRow(headIndex, e.add(firstRow, r));
    Value maxAddress = scratchAt(maxima, e.mul(index, 4));
    Value sumAddress = scratchAt(sums, e.mul(index, lanes * 4));
    Value row = scratchAt(scores, e.mul(r, tile * 4));
    SmallVector<Value> score;
    for (int64_t key = 0; key < tile; key += lanes)
      score.push_back(e.load(vector, e.offset(row, key * 4)));
    SmallVector<Value> largest = score;
    while (largest.size() > 1) {
      SmallVector<Value> half;
      for (size_t i = 0; i + 1 < largest.size(); i += 2)
        half.push_back(e.maxf(largest[i], largest[i + 1]));
      if (largest.size() % 2)
        half.push_back(largest.back());
      largest = half;
    }
    Value oldMax = e.load(e.f32Type(), maxAddress);
    Value newMax = e.maxf(e.reduceMax(largest[0]), oldMax);
    // No key seen yet: any finite number does, and -inf - -inf would be NaN.
    Value isNone = arith::CmpFOp::create(e.b, e.loc, arith::CmpFPredicate::OEQ, newMax,
                                         minusInfinity);
    Value base = e.broadcast(e.select(isNone, e.f32(0), newMax), lanes);
    Value alpha = e.exp2(e.subf(e.broadcast(oldMax, lanes), base));
    Value sum = e.mulf(e.load(vector, sumAddress), alpha);
    for (auto [i, value] : llvm::enumerate(score)) {
      Value probability = e.exp2(e.subf(value, base));
      sum = e.addf(sum, probability);
      int64_t bytes = dot ? 2 : 4;
      Type element = dot ? Type(e.b.getBF16Type()) : e.f32Type();
      e.store(e.fromF32(probability, element),
              e.offset(scratchAt(probabilities, e.mul(r, tile * bytes)), i * lanes * bytes));
    }
    e.store(newMax, maxAddress);
    e.store(sum, sumAddress);
    e.store(vector::ExtractOp::create(e.b, e.loc, alpha, 0), scratchAt(alphas, e.mul(r, 4)));
  });
}

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

/// Adds the weighted values of the tile to one register tile of rows.
void AttentionKernel::emitValues(Value headIndex, Value firstRow) {
  int64_t perChunk = registers.getValueVectors();
  SmallVector<int64_t> whole(perChunk, lanes);
  int64_t chunks = value.width / (perChunk * lanes);
  e.loop(e.i64(0), e.i64(chunks), 1, [&](Value chunk) {
    emitValueColumns(headIndex, firstRow, e.mul(chunk, perChunk * lanes), whole);
  });
  SmallVector<int64_t> rest;
  for (auto [column, count] : valueColumns())
    if (column >= chunks * perChunk * lanes)
      rest.push_back(count);
  if (!rest.empty())
    emitValueColumns(headIndex, firstRow, e.i64(chunks * perChunk * lanes), rest);
}

void AttentionKernel::emitValueColumns(Value headIndex, Value firstRow, Value firstColumn,
                                       ArrayRef<int64_t> vectors) {
  int64_t numRows = registers.getRows(), numVectors = vectors.size();
  int64_t unitBytes = value.pair * getByteWidth(value.element);
  int64_t probabilityBytes = dot ? 2 : 4;
  Value columnBytes = e.mul(firstColumn, 4);
  Value rows = e.offset(
      scratchAt(outputs, e.mul(stateRow(headIndex, firstRow), value.width * 4)), columnBytes);

  SmallVector<Value> acc;
  for (int64_t r = 0; r < numRows; ++r) {
    Value alpha = e.load(e.f32Type(), scratchAt(alphas + r * 4));
    int64_t column = 0;
    for (int64_t count : vectors) {
      Value old = e.load(e.vectorOf(count, e.f32Type()),
                         e.offset(rows, (r * value.width + column) * 4));
      acc.push_back(e.mulf(old, e.broadcast(alpha, count)));
      column += count;
    }
  }
  acc = e.loop(e.i64(0), e.i64(tile), kPackedTokens, acc, [&](Value firstKey,
                                                             ValueRange carried) {
    Value pointer = e.mul(e.div(firstKey, kPackedTokens), sizeof(void *));
    Value block = e.offset(e.load(e.ptrType(), scratchAt(value.blocks, pointer)),
                           e.mul(firstColumn, unitBytes));
    Value ahead;
    if (phase == Phase::Decode && value.isPacked())
      ahead = e.offset(e.load(e.ptrType(), scratchAt(value.ahead, pointer)),
                       e.mul(firstColumn, unitBytes));
    Value weights = scratchAt(probabilities, e.mul(firstKey, probabilityBytes));
    int64_t steps = kPackedTokens / value.pair;
    return e.loop(e.i64(0), e.i64(steps), kUnroll, SmallVector<Value>(carried),
                  [&](Value step, ValueRange carried) {
      SmallVector<Value> acc(carried);
      Value valueOffset = e.mul(step, value.width * unitBytes);
      Value weightOffset = e.mul(step, value.pair * probabilityBytes);
      for (int64_t u = 0; u < kUnroll; ++u) {
        int64_t column = 0;
        SmallVector<SmallVector<Value>> loaded;
        for (int64_t count : vectors) {
          int64_t offset = (u * value.width + column) * unitBytes;
          if (ahead && column * unitBytes % 64 == 0)
            e.prefetch(e.offset(e.offset(ahead, valueOffset), offset));
          loaded.push_back(loadPair(e, e.offset(e.offset(block, valueOffset), offset),
                                    value.element, value.pair, count, dot));
          column += count;
        }
        for (int64_t r = 0; r < numRows; ++r) {
          Value address =
              e.offset(e.offset(weights, weightOffset),
                       (r * tile + u * value.pair) * probabilityBytes);
          for (auto [v, count] : llvm::enumerate(vectors)) {
            Value &sum = acc[r * numVectors + v];
            if (dot) {
              sum = dotBF16(e, sum, loaded[v][0], broadcastPair(e, address, count));
              continue;
            }
            for (int64_t p = 0; p < value.pair; ++p)
              sum = e.fma(loaded[v][p],
                          e.broadcast(e.load(e.f32Type(), e.offset(address, p * 4)), count),
                          sum);
          }
        }
      }
      return acc;
    });
  });
  for (int64_t r = 0; r < numRows; ++r) {
    int64_t column = 0;
    for (auto [v, count] : llvm::enumerate(vectors)) {
      e.store(acc[r * numVectors + v], e.offset(rows, (r * value.width + column) * 4));
      column += count;
    }
  }
}

} // namespace kvc
