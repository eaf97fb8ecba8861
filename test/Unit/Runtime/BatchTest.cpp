//===- BatchTest.cpp - snapshots of sequences -----------------------------===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//
//===----------------------------------------------------------------------===//
#include "RuntimeTest.h"

template <typename T>
static std::vector<T> toVector(const T *data, int64_t n) {
  return std::vector<T>(data, data + n);
}

// Three sequences over shuffled pages, computed by hand: page size 4; the
// sequence of 6 tokens has 2 pages, the one of 9 has 3, the empty one none.
TEST(BatchTest, SnapshotOfThreeSequences) {
  OwnedPool pool(4, 8);
  kvc_sequence_t a = pool.createSequence(4); // page 0
  kvc_sequence_t b = pool.createSequence(9); // pages 1 2 3
  kvc_sequence_t c = pool.createSequence();
  EXPECT_OK(kvc_sequence_append(pool, a, 2)); // page 4
  const kvc_sequence_t sequences[] = {b, c, a};
  const int32_t queryLens[] = {2, 0, 3};
  kvc_batch_object_t *batch = nullptr;
  ASSERT_OK(kvc_batch_create(pool, sequences, queryLens, 3, &batch));
  const kvc_batch_t *view = kvc_batch_view(batch);
  ASSERT_NE(view, nullptr);

  // The batch is a snapshot, and outlives even its pool.
  EXPECT_OK(kvc_sequence_append(pool, b, 4));
  EXPECT_OK(kvc_sequence_free(pool, a));
  kvc_pool_release(pool.pool);
  pool.pool = nullptr;

  EXPECT_EQ(view->struct_size, sizeof(*view));
  EXPECT_EQ(view->num_sequences, 3);
  EXPECT_EQ(view->num_tokens, 5);
  EXPECT_EQ(view->max_query_len, 3);
  EXPECT_EQ(view->max_kv_len, 9);
  EXPECT_EQ(view->page_stride, 0);
  EXPECT_EQ(toVector(view->query_start, 4), (std::vector<int32_t>{0, 2, 2, 5}));
  EXPECT_EQ(toVector(view->kv_lens, 3), (std::vector<int32_t>{9, 0, 6}));
  EXPECT_EQ(toVector(view->page_start, 4), (std::vector<int32_t>{0, 3, 3, 5}));
  EXPECT_EQ(toVector(view->page_ids, view->num_page_ids),
            (std::vector<int32_t>{1, 2, 3, 0, 4}));
  // b: tokens 7 and 8: page 2 offset 3, page 3 offset 0.
  // a: tokens 3, 4, 5: page 0 offset 3, page 4 offsets 0 and 1.
  EXPECT_EQ(toVector(view->slots, 5),
            (std::vector<int64_t>{11, 12, 3, 16, 17}));
  EXPECT_EQ(toVector(view->positions, 5),
            (std::vector<int32_t>{7, 8, 3, 4, 5}));
  kvc_batch_release(batch);
}

TEST(BatchTest, EmptyBatch) {
  OwnedPool pool(4, 8);
  kvc_batch_object_t *batch = nullptr;
  ASSERT_OK(kvc_batch_create(pool, nullptr, nullptr, 0, &batch));
  const kvc_batch_t *view = kvc_batch_view(batch);
  EXPECT_EQ(view->num_sequences, 0);
  EXPECT_EQ(view->num_tokens, 0);
  EXPECT_EQ(view->num_page_ids, 0);
  ASSERT_NE(view->query_start, nullptr);
  EXPECT_EQ(view->query_start[0], 0);
  EXPECT_EQ(view->page_start[0], 0);
  kvc_batch_release(batch);
}

TEST(BatchTest, WrongArguments) {
  OwnedPool pool(4, 8), other(4, 8);
  kvc_sequence_t good = pool.createSequence(5);
  kvc_sequence_t foreign = other.createSequence(5);
  kvc_sequence_t stale = pool.createSequence(1);
  EXPECT_OK(kvc_sequence_free(pool, stale));
  kvc_batch_object_t *batch = nullptr;
  const kvc_sequence_t twice[] = {good, good};
  const int32_t lens[] = {1, 1};
  EXPECT_FAILS(kvc_batch_create(pool, twice, lens, 2, &batch),
               KVC_STATUS_INVALID_ARGUMENT, "expected each sequence once");
  EXPECT_FAILS(kvc_batch_create(pool, &foreign, lens, 1, &batch),
               KVC_STATUS_NOT_FOUND, "expected a sequence of this pool");
  EXPECT_FAILS(kvc_batch_create(pool, &stale, lens, 1, &batch),
               KVC_STATUS_NOT_FOUND, "which was freed");
  for (int32_t len : {-1, 6}) {
    std::string text =
        "sequence 0: expected 0 to 5 new tokens, got " + std::to_string(len);
    EXPECT_FAILS(kvc_batch_create(pool, &good, &len, 1, &batch),
                 KVC_STATUS_INVALID_ARGUMENT, text);
  }
  EXPECT_FAILS(kvc_batch_create(pool, nullptr, lens, 1, &batch),
               KVC_STATUS_INVALID_ARGUMENT,
               "expected sequences for 1 sequences, got null");
  EXPECT_FAILS(kvc_batch_create(pool, &good, nullptr, 1, &batch),
               KVC_STATUS_INVALID_ARGUMENT,
               "expected query_lens for 1 sequences, got null");
  EXPECT_FAILS(kvc_batch_create(pool, &good, lens, -1, &batch),
               KVC_STATUS_INVALID_ARGUMENT,
               "expected num_sequences to be at least 0, got -1");
  EXPECT_FAILS(kvc_batch_create(pool, &good, lens, 1, nullptr),
               KVC_STATUS_INVALID_ARGUMENT, "expected out_batch, got null");
  EXPECT_FAILS(kvc_batch_create(nullptr, &good, lens, 1, &batch),
               KVC_STATUS_INVALID_ARGUMENT, "expected a pool, got null");
  EXPECT_EQ(batch, nullptr);
}

TEST(BatchTest, WrongHandles) {
  OwnedPool pool(4, 8);
  kvc_batch_object_t *batch = nullptr;
  ASSERT_OK(kvc_batch_create(pool, nullptr, nullptr, 0, &batch));
  kvc_batch_release(batch);
  EXPECT_FAILS(kvc_batch_view(batch), nullptr,
               "expected a batch, got one that was released");
  EXPECT_FAILS(kvc_batch_view(nullptr), nullptr, "expected a batch, got null");
  kvc_batch_release(batch);
  kvc_batch_release(nullptr);
}
