//===- kvc-emulator-bench.cpp - how fast the emulator is ------------------===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Runs a loop like that of decode attention (tiles of K and V come by cp.async in
// two stages, dot products over 16 lanes, a running sum of V) and prints how many
// warp instructions the emulator executes in a second of processor time:
//
//   kvc-emulator-bench [tiles of 16 tokens]
//===----------------------------------------------------------------------===//
#include "kvc/Emulator/Emulator.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>

using namespace kvc::emu;

/// Appends instructions that turn four registers of bf16 pairs, %x0 to %x3, into
/// `accumulate`d products: "dot" into %f0 with %q, "sum" into %o with %f0.
static void addProducts(std::string &text, bool isDot) {
  for (int i = 0; i < 8; ++i) {
    std::string n = std::to_string(i);
    text += i % 2 ? "and.b32 %r9, %x" + std::to_string(i / 2) + ", 0xFFFF0000;\n"
                  : "shl.b32 %r9, %x" + std::to_string(i / 2) + ", 16;\n";
    text += "mov.b32 %f1, %r9;\n";
    text += isDot ? "fma.rn.f32 %f0, %f1, %q" + n + ", %f0;\n"
                  : "fma.rn.f32 %o" + n + ", %f1, %f0, %o" + n + ";\n";
  }
}

/// A tile is 16 tokens of 128 bf16: 4 KiB each of K and of V; 256 copies of 16
/// bytes, two for each of 128 threads.
static std::string makeKernel() {
  std::string text = R"(.version 8.0
.target sm_90
.address_size 64
.shared .align 128 .b8 tiles[16384];
.entry decode(.param .u64 keys, .param .u64 values, .param .u64 out, .param .u32 count)
{
  .reg .pred %p<4>;
  .reg .b32 %r<24>, %x<4>;
  .reg .f32 %f<4>, %q<8>, %o<8>;
  .reg .b64 %d<16>;
  ld.param.u64 %d0, [keys];
  ld.param.u64 %d1, [values];
  ld.param.u64 %d2, [out];
  ld.param.u32 %r0, [count];
  mov.u32 %r1, %tid.x;
  mov.u32 %r2, tiles;
  shl.b32 %r3, %r1, 4;
  add.u32 %r4, %r2, %r3;
  mov.u32 %r12, %ctaid.x;
  mul.lo.u32 %r12, %r12, %r0;
  mul.wide.u32 %d3, %r12, 4096;
  cvt.u64.u32 %d4, %r3;
  add.u64 %d3, %d3, %d4;
  add.u64 %d5, %d0, %d3;
  add.u64 %d6, %d1, %d3;
  shr.u32 %r5, %r1, 5;
  shl.b32 %r5, %r5, 10;
  and.b32 %r6, %r1, 31;
  shl.b32 %r6, %r6, 4;
  add.u32 %r5, %r5, %r6;
  add.u32 %r5, %r5, %r2;
  mov.u32 %r7, 0;
)";
  for (int i = 0; i < 8; ++i) {
    text += "mov.f32 %q" + std::to_string(i) + ", 0f3F800000;\n";
    text += "mov.f32 %o" + std::to_string(i) + ", 0f00000000;\n";
  }
  std::string fetch = R"(
  cp.async.cg.shared.global [%r8], [%d5], 16;
  cp.async.cg.shared.global [%r8+2048], [%d5+2048], 16;
  cp.async.cg.shared.global [%r8+4096], [%d6], 16;
  cp.async.cg.shared.global [%r8+6144], [%d6+2048], 16;
  add.u64 %d5, %d5, 4096;
  add.u64 %d6, %d6, 4096;
)";
  text += "mov.u32 %r8, %r4;\n" + fetch + "cp.async.commit_group;\n";
  text += R"(LOOP:
  add.u32 %r10, %r7, 1;
  setp.ge.u32 %p0, %r10, %r0;
  @%p0 bra FETCHED;
  and.b32 %r11, %r10, 1;
  shl.b32 %r11, %r11, 13;
  add.u32 %r8, %r4, %r11;
)" + fetch + R"(FETCHED:
  cp.async.commit_group;
  cp.async.wait_group 1;
  bar.sync 0;
  and.b32 %r11, %r7, 1;
  shl.b32 %r11, %r11, 13;
  add.u32 %r13, %r5, %r11;
)";
  for (int part = 0; part < 2; ++part) { // a warp has four tokens, two at a time
    std::string offset = std::to_string(part * 512);
    text += "ld.shared.v4.b32 {%x0, %x1, %x2, %x3}, [%r13+" + offset + "];\n";
    text += "mov.f32 %f0, 0f00000000;\n";
    addProducts(text, true);
    for (int distance = 8; distance; distance /= 2) {
      text += "mov.b32 %r14, %f0;\nshfl.sync.bfly.b32 %r15, %r14, " +
              std::to_string(distance) + ", 31, -1;\nmov.b32 %f1, %r15;\n" +
              "add.rn.f32 %f0, %f0, %f1;\n";
    }
    text += "mul.rn.f32 %f0, %f0, 0fBC800000;\nex2.approx.ftz.f32 %f0, %f0;\n";
    text += "ld.shared.v4.b32 {%x0, %x1, %x2, %x3}, [%r13+" +
            std::to_string(4096 + part * 512) + "];\n";
    addProducts(text, false);
  }
  text += R"(
  bar.sync 0;
  mov.u32 %r7, %r10;
  setp.lt.u32 %p1, %r7, %r0;
  @%p1 bra LOOP;
  mov.u32 %r16, %ntid.x;
  mov.u32 %r17, %ctaid.x;
  mad.lo.u32 %r16, %r16, %r17, %r1;
  mul.wide.u32 %d7, %r16, 32;
  add.u64 %d7, %d2, %d7;
  st.global.v4.f32 [%d7], {%o0, %o1, %o2, %o3};
  st.global.v4.f32 [%d7+16], {%o4, %o5, %o6, %o7};
  ret;
}
)";
  return text;
}

