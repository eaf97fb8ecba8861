//===- Threads.cpp - loops on the threads of a stream ---------------------===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Threads.h"

#include "Options.h"

#include "llvm/Support/ErrorHandling.h"

using namespace kvcrun;

StreamHandle kvcrun::makeStream(int32_t threads) {
  kvc_stream_t *stream = nullptr;
  if (kvc_stream_create_cpu(threads, &stream) != KVC_STATUS_OK)
    (void)reportError(kvc_last_message());
  return StreamHandle(stream);
}

void kvcrun::parallelFor(kvc_stream_t *stream, int64_t count,
                         llvm::function_ref<void(int64_t, int32_t)> body) {
  auto kernel = [](const void *params, int64_t item, int32_t worker) {
    (*static_cast<const llvm::function_ref<void(int64_t, int32_t)> *>(params))(item, worker);
  };
  // It fails only for a stream that is none, or from inside a loop of its own.
  if (kvc_runtime_api()->parallel_for(stream, kernel, &body, count) != KVC_STATUS_OK)
    llvm_unreachable("expected a stream that runs no loop");
}
