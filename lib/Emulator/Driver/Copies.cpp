//===- Copies.cpp - copies and fills --------------------------------------===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Driver.h"

#include <cstring>

using namespace kvc::emu;
using namespace kvc::emu::cuda;

namespace {
/// Where an end of a copy must be.
enum class Place { Device, Host, Either };

struct Copy {
  DevicePointer to;
  Place toPlace;
  DevicePointer from;
  Place fromPlace;
  size_t size;
};
} // namespace

static DevicePointer asAddress(const void *pointer) {
  return reinterpret_cast<uintptr_t>(pointer);
}

/// True if `size` bytes at `address` may be read and written, as far as one can
/// tell of the host's memory.
static bool isValid(const Driver &driver, DevicePointer address, Place place,
                    size_t size) {
  if (place == Place::Either)
    place =
        driver.memory->isDeviceAddress(address) ? Place::Device : Place::Host;
  if (place == Place::Device)
    return driver.memory->isValid(address, size);
  return address != 0 && size <= UINT64_MAX - address &&
         !driver.memory->isDeviceAddress(address) &&
         !driver.memory->isDeviceAddress(address + size - 1);
}

static Result run(Driver &driver, const Copy &copy) {
  if (copy.size == 0)
    return Success;
  if (!isValid(driver, copy.to, copy.toPlace, copy.size) ||
      !isValid(driver, copy.from, copy.fromPlace, copy.size))
    return InvalidValue;
  std::memmove(Memory::getBytes(copy.to), Memory::getBytes(copy.from),
               copy.size);
  // Also if the source was never written: a copy is a decision to use it.
  if (driver.memory->isDeviceAddress(copy.to))
    driver.memory->markWritten(copy.to, copy.size);
  ++driver.time;
  return Success;
}

/// Waits for the legacy default stream first, and so for all others.
static Result copyNow(const Copy &copy) {
  return callInContext([&](Driver &driver, Context &context) -> Result {
    if (Result result = refuseCapture(driver, context))
      return result;
    if (Result result = takePending(driver, context))
      return result;
    return run(driver, copy);
  });
}

static Result copyLater(const Copy &copy, StreamHandle stream) {
  return callInContext([&](Driver &driver, Context &context) -> Result {
    Stream *on = driver.findStream(context, stream);
    if (!on)
      return InvalidHandle;
    if (Result result = refuseCapture(*on, NotSupported))
      return result;
    return run(driver, copy);
  });
}

//===----------------------------------------------------------------------===//
// Copies
//===----------------------------------------------------------------------===//

static Copy toDevice(DevicePointer to, const void *from, size_t size) {
  return {to, Place::Device, asAddress(from), Place::Host, size};
}
static Copy toHost(void *to, DevicePointer from, size_t size) {
  return {asAddress(to), Place::Host, from, Place::Device, size};
}
static Copy onDevice(DevicePointer to, DevicePointer from, size_t size) {
  return {to, Place::Device, from, Place::Device, size};
}
static Copy anywhere(DevicePointer to, DevicePointer from, size_t size) {
  return {to, Place::Either, from, Place::Either, size};
}

Result cuda::cuMemcpyHtoD_v2(DevicePointer to, const void *from, size_t size) {
  return copyNow(toDevice(to, from, size));
}
Result cuda::cuMemcpyDtoH_v2(void *to, DevicePointer from, size_t size) {
  return copyNow(toHost(to, from, size));
}
Result cuda::cuMemcpyDtoD_v2(DevicePointer to, DevicePointer from,
                             size_t size) {
  return copyNow(onDevice(to, from, size));
}
Result cuda::cuMemcpy(DevicePointer to, DevicePointer from, size_t size) {
  return copyNow(anywhere(to, from, size));
}
Result cuda::cuMemcpyHtoDAsync_v2(DevicePointer to, const void *from,
                                  size_t size, StreamHandle stream) {
  return copyLater(toDevice(to, from, size), stream);
}
Result cuda::cuMemcpyDtoHAsync_v2(void *to, DevicePointer from, size_t size,
                                  StreamHandle stream) {
  return copyLater(toHost(to, from, size), stream);
}
Result cuda::cuMemcpyDtoDAsync_v2(DevicePointer to, DevicePointer from,
                                  size_t size, StreamHandle stream) {
  return copyLater(onDevice(to, from, size), stream);
}
Result cuda::cuMemcpyAsync(DevicePointer to, DevicePointer from, size_t size,
                           StreamHandle stream) {
  return copyLater(anywhere(to, from, size), stream);
}

//===----------------------------------------------------------------------===//
// Fills
//===----------------------------------------------------------------------===//

template <typename T>
static Result fill(DevicePointer to, T value, size_t count,
                   StreamHandle stream) {
  return callInContext([&](Driver &driver, Context &context) -> Result {
    Stream *on = driver.findStream(context, stream);
    if (!on)
      return InvalidHandle;
    if (Result result = refuseCapture(*on, NotSupported))
      return result;
    if (count == 0)
      return Success;
    if (to % sizeof(T) || count > SIZE_MAX / sizeof(T) ||
        !driver.memory->isValid(to, count * sizeof(T)))
      return InvalidValue;
    uint8_t *bytes = Memory::getBytes(to);
    if constexpr (sizeof(T) == 1)
      std::memset(bytes, value, count);
    else
      for (size_t i = 0; i != count; ++i)
        std::memcpy(bytes + i * sizeof(T), &value, sizeof(T));
    driver.memory->markWritten(to, count * sizeof(T));
    ++driver.time;
    return Success;
  });
}

Result cuda::cuMemsetD8_v2(DevicePointer to, uint8_t value, size_t count) {
  return fill(to, value, count, nullptr);
}
Result cuda::cuMemsetD16_v2(DevicePointer to, uint16_t value, size_t count) {
  return fill(to, value, count, nullptr);
}
Result cuda::cuMemsetD32_v2(DevicePointer to, uint32_t value, size_t count) {
  return fill(to, value, count, nullptr);
}
Result cuda::cuMemsetD8Async(DevicePointer to, uint8_t value, size_t count,
                             StreamHandle stream) {
  return fill(to, value, count, stream);
}
Result cuda::cuMemsetD16Async(DevicePointer to, uint16_t value, size_t count,
                              StreamHandle stream) {
  return fill(to, value, count, stream);
}
Result cuda::cuMemsetD32Async(DevicePointer to, uint32_t value, size_t count,
                              StreamHandle stream) {
  return fill(to, value, count, stream);
}
