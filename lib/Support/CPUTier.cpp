//===- CPUTier.cpp - what a processor can do ------------------------------===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "kvc/Support/CPUTier.h"

#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/Support/ErrorHandling.h"

using namespace llvm;

namespace kvc {

StringRef stringifyCPUTier(CPUTier tier) {
  switch (tier) {
  case CPUTier::Plain:
    return "plain";
  case CPUTier::AVX2:
    return "avx2";
  case CPUTier::AVX512:
    return "avx512";
  case CPUTier::AVX512BF16:
    return "avx512_bf16";
  case CPUTier::AMX:
    return "amx";
  }
  llvm_unreachable("unknown tier");
}

std::optional<CPUTier> symbolizeCPUTier(StringRef text) {
  return StringSwitch<std::optional<CPUTier>>(text)
      .Case("plain", CPUTier::Plain)
      .Case("avx2", CPUTier::AVX2)
      .Case("avx512", CPUTier::AVX512)
      .Case("avx512_bf16", CPUTier::AVX512BF16)
      .Case("amx", CPUTier::AMX)
      .Default(std::nullopt);
}

StringRef getCPUTierFeatures(CPUTier tier) {
  switch (tier) {
  case CPUTier::Plain:
    return "";
  case CPUTier::AVX2:
    return "+avx2,+fma,+f16c";
  case CPUTier::AVX512:
    return "+avx2,+fma,+f16c,+avx512f,+avx512bw,+avx512dq,+avx512vl";
  case CPUTier::AVX512BF16:
    return "+avx2,+fma,+f16c,+avx512f,+avx512bw,+avx512dq,+avx512vl,+avx512bf16,+avx512vbmi";
  case CPUTier::AMX:
    return "+avx2,+fma,+f16c,+avx512f,+avx512bw,+avx512dq,+avx512vl,+avx512bf16,+avx512vbmi,"
           "+amx-tile,+amx-bf16";
  }
  llvm_unreachable("unknown tier");
}

/// AMD's Zen 4 starts one vdpbf16ps of 512 bits a cycle, and one FMA: measured 235
/// against 117 GFLOP/s on a core. Intel's Sapphire Rapids starts one every other
/// cycle, but two FMA a cycle: 115 against 231.
static bool hasFastDot(StringRef cpu) { return cpu.starts_with("znver"); }

CPUTier selectCPUTier(const StringMap<bool> &features, StringRef cpu) {
  for (CPUTier tier : {CPUTier::AMX, CPUTier::AVX512BF16, CPUTier::AVX512, CPUTier::AVX2}) {
    if (tier == CPUTier::AVX512BF16 && !hasFastDot(cpu))
      continue;
    SmallVector<StringRef> needed;
    getCPUTierFeatures(tier).split(needed, ',');
    if (all_of(needed, [&](StringRef name) { return features.lookup(name.drop_front()); }))
      return tier;
  }
  return CPUTier::Plain;
}

int64_t getLanes(CPUTier tier) {
  return tier == CPUTier::Plain ? 4 : tier == CPUTier::AVX2 ? 8 : 16;
}

} // namespace kvc
