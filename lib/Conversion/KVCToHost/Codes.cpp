//===- Codes.cpp - numbers and the codes of quantised caches --------------===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "kvc/Conversion/Codes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

#include <cmath>

using namespace mlir;

namespace kvc {

namespace {
/// A float of 8 bits: a sign, an exponent, and `mantissa` bits.
struct SmallFloat {
  int mantissa, bias;
  int64_t largest;  ///< Bits of the largest finite number.
  int64_t firstNaN; ///< Magnitudes from here on are not finite...
  bool hasInfinity; ///< ... and this is infinity.
};
} // namespace

static constexpr SmallFloat kE4M3 = {3, 7, 0x7e, 0x7f, false};
static constexpr SmallFloat kE5M2 = {2, 15, 0x7b, 0x7c, true};

static const SmallFloat &getSmallFloat(Type element) {
  return isa<Float8E4M3FNType>(element) ? kE4M3 : kE5M2;
}

//===----------------------------------------------------------------------===//
// Short forms
//===----------------------------------------------------------------------===//

Type CodeEmitter::withElement(Type like, Type element) {
  if (auto vector = dyn_cast<VectorType>(like))
    return vector.clone(element);
  return element;
}

static TypedAttr splat(Type like, TypedAttr attr) {
  if (auto vector = dyn_cast<VectorType>(like))
    return DenseElementsAttr::get(vector.clone(attr.getType()), Attribute(attr));
  return attr;
}

Value CodeEmitter::constant(Type like, double value) {
  return arith::ConstantOp::create(b, loc, splat(like, b.getF32FloatAttr(value)));
}

Value CodeEmitter::intConstant(Type like, int64_t value) {
  return arith::ConstantOp::create(
      b, loc, splat(like, b.getI32IntegerAttr(static_cast<int32_t>(value))));
}

Value CodeEmitter::toBits(Value x) {
  return arith::BitcastOp::create(b, loc, withElement(x.getType(), b.getI32Type()), x);
}

Value CodeEmitter::toFloat(Value bits) {
  return arith::BitcastOp::create(b, loc, withElement(bits.getType(), b.getF32Type()), bits);
}

//===----------------------------------------------------------------------===//
// Codes
//===----------------------------------------------------------------------===//

Value CodeEmitter::decode(Value bits, Type element) {
  Type i32 = withElement(bits.getType(), b.getI32Type());
  if (isa<IntegerType>(element))
    return arith::SIToFPOp::create(b, loc, withElement(bits.getType(), b.getF32Type()), bits);
  const SmallFloat &format = getSmallFloat(element);
  auto number = [&](int64_t value) { return intConstant(i32, value); };
  Value word = arith::ExtUIOp::create(b, loc, i32, bits);
  Value magnitude = arith::AndIOp::create(b, loc, word, number(0x7f));
  Value shifted = arith::ShLIOp::create(b, loc, magnitude, number(23 - format.mantissa));
  // Moves the bias of the exponent. What is subnormal is a whole number of steps:
  // multiplying by a power of two would do for both, but is slow for subnormals.
  Value normal = arith::AddIOp::create(b, loc, shifted,
                                       number(static_cast<int64_t>(127 - format.bias) << 23));
  Value steps = arith::UIToFPOp::create(b, loc, withElement(i32, b.getF32Type()), magnitude);
  double step = std::ldexp(1.0, 1 - format.bias - format.mantissa);
  Value subnormal = toBits(arith::MulFOp::create(b, loc, steps, constant(i32, step)));
  Value isNormal = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::uge, magnitude,
                                         number(int64_t{1} << format.mantissa));
  Value finite = arith::SelectOp::create(b, loc, isNormal, normal, subnormal);
  Value isSpecial = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::uge, magnitude,
                                          number(format.firstNaN));
  Value special = format.hasInfinity
                      ? Value(arith::OrIOp::create(b, loc, shifted, number(0x7f800000)))
                      : number(0x7fc00000);
  Value sign = arith::ShLIOp::create(b, loc, arith::AndIOp::create(b, loc, word, number(0x80)),
                                     number(24));
  Value result = arith::SelectOp::create(b, loc, isSpecial, special, finite);
  return toFloat(arith::OrIOp::create(b, loc, result, sign));
}

