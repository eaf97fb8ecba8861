//===- Threads.h - loops on the threads of a stream -------------*- C++ -*-===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef KVC_TOOLS_KVC_RUN_THREADS_H
#define KVC_TOOLS_KVC_RUN_THREADS_H

#include "kvc-rt/runtime.h"

#include "mlir/Support/LLVM.h"
#include "llvm/ADT/STLFunctionalExtras.h"

#include <memory>

namespace kvcrun {

struct ReleaseStream {
  void operator()(kvc_stream_t *stream) const { kvc_stream_release(stream); }
};
using StreamHandle = std::unique_ptr<kvc_stream_t, ReleaseStream>;

/// A stream of `threads` workers, 0 for one per CPU; null after a message.
StreamHandle makeStream(int32_t threads);

/// Runs `body(item, worker)` for items 0 .. count - 1, on the workers of `stream`.
void parallelFor(kvc_stream_t *stream, int64_t count,
                 llvm::function_ref<void(int64_t item, int32_t worker)> body);

} // namespace kvcrun

#endif // KVC_TOOLS_KVC_RUN_THREADS_H
