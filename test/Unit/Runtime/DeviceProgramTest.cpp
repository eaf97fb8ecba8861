//===- DeviceProgramTest.cpp - programs on a device -----------------------===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//
//===----------------------------------------------------------------------===//
#include "DeviceFixture.h"

#include <optional>
#include <thread>

using namespace kvc::rt;

namespace {
/// A device with room for an input and an output.
class DeviceProgramTest : public DeviceFixture {
protected:
  void SetUp() override {
    DeviceFixture::SetUp();
    storeBehaviour = {};
    cuda.kernels["store"] = makeStoreKernel();
    ASSERT_OK(kvc_device_allocate(device, 4, &in));
    ASSERT_OK(kvc_device_allocate(device, 4, &out));
  }
  void setInput(int32_t value) {
    EXPECT_OK(kvc_device_upload(device, in, &value, 4));
  }
  int32_t getOutput() {
    int32_t value = -1;
    EXPECT_OK(kvc_device_download(device, &value, out, 4));
    return value;
  }
  int countCalls(const char *name) { return cuda.numCalls[name]; }

  void *in = nullptr, *out = nullptr;
};
} // namespace

//===----------------------------------------------------------------------===//
// Running
//===----------------------------------------------------------------------===//

TEST_F(DeviceProgramTest, Run) {
  StoreProgram store;
  OwnedDeviceStream stream(device);
  cuda.isDeferred = true;
  setInput(41);
  EXPECT_OK(store.run(stream, in, out));
  // The call is back before the work is done.
  EXPECT_FALSE(cuda.isIdle());
  EXPECT_OK(kvc_stream_synchronize(stream));
  EXPECT_TRUE(cuda.isIdle());
  EXPECT_EQ(getOutput(), 42);
  ASSERT_EQ(cuda.launches.size(), 1u);
  EXPECT_EQ(cuda.launches[0].kernel, "store");
  EXPECT_EQ(cuda.launches[0].grid, (std::vector<unsigned>{2, 1, 1}));
  EXPECT_EQ(cuda.launches[0].threads, 96u);
  EXPECT_EQ(cuda.launches[0].sharedBytes, 0u);
  EXPECT_EQ(cuda.launches[0].stream, kvc_stream_native(stream));
  // A download waits for launched work by itself, and so does a release.
  setInput(10);
  EXPECT_OK(store.run(stream, in, out));
  EXPECT_EQ(getOutput(), 11);
  EXPECT_OK(store.run(stream, in, out));
  EXPECT_EQ(countCalls("cuModuleLoadDataEx"), 1);
}

TEST_F(DeviceProgramTest, WrongStream) {
  StoreProgram store;
  OwnedStream cpu(1);
  EXPECT_FAILS(store.run(cpu, in, out), KVC_STATUS_INVALID_ARGUMENT,
               "function 'store': expected a stream of a device for a program "
               "of target 'sm_90a', got a CPU stream");
  FakeProgram plain;
  plain.addFunction("plain", {});
  plain.build();
  const kvc_program_t *program = nullptr;
  ASSERT_OK(plain.load(&program));
  OwnedDeviceStream stream(device);
  EXPECT_FAILS(
      kvc_program_run(program, 0, stream, nullptr, 0),
      KVC_STATUS_INVALID_ARGUMENT,
      "function 'plain': expected a CPU stream for a program of target "
      "'fake', got a stream of device 'Fake 0'");
  EXPECT_FAILS(kvc_program_prepare(program, 0, stream, nullptr),
               KVC_STATUS_INVALID_ARGUMENT, "expected a CPU stream");
}

TEST_F(DeviceProgramTest, Grids) {
  StoreProgram store;
  OwnedDeviceStream stream(device);
  const struct {
    std::vector<uint32_t> grid;
    const char *text;
  } cases[] = {
      {{0x80000000u, 1, 1},
       "at most 2147483647 blocks along x, got 2147483648"},
      {{1, 65536, 1}, "kernel 'store': expected at most 65535 blocks along y"},
      {{0, 1, 65536}, "expected at most 65535 blocks along z, got 65536"},
  };
  for (const auto &row : cases) {
    storeBehaviour.grid = row.grid;
    EXPECT_FAILS(store.run(stream, in, out), KVC_STATUS_INVALID_ARGUMENT,
                 row.text);
  }
  for (int i = 0; i < 3; ++i) {
    storeBehaviour.grid = {4, 4, 4};
    storeBehaviour.grid[i] = 0;
    EXPECT_OK(store.run(stream, in, out));
  }
  EXPECT_TRUE(cuda.launches.empty());
  storeBehaviour.grid = {0x7fffffffu, 65535, 65535};
  EXPECT_OK(store.run(stream, in, out));
  EXPECT_EQ(cuda.launches.size(), 1u);
}

