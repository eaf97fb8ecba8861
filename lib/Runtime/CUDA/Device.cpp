//===- Device.cpp - a device of CUDA's driver -----------------------------===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Opening a device, and what goes on with it as a whole.
//===----------------------------------------------------------------------===//
#include "CUDA/Device.h"
#include "CUDA/Module.h"

#include <map>

using namespace kvc::rt;

//===----------------------------------------------------------------------===//
// Opening
//===----------------------------------------------------------------------===//

namespace {
/// The devices that are open, by driver and ordinal.
struct OpenDevices {
  std::mutex mutex;
  std::map<std::pair<const Driver *, int32_t>, std::weak_ptr<Device>> devices;
};
} // namespace

static OpenDevices &getOpenDevices() {
  // Never destroyed: a device may be released while the process ends.
  static auto *devices = new OpenDevices;
  return *devices;
}

Registry<Device, kvc_device_t> &kvc::rt::getDevices() {
  static auto *devices = new Registry<Device, kvc_device_t>("a device", 4);
  return *devices;
}

kvc_status_t Device::open(const char *library, int32_t ordinal,
                          std::shared_ptr<Device> &outDevice) {
  const Driver *driver;
  KVC_RETURN_IF_FAILED(Driver::open(library, driver));
  OpenDevices &open = getOpenDevices();
  std::lock_guard<std::mutex> lock(open.mutex);
  std::weak_ptr<Device> &known = open.devices[{driver, ordinal}];
  std::shared_ptr<Device> device = known.lock();
  if (!device) {
    device = std::make_shared<Device>(*driver);
    KVC_RETURN_IF_FAILED(device->initialize(ordinal));
    known = device;
  }
  outDevice = std::move(device);
  return KVC_STATUS_OK;
}

std::vector<std::shared_ptr<Device>> Device::getAll() {
  std::vector<std::shared_ptr<Device>> result;
  OpenDevices &open = getOpenDevices();
  std::lock_guard<std::mutex> lock(open.mutex);
  for (const auto &entry : open.devices)
    if (std::shared_ptr<Device> device = entry.second.lock())
      result.push_back(std::move(device));
  return result;
}

kvc_status_t Device::initialize(int32_t ordinal) {
  KVC_RETURN_IF_FAILED(driver.getDevice(ordinal, handle));
  KVC_RETURN_IF_FAILED(driver.describe(handle, info));
  KVC_RETURN_IF_FAILED(
      KVC_CUDA(driver, cuDevicePrimaryCtxRetain, &context, handle));
  hasContext = true;
  CurrentContext current(*this);
  KVC_RETURN_IF_FAILED(current.status);
  return KVC_CUDA(driver, cuStreamCreate, &transfers, CU_STREAM_NON_BLOCKING);
}

Device::~Device() {
  if (!hasContext)
    return;
  // Streams and pools hold the device, so nothing is running any more.
  modules.clear();
  if (CurrentContext current(*this); current.status == KVC_STATUS_OK) {
    for (const RetiredBlock &one : retired)
      driver.cuMemFree_v2(one.block.data);
    for (CUdeviceptr data : ofCallers)
      driver.cuMemFree_v2(data);
    if (transfers)
      driver.cuStreamDestroy_v2(transfers);
  }
  driver.cuDevicePrimaryCtxRelease_v2(handle);
}

//===----------------------------------------------------------------------===//
// Work
//===----------------------------------------------------------------------===//

kvc_status_t Device::synchronize() const {
  CurrentContext current(*this);
  KVC_RETURN_IF_FAILED(current.status);
  return work.waitForAll();
}

bool Device::poll(const Fence &fence) const {
  if (fence.entries.empty())
    return true;
  CurrentContext current(*this);
  return current.status == KVC_STATUS_OK && fence.poll();
}

kvc_status_t Device::wait(const Fence &fence) const {
  if (fence.entries.empty())
    return KVC_STATUS_OK;
  CurrentContext current(*this);
  KVC_RETURN_IF_FAILED(current.status);
  return fence.wait();
}

//===----------------------------------------------------------------------===//
// Programs
//===----------------------------------------------------------------------===//

kvc_status_t Device::getModules(const std::shared_ptr<LoadedProgram> &program,
                                bool mayLoad,
                                std::shared_ptr<ModuleSet> &outModules) {
  std::lock_guard<std::mutex> lock(modulesMutex);
  auto it = modules.find(program->serial);
  if (it != modules.end()) {
    outModules = it->second;
    return KVC_STATUS_OK;
  }
  outModules = nullptr;
  if (!mayLoad)
    return KVC_STATUS_OK;
  // Set before dropModules() looks here, so nothing is left behind.
  if (program->isUnloaded)
    return fail(KVC_STATUS_INVALID_ARGUMENT,
                "expected a loaded program, got one that was unloaded");
  auto loaded = std::make_shared<ModuleSet>(*this);
  KVC_RETURN_IF_FAILED(loaded->load(program->blob));
  modules.emplace(program->serial, loaded);
  outModules = std::move(loaded);
  return KVC_STATUS_OK;
}

void Device::dropModules(const LoadedProgram &program) {
  std::shared_ptr<ModuleSet> dropped; // goes after the lock
  std::lock_guard<std::mutex> lock(modulesMutex);
  auto it = modules.find(program.serial);
  if (it == modules.end())
    return;
  dropped = std::move(it->second);
  modules.erase(it);
}
