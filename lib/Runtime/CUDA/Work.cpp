//===- Work.cpp - what was launched and what is done ----------------------===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A stream works in order, so one number says what it has done.
//===----------------------------------------------------------------------===//
#include "CUDA/Work.h"

#include <algorithm>

using namespace kvc::rt;

void Work::raiseDone(uint64_t count) {
  uint64_t before = done.load();
  while (before < count && !done.compare_exchange_weak(before, count)) {
  }
}

/// Asks whether the stream is being captured. The caller holds streamMutex.
kvc_status_t Work::checkCapture(bool &isCapturing) const {
  int capture = CU_STREAM_CAPTURE_STATUS_NONE;
  KVC_RETURN_IF_FAILED(KVC_CUDA(driver, cuStreamIsCapturing, stream, &capture));
  isCapturing = capture != CU_STREAM_CAPTURE_STATUS_NONE;
  return KVC_STATUS_OK;
}

bool Work::poll(uint64_t count) {
  if (isDone(count))
    return true;
  std::shared_lock<std::shared_mutex> lock(streamMutex);
  if (!isOpen)
    return true;
  // A query would spoil a capture that is under way.
  bool isCapturing = true;
  if (checkCapture(isCapturing) != KVC_STATUS_OK || isCapturing)
    return false;
  uint64_t now = getLaunched();
  if (driver.cuStreamQuery(stream) != CUDA_SUCCESS)
    return false;
  raiseDone(now);
  return isDone(count);
}

kvc_status_t Work::wait(uint64_t count) {
  if (isDone(count))
    return KVC_STATUS_OK;
  {
    std::shared_lock<std::shared_mutex> lock(streamMutex);
    bool isCapturing = false;
    if (isOpen)
      KVC_RETURN_IF_FAILED(checkCapture(isCapturing));
    if (isCapturing)
      return fail(KVC_STATUS_UNSUPPORTED,
                  "expected to wait for the work of the device, got a stream "
                  "that is being captured");
  }
  return synchronize();
}

kvc_status_t Work::synchronize() {
  std::shared_lock<std::shared_mutex> lock(streamMutex);
  if (!isOpen)
    return KVC_STATUS_OK;
  uint64_t now = getLaunched();
  KVC_RETURN_IF_FAILED(KVC_CUDA(driver, cuStreamSynchronize, stream));
  raiseDone(now);
  return KVC_STATUS_OK;
}

void Work::close() {
  std::unique_lock<std::shared_mutex> lock(streamMutex);
  isOpen = false;
  raiseDone(UINT64_MAX);
}

bool Fence::poll() const {
  return std::all_of(entries.begin(), entries.end(), [](const auto &entry) {
    return entry.first->poll(entry.second);
  });
}

kvc_status_t Fence::wait() const {
  for (const auto &[work, count] : entries)
    KVC_RETURN_IF_FAILED(work->wait(count));
  return KVC_STATUS_OK;
}

void WorkList::add(std::shared_ptr<Work> work) {
  std::lock_guard<std::mutex> lock(mutex);
  streams.push_back(std::move(work));
}

void WorkList::remove(const Work *work) {
  std::lock_guard<std::mutex> lock(mutex);
  streams.erase(
      std::remove_if(streams.begin(), streams.end(),
                     [&](const auto &stream) { return stream.get() == work; }),
      streams.end());
}

Fence WorkList::takeFence() const {
  Fence fence;
  std::lock_guard<std::mutex> lock(mutex);
  for (const std::shared_ptr<Work> &work : streams) {
    uint64_t count = work->getLaunched();
    if (!work->isDone(count))
      fence.entries.emplace_back(work, count);
  }
  return fence;
}

kvc_status_t WorkList::waitForAll() const {
  // Backwards: a stream that is removed meanwhile hides no other.
  for (size_t i = SIZE_MAX; i > 0;) {
    std::shared_ptr<Work> work;
    {
      std::lock_guard<std::mutex> lock(mutex);
      i = std::min(i, streams.size());
      if (i == 0)
        break;
      work = streams[--i];
    }
    KVC_RETURN_IF_FAILED(work->wait(work->getLaunched()));
  }
  return KVC_STATUS_OK;
}
