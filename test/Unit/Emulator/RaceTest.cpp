//===- RaceTest.cpp - which accesses are in order -------------------------===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "CheckRunner.h"

#include <cstring>

using namespace kvc::emu;

/// A block of two warps, unless told otherwise.
static CheckRunner makeRunner(const std::string &body, uint32_t threads = 64,
                              uint32_t blocks = 1) {
  CheckRunner runner(body);
  runner.block = {threads, 1, 1};
  runner.grid = {blocks, 1, 1};
  return runner;
}

/// Warp 1, lane 3 executes `first`, warp 0, lane 0 `second`, with `between` by all.
/// (The last warp to arrive at a barrier is the first to go on.) %r8 is a word of
/// shared memory, written before; %p0 and %p1 say who one is.
static std::string makePair(const std::string &first, const std::string &between,
                            const std::string &second) {
  return R"(
  mov.u32 %r8, smem;
  setp.eq.u32 %p0, %t, 35;
  setp.eq.u32 %p1, %t, 0;
  @%p0 st.shared.v2.u32 [%r8], {%t, %t};
  bar.sync 0;
  )" + ("@%p0 " + first + "\n" + between + "\n@%p1 " + second + "\n");
}

//===----------------------------------------------------------------------===//
// Shared memory between warps
//===----------------------------------------------------------------------===//

namespace {
struct PairCase {
  const char *name, *first, *second;
  bool isRace;
};
} // namespace

static const PairCase kPairs[] = {
    {"read after write", "st.shared.u32 [%r8], 1;", "ld.shared.u32 %r0, [%r8];", true},
    {"write after read", "ld.shared.u32 %r0, [%r8];", "st.shared.u32 [%r8], 1;", true},
    {"write after write", "st.shared.u32 [%r8], 1;", "st.shared.u32 [%r8], 1;", true},
    {"read after read", "ld.shared.u32 %r0, [%r8];", "ld.shared.u32 %r0, [%r8];",
     false},
    {"atomic after write", "st.shared.u32 [%r8], 1;", "red.shared.add.u32 [%r8], 1;",
     true},
    {"write after atomic", "red.shared.add.u32 [%r8], 1;", "st.shared.u32 [%r8], 1;",
     true},
    {"read after atomic", "red.shared.add.u32 [%r8], 1;", "ld.shared.u32 %r0, [%r8];",
     true},
    {"atomic after read", "ld.shared.u32 %r0, [%r8];", "red.shared.add.u32 [%r8], 1;",
     true},
    {"atomic after atomic", "red.shared.add.u32 [%r8], 1;",
     "atom.shared.cas.b32 %r0, [%r8], 1, 2;", false},
    {"volatile read after volatile write", "st.volatile.shared.u32 [%r8], 1;",
     "ld.volatile.shared.u32 %r0, [%r8];", false},
    {"volatile write after volatile read", "ld.volatile.shared.u32 %r0, [%r8];",
     "st.volatile.shared.u32 [%r8], 1;", false},
    {"write after volatile read", "ld.volatile.shared.u32 %r0, [%r8];",
     "st.shared.u32 [%r8], 1;", true},
    {"volatile read after write", "st.shared.u32 [%r8], 1;",
     "ld.volatile.shared.u32 %r0, [%r8];", true},
    {"atomic after volatile read", "ld.volatile.shared.u32 %r0, [%r8];",
     "red.shared.add.u32 [%r8], 1;", false},
    {"other word", "st.shared.u32 [%r8], 1;", "st.shared.u32 [%r8+4], 1;", false},
    {"vector over it", "st.shared.u32 [%r8+4], 1;",
     "ld.shared.v2.u32 {%r0, %r1}, [%r8];", true},
    {"other byte written", "st.shared.u8 [%r8], 1;", "st.shared.u8 [%r8+1], 1;", false},
    {"other half after read", "ld.shared.u16 %h0, [%r8];", "st.shared.u16 [%r8+2], 1;",
     false},
    {"other half after write", "st.shared.u16 [%r8], 1;", "ld.shared.u16 %h0, [%r8+2];",
     false},
    {"same byte", "st.shared.u16 [%r8], 1;", "ld.shared.u8 %r0, [%r8+1];", true},
    {"half of word", "st.shared.u32 [%r8], 1;", "ld.shared.u16 %h0, [%r8+2];", true},
    {"word of half", "st.shared.u16 [%r8+2], 1;", "ld.shared.u32 %r0, [%r8];", true},
    {"byte of read word", "ld.shared.u32 %r0, [%r8];", "st.shared.u8 [%r8+3], 1;",
     true},
};

