//===- CPUStream.h - streams of the CPU -------------------------*- C++ -*-===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A pool of threads and a workspace. A call returns when its work is done.
//===----------------------------------------------------------------------===//
#ifndef KVC_LIB_RUNTIME_CPUSTREAM_H
#define KVC_LIB_RUNTIME_CPUSTREAM_H

#include "Stream.h"
#include "ThreadPool.h"

namespace kvc::rt {

class CPUStream final : public Stream {
public:
  explicit CPUStream(int32_t numWorkers) : pool(numWorkers) {}
  ~CPUStream() override;

  int32_t getNumWorkers() const override { return pool.getNumWorkers(); }
  std::string describe() const override { return "a CPU stream"; }
  kvc_status_t synchronize() override { return KVC_STATUS_OK; }
  kvc_status_t createEvent(std::shared_ptr<Event> &outEvent) override;
  CPUStream *asCPU() override { return this; }

  ThreadPool pool;

private:
  kvc_status_t replaceWorkspace(uint64_t size) override;
};

/// The table's parallel_for; see abi.h.
kvc_status_t parallelFor(kvc_stream_t *stream, kvc_cpu_kernel_fn kernel,
                         const void *params, int64_t count);

} // namespace kvc::rt

#endif // KVC_LIB_RUNTIME_CPUSTREAM_H
