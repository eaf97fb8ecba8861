//===- ClusterBarrier.cpp - the barrier of a cluster ----------------------===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A warp arrives, then waits until all warps of the cluster have; those that have
// ended count as arrived. What a warp did before it arrived is in order before what
// another one does after it waited, unless it arrived with .relaxed: then only what
// it did before its last fence is.
//===----------------------------------------------------------------------===//
#include "Cluster.h"

#include <algorithm>

using namespace kvc::emu;

/// Ins::flags of barrier.cluster.arrive.relaxed.
static constexpr uint8_t kRelaxed = 1;

[[noreturn]] static void abortWith(Warp &warp, uint32_t mask,
                                   const std::string &message) {
  warp.launch->report(warp, ReportKind::Barrier, uint32_t(__builtin_ctz(mask)), 0,
                      message);
  warp.launch->abort();
}

//===----------------------------------------------------------------------===//
// Waiting
//===----------------------------------------------------------------------===//

/// The barrier is complete for `warp`, which goes on.
static void finishWait(Warp &warp) {
  ++warp.clusterWaits;
  if (!warp.launch->options.check)
    return;
  const ClusterBarrier::Knowledge &known = warp.block->cluster->barrier.complete;
  acquire(warp, known.clock);
  join(warp.acquired, known.acquired);
  if (!known.released.empty()) {
    ForeignClock released = known.released;
    if (warp.released)
      join(released, *warp.released);
    warp.released = std::make_shared<const ForeignClock>(std::move(released));
  }
  Block &block = *warp.block;
  if (block.remoteReads.empty())
    return;
  bool isLast = std::all_of(block.warps.begin(), block.warps.end(), [](Warp &other) {
    return !other.live || other.clusterWaits == other.block->cluster->barrier.phase;
  });
  if (isLast)
    forgetRemoteReads(block);
}

/// Lets the warps that wait go on if all have arrived.
static void tryComplete(Cluster &cluster) {
  ClusterBarrier &barrier = cluster.barrier;
  uint32_t numLive = 0, numBlocks = 0;
  for (const std::unique_ptr<Block> &block : cluster.blocks) {
    numLive += block->numLive;
    numBlocks += block->numLive != 0;
  }
  if (!barrier.numArrived || barrier.numArrived != numLive)
    return;
  ++barrier.phase;
  barrier.numArrived = 0;
  barrier.complete = std::move(barrier.arriving);
  barrier.arriving = ClusterBarrier::Knowledge();
  cluster.launch->result.counters.barriers += numBlocks;
  if (cluster.launch->options.check) {
    // A warp that ends arrives for good, unless it did what followed an arrival.
    ForeignClock ended;
    for (const std::unique_ptr<Block> &block : cluster.blocks)
      for (const Warp &warp : block->warps)
        if (!warp.live && warp.clusterArrivals != barrier.phase)
          ended.emplace_back(warp.number, warp.phase + 1);
    std::sort(ended.begin(), ended.end());
    join(barrier.complete.clock, ended);
  }
  for (const std::unique_ptr<Block> &block : cluster.blocks) {
    for (Warp &warp : block->warps) {
      if (warp.barrier != kClusterBarrier)
        continue;
      warp.barrier = -1;
      finishWait(warp);
    }
  }
}

static void executeWait(Warp &warp, const Ins &ins, uint32_t mask) {
  if (warp.clusterArrivals == warp.clusterWaits)
    abortWith(warp, mask, "warp waits at the barrier of the cluster without having "
                          "arrived");
  if (warp.block->cluster->barrier.phase >= warp.clusterArrivals)
    return finishWait(warp);
  warp.barrier = kClusterBarrier;
  warp.barrierIns = &ins;
  warp.barrierMask = mask;
}

//===----------------------------------------------------------------------===//
// Arriving
//===----------------------------------------------------------------------===//

static void executeArrive(Warp &warp, const Ins &ins, uint32_t mask) {
  if (warp.clusterArrivals != warp.clusterWaits)
    abortWith(warp, mask, "warp arrives at the barrier of the cluster again, before "
                          "it has waited");
  Cluster &cluster = *warp.block->cluster;
  ++warp.clusterArrivals;
  ++cluster.barrier.numArrived;
  if (warp.launch->options.check) {
    ClusterBarrier::Knowledge &known = cluster.barrier.arriving;
    if (!(ins.flags & kRelaxed)) {
      ++warp.phase;
      updateSyncedPhase(warp);
      join(known.clock, getForeignClock(warp));
      join(known.acquired, warp.acquired);
    }
    // What was released by a fence, fences and atomics after the wait release too.
    if (warp.released) {
      join(known.clock, *warp.released);
      join(known.released, *warp.released);
    }
  }
  tryComplete(cluster);
}

void kvc::emu::leaveClusterBarrier(Warp &warp) {
  ClusterBarrier &barrier = warp.block->cluster->barrier;
  if (warp.clusterArrivals > barrier.phase)
    --barrier.numArrived;
  tryComplete(*warp.block->cluster);
}

//===----------------------------------------------------------------------===//
// Decoding
//===----------------------------------------------------------------------===//

/// barrier.cluster.arrive{.release,.relaxed}, .wait{.acquire}; .aligned is taken.
void kvc::emu::decodeClusterBarrier(Decoder &decoder) {
  int what = decoder.takeOneOf({"arrive", "wait"});
  if (what < 0 || decoder.get().opcode != "barrier")
    decoder.fail("expected 'barrier.cluster.arrive' or 'barrier.cluster.wait'");
  decoder.expectOperands(0);
  bool isRelaxed = what == 0 && decoder.takeOneOf({"release", "relaxed"}) == 1;
  if (what == 1)
    decoder.take("acquire");
  Ins &ins = decoder.emit(what == 0 ? executeArrive : executeWait,
                          InstructionClass::Barrier, Kind::ClusterBarrier);
  ins.flags = isRelaxed ? kRelaxed : 0;
}
