//===- DriverLaunchTest.cpp - the emulated driver: modules and launches ---===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "DriverLibrary.h"

#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

using namespace kvc::emu::cuda;

//===----------------------------------------------------------------------===//
// Modules
//===----------------------------------------------------------------------===//

/// Loads `image` with buffers for both logs.
namespace {
struct Load {
  Load(const DriverLibrary &driver, const char *image, size_t size = 4096) {
    JITOption options[] = {JITOption::InfoLog, JITOption::InfoLogSize,
                           JITOption::ErrorLog, JITOption::ErrorLogSize};
    void *values[] = {info, reinterpret_cast<void *>(size), error,
                      reinterpret_cast<void *>(size)};
    result = driver.cuModuleLoadDataEx(&module, image, 4, options, values);
    infoSize = reinterpret_cast<size_t>(values[1]);
    errorSize = reinterpret_cast<size_t>(values[3]);
  }
  ModuleHandle module = nullptr;
  char info[4096] = "", error[4096] = "";
  size_t infoSize = 0, errorSize = 0;
  Result result = Unknown;
};
} // namespace

TEST_F(DriverTest, ModuleLogs) {
  Load good(driver, kDriverKernels);
  EXPECT_EQ(good.result, Success);
  EXPECT_STREQ(good.error, "");
  EXPECT_EQ(driver.cuModuleUnload(good.module), Success);

  Load bad(driver,
           ".version 8.0\n.target sm_80\n.address_size 64\n"
           ".visible .entry k() {\n  nonsense.u32 %r1, 0;\n  ret;\n}\n");
  EXPECT_EQ(bad.result, InvalidPTX);
  EXPECT_NE(std::string(bad.error), "");
  EXPECT_GE(bad.errorSize, std::strlen(bad.error));
  if (driver.isEmulator()) {
    EXPECT_EQ(bad.errorSize, std::strlen(bad.error) + 1);
    EXPECT_EQ(std::string(bad.error).rfind("5:3: error: ", 0), 0u) << bad.error;
    EXPECT_NE(std::string(good.info).find("kernel 'scale': "),
              std::string::npos);
  }

  // A log that does not fit is cut.
  Load cut(driver, "nonsense", 8);
  EXPECT_EQ(cut.result, InvalidPTX);
  EXPECT_LT(std::strlen(cut.error), 8u);
}

TEST_F(DriverTest, ModulesThatAreRefused) {
  ModuleHandle loaded = nullptr;
  EXPECT_EQ(driver.cuModuleLoadData(&loaded, nullptr), InvalidValue);
  EXPECT_EQ(driver.cuModuleLoadData(nullptr, kDriverKernels), InvalidValue);
  EXPECT_EQ(driver.cuModuleLoad(&loaded, "/nowhere/at-all.ptx"), FileNotFound);
  EXPECT_EQ(driver.cuModuleLoadData(
                &loaded, ".version 99.0\n.target sm_80\n.address_size 64\n"),
            UnsupportedPTXVersion);
  EXPECT_EQ(driver.cuModuleLoadData(
                &loaded, ".version 8.7\n.target sm_120\n.address_size 64\n"),
            InvalidPTX);
  JITOption unknown = JITOption(999);
  void *value = nullptr;
  EXPECT_EQ(
      driver.cuModuleLoadDataEx(&loaded, kDriverKernels, 1, &unknown, &value),
      InvalidValue);
  if (driver.isEmulator()) {
    Load cubin(driver, "\x7F"
                       "ELF rest");
    EXPECT_EQ(cubin.result, NotSupported);
    EXPECT_STREQ(cubin.error, "expected PTX text, got a cubin; the emulator "
                              "runs PTX only");
  }
  EXPECT_EQ(driver.cuModuleUnload(nullptr), InvalidHandle);
}

