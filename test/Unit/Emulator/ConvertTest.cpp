//===- ConvertTest.cpp - cvt ----------------------------------------------===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "PTXRunner.h"

#include <gtest/gtest.h>

#include <cmath>

using namespace kvc::emu;
using namespace kvc::emu::test;

static constexpr uint64_t kNaN64 = 0x7FF8000000000000, kInf64 = 0x7FF0000000000000;
static constexpr uint64_t kTop = uint64_t(1) << 63, kOnes = ~uint64_t(0);

namespace {
struct IntegerType {
  const char *name;
  unsigned bits;
  bool isSigned;
};
} // namespace
static const IntegerType kIntegers[] = {{"u8", 8, false},   {"s8", 8, true},
                                        {"u16", 16, false}, {"s16", 16, true},
                                        {"u32", 32, false}, {"s32", 32, true},
                                        {"u64", 64, false}, {"s64", 64, true}};

/// The value of the low bits, in two's complement if the type is signed.
static __int128 interpret(uint64_t bits, const IntegerType &type) {
  if (type.bits < 64)
    bits &= (uint64_t(1) << type.bits) - 1;
  bool isNegative = type.isSigned && (bits >> (type.bits - 1) & 1);
  return __int128(bits) - (isNegative ? __int128(1) << type.bits : 0);
}

/// Registers that hold a type, which may be wider.
static std::string getRegisters(const IntegerType &type) {
  return type.bits <= 16 ? "hrl" : type.bits == 32 ? "rl" : "l";
}

static unsigned getBits(char reg) { return reg == 'h' ? 16 : reg == 'r' ? 32 : 64; }

static const uint64_t kValues[] = {0,          1,          0x7F,       0x80,       0xFF,
                                   0x100,      0x7FFF,     0x8000,     0xFFFF,     0x12345,
                                   0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, 0x100000080, kTop - 1,
                                   kTop,       kOnes,      0xFFFFFFFFFFFFFF80, 0x1234567890ABCDEF};

// Of each integer type to each, from and to registers that fit or are wider: cut to
// the type, then extended by its sign to the register.
TEST(ConvertTest, Integers) {
  for (const IntegerType &from : kIntegers)
    for (const IntegerType &to : kIntegers)
      for (char source : getRegisters(from))
        for (char result : getRegisters(to)) {
          std::vector<Values> rows, saturated;
          __int128 most = (__int128(1) << (to.bits - to.isSigned)) - 1;
          __int128 least = to.isSigned ? -most - 1 : 0;
          for (uint64_t bits : kValues) {
            __int128 value = interpret(bits, from);
            auto extend = [&](__int128 x) {
              uint64_t extended = uint64_t(interpret(uint64_t(x), to));
              unsigned width = getBits(result);
              return width == 64 ? extended : extended & ((uint64_t(1) << width) - 1);
            };
            rows.push_back({{bits}, {extend(value)}});
            saturated.push_back({{bits}, {extend(value < least ? least : value > most ? most : value)}});
          }
          std::string tail = std::string(".") + to.name + "." + from.name + " %" + result + "0, %" + source + "1;";
          expectValues("cvt" + tail, rows);
          expectValues("cvt.sat" + tail, saturated);
        }
}

