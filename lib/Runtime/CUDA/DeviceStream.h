//===- DeviceStream.h - streams of a device ---------------------*- C++ -*-===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A CUDA stream and a workspace. A call returns when its work is launched.
//===----------------------------------------------------------------------===//
#ifndef KVC_LIB_RUNTIME_CUDA_DEVICESTREAM_H
#define KVC_LIB_RUNTIME_CUDA_DEVICESTREAM_H

#include "CUDA/Device.h"
#include "Stream.h"

namespace kvc::rt {

class DeviceStream final : public Stream {
public:
  explicit DeviceStream(std::shared_ptr<Device> device)
      : device(std::move(device)) {}
  ~DeviceStream() override;

  /// Creates the CUDA stream.
  kvc_status_t create();
  /// Uses one of somebody else.
  void wrap(CUstream native);

  int32_t getNumWorkers() const override {
    return device->getInfo().num_multiprocessors;
  }
  std::string describe() const override;
  kvc_status_t synchronize() override;
  kvc_status_t createEvent(std::shared_ptr<Event> &outEvent) override;
  DeviceStream *asDevice() override { return this; }

  /// Finds the modules of a program on the device, and loads them unless the
  /// stream is being captured.
  kvc_status_t getModules(const kvc_program_t *program,
                          std::shared_ptr<ModuleSet> &outModules);
  CUstream getNative() const { return native; }
  Work &getWork() { return *work; }

  const std::shared_ptr<Device> device;

private:
  kvc_status_t replaceWorkspace(uint64_t size) override;
  kvc_status_t refuseCapture(const char *what) const;
  void attach(CUstream stream);

  CUstream native = nullptr;
  bool isOurs = false;
  std::shared_ptr<Work> work; ///< Null before create() or wrap().
  Block workspaceBlock;
};

/// The table's launch; see abi.h.
kvc_status_t launch(kvc_stream_t *stream, const kvc_program_t *program,
                    uint32_t kernel, const uint32_t grid[3],
                    const uint32_t cluster[3], const void *const *params);

} // namespace kvc::rt

#endif // KVC_LIB_RUNTIME_CUDA_DEVICESTREAM_H
