//===- CPUTier.h - what a processor can do ----------------------*- C++ -*-===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef KVC_SUPPORT_CPUTIER_H
#define KVC_SUPPORT_CPUTIER_H

#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringRef.h"
#include <optional>

namespace kvc {

/// The forms that CPU code comes in. An instruction that the processor lacks
/// makes LLVM end the process, so the form is chosen before any lowering.
enum class CPUTier {
  Plain,      ///< x86-64 baseline: 4 lanes, no FMA.
  AVX2,       ///< AVX2 with FMA and F16C: 8 lanes.
  AVX512,     ///< AVX-512 F, BW, DQ, VL: 16 lanes.
  AVX512BF16, ///< and AVX512_BF16 and VBMI: vdpbf16ps, vpermi2b.
  AMX,        ///< and AMX tiles of bf16: tdpbf16ps.
};

/// "plain", "avx2", "avx512", "avx512_bf16", "amx".
llvm::StringRef stringifyCPUTier(CPUTier tier);
std::optional<CPUTier> symbolizeCPUTier(llvm::StringRef text);

/// LLVM's feature string that a tier needs, such as "+avx2,+fma,+f16c".
llvm::StringRef getCPUTierFeatures(CPUTier tier);

/// True of tiers that have AVX512_BF16.
inline bool hasBF16(CPUTier tier) { return tier >= CPUTier::AVX512BF16; }

/// The fastest tier whose features are all set in `features`, for the processor
/// `cpu` (LLVM's names). Where vdpbf16ps does no more products a cycle than FMA
/// does, AVX512 is preferred to AVX512BF16: it is as fast or faster, and exact.
CPUTier selectCPUTier(const llvm::StringMap<bool> &features, llvm::StringRef cpu);

/// f32 lanes of a vector.
int64_t getLanes(CPUTier tier);

} // namespace kvc

#endif // KVC_SUPPORT_CPUTIER_H