TEST(RaceTest, SharedBetweenWarps) {
  for (const PairCase &pair : kPairs) {
    SCOPED_TRACE(pair.name);
    std::string second = std::string(pair.second) + " // !";
    CheckRunner runner =
        makeRunner(makePair(std::string(pair.first) + " // ?", "", second));
    if (!pair.isRace) {
      runner.expectClean();
      continue;
    }
    // The address is that of the second access.
    uint64_t offset = second.find("+1]") != std::string::npos   ? 1
                      : second.find("+2]") != std::string::npos ? 2
                      : second.find("+3]") != std::string::npos ? 3
                                                                : 0;
    runner.expectFault({ReportKind::Race, 0, 0, From::Shared, offset});
    makeRunner(makePair(pair.first, "bar.sync 0;", pair.second)).expectClean();
    makeRunner(makePair(pair.first, "bar.sync 5, 64;", pair.second)).expectClean();
    makeRunner(makePair(std::string(pair.first) + " // ?", "bar.warp.sync -1;", second))
        .expectFault({ReportKind::Race, 0, 0, From::Shared, offset});
  }
}

TEST(RaceTest, SharedBetweenLanes) {
  // Each lane reads what its neighbour wrote.
  const std::string before = "xor.b32 %r0, %s, 4;\nst.shared.u32 [%s], %t;\n";
  const std::string after = "ld.shared.u32 %r1, [%r0];";
  makeRunner(before + after + " // !", 32)
      .expectFault({ReportKind::Race, 0, 0, From::Shared, 4});
  makeRunner(before + "bar.warp.sync -1;\n" + after, 32).expectClean();
  makeRunner(before + "bar.sync 0;\n" + after, 32).expectClean();
  // A fence alone orders, but does not make the other lane's write be done: it is
  // counted as if it did.
  makeRunner("xor.b32 %r0, %s, 4;\nst.shared.u32 [%s], %t;\nbar.warp.sync -1;\n"
             "ld.shared.u32 %r1, [%r0];\nst.shared.u32 [%s], %t; // !",
             32)
      .expectFault({ReportKind::Race, 0, 0, From::Shared, 0});
  makeRunner("mov.u32 %r0, smem;\nst.shared.u32 [%r0], %t; // !", 32)
      .expectFault({ReportKind::Race, 0, 1, From::Shared, 0});
}

/// Two lanes read a word, one of them again after bar.warp.sync; the other's write
/// then comes after the first lane's later read.
TEST(RaceTest, LaterReadOfOneOfSeveralReaders) {
  makeRunner(R"(
  mov.u32 %r8, smem;
  setp.eq.u32 %p0, %t, 0;
  setp.eq.u32 %p1, %t, 1;
  @%p0 st.shared.u32 [%r8], 1;
  bar.warp.sync -1;
  ld.shared.u32 %r0, [%r8];
  bar.warp.sync -1;
  @%p0 ld.shared.u32 %r0, [%r8]; // ?
  @%p1 st.shared.u32 [%r8], 2; // !
  )",
             32)
      .expectFault({ReportKind::Race, 0, 1, From::Shared, 0});
}

TEST(RaceTest, NamedBarrierOrdersItsWarpsOnly) {
  // Warps 0 and 1 meet at barrier 1; warp 2 reads without.
  const std::string body = R"(
  mov.u32 %r8, smem;
  setp.eq.u32 %p0, %t, 0;
  setp.ge.u32 %p2, %w, 2;
  @%p0 st.shared.u32 [%r8], 5;
  bar.sync 0;
  @%p0 st.shared.u32 [%r8], 6; // !
  @%p2 bra LATE;
  bar.sync 1, 64;
  ld.shared.u32 %r0, [%r8];
  bra DONE;
LATE:
  )";
  makeRunner(body + "bar.warp.sync -1;\nDONE:", 96).expectClean();
  makeRunner(body + "ld.shared.u32 %r0, [%r8]; // ?\nDONE:", 96)
      .expectFault({ReportKind::Race, 0, 0, From::Shared, 0});
  // Nor do warps that ended count as ordered by the barrier of others.
  makeRunner(R"(
  mov.u32 %r8, smem;
  setp.eq.u32 %p0, %w, 0;
  @!%p0 bra OTHERS;
  st.shared.u32 [%s], 5; // ?
  ret;
OTHERS:
  bar.sync 1, 64;
  setp.eq.u32 %p1, %t, 32;
  @%p1 st.shared.u32 [%r8], 6; // !
  )",
             96)
      .expectFault({ReportKind::Race, 1, 0, From::Shared, 0});
}

