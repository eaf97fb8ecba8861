//===- ProgramTest.cpp - loading and running programs ---------------------===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//
//===----------------------------------------------------------------------===//
#include "FakeProgram.h"
#include "RuntimeTest.h"

#include <functional>
#include <thread>

//===----------------------------------------------------------------------===//
// Loading
//===----------------------------------------------------------------------===//

static FakeProgram makeProgram() {
  FakeProgram fake;
  fake.addCacheType(makeKeyValueType(4));
  fake.addFunction("first", {makeTensorArg(KVC_DTYPE_F32, {2, KVC_DYNAMIC}),
                             makeCacheArg(0), makeBatchArg(),
                             makeResultArg(KVC_DTYPE_F32, {2})});
  fake.addFunction("second", {});
  fake.addImage("sm_90a", ".version 8.0");
  fake.addKernel("attention", 0, 128, 1 << 16);
  return fake;
}

TEST(ProgramTest, LoadAndFind) {
  FakeProgram fake = makeProgram();
  fake.build();
  const kvc_program_t *program = nullptr;
  ASSERT_OK(fake.load(&program));
  EXPECT_EQ(program, &fake.program());
  uint32_t function = 99;
  EXPECT_OK(kvc_program_find(program, "second", &function));
  EXPECT_EQ(function, 1u);
  EXPECT_EQ(kvc_program_function(program, 1), &fake.function(1));
  EXPECT_EQ(kvc_program_function(program, 0)->num_inputs, 3u);
  EXPECT_FAILS(kvc_program_find(program, "third", &function),
               KVC_STATUS_NOT_FOUND, "got 'third', which it does not have");
  EXPECT_EQ(function, 1u);
  EXPECT_FAILS(kvc_program_function(program, 2), nullptr,
               "expected a function below 2, got function 2");
  EXPECT_FAILS(kvc_program_find(program, nullptr, &function),
               KVC_STATUS_INVALID_ARGUMENT, "expected name, got null");
  EXPECT_FAILS(kvc_program_find(program, "first", nullptr),
               KVC_STATUS_INVALID_ARGUMENT, "expected out_function, got null");
  EXPECT_FAILS(kvc_program_find(nullptr, "first", &function),
               KVC_STATUS_INVALID_ARGUMENT, "expected a program, got null");
  EXPECT_FAILS(kvc_program_function(nullptr, 0), nullptr,
               "expected a program, got null");
}

TEST(ProgramTest, LoadWithoutProgram) {
  const kvc_program_t *program = nullptr;
  EXPECT_FAILS(kvc_program_load(nullptr, &program), KVC_STATUS_INVALID_ARGUMENT,
               "expected query, got null");
  kvc_program_query_fn none = [](uint32_t) {
    return static_cast<const kvc_program_t *>(nullptr);
  };
  EXPECT_FAILS(kvc_program_load(none, nullptr), KVC_STATUS_INVALID_ARGUMENT,
               "expected out_program, got null");
  EXPECT_FAILS(kvc_program_load(none, &program), KVC_STATUS_MISMATCH,
               "expected a program that speaks ABI version 5");
  EXPECT_EQ(program, nullptr);
}

