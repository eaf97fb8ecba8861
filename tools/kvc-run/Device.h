//===- Device.h - devices to run on -----------------------------*- C++ -*-===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef KVC_TOOLS_KVC_RUN_DEVICE_H
#define KVC_TOOLS_KVC_RUN_DEVICE_H

#include "Options.h"
#include "Threads.h"

namespace kvcrun {

struct ReleaseDevice {
  void operator()(kvc_device_t *device) const { kvc_device_release(device); }
};

/// An open device and a stream on it.
class Device {
public:
  /// Opens what --device names, which is not the CPU; null after a message.
  static std::unique_ptr<Device> open(const DeviceName &name);

  kvc_device_t *get() const { return device.get(); }
  kvc_stream_t *getStream() const { return stream.get(); }
  /// Such as "NVIDIA H200".
  llvm::StringRef getName() const { return info.name; }
  /// It computes what a GPU would, and counts, but its time says nothing.
  bool isEmulator() const;

private:
  kvc_device_info_t info;
  std::unique_ptr<kvc_device_t, ReleaseDevice> device;
  StreamHandle stream; ///< Released before its device.
};

/// Prints a table of the devices that --device can name, and why one is not there.
void printDevices(llvm::raw_ostream &os);

} // namespace kvcrun

#endif // KVC_TOOLS_KVC_RUN_DEVICE_H
