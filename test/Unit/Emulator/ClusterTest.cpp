//===- ClusterTest.cpp - blocks that read each other's memory -------------===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "CheckRunner.h"
#include "PTXRunner.h"

using namespace kvc::emu;
using kvc::emu::test::expectRefused;

static CheckRunner makeRunner(const std::string &body, uint32_t blocks,
                              uint32_t threads = 32) {
  CheckRunner runner(body);
  runner.grid = runner.cluster = {blocks, 1, 1};
  runner.block = {threads, 1, 1};
  return runner;
}

/// All warps of the cluster pass it together.
static const std::string kBarrier = R"(
  barrier.cluster.arrive.aligned;
  barrier.cluster.wait.aligned;
)";

/// Stores %r10 to word `block * threads + thread` of `out`.
static std::string storeResult(uint32_t threads = 32) {
  return "\n  mad.lo.u32 %r20, %b, " + std::to_string(threads) + R"(, %t;
  mul.wide.u32 %d10, %r20, 4;
  add.u64 %d10, %d10, %out;
  st.global.u32 [%d10], %r10;
)";
}

/// Each thread writes 100 * rank + thread to its word of shared memory.
static const std::string kWriteOwn = R"(
  mov.u32 %r0, %cluster_ctarank;
  mad.lo.u32 %r1, %r0, 100, %t;
  st.shared.u32 [%s], %r1; // ?)";

/// %r3 is the address of the thread's word in the block after, of `blocks`.
static std::string mapNext(uint32_t blocks) {
  return R"(
  mov.u32 %r0, %cluster_ctarank;
  add.u32 %r2, %r0, 1;
  rem.u32 %r2, %r2, )" + std::to_string(blocks) + R"(;
  mapa.shared::cluster.u32 %r3, %s, %r2;
)";
}

/// Expects a report of one of these kinds first, in each mode.
static void expectOneOf(CheckRunner runner, const std::set<ReportKind> &kinds,
                        const std::string &words = "") {
  for (const Mode &mode : kModes) {
    SCOPED_TRACE(mode.name);
    LaunchResult result = runner.run(mode);
    ASSERT_FALSE(result.reports.empty()) << result.error;
    const Report &report = result.reports[0];
    EXPECT_TRUE(kinds.count(report.kind)) << report.print();
    EXPECT_NE(report.message.find(words), std::string::npos) << report.print();
  }
}

static const std::set<ReportKind> kEarly = {ReportKind::Race, ReportKind::Uninitialised};
/// A block's memory may be read after its end: it is, or it might be.
static const std::set<ReportKind> kLate = {ReportKind::Race, ReportKind::OutOfBounds};

//===----------------------------------------------------------------------===//
// Reading
//===----------------------------------------------------------------------===//

// Two clusters of four blocks, each of which reads what the one after wrote.
TEST(ClusterTest, ReadsTheNextBlock) {
  CheckRunner runner =
      makeRunner(kWriteOwn + kBarrier + mapNext(4) +
                     "ld.shared::cluster.u32 %r10, [%r3];" + storeResult() + kBarrier,
                 4);
  runner.grid = {8, 1, 1};
  std::vector<uint32_t> words = runner.expectClean();
  for (uint32_t block = 0; block < 8; ++block)
    for (uint32_t t = 0; t < 32; ++t)
      EXPECT_EQ(words[block * 32 + t], (block + 1) % 4 * 100 + t) << block;
}

// Two warps a block, with its own barriers besides; addresses of 64 bits; sums of
// all blocks: 64 * (0 + 1 + 2) * 100 + 3 * (0 + ... + 63) = 25248.
TEST(ClusterTest, SumsOverAllBlocks) {
  std::vector<uint32_t> words = makeRunner(kWriteOwn + R"(
  bar.sync 0;)" + kBarrier + R"(
  mov.u32 %r10, 0;
  mov.u32 %r4, 0;
BLOCK:
  mov.u64 %d0, smem;
  mapa.shared::cluster.u64 %d1, %d0, %r4;
  mov.u32 %r5, 0;
WORD:
  ld.shared::cluster.v4.b32 {%r6, %r7, %r8, %r9}, [%d1+16];
  ld.shared::cluster.v2.b32 {%r11, %r12}, [%d1+8];
  ld.shared::cluster.u32 %r13, [%d1];
  ld.shared::cluster.u32 %r14, [%d1+4];
  add.u32 %r10, %r10, %r6; add.u32 %r10, %r10, %r7; add.u32 %r10, %r10, %r8;
  add.u32 %r10, %r10, %r9; add.u32 %r10, %r10, %r11; add.u32 %r10, %r10, %r12;
  add.u32 %r10, %r10, %r13; add.u32 %r10, %r10, %r14;
  add.u64 %d1, %d1, 32;
  add.u32 %r5, %r5, 8;
  setp.lt.u32 %p0, %r5, 64;
  @%p0 bra WORD;
  add.u32 %r4, %r4, 1;
  setp.lt.u32 %p0, %r4, 3;
  @%p0 bra BLOCK;)" + storeResult(64) + kBarrier,
                                           3, 64)
                                    .expectClean();
  for (uint32_t i = 0; i < 3 * 64; ++i)
    EXPECT_EQ(words[i], 25248u) << i;
}