TEST(RaceTest, ArriveAndSync) {
  // Warp 0 produces and arrives; warp 1 waits. Then the other way round.
  const std::string head = R"(
  mov.u32 %r8, smem;
  setp.eq.u32 %p0, %w, 0;
  mov.u32 %r1, 0;
  mad.lo.u32 %r9, %l, 4, %r8;
  @!%p0 bra CONSUMER;
PRODUCER:
  st.shared.u32 [%r9], %r1; // ?
  bar.arrive 1, 64;
  )";
  const std::string middle = R"(
  add.u32 %r1, %r1, 1;
  setp.lt.u32 %p1, %r1, 5;
  @%p1 bra PRODUCER;
  bra DONE;
CONSUMER:
  bar.sync 1, 64;
  ld.shared.u32 %r0, [%r9]; // !
  )";
  const std::string tail = R"(
  add.u32 %r1, %r1, 1;
  setp.lt.u32 %p1, %r1, 5;
  @%p1 bra CONSUMER;
DONE:)";
  makeRunner(head + "bar.sync 2, 64;" + middle + "bar.arrive 2, 64;" + tail)
      .expectClean();
  // Without the way back a value is overwritten while it may be read; the two
  // warps may as well meet out of step.
  for (const Mode &mode : kModes) {
    CheckRunner runner = makeRunner(head + middle + tail);
    EXPECT_GT(runner.run(mode).numReports, 0u) << mode.name;
  }
}

//===----------------------------------------------------------------------===//
// Flags
//===----------------------------------------------------------------------===//

/// Warp 0 writes a datum and sets a flag with `set`; warp 1 waits for the flag with
/// `wait`, which reads it into %r1, and then reads the datum after `then`.
static std::string makeFlag(const std::string &set, const std::string &wait,
                            const std::string &then, bool isRace) {
  return R"(
  mov.u32 %r8, smem;
  setp.eq.u32 %p0, %t, 0;
  setp.eq.u32 %p1, %t, 32;
  @%p0 st.shared.u32 [%r8+128], 0;
  bar.sync 0;
  @%p0 bra SET;
  @%p1 bra WAIT;
  bra DONE;
SET:
  st.shared.u32 [%r8], 7;
  )" + set + R"(
  bra DONE;
WAIT:
  )" + wait + R"(
  setp.eq.u32 %p2, %r1, 0;
  @%p2 bra WAIT;
  )" + then + (isRace ? "\nld.shared.u32 %r2, [%r8]; // !" : "\nld.shared.u32 %r2, [%r8];") +
         "\nst.global.u32 [%out], %r2;\nDONE:";
}

