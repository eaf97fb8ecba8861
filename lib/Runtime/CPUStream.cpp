//===- CPUStream.cpp - streams of the CPU ---------------------------------===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Loops over threads, and events that are points in time.
//===----------------------------------------------------------------------===//
#include "CPUStream.h"
#include "Event.h"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <system_error>

using namespace kvc::rt;

/// More threads than this are taken for a mistake.
static constexpr int32_t kMaxThreads = 1024;

CPUStream::~CPUStream() { std::free(workspace); }

kvc_status_t CPUStream::replaceWorkspace(uint64_t size) {
  void *grown = std::aligned_alloc(64, size);
  if (!grown)
    return KVC_STATUS_OUT_OF_MEMORY;
  std::free(workspace);
  workspace = grown;
  workspaceSize = size;
  return KVC_STATUS_OK;
}

kvc_status_t kvc::rt::parallelFor(kvc_stream_t *stream,
                                  kvc_cpu_kernel_fn kernel, const void *params,
                                  int64_t count) {
  return guarded("parallel_for", [&]() -> kvc_status_t {
    std::shared_ptr<Stream> object = getStreams().find(stream);
    if (!object)
      return KVC_STATUS_INVALID_ARGUMENT;
    CPUStream *cpu = object->asCPU();
    if (!cpu)
      return fail(KVC_STATUS_INVALID_ARGUMENT,
                  "parallel_for: expected a CPU stream, got %s",
                  object->describe().c_str());
    if (!kernel)
      return fail(KVC_STATUS_INVALID_ARGUMENT, "expected a kernel, got null");
    if (count < 0)
      return fail(KVC_STATUS_INVALID_ARGUMENT,
                  "expected at least 0 items, got %lld",
                  static_cast<long long>(count));
    if (Scope::isInside(&cpu->pool))
      return fail(KVC_STATUS_INVALID_ARGUMENT,
                  "parallel_for inside a kernel that runs on the same stream "
                  "would wait for itself");
    cpu->pool.parallelFor(kernel, params, count);
    return KVC_STATUS_OK;
  });
}

//===----------------------------------------------------------------------===//
// Events
//===----------------------------------------------------------------------===//

namespace {
/// The work before it is done when it is recorded.
class CPUEvent final : public Event {
public:
  std::string describeStreams() const override { return "a CPU stream"; }
  kvc_status_t record(Stream &stream) override {
    if (!stream.asCPU())
      return failOnStream(stream);
    nanoseconds = std::chrono::steady_clock::now().time_since_epoch() /
                  std::chrono::nanoseconds(1);
    isRecorded = true;
    return KVC_STATUS_OK;
  }
  kvc_status_t synchronize() override { return KVC_STATUS_OK; }
  kvc_status_t delay(Stream &stream) override {
    return stream.asCPU() ? kvc_status_t{KVC_STATUS_OK} : failOnStream(stream);
  }
  kvc_status_t measureSince(Event &start, float &milliseconds) override {
    auto *other = dynamic_cast<CPUEvent *>(&start);
    if (!other)
      return failWithOther(start);
    milliseconds = static_cast<float>(
        static_cast<double>(nanoseconds - other->nanoseconds) * 1e-6);
    return KVC_STATUS_OK;
  }

private:
  std::atomic<int64_t> nanoseconds{0};
};
} // namespace

kvc_status_t CPUStream::createEvent(std::shared_ptr<Event> &outEvent) {
  outEvent = std::make_shared<CPUEvent>();
  return KVC_STATUS_OK;
}

extern "C" {

kvc_status_t kvc_stream_create_cpu(int32_t num_threads,
                                   kvc_stream_t **out_stream) {
  return guarded("kvc_stream_create_cpu", [&]() -> kvc_status_t {
    if (!out_stream)
      return fail(KVC_STATUS_INVALID_ARGUMENT, "expected out_stream, got null");
    if (num_threads < 0 || num_threads > kMaxThreads)
      return fail(KVC_STATUS_INVALID_ARGUMENT,
                  "expected 0 to %d threads, got %d", kMaxThreads, num_threads);
    if (num_threads == 0)
      num_threads = std::min(countUsableCpus(), kMaxThreads);
    try {
      *out_stream =
          getStreams().insert(std::make_shared<CPUStream>(num_threads));
    } catch (const std::system_error &error) {
      return fail(KVC_STATUS_OUT_OF_MEMORY, "cannot start %d threads: %s",
                  num_threads - 1, error.what());
    }
    return KVC_STATUS_OK;
  });
}

} // extern "C"
