//===- BarrierTest.cpp - barriers of a block ------------------------------===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "CheckRunner.h"

using namespace kvc::emu;

static CheckRunner makeRunner(const std::string &body, uint32_t threads) {
  CheckRunner runner(body);
  runner.block = {threads, 1, 1};
  return runner;
}

TEST(BarrierTest, DifferentCounts) {
  makeRunner(R"(
  setp.eq.u32 %p0, %w, 0;
  @%p0 bra SMALL;
  bar.sync 1, 96; // !
  bra DONE;
SMALL:
  bar.sync 1, 64; // ?
DONE:)",
             96)
      .expectFault({ReportKind::Barrier, 1, 0});
  makeRunner(R"(
  setp.eq.u32 %p0, %w, 0;
  @%p0 bra SMALL;
  bar.sync 1; // !
  bra DONE;
SMALL:
  bar.sync 1, 64; // ?
DONE:)",
             96)
      .expectFault({ReportKind::Barrier, 1, 0});
}

TEST(BarrierTest, NumberAndCount) {
  makeRunner("bar.sync 15;\nbar.sync 0, 64;\nmov.u32 %r0, 7;\nbar.sync %r0;", 64)
      .expectClean();
  makeRunner("mov.u32 %r0, 16;\nbar.sync %r0; // !", 64)
      .expectFault({ReportKind::Barrier, 0, 0, From::Zero, 0, {0, 0, 0}, false});
  makeRunner("bar.sync 1, 40; // !", 64)
      .expectFault({ReportKind::Barrier, 0, 0});
  makeRunner("bar.sync 1, 96; // !", 64)
      .expectFault({ReportKind::Barrier, 0, 0});
  makeRunner("mov.u32 %r0, 0;\nbar.sync 1, %r0; // !", 64)
      .expectFault({ReportKind::Barrier, 0, 0});
  // Lanes that do not agree.
  makeRunner("and.b32 %r0, %l, 1;\nbar.sync %r0; // !", 64)
      .expectFault({ReportKind::Barrier, 0, 0});
}

TEST(BarrierTest, TwiceByOneWarp) {
  makeRunner(R"(
  setp.eq.u32 %p0, %w, 0;
  @!%p0 bra OTHER;
  bar.arrive 1, 64;
  bar.arrive 1, 64; // !
  bra DONE;
OTHER:
  bar.sync 0, 32;
DONE:)",
             64)
      .expectFault({ReportKind::Barrier, 0, 0, From::Zero, 0, {0, 0, 0}, false});
}

TEST(BarrierTest, SomeLanes) {
  makeRunner("setp.lt.u32 %p0, %l, 16;\n@%p0 bar.sync 0; // !", 32)
      .expectFault({ReportKind::Divergence, 0, 16});
  // Those that come later to the same barrier are waited for.
  makeRunner(R"(
  setp.lt.u32 %p0, %l, 16;
  @%p0 bra JOIN;
  add.u32 %r0, %t, 1;
JOIN:
  bar.sync 0;
  )",
             64)
      .expectClean();
  // Lanes of one warp at two barriers.
  makeRunner(R"(
  setp.lt.u32 %p0, %l, 16;
  @%p0 bra FIRST;
  bar.sync 0; // !
  bra DONE;
FIRST:
  bar.sync 0; // ?
DONE:)",
             32)
      .expectFault({ReportKind::Divergence, 0, 16});
}

TEST(BarrierTest, EndedThreadsReleaseWaiters) {
  makeRunner(R"(
  setp.ge.u32 %p0, %t, 40;
  @%p0 ret;
  bar.sync 0;
  bar.sync 0;
  )",
             128)
      .expectClean();
  // What they did before they ended is done.
  EXPECT_EQ(makeRunner(R"(
  st.shared.u32 [%s], %t;
  setp.ne.u32 %p0, %w, 0;
  @%p0 ret;
  bar.sync 0;
  ld.shared.u32 %r0, [%s+128];
  mul.wide.u32 %d0, %t, 4;
  add.u64 %d0, %out, %d0;
  st.global.u32 [%d0], %r0;
  )",
                       64)
                .expectClean()[5],
            37u);
}