TEST_F(DriverTest, Functions) {
  FunctionHandle scale = findKernel("scale");
  EXPECT_EQ(findKernel("scale"), scale);
  FunctionHandle none = nullptr;
  EXPECT_EQ(driver.cuModuleGetFunction(&none, module, "nowhere"), NotFound);
  EXPECT_EQ(driver.cuModuleGetFunction(&none, module, nullptr), InvalidValue);
  EXPECT_EQ(driver.cuModuleGetFunction(nullptr, module, "scale"), InvalidValue);
  EXPECT_EQ(driver.cuModuleGetFunction(&none, nullptr, "scale"), InvalidHandle);
  uint32_t count = 0;
  EXPECT_EQ(driver.cuModuleGetFunctionCount(&count, module), Success);
  EXPECT_EQ(count, 8u);
  const char *name = nullptr;
  EXPECT_EQ(driver.cuFuncGetName(&name, scale), Success);
  EXPECT_STREQ(name, "scale");
  ModuleHandle owner = nullptr;
  EXPECT_EQ(driver.cuFuncGetModule(&owner, scale), Success);
  EXPECT_EQ(owner, module);
  size_t offset = 0, size = 0;
  EXPECT_EQ(driver.cuFuncGetParamInfo(scale, 2, &offset, &size), Success);
  EXPECT_EQ(offset, 12u);
  EXPECT_EQ(size, 4u);
  EXPECT_EQ(driver.cuFuncGetParamInfo(scale, 3, &offset, &size), InvalidValue);
  EXPECT_EQ(driver.cuModuleUnload(module), Success);
  if (driver.isEmulator()) {
    EXPECT_EQ(driver.cuFuncGetName(&name, scale), InvalidHandle);
    EXPECT_EQ(driver.cuModuleUnload(module), InvalidHandle);
  }
}

TEST_F(DriverTest, FunctionAttributes) {
  auto get = [&](FunctionHandle function, FunctionAttribute attribute) {
    int value = -1;
    EXPECT_EQ(driver.cuFuncGetAttribute(&value, attribute, function), Success);
    return value;
  };
  FunctionHandle shared = findKernel("shared"), bounded = findKernel("bounded");
  EXPECT_EQ(get(shared, FunctionAttribute::SharedBytes), 40000);
  EXPECT_EQ(get(shared, FunctionAttribute::MaxDynamicShared),
            48 * 1024 - 40000);
  EXPECT_EQ(get(shared, FunctionAttribute::MaxThreads), 1024);
  EXPECT_EQ(get(bounded, FunctionAttribute::MaxThreads), 64);
  EXPECT_EQ(get(bounded, FunctionAttribute::SharedBytes), 0);
  EXPECT_EQ(get(bounded, FunctionAttribute::LocalBytes), 0);
  EXPECT_GT(get(bounded, FunctionAttribute::Registers), 0);
  EXPECT_EQ(get(bounded, FunctionAttribute::PTXVersion), 80);
  EXPECT_EQ(get(bounded, FunctionAttribute::BinaryVersion), 90);
  int value;
  EXPECT_EQ(driver.cuFuncGetAttribute(&value, FunctionAttribute(99), shared),
            InvalidValue);
  auto set = [&](FunctionAttribute attribute, int to) {
    return driver.cuFuncSetAttribute(shared, attribute, to);
  };
  EXPECT_EQ(set(FunctionAttribute::MaxDynamicShared, 227 * 1024 - 40000),
            Success);
  EXPECT_EQ(set(FunctionAttribute::MaxDynamicShared, 227 * 1024 - 39999),
            InvalidValue);
  EXPECT_EQ(set(FunctionAttribute::MaxDynamicShared, -1), InvalidValue);
  EXPECT_EQ(set(FunctionAttribute::SharedBytes, 0), InvalidValue);
  EXPECT_EQ(driver.cuFuncSetAttribute(nullptr,
                                      FunctionAttribute::MaxDynamicShared, 0),
            InvalidHandle);
}

