//===- MatrixModel.cpp - what mma.sync should give ------------------------===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "MatrixModel.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>

using namespace kvc::emu;
using T = MatrixType;
__extension__ typedef __int128 Int128;

//===----------------------------------------------------------------------===//
// Formats
//===----------------------------------------------------------------------===//

const FloatFormat &getFormat(MatrixType type) {
  static const FloatFormat f16 = {5, 10, 0, 15, 0x7C00};
  static const FloatFormat bf16 = {8, 7, 0, 127, 0x7F80};
  static const FloatFormat tf32 = {8, 10, 13, 127, 0x3FC00};
  static const FloatFormat e4m3 = {4, 3, 0, 7, 0x7F};
  static const FloatFormat e5m2 = {5, 2, 0, 15, 0x7C};
  static const FloatFormat f32 = {8, 23, 0, 127, 0x7F800000};
  switch (type) {
  case T::F16:
    return f16;
  case T::BF16:
    return bf16;
  case T::TF32:
    return tf32;
  case T::E4M3:
    return e4m3;
  case T::E5M2:
    return e5m2;
  case T::F32:
    return f32;
  case T::S8:
  case T::U8:
  case T::S32:
    break;
  }
  std::abort();
}

namespace {
/// An element taken apart: (-1)^negative * significand * 2^(exponent -
/// mantissaBits).
struct Element {
  Element(T type, uint32_t bits) : mantissaBits(getFormat(type).mantissaBits) {
    const FloatFormat &format = getFormat(type);
    bits >>= format.hiddenBits;
    unsigned signBit = format.getNumBits() - format.hiddenBits - 1;
    negative = bits >> signBit & 1;
    uint32_t magnitude = bits & ((uint64_t(1) << signBit) - 1);
    isFinite = magnitude < format.firstSpecial;
    isInfinite = magnitude == format.firstSpecial && type != T::E4M3;
    uint32_t field = magnitude >> mantissaBits;
    significand = magnitude & ((1U << mantissaBits) - 1);
    if (field != 0)
      significand += 1U << mantissaBits;
    exponent = static_cast<int>(std::max(field, 1U)) - format.bias;
    if (magnitude == 0)
      exponent = -126;
  }

  double getValue() const {
    double value = std::ldexp(significand, exponent - int(mantissaBits));
    if (!isFinite)
      value = isInfinite ? std::numeric_limits<double>::infinity()
                         : std::numeric_limits<double>::quiet_NaN();
    return negative ? -value : value;
  }

  unsigned mantissaBits;
  bool negative, isFinite, isInfinite;
  uint32_t significand;
  int exponent;
};
} // namespace

uint32_t encode(MatrixType type, double value) {
  const FloatFormat &format = getFormat(type);
  unsigned signBit = format.getNumBits() - format.hiddenBits - 1;
  uint32_t sign = std::signbit(value) ? 1U << signBit : 0;
  uint32_t magnitude;
  if (std::isnan(value)) {
    magnitude = (1U << signBit) - 1;
  } else if (std::isinf(value)) {
    magnitude = format.firstSpecial;
  } else if (value == 0) {
    magnitude = 0;
  } else {
    int exponent = std::max(std::ilogb(value), 1 - format.bias);
    double significand =
        std::ldexp(std::fabs(value), int(format.mantissaBits) - exponent);
    if (significand != std::floor(significand))
      magnitude = 0; // a test's mistake would show
    else
      magnitude = (static_cast<uint32_t>(exponent - 1 + format.bias)
                   << format.mantissaBits) +
                  static_cast<uint32_t>(significand);
  }
  return (sign | magnitude) << format.hiddenBits;
}

uint32_t encodeInteger(MatrixType type, int value) {
  if (type == T::S32)
    return static_cast<uint32_t>(value);
  if (type == T::S8 || type == T::U8)
    return static_cast<uint32_t>(value) & 0xFF;
  return encode(type, value);
}

//===----------------------------------------------------------------------===//
// Fragments
//===----------------------------------------------------------------------===//

Matrices::Matrices(unsigned k) : a(16, std::vector<uint32_t>(k)), b(k) {}

