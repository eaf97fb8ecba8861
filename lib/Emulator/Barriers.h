//===- Barriers.h - barriers of a block -------------------------*- C++ -*-===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef KVC_LIB_EMULATOR_BARRIERS_H
#define KVC_LIB_EMULATOR_BARRIERS_H

#include "Machine.h"

namespace kvc::emu {

/// Bits of Ins::flags of barriers; `a` is the barrier, `b` the number of threads,
/// `c` the predicate that is reduced, `count` how, `d` where to.
enum : uint8_t { kBarrierHasCount = 1, kBarrierReduces = 2 };

/// All lanes of `warp` have arrived at a barrier. If the barrier is then complete,
/// the warps that wait go on. Warp::barrier says whether `warp` has to.
void arriveAtBarrier(Warp &warp, const Ins &ins, uint32_t mask);

/// A warp has ended: barriers of the whole block do not wait for it.
void leaveBarriers(Warp &warp);

/// The block has ended: reports barriers that only some arrived at.
void checkBarriersAtEnd(Block &block);

} // namespace kvc::emu

#endif // KVC_LIB_EMULATOR_BARRIERS_H
