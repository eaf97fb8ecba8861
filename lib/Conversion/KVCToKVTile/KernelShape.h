//===- KernelShape.h - what is known of an attention kernel -----*- C++ -*-===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef KVC_LIB_CONVERSION_KVCTOKVTILE_KERNELSHAPE_H
#define KVC_LIB_CONVERSION_KVCTOKVTILE_KERNELSHAPE_H

#include "kvc/Conversion/KernelABI.h"
#include "kvc/Dialect/KVTile/IR/KVTile.h"

#include <optional>
#include <string>

namespace kvc {

/// Dynamic shared memory that a block of sm_90 may have.
inline constexpr int64_t kMaxSharedBytes = 227 * 1024;

/// The shape of one kernel of an attention, from the operation and its schedule.
class KernelShape {
public:
  KernelShape(AttentionOp op, KernelPhase phase);

  mutable AttentionOp op; // accessors of operations are not const
  GPUStreamAttr stream;
  int64_t cluster; ///< Thread blocks that may form a cluster.
  int64_t group, kvHeads, queryHeads;
  int64_t valueWidth;
  int64_t threads;
  /// Slots of a stage: one for each distinct component that is read, then for the scales
  /// and zero points that are of its tokens.
  llvm::SmallVector<ComponentAttr> components;
  llvm::SmallVector<kvtile::SlotType> slots;
  /// The array of the cache that each slot has a tile of.
  llvm::SmallVector<std::string> arrays;
  /// Index of the slot of each term's key, and of the value.
  llvm::SmallVector<int64_t> termSlots;
  int64_t valueSlot;

  /// Index of the slot with a component's scales or zero points; nothing if there are none
  /// or they are static.
  std::optional<int64_t> findSlot(ComponentAttr component, llvm::StringRef suffix) const;
  /// Columns of the value that lie between each other in the tile of sums.
  int64_t interleave() const { return slots[valueSlot].getInterleave(); }
  /// Terms whose rows of the query meet codes.
  bool meetsCodes(int64_t term) const { return slots[termSlots[term]].holdsCodes(); }
  /// Groups of columns of the value that are scaled apart for each token, or 1.
  int64_t valueGroups() const;

  /// Blocks of rows of one KV head and work item.
  int64_t rowBlocks() const;
  /// Rows and columns of the tile of sums, and its rows of the output.
  bool isTransposed() const { return stream.getForm() == StreamForm::TokensM; }
  int64_t keysAxis() const { return isTransposed() ? 0 : 1; }
  /// Warps that split the keys are merged at the end, through shared memory.
  bool mergesWarps() const { return stream.getForm() == StreamForm::HeadsM || isTransposed(); }
  int64_t paddedValueWidth() const;
  /// Bytes of the rows that a block of a cluster has, where warps share their columns.
  int64_t blockRowsBytes() const {
    return stream.getRows() * (paddedValueWidth() * 4 + 32 + 8);
  }
  /// The query goes through shared memory, so that its rows are read once a block.
  bool stagesQuery() const;
  /// It has registers for the whole item.
  bool holdsQuery() const;

  // Shared memory: ring, query, probabilities, exchange of maxima.
  int64_t ringBytes() const;
  llvm::SmallVector<kvtile::SlotType> querySlots() const;
  int64_t queryOffset() const { return ringBytes(); }
  kvtile::SlotType probabilitySlot() const;
  /// Terms that a probability is the sum of. Rounded once it has 8 or 11 bits, which show
  /// in outputs of few columns.
  int64_t probabilityTerms() const;
  int64_t probabilityOffset() const;
  int64_t exchangeOffset() const;
  int64_t sharedBytes() const;

private:
  void addScales(ComponentAttr component);
  bool exchanges() const { return stream.getForm() == StreamForm::Columns; }
};

} // namespace kvc

#endif // KVC_LIB_CONVERSION_KVCTOKVTILE_KERNELSHAPE_H