static unsigned getElementBits(T type) {
  switch (type) {
  case T::F16:
  case T::BF16:
    return 16;
  case T::TF32:
  case T::F32:
  case T::S32:
    return 32;
  case T::E4M3:
  case T::E5M2:
  case T::S8:
  case T::U8:
    return 8;
  }
  std::abort();
}

namespace {
struct Place {
  unsigned line; ///< Row of A, column of B.
  unsigned k;
};
} // namespace

/// Where element `e` of register `r` of A lies.
static Place placeInA(unsigned bits, unsigned k, unsigned lane, unsigned r,
                      unsigned e) {
  unsigned g = lane / 4, t = lane % 4;
  if (bits == 16 && k == 16)
    return {g + 8 * (r & 1), 2 * t + e + 8 * (r >> 1)};
  if (bits == 16 && k == 8)
    return {g + 8 * r, 2 * t + e};
  if (bits == 8 && k == 32)
    return {g + 8 * (r & 1), 4 * t + e + 16 * (r >> 1)};
  if (bits == 8 && k == 16)
    return {g + 8 * r, 4 * t + e};
  if (bits == 32 && k == 8)
    return {g + 8 * (r & 1), t + 4 * (r >> 1)};
  if (bits == 32 && k == 4)
    return {g + 8 * r, t};
  std::abort();
}

static Place placeInB(unsigned bits, unsigned lane, unsigned r, unsigned e) {
  unsigned g = lane / 4, t = lane % 4;
  if (bits == 16)
    return {g, 2 * t + e + 8 * r};
  if (bits == 8)
    return {g, 4 * t + e + 16 * r};
  return {g, t + 4 * r};
}

Result multiply(const MatrixInstruction &instruction,
                MatrixArithmetic arithmetic, const Matrices &in) {
  unsigned bits = getElementBits(instruction.a);
  unsigned perRegister = 32 / bits;
  unsigned numA = 16 * instruction.k * bits / 32 / 32;
  unsigned numB = 8 * instruction.k * bits / 32 / 32;
  bool isF16 = instruction.c == T::F16;
  unsigned numC = isF16 ? 2 : 4;
  LaneRow a[4] = {}, b[2] = {}, c[4] = {}, d[4] = {};
  for (unsigned lane = 0; lane < 32; ++lane) {
    for (unsigned e = 0; e < perRegister; ++e) {
      for (unsigned r = 0; r < numA; ++r) {
        Place place = placeInA(bits, instruction.k, lane, r, e);
        a[r][lane] |= in.a[place.line][place.k] << (e * bits);
      }
      for (unsigned r = 0; r < numB; ++r) {
        Place place = placeInB(bits, lane, r, e);
        b[r][lane] |= in.b[place.k][place.line] << (e * bits);
      }
    }
    unsigned g = lane / 4, t = lane % 4;
    for (unsigned i = 0; i < 4; ++i) {
      uint32_t element = in.c[g + 8 * (i >> 1)][2 * t + (i & 1)];
      if (isF16)
        c[i / 2][lane] |= element << (16 * (i % 2));
      else
        c[i][lane] = element;
    }
  }

  const LaneRow *aRows[4], *bRows[2], *cRows[4];
  LaneRow *dRows[4];
  for (unsigned r = 0; r < numA; ++r)
    aRows[r] = &a[r];
  for (unsigned r = 0; r < numB; ++r)
    bRows[r] = &b[r];
  for (unsigned r = 0; r < numC; ++r) {
    cRows[r] = &c[r];
    dRows[r] = &d[r];
  }
  multiplyAccumulate(instruction, arithmetic, aRows, bRows, cRows, dRows);

  Result result;
  for (unsigned lane = 0; lane < 32; ++lane)
    for (unsigned i = 0; i < 4; ++i)
      result.d[lane / 4 + 8 * (i >> 1)][2 * (lane % 4) + (i & 1)] =
          isF16 ? d[i / 2][lane] >> (16 * (i % 2)) & 0xFFFF : d[i][lane];
  return result;
}

//===----------------------------------------------------------------------===//
// An H100's sums
//===----------------------------------------------------------------------===//

/// Multiplies `value` by 2^shift and drops what is behind the point.
static Int128 shiftAndCut(Int128 value, int shift) {
  if (shift >= 0)
    return value << shift;
  return shift < -100 ? 0 : value >> -shift;
}