TEST(ConvertTest, IntegersToFloats) {
  expectValues("cvt.rn.f32.s32 %r0, %r1;", {{{3}, {f32(3)}}, {{0xFFFFFFFF}, {f32(-1)}}, {{0x80000000}, {f32(-0x1p31f)}}, {{0x1000001}, {f32(0x1p24f)}}, {{0x1000003}, {f32(0x1.000004p24f)}}, {{0}, {0}}});
  expectValues("cvt.rn.f32.u32 %r0, %r1;", {{{0xFFFFFFFF}, {f32(0x1p32f)}}, {{0x80000000}, {f32(0x1p31f)}}});
  expectValues("cvt.rz.f32.u32 %r0, %r1;", {{{0xFFFFFFFF}, {0x4F7FFFFF}}});
  expectValues("cvt.rm.f32.s32 %r0, %r1;", {{{0x1000001}, {f32(0x1p24f)}}, {{0xFEFFFFFF}, {f32(-0x1.000002p24f)}}});
  expectValues("cvt.rp.f32.s32 %r0, %r1;", {{{0x1000001}, {f32(0x1.000002p24f)}}, {{0xFEFFFFFF}, {f32(-0x1p24f)}}});
  expectValues("cvt.rn.f32.u8 %r0, %r1;", {{{0x1FF}, {f32(255)}}});
  expectValues("cvt.rn.f32.s8 %r0, %h1;", {{{0xFF}, {f32(-1)}}});
  expectValues("cvt.rn.f32.u16 %r0, %h1;", {{{0xFFFF}, {f32(65535)}}});
  expectValues("cvt.rn.f32.s16 %r0, %h1;", {{{0xFFFF}, {f32(-1)}}});
  expectValues("cvt.rn.f32.s32 %r0, %l1;", {{{0x1FFFFFFFF}, {f32(-1)}}});
  // 2^40 + 2^16 + 1 lies just above a tie of f32; f64 in between would not show it.
  expectValues("cvt.rn.f32.u64 %r0, %l1;", {{{kOnes}, {f32(0x1p64f)}}, {{(uint64_t(1) << 40) + (1 << 16) + 1}, {f32(0x1.000002p40f)}},
                                            {{(uint64_t(1) << 62) + (uint64_t(1) << 38) + 1}, {f32(0x1.000002p62f)}}, {{(uint64_t(1) << 62) + (uint64_t(1) << 38)}, {f32(0x1p62f)}}});
  expectValues("cvt.rz.f32.u64 %r0, %l1;", {{{kOnes}, {0x5F7FFFFF}}});
  expectValues("cvt.rn.f32.s64 %r0, %l1;", {{{kOnes}, {f32(-1)}}, {{kTop}, {f32(-0x1p63f)}}});
  expectValues("cvt.rn.f64.s32 %l0, %r1;", {{{0xFFFFFFFF}, {f64(-1)}}});
  expectValues("cvt.rn.f64.u32 %l0, %r1;", {{{0xFFFFFFFF}, {f64(4294967295.0)}}});
  expectValues("cvt.rn.f64.u64 %l0, %l1;", {{{kOnes}, {f64(0x1p64)}}, {{(uint64_t(1) << 53) + 1}, {f64(0x1p53)}}, {{(uint64_t(1) << 53) + 3}, {f64(0x1.0000000000002p53)}}});
  expectValues("cvt.rp.f64.u64 %l0, %l1;", {{{(uint64_t(1) << 53) + 1}, {f64(0x1.0000000000001p53)}}});
  expectValues("cvt.rz.f64.u64 %l0, %l1;", {{{kOnes}, {0x43EFFFFFFFFFFFFF}}});
  expectValues("cvt.rm.f64.s64 %l0, %l1;", {{{0 - ((uint64_t(1) << 53) + 1)}, {f64(-0x1.0000000000001p53)}}, {{kTop}, {f64(-0x1p63)}}});
  expectValues("cvt.rn.f16.s32 %h0, %r1;", {{{2049}, {0x6800}}, {{2051}, {0x6802}}, {{65520}, {0x7C00}}, {{65519}, {0x7BFF}}, {{0xFFFFFFFF}, {0xBC00}}});
  expectValues("cvt.rz.f16.u32 %h0, %r1;", {{{70000}, {0x7BFF}}, {{2051}, {0x6801}}});
  expectValues("cvt.rn.f16.u64 %h0, %l1;", {{{kOnes}, {0x7C00}}, {{1}, {0x3C00}}});
  expectValues("cvt.rn.f16.s8 %h0, %h1;", {{{0xFF}, {0xBC00}}});
  expectValues("cvt.rn.bf16.u16 %h0, %h1;", {{{257}, {0x4380}}, {{259}, {0x4382}}});
  expectValues("cvt.rn.bf16.s64 %h0, %l1;", {{{(uint64_t(1) << 62) + (uint64_t(1) << 54) + 1}, {0x5E81}}});
  expectValues("cvt.rn.sat.f32.s32 %r0, %r1;", {{{5}, {f32(1)}}, {{0xFFFFFFFF}, {0}}, {{1}, {f32(1)}}});
  expectRefused("cvt.f32.s32 %r0, %r1;", "expected .rn, .rz, .rm or .rp");
}

