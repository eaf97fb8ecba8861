//===- BitsTest.cpp - logic, shifts and fields ----------------------------===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "PTXRunner.h"

#include <gtest/gtest.h>

using namespace kvc::emu;
using namespace kvc::emu::test;

static constexpr uint64_t kOnes = ~uint64_t(0), kTop = uint64_t(1) << 63;

TEST(BitsTest, Logic) {
  expectValues("and.b16 %h0, %h1, %h2;", {{{0xFF0F, 0x0FF0}, {0x0F00}}});
  expectValues("and.b32 %r0, %r1, %r2;", {{{0xFF00FF0F, 0x0FF00FF0}, {0x0F000F00}}});
  expectValues("and.b64 %l0, %l1, %l2;", {{{0xFF00FF0F12345678, kTop | 0xFF}, {kTop | 0x78}}});
  expectValues("or.b16 %h0, %h1, %h2;", {{{0xFF0F, 0x0FF0}, {0xFFFF}}});
  expectValues("or.b32 %r0, %r1, %r2;", {{{0xF0000000, 1}, {0xF0000001}}});
  expectValues("or.b64 %l0, %l1, %l2;", {{{kTop, 1}, {kTop | 1}}});
  expectValues("xor.b16 %h0, %h1, %h2;", {{{0xFF0F, 0x0FF0}, {0xF0FF}}});
  expectValues("xor.b32 %r0, %r1, %r2;", {{{0xFFFFFFFF, 0x12345678}, {0xEDCBA987}}});
  expectValues("xor.b64 %l0, %l1, %l2;", {{{kOnes, kTop}, {kTop - 1}}});
  expectValues("not.b16 %h0, %h1;", {{{0x00FF}, {0xFF00}}});
  expectValues("not.b32 %r0, %r1;", {{{0x12345678}, {0xEDCBA987}}});
  expectValues("not.b64 %l0, %l1;", {{{kTop}, {kTop - 1}}});
  expectValues("cnot.b16 %h0, %h1;", {{{0}, {1}}, {{5}, {0}}, {{0x8000}, {0}}});
  expectValues("cnot.b32 %r0, %r1;", {{{0}, {1}}, {{0x80000000}, {0}}});
  expectValues("cnot.b64 %l0, %l1;", {{{0}, {1}}, {{kTop}, {0}}});
  expectRefused("and.u32 %r0, %r1, %r2;", "does not support the type .u32");
}

TEST(BitsTest, PredicateLogic) {
  std::vector<Values> ands, ors, xors;
  for (uint64_t a : {0, 1})
    for (uint64_t b : {0, 1}) {
      ands.push_back({{a, b}, {a & b}});
      ors.push_back({{a, b}, {a | b}});
      xors.push_back({{a, b}, {a ^ b}});
    }
  expectValues("and.pred %p0, %p1, %p2;", ands);
  expectValues("or.pred %p0, %p1, %p2;", ors);
  expectValues("xor.pred %p0, %p1, %p2;", xors);
  expectValues("not.pred %p0, %p1;", {{{0}, {1}}, {{1}, {0}}});
  // a and not b
  expectValues("and.pred %p0, %p1, !%p2;",
               {{{1, 0}, {1}}, {{1, 1}, {0}}, {{0, 0}, {0}}, {{0, 1}, {0}}});
  expectRefused("cnot.pred %p0, %p1;", "does not support the type .pred");
}