// Spoils one thing at a time in a good program.
TEST(ProgramTest, SpoiltProgramsAreRefused) {
  using Spoil = std::function<void(FakeProgram &)>;
  const struct {
    kvc_status_t status;
    const char *text;
    Spoil spoil;
  } cases[] = {
      {KVC_STATUS_MISMATCH, "program: expected a struct_size of at least 24",
       [](FakeProgram &p) { p.program().struct_size = 16; }},
      {KVC_STATUS_MISMATCH, "program: expected ABI version 5, got 4",
       [](FakeProgram &p) { p.program().abi_version = 4; }},
      {KVC_STATUS_INVALID_ARGUMENT, "program: expected a blob, got null",
       [](FakeProgram &p) { p.program().blob = nullptr; }},
      {KVC_STATUS_INVALID_ARGUMENT, "expected a blob at a multiple of 8",
       [](FakeProgram &p) {
         p.program().blob = reinterpret_cast<const kvc_blob_t *>(
             reinterpret_cast<const char *>(p.program().blob) + 4);
       }},
      {KVC_STATUS_INVALID_ARGUMENT, "expected magic word 0x5043564b, got 0x1",
       [](FakeProgram &p) { p.blob().magic = 1; }},
      {KVC_STATUS_MISMATCH, "blob: expected ABI version 5, got 7",
       [](FakeProgram &p) { p.blob().abi_version = 7; }},
      {KVC_STATUS_INVALID_ARGUMENT, "blob: expected a size of at least 56",
       [](FakeProgram &p) { p.blob().size = 55; }},
      {KVC_STATUS_INVALID_ARGUMENT, "expected entries of its 2 functions",
       [](FakeProgram &p) { p.program().entries = nullptr; }},
      {KVC_STATUS_INVALID_ARGUMENT, "expected an entry 'run' of function 'second'",
       [](FakeProgram &p) { p.entries()[1].run = nullptr; }},
      {KVC_STATUS_INVALID_ARGUMENT, "expected an entry 'needs' of function 'first'",
       [](FakeProgram &p) { p.entries()[0].needs = nullptr; }},
      {KVC_STATUS_INVALID_ARGUMENT, "expected a target that ends inside",
       [](FakeProgram &p) { p.blob().target = 1u << 31; }},
      {KVC_STATUS_INVALID_ARGUMENT, "expected functions inside",
       [](FakeProgram &p) { p.blob().num_functions = 1u << 31; }},
      {KVC_STATUS_INVALID_ARGUMENT, "expected functions inside",
       [](FakeProgram &p) { p.blob().functions = 0xfffffff8u; }},
      {KVC_STATUS_INVALID_ARGUMENT, "expected functions at a multiple of 4",
       [](FakeProgram &p) { p.blob().functions += 2; }},
      {KVC_STATUS_INVALID_ARGUMENT, "expected cache types inside",
       [](FakeProgram &p) { p.blob().num_cache_types = 1u << 20; }},
      {KVC_STATUS_INVALID_ARGUMENT, "expected a page size of at least 1",
       [](FakeProgram &p) { p.cacheType(0).page_size = 0; }},
      {KVC_STATUS_INVALID_ARGUMENT, "expected images inside",
       [](FakeProgram &p) { p.blob().num_images = 1u << 20; }},
      {KVC_STATUS_INVALID_ARGUMENT, "expected an image inside",
       [](FakeProgram &p) { p.image(0).data_size = UINT64_MAX; }},
      {KVC_STATUS_INVALID_ARGUMENT, "expected an image that ends in NUL",
       [](FakeProgram &p) { p.image(0).data_size = 3; }},
      {KVC_STATUS_INVALID_ARGUMENT, "expected an image that ends in NUL",
       [](FakeProgram &p) { p.image(0).data_size = 0; }},
      {KVC_STATUS_INVALID_ARGUMENT, "expected an image's target that ends",
       [](FakeProgram &p) { p.image(0).target = static_cast<kvc_offset_t>(p.blob().size); }},
      {KVC_STATUS_INVALID_ARGUMENT, "expected kernels inside",
       [](FakeProgram &p) { p.blob().num_kernels = 1u << 20; }},
      {KVC_STATUS_INVALID_ARGUMENT, "expected kernels at a multiple of 4",
       [](FakeProgram &p) { p.blob().kernels += 1; }},
      {KVC_STATUS_INVALID_ARGUMENT, "expected a kernel's name that ends",
       [](FakeProgram &p) { p.kernel(0).name = 0xfffffff0u; }},
      {KVC_STATUS_INVALID_ARGUMENT, "expected a name of kernel 0",
       [](FakeProgram &p) { p.kernel(0).name += 9; }},
      {KVC_STATUS_INVALID_ARGUMENT, "kernel 'attention': expected an image below 1, got 1",
       [](FakeProgram &p) { p.kernel(0).image = 1; }},
      {KVC_STATUS_INVALID_ARGUMENT, "kernel 'attention': expected 1 to 1024 threads, got 0",
       [](FakeProgram &p) { p.kernel(0).threads = 0; }},
      {KVC_STATUS_INVALID_ARGUMENT, "expected 1 to 1024 threads, got 1025",
       [](FakeProgram &p) { p.kernel(0).threads = 1025; }},
      {KVC_STATUS_INVALID_ARGUMENT,
       "expected at most 232448 bytes of shared memory, got 232449",
       [](FakeProgram &p) { p.kernel(0).shared_bytes = 227 * 1024 + 1; }},
      {KVC_STATUS_INVALID_ARGUMENT,
       "argument 1: expected an alignment of 0 or a power of two up to 256, "
       "got 24",
       [](FakeProgram &p) { p.arg(0, 1).alignment = 24; }},
      {KVC_STATUS_INVALID_ARGUMENT, "a power of two up to 256, got 512",
       [](FakeProgram &p) { p.arg(0, 0).alignment = 512; }},
      {KVC_STATUS_INVALID_ARGUMENT, "expected a function's name that ends",
       [](FakeProgram &p) { p.function(0).name = 0xffffffffu; }},
      {KVC_STATUS_INVALID_ARGUMENT, "expected a name of function 1",
       [](FakeProgram &p) { p.function(1).name += 6; }},
      {KVC_STATUS_INVALID_ARGUMENT, "got 'first' for functions 0 and 1",
       [](FakeProgram &p) { p.function(1).name = p.function(0).name; }},
      {KVC_STATUS_INVALID_ARGUMENT, "expected at most 4 inputs, got 5",
       [](FakeProgram &p) { p.function(0).num_inputs = 5; }},
      {KVC_STATUS_INVALID_ARGUMENT, "expected a function's arguments inside",
       [](FakeProgram &p) { p.function(0).num_args = 1u << 30; }},
      {KVC_STATUS_INVALID_ARGUMENT, "arguments at a multiple of 8",
       [](FakeProgram &p) { p.function(0).args += 4; }},
      {KVC_STATUS_INVALID_ARGUMENT,
       "function 'first', argument 1: expected a cache type below 1, got 1",
       [](FakeProgram &p) { p.arg(0, 1).cache_type = 1; }},
      {KVC_STATUS_INVALID_ARGUMENT,
       "function 'first', argument 2: expected kind 1, 2 or 3, got 4",
       [](FakeProgram &p) { p.arg(0, 2).kind = 4; }},
      {KVC_STATUS_INVALID_ARGUMENT, "argument 3: expected is_result to be 1",
       [](FakeProgram &p) { p.arg(0, 3).is_result = 0; }},
      {KVC_STATUS_INVALID_ARGUMENT, "argument 0: expected is_result to be 0",
       [](FakeProgram &p) { p.arg(0, 0).is_result = 1; }},
      {KVC_STATUS_INVALID_ARGUMENT, "argument 3: expected a result to be a",
       [](FakeProgram &p) { p.arg(0, 3).kind = KVC_ARG_CACHE; }},
      {KVC_STATUS_INVALID_ARGUMENT, "argument 0: expected a rank from 0 to 6",
       [](FakeProgram &p) { p.arg(0, 0).rank = 7; }},
      {KVC_STATUS_INVALID_ARGUMENT, "argument 0: expected an element type",
       [](FakeProgram &p) { p.arg(0, 0).dtype = 0; }},
      {KVC_STATUS_INVALID_ARGUMENT, "argument 0: expected dimension 0 to be",
       [](FakeProgram &p) { p.arg(0, 0).shape[0] = -1; }},
      {KVC_STATUS_INVALID_ARGUMENT, "argument 3: expected a rank of at least 1",
       [](FakeProgram &p) {
         p.arg(0, 3).rank = 0;
         p.arg(0, 3).rows_are_tokens = 1;
       }},
  };
  for (const auto &row : cases) {
    FakeProgram fake = makeProgram();
    fake.build();
    row.spoil(fake);
    const kvc_program_t *program = nullptr;
    EXPECT_FAILS(fake.load(&program), row.status, row.text);
    EXPECT_EQ(program, nullptr);
  }
}

