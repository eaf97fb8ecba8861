//===- Program.h - a decoded kernel -----------------------------*- C++ -*-===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A kernel is decoded once, to a flat array of instructions that each name the
// function that executes them. Registers lie as rows of 32 lanes in the register
// file of a warp, in this order:
//
//   constants | special registers | 32-bit registers | 64-bit registers
//
// so that an operand is a row whatever it is. A row is 32 words; 64-bit registers
// and constants take two, as 32 double words. Values of 8 and 16 bits fill a row
// of words; what is above them is ignored. Predicates are masks of lanes beside.
//===----------------------------------------------------------------------===//
#ifndef KVC_LIB_EMULATOR_PROGRAM_H
#define KVC_LIB_EMULATOR_PROGRAM_H

#include "kvc/Emulator/Emulator.h"

#include "Matrix.h"
#include "Syntax.h"

namespace kvc::emu {

struct Warp;
struct Ins;

/// Executes an instruction for the lanes of `mask`, of which there is one.
using Handler = void (*)(Warp &warp, const Ins &ins, uint32_t mask);

/// Word of a register file at which a row starts.
using Row = uint32_t;

/// A predicate operand: index into the predicates of a warp times two, plus one
/// if it is negated. Predicate 0 is true.
using Pred = uint32_t;
inline constexpr Pred kAlways = 0;

/// How the scheduler treats an instruction.
enum class Kind : uint8_t {
  Plain,     ///< Executes for any lanes.
  Branch,    ///< To `target`, for the lanes of the guard.
  Exit,      ///< Ends the lanes of the guard.
  Trap,      ///< Ends the launch.
  Aligned,   ///< All lanes of the warp execute it together.
  Converged, ///< All lanes of the mask in row `maskRow` execute it together.
  WarpSync,  ///< bar.warp.sync of the lanes in row `maskRow`.
  BlockSync, ///< A barrier of the block that waits.
  BlockArrive, ///< One that does not.
  ClusterBarrier, ///< barrier.cluster, of either kind.
  Yield      ///< Gives way to other warps.
};

/// A decoded instruction. What the fields mean is up to its handler.
struct Ins {
  Handler handler = nullptr;
  Row d = 0, a = 0, b = 0, c = 0; ///< Rows, or predicates.
  Pred guard = kAlways;
  uint32_t target = 0; ///< Of a branch: index of an instruction.
  int64_t offset = 0;  ///< Of an address; or an immediate.
  uint32_t extra = 0;  ///< Index into Program::lists, matrices, ...
  Row maskRow = 0;
  uint32_t line = 0;
  Kind kind = Kind::Plain;
  InstructionClass unit = InstructionClass::Other;
  uint8_t count = 0; ///< Elements of a vector, or a small immediate.
  uint8_t flags = 0;
  bool isTracked = false; ///< Uses a register of Program::unwritten.
};

/// Values that each thread reads from a special register.
enum class Special : uint8_t {
  TidX, TidY, TidZ, NTidX, NTidY, NTidZ, CTAIdX, CTAIdY, CTAIdZ, NCTAIdX,
  NCTAIdY, NCTAIdZ, LaneId, WarpId, NWarpId, SMId, NSMId, GridId, LaneMaskEq,
  LaneMaskLe, LaneMaskLt, LaneMaskGe, LaneMaskGt, DynamicShared, TotalShared,
  ClusterIdX, ClusterIdY, ClusterIdZ, NClusterIdX, NClusterIdY, NClusterIdZ,
  ClusterCTAIdX, ClusterCTAIdY, ClusterCTAIdZ, ClusterNCTAIdX, ClusterNCTAIdY,
  ClusterNCTAIdZ, ClusterCTARank, ClusterNCTARank,
  SharedBase, ///< Not a register: where dynamic shared memory starts.
};

struct Program {
  std::vector<Ins> code;
  std::vector<std::string> texts; ///< Of each instruction, for reports.
  std::vector<uint32_t> constants; ///< The first rows of the file.
  struct SpecialRow {
    Special special;
    Row row;
    uint32_t offset; ///< Added to the value.
    bool isWide;
  };
  std::vector<SpecialRow> specials;
  uint32_t numRowWords = 0; ///< Of the register file of a warp.
  uint32_t numPredicates = 1;
  std::vector<uint32_t> lists;              ///< Rows of operand lists.
  std::vector<MatrixInstruction> matrices;
  /// Registers that a path reads before it writes them, by row: reads are
  /// checked.
  struct Unwritten {
    Row row;
    std::string name;
  };
  std::vector<Unwritten> unwritten;
  struct UnwrittenUse {
    uint32_t instruction;
    uint32_t index; ///< Into `unwritten`.
    bool isWrite;
  };
  std::vector<UnwrittenUse> unwrittenUses; ///< Sorted by instruction.
};

} // namespace kvc::emu

#endif // KVC_LIB_EMULATOR_PROGRAM_H
