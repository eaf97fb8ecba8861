//===- Batch.cpp - batches ------------------------------------------------===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A batch is a snapshot: it owns its arrays, and nothing of the pool. For a
// device it has them twice, there and on the host.
//===----------------------------------------------------------------------===//
#include "Pool.h"

#include <algorithm>
#include <unordered_set>

using namespace kvc::rt;

namespace {
/// The arrays that a kvc_batch_t points to.
struct Batch {
  Batch() = default;
  ~Batch() {
    if (device)
      device->giveBlock(block);
  }
  Batch(const Batch &) = delete;
  Batch &operator=(const Batch &) = delete;

  std::vector<int32_t> queryStart{0};
  std::vector<int32_t> kvLens;
  std::vector<int32_t> pageIds;
  std::vector<int32_t> pageStart{0};
  std::vector<int64_t> slots;
  std::vector<int32_t> positions;
  kvc_batch_t hostView{};
  kvc_batch_t view{}; ///< Of the device, or the same.

  std::shared_ptr<Device> device; ///< Null for the host.
  Block block;

  kvc_status_t add(const Sequence &sequence, int32_t queryLen,
                   int32_t pageSize);
  void finish();
  kvc_status_t upload(std::shared_ptr<Device> to);
};
} // namespace

static Registry<Batch, kvc_batch_object_t> &getBatches() {
  // Never destroyed: a batch may be released while the process ends.
  static auto *batches = new Registry<Batch, kvc_batch_object_t>("a batch", 3);
  return *batches;
}

/// Appends a sequence whose last `queryLen` tokens are new.
kvc_status_t Batch::add(const Sequence &sequence, int32_t queryLen,
                        int32_t pageSize) {
  auto index = static_cast<int32_t>(kvLens.size());
  if (queryLen < 0 || queryLen > sequence.length)
    return fail(KVC_STATUS_INVALID_ARGUMENT,
                "sequence %d: expected 0 to %d new tokens, got %d", index,
                sequence.length, queryLen);
  int64_t numTokens = static_cast<int64_t>(slots.size()) + queryLen;
  if (numTokens > INT32_MAX)
    return fail(KVC_STATUS_INVALID_ARGUMENT,
                "expected at most %d new tokens in all, got %lld", INT32_MAX,
                static_cast<long long>(numTokens));
  for (int32_t position = sequence.length - queryLen;
       position < sequence.length; ++position) {
    int64_t page = sequence.pages[position / pageSize];
    slots.push_back(page * pageSize + position % pageSize);
    positions.push_back(position);
  }
  pageIds.insert(pageIds.end(), sequence.pages.begin(), sequence.pages.end());
  // Fits: a page has one owner and a pool has fewer than 2^31 pages.
  pageStart.push_back(static_cast<int32_t>(pageIds.size()));
  queryStart.push_back(static_cast<int32_t>(numTokens));
  kvLens.push_back(sequence.length);
  hostView.max_query_len = std::max(hostView.max_query_len, queryLen);
  hostView.max_kv_len = std::max(hostView.max_kv_len, sequence.length);
  return KVC_STATUS_OK;
}

/// Points the views at the arrays, which stay as they are from here on.
void Batch::finish() {
  hostView.struct_size = sizeof(hostView);
  hostView.num_sequences = static_cast<int32_t>(kvLens.size());
  hostView.num_tokens = static_cast<int32_t>(slots.size());
  hostView.query_start = queryStart.data();
  hostView.kv_lens = kvLens.data();
  hostView.page_ids = pageIds.data();
  hostView.page_start = pageStart.data();
  hostView.num_page_ids = static_cast<int64_t>(pageIds.size());
  hostView.slots = slots.data();
  hostView.positions = positions.data();
  view = hostView;
}

/// Appends an array to `bytes` and returns where it is, a multiple of 64.
template <typename T>
static size_t pack(std::vector<char> &bytes, const std::vector<T> &array) {
  size_t offset = bytes.size();
  const auto *data = reinterpret_cast<const char *>(array.data());
  bytes.insert(bytes.end(), data, data + array.size() * sizeof(T));
  bytes.resize((bytes.size() + 63) & ~size_t{63});
  return offset;
}

