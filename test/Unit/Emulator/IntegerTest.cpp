//===- IntegerTest.cpp - integer arithmetic -------------------------------===//
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

static constexpr uint64_t kMin64 = uint64_t(1) << 63, kMax64 = kMin64 - 1;
static constexpr uint64_t kOnes = ~uint64_t(0);

// Sums wrap in every type.
TEST(IntegerTest, Add) {
  for (const char *type : {"u16", "s16"})
    expectValues(std::string("add.") + type + " %h0, %h1, %h2;",
                 {{{1, 2}, {3}}, {{0xFFFF, 1}, {0}}, {{0x8000, 0x8000}, {0}},
                  {{0x7FFF, 1}, {0x8000}}});
  for (const char *type : {"u32", "s32"})
    expectValues(std::string("add.") + type + " %r0, %r1, %r2;",
                 {{{1, 2}, {3}}, {{0xFFFFFFFF, 1}, {0}}, {{0x7FFFFFFF, 1}, {0x80000000}}});
  for (const char *type : {"u64", "s64"})
    expectValues(std::string("add.") + type + " %l0, %l1, %l2;",
                 {{{0xFFFFFFFF, 1}, {0x100000000}}, {{kOnes, 1}, {0}},
                  {{kMax64, 1}, {kMin64}}});
  expectValues("add.s32 %r0, %r1, -5;", {{{3}, {0xFFFFFFFE}}});
  expectValues("add.sat.s32 %r0, %r1, %r2;",
               {{{0x7FFFFFFF, 1}, {0x7FFFFFFF}}, {{0x80000000, 0xFFFFFFFF}, {0x80000000}},
                {{0x80000000, 0x7FFFFFFF}, {0xFFFFFFFF}}, {{5, 6}, {11}}});
}

TEST(IntegerTest, Sub) {
  for (const char *type : {"u16", "s16"})
    expectValues(std::string("sub.") + type + " %h0, %h1, %h2;",
                 {{{1, 2}, {0xFFFF}}, {{0x8000, 1}, {0x7FFF}}, {{9, 4}, {5}}});
  for (const char *type : {"u32", "s32"})
    expectValues(std::string("sub.") + type + " %r0, %r1, %r2;",
                 {{{1, 2}, {0xFFFFFFFF}}, {{0x80000000, 1}, {0x7FFFFFFF}}});
  for (const char *type : {"u64", "s64"})
    expectValues(std::string("sub.") + type + " %l0, %l1, %l2;",
                 {{{0x100000000, 1}, {0xFFFFFFFF}}, {{0, 1}, {kOnes}},
                  {{kMin64, 1}, {kMax64}}});
  expectValues("sub.sat.s32 %r0, %r1, %r2;",
               {{{0x80000000, 1}, {0x80000000}}, {{0x7FFFFFFF, 0xFFFFFFFF}, {0x7FFFFFFF}},
                {{0, 0x80000000}, {0x7FFFFFFF}}, {{5, 6}, {0xFFFFFFFF}}});
}

