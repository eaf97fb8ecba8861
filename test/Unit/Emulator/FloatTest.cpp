//===- FloatTest.cpp - f32 and f64 arithmetic -----------------------------===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Approximations are held to the errors that the PTX manual states, against
// functions of long double.
//===----------------------------------------------------------------------===//
#include "PTXRunner.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <random>

using namespace kvc::emu;
using namespace kvc::emu::test;

static const uint64_t one = f32(1), two = f32(2), three = f32(3), half = f32(0.5f);
static constexpr uint64_t kTiny = 0x00000001;      ///< 2^-149
static constexpr uint64_t kSmallest = 0x00800000;  ///< 2^-126
static constexpr uint64_t kSubnormal = 0x00400000; ///< 2^-127
static constexpr uint64_t kLargest = 0x7F7FFFFF;
static constexpr uint64_t kQuietNaN = 0x7FC12345, kNegNaN = 0xFFC00000;

static const uint64_t one64 = f64(1), negZero64 = f64(-0.0);
static constexpr uint64_t kInf64 = 0x7FF0000000000000, kTiny64 = 1;
static constexpr uint64_t kLargest64 = 0x7FEFFFFFFFFFFFFF;

// 1 + 2^-24 lies in the middle of 1 and the next f32.
TEST(FloatTest, Add) {
  const uint64_t small = f32(0x1p-24f), minus = f32(-0x1p-24f);
  for (const char *text : {"add.f32 %r0, %r1, %r2;", "add.rn.f32 %r0, %r1, %r2;"})
    expectValues(text, {{{one, two}, {three}}, {{one, small}, {one}}, {{0x3F800001, small}, {0x3F800002}},
                        {{kInf, kNegInf}, {kNaN}}, {{kQuietNaN, one}, {kNaN}}, {{kNegNaN, one}, {kNaN}},
                        {{kNegZero, 0}, {0}}, {{kNegZero, kNegZero}, {kNegZero}},
                        {{kTiny, kTiny}, {2}}, {{kLargest, kLargest}, {kInf}}, {{one, f32(-1)}, {0}}});
  expectValues("add.rz.f32 %r0, %r1, %r2;",
               {{{one, small}, {one}}, {{f32(-1), minus}, {f32(-1)}}, {{kLargest, kLargest}, {kLargest}},
                {{0x3F800001, small}, {0x3F800001}}});
  expectValues("add.rm.f32 %r0, %r1, %r2;",
               {{{one, small}, {one}}, {{f32(-1), minus}, {0xBF800001}}, {{one, f32(-1)}, {kNegZero}},
                {{kLargest, kLargest}, {kLargest}}});
  expectValues("add.rp.f32 %r0, %r1, %r2;",
               {{{one, small}, {0x3F800001}}, {{f32(-1), minus}, {f32(-1)}}, {{one, f32(-1)}, {0}},
                {{kLargest, kLargest}, {kInf}}, {{f32(-3.4e38f), f32(-3.4e38f)}, {0xFF7FFFFF}}});
  expectValues("add.ftz.f32 %r0, %r1, %r2;",
               {{{kTiny, kTiny}, {0}}, {{kTiny | kNegZero, kNegZero}, {kNegZero}}, {{one, kTiny}, {one}},
                {{kSmallest, kSubnormal | kNegZero}, {kSmallest}},
                {{0x00800001, kSmallest | kNegZero}, {0}}}); // the result is 2^-149
  expectValues("add.sat.f32 %r0, %r1, %r2;",
               {{{one, two}, {one}}, {{f32(-1), half}, {0}}, {{half, f32(0.25f)}, {f32(0.75f)}},
                {{kQuietNaN, one}, {0}}, {{kNegZero, kNegZero}, {0}}});
  expectValues("add.rz.ftz.sat.f32 %r0, %r1, %r2;",
               {{{one, two}, {one}}, {{kTiny, kTiny}, {0}}, {{kQuietNaN, one}, {0}}});
  expectRefused("add.rni.f32 %r0, %r1, %r2;", "does not support the modifier .rni");
  expectRefused("add.rna.f32 %r0, %r1, %r2;", "does not support the modifier .rna");
}

