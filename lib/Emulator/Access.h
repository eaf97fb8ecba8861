//===- Access.h - accesses of a warp to memory ------------------*- C++ -*-===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Every access goes through `resolve`, which says for each lane where its bytes
// are, or reports why there are none, looks for races and uninitialised bytes,
// and counts.
//===----------------------------------------------------------------------===//
#ifndef KVC_LIB_EMULATOR_ACCESS_H
#define KVC_LIB_EMULATOR_ACCESS_H

#include "Machine.h"

namespace kvc::emu {

/// Fills the addresses of an access, whose other fields are set: base row plus
/// offset.
void fillAddresses(Access &access, const Warp &warp, Row base, bool isWide,
                   int64_t offset);

/// Where the bytes of each lane are. Returns the lanes that have any; the access
/// of the others was reported. `traffic` are counters, or null.
uint32_t resolve(Warp &warp, Space space, const Access &access,
                 uint8_t *pointers[32]);

/// Only where the bytes are: no look at order, no counting.
uint32_t locateGlobal(Warp &warp, const Access &access, uint8_t *pointers[32]);
/// In the shared memory of `block`.
uint32_t locateShared(Warp &warp, Block &block, const Access &access,
                      uint8_t *pointers[32]);

// Counting.
void countGlobal(GlobalTraffic &traffic, const Access &access);
/// An access of 4, 8 or 16 bytes takes one, two or four passes at least.
void countShared(SharedTraffic &traffic, const Access &access);

//===----------------------------------------------------------------------===//
// Races; see Order.cpp
//===----------------------------------------------------------------------===//

/// Looks at an access to global memory whose bytes exist: for races, bytes never
/// written, and copies in flight.
void checkGlobalOrder(Warp &warp, const Access &access, uint32_t mask);
/// The same of shared memory.
void checkSharedOrder(Warp &warp, const Access &access, uint32_t mask);

/// A copy reads its source, and writes its destination, at any time between.
void startGlobalCopy(Warp &warp, const Access &source, uint32_t mask);
void finishGlobalCopy(Warp &warp, const Access &source, uint32_t mask);
void startSharedCopy(Warp &warp, const Access &destination, uint32_t mask);
void finishSharedCopy(Warp &warp, const Access &destination, uint32_t mask);

//===----------------------------------------------------------------------===//
// Order; see Order.cpp
//===----------------------------------------------------------------------===//

/// The lanes of a warp synchronise.
void synchroniseWarp(Warp &warp);
/// fence, membar.
void executeFence(Warp &warp);
/// A strong access acquires and releases what goes with its address.
void synchroniseByAddress(Warp &warp, Space space, uint64_t address, bool reads,
                          bool writes, bool acquires, bool releases);
void updateSyncedPhase(Warp &warp);
/// The clock of a warp as warps of other blocks see it.
ForeignClock getForeignClock(const Warp &warp);
/// Joins such a clock to that of a warp, some of whose entries may be of its block.
/// What the warp did before is in order before what it does then, of every lane.
void acquire(Warp &warp, const ForeignClock &clock);
/// Whether accesses of a warp of the launch at `phase` are done before those that
/// `warp` makes now.
bool isOrdered(const Warp &warp, uint32_t other, uint32_t phase);

} // namespace kvc::emu

#endif // KVC_LIB_EMULATOR_ACCESS_H
