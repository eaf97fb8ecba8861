//===- Races.cpp - which accesses are in order ----------------------------===//
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
// of its warp.
//===----------------------------------------------------------------------===//
#include "Access.h"

#include "Lanes.h"

#include <algorithm>

using namespace kvc::emu;

void Clock::join(const Clock &other) {
  own.resize(std::max(own.size(), other.own.size()), 0);
  for (size_t i = 0; i < other.own.size(); ++i)
    own[i] = std::max(own[i], other.own[i]);
  for (auto [warp, phase] : other.foreign) {
    uint32_t &entry = foreign[warp];
    entry = std::max(entry, phase);
  }
}

void kvc::emu::updateSyncedPhase(Warp &warp) {
  warp.clock.own[warp.index] = warp.phase;
  warp.syncedPhase =
      *std::min_element(warp.clock.own.begin(), warp.clock.own.end());
}

void kvc::emu::synchroniseWarp(Warp &warp) {
  ++warp.phase;
  updateSyncedPhase(warp);
}

//===----------------------------------------------------------------------===//
// Fences and strong accesses
//===----------------------------------------------------------------------===//

/// A clock as warps of other blocks see it.
static Clock makeForeign(const Warp &warp) {
  Clock clock;
  clock.foreign = warp.clock.foreign;
  uint32_t first = warp.number - warp.index;
  for (size_t i = 0; i < warp.clock.own.size(); ++i)
    if (warp.clock.own[i])
      clock.foreign[first + uint32_t(i)] = warp.clock.own[i];
  return clock;
}

/// Joins a clock of foreign entries, some of which may be of this block.
static void acquire(Warp &warp, const Clock &clock) {
  uint32_t first = warp.number - warp.index;
  for (auto [number, phase] : clock.foreign) {
    bool isOwn = number - first < warp.clock.own.size();
    uint32_t &entry = isOwn ? warp.clock.own[number - first]
                            : warp.clock.foreign[number];
    entry = std::max(entry, phase);
  }
  updateSyncedPhase(warp);
}

void kvc::emu::executeFence(Warp &warp) {
  if (warp.hasAcquired) {
    acquire(warp, warp.acquired);
    warp.acquired = Clock();
    warp.hasAcquired = false;
  }
  ++warp.phase;
  updateSyncedPhase(warp);
  warp.released = makeForeign(warp);
  warp.hasReleased = true;
}

void kvc::emu::synchroniseByAddress(Warp &warp, Space space, uint64_t address,
                                    bool reads, bool writes, bool acquires,
                                    bool releases) {
  // Shared memory of another block is another place.
  uint64_t key = space == Space::Shared
                     ? kSharedWindow + (uint64_t(warp.block->number) << 24) + address
                     : address;
  key &= ~uint64_t(3);
  if (releases)
    executeFence(warp);
  if (reads) {
    auto it = warp.launch->releases.find(key);
    if (it != warp.launch->releases.end()) {
      if (acquires) {
        acquire(warp, it->second);
      } else {
        warp.acquired.join(it->second);
        warp.hasAcquired = true;
      }
    }
  }
  if (writes && warp.hasReleased)
    warp.launch->releases[key].join(warp.released);
}

//===----------------------------------------------------------------------===//
// Global memory
//===----------------------------------------------------------------------===//

/// Bits of Memory::Sector::flags.
enum : uint32_t {
  kStrongWriter = 1,
  kManyReaders = 2, ///< Of one block.
  kManyBlocks = 4
};

static bool isOrderedGlobal(const Warp &warp, uint32_t other, uint32_t phase) {
  if (other == warp.number)
    return true;
  uint32_t first = warp.number - warp.index;
  if (other - first < warp.clock.own.size())
    return phase < warp.clock.own[other - first];
  auto it = warp.clock.foreign.find(other);
  return it != warp.clock.foreign.end() && phase < it->second;
}

