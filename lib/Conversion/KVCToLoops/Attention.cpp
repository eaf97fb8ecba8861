//===- Attention.cpp - the definition of kvc.attention --------------------===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "LoopBuilder.h"
#include "Patterns.h"

#include "kvc/Conversion/Codes.h"

#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

#include <limits>

using namespace mlir;
using namespace kvc;

namespace {
/// One sequence of the batch.
struct Sequence {
  Value queryEnd;  ///< Row after its last query.
  Value kvLen;     ///< Tokens of its cache.
  Value firstPage; ///< Index of its first page id.
};

/// One row of the output: a query token and a query head.
struct Row {
  Value token, head;
  Value kvHead;   ///< The KV head that the query head reads.
  Value position; ///< Of the query within the sequence.
};

/// A key: where it lies, and its position within the sequence.
struct Slot {
  Value page, token;
  Value position;
};

/// Emits the loops of one attention.
struct AttentionLoops {
  LoopBuilder &b;
  AttentionOp op;
  ValueRange cache; ///< A buffer an array.
  BatchArrays batch;
  SmallVector<Value> queries; ///< A tensor a term.
  Value sinks;                ///< May be null.
  Type real;                  ///< f32 or f64.

  SmallVector<Value> emit();

private:
  using Values = LoopBuilder::Values;

  Value emitFirstPage(Value sequence);
  Values emitSequence(Value sequence, ValueRange results);
  Values emitRow(const Sequence &sequence, const Row &row, ValueRange results);
  Value emitMax(const Sequence &sequence, const Row &row, Value sink);
  Values emitSums(const Sequence &sequence, const Row &row, Value max, Value sink);
  Value emitKeep(const Row &row, Value key);
  Slot emitSlot(const Sequence &sequence, Value key);
  Value emitScore(const Row &row, const Slot &slot);
  Value findArray(StringRef name);
  Value loadElement(ComponentAttr component, const Row &row, const Slot &slot, Value w);
};
} // namespace

/// Looks up the key at position `key`, which the row sees: the page ids of others
/// need not be valid.
Slot AttentionLoops::emitSlot(const Sequence &sequence, Value key) {
  int64_t pageSize = cast<CacheType>(op.getCache().getType()).getPageSize();
  Value index = b.add(sequence.firstPage, b.div(key, pageSize));
  return {b.loadIndex(batch.pageIds, index), b.rem(key, pageSize), key};
}

Value AttentionLoops::findArray(StringRef name) {
  return cache[cast<CacheType>(op.getCache().getType()).getArrayIndex(name)];
}

/// The element that the cache holds, or that its code and scale stand for.
Value AttentionLoops::loadElement(ComponentAttr component, const Row &row, const Slot &slot,
                                  Value w) {
  StringRef name = component.getName().getValue();
  Type element = component.getElementType();
  ElementPlace place = getElementPlace(b, component, slot.page, slot.token, row.kvHead, w);
  Value stored = memref::LoadOp::create(b, findArray(name), place.indices);
  if (!isQuantized(element))
    return b.extend(stored, real);
  if (place.half) {
    auto i8 = [&](int64_t value) { return arith::ConstantIntOp::create(b, value, 8); };
    Value isHigh = arith::CmpIOp::create(b, arith::CmpIPredicate::ne, place.half, b.index(0));
    Value low = arith::ShLIOp::create(b, stored, i8(4));
    stored = arith::SelectOp::create(b, isHigh, stored, low);
    stored = arith::ShRSIOp::create(b, stored, i8(4));
  } else if (isa<FloatType>(element)) {
    stored = arith::BitcastOp::create(b, b.getI8Type(), stored);
  }
  Value code = b.extend(CodeEmitter(b, b.getLoc()).decode(stored, element), real);
  ScaleAttr scale = component.getScale();
  if (!scale)
    return code;
  if (FloatAttr constant = scale.getConstant())
    return b.mul(code, b.real(real, constant.getValueAsDouble()));
  Value head = scale.getScheme() == ScaleScheme::Tensor ? b.index(0) : row.kvHead;
  auto load = [&](StringRef suffix) {
    Value value = memref::LoadOp::create(
        b, findArray((name + suffix).str()),
        Values{slot.page, slot.token, head, b.div(w, getScaleGroup(component))});
    return b.extend(value, real);
  };
  Value scaled = b.mul(code, load(kScaleSuffix));
  return scale.getZeroPoint() ? b.add(scaled, load(kZeroSuffix)) : scaled;
}

