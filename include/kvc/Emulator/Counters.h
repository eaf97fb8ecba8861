//===- Counters.h - what a launch did, counted ------------------*- C++ -*-===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef KVC_EMULATOR_COUNTERS_H
#define KVC_EMULATOR_COUNTERS_H

#include <array>
#include <cstdint>
#include <string>

namespace kvc::emu {

/// Classes of instructions, by the unit that they keep busy.
enum class InstructionClass : uint8_t {
  Integer,   ///< Integer and logic, 32 bits or fewer.
  Integer64, ///< Integer and logic of 64 bits.
  Float,     ///< f32 and f64 arithmetic.
  Half,      ///< f16 and bf16 arithmetic.
  Special,   ///< Approximations: ex2, rcp, ...
  Convert,   ///< cvt.
  Move,      ///< mov, selp, cvta.
  Compare,   ///< setp, and logic on predicates.
  Control,   ///< bra, ret, exit, call.
  Global,    ///< ld and st of global memory.
  Shared,    ///< ld and st of shared memory.
  Local,     ///< ld and st of local memory.
  Parameter, ///< ld of parameters and constants.
  Atomic,    ///< atom and red.
  Matrix,    ///< mma.
  MatrixLoad, ///< ldmatrix, stmatrix, movmatrix.
  Copy,      ///< cp.async, commit, wait.
  Shuffle,   ///< shfl, vote, match, redux.
  Barrier,   ///< bar, bar.warp, fences.
  Other
};
inline constexpr unsigned kNumInstructionClasses =
    unsigned(InstructionClass::Other) + 1;
const char *getName(InstructionClass instructionClass);

/// Accesses to global memory.
struct GlobalTraffic {
  uint64_t requests = 0; ///< Warp instructions.
  uint64_t bytes = 0;    ///< Asked for by lanes.
  uint64_t sectors = 0;  ///< Of 32 bytes, touched by each request, summed.
  uint64_t needed = 0;   ///< Sectors if each request's distinct bytes were dense.
};

/// Accesses to shared memory.
struct SharedTraffic {
  uint64_t requests = 0;
  uint64_t bytes = 0;
  uint64_t wavefronts = 0; ///< Passes through the 32 banks.
  uint64_t needed = 0;     ///< Passes without conflicts.
  uint64_t getConflicts() const { return wavefronts - needed; }
};

/// Counted, not timed.
struct Counters {
  uint64_t blocks = 0, warps = 0;
  std::array<uint64_t, kNumInstructionClasses> instructions = {}; ///< Of warps.
  uint64_t threadInstructions = 0; ///< Lanes that took part, summed.
  uint64_t divergentBranches = 0;
  GlobalTraffic globalLoads, globalStores, globalAtomics, copies;
  SharedTraffic sharedLoads, sharedStores, matrixLoads, copyStores;
  /// Loads from each other block of the cluster; sharedLoads has them as well.
  SharedTraffic remoteLoads;
  uint64_t multiplyAdds = 0; ///< Of matrix instructions.
  uint64_t barriers = 0; ///< Times that a block passed one, its cluster's too.
  uint64_t copyGroups = 0;

  uint64_t getWarpInstructions() const;
  Counters &operator+=(const Counters &other);
  /// A table with units, ended by a newline.
  std::string print() const;
  /// The same as a JSON object.
  std::string toJSON() const;
};

} // namespace kvc::emu

#endif // KVC_EMULATOR_COUNTERS_H