TEST_F(DriverTest, Variables) {
  FunctionHandle count = findKernel("count");
  DevicePointer address = 0;
  size_t size = 0;
  uint32_t value = 0;
  EXPECT_EQ(driver.cuModuleGetGlobal_v2(&address, &size, module, "counter"),
            Success);
  EXPECT_EQ(size, 4u);
  EXPECT_EQ(driver.cuMemcpyDtoH_v2(&value, address, 4), Success);
  EXPECT_EQ(value, 7u);
  EXPECT_EQ(driver.cuLaunchKernel(count, 4, 1, 1, 64, 1, 1, 0, nullptr, nullptr,
                                  nullptr),
            Success);
  EXPECT_EQ(driver.cuMemcpyDtoH_v2(&value, address, 4), Success);
  EXPECT_EQ(value, 7u + 256u);
  EXPECT_EQ(driver.cuModuleGetGlobal_v2(&address, nullptr, module, "nothing"),
            NotFound);
  EXPECT_EQ(driver.cuMemFree_v2(address), InvalidValue);
}

//===----------------------------------------------------------------------===//
// Launches
//===----------------------------------------------------------------------===//

TEST_F(DriverTest, Launch) {
  FunctionHandle scale = findKernel("scale");
  DevicePointer data = allocate(4000);
  std::vector<float> values(1000, 3.0f), back(1000);
  float factor = 2;
  uint32_t n = 1000;
  EXPECT_EQ(driver.cuMemcpyHtoD_v2(data, values.data(), 4000), Success);
  void *parameters[] = {&data, &factor, &n};
  EXPECT_EQ(driver.cuLaunchKernel(scale, 8, 1, 1, 128, 1, 1, 0, nullptr,
                                  parameters, nullptr),
            Success);
  EXPECT_EQ(driver.cuMemcpyDtoH_v2(back.data(), data, 4000), Success);
  EXPECT_EQ(back, std::vector<float>(1000, 6.0f));

  // As one buffer, and by the extensible form.
  struct {
    DevicePointer data;
    float factor;
    uint32_t n;
  } packed = {data, 0.5f, 1000};
  size_t size = sizeof(packed);
  void *extra[] = {reinterpret_cast<void *>(1), &packed,
                   reinterpret_cast<void *>(2), &size, nullptr};
  LaunchAttribute attribute = {};
  attribute.id = 8; // A priority.
  LaunchParameters launch = {{8, 1, 1}, {128, 1, 1}, 0, nullptr, &attribute, 1};
  EXPECT_EQ(driver.cuLaunchKernelEx(&launch, scale, nullptr, extra), Success);
  EXPECT_EQ(driver.cuMemcpyDtoH_v2(back.data(), data, 4000), Success);
  EXPECT_EQ(back, values);

  EXPECT_EQ(driver.cuLaunchKernelEx(&launch, scale, parameters, extra),
            InvalidValue);
  size = 12;
  EXPECT_EQ(driver.cuLaunchKernelEx(&launch, scale, nullptr, extra),
            InvalidValue);
  EXPECT_EQ(driver.cuLaunchCooperativeKernel(scale, 8, 1, 1, 128, 1, 1, 0,
                                             nullptr, parameters),
            Success);
  EXPECT_EQ(driver.cuLaunchCooperativeKernel(scale, 1 << 20, 1, 1, 128, 1, 1, 0,
                                             nullptr, parameters),
            CooperativeLaunchTooLarge);
  EXPECT_EQ(driver.cuCtxSynchronize(), Success);
}