// Whatever single word of the blob is overwritten, loading returns. (Run it
// under a sanitizer.)
TEST(ProgramTest, LoadSurvivesAnySpoiltWord) {
  FakeProgram fake = makeProgram();
  fake.build();
  auto *bytes = reinterpret_cast<char *>(&fake.blob());
  // The magic word, the version and the size stay: a size is believed.
  for (uint64_t offset = 16; offset + 4 <= fake.blob().size; offset += 4) {
    uint32_t saved;
    std::memcpy(&saved, bytes + offset, 4);
    for (uint32_t value : {0u, 1u, 7u, 48u, 0x7fffffffu, 0x80000000u,
                           0xfffffff8u, 0xffffffffu}) {
      std::memcpy(bytes + offset, &value, 4);
      const kvc_program_t *program = nullptr;
      kvc_status_t status = fake.load(&program);
      EXPECT_EQ(status == KVC_STATUS_OK, program != nullptr);
    }
    std::memcpy(bytes + offset, &saved, 4);
  }
  const kvc_program_t *program = nullptr;
  EXPECT_OK(fake.load(&program));
}

//===----------------------------------------------------------------------===//
// Running
//===----------------------------------------------------------------------===//

static kvc_bounds_t seenBounds;
static uint64_t workspaceToAsk;

