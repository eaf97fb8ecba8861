//===- Stream.h - a CPU stream ----------------------------------*- C++ -*-===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Where calls run: a pool of threads and a workspace that grows.
//===----------------------------------------------------------------------===//
#ifndef KVC_LIB_RUNTIME_STREAM_H
#define KVC_LIB_RUNTIME_STREAM_H

#include "Registry.h"
#include "ThreadPool.h"

namespace kvc::rt {

class Stream {
public:
  explicit Stream(int32_t numWorkers) : pool(numWorkers) {}
  ~Stream();

  /// Makes the workspace at least `size` bytes large, its contents undefined;
  /// leaves it alone when there is no memory. The caller holds `callMutex`.
  kvc_status_t growWorkspace(uint64_t size);
  void *getWorkspace() const { return workspace; }

  ThreadPool pool;
  std::mutex callMutex; ///< Held while a call uses the workspace.

private:
  void *workspace = nullptr;
  uint64_t workspaceSize = 0;
};

Registry<Stream, kvc_stream_t> &getStreams();

/// The table's parallel_for; see abi.h.
kvc_status_t parallelFor(kvc_stream_t *stream, kvc_cpu_kernel_fn kernel,
                         const void *params, int64_t count);

} // namespace kvc::rt

#endif // KVC_LIB_RUNTIME_STREAM_H
