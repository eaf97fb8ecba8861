//===- NumericsTest.cpp - small floating-point types ----------------------===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Judges conversions by the sorted table of all values of a format, made with
// ldexp, and by its neighbours of a number in it.
//===----------------------------------------------------------------------===//
#include "Emulator/Numerics.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <vector>

#ifdef KVC_HAVE_CUDA_FP8
#include <cuda_fp8.h>
#endif

using namespace kvc::emu;

static constexpr double kInfinity = std::numeric_limits<double>::infinity();
static constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

static constexpr Rounding kRoundings[] = {Rounding::NearestEven, Rounding::Zero,
                                          Rounding::Down, Rounding::Up,
                                          Rounding::NearestAway};

//===----------------------------------------------------------------------===//
// Tables of formats
//===----------------------------------------------------------------------===//

namespace {
/// All finite magnitudes of a format in order: values[bits].
struct Table {
  Table(int mantissaBits, int bias, unsigned numFinite) {
    // One more than there is: where the next value would be, overflow begins
    // half way.
    for (unsigned bits = 0; bits <= numFinite; ++bits) {
      int field = static_cast<int>(bits >> mantissaBits);
      int mantissa = static_cast<int>(bits & ((1U << mantissaBits) - 1));
      values.push_back(field == 0
                           ? std::ldexp(mantissa, 1 - bias - mantissaBits)
                           : std::ldexp(mantissa + (1 << mantissaBits),
                                        field - bias - mantissaBits));
    }
  }

  unsigned getLargest() const {
    return static_cast<unsigned>(values.size()) - 2;
  }

  /// Bits of the magnitude of `value` rounded; getLargest() + 1 if too large.
  unsigned round(double value, Rounding rounding) const {
    double magnitude = std::fabs(value);
    bool negative = std::signbit(value);
    auto above = std::upper_bound(values.begin(), values.end(), magnitude);
    auto lower = static_cast<unsigned>(above - values.begin()) - 1;
    if (above == values.end()) { // only the direction matters
      lower = getLargest();
      magnitude = values.back() - std::ldexp(values.back(), -30);
    }
    unsigned upper = lower + 1;
    if (values[lower] == magnitude)
      return lower;
    double fromLower = magnitude - values[lower];
    double toUpper = values[upper] - magnitude;
    switch (rounding) {
    case Rounding::Zero:
      return lower;
    case Rounding::Down:
      return negative ? upper : lower;
    case Rounding::Up:
      return negative ? lower : upper;
    case Rounding::NearestAway:
      return fromLower < toUpper ? lower : upper;
    case Rounding::NearestEven:
      if (fromLower != toUpper)
        return fromLower < toUpper ? lower : upper;
      return lower % 2 == 0 ? lower : upper;
    }
    return 0;
  }

  /// Each value, the middle between it and the next, and what lies next to
  /// these; then what is large, small or odd. With both signs.
  void forEachInput(const std::function<void(double)> &visit) const {
    std::vector<double> inputs = {2 * values.back(),
                                  1e30,
                                  1e300,
                                  std::numeric_limits<double>::max(),
                                  std::numeric_limits<double>::denorm_min(),
                                  1e-310,
                                  1e-300,
                                  1e-45};
    for (unsigned i = 0; i + 1 < values.size(); ++i) {
      inputs.push_back(values[i]);
      inputs.push_back((values[i] + values[i + 1]) / 2);
    }
    inputs.push_back(values.back());
    for (double input : inputs)
      for (double near :
           {std::nextafter(input, 0), input, std::nextafter(input, kInfinity)})
        if (near < kInfinity) {
          visit(near);
          visit(-near);
        }
  }

  std::vector<double> values;
};
} // namespace

static const Table kF16(10, 15, 0x7C00);
static const Table kBF16(7, 127, 0x7F80);
static const Table kE4M3(3, 7, 0x7F);
static const Table kE5M2(2, 15, 0x7C);

//===----------------------------------------------------------------------===//
// Widening
//===----------------------------------------------------------------------===//

