//===- LoadStoreTest.cpp - ld, st -----------------------------------------===//
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

/// Runs `body` in one lane, which stores its results from [%out] on.
static std::vector<uint32_t> runOne(const std::string &body, size_t numWords, std::vector<uint32_t> in = {},
                                    const std::string &globals = "") {
  Launched r = run(makeKernel(body, globals), numWords, in, {1, 1, 1});
  r.expectClean();
  return r.words;
}
using Words = std::vector<uint32_t>;

// Each narrow type into registers of 16, 32 and 64 bits.
TEST(LoadStoreTest, NarrowLoadsExtend) {
  struct Case {
    const char *type;
    uint32_t low, high; ///< In 64 bits.
  };
  static const Case cases[] = {{"u8", 0xF0, 0}, {"b8", 0xF0, 0}, {"s8", 0xFFFFFFF0, 0xFFFFFFFF}, {"u16", 0x80F0, 0}, {"b16", 0x80F0, 0},
                               {"s16", 0xFFFF80F0, 0xFFFFFFFF}, {"u32", 0x123480F0, 0}, {"b32", 0x123480F0, 0}, {"s32", 0x123480F0, 0}, {"f32", 0x123480F0, 0}};
  for (const Case &c : cases) {
    std::string load = std::string("ld.global.") + c.type;
    EXPECT_EQ(runOne(load + " %l1, [%in]; st.global.u64 [%out], %l1;", 2, {0x123480F0}), (Words{c.low, c.high})) << c.type;
    EXPECT_EQ(runOne(load + " %r1, [%in]; st.global.u32 [%out], %r1;", 1, {0x123480F0}), Words{c.low}) << c.type;
    if (c.type[1] == '8' || c.type[1] == '1') {
      EXPECT_EQ(runOne(load + " %h1, [%in]; st.global.u16 [%out], %h1;", 1, {0x123480F0})[0], 0xEEEE0000u | (c.low & 0xFFFF)) << c.type;
    }
  }
  EXPECT_EQ(runOne("ld.global.s32 %l1, [%in]; st.global.u64 [%out], %l1;", 2, {0x80000001}), (Words{0x80000001, 0xFFFFFFFF}));
  for (const char *type : {"u64", "s64", "b64", "f64"})
    EXPECT_EQ(runOne(std::string("ld.global.") + type + " %l1, [%in]; st.global." + type + " [%out], %l1;", 2, {1, 0x80000000}), (Words{1, 0x80000000}));
  for (const char *type : {"f16", "bf16"})
    EXPECT_EQ(runOne(std::string("ld.global.") + type + " %h1, [%in]; st.global." + type + " [%out], %h1;", 1, {0x12343C00})[0], 0xEEEE3C00);
  for (const char *type : {"f16x2", "bf16x2"})
    EXPECT_EQ(runOne(std::string("ld.global.") + type + " %r1, [%in]; st.global." + type + " [%out], %r1;", 1, {0x12343C00})[0], 0x12343C00);
}

// Stores take the low bits of wider registers and leave their neighbours.
TEST(LoadStoreTest, NarrowStores) {
  const std::string set = "mov.b64 %l1, 0x1122334455667788; mov.b32 %r1, 0x55667788; mov.b16 %h1, 0x7788;";
  for (const char *reg : {"%l1", "%r1", "%h1"}) {
    for (const char *type : {"u8", "s8", "b8"})
      EXPECT_EQ(runOne(set + "st.global." + type + " [%out+1], " + reg + ";", 1), Words{0xEEEE88EE});
    for (const char *type : {"u16", "s16", "b16"})
      EXPECT_EQ(runOne(set + "st.global." + type + " [%out+2], " + reg + ";", 1), Words{0x7788EEEE});
  }
  for (const char *reg : {"%l1", "%r1"})
    EXPECT_EQ(runOne(set + "st.global.s32 [%out], " + reg + ";", 2), (Words{0x55667788, 0xEEEEEEEE}));
  EXPECT_EQ(runOne("st.global.u32 [%out], 7; st.global.f32 [%out+4], 0f3F800000; st.global.u8 [%out+8], -1; st.global.u64 [%out+16], -2;", 6),
            (Words{7, 0x3F800000, 0xEEEEEEFF, 0xEEEEEEEE, 0xFFFFFFFE, 0xFFFFFFFF}));
}

