//===- GlobalRaces.cpp - order of accesses to global memory ---------------===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Of each sector the last two writers and readers that nothing puts in order are
// kept, with the bytes that they accessed. That of a third is forgotten: a race
// with it may be missed, but none is invented.
//===----------------------------------------------------------------------===//
#include "Access.h"
#include "Lanes.h"

#include <algorithm>

using namespace kvc::emu;

using Sector = Memory::Sector;

namespace {

/// Looks at the sectors that one instruction accesses.
class GlobalCheck {
public:
  GlobalCheck(Warp &warp, const Access &access)
      : warp(warp), launch(*warp.launch), access(access) {}

  /// `bytes` of the sector at `address` are accessed, by `first` and the lanes
  /// after it.
  void read(uint64_t address, uint32_t bytes, int first) {
    checkWritten(address, bytes, first);
    Sector &sector = getSector(address);
    if ((sector.writers[0].mask | sector.writers[1].mask) & bytes)
      checkWriters(sector, address, bytes, first);
    recordRead(sector, bytes);
  }
  void write(uint64_t address, uint32_t bytes, int first) {
    if (access.kind == AccessKind::Atomic)
      checkWritten(address, bytes, first);
    launch.memory.getWrittenBitsOfSector(address) |= bytes;
    Sector &sector = getSector(address);
    if (sector.copies)
      checkCopies(address, bytes, first);
    if ((sector.writers[0].mask | sector.writers[1].mask) & bytes)
      checkWriters(sector, address, bytes, first);
    if ((sector.readers[0].mask | sector.readers[1].mask) & bytes)
      checkReaders(sector, address, bytes, first);
    Sector::Entry &last = sector.writers[0];
    if (last.warp == warp.number && last.clock == warp.phase && last.mask &&
        bool(sector.strong & 1) == access.isStrong)
      last.mask |= bytes;
    else
      record(sector, sector.writers, 0, bytes);
  }
  void startCopy(uint64_t address, uint32_t bytes, int first, uint32_t lanes) {
    checkWritten(address, bytes, first);
    Sector &sector = getSector(address);
    if ((sector.writers[0].mask | sector.writers[1].mask) & bytes)
      checkWriters(sector, address, bytes, first);
    sector.copies += lanes;
  }
  void finishCopy(uint64_t address, uint32_t bytes, uint32_t lanes) {
    Sector &sector = getSector(address);
    sector.copies -= std::min(sector.copies, lanes);
    recordRead(sector, bytes);
  }

private:
  Sector &getSector(uint64_t address) {
    Sector &sector = launch.memory.getSector(address);
    if (sector.launch != launch.launchNumber) {
      sector = {};
      sector.launch = launch.launchNumber;
    }
    return sector;
  }

  bool isDone(const Sector::Entry &entry) const {
    return entry.warp == warp.number || isOrdered(warp, entry.warp, entry.clock);
  }

  /// The lane that accesses one of `bytes`, and which byte that is.
  int findLane(uint64_t address, uint32_t bytes, int first, uint64_t &byte) const {
    for (int l = first; l < 32; ++l) {
      if (!isActive(access.mask, l) || access.addresses[l] / 32 != address / 32)
        continue;
      for (uint64_t i = 0; i < access.size; ++i) {
        byte = access.addresses[l] + i;
        if (bytes >> (byte % 32) & 1)
          return l;
      }
    }
    byte = address;
    return first;
  }

  const char *getVerb() const {
    return access.kind == AccessKind::Load ? "read" : "write";
  }

  void reportRace(const Sector::Entry &entry, const char *before, uint64_t address,
                  uint32_t bytes, int first) {
    uint64_t byte;
    int lane = findLane(address, entry.mask & bytes, first, byte);
    uint32_t warps = launch.warpsPerBlock;
    launch.report(warp, ReportKind::Race, lane, access.addresses[lane],
                  std::string(getVerb()) + " of global memory at " +
                      toHex(access.addresses[lane]) +
                      " that nothing orders after the " + before + " by warp " +
                      std::to_string(entry.warp % warps) + " of block " +
                      std::to_string(entry.warp / warps));
  }