/// Copies the arrays to a device, in one piece, and points the view at them.
kvc_status_t Batch::upload(std::shared_ptr<Device> to) {
  std::vector<char> bytes;
  size_t slotsAt = pack(bytes, slots);
  size_t queryStartAt = pack(bytes, queryStart);
  size_t kvLensAt = pack(bytes, kvLens);
  size_t pageStartAt = pack(bytes, pageStart);
  size_t positionsAt = pack(bytes, positions);
  size_t pageIdsAt = pack(bytes, pageIds);
  KVC_RETURN_IF_FAILED(to->takeBlock(bytes.size(), block));
  device = std::move(to); // which gets the block back
  KVC_RETURN_IF_FAILED(device->upload(block.data, bytes.data(), bytes.size()));
  auto at32 = [&](size_t offset) {
    return reinterpret_cast<const int32_t *>(block.data + offset);
  };
  view.slots = reinterpret_cast<const int64_t *>(block.data + slotsAt);
  view.query_start = at32(queryStartAt);
  view.kv_lens = at32(kvLensAt);
  view.page_start = at32(pageStartAt);
  view.positions = at32(positionsAt);
  view.page_ids = at32(pageIdsAt);
  return KVC_STATUS_OK;
}

extern "C" {

kvc_status_t kvc_batch_create(kvc_pool_t *pool, const kvc_sequence_t *sequences,
                              const int32_t *query_lens, int32_t num_sequences,
                              kvc_batch_object_t **out_batch) {
  return guarded("kvc_batch_create", [&]() -> kvc_status_t {
    std::shared_ptr<Pool> object = getPools().find(pool);
    if (!object)
      return KVC_STATUS_INVALID_ARGUMENT;
    if (!out_batch)
      return fail(KVC_STATUS_INVALID_ARGUMENT, "expected out_batch, got null");
    if (num_sequences < 0)
      return fail(KVC_STATUS_INVALID_ARGUMENT,
                  "expected num_sequences to be at least 0, got %d",
                  num_sequences);
    if (num_sequences > 0 && (!sequences || !query_lens))
      return fail(KVC_STATUS_INVALID_ARGUMENT,
                  "expected %s for %d sequences, got null",
                  !sequences ? "sequences" : "query_lens", num_sequences);
    auto batch = std::make_shared<Batch>();
    std::unordered_set<kvc_sequence_t> seen;
    std::unique_lock<std::mutex> lock(object->mutex);
    for (int32_t i = 0; i < num_sequences; ++i) {
      const Sequence *sequence = object->find(sequences[i]);
      if (!sequence)
        return KVC_STATUS_NOT_FOUND;
      if (!seen.insert(sequences[i]).second)
        return fail(KVC_STATUS_INVALID_ARGUMENT,
                    "expected each sequence once, got %#llx again as sequence "
                    "%d",
                    static_cast<unsigned long long>(sequences[i]), i);
      KVC_RETURN_IF_FAILED(
          batch->add(*sequence, query_lens[i], object->type.page_size));
    }
    lock.unlock();
    batch->finish();
    if (object->device)
      KVC_RETURN_IF_FAILED(batch->upload(object->device));
    *out_batch = getBatches().insert(std::move(batch));
    return KVC_STATUS_OK;
  });
}

void kvc_batch_release(kvc_batch_object_t *batch) {
  getBatches().remove(batch);
}

const kvc_batch_t *kvc_batch_view(const kvc_batch_object_t *batch) {
  std::shared_ptr<Batch> object = getBatches().find(batch);
  return object ? &object->view : nullptr;
}

const kvc_batch_t *kvc_batch_host_view(const kvc_batch_object_t *batch) {
  std::shared_ptr<Batch> object = getBatches().find(batch);
  return object ? &object->hostView : nullptr;
}

} // extern "C"
