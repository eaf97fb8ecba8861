//===- DriverRandomTest.cpp - the emulated driver: calls at random --------===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Calls functions with handles and addresses that are good, old, of another
// kind, or made up. None may crash, and the driver must work afterwards.
//===----------------------------------------------------------------------===//
#include "DriverLibrary.h"

#include <random>
#include <thread>
#include <vector>

using namespace kvc::emu::cuda;

namespace {
/// Makes calls, and remembers what they gave.
class Caller {
public:
  Caller(const DriverLibrary &driver, ContextHandle context, uint32_t seed)
      : driver(driver), context(context), random(seed) {}

  void run(int count) {
    ASSERT_EQ(driver.cuCtxSetCurrent(context), Success);
    for (int i = 0; i != count; ++i)
      callOne();
    ASSERT_EQ(driver.cuCtxSetCurrent(context), Success);
  }

private:
  uint32_t pick(uint32_t count) { return uint32_t(random()) % count; }

  /// A handle that some call gave, or something else.
  template <typename Handle>
  Handle pickHandle() {
    switch (pick(10)) {
    case 0:
      return nullptr;
    case 1:
      return reinterpret_cast<Handle>(uintptr_t(pick(5)));
    case 2:
      return reinterpret_cast<Handle>(&random);
    default:
      return handles.empty() ? nullptr
                             : reinterpret_cast<Handle>(
                                   handles[pick(uint32_t(handles.size()))]);
    }
  }
  template <typename Handle>
  void keep(Handle handle) {
    if (handles.size() < 200)
      handles.push_back(reinterpret_cast<void *>(handle));
    else
      handles[pick(200)] = reinterpret_cast<void *>(handle);
  }
  DevicePointer pickAddress() {
    switch (pick(8)) {
    case 0:
      return uint64_t(0) - pick(3);
    case 1:
      return reinterpret_cast<uintptr_t>(buffer);
    default:
      return addresses.empty() ? 0
                               : addresses[pick(uint32_t(addresses.size()))] +
                                     (pick(2) ? pick(5000) : 0);
    }
  }
  /// Sizes up to that of the buffer, or one that no allocation has.
  size_t pickSize() {
    return pick(10) ? pick(sizeof(buffer)) : SIZE_MAX - pick(3);
  }
  /// Some sizes; most of a launch that is right.
  uint32_t pickExtent() {
    static const uint32_t extents[] = {1, 1, 1, 1, 2, 32, 0, 65536, 0xFFFFFFFF};
    return extents[pick(9)];
  }

  void callOne() {
    switch (pick(8)) {
    case 0:
      return callAllocation();
    case 1:
    case 2:
      return callCopy();
    case 3:
      return callStream();
    case 4:
      return callEvent();
    case 5:
      return callContext();
    case 6:
      return callModule();
    default:
      return callLaunch();
    }
  }

  void callAllocation() {
    DevicePointer address = 0;
    size_t size = 0;
    void *host = nullptr;
    uint64_t word = 0;
    switch (pick(7)) {
    case 0:
    case 1:
      if (driver.cuMemAlloc_v2(&address, pick(4097)) == Success)
        addresses.push_back(address);
      break;
    case 2:
      driver.cuMemFree_v2(pickAddress());
      break;
    case 3:
      if (driver.cuMemAllocAsync(&address, pick(4097),
                                 pickHandle<StreamHandle>()) == Success)
        addresses.push_back(address);
      break;
    case 4:
      driver.cuMemFreeAsync(pickAddress(), pickHandle<StreamHandle>());
      break;
    case 5:
      driver.cuMemGetAddressRange_v2(&address, &size, pickAddress());
      driver.cuPointerGetAttribute(&word, PointerAttribute(pick(30)),
                                   pickAddress());
      break;
    default:
      if (driver.cuMemAllocHost_v2(&host, pick(100)) == Success) {
        driver.cuMemFreeHost(host);
      }
      driver.cuMemFreeHost(pickHandle<void *>());
    }
  }

  void callCopy() {
    auto stream = pickHandle<StreamHandle>();
    switch (pick(8)) {
    case 0:
      driver.cuMemcpyHtoD_v2(pickAddress(), buffer, pickSize());
      break;
    case 1:
      driver.cuMemcpyDtoH_v2(buffer, pickAddress(), pickSize());
      break;
    case 2:
      driver.cuMemcpyDtoD_v2(pickAddress(), pickAddress(), pickSize());
      break;
    case 3:
      driver.cuMemcpyHtoDAsync_v2(pickAddress(), buffer, pickSize(), stream);
      break;
    case 4:
      driver.cuMemcpyDtoHAsync_v2(buffer, pickAddress(), pickSize(), stream);
      break;
    case 5:
      driver.cuMemsetD8_v2(pickAddress(), 1, pickSize());
      break;
    case 6:
      driver.cuMemsetD32Async(pickAddress(), 2, pickSize(), stream);
      break;
    default:
      driver.cuMemsetD16_v2(pickAddress(), 3, pickSize());
    }
  }

