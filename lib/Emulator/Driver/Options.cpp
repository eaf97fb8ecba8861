//===- Options.cpp - options of launches, as text -------------------------===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Options.h"

#include "Driver.h"

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <cstdlib>

using namespace kvc::emu;
using namespace kvc::emu::cuda;

namespace {
/// An option that is being read.
class Reader {
public:
  Reader(std::string_view name, std::string_view value, std::string &message)
      : name(name), value(value), message(message) {}

  bool readNumber(uint64_t &number, uint64_t largest) {
    const char *end = value.data() + value.size();
    auto [stop, error] = std::from_chars(value.data(), end, number);
    if (error == std::errc() && stop == end && number <= largest)
      return true;
    return fail("a number up to " + std::to_string(largest));
  }
  bool read(uint64_t &number) { return readNumber(number, UINT64_MAX); }
  bool read(uint32_t &number) {
    uint64_t wide = 0;
    if (!readNumber(wide, UINT32_MAX))
      return false;
    number = uint32_t(wide);
    return true;
  }
  bool read(bool &flag) {
    if (value != "0" && value != "1")
      return fail("0 or 1");
    flag = value == "1";
    return true;
  }
  bool read(std::string &text) {
    if (value.empty())
      return fail("a path");
    text = value;
    return true;
  }
  bool read(CopyPolicy &policy) {
    if (value == "lazy")
      policy = CopyPolicy::Lazy;
    else if (value == "eager")
      policy = CopyPolicy::Eager;
    else if (value == "random")
      policy = CopyPolicy::Random;
    else
      return fail("lazy, eager or random");
    return true;
  }
  bool read(MatrixArithmetic &arithmetic) {
    if (value == "h100")
      arithmetic = MatrixArithmetic::H100;
    else if (value == "f32")
      arithmetic = MatrixArithmetic::F32;
    else if (value == "f64")
      arithmetic = MatrixArithmetic::F64;
    else
      return fail("h100, f32 or f64");
    return true;
  }

private:
  bool fail(const std::string &expected) {
    message = "expected " + expected + " for '" + std::string(name) +
              "', got '" + std::string(value) + "'";
    return false;
  }

  std::string_view name, value;
  std::string &message;
};
} // namespace

static bool parseOption(std::string_view text, Options &options,
                        std::string &message) {
  size_t equals = text.find('=');
  std::string_view name = text.substr(0, equals);
  if (equals == std::string_view::npos) {
    message = "expected name=value, got '" + std::string(text) + "'";
    return false;
  }
  Reader reader(name, text.substr(equals + 1), message);
  LaunchOptions &launch = options.launch;
  if (name == "copies")
    return reader.read(launch.copies);
  if (name == "matrix")
    return reader.read(launch.matrix);
  if (name == "seed")
    return reader.read(launch.seed);
  if (name == "check")
    return reader.read(launch.check);
  if (name == "count")
    return reader.read(launch.count);
  if (name == "shift")
    return reader.read(launch.sharedShift);
  if (name == "max-reports")
    return reader.read(launch.maxReports);
  if (name == "max-instructions")
    return reader.read(launch.maxInstructions);
  if (name == "resident")
    return reader.read(launch.residentBlocks);
  if (name == "processors") {
    uint64_t processors = 0;
    if (!reader.readNumber(processors, kNumProcessors))
      return false;
    options.processors = std::max(uint32_t(processors), 1u);
    return true;
  }
  if (name == "omit")
    return reader.read(launch.omittedLine);
  if (name == "counters")
    return reader.read(options.countersFile);
  message = "expected copies, matrix, seed, check, count, shift, max-reports, "
            "max-instructions, resident, processors, omit or counters, got '" +
            std::string(name) + "'";
  return false;
}

bool cuda::parseOptions(std::string_view text, Options &options,
                        std::string &message) {
  Options read = options;
  while (!text.empty()) {
    size_t comma = text.find(',');
    if (!parseOption(text.substr(0, comma), read, message))
      return false;
    if (comma == std::string_view::npos)
      break;
    text.remove_prefix(comma + 1);
  }
  options = read;
  return true;
}

bool cuda::readOptions(const Driver &driver, Options &options) {
  std::string message;
  const char *environment = std::getenv("KVC_EMULATOR");
  if (environment && !parseOptions(environment, options, message)) {
    std::fprintf(stderr, "kvc emulator: error: KVC_EMULATOR: %s\n",
                 message.c_str());
    return false;
  }
  return parseOptions(driver.options, options, message);
}
