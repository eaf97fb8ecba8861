//===- MatrixRow.h - rows of a matrix as vectors ----------------*- C++ -*-===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Vectors of GCC and Clang, and what they leave to single processors.
//===----------------------------------------------------------------------===//
#ifndef KVC_LIB_EMULATOR_MATRIXROW_H
#define KVC_LIB_EMULATOR_MATRIXROW_H

#include "Numerics.h"

#include <cmath>

#if defined(__FMA__) && defined(__F16C__)
#include <immintrin.h>
#define KVC_EMULATOR_X86_ROWS
#endif

namespace kvc::emu {

typedef float FloatRow __attribute__((vector_size(32), may_alias));
typedef int32_t IntRow __attribute__((vector_size(32), may_alias));
/// Wraps on overflow.
typedef uint32_t UIntRow __attribute__((vector_size(32), may_alias));

/// The `i`th vector of values that are aligned to 32 bytes.
template <typename Row, typename T>
Row &rowOf(T *values, unsigned i = 0) {
  return reinterpret_cast<Row *>(values)[i];
}
template <typename Row, typename T>
const Row &rowOf(const T *values, unsigned i = 0) {
  return reinterpret_cast<const Row *>(values)[i];
}

/// sums = a * b + sums, rounded once.
inline void fuseMultiplyAdd(float a, const FloatRow &b, FloatRow &sums) {
#ifdef KVC_EMULATOR_X86_ROWS
  sums = _mm256_fmadd_ps(_mm256_set1_ps(a), b, sums);
#else
  for (unsigned i = 0; i < 8; ++i)
    sums[i] = std::fma(a, b[i], sums[i]);
#endif
}

/// Widens 8 values of f16 or of bf16.
inline void widenRow(const uint16_t *bits, bool isBF16, FloatRow &values) {
#ifdef KVC_EMULATOR_X86_ROWS
  __m128i row = _mm_loadu_si128(reinterpret_cast<const __m128i *>(bits));
  values = isBF16 ? _mm256_castsi256_ps(
                        _mm256_slli_epi32(_mm256_cvtepu16_epi32(row), 16))
                  : _mm256_cvtph_ps(row);
#else
  for (unsigned i = 0; i < 8; ++i)
    values[i] = isBF16 ? bf16ToF32(bits[i]) : f16ToF32(bits[i]);
#endif
}

/// Rounds 8 values to the nearest f16, of which NaN is 0x7FFF.
inline void roundRowToF16(const double *values, uint16_t *bits) {
#ifdef KVC_EMULATOR_X86_ROWS
  // First to f32, cut, with the last bit set if anything was: it counts as more
  // than a tie, or less, when f16 rounds.
  alignas(32) float cut[8];
  for (unsigned i = 0; i < 8; ++i) {
    uint64_t pattern;
    std::memcpy(&pattern, &values[i], sizeof(pattern));
    uint64_t dropped = pattern & 0x1FFFFFFF;
    pattern ^= dropped;
    pattern |= dropped != 0 ? uint64_t(1) << 29 : 0;
    double value;
    std::memcpy(&value, &pattern, sizeof(value));
    cut[i] = static_cast<float>(value);
  }
  __m128i row =
      _mm256_cvtps_ph(rowOf<FloatRow>(cut), _MM_FROUND_TO_NEAREST_INT);
  _mm_storeu_si128(reinterpret_cast<__m128i *>(bits), row);
  for (unsigned i = 0; i < 8; ++i)
    bits[i] = values[i] != values[i] ? 0x7FFF : bits[i];
#else
  for (unsigned i = 0; i < 8; ++i)
    bits[i] = f64ToF16(values[i], Rounding::NearestEven);
#endif
}

} // namespace kvc::emu

#endif // KVC_LIB_EMULATOR_MATRIXROW_H
