//===- StreamTest.cpp - streams and parallel_for --------------------------===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//
//===----------------------------------------------------------------------===//
#include "RuntimeTest.h"

#include <atomic>
#include <chrono>
#include <thread>

static const kvc_rt_api_t *const api = kvc_runtime_api();

namespace {
/// Parameters of a kernel that counts how often each item ran.
struct Counts {
  explicit Counts(int64_t numItems, int32_t numWorkers)
      : items(numItems), busy(numWorkers) {}
  std::vector<std::atomic<int32_t>> items;
  std::vector<std::atomic<bool>> busy; ///< By worker.
  std::atomic<bool> isBroken{false};
};
} // namespace

static void countItem(const void *params, int64_t item, int32_t worker) {
  auto &counts = *static_cast<Counts *>(const_cast<void *>(params));
  if (item < 0 || item >= static_cast<int64_t>(counts.items.size()) ||
      worker < 0 || worker >= static_cast<int32_t>(counts.busy.size()) ||
      counts.busy[worker].exchange(true)) {
    counts.isBroken = true;
    return;
  }
  ++counts.items[item];
  if (item % 8 == 0) // lets others run while this worker is busy
    std::this_thread::yield();
  counts.busy[worker] = false;
}

static void sleepItem(const void *, int64_t, int32_t) {
  std::this_thread::sleep_for(std::chrono::milliseconds(2));
}

TEST(StreamTest, EveryItemRunsOnce) {
  for (int32_t numThreads : {1, 2, 3, 8}) {
    OwnedStream stream(numThreads);
    EXPECT_EQ(kvc_stream_num_workers(stream), numThreads);
    EXPECT_EQ(api->num_workers(stream), numThreads);
    for (int64_t count : {0, 1, 2, 3, 7, 8, 9, 1000}) {
      Counts counts(count, numThreads);
      EXPECT_OK(api->parallel_for(stream, countItem, &counts, count));
      EXPECT_FALSE(counts.isBroken);
      for (int64_t i = 0; i < count; ++i)
        EXPECT_EQ(counts.items[i], 1);
    }
  }
}

