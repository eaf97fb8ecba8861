//===- HeaderTest.cpp - the headers in plain C ----------------------------===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//
//===----------------------------------------------------------------------===//
#include "RuntimeTest.h"

extern "C" const char *kvc_test_use_from_c(void);

TEST(HeaderTest, PlainC) {
  const char *fault = kvc_test_use_from_c();
  EXPECT_EQ(fault, nullptr) << fault;
}

// The fingerprint is FNV-1a over the structure; any field changes it.
TEST(HeaderTest, Fingerprint) {
  kvc_cache_type_t type = {};
  uint64_t expected = 14695981039346656037ull;
  for (size_t i = 0; i < sizeof(type); ++i)
    expected *= 1099511628211ull;
  EXPECT_EQ(kvc_cache_type_fingerprint(&type), expected);
  type = makeKeyValueType(16);
  uint64_t plain = kvc_cache_type_fingerprint(&type);
  type.components[1].layout = KVC_LAYOUT_PACKED_VALUE;
  EXPECT_NE(kvc_cache_type_fingerprint(&type), plain);
  type = makeKeyValueType(17);
  EXPECT_NE(kvc_cache_type_fingerprint(&type), plain);
}
