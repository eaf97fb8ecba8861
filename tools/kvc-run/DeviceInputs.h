//===- DeviceInputs.h - a call on a device ----------------------*- C++ -*-===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef KVC_TOOLS_KVC_RUN_DEVICEINPUTS_H
#define KVC_TOOLS_KVC_RUN_DEVICEINPUTS_H

#include "Device.h"
#include "Inputs.h"

namespace kvcrun {

/// A copy, in the memory of a device, of all that a call needs: of whole caches, with
/// the NaN in slots that no sequence owns.
class DeviceInputs {
public:
  /// Null after a message. `inputs` and `device` must outlive the result.
  static std::unique_ptr<DeviceInputs> create(const Device &device, Inputs &inputs,
                                              const Program &program);

  /// Launches `program`, whose arguments are of these types.
  mlir::LogicalResult launch(const Program &program);
  /// Waits for what was launched.
  mlir::LogicalResult synchronize();
  /// Copies results and caches back into the inputs.
  mlir::LogicalResult download();

private:
  DeviceInputs(const Device &device, Inputs &inputs) : device(device), inputs(inputs) {}

  struct Free {
    kvc_device_t *device;
    void operator()(void *data) const { (void)kvc_device_free(device, data); }
  };
  /// A place on the host and its copy.
  struct Copy {
    void *host, *data;
    uint64_t size;
  };

  /// Copies `size` bytes to new memory of the device. A copy that `isOutput` is
  /// downloaded later.
  mlir::FailureOr<void *> upload(const void *host, uint64_t size, bool isOutput = false);
  template <typename T>
  mlir::LogicalResult uploadArray(const T *&array, int64_t count);
  mlir::LogicalResult uploadBatch();
  mlir::LogicalResult uploadCache(const Cache &cache, kvc_cache_view_t &view);
  mlir::LogicalResult uploadArguments(const Program &program);

  const Device &device;
  Inputs &inputs;
  std::vector<std::unique_ptr<void, Free>> memory;
  std::vector<Copy> outputs;
  kvc_batch_t batch;
  // With a place for each argument, so that pointers to them stay.
  std::vector<kvc_tensor_t> tensors;
  std::vector<kvc_cache_view_t> caches;
  std::vector<const void *> arguments;
};

} // namespace kvcrun

#endif // KVC_TOOLS_KVC_RUN_DEVICEINPUTS_H
