//===- KernelShape.cpp - what is known of an attention kernel -------------===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "KernelShape.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace kvc {

/// Registers a thread that the query may take.
static constexpr int64_t kMaxQueryRegisters = 32;

/// Columns of the value below which probabilities are two terms, of bf16 and of f16.
static constexpr int64_t kExactWidthBF16 = 128, kExactWidthF16 = 64;

static int64_t alignTo16(int64_t width) { return llvm::alignTo(width, 16); }

KernelShape::KernelShape(AttentionOp op, GPUStreamAttr stream) : op(op), stream(stream) {
  group = op.getGroup();
  queryHeads = op.getQueryHeads();
  kvHeads = queryHeads / group;
  threads = stream.getWarps() * kvtile::kWarpSize;
  valueWidth = op.getValueComponent().getWidth();
  auto slotOf = [&](ComponentAttr component) -> int64_t {
    auto *found = llvm::find(components, component);
    if (found != components.end())
      return found - components.begin();
    components.push_back(component);
    bool isValue = component == op.getValueComponent();
    int64_t columns = isValue ? paddedValueWidth() : alignTo16(component.getWidth());
    slots.push_back(kvtile::SlotType::get(op.getContext(), stream.getKeys(), columns,
                                          component.getElementType(),
                                          kvtile::SlotLayout::Unassigned));
    return slots.size() - 1;
  };
  for (unsigned term = 0; term < op.getQueries().size(); ++term)
    termSlots.push_back(slotOf(op.getTermComponent(term)));
  valueSlot = slotOf(op.getValueComponent());
}

int64_t KernelShape::rowBlocks() const {
  return llvm::divideCeil(stream.getQueryTokens() * group, stream.getRows());
}

int64_t KernelShape::paddedValueWidth() const {
  // In columns each warp takes whole atoms of 8 of them.
  int64_t unit = exchanges() ? std::max<int64_t>(16, 8 * stream.getWarps()) : 16;
  return llvm::alignTo(valueWidth, unit);
}

bool KernelShape::holdsQuery() const {
  if (exchanges())
    return false;
  int64_t rows = stream.getForm() == StreamForm::Rows ? stream.getRows() / stream.getWarps()
                                                      : stream.getRows();
  int64_t columns = 0;
  for (int64_t slot : termSlots)
    columns += slots[slot].getColumns();
  // Two elements a register, of 32 threads.
  return isTransposed() || rows * columns / 64 <= kMaxQueryRegisters;
}

bool KernelShape::stagesQuery() const {
  // With rows of its own, a warp reads them from global memory.
  return stream.getForm() != StreamForm::Rows || !holdsQuery();
}

int64_t KernelShape::ringBytes() const {
  int64_t bytes = 0;
  for (kvtile::SlotType slot : slots)
    bytes += slot.getBytes();
  return bytes * stream.getStages();
}

SmallVector<kvtile::SlotType> KernelShape::querySlots() const {
  SmallVector<kvtile::SlotType> result;
  for (int64_t slot : termSlots)
    result.push_back(kvtile::SlotType::get(op.getContext(), stream.getRows(),
                                           slots[slot].getColumns(),
                                           slots[slot].getElementType(),
                                           kvtile::SlotLayout::Unassigned));
  return result;
}

int64_t KernelShape::probabilityOffset() const {
  int64_t offset = queryOffset();
  if (stagesQuery())
    for (kvtile::SlotType slot : querySlots())
      offset += slot.getBytes();
  return offset;
}

kvtile::SlotType KernelShape::probabilitySlot() const {
  return kvtile::SlotType::get(op.getContext(), stream.getRows(), stream.getKeys(),
                               slots[valueSlot].getElementType(),
                               kvtile::SlotLayout::Unassigned);
}

int64_t KernelShape::probabilityTerms() const {
  bool isBF16 = slots[valueSlot].getElementType().isBF16();
  return valueWidth < (isBF16 ? kExactWidthBF16 : kExactWidthF16) ? 2 : 1;
}

int64_t KernelShape::exchangeOffset() const {
  return probabilityOffset() +
         (exchanges() ? probabilityTerms() * probabilitySlot().getBytes() : 0);
}

int64_t KernelShape::sharedBytes() const {
  int64_t bytes = exchangeOffset();
  if (exchanges())
    bytes += stream.getRows() * stream.getWarps() * sizeof(float);
  // The warps' results take the place of ring and query: see kvtile.finish.
  if (mergesWarps()) {
    int64_t rowBytes = paddedValueWidth() * 4 + 32 + 8;
    bytes = std::max(bytes, stream.getWarps() * stream.getRows() * rowBytes);
  }
  return bytes;
}

} // namespace kvc
