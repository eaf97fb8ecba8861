//===- ChecksTest.cpp - bounds, alignment, bytes never written ------------===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "CheckRunner.h"

#include <cstring>

using namespace kvc::emu;

//===----------------------------------------------------------------------===//
// Global memory
//===----------------------------------------------------------------------===//

TEST(ChecksTest, GlobalAccessesInside) {
  std::vector<uint32_t> out = CheckRunner(R"(
  mul.wide.u32 %d0, %t, 4;
  add.u64 %d1, %in, %d0;
  add.u64 %d2, %out, %d0;
  ld.global.u32 %r0, [%d1+8064]; // the last 128 bytes
  st.global.u32 [%d2+8064], %r0;
  )").expectClean();
  for (uint32_t i = 0; i < 32; ++i)
    EXPECT_EQ(out[2016 + i], 2016 + i);
}

TEST(ChecksTest, GlobalReadBefore) {
  CheckRunner("ld.global.u32 %r0, [%in+-4]; // !")
      .expectFault({ReportKind::OutOfBounds, 0, 0, From::In, uint64_t(-4)});
}

TEST(ChecksTest, GlobalReadPastEndByOneLane) {
  CheckRunner(R"(
  mul.wide.u32 %d0, %t, 4;
  add.u64 %d1, %in, %d0;
  ld.global.u32 %r0, [%d1+8068]; // !
  )").expectFault({ReportKind::OutOfBounds, 0, 31, From::In, 8192});
}

TEST(ChecksTest, GlobalWritePastEndInRedZone) {
  CheckRunner("st.global.u32 [%out+8192], %t; // !")
      .expectFault({ReportKind::OutOfBounds, 0, 0, From::Out, 8192});
}

TEST(ChecksTest, GlobalVectorStraddlesEnd) {
  CheckRunner(R"(
  mul.wide.u32 %d0, %t, 16;
  add.u64 %d1, %out, %d0;
  st.global.v4.u32 [%d1+7696], {%t, %t, %t, %t}; // !
  )").expectFault({ReportKind::OutOfBounds, 0, 31, From::Out, 8192});
}

TEST(ChecksTest, GlobalHostPointer) {
  CheckRunner("mov.u64 %d0, 4096;\nld.global.u8 %r0, [%d0]; // !")
      .expectFault({ReportKind::OutOfBounds, 0, 0, From::Zero, 4096});
  CheckRunner("mov.u64 %d0, 0;\nst.global.v2.u64 [%d0], {%in, %in}; // !")
      .expectFault({ReportKind::OutOfBounds, 0, 0, From::Zero, 0});
}

TEST(ChecksTest, GenericAddressOfNothing) {
  CheckRunner("mov.u64 %d0, 64;\nst.u32 [%d0], %t; // !")
      .expectFault({ReportKind::OutOfBounds, 0, 0, From::Zero, 64});
}

TEST(ChecksTest, GlobalAtomicPastEnd) {
  CheckRunner("red.global.add.u32 [%out+8192], 1; // !")
      .expectFault({ReportKind::OutOfBounds, 0, 0, From::Out, 8192});
}

TEST(ChecksTest, FreedMemory) {
  Memory memory(1 << 20);
  std::string log;
  auto module = Module::load(R"(.version 8.0
.target sm_90
.address_size 64
.entry read(.param .u64 p) {
.reg .b64 %d; .reg .b32 %r;
ld.param.u64 %d, [p];
ld.global.u32 %r, [%d];
ret; })",
                             memory, log);
  ASSERT_TRUE(module) << log;
  uint64_t address = memory.allocate(64);
  memory.markWritten(address, 64);
  LaunchConfig config;
  config.parameters.resize(8);
  std::memcpy(config.parameters.data(), &address, 8);
  EXPECT_EQ(launch(memory, *module->findKernel("read"), config, {}).numReports, 0u);
  memory.free(address);
  LaunchResult result = launch(memory, *module->findKernel("read"), config, {});
  ASSERT_EQ(result.reports.size(), 1u);
  EXPECT_EQ(result.reports[0].kind, ReportKind::OutOfBounds);
  EXPECT_EQ(result.reports[0].line, 7u);
  EXPECT_EQ(result.reports[0].address, address);
  EXPECT_EQ(result.reports[0].count, 1u);
  // A new allocation there is not written.
  ASSERT_EQ(memory.allocate(64), address);
  result = launch(memory, *module->findKernel("read"), config, {});
  ASSERT_EQ(result.reports.size(), 1u);
  EXPECT_EQ(result.reports[0].kind, ReportKind::Uninitialised);
}

