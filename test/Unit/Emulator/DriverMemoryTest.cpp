//===- DriverMemoryTest.cpp - the emulated driver: memory -----------------===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "DriverLibrary.h"

#include <numeric>
#include <thread>
#include <vector>

using namespace kvc::emu::cuda;

//===----------------------------------------------------------------------===//
// Allocations
//===----------------------------------------------------------------------===//

TEST_F(DriverTest, Allocations) {
  size_t before = 0, after = 0, total = 0;
  EXPECT_EQ(driver.cuMemGetInfo_v2(&before, &total), Success);
  DevicePointer address = 0;
  EXPECT_EQ(driver.cuMemAlloc_v2(&address, 100 << 20), Success);
  EXPECT_EQ(address % 256, 0u);
  EXPECT_EQ(driver.cuMemGetInfo_v2(&after, &total), Success);
  EXPECT_GE(before - after, size_t(100) << 20);
  DevicePointer begin = 0;
  size_t size = 0;
  EXPECT_EQ(driver.cuMemGetAddressRange_v2(&begin, &size, address + 5),
            Success);
  EXPECT_EQ(begin, address);
  EXPECT_EQ(size, size_t(100) << 20);
  EXPECT_EQ(driver.cuMemFree_v2(address + 256), InvalidValue);
  EXPECT_EQ(driver.cuMemFree_v2(address), Success);
  EXPECT_EQ(driver.cuMemFree_v2(address), InvalidValue);
  EXPECT_EQ(driver.cuMemFree_v2(0), Success);
  EXPECT_EQ(driver.cuMemAlloc_v2(&address, 0), InvalidValue);
  EXPECT_EQ(driver.cuMemAlloc_v2(nullptr, 4), InvalidValue);
  EXPECT_EQ(driver.cuMemAlloc_v2(&address, total + 1), OutOfMemory);
  EXPECT_EQ(driver.cuMemAlloc_v2(&address, SIZE_MAX), OutOfMemory);
  EXPECT_EQ(driver.cuMemAllocAsync(&address, 1000, nullptr), Success);
  EXPECT_EQ(driver.cuMemFreeAsync(address, nullptr), Success);
}

TEST_F(DriverTest, HostAllocations) {
  void *address = nullptr;
  EXPECT_EQ(driver.cuMemAllocHost_v2(&address, 1000), Success);
  static_cast<char *>(address)[999] = 1;
  EXPECT_EQ(driver.cuMemFreeHost(address), Success);
  EXPECT_EQ(driver.cuMemFreeHost(address), InvalidValue);
  EXPECT_EQ(driver.cuMemAllocHost_v2(&address, 0), InvalidValue);
}

TEST_F(DriverTest, PointerAttributes) {
  DevicePointer address = allocate(1000), value = 0;
  auto get = [&](PointerAttribute attribute, void *data, DevicePointer of) {
    return driver.cuPointerGetAttribute(data, attribute, of);
  };
  MemoryType type;
  EXPECT_EQ(get(PointerAttribute::MemoryType, &type, address + 999), Success);
  EXPECT_EQ(type, MemoryType::Device);
  EXPECT_EQ(get(PointerAttribute::DevicePointer, &value, address + 9), Success);
  EXPECT_EQ(value, address + 9);
  EXPECT_EQ(get(PointerAttribute::RangeStart, &value, address + 9), Success);
  EXPECT_EQ(value, address);
  size_t size = 0;
  EXPECT_EQ(get(PointerAttribute::RangeSize, &size, address + 9), Success);
  EXPECT_EQ(size, 1000u);
  ContextHandle owner = nullptr;
  EXPECT_EQ(get(PointerAttribute::Context, &owner, address), Success);
  EXPECT_EQ(owner, context);
  int ordinal = -1;
  EXPECT_EQ(get(PointerAttribute::DeviceOrdinal, &ordinal, address), Success);
  EXPECT_EQ(ordinal, 0);
  int local = 0;
  auto host = reinterpret_cast<DevicePointer>(&local);
  EXPECT_EQ(get(PointerAttribute::MemoryType, &type, host), InvalidValue);
  EXPECT_EQ(get(PointerAttribute::MemoryType, nullptr, address), InvalidValue);
  EXPECT_EQ(get(PointerAttribute(99), &type, address), InvalidValue);
  void *pinned = nullptr;
  EXPECT_EQ(driver.cuMemAllocHost_v2(&pinned, 64), Success);
  host = reinterpret_cast<DevicePointer>(pinned);
  EXPECT_EQ(get(PointerAttribute::MemoryType, &type, host + 63), Success);
  EXPECT_EQ(type, MemoryType::Host);
  EXPECT_EQ(driver.cuMemFreeHost(pinned), Success);
}

