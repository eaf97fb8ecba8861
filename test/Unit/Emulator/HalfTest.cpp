//===- HalfTest.cpp - f16 and bf16 arithmetic -----------------------------===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// f16: 1 is 0x3C00, the next number 2^-10 above. bf16: 1 is 0x3F80, 2^-7.
//===----------------------------------------------------------------------===//
#include "PTXRunner.h"

#include <gtest/gtest.h>

#include "Emulator/Numerics.h"

#include <cmath>

using namespace kvc::emu;
using namespace kvc::emu::test;

/// Runs `op` of a 16-bit type and of its packed one, where the high half has the
/// rows in another order.
static void expectHalves(const std::string &op, const std::string &type,
                         const std::vector<Values> &rows) {
  size_t operands = rows[0].inputs.size();
  std::string scalar = op + "." + type + " %h0", packed = op + "." + type + "x2 %r0";
  for (size_t i = 1; i <= operands; ++i) {
    scalar += ", %h" + std::to_string(i);
    packed += ", %r" + std::to_string(i);
  }
  expectValues(scalar + ";", rows);
  std::vector<Values> pairs;
  for (size_t i = 0; i < rows.size(); ++i) {
    const Values &high = rows[(i + 1) % rows.size()];
    Values pair = rows[i];
    for (size_t k = 0; k < operands; ++k)
      pair.inputs[k] |= high.inputs[k] << 16;
    pair.results[0] |= high.results[0] << 16;
    pairs.push_back(pair);
  }
  expectValues(packed + ";", pairs);
}

TEST(HalfTest, AddF16) {
  // 2048 + 1 is a tie between 2048 and 2050.
  for (const char *op : {"add", "add.rn"})
    expectHalves(op, "f16",
                 {{{0x3C00, 0x4000}, {0x4200}}, {{0x6800, 0x3C00}, {0x6800}}, {{0x6801, 0x3C00}, {0x6802}},
                  {{0x7BFF, 0x7BFF}, {0x7C00}}, {{0x7C00, 0xFC00}, {0x7FFF}}, {{0x8000, 0x8000}, {0x8000}},
                  {{0x8000, 0}, {0}}, {{1, 1}, {2}}, {{0xFE00, 0x3C00}, {0x7FFF}},
                    {{0x6800, 0x3C01}, {0x6801}}});
  expectHalves("add.ftz", "f16", {{{1, 1}, {0}}, {{0x8001, 0x8000}, {0x8000}}, {{0x0401, 0x8400}, {0}}, {{0x3C00, 1}, {0x3C00}}});
  expectHalves("add.sat", "f16", {{{0x3C00, 0x3C00}, {0x3C00}}, {{0xBC00, 0}, {0}}, {{0x7E00, 0}, {0}}, {{0x3400, 0x3400}, {0x3800}}});
}

TEST(HalfTest, SubMulF16) {
  expectHalves("sub", "f16", {{{0x4200, 0x3C00}, {0x4000}}, {{0x7C00, 0x7C00}, {0x7FFF}}, {{0, 0}, {0}}, {{0x8000, 0}, {0x8000}}});
  expectHalves("sub.ftz.sat", "f16", {{{0x4200, 0x3C00}, {0x3C00}}, {{0x3C00, 0x4200}, {0}}, {{2, 1}, {0}}});
  // (1 + 2^-10)^2 = 1 + 2^-9 + 2^-20
  expectHalves("mul", "f16",
               {{{0x3C01, 0x3C01}, {0x3C02}}, {{0x4000, 0x4200}, {0x4600}}, {{0x7C00, 0}, {0x7FFF}},
                {{0x0400, 0x3800}, {0x0200}}, {{1, 0x3800}, {0}}, {{3, 0x3800}, {2}}, {{0x8000, 0x3C00}, {0x8000}}});
  expectHalves("mul.ftz", "f16", {{{0x0400, 0x3800}, {0}}, {{0x8400, 0x3800}, {0x8000}}});
  expectHalves("mul.sat", "f16", {{{0x4000, 0x4200}, {0x3C00}}, {{0xC000, 0x4200}, {0}}});
}

TEST(HalfTest, FmaF16) {
  // (1 + 2^-10)^2 - (1 + 2^-9) = 2^-20, which is 16 * 2^-24.
  expectHalves("fma.rn", "f16",
               {{{0x3C01, 0x3C01, 0xBC02}, {0x0010}}, {{0x4000, 0x4200, 0x3C00}, {0x4700}},
                {{0x7C00, 0, 0x3C00}, {0x7FFF}}, {{0x7BFF, 0x4000, 0xFBFF}, {0x7BFF}},
                {{0x3C00, 0x3C00, 0xBC00}, {0}}, {{0x6800, 0x3C00, 0x3C00}, {0x6800}}});
  expectHalves("fma.rn.relu", "f16", {{{0x3C00, 0xBC00, 0}, {0}}, {{0x4000, 0x4200, 0x3C00}, {0x4700}}, {{0x7E00, 0, 0}, {0x7FFF}}});
  expectHalves("fma.rn.sat", "f16", {{{0x4000, 0x4200, 0x3C00}, {0x3C00}}, {{0x4000, 0xC200, 0x3C00}, {0}}, {{0x7E00, 0, 0}, {0}}});
  expectHalves("fma.rn.ftz", "f16", {{{0x3C01, 0x3C01, 0xBC02}, {0}}, {{1, 0x4000, 0x3C00}, {0x3C00}}});
}

