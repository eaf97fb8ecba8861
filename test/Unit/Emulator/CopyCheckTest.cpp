//===- CopyCheckTest.cpp - asynchronous copies ----------------------------===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "CheckRunner.h"

using namespace kvc::emu;

/// A copy of 16 bytes by each thread from `in` (%d0) to `smem` (%r8), and the rest.
static CheckRunner makeRunner(const std::string &body, uint32_t threads = 32) {
  CheckRunner runner(R"(
  mov.u32 %r8, smem;
  mad.lo.u32 %r8, %t, 16, %r8;
  mul.wide.u32 %d0, %t, 16;
  add.u64 %d1, %out, %d0;
  add.u64 %d0, %in, %d0;
  )" + body);
  runner.block = {threads, 1, 1};
  return runner;
}

static const std::string kCopy = "cp.async.cg.shared.global [%r8], [%d0], 16;\n";
static const std::string kCommit = "cp.async.commit_group;\n";
static const std::string kWait = "cp.async.wait_group 0;\n";
static const std::string kRead = "ld.shared.v4.u32 {%r0, %r1, %r2, %r3}, [%r8];";
static const std::string kStore = "\nst.global.v4.u32 [%d1], {%r0, %r1, %r2, %r3};\n";

TEST(CopyCheckTest, WaitedFor) {
  for (const std::string &wait : {kCommit + kWait, std::string("cp.async.wait_all;\n"),
                                  kCommit + "cp.async.wait_all;\n"}) {
    std::vector<uint32_t> out =
        makeRunner(kCopy + wait + kRead + kStore, 64).expectClean();
    for (uint32_t i = 0; i < 256; ++i)
      EXPECT_EQ(out[i], i);
  }
}

TEST(CopyCheckTest, SizesAndZeros) {
  // A source that is smaller than the destination, or none at all.
  std::vector<uint32_t> out = makeRunner(R"(
  and.b32 %r4, %l, 15;
  cp.async.cg.shared.global [%r8], [%d0], 16, %r4;
  cp.async.wait_all;
  )" + kRead + kStore).expectClean();
  for (uint32_t l = 0; l < 32; ++l) {
    uint32_t expected = l % 16 >= 4 ? 4 * l : l % 16 == 0 ? 0 : (4 * l) & ((1u << 8 * (l % 16)) - 1);
    EXPECT_EQ(out[4 * l], expected) << l;
    EXPECT_EQ(out[4 * l + 3], l % 16 > 12 ? (4 * l + 3) & ((1u << 8 * (l % 16 - 12)) - 1) : 0);
  }
  // Nothing is read at an address that does not exist.
  out = makeRunner(R"(
  setp.lt.u32 %p0, %l, 8;
  mov.u64 %d2, 64;
  selp.b64 %d0, %d2, %d0, %p0;
  cp.async.cg.shared.global [%r8], [%d0], 16, %p0;
  cp.async.wait_all;
  )" + kRead + kStore).expectClean();
  EXPECT_EQ(out[4], 0u);
  EXPECT_EQ(out[40], 40u);
  out = makeRunner(R"(
  cp.async.ca.shared.global [%r8], [%d0+4], 4;
  cp.async.ca.shared.global [%r8+4], [%d0+8], 4, 2;
  cp.async.ca.shared.global [%r8+8], [%d0+8], 8, 4;
  cp.async.wait_all;
  )" + kRead + kStore).expectClean();
  EXPECT_EQ(out[4 * 31], 4 * 31 + 1u);
  EXPECT_EQ(out[4 * 31 + 1], 4 * 31 + 2u);
  EXPECT_EQ(out[4 * 31 + 2], 4 * 31 + 2u);
  EXPECT_EQ(out[4 * 31 + 3], 0u);
}

TEST(CopyCheckTest, OutOfBounds) {
  makeRunner("cp.async.cg.shared.global [%r8], [%d0+8192], 16; // !\ncp.async.wait_all;")
      .expectFault({ReportKind::OutOfBounds, 0, 0, From::In, 8192});
  makeRunner("cp.async.cg.shared.global [%r8+7696], [%d0], 16; // !\ncp.async.wait_all;")
      .expectFault({ReportKind::OutOfBounds, 0, 31, From::Shared, 8192});
  makeRunner("cp.async.cg.shared.global [%r8], [%d0+8], 16; // !\ncp.async.wait_all;")
      .expectFault({ReportKind::Misaligned, 0, 0, From::In, 8});
  makeRunner("cp.async.cg.shared.global [%r8+4], [%d0], 16; // !\ncp.async.wait_all;")
      .expectFault({ReportKind::Misaligned, 0, 0, From::Shared, 4});
  makeRunner("mov.u32 %r0, 17;\n"
             "cp.async.cg.shared.global [%r8], [%d0], 16, %r0; // !\n"
             "cp.async.wait_all;")
      .expectFault({ReportKind::OutOfBounds, 0, 0, From::In, 0});
}