TEST_F(DriverTest, ShapesThatAreRefused) {
  FunctionHandle shared = findKernel("shared"), bounded = findKernel("bounded");
  auto launch = [&](FunctionHandle function, std::array<uint32_t, 3> grid,
                    std::array<uint32_t, 3> block, uint32_t dynamicShared) {
    return driver.cuLaunchKernel(function, grid[0], grid[1], grid[2], block[0],
                                 block[1], block[2], dynamicShared, nullptr,
                                 nullptr, nullptr);
  };
  EXPECT_EQ(launch(shared, {1, 1, 1}, {1024, 1, 1}, 0), Success);
  EXPECT_EQ(launch(shared, {1, 1, 1}, {1025, 1, 1}, 0), InvalidValue);
  EXPECT_EQ(launch(shared, {1, 1, 1}, {32, 33, 1}, 0), InvalidValue);
  EXPECT_EQ(launch(shared, {1, 1, 1}, {1, 1, 65}, 0), InvalidValue);
  EXPECT_EQ(launch(shared, {1, 1, 1}, {65536, 65536, 1}, 0), InvalidValue);
  EXPECT_EQ(launch(shared, {1, 1, 1}, {1, 0, 1}, 0), InvalidValue);
  EXPECT_EQ(launch(shared, {0, 1, 1}, {1, 1, 1}, 0), InvalidValue);
  EXPECT_EQ(launch(shared, {1, 65536, 1}, {1, 1, 1}, 0), InvalidValue);
  EXPECT_EQ(launch(shared, {1, 1, 65536}, {1, 1, 1}, 0), InvalidValue);
  EXPECT_EQ(launch(shared, {1u << 31, 1, 1}, {1, 1, 1}, 0), InvalidValue);
  EXPECT_EQ(launch(bounded, {1, 1, 1}, {64, 1, 1}, 0), Success);
  EXPECT_EQ(launch(bounded, {1, 1, 1}, {65, 1, 1}, 0), InvalidValue);
  EXPECT_EQ(launch(nullptr, {1, 1, 1}, {1, 1, 1}, 0), InvalidHandle);
  // Shared memory: 48 KiB, unless more was asked for.
  uint32_t room = 48 * 1024 - 40000;
  EXPECT_EQ(launch(shared, {1, 1, 1}, {1, 1, 1}, room), Success);
  EXPECT_EQ(launch(shared, {1, 1, 1}, {1, 1, 1}, room + 1), InvalidValue);
  EXPECT_EQ(driver.cuFuncSetAttribute(
                shared, FunctionAttribute::MaxDynamicShared, 100000),
            Success);
  EXPECT_EQ(launch(shared, {1, 1, 1}, {1, 1, 1}, 100000), Success);
  EXPECT_EQ(launch(shared, {1, 1, 1}, {1, 1, 1}, 100001), InvalidValue);
  EXPECT_EQ(launch(bounded, {1, 1, 1}, {1, 1, 1}, 48 * 1024), Success);
  EXPECT_EQ(launch(bounded, {1, 1, 1}, {1, 1, 1}, 48 * 1024 + 1), InvalidValue);
  EXPECT_EQ(driver.cuCtxSynchronize(), Success);
}

//===----------------------------------------------------------------------===//
// Clusters
//===----------------------------------------------------------------------===//

/// Each of two blocks stores the number that the other one wrote, 10 or 11.
static constexpr const char *kSwap = R"(
.version 8.0
.target sm_90
.address_size 64
.visible .entry swap(.param .u64 out)
{
  .shared .align 4 .b32 number;
  .reg .b32 %r<8>;
  .reg .b64 %d<4>;
  ld.param.u64 %d0, [out];
  mov.u32 %r0, %cluster_ctarank;
  add.u32 %r1, %r0, 10;
  st.shared.u32 [number], %r1;
  barrier.cluster.arrive.aligned;
  barrier.cluster.wait.aligned;
  xor.b32 %r2, %r0, 1;
  mapa.shared::cluster.u32 %r3, number, %r2;
  ld.shared::cluster.u32 %r4, [%r3];
  mul.wide.u32 %d1, %r0, 4;
  add.u64 %d0, %d0, %d1;
  st.global.u32 [%d0], %r4;
  barrier.cluster.arrive.aligned;
  barrier.cluster.wait.aligned;
  ret;
}
)";

static LaunchAttribute makeCluster(const std::array<uint32_t, 3> &shape) {
  LaunchAttribute attribute = {};
  attribute.id = int32_t(LaunchAttributeId::ClusterDimension);
  std::copy(shape.begin(), shape.end(), attribute.value.cluster);
  return attribute;
}