TEST(LoadStoreTest, Vectors) {
  const Words in = {0x03020100, 0x87868584, 0x0B0A0908, 0x8F8E8D8C};
  EXPECT_EQ(runOne("ld.global.v4.u32 {%r1, %r2, %r3, %r4}, [%in]; st.global.v4.u32 [%out], {%r4, %r3, %r2, %r1};", 4, in), (Words{in[3], in[2], in[1], in[0]}));
  EXPECT_EQ(runOne("ld.global.v2.u32 {%r1, %r2}, [%in+8]; st.global.v2.f32 [%out], {%r2, %r1};", 2, in), (Words{in[3], in[2]}));
  EXPECT_EQ(runOne("ld.global.v2.u64 {%l1, %l2}, [%in]; st.global.v2.b64 [%out], {%l2, %l1};", 4, in), (Words{in[2], in[3], in[0], in[1]}));
  EXPECT_EQ(runOne("ld.global.v4.s8 {%r1, %r2, %r3, %r4}, [%in+4]; st.global.v4.u32 [%out], {%r1, %r2, %r3, %r4};", 4, in), (Words{0xFFFFFF84, 0xFFFFFF85, 0xFFFFFF86, 0xFFFFFF87}));
  EXPECT_EQ(runOne("ld.global.v2.u8 {%h1, %h2}, [%in+2]; st.global.v2.u8 [%out], {%h2, %h1};", 1, in), Words{0xEEEE0203});
  EXPECT_EQ(runOne("ld.global.v4.u16 {%h1, %h2, %h3, %h4}, [%in]; st.global.v4.b16 [%out], {%h4, %h3, %h2, %h1};", 2, in), (Words{0x85848786, 0x01000302}));
  EXPECT_EQ(runOne("ld.global.v2.u16 {%r1, %r2}, [%in+4]; st.global.v2.u16 [%out], {%r2, %r1};", 1, in), Words{0x85848786});
  EXPECT_EQ(runOne("ld.global.v4.u32 {_, %r2, _, %r4}, [%in]; st.global.v2.u32 [%out], {%r2, %r4};", 2, in), (Words{in[1], in[3]}));
  EXPECT_EQ(runOne("ld.global.u32 {%r1}, [%in]; st.global.u32 [%out], {%r1};", 1, in), Words{in[0]});
  expectRefused("ld.global.v4.u64 {%l1, %l2, %l3, %l4}, [%l5];", "does not support the type .u64");
  expectRefused("ld.global.v2.u32 {%r1, %r2, %r3}, [%l5];", "expected 2 elements");
  expectRefused("ld.global.v2.u32 %r1, [%l5];", "expected 2 elements");
}

TEST(LoadStoreTest, Addresses) {
  const Words in = {10, 11, 12, 13};
  EXPECT_EQ(runOne("add.u64 %l1, %in, 8; ld.global.u32 %r1, [%l1+-8]; ld.global.u32 %r2, [%l1+4]; ld.global.u32 %r3, [%l1-4];"
                   "st.global.u32 [%out], %r1; st.global.u32 [%out+4], %r2; st.global.u32 [ %out + 8 ], %r3;", 3, in), (Words{10, 13, 11}));
  // Shared and local addresses may have 32 bits.
  EXPECT_EQ(runOne(".shared .align 4 .b8 tile[16]; .local .align 4 .b32 depot[4]; mov.u32 %r1, tile; mov.u32 %r2, depot;"
                   "st.shared.u32 [%r1+4], 5; ld.shared.u32 %r3, [tile+4]; st.local.u32 [%r2+8], 6; ld.local.u32 %r4, [depot+8];"
                   "st.global.v2.u32 [%out], {%r3, %r4};", 2), (Words{5, 6}));
  expectRefused("ld.global.u32 %r0, [%r1];", "expected an address of 64 bits, got '%r1' of 32");
  expectRefused("ld.global.u32 %r0, %l1;", "expected an address in brackets");
  expectRefused("ld.global.u32 %r0, [nowhere];", "expected a variable or a register as address, got 'nowhere'");
  expectRefused(".shared .b32 s; ld.global.u32 %r0, [s];", "expected a variable in the space of the access");
}

