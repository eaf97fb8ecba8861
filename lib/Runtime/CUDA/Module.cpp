//===- Module.cpp - a program on a device ---------------------------------===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Checks that an image fits the device and hands its PTX to the driver.
//===----------------------------------------------------------------------===//
#include "CUDA/Module.h"
#include "Descriptor.h"

#include <cctype>
#include <cstring>

using namespace kvc::rt;

/// Dynamic shared memory that a kernel may use without being allowed to.
static constexpr uint32_t kPlainSharedBytes = 48 * 1024;

ModuleSet::~ModuleSet() {
  // Calls in flight hold the modules, but launched work does not.
  (void)device.synchronize();
  CurrentContext current(device);
  if (current.status != KVC_STATUS_OK)
    return;
  for (CUmodule module : modules)
    device.driver.cuModuleUnload(module);
}

/// Checks that code for `target` runs on the device: PTX for sm_90 on 9.0 and
/// later, for sm_90a on 9.0 only, for sm_90f on 9.x.
static kvc_status_t checkTarget(const Device &device, uint32_t image,
                                const char *target) {
  const kvc_device_info_t &info = device.getInfo();
  int32_t wanted = 0;
  const char *end = target + 3;
  if (std::strncmp(target, "sm_", 3) == 0)
    for (; std::isdigit(static_cast<unsigned char>(*end)) && wanted < 10000;
         ++end)
      wanted = 10 * wanted + (*end - '0');
  bool isExact = std::strcmp(end, "a") == 0;
  bool isFamily = std::strcmp(end, "f") == 0;
  if (wanted < 10 || (*end && !isExact && !isFamily))
    return fail(KVC_STATUS_UNSUPPORTED,
                "image %u: expected a target such as sm_90a, got '%s'", image,
                target);
  int32_t found = 10 * info.compute_major + info.compute_minor;
  if (isExact ? found == wanted
              : found >= wanted && (!isFamily || found / 10 == wanted / 10))
    return KVC_STATUS_OK;
  return fail(KVC_STATUS_UNSUPPORTED,
              "image %u: expected a device of compute capability %d.%d%s, for "
              "which the code is (%s), got '%s' of %d.%d",
              image, wanted / 10, wanted % 10, isExact ? "" : " or later",
              target, info.name, info.compute_major, info.compute_minor);
}

kvc_status_t ModuleSet::loadImage(const kvc_blob_t *blob, uint32_t index) {
  const kvc_image_desc_t &image =
      at<kvc_image_desc_t>(blob, blob->images)[index];
  const char *target = at<char>(blob, image.target);
  KVC_RETURN_IF_FAILED(checkTarget(device, index, target));
  char errors[2048] = "", remarks[512] = "";
  int options[] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES,
                   CU_JIT_INFO_LOG_BUFFER, CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES};
  // The driver is told less than there is, so that each log ends.
  void *values[] = {errors, reinterpret_cast<void *>(sizeof(errors) - 1),
                    remarks, reinterpret_cast<void *>(sizeof(remarks) - 1)};
  CUmodule module;
  CUresult result = device.driver.cuModuleLoadDataEx(
      &module, at<char>(blob, image.data), 4, options, values);
  if (result == CUDA_SUCCESS) {
    modules.push_back(module);
    return KVC_STATUS_OK;
  }
  errors[sizeof(errors) - 1] = remarks[sizeof(remarks) - 1] = 0;
  return fail(getStatus(result),
              "image %u (%s): cuModuleLoadDataEx: %s (%d): %s%s%s%s%s", index,
              target, device.driver.getErrorName(result), result,
              device.driver.getErrorText(result), *errors ? "\n" : "", errors,
              *remarks ? "\n" : "", remarks);
}