TEST(RaceTest, FlagsInSharedMemory) {
  struct FlagCase {
    const char *set, *wait, *then;
    bool isRace;
  };
  const char *red = "red.shared.add.u32 [%r8+128], 1;";
  const char *atomRead = "atom.shared.or.b32 %r1, [%r8+128], 0;";
  const char *loadVolatile = "ld.volatile.shared.u32 %r1, [%r8+128];";
  const char *loadAcquire = "ld.acquire.cta.shared.u32 %r1, [%r8+128];";
  std::string fenceRed = std::string("membar.cta;\n") + red;
  const FlagCase cases[] = {
      {fenceRed.c_str(), atomRead, "membar.cta;", false},
      {fenceRed.c_str(), atomRead, "", true},
      {red, atomRead, "membar.cta;", true},
      {"fence.acq_rel.cta;\nst.volatile.shared.u32 [%r8+128], 1;", loadVolatile,
       "fence.sc.cta;", false},
      {"st.volatile.shared.u32 [%r8+128], 1;", loadVolatile, "", true},
      {"st.release.cta.shared.u32 [%r8+128], 1;", loadAcquire, "", false},
      {"st.release.gpu.shared.u32 [%r8+128], 1;", loadAcquire, "", false},
      {"st.relaxed.cta.shared.u32 [%r8+128], 1;", loadAcquire, "", true},
      {"st.release.cta.shared.u32 [%r8+128], 1;",
       "ld.relaxed.cta.shared.u32 %r1, [%r8+128];", "", true},
      {"st.release.cta.shared.u32 [%r8+128], 1;",
       "ld.relaxed.cta.shared.u32 %r1, [%r8+128];", "fence.acquire.cta;", false},
      {"red.release.cta.shared.add.u32 [%r8+128], 1;", loadAcquire, "", false},
      {"atom.acq_rel.cta.shared.exch.b32 %r3, [%r8+128], 1;",
       "atom.acquire.cta.shared.or.b32 %r1, [%r8+128], 0;", "", false},
      {"atom.acq_rel.gpu.shared.exch.b32 %r3, [%r8+128], 1;",
       "atom.acq_rel.gpu.shared.or.b32 %r1, [%r8+128], 0;", "", false},
      {"atom.relaxed.cta.shared.exch.b32 %r3, [%r8+128], 1;",
       "atom.relaxed.cta.shared.or.b32 %r1, [%r8+128], 0;", "", true},
  };
  for (const FlagCase &flag : cases) {
    CheckRunner runner = makeRunner(makeFlag(flag.set, flag.wait, flag.then, flag.isRace));
    if (flag.isRace)
      runner.expectFault({ReportKind::Race, 1, 0, From::Shared, 0});
    else
      EXPECT_EQ(runner.expectClean()[0], 7u);
  }
}

/// The warp that acquires had read the datum before, and may write it then.
TEST(RaceTest, WriteAfterAcquire) {
  EXPECT_EQ(makeRunner(R"(
  mov.u32 %r8, smem;
  setp.eq.u32 %p0, %t, 0;
  setp.eq.u32 %p1, %t, 32;
  @%p0 st.shared.u32 [%r8], 3;
  @%p0 st.shared.u32 [%r8+128], 0;
  bar.sync 0;
  ld.shared.u32 %r0, [%r8];
  bar.warp.sync -1;
  @%p0 st.release.cta.shared.u32 [%r8+128], 1;
  @!%p1 bra DONE;
WAIT:
  ld.acquire.cta.shared.u32 %r1, [%r8+128];
  setp.eq.u32 %p2, %r1, 0;
  @%p2 bra WAIT;
  add.u32 %r0, %r0, 1;
  st.shared.u32 [%r8], %r0;
  ld.shared.u32 %r0, [%r8];
  st.global.u32 [%out], %r0;
DONE:)")
                .expectClean()[0],
            4u);
}

//===----------------------------------------------------------------------===//
// Global memory
//===----------------------------------------------------------------------===//

TEST(RaceTest, GlobalBetweenWarps) {
  const std::string head = "setp.eq.u32 %p0, %t, 33;\nsetp.eq.u32 %p1, %t, 1;\n"
                           "@%p0 st.global.u32 [%out+4], 1;\nbar.sync 0;\n";
  makeRunner(head + "@%p0 st.global.u32 [%out], 1; // ?\n"
                    "@%p1 st.global.u32 [%out], 2; // !")
      .expectFault({ReportKind::Race, 0, 1, From::Out, 0});
  makeRunner(head + "@%p0 st.global.u32 [%out], 1;\nbar.sync 0;\n"
                    "@%p1 st.global.u32 [%out], 2;")
      .expectClean();
  makeRunner(head + "@%p0 ld.global.u32 %r0, [%out+4]; // ?\n"
                    "@%p1 st.global.u32 [%out+4], 2; // !")
      .expectFault({ReportKind::Race, 0, 1, From::Out, 4});
  makeRunner(head + "@%p0 st.global.u32 [%out+4], 2; // ?\n"
                    "@%p1 ld.global.v2.u32 {%r0, %r1}, [%out]; // !\n")
      .expectFault({ReportKind::Uninitialised, 0, 1, From::Out, 0});
  makeRunner(head + "@%p0 st.global.u32 [%out+4], 2; // ?\n"
                    "@%p1 ld.global.u8 %r0, [%out+5]; // !\n")
      .expectFault({ReportKind::Race, 0, 1, From::Out, 5});
}

