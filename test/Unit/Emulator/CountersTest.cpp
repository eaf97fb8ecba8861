//===- CountersTest.cpp - counters against counting by hand ---------------===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "CheckRunner.h"

using namespace kvc::emu;

static Counters count(const std::string &body, uint32_t threads = 32,
                      uint32_t blocks = 1) {
  CheckRunner runner(body);
  runner.block = {threads, 1, 1};
  runner.grid = {blocks, 1, 1};
  runner.options.check = false; // places are read that nobody wrote
  runner.dynamicShared = 65536;
  LaunchResult result = runner.run(kModes[0]);
  EXPECT_TRUE(result.finished) << result.error;
  return result.counters;
}

static uint64_t get(const Counters &counters, InstructionClass unit) {
  return counters.instructions[unsigned(unit)];
}

//===----------------------------------------------------------------------===//
// Global memory
//===----------------------------------------------------------------------===//

namespace {
/// A load at %d0 = in + `stride` * lane + `offset`.
struct GlobalCase {
  const char *load;
  uint32_t stride, offset;
  uint64_t bytes, sectors, needed;
};
} // namespace

TEST(CountersTest, GlobalSectors) {
  const char *load1 = "ld.global.u8 %r0, [%d0];";
  const char *load2 = "ld.global.u16 %h0, [%d0];";
  const char *load4 = "ld.global.u32 %r0, [%d0];";
  const char *load8 = "ld.global.u64 %d1, [%d0];";
  const char *load16 = "ld.global.v4.u32 {%r0, %r1, %r2, %r3}, [%d0];";
  const GlobalCase cases[] = {
      {load1, 1, 0, 32, 1, 1},      {load2, 2, 0, 64, 2, 2},
      {load4, 4, 0, 128, 4, 4},     {load8, 8, 0, 256, 8, 8},
      {load16, 16, 0, 512, 16, 16},
      // Not on the boundary of a sector: one more.
      {load1, 1, 1, 32, 2, 1},      {load2, 2, 2, 64, 3, 2},
      {load4, 4, 4, 128, 5, 4},     {load8, 8, 8, 256, 9, 8},
      {load16, 16, 16, 512, 17, 16},
      // Strides.
      {load4, 8, 0, 128, 8, 4},     {load4, 32, 0, 128, 32, 4},
      {load4, 128, 0, 128, 32, 4},  {load4, 12, 0, 128, 12, 4},
      {load16, 32, 0, 512, 32, 16}, {load1, 4, 0, 32, 4, 1},
      {load2, 34, 0, 64, 32, 2},
      // One address for all.
      {load1, 0, 5, 32, 1, 1},      {load4, 0, 64, 128, 1, 1},
      {load16, 0, 0, 512, 1, 1},
  };
  for (const GlobalCase &c : cases) {
    SCOPED_TRACE(std::string(c.load) + " stride " + std::to_string(c.stride) +
                 " offset " + std::to_string(c.offset));
    std::string address = "mul.wide.u32 %d0, %l, " + std::to_string(c.stride) +
                          ";\nadd.u64 %d0, %d0, " + std::to_string(c.offset) +
                          ";\nadd.u64 %d0, %in, %d0;\n";
    GlobalTraffic traffic = count(address + c.load).globalLoads;
    EXPECT_EQ(traffic.requests, 1u);
    EXPECT_EQ(traffic.bytes, c.bytes);
    EXPECT_EQ(traffic.sectors, c.sectors);
    EXPECT_EQ(traffic.needed, c.needed);
  }
}