/// Checks all patterns of a format. Those above the finite ones are NaN, but
/// for infinity if `hasInfinity`.
template <typename Bits, typename Widen>
static void checkWidening(const Table &table, bool hasInfinity, Widen widen) {
  constexpr unsigned signBit = 1U << (8 * sizeof(Bits) - 1);
  for (unsigned magnitude = 0; magnitude < signBit; ++magnitude)
    for (unsigned sign : {0U, signBit}) {
      float value = widen(static_cast<Bits>(sign | magnitude));
      SCOPED_TRACE(sign | magnitude);
      EXPECT_EQ(std::signbit(value), sign != 0);
      if (magnitude <= table.getLargest())
        EXPECT_EQ(std::fabs(value), table.values[magnitude]);
      else if (hasInfinity && magnitude == table.getLargest() + 1)
        EXPECT_EQ(std::fabs(value), kInfinity);
      else
        EXPECT_TRUE(std::isnan(value));
    }
}

TEST(Numerics, WidensAllF16) { checkWidening<uint16_t>(kF16, true, f16ToF32); }

TEST(Numerics, WidensAllBF16) {
  checkWidening<uint16_t>(kBF16, true, bf16ToF32);
}

TEST(Numerics, WidensAllE4M3) {
  checkWidening<uint8_t>(kE4M3, false, e4m3ToF32);
}

TEST(Numerics, WidensAllE5M2) {
  checkWidening<uint8_t>(kE5M2, true, e5m2ToF32);
}

TEST(Numerics, WidensKnownValues) {
  EXPECT_EQ(f16ToF32(0x3C00), 1.0f);
  EXPECT_EQ(f16ToF32(0x7BFF), 65504.0f);
  EXPECT_EQ(f16ToF32(0x0001), 0x1p-24f);
  EXPECT_EQ(bf16ToF32(0xC0A0), -5.0f);
  EXPECT_EQ(e4m3ToF32(0x7E), 448.0f);
  EXPECT_EQ(e4m3ToF32(0x01), 0x1p-9f);
  EXPECT_EQ(e5m2ToF32(0x7B), 57344.0f);
  EXPECT_EQ(e5m2ToF32(0x01), 0x1p-16f);
}

//===----------------------------------------------------------------------===//
// Narrowing to 16 bits
//===----------------------------------------------------------------------===//

template <typename Narrow>
static void checkNarrowing16(const Table &table, Narrow narrow) {
  unsigned largest = table.getLargest();
  for (Rounding rounding : kRoundings) {
    table.forEachInput([&](double value) {
      unsigned sign = std::signbit(value) ? 0x8000 : 0;
      unsigned magnitude = table.round(value, rounding);
      ASSERT_EQ(narrow(value, rounding, false), sign | magnitude)
          << value << " rounding " << int(rounding);
      ASSERT_EQ(narrow(value, rounding, true),
                sign | std::min(magnitude, largest))
          << value << " rounding " << int(rounding);
    });
    EXPECT_EQ(narrow(kInfinity, rounding, false), largest + 1);
    EXPECT_EQ(narrow(-kInfinity, rounding, false), 0x8000 | (largest + 1));
    EXPECT_EQ(narrow(kInfinity, rounding, true), largest);
    EXPECT_EQ(narrow(-kInfinity, rounding, true), 0x8000 | largest);
    for (bool saturate : {false, true}) {
      EXPECT_EQ(narrow(kNaN, rounding, saturate), 0x7FFF);
      EXPECT_EQ(narrow(-kNaN, rounding, saturate), 0x7FFF);
    }
  }
}

TEST(Numerics, NarrowsToF16) { checkNarrowing16(kF16, f64ToF16); }

TEST(Numerics, NarrowsToBF16) { checkNarrowing16(kBF16, f64ToBF16); }

TEST(Numerics, RoundsTies) {
  // 2049 lies between 2048 (even) and 2050; 2051 between 2050 and 2052 (even).
  EXPECT_EQ(f64ToF16(2049, Rounding::NearestEven), 0x6800);
  EXPECT_EQ(f64ToF16(2049, Rounding::NearestAway), 0x6801);
  EXPECT_EQ(f64ToF16(2051, Rounding::NearestEven), 0x6802);
  EXPECT_EQ(f64ToF16(-2049, Rounding::Down), 0xE801);
  EXPECT_EQ(f64ToF16(-2049, Rounding::Up), 0xE800);
  EXPECT_EQ(f64ToF16(2051, Rounding::Zero), 0x6801);
  // Half the smallest value goes to zero, which keeps the sign.
  EXPECT_EQ(f64ToF16(0x1p-25, Rounding::NearestEven), 0x0000);
  EXPECT_EQ(f64ToF16(-0x1p-25, Rounding::NearestEven), 0x8000);
  EXPECT_EQ(f64ToF16(0x1p-25, Rounding::NearestAway), 0x0001);
  EXPECT_EQ(f64ToF16(0x1p-1000, Rounding::Up), 0x0001);
  // 65520 lies between 65504 and what would be 65536.
  EXPECT_EQ(f64ToF16(65519, Rounding::NearestEven), 0x7BFF);
  EXPECT_EQ(f64ToF16(65520, Rounding::NearestEven), 0x7C00);
  EXPECT_EQ(f64ToF16(65520, Rounding::NearestEven, true), 0x7BFF);
  EXPECT_EQ(f64ToF16(1e9, Rounding::Zero), 0x7BFF);
  EXPECT_EQ(f64ToF16(1e9, Rounding::Down), 0x7BFF);
  EXPECT_EQ(f64ToF16(-1e9, Rounding::Down), 0xFC00);
  EXPECT_EQ(f64ToF16(-1e9, Rounding::Up), 0xFBFF);
  // 257 lies between 256 (even) and 258, 259 between 258 and 260 (even).
  EXPECT_EQ(f64ToBF16(257, Rounding::NearestEven), 0x4380);
  EXPECT_EQ(f64ToBF16(259, Rounding::NearestEven), 0x4382);
}

