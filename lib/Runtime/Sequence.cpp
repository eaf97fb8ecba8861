//===- Sequence.cpp - the C interface of sequences ------------------------===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Checks the arguments and calls the pool, which does the work under its lock.
//===----------------------------------------------------------------------===//
#include "Pool.h"

#include <algorithm>

using namespace kvc::rt;

extern "C" {

kvc_status_t kvc_sequence_create(kvc_pool_t *pool,
                                 kvc_sequence_t *out_sequence) {
  return guarded("kvc_sequence_create", [&]() -> kvc_status_t {
    std::shared_ptr<Pool> object = getPools().find(pool);
    if (!object)
      return KVC_STATUS_INVALID_ARGUMENT;
    if (!out_sequence)
      return fail(KVC_STATUS_INVALID_ARGUMENT,
                  "expected out_sequence, got null");
    return object->createSequence(*out_sequence);
  });
}

kvc_status_t kvc_sequence_append(kvc_pool_t *pool, kvc_sequence_t sequence,
                                 int32_t num_tokens) {
  return guarded("kvc_sequence_append", [&]() -> kvc_status_t {
    std::shared_ptr<Pool> object = getPools().find(pool);
    if (!object)
      return KVC_STATUS_INVALID_ARGUMENT;
    return object->append(sequence, num_tokens);
  });
}

kvc_status_t kvc_sequence_free(kvc_pool_t *pool, kvc_sequence_t sequence) {
  return guarded("kvc_sequence_free", [&]() -> kvc_status_t {
    std::shared_ptr<Pool> object = getPools().find(pool);
    if (!object)
      return KVC_STATUS_INVALID_ARGUMENT;
    return object->freeSequence(sequence);
  });
}

kvc_status_t kvc_sequence_length(kvc_pool_t *pool, kvc_sequence_t sequence,
                                 int32_t *out_length) {
  return guarded("kvc_sequence_length", [&]() -> kvc_status_t {
    std::shared_ptr<Pool> object = getPools().find(pool);
    if (!object)
      return KVC_STATUS_INVALID_ARGUMENT;
    if (!out_length)
      return fail(KVC_STATUS_INVALID_ARGUMENT, "expected out_length, got null");
    std::lock_guard<std::mutex> lock(object->mutex);
    const Sequence *found = object->find(sequence);
    if (!found)
      return KVC_STATUS_NOT_FOUND;
    *out_length = found->length;
    return KVC_STATUS_OK;
  });
}

kvc_status_t kvc_sequence_pages(kvc_pool_t *pool, kvc_sequence_t sequence,
                                int32_t *out_pages, int32_t capacity,
                                int32_t *out_count) {
  return guarded("kvc_sequence_pages", [&]() -> kvc_status_t {
    std::shared_ptr<Pool> object = getPools().find(pool);
    if (!object)
      return KVC_STATUS_INVALID_ARGUMENT;
    if (!out_count)
      return fail(KVC_STATUS_INVALID_ARGUMENT, "expected out_count, got null");
    if (capacity < 0)
      return fail(KVC_STATUS_INVALID_ARGUMENT,
                  "expected a capacity of at least 0, got %d", capacity);
    if (!out_pages && capacity > 0)
      return fail(KVC_STATUS_INVALID_ARGUMENT,
                  "expected out_pages for a capacity of %d, got null",
                  capacity);
    std::lock_guard<std::mutex> lock(object->mutex);
    const Sequence *found = object->find(sequence);
    if (!found)
      return KVC_STATUS_NOT_FOUND;
    auto count = static_cast<int32_t>(found->pages.size());
    std::copy_n(found->pages.begin(), std::min(count, capacity), out_pages);
    *out_count = count;
    return KVC_STATUS_OK;
  });
}

} // extern "C"
