//===- WorkList.h - which keys and queries a kernel visits ------*- C++ -*-===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// CPU and GPU cut an attention into the same work items: a block of the query
// tokens of one sequence, and a range of its keys. The list is built when the
// program runs, from the lengths in the batch: on the CPU by the host, on the
// GPU by a kernel on the same stream, so that no host plan goes stale.
//
// One query block whose keys lie in more than one chunk becomes several items,
// whose partial results (the *parts*) a merge entry puts together. Chunks begin
// at multiples of their size, counted from the first token of the sequence. On the
// CPU, and of a deterministic attention, a chunk is one split, so that the bits of a
// sequence do not depend on the rest of the batch. Otherwise it is as many splits as
// the lengths in the batch ask for (WorkListKernel.h).
//
// On the GPU, C thread blocks may be a cluster: item i is that of rank i % C of cluster
// i / C. Items of one query block in one cluster have one partial result together, that of
// the first of them; the parts of the others are not used. Where a query block lies in one
// cluster as a whole, that one writes its final rows, and its merge entry has no work.
//===----------------------------------------------------------------------===//
#ifndef KVC_CONVERSION_WORKLIST_H
#define KVC_CONVERSION_WORKLIST_H

#include "kvc/Dialect/KVC/IR/KVC.h"

#include "mlir/IR/Builders.h"

#include <cstddef>
#include <cstdint>
#include <limits>

namespace kvc {

/// Memory form of a work item: two vectors of 16 bytes, that each warp loads.
struct alignas(16) WorkItem {
  int32_t queryBegin; ///< Row of its first query in token-indexed tensors.
  int32_t part;       ///< Index of its partial result; -1: there is no other than that
                      ///< of its cluster, which writes the final result.
  int32_t queryPos;   ///< Position of the first query in its sequence.
  int16_t queryCount; ///< 1 to the configured query tokens.
  int8_t firstRank;   ///< Of its cluster, the thread blocks that hold items of the same
  int8_t numRanks;    ///< query block; 0 and 1 without clusters.
  int64_t firstPage;  ///< Index into page_ids of the sequence's first page.
  int32_t kvBegin;    ///< Keys to visit, narrowed to those that at least one of
  int32_t kvEnd;      ///< its queries sees; both 0 if there is none.
};
static_assert(sizeof(WorkItem) == 32, "kernels know its layout");

/// Memory form of a merge entry: a query block with two parts or more. Blocks
/// with one item, also those that see no key, are not listed: their item
/// writes the final rows.
struct alignas(16) MergeEntry {
  int32_t queryBegin;
  int32_t firstPart; ///< Its parts are firstPart .. firstPart + partCount - 1,
  int32_t partCount; ///< in the order of their keys.
  int16_t queryCount;
  int16_t firstRank; ///< In its cluster, of the thread block of the first one.
};
static_assert(sizeof(MergeEntry) == 16, "kernels know its layout");

/// What building the list counts.
struct WorkCounts {
  int32_t items;
  int32_t parts; ///< Each part has room for the rows of one query block.
  int32_t merges;
  int32_t cluster; ///< Thread blocks of a cluster, >= 1.
};
static_assert(sizeof(WorkCounts) == 16, "kernels know its layout");

/// A split size that cuts nothing.
inline constexpr int32_t kNoSplit = std::numeric_limits<int32_t>::max();

struct WorkListConfig {
  int32_t queryTokens = 1;  ///< Query tokens of one item, >= 1.
  int32_t split = kNoSplit; ///< Keys of one item, or a divisor of them, >= 1.
  /// The score modifiers, which bound the keys that a query block sees.
  llvm::SmallVector<ScoreModifierInterface> modifiers;
};

/// Where the list is built from, and where it goes. Pointers may lie in any
/// address space.
struct WorkListArgs {
  mlir::Value numSequences; ///< i32
  /// i32: the bound that emitWorkListBounds was given. A sequence that turns
  /// out longer is not split: its result is right, and the arrays suffice.
  mlir::Value maxKvLen;
  mlir::Value queryStart; ///< const int32_t[numSequences + 1]
  mlir::Value kvLens;     ///< const int32_t[numSequences]
  mlir::Value pageStart;  ///< const int32_t[numSequences + 1], or null
  mlir::Value pageStride; ///< i64: row i of a padded table is at i * pageStride
  mlir::Value items;      ///< WorkItem[]
  mlir::Value merges;     ///< MergeEntry[]
  mlir::Value counts;     ///< WorkCounts
  mlir::Value cluster;    ///< i32: thread blocks of a cluster; null: 1
};

/// Emits code of one thread that fills the list, with chunks of one split. Uses arith,
/// scf and llvm ops. Items are in the order of sequences, query blocks and keys.
void emitBuildWorkList(mlir::OpBuilder &b, mlir::Location loc, const WorkListArgs &args,
                       const WorkListConfig &config);

/// Upper bounds of the counts, as i64.
struct WorkListBounds {
  mlir::Value items, parts, merges;
};

/// Emits the upper bounds for all batches with at most `maxSequences` sequences
/// and `maxTokens` query tokens, and at most `maxKvLen` tokens a sequence (all
/// i32, none negative). With `target` (i64, >= 1), those of the list that
/// emitWorkListKernel builds for it.
WorkListBounds emitWorkListBounds(mlir::OpBuilder &b, mlir::Location loc,
                                  mlir::Value maxSequences, mlir::Value maxTokens,
                                  mlir::Value maxKvLen, const WorkListConfig &config,
                                  mlir::Value target = {});

/// The fields of an item as values: i32, and firstPage i64.
struct WorkItemValues {
  mlir::Value queryBegin, queryCount, queryPos, kvBegin, kvEnd, part, firstRank, numRanks,
      firstPage;
};

/// Emits loads of the fields of item `index` (i32 or i64).
WorkItemValues emitLoadWorkItem(mlir::OpBuilder &b, mlir::Location loc, mlir::Value items,
                                mlir::Value index);

/// The fields of a merge entry as i32 values.
struct MergeEntryValues {
  mlir::Value queryBegin, queryCount, firstPart, partCount, firstRank;
};

/// Emits loads of the fields of entry `index` (i32 or i64).
MergeEntryValues emitLoadMergeEntry(mlir::OpBuilder &b, mlir::Location loc,
                                    mlir::Value merges, mlir::Value index);

} // namespace kvc

#endif // KVC_CONVERSION_WORKLIST_H
