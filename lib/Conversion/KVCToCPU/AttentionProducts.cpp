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

/// Operands of the next steps of a product, as many as one load gives, each a list of
/// vectors as loadPair gives: `lanes` keys of a packed block, or what an image holds.
SmallVector<SmallVector<Value>> AttentionKernel::loadSteps(const Component &c, Value address) {
  if (!c.inRegisters())
    return {loadPair(e, address, c.element, c.pair, lanes, dot)};
  bool isPairs = c.decoding == Decoding::Pairs;
  Value bytes = e.load(e.vectorOf(isPairs ? 64 : lanes, e.b.getI8Type()), address);
  SmallVector<SmallVector<Value>> steps;
  for (Value operand : isPairs ? decodeWords(c, bytes) : decodeLanes(c, bytes))
    steps.push_back({operand});
  return steps;
}

/// Prefetches, of what comes after this tile of a component, the lines that begin at
/// multiples of 64 from `begin` on, counted from `offset`, in the blocks of a tile one after
/// another: in the order of memory, which processors recognise.
void AttentionKernel::emitPrefetch(const Component &c, Value offset, int64_t begin,
                                   int64_t bytes) {
  if (phase != Phase::Decode || !c.prefetches())
    return;
  for (int64_t byte = llvm::alignTo(begin, 64); byte < begin + bytes; byte += 64) {
    Value at = e.add(offset, byte);
    Value slot = e.mul(e.div(at, c.storedBytes()), sizeof(void *));
    Value block = e.load(e.ptrType(), scratchAt(c.ahead, slot));
    e.prefetch(e.offset(block, e.rem(at, c.storedBytes())));
  }
}

/// acc + q . c of one register tile of rows with one step of key vectors, over the columns
/// of a group.
SmallVector<Value> AttentionKernel::emitTermProducts(const Term &term, int64_t group,
                                                     Value headIndex, Value firstRow,
                                                     Value firstKey, SmallVector<Value> acc) {
  int64_t numRows = registers.getRows(), numVectors = registers.getKeyVectors();
  // Bytes of a pair of elements, or of what they take in an image, of one key.
  int64_t queryBytes = getByteWidth(queryElement), rowBytes = term.width * queryBytes;
  int64_t unitBytes = term.inRegisters() ? 1 : term.pair * getByteWidth(term.element);
  int64_t stepBytes = term.blockBytes() / (term.width / term.pair);
  // What comes next is prefetched meanwhile: of as many keys, in the order of memory.
  int64_t keyBytes = term.storedBytes() / kPackedTokens;
  int64_t aheadBytes = numVectors * lanes * keyBytes * term.pair / term.width;
  SmallVector<Value> keys;
  for (int64_t v = 0; v < numVectors; ++v) {
    // A block of 16 keys is one vector or several.
    Value key = e.add(firstKey, v * lanes);
    Value pointer = e.mul(e.div(key, kPackedTokens), sizeof(void *));
    Value block = e.load(e.ptrType(), scratchAt(term.blocks, pointer));
    if (term.decoding != Decoding::Pairs)
      block = e.offset(block, e.mul(e.rem(key, kPackedTokens), unitBytes));
    keys.push_back(block);
  }
  Value queries = scratchAt(term.queries, e.mul(stateRow(headIndex, firstRow), rowBytes));
  int64_t groupWidth = getScaleGroup(term.attr);
  int64_t begin = group * groupWidth, end = std::min(begin + groupWidth, term.width);
  return e.loop(
      e.i64(begin / term.pair), e.i64(end / term.pair), kUnroll, acc,
      [&](Value first, ValueRange carried) {
        SmallVector<Value> acc(carried);
        Value keyOffset = e.mul(first, stepBytes);
        Value queryOffset = e.mul(first, term.pair * queryBytes);
        Value aheadOffset = e.add(e.mul(firstKey, keyBytes), e.mul(first, aheadBytes));
        // The steps that one load gives, so that few operands are alive at a time.
        int64_t stepsOfLoad = term.stepsOfLoad();
        for (int64_t first = 0; first < kUnroll; first += stepsOfLoad) {
          emitPrefetch(term, aheadOffset, first * aheadBytes, stepsOfLoad * aheadBytes);
          SmallVector<SmallVector<SmallVector<Value>>> loaded;
          for (Value pointer : keys)
            loaded.push_back(
                loadSteps(term, e.offset(e.offset(pointer, keyOffset), first * stepBytes)));
          for (int64_t u = 0; u < stepsOfLoad; ++u)
            for (int64_t r = 0; r < numRows; ++r) {
              Value address = e.offset(e.offset(queries, queryOffset),
                                       r * rowBytes + (first + u) * term.pair * queryBytes);
              if (dot) {
                Value query = broadcastPair(e, address, lanes);
                for (int64_t v = 0; v < numVectors; ++v) {
                  Value &sum = acc[r * numVectors + v];
                  sum = dotBF16(e, sum, loaded[v][u][0], query);
                }
                continue;
              }
              for (int64_t p = 0; p < term.pair; ++p) {
                Value query = e.broadcast(e.load(e.f32Type(), e.offset(address, p * 4)), lanes);
                for (int64_t v = 0; v < numVectors; ++v) {
                  Value &sum = acc[r * numVectors + v];
                  sum = e.fma(loaded[v][u][p], query, sum);
                }
              }
            }
        }
        return acc;
      });
}