static void reportGlobalRace(Warp &warp, const Access &access, int lane,
                             const char *before, uint32_t other) {
  uint32_t warps = warp.launch->warpsPerBlock;
  warp.launch->report(
      warp, ReportKind::Race, lane, access.addresses[lane],
      std::string(access.kind == AccessKind::Load ? "read" : "write") +
          " of global memory at " + toHex(access.addresses[lane]) +
          " that nothing orders after the " + before + " by warp " +
          std::to_string(other % warps) + " of block " + std::to_string(other / warps));
}

/// One sector, of whose bytes `bytes` are accessed.
static void checkSector(Warp &warp, const Access &access, int lane, uint64_t address,
                        uint32_t bytes) {
  Launch &launch = *warp.launch;
  Memory::Sector &sector = launch.memory.getSector(address);
  if (sector.launch != launch.launchNumber) {
    sector = {};
    sector.launch = launch.launchNumber;
  }
  bool isStrong = access.isStrong;
  if ((sector.writeMask & bytes) && sector.writer != warp.number &&
      !(isStrong && (sector.flags & kStrongWriter)) &&
      !isOrderedGlobal(warp, sector.writer, sector.writeClock))
    reportGlobalRace(warp, access, lane, "write", sector.writer);

  if (access.kind == AccessKind::Load) {
    // Strong reads conflict with weak writes only; those are seen when they write
    // after a weak read, or read here.
    if (isStrong)
      return;
    if (sector.readMask == 0 || isOrderedGlobal(warp, sector.reader, sector.readClock)) {
      bool isSame = sector.readMask && sector.reader == warp.number;
      sector.readMask = isSame ? sector.readMask | bytes : bytes;
      if (!isSame)
        sector.flags &= ~(kManyReaders | kManyBlocks);
    } else {
      bool isSameBlock = sector.reader / launch.warpsPerBlock == warp.block->number;
      sector.flags |= isSameBlock ? kManyReaders : kManyBlocks;
      sector.readMask |= bytes;
    }
    sector.readClock = std::max(
        warp.phase, sector.flags & (kManyReaders | kManyBlocks) ? sector.readClock : 0);
    sector.reader = warp.number;
    return;
  }

  if (sector.readMask & bytes) {
    bool isRace;
    if (sector.flags & kManyBlocks) // readers are not known one by one
      isRace = warp.clock.foreign.empty();
    else if (sector.flags & kManyReaders)
      isRace = sector.reader / launch.warpsPerBlock == warp.block->number
                   ? sector.readClock >= warp.syncedPhase
                   : !isOrderedGlobal(warp, sector.reader, sector.readClock);
    else
      isRace = !isOrderedGlobal(warp, sector.reader, sector.readClock);
    if (isRace)
      reportGlobalRace(warp, access, lane, "read", sector.reader);
  }
  bool isSame = sector.writer == warp.number && sector.writeClock == warp.phase;
  sector.writeMask = isSame ? sector.writeMask | bytes : bytes;
  sector.writer = warp.number;
  sector.writeClock = warp.phase;
  sector.readMask &= ~bytes;
  sector.flags &= ~kStrongWriter;
  if (isStrong)
    sector.flags |= kStrongWriter;
}

static void checkGlobalWritten(Warp &warp, const Access &access, int lane) {
  Memory &memory = warp.launch->memory;
  uint64_t address = access.addresses[lane];
  uint64_t unwritten = memory.findUnwritten(address, access.size);
  if (unwritten == address + access.size)
    return;
  for (; unwritten < address + access.size; ++unwritten)
    if ((access.usedBytes >> (unwritten - address) & 1) &&
        memory.findUnwritten(unwritten, 1) == unwritten)
      break;
  if (unwritten == address + access.size)
    return;
  warp.launch->report(warp, ReportKind::Uninitialised, lane, unwritten,
                      "read of global memory at " + toHex(unwritten) +
                          ", which was never written");
}

