//===- MemoryTest.cpp - device memory -------------------------------------===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "kvc/Emulator/Memory.h"

#include <algorithm>
#include <csignal>
#include <cstring>
#include <fstream>
#include <gtest/gtest.h>
#include <map>
#include <random>
#include <vector>

using namespace kvc::emu;

/// Bytes of memory that this process occupies.
static uint64_t getResidentBytes() {
  std::ifstream file("/proc/self/statm");
  uint64_t pages = 0, resident = 0;
  file >> pages >> resident;
  return resident * 4096;
}

TEST(MemoryTest, BoundsAreExactToTheByte) {
  Memory memory(1 << 20);
  uint64_t address = memory.allocate(1001);
  ASSERT_NE(address, 0u);
  EXPECT_EQ(address % Memory::kAlignment, 0u);
  EXPECT_TRUE(memory.isValid(address, 1001));
  EXPECT_TRUE(memory.isValid(address + 1000, 1));
  EXPECT_FALSE(memory.isValid(address, 1002));
  EXPECT_FALSE(memory.isValid(address + 1000, 2));
  EXPECT_FALSE(memory.isValid(address + 1001, 1));
  EXPECT_FALSE(memory.isValid(address - 1, 1));
  EXPECT_FALSE(memory.isValid(address - 1, 2));
  EXPECT_FALSE(memory.isValid(address + 8, UINT64_MAX));
  EXPECT_FALSE(memory.isValid(0, 1));
  EXPECT_EQ(memory.find(address + 500).begin, address);
  EXPECT_EQ(memory.find(address + 500).end, address + 1001);
  EXPECT_EQ(memory.find(address + 1001).end, 0u);
  EXPECT_TRUE(memory.isDeviceAddress(address + 1001));
  EXPECT_FALSE(memory.isDeviceAddress(reinterpret_cast<uint64_t>(&memory)));
}

TEST(MemoryTest, RefusesWhatDoesNotFit) {
  Memory memory(1 << 20);
  EXPECT_EQ(memory.allocate(0), 0u);
  EXPECT_EQ(memory.allocate(1 << 20), 0u); // No room for the guard.
  EXPECT_EQ(memory.allocate(UINT64_MAX), 0u);
  EXPECT_EQ(memory.allocate(UINT64_MAX - 4095), 0u);
  EXPECT_EQ(memory.getUsed(), 0u);
  uint64_t all = memory.allocate((1 << 20) - Memory::kGuardBytes);
  EXPECT_NE(all, 0u);
  EXPECT_EQ(memory.getUsed(), memory.getCapacity());
  EXPECT_EQ(memory.allocate(1), 0u);
  EXPECT_TRUE(memory.free(all));
  EXPECT_FALSE(memory.free(all));
  EXPECT_FALSE(memory.free(0));
  uint64_t one = memory.allocate(100);
  EXPECT_FALSE(memory.free(one + 1));
  EXPECT_EQ(memory.find(one).end, one + 100);
}

TEST(MemoryTest, WithoutAddressesNothingCanBeAllocated) {
  for (uint64_t capacity : {uint64_t(0), uint64_t(1) << 60, UINT64_MAX}) {
    Memory memory(capacity);
    EXPECT_EQ(memory.getCapacity(), 0u);
    EXPECT_EQ(memory.allocate(1), 0u);
    EXPECT_FALSE(memory.isDeviceAddress(0));
    EXPECT_FALSE(memory.isValid(0, 0));
  }
}

TEST(MemoryTest, FreshBytesAreNaNAndUnwritten) {
  Memory memory(1 << 20);
  uint64_t address = memory.allocate(4096);
  float value;
  std::memcpy(&value, Memory::getBytes(address + 4092), 4);
  EXPECT_NE(value, value);
  EXPECT_EQ(memory.findUnwritten(address, 4096), address);
}

TEST(MemoryTest, WrittenBitsAreExact) {
  Memory memory(1 << 20);
  std::mt19937 random(1);
  for (int round = 0; round != 300; ++round) {
    uint64_t address = memory.allocate(1024);
    std::vector<bool> model(1024);
    for (int i = 0; i != 3; ++i) {
      uint64_t begin = random() % 1024, size = random() % (1025 - begin);
      memory.markWritten(address + begin, size);
      std::fill_n(model.begin() + long(begin), size, true);
    }
    for (int i = 0; i != 10; ++i) {
      uint64_t begin = random() % 1024, size = random() % (1025 - begin);
      auto end = model.begin() + long(begin + size);
      auto found = std::find(model.begin() + long(begin), end, false);
      EXPECT_EQ(memory.findUnwritten(address + begin, size),
                address + uint64_t(found - model.begin()));
    }
    // What is freed is forgotten.
    memory.free(address);
  }
}

