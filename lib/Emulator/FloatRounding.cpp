//===- FloatRounding.cpp - rounding other than to nearest -----------------===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// By the processor's rounding mode; this file is compiled with -frounding-math.
//===----------------------------------------------------------------------===//
#include "FloatRounding.h"
#include "Lanes.h"
#include "Numerics.h"

#include <cfenv>

using namespace kvc::emu;

/// Sets the processor's rounding for a scope.
namespace {
class RoundingScope {
public:
  explicit RoundingScope(Rounding rounding) : saved(std::fegetround()) {
    std::fesetround(rounding == Rounding::Zero   ? FE_TOWARDZERO
                    : rounding == Rounding::Down ? FE_DOWNWARD
                    : rounding == Rounding::Up   ? FE_UPWARD
                                                 : FE_TONEAREST);
  }
  ~RoundingScope() { std::fesetround(saved); }

private:
  int saved;
};
} // namespace

template <class T> static T apply(RoundedOperation operation, T a, T b, T c) {
  // Volatile: nothing may move out of the scope of the mode.
  volatile T x = a, y = b, z = c, result = 0;
  switch (operation) {
  case RoundedOperation::Add: result = x + y; break;
  case RoundedOperation::Sub: result = x - y; break;
  case RoundedOperation::Mul: result = x * y; break;
  case RoundedOperation::Fma: result = std::fma(T(x), T(y), T(z)); break;
  case RoundedOperation::Div: result = x / y; break;
  case RoundedOperation::Sqrt: result = std::sqrt(T(x)); break;
  case RoundedOperation::Rcp: result = T(1) / x; break;
  }
  return result;
}

template <class T>
static void execute(Warp &warp, const Ins &ins, uint32_t mask) {
  RoundingScope scope{Rounding(ins.extra)};
  auto operation = RoundedOperation(ins.count);
  bool ftz = ins.flags & kRoundedFtz;
  for (int l = 0; l < 32; ++l) {
    if (!isActive(mask, l))
      continue;
    T sources[3] = {fromWord<T>(getWords<T>(warp, ins.a)[l]),
                    fromWord<T>(getWords<T>(warp, ins.b)[l]),
                    fromWord<T>(getWords<T>(warp, ins.c)[l])};
    if (ftz)
      for (T &source : sources)
        source = flush(source);
    T result = apply(operation, sources[0], sources[1], sources[2]);
    if (ftz)
      result = flush(result);
    result = canonical(result);
    if (ins.flags & kRoundedSat)
      result = saturate(result);
    getWords<T>(warp, ins.d)[l] = toWord<T>(result);
  }
}

void kvc::emu::executeRoundedF32(Warp &warp, const Ins &ins, uint32_t mask) {
  execute<float>(warp, ins, mask);
}
void kvc::emu::executeRoundedF64(Warp &warp, const Ins &ins, uint32_t mask) {
  execute<double>(warp, ins, mask);
}