// Bytes and halves, with and without sign; lanes read from different blocks, and
// from their own.
TEST(ClusterTest, LanesReadDifferentBlocks) {
  std::vector<uint32_t> words = makeRunner(R"(
  mov.u32 %r0, %cluster_ctarank;
  mul.lo.u32 %r1, %r0, 0x01010101;
  add.u32 %r1, %r1, 0xF0F1F2F3;
  st.shared.u32 [%s], %r1;)" + kBarrier + R"(
  and.b32 %r2, %t, 3;
  mapa.shared::cluster.u32 %r3, %s, %r2;
  ld.shared::cluster.s8 %r4, [%r3+3];
  ld.shared::cluster.u16 %h0, [%r3];
  cvt.u32.u16 %r5, %h0;
  sub.u32 %r10, %r4, %r5;)" + storeResult() + kBarrier,
                                           4)
                                    .expectClean();
  for (uint32_t i = 0; i < 4 * 32; ++i)
    EXPECT_EQ(words[i], 0xFFFFFFF0u + i % 4 - (0xF2F3 + i % 4 * 0x0101)) << i;
}

// Words 0, 1, 0, 1, ... of four blocks, three of which are others: each of those is a
// request, of 8 lanes.
TEST(ClusterTest, Counters) {
  CheckRunner runner = makeRunner(kWriteOwn + kBarrier + R"(
  and.b32 %r2, %t, 3;
  mapa.shared::cluster.u32 %r3, smem, %r2;
  shr.u32 %r4, %t, 2;
  and.b32 %r4, %r4, 1;
  mad.lo.u32 %r3, %r4, 4, %r3;
  ld.shared::cluster.u32 %r10, [%r3];)" + kBarrier,
                                  4);
  Counters counters = runner.run(kModes[0]).counters;
  EXPECT_EQ(counters.remoteLoads.requests, 12u);
  EXPECT_EQ(counters.remoteLoads.bytes, 12u * 8 * 4);
  EXPECT_EQ(counters.remoteLoads.wavefronts, 12u);
  EXPECT_EQ(counters.remoteLoads.needed, 12u);
  EXPECT_EQ(counters.sharedLoads.requests, 4u);
  EXPECT_EQ(counters.sharedLoads.bytes, 4u * 32 * 4);
  EXPECT_EQ(counters.globalLoads.bytes, 0u);
  EXPECT_EQ(counters.barriers, 8u);
}

// An address of .shared::cta is one of .shared::cluster, and its own rank is its
// own memory.
TEST(ClusterTest, OwnMemory) {
  std::vector<uint32_t> words = makeRunner(R"(
  mov.u32 %r0, %cluster_ctarank;
  st.shared.u32 [%s], %t;
  mapa.shared::cluster.u32 %r1, %s, %r0;
  ld.shared::cluster.u32 %r2, [%s];
  ld.shared::cluster.u32 %r3, [%r1];
  bar.sync 0;
  ld.shared::cluster.u32 %r4, [smem+4];
  shl.b32 %r3, %r3, 8;
  shl.b32 %r4, %r4, 16;
  add.u32 %r10, %r2, %r3;
  add.u32 %r10, %r10, %r4;)" + storeResult(),
                                           2)
                                    .expectClean();
  for (uint32_t i = 0; i < 64; ++i)
    EXPECT_EQ(words[i], i % 32 * 0x101 + 0x10000) << i;
}

