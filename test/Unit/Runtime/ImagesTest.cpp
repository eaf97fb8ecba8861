//===- ImagesTest.cpp - the contents of caches as plain rows --------------===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Here an image is listed in the order of its memory, as abi.h spells its shape.
//===----------------------------------------------------------------------===//
#include "DeviceFixture.h"

#include <algorithm>
#include <climits>
#include <numeric>
#include <optional>
#include <random>
#include <thread>
#include <utility>

namespace {
/// What lies in one place of the image of a head: bits of an element of a token.
struct Piece {
  int token, element;
};
} // namespace

/// Token and element of each place of a head's image from its start: of each element,
/// or of each half of a byte, the low one first, if elements are of 4 bits.
static std::vector<Piece> listImage(kvc_dtype_t dtype, kvc_layout_t layout, int page,
                                    int width) {
  std::vector<Piece> pieces;
  auto add = [&](int token, int element) { pieces.push_back({token, element}); };
  bool isNibbles = dtype == KVC_DTYPE_I4X2;
  bool isBytes =
      dtype == KVC_DTYPE_I8 || dtype == KVC_DTYPE_F8E4M3FN || dtype == KVC_DTYPE_F8E5M2;
  int elements = isNibbles ? 2 * width : width;
  int pair = dtype == KVC_DTYPE_BF16 ? 2 : 1;
  if (layout == KVC_LAYOUT_ROW_MAJOR) {
    for (int token = 0; token < page; ++token)
      for (int w = 0; w < elements; ++w)
        add(token, w);
  } else if (layout == KVC_LAYOUT_LANE_KEY) { // [P/16][W][16 tokens]
    int halves = isNibbles ? 2 : 1;
    for (int block = 0; block < page; block += 16)
      for (int w = 0; w < elements; w += halves)
        for (int token = 0; token < 16; ++token)
          for (int half = 0; half < halves; ++half)
            add(block + token, w + half);
  } else if (layout == KVC_LAYOUT_PACKED_KEY) {
    for (int block = 0; block < page; block += 16)
      if (isNibbles) { // [W/4][16 tokens] words
        for (int w = 0; w < elements; w += 8)
          for (int token = 0; token < 16; ++token)
            for (int e : {0, 2, 4, 6, 1, 3, 5, 7})
              add(block + token, w + e);
      } else if (isBytes) { // [W/4][4][2][4][2]
        for (int w = 0; w < width; w += 4)
          for (int quad = 0; quad < 4; ++quad)
            for (int half = 0; half < 2; ++half)
              for (int token = 0; token < 4; ++token)
                for (int odd = 0; odd < 2; ++odd)
                  add(block + 4 * quad + token, w + 2 * half + odd);
      } else { // [W/p][16 tokens][p]
        for (int w = 0; w < width; w += pair)
          for (int token = 0; token < 16; ++token)
            for (int p = 0; p < pair; ++p)
              add(block + token, w + p);
      }
  } else if (isNibbles) { // [P/4][W/4][4] words
    for (int block = 0; block < page; block += 4)
      for (int w = 0; w < elements; w += 8)
        for (int lane = 0; lane < 4; ++lane)
          for (int token : {0, 2, 1, 3})
            for (int high = 0; high < 2; ++high)
              add(block + token, w + lane + 4 * high);
  } else if (isBytes) { // [P/4][W/4][2][4][2]
    for (int block = 0; block < page; block += 4)
      for (int w = 0; w < width; w += 4)
        for (int half = 0; half < 2; ++half)
          for (int column = 0; column < 4; ++column)
            for (int odd = 0; odd < 2; ++odd)
              add(block + 2 * half + odd, w + column);
  } else { // [P/p][W][p tokens]
    for (int block = 0; block < page; block += pair)
      for (int w = 0; w < width; ++w)
        for (int p = 0; p < pair; ++p)
          add(block + p, w);
  }
  return pieces;
}

namespace {
/// A component and where its pages lie.
struct Case {
  kvc_dtype_t dtype;
  kvc_layout_t layout;
  int page, heads, width;
};
} // namespace

