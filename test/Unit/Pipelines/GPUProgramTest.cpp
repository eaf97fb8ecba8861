//===- GPUProgramTest.cpp - what programs for a GPU launch ----------------===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Compiles programs in memory and runs them against a table that records what it
// is asked for. The numbers are computed by hand. No pointer to device memory is
// ever followed: each is one that no process has.
//===----------------------------------------------------------------------===//
#include "kvc/Conversion/KVCToNVVM.h"
#include "kvc/Conversion/WorkList.h"
#include "kvc/Pipelines/Compile.h"
#include "kvc/Target/LLVM/JIT.h"

#include "mlir/IR/MLIRContext.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

/// An append and an attention over 8 KV heads of 128, a group of 4; split 1024.
static const char kDecode[] = R"mlir(
!cache = !kvc.cache<page = 16, k: 8x128xbf16, v: 8x128xbf16>
func.func @decode(%q: tensor<?x32x128xbf16>, %k: tensor<?x8x128xbf16>,
                  %v: tensor<?x8x128xbf16>, %cache: !cache, %batch: !kvc.batch)
    -> tensor<?x32x128xbf16> {
  kvc.append %cache[k: %k, v: %v] at %batch
      : !cache, tensor<?x8x128xbf16>, tensor<?x8x128xbf16>
  %o = kvc.attention %cache at %batch terms(%q * k) value(v) score [#kvc.causal]
      {scale = 0.0883883461 : f32} : !cache, tensor<?x32x128xbf16> -> tensor<?x32x128xbf16>
  return %o : tensor<?x32x128xbf16>
}
)mlir";

namespace {
/// A launch as the runtime sees it.
struct Launch {
  std::string kernel;
  std::vector<uint32_t> grid;
  std::vector<uint64_t> params;
};

/// What the table is asked for, and what it answers.
struct Recorder {
  std::vector<Launch> launches;
  std::vector<std::string> messages;
  int checkedCalls = 0;
  kvc_status_t checkStatus = KVC_STATUS_OK;
  size_t failingLaunch = SIZE_MAX;
  int32_t workers = 132;
};
} // namespace

static Recorder *recorder;

template <typename T>
static const T *getAt(const kvc_program_t *program, kvc_offset_t offset) {
  return reinterpret_cast<const T *>(reinterpret_cast<const char *>(program->blob) + offset);
}

/// True if parameter `index` of an entry takes 4 bytes.
static bool isI32(llvm::StringRef kernel, size_t index) {
  if (kernel.contains("_worklist"))
    return index == kvc::WorkListParam::NumSequences || index == kvc::WorkListParam::MaxKvLen;
  return kernel.contains("_append") && index == kvc::AppendParam::NumTokens;
}

static size_t countParams(llvm::StringRef kernel) {
  if (kernel.contains("_worklist"))
    return kvc::WorkListParam::Count;
  if (kernel.contains("_append")) // of two components
    return kvc::AppendParam::FirstComponent + 2 * kvc::AppendParam::PerComponent;
  return kvc::AttentionParam::Count;
}

static kvc_status_t recordLaunch(kvc_stream_t *, const kvc_program_t *program, uint32_t kernel,
                                 const uint32_t grid[3], const void *const *params) {
  Launch launch;
  launch.kernel = getAt<char>(
      program, getAt<kvc_kernel_desc_t>(program, program->blob->kernels)[kernel].name);
  launch.grid.assign(grid, grid + 3);
  for (size_t i = 0; i < countParams(launch.kernel); ++i) {
    uint64_t value = 0;
    std::memcpy(&value, params[i], isI32(launch.kernel, i) ? 4 : 8);
    launch.params.push_back(value);
  }
  recorder->launches.push_back(launch);
  return recorder->launches.size() - 1 == recorder->failingLaunch ? KVC_STATUS_INTERNAL
                                                                  : KVC_STATUS_OK;
}

static kvc_rt_api_t makeTable() {
  kvc_rt_api_t table = {};
  table.struct_size = sizeof(table);
  table.abi_version = KVC_ABI_VERSION;
  table.check_call = [](const kvc_program_t *, uint32_t, const kvc_call_t *) {
    ++recorder->checkedCalls;
    return recorder->checkStatus;
  };
  table.fail = [](kvc_status_t status, const char *message) {
    recorder->messages.push_back(message);
    return status;
  };
  table.num_workers = [](kvc_stream_t *) { return recorder->workers; };
  table.launch = recordLaunch;
  return table;
}

/// An address on the device.
static uint64_t device(uint64_t number) { return 0x7f00000000000000 + number * 0x1000; }
static void *devicePtr(uint64_t number) { return reinterpret_cast<void *>(device(number)); }