Value CodeEmitter::encode(Value x, Type element, bool zeroPoint) {
  auto number = [&](int64_t value) { return intConstant(x.getType(), value); };
  Type i8 = withElement(x.getType(), b.getI8Type());
  Value isNaN = arith::CmpFOp::create(b, loc, arith::CmpFPredicate::UNO, x, x);
  if (isa<IntegerType>(element)) {
    double largest = getLargestCode(element);
    Value high = constant(x.getType(), largest);
    Value low = constant(x.getType(), zeroPoint ? -largest - 1 : -largest);
    Value above = arith::CmpFOp::create(b, loc, arith::CmpFPredicate::OGT, x, high);
    Value below = arith::CmpFOp::create(b, loc, arith::CmpFPredicate::OLT, x, low);
    Value clamped = arith::SelectOp::create(b, loc, above, high, x);
    clamped = arith::SelectOp::create(b, loc, below, low, clamped);
    // 1.5 * 2^23: adding it leaves the nearest whole number in the low bits.
    constexpr double kRound = 12582912.0;
    Value rounded = arith::AddFOp::create(b, loc, clamped, constant(x.getType(), kRound));
    Value code = arith::SubIOp::create(b, loc, toBits(rounded), number(0x4b400000));
    code = arith::SelectOp::create(b, loc, isNaN, number(0), code);
    return arith::TruncIOp::create(b, loc, i8, code);
  }
  const SmallFloat &format = getSmallFloat(element);
  Value bits = toBits(x);
  Value sign = arith::AndIOp::create(b, loc, arith::ShRUIOp::create(b, loc, bits, number(24)),
                                     number(0x80));
  Value magnitude = arith::AndIOp::create(b, loc, bits, number(0x7fffffff));
  int dropped = 23 - format.mantissa;
  // Normal results: move the bias, add half an ulp less one and the last kept bit.
  Value moved = arith::SubIOp::create(b, loc, magnitude,
                                      number(static_cast<int64_t>(127 - format.bias) << 23));
  Value lastBit = arith::AndIOp::create(
      b, loc, arith::ShRUIOp::create(b, loc, moved, number(dropped)), number(1));
  Value normal = arith::AddIOp::create(b, loc, moved, lastBit);
  normal = arith::AddIOp::create(b, loc, normal, number((1 << (dropped - 1)) - 1));
  normal = arith::ShRUIOp::create(b, loc, normal, number(dropped));
  // Results that are subnormal: adding this power of two aligns the last bit of f32 with
  // the last of the code.
  Value aligner = constant(x.getType(), std::ldexp(1.0, 24 - format.bias - format.mantissa));
  Value subnormal = arith::SubIOp::create(
      b, loc, toBits(arith::AddFOp::create(b, loc, toFloat(magnitude), aligner)),
      toBits(aligner));
  Value isNormal = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::uge, magnitude,
                                         number(static_cast<int64_t>(128 - format.bias) << 23));
  Value code = arith::SelectOp::create(b, loc, isNormal, normal, subnormal);
  code = arith::MinUIOp::create(b, loc, code, number(format.largest));
  code = arith::OrIOp::create(b, loc, code, sign);
  code = arith::SelectOp::create(b, loc, isNaN, number(0x7f), code);
  return arith::TruncIOp::create(b, loc, i8, code);
}

//===----------------------------------------------------------------------===//
// Scales
//===----------------------------------------------------------------------===//

Value CodeEmitter::isFinite(Value x) {
  Value magnitude =
      arith::AndIOp::create(b, loc, toBits(x), intConstant(x.getType(), 0x7fffffff));
  return arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ult, magnitude,
                               intConstant(x.getType(), 0x7f800000));
}

Value CodeEmitter::finiteOrZero(Value x) {
  return arith::SelectOp::create(b, loc, isFinite(x), x, constant(x.getType(), 0));
}

