//===- SequenceTest.cpp - sequences and their pages -----------------------===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//
//===----------------------------------------------------------------------===//
#include "RuntimeTest.h"

#include <algorithm>
#include <climits>
#include <numeric>
#include <thread>

TEST(SequenceTest, AppendTakesPagesAsNeeded) {
  OwnedPool pool(4, 8);
  kvc_sequence_t sequence = pool.createSequence();
  EXPECT_NE(sequence, 0u);
  EXPECT_EQ(pool.getLength(sequence), 0);
  EXPECT_TRUE(pool.getPages(sequence).empty());
  const struct {
    int32_t tokens, length;
    size_t pages;
  } steps[] = {{0, 0, 0}, {1, 1, 1},   {3, 4, 1},  {0, 4, 1},
               {1, 5, 2}, {11, 16, 4}, {16, 32, 8}};
  for (const auto &step : steps) {
    EXPECT_OK(kvc_sequence_append(pool, sequence, step.tokens));
    EXPECT_EQ(pool.getLength(sequence), step.length);
    EXPECT_EQ(pool.getPages(sequence).size(), step.pages);
    kvc_pool_stats_t stats = pool.getStats();
    EXPECT_EQ(stats.struct_size, sizeof(stats));
    EXPECT_EQ(stats.total_pages, 8);
    EXPECT_EQ(stats.used_pages, static_cast<int64_t>(step.pages));
    EXPECT_EQ(stats.free_pages, 8 - stats.used_pages);
    EXPECT_EQ(stats.used_tokens, step.length);
  }
  EXPECT_OK(kvc_sequence_free(pool, sequence));
  EXPECT_EQ(pool.getStats().free_pages, 8);
  EXPECT_EQ(pool.getStats().used_tokens, 0);
}

TEST(SequenceTest, AppendIsAllOrNothing) {
  OwnedPool pool(4, 3);
  kvc_sequence_t a = pool.createSequence(5);
  kvc_sequence_t b = pool.createSequence(4);
  std::vector<int32_t> pages = pool.getPages(a);
  EXPECT_FAILS(kvc_sequence_append(pool, a, 4), KVC_STATUS_OUT_OF_MEMORY,
               "appending 4 tokens needs 1 more pages, but only 0 of 3 are "
               "free");
  EXPECT_FAILS(kvc_sequence_append(pool, b, 9), KVC_STATUS_OUT_OF_MEMORY,
               "appending 9 tokens needs 3 more pages, but only 0 of 3 are "
               "free");
  EXPECT_EQ(pool.getLength(a), 5);
  EXPECT_EQ(pool.getPages(a), pages);
  EXPECT_EQ(pool.getStats().used_tokens, 9);
  EXPECT_OK(kvc_sequence_append(pool, a, 3)); // the tail of the last page
  EXPECT_OK(kvc_sequence_free(pool, b));
  EXPECT_OK(kvc_sequence_append(pool, a, 4));
  EXPECT_EQ(pool.getStats().free_pages, 0);
}

TEST(SequenceTest, LengthsThatOverflow) {
  kvc_cache_type_t type = makeKeyValueType(INT_MAX, KVC_DTYPE_F16);
  OwnedPool pool(type, makePoolOptions(2));
  kvc_sequence_t sequence = pool.createSequence(INT_MAX);
  EXPECT_EQ(pool.getLength(sequence), INT_MAX);
  EXPECT_FAILS(kvc_sequence_append(pool, sequence, 1),
               KVC_STATUS_INVALID_ARGUMENT,
               "expected a sequence of at most 2147483647 tokens, got "
               "2147483647 + 1");
  EXPECT_FAILS(kvc_sequence_append(pool, sequence, INT_MAX),
               KVC_STATUS_INVALID_ARGUMENT, "expected a sequence of at most");
  EXPECT_EQ(pool.getLength(sequence), INT_MAX);
}

TEST(SequenceTest, WrongArguments) {
  OwnedPool pool(4, 8);
  kvc_sequence_t sequence = pool.createSequence(9);
  int32_t pages[4] = {-7, -7, -7, -7}, count = -7;
  EXPECT_FAILS(kvc_sequence_append(pool, sequence, -1),
               KVC_STATUS_INVALID_ARGUMENT,
               "expected at least 0 tokens, got -1");
  EXPECT_FAILS(kvc_sequence_create(pool, nullptr), KVC_STATUS_INVALID_ARGUMENT,
               "expected out_sequence, got null");
  EXPECT_FAILS(kvc_sequence_length(pool, sequence, nullptr),
               KVC_STATUS_INVALID_ARGUMENT, "expected out_length, got null");
  EXPECT_FAILS(kvc_sequence_pages(pool, sequence, pages, 4, nullptr),
               KVC_STATUS_INVALID_ARGUMENT, "expected out_count, got null");
  EXPECT_FAILS(kvc_sequence_pages(pool, sequence, pages, -1, &count),
               KVC_STATUS_INVALID_ARGUMENT,
               "expected a capacity of at least 0, got -1");
  EXPECT_FAILS(kvc_sequence_pages(pool, sequence, nullptr, 2, &count),
               KVC_STATUS_INVALID_ARGUMENT,
               "expected out_pages for a capacity of 2, got null");
  EXPECT_EQ(count, -7);
  // A short buffer gets what fits, and the whole count.
  EXPECT_OK(kvc_sequence_pages(pool, sequence, pages, 2, &count));
  EXPECT_EQ(count, 3);
  EXPECT_TRUE(pages[0] == 0 && pages[1] == 1 && pages[2] == -7);
}

