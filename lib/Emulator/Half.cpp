//===- Half.cpp - f16 and bf16 arithmetic ---------------------------------===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Computed in f64, rounded to odd there, then to the type: one rounding in all.
//===----------------------------------------------------------------------===//
#include "Families.h"
#include "Lanes.h"

using namespace kvc::emu;

namespace {

enum class HalfOperation : uint8_t { Add, Sub, Mul, Fma, Neg, Abs, Min, Max, Ex2, Tanh };

/// Bits of Ins::flags.
enum : uint8_t { kFtz = 1, kSat = 2, kRelu = 4, kNaN = 8, kBF16 = 16, kXorSign = 32 };

/// a + b rounded to odd: inexact results have their last bit set, so that rounding
/// once more to fewer bits is right.
double addToOdd(double a, double b) {
  double sum = a + b;
  if (!std::isfinite(sum))
    return sum;
  double part = sum - a;
  double error = (a - (sum - part)) + (b - part);
  uint64_t bits = bitCast<uint64_t>(sum);
  if (error == 0 || (bits & 1))
    return sum;
  bool isRoundedAway = (error > 0) != (sum > 0);
  return bitCast<double>((isRoundedAway ? bits - 1 : bits) | 1);
}

uint16_t flushHalf(uint16_t bits, bool isBF16) {
  uint16_t exponent = isBF16 ? 0x7F80 : 0x7C00;
  return bits & exponent ? bits : bits & 0x8000;
}

bool isHalfNaN(uint16_t bits, bool isBF16) {
  return (bits & 0x7FFF) > (isBF16 ? 0x7F80 : 0x7C00);
}

double widen(uint16_t bits, bool isBF16) {
  return isBF16 ? bf16ToF32(bits) : f16ToF32(bits);
}

/// min and max; with .xorsign.abs of the magnitudes, and the product of the signs.
uint16_t extremum(uint16_t a, uint16_t b, bool isMax, uint8_t flags) {
  uint16_t sign = 0;
  if (flags & kXorSign) {
    sign = (a ^ b) & 0x8000;
    a &= 0x7FFF, b &= 0x7FFF;
  }
  bool isBF16 = flags & kBF16, aNaN = isHalfNaN(a, isBF16), bNaN = isHalfNaN(b, isBF16);
  if ((aNaN && bNaN) || ((flags & kNaN) && (aNaN || bNaN)))
    return 0x7FFF;
  if (aNaN || bNaN)
    return (aNaN ? b : a) | sign;
  double x = widen(a, isBF16), y = widen(b, isBF16);
  bool isSmaller = x < y || (x == y && (a & 0x8000));
  return (isSmaller != isMax ? a : b) | sign;
}

uint16_t compute(HalfOperation operation, uint16_t a, uint16_t b, uint16_t c,
                 uint8_t flags) {
  bool isBF16 = flags & kBF16;
  if (flags & kFtz)
    a = flushHalf(a, isBF16), b = flushHalf(b, isBF16), c = flushHalf(c, isBF16);
  double x = widen(a, isBF16), y = widen(b, isBF16), z = widen(c, isBF16), value = 0;
  uint16_t result;
  switch (operation) {
  case HalfOperation::Neg: return a ^ 0x8000;
  case HalfOperation::Abs: return a & 0x7FFF;
  case HalfOperation::Min:
  case HalfOperation::Max:
    return extremum(a, b, operation == HalfOperation::Max, flags);
  case HalfOperation::Add: value = addToOdd(x, y); break;
  case HalfOperation::Sub: value = addToOdd(x, -y); break;
  case HalfOperation::Mul: value = x * y; break;
  case HalfOperation::Fma: value = addToOdd(x * y, z); break;
  case HalfOperation::Ex2: value = std::exp2(x); break;
  case HalfOperation::Tanh: value = std::tanh(x); break;
  }
  if (flags & kSat)
    value = saturate(value);
  if ((flags & kRelu) && value < 0)
    value = 0;
  result = isBF16 ? f64ToBF16(value, Rounding::NearestEven)
                  : f64ToF16(value, Rounding::NearestEven);
  if ((flags & kRelu) && result == 0x8000)
    result = 0;
  return flags & kFtz ? flushHalf(result, isBF16) : result;
}

/// Sums and products without modifiers, in f32: its 24 bits are twice the 8 or 11 of
/// the type and two more, with which a sum or a product that is rounded twice comes
/// out as if rounded once. Not so products of bf16 below the range of f32.
template <HalfOperation Operation, bool IsBF16> struct PlainHalf {
  static uint32_t applyOne(uint16_t a, uint16_t b) {
    float x = IsBF16 ? bf16ToF32(a) : f16ToF32(a);
    float y = IsBF16 ? bf16ToF32(b) : f16ToF32(b);
    float value = Operation == HalfOperation::Add   ? x + y
                  : Operation == HalfOperation::Sub ? x - y
                                                    : x * y;
    return IsBF16 ? f32ToBF16(value) : f32ToF16(value);
  }
  static uint32_t apply(uint32_t a, uint32_t b) {
    return applyOne(uint16_t(a >> 16), uint16_t(b >> 16)) << 16 |
           applyOne(uint16_t(a), uint16_t(b));
  }
};

/// The handler for both halves, of which 16-bit types ignore the upper one; null if
/// there is none as simple.
Handler getPlainHandler(HalfOperation operation, uint8_t flags) {
  using Op = HalfOperation;
  if (flags & ~kBF16)
    return nullptr;
  bool isBF16 = flags & kBF16;
  switch (operation) {
  case Op::Add:
    return isBF16 ? executeBinary<PlainHalf<Op::Add, true>, uint32_t, uint32_t>
                  : executeBinary<PlainHalf<Op::Add, false>, uint32_t, uint32_t>;
  case Op::Sub:
    return isBF16 ? executeBinary<PlainHalf<Op::Sub, true>, uint32_t, uint32_t>
                  : executeBinary<PlainHalf<Op::Sub, false>, uint32_t, uint32_t>;
  case Op::Mul:
    return isBF16 ? nullptr
                  : Handler(executeBinary<PlainHalf<Op::Mul, false>, uint32_t, uint32_t>);
  default: return nullptr;
  }
}

template <bool IsPacked>
void executeHalf(Warp &warp, const Ins &ins, uint32_t mask) {
  auto operation = HalfOperation(ins.count);
  const uint32_t *a = warp.getRow(ins.a), *b = warp.getRow(ins.b);
  const uint32_t *c = warp.getRow(ins.c);
  uint32_t *d = warp.getRow(ins.d);
  for (int l = 0; l < 32; ++l) {
    if (!isActive(mask, l))
      continue;
    uint32_t low = compute(operation, uint16_t(a[l]), uint16_t(b[l]), uint16_t(c[l]),
                           ins.flags);
    uint32_t high = 0;
    if (IsPacked)
      high = compute(operation, uint16_t(a[l] >> 16), uint16_t(b[l] >> 16),
                     uint16_t(c[l] >> 16), ins.flags);
    d[l] = high << 16 | low;
  }
}

} // namespace