/// Warps share sectors but no bytes, and update them in place.
TEST(RaceTest, GlobalNeighboursInOneSector) {
  std::vector<uint32_t> out = makeRunner(R"(
  mul.lo.u32 %r0, %w, 33;
  add.u32 %r0, %r0, %l;
  mul.wide.u32 %d0, %r0, 4;
  add.u64 %d0, %out, %d0;
  st.global.u32 [%d0], %t;
  ld.global.u32 %r1, [%d0];
  add.u32 %r1, %r1, 1;
  st.global.u32 [%d0], %r1;
  ld.global.u32 %r1, [%d0];
  st.global.u32 [%d0], %r1;
  setp.eq.u32 %p0, %l, 31;
  @%p0 st.global.u16 [%d0+4], 7;
  @%p0 st.global.u8 [%d0+6], 7;
  @%p0 ld.global.u16 %h0, [%d0+4];
  )",
                                         256)
                                  .expectClean();
  EXPECT_EQ(out[33], 33u);
}

TEST(RaceTest, GlobalBetweenBlocks) {
  makeRunner("setp.eq.u32 %p0, %t, 0;\n@%p0 st.global.u32 [%out], %b; // !", 32, 2)
      .expectFault({ReportKind::Race, 0, 0, From::Out, 0, {1, 0, 0}});
  makeRunner(R"(
  setp.eq.u32 %p0, %b, 0;
  @!%p0 bra READ;
  st.global.u32 [%out], 3; // ?
  bra DONE;
READ:
  ld.global.u32 %r0, [%out]; // !
DONE:)",
             32, 2)
      .expectFault({ReportKind::Race, 0, 0, From::Out, 0, {1, 0, 0}, false});
  // Many read, the last block writes.
  makeRunner(R"(
  ld.global.u32 %r0, [%in]; // ?
  setp.eq.u32 %p0, %b, 5;
  setp.eq.and.u32 %p0, %t, 0, %p0;
  @%p0 st.global.u32 [%in], 3; // !
  )",
             64, 6)
      .expectFault({ReportKind::Race, 0, 0, From::In, 0, {5, 0, 0}});
}

TEST(RaceTest, GlobalAtomicAgainstPlain) {
  makeRunner("red.global.add.u32 [%in], 1;", 64, 4).expectClean();
  makeRunner(R"(
  setp.eq.u32 %p0, %b, 0;
  @%p0 red.global.add.u32 [%in], 1; // ?
  @!%p0 ld.global.u32 %r0, [%in]; // !
  )",
             32, 2)
      .expectFault({ReportKind::Race, 0, 0, From::In, 0, {1, 0, 0}});
  makeRunner(R"(
  setp.eq.u32 %p0, %b, 0;
  @%p0 ld.global.u32 %r0, [%in]; // ?
  @!%p0 red.global.add.u32 [%in], 1; // !
  )",
             32, 2)
      .expectFault({ReportKind::Race, 0, 0, From::In, 0, {1, 0, 0}});
  makeRunner(R"(
  setp.eq.u32 %p0, %b, 0;
  @%p0 ld.volatile.global.u32 %r0, [%in]; // ?
  @!%p0 red.global.add.u32 [%in], 1;
  )",
             32, 2)
      .expectClean();
}

/// Each block writes its sum; the last of them adds all up. `before` is executed by
/// all threads before the counter, `after` after it.
static std::string makeLastBlock(const std::string &before, const std::string &count,
                                 const std::string &after) {
  return R"(
  mov.u32 %r8, smem;
  mul.wide.u32 %d0, %b, 256;
  mul.wide.u32 %d1, %t, 4;
  add.u64 %d0, %d0, %d1;
  add.u64 %d0, %out, %d0;
  add.u32 %r0, %t, %b;
  st.global.u32 [%d0+1024], %r0; // ?
  )" + before + R"(
  setp.ne.u32 %p0, %t, 0;
  @%p0 bra COUNTED;
  )" + count + R"(
  st.shared.u32 [%r8], %r1;
COUNTED:
  bar.sync 0;
  ld.shared.u32 %r1, [%r8];
  setp.ne.u32 %p1, %r1, 3;
  @%p1 bra DONE;
  )" + after + R"(
  add.u64 %d2, %out, %d1;
  mov.u32 %r2, 0;
  mov.u32 %r3, 0;
NEXT:
  ld.global.u32 %r4, [%d2+1024]; // !
  add.u32 %r3, %r3, %r4;
  add.u64 %d2, %d2, 256;
  add.u32 %r2, %r2, 1;
  setp.lt.u32 %p2, %r2, 4;
  @%p2 bra NEXT;
  add.u64 %d2, %out, %d1;
  st.global.u32 [%d2], %r3;
DONE:)";
}

