//===- ControlTest.cpp - branches, calls, barriers, ends ------------------===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "PTXRunner.h"

#include <gtest/gtest.h>

#include <functional>

using namespace kvc::emu;
using namespace kvc::emu::test;

/// Runs `body`, whose %r0 each of `threads` threads stores, under several orders of
/// lanes and warps.
static void expectThreads(const std::string &body, const std::function<uint32_t(uint32_t)> &value,
                          const std::string &globals = "", uint32_t threads = 64) {
  for (uint64_t seed : {0, 1, 2, 3}) {
    LaunchOptions options;
    options.seed = seed;
    Launched r = run(makeKernel("mov.u32 %r0, -1;\n" + body + "\nst.global.u32 [%mine], %r0;", globals), threads, {}, {threads, 1, 1}, {1, 1, 1}, options);
    r.expectClean();
    for (uint32_t i = 0; i < threads; ++i)
      ASSERT_EQ(r.words[i], value(i)) << body << ", thread " << i << ", seed " << seed;
  }
}

//===----------------------------------------------------------------------===//
// Branches
//===----------------------------------------------------------------------===//

TEST(ControlTest, Branches) {
  expectThreads("setp.lt.u32 %p1, %t, 10; @%p1 bra LOW; mov.u32 %r0, 2; bra.uni END; LOW: mov.u32 %r0, 1; END:", [](uint32_t i) { return i < 10 ? 1 : 2; });
  expectThreads("setp.lt.u32 %p1, %t, 10; @!%p1 bra HIGH; mov.u32 %r0, 1; HIGH: ;", [](uint32_t i) { return i < 10 ? 1u : ~0u; });
  // A loop of as many turns as the thread's number.
  expectThreads("mov.u32 %r0, 0; mov.u32 %r1, 0; LOOP: setp.ge.u32 %p1, %r1, %t; @%p1 bra DONE; add.u32 %r0, %r0, %r1; add.u32 %r1, %r1, 1; bra LOOP; DONE:", [](uint32_t i) { return i * (i - 1) / 2; });
  // Nested, with a way out of the inner loop.
  expectThreads(R"(
    mov.u32 %r0, 0; mov.u32 %r1, 0;
    OUTER: setp.ge.u32 %p1, %r1, 4; @%p1 bra DONE; mov.u32 %r2, 0;
    INNER: setp.ge.u32 %p2, %r2, %t; @%p2 bra NEXT; setp.ge.u32 %p3, %r2, 5; @%p3 bra NEXT;
    add.u32 %r0, %r0, 1; add.u32 %r2, %r2, 1; bra INNER;
    NEXT: add.u32 %r1, %r1, 1; bra OUTER;
    DONE:)", [](uint32_t i) { return 4 * (i < 5 ? i : 5); });
  // Backwards in the text, which lanes reach at different times.
  expectThreads("bra START; BACK: add.u32 %r0, %r0, 10; bra END; START: mov.u32 %r0, %t; and.b32 %r1, %t, 1; setp.eq.u32 %p1, %r1, 0; @%p1 bra BACK; add.u32 %r0, %r0, 20; END:", [](uint32_t i) { return i + (i % 2 ? 20 : 10); });
  expectRefused("bra %r1;", "expected a label");
  expectRefused("bra NOWHERE;", "expected a label of this function, got 'NOWHERE'");
  expectRefused("L: L: ret;", "expected a new label, got 'L' again");
}

TEST(ControlTest, Ends) {
  for (const char *end : {"ret", "exit", "ret.uni"}) {
    Launched r = run(makeKernel(std::string("setp.lt.u32 %p1, %t, 10; @%p1 ") + end + "; st.global.u32 [%mine], %t;"), 64, {}, {64, 1, 1});
    r.expectClean();
    for (uint32_t i = 0; i < 64; ++i)
      EXPECT_EQ(r.words[i], i < 10 ? 0xEEEEEEEE : i);
  }
  Launched trapped = run(makeKernel("setp.eq.u32 %p1, %t, 7; @%p1 trap;"), 1);
  EXPECT_FALSE(trapped.result.finished);
  ASSERT_EQ(trapped.result.reports.size(), 1u);
  EXPECT_EQ(trapped.result.reports[0].kind, ReportKind::Trap);
  EXPECT_EQ(trapped.result.reports[0].lane, 7u);
  run(makeKernel("setp.eq.u32 %p1, %t, 99; @%p1 trap; st.global.u32 [%mine], %t;"), 32).expectClean();
}

TEST(ControlTest, LimitOfInstructions) {
  LaunchOptions options;
  options.maxInstructions = 10000;
  Launched r = run(makeKernel("LOOP: bra LOOP;"), 1, {}, {32, 1, 1}, {1, 1, 1}, options);
  EXPECT_FALSE(r.result.finished);
  EXPECT_TRUE(r.hasReport(ReportKind::Limit));
}

