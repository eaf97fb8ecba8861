//===- Occupancy.h - how many blocks a processor holds ----------*- C++ -*-===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef KVC_LIB_EMULATOR_DRIVER_OCCUPANCY_H
#define KVC_LIB_EMULATOR_DRIVER_OCCUPANCY_H

#include "Driver.h"

namespace kvc::emu::cuda {

/// Registers a thread. An estimate: ptxas decides on a device.
uint32_t getRegisters(const Kernel &kernel);

/// Blocks of `threads` threads that one processor holds; 0 if not even one.
uint32_t getResidentBlocks(const Function &function, uint32_t threads,
                           uint64_t dynamicShared);

} // namespace kvc::emu::cuda

#endif // KVC_LIB_EMULATOR_DRIVER_OCCUPANCY_H
