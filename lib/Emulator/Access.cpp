//===- Access.cpp - accesses of a warp to memory --------------------------===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Access.h"

#include "Cluster.h"
#include "Lanes.h"

#include <algorithm>

using namespace kvc::emu;

void kvc::emu::fillAddresses(Access &access, const Warp &warp, Row base, bool isWide,
                             int64_t offset) {
  if (isWide) {
    const uint64_t *row = warp.getWideRow(base);
    for (int l = 0; l < 32; ++l)
      access.addresses[l] = row[l] + uint64_t(offset);
  } else {
    const uint32_t *row = warp.getRow(base);
    for (int l = 0; l < 32; ++l)
      access.addresses[l] = uint32_t(row[l] + uint32_t(offset));
  }
  uint64_t differences = 0;
  for (uint64_t l = 0; l < 32; ++l)
    differences |= access.addresses[l] ^ (access.addresses[0] + l * access.size);
  access.isDense = access.mask == kAllLanes && differences == 0;
}

/// Fills the pointers of a dense access whose bytes start at `begin`.
static uint32_t fillPointers(const Access &access, uint8_t *begin,
                             uint8_t *pointers[32]) {
  for (uint32_t l = 0; l < 32; ++l)
    pointers[l] = begin + l * access.size;
  return kAllLanes;
}

/// Whether a dense access is aligned and lies in `size` bytes from `begin` on.
static bool isDenseWithin(const Access &access, uint64_t begin, uint64_t size) {
  uint64_t offset = access.addresses[0] - begin, length = 32 * uint64_t(access.size);
  return access.isDense && !(access.addresses[0] & (access.size - 1)) &&
         offset <= size && length <= size - offset;
}

static const char *getVerb(AccessKind kind) {
  switch (kind) {
  case AccessKind::Load: return "read";
  case AccessKind::Store: return "write";
  case AccessKind::Atomic: return "atomic access";
  }
  return "";
}

/// Reports lanes whose address is no multiple of the size; returns the others.
static uint32_t checkAlignment(Warp &warp, const Access &access) {
  uint64_t misaligned = 0;
  for (uint32_t l = 0; l < 32; ++l)
    misaligned |= access.addresses[l] & (0 - uint64_t(access.mask >> l & 1));
  if (!(misaligned & (access.size - 1)))
    return access.mask;
  uint32_t aligned = 0;
  for (int l = 0; l < 32; ++l) {
    if (!isActive(access.mask, l))
      continue;
    if (access.addresses[l] & (access.size - 1))
      warp.launch->report(warp, ReportKind::Misaligned, l, access.addresses[l],
                          std::string(getVerb(access.kind)) + " of " +
                              std::to_string(access.size) + " bytes at " +
                              toHex(access.addresses[l]) + ", which is no multiple");
    else
      aligned |= 1u << l;
  }
  return aligned;
}

static void reportOutOfBounds(Warp &warp, const Access &access, int lane,
                              const std::string &memory,
                              const std::string &expected) {
  warp.launch->report(warp, ReportKind::OutOfBounds, lane, access.addresses[lane],
                      std::string(getVerb(access.kind)) + " of " +
                          std::to_string(access.size) + " bytes at " +
                          toHex(access.addresses[lane]) + " of " + memory +
                          ", expected " + expected);
}

//===----------------------------------------------------------------------===//
// Global memory
//===----------------------------------------------------------------------===//

static std::string describeNearest(const Memory &memory, uint64_t address) {
  if (!memory.isDeviceAddress(address))
    return "an address of the device";
  // What lies before explains most accesses past an end.
  for (uint64_t distance : {uint64_t(1), uint64_t(256), uint64_t(4096)}) {
    Memory::Allocation before = memory.find(address - distance);
    if (before.end != before.begin)
      return "an address below " + toHex(before.end) + ", where the allocation at " +
             toHex(before.begin) + " ends";
  }
  return "an address in an allocation";
}

uint32_t kvc::emu::locateGlobal(Warp &warp, const Access &access,
                                uint8_t *pointers[32]) {
  Launch &launch = *warp.launch;
  Memory::Allocation &known = launch.allocations[warp.pc];
  if (isDenseWithin(access, known.begin, known.end - known.begin))
    return fillPointers(access, Memory::getBytes(access.addresses[0]), pointers);
  uint32_t mask = checkAlignment(warp, access), valid = 0;
  for (int l = 0; l < 32; ++l) {
    if (!isActive(mask, l))
      continue;
    uint64_t address = access.addresses[l];
    if (!known.contains(address, access.size)) {
      Memory::Allocation found = launch.memory.find(address);
      if (!found.contains(address, access.size) || found.begin == found.end) {
        reportOutOfBounds(warp, access, l, "global memory",
                          describeNearest(launch.memory, address));
        continue;
      }
      known = found;
    }
    pointers[l] = Memory::getBytes(address);
    valid |= 1u << l;
  }
  return valid;
}

