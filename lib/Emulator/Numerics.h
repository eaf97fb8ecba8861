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

namespace kvc::emu {

/// Rounding modes of cvt and of arithmetic.
enum class Rounding : uint8_t {
  NearestEven, ///< .rn, .rni
  Zero,        ///< .rz, .rzi
  Down,        ///< .rm, .rmi
  Up,          ///< .rp, .rpi
  NearestAway  ///< .rna
};

// Widening is exact; a NaN keeps being one.
float f16ToF32(uint16_t bits);
float bf16ToF32(uint16_t bits);
float e4m3ToF32(uint8_t bits);
float e5m2ToF32(uint8_t bits);

/// Rounds `value` (an f32 widened, or an f64) once. A NaN becomes 0x7FFF (f16,
/// bf16). What is too large becomes infinity, or the largest finite value where
/// `rounding` points towards zero; with `saturate` (.satfinite) always the
/// latter.
uint16_t f64ToF16(double value, Rounding rounding, bool saturate = false);
uint16_t f64ToBF16(double value, Rounding rounding, bool saturate = false);
/// To nearest even. With `saturate` what is too large, infinity included, becomes
/// the largest finite value; without it e4m3 has NaN (0x7F) and e5m2 infinity
/// (0x7C) with the sign. A NaN becomes 0x7F.
uint8_t f64ToE4M3(double value, bool saturate);
uint8_t f64ToE5M2(double value, bool saturate);

} // namespace kvc::emu

#endif // KVC_LIB_EMULATOR_NUMERICS_H