// Loops one after the other, in which workers arrive late or not at all, and
// pauses after which they sleep.
TEST(StreamTest, ManyShortLoops) {
  OwnedStream stream(4);
  for (int round = 0; round < 3000; ++round) {
    Counts counts(round % 7, 4);
    ASSERT_OK(api->parallel_for(stream, countItem, &counts, round % 7));
    ASSERT_FALSE(counts.isBroken);
    for (auto &item : counts.items)
      ASSERT_EQ(item, 1);
    if (round % 500 == 0)
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
}

// The caller sleeps while long items of others finish.
TEST(StreamTest, LongItems) {
  OwnedStream stream(4);
  for (int round = 0; round < 5; ++round)
    EXPECT_OK(api->parallel_for(stream, sleepItem, nullptr, 6));
}

namespace {
/// Parameters of a kernel whose items wait for each other.
struct Rendezvous {
  std::atomic<int32_t> numArrived{0};
  std::atomic<int32_t> numMet{0};
};
} // namespace

static void meet(const void *params, int64_t, int32_t) {
  auto &meeting = *static_cast<Rendezvous *>(const_cast<void *>(params));
  ++meeting.numArrived;
  auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  while (meeting.numArrived < 3 && std::chrono::steady_clock::now() < deadline)
    std::this_thread::yield();
  meeting.numMet += meeting.numArrived >= 3;
}

// Workers that sleep are woken: three items run at the same time.
TEST(StreamTest, SleepingWorkersAreWoken) {
  OwnedStream stream(3);
  for (int round = 0; round < 10; ++round) {
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
    Rendezvous meeting;
    ASSERT_OK(api->parallel_for(stream, meet, &meeting, 3));
    ASSERT_EQ(meeting.numMet, 3);
  }
}

TEST(StreamTest, LoopsOfTwoThreadsTakeTurns) {
  OwnedStream stream(3);
  Counts counts(64, 3); // shared: a worker in two loops at once breaks it
  auto body = [&] {
    for (int round = 0; round < 500; ++round)
      ASSERT_OK(api->parallel_for(stream, countItem, &counts, 64));
  };
  std::thread other(body);
  body();
  other.join();
  EXPECT_FALSE(counts.isBroken);
  for (auto &item : counts.items)
    EXPECT_EQ(item, 1000);
}

namespace {
/// Parameters of a kernel that starts a loop on a stream from inside.
struct Nested {
  kvc_stream_t *stream;
  kvc_cpu_kernel_fn kernel;
  const void *params;
  std::atomic<int32_t> *failures;
};
} // namespace

static void runNested(const void *params, int64_t, int32_t) {
  const auto &nested = *static_cast<const Nested *>(params);
  if (api->parallel_for(nested.stream, nested.kernel, nested.params, 2) &&
      std::string(kvc_last_message()).find("wait for itself") !=
          std::string::npos)
    ++*nested.failures;
}

// A loop inside a kernel of the same stream is an error rather than a deadlock,
// from any worker and even when another stream is between the two.
TEST(StreamTest, LoopThatWouldWaitForItselfIsRefused) {
  OwnedStream a(2), b(2);
  std::atomic<int32_t> failures{0};
  Nested intoA{a, sleepItem, nullptr, &failures};
  EXPECT_OK(api->parallel_for(a, runNested, &intoA, 6));
  EXPECT_EQ(failures, 6);
  EXPECT_OK(api->parallel_for(a, runNested, &intoA, 1));
  EXPECT_EQ(failures, 7);

  failures = 0;
  Nested throughB{b, runNested, &intoA, &failures};
  EXPECT_OK(api->parallel_for(a, runNested, &throughB, 3));
  EXPECT_EQ(failures, 6);

  // Another stream as such is fine, and the first works on.
  Counts counts(2, 2);
  Nested intoB{b, countItem, &counts, &failures};
  EXPECT_OK(api->parallel_for(a, runNested, &intoB, 5));
  EXPECT_EQ(failures, 6);
  EXPECT_EQ(counts.items[0], 5);
}

TEST(StreamTest, WrongArguments) {
  kvc_stream_t *stream = nullptr;
  EXPECT_FAILS(kvc_stream_create_cpu(1, nullptr), KVC_STATUS_INVALID_ARGUMENT,
               "expected out_stream, got null");
  EXPECT_FAILS(kvc_stream_create_cpu(-1, &stream), KVC_STATUS_INVALID_ARGUMENT,
               "expected 0 to 1024 threads, got -1");
  EXPECT_FAILS(kvc_stream_create_cpu(1025, &stream),
               KVC_STATUS_INVALID_ARGUMENT,
               "expected 0 to 1024 threads, got 1025");
  EXPECT_EQ(stream, nullptr);
  OwnedStream good(0);
  EXPECT_GE(kvc_stream_num_workers(good), 1);
  EXPECT_FAILS(api->parallel_for(good, nullptr, nullptr, 1),
               KVC_STATUS_INVALID_ARGUMENT, "expected a kernel, got null");
  EXPECT_FAILS(api->parallel_for(good, sleepItem, nullptr, -3),
               KVC_STATUS_INVALID_ARGUMENT,
               "expected at least 0 items, got -3");
}

TEST(StreamTest, WrongHandles) {
  int local = 0;
  auto *foreign = reinterpret_cast<kvc_stream_t *>(&local);
  EXPECT_FAILS(api->parallel_for(nullptr, sleepItem, nullptr, 1),
               KVC_STATUS_INVALID_ARGUMENT, "expected a stream, got null");
  EXPECT_FAILS(api->parallel_for(foreign, sleepItem, nullptr, 1),
               KVC_STATUS_INVALID_ARGUMENT, "a pointer that never was one");
  EXPECT_FAILS(kvc_stream_num_workers(foreign), 0,
               "a pointer that never was one");

  kvc_stream_t *stale;
  {
    OwnedStream stream(2);
    stale = stream;
  }
  OwnedStream newer(2); // must not be taken for the old one
  EXPECT_NE(newer.stream, stale);
  EXPECT_FAILS(api->parallel_for(stale, sleepItem, nullptr, 1),
               KVC_STATUS_INVALID_ARGUMENT,
               "expected a stream, got one that was released");
  kvc_stream_release(stale); // a message, not a crash
  kvc_stream_release(foreign);
  kvc_stream_release(nullptr);

  // A pool is not a stream, whatever a cast says.
  OwnedPool pool(4, 4);
  auto *cast = reinterpret_cast<kvc_stream_t *>(pool.pool);
  EXPECT_FAILS(kvc_stream_num_workers(cast), 0, "never was one");
}

static void releaseStream(const void *params, int64_t, int32_t) {
  kvc_stream_release(
      *static_cast<kvc_stream_t *const *>(params)); // twice is only a message
}

// A loop in flight outlives the release of its stream.
TEST(StreamTest, ReleaseInsideAKernel) {
  kvc_stream_t *stream = nullptr;
  ASSERT_OK(kvc_stream_create_cpu(3, &stream));
  EXPECT_OK(api->parallel_for(stream, releaseStream, &stream, 20));
  EXPECT_EQ(kvc_stream_num_workers(stream), 0);
}
