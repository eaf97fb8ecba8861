//===- MoveTest.cpp - mov, selp, cvta, isspacep, special registers --------===//
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

static constexpr uint64_t kLong = 0x0123456789ABCDEF;

TEST(MoveTest, Mov) {
  for (const char *type : {"b16", "u16", "s16", "f16", "bf16"})
    expectValues(std::string("mov.") + type + " %h0, %h1;", {{{0xABCD}, {0xABCD}}});
  for (const char *type : {"b32", "u32", "s32", "f32", "f16x2", "bf16x2"})
    expectValues(std::string("mov.") + type + " %r0, %r1;", {{{0x89ABCDEF}, {0x89ABCDEF}}});
  for (const char *type : {"b64", "u64", "s64", "f64"})
    expectValues(std::string("mov.") + type + " %l0, %l1;", {{{kLong}, {kLong}}});
  expectValues("mov.pred %p0, %p1;", {{{0}, {0}}, {{1}, {1}}});
  expectValues("mov.pred %p0, !%p1;", {{{0}, {1}}, {{1}, {0}}});
  expectValues("mov.pred %p0, 1;", {{{0}, {1}}});
  expectValues("mov.b32 %r0, -1;", {{{0}, {0xFFFFFFFF}}});
  expectValues("mov.b64 %l0, -1;", {{{0}, {~uint64_t(0)}}});
  expectValues("mov.u16 %h0, 65535;", {{{0}, {0xFFFF}}});
  expectValues("mov.f32 %r0, 0f40490FDB;", {{{0}, {0x40490FDB}}});
  expectValues("mov.f64 %l0, 0d400921FB54442D18;", {{{0}, {0x400921FB54442D18}}});
  expectValues("mov.u32 %r0, WARP_SZ;", {{{0}, {32}}});
  expectValues("mov.u32 %r0, 0x1F; ", {{{0}, {31}}});
  expectValues("mov.u32 %r0, 0b101;", {{{0}, {5}}});
  expectValues("mov.u32 %r0, 017;", {{{0}, {15}}});
  expectValues("mov.u32 %r0, 7U;", {{{0}, {7}}});
  expectRefused("mov.b32 %r0, %h1;", "expected a register of 32 bits, got '%h1' of 16");
  expectRefused("mov.b8 %h0, %h1;", "does not support the type .b8");
  expectRefused("mov.u32 %r0, nowhere;", "expected a register, a constant or a variable, got 'nowhere'");
}

// The first element is the lowest.
TEST(MoveTest, PackAndUnpack) {
  expectValues("mov.b32 %r0, {%h1, %h2};", {{{0x1234, 0xABCD}, {0xABCD1234}}});
  expectValues("mov.b64 %l0, {%r1, %r2};", {{{0x12345678, 0x9ABCDEF0}, {0x9ABCDEF012345678}}});
  expectValues("mov.b64 %l0, {%h1, %h2, %h3, %h4};", {{{1, 2, 3, 0xFFFF}, {0xFFFF000300020001}}});
  expectValues("mov.b64 %l0, {%r1, 5};", {{{7}, {0x500000007}}});
  expectValues("mov.b32 {%h0, %h2}, %r1; cvt.u32.u16 %r0, %h2;", {{{0xABCD1234}, {0x1234, 0xABCD}}});
  expectValues("mov.b64 {%r0, %r2}, %l1; cvt.u64.u32 %l0, %r2;", {{{kLong}, {0x89ABCDEF, 0x01234567}}});
  expectValues("mov.b64 {_, %r0}, %l1;", {{{kLong}, {0x01234567}}});
  expectValues("mov.b64 {%h0, %h2, %h3, %h4}, %l1; mov.b32 %r0, {%h3, %h4};", {{{kLong}, {0xCDEF, 0x01234567}}});
  expectValues("mov.b32 {%h1, %h2}, %r1; mov.b32 %r0, {%h2, %h1};", {{{0xABCD1234}, {0x1234ABCD}}});
  expectRefused("mov.b32 %r0, {%r1, %r2};", "expected a register of 16 bits");
  expectRefused("mov.b64 %l0, {%r1, %r2, %r3};", "expected a register and a vector of 2 or 4");
}

