//===- KernelShape.h - what is known of an attention kernel -----*- C++ -*-===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef KVC_LIB_CONVERSION_KVCTOKVTILE_KERNELSHAPE_H
#define KVC_LIB_CONVERSION_KVCTOKVTILE_KERNELSHAPE_H

#include "kvc/Dialect/KVTile/IR/KVTile.h"

namespace kvc {

/// The shape of one kernel of an attention, from the operation and its stream.
class KernelShape {
public:
  KernelShape(AttentionOp op, GPUStreamAttr stream);

  mutable AttentionOp op; // accessors of operations are not const
  GPUStreamAttr stream;
  int64_t group, kvHeads, queryHeads;
  int64_t valueWidth;
  int64_t threads;
  /// Slots of a stage, one for each distinct component that is read.
  llvm::SmallVector<ComponentAttr> components;
  llvm::SmallVector<kvtile::SlotType> slots;
  /// Index of the slot of each term's key, and of the value.
  llvm::SmallVector<int64_t> termSlots;
  int64_t valueSlot;

  /// Blocks of rows of one KV head and work item.
  int64_t rowBlocks() const;
  /// Rows and columns of the tile of sums, and its rows of the output.
  bool isTransposed() const { return stream.getForm() == StreamForm::TokensM; }
  int64_t keysAxis() const { return isTransposed() ? 0 : 1; }
  /// Warps that split the keys are merged at the end, through shared memory.
  bool mergesWarps() const { return stream.getForm() == StreamForm::HeadsM || isTransposed(); }
  int64_t paddedValueWidth() const;
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
  bool exchanges() const { return stream.getForm() == StreamForm::Columns; }
};

} // namespace kvc

#endif // KVC_LIB_CONVERSION_KVCTOKVTILE_KERNELSHAPE_H
