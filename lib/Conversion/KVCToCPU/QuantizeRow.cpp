//===- QuantizeRow.cpp - append to a quantised component ------------------===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Codes are stored byte by byte where the bytes of a row are apart: no byte is of two
// tokens, so that tokens can be appended at once and disturb no neighbour.
//===----------------------------------------------------------------------===//
#include "QuantizeRow.h"

#include "Params.h"
#include "kvc/Conversion/Codes.h"

#include "mlir/Dialect/Vector/IR/VectorOps.h"

#include <limits>

using namespace mlir;

namespace kvc {

static constexpr int64_t kChunk = 8; // divides every width and group

namespace {
class RowQuantizer {
public:
  RowQuantizer(Emitter &e, ComponentAttr component, const RowPlace &place, Value source,
               Type element)
      : e(e), codes(e.b, e.loc), component(component), place(place), source(source),
        element(element), is4Bit(component.getElementType().isInteger(4)) {}

  void emit(Value count);

private:
  Value loadChunk(Value column);
  Value arrayAddress(int64_t array, Value head);
  CodeEmitter::Scale emitScale(int64_t group, int64_t begin, int64_t end);
  Value codeBase();
  void storeCodes(Value base, Value column, Value codes);
  Value pick(Value codes, ArrayRef<int64_t> indices) {
    return vector::ShuffleOp::create(e.b, e.loc, codes, codes, indices);
  }
  /// Bytes of two 4-bit codes.
  Value pairUp(Value codes, ArrayRef<int64_t> low, ArrayRef<int64_t> high);
  void storeBytes(Value bytes, Value address, int64_t run, int64_t stride);

