//===- PTXRunner.cpp - runs pieces of PTX ---------------------------------===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "PTXRunner.h"

#include <gtest/gtest.h>

#include <algorithm>

using namespace kvc::emu;
using namespace kvc::emu::test;

static std::set<std::string> seenOpcodes;

const std::set<std::string> &kvc::emu::test::getSeenOpcodes() { return seenOpcodes; }

/// Notes what stands at the start of each statement, behind labels and guards.
static void noteOpcodes(const std::string &text) {
  static const char *const kSpace = " \n\t";
  size_t at = 0;
  while (at < text.size()) {
    size_t end = std::min(text.find_first_of(";{}", at), text.size());
    std::string statement = text.substr(at, end - at);
    at = end + 1;
    if (size_t label = statement.find(": "); label != std::string::npos)
      statement = statement.substr(label + 1);
    size_t begin = statement.find_first_not_of(kSpace);
    if (begin != std::string::npos && statement[begin] == '@') {
      begin = statement.find_first_of(kSpace, begin);
      begin = statement.find_first_not_of(kSpace, begin);
    }
    if (begin == std::string::npos)
      continue;
    size_t stop = statement.find_first_of(". \n\t", begin);
    seenOpcodes.insert(statement.substr(begin, stop == std::string::npos
                                                   ? std::string::npos
                                                   : stop - begin));
  }
}

std::string kvc::emu::test::getHeader() {
  return ".version 8.6 .target sm_90a .address_size 64\n";
}

/// One for all: a memory reserves a wide range of addresses.
static Memory &getMemory() {
  static Memory memory;
  return memory;
}

std::string kvc::emu::test::load(const std::string &module) {
  std::string log;
  Module::load(module, getMemory(), log);
  return log;
}

//===----------------------------------------------------------------------===//
// One operation, many values
//===----------------------------------------------------------------------===//

/// What a lane's destinations hold before.
static constexpr uint64_t kBefore = 0xA5A5C3C396961234;

static const char *const kDestinations[] = {"%h0", "%r0", "%l0", "%p0"};

static uint64_t cutTo(unsigned destination, uint64_t value) {
  switch (destination) {
  case 0: return value & 0xFFFF;
  case 1: return value & 0xFFFFFFFF;
  case 2: return value;
  default: return value != 0;
  }
}

static bool names(const std::string &text, const std::string &name) {
  for (size_t at = 0; (at = text.find(name, at)) != std::string::npos; ++at)
    if (at + name.size() == text.size() || !std::isdigit(text[at + name.size()]))
      return true;
  return false;
}

static std::vector<unsigned> findDestinations(const std::string &text) {
  std::vector<unsigned> result;
  for (unsigned i = 0; i < 4; ++i)
    if (names(text, kDestinations[i]))
      result.push_back(i);
  return result;
}

static std::string makeEvaluation(const std::string &text, size_t numInputs) {
  std::string ptx = getHeader();
  ptx += ".visible .entry k(.param .u64 in, .param .u64 out, .param .u32 mask) {\n"
         ".reg .pred %p<16>; .reg .b16 %h<16>; .reg .b32 %r<16>; .reg .b64 %l<16>;\n"
         ".reg .pred %run; .reg .b32 %lane, %mask; .reg .b64 %in, %out, %step;\n"
         "ld.param.u64 %in, [in]; ld.param.u64 %out, [out];\n"
         "ld.param.u32 %mask, [mask]; mov.u32 %lane, %laneid;\n"
         "mul.wide.u32 %step, %lane, 64; add.u64 %in, %in, %step;\n"
         "add.u64 %out, %out, %step;\n";
  for (size_t i = 0; i <= numInputs; ++i) {
    std::string n = std::to_string(i);
    ptx += "ld.global.u64 %l" + n + ", [%in+" + std::to_string(i * 8) + "];\n";
    // What lies above 16 bits is the sign: it must not matter.
    ptx += "cvt.u32.u64 %r" + n + ", %l" + n + "; cvt.s16.s64 %h" + n + ", %l" + n +
           "; setp.ne.u64 %p" + n + ", %l" + n + ", 0;\n";
  }
  ptx += "shr.u32 %mask, %mask, %lane; and.b32 %mask, %mask, 1;\n"
         "setp.eq.u32 %run, %mask, 0; @%run bra DONE;\n{\n" +
         text + "\n}\nDONE:\n";
  ptx += "cvt.u64.u16 %step, %h0; st.global.u64 [%out], %step;\n"
         "cvt.u64.u32 %step, %r0; st.global.u64 [%out+8], %step;\n"
         "st.global.u64 [%out+16], %l0;\n"
         "selp.u64 %step, 1, 0, %p0; st.global.u64 [%out+24], %step;\nret;\n}\n";
  return ptx;
}

