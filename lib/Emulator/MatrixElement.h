//===- MatrixElement.h - elements of matrix operands -------------*- C++
//-*-===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What each element type of mma.sync stands for: a value, which f32 holds
// exactly, and an exponent, by which H100s align products.
//===----------------------------------------------------------------------===//
#ifndef KVC_LIB_EMULATOR_MATRIXELEMENT_H
#define KVC_LIB_EMULATOR_MATRIXELEMENT_H

#include "Numerics.h"

namespace kvc::emu {

/// Stands for the exponent of infinity and NaN; above all sums of others, even
/// when added to that of zero.
inline constexpr int32_t kSpecialExponent = 400;
inline constexpr int32_t kZeroExponent = -126;

/// The exponent of an element of `Bits` with a sign, an exponent biased by
/// `Bias`, and `MantissaBits` bits of mantissa. Magnitudes from `FirstSpecial`
/// are infinity or NaN.
template <unsigned MantissaBits, int32_t Bias, int32_t FirstSpecial,
          int32_t MagnitudeMask>
int32_t elementExponent(uint32_t bits) {
  int32_t magnitude = static_cast<int32_t>(bits) & MagnitudeMask;
  int32_t field = magnitude >> MantissaBits;
  int32_t exponent = (field > 1 ? field : 1) - Bias; // subnormal: as with 1
  exponent = magnitude == 0 ? kZeroExponent : exponent;
  return magnitude >= FirstSpecial ? kSpecialExponent : exponent;
}

struct F16Element {
  using Bits = uint16_t;
  static float widen(Bits bits) { return f16ToF32(bits); }
  static int32_t exponent(Bits bits) {
    return elementExponent<10, 15, 0x7C00, 0x7FFF>(bits);
  }
};

struct BF16Element {
  using Bits = uint16_t;
  static float widen(Bits bits) { return bf16ToF32(bits); }
  static int32_t exponent(Bits bits) {
    return elementExponent<7, 127, 0x7F80, 0x7FFF>(bits);
  }
};

struct F32Element {
  using Bits = uint32_t;
  static float widen(Bits bits) { return bitsToFloat(bits); }
  static int32_t exponent(Bits bits) {
    return elementExponent<23, 127, 0x7F800000, 0x7FFFFFFF>(bits);
  }
};

/// An f32 whose lower 13 bits do not count.
struct TF32Element {
  using Bits = uint32_t;
  static constexpr uint32_t kMask = 0xFFFFE000;
  static float widen(Bits bits) { return bitsToFloat(bits & kMask); }
  static int32_t exponent(Bits bits) {
    return F32Element::exponent(bits & kMask);
  }
};

struct E4M3Element {
  using Bits = uint8_t;
  static float widen(Bits bits) { return e4m3ToF32(bits); }
  static int32_t exponent(Bits bits) {
    return elementExponent<3, 7, 0x7F, 0x7F>(bits);
  }
};

struct E5M2Element {
  using Bits = uint8_t;
  static float widen(Bits bits) { return e5m2ToF32(bits); }
  static int32_t exponent(Bits bits) {
    return elementExponent<2, 15, 0x7C, 0x7F>(bits);
  }
};

} // namespace kvc::emu

#endif // KVC_LIB_EMULATOR_MATRIXELEMENT_H