static std::vector<Case> getCases() {
  std::vector<Case> cases;
  for (kvc_dtype_t dtype : {KVC_DTYPE_F32, KVC_DTYPE_F16, KVC_DTYPE_BF16, KVC_DTYPE_F8E4M3FN,
                            KVC_DTYPE_F8E5M2, KVC_DTYPE_I8, KVC_DTYPE_I4X2, KVC_DTYPE_I64}) {
    for (int page : {1, 5, 16})
      cases.push_back({dtype, KVC_LAYOUT_ROW_MAJOR, page, 3, 7});
    for (kvc_layout_t layout : {KVC_LAYOUT_PACKED_KEY, KVC_LAYOUT_PACKED_VALUE})
      for (int page : {16, 48})
        cases.push_back({dtype, layout, page, 3, 12});
    if (kvc_dtype_size(dtype) == 1)
      for (int page : {16, 48})
        cases.push_back({dtype, KVC_LAYOUT_LANE_KEY, page, 3, 7});
  }
  return cases;
}

static std::vector<uint8_t> makeRandomBytes(size_t count, uint32_t seed) {
  std::mt19937 random(seed);
  std::vector<uint8_t> bytes(count);
  for (uint8_t &byte : bytes)
    byte = static_cast<uint8_t>(random());
  return bytes;
}

namespace {
/// A cache of one component over memory of its own, which has gaps between heads and
/// pages; all of it is random at first.
class Cache {
public:
  explicit Cache(const Case &c, int numPages = 4, kvc_device_t *device = nullptr)
      : c(c), numPages(numPages), device(device), size(kvc_dtype_size(c.dtype)) {
    type.page_size = c.page;
    addComponent(type, "x", c.heads, c.width, c.dtype, c.layout);
    headStride = c.page * c.width + 8;
    pageStride = c.heads * headStride + 24;
    memory = makeRandomBytes(numPages * pageStride * size, 7);
    view = {};
    view.struct_size = sizeof(view);
    view.num_components = 1;
    view.fingerprint = kvc_cache_type_fingerprint(&type);
    view.num_pages = numPages;
    view.components[0] = {memory.data(), pageStride, headStride,
                          c.layout == KVC_LAYOUT_ROW_MAJOR ? c.width : 0};
    pieces = listImage(c.dtype, c.layout, c.page, c.width);
  }

  size_t getRowBytes() const { return static_cast<size_t>(c.heads) * c.width * size; }
  int getNumSlots() const { return numPages * c.page; }

  /// Calls `body(place, row)` for each piece of a slot: bits in `memory` and in a row of
  /// all heads, both counted in pieces.
  template <typename Body>
  void forEachPiece(int64_t slot, Body body) const {
    int64_t perElement = c.dtype == KVC_DTYPE_I4X2 ? 2 : 1;
    for (int head = 0; head < c.heads; ++head)
      for (size_t i = 0; i < pieces.size(); ++i)
        if (pieces[i].token == slot % c.page)
          body((slot / c.page * pageStride + head * headStride) * perElement +
                   static_cast<int64_t>(i),
               head * c.width * perElement + pieces[i].element);
  }
  std::vector<uint8_t> readByHand(int64_t slot) const {
    std::vector<uint8_t> row(getRowBytes());
    forEachPiece(slot, [&](int64_t place, int64_t at) {
      copyPiece(memory.data(), place, row.data(), at);
    });
    return row;
  }
  void writeByHand(int64_t slot, const uint8_t *row) {
    forEachPiece(slot,
                 [&](int64_t place, int64_t at) { copyPiece(row, at, memory.data(), place); });
  }

  kvc_status_t read(const std::vector<int64_t> &slots, std::vector<uint8_t> &rows) {
    rows.assign(slots.size() * getRowBytes(), 0);
    return kvc_cache_read(&type, &view, device, 0, slots.data(),
                          static_cast<int64_t>(slots.size()), rows.data());
  }
  kvc_status_t write(const std::vector<int64_t> &slots, const std::vector<uint8_t> &rows) {
    return kvc_cache_write(&type, &view, device, 0, slots.data(),
                           static_cast<int64_t>(slots.size()), rows.data());
  }

