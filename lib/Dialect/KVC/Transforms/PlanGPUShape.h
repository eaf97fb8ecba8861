//===- PlanGPUShape.h - a stream in the numbers of its costs ----*- C++ -*-===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef KVC_LIB_DIALECT_KVC_TRANSFORMS_PLANGPUSHAPE_H
#define KVC_LIB_DIALECT_KVC_TRANSFORMS_PLANGPUSHAPE_H

#include "Plan.h"

#include "llvm/Support/MathExtras.h"

namespace kvc::plan {

/// Most registers that the rows of the query may take; beyond, they are in
/// shared memory (except as the smaller operand of tokens_m).
inline constexpr int64_t kMaxQueryRegisters = 32;

/// Most rows for which a product of codes takes their offsets off, not each operand.
inline constexpr int64_t kMaxOffsetRows = 16;

/// One way to stream the keys, in the numbers that its costs are made of.
struct Shape {
  Shape(const Problem &problem, GPUStreamAttr stream)
      : form(stream.getForm()), rows(stream.getRows()), keys(stream.getKeys()),
        stages(stream.getStages()), warps(stream.getWarps()),
        queryTokens(stream.getQueryTokens()), keyWidth(problem.keyPadded),
        valueWidth(form == StreamForm::Columns
                       ? llvm::alignTo(
                             problem.valuePadded,
                             std::max<int64_t>(16, 8 * problem.interleave * stream.getWarps()))
                       : problem.valuePadded),
        rowBlocks(llvm::divideCeil(queryTokens * problem.group, rows)) {}

  /// True if each warp takes keys of its own, and their results are merged.
  bool splitsKeys() const { return form == StreamForm::HeadsM || form == StreamForm::TokensM; }
  /// Rows whose results a warp holds.
  int64_t warpRows() const { return form == StreamForm::Rows ? rows / warps : rows; }
  int64_t queryRegisters() const { return warpRows() * keyWidth / 64; }
  /// True if products of integers take their offsets off.
  bool keepsOffsets() const { return form == StreamForm::TokensM && rows <= kMaxOffsetRows; }
  bool sharesQuery() const {
    return form == StreamForm::Columns ||
           (form != StreamForm::TokensM && queryRegisters() > kMaxQueryRegisters);
  }

  StreamForm form;
  int64_t rows, keys, stages, warps, queryTokens;
  int64_t keyWidth, valueWidth; ///< Columns that are computed.
  int64_t rowBlocks;            ///< Of a work item and KV head.
};

/// Bytes of the results of all warps, which are merged in the ring's place.
int64_t getMergeBytes(const Shape &shape);

/// Sets what a thread block takes, how many fit a multiprocessor, and why it
/// cannot run if that is so.
void setResources(GPUCost &cost, const Problem &problem, const Shape &shape,
                  TargetAttr target);

} // namespace kvc::plan

#endif // KVC_LIB_DIALECT_KVC_TRANSFORMS_PLANGPUSHAPE_H
