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

enum class AccessKind : uint8_t { Load, Store, Atomic };

/// An access of the lanes in `mask`, of `size` bytes each, a power of two.
struct Access {
  AccessKind kind = AccessKind::Load;
  /// Volatile, relaxed, acquire, release, or atomic: no race with another such.
  bool isStrong = false;
  uint32_t mask = 0;
  uint32_t size = 0;
  /// Bytes that matter, from bit 0 on; of others it is not asked whether they were
  /// written.
  uint32_t usedBytes = ~0u;
  uint64_t addresses[32];
};

/// Fills the addresses of an access: base row plus offset.
void fillAddresses(Access &access, const Warp &warp, Row base, bool isWide,
                   int64_t offset);

/// Where the bytes of each lane are. Returns the lanes that have any; the access
/// of the others was reported. `traffic` are counters, or null.
uint32_t resolve(Warp &warp, Space space, const Access &access,
                 uint8_t *pointers[32]);

/// Only where the bytes are: no look at order, no counting.
uint32_t locateGlobal(Warp &warp, const Access &access, uint8_t *pointers[32]);
uint32_t locateShared(Warp &warp, const Access &access, uint8_t *pointers[32]);

// Counting.
void countGlobal(GlobalTraffic &traffic, const Access &access);
/// An access of 4, 8 or 16 bytes takes one, two or four passes at least.
void countShared(SharedTraffic &traffic, const Access &access);

//===----------------------------------------------------------------------===//
// Order; see Races.cpp
//===----------------------------------------------------------------------===//

/// Looks at an access to global memory whose bytes exist.
void checkGlobalOrder(Warp &warp, const Access &access, uint32_t mask);
/// The same of shared memory, of one lane: also for bytes never written, and for
/// copies in flight.
void checkSharedOrder(Warp &warp, const Access &access, uint32_t mask);

/// Marks the destination of a copy as in flight, and as done.
void startSharedCopy(Warp &warp, uint32_t lane, uint32_t address, uint32_t size);
void finishSharedCopy(Warp &warp, uint32_t lane, uint32_t address, uint32_t size);

/// The lanes of a warp synchronise.
void synchroniseWarp(Warp &warp);
/// fence, membar.
void executeFence(Warp &warp);
/// A strong access acquires and releases what goes with its address.
void synchroniseByAddress(Warp &warp, Space space, uint64_t address, bool reads,
                          bool writes, bool acquires, bool releases);
void updateSyncedPhase(Warp &warp);

} // namespace kvc::emu

#endif // KVC_LIB_EMULATOR_ACCESS_H
