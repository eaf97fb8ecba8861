//===- CheckCallTest.cpp - checks of tensors and caches -------------------===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//
//===----------------------------------------------------------------------===//
#include "FakeProgram.h"
#include "RuntimeTest.h"

#include <array>
#include <climits>
#include <optional>
#include <utility>

namespace {
/// A good call of a function with tensors and two caches; each test spoils it.
class CheckCallTest : public testing::Test {
protected:
  CheckCallTest() {
    uint32_t keyValue = fake.addCacheType(makeKeyValueType(4));
    kvc_cache_type_t packedType = {};
    packedType.page_size = 16;
    addComponent(packedType, "c", 3, 6, KVC_DTYPE_BF16, KVC_LAYOUT_PACKED_KEY);
    uint32_t packed = fake.addCacheType(packedType);
    kvc_arg_desc_t fixed = makeTensorArg(KVC_DTYPE_F32, {3, 4});
    fixed.strides[0] = 8;
    fixed.strides[1] = 2;
    fake.addFunction("other", {});
    function = fake.addFunction("attend", {makeTensorArg(KVC_DTYPE_F32, {KVC_DYNAMIC, 2, 8}),
                                           fixed, makeTensorArg(KVC_DTYPE_I4X2, {}),
                                           makeCacheArg(keyValue), makeCacheArg(packed),
                                           makeResultArg(KVC_DTYPE_BF16, {KVC_DYNAMIC, 8})});
    fake.build();
    EXPECT_OK(fake.load(&program));
    query = makeTensor(data.data(), KVC_DTYPE_F32, {5, 2, 8});
    strided = makeTensor(data.data(), KVC_DTYPE_F32, {3, 4});
    strided.strides[0] = 8;
    strided.strides[1] = 2;
    scalar = makeTensor(data.data(), KVC_DTYPE_I4X2, {});
    result = makeTensor(data.data(), KVC_DTYPE_BF16, {5, 8});
    kv.emplace(makeKeyValueType(4), makePoolOptions(6));
    latent.emplace(packedType, makePoolOptions(7));
    kvView = kv->getView();
    latentView = latent->getView();
    args = {&query, &strided, &scalar, &kvView, &latentView, &result};
    call.struct_size = sizeof(call);
    call.num_args = static_cast<uint32_t>(args.size());
    call.args = args.data();
  }

  kvc_status_t check() {
    return kvc_runtime_api()->check_call(program, function, &call);
  }
  void expectInvalid(const std::string &text) {
    EXPECT_FAILS(check(), KVC_STATUS_INVALID_ARGUMENT,
                 "function 'attend'" + text);
  }

  FakeProgram fake;
  const kvc_program_t *program = nullptr;
  uint32_t function = 0;
  alignas(64) std::array<float, 256> data{};
  kvc_tensor_t query, strided, scalar, result;
  std::optional<OwnedPool> kv, latent;
  kvc_cache_view_t kvView, latentView;
  std::vector<const void *> args;
  kvc_call_t call = {};
};
} // namespace

TEST_F(CheckCallTest, GoodCall) { EXPECT_OK(check()); }

TEST_F(CheckCallTest, Call) {
  const kvc_rt_api_t *api = kvc_runtime_api();
  EXPECT_FAILS(api->check_call(program, function, nullptr),
               KVC_STATUS_INVALID_ARGUMENT,
               "function 'attend': expected a call, got null");
  EXPECT_FAILS(api->check_call(nullptr, function, &call),
               KVC_STATUS_INVALID_ARGUMENT, "expected a program, got null");
  EXPECT_FAILS(api->check_call(program, 2, &call), KVC_STATUS_NOT_FOUND,
               "expected a function below 2, got function 2");
  fake.blob().magic = 0;
  EXPECT_FAILS(check(), KVC_STATUS_INVALID_ARGUMENT, "expected magic word");
  fake.blob().magic = KVC_BLOB_MAGIC;
  call.struct_size = 8;
  expectInvalid(": expected a struct_size of a call of at least 32, got 8");
}