TEST(SequenceTest, StaleAndForeignHandles) {
  OwnedPool pool(4, 8), other(4, 8);
  kvc_sequence_t sequence = pool.createSequence(1);
  kvc_sequence_t foreign = other.createSequence(1);
  kvc_sequence_t stale = pool.createSequence(1);
  EXPECT_OK(kvc_sequence_free(pool, stale));
  kvc_sequence_t newer = pool.createSequence();
  EXPECT_NE(newer, stale);
  int32_t value = -7;
  EXPECT_FAILS(kvc_sequence_free(pool, stale), KVC_STATUS_NOT_FOUND,
               "which was freed");
  EXPECT_FAILS(kvc_sequence_append(pool, stale, 1), KVC_STATUS_NOT_FOUND,
               "which was freed");
  EXPECT_FAILS(kvc_sequence_length(pool, foreign, &value), KVC_STATUS_NOT_FOUND,
               "expected a sequence of this pool");
  EXPECT_FAILS(kvc_sequence_pages(pool, foreign, nullptr, 0, &value),
               KVC_STATUS_NOT_FOUND, "which is not");
  EXPECT_FAILS(kvc_sequence_free(pool, 0), KVC_STATUS_NOT_FOUND,
               "which is not");
  EXPECT_FAILS(kvc_sequence_free(pool, newer + 1), KVC_STATUS_NOT_FOUND,
               "which never was one");
  EXPECT_FAILS(kvc_sequence_free(nullptr, sequence),
               KVC_STATUS_INVALID_ARGUMENT, "expected a pool, got null");
  EXPECT_EQ(value, -7);
  EXPECT_EQ(pool.getStats().used_tokens, 1);
}

//===----------------------------------------------------------------------===//
// The order of the pages
//===----------------------------------------------------------------------===//

static std::vector<int32_t> drawPages(uint64_t seed, int32_t count) {
  kvc_pool_options_t options = makePoolOptions(count);
  options.page_order_seed = seed;
  OwnedPool pool(makeKeyValueType(1), options);
  return pool.getPages(pool.createSequence(count));
}

TEST(SequenceTest, PagesComeInOrderWithoutASeed) {
  std::vector<int32_t> expected(100);
  std::iota(expected.begin(), expected.end(), 0);
  EXPECT_EQ(drawPages(0, 100), expected);
  // Freed pages come back in the order in which their sequence had them.
  OwnedPool pool(1, 100);
  kvc_sequence_t a = pool.createSequence(3), b = pool.createSequence(2);
  EXPECT_OK(kvc_sequence_free(pool, a));
  EXPECT_EQ(pool.getPages(pool.createSequence(4)),
            (std::vector<int32_t>{0, 1, 2, 5}));
  EXPECT_EQ(pool.getPages(b), (std::vector<int32_t>{3, 4}));
}

TEST(SequenceTest, SeedShufflesThePages) {
  std::vector<int32_t> first = drawPages(1, 1000);
  EXPECT_EQ(first, drawPages(1, 1000));
  EXPECT_NE(first, drawPages(2, 1000));
  EXPECT_NE(first, drawPages(0, 1000));
  // Few pages stay where they were, and few follow their neighbour.
  int numFixed = 0, numFollowing = 0;
  for (int32_t i = 0; i < 1000; ++i) {
    numFixed += first[i] == i;
    numFollowing += i > 0 && first[i] == first[i - 1] + 1;
  }
  EXPECT_LT(numFixed, 10);
  EXPECT_LT(numFollowing, 10);
  std::sort(first.begin(), first.end());
  EXPECT_EQ(first, drawPages(0, 1000));
}

//===----------------------------------------------------------------------===//
// Threads
//===----------------------------------------------------------------------===//

// Threads that share a pool: every page has one owner throughout, and the pool
// adds up in the end.
TEST(SequenceTest, ThreadsShareAPool) {
  OwnedPool pool(2, 64);
  auto body = [&pool](uint32_t seed) {
    uint32_t state = seed;
    for (int round = 0; round < 2000; ++round) {
      state = state * 1664525u + 1013904223u;
      kvc_sequence_t sequence = 0;
      ASSERT_OK(kvc_sequence_create(pool, &sequence));
      kvc_status_t status =
          kvc_sequence_append(pool, sequence, (state >> 16) % 60);
      ASSERT_TRUE(status == KVC_STATUS_OK ||
                  status == KVC_STATUS_OUT_OF_MEMORY);
      int32_t zero = 0;
      kvc_batch_object_t *batch = nullptr;
      ASSERT_OK(kvc_batch_create(pool, &sequence, &zero, 1, &batch));
      const kvc_batch_t *view = kvc_batch_view(batch);
      // Each thread marks its pages and finds its mark again.
      auto *data = static_cast<float *>(pool.getView().components[0].data);
      int64_t stride = pool.getView().components[0].page_stride;
      for (int64_t i = 0; i < view->num_page_ids; ++i)
        data[view->page_ids[i] * stride] = static_cast<float>(seed);
      std::this_thread::yield();
      for (int64_t i = 0; i < view->num_page_ids; ++i)
        ASSERT_EQ(data[view->page_ids[i] * stride], static_cast<float>(seed));
      kvc_batch_release(batch);
      kvc_pool_stats_t stats = pool.getStats();
      ASSERT_EQ(stats.free_pages + stats.used_pages, 64);
      ASSERT_OK(kvc_sequence_free(pool, sequence));
    }
  };
  std::thread a(body, 1), b(body, 2);
  body(3);
  a.join();
  b.join();
  EXPECT_EQ(pool.getStats().free_pages, 64);
  EXPECT_EQ(pool.getStats().used_tokens, 0);
}