// Variables as operands of mapa, and the rank that an address has: smem lies at
// 1024, `dynamic` behind its 8192 bytes.
TEST(ClusterTest, Addresses) {
  CheckRunner runner = makeRunner(R"(
  mov.u32 %r0, smem;
  mapa.shared::cluster.u32 %r1, smem, 1;
  mapa.shared::cluster.u32 %r2, smem+8, 1;
  sub.u32 %r10, %r2, %r1;
  mapa.shared::cluster.u32 %r3, dynamic, 1;
  sub.u32 %r3, %r3, %r1;
  add.u32 %r10, %r10, %r3;
  mapa.shared::cluster.u64 %d0, dynamic, 0;
  mapa.shared::cluster.u64 %d1, smem, 0;
  sub.u64 %d0, %d0, %d1;
  cvt.u32.u64 %r4, %d0;
  add.u32 %r10, %r10, %r4;
  getctarank.shared::cluster.u32 %r5, %r1;
  getctarank.shared::cluster.u64 %r6, %d1;
  getctarank.shared::cluster.u32 %r7, %r0;
  getctarank.shared::cluster.u32 %r8, smem;
  mad.lo.u32 %r10, %r5, 0x10000000, %r10;
  mad.lo.u32 %r10, %r6, 0x20000000, %r10;
  mad.lo.u32 %r10, %r7, 0x40000000, %r10;
  mad.lo.u32 %r10, %r8, 0x80000000, %r10;)" + storeResult(),
                                  2);
  runner.dynamicShared = 64;
  std::vector<uint32_t> words = runner.expectClean();
  EXPECT_EQ(words[0], 0x10000000u + 8 + 8192 + 8192);
  EXPECT_EQ(words[32], 0xD0000000u + 8 + 8192 + 8192);
}

//===----------------------------------------------------------------------===//
// Registers
//===----------------------------------------------------------------------===//

// A grid of 4 x 2 x 4 in clusters of 2 x 1 x 2.
TEST(ClusterTest, SpecialRegisters) {
  CheckRunner runner(R"(
  mov.u32 %r0, %ctaid.y; mov.u32 %r1, %ctaid.z;
  mad.lo.u32 %r0, %r1, 2, %r0; mad.lo.u32 %b, %r0, 4, %b; // number of the block
  mov.u32 %r10, %clusterid.x;
  mov.u32 %r1, %clusterid.y; mad.lo.u32 %r10, %r10, 4, %r1;
  mov.u32 %r1, %clusterid.z; mad.lo.u32 %r10, %r10, 4, %r1;
  mov.u32 %r1, %nclusterid.x; mad.lo.u32 %r10, %r10, 4, %r1;
  mov.u32 %r1, %nclusterid.y; mad.lo.u32 %r10, %r10, 4, %r1;
  mov.u32 %r1, %nclusterid.z; mad.lo.u32 %r10, %r10, 4, %r1;
  mov.u32 %r1, %cluster_ctaid.x; mad.lo.u32 %r10, %r10, 4, %r1;
  mov.u32 %r1, %cluster_ctaid.y; mad.lo.u32 %r10, %r10, 4, %r1;
  mov.u32 %r1, %cluster_ctaid.z; mad.lo.u32 %r10, %r10, 4, %r1;
  mov.u32 %r1, %cluster_nctaid.x; mad.lo.u32 %r10, %r10, 4, %r1;
  mov.u32 %r1, %cluster_nctaid.y; mad.lo.u32 %r10, %r10, 4, %r1;
  mov.u32 %r1, %cluster_nctaid.z; mad.lo.u32 %r10, %r10, 4, %r1;
  mov.u32 %r1, %cluster_ctarank; mad.lo.u32 %r10, %r10, 4, %r1;
  mov.u32 %r1, %cluster_nctarank; mad.lo.u32 %r10, %r10, 8, %r1;
  mov.pred %p0, %is_explicit_cluster; selp.u32 %r1, 1, 0, %p0;
  mad.lo.u32 %r10, %r10, 2, %r1;)" + storeResult(1));
  runner.grid = {4, 2, 4};
  runner.block = {1, 1, 1};
  runner.cluster = {2, 1, 2};
  std::vector<uint32_t> words = runner.expectClean();
  for (uint32_t z = 0; z < 4; ++z)
    for (uint32_t y = 0; y < 2; ++y)
      for (uint32_t x = 0; x < 4; ++x) {
        uint32_t expected = 0;
        for (uint32_t value : {x / 2, y, z / 2, 2u, 2u, 2u, x % 2, 0u, z % 2, 2u, 1u,
                               2u, x % 2 + z % 2 * 2})
          expected = expected * 4 + value;
        expected = (expected * 8 + 4) * 2 + 1;
        EXPECT_EQ(words[(z * 2 + y) * 4 + x], expected) << x << " " << y << " " << z;
      }
}