static kvc_status_t needsForScale(const kvc_rt_api_t *rt,
                                  const kvc_bounds_t *bounds,
                                  kvc_needs_t *needs) {
  if (needs->struct_size != sizeof(*needs) ||
      bounds->struct_size != sizeof(*bounds))
    return rt->fail(KVC_STATUS_INTERNAL, "sizes");
  seenBounds = *bounds;
  needs->workspace_size = workspaceToAsk;
  return KVC_STATUS_OK;
}

static void scaleItem(const void *params, int64_t item, int32_t) {
  const kvc_call_t *call = *static_cast<const kvc_call_t *const *>(params);
  auto *in = static_cast<const kvc_tensor_t *>(call->args[0]);
  auto *out = static_cast<const kvc_tensor_t *>(call->args[2]);
  auto *factor = static_cast<float *>(call->workspace);
  for (int64_t i = 0; i < in->shape[1]; ++i)
    static_cast<float *>(out->data)[item * out->strides[0] + i] =
        *factor *
        static_cast<const float *>(in->data)[item * in->strides[0] + i];
}

static const kvc_program_t *scaleProgram;

/// Doubles each row of argument 0 into argument 2; a factor in the workspace
/// stands for the work of a first phase.
static kvc_status_t runScale(const kvc_rt_api_t *rt, kvc_stream_t *stream,
                             const kvc_call_t *call) {
  if (kvc_status_t status = rt->check_call(scaleProgram, 0, call))
    return status;
  if (call->workspace_size < sizeof(float))
    return rt->fail(KVC_STATUS_INVALID_ARGUMENT, "workspace is too small");
  if (reinterpret_cast<uintptr_t>(call->workspace) % 64 != 0)
    return rt->fail(KVC_STATUS_INTERNAL, "workspace is not aligned");
  // All of it must be there.
  std::memset(call->workspace, 0, call->workspace_size);
  *static_cast<float *>(call->workspace) = 2.0f;
  auto *in = static_cast<const kvc_tensor_t *>(call->args[0]);
  return rt->parallel_for(stream, scaleItem, &call, in->shape[0]);
}

static FakeProgram makeScaleProgram() {
  FakeProgram fake;
  kvc_function_entry_t entry = {needsForScale, runScale, nullptr};
  fake.addFunction("scale",
                   {makeTensorArg(KVC_DTYPE_F32, {KVC_DYNAMIC, 3}, true),
                    makeBatchArg(),
                    makeResultArg(KVC_DTYPE_F32, {KVC_DYNAMIC, 3}, true)},
                   &entry);
  fake.build();
  workspaceToAsk = 100;
  return fake;
}

