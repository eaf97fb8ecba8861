//===- ThreadPool.cpp - fork-join over numbered items ---------------------===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One loop runs at a time. Its caller opens it, takes items like any worker,
// closes it when none is left, and waits for the workers that are still inside.
// A worker that wakes too late finds the loop closed and is not waited for, so
// a short loop never costs more than the caller alone needs for it.
//===----------------------------------------------------------------------===//
#include "ThreadPool.h"

#include <algorithm>
#include <chrono>
#include <sched.h>

using namespace kvc::rt;

/// How long a worker without work, and a caller whose workers are not done,
/// spin before they sleep: longer than the gap between two phases of a kernel,
/// shorter than a scheduler's time slice, since machines are shared.
static constexpr std::chrono::microseconds kSpinTime{20};
/// Pauses between two looks at the clock.
static constexpr int kPausesPerLook = 16;

static constexpr uint64_t kOpen = uint64_t{1} << 31;
static constexpr uint64_t kInsideMask = kOpen - 1;

static uint32_t generationOf(uint64_t state) {
  return static_cast<uint32_t>(state >> 32);
}

static void pauseCpu() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

int32_t kvc::rt::countUsableCpus() {
  cpu_set_t cpus;
  CPU_ZERO(&cpus);
  if (sched_getaffinity(0, sizeof(cpus), &cpus) == 0)
    return std::max(1, CPU_COUNT(&cpus));
  return std::max(1, static_cast<int32_t>(std::thread::hardware_concurrency()));
}

thread_local const Scope *Scope::current = nullptr;

bool Scope::isInside(const void *owner) {
  for (const Scope *scope = current; scope; scope = scope->parent)
    if (scope->owner == owner)
      return true;
  return false;
}

ThreadPool::ThreadPool(int32_t numWorkers) {
  // Spinning is a loss when the thread waited for needs this CPU to go on.
  maySpin = numWorkers <= countUsableCpus();
  try {
    threads.reserve(numWorkers - 1);
    for (int32_t worker = 1; worker < numWorkers; ++worker)
      threads.emplace_back([this, worker] { runWorker(worker); });
  } catch (...) {
    stopThreads();
    throw;
  }
}

ThreadPool::~ThreadPool() { stopThreads(); }

void ThreadPool::stopThreads() {
  {
    std::lock_guard<std::mutex> lock(sleepMutex);
    stopping.store(true);
  }
  wakeUp.notify_all();
  for (std::thread &thread : threads)
    thread.join();
}

/// Returns true as soon as `condition` holds, false when the time is up.
template <typename Condition>
bool ThreadPool::spinUntil(Condition condition) const {
  if (condition())
    return true;
  if (!maySpin)
    return false;
  auto deadline = std::chrono::steady_clock::now() + kSpinTime;
  do {
    for (int i = 0; i < kPausesPerLook; ++i) {
      pauseCpu();
      if (condition())
        return true;
    }
  } while (std::chrono::steady_clock::now() < deadline);
  return false;
}

//===----------------------------------------------------------------------===//
// The caller
//===----------------------------------------------------------------------===//

void ThreadPool::parallelFor(kvc_cpu_kernel_fn newKernel, const void *newParams,
                             int64_t newCount) {
  if (newCount <= 0)
    return;
  std::lock_guard<std::mutex> turn(turnMutex);
  Scope inside(this);
  if (threads.empty() || newCount == 1) {
    for (int64_t item = 0; item < newCount; ++item)
      newKernel(newParams, item, /*worker=*/0);
    return;
  }

  kernel = newKernel;
  params = newParams;
  count = newCount;
  scope = &inside;
  nextItem.store(0, std::memory_order_relaxed);
  uint64_t generation = generationOf(state.load(std::memory_order_relaxed)) + 1;
  state.store(generation << 32 | kOpen);
  wakeWorkers(newCount - 1);

  runItems(/*worker=*/0);

  state.fetch_and(~kOpen);
  awaitWorkers();
}

/// Wakes up to `wanted` sleeping workers. A worker counts itself as sleeping
/// before it looks at `state` for the last time, and the caller wrote `state`
/// before it looks at the count, so one of the two sees the other.
void ThreadPool::wakeWorkers(int64_t wanted) {
  if (numSleeping.load() == 0)
    return;
  // A worker that counts itself holds the mutex until it waits.
  int64_t sleeping;
  {
    std::lock_guard<std::mutex> lock(sleepMutex);
    sleeping = numSleeping.load();
  }
  if (wanted >= sleeping) {
    wakeUp.notify_all();
    return;
  }
  for (int64_t i = 0; i < wanted; ++i)
    wakeUp.notify_one();
}

/// Returns when nobody is inside the closed loop.
void ThreadPool::awaitWorkers() {
  auto nobodyInside = [this] { return (state.load() & kInsideMask) == 0; };
  if (spinUntil(nobodyInside))
    return;
  std::unique_lock<std::mutex> lock(sleepMutex);
  callerSleeps.store(true);
  allLeft.wait(lock, nobodyInside);
  callerSleeps.store(false);
}

//===----------------------------------------------------------------------===//
// The workers
//===----------------------------------------------------------------------===//

void ThreadPool::runItems(int32_t worker) {
  for (;;) {
    int64_t item = nextItem.fetch_add(1, std::memory_order_relaxed);
    if (item >= count)
      return;
    kernel(params, item, worker);
  }
}

void ThreadPool::runWorker(int32_t worker) {
  uint32_t lastSeen = 0;
  auto mustAct = [&] { return stopping.load() || hasLoop(lastSeen); };
  for (;;) {
    if (!spinUntil(mustAct)) {
      std::unique_lock<std::mutex> lock(sleepMutex);
      numSleeping.fetch_add(1);
      wakeUp.wait(lock, mustAct);
      numSleeping.fetch_sub(1);
    }
    if (stopping.load())
      return;
    if (!enterLoop(lastSeen))
      continue;
    Scope::current = scope;
    runItems(worker);
    Scope::current = nullptr;
    leaveLoop();
  }
}

/// True if there is an open loop that this worker has not been in.
bool ThreadPool::hasLoop(uint32_t lastSeen) const {
  uint64_t now = state.load();
  return (now & kOpen) && generationOf(now) != lastSeen;
}

/// Joins the open loop, if it has not been closed meanwhile.
bool ThreadPool::enterLoop(uint32_t &lastSeen) {
  uint64_t now = state.load();
  while ((now & kOpen) && generationOf(now) != lastSeen) {
    if (state.compare_exchange_weak(now, now + 1)) {
      lastSeen = generationOf(now);
      return true;
    }
  }
  return false;
}

void ThreadPool::leaveLoop() {
  uint64_t before = state.fetch_sub(1);
  // The last one out wakes a caller that sleeps; as above, either the caller
  // sees nobody inside or this thread sees that the caller sleeps.
  if ((before & kInsideMask) != 1 || !callerSleeps.load())
    return;
  std::lock_guard<std::mutex> lock(sleepMutex);
  allLeft.notify_one();
}
