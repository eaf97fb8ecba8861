//===- PoolTest.cpp - page pools: types, options, memory ------------------===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//
//===----------------------------------------------------------------------===//
#include "RuntimeTest.h"

#include <climits>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <sys/resource.h>
#include <unistd.h>

//===----------------------------------------------------------------------===//
// What is refused
//===----------------------------------------------------------------------===//

namespace {
/// Starts each case from a good type and good options.
class PoolCreateTest : public testing::Test {
protected:
  void expectFails(kvc_status_t status, const char *text) {
    auto *untouched = reinterpret_cast<kvc_pool_t *>(1);
    kvc_pool_t *pool = untouched;
    EXPECT_FAILS(kvc_pool_create(&type, &options, &pool), status, text);
    EXPECT_EQ(pool, untouched);
  }
  void expectInvalid(const char *text) {
    expectFails(KVC_STATUS_INVALID_ARGUMENT, text);
  }

  kvc_cache_type_t type = makeKeyValueType(16, KVC_DTYPE_BF16);
  kvc_pool_options_t options = makePoolOptions(4);
};
} // namespace

TEST_F(PoolCreateTest, Nulls) {
  kvc_pool_t *pool;
  EXPECT_FAILS(kvc_pool_create(nullptr, &options, &pool),
               KVC_STATUS_INVALID_ARGUMENT, "expected type, got null");
  EXPECT_FAILS(kvc_pool_create(&type, nullptr, &pool),
               KVC_STATUS_INVALID_ARGUMENT, "expected options, got null");
  EXPECT_FAILS(kvc_pool_create(&type, &options, nullptr),
               KVC_STATUS_INVALID_ARGUMENT, "expected out_pool, got null");
}

TEST_F(PoolCreateTest, PageSize) {
  for (int32_t size : {0, -1, INT_MIN}) {
    type.page_size = size;
    std::string text =
        "expected a page size of at least 1, got " + std::to_string(size);
    expectInvalid(text.c_str());
  }
}

TEST_F(PoolCreateTest, NumberOfComponents) {
  type.num_components = 0;
  expectInvalid("expected 1 to 8 components, got 0");
  type.num_components = 9;
  expectInvalid("expected 1 to 8 components, got 9");
  type.num_components = -1;
  expectInvalid("expected 1 to 8 components, got -1");
}

TEST_F(PoolCreateTest, Names) {
  std::memset(type.components[1].name, 'x', KVC_MAX_NAME);
  expectInvalid("component 1: expected a name of at most 15 bytes that ends in "
                "NUL, got 'xxxxxxxxxxxxxxxx...'");
  std::memset(type.components[1].name, 0, KVC_MAX_NAME);
  expectInvalid("component 1: expected a name, got an empty one");
  std::strcpy(type.components[1].name, "k");
  expectInvalid("got 'k' for components 0 and 1");
  std::strcpy(type.components[1].name, "v");
  type.components[1].name[9] = 'z';
  expectInvalid("component 1: expected zeros after the end of its name 'v'");
}

TEST_F(PoolCreateTest, HeadsAndWidth) {
  type.components[0].heads = 0;
  expectInvalid("component 'k': expected at least 1 head, got 0");
  type.components[0].heads = 1;
  type.components[1].width = -5;
  expectInvalid("component 'v': expected a width of at least 1, got -5");
}

TEST_F(PoolCreateTest, ElementTypes) {
  for (kvc_dtype_t dtype : {KVC_DTYPE_I32, KVC_DTYPE_I64}) {
    type.components[1].dtype = dtype;
    std::string text = std::string("component 'v': expected elements of f32, f16, bf16, f8, "
                                   "i8 or i4x2, got ") +
                       kvc_dtype_name(dtype);
    expectFails(KVC_STATUS_UNSUPPORTED, text.c_str());
  }
  type.components[1].dtype = 0;
  expectInvalid("component 'v': expected an element type from 1 to 9, got 0");
  type.components[1].dtype = 10;
  expectInvalid("component 'v': expected an element type from 1 to 9, got 10");
}

TEST_F(PoolCreateTest, ConstantScales) {
  for (float scale : {-1.0f, INFINITY, NAN}) {
    type.components[0].scale = scale;
    expectInvalid("component 'k': expected a constant scale that is finite and at least 0, "
                  "and then 0, got ");
  }
  type.components[0].scale = 0.5f;
  type.components[0].reserved = 3;
  expectInvalid("and then 0, got 0.5 and 3");
}