TEST(HalfTest, BF16) {
  // 256 + 1 is a tie between 256 and 258.
  expectHalves("add.rn", "bf16",
               {{{0x3F80, 0x4000}, {0x4040}}, {{0x4380, 0x3F80}, {0x4380}}, {{0x4381, 0x3F80}, {0x4382}},
                {{0x7F7F, 0x7F7F}, {0x7F80}}, {{0x7F80, 0xFF80}, {0x7FFF}}, {{1, 1}, {2}}, {{0x4380, 0x3F81}, {0x4381}}});
  expectHalves("sub.rn", "bf16", {{{0x4040, 0x3F80}, {0x4000}}, {{0, 0}, {0}}});
  // (1 + 2^-7)^2 = 1 + 2^-6 + 2^-14
  expectHalves("mul.rn", "bf16", {{{0x3F81, 0x3F81}, {0x3F82}}, {{0x4000, 0x4040}, {0x40C0}}, {{0x0080, 0x3F00}, {0x0040}}});
  expectHalves("fma.rn", "bf16",
               {{{0x3F81, 0x3F81, 0xBF82}, {0x3880}}, {{0x4000, 0x4040, 0x3F80}, {0x40E0}},
                {{0x7F80, 0, 0}, {0x7FFF}}, {{0x4380, 0x3F80, 0x3F80}, {0x4380}}});
  expectHalves("fma.rn.relu", "bf16", {{{0x3F80, 0xBF80, 0}, {0}}, {{0x4000, 0x4040, 0x3F80}, {0x40E0}}});
}

// 7 * 37 = 259 is a tie between 258 and 260, 9 * 29 = 261 one between 260 and 262: a
// c that f64 cannot hold beside them decides.
TEST(HalfTest, FmaRoundsOnce) {
  expectHalves("fma.rn", "bf16",
               {{{0x40E0, 0x4214, 0}, {0x4382}}, {{0x40E0, 0x4214, 0x8080}, {0x4381}},
                {{0x4110, 0x41E8, 0}, {0x4382}}, {{0x4110, 0x41E8, 0x0080}, {0x4383}},
                // 2^-133 times 1/2, with and without 2^-133.
                {{0x0001, 0x3F00, 0x0001}, {0x0002}}, {{0x0001, 0x3F00, 0}, {0}}});
  // 7 * 293 = 2051, between 2050 and 2052.
  expectHalves("fma.rn", "f16",
               {{{0x4700, 0x5C94, 0}, {0x6802}}, {{0x4700, 0x5C94, 0x8001}, {0x6801}}, {{0x4700, 0x5C94, 1}, {0x6802}}});
}

TEST(HalfTest, NegAbs) {
  for (const char *type : {"f16", "bf16"}) {
    expectHalves("neg", type, {{{0x3C00}, {0xBC00}}, {{0x8000}, {0}}, {{1}, {0x8001}}});
    expectHalves("abs", type, {{{0xBC00}, {0x3C00}}, {{0x8000}, {0}}, {{0x8001}, {1}}});
  }
  expectHalves("neg.ftz", "f16", {{{1}, {0x8000}}, {{0x3C00}, {0xBC00}}});
  expectHalves("abs.ftz", "f16", {{{0x8001}, {0}}, {{0xBC00}, {0x3C00}}});
}

TEST(HalfTest, MinMax) {
  struct Format {
    const char *name;
    uint64_t one, two, nan;
  };
  for (const Format &f : {Format{"f16", 0x3C00, 0x4000, 0x7E01}, Format{"bf16", 0x3F80, 0x4000, 0x7FC1}}) {
    uint64_t minusOne = f.one | 0x8000, minusTwo = f.two | 0x8000;
    expectHalves("min", f.name,
                 {{{f.one, f.two}, {f.one}}, {{f.two, minusOne}, {minusOne}}, {{0, 0x8000}, {0x8000}},
                  {{0x8000, 0}, {0x8000}}, {{f.nan, f.one}, {f.one}}, {{f.one, f.nan}, {f.one}}, {{f.nan, f.nan}, {0x7FFF}}});
    expectHalves("max", f.name,
                 {{{f.one, f.two}, {f.two}}, {{0, 0x8000}, {0}}, {{0x8000, 0}, {0}}, {{minusOne, minusTwo}, {minusOne}},
                  {{f.nan, f.one}, {f.one}}, {{f.nan, f.nan | 0x8000}, {0x7FFF}}});
    expectHalves("min.NaN", f.name, {{{f.nan, f.one}, {0x7FFF}}, {{f.one, f.two}, {f.one}}});
    expectHalves("max.NaN", f.name, {{{f.one, f.nan}, {0x7FFF}}, {{f.one, f.two}, {f.two}}});
    expectHalves("max.xorsign.abs", f.name, {{{minusTwo, f.one}, {minusTwo}}, {{minusTwo, minusOne}, {f.two}}, {{f.nan, minusOne}, {minusOne}}});
    expectHalves("min.xorsign.abs", f.name, {{{minusTwo, f.one}, {minusOne}}, {{minusTwo, minusOne}, {f.one}}});
  }
  expectHalves("max.ftz", "f16", {{{1, 0}, {0}}, {{1, 0x8000}, {0}}});
  expectHalves("min.ftz", "f16", {{{0x8001, 0}, {0x8000}}, {{0x3C00, 0x4000}, {0x3C00}}});
}

