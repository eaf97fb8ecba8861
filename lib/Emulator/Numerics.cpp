//===- Numerics.cpp - small floating-point types --------------------------===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Narrowing. Works on bits, so that it depends on no rounding mode of the host.
//===----------------------------------------------------------------------===//
#include "Numerics.h"

#include <algorithm>

using namespace kvc::emu;

namespace {
/// A narrow format. Counted up from zero, its finite magnitudes are its bit
/// patterns in order.
struct Format {
  int mantissaBits;
  int minExponent;  ///< Of normal numbers, and of subnormal ones.
  uint64_t largest; ///< Bits of the largest finite magnitude.
};

constexpr Format kF16 = {10, -14, 0x7BFF};
constexpr Format kBF16 = {7, -126, 0x7F7F};
constexpr Format kE4M3 = {3, -6, 0x7E};
constexpr Format kE5M2 = {2, -14, 0x7B};

/// An f64 taken apart.
struct Parts {
  explicit Parts(double value) {
    uint64_t bits;
    std::memcpy(&bits, &value, sizeof(bits));
    negative = bits >> 63;
    field = static_cast<int>(bits >> 52) & 0x7FF;
    fraction = bits & ((uint64_t(1) << 52) - 1);
  }
  bool isNaN() const { return field == 0x7FF && fraction; }
  bool isInfinity() const { return field == 0x7FF && !fraction; }

  bool negative;
  int field;         ///< Biased exponent.
  uint64_t fraction; ///< The lower 52 bits.
};
} // namespace

/// Whether a magnitude is rounded to the next larger one. `rest` is what lies
/// above the smaller one, in units of which `half` are half a step.
static bool roundsUp(Rounding rounding, bool negative, bool odd, uint64_t rest,
                     uint64_t half) {
  switch (rounding) {
  case Rounding::NearestEven:
    return rest > half || (rest == half && odd);
  case Rounding::NearestAway:
    return rest >= half;
  case Rounding::Zero:
    return false;
  case Rounding::Down:
    return negative && rest;
  case Rounding::Up:
    return !negative && rest;
  }
  return false;
}

/// Bits of the rounded magnitude of a finite value; more than `format.largest`
/// if it is too large.
static uint64_t roundMagnitude(const Parts &value, const Format &format,
                               Rounding rounding) {
  int exponent = std::max(value.field, 1) - 1023;
  uint64_t significand =
      value.fraction | static_cast<uint64_t>(value.field != 0) << 52;
  int target = std::max(exponent, format.minExponent);
  // Bits that do not fit. Of more than 54 nothing is left either way.
  int shift = std::min(52 - format.mantissaBits + target - exponent, 62);
  uint64_t kept = significand >> shift;
  uint64_t rest = significand & ((uint64_t(1) << shift) - 1);
  kept += roundsUp(rounding, value.negative, kept & 1, rest,
                   uint64_t(1) << (shift - 1));
  // The leading bit of a normal number adds one to the exponent field, and so
  // does a carry out of the mantissa.
  return (static_cast<uint64_t>(target - format.minExponent)
          << format.mantissaBits) +
         kept;
}

/// Narrows to one of the formats of 16 bits, which have infinity right above
/// `largest`.
static uint16_t narrowTo16(double value, const Format &format,
                           Rounding rounding, bool saturate) {
  Parts parts(value);
  if (parts.isNaN())
    return 0x7FFF;
  uint64_t infinity = format.largest + 1;
  uint64_t result = infinity;
  if (!parts.isInfinity()) {
    result = roundMagnitude(parts, format, rounding);
    bool towardsZero =
        rounding == Rounding::Zero ||
        rounding == (parts.negative ? Rounding::Up : Rounding::Down);
    result = std::min(result, towardsZero ? format.largest : infinity);
  }
  if (saturate)
    result = std::min(result, format.largest);
  return static_cast<uint16_t>(result | static_cast<uint64_t>(parts.negative)
                                            << 15);
}

/// Narrows to one of the formats of 8 bits. What is too large becomes
/// `overflow`.
static uint8_t narrowTo8(double value, const Format &format,
                         uint64_t overflow) {
  Parts parts(value);
  if (parts.isNaN())
    return 0x7F;
  uint64_t result = overflow;
  if (!parts.isInfinity()) {
    result = roundMagnitude(parts, format, Rounding::NearestEven);
    if (result > format.largest)
      result = overflow;
  }
  return static_cast<uint8_t>(result | static_cast<uint64_t>(parts.negative)
                                           << 7);
}

uint16_t kvc::emu::f64ToF16(double value, Rounding rounding, bool saturate) {
  return narrowTo16(value, kF16, rounding, saturate);
}

uint16_t kvc::emu::f64ToBF16(double value, Rounding rounding, bool saturate) {
  return narrowTo16(value, kBF16, rounding, saturate);
}

uint8_t kvc::emu::f64ToE4M3(double value, bool saturate) {
  return narrowTo8(value, kE4M3, saturate ? kE4M3.largest : 0x7F);
}

uint8_t kvc::emu::f64ToE5M2(double value, bool saturate) {
  return narrowTo8(value, kE5M2, saturate ? kE5M2.largest : 0x7C);
}
