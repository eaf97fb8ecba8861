//===- WarpInstructionTest.cpp - shfl, vote, match, redux, elect ----------===//
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

/// Runs `body`, whose %r0 and %p0 each lane stores, and expects `value` and `isTrue`.
static void expectLanes(const std::string &body, const std::function<uint32_t(uint32_t)> &value,
                        const std::function<bool(uint32_t)> &isTrue = [](uint32_t) { return false; }) {
  Launched r = run(makeKernel("mov.u32 %r0, -1; setp.ne.u32 %p0, %t, %t;\n" + body + "\nselp.u32 %r63, 1, 0, %p0; st.global.u32 [%mine], %r0; st.global.u32 [%mine+128], %r63;"), 64);
  r.expectClean();
  for (uint32_t lane = 0; lane < 32; ++lane) {
    EXPECT_EQ(r.words[lane], value(lane)) << body << ", lane " << lane;
    EXPECT_EQ(r.words[32 + lane], uint32_t(isTrue(lane))) << body << ", lane " << lane;
  }
}

// Segments of 32, 16, 8, 4 and 2 lanes: c is the segment mask in bits 8 to 12, with
// 0 as clamp of .up and the last lane of a segment as that of the others.
TEST(WarpInstructionTest, ShuffleSegments) {
  for (uint32_t width : {32, 16, 8, 4, 2})
    for (uint32_t b : {0, 1, 2, 3, 7, 16, 31}) {
      uint32_t mask = (32 - width) << 8;
      auto text = [&](const char *mode, uint32_t c) {
        return std::string("add.u32 %r1, %t, 100; shfl.sync.") + mode + ".b32 %r0|%p0, %r1, " + std::to_string(b) + ", " + std::to_string(c) + ", -1;";
      };
      auto run = [&](const char *mode, uint32_t c, bool staysAbove, auto source) {
        // A source outside of the segment: the lane's own value, and false. Only .up
        // looks at the segment's start; .bfly may reach into one before.
        auto isIn = [=](uint32_t lane) {
          int s = source(lane), first = int(lane / width * width);
          return (!staysAbove || s >= first) && s < first + int(width);
        };
        expectLanes(text(mode, c), [=](uint32_t lane) { return 100 + (isIn(lane) ? uint32_t(source(lane)) : lane); }, isIn);
      };
      run("up", mask, true, [=](uint32_t lane) { return int(lane) - int(b); });
      run("down", mask | 31, false, [=](uint32_t lane) { return int(lane + b); });
      run("bfly", mask | 31, false, [=](uint32_t lane) { return int(lane ^ b); });
      if (b < width)
        run("idx", mask | 31, false, [=](uint32_t lane) { return int(lane / width * width + b); });
    }
  // .idx takes b modulo the segment's size.
  expectLanes("shfl.sync.idx.b32 %r0|%p0, %t, 13, 0x181F, -1;", [](uint32_t lane) { return lane / 8 * 8 + 5; }, [](uint32_t) { return true; });
}

TEST(WarpInstructionTest, ShuffleClamps) {
  // Down, up to lane 20: beyond it each keeps its own.
  expectLanes("shfl.sync.down.b32 %r0|%p0, %t, 4, 20, -1;", [](uint32_t lane) { return lane + 4 <= 20 ? lane + 4 : lane; }, [](uint32_t lane) { return lane + 4 <= 20; });
  expectLanes("shfl.sync.up.b32 %r0|%p0, %t, 4, 10, -1;", [](uint32_t lane) { return int(lane) - 4 >= 10 ? lane - 4 : lane; }, [](uint32_t lane) { return int(lane) - 4 >= 10; });
  expectLanes("shfl.sync.bfly.b32 %r0|%p0, %t, 1, 4, -1;", [](uint32_t lane) { return (lane ^ 1) <= 4 ? lane ^ 1 : lane; }, [](uint32_t lane) { return (lane ^ 1) <= 4; });
  expectLanes("shfl.sync.idx.b32 %r0|%p0, %t, 9, 8, -1;", [](uint32_t lane) { return lane; });
  // Only the five lowest bits of b count, and each lane has its own.
  expectLanes("xor.b32 %r2, %t, 31; or.b32 %r2, %r2, 0xFFE0; shfl.sync.idx.b32 %r0, %t, %r2, 31, -1;", [](uint32_t lane) { return 31 - lane; });
  // A result may take the place of its source.
  expectLanes("mov.u32 %r0, %t; shfl.sync.bfly.b32 %r0, %r0, 5, 31, -1;", [](uint32_t lane) { return lane ^ 5; });
  expectLanes("shfl.sync.down.b32 _|%p0, %t, 1, 31, -1;", [](uint32_t) { return 0xFFFFFFFF; }, [](uint32_t lane) { return lane < 31; });
}

