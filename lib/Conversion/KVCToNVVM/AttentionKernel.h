//===- AttentionKernel.h - attention of one query token ---------*- C++ -*-===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Flash decoding with mma.sync: one thread block takes one work item, one KV
// head and up to 16 of the query heads that share it. The warps split each tile
// of keys; copies run ahead in a ring of tiles in shared memory.
//===----------------------------------------------------------------------===//
#ifndef KVC_LIB_CONVERSION_KVCTONVVM_ATTENTIONKERNEL_H
#define KVC_LIB_CONVERSION_KVCTONVVM_ATTENTIONKERNEL_H

#include "KernelBuilder.h"

#include "kvc/Conversion/KernelABI.h"
#include "kvc/Conversion/WorkList.h"

namespace kvc {

/// Parameters of <function>_attention and of <function>_combine, which take the
/// same list.
struct AttentionParam {
  enum Index : unsigned {
    Query,            ///< [tokens, query heads, width], last stride 1
    QueryTokenStride,
    QueryHeadStride,
    Key,              ///< kvc_component_view_t of the key
    KeyPageStride,
    KeyHeadStride,
    KeyTokenStride,
    Val,              ///< and of the value
    ValPageStride,
    ValHeadStride,
    ValTokenStride,
    PageIds,
    Items,            ///< WorkItem[], from <function>_worklist
    Merges,           ///< MergeEntry[], likewise
    Counts,           ///< WorkCounts, likewise
    Output,           ///< [tokens, query heads, width], last stride 1
    OutputTokenStride,
    OutputHeadStride,
    PartOutput,       ///< f32 [parts][query heads][width]: sums, not divided
    PartStats,        ///< f32 [parts][query heads][2]: maximum (base 2) and sum
    Optional          ///< Data and strides of log-sum-exps, then of sinks, if any.
  };
};

/// What is known when the kernel is built.
struct AttentionConfig {
  std::string name;
  int64_t op; ///< Index of the attention in its function.
  llvm::StringRef key, value; ///< Components.
  mlir::Type element; ///< bf16 or f16, of queries, cache and output.
  int64_t width, kvHeads, group, pageSize;
  int64_t tokensPerWarp, stages, warps;
  double scale;
  bool hasSinks, hasLSE, deterministic;
  WorkListConfig list;

  int64_t queryHeads() const { return kvHeads * group; }
  /// Parameters of which there may be none.
  unsigned lseParam() const { return AttentionParam::Optional; }
  unsigned sinksParam() const { return AttentionParam::Optional + (hasLSE ? 3 : 0); }
  /// Blocks of query heads of one KV head, and rows of the 16 that are used by
  /// the first of them: 8 means that the upper half of each fragment is zero.
  int64_t rowBlocks() const { return (group + 15) / 16; }
  int64_t rows() const { return group <= 8 ? 8 : 16; }
  /// Rows lane/4 and lane/4 + 8 of a fragment, or the first of these only.
  int64_t halves() const { return rows() / 8; }
  int64_t threads() const { return warps * kWarpSize; }
  int64_t tile() const { return tokensPerWarp * warps; }

  int64_t rowBytes() const { return width * 2; }
  int64_t componentBytes() const { return tile() * rowBytes(); }
  int64_t slotBytes() const { return 2 * componentBytes(); }
  int64_t ringBytes() const { return stages * slotBytes(); }
  /// Bytes of one row of f32 results in shared memory; the padding keeps the
  /// rows of a warp on different banks.
  int64_t resultRowBytes() const { return width * 4 + 32; }
  int64_t statsOffset() const { return warps * rows() * resultRowBytes(); }
  int64_t sharedBytes() const {
    return std::max(ringBytes(), statsOffset() + warps * rows() * 8);
  }
};

/// Position of a thread.
struct Lane {
  mlir::Value thread, warp, lane;
  mlir::Value row; ///< lane / 4: the first row of its fragments.
  mlir::Value col; ///< lane % 4: its pair of columns.
};

/// Copies tiles of keys and values from their pages to shared memory.
class TileCopies {
public:
  /// Emits what does not depend on the tile. `item` is the work item, `kvHead`
  /// the head, both i32; `ring` the address of the ring.
  TileCopies(KernelBuilder &k, const AttentionConfig &config, mlir::ValueRange params,
             const Lane &lane, const WorkItemValues &item, mlir::Value kvHead,
             mlir::Value ring);

