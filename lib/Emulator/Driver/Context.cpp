//===- Context.cpp - contexts ---------------------------------------------===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Driver.h"

#include <utility>

using namespace kvc::emu;
using namespace kvc::emu::cuda;

/// Bits that a context may be created with.
static constexpr uint32_t kContextFlags = 0x1FF;

static ContextHandle create(Driver &driver, uint32_t flags, uint32_t version) {
  auto context = std::make_unique<Context>();
  context->flags = flags;
  context->apiVersion = version;
  context->defaultStream.context = context.get();
  Context *created = context.get();
  created->handle = driver.contexts.add(std::move(context));
  return created->handle;
}

//===----------------------------------------------------------------------===//
// The primary context
//===----------------------------------------------------------------------===//

Result cuda::cuDevicePrimaryCtxRetain(ContextHandle *context, Device device) {
  return call([&](Driver &driver) {
    if (!context)
      return InvalidValue;
    if (device != 0)
      return InvalidDevice;
    if (!driver.primary) {
      driver.primary = create(driver, driver.primaryFlags, 3020);
      driver.contexts.find(driver.primary)->primary = true;
    }
    ++driver.primaryUsers;
    *context = driver.primary;
    return Success;
  });
}

static void endPrimary(Driver &driver) {
  driver.destroy(std::exchange(driver.primary, nullptr));
}

Result cuda::cuDevicePrimaryCtxRelease_v2(Device device) {
  return call([&](Driver &driver) {
    if (device != 0)
      return InvalidDevice;
    if (driver.primaryUsers == 0)
      return InvalidContext;
    if (--driver.primaryUsers == 0 && driver.primary)
      endPrimary(driver);
    return Success;
  });
}

Result cuda::cuDevicePrimaryCtxRelease(Device device) {
  return cuDevicePrimaryCtxRelease_v2(device);
}

Result cuda::cuDevicePrimaryCtxReset_v2(Device device) {
  return call([&](Driver &driver) {
    if (device != 0)
      return InvalidDevice;
    if (driver.primary)
      endPrimary(driver);
    return Success;
  });
}

Result cuda::cuDevicePrimaryCtxSetFlags_v2(Device device, uint32_t flags) {
  return call([&](Driver &driver) {
    if (device != 0)
      return InvalidDevice;
    if (flags & ~kContextFlags)
      return InvalidValue;
    driver.primaryFlags = flags;
    if (driver.primary)
      driver.contexts.find(driver.primary)->flags = flags;
    return Success;
  });
}

Result cuda::cuDevicePrimaryCtxGetState(Device device, uint32_t *flags,
                                        int *active) {
  return call([&](Driver &driver) {
    if (device != 0)
      return InvalidDevice;
    if (!flags || !active)
      return InvalidValue;
    *flags = driver.primaryFlags;
    *active = driver.primary != nullptr;
    return Success;
  });
}

//===----------------------------------------------------------------------===//
// Other contexts
//===----------------------------------------------------------------------===//

static Result createCurrent(ContextHandle *context, uint32_t flags,
                            Device device, uint32_t version) {
  return call([&](Driver &driver) {
    if (!context || flags & ~kContextFlags)
      return InvalidValue;
    if (device != 0)
      return InvalidDevice;
    *context = create(driver, flags, version);
    getContextStack().push_back(*context);
    return Success;
  });
}

Result cuda::cuCtxCreate_v4(ContextHandle *context,
                            ContextParameters *parameters, uint32_t flags,
                            Device device) {
  if (parameters && (parameters->affinity || parameters->numAffinities ||
                     parameters->graphics))
    return call([](Driver &) { return NotSupported; });
  return createCurrent(context, flags, device, 12050);
}

Result cuda::cuCtxCreate_v2(ContextHandle *context, uint32_t flags,
                            Device device) {
  return createCurrent(context, flags, device, 3020);
}

Result cuda::cuCtxDestroy_v2(ContextHandle handle) {
  return call([&](Driver &driver) {
    Context *context = driver.contexts.find(handle);
    if (!context || context->primary)
      return InvalidContext;
    driver.destroy(handle);
    std::vector<ContextHandle> &stack = getContextStack();
    if (!stack.empty() && stack.back() == handle)
      stack.pop_back();
    return Success;
  });
}

//===----------------------------------------------------------------------===//
// The contexts of a thread
//===----------------------------------------------------------------------===//

Result cuda::cuCtxPushCurrent_v2(ContextHandle handle) {
  return call([&](Driver &driver) {
    if (!driver.contexts.find(handle))
      return InvalidContext;
    getContextStack().push_back(handle);
    return Success;
  });
}

Result cuda::cuCtxPopCurrent_v2(ContextHandle *handle) {
  return call([&](Driver &) {
    std::vector<ContextHandle> &stack = getContextStack();
    if (stack.empty())
      return InvalidContext;
    if (handle)
      *handle = stack.back();
    stack.pop_back();
    return Success;
  });
}

Result cuda::cuCtxSetCurrent(ContextHandle handle) {
  return call([&](Driver &driver) {
    if (handle && !driver.contexts.find(handle))
      return InvalidContext;
    std::vector<ContextHandle> &stack = getContextStack();
    if (!stack.empty())
      stack.pop_back();
    if (handle)
      stack.push_back(handle);
    return Success;
  });
}

Result cuda::cuCtxGetCurrent(ContextHandle *handle) {
  return call([&](Driver &) {
    if (!handle)
      return InvalidValue;
    const std::vector<ContextHandle> &stack = getContextStack();
    *handle = stack.empty() ? nullptr : stack.back();
    return Success;
  });
}

//===----------------------------------------------------------------------===//
// Asking and waiting
//===----------------------------------------------------------------------===//

Result cuda::cuCtxGetDevice(Device *device) {
  return callInContext([&](Driver &, Context &) {
    if (!device)
      return InvalidValue;
    *device = 0;
    return Success;
  });
}

Result cuda::cuCtxGetFlags(uint32_t *flags) {
  return callInContext([&](Driver &, Context &context) {
    if (!flags)
      return InvalidValue;
    *flags = context.flags;
    return Success;
  });
}

Result cuda::cuCtxGetApiVersion(ContextHandle handle, uint32_t *version) {
  return call([&](Driver &driver) -> Result {
    Context *context = driver.contexts.find(handle);
    if (!handle)
      if (Result result = driver.getCurrent(context))
        return result;
    if (!context)
      return InvalidContext;
    if (!version)
      return InvalidValue;
    *version = context->apiVersion;
    return Success;
  });
}

Result cuda::cuCtxGetLimit(size_t *value, Limit limit) {
  return callInContext([&](Driver &, Context &context) {
    if (!value)
      return InvalidValue;
    if (uint32_t(limit) >= std::size(context.limits))
      return UnsupportedLimit;
    *value = context.limits[uint32_t(limit)];
    return Success;
  });
}

Result cuda::cuCtxSetLimit(Limit limit, size_t value) {
  return callInContext([&](Driver &, Context &context) {
    if (uint32_t(limit) >= std::size(context.limits))
      return UnsupportedLimit;
    context.limits[uint32_t(limit)] = value;
    return Success;
  });
}

Result cuda::cuCtxGetStreamPriorityRange(int *least, int *greatest) {
  return callInContext([&](Driver &, Context &) {
    if (least)
      *least = 0;
    if (greatest)
      *greatest = kGreatestPriority;
    return Success;
  });
}

Result cuda::cuCtxSynchronize() {
  return callInContext([](Driver &driver, Context &context) -> Result {
    if (Result result = refuseCapture(driver, context))
      return result;
    return takePending(driver, context);
  });
}