// Amounts of the width and more leave zeros, or the sign.
TEST(BitsTest, Shifts) {
  expectValues("shl.b16 %h0, %h1, %r2;",
               {{{0x8001, 1}, {2}}, {{1, 15}, {0x8000}}, {{1, 16}, {0}}, {{0xFFFF, kOnes}, {0}}});
  expectValues("shl.b32 %r0, %r1, %r2;",
               {{{0x80000001, 1}, {2}}, {{1, 31}, {0x80000000}}, {{1, 32}, {0}},
                {{1, 33}, {0}}, {{1, 0xFFFFFFFF}, {0}}, {{7, 0}, {7}}});
  expectValues("shl.b64 %l0, %l1, %r2;",
               {{{1, 63}, {kTop}}, {{1, 64}, {0}}, {{1, 65}, {0}}, {{3, 32}, {0x300000000}}});
  for (const char *type : {"u16", "b16"})
    expectValues(std::string("shr.") + type + " %h0, %h1, %r2;",
                 {{{0x8000, 15}, {1}}, {{0x8000, 16}, {0}}, {{0xFFFF, 4}, {0x0FFF}}});
  for (const char *type : {"u32", "b32"})
    expectValues(std::string("shr.") + type + " %r0, %r1, %r2;",
                 {{{0x80000000, 31}, {1}}, {{0x80000000, 32}, {0}}, {{0x80000000, 33}, {0}},
                  {{0x80000000, 0xFFFFFFFF}, {0}}});
  for (const char *type : {"u64", "b64"})
    expectValues(std::string("shr.") + type + " %l0, %l1, %r2;",
                 {{{kTop, 63}, {1}}, {{kTop, 64}, {0}}, {{kTop, 200}, {0}}});
  expectValues("shr.s16 %h0, %h1, %r2;",
               {{{0x8000, 4}, {0xF800}}, {{0x8000, 16}, {0xFFFF}}, {{0x7FFF, 99}, {0}},
                {{0x4000, 14}, {1}}});
  expectValues("shr.s32 %r0, %r1, %r2;",
               {{{0x80000000, 4}, {0xF8000000}}, {{0x80000000, 32}, {0xFFFFFFFF}},
                {{0x7FFFFFFF, 32}, {0}}, {{0x80000000, 0xFFFFFFFF}, {0xFFFFFFFF}}});
  expectValues("shr.s64 %l0, %l1, %r2;",
               {{{kTop, 63}, {kOnes}}, {{kTop, 64}, {kOnes}}, {{kTop - 1, 64}, {0}}});
  expectRefused("shl.u32 %r0, %r1, %r2;", "does not support the type .u32");
  expectRefused("shl.b64 %l0, %l1, %l2;", "expected a register of 32 bits");
}

// What lies above the 16 bits of a register is no part of its value.
TEST(BitsTest, ResultsOf16BitsWiden) {
  expectValues("shl.b16 %h1, %h1, 4; cvt.u32.u16 %r0, %h1;", {{{0xFFFF}, {0xFFF0}}});
  expectValues("shr.s16 %h1, %h1, 4; cvt.u32.u16 %r0, %h1;", {{{0x8000}, {0xF800}}});
  expectValues("not.b16 %h1, %h1; cvt.s32.s16 %r0, %h1;", {{{0x00FF}, {0xFFFFFF00}}});
  expectValues("add.u16 %h1, %h1, 1; cvt.u32.u16 %r0, %h1;", {{{0xFFFF}, {0}}});
  expectValues("add.s16 %h1, %h1, 1; mov.b32 %r0, {%h1, %h1};", {{{0x7FFF}, {0x80008000}}});
}

// Of the 64 bits b:a, .l keeps the upper word, .r the lower one.
TEST(BitsTest, FunnelShift) {
  constexpr uint64_t a = 0x89ABCDEF, b = 0x01234567;
  expectValues("shf.l.wrap.b32 %r0, %r1, %r2, %r3;",
               {{{a, b, 8}, {0x23456789}}, {{a, b, 0}, {b}}, {{a, b, 32}, {b}},
                {{a, b, 40}, {0x23456789}}, {{a, b, 31}, {0xC4D5E6F7}}});
  expectValues("shf.l.clamp.b32 %r0, %r1, %r2, %r3;",
               {{{a, b, 8}, {0x23456789}}, {{a, b, 32}, {a}}, {{a, b, 40}, {a}}});
  expectValues("shf.r.wrap.b32 %r0, %r1, %r2, %r3;",
               {{{a, b, 8}, {0x6789ABCD}}, {{a, b, 0}, {a}}, {{a, b, 32}, {a}},
                {{a, b, 36}, {0x789ABCDE}}});
  expectValues("shf.r.clamp.b32 %r0, %r1, %r2, %r3;",
               {{{a, b, 8}, {0x6789ABCD}}, {{a, b, 32}, {b}}, {{a, b, 0xFFFFFFFF}, {b}}});
}

