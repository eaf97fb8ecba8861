//===- SchedulerTest.cpp - diverged lanes ---------------------------------===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "CheckRunner.h"

using namespace kvc::emu;

static CheckRunner makeRunner(const std::string &body, uint32_t threads = 32) {
  CheckRunner runner(body);
  runner.block = {threads, 1, 1};
  return runner;
}

/// Stores %r0 of each thread.
static const std::string kStore = R"(
  mul.wide.u32 %d0, %t, 4;
  add.u64 %d0, %out, %d0;
  st.global.u32 [%d0], %r0;
)";

TEST(SchedulerTest, LoopsWithDifferentCountsMeetAgain) {
  const std::string body = R"(
  mov.u32 %r0, 0;
  mad.lo.u32 %r1, %l, 40, 1;
LOOP:
  add.u32 %r0, %r0, 3;
  sub.u32 %r1, %r1, 1;
  setp.ne.u32 %p0, %r1, 0;
  @%p0 bra LOOP;
  activemask.b32 %r2;
  )" + kStore;
  std::vector<uint32_t> out = makeRunner(body).expectClean();
  for (uint32_t l = 0; l < 32; ++l)
    EXPECT_EQ(out[l], 3 * (40 * l + 1));
  // What comes after the loop is executed once, by all.
  CheckRunner runner = makeRunner(body);
  LaunchResult result = runner.run(kModes[0]);
  EXPECT_EQ(result.counters.instructions[unsigned(InstructionClass::Global)], 1u);
  EXPECT_EQ(result.counters.globalStores.requests, 1u);
  EXPECT_EQ(result.counters.divergentBranches, 31u);
}

TEST(SchedulerTest, NestedLoops) {
  std::vector<uint32_t> out = makeRunner(R"(
  mov.u32 %r0, 0;
  mov.u32 %r1, 0;
OUTER:
  mov.u32 %r2, 0;
INNER:
  add.u32 %r0, %r0, 1;
  add.u32 %r2, %r2, 1;
  setp.le.u32 %p0, %r2, %r1;
  @%p0 bra INNER;
  shfl.sync.idx.b32 %r3, %r0, 0, 31, -1;
  add.u32 %r1, %r1, 1;
  setp.lt.u32 %p1, %r1, 5;
  @%p1 bra OUTER;
  and.b32 %r4, %l, 7;
  mov.u32 %r1, 0;
A:
  mov.u32 %r2, 0;
B:
  add.u32 %r0, %r0, 1;
  add.u32 %r2, %r2, 1;
  setp.lt.u32 %p0, %r2, %r1;
  @%p0 bra B;
  add.u32 %r1, %r1, 1;
  setp.le.u32 %p1, %r1, %r4;
  @%p1 bra A;
  )" + kStore).expectClean();
  for (uint32_t l = 0; l < 32; ++l) {
    uint32_t sum = 15;
    for (uint32_t i = 0; i <= l % 8; ++i)
      sum += i ? i : 1;
    EXPECT_EQ(out[l], sum);
  }
}

TEST(SchedulerTest, JoinBeforeTheBranches) {
  // The block where the lanes meet lies before those that they come from.
  EXPECT_EQ(makeRunner(R"(
  setp.lt.u32 %p0, %l, 10;
  @%p0 bra LOW;
  bra HIGH;
JOIN:
  shfl.sync.bfly.b32 %r1, %r0, 1, 31, -1;
  bar.sync 0;
  )" + kStore + R"(
  ret;
HIGH:
  mov.u32 %r0, 2;
  bra JOIN;
LOW:
  mov.u32 %r0, 1;
  bra JOIN;
  )").expectClean()[9],
            1u);
}

TEST(SchedulerTest, DivergentExit) {
  std::vector<uint32_t> out = makeRunner(R"(
  mov.u32 %r0, 1;
  )" + kStore + R"(
  setp.lt.u32 %p0, %l, 10;
  @%p0 ret;
  setp.lt.u32 %p1, %l, 20;
  @%p1 exit;
  shfl.sync.idx.b32 %r0, %l, 31, 31, -1;
  bar.warp.sync -1;
  bar.sync 0;
  )" + kStore).expectClean();
  EXPECT_EQ(out[9], 1u);
  EXPECT_EQ(out[19], 1u);
  EXPECT_EQ(out[20], 31u);
}

