//===- Memory.h - device memory ---------------------------------*- C++ -*-===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef KVC_EMULATOR_MEMORY_H
#define KVC_EMULATOR_MEMORY_H

#include <cstdint>
#include <map>
#include <string>

namespace kvc::emu {

/// The global memory of a device: a range of addresses of this process that is
/// inaccessible but for the allocations in it, so that a stray dereference on
/// the host faults, as it would with a real device. Allocations lie at least
/// `kGuardBytes` apart. Memory that was never touched costs nothing.
///
/// Beside each byte lies whether it was ever written, and beside each sector of
/// 32 bytes who accessed it last during the running launch.
class Memory {
public:
  static constexpr uint64_t kAlignment = 256;   ///< Of an allocation, bytes.
  static constexpr uint64_t kGuardBytes = 4096; ///< At least, after each.

  /// Reserves addresses for `capacity` bytes; the default is that of an H100.
  /// Nothing can be allocated if the system has no such range.
  explicit Memory(uint64_t capacity = uint64_t(80) << 30);
  ~Memory();
  Memory(const Memory &) = delete;
  Memory &operator=(const Memory &) = delete;

  /// Allocates `size` bytes, not yet written. Returns 0 if there is no room.
  uint64_t allocate(uint64_t size);
  /// Frees the allocation that starts at `address`; false if there is none.
  bool free(uint64_t address);

  struct Allocation {
    uint64_t begin = 0; ///< Address.
    uint64_t end = 0;   ///< One past the last byte.
    bool contains(uint64_t address, uint64_t size) const {
      return address >= begin && address <= end && size <= end - address;
    }
  };
  /// The allocation that holds `address`; an empty one if none does.
  Allocation find(uint64_t address) const;
  /// True if `size` bytes at `address` lie in one allocation.
  bool isValid(uint64_t address, uint64_t size) const;
  /// True if `address` is anywhere in the range of the device.
  bool isDeviceAddress(uint64_t address) const {
    return address - base < capacity;
  }

  /// Bytes at a valid address.
  static uint8_t *getBytes(uint64_t address) {
    return reinterpret_cast<uint8_t *>(address);
  }
  /// Marks bytes of an allocation as written.
  void markWritten(uint64_t address, uint64_t size);
  /// The first byte of `size` that was never written; `address + size` if all
  /// were.
  uint64_t findUnwritten(uint64_t address, uint64_t size) const;

  uint64_t getCapacity() const { return capacity; }
  uint64_t getUsed() const { return used; } ///< Bytes, guards included.

  /// One bit a byte of the device: written.
  uint8_t *getWrittenBits() const { return written; }
  /// Those of the sector that holds `address`, the first byte in the lowest bit.
  uint32_t &getWrittenBitsOfSector(uint64_t address) const {
    return reinterpret_cast<uint32_t *>(written)[(address - base) / 32];
  }
  /// The last accesses to a sector during launch `launch`.
  struct Sector {
    /// Accesses of a warp at one time of its clock to the bytes of `mask`.
    struct Entry {
      uint32_t warp, clock, mask;
    };
    uint32_t launch;
    uint32_t strong; ///< A bit for each writer, then each reader: it was strong.
    uint32_t copies; ///< Lanes whose asynchronous copy from here is in flight.
    uint32_t padding;
    Entry writers[2], readers[2];
  };
  Sector &getSector(uint64_t address) const {
    return sectors[(address - base) / 32];
  }
  /// A number that no launch had before.
  uint32_t startLaunch() { return ++numLaunches; }

private:
  uint64_t base = 0, capacity = 0, used = 0;
  uint8_t *written = nullptr;
  Sector *sectors = nullptr;
  uint32_t numLaunches = 0;
  std::map<uint64_t, uint64_t> allocations; ///< Begin to end.
  std::map<uint64_t, uint64_t> holes;       ///< Begin to size, whole pages.
};

} // namespace kvc::emu

#endif // KVC_EMULATOR_MEMORY_H