TEST_F(DriverTest, Clusters) {
  int hasClusters = 0;
  EXPECT_EQ(driver.cuDeviceGetAttribute(&hasClusters, 120, 0), Success);
  if (!hasClusters)
    GTEST_SKIP() << "the device has no clusters";
  Load loaded(driver, kSwap);
  ASSERT_EQ(loaded.result, Success) << loaded.error;
  FunctionHandle swap = nullptr;
  ASSERT_EQ(driver.cuModuleGetFunction(&swap, loaded.module, "swap"), Success);
  DevicePointer data = allocate(8);
  void *parameters[] = {&data};
  LaunchAttribute cluster = makeCluster({2, 1, 1});
  StreamHandle stream = nullptr;
  ASSERT_EQ(driver.cuStreamCreate(&stream, 1), Success);
  LaunchParameters launch = {{2, 1, 1}, {1, 1, 1}, 0, stream, &cluster, 1};
  auto read = [&] {
    std::array<uint32_t, 2> words = {};
    EXPECT_EQ(driver.cuStreamSynchronize(stream), Success);
    EXPECT_EQ(driver.cuMemcpyDtoH_v2(words.data(), data, 8), Success);
    EXPECT_EQ(driver.cuMemsetD32_v2(data, 0, 2), Success);
    return words;
  };
  EXPECT_EQ(driver.cuLaunchKernelEx(&launch, swap, parameters, nullptr), Success);
  EXPECT_EQ(read(), (std::array<uint32_t, 2>{11, 10}));

  // A graph keeps the cluster with the launch.
  GraphHandle graph = nullptr;
  GraphExecHandle exec = nullptr;
  ASSERT_EQ(driver.cuStreamBeginCapture_v2(stream, CaptureMode::Relaxed), Success);
  EXPECT_EQ(driver.cuLaunchKernelEx(&launch, swap, parameters, nullptr), Success);
  cluster = makeCluster({1, 1, 1});
  ASSERT_EQ(driver.cuStreamEndCapture(stream, &graph), Success);
  ASSERT_EQ(driver.cuGraphInstantiateWithFlags(&exec, graph, 0), Success);
  EXPECT_EQ(driver.cuGraphLaunch(exec, stream), Success);
  EXPECT_EQ(read(), (std::array<uint32_t, 2>{11, 10}));
  EXPECT_EQ(driver.cuGraphExecDestroy(exec), Success);
  EXPECT_EQ(driver.cuGraphDestroy(graph), Success);
  EXPECT_EQ(driver.cuStreamDestroy_v2(stream), Success);
  EXPECT_EQ(driver.cuModuleUnload(loaded.module), Success);
}

TEST_F(DriverTest, ClustersThatAreRefused) {
  if (!driver.isEmulator())
    GTEST_SKIP() << "the driver's own";
  FunctionHandle bounded = findKernel("bounded");
  auto launch = [&](std::array<uint32_t, 3> grid, std::array<uint32_t, 3> shape) {
    LaunchAttribute cluster = makeCluster(shape);
    LaunchParameters parameters = {
        {grid[0], grid[1], grid[2]}, {1, 1, 1}, 0, nullptr, &cluster, 1};
    return driver.cuLaunchKernelEx(&parameters, bounded, nullptr, nullptr);
  };
  EXPECT_EQ(launch({1, 1, 1}, {1, 1, 1}), Success);
  EXPECT_EQ(launch({8, 1, 1}, {8, 1, 1}), Success);
  EXPECT_EQ(launch({4, 6, 2}, {2, 2, 2}), Success);
  EXPECT_EQ(launch({1, 1, 1}, {0, 1, 1}), InvalidClusterSize);
  EXPECT_EQ(launch({16, 1, 1}, {16, 1, 1}), InvalidClusterSize);
  EXPECT_EQ(launch({4, 4, 1}, {4, 4, 1}), InvalidClusterSize);
  EXPECT_EQ(launch({3, 1, 1}, {2, 1, 1}), InvalidClusterSize);
  EXPECT_EQ(launch({2, 1, 1}, {2, 2, 1}), InvalidClusterSize);
  LaunchAttribute preferred = makeCluster({2, 1, 1});
  preferred.id = int32_t(LaunchAttributeId::PreferredCluster);
  LaunchParameters parameters = {{2, 1, 1}, {1, 1, 1}, 0, nullptr, &preferred, 1};
  EXPECT_EQ(driver.cuLaunchKernelEx(&parameters, bounded, nullptr, nullptr),
            NotSupported);
  EXPECT_EQ(driver.cuCtxSynchronize(), Success);
}