TEST(RaceTest, LastBlock) {
  const char *relaxed = "atom.global.add.u32 %r1, [%in], 1;";
  struct LastCase {
    const char *before, *count, *after;
    bool isRace;
  };
  const LastCase cases[] = {
      // Every thread fences, and the barrier hands it on.
      {"membar.gl;\nbar.sync 0;", relaxed, "membar.gl;", false},
      {"fence.acq_rel.gpu;\nbar.sync 0;", relaxed, "fence.acq_rel.gpu;", false},
      // Thread 0 fences for all.
      {"bar.sync 0;", "membar.gl;\natom.global.add.u32 %r1, [%in], 1;\nmembar.gl;", "",
       false},
      {"bar.sync 0;", "atom.acq_rel.gpu.global.add.u32 %r1, [%in], 1;", "", false},
      {"bar.sync 0;", "atom.add.acq_rel.gpu.global.u32 %r1, [%in], 1;", "", false},
      // No fence before, no barrier before, no acquire after.
      {"bar.sync 0;", relaxed, "membar.gl;", true},
      {"", "membar.gl;\natom.global.add.u32 %r1, [%in], 1;\nmembar.gl;", "", true},
      {"membar.gl;\nbar.sync 0;", relaxed, "", true},
      {"bar.sync 0;", "atom.release.gpu.global.add.u32 %r1, [%in], 1;", "", true},
      {"bar.sync 0;", "atom.acquire.gpu.global.add.u32 %r1, [%in], 1;", "", true},
  };
  for (const LastCase &last : cases) {
    CheckRunner runner =
        makeRunner(makeLastBlock(last.before, last.count, last.after), 64, 4);
    if (last.isRace) {
      runner.expectFault(
          {ReportKind::Race, 0, 0, From::Out, 1024, {3, 0, 0}, false});
      continue;
    }
    std::vector<uint32_t> out = runner.expectClean();
    for (uint32_t t = 0; t < 64; ++t)
      EXPECT_EQ(out[t], 4 * t + 6);
  }
}

static std::string makeSpinLock(const std::string &take, const std::string &afterTake,
                                const std::string &give) {
  return R"(
  setp.ne.u32 %p0, %t, 0;
  @%p0 bra DONE;
TAKE:
  )" + take + R"(
  setp.ne.u32 %p1, %r0, 0;
  @%p1 bra TAKE;
  )" + afterTake + R"(
  ld.global.u32 %r1, [%in+256]; // !
  add.u32 %r1, %r1, 1;
  st.global.u32 [%in+256], %r1; // ?
  )" + give + R"(
  atom.global.add.u32 %r2, [%in+512], 1;
DONE:)";
}

TEST(RaceTest, SpinLock) {
  const char *take = "atom.global.cas.b32 %r0, [%in], 0, 1;";
  makeRunner(makeSpinLock(take, "membar.gl;",
                          "membar.gl;\natom.global.exch.b32 %r2, [%in], 0;"),
             64, 8)
      .expectClean();
  makeRunner(makeSpinLock("atom.acquire.gpu.global.cas.b32 %r0, [%in], 0, 1;", "",
                          "st.release.gpu.global.u32 [%in], 0;"),
             64, 8)
      .expectClean();
  makeRunner(makeSpinLock(take, "", "membar.gl;\natom.global.exch.b32 %r2, [%in], 0;"),
             64, 8)
      .expectFault({ReportKind::Race, 0, 0, From::In, 256, {1, 0, 0}});
  makeRunner(makeSpinLock(take, "membar.gl;", "atom.global.exch.b32 %r2, [%in], 0;"),
             64, 8)
      .expectFault({ReportKind::Race, 0, 0, From::In, 256, {1, 0, 0}});
}