TEST(CountersTest, GlobalSomeLanesAndKinds) {
  Counters counters = count(R"(
  mul.wide.u32 %d0, %l, 4;
  add.u64 %d1, %in, %d0;
  add.u64 %d2, %out, %d0;
  setp.lt.u32 %p0, %l, 10;
  @%p0 ld.global.u32 %r0, [%d1];
  @!%p0 st.global.u32 [%d2], %l;
  red.global.add.u32 [%in], 1;
  atom.global.add.u32 %r1, [%d1], 1;
  ld.u32 %r2, [%d1];
  )", 64, 3);
  // Of each of 6 warps.
  EXPECT_EQ(counters.globalLoads.requests, 12u);
  EXPECT_EQ(counters.globalLoads.bytes, 6u * (40 + 128));
  EXPECT_EQ(counters.globalLoads.sectors, 6u * (2 + 4));
  EXPECT_EQ(counters.globalLoads.needed, 6u * (2 + 4));
  EXPECT_EQ(counters.globalStores.requests, 6u);
  EXPECT_EQ(counters.globalStores.bytes, 6u * 88);
  EXPECT_EQ(counters.globalStores.sectors, 6u * 3);
  EXPECT_EQ(counters.globalStores.needed, 6u * 3);
  EXPECT_EQ(counters.globalAtomics.requests, 12u);
  EXPECT_EQ(counters.globalAtomics.sectors, 6u * (1 + 4));
  EXPECT_EQ(counters.blocks, 3u);
  EXPECT_EQ(counters.warps, 6u);
}

//===----------------------------------------------------------------------===//
// Shared memory
//===----------------------------------------------------------------------===//

static std::string makeShared(const std::string &access, uint32_t stride) {
  return "mov.u32 %r8, smem;\nmad.lo.u32 %r8, %l, " + std::to_string(stride) +
         ", %r8;\n" + access;
}

TEST(CountersTest, SharedWavefronts) {
  const char *load4 = "ld.shared.u32 %r0, [%r8];";
  const char *load8 = "ld.shared.u64 %d0, [%r8];";
  const char *load16 = "ld.shared.v4.u32 {%r0, %r1, %r2, %r3}, [%r8];";
  const char *load1 = "ld.shared.u8 %r0, [%r8];";
  const char *load2 = "ld.shared.u16 %h0, [%r8];";
  struct SharedCase {
    const char *load;
    uint32_t stride; ///< Bytes.
    uint64_t wavefronts, needed;
  };
  const SharedCase cases[] = {
      // 4 bytes: strides of 1, 2, 32 and 33 words, and one word for all.
      {load4, 4, 1, 1},
      {load4, 8, 2, 1},
      {load4, 16, 4, 1},
      {load4, 128, 32, 1},
      {load4, 132, 1, 1},
      {load4, 0, 1, 1},
      // Bytes and halves of a word come at once.
      {load1, 1, 1, 1},
      {load2, 2, 1, 1},
      {load1, 128, 32, 1},
      {load2, 66, 1, 1},
      // 8 bytes: half a warp at a time.
      {load8, 8, 2, 2},
      {load8, 16, 4, 2},
      {load8, 128, 32, 2},
      {load8, 136, 2, 2},
      // 16 bytes: a quarter at a time.
      {load16, 16, 4, 4},
      {load16, 32, 8, 4},
      {load16, 128, 32, 4},
      {load16, 144, 4, 4},
      {load16, 0, 4, 4},
  };
  for (const SharedCase &c : cases) {
    SCOPED_TRACE(std::string(c.load) + " stride " + std::to_string(c.stride));
    SharedTraffic traffic = count(makeShared(c.load, c.stride)).sharedLoads;
    EXPECT_EQ(traffic.requests, 1u);
    EXPECT_EQ(traffic.wavefronts, c.wavefronts);
    EXPECT_EQ(traffic.needed, c.needed);
    EXPECT_EQ(traffic.getConflicts(), c.wavefronts - c.needed);
  }
}

