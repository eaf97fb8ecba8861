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

/// Runs the blocks of a cluster in turns, and their warps, until all have ended
/// (true), or about `budget` instructions were executed. Throws LaunchAborted after
/// a report of why they cannot go on.
bool runCluster(Cluster &cluster, uint64_t budget);

} // namespace kvc::emu

#endif // KVC_LIB_EMULATOR_SCHEDULER_H