/// All blocks meet, then read what others wrote.
static std::string makeGridBarrier(const std::string &fence) {
  return R"(
  mul.wide.u32 %d0, %b, 128;
  mul.wide.u32 %d1, %t, 4;
  add.u64 %d0, %d0, %d1;
  add.u64 %d0, %out, %d0;
  st.global.u32 [%d0], %b; // ?
  bar.sync 0;
  setp.ne.u32 %p0, %t, 0;
  @%p0 bra MET;
  )" + fence + R"(
  red.global.add.u32 [%in], 1;
WAIT:
  ld.volatile.global.u32 %r0, [%in];
  setp.ne.u32 %p1, %r0, 6;
  @%p1 bra WAIT;
  )" + fence + R"(
MET:
  bar.sync 0;
  xor.b32 %r1, %b, 1;
  mul.wide.u32 %d0, %r1, 128;
  add.u64 %d0, %d0, %d1;
  add.u64 %d0, %out, %d0;
  ld.global.u32 %r2, [%d0]; // !
  setp.ne.u32 %p2, %r2, %r1;
  @%p2 trap;
  )";
}

TEST(RaceTest, GridBarrier) {
  makeRunner(makeGridBarrier("membar.gl;"), 32, 6).expectClean();
  CheckRunner racy = makeRunner(makeGridBarrier(""), 32, 6);
  racy.expectFault({ReportKind::Race, 0, 0, From::Out, 0, {0, 0, 0}, false});
}

/// A launch reads in each block what another block wrote in the launch before.
TEST(RaceTest, KernelBoundaryOrders) {
  Memory memory(1 << 20);
  std::string log;
  auto module = Module::load(R"(.version 8.0
.target sm_90
.address_size 64
.entry step(.param .u64 from, .param .u64 to) {
.reg .b64 %from, %to, %d; .reg .b32 %b, %n;
ld.param.u64 %from, [from];
ld.param.u64 %to, [to];
mov.u32 %b, %ctaid.x;
mul.wide.u32 %d, %b, 4;
add.u64 %to, %to, %d;
xor.b32 %n, %b, 1;
mul.wide.u32 %d, %n, 4;
add.u64 %from, %from, %d;
ld.global.u32 %n, [%from];
st.global.u32 [%to], %n;
ret; })",
                             memory, log);
  ASSERT_TRUE(module) << log;
  uint64_t places[] = {memory.allocate(32), memory.allocate(32)};
  memory.markWritten(places[0], 32);
  LaunchConfig config;
  config.grid = {8, 1, 1};
  config.parameters.resize(16);
  for (int i = 0; i < 4; ++i) {
    std::memcpy(config.parameters.data(), &places[i % 2], 8);
    std::memcpy(config.parameters.data() + 8, &places[(i + 1) % 2], 8);
    EXPECT_EQ(launch(memory, *module->findKernel("step"), config, {}).numReports, 0u);
  }
  // In place it is a race.
  std::memcpy(config.parameters.data(), config.parameters.data() + 8, 8);
  EXPECT_GT(launch(memory, *module->findKernel("step"), config, {}).numReports, 0u);
}

//===----------------------------------------------------------------------===//
// Right kernels
//===----------------------------------------------------------------------===//

TEST(RaceTest, TreeReduction) {
  EXPECT_EQ(makeRunner(R"(
  st.shared.u32 [%s], %t;
  mov.u32 %r0, 128;
STEP:
  bar.sync 0;
  setp.ge.u32 %p0, %t, %r0;
  @%p0 bra SKIP;
  mad.lo.u32 %r1, %r0, 4, %s;
  ld.shared.u32 %r2, [%s];
  ld.shared.u32 %r3, [%r1];
  add.u32 %r2, %r2, %r3;
  st.shared.u32 [%s], %r2;
SKIP:
  shr.u32 %r0, %r0, 1;
  setp.ne.u32 %p1, %r0, 0;
  @%p1 bra STEP;
  setp.eq.u32 %p2, %t, 0;
  @%p2 st.global.u32 [%out], %r2;
  )",
                       256)
                .expectClean()[0],
            255u * 128);
}

TEST(RaceTest, TreeReductionWithoutBarrierInTheLoop) {
  makeRunner(R"(
  st.shared.u32 [%s], %t; // ?
  mov.u32 %r0, 128;
  bar.sync 0;
STEP:
  setp.ge.u32 %p0, %t, %r0;
  @%p0 bra SKIP;
  mad.lo.u32 %r1, %r0, 4, %s;
  ld.shared.u32 %r2, [%s]; // ?
  ld.shared.u32 %r3, [%r1]; // !
  add.u32 %r2, %r2, %r3;
  st.shared.u32 [%s], %r2; // ?
SKIP:
  shr.u32 %r0, %r0, 1;
  setp.ne.u32 %p1, %r0, 0;
  @%p1 bra STEP;
  )",
             256)
      .expectFault({ReportKind::Race, 0, 0, From::Shared, 0, {0, 0, 0}, false});
}

