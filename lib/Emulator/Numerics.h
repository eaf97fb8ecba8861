//===- Numerics.h - small floating-point types ------------------*- C++ -*-===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef KVC_LIB_EMULATOR_NUMERICS_H
#define KVC_LIB_EMULATOR_NUMERICS_H

#include <cstdint>
#include <cstring>

namespace kvc::emu {

/// Rounding modes of cvt and of arithmetic.
enum class Rounding : uint8_t {
  NearestEven, ///< .rn, .rni
  Zero,        ///< .rz, .rzi
  Down,        ///< .rm, .rmi
  Up,          ///< .rp, .rpi
  NearestAway  ///< .rna
};

/// The bits of a float, and back.
inline uint32_t floatBits(float value) {
  uint32_t bits;
  std::memcpy(&bits, &value, sizeof(bits));
  return bits;
}
inline float bitsToFloat(uint32_t bits) {
  float value;
  std::memcpy(&value, &bits, sizeof(value));
  return value;
}

// Widening is exact; a NaN keeps being one, with its sign and payload (e4m3 and
// e5m2: any payload).

inline float bf16ToF32(uint16_t bits) {
  return bitsToFloat(static_cast<uint32_t>(bits) << 16);
}

inline float f16ToF32(uint16_t bits) {
  uint32_t magnitude = bits & 0x7FFF;
  // 0x38000000 moves the exponent by 127 - 15; a subnormal is an integer times
  // 2^-24.
  uint32_t normal = (magnitude << 13) + 0x38000000;
  uint32_t subnormal =
      floatBits(static_cast<float>(static_cast<int32_t>(magnitude)) * 0x1p-24f);
  uint32_t special = (magnitude << 13) | 0x7F800000;
  uint32_t result = magnitude < 0x400 ? subnormal : normal;
  result = magnitude >= 0x7C00 ? special : result;
  return bitsToFloat(result | static_cast<uint32_t>(bits & 0x8000) << 16);
}

inline float e5m2ToF32(uint8_t bits) {
  return f16ToF32(static_cast<uint16_t>(bits << 8)); // the upper half of an f16
}

inline float e4m3ToF32(uint8_t bits) {
  uint32_t magnitude = bits & 0x7F;
  // As for f16, with a bias of 7 and no infinity.
  uint32_t normal = (magnitude << 20) + 0x3C000000;
  uint32_t subnormal =
      floatBits(static_cast<float>(static_cast<int32_t>(magnitude)) * 0x1p-9f);
  uint32_t result = magnitude < 8 ? subnormal : normal;
  result = magnitude == 0x7F ? 0x7FFFFFFF : result;
  return bitsToFloat(result | static_cast<uint32_t>(bits & 0x80) << 24);
}

// Narrowing of f32 to nearest even, without a branch. A NaN becomes 0x7FFF.

inline uint16_t f32ToBF16(float value) {
  uint32_t bits = floatBits(value);
  uint32_t rounded = (bits + 0x7FFF + (bits >> 16 & 1)) >> 16;
  return static_cast<uint16_t>((bits & 0x7FFFFFFF) > 0x7F800000 ? 0x7FFF : rounded);
}

inline uint16_t f32ToF16(float value) {
  uint32_t bits = floatBits(value), magnitude = bits & 0x7FFFFFFF;
  uint32_t normal = (magnitude - 0x38000000 + 0xFFF + (magnitude >> 13 & 1)) >> 13;
  // The last bit of 1/2 is 2^-24, as that of a subnormal.
  uint32_t subnormal = floatBits(bitsToFloat(magnitude) + 0.5f) - 0x3F000000;
  uint32_t result = magnitude < 0x38800000 ? subnormal : normal;
  result = magnitude >= 0x477FF000 ? 0x7C00 : result; // 65520
  result |= bits >> 16 & 0x8000;
  return static_cast<uint16_t>(magnitude > 0x7F800000 ? 0x7FFF : result);
}

/// Rounds `value` (an f32 widened, or an f64) once. A NaN becomes 0x7FFF. What
/// is too large becomes infinity, or the largest finite value where `rounding`
/// points towards zero; infinity stays infinity. With `saturate` (.satfinite)
/// both become the largest finite value.
uint16_t f64ToF16(double value, Rounding rounding, bool saturate = false);
uint16_t f64ToBF16(double value, Rounding rounding, bool saturate = false);
/// To nearest even. With `saturate` what is too large, infinity included,
/// becomes the largest finite value; without it e4m3 has NaN (0x7F) and e5m2
/// infinity (0x7C) with the sign. A NaN becomes 0x7F.
uint8_t f64ToE4M3(double value, bool saturate);
uint8_t f64ToE5M2(double value, bool saturate);

} // namespace kvc::emu

#endif // KVC_LIB_EMULATOR_NUMERICS_H
