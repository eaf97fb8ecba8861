//===- Cluster.h - what the blocks of a cluster do together -----*- C++ -*-===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef KVC_LIB_EMULATOR_CLUSTER_H
#define KVC_LIB_EMULATOR_CLUSTER_H

#include "Access.h"
#include "Decoder.h"

namespace kvc::emu {

//===----------------------------------------------------------------------===//
// The barrier; see ClusterBarrier.cpp
//===----------------------------------------------------------------------===//

/// barrier.cluster.arrive and .wait.
void decodeClusterBarrier(Decoder &decoder);

/// A warp has ended: the barrier does not wait for it.
void leaveClusterBarrier(Warp &warp);

//===----------------------------------------------------------------------===//
// Shared memory of other blocks; see ClusterMemory.cpp
//===----------------------------------------------------------------------===//

/// An address of .shared::cluster is that of a block's own shared memory, or has
/// the rank of another block, plus one, above these bits.
inline constexpr unsigned kRankShift = 24;
inline constexpr uint64_t kRankMask = ~uint64_t(0) << kRankShift;

/// The block that an address of .shared::cluster is in, and the address there; null
/// if there is no such block. The address has no bits of kRankMask.
Block *findOwner(const Block &block, uint64_t &address);

/// As `resolve`, for .shared::cluster.
uint32_t resolveCluster(Warp &warp, const Access &access, uint8_t *pointers[32]);

//===----------------------------------------------------------------------===//
// Races; see ClusterRaces.cpp
//===----------------------------------------------------------------------===//

/// Looks at a read of the shared memory of another block: for races, bytes never
/// written, and copies in flight.
void checkRemoteRead(Warp &warp, Block &owner, const Access &access, uint32_t mask);

/// Looks at a write to the block's own shared memory, for reads by other blocks.
void checkRemoteReaders(Warp &warp, const Access &access, uint32_t mask);

/// Drops the reads that all warps of the block know to be done.
void forgetRemoteReads(Block &block);

/// The block has ended: reports reads that may come later.
void checkRemoteReadsAtEnd(Block &block);

} // namespace kvc::emu

#endif // KVC_LIB_EMULATOR_CLUSTER_H