TEST_F(PoolCreateTest, Layouts) {
  type.components[0].layout = 5;
  expectInvalid("component 'k': expected a layout from 0 to 4, got 5");
  type.components[0].layout = KVC_LAYOUT_LANE_KEY;
  expectInvalid("component 'k': expected elements of f8, i8 or i4x2 for the layout of lanes, "
                "got bf16");
  type.components[0].layout = KVC_LAYOUT_PACKED_KEY;
  type.page_size = 24;
  expectInvalid("component 'k': expected a page size that is a multiple of 16 "
                "for a packed layout, got 24");
  type.page_size = 32;
  type.components[0].width = 7;
  expectInvalid("component 'k': expected a width that is a multiple of 2 for a packed layout "
                "of bf16, got 7");
  // Words of four.
  type.components[0].width = 6;
  for (kvc_layout_t layout : {KVC_LAYOUT_PACKED_KEY, KVC_LAYOUT_PACKED_VALUE})
    for (kvc_dtype_t dtype :
         {KVC_DTYPE_F8E4M3FN, KVC_DTYPE_F8E5M2, KVC_DTYPE_I8, KVC_DTYPE_I4X2}) {
      type.components[0].layout = layout;
      type.components[0].dtype = dtype;
      std::string text = std::string("component 'k': expected a width that is a multiple of 4 "
                                     "for a packed layout of ") +
                         kvc_dtype_name(dtype) + ", got 6";
      expectInvalid(text.c_str());
    }
}

TEST_F(PoolCreateTest, UnusedComponents) {
  type.components[5].width = 1;
  expectInvalid("expected zeros in component 5, which is past the 2 in use");
}

TEST_F(PoolCreateTest, Options) {
  options.struct_size = 24;
  expectInvalid("expected a struct_size of at least 32, got 24");
  options = makePoolOptions(4);
  options.flags = 6;
  expectInvalid("expected no flags but KVC_POOL_DEBUG_FILL, got 0x6");
  for (int64_t pages : {int64_t{0}, int64_t{-1}, int64_t{1} << 31}) {
    options = makePoolOptions(pages);
    std::string text =
        "expected num_pages from 1 to 2147483647, got " + std::to_string(pages);
    expectInvalid(text.c_str());
  }
  options = makePoolOptions(4);
  options.num_layers = 0;
  expectInvalid("expected num_layers to be at least 1, got 0");
  options.num_layers = 1;
  options.reserved = 7;
  expectInvalid("expected reserved to be 0, got 7");
}

// Sizes that wrap around 64 bits at each of the steps.
TEST_F(PoolCreateTest, SizesThatOverflow) {
  type.components[0].heads = INT_MAX;
  type.components[0].width = INT_MAX;
  type.page_size = 16;
  expectInvalid("component 'k': expected a page of fewer than 2^63 bytes");
  type.page_size = INT_MAX;
  expectInvalid("component 'k': expected a page of fewer than 2^63 bytes");
  // 4 * 3 * (2^31 - 1) * 715827883 = 2^64 - 4, which rounds up to 2^64.
  type = {};
  type.page_size = INT_MAX;
  addComponent(type, "k", 3, 715827883, KVC_DTYPE_F32);
  expectInvalid("component 'k': expected a page of fewer than 2^63 bytes");
  type = makeKeyValueType(1 << 20);
  options = makePoolOptions(INT_MAX);
  options.num_layers = INT_MAX;
  expectInvalid("expected a pool of fewer than 2^63 bytes");
}

// Fits in 64 bits, but in no address space.
TEST_F(PoolCreateTest, NoAddressSpace) {
  type = makeKeyValueType(1 << 16);
  options = makePoolOptions(INT_MAX);
  options.num_layers = 16;
  expectFails(KVC_STATUS_OUT_OF_MEMORY, "no memory for a pool of 2147483647 "
                                        "pages x 16 layers x 8388608 bytes");
}