TEST_F(CheckCallTest, Count) {
  call.num_args = 5;
  expectInvalid(": expected 6 arguments, got 5");
  call.num_args = 7;
  expectInvalid(": expected 6 arguments, got 7");
  call.num_args = 6;
  call.args = nullptr;
  expectInvalid(": expected an array of 6 arguments, got null");
  function = 0; // without arguments no array is needed
  call.num_args = 0;
  EXPECT_OK(check());
}

TEST_F(CheckCallTest, NullArguments) {
  const char *kinds[] = {"tensor", "tensor", "tensor",
                         "cache",  "cache",  "tensor"};
  for (size_t i = 0; i < args.size(); ++i) {
    const void *saved = std::exchange(args[i], nullptr);
    expectInvalid(", argument " + std::to_string(i) + ": expected a " +
                  kinds[i] + ", got null");
    args[i] = saved;
  }
}

TEST_F(CheckCallTest, RankAndElementType) {
  query.rank = 2;
  expectInvalid(", argument 0: expected rank 3, got 2");
  query.rank = INT_MIN;
  expectInvalid(", argument 0: expected rank 3, got -2147483648");
  query.rank = 3;
  query.dtype = KVC_DTYPE_BF16;
  expectInvalid(", argument 0: expected elements of f32, got bf16 (3)");
  query.dtype = 77;
  expectInvalid(", argument 0: expected elements of f32, got ? (77)");
}

TEST_F(CheckCallTest, Shape) {
  query.shape[2] = 7;
  expectInvalid(", argument 0: expected dimension 2 to be 8, got 7");
  query.shape[2] = 8;
  query.shape[0] = -1;
  expectInvalid(", argument 0: expected dimension 0 to be at least 0, got -1");
  query.shape[0] = INT64_MIN;
  expectInvalid(", argument 0: expected dimension 0 to be at least 0");
}

TEST_F(CheckCallTest, Strides) {
  // Any stride but the last, which is 1 unless the descriptor says otherwise.
  query.strides[0] = 100;
  query.strides[1] = -8;
  EXPECT_OK(check());
  query.strides[2] = 2;
  expectInvalid(
      ", argument 0: expected the stride of dimension 2 to be 1, got 2");
  query.strides[2] = 1;
  strided.strides[0] = 9;
  expectInvalid(
      ", argument 1: expected the stride of dimension 0 to be 8, got 9");
  strided.strides[0] = 8;
  strided.strides[1] = 1;
  expectInvalid(
      ", argument 1: expected the stride of dimension 1 to be 2, got 1");
}

TEST_F(CheckCallTest, StridesThatDoNotMatter) {
  query.shape[0] = 1; // one row
  query.strides[0] = INT64_MIN;
  EXPECT_OK(check());
  query.shape[0] = 0; // nothing at all
  query.data = nullptr;
  query.strides[1] = query.strides[2] = 77;
  EXPECT_OK(check());
  // An input may repeat rows.
  query = makeTensor(data.data(), KVC_DTYPE_F32, {5, 2, 8});
  query.strides[0] = query.strides[1] = 0;
  EXPECT_OK(check());
}

TEST_F(CheckCallTest, OffsetsThatOverflow) {
  for (int64_t stride : {INT64_MAX, INT64_MIN, int64_t{1} << 60}) {
    query.strides[0] = stride;
    expectInvalid(", argument 0: expected offsets that fit in 64 bits");
  }
  query.strides[0] = 16;
  query.shape[0] = INT64_MAX;
  expectInvalid(", argument 0: expected offsets that fit in 64 bits");
}

TEST_F(CheckCallTest, ResultsThatOverlap) {
  for (int64_t stride : {0, 7, -7, 1}) {
    result.strides[0] = stride;
    expectInvalid(
        ", argument 5: expected the elements of a result to be distinct");
  }
  result.shape[0] = 1;
  EXPECT_OK(check());
  result.shape[0] = 5;
  result.strides[0] = -8;
  EXPECT_OK(check());
}

