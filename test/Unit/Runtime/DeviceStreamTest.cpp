//===- DeviceStreamTest.cpp - streams and events of a device --------------===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//
//===----------------------------------------------------------------------===//
#include "DeviceFixture.h"

using namespace kvc::rt;

static const kvc_rt_api_t *const api = kvc_runtime_api();

namespace {
using DeviceStreamTest = DeviceFixture;

/// An event that is released at the end.
struct OwnedEvent {
  explicit OwnedEvent(kvc_stream_t *stream) {
    EXPECT_OK(kvc_event_create(stream, &event));
  }
  ~OwnedEvent() { kvc_event_release(event); }
  OwnedEvent(const OwnedEvent &) = delete;
  operator kvc_event_t *() const { return event; }

  kvc_event_t *event = nullptr;
};
} // namespace

TEST_F(DeviceStreamTest, CreateAndRelease) {
  kvc_stream_t *stream = nullptr;
  EXPECT_FAILS(kvc_stream_create(device, nullptr), KVC_STATUS_INVALID_ARGUMENT,
               "expected out_stream, got null");
  cuda.failCall("cuStreamCreate", CUDA_ERROR_OUT_OF_MEMORY);
  EXPECT_FAILS(kvc_stream_create(device, &stream), KVC_STATUS_OUT_OF_MEMORY,
               "cuStreamCreate: CUDA_ERROR_OUT_OF_MEMORY (2)");
  EXPECT_EQ(stream, nullptr);
  ASSERT_OK(kvc_stream_create(device, &stream));
  EXPECT_EQ(kvc_stream_num_workers(stream), 7);
  EXPECT_EQ(api->num_workers(stream), 7);
  EXPECT_EQ(cuda.streams.count(kvc_stream_native(stream)), 1u);
  EXPECT_OK(kvc_stream_synchronize(stream));
  kvc_stream_release(stream);
  EXPECT_FAILS(kvc_stream_synchronize(stream), KVC_STATUS_INVALID_ARGUMENT,
               "expected a stream, got one that was released");
  EXPECT_FAILS(kvc_stream_native(stream), nullptr, "that was released");
}

// The device stays for a stream that outlives its handle.
TEST_F(DeviceStreamTest, OutlivesTheHandle) {
  OwnedDeviceStream stream(device);
  kvc_device_release(device);
  EXPECT_EQ(cuda.numContexts, 1);
  EXPECT_OK(kvc_stream_synchronize(stream));
}

// A stream of somebody else is used and left alone.
TEST_F(DeviceStreamTest, Wrap) {
  int theirs = 0;
  kvc_stream_t *stream = nullptr;
  ASSERT_OK(kvc_stream_wrap(device, &theirs, &stream));
  EXPECT_EQ(kvc_stream_native(stream), &theirs);
  EXPECT_OK(kvc_stream_synchronize(stream));
  kvc_stream_release(stream);
  EXPECT_EQ(cuda.numCalls["cuStreamDestroy_v2"], 0);
  EXPECT_EQ(cuda.streams.erase(&theirs), 1u);
}

TEST_F(DeviceStreamTest, WrongKinds) {
  OwnedDeviceStream stream(device);
  OwnedStream cpu(1);
  kvc_cpu_kernel_fn kernel = [](const void *, int64_t, int32_t) {};
  EXPECT_FAILS(
      api->parallel_for(stream, kernel, nullptr, 1),
      KVC_STATUS_INVALID_ARGUMENT,
      "parallel_for: expected a CPU stream, got a stream of device 'Fake 0'");
  StoreProgram store;
  uint32_t grid[3] = {1, 1, 1};
  EXPECT_FAILS(api->launch(cpu, store.program, 0, grid, nullptr, nullptr),
               KVC_STATUS_INVALID_ARGUMENT,
               "launch: expected a stream of a device, got a CPU stream");
  EXPECT_OK(kvc_stream_synchronize(cpu));
  EXPECT_EQ(kvc_stream_native(cpu), nullptr);
}

// What goes wrong in a kernel comes out where it is waited for.
TEST_F(DeviceStreamTest, ErrorsComeOutAtSynchronize) {
  OwnedDeviceStream stream(device);
  cuda.streams[kvc_stream_native(stream)].error = kIllegalAddress;
  EXPECT_FAILS(kvc_stream_synchronize(stream), KVC_STATUS_DEVICE_ERROR,
               "cuStreamSynchronize: CUDA_ERROR_ILLEGAL_ADDRESS (700): text of "
               "the fake driver");
}

//===----------------------------------------------------------------------===//
// Events
//===----------------------------------------------------------------------===//

TEST_F(DeviceStreamTest, Events) {
  OwnedDeviceStream stream(device), second(device);
  OwnedEvent start(stream), end(stream);
  float milliseconds = -1.0f;
  EXPECT_FAILS(kvc_event_synchronize(start), KVC_STATUS_INVALID_ARGUMENT,
               "expected an event that was recorded, got one that never was");
  EXPECT_OK(kvc_event_record(start, stream));
  EXPECT_FAILS(kvc_event_elapsed(start, end, &milliseconds),
               KVC_STATUS_INVALID_ARGUMENT, "that was recorded");
  EXPECT_OK(kvc_event_record(end, second));
  EXPECT_OK(kvc_event_synchronize(end));
  EXPECT_OK(kvc_event_elapsed(start, end, &milliseconds));
  EXPECT_EQ(milliseconds, 1.0f);
  EXPECT_OK(kvc_stream_wait_event(second, start));
  EXPECT_EQ(cuda.numCalls["cuStreamWaitEvent"], 1);
  EXPECT_FAILS(kvc_event_elapsed(start, end, nullptr),
               KVC_STATUS_INVALID_ARGUMENT,
               "expected out_milliseconds, got null");
}

