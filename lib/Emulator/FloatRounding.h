//===- FloatRounding.h - rounding other than to nearest ---------*- C++ -*-===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef KVC_LIB_EMULATOR_FLOATROUNDING_H
#define KVC_LIB_EMULATOR_FLOATROUNDING_H

#include "Program.h"

namespace kvc::emu {

enum class RoundedOperation : uint8_t { Add, Sub, Mul, Fma, Div, Sqrt, Rcp };

/// Bits of Ins::flags.
inline constexpr uint8_t kRoundedFtz = 1, kRoundedSat = 2;

/// Handlers of the RoundedOperation in `count`, rounded as `extra` says.
void executeRoundedF32(Warp &warp, const Ins &ins, uint32_t mask);
void executeRoundedF64(Warp &warp, const Ins &ins, uint32_t mask);

} // namespace kvc::emu

#endif // KVC_LIB_EMULATOR_FLOATROUNDING_H