TEST_F(CheckCallTest, Data) {
  query.data = nullptr;
  expectInvalid(", argument 0: expected data of a tensor that is not empty");
  query.data = reinterpret_cast<char *>(data.data()) + 2;
  expectInvalid(
      ", argument 0: expected data aligned to its elements of 4 bytes");
  query.data = data.data();
  scalar.data = nullptr;
  expectInvalid(", argument 2: expected data of a tensor that is not empty");
  scalar.data = reinterpret_cast<char *>(data.data()) + 1;
  EXPECT_OK(check());
}

TEST_F(CheckCallTest, CacheHeader) {
  kvView.struct_size = 0;
  expectInvalid(", argument 3: expected a struct_size of a cache view of at "
                "least 280, got 0");
  kvView.struct_size = sizeof(kvView);
  kvView.num_components = 3;
  expectInvalid(", argument 3: expected 2 components, got 3");
  kvView.num_components = 2;
  kvView.num_pages = -1;
  expectInvalid(", argument 3: expected num_pages to be at least 0, got -1");
  kvView.num_pages = 0; // no pages, so nothing to look at
  kvView.components[0].data = nullptr;
  EXPECT_OK(check());
}

TEST_F(CheckCallTest, CacheOfAnotherType) {
  std::swap(args[3], args[4]);
  EXPECT_FAILS(check(), KVC_STATUS_MISMATCH,
               "function 'attend', argument 3: expected a cache of the type "
               "that the program was compiled for (fingerprint 0x");
}

TEST_F(CheckCallTest, CacheData) {
  kvView.components[1].data = nullptr;
  expectInvalid(
      ", argument 3: component 'v': expected data of 6 pages, got null");
  kvView = kv->getView();
  latentView.components[0].data =
      static_cast<char *>(latentView.components[0].data) + 1;
  expectInvalid(", argument 4: component 'c': expected data aligned to its "
                "elements of 2 bytes");
}

TEST_F(CheckCallTest, CacheStrides) {
  kvc_component_view_t &key = kvView.components[0];
  key.page_stride = 0;
  expectInvalid(", argument 3: component 'k': expected a page stride of at "
                "least 1, got 0");
  key.page_stride = -64;
  expectInvalid(", argument 3: component 'k': expected a page stride of at "
                "least 1, got -64");
  key.page_stride = 63; // a page is 2 heads x 4 tokens x 8
  expectInvalid(
      ", argument 3: component 'k': expected its elements to be distinct, got "
      "strides by which they overlap: page 63, head 32, token 8");
  key.page_stride = INT64_MAX / 8;
  expectInvalid(
      ", argument 3: component 'k': expected offsets that fit in 64 bits");
  key = kv->getView().components[0];
  key.head_stride = 31;
  expectInvalid(
      ", argument 3: component 'k': expected its elements to be distinct");
  key.head_stride = 0;
  expectInvalid(", argument 3: component 'k': expected a head stride of at "
                "least 1, got 0");
  key = kv->getView().components[0];
  key.token_stride = 7;
  expectInvalid(
      ", argument 3: component 'k': expected its elements to be distinct");
  key.token_stride = -8;
  expectInvalid(", argument 3: component 'k': expected a token stride of at "
                "least 1, got -8");

  // A packed image is one stretch of page size x width; tokens have no stride.
  kvc_component_view_t &latent = latentView.components[0];
  key = kv->getView().components[0];
  latent.token_stride = -5;
  EXPECT_OK(check());
  latent.head_stride = 95;
  expectInvalid(
      ", argument 4: component 'c': expected its elements to be distinct");
}

// Layouts of other engines: tokens outside heads, keys and values in one
// buffer, heads outside pages.
TEST_F(CheckCallTest, CachesOfOthers) {
  for (kvc_component_view_t strides :
       {kvc_component_view_t{nullptr, 64, 8, 16},
        kvc_component_view_t{nullptr, 2 * 64, 8, 16},
        kvc_component_view_t{nullptr, 32, 6 * 32, 8},
        kvc_component_view_t{nullptr, 2 * 64, 8, 32}}) {
    for (int i = 0; i < 2; ++i) {
      strides.data = kvView.components[i].data;
      kvView.components[i] = strides;
    }
    EXPECT_OK(check());
  }
}

