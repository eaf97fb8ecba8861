//===- DeviceTest.cpp - devices and their memory --------------------------===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//
//===----------------------------------------------------------------------===//
#include "DeviceFixture.h"

#include <array>
#include <thread>

using namespace kvc::rt;

namespace {
/// Tests that open devices themselves.
class DriverTest : public testing::Test {
protected:
  void SetUp() override { cuda.reset(); }

  FakeCUDA &cuda = *kvc_fake_cuda();
  kvc_device_t *device = nullptr;
  kvc_device_info_t info = {};
  int32_t count = -1;
};
using DeviceTest = DeviceFixture;
} // namespace

//===----------------------------------------------------------------------===//
// Drivers
//===----------------------------------------------------------------------===//

TEST_F(DriverTest, CountAndDescribe) {
  cuda.numDevices = 3;
  EXPECT_OK(kvc_device_count(KVC_FAKE_CUDA, &count));
  EXPECT_EQ(count, 3);
  EXPECT_OK(kvc_device_describe(KVC_FAKE_CUDA, 2, &info));
  EXPECT_EQ(info.struct_size, sizeof(info));
  EXPECT_STREQ(info.name, "Fake 2");
  EXPECT_EQ(info.num_multiprocessors, 7);
  EXPECT_EQ(info.compute_major, 9);
  EXPECT_EQ(info.compute_minor, 0);
  EXPECT_EQ(info.driver_version, 12040);
  EXPECT_EQ(info.total_memory, uint64_t{1} << 30);
  EXPECT_EQ(cuda.numContexts, 0);
  for (int32_t ordinal : {-1, 3})
    EXPECT_FAILS(
        kvc_device_describe(KVC_FAKE_CUDA, ordinal, &info),
        KVC_STATUS_NOT_FOUND,
        "expected a device from 0 to 2 of the driver in '" KVC_FAKE_CUDA
        "', got " +
            std::to_string(ordinal));
  EXPECT_FAILS(kvc_device_count(KVC_FAKE_CUDA, nullptr),
               KVC_STATUS_INVALID_ARGUMENT, "expected out_count, got null");
  EXPECT_FAILS(kvc_device_describe(KVC_FAKE_CUDA, 0, nullptr),
               KVC_STATUS_INVALID_ARGUMENT, "expected out_info, got null");
}

TEST_F(DriverTest, MissingLibrary) {
  EXPECT_FAILS(kvc_device_create_cuda("/nowhere/libcuda.so", 0, &device),
               KVC_STATUS_NOT_FOUND,
               "expected CUDA's driver in '/nowhere/libcuda.so', which cannot "
               "be loaded");
  EXPECT_FAILS(kvc_device_count("", &count), KVC_STATUS_INVALID_ARGUMENT,
               "expected the path of a library or null, got an empty text");
  EXPECT_EQ(device, nullptr);
  EXPECT_EQ(count, -1);
}

TEST_F(DriverTest, MissingEntryPoint) {
  for (int round = 0; round < 2; ++round) // is not remembered as loaded
    EXPECT_FAILS(kvc_device_count(KVC_FAKE_CUDA_INCOMPLETE, &count),
                 KVC_STATUS_UNSUPPORTED,
                 "expected CUDA's driver in '" KVC_FAKE_CUDA_INCOMPLETE
                 "', which has no 'cuLaunchKernel'");
}

TEST_F(DriverTest, NoDevice) {
  cuda.numDevices = 0;
  EXPECT_OK(kvc_device_count(KVC_FAKE_CUDA, &count));
  EXPECT_EQ(count, 0);
  EXPECT_FAILS(kvc_device_create_cuda(KVC_FAKE_CUDA, 0, &device),
               KVC_STATUS_NOT_FOUND,
               "expected a device of the driver in '" KVC_FAKE_CUDA
               "', which sees none");
}

