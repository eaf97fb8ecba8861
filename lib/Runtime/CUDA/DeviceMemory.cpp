//===- DeviceMemory.cpp - memory of a device ------------------------------===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Freeing memory makes CUDA wait for the whole device, so small blocks, such as
// those of the batches of each step, are kept for the next one.
//===----------------------------------------------------------------------===//
#include "CUDA/Device.h"

#include <algorithm>

using namespace kvc::rt;

/// Blocks are at least this large, and those of up to kMaxKept bytes, which are
/// kept for reuse, a power of two.
static constexpr uint64_t kMinBlock = 4096;
static constexpr uint64_t kMaxKept = uint64_t{1} << 20;
/// More blocks than this are not kept.
static constexpr size_t kMaxRetired = 64;

//===----------------------------------------------------------------------===//
// Allocation
//===----------------------------------------------------------------------===//

/// Allocates from the driver; when it has no more, frees first what is kept.
/// The caller holds memoryMutex and has made the context current.
kvc_status_t Device::allocate(uint64_t size, CUdeviceptr &data) {
  CUdeviceptr allocated = 0;
  CUresult result = driver.cuMemAlloc_v2(&allocated, size);
  if (result == CUDA_ERROR_OUT_OF_MEMORY && !retired.empty()) {
    freeRetired(/*wait=*/true);
    result = driver.cuMemAlloc_v2(&allocated, size);
  }
  if (result != CUDA_SUCCESS)
    return fail(getStatus(result),
                "cannot allocate %llu bytes on device '%s': %s (%d): %s",
                static_cast<unsigned long long>(size), info.name,
                driver.getErrorName(result), result,
                driver.getErrorText(result));
  data = allocated;
  return KVC_STATUS_OK;
}

/// Frees blocks that nothing uses any more: with `wait` all, else large ones
/// and those that are too many. The caller is that of allocate().
void Device::freeRetired(bool wait) {
  for (auto it = retired.begin(); it != retired.end();) {
    bool isExcess =
        wait || it->block.size > kMaxKept || retired.size() > kMaxRetired;
    // After an error of the device nothing runs any more either.
    if (wait)
      (void)it->fence.wait();
    if (!isExcess || (!wait && !it->fence.poll())) {
      ++it;
      continue;
    }
    driver.cuMemFree_v2(it->block.data);
    it = retired.erase(it);
  }
}

kvc_status_t Device::takeBlock(uint64_t size, Block &block) {
  size = std::max(size, kMinBlock);
  if (size <= kMaxKept)
    size = uint64_t{1} << (64 - __builtin_clzll(size - 1));
  CurrentContext current(*this);
  KVC_RETURN_IF_FAILED(current.status);
  std::lock_guard<std::mutex> lock(memoryMutex);
  for (auto it = retired.begin(); it != retired.end(); ++it) {
    if (it->block.size != size || !it->fence.poll())
      continue;
    block = it->block;
    retired.erase(it);
    return KVC_STATUS_OK;
  }
  Block taken = {0, size};
  KVC_RETURN_IF_FAILED(allocate(size, taken.data));
  block = taken;
  return KVC_STATUS_OK;
}

void Device::giveBlock(const Block &block) noexcept {
  if (!block.data)
    return;
  CurrentContext current(*this);
  if (current.status != KVC_STATUS_OK)
    return; // the device is lost, and its memory with it
  try {
    Fence fence = work.takeFence();
    std::lock_guard<std::mutex> lock(memoryMutex);
    retired.push_back({block, std::move(fence)});
    freeRetired(/*wait=*/false);
  } catch (const std::bad_alloc &) {
    // Without memory to remember it by, the driver waits for all work.
    driver.cuMemFree_v2(block.data);
  }
}

void Device::freeBlock(const Block &block) noexcept {
  if (!block.data)
    return;
  // After an error of the device nothing runs any more either.
  (void)synchronize();
  CurrentContext current(*this);
  if (current.status == KVC_STATUS_OK)
    driver.cuMemFree_v2(block.data);
}

kvc_status_t Device::allocateForCaller(uint64_t size, void *&data) {
  if (size == 0) {
    data = nullptr;
    return KVC_STATUS_OK;
  }
  CurrentContext current(*this);
  KVC_RETURN_IF_FAILED(current.status);
  std::lock_guard<std::mutex> lock(memoryMutex);
  ofCallers.reserve(ofCallers.size() + 1);
  CUdeviceptr allocated;
  KVC_RETURN_IF_FAILED(allocate(size, allocated));
  try {
    ofCallers.insert(allocated);
  } catch (...) {
    driver.cuMemFree_v2(allocated);
    throw;
  }
  data = reinterpret_cast<void *>(allocated);
  return KVC_STATUS_OK;
}

kvc_status_t Device::freeForCaller(void *data) {
  if (!data)
    return KVC_STATUS_OK;
  auto address = reinterpret_cast<CUdeviceptr>(data);
  {
    std::lock_guard<std::mutex> lock(memoryMutex);
    if (ofCallers.count(address) == 0)
      return fail(KVC_STATUS_INVALID_ARGUMENT,
                  "expected memory that kvc_device_allocate gave on device "
                  "'%s', got %p",
                  info.name, data);
  }
  KVC_RETURN_IF_FAILED(synchronize());
  CurrentContext current(*this);
  KVC_RETURN_IF_FAILED(current.status);
  std::lock_guard<std::mutex> lock(memoryMutex);
  if (ofCallers.count(address) == 0) // another thread was faster
    return fail(KVC_STATUS_INVALID_ARGUMENT,
                "expected memory of device '%s', got %p, which was freed",
                info.name, data);
  KVC_RETURN_IF_FAILED(KVC_CUDA(driver, cuMemFree_v2, address));
  ofCallers.erase(address);
  return KVC_STATUS_OK;
}

//===----------------------------------------------------------------------===//
// Copies
//===----------------------------------------------------------------------===//

template <typename Enqueue>
kvc_status_t Device::transfer(Enqueue &&enqueue) const {
  CurrentContext current(*this);
  KVC_RETURN_IF_FAILED(current.status);
  KVC_RETURN_IF_FAILED(enqueue());
  return KVC_CUDA(driver, cuStreamSynchronize, transfers);
}

kvc_status_t Device::upload(CUdeviceptr data, const void *host,
                            uint64_t size) const {
  if (size == 0)
    return KVC_STATUS_OK;
  return transfer([&] {
    return KVC_CUDA(driver, cuMemcpyHtoDAsync_v2, data, host, size, transfers);
  });
}

kvc_status_t Device::download(void *host, CUdeviceptr data,
                              uint64_t size) const {
  if (size == 0)
    return KVC_STATUS_OK;
  return transfer([&] {
    return KVC_CUDA(driver, cuMemcpyDtoHAsync_v2, host, data, size, transfers);
  });
}

kvc_status_t Device::fill(CUdeviceptr data, uint8_t value, uint64_t size,
                          uint64_t stride, int32_t count) const {
  if (size == 0)
    return KVC_STATUS_OK;
  return transfer([&]() -> kvc_status_t {
    for (int32_t i = 0; i < count; ++i)
      KVC_RETURN_IF_FAILED(KVC_CUDA(driver, cuMemsetD8Async,
                                    data + static_cast<uint64_t>(i) * stride,
                                    value, size, transfers));
    return KVC_STATUS_OK;
  });
}