/// True if the row sees the key; null if it always does.
Value AttentionLoops::emitKeep(const Row &row, Value key) {
  Value keep;
  for (ScoreModifierInterface modifier : op.getModifiers()) {
    Value one = modifier.emitKeep(b, b.getLoc(), row.position, key);
    if (keep && one)
      keep = arith::AndIOp::create(b, keep, one);
    else if (one)
      keep = one;
  }
  return keep;
}

Value AttentionLoops::emitScore(const Row &row, const Slot &slot) {
  Value sum = b.real(real, 0);
  for (auto [index, query] : llvm::enumerate(queries)) {
    ComponentAttr component = op.getTermComponent(index);
    Value term = query; // a structured binding cannot be captured
    auto addProduct = [&](Value w, ValueRange carried) -> Values {
      Value q = b.extend(b.extract(term, {row.token, row.head, w}), real);
      Value k = loadElement(component, row, slot, w);
      return {b.add(carried[0], b.mul(q, k))};
    };
    sum = b.loop(b.index(component.getWidth()), sum, addProduct).front();
  }
  Value score = b.mul(sum, b.real(real, op.getScale().convertToDouble()));
  auto tanh = [&](Value x) -> Value { return math::TanhOp::create(b, x); };
  auto exp2 = [&](Value x) -> Value { return math::Exp2Op::create(b, x); };
  auto queryPos = [&] { return row.position; };
  auto keyPos = [&] { return slot.position; };
  auto queryHead = [&] { return row.head; };
  ScorePoint point{queryPos, keyPos, queryHead, op.getQueryHeads()};
  ScoreMath math{tanh, exp2};
  for (ScoreModifierInterface modifier : op.getModifiers())
    score = modifier.emitScore(b, b.getLoc(), score, point, math);
  return score;
}

/// First pass over the keys: the largest score, the sink among them; 0 if there
/// is none but -inf, so that differences to it are never inf - inf.
Value AttentionLoops::emitMax(const Sequence &sequence, const Row &row, Value sink) {
  Value lowest = b.real(real, -std::numeric_limits<double>::infinity());
  Value max =
      b.loop(sequence.kvLen, sink ? sink : lowest, [&](Value key, ValueRange carried) {
         return b.choose(emitKeep(row, key), carried[0], [&]() -> Values {
           Value score = emitScore(row, emitSlot(sequence, key));
           return {arith::MaximumFOp::create(b, carried[0], score)};
         });
       }).front();
  Value isEmpty = arith::CmpFOp::create(b, arith::CmpFPredicate::OEQ, max, lowest);
  return arith::SelectOp::create(b, isEmpty, b.real(real, 0), max);
}

/// Second pass: the sum of exp(score - max), and of that times the values.
LoopBuilder::Values AttentionLoops::emitSums(const Sequence &sequence, const Row &row,
                                             Value max, Value sink) {
  auto exp = [&](Value score) -> Value {
    return math::ExpOp::create(b, b.sub(score, max));
  };
  ComponentAttr component = op.getValueComponent();
  auto rowType = RankedTensorType::get(component.getWidth(), real);
  Value zeros = arith::ConstantOp::create(
      b, DenseElementsAttr::get(rowType, b.getFloatAttr(real, 0)));
  Value sum = sink ? exp(sink) : b.real(real, 0);
  return b.loop(sequence.kvLen, {sum, zeros}, [&](Value key, ValueRange carried) {
    return b.choose(emitKeep(row, key), carried, [&]() -> Values {
      Slot slot = emitSlot(sequence, key);
      Value weight = exp(emitScore(row, slot));
      Values weighted =
          b.loop(b.index(component.getWidth()), carried[1],
                 [&](Value w, ValueRange inner) -> Values {
                   Value value = loadElement(component, row, slot, w);
                   Value next = b.add(b.extract(inner[0], w), b.mul(weight, value));
                   return {b.insert(next, inner[0], w)};
                 });
      return {b.add(carried[0], weight), weighted.front()};
    });
  });
}