kvc_status_t ModuleSet::findKernel(const kvc_blob_t *blob, uint32_t index) {
  const Driver &driver = device.driver;
  const kvc_kernel_desc_t &kernel = getKernel(blob, index);
  const char *name = at<char>(blob, kernel.name);
  CUfunction function;
  CUresult result =
      driver.cuModuleGetFunction(&function, modules[kernel.image], name);
  if (result == CUDA_ERROR_NOT_FOUND)
    return fail(KVC_STATUS_NOT_FOUND,
                "expected a kernel '%s' in image %u, which has none", name,
                kernel.image);
  KVC_RETURN_IF_FAILED(driver.check(result, "cuModuleGetFunction"));
  if (kernel.shared_bytes > kPlainSharedBytes) {
    result = driver.cuFuncSetAttribute(
        function, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
        static_cast<int>(kernel.shared_bytes));
    if (result != CUDA_SUCCESS)
      return fail(KVC_STATUS_UNSUPPORTED,
                  "kernel '%s': expected device '%s' to allow %u bytes of "
                  "shared memory: %s (%d): %s",
                  name, device.getInfo().name, kernel.shared_bytes,
                  driver.getErrorName(result), result,
                  driver.getErrorText(result));
  }
  functions.push_back(function);
  return KVC_STATUS_OK;
}

kvc_status_t ModuleSet::load(const kvc_blob_t *blob) {
  modules.reserve(blob->num_images);
  functions.reserve(blob->num_kernels);
  CurrentContext current(device);
  KVC_RETURN_IF_FAILED(current.status);
  for (uint32_t i = 0; i < blob->num_images; ++i)
    KVC_RETURN_IF_FAILED(loadImage(blob, i));
  for (uint32_t i = 0; i < blob->num_kernels; ++i)
    KVC_RETURN_IF_FAILED(findKernel(blob, i));
  return KVC_STATUS_OK;
}

//===----------------------------------------------------------------------===//
// Loaded programs
//===----------------------------------------------------------------------===//

namespace {
struct LoadedPrograms {
  std::shared_mutex mutex;
  std::unordered_map<const kvc_program_t *, std::shared_ptr<LoadedProgram>>
      byAddress;
  uint64_t nextSerial = 1;
};
} // namespace

static LoadedPrograms &getLoadedPrograms() {
  static auto *programs = new LoadedPrograms;
  return *programs;
}

static void dropEverywhere(LoadedProgram &program) {
  program.isUnloaded = true;
  for (const std::shared_ptr<Device> &device : Device::getAll())
    device->dropModules(program);
}

void kvc::rt::rememberProgram(const kvc_program_t *program) {
  const kvc_blob_t *blob = program->blob;
  if (blob->num_images == 0)
    return forgetProgram(program);
  const auto *bytes = reinterpret_cast<const unsigned char *>(blob);
  uint64_t hash = 14695981039346656037ull; // FNV-1a
  for (uint64_t i = 0; i < blob->size; ++i)
    hash = (hash ^ bytes[i]) * 1099511628211ull;

  LoadedPrograms &programs = getLoadedPrograms();
  std::shared_ptr<LoadedProgram> replaced;
  {
    std::unique_lock<std::shared_mutex> lock(programs.mutex);
    std::shared_ptr<LoadedProgram> &known = programs.byAddress[program];
    if (known && known->blob == blob && known->hash == hash)
      return;
    // On failure of this the entry is null, which counts as none.
    auto created = std::make_shared<LoadedProgram>();
    created->serial = programs.nextSerial++;
    created->blob = blob;
    created->hash = hash;
    replaced = std::exchange(known, std::move(created));
  }
  if (replaced)
    dropEverywhere(*replaced);
}

std::shared_ptr<LoadedProgram>
kvc::rt::findProgram(const kvc_program_t *program) {
  LoadedPrograms &programs = getLoadedPrograms();
  std::shared_lock<std::shared_mutex> lock(programs.mutex);
  auto it = programs.byAddress.find(program);
  // A program at an address that another one had, and that was not loaded.
  if (it == programs.byAddress.end() || !it->second ||
      it->second->blob != program->blob) {
    fail(KVC_STATUS_INVALID_ARGUMENT,
         "expected a program with device images to be loaded by "
         "kvc_program_load, got one that is not");
    return nullptr;
  }
  return it->second;
}

void kvc::rt::forgetProgram(const kvc_program_t *program) {
  LoadedPrograms &programs = getLoadedPrograms();
  std::shared_ptr<LoadedProgram> forgotten;
  {
    std::unique_lock<std::shared_mutex> lock(programs.mutex);
    auto it = programs.byAddress.find(program);
    if (it == programs.byAddress.end())
      return;
    forgotten = std::move(it->second);
    programs.byAddress.erase(it);
  }
  if (forgotten)
    dropEverywhere(*forgotten);
}
