//===- Report.h - what the emulator finds wrong -----------------*- C++ -*-===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef KVC_EMULATOR_REPORT_H
#define KVC_EMULATOR_REPORT_H

#include <array>
#include <cstdint>
#include <string>

namespace kvc::emu {

enum class ReportKind {
  OutOfBounds,     ///< An access outside of every object.
  Misaligned,      ///< An address that is no multiple of the access's size.
  Uninitialised,   ///< A read of memory or a register that was never written.
  Race,            ///< Two accesses that nothing puts in order.
  PendingCopy,     ///< An access to bytes that a copy not waited for writes.
  Barrier,         ///< A barrier that is used against its rules.
  Divergence,      ///< An instruction for all lanes that only some reach.
  Deadlock,        ///< Threads that wait for each other for ever.
  Leftover,        ///< Copies in flight when their thread ends.
  Arithmetic,      ///< An undefined result: division by zero.
  Trap,            ///< The kernel executed `trap`.
  Limit            ///< Too many instructions.
};

/// Name of a kind, such as "out of bounds".
const char *getName(ReportKind kind);

struct Report {
  ReportKind kind = ReportKind::OutOfBounds;
  std::string kernel;
  uint32_t line = 0; ///< Of the PTX text.
  std::array<uint32_t, 3> block = {0, 0, 0};
  uint32_t warp = 0, lane = 0;
  uint64_t address = 0;    ///< Where that has a meaning.
  std::string message;     ///< What was expected and what came.
  std::string instruction; ///< Text of the instruction.
  uint64_t count = 1;      ///< Of the same kind at the same line.

  /// One line: "kernel:line: error: kind: message [block, warp, lane]".
  std::string print() const;
};

} // namespace kvc::emu

#endif // KVC_EMULATOR_REPORT_H
