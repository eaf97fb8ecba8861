//===- Device.cpp - the driver and its device -----------------------------===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Driver.h"
#include "Options.h"

#include <cstring>

using namespace kvc::emu;
using namespace kvc::emu::cuda;

//===----------------------------------------------------------------------===//
// The driver
//===----------------------------------------------------------------------===//

Result cuda::cuInit(uint32_t flags) {
  if (flags != 0)
    return InvalidValue;
  try {
    Driver &driver = getDriver();
    std::lock_guard<std::mutex> lock(driver.mutex);
    if (!driver.memory)
      driver.memory = std::make_unique<Memory>(kDeviceBytes);
    driver.initialised = true;
    return Success;
  } catch (const std::bad_alloc &) {
    return OutOfMemory;
  }
}

Result cuda::cuDriverGetVersion(int *version) {
  if (!version)
    return InvalidValue;
  *version = kVersion;
  return Success;
}

namespace {
struct ResultText {
  Result result;
  const char *name, *text;
};
} // namespace

static const ResultText *findText(Result result) {
  static const ResultText texts[] = {
#define KVC_CUDA_RESULT(id, value, name, text) {id, name, text},
#include "Results.def"
  };
  for (const ResultText &entry : texts)
    if (entry.result == result)
      return &entry;
  return nullptr;
}

Result cuda::cuGetErrorName(Result result, const char **name) {
  if (!name)
    return InvalidValue;
  const ResultText *found = findText(result);
  *name = found ? found->name : nullptr;
  return found ? Success : InvalidValue;
}

Result cuda::cuGetErrorString(Result result, const char **text) {
  if (!text)
    return InvalidValue;
  const ResultText *found = findText(result);
  *text = found ? found->text : nullptr;
  return found ? Success : InvalidValue;
}

//===----------------------------------------------------------------------===//
// The device
//===----------------------------------------------------------------------===//

Result cuda::cuDeviceGetCount(int *count) {
  return call([&](Driver &) {
    if (!count)
      return InvalidValue;
    *count = 1;
    return Success;
  });
}

Result cuda::cuDeviceGet(Device *device, int ordinal) {
  return call([&](Driver &) {
    if (!device)
      return InvalidValue;
    if (ordinal != 0)
      return InvalidDevice;
    *device = 0;
    return Success;
  });
}

/// Runs `body` if `device` is the one that there is.
template <typename Body>
static Result callOnDevice(Device device, Body body) {
  return call([&](Driver &driver) -> Result {
    return device == 0 ? body(driver) : InvalidDevice;
  });
}

Result cuda::cuDeviceGetName(char *name, int length, Device device) {
  return callOnDevice(device, [&](Driver &) {
    if (!name || length <= 0)
      return InvalidValue;
    std::strncpy(name, "kvc emulator of an NVIDIA H100", size_t(length));
    name[length - 1] = '\0';
    return Success;
  });
}

Result cuda::cuDeviceGetUuid_v2(Uuid *uuid, Device device) {
  return callOnDevice(device, [&](Driver &) {
    if (!uuid)
      return InvalidValue;
    std::memcpy(uuid->bytes, "kvc emulator\0\0\0\1", sizeof(uuid->bytes));
    return Success;
  });
}

Result cuda::cuDeviceGetUuid(Uuid *uuid, Device device) {
  return cuDeviceGetUuid_v2(uuid, device);
}

Result cuda::cuDeviceTotalMem_v2(size_t *bytes, Device device) {
  return callOnDevice(device, [&](Driver &) {
    if (!bytes)
      return InvalidValue;
    *bytes = kDeviceBytes;
    return Success;
  });
}

Result cuda::cuDeviceComputeCapability(int *major, int *minor, Device device) {
  return callOnDevice(device, [&](Driver &) {
    if (!major || !minor)
      return InvalidValue;
    *major = 9;
    *minor = 0;
    return Success;
  });
}

Result cuda::cuDeviceCanAccessPeer(int *can, Device device, Device peer) {
  return callOnDevice(device, [&](Driver &) {
    if (peer != 0)
      return InvalidDevice;
    if (!can)
      return InvalidValue;
    *can = 0;
    return Success;
  });
}

//===----------------------------------------------------------------------===//
// Attributes
//===----------------------------------------------------------------------===//

namespace {
struct Attribute {
  int32_t number;
  int32_t value;
};
} // namespace

/// Those of an H100 with SXM, less what the emulator lacks: textures, managed
/// and mapped memory, virtual memory, tensor maps.
static constexpr Attribute kAttributes[] = {
    {1, kMaxThreads},             // Threads per block.
    {2, kMaxBlockXY},             // Block, x.
    {3, kMaxBlockXY},             // Block, y.
    {4, kMaxBlockZ},              // Block, z.
    {5, kMaxGridX},               // Grid, x.
    {6, kMaxGridYZ},              // Grid, y.
    {7, kMaxGridYZ},              // Grid, z.
    {8, kMaxStaticShared},        // Shared bytes per block.
    {9, 65536},                   // Constant bytes.
    {10, 32},                     // Lanes of a warp.
    {11, 0x7FFFFFFF},             // Largest pitch.
    {12, kRegistersPerProcessor}, // Registers per block.
    {13, 1980000},                // Clock in kHz.
    {14, 512},                    // Alignment of textures.
    {15, 1},                      // Copies beside kernels.
    {30, 512},                    // Alignment of surfaces.
    {31, 1},                      // Kernels beside each other.
    {32, 1},                      // Error correction.
    {36, 2619000},                // Memory clock in kHz.
    {37, 5120},                   // Bits of the memory bus.
    {38, 50 << 20},               // Bytes of L2 cache.
    {39, kThreadsPerProcessor},   // Threads per processor.
    {40, 3},                      // Copy engines.
    {41, 1},                      // One address space with the host.
    {51, 32},                     // Alignment of pitches.
    {75, 9},                      // Compute capability, major.
    {76, 0},                      // Compute capability, minor.
    {78, 1},                      // Priorities of streams.
    {79, 1},                      // L1 cache for global memory.
    {80, 1},                      // L1 cache for local memory.
    {81, kSharedPerProcessor},    // Shared bytes per processor.
    {82, kRegistersPerProcessor}, // Registers per processor.
    {87, 2},                      // f32 to f64.
    {90, 1},                      // Preemption.
    {95, 1},                      // Cooperative launches.
    {97, kMaxShared},             // Shared bytes per block, on request.
    {106, kBlocksPerProcessor},   // Blocks per processor.
    {111, kReservedShared},       // Shared bytes per block that are reserved.
    {115, 1},                     // cuMemAllocAsync.
    {120, 1},                     // Clusters.
    {126, 4},                     // Domains of memory synchronisation.
};

/// Its number of processors, which is an option.
static constexpr int kProcessorsAttribute = 16;

Result cuda::cuDeviceGetAttribute(int *value, int attribute, Device device) {
  return callOnDevice(device, [&](Driver &driver) {
    if (!value || attribute <= 0 || attribute >= kNumDeviceAttributes)
      return InvalidValue;
    Options options;
    if (!readOptions(driver, options))
      return InvalidValue;
    *value = attribute == kProcessorsAttribute ? int(options.processors) : 0;
    for (const Attribute &entry : kAttributes)
      if (entry.number == attribute)
        *value = entry.value;
    return Success;
  });
}