TEST(ChecksTest, ThirtyTwoReportsAtOneLineAreOne) {
  CheckRunner runner(R"(
  setp.lt.u32 %p0, %l, 5;
  @%p0 ld.global.u32 %r0, [%in+8192]; // !
  )");
  LaunchResult result = runner.run(kModes[0]);
  EXPECT_EQ(result.numReports, 5u);
  ASSERT_EQ(result.reports.size(), 1u);
  EXPECT_EQ(result.reports[0].count, 5u);
  EXPECT_EQ(result.reports[0].instruction, "ld.global.u32 %r0, [%in+8192]");
}

TEST(ChecksTest, GlobalMisaligned) {
  CheckRunner("ld.global.u32 %r0, [%in+2]; // !")
      .expectFault({ReportKind::Misaligned, 0, 0, From::In, 2});
  CheckRunner("st.global.v4.u32 [%out+8], {%t, %t, %t, %t}; // !")
      .expectFault({ReportKind::Misaligned, 0, 0, From::Out, 8});
  CheckRunner("ld.global.u64 %d0, [%in+4]; // !")
      .expectFault({ReportKind::Misaligned, 0, 0, From::In, 4});
  // Dense, but not a multiple.
  CheckRunner(R"(
  mul.wide.u32 %d0, %t, 8;
  add.u64 %d1, %in, %d0;
  ld.global.v2.u32 {%r0, %r1}, [%d1+4]; // !
  )").expectFault({ReportKind::Misaligned, 0, 0, From::In, 4});
}

TEST(ChecksTest, GlobalAlignedForSize) {
  CheckRunner(R"(
  ld.global.u8 %r0, [%in+1];
  ld.global.u16 %h0, [%in+2];
  ld.global.v2.u16 {%h0, %h1}, [%in+4];
  ld.global.v4.u8 {%h0, %h1, %h2, %h3}, [%in+4];
  ld.global.v2.u64 {%d0, %d1}, [%in+16];
  )").expectClean();
}

TEST(ChecksTest, GlobalUninitialised) {
  CheckRunner("ld.global.u32 %r0, [%out+64]; // !")
      .expectFault({ReportKind::Uninitialised, 0, 0, From::Out, 64});
  // One byte of four is missing, and it is named.
  CheckRunner(R"(
  setp.eq.u32 %p0, %t, 3;
  @%p0 st.global.u16 [%out], 7;
  @%p0 st.global.u8 [%out+3], 7;
  bar.sync 0;
  @%p0 ld.global.u32 %r0, [%out]; // !
  )").expectFault({ReportKind::Uninitialised, 0, 3, From::Out, 2});
  CheckRunner("red.global.add.u32 [%out+4], 1; // !")
      .expectFault({ReportKind::Uninitialised, 0, 0, From::Out, 4});
}

TEST(ChecksTest, GlobalUninitialisedAmongDense) {
  CheckRunner(R"(
  mul.wide.u32 %d0, %t, 16;
  add.u64 %d0, %out, %d0;
  setp.ne.u32 %p0, %l, 9;
  @%p0 st.global.v4.u32 [%d0], {%t, %t, %t, %t};
  bar.sync 0;
  ld.global.v4.u32 {%r0, %r1, %r2, %r3}, [%d0]; // !
  )").expectFault({ReportKind::Uninitialised, 0, 9, From::Out, 9 * 16});
}

