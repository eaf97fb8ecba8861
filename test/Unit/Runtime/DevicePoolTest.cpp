//===- DevicePoolTest.cpp - pools and batches on a device -----------------===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//
//===----------------------------------------------------------------------===//
#include "DeviceFixture.h"

#include <cstddef>
#include <optional>
#include <thread>

using namespace kvc::rt;

namespace {
class DevicePoolTest : public DeviceFixture {
protected:
  void SetUp() override {
    DeviceFixture::SetUp();
    storeBehaviour = {};
    cuda.kernels["store"] = makeStoreKernel();
    ASSERT_OK(kvc_device_allocate(device, 64, &scratch));
  }
  kvc_pool_options_t makeOptions(int64_t numPages, uint32_t flags = 0) {
    kvc_pool_options_t options = makePoolOptions(numPages);
    options.flags = flags;
    options.device = device;
    return options;
  }
  /// Launches something, which is then in flight.
  void launch(StoreProgram &store, kvc_stream_t *stream) {
    EXPECT_OK(store.run(stream, scratch, scratch));
  }
  /// A copy of `count` elements of device memory.
  template <typename T>
  std::vector<T> read(const T *data, size_t count) {
    std::vector<T> result(count);
    EXPECT_OK(
        kvc_device_download(device, result.data(), data, count * sizeof(T)));
    return result;
  }

  void *scratch = nullptr;
};

/// A batch that is released at the end.
struct OwnedBatch {
  OwnedBatch(kvc_pool_t *pool, const std::vector<kvc_sequence_t> &sequences,
             const std::vector<int32_t> &queryLens) {
    EXPECT_OK(kvc_batch_create(pool, sequences.data(), queryLens.data(),
                               static_cast<int32_t>(sequences.size()), &batch));
  }
  ~OwnedBatch() { kvc_batch_release(batch); }
  OwnedBatch(const OwnedBatch &) = delete;
  const kvc_batch_t &view() const { return *kvc_batch_view(batch); }
  const kvc_batch_t &host() const { return *kvc_batch_host_view(batch); }

  kvc_batch_object_t *batch = nullptr;
};
} // namespace

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

// Once in front of each layer's pages, NaN without debug fill too, and left alone when
// pages come back.
TEST_F(DevicePoolTest, StaticComponents) {
  kvc_cache_type_t type = {};
  type.page_size = 16;
  addComponent(type, "k", 2, 8, KVC_DTYPE_I8, KVC_LAYOUT_PACKED_KEY);
  addComponent(type, "k.scale", 2, 1, KVC_DTYPE_F32, KVC_LAYOUT_STATIC);
  for (uint32_t flags : {0u, uint32_t{KVC_POOL_DEBUG_FILL}}) {
    kvc_pool_options_t options = makeOptions(3, flags);
    options.num_layers = 2;
    OwnedPool pool(type, options);
    const std::vector<uint32_t> unset(2, 0xffffffff), scales(2, 0x3f800000);
    for (int32_t layer : {0, 1})
      EXPECT_EQ(read(static_cast<uint32_t *>(pool.getView(layer).components[1].data), 2),
                unset);
    kvc_cache_view_t view = pool.getView(1);
    EXPECT_OK(kvc_device_upload(device, view.components[1].data, scales.data(), 8));
    EXPECT_OK(kvc_sequence_free(pool, pool.createSequence(48)));
    EXPECT_EQ(read(static_cast<uint32_t *>(view.components[1].data), 2), scales);
    EXPECT_EQ(read(static_cast<uint32_t *>(pool.getView(0).components[1].data), 2), unset);
    EXPECT_EQ(static_cast<char *>(view.components[0].data) -
                  static_cast<char *>(view.components[1].data),
              64);
  }
}

TEST_F(DevicePoolTest, MemoryIsTheDevices) {
  kvc_pool_options_t options = makeOptions(10);
  options.num_layers = 3;
  OwnedPool pool(makeKeyValueType(4), options);
  uint64_t layer = 10 * 512; // 10 pages of 2 x 256 bytes
  auto found = cuda.allocations.find(
      reinterpret_cast<uint64_t>(pool.getView(0).components[0].data));
  ASSERT_NE(found, cuda.allocations.end());
  EXPECT_GE(found->second, 3 * layer);
  for (int32_t i = 0; i < 3; ++i) {
    kvc_cache_view_t view = pool.getView(i);
    EXPECT_EQ(reinterpret_cast<uint64_t>(view.components[0].data),
              found->first + i * layer);
    EXPECT_EQ(reinterpret_cast<uint64_t>(view.components[1].data),
              found->first + i * layer + 256);
    EXPECT_EQ(view.components[0].page_stride, 128);
  }
}