TEST(CopyCheckTest, SourceNeverWritten) {
  makeRunner("cp.async.cg.shared.global [%r8], [%d1], 16; // !\ncp.async.wait_all;")
      .expectFault({ReportKind::Uninitialised, 0, 0, From::Out, 0});
  makeRunner(R"(
  mov.u32 %r0, 6;
  setp.eq.u32 %p0, %t, 0;
  @%p0 st.global.u32 [%out], 1;
  @%p0 cp.async.cg.shared.global [%r8], [%out], 16, %r0; // !
  cp.async.wait_all;
  )").expectFault({ReportKind::Uninitialised, 0, 0, From::Out, 4});
}

TEST(CopyCheckTest, ReadBeforeWait) {
  makeRunner(kCopy + kCommit + kRead + " // !\n" + kWait)
      .expectFault({ReportKind::PendingCopy, 0, 0, From::Shared, 0});
  makeRunner(kCopy + kCommit + "bar.sync 0;\n" + kRead + " // !\n" + kWait)
      .expectFault({ReportKind::PendingCopy, 0, 0, From::Shared, 0});
}

TEST(CopyCheckTest, MissingCommit) {
  makeRunner(kCopy + kWait + kRead + " // !\ncp.async.wait_all;")
      .expectFault({ReportKind::PendingCopy, 0, 0, From::Shared, 0});
}

TEST(CopyCheckTest, GroupsAreCounted) {
  const std::string two = kCopy + kCommit +
                          "cp.async.cg.shared.global [%r8+4096], [%d0+4096], 16;\n" +
                          kCommit;
  const std::string second = "ld.shared.v4.u32 {%r4, %r5, %r6, %r7}, [%r8+4096];";
  makeRunner(two + "cp.async.wait_group 1;\n" + kRead + "\n" + kWait + second)
      .expectClean();
  makeRunner(two + "cp.async.wait_group 1;\n" + kRead + "\n" + second + " // !\n" + kWait)
      .expectFault({ReportKind::PendingCopy, 0, 0, From::Shared, 4096});
  makeRunner(two + "cp.async.wait_group 2;\n" + kRead + " // !\n" + kWait)
      .expectFault({ReportKind::PendingCopy, 0, 0, From::Shared, 0});
  // An empty group counts.
  makeRunner(kCopy + kCommit + kCommit + "cp.async.wait_group 1;\n" + kRead)
      .expectClean();
  // Groups are of each thread: the upper half commits twice.
  makeRunner("setp.ge.u32 %p0, %l, 16;\n" + kCopy + kCommit +
             "@%p0 cp.async.commit_group;\ncp.async.wait_group 1;\n"
             "@%p0 ld.shared.u32 %r0, [%r8];\n" +
             kRead + " // !\n" + kWait)
      .expectFault({ReportKind::PendingCopy, 0, 0, From::Shared, 0});
}

TEST(CopyCheckTest, OtherThreadsNeedABarrier) {
  const std::string neighbour = "xor.b32 %r9, %r8, 16;\n"
                                "ld.shared.u32 %r0, [%r9];";
  makeRunner(kCopy + kCommit + kWait + neighbour + " // !")
      .expectFault({ReportKind::Race, 0, 0, From::Shared, 16});
  makeRunner(kCopy + kCommit + kWait + "bar.warp.sync -1;\n" + neighbour).expectClean();
  makeRunner(kCopy + kCommit + kWait + "bar.sync 0;\n" + neighbour).expectClean();
  // A barrier before the wait is too early.
  makeRunner(kCopy + kCommit + "bar.sync 0;\n" + kWait + neighbour + " // !")
      .expectFault({ReportKind::Race, 0, 0, From::Shared, 16});
  const std::string warp = "xor.b32 %r9, %r8, 512;\nld.shared.u32 %r0, [%r9];";
  makeRunner(kCopy + kCommit + kWait + "bar.sync 0;\n" + warp, 64).expectClean();
  for (const Mode &mode : kModes) {
    LaunchResult result =
        makeRunner(kCopy + kCommit + kWait + "bar.warp.sync -1;\n" + warp, 64).run(mode);
    EXPECT_GT(result.numReports, 0u);
  }
}

TEST(CopyCheckTest, TwoCopiesToOnePlace) {
  makeRunner(kCopy + "cp.async.cg.shared.global [%r8], [%d0+512], 16; // !\n" +
             "cp.async.wait_all;")
      .expectFault({ReportKind::PendingCopy, 0, 0, From::Shared, 0});
  makeRunner(kCopy + "cp.async.wait_all;\n" +
             "cp.async.cg.shared.global [%r8], [%d0+512], 16;\ncp.async.wait_all;")
      .expectClean();
}

TEST(CopyCheckTest, WriteToDestinationInFlight) {
  makeRunner(kCopy + "st.shared.u32 [%r8+4], 0; // !\ncp.async.wait_all;")
      .expectFault({ReportKind::PendingCopy, 0, 0, From::Shared, 4});
}