// A thread that spins lets the one that it waits for go on.
TEST(ControlTest, SpinningThreads) {
  expectThreads(R"(
    setp.ne.u32 %p1, %t, 0; @%p1 bra WAIT;
    mov.u32 %r1, 5; st.volatile.shared.u32 [flag], %r1; bra DONE;
    WAIT: nanosleep.u32 20; ld.volatile.shared.u32 %r1, [flag]; setp.ne.u32 %p2, %r1, 5; @%p2 bra WAIT;
    DONE: mov.u32 %r0, %r1;)", [](uint32_t) { return 5u; }, ".shared .align 4 .u32 flag;\n", 32);
}

TEST(ControlTest, GridDependencies) {
  expectThreads("griddepcontrol.wait; griddepcontrol.launch_dependents; mov.u32 %r0, 1;", [](uint32_t) { return 1u; });
  expectRefused("griddepcontrol.nothing;", "expected .wait or .launch_dependents");
}

//===----------------------------------------------------------------------===//
// Barriers
//===----------------------------------------------------------------------===//

// Each thread reads what the last one wrote before the barrier.
TEST(ControlTest, BarriersOfABlock) {
  const std::string tile = ".shared .align 4 .b32 tile[128];\n";
  for (const char *barrier : {"bar.sync 0;", "bar.sync 3, 128;", "barrier.sync 1;", "barrier.sync.aligned 15;", "barrier.cta.sync.aligned 2, 128;", "bar.cta.sync 4;", "mov.u32 %r9, 6; bar.sync %r9;"})
    expectThreads(std::string("mov.u32 %r1, tile; mad.lo.u32 %r2, %t, 4, %r1; st.shared.u32 [%r2], %t; ") + barrier + " sub.u32 %r3, 127, %t; mad.lo.u32 %r3, %r3, 4, %r1; ld.shared.u32 %r0, [%r3];", [](uint32_t i) { return 127 - i; }, tile, 128);
  // Two warps produce, two consume.
  expectThreads(R"(
    mov.u32 %r1, tile; setp.lt.u32 %p1, %t, 64; @%p1 bra PRODUCE;
    bar.sync 1, 128; sub.u32 %r2, %t, 64; mad.lo.u32 %r2, %r2, 4, %r1; ld.shared.u32 %r0, [%r2]; bra DONE;
    PRODUCE: mad.lo.u32 %r2, %t, 4, %r1; mul.lo.u32 %r3, %t, 3; st.shared.u32 [%r2], %r3; bar.arrive 1, 128; mov.u32 %r0, 0;
    DONE:)", [](uint32_t i) { return i < 64 ? 0 : 3 * (i - 64); }, tile, 128);
  expectRefused("bar.arrive 1;", "expected 2 operands, got 1");
  expectRefused("bar.nothing 1;", "expected .sync, .arrive or .red");
  expectRefused("barrier.cluster.sync;", "expected 'barrier.cluster.arrive' or 'barrier.cluster.wait'");
  expectRefused("bar.cluster.arrive;", "expected 'barrier.cluster.arrive'");
  expectRefused("barrier.cluster.wait.release;", "does not support the modifier .release");
  expectRefused("barrier.cluster.arrive 0;", "expected 0 operands, got 1");
  expectRefused("bar.warp.arrive 1;", "expected .sync after 'bar.warp'");
}

TEST(ControlTest, ReducingBarriers) {
  expectThreads("setp.lt.u32 %p1, %t, 70; bar.red.popc.u32 %r0, 0, %p1;", [](uint32_t) { return 70u; }, "", 128);
  expectThreads("setp.lt.u32 %p1, %t, 70; bar.red.popc.u32 %r0, 1, 128, !%p1;", [](uint32_t) { return 58u; }, "", 128);
  expectThreads("setp.lt.u32 %p1, %t, 127; bar.red.and.pred %p2, 0, %p1; selp.u32 %r0, 1, 0, %p2;", [](uint32_t) { return 0u; }, "", 128);
  expectThreads("setp.lt.u32 %p1, %t, 128; bar.red.and.pred %p2, 0, %p1; selp.u32 %r0, 1, 0, %p2;", [](uint32_t) { return 1u; }, "", 128);
  expectThreads("setp.eq.u32 %p1, %t, 127; barrier.red.or.pred %p2, 0, %p1; selp.u32 %r0, 1, 0, %p2;", [](uint32_t) { return 1u; }, "", 128);
  expectThreads("setp.eq.u32 %p1, %t, 128; barrier.cta.red.or.aligned.pred %p2, 0, %p1; selp.u32 %r0, 1, 0, %p2;", [](uint32_t) { return 0u; }, "", 128);
  expectRefused("bar.red.u32 %r0, 0, %p1;", "expected bar.red.popc.u32");
  expectRefused("bar.red.and.u32 %r0, 0, %p1;", "expected bar.red.popc.u32");
}