//===----------------------------------------------------------------------===//
// Copies and fills
//===----------------------------------------------------------------------===//

TEST_F(DriverTest, Copies) {
  std::vector<int> data(1000), back(1000);
  std::iota(data.begin(), data.end(), 0);
  size_t bytes = 4000;
  DevicePointer a = allocate(bytes), b = allocate(bytes);
  auto expectBack = [&](int first) {
    for (int i = 0; i != 1000; ++i)
      ASSERT_EQ(back[size_t(i)], first + i);
    back.assign(1000, -1);
  };
  EXPECT_EQ(driver.cuMemcpyHtoD_v2(a, data.data(), bytes), Success);
  EXPECT_EQ(driver.cuMemcpyDtoD_v2(b, a, bytes), Success);
  EXPECT_EQ(driver.cuMemcpyDtoH_v2(back.data(), b, bytes), Success);
  expectBack(0);
  StreamHandle stream = nullptr;
  EXPECT_EQ(driver.cuStreamCreate(&stream, 1), Success);
  for (int &value : data)
    value += 5;
  EXPECT_EQ(driver.cuMemcpyHtoDAsync_v2(a, data.data(), bytes, stream),
            Success);
  EXPECT_EQ(driver.cuMemcpyDtoDAsync_v2(b, a, bytes, stream), Success);
  EXPECT_EQ(driver.cuMemcpyDtoHAsync_v2(back.data(), b, bytes, stream),
            Success);
  EXPECT_EQ(driver.cuStreamSynchronize(stream), Success);
  expectBack(5);
  // By address alone.
  for (int &value : data)
    value += 5;
  auto host = [](std::vector<int> &vector) {
    return reinterpret_cast<DevicePointer>(vector.data());
  };
  EXPECT_EQ(driver.cuMemcpy(a, host(data), bytes), Success);
  EXPECT_EQ(driver.cuMemcpyAsync(host(back), a, bytes, stream), Success);
  EXPECT_EQ(driver.cuStreamSynchronize(stream), Success);
  expectBack(10);
  EXPECT_EQ(driver.cuStreamDestroy_v2(stream), Success);
}

TEST_F(DriverTest, CopiesThatAreRefused) {
  DevicePointer a = allocate(64);
  char local[128] = "";
  auto stack = reinterpret_cast<DevicePointer>(local);
  EXPECT_EQ(driver.cuMemcpyDtoH_v2(local, a, 64), Success); // Never written.
  EXPECT_EQ(driver.cuMemcpyHtoD_v2(a, local, 0), Success);
  EXPECT_EQ(driver.cuMemcpyHtoD_v2(a, nullptr, 4), InvalidValue);
  EXPECT_EQ(driver.cuMemcpyDtoH_v2(nullptr, a, 4), InvalidValue);
  EXPECT_EQ(driver.cuMemcpyHtoD_v2(0, local, 4), InvalidValue);
  EXPECT_EQ(driver.cuMemcpyHtoD_v2(stack, local, 4), InvalidValue);
  if (driver.isEmulator()) {
    // A device's allocations are larger than they were asked to be.
    EXPECT_EQ(driver.cuMemcpyHtoD_v2(a, local, 65), InvalidValue);
    EXPECT_EQ(driver.cuMemcpyHtoD_v2(a + 1, local, 64), InvalidValue);
    EXPECT_EQ(driver.cuMemcpyDtoH_v2(local, a + 64, 1), InvalidValue);
    EXPECT_EQ(driver.cuMemcpyDtoD_v2(a, a + 32, 33), InvalidValue);
    EXPECT_EQ(driver.cuMemsetD8_v2(a, 0, 65), InvalidValue);
    EXPECT_EQ(driver.cuMemcpyHtoDAsync_v2(
                  a, local, 4, reinterpret_cast<StreamHandle>(0x1234)),
              InvalidHandle);
    // A device pointer in the place of one of the host.
    auto *wrong = reinterpret_cast<void *>(a);
    EXPECT_EQ(driver.cuMemcpyDtoH_v2(wrong, a, 4), InvalidValue);
  }
  EXPECT_EQ(driver.cuMemcpyHtoD_v2(a, local, size_t(1) << 45), InvalidValue);
  EXPECT_EQ(driver.cuMemcpyHtoD_v2(a, local, SIZE_MAX), InvalidValue);
}