TEST(CopyCheckTest, SourceChangedInFlight) {
  const std::string fill = "st.global.v4.u32 [%d1], {%t, %t, %t, %t};\nbar.sync 0;\n";
  const std::string copy = "cp.async.cg.shared.global [%r8], [%d1], 16;\n";
  makeRunner(fill + copy + "st.global.u32 [%d1+8], 5; // !\ncp.async.wait_all;")
      .expectFault({ReportKind::PendingCopy, 0, 0, From::Out, 8});
  makeRunner(fill + copy + "cp.async.wait_all;\nst.global.u32 [%d1+8], 5;")
      .expectClean();
  // A barrier does not end the copy.
  makeRunner(fill + copy +
                 "xor.b32 %r9, %t, 32;\nmul.wide.u32 %d2, %r9, 16;\n"
                 "add.u64 %d2, %out, %d2;\nbar.sync 0;\n"
                 "st.global.u32 [%d2+8], 5; // !\ncp.async.wait_all;",
             64)
      .expectFault({ReportKind::PendingCopy, 0, 0, From::Out, 512 + 8});
  // Written just before without order.
  makeRunner(fill + "setp.eq.u32 %p0, %w, 1;\n"
             "@%p0 st.global.v4.u32 [%d1], {%t, %t, %t, %t}; // ?\n"
             "@%p0 bra DONE;\nadd.u64 %d1, %d1, 512;\n"
             "cp.async.cg.shared.global [%r8], [%d1], 16; // !\n"
             "cp.async.wait_all;\nDONE:",
             64)
      .expectFault({ReportKind::Race, 0, 0, From::Out, 512});
}

TEST(CopyCheckTest, LeftAtTheEnd) {
  makeRunner("cp.async.cg.shared.global [%r8], [%d0], 16; // !")
      .expectFault({ReportKind::Leftover, 0, 0});
  makeRunner(kCommit + "setp.lt.u32 %p0, %l, 5;\n"
                       "@!%p0 cp.async.cg.shared.global [%r8], [%d0], 16; // !\n"
                       "@%p0 cp.async.cg.shared.global [%r8], [%d0], 16;\n" +
             kCommit + "@%p0 cp.async.wait_all;")
      .expectFault({ReportKind::Leftover, 0, 5});
}

/// A ring of stages: thread t copies, and reads what thread t ^ 33 copied.
static std::string makeRing(uint32_t stages, uint32_t pending, bool hasBarrierBefore) {
  std::string n = std::to_string(stages), text = R"(
  xor.b32 %r9, %t, 33;
  mov.u32 %r10, smem;
  mad.lo.u32 %r9, %r9, 16, %r10;
  mov.u32 %r11, 0;
  mov.u32 %r20, 0;
  )";
  std::string copy = R"(
  rem.u32 %r13, %r12, )" + n + R"(;
  mad.lo.u32 %r14, %r13, 1024, %r8;
  and.b32 %r15, %r12, 7;
  mul.wide.u32 %d2, %r15, 1024;
  add.u64 %d2, %d0, %d2;
  cp.async.cg.shared.global [%r14], [%d2], 16;
  )";
  text += "mov.u32 %r12, 0;\nFILL:\n" + copy + kCommit +
          "add.u32 %r12, %r12, 1;\nsetp.lt.u32 %p0, %r12, " +
          std::to_string(stages - 1) + ";\n@%p0 bra FILL;\n";
  text += "STEP:\ncp.async.wait_group " + std::to_string(pending) + ";\n";
  if (hasBarrierBefore)
    text += "bar.sync 0;\n";
  // The stage that was read in the step before is filled again.
  text += "setp.ge.u32 %p1, %r12, 12;\n@%p1 bra FILLED;\n" + copy +
          "FILLED:\n" + kCommit + R"(
  add.u32 %r12, %r12, 1;
  rem.u32 %r13, %r11, )" + n + R"(;
  mad.lo.u32 %r14, %r13, 1024, %r9;
  ld.shared.u32 %r16, [%r14];
  add.u32 %r20, %r20, %r16;
  add.u32 %r11, %r11, 1;
  setp.lt.u32 %p2, %r11, 12;
  @%p2 bra STEP;
  cp.async.wait_all;
  mul.wide.u32 %d3, %t, 4;
  add.u64 %d3, %out, %d3;
  st.global.u32 [%d3], %r20;
  )";
  return text;
}

TEST(CopyCheckTest, RingOfStages) {
  for (uint32_t stages = 2; stages <= 4; ++stages) {
    SCOPED_TRACE(stages);
    std::vector<uint32_t> out =
        makeRunner(makeRing(stages, stages - 2, true), 64).expectClean();
    for (uint32_t t = 0; t < 64; ++t) {
      uint32_t sum = 0;
      for (uint32_t step = 0; step < 12; ++step)
        sum += (step % 8) * 256 + 4 * (t ^ 33);
      EXPECT_EQ(out[t], sum);
    }
    for (const Mode &mode : kModes) {
      SCOPED_TRACE(mode.name);
      // One group too few is waited for.
      EXPECT_GT(makeRunner(makeRing(stages, stages - 1, true), 64).run(mode).numReports, 0u);
      // Nothing keeps a stage from being filled while others read it.
      EXPECT_GT(makeRunner(makeRing(stages, stages - 2, false), 64).run(mode).numReports, 0u);
    }
  }
}