TEST(FloatTest, AddF64) {
  const uint64_t small = f64(0x1p-53), next = f64(1 + 0x1p-52);
  expectValues("add.f64 %l0, %l1, %l2;",
               {{{one64, small}, {one64}}, {{next, small}, {f64(1 + 0x1p-51)}}, {{kTiny64, kTiny64}, {2}},
                {{negZero64, 0}, {0}}, {{kLargest64, kLargest64}, {kInf64}}});
  expectValues("add.rz.f64 %l0, %l1, %l2;", {{{next, small}, {next}}, {{kLargest64, kLargest64}, {kLargest64}}});
  expectValues("add.rm.f64 %l0, %l1, %l2;", {{{one64, small}, {one64}}, {{one64, f64(-1)}, {negZero64}}});
  expectValues("add.rp.f64 %l0, %l1, %l2;", {{{one64, small}, {next}}, {{one64, f64(-1)}, {0}}});
  expectRefused("add.ftz.f64 %l0, %l1, %l2;", "does not support");
  expectRefused("add.sat.f64 %l0, %l1, %l2;", "does not support");
}

TEST(FloatTest, Sub) {
  expectValues("sub.f32 %r0, %r1, %r2;",
               {{{three, one}, {two}}, {{kInf, kInf}, {kNaN}}, {{kNegZero, 0}, {kNegZero}},
                {{0, 0}, {0}}, {{0, kNegZero}, {0}}, {{kNegZero, kNegZero}, {0}}, {{kTiny, 2}, {kTiny | kNegZero}}});
  expectValues("sub.rn.ftz.f32 %r0, %r1, %r2;", {{{kTiny, 2}, {0}}, {{three, one}, {two}}});
  expectValues("sub.rz.f32 %r0, %r1, %r2;", {{{one, f32(0x1p-30f)}, {0x3F7FFFFF}}});
  expectValues("sub.rm.f32 %r0, %r1, %r2;", {{{one, f32(0x1p-30f)}, {0x3F7FFFFF}}, {{one, one}, {kNegZero}}});
  expectValues("sub.rp.f32 %r0, %r1, %r2;", {{{one, f32(0x1p-30f)}, {one}}, {{one, one}, {0}}});
  expectValues("sub.sat.f32 %r0, %r1, %r2;", {{{three, one}, {one}}, {{one, three}, {0}}});
  expectValues("sub.f64 %l0, %l1, %l2;", {{{f64(3), one64}, {f64(2)}}, {{negZero64, 0}, {negZero64}}});
  expectValues("sub.rp.f64 %l0, %l1, %l2;", {{{one64, f64(0x1p-80)}, {one64}}});
  expectValues("sub.rz.f64 %l0, %l1, %l2;", {{{one64, f64(0x1p-80)}, {0x3FEFFFFFFFFFFFFF}}});
}

// (1 + 2^-23)^2 = 1 + 2^-22 + 2^-46.
TEST(FloatTest, Mul) {
  const uint64_t next = 0x3F800001;
  expectValues("mul.f32 %r0, %r1, %r2;",
               {{{two, three}, {f32(6)}}, {{next, next}, {0x3F800002}}, {{kInf, 0}, {kNaN}},
                {{kNegZero, three}, {kNegZero}}, {{kSmallest, half}, {kSubnormal}},
                {{kTiny, half}, {0}}, {{3, half}, {2}}, {{kLargest, two}, {kInf}}});
  expectValues("mul.ftz.f32 %r0, %r1, %r2;",
               {{{kSmallest, half}, {0}}, {{kSmallest | kNegZero, half}, {kNegZero}},
                {{kSubnormal, kInf}, {kNaN}}, {{kSubnormal, two}, {0}}});
  expectValues("mul.rz.f32 %r0, %r1, %r2;", {{{next, next}, {0x3F800002}}, {{kLargest, two}, {kLargest}}});
  expectValues("mul.rm.f32 %r0, %r1, %r2;", {{{next, next}, {0x3F800002}}, {{next | kNegZero, next}, {0xBF800003}}});
  expectValues("mul.rp.f32 %r0, %r1, %r2;", {{{next, next}, {0x3F800003}}, {{kTiny, half}, {kTiny}}});
  expectValues("mul.sat.f32 %r0, %r1, %r2;", {{{two, three}, {one}}, {{kInf, 0}, {0}}, {{f32(-2), three}, {0}}});
  expectValues("mul.f64 %l0, %l1, %l2;", {{{f64(2), f64(3)}, {f64(6)}}, {{kTiny64, f64(0.5)}, {0}}});
  expectValues("mul.rp.f64 %l0, %l1, %l2;", {{{kTiny64, f64(0.5)}, {1}}});
  expectValues("mul.rm.f64 %l0, %l1, %l2;", {{{kTiny64, f64(-0.5)}, {kTiny64 | negZero64}}});
}