static double getSeconds() { return double(std::clock()) / CLOCKS_PER_SEC; }

int main(int argc, char **argv) {
  uint32_t count = argc > 1 ? uint32_t(std::atoi(argv[1])) : 256, blocks = 8;
  if (count == 0 || count > 65536) {
    std::fprintf(stderr, "usage: kvc-emulator-bench [tiles, 1 to 65536]\n");
    return 2;
  }
  Memory memory(uint64_t(8) << 30);
  std::string log;
  auto module = Module::load(makeKernel(), memory, log);
  if (!module) {
    std::fprintf(stderr, "%s\n", log.c_str());
    return 1;
  }
  const Kernel &kernel = *module->findKernel("decode");
  uint64_t bytes = uint64_t(count) * blocks * 4096;
  uint64_t keys = memory.allocate(bytes), values = memory.allocate(bytes);
  uint64_t out = memory.allocate(uint64_t(blocks) * 128 * 32);
  if (!keys || !values || !out) {
    std::fprintf(stderr, "no memory for the cache\n");
    return 1;
  }
  for (uint64_t address : {keys, values}) {
    std::memset(Memory::getBytes(address), 0x3C, bytes);
    memory.markWritten(address, bytes);
  }
  LaunchConfig config;
  config.grid = {blocks, 1, 1};
  config.block = {128, 1, 1};
  config.parameters.resize(kernel.parameterBytes);
  std::memcpy(config.parameters.data(), &keys, 8);
  std::memcpy(config.parameters.data() + 8, &values, 8);
  std::memcpy(config.parameters.data() + 16, &out, 8);
  std::memcpy(config.parameters.data() + 24, &count, 4);

  struct Mode {
    const char *name;
    bool check, count;
  };
  for (Mode mode : {Mode{"with checks and counters", true, true},
                    Mode{"with checks", true, false}, Mode{"with counters", false, true},
                    Mode{"without either", false, false}}) {
    LaunchOptions options;
    options.check = mode.check;
    options.count = mode.count;
    double best = 0;
    for (int i = 0; i < 5; ++i) {
      double start = getSeconds();
      LaunchResult result = launch(memory, kernel, config, options);
      double seconds = getSeconds() - start;
      if (!result.finished || result.numReports) {
        std::fprintf(stderr, "%s\n%s\n", result.error.c_str(),
                     result.reports.empty() ? "" : result.reports[0].print().c_str());
        return 1;
      }
      double rate = double(result.counters.getWarpInstructions()) / seconds;
      best = rate > best ? rate : best;
    }
    std::printf("%-26s %6.1f million warp instructions a second\n", mode.name,
                best / 1e6);
  }
  return 0;
}
