//===- DriverTest.cpp - the emulated driver: device, contexts, streams ----===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "DriverLibrary.h"

#include <cstring>
#include <thread>
#include <vector>

using namespace kvc::emu::cuda;

//===----------------------------------------------------------------------===//
// The library
//===----------------------------------------------------------------------===//

TEST(DriverLibraryTest, HasAllEntryPoints) {
  const DriverLibrary &driver = getDriverLibrary();
#define KVC_CUDA_ENTRY(base, since, name, parameters)                          \
  EXPECT_NE(driver.name, nullptr) << #name;
#define KVC_CUDA_UNSUPPORTED(base, since, name)                                \
  EXPECT_NE(driver.find(#name), nullptr) << #name;
#include "Emulator/Driver/EntryPoints.def"
}

TEST_F(DriverTest, UnsupportedFunctionsSaySo) {
  if (!driver.isEmulator())
    GTEST_SKIP() << "a real driver supports them";
#define KVC_CUDA_UNSUPPORTED(base, since, name)                                \
  EXPECT_EQ(reinterpret_cast<Result (*)()>(driver.find(#name))(),              \
            NotSupported)                                                      \
      << #name;
#include "Emulator/Driver/EntryPoints.def"
}

TEST_F(DriverTest, ProcAddress) {
  void *function = nullptr;
  SymbolStatus status;
  auto find = [&](const char *name, int version) {
    EXPECT_EQ(driver.cuGetProcAddress_v2(name, &function, version, 0, &status),
              Success);
    return status;
  };
  EXPECT_EQ(find("cuMemAlloc", 12000), SymbolStatus::Found);
  if (driver.isEmulator()) {
    EXPECT_EQ(function, reinterpret_cast<void *>(driver.cuMemAlloc_v2));
    EXPECT_EQ(find("cuEventElapsedTime", 12000), SymbolStatus::Found);
    EXPECT_EQ(function, reinterpret_cast<void *>(driver.cuEventElapsedTime));
    EXPECT_EQ(find("cuEventElapsedTime", 13000), SymbolStatus::Found);
    EXPECT_EQ(function, reinterpret_cast<void *>(driver.cuEventElapsedTime_v2));
  }
  EXPECT_EQ(find("cuLaunchKernelEx", 9000), SymbolStatus::TooOld);
  EXPECT_EQ(function, nullptr);
  EXPECT_EQ(find("cuNonsense", 13000), SymbolStatus::NotFound);
  EXPECT_EQ(function, nullptr);
  EXPECT_EQ(driver.cuGetProcAddress_v2(nullptr, &function, 13000, 0, nullptr),
            InvalidValue);
  EXPECT_EQ(driver.cuGetProcAddress_v2("cuInit", nullptr, 13000, 0, nullptr),
            InvalidValue);
}

TEST_F(DriverTest, ErrorNames) {
  const char *text = nullptr;
  EXPECT_EQ(driver.cuGetErrorName(IllegalAddress, &text), Success);
  EXPECT_STREQ(text, "CUDA_ERROR_ILLEGAL_ADDRESS");
  EXPECT_EQ(driver.cuGetErrorString(IllegalAddress, &text), Success);
  EXPECT_STREQ(text, "an illegal memory access was encountered");
  EXPECT_EQ(driver.cuGetErrorName(Result(12345), &text), InvalidValue);
  EXPECT_EQ(text, nullptr);
#define KVC_CUDA_RESULT(id, value, name, string)                               \
  EXPECT_EQ(driver.cuGetErrorName(Result(value), &text), Success);             \
  EXPECT_STREQ(text, name);                                                    \
  EXPECT_EQ(driver.cuGetErrorString(Result(value), &text), Success);           \
  EXPECT_STREQ(text, string);
#include "Emulator/Driver/Results.def"
}

TEST_F(DriverTest, Versions) {
  int version = 0;
  EXPECT_EQ(driver.cuDriverGetVersion(&version), Success);
  EXPECT_GE(version, 13000);
  EXPECT_EQ(driver.cuDriverGetVersion(nullptr), InvalidValue);
  EXPECT_EQ(driver.cuInit(1), InvalidValue);
  EXPECT_EQ(driver.beforeInit, NotInitialized);
}

//===----------------------------------------------------------------------===//
// The device
//===----------------------------------------------------------------------===//

TEST_F(DriverTest, Device) {
  int count = 0;
  Device device = -1;
  EXPECT_EQ(driver.cuDeviceGetCount(&count), Success);
  EXPECT_GE(count, 1);
  EXPECT_EQ(driver.cuDeviceGet(&device, 0), Success);
  EXPECT_EQ(device, 0);
  EXPECT_EQ(driver.cuDeviceGet(&device, count), InvalidDevice);
  EXPECT_EQ(driver.cuDeviceGet(&device, -1), InvalidDevice);
  EXPECT_EQ(driver.cuDeviceGet(nullptr, 0), InvalidValue);
  char name[8] = "";
  EXPECT_EQ(driver.cuDeviceGetName(name, sizeof(name), 0), Success);
  EXPECT_EQ(std::strlen(name), 7u);
  EXPECT_EQ(driver.cuDeviceGetName(name, 0, 0), InvalidValue);
  EXPECT_EQ(driver.cuDeviceGetName(name, sizeof(name), 99), InvalidDevice);
  size_t bytes = 0;
  EXPECT_EQ(driver.cuDeviceTotalMem_v2(&bytes, 0), Success);
  EXPECT_GE(bytes, size_t(79) << 30);
  Uuid uuid;
  EXPECT_EQ(driver.cuDeviceGetUuid_v2(&uuid, 0), Success);
}

TEST_F(DriverTest, DeviceAttributes) {
  auto get = [&](int attribute) {
    int value = -1;
    EXPECT_EQ(driver.cuDeviceGetAttribute(&value, attribute, 0), Success)
        << attribute;
    return value;
  };
  EXPECT_EQ(get(1), 1024);
  EXPECT_EQ(get(4), 64);
  EXPECT_EQ(get(5), 0x7FFFFFFF);
  EXPECT_EQ(get(6), 65535);
  EXPECT_EQ(get(8), 48 * 1024);
  EXPECT_EQ(get(10), 32);
  EXPECT_EQ(get(12), 65536);
  EXPECT_EQ(get(16), 132);
  EXPECT_EQ(get(39), 2048);
  EXPECT_EQ(get(75), 9);
  EXPECT_EQ(get(76), 0);
  EXPECT_EQ(get(81), 228 * 1024);
  EXPECT_EQ(get(97), 227 * 1024);
  EXPECT_EQ(get(106), 32);
  EXPECT_EQ(get(111), 1024);
  int value;
  EXPECT_EQ(driver.cuDeviceGetAttribute(&value, 0, 0), InvalidValue);
  EXPECT_EQ(driver.cuDeviceGetAttribute(&value, 10000, 0), InvalidValue);
  EXPECT_EQ(driver.cuDeviceGetAttribute(nullptr, 1, 0), InvalidValue);
  EXPECT_EQ(driver.cuDeviceGetAttribute(&value, 1, 99), InvalidDevice);
}

//===----------------------------------------------------------------------===//
// Contexts
//===----------------------------------------------------------------------===//

TEST_F(DriverTest, PrimaryContextIsCounted) {
  ContextHandle again = nullptr;
  EXPECT_EQ(driver.cuDevicePrimaryCtxRetain(&again, 0), Success);
  EXPECT_EQ(again, context);
  EXPECT_EQ(driver.cuDevicePrimaryCtxRelease_v2(0), Success);
  uint32_t flags = 99;
  int active = -1;
  EXPECT_EQ(driver.cuDevicePrimaryCtxGetState(0, &flags, &active), Success);
  EXPECT_EQ(active, 1);
  EXPECT_EQ(driver.cuDevicePrimaryCtxRetain(nullptr, 0), InvalidValue);
  EXPECT_EQ(driver.cuDevicePrimaryCtxRetain(&again, 99), InvalidDevice);
}

TEST_F(DriverTest, ContextStack) {
  ContextHandle current = nullptr, other = nullptr, top = nullptr;
  EXPECT_EQ(driver.cuCtxCreate_v4(&other, nullptr, 0, 0), Success);
  EXPECT_EQ(driver.cuCtxGetCurrent(&current), Success);
  EXPECT_EQ(current, other);
  EXPECT_EQ(driver.cuCtxPushCurrent_v2(context), Success);
  EXPECT_EQ(driver.cuCtxPopCurrent_v2(&top), Success);
  EXPECT_EQ(top, context);
  EXPECT_EQ(driver.cuCtxDestroy_v2(other), Success);
  EXPECT_EQ(driver.cuCtxGetCurrent(&current), Success);
  EXPECT_EQ(current, context);
  if (driver.isEmulator()) {
    EXPECT_EQ(driver.cuCtxDestroy_v2(other), InvalidContext);
    EXPECT_EQ(driver.cuCtxPushCurrent_v2(other), InvalidContext);
    EXPECT_EQ(driver.cuCtxSetCurrent(other), InvalidContext);
  }
  Device device = -1;
  EXPECT_EQ(driver.cuCtxGetDevice(&device), Success);
  EXPECT_EQ(device, 0);
}

TEST_F(DriverTest, WithoutContext) {
  std::thread([&] {
    ContextHandle current = context;
    EXPECT_EQ(driver.cuCtxGetCurrent(&current), Success);
    EXPECT_EQ(current, nullptr);
    EXPECT_EQ(driver.cuCtxPopCurrent_v2(&current), InvalidContext);
    DevicePointer address;
    EXPECT_EQ(driver.cuMemAlloc_v2(&address, 4), InvalidContext);
    EXPECT_EQ(driver.cuCtxSynchronize(), InvalidContext);
    Device device;
    EXPECT_EQ(driver.cuCtxGetDevice(&device), InvalidContext);
    StreamHandle stream;
    EXPECT_EQ(driver.cuStreamCreate(&stream, 0), InvalidContext);
    EXPECT_EQ(driver.cuModuleLoadData(&module, kDriverKernels), InvalidContext);
    EXPECT_EQ(driver.cuCtxSetCurrent(context), Success);
    EXPECT_EQ(driver.cuMemAlloc_v2(&address, 4), Success);
    EXPECT_EQ(driver.cuMemFree_v2(address), Success);
  }).join();
}

TEST_F(DriverTest, DestroyedContextOfAnotherThread) {
  if (!driver.isEmulator())
    GTEST_SKIP() << "undefined in a real driver";
  ContextHandle other = nullptr, popped = nullptr;
  EXPECT_EQ(driver.cuCtxCreate_v2(&other, 0, 0), Success);
  DevicePointer address = allocate(1000);
  std::thread([&] {
    EXPECT_EQ(driver.cuCtxDestroy_v2(other), Success);
  }).join();
  DevicePointer unused;
  EXPECT_EQ(driver.cuMemAlloc_v2(&unused, 4), ContextIsDestroyed);
  EXPECT_EQ(driver.cuCtxPopCurrent_v2(&popped), Success);
  // Its memory went with it.
  EXPECT_EQ(driver.cuMemFree_v2(address), InvalidValue);
}

TEST_F(DriverTest, Limits) {
  size_t value = 0;
  EXPECT_EQ(driver.cuCtxGetLimit(&value, Limit::StackSize), Success);
  EXPECT_GT(value, 0u);
  EXPECT_EQ(driver.cuCtxGetLimit(&value, Limit(1000)), UnsupportedLimit);
  int least = -1, greatest = 1;
  EXPECT_EQ(driver.cuCtxGetStreamPriorityRange(&least, &greatest), Success);
  EXPECT_EQ(least, 0);
  EXPECT_LT(greatest, 0);
}

//===----------------------------------------------------------------------===//
// Streams and events
//===----------------------------------------------------------------------===//

TEST_F(DriverTest, Streams) {
  StreamHandle stream = nullptr;
  EXPECT_EQ(driver.cuStreamCreate(&stream, 1), Success);
  uint32_t flags = 0;
  EXPECT_EQ(driver.cuStreamGetFlags(stream, &flags), Success);
  EXPECT_EQ(flags, 1u);
  ContextHandle owner = nullptr;
  EXPECT_EQ(driver.cuStreamGetCtx(stream, &owner), Success);
  EXPECT_EQ(owner, context);
  int capturing = -1;
  EXPECT_EQ(driver.cuStreamIsCapturing(stream, &capturing), Success);
  EXPECT_EQ(capturing, 0);
  EXPECT_EQ(driver.cuStreamSynchronize(stream), Success);
  EXPECT_EQ(driver.cuStreamQuery(stream), Success);
  EXPECT_EQ(driver.cuStreamDestroy_v2(stream), Success);
  EXPECT_EQ(driver.cuStreamCreate(&stream, 99), InvalidValue);
  EXPECT_EQ(driver.cuStreamCreate(nullptr, 0), InvalidValue);
  EXPECT_EQ(driver.cuStreamDestroy_v2(nullptr), InvalidHandle);
  // The streams that are always there.
  for (uintptr_t number : {0, 1, 2})
    EXPECT_EQ(
        driver.cuStreamSynchronize(reinterpret_cast<StreamHandle>(number)),
        Success);
  int priority = 1;
  EXPECT_EQ(driver.cuStreamCreateWithPriority(&stream, 0, -100), Success);
  EXPECT_EQ(driver.cuStreamGetPriority(stream, &priority), Success);
  EXPECT_EQ(priority, -5);
  EXPECT_EQ(driver.cuStreamDestroy_v2(stream), Success);
  if (driver.isEmulator()) {
    EXPECT_EQ(driver.cuStreamSynchronize(stream), InvalidHandle);
    EXPECT_EQ(driver.cuStreamDestroy_v2(stream), InvalidHandle);
  }
}

TEST_F(DriverTest, Events) {
  StreamHandle stream = nullptr;
  EventHandle begin = nullptr, end = nullptr;
  float milliseconds = -1;
  EXPECT_EQ(driver.cuStreamCreate(&stream, 1), Success);
  EXPECT_EQ(driver.cuEventCreate(&begin, 0), Success);
  EXPECT_EQ(driver.cuEventCreate(&end, 0), Success);
  EXPECT_EQ(driver.cuEventElapsedTime(&milliseconds, begin, end),
            InvalidHandle);
  EXPECT_EQ(driver.cuEventQuery(begin), Success);
  EXPECT_EQ(driver.cuEventSynchronize(begin), Success);
  EXPECT_EQ(driver.cuEventRecord(begin, stream), Success);
  DevicePointer address = allocate(4096);
  EXPECT_EQ(driver.cuMemsetD8Async(address, 0, 4096, stream), Success);
  EXPECT_EQ(driver.cuEventRecord(end, stream), Success);
  EXPECT_EQ(driver.cuStreamWaitEvent(nullptr, end, 0), Success);
  EXPECT_EQ(driver.cuEventSynchronize(end), Success);
  EXPECT_EQ(driver.cuEventElapsedTime(&milliseconds, begin, end), Success);
  EXPECT_GT(milliseconds, 0);
  EXPECT_EQ(driver.cuEventElapsedTime_v2(&milliseconds, begin, end), Success);
  if (driver.isEmulator()) {
    EXPECT_FLOAT_EQ(milliseconds, 0.002f);
    EXPECT_EQ(driver.cuEventElapsedTime_v2(&milliseconds, end, begin), Success);
    EXPECT_FLOAT_EQ(milliseconds, -0.002f);
  }
  EXPECT_EQ(driver.cuEventDestroy_v2(end), Success);
  EXPECT_EQ(driver.cuEventCreate(&end, 2), Success);
  EXPECT_EQ(driver.cuEventRecord(end, stream), Success);
  EXPECT_EQ(driver.cuEventElapsedTime(&milliseconds, begin, end),
            InvalidHandle);
  EXPECT_EQ(driver.cuEventCreate(&end, 99), InvalidValue);
  EXPECT_EQ(driver.cuEventRecord(nullptr, stream), InvalidHandle);
  EXPECT_EQ(driver.cuStreamWaitEvent(stream, nullptr, 0), InvalidHandle);
  EXPECT_EQ(driver.cuEventDestroy_v2(nullptr), InvalidHandle);
  EXPECT_EQ(driver.cuStreamDestroy_v2(stream), Success);
}

TEST_F(DriverTest, HostFunctions) {
  static bool ran;
  ran = false;
  auto function = [](void *data) {
    // A host function may take its time, but here it does not.
    *static_cast<bool *>(data) = true;
  };
  EXPECT_EQ(driver.cuLaunchHostFunc(nullptr, function, &ran), Success);
  EXPECT_EQ(driver.cuStreamSynchronize(nullptr), Success);
  EXPECT_TRUE(ran);
  EXPECT_EQ(driver.cuLaunchHostFunc(nullptr, nullptr, &ran), InvalidValue);
}