void kvc::emu::checkGlobalOrder(Warp &warp, const Access &access, uint32_t mask) {
  // Neighbouring lanes share a sector, which is looked at once.
  uint64_t sector = ~uint64_t(0);
  uint32_t bytes = 0;
  int first = 0;
  auto finish = [&] {
    if (bytes)
      checkSector(warp, access, first, sector * 32, bytes);
    bytes = 0;
  };
  for (int l = 0; l < 32; ++l) {
    if (!isActive(mask, l))
      continue;
    uint64_t address = access.addresses[l];
    if (access.kind != AccessKind::Store)
      checkGlobalWritten(warp, access, l);
    if (access.kind != AccessKind::Load)
      warp.launch->memory.markWritten(address, access.size);
    if (address / 32 != sector) {
      finish();
      sector = address / 32;
      first = l;
    }
    bytes |= uint32_t(((uint64_t(1) << access.size) - 1) << (address % 32));
  }
  finish();
}

//===----------------------------------------------------------------------===//
// Shared memory
//===----------------------------------------------------------------------===//

namespace {

/// One access of a lane, with what every word of it needs.
struct SharedAccess {
  Warp &warp;
  SharedShadow &shadow;
  const Access &access;
  uint32_t lane;
  uint32_t phase;   ///< Counted from the shadow's first.
  uint32_t ordered; ///< Packed accesses below it are done, whoever made them.
  uint32_t packed;

  SharedAccess(Warp &warp, const Access &access, uint32_t lane)
      : warp(warp), shadow(warp.block->shadow), access(access), lane(lane) {
    phase = std::min(warp.phase - shadow.firstPhase, SharedShadow::kMaxPhase);
    uint32_t synced = warp.syncedPhase > shadow.firstPhase
                          ? warp.syncedPhase - shadow.firstPhase
                          : 0;
    ordered = std::min(synced, SharedShadow::kMaxPhase) << SharedShadow::kThreadBits;
    packed = phase << SharedShadow::kThreadBits | (warp.index * 32 + lane);
  }

  bool isOrderedWarp(uint32_t other, uint32_t otherPhase) const {
    return otherPhase + shadow.firstPhase < warp.clock.own[other];
  }
  bool isOrdered(uint32_t other) const {
    if (other < ordered)
      return true;
    uint32_t thread = other & ((1u << SharedShadow::kThreadBits) - 1);
    if (thread == warp.index * 32 + lane)
      return true;
    return isOrderedWarp(thread / 32, other >> SharedShadow::kThreadBits);
  }

  void reportRace(const char *before, uint32_t other) const {
    uint32_t thread = other & ((1u << SharedShadow::kThreadBits) - 1);
    std::string who =
        thread == SharedShadow::kManyThreads
            ? "several threads"
            : "warp " + std::to_string(thread / 32) + " lane " +
                  std::to_string(thread % 32);
    warp.launch->report(warp, ReportKind::Race, lane, access.addresses[lane],
                        std::string(access.kind == AccessKind::Load ? "read"
                                                                    : "write") +
                            " of shared memory at " + toHex(access.addresses[lane]) +
                            " that nothing orders after the " + before + " by " + who);
  }

  void checkWriter(uint32_t word, uint32_t bytes) const {
    uint32_t writer = shadow.writer[word];
    if (writer < ordered || !(shadow.writerBytes[word] & bytes) || isOrdered(writer))
      return;
    if (access.isStrong && (shadow.state[word] & SharedShadow::kStrong))
      return;
    reportRace("write", writer);
  }

  void checkReaders(uint32_t word) const {
    uint32_t reader = shadow.reader[word];
    if (reader < ordered)
      return;
    uint32_t thread = reader & ((1u << SharedShadow::kThreadBits) - 1);
    if (thread != SharedShadow::kManyThreads) {
      if (!isOrdered(reader))
        reportRace("read", reader);
      return;
    }
    for (uint32_t warps = shadow.readerWarps[word]; warps; warps &= warps - 1) {
      if (!isOrderedWarp(__builtin_ctz(warps), reader >> SharedShadow::kThreadBits)) {
        reportRace("read", reader);
        return;
      }
    }
  }