TEST(ClusterTest, WithoutClusters) {
  CheckRunner runner = makeRunner("mov.u32 %r10, %cluster_nctarank;\n"
                                  "mov.pred %p0, %is_explicit_cluster;\n"
                                  "@%p0 add.u32 %r10, %r10, 10;" +
                                      storeResult(1) + kBarrier + kBarrier,
                                  1, 1);
  runner.grid = {3, 1, 1};
  std::vector<uint32_t> words = runner.expectClean();
  EXPECT_EQ(words[0] + words[1] + words[2], 3u);
}

//===----------------------------------------------------------------------===//
// The barrier
//===----------------------------------------------------------------------===//

/// Five rounds, in each of which a block adds what the next one has of the round
/// before to its own. Lines of barriers have a mark.
static CheckRunner makeRounds() {
  return makeRunner(R"(
  mov.u32 %r0, %cluster_ctarank;
  mov.u32 %r10, %r0;
  mov.u32 %r4, 0;)" + mapNext(3) + R"(
ROUND:
  st.shared.u32 [%s], %r10;
  barrier.cluster.arrive.aligned; // !
  barrier.cluster.wait.aligned; // !
  ld.shared::cluster.u32 %r5, [%r3];
  add.u32 %r10, %r10, %r5;
  barrier.cluster.arrive.release.aligned; // !
  barrier.cluster.wait.acquire.aligned; // !
  add.u32 %r4, %r4, 1;
  setp.lt.u32 %p0, %r4, 5;
  @%p0 bra ROUND;)" + storeResult(64),
                    3, 64);
}

// Ranks 0, 1, 2: (1, 3, 2), (4, 5, 3), (9, 8, 7), (17, 15, 16), (32, 31, 33).
TEST(ClusterTest, Rounds) {
  std::vector<uint32_t> words = makeRounds().expectClean();
  for (uint32_t t = 0; t < 64; ++t) {
    EXPECT_EQ(words[t], 32u);
    EXPECT_EQ(words[64 + t], 31u);
    EXPECT_EQ(words[128 + t], 33u);
  }
}

TEST(ClusterTest, SeedsGiveTheSame) {
  CheckRunner runner = makeRounds();
  runner.grid = {9, 1, 1};
  LaunchResult first = runner.run({"in order", CopyPolicy::Lazy, 0});
  EXPECT_EQ(first.numReports, 0u);
  std::vector<uint32_t> expected = runner.result;
  for (uint64_t seed = 1; seed <= 50; ++seed) {
    LaunchResult result = runner.run({"seed", CopyPolicy::Random, seed});
    EXPECT_TRUE(result.finished) << result.error;
    EXPECT_EQ(result.numReports, 0u) << result.reports[0].print();
    EXPECT_EQ(runner.result, expected) << seed;
  }
  // Ten phases of three blocks in three clusters.
  EXPECT_EQ(first.counters.barriers, 90u);
  EXPECT_EQ(first.counters.blocks, 9u);
}

// Every barrier is needed.
TEST(ClusterTest, OmittedBarriers) {
  std::set<uint32_t> lines;
  CheckRunner runner = makeRounds();
  runner.options.omittedLine = 0;
  for (const LineCount &line : runner.run(kModes[0]).lines)
    lines.insert(line.line);
  unsigned numBarriers = 0;
  for (uint32_t line : runner.getMarks()) {
    ASSERT_TRUE(lines.count(line));
    ++numBarriers;
    runner.options.omittedLine = line;
    for (const Mode &mode : kModes)
      EXPECT_GT(runner.run(mode).numReports, 0u) << "without line " << line;
  }
  EXPECT_EQ(numBarriers, 4u);
}

