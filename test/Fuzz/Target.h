//===- Target.h - what the fuzzer does with a text ----------------*- C++ -*-===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef KVC_TEST_FUZZ_TARGET_H
#define KVC_TEST_FUZZ_TARGET_H

#include "Random.h"

#include "kvc/Emulator/Emulator.h"

#include <memory>
#include <string>
#include <string_view>

namespace kvcfuzz {

/// Counts of what came of the texts.
struct Outcome {
  uint64_t loaded = 0, refused = 0;
  uint64_t launches = 0, finished = 0, reported = 0;
};

/// Loads texts, and launches the kernels of those that load, with parameters and
/// options by chance. What must hold for every text is checked.
class Target {
public:
  Target();
  /// Ends the process if something is wrong that no sanitizer sees.
  void run(std::string_view text, Random &random);
  const Outcome &getOutcome() const { return outcome; }

private:
  void launch(const kvc::emu::Kernel &kernel, Random &random);
  std::vector<uint8_t> makeParameters(const kvc::emu::Kernel &kernel, Random &random);
  uint64_t makeAddress(Random &random);

  kvc::emu::Memory memory;
  std::vector<uint64_t> buffers; ///< Addresses; of kBufferBytes each.
  Outcome outcome;
};

} // namespace kvcfuzz

#endif // KVC_TEST_FUZZ_TARGET_H