TEST_F(DevicePoolTest, WrongOptions) {
  kvc_cache_type_t type = makeKeyValueType(4);
  kvc_pool_options_t options = makeOptions(4);
  kvc_pool_t *pool = nullptr;
  options.device = reinterpret_cast<kvc_device_t *>(&type);
  EXPECT_FAILS(kvc_pool_create(&type, &options, &pool),
               KVC_STATUS_INVALID_ARGUMENT,
               "expected a device, got a pointer that never was one");
  EXPECT_EQ(pool, nullptr);
  // An older caller has no such field.
  options.struct_size = offsetof(kvc_pool_options_t, device);
  EXPECT_OK(kvc_pool_create(&type, &options, &pool));
  EXPECT_EQ(cuda.allocations.size(), 1u);
  kvc_pool_release(pool);
}

TEST_F(DevicePoolTest, NoMemory) {
  kvc_cache_type_t type = makeKeyValueType(4);
  kvc_pool_options_t options = makeOptions(1 << 24);
  kvc_pool_t *pool = nullptr;
  EXPECT_FAILS(kvc_pool_create(&type, &options, &pool),
               KVC_STATUS_OUT_OF_MEMORY,
               "no memory for a pool of 16777216 pages x 1 layers x 512 bytes "
               "on device Fake 0");
  options = makeOptions(4, KVC_POOL_DEBUG_FILL);
  cuda.failCall("cuMemsetD8Async", kIllegalAddress);
  EXPECT_FAILS(kvc_pool_create(&type, &options, &pool), KVC_STATUS_DEVICE_ERROR,
               "cuMemsetD8Async");
  EXPECT_EQ(pool, nullptr);
  EXPECT_EQ(cuda.allocations.size(), 1u);
}

TEST_F(DevicePoolTest, DebugFill) {
  kvc_pool_options_t options = makeOptions(2, KVC_POOL_DEBUG_FILL);
  options.num_layers = 2;
  OwnedPool pool(makeKeyValueType(4), options);
  auto *base = static_cast<uint8_t *>(pool.getView().components[0].data);
  EXPECT_EQ(read(base, 2048), std::vector<uint8_t>(2048, 0xff));
  kvc_sequence_t sequence = pool.createSequence(3);
  EXPECT_OK(kvc_device_fill(device, base, 1, 2048));
  EXPECT_OK(kvc_sequence_free(pool, sequence)); // had page 0
  std::vector<uint8_t> expected(2048, 1);
  for (size_t layer : {0, 1})
    std::fill_n(expected.begin() + layer * 1024, 512, uint8_t{0xff});
  EXPECT_EQ(read(base, 2048), expected);
}

// The pool goes when its work is done, and holds the device until then.
TEST_F(DevicePoolTest, Release) {
  StoreProgram store;
  OwnedDeviceStream stream(device);
  cuda.isDeferred = true;
  {
    OwnedPool pool(makeKeyValueType(4), makeOptions(1 << 13));
    launch(store, stream);
    EXPECT_FALSE(cuda.isIdle());
  }
  EXPECT_TRUE(cuda.isIdle());
}

//===----------------------------------------------------------------------===//
// Pages that work in flight may read
//===----------------------------------------------------------------------===//

TEST_F(DevicePoolTest, PagesWaitForWork) {
  StoreProgram store;
  OwnedDeviceStream stream(device), other(device);
  OwnedPool pool(makeKeyValueType(4), makeOptions(4, KVC_POOL_DEBUG_FILL));
  kvc_sequence_t first = pool.createSequence(8); // pages 0 and 1
  cuda.isDeferred = true;
  launch(store, stream);
  launch(store, other);
  EXPECT_OK(kvc_sequence_free(pool, first));
  EXPECT_EQ(pool.getStats().free_pages, 4);
  EXPECT_FALSE(cuda.isIdle());

  // What is free at once goes first, without waiting.
  kvc_sequence_t second = pool.createSequence(8);
  EXPECT_EQ(pool.getPages(second), (std::vector<int32_t>{2, 3}));
  EXPECT_FALSE(cuda.isIdle());
  EXPECT_EQ(pool.getStats().free_pages, 2);
  // More than there is fails without waiting either.
  kvc_sequence_t third = pool.createSequence();
  EXPECT_FAILS(kvc_sequence_append(pool, third, 12), KVC_STATUS_OUT_OF_MEMORY,
               "appending 12 tokens needs 3 more pages, but only 2 of 4 are "
               "free");
  EXPECT_FALSE(cuda.isIdle());
  // And what is needed is waited for, on all streams.
  EXPECT_OK(kvc_sequence_append(pool, third, 1));
  EXPECT_TRUE(cuda.isIdle());
  EXPECT_EQ(pool.getPages(third), (std::vector<int32_t>{0}));
  cuda.isDeferred = false;
  auto *base = static_cast<uint8_t *>(pool.getView().components[0].data);
  EXPECT_EQ(read(base, 1024), std::vector<uint8_t>(1024, 0xff));
}