/// Through f32, 1 + 2^-11 + 2^-40 would become a tie, and then 1.
TEST(Numerics, RoundsOnce) {
  EXPECT_EQ(f64ToF16(1 + 0x1p-11 + 0x1p-40, Rounding::NearestEven), 0x3C01);
  EXPECT_EQ(f64ToBF16(1 + 0x1p-8 + 0x1p-40, Rounding::NearestEven), 0x3F81);
  EXPECT_EQ(f64ToE4M3(1 + 0x1p-4 + 0x1p-40, true), 0x39);
  EXPECT_EQ(f64ToE5M2(1 + 0x1p-3 + 0x1p-40, true), 0x3D);
}

//===----------------------------------------------------------------------===//
// Narrowing to 8 bits
//===----------------------------------------------------------------------===//

template <typename Narrow>
static void checkNarrowing8(const Table &table, unsigned overflow,
                            Narrow narrow) {
  unsigned largest = table.getLargest();
  auto check = [&](double value) {
    unsigned sign = std::signbit(value) ? 0x80 : 0;
    unsigned magnitude = std::isinf(value)
                             ? largest + 1
                             : table.round(value, Rounding::NearestEven);
    bool fits = magnitude <= largest;
    ASSERT_EQ(narrow(value, false), sign | (fits ? magnitude : overflow))
        << value;
    ASSERT_EQ(narrow(value, true), sign | (fits ? magnitude : largest))
        << value;
  };
  table.forEachInput(check);
  check(kInfinity);
  check(-kInfinity);
  for (unsigned bits = 0; bits < 0x10000; ++bits) {
    float value = f16ToF32(static_cast<uint16_t>(bits));
    if (!std::isnan(value))
      check(value);
  }
  for (bool saturate : {false, true}) {
    EXPECT_EQ(narrow(kNaN, saturate), 0x7F);
    EXPECT_EQ(narrow(-kNaN, saturate), 0x7F);
  }
}

TEST(Numerics, NarrowsToE4M3) { checkNarrowing8(kE4M3, 0x7F, f64ToE4M3); }

TEST(Numerics, NarrowsToE5M2) { checkNarrowing8(kE5M2, 0x7C, f64ToE5M2); }

TEST(Numerics, NarrowsEdgesToE4M3) {
  for (double value : {448.0, 464.0, 1e9, kInfinity}) {
    EXPECT_EQ(f64ToE4M3(value, true), 0x7E) << value;
    EXPECT_EQ(f64ToE4M3(-value, true), 0xFE) << value;
  }
  EXPECT_EQ(f64ToE4M3(464, false), 0x7E); // a tie, to even
  EXPECT_EQ(f64ToE4M3(464.001, false), 0x7F);
  EXPECT_EQ(f64ToE4M3(-kInfinity, false), 0xFF);
  EXPECT_EQ(f64ToE4M3(0x1p-9, true), 0x01);
  EXPECT_EQ(f64ToE4M3(0x1p-10, true), 0x00);
  EXPECT_EQ(f64ToE4M3(0x1.8p-10, true), 0x01);
  EXPECT_EQ(f64ToE4M3(-0.0, true), 0x80);
  EXPECT_EQ(e4m3ToF32(f64ToE4M3(17, true)), 16);
  EXPECT_EQ(e4m3ToF32(f64ToE4M3(19, true)), 20);
}

