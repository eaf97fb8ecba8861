//===- StatusTest.cpp - messages, names, the table ------------------------===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//
//===----------------------------------------------------------------------===//
#include "RuntimeTest.h"

#include <thread>

TEST(StatusTest, EveryStatusHasAName) {
  EXPECT_STREQ(kvc_status_name(KVC_STATUS_OK), "ok");
  EXPECT_STREQ(kvc_status_name(KVC_STATUS_INVALID_ARGUMENT),
               "invalid argument");
  EXPECT_STREQ(kvc_status_name(KVC_STATUS_OUT_OF_MEMORY), "out of memory");
  EXPECT_STREQ(kvc_status_name(KVC_STATUS_NOT_FOUND), "not found");
  EXPECT_STREQ(kvc_status_name(KVC_STATUS_MISMATCH), "mismatch");
  EXPECT_STREQ(kvc_status_name(KVC_STATUS_UNSUPPORTED), "unsupported");
  EXPECT_STREQ(kvc_status_name(KVC_STATUS_INTERNAL), "internal error");
  EXPECT_STREQ(kvc_status_name(KVC_STATUS_DEVICE_ERROR), "device error");
  EXPECT_STREQ(kvc_status_name(99), "unknown status");
  EXPECT_STREQ(kvc_status_name(-1), "unknown status");
}

TEST(StatusTest, ElementTypesHaveSizesAndNames) {
  struct {
    kvc_dtype_t dtype;
    int32_t size;
    const char *name;
  } rows[] = {{KVC_DTYPE_F32, 4, "f32"},
              {KVC_DTYPE_F16, 2, "f16"},
              {KVC_DTYPE_BF16, 2, "bf16"},
              {KVC_DTYPE_F8E4M3FN, 1, "f8E4M3FN"},
              {KVC_DTYPE_F8E5M2, 1, "f8E5M2"},
              {KVC_DTYPE_I8, 1, "i8"},
              {KVC_DTYPE_I4X2, 1, "i4x2"},
              {KVC_DTYPE_I32, 4, "i32"},
              {KVC_DTYPE_I64, 8, "i64"},
              {KVC_DTYPE_F64, 8, "f64"},
              {KVC_DTYPE_I1, 1, "i1"},
              {0, 0, "?"},
              {12, 0, "?"},
              {-1, 0, "?"}};
  for (const auto &row : rows) {
    EXPECT_EQ(kvc_dtype_size(row.dtype), row.size) << row.name;
    EXPECT_STREQ(kvc_dtype_name(row.dtype), row.name);
  }
}

TEST(StatusTest, MessagesBelongToTheirThread) {
  kvc_runtime_api()->fail(KVC_STATUS_INTERNAL, "mine");
  std::thread([] {
    EXPECT_STREQ(kvc_last_message(), "");
    kvc_runtime_api()->fail(KVC_STATUS_INTERNAL, "other");
    EXPECT_STREQ(kvc_last_message(), "other");
  }).join();
  EXPECT_STREQ(kvc_last_message(), "mine");
}

TEST(StatusTest, FailReturnsTheStatusAndKeepsTheText) {
  const kvc_rt_api_t *api = kvc_runtime_api();
  EXPECT_EQ(api->fail(KVC_STATUS_UNSUPPORTED, "100% %s %n"),
            KVC_STATUS_UNSUPPORTED);
  EXPECT_STREQ(kvc_last_message(), "100% %s %n");
  // The message itself may be given back, whole or in part.
  EXPECT_EQ(api->fail(KVC_STATUS_INTERNAL, kvc_last_message() + 5),
            KVC_STATUS_INTERNAL);
  EXPECT_STREQ(kvc_last_message(), "%s %n");
  EXPECT_EQ(api->fail(KVC_STATUS_INTERNAL, nullptr), KVC_STATUS_INTERNAL);
  EXPECT_STREQ(kvc_last_message(), "");
  // A message that is too long is cut, not lost.
  api->fail(KVC_STATUS_INTERNAL, std::string(100000, 'x').c_str());
  EXPECT_EQ(std::string(kvc_last_message()), std::string(4095, 'x'));
}

TEST(StatusTest, TableIsComplete) {
  const kvc_rt_api_t *api = kvc_runtime_api();
  EXPECT_EQ(api, kvc_runtime_api());
  EXPECT_EQ(api->struct_size, sizeof(*api));
  EXPECT_EQ(api->abi_version, KVC_ABI_VERSION);
  EXPECT_TRUE(api->check_call && api->fail && api->num_workers &&
              api->parallel_for && api->check_batch && api->launch);
  EXPECT_STRNE(kvc_runtime_version(), "");
}
