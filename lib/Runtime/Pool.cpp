//===- Pool.cpp - page pools ----------------------------------------------===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The memory of a pool is [layer], each static components and then [page][component],
// one piece for all layers.
//===----------------------------------------------------------------------===//
#include "Pool.h"

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstring>

using namespace kvc::rt;

/// Bits of a sequence handle that number the sequences of one pool.
static constexpr int kSerialBits = 40;
static constexpr uint64_t kSerialMask = (uint64_t{1} << kSerialBits) - 1;

Registry<Pool, kvc_pool_t> &kvc::rt::getPools() {
  // Never destroyed: a pool may be released while the process ends.
  static auto *pools = new Registry<Pool, kvc_pool_t>("a pool", 2);
  return *pools;
}

/// High bits that the handles of one pool's sequences share; never 0.
static uint64_t nextPoolIdentity() {
  static std::atomic<uint64_t> counter{0};
  constexpr uint64_t kIdentities = (uint64_t{1} << (64 - kSerialBits)) - 1;
  return (counter.fetch_add(1) % kIdentities + 1) << kSerialBits;
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

Pool::Pool(const kvc_cache_type_t &type, const PageLayout &layout,
           const kvc_pool_options_t &options, std::shared_ptr<Device> device)
    : type(type), device(std::move(device)), layout(layout),
      numPages(static_cast<int32_t>(options.num_pages)),
      numLayers(options.num_layers),
      debugFill(options.flags & KVC_POOL_DEBUG_FILL),
      identity(nextPoolIdentity()),
      freePages(numPages, options.page_order_seed) {}

Pool::~Pool() {
  if (device)
    device->freeBlock(block);
}

/// Takes memory from the device or the host and fills it if asked to.
kvc_status_t Pool::takeMemory(uint64_t bytes) {
  if (device) {
    KVC_RETURN_IF_FAILED(device->takeBlock(bytes, block));
    memory = static_cast<char *>(block.get());
    return debugFill ? device->fill(block.data, 0xff, bytes)
                     : fillStatic();
  }
  // With debug fill all of it is touched at once: let the system say no now
  // rather than kill the process later.
  if (!mapping.map(bytes, /*lazy=*/!debugFill))
    return KVC_STATUS_OUT_OF_MEMORY;
  memory = mapping.data();
  if (!debugFill)
    return fillStatic();
  std::memset(memory, 0xff, bytes);
  return KVC_STATUS_OK;
}

/// Sets static components to NaN: those that nobody sets show in the result.
kvc_status_t Pool::fillStatic() {
  return layout.staticBytes == 0 ? kvc_status_t{KVC_STATUS_OK}
                                 : fillInLayers(0, layout.staticBytes);
}

uint64_t Pool::getLayerBytes() const {
  return layout.staticBytes +
         static_cast<uint64_t>(numPages) * layout.pageBytes;
}

kvc_status_t Pool::map() {
  uint64_t bytes;
  if (__builtin_mul_overflow(layout.pageBytes, static_cast<uint64_t>(numPages),
                             &bytes) ||
      __builtin_add_overflow(bytes, layout.staticBytes, &bytes) ||
      __builtin_mul_overflow(bytes, static_cast<uint64_t>(numLayers), &bytes) ||
      bytes > static_cast<uint64_t>(INT64_MAX))
    return fail(KVC_STATUS_INVALID_ARGUMENT,
                "expected a pool of fewer than 2^63 bytes, got %d pages x %d "
                "layers x %llu bytes",
                numPages, numLayers,
                static_cast<unsigned long long>(layout.pageBytes));
  kvc_status_t status = takeMemory(bytes);
  if (status == KVC_STATUS_OUT_OF_MEMORY)
    return fail(
        status, "no memory for a pool of %d pages x %d layers x %llu bytes%s%s",
        numPages, numLayers, static_cast<unsigned long long>(layout.pageBytes),
        device ? " on device " : "", device ? device->getInfo().name : "");
  return status;
}

/// Overwrites `bytes` at `offset` of every layer with NaN.
kvc_status_t Pool::fillInLayers(uint64_t offset, uint64_t bytes) {
  if (device)
    return device->fill(block.data + offset, 0xff, bytes, getLayerBytes(),
                        numLayers);
  for (int32_t layer = 0; layer < numLayers; ++layer)
    std::memset(memory + static_cast<uint64_t>(layer) * getLayerBytes() +
                    offset,
                0xff, bytes);
  return KVC_STATUS_OK;
}

/// Overwrites a page of every layer with NaN.
kvc_status_t Pool::fillPage(int32_t page) {
  return fillInLayers(layout.staticBytes +
                          static_cast<uint64_t>(page) * layout.pageBytes,
                      layout.pageBytes);
}

kvc_status_t Pool::getView(int32_t layer, kvc_cache_view_t &view) const {
  if (layer < 0 || layer >= numLayers)
    return fail(KVC_STATUS_INVALID_ARGUMENT,
                "expected a layer from 0 to %d, got %d", numLayers - 1, layer);
  view = {};
  view.struct_size = sizeof(view);
  view.num_components = static_cast<uint32_t>(type.num_components);
  view.fingerprint = kvc_cache_type_fingerprint(&type);
  view.num_pages = numPages;
  char *base = memory + static_cast<uint64_t>(layer) * getLayerBytes();
  for (int32_t i = 0; i < type.num_components; ++i) {
    const kvc_component_type_t &component = type.components[i];
    kvc_component_view_t &out = view.components[i];
    if (component.layout == KVC_LAYOUT_STATIC) {
      out.data = base + layout.offsetBytes[i];
      out.head_stride = component.width;
      continue;
    }
    out.data = base + layout.staticBytes + layout.offsetBytes[i];
    out.page_stride = static_cast<int64_t>(layout.pageBytes) /
                      kvc_dtype_size(component.dtype);
    out.head_stride = static_cast<int64_t>(type.page_size) * component.width;
    if (component.layout == KVC_LAYOUT_ROW_MAJOR)
      out.token_stride = component.width;
  }
  return KVC_STATUS_OK;
}

void Pool::getStats(kvc_pool_stats_t &stats) const {
  std::lock_guard<std::mutex> lock(mutex);
  stats = {};
  stats.struct_size = sizeof(stats);
  stats.total_pages = numPages;
  stats.free_pages = freePages.size() + numRetired;
  stats.used_pages = stats.total_pages - stats.free_pages;
  stats.used_tokens = usedTokens;
  stats.bytes_per_page = static_cast<int64_t>(layout.pageBytes);
}

//===----------------------------------------------------------------------===//
// Sequences
//===----------------------------------------------------------------------===//

kvc_status_t Pool::createSequence(kvc_sequence_t &handle) {
  std::lock_guard<std::mutex> lock(mutex);
  if (nextSerial > kSerialMask)
    return fail(KVC_STATUS_OUT_OF_MEMORY,
                "the pool has no more numbers for sequences");
  kvc_sequence_t created = identity | nextSerial;
  sequences.emplace(created, Sequence());
  ++nextSerial;
  handle = created;
  return KVC_STATUS_OK;
}

const Sequence *Pool::find(kvc_sequence_t handle) const {
  auto it = sequences.find(handle);
  if (it != sequences.end())
    return &it->second;
  auto number = static_cast<unsigned long long>(handle);
  uint64_t serial = handle & kSerialMask;
  if ((handle & ~kSerialMask) != identity)
    fail(KVC_STATUS_NOT_FOUND,
         "expected a sequence of this pool, got %#llx, which is not", number);
  else if (serial == 0 || serial >= nextSerial)
    fail(KVC_STATUS_NOT_FOUND,
         "expected a sequence of this pool, got %#llx, which never was one",
         number);
  else
    fail(KVC_STATUS_NOT_FOUND,
         "expected a sequence of this pool, got %#llx, which was freed",
         number);
  return nullptr;
}

Sequence *Pool::findMutable(kvc_sequence_t handle) {
  return const_cast<Sequence *>(find(handle));
}

kvc_status_t Pool::append(kvc_sequence_t handle, int32_t numTokens) {
  std::lock_guard<std::mutex> lock(mutex);
  Sequence *sequence = findMutable(handle);
  if (!sequence)
    return KVC_STATUS_NOT_FOUND;
  if (numTokens < 0)
    return fail(KVC_STATUS_INVALID_ARGUMENT,
                "expected at least 0 tokens, got %d", numTokens);
  int64_t length = int64_t{sequence->length} + numTokens;
  if (length > INT32_MAX)
    return fail(KVC_STATUS_INVALID_ARGUMENT,
                "expected a sequence of at most %d tokens, got %d + %d",
                INT32_MAX, sequence->length, numTokens);
  std::vector<int32_t> &pages = sequence->pages;
  auto wanted =
      static_cast<size_t>((length + type.page_size - 1) / type.page_size);
  size_t missing = wanted - pages.size();
  if (missing > static_cast<size_t>(freePages.size() + numRetired))
    return fail(KVC_STATUS_OUT_OF_MEMORY,
                "appending %d tokens needs %zu more pages, but only %d of %d "
                "are free",
                numTokens, missing, freePages.size() + numRetired, numPages);
  // All that can fail comes before the first change.
  if (wanted > pages.capacity())
    pages.reserve(std::max(wanted, 2 * pages.capacity()));
  KVC_RETURN_IF_FAILED(
      freeRetired(static_cast<int32_t>(missing), /*wait=*/true));
  while (pages.size() < wanted)
    pages.push_back(freePages.take());
  sequence->length = static_cast<int32_t>(length);
  usedTokens += numTokens;
  return KVC_STATUS_OK;
}

/// Gives pages back, the last one first, so that the next sequence gets them in
/// the same order.
kvc_status_t Pool::givePages(const std::vector<int32_t> &pages) {
  if (debugFill)
    for (int32_t page : pages)
      KVC_RETURN_IF_FAILED(fillPage(page));
  for (auto it = pages.rbegin(); it != pages.rend(); ++it)
    freePages.give(*it);
  return KVC_STATUS_OK;
}

/// Moves retired pages to the free ones until there are `wanted`: those that no
/// work reads any more, or with `wait` any.
kvc_status_t Pool::freeRetired(int32_t wanted, bool wait) {
  while (freePages.size() < wanted && !retired.empty()) {
    const RetiredPages &oldest = retired.front();
    if (wait)
      KVC_RETURN_IF_FAILED(device->wait(oldest.fence));
    else if (!device->poll(oldest.fence))
      return KVC_STATUS_OK;
    KVC_RETURN_IF_FAILED(givePages(oldest.pages));
    numRetired -= static_cast<int32_t>(oldest.pages.size());
    retired.pop_front();
  }
  return KVC_STATUS_OK;
}

kvc_status_t Pool::freeSequence(kvc_sequence_t handle) {
  std::lock_guard<std::mutex> lock(mutex);
  Sequence *sequence = findMutable(handle);
  if (!sequence)
    return KVC_STATUS_NOT_FOUND;
  if (device) {
    retired.push_back({{}, device->work.takeFence()});
    numRetired += static_cast<int32_t>(sequence->pages.size());
    retired.back().pages = std::move(sequence->pages);
  } else {
    (void)givePages(sequence->pages); // does not fail on the host
  }
  usedTokens -= sequence->length;
  sequences.erase(handle);
  // The sequence is gone whatever happens now: pages that cannot be given back
  // stay where they are until they are needed.
  if (device)
    (void)freeRetired(INT32_MAX, /*wait=*/false);
  return KVC_STATUS_OK;
}

//===----------------------------------------------------------------------===//
// The C interface
//===----------------------------------------------------------------------===//

/// Copies options, of which older callers do not have the last fields.
static kvc_status_t readOptions(const kvc_pool_options_t &given,
                                kvc_pool_options_t &options) {
  constexpr size_t kMinSize = offsetof(kvc_pool_options_t, device);
  if (given.struct_size < kMinSize)
    return fail(KVC_STATUS_INVALID_ARGUMENT,
                "options: expected a struct_size of at least %zu, got %u",
                kMinSize, given.struct_size);
  options = {};
  std::memcpy(&options, &given,
              given.struct_size < sizeof(options) ? kMinSize : sizeof(options));
  return KVC_STATUS_OK;
}

static kvc_status_t checkOptions(const kvc_pool_options_t &options) {
  if (options.flags & ~uint32_t{KVC_POOL_DEBUG_FILL})
    return fail(KVC_STATUS_INVALID_ARGUMENT,
                "options: expected no flags but KVC_POOL_DEBUG_FILL, got %#x",
                options.flags);
  if (options.num_pages < 1 || options.num_pages > INT32_MAX)
    return fail(KVC_STATUS_INVALID_ARGUMENT,
                "options: expected num_pages from 1 to %d, got %lld", INT32_MAX,
                static_cast<long long>(options.num_pages));
  if (options.num_layers < 1)
    return fail(KVC_STATUS_INVALID_ARGUMENT,
                "options: expected num_layers to be at least 1, got %d",
                options.num_layers);
  if (options.reserved != 0)
    return fail(KVC_STATUS_INVALID_ARGUMENT,
                "options: expected reserved to be 0, got %d", options.reserved);
  return KVC_STATUS_OK;
}

extern "C" {

kvc_status_t kvc_pool_create(const kvc_cache_type_t *type,
                             const kvc_pool_options_t *options,
                             kvc_pool_t **out_pool) {
  return guarded("kvc_pool_create", [&]() -> kvc_status_t {
    if (!type || !options || !out_pool)
      return fail(KVC_STATUS_INVALID_ARGUMENT, "expected %s, got null",
                  !type ? "type" : (!options ? "options" : "out_pool"));
    PageLayout layout;
    kvc_pool_options_t given;
    KVC_RETURN_IF_FAILED(checkCacheType(*type));
    KVC_RETURN_IF_FAILED(readOptions(*options, given));
    KVC_RETURN_IF_FAILED(checkOptions(given));
    KVC_RETURN_IF_FAILED(computePageLayout(*type, layout));
    std::shared_ptr<Device> device;
    if (given.device && !(device = getDevices().find(given.device)))
      return KVC_STATUS_INVALID_ARGUMENT;
    auto pool = std::make_shared<Pool>(*type, layout, given, std::move(device));
    KVC_RETURN_IF_FAILED(pool->map());
    *out_pool = getPools().insert(std::move(pool));
    return KVC_STATUS_OK;
  });
}

void kvc_pool_release(kvc_pool_t *pool) { getPools().remove(pool); }

kvc_status_t kvc_pool_view(kvc_pool_t *pool, int32_t layer,
                           kvc_cache_view_t *out_view) {
  std::shared_ptr<Pool> object = getPools().find(pool);
  if (!object)
    return KVC_STATUS_INVALID_ARGUMENT;
  if (!out_view)
    return fail(KVC_STATUS_INVALID_ARGUMENT, "expected out_view, got null");
  return object->getView(layer, *out_view);
}

kvc_status_t kvc_pool_stats(kvc_pool_t *pool, kvc_pool_stats_t *out_stats) {
  return guarded("kvc_pool_stats", [&]() -> kvc_status_t {
    std::shared_ptr<Pool> object = getPools().find(pool);
    if (!object)
      return KVC_STATUS_INVALID_ARGUMENT;
    if (!out_stats)
      return fail(KVC_STATUS_INVALID_ARGUMENT, "expected out_stats, got null");
    object->getStats(*out_stats);
    return KVC_STATUS_OK;
  });
}

} // extern "C"