  Case c;
  int numPages;
  kvc_device_t *device;
  int64_t size, headStride, pageStride;
  kvc_cache_type_t type = {};
  kvc_cache_view_t view;
  std::vector<uint8_t> memory;
  std::vector<Piece> pieces;

private:
  void copyPiece(const uint8_t *from, int64_t i, uint8_t *to, int64_t j) const {
    if (c.dtype != KVC_DTYPE_I4X2) {
      std::memcpy(to + j * size, from + i * size, size);
      return;
    }
    int code = i % 2 == 0 ? from[i / 2] % 16 : from[i / 2] / 16;
    to[j / 2] = static_cast<uint8_t>(j % 2 == 0 ? to[j / 2] / 16 * 16 + code
                                                : to[j / 2] % 16 + 16 * code);
  }
};
} // namespace

#define TRACE_CASE(c)                                                                          \
  SCOPED_TRACE(std::string(kvc_dtype_name((c).dtype)) + ", layout " +                          \
               std::to_string((c).layout) + ", page " + std::to_string((c).page))

//===----------------------------------------------------------------------===//
// Formulas
//===----------------------------------------------------------------------===//

// Each listing has each element of each token once: it is a good reference.
TEST(ImagesTest, ListingsAreComplete) {
  for (const Case &c : getCases()) {
    TRACE_CASE(c);
    int elements = c.dtype == KVC_DTYPE_I4X2 ? 2 * c.width : c.width;
    std::vector<int> seen(c.page * elements);
    for (Piece piece : listImage(c.dtype, c.layout, c.page, c.width))
      ++seen[piece.token * elements + piece.element];
    EXPECT_EQ(std::count(seen.begin(), seen.end(), 1), static_cast<long>(seen.size()));
  }
}

TEST(ImagesTest, ReadsEveryLayout) {
  for (const Case &c : getCases()) {
    TRACE_CASE(c);
    Cache cache(c);
    std::vector<int64_t> slots(cache.getNumSlots());
    std::iota(slots.begin(), slots.end(), 0);
    std::shuffle(slots.begin(), slots.end(), std::mt19937(3));
    slots.push_back(slots[0]); // one may come twice
    std::vector<uint8_t> rows, expected;
    ASSERT_OK(cache.read(slots, rows));
    for (int64_t slot : slots)
      for (uint8_t byte : cache.readByHand(slot))
        expected.push_back(byte);
    EXPECT_EQ(rows, expected);
  }
}

// What is not of the slots keeps each of its bits.
TEST(ImagesTest, WritesEveryLayoutAndNothingElse) {
  for (const Case &c : getCases()) {
    TRACE_CASE(c);
    Cache cache(c), expected(c);
    std::mt19937 random(11);
    for (int round = 0; round < 20; ++round) {
      std::vector<int64_t> slots(random() % 6);
      for (int64_t &slot : slots)
        slot = static_cast<int64_t>(random()) % cache.getNumSlots();
      std::vector<uint8_t> rows = makeRandomBytes(slots.size() * cache.getRowBytes(), random());
      ASSERT_OK(cache.write(slots, rows));
      for (size_t i = 0; i < slots.size(); ++i) // the last of equal slots wins
        expected.writeByHand(slots[i], rows.data() + i * cache.getRowBytes());
      ASSERT_EQ(cache.memory, expected.memory);
    }
  }
}

TEST(ImagesTest, RowsComeBack) {
  for (const Case &c : getCases()) {
    TRACE_CASE(c);
    Cache cache(c);
    std::vector<int64_t> slots(cache.getNumSlots());
    std::iota(slots.rbegin(), slots.rend(), 0);
    std::vector<uint8_t> rows = makeRandomBytes(slots.size() * cache.getRowBytes(), 5), back;
    ASSERT_OK(cache.write(slots, rows));
    ASSERT_OK(cache.read(slots, back));
    EXPECT_EQ(rows, back);
  }
}