static uint32_t resolveGlobal(Warp &warp, const Access &access,
                              uint8_t *pointers[32]) {
  Launch &launch = *warp.launch;
  uint32_t valid = locateGlobal(warp, access, pointers);
  if (launch.options.check)
    checkGlobalOrder(warp, access, valid);
  else if (access.kind != AccessKind::Load && access.isDense && valid == kAllLanes)
    launch.memory.markWritten(access.addresses[0], 32 * uint64_t(access.size));
  else if (access.kind != AccessKind::Load)
    for (int l = 0; l < 32; ++l)
      if (isActive(valid, l))
        launch.memory.markWritten(access.addresses[l], access.size);
  return valid;
}

//===----------------------------------------------------------------------===//
// Shared memory
//===----------------------------------------------------------------------===//

uint32_t kvc::emu::locateShared(Warp &warp, Block &block, const Access &access,
                                uint8_t *pointers[32]) {
  Launch &launch = *warp.launch;
  if (isDenseWithin(access, kSharedStart, launch.sharedBytes))
    return fillPointers(access,
                        block.shared.data() + (access.addresses[0] - kSharedStart),
                        pointers);
  uint32_t mask = checkAlignment(warp, access), valid = 0;
  for (int l = 0; l < 32; ++l) {
    if (!isActive(mask, l))
      continue;
    uint64_t address = access.addresses[l] - kSharedStart;
    if (address > launch.sharedBytes || access.size > launch.sharedBytes - address) {
      reportOutOfBounds(warp, access, l,
                        &block == warp.block
                            ? "shared memory"
                            : "shared memory of block " + std::to_string(block.rank) +
                                  " of the cluster",
                        toHex(kSharedStart) + " to " +
                            toHex(uint64_t(kSharedStart) + launch.sharedBytes));
      continue;
    }
    pointers[l] = block.shared.data() + address;
    valid |= 1u << l;
  }
  return valid;
}

static uint32_t resolveShared(Warp &warp, const Access &access,
                              uint8_t *pointers[32]) {
  uint32_t valid = locateShared(warp, *warp.block, access, pointers);
  if (warp.launch->options.check)
    checkSharedOrder(warp, access, valid);
  return valid;
}

//===----------------------------------------------------------------------===//
// Local memory and parameters
//===----------------------------------------------------------------------===//

static uint32_t resolveLocal(Warp &warp, const Access &access, uint8_t *pointers[32]) {
  uint32_t mask = checkAlignment(warp, access), valid = 0;
  for (int l = 0; l < 32; ++l) {
    if (!isActive(mask, l))
      continue;
    uint64_t address = access.addresses[l];
    if (address > warp.localBytes || access.size > warp.localBytes - address) {
      reportOutOfBounds(warp, access, l, "local memory",
                        "0x0 to " + toHex(warp.localBytes));
      continue;
    }
    size_t index = size_t(l) * warp.localBytes + address;
    pointers[l] = warp.local + index;
    valid |= 1u << l;
    if (warp.localWritten.empty())
      continue;
    uint8_t *written = &warp.localWritten[index];
    if (access.kind != AccessKind::Store) {
      for (uint32_t i = 0; i < access.size; ++i) {
        if (!written[i] && (access.usedBytes >> i & 1)) {
          warp.launch->report(warp, ReportKind::Uninitialised, l, address + i,
                              "read of local memory at " + toHex(address + i) +
                                  ", which was never written");
          break;
        }
      }
    }
    if (access.kind != AccessKind::Load)
      std::fill(written, written + access.size, 1);
  }
  return valid;
}

static uint32_t resolveParameter(Warp &warp, const Access &access,
                                 uint8_t *pointers[32]) {
  const std::vector<uint8_t> &bytes = warp.launch->config.parameters;
  uint32_t mask = checkAlignment(warp, access), valid = 0;
  for (int l = 0; l < 32; ++l) {
    if (!isActive(mask, l))
      continue;
    uint64_t address = access.addresses[l];
    if (address > bytes.size() || access.size > bytes.size() - address ||
        access.kind != AccessKind::Load) {
      reportOutOfBounds(warp, access, l, "parameter memory",
                        "a read of 0x0 to " + toHex(bytes.size()));
      continue;
    }
    pointers[l] = const_cast<uint8_t *>(bytes.data()) + address;
    valid |= 1u << l;
  }
  return valid;
}

//===----------------------------------------------------------------------===//
// All of them
//===----------------------------------------------------------------------===//

static GlobalTraffic &getTraffic(Counters &counters, AccessKind kind) {
  return kind == AccessKind::Load    ? counters.globalLoads
         : kind == AccessKind::Store ? counters.globalStores
                                     : counters.globalAtomics;
}

static uint32_t resolveInSpace(Warp &warp, Space space, const Access &access,
                               uint8_t *pointers[32]) {
  Counters &counters = warp.launch->result.counters;
  bool counts = warp.launch->options.count;
  switch (space) {
  case Space::Shared:
    if (counts)
      countShared(access.kind == AccessKind::Load ? counters.sharedLoads
                                                  : counters.sharedStores,
                  access);
    return resolveShared(warp, access, pointers);
  case Space::SharedCluster:
    if (counts)
      countShared(counters.sharedLoads, access);
    return resolveCluster(warp, access, pointers);
  case Space::Local: return resolveLocal(warp, access, pointers);
  case Space::Param: return resolveParameter(warp, access, pointers);
  default:
    if (counts && space != Space::Const)
      countGlobal(getTraffic(counters, access.kind), access);
    return resolveGlobal(warp, access, pointers);
  }
}

