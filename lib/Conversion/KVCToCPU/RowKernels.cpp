//===- RowKernels.cpp - append, rope and merge on the CPU -----------------===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "RowKernels.h"

#include "Params.h"
#include "QuantizeRow.h"

#include "kvc/Conversion/FusedRope.h"

#include "mlir/Dialect/Math/IR/Math.h"

#include <cmath>
#include <limits>

using namespace mlir;

namespace kvc {

Value emitTensorRow(Emitter &e, Value params, int64_t tensor, Value token, Value head) {
  auto field = [&](int64_t offset, Type type) {
    return e.load(type, e.offset(params, tensor + offset));
  };
  Value data = field(offsetof(TensorParam, data), e.ptrType());
  Value tokenStride = field(offsetof(TensorParam, tokenStride), e.i64Type());
  Value headStride = field(offsetof(TensorParam, headStride), e.i64Type());
  return e.offset(e.offset(data, e.mul(token, tokenStride)), e.mul(head, headStride));
}

/// for each token of the item
static void forEachToken(Emitter &e, Value params, int64_t numTokensField, Value item,
                         Emitter::Body body) {
  Value numTokens = e.load(e.i64Type(), e.offset(params, numTokensField));
  Value begin = e.mul(item, kTokensPerItem);
  e.loop(begin, e.min(e.add(begin, kTokensPerItem), numTokens), 1, body);
}

//===----------------------------------------------------------------------===//
// Rope
//===----------------------------------------------------------------------===//

namespace {
/// Emits the rotation of rows.
class Rotation {
public:
  /// `positions`: pointer to those of the tokens; `frequencies`: to those of the pairs, or
  /// null. Takes memory on the stack: outside of loops.
  Rotation(Emitter &e, RopeOp op, Value positions, Value frequencies)
      : e(e), op(op), positions(positions), frequencies(frequencies),
        element(getElementTypeOrSelf(op.getInput())), pairs(op.getRotaryWidth() / 2),
        width(cast<RankedTensorType>(op.getInput().getType()).getDimSize(2)),
        table(LLVM::AllocaOp::create(e.b, e.loc, e.ptrType(), e.f32Type(), e.i64(2 * pairs),
                                     /*alignment=*/64)) {}

  /// Computes the cosines and sines of a token, for all its heads.
  void emitTable(Value token);
  /// Rotates the row at `in`, of that token, to `out`.
  void emitRow(Value in, Value out);
  /// Bytes of a row.
  int64_t rowBytes() const { return width * getByteWidth(element); }

private:
  /// The frequency of pair `pair` (i64) in f64.
  Value emitFrequency(Value pair);

