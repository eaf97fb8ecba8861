//===- kvc-decode-bench.cpp - generated decode beside hand-written --------===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Runs the generated decode kernel of each AVX-512 tier and its hand-written
// counterpart on the same cache, in turn, on one thread, compares their outputs and
// prints the median times and their ratio.
//===----------------------------------------------------------------------===//
#include "DecodeReference.h"
#include "kvc-c/compiler.h"
#include "kvc-rt/runtime.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>
#include <string>
#include <vector>

using namespace kvc::bench;

static const char kText[] = R"(
!cache = !kvc.cache<page = 64, k: 8x128xbf16, v: 8x128xbf16>
func.func @decode(%q: tensor<?x32x128xbf16>, %cache: !cache, %batch: !kvc.batch)
    -> tensor<?x32x128xbf16> {
  %out = kvc.attention %cache at %batch terms(%q * k) value(v) score [#kvc.causal]
      {scale = 0.08838834764 : f32} : !cache, tensor<?x32x128xbf16> -> tensor<?x32x128xbf16>
  return %out : tensor<?x32x128xbf16>
}
)";

static void check(kvc_status_t status, const char *message) {
  if (status == KVC_STATUS_OK)
    return;
  std::fprintf(stderr, "error: %s\n", message);
  std::exit(1);
}
static void check(kvc_status_t status) { check(status, kvc_last_message()); }

template <typename Fn> static double milliseconds(Fn fn) {
  auto start = std::chrono::steady_clock::now();
  fn();
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start)
      .count();
}

static double median(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + values.size() / 2, values.end());
  return values[values.size() / 2];
}

static float toFloat(uint16_t bits) {
  uint32_t wide = uint32_t{bits} << 16;
  float value;
  std::memcpy(&value, &wide, sizeof(value));
  return value;
}

/// Largest relative L2 difference of a row.
static double compareRows(const std::vector<uint16_t> &x, const std::vector<uint16_t> &y) {
  double worst = 0;
  for (size_t row = 0; row < x.size(); row += kWidth) {
    double difference = 0, size = 0;
    for (int w = 0; w < kWidth; ++w) {
      double a = toFloat(x[row + w]), b = toFloat(y[row + w]);
      difference += (a - b) * (a - b);
      size += b * b;
    }
    worst = std::max(worst, std::sqrt(difference / size));
  }
  return worst;
}