uint32_t kvc::emu::resolve(Warp &warp, Space space, const Access &access,
                           uint8_t *pointers[32]) {
  if (space != Space::Generic)
    return resolveInSpace(warp, space, access, pointers);
  // Lanes may be in different windows, though they hardly ever are. Those of the
  // windows have their top bit set, which no address of a process has.
  uint64_t all = 0;
  for (uint32_t l = 0; l < 32; ++l)
    all |= access.addresses[l] & (0 - uint64_t(access.mask >> l & 1));
  if (!(all >> 63))
    return resolveInSpace(warp, Space::Global, access, pointers);
  static constexpr std::pair<uint64_t, Space> kWindows[] = {
      {kSharedWindow, Space::Shared},
      {kLocalWindow, Space::Local},
      {kParamWindow, Space::Param}};
  uint32_t rest = access.mask, valid = 0;
  for (auto [window, windowSpace] : kWindows) {
    Access part = access;
    part.mask = 0;
    for (int l = 0; l < 32; ++l) {
      if (!isActive(rest, l) || (access.addresses[l] & ~kWindowMask) != window)
        continue;
      part.mask |= 1u << l;
      part.addresses[l] = access.addresses[l] - window;
    }
    part.isDense &= part.mask == kAllLanes;
    rest &= ~part.mask;
    if (part.mask)
      valid |= resolveInSpace(warp, windowSpace, part, pointers);
  }
  if (rest) {
    Access part = access;
    part.mask = rest;
    part.isDense &= rest == kAllLanes;
    valid |= resolveInSpace(warp, Space::Global, part, pointers);
  }
  return valid;
}

//===----------------------------------------------------------------------===//
// Counting
//===----------------------------------------------------------------------===//

void kvc::emu::countGlobal(GlobalTraffic &traffic, const Access &access) {
  traffic.requests += 1;
  traffic.bytes += uint64_t(__builtin_popcount(access.mask)) * access.size;
  if (access.isDense) {
    uint64_t begin = access.addresses[0], length = 32 * uint64_t(access.size);
    traffic.sectors += (begin + length - 1) / 32 - begin / 32 + 1;
    traffic.needed += length / 32;
    return;
  }
  uint64_t sectors[64], unique[32];
  unsigned numSectors = 0, numUnique = 0;
  auto add = [](uint64_t *list, unsigned &count, uint64_t value) {
    for (unsigned i = count; i-- > 0;)
      if (list[i] == value)
        return;
    list[count++] = value;
  };
  for (uint32_t lanes = access.mask; lanes; lanes &= lanes - 1) {
    int l = __builtin_ctz(lanes);
    uint64_t first = access.addresses[l] / 32;
    add(sectors, numSectors, first);
    uint64_t last = (access.addresses[l] + access.size - 1) / 32;
    if (last != first)
      add(sectors, numSectors, last);
    add(unique, numUnique, access.addresses[l]);
  }
  traffic.sectors += numSectors;
  traffic.needed += (uint64_t(numUnique) * access.size + 31) / 32;
}

void kvc::emu::countShared(SharedTraffic &traffic, const Access &access) {
  // 4 bytes and fewer: all lanes at once; 8: halves; 16: quarters of the warp.
  unsigned lanesPerPass = access.size <= 4 ? 32 : access.size == 8 ? 16 : 8;
  unsigned wordsPerLane = std::max(1u, access.size / 4);
  traffic.requests += 1;
  traffic.bytes += uint64_t(__builtin_popcount(access.mask)) * access.size;
  if (access.isDense && access.addresses[0] % 4 == 0) {
    traffic.wavefronts += 32 / lanesPerPass;
    traffic.needed += 32 / lanesPerPass;
    return;
  }
  for (unsigned first = 0; first < 32; first += lanesPerPass) {
    // The words that a bank has to give, one after another.
    uint32_t words[32][32];
    uint8_t counts[32] = {};
    unsigned most = 0;
    for (unsigned l = first; l < first + lanesPerPass; ++l) {
      if (!isActive(access.mask, l))
        continue;
      uint32_t word = uint32_t(access.addresses[l] / 4);
      for (unsigned i = 0; i < wordsPerLane; ++i, ++word) {
        unsigned bank = word % 32, count = counts[bank];
        bool isKnown = false;
        for (unsigned k = count; k-- > 0 && !isKnown;)
          isKnown = words[bank][k] == word;
        if (isKnown)
          continue;
        words[bank][count] = word;
        counts[bank] = uint8_t(count + 1);
        most = std::max(most, count + 1);
      }
    }
    traffic.wavefronts += most;
    traffic.needed += most > 0;
  }
}