/// A tensor of [tokens, heads, width] whose rows have a gap between them.
static kvc_tensor_t makeTensor(uint64_t number, int64_t tokens, int64_t heads, int64_t width) {
  return {devicePtr(number), {tokens, heads, width}, {heads * width + 64, width, 1}, 3,
          KVC_DTYPE_BF16};
}

namespace {
class GPUProgramTest : public testing::Test {
protected:
  GPUProgramTest() : context(makeRegistry(), mlir::MLIRContext::Threading::DISABLED) {
    context.loadAllAvailableDialects();
    context.getDiagEngine().registerHandler([this](mlir::Diagnostic &diagnostic) {
      messages += diagnostic.str() + "\n";
    });
    recorder = &record;
  }

  static mlir::DialectRegistry makeRegistry() {
    mlir::DialectRegistry registry;
    kvc::registerCompilerDialects(registry);
    return registry;
  }

  void compile(llvm::StringRef text) {
    kvc::CompileOptions options;
    options.target = kvc::CompileTarget::GPU;
    ASSERT_EQ(kvc::compile(context, text, "test", options, compiled), KVC_STATUS_OK) << messages;
    program = compiled.program->getQuery()(KVC_ABI_VERSION);
    ASSERT_TRUE(program);
  }

  /// A batch of one token a sequence.
  static kvc_batch_t makeBatch(int32_t sequences, int32_t maxKvLen) {
    kvc_batch_t batch = {};
    batch.struct_size = sizeof(batch);
    batch.num_sequences = batch.num_tokens = sequences;
    batch.max_query_len = 1;
    batch.max_kv_len = maxKvLen;
    batch.query_start = static_cast<int32_t *>(devicePtr(100));
    batch.kv_lens = static_cast<int32_t *>(devicePtr(101));
    batch.page_ids = static_cast<int32_t *>(devicePtr(102));
    batch.page_start = static_cast<int32_t *>(devicePtr(103));
    batch.page_stride = 77;
    batch.slots = static_cast<int64_t *>(devicePtr(104));
    return batch;
  }

  uint64_t getNeeds(int32_t sequences, int32_t tokens, int32_t kvLen,
                    kvc_status_t expected = KVC_STATUS_OK) {
    kvc_bounds_t bounds = {sizeof(bounds), sequences, tokens, 1, kvLen, 132};
    kvc_needs_t needs = {sizeof(needs), 0, 0};
    EXPECT_EQ(program->entries[0].needs(&table, &bounds, &needs), expected);
    return needs.workspace_size;
  }

  kvc_status_t run(llvm::ArrayRef<const void *> args, uint64_t workspaceSize) {
    kvc_call_t call = {sizeof(call), static_cast<uint32_t>(args.size()), args.data(),
                       devicePtr(1000), workspaceSize};
    return program->entries[0].run(&table, nullptr, &call);
  }

  /// Runs @decode.
  kvc_status_t runDecode(int32_t sequences, int32_t maxKvLen, uint64_t workspaceSize) {
    kvc_tensor_t q = makeTensor(1, sequences, 32, 128), k = makeTensor(2, sequences, 8, 128),
                 v = makeTensor(3, sequences, 8, 128), out = makeTensor(4, sequences, 32, 128);
    kvc_cache_view_t cache = makeCache();
    kvc_batch_t batch = makeBatch(sequences, maxKvLen);
    return run({&q, &k, &v, &cache, &batch, &out}, workspaceSize);
  }

  static kvc_cache_view_t makeCache() {
    kvc_cache_view_t cache = {};
    cache.struct_size = sizeof(cache);
    cache.num_components = 2;
    cache.num_pages = 1000;
    cache.components[0] = {devicePtr(10), 40000, 2048, 128};
    cache.components[1] = {devicePtr(11), 50000, 2049, 129};
    return cache;
  }

  mlir::MLIRContext context;
  std::string messages;
  kvc::CompileResult compiled;
  const kvc_program_t *program = nullptr;
  kvc_rt_api_t table = makeTable();
  Recorder record;
};
} // namespace

