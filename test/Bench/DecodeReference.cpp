//===- DecodeReference.cpp - decode attention by hand ---------------------===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "DecodeReference.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <immintrin.h>

using namespace kvc::bench;

namespace {

constexpr int kRows = kGroup, kBlocks = kPage / 16;
constexpr float kLog2E = 1.44269504f;

float toFloat(uint16_t bits) {
  uint32_t wide = uint32_t{bits} << 16;
  float value;
  std::memcpy(&value, &wide, sizeof(value));
  return value;
}

/// State of the rows of one KV head.
struct alignas(64) Head {
  float out[kRows][kWidth];
  float max[kRows];
  __m512 sum[kRows];
  float queries[kRows][kWidth];    // for FMA
  uint32_t pairs[kRows][kWidth / 2]; // for vdpbf16ps
};

/// 2^x for x <= 0, relative error below 2e-7.
inline __m512 exp2(__m512 x) {
  x = _mm512_max_ps(x, _mm512_set1_ps(-200.f));
  __m512 whole = _mm512_roundscale_ps(x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
  __m512 f = _mm512_sub_ps(x, whole);
  __m512 p = _mm512_set1_ps(0.0013264727f);
  p = _mm512_fmadd_ps(p, f, _mm512_set1_ps(0.009671513f));
  p = _mm512_fmadd_ps(p, f, _mm512_set1_ps(0.055507336f));
  p = _mm512_fmadd_ps(p, f, _mm512_set1_ps(0.24022242f));
  p = _mm512_fmadd_ps(p, f, _mm512_set1_ps(0.693147f));
  p = _mm512_fmadd_ps(p, f, _mm512_set1_ps(1.f));
  return _mm512_scalef_ps(p, whole);
}

inline __m512 lowHalf(__m512i words) {
  return _mm512_castsi512_ps(_mm512_slli_epi32(words, 16));
}
inline __m512 highHalf(__m512i words) {
  return _mm512_castsi512_ps(_mm512_and_si512(words, _mm512_set1_epi32(0xffff0000)));
}

/// Scores of all rows with the 64 keys at `keys`; fetches `ahead` meanwhile.
template <Products products>
inline void computeScores(const Head &head, const char *keys, const char *ahead, float scale,
                          __m512 (&score)[kRows][kBlocks]) {
  constexpr int kBlockBytes = 16 * kWidth * 2;
  __m512 acc[kRows][kBlocks] = {};
  for (int step = 0; step < kWidth / 2; ++step) {
    __m512i words[kBlocks];
    for (int block = 0; block < kBlocks; ++block) {
      words[block] = _mm512_loadu_si512(keys + block * kBlockBytes + step * 64);
      _mm_prefetch(ahead + block * kBlockBytes + step * 64, _MM_HINT_T1);
    }
    if constexpr (products == Products::Bf16Dot) {
      for (int r = 0; r < kRows; ++r) {
        auto query = (__m512bh)_mm512_set1_epi32(head.pairs[r][step]);
        for (int block = 0; block < kBlocks; ++block)
          acc[r][block] = _mm512_dpbf16_ps(acc[r][block], (__m512bh)words[block], query);
      }
    } else {
      for (int half = 0; half < 2; ++half) {
        __m512 x[kBlocks];
        for (int block = 0; block < kBlocks; ++block)
          x[block] = half ? highHalf(words[block]) : lowHalf(words[block]);
        for (int r = 0; r < kRows; ++r) {
          __m512 query = _mm512_set1_ps(head.queries[r][2 * step + half]);
          for (int block = 0; block < kBlocks; ++block)
            acc[r][block] = _mm512_fmadd_ps(x[block], query, acc[r][block]);
        }
      }
    }
  }
  for (int r = 0; r < kRows; ++r)
    for (int block = 0; block < kBlocks; ++block)
      score[r][block] = _mm512_mul_ps(acc[r][block], _mm512_set1_ps(scale * kLog2E));
}

template <Products products>
inline void addValues(Head &head, const char *values, const char *ahead,
                      const float (&weights)[kRows][kPage],
                      const uint32_t (&weightPairs)[kRows][kPage / 2],
                      const float (&alpha)[kRows]) {
  for (int chunk = 0; chunk < kWidth; chunk += 64) {
    __m512 acc[kRows][4];
    for (int r = 0; r < kRows; ++r)
      for (int v = 0; v < 4; ++v)
        acc[r][v] = _mm512_mul_ps(_mm512_load_ps(head.out[r] + chunk + 16 * v),
                                  _mm512_set1_ps(alpha[r]));
    for (int pair = 0; pair < kPage / 2; ++pair) {
      const char *line = values + (pair * kWidth + chunk) * 4;
      __m512i words[4];
      for (int v = 0; v < 4; ++v) {
        words[v] = _mm512_loadu_si512(line + 64 * v);
        _mm_prefetch(ahead + (line - values) + 64 * v, _MM_HINT_T1);
      }
      if constexpr (products == Products::Bf16Dot) {
        for (int r = 0; r < kRows; ++r) {
          auto weight = (__m512bh)_mm512_set1_epi32(weightPairs[r][pair]);
          for (int v = 0; v < 4; ++v)
            acc[r][v] = _mm512_dpbf16_ps(acc[r][v], (__m512bh)words[v], weight);
        }
      } else {
        for (int half = 0; half < 2; ++half) {
          __m512 x[4];
          for (int v = 0; v < 4; ++v)
            x[v] = half ? highHalf(words[v]) : lowHalf(words[v]);
          for (int r = 0; r < kRows; ++r) {
            __m512 weight = _mm512_set1_ps(weights[r][2 * pair + half]);
            for (int v = 0; v < 4; ++v)
              acc[r][v] = _mm512_fmadd_ps(x[v], weight, acc[r][v]);
          }
        }
      }
    }
    for (int r = 0; r < kRows; ++r)
      for (int v = 0; v < 4; ++v)
        _mm512_store_ps(head.out[r] + chunk + 16 * v, acc[r][v]);
  }
}

/// One step of the online softmax over 64 keys, of which `count` are visible.
template <Products products>
inline void attendPage(Head &head, const char *keys, const char *values, const char *aheadKeys,
                       const char *aheadValues, int count, float scale) {
  __m512 score[kRows][kBlocks];
  computeScores<products>(head, keys, aheadKeys, scale, score);
  alignas(64) float weights[kRows][kPage];
  alignas(64) uint32_t weightPairs[kRows][kPage / 2];
  float alpha[kRows];
  for (int r = 0; r < kRows; ++r) {
    if (count < kPage)
      for (int block = 0; block < kBlocks; ++block) {
        int left = std::clamp(count - 16 * block, 0, 16);
        score[r][block] = _mm512_mask_blend_ps(static_cast<__mmask16>((1u << left) - 1),
                                               _mm512_set1_ps(-INFINITY), score[r][block]);
      }
    __m512 largest = _mm512_max_ps(_mm512_max_ps(score[r][0], score[r][1]),
                                   _mm512_max_ps(score[r][2], score[r][3]));
    float max = std::max(head.max[r], _mm512_reduce_max_ps(largest));
    alpha[r] = std::exp2(head.max[r] - max);
    head.max[r] = max;
    __m512 sum = _mm512_mul_ps(head.sum[r], _mm512_set1_ps(alpha[r]));
    for (int block = 0; block < kBlocks; ++block) {
      __m512 p = exp2(_mm512_sub_ps(score[r][block], _mm512_set1_ps(max)));
      sum = _mm512_add_ps(sum, p);
      if constexpr (products == Products::Bf16Dot)
        _mm256_store_si256(reinterpret_cast<__m256i *>(weightPairs[r] + 8 * block),
                           (__m256i)_mm512_cvtneps_pbh(p));
      else
        _mm512_store_ps(weights[r] + 16 * block, p);
    }
    head.sum[r] = sum;
  }
  addValues<products>(head, values, aheadValues, weights, weightPairs, alpha);
}

template <Products products>
void decode(const kvc_cache_view_t &cache, const kvc_batch_t &batch, const uint16_t *query,
            uint16_t *out, float scale) {
  static thread_local Head heads[kHeads];
  const kvc_component_view_t &k = cache.components[0], &v = cache.components[1];
  for (int i = 0; i < batch.num_sequences; ++i) {
    for (int h = 0; h < kHeads; ++h)
      for (int r = 0; r < kRows; ++r) {
        const uint16_t *row = query + ((i * kHeads + h) * kRows + r) * kWidth;
        heads[h].max[r] = -INFINITY;
        heads[h].sum[r] = _mm512_setzero_ps();
        std::fill_n(heads[h].out[r], kWidth, 0.f);
        std::memcpy(heads[h].pairs[r], row, kWidth * 2);
        std::transform(row, row + kWidth, heads[h].queries[r], toFloat);
      }
    const int32_t *pages = batch.page_ids + (batch.page_start ? batch.page_start[i]
                                                              : i * batch.page_stride);
    int numPages = (batch.kv_lens[i] + kPage - 1) / kPage;
    auto at = [](const kvc_component_view_t &c, int64_t page, int64_t head) {
      return static_cast<const char *>(c.data) + 2 * (page * c.page_stride + head * c.head_stride);
    };
    for (int n = 0; n < numPages; ++n) {
      int count = std::min(kPage, batch.kv_lens[i] - n * kPage);
      int64_t page = pages[n], next = pages[std::min(n + 1, numPages - 1)];
      for (int h = 0; h < kHeads; ++h) {
        bool last = h + 1 == kHeads;
        attendPage<products>(heads[h], at(k, page, h), at(v, page, h),
                             last ? at(k, next, 0) : at(k, page, h + 1),
                             last ? at(v, next, 0) : at(v, page, h + 1), count, scale);
      }
    }
    for (int h = 0; h < kHeads; ++h)
      for (int r = 0; r < kRows; ++r) {
        float inverse = 1.f / _mm512_reduce_add_ps(heads[h].sum[r]);
        for (int w = 0; w < kWidth; ++w) {
          float value = heads[h].out[r][w] * inverse;
          uint32_t bits;
          std::memcpy(&bits, &value, sizeof(bits));
          bits += 0x7fff + (bits >> 16 & 1);
          out[((i * kHeads + h) * kRows + r) * kWidth + w] = bits >> 16;
        }
      }
  }
}

} // namespace

void kvc::bench::decodeReference(Products products, const kvc_cache_view_t &cache,
                                 const kvc_batch_t &batch, const uint16_t *query,
                                 uint16_t *out, float scale) {
  if (products == Products::Bf16Dot)
    decode<Products::Bf16Dot>(cache, batch, query, out, scale);
  else
    decode<Products::Fma>(cache, batch, query, out, scale);
}
