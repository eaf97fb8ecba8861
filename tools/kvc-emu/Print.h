//===- Print.h - what kvc-emu says ------------------------------*- C++ -*-===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef KVC_TOOLS_KVC_EMU_PRINT_H
#define KVC_TOOLS_KVC_EMU_PRINT_H

#include "Run.h"

#include "llvm/Support/raw_ostream.h"

namespace kvcemu {

/// What is wrong with the arrays after a launch.
struct Complaint {
  std::string array, message;
  Difference difference;
};

void printKernels(const kvc::emu::Module &module, llvm::raw_ostream &os);
/// As rows of a table in Markdown.
void printInstructions(llvm::raw_ostream &os);

/// Reports, and under --policy=all of which policy, go to stderr.
void printReports(const std::vector<Run> &runs);
/// Counters of the first run, and the lines that were executed most.
void printCounters(const Job &job, const Run &run, llvm::raw_ostream &os);
void printJSON(const Job &job, const std::vector<Run> &runs,
               const std::vector<Complaint> &complaints, llvm::raw_ostream &os);

} // namespace kvcemu

#endif // KVC_TOOLS_KVC_EMU_PRINT_H