TEST(SchedulerTest, AlignedInstructionBySomeLanes) {
  makeRunner(R"(
  setp.lt.u32 %p0, %l, 8;
  st.shared.u32 [%s], %t;
  bar.warp.sync -1;
  mov.u32 %r8, smem;
  @!%p0 ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r0}, [%r8]; // !
  )").expectFault({ReportKind::Divergence, 0, 0});
  makeRunner(R"(
  st.shared.u32 [%s], %t;
  bar.warp.sync -1;
  mov.u32 %r8, smem;
  setp.lt.u32 %p0, %l, 8;
  @%p0 bra SKIP;
  ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r0}, [%r8]; // !
  bar.sync 0; // ?
  bra DONE;
SKIP:
  bar.sync 0; // ?
DONE:)").expectFault({ReportKind::Divergence, 0, 8});
}

TEST(SchedulerTest, ShuffleFromInactiveLane) {
  makeRunner(R"(
  setp.lt.u32 %p0, %l, 16;
  @%p0 shfl.sync.idx.b32 %r0, %t, 20, 31, 0xFFFF; // !
  )").expectFault({ReportKind::Divergence, 0, 0});
  makeRunner(R"(
  setp.lt.u32 %p0, %l, 16;
  @%p0 shfl.sync.bfly.b32 %r0, %t, 8, 31, 0xFFFF;
  )").expectClean();
  // The mask names lanes that the predicate keeps out.
  makeRunner(R"(
  setp.lt.u32 %p0, %l, 16;
  @%p0 shfl.sync.idx.b32 %r0, %t, 3, 31, -1; // !
  )").expectFault({ReportKind::Divergence, 0, 16});
}

TEST(SchedulerTest, MemberMaskWithoutTheLane) {
  makeRunner("shfl.sync.idx.b32 %r0, %t, 0, 31, 0xFFFFFFF7; // !")
      .expectFault({ReportKind::Divergence, 0, 3});
  makeRunner("setp.eq.u32 %p0, %l, 0;\nvote.sync.ballot.b32 %r0, %p0, 1; // !")
      .expectFault({ReportKind::Divergence, 0, 1});
  makeRunner("bar.warp.sync 0x7FFFFFFF; // !")
      .expectFault({ReportKind::Divergence, 0, 31});
}

TEST(SchedulerTest, WaitsForLanesThatNeverCome) {
  makeRunner(R"(
  setp.lt.u32 %p0, %l, 4;
  @%p0 bra HERE;
  bar.warp.sync 0xFFFFFFF0;
  shfl.sync.idx.b32 %r0, %t, 0, 31, -1; // !
  bra DONE;
HERE:
  shfl.sync.idx.b32 %r0, %t, 0, 31, -1; // ?
DONE:)").expectFault({ReportKind::Divergence, 0, 4});
}

TEST(SchedulerTest, WarpBarriersOfTwoHalves) {
  EXPECT_EQ(makeRunner(R"(
  setp.lt.u32 %p0, %l, 16;
  @%p0 bra LOW;
  st.shared.u32 [%s], %t;
  bar.warp.sync 0xFFFF0000;
  xor.b32 %r1, %s, 4;
  ld.shared.u32 %r0, [%r1];
  bra JOIN;
LOW:
  st.shared.u32 [%s], %t;
  bar.warp.sync 0xFFFF;
  xor.b32 %r1, %s, 8;
  ld.shared.u32 %r0, [%r1];
  bar.warp.sync 0xFFFF;
  st.shared.u32 [%s], %t;
JOIN:
  bar.warp.sync -1;
  )" + kStore).expectClean()[16],
            17u);
  // Both halves at one instruction, each with its own mask, and across two.
  makeRunner(R"(
  setp.lt.u32 %p0, %l, 16;
  selp.b32 %r1, 0xFFFF, 0xFFFF0000, %p0;
  bar.warp.sync %r1;
  @%p0 bra OTHER;
  bar.warp.sync -1;
  bra DONE;
OTHER:
  bar.warp.sync -1;
DONE:
  mov.u32 %r0, 1;
  )" + kStore).expectClean();
}