int main(int argc, char **argv) {
  if (argc > 4 || (argc > 1 && !std::strcmp(argv[1], "--help"))) {
    std::printf("usage: kvc-decode-bench [tokens = 32768] [sequences = 4] [repetitions = 7]\n"
                "Times generated and hand-written decode attention on one thread.\n");
    return argc > 4;
  }
  if (!__builtin_cpu_supports("avx512bw") || !__builtin_cpu_supports("avx512bf16")) {
    std::printf("skipped: this processor lacks AVX-512 with bf16\n");
    return 0;
  }
  int tokens = argc > 1 ? std::atoi(argv[1]) : 32768;
  int sequences = argc > 2 ? std::atoi(argv[2]) : 4;
  int repetitions = argc > 3 ? std::atoi(argv[3]) : 7;
  if (tokens < 1 || sequences < 1 || repetitions < 1) {
    std::fprintf(stderr, "error: expected numbers of at least 1\n");
    return 1;
  }

  kvc_compiler_t *compiler = kvc_compiler_create();
  kvc_stream_t *stream;
  check(kvc_stream_create_cpu(1, &stream));
  std::mt19937 random(1);
  std::normal_distribution<float> normal;
  auto bf16 = [&] {
    float value = normal(random);
    uint32_t bits;
    std::memcpy(&bits, &value, sizeof(bits));
    return static_cast<uint16_t>(bits >> 16);
  };
  std::printf("%d sequences x %d tokens, 32 query / 8 KV heads x 128, bf16, page 64, 1 thread, "
              "median of %d\n%-12s %12s %12s %8s %16s\n",
              sequences, tokens, repetitions, "products", "generated ms", "by hand ms", "ratio",
              "row difference");
  for (auto [tier, products] : {std::pair("avx512", Products::Fma),
                                std::pair("avx512_bf16", Products::Bf16Dot)}) {
    kvc_compile_options_t options = {};
    options.struct_size = sizeof(options);
    options.tier = tier;
    kvc_compiled_t *compiled;
    check(kvc_compile(compiler, kText, sizeof(kText) - 1, &options, &compiled),
          kvc_compiler_messages(compiler));
    const kvc_program_t *program;
    check(kvc_program_load(kvc_compiled_query(compiled), &program));
    auto *type = reinterpret_cast<const kvc_cache_type_t *>(
        reinterpret_cast<const char *>(program->blob) + program->blob->cache_types);

    kvc_pool_options_t poolOptions = {};
    poolOptions.struct_size = sizeof(poolOptions);
    poolOptions.num_pages = int64_t{sequences} * ((tokens + kPage - 1) / kPage);
    poolOptions.num_layers = 1;
    poolOptions.page_order_seed = 1;
    kvc_pool_t *pool;
    kvc_cache_view_t view;
    check(kvc_pool_create(type, &poolOptions, &pool));
    check(kvc_pool_view(pool, 0, &view));
    std::vector<kvc_sequence_t> handles(sequences);
    std::vector<int32_t> queryLens(sequences, 1);
    for (kvc_sequence_t &handle : handles) {
      check(kvc_sequence_create(pool, &handle));
      check(kvc_sequence_append(pool, handle, tokens));
    }
    std::vector<uint16_t> noise(1 << 20);
    std::generate(noise.begin(), noise.end(), bf16);
    for (int c = 0; c < 2; ++c)
      for (int64_t page = 0; page < view.num_pages; ++page) {
        size_t count = kHeads * kPage * kWidth;
        std::memcpy(static_cast<uint16_t *>(view.components[c].data) +
                        page * view.components[c].page_stride,
                    noise.data() + (page * 7919 + c * 104729) % (noise.size() - count),
                    count * 2);
      }
    kvc_batch_object_t *batch;
    check(kvc_batch_create(pool, handles.data(), queryLens.data(), sequences, &batch));
    const kvc_batch_t *batchView = kvc_batch_view(batch);

    std::vector<uint16_t> query(size_t(sequences) * kHeads * kGroup * kWidth);
    std::vector<uint16_t> generated(query.size()), byHand(query.size());
    std::generate(query.begin(), query.end(), bf16);
    auto tensor = [&](std::vector<uint16_t> &data) {
      int64_t heads = kHeads * kGroup;
      return kvc_tensor_t{data.data(), {sequences, heads, kWidth}, {heads * kWidth, kWidth, 1},
                          3, KVC_DTYPE_BF16};
    };
    kvc_tensor_t q = tensor(query), o = tensor(generated);
    const void *args[] = {&q, &view, batchView, &o};
    std::vector<double> generatedTimes, byHandTimes;
    for (int i = 0; i <= repetitions; ++i) {
      double a = milliseconds([&] { check(kvc_program_run(program, 0, stream, args, 4)); });
      double b = milliseconds([&] {
        decodeReference(products, view, *batchView, query.data(), byHand.data(), 0.08838834764f);
      });
      if (i > 0) { // the first run warms up
        generatedTimes.push_back(a);
        byHandTimes.push_back(b);
      }
    }
    double a = median(generatedTimes), b = median(byHandTimes);
    std::printf("%-12s %12.3f %12.3f %8.2f %16.2g\n",
                products == Products::Fma ? "fma" : "bf16_dot", a, b, b / a,
                compareRows(generated, byHand));
    if (!(compareRows(generated, byHand) <= 5e-3)) {
      std::fprintf(stderr, "error: expected rows to differ by at most 5e-3\n");
      return 1;
    }
    kvc_batch_release(batch);
    kvc_pool_release(pool);
    kvc_compiled_release(compiled);
  }
  kvc_stream_release(stream);
  kvc_compiler_release(compiler);
  return 0;
}
