//===- GPUProgramTest.cpp - what programs for a GPU launch ----------------===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Compiles programs in memory and runs them against a table that records what it
// is asked for. The numbers are computed by hand.
//===----------------------------------------------------------------------===//
#include "LaunchRecorder.h"

#include "kvc/Pipelines/Compile.h"
#include "kvc/Target/LLVM/JIT.h"

#include <gmock/gmock.h>

using kvc::device;
using kvc::devicePtr;
using kvc::Launch;
using kvc::makeBatch;
using kvc::makeCache;
using kvc::makeTensor;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

/// An append and an attention over 8 KV heads of 128, a group of 4; split 1024. Both
/// phases have the same stream: three stages of 64 keys, and 8 rows of the query.
static const char kDecode[] = R"mlir(
#stream = #kvc.gpu_stream<form = tokens_m, rows = 8, keys = 64, stages = 3, warps = 4, query_tokens = 1>
#schedule = #kvc.gpu_schedule<decode = #stream, prefill = #stream, split = 1024>
!cache = !kvc.cache<page = 16, k: 8x128xbf16, v: 8x128xbf16>
func.func @decode(%q: tensor<?x32x128xbf16>, %k: tensor<?x8x128xbf16>,
                  %v: tensor<?x8x128xbf16>, %cache: !cache, %batch: !kvc.batch)
    -> tensor<?x32x128xbf16> {
  kvc.append %cache[k: %k, v: %v] at %batch
      : !cache, tensor<?x8x128xbf16>, tensor<?x8x128xbf16>
  %o = kvc.attention %cache at %batch terms(%q * k) value(v) score [#kvc.causal]
      {scale = 0.0883883461 : f32, schedule = #schedule}
      : !cache, tensor<?x32x128xbf16> -> tensor<?x32x128xbf16>
  return %o : tensor<?x32x128xbf16>
}
)mlir";

namespace {
class GPUProgramTest : public kvc::LaunchRecorder {
protected:
  void compile(llvm::StringRef text) {
    kvc::CompileOptions options;
    options.target = kvc::CompileTarget::GPU;
    ASSERT_EQ(kvc::compile(context, text, "test", options, compiled), KVC_STATUS_OK)
        << diagnostics;
    program = compiled.program->getQuery()(KVC_ABI_VERSION);
    ASSERT_TRUE(program);
  }

  /// Runs @decode.
  kvc_status_t runDecode(int32_t sequences, int32_t maxKvLen, uint64_t workspaceSize,
                         uint64_t offset = 0) {
    kvc_tensor_t q = makeTensor(1, sequences, 32, 128), k = makeTensor(2, sequences, 8, 128),
                 v = makeTensor(3, sequences, 8, 128), out = makeTensor(4, sequences, 32, 128);
    kvc_cache_view_t cache = makeCache();
    kvc_batch_t batch = makeBatch(sequences, maxKvLen);
    return run({&q, &k, &v, &cache, &batch, &out}, workspaceSize, offset);
  }

  kvc::CompileResult compiled;
};
} // namespace

TEST_F(GPUProgramTest, DescribesKernelsAndFunctions) {
  compile(kDecode);
  const kvc_blob_t *blob = program->blob;
  EXPECT_STREQ(getAt<char>(blob->target), "sm_90a");
  ASSERT_EQ(blob->num_images, 1u);
  auto *image = getAt<kvc_image_desc_t>(blob->images);
  EXPECT_STREQ(getAt<char>(image->target), "sm_90a");
  std::string ptx = getAt<char>(image->data);
  EXPECT_EQ(image->data_size, ptx.size() + 1);

  ASSERT_EQ(blob->num_kernels, 7u);
  auto *kernels = getAt<kvc_kernel_desc_t>(blob->kernels);
  const std::tuple<const char *, uint32_t, uint32_t> expected[] = {
      {"decode_append", 32, 0}, // a warp for the 16 vectors of a row
      {"decode_attention_decode_worklist", 256, 0},
      {"decode_attention_decode", 128, 3 * 64 * 512 + 8 * 256},
      {"decode_attention_decode_combine", 32, 0},
      {"decode_attention_prefill_worklist", 256, 0},
      {"decode_attention_prefill", 128, 3 * 64 * 512 + 8 * 256},
      {"decode_attention_prefill_combine", 32, 0}};
  for (auto [i, kernel] : llvm::enumerate(expected)) {
    auto [name, threads, sharedBytes] = kernel;
    EXPECT_STREQ(getAt<char>(kernels[i].name), name);
    EXPECT_THAT(ptx, HasSubstr(".entry " + std::string(name) + "("));
    EXPECT_EQ(kernels[i].image, 0u);
    EXPECT_EQ(kernels[i].threads, threads);
    EXPECT_EQ(kernels[i].shared_bytes, sharedBytes);
  }

  auto *function = getAt<kvc_function_desc_t>(blob->functions);
  EXPECT_EQ(function->max_query_len, 0u); // no limit
  auto *args = getAt<kvc_arg_desc_t>(function->args);
  std::vector<uint32_t> alignments;
  for (uint32_t i = 0; i < function->num_args; ++i)
    alignments.push_back(args[i].alignment);
  EXPECT_THAT(alignments, ElementsAre(16, 0, 0, 16, 0, 8));
}

// Three sequences of up to 2500 keys: 3 splits each of 1024.
TEST_F(GPUProgramTest, LaunchesDecode) {
  compile(kDecode);
  // Counts, 9 items, 3 merges, and 9 parts: each begins at a multiple of 64.
  constexpr uint64_t items = 64, merges = 64 + 320, outputs = merges + 64;
  constexpr uint64_t stats = outputs + 9 * 32 * 128 * 4, end = stats + 9 * 32 * 2 * 4;
  EXPECT_EQ(getNeeds(3, 3, 2500), end);
  EXPECT_EQ(runDecode(3, 2500, end), KVC_STATUS_OK) << testing::PrintToString(messages);
  EXPECT_EQ(checkedCalls, 1);
  ASSERT_EQ(launches.size(), 4u);

  // Eight heads of two components for each token.
  const Launch &append = launches[0];
  EXPECT_EQ(append.kernel, "decode_append");
  EXPECT_THAT(append.grid, ElementsAre(8, 3, 2));
  EXPECT_THAT(append.params, ElementsAre(device(104), 3,                       //
                                         device(2), 8 * 128 + 64, 128,         //
                                         device(10), 40000, 2048, 128,         //
                                         device(3), 8 * 128 + 64, 128,         //
                                         device(11), 50000, 2049, 129));

  const uint64_t base = device(1000);
  const Launch &list = launches[1];
  EXPECT_EQ(list.kernel, "decode_attention_decode_worklist");
  EXPECT_THAT(list.grid, ElementsAre(1, 1, 1));
  EXPECT_THAT(list.params,
              ElementsAre(3, 2500, device(100), device(101), device(103), 77, base + items,
                          base + merges, base,
                          132 * 2 / 8)); // two blocks at once, over 8 heads

  const Launch &attention = launches[2];
  EXPECT_EQ(attention.kernel, "decode_attention_decode");
  EXPECT_THAT(attention.grid, ElementsAre(8, 9, 1));
  EXPECT_THAT(attention.params,
              ElementsAre(device(1), 32 * 128 + 64, 128,     //
                          device(10), 40000, 2048, 128,      //
                          device(11), 50000, 2049, 129,      //
                          device(102), base + items, base,   //
                          device(4), 32 * 128 + 64, 128,     //
                          base + outputs, base + stats));

  const Launch &combine = launches[3];
  EXPECT_EQ(combine.kernel, "decode_attention_decode_combine");
  EXPECT_THAT(combine.grid, ElementsAre(32, 3, 1));
  EXPECT_THAT(combine.params, ElementsAre(device(4), 32 * 128 + 64, 128, base + merges, base,
                                          base + outputs, base + stats));
}

// Sequences that no split cuts have neither parts nor what combines them.
TEST_F(GPUProgramTest, LaunchesNoCombineWithoutSplits) {
  compile(kDecode);
  uint64_t end = getNeeds(5, 5, 1024);
  EXPECT_EQ(end, 64u + 192u); // 5 items of 32 bytes
  EXPECT_EQ(runDecode(5, 1024, end), KVC_STATUS_OK);
  ASSERT_EQ(launches.size(), 3u);
  EXPECT_EQ(launches[2].kernel, "decode_attention_decode");
  EXPECT_THAT(launches[2].grid, ElementsAre(8, 5, 1));
}

// However long the sequences may be, there are parts for three times the target only.
TEST_F(GPUProgramTest, BoundsTheWorkspaceByTheTarget) {
  compile(kDecode);
  constexpr uint64_t target = 33, sequences = 100, items = sequences + 2 * target;
  constexpr uint64_t lists = 64 + (items * 32 + 63) / 64 * 64 + (target * 16 + 63) / 64 * 64;
  constexpr uint64_t end = lists + 3 * target * (32 * 128 * 4 + 32 * 2 * 4);
  EXPECT_EQ(getNeeds(sequences, sequences, 1 << 20), end);
  EXPECT_EQ(getNeeds(sequences, sequences, INT32_MAX), end);
  EXPECT_EQ(runDecode(sequences, 1 << 20, end), KVC_STATUS_OK);
  EXPECT_EQ(runDecode(sequences, 1 << 20, end - 1), KVC_STATUS_INVALID_ARGUMENT);
}

TEST_F(GPUProgramTest, LaunchesNothingWithoutTokens) {
  compile(kDecode);
  EXPECT_EQ(getNeeds(0, 0, 0), 64u);
  EXPECT_EQ(runDecode(0, 2500, 64), KVC_STATUS_OK);
  EXPECT_THAT(launches, IsEmpty());
}

// A few rounds of the blocks that run at once are enough: the kernels loop.
TEST_F(GPUProgramTest, LimitsGridsByTheDevice) {
  compile(kDecode);
  workers = 2;
  EXPECT_EQ(runDecode(1000, 100000, getNeeds(1000, 1000, 100000)), KVC_STATUS_OK);
  ASSERT_EQ(launches.size(), 4u);
  // 4 rounds of 32 blocks on each of 2 multiprocessors, over 16 blocks a token.
  EXPECT_THAT(launches[0].grid, ElementsAre(8, 16, 2));
  // 2 of its blocks fit a multiprocessor's shared memory.
  EXPECT_THAT(launches[2].grid, ElementsAre(8, 2, 1));
  // One item at a time keeps its 4 blocks busy, so nothing is cut.
  EXPECT_THAT(launches[3].grid, ElementsAre(32, 1, 1));

  // No device allows more than 65535 along y.
  launches.clear();
  workers = 1000000;
  EXPECT_EQ(runDecode(70000, 100, getNeeds(70000, 70000, 100)), KVC_STATUS_OK);
  EXPECT_THAT(launches[0].grid, ElementsAre(8, 65535, 2));
  EXPECT_THAT(launches[2].grid, ElementsAre(8, 65535, 1));
}

TEST_F(GPUProgramTest, StopsAtTheFirstFailure) {
  compile(kDecode);
  uint64_t end = getNeeds(3, 3, 2500);
  failingLaunch = 1;
  EXPECT_EQ(runDecode(3, 2500, end), KVC_STATUS_INTERNAL);
  EXPECT_EQ(launches.size(), 2u);

  launches.clear();
  checkStatus = KVC_STATUS_MISMATCH;
  EXPECT_EQ(runDecode(3, 2500, end), KVC_STATUS_MISMATCH);
  EXPECT_THAT(launches, IsEmpty());
}

TEST_F(GPUProgramTest, RefusesWhatDoesNotFit) {
  std::string deterministic = kDecode;
  deterministic.replace(deterministic.find("{scale"), 1, "{deterministic, ");
  compile(deterministic);
  uint64_t end = getNeeds(3, 3, 2500);
  EXPECT_EQ(runDecode(3, 2500, end - 1), KVC_STATUS_INVALID_ARGUMENT);
  EXPECT_THAT(messages.back(), HasSubstr("expected a workspace of the size"));
  EXPECT_EQ(runDecode(3, 2500, end, /*offset=*/32), KVC_STATUS_INVALID_ARGUMENT);
  EXPECT_THAT(messages.back(), HasSubstr("in 'decode': expected a workspace aligned to 64 bytes"));
  EXPECT_THAT(launches, IsEmpty());
  // The list counts items in 32 bits: 2^21 splits of 2^10 sequences are too many.
  getNeeds(1024, 1024, INT32_MAX, KVC_STATUS_UNSUPPORTED);
  EXPECT_THAT(messages.back(),
              HasSubstr("in 'decode': expected at most 2147483647 work items, one for each "
                        "query token and 1024 keys of max_kv_len, got more"));
  EXPECT_EQ(runDecode(1024, INT32_MAX, UINT64_MAX / 2), KVC_STATUS_UNSUPPORTED);
  EXPECT_GT(getNeeds(1023, 1023, INT32_MAX), 0u);
  getNeeds(-1, 1, 1, KVC_STATUS_INVALID_ARGUMENT);
  EXPECT_THAT(launches, IsEmpty());
}

// With several batches the runtime cannot tell whose rows a tensor has; the append
// is not launched before the attention is known to fit.
TEST_F(GPUProgramTest, ChecksAllRowsFirst) {
  compile(R"mlir(
!cache = !kvc.cache<page = 16, k: 8x64xf16, v: 8x64xf16>
func.func @f(%q: tensor<?x8x64xf16>, %k: tensor<?x8x64xf16>, %v: tensor<?x8x64xf16>,
             %cache: !cache, %new: !kvc.batch, %all: !kvc.batch) -> tensor<?x8x64xf16> {
  kvc.append %cache[k: %k, v: %v] at %new : !cache, tensor<?x8x64xf16>, tensor<?x8x64xf16>
  %o = kvc.attention %cache at %all terms(%q * k) value(v) {scale = 1.0 : f32}
      : !cache, tensor<?x8x64xf16> -> tensor<?x8x64xf16>
  return %o : tensor<?x8x64xf16>
}
)mlir");
  kvc_tensor_t q = makeTensor(1, 5, 8, 64), k = makeTensor(2, 3, 8, 64),
               v = makeTensor(3, 3, 8, 64), out = makeTensor(4, 5, 8, 64);
  kvc_cache_view_t cache = makeCache();
  kvc_batch_t three = makeBatch(3, 100), five = makeBatch(5, 100);
  EXPECT_EQ(run({&q, &k, &v, &cache, &three, &five, &out}, 1 << 20), KVC_STATUS_OK);
  EXPECT_EQ(launches.size(), 3u);
  EXPECT_EQ(launches[0].params[1], 3u);
  EXPECT_EQ(launches[1].params[0], 5u);

  launches.clear();
  out.shape[0] = 4;
  EXPECT_EQ(run({&q, &k, &v, &cache, &three, &five, &out}, 1 << 20),
            KVC_STATUS_INVALID_ARGUMENT);
  EXPECT_THAT(messages.back(),
              HasSubstr("expected the tensors of 'kvc.attention' to have as many rows"));
  EXPECT_THAT(launches, IsEmpty());
}

// An output that nobody asks for has rows in the workspace; log-sum-exps and sinks
// are handed over.
TEST_F(GPUProgramTest, PlacesUnusedResults) {
  compile(R"mlir(
!cache = !kvc.cache<page = 16, k: 8x64xf16, v: 8x64xf16>
func.func @f(%q: tensor<?x8x64xf16>, %sinks: tensor<8xf32>, %cache: !cache, %batch: !kvc.batch)
    -> tensor<?x8xf32> {
  %o, %lse = kvc.attention %cache at %batch terms(%q * k) value(v) sinks(%sinks : tensor<8xf32>)
      {scale = 1.0 : f32}
      : !cache, tensor<?x8x64xf16> -> tensor<?x8x64xf16>, tensor<?x8xf32>
  return %lse : tensor<?x8xf32>
}
)mlir");
  kvc_tensor_t q = makeTensor(1, 3, 8, 64);
  kvc_tensor_t sinks = {devicePtr(5), {8}, {1}, 1, KVC_DTYPE_F32};
  kvc_tensor_t lse = {devicePtr(6), {3, 8}, {9, 1}, 2, KVC_DTYPE_F32};
  kvc_cache_view_t cache = makeCache();
  kvc_batch_t batch = makeBatch(3, 100);
  constexpr uint64_t output = 3 * 8 * 64 * 2;
  EXPECT_EQ(getNeeds(3, 3, 100), output + 64 + 128);
  EXPECT_EQ(run({&q, &sinks, &cache, &batch, &lse}, output + 64 + 128), KVC_STATUS_OK);
  ASSERT_EQ(launches.size(), 2u);
  const std::vector<uint64_t> &params = launches[1].params;
  EXPECT_THAT(params,
              ElementsAre(device(1), 8 * 64 + 64, 64,            //
                          device(10), 40000, 2048, 128,          //
                          device(11), 50000, 2049, 129,          //
                          device(102), testing::_,               //
                          device(1000) + output,                 // counts
                          device(1000), 8 * 64, 64,              // the output
                          device(6), 9, 1,                       // log-sum-exps
                          device(5), 1,                          // sinks
                          testing::_, testing::_));              // parts
}