// Warp 0 of each block waits late, when others may have arrived again.
TEST(ClusterTest, LateWait) {
  std::vector<uint32_t> words = makeRunner(kWriteOwn + R"(
  barrier.cluster.arrive;
  setp.ne.u32 %p0, %w, 0;
  @%p0 bra WAIT;
  mov.u32 %r4, 0;
BUSY:
  add.u32 %r4, %r4, 1;
  setp.lt.u32 %p1, %r4, 20000;
  @%p1 bra BUSY;
WAIT:
  barrier.cluster.wait;)" + mapNext(2) + R"(
  ld.shared::cluster.u32 %r10, [%r3];)" + kBarrier + storeResult(64),
                                           2, 64)
                                    .expectClean();
  for (uint32_t i = 0; i < 128; ++i)
    EXPECT_EQ(words[i], (1 - i / 64) * 100 + i % 64);
}

// Warp 1 of block 0 ends at once, the only warp of block 2 too: the others do not
// wait for them.
TEST(ClusterTest, EndedWarpsArrive) {
  makeRunner(R"(
  mov.u32 %r0, %cluster_ctarank;
  setp.eq.u32 %p0, %r0, 2;
  @%p0 exit;
  setp.eq.u32 %p0, %w, 1;
  setp.eq.and.u32 %p0, %r0, 0, %p0;
  @%p0 exit;)" + kBarrier + kBarrier,
             3, 64)
      .expectClean();
  // What they did before they ended is done.
  std::vector<uint32_t> words = makeRunner(kWriteOwn + R"(
  setp.eq.u32 %p0, %w, 1;
  @%p0 exit;)" + kBarrier + mapNext(2) + R"(
  ld.shared::cluster.u32 %r10, [%r3+128];)" + kBarrier + storeResult(64),
                                           2, 64)
                                    .expectClean();
  EXPECT_EQ(words[0], 132u);
  EXPECT_EQ(words[64], 32u);
}

// In global memory, too, the barrier orders what blocks do; so do fences before it
// for atomics after it.
TEST(ClusterTest, OrdersGlobalMemory) {
  std::vector<uint32_t> words = makeRunner(R"(
  mov.u32 %r10, %b;)" + storeResult(1) + kBarrier + R"(
  xor.b32 %r1, %b, 1;
  mul.wide.u32 %d0, %r1, 4;
  add.u64 %d0, %d0, %out;
  ld.global.u32 %r10, [%d0];)" + kBarrier + storeResult(1),
                                           2, 1)
                                    .expectClean();
  EXPECT_EQ(words[0], 1u);
  EXPECT_EQ(words[1], 0u);
}

TEST(ClusterTest, Misuse) {
  makeRunner("barrier.cluster.wait; // !", 2)
      .expectFault({ReportKind::Barrier});
  makeRunner("barrier.cluster.arrive;\nbarrier.cluster.arrive; // !", 2)
      .expectFault({ReportKind::Barrier});
  // In order, block 1 arrives last and goes on first.
  makeRunner(kBarrier + "barrier.cluster.wait; // !", 2)
      .expectFault({ReportKind::Barrier, 0, 0, From::Zero, 0, {1, 0, 0}});
  makeRunner("setp.lt.u32 %p0, %t, 7;\n@%p0 barrier.cluster.arrive; // !", 2)
      .expectFault({ReportKind::Divergence, 0, 7});
}

// Block 1 waits for its cluster, block 0 for a warp of its own that does so, too.
TEST(ClusterTest, Deadlock) {
  CheckRunner runner = makeRunner(R"(
  setp.eq.u32 %p0, %w, 0;
  setp.eq.and.u32 %p0, %b, 0, %p0;
  @!%p0 bra CLUSTER;
  bar.sync 3; // ?
  bra DONE;
CLUSTER:
  barrier.cluster.arrive;
  barrier.cluster.wait; // !
DONE:)",
                                  2, 64);
  for (const Mode &mode : kModes) {
    LaunchResult result = runner.run(mode);
    EXPECT_FALSE(result.finished);
    ASSERT_EQ(result.reports.size(), 1u);
    EXPECT_EQ(result.reports[0].kind, ReportKind::Deadlock);
    const std::string &message = result.reports[0].message;
    EXPECT_EQ(message.find("no warp of the cluster can go on: warp 0 of block 0 waits at "
                           "barrier 3 at line 32; warp 1 of block 0 waits at the barrier "
                           "of the cluster at line 36; warps 0 to 1 of block 1 wait at "
                           "the barrier of the cluster at line 36"),
              0u)
        << message;
  }
}

//===----------------------------------------------------------------------===//
// Races
//===----------------------------------------------------------------------===//

