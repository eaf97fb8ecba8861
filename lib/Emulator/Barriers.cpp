//===- Barriers.cpp - barriers of a block ---------------------------------===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Barriers.h"

#include "Access.h"
#include "Lanes.h"

#include <algorithm>

using namespace kvc::emu;

/// Takes what the warps of a barrier know to those that wait.
static void synchroniseClocks(Block &block, const BlockBarrier &barrier) {
  // What a warp released or saw before the barrier, the fences and atomics of
  // another one after it release or acquire as well.
  ReleasedClock released;
  ForeignClock acquired;
  for (const Warp &warp : block.warps) {
    if (!(barrier.arrived >> warp.index & 1))
      continue;
    join(acquired, warp.acquired);
    if (!warp.released || warp.released == released)
      continue;
    if (released) {
      ForeignClock joined = *released;
      join(joined, *warp.released);
      released = std::make_shared<const ForeignClock>(std::move(joined));
    } else {
      released = warp.released;
    }
  }
  for (Warp &warp : block.warps) {
    if (!(barrier.waiting >> warp.index & 1))
      continue;
    warp.clock.join(barrier.clock);
    warp.phase = std::max(warp.phase, barrier.phase);
    warp.acquired = acquired;
    if (released)
      warp.released = released;
    for (Warp &other : block.warps) {
      uint32_t &entry = warp.clock.own[other.index];
      if (barrier.waiting >> other.index & 1)
        entry = std::max(entry, barrier.phase);
      else if (!other.live && !barrier.expected) // a warp that ends arrives for good
        entry = std::max(entry, other.phase + 1);
    }
    updateSyncedPhase(warp);
  }
}

/// Phases of shared memory are counted in 21 bits: starts over when all warps are
/// at one barrier, where every access before is done.
static void renumberPhases(Block &block, uint32_t phase) {
  SharedShadow &shadow = block.shadow;
  if (phase - shadow.firstPhase < SharedShadow::kMaxPhase / 2 || shadow.state.empty())
    return;
  bool isWhole = std::all_of(block.warps.begin(), block.warps.end(), [&](Warp &warp) {
    return !warp.live || warp.syncedPhase >= phase;
  });
  if (!isWhole)
    return;
  std::fill(shadow.writer.begin(), shadow.writer.end(), 0);
  std::fill(shadow.reader.begin(), shadow.reader.end(), 0);
  for (uint8_t &state : shadow.state)
    state &= uint8_t(~SharedShadow::kSplit);
  shadow.bytes.clear();
  shadow.freeBytes.clear();
  shadow.firstPhase = phase - 1;
}

/// Releases the warps that wait if all have arrived.
static void tryComplete(Block &block, unsigned id) {
  BlockBarrier &barrier = block.barriers[id];
  if (!barrier.arrived)
    return;
  uint32_t live = 0;
  for (const Warp &warp : block.warps)
    live |= uint32_t(warp.live != 0) << warp.index;
  bool isComplete =
      barrier.expected
          ? uint32_t(__builtin_popcount(barrier.arrived)) * 32 >= barrier.expected
          : (live & ~barrier.arrived) == 0;
  if (!isComplete)
    return;
  if (block.launch->options.check)
    synchroniseClocks(block, barrier);
  for (Warp &warp : block.warps) {
    if (!(barrier.waiting >> warp.index & 1))
      continue;
    warp.barrier = -1;
    const Ins *ins = warp.barrierIns;
    if (!(ins->flags & kBarrierReduces))
      continue;
    uint32_t count = barrier.reduceCount;
    if (ins->count == 0)
      for (int l = 0; l < 32; ++l) {
        if (isActive(warp.barrierMask, l))
          warp.getRow(ins->d)[l] = count;
      }
    else
      warp.setPred(ins->d,
                   (ins->count == 1 ? count == barrier.reduceTotal : count > 0)
                       ? kAllLanes
                       : 0,
                   warp.barrierMask);
  }
  block.launch->result.counters.barriers += 1;
  uint32_t phase = barrier.phase;
  barrier = BlockBarrier();
  if (block.launch->options.check)
    renumberPhases(block, phase);
}

