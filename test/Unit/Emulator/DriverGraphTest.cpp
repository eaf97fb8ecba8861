//===- DriverGraphTest.cpp - capture of streams ---------------------------===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "DriverLibrary.h"

#include <gmock/gmock.h>

#include <vector>

using namespace kvc::emu::cuda;
using testing::ElementsAre;

namespace {
class DriverGraphTest : public DriverTest {
protected:
  void SetUp() override {
    DriverTest::SetUp();
    ASSERT_EQ(driver.cuStreamCreate(&stream, kStreamNonBlocking), Success);
    data = allocate(3 * sizeof(float));
    write({1, 2, 3});
  }

  /// Multiplies the first `count` numbers by `factor`.
  Result scale(float factor, uint32_t count) {
    void *parameters[] = {&data, &factor, &count};
    Result result = driver.cuLaunchKernel(findKernel("scale"), 1, 1, 1, 32, 1, 1, 0, stream,
                                          parameters, nullptr);
    // The graph has a copy of the parameters.
    factor = 0;
    count = 0;
    return result;
  }

  void write(const std::vector<float> &values) {
    EXPECT_EQ(driver.cuMemcpyHtoD_v2(data, values.data(), values.size() * sizeof(float)),
              Success);
  }
  std::vector<float> read() {
    std::vector<float> values(3);
    EXPECT_EQ(driver.cuMemcpyDtoH_v2(values.data(), data, 3 * sizeof(float)), Success);
    return values;
  }

  CaptureStatus getStatus() {
    int status = -1;
    EXPECT_EQ(driver.cuStreamIsCapturing(stream, &status), Success);
    return CaptureStatus(status);
  }

  StreamHandle stream = nullptr;
  DevicePointer data = 0;
  GraphHandle graph = nullptr;
  GraphExecHandle exec = nullptr;
};
} // namespace

TEST_F(DriverGraphTest, ReplaysLaunchesInOrder) {
  EXPECT_EQ(getStatus(), CaptureStatus::None);
  ASSERT_EQ(driver.cuStreamBeginCapture_v2(stream, CaptureMode::Relaxed), Success);
  EXPECT_EQ(getStatus(), CaptureStatus::Active);
  EXPECT_EQ(scale(2, 3), Success);
  EXPECT_EQ(scale(10, 1), Success);
  ASSERT_EQ(driver.cuStreamEndCapture(stream, &graph), Success);
  EXPECT_EQ(getStatus(), CaptureStatus::None);
  // Nothing ran so far.
  EXPECT_THAT(read(), ElementsAre(1, 2, 3));

  ASSERT_EQ(driver.cuGraphInstantiateWithFlags(&exec, graph, 0), Success);
  EXPECT_EQ(driver.cuGraphDestroy(graph), Success);
  EXPECT_EQ(driver.cuGraphLaunch(exec, stream), Success);
  EXPECT_EQ(driver.cuStreamSynchronize(stream), Success);
  EXPECT_THAT(read(), ElementsAre(20, 4, 6));
  write({0, 1, 5});
  EXPECT_EQ(driver.cuGraphLaunch(exec, stream), Success);
  EXPECT_EQ(driver.cuStreamSynchronize(stream), Success);
  EXPECT_THAT(read(), ElementsAre(0, 2, 10));
  EXPECT_EQ(driver.cuGraphExecDestroy(exec), Success);
  EXPECT_EQ(driver.cuStreamDestroy_v2(stream), Success);
}