// 0xFFFF * 0xFFFF = 0xFFFE0001; as s16, -1 * -1 = 1.
TEST(IntegerTest, Mul) {
  expectValues("mul.lo.u16 %h0, %h1, %h2;", {{{0xFFFF, 0xFFFF}, {1}}, {{300, 300}, {0x5F90}}});
  expectValues("mul.lo.s16 %h0, %h1, %h2;", {{{0xFFFF, 0xFFFF}, {1}}, {{300, 0xFFFF}, {0xFED4}}});
  expectValues("mul.hi.u16 %h0, %h1, %h2;", {{{0xFFFF, 0xFFFF}, {0xFFFE}}, {{0x100, 0x100}, {1}}});
  expectValues("mul.hi.s16 %h0, %h1, %h2;",
               {{{0xFFFF, 0xFFFF}, {0}}, {{0x8000, 0x8000}, {0x4000}}, {{0xFFFF, 2}, {0xFFFF}}});
  expectValues("mul.wide.u16 %r0, %h1, %h2;",
               {{{0xFFFF, 0xFFFF}, {0xFFFE0001}}, {{0x8000, 2}, {0x10000}}});
  expectValues("mul.wide.s16 %r0, %h1, %h2;",
               {{{0xFFFF, 0xFFFF}, {1}}, {{0x8000, 2}, {0xFFFF0000}},
                {{0x8000, 0x8000}, {0x40000000}}});
  for (const char *type : {"u32", "s32"})
    expectValues(std::string("mul.lo.") + type + " %r0, %r1, %r2;",
                 {{{0x10001, 0x10001}, {0x20001}}, {{0xFFFFFFFF, 7}, {0xFFFFFFF9}}});
  expectValues("mul.hi.u32 %r0, %r1, %r2;",
               {{{0xFFFFFFFF, 0xFFFFFFFF}, {0xFFFFFFFE}}, {{0x10000, 0x10000}, {1}}});
  expectValues("mul.hi.s32 %r0, %r1, %r2;",
               {{{0xFFFFFFFF, 0xFFFFFFFF}, {0}}, {{0xFFFFFFFF, 1}, {0xFFFFFFFF}},
                {{0x80000000, 0x80000000}, {0x40000000}}});
  expectValues("mul.wide.u32 %l0, %r1, %r2;",
               {{{0xFFFFFFFF, 0xFFFFFFFF}, {0xFFFFFFFE00000001}}, {{0x80000000, 2}, {0x100000000}}});
  expectValues("mul.wide.s32 %l0, %r1, %r2;",
               {{{0xFFFFFFFF, 0xFFFFFFFF}, {1}}, {{0x80000000, 2}, {0xFFFFFFFF00000000}}});
  for (const char *type : {"u64", "s64"})
    expectValues(std::string("mul.lo.") + type + " %l0, %l1, %l2;",
                 {{{0x100000001, 0x100000001}, {0x200000001}}, {{kOnes, 7}, {kOnes - 6}}});
  expectValues("mul.hi.u64 %l0, %l1, %l2;", {{{kOnes, kOnes}, {kOnes - 1}}, {{kMin64, 2}, {1}}});
  expectValues("mul.hi.s64 %l0, %l1, %l2;",
               {{{kOnes, kOnes}, {0}}, {{kOnes, 1}, {kOnes}}, {{kMin64, kMin64}, {kMin64 >> 1}}});
}

TEST(IntegerTest, Mad) {
  for (const char *type : {"u16", "s16"})
    expectValues(std::string("mad.lo.") + type + " %h0, %h1, %h2, %h3;",
                 {{{300, 300, 5}, {0x5F95}}, {{0xFFFF, 2, 3}, {1}}});
  for (const char *type : {"u32", "s32"})
    expectValues(std::string("mad.lo.") + type + " %r0, %r1, %r2, %r3;",
                 {{{0x10001, 0x10001, 0xFFFFFFFF}, {0x20000}}, {{3, 4, 5}, {17}}});
  for (const char *type : {"u64", "s64"})
    expectValues(std::string("mad.lo.") + type + " %l0, %l1, %l2, %l3;",
                 {{{0x100000001, 0x100000001, kOnes}, {0x200000000}}, {{3, 4, 5}, {17}}});
  expectValues("mad.hi.u16 %h0, %h1, %h2, %h3;", {{{0xFFFF, 0xFFFF, 3}, {1}}});
  expectValues("mad.hi.s16 %h0, %h1, %h2, %h3;", {{{0xFFFF, 2, 3}, {2}}});
  expectValues("mad.hi.u32 %r0, %r1, %r2, %r3;", {{{0xFFFFFFFF, 0xFFFFFFFF, 3}, {1}}});
  expectValues("mad.hi.s32 %r0, %r1, %r2, %r3;", {{{0xFFFFFFFF, 2, 3}, {2}}});
  expectValues("mad.hi.u64 %l0, %l1, %l2, %l3;", {{{kOnes, kOnes, 3}, {1}}});
  expectValues("mad.hi.s64 %l0, %l1, %l2, %l3;", {{{kOnes, 2, 3}, {2}}});
  expectValues("mad.hi.sat.s32 %r0, %r1, %r2, %r3;",
               {{{0x80000000, 0x80000000, 0x7FFFFFFF}, {0x7FFFFFFF}},
                {{0x80000000, 0x7FFFFFFF, 0x80000000}, {0x80000000}}, {{0x10000, 0x10000, 1}, {2}}});
  expectValues("mad.wide.u16 %r0, %h1, %h2, %r3;", {{{0xFFFF, 0xFFFF, 0x20000}, {1}}});
  expectValues("mad.wide.s16 %r0, %h1, %h2, %r3;", {{{0xFFFF, 2, 1}, {0xFFFFFFFF}}});
  expectValues("mad.wide.u32 %l0, %r1, %r2, %l3;",
               {{{0xFFFFFFFF, 0xFFFFFFFF, 0x200000000}, {1}}, {{2, 3, 4}, {10}}});
  expectValues("mad.wide.s32 %l0, %r1, %r2, %l3;", {{{0xFFFFFFFF, 2, 1}, {kOnes}}});
}