TEST_F(GPUProgramTest, DescribesKernelsAndFunctions) {
  compile(kDecode);
  const kvc_blob_t *blob = program->blob;
  EXPECT_STREQ(getAt<char>(program, blob->target), "sm_90a");
  ASSERT_EQ(blob->num_images, 1u);
  auto *image = getAt<kvc_image_desc_t>(program, blob->images);
  EXPECT_STREQ(getAt<char>(program, image->target), "sm_90a");
  std::string ptx = getAt<char>(program, image->data);
  EXPECT_EQ(image->data_size, ptx.size() + 1);

  ASSERT_EQ(blob->num_kernels, 4u);
  auto *kernels = getAt<kvc_kernel_desc_t>(program, blob->kernels);
  const std::tuple<const char *, uint32_t, uint32_t> expected[] = {
      {"decode_append", 64, 0},
      {"decode_worklist", 1, 0},
      {"decode_attention", 128, 98304},
      {"decode_merge", 64, 0}};
  for (auto [i, kernel] : llvm::enumerate(expected)) {
    auto [name, threads, sharedBytes] = kernel;
    EXPECT_STREQ(getAt<char>(program, kernels[i].name), name);
    EXPECT_THAT(ptx, HasSubstr(".entry " + std::string(name) + "("));
    EXPECT_EQ(kernels[i].image, 0u);
    EXPECT_EQ(kernels[i].threads, threads);
    EXPECT_EQ(kernels[i].shared_bytes, sharedBytes);
  }

  auto *function = getAt<kvc_function_desc_t>(program, blob->functions);
  EXPECT_EQ(function->max_query_len, 1u);
  auto *args = getAt<kvc_arg_desc_t>(program, function->args);
  std::vector<uint32_t> alignments;
  for (uint32_t i = 0; i < function->num_args; ++i)
    alignments.push_back(args[i].alignment);
  EXPECT_THAT(alignments, ElementsAre(4, 0, 0, 16, 0, 4));
}

// Three sequences of up to 2500 keys: 3 splits each of 1024.
TEST_F(GPUProgramTest, LaunchesDecode) {
  compile(kDecode);
  // Counts, 9 items, 3 merges, and 9 parts: each begins at a multiple of 64.
  constexpr uint64_t items = 64, merges = 64 + 448, outputs = merges + 64;
  constexpr uint64_t stats = outputs + 9 * 32 * 128 * 4, end = stats + 9 * 32 * 2 * 4;
  EXPECT_EQ(getNeeds(3, 3, 2500), end);
  EXPECT_EQ(runDecode(3, 2500, end), KVC_STATUS_OK) << testing::PrintToString(record.messages);
  EXPECT_EQ(record.checkedCalls, 1);
  ASSERT_EQ(record.launches.size(), 4u);

  // Eight heads of two components for each token.
  const Launch &append = record.launches[0];
  EXPECT_EQ(append.kernel, "decode_append");
  EXPECT_THAT(append.grid, ElementsAre(8, 3, 2));
  EXPECT_THAT(append.params, ElementsAre(device(104), 3,                       //
                                         device(2), 8 * 128 + 64, 128,         //
                                         device(10), 40000, 2048, 128,         //
                                         device(3), 8 * 128 + 64, 128,         //
                                         device(11), 50000, 2049, 129));

  const uint64_t base = device(1000);
  const Launch &list = record.launches[1];
  EXPECT_EQ(list.kernel, "decode_worklist");
  EXPECT_THAT(list.grid, ElementsAre(1, 1, 1));
  EXPECT_THAT(list.params,
              ElementsAre(3, 2500, device(100), device(101), device(103), 77, base + items,
                          base + merges, base));

  const Launch &attention = record.launches[2];
  EXPECT_EQ(attention.kernel, "decode_attention");
  EXPECT_THAT(attention.grid, ElementsAre(8, 9, 1));
  EXPECT_THAT(attention.params,
              ElementsAre(device(1), 32 * 128 + 64, 128,     //
                          device(10), 40000, 2048, 128,      //
                          device(11), 50000, 2049, 129,      //
                          device(102), base + items, base + merges, base, //
                          device(4), 32 * 128 + 64, 128,     //
                          0, 0, 0, 0, 0, // neither log-sum-exps nor sinks
                          base + outputs, base + stats));

  const Launch &merge = record.launches[3];
  EXPECT_EQ(merge.kernel, "decode_merge");
  EXPECT_THAT(merge.grid, ElementsAre(32, 3, 1));
  EXPECT_EQ(merge.params, attention.params);
}

// Sequences that no split cuts have neither parts nor a merge.
TEST_F(GPUProgramTest, LaunchesNoMergeWithoutSplits) {
  compile(kDecode);
  uint64_t end = getNeeds(5, 5, 1024);
  EXPECT_EQ(end, 64u + 256u); // 5 items of 48 bytes
  EXPECT_EQ(runDecode(5, 1024, end), KVC_STATUS_OK);
  ASSERT_EQ(record.launches.size(), 3u);
  EXPECT_EQ(record.launches[2].kernel, "decode_attention");
  EXPECT_THAT(record.launches[2].grid, ElementsAre(8, 5, 1));
}

TEST_F(GPUProgramTest, LaunchesNothingWithoutTokens) {
  compile(kDecode);
  EXPECT_EQ(getNeeds(0, 0, 0), 64u);
  EXPECT_EQ(runDecode(0, 2500, 64), KVC_STATUS_OK);
  EXPECT_THAT(record.launches, IsEmpty());
}

