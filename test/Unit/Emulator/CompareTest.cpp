//===- CompareTest.cpp - comparisons --------------------------------------===//
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

/// What a comparison gives for a < b, a == b, a > b, and NaN.
struct Truth {
  const char *name;
  bool less, equal, greater, unordered;
};

static const Truth kOrdered[] = {
    {"eq", false, true, false, false}, {"ne", true, false, true, false},
    {"lt", true, false, false, false}, {"le", true, true, false, false},
    {"gt", false, false, true, false}, {"ge", false, true, true, false}};
static const Truth kUnordered[] = {
    {"equ", false, true, false, true}, {"neu", true, false, true, true},
    {"ltu", true, false, false, true}, {"leu", true, true, false, true},
    {"gtu", false, false, true, true}, {"geu", false, true, true, true},
    {"num", true, true, true, false},  {"nan", false, false, false, true}};
static const Truth kUnsigned[] = {{"lo", true, false, false, false},
                                  {"ls", true, true, false, false},
                                  {"hi", false, false, true, false},
                                  {"hs", false, true, true, false}};

/// Expects setp and set of `truth` for a pair of numbers that are in order.
static void check(const Truth &truth, const std::string &type, char reg,
                  uint64_t small, uint64_t large, std::vector<uint64_t> nans = {}) {
  std::string operands = std::string(", %") + reg + "1, %" + reg + "2;";
  std::vector<Values> rows = {{{small, large}, {truth.less}},
                              {{large, small}, {truth.greater}},
                              {{small, small}, {truth.equal}},
                              {{large, large}, {truth.equal}}};
  for (uint64_t nan : nans) {
    rows.push_back({{nan, small}, {truth.unordered}});
    rows.push_back({{small, nan}, {truth.unordered}});
    rows.push_back({{nan, nan}, {truth.unordered}});
  }
  expectValues(std::string("setp.") + truth.name + "." + type + " %p0" + operands, rows);
  struct {
    const char *type;
    uint64_t value;
  } results[] = {{"u32", 0xFFFFFFFF}, {"s32", 0xFFFFFFFF}, {"f32", 0x3F800000}};
  for (const auto &result : results) {
    std::vector<Values> words = rows;
    for (Values &row : words)
      row.results[0] = row.results[0] ? result.value : 0;
    expectValues(std::string("set.") + truth.name + "." + result.type + "." + type +
                     " %r0" + operands,
                 words);
  }
}

TEST(CompareTest, Integers) {
  for (const Truth &truth : kOrdered) {
    check(truth, "s16", 'h', 0xFFFF, 1);
    check(truth, "s32", 'r', 0xFFFFFFFF, 1);
    check(truth, "s64", 'l', ~uint64_t(0), 1);
  }
  for (const Truth &truth : kOrdered) {
    check(truth, "u16", 'h', 1, 0xFFFF);
    check(truth, "u32", 'r', 1, 0xFFFFFFFF);
    check(truth, "u64", 'l', 0xFFFFFFFF, ~uint64_t(0));
  }
  for (const Truth &truth : kUnsigned) {
    check(truth, "u16", 'h', 1, 0xFFFF);
    check(truth, "u32", 'r', 1, 0xFFFFFFFF);
    check(truth, "u64", 'l', 1, ~uint64_t(0));
  }
  for (const Truth &truth : {kOrdered[0], kOrdered[1]}) {
    check(truth, "b16", 'h', 1, 0xFFFF);
    check(truth, "b32", 'r', 1, 0xFFFFFFFF);
    check(truth, "b64", 'l', 1, ~uint64_t(0));
  }
  expectRefused("setp.equ.s32 %p0, %r1, %r2;", "does not support the type .s32");
  expectRefused("setp.lo.s32 %p0, %r1, %r2;", "does not support the type .s32");
  expectRefused("setp.hi.f32 %p0, %r1, %r2;", "does not support the type .f32");
  expectRefused("setp.lt.b32 %p0, %r1, %r2;", "does not support the type .b32");
  expectRefused("setp.ftz.eq.s32 %p0, %r1, %r2;", "does not support the modifier .ftz");
  expectRefused("setp.s32 %p0, %r1, %r2;", "expected a comparison");
}