TEST(CountersTest, SwizzledTile) {
  // Rows of 128 bytes; lane l reads 16 bytes of column (l / 8) ^ (row % 8) in row l.
  Counters counters = count(R"(
  mov.u32 %r8, smem;
  shr.u32 %r1, %l, 3;
  and.b32 %r2, %l, 7;
  xor.b32 %r1, %r1, %r2;
  mad.lo.u32 %r8, %l, 128, %r8;
  mad.lo.u32 %r8, %r1, 16, %r8;
  st.shared.v4.u32 [%r8], {%r1, %r1, %r1, %r1};
  )");
  EXPECT_EQ(counters.sharedStores.wavefronts, 4u);
  EXPECT_EQ(counters.sharedStores.needed, 4u);
  EXPECT_EQ(counters.sharedStores.bytes, 512u);
}

TEST(CountersTest, MatrixLoads) {
  const std::string four =
      "ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%r0, %r1, %r2, %r3}, [%r8];";
  EXPECT_EQ(count(makeShared(four, 16)).matrixLoads.wavefronts, 4u);
  EXPECT_EQ(count(makeShared(four, 144)).matrixLoads.getConflicts(), 0u);
  SharedTraffic worst = count(makeShared(four, 128)).matrixLoads;
  EXPECT_EQ(worst.wavefronts, 32u);
  EXPECT_EQ(worst.getConflicts(), 28u);
  EXPECT_EQ(worst.bytes, 512u);
  SharedTraffic one =
      count(makeShared("ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r0}, [%r8];", 128))
          .matrixLoads;
  EXPECT_EQ(one.wavefronts, 8u);
  EXPECT_EQ(one.needed, 1u);
  EXPECT_EQ(one.bytes, 128u);
  SharedTraffic two =
      count(makeShared("ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%r0, %r1}, [%r8];",
                       64))
          .matrixLoads;
  EXPECT_EQ(two.wavefronts, 8u); // rows 64 bytes apart: 4 of 8 in each bank
  EXPECT_EQ(two.needed, 2u);
}

TEST(CountersTest, Copies) {
  Counters counters = count(R"(
  mov.u32 %r8, smem;
  mad.lo.u32 %r8, %l, 16, %r8;
  mul.wide.u32 %d0, %l, 16;
  add.u64 %d0, %in, %d0;
  cp.async.cg.shared.global [%r8], [%d0], 16;
  cp.async.cg.shared.global [%r8+512], [%d0+16], 16;
  cp.async.commit_group;
  cp.async.commit_group;
  cp.async.wait_group 0;
  )", 64);
  EXPECT_EQ(counters.copies.requests, 4u);
  EXPECT_EQ(counters.copies.bytes, 2048u);
  EXPECT_EQ(counters.copies.sectors, 2u * (16 + 17));
  EXPECT_EQ(counters.copies.needed, 64u);
  EXPECT_EQ(counters.copyStores.requests, 4u);
  EXPECT_EQ(counters.copyStores.wavefronts, 16u);
  EXPECT_EQ(counters.copyStores.getConflicts(), 0u);
  EXPECT_EQ(counters.copyGroups, 4u);
  EXPECT_EQ(get(counters, InstructionClass::Copy), 10u);
}

//===----------------------------------------------------------------------===//
// Instructions
//===----------------------------------------------------------------------===//