// Halves of a warp that diverged shuffle among themselves.
TEST(WarpInstructionTest, ShufflesOfSomeLanes) {
  expectLanes(R"(
    setp.lt.u32 %p1, %t, 16; @%p1 bra LOW;
    shfl.sync.down.b32 %r0, %t, 3, 0x1F, 0xFFFF0000; bra.uni JOIN;
    LOW: shfl.sync.bfly.b32 %r0, %t, 8, 0x1F, 0x0000FFFF;
    JOIN: bar.warp.sync -1;)",
              [](uint32_t lane) { return lane < 16 ? lane ^ 8 : lane + 3 < 32 ? lane + 3 : lane; });
  // From a lane that takes no part there is nothing to get.
  Launched r = run(makeKernel("setp.lt.u32 %p1, %t, 16; mov.u32 %r1, 0; @%p1 shfl.sync.idx.b32 %r1, %t, 20, 31, 0xFFFF; st.global.u32 [%mine], %r1;"), 32);
  EXPECT_TRUE(r.hasReport(ReportKind::Divergence));
  // A lane must be in its own mask.
  r = run(makeKernel("mov.u32 %r1, 0; shfl.sync.idx.b32 %r1, %t, 0, 31, 0x7FFFFFFF; st.global.u32 [%mine], %r1;"), 32);
  EXPECT_TRUE(r.hasReport(ReportKind::Divergence));
}

TEST(WarpInstructionTest, ShuffleRefused) {
  expectRefused("shfl.down.b32 %r0, %r1, 1, 31;", "expected 5 operands, got 4");
  expectRefused("shfl.down.b32 %r0, %r1, 1, 31, -1;", "expected .sync");
  expectRefused("shfl.sync.b32 %r0, %r1, 1, 31, -1;", "expected .up, .down, .bfly or .idx");
  expectRefused("shfl.sync.down.b64 %l0, %l1, 1, 31, -1;", "does not support the type .b64");
}

