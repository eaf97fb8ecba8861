//===- Plan.h - what planning an attention is made of -----------*- C++ -*-===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Problem: what is to be computed for a batch. Cost: what one way to compute it
// takes. The rest turns the one into the other, per processor.
//===----------------------------------------------------------------------===//
#ifndef KVC_LIB_DIALECT_KVC_TRANSFORMS_PLAN_H
#define KVC_LIB_DIALECT_KVC_TRANSFORMS_PLAN_H

#include "kvc/Dialect/KVC/IR/KVC.h"
#include "kvc/Support/CPUTier.h"

#include "mlir/IR/BuiltinOps.h"
#include "llvm/Support/raw_ostream.h"

#include <optional>
#include <string>

namespace kvc::plan {

//===----------------------------------------------------------------------===//
// Problems
//===----------------------------------------------------------------------===//

enum class Phase { Decode, Prefill };

/// A batch of equal sequences that stands for those to come.
struct Batch {
  int64_t sequences;
  int64_t queryTokens; ///< New tokens of each, the last of the kvTokens.
  int64_t kvTokens;
};

struct KeyRange {
  int64_t begin, end;
  int64_t size() const { return end - begin; }
};

/// An attention, for one phase and batch.
struct Problem {
  Phase phase;
  Batch batch;
  int64_t kvHeads, group, pageSize;
  int64_t keyWidth, valueWidth; ///< Elements; of a key, over all terms.
  int64_t keyPadded,
      valuePadded;          ///< The same in whole matrix tiles of 16 columns.
  int64_t tokenBytes;       ///< Of a token and head, each component once.
  int64_t sharedTokenBytes; ///< The same with the padding of shared memory.
  int64_t queryBytes;       ///< Of a query token and head.
  int64_t sharedQueryBytes; ///< The same with the padding of shared memory.
  int64_t valueBits;        ///< Of an element of the value.
  bool isValueKey = false;  ///< The value is the component of a term.
  int64_t outputBytes;      ///< Of a query token and head, the log-sum-exp included.
  bool isCausal = false;
  std::optional<int64_t> window;
  int64_t softcaps = 0;
  /// Terms of 16 bits that a probability is the sum of: two for values of few columns.
  int64_t probabilityTerms = 1;
  /// Of quantised components. Columns that are read of a token as operands, keys and
  /// values, in units of 16 bits; and instructions of a warp to convert them, less those
  /// that take offsets off, which a product can do instead.
  int64_t operandColumns = 0;
  double conversions = 0, offsets = 0;
  int64_t offsetValueColumns = 0; ///< Columns of the value that have one.
  int64_t tokenScales = 0;        ///< Scales and zero points of a token.
  int64_t dealtCopies = 0;        ///< Of 8 tokens, of a lane: where they are dealt.
  bool meetsCodes = false;    ///< Rows of the query that do are in shared memory.
  int64_t keyGroups = 1;      ///< Groups along a key, which are summed apart.
  /// Columns of the value that lie between each other, that share a scale, and groups of
  /// those that a token has scales for.
  int64_t interleave = 1, valueGroup = 0, valueGroups = 1;
  bool hasKeyZeros = false, hasValueZeros = false;
  bool isDeterministic = false;