/// Lanes of one fragment whose masks differ: only those whose partner came go on.
TEST(SchedulerTest, WarpBarrierOfPairs) {
  makeRunner(R"(
  and.b32 %r2, %l, 15;
  mov.u32 %r1, 0x10001;
  shl.b32 %r1, %r1, %r2; // lanes l and l ^ 16
  mov.u32 %r0, 0;
  xor.b32 %r3, %s, 64;
  st.shared.u32 [%s], %t;
  setp.lt.u32 %p0, %l, 16;
  @%p0 bra LOW;
LOOP: // lane l takes its turns
  add.u32 %r0, %r0, 1;
  add.u32 %r4, %r0, 16;
  setp.lt.u32 %p1, %r4, %l;
  @%p1 bra LOOP;
  bar.warp.sync %r1;
  ld.shared.u32 %r0, [%r3];
  bra DONE;
LOW:
  bar.warp.sync %r1;
  ld.shared.u32 %r0, [%r3];
DONE:
  )" + kStore).expectClean();
}

TEST(SchedulerTest, LanesWaitForEachOther) {
  // Lane 0 waits for a flag of lane 31, which lies behind the loop.
  EXPECT_EQ(makeRunner(R"(
  mov.u32 %r8, smem;
  setp.eq.u32 %p0, %l, 0;
  setp.eq.u32 %p1, %l, 31;
  @%p0 st.shared.u32 [%r8], 0;
  bar.warp.sync -1;
  @!%p0 bra BEHIND;
WAIT:
  ld.volatile.shared.u32 %r0, [%r8];
  setp.eq.u32 %p2, %r0, 0;
  @%p2 bra WAIT;
  bra DONE;
BEHIND:
  @%p1 st.volatile.shared.u32 [%r8], 9;
DONE:
  bar.warp.sync -1;
  @%p0 st.global.u32 [%out], %r0;
  )").expectClean()[0],
            9u);
  // The same, with a flag that the earlier code sets for the later.
  EXPECT_EQ(makeRunner(R"(
  mov.u32 %r8, smem;
  setp.eq.u32 %p0, %l, 0;
  @%p0 st.shared.u32 [%r8], 0;
  bar.warp.sync -1;
  @%p0 bra BEHIND;
  nanosleep.u32 20;
  setp.eq.u32 %p1, %l, 31;
  @%p1 st.volatile.shared.u32 [%r8], 9;
  bra DONE;
BEHIND:
  ld.volatile.shared.u32 %r0, [%r8];
  setp.eq.u32 %p2, %r0, 0;
  @%p2 bra BEHIND;
DONE:
  bar.warp.sync -1;
  @%p0 st.global.u32 [%out], %r0;
  )").expectClean()[0],
            9u);
}

/// A lock that the 32 lanes of a warp fight for.
TEST(SchedulerTest, LockAmongLanes) {
  EXPECT_EQ(makeRunner(R"(
  mov.u32 %r8, smem;
  setp.eq.u32 %p0, %t, 0;
  @%p0 st.shared.v2.u32 [%r8], {0, 0};
  bar.sync 0;
TAKE:
  atom.acquire.cta.shared.cas.b32 %r0, [%r8], 0, 1;
  setp.ne.u32 %p1, %r0, 0;
  @%p1 bra TAKE;
  ld.volatile.shared.u32 %r1, [%r8+4];
  add.u32 %r1, %r1, 1;
  st.volatile.shared.u32 [%r8+4], %r1;
  atom.release.cta.shared.exch.b32 %r0, [%r8], 0;
  bar.sync 0;
  @%p0 ld.shared.u32 %r1, [%r8+4];
  @%p0 st.global.u32 [%out], %r1;
  )",
                       64)
                .expectClean()[0],
            64u);
}