TEST(WarpInstructionTest, Vote) {
  struct Case {
    const char *condition; ///< Of %p1.
    uint32_t votes;
  };
  for (const Case &c : {Case{"setp.eq.u32 %p1, %t, %t;", 0xFFFFFFFF}, {"setp.ne.u32 %p1, %t, %t;", 0}, {"setp.lt.u32 %p1, %t, 3;", 7}, {"setp.eq.u32 %p1, %t, 31;", 0x80000000}, {"setp.ne.u32 %p1, %t, 31;", 0x7FFFFFFF}}) {
    std::string condition = c.condition;
    bool all = c.votes == 0xFFFFFFFF, any = c.votes, none = !c.votes;
    auto constant = [](bool value) { return [value](uint32_t) { return value; }; };
    auto ones = [](uint32_t) { return 0xFFFFFFFF; };
    expectLanes(condition + "vote.sync.all.pred %p0, %p1, -1;", ones, constant(all));
    expectLanes(condition + "vote.sync.any.pred %p0, %p1, -1;", ones, constant(any));
    expectLanes(condition + "vote.sync.uni.pred %p0, %p1, -1;", ones, constant(all || none));
    expectLanes(condition + "vote.sync.all.pred %p0, !%p1, -1;", ones, constant(none));
    expectLanes(condition + "vote.sync.ballot.b32 %r0, %p1, -1;", [&](uint32_t) { return c.votes; });
    expectLanes(condition + "vote.sync.ballot.b32 %r0, !%p1, -1;", [&](uint32_t) { return ~c.votes; });
  }
  // Of the lanes of the mask.
  const std::string lowHalf = "and.b32 %r1, %t, 1; setp.eq.u32 %p1, %r1, 1; setp.lt.u32 %p2, %t, 16; @%p2 ";
  expectLanes(lowHalf + "vote.sync.ballot.b32 %r0, %p1, 0xFFFF;", [](uint32_t lane) { return lane < 16 ? 0xAAAAu : 0xFFFFFFFF; });
  expectLanes(lowHalf + "vote.sync.any.pred %p0, %p1, 0xFFFF;", [](uint32_t) { return 0xFFFFFFFF; }, [](uint32_t lane) { return lane < 16; });
  expectLanes(lowHalf + "vote.sync.all.pred %p0, %p2, 0xFFFF;", [](uint32_t) { return 0xFFFFFFFF; }, [](uint32_t lane) { return lane < 16; });
  expectRefused("vote.sync.ballot.pred %p0, %p1, -1;", "expected vote.sync.all");
  expectRefused("vote.all.pred %p0, %p1, -1;", "expected .sync");
}

TEST(WarpInstructionTest, Match) {
  expectLanes("and.b32 %r1, %t, 3; match.any.sync.b32 %r0, %r1, -1;", [](uint32_t lane) { return 0x11111111u << (lane % 4); });
  expectLanes("match.any.sync.b32 %r0, %t, -1;", [](uint32_t lane) { return 1u << lane; });
  expectLanes("mov.u32 %r1, 7; match.all.sync.b32 %r0|%p0, %r1, -1;", [](uint32_t) { return 0xFFFFFFFF; }, [](uint32_t) { return true; });
  expectLanes("and.b32 %r1, %t, 1; match.all.sync.b32 %r0|%p0, %r1, -1;", [](uint32_t) { return 0u; });
  expectLanes("shr.u32 %r1, %t, 5; match.all.sync.b32 %r0, %r1, -1;", [](uint32_t) { return 0xFFFFFFFF; });
  // The upper half of 64 bits counts.
  expectLanes("and.b32 %r1, %t, 1; mov.b64 %l1, {5, %r1}; match.any.sync.b64 %r0, %l1, -1;", [](uint32_t lane) { return lane % 2 ? 0xAAAAAAAA : 0x55555555; });
  expectLanes("mov.b64 %l1, -5; match.all.sync.b64 %r0|%p0, %l1, -1;", [](uint32_t) { return 0xFFFFFFFF; }, [](uint32_t) { return true; });
  // Of some lanes.
  expectLanes("setp.lt.u32 %p1, %t, 8; and.b32 %r1, %t, 1; @%p1 match.any.sync.b32 %r0, %r1, 0xFF;", [](uint32_t lane) { return lane >= 8 ? 0xFFFFFFFF : lane % 2 ? 0xAA : 0x55; });
  expectLanes("setp.lt.u32 %p1, %t, 8; shr.u32 %r1, %t, 3; @%p1 match.all.sync.b32 %r0|%p0, %r1, 0xFF;", [](uint32_t lane) { return lane >= 8 ? 0xFFFFFFFF : 0xFFu; }, [](uint32_t lane) { return lane < 8; });
  expectRefused("match.any.sync.b32 %r0|%p0, %r1, -1;", "expected one result");
  expectRefused("match.sync.b32 %r0, %r1, -1;", "expected .any or .all");
  expectRefused("match.any.sync.u32 %r0, %r1, -1;", "does not support the type .u32");
}