Outcome kvc::emu::test::evaluateRows(const std::string &text,
                                     const std::vector<std::vector<uint64_t>> &rows,
                                     uint32_t mask) {
  noteOpcodes(text);
  Outcome outcome;
  if (rows.empty())
    return outcome;
  Memory &memory = getMemory();
  std::string log;
  std::unique_ptr<Module> module =
      Module::load(makeEvaluation(text, rows[0].size()), memory, log);
  if (!module) {
    ADD_FAILURE() << text << ": " << log;
    return outcome;
  }
  constexpr size_t kLaneBytes = 64, kBytes = 32 * kLaneBytes;
  uint64_t in = memory.allocate(kBytes), out = memory.allocate(kBytes);
  memory.markWritten(in, kBytes);
  std::vector<unsigned> destinations = findDestinations(text);
  for (size_t first = 0; first < rows.size(); first += 32) {
    for (size_t lane = 0; lane < 32; ++lane) {
      uint64_t words[8] = {kBefore};
      const std::vector<uint64_t> &row = rows[(first + lane) % rows.size()];
      std::copy(row.begin(), row.end(), words + 1);
      std::memcpy(Memory::getBytes(in + lane * kLaneBytes), words, kLaneBytes);
    }
    LaunchConfig config;
    config.block = {32, 1, 1};
    config.parameters.resize(20);
    std::memcpy(config.parameters.data(), &in, 8);
    std::memcpy(config.parameters.data() + 8, &out, 8);
    std::memcpy(config.parameters.data() + 16, &mask, 4);
    LaunchResult result =
        launch(memory, *module->findKernel("k"), config, LaunchOptions());
    if (!result.finished)
      ADD_FAILURE() << text << ": " << result.error;
    outcome.reports.insert(outcome.reports.end(), result.reports.begin(),
                           result.reports.end());
    for (size_t lane = 0; lane < 32 && first + lane < std::max<size_t>(rows.size(), 32);
         ++lane) {
      std::vector<uint64_t> results;
      for (unsigned destination : destinations) {
        uint64_t value;
        std::memcpy(&value,
                    Memory::getBytes(out + lane * kLaneBytes + 8 * destination), 8);
        results.push_back(value);
      }
      outcome.results.push_back(std::move(results));
    }
  }
  memory.free(in);
  memory.free(out);
  return outcome;
}

std::vector<uint64_t> kvc::emu::test::evaluate(const std::string &text,
                                               const std::vector<uint64_t> &inputs) {
  std::vector<std::vector<uint64_t>> rows;
  for (uint64_t input : inputs)
    rows.push_back({input});
  Outcome outcome = evaluateRows(text, rows);
  std::vector<uint64_t> results;
  for (size_t i = 0; i < rows.size() && i < outcome.results.size(); ++i)
    results.push_back(outcome.results[i][0]);
  results.resize(inputs.size());
  return results;
}

static std::string print(const std::vector<uint64_t> &values) {
  std::string text;
  for (uint64_t value : values) {
    char buffer[32];
    std::snprintf(buffer, sizeof(buffer), " 0x%llx", (unsigned long long)value);
    text += buffer;
  }
  return text;
}