// With debug fill all memory is needed at once, so an excess is refused before
// it is touched.
TEST_F(PoolCreateTest, NoMemoryForDebugFill) {
  long long bytes = sysconf(_SC_PHYS_PAGES) * (long long)sysconf(_SC_PAGESIZE);
  type = makeKeyValueType(1 << 13); // a page is 1 MiB
  options = makePoolOptions(bytes / (1 << 20) * 4);
  std::ifstream overcommit("/proc/sys/vm/overcommit_memory");
  int mode = 0;
  overcommit >> mode;
  if (mode == 1 || kHasSanitizer)
    GTEST_SKIP() << "memory is promised without limit here";
  options.flags = KVC_POOL_DEBUG_FILL;
  expectFails(KVC_STATUS_OUT_OF_MEMORY, "no memory for a pool");
}

/// Limits the address space of this process to what it has and `extra` bytes.
static void limitAddressSpace(size_t extra) {
  std::ifstream statm("/proc/self/statm");
  size_t pages = 0;
  statm >> pages;
  rlimit limit;
  limit.rlim_cur = limit.rlim_max = pages * sysconf(_SC_PAGESIZE) + extra;
  setrlimit(RLIMIT_AS, &limit);
}

// Runs out of address space in a process of its own: the calls fail with a
// status, the pool stays as it was, and everything works on.
static int runWithoutMemory() {
  OwnedPool pool(1, 1 << 22);
  kvc_sequence_t small = pool.createSequence(3);
  kvc_sequence_t large = pool.createSequence(1 << 21);
  kvc_pool_stats_t before = pool.getStats();
  limitAddressSpace(6 << 20);

  kvc_cache_type_t type = makeKeyValueType(16);
  kvc_pool_options_t options = makePoolOptions(1 << 16);
  kvc_pool_t *none = nullptr;
  EXPECT_FAILS(kvc_pool_create(&type, &options, &none),
               KVC_STATUS_OUT_OF_MEMORY, "no memory for a pool of 65536 pages");
  EXPECT_FAILS(kvc_sequence_append(pool, small, 2000000),
               KVC_STATUS_OUT_OF_MEMORY,
               "kvc_sequence_append: out of host memory");
  int32_t queryLen = 1 << 21;
  kvc_batch_object_t *batch = nullptr;
  EXPECT_FAILS(kvc_batch_create(pool, &large, &queryLen, 1, &batch),
               KVC_STATUS_OUT_OF_MEMORY,
               "kvc_batch_create: out of host memory");
  kvc_stream_t *stream = nullptr;
  EXPECT_FAILS(kvc_stream_create_cpu(64, &stream), KVC_STATUS_OUT_OF_MEMORY,
               "cannot start 63 threads");
  EXPECT_TRUE(!none && !batch && !stream);

  kvc_pool_stats_t after = pool.getStats();
  EXPECT_EQ(std::memcmp(&before, &after, sizeof(after)), 0);
  EXPECT_EQ(pool.getLength(small), 3);
  EXPECT_OK(kvc_sequence_append(pool, small, 5));
  EXPECT_EQ(pool.getPages(small).size(), 8u);
  return testing::Test::HasFailure();
}

TEST(PoolTest, OutOfMemoryChangesNothing) {
  if (kHasSanitizer)
    GTEST_SKIP() << "a sanitizer needs the address space itself";
  // A process of its own that starts anew: with threads behind it the heap
  // would have space in reserve.
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(std::exit(runWithoutMemory()), testing::ExitedWithCode(0), "");
}

//===----------------------------------------------------------------------===//
// Views
//===----------------------------------------------------------------------===//