  Emitter &e;
  CodeEmitter codes;
  ComponentAttr component;
  const RowPlace &place;
  Value source;
  Type element;
  bool is4Bit;
};
} // namespace

/// 8 elements of the row, in f32.
Value RowQuantizer::loadChunk(Value column) {
  Value address = e.offset(source, e.mul(column, getByteWidth(element)));
  return e.toF32(e.load(e.vectorOf(kChunk, element), address));
}

/// Address of the row in one of the arrays, `array` bytes into the ComponentParam.
Value RowQuantizer::arrayAddress(int64_t array, Value head) {
  auto field = [&](int64_t offset, Type type) {
    return e.load(type, e.offset(place.params, place.field + array + offset));
  };
  Value address = field(offsetof(ArrayParam, data), e.ptrType());
  address = e.offset(address,
                     e.mul(place.page, field(offsetof(ArrayParam, pageStride), e.i64Type())));
  address =
      e.offset(address, e.mul(head, field(offsetof(ArrayParam, headStride), e.i64Type())));
  if (array == offsetof(ComponentParam, elements) && component.getLayout() != Layout::RowMajor)
    return address;
  return e.offset(address,
                  e.mul(place.inPage, field(offsetof(ArrayParam, tokenStride), e.i64Type())));
}

/// The smallest or largest element of a vector.
static Value reduce(Emitter &e, Value vector, bool largest) {
  if (largest)
    return e.reduceMax(vector);
  Value negated = arith::NegFOp::create(e.b, e.loc, vector);
  return arith::NegFOp::create(e.b, e.loc, e.reduceMax(negated));
}

CodeEmitter::Scale RowQuantizer::emitScale(int64_t group, int64_t begin, int64_t end) {
  ScaleAttr attr = component.getScale();
  if (!attr)
    return {};
  if (FloatAttr constant = attr.getConstant())
    return {e.splat(kChunk, constant.getValueAsDouble()), Value()};
  Type stored = attr.getElementType();
  int64_t offset = group * getByteWidth(stored);
  Value head = attr.getScheme() == ScaleScheme::Tensor ? e.i64(0) : place.head;
  Value scaleAddress = e.offset(arrayAddress(offsetof(ComponentParam, scales), head), offset);
  Value zeroAddress;
  if (attr.getZeroPoint())
    zeroAddress = e.offset(arrayAddress(offsetof(ComponentParam, zeros), head), offset);
  if (attr.getIsStatic()) {
    auto load = [&](Value address) {
      return address ? e.broadcast(e.toF32(e.load(stored, address)), kChunk) : Value();
    };
    return {load(scaleAddress), load(zeroAddress)};
  }
  double infinity = std::numeric_limits<double>::infinity();
  SmallVector<Value> range = e.loop(
      e.i64(begin), e.i64(end), kChunk, {e.splat(kChunk, infinity), e.splat(kChunk, -infinity)},
      [&](Value column, ValueRange carried) -> SmallVector<Value> {
        Value x = loadChunk(column), isFinite = codes.isFinite(x);
        Value low = e.select(isFinite, x, e.splat(kChunk, infinity));
        Value high = e.select(isFinite, x, e.splat(kChunk, -infinity));
        Value isLower =
            arith::CmpFOp::create(e.b, e.loc, arith::CmpFPredicate::OLT, low, carried[0]);
        return {e.select(isLower, low, carried[0]), e.maxf(high, carried[1])};
      });
  Value min = reduce(e, range[0], false), max = reduce(e, range[1], true);
  // A row without finite elements has the range from 0 to 0.
  Value isNone = arith::CmpFOp::create(e.b, e.loc, arith::CmpFPredicate::OGT, min, max);
  CodeEmitter::Scale scale = codes.computeScale(component, e.select(isNone, e.f32(0), min),
                                                e.select(isNone, e.f32(0), max));
  e.store(e.fromF32(scale.scale, stored), scaleAddress);
  if (scale.zero)
    e.store(e.fromF32(scale.zero, stored), zeroAddress);
  return {e.broadcast(scale.scale, kChunk),
          scale.zero ? e.broadcast(scale.zero, kChunk) : Value()};
}

/// Where the codes of the row's first columns are, in a row or an image.
Value RowQuantizer::codeBase() {
  Value base = arrayAddress(offsetof(ComponentParam, elements), place.head);
  int64_t tokenBytes =
      component.getWidth() * component.getElementType().getIntOrFloatBitWidth() / 8;
  Value inBlock;
  switch (component.getLayout()) {
  case Layout::RowMajor:
    return base;
  case Layout::PackedKey:
    base =
        e.offset(base, e.mul(e.div(place.inPage, kPackedTokens), kPackedTokens * tokenBytes));
    inBlock = e.rem(place.inPage, kPackedTokens);
    if (is4Bit)
      return e.offset(base, e.mul(inBlock, 4));
    return e.offset(base, e.add(e.mul(e.div(inBlock, 4), 16), e.mul(e.rem(inBlock, 4), 2)));
  case Layout::LaneKey:
    base =
        e.offset(base, e.mul(e.div(place.inPage, kPackedTokens), kPackedTokens * tokenBytes));
    return e.offset(base, e.rem(place.inPage, kPackedTokens));
  case Layout::PackedValue:
    base = e.offset(base, e.mul(e.div(place.inPage, 4), 4 * tokenBytes));
    inBlock = e.rem(place.inPage, 4);
    if (is4Bit)
      return e.offset(base, e.add(e.mul(e.rem(inBlock, 2), 2), e.div(inBlock, 2)));
    return e.offset(base, e.add(e.mul(e.div(inBlock, 2), 8), e.rem(inBlock, 2)));
  }
  llvm_unreachable("unknown layout");
}

Value RowQuantizer::pairUp(Value all, ArrayRef<int64_t> low, ArrayRef<int64_t> high) {
  Value lower = pick(all, low), upper = pick(all, high);
  lower = e.logicalAnd(lower, e.intSplat(lower, 15));
  upper = arith::ShLIOp::create(e.b, e.loc, upper, e.intSplat(upper, 4));
  return e.logicalOr(lower, upper);
}

/// Stores runs of bytes, `stride` bytes apart.
void RowQuantizer::storeBytes(Value bytes, Value address, int64_t run, int64_t stride) {
  int64_t size = cast<VectorType>(bytes.getType()).getDimSize(0);
  for (int64_t i = 0; i < size; i += run) {
    Value part = run == 1 ? Value(vector::ExtractOp::create(e.b, e.loc, bytes, i))
                          : pick(bytes, llvm::to_vector(llvm::seq<int64_t>(i, i + run)));
    e.store(part, e.offset(address, i / run * stride));
  }
}

/// Stores the codes of 8 columns.
void RowQuantizer::storeCodes(Value base, Value column, Value all) {
  switch (component.getLayout()) {
  case Layout::RowMajor:
    if (is4Bit)
      return e.store(pairUp(all, {0, 2, 4, 6}, {1, 3, 5, 7}), e.offset(base, e.div(column, 2)));
    return e.store(all, e.offset(base, column));
  case Layout::PackedKey:
    if (is4Bit) // a word: elements 0, 2, 4, 6, 1, 3, 5, 7
      return e.store(pairUp(all, {0, 4, 1, 5}, {2, 6, 3, 7}), e.offset(base, e.mul(column, 8)));
    // Pairs 8 bytes apart, two in a line of 64.
    base = e.offset(base, e.mul(column, 16));
    storeBytes(pick(all, {0, 1, 2, 3}), base, 2, 8);
    return storeBytes(pick(all, {4, 5, 6, 7}), e.offset(base, 64), 2, 8);
  case Layout::LaneKey:
    if (is4Bit)
      return storeBytes(pairUp(all, {0, 2, 4, 6}, {1, 3, 5, 7}),
                        e.offset(base, e.mul(column, kPackedTokens / 2)), 1, kPackedTokens);
    return storeBytes(all, e.offset(base, e.mul(column, kPackedTokens)), 1, kPackedTokens);
  case Layout::PackedValue:
    if (is4Bit) // columns l and l + 4 in a byte of word l
      return storeBytes(pairUp(all, {0, 1, 2, 3}, {4, 5, 6, 7}),
                        e.offset(base, e.mul(column, 2)), 1, 4);
    storeBytes(pick(all, {0, 1, 2, 3}), e.offset(base, e.mul(column, 4)), 1, 2);
    return storeBytes(pick(all, {4, 5, 6, 7}), e.offset(base, e.add(e.mul(column, 4), 16)), 1,
                      2);
  }
}

void RowQuantizer::emit(Value count) {
  int64_t width = component.getWidth(), size = getScaleGroup(component);
  Value base = codeBase();
  for (int64_t begin = 0; begin < width; begin += size) {
    int64_t end = std::min(begin + size, width);
    CodeEmitter::Scale scale = emitScale(begin / size, begin, end);
    e.loop(e.i64(begin), e.i64(end), kChunk, [&](Value column) {
      Value x = loadChunk(column);
      storeCodes(base, column, codes.quantize(component, x, scale));
      if (!count)
        return;
      Value isFinite = codes.isFinite(x);
      VectorType words = e.vectorOf(kChunk, e.i32Type());
      auto splat = [&](int32_t value) -> Value {
        return arith::ConstantOp::create(
            e.b, e.loc, DenseElementsAttr::get(words, e.b.getI32IntegerAttr(value)));
      };
      Value others = e.select(isFinite, splat(0), splat(1));
      Value sum = vector::ReductionOp::create(e.b, e.loc, vector::CombiningKind::ADD, others);
      e.store(e.add(e.load(e.i32Type(), count), sum), count);
    });
  }
}

void emitQuantizeRow(Emitter &e, ComponentAttr component, const RowPlace &place, Value source,
                     Type element, Value count) {
  RowQuantizer(e, component, place, source, element).emit(count);
}

} // namespace kvc