TEST_F(DriverTest, Occupancy) {
  FunctionHandle shared = findKernel("shared"), bounded = findKernel("bounded");
  auto get = [&](FunctionHandle function, int threads, size_t dynamicShared) {
    int blocks = -1;
    EXPECT_EQ(driver.cuOccupancyMaxActiveBlocksPerMultiprocessor(
                  &blocks, function, threads, dynamicShared),
              Success);
    return blocks;
  };
  EXPECT_EQ(get(bounded, 32, 0), 32);
  EXPECT_EQ(get(bounded, 64, 0), 32);
  EXPECT_EQ(get(bounded, 64, 20 * 1024), 10);
  EXPECT_EQ(get(shared, 1024, 0), 2);
  EXPECT_EQ(get(shared, 32, 0), 5);
  int blocks;
  EXPECT_EQ(
      driver.cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, shared, 0, 0),
      InvalidValue);
  EXPECT_EQ(driver.cuOccupancyMaxActiveBlocksPerMultiprocessor(nullptr, shared,
                                                               32, 0),
            InvalidValue);
  int grid = 0, size = 0;
  EXPECT_EQ(driver.cuOccupancyMaxPotentialBlockSize(&grid, &size, bounded,
                                                    nullptr, 0, 0),
            Success);
  EXPECT_EQ(size, 64);
  EXPECT_EQ(grid, 132 * 32);
}

//===----------------------------------------------------------------------===//
// What goes wrong in a kernel
//===----------------------------------------------------------------------===//

namespace {
/// Faults would end the context of a real driver.
class DriverFaultTest : public DriverTest {
protected:
  void SetUp() override {
    DriverTest::SetUp();
    if (!driver.isEmulator())
      GTEST_SKIP() << "a fault ends the context of a real driver";
  }
  /// Launches with one address, and waits.
  Result run(const char *kernel, DevicePointer address, uint32_t threads = 1) {
    void *parameters[] = {&address};
    EXPECT_EQ(driver.cuLaunchKernel(findKernel(kernel), 1, 1, 1, threads, 1, 1,
                                    0, nullptr, parameters, nullptr),
              Success);
    return driver.cuCtxSynchronize();
  }
  std::string getReports() {
    std::string text(driver.getReports(nullptr, 0), '\0');
    driver.getReports(text.data(), text.size());
    text.pop_back();
    return text;
  }
};
} // namespace

TEST_F(DriverFaultTest, Kinds) {
  DevicePointer data = allocate(64);
  EXPECT_EQ(run("store", data), Success);
  EXPECT_EQ(run("store", data + 64), IllegalAddress);
  EXPECT_EQ(run("store", 0), IllegalAddress);
  int local = 0;
  EXPECT_EQ(run("store", reinterpret_cast<DevicePointer>(&local)),
            IllegalAddress);
  EXPECT_EQ(local, 0);
  EXPECT_EQ(run("store", data + 2), MisalignedAddress);
  EXPECT_EQ(run("fail", 0), LaunchFailed);
  EXPECT_EQ(run("race", data, 64), LaunchFailed);
  EXPECT_EQ(driver.setOptions("max-instructions=1000"), 0);
  EXPECT_EQ(run("spin", 0), LaunchTimeout);
  // The context still works.
  EXPECT_EQ(driver.setOptions(nullptr), 0);
  EXPECT_EQ(run("store", data), Success);
}