TEST(CompareTest, Floats) {
  for (const auto *table : {&kOrdered[0], &kUnordered[0]})
    for (size_t i = 0; i < (table == kOrdered ? 6u : 8u); ++i) {
      const Truth &truth = table[i];
      check(truth, "f32", 'r', f32(-1.5f), f32(2), {kNaN, 0xFFC00000});
      check(truth, "f64", 'l', f64(-1.5), f64(2), {0x7FF8000000000000});
      check(truth, "f16", 'h', 0xBC00, 0x4000, {0x7E00, 0xFE00});
      check(truth, "bf16", 'h', 0xBF80, 0x4000, {0x7FC0});
    }
  expectValues("setp.eq.f32 %p0, %r1, %r2;", {{{0, kNegZero}, {1}}, {{1, 0}, {0}}, {{kInf, kInf}, {1}}});
  expectValues("setp.lt.f32 %p0, %r1, %r2;", {{{kNegZero, 0}, {0}}, {{0, 1}, {1}}, {{kNegInf, 0xFF7FFFFF}, {1}}});
  expectValues("setp.eq.ftz.f32 %p0, %r1, %r2;", {{{1, 0}, {1}}, {{0x80000001, 1}, {1}}, {{0x00800000, 0}, {0}}});
  expectValues("setp.lt.ftz.f32 %p0, %r1, %r2;", {{{0, 1}, {0}}, {{0, 0x00800000}, {1}}});
  expectValues("set.gt.ftz.f32.f32 %r0, %r1, %r2;", {{{1, 0}, {0}}, {{f32(1), 0}, {f32(1)}}});
  expectValues("setp.eq.f64 %p0, %l1, %l2;", {{{0, f64(-0.0)}, {1}}, {{1, 0}, {0}}});
  expectValues("setp.gt.f16 %p0, %h1, %h2;", {{{1, 0}, {1}}, {{0, 0x8000}, {0}}});
  expectValues("setp.gt.ftz.f16 %p0, %h1, %h2;", {{{1, 0}, {0}}, {{0x0400, 0}, {1}}});
  expectRefused("setp.eq.ftz.f64 %p0, %l1, %l2;", "does not support the modifier .ftz");
}

// p of the low halves, q of the high ones.
TEST(CompareTest, Packed) {
  expectValues("setp.lt.f16x2 %p0|%p5, %r1, %r2; selp.u32 %r0, 1, 0, %p5;",
               {{{0xBC004000, 0x40003C00}, {1, 0}}, {{0x40003C00, 0xBC004000}, {0, 1}}, {{0x7E003C00, 0x40004000}, {0, 1}}});
  expectValues("setp.gt.ftz.f16x2 %p0|%p5, %r1, %r2; selp.u32 %r0, 1, 0, %p5;",
               {{{0x00010001, 0}, {0, 0}}, {{0x04000001, 0}, {1, 0}}});
  expectValues("setp.neu.bf16x2 %p0|%p5, %r1, %r2; selp.u32 %r0, 1, 0, %p5;",
               {{{0x7FC03F80, 0x3F803F80}, {1, 0}}, {{0x3F807FC0, 0x3F803F80}, {0, 1}}});
  expectValues("setp.eq.and.f16x2 %p0|%p5, %r1, %r2, %p3; selp.u32 %r0, 1, 0, %p5;",
               {{{0x3C004000, 0x3C004000, 1}, {1, 1}}, {{0x3C004000, 0x3C004000, 0}, {0, 0}}});
  expectRefused("setp.lt.f16x2 %p0, %r1, %r2;", "expected p|q");
}