TEST(ControlTest, WarpBarriers) {
  const std::string tile = ".shared .align 4 .b32 tile[32];\n";
  expectThreads(R"(
    mov.u32 %r1, tile; mad.lo.u32 %r2, %t, 4, %r1; and.b32 %r3, %t, 1; setp.eq.u32 %p1, %r3, 1; @%p1 bra ODD;
    st.shared.u32 [%r2], %t; bra JOIN;
    ODD: add.u32 %r4, %t, 100; st.shared.u32 [%r2], %r4;
    JOIN: bar.warp.sync -1; xor.b32 %r5, %t, 1; mad.lo.u32 %r5, %r5, 4, %r1; ld.shared.u32 %r0, [%r5];)",
                [](uint32_t i) { return i % 2 ? i - 1 : i + 101; }, tile, 32);
  // At two instructions of the text.
  expectThreads(R"(
    mov.u32 %r1, tile; mad.lo.u32 %r2, %t, 4, %r1; st.shared.u32 [%r2], %t; xor.b32 %r5, %t, 1; mad.lo.u32 %r5, %r5, 4, %r1;
    and.b32 %r3, %t, 1; setp.eq.u32 %p1, %r3, 1; @%p1 bra ODD;
    bar.warp.sync -1; ld.shared.u32 %r0, [%r5]; bra JOIN;
    ODD: bar.warp.sync -1; ld.shared.u32 %r0, [%r5]; add.u32 %r0, %r0, 50;
    JOIN:)", [](uint32_t i) { return i % 2 ? i + 49 : i + 1; }, tile, 32);
}

//===----------------------------------------------------------------------===//
// Calls
//===----------------------------------------------------------------------===//

static const std::string kSquare = R"(
.func (.param .b32 result) square(.param .b32 value) {
  .reg .b32 %r<4>;
  ld.param.u32 %r1, [value]; mul.lo.u32 %r2, %r1, %r1; st.param.b32 [result], %r2; ret;
}
)";

TEST(ControlTest, Calls) {
  const std::string call = "{ .param .b32 p; .param .b32 q; st.param.b32 [p], %t; call.uni (q), square, (p); ld.param.b32 %r0, [q]; }";
  expectThreads(call, [](uint32_t i) { return i * i; }, kSquare);
  // Twice: registers and parameters are those of each call.
  expectThreads(call + "{ .param .b32 p; .param .b32 q; add.u32 %r1, %r0, 1; st.param.b32 [p], %r1; call (q), square, (p); ld.param.b32 %r2, [q]; add.u32 %r0, %r0, %r2; }",
                [](uint32_t i) { return i * i + (i * i + 1) * (i * i + 1); }, kSquare);
  // Some threads only.
  expectThreads("mov.u32 %r0, 7; { .param .b32 p; .param .b32 q; st.param.b32 [p], %t; setp.lt.u32 %p1, %t, 40; st.param.b32 [q], 3; @%p1 call (q), square, (p); ld.param.b32 %r0, [q]; }",
                [](uint32_t i) { return i < 40 ? i * i : 3; }, kSquare);
  expectThreads("{ .param .b32 p; .param .b32 q; st.param.b32 [p], %t; setp.lt.u32 %p1, %t, 40; st.param.b32 [q], 3; @!%p1 call (q), square, (p); ld.param.b32 %r0, [q]; }",
                [](uint32_t i) { return i >= 40 ? i * i : 3; }, kSquare);
  // In a loop.
  expectThreads("mov.u32 %r5, 0; mov.u32 %r0, 0; LOOP: { .param .b32 p; .param .b32 q; st.param.b32 [p], %r5; call (q), square, (p); ld.param.b32 %r6, [q]; add.u32 %r0, %r0, %r6; }"
                "add.u32 %r5, %r5, 1; setp.le.u32 %p1, %r5, %t; @%p1 bra LOOP;", [](uint32_t i) { return i * (i + 1) * (2 * i + 1) / 6; }, kSquare);
}

