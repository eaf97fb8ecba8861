//===- Module.h - a program on a device -------------------------*- C++ -*-===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The images of a program, loaded onto a device, and their kernels.
//===----------------------------------------------------------------------===//
#ifndef KVC_LIB_RUNTIME_CUDA_MODULE_H
#define KVC_LIB_RUNTIME_CUDA_MODULE_H

#include "CUDA/Device.h"

namespace kvc::rt {

/// What the runtime remembers of a program with images. The address of a
/// program may come back with another program in it; a serial number does not,
/// so what devices hold is found by that.
struct LoadedProgram {
  uint64_t serial;
  const kvc_blob_t *blob;
  uint64_t hash; ///< Of the whole blob.
  std::atomic<bool> isUnloaded{false};
};

/// Remembers a program that was checked, and forgets a different one that was
/// loaded at the same address before.
void rememberProgram(const kvc_program_t *program);
/// Finds what rememberProgram() keeps, or returns null with a message.
std::shared_ptr<LoadedProgram> findProgram(const kvc_program_t *program);
/// Forgets a program, also on all devices.
void forgetProgram(const kvc_program_t *program);

/// The modules of a program on one device, which must outlive it.
class ModuleSet {
public:
  explicit ModuleSet(Device &device) : device(device) {}
  ~ModuleSet();

  /// Loads all images of a checked blob and finds all its kernels.
  kvc_status_t load(const kvc_blob_t *blob);

  CUfunction getFunction(uint32_t kernel) const { return functions[kernel]; }

private:
  kvc_status_t loadImage(const kvc_blob_t *blob, uint32_t index);
  kvc_status_t findKernel(const kvc_blob_t *blob, uint32_t index);

  Device &device;
  std::vector<CUmodule> modules;
  std::vector<CUfunction> functions;
};

} // namespace kvc::rt

#endif // KVC_LIB_RUNTIME_CUDA_MODULE_H