// p = (a < b) op c, q = !(a < b) op c
TEST(CompareTest, Combinations) {
  auto rows = [](auto combine) {
    std::vector<Values> result;
    for (uint64_t less : {0, 1})
      for (uint64_t c : {0, 1})
        result.push_back({{less ? 1u : 3u, 2, c}, {uint64_t(combine(!less, c)), uint64_t(combine(less, c))}});
    return result;
  };
  auto logicalAnd = [](bool a, bool b) { return a && b; };
  auto logicalOr = [](bool a, bool b) { return a || b; };
  auto logicalXor = [](bool a, bool b) { return a != b; };
  const std::string tail = " %p0|%p5, %r1, %r2, %p3; selp.u32 %r0, 1, 0, %p5;";
  expectValues("setp.lt.and.s32" + tail, rows(logicalAnd));
  expectValues("setp.lt.or.s32" + tail, rows(logicalOr));
  expectValues("setp.lt.xor.s32" + tail, rows(logicalXor));
  expectValues("setp.lt.s32 %p0|%p5, %r1, %r2; selp.u32 %r0, 1, 0, %p5;", {{{1, 2}, {0, 1}}, {{2, 1}, {1, 0}}});
  expectValues("setp.lt.and.s32 %p0, %r1, %r2, !%p3;", {{{1, 2, 0}, {1}}, {{1, 2, 1}, {0}}});
  // The predicate that is read may be the one that is written.
  expectValues("setp.lt.or.s32 %p3|%p0, %r1, %r2, %p3;", {{{1, 2, 0}, {0}}, {{1, 2, 1}, {1}}, {{3, 2, 0}, {1}}});
  expectValues("setp.lt.s32 _|%p0, %r1, %r2;", {{{1, 2}, {0}}, {{2, 1}, {1}}});
  expectValues("set.lt.and.u32.s32 %r0, %r1, %r2, %p3;", {{{1, 2, 1}, {0xFFFFFFFF}}, {{1, 2, 0}, {0}}});
  expectValues("set.lt.xor.f32.s32 %r0, %r1, %r2, !%p3;", {{{1, 2, 1}, {f32(1)}}, {{1, 2, 0}, {0}}});
  expectRefused("setp.lt.and.s32 %p0, %r1, %r2;", "expected 4 operands, got 3");
}

TEST(CompareTest, Testp) {
  struct Property {
    const char *name;
    // zero, subnormal, normal, infinity, NaN
    bool truth[5];
  };
  static const Property properties[] = {{"finite", {true, true, true, false, false}},
                                        {"infinite", {false, false, false, true, false}},
                                        {"number", {true, true, true, true, false}},
                                        {"notanumber", {false, false, false, false, true}},
                                        {"normal", {true, false, true, false, false}},
                                        {"subnormal", {false, true, false, false, false}}};
  const uint64_t narrow[5] = {0, 0x007FFFFF, 0x00800000, kInf, 0x7F800001};
  const uint64_t wide[5] = {0, 0x000FFFFFFFFFFFFF, 0x0010000000000000, 0x7FF0000000000000, 0x7FF0000000000001};
  for (const Property &property : properties) {
    std::vector<Values> rows, wideRows;
    for (int i = 0; i < 5; ++i)
      for (uint64_t sign : {0, 1}) {
        rows.push_back({{narrow[i] | sign << 31}, {property.truth[i]}});
        wideRows.push_back({{wide[i] | sign << 63}, {property.truth[i]}});
      }
    expectValues(std::string("testp.") + property.name + ".f32 %p0, %r1;", rows);
    expectValues(std::string("testp.") + property.name + ".f64 %p0, %l1;", wideRows);
  }
  expectRefused("testp.f32 %p0, %r1;", "expected a property");
}

// a where c >= 0, else b; -0 counts as 0, NaN as less.
TEST(CompareTest, Slct) {
  const std::vector<Values> rows = {{{5, 6, 0}, {5}}, {{5, 6, 7}, {5}}, {{5, 6, 0xFFFFFFFF}, {6}}, {{5, 6, 0x80000000}, {6}}};
  for (const char *type : {"b16", "u16", "s16"})
    expectValues(std::string("slct.") + type + ".s32 %h0, %h1, %h2, %r3;", rows);
  for (const char *type : {"b32", "u32", "s32", "f32"})
    expectValues(std::string("slct.") + type + ".s32 %r0, %r1, %r2, %r3;", rows);
  for (const char *type : {"b64", "u64", "s64", "f64"})
    expectValues(std::string("slct.") + type + ".s32 %l0, %l1, %l2, %r3;", rows);
  const std::vector<Values> floats = {{{5, 6, 0}, {5}}, {{5, 6, kNegZero}, {5}}, {{5, 6, f32(-1)}, {6}}, {{5, 6, kInf}, {5}}, {{5, 6, kNaN}, {6}}};
  expectValues("slct.b16.f32 %h0, %h1, %h2, %r3;", floats);
  expectValues("slct.u32.f32 %r0, %r1, %r2, %r3;", floats);
  expectValues("slct.u64.f32 %l0, %l1, %l2, %r3;", floats);
  expectValues("slct.u32.f32 %r0, %r1, %r2, %r3;", {{{5, 6, 0x80000001}, {6}}});
  expectValues("slct.ftz.u32.f32 %r0, %r1, %r2, %r3;", {{{5, 6, 0x80000001}, {5}}});
  expectRefused("slct.u32.u32 %r0, %r1, %r2, %r3;", "does not support the type .u32");
}
