//===- Work.h - what was launched and what is done --------------*- C++ -*-===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Counts the launches on each stream of a device, so that memory that they may
// touch is used again only when they are done.
//===----------------------------------------------------------------------===//
#ifndef KVC_LIB_RUNTIME_CUDA_WORK_H
#define KVC_LIB_RUNTIME_CUDA_WORK_H

#include "CUDA/Driver.h"

#include <atomic>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <utility>
#include <vector>

namespace kvc::rt {

/// The work of one stream. The context of its device is current in every call
/// but noteLaunch().
class Work {
public:
  Work(const Driver &driver, CUstream stream)
      : driver(driver), stream(stream) {}

  /// To be called after each launch. A fence that is taken between the launch
  /// and this does not cover it, nor need it: the call that launches has not
  /// returned, so all it uses is still in use.
  void noteLaunch() { launched.fetch_add(1); }

  uint64_t getLaunched() const { return launched.load(); }
  bool isDone(uint64_t count) const { return done.load() >= count; }
  /// Like isDone(), but asks the driver.
  bool poll(uint64_t count);
  /// Waits for the first `count` launches; refuses to while the stream is being
  /// captured, which that would spoil.
  kvc_status_t wait(uint64_t count);
  /// Waits for everything on the stream, launched by us or not.
  kvc_status_t synchronize();
  /// From here on nobody touches the stream, whose work is done.
  void close();

private:
  kvc_status_t checkCapture(bool &isCapturing) const;
  void raiseDone(uint64_t count);

  const Driver &driver;
  std::shared_mutex streamMutex; ///< Held exclusively by close().
  CUstream stream;
  bool isOpen = true;
  std::atomic<uint64_t> launched{0};
  std::atomic<uint64_t> done{0};
};

/// All that was launched on a device up to some moment.
struct Fence {
  std::vector<std::pair<std::shared_ptr<Work>, uint64_t>> entries;

  /// True if all of it is done.
  bool poll() const;
  kvc_status_t wait() const;
};

/// The streams of a device.
class WorkList {
public:
  void add(std::shared_ptr<Work> work);
  void remove(const Work *work);
  /// Covers all launches so far that are not known to be done.
  Fence takeFence() const;
  /// Waits for all launches so far. Allocates nothing.
  kvc_status_t waitForAll() const;

private:
  mutable std::mutex mutex;
  std::vector<std::shared_ptr<Work>> streams;
};

} // namespace kvc::rt

#endif // KVC_LIB_RUNTIME_CUDA_WORK_H