/// Writes one row of the output, and its log-sum-exp.
LoopBuilder::Values AttentionLoops::emitRow(const Sequence &sequence, const Row &row,
                                            ValueRange results) {
  Value sink = sinks ? b.extend(b.extract(sinks, row.head), real) : Value();
  Value max = emitMax(sequence, row, sink);
  Values sums = emitSums(sequence, row, max, sink);

  // A row without keys has sum 0, and 0 in every column of its weighted sum.
  Value zero = b.real(real, 0);
  Value isEmpty = arith::CmpFOp::create(b, arith::CmpFPredicate::OEQ, sums[0], zero);
  Value divisor = arith::SelectOp::create(b, isEmpty, b.real(real, 1), sums[0]);
  Type element = getElementTypeOrSelf(op.getOutput().getType());
  Values next = b.loop(b.index(op.getValueComponent().getWidth()), results[0],
                       [&](Value w, ValueRange carried) -> Values {
                         Value weighted = b.extract(sums[1], w);
                         Value out = arith::DivFOp::create(b, weighted, divisor);
                         return {b.insert(b.round(out, element), carried[0],
                                          {row.token, row.head, w})};
                       });
  if (op.getLse()) {
    Value lse = b.add(max, math::LogOp::create(b, sums[0])); // log(0) = -inf
    next.push_back(b.insert(b.round(lse, b.getF32Type()), results[1], {row.token, row.head}));
  }
  return next;
}

Value AttentionLoops::emitFirstPage(Value sequence) {
  Value isPadded = arith::CmpIOp::create(b, arith::CmpIPredicate::eq,
                                         b.size(batch.pageStart, 0), b.index(0));
  Value isCompressed =
      arith::XOrIOp::create(b, isPadded, arith::ConstantIntOp::create(b, 1, 1));
  return b
      .choose(isCompressed, b.mul(sequence, batch.pageStride),
              [&]() -> Values { return {b.loadIndex(batch.pageStart, sequence)}; })
      .front();
}

LoopBuilder::Values AttentionLoops::emitSequence(Value index, ValueRange results) {
  Value begin = b.loadIndex(batch.queryStart, index);
  Value end = b.loadIndex(batch.queryStart, b.add(index, b.index(1)));
  Sequence sequence{end, b.loadIndex(batch.kvLens, index), emitFirstPage(index)};
  // Query i of the sequence is at position kvLen - (end - begin) + i.
  Value shift = b.sub(sequence.kvLen, end);
  return b.loop(begin, end, results, [&](Value token, ValueRange perToken) {
    Value position = b.add(shift, token);
    return b.loop(b.index(op.getQueryHeads()), perToken, [&](Value head, ValueRange perHead) {
      Row row{token, head, b.div(head, op.getGroup()), position};
      return emitRow(sequence, row, perHead);
    });
  });
}

SmallVector<Value> AttentionLoops::emit() {
  Value tokens = b.size(queries.front(), 0);
  Values results;
  for (Type type : op->getResultTypes())
    results.push_back(b.empty(type, tokens));
  return b.loop(b.size(batch.kvLens, 0), results, [&](Value sequence, ValueRange carried) {
    return emitSequence(sequence, carried);
  });
}

namespace {
struct DecomposeAttention final : OpConversionPattern<AttentionOp> {
  DecomposeAttention(const TypeConverter &converter, MLIRContext *context, Type real)
      : OpConversionPattern(converter, context), real(real) {}

  LogicalResult matchAndRewrite(AttentionOp op, OneToNOpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    LoopBuilder b(op.getLoc(), rewriter);
    AttentionLoops loops{b, op, adaptor.getCache(), BatchArrays(adaptor.getBatch()),
                         {}, {}, real};
    for (ValueRange query : adaptor.getQueries())
      loops.queries.push_back(query.front());
    if (op.getSinks())
      loops.sinks = adaptor.getSinks().front();
    rewriter.replaceOp(op, loops.emit());
    return success();
  }

private:
  Type real;
};
} // namespace

void kvc::populateAttentionLoopPatterns(RewritePatternSet &patterns,
                                        const TypeConverter &converter, Type real) {
  patterns.add<DecomposeAttention>(converter, patterns.getContext(), real);
}
