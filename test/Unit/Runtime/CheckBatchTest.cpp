//===- CheckBatchTest.cpp - checks of batches -----------------------------===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//
//===----------------------------------------------------------------------===//
#include "FakeProgram.h"
#include "RuntimeTest.h"

#include <climits>
#include <optional>
#include <utility>

namespace {
/// A good call with a batch of three sequences of 9, 0 and 4 tokens, of which
/// 2, 0 and 1 are new, and caches of page sizes 4 and 2; each test spoils it.
class CheckBatchTest : public testing::Test {
protected:
  CheckBatchTest() {
    uint32_t four = fake.addCacheType(makeKeyValueType(4));
    uint32_t two = fake.addCacheType(makeKeyValueType(2));
    fake.addFunction("both",
                     {makeTensorArg(KVC_DTYPE_F32, {KVC_DYNAMIC}, true),
                      makeBatchArg(), makeCacheArg(four), makeCacheArg(two)});
    fake.addFunction("none", {makeTensorArg(KVC_DTYPE_F32, {KVC_DYNAMIC}, true),
                              makeBatchArg()});
    fake.addFunction("two",
                     {makeTensorArg(KVC_DTYPE_F32, {KVC_DYNAMIC}, true),
                      makeBatchArg(), makeBatchArg(), makeCacheArg(four)});
    fake.build();
    EXPECT_OK(fake.load(&program));
    rows = makeTensor(data, KVC_DTYPE_F32, {3});
    fourPool.emplace(4, 10);
    twoPool.emplace(2, 20);
    fourView = fourPool->getView();
    twoView = twoPool->getView();
    batch.struct_size = sizeof(batch);
    batch.num_sequences = 3;
    batch.num_tokens = 3;
    batch.max_query_len = 2;
    batch.max_kv_len = 9;
    batch.query_start = queryStart;
    batch.kv_lens = kvLens;
    batch.page_ids = pageIds;
    batch.page_start = pageStart;
    batch.num_page_ids = 8;
    batch.slots = slots;
    batch.positions = positions;
    args = {&rows, &batch, &fourView, &twoView};
  }

  kvc_status_t check(uint32_t function = 0) {
    const uint32_t counts[] = {4, 2, 4};
    kvc_call_t call = {sizeof(call), counts[function], args.data(), nullptr, 0};
    return kvc_runtime_api()->check_call(program, function, &call);
  }
  void expectInvalid(const std::string &text, uint32_t argument = 1) {
    EXPECT_FAILS(check(), KVC_STATUS_INVALID_ARGUMENT,
                 "function 'both', argument " + std::to_string(argument) +
                     ": " + text);
  }
  /// The same batch as a padded block table with rows of `stride` pages.
  void usePaddedTable(int64_t stride, int64_t numPageIds) {
    batch.page_start = nullptr;
    batch.page_stride = stride;
    batch.num_page_ids = numPageIds;
    batch.page_ids = padded;
  }

  FakeProgram fake;
  const kvc_program_t *program = nullptr;
  float data[8] = {};
  kvc_tensor_t rows;
  std::optional<OwnedPool> fourPool, twoPool;
  kvc_cache_view_t fourView, twoView;
  int32_t queryStart[4] = {0, 2, 2, 3};
  int32_t kvLens[3] = {9, 0, 4};
  int32_t pageIds[8] = {9, 0, 1, 2, 3, 4, 7, 6}; // 5 at page size 2, then 2
  int32_t pageStart[4] = {0, 5, 6, 8};
  int32_t padded[15] = {9,  0,  1,  2,  3,  //
                        99, 99, 99, 99, 99, //
                        7,  6,  99, 99, 99};
  int64_t slots[3] = {-1, 39, 0};
  int32_t positions[3] = {7, 8, 3};
  kvc_batch_t batch = {};
  std::vector<const void *> args;
};
} // namespace

TEST_F(CheckBatchTest, GoodBatches) {
  EXPECT_OK(check());
  usePaddedTable(5, 15);
  EXPECT_OK(check());
  batch.num_page_ids = 12; // the last row may be cut short
  EXPECT_OK(check());
}