// Factors are the low 24 bits; .hi is bits 16 to 47 of the product.
TEST(IntegerTest, Mul24) {
  expectValues("mul24.lo.u32 %r0, %r1, %r2;",
               {{{0xFFFFFFFF, 2}, {0x1FFFFFE}}, {{0xAB000003, 0xCD000005}, {15}},
                {{0xFFFFFF, 0xFFFFFF}, {0xFE000001}}});
  expectValues("mul24.hi.u32 %r0, %r1, %r2;",
               {{{0xFFFFFF, 0xFFFFFF}, {0xFFFFFE00}}, {{0x1000, 0x1000}, {0x100}}});
  expectValues("mul24.lo.s32 %r0, %r1, %r2;",
               {{{0xFFFFFF, 2}, {0xFFFFFFFE}}, {{0x12FFFFFF, 0xFFFFFF}, {1}}});
  // -2^23 * -2^23 = 2^46; -1 * 2 = -2, whose bits 16 to 47 are ones.
  expectValues("mul24.hi.s32 %r0, %r1, %r2;",
               {{{0x800000, 0x800000}, {0x40000000}}, {{0xFFFFFF, 2}, {0xFFFFFFFF}}});
  expectValues("mad24.lo.u32 %r0, %r1, %r2, %r3;", {{{0xFFFFFFFF, 2, 3}, {0x2000001}}});
  expectValues("mad24.lo.s32 %r0, %r1, %r2, %r3;", {{{0xFFFFFF, 2, 3}, {1}}});
  expectValues("mad24.hi.u32 %r0, %r1, %r2, %r3;", {{{0x1000, 0x1000, 7}, {0x107}}});
  expectValues("mad24.hi.s32 %r0, %r1, %r2, %r3;", {{{0xFFFFFF, 2, 3}, {2}}});
  expectValues("mad24.hi.sat.s32 %r0, %r1, %r2, %r3;",
               {{{0x800000, 0x800000, 0x7FFFFFFF}, {0x7FFFFFFF}}, {{0xFFFFFF, 2, 3}, {2}},
                {{0x800000, 0x7FFFFF, 0x80000000}, {0x80000000}}});
  expectRefused("mul24.u32 %r0, %r1, %r2;", "expected .lo or .hi");
  expectRefused("mul24.lo.u64 %l0, %l1, %l2;", "does not support the type .u64");
}

// Quotients are cut towards zero; a remainder has the sign of the dividend.
TEST(IntegerTest, DivideAndRemainder) {
  expectValues("div.u16 %h0, %h1, %h2;", {{{0xFFFF, 2}, {0x7FFF}}, {{7, 9}, {0}}});
  expectValues("div.s16 %h0, %h1, %h2;", {{{0xFFF9, 2}, {0xFFFD}}, {{7, 0xFFFE}, {0xFFFD}}});
  expectValues("div.u32 %r0, %r1, %r2;", {{{0xFFFFFFFF, 10}, {429496729}}, {{100, 7}, {14}}});
  expectValues("div.s32 %r0, %r1, %r2;",
               {{{0xFFFFFFF9, 2}, {0xFFFFFFFD}}, {{0x80000000, 0xFFFFFFFF}, {0x80000000}},
                {{5, 0xFFFFFFFF}, {0xFFFFFFFB}}});
  expectValues("div.u64 %l0, %l1, %l2;", {{{kOnes, 3}, {0x5555555555555555}}});
  expectValues("div.s64 %l0, %l1, %l2;", {{{kOnes - 6, 2}, {kOnes - 2}}, {{kMin64, kOnes}, {kMin64}}});
  expectValues("rem.u16 %h0, %h1, %h2;", {{{0xFFFF, 10}, {5}}});
  expectValues("rem.s16 %h0, %h1, %h2;", {{{0xFFF9, 2}, {0xFFFF}}, {{7, 0xFFFE}, {1}}});
  expectValues("rem.u32 %r0, %r1, %r2;", {{{0xFFFFFFFF, 10}, {5}}, {{6, 7}, {6}}});
  expectValues("rem.s32 %r0, %r1, %r2;",
               {{{0xFFFFFFF9, 2}, {0xFFFFFFFF}}, {{0x80000000, 0xFFFFFFFF}, {0}}});
  expectValues("rem.u64 %l0, %l1, %l2;", {{{kOnes, 10}, {5}}});
  expectValues("rem.s64 %l0, %l1, %l2;", {{{kOnes - 6, 2}, {kOnes}}, {{kMin64, kOnes}, {0}}});
}

