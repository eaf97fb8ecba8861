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

/// Columns in which slots hold rows: what ldmatrix reads 16 bytes of, at least 16.
static int64_t getColumnUnit(Type element) { return element.isInteger(4) ? 32 : 16; }

KernelShape::KernelShape(AttentionOp op, KernelPhase phase) : op(op) {
  auto schedule = cast<GPUScheduleAttr>(op.getScheduleAttr());
  bool isDecode = phase == KernelPhase::Decode;
  stream = isDecode ? schedule.getDecode() : schedule.getPrefill();
  cluster = isDecode && !op.getDeterministic() ? schedule.getCluster() : 1;
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
    Type element = component.getElementType();
    int64_t columns = isValue ? paddedValueWidth()
                              : llvm::alignTo(component.getWidth(), getColumnUnit(element));
    slots.push_back(kvtile::SlotType::get(op.getContext(), stream.getKeys(), columns, element,
                                          kvtile::SlotLayout::Unassigned));
    arrays.push_back(component.getName().str());
    return slots.size() - 1;
  };
  for (unsigned term = 0; term < op.getQueries().size(); ++term)
    termSlots.push_back(slotOf(op.getTermComponent(term)));
  valueSlot = slotOf(op.getValueComponent());
  for (ComponentAttr component : components)
    addScales(component);
  if (exchanges() && blockRowsBytes() > kMaxSharedBytes)
    cluster = 1;
}

void KernelShape::addScales(ComponentAttr component) {
  ScaleAttr scale = component.getScale();
  if (!scale || scale.getIsStatic())
    return;
  auto slot = kvtile::SlotType::get(op.getContext(), stream.getKeys(), getNumScales(component),
                                    scale.getElementType(), kvtile::SlotLayout::Linear);
  for (StringRef suffix : {kScaleSuffix, kZeroSuffix}) {
    if (suffix == kZeroSuffix && !scale.getZeroPoint())
      continue;
    slots.push_back(slot);
    arrays.push_back((component.getName().getValue() + suffix).str());
  }
}

std::optional<int64_t> KernelShape::findSlot(ComponentAttr component, StringRef suffix) const {
  const auto *found =
      llvm::find(arrays, (component.getName().getValue() + suffix).str());
  if (found == arrays.end())
    return std::nullopt;
  return found - arrays.begin();
}

int64_t KernelShape::valueGroups() const {
  std::optional<int64_t> slot = findSlot(components[valueSlot], kScaleSuffix);
  return slot ? slots[*slot].getColumns() : 1;
}

int64_t KernelShape::rowBlocks() const {
  return llvm::divideCeil(stream.getQueryTokens() * group, stream.getRows());
}

int64_t KernelShape::paddedValueWidth() const {
  // In columns each warp takes whole atoms of 8 of them, or what lies between each other.
  Type element = op.getValueComponent().getElementType();
  int64_t atom = 8 * (16 / std::min(16u, element.getIntOrFloatBitWidth()));
  int64_t unit = getColumnUnit(element);
  if (exchanges())
    unit = std::max<int64_t>(unit, atom * stream.getWarps());
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
  // What meets codes changes its order on the way.
  if (llvm::any_of(termSlots, [&](int64_t slot) { return slots[slot].holdsCodes(); }))
    return true;
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
                                           slots[slot].getOperandElement(),
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
                               slots[valueSlot].getOperandElement(),
                               kvtile::SlotLayout::Unassigned);
}

int64_t KernelShape::probabilityTerms() const {
  // With codes they are f16, more than enough for an output of bf16.
  if (slots[valueSlot].holdsCodes() && getElementTypeOrSelf(op.getOutput()).isBF16())
    return 1;
  bool isBF16 = slots[valueSlot].getElementType().isBF16();
  return valueWidth < (isBF16 ? kExactWidthBF16 : kExactWidthF16) ? 2 : 1;
}

int64_t KernelShape::exchangeOffset() const {
  return probabilityOffset() +
         (exchanges() ? probabilityTerms() * valueGroups() * probabilitySlot().getBytes() : 0);
}

int64_t KernelShape::sharedBytes() const {
  int64_t bytes = exchangeOffset();
  if (exchanges())
    bytes += stream.getRows() * stream.getWarps() * sizeof(float);
  if (exchanges() && cluster > 1)
    bytes = std::max(bytes, blockRowsBytes());
  // The warps' results take the place of ring and query: see kvtile.finish.
  if (mergesWarps()) {
    int64_t rowBytes = paddedValueWidth() * 4 + 32 + 8;
    int64_t blockStats = cluster > 1 ? stream.getRows() * 8 : 0;
    bytes = std::max(bytes, stream.getWarps() * stream.getRows() * rowBytes + blockStats);
  }
  return bytes;
}

} // namespace kvc