TEST_F(DriverFaultTest, ReportsAreKept) {
  DevicePointer data = allocate(64);
  EXPECT_EQ(driver.getNumReports(), 0u);
  EXPECT_EQ(getReports(), "");
  EXPECT_EQ(run("store", data + 64), IllegalAddress);
  EXPECT_EQ(driver.getNumReports(), 1u);
  std::string text = getReports();
  EXPECT_NE(text.find("store:"), std::string::npos) << text;
  EXPECT_NE(text.find("error: out of bounds"), std::string::npos) << text;
  char cut[6];
  EXPECT_EQ(driver.getReports(cut, sizeof(cut)), text.size() + 1);
  EXPECT_EQ(text.substr(0, 5), cut);
  driver.clear();
  EXPECT_EQ(driver.getNumReports(), 0u);
  EXPECT_EQ(getReports(), "");
}

// An error comes once, with the stream that it happened in.
TEST_F(DriverFaultTest, ErrorsComeWithTheirStream) {
  StreamHandle one = nullptr, two = nullptr;
  EventHandle event = nullptr;
  EXPECT_EQ(driver.cuStreamCreate(&one, 1), Success);
  EXPECT_EQ(driver.cuStreamCreate(&two, 1), Success);
  EXPECT_EQ(driver.cuEventCreate(&event, 0), Success);
  DevicePointer bad = 0;
  void *parameters[] = {&bad};
  auto launch = [&](StreamHandle stream) {
    EXPECT_EQ(driver.cuLaunchKernel(findKernel("store"), 1, 1, 1, 1, 1, 1, 0,
                                    stream, parameters, nullptr),
              Success);
  };
  launch(one);
  EXPECT_EQ(driver.cuStreamSynchronize(two), Success);
  EXPECT_EQ(driver.cuStreamSynchronize(one), IllegalAddress);
  EXPECT_EQ(driver.cuStreamSynchronize(one), Success);
  launch(one);
  EXPECT_EQ(driver.cuEventRecord(event, one), Success);
  EXPECT_EQ(driver.cuEventSynchronize(event), IllegalAddress);
  launch(one);
  EXPECT_EQ(driver.cuStreamQuery(one), IllegalAddress);
  launch(one);
  launch(two);
  DevicePointer data = allocate(4);
  int value = 5;
  EXPECT_EQ(driver.cuMemcpyHtoD_v2(data, &value, 4), IllegalAddress);
  EXPECT_EQ(driver.cuCtxSynchronize(), Success);
}

//===----------------------------------------------------------------------===//
// Options and counters
//===----------------------------------------------------------------------===//

TEST_F(DriverFaultTest, Options) {
  auto expectRefused = [&](const char *text, const char *message) {
    EXPECT_NE(driver.setOptions(text), 0) << text;
    EXPECT_STREQ(driver.getMessage(), message);
  };
  EXPECT_EQ(driver.setOptions("copies=random,seed=5,check=1,matrix=f64,"
                              "shift=128,max-reports=3,count=1,resident=4,"
                              "max-instructions=1000000"),
            0);
  EXPECT_STREQ(driver.getMessage(), "");
  EXPECT_EQ(driver.setOptions(""), 0);
  expectRefused("copies=late",
                "expected lazy, eager or random for 'copies', got 'late'");
  expectRefused("seed=-1", "expected a number up to 18446744073709551615 for "
                           "'seed', got '-1'");
  expectRefused("shift=99999999999",
                "expected a number up to 4294967295 for 'shift', got "
                "'99999999999'");
  expectRefused("check=yes", "expected 0 or 1 for 'check', got 'yes'");
  expectRefused("matrix=", "expected h100, f32 or f64 for 'matrix', got ''");
  expectRefused("counters=", "expected a path for 'counters', got ''");
  expectRefused("seed", "expected name=value, got 'seed'");
  expectRefused("speed=9",
                "expected copies, matrix, seed, check, count, shift, "
                "max-reports, max-instructions, resident, processors, omit or "
                "counters, got 'speed'");
  expectRefused("processors=133",
                "expected a number up to 132 for 'processors', got '133'");
  EXPECT_EQ(driver.setOptions("processors=7"), 0);
  int processors = 0;
  EXPECT_EQ(driver.cuDeviceGetAttribute(&processors, 16, 0), Success);
  EXPECT_EQ(processors, 7);
  // Without checks, a race goes through.
  DevicePointer data = allocate(64);
  EXPECT_EQ(driver.setOptions("check=0"), 0);
  EXPECT_EQ(run("race", data, 64), Success);
  EXPECT_EQ(run("store", data + 64), IllegalAddress);
}