TEST_F(DeviceProgramTest, Clusters) {
  StoreProgram store;
  OwnedDeviceStream stream(device);
  using Extents = std::vector<uint32_t>;
  auto clustersOf = [&](const Extents &cluster) {
    storeBehaviour.grid = {4, 8, 6};
    storeBehaviour.cluster = cluster;
    cuda.launches.clear();
    EXPECT_OK(store.run(stream, in, out));
    EXPECT_EQ(cuda.launches.size(), 1u);
    return cuda.launches.empty() ? Extents{0} : cuda.launches[0].cluster;
  };
  for (Extents cluster : {Extents{1, 8, 1}, Extents{2, 2, 2}, Extents{4, 1, 1}})
    EXPECT_EQ(clustersOf(cluster), cluster);
  // Without clusters the launch is a plain one.
  EXPECT_EQ(clustersOf({1, 1, 1}), Extents{});

  const struct {
    Extents cluster;
    const char *text;
  } cases[] = {
      {{1, 3, 1},
       "kernel 'store': expected clusters that divide the 8 blocks along y, "
       "got 3"},
      {{0, 1, 1},
       "kernel 'store': expected clusters that divide the 4 blocks along x, "
       "got 0"},
      {{1, 8, 2},
       "kernel 'store': expected clusters of at most 8 blocks, got 1 x 8 x 2"}};
  cuda.launches.clear();
  for (const auto &row : cases) {
    storeBehaviour.cluster = row.cluster;
    EXPECT_FAILS(store.run(stream, in, out), KVC_STATUS_INVALID_ARGUMENT,
                 row.text);
  }
  EXPECT_TRUE(cuda.launches.empty());
  storeBehaviour.cluster = {1, 2, 1};
  cuda.failCall("cuLaunchKernelEx", 701);
  EXPECT_FAILS(store.run(stream, in, out), KVC_STATUS_DEVICE_ERROR,
               "kernel 'store', 4 x 8 x 6 blocks of 96 threads: "
               "CUDA_ERROR_OTHER (701): text of the fake driver");
}

TEST_F(DeviceProgramTest, WrongLaunches) {
  const kvc_rt_api_t *api = kvc_runtime_api();
  StoreProgram store;
  OwnedDeviceStream stream(device);
  uint32_t grid[3] = {1, 1, 1};
  EXPECT_FAILS(api->launch(stream, store.program, 1, grid, nullptr, nullptr),
               KVC_STATUS_INVALID_ARGUMENT,
               "launch: expected a kernel below 1, got 1");
  EXPECT_FAILS(api->launch(stream, store.program, 0, nullptr, nullptr, nullptr),
               KVC_STATUS_INVALID_ARGUMENT,
               "launch: expected a grid, got null");
  EXPECT_FAILS(api->launch(stream, nullptr, 0, grid, nullptr, nullptr),
               KVC_STATUS_INVALID_ARGUMENT, "expected a program, got null");
  EXPECT_FAILS(api->launch(nullptr, store.program, 0, grid, nullptr, nullptr),
               KVC_STATUS_INVALID_ARGUMENT, "expected a stream, got null");
  cuda.failCall("cuLaunchKernel", 701);
  EXPECT_FAILS(store.run(stream, in, out), KVC_STATUS_DEVICE_ERROR,
               "kernel 'store', 2 x 1 x 1 blocks of 96 threads: "
               "CUDA_ERROR_OTHER (701): text of the fake driver");
  EXPECT_OK(store.run(stream, in, out));
}

// A launch outside kvc_program_run, by a host that calls entries itself.
TEST_F(DeviceProgramTest, LaunchAlone) {
  StoreProgram store;
  OwnedDeviceStream stream(device);
  uint32_t grid[3] = {1, 1, 1};
  void *scratch = nullptr;
  ASSERT_OK(kvc_device_allocate(device, 4, &scratch));
  const void *params[] = {&in, &scratch, &out};
  setInput(7);
  EXPECT_OK(kvc_runtime_api()->launch(stream, store.program, 0, grid,
                                        nullptr, params));
  EXPECT_EQ(getOutput(), 8);
}

//===----------------------------------------------------------------------===//
// Modules
//===----------------------------------------------------------------------===//

