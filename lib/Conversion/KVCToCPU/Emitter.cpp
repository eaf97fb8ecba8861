//===- Emitter.cpp - short forms for CPU kernels --------------------------===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Emitter.h"

#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;

namespace kvc {

//===----------------------------------------------------------------------===//
// Constants
//===----------------------------------------------------------------------===//

Value Emitter::f32(double value) {
  return arith::ConstantOp::create(b, loc, b.getF32FloatAttr(value));
}

Value Emitter::splat(int64_t lanes, double value) {
  if (lanes == 0)
    return f32(value);
  return arith::ConstantOp::create(
      b, loc,
      DenseElementsAttr::get(vectorOf(lanes, f32Type()), b.getF32FloatAttr(value)));
}

//===----------------------------------------------------------------------===//
// Floats
//===----------------------------------------------------------------------===//

Value Emitter::addf(Value x, Value y) { return arith::AddFOp::create(b, loc, x, y); }
Value Emitter::subf(Value x, Value y) { return arith::SubFOp::create(b, loc, x, y); }
Value Emitter::mulf(Value x, Value y) { return arith::MulFOp::create(b, loc, x, y); }
Value Emitter::divf(Value x, Value y) { return arith::DivFOp::create(b, loc, x, y); }

Value Emitter::fma(Value x, Value y, Value z) {
  if (tier == CPUTier::Plain) // would be a call of fmaf for each element
    return addf(mulf(x, y), z);
  return math::FmaOp::create(b, loc, x, y, z);
}

Value Emitter::maxf(Value x, Value y) {
  Value greater = arith::CmpFOp::create(b, loc, arith::CmpFPredicate::OGT, x, y);
  return select(greater, x, y);
}

/// Folds the halves of a vector onto each other until one element is left.
static Value reduceHalves(Emitter &e, Value vector, function_ref<Value(Value, Value)> combine) {
  int64_t lanes = cast<VectorType>(vector.getType()).getDimSize(0);
  for (int64_t half = lanes / 2; half >= 1; half /= 2) {
    SmallVector<int64_t> low, high;
    for (int64_t i = 0; i < half; ++i)
      low.push_back(i), high.push_back(i + half);
    vector = combine(vector::ShuffleOp::create(e.b, e.loc, vector, vector, low),
                     vector::ShuffleOp::create(e.b, e.loc, vector, vector, high));
  }
  return vector::ExtractOp::create(e.b, e.loc, vector, 0);
}

Value Emitter::reduceMax(Value vector) {
  return reduceHalves(*this, vector, [&](Value x, Value y) { return maxf(x, y); });
}

Value Emitter::reduceAdd(Value vector) {
  return reduceHalves(*this, vector, [&](Value x, Value y) { return addf(x, y); });
}

Value Emitter::broadcast(Value scalar, int64_t lanes) {
  return vector::BroadcastOp::create(b, loc, vectorOf(lanes, scalar.getType()), scalar);
}

Value Emitter::bitcast(Value x, Type element) {
  Type type = element;
  if (auto vector = dyn_cast<VectorType>(x.getType()))
    type = vector.clone(element);
  return arith::BitcastOp::create(b, loc, type, x);
}

Value Emitter::exp2(Value x) {
  auto vector = dyn_cast<VectorType>(x.getType());
  int64_t lanes = vector ? vector.getDimSize(0) : 0;
  // 1.5 * 2^23: adding it leaves the nearest whole number in the low bits.
  constexpr double kRound = 12582912.0;
  // 2^f for |f| <= 1/2: the polynomial with 2^0 = 1 whose largest relative error
  // is smallest, 9.2e-8, or 1.7e-7 with f32 coefficients and arithmetic.
  constexpr double kCoefficients[] = {1.0,         0.693147,     0.24022242,
                                      0.055507336, 0.0096715130, 0.0013264727};
  Value lowest = splat(lanes, -126.0);
  // NaN stays: maxf gives its second argument.
  Value clamped = maxf(lowest, x);
  Value shifted = addf(clamped, splat(lanes, kRound));
  Value fraction = subf(clamped, subf(shifted, splat(lanes, kRound)));
  Value power = splat(lanes, kCoefficients[5]);
  for (int i = 4; i >= 0; --i)
    power = fma(power, fraction, splat(lanes, kCoefficients[i]));
  Value bits = bitcast(shifted, i32Type());
  Value exponent = arith::ShLIOp::create(b, loc, bits, intSplat(bits, 23));
  Value result = bitcast(add(bitcast(power, i32Type()), exponent), f32Type());
  Value underflow = arith::CmpFOp::create(b, loc, arith::CmpFPredicate::OLT, x, lowest);
  return select(underflow, splat(lanes, 0.0), result);
}

//===----------------------------------------------------------------------===//
// Conversions
//===----------------------------------------------------------------------===//

static Type withElement(Type type, Type element) {
  if (auto vector = dyn_cast<VectorType>(type))
    return vector.clone(element);
  return element;
}

/// In integers, for processors without F16C.
Value Emitter::f16ToF32(Value x) {
  Value bits = arith::ExtUIOp::create(b, loc, withElement(x.getType(), i32Type()),
                                      bitcast(x, i16Type()));
  auto constant = [&](int64_t value) { return intSplat(bits, value); };
  Value sign = arith::ShLIOp::create(
      b, loc, arith::AndIOp::create(b, loc, bits, constant(0x8000)), constant(16));
  Value magnitude = arith::ShLIOp::create(
      b, loc, arith::AndIOp::create(b, loc, bits, constant(0x7fff)), constant(13));
  // Multiplying by 2^112 moves the exponent's bias, and makes denormals normal.
  auto vector = dyn_cast<VectorType>(x.getType());
  Value scaled = bitcast(mulf(bitcast(magnitude, f32Type()),
                              splat(vector ? vector.getDimSize(0) : 0, 0x1p112)),
                         i32Type());
  Value isSpecial = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::uge, magnitude,
                                          constant(0x0f800000));
  Value special = arith::OrIOp::create(b, loc, magnitude, constant(0x7f800000));
  Value result = select(isSpecial, special, scaled);
  return bitcast(Value(arith::OrIOp::create(b, loc, result, sign)), f32Type());
}