TEST_F(CheckBatchTest, MaxQueryLen) {
  fake.function(0).max_query_len = 2;
  EXPECT_OK(check());
  batch.max_query_len = 3;
  EXPECT_FAILS(check(), KVC_STATUS_UNSUPPORTED,
               "function 'both', argument 1: expected a max_query_len of at "
               "most 2, which the function was compiled for, got 3");
  EXPECT_FAILS(
      kvc_runtime_api()->check_batch(program, 0, &batch, nullptr, 0),
      KVC_STATUS_UNSUPPORTED,
      "function 'both', batch made inside: expected a max_query_len of at most "
      "2, which the function was compiled for, got 3");
  EXPECT_OK(check(1)); // that function takes any
}

// The arrays of a program with images are not the host's to read.
TEST_F(CheckBatchTest, ArraysOfADevice) {
  fake.blob().num_images = 1;
  auto *nowhere = reinterpret_cast<const int32_t *>(uintptr_t{64});
  batch.query_start = batch.kv_lens = batch.page_ids = batch.page_start =
      batch.positions = nowhere;
  batch.slots = reinterpret_cast<const int64_t *>(nowhere);
  rows.data = const_cast<int32_t *>(nowhere);
  EXPECT_OK(check());
  const kvc_rt_api_t *api = kvc_runtime_api();
  EXPECT_OK(api->check_batch(program, 0, &batch, &fourView, 4));
  EXPECT_FAILS(api->check_batch(program, 0, &batch, &fourView, 0),
               KVC_STATUS_INVALID_ARGUMENT,
               "expected a page size of at least 1, got 0");
  // Everything else is checked as ever.
  batch.slots = nullptr;
  expectInvalid("expected slots to have 3 elements, got null");
  EXPECT_FAILS(api->check_batch(program, 0, &batch, &fourView, 4),
               KVC_STATUS_INVALID_ARGUMENT,
               "expected slots to have 3 elements, got null");
  batch.slots = reinterpret_cast<const int64_t *>(nowhere);
  batch.num_page_ids = -1;
  expectInvalid("expected num_page_ids to be at least 0, got -1");
  batch.num_page_ids = 8;
  batch.page_start = nullptr;
  batch.page_stride = -1;
  expectInvalid("expected page_stride to be at least 0, got -1");
  batch.page_stride = 8;
  rows.shape[0] = 4;
  expectInvalid("expected a row for each of the 3 tokens of the batch", 0);
  rows.shape[0] = 3;
  fourView.components[0].data = nullptr;
  expectInvalid("component 'k': expected data of 10 pages, got null", 2);
}

TEST_F(CheckBatchTest, Header) {
  batch.struct_size = 80;
  expectInvalid("expected a struct_size of a batch of at least 88, got 80");
  batch.struct_size = sizeof(batch);
  const struct {
    int32_t kvc_batch_t::*field;
    const char *name;
  } fields[] = {{&kvc_batch_t::num_sequences, "num_sequences"},
                {&kvc_batch_t::num_tokens, "num_tokens"},
                {&kvc_batch_t::max_query_len, "max_query_len"},
                {&kvc_batch_t::max_kv_len, "max_kv_len"}};
  for (const auto &field : fields) {
    int32_t saved = std::exchange(batch.*field.field, -1);
    expectInvalid(std::string("expected ") + field.name +
                  " to be at least 0, got -1");
    batch.*field.field = saved;
  }
  batch.num_page_ids = -1;
  expectInvalid("expected num_page_ids to be at least 0, got -1");
}

TEST_F(CheckBatchTest, NullArrays) {
  batch.query_start = nullptr;
  expectInvalid("expected query_start to have 4 elements, got null");
  batch.query_start = queryStart;
  batch.kv_lens = nullptr;
  expectInvalid("expected kv_lens to have 3 elements, got null");
  batch.kv_lens = kvLens;
  batch.page_ids = nullptr;
  expectInvalid("expected page_ids to have 8 elements, got null");
  batch.page_ids = pageIds;
  batch.slots = nullptr;
  expectInvalid("expected slots to have 3 elements, got null");
  batch.slots = slots;
  batch.positions = nullptr;
  expectInvalid("expected positions to have 3 elements, got null");
}