  void checkWriters(Sector &sector, uint64_t address, uint32_t bytes, int first) {
    for (unsigned i = 0; i < 2; ++i) {
      const Sector::Entry &entry = sector.writers[i];
      if (!(entry.mask & bytes) || (access.isStrong && (sector.strong >> i & 1)) ||
          isDone(entry))
        continue;
      reportRace(entry, "write", address, bytes, first);
      return;
    }
  }

  /// A write comes after the reads of its bytes, which then need not be kept.
  void checkReaders(Sector &sector, uint64_t address, uint32_t bytes, int first) {
    bool isReported = false;
    for (unsigned i = 0; i < 2; ++i) {
      Sector::Entry &entry = sector.readers[i];
      if (!(entry.mask & bytes))
        continue;
      bool isStrong = sector.strong >> (2 + i) & 1;
      if (!(access.isStrong && isStrong) && !isDone(entry) && !isReported) {
        reportRace(entry, "read", address, bytes, first);
        isReported = true;
      }
      if (!access.isStrong || isStrong)
        entry.mask &= ~bytes;
    }
  }

  void recordRead(Sector &sector, uint32_t bytes) {
    Sector::Entry &last = sector.readers[0];
    if (last.warp == warp.number && last.clock == warp.phase && last.mask &&
        bool(sector.strong & 4) == access.isStrong)
      last.mask |= bytes;
    else
      record(sector, sector.readers, 2, bytes);
  }

  /// Keeps an access among those of its kind, without the bytes of accesses that
  /// are done before it. `shift`: of the bits in Sector::strong.
  void record(Sector &sector, Sector::Entry (&entries)[2], unsigned shift,
              uint32_t bytes) {
    for (unsigned i = 0; i < 2; ++i) {
      Sector::Entry &entry = entries[i];
      bool isStrong = sector.strong >> (shift + i) & 1;
      if (entry.mask && (!access.isStrong || isStrong) && isDone(entry))
        entry.mask &= ~bytes;
    }
    unsigned slot = entries[0].mask == 0 ? 0 : 1;
    if (entries[slot].mask) {
      Sector::Entry &other = entries[1];
      if (other.warp == warp.number && other.clock == warp.phase &&
          bool(sector.strong >> (shift + 1) & 1) == access.isStrong) {
        other.mask |= bytes;
        return;
      }
      // Two readers of the same bytes are as good as three.
      if (shift == 2 && (entries[0].mask & entries[1].mask & bytes) == bytes)
        return;
      entries[0] = entries[1];
      uint32_t bit = sector.strong >> (shift + 1) & 1;
      sector.strong = (sector.strong & ~(1u << shift)) | bit << shift;
    }
    entries[slot] = {warp.number, warp.phase, bytes};
    sector.strong = (sector.strong & ~(1u << (shift + slot))) |
                    uint32_t(access.isStrong) << (shift + slot);
  }

  void checkWritten(uint64_t address, uint32_t bytes, int first) {
    uint32_t unwritten = bytes & ~launch.memory.getWrittenBitsOfSector(address);
    if (!unwritten)
      return;
    // Not all bytes that are read need matter.
    for (int l = first; l < 32; ++l) {
      if (!isActive(access.mask, l) || access.addresses[l] / 32 != address / 32)
        continue;
      for (uint64_t i = 0; i < access.size; ++i) {
        uint64_t byte = access.addresses[l] + i;
        if (!(unwritten >> (byte % 32) & 1) || !(access.usedBytes >> i & 1))
          continue;
        launch.report(warp, ReportKind::Uninitialised, l, byte,
                      "read of global memory at " + toHex(byte) +
                          ", which was never written");
        break;
      }
    }
  }