// To nearest even, towards zero, down and up.
TEST(ConvertTest, FloatsToIntegers) {
  const std::vector<uint64_t> inputs = {f32(0.5f), f32(1.5f), f32(2.5f), f32(-0.5f), f32(-1.5f), f32(2.75f), f32(-2.75f)};
  const std::vector<std::pair<const char *, std::vector<int>>> expected = {
      {"rni", {0, 2, 2, 0, -2, 3, -3}}, {"rzi", {0, 1, 2, 0, -1, 2, -2}},
      {"rmi", {0, 1, 2, -1, -2, 2, -3}}, {"rpi", {1, 2, 3, 0, -1, 3, -2}}};
  for (const auto &[mode, results] : expected) {
    std::vector<Values> rows, wide;
    for (size_t i = 0; i < inputs.size(); ++i) {
      rows.push_back({{inputs[i]}, {uint32_t(results[i])}});
      wide.push_back({{f64(toF32(inputs[i]))}, {uint64_t(int64_t(results[i]))}});
    }
    expectValues(std::string("cvt.") + mode + ".s32.f32 %r0, %r1;", rows);
    expectValues(std::string("cvt.") + mode + ".s64.f64 %l0, %l1;", wide);
  }
  // Clamped to the range; NaN is 0 unless 64 bits are part.
  expectValues("cvt.rzi.s32.f32 %r0, %r1;", {{{f32(3e9f)}, {0x7FFFFFFF}}, {{f32(-3e9f)}, {0x80000000}}, {{kInf}, {0x7FFFFFFF}}, {{kNegInf}, {0x80000000}}, {{kNaN}, {0}}, {{f32(-0x1p31f)}, {0x80000000}}});
  expectValues("cvt.rzi.u32.f32 %r0, %r1;", {{{f32(3e9f)}, {3000000000}}, {{f32(5e9f)}, {0xFFFFFFFF}}, {{f32(-1)}, {0}}, {{kNaN}, {0}}, {{f32(-0.5f)}, {0}}});
  expectValues("cvt.rzi.s16.f32 %h0, %r1;", {{{f32(40000)}, {0x7FFF}}, {{f32(-40000)}, {0x8000}}, {{kNaN}, {0}}, {{f32(-3.9f)}, {0xFFFD}}});
  expectValues("cvt.rzi.u16.f32 %h0, %r1;", {{{f32(70000)}, {0xFFFF}}, {{f32(-1)}, {0}}});
  expectValues("cvt.rzi.s8.f32 %r0, %r1;", {{{f32(200)}, {0x7F}}, {{f32(-200)}, {0xFFFFFF80}}, {{f32(-1)}, {0xFFFFFFFF}}});
  expectValues("cvt.rni.u8.f32 %h0, %r1;", {{{f32(300)}, {0xFF}}, {{f32(-1)}, {0}}, {{f32(7.5f)}, {8}}});
  expectValues("cvt.rzi.s64.f32 %l0, %r1;", {{{f32(-1)}, {kOnes}}, {{f32(1e30f)}, {kTop - 1}}, {{f32(-1e30f)}, {kTop}}, {{kNaN}, {kTop}}, {{f32(0x1p62f)}, {uint64_t(1) << 62}}});
  expectValues("cvt.rzi.u64.f32 %l0, %r1;", {{{f32(0x1p63f)}, {kTop}}, {{f32(1e30f)}, {kOnes}}, {{f32(-1)}, {0}}, {{kNaN}, {kTop}}});
  expectValues("cvt.rzi.s32.f64 %r0, %l1;", {{{f64(-2147483648.5)}, {0x80000000}}, {{f64(2147483647.5)}, {0x7FFFFFFF}}, {{f64(3e9)}, {0x7FFFFFFF}}, {{kNaN64}, {0x80000000}}});
  expectValues("cvt.rzi.u32.f64 %r0, %l1;", {{{f64(4294967295.5)}, {0xFFFFFFFF}}, {{f64(4294967294.5)}, {0xFFFFFFFE}}, {{kNaN64}, {0x80000000}}});
  expectValues("cvt.rzi.s64.f64 %l0, %l1;", {{{f64(9e18)}, {9000000000000000000}}, {{kInf64}, {kTop - 1}}, {{kNaN64}, {kTop}}});
  expectValues("cvt.rzi.u64.f64 %l0, %l1;", {{{f64(1.8e19)}, {18000000000000000000u}}, {{f64(2e19)}, {kOnes}}});
  expectValues("cvt.rzi.s16.f64 %h0, %l1;", {{{kNaN64}, {0x8000}}, {{f64(-5.5)}, {0xFFFB}}});
  expectValues("cvt.rni.s32.f16 %r0, %h1;", {{{0x3E00}, {2}}, {{0xC100}, {uint32_t(-2)}}, {{0x7C00}, {0x7FFFFFFF}}, {{0x7E00}, {0}}});
  expectValues("cvt.rpi.s32.bf16 %r0, %h1;", {{{0x3FC0}, {2}}, {{0x7FC0}, {0}}});
  expectValues("cvt.rzi.s32.f32 %l0, %r1;", {{{f32(-3)}, {kOnes - 2}}}); // extended
  expectValues("cvt.rpi.s32.f32 %r0, %r1;", {{{1}, {1}}});
  expectValues("cvt.rpi.ftz.s32.f32 %r0, %r1;", {{{1}, {0}}, {{f32(0.5f)}, {1}}});
  expectValues("cvt.rmi.ftz.s32.f32 %r0, %r1;", {{{0x80000001}, {0}}, {{f32(-0.5f)}, {0xFFFFFFFF}}});
  expectValues("cvt.rzi.sat.s32.f32 %r0, %r1;", {{{f32(3e9f)}, {0x7FFFFFFF}}});
  expectRefused("cvt.s32.f32 %r0, %r1;", "expected .rni, .rzi, .rmi or .rpi");
}

