//===- PlanGPUShape.cpp - what a thread block takes of a GPU --------------===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "PlanGPUShape.h"

#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace kvc;
using namespace kvc::plan;

// Limits of a multiprocessor, and how it hands out registers and shared memory.
static constexpr int64_t kMaxWarps = 64, kMaxBlocks = 32, kMaxRegisters = 255;
static constexpr int64_t kRegisterUnit = 256, kReservedShared = 1024;

/// Registers of a thread for addresses and operands, and for the statistics of a row:
/// with these no kernel of an estimate up to 255 was seen to spill.
static constexpr int64_t kOtherRegisters = 64, kRowRegisters = 4;

/// The same for codes on their way to operands, and for each group along a key.
static constexpr int64_t kCodeRegisters = 24, kKeyGroupRegisters = 5;

/// For each such group with zero points, where a warp has those of all keys, in form rows,
/// and loads the query besides.
static constexpr int64_t kAllKeysRegisters = 3;

/// For a copy that is dealt: addresses in global and shared memory, what part it has.
static constexpr int64_t kDealtRegisters = 6;

/// Rows whose statistics a thread has.
static int64_t getThreadRows(const Shape &s) {
  return s.warpRows() / (s.form == StreamForm::TokensM ? 4 : 8);
}

static int64_t getRegisters(const Problem &problem, const Shape &s) {
  int64_t splitsOutput = s.form == StreamForm::Columns ? s.warps : 1;
  int64_t scoreWarps = s.form == StreamForm::Rows ? 1 : s.warps;
  int64_t output = llvm::divideCeil(s.warpRows() * s.valueWidth, 32 * splitsOutput);
  int64_t scores = llvm::divideCeil(s.warpRows() * s.keys, 32 * scoreWarps);
  int64_t codes = 0;
  if (problem.conversions > 0) {
    // Sums of a group beside those of all, and probabilities beside weights.
    codes = kCodeRegisters + (problem.valueGroups > 1 ? scores : 0) + 2 * getThreadRows(s);
    if (problem.keyGroups > 1)
      codes += scores + problem.keyGroups * kKeyGroupRegisters;
    if (s.keepsOffsets() && problem.offsets > 0)
      codes += problem.keyGroups * getThreadRows(s);
    if (s.form == StreamForm::Rows && s.sharesQuery() && problem.hasKeyZeros)
      codes += problem.keyGroups * (kAllKeysRegisters + getThreadRows(s));
    // Sums of zero points; where warps split the columns, each needs those of all keys.
    if (problem.hasValueZeros)
      codes += problem.valueGroups * getThreadRows(s) * (s.form == StreamForm::Columns ? 3 : 1);
  }
  return (s.sharesQuery() ? 0 : s.queryRegisters()) + output + scores +
         problem.probabilityTerms * llvm::divideCeil(scores, 2) + kOtherRegisters +
         kRowRegisters * getThreadRows(s) + kDealtRegisters * problem.dealtCopies + codes;
}

int64_t plan::getMergeBytes(const Shape &s) {
  return s.splitsKeys() ? s.warps * s.rows * (s.valueWidth * 4 + 32) : 0;
}

static int64_t getSharedBytes(const Problem &problem, const Shape &s) {
  // Columns that only the form asks for, also of the rows that meet the value as a key.
  int64_t added = s.valueWidth - problem.valuePadded;
  int64_t bytes =
      s.stages * s.keys * (problem.sharedTokenBytes + added * problem.valueBits / 8);
  // Rows that several warps need are read from global memory once.
  if (s.sharesQuery() || s.form != StreamForm::Rows || problem.meetsCodes)
    bytes += s.rows * (problem.sharedQueryBytes + (problem.isValueKey ? added * 2 : 0));
  // Probabilities, and the maxima of each warp.
  int64_t terms = problem.probabilityTerms * problem.valueGroups;
  if (s.form == StreamForm::Columns)
    bytes += terms * s.rows * s.keys * 2 + s.rows * s.warps * 4;
  // In the place of all that, the results of the warps, with two statistics a row.
  if (s.splitsKeys())
    bytes = std::max(bytes, getMergeBytes(s) + s.warps * s.rows * 8);
  return bytes;
}

/// Thread blocks that a multiprocessor has room for.
static int64_t getResident(int64_t sharedBytes, int64_t registers, int64_t warps,
                           TargetAttr target) {
  int64_t warpRegisters = llvm::alignTo(llvm::alignTo(registers, 8) * 32, kRegisterUnit);
  return std::min({target.getSharedPerProcessor() / (sharedBytes + kReservedShared),
                   target.getRegisters() / (warpRegisters * warps), kMaxWarps / warps,
                   kMaxBlocks});
}

/// Why a stream cannot run, or an empty text.
static std::string getMisfit(const GPUCost &cost, const Problem &problem, const Shape &s,
                             TargetAttr target) {
  if (int64_t columns = s.valueWidth / s.warps;
      s.form == StreamForm::Columns && problem.valueGroups > 1 &&
      problem.valueGroup % columns != 0 && columns % problem.valueGroup != 0)
    return llvm::formatv("expected groups of {0} columns of whole warps, or warps of whole "
                         "groups, got {1} columns",
                         problem.valueGroup, columns);
  if (cost.registers > kMaxRegisters)
    return llvm::formatv("expected at most {0} registers a thread, got {1}", kMaxRegisters,
                         cost.registers);
  if (cost.shared > target.getSharedPerBlock())
    return llvm::formatv("expected at most {0} bytes of shared memory a block, got {1}",
                         target.getSharedPerBlock(), cost.shared);
  if (cost.resident == 0)
    return llvm::formatv("expected a block to fit in {0} registers", target.getRegisters());
  return {};
}

void plan::setResources(GPUCost &cost, const Problem &problem, const Shape &s,
                        TargetAttr target) {
  cost.registers = getRegisters(problem, s);
  cost.shared = getSharedBytes(problem, s);
  cost.resident = getResident(cost.shared, cost.registers, s.warps, target);
  cost.misfit = getMisfit(cost, problem, s, target);
}
