//===- DeviceFixture.h - tests with a device of the fake driver -*- C++ -*-===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Opens a device before each test, and sees afterwards that nothing was left.
//===----------------------------------------------------------------------===//
#ifndef KVC_TEST_UNIT_RUNTIME_DEVICEFIXTURE_H
#define KVC_TEST_UNIT_RUNTIME_DEVICEFIXTURE_H

#include "FakeCUDA.h"
#include "FakeProgram.h"
#include "RuntimeTest.h"

/// Codes of the driver that the runtime does not know by name.
inline constexpr int kIllegalAddress = 700;
inline constexpr int kUnknownToDriver = 999;

class DeviceFixture : public testing::Test {
protected:
  void SetUp() override {
    cuda.reset();
    ASSERT_OK(kvc_device_create_cuda(KVC_FAKE_CUDA, 0, &device));
  }
  void TearDown() override {
    kvc_device_release(device);
    EXPECT_TRUE(cuda.allocations.empty());
    EXPECT_TRUE(cuda.modules.empty());
    EXPECT_TRUE(cuda.events.empty());
    EXPECT_TRUE(cuda.streams.empty());
    EXPECT_EQ(cuda.numContexts, 0);
    EXPECT_EQ(cuda.numFreedWhileBusy, 0);
    EXPECT_EQ(cuda.numUnloadedWhileBusy, 0);
  }

  FakeCUDA &cuda = *kvc_fake_cuda();
  kvc_device_t *device = nullptr;
};

/// A stream of a device that is released at the end.
struct OwnedDeviceStream {
  explicit OwnedDeviceStream(kvc_device_t *device) {
    EXPECT_OK(kvc_stream_create(device, &stream));
  }
  ~OwnedDeviceStream() { kvc_stream_release(stream); }
  OwnedDeviceStream(const OwnedDeviceStream &) = delete;
  operator kvc_stream_t *() const { return stream; }

  kvc_stream_t *stream = nullptr;
};

/// A program with one function, `store(value: i32 tensor) `, whose kernel
/// stores argument 0's first element plus one in the workspace and in the
/// result. It launches as its members say.
struct StoreProgram {
  StoreProgram(const std::string &text = ".visible .entry store ( ) { }",
               const std::string &target = "sm_90a", uint32_t sharedBytes = 0);
  ~StoreProgram() { kvc_program_unload(program); }
  StoreProgram(const StoreProgram &) = delete;

  /// Runs it on device memory.
  kvc_status_t run(kvc_stream_t *stream, const void *in, void *out);

  FakeProgram fake;
  const kvc_program_t *program = nullptr;
};

/// What the function of a StoreProgram does next; of all of them.
struct StoreBehaviour {
  uint64_t workspaceSize = 64;
  uint32_t kernel = 0;
  std::vector<uint32_t> grid = {2, 1, 1};
  std::vector<uint32_t> cluster; ///< Empty: null.
};
extern StoreBehaviour storeBehaviour;

/// What the kernel does, for FakeCUDA::kernels.
FakeCUDA::Kernel makeStoreKernel();

#endif // KVC_TEST_UNIT_RUNTIME_DEVICEFIXTURE_H