TEST(ConvertTest, RoundToIntegralFloats) {
  const uint64_t minusHalf = f32(-0.5f);
  expectValues("cvt.rni.f32.f32 %r0, %r1;", {{{f32(2.5f)}, {f32(2)}}, {{f32(3.5f)}, {f32(4)}}, {{minusHalf}, {kNegZero}}, {{kInf}, {kInf}}, {{f32(1e20f)}, {f32(1e20f)}}});
  expectValues("cvt.rzi.f32.f32 %r0, %r1;", {{{f32(2.75f)}, {f32(2)}}, {{minusHalf}, {kNegZero}}});
  expectValues("cvt.rmi.f32.f32 %r0, %r1;", {{{f32(2.75f)}, {f32(2)}}, {{minusHalf}, {f32(-1)}}, {{1}, {0}}, {{0x80000001}, {f32(-1)}}});
  expectValues("cvt.rpi.f32.f32 %r0, %r1;", {{{f32(2.25f)}, {f32(3)}}, {{minusHalf}, {kNegZero}}, {{1}, {f32(1)}}});
  expectValues("cvt.rmi.ftz.f32.f32 %r0, %r1;", {{{0x80000001}, {kNegZero}}});
  expectValues("cvt.rni.sat.f32.f32 %r0, %r1;", {{{f32(2.5f)}, {f32(1)}}, {{f32(-3)}, {0}}});
  expectValues("cvt.rni.f64.f64 %l0, %l1;", {{{f64(2.5)}, {f64(2)}}, {{f64(-3.5)}, {f64(-4)}}});
  expectValues("cvt.rmi.f64.f64 %l0, %l1;", {{{f64(2.5)}, {f64(2)}}, {{f64(-3.5)}, {f64(-4)}}});
  expectValues("cvt.rni.f16.f16 %h0, %h1;", {{{0x4100}, {0x4000}}, {{0x4300}, {0x4400}}});
  expectValues("cvt.rpi.f16.f16 %h0, %h1;", {{{0x3C01}, {0x4000}}});
}