// One rounding: (1 + 2^-23)^2 - (1 + 2^-22) leaves 2^-46.
TEST(FloatTest, Fma) {
  const uint64_t next = 0x3F800001, square = 0x3F800002;
  for (const char *name : {"fma.rn.f32", "mad.rn.f32"})
    expectValues(std::string(name) + " %r0, %r1, %r2, %r3;",
                 {{{next, next, square | kNegZero}, {f32(0x1p-46f)}}, {{two, three, one}, {f32(7)}},
                  {{kInf, 0, one}, {kNaN}}, {{kInf, one, kNegInf}, {kNaN}},
                  {{one, one, f32(-1)}, {0}}, {{kNegZero, one, kNegZero}, {kNegZero}},
                  {{kSmallest, half, 0}, {kSubnormal}}});
  expectValues("fma.rz.f32 %r0, %r1, %r2, %r3;", {{{next, next, 0}, {square}}, {{kLargest, two, one}, {kLargest}}});
  expectValues("fma.rm.f32 %r0, %r1, %r2, %r3;", {{{next, next, 0}, {square}}, {{one, one, f32(-1)}, {kNegZero}}});
  expectValues("fma.rp.f32 %r0, %r1, %r2, %r3;", {{{next, next, 0}, {0x3F800003}}});
  expectValues("fma.rn.ftz.f32 %r0, %r1, %r2, %r3;",
               {{{kSmallest, half, 0}, {0}}, {{kSubnormal, two, one}, {one}}, {{one, one, kTiny}, {one}},
                {{kSmallest, half, kSubnormal}, {0}}, {{kSmallest | kNegZero, half, kNegZero}, {kNegZero}}});
  expectValues("fma.rn.sat.f32 %r0, %r1, %r2, %r3;",
               {{{two, three, one}, {one}}, {{f32(-2), three, one}, {0}}, {{kInf, 0, one}, {0}}});
  expectValues("fma.rz.ftz.sat.f32 %r0, %r1, %r2, %r3;", {{{two, three, one}, {one}}, {{kSmallest, half, 0}, {0}}});
  const uint64_t next64 = f64(1 + 0x1p-52);
  expectValues("fma.rn.f64 %l0, %l1, %l2, %l3;",
               {{{next64, next64, f64(-(1 + 0x1p-51))}, {f64(0x1p-104)}}, {{f64(2), f64(3), one64}, {f64(7)}}});
  expectValues("fma.rp.f64 %l0, %l1, %l2, %l3;", {{{next64, next64, 0}, {f64(1 + 0x1p-51 + 0x1p-52)}}});
  expectValues("fma.rz.f64 %l0, %l1, %l2, %l3;", {{{next64, next64, 0}, {f64(1 + 0x1p-51)}}});
  expectValues("mad.rm.f64 %l0, %l1, %l2, %l3;", {{{next64, next64, 0}, {f64(1 + 0x1p-51)}}});
  expectRefused("fma.rn.s32 %r0, %r1, %r2, %r3;", "does not support the type .s32");
}

