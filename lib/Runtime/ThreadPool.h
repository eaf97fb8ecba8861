//===- ThreadPool.h - fork-join over numbered items -------------*- C++ -*-===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A pool of threads for loops of independent items. Starting and ending such a
// loop costs well under a microsecond while the workers are awake; a worker
// that finds nothing to do spins for a moment, then sleeps.
//===----------------------------------------------------------------------===//
#ifndef KVC_LIB_RUNTIME_THREADPOOL_H
#define KVC_LIB_RUNTIME_THREADPOOL_H

#include "kvc-rt/abi.h"

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <vector>

namespace kvc::rt {

/// What this thread is in the middle of: a chain of owners, innermost first. A
/// worker takes over the chain of the thread whose loop it serves. So a call
/// that would wait for itself, however indirectly, is found before it waits.
class Scope {
public:
  explicit Scope(const void *owner) : owner(owner), parent(current) {
    current = this;
  }
  ~Scope() { current = parent; }
  Scope(const Scope &) = delete;
  Scope &operator=(const Scope &) = delete;

  /// True if this thread works, directly or not, on behalf of `owner`.
  static bool isInside(const void *owner);

private:
  friend class ThreadPool;
  const void *owner;
  const Scope *parent;
  static thread_local const Scope *current;
};

class ThreadPool {
public:
  /// Starts numWorkers - 1 threads: the thread that calls parallelFor is worker
  /// 0. Throws std::system_error when a thread cannot be started.
  explicit ThreadPool(int32_t numWorkers);
  ~ThreadPool();

  int32_t getNumWorkers() const {
    return static_cast<int32_t>(threads.size()) + 1;
  }

  /// Calls kernel(params, item, worker) for every item below `count` and
  /// returns when all calls have. Loops of several threads take turns. Must not
  /// be called inside a loop of this pool (Scope::isInside(this)).
  void parallelFor(kvc_cpu_kernel_fn kernel, const void *params, int64_t count);

private:
  void runWorker(int32_t worker);
  void runItems(int32_t worker);
  bool hasLoop(uint32_t lastSeen) const;
  bool enterLoop(uint32_t &lastSeen);
  void leaveLoop();
  void wakeWorkers(int64_t wanted);
  void awaitWorkers();
  void stopThreads();
  template <typename Condition>
  bool spinUntil(Condition condition) const;

  /// Generation of the loop (high 32 bits), whether workers may still enter it
  /// (bit 31), and how many are inside (low 31 bits). The loop's description
  /// below is written only while the loop is closed and nobody is inside.
  std::atomic<uint64_t> state{0};
  kvc_cpu_kernel_fn kernel = nullptr;
  const void *params = nullptr;
  int64_t count = 0;
  const Scope *scope = nullptr;
  alignas(64) std::atomic<int64_t> nextItem{0};

  alignas(64) std::atomic<bool> stopping{false};
  std::atomic<int32_t> numSleeping{0};
  std::atomic<bool> callerSleeps{false};
  std::mutex sleepMutex; ///< Of both conditions.
  std::condition_variable wakeUp;
  std::condition_variable allLeft;

  std::mutex turnMutex; ///< Held by the thread whose loop is running.
  bool maySpin = true;
  std::vector<std::thread> threads;
};

/// CPUs that this process may use, at least 1.
int32_t countUsableCpus();

} // namespace kvc::rt

#endif // KVC_LIB_RUNTIME_THREADPOOL_H