// Work that is done by the time is not waited for.
TEST_F(DevicePoolTest, PagesOfFinishedWork) {
  StoreProgram store;
  OwnedDeviceStream stream(device);
  OwnedPool pool(makeKeyValueType(4), makeOptions(2));
  cuda.isDeferred = true;
  for (int round = 0; round < 3; ++round) {
    kvc_sequence_t sequence = pool.createSequence(8);
    EXPECT_EQ(pool.getPages(sequence), (std::vector<int32_t>{0, 1}));
    launch(store, stream);
    EXPECT_OK(kvc_stream_synchronize(stream));
    int numSynchronizations = cuda.numCalls["cuStreamSynchronize"];
    EXPECT_OK(kvc_sequence_free(pool, sequence));
    EXPECT_EQ(cuda.numCalls["cuStreamSynchronize"], numSynchronizations);
  }
}

TEST_F(DevicePoolTest, WaitingForPagesFails) {
  StoreProgram store;
  OwnedDeviceStream stream(device);
  OwnedPool pool(makeKeyValueType(4), makeOptions(2));
  kvc_sequence_t first = pool.createSequence(8);
  cuda.isDeferred = true;
  launch(store, stream);
  EXPECT_OK(kvc_sequence_free(pool, first));
  kvc_sequence_t second = pool.createSequence();
  cuda.failCall("cuStreamSynchronize", kIllegalAddress);
  EXPECT_FAILS(kvc_sequence_append(pool, second, 5), KVC_STATUS_DEVICE_ERROR,
               "cuStreamSynchronize: CUDA_ERROR_ILLEGAL_ADDRESS (700)");
  EXPECT_EQ(pool.getLength(second), 0);
  EXPECT_EQ(pool.getStats().free_pages, 2);
  EXPECT_OK(kvc_sequence_append(pool, second, 5));
  EXPECT_EQ(pool.getStats().free_pages, 0);
}

// A page whose fill fails when it comes back is filled when it is needed.
TEST_F(DevicePoolTest, FillingFreedPagesFails) {
  OwnedPool pool(makeKeyValueType(4), makeOptions(1, KVC_POOL_DEBUG_FILL));
  kvc_sequence_t sequence = pool.createSequence(1);
  auto *base = static_cast<uint8_t *>(pool.getView().components[0].data);
  EXPECT_OK(kvc_device_fill(device, base, 1, 512));
  cuda.failCall("cuMemsetD8Async", kIllegalAddress);
  EXPECT_OK(kvc_sequence_free(pool, sequence));
  EXPECT_EQ(pool.getStats().free_pages, 1);
  EXPECT_EQ(pool.getStats().used_tokens, 0);
  sequence = pool.createSequence();
  cuda.failCall("cuMemsetD8Async", kIllegalAddress);
  EXPECT_FAILS(kvc_sequence_append(pool, sequence, 1), KVC_STATUS_DEVICE_ERROR,
               "cuMemsetD8Async");
  EXPECT_OK(kvc_sequence_append(pool, sequence, 1));
  EXPECT_EQ(read(base, 512), std::vector<uint8_t>(512, 0xff));
}

//===----------------------------------------------------------------------===//
// Batches
//===----------------------------------------------------------------------===//

TEST_F(DevicePoolTest, Batch) {
  OwnedPool pool(makeKeyValueType(4), makeOptions(8));
  kvc_sequence_t a = pool.createSequence(9), b = pool.createSequence(2);
  OwnedBatch batch(pool, {b, a}, {1, 3});
  kvc_batch_t view = batch.view(), host = batch.host();
  EXPECT_EQ(view.struct_size, sizeof(view));
  EXPECT_EQ(view.num_sequences, 2);
  EXPECT_EQ(view.num_tokens, 4);
  EXPECT_EQ(view.max_query_len, 3);
  EXPECT_EQ(view.max_kv_len, 9);
  EXPECT_EQ(view.num_page_ids, 4);
  EXPECT_EQ(host.num_page_ids, 4);
  auto expectSame = [&](auto member, size_t count) {
    EXPECT_NE(view.*member, host.*member);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(view.*member) % 64, 0u);
    EXPECT_EQ(read(view.*member, count),
              std::vector(host.*member, host.*member + count));
  };
  expectSame(&kvc_batch_t::query_start, 3);
  expectSame(&kvc_batch_t::kv_lens, 2);
  expectSame(&kvc_batch_t::page_ids, 4);
  expectSame(&kvc_batch_t::page_start, 3);
  expectSame(&kvc_batch_t::slots, 4);
  expectSame(&kvc_batch_t::positions, 4);
  EXPECT_EQ(std::vector(host.page_ids, host.page_ids + 4),
            (std::vector<int32_t>{3, 0, 1, 2}));
  EXPECT_EQ(std::vector(host.slots, host.slots + 4),
            (std::vector<int64_t>{13, 6, 7, 8}));
}