  Emitter &e;
  RopeOp op;
  Value positions, frequencies;
  Type element;
  int64_t pairs, width;
  Value table;
};
} // namespace

Value Rotation::emitFrequency(Value pair) {
  Type f64 = e.b.getF64Type();
  if (frequencies)
    return arith::ExtFOp::create(e.b, e.loc, f64,
                                 e.load(e.f32Type(), e.offset(frequencies, e.mul(pair, 4))));
  double step = -2.0 / op.getRotaryWidth() * std::log2(op.getTheta()->convertToDouble());
  Value exponent =
      arith::MulFOp::create(e.b, e.loc, arith::SIToFPOp::create(e.b, e.loc, f64, pair),
                            arith::ConstantOp::create(e.b, e.loc, e.b.getF64FloatAttr(step)));
  return math::Exp2Op::create(e.b, e.loc, exponent);
}

void Rotation::emitTable(Value token) {
  Value position = arith::SIToFPOp::create(
      e.b, e.loc, e.b.getF64Type(), e.load(e.i32Type(), e.offset(positions, e.mul(token, 4))));
  e.loop(e.i64(0), e.i64(pairs), 1, [&](Value pair) {
    Value angle = e.mulf(position, emitFrequency(pair));
    auto narrow = [&](Value x) -> Value {
      return arith::TruncFOp::create(e.b, e.loc, e.f32Type(), x);
    };
    Value entry = e.offset(table, e.mul(pair, 8));
    e.store(narrow(math::CosOp::create(e.b, e.loc, angle)), entry);
    e.store(narrow(math::SinOp::create(e.b, e.loc, angle)), e.offset(entry, 4));
  });
}

void Rotation::emitRow(Value in, Value out) {
  int64_t elementBytes = getByteWidth(element);
  bool interleaved = op.getStyle() == RopeStyle::Interleaved;
  e.loop(e.i64(0), e.i64(pairs), 1, [&](Value pair) {
    Value first = e.mul(pair, (interleaved ? 2 : 1) * elementBytes);
    int64_t second = (interleaved ? 1 : pairs) * elementBytes;
    Value x = e.toF32(e.load(element, e.offset(in, first)));
    Value y = e.toF32(e.load(element, e.offset(e.offset(in, first), second)));
    Value entry = e.offset(table, e.mul(pair, 8));
    Value cosine = e.load(e.f32Type(), entry);
    Value sine = e.load(e.f32Type(), e.offset(entry, 4));
    Value rotatedX = e.subf(e.mulf(x, cosine), e.mulf(y, sine));
    Value rotatedY = e.addf(e.mulf(y, cosine), e.mulf(x, sine));
    e.store(e.fromF32(rotatedX, element), e.offset(out, first));
    e.store(e.fromF32(rotatedY, element), e.offset(e.offset(out, first), second));
  });
  e.loop(e.i64(2 * pairs), e.i64(width), 1, [&](Value i) {
    Value offset = e.mul(i, elementBytes);
    e.store(e.load(element, e.offset(in, offset)), e.offset(out, offset));
  });
}

void emitRopeBody(Emitter &e, RopeOp op, Value params, Value item) {
  int64_t heads = cast<RankedTensorType>(op.getInput().getType()).getDimSize(1);
  auto load = [&](int64_t field) { return e.load(e.ptrType(), e.offset(params, field)); };
  Rotation rotation(e, op, load(offsetof(RopeParams, positions)),
                    op.getFrequencies() ? load(offsetof(RopeParams, frequencies)) : Value());
  forEachToken(e, params, offsetof(RopeParams, numTokens), item, [&](Value token) {
    rotation.emitTable(token);
    e.loop(e.i64(0), e.i64(heads), 1, [&](Value head) {
      rotation.emitRow(emitTensorRow(e, params, offsetof(RopeParams, input), token, head),
                       emitTensorRow(e, params, offsetof(RopeParams, output), token, head));
    });
  });
}

//===----------------------------------------------------------------------===//
// Append
//===----------------------------------------------------------------------===//

/// Copies one row into the page at `page` of one component.
static void emitAppendRow(Emitter &e, ComponentAttr component, Value params, int64_t field,
                          Value page, Value inPage, Value head, Value source) {
  auto stride = [&](int64_t offset) {
    return e.load(e.i64Type(), e.offset(params, field + offset));
  };
  int64_t elementBytes = getByteWidth(component.getElementType());
  int64_t pair = getPackedPair(component.getElementType()), width = component.getWidth();
  Value base = e.offset(page, e.mul(head, stride(offsetof(ArrayParam, headStride))));
  // A packed block of keys: [width / pair][16][pair], of values: [16 / pair][width][pair].
  Type unit = e.b.getIntegerType(8 * elementBytes);
  int64_t run = 1, targetStride = 0; // elements that stay together, bytes between runs
  Value target;
  switch (component.getLayout()) {
  case Layout::RowMajor:
    target = e.offset(base, e.mul(inPage, stride(offsetof(ArrayParam, tokenStride))));
    run = 8; // divides every width
    targetStride = 8 * elementBytes;
    break;
  case Layout::PackedKey:
    target = e.offset(base, e.mul(e.div(inPage, kPackedTokens),
                                  kPackedTokens * width * elementBytes));
    target = e.offset(target, e.mul(e.rem(inPage, kPackedTokens), pair * elementBytes));
    run = pair;
    targetStride = kPackedTokens * pair * elementBytes;
    break;
  case Layout::PackedValue:
    target = e.offset(base, e.mul(e.div(inPage, pair), pair * width * elementBytes));
    target = e.offset(target, e.mul(e.rem(inPage, pair), elementBytes));
    targetStride = pair * elementBytes;
    break;
  case Layout::LaneKey:
    llvm_unreachable("codes are not copied");
  }
  Type runType = run == 1 ? unit : Type(e.vectorOf(run, unit));
  e.loop(e.i64(0), e.i64(width / run), 1, [&](Value i) {
    Value loaded = e.load(runType, e.offset(source, e.mul(i, run * elementBytes)));
    e.store(loaded, e.offset(target, e.mul(i, targetStride)));
  });
}

void emitAppendBody(Emitter &e, AppendOp op, Value params, Value item) {
  auto cache = cast<CacheType>(op.getCache().getType());
  // How many elements of a token were not finite.
  Value count;
  if (op.getNonfinite())
    count = LLVM::AllocaOp::create(e.b, e.loc, e.ptrType(), e.i32Type(), e.i64(1));
  // Rows that are rotated first, one at a time.
  SmallVector<std::optional<Rotation>> rotations(op.getValues().size());
  SmallVector<Value> rotated(op.getValues().size());
  for (auto [index, value] : llvm::enumerate(op.getValues())) {
    RopeOp rope = getFusableRope(op, value);
    if (!rope)
      continue;
    auto load = [&](int64_t field) { return e.load(e.ptrType(), e.offset(params, field)); };
    Value frequencies;
    if (rope.getFrequencies())
      frequencies = load(offsetof(AppendParams, frequencies) + index * sizeof(float *));
    rotations[index].emplace(e, rope, load(offsetof(AppendParams, positions)), frequencies);
    rotated[index] =
        LLVM::AllocaOp::create(e.b, e.loc, e.ptrType(), e.b.getI8Type(),
                               e.i64(rotations[index]->rowBytes()), /*alignment=*/64);
  }
  forEachToken(e, params, offsetof(AppendParams, numTokens), item, [&](Value token) {
    if (count)
      e.store(e.i32(0), count);
    Value slots = e.load(e.ptrType(), e.offset(params, offsetof(AppendParams, slots)));
    Value slot = e.load(e.i64Type(), e.offset(slots, e.mul(token, 8)));
    e.ifThen(e.lessOrEqual(e.i64(0), slot), [&] {
      Value page = e.div(slot, cache.getPageSize());
      Value inPage = e.rem(slot, cache.getPageSize());
      for (auto [index, name] : llvm::enumerate(op.getComponents().getAsRange<StringAttr>())) {
        ComponentAttr component = cache.getComponent(name.getValue());
        int64_t value = offsetof(AppendParams, values) + index * sizeof(TensorParam);
        int64_t field = offsetof(AppendParams, components) + index * sizeof(ComponentParam);
        Value data = e.load(e.ptrType(), e.offset(params, field));
        Value stride =
            e.load(e.i64Type(), e.offset(params, field + offsetof(ArrayParam, pageStride)));
        Value pageAddress = e.offset(data, e.mul(page, stride));
        Type element = getElementTypeOrSelf(op.getValues()[index].getType());
        std::optional<Rotation> &rotation = rotations[index];
        if (rotation)
          rotation->emitTable(token);
        e.loop(e.i64(0), e.i64(component.getHeads()), 1, [&, index = index](Value head) {
          Value source = emitTensorRow(e, params, value, token, head);
          if (rotation) {
            rotation->emitRow(source, rotated[index]);
            source = rotated[index];
          }
          if (isQuantized(component.getElementType()))
            return emitQuantizeRow(e, component, {params, field, page, inPage, head}, source,
                                   element, count);
          emitAppendRow(e, component, params, field, pageAddress, inPage, head, source);
        });
      }
    });
    if (!count)
      return;
    auto load = [&](int64_t offset, Type type) {
      return e.load(type, e.offset(params, offset));
    };
    Value counts = load(offsetof(AppendParams, nonfinite), e.ptrType());
    Value stride = load(offsetof(AppendParams, nonfiniteStride), e.i64Type());
    e.store(e.load(e.i32Type(), count), e.offset(counts, e.mul(token, stride)));
  });
}

//===----------------------------------------------------------------------===//
// Merge
//===----------------------------------------------------------------------===//

void emitMergeOpBody(Emitter &e, MergeOp op, Value params, Value item) {
  constexpr int64_t kChunk = 8;
  auto type = cast<RankedTensorType>(op.getOutput().getType());
  Type element = type.getElementType();
  int64_t parts = op.getOutputs().size(), elementBytes = getByteWidth(element);
  Value minusInfinity = e.f32(-std::numeric_limits<float>::infinity());
  auto tensor = [](int64_t array, int64_t index) {
    return array + index * static_cast<int64_t>(sizeof(TensorParam));
  };
  // Tensors need not have a width that is a multiple of 8 here.
  int64_t width = type.getDimSize(2), whole = width / kChunk * kChunk;

  // Weights of the parts of one row.
  Value weights = LLVM::AllocaOp::create(e.b, e.loc, e.ptrType(), e.f32Type(), e.i64(parts));
  forEachToken(e, params, offsetof(MergeParams, numTokens), item, [&](Value token) {
    e.loop(e.i64(0), e.i64(type.getDimSize(1)), 1, [&](Value head) {
      SmallVector<Value> lses;
      Value max = minusInfinity;
      Value sink;
      if (op.getSinks()) {
        Value data = e.load(e.ptrType(), e.offset(params, offsetof(MergeParams, sinks)));
        sink = e.load(e.f32Type(), e.offset(data, e.mul(head, 4)));
        max = sink;
      }
      for (int64_t part = 0; part < parts; ++part) {
        lses.push_back(e.load(e.f32Type(),
                              emitTensorRow(e, params, tensor(offsetof(MergeParams, lses), part),
                                            token, head)));
        max = e.maxf(lses.back(), max);
      }
      Value isNone = arith::CmpFOp::create(e.b, e.loc, arith::CmpFPredicate::OEQ, max,
                                           minusInfinity);
      Value base = e.select(isNone, e.f32(0), max);
      auto weigh = [&](Value lse) -> Value {
        return math::ExpOp::create(e.b, e.loc, e.subf(lse, base));
      };
      Value sum = sink ? weigh(sink) : e.f32(0);
      for (auto [part, lse] : llvm::enumerate(lses)) {
        Value weight = weigh(lse);
        e.store(weight, e.offset(weights, part * 4));
        sum = e.addf(sum, weight);
      }
      Value isEmpty =
          arith::CmpFOp::create(e.b, e.loc, arith::CmpFPredicate::OEQ, sum, e.f32(0));
      Value factor = e.select(isEmpty, e.f32(0), e.divf(e.f32(1), sum));
      Value out = emitTensorRow(e, params, offsetof(MergeParams, output), token, head);
      auto mergeColumns = [&](Value column, int64_t count) {
        auto typeOf = [&](Type scalar) {
          return count == 1 ? scalar : Type(e.vectorOf(count, scalar));
        };
        auto spread = [&](Value scalar) {
          return count == 1 ? scalar : e.broadcast(scalar, count);
        };
        Value zero = e.splat(count == 1 ? 0 : count, 0.0);
        Value offset = e.mul(column, elementBytes);
        Value acc = zero;
        for (int64_t part = 0; part < parts; ++part) {
          Value row = emitTensorRow(e, params, tensor(offsetof(MergeParams, outputs), part),
                                    token, head);
          Value weight = e.load(e.f32Type(), e.offset(weights, part * 4));
          // An empty part counts for nothing, whatever its output holds.
          Value isUnused = arith::CmpFOp::create(e.b, e.loc, arith::CmpFPredicate::OEQ,
                                                 weight, e.f32(0));
          Value x = e.toF32(e.load(typeOf(element), e.offset(row, offset)));
          acc = e.fma(e.select(isUnused, zero, x), spread(weight), acc);
        }
        e.store(e.fromF32(e.mulf(acc, spread(factor)), element), e.offset(out, offset));
      };
      e.loop(e.i64(0), e.i64(whole), kChunk, [&](Value i) { mergeColumns(i, kChunk); });
      e.loop(e.i64(whole), e.i64(width), 1, [&](Value i) { mergeColumns(i, 1); });

      Value log = e.addf(base, math::LogOp::create(e.b, e.loc, sum));
      e.store(e.select(isEmpty, minusInfinity, log),
              emitTensorRow(e, params, offsetof(MergeParams, lse), token, head));
    });
  });
}

} // namespace kvc