TEST(MoveTest, Selp) {
  const std::vector<Values> rows = {{{5, 6, 1}, {5}}, {{5, 6, 0}, {6}}};
  for (const char *type : {"b16", "u16", "s16"})
    expectValues(std::string("selp.") + type + " %h0, %h1, %h2, %p3;", rows);
  for (const char *type : {"b32", "u32", "s32", "f32"})
    expectValues(std::string("selp.") + type + " %r0, %r1, %r2, %p3;", rows);
  for (const char *type : {"b64", "u64", "s64", "f64"})
    expectValues(std::string("selp.") + type + " %l0, %l1, %l2, %p3;", rows);
  expectValues("selp.b32 %r0, %r1, %r2, !%p3;", {{{5, 6, 1}, {6}}, {{5, 6, 0}, {5}}});
  expectValues("selp.b16 %h0, 0xFFFF, 0, %p1;", {{{1}, {0xFFFF}}, {{0}, {0}}});
  expectValues("selp.b16 %h1, %h1, 1, %p2; cvt.u32.u16 %r0, %h1;", {{{0xFFFF, 1}, {0xFFFF}}, {{0xFFFF, 0}, {1}}});
  expectRefused("selp.b32 %r0, %r1, %r2, %r3;", "expected a predicate, got '%r3'");
}

TEST(MoveTest, Clocks) {
  // Clocks go on, and never back.
  Launched r = run(makeKernel("mov.u64 %l1, %clock64; mov.u32 %r1, %clock; mov.u32 %r2, %clock_hi;"
                              "mov.u64 %l2, %globaltimer; mov.u32 %r3, %globaltimer_lo; mov.u32 %r4, %globaltimer_hi;"
                              "setp.ge.u64 %p1, %l2, %l1; selp.u32 %r5, 1, 0, %p1; add.u32 %r5, %r5, %r2;"
                              "add.u32 %r5, %r5, %r4; st.global.u32 [%mine], %r5;"),
                   32);
  r.expectClean();
  for (uint32_t word : r.words)
    EXPECT_EQ(word, 1u);
}

//===----------------------------------------------------------------------===//
// Spaces
//===----------------------------------------------------------------------===//