TEST_F(DevicePoolTest, EmptyBatch) {
  OwnedPool pool(makeKeyValueType(4), makeOptions(8));
  OwnedBatch batch(pool, {}, {});
  EXPECT_EQ(read(batch.view().query_start, 1), std::vector<int32_t>{0});
  EXPECT_EQ(kvc_batch_host_view(nullptr), nullptr);
}

TEST_F(DevicePoolTest, HostViewOfTheHost) {
  OwnedPool pool(4, 8);
  OwnedBatch batch(pool, {pool.createSequence(3)}, {2});
  EXPECT_EQ(batch.view().slots, batch.host().slots);
  EXPECT_EQ(batch.host().num_tokens, 2);
}

TEST_F(DevicePoolTest, BatchFails) {
  OwnedPool pool(makeKeyValueType(4), makeOptions(8));
  kvc_sequence_t sequence = pool.createSequence(3);
  int32_t queryLen = 1;
  kvc_batch_object_t *batch = nullptr;
  cuda.failCall("cuMemAlloc_v2", CUDA_ERROR_OUT_OF_MEMORY);
  EXPECT_FAILS(kvc_batch_create(pool, &sequence, &queryLen, 1, &batch),
               KVC_STATUS_OUT_OF_MEMORY,
               "cannot allocate 4096 bytes on device 'Fake 0': "
               "CUDA_ERROR_OUT_OF_MEMORY (2)");
  cuda.failCall("cuMemcpyHtoDAsync_v2", kIllegalAddress);
  EXPECT_FAILS(kvc_batch_create(pool, &sequence, &queryLen, 1, &batch),
               KVC_STATUS_DEVICE_ERROR, "cuMemcpyHtoDAsync_v2");
  EXPECT_EQ(batch, nullptr);
}

// A batch that goes while it is in flight: its memory is used again only when
// the work is done, and then it is.
TEST_F(DevicePoolTest, BatchesInFlight) {
  StoreProgram store;
  OwnedDeviceStream stream(device);
  OwnedPool pool(makeKeyValueType(4), makeOptions(8));
  kvc_sequence_t sequence = pool.createSequence(3);
  cuda.isDeferred = true;
  std::set<const void *> places;
  for (int round = 0; round < 3; ++round) {
    OwnedBatch batch(pool, {sequence}, {1});
    EXPECT_TRUE(places.insert(batch.view().slots).second);
    launch(store, stream);
  }
  EXPECT_FALSE(cuda.isIdle());
  EXPECT_OK(kvc_stream_synchronize(stream));
  int numAllocations = cuda.numCalls["cuMemAlloc_v2"];
  for (int round = 0; round < 100; ++round) {
    OwnedBatch batch(pool, {sequence}, {1});
    EXPECT_EQ(places.count(batch.view().slots), 1u);
    launch(store, stream);
    EXPECT_OK(kvc_stream_synchronize(stream));
  }
  EXPECT_EQ(cuda.numCalls["cuMemAlloc_v2"], numAllocations);
}

// Memory that is kept for the next batch is given up before an allocation
// fails, and not more of it is kept than is of use.
TEST_F(DevicePoolTest, KeptMemoryIsGivenUp) {
  OwnedPool pool(makeKeyValueType(4), makeOptions(8));
  kvc_sequence_t sequence = pool.createSequence(3);
  size_t numBefore = cuda.allocations.size();
  {
    std::vector<std::unique_ptr<OwnedBatch>> batches;
    for (int i = 0; i < 200; ++i)
      batches.push_back(std::make_unique<OwnedBatch>(
          pool, std::vector{sequence}, std::vector{1}));
  }
  EXPECT_LE(cuda.allocations.size(), numBefore + 64);
  void *data = nullptr;
  cuda.failCall("cuMemAlloc_v2", CUDA_ERROR_OUT_OF_MEMORY);
  EXPECT_OK(kvc_device_allocate(device, 8, &data));
  EXPECT_EQ(cuda.allocations.size(), numBefore + 1);
}

// Two threads with streams and sequences of their own in one pool.
TEST_F(DevicePoolTest, Threads) {
  StoreProgram store;
  OwnedPool pool(makeKeyValueType(4), makeOptions(12, KVC_POOL_DEBUG_FILL));
  auto body = [&] {
    OwnedDeviceStream stream(device);
    for (int round = 0; round < 100; ++round) {
      kvc_sequence_t sequence = pool.createSequence(20);
      OwnedBatch batch(pool, {sequence}, {1});
      launch(store, stream);
      ASSERT_OK(kvc_sequence_free(pool, sequence));
    }
  };
  std::thread other(body);
  body();
  other.join();
  EXPECT_EQ(pool.getStats().free_pages, 12);
}