TEST_F(DriverTest, OldDriver) {
  cuda.driverVersion = 11080;
  EXPECT_FAILS(kvc_device_create_cuda(KVC_FAKE_CUDA, 0, &device),
               KVC_STATUS_UNSUPPORTED,
               "expected a driver of CUDA 12.0 or later in '" KVC_FAKE_CUDA
               "', got 11.8");
  cuda.driverVersion = 12000;
  EXPECT_OK(kvc_device_create_cuda(KVC_FAKE_CUDA, 0, &device));
  kvc_device_release(device);
}

// Every call on the way to a device fails once; nothing is left each time.
TEST_F(DriverTest, OpeningFails) {
  for (const char *name :
       {"cuInit", "cuDriverGetVersion", "cuDeviceGetCount", "cuDeviceGet",
        "cuDeviceGetAttribute", "cuDeviceTotalMem_v2", "cuDeviceGetName",
        "cuDevicePrimaryCtxRetain", "cuCtxPushCurrent_v2", "cuStreamCreate"}) {
    cuda.failCall(name, 3);
    EXPECT_FAILS(kvc_device_create_cuda(KVC_FAKE_CUDA, 0, &device),
                 KVC_STATUS_DEVICE_ERROR,
                 std::string(name) + ": CUDA_ERROR_OTHER (3): text of the fake "
                                     "driver");
    EXPECT_EQ(device, nullptr);
    EXPECT_EQ(cuda.numContexts, 0);
    EXPECT_TRUE(cuda.streams.empty());
    EXPECT_TRUE(cuda.failures.empty());
  }
  cuda.failCall("cuDeviceGet", kUnknownToDriver);
  EXPECT_FAILS(kvc_device_create_cuda(KVC_FAKE_CUDA, 0, &device),
               KVC_STATUS_DEVICE_ERROR,
               "cuDeviceGet: an unknown error (999): no text");
  EXPECT_OK(kvc_device_create_cuda(KVC_FAKE_CUDA, 0, &device));
  kvc_device_release(device);
}

//===----------------------------------------------------------------------===//
// Devices
//===----------------------------------------------------------------------===//

TEST_F(DeviceTest, Info) {
  kvc_device_info_t info = {};
  EXPECT_OK(kvc_device_info(device, &info));
  EXPECT_STREQ(info.name, "Fake 0");
  EXPECT_EQ(cuda.numContexts, 1);
  EXPECT_FAILS(kvc_device_info(device, nullptr), KVC_STATUS_INVALID_ARGUMENT,
               "expected out_info, got null");
}

// Handles of one ordinal are one device, and it stays until the last is gone.
TEST_F(DeviceTest, HandlesShareADevice) {
  cuda.numDevices = 2;
  kvc_device_t *again = nullptr, *other = nullptr;
  ASSERT_OK(kvc_device_create_cuda(KVC_FAKE_CUDA, 0, &again));
  ASSERT_OK(kvc_device_create_cuda(KVC_FAKE_CUDA, 1, &other));
  EXPECT_NE(again, device);
  EXPECT_EQ(cuda.numContexts, 2);
  void *data = nullptr;
  ASSERT_OK(kvc_device_allocate(device, 100, &data));
  EXPECT_FAILS(kvc_device_free(other, data), KVC_STATUS_INVALID_ARGUMENT,
               "expected memory that kvc_device_allocate gave on device 'Fake "
               "1', got ");
  kvc_device_release(device);
  EXPECT_FAILS(kvc_device_free(device, data), KVC_STATUS_INVALID_ARGUMENT,
               "expected a device, got one that was released");
  EXPECT_OK(kvc_device_free(again, data));
  kvc_device_release(again);
  kvc_device_release(other);
  EXPECT_EQ(cuda.numContexts, 0);
}