TEST(ProgramTest, Run) {
  FakeProgram fake = makeScaleProgram();
  ASSERT_OK(fake.load(&scaleProgram));
  OwnedStream stream(3);
  OwnedPool pool(4, 16);
  kvc_sequence_t sequences[] = {pool.createSequence(9), pool.createSequence(4)};
  int32_t queryLens[] = {4, 1};
  kvc_batch_object_t *batch = nullptr;
  ASSERT_OK(kvc_batch_create(pool, sequences, queryLens, 2, &batch));

  std::vector<float> in(5 * 3), out(5 * 4, -1.0f);
  for (int i = 0; i < 15; ++i)
    in[i] = static_cast<float>(i);
  kvc_tensor_t inTensor = makeTensor(in.data(), KVC_DTYPE_F32, {5, 3});
  kvc_tensor_t outTensor = makeTensor(out.data(), KVC_DTYPE_F32, {5, 3});
  outTensor.strides[0] = 4;
  const void *args[] = {&inTensor, kvc_batch_view(batch), &outTensor};

  // Workspaces that grow, shrink and stay.
  for (uint64_t size : {4, 100, 1 << 20, 64, 3 << 20}) {
    workspaceToAsk = size;
    std::fill(out.begin(), out.end(), -1.0f);
    ASSERT_OK(kvc_program_run(scaleProgram, 0, stream, args, 3));
    for (int i = 0; i < 5; ++i) {
      for (int j = 0; j < 3; ++j)
        EXPECT_EQ(out[i * 4 + j], 2.0f * (i * 3 + j));
      EXPECT_EQ(out[i * 4 + 3], -1.0f);
    }
  }
  EXPECT_EQ(seenBounds.max_sequences, 2);
  EXPECT_EQ(seenBounds.max_tokens, 5);
  EXPECT_EQ(seenBounds.max_query_len, 4);
  EXPECT_EQ(seenBounds.max_kv_len, 9);
  EXPECT_EQ(seenBounds.num_workers, 3);

  // A workspace that no machine has; the stream works on afterwards.
  for (uint64_t size : {UINT64_MAX, uint64_t{1} << 62, uint64_t{1} << 50}) {
    if (kHasSanitizer)
      break; // allocators of sanitizers stop the process instead
    workspaceToAsk = size;
    std::string text =
        "no memory for a workspace of " + std::to_string(size) + " bytes";
    EXPECT_FAILS(kvc_program_run(scaleProgram, 0, stream, args, 3),
                 KVC_STATUS_OUT_OF_MEMORY, text);
  }
  workspaceToAsk = 100;
  EXPECT_OK(kvc_program_run(scaleProgram, 0, stream, args, 3));

  // What the program says comes through.
  workspaceToAsk = 0;
  EXPECT_FAILS(kvc_program_run(scaleProgram, 0, stream, args, 3),
               KVC_STATUS_INVALID_ARGUMENT, "workspace is too small");
  outTensor.shape[1] = 2;
  EXPECT_FAILS(kvc_program_run(scaleProgram, 0, stream, args, 3),
               KVC_STATUS_INVALID_ARGUMENT,
               "function 'scale', argument 2: expected dimension 1 to be 3, "
               "got 2");
  kvc_batch_release(batch);
}