TEST(BitsTest, ExtractField) {
  expectValues("bfe.u32 %r0, %r1, %r2, %r3;",
               {{{0x12345678, 8, 8}, {0x56}}, {{0x12345678, 28, 8}, {1}},
                {{0x12345678, 0, 32}, {0x12345678}}, {{0x12345678, 0, 0}, {0}},
                {{0x12345678, 32, 8}, {0}}, {{0xFFFFFFFF, 31, 1}, {1}},
                {{0x12345678, 4, 255}, {0x01234567}}, {{0xFFFFFFFF, 300, 0x104}, {0}},
                {{0x12345678, 0x104, 0x108}, {0x67}}}); // of both only 8 bits count
  expectValues("bfe.s32 %r0, %r1, %r2, %r3;",
               {{{0x12345678, 8, 8}, {0x56}}, {{0x0000F000, 8, 8}, {0xFFFFFFF0}},
                {{0x80000000, 28, 8}, {0xFFFFFFF8}}, {{0x80000000, 40, 8}, {0xFFFFFFFF}},
                {{0x70000000, 40, 8}, {0}}, {{0x80000000, 0, 0}, {0}},
                {{0x80000000, 31, 1}, {0xFFFFFFFF}}, {{0x80000000, 255, 255}, {0xFFFFFFFF}},
                {{0xF0, 4, 255}, {0xF}}, {{0x80000000, 0, 32}, {0x80000000}},
                {{0x80000000, 200, 0}, {0}}});
  expectValues("bfe.u64 %l0, %l1, %r2, %r3;",
               {{{0x123456789ABCDEF0, 32, 16}, {0x5678}}, {{kOnes, 60, 10}, {15}},
                {{kOnes, 64, 4}, {0}}, {{kOnes, 0, 64}, {kOnes}}, {{kOnes, 0, 63}, {kOnes >> 1}}});
  expectValues("bfe.s64 %l0, %l1, %r2, %r3;",
               {{{0x123456789ABCDEF0, 28, 4}, {kOnes << 4 | 9}}, {{kTop, 60, 10}, {kOnes << 3}},
                {{kTop, 70, 3}, {kOnes}}, {{kTop - 1, 70, 3}, {0}}, {{kTop, 0, 64}, {kTop}}});
}

TEST(BitsTest, InsertField) {
  expectValues("bfi.b32 %r0, %r1, %r2, %r3, %r4;",
               {{{0xFF, 0, 8, 4}, {0xF00}}, {{0, 0xFFFFFFFF, 8, 8}, {0xFFFF00FF}},
                {{0xFF, 0x12345678, 28, 8}, {0xF2345678}}, {{0xFF, 0x12345678, 32, 8}, {0x12345678}},
                {{0xFF, 0x12345678, 0, 0}, {0x12345678}}, {{0xABCD0123, 5, 0, 32}, {0xABCD0123}},
                {{0xABCD0123, 5, 0, 255}, {0xABCD0123}}, {{0xF, 0, 0x104, 0x104}, {0xF0}},
                {{0xFF, 7, 255, 255}, {7}}});
  expectValues("bfi.b64 %l0, %l1, %l2, %r3, %r4;",
               {{{0xFF, 0, 32, 4}, {0xF00000000}}, {{0, kOnes, 60, 10}, {kOnes >> 4}},
                {{kOnes, 0, 0, 64}, {kOnes}}, {{kOnes, 5, 64, 1}, {5}}, {{kOnes, 5, 3, 0}, {5}}});
}