// Tokens outside heads, heads outside pages: whatever the strides are.
TEST(ImagesTest, FollowsStridesOfOthers) {
  kvc_cache_type_t type = {};
  type.page_size = 4;
  addComponent(type, "x", 2, 8, KVC_DTYPE_I8);
  std::vector<int8_t> memory(6 * 64);
  std::iota(memory.begin(), memory.end(), 0);
  for (kvc_component_view_t strides : {kvc_component_view_t{memory.data(), 64, 8, 16},
                                       kvc_component_view_t{memory.data(), 32, 6 * 32, 8}}) {
    kvc_cache_view_t view = {};
    view.struct_size = sizeof(view);
    view.num_components = 1;
    view.fingerprint = kvc_cache_type_fingerprint(&type);
    view.num_pages = 6;
    view.components[0] = strides;
    const int64_t slots[] = {4 * 5 + 2, 4 * 1 + 3};
    int8_t rows[2][2][8];
    ASSERT_OK(kvc_cache_read(&type, &view, nullptr, 0, slots, 2, rows));
    for (int i = 0; i < 2; ++i)
      for (int head = 0; head < 2; ++head)
        for (int w = 0; w < 8; ++w)
          EXPECT_EQ(rows[i][head][w],
                    memory[slots[i] / 4 * strides.page_stride + head * strides.head_stride +
                           slots[i] % 4 * strides.token_stride + w]);
  }
}

// Neighbours in a page, of packed words too, are written at once.
TEST(ImagesTest, ThreadsWriteDifferentTokensOfOnePage) {
  for (const Case &c : getCases()) {
    TRACE_CASE(c);
    Cache cache(c, 1), expected(c, 1);
    std::vector<uint8_t> rows = makeRandomBytes(c.page * cache.getRowBytes(), 9);
    for (int64_t slot = 0; slot < c.page; ++slot)
      expected.writeByHand(slot, rows.data() + slot * cache.getRowBytes());
    auto writeEvery = [&](int64_t first) {
      for (int round = 0; round < 100; ++round)
        for (int64_t slot = first; slot < c.page; slot += 2)
          EXPECT_OK(kvc_cache_write(&cache.type, &cache.view, nullptr, 0, &slot, 1,
                                    rows.data() + slot * cache.getRowBytes()));
    };
    std::thread other(writeEvery, 1);
    writeEvery(0);
    other.join();
    EXPECT_EQ(cache.memory, expected.memory);
  }
}

//===----------------------------------------------------------------------===//
// What is refused
//===----------------------------------------------------------------------===//

namespace {
class ImagesCheckTest : public testing::Test {
protected:
  ImagesCheckTest() {
    type.page_size = 16;
    addComponent(type, "k", 2, 8, KVC_DTYPE_I8);
    addComponent(type, "k.scale", 2, 1, KVC_DTYPE_F32, KVC_LAYOUT_STATIC);
    pool.emplace(type, makePoolOptions(3));
    view = pool->getView();
  }
  void expectFails(kvc_status_t status, const char *text) {
    EXPECT_FAILS(kvc_cache_read(&type, &view, device, component, slots, numSlots, rows), status,
                 text);
    EXPECT_FAILS(kvc_cache_write(&type, &view, device, component, slots, numSlots, rows),
                 status, text);
  }
  void expectInvalid(const char *text) { expectFails(KVC_STATUS_INVALID_ARGUMENT, text); }

  kvc_cache_type_t type = {};
  std::optional<OwnedPool> pool;
  kvc_cache_view_t view;
  kvc_device_t *device = nullptr;
  int32_t component = 0;
  int64_t slots[2] = {0, 47};
  int64_t numSlots = 2;
  char rows[2 * 16] = {};
};
} // namespace

TEST_F(ImagesCheckTest, Nulls) {
  EXPECT_FAILS(kvc_cache_read(nullptr, &view, nullptr, 0, slots, 2, rows),
               KVC_STATUS_INVALID_ARGUMENT, "expected type, got null");
  EXPECT_FAILS(kvc_cache_write(&type, nullptr, nullptr, 0, slots, 2, rows),
               KVC_STATUS_INVALID_ARGUMENT, "expected view, got null");
  EXPECT_FAILS(kvc_cache_read(&type, &view, nullptr, 0, nullptr, 2, rows),
               KVC_STATUS_INVALID_ARGUMENT, "expected slots of 2 tokens, got null");
  EXPECT_FAILS(kvc_cache_read(&type, &view, nullptr, 0, slots, 2, nullptr),
               KVC_STATUS_INVALID_ARGUMENT, "expected out_rows of 2 tokens, got null");
  EXPECT_FAILS(kvc_cache_write(&type, &view, nullptr, 0, slots, 2, nullptr),
               KVC_STATUS_INVALID_ARGUMENT, "expected rows of 2 tokens, got null");
  EXPECT_OK(kvc_cache_read(&type, &view, nullptr, 0, nullptr, 0, nullptr));
  EXPECT_OK(kvc_cache_write(&type, &view, nullptr, 0, nullptr, 0, nullptr));
}