TEST(ClusterTest, NoBarrierBeforeTheRead) {
  expectOneOf(makeRunner(kWriteOwn + mapNext(2) +
                             "ld.shared::cluster.u32 %r10, [%r3];" + kBarrier,
                         2),
              kEarly);
}

TEST(ClusterTest, NeverWritten) {
  makeRunner("st.shared.u32 [%s], %t;" + kBarrier + mapNext(2) +
                 "ld.shared::cluster.u32 %r10, [%r3+4]; // !" + kBarrier,
             2)
      .expectFault({ReportKind::Uninitialised, 0, 31, From::Shared, 128, {1, 0, 0}});
}

TEST(ClusterTest, RelaxedArrivalOrdersNothing) {
  auto makeBody = [](const std::string &fence) {
    return makeRunner(kWriteOwn + fence + R"(
  barrier.cluster.arrive.relaxed.aligned;
  barrier.cluster.wait.aligned;)" + mapNext(2) +
                          "ld.shared::cluster.u32 %r10, [%r3]; // !" + kBarrier,
                      2);
  };
  makeBody("").expectFault({ReportKind::Race, 0, 0, From::Shared, 0, {1, 0, 0}});
  makeBody("\n  fence.acq_rel.cluster;").expectClean();
}

TEST(ClusterTest, BetweenArrivalAndWait) {
  // A write after the arrival.
  makeRunner("mov.u32 %r1, 0;\n  st.shared.u32 [%s], %r1;\n"
             "  barrier.cluster.arrive;\n  st.shared.u32 [%s], %t; // ?\n"
             "  barrier.cluster.wait;" + mapNext(2) +
                 "ld.shared::cluster.u32 %r10, [%r3]; // !" + kBarrier,
             2)
      .expectFault({ReportKind::Race, 0, 0, From::Shared, 0, {1, 0, 0}});
  // A read after the arrival, before the write of the owner.
  makeRunner(kWriteOwn + kBarrier + mapNext(2) + R"(
  barrier.cluster.arrive;
  ld.shared::cluster.u32 %r10, [%r3]; // ?
  barrier.cluster.wait;
  st.shared.u32 [%s], %t; // !)" + kBarrier,
             2)
      .expectFault({ReportKind::Race, 0, 0, From::Shared, 0});
}

// Block 0 writes again, by `write`, before block 1 has read what it wrote.
static CheckRunner makeNextWrite(const std::string &write) {
  return makeRunner(kWriteOwn + kBarrier + mapNext(2) + R"(
  setp.eq.u32 %p0, %r0, 0;
  @%p0 bra WRITER;
  ld.shared::cluster.u32 %r10, [%r3]; // ?
  bra DONE;
WRITER:
  )" + write + "\nDONE:" + kBarrier,
                    2);
}

TEST(ClusterTest, NoBarrierBeforeTheNextWrite) {
  for (const char *write :
       {"st.shared.u32 [%s], %t; // !", "atom.shared.add.u32 %r9, [%s], 1; // !",
        "st.volatile.shared.u32 [%s], %t; // !", "st.shared.u8 [%s], %t; // !"})
    makeNextWrite(write).expectFault({ReportKind::Race, 0, 0, From::Shared, 0});
  // Other bytes are no conflict.
  makeRunner(kWriteOwn + kBarrier + mapNext(2) + R"(
  ld.shared::cluster.u8 %r10, [%r3+2];
  st.shared.u8 [%s+3], %t;
  st.shared.u16 [%s], %t;)" + kBarrier,
             2)
      .expectClean();
}

TEST(ClusterTest, CopiesOfTheOwner) {
  // A copy to what others may still read.
  makeNextWrite("cp.async.ca.shared.global [%s], [%in], 4; // !\n  cp.async.wait_all; // ?")
      .expectFault({ReportKind::Race, 0, 0, From::Shared, 0});
  // A read of what a copy still writes, and of what it wrote.
  auto makeBody = [](const std::string &wait, const std::string &after) {
    return makeRunner(R"(
  cp.async.ca.shared.global [%s], [%in], 4;)" + wait + kBarrier + mapNext(2) +
                          "ld.shared::cluster.u32 %r10, [%r3]; // !\n" + kBarrier +
                          after + storeResult(),
                      2);
  };
  std::string wait = "\n  cp.async.wait_all;";
  makeBody("", wait).expectFault({ReportKind::PendingCopy, 0, 0, From::Shared, 0, {1, 0, 0}});
  makeBody(wait, "").expectClean();
}