/// Scores of one register tile of rows with all keys of the tile.
void AttentionKernel::emitScores(Value head, Value headIndex, Value firstRow) {
  if (tiles)
    return emitTileScores(head, headIndex, firstRow);
  int64_t numRows = registers.getRows(), numVectors = registers.getKeyVectors();
  e.loop(e.i64(0), e.i64(tile), numVectors * lanes, [&](Value firstKey) {
    SmallVector<Value> zeros(numRows * numVectors, e.splat(lanes, 0.0)), sums = zeros;
    bool isFirst = true;
    for (const Term &term : terms)
      for (int64_t group = 0; group < term.groups; ++group) {
        bool isScaled = term.hasScales() || term.constantScale() != 1.0;
        SmallVector<Value> acc = emitTermProducts(term, group, headIndex, firstRow, firstKey,
                                                  isScaled ? zeros : sums);
        for (int64_t r = 0; isScaled && r < numRows; ++r)
          for (int64_t v = 0; v < numVectors; ++v) {
            Value &sum = acc[r * numVectors + v];
            sum = applyScales(term, group, sum, stateRow(headIndex, e.add(firstRow, r)),
                              e.add(firstKey, v * lanes));
            if (!isFirst)
              sum = e.addf(sum, sums[r * numVectors + v]);
          }
        sums = acc;
        isFirst = false;
      }
    Value row = scratchAt(scores, e.mul(firstKey, 4));
    for (int64_t r = 0; r < numRows; ++r)
      for (int64_t v = 0; v < numVectors; ++v) {
        auto queryPosition = [&] { return rowPosition(e.add(firstRow, r)); };
        auto keyPosition = [&] { return keyPositions(e.add(firstKey, v * lanes)); };
        auto queryHead = [&] { return rowHead(head, e.add(firstRow, r)); };
        ScorePoint point{queryPosition, keyPosition, queryHead, getQueryHeads()};
        e.store(modifyScore(sums[r * numVectors + v], point),
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

/// Weights of codes are probabilities times scales, rounded to bf16. That of the key with
/// the largest score is made exact by dividing by its scale, the unit of the row's sums:
/// where few keys matter, the error of their weights is the error of the row. Stores the
/// unit of a group for this tile and returns the last one.
Value AttentionKernel::emitUnit(Value unitAddress, int64_t group, ArrayRef<Value> scores,
                                Value newMax, Value isNew) {
  VectorType vector = e.vectorOf(lanes, e.f32Type());
  Value largest = e.splat(lanes, 0.0), max = e.broadcast(newMax, lanes);
  for (auto [i, score] : llvm::enumerate(scores)) {
    Value scales = e.load(vector, scratchAt(value.scales + (group * tile + i * lanes) * 4));
    Value isMax = arith::CmpFOp::create(e.b, e.loc, arith::CmpFPredicate::OEQ, score, max);
    largest = e.maxf(e.select(isMax, scales, e.splat(lanes, 0.0)), largest);
  }
  Value scale = e.reduceMax(largest);
  // One that has an inverse in f32.
  auto compare = [&](arith::CmpFPredicate predicate, double bound) -> Value {
    return arith::CmpFOp::create(e.b, e.loc, predicate, scale, e.f32(bound));
  };
  Value isUsable = e.logicalAnd(compare(arith::CmpFPredicate::OGT, 0x1p-100),
                                compare(arith::CmpFPredicate::OLT, 0x1p100));
  Value last = e.load(e.f32Type(), unitAddress);
  e.store(e.select(isNew, e.select(isUsable, scale, e.f32(1)), last), unitAddress);
  return last;
}

/// Stores what the codes of the value are multiplied by, for each group of columns: the
/// probabilities of the vector of keys that begins with `key` times their scales and what
/// is in `inverses`, if anything; adds to `zeroSums` the probabilities times the zero
/// points.
void AttentionKernel::emitStoreWeights(Value row, int64_t key, Value probability,
                                       ArrayRef<Value> inverses,
                                       MutableArrayRef<Value> zeroSums) {
  int64_t bytes = dot ? 2 : 4;
  Type element = dot ? Type(e.b.getBF16Type()) : e.f32Type();
  VectorType vector = e.vectorOf(lanes, e.f32Type());
  for (int64_t group = 0; group < value.groups; ++group) {
    int64_t offset = (group * tile + key) * 4;
    Value weight = probability;
    if (value.hasScales())
      weight = e.mulf(weight, e.load(vector, scratchAt(value.scales + offset)));
    if (!inverses.empty())
      weight = e.mulf(weight, e.broadcast(inverses[group], lanes));
    if (!zeroSums.empty())
      zeroSums[group] =
          e.fma(probability, e.load(vector, scratchAt(value.zeros + offset)), zeroSums[group]);
    Value rowOffset = e.mul(row, tile * bytes);
    int64_t rows = registers.getRows() * (tiles ? 2 : 1);
    Value stored = e.fromF32(weight, element);
    auto store = [&](Value numbers, int64_t firstRow) {
      e.store(numbers,
              scratchAt(probabilities + ((group * rows + firstRow) * tile + key) * bytes,
                        rowOffset));
    };
    store(stored, 0);
    if (tiles) // what rounding took from them, in as many more rows
      store(e.fromF32(e.subf(weight, e.toF32(stored)), element), registers.getRows());
  }
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
    // What the sums so far are multiplied by, for each group of columns.
    Value factor = vector::ExtractOp::create(e.b, e.loc, alpha, 0);
    SmallVector<Value> factors(value.groups, factor), inverses;
    for (int64_t group = 0; usesUnits() && group < value.groups; ++group) {
      Value address = scratchAt(units + group * 4, e.mul(index, value.groups * 4));
      Value isNew =
          arith::CmpFOp::create(e.b, e.loc, arith::CmpFPredicate::OGT, newMax, oldMax);
      Value last = emitUnit(address, group, score, newMax, isNew);
      inverses.push_back(e.divf(e.f32(1), e.load(e.f32Type(), address)));
      factors[group] = e.mulf(e.mulf(factor, last), inverses.back());
    }
    for (auto [group, each] : llvm::enumerate(factors))
      e.store(each, scratchAt(alphas + group * 4, e.mul(r, value.groups * 4)));
    SmallVector<Value> zeroSums(value.hasZeros() ? value.groups : 0, e.splat(lanes, 0.0));
    for (auto [i, oneScore] : llvm::enumerate(score)) {
      Value probability = e.exp2(e.subf(oneScore, base));
      sum = e.addf(sum, probability);
      emitStoreWeights(r, i * lanes, probability, inverses, zeroSums);
    }
    for (auto [group, zeros] : llvm::enumerate(zeroSums)) {
      Value sum = e.reduceAdd(zeros);
      e.store(inverses.empty() ? sum : e.mulf(sum, inverses[group]),
              scratchAt(valueSums + group * 4, e.mul(r, value.groups * 4)));
    }
    e.store(newMax, maxAddress);
    e.store(sum, sumAddress);
  });
}

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

/// The lanes of the vectors that cover `columns` columns of the value, a multiple of 8.
/// Where codes of 4 bits are decoded in registers, two vectors have their columns in turn.
SmallVector<int64_t> AttentionKernel::coverColumns(int64_t columns) const {
  SmallVector<int64_t> vectors;
  bool inPairs = (value.inRegisters() || value.usesTables()) && value.is4Bit();
  while (columns > 0) {
    int64_t count = std::min(lanes, columns);
    if (inPairs)
      count = llvm::bit_floor(static_cast<uint64_t>(std::min(lanes, columns / 2)));
    vectors.append(inPairs ? 2 : 1, count);
    columns -= inPairs ? 2 * count : count;
  }
  return vectors;
}

/// Adds the weighted values of the tile to one register tile of rows.
void AttentionKernel::emitValues(Value headIndex, Value firstRow) {
  if (tiles)
    return emitTileValues(headIndex, firstRow);
  int64_t perChunk = registers.getValueVectors();
  if (value.inRegisters() && value.is4Bit())
    perChunk = llvm::alignTo(perChunk, 2);
  SmallVector<int64_t> whole(perChunk, lanes);
  int64_t chunks = value.width / (perChunk * lanes), covered = chunks * perChunk * lanes;
  e.loop(e.i64(0), e.i64(chunks), 1, [&](Value chunk) {
    emitValueColumns(headIndex, firstRow, e.mul(chunk, perChunk * lanes), whole);
  });
  SmallVector<int64_t> rest = coverColumns(value.width - covered);
  if (!rest.empty())
    emitValueColumns(headIndex, firstRow, e.i64(covered), rest);
}

/// Operands of the next steps of the value's vectors, as many as one load gives, by vector;
/// `block`: of the first of these steps.
SmallVector<SmallVector<SmallVector<Value>>>
AttentionKernel::loadValueSteps(Value block, ArrayRef<int64_t> vectors) {
  int64_t columnBits = getColumnBits();
  // Vectors that are loaded together.
  int64_t together = value.inRegisters() && value.is4Bit() ? 2 : 1;
  SmallVector<SmallVector<SmallVector<Value>>> loaded(vectors.size());
  int64_t column = 0;
  for (size_t v = 0; v < vectors.size(); v += together) {
    int64_t columns = together * vectors[v];
    int64_t byte = column * columnBits / 8;
    Value at = e.offset(block, byte);
    column += columns;
    if (!value.inRegisters()) {
      loaded[v].push_back(loadPair(e, at, value.element, value.pair, columns, dot));
      continue;
    }
    Value bytes = e.load(e.vectorOf(columns * columnBits / 8, e.b.getI8Type()), at);
    SmallVector<Value> operands = value.decoding == Decoding::Pairs ? decodeWords(value, bytes)
                                                                    : decodeLanes(value, bytes);
    for (auto [i, operand] : llvm::enumerate(operands))
      loaded[v + i % together].push_back({operand});
  }
  return loaded;
}

/// Bits of a column of the value in the bytes that hold one step, or, of a packed image,
/// two.
int64_t AttentionKernel::getColumnBits() const {
  int64_t stepBytes = value.blockBytes() / (kPackedTokens / value.pair);
  return (value.decoding == Decoding::Pairs ? 2 : 1) * stepBytes * 8 / value.width;
}

void AttentionKernel::emitValueColumns(Value headIndex, Value firstRow, Value firstColumn,
                                       ArrayRef<int64_t> vectors) {
  int64_t numRows = registers.getRows(), numVectors = vectors.size();
  int64_t probabilityBytes = dot ? 2 : 4;
  Value firstByte = e.div(e.mul(firstColumn, getColumnBits()), 8);
  Value outputRows =
      e.offset(scratchAt(outputs, e.mul(stateRow(headIndex, firstRow), value.width * 4)),
               e.mul(firstColumn, 4));
  // The group of columns that each vector is in, and its weights.
  SmallVector<Value> groups, weightsOf;
  int64_t column = 0;
  for (int64_t count : vectors) {
    Value group = e.i64(0);
    if (value.groups > 1)
      group = e.div(e.add(firstColumn, column), getScaleGroup(value.attr));
    groups.push_back(group);
    weightsOf.push_back(
        scratchAt(probabilities, e.mul(group, numRows * tile * probabilityBytes)));
    column += count;
  }

  SmallVector<Value> acc;
  for (int64_t r = 0; r < numRows; ++r) {
    int64_t column = 0;
    for (auto [v, count] : llvm::enumerate(vectors)) {
      Value alpha =
          e.load(e.f32Type(), scratchAt(alphas + r * value.groups * 4, e.mul(groups[v], 4)));
      Value old = e.load(e.vectorOf(count, e.f32Type()),
                         e.offset(outputRows, (r * value.width + column) * 4));
      Value sum = e.mulf(old, e.broadcast(alpha, count));
      if (value.hasZeros()) {
        Value zeros = e.load(e.f32Type(),
                             scratchAt(valueSums + r * value.groups * 4, e.mul(groups[v], 4)));
        sum = e.addf(sum, e.broadcast(zeros, count));
      }
      acc.push_back(sum);
      column += count;
    }
  }
  acc = e.loop(e.i64(0), e.i64(tile), kPackedTokens, acc, [&](Value firstKey,
                                                             ValueRange carried) {
    Value pointer = e.mul(e.div(firstKey, kPackedTokens), sizeof(void *));
    Value block = e.offset(e.load(e.ptrType(), scratchAt(value.blocks, pointer)), firstByte);
    int64_t steps = kPackedTokens / value.pair;
    int64_t stepBytes = value.blockBytes() / steps;
    // What comes next is prefetched meanwhile: a part as large as these columns.
    int64_t columnBits = value.attr.getElementType().getIntOrFloatBitWidth();
    int64_t aheadBytes = column * columnBits * value.pair / 8;
    return e.loop(e.i64(0), e.i64(steps), kUnroll, SmallVector<Value>(carried),
                  [&](Value step, ValueRange carried) {
      SmallVector<Value> acc(carried);
      Value stepBlock = e.offset(block, e.mul(step, stepBytes));
      Value aheadOffset = e.add(e.div(e.mul(firstColumn, tile * columnBits), 8),
                                e.mul(e.add(e.div(firstKey, value.pair), step), aheadBytes));
      Value weightOffset =
          e.add(e.mul(firstKey, probabilityBytes), e.mul(step, value.pair * probabilityBytes));
      // A word of a packed image has the tokens of two steps.
      int64_t stepsOfLoad = value.decoding == Decoding::Pairs ? 2 : 1;
      for (int64_t first = 0; first < kUnroll; first += stepsOfLoad) {
        emitPrefetch(value, aheadOffset, first * aheadBytes, stepsOfLoad * aheadBytes);
        SmallVector<SmallVector<SmallVector<Value>>> loaded =
            loadValueSteps(e.offset(stepBlock, first * stepBytes), vectors);
        for (int64_t u = 0; u < stepsOfLoad; ++u)
          for (int64_t r = 0; r < numRows; ++r)
            for (auto [v, count] : llvm::enumerate(vectors)) {
              Value address =
                  e.offset(e.offset(weightsOf[v], weightOffset),
                           (r * tile + (first + u) * value.pair) * probabilityBytes);
              Value &sum = acc[r * numVectors + v];
              if (dot) {
                sum = dotBF16(e, sum, loaded[v][u][0], broadcastPair(e, address, count));
                continue;
              }
              for (int64_t p = 0; p < value.pair; ++p) {
                Value weight = e.load(e.f32Type(), e.offset(address, p * 4));
                sum = e.fma(loaded[v][u][p], e.broadcast(weight, count), sum);
              }
            }
      }
      return acc;
    });
  });
  for (int64_t r = 0; r < numRows; ++r) {
    int64_t column = 0;
    for (auto [v, count] : llvm::enumerate(vectors)) {
      e.store(acc[r * numVectors + v], e.offset(outputRows, (r * value.width + column) * 4));
      column += count;
    }
  }
}

/// Makes a row of the sums what it stands for, after the last tile.
void AttentionKernel::emitFinishColumns(Value headIndex, Value row) {
  Value index = stateRow(headIndex, row);
  Value base = scratchAt(outputs, e.mul(index, value.width * 4));
  emitOrderColumns(base);
  double constant = value.hasScales() ? 1.0 : value.constantScale();
  if (!usesUnits() && constant == 1.0)
    return;
  for (auto [column, count] : valueColumns()) {
    Value factor = e.f32(constant);
    if (usesUnits())
      factor = e.load(e.f32Type(), scratchAt(units + column / getScaleGroup(value.attr) * 4,
                                             e.mul(index, value.groups * 4)));
    Value address = e.offset(base, column * 4);
    Value sums = e.load(e.vectorOf(count, e.f32Type()), address);
    e.store(e.mulf(sums, e.broadcast(factor, count)), address);
  }
}

/// Puts the columns of a row in their order: vectors of 4-bit codes have every other, or
/// every other 4.
void AttentionKernel::emitOrderColumns(Value base) {
  if (!(value.inRegisters() || value.usesTables()) || !value.is4Bit())
    return;
  int64_t run = value.usesTables() ? 4 : 1;
  int64_t column = 0;
  SmallVector<int64_t> vectors = coverColumns(value.width);
  for (size_t v = 0; v < vectors.size(); v += 2) {
    int64_t count = vectors[v];
    VectorType type = e.vectorOf(count, e.f32Type());
    Value first = e.load(type, e.offset(base, column * 4));
    Value second = e.load(type, e.offset(base, (column + count) * 4));
    for (int64_t half : {0, 1}) {
      SmallVector<int64_t> indices;
      for (int64_t i = 0; i < count; ++i) {
        int64_t place = half * count + i;
        int64_t inVector = place / (2 * run) * run + place % run;
        indices.push_back(inVector + (place % (2 * run) < run ? 0 : count));
      }
      e.store(vector::ShuffleOp::create(e.b, e.loc, first, second, indices),
              e.offset(base, (column + half * count) * 4));
    }
    column += 2 * count;
  }
}

} // namespace kvc