// Returns from the middle, calls of calls, labels of the same names everywhere.
TEST(ControlTest, CallsOfCalls) {
  const std::string functions = kSquare + R"(
.func (.param .b32 result) clamp(.param .b32 value, .param .b32 limit);
.func (.param .b32 result) work(.param .b32 value) {
  .reg .b32 %r<8>; .reg .pred %p<2>; .local .align 4 .b32 kept[2];
  ld.param.u32 %r1, [value]; st.local.u32 [kept+4], %r1;
  setp.ge.u32 %p1, %r1, 10; @%p1 bra DONE;
  { .param .b32 a; .param .b32 b; st.param.b32 [a], %r1; call (b), square, (a); ld.param.b32 %r2, [b]; }
  { .param .b32 a; .param .b32 l; .param .b32 b; st.param.b32 [a], %r2; st.param.b32 [l], 30; call (b), clamp, (a, l); ld.param.b32 %r3, [b]; }
  ld.local.u32 %r4, [kept+4]; add.u32 %r3, %r3, %r4; st.param.b32 [result], %r3; ret;
  DONE: st.param.b32 [result], 1000;
}
.func (.param .b32 result) clamp(.param .b32 value, .param .b32 limit) {
  .reg .b32 %r<8>; .reg .pred %p<2>;
  ld.param.u32 %r1, [value]; ld.param.u32 %r2, [limit]; setp.gt.u32 %p1, %r1, %r2; @%p1 bra DONE;
  st.param.b32 [result], %r1; ret;
  DONE: st.param.b32 [result], %r2; ret;
}
.func nothing() { ret; }
.func stop() { exit; }
)";
  expectThreads("{ .param .b32 p; .param .b32 q; st.param.b32 [p], %t; call (q), work, (p); ld.param.b32 %r0, [q]; } call nothing; call nothing, ();",
                [](uint32_t i) { return i >= 10 ? 1000 : i + std::min(i * i, 30u); }, functions);
  // `exit` in a function ends the thread.
  Launched r = run(makeKernel("setp.lt.u32 %p1, %t, 5; @%p1 call stop; st.global.u32 [%mine], %t;", functions), 32);
  r.expectClean();
  for (uint32_t i = 0; i < 32; ++i)
    EXPECT_EQ(r.words[i], i < 5 ? 0xEEEEEEEE : i);
}

TEST(ControlTest, CallsRefused) {
  auto expectError = [](const std::string &body, const std::string &globals, const std::string &words) {
    std::string log = load(makeKernel(body, globals));
    EXPECT_NE(log.find(words), std::string::npos) << log;
  };
  expectError("call loop;", ".func loop() { call loop; ret; }", "no recursion, got a call of 'loop'");
  expectError("call ping;", ".func pong(); .func ping() { call pong; ret; } .func pong() { call ping; ret; }", "no recursion");
  expectError("call nowhere;", "", "expected a call of a function of the module or of vprintf, got 'nowhere'");
  expectError("{ .param .b32 p; call square, (p); }", kSquare, "expected 1 results and 1 arguments of 'square', got 0 and 1");
  expectError("{ .param .b16 p; .param .b32 q; call (q), square, (p); }", kSquare, "expected a .param variable of at least 4 bytes as argument 1");
  expectError("{ .param .b32 q; call (q), square, (%r1); }", kSquare, "expected a .param variable");
}

// printf goes to the standard output.
TEST(ControlTest, Print) {
  const std::string globals = R"(
.extern .func (.param .b32 status) vprintf (.param .b64 format, .param .b64 arguments);
.global .align 1 .b8 format[28] = {37, 100, 32, 37, 53, 46, 50, 102, 32, 37, 115, 32, 37, 108, 120, 32, 37, 99, 32, 37, 117, 37, 37, 10, 0};
.global .align 1 .b8 word[4] = {97, 98, 99, 0};
)"; // "%d %5.2f %s %lx %c %u%%\n"
  const std::string body = R"(
    .local .align 8 .b8 depot[48];
    setp.ne.u32 %p1, %t, 3; @%p1 bra DONE;
    st.local.u32 [depot], -5; st.local.f64 [depot+8], 0d4009000000000000; mov.u64 %l1, word; cvta.global.u64 %l1, %l1; st.local.u64 [depot+16], %l1;
    mov.b64 %l5, 0x123456789AB; st.local.u64 [depot+24], %l5; st.local.u32 [depot+32], 65; st.local.u32 [depot+36], -1;
    mov.u64 %l2, depot; cvta.local.u64 %l2, %l2; mov.u64 %l3, format; cvta.global.u64 %l3, %l3;
    { .param .b64 p0; .param .b64 p1; .param .b32 r; st.param.b64 [p0], %l3; st.param.b64 [p1], %l2; call.uni (r), vprintf, (p0, p1); ld.param.b32 %r1, [r]; }
    DONE:)";
  testing::internal::CaptureStdout();
  run(makeKernel(body, globals), 1).expectClean();
  std::fflush(stdout);
  EXPECT_EQ(testing::internal::GetCapturedStdout(), "-5  3.12 abc 123456789ab A 4294967295%\n");
}