TEST(IntegerTest, DivisionByZeroIsReported) {
  for (const char *text : {"div.u32 %r0, %r1, %r2;", "div.s32 %r0, %r1, %r2;",
                           "rem.u32 %r0, %r1, %r2;", "rem.s16 %h0, %h1, %h2;",
                           "div.s64 %l0, %l1, %l2;", "rem.u64 %l0, %l1, %l2;"}) {
    Outcome outcome = evaluateRows(text, {{7, 0}});
    ASSERT_EQ(outcome.reports.size(), 1u) << text;
    EXPECT_EQ(outcome.reports[0].kind, ReportKind::Arithmetic);
    EXPECT_EQ(outcome.reports[0].message, "division by zero");
    EXPECT_EQ(outcome.reports[0].count, 32u);
    // Lanes that do not divide do not count.
    EXPECT_TRUE(evaluateRows(text, {{7, 0}}, 0).reports.empty());
  }
}

TEST(IntegerTest, MinMax) {
  expectValues("min.u16 %h0, %h1, %h2;", {{{0xFFFF, 1}, {1}}});
  expectValues("min.s16 %h0, %h1, %h2;", {{{0xFFFF, 1}, {0xFFFF}}});
  expectValues("min.u32 %r0, %r1, %r2;", {{{0xFFFFFFFF, 1}, {1}}, {{3, 4}, {3}}});
  expectValues("min.s32 %r0, %r1, %r2;", {{{0xFFFFFFFF, 1}, {0xFFFFFFFF}}, {{3, 4}, {3}}});
  expectValues("min.u64 %l0, %l1, %l2;", {{{kOnes, 1}, {1}}});
  expectValues("min.s64 %l0, %l1, %l2;", {{{kOnes, 1}, {kOnes}}});
  expectValues("max.u16 %h0, %h1, %h2;", {{{0xFFFF, 1}, {0xFFFF}}});
  expectValues("max.s16 %h0, %h1, %h2;", {{{0xFFFF, 1}, {1}}});
  expectValues("max.u32 %r0, %r1, %r2;", {{{0xFFFFFFFF, 1}, {0xFFFFFFFF}}});
  expectValues("max.s32 %r0, %r1, %r2;", {{{0xFFFFFFFF, 1}, {1}}, {{0x80000000, 0}, {0}}});
  expectValues("max.u64 %l0, %l1, %l2;", {{{kOnes, 1}, {kOnes}}});
  expectValues("max.s64 %l0, %l1, %l2;", {{{kOnes, 1}, {1}}});
  expectValues("min.relu.s32 %r0, %r1, %r2;", {{{0xFFFFFFFF, 1}, {0}}, {{3, 4}, {3}}});
  expectValues("max.relu.s32 %r0, %r1, %r2;",
               {{{0xFFFFFFFF, 0xFFFFFFFE}, {0}}, {{3, 4}, {4}}});
  expectRefused("min.relu.u32 %r0, %r1, %r2;", "does not support the");
}

TEST(IntegerTest, NegAbs) {
  expectValues("neg.s16 %h0, %h1;", {{{1}, {0xFFFF}}, {{0x8000}, {0x8000}}});
  expectValues("neg.s32 %r0, %r1;", {{{1}, {0xFFFFFFFF}}, {{0x80000000}, {0x80000000}}, {{0}, {0}}});
  expectValues("neg.s64 %l0, %l1;", {{{1}, {kOnes}}, {{kMin64}, {kMin64}}});
  expectValues("abs.s16 %h0, %h1;", {{{0xFFFF}, {1}}, {{0x8000}, {0x8000}}, {{5}, {5}}});
  expectValues("abs.s32 %r0, %r1;", {{{0xFFFFFFFF}, {1}}, {{0x80000000}, {0x80000000}}});
  expectValues("abs.s64 %l0, %l1;", {{{kOnes}, {1}}, {{kMin64}, {kMin64}}});
  expectRefused("neg.u32 %r0, %r1;", "does not support the type .u32");
}