TEST(BitsTest, Counts) {
  expectValues("popc.b32 %r0, %r1;", {{{0}, {0}}, {{0xFFFFFFFF}, {32}}, {{0x80000001}, {2}}});
  expectValues("popc.b64 %r0, %l1;", {{{0}, {0}}, {{kOnes}, {64}}, {{kTop | 3}, {3}}});
  expectValues("clz.b32 %r0, %r1;", {{{0}, {32}}, {{1}, {31}}, {{0xFFFFFFFF}, {0}}, {{0x10000}, {15}}});
  expectValues("clz.b64 %r0, %l1;", {{{0}, {64}}, {{1}, {63}}, {{kTop}, {0}}, {{uint64_t(1) << 32}, {31}}});
  expectValues("brev.b32 %r0, %r1;", {{{1}, {0x80000000}}, {{0x12345678}, {0x1E6A2C48}}});
  expectValues("brev.b64 %l0, %l1;", {{{1}, {kTop}}, {{0x12345678}, {0x1E6A2C4800000000}}});
  expectRefused("popc.b64 %l0, %l1;", "expected a register of 32 bits");
}

// Signed: the highest bit that differs from the sign.
TEST(BitsTest, FindHighest) {
  expectValues("bfind.u32 %r0, %r1;", {{{0}, {0xFFFFFFFF}}, {{1}, {0}}, {{0x80000000}, {31}}, {{0xFF}, {7}}});
  expectValues("bfind.s32 %r0, %r1;",
               {{{0}, {0xFFFFFFFF}}, {{0xFFFFFFFF}, {0xFFFFFFFF}}, {{0xFFFFFFFE}, {0}},
                {{0x80000000}, {30}}, {{0x40000000}, {30}}, {{0xFFFFFF00}, {7}}});
  expectValues("bfind.u64 %r0, %l1;", {{{0}, {0xFFFFFFFF}}, {{kTop}, {63}}, {{1}, {0}}});
  expectValues("bfind.s64 %r0, %l1;", {{{kOnes}, {0xFFFFFFFF}}, {{kTop}, {62}}, {{kOnes << 8}, {7}}});
  expectValues("bfind.shiftamt.u32 %r0, %r1;", {{{0}, {0xFFFFFFFF}}, {{1}, {31}}, {{0x80000000}, {0}}});
  expectValues("bfind.shiftamt.s32 %r0, %r1;",
               {{{0xFFFFFFFF}, {0xFFFFFFFF}}, {{0xFFFFFFFE}, {31}}, {{0x80000000}, {1}}});
  expectValues("bfind.shiftamt.u64 %r0, %l1;", {{{1}, {63}}, {{kTop}, {0}}});
  expectValues("bfind.shiftamt.s64 %r0, %l1;", {{{kTop}, {1}}, {{1}, {63}}});
}

// The tables of a, b and c themselves are 0xF0, 0xCC and 0xAA.
TEST(BitsTest, Lop3) {
  constexpr uint32_t a = 0xF0F0A5C3, b = 0xCC33F00F, c = 0x12345678;
  for (unsigned table = 0; table < 256; ++table) {
    uint32_t expected = 0;
    for (unsigned bit = 0; bit < 32; ++bit) {
      unsigned index = (a >> bit & 1) * 4 + (b >> bit & 1) * 2 + (c >> bit & 1);
      expected |= (table >> index & 1u) << bit;
    }
    expectValues("lop3.b32 %r0, %r1, %r2, %r3, " + std::to_string(table) + ";",
                 {{{a, b, c}, {expected}}});
  }
  expectValues("lop3.b32 %r0, %r1, %r2, %r3, 0x96;", {{{a, b, c}, {a ^ b ^ c}}});
  expectValues("lop3.b32 %r0, %r1, %r2, %r3, 0xE8;", {{{a, b, c}, {(a & b) | (b & c) | (a & c)}}});
  // p = (d != 0) op q
  expectValues("lop3.or.b32 %r0|%p0, %r1, %r2, %r3, 0x80, %p4;",
               {{{1, 1, 1, 0}, {1, 1}}, {{1, 1, 0, 0}, {0, 0}}, {{1, 1, 0, 1}, {0, 1}}});
  expectValues("lop3.and.b32 %r0|%p0, %r1, %r2, %r3, 0x80, !%p4;",
               {{{1, 1, 1, 0}, {1, 1}}, {{1, 1, 1, 1}, {1, 0}}, {{1, 1, 0, 0}, {0, 0}}});
  expectValues("lop3.or.b32 _|%p0, %r1, %r2, %r3, 0xFE, %p4;", {{{0, 0, 4, 0}, {1}}, {{0, 0, 0, 0}, {0}}});
  expectRefused("lop3.b32 %r0, %r1, %r2, %r3, 256;", "from 0 to 255");
  expectRefused("lop3.b32 %r0, %r1, %r2, %r3, %r4;", "expected a constant");
}