Value Emitter::f32ToF16(Value x) {
  Value bits = bitcast(x, i32Type());
  auto constant = [&](int64_t value) { return intSplat(bits, value); };
  auto shiftRight = [&](Value value, int64_t count) -> Value {
    return arith::ShRUIOp::create(b, loc, value, constant(count));
  };
  auto vector = dyn_cast<VectorType>(x.getType());
  int64_t lanes = vector ? vector.getDimSize(0) : 0;
  Value sign = shiftRight(logicalAnd(bits, constant(0x80000000)), 16);
  Value magnitude = logicalAnd(bits, constant(0x7fffffff));
  // Normal results: move the bias by 112, add half an ulp less one and the last
  // kept bit, so that ties go to even; overflow carries into infinity.
  Value lastBit = logicalAnd(shiftRight(magnitude, 13), constant(1));
  Value normal = shiftRight(add(add(magnitude, lastBit), constant(0xfff - (112ll << 23))), 13);
  // Results below 2^-14: adding 1/2 aligns the last bit of f32 with 2^-24.
  Value half = splat(lanes, 0.5);
  Value denormal = sub(bitcast(addf(bitcast(magnitude, f32Type()), half), i32Type()),
                       bitcast(half, i32Type()));
  auto atLeast = [&](int64_t limit) -> Value {
    return arith::CmpIOp::create(b, loc, arith::CmpIPredicate::uge, magnitude, constant(limit));
  };
  Value result = select(atLeast(113 << 23), normal, denormal);
  result = select(atLeast(0x47800000), constant(0x7c00), result);
  Value isNaN = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ugt, magnitude,
                                      constant(0x7f800000));
  result = select(isNaN, constant(0x7e00), result);
  Value narrow = arith::TruncIOp::create(b, loc, withElement(x.getType(), i16Type()),
                                         logicalOr(result, sign));
  return bitcast(narrow, b.getF16Type());
}