TEST(ProgramTest, RunWithWrongArguments) {
  FakeProgram fake = makeScaleProgram();
  ASSERT_OK(fake.load(&scaleProgram));
  OwnedStream stream(1);
  std::vector<float> data(6);
  kvc_tensor_t tensor = makeTensor(data.data(), KVC_DTYPE_F32, {2, 3});
  kvc_batch_t batch = {};
  batch.struct_size = sizeof(batch);
  const void *args[] = {&tensor, &batch, &tensor};
  EXPECT_FAILS(kvc_program_run(nullptr, 0, stream, args, 3),
               KVC_STATUS_INVALID_ARGUMENT, "expected a program, got null");
  EXPECT_FAILS(kvc_program_run(scaleProgram, 1, stream, args, 3),
               KVC_STATUS_NOT_FOUND, "expected a function below 1");
  EXPECT_FAILS(kvc_program_run(scaleProgram, 0, nullptr, args, 3),
               KVC_STATUS_INVALID_ARGUMENT, "expected a stream, got null");
  EXPECT_FAILS(kvc_program_run(scaleProgram, 0, stream, args, 2),
               KVC_STATUS_INVALID_ARGUMENT,
               "function 'scale': expected 3 arguments, got 2");
  EXPECT_FAILS(kvc_program_run(scaleProgram, 0, stream, nullptr, 3),
               KVC_STATUS_INVALID_ARGUMENT,
               "expected an array of 3 arguments, got null");
  args[1] = nullptr;
  EXPECT_FAILS(kvc_program_run(scaleProgram, 0, stream, args, 3),
               KVC_STATUS_INVALID_ARGUMENT,
               "argument 1: expected a batch, got null");
  args[1] = &batch;
  batch.max_kv_len = -2;
  EXPECT_FAILS(kvc_program_run(scaleProgram, 0, stream, args, 3),
               KVC_STATUS_INVALID_ARGUMENT,
               "argument 1: expected max_kv_len to be at least 0, got -2");
  batch.max_kv_len = 0;
  batch.struct_size = 8;
  EXPECT_FAILS(kvc_program_run(scaleProgram, 0, stream, args, 3),
               KVC_STATUS_INVALID_ARGUMENT,
               "expected a struct_size of a batch of at least 88, got 8");
  batch.struct_size = sizeof(batch);
  for (int64_t rows : {int64_t{-1}, int64_t{1} << 31}) {
    tensor.shape[0] = rows;
    EXPECT_FAILS(kvc_program_run(scaleProgram, 0, stream, args, 3),
                 KVC_STATUS_INVALID_ARGUMENT,
                 "argument 0: expected 0 to 2147483647 rows");
  }
}

/// Fills the workspace with argument 0 and finds it unchanged a moment later.
static kvc_status_t runMark(const kvc_rt_api_t *rt, kvc_stream_t *stream,
                            const kvc_call_t *call) {
  const auto &tensor = *static_cast<const kvc_tensor_t *>(call->args[0]);
  const char mark = *static_cast<const char *>(tensor.data);
  std::memset(call->workspace, mark, call->workspace_size);
  kvc_cpu_kernel_fn yield = [](const void *, int64_t, int32_t) {
    std::this_thread::yield();
  };
  if (kvc_status_t status = rt->parallel_for(stream, yield, nullptr, 4))
    return status;
  for (uint64_t i = 0; i < call->workspace_size; ++i)
    if (static_cast<const char *>(call->workspace)[i] != mark)
      return rt->fail(KVC_STATUS_INTERNAL, "somebody used the workspace");
  return KVC_STATUS_OK;
}

// Two threads with calls on one stream: the workspace is one call's at a time,
// also while it grows.
TEST(ProgramTest, CallsOfTwoThreadsTakeTurns) {
  kvc_function_entry_t entry = {
      [](const kvc_rt_api_t *, const kvc_bounds_t *bounds, kvc_needs_t *needs) {
        needs->workspace_size = 64 * static_cast<uint64_t>(bounds->max_tokens);
        return kvc_status_t{KVC_STATUS_OK};
      },
      runMark, nullptr};
  FakeProgram fake;
  fake.addFunction("mark", {makeTensorArg(KVC_DTYPE_I8, {KVC_DYNAMIC}, true)},
                   &entry);
  fake.build();
  const kvc_program_t *program = nullptr;
  ASSERT_OK(fake.load(&program));
  OwnedStream stream(2);
  auto body = [&](char value) {
    std::vector<char> data(300, value);
    for (int64_t round = 1; round <= 300; ++round) {
      kvc_tensor_t tensor = makeTensor(data.data(), KVC_DTYPE_I8, {round});
      const void *args[] = {&tensor};
      ASSERT_OK(kvc_program_run(program, 0, stream, args, 1));
    }
  };
  std::thread other(body, 3);
  body(5);
  other.join();
}

