//===- Device.h - a device of CUDA's driver ---------------------*- C++ -*-===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Owns the primary context of one device: its memory, the programs loaded onto
// it, and the record of what its streams have to do.
//===----------------------------------------------------------------------===//
#ifndef KVC_LIB_RUNTIME_CUDA_DEVICE_H
#define KVC_LIB_RUNTIME_CUDA_DEVICE_H

#include "CUDA/Work.h"
#include "Registry.h"

#include <list>
#include <unordered_map>
#include <unordered_set>

namespace kvc::rt {

struct LoadedProgram;
class ModuleSet;

/// A piece of device memory of our own.
struct Block {
  CUdeviceptr data = 0;
  uint64_t size = 0;

  void *get() const { return reinterpret_cast<void *>(data); }
};

class Device {
public:
  /// Opens device `ordinal` of `library`, or finds it where it is open.
  static kvc_status_t open(const char *library, int32_t ordinal,
                           std::shared_ptr<Device> &outDevice);
  /// Those that are open.
  static std::vector<std::shared_ptr<Device>> getAll();

  explicit Device(const Driver &driver) : driver(driver) {}
  ~Device();

  const kvc_device_info_t &getInfo() const { return info; }
  CUcontext getContext() const { return context; }

  /// Memory of callers, which they free by its address.
  kvc_status_t allocateForCaller(uint64_t size, void *&data);
  kvc_status_t freeForCaller(void *data);

  /// Takes a block of at least `size` bytes, >= 1, from those that were given
  /// back or from the driver.
  kvc_status_t takeBlock(uint64_t size, Block &block);
  /// Gives a block back, which work launched so far may use to its end.
  void giveBlock(const Block &block) noexcept;
  /// Waits for all work launched so far, then frees a block.
  void freeBlock(const Block &block) noexcept;

  /// These do not wait for launched work, but return when they are done.
  kvc_status_t upload(CUdeviceptr data, const void *host, uint64_t size) const;
  kvc_status_t download(void *host, CUdeviceptr data, uint64_t size) const;
  /// Fills `count` pieces of `size` bytes, each `stride` bytes after the other.
  kvc_status_t fill(CUdeviceptr data, uint8_t value, uint64_t size,
                    uint64_t stride = 0, int32_t count = 1) const;

  /// Waits for all work launched so far.
  kvc_status_t synchronize() const;
  bool poll(const Fence &fence) const;
  kvc_status_t wait(const Fence &fence) const;

  /// Finds the modules of a program, or loads them. With `mayLoad` false, one
  /// that is not loaded is null.
  kvc_status_t getModules(const std::shared_ptr<LoadedProgram> &program,
                          bool mayLoad, std::shared_ptr<ModuleSet> &outModules);
  /// Forgets the modules of a program; they go when the last call has them.
  void dropModules(const LoadedProgram &program);

  const Driver &driver;
  WorkList work;

private:
  struct RetiredBlock {
    Block block;
    Fence fence;
  };

  kvc_status_t initialize(int32_t ordinal);
  kvc_status_t allocate(uint64_t size, CUdeviceptr &data);
  void freeRetired(bool wait);
  template <typename Enqueue>
  kvc_status_t transfer(Enqueue &&enqueue) const;

  CUdevice handle = 0;
  bool hasContext = false;
  CUcontext context = nullptr;
  CUstream transfers = nullptr; ///< For copies, apart from launched work.
  kvc_device_info_t info = {};

  std::mutex memoryMutex; ///< Of the two below.
  std::unordered_set<CUdeviceptr> ofCallers;
  std::list<RetiredBlock> retired; ///< Oldest first.

  std::mutex modulesMutex;
  std::unordered_map<uint64_t, std::shared_ptr<ModuleSet>> modules;
};

/// Makes the context of a device current in this thread for as long as it
/// lives.
class CurrentContext {
public:
  explicit CurrentContext(const Device &device)
      : driver(device.driver),
        status(KVC_CUDA(driver, cuCtxPushCurrent_v2, device.getContext())) {}
  ~CurrentContext() {
    CUcontext popped;
    if (status == KVC_STATUS_OK)
      driver.cuCtxPopCurrent_v2(&popped);
  }
  CurrentContext(const CurrentContext &) = delete;
  CurrentContext &operator=(const CurrentContext &) = delete;

  const Driver &driver;
  const kvc_status_t status;
};

Registry<Device, kvc_device_t> &getDevices();

} // namespace kvc::rt

#endif // KVC_LIB_RUNTIME_CUDA_DEVICE_H
