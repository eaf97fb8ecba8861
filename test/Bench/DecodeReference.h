//===- DecodeReference.h - decode attention by hand -------------*- C++ -*-===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decode attention of the shape of Llama 3 8B, written with AVX-512 intrinsics as
// well as we know how: what generated kernels are measured against.
//===----------------------------------------------------------------------===//
#ifndef KVC_TEST_BENCH_DECODEREFERENCE_H
#define KVC_TEST_BENCH_DECODEREFERENCE_H

#include "kvc-rt/abi.h"

namespace kvc::bench {

inline constexpr int kHeads = 8, kGroup = 4, kWidth = 128, kPage = 64;

/// How products are computed.
enum class Products { Fma, Bf16Dot };

/// One thread decodes one query token of each sequence of `batch`: `query` and `out`
/// are [sequences, kHeads * kGroup, kWidth] of bf16, `cache` has packed bf16
/// components of kHeads x kWidth in pages of kPage tokens.
void decodeReference(Products products, const kvc_cache_view_t &cache,
                     const kvc_batch_t &batch, const uint16_t *query, uint16_t *out,
                     float scale);

} // namespace kvc::bench

#endif // KVC_TEST_BENCH_DECODEREFERENCE_H