Value Emitter::f32ToBF16(Value x) {
  Value bits = bitcast(x, i32Type());
  auto constant = [&](int64_t value) { return intSplat(bits, value); };
  auto shiftRight = [&](Value value, int64_t count) -> Value {
    return arith::ShRUIOp::create(b, loc, value, constant(count));
  };
  Value lastBit = logicalAnd(shiftRight(bits, 16), constant(1));
  Value rounded = shiftRight(add(add(bits, lastBit), constant(0x7fff)), 16);
  Value isNaN = arith::CmpFOp::create(b, loc, arith::CmpFPredicate::UNO, x, x);
  Value quiet = logicalOr(shiftRight(bits, 16), constant(0x40));
  Value narrow = arith::TruncIOp::create(b, loc, withElement(x.getType(), i16Type()),
                                         select(isNaN, quiet, rounded));
  return bitcast(narrow, b.getBF16Type());
}

Value Emitter::toF32(Value x) {
  Type element = getElementTypeOrSelf(x.getType());
  if (element.isF32())
    return x;
  if (element.isBF16()) {
    Value bits = arith::ExtUIOp::create(b, loc, withElement(x.getType(), i32Type()),
                                        bitcast(x, i16Type()));
    return bitcast(Value(arith::ShLIOp::create(b, loc, bits, intSplat(bits, 16))), f32Type());
  }
  if (tier == CPUTier::Plain)
    return f16ToF32(x);
  return arith::ExtFOp::create(b, loc, withElement(x.getType(), f32Type()), x);
}

Value Emitter::fromF32(Value x, Type element) {
  if (element.isF32())
    return x;
  if (element.isBF16() && !hasBF16(tier))
    return f32ToBF16(x);
  if (element.isF16() && tier == CPUTier::Plain)
    return f32ToF16(x);
  return arith::TruncFOp::create(b, loc, withElement(x.getType(), element), x);
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

/// Scalars and pointers are naturally aligned; vectors as their elements.
static int64_t getAlignment(Type type) {
  if (isa<LLVM::LLVMPointerType>(type))
    return 8;
  return getByteWidth(getElementTypeOrSelf(type));
}

Value Emitter::load(Type type, Value address, int64_t alignment) {
  return LLVM::LoadOp::create(b, loc, type, address,
                              alignment ? alignment : getAlignment(type));
}

void Emitter::store(Value value, Value address, int64_t alignment) {
  LLVM::StoreOp::create(b, loc, value, address,
                        alignment ? alignment : getAlignment(value.getType()));
}

void Emitter::prefetch(Value address) {
  // Read, into the second-level cache, data: twice as fast from memory as a hint
  // for the first level.
  LLVM::Prefetch::create(b, loc, address, /*rw=*/0u, /*hint=*/2u, /*cache=*/1u);
}

//===----------------------------------------------------------------------===//
// Control
//===----------------------------------------------------------------------===//

void Emitter::loop(Value begin, Value end, int64_t step, Body body) {
  loop(begin, end, step, ValueRange(), [&](Value i, ValueRange) {
    body(i);
    return SmallVector<Value>();
  });
}

SmallVector<Value> Emitter::loop(Value begin, Value end, int64_t step, ValueRange inits,
                                 CarryingBody body) {
  Value stepValue = intSplat(begin, step);
  auto forOp = scf::ForOp::create(
      b, loc, begin, end, stepValue, inits,
      [&](OpBuilder &, Location, Value i, ValueRange carried) {
        SmallVector<Value> results = body(i, carried);
        scf::YieldOp::create(b, loc, results);
      });
  return llvm::to_vector_of<Value>(forOp.getResults());
}

void Emitter::ifThen(Value condition, function_ref<void()> then,
                     function_ref<void()> otherwise) {
  auto ifOp = scf::IfOp::create(b, loc, condition, /*withElseRegion=*/static_cast<bool>(otherwise));
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(ifOp.thenBlock());
  then();
  if (otherwise) {
    b.setInsertionPointToStart(ifOp.elseBlock());
    otherwise();
  }
}

} // namespace kvc
