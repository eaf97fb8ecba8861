//===- Params.h - what kernels are called with ------------------*- C++ -*-===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The parameters of a kernel, as they lie in memory between the host function
// that fills them in and the kernel. All strides are in bytes.
//===----------------------------------------------------------------------===//
#ifndef KVC_LIB_CONVERSION_KVCTOCPU_PARAMS_H
#define KVC_LIB_CONVERSION_KVCTOCPU_PARAMS_H

#include "kvc-rt/abi.h"

#include <cstddef>
#include <cstdint>

namespace kvc {

/// A tensor [tokens, heads, ...], contiguous from the third dimension on.
struct TensorParam {
  void *data;
  int64_t tokenStride, headStride;
};

/// An array of a cache.
struct ArrayParam {
  void *data;
  int64_t pageStride, headStride, tokenStride;
};

/// A component of a cache; null data of scales and zero points that it does not have.
struct ComponentParam {
  ArrayParam elements, scales, zeros;
};

struct AttentionParams {
  const void *items;  ///< WorkItem[]
  const void *merges; ///< MergeEntry[]
  void *parts;        ///< rows of partial results; see AttentionKernel
  void *scratch;      ///< scratchBytes for each worker
  const int32_t *pageIds;
  const float *sinks; ///< [query heads], or null
  TensorParam queries[KVC_MAX_COMPONENTS]; ///< of each term
  ComponentParam keys[KVC_MAX_COMPONENTS]; ///< of each term
  ComponentParam value;
  TensorParam output;
  TensorParam lse; ///< null data if there is none
};

/// Tokens that one item of the kernels below handles.
inline constexpr int64_t kTokensPerItem = 16;

struct AppendParams {
  int64_t numTokens;
  const int64_t *slots;
  int32_t *nonfinite; ///< [tokens], or null
  int64_t nonfiniteStride;
  TensorParam values[KVC_MAX_COMPONENTS]; ///< before a fused rotation
  ComponentParam components[KVC_MAX_COMPONENTS];
  const int32_t *positions;                     ///< for fused rotations
  const float *frequencies[KVC_MAX_COMPONENTS]; ///< null if there are none, or constants
};

/// Cosines and sines of this many elements lie on the stack of a worker.
inline constexpr int64_t kMaxRotaryWidth = 4096;

struct RopeParams {
  int64_t numTokens;
  const int32_t *positions;
  const float *frequencies; ///< null if they are constants
  TensorParam input, output;
};

inline constexpr int64_t kMaxMergeParts = 64;

struct MergeParams {
  int64_t numTokens;
  const float *sinks;
  TensorParam output, lse;
  TensorParam outputs[kMaxMergeParts], lses[kMaxMergeParts];
};

} // namespace kvc

#endif // KVC_LIB_CONVERSION_KVCTOCPU_PARAMS_H
