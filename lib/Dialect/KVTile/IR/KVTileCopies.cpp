//===- KVTileCopies.cpp - what is copied in the kvtile dialect ------------===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Verifiers of the operations that fill slots, and tiles from memory.
//===----------------------------------------------------------------------===//
#include "kvc/Dialect/KVTile/IR/KVTile.h"

using namespace mlir;
using namespace kvc::kvtile;

//===----------------------------------------------------------------------===//
// Query rows
//===----------------------------------------------------------------------===//

/// Checks that rows or pages of `width` elements are what 16-byte chunks of a slot or
/// registers of a tile of `columns` columns can hold.
static LogicalResult verifyWidth(Operation *op, int64_t width, Type element, int64_t columns,
                                 Type target) {
  if (element != target)
    return op->emitOpError("expected elements of ") << target << ", got " << element;
  if (width == 0 || width % 8 != 0)
    return op->emitOpError("expected a width that is a multiple of 8, got ") << width;
  if (width > columns)
    return op->emitOpError("expected at most ") << columns << " columns, got " << width;
  return success();
}

/// Checks that a tile is an operand of a product, not a sum.
static LogicalResult verifyOperand(Operation *op, TileType tile) {
  if (!tile.getElementType().isF32())
    return success();
  return op->emitOpError("expected a tile of f16 or bf16, got ") << tile;
}

LogicalResult LoadRowsOp::verify() {
  TileType tile = getTile().getType();
  RowsType source = getSource().getType();
  if (failed(verifyOperand(*this, tile)))
    return failure();
  LayoutAttr layout = tile.getLayout();
  int64_t columns = !layout ? std::max(tile.getRows(), tile.getColumns())
                    : layout.getAtom() == Atom::MmaA ? tile.getColumns()
                                                     : tile.getRows();
  return verifyWidth(*this, source.getWidth(), source.getElementType(), columns,
                     tile.getElementType());
}

LogicalResult StageRowsOp::verify() {
  RowsType source = getSource().getType();
  SlotType slot = getSlot().getType();
  Type element = slot.getElementType();
  if (getForCodes()) {
    if (!element.isF16() || !isa<Float16Type, BFloat16Type>(source.getElementType()))
      return emitOpError("expected rows of f16 or bf16 and a slot of f16 for codes, got ")
             << source << " and " << slot;
    if (int64_t unit = 128 / *getForCodes(); slot.getColumns() % unit != 0)
      return emitOpError("expected a slot of a multiple of ")
             << unit << " columns for codes of " << *getForCodes() << " bits, got " << slot;
    element = source.getElementType();
  }
  return verifyWidth(*this, source.getWidth(), source.getElementType(), slot.getColumns(),
                     element);
}

LogicalResult GatherRowsOp::verify() {
  if (getSlots().empty())
    return emitOpError("expected at least one slot");
  for (Type type : getSlots().getTypes())
    if (auto slot = cast<SlotType>(type);
        slot.holdsCodes() || slot.getLayout() == SlotLayout::Linear)
      return emitOpError("expected slots of query rows (f16 or bf16), got ") << slot;
  return success();
}

LogicalResult LoadTileOp::verify() {
  TileType tile = getTile().getType();
  SlotType slot = getSlot().getType();
  if (failed(verifyOperand(*this, tile)))
    return failure();
  if (tile.getElementType() != slot.getElementType())
    return emitOpError("expected elements of ")
           << slot.getElementType() << ", got " << tile.getElementType();
  LayoutAttr layout = tile.getLayout();
  if (!layout)
    return success();
  if (layout.getWarpColumns() != 1 ||
      (layout.getWarpRows() != 1 && layout.getAtom() != Atom::MmaA))
    return emitOpError("expected a tile that every warp has, or whole rows of, got ") << tile;
  int64_t rows = tile.getRows(), columns = tile.getColumns();
  if (layout.getAtom() == Atom::MmaB)
    std::swap(rows, columns);
  if (rows > slot.getRows() || columns > slot.getColumns())
    return emitOpError("expected at most the ")
           << slot.getRows() << "x" << slot.getColumns() << " elements of the slot, got "
           << rows << "x" << columns;
  return success();
}

//===----------------------------------------------------------------------===//
// Tiles of the cache
//===----------------------------------------------------------------------===//

/// Checks the number of page ids, which depends on the kernel's threads.
static LogicalResult verifyPageIds(Operation *op, int64_t keys, int64_t lanes, int64_t pageSize,
                                   PageIdsType ids) {
  auto kernel = op->getParentOfType<KernelOp>();
  if (!kernel)
    return success();
  CopyPlan plan = CopyPlan::get(keys, lanes, kernel.getThreads(), pageSize);
  if (ids.getCount() == plan.pageIds)
    return success();
  return op->emitOpError("expected ")
         << plan.pageIds << " page ids for " << keys << " keys, " << lanes << " lanes and "
         << kernel.getThreads() << " threads, got " << ids.getCount();
}

LogicalResult LookupOp::verify() {
  return verifyPageIds(*this, getKeys(), getLanes(), getPageSize(), getIds().getType());
}

/// Checks that rows of pages are what a slot of codes or scales holds: the same bytes.
static LogicalResult verifyBytes(FetchOp op, PagesType source, SlotType slot) {
  int64_t sourceBits = source.getElementType().getIntOrFloatBitWidth();
  int64_t rowBytes = source.getWidth() * sourceBits / 8;
  bool isLinear = slot.isLinear();
  bool fits = isLinear ? source.getElementType() == slot.getElementType() &&
                             rowBytes == slot.getRowBytes()
                       : sourceBits == 8 && rowBytes % 4 == 0 && rowBytes <= slot.getRowBytes();
  if (fits)
    return success();
  return op.emitOpError("expected rows of ")
         << (isLinear ? "" : "at most ") << slot.getRowBytes() << " bytes for " << slot
         << ", got " << source;
}

LogicalResult FetchOp::verify() {
  PagesType source = getSource().getType();
  SlotType slot = getSlot().getType();
  bool isLinear = slot.isLinear();
  if (isLinear || slot.holdsCodes()) {
    if (failed(verifyBytes(*this, source, slot)))
      return failure();
  } else if (failed(verifyWidth(*this, source.getWidth(), source.getElementType(),
                                slot.getColumns(), slot.getElementType()))) {
    return failure();
  }
  int64_t lanes = getLanes(), chunks = slot.getRowBytes() / getCopyBytes();
  if (getDealt() && isLinear)
    return emitOpError("expected a slot that is not linear for dealt copies, got ") << slot;
  if (getDealt() && lanes != CopyPlan::kDealtLanes)
    return emitOpError("expected ")
           << CopyPlan::kDealtLanes << " lanes for dealt copies, got " << lanes;
  // A lane's chunks are `lanes` apart: with those of a swizzle they keep their place in it.
  if (!getDealt() && !isLinear && getCopyBytes() == 16 && lanes != slot.getSwizzle())
    return emitOpError("expected ")
           << slot.getSwizzle() << " lanes for rows of " << chunks << " chunks, got " << lanes;
  if (!getDealt() && chunks % lanes != 0)
    return emitOpError("expected lanes that divide the chunks for rows of ")
           << chunks << " chunks, got " << lanes;
  return verifyPageIds(*this, slot.getRows(), lanes, source.getPageSize(), getIds().getType());
}

int64_t FetchOp::getSourceRowBytes() {
  PagesType source = getSource().getType();
  return source.getWidth() * source.getElementType().getIntOrFloatBitWidth() / 8;
}

int64_t FetchOp::getCopyBytes() { return CopyPlan::getCopyBytes(getSourceRowBytes()); }
