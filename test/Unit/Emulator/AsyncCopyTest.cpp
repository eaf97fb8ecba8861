//===- AsyncCopyTest.cpp - cp.async ---------------------------------------===//
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

static const std::string kTile = ".shared .align 16 .b8 tile[1024];\n";

/// 16 bytes for each of 32 lanes: byte i of the input is i * 7.
static std::vector<uint32_t> makeInput() {
  std::vector<uint32_t> in(128);
  for (uint32_t i = 0; i < 512; ++i)
    in[i / 4] |= uint32_t(uint8_t(i * 7)) << (8 * (i % 4));
  return in;
}

static std::vector<LaunchOptions> getPolicies() {
  std::vector<LaunchOptions> result(6);
  result[0].copies = CopyPolicy::Eager;
  result[1].copies = CopyPolicy::Lazy;
  for (int i = 2; i < 6; ++i) {
    result[i].copies = CopyPolicy::Random;
    result[i].seed = uint64_t(i);
  }
  return result;
}

/// Each lane copies to its 16 bytes of the tile, set to ones before, waits, and
/// stores them. `copy` uses %r1 (its shared address), %l1 (its source), %t.
static void expectCopies(const std::string &copy, uint32_t (*expectedByte)(uint32_t lane, uint32_t byte)) {
  const std::string body = "mov.u32 %r1, tile; mad.lo.u32 %r1, %t, 16, %r1; mul.wide.u32 %l1, %t, 16; add.u64 %l2, %l1, %out; add.u64 %l1, %l1, %in;"
                           "mov.u32 %r2, -1; st.shared.v4.u32 [%r1], {%r2, %r2, %r2, %r2};\n" + copy +
                           "\ncp.async.commit_group; cp.async.wait_group 0;\n"
                           "ld.shared.v4.u32 {%r3, %r4, %r5, %r6}, [%r1]; st.global.v4.u32 [%l2], {%r3, %r4, %r5, %r6};";
  for (const LaunchOptions &options : getPolicies()) {
    Launched r = run(makeKernel(body, kTile), 128, makeInput(), {32, 1, 1}, {1, 1, 1}, options);
    r.expectClean();
    for (uint32_t i = 0; i < 512; ++i)
      ASSERT_EQ(r.words[i / 4] >> (8 * (i % 4)) & 0xFF, expectedByte(i / 16, i % 16)) << copy << ", lane " << i / 16 << ", byte " << i % 16;
  }
}

static uint32_t sourceByte(uint32_t lane, uint32_t byte) { return uint8_t((lane * 16 + byte) * 7); }

TEST(AsyncCopyTest, Sizes) {
  for (const char *name : {"ca.shared.global", "cg.shared.global", "cg.shared.global.L2::128B", "ca.shared::cta.global.L2::256B"})
    expectCopies(std::string("cp.async.") + name + " [%r1], [%l1], 16;", sourceByte);
  expectCopies("cp.async.ca.shared.global [%r1], [%l1], 4;", [](uint32_t lane, uint32_t byte) { return byte < 4 ? sourceByte(lane, byte) : 0xFF; });
  expectCopies("cp.async.ca.shared.global [%r1], [%l1], 8;", [](uint32_t lane, uint32_t byte) { return byte < 8 ? sourceByte(lane, byte) : 0xFF; });
  // Offsets on both sides.
  expectCopies("cp.async.ca.shared.global [%r1+8], [%l1+4], 4;", [](uint32_t lane, uint32_t byte) { return byte / 4 == 2 ? sourceByte(lane, byte - 4) : 0xFF; });
  expectCopies("mov.u64 %l5, 0; cp.async.cg.shared.global.L2::cache_hint [%r1], [%l1], 16, %l5;", sourceByte);
}

// What lies past the source's size is zero.
TEST(AsyncCopyTest, SourceSizes) {
  // Lane l copies l % 17 bytes.
  expectCopies("rem.u32 %r7, %t, 17; cp.async.ca.shared.global [%r1], [%l1], 16, %r7;", [](uint32_t lane, uint32_t byte) { return byte < lane % 17 ? sourceByte(lane, byte) : 0u; });
  expectCopies("cp.async.cg.shared.global [%r1], [%l1], 16, 6;", [](uint32_t lane, uint32_t byte) { return byte < 6 ? sourceByte(lane, byte) : 0u; });
  expectCopies("rem.u32 %r7, %t, 5; cp.async.ca.shared.global [%r1+4], [%l1+4], 4, %r7;",
               [](uint32_t lane, uint32_t byte) { return byte / 4 != 1 ? 0xFF : byte - 4 < lane % 5 ? sourceByte(lane, byte) : 0u; });
  // Of nothing the source need not exist.
  expectCopies("mov.u64 %l1, 0; mov.u32 %r7, 0; cp.async.cg.shared.global [%r1], [%l1], 16, %r7;", [](uint32_t, uint32_t) { return 0u; });
  expectCopies("mov.u64 %l5, 0; cp.async.cg.shared.global.L2::cache_hint [%r1], [%l1], 16, 4, %l5;", [](uint32_t lane, uint32_t byte) { return byte < 4 ? sourceByte(lane, byte) : 0u; });
}

