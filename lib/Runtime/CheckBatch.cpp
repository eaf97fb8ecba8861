//===- CheckBatch.cpp - checks of batches ---------------------------------===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The arrays of a batch, and the pages and slots that they name. These run at
// every call over every page id, so the common case is a loop without exits
// that compilers turn into vectors; the culprit is looked for afterwards.
//===----------------------------------------------------------------------===//
#include "CheckCall.h"
#include "Status.h"

#include <algorithm>
#include <array>
#include <cstdio>

using namespace kvc::rt;

using Long = long long; // what %lld takes

static kvc_status_t checkNotNegative(const ArgContext &context,
                                     const char *field, int64_t value) {
  if (value < 0)
    return context.fail(KVC_STATUS_INVALID_ARGUMENT,
                        "expected %s to be at least 0, got %lld", field,
                        Long{value});
  return KVC_STATUS_OK;
}

/// Checks an array of `count` elements for null; an empty one may be.
static kvc_status_t checkPresent(const ArgContext &context, const char *field,
                                 const void *array, int64_t count) {
  if (!array && count > 0)
    return context.fail(KVC_STATUS_INVALID_ARGUMENT,
                        "expected %s to have %lld elements, got null", field,
                        Long{count});
  return KVC_STATUS_OK;
}

kvc_status_t kvc::rt::checkBatchHeader(const ArgContext &context,
                                       const kvc_batch_t &batch) {
  if (batch.struct_size < sizeof(batch))
    return context.fail(KVC_STATUS_INVALID_ARGUMENT,
                        "expected a struct_size of a batch of at least %zu, "
                        "got %u",
                        sizeof(batch), batch.struct_size);
  KVC_RETURN_IF_FAILED(
      checkNotNegative(context, "num_sequences", batch.num_sequences));
  KVC_RETURN_IF_FAILED(
      checkNotNegative(context, "num_tokens", batch.num_tokens));
  KVC_RETURN_IF_FAILED(
      checkNotNegative(context, "max_query_len", batch.max_query_len));
  KVC_RETURN_IF_FAILED(
      checkNotNegative(context, "max_kv_len", batch.max_kv_len));
  return checkNotNegative(context, "num_page_ids", batch.num_page_ids);
}

kvc_status_t kvc::rt::checkBatchShape(const ArgContext &context,
                                      const kvc_batch_t &batch,
                                      uint32_t maxQueryLen) {
  KVC_RETURN_IF_FAILED(checkBatchHeader(context, batch));
  if (maxQueryLen != 0 &&
      static_cast<uint32_t>(batch.max_query_len) > maxQueryLen)
    return context.fail(KVC_STATUS_UNSUPPORTED,
                        "expected a max_query_len of at most %u, which the "
                        "function was compiled for, got %d",
                        maxQueryLen, batch.max_query_len);
  KVC_RETURN_IF_FAILED(checkPresent(context, "query_start", batch.query_start,
                                    int64_t{batch.num_sequences} + 1));
  KVC_RETURN_IF_FAILED(
      checkPresent(context, "kv_lens", batch.kv_lens, batch.num_sequences));
  KVC_RETURN_IF_FAILED(
      checkPresent(context, "page_ids", batch.page_ids, batch.num_page_ids));
  KVC_RETURN_IF_FAILED(
      checkPresent(context, "slots", batch.slots, batch.num_tokens));
  KVC_RETURN_IF_FAILED(
      checkPresent(context, "positions", batch.positions, batch.num_tokens));
  return batch.page_start
             ? kvc_status_t{KVC_STATUS_OK}
             : checkNotNegative(context, "page_stride", batch.page_stride);
}

//===----------------------------------------------------------------------===//
// Arrays
//===----------------------------------------------------------------------===//

static kvc_status_t checkQueryStart(const ArgContext &context,
                                    const kvc_batch_t &batch) {
  const int32_t *start = batch.query_start;
  int32_t count = batch.num_sequences;
  if (start[0] != 0)
    return context.fail(KVC_STATUS_INVALID_ARGUMENT,
                        "expected query_start[0] to be 0, got %d", start[0]);
  for (int32_t i = 0; i < count; ++i) {
    int64_t length = int64_t{start[i + 1]} - start[i];
    if (length < 0)
      return context.fail(KVC_STATUS_INVALID_ARGUMENT,
                          "expected query_start not to decrease, got %d after "
                          "%d at sequence %d",
                          start[i + 1], start[i], i);
    if (length > batch.max_query_len)
      return context.fail(KVC_STATUS_INVALID_ARGUMENT,
                          "expected at most max_query_len (%d) new tokens, got "
                          "%lld of sequence %d",
                          batch.max_query_len, Long{length}, i);
  }
  if (start[count] != batch.num_tokens)
    return context.fail(KVC_STATUS_INVALID_ARGUMENT,
                        "expected query_start to end at num_tokens (%d), got "
                        "%d",
                        batch.num_tokens, start[count]);
  return KVC_STATUS_OK;
}

