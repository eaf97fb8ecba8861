//===- LaunchTest.cpp - launches that cannot be ---------------------------===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "CheckRunner.h"

#include <cstdio>
#include <cstdlib>
#include <sys/resource.h>

using namespace kvc::emu;

TEST(LaunchTest, ShapesThatNoDeviceHas) {
  for (Dim3 grid : {Dim3{0, 1, 1}, Dim3{1, 0, 1}, Dim3{1, 1, 0}, Dim3{1, 65536, 1},
                    Dim3{1, 1, 65536}, Dim3{0x80000000, 1, 1}, Dim3{~0u, ~0u, ~0u},
                    Dim3{0x7FFFFFFF, 65535, 65535}}) {
    CheckRunner runner("");
    runner.grid = grid;
    runner.expectError("expected");
  }
  for (Dim3 block : {Dim3{0, 1, 1}, Dim3{1, 0, 1}, Dim3{1, 1, 0}, Dim3{1025, 1, 1},
                     Dim3{32, 32, 2}, Dim3{1, 1, 65}, Dim3{65536, 65536, 1},
                     Dim3{1u << 31, 2, 1}, Dim3{~0u, ~0u, ~0u}}) {
    CheckRunner runner("");
    runner.block = block;
    runner.expectError("expected a block of 1 to 1024 threads");
  }
}

// `.reqntid` takes one block shape; `.maxntid` all up to a number of threads.
TEST(LaunchTest, RequiredBlock) {
  auto launchWith = [](const std::string &directive, Dim3 block) {
    Memory memory;
    std::string log;
    std::unique_ptr<Module> module = Module::load(
        ".version 8.0\n.target sm_90a\n.address_size 64\n.entry k() " + directive +
            " { ret; }",
        memory, log);
    EXPECT_TRUE(module) << log;
    LaunchConfig config;
    config.block = block;
    return module ? launch(memory, *module->findKernel("k"), config, {}).error : log;
  };
  EXPECT_EQ(launchWith(".reqntid 64", {64, 1, 1}), "");
  EXPECT_EQ(launchWith(".reqntid 8, 4, 2", {8, 4, 2}), "");
  EXPECT_EQ(launchWith(".maxntid 64", {8, 4, 2}), "");
  EXPECT_EQ(launchWith(".reqntid 64", {32, 1, 1}),
            "expected a block of 64 x 1 x 1 threads, as .reqntid says, got 32 x 1 x 1");
  EXPECT_EQ(launchWith(".reqntid 8, 4, 2", {64, 1, 1}),
            "expected a block of 8 x 4 x 2 threads, as .reqntid says, got 64 x 1 x 1");
}

TEST(LaunchTest, SharedMemory) {
  CheckRunner runner(R"(
  mov.u32 %r0, dynamic;
  setp.eq.u32 %p0, %t, 0;
  @%p0 st.shared.u8 [%r0+224255], 1;
  )");
  runner.dynamicShared = kMaxShared - 8192;
  runner.expectClean();
  runner.dynamicShared += 1;
  runner.expectError("bytes of shared memory");
  runner.dynamicShared = ~0u;
  runner.expectError("bytes of shared memory");
}

TEST(LaunchTest, Parameters) {
  Memory memory(1 << 20);
  std::string log;
  auto module = Module::load(".version 8.0\n.target sm_90\n.address_size 64\n"
                             ".entry e(.param .u64 p) { ret; }",
                             memory, log);
  ASSERT_TRUE(module) << log;
  LaunchConfig config;
  for (size_t size : {0, 7, 9, 4096}) {
    config.parameters.resize(size);
    LaunchResult result = launch(memory, *module->findKernel("e"), config, {});
    EXPECT_FALSE(result.finished);
    EXPECT_NE(result.error.find("bytes of parameters"), std::string::npos);
  }
}