TEST_F(DeviceTest, WrongHandles) {
  int local = 0;
  void *data = nullptr;
  kvc_stream_t *stream = nullptr;
  for (auto *bad :
       {reinterpret_cast<kvc_device_t *>(&local), (kvc_device_t *)nullptr}) {
    kvc_device_info_t info;
    const char *text = "expected a device, got ";
    EXPECT_FAILS(kvc_device_info(bad, &info), KVC_STATUS_INVALID_ARGUMENT,
                 text);
    EXPECT_FAILS(kvc_device_allocate(bad, 1, &data),
                 KVC_STATUS_INVALID_ARGUMENT, text);
    EXPECT_FAILS(kvc_device_free(bad, &local), KVC_STATUS_INVALID_ARGUMENT,
                 text);
    EXPECT_FAILS(kvc_device_upload(bad, &local, &local, 4),
                 KVC_STATUS_INVALID_ARGUMENT, text);
    EXPECT_FAILS(kvc_device_download(bad, &local, &local, 4),
                 KVC_STATUS_INVALID_ARGUMENT, text);
    EXPECT_FAILS(kvc_device_fill(bad, &local, 0, 4),
                 KVC_STATUS_INVALID_ARGUMENT, text);
    EXPECT_FAILS(kvc_device_synchronize(bad), KVC_STATUS_INVALID_ARGUMENT,
                 text);
    EXPECT_FAILS(kvc_stream_create(bad, &stream), KVC_STATUS_INVALID_ARGUMENT,
                 text);
    EXPECT_FAILS(kvc_stream_wrap(bad, nullptr, &stream),
                 KVC_STATUS_INVALID_ARGUMENT, text);
    kvc_device_release(bad);
  }
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

TEST_F(DeviceTest, Copies) {
  std::array<int32_t, 5> in = {1, 2, 3, 4, 5}, out = {};
  void *data = nullptr;
  ASSERT_OK(kvc_device_allocate(device, sizeof(in), &data));
  EXPECT_EQ(reinterpret_cast<uintptr_t>(data) % 256, 0u);
  EXPECT_OK(kvc_device_upload(device, data, in.data(), sizeof(in)));
  EXPECT_OK(kvc_device_download(device, out.data(), data, sizeof(in)));
  EXPECT_EQ(in, out);
  EXPECT_OK(kvc_device_fill(device, data, 0xff, 8));
  EXPECT_OK(kvc_device_download(device, out.data(), data, sizeof(in)));
  EXPECT_EQ(out, (std::array<int32_t, 5>{-1, -1, 3, 4, 5}));
  EXPECT_OK(kvc_device_free(device, data));
  EXPECT_FAILS(kvc_device_free(device, data), KVC_STATUS_INVALID_ARGUMENT,
               "expected memory that kvc_device_allocate gave");
  EXPECT_OK(kvc_device_free(device, nullptr));
  // Nothing is nothing.
  EXPECT_OK(kvc_device_allocate(device, 0, &data));
  EXPECT_EQ(data, nullptr);
  EXPECT_OK(kvc_device_upload(device, nullptr, nullptr, 0));
  EXPECT_OK(kvc_device_download(device, nullptr, nullptr, 0));
  EXPECT_OK(kvc_device_fill(device, nullptr, 1, 0));
}

TEST_F(DeviceTest, WrongMemoryArguments) {
  int32_t word = 0;
  EXPECT_FAILS(kvc_device_allocate(device, 4, nullptr),
               KVC_STATUS_INVALID_ARGUMENT, "expected out_data, got null");
  EXPECT_FAILS(kvc_device_upload(device, nullptr, &word, 4),
               KVC_STATUS_INVALID_ARGUMENT,
               "expected data of 4 bytes, got null");
  EXPECT_FAILS(kvc_device_upload(device, &word, nullptr, 4),
               KVC_STATUS_INVALID_ARGUMENT,
               "expected host of 4 bytes, got null");
  EXPECT_FAILS(kvc_device_download(device, nullptr, &word, 4),
               KVC_STATUS_INVALID_ARGUMENT, "expected host of 4 bytes");
  EXPECT_FAILS(kvc_device_download(device, &word, nullptr, 4),
               KVC_STATUS_INVALID_ARGUMENT, "expected data of 4 bytes");
  EXPECT_FAILS(kvc_device_fill(device, nullptr, 0, 4),
               KVC_STATUS_INVALID_ARGUMENT, "expected data of 4 bytes");
}

TEST_F(DeviceTest, NoMemory) {
  void *data = nullptr;
  EXPECT_FAILS(kvc_device_allocate(device, uint64_t{1} << 50, &data),
               KVC_STATUS_OUT_OF_MEMORY,
               "cannot allocate 1125899906842624 bytes on device 'Fake 0': "
               "CUDA_ERROR_OUT_OF_MEMORY (2): text of the fake driver");
  EXPECT_EQ(data, nullptr);
  cuda.failCall("cuMemAlloc_v2", CUDA_ERROR_OUT_OF_MEMORY, 1);
  void *first = nullptr, *second = nullptr;
  EXPECT_OK(kvc_device_allocate(device, 8, &first));
  EXPECT_FAILS(kvc_device_allocate(device, 8, &second),
               KVC_STATUS_OUT_OF_MEMORY, "cannot allocate 8 bytes");
  EXPECT_EQ(second, nullptr);
  EXPECT_OK(kvc_device_allocate(device, 8, &second));
  // What the caller does not free goes with the device.
}

TEST_F(DeviceTest, CopiesFail) {
  int32_t word = 0;
  void *data = nullptr;
  ASSERT_OK(kvc_device_allocate(device, 4, &data));
  cuda.failCall("cuMemcpyHtoDAsync_v2", CUDA_ERROR_INVALID_VALUE);
  EXPECT_FAILS(kvc_device_upload(device, data, &word, 4),
               KVC_STATUS_INVALID_ARGUMENT,
               "cuMemcpyHtoDAsync_v2: CUDA_ERROR_INVALID_VALUE (1)");
  cuda.failCall("cuMemcpyDtoHAsync_v2", CUDA_ERROR_INVALID_VALUE);
  EXPECT_FAILS(kvc_device_download(device, &word, data, 4),
               KVC_STATUS_INVALID_ARGUMENT, "cuMemcpyDtoHAsync_v2");
  cuda.failCall("cuMemsetD8Async", kIllegalAddress);
  EXPECT_FAILS(kvc_device_fill(device, data, 0, 4), KVC_STATUS_DEVICE_ERROR,
               "cuMemsetD8Async: CUDA_ERROR_ILLEGAL_ADDRESS (700)");
  cuda.failCall("cuStreamSynchronize", kIllegalAddress);
  EXPECT_FAILS(kvc_device_upload(device, data, &word, 4),
               KVC_STATUS_DEVICE_ERROR, "cuStreamSynchronize");
  cuda.failCall("cuCtxPushCurrent_v2", 3, 1);
  EXPECT_FAILS(kvc_device_upload(device, data, &word, 4),
               KVC_STATUS_DEVICE_ERROR, "cuCtxPushCurrent_v2");
  EXPECT_OK(kvc_device_upload(device, data, &word, 4));
  cuda.failCall("cuMemFree_v2", kIllegalAddress);
  EXPECT_FAILS(kvc_device_free(device, data), KVC_STATUS_DEVICE_ERROR,
               "cuMemFree_v2");
  EXPECT_OK(kvc_device_free(device, data)); // it was still there
}

TEST_F(DeviceTest, TwoThreads) {
  auto body = [&](int32_t seed) {
    for (int32_t round = 0; round < 200; ++round) {
      std::array<int32_t, 16> in, out;
      in.fill(seed + round);
      void *data = nullptr;
      ASSERT_OK(kvc_device_allocate(device, sizeof(in), &data));
      ASSERT_OK(kvc_device_upload(device, data, in.data(), sizeof(in)));
      ASSERT_OK(kvc_device_download(device, out.data(), data, sizeof(in)));
      ASSERT_EQ(in, out);
      ASSERT_OK(kvc_device_free(device, data));
    }
  };
  std::thread other(body, 1000);
  body(5000);
  other.join();
}