static kvc_status_t checkPageStart(const ArgContext &context,
                                   const kvc_batch_t &batch) {
  const int32_t *start = batch.page_start;
  int32_t count = batch.num_sequences;
  if (start[0] < 0)
    return context.fail(KVC_STATUS_INVALID_ARGUMENT,
                        "expected page_start[0] to be at least 0, got %d",
                        start[0]);
  for (int32_t i = 0; i < count; ++i)
    if (start[i + 1] < start[i])
      return context.fail(KVC_STATUS_INVALID_ARGUMENT,
                          "expected page_start not to decrease, got %d after "
                          "%d at sequence %d",
                          start[i + 1], start[i], i);
  if (start[count] > batch.num_page_ids)
    return context.fail(KVC_STATUS_INVALID_ARGUMENT,
                        "expected page_start to end at num_page_ids (%lld) or "
                        "before, got %d",
                        Long{batch.num_page_ids}, start[count]);
  return KVC_STATUS_OK;
}

kvc_status_t kvc::rt::checkBatchArrays(const ArgContext &context,
                                       const kvc_batch_t &batch) {
  KVC_RETURN_IF_FAILED(checkQueryStart(context, batch));
  for (int32_t i = 0; i < batch.num_sequences; ++i)
    if (batch.kv_lens[i] < 0 || batch.kv_lens[i] > batch.max_kv_len)
      return context.fail(KVC_STATUS_INVALID_ARGUMENT,
                          "expected kv_lens[%d] from 0 to max_kv_len (%d), got "
                          "%d",
                          i, batch.max_kv_len, batch.kv_lens[i]);
  return batch.page_start ? checkPageStart(context, batch)
                          : kvc_status_t{KVC_STATUS_OK};
}

//===----------------------------------------------------------------------===//
// Pages and slots
//===----------------------------------------------------------------------===//

/// The cache in messages, such as "the cache in argument 3".
static std::array<char, 48> describe(const CacheArg &cache) {
  std::array<char, 48> text;
  if (cache.index == ArgContext::kMadeInside)
    std::snprintf(text.data(), text.size(), "its cache");
  else
    std::snprintf(text.data(), text.size(), "the cache in argument %u",
                  cache.index);
  return text;
}

/// Checks that ids[0] .. ids[count - 1] are pages of `cache`.
static kvc_status_t checkPageIds(const ArgContext &context, int32_t sequence,
                                 const int32_t *ids, int64_t count,
                                 const CacheArg &cache) {
  // Negative numbers become large ones.
  auto limit = static_cast<uint32_t>(
      std::min<int64_t>(cache.view->num_pages, int64_t{INT32_MAX} + 1));
  bool good = true;
  for (int64_t i = 0; i < count; ++i)
    good &= static_cast<uint32_t>(ids[i]) < limit;
  if (good)
    return KVC_STATUS_OK;
  int64_t culprit = 0;
  while (static_cast<uint32_t>(ids[culprit]) < limit)
    ++culprit;
  return context.fail(
      KVC_STATUS_INVALID_ARGUMENT,
      "expected the %lld pages of sequence %d from 0 to below the "
      "%lld pages of %s, got %d for page %lld",
      Long{count}, sequence, Long{cache.view->num_pages},
      describe(cache).data(), ids[culprit], Long{culprit});
}

static kvc_status_t checkPages(const ArgContext &context,
                               const kvc_batch_t &batch,
                               const CacheArg &cache) {
  int64_t pageSize = cache.type->page_size;
  for (int32_t i = 0; i < batch.num_sequences; ++i) {
    int64_t wanted = (batch.kv_lens[i] + pageSize - 1) / pageSize;
    if (wanted == 0)
      continue;
    int64_t first, available;
    if (batch.page_start) {
      first = batch.page_start[i];
      available = batch.page_start[i + 1] - first;
    } else {
      // The last row may be cut short, and a row past the end has nothing.
      if (__builtin_mul_overflow(int64_t{i}, batch.page_stride, &first))
        first = batch.num_page_ids;
      available = std::min(batch.page_stride, batch.num_page_ids - first);
    }
    if (wanted > available)
      return context.fail(KVC_STATUS_INVALID_ARGUMENT,
                          "expected %lld page ids for the %d tokens of "
                          "sequence %d at page size %lld, got %lld",
                          Long{wanted}, batch.kv_lens[i], i, Long{pageSize},
                          Long{std::max<int64_t>(available, 0)});
    KVC_RETURN_IF_FAILED(
        checkPageIds(context, i, batch.page_ids + first, wanted, cache));
  }
  return KVC_STATUS_OK;
}

static kvc_status_t checkSlots(const ArgContext &context,
                               const kvc_batch_t &batch,
                               const CacheArg &cache) {
  int64_t numSlots;
  if (__builtin_mul_overflow(cache.view->num_pages,
                             int64_t{cache.type->page_size}, &numSlots))
    numSlots = INT64_MAX;
  auto limit = static_cast<uint64_t>(numSlots);
  for (int32_t i = 0; i < batch.num_tokens; ++i)
    if (static_cast<uint64_t>(batch.slots[i]) + 1 > limit)
      return context.fail(KVC_STATUS_INVALID_ARGUMENT,
                          "expected slots[%d] to be below the %lld slots of "
                          "%s, or -1, got %lld",
                          i, Long{numSlots}, describe(cache).data(),
                          Long{batch.slots[i]});
  return KVC_STATUS_OK;
}

kvc_status_t kvc::rt::checkBatchInCache(const ArgContext &context,
                                        const kvc_batch_t &batch,
                                        const CacheArg &cache) {
  KVC_RETURN_IF_FAILED(checkPages(context, batch, cache));
  return checkSlots(context, batch, cache);
}