// Each window, through its own instruction and a generic one.
TEST(LoadStoreTest, Spaces) {
  const std::string globals = ".global .align 4 .u32 counter = 7; .const .align 4 .u32 primes[4] = {2, 3, 5, 7};\n"
                              ".shared .align 4 .b8 board[64];\n";
  EXPECT_EQ(runOne(R"(
    .local .align 8 .b8 depot[16];
    ld.global.u32 %r1, [counter]; ld.const.u32 %r2, [primes+8]; st.shared.u32 [board+12], 21; ld.shared.u32 %r3, [board+12];
    st.local.u32 [depot+4], 22; ld.local.u32 %r4, [depot+4]; st.global.v4.u32 [%out], {%r1, %r2, %r3, %r4};
    mov.u64 %l1, counter; cvta.global.u64 %l1, %l1; ld.u32 %r1, [%l1];
    cvta.const.u64 %l2, primes; ld.u32 %r2, [%l2+8];
    cvta.shared.u64 %l3, board; st.u32 [%l3+16], 31; ld.u32 %r3, [%l3+16]; ld.shared.u32 %r5, [board+16]; add.u32 %r3, %r3, %r5;
    cvta.local.u64 %l4, depot; st.u32 [%l4+8], 32; ld.u32 %r4, [%l4+8]; ld.local.u32 %r5, [depot+8]; add.u32 %r4, %r4, %r5;
    st.v4.u32 [%out+16], {%r1, %r2, %r3, %r4};)", 8, {}, globals), (Words{7, 5, 21, 22, 7, 5, 62, 64}));
}

// Local memory is each lane's own.
TEST(LoadStoreTest, LocalOfEachLane) {
  Launched r = run(makeKernel(".local .align 4 .b32 depot[8]; and.b32 %r1, %t, 7; mul.wide.u32 %l1, %r1, 4; mov.u64 %l2, depot;"
                              "add.u64 %l2, %l2, %l1; st.local.u32 [%l2], %t; xor.b32 %r2, %t, 0; ld.local.u32 %r3, [%l2]; st.global.u32 [%mine], %r3;"), 64, {}, {64, 1, 1});
  r.expectClean();
  for (uint32_t i = 0; i < 64; ++i)
    EXPECT_EQ(r.words[i], i);
}

// Parameters at their offsets, whole and in pieces.
TEST(LoadStoreTest, Parameters) {
  const std::string module = getHeader() + R"(
    .visible .entry k(.param .u64 out, .param .u64 .ptr .global .align 16 in, .param .align 8 .b8 pair[8], .param .u8 small, .param .f32 real) {
    .reg .b32 %r<8>; .reg .b64 %l<8>; .reg .b16 %h<4>;
    ld.param.u64 %l1, [out]; ld.param.u32 %r1, [pair+4]; ld.param.v2.u16 {%h1, %h2}, [pair]; ld.param.u8 %r2, [small]; ld.param.f32 %r3, [real];
    st.global.u32 [%l1], %r1; st.global.u16 [%l1+4], %h2; st.global.u32 [%l1+8], %r2; st.global.u32 [%l1+12], %r3; ret; })";
  Memory memory;
  std::string log;
  std::unique_ptr<Module> loaded = Module::load(module, memory, log);
  ASSERT_TRUE(loaded) << log;
  const Kernel &kernel = *loaded->findKernel("k");
  ASSERT_EQ(kernel.parameters.size(), 5u);
  const uint32_t offsets[] = {0, 8, 16, 24, 28};
  for (int i = 0; i < 5; ++i)
    EXPECT_EQ(kernel.parameters[i].offset, offsets[i]);
  ASSERT_EQ(kernel.parameterBytes, 32u);
  uint64_t out = memory.allocate(16);
  LaunchConfig config;
  config.parameters.resize(32);
  const uint32_t values[] = {0x22221111, 0x44443333, 0x99, 0x3F800000};
  std::memcpy(config.parameters.data(), &out, 8);
  std::memcpy(config.parameters.data() + 16, values, 16);
  LaunchResult result = launch(memory, kernel, config, LaunchOptions());
  ASSERT_TRUE(result.finished);
  uint32_t words[4];
  std::memcpy(words, Memory::getBytes(out), 16);
  EXPECT_EQ(words[0], 0x44443333u);
  EXPECT_EQ(words[1] & 0xFFFF, 0x2222u);
  EXPECT_EQ(words[2], 0x99u);
  EXPECT_EQ(words[3], 0x3F800000u);
}