TEST(WarpInstructionTest, Redux) {
  auto constant = [](uint32_t value) { return [value](uint32_t) { return value; }; };
  expectLanes("redux.sync.add.u32 %r0, %t, -1;", constant(496));
  expectLanes("sub.u32 %r1, 0, %t; redux.sync.add.s32 %r0, %r1, -1;", constant(uint32_t(-496)));
  expectLanes("mov.u32 %r1, 0x10000001; redux.sync.add.u32 %r0, %r1, -1;", constant(32));
  expectLanes("sub.u32 %r1, %t, 5; redux.sync.min.u32 %r0, %r1, -1;", constant(0));
  expectLanes("sub.u32 %r1, %t, 5; redux.sync.min.s32 %r0, %r1, -1;", constant(uint32_t(-5)));
  expectLanes("sub.u32 %r1, %t, 5; redux.sync.max.u32 %r0, %r1, -1;", constant(0xFFFFFFFF));
  expectLanes("sub.u32 %r1, %t, 5; redux.sync.max.s32 %r0, %r1, -1;", constant(26));
  expectLanes("or.b32 %r1, %t, 0x100; redux.sync.and.b32 %r0, %r1, -1;", constant(0x100));
  expectLanes("redux.sync.or.b32 %r0, %t, -1;", constant(31));
  // Each bit of 0 to 30 is set an even number of times, so that 31 remains.
  expectLanes("min.u32 %r1, %t, 30; redux.sync.xor.b32 %r0, %r1, -1;", constant(1));
  // Halves of their own, after a branch.
  expectLanes(R"(
    setp.lt.u32 %p1, %t, 16; @%p1 bra LOW;
    redux.sync.add.u32 %r0, %t, 0xFFFF0000; bra.uni JOIN;
    LOW: redux.sync.add.u32 %r0, %t, 0xFFFF;
    JOIN: bar.warp.sync -1;)", [](uint32_t lane) { return lane < 16 ? 120u : 376u; });
  expectRefused("redux.sync.and.u32 %r0, %r1, -1;", "does not support the type .u32");
  expectRefused("redux.sync.add.f32 %r0, %r1, -1;", "does not support the type .f32");
  expectRefused("redux.sync.u32 %r0, %r1, -1;", "expected an operation");
}

TEST(WarpInstructionTest, ElectAndActiveMask) {
  expectLanes("elect.sync %r0|%p0, -1;", [](uint32_t) { return 0u; }, [](uint32_t lane) { return lane == 0; });
  expectLanes("setp.ge.u32 %p1, %t, 12; @%p1 elect.sync %r0|%p0, 0xFFFFF000;", [](uint32_t lane) { return lane < 12 ? 0xFFFFFFFF : 12; }, [](uint32_t lane) { return lane == 12; });
  expectLanes("elect.sync _|%p0, -1;", [](uint32_t) { return 0xFFFFFFFF; }, [](uint32_t lane) { return lane == 0; });
  expectLanes("activemask.b32 %r0;", [](uint32_t) { return 0xFFFFFFFF; });
  expectLanes("setp.lt.u32 %p1, %t, 4; @%p1 activemask.b32 %r0;", [](uint32_t lane) { return lane < 4 ? 0xFu : 0xFFFFFFFF; });
  expectRefused("elect.sync %r0, -1;", "expected d|p");
  expectRefused("activemask.u32 %r0;", "does not support the type .u32");
}

// The last warp of 45 threads has 13 lanes.
TEST(WarpInstructionTest, PartialWarps) {
  Launched r = run(makeKernel("activemask.b32 %r1; vote.sync.ballot.b32 %r2, 1, -1; redux.sync.add.u32 %r3, 1, -1; xor.b32 %r1, %r1, %r2; add.u32 %r1, %r1, %r3; st.global.u32 [%mine], %r1;"), 45, {}, {45, 1, 1});
  r.expectClean();
  for (uint32_t i = 0; i < 45; ++i)
    EXPECT_EQ(r.words[i], i < 32 ? 32u : 13u);
}
