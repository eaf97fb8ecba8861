//===- Run.h - launches of a kernel -----------------------------*- C++ -*-===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef KVC_TOOLS_KVC_EMU_RUN_H
#define KVC_TOOLS_KVC_EMU_RUN_H

#include "Options.h"

namespace kvcemu {

/// What a launch left behind.
struct Run {
  Policy policy;
  kvc::emu::LaunchResult result;
  std::vector<std::vector<char>> arrays; ///< Bytes of each.
};

/// A kernel with all that it is launched with.
struct Job {
  std::string_view text; ///< PTX.
  std::string file;      ///< Its name, for messages.
  const Options *options = nullptr;
  std::vector<Array> arrays;
  std::vector<Argument> arguments;
};

/// Launches the kernel under each policy, in memory of its own. Returns nothing
/// after a message if the PTX or the arguments are wrong.
std::optional<std::vector<Run>> run(const Job &job);

/// Loads the PTX; null after a message.
std::unique_ptr<kvc::emu::Module> loadModule(std::string_view text,
                                             llvm::StringRef file,
                                             kvc::emu::Memory &memory);

} // namespace kvcemu

#endif // KVC_TOOLS_KVC_EMU_RUN_H
