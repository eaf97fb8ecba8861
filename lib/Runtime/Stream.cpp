//===- Stream.cpp - where calls run ---------------------------------------===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Streams live until they are released and the last call on them has returned.
//===----------------------------------------------------------------------===//
#include "Stream.h"

#include <initializer_list>

using namespace kvc::rt;

static constexpr uint64_t kWorkspaceAlignment = 64;

Registry<Stream, kvc_stream_t> &kvc::rt::getStreams() {
  // Never destroyed: a stream may be released while the process ends.
  static auto *streams = new Registry<Stream, kvc_stream_t>("a stream", 1);
  return *streams;
}

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
    kvc_status_t status = replaceWorkspace(wanted);
    if (status != KVC_STATUS_OUT_OF_MEMORY)
      return status;
  }
  return fail(KVC_STATUS_OUT_OF_MEMORY,
              "no memory for a workspace of %llu bytes on %s",
              static_cast<unsigned long long>(size), describe().c_str());
}

extern "C" {

void kvc_stream_release(kvc_stream_t *stream) { getStreams().remove(stream); }

int32_t kvc_stream_num_workers(kvc_stream_t *stream) {
  std::shared_ptr<Stream> object = getStreams().find(stream);
  return object ? object->getNumWorkers() : 0;
}

kvc_status_t kvc_stream_synchronize(kvc_stream_t *stream) {
  return guarded("kvc_stream_synchronize", [&]() -> kvc_status_t {
    std::shared_ptr<Stream> object = getStreams().find(stream);
    return object ? object->synchronize()
                  : kvc_status_t{KVC_STATUS_INVALID_ARGUMENT};
  });
}

} // extern "C"
