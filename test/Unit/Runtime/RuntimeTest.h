//===- RuntimeTest.h - what the runtime's tests share -----------*- C++ -*-===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Owners of runtime objects, and expectations on a status and its message.
//===----------------------------------------------------------------------===//
#ifndef KVC_TEST_UNIT_RUNTIME_RUNTIMETEST_H
#define KVC_TEST_UNIT_RUNTIME_RUNTIMETEST_H

#include "kvc-rt/runtime.h"

#include "gtest/gtest.h"

#include <cstring>
#include <string>
#include <vector>

/// True in builds with a sanitizer that reserves address space of its own, in
/// which limits on address space cannot be tested.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr bool kHasSanitizer = true;
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
inline constexpr bool kHasSanitizer = true;
#else
inline constexpr bool kHasSanitizer = false;
#endif
#else
inline constexpr bool kHasSanitizer = false;
#endif

/// Expects `call` to fail with `status` and a message that contains `text`.
#define EXPECT_FAILS(call, status, text)                                       \
  do {                                                                         \
    EXPECT_EQ(call, status);                                                   \
    EXPECT_NE(std::string(kvc_last_message()).find(text), std::string::npos)   \
        << "the message is: " << kvc_last_message();                           \
  } while (false)

#define EXPECT_OK(call)                                                        \
  EXPECT_EQ(call, KVC_STATUS_OK) << "the message is: " << kvc_last_message()
#define ASSERT_OK(call)                                                        \
  ASSERT_EQ(call, KVC_STATUS_OK) << "the message is: " << kvc_last_message()

/// Adds a component to `type`.
inline void addComponent(kvc_cache_type_t &type, const char *name,
                         int32_t heads, int32_t width, kvc_dtype_t dtype,
                         kvc_layout_t layout = KVC_LAYOUT_ROW_MAJOR) {
  kvc_component_type_t &component = type.components[type.num_components++];
  std::strncpy(component.name, name, KVC_MAX_NAME - 1);
  component.heads = heads;
  component.width = width;
  component.dtype = dtype;
  component.layout = layout;
}

/// Keys and values of 2 heads of 8 elements each.
inline kvc_cache_type_t makeKeyValueType(int32_t pageSize,
                                         kvc_dtype_t dtype = KVC_DTYPE_F32) {
  kvc_cache_type_t type = {};
  type.page_size = pageSize;
  addComponent(type, "k", 2, 8, dtype);
  addComponent(type, "v", 2, 8, dtype);
  return type;
}

inline kvc_pool_options_t makePoolOptions(int64_t numPages) {
  kvc_pool_options_t options = {};
  options.struct_size = sizeof(options);
  options.num_pages = numPages;
  options.num_layers = 1;
  return options;
}

/// A pool that is released at the end.
struct OwnedPool {
  OwnedPool(const kvc_cache_type_t &type, const kvc_pool_options_t &options) {
    EXPECT_OK(kvc_pool_create(&type, &options, &pool));
  }
  OwnedPool(int32_t pageSize, int64_t numPages)
      : OwnedPool(makeKeyValueType(pageSize), makePoolOptions(numPages)) {}
  ~OwnedPool() { kvc_pool_release(pool); }
  OwnedPool(const OwnedPool &) = delete;
  operator kvc_pool_t *() const { return pool; }

  kvc_sequence_t createSequence(int32_t numTokens = 0) const {
    kvc_sequence_t sequence = 0;
    EXPECT_OK(kvc_sequence_create(pool, &sequence));
    EXPECT_OK(kvc_sequence_append(pool, sequence, numTokens));
    return sequence;
  }
  int32_t getLength(kvc_sequence_t sequence) const {
    int32_t length = -1;
    EXPECT_OK(kvc_sequence_length(pool, sequence, &length));
    return length;
  }
  std::vector<int32_t> getPages(kvc_sequence_t sequence) const {
    int32_t count = 0;
    EXPECT_OK(kvc_sequence_pages(pool, sequence, nullptr, 0, &count));
    std::vector<int32_t> pages(count);
    EXPECT_OK(kvc_sequence_pages(pool, sequence, pages.data(), count, &count));
    return pages;
  }
  kvc_pool_stats_t getStats() const {
    kvc_pool_stats_t stats = {};
    EXPECT_OK(kvc_pool_stats(pool, &stats));
    return stats;
  }
  kvc_cache_view_t getView(int32_t layer = 0) const {
    kvc_cache_view_t view = {};
    EXPECT_OK(kvc_pool_view(pool, layer, &view));
    return view;
  }

  kvc_pool_t *pool = nullptr;
};

/// A stream that is released at the end.
struct OwnedStream {
  explicit OwnedStream(int32_t numThreads) {
    EXPECT_OK(kvc_stream_create_cpu(numThreads, &stream));
  }
  ~OwnedStream() { kvc_stream_release(stream); }
  OwnedStream(const OwnedStream &) = delete;
  operator kvc_stream_t *() const { return stream; }

  kvc_stream_t *stream = nullptr;
};

#endif // KVC_TEST_UNIT_RUNTIME_RUNTIMETEST_H