// All components of a page lie together; each starts at a multiple of 64 bytes,
// and pages and layers follow each other without gaps.
TEST(PoolTest, ViewDescribesThePage) {
  kvc_cache_type_t type = {};
  type.page_size = 16;
  addComponent(type, "k", 3, 10, KVC_DTYPE_BF16, KVC_LAYOUT_PACKED_KEY);
  addComponent(type, "v", 3, 7, KVC_DTYPE_F32);
  addComponent(type, "r", 1, 1, KVC_DTYPE_F16, KVC_LAYOUT_PACKED_VALUE);
  kvc_pool_options_t options = makePoolOptions(5);
  options.num_layers = 3;
  OwnedPool pool(type, options);
  // k: 3*16*10*2 = 960 bytes, v: 3*16*7*4 = 1344, r: 32, padded to 64.
  const int64_t pageBytes = 960 + 1344 + 64;
  EXPECT_EQ(pool.getStats().bytes_per_page, pageBytes);

  const char *base = static_cast<char *>(pool.getView(0).components[0].data);
  for (int32_t layer = 0; layer < 3; ++layer) {
    kvc_cache_view_t view = pool.getView(layer);
    EXPECT_EQ(view.struct_size, sizeof(view));
    EXPECT_EQ(view.num_components, 3u);
    EXPECT_EQ(view.num_pages, 5);
    EXPECT_EQ(view.fingerprint, kvc_cache_type_fingerprint(&type));
    const int64_t offsets[] = {0, 960, 960 + 1344};
    for (int i = 0; i < 3; ++i)
      EXPECT_EQ(static_cast<char *>(view.components[i].data) - base,
                layer * 5 * pageBytes + offsets[i]);
    EXPECT_EQ(view.components[0].page_stride, pageBytes / 2);
    EXPECT_EQ(view.components[1].page_stride, pageBytes / 4);
    EXPECT_EQ(view.components[2].page_stride, pageBytes / 2);
    EXPECT_EQ(view.components[0].head_stride, 16 * 10);
    EXPECT_EQ(view.components[1].head_stride, 16 * 7);
    EXPECT_EQ(view.components[2].head_stride, 16);
    EXPECT_EQ(view.components[0].token_stride, 0);
    EXPECT_EQ(view.components[1].token_stride, 7);
    EXPECT_EQ(view.components[2].token_stride, 0);
    EXPECT_EQ(view.components[3].data, nullptr);
  }
  EXPECT_EQ(reinterpret_cast<uintptr_t>(base) % 64, 0u);
}

// Elements of a byte, and static components: those lie in front of the pages of each
// layer, one starting at each multiple of 64 bytes.
TEST(PoolTest, ViewDescribesCodesAndScales) {
  kvc_cache_type_t type = {};
  type.page_size = 16;
  addComponent(type, "k", 3, 12, KVC_DTYPE_I8, KVC_LAYOUT_PACKED_KEY);
  addComponent(type, "k.scale", 3, 1, KVC_DTYPE_F32, KVC_LAYOUT_STATIC);
  addComponent(type, "v", 3, 8, KVC_DTYPE_I4X2, KVC_LAYOUT_PACKED_VALUE);
  addComponent(type, "v.scale", 3, 2, KVC_DTYPE_F16);
  addComponent(type, "v.zero", 1, 1, KVC_DTYPE_F16, KVC_LAYOUT_STATIC);
  kvc_pool_options_t options = makePoolOptions(5);
  options.num_layers = 3;
  OwnedPool pool(type, options);
  // k: 3*16*12 = 576 bytes, v: 3*16*8 = 384, v.scale: 3*16*2*2 = 192.
  const int64_t pageBytes = 576 + 384 + 192, staticBytes = 128;
  EXPECT_EQ(pool.getStats().bytes_per_page, pageBytes);
  const char *base = static_cast<char *>(pool.getView(0).components[1].data);
  for (int32_t layer = 0; layer < 3; ++layer) {
    kvc_cache_view_t view = pool.getView(layer);
    const int64_t offsets[] = {128, 0, 128 + 576, 128 + 576 + 384, 64};
    for (int i = 0; i < 5; ++i)
      EXPECT_EQ(static_cast<char *>(view.components[i].data) - base,
                layer * (staticBytes + 5 * pageBytes) + offsets[i]);
    EXPECT_EQ(view.components[0].page_stride, pageBytes);
    EXPECT_EQ(view.components[2].page_stride, pageBytes);
    EXPECT_EQ(view.components[3].page_stride, pageBytes / 2);
    EXPECT_EQ(view.components[0].head_stride, 16 * 12);
    EXPECT_EQ(view.components[2].head_stride, 16 * 8);
    EXPECT_EQ(view.components[3].head_stride, 16 * 2);
    EXPECT_EQ(view.components[3].token_stride, 2);
    for (int i : {1, 4}) {
      EXPECT_EQ(view.components[i].page_stride, 0);
      EXPECT_EQ(view.components[i].token_stride, 0);
    }
    EXPECT_EQ(view.components[1].head_stride, 1);
    // NaN until somebody sets them; pages are zero.
    EXPECT_TRUE(std::isnan(*static_cast<float *>(view.components[1].data)));
    EXPECT_EQ(*static_cast<uint16_t *>(view.components[4].data), 0xffff);
    EXPECT_EQ(*static_cast<char *>(view.components[0].data), 0);
  }
}

