//===- Options.h - options of launches, as text -----------------*- C++ -*-===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef KVC_LIB_EMULATOR_DRIVER_OPTIONS_H
#define KVC_LIB_EMULATOR_DRIVER_OPTIONS_H

#include "kvc/Emulator/Emulator.h"

#include <string>
#include <string_view>

namespace kvc::emu::cuda {

struct Driver;

struct Options {
  LaunchOptions launch;
  uint32_t processors = kNumProcessors; ///< That the device says it has.
  std::string countersFile; ///< Gets a line of JSON per launch.
};

/// Reads "name=value,..." over `options`; kvc-emulator/driver.h lists the
/// names. Returns false and the reason in `message`, with `options` unchanged,
/// if there is anything else.
bool parseOptions(std::string_view text, Options &options,
                  std::string &message);

/// Reads the options of the environment, then those set by the program. Prints
/// what is wrong with the former and returns false.
bool readOptions(const Driver &driver, Options &options);

} // namespace kvc::emu::cuda

#endif // KVC_LIB_EMULATOR_DRIVER_OPTIONS_H