// A call inside a call on the same stream would wait for itself.
TEST(ProgramTest, CallInsideACallIsRefused) {
  static const kvc_program_t *program;
  static kvc_status_t innerStatus;
  static std::string innerMessage;
  kvc_function_entry_t entry = {
      [](const kvc_rt_api_t *, const kvc_bounds_t *, kvc_needs_t *) {
        return kvc_status_t{KVC_STATUS_OK};
      },
      [](const kvc_rt_api_t *rt, kvc_stream_t *stream, const kvc_call_t *) {
        kvc_cpu_kernel_fn kernel = [](const void *params, int64_t, int32_t) {
          innerStatus = kvc_program_run(
              program, 0, *static_cast<kvc_stream_t *const *>(params), nullptr,
              0);
          innerMessage = kvc_last_message();
        };
        return rt->parallel_for(stream, kernel, &stream, 1);
      },
      nullptr};
  FakeProgram fake;
  fake.addFunction("inner", {}, &entry);
  fake.build();
  ASSERT_OK(fake.load(&program));
  OwnedStream stream(2);
  EXPECT_OK(kvc_program_run(program, 0, stream, nullptr, 0));
  EXPECT_EQ(innerStatus, KVC_STATUS_INVALID_ARGUMENT);
  EXPECT_EQ(innerMessage, "function 'inner': a call inside a call on the same "
                          "stream would wait for itself");
}

// Without a batch the function may make one from arrays, and the bounds come
// from the tensors, whose rows may be tokens or, in i32, sequences.
TEST(ProgramTest, BoundsWithoutABatch) {
  kvc_function_entry_t entry = {
      needsForScale,
      [](const kvc_rt_api_t *, kvc_stream_t *, const kvc_call_t *) {
        return kvc_status_t{KVC_STATUS_OK};
      },
      nullptr};
  FakeProgram fake;
  fake.addFunction("plain",
                   {makeTensorArg(KVC_DTYPE_F32, {KVC_DYNAMIC}, true),
                    makeTensorArg(KVC_DTYPE_I32, {KVC_DYNAMIC})},
                   &entry);
  fake.build();
  const kvc_program_t *program = nullptr;
  ASSERT_OK(fake.load(&program));
  OwnedStream stream(2);
  float data[7];
  int32_t lengths[4];
  kvc_tensor_t tokens = makeTensor(data, KVC_DTYPE_F32, {7});
  kvc_tensor_t other = makeTensor(lengths, KVC_DTYPE_I32, {4});
  const void *args[] = {&tokens, &other};
  workspaceToAsk = 0;
  EXPECT_OK(kvc_program_run(program, 0, stream, args, 2));
  EXPECT_EQ(seenBounds.max_tokens, 7);
  EXPECT_EQ(seenBounds.max_sequences, 4);
  EXPECT_EQ(seenBounds.max_query_len, 0);
  EXPECT_EQ(seenBounds.max_kv_len, 0);
  EXPECT_EQ(seenBounds.num_workers, 2);
}

//===----------------------------------------------------------------------===//
// Shapes
//===----------------------------------------------------------------------===//

/// The result has the rows of argument 0 and the columns of argument 1.
static kvc_status_t shapesOfProduct(const kvc_rt_api_t *rt,
                                    const void *const *args,
                                    int64_t *outShapes) {
  auto *lhs = static_cast<const kvc_tensor_t *>(args[0]);
  auto *rhs = static_cast<const kvc_tensor_t *>(args[1]);
  if (lhs->shape[1] != rhs->shape[0])
    return rt->fail(KVC_STATUS_INVALID_ARGUMENT, "sizes do not fit");
  outShapes[0] = lhs->shape[0];
  outShapes[1] = rhs->shape[1];
  return KVC_STATUS_OK;
}