/// Rounds sum * 2^exponent to a format without hidden bits.
static uint32_t roundSum(Int128 sum, int exponent, const FloatFormat &format,
                         bool nearest) {
  if (sum == 0)
    return 0;
  bool negative = sum < 0;
  Int128 magnitude = negative ? -sum : sum;
  int leading = 0;
  while (magnitude >> (leading + 1) != 0)
    ++leading;
  int target = std::max(leading + exponent, 1 - format.bias);
  int shift = exponent - (target - int(format.mantissaBits));
  Int128 kept = shiftAndCut(magnitude, shift);
  if (nearest && shift < 0) {
    // Twice what was dropped against one step.
    Int128 rest = shift < -100 ? 0 : (magnitude - (kept << -shift)) * 2;
    Int128 step = Int128(1) << std::min(-shift, 100);
    kept += rest > step || (rest == step && kept % 2 == 1) ? 1 : 0;
  }
  Int128 bits =
      (Int128(target - 1 + format.bias) << format.mantissaBits) + kept;
  if (bits > format.firstSpecial)
    bits = format.firstSpecial;
  if (bits == 0)
    return 0;
  uint32_t sign = negative ? 1U << (format.getNumBits() - 1) : 0;
  return sign | static_cast<uint32_t>(bits);
}

/// Bits of a sum that is not finite.
static uint32_t encodeSpecial(T type, double sum) {
  if (std::isnan(sum))
    return type == T::F16 ? 0x7FFF : 0x7FFFFFFF;
  return encode(type, sum);
}

uint32_t modelH100(const MatrixInstruction &instruction,
                   const std::vector<uint32_t> &a,
                   const std::vector<uint32_t> &b, uint32_t c) {
  const int fraction = 25;
  Element addend(instruction.c, c);
  double special = addend.getValue();
  int largest = addend.exponent;
  for (unsigned k = 0; k < instruction.k; ++k) {
    Element left(instruction.a, a[k]), right(instruction.b, b[k]);
    special += left.getValue() * right.getValue();
    largest = std::max(largest, left.exponent + right.exponent);
  }
  if (!std::isfinite(special))
    return encodeSpecial(instruction.d, special);

  Int128 sum =
      shiftAndCut(addend.significand, fraction - int(addend.mantissaBits) +
                                          addend.exponent - largest);
  sum = addend.negative ? -sum : sum;
  for (unsigned k = 0; k < instruction.k; ++k) {
    Element left(instruction.a, a[k]), right(instruction.b, b[k]);
    Int128 term = shiftAndCut(Int128(left.significand) * right.significand,
                              fraction - int(left.mantissaBits) -
                                  int(right.mantissaBits) + left.exponent +
                                  right.exponent - largest);
    sum += left.negative != right.negative ? -term : term;
  }
  return roundSum(sum, largest - fraction, getFormat(instruction.d),
                  /*nearest=*/instruction.d == T::F16);
}

//===----------------------------------------------------------------------===//
// Plain sums
//===----------------------------------------------------------------------===//

static uint32_t roundPlain(T type, double sum) {
  if (std::isnan(sum))
    return encodeSpecial(type, sum);
  return type == T::F16 ? f64ToF16(sum, Rounding::NearestEven)
                        : floatBits(static_cast<float>(sum));
}

uint32_t modelF32(const MatrixInstruction &instruction,
                  const std::vector<uint32_t> &a,
                  const std::vector<uint32_t> &b, uint32_t c) {
  auto sum = static_cast<float>(Element(instruction.c, c).getValue());
  for (unsigned k = 0; k < instruction.k; ++k)
    sum = std::fma(static_cast<float>(Element(instruction.a, a[k]).getValue()),
                   static_cast<float>(Element(instruction.b, b[k]).getValue()),
                   sum);
  return roundPlain(instruction.d, sum);
}

uint32_t modelF64(const MatrixInstruction &instruction,
                  const std::vector<uint32_t> &a,
                  const std::vector<uint32_t> &b, uint32_t c) {
  double sum = Element(instruction.c, c).getValue();
  for (unsigned k = 0; k < instruction.k; ++k)
    sum += Element(instruction.a, a[k]).getValue() *
           Element(instruction.b, b[k]).getValue();
  return roundPlain(instruction.d, sum);
}