// 1/3 = 0x3EAAAAAA.AA..., to nearest 0x3EAAAAAB.
TEST(FloatTest, Div) {
  expectValues("div.rn.f32 %r0, %r1, %r2;",
               {{{one, three}, {0x3EAAAAAB}}, {{f32(6), three}, {two}}, {{one, 0}, {kInf}},
                {{one, kNegZero}, {kNegInf}}, {{0, 0}, {kNaN}}, {{kInf, kInf}, {kNaN}}, {{one, kInf}, {0}},
                {{kSmallest, two}, {kSubnormal}}});
  expectValues("div.rz.f32 %r0, %r1, %r2;", {{{one, three}, {0x3EAAAAAA}}});
  expectValues("div.rm.f32 %r0, %r1, %r2;", {{{one, three}, {0x3EAAAAAA}}, {{f32(-1), three}, {0xBEAAAAAB}}});
  expectValues("div.rp.f32 %r0, %r1, %r2;", {{{one, three}, {0x3EAAAAAB}}, {{f32(-1), three}, {0xBEAAAAAA}}});
  expectValues("div.rn.ftz.f32 %r0, %r1, %r2;", {{{kSmallest, two}, {0}}, {{one, kSubnormal}, {kInf}}});
  expectValues("div.rn.f64 %l0, %l1, %l2;", {{{one64, f64(3)}, {0x3FD5555555555555}}, {{f64(2), f64(3)}, {0x3FE5555555555555}}});
  expectValues("div.rp.f64 %l0, %l1, %l2;", {{{one64, f64(3)}, {0x3FD5555555555556}}});
  expectValues("div.rz.f64 %l0, %l1, %l2;", {{{f64(2), f64(3)}, {0x3FE5555555555555}}});
  expectRefused("div.approx.f64 %l0, %l1, %l2;", "does not support");
  expectRefused("div.rn.f16 %h0, %h1, %h2;", "does not support the type .f16");
}

TEST(FloatTest, NegAbs) {
  expectValues("neg.f32 %r0, %r1;", {{{one}, {f32(-1)}}, {{0}, {kNegZero}}, {{kNegZero}, {0}}, {{kInf}, {kNegInf}}, {{kTiny}, {kTiny | kNegZero}}});
  expectValues("neg.ftz.f32 %r0, %r1;", {{{one}, {f32(-1)}}, {{kTiny}, {kNegZero}}, {{kTiny | kNegZero}, {0}}});
  expectValues("neg.f64 %l0, %l1;", {{{one64}, {f64(-1)}}, {{0}, {negZero64}}, {{kTiny64}, {kTiny64 | negZero64}}});
  expectValues("abs.f32 %r0, %r1;", {{{f32(-1)}, {one}}, {{kNegZero}, {0}}, {{kNegInf}, {kInf}}, {{kTiny | kNegZero}, {kTiny}}});
  expectValues("abs.ftz.f32 %r0, %r1;", {{{f32(-1)}, {one}}, {{kTiny | kNegZero}, {0}}});
  expectValues("abs.f64 %l0, %l1;", {{{f64(-1)}, {one64}}, {{negZero64}, {0}}});
}

