//===- GraphReplayTest.cpp - one launch, many lengths ---------------------===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Captures the launches of one call with lengths of 100 in a graph, in the emulator, and
// replays it with other lengths and page tables in device memory (trap T20: nothing that
// the host planned may be stale). Each time the output is compared with one in double.
//===----------------------------------------------------------------------===//
#include "Emulator/Driver/Cuda.h"

#include "kvc-rt/runtime.h"
#include "kvc/Pipelines/Compile.h"
#include "kvc/Target/LLVM/JIT.h"

#include "mlir/IR/MLIRContext.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <dlfcn.h>
#include <numeric>
#include <random>

using namespace kvc::emu::cuda;

static constexpr int64_t kHeads = 4, kKVHeads = 2, kWidth = 64, kPage = 16;
static constexpr int32_t kMaxKvLen = 5000, kSequences = 3;
static constexpr int64_t kPages = kSequences * ((kMaxKvLen + kPage - 1) / kPage) + 5;

static std::string getText(bool deterministic) {
  return std::string(R"mlir(
!cache = !kvc.cache<page = 16, k: 2x64xbf16, v: 2x64xbf16>
func.func @decode(%q: tensor<?x4x64xbf16>, %cache: !cache, %batch: !kvc.batch)
    -> (tensor<?x4x64xbf16>, tensor<?x4xf32>) {
  %o, %lse = kvc.attention %cache at %batch terms(%q * k) value(v) score [#kvc.causal]
      {scale = 0.125 : f32)mlir") + (deterministic ? ", deterministic" : "") + R"mlir(}
      : !cache, tensor<?x4x64xbf16> -> tensor<?x4x64xbf16>, tensor<?x4xf32>
  return %o, %lse : tensor<?x4x64xbf16>, tensor<?x4xf32>
}
)mlir";
}

//===----------------------------------------------------------------------===//
// Numbers
//===----------------------------------------------------------------------===//

static float toFloat(uint16_t bits) {
  uint32_t wide = uint32_t(bits) << 16;
  float value;
  std::memcpy(&value, &wide, sizeof(value));
  return value;
}

/// Values that bf16 holds exactly.
static std::vector<uint16_t> draw(size_t count, std::mt19937 &random) {
  std::vector<uint16_t> values(count);
  std::normal_distribution<float> normal;
  for (uint16_t &value : values) {
    float number = normal(random);
    uint32_t bits;
    std::memcpy(&bits, &number, sizeof(bits));
    value = bits >> 16;
  }
  return values;
}

namespace {
/// What is in device memory: a query a sequence, pages [page][token][head][width] of
/// keys and values, lengths, and the pages of each sequence.
struct Contents {
  std::vector<uint16_t> query, key, value;
  std::vector<int32_t> lens, pageIds, pageStart;

  /// Gives the sequences pages in a random order, and NaN to all slots they do not own.
  Contents(std::vector<int32_t> lens, std::mt19937 &random)
      : query(draw(kSequences * kHeads * kWidth, random)),
        key(kPages * kPage * kKVHeads * kWidth, 0x7fc0), value(key), lens(std::move(lens)) {
    std::vector<int32_t> pages(kPages);
    std::iota(pages.begin(), pages.end(), 0);
    std::shuffle(pages.begin(), pages.end(), random);
    pageStart = {0};
    for (int32_t length : this->lens)
      pageStart.push_back(pageStart.back() + (length + kPage - 1) / kPage);
    pageIds.assign(pages.begin(), pages.begin() + pageStart.back());
    for (int32_t sequence = 0; sequence < kSequences; ++sequence)
      for (int32_t token = 0; token < this->lens[sequence]; ++token)
        for (std::vector<uint16_t> *rows : {&key, &value}) {
          std::vector<uint16_t> row = draw(kKVHeads * kWidth, random);
          std::copy(row.begin(), row.end(), rows->begin() + getRow(sequence, token));
        }
  }

  int64_t getRow(int32_t sequence, int32_t token) const {
    int64_t page = pageIds[pageStart[sequence] + token / kPage];
    return (page * kPage + token % kPage) * kKVHeads * kWidth;
  }

  /// The output and log-sum-exp of a head of a sequence.
  std::pair<std::vector<double>, double> attend(int32_t sequence, int64_t head) const {
    std::vector<double> scores, output(kWidth);
    int64_t offset = head / (kHeads / kKVHeads) * kWidth;
    for (int32_t token = 0; token < lens[sequence]; ++token) {
      double product = 0;
      for (int64_t i = 0; i < kWidth; ++i)
        product += double(toFloat(query[(sequence * kHeads + head) * kWidth + i])) *
                   toFloat(key[getRow(sequence, token) + offset + i]);
      scores.push_back(product * 0.125);
    }
    double max = *std::max_element(scores.begin(), scores.end()), sum = 0;
    for (double score : scores)
      sum += std::exp(score - max);
    for (int32_t token = 0; token < lens[sequence]; ++token)
      for (int64_t i = 0; i < kWidth; ++i)
        output[i] += std::exp(scores[token] - max) / sum *
                     toFloat(value[getRow(sequence, token) + offset + i]);
    return {output, max + std::log(sum)};
  }
};

//===----------------------------------------------------------------------===//
// The device
//===----------------------------------------------------------------------===//

#define EXPECT_KVC(call) EXPECT_EQ(call, KVC_STATUS_OK) << kvc_last_message()

/// An array in device memory.
template <typename T>
struct DeviceArray {
  kvc_device_t *device;
  size_t count;
  void *data = nullptr;

  DeviceArray(kvc_device_t *device, size_t count) : device(device), count(count) {
    EXPECT_KVC(kvc_device_allocate(device, count * sizeof(T), &data));
  }
  ~DeviceArray() { EXPECT_KVC(kvc_device_free(device, data)); }
  void set(const std::vector<T> &values) {
    EXPECT_LE(values.size(), count);
    EXPECT_KVC(kvc_device_upload(device, data, values.data(), values.size() * sizeof(T)));
  }
  std::vector<T> get() const {
    std::vector<T> values(count);
    EXPECT_KVC(kvc_device_download(device, values.data(), data, count * sizeof(T)));
    return values;
  }
};

/// With few processors, keys are cut into chunks of several splits.
struct Setup {
  const char *name;
  bool deterministic;
  const char *emulator; ///< Its options.
};

class GraphReplayTest : public testing::TestWithParam<Setup> {
protected:
  void SetUp() override;
  void TearDown() override;
  /// Captures one call of @decode.
  void capture(const std::vector<const void *> &args);
  void replay();

  template <typename Function>
  static Function *find(const char *name) {
    static void *library = dlopen(KVC_EMULATOR_LIBRARY, RTLD_NOW | RTLD_LOCAL);
    return reinterpret_cast<Function *>(dlsym(library, name));
  }

  kvc::CompileResult compiled;
  const kvc_program_t *program = nullptr;
  kvc_device_t *device = nullptr;
  kvc_stream_t *stream = nullptr;
  GraphExecHandle exec = nullptr;
};
} // namespace

void GraphReplayTest::SetUp() {
  mlir::DialectRegistry registry;
  kvc::registerCompilerDialects(registry);
  mlir::MLIRContext context(registry, mlir::MLIRContext::Threading::DISABLED);
  context.loadAllAvailableDialects();
  kvc::CompileOptions options;
  options.target = kvc::CompileTarget::GPU;
  options.split = 64;
  ASSERT_EQ(kvc::compile(context, getText(GetParam().deterministic), "test", options, compiled),
            KVC_STATUS_OK);
  ASSERT_EQ(kvc_program_load(compiled.program->getQuery(), &program), KVC_STATUS_OK)
      << kvc_last_message();
  ASSERT_EQ(find<int(const char *)>("kvc_emulator_set_options")(GetParam().emulator), 0);
  ASSERT_EQ(kvc_device_create_cuda(KVC_EMULATOR_LIBRARY, 0, &device), KVC_STATUS_OK)
      << kvc_last_message();
  ASSERT_EQ(kvc_stream_create(device, &stream), KVC_STATUS_OK) << kvc_last_message();
  // The runtime's context is that of this thread too, as in a program of CUDA.
  ContextHandle current = nullptr;
  ASSERT_EQ(find<Result(ContextHandle *, Device)>("cuDevicePrimaryCtxRetain")(&current, 0),
            Success);
  ASSERT_EQ(find<Result(ContextHandle)>("cuCtxSetCurrent")(current), Success);
}

void GraphReplayTest::TearDown() {
  if (exec) {
    EXPECT_EQ(find<Result(GraphExecHandle)>("cuGraphExecDestroy")(exec), Success);
  }
  kvc_stream_release(stream);
  EXPECT_KVC(kvc_program_unload(program));
  kvc_device_release(device);
  EXPECT_EQ(find<Result(Device)>("cuDevicePrimaryCtxRelease_v2")(0), Success);
  EXPECT_EQ(find<int(const char *)>("kvc_emulator_set_options")(nullptr), 0);
}

void GraphReplayTest::capture(const std::vector<const void *> &args) {
  kvc_bounds_t bounds = {sizeof(bounds), kSequences, kSequences, 1, kMaxKvLen,
                         kvc_stream_num_workers(stream), nullptr};
  ASSERT_EQ(kvc_program_prepare(program, 0, stream, &bounds), KVC_STATUS_OK)
      << kvc_last_message();
  auto native = static_cast<StreamHandle>(kvc_stream_native(stream));
  ASSERT_EQ(find<Result(StreamHandle, CaptureMode)>("cuStreamBeginCapture_v2")(
                native, CaptureMode::Relaxed),
            Success);
  EXPECT_KVC(kvc_program_run(program, 0, stream, args.data(), args.size()));
  GraphHandle graph = nullptr;
  ASSERT_EQ(find<Result(StreamHandle, GraphHandle *)>("cuStreamEndCapture")(native, &graph),
            Success);
  ASSERT_EQ(find<Result(GraphExecHandle *, GraphHandle, unsigned long long)>(
                "cuGraphInstantiateWithFlags")(&exec, graph, 0),
            Success);
  EXPECT_EQ(find<Result(GraphHandle)>("cuGraphDestroy")(graph), Success);
}

void GraphReplayTest::replay() {
  auto native = static_cast<StreamHandle>(kvc_stream_native(stream));
  EXPECT_EQ(find<Result(GraphExecHandle, StreamHandle)>("cuGraphLaunch")(exec, native), Success);
  EXPECT_EQ(find<Result(StreamHandle)>("cuStreamSynchronize")(native), Success);
}

/// The project's tolerances of bf16 outputs and of log-sum-exps.
static void expectRow(const std::vector<double> &want, double wantLSE, const uint16_t *got,
                      float gotLSE) {
  double norm = 0, error = 0, largest = 0, worst = 0;
  for (int64_t i = 0; i < kWidth; ++i) {
    double difference = toFloat(got[i]) - want[i];
    norm += want[i] * want[i];
    error += difference * difference;
    largest = std::max(largest, std::abs(want[i]));
    worst = std::max(worst, std::abs(difference));
  }
  EXPECT_LE(std::sqrt(error), 5e-3 * std::sqrt(norm));
  EXPECT_LE(worst, 4 * 5e-3 * largest);
  EXPECT_NEAR(gotLSE, wantLSE, 1e-4 + 1e-5 * std::abs(wantLSE));
}

TEST_P(GraphReplayTest, LengthsChangeInDeviceMemory) {
  DeviceArray<uint16_t> query(device, kSequences * kHeads * kWidth),
      key(device, kPages * kPage * kKVHeads * kWidth), value(device, key.count),
      output(device, query.count);
  DeviceArray<float> lse(device, kSequences * kHeads);
  DeviceArray<int32_t> queryStart(device, kSequences + 1), lens(device, kSequences),
      pageStart(device, kSequences + 1), pageIds(device, kPages), positions(device, kSequences);
  DeviceArray<int64_t> slots(device, kSequences);
  queryStart.set({0, 1, 2, 3});
  slots.set({-1, -1, -1});
  positions.set({0, 0, 0});

  kvc_tensor_t queryTensor = {query.data, {kSequences, kHeads, kWidth}, {kHeads * kWidth, kWidth, 1},
                              3, KVC_DTYPE_BF16};
  kvc_tensor_t outputTensor = queryTensor;
  outputTensor.data = output.data;
  kvc_tensor_t lseTensor = {lse.data, {kSequences, kHeads}, {kHeads, 1}, 2, KVC_DTYPE_F32};
  const kvc_function_desc_t *function = kvc_program_function(program, 0);
  auto *blob = reinterpret_cast<const char *>(program->blob);
  auto *types = reinterpret_cast<const kvc_cache_type_t *>(blob + program->blob->cache_types);
  ASSERT_EQ(function->num_args, 5u);
  kvc_cache_view_t cache = {sizeof(cache), 2, kvc_cache_type_fingerprint(types), kPages, {}};
  for (int i = 0; i < 2; ++i)
    cache.components[i] = {i ? value.data : key.data, kPage * kKVHeads * kWidth, kWidth,
                           kKVHeads * kWidth};
  kvc_batch_t batch = {};
  batch.struct_size = sizeof(batch);
  batch.num_sequences = batch.num_tokens = kSequences;
  batch.max_query_len = 1;
  batch.max_kv_len = kMaxKvLen;
  batch.query_start = static_cast<int32_t *>(queryStart.data);
  batch.kv_lens = static_cast<int32_t *>(lens.data);
  batch.page_ids = static_cast<int32_t *>(pageIds.data);
  batch.page_start = static_cast<int32_t *>(pageStart.data);
  batch.num_page_ids = kPages;
  batch.slots = static_cast<int64_t *>(slots.data);
  batch.positions = static_cast<int32_t *>(positions.data);

  std::mt19937 random(4);
  bool isCaptured = false;
  for (std::vector<int32_t> lengths :
       {std::vector<int32_t>{100, 100, 100}, {101, 100, 1}, {256, 257, 101}, {1000, 3, 257},
        {4999, 64, 1000}, {5000, 5000, 5000}, {1, 65, 4999}, {100, 100, 100}}) {
    SCOPED_TRACE(testing::PrintToString(lengths));
    Contents contents(lengths, random);
    query.set(contents.query);
    key.set(contents.key);
    value.set(contents.value);
    lens.set(contents.lens);
    pageStart.set(contents.pageStart);
    pageIds.set(contents.pageIds);
    if (!isCaptured)
      capture({&queryTensor, &cache, &batch, &outputTensor, &lseTensor});
    isCaptured = true;
    output.set(std::vector<uint16_t>(output.count, 0x7fc0));
    replay();
    std::vector<uint16_t> rows = output.get();
    std::vector<float> lses = lse.get();
    for (int32_t sequence = 0; sequence < kSequences; ++sequence)
      for (int64_t head = 0; head < kHeads; ++head) {
        auto [want, wantLSE] = contents.attend(sequence, head);
        int64_t row = sequence * kHeads + head;
        expectRow(want, wantLSE, &rows[row * kWidth], lses[row]);
      }
  }
}

static constexpr Setup kSetups[] = {{"ManyProcessors", false, "processors=132"},
                                    {"FewProcessors", false, "processors=3"},
                                    {"Deterministic", true, "processors=3"}};
INSTANTIATE_TEST_SUITE_P(Setups, GraphReplayTest, testing::ValuesIn(kSetups),
                         [](const auto &info) { return std::string(info.param.name); });
