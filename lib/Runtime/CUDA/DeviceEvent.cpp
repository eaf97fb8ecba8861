//===- DeviceEvent.cpp - events of a device -------------------------------===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// CUDA's events, for streams of the device that they were made for.
//===----------------------------------------------------------------------===//
#include "CUDA/DeviceStream.h"
#include "Event.h"

using namespace kvc::rt;

namespace {
class DeviceEvent final : public Event {
public:
  explicit DeviceEvent(std::shared_ptr<Device> device)
      : device(std::move(device)) {}
  ~DeviceEvent() override {
    CurrentContext current(*device);
    if (native && current.status == KVC_STATUS_OK)
      current.driver.cuEventDestroy_v2(native);
  }

  kvc_status_t create() {
    CurrentContext current(*device);
    KVC_RETURN_IF_FAILED(current.status);
    return KVC_CUDA(current.driver, cuEventCreate, &native, CU_EVENT_DEFAULT);
  }

  std::string describeStreams() const override {
    return std::string("a stream of device '") + device->getInfo().name + "'";
  }
  kvc_status_t record(Stream &stream) override {
    if (!isOf(stream))
      return failOnStream(stream);
    CurrentContext current(*device);
    KVC_RETURN_IF_FAILED(current.status);
    KVC_RETURN_IF_FAILED(KVC_CUDA(current.driver, cuEventRecord, native,
                                  stream.asDevice()->getNative()));
    isRecorded = true;
    return KVC_STATUS_OK;
  }
  kvc_status_t synchronize() override {
    CurrentContext current(*device);
    KVC_RETURN_IF_FAILED(current.status);
    return KVC_CUDA(current.driver, cuEventSynchronize, native);
  }
  kvc_status_t delay(Stream &stream) override {
    if (!isOf(stream))
      return failOnStream(stream);
    CurrentContext current(*device);
    KVC_RETURN_IF_FAILED(current.status);
    return KVC_CUDA(current.driver, cuStreamWaitEvent,
                    stream.asDevice()->getNative(), native, 0);
  }
  kvc_status_t measureSince(Event &start, float &milliseconds) override {
    auto *other = dynamic_cast<DeviceEvent *>(&start);
    if (!other || other->device != device)
      return failWithOther(start);
    CurrentContext current(*device);
    KVC_RETURN_IF_FAILED(current.status);
    return KVC_CUDA(current.driver, cuEventElapsedTime, &milliseconds,
                    other->native, native);
  }

private:
  bool isOf(Stream &stream) const {
    return stream.asDevice() && stream.asDevice()->device == device;
  }

  std::shared_ptr<Device> device;
  CUevent native = nullptr;
};
} // namespace

kvc_status_t DeviceStream::createEvent(std::shared_ptr<Event> &outEvent) {
  auto event = std::make_shared<DeviceEvent>(device);
  KVC_RETURN_IF_FAILED(event->create());
  outEvent = std::move(event);
  return KVC_STATUS_OK;
}
