//===- Allocations.cpp - memory of the device and the host ----------------===//
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

/// Of memory of the host.
static constexpr size_t kHostAlignment = 4096;

//===----------------------------------------------------------------------===//
// Of the device
//===----------------------------------------------------------------------===//

static Result allocate(Driver &driver, Context &context, DevicePointer *address,
                       size_t size) {
  if (!address || size == 0)
    return InvalidValue;
  DevicePointer allocated = driver.memory->allocate(size);
  if (!allocated)
    return OutOfMemory;
  driver.allocations[allocated] = {&context, size, ++driver.numAllocations, 0};
  *address = allocated;
  return Success;
}

static Result free(Driver &driver, DevicePointer address) {
  if (address == 0)
    return Success;
  if (!driver.allocations.erase(address))
    return InvalidValue;
  driver.memory->free(address);
  return Success;
}

Result cuda::cuMemAlloc_v2(DevicePointer *address, size_t size) {
  return callInContext([&](Driver &driver, Context &context) {
    return allocate(driver, context, address, size);
  });
}

Result cuda::cuMemFree_v2(DevicePointer address) {
  return callInContext(
      [&](Driver &driver, Context &) { return free(driver, address); });
}

Result cuda::cuMemAllocAsync(DevicePointer *address, size_t size,
                             StreamHandle stream) {
  return callInContext([&](Driver &driver, Context &context) -> Result {
    Stream *on = driver.findStream(context, stream);
    if (!on)
      return InvalidHandle;
    if (Result result = refuseCapture(*on, NotSupported))
      return result;
    ++driver.time;
    return allocate(driver, context, address, size);
  });
}

Result cuda::cuMemFreeAsync(DevicePointer address, StreamHandle stream) {
  return callInContext([&](Driver &driver, Context &context) -> Result {
    Stream *on = driver.findStream(context, stream);
    if (!on)
      return InvalidHandle;
    if (Result result = refuseCapture(*on, NotSupported))
      return result;
    ++driver.time;
    return address ? free(driver, address) : InvalidValue;
  });
}

Result cuda::cuMemGetInfo_v2(size_t *available, size_t *total) {
  return callInContext([&](Driver &driver, Context &) {
    if (!available || !total)
      return InvalidValue;
    *total = kDeviceBytes;
    *available = driver.memory->getCapacity() - driver.memory->getUsed();
    return Success;
  });
}

Result cuda::cuMemGetAddressRange_v2(DevicePointer *begin, size_t *size,
                                     DevicePointer address) {
  return callInContext([&](Driver &driver, Context &) {
    Memory::Allocation allocation = driver.memory->find(address);
    if (!allocation.end)
      return NotFound;
    if (begin)
      *begin = allocation.begin;
    if (size)
      *size = allocation.end - allocation.begin;
    return Success;
  });
}

//===----------------------------------------------------------------------===//
// Of the host
//===----------------------------------------------------------------------===//

Result cuda::cuMemHostAlloc(void **address, size_t size, uint32_t flags) {
  return callInContext([&](Driver &driver, Context &context) {
    if (!address || size == 0 || flags > 7)
      return InvalidValue;
    void *allocated =
        ::operator new(size, std::align_val_t(kHostAlignment), std::nothrow);
    if (!allocated)
      return OutOfMemory;
    driver.hostAllocations[reinterpret_cast<uintptr_t>(allocated)] = {
        &context, size, ++driver.numAllocations, flags};
    *address = allocated;
    return Success;
  });
}

Result cuda::cuMemAllocHost_v2(void **address, size_t size) {
  return cuMemHostAlloc(address, size, 0);
}

Result cuda::cuMemFreeHost(void *address) {
  return callInContext([&](Driver &driver, Context &) {
    if (!driver.hostAllocations.erase(reinterpret_cast<uintptr_t>(address)))
      return InvalidValue;
    ::operator delete(address, std::align_val_t(kHostAlignment));
    return Success;
  });
}

