//===- DeviceStream.cpp - streams of a device -----------------------------===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Launches, and the workspace in device memory.
//===----------------------------------------------------------------------===//
#include "CUDA/DeviceStream.h"
#include "CUDA/Module.h"
#include "Descriptor.h"

#include <algorithm>

using namespace kvc::rt;

/// Blocks of a grid along x, y and z.
static constexpr uint32_t kMaxGrid[3] = {0x7fffffffu, 65535, 65535};

DeviceStream::~DeviceStream() {
  if (!work)
    return;
  CurrentContext current(*device);
  if (current.status == KVC_STATUS_OK)
    (void)work->wait(work->getLaunched());
  work->close();
  device->work.remove(work.get());
  device->giveBlock(workspaceBlock);
  if (isOurs && current.status == KVC_STATUS_OK)
    device->driver.cuStreamDestroy_v2(native);
}

void DeviceStream::attach(CUstream stream) {
  auto created = std::make_shared<Work>(device->driver, stream);
  device->work.add(created);
  work = std::move(created);
  native = stream;
}

kvc_status_t DeviceStream::create() {
  CurrentContext current(*device);
  KVC_RETURN_IF_FAILED(current.status);
  CUstream stream;
  KVC_RETURN_IF_FAILED(KVC_CUDA(device->driver, cuStreamCreate, &stream,
                                CU_STREAM_NON_BLOCKING));
  try {
    attach(stream);
  } catch (...) {
    device->driver.cuStreamDestroy_v2(stream);
    throw;
  }
  isOurs = true;
  return KVC_STATUS_OK;
}

void DeviceStream::wrap(CUstream stream) { attach(stream); }

std::string DeviceStream::describe() const {
  return std::string("a stream of device '") + device->getInfo().name + "'";
}

kvc_status_t DeviceStream::synchronize() {
  CurrentContext current(*device);
  KVC_RETURN_IF_FAILED(current.status);
  return work->synchronize();
}

//===----------------------------------------------------------------------===//
// What a call needs
//===----------------------------------------------------------------------===//

/// Fails while a graph is captured from the stream: what the driver has to do
/// for `what` would spoil it.
kvc_status_t DeviceStream::refuseCapture(const char *what) const {
  CurrentContext current(*device);
  KVC_RETURN_IF_FAILED(current.status);
  int capture = CU_STREAM_CAPTURE_STATUS_NONE;
  KVC_RETURN_IF_FAILED(
      KVC_CUDA(device->driver, cuStreamIsCapturing, native, &capture));
  if (capture == CU_STREAM_CAPTURE_STATUS_NONE)
    return KVC_STATUS_OK;
  return fail(KVC_STATUS_UNSUPPORTED,
              "expected kvc_program_prepare before the stream is captured, got "
              "a call that needs %s",
              what);
}

kvc_status_t DeviceStream::replaceWorkspace(uint64_t size) {
  KVC_RETURN_IF_FAILED(refuseCapture("a larger workspace"));
  Block grown;
  KVC_RETURN_IF_FAILED(device->takeBlock(size, grown));
  device->giveBlock(workspaceBlock);
  workspaceBlock = grown;
  workspace = grown.get();
  workspaceSize = grown.size;
  return KVC_STATUS_OK;
}

kvc_status_t DeviceStream::getModules(const kvc_program_t *program,
                                      std::shared_ptr<ModuleSet> &outModules) {
  std::shared_ptr<LoadedProgram> loaded = findProgram(program);
  if (!loaded)
    return KVC_STATUS_INVALID_ARGUMENT;
  KVC_RETURN_IF_FAILED(
      device->getModules(loaded, /*mayLoad=*/false, outModules));
  if (outModules)
    return KVC_STATUS_OK;
  KVC_RETURN_IF_FAILED(refuseCapture("its program on the device"));
  return device->getModules(loaded, /*mayLoad=*/true, outModules);
}

//===----------------------------------------------------------------------===//
// Launches
//===----------------------------------------------------------------------===//

static kvc_status_t checkGrid(const char *kernel, const uint32_t grid[3]) {
  for (int i = 0; i < 3; ++i)
    if (grid[i] > kMaxGrid[i])
      return fail(KVC_STATUS_INVALID_ARGUMENT,
                  "kernel '%s': expected at most %u blocks along %c, got %u",
                  kernel, kMaxGrid[i], "xyz"[i], grid[i]);
  return KVC_STATUS_OK;
}

/// Blocks of a cluster that every device of sm_90 takes.
static constexpr uint32_t kMaxCluster = 8;

static kvc_status_t checkCluster(const char *kernel, const uint32_t grid[3],
                                 const uint32_t cluster[3]) {
  uint64_t blocks = 1;
  for (int i = 0; i < 3; ++i) {
    if (cluster[i] == 0 || grid[i] % cluster[i] != 0)
      return fail(KVC_STATUS_INVALID_ARGUMENT,
                  "kernel '%s': expected clusters that divide the %u blocks "
                  "along %c, got %u",
                  kernel, grid[i], "xyz"[i], cluster[i]);
    blocks = std::min<uint64_t>(blocks * cluster[i], UINT32_MAX);
  }
  if (blocks > kMaxCluster)
    return fail(KVC_STATUS_INVALID_ARGUMENT,
                "kernel '%s': expected clusters of at most %u blocks, got "
                "%u x %u x %u",
                kernel, kMaxCluster, cluster[0], cluster[1], cluster[2]);
  return KVC_STATUS_OK;
}