TEST(SchedulerTest, ShapesOfBlocks) {
  for (Dim3 block : {Dim3{1, 1, 1}, Dim3{31, 1, 1}, Dim3{33, 1, 1}, Dim3{1024, 1, 1},
                     Dim3{5, 7, 3}, Dim3{1, 1, 64}, Dim3{2, 512, 1}}) {
    CheckRunner runner(R"(
  st.shared.u32 [%s], %t;
  bar.sync 0;
  vote.sync.ballot.b32 %r1, 1, -1;
  popc.b32 %r1, %r1;
  ld.shared.u32 %r0, [%s];
  mad.lo.u32 %r0, %r1, 65536, %r0;
  )" + kStore);
    runner.block = block;
    std::vector<uint32_t> out = runner.expectClean();
    uint32_t threads = block[0] * block[1] * block[2];
    for (uint32_t t = 0; t < threads; ++t)
      ASSERT_EQ(out[t], std::min(32u, threads - t / 32 * 32) << 16 | t);
    EXPECT_EQ(out[threads], 0xFFFFFFFF);
  }
}

TEST(SchedulerTest, GridOfThreeDimensions) {
  CheckRunner runner(R"(
  mov.u32 %r1, %ctaid.y;
  mov.u32 %r2, %ctaid.z;
  mad.lo.u32 %r3, %r2, 3, %r1;
  mad.lo.u32 %r3, %r3, 5, %b;
  mul.wide.u32 %d0, %r3, 4;
  add.u64 %d0, %out, %d0;
  setp.eq.u32 %p0, %t, 0;
  @%p0 st.global.u32 [%d0], %r3;
  )");
  runner.grid = {5, 3, 2};
  std::vector<uint32_t> out = runner.expectClean();
  for (uint32_t b = 0; b < 30; ++b)
    EXPECT_EQ(out[b], b);
}

TEST(SchedulerTest, TrapEndsTheLaunch) {
  CheckRunner runner = makeRunner("setp.eq.u32 %p0, %t, 40;\n@%p0 trap; // !", 64);
  runner.expectFault({ReportKind::Trap, 1, 8});
  runner.expectError("trap");
  makeRunner("setp.gt.u32 %p0, %t, 40;\n@%p0 trap;", 32).expectClean();
}

TEST(SchedulerTest, InstructionLimit) {
  CheckRunner runner = makeRunner("LOOP:\nbra LOOP; // !");
  runner.options.maxInstructions = 10000;
  runner.expectFault({ReportKind::Limit, 0, 0});
  runner.expectError("limit");
  // Lanes that wait for a flag that nobody sets, blocks that wait for others.
  CheckRunner spinning = makeRunner(R"(
WAIT:
  ld.volatile.global.u32 %r0, [%in]; // !
  setp.eq.u32 %p0, %r0, 0; // !
  @%p0 bra WAIT; // !
  )");
  spinning.grid = {100, 1, 1};
  spinning.options.maxInstructions = 1'000'000;
  spinning.expectFault(
      {ReportKind::Limit, 0, 0, From::Zero, 0, {0, 0, 0}, false});
}

TEST(SchedulerTest, SeedsSplitWarps) {
  // Code that relies on lanes staying together shows it.
  CheckRunner runner = makeRunner(R"(
  mov.u32 %r1, 0;
  mov.u32 %r0, 0;
AGAIN:
  activemask.b32 %r2;
  setp.ne.u32 %p0, %r2, -1;
  @%p0 add.u32 %r0, %r0, 1;
  add.u32 %r1, %r1, 1;
  setp.lt.u32 %p1, %r1, 2000;
  @%p1 bra AGAIN;
  )" + kStore);
  runner.run(kModes[0]);
  EXPECT_EQ(runner.result[0], 0u);
  runner.run(kModes[2]);
  EXPECT_GT(runner.result[0], 0u);
}