TEST(BarrierTest, Reductions) {
  std::vector<uint32_t> out = makeRunner(R"(
  setp.lt.u32 %p0, %t, 40;
  setp.lt.u32 %p1, %t, 200;
  setp.gt.u32 %p2, %t, 200;
  bar.red.popc.u32 %r0, 0, %p0;
  bar.red.popc.u32 %r1, 1, 96, !%p0;
  bar.red.and.pred %p3, 0, %p0;
  bar.red.and.pred %p4, 0, %p1;
  bar.red.or.pred %p5, 0, %p0;
  bar.red.or.pred %p6, 2, %p2;
  selp.u32 %r2, 1, 0, %p3;
  selp.u32 %r3, 1, 0, %p4;
  selp.u32 %r4, 1, 0, %p5;
  selp.u32 %r5, 1, 0, %p6;
  mul.wide.u32 %d0, %t, 32;
  add.u64 %d0, %out, %d0;
  st.global.v4.u32 [%d0], {%r0, %r1, %r2, %r3};
  st.global.v2.u32 [%d0+16], {%r4, %r5};
  )",
                                         96)
                                  .expectClean();
  for (uint32_t t : {0u, 41u, 95u}) {
    const uint32_t expected[] = {40, 56, 0, 1, 1, 0};
    for (uint32_t i = 0; i < 6; ++i)
      EXPECT_EQ(out[t * 8 + i], expected[i]) << i;
  }
}

TEST(BarrierTest, ReductionOfPartialWarp) {
  EXPECT_EQ(makeRunner(R"(
  setp.ge.u32 %p0, %t, 0;
  bar.red.popc.u32 %r0, 0, %p0;
  setp.eq.u32 %p1, %t, 0;
  @%p1 st.global.u32 [%out], %r0;
  )",
                       45)
                .expectClean()[0],
            45u);
}

TEST(BarrierTest, ReductionMixedWithSync) {
  makeRunner(R"(
  setp.eq.u32 %p0, %w, 0;
  @%p0 bra REDUCE;
  bar.sync 0; // !
  bra DONE;
REDUCE:
  bar.red.popc.u32 %r0, 0, %p0; // ?
DONE:)",
             64)
      .expectFault({ReportKind::Barrier, 1, 0});
}

TEST(BarrierTest, LeftIncomplete) {
  makeRunner("bar.arrive 3, 64; // !\nbar.sync 0;", 32 + 1)
      .expectClean(); // a partial warp counts as one
  makeRunner("setp.eq.u32 %p0, %w, 0;\n@%p0 bra A;\nbra DONE;\n"
             "A: bar.arrive 3, 64; // !\nDONE:",
             64)
      .expectFault({ReportKind::Barrier, 0, 0});
}

TEST(BarrierTest, Deadlock) {
  CheckRunner runner = makeRunner(R"(
  setp.eq.u32 %p0, %w, 0;
  @%p0 bra FIRST;
  bar.sync 2, 64; // ?
  bra DONE;
FIRST:
  bar.sync 1, 64; // !
DONE:)",
                                  64);
  runner.expectFault({ReportKind::Deadlock, 0, 0});
  LaunchResult result = runner.run(kModes[0]);
  EXPECT_FALSE(result.finished);
  EXPECT_NE(result.reports[0].message.find("warp 0 waits at barrier 1 at line"),
            std::string::npos)
      << result.reports[0].message;
  EXPECT_NE(result.reports[0].message.find("warp 1 waits at barrier 2 at line"),
            std::string::npos)
      << result.reports[0].message;
  // A barrier that counts threads does not count those that ended.
  makeRunner("setp.eq.u32 %p0, %w, 1;\n@%p0 ret;\nbar.sync 1, 64; // !", 64)
      .expectFault({ReportKind::Deadlock, 0, 0});
}

TEST(BarrierTest, ManyBarriersAtOnce) {
  // Warp w waits at barriers of its pair, 500 times.
  makeRunner(R"(
  shr.u32 %r0, %w, 1;
  mov.u32 %r1, 0;
AGAIN:
  bar.sync %r0, 64;
  add.u32 %r1, %r1, 1;
  setp.lt.u32 %p0, %r1, 500;
  @%p0 bra AGAIN;
  )",
             1024)
      .expectClean();
}

/// Phases are counted in 21 bits; they start over before that.
TEST(BarrierTest, MillionsOfBarriers) {
  CheckRunner runner = makeRunner(R"(
  mov.u32 %r0, 0;
  xor.b32 %r1, %s, 128;
AGAIN:
  st.shared.u32 [%s], %r0;
  bar.sync 0;
  ld.shared.u32 %r2, [%r1];
  bar.sync 0;
  add.u32 %r0, %r0, 1;
  setp.lt.u32 %p0, %r0, 700000;
  @%p0 bra AGAIN;
  ld.shared.u32 %r2, [%r1]; // of warp 1, after the write of warp 0
  st.shared.u32 [%s], %r2; // of warp 1, after the read of warp 0
  )",
                                  64);
  LaunchResult result = runner.run(kModes[0]);
  ASSERT_EQ(result.reports.size(), 2u);
  EXPECT_EQ(result.reports[0].kind, ReportKind::Race);
  EXPECT_EQ(result.counters.barriers, 1400000u);
}