Value CodeEmitter::roundToScaleType(Value x, Type element) {
  // Which zero comes out of an extremum depends on the order: make it the positive one.
  x = arith::AddFOp::create(b, loc, x, constant(x.getType(), 0));
  if (element.isF32())
    return x;
  // Without overflow.
  Value high = constant(x.getType(), 65504), low = constant(x.getType(), -65504);
  Value above = arith::CmpFOp::create(b, loc, arith::CmpFPredicate::OGT, x, high);
  Value below = arith::CmpFOp::create(b, loc, arith::CmpFPredicate::OLT, x, low);
  x = arith::SelectOp::create(b, loc, above, high, x);
  x = arith::SelectOp::create(b, loc, below, low, x);
  // To f16 in f32, for processors that do not have it: the last 13 bits go. Below 2^-14
  // the sum with 1/2 rounds to 2^-24.
  auto number = [&](int64_t value) { return intConstant(x.getType(), value); };
  Value bits = toBits(x);
  Value lastBit = arith::AndIOp::create(
      b, loc, arith::ShRUIOp::create(b, loc, bits, number(13)), number(1));
  Value normal = arith::AddIOp::create(b, loc, bits, lastBit);
  normal = arith::AddIOp::create(b, loc, normal, number(0xfff));
  normal = arith::AndIOp::create(b, loc, normal, number(~int64_t{0x1fff}));
  Value sign = arith::AndIOp::create(b, loc, bits, number(0x80000000));
  Value magnitude = arith::AndIOp::create(b, loc, bits, number(0x7fffffff));
  Value half = constant(x.getType(), 0.5);
  Value subnormal = arith::SubFOp::create(
      b, loc, arith::AddFOp::create(b, loc, toFloat(magnitude), half), half);
  subnormal = arith::OrIOp::create(b, loc, toBits(subnormal), sign);
  Value isNormal =
      arith::CmpIOp::create(b, loc, arith::CmpIPredicate::uge, magnitude, number(0x38800000));
  return toFloat(arith::SelectOp::create(b, loc, isNormal, normal, subnormal));
}

CodeEmitter::Scale CodeEmitter::computeScale(ComponentAttr component, Value min, Value max) {
  ScaleAttr attr = component.getScale();
  Type type = max.getType(), element = attr.getElementType();
  // Of zeros of both signs, the largest is the one or the other: not the sign of it.
  auto withoutSign = [&](Value zero) -> Value {
    return arith::AddFOp::create(b, loc, zero, constant(type, 0));
  };
  if (!attr.getZeroPoint()) {
    Value below = arith::NegFOp::create(b, loc, min);
    Value isLower = arith::CmpFOp::create(b, loc, arith::CmpFPredicate::OGT, below, max);
    Value largest = arith::SelectOp::create(b, loc, isLower, below, max);
    Value scale = arith::DivFOp::create(
        b, loc, largest, constant(type, getLargestCode(component.getElementType())));
    return {roundToScaleType(withoutSign(scale), element), Value()};
  }
  // Apart, so that the difference does not overflow.
  Value steps = constant(type, 15);
  Value scale = arith::SubFOp::create(b, loc, arith::DivFOp::create(b, loc, max, steps),
                                      arith::DivFOp::create(b, loc, min, steps));
  scale = roundToScaleType(withoutSign(scale), element);
  Value zero = arith::AddFOp::create(b, loc, min,
                                     arith::MulFOp::create(b, loc, scale, constant(type, 8)));
  return {scale, roundToScaleType(zero, element)};
}

Value CodeEmitter::quantize(ComponentAttr component, Value x, Scale scale) {
  Type element = component.getElementType();
  bool zeroPoint = scale.zero != nullptr;
  if (!scale.scale)
    return encode(x, element, zeroPoint);
  if (zeroPoint)
    x = arith::SubFOp::create(b, loc, x, scale.zero);
  Value code = encode(arith::DivFOp::create(b, loc, x, scale.scale), element, zeroPoint);
  Value isZero = arith::CmpFOp::create(b, loc, arith::CmpFPredicate::OEQ, scale.scale,
                                       constant(x.getType(), 0));
  Value none = arith::ConstantOp::create(b, loc, b.getZeroAttr(code.getType()));
  return arith::SelectOp::create(b, loc, isZero, none, code);
}

} // namespace kvc