TEST(AsyncCopyTest, IgnoredSources) {
  const std::string odd = "and.b32 %r7, %t, 1; setp.eq.u32 %p1, %r7, 1; ";
  expectCopies(odd + "cp.async.cg.shared.global [%r1], [%l1], 16, %p1;", [](uint32_t lane, uint32_t byte) { return lane % 2 ? 0u : sourceByte(lane, byte); });
  expectCopies(odd + "cp.async.ca.shared.global [%r1], [%l1], 8, !%p1;", [](uint32_t lane, uint32_t byte) { return byte >= 8 ? 0xFF : lane % 2 ? sourceByte(lane, byte) : 0u; });
  expectCopies(odd + "@%p1 mov.u64 %l1, 0; cp.async.cg.shared.global [%r1], [%l1], 16, %p1;", [](uint32_t lane, uint32_t byte) { return lane % 2 ? 0u : sourceByte(lane, byte); });
  // Lanes that a guard switches off copy nothing.
  expectCopies(odd + "@%p1 cp.async.cg.shared.global [%r1], [%l1], 16;", [](uint32_t lane, uint32_t byte) { return lane % 2 ? sourceByte(lane, byte) : 0xFF; });
}

// wait_group N leaves the N youngest groups in flight.
TEST(AsyncCopyTest, Groups) {
  const std::string body = R"(
    mov.u32 %r1, tile; mad.lo.u32 %r1, %t, 16, %r1; mul.wide.u32 %l1, %t, 16; add.u64 %l2, %l1, %out; add.u64 %l1, %l1, %in;
    cp.async.ca.shared.global [%r1], [%l1], 4; cp.async.ca.shared.global [%r1+4], [%l1+4], 4; cp.async.commit_group;
    cp.async.ca.shared.global [%r1+8], [%l1+8], 4; cp.async.commit_group;
    cp.async.commit_group;
    cp.async.ca.shared.global [%r1+12], [%l1+12], 4;
    cp.async.wait_group 2; ld.shared.v2.u32 {%r3, %r4}, [%r1];
    cp.async.wait_group 1; ld.shared.u32 %r5, [%r1+8];
    cp.async.wait_all; ld.shared.u32 %r6, [%r1+12];
    st.global.v4.u32 [%l2], {%r3, %r4, %r5, %r6};)";
  for (const LaunchOptions &options : getPolicies()) {
    Launched r = run(makeKernel(body, kTile), 128, makeInput(), {32, 1, 1}, {1, 1, 1}, options);
    r.expectClean();
    EXPECT_EQ(r.words, makeInput());
  }
}

// Bytes that are not waited for are not there yet.
TEST(AsyncCopyTest, MissingWaitIsReported) {
  const std::string start = "mov.u32 %r1, tile; mad.lo.u32 %r1, %t, 16, %r1; mul.wide.u32 %l1, %t, 16; add.u64 %l1, %l1, %in; cp.async.cg.shared.global [%r1], [%l1], 16; cp.async.commit_group;";
  const std::string end = "ld.shared.u32 %r2, [%r1]; st.global.u32 [%mine], %r2; cp.async.wait_all;";
  for (const LaunchOptions &options : getPolicies()) {
    EXPECT_TRUE(run(makeKernel(start + end, kTile), 32, makeInput(), {32, 1, 1}, {1, 1, 1}, options).hasReport(ReportKind::PendingCopy));
    EXPECT_TRUE(run(makeKernel(start + "cp.async.wait_group 1;" + end, kTile), 32, makeInput(), {32, 1, 1}, {1, 1, 1}, options).hasReport(ReportKind::PendingCopy));
    EXPECT_TRUE(run(makeKernel(start, kTile), 32, makeInput(), {32, 1, 1}, {1, 1, 1}, options).hasReport(ReportKind::Leftover));
  }
}

TEST(AsyncCopyTest, Faults) {
  const std::string start = "mov.u32 %r1, tile; mad.lo.u32 %r1, %t, 16, %r1; mul.wide.u32 %l1, %t, 16; add.u64 %l1, %l1, %in;";
  EXPECT_TRUE(run(makeKernel(start + "cp.async.cg.shared.global [%r1], [%l1+4], 16; cp.async.wait_all;", kTile), 32, makeInput()).hasReport(ReportKind::Misaligned));
  EXPECT_TRUE(run(makeKernel(start + "cp.async.cg.shared.global [%r1+8], [%l1], 16; cp.async.wait_all;", kTile), 32, makeInput()).hasReport(ReportKind::Misaligned));
  EXPECT_TRUE(run(makeKernel(start + "cp.async.cg.shared.global [%r1], [%l1+512], 16; cp.async.wait_all;", kTile), 32, makeInput()).hasReport(ReportKind::OutOfBounds));
  EXPECT_TRUE(run(makeKernel(start + "cp.async.cg.shared.global [%r1+4096], [%l1], 16; cp.async.wait_all;", kTile), 32, makeInput()).hasReport(ReportKind::OutOfBounds));
  EXPECT_TRUE(run(makeKernel(start + "mov.u32 %r7, 17; cp.async.cg.shared.global [%r1], [%l1], 16, %r7; cp.async.wait_all;", kTile), 32, makeInput()).hasReport(ReportKind::OutOfBounds));
  expectRefused("cp.async.cg.shared.global [%r1], [%l1], 8;", "expected a copy of 16 bytes, got 8");
  expectRefused("cp.async.ca.shared.global [%r1], [%l1], 2;", "expected a copy of 4, 8 or 16 bytes, got 2");
  expectRefused("cp.async.shared.global [%r1], [%l1], 4;", "expected .ca or .cg");
  expectRefused("cp.async.ca.global.shared [%l1], [%r1], %r2;", "expected a constant");
  expectRefused("cp.sync [%r1];", "expected .async");
  expectRefused("cp.async.bulk.commit_group;", "bulk copies");
  expectRefused("cp.async.wait_group %r1;", "expected a constant");
}