TEST_F(DeviceProgramTest, BadPTX) {
  StoreProgram store(".entry store bad");
  OwnedDeviceStream stream(device);
  EXPECT_FAILS(store.run(stream, in, out), KVC_STATUS_INVALID_ARGUMENT,
               "image 0 (sm_90a): cuModuleLoadDataEx: CUDA_ERROR_INVALID_PTX "
               "(218): text of the fake driver\n"
               "ptxas: line 7: error near 'bad'");
}

TEST_F(DeviceProgramTest, MissingKernel) {
  StoreProgram store(".entry stores");
  OwnedDeviceStream stream(device);
  for (int round = 0; round < 2; ++round)
    EXPECT_FAILS(store.run(stream, in, out), KVC_STATUS_NOT_FOUND,
                 "expected a kernel 'store' in image 0, which has none");
  EXPECT_TRUE(cuda.modules.empty());
}

TEST_F(DeviceProgramTest, SharedMemory) {
  OwnedDeviceStream stream(device);
  StoreProgram plain(".entry store", "sm_90a", 48 * 1024);
  EXPECT_OK(plain.run(stream, in, out));
  EXPECT_EQ(cuda.maxSharedBytes, 0);
  StoreProgram large(".entry store", "sm_90a", 48 * 1024 + 16);
  cuda.failCall("cuFuncSetAttribute", CUDA_ERROR_INVALID_VALUE);
  EXPECT_FAILS(large.run(stream, in, out), KVC_STATUS_UNSUPPORTED,
               "kernel 'store': expected device 'Fake 0' to allow 49168 bytes "
               "of shared memory: CUDA_ERROR_INVALID_VALUE (1)");
  EXPECT_OK(large.run(stream, in, out));
  EXPECT_EQ(cuda.maxSharedBytes, 49168);
  EXPECT_EQ(cuda.launches.back().sharedBytes, 49168u);
}

TEST_F(DeviceProgramTest, Targets) {
  OwnedDeviceStream stream(device);
  for (const char *target : {"sm_90a", "sm_90", "sm_80", "sm_90f"}) {
    StoreProgram store(".entry store", target);
    EXPECT_OK(store.run(stream, in, out));
  }
  const struct {
    const char *target, *text;
  } cases[] = {
      {"sm_100a", "image 0: expected a device of compute capability 10.0, for "
                  "which the code is (sm_100a), got 'Fake 0' of 9.0"},
      {"sm_80a", "of compute capability 8.0, for"},
      {"sm_100", "of compute capability 10.0 or later, for"},
      {"sm_80f", "of compute capability 8.0 or later, for"},
      {"x86_64", "image 0: expected a target such as sm_90a, got 'x86_64'"},
      {"sm_", "expected a target such as sm_90a, got 'sm_'"},
      {"sm_90x", "expected a target such as sm_90a, got 'sm_90x'"},
      {"", "expected a target such as sm_90a, got ''"},
      {"sm_99999999999", "expected a target such as sm_90a"},
  };
  for (const auto &row : cases) {
    StoreProgram store(".entry store", row.target);
    EXPECT_FAILS(store.run(stream, in, out), KVC_STATUS_UNSUPPORTED, row.text);
  }
  EXPECT_TRUE(cuda.modules.empty());
}

// A program that is freed and another one at its address: nothing of the first
// is used for the second, whether it was unloaded or not.
TEST_F(DeviceProgramTest, ProgramsAtOneAddress) {
  OwnedDeviceStream stream(device);
  alignas(StoreProgram) char place[sizeof(StoreProgram)];
  cuda.kernels["other"] = {};
  for (const char *text : {".entry store first", ".entry store second"}) {
    auto *store = new (place) StoreProgram(text);
    EXPECT_OK(store->run(stream, in, out));
    store->~StoreProgram(); // unloads it
    EXPECT_TRUE(cuda.modules.empty());
  }
  EXPECT_EQ(countCalls("cuModuleLoadDataEx"), 2);

  const kvc_program_t *program = nullptr;
  {
    StoreProgram store(".entry store third");
    EXPECT_OK(store.run(stream, in, out));
    // The same again is the same program.
    EXPECT_OK(store.fake.load(&program));
    EXPECT_OK(store.run(stream, in, out));
    EXPECT_EQ(countCalls("cuModuleLoadDataEx"), 3);
    // Another blob behind the same pointer, loaded...
    StoreProgram other(".entry store fourth");
    store.fake.program().blob = other.program->blob;
    EXPECT_FAILS(store.run(stream, in, out), KVC_STATUS_INVALID_ARGUMENT,
                 "expected a program with device images to be loaded by "
                 "kvc_program_load, got one that is not");
    EXPECT_OK(store.fake.load(&program));
    EXPECT_TRUE(cuda.modules.empty());
    EXPECT_OK(store.run(stream, in, out));
    EXPECT_EQ(countCalls("cuModuleLoadDataEx"), 4);
    // ... and the same blob with other text in it.
    char *ptx =
        reinterpret_cast<char *>(&other.fake.blob()) + other.fake.image(0).data;
    std::memcpy(ptx, ".entry store fifth!", 19);
    EXPECT_OK(store.fake.load(&program));
    EXPECT_OK(store.run(stream, in, out));
    EXPECT_EQ(countCalls("cuModuleLoadDataEx"), 5);
  }
  EXPECT_TRUE(cuda.modules.empty());
}

