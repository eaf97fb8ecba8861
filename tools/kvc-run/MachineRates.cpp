//===- MachineRates.cpp - what this machine can do at best ----------------===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Each loop is compiled for the instructions that it is about, whatever the rest of
// the program is compiled for, and chosen when it runs.
//===----------------------------------------------------------------------===//
#include "MachineRates.h"

#include "Options.h"

#include "llvm/Support/ErrorHandling.h"
#include "llvm/Support/MemoryBuffer.h"

#include <chrono>
#include <immintrin.h>
#include <numeric>
#include <sys/mman.h>

using namespace kvcrun;

/// What loops compute goes here, or else they would not have to.
static volatile uint64_t sink;

template <typename Body> static double measureSeconds(Body body) {
  auto start = std::chrono::steady_clock::now();
  body();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

std::optional<uint64_t> kvcrun::getAvailableMemory() {
  auto file = llvm::MemoryBuffer::getFileAsStream("/proc/meminfo");
  if (!file)
    return std::nullopt;
  llvm::StringRef text = (*file)->getBuffer();
  size_t at = text.find("MemAvailable:");
  uint64_t kilobytes;
  if (at == llvm::StringRef::npos ||
      text.substr(at).split(':').second.ltrim().consumeInteger(10, kilobytes))
    return std::nullopt;
  return kilobytes << 10;
}

//===----------------------------------------------------------------------===//
// Reading
//===----------------------------------------------------------------------===//

static constexpr int64_t kHugePage = 2 << 20;
/// What a thread reads at a time: long enough for the prefetchers.
static constexpr int64_t kChunk = 8 << 20;
/// Bytes that are fetched ahead.
static constexpr int64_t kAhead = 2048;

__attribute__((target("avx512f"))) static uint64_t sumAVX512(const char *data, int64_t bytes) {
  __m512i sums[4] = {};
  for (int64_t i = 0; i < bytes; i += 256)
#pragma GCC unroll 4
    for (int j = 0; j < 4; ++j) {
      _mm_prefetch(data + i + j * 64 + kAhead, _MM_HINT_T0);
      sums[j] = _mm512_add_epi64(sums[j], _mm512_load_si512(data + i + j * 64));
    }
  __m512i total = _mm512_add_epi64(_mm512_add_epi64(sums[0], sums[1]),
                                   _mm512_add_epi64(sums[2], sums[3]));
  uint64_t lanes[8];
  _mm512_storeu_si512(lanes, total);
  return std::accumulate(std::begin(lanes), std::end(lanes), uint64_t(0));
}

__attribute__((target("avx2"))) static uint64_t sumAVX2(const char *data, int64_t bytes) {
  __m256i sums[8] = {};
  for (int64_t i = 0; i < bytes; i += 256)
#pragma GCC unroll 8
    for (int j = 0; j < 8; ++j) {
      if (j % 2 == 0)
        _mm_prefetch(data + i + j * 32 + kAhead, _MM_HINT_T0);
      auto *part = reinterpret_cast<const __m256i *>(data + i + j * 32);
      sums[j] = _mm256_add_epi64(sums[j], _mm256_load_si256(part));
    }
  for (int j = 1; j < 8; ++j)
    sums[0] = _mm256_add_epi64(sums[0], sums[j]);
  uint64_t lanes[4];
  _mm256_storeu_si256(reinterpret_cast<__m256i *>(lanes), sums[0]);
  return std::accumulate(std::begin(lanes), std::end(lanes), uint64_t(0));
}

static uint64_t sumPlain(const char *data, int64_t bytes) {
  uint64_t sums[4] = {};
  auto *words = reinterpret_cast<const uint64_t *>(data);
  for (int64_t i = 0; i < bytes / 8; i += 4)
    for (int j = 0; j < 4; ++j)
      sums[j] += words[i + j];
  return sums[0] + sums[1] + sums[2] + sums[3];
}

static uint64_t sum(const char *data, int64_t bytes) {
  if (__builtin_cpu_supports("avx512f"))
    return sumAVX512(data, bytes);
  if (__builtin_cpu_supports("avx2"))
    return sumAVX2(data, bytes);
  return sumPlain(data, bytes);
}

std::unique_ptr<ReadBuffer> ReadBuffer::create(kvc_stream_t *stream) {
  void *memory = MAP_FAILED;
  if (getAvailableMemory().value_or(kBytes) >= kBytes)
    memory = mmap(nullptr, kBytes + kHugePage, PROT_READ | PROT_WRITE,
                  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) {
    (void)reportError("no memory for the " + llvm::Twine(kBytes >> 20) +
                      " MiB that the read rate is measured with");
    return nullptr;
  }
  (void)madvise(memory, kBytes + kHugePage, MADV_HUGEPAGE); // without, it is only slower
  std::unique_ptr<ReadBuffer> buffer(new ReadBuffer(memory));
  // Pages that were never written are all the same one.
  parallelFor(stream, kBytes / kChunk, [&](int64_t item, int32_t) {
    std::memset(static_cast<char *>(memory) + item * kChunk, 1, kChunk);
  });
  return buffer;
}

ReadBuffer::~ReadBuffer() { munmap(memory, kBytes + kHugePage); }

double ReadBuffer::read(kvc_stream_t *stream) const {
  return measureSeconds([&] {
    parallelFor(stream, kBytes / kChunk, [&](int64_t item, int32_t) {
      sink = sum(static_cast<const char *>(memory) + item * kChunk, kChunk);
    });
  });
}

//===----------------------------------------------------------------------===//
// Multiplying
//===----------------------------------------------------------------------===//

/// Accumulators: enough to hide the latency of the instructions, and few enough to
/// stay in registers.
static constexpr int kAccumulators512 = 24, kAccumulators = 12;

llvm::StringRef kvcrun::getMultiplyName(Multiply multiply) {
  switch (multiply) {
  case Multiply::BF16Tile:
    return "tdpbf16ps 16 rows";
  case Multiply::BF16Dot:
    return "vdpbf16ps 512 bit";
  case Multiply::FMA512:
    return "FMA 512 bit";
  case Multiply::FMA256:
    return "FMA 256 bit";
  case Multiply::MulAdd128:
    return "mulps and addps 128 bit";
  }
  llvm_unreachable("unknown instruction");
}

// Each loop returns the operations that it did, two for each product. Its sums start
// at different values, or else the compiler would compute one for all.

__attribute__((target("amx-tile,amx-bf16"))) static double multiplyBF16Tile(int64_t rounds) {
  struct alignas(64) Config { // Intel, Architecture Instruction Set Extensions, section 3.2
    uint8_t palette = 1, startRow = 0, reserved[14] = {};
    uint16_t rowBytes[16] = {64, 64, 64, 64, 64, 64, 64, 64};
    uint8_t rows[16] = {16, 16, 16, 16, 16, 16, 16, 16};
  };
  static const Config config; // of a local one GCC 12 stores the first 8 bytes alone
  _tile_loadconfig(&config);
  for (int64_t i = 0; i < rounds; ++i) {
    _tile_dpbf16ps(0, 6, 7);
    _tile_dpbf16ps(1, 6, 7);
    _tile_dpbf16ps(2, 6, 7);
    _tile_dpbf16ps(3, 6, 7);
  }
  _tile_release();
  return 4 * 2.0 * 16 * 16 * 32 * rounds;
}

__attribute__((target("avx512f,avx512bf16"))) static double multiplyBF16Dot(int64_t rounds) {
  __m512 sums[kAccumulators512];
  for (int j = 0; j < kAccumulators512; ++j)
    sums[j] = _mm512_set1_ps(j);
  auto ones = (__m512bh)_mm512_set1_epi16(0x3F80);
  for (int64_t i = 0; i < rounds; ++i)
#pragma GCC unroll 24
    for (int j = 0; j < kAccumulators512; ++j)
      sums[j] = _mm512_dpbf16_ps(sums[j], ones, ones);
  for (__m512 sum : sums)
    sink = static_cast<uint64_t>(_mm512_cvtss_f32(sum));
  return 64.0 * kAccumulators512 * rounds;
}

__attribute__((target("avx512f"))) static double multiplyFMA512(int64_t rounds) {
  __m512 sums[kAccumulators512], ones = _mm512_set1_ps(1.0f);
  for (int j = 0; j < kAccumulators512; ++j)
    sums[j] = _mm512_set1_ps(j);
  for (int64_t i = 0; i < rounds; ++i)
#pragma GCC unroll 24
    for (int j = 0; j < kAccumulators512; ++j)
      sums[j] = _mm512_fmadd_ps(ones, ones, sums[j]);
  for (__m512 sum : sums)
    sink = static_cast<uint64_t>(_mm512_cvtss_f32(sum));
  return 32.0 * kAccumulators512 * rounds;
}

__attribute__((target("avx2,fma"))) static double multiplyFMA256(int64_t rounds) {
  __m256 sums[kAccumulators], ones = _mm256_set1_ps(1.0f);
  for (int j = 0; j < kAccumulators; ++j)
    sums[j] = _mm256_set1_ps(j);
  for (int64_t i = 0; i < rounds; ++i)
#pragma GCC unroll 12
    for (int j = 0; j < kAccumulators; ++j)
      sums[j] = _mm256_fmadd_ps(ones, ones, sums[j]);
  for (__m256 sum : sums)
    sink = static_cast<uint64_t>(_mm256_cvtss_f32(sum));
  return 16.0 * kAccumulators * rounds;
}

static double multiplyMulAdd128(int64_t rounds) {
  __m128 sums[kAccumulators];
  for (int j = 0; j < kAccumulators; ++j)
    sums[j] = _mm_set1_ps(j);
  volatile float one = 1.0f; // or else the product would be computed once
  __m128 ones = _mm_set1_ps(one), factors = _mm_set1_ps(one);
  for (int64_t i = 0; i < rounds; ++i)
#pragma GCC unroll 12
    for (int j = 0; j < kAccumulators; ++j) {
      __m128 product = _mm_mul_ps(ones, factors);
      asm volatile("" : "+x"(product)); // not hoisted out of the loop
      sums[j] = _mm_add_ps(sums[j], product);
    }
  for (__m128 sum : sums)
    sink = static_cast<uint64_t>(_mm_cvtss_f32(sum));
  return 8.0 * kAccumulators * rounds;
}

static double multiply(Multiply multiply, int64_t rounds) {
  switch (multiply) {
  case Multiply::BF16Tile:
    return multiplyBF16Tile(rounds);
  case Multiply::BF16Dot:
    return multiplyBF16Dot(rounds);
  case Multiply::FMA512:
    return multiplyFMA512(rounds);
  case Multiply::FMA256:
    return multiplyFMA256(rounds);
  case Multiply::MulAdd128:
    return multiplyMulAdd128(rounds);
  }
  llvm_unreachable("unknown instruction");
}

double kvcrun::measurePeak(Multiply instruction, kvc_stream_t *stream) {
  // Some 50 ms a thread, several time slices of a busy system, in parts that an
  // interrupted thread leaves to the others.
  constexpr int64_t kRounds = 400000, kParts = 16;
  int64_t parts = kParts * kvc_stream_num_workers(stream);
  double operations = parts * multiply(instruction, kRounds);
  double seconds = measureSeconds([&] {
    parallelFor(stream, parts, [&](int64_t, int32_t) { multiply(instruction, kRounds); });
  });
  return operations / seconds;
}