// A few rounds of the blocks that run at once are enough: the kernels loop.
TEST_F(GPUProgramTest, LimitsGridsByTheDevice) {
  compile(kDecode);
  record.workers = 2;
  EXPECT_EQ(runDecode(1000, 100000, getNeeds(1000, 1000, 100000)), KVC_STATUS_OK);
  ASSERT_EQ(record.launches.size(), 4u);
  // 4 rounds of 32 blocks on each of 2 multiprocessors, over 16 blocks a token.
  EXPECT_THAT(record.launches[0].grid, ElementsAre(8, 16, 2));
  // 2 of its blocks fit a multiprocessor's shared memory.
  EXPECT_THAT(record.launches[2].grid, ElementsAre(8, 2, 1));
  EXPECT_THAT(record.launches[3].grid, ElementsAre(32, 8, 1));

  // No device allows more than 65535 along y.
  record.launches.clear();
  record.workers = 1000000;
  EXPECT_EQ(runDecode(70000, 100, getNeeds(70000, 70000, 100)), KVC_STATUS_OK);
  EXPECT_THAT(record.launches[0].grid, ElementsAre(8, 65535, 2));
  EXPECT_THAT(record.launches[2].grid, ElementsAre(8, 65535, 1));
}

TEST_F(GPUProgramTest, StopsAtTheFirstFailure) {
  compile(kDecode);
  uint64_t end = getNeeds(3, 3, 2500);
  record.failingLaunch = 1;
  EXPECT_EQ(runDecode(3, 2500, end), KVC_STATUS_INTERNAL);
  EXPECT_EQ(record.launches.size(), 2u);

  record.launches.clear();
  record.checkStatus = KVC_STATUS_MISMATCH;
  EXPECT_EQ(runDecode(3, 2500, end), KVC_STATUS_MISMATCH);
  EXPECT_THAT(record.launches, IsEmpty());
}

TEST_F(GPUProgramTest, RefusesWhatDoesNotFit) {
  compile(kDecode);
  uint64_t end = getNeeds(3, 3, 2500);
  EXPECT_EQ(runDecode(3, 2500, end - 1), KVC_STATUS_INVALID_ARGUMENT);
  EXPECT_THAT(record.messages.back(), HasSubstr("expected a workspace of the size"));
  // The list counts items in 32 bits: 2^21 splits of 2^10 sequences are too many.
  getNeeds(1024, 1024, INT32_MAX, KVC_STATUS_UNSUPPORTED);
  EXPECT_THAT(record.messages.back(),
              HasSubstr("in 'decode': expected at most 2147483647 work items, one for each "
                        "query token and 1024 keys of max_kv_len, got more"));
  EXPECT_EQ(runDecode(1024, INT32_MAX, UINT64_MAX / 2), KVC_STATUS_UNSUPPORTED);
  EXPECT_GT(getNeeds(1023, 1023, INT32_MAX), 0u);
  getNeeds(-1, 1, 1, KVC_STATUS_INVALID_ARGUMENT);
  EXPECT_THAT(record.launches, IsEmpty());
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
  EXPECT_EQ(record.launches.size(), 3u);
  EXPECT_EQ(record.launches[0].params[kvc::AppendParam::NumTokens], 3u);
  EXPECT_EQ(record.launches[1].params[kvc::WorkListParam::NumSequences], 5u);

  record.launches.clear();
  out.shape[0] = 4;
  EXPECT_EQ(run({&q, &k, &v, &cache, &three, &five, &out}, 1 << 20),
            KVC_STATUS_INVALID_ARGUMENT);
  EXPECT_THAT(record.messages.back(),
              HasSubstr("expected the tensors of 'kvc.attention' to have as many rows"));
  EXPECT_THAT(record.launches, IsEmpty());
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
  EXPECT_EQ(getNeeds(3, 3, 100), output + 64 + 192);
  EXPECT_EQ(run({&q, &sinks, &cache, &batch, &lse}, output + 64 + 192), KVC_STATUS_OK);
  ASSERT_EQ(record.launches.size(), 2u);
  const std::vector<uint64_t> &params = record.launches[1].params;
  using P = kvc::AttentionParam;
  EXPECT_EQ(params[P::Output], device(1000));
  EXPECT_EQ(params[P::OutputTokenStride], 8u * 64u);
  EXPECT_EQ(params[P::OutputHeadStride], 64u);
  EXPECT_EQ(params[P::Counts], device(1000) + output);
  EXPECT_EQ(params[P::LSE], device(6));
  EXPECT_EQ(params[P::LSETokenStride], 9u);
  EXPECT_EQ(params[P::LSEHeadStride], 1u);
  EXPECT_EQ(params[P::Sinks], device(5));
  EXPECT_EQ(params[P::SinkStride], 1u);
}