TEST(MemoryTest, FreeForgetsContentsAndShadow) {
  Memory memory(1 << 24);
  // Two neighbours that share a page of bits.
  uint64_t stays = memory.allocate(100), goes = memory.allocate(5000);
  memory.markWritten(stays, 100);
  memory.markWritten(goes, 5000);
  std::memset(Memory::getBytes(goes), 7, 5000);
  memory.getSector(goes).launch = 3;
  EXPECT_TRUE(memory.free(goes));
  EXPECT_EQ(memory.allocate(5000), goes);
  EXPECT_EQ(*Memory::getBytes(goes), 0xFF);
  EXPECT_EQ(memory.findUnwritten(goes, 5000), goes);
  EXPECT_EQ(memory.getSector(goes).launch, 0u);
  EXPECT_EQ(memory.findUnwritten(stays, 100), stays + 100);
}

TEST(MemoryTest, AllocationsHaveDistance) {
  Memory memory(1 << 20);
  uint64_t first = memory.allocate(1), second = memory.allocate(4096);
  uint64_t third = memory.allocate(1);
  EXPECT_GE(second, first + 1 + Memory::kGuardBytes);
  EXPECT_GE(third, second + 4096 + Memory::kGuardBytes);
}

TEST(MemoryDeathTest, StrayDereferencesFault) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  Memory memory(1 << 20);
  uint64_t address = memory.allocate(4096);
  auto read = [](uint64_t at) {
    return *const_cast<volatile uint8_t *>(Memory::getBytes(at));
  };
  EXPECT_EQ(read(address), 0xFF);
  EXPECT_EXIT(read(address + 4096), testing::KilledBySignal(SIGSEGV), "");
  EXPECT_EXIT(read(address - 1), testing::KilledBySignal(SIGSEGV), "");
  memory.free(address);
  EXPECT_EXIT(read(address), testing::KilledBySignal(SIGSEGV), "");
}

TEST(MemoryTest, UntouchedMemoryCostsNothing) {
  Memory memory;
  uint64_t before = getResidentBytes();
  uint64_t address = memory.allocate(uint64_t(60) << 30);
  ASSERT_NE(address, 0u);
  *Memory::getBytes(address + (uint64_t(59) << 30)) = 1;
  memory.markWritten(address + (uint64_t(59) << 30), 1);
  EXPECT_LT(getResidentBytes(), before + (16 << 20));
  EXPECT_TRUE(memory.free(address));
}

// Random allocations behave as a list of ranges that do not overlap, and leave
// nothing behind.
TEST(MemoryTest, RandomAgainstModel) {
  constexpr uint64_t kCapacity = 64 << 20;
  Memory memory(kCapacity);
  std::mt19937_64 random(42);
  std::map<uint64_t, uint64_t> model; // Begin to size.
  uint64_t before = getResidentBytes();
  for (int step = 0; step != 20000; ++step) {
    if (model.empty() || random() % 100 < 55) {
      uint64_t size = 1 + random() % (uint64_t(1) << (random() % 22));
      uint64_t address = memory.allocate(size);
      if (!address)
        continue;
      auto next = model.lower_bound(address);
      if (next != model.end()) {
        ASSERT_GE(next->first, address + size + Memory::kGuardBytes);
      }
      if (next != model.begin()) {
        auto previous = std::prev(next);
        ASSERT_GE(address,
                  previous->first + previous->second + Memory::kGuardBytes);
      }
      ASSERT_EQ(memory.findUnwritten(address, size), address);
      ASSERT_EQ(memory.getSector(address).launch, 0u);
      ASSERT_EQ(*Memory::getBytes(address + size - 1), 0xFF);
      std::memset(Memory::getBytes(address), int(size & 0x7F), size);
      memory.markWritten(address, size);
      for (uint64_t i = 0; i < size; i += 32)
        memory.getSector(address + i).launch = 1;
      model[address] = size;
    } else {
      auto victim = std::next(model.begin(), long(random() % model.size()));
      auto [address, size] = *victim;
      ASSERT_EQ(*Memory::getBytes(address), size & 0x7F);
      ASSERT_EQ(*Memory::getBytes(address + size - 1), size & 0x7F);
      ASSERT_EQ(memory.findUnwritten(address, size), address + size);
      ASSERT_TRUE(memory.free(address));
      model.erase(victim);
    }
  }
  for (auto [address, size] : model)
    ASSERT_TRUE(memory.free(address));
  EXPECT_EQ(memory.getUsed(), 0u);
  EXPECT_LT(getResidentBytes(), before + (4 << 20));
  // All holes are one again.
  EXPECT_NE(memory.allocate(kCapacity - Memory::kGuardBytes), 0u);
}

TEST(MemoryTest, LaunchesHaveNumbers) {
  Memory memory(1 << 20);
  uint32_t first = memory.startLaunch();
  EXPECT_NE(first, 0u);
  EXPECT_NE(memory.startLaunch(), first);
}