//===----------------------------------------------------------------------===//
// Alignment that a descriptor asks for
//===----------------------------------------------------------------------===//

TEST_F(CheckCallTest, AlignmentOfTensors) {
  kvc_arg_desc_t &desc = fake.arg(function, 0);
  desc.alignment = 16;
  EXPECT_OK(check());
  query.data = data.data() + 1;
  expectInvalid(", argument 0: expected data aligned to 16 bytes, got 0x");
  query.data = data.data() + 4;
  query.strides[0] = 18;
  expectInvalid(", argument 0: expected the stride of dimension 0 to be a "
                "multiple of 16 bytes, got 18 elements of 4 bytes");
  query.strides[0] = -20;
  EXPECT_OK(check());
  query.strides[1] = 2;
  expectInvalid(", argument 0: expected the stride of dimension 1 to be a "
                "multiple of 16 bytes, got 2 elements of 4 bytes");
  desc.alignment = 8;
  EXPECT_OK(check());
  // Where there is one element no step is made, and elements keep their own.
  query.shape[0] = 1;
  query.strides[0] = 3;
  EXPECT_OK(check());
  desc.alignment = 2;
  query.data = reinterpret_cast<char *>(data.data()) + 2;
  expectInvalid(", argument 0: expected data aligned to its elements of 4");
  query.shape[0] = 0;
  EXPECT_OK(check());
}

TEST_F(CheckCallTest, AlignmentOfCaches) {
  // A row is 32 bytes, and no more is asked of it.
  fake.arg(function, 3).alignment = 64;
  EXPECT_OK(check());
  kvView.components[0].token_stride = 12;
  kvView.components[0].head_stride = 48;
  kvView.components[0].page_stride = 96;
  expectInvalid(", argument 3: component 'k': expected a token stride that is "
                "a multiple of 32 bytes, got 12 elements of 4 bytes");
  kvView = kv->getView();
  fake.arg(function, 3).alignment = 16;
  EXPECT_OK(check());
  kvc_component_view_t &value = kvView.components[1];
  value.page_stride += 2;
  expectInvalid(", argument 3: component 'v': expected a page stride that is a "
                "multiple of 16 bytes, got ");
  value.page_stride -= 2;
  value.head_stride += 1;
  value.page_stride = 128;
  expectInvalid(", argument 3: component 'v': expected a head stride that is a "
                "multiple of 16 bytes, got 33 elements of 4 bytes");
  value.head_stride -= 1;
  value.data = static_cast<char *>(value.data) + 8;
  expectInvalid(", argument 3: component 'v': expected data aligned to 16 "
                "bytes, got 0x");
  kvView.num_pages = 0;
  EXPECT_OK(check());
  // The token stride of a packed image does not matter.
  fake.arg(function, 4).alignment = 4;
  latentView.components[0].token_stride = 1;
  EXPECT_OK(check());
}

// Of arrays with narrower rows, such as scales, what their rows allow: 6 elements of
// f16 are 12 bytes, so 4. Elements that are wide enough are asked for all of it.
TEST(CheckScalesTest, AlignmentOfNarrowRows) {
  kvc_cache_type_t type = {};
  type.page_size = 16;
  addComponent(type, "k", 2, 32, KVC_DTYPE_I8);
  addComponent(type, "k.scale", 2, 6, KVC_DTYPE_F16);
  addComponent(type, "v", 2, 32, KVC_DTYPE_I4X2, KVC_LAYOUT_PACKED_VALUE);
  addComponent(type, "v.scale", 2, 1, KVC_DTYPE_F32, KVC_LAYOUT_STATIC);
  FakeProgram fake;
  fake.addFunction("f", {makeCacheArg(fake.addCacheType(type))});
  fake.build();
  fake.arg(0, 0).alignment = 32;
  const kvc_program_t *program = nullptr;
  ASSERT_OK(fake.load(&program));
  OwnedPool pool(type, makePoolOptions(3));
  kvc_cache_view_t view = pool.getView();
  const void *args[] = {&view};
  kvc_call_t call = {sizeof(call), 1, args, nullptr, 0};
  auto check = [&] { return kvc_runtime_api()->check_call(program, 0, &call); };
  auto move = [&](int i, int bytes) {
    view = pool.getView();
    view.components[i].data = static_cast<char *>(view.components[i].data) + bytes;
  };
  EXPECT_OK(check());
  move(1, 4);
  EXPECT_OK(check());
  move(1, 2);
  EXPECT_FAILS(check(), KVC_STATUS_INVALID_ARGUMENT,
               "component 'k.scale': expected data aligned to 4 bytes, got 0x");
  move(3, 4);
  EXPECT_OK(check());
  for (int i : {0, 2}) {
    move(i, 16);
    EXPECT_FAILS(check(), KVC_STATUS_INVALID_ARGUMENT,
                 ": expected data aligned to 32 bytes, got 0x");
  }
}