// Words that are written by bytes.
TEST(ClusterTest, Bytes) {
  std::string write = R"(
  shr.u32 %r4, %s, 2;
  mov.u32 %r5, smem;
  add.u32 %r5, %r5, %t;
  st.shared.u8 [%r5], %t; // ?)";
  auto makeBody = [&](const std::string &barrier) {
    return makeRunner(write + barrier + R"(
  mapa.shared::cluster.u32 %r3, %r5, 1;
  and.b32 %r6, %t, 28;
  sub.u32 %r3, %r3, %t;
  add.u32 %r3, %r3, %r6;
  ld.shared::cluster.u32 %r10, [%r3]; // !)" + kBarrier + storeResult(),
                      2);
  };
  std::vector<uint32_t> words = makeBody(kBarrier).expectClean();
  EXPECT_EQ(words[0], 0x03020100u);
  EXPECT_EQ(words[31], 0x1F1E1D1Cu);
  makeBody("\n  barrier.cluster.arrive.relaxed;\n  barrier.cluster.wait;")
      .expectFault({ReportKind::Race, 0, 0, From::Shared, 0});
}

// A flag in the memory of block 0, for which block 1 waits.
TEST(ClusterTest, StrongAccesses) {
  auto makeBody = [](const std::string &store, const std::string &load) {
    return makeRunner(R"(
  mov.u32 %r0, %cluster_ctarank;
  mov.u32 %r1, 0;
  st.shared.u32 [%s], %r1;
  mov.u32 %r10, 7;)" + kBarrier + R"(
  setp.ne.u32 %p0, %r0, 0;
  @%p0 bra READER;
  mov.u32 %r1, 5;
  st.shared.u32 [%s+4], %r1; // ?
  )" + store + R"( [%s], %r1;
  bra DONE;
READER:
  mapa.shared::cluster.u32 %r3, %s, 0;
POLL:
  )" + load + R"( %r2, [%r3];
  setp.eq.u32 %p1, %r2, 0;
  @%p1 bra POLL;
  ld.shared::cluster.u32 %r10, [%r3+4]; // !
DONE:)" + kBarrier + storeResult(1),
                      2, 1);
  };
  std::vector<uint32_t> words = makeBody("st.release.cluster.shared.u32",
                                         "ld.acquire.cluster.shared::cluster.u32")
                                    .expectClean();
  EXPECT_EQ(words[0], 7u);
  EXPECT_EQ(words[1], 5u);
  makeBody("st.volatile.shared.u32", "ld.volatile.shared::cluster.u32")
      .expectFault({ReportKind::Race, 0, 0, From::Shared, 4, {1, 0, 0}});
}

TEST(ClusterTest, BlockEndsBeforeTheRead) {
  // Block 1 ends while block 0 is still to read, or might be.
  std::string body = kWriteOwn + kBarrier + mapNext(2) + R"(
  setp.eq.u32 %p0, %r0, 1;
  @%p0 exit;
  mov.u32 %r4, 0;
BUSY:
  add.u32 %r4, %r4, 1;
  setp.lt.u32 %p1, %r4, %r5;
  @%p1 bra BUSY;
  ld.shared::cluster.u32 %r10, [%r3];)";
  expectOneOf(makeRunner("mov.u32 %r5, 20000;" + body, 2), {ReportKind::OutOfBounds},
              "read of shared memory of block 1 of the cluster, which has ended");
  expectOneOf(makeRunner("mov.u32 %r5, 0;" + body, 2), kLate, "of the cluster");
  // Without checks, too.
  CheckRunner unchecked = makeRunner("mov.u32 %r5, 20000;" + body, 2);
  unchecked.options.check = false;
  expectOneOf(unchecked, {ReportKind::OutOfBounds}, "which has ended");
  // One warp of two that waits is enough.
  makeRunner(kWriteOwn + kBarrier + mapNext(2) +
                 "ld.shared::cluster.u32 %r10, [%r3];\n  setp.eq.u32 %p0, %w, 1;\n"
                 "  @%p0 exit;" + kBarrier,
             2, 64)
      .expectClean();
}

//===----------------------------------------------------------------------===//
// What is wrong
//===----------------------------------------------------------------------===//