TEST_F(DeviceProgramTest, Unload) {
  OwnedDeviceStream stream(device);
  StoreProgram store;
  cuda.isDeferred = true;
  EXPECT_OK(store.run(stream, in, out));
  EXPECT_OK(kvc_program_unload(store.program)); // waits for what was launched
  EXPECT_TRUE(cuda.modules.empty());
  EXPECT_FAILS(store.run(stream, in, out), KVC_STATUS_INVALID_ARGUMENT,
               "to be loaded by kvc_program_load, got one that is not");
  EXPECT_OK(kvc_program_unload(store.program)); // nothing to do
  EXPECT_FAILS(kvc_program_unload(nullptr), KVC_STATUS_INVALID_ARGUMENT,
               "expected a program, got null");
  EXPECT_OK(store.fake.load(&store.program));
  EXPECT_OK(store.run(stream, in, out));
}

// Two devices each have their own.
TEST_F(DeviceProgramTest, TwoDevices) {
  cuda.numDevices = 2;
  kvc_device_t *other = nullptr;
  ASSERT_OK(kvc_device_create_cuda(KVC_FAKE_CUDA, 1, &other));
  StoreProgram store;
  {
    OwnedDeviceStream first(device), second(other), third(other);
    for (kvc_stream_t *stream : {first.stream, second.stream, third.stream})
      EXPECT_OK(store.run(stream, in, out));
  }
  EXPECT_EQ(cuda.modules.size(), 2u);
  kvc_device_release(other);
  EXPECT_EQ(cuda.modules.size(), 1u);
}

//===----------------------------------------------------------------------===//
// Workspace
//===----------------------------------------------------------------------===//

TEST_F(DeviceProgramTest, WorkspaceGrows) {
  StoreProgram store;
  OwnedDeviceStream stream(device);
  cuda.isDeferred = true;
  setInput(1);
  for (uint64_t size : {4u, 5000u, 64u, 3u << 20, 9u << 20, 8u}) {
    storeBehaviour.workspaceSize = size;
    EXPECT_OK(store.run(stream, in, out)); // all in flight at once
  }
  EXPECT_EQ(getOutput(), 2);
  // Those that were too small are not kept once they are done.
  storeBehaviour.workspaceSize = 30u << 20;
  EXPECT_OK(store.run(stream, in, out));
  EXPECT_OK(kvc_stream_synchronize(stream));
  storeBehaviour.workspaceSize = 60u << 20;
  EXPECT_OK(store.run(stream, in, out));
  int numLarge = 0;
  for (const auto &allocation : cuda.allocations)
    numLarge += allocation.second > (1u << 20);
  EXPECT_LE(numLarge, 2);
}

TEST_F(DeviceProgramTest, NoMemoryForTheWorkspace) {
  StoreProgram store;
  OwnedDeviceStream stream(device);
  setInput(1);
  EXPECT_OK(store.run(stream, in, out));
  for (uint64_t size : {UINT64_MAX, uint64_t{1} << 62, uint64_t{1} << 40}) {
    storeBehaviour.workspaceSize = size;
    EXPECT_FAILS(store.run(stream, in, out), KVC_STATUS_OUT_OF_MEMORY,
                 "no memory for a workspace of " + std::to_string(size) +
                     " bytes on a stream of device 'Fake 0'");
  }
  // Exactly what is needed, when the generous size is too much.
  storeBehaviour.workspaceSize = 2u << 20;
  EXPECT_OK(store.run(stream, in, out));
  cuda.failCall("cuMemAlloc_v2", CUDA_ERROR_OUT_OF_MEMORY);
  storeBehaviour.workspaceSize = 4u << 20;
  EXPECT_OK(store.run(stream, in, out));
  cuda.failCall("cuMemAlloc_v2", kIllegalAddress);
  storeBehaviour.workspaceSize = 8u << 20;
  EXPECT_FAILS(store.run(stream, in, out), KVC_STATUS_DEVICE_ERROR,
               "cannot allocate ");
  EXPECT_OK(store.run(stream, in, out));
  EXPECT_EQ(getOutput(), 2);
}

