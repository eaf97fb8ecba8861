//===- Memory.cpp - device memory -----------------------------------------===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Three ranges of addresses are reserved, and nothing more: the device's bytes,
// without access, and the two shadows, which the system fills with zeros where
// they are touched.
//
//   | guard | allocation ... | guard | hole ... | allocation | guard |
//           ^ base                    whole pages each
//
//===----------------------------------------------------------------------===//
#include "kvc/Emulator/Memory.h"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <sys/mman.h>
#include <unistd.h>

using namespace kvc::emu;

/// Allocations up to this size start as 0xFF in every byte, which is NaN in
/// every floating-point type, so that a result shows what was never written.
/// Larger ones start as zeros, because they may never be touched.
static constexpr uint64_t kMaxFill = uint64_t(64) << 20;

static uint64_t getPageSize() {
  static const uint64_t size = uint64_t(sysconf(_SC_PAGESIZE));
  return size;
}

static uint64_t roundUp(uint64_t value, uint64_t multiple) {
  return (value + multiple - 1) / multiple * multiple;
}

/// Bytes without access after each allocation, and before the first.
static uint64_t getGuardSize() {
  return roundUp(Memory::kGuardBytes, getPageSize());
}

/// Reserves addresses that take no memory until they are touched.
static void *reserve(uint64_t size, int protection) {
  void *address = mmap(nullptr, size, protection,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  return address == MAP_FAILED ? nullptr : address;
}

/// Gives the memory of whole pages back; they read as zeros afterwards.
static void forget(void *begin, uint64_t size) {
  if (size)
    madvise(begin, size, MADV_DONTNEED);
}

/// Makes bytes zero, without touching those that are.
static void clear(uint8_t *begin, uint8_t *end) {
  for (; begin != end; ++begin)
    if (*begin)
      *begin = 0;
}

//===----------------------------------------------------------------------===//
// Reserving
//===----------------------------------------------------------------------===//

Memory::Memory(uint64_t wanted) {
  uint64_t guard = getGuardSize();
  if (wanted == 0 || wanted > UINT64_MAX / 4)
    return;
  uint64_t size = roundUp(wanted, getPageSize());
  void *bytes = reserve(guard + size, PROT_NONE);
  void *bits = reserve(size / 8, PROT_READ | PROT_WRITE);
  void *shadow = reserve(size / 32 * sizeof(Sector), PROT_READ | PROT_WRITE);
  if (!bytes || !bits || !shadow) {
    if (bytes)
      munmap(bytes, guard + size);
    if (bits)
      munmap(bits, size / 8);
    if (shadow)
      munmap(shadow, size / 32 * sizeof(Sector));
    return;
  }
  base = reinterpret_cast<uint64_t>(bytes) + guard;
  capacity = size;
  written = static_cast<uint8_t *>(bits);
  sectors = static_cast<Sector *>(shadow);
  holes[base] = capacity;
}

Memory::~Memory() {
  if (!capacity)
    return;
  munmap(getBytes(base - getGuardSize()), getGuardSize() + capacity);
  munmap(written, capacity / 8);
  munmap(sectors, capacity / 32 * sizeof(Sector));
}

//===----------------------------------------------------------------------===//
// Allocating
//===----------------------------------------------------------------------===//

/// Pages that an allocation takes, its guard included.
static uint64_t getFootprint(uint64_t size) {
  return roundUp(size, getPageSize()) + getGuardSize();
}

uint64_t Memory::allocate(uint64_t size) {
  if (size == 0 || size > capacity)
    return 0;
  uint64_t footprint = getFootprint(size);
  auto hole = std::find_if(holes.begin(), holes.end(), [&](const auto &entry) {
    return entry.second >= footprint;
  });
  if (hole == holes.end())
    return 0;
  auto [address, available] = *hole;
  // Fails if the process has too many ranges of different access.
  if (mprotect(getBytes(address), footprint - getGuardSize(),
               PROT_READ | PROT_WRITE) != 0)
    return 0;
  holes.erase(hole);
  if (available > footprint)
    holes[address + footprint] = available - footprint;
  allocations[address] = address + size;
  used += footprint;
  if (size <= kMaxFill)
    std::memset(getBytes(address), 0xFF, size);
  return address;
}

bool Memory::free(uint64_t address) {
  auto allocation = allocations.find(address);
  if (allocation == allocations.end())
    return false;
  uint64_t end = address + getFootprint(allocation->second - address);
  allocations.erase(allocation);
  used -= end - address;

  // A fresh mapping both forgets the contents and takes the access away. It
  // cannot fail for lack of memory, but for too many ranges.
  uint8_t *bytes = getBytes(address);
  if (mmap(bytes, end - address, PROT_NONE,
           MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1,
           0) == MAP_FAILED)
    forget(bytes, end - address);

  // Join the hole with its neighbours.
  uint64_t holeBegin = address, holeEnd = end;
  auto next = holes.lower_bound(address);
  if (next != holes.end() && next->first == holeEnd) {
    holeEnd += next->second;
    next = holes.erase(next);
  }
  if (next != holes.begin()) {
    auto previous = std::prev(next);
    if (previous->first + previous->second == holeBegin) {
      holeBegin = previous->first;
      holes.erase(previous);
    }
  }
  holes[holeBegin] = holeEnd - holeBegin;

  forget(&getSector(address), (end - address) / 32 * sizeof(Sector));

  // A page of bits covers several pages of bytes: it is given back once all of
  // it lies in a hole, and cleared before.
  uint64_t span = getPageSize() * 8;
  uint64_t begin = address - base, wholeBegin = roundUp(holeBegin - base, span);
  uint64_t wholeEnd = holeEnd - base;
  if (wholeEnd != capacity)
    wholeEnd = wholeEnd / span * span;
  wholeBegin = std::max(wholeBegin, begin / span * span);
  wholeEnd = std::min(wholeEnd, roundUp(end - base, span));
  if (wholeBegin >= wholeEnd) {
    clear(written + begin / 8, written + (end - base) / 8);
    return true;
  }
  if (begin < wholeBegin)
    clear(written + begin / 8, written + wholeBegin / 8);
  forget(written + wholeBegin / 8, (wholeEnd - wholeBegin + 7) / 8);
  if (wholeEnd < end - base)
    clear(written + wholeEnd / 8, written + (end - base) / 8);
  return true;
}

//===----------------------------------------------------------------------===//
// Asking
//===----------------------------------------------------------------------===//

Memory::Allocation Memory::find(uint64_t address) const {
  auto next = allocations.upper_bound(address);
  if (next == allocations.begin())
    return {};
  auto [begin, end] = *std::prev(next);
  return address < end ? Allocation{begin, end} : Allocation{};
}

bool Memory::isValid(uint64_t address, uint64_t size) const {
  Allocation allocation = find(address);
  return allocation.end != 0 && allocation.contains(address, size);
}

//===----------------------------------------------------------------------===//
// Written bits
//===----------------------------------------------------------------------===//

void Memory::markWritten(uint64_t address, uint64_t size) {
  uint64_t bit = address - base, end = bit + size;
  for (; bit < end && bit % 8; ++bit)
    written[bit / 8] |= uint8_t(1u << bit % 8);
  if (bit < end) {
    std::memset(written + bit / 8, 0xFF, (end - bit) / 8);
    bit += (end - bit) / 8 * 8;
  }
  for (; bit < end; ++bit)
    written[bit / 8] |= uint8_t(1u << bit % 8);
}

uint64_t Memory::findUnwritten(uint64_t address, uint64_t size) const {
  uint64_t bit = address - base, end = bit + size;
  while (bit < end) {
    uint64_t word;
    if (bit % 64 == 0 && end - bit >= 64) {
      std::memcpy(&word, written + bit / 8, sizeof(word));
      if (word == UINT64_MAX) {
        bit += 64;
        continue;
      }
    }
    if (!(written[bit / 8] >> bit % 8 & 1))
      break;
    ++bit;
  }
  return base + bit;
}