// Whatever waits spoils the capture of the thread's streams, which ends without a graph.
TEST_F(DriverGraphTest, WaitingSpoilsACapture) {
  for (int how = 0; how < 3; ++how) {
    ASSERT_EQ(driver.cuStreamBeginCapture_v2(stream, CaptureMode::Global), Success);
    EXPECT_EQ(scale(2, 3), Success);
    float value = 0;
    Result result = how == 0   ? driver.cuStreamSynchronize(stream)
                    : how == 1 ? driver.cuStreamQuery(stream)
                               : driver.cuMemcpyDtoH_v2(&value, data, sizeof(value));
    EXPECT_EQ(result, StreamCaptureUnsupported) << how;
    EXPECT_EQ(getStatus(), CaptureStatus::Invalidated);
    EXPECT_EQ(scale(2, 3), StreamCaptureInvalidated);
    graph = reinterpret_cast<GraphHandle>(&graph);
    EXPECT_EQ(driver.cuStreamEndCapture(stream, &graph), StreamCaptureInvalidated);
    EXPECT_EQ(graph, nullptr);
    EXPECT_EQ(getStatus(), CaptureStatus::None);
  }
  EXPECT_THAT(read(), ElementsAre(1, 2, 3));
  EXPECT_EQ(driver.cuStreamDestroy_v2(stream), Success);
}

TEST_F(DriverGraphTest, RefusesWhatAGraphCannotHold) {
  if (!driver.isEmulator())
    GTEST_SKIP() << "a real driver captures copies and fills";
  auto spoils = [&](auto call) {
    ASSERT_EQ(driver.cuStreamBeginCapture_v2(stream, CaptureMode::Relaxed), Success);
    EXPECT_EQ(call(), NotSupported);
    EXPECT_EQ(driver.cuStreamEndCapture(stream, &graph), StreamCaptureInvalidated);
  };
  spoils([&] { return driver.cuMemcpyDtoDAsync_v2(data, data, 4, stream); });
  spoils([&] { return driver.cuMemsetD8Async(data, 0, 4, stream); });
  DevicePointer other;
  spoils([&] { return driver.cuMemAllocAsync(&other, 4, stream); });
  spoils([&] { return driver.cuLaunchHostFunc(stream, [](void *) {}, nullptr); });
  EventHandle event;
  ASSERT_EQ(driver.cuEventCreate(&event, 0), Success);
  spoils([&] { return driver.cuEventRecord(event, stream); });
  EXPECT_EQ(driver.cuEventDestroy_v2(event), Success);
  EXPECT_THAT(read(), ElementsAre(1, 2, 3));
  EXPECT_EQ(driver.cuStreamDestroy_v2(stream), Success);
}

TEST_F(DriverGraphTest, ChecksArguments) {
  EXPECT_EQ(driver.cuStreamBeginCapture_v2(nullptr, CaptureMode::Relaxed),
            StreamCaptureUnsupported);
  EXPECT_EQ(driver.cuStreamBeginCapture_v2(stream, CaptureMode(3)), InvalidValue);
  EXPECT_EQ(driver.cuStreamEndCapture(stream, &graph), IllegalState);
  ASSERT_EQ(driver.cuStreamBeginCapture_v2(stream, CaptureMode::Relaxed), Success);
  EXPECT_EQ(driver.cuStreamBeginCapture_v2(stream, CaptureMode::Relaxed), IllegalState);
  ASSERT_EQ(driver.cuStreamEndCapture(stream, &graph), Success);
  ASSERT_EQ(driver.cuGraphInstantiateWithFlags(&exec, graph, 0), Success);
  EXPECT_EQ(driver.cuGraphDestroy(graph), Success);
  EXPECT_EQ(driver.cuGraphExecDestroy(exec), Success);
  if (driver.isEmulator()) { // A real driver may end the process.
    EXPECT_EQ(driver.cuGraphDestroy(graph), InvalidHandle);
    EXPECT_EQ(driver.cuGraphLaunch(exec, stream), InvalidHandle);
    EXPECT_EQ(driver.cuGraphExecDestroy(exec), InvalidHandle);
    EXPECT_EQ(driver.cuGraphInstantiateWithFlags(&exec, graph, 0), InvalidHandle);
  }
  EXPECT_EQ(driver.cuStreamDestroy_v2(stream), Success);
}