//===----------------------------------------------------------------------===//
// Attributes of pointers
//===----------------------------------------------------------------------===//

namespace {
/// What is known of an address.
struct Found {
  Buffer buffer;
  uint64_t begin = 0;
  MemoryType type = MemoryType::Device;
};
} // namespace

static bool find(Driver &driver, DevicePointer address, Found &found) {
  Memory::Allocation allocation = driver.memory->find(address);
  if (allocation.end) {
    // The variables of modules are no allocations of the caller.
    auto buffer = driver.allocations.find(allocation.begin);
    if (buffer != driver.allocations.end())
      found.buffer = buffer->second;
    else
      found.buffer.size = allocation.end - allocation.begin;
    found.begin = allocation.begin;
    return true;
  }
  auto next = driver.hostAllocations.upper_bound(address);
  if (next == driver.hostAllocations.begin())
    return false;
  auto [begin, buffer] = *std::prev(next);
  if (address - begin >= buffer.size)
    return false;
  found = {buffer, begin, MemoryType::Host};
  return true;
}

template <typename T>
static Result store(void *data, T value) {
  std::memcpy(data, &value, sizeof(value));
  return Success;
}

static Result getAttribute(const Context &current, const Found &found,
                           void *data, PointerAttribute attribute,
                           DevicePointer address) {
  bool onDevice = found.type == MemoryType::Device;
  const Context *context = found.buffer.context;
  switch (attribute) {
  case PointerAttribute::Context:
    return store(data, context ? context->handle : current.handle);
  case PointerAttribute::MemoryType:
    return store(data, found.type);
  case PointerAttribute::DevicePointer:
    return onDevice ? store(data, address) : InvalidValue;
  case PointerAttribute::HostPointer:
    return onDevice ? InvalidValue : store(data, address);
  case PointerAttribute::SyncMemops:
  case PointerAttribute::IsManaged:
    return store(data, uint32_t(0));
  case PointerAttribute::BufferId:
    return store(data, found.buffer.id);
  case PointerAttribute::DeviceOrdinal:
    return store(data, int32_t(0));
  case PointerAttribute::RangeStart:
    return store(data, found.begin);
  case PointerAttribute::RangeSize:
    return store(data, size_t(found.buffer.size));
  case PointerAttribute::Mapped:
    return store(data, uint32_t(1));
  }
  return NotSupported;
}

/// True if CUDA has such an attribute.
static bool isKnown(PointerAttribute attribute) {
  return int32_t(attribute) > 0 && int32_t(attribute) < kNumPointerAttributes;
}

Result cuda::cuPointerGetAttribute(void *data, PointerAttribute attribute,
                                   DevicePointer address) {
  return callInContext([&](Driver &driver, Context &context) {
    Found found;
    if (!data || !isKnown(attribute) || !find(driver, address, found))
      return InvalidValue;
    return getAttribute(context, found, data, attribute, address);
  });
}

Result cuda::cuPointerGetAttributes(uint32_t count,
                                    PointerAttribute *attributes, void **data,
                                    DevicePointer address) {
  return callInContext([&](Driver &driver, Context &context) {
    if (count == 0 || !attributes || !data)
      return InvalidValue;
    for (uint32_t i = 0; i != count; ++i)
      if (!data[i] || !isKnown(attributes[i]))
        return InvalidValue;
    // Of an address that is unknown, everything is null.
    Found found;
    bool known = find(driver, address, found);
    for (uint32_t i = 0; i != count; ++i) {
      if (!known || getAttribute(context, found, data[i], attributes[i],
                                 address) != Success) {
        bool wide = attributes[i] == PointerAttribute::Context ||
                    attributes[i] == PointerAttribute::DevicePointer ||
                    attributes[i] == PointerAttribute::HostPointer;
        wide ? store(data[i], uint64_t(0)) : store(data[i], uint32_t(0));
      }
    }
    return Success;
  });
}