bool kvc::emu::isHalf(Type type) {
  return type == Type::F16 || type == Type::F16x2 || type == Type::BF16 ||
         type == Type::BF16x2;
}

void kvc::emu::decodeHalf(Decoder &decoder, Type type) {
  static const std::unordered_map<std::string_view, HalfOperation> operations = {
      {"add", HalfOperation::Add}, {"sub", HalfOperation::Sub},
      {"mul", HalfOperation::Mul}, {"fma", HalfOperation::Fma},
      {"neg", HalfOperation::Neg}, {"abs", HalfOperation::Abs},
      {"min", HalfOperation::Min}, {"max", HalfOperation::Max},
      {"ex2", HalfOperation::Ex2}, {"tanh", HalfOperation::Tanh}};
  auto it = operations.find(decoder.get().opcode);
  if (it == operations.end())
    decoder.failType(type);
  HalfOperation operation = it->second;
  bool isExtremum = operation == HalfOperation::Min || operation == HalfOperation::Max;
  bool isArithmetic = operation <= HalfOperation::Fma;
  bool isApproximation =
      operation == HalfOperation::Ex2 || operation == HalfOperation::Tanh;
  uint8_t flags = type == Type::BF16 || type == Type::BF16x2 ? kBF16 : 0;
  if (isArithmetic)
    decoder.take("rn");
  if (isApproximation && !decoder.take("approx"))
    decoder.fail("expected .approx");
  if (decoder.take("ftz"))
    flags |= kFtz;
  if (isArithmetic && decoder.take("sat"))
    flags |= kSat;
  if (operation == HalfOperation::Fma && decoder.take("relu"))
    flags |= kRelu;
  if (isExtremum && decoder.take("NaN"))
    flags |= kNaN;
  if (isExtremum && decoder.take("xorsign")) {
    if (!decoder.take("abs"))
      decoder.fail("expected .xorsign.abs");
    flags |= kXorSign;
  }
  size_t operands = operation == HalfOperation::Fma ? 4
                    : isExtremum || isArithmetic    ? 3
                                                    : 2;
  decoder.expectOperands(operands);
  bool isPacked = getNumBits(type) == 32;
  Row rows[3] = {};
  for (size_t i = 1; i < operands; ++i)
    rows[i - 1] = decoder.read(decoder.getOperand(i), type);
  Row d = decoder.write(decoder.getOperand(0), type);
  Handler handler = getPlainHandler(operation, flags);
  if (!handler)
    handler = isPacked ? executeHalf<true> : executeHalf<false>;
  Ins &ins = decoder.emit(handler,
                          isApproximation ? InstructionClass::Special
                                          : InstructionClass::Half);
  ins.d = d, ins.a = rows[0], ins.b = rows[1], ins.c = rows[2];
  ins.count = uint8_t(operation);
  ins.flags = flags;
}

void kvc::emu::addHalfOpcodes(OpcodeTable &) {
  // All share their opcodes with floats, which call decodeHalf.
}
