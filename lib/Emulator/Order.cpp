//===- Order.cpp - what is done before what -------------------------------===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Each warp counts phases: a new one begins whenever it synchronises. Its clock
// says below which phase all accesses of another warp are done, as far as it can
// know. An access is in order after another one if the clock is past that one's
// phase. Beside each word of shared memory, and each sector of global memory, the
// last accesses are kept; a conflict that nothing puts in order is a race,
// whichever way the emulator happened to run it.
//
// Lanes of one warp are not in order by themselves either: PTX promises that only
// after bar.warp.sync or a barrier. In global memory that is not looked at. A
// bar.warp.sync of some lanes counts as one of all, and a fence by one lane as one
// of its warp. Scopes are not looked at.
//===----------------------------------------------------------------------===//
#include "Cluster.h"

#include <algorithm>

using namespace kvc::emu;

/// Entries of all clocks that strong writes released; what goes beyond is not kept.
static constexpr uint64_t kMaxReleased = uint64_t(1) << 24;

//===----------------------------------------------------------------------===//
// Clocks
//===----------------------------------------------------------------------===//

void kvc::emu::join(ForeignClock &clock, const ForeignClock &other) {
  if (other.empty())
    return;
  ForeignClock result;
  result.reserve(clock.size() + other.size());
  auto a = clock.cbegin(), b = other.cbegin();
  while (a != clock.cend() && b != other.cend()) {
    if (a->first == b->first) {
      result.emplace_back(a->first, std::max(a->second, b->second));
      ++a, ++b;
    } else {
      result.push_back(a->first < b->first ? *a++ : *b++);
    }
  }
  result.insert(result.end(), a, clock.cend());
  result.insert(result.end(), b, other.cend());
  clock = std::move(result);
}

void Clock::join(const Clock &other) {
  own.resize(std::max(own.size(), other.own.size()), 0);
  for (size_t i = 0; i < other.own.size(); ++i)
    own[i] = std::max(own[i], other.own[i]);
  kvc::emu::join(foreign, other.foreign);
}

bool kvc::emu::isOrdered(const Warp &warp, uint32_t other, uint32_t phase) {
  uint32_t first = warp.number - warp.index;
  if (other - first < warp.clock.own.size())
    return phase < warp.clock.own[other - first];
  if (warp.launch->hasLostClocks)
    return true;
  const ForeignClock &foreign = warp.clock.foreign;
  auto it = std::lower_bound(foreign.begin(), foreign.end(),
                             std::make_pair(other, uint32_t(0)));
  return it != foreign.end() && it->first == other && phase < it->second;
}

void kvc::emu::updateSyncedPhase(Warp &warp) {
  warp.clock.own[warp.index] = warp.phase;
  warp.syncedPhase =
      *std::min_element(warp.clock.own.begin(), warp.clock.own.end());
}

void kvc::emu::synchroniseWarp(Warp &warp) {
  if (!warp.launch->options.check)
    return;
  ++warp.phase;
  updateSyncedPhase(warp);
}

//===----------------------------------------------------------------------===//
// Fences and strong accesses
//===----------------------------------------------------------------------===//

ForeignClock kvc::emu::getForeignClock(const Warp &warp) {
  ForeignClock own;
  uint32_t first = warp.number - warp.index;
  for (size_t i = 0; i < warp.clock.own.size(); ++i)
    own.emplace_back(first + uint32_t(i), warp.clock.own[i]);
  join(own, warp.clock.foreign);
  return own;
}

void kvc::emu::acquire(Warp &warp, const ForeignClock &clock) {
  uint32_t first = warp.number - warp.index;
  ForeignClock others;
  for (auto [number, phase] : clock) {
    if (number - first < warp.clock.own.size()) {
      uint32_t &entry = warp.clock.own[number - first];
      entry = std::max(entry, phase);
    } else {
      others.emplace_back(number, phase);
    }
  }
  join(warp.clock.foreign, others);
  ++warp.phase;
  updateSyncedPhase(warp);
}

void kvc::emu::executeFence(Warp &warp) {
  if (!warp.launch->options.check)
    return;
  if (!warp.acquired.empty()) {
    acquire(warp, warp.acquired);
    warp.acquired.clear();
  }
  ++warp.phase;
  updateSyncedPhase(warp);
  warp.released = std::make_shared<const ForeignClock>(getForeignClock(warp));
}

/// Adds what `warp` released to what an address holds.
static void releaseTo(Warp &warp, ReleasedClock &held) {
  Launch &launch = *warp.launch;
  if (!held) {
    held = warp.released;
    launch.numReleased += 4;
  } else if (held != warp.released) {
    ForeignClock joined = *held;
    join(joined, *warp.released);
    launch.numReleased += joined.size() - held->size();
    held = std::make_shared<const ForeignClock>(std::move(joined));
  }
  if (launch.numReleased > kMaxReleased) {
    launch.hasLostClocks = true;
    launch.releases.clear();
  }
}

void kvc::emu::synchroniseByAddress(Warp &warp, Space space, uint64_t address,
                                    bool reads, bool writes, bool acquires,
                                    bool releases) {
  Launch &launch = *warp.launch;
  warp.isPolling = true;
  if (!launch.options.check)
    return;
  if (releases)
    executeFence(warp);
  if (space == Space::Generic && (address & ~kWindowMask) == kSharedWindow) {
    space = Space::Shared;
    address &= kWindowMask;
  }
  Block *owner = warp.block;
  if (space == Space::SharedCluster) {
    owner = findOwner(*warp.block, address);
    space = Space::Shared;
  }
  address &= ~uint64_t(3);
  ReleasedClock held;
  if (space == Space::Shared) {
    auto it = owner->releases.find(uint32_t(address));
    if (it != owner->releases.end())
      held = it->second;
  } else {
    auto it = launch.releases.find(address);
    if (it != launch.releases.end())
      held = it->second;
  }
  if (reads && held) {
    if (acquires)
      acquire(warp, *held);
    else
      join(warp.acquired, *held);
  }
  if (!writes || !warp.released || launch.hasLostClocks)
    return;
  releaseTo(warp, space == Space::Shared ? owner->releases[uint32_t(address)]
                                         : launch.releases[address]);
}