TEST(FloatTest, MinMax) {
  expectValues("min.f32 %r0, %r1, %r2;",
               {{{one, two}, {one}}, {{two, one}, {one}}, {{kNegZero, 0}, {kNegZero}}, {{0, kNegZero}, {kNegZero}},
                {{kQuietNaN, one}, {one}}, {{one, kQuietNaN}, {one}}, {{kQuietNaN, kNegNaN}, {kNaN}},
                {{kNegInf, one}, {kNegInf}}, {{kTiny, 0}, {0}}});
  expectValues("max.f32 %r0, %r1, %r2;",
               {{{one, two}, {two}}, {{kNegZero, 0}, {0}}, {{0, kNegZero}, {0}}, {{kQuietNaN, one}, {one}},
                {{one, kQuietNaN}, {one}}, {{kQuietNaN, kNegNaN}, {kNaN}}, {{kTiny, 0}, {kTiny}}});
  expectValues("min.NaN.f32 %r0, %r1, %r2;", {{{kQuietNaN, one}, {kNaN}}, {{one, kNegNaN}, {kNaN}}, {{one, two}, {one}}});
  expectValues("max.NaN.f32 %r0, %r1, %r2;", {{{kQuietNaN, one}, {kNaN}}, {{one, kNegNaN}, {kNaN}}, {{one, two}, {two}}});
  expectValues("min.ftz.f32 %r0, %r1, %r2;", {{{kTiny, one}, {0}}, {{kTiny | kNegZero, 0}, {kNegZero}}});
  expectValues("max.ftz.f32 %r0, %r1, %r2;", {{{kTiny, 0}, {0}}, {{kTiny, kNegZero}, {0}}});
  expectValues("max.ftz.NaN.f32 %r0, %r1, %r2;", {{{kTiny, kQuietNaN}, {kNaN}}, {{kTiny, kNegZero}, {0}}});
  // The larger magnitude, with the product of the signs.
  expectValues("max.xorsign.abs.f32 %r0, %r1, %r2;",
               {{{f32(-3), two}, {f32(-3)}}, {{f32(-3), f32(-2)}, {three}}, {{two, three}, {three}},
                {{one, f32(-2)}, {f32(-2)}}, {{kQuietNaN, f32(-2)}, {f32(-2)}}, {{kQuietNaN, kNegNaN}, {kNaN}}});
  expectValues("min.xorsign.abs.f32 %r0, %r1, %r2;", {{{f32(-3), two}, {f32(-2)}}, {{f32(-3), f32(-2)}, {two}}});
  expectValues("min.NaN.xorsign.abs.f32 %r0, %r1, %r2;", {{{kQuietNaN, two}, {kNaN}}, {{f32(-3), f32(-2)}, {two}}});
  expectValues("min.ftz.xorsign.abs.f32 %r0, %r1, %r2;", {{{kTiny | kNegZero, two}, {kNegZero}}});
  expectValues("max.f32 %r0, %r1, %r2, %r3;", {{{one, three, two}, {three}}, {{kQuietNaN, one, two}, {two}}});
  expectValues("min.f32 %r0, %r1, %r2, %r3;", {{{three, one, two}, {one}}, {{kQuietNaN, kQuietNaN, kQuietNaN}, {kNaN}}});
  expectValues("min.NaN.f32 %r0, %r1, %r2, %r3;", {{{three, kQuietNaN, two}, {kNaN}}});
  expectValues("min.f64 %l0, %l1, %l2;", {{{one64, f64(2)}, {one64}}, {{0, negZero64}, {negZero64}}, {{f64(NAN), one64}, {one64}}});
  expectValues("max.f64 %l0, %l1, %l2;", {{{one64, f64(2)}, {f64(2)}}, {{negZero64, 0}, {0}}, {{one64, f64(NAN)}, {one64}}});
  expectRefused("min.NaN.f64 %l0, %l1, %l2;", "does not support");
  expectRefused("min.xorsign.f32 %r0, %r1, %r2;", "expected .xorsign.abs");
}

TEST(FloatTest, SqrtRcp) {
  // sqrt(2) = 1.41421356237..., 0x3FB504F3.33
  expectValues("sqrt.rn.f32 %r0, %r1;",
               {{{two}, {0x3FB504F3}}, {{f32(4)}, {two}}, {{f32(-1)}, {kNaN}}, {{kNegZero}, {kNegZero}}, {{kInf}, {kInf}}});
  expectValues("sqrt.rz.f32 %r0, %r1;", {{{two}, {0x3FB504F3}}});
  expectValues("sqrt.rm.f32 %r0, %r1;", {{{two}, {0x3FB504F3}}});
  expectValues("sqrt.rp.f32 %r0, %r1;", {{{two}, {0x3FB504F4}}, {{f32(4)}, {two}}});
  expectValues("sqrt.rn.ftz.f32 %r0, %r1;", {{{kTiny}, {0}}, {{kTiny | kNegZero}, {kNegZero}}});
  expectValues("sqrt.rn.f64 %l0, %l1;", {{{f64(2)}, {0x3FF6A09E667F3BCD}}, {{f64(4)}, {f64(2)}}});
  expectValues("sqrt.rm.f64 %l0, %l1;", {{{f64(2)}, {0x3FF6A09E667F3BCC}}});
  expectValues("rcp.rn.f32 %r0, %r1;",
               {{{three}, {0x3EAAAAAB}}, {{two}, {half}}, {{0}, {kInf}}, {{kNegZero}, {kNegInf}}, {{kInf}, {0}},
                {{kNegInf}, {kNegZero}}, {{f32(0x1p127f)}, {kSubnormal}}});
  expectValues("rcp.rz.f32 %r0, %r1;", {{{three}, {0x3EAAAAAA}}});
  expectValues("rcp.rm.f32 %r0, %r1;", {{{f32(-3)}, {0xBEAAAAAB}}});
  expectValues("rcp.rp.f32 %r0, %r1;", {{{f32(-3)}, {0xBEAAAAAA}}});
  expectValues("rcp.rn.ftz.f32 %r0, %r1;", {{{f32(0x1p127f)}, {0}}, {{kSubnormal}, {kInf}}, {{kSubnormal | kNegZero}, {kNegInf}}});
  expectValues("rcp.rn.f64 %l0, %l1;", {{{f64(3)}, {0x3FD5555555555555}}});
  expectValues("rcp.rp.f64 %l0, %l1;", {{{f64(3)}, {0x3FD5555555555556}}});
  expectRefused("sqrt.approx.f64 %l0, %l1;", "does not support");
  expectRefused("rcp.approx.f64 %l0, %l1;", "does not support");
}

