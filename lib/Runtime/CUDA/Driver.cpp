//===- Driver.cpp - CUDA's driver, loaded at run time ---------------------===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Finds the library and its entry points, and words its errors.
//===----------------------------------------------------------------------===//
#include "CUDA/Driver.h"

#include <dlfcn.h>

#include <map>
#include <memory>
#include <mutex>
#include <string>

using namespace kvc::rt;

static constexpr const char *kDefaultLibrary = "libcuda.so.1";
/// CUDA 12.0: the first whose compiler knows sm_90a.
static constexpr int kMinDriverVersion = 12000;

//===----------------------------------------------------------------------===//
// Loading
//===----------------------------------------------------------------------===//

kvc_status_t Driver::load(const char *name) {
  void *handle = dlopen(name, RTLD_NOW | RTLD_LOCAL);
  if (!handle) {
    const char *reason = dlerror();
    return fail(KVC_STATUS_NOT_FOUND,
                "expected CUDA's driver in '%s', which cannot be loaded: %s",
                name, reason ? reason : "no reason given");
  }
  const char *missing = nullptr;
  auto find = [&](const char *symbol) {
    void *address = dlsym(handle, symbol);
    if (!address && !missing)
      missing = symbol;
    return address;
  };
#define KVC_CUDA_FIND(name, params)                                            \
  this->name = reinterpret_cast<CUresult(*) params>(find(#name));
  KVC_CUDA_ENTRY_POINTS(KVC_CUDA_FIND)
#undef KVC_CUDA_FIND
  if (!missing)
    return KVC_STATUS_OK;
  dlclose(handle);
  return fail(KVC_STATUS_UNSUPPORTED,
              "expected CUDA's driver in '%s', which has no '%s'", name,
              missing);
}

/// Does nothing where it was done before.
kvc_status_t Driver::initialize() const {
  // Without a device CUDA does not initialise itself, but answers questions.
  CUresult result = cuInit(0);
  if (result != CUDA_ERROR_NO_DEVICE)
    KVC_RETURN_IF_FAILED(check(result, "cuInit"));
  int version = 0;
  KVC_RETURN_IF_FAILED(KVC_CUDA(*this, cuDriverGetVersion, &version));
  if (version < kMinDriverVersion)
    return fail(KVC_STATUS_UNSUPPORTED,
                "expected a driver of CUDA %d.%d or later in '%s', got %d.%d",
                kMinDriverVersion / 1000, kMinDriverVersion % 1000 / 10,
                library, version / 1000, version % 1000 / 10);
  return KVC_STATUS_OK;
}

kvc_status_t Driver::open(const char *library, const Driver *&outDriver) {
  if (!library)
    library = kDefaultLibrary;
  // dlopen takes an empty name for the program itself.
  if (!*library)
    return fail(KVC_STATUS_INVALID_ARGUMENT,
                "expected the path of a library or null, got an empty text");
  static auto *mutex = new std::mutex;
  static auto *drivers = new std::map<std::string, std::unique_ptr<Driver>>;
  std::lock_guard<std::mutex> lock(*mutex);
  auto it = drivers->find(library);
  if (it == drivers->end()) {
    auto driver = std::make_unique<Driver>();
    KVC_RETURN_IF_FAILED(driver->load(library));
    it = drivers->emplace(library, std::move(driver)).first;
    it->second->library = it->first.c_str();
  }
  KVC_RETURN_IF_FAILED(it->second->initialize());
  outDriver = it->second.get();
  return KVC_STATUS_OK;
}

//===----------------------------------------------------------------------===//
// Devices
//===----------------------------------------------------------------------===//

kvc_status_t Driver::countDevices(int32_t &count) const {
  int found = 0;
  CUresult result = cuInit(0);
  if (result != CUDA_ERROR_NO_DEVICE) {
    KVC_RETURN_IF_FAILED(check(result, "cuInit"));
    KVC_RETURN_IF_FAILED(KVC_CUDA(*this, cuDeviceGetCount, &found));
  }
  count = found;
  return KVC_STATUS_OK;
}

kvc_status_t Driver::getDevice(int32_t ordinal, CUdevice &device) const {
  int32_t count;
  KVC_RETURN_IF_FAILED(countDevices(count));
  if (count == 0)
    return fail(KVC_STATUS_NOT_FOUND,
                "expected a device of the driver in '%s', which sees none",
                library);
  if (ordinal < 0 || ordinal >= count)
    return fail(KVC_STATUS_NOT_FOUND,
                "expected a device from 0 to %d of the driver in '%s', got %d",
                count - 1, library, ordinal);
  return KVC_CUDA(*this, cuDeviceGet, &device, ordinal);
}

kvc_status_t Driver::describe(CUdevice device, kvc_device_info_t &info) const {
  kvc_device_info_t result = {};
  result.struct_size = sizeof(result);
  size_t memory = 0;
  const struct {
    int attribute;
    int32_t *value;
  } wanted[] = {
      {CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, &result.num_multiprocessors},
      {CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, &result.compute_major},
      {CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, &result.compute_minor}};
  for (const auto &one : wanted)
    KVC_RETURN_IF_FAILED(KVC_CUDA(*this, cuDeviceGetAttribute, one.value,
                                  one.attribute, device));
  KVC_RETURN_IF_FAILED(
      KVC_CUDA(*this, cuDriverGetVersion, &result.driver_version));
  KVC_RETURN_IF_FAILED(KVC_CUDA(*this, cuDeviceTotalMem_v2, &memory, device));
  KVC_RETURN_IF_FAILED(KVC_CUDA(*this, cuDeviceGetName, result.name,
                                sizeof(result.name) - 1, device));
  result.total_memory = memory;
  info = result;
  return KVC_STATUS_OK;
}

//===----------------------------------------------------------------------===//
// Errors
//===----------------------------------------------------------------------===//

kvc_status_t kvc::rt::getStatus(CUresult result) {
  switch (result) {
  case CUDA_SUCCESS:
    return KVC_STATUS_OK;
  case CUDA_ERROR_INVALID_VALUE:
  case CUDA_ERROR_INVALID_IMAGE:
  case CUDA_ERROR_INVALID_PTX:
    return KVC_STATUS_INVALID_ARGUMENT;
  case CUDA_ERROR_OUT_OF_MEMORY:
    return KVC_STATUS_OUT_OF_MEMORY;
  case CUDA_ERROR_NO_DEVICE:
  case CUDA_ERROR_INVALID_DEVICE:
  case CUDA_ERROR_NOT_FOUND:
    return KVC_STATUS_NOT_FOUND;
  case CUDA_ERROR_NO_BINARY_FOR_GPU:
  case CUDA_ERROR_UNSUPPORTED_PTX_VERSION:
  case CUDA_ERROR_NOT_SUPPORTED:
    return KVC_STATUS_UNSUPPORTED;
  default:
    return KVC_STATUS_DEVICE_ERROR;
  }
}

const char *Driver::getErrorName(CUresult result) const {
  const char *name = nullptr;
  if (cuGetErrorName(result, &name) != CUDA_SUCCESS || !name)
    return "an unknown error";
  return name;
}

const char *Driver::getErrorText(CUresult result) const {
  const char *text = nullptr;
  if (cuGetErrorString(result, &text) != CUDA_SUCCESS || !text)
    return "no text";
  return text;
}

kvc_status_t Driver::check(CUresult result, const char *call) const {
  if (result == CUDA_SUCCESS)
    return KVC_STATUS_OK;
  return fail(getStatus(result), "%s: %s (%d): %s", call, getErrorName(result),
              result, getErrorText(result));
}