TEST(ProgramTest, ShapesThatTheProgramComputes) {
  kvc_function_entry_t entry = {
      needsForScale,
      [](const kvc_rt_api_t *, kvc_stream_t *, const kvc_call_t *) {
        return kvc_status_t{KVC_STATUS_OK};
      },
      shapesOfProduct};
  FakeProgram fake;
  fake.addFunction("product",
                   {makeTensorArg(KVC_DTYPE_F64, {KVC_DYNAMIC, KVC_DYNAMIC}),
                    makeTensorArg(KVC_DTYPE_F64, {KVC_DYNAMIC, 3}),
                    makeResultArg(KVC_DTYPE_F64, {KVC_DYNAMIC, 3})},
                   &entry);
  fake.build();
  const kvc_program_t *program = nullptr;
  ASSERT_OK(fake.load(&program));
  double data[12] = {};
  kvc_tensor_t lhs = makeTensor(data, KVC_DTYPE_F64, {2, 4});
  kvc_tensor_t rhs = makeTensor(data, KVC_DTYPE_F64, {4, 3});
  kvc_tensor_t out = makeTensor(data, KVC_DTYPE_F64, {2, 3});
  const void *args[] = {&lhs, &rhs, &out};
  int64_t shape[KVC_MAX_RANK];
  ASSERT_OK(kvc_program_shapes(program, 0, args, 2, shape));
  EXPECT_EQ(shape[0], 2);
  EXPECT_EQ(shape[1], 3);

  // `needs` gets the arguments, once their shapes were compared.
  OwnedStream stream(1);
  workspaceToAsk = 0;
  EXPECT_OK(kvc_program_run(program, 0, stream, args, 3));
  EXPECT_EQ(seenBounds.args, static_cast<const void *const *>(args));
  rhs.shape[1] = 2;
  seenBounds.args = nullptr;
  EXPECT_FAILS(kvc_program_run(program, 0, stream, args, 3),
                 KVC_STATUS_INVALID_ARGUMENT,
                 "argument 1: expected dimension 1 to be 3, got 2");
  EXPECT_EQ(seenBounds.args, nullptr);

  // On failure, nothing is written.
  shape[0] = 77;
  EXPECT_FAILS(kvc_program_shapes(program, 0, args, 2, shape),
                 KVC_STATUS_INVALID_ARGUMENT,
                 "argument 1: expected dimension 1 to be 3, got 2");
  rhs.shape[1] = 3;
  rhs.shape[0] = 5;
  EXPECT_FAILS(kvc_program_shapes(program, 0, args, 2, shape),
                 KVC_STATUS_INVALID_ARGUMENT, "sizes do not fit");
  EXPECT_FAILS(kvc_program_shapes(program, 0, args, 1, shape),
                 KVC_STATUS_INVALID_ARGUMENT, "expected 2 arguments, got 1");
  EXPECT_FAILS(kvc_program_shapes(program, 0, args, 2, nullptr),
                 KVC_STATUS_INVALID_ARGUMENT, "expected out_shapes, got null");
  EXPECT_EQ(shape[0], 77);
}

TEST(ProgramTest, ShapesOfTokens) {
  FakeProgram fake = makeScaleProgram();
  const kvc_program_t *program = nullptr;
  ASSERT_OK(fake.load(&program));
  kvc_batch_t batch = {};
  batch.struct_size = sizeof(batch);
  batch.num_tokens = 7;
  float data[3];
  kvc_tensor_t in = makeTensor(data, KVC_DTYPE_F32, {1, 3});
  const void *args[] = {&in, &batch};
  int64_t shape[KVC_MAX_RANK];
  ASSERT_OK(kvc_program_shapes(program, 0, args, 2, shape));
  EXPECT_EQ(shape[0], 7);
  EXPECT_EQ(shape[1], 3);

  FakeProgram open;
  open.addFunction("open", {makeResultArg(KVC_DTYPE_F32, {KVC_DYNAMIC})});
  open.build();
  ASSERT_OK(open.load(&program));
  EXPECT_FAILS(kvc_program_shapes(program, 0, nullptr, 0, shape),
               KVC_STATUS_UNSUPPORTED,
               "expected a result whose shape the inputs determine");
}