TEST(ClusterTest, OutOfBounds) {
  std::string write = "st.shared.u32 [%s], %t;" + kBarrier;
  // Past the end of the 8192 bytes of smem.
  makeRunner(write + R"(
  mapa.shared::cluster.u32 %r3, smem, 1;
  ld.shared::cluster.u32 %r10, [%r3+8192]; // !)" + kBarrier,
             2)
      .expectFault({ReportKind::OutOfBounds, 0, 0, From::Shared, 8192, {1, 0, 0}});
  makeRunner(write + R"(
  mapa.shared::cluster.u64 %d3, smem, 1;
  ld.shared::cluster.v4.u32 {%r10, %r11, %r12, %r13}, [%d3+-16]; // !)" + kBarrier,
             2)
      .expectFault({ReportKind::OutOfBounds, 0, 0, From::Shared, uint64_t(-16), {1, 0, 0}});
  makeRunner(write + R"(
  mapa.shared::cluster.u32 %r3, smem, 1;
  ld.shared::cluster.u32 %r10, [%r3+2]; // !)" + kBarrier,
             2)
      .expectFault({ReportKind::Misaligned, 0, 0, From::Shared, 2, {1, 0, 0}});
  // No such block.
  makeRunner(write + "mapa.shared::cluster.u32 %r3, %s, 2; // !", 2)
      .expectFault({ReportKind::OutOfBounds, 0, 0, From::Shared, 0, {1, 0, 0}});
  // Addresses of other blocks elsewhere.
  for (const char *access :
       {"ld.shared.u32 %r10, [%r3]; // !", "ld.shared::cta.u32 %r10, [%r3]; // !",
        "st.shared.u32 [%r3], %t; // !", "mapa.shared::cluster.u32 %r4, %r3, 0; // !",
        "ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r10}, [%r3]; // !"})
    makeRunner(write + "mapa.shared::cluster.u32 %r3, smem, 1;\n" + access + kBarrier, 2)
        .expectFault({ReportKind::OutOfBounds, 0, 0, From::Zero, 0, {0, 0, 0}, false});
  makeRunner("mov.u32 %r3, 0x7F000400;\nld.shared::cluster.u32 %r10, [%r3]; // !", 2)
      .expectFault({ReportKind::OutOfBounds, 0, 0, From::Zero, 0x7F000400});
}

TEST(ClusterTest, Refused) {
  std::string onlyLoads = "does not support .shared::cluster, as 'ld' does";
  expectRefused("st.shared::cluster.u32 [%r1], %r0;", onlyLoads);
  expectRefused("atom.shared::cluster.add.u32 %r0, [%r1], 1;", onlyLoads);
  expectRefused("red.shared::cluster.add.u32 [%r1], 1;", onlyLoads);
  expectRefused("cvta.shared::cluster.u64 %l0, %l1;", onlyLoads);
  expectRefused("cp.async.ca.shared::cluster.global [%r1], [%l0], 4;",
                "expected a copy from .global to .shared");
  expectRefused("mapa.u64 %l0, %l1, 0;", "generic addresses of other blocks");
  expectRefused("getctarank.u64 %r0, %l1;", "generic addresses of other blocks");
  expectRefused("mapa.shared::cluster.u16 %h0, %h1, 0;", "does not support the type");
  expectRefused("mapa.shared::cluster.u32 %r0, %l1, 0;", "a register of 32 bits");
  expectRefused("mapa.shared::cluster.u32 %r0, %r1;", "expected 3 operands");
}

TEST(ClusterTest, Shapes) {
  CheckRunner runner("");
  auto expectError = [&](Dim3 grid, Dim3 cluster, const std::string &words) {
    runner.grid = grid, runner.cluster = cluster;
    runner.expectError(words);
  };
  expectError({1, 1, 1}, {0, 1, 1}, "expected a cluster of 1 to 8 blocks, got 0 x 1 x 1");
  expectError({9, 1, 1}, {9, 1, 1}, "expected a cluster of 1 to 8 blocks, got 9 x 1 x 1");
  expectError({4, 4, 1}, {4, 4, 1}, "expected a cluster of 1 to 8 blocks, got 4 x 4 x 1");
  expectError({1, 1, 1}, {1u << 31, 2, 1}, "expected a cluster of 1 to 8 blocks");
  expectError({6, 3, 2}, {2, 2, 2},
              "expected a grid that is a multiple of the cluster of 2 x 2 x 2 blocks, "
              "got 6 x 3 x 2");
}