TEST_F(CheckBatchTest, EmptyBatch) {
  batch = {};
  batch.struct_size = sizeof(batch);
  batch.query_start = queryStart;
  rows.shape[0] = 0;
  EXPECT_OK(check());
}

TEST_F(CheckBatchTest, QueryStart) {
  queryStart[0] = 1;
  expectInvalid("expected query_start[0] to be 0, got 1");
  queryStart[0] = 0;
  queryStart[2] = 1;
  expectInvalid(
      "expected query_start not to decrease, got 1 after 2 at sequence 1");
  queryStart[2] = INT_MIN;
  expectInvalid("expected query_start not to decrease");
  queryStart[2] = 2;
  queryStart[3] = 4;
  expectInvalid("expected query_start to end at num_tokens (3), got 4");
  queryStart[3] = 3;
  batch.max_query_len = 1;
  expectInvalid("expected at most max_query_len (1) new tokens, got 2 of "
                "sequence 0");
}

TEST_F(CheckBatchTest, Lengths) {
  kvLens[1] = -1;
  expectInvalid("expected kv_lens[1] from 0 to max_kv_len (9), got -1");
  kvLens[1] = 10;
  expectInvalid("expected kv_lens[1] from 0 to max_kv_len (9), got 10");
  // More new tokens than keys are fine: the first see no key.
  kvLens[1] = 0;
  kvLens[0] = 1;
  EXPECT_OK(check());
}

TEST_F(CheckBatchTest, PageStart) {
  pageStart[0] = -1;
  expectInvalid("expected page_start[0] to be at least 0, got -1");
  pageStart[0] = 0;
  pageStart[2] = 4;
  expectInvalid(
      "expected page_start not to decrease, got 4 after 5 at sequence 1");
  pageStart[2] = 6;
  batch.num_page_ids = 7;
  expectInvalid(
      "expected page_start to end at num_page_ids (7) or before, got 8");
}

TEST_F(CheckBatchTest, TooFewPages) {
  pageStart[1] = 4; // enough at page size 4, not at 2
  expectInvalid("expected 5 page ids for the 9 tokens of sequence 0 at page "
                "size 2, got 4");
  pageStart[1] = 2;
  expectInvalid("expected 3 page ids for the 9 tokens of sequence 0 at page "
                "size 4, got 2");
  usePaddedTable(5, 11);
  expectInvalid("expected 2 page ids for the 4 tokens of sequence 2 at page "
                "size 2, got 1");
  usePaddedTable(4, 15);
  padded[8] = 5; // where the last row starts now
  expectInvalid("expected 5 page ids for the 9 tokens of sequence 0 at page "
                "size 2, got 4");
  usePaddedTable(5, 5);
  expectInvalid("expected 1 page ids for the 4 tokens of sequence 2 at page "
                "size 4, got 0");
  usePaddedTable(INT64_MAX, 15);
  expectInvalid("expected 1 page ids for the 4 tokens of sequence 2 at page "
                "size 4, got 0");
  usePaddedTable(-1, 15);
  expectInvalid("expected page_stride to be at least 0, got -1");
}

TEST_F(CheckBatchTest, PageIds) {
  for (int32_t id : {10, -1, -2, INT_MAX, INT_MIN}) {
    pageIds[2] = id;
    expectInvalid(
        "expected the 3 pages of sequence 0 from 0 to below the 10 pages "
        "of the cache in argument 2, got " +
        std::to_string(id) + " for page 2");
  }
  pageIds[2] = 9;
  EXPECT_OK(check());
  pageIds[4] = 20; // only the cache of page size 2 reads it
  expectInvalid(
      "expected the 5 pages of sequence 0 from 0 to below the 20 pages "
      "of the cache in argument 3, got 20 for page 4");
  pageIds[4] = 19;
  pageIds[5] = 12345; // nobody reads it
  EXPECT_OK(check());
  usePaddedTable(5, 15);
  padded[11] = 50;
  expectInvalid(
      "expected the 2 pages of sequence 2 from 0 to below the 20 pages "
      "of the cache in argument 3, got 50 for page 1");
}