TEST(Numerics, NarrowsEdgesToE5M2) {
  for (double value : {57344.0, 61440.0, kInfinity}) {
    EXPECT_EQ(f64ToE5M2(value, true), 0x7B) << value;
    EXPECT_EQ(f64ToE5M2(-value, true), 0xFB) << value;
  }
  EXPECT_EQ(f64ToE5M2(61439, false), 0x7B);
  EXPECT_EQ(f64ToE5M2(61440, false), 0x7C); // a tie, to even
  EXPECT_EQ(f64ToE5M2(-61440, false), 0xFC);
  EXPECT_EQ(f64ToE5M2(0x1p-17, true), 0x00);
  EXPECT_EQ(f64ToE5M2(0x1.8p-17, true), 0x01);
}

//===----------------------------------------------------------------------===//
// The CUDA toolkit's own conversions
//===----------------------------------------------------------------------===//

#ifdef KVC_HAVE_CUDA_FP8

static void compareFloat(float value) {
  ASSERT_EQ(f64ToE4M3(value, true),
            __nv_cvt_float_to_fp8(value, __NV_SATFINITE, __NV_E4M3))
      << value;
  ASSERT_EQ(f64ToE4M3(value, false),
            __nv_cvt_float_to_fp8(value, __NV_NOSAT, __NV_E4M3))
      << value;
  ASSERT_EQ(f64ToE5M2(value, true),
            __nv_cvt_float_to_fp8(value, __NV_SATFINITE, __NV_E5M2))
      << value;
  ASSERT_EQ(f64ToE5M2(value, false),
            __nv_cvt_float_to_fp8(value, __NV_NOSAT, __NV_E5M2))
      << value;
}

TEST(NumericsCuda, NarrowsFloats) {
  // All exponents and signs; steps coprime to 2^32 reach all kinds of
  // mantissas.
  for (uint64_t bits = 0; bits < uint64_t(1) << 32; bits += 2039)
    compareFloat(bitsToFloat(static_cast<uint32_t>(bits)));
}

TEST(NumericsCuda, NarrowsHalves) {
  for (unsigned bits = 0; bits < 0x10000; ++bits) {
    float value = f16ToF32(static_cast<uint16_t>(bits));
    __half_raw half;
    half.x = static_cast<uint16_t>(bits);
    ASSERT_EQ(f64ToE4M3(value, true),
              __nv_cvt_halfraw_to_fp8(half, __NV_SATFINITE, __NV_E4M3));
    ASSERT_EQ(f64ToE5M2(value, true),
              __nv_cvt_halfraw_to_fp8(half, __NV_SATFINITE, __NV_E5M2));
    compareFloat(value);
  }
}

TEST(NumericsCuda, Widens) {
  for (unsigned bits = 0; bits < 0x100; ++bits) {
    auto fp8 = static_cast<uint8_t>(bits);
    float e4m3 = f16ToF32(__nv_cvt_fp8_to_halfraw(fp8, __NV_E4M3).x);
    float e5m2 = f16ToF32(__nv_cvt_fp8_to_halfraw(fp8, __NV_E5M2).x);
    if (std::isnan(e4m3))
      EXPECT_TRUE(std::isnan(e4m3ToF32(fp8))) << bits;
    else
      EXPECT_EQ(floatBits(e4m3ToF32(fp8)), floatBits(e4m3)) << bits;
    if (std::isnan(e5m2))
      EXPECT_TRUE(std::isnan(e5m2ToF32(fp8))) << bits;
    else
      EXPECT_EQ(floatBits(e5m2ToF32(fp8)), floatBits(e5m2)) << bits;
  }
}

#endif // KVC_HAVE_CUDA_FP8

// The branchless conversions of f32 give what those of f64 do: at each exponent,
// around ties, and for all sorts of NaN.
TEST(NumericsTest, FastNarrowing) {
  for (uint32_t high = 0; high < 0x10000; ++high)
    for (uint32_t low : {0u, 1u, 0x0FFFu, 0x1000u, 0x1001u, 0x1FFFu, 0x2000u, 0x3000u, 0x7FFFu,
                         0x8000u, 0x8001u, 0xFFFFu}) {
      uint32_t bits = high << 16 | low;
      float value = bitsToFloat(bits);
      ASSERT_EQ(f32ToF16(value), f64ToF16(value, Rounding::NearestEven)) << std::hex << bits;
      ASSERT_EQ(f32ToBF16(value), f64ToBF16(value, Rounding::NearestEven)) << std::hex << bits;
    }
}
