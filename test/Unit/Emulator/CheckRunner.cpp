//===- CheckRunner.cpp - small kernels and what they report ---------------===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "CheckRunner.h"

#include <cstring>
#include <sstream>

using namespace kvc::emu;

static constexpr const char *kPrologue = R"(.version 8.0
.target sm_90
.address_size 64
.shared .align 16 .b8 smem[8192];
.extern .shared .align 16 .b8 dynamic[];
.entry test(.param .u64 p_in, .param .u64 p_out)
{
  .reg .pred %p<16>;
  .reg .b16 %h<16>;
  .reg .b32 %r<32>, %t, %w, %l, %b, %s;
  .reg .f32 %f<16>;
  .reg .b64 %d<16>, %in, %out;
  ld.param.u64 %in, [p_in];
  ld.param.u64 %out, [p_out];
  mov.u32 %t, %tid.x;
  mov.u32 %b, %ctaid.x;
  mov.u32 %s, %ntid.x;
  mov.u32 %w, %tid.y;
  mad.lo.u32 %t, %s, %w, %t;
  mov.u32 %w, %ntid.y;
  mul.lo.u32 %s, %s, %w;
  mov.u32 %w, %tid.z;
  mad.lo.u32 %t, %s, %w, %t;
  shr.u32 %w, %t, 5;
  and.b32 %l, %t, 31;
  mov.u32 %s, smem;
  mad.lo.u32 %s, %t, 4, %s;
)";

CheckRunner::CheckRunner(const std::string &body)
    : text(kPrologue + body + "\n  ret;\n}\n") {
  std::istringstream lines(text);
  std::string line;
  for (uint32_t number = 1; std::getline(lines, line); ++number) {
    if (line.find("// !") != std::string::npos)
      marks.insert(number);
    if (line.find("// ?") != std::string::npos)
      seededMarks.insert(number);
  }
}

LaunchResult CheckRunner::run(const Mode &mode) {
  Memory memory(uint64_t(1) << 24);
  std::string log;
  std::unique_ptr<Module> module = Module::load(text, memory, log);
  EXPECT_TRUE(module) << log << "\n" << text;
  LaunchResult none;
  if (!module)
    return none;
  in = memory.allocate(kBytes);
  out = memory.allocate(kBytes);
  for (uint32_t i = 0; i < kBytes / 4; ++i)
    std::memcpy(Memory::getBytes(in + 4 * i), &i, 4);
  memory.markWritten(in, kBytes);
  const Kernel &kernel = *module->findKernel("test");
  LaunchConfig config;
  config.grid = grid;
  config.block = block;
  config.cluster = cluster;
  config.dynamicShared = dynamicShared;
  config.parameters.resize(kernel.parameterBytes);
  std::memcpy(config.parameters.data(), &in, 8);
  std::memcpy(config.parameters.data() + 8, &out, 8);
  LaunchOptions launchOptions = options;
  launchOptions.copies = mode.copies;
  launchOptions.seed = mode.seed;
  LaunchResult launched = launch(memory, kernel, config, launchOptions);
  result.resize(kBytes / 4);
  std::memcpy(result.data(), Memory::getBytes(out), kBytes);
  return launched;
}

static std::string printReports(const LaunchResult &launched) {
  std::string text = launched.error;
  for (const Report &report : launched.reports)
    text += "\n" + report.print();
  return text;
}

std::vector<uint32_t> CheckRunner::expectClean() {
  std::vector<uint32_t> first;
  for (const Mode &mode : kModes) {
    SCOPED_TRACE(mode.name);
    LaunchResult launched = run(mode);
    EXPECT_TRUE(launched.finished) << launched.error << "\n" << text;
    EXPECT_EQ(launched.numReports, 0u) << printReports(launched) << "\n" << text;
    if (first.empty())
      first = result;
    EXPECT_EQ(first, result) << text;
  }
  return first;
}

void CheckRunner::expectFault(const Fault &fault) {
  for (const Mode &mode : kModes) {
    SCOPED_TRACE(mode.name);
    LaunchResult launched = run(mode);
    if (launched.reports.empty()) {
      ADD_FAILURE() << "no report; " << launched.error << "\n" << text;
      continue;
    }
    const Report &report = launched.reports[0];
    SCOPED_TRACE(printReports(launched) + "\n" + text);
    EXPECT_STREQ(getName(report.kind), getName(fault.kind));
    EXPECT_EQ(report.kernel, "test");
    EXPECT_FALSE(report.message.empty());
    bool isMarked = marks.count(report.line) ||
                    (mode.seed && seededMarks.count(report.line));
    EXPECT_TRUE(isMarked) << "line " << report.line;
    if (mode.seed || !fault.isExact)
      continue;
    uint64_t base = fault.from == From::Shared ? kShared
                    : fault.from == From::In   ? in
                    : fault.from == From::Out  ? out
                                               : 0;
    EXPECT_EQ(report.block, fault.block);
    EXPECT_EQ(report.warp, fault.warp);
    EXPECT_EQ(report.lane, fault.lane);
    EXPECT_EQ(report.address, base + fault.offset);
  }
}

void CheckRunner::expectError(const std::string &words) {
  for (const Mode &mode : kModes) {
    SCOPED_TRACE(mode.name);
    LaunchResult launched = run(mode);
    EXPECT_FALSE(launched.finished);
    EXPECT_NE(launched.error.find(words), std::string::npos) << launched.error;
  }
}