  void callStream() {
    StreamHandle stream = nullptr;
    uint32_t flags = 0;
    switch (pick(6)) {
    case 0:
      if (driver.cuStreamCreate(&stream, pick(3)) == Success)
        keep(stream);
      break;
    case 1:
      driver.cuStreamDestroy_v2(pickHandle<StreamHandle>());
      break;
    case 2:
      driver.cuStreamSynchronize(pickHandle<StreamHandle>());
      break;
    case 3:
      driver.cuStreamWaitEvent(pickHandle<StreamHandle>(),
                               pickHandle<EventHandle>(), pick(3));
      break;
    case 4:
      driver.cuStreamGetFlags(pickHandle<StreamHandle>(), &flags);
      break;
    default:
      driver.cuStreamQuery(pickHandle<StreamHandle>());
    }
  }

  void callEvent() {
    EventHandle event = nullptr;
    float time = 0;
    switch (pick(5)) {
    case 0:
      if (driver.cuEventCreate(&event, pick(9)) == Success)
        keep(event);
      break;
    case 1:
      driver.cuEventDestroy_v2(pickHandle<EventHandle>());
      break;
    case 2:
      driver.cuEventRecord(pickHandle<EventHandle>(),
                           pickHandle<StreamHandle>());
      break;
    case 3:
      driver.cuEventSynchronize(pickHandle<EventHandle>());
      break;
    default:
      driver.cuEventElapsedTime(&time, pickHandle<EventHandle>(),
                                pickHandle<EventHandle>());
    }
  }

  void callContext() {
    ContextHandle other = nullptr;
    switch (pick(8)) {
    case 0:
      if (driver.cuCtxCreate_v2(&other, pick(2), int(pick(2))) == Success)
        keep(other);
      break;
    case 1:
      driver.cuCtxDestroy_v2(pickHandle<ContextHandle>());
      break;
    case 2:
      driver.cuCtxPushCurrent_v2(pickHandle<ContextHandle>());
      break;
    case 3:
      driver.cuCtxPopCurrent_v2(&other);
      break;
    case 4:
      driver.cuCtxSynchronize();
      break;
    default:
      driver.cuCtxSetCurrent(context);
    }
  }

  void callModule() {
    ModuleHandle module = nullptr;
    FunctionHandle function = nullptr;
    static const char *const names[] = {"store", "count",   "bounded", "shared",
                                        "scale", "nothing", "",        nullptr};
    DevicePointer address = 0;
    size_t size = 0;
    int value = 0;
    switch (pick(6)) {
    case 0:
      if (pick(20) == 0 &&
          driver.cuModuleLoadData(&module, kDriverKernels) == Success)
        keep(module);
      break;
    case 1:
      driver.cuModuleUnload(pickHandle<ModuleHandle>());
      break;
    case 2:
      driver.cuModuleGetGlobal_v2(&address, &size, pickHandle<ModuleHandle>(),
                                  pick(2) ? "counter" : "nothing");
      break;
    case 3:
      driver.cuFuncGetAttribute(&value, FunctionAttribute(pick(20)),
                                pickHandle<FunctionHandle>());
      driver.cuFuncSetAttribute(pickHandle<FunctionHandle>(),
                                FunctionAttribute(pick(20)),
                                int(pick(300000)) - 1000);
      break;
    default:
      if (driver.cuModuleGetFunction(&function, pickHandle<ModuleHandle>(),
                                     names[pick(8)]) == Success)
        keep(function);
    }
  }

  void callLaunch() {
    DevicePointer address = pickAddress();
    uint32_t numbers[2] = {pick(100), pick(100)};
    void *parameters[] = {&address, &numbers[0],
                          pick(9) ? &numbers[1] : nullptr};
    int blocks = 0;
    uint32_t grid = pickExtent();
    // Few threads in all, where the launch is right.
    driver.cuLaunchKernel(
        pickHandle<FunctionHandle>(), grid == 65536 ? 3 : grid, 1, 1,
        pickExtent(), pick(9) ? 1 : pickExtent(), 1, pick(3) ? 0 : pick(250000),
        pickHandle<StreamHandle>(), pick(9) ? parameters : nullptr, nullptr);
    driver.cuOccupancyMaxActiveBlocksPerMultiprocessor(
        &blocks, pickHandle<FunctionHandle>(), int(pick(1100)), pick(300000));
  }

  const DriverLibrary &driver;
  ContextHandle context;
  std::mt19937 random;
  std::vector<void *> handles;
  std::vector<DevicePointer> addresses;
  char buffer[8192] = "";
};
} // namespace

TEST_F(DriverTest, CallsAtRandom) {
  if (!driver.isEmulator())
    GTEST_SKIP() << "old handles crash a real driver";
  // What the kernels do wrong is no matter here.
  ASSERT_EQ(driver.setOptions("max-reports=0,max-instructions=10000"), 0);
  testing::internal::CaptureStderr();
  std::vector<std::thread> threads;
  for (uint32_t seed = 1; seed != 4; ++seed)
    threads.emplace_back(
        [&, seed] { Caller(driver, context, seed).run(20000); });
  for (std::thread &thread : threads)
    thread.join();
  testing::internal::GetCapturedStderr();
  driver.cuCtxSynchronize();

  // It still works.
  ASSERT_EQ(driver.setOptions(nullptr), 0);
  DevicePointer data = allocate(4);
  uint32_t value = 0;
  void *parameters[] = {&data};
  EXPECT_EQ(driver.cuLaunchKernel(findKernel("store"), 1, 1, 1, 1, 1, 1, 0,
                                  nullptr, parameters, nullptr),
            Success);
  EXPECT_EQ(driver.cuMemcpyDtoH_v2(&value, data, 4), Success);
  EXPECT_EQ(value, 42u);
}
