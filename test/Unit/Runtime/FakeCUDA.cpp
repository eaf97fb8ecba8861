//===- FakeCUDA.cpp - a CUDA driver for tests -----------------------------===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// With KVC_FAKE_CUDA_INCOMPLETE one entry point is missing.
//===----------------------------------------------------------------------===//
#include "FakeCUDA.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <sstream>
#include <utility>

#include <sys/mman.h>

using namespace kvc::rt;

#define EXPORTED extern "C" CUresult

static constexpr size_t kTotalMemory = size_t{1} << 30;
static constexpr CUresult kInvalidContext = 201;
static constexpr CUresult kInvalidHandle = 400;
static constexpr CUresult kStreamCapture = 900;

static FakeCUDA &fake() {
  static auto *state = new FakeCUDA; // never destroyed, like the driver
  return *state;
}

FakeCUDA *kvc_fake_cuda() { return &fake(); }

void FakeCUDA::reset() {
  std::lock_guard<std::recursive_mutex> lock(mutex);
  numDevices = 1;
  driverVersion = 12040;
  computeMajor = 9;
  computeMinor = 0;
  isDeferred = false;
  kernels.clear();
  numCalls.clear();
  failures.clear();
  launches.clear();
  numFreedWhileBusy = numUnloadedWhileBusy = 0;
  numSpoiltCaptures = maxSharedBytes = 0;
}

void FakeCUDA::failCall(const std::string &name, CUresult result, int skip) {
  std::lock_guard<std::recursive_mutex> lock(mutex);
  failures[name] = {result, skip};
}

bool FakeCUDA::isIdle() {
  std::lock_guard<std::recursive_mutex> lock(mutex);
  return std::all_of(streams.begin(), streams.end(), [](const auto &stream) {
    return stream.second.pending.empty();
  });
}

/// Contexts that are current in this thread.
static thread_local int contextDepth;

namespace {
/// Counts a call and decides whether it fails.
struct Call {
  explicit Call(const char *name, bool needsContext = true)
      : lock(fake().mutex) {
    ++fake().numCalls[name];
    auto it = fake().failures.find(name);
    if (it != fake().failures.end() && it->second.skip-- == 0) {
      result = it->second.result;
      fake().failures.erase(it);
    } else if (needsContext && contextDepth == 0) {
      result = kInvalidContext;
    }
  }
  std::lock_guard<std::recursive_mutex> lock;
  CUresult result = CUDA_SUCCESS;
};
} // namespace