TEST_F(DriverFaultTest, OptionsOfTheEnvironment) {
  DevicePointer data = allocate(64);
  void *parameters[] = {&data};
  auto launch = [&] {
    return driver.cuLaunchKernel(findKernel("store"), 1, 1, 1, 1, 1, 1, 0,
                                 nullptr, parameters, nullptr);
  };
  std::string path = testing::TempDir() + "kvc-emulator-counters.jsonl";
  std::remove(path.c_str());
  setenv("KVC_EMULATOR", ("seed=3,counters=" + path).c_str(), 1);
  EXPECT_EQ(launch(), Success);
  EXPECT_EQ(launch(), Success);
  setenv("KVC_EMULATOR", "nonsense", 1);
  EXPECT_EQ(launch(), InvalidValue);
  unsetenv("KVC_EMULATOR");
  std::ifstream file(path);
  std::string line;
  int lines = 0;
  for (; std::getline(file, line); ++lines)
    EXPECT_EQ(line.rfind("{\"kernel\": \"store\", \"grid\": [1, 1, 1], "
                         "\"block\": [1, 1, 1], \"cluster\": [1, 1, 1], ",
                         0),
              0u)
        << line;
  EXPECT_EQ(lines, 2);
  std::remove(path.c_str());
}

TEST_F(DriverFaultTest, Counters) {
  DevicePointer data = allocate(64);
  EXPECT_EQ(run("store", data), Success);
  EXPECT_EQ(run("store", data), Success);
  std::string text(driver.getCounters(nullptr, 0), '\0');
  driver.getCounters(text.data(), text.size());
  EXPECT_EQ(text.rfind("{\"launches\": 2, \"counters\": {", 0), 0u) << text;
  EXPECT_NE(text.find("\"global_stores\": {\"requests\": 2, \"bytes\": 8, "
                      "\"sectors\": 2"),
            std::string::npos)
      << text;
}

//===----------------------------------------------------------------------===//
// Threads
//===----------------------------------------------------------------------===//

TEST_F(DriverTest, ThreadsLaunch) {
  FunctionHandle scale = findKernel("scale");
  auto work = [&](float factor) {
    ASSERT_EQ(driver.cuCtxPushCurrent_v2(context), Success);
    StreamHandle stream = nullptr;
    ASSERT_EQ(driver.cuStreamCreate(&stream, 1), Success);
    DevicePointer data = 0;
    uint32_t n = 100;
    ASSERT_EQ(driver.cuMemAlloc_v2(&data, 400), Success);
    for (int round = 0; round != 20; ++round) {
      std::vector<float> values(100, float(round)), back(100);
      ASSERT_EQ(driver.cuMemcpyHtoDAsync_v2(data, values.data(), 400, stream),
                Success);
      void *parameters[] = {&data, &factor, &n};
      ASSERT_EQ(driver.cuLaunchKernel(scale, 1, 1, 1, 128, 1, 1, 0, stream,
                                      parameters, nullptr),
                Success);
      ASSERT_EQ(driver.cuMemcpyDtoHAsync_v2(back.data(), data, 400, stream),
                Success);
      ASSERT_EQ(driver.cuStreamSynchronize(stream), Success);
      ASSERT_EQ(back, std::vector<float>(100, float(round) * factor));
    }
    ASSERT_EQ(driver.cuMemFree_v2(data), Success);
    ASSERT_EQ(driver.cuStreamDestroy_v2(stream), Success);
    ContextHandle popped;
    ASSERT_EQ(driver.cuCtxPopCurrent_v2(&popped), Success);
  };
  std::thread first(work, 2.0f), second(work, -3.0f);
  first.join();
  second.join();
}