void kvc::emu::test::expectValues(const std::string &text,
                                  const std::vector<Values> &rows) {
  std::vector<std::vector<uint64_t>> inputs;
  for (const Values &row : rows)
    inputs.push_back(row.inputs);
  std::vector<unsigned> destinations = findDestinations(text);
  if (rows.size() % 2 == 0) // so that each row meets odd and even lanes
    inputs.push_back(rows[0].inputs);
  for (uint32_t mask : {~0u, 0xAAAAAAAAu, 0x55555555u}) {
    Outcome outcome = evaluateRows(text, inputs, mask);
    for (const Report &report : outcome.reports)
      ADD_FAILURE() << text << ": " << report.print();
    for (size_t i = 0; i < outcome.results.size(); ++i) {
      size_t row = i % inputs.size() % rows.size();
      bool isActive = mask >> (i % 32) & 1;
      for (size_t k = 0; k < destinations.size(); ++k) {
        uint64_t expected = cutTo(destinations[k], isActive ? rows[row].results.at(k)
                                                            : kBefore);
        EXPECT_EQ(print({outcome.results[i][k]}), print({expected}))
            << text << " of" << print(rows[row].inputs) << ", lane " << i % 32
            << (isActive ? "" : ", which is inactive");
      }
    }
    if (::testing::Test::HasFailure())
      return; // once is enough
  }
}

void kvc::emu::test::expectRefused(const std::string &text, const std::string &words) {
  std::string log = load(makeEvaluation(text, 0));
  EXPECT_NE(log, "") << text;
  EXPECT_NE(log.find(words), std::string::npos)
      << text << ": " << log << "\nwithout: " << words;
}

//===----------------------------------------------------------------------===//
// Kernels and modules
//===----------------------------------------------------------------------===//

std::string kvc::emu::test::makeKernel(const std::string &body,
                                       const std::string &globals) {
  noteOpcodes(body);
  return getHeader() + globals +
         "\n.visible .entry k(.param .u64 out, .param .u64 in) {\n"
         ".reg .pred %p<32>; .reg .b16 %h<32>; .reg .b32 %r<64>; .reg .b64 %l<32>;\n"
         ".reg .b64 %out, %in, %mine; .reg .b32 %t;\n"
         "ld.param.u64 %out, [out]; ld.param.u64 %in, [in]; mov.u32 %t, %tid.x;\n"
         "mul.wide.u32 %mine, %t, 4; add.u64 %mine, %mine, %out;\n" +
         body + "\nret;\n}\n";
}

const Launched &Launched::expectClean() const {
  EXPECT_EQ(log, "");
  EXPECT_TRUE(result.finished) << result.error;
  for (const Report &report : result.reports)
    ADD_FAILURE() << report.print();
  return *this;
}

bool Launched::hasReport(ReportKind kind) const {
  for (const Report &report : result.reports)
    if (report.kind == kind)
      return true;
  return false;
}

Launched kvc::emu::test::run(const std::string &module, size_t numWords,
                             const std::vector<uint32_t> &in, Dim3 block, Dim3 grid,
                             const LaunchOptions &options, uint32_t dynamicShared) {
  Launched launched;
  Memory &memory = getMemory();
  std::unique_ptr<Module> loaded = Module::load(module, memory, launched.log);
  launched.words.assign(numWords, 0);
  if (!loaded) {
    ADD_FAILURE() << launched.log;
    return launched;
  }
  const Kernel *kernel = loaded->findKernel("k");
  uint64_t output = memory.allocate(4 * numWords);
  uint64_t input = memory.allocate(std::max<size_t>(4 * in.size(), 4));
  std::memset(Memory::getBytes(output), 0xEE, 4 * numWords);
  memory.markWritten(output, 4 * numWords);
  if (!in.empty())
    std::memcpy(Memory::getBytes(input), in.data(), 4 * in.size());
  memory.markWritten(input, 4 * in.size());
  LaunchConfig config;
  config.grid = grid;
  config.block = block;
  config.dynamicShared = dynamicShared;
  config.parameters.resize(16);
  std::memcpy(config.parameters.data(), &output, 8);
  std::memcpy(config.parameters.data() + 8, &input, 8);
  config.parameters.resize(kernel->parameterBytes);
  launched.result = launch(memory, *kernel, config, options);
  std::memcpy(launched.words.data(), Memory::getBytes(output), 4 * numWords);
  memory.free(output);
  memory.free(input);
  return launched;
}