TEST(ChecksTest, UsedBytesMask) {
  const char *store = "setp.eq.u32 %p0, %t, 0;\n"
                      "@%p0 st.global.v2.u32 [%out], {%t, %t};\n"
                      "@%p0 st.global.u32 [%out+12], %t;\nbar.sync 0;\n";
  CheckRunner(std::string(store) + R"(
  .pragma "used_bytes_mask 0xF0FF";
  @%p0 ld.global.v4.u32 {%r0, %r1, %r2, %r3}, [%out];
  )").expectClean();
  CheckRunner(std::string(store) + R"(
  .pragma "used_bytes_mask 0x0FFF";
  @%p0 ld.global.v4.u32 {%r0, %r1, %r2, %r3}, [%out]; // !
  )").expectFault({ReportKind::Uninitialised, 0, 0, From::Out, 8});
}

//===----------------------------------------------------------------------===//
// Shared memory
//===----------------------------------------------------------------------===//

TEST(ChecksTest, SharedAccessesInside) {
  CheckRunner runner(R"(
  mov.u32 %r0, dynamic;
  mad.lo.u32 %r0, %t, 4, %r0;
  st.shared.u32 [%r0], %t;
  ld.shared.u32 %r1, [%r0];
  st.shared.u8 [%s], %t;
  ld.shared.u8 %r1, [%s];
  )");
  runner.dynamicShared = 128;
  runner.expectClean();
}

TEST(ChecksTest, SharedBelowStart) {
  CheckRunner("mov.u32 %r0, 1020;\nst.shared.u32 [%r0], %t; // !")
      .expectFault({ReportKind::OutOfBounds, 0, 0, From::Shared, uint64_t(-4)});
  CheckRunner("mov.u32 %r0, 0;\nld.shared.u32 %r1, [%r0+-4]; // !")
      .expectFault({ReportKind::OutOfBounds, 0, 0, From::Zero, 0xFFFFFFFC});
}

TEST(ChecksTest, SharedPastEnd) {
  CheckRunner("st.shared.u32 [%s+8068], %t; // !")
      .expectFault({ReportKind::OutOfBounds, 0, 31, From::Shared, 8192});
  CheckRunner runner("mov.u32 %r0, dynamic;\nst.shared.u8 [%r0+100], 1; // !");
  runner.dynamicShared = 100;
  runner.expectFault({ReportKind::OutOfBounds, 0, 0, From::Shared, 8192 + 100});
}

TEST(ChecksTest, SharedVectorStraddlesEnd) {
  CheckRunner runner(R"(
  mov.u32 %r0, dynamic;
  st.shared.v4.u32 [%r0+96], {%t, %t, %t, %t}; // !
  )");
  runner.dynamicShared = 100;
  runner.expectFault({ReportKind::OutOfBounds, 0, 0, From::Shared, 8192 + 96});
}

TEST(ChecksTest, SharedMisaligned) {
  CheckRunner("ld.shared.u32 %r0, [%s+2]; // !")
      .expectFault({ReportKind::Misaligned, 0, 0, From::Shared, 2});
  CheckRunner("st.shared.v2.u32 [%s], {%t, %t}; // !")
      .expectFault({ReportKind::Misaligned, 0, 1, From::Shared, 4});
  CheckRunner("red.shared.add.u32 [%s+1], 1; // !")
      .expectFault({ReportKind::Misaligned, 0, 0, From::Shared, 1});
}

TEST(ChecksTest, SharedShiftShowsUndeclaredAlignment) {
  CheckRunner runner(R"(
  mov.u32 %r0, dynamic;
  and.b32 %r1, %r0, 1023;
  mov.u32 %r2, 0;
  mov.u32 %r3, smem;
  add.u32 %r3, %r3, %r1;
  setp.eq.u32 %p0, %t, 0;
  @%p0 st.shared.u32 [%r3], %r2;
  )");
  runner.dynamicShared = 2048;
  runner.options.sharedShift = 128;
  LaunchResult result = runner.run(kModes[0]);
  EXPECT_TRUE(result.finished) << result.error;
  runner.options.sharedShift = 64;
  EXPECT_FALSE(runner.run(kModes[0]).finished);
}