  /// Some copy reads from this sector: looks whether it is one of these bytes.
  void checkCopies(uint64_t address, uint32_t bytes, int first) {
    for (const std::unique_ptr<Cluster> &cluster : launch.resident) {
      if (!cluster)
        continue;
      for (const std::unique_ptr<Block> &block : cluster->blocks)
        for (const Warp &other : block->warps)
          for (const Copy &copy : other.copies)
            if (checkCopy(copy, address, bytes, first))
              return;
    }
  }

  /// Reports a write of what a copy is still reading; false if it is not.
  bool checkCopy(const Copy &copy, uint64_t address, uint32_t bytes, int first) {
    for (int l = 0; l < 32; ++l) {
      uint64_t source = copy.source.addresses[l];
      if (!isActive(copy.lanes, l) || source / 32 != address / 32)
        continue;
      uint32_t read = ((1u << copy.sourceSizes[l]) - 1) << (source % 32);
      if (!(read & bytes))
        continue;
      uint64_t byte;
      int lane = findLane(address, read & bytes, first, byte);
      launch.report(warp, ReportKind::PendingCopy, lane, access.addresses[lane],
                    "write of global memory at " + toHex(access.addresses[lane]) +
                        " that the asynchronous copy at line " +
                        std::to_string(copy.line) + " is still reading");
      return true;
    }
    return false;
  }

  Warp &warp;
  Launch &launch;
  const Access &access;
};

} // namespace

/// Calls `visit(address, bytes, first lane, number of lanes)` for each sector that
/// the lanes of `mask` access, once if neighbours share it.
template <class Visit>
static void visitSectors(const Access &access, uint32_t mask, Visit visit) {
  if (access.isDense && mask == kAllLanes) {
    uint64_t begin = access.addresses[0], end = begin + 32 * uint64_t(access.size);
    for (uint64_t address = begin; address < end;) {
      uint64_t next = std::min((address / 32 + 1) * 32, end);
      uint32_t length = uint32_t(next - address);
      uint32_t bytes = (length == 32 ? ~0u : (1u << length) - 1) << (address % 32);
      visit(address, bytes, int((address - begin) / access.size),
            length / access.size);
      address = next;
    }
    return;
  }
  uint64_t sector = 0;
  uint32_t bytes = 0, count = 0;
  int first = 0;
  for (uint32_t lanes = mask; lanes; lanes &= lanes - 1) {
    int l = __builtin_ctz(lanes);
    uint64_t address = access.addresses[l];
    if (address / 32 != sector) {
      if (bytes)
        visit(sector * 32, bytes, first, count);
      sector = address / 32;
      bytes = count = 0;
      first = l;
    }
    bytes |= ((1u << access.size) - 1) << (address % 32);
    ++count;
  }
  if (bytes)
    visit(sector * 32, bytes, first, count);
}

void kvc::emu::checkGlobalOrder(Warp &warp, const Access &access, uint32_t mask) {
  GlobalCheck check(warp, access);
  if (access.kind == AccessKind::Load)
    visitSectors(access, mask, [&](uint64_t address, uint32_t bytes, int first,
                                   uint32_t) { check.read(address, bytes, first); });
  else
    visitSectors(access, mask, [&](uint64_t address, uint32_t bytes, int first,
                                   uint32_t) { check.write(address, bytes, first); });
}

void kvc::emu::startGlobalCopy(Warp &warp, const Access &source, uint32_t mask) {
  GlobalCheck check(warp, source);
  visitSectors(source, mask,
               [&](uint64_t address, uint32_t bytes, int first, uint32_t count) {
                 check.startCopy(address, bytes, first, count);
               });
}

void kvc::emu::finishGlobalCopy(Warp &warp, const Access &source, uint32_t mask) {
  GlobalCheck check(warp, source);
  visitSectors(source, mask,
               [&](uint64_t address, uint32_t bytes, int, uint32_t count) {
                 check.finishCopy(address, bytes, count);
               });
}
