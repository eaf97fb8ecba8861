//===- Target.cpp - what the fuzzer does with a text ------------------------===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Target.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>

using namespace kvcfuzz;
using namespace kvc::emu;

static constexpr uint64_t kMemoryBytes = uint64_t(256) << 20;
static constexpr uint64_t kBufferBytes = 16384;
static constexpr size_t kMaxKernels = 4;

[[noreturn]] static void fail(const char *what, const std::string &text) {
  std::fprintf(stderr, "kvc-emulator-fuzz: error: %s: '%s'\n", what, text.c_str());
  std::abort();
}

/// A message is one line that a terminal can show, and not too long for it.
static void checkMessage(const char *what, const std::string &text) {
  if (text.empty() || text.size() > 4096)
    fail(what, text.substr(0, 4096));
  for (char c : text)
    if (c < 32 || c > 126)
      fail(what, text);
}

Target::Target() : memory(kMemoryBytes) {
  for (int i = 0; i < 4; ++i)
    buffers.push_back(memory.allocate(kBufferBytes));
}

void Target::run(std::string_view text, Random &random) {
  std::string log;
  std::unique_ptr<Module> module = Module::load(text, memory, log);
  if (!module) {
    ++outcome.refused;
    checkMessage("expected a message of one line", log);
    unsigned line = 0, column = 0;
    if (std::sscanf(log.c_str(), "%u:%u: error: ", &line, &column) != 2 || !line ||
        line > size_t(std::count(text.begin(), text.end(), '\n')) + 1)
      fail("expected 'line:column: error: ...' with a line of the text", log);
    return;
  }
  ++outcome.loaded;
  size_t count = 0;
  for (const Kernel &kernel : module->getKernels())
    if (count++ < kMaxKernels)
      launch(kernel, random);
}

/// Mostly where there is something.
uint64_t Target::makeAddress(Random &random) {
  switch (random.below(12)) {
  case 0: return 0;
  case 1: return random.next();
  case 2: return random.pick(buffers) + random.below(2 * kBufferBytes);
  case 3: return (uint64_t(0xE1) + random.below(3)) << 56 | random.below(4096);
  default: return random.pick(buffers) + 16 * random.below(16);
  }
}

std::vector<uint8_t> Target::makeParameters(const Kernel &kernel, Random &random) {
  std::vector<uint8_t> bytes(kernel.parameterBytes);
  for (uint8_t &byte : bytes)
    byte = uint8_t(random.next());
  for (const Parameter &parameter : kernel.parameters) {
    uint64_t value = random.oneIn(8) ? random.next() : random.below(40);
    if (parameter.size == 8)
      value = makeAddress(random);
    if (parameter.size <= 8)
      std::memcpy(bytes.data() + parameter.offset, &value, parameter.size);
  }
  return bytes;
}

void Target::launch(const Kernel &kernel, Random &random) {
  // Some are written, one never was.
  for (size_t i = 0; i + 1 < buffers.size(); ++i) {
    uint8_t *bytes = Memory::getBytes(buffers[i]);
    for (uint64_t k = 0; k < kBufferBytes; k += 64)
      bytes[k] = uint8_t(random.next());
    memory.markWritten(buffers[i], kBufferBytes);
  }
  LaunchConfig config;
  static constexpr Dim3 kGrids[] = {{1, 1, 1}, {1, 1, 1}, {2, 1, 1}, {3, 2, 1},
                                    {1, 1, 2}, {0, 1, 1}};
  static constexpr Dim3 kBlocks[] = {{1, 1, 1},  {32, 1, 1}, {64, 1, 1}, {33, 1, 1},
                                     {4, 3, 2},  {96, 1, 1}, {8, 8, 1},  {128, 1, 1},
                                     {1024, 1, 1}, {2048, 1, 1}};
  static constexpr uint32_t kShared[] = {0, 0, 64, 1024, 16384, 232448, 1 << 20};
  static constexpr Dim3 kClusters[] = {{2, 1, 1}, {3, 1, 1}, {3, 2, 1}, {1, 1, 2},
                                       {8, 1, 1}, {0, 1, 1}};
  config.grid = random.pick(kGrids);
  if (random.oneIn(3))
    config.cluster = random.oneIn(3) ? random.pick(kClusters) : config.grid;
  config.block = kBlocks[random.below(random.oneIn(4) ? 10 : 8)];
  config.dynamicShared = kShared[random.below(random.oneIn(8) ? 7 : 5)];
  config.parameters = makeParameters(kernel, random);
  if (random.oneIn(64))
    config.parameters.resize(random.below(64));

  LaunchOptions options;
  options.copies = CopyPolicy(random.below(3));
  options.matrix = MatrixArithmetic(random.below(3));
  options.seed = random.oneIn(2) ? 0 : random.next();
  options.check = !random.oneIn(5);
  options.count = !random.oneIn(5);
  options.maxInstructions = 20000;
  options.maxReports = uint32_t(random.oneIn(8) ? 0 : 1 + random.below(16));
  options.residentBlocks = uint32_t(random.below(4));
  options.sharedShift = uint32_t(random.oneIn(4) ? 128 * random.below(4) : 0);
  LaunchResult result = kvc::emu::launch(memory, kernel, config, options);

  ++outcome.launches;
  outcome.finished += result.finished;
  outcome.reported += result.numReports > 0;
  if (result.finished != result.error.empty())
    fail("expected an error of a launch that did not finish, and no other",
         result.error);
  if (!result.finished)
    checkMessage("expected an error of one line", result.error);
  if (result.reports.size() > options.maxReports ||
      result.reports.size() > result.numReports)
    fail("expected no more reports than asked for", "");
  for (const Report &report : result.reports)
    checkMessage("expected a report of one line", report.print());
  if (result.counters.print().empty() || result.counters.toJSON().empty())
    fail("expected counters", "");
}