TEST(ConvertTest, Floats) {
  expectValues("cvt.f32.f32 %r0, %r1;", {{{f32(1.5f)}, {f32(1.5f)}}, {{1}, {1}}});
  expectValues("cvt.ftz.f32.f32 %r0, %r1;", {{{1}, {0}}, {{0x80000001}, {kNegZero}}});
  expectValues("cvt.sat.f32.f32 %r0, %r1;", {{{f32(1.5f)}, {f32(1)}}, {{f32(-1)}, {0}}, {{kNaN}, {0}}, {{f32(0.25f)}, {f32(0.25f)}}, {{kNegZero}, {0}}});
  expectValues("cvt.f64.f32 %l0, %r1;", {{{f32(1.5f)}, {f64(1.5)}}, {{1}, {f64(0x1p-149)}}, {{kNegInf}, {f64(-INFINITY)}}});
  expectValues("cvt.ftz.f64.f32 %l0, %r1;", {{{1}, {0}}});
  // 1 + 2^-24 + 2^-52 is above the tie of f32.
  const uint64_t above = f64(1 + 0x1p-24 + 0x1p-52), minus = above | kTop;
  expectValues("cvt.rn.f32.f64 %r0, %l1;", {{{above}, {0x3F800001}}, {{f64(1 + 0x1p-24)}, {0x3F800000}}, {{f64(1e300)}, {kInf}}, {{f64(0x1p-149)}, {1}}, {{f64(0x1p-150)}, {0}}, {{kNaN64}, {kNaN}}});
  expectValues("cvt.rz.f32.f64 %r0, %l1;", {{{above}, {0x3F800000}}, {{minus}, {0xBF800000}}, {{f64(1e300)}, {0x7F7FFFFF}}, {{f64(-1e300)}, {0xFF7FFFFF}}});
  expectValues("cvt.rm.f32.f64 %r0, %l1;", {{{above}, {0x3F800000}}, {{minus}, {0xBF800001}}, {{f64(-1e300)}, {kNegInf}}, {{f64(1e300)}, {0x7F7FFFFF}}, {{f64(-0x1p-200)}, {0x80000001}}});
  expectValues("cvt.rp.f32.f64 %r0, %l1;", {{{above}, {0x3F800001}}, {{minus}, {0xBF800000}}, {{f64(1e300)}, {kInf}}, {{f64(0x1p-200)}, {1}}});
  expectValues("cvt.rn.ftz.f32.f64 %r0, %l1;", {{{f64(0x1p-149)}, {0}}, {{f64(-0x1p-140)}, {kNegZero}}});
  expectValues("cvt.f32.f16 %r0, %h1;", {{{0x3C00}, {f32(1)}}, {{0x8000}, {kNegZero}}, {{1}, {f32(0x1p-24f)}}, {{0x7C00}, {kInf}}, {{0x7E00}, {kNaN}}, {{0x7BFF}, {f32(65504)}}});
  expectValues("cvt.f64.f16 %l0, %h1;", {{{0xBC00}, {f64(-1)}}, {{1}, {f64(0x1p-24)}}});
  expectValues("cvt.f32.bf16 %r0, %h1;", {{{0x3F80}, {f32(1)}}, {{0xFF80}, {kNegInf}}, {{1}, {0x00010000}}});
  expectValues("cvt.rn.f16.f32 %h0, %r1;", {{{f32(1)}, {0x3C00}}, {{f32(1 + 0x1p-11f)}, {0x3C00}}, {{f32(1 + 0x1.8p-10f)}, {0x3C02}}, {{f32(65520)}, {0x7C00}}, {{f32(65519)}, {0x7BFF}}, {{f32(0x1p-24f)}, {1}}, {{f32(0x1p-25f)}, {0}}, {{kNaN}, {0x7FFF}}, {{kNegInf}, {0xFC00}}});
  expectValues("cvt.rz.f16.f32 %h0, %r1;", {{{f32(1 + 0x1.8p-10f)}, {0x3C01}}, {{f32(1e6f)}, {0x7BFF}}, {{kInf}, {0x7C00}}});
  expectValues("cvt.rm.f16.f32 %h0, %r1;", {{{f32(-1 - 0x1p-12f)}, {0xBC01}}, {{f32(1e6f)}, {0x7BFF}}});
  expectValues("cvt.rp.f16.f32 %h0, %r1;", {{{f32(1 + 0x1p-12f)}, {0x3C01}}, {{f32(-1e6f)}, {0xFBFF}}});
  expectValues("cvt.rn.relu.f16.f32 %h0, %r1;", {{{f32(-1)}, {0}}, {{f32(2)}, {0x4000}}, {{kNaN}, {0x7FFF}}, {{kNegZero}, {0}}});
  expectValues("cvt.rn.satfinite.f16.f32 %h0, %r1;", {{{f32(1e6f)}, {0x7BFF}}, {{kNegInf}, {0xFBFF}}, {{kNaN}, {0x7FFF}}, {{f32(1)}, {0x3C00}}});
  expectValues("cvt.rn.f16.f64 %h0, %l1;", {{{f64(1 + 0x1p-11 + 0x1p-50)}, {0x3C01}}, {{f64(1 + 0x1p-11)}, {0x3C00}}});
  expectValues("cvt.rn.sat.f16.f32 %h0, %r1;", {{{f32(2)}, {0x3C00}}, {{kNaN}, {0}}});
  expectValues("cvt.rn.bf16.f32 %h0, %r1;", {{{f32(1)}, {0x3F80}}, {{0x3F808000}, {0x3F80}}, {{0x3F818000}, {0x3F82}}, {{0x3F808001}, {0x3F81}}, {{0x7F7FFFFF}, {0x7F80}}, {{kNaN}, {0x7FFF}}, {{1}, {0}}, {{0x00008001}, {1}}});
  expectValues("cvt.rz.bf16.f32 %h0, %r1;", {{{0x3F80FFFF}, {0x3F80}}, {{0x7F7FFFFF}, {0x7F7F}}});
  expectValues("cvt.rn.relu.bf16.f32 %h0, %r1;", {{{f32(-1)}, {0}}, {{f32(1)}, {0x3F80}}});
  expectValues("cvt.rn.satfinite.bf16.f32 %h0, %r1;", {{{kInf}, {0x7F7F}}, {{0x7F7FFFFF}, {0x7F7F}}});
  expectValues("cvt.rn.f16.bf16 %h0, %h1;", {{{0x3F81}, {0x3C08}}, {{0x7F00}, {0x7C00}}});
  expectValues("cvt.rn.bf16.f16 %h0, %h1;", {{{0x3C01}, {0x3F80}}, {{0x3C0C}, {0x3F82}}});
  // tf32: 10 bits behind the point.
  expectValues("cvt.rna.tf32.f32 %r0, %r1;", {{{0x3F801000}, {0x3F802000}}, {{0x3F800FFF}, {0x3F800000}}, {{0xBF801000}, {0xBF802000}}, {{kInf}, {kInf}}, {{0x7F7FFFFF}, {kInf}}});
  expectValues("cvt.rn.tf32.f32 %r0, %r1;", {{{0x3F801000}, {0x3F800000}}, {{0x3F803000}, {0x3F804000}}, {{0x3F801001}, {0x3F802000}}});
  expectValues("cvt.rz.tf32.f32 %r0, %r1;", {{{0x3F801FFF}, {0x3F800000}}, {{0xBF801FFF}, {0xBF800000}}});
  expectValues("cvt.rn.satfinite.tf32.f32 %r0, %r1;", {{{kInf}, {0x7F7FE000}}, {{0x7F7FFFFF}, {0x7F7FE000}}, {{kNegInf}, {0xFF7FE000}}});
  expectValues("cvt.rz.relu.tf32.f32 %r0, %r1;", {{{f32(-1)}, {0}}, {{f32(1)}, {f32(1)}}});
  expectRefused("cvt.f16.f32 %h0, %r1;", "expected a rounding");
  expectRefused("cvt.rn.relu.f32.f64 %r0, %l1;", "does not support the modifiers .satfinite and .relu");
  expectRefused("cvt.rna.f16.f32 %h0, %r1;", "expected .rna only");
  expectRefused("cvt.rn.f16.f32 %r0, %r1;", "expected a register of 16 bits");
}