// What is static has no pages and no tokens.
TEST(CheckScalesTest, StaticComponents) {
  kvc_cache_type_t type = {};
  type.page_size = 16;
  addComponent(type, "k", 2, 32, KVC_DTYPE_I8);
  addComponent(type, "k.scale", 2, 4, KVC_DTYPE_F32, KVC_LAYOUT_STATIC);
  FakeProgram fake;
  fake.addFunction("f", {makeCacheArg(fake.addCacheType(type))});
  fake.build();
  const kvc_program_t *program = nullptr;
  ASSERT_OK(fake.load(&program));
  OwnedPool pool(type, makePoolOptions(3));
  kvc_cache_view_t view = pool.getView();
  const void *args[] = {&view};
  kvc_call_t call = {sizeof(call), 1, args, nullptr, 0};
  auto check = [&] { return kvc_runtime_api()->check_call(program, 0, &call); };
  EXPECT_OK(check());
  view.components[1].page_stride = 8;
  EXPECT_FAILS(check(), KVC_STATUS_INVALID_ARGUMENT,
               "component 'k.scale': expected page and token strides of 0 of what is static, "
               "got 8 and 0");
  view = pool.getView();
  view.components[1].token_stride = -1;
  EXPECT_FAILS(check(), KVC_STATUS_INVALID_ARGUMENT, "of what is static, got 0 and -1");
  view = pool.getView();
  view.components[1].head_stride = 3;
  EXPECT_FAILS(check(), KVC_STATUS_INVALID_ARGUMENT,
               "component 'k.scale': expected its elements to be distinct");
}

//===----------------------------------------------------------------------===//
// Rows that are tokens
//===----------------------------------------------------------------------===//

// Without a batch they agree with each other.
TEST(CheckRowsTest, WithoutABatch) {
  FakeProgram fake;
  fake.addFunction("f", {makeTensorArg(KVC_DTYPE_F32, {KVC_DYNAMIC}),
                         makeTensorArg(KVC_DTYPE_F32, {KVC_DYNAMIC}, true),
                         makeResultArg(KVC_DTYPE_F32, {KVC_DYNAMIC}, true)});
  fake.build();
  const kvc_program_t *program = nullptr;
  ASSERT_OK(fake.load(&program));
  float data[8];
  kvc_tensor_t a = makeTensor(data, KVC_DTYPE_F32, {3});
  kvc_tensor_t b = makeTensor(data, KVC_DTYPE_F32, {5});
  kvc_tensor_t c = makeTensor(data, KVC_DTYPE_F32, {5});
  const void *args[] = {&a, &b, &c};
  kvc_call_t call = {sizeof(call), 3, args, nullptr, 0};
  EXPECT_OK(kvc_runtime_api()->check_call(program, 0, &call));
  c.shape[0] = 4;
  EXPECT_FAILS(kvc_runtime_api()->check_call(program, 0, &call),
               KVC_STATUS_INVALID_ARGUMENT,
               "argument 2: expected as many rows as argument 1 has (5), got "
               "4");
}