TEST_F(ImagesCheckTest, Component) {
  for (int32_t index : {-1, 2, INT_MAX}) {
    component = index;
    std::string text = "expected a component from 0 to 1, got " + std::to_string(index);
    expectInvalid(text.c_str());
  }
  component = 1;
  expectFails(KVC_STATUS_UNSUPPORTED,
              "component 'k.scale': expected one with rows of tokens, got a static one: read "
              "and write its [2][1] elements at the view's data");
}

TEST_F(ImagesCheckTest, Slots) {
  for (int64_t slot : {int64_t{-1}, int64_t{48}, INT64_MAX, INT64_MIN}) {
    slots[1] = slot;
    std::string text =
        "slot 1: expected one of 3 pages of 16 tokens, got " + std::to_string(slot);
    expectInvalid(text.c_str());
  }
  numSlots = -1;
  expectInvalid("expected num_slots to be at least 0, got -1");
}

// Nothing of a call that is refused is done.
TEST_F(ImagesCheckTest, NothingIsWritten) {
  std::fill(std::begin(rows), std::end(rows), 1);
  slots[1] = 48;
  EXPECT_NE(kvc_cache_write(&type, &view, nullptr, 0, slots, 2, rows), KVC_STATUS_OK);
  EXPECT_EQ(*static_cast<char *>(view.components[0].data), 0);
}

TEST_F(ImagesCheckTest, TypeAndView) {
  type.page_size = 0;
  expectInvalid("expected a page size of at least 1, got 0");
  type.page_size = 8;
  expectFails(KVC_STATUS_MISMATCH, "expected a cache of the type that");
  type.page_size = 16;
  view.struct_size = 8;
  expectInvalid("expected a struct_size of a cache view of at least 280, got 8");
  view = pool->getView();
  view.components[0].data = nullptr;
  expectInvalid("component 'k': expected data of 3 pages, got null");
  view = pool->getView();
  view.components[0].head_stride = -1;
  expectInvalid("component 'k': expected a head stride of at least 1, got -1");
  view = pool->getView();
  view.num_pages = 0;
  expectInvalid("slot 0: expected one of 0 pages of 16 tokens, got 0");
}

TEST_F(ImagesCheckTest, Device) {
  int local = 0;
  device = reinterpret_cast<kvc_device_t *>(&local);
  expectInvalid("expected a device, got a pointer that never was one");
}

//===----------------------------------------------------------------------===//
// Devices
//===----------------------------------------------------------------------===//

namespace {
class DeviceImagesTest : public DeviceFixture {
protected:
  /// Moves a cache's memory to the device.
  void put(Cache &cache) {
    void *data = nullptr;
    ASSERT_OK(kvc_device_allocate(device, cache.memory.size(), &data));
    ASSERT_OK(kvc_device_upload(device, data, cache.memory.data(), cache.memory.size()));
    cache.view.components[0].data = data;
    cache.device = device;
  }
  /// Moves it back.
  void get(Cache &cache) {
    void *data = cache.view.components[0].data;
    ASSERT_OK(kvc_device_download(device, cache.memory.data(), data, cache.memory.size()));
    ASSERT_OK(kvc_device_free(device, data));
  }
  int countCalls(const char *name) { return std::exchange(cuda.numCalls[name], 0); }
};
} // namespace