static CUresult callDriver(const Driver &driver, CUfunction function,
                           const kvc_kernel_desc_t &desc, CUstream stream,
                           const uint32_t grid[3], const uint32_t *cluster,
                           const void *const *params) {
  auto **values =
      const_cast<void **>(reinterpret_cast<const void *const *>(params));
  if (!cluster || cluster[0] * cluster[1] * cluster[2] == 1)
    return driver.cuLaunchKernel(function, grid[0], grid[1], grid[2],
                                 desc.threads, 1, 1, desc.shared_bytes, stream,
                                 values, nullptr);
  CUlaunchAttribute attribute = {};
  attribute.id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION;
  std::copy_n(cluster, 3, attribute.value.clusterDim);
  CUlaunchConfig config = {
      grid[0], grid[1],           grid[2], desc.threads, 1,
      1,       desc.shared_bytes, stream,  &attribute,   1};
  return driver.cuLaunchKernelEx(&config, function, values, nullptr);
}

kvc_status_t kvc::rt::launch(kvc_stream_t *stream, const kvc_program_t *program,
                             uint32_t kernel, const uint32_t grid[3],
                             const uint32_t cluster[3],
                             const void *const *params) {
  return guarded("launch", [&]() -> kvc_status_t {
    std::shared_ptr<Stream> object = getStreams().find(stream);
    if (!object)
      return KVC_STATUS_INVALID_ARGUMENT;
    KVC_RETURN_IF_FAILED(checkHeaders(program));
    DeviceStream *on = object->asDevice();
    if (!on)
      return fail(KVC_STATUS_INVALID_ARGUMENT,
                  "launch: expected a stream of a device, got %s",
                  object->describe().c_str());
    if (kernel >= program->blob->num_kernels)
      return fail(KVC_STATUS_INVALID_ARGUMENT,
                  "launch: expected a kernel below %u, got %u",
                  program->blob->num_kernels, kernel);
    if (!grid)
      return fail(KVC_STATUS_INVALID_ARGUMENT,
                  "launch: expected a grid, got null");
    std::shared_ptr<ModuleSet> modules;
    KVC_RETURN_IF_FAILED(on->getModules(program, modules));

    const kvc_kernel_desc_t &desc = getKernel(program->blob, kernel);
    const char *name = at<char>(program->blob, desc.name);
    KVC_RETURN_IF_FAILED(checkGrid(name, grid));
    if (grid[0] == 0 || grid[1] == 0 || grid[2] == 0)
      return KVC_STATUS_OK;
    if (cluster)
      KVC_RETURN_IF_FAILED(checkCluster(name, grid, cluster));
    CurrentContext current(*on->device);
    KVC_RETURN_IF_FAILED(current.status);
    const Driver &driver = current.driver;
    CUresult result =
        callDriver(driver, modules->getFunction(kernel), desc, on->getNative(),
                   grid, cluster, params);
    if (result != CUDA_SUCCESS)
      return fail(getStatus(result),
                  "kernel '%s', %u x %u x %u blocks of %u threads: %s (%d): %s",
                  name, grid[0], grid[1], grid[2], desc.threads,
                  driver.getErrorName(result), result,
                  driver.getErrorText(result));
    on->getWork().noteLaunch();
    return KVC_STATUS_OK;
  });
}

//===----------------------------------------------------------------------===//
// The C interface
//===----------------------------------------------------------------------===//

template <typename Start>
static kvc_status_t addStream(kvc_device_t *device, kvc_stream_t **outStream,
                              Start &&start) {
  std::shared_ptr<Device> object = getDevices().find(device);
  if (!object)
    return KVC_STATUS_INVALID_ARGUMENT;
  if (!outStream)
    return fail(KVC_STATUS_INVALID_ARGUMENT, "expected out_stream, got null");
  auto stream = std::make_shared<DeviceStream>(std::move(object));
  KVC_RETURN_IF_FAILED(start(*stream));
  *outStream = getStreams().insert(std::move(stream));
  return KVC_STATUS_OK;
}

extern "C" {

kvc_status_t kvc_stream_create(kvc_device_t *device,
                               kvc_stream_t **out_stream) {
  return guarded("kvc_stream_create", [&]() -> kvc_status_t {
    return addStream(device, out_stream,
                     [](DeviceStream &stream) { return stream.create(); });
  });
}

kvc_status_t kvc_stream_wrap(kvc_device_t *device, void *native,
                             kvc_stream_t **out_stream) {
  return guarded("kvc_stream_wrap", [&]() -> kvc_status_t {
    return addStream(device, out_stream,
                     [&](DeviceStream &stream) -> kvc_status_t {
                       stream.wrap(static_cast<CUstream>(native));
                       return KVC_STATUS_OK;
                     });
  });
}

void *kvc_stream_native(kvc_stream_t *stream) {
  std::shared_ptr<Stream> object = getStreams().find(stream);
  DeviceStream *device = object ? object->asDevice() : nullptr;
  return device ? device->getNative() : nullptr;
}

} // extern "C"