TEST_F(DeviceStreamTest, EventsOfTheCPU) {
  OwnedStream stream(1);
  OwnedEvent start(stream), end(stream);
  EXPECT_OK(kvc_event_record(start, stream));
  EXPECT_OK(kvc_event_record(end, stream));
  float milliseconds = -1.0f;
  EXPECT_OK(kvc_event_elapsed(start, end, &milliseconds));
  EXPECT_GE(milliseconds, 0.0f);
  EXPECT_OK(kvc_stream_wait_event(stream, end));
}

TEST_F(DeviceStreamTest, WrongEvents) {
  cuda.numDevices = 2;
  kvc_device_t *otherDevice = nullptr;
  ASSERT_OK(kvc_device_create_cuda(KVC_FAKE_CUDA, 1, &otherDevice));
  {
    OwnedDeviceStream stream(device), other(otherDevice);
    OwnedStream cpu(1);
    OwnedEvent event(stream), otherEvent(other), cpuEvent(cpu);
    const char *text = "expected a stream of device 'Fake 0' for the event, "
                       "which was made for such, got a ";
    EXPECT_FAILS(kvc_event_record(event, cpu), KVC_STATUS_INVALID_ARGUMENT,
                 std::string(text) + "CPU stream");
    EXPECT_FAILS(kvc_event_record(event, other), KVC_STATUS_INVALID_ARGUMENT,
                 std::string(text) + "stream of device 'Fake 1'");
    EXPECT_FAILS(kvc_event_record(cpuEvent, stream),
                 KVC_STATUS_INVALID_ARGUMENT, "expected a CPU stream");
    EXPECT_OK(kvc_event_record(event, stream));
    EXPECT_OK(kvc_event_record(otherEvent, other));
    EXPECT_OK(kvc_event_record(cpuEvent, cpu));
    EXPECT_FAILS(kvc_stream_wait_event(other, event),
                 KVC_STATUS_INVALID_ARGUMENT, text);
    EXPECT_FAILS(kvc_stream_wait_event(stream, cpuEvent),
                 KVC_STATUS_INVALID_ARGUMENT, "expected a CPU stream");
    float milliseconds;
    for (kvc_event_t *bad : {otherEvent.event, cpuEvent.event}) {
      EXPECT_FAILS(kvc_event_elapsed(event, bad, &milliseconds),
                   KVC_STATUS_INVALID_ARGUMENT,
                   "expected both events to be for streams of one kind, got a "
                   "stream of device 'Fake 0' and ");
      EXPECT_FAILS(kvc_event_elapsed(bad, event, &milliseconds),
                   KVC_STATUS_INVALID_ARGUMENT, "of one kind");
    }
    kvc_event_t *none = nullptr;
    EXPECT_FAILS(kvc_event_create(stream, nullptr), KVC_STATUS_INVALID_ARGUMENT,
                 "expected out_event, got null");
    EXPECT_FAILS(kvc_event_create(nullptr, &none), KVC_STATUS_INVALID_ARGUMENT,
                 "expected a stream, got null");
    EXPECT_FAILS(kvc_event_record(none, stream), KVC_STATUS_INVALID_ARGUMENT,
                 "expected an event, got null");
    EXPECT_FAILS(kvc_event_synchronize(none), KVC_STATUS_INVALID_ARGUMENT,
                 "expected an event, got null");
    kvc_event_release(reinterpret_cast<kvc_event_t *>(&text));
  }
  kvc_device_release(otherDevice);
}

TEST_F(DeviceStreamTest, EventsFail) {
  OwnedDeviceStream stream(device);
  kvc_event_t *event = nullptr;
  cuda.failCall("cuEventCreate", CUDA_ERROR_OUT_OF_MEMORY);
  EXPECT_FAILS(kvc_event_create(stream, &event), KVC_STATUS_OUT_OF_MEMORY,
               "cuEventCreate");
  EXPECT_EQ(event, nullptr);
  OwnedEvent good(stream);
  cuda.failCall("cuEventRecord", kIllegalAddress);
  EXPECT_FAILS(kvc_event_record(good, stream), KVC_STATUS_DEVICE_ERROR,
               "cuEventRecord: CUDA_ERROR_ILLEGAL_ADDRESS (700)");
  EXPECT_FAILS(kvc_event_synchronize(good), KVC_STATUS_INVALID_ARGUMENT,
               "that was recorded");
  EXPECT_OK(kvc_event_record(good, stream));
  cuda.failCall("cuEventSynchronize", kIllegalAddress);
  EXPECT_FAILS(kvc_event_synchronize(good), KVC_STATUS_DEVICE_ERROR,
               "cuEventSynchronize");
  cuda.failCall("cuStreamWaitEvent", kIllegalAddress);
  EXPECT_FAILS(kvc_stream_wait_event(stream, good), KVC_STATUS_DEVICE_ERROR,
               "cuStreamWaitEvent");
  float milliseconds = -1.0f;
  cuda.failCall("cuEventElapsedTime", kIllegalAddress);
  EXPECT_FAILS(kvc_event_elapsed(good, good, &milliseconds),
               KVC_STATUS_DEVICE_ERROR, "cuEventElapsedTime");
  EXPECT_EQ(milliseconds, -1.0f);
}