// Bytes 0 to 3 are those of a, 4 to 7 those of b.
TEST(BitsTest, Permute) {
  constexpr uint64_t a = 0x33221180, b = 0x77665584;
  expectValues("prmt.b32 %r0, %r1, %r2, %r3;",
               {{{a, b, 0x3210}, {a}}, {{a, b, 0x7654}, {b}}, {{a, b, 0x0123}, {0x80112233}},
                {{a, b, 0x4040}, {0x84808480}}, {{a, b, 0x8888}, {0xFFFFFFFF}},
                {{a, b, 0x9C98}, {0x00FF00FF}}, {{a, b, 0xFFFF5410}, {0x55841180}}});
  struct Mode {
    const char *name;
    uint64_t results[4];
  };
  static const Mode modes[] = {
      {"f4e", {0x33221180, 0x84332211, 0x55843322, 0x66558433}},
      {"b4e", {0x55667780, 0x66778011, 0x77801122, 0x80112233}},
      {"rc8", {0x80808080, 0x11111111, 0x22222222, 0x33333333}},
      {"ecl", {0x33221180, 0x33221111, 0x33222222, 0x33333333}},
      {"ecr", {0x80808080, 0x11111180, 0x22221180, 0x33221180}},
      {"rc16", {0x11801180, 0x33223322, 0x11801180, 0x33223322}}};
  for (const Mode &mode : modes) {
    std::vector<Values> rows;
    for (uint64_t s = 0; s < 4; ++s)
      rows.push_back({{a, b, 0xFFFFFFF0 | s}, {mode.results[s]}});
    // Only the two lowest bits of the selector count.
    expectValues(std::string("prmt.b32.") + mode.name + " %r0, %r1, %r2, %r3;", rows);
  }
}

TEST(BitsTest, BitMask) {
  expectValues("bmsk.clamp.b32 %r0, %r1, %r2;",
               {{{4, 8}, {0xFF0}}, {{0, 32}, {0xFFFFFFFF}}, {{28, 8}, {0xF0000000}},
                {{32, 4}, {0}}, {{3, 0}, {0}}, {{31, 100}, {0x80000000}}});
  expectValues("bmsk.wrap.b32 %r0, %r1, %r2;",
               {{{4, 8}, {0xFF0}}, {{36, 8}, {0xFF0}}, {{0, 32}, {0}}, {{28, 8}, {0xF0000000}},
                {{31, 33}, {0x80000000}}});
}

// Keeps the b lowest bits and extends the sign, or zeros.
TEST(BitsTest, SignZeroExtend) {
  expectValues("szext.clamp.s32 %r0, %r1, %r2;",
               {{{0x1280, 8}, {0xFFFFFF80}}, {{0x127F, 8}, {0x7F}}, {{0x12345678, 32}, {0x12345678}},
                {{0x92345678, 100}, {0x92345678}}, {{0xFF, 0}, {0}}, {{1, 1}, {0xFFFFFFFF}}});
  expectValues("szext.wrap.s32 %r0, %r1, %r2;",
               {{{0x1280, 8}, {0xFFFFFF80}}, {{0x1280, 40}, {0xFFFFFF80}}, {{0xFF, 32}, {0}}});
  expectValues("szext.clamp.u32 %r0, %r1, %r2;",
               {{{0x1280, 8}, {0x80}}, {{0xFFFFFFFF, 32}, {0xFFFFFFFF}}, {{0xFFFFFFFF, 31}, {0x7FFFFFFF}}});
  expectValues("szext.wrap.u32 %r0, %r1, %r2;", {{{0x1280, 40}, {0x80}}, {{0xFF, 32}, {0}}});
}
