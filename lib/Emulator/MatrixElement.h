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

#include "MatrixRow.h"

namespace kvc::emu {

/// Stands for the exponent of infinity and NaN; above all sums of others, even
/// when added to that of zero.
inline constexpr int32_t kSpecialExponent = 400;
inline constexpr int32_t kZeroExponent = -126;

// Each type has its bits, its least exponent, that of subnormal numbers, and
// widens `count` elements, a multiple of 8, to vectors.

template <bool IsBF16, int32_t MinExponent>
struct Element16 {
  using Bits = uint16_t;
  static constexpr int32_t kMinExponent = MinExponent;
  static void widen(const Bits *bits, unsigned count, float *values) {
    for (unsigned i = 0; i < count / 8; ++i)
      widenRow(bits + 8 * i, IsBF16, rowOf<FloatRow>(values, i));
  }
};

using F16Element = Element16<false, -14>;
using BF16Element = Element16<true, -126>;

/// An f32 whose bits count that `Mask` has.
template <uint32_t Mask>
struct Element32 {
  using Bits = uint32_t;
  static constexpr int32_t kMinExponent = -126;
  static void widen(const Bits *bits, unsigned count, float *values) {
    for (unsigned i = 0; i < count; ++i)
      values[i] = bitsToFloat(bits[i] & Mask);
  }
};

using F32Element = Element32<0xFFFFFFFF>;
using TF32Element = Element32<0xFFFFE000>;

template <float (*Widen)(uint8_t), int32_t MinExponent>
struct Element8 {
  using Bits = uint8_t;
  static constexpr int32_t kMinExponent = MinExponent;
  static void widen(const Bits *bits, unsigned count, float *values) {
    // From a table, for 256 values are few.
    static const Table table;
    for (unsigned i = 0; i < count; ++i)
      values[i] = table.values[bits[i]];
  }

private:
  struct Table {
    Table() {
      for (unsigned bits = 0; bits < 256; ++bits)
        values[bits] = Widen(static_cast<uint8_t>(bits));
    }
    float values[256];
  };
};

using E4M3Element = Element8<e4m3ToF32, -6>;
using E5M2Element = Element8<e5m2ToF32, -14>;

/// Exponents of `count` values of a type, a multiple of 8.
template <typename Element>
void readExponents(const float *values, unsigned count, int32_t *exponents) {
  const IntRow least = IntRow{} + Element::kMinExponent;
  const IntRow zero = IntRow{} + kZeroExponent;
  const IntRow special = IntRow{} + kSpecialExponent;
  for (unsigned i = 0; i < count / 8; ++i) {
    IntRow magnitude = rowOf<IntRow>(values, i) & 0x7FFFFFFF;
    IntRow exponent = (magnitude >> 23) - 127;
    exponent = exponent > least ? exponent : least;
    exponent = magnitude == 0 ? zero : exponent;
    exponent = magnitude >= 0x7F800000 ? special : exponent;
    rowOf<IntRow>(exponents, i) = exponent;
  }
}

} // namespace kvc::emu

#endif // KVC_LIB_EMULATOR_MATRIXELEMENT_H
