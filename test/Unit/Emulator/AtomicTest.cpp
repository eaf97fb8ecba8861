//===- AtomicTest.cpp - atom, red, fences ---------------------------------===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "PTXRunner.h"

#include <gtest/gtest.h>

#include <algorithm>

using namespace kvc::emu;
using namespace kvc::emu::test;

namespace {
/// An operation on one place: what it held, the operand, what it holds then.
struct Case {
  const char *operation; ///< With the type.
  uint64_t before, operand, after;
  uint64_t swap = 0; ///< Of cas: what replaces an equal value.
};
} // namespace

static unsigned getBits(const std::string &operation) {
  std::string type = operation.substr(operation.rfind('.') + 1);
  if (type == "f16" || type == "bf16" || type == "b16")
    return 16;
  return type.find("64") != std::string::npos ? 64 : 32;
}

/// Runs a case with `atom`, which returns the old value, and with `red`, on global
/// and shared memory, by the window's address and by a generic one.
static void check(const Case &c) {
  std::string operation = c.operation;
  unsigned bits = getBits(operation);
  std::string reg = bits == 16 ? "%h" : bits == 32 ? "%r" : "%l";
  std::string size = ".b" + std::to_string(bits);
  bool isCas = operation.substr(0, 3) == "cas", isSwap = isCas || operation.substr(0, 4) == "exch";
  for (std::string space : {".global", ".shared", ""})
    for (bool inShared : {false, true})
      for (std::string opcode : {"atom", "red"}) {
        if ((space == ".global" && inShared) || (space == ".shared" && !inShared) || (isSwap && opcode == "red"))
          continue;
        // The place is %l2; %out + 8 takes what it holds then, %out + 16 what atom returns.
        std::string body = "ld.global.u64 %l3, [%in]; ld.global.u64 %l4, [%in+8]; ld.global.u64 %l5, [%in+16];\n";
        for (std::string n : {"3", "4", "5"})
          body += "cvt.u32.u64 %r" + n + ", %l" + n + "; cvt.u16.u64 %h" + n + ", %l" + n + ";\n";
        if (inShared)
          body += space.empty() ? "mov.u64 %l2, tile; cvta.shared.u64 %l2, %l2;\n" : "mov.u64 %l2, tile;\n";
        else
          body += "mov.u64 %l2, %out;\n";
        body += "st" + space + ".u64 [%l2], %l3;\n";
        body += opcode + space + "." + operation + (opcode == "atom" ? " " + reg + "6," : "") + " [%l2], " + reg + "4" + (isCas ? ", " + reg + "5" : "") + ";\n";
        body += "ld" + space + size + " " + reg + "7, [%l2]; st.global" + size + " [%out+8], " + reg + "7;\n";
        if (opcode == "atom")
          body += "st.global" + size + " [%out+16], " + reg + "6;\n";
        std::vector<uint32_t> in;
        for (uint64_t value : {c.before, c.operand, c.swap}) {
          in.push_back(uint32_t(value));
          in.push_back(uint32_t(value >> 32));
        }
        Launched r = run(makeKernel(body, ".shared .align 8 .b8 tile[8];\n"), 6, in, {1, 1, 1});
        r.expectClean();
        uint64_t mask = bits == 64 ? ~uint64_t(0) : (uint64_t(1) << bits) - 1;
        uint64_t after = (uint64_t(r.words[3]) << 32 | r.words[2]) & mask;
        uint64_t old = (uint64_t(r.words[5]) << 32 | r.words[4]) & mask;
        EXPECT_EQ(after, c.after) << body;
        if (opcode == "atom") {
          EXPECT_EQ(old, c.before) << body;
        }
      }
}

static constexpr uint64_t kOnes = ~uint64_t(0), kTop = uint64_t(1) << 63;