void kvc::emu::arriveAtBarrier(Warp &warp, const Ins &ins, uint32_t mask) {
  Block &block = *warp.block;
  Launch &launch = *block.launch;
  uint32_t lane = uint32_t(__builtin_ctz(mask));
  auto report = [&](const std::string &message) {
    launch.report(warp, ReportKind::Barrier, lane, 0, message);
  };
  uint32_t id = warp.getRow(ins.a)[lane];
  uint32_t threads = ins.flags & kBarrierHasCount ? warp.getRow(ins.b)[lane] : 0;
  for (int l = 0; l < 32; ++l)
    if (isActive(mask, l) && (warp.getRow(ins.a)[l] != id ||
                              (threads && warp.getRow(ins.b)[l] != threads))) {
      report("expected all lanes at the same barrier, with the same count");
      launch.abort();
    }
  if (id >= 16) {
    report("expected a barrier from 0 to 15, got " + std::to_string(id));
    launch.abort();
  }
  bool hasCount = ins.flags & kBarrierHasCount;
  uint32_t most = uint32_t(block.warps.size()) * 32;
  if (hasCount && (threads == 0 || threads % 32 || threads > most)) {
    report("expected a multiple of 32 threads up to " + std::to_string(most) +
           " at barrier " + std::to_string(id) + ", got " + std::to_string(threads));
    launch.abort();
  }
  BlockBarrier &barrier = block.barriers[id];
  bool reduces = ins.flags & kBarrierReduces;
  if (barrier.arrived && barrier.expected != threads) {
    report("expected " +
           (barrier.expected ? std::to_string(barrier.expected) : "all") +
           " threads at barrier " + std::to_string(id) + " as at line " +
           std::to_string(barrier.line) + ", got " +
           (threads ? std::to_string(threads) : "all"));
    launch.abort();
  }
  if (barrier.arrived && barrier.isReduction != reduces) {
    report("expected warps at barrier " + std::to_string(id) +
           " to all reduce or none, as at line " + std::to_string(barrier.line));
    launch.abort();
  }
  if (barrier.arrived >> warp.index & 1) {
    report("warp arrives at barrier " + std::to_string(id) +
           " again, before it is complete");
    launch.abort();
  }
  barrier.expected = threads;
  barrier.line = ins.line;
  barrier.pc = warp.pc;
  barrier.isReduction = reduces;
  barrier.arrived |= 1u << warp.index;
  if (reduces) {
    barrier.reduceCount += uint32_t(__builtin_popcount(warp.getPred(ins.c) & mask));
    barrier.reduceTotal += uint32_t(__builtin_popcount(mask));
  }
  if (launch.options.check) {
    ++warp.phase;
    updateSyncedPhase(warp);
    barrier.clock.join(warp.clock);
    barrier.phase = std::max(barrier.phase, warp.phase);
  }
  if (ins.kind == Kind::BlockSync) {
    barrier.waiting |= 1u << warp.index;
    warp.barrier = int(id);
    warp.barrierIns = &ins;
    warp.barrierMask = mask;
  }
  tryComplete(block, id);
}

void kvc::emu::leaveBarriers(Warp &warp) {
  for (unsigned id = 0; id < 16; ++id)
    if (warp.block->barriers[id].arrived && !warp.block->barriers[id].expected)
      tryComplete(*warp.block, id);
}

void kvc::emu::checkBarriersAtEnd(Block &block) {
  for (unsigned id = 0; id < 16; ++id) {
    const BlockBarrier &barrier = block.barriers[id];
    if (!barrier.arrived)
      continue;
    Warp &warp = block.warps[__builtin_ctz(barrier.arrived)];
    warp.pc = barrier.pc;
    block.launch->report(warp, ReportKind::Barrier, 0, 0,
                         "the block ends with warps that arrived at barrier " +
                             std::to_string(id) + " at line " +
                             std::to_string(barrier.line) + " for others");
  }
}