  void read(uint32_t word, uint32_t bytes) const {
    uint8_t &state = shadow.state[word];
    if (state & SharedShadow::kPending) {
      warp.launch->report(warp, ReportKind::PendingCopy, lane, access.addresses[lane],
                          "read of shared memory at " +
                              toHex(access.addresses[lane]) +
                              " that an asynchronous copy is still writing");
      return;
    }
    uint32_t used = access.size < 4
                        ? bytes
                        : bytes & (access.usedBytes >>
                                   (4 * (word - uint32_t((access.addresses[lane] -
                                                          kSharedStart) /
                                                         4))));
    if ((state & used) != used) {
      warp.launch->report(warp, ReportKind::Uninitialised, lane,
                          access.addresses[lane],
                          "read of shared memory at " +
                              toHex(access.addresses[lane]) +
                              ", which was never written");
      state |= bytes;
    }
    checkWriter(word, bytes);
    if (access.isStrong)
      return;
    uint32_t reader = shadow.reader[word];
    if (reader < ordered || reader == packed) {
      shadow.reader[word] = packed;
      shadow.readerWarps[word] = 1u << warp.index;
    } else {
      // The earliest phase: what is unordered after that is so for sure.
      shadow.readerWarps[word] |= 1u << warp.index;
      shadow.reader[word] =
          std::min(reader >> SharedShadow::kThreadBits, phase)
              << SharedShadow::kThreadBits |
          SharedShadow::kManyThreads;
    }
  }

  void write(uint32_t word, uint32_t bytes) const {
    uint8_t &state = shadow.state[word];
    if (state & SharedShadow::kPending)
      warp.launch->report(warp, ReportKind::PendingCopy, lane, access.addresses[lane],
                          "write of shared memory at " +
                              toHex(access.addresses[lane]) +
                              " that an asynchronous copy is still writing");
    checkWriter(word, bytes);
    checkReaders(word);
    bool isSame = shadow.writer[word] == packed;
    shadow.writer[word] = packed;
    shadow.writerBytes[word] = uint8_t(isSame ? shadow.writerBytes[word] | bytes : bytes);
    shadow.reader[word] = 0;
    shadow.readerWarps[word] = 0;
    state = uint8_t((state & SharedShadow::kWritten) | bytes |
                    (access.isStrong ? SharedShadow::kStrong : 0));
  }
};

} // namespace

void kvc::emu::checkSharedOrder(Warp &warp, const Access &access, uint32_t mask) {
  for (uint32_t lanes = mask; lanes; lanes &= lanes - 1) {
    uint32_t lane = uint32_t(__builtin_ctz(lanes));
    SharedAccess one(warp, access, lane);
    uint32_t address = uint32_t(access.addresses[lane] - kSharedStart);
    uint32_t word = address / 4, numWords = std::max(1u, access.size / 4);
    uint32_t bytes =
        access.size >= 4 ? 0xF : ((1u << access.size) - 1) << (address % 4);
    for (uint32_t i = 0; i < numWords; ++i) {
      if (access.kind != AccessKind::Store)
        one.read(word + i, bytes);
      if (access.kind != AccessKind::Load)
        one.write(word + i, bytes);
    }
  }
}

void kvc::emu::startSharedCopy(Warp &warp, uint32_t lane, uint32_t address,
                               uint32_t size) {
  Access access;
  access.kind = AccessKind::Store;
  access.size = size;
  access.addresses[lane] = address;
  SharedAccess one(warp, access, lane);
  SharedShadow &shadow = one.shadow;
  uint32_t word = (address - kSharedStart) / 4;
  for (uint32_t i = 0; i < size / 4; ++i) {
    one.write(word + i, 0xF);
    shadow.state[word + i] |= SharedShadow::kPending;
  }
}

void kvc::emu::finishSharedCopy(Warp &warp, uint32_t lane, uint32_t address,
                                uint32_t size) {
  Access access;
  SharedAccess one(warp, access, lane);
  uint32_t word = (address - kSharedStart) / 4;
  for (uint32_t i = 0; i < size / 4; ++i) {
    one.shadow.state[word + i] &= ~SharedShadow::kPending;
    one.shadow.writer[word + i] = one.packed;
  }
}