TEST(HalfTest, Approximations) {
  expectHalves("ex2.approx", "f16", {{{0}, {0x3C00}}, {{0x4200}, {0x4800}}, {{0xFC00}, {0}}, {{0x7C00}, {0x7C00}}, {{0x7E00}, {0x7FFF}}, {{0x4C00}, {0x7C00}}});
  expectHalves("ex2.approx.ftz", "bf16", {{{0}, {0x3F80}}, {{0x4040}, {0x4100}}, {{0xFF80}, {0}}, {{0x7F80}, {0x7F80}}, {{1}, {0x3F80}}});
  expectHalves("tanh.approx", "f16", {{{0}, {0}}, {{0x8000}, {0x8000}}, {{0x7C00}, {0x3C00}}, {{0xFC00}, {0xBC00}}, {{0x7E00}, {0x7FFF}}});
  expectHalves("tanh.approx", "bf16", {{{0}, {0}}, {{0x7F80}, {0x3F80}}, {{0xFF80}, {0xBF80}}});
  // All f16 numbers, within the errors that PTX states.
  std::vector<uint64_t> inputs;
  for (uint64_t bits = 0; bits < 0x10000; bits += 5)
    inputs.push_back(bits);
  std::vector<uint64_t> exp = evaluate("ex2.approx.f16 %h0, %h1;", inputs);
  std::vector<uint64_t> tanh = evaluate("tanh.approx.f16 %h0, %h1;", inputs);
  for (size_t i = 0; i < inputs.size(); ++i) {
    double x = f16ToF32(uint16_t(inputs[i]));
    if (std::isnan(x))
      continue;
    double expected = std::exp2(x);
    if (expected < 65000) {
      ASSERT_LE(std::fabs(f16ToF32(uint16_t(exp[i])) - expected), std::exp2(-9.9) * std::max(expected, 0x1p-14)) << x;
    }
    ASSERT_LE(std::fabs(f16ToF32(uint16_t(tanh[i])) - std::tanh(x)), std::exp2(-10.987)) << x;
  }
  expectRefused("lg2.approx.f16 %h0, %h1;", "does not support the type .f16");
  expectRefused("ex2.f16 %h0, %h1;", "expected .approx");
}

// A few thousand pairs of numbers: sums and products by f64, which holds them
// exactly or, of distant bf16, rounds them to the larger one as bf16 would.
static void sweepPairs(const std::string &type, bool isBF16) {
  auto widen = [=](uint64_t bits) -> double { return isBF16 ? bf16ToF32(uint16_t(bits)) : f16ToF32(uint16_t(bits)); };
  auto narrow = [=](double value) { return isBF16 ? f64ToBF16(value, Rounding::NearestEven) : f64ToF16(value, Rounding::NearestEven); };
  std::vector<std::vector<uint64_t>> rows;
  uint32_t state = 1;
  for (int i = 0; i < 8192; ++i) {
    state = state * 1664525 + 1013904223;
    uint64_t a = state >> 16, b = (state >> 3) & 0xFFFF;
    // Every other pair has exponents that are close.
    rows.push_back({a, i % 2 ? b : (a & 0x7C00) ^ (b & 0x87FF)});
  }
  Outcome sum = evaluateRows("add.rn." + type + " %h0, %h1, %h2;", rows);
  Outcome difference = evaluateRows("sub.rn." + type + " %h0, %h1, %h2;", rows);
  Outcome product = evaluateRows("mul.rn." + type + " %h0, %h1, %h2;", rows);
  for (size_t i = 0; i < rows.size(); ++i) {
    double a = widen(rows[i][0]), b = widen(rows[i][1]);
    ASSERT_EQ(sum.results[i][0], narrow(a + b)) << a << " + " << b;
    ASSERT_EQ(difference.results[i][0], narrow(a - b)) << a << " - " << b;
    ASSERT_EQ(product.results[i][0], narrow(a * b)) << a << " * " << b;
  }
}

TEST(HalfTest, SweepF16) { sweepPairs("f16", false); }
TEST(HalfTest, SweepBF16) { sweepPairs("bf16", true); }
