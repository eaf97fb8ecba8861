//===- Scheduler.h - which lanes run next -----------------------*- C++ -*-===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef KVC_LIB_EMULATOR_SCHEDULER_H
#define KVC_LIB_EMULATOR_SCHEDULER_H

#include "Machine.h"

namespace kvc::emu {

/// Runs the warps of a block in turns until it ends (true), or has executed about
/// `budget` instructions. Throws LaunchAborted after a report of why it cannot go
/// on.
bool runBlock(Block &block, uint64_t budget);

} // namespace kvc::emu

#endif // KVC_LIB_EMULATOR_SCHEDULER_H