TEST(LoadStoreTest, QualifiersAndHints) {
  for (const char *qualifier : {"volatile.global", "relaxed.gpu.global", "relaxed.sys.global", "acquire.cta.global", "acquire.gpu.global", "acquire.cluster.global", "weak.global", "global.nc", "global.ca", "global.cg",
                                "global.cs", "global.lu", "global.cv", "global.L1::evict_last", "global.L1::no_allocate.L2::128B", "global.nc.L1::no_allocate.L2::256B", "global.L2::64B", "global.L1::evict_first"})
    EXPECT_EQ(runOne(std::string("ld.") + qualifier + ".u32 %r1, [%in]; st.global.u32 [%out], %r1;", 1, {42}), Words{42}) << qualifier;
  for (const char *qualifier : {"volatile.global", "relaxed.gpu.global", "release.gpu.global", "release.sys.global", "weak.global", "global.wb", "global.cg", "global.cs", "global.wt", "global.L1::no_allocate"})
    EXPECT_EQ(runOne(std::string("st.") + qualifier + ".u32 [%out], 43;", 1), Words{43}) << qualifier;
  EXPECT_EQ(runOne("createpolicy.fractional.L2::evict_last.b64 %l1, 0f3F800000; ld.global.L2::cache_hint.u32 %r1, [%in], %l1; st.global.L2::cache_hint.u32 [%out], %r1, %l1;", 1, {44}), Words{44});
  EXPECT_EQ(runOne("prefetch.global.L2 [%in]; prefetchu.L1 [%in]; ld.global.u32 %r1, [%in]; st.global.u32 [%out], %r1;", 1, {45}), Words{45});
  expectRefused("ld.release.gpu.global.u32 %r1, [%l1];", "expected a load without .release");
  expectRefused("st.acquire.gpu.global.u32 [%l1], %r1;", "expected a store without .acquire");
  expectRefused("ld.global.strange.u32 %r1, [%l1];", "does not support the modifier .strange");
  expectRefused("ld.global.u32 %h1, [%l1];", "expected a register of 32 bits, got '%h1' of 16");
  expectRefused("ld.global.u32 %r1, [%l1], %r2;", "expected 2 operands, got 3");
}

// Lanes that a guard switches off neither load nor store.
TEST(LoadStoreTest, GuardedLanes) {
  Words in(32);
  for (uint32_t i = 0; i < 32; ++i)
    in[i] = 100 + i;
  Launched r = run(makeKernel("and.b32 %r1, %t, 1; setp.eq.u32 %p1, %r1, 1; mul.wide.u32 %l1, %t, 4; add.u64 %l1, %l1, %in; mov.u32 %r2, 7;"
                              "@!%p1 mov.u64 %l1, 0; @%p1 ld.global.u32 %r2, [%l1]; setp.lt.u32 %p2, %t, 16; @%p2 st.global.u32 [%mine], %r2;"), 32, in);
  r.expectClean();
  for (uint32_t i = 0; i < 32; ++i)
    EXPECT_EQ(r.words[i], i >= 16 ? 0xEEEEEEEE : i % 2 ? 100 + i : 7u);
}

TEST(LoadStoreTest, FaultsAreReported) {
  Launched null = run(makeKernel("mov.u64 %l1, 0; ld.global.u32 %r1, [%l1]; st.global.u32 [%mine], %r1;"), 32);
  EXPECT_TRUE(null.hasReport(ReportKind::OutOfBounds));
  Launched misaligned = run(makeKernel("ld.global.u32 %r1, [%out+2]; st.global.u32 [%mine], %r1;"), 32);
  EXPECT_TRUE(misaligned.hasReport(ReportKind::Misaligned));
  Launched past = run(makeKernel("st.global.u32 [%mine+128], %t;"), 32);
  EXPECT_TRUE(past.hasReport(ReportKind::OutOfBounds));
  Launched vector = run(makeKernel("ld.global.v4.u32 {%r1, %r2, %r3, %r4}, [%out+8]; st.global.u32 [%mine], %r1;"), 32);
  EXPECT_TRUE(vector.hasReport(ReportKind::Misaligned));
}