TEST_F(DeviceImagesTest, ReadsAndWritesAsOnTheHost) {
  for (const Case &c : getCases()) {
    TRACE_CASE(c);
    Cache cache(c), expected(c);
    put(cache);
    std::mt19937 random(13);
    for (int round = 0; round < 5; ++round) {
      std::vector<int64_t> slots(random() % 6);
      for (int64_t &slot : slots)
        slot = static_cast<int64_t>(random()) % cache.getNumSlots();
      std::vector<uint8_t> rows = makeRandomBytes(slots.size() * cache.getRowBytes(), random());
      std::vector<uint8_t> got, wanted;
      ASSERT_OK(cache.write(slots, rows));
      ASSERT_OK(expected.write(slots, rows));
      ASSERT_OK(cache.read(slots, got));
      ASSERT_OK(expected.read(slots, wanted));
      EXPECT_EQ(got, wanted);
    }
    get(cache);
    EXPECT_EQ(cache.memory, expected.memory);
  }
}

// A page of a pool has no gaps: it is one transfer there and one back, however many of
// its slots follow each other.
TEST_F(DeviceImagesTest, EachPageIsMovedOnce) {
  kvc_cache_type_t type = {};
  type.page_size = 16;
  addComponent(type, "k", 3, 16, KVC_DTYPE_I4X2, KVC_LAYOUT_PACKED_KEY);
  addComponent(type, "v", 3, 16, KVC_DTYPE_BF16);
  kvc_pool_options_t options = makePoolOptions(4);
  options.device = device;
  OwnedPool pool(type, options);
  kvc_cache_view_t view = pool.getView();
  std::vector<int64_t> slots;
  for (int64_t page : {2, 0, 3})
    for (int64_t token = 0; token < 16; ++token)
      slots.push_back(page * 16 + token);
  std::vector<char> rows(slots.size() * 3 * 16 * 2);
  for (int32_t component : {0, 1}) {
    cuda.numCalls.clear();
    ASSERT_OK(kvc_cache_write(&type, &view, device, component, slots.data(),
                              static_cast<int64_t>(slots.size()), rows.data()));
    EXPECT_EQ(countCalls("cuMemcpyDtoHAsync_v2"), 3);
    EXPECT_EQ(countCalls("cuMemcpyHtoDAsync_v2"), 3);
    ASSERT_OK(kvc_cache_read(&type, &view, device, component, slots.data(),
                             static_cast<int64_t>(slots.size()), rows.data()));
    EXPECT_EQ(countCalls("cuMemcpyDtoHAsync_v2"), 3);
    EXPECT_EQ(countCalls("cuMemcpyHtoDAsync_v2"), 0);
  }
}

TEST_F(DeviceImagesTest, ThreadsTakeTurns) {
  Cache cache({KVC_DTYPE_I4X2, KVC_LAYOUT_PACKED_VALUE, 16, 2, 8}, 1), expected(cache.c, 1);
  put(cache);
  std::vector<uint8_t> rows = makeRandomBytes(16 * cache.getRowBytes(), 17);
  for (int64_t slot = 0; slot < 16; ++slot)
    expected.writeByHand(slot, rows.data() + slot * cache.getRowBytes());
  auto writeEvery = [&](int64_t first) {
    for (int64_t slot = first; slot < 16; slot += 2)
      EXPECT_OK(kvc_cache_write(&cache.type, &cache.view, device, 0, &slot, 1,
                                rows.data() + slot * cache.getRowBytes()));
  };
  std::thread other(writeEvery, 1);
  writeEvery(0);
  other.join();
  get(cache);
  EXPECT_EQ(cache.memory, expected.memory);
}

TEST_F(DeviceImagesTest, WhatTheDeviceReports) {
  Cache cache({KVC_DTYPE_I8, KVC_LAYOUT_PACKED_KEY, 16, 1, 8}, 1);
  put(cache);
  std::vector<uint8_t> rows(cache.getRowBytes());
  cuda.failCall("cuMemcpyHtoDAsync_v2", kIllegalAddress);
  EXPECT_FAILS(cache.write({3}, rows), KVC_STATUS_DEVICE_ERROR, "cuMemcpyHtoDAsync_v2");
  cuda.failCall("cuMemcpyDtoHAsync_v2", kIllegalAddress);
  EXPECT_FAILS(cache.read({3}, rows), KVC_STATUS_DEVICE_ERROR, "cuMemcpyDtoHAsync_v2");
  get(cache);
}
