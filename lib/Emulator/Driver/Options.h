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

struct Options {
  LaunchOptions launch;
  std::string countersFile; ///< Gets a line of JSON per launch.
};

/// Reads "name=value,..." over `options`; kvc-emulator/driver.h lists the
/// names. Returns false and the reason in `message`, with `options` unchanged,
/// if there is anything else.
bool parseOptions(std::string_view text, Options &options,
                  std::string &message);

} // namespace kvc::emu::cuda

#endif // KVC_LIB_EMULATOR_DRIVER_OPTIONS_H
