//===- Options.h - the command line of kvc-emu ------------------*- C++ -*-===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef KVC_TOOLS_KVC_EMU_OPTIONS_H
#define KVC_TOOLS_KVC_EMU_OPTIONS_H

#include "Arguments.h"

#include "kvc/Emulator/Emulator.h"

#include <optional>
#include <string>
#include <vector>

namespace kvcemu {

/// Prints an error message of this tool.
void reportError(const llvm::Twine &message);

/// A launch under one choice of what a device leaves open.
struct Policy {
  std::string name; ///< "random, seed 1"
  kvc::emu::CopyPolicy copies;
  uint64_t seed;
};

/// "--save=name=file" and the like.
struct NamedText {
  std::string name, text;
};

struct Options {
  std::string input, output, entry; ///< No entry: the only one.
  bool listsKernels = false, listsInstructions = false;
  kvc::emu::LaunchConfig config; ///< Without parameters.
  std::vector<std::string> arguments, arrays;
  std::vector<Policy> policies;
  kvc::emu::LaunchOptions launch;
  std::vector<NamedText> saves, expectations;
  std::vector<std::string> prints;
  Tolerance tolerance;
  bool json = false, quiet = false;
  unsigned profileLines = 0;
};

/// Reads the command line. Prints what is wrong with it and returns nothing.
std::optional<Options> parseOptions(int argc, char **argv);

} // namespace kvcemu

#endif // KVC_TOOLS_KVC_EMU_OPTIONS_H