TEST(FloatTest, CopySign) {
  // The sign of a, the magnitude of b.
  expectValues("copysign.f32 %r0, %r1, %r2;",
               {{{f32(-1), two}, {f32(-2)}}, {{one, f32(-2)}, {two}}, {{kNegZero, kInf}, {kNegInf}}});
  expectValues("copysign.f64 %l0, %l1, %l2;", {{{f64(-1), f64(2)}, {f64(-2)}}, {{0, f64(-2)}, {f64(2)}}});
}

TEST(FloatTest, Constants) {
  expectValues("add.f32 %r0, %r1, 0f3F800000;", {{{two}, {three}}});
  expectValues("add.f32 %r0, %r1, 0F40000000;", {{{one}, {three}}});
  expectValues("add.f32 %r0, %r1, 0d3FF0000000000000;", {{{two}, {three}}});
  expectValues("add.f32 %r0, %r1, 1.0;", {{{two}, {three}}});
  expectValues("add.f64 %l0, %l1, 0d3FF0000000000000;", {{{f64(2)}, {f64(3)}}});
  expectValues("add.f64 %l0, %l1, 1.5;", {{{f64(2)}, {f64(3.5)}}});
}

//===----------------------------------------------------------------------===//
// Approximations
//===----------------------------------------------------------------------===//

/// Numbers from `low` to `high`, evenly or (both positive) by their exponents.
static std::vector<uint64_t> sweep(double low, double high, bool isLogarithmic,
                                   unsigned count = 4096) {
  std::mt19937 random(7);
  std::uniform_real_distribution<double> distribution(
      isLogarithmic ? std::log(low) : low, isLogarithmic ? std::log(high) : high);
  std::vector<uint64_t> values;
  for (unsigned i = 0; i < count; ++i) {
    double value = distribution(random);
    values.push_back(f32(float(isLogarithmic ? std::exp(value) : value)));
  }
  return values;
}

/// Errors of at most `relative` times the result plus `absolute`.
static void expectNear(const std::string &text, const std::vector<uint64_t> &inputs,
                       const std::function<long double(long double)> &function,
                       long double relative, long double absolute) {
  std::vector<uint64_t> results = evaluate(text, inputs);
  for (size_t i = 0; i < inputs.size(); ++i) {
    long double expected = function(toF32(inputs[i]));
    long double error = std::fabs(toF32(results[i]) - expected);
    ASSERT_LE(error, relative * std::fabs(expected) + absolute)
        << text << " of " << toF32(inputs[i]) << " is " << toF32(results[i]);
  }
}