TEST_F(DeviceProgramTest, Prepare) {
  StoreProgram store;
  OwnedDeviceStream stream(device);
  kvc_bounds_t bounds = {};
  bounds.struct_size = sizeof(bounds);
  EXPECT_OK(kvc_program_prepare(store.program, 0, stream, nullptr));
  EXPECT_EQ(countCalls("cuModuleLoadDataEx"), 1);
  storeBehaviour.workspaceSize = 1 << 20;
  EXPECT_OK(kvc_program_prepare(store.program, 0, stream, &bounds));
  int numAllocations = countCalls("cuMemAlloc_v2");
  EXPECT_OK(store.run(stream, in, out));
  EXPECT_EQ(countCalls("cuMemAlloc_v2"), numAllocations);
  EXPECT_EQ(countCalls("cuModuleLoadDataEx"), 1);

  EXPECT_FAILS(kvc_program_prepare(store.program, 1, stream, nullptr),
               KVC_STATUS_NOT_FOUND, "expected a function below 1");
  EXPECT_FAILS(kvc_program_prepare(store.program, 0, nullptr, nullptr),
               KVC_STATUS_INVALID_ARGUMENT, "expected a stream, got null");
  bounds.struct_size = 8;
  EXPECT_FAILS(kvc_program_prepare(store.program, 0, stream, &bounds),
               KVC_STATUS_INVALID_ARGUMENT,
               "function 'store': expected a struct_size of bounds of at least "
               "32, got 8");
}

// A stream that is captured launches, and refuses what would spoil the graph.
TEST_F(DeviceProgramTest, Capture) {
  OwnedDeviceStream stream(device);
  FakeCUDA::Stream &native = cuda.streams[kvc_stream_native(stream)];
  StoreProgram store;
  native.isCapturing = true;
  EXPECT_FAILS(
      store.run(stream, in, out), KVC_STATUS_UNSUPPORTED,
      "expected kvc_program_prepare before the stream is captured, got "
      "a call that needs its program on the device");
  native.isCapturing = false;
  EXPECT_OK(store.run(stream, in, out));
  native.isCapturing = true;
  EXPECT_OK(store.run(stream, in, out));
  EXPECT_EQ(cuda.launches.size(), 2u);
  storeBehaviour.workspaceSize = 1 << 20;
  EXPECT_FAILS(store.run(stream, in, out), KVC_STATUS_UNSUPPORTED,
               "got a call that needs a larger workspace");
  // Another stream may need memory meanwhile.
  OwnedDeviceStream other(device);
  for (storeBehaviour.workspaceSize = 64;
       storeBehaviour.workspaceSize < (8u << 20);
       storeBehaviour.workspaceSize *= 4)
    EXPECT_OK(store.run(other, in, out));
  // What was captured is not waited for.
  EXPECT_FAILS(kvc_device_synchronize(device), KVC_STATUS_UNSUPPORTED,
               "expected to wait for the work of the device, got a stream that "
               "is being captured");
  EXPECT_EQ(cuda.numSpoiltCaptures, 0);
  native.isCapturing = false;
  EXPECT_OK(kvc_device_synchronize(device));
}

// Calls of two threads on one stream and on two, while the workspace grows and
// a third thread loads and unloads another program.
TEST_F(DeviceProgramTest, Threads) {
  StoreProgram store;
  OwnedDeviceStream first(device), second(device);
  setInput(5);
  auto body = [&](kvc_stream_t *mine) {
    for (int round = 0; round < 150; ++round) {
      ASSERT_OK(store.run(first, in, out));
      ASSERT_OK(store.run(mine, in, out));
      if (round % 10 == 0) {
        ASSERT_OK(kvc_stream_synchronize(mine));
      }
    }
  };
  auto load = [&] {
    for (int round = 0; round < 50; ++round) {
      StoreProgram other(".entry store " + std::to_string(round));
      ASSERT_OK(other.run(second, in, out));
    }
  };
  std::thread one(body, first.stream), two(body, second.stream), three(load);
  for (std::thread *thread : {&one, &two, &three})
    thread->join();
  EXPECT_EQ(getOutput(), 6);
}