TEST(AtomicTest, Integers) {
  for (const Case &c : {
           Case{"and.b32", 0xFF00FF00, 0x0FF00FF0, 0x0F000F00}, {"or.b32", 0xF0, 0x0F, 0xFF}, {"xor.b32", 0xFF, 0x0F, 0xF0},
           {"and.b64", kTop | 0xFF, kTop | 0xF, kTop | 0xF}, {"or.b64", kTop, 1, kTop | 1}, {"xor.b64", kOnes, 1, kOnes - 1},
           {"exch.b32", 5, 6, 6}, {"exch.b64", 5, kTop, kTop},
           {"cas.b32", 5, 5, 9, 9}, {"cas.b32", 5, 6, 5, 9}, {"cas.b64", kTop, kTop, 9, 9}, {"cas.b64", kTop | 1, kTop, kTop | 1, 9},
           {"cas.b16", 5, 5, 9, 9}, {"cas.b16", 5, 6, 5, 9},
           {"add.u32", 0xFFFFFFFF, 2, 1}, {"add.s32", 5, 0xFFFFFFFF, 4}, {"add.u64", kOnes, 2, 1},
           // inc: 0 from the limit on; dec: the limit from 0, and from above it.
           {"inc.u32", 4, 5, 5}, {"inc.u32", 5, 5, 0}, {"inc.u32", 9, 5, 0}, {"inc.u32", 0, 0, 0}, {"inc.u32", 0xFFFFFFFE, 0xFFFFFFFF, 0xFFFFFFFF},
           {"dec.u32", 4, 5, 3}, {"dec.u32", 0, 5, 5}, {"dec.u32", 6, 5, 5}, {"dec.u32", 5, 5, 4},
           {"min.u32", 0xFFFFFFFF, 1, 1}, {"min.s32", 0xFFFFFFFF, 1, 0xFFFFFFFF}, {"max.u32", 0xFFFFFFFF, 1, 0xFFFFFFFF}, {"max.s32", 0xFFFFFFFF, 1, 1},
           {"min.u64", kOnes, 1, 1}, {"min.s64", kOnes, 1, kOnes}, {"max.u64", kOnes, 1, kOnes}, {"max.s64", kOnes, 1, 1}})
    check(c);
}

TEST(AtomicTest, Floats) {
  for (const Case &c : {
           Case{"add.f32", f32(1), f32(2), f32(3)}, {"add.f32", kInf, kNegInf, kNaN}, {"add.f32", f32(0x1p24f), f32(1), f32(0x1p24f)},
           {"add.f64", f64(1), f64(2), f64(3)}, {"add.f64", 1, 1, 2},
           {"add.noftz.f16", 0x3C00, 0x4000, 0x4200}, {"add.noftz.f16", 1, 1, 2}, {"add.noftz.bf16", 0x3F80, 0x4000, 0x4040},
           {"add.noftz.f16x2", 0x3C003C00, 0x40003C00, 0x42004000}, {"add.noftz.bf16x2", 0x3F804380, 0x40003F80, 0x40404380}})
    check(c);
}

// Sums of f32 flush subnormals in global memory, not in shared memory.
TEST(AtomicTest, SubnormalSums) {
  const std::string body = R"(
    .shared .align 4 .b32 tile; mov.u32 %r1, 1; st.shared.u32 [tile], %r1; red.shared.add.f32 [tile], %r1; ld.shared.u32 %r2, [tile];
    st.global.u32 [%out], %r1; red.global.add.f32 [%out], %r1;
    st.global.u32 [%out+4], %r1; cvta.global.u64 %l1, %out; red.add.f32 [%l1+4], %r1;
    st.shared.u32 [tile], %r1; mov.u64 %l2, tile; cvta.shared.u64 %l2, %l2; red.add.f32 [%l2], %r1; ld.shared.u32 %r3, [tile];
    mov.u32 %r4, 0x80000001; st.global.u32 [%out+8], %r4; red.global.add.f32 [%out+8], %r4; st.global.v2.u32 [%out+16], {%r2, %r3};)";
  Launched r = run(makeKernel(body), 6, {}, {1, 1, 1});
  r.expectClean();
  EXPECT_EQ(r.words, (std::vector<uint32_t>{0, 0, 0x80000000, 0xEEEEEEEE, 2, 2}));
}