TEST_F(DriverTest, Fills) {
  DevicePointer a = allocate(64);
  uint8_t back[64];
  EXPECT_EQ(driver.cuMemsetD8_v2(a, 1, 64), Success);
  EXPECT_EQ(driver.cuMemsetD16_v2(a + 8, 0x0302, 4), Success);
  EXPECT_EQ(driver.cuMemsetD32_v2(a + 16, 0x07060504, 2), Success);
  EXPECT_EQ(driver.cuMemsetD32Async(a + 24, 0x07060504, 1, nullptr), Success);
  EXPECT_EQ(driver.cuMemcpyDtoH_v2(back, a, 64), Success);
  EXPECT_EQ(back[7], 1);
  EXPECT_EQ(back[8], 2);
  EXPECT_EQ(back[15], 3);
  EXPECT_EQ(back[16], 4);
  EXPECT_EQ(back[27], 7);
  EXPECT_EQ(back[28], 1);
  EXPECT_EQ(driver.cuMemsetD32_v2(a + 2, 0, 1), InvalidValue);
  EXPECT_EQ(driver.cuMemsetD16_v2(a + 1, 0, 1), InvalidValue);
  EXPECT_EQ(driver.cuMemsetD32_v2(a, 0, SIZE_MAX), InvalidValue);
  EXPECT_EQ(driver.cuMemsetD8_v2(0, 0, 1), InvalidValue);
  EXPECT_EQ(driver.cuMemsetD8_v2(a, 0, 0), Success);
}

//===----------------------------------------------------------------------===//
// Threads
//===----------------------------------------------------------------------===//

TEST_F(DriverTest, ThreadsAllocateAndCopy) {
  auto work = [&](int seed) {
    ASSERT_EQ(driver.cuCtxPushCurrent_v2(context), Success);
    StreamHandle stream = nullptr;
    ASSERT_EQ(driver.cuStreamCreate(&stream, 1), Success);
    std::vector<int> data(512), back(512);
    for (int round = 0; round != 200; ++round) {
      DevicePointer address = 0;
      data.assign(512, seed + round);
      ASSERT_EQ(driver.cuMemAlloc_v2(&address, 2048), Success);
      ASSERT_EQ(driver.cuMemcpyHtoDAsync_v2(address, data.data(), 2048, stream),
                Success);
      ASSERT_EQ(driver.cuMemcpyDtoHAsync_v2(back.data(), address, 2048, stream),
                Success);
      ASSERT_EQ(driver.cuStreamSynchronize(stream), Success);
      ASSERT_EQ(back, data);
      ASSERT_EQ(driver.cuMemFree_v2(address), Success);
    }
    ASSERT_EQ(driver.cuStreamDestroy_v2(stream), Success);
    ContextHandle popped;
    ASSERT_EQ(driver.cuCtxPopCurrent_v2(&popped), Success);
  };
  std::vector<std::thread> threads;
  for (int i = 0; i != 4; ++i)
    threads.emplace_back(work, 1000 * i);
  for (std::thread &thread : threads)
    thread.join();
}
