//===- Stream.h - where calls run -------------------------------*- C++ -*-===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the streams of the CPU and of devices have in common: a workspace that
// grows, and events.
//===----------------------------------------------------------------------===//
#ifndef KVC_LIB_RUNTIME_STREAM_H
#define KVC_LIB_RUNTIME_STREAM_H

#include "Registry.h"

#include <string>

namespace kvc::rt {

class CPUStream;
class DeviceStream;
class Event;

class Stream {
public:
  virtual ~Stream() = default;

  virtual int32_t getNumWorkers() const = 0;
  /// For messages: "a CPU stream", "a stream of device 'X'".
  virtual std::string describe() const = 0;
  virtual kvc_status_t synchronize() = 0;
  virtual kvc_status_t createEvent(std::shared_ptr<Event> &outEvent) = 0;
  /// This stream as what it is, else null.
  virtual CPUStream *asCPU() { return nullptr; }
  virtual DeviceStream *asDevice() { return nullptr; }

  /// Makes the workspace at least `size` bytes large, its contents undefined;
  /// leaves it alone when there is no memory. The caller holds `callMutex`.
  kvc_status_t growWorkspace(uint64_t size);
  void *getWorkspace() const { return workspace; }

  std::mutex callMutex; ///< Held while a call uses the workspace.

protected:
  /// Puts a workspace of `size` bytes in place of the one that is there, or
  /// leaves that alone and fails.
  virtual kvc_status_t replaceWorkspace(uint64_t size) = 0;

  void *workspace = nullptr;
  uint64_t workspaceSize = 0;
};

Registry<Stream, kvc_stream_t> &getStreams();

} // namespace kvc::rt

#endif // KVC_LIB_RUNTIME_STREAM_H
