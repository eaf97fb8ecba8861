//===- Stream.cpp - a CPU stream ------------------------------------------===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Streams are created with a number of workers and live until they are released
// and the last call on them has returned.
//===----------------------------------------------------------------------===//
#include "Stream.h"

#include <algorithm>
#include <cstdlib>
#include <initializer_list>
#include <system_error>

using namespace kvc::rt;

/// More threads than this are taken for a mistake.
static constexpr int32_t kMaxThreads = 1024;
static constexpr uint64_t kWorkspaceAlignment = 64;

Registry<Stream, kvc_stream_t> &kvc::rt::getStreams() {
  // Never destroyed: a stream may be released while the process ends.
  static auto *streams = new Registry<Stream, kvc_stream_t>("stream", 1);
  return *streams;
}

Stream::~Stream() { std::free(workspace); }

kvc_status_t Stream::growWorkspace(uint64_t size) {
  if (size <= workspaceSize)
    return KVC_STATUS_OK;
  // Half as much again, so that lengths that grow by one token a call do not
  // allocate at every call; exactly `size` if that is too much.
  uint64_t generous;
  if (__builtin_add_overflow(size, workspaceSize / 2, &generous))
    generous = size;
  for (uint64_t wanted : {generous, size}) {
    if (wanted > static_cast<uint64_t>(PTRDIFF_MAX) - kWorkspaceAlignment)
      continue;
    wanted = (wanted + kWorkspaceAlignment - 1) & ~(kWorkspaceAlignment - 1);
    void *grown = std::aligned_alloc(kWorkspaceAlignment, wanted);
    if (!grown)
      continue;
    std::free(workspace);
    workspace = grown;
    workspaceSize = wanted;
    return KVC_STATUS_OK;
  }
  return fail(KVC_STATUS_OUT_OF_MEMORY,
              "no memory for a workspace of %llu bytes",
              static_cast<unsigned long long>(size));
}

kvc_status_t kvc::rt::parallelFor(kvc_stream_t *stream,
                                  kvc_cpu_kernel_fn kernel, const void *params,
                                  int64_t count) {
  return guarded("parallel_for", [&]() -> kvc_status_t {
    std::shared_ptr<Stream> object = getStreams().find(stream);
    if (!object)
      return KVC_STATUS_INVALID_ARGUMENT;
    if (!kernel)
      return fail(KVC_STATUS_INVALID_ARGUMENT, "expected a kernel, got null");
    if (count < 0)
      return fail(KVC_STATUS_INVALID_ARGUMENT,
                  "expected at least 0 items, got %lld",
                  static_cast<long long>(count));
    if (Scope::isInside(&object->pool))
      return fail(KVC_STATUS_INVALID_ARGUMENT,
                  "parallel_for inside a kernel that runs on the same stream "
                  "would wait for itself");
    object->pool.parallelFor(kernel, params, count);
    return KVC_STATUS_OK;
  });
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
      *out_stream = getStreams().insert(std::make_shared<Stream>(num_threads));
    } catch (const std::system_error &error) {
      return fail(KVC_STATUS_OUT_OF_MEMORY, "cannot start %d threads: %s",
                  num_threads - 1, error.what());
    }
    return KVC_STATUS_OK;
  });
}

void kvc_stream_release(kvc_stream_t *stream) { getStreams().remove(stream); }

int32_t kvc_stream_num_workers(kvc_stream_t *stream) {
  std::shared_ptr<Stream> object = getStreams().find(stream);
  return object ? object->pool.getNumWorkers() : 0;
}

} // extern "C"