TEST(RaceTest, HistogramWithSharedAtomics) {
  std::vector<uint32_t> out = makeRunner(R"(
  st.shared.u32 [%s], 0;
  bar.sync 0;
  mov.u32 %r8, smem;
  mov.u32 %r0, 0;
NEXT:
  mul.lo.u32 %r1, %r0, 7;
  add.u32 %r1, %r1, %t;
  and.b32 %r1, %r1, 15;
  mad.lo.u32 %r1, %r1, 4, %r8;
  red.shared.add.u32 [%r1], 1;
  add.u32 %r0, %r0, 1;
  setp.lt.u32 %p0, %r0, 10;
  @%p0 bra NEXT;
  bar.sync 0;
  ld.shared.u32 %r2, [%s];
  mul.wide.u32 %d0, %t, 4;
  add.u64 %d0, %out, %d0;
  st.global.u32 [%d0], %r2;
  )",
                                         128)
                                  .expectClean();
  for (uint32_t i = 0; i < 16; ++i)
    EXPECT_EQ(out[i], 80u);
}

/// A transpose of 32 x 32 halves: in shared memory neighbours write one word.
TEST(RaceTest, TransposeOfHalves) {
  std::vector<uint32_t> out = makeRunner(R"(
  mov.u32 %r8, smem;
  mov.u32 %r0, %w;
ROW:
  mad.lo.u32 %r1, %l, 34, %r0;
  mad.lo.u32 %r1, %r1, 2, %r8;
  mad.lo.u32 %r2, %r0, 32, %l;
  st.shared.u16 [%r1], %r2;
  add.u32 %r0, %r0, 4;
  setp.lt.u32 %p0, %r0, 32;
  @%p0 bra ROW;
  bar.sync 0;
  mov.u32 %r0, %w;
COLUMN:
  mad.lo.u32 %r1, %r0, 34, %l;
  mad.lo.u32 %r1, %r1, 2, %r8;
  ld.shared.u16 %r2, [%r1];
  mad.lo.u32 %r3, %r0, 32, %l;
  mul.wide.u32 %d0, %r3, 2;
  add.u64 %d0, %out, %d0;
  st.global.u16 [%d0], %r2;
  add.u32 %r0, %r0, 4;
  setp.lt.u32 %p0, %r0, 32;
  @%p0 bra COLUMN;
  )",
                                         128)
                                  .expectClean();
  EXPECT_EQ(out[0], 32u << 16);
  EXPECT_EQ(out[511], (31 * 32 + 31) << 16 | (30 * 32 + 31));
}

/// Halves of a word: read by one thread, then written by another, over and over.
TEST(RaceTest, HalvesInPlace) {
  makeRunner(R"(
  mov.u32 %r8, smem;
  mad.lo.u32 %r9, %t, 2, %r8;
  mov.u32 %r0, 0;
  st.shared.u16 [%r9], %r0;
AGAIN:
  ld.shared.u16 %r1, [%r9];
  add.u32 %r1, %r1, 1;
  st.shared.u16 [%r9], %r1;
  add.u32 %r0, %r0, 1;
  setp.lt.u32 %p0, %r0, 6;
  @%p0 bra AGAIN;
  bar.sync 0;
  shr.u32 %r2, %t, 1;
  mad.lo.u32 %r2, %r2, 4, %r8;
  ld.shared.u32 %r3, [%r2];
  bar.sync 0;
  st.shared.u16 [%r9], %r3;
  )",
             64)
      .expectClean();
}

TEST(RaceTest, DoubleBuffer) {
  makeRunner(R"(
  mov.u32 %r0, 0;
  mov.u32 %r8, smem;
  xor.b32 %r9, %t, 33;
  mad.lo.u32 %r9, %r9, 4, %r8;
STEP:
  and.b32 %r1, %r0, 1;
  shl.b32 %r1, %r1, 9;
  add.u32 %r2, %s, %r1;
  st.shared.u32 [%r2], %r0;
  bar.sync 0;
  add.u32 %r3, %r9, %r1;
  ld.shared.u32 %r4, [%r3];
  add.u32 %r0, %r0, 1;
  setp.lt.u32 %p0, %r0, 9;
  @%p0 bra STEP;
  )",
             128)
      .expectClean();
}