// A generic address of each window comes from cvta, and back by cvta.to.
TEST(MoveTest, ConvertAddresses) {
  const std::string globals = ".shared .align 8 .b8 tile[64]; .global .align 8 .b8 table[64];\n"
                              ".const .align 4 .b32 five = 5;\n";
  Launched r = run(makeKernel(R"(
    .local .align 8 .b8 depot[16];
    mov.u64 %l1, tile; cvta.shared.u64 %l2, %l1; cvta.to.shared.u64 %l3, %l2;
    cvta.shared.u64 %l4, tile;
    setp.eq.u64 %p1, %l1, %l3; setp.eq.and.u64 %p1, %l2, %l4, %p1; setp.ne.and.u64 %p1, %l1, %l2, %p1;
    mov.u64 %l5, depot; cvta.local.u64 %l6, %l5; cvta.to.local.u64 %l7, %l6;
    setp.eq.and.u64 %p1, %l5, %l7, %p1;
    mov.u64 %l8, table; cvta.global.u64 %l9, %l8; cvta.to.global.u64 %l10, %l9;
    setp.eq.and.u64 %p1, %l8, %l10, %p1;
    mov.u64 %l11, five; cvta.const.u64 %l12, %l11; ld.u32 %r9, [%l12];
    mov.b64 %l13, in; cvta.param.u64 %l14, %l13; ld.u64 %l15, [%l14];
    setp.eq.and.u64 %p1, %l15, %in, %p1;
    selp.u32 %r1, 1, 0, %p1; mad.lo.u32 %r1, %r9, 10, %r1;
    st.global.u32 [%mine], %r1;)", globals), 32);
  r.expectClean();
  EXPECT_EQ(r.words[0], 51u);
  expectRefused("cvta.u64 %l0, %l1;", "expected a state space");
  expectRefused("cvta.global.u32 %r0, %r1;", "does not support the type .u32");
  expectRefused("cvta.to.shared.u64 %l0, nowhere;", "got 'nowhere'");
}

TEST(MoveTest, IsSpace) {
  Launched r = run(makeKernel(R"(
    .shared .align 8 .b8 tile[64]; .local .align 8 .b8 depot[16];
    mov.u64 %l1, tile; cvta.shared.u64 %l1, %l1; mov.u64 %l2, depot; cvta.local.u64 %l2, %l2;
    mov.b64 %l3, in; cvta.param.u64 %l3, %l3;
    mov.u32 %r1, 0;
    isspacep.shared %p1, %l1; isspacep.shared %p2, %l2; isspacep.shared %p3, %out; isspacep.shared %p4, %l3;
    selp.u32 %r2, 1, 0, %p1; or.b32 %r1, %r1, %r2; selp.u32 %r2, 2, 0, %p2; or.b32 %r1, %r1, %r2;
    selp.u32 %r2, 4, 0, %p3; or.b32 %r1, %r1, %r2; selp.u32 %r2, 8, 0, %p4; or.b32 %r1, %r1, %r2;
    isspacep.local %p1, %l1; isspacep.local %p2, %l2; isspacep.local %p3, %out; isspacep.local %p4, %l3;
    selp.u32 %r2, 16, 0, %p1; or.b32 %r1, %r1, %r2; selp.u32 %r2, 32, 0, %p2; or.b32 %r1, %r1, %r2;
    selp.u32 %r2, 64, 0, %p3; or.b32 %r1, %r1, %r2; selp.u32 %r2, 128, 0, %p4; or.b32 %r1, %r1, %r2;
    isspacep.global %p1, %l1; isspacep.global %p2, %l2; isspacep.global %p3, %out; isspacep.param %p4, %l3;
    selp.u32 %r2, 256, 0, %p1; or.b32 %r1, %r1, %r2; selp.u32 %r2, 512, 0, %p2; or.b32 %r1, %r1, %r2;
    selp.u32 %r2, 1024, 0, %p3; or.b32 %r1, %r1, %r2; selp.u32 %r2, 2048, 0, %p4; or.b32 %r1, %r1, %r2;
    st.global.u32 [%mine], %r1;)"), 32);
  r.expectClean();
  EXPECT_EQ(r.words[0], 1u + 32 + 1024 + 2048);
  expectRefused("isspacep.shared %p0, %r1;", "expected a register of 64 bits");
  expectRefused("isspacep %p0, %l1;", "expected a state space");
  expectRefused("isspacep.const %p0, %l1;", "does not support the modifier .const");
}

//===----------------------------------------------------------------------===//
// Special registers
//===----------------------------------------------------------------------===//

// A block of 5 x 3 x 3 = 45 threads: the second warp has 13.
TEST(MoveTest, ThreadsOfABlock) {
  static const char *const names[] = {
      "%tid.x", "%tid.y", "%tid.z", "%ntid.x", "%ntid.y", "%ntid.z", "%ctaid.x", "%ctaid.y",
      "%ctaid.z", "%nctaid.x", "%nctaid.y", "%nctaid.z", "%laneid", "%warpid", "%nwarpid",
      "%lanemask_eq", "%lanemask_le", "%lanemask_lt", "%lanemask_ge", "%lanemask_gt",
      "%dynamic_smem_size", "%cluster_nctarank", "%cluster_ctarank", "%clusterid.x", "%nclusterid.y"};
  constexpr unsigned kNames = sizeof(names) / sizeof(names[0]);
  // Thread number and block number from their coordinates, then a store for each.
  std::string body = R"(
    mov.u32 %r1, %tid.x; mov.u32 %r2, %tid.y; mov.u32 %r3, %tid.z;
    mad.lo.u32 %r4, %r3, 3, %r2; mad.lo.u32 %r4, %r4, 5, %r1;
    mov.u32 %r1, %ctaid.x; mov.u32 %r2, %ctaid.y; mov.u32 %r3, %ctaid.z;
    mad.lo.u32 %r5, %r3, 2, %r2; mad.lo.u32 %r5, %r5, 2, %r1;
    mad.lo.u32 %r4, %r5, 45, %r4; mad.wide.u32 %l1, %r4, 128, %out;
  )";
  for (unsigned i = 0; i < kNames; ++i)
    body += std::string("mov.u32 %r6, ") + names[i] + "; st.global.u32 [%l1+" + std::to_string(4 * i) + "], %r6;\n";
  Launched r = run(makeKernel(body), 45 * 8 * 32, {}, {5, 3, 3}, {2, 2, 2}, LaunchOptions(), 256);
  r.expectClean();
  for (uint32_t block = 0; block < 8; ++block)
    for (uint32_t thread = 0; thread < 45; ++thread) {
      uint32_t lane = thread % 32, bit = 1u << lane;
      const uint32_t expected[kNames] = {
          thread % 5, thread / 5 % 3, thread / 15, 5, 3, 3, block % 2, block / 2 % 2, block / 4, 2, 2, 2, lane,
          thread / 32, 2, bit, bit | (bit - 1), bit - 1, ~(bit - 1), ~(bit | (bit - 1)), 256, 1, 0, block % 2, 2};
      for (unsigned i = 0; i < kNames; ++i)
        ASSERT_EQ(r.words[(block * 45 + thread) * 32 + i], expected[i]) << names[i] << " of " << thread << " in " << block;
    }
}

TEST(MoveTest, SpecialRegistersOfOtherWidths) {
  Launched r = run(makeKernel("mov.u16 %h1, %tid.x; cvt.u32.u16 %r1, %h1; mov.u64 %l1, %gridid; mov.u32 %r2, %nsmid; mov.u32 %r3, %smid;"
                              "setp.lt.u32 %p1, %r3, %r2; selp.u32 %r4, 100, 0, %p1; add.u32 %r1, %r1, %r4; st.global.u32 [%mine], %r1;"), 32);
  r.expectClean();
  for (uint32_t i = 0; i < 32; ++i)
    EXPECT_EQ(r.words[i], 100 + i);
  expectRefused("mov.u32 %r0, %nonsense;", "got '%nonsense'");
}