  int64_t queryHeads() const { return kvHeads * group; }
  /// True where converting codes is most of what there is to do besides waiting for memory.
  bool decodesCodes() const { return phase == Phase::Decode && conversions > 0; }
  /// Keys that at least one of `count` query tokens from `first` on sees.
  KeyRange visibleTo(int64_t first, int64_t count) const;
};

Problem getProblem(AttentionOp op, Phase phase, const Batch &batch);

/// How the blocks of query tokens of a batch visit the keys; over all of them,
/// for one KV head.
struct Visits {
  int64_t tokenBlocks = 0;
  int64_t keys = 0;     ///< That at least one query of the block sees.
  int64_t tiles = 0;    ///< Tiles that hold them.
  int64_t pages = 0;    ///< Pages that hold them.
  int64_t distinct = 0; ///< Keys, those that several blocks visit once.
};
Visits countVisits(const Problem &problem, int64_t queryTokens, int64_t tile);

/// Work items, if those of a sequence and block of query tokens begin at
/// multiples of some number of keys; over all sequences, for one KV head.
struct Items {
  int64_t count = 0;
  int64_t queryTokens = 0; ///< Of all items together.
  int64_t partTokens = 0;  ///< Of those whose results are merged with others.
};
Items countItems(const Problem &problem, int64_t queryTokens, int64_t keys);

//===----------------------------------------------------------------------===//
// Costs
//===----------------------------------------------------------------------===//

/// What takes the longest, and so the time.
enum class Bound {
  Memory,  ///< Bytes from memory.
  Cache,   ///< Bytes from the last cache.
  Matrix,  ///< Operations of the matrix units, or of the vectors of a CPU.
  Shared,  ///< Bytes to and from shared memory.
  Issue,   ///< Instructions.
  Latency, ///< Each tile waits for the one before.
};
llvm::StringRef stringifyBound(Bound bound);

/// Counts are in f64: they are exact up to 2^53, and do not overflow beyond.
struct Cost {
  double bytes = 0;       ///< Moved: keys and values, queries, results, page ids, parts.
  double memoryBytes = 0; ///< Of these, from and to memory.
  double operations = 0;  ///< On matrix units or vectors, padding included.
  Bound bound = Bound::Memory;
  double seconds = 0;
};

/// What a thread block of the GPU takes, and how many there are.
struct GPUCost : Cost {
  double instructions = 0; ///< Of warps.
  int64_t shared = 0;       ///< Bytes a thread block.
  int64_t registers = 0;    ///< A thread, estimated.
  int64_t blocks = 0;
  int64_t resident = 0; ///< Thread blocks a multiprocessor.
  std::string misfit;   ///< Why it cannot run; empty if it can.
};

GPUCost getGPUCost(const Problem &problem, GPUStreamAttr stream, int64_t split,
                   mlir::Type element, TargetAttr target);
Cost getCPUCost(const Problem &problem, CPUScheduleAttr schedule, TargetAttr target);

//===----------------------------------------------------------------------===//
// Choices
//===----------------------------------------------------------------------===//

/// A form of GPU streams; what is not given may be anything.
struct AllowedForm {
  StreamForm form;
  std::optional<int64_t> rows, keys, stages, warps;
};
using AllowedForms = llvm::SmallVector<AllowedForm>;

/// Parses "tokens_m,heads_m:16,rows:64x32x3x4". Reports what is wrong by `emitError`.
mlir::FailureOr<AllowedForms>
parseForms(llvm::StringRef text, llvm::function_ref<mlir::InFlightDiagnostic()> emitError);

struct Candidate {
  GPUStreamAttr stream;
  GPUCost cost;
};

/// All candidates: first those that fit, the best first, then the others,
/// likewise.
llvm::SmallVector<Candidate> rankStreams(const Problem &problem, const AllowedForms &forms,
                                         int64_t split, mlir::Type element, TargetAttr target);

/// The element type that the matrix units multiply, or a null type if the
/// operands are not all of one that `target` has.
mlir::Type getMatrixElement(AttentionOp op, TargetAttr target);

CPUScheduleAttr planCPU(AttentionOp op, CPUTier tier, int64_t split);

//===----------------------------------------------------------------------===//
// Targets
//===----------------------------------------------------------------------===//

/// The processor that `name` means for `module`; see the pass. Null after a
/// message.
TargetAttr resolveTarget(mlir::ModuleOp module, llvm::StringRef name, CPUTier tier);

/// The tier called `name`, that of the host if empty; nothing if there is none.
std::optional<CPUTier> resolveTier(llvm::StringRef name);

//===----------------------------------------------------------------------===//
// Reports
//===----------------------------------------------------------------------===//

/// Prints what was considered. If `given`, it is costed and nothing was chosen.
void printGPUReport(llvm::raw_ostream &os, AttentionOp op, const Problem &problem,
                    TargetAttr target, llvm::ArrayRef<Candidate> candidates, bool given);
void printCPUReport(llvm::raw_ostream &os, AttentionOp op, const Problem &problem,
                    TargetAttr target, CPUScheduleAttr schedule, bool given);

} // namespace kvc::plan

#endif // KVC_LIB_DIALECT_KVC_TRANSFORMS_PLAN_H