TEST(FloatTest, Ex2) {
  auto exp2 = [](long double x) { return std::exp2(x); };
  for (const char *text : {"ex2.approx.f32 %r0, %r1;", "ex2.approx.ftz.f32 %r0, %r1;"}) {
    expectNear(text, sweep(-126, 127.9, false), exp2, 0x1p-22L, 0);
    expectNear(text, sweep(-1, 1, false), exp2, 0x1p-22L, 0);
    expectValues(text, {{{0}, {one}}, {{kNegZero}, {one}}, {{f32(10)}, {f32(1024)}}, {{f32(-3)}, {f32(0.125f)}},
                        {{kInf}, {kInf}}, {{kNegInf}, {0}}, {{kQuietNaN}, {kNaN}}, {{f32(128)}, {kInf}},
                        {{f32(-200)}, {0}}, {{kTiny}, {one}}, {{f32(1e30f)}, {kInf}}, {{f32(-1e30f)}, {0}}});
  }
  expectValues("ex2.approx.f32 %r0, %r1;", {{{f32(-127)}, {kSubnormal}}, {{f32(-149)}, {kTiny}}});
  expectValues("ex2.approx.ftz.f32 %r0, %r1;", {{{f32(-127)}, {0}}, {{f32(-126)}, {kSmallest}}});
  expectNear("ex2.approx.f32 %r0, %r1;", sweep(-148, -126, false), exp2, 0x1p-22L, 0x1p-149L);
  expectRefused("ex2.f32 %r0, %r1;", "expected .approx");
}

TEST(FloatTest, Lg2) {
  auto log2 = [](long double x) { return std::log2(x); };
  for (const char *text : {"lg2.approx.f32 %r0, %r1;", "lg2.approx.ftz.f32 %r0, %r1;"}) {
    expectNear(text, sweep(0.5, 2, false), log2, 0, 0x1p-22L);
    expectNear(text, sweep(2, 3e38, true), log2, 0x1p-22L, 0);
    expectNear(text, sweep(1.2e-38, 0.5, true), log2, 0x1p-22L, 0);
    expectValues(text, {{{one}, {0}}, {{0}, {kNegInf}}, {{kNegZero}, {kNegInf}}, {{f32(-1)}, {kNaN}},
                        {{kInf}, {kInf}}, {{kNegInf}, {kNaN}}, {{kQuietNaN}, {kNaN}}, {{f32(8)}, {three}}});
  }
  expectValues("lg2.approx.f32 %r0, %r1;", {{{kTiny}, {f32(-149)}}});
  expectValues("lg2.approx.ftz.f32 %r0, %r1;", {{{kTiny}, {kNegInf}}});
}

TEST(FloatTest, ApproximateReciprocals) {
  auto rcp = [](long double x) { return 1 / x; };
  auto rsqrt = [](long double x) { return 1 / std::sqrt(x); };
  auto sqrt = [](long double x) { return std::sqrt(x); };
  std::vector<uint64_t> all = sweep(1.3e-38, 8e37, true);
  for (std::string ftz : {"", ".ftz"}) {
    expectNear("rcp.approx" + ftz + ".f32 %r0, %r1;", all, rcp, 0x1p-23L, 0);
    expectNear("rsqrt.approx" + ftz + ".f32 %r0, %r1;", all, rsqrt, 0x1p-22L, 0);
    expectNear("sqrt.approx" + ftz + ".f32 %r0, %r1;", all, sqrt, 0x1p-22L, 0);
    expectValues("rcp.approx" + ftz + ".f32 %r0, %r1;",
                 {{{0}, {kInf}}, {{kNegZero}, {kNegInf}}, {{kInf}, {0}}, {{kNegInf}, {kNegZero}}, {{kQuietNaN}, {kNaN}}, {{two}, {half}}});
    expectValues("rsqrt.approx" + ftz + ".f32 %r0, %r1;",
                 {{{0}, {kInf}}, {{kNegZero}, {kNegInf}}, {{kInf}, {0}}, {{kNegInf}, {kNaN}}, {{f32(-1)}, {kNaN}}, {{f32(4)}, {half}}});
    expectValues("sqrt.approx" + ftz + ".f32 %r0, %r1;",
                 {{{0}, {0}}, {{kNegZero}, {kNegZero}}, {{kInf}, {kInf}}, {{f32(-1)}, {kNaN}}, {{f32(4)}, {two}}});
  }
  expectValues("rsqrt.approx.ftz.f32 %r0, %r1;", {{{kTiny}, {kInf}}, {{kTiny | kNegZero}, {kNegInf}}});
  expectValues("rcp.approx.ftz.f32 %r0, %r1;", {{{kTiny}, {kInf}}, {{f32(0x1p127f)}, {0}}});
  expectValues("rcp.approx.f32 %r0, %r1;", {{{f32(0x1p127f)}, {kSubnormal}}, {{kSubnormal}, {f32(0x1p127f)}}});
  expectValues("rsqrt.approx.f64 %l0, %l1;", {{{f64(4)}, {f64(0.5)}}, {{0}, {kInf64}}});
  expectValues("rsqrt.approx.ftz.f64 %l0, %l1;", {{{f64(4)}, {f64(0.5)}}});
  expectRefused("rsqrt.rn.f32 %r0, %r1;", "expected .approx");
}