// c + |a - b|, whatever the distance.
TEST(IntegerTest, Sad) {
  expectValues("sad.u16 %h0, %h1, %h2, %h3;", {{{1, 0xFFFF, 3}, {1}}, {{9, 4, 1}, {6}}});
  expectValues("sad.s16 %h0, %h1, %h2, %h3;", {{{1, 0xFFFF, 3}, {5}}, {{0x8000, 0x7FFF, 1}, {0}}});
  expectValues("sad.u32 %r0, %r1, %r2, %r3;", {{{1, 0xFFFFFFFF, 3}, {1}}, {{9, 4, 1}, {6}}});
  expectValues("sad.s32 %r0, %r1, %r2, %r3;",
               {{{1, 0xFFFFFFFF, 3}, {5}}, {{0x80000000, 0x7FFFFFFF, 1}, {0}}});
  expectValues("sad.u64 %l0, %l1, %l2, %l3;", {{{1, kOnes, 3}, {1}}});
  expectValues("sad.s64 %l0, %l1, %l2, %l3;", {{{1, kOnes, 3}, {5}}, {{kMin64, kMax64, 1}, {0}}});
}

// Bytes of 0xFF02FE01: 1, -2 or 254, 2, -1 or 255, from the lowest on.
TEST(IntegerTest, DotProducts) {
  constexpr uint64_t a = 0xFF02FE01, b = 0x05060708; // b: 8, 7, 6, 5
  expectValues("dp4a.u32.u32 %r0, %r1, %r2, %r3;",
               {{{a, b, 10}, {8 + 254 * 7 + 12 + 255 * 5 + 10}}});
  expectValues("dp4a.s32.u32 %r0, %r1, %r2, %r3;",
               {{{a, b, 10}, {uint32_t(8 - 14 + 12 - 5 + 10)}}, {{0x80, 0xFF, 0}, {uint32_t(-128 * 255)}}});
  expectValues("dp4a.u32.s32 %r0, %r1, %r2, %r3;", {{{0x80, 0xFF, 0}, {uint32_t(-128)}}});
  expectValues("dp4a.s32.s32 %r0, %r1, %r2, %r3;", {{{0x80, 0xFF, 0}, {128}}, {{a, b, 0xFFFFFFFF}, {0}}});
  // Halves of a with the two lower bytes of b, or the two upper ones.
  constexpr uint64_t halves = 0xFFFE0003;
  expectValues("dp2a.lo.u32.u32 %r0, %r1, %r2, %r3;",
               {{{halves, b, 1}, {3 * 8 + 0xFFFE * 7 + 1}}});
  expectValues("dp2a.hi.u32.u32 %r0, %r1, %r2, %r3;",
               {{{halves, b, 1}, {3 * 6 + 0xFFFE * 5 + 1}}});
  expectValues("dp2a.lo.s32.u32 %r0, %r1, %r2, %r3;", {{{halves, b, 1}, {3 * 8 - 2 * 7 + 1}}});
  expectValues("dp2a.hi.s32.u32 %r0, %r1, %r2, %r3;", {{{halves, b, 1}, {3 * 6 - 2 * 5 + 1}}});
  expectValues("dp2a.lo.s32.s32 %r0, %r1, %r2, %r3;",
               {{{halves, 0x0000FFFE, 0}, {uint32_t(3 * -2 + -2 * -1)}}});
  expectValues("dp2a.hi.s32.s32 %r0, %r1, %r2, %r3;",
               {{{halves, 0xFFFE0000, 0}, {uint32_t(3 * -2 + -2 * -1)}}});
  expectValues("dp2a.lo.u32.s32 %r0, %r1, %r2, %r3;",
               {{{halves, 0x0000FFFE, 0}, {uint32_t(3 * -2 - 0xFFFE)}}});
  expectValues("dp2a.hi.u32.s32 %r0, %r1, %r2, %r3;",
               {{{halves, 0xFFFE0000, 0}, {uint32_t(3 * -2 - 0xFFFE)}}});
}