// Pages come and go; what is static stays.
TEST(PoolTest, DebugFillLeavesStaticComponents) {
  kvc_cache_type_t type = {};
  type.page_size = 4;
  addComponent(type, "k", 1, 8, KVC_DTYPE_I8);
  addComponent(type, "k.scale", 1, 1, KVC_DTYPE_F32, KVC_LAYOUT_STATIC);
  kvc_pool_options_t options = makePoolOptions(2);
  options.flags = KVC_POOL_DEBUG_FILL;
  OwnedPool pool(type, options);
  kvc_cache_view_t view = pool.getView();
  auto *scale = static_cast<float *>(view.components[1].data);
  EXPECT_TRUE(std::isnan(*scale));
  *scale = 0.25f;
  kvc_sequence_t sequence = pool.createSequence(8);
  static_cast<uint8_t *>(view.components[0].data)[0] = 1;
  EXPECT_OK(kvc_sequence_free(pool, sequence));
  EXPECT_EQ(static_cast<uint8_t *>(view.components[0].data)[0], 0xff);
  EXPECT_EQ(*scale, 0.25f);
}

TEST(PoolTest, ViewOfALayerThatDoesNotExist) {
  OwnedPool pool(4, 4);
  kvc_cache_view_t view = {};
  view.num_pages = 77;
  EXPECT_FAILS(kvc_pool_view(pool, 1, &view), KVC_STATUS_INVALID_ARGUMENT,
               "expected a layer from 0 to 0, got 1");
  EXPECT_FAILS(kvc_pool_view(pool, -1, &view), KVC_STATUS_INVALID_ARGUMENT,
               "expected a layer from 0 to 0, got -1");
  EXPECT_EQ(view.num_pages, 77);
  EXPECT_FAILS(kvc_pool_view(pool, 0, nullptr), KVC_STATUS_INVALID_ARGUMENT,
               "expected out_view, got null");
  EXPECT_FAILS(kvc_pool_stats(pool, nullptr), KVC_STATUS_INVALID_ARGUMENT,
               "expected out_stats, got null");
}

// 65,538 pages of 64 KiB are 4 GiB of address space and almost no memory; the
// elements of page 65,537 lie beyond 2^31.
TEST(PoolTest, HugePoolCostsOnlyWhatIsTouched) {
  kvc_cache_type_t type = {};
  type.page_size = 16;
  addComponent(type, "k", 8, 128, KVC_DTYPE_BF16);
  addComponent(type, "v", 8, 128, KVC_DTYPE_BF16);
  kvc_pool_options_t options = makePoolOptions(65538);
  auto residentBytes = [] {
    std::ifstream statm("/proc/self/statm");
    size_t total = 0, resident = 0;
    statm >> total >> resident;
    return resident * sysconf(_SC_PAGESIZE);
  };
  size_t before = residentBytes();
  OwnedPool pool(type, options);
  kvc_cache_view_t view = pool.getView();
  auto *last = static_cast<uint16_t *>(view.components[1].data) +
               65537 * view.components[1].page_stride + 8 * 16 * 128 - 1;
  EXPECT_EQ(*last, 0);
  *last = 0x3f80;
  EXPECT_LT(residentBytes() - before, size_t{64} << 20);

  // Even the largest number of pages starts at once.
  type = makeKeyValueType(1);
  options = makePoolOptions(INT_MAX);
  if (!kHasSanitizer) {
    OwnedPool largest(type, options);
    kvc_sequence_t sequence = largest.createSequence(3);
    EXPECT_EQ(largest.getPages(sequence), (std::vector<int32_t>{0, 1, 2}));
    EXPECT_LT(residentBytes() - before, size_t{64} << 20);
  }
}

//===----------------------------------------------------------------------===//
// Debug fill
//===----------------------------------------------------------------------===//

static bool isPageNaN(const OwnedPool &pool, int32_t layer, int32_t page) {
  kvc_cache_view_t view = pool.getView(layer);
  for (uint32_t i = 0; i < view.num_components; ++i) {
    auto *data = static_cast<float *>(view.components[i].data) +
                 page * view.components[i].page_stride;
    for (int j = 0; j < view.components[i].head_stride * 2; ++j)
      if (!std::isnan(data[j]))
        return false;
  }
  return true;
}