// Each lane of 64 draws a number once, in any order of lanes.
TEST(AtomicTest, EveryLaneTakesItsTurn) {
  for (uint64_t seed : {0, 1, 2}) {
    LaunchOptions options;
    options.seed = seed;
    Launched r = run(makeKernel("atom.global.add.u32 %r1, [%out+256], 1; st.global.u32 [%mine], %r1;", ""), 65, {}, {64, 1, 1}, {1, 1, 1}, options);
    r.expectClean();
    EXPECT_EQ(r.words[64], 0xEEEEEEEEu + 64);
    std::vector<uint32_t> drawn(r.words.begin(), r.words.begin() + 64);
    std::sort(drawn.begin(), drawn.end());
    for (uint32_t i = 0; i < 64; ++i)
      EXPECT_EQ(drawn[i], 0xEEEEEEEE + i);
  }
}

TEST(AtomicTest, GuardedLanes) {
  Launched r = run(makeKernel("setp.lt.u32 %p1, %t, 5; mov.u32 %r1, 77; @%p1 atom.global.exch.b32 %r1, [%mine], %t; @%p1 red.global.or.b32 [%mine], 256; st.global.u32 [%mine+128], %r1;"), 64);
  r.expectClean();
  for (uint32_t i = 0; i < 32; ++i) {
    EXPECT_EQ(r.words[i], i < 5 ? 256 + i : 0xEEEEEEEE);
    EXPECT_EQ(r.words[32 + i], i < 5 ? 0xEEEEEEEE : 77u);
  }
}

TEST(AtomicTest, OrdersAndScopes) {
  for (const char *order : {"relaxed.cta", "acquire.gpu", "release.sys", "acq_rel.gpu", "relaxed.cluster", "acq_rel.cta"}) {
    Launched r = run(makeKernel(std::string("st.global.u32 [%out], 1; atom.") + order + ".global.add.u32 %r1, [%out], 2; red." + order + ".global.add.u32 [%out], 4;"), 1, {}, {1, 1, 1});
    r.expectClean();
    EXPECT_EQ(r.words[0], 7u) << order;
  }
  for (const char *fence : {"membar.cta", "membar.gl", "membar.sys", "fence.sc.gpu", "fence.acq_rel.cta", "fence.acq_rel.sys", "fence.sc.cluster", "fence.acq_rel.gpu"})
    run(makeKernel(std::string("st.global.u32 [%mine], 1; ") + fence + ";"), 32).expectClean();
  expectRefused("membar;", "expected .cta, .gl or .sys");
  expectRefused("fence.acq_rel;", "expected a scope");
}

TEST(AtomicTest, Refused) {
  expectRefused("atom.global.u32 %r0, [%l1], %r1;", "expected an operation");
  expectRefused("red.global.exch.b32 [%l1], %r1;", "expected an operation that 'red' has");
  expectRefused("red.global.cas.b32 [%l1], %r1, %r2;", "expected an operation that 'red' has");
  expectRefused("atom.global.inc.s32 %r0, [%l1], %r1;", "does not support the type .s32");
  expectRefused("atom.global.and.u32 %r0, [%l1], %r1;", "does not support the type .u32");
  expectRefused("atom.global.min.f32 %r0, [%l1], %r1;", "does not support the type .f32");
  expectRefused("atom.global.exch.b16 %h0, [%l1], %h1;", "does not support the type .b16");
  expectRefused("atom.global.cas.b32 %r0, [%l1], %r1;", "expected 4 operands, got 3");
  expectRefused("atom.local.add.u32 %r0, [%l1], %r1;", "expected an address of global or shared memory");
}