TEST_F(CheckBatchTest, Slots) {
  // Both pools have 40 slots.
  for (int64_t slot : {int64_t{40}, int64_t{-2}, INT64_MAX, INT64_MIN}) {
    slots[1] = slot;
    expectInvalid("expected slots[1] to be below the 40 slots of the cache in "
                  "argument 2, or -1, got " +
                  std::to_string(slot));
  }
  slots[1] = 39;
  twoView.num_pages = 19;
  expectInvalid("expected slots[1] to be below the 38 slots of the cache in "
                "argument 3, or -1, got 39");
}

TEST_F(CheckBatchTest, Rows) {
  rows.shape[0] = 4;
  expectInvalid("expected a row for each of the 3 tokens of the batch in "
                "argument 1, got 4",
                0);
}

// Without a cache no page table is needed.
TEST_F(CheckBatchTest, WithoutCaches) {
  batch.page_ids = nullptr;
  batch.num_page_ids = 0;
  batch.page_start = nullptr;
  slots[0] = INT64_MAX;
  EXPECT_OK(check(1));
}

// Two batches are checked one by one; rows then belong to neither.
TEST_F(CheckBatchTest, TwoBatches) {
  kvc_batch_t second = batch;
  int32_t otherLens[3] = {9, 0, 4};
  second.kv_lens = otherLens;
  rows.shape[0] = 5;
  args = {&rows, &batch, &second, &fourView};
  EXPECT_OK(check(2));
  otherLens[2] = 9;
  EXPECT_FAILS(check(2), KVC_STATUS_INVALID_ARGUMENT,
               "argument 2: expected 3 page ids for the 9 tokens of sequence "
               "2 at page size 4, got 2");
}

// A batch that a function makes itself is checked in the same way.
TEST_F(CheckBatchTest, MadeInside) {
  const kvc_rt_api_t *api = kvc_runtime_api();
  EXPECT_OK(api->check_batch(program, 0, &batch, nullptr, 0));
  EXPECT_OK(api->check_batch(program, 0, &batch, &fourView, 4));
  EXPECT_FAILS(api->check_batch(program, 0, nullptr, nullptr, 0),
               KVC_STATUS_INVALID_ARGUMENT,
               "function 'both', batch made inside: expected a batch, got "
               "null");
  EXPECT_FAILS(api->check_batch(program, 0, &batch, &fourView, 0),
               KVC_STATUS_INVALID_ARGUMENT,
               "expected a page size of at least 1, got 0");
  EXPECT_FAILS(api->check_batch(program, 9, &batch, nullptr, 0),
               KVC_STATUS_NOT_FOUND, "expected a function below 3");
  slots[0] = 40;
  EXPECT_OK(api->check_batch(program, 0, &batch, nullptr, 0));
  EXPECT_FAILS(api->check_batch(program, 0, &batch, &fourView, 4),
               KVC_STATUS_INVALID_ARGUMENT,
               "batch made inside: expected slots[0] to be below the 40 slots "
               "of its cache, or -1, got 40");
  pageIds[1] = 10;
  EXPECT_FAILS(
      api->check_batch(program, 0, &batch, &fourView, 4),
      KVC_STATUS_INVALID_ARGUMENT,
      "expected the 3 pages of sequence 0 from 0 to below the 10 pages of "
      "its cache, got 10 for page 1");
  kvLens[0] = 77;
  EXPECT_FAILS(api->check_batch(program, 0, &batch, nullptr, 0),
               KVC_STATUS_INVALID_ARGUMENT,
               "batch made inside: expected kv_lens[0] from 0 to max_kv_len");
}