TEST(PoolTest, DebugFillShowsInFreePagesAndTails) {
  kvc_pool_options_t options = makePoolOptions(6);
  options.flags = KVC_POOL_DEBUG_FILL;
  options.num_layers = 2;
  options.page_order_seed = 5;
  OwnedPool pool(makeKeyValueType(4), options);
  for (int32_t page = 0; page < 6; ++page)
    EXPECT_TRUE(isPageNaN(pool, 0, page) && isPageNaN(pool, 1, page));

  // Pages are handed out as they are: what no append wrote stays NaN.
  kvc_sequence_t sequence = pool.createSequence(6);
  std::vector<int32_t> pages = pool.getPages(sequence);
  ASSERT_EQ(pages.size(), 2u);
  for (int32_t layer = 0; layer < 2; ++layer) {
    kvc_cache_view_t view = pool.getView(layer);
    for (int32_t page : pages) {
      EXPECT_TRUE(isPageNaN(pool, layer, page));
      auto *data = static_cast<float *>(view.components[0].data) +
                   page * view.components[0].page_stride;
      data[3] = 1.0f;
      EXPECT_FALSE(isPageNaN(pool, layer, page));
    }
  }
  // Freed ones are filled again, in every layer.
  EXPECT_OK(kvc_sequence_free(pool, sequence));
  for (int32_t page = 0; page < 6; ++page)
    EXPECT_TRUE(isPageNaN(pool, 0, page) && isPageNaN(pool, 1, page));
}

// All bits set is NaN in each element type that a pool holds.
TEST(PoolTest, DebugFillIsNaNInSixteenBits) {
  for (kvc_dtype_t dtype : {KVC_DTYPE_F16, KVC_DTYPE_BF16}) {
    kvc_pool_options_t options = makePoolOptions(1);
    options.flags = KVC_POOL_DEBUG_FILL;
    OwnedPool pool(makeKeyValueType(1, dtype), options);
    EXPECT_EQ(*static_cast<uint16_t *>(pool.getView().components[0].data),
              0xffff);
  }
}

// Without it, memory is zero and pages keep their contents.
TEST(PoolTest, NoFillByDefault) {
  OwnedPool pool(4, 2);
  auto *data = static_cast<float *>(pool.getView().components[0].data);
  EXPECT_EQ(data[0], 0.0f);
  kvc_sequence_t sequence = pool.createSequence(1);
  data[0] = 5.0f;
  EXPECT_OK(kvc_sequence_free(pool, sequence));
  EXPECT_EQ(data[0], 5.0f);
}

/// Writes past the last page of a pool.
static void runOffTheEnd() {
  OwnedPool pool(4, 4);
  kvc_cache_view_t view = pool.getView();
  auto *data = static_cast<volatile char *>(view.components[0].data);
  // The fence starts within 64 KiB of the end.
  data[4 * pool.getStats().bytes_per_page + (64 << 10)] = 1;
}

TEST(PoolDeathTest, EndsAreFenced) { EXPECT_DEATH(runOffTheEnd(), ""); }

//===----------------------------------------------------------------------===//
// Handles
//===----------------------------------------------------------------------===//

TEST(PoolTest, WrongHandles) {
  int local = 0;
  auto *foreign = reinterpret_cast<kvc_pool_t *>(&local);
  kvc_pool_stats_t stats = {};
  kvc_cache_view_t view = {};
  EXPECT_FAILS(kvc_pool_stats(nullptr, &stats), KVC_STATUS_INVALID_ARGUMENT,
               "expected a pool, got null");
  EXPECT_FAILS(kvc_pool_stats(foreign, &stats), KVC_STATUS_INVALID_ARGUMENT,
               "expected a pool, got a pointer that never was one");
  kvc_pool_t *stale;
  {
    OwnedPool pool(4, 4);
    stale = pool;
  }
  OwnedPool newer(4, 4);
  EXPECT_FAILS(kvc_pool_view(stale, 0, &view), KVC_STATUS_INVALID_ARGUMENT,
               "expected a pool, got one that was released");
  kvc_pool_release(stale);
  kvc_pool_release(foreign);
  kvc_pool_release(nullptr);
  EXPECT_EQ(newer.getStats().total_pages, 4);
}