TEST(CountersTest, ClassesOfInstructions) {
  Counters base = count("");
  Counters counters = count(R"(
  add.u32 %r0, %t, 1;
  and.b32 %r0, %r0, 7;
  add.u64 %d0, %in, 0;
  mov.f32 %f0, 0f3F800000;
  fma.rn.f32 %f1, %f0, %f0, %f0;
  ex2.approx.ftz.f32 %f1, %f1;
  cvt.rn.f32.u32 %f2, %r0;
  setp.lt.u32 %p0, %t, 100;
  selp.u32 %r0, 1, 2, %p0;
  @%p0 bra NEXT;
NEXT:
  ld.global.u32 %r1, [%in];
  st.shared.u32 [%s], %r1;
  red.shared.add.u32 [%s], 1;
  shfl.sync.idx.b32 %r1, %r1, 0, 31, -1;
  bar.sync 0;
  membar.cta;
  ld.param.u32 %r2, [p_in];
  )");
  auto added = [&](InstructionClass unit) { return get(counters, unit) - get(base, unit); };
  EXPECT_EQ(added(InstructionClass::Integer), 2u);
  EXPECT_EQ(added(InstructionClass::Integer64), 1u);
  EXPECT_EQ(added(InstructionClass::Float), 1u);
  EXPECT_EQ(added(InstructionClass::Special), 1u);
  EXPECT_EQ(added(InstructionClass::Convert), 1u);
  EXPECT_EQ(added(InstructionClass::Compare), 1u);
  EXPECT_EQ(added(InstructionClass::Move), 2u);
  EXPECT_EQ(added(InstructionClass::Control), 1u);
  EXPECT_EQ(added(InstructionClass::Global), 1u);
  EXPECT_EQ(added(InstructionClass::Shared), 1u);
  EXPECT_EQ(added(InstructionClass::Atomic), 1u);
  EXPECT_EQ(added(InstructionClass::Shuffle), 1u);
  EXPECT_EQ(added(InstructionClass::Barrier), 2u);
  EXPECT_EQ(added(InstructionClass::Parameter), 1u);
  EXPECT_EQ(counters.getWarpInstructions() - base.getWarpInstructions(), 17u);
  EXPECT_EQ(counters.threadInstructions - base.threadInstructions, 17u * 32);
}

TEST(CountersTest, ThreadInstructionsUnderDivergence) {
  Counters base = count("");
  Counters counters = count(R"(
  setp.lt.u32 %p0, %l, 8;
  @%p0 bra SKIP;
  add.u32 %r0, %t, 1;
  add.u32 %r0, %t, 2;
  @%p0 add.u32 %r0, %t, 3;
SKIP:
  add.u32 %r0, %t, 4;
  @!%p0 add.u32 %r0, %t, 5;
  )");
  EXPECT_EQ(counters.getWarpInstructions() - base.getWarpInstructions(), 7u);
  EXPECT_EQ(counters.threadInstructions - base.threadInstructions,
            32u + 8 + 24 + 24 + 0 + 32 + 24);
  EXPECT_EQ(counters.divergentBranches, 1u);
  // A partial warp.
  base = count("", 5);
  counters = count("add.u32 %r0, %t, 1;", 5);
  EXPECT_EQ(counters.threadInstructions - base.threadInstructions, 5u);
}

TEST(CountersTest, MultiplyAdds) {
  Counters counters = count(R"(
  mov.u32 %r0, 0;
  mov.f32 %f0, 0f00000000;
  mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32
    {%f1, %f2, %f3, %f4}, {%r0, %r0, %r0, %r0}, {%r0, %r0}, {%f0, %f0, %f0, %f0};
  mma.sync.aligned.m16n8k8.row.col.f32.bf16.bf16.f32
    {%f1, %f2, %f3, %f4}, {%r0, %r0}, {%r0}, {%f0, %f0, %f0, %f0};
  )", 96);
  EXPECT_EQ(counters.multiplyAdds, 3u * (16 * 8 * 16 + 16 * 8 * 8));
  EXPECT_EQ(get(counters, InstructionClass::Matrix), 6u);
}

TEST(CountersTest, Barriers) {
  Counters counters = count(R"(
  bar.sync 0;
  bar.sync 1, 128;
  setp.ge.u32 %p0, %w, 2;
  @%p0 bra DONE;
  bar.sync 2, 64;
DONE:
  bar.warp.sync -1;
  )", 128, 2);
  EXPECT_EQ(counters.barriers, 2u * 3);
  EXPECT_EQ(get(counters, InstructionClass::Barrier), 2u * (4 * 3 + 2));
}

TEST(CountersTest, NothingIsCountedIfNotAsked) {
  CheckRunner runner("ld.global.u32 %r0, [%in];");
  runner.options.count = false;
  EXPECT_EQ(runner.run(kModes[0]).counters.globalLoads.requests, 0u);
}
