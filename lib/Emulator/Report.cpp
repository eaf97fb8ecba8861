//===- Report.cpp - what the emulator finds wrong -------------------------===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "kvc/Emulator/Report.h"

using namespace kvc::emu;

const char *kvc::emu::getName(ReportKind kind) {
  switch (kind) {
  case ReportKind::OutOfBounds:
    return "out of bounds";
  case ReportKind::Misaligned:
    return "misaligned";
  case ReportKind::Uninitialised:
    return "uninitialised";
  case ReportKind::Race:
    return "race";
  case ReportKind::PendingCopy:
    return "pending copy";
  case ReportKind::Barrier:
    return "barrier";
  case ReportKind::Divergence:
    return "divergence";
  case ReportKind::Deadlock:
    return "deadlock";
  case ReportKind::Leftover:
    return "leftover";
  case ReportKind::Arithmetic:
    return "arithmetic";
  case ReportKind::Trap:
    return "trap";
  case ReportKind::Limit:
    return "limit";
  }
  return "unknown";
}

std::string Report::print() const {
  std::string text = kernel + ":" + std::to_string(line) +
                     ": error: " + getName(kind) + ": " + message;
  text += " [block (" + std::to_string(block[0]) + ", " +
          std::to_string(block[1]) + ", " + std::to_string(block[2]) +
          "), warp " + std::to_string(warp) + ", lane " + std::to_string(lane) +
          "]";
  if (count > 1)
    text += " (" + std::to_string(count) + " times)";
  if (!instruction.empty())
    text += ": " + instruction;
  return text;
}