TEST(LaunchTest, HugeGridThatTraps) {
  CheckRunner runner("trap; // !");
  runner.grid = {0x7FFFFFFF, 1, 1};
  runner.block = {1024, 1, 1};
  runner.expectFault({ReportKind::Trap, 0, 0});
}

TEST(LaunchTest, HugeGridUpToTheLimit) {
  CheckRunner runner("");
  runner.grid = {0x7FFFFFFF, 2, 1};
  runner.options.maxInstructions = 100000;
  runner.expectError("limit");
}

TEST(LaunchTest, ReportsAreBounded) {
  std::string body;
  for (int i = 0; i < 100; ++i)
    body += "ld.global.u32 %r0, [%in+-8];\n";
  CheckRunner runner(body);
  runner.options.maxReports = 5;
  LaunchResult result = runner.run(kModes[0]);
  EXPECT_EQ(result.reports.size(), 5u);
  EXPECT_EQ(result.numReports, 3200u);
  EXPECT_TRUE(result.finished);
}

/// Local memory that no device has, and what a block of it takes.
TEST(LaunchTest, LocalMemory) {
  const char *depot = ".local .align 16 .b8 depot[600000];\nst.local.u32 [depot], %t;";
  CheckRunner runner(depot);
  runner.expectError("bytes of local memory");
}

#if !defined(__SANITIZE_ADDRESS__)
/// Launches with less memory than the blocks take; ends the process.
static void launchWithLittleMemory() {
  Memory memory(1 << 20);
  std::string log;
  auto module = Module::load(R"(.version 8.0
.target sm_90
.address_size 64
.entry e() {
.local .align 16 .b8 depot[500000];
.reg .b32 %r;
mov.u32 %r, %tid.x;
st.local.u32 [depot], %r;
ret; })",
                             memory, log);
  rlimit limit;
  limit.rlim_cur = limit.rlim_max = uint64_t(256) << 20;
  setrlimit(RLIMIT_AS, &limit);
  LaunchConfig config;
  config.block = {1024, 1, 1};
  LaunchResult result = launch(memory, *module->findKernel("e"), config, {});
  std::fprintf(stderr, "%s", result.error.c_str());
  std::exit(result.finished ? 1 : 0);
}

TEST(LaunchTest, NoMemory) {
  EXPECT_EXIT(launchWithLittleMemory(), testing::ExitedWithCode(0),
              "no memory to run the blocks");
}
#endif

/// Blocks that wait for each other are kept to what memory there is.
TEST(LaunchTest, MemoryOfResidentBlocks) {
  CheckRunner runner(R"(
  .local .align 16 .b8 depot[131072];
  setp.eq.u32 %p0, %t, 0;
  @%p0 red.global.add.u32 [%in], 1;
  mov.u32 %r1, 0;
SPIN:
  add.u32 %r1, %r1, 1;
  setp.lt.u32 %p1, %r1, 100000;
  @%p1 bra SPIN;
  st.local.u32 [depot], %t;
  )");
  runner.grid = {16, 1, 1};
  runner.block = {64, 1, 1};
  LaunchResult result = runner.run(kModes[2]);
  EXPECT_TRUE(result.finished) << result.error;
  rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  EXPECT_LT(usage.ru_maxrss, 3 << 20); // kilobytes
}

TEST(LaunchTest, ManyAddressesOfAtomics) {
  // A fence and atomics on thousands of addresses by many blocks.
  CheckRunner runner(R"(
  membar.gl;
  mul.wide.u32 %d0, %t, 4;
  add.u64 %d0, %in, %d0;
  red.global.add.u32 [%d0], 1;
  red.global.add.u32 [%d0+4096], 1;
  ld.acquire.gpu.global.u32 %r0, [%d0];
  )");
  runner.grid = {40, 1, 1};
  runner.block = {512, 1, 1};
  LaunchResult result = runner.run(kModes[0]);
  EXPECT_TRUE(result.finished) << result.error;
  EXPECT_EQ(result.numReports, 0u);
}