// 2 ulp, where .approx holds |b| to 2^-126 .. 2^126; above it gives 0, and NaN of
// an infinity.
TEST(FloatTest, ApproximateQuotients) {
  std::vector<uint64_t> a = sweep(1e-18, 1e18, true), b = sweep(1e-18, 1e18, true);
  std::vector<std::vector<uint64_t>> rows;
  for (size_t i = 0; i < a.size(); ++i)
    rows.push_back({a[i], b[(i * 7 + 1) % b.size()]});
  for (const char *mode : {"approx", "full", "approx.ftz", "full.ftz"}) {
    std::string text = std::string("div.") + mode + ".f32 %r0, %r1, %r2;";
    Outcome outcome = evaluateRows(text, rows);
    for (size_t i = 0; i < rows.size(); ++i) {
      long double exact = (long double)(toF32(rows[i][0])) / toF32(rows[i][1]);
      ASSERT_LE(std::fabs(toF32(outcome.results[i][0]) - exact), 0x1p-22L * exact) << text;
    }
    expectValues(text, {{{one, 0}, {kInf}}, {{0, 0}, {kNaN}}, {{kInf, two}, {kInf}}, {{one, kInf}, {0}}, {{f32(6), three}, {two}}});
  }
  expectValues("div.approx.f32 %r0, %r1, %r2;",
               {{{f32(0x1p100f), f32(0x1.8p126f)}, {0}}, {{kInf, f32(0x1.8p126f)}, {kNaN}}, {{f32(0x1p126f), f32(0x1p126f)}, {one}}});
  expectValues("div.full.f32 %r0, %r1, %r2;", {{{f32(0x1.8p126f), f32(0x1.8p126f)}, {one}}});
  expectValues("div.full.ftz.f32 %r0, %r1, %r2;", {{{kTiny, one}, {0}}, {{one, kTiny}, {kInf}}});
}

TEST(FloatTest, Trigonometry) {
  auto sin = [](long double x) { return std::sin(x); };
  auto cos = [](long double x) { return std::cos(x); };
  for (std::string ftz : {"", ".ftz"}) {
    expectNear("sin.approx" + ftz + ".f32 %r0, %r1;", sweep(-6.2831853, 6.2831853, false), sin, 0, 0x1p-20L);
    expectNear("cos.approx" + ftz + ".f32 %r0, %r1;", sweep(-6.2831853, 6.2831853, false), cos, 0, 0x1p-20L);
    expectValues("sin.approx" + ftz + ".f32 %r0, %r1;", {{{0}, {0}}, {{kNegZero}, {kNegZero}}, {{kInf}, {kNaN}}, {{kNegInf}, {kNaN}}, {{kQuietNaN}, {kNaN}}});
    expectValues("cos.approx" + ftz + ".f32 %r0, %r1;", {{{0}, {one}}, {{kNegZero}, {one}}, {{kInf}, {kNaN}}, {{kTiny}, {one}}});
  }
  expectValues("sin.approx.ftz.f32 %r0, %r1;", {{{kTiny | kNegZero}, {kNegZero}}});
  expectValues("sin.approx.f32 %r0, %r1;", {{{kTiny}, {kTiny}}});
}

TEST(FloatTest, Tanh) {
  expectNear("tanh.approx.f32 %r0, %r1;", sweep(-10, 10, false),
             [](long double x) { return std::tanh(x); }, 0x1p-11L, 0);
  expectValues("tanh.approx.f32 %r0, %r1;",
               {{{0}, {0}}, {{kNegZero}, {kNegZero}}, {{kInf}, {one}}, {{kNegInf}, {f32(-1)}}, {{kQuietNaN}, {kNaN}}, {{kTiny}, {kTiny}}});
}
