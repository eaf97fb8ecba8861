//===- MemoryFlags.h - attributes of memory instructions --------*- C++ -*-===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef KVC_LIB_EMULATOR_MEMORYFLAGS_H
#define KVC_LIB_EMULATOR_MEMORYFLAGS_H

#include "Decoder.h"

namespace kvc::emu {

/// Bits of Ins::flags beside kWideAddress.
inline constexpr uint8_t kWideData = 2; ///< Rows of data are of 64 bits.

/// Bits of Ins::target of instructions that access memory; the space is above.
enum : uint32_t { kStrong = 1, kAcquire = 2, kRelease = 4 };
inline constexpr unsigned kSpaceShift = 8;
inline uint32_t makeSpaceFlags(Space space) { return uint32_t(space) << kSpaceShift; }
inline Space getSpace(uint32_t flags) { return Space(flags >> kSpaceShift); }

/// Takes the state space of an instruction; Generic if there is none.
Space takeSpace(Decoder &decoder);
/// Takes .relaxed, .acquire, ..., and the scope, which is not looked at.
uint32_t takeMemoryOrder(Decoder &decoder);
/// Takes hints for caches, which mean nothing here.
void takeCacheHints(Decoder &decoder);
InstructionClass getUnit(Space space);

} // namespace kvc::emu

#endif // KVC_LIB_EMULATOR_MEMORYFLAGS_H
