//===- DeviceAPI.cpp - the C interface of devices -------------------------===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Checks the arguments and calls the device, which does the work.
//===----------------------------------------------------------------------===//
#include "CUDA/Device.h"

using namespace kvc::rt;

/// Finds the device of a copy of `size` bytes between the two pointers, or
/// returns null with a message.
static std::shared_ptr<Device> findForCopy(const kvc_device_t *device,
                                           const void *data, const char *what,
                                           const void *host, uint64_t size) {
  std::shared_ptr<Device> object = getDevices().find(device);
  if (!object || size == 0 || (data && host))
    return object;
  fail(KVC_STATUS_INVALID_ARGUMENT, "expected %s of %llu bytes, got null",
       !data ? "data" : what, static_cast<unsigned long long>(size));
  return nullptr;
}

static CUdeviceptr getAddress(const void *data) {
  return reinterpret_cast<CUdeviceptr>(data);
}

extern "C" {

kvc_status_t kvc_device_count(const char *library, int32_t *out_count) {
  return guarded("kvc_device_count", [&]() -> kvc_status_t {
    if (!out_count)
      return fail(KVC_STATUS_INVALID_ARGUMENT, "expected out_count, got null");
    const Driver *driver;
    KVC_RETURN_IF_FAILED(Driver::open(library, driver));
    return driver->countDevices(*out_count);
  });
}

kvc_status_t kvc_device_describe(const char *library, int32_t ordinal,
                                 kvc_device_info_t *out_info) {
  return guarded("kvc_device_describe", [&]() -> kvc_status_t {
    if (!out_info)
      return fail(KVC_STATUS_INVALID_ARGUMENT, "expected out_info, got null");
    const Driver *driver;
    CUdevice device;
    KVC_RETURN_IF_FAILED(Driver::open(library, driver));
    KVC_RETURN_IF_FAILED(driver->getDevice(ordinal, device));
    return driver->describe(device, *out_info);
  });
}

kvc_status_t kvc_device_create_cuda(const char *library, int32_t ordinal,
                                    kvc_device_t **out_device) {
  return guarded("kvc_device_create_cuda", [&]() -> kvc_status_t {
    if (!out_device)
      return fail(KVC_STATUS_INVALID_ARGUMENT, "expected out_device, got null");
    std::shared_ptr<Device> device;
    KVC_RETURN_IF_FAILED(Device::open(library, ordinal, device));
    *out_device = getDevices().insert(std::move(device));
    return KVC_STATUS_OK;
  });
}

void kvc_device_release(kvc_device_t *device) { getDevices().remove(device); }

kvc_status_t kvc_device_info(kvc_device_t *device,
                             kvc_device_info_t *out_info) {
  std::shared_ptr<Device> object = getDevices().find(device);
  if (!object)
    return KVC_STATUS_INVALID_ARGUMENT;
  if (!out_info)
    return fail(KVC_STATUS_INVALID_ARGUMENT, "expected out_info, got null");
  *out_info = object->getInfo();
  return KVC_STATUS_OK;
}

kvc_status_t kvc_device_allocate(kvc_device_t *device, uint64_t size,
                                 void **out_data) {
  return guarded("kvc_device_allocate", [&]() -> kvc_status_t {
    std::shared_ptr<Device> object = getDevices().find(device);
    if (!object)
      return KVC_STATUS_INVALID_ARGUMENT;
    if (!out_data)
      return fail(KVC_STATUS_INVALID_ARGUMENT, "expected out_data, got null");
    return object->allocateForCaller(size, *out_data);
  });
}

kvc_status_t kvc_device_free(kvc_device_t *device, void *data) {
  return guarded("kvc_device_free", [&]() -> kvc_status_t {
    std::shared_ptr<Device> object = getDevices().find(device);
    return object ? object->freeForCaller(data)
                  : kvc_status_t{KVC_STATUS_INVALID_ARGUMENT};
  });
}

kvc_status_t kvc_device_upload(kvc_device_t *device, void *data,
                               const void *host, uint64_t size) {
  return guarded("kvc_device_upload", [&]() -> kvc_status_t {
    std::shared_ptr<Device> object =
        findForCopy(device, data, "host", host, size);
    if (!object)
      return KVC_STATUS_INVALID_ARGUMENT;
    KVC_RETURN_IF_FAILED(object->synchronize());
    return object->upload(getAddress(data), host, size);
  });
}

kvc_status_t kvc_device_download(kvc_device_t *device, void *host,
                                 const void *data, uint64_t size) {
  return guarded("kvc_device_download", [&]() -> kvc_status_t {
    std::shared_ptr<Device> object =
        findForCopy(device, data, "host", host, size);
    if (!object)
      return KVC_STATUS_INVALID_ARGUMENT;
    KVC_RETURN_IF_FAILED(object->synchronize());
    return object->download(host, getAddress(data), size);
  });
}

kvc_status_t kvc_device_fill(kvc_device_t *device, void *data, uint8_t value,
                             uint64_t size) {
  return guarded("kvc_device_fill", [&]() -> kvc_status_t {
    std::shared_ptr<Device> object =
        findForCopy(device, data, "data", data, size);
    if (!object)
      return KVC_STATUS_INVALID_ARGUMENT;
    KVC_RETURN_IF_FAILED(object->synchronize());
    return object->fill(getAddress(data), value, size);
  });
}

kvc_status_t kvc_device_synchronize(kvc_device_t *device) {
  return guarded("kvc_device_synchronize", [&]() -> kvc_status_t {
    std::shared_ptr<Device> object = getDevices().find(device);
    return object ? object->synchronize()
                  : kvc_status_t{KVC_STATUS_INVALID_ARGUMENT};
  });
}

} // extern "C"