// The first source goes to the high half.
TEST(ConvertTest, Pairs) {
  expectValues("cvt.rn.f16x2.f32 %r0, %r1, %r2;", {{{f32(1), f32(2)}, {0x3C004000}}, {{f32(65520), f32(0x1p-25f)}, {0x7C000000}}, {{kNaN, kNegZero}, {0x7FFF8000}}});
  expectValues("cvt.rz.f16x2.f32 %r0, %r1, %r2;", {{{f32(1e6f), f32(1 + 0x1.8p-10f)}, {0x7BFF3C01}}});
  expectValues("cvt.rn.bf16x2.f32 %r0, %r1, %r2;", {{{f32(1), f32(-2)}, {0x3F80C000}}, {{0x3F808000, 0x3F818000}, {0x3F803F82}}, {{kNaN, kInf}, {0x7FFF7F80}}, {{0x7F7FFFFF, 0x80000001}, {0x7F808000}}, {{0xFFC00000, 0x3F808001}, {0x7FFF3F81}}});
  expectValues("cvt.rz.bf16x2.f32 %r0, %r1, %r2;", {{{0x3F80FFFF, 0x7F7FFFFF}, {0x3F807F7F}}});
  expectValues("cvt.rn.relu.f16x2.f32 %r0, %r1, %r2;", {{{f32(-1), f32(2)}, {0x00004000}}});
  expectValues("cvt.rn.relu.bf16x2.f32 %r0, %r1, %r2;", {{{f32(1), f32(-2)}, {0x3F800000}}});
  expectValues("cvt.rn.satfinite.f16x2.f32 %r0, %r1, %r2;", {{{kInf, f32(1)}, {0x7BFF3C00}}});
  // e4m3: 1 is 0x38, the largest 448 = 0x7E; e5m2: 0x3C, 57344 = 0x7B.
  expectValues("cvt.rn.satfinite.e4m3x2.f32 %h0, %r1, %r2;", {{{f32(1), f32(-2)}, {0x38C0}}, {{f32(464), f32(1e9f)}, {0x7E7E}}, {{kNegInf, kNaN}, {0xFE7F}}, {{f32(0x1p-9f), f32(0x1p-10f)}, {0x0100}}, {{f32(17), f32(19)}, {0x585A}}});
  expectValues("cvt.rn.satfinite.e5m2x2.f32 %h0, %r1, %r2;", {{{f32(1), f32(-2)}, {0x3CC0}}, {{f32(61440), kInf}, {0x7B7B}}, {{kNaN, f32(0x1p-16f)}, {0x7F01}}});
  expectValues("cvt.rn.satfinite.relu.e4m3x2.f32 %h0, %r1, %r2;", {{{f32(-1), f32(1)}, {0x0038}}});
  expectValues("cvt.rn.satfinite.e4m3x2.f16x2 %h0, %r1;", {{{0x3C00C000}, {0x38C0}}, {{0x7C007E00}, {0x7E7F}}});
  expectValues("cvt.rn.satfinite.e5m2x2.f16x2 %h0, %r1;", {{{0x3C00C000}, {0x3CC0}}, {{0x7BFF0001}, {0x7B00}}});
  expectValues("cvt.rn.f16x2.e4m3x2 %r0, %h1;", {{{0x38C0}, {0x3C00C000}}, {{0x7E01}, {0x5F001800}}, {{0x7FFF}, {0x7FFF7FFF}}});
  expectValues("cvt.rn.f16x2.e5m2x2 %r0, %h1;", {{{0x3CC0}, {0x3C00C000}}, {{0x7C01}, {0x7C000100}}, {{0x7E7F}, {0x7FFF7FFF}}});
  expectValues("cvt.rn.relu.f16x2.e4m3x2 %r0, %h1;", {{{0xB838}, {0x00003C00}}});
  expectRefused("cvt.rn.e4m3x2.f32 %h0, %r1, %r2;", "expected .satfinite");
  expectRefused("cvt.rn.bf16x2.e4m3x2 %r0, %h1;", "is not supported on this target");
  expectRefused("cvt.f16x2.f32 %r0, %r1, %r2;", "expected .rn or .rz");
}