TEST(ChecksTest, SharedUninitialised) {
  CheckRunner("ld.shared.u32 %r0, [%s]; // !")
      .expectFault({ReportKind::Uninitialised, 0, 0, From::Shared, 0});
  CheckRunner("st.shared.u16 [%s], 1;\nld.shared.u32 %r0, [%s]; // !")
      .expectFault({ReportKind::Uninitialised, 0, 0, From::Shared, 0});
  CheckRunner("st.shared.u16 [%s], 1;\nld.shared.u8 %r0, [%s+1];").expectClean();
  CheckRunner("red.shared.add.u32 [%s], 1; // !")
      .expectFault({ReportKind::Uninitialised, 0, 0, From::Shared, 0});
}

TEST(ChecksTest, SharedUsedBytesMask) {
  const char *store = "mov.u32 %r8, smem;\nmad.lo.u32 %r8, %t, 16, %r8;\n"
                      "st.shared.v2.u32 [%r8], {%t, %t};\n";
  CheckRunner(std::string(store) + R"(
  .pragma "used_bytes_mask 0x00FF";
  ld.shared.v4.u32 {%r0, %r1, %r2, %r3}, [%r8];
  )").expectClean();
  CheckRunner(std::string(store) + R"(
  .pragma "used_bytes_mask 0x80FF";
  ld.shared.v4.u32 {%r0, %r1, %r2, %r3}, [%r8]; // !
  )").expectFault({ReportKind::Uninitialised, 0, 0, From::Shared, 0});
}

//===----------------------------------------------------------------------===//
// Local memory, parameters, registers
//===----------------------------------------------------------------------===//

TEST(ChecksTest, LocalMemory) {
  const std::string depot = ".local .align 16 .b8 depot[32];\n";
  CheckRunner(depot + R"(
  st.local.u32 [depot+28], %t;
  ld.local.u32 %r0, [depot+28];
  mul.wide.u32 %d0, %t, 4;
  add.u64 %d0, %out, %d0;
  st.global.u32 [%d0], %r0;
  )").expectClean();
  CheckRunner(depot + "st.local.u32 [depot+32], %t; // !")
      .expectFault({ReportKind::OutOfBounds, 0, 0, From::Zero, 32});
  CheckRunner(depot + "mov.u32 %r0, depot;\nst.local.u32 [%r0+-4], %t; // !")
      .expectFault({ReportKind::OutOfBounds, 0, 0, From::Zero, 0xFFFFFFFC});
  CheckRunner(depot + "st.local.v4.u32 [depot+24], {%t, %t, %t, %t}; // !")
      .expectFault({ReportKind::Misaligned, 0, 0, From::Zero, 24});
  CheckRunner(depot + "st.local.u32 [depot], %t;\nld.local.u64 %d0, [depot]; // !")
      .expectFault({ReportKind::Uninitialised, 0, 0, From::Zero, 4});
}

TEST(ChecksTest, Parameters) {
  CheckRunner("ld.param.u32 %r0, [p_out+4];").expectClean();
  CheckRunner("ld.param.u32 %r0, [p_out+8]; // !")
      .expectFault({ReportKind::OutOfBounds, 0, 0, From::Zero, 16});
  CheckRunner("ld.param.u64 %d0, [p_out+4]; // !")
      .expectFault({ReportKind::Misaligned, 0, 0, From::Zero, 12});
}

TEST(ChecksTest, RegistersNeverWritten) {
  // A value that reaches memory is asked for, and only of the lanes without one.
  CheckRunner(R"(
  setp.lt.u32 %p0, %l, 7;
  @%p0 mov.u32 %r0, 1;
  mul.wide.u32 %d0, %t, 4;
  add.u64 %d0, %out, %d0;
  st.global.u32 [%d0], %r0; // !
  )").expectFault({ReportKind::Uninitialised, 0, 7});
  CheckRunner(R"(
  setp.lt.u32 %p0, %l, 7;
  @%p0 mov.u32 %r0, 1;
  mul.wide.u32 %d0, %t, 4;
  add.u64 %d0, %out, %d0;
  @%p0 st.global.u32 [%d0], %r0;
  @!%p0 st.global.u32 [%d0], %t;
  )").expectClean();
}