#define BEGIN(name, ...)                                                       \
  Call call(#name, ##__VA_ARGS__);                                             \
  if (call.result != CUDA_SUCCESS)                                             \
  return call.result

//===----------------------------------------------------------------------===//
// Devices and contexts
//===----------------------------------------------------------------------===//

EXPORTED cuInit(unsigned) {
  BEGIN(cuInit, false);
  return fake().numDevices == 0 ? CUDA_ERROR_NO_DEVICE : CUDA_SUCCESS;
}

EXPORTED cuDriverGetVersion(int *version) {
  BEGIN(cuDriverGetVersion, false);
  *version = fake().driverVersion;
  return CUDA_SUCCESS;
}

EXPORTED cuGetErrorName(CUresult result, const char **name) {
  switch (result) {
  case CUDA_ERROR_INVALID_VALUE:
    *name = "CUDA_ERROR_INVALID_VALUE";
    return CUDA_SUCCESS;
  case CUDA_ERROR_OUT_OF_MEMORY:
    *name = "CUDA_ERROR_OUT_OF_MEMORY";
    return CUDA_SUCCESS;
  case CUDA_ERROR_INVALID_PTX:
    *name = "CUDA_ERROR_INVALID_PTX";
    return CUDA_SUCCESS;
  case 700:
    *name = "CUDA_ERROR_ILLEGAL_ADDRESS";
    return CUDA_SUCCESS;
  case 999:
    return CUDA_ERROR_INVALID_VALUE;
  default:
    *name = "CUDA_ERROR_OTHER";
    return CUDA_SUCCESS;
  }
}

EXPORTED cuGetErrorString(CUresult result, const char **text) {
  *text = "text of the fake driver";
  return result == 999 ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

EXPORTED cuDeviceGetCount(int *count) {
  BEGIN(cuDeviceGetCount, false);
  *count = fake().numDevices;
  return CUDA_SUCCESS;
}

EXPORTED cuDeviceGet(CUdevice *device, int ordinal) {
  BEGIN(cuDeviceGet, false);
  *device = ordinal + 10; // a handle is no ordinal
  return CUDA_SUCCESS;
}

EXPORTED cuDeviceGetName(char *name, int size, CUdevice device) {
  BEGIN(cuDeviceGetName, false);
  std::string text = "Fake " + std::to_string(device - 10);
  std::strncpy(name, text.c_str(), static_cast<size_t>(size));
  return CUDA_SUCCESS;
}

EXPORTED cuDeviceTotalMem_v2(size_t *size, CUdevice) {
  BEGIN(cuDeviceTotalMem_v2, false);
  *size = kTotalMemory;
  return CUDA_SUCCESS;
}

EXPORTED cuDeviceGetAttribute(int *value, int attribute, CUdevice) {
  BEGIN(cuDeviceGetAttribute, false);
  switch (attribute) {
  case CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT:
    *value = 7;
    return CUDA_SUCCESS;
  case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR:
    *value = fake().computeMajor;
    return CUDA_SUCCESS;
  case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR:
    *value = fake().computeMinor;
    return CUDA_SUCCESS;
  default:
    return CUDA_ERROR_INVALID_VALUE;
  }
}

EXPORTED cuDevicePrimaryCtxRetain(CUcontext *context, CUdevice device) {
  BEGIN(cuDevicePrimaryCtxRetain, false);
  ++fake().numContexts;
  *context = reinterpret_cast<CUcontext>(static_cast<uintptr_t>(device));
  return CUDA_SUCCESS;
}

EXPORTED cuDevicePrimaryCtxRelease_v2(CUdevice) {
  BEGIN(cuDevicePrimaryCtxRelease_v2, false);
  --fake().numContexts;
  return CUDA_SUCCESS;
}

EXPORTED cuCtxPushCurrent_v2(CUcontext) {
  BEGIN(cuCtxPushCurrent_v2, false);
  ++contextDepth;
  return CUDA_SUCCESS;
}

EXPORTED cuCtxPopCurrent_v2(CUcontext *) {
  BEGIN(cuCtxPopCurrent_v2);
  --contextDepth;
  return CUDA_SUCCESS;
}

//===----------------------------------------------------------------------===//
// Streams and events
//===----------------------------------------------------------------------===//

/// Does `work` in the order of a stream.
static CUresult enqueue(CUstream stream, std::function<void()> work) {
  if (fake().isDeferred)
    fake().streams[stream].pending.push_back(std::move(work));
  else
    work();
  return CUDA_SUCCESS;
}

EXPORTED cuStreamCreate(CUstream *stream, unsigned flags) {
  BEGIN(cuStreamCreate);
  if (flags != CU_STREAM_NON_BLOCKING)
    return CUDA_ERROR_INVALID_VALUE;
  *stream = reinterpret_cast<CUstream>(new char);
  fake().streams[*stream];
  return CUDA_SUCCESS;
}

EXPORTED cuStreamDestroy_v2(CUstream stream) {
  BEGIN(cuStreamDestroy_v2);
  if (fake().streams.erase(stream) == 0)
    return kInvalidHandle;
  delete reinterpret_cast<char *>(stream);
  return CUDA_SUCCESS;
}

EXPORTED cuStreamSynchronize(CUstream stream) {
  BEGIN(cuStreamSynchronize);
  FakeCUDA::Stream &object = fake().streams[stream];
  if (object.isCapturing) {
    ++fake().numSpoiltCaptures;
    return kStreamCapture;
  }
  for (auto &work : std::exchange(object.pending, {}))
    work();
  return object.error;
}

EXPORTED cuStreamQuery(CUstream stream) {
  BEGIN(cuStreamQuery);
  FakeCUDA::Stream &object = fake().streams[stream];
  if (object.isCapturing) {
    ++fake().numSpoiltCaptures;
    return kStreamCapture;
  }
  return object.pending.empty() ? object.error : CUDA_ERROR_NOT_READY;
}

EXPORTED cuStreamIsCapturing(CUstream stream, int *status) {
  BEGIN(cuStreamIsCapturing);
  *status = fake().streams[stream].isCapturing;
  return CUDA_SUCCESS;
}

EXPORTED cuStreamWaitEvent(CUstream, CUevent, unsigned) {
  BEGIN(cuStreamWaitEvent);
  return CUDA_SUCCESS;
}

EXPORTED cuEventCreate(CUevent *event, unsigned) {
  BEGIN(cuEventCreate);
  *event = reinterpret_cast<CUevent>(new int(0));
  fake().events.insert(*event);
  return CUDA_SUCCESS;
}

EXPORTED cuEventDestroy_v2(CUevent event) {
  BEGIN(cuEventDestroy_v2);
  fake().events.erase(event);
  delete reinterpret_cast<int *>(event);
  return CUDA_SUCCESS;
}

/// Events count time in records: each is a millisecond after the one before.
EXPORTED cuEventRecord(CUevent event, CUstream) {
  BEGIN(cuEventRecord);
  *reinterpret_cast<int *>(event) = fake().numCalls["cuEventRecord"];
  return CUDA_SUCCESS;
}

EXPORTED cuEventSynchronize(CUevent) {
  BEGIN(cuEventSynchronize);
  return CUDA_SUCCESS;
}

EXPORTED cuEventElapsedTime(float *milliseconds, CUevent start, CUevent end) {
  BEGIN(cuEventElapsedTime);
  *milliseconds = static_cast<float>(*reinterpret_cast<int *>(end) -
                                     *reinterpret_cast<int *>(start));
  return CUDA_SUCCESS;
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

EXPORTED cuMemAlloc_v2(CUdeviceptr *data, size_t size) {
  BEGIN(cuMemAlloc_v2);
  if (size == 0)
    return CUDA_ERROR_INVALID_VALUE;
  if (size > kTotalMemory)
    return CUDA_ERROR_OUT_OF_MEMORY;
  // Not from the heap, whose state other tests depend on.
  void *memory = mmap(nullptr, size, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED)
    return CUDA_ERROR_OUT_OF_MEMORY;
  *data = reinterpret_cast<CUdeviceptr>(memory);
  fake().allocations[*data] = size;
  return CUDA_SUCCESS;
}

EXPORTED cuMemFree_v2(CUdeviceptr data) {
  BEGIN(cuMemFree_v2);
  auto it = fake().allocations.find(data);
  if (it == fake().allocations.end())
    return CUDA_ERROR_INVALID_VALUE;
  fake().numFreedWhileBusy += !fake().isIdle();
  munmap(reinterpret_cast<void *>(data), it->second);
  fake().allocations.erase(it);
  return CUDA_SUCCESS;
}

EXPORTED cuMemcpyHtoDAsync_v2(CUdeviceptr data, const void *host, size_t size,
                              CUstream stream) {
  BEGIN(cuMemcpyHtoDAsync_v2);
  return enqueue(
      stream, [=] { std::memcpy(reinterpret_cast<void *>(data), host, size); });
}

EXPORTED cuMemcpyDtoHAsync_v2(void *host, CUdeviceptr data, size_t size,
                              CUstream stream) {
  BEGIN(cuMemcpyDtoHAsync_v2);
  return enqueue(
      stream, [=] { std::memcpy(host, reinterpret_cast<void *>(data), size); });
}

EXPORTED cuMemsetD8Async(CUdeviceptr data, unsigned char value, size_t size,
                         CUstream stream) {
  BEGIN(cuMemsetD8Async);
  return enqueue(stream, [=] {
    std::memset(reinterpret_cast<void *>(data), value, size);
  });
}

//===----------------------------------------------------------------------===//
// Modules and launches
//===----------------------------------------------------------------------===//

namespace {
/// A module knows the names after ".entry"; a function is one of them.
struct Module {
  std::set<std::string> entries;
};
} // namespace

EXPORTED cuModuleLoadDataEx(CUmodule *module, const void *image,
                            unsigned numOptions, int *options, void **values) {
  BEGIN(cuModuleLoadDataEx);
  std::istringstream text(static_cast<const char *>(image));
  char *log = nullptr;
  size_t logSize = 0;
  for (unsigned i = 0; i < numOptions; ++i) {
    if (options[i] == CU_JIT_ERROR_LOG_BUFFER)
      log = static_cast<char *>(values[i]);
    if (options[i] == CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES)
      logSize = reinterpret_cast<size_t>(values[i]);
  }
  auto loaded = std::make_unique<Module>();
  for (std::string word; text >> word;) {
    if (word == "bad") {
      std::strncpy(log, "ptxas: line 7: error near 'bad'", logSize);
      return CUDA_ERROR_INVALID_PTX;
    }
    if (word == ".entry" && text >> word)
      loaded->entries.insert(word);
  }
  *module = reinterpret_cast<CUmodule>(loaded.release());
  fake().modules.insert(*module);
  return CUDA_SUCCESS;
}

EXPORTED cuModuleUnload(CUmodule module) {
  BEGIN(cuModuleUnload);
  if (fake().modules.erase(module) == 0)
    return kInvalidHandle;
  fake().numUnloadedWhileBusy += !fake().isIdle();
  delete reinterpret_cast<Module *>(module);
  return CUDA_SUCCESS;
}

EXPORTED cuModuleGetFunction(CUfunction *function, CUmodule module,
                             const char *name) {
  BEGIN(cuModuleGetFunction);
  auto &entries = reinterpret_cast<Module *>(module)->entries;
  auto it = entries.find(name);
  if (it == entries.end())
    return CUDA_ERROR_NOT_FOUND;
  *function = reinterpret_cast<CUfunction>(const_cast<std::string *>(&*it));
  return CUDA_SUCCESS;
}

EXPORTED cuFuncSetAttribute(CUfunction, int attribute, int value) {
  BEGIN(cuFuncSetAttribute);
  if (attribute == CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES)
    fake().maxSharedBytes = value;
  return CUDA_SUCCESS;
}

static CUresult startKernel(CUfunction function, FakeCUDA::Launch launch,
                            void **params) {
  auto *stream = static_cast<CUstream>(launch.stream);
  const std::string &name = *reinterpret_cast<std::string *>(function);
  launch.kernel = name;
  fake().launches.push_back(launch);
  auto it = fake().kernels.find(name);
  if (it == fake().kernels.end() || fake().streams[stream].isCapturing)
    return CUDA_SUCCESS;
  std::vector<std::vector<char>> copies;
  for (size_t i = 0; i < it->second.paramSizes.size(); ++i) {
    const char *bytes = static_cast<const char *>(params[i]);
    copies.emplace_back(bytes, bytes + it->second.paramSizes[i]);
  }
  return enqueue(stream, [copies, body = it->second.body]() mutable {
    std::vector<void *> pointers;
    for (auto &copy : copies)
      pointers.push_back(copy.data());
    body(pointers.data());
  });
}

#ifndef KVC_FAKE_CUDA_INCOMPLETE
EXPORTED cuLaunchKernel(CUfunction function, unsigned gridX, unsigned gridY,
                        unsigned gridZ, unsigned blockX, unsigned blockY,
                        unsigned blockZ, unsigned sharedBytes, CUstream stream,
                        void **params, void **extra) {
  BEGIN(cuLaunchKernel);
  if (blockY != 1 || blockZ != 1 || extra)
    return CUDA_ERROR_INVALID_VALUE;
  return startKernel(
      function, {"", {gridX, gridY, gridZ}, blockX, sharedBytes, stream, {}},
      params);
}
#endif

EXPORTED cuLaunchKernelEx(const CUlaunchConfig *config, CUfunction function,
                          void **params, void **extra) {
  BEGIN(cuLaunchKernelEx);
  if (config->blockDimY != 1 || config->blockDimZ != 1 || extra ||
      config->numAttrs != 1 ||
      config->attrs->id != CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION)
    return CUDA_ERROR_INVALID_VALUE;
  const unsigned *cluster = config->attrs->value.clusterDim;
  return startKernel(function,
                     {"",
                      {config->gridDimX, config->gridDimY, config->gridDimZ},
                      config->blockDimX,
                      config->sharedMemBytes,
                      config->hStream,
                      {cluster[0], cluster[1], cluster[2]}},
                     params);
}