  /// Page ids that the copy of one tile needs.
  int64_t numPageIds() const;
  /// Emits loads of the page ids of `tile` if it is below `endTile`, else zeros.
  llvm::SmallVector<mlir::Value> loadPageIds(mlir::Value tile, mlir::Value endTile);
  /// Emits the copies of `tile` to the slot at `slotOffset` bytes of the ring, if
  /// it is below `endTile`, and closes the group in any case.
  void issue(mlir::Value tile, mlir::Value endTile, mlir::Value slotOffset,
             mlir::ValueRange pageIds);

private:
  int64_t chunks() const { return config.rowBytes() / 16; }
  int64_t rowsPerPass() const { return config.threads() / chunks(); }
  int64_t passes() const { return config.tile() / rowsPerPass(); }
  /// True if all rows of a pass lie in one page, the same for all threads.
  bool sharesPages() const;
  int64_t passesPerPage() const;
  /// Address of this thread's chunk; `last` is that of the pass before.
  mlir::Value sourceOf(int component, int64_t pass, mlir::Value tile, mlir::Value pageId,
                       mlir::Value last);
  mlir::Value destinationOf(mlir::Value slot, int64_t pass);

  KernelBuilder &k;
  const AttentionConfig &config;
  const WorkItemValues &item;
  mlir::Value ring, firstRow, chunk, pageTable, length;
  mlir::Value base[2], pageStride[2], tokenStride[2], passStride[2];
};

/// Running statistics of the online softmax, in base 2, of one half of the rows:
/// the maximum is that of the row, the sum is this lane's share.
struct RowStats {
  mlir::Value max, sum;
};

/// Emits scale and modifiers: from a product to a score in base 2.
mlir::Value emitScore(KernelBuilder &k, const AttentionConfig &config, mlir::Value product);

/// Key bounds of an item's query, narrowed by the modifiers.
KeyBounds emitKeyBounds(KernelBuilder &k, const AttentionConfig &config,
                        const WorkItemValues &item);

/// Replaces scores of keys that the query does not see by -inf. `scores` are
/// those of the keys from `firstKey` (the lane's first) on, for each half of the
/// rows in turn; `tileBegin` is the first key of the tile of the thread block.
llvm::SmallVector<mlir::Value> emitMask(KernelBuilder &k, const AttentionConfig &config,
                                        const WorkItemValues &item, const KeyBounds &bounds,
                                        mlir::Value tileBegin, mlir::Value firstKey,
                                        mlir::ValueRange scores);

/// One step of the online softmax of a half: replaces `scores` by probabilities,
/// updates `stats`, and returns the factor of what was summed before.
mlir::Value emitSoftmaxStep(KernelBuilder &k, llvm::MutableArrayRef<mlir::Value> scores,
                            RowStats &stats);

/// Merges the warps' results through shared memory and stores the final rows, or
/// the partial ones.
void emitFinish(KernelBuilder &k, const AttentionConfig &config, mlir::ValueRange params,
                const Lane &lane, mlir::Value itemIndex, mlir::Value kvHead,
                mlir::Value rowBlock, mlir::Value ring, mlir::ValueRange accumulators,
                llvm::ArrayRef<RowStats> stats);

/// A maximum that can be subtracted: itself, or 0 if it is -inf.
mlir::Value emitFiniteMax(KernelBuilder &k, mlir::Value max);

/// A softmax over parts as it is summed.
struct MergedRow {
  mlir::Value max;           ///< Finite.
  mlir::Value sum;
  mlir::Value first, second; ///< A pair of output columns, not yet divided.
};

/// Stores one pair of columns of a final row, and the row's log-sum-exp if
/// `writesLSE`.
void emitStoreFinal(KernelBuilder &k, const AttentionConfig &config, mlir::ValueRange params,
                    mlir::Value token, mlir::Value head, mlir::Value column,
                    mlir::Value writesLSE, const MergedRow &row);

/// The sink of `head` in base 2.
mlir::Value emitLoadSink(KernelBuilder &k, const AttentionConfig &config,
                         mlir::ValueRange params, mlir::Value head);

/// Emits the three kernels of an attention at the builder's insertion point.
void emitAttentionKernels(mlir::OpBuilder &b, AttentionOp op, const AttentionConfig &config);

/// Emits the kernel of an append, which is operation `index` of its function.
void emitAppendKernel(mlir::OpBuilder &b, llvm::StringRef name, llvm::StringRef function,
                      AppendOp op, int64_t index);

} // namespace kvc

#endif // KVC_LIB_CONVERSION_KVCTONVVM_ATTENTIONKERNEL_H
