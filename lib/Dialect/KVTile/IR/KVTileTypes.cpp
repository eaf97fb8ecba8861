//===- KVTileTypes.cpp - layouts and types of the kvtile dialect ----------===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "kvc/Dialect/KVTile/IR/KVTile.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace kvc::kvtile {

/// Rows and columns of an atom, and its registers.
static std::array<int64_t, 3> getAtomShape(Atom atom) {
  switch (atom) {
  case Atom::MmaA:
    return {16, 16, 4};
  case Atom::MmaB:
    return {16, 8, 2};
  case Atom::MmaC:
    return {16, 8, 4};
  }
  llvm_unreachable("all atoms are listed");
}

LogicalResult LayoutAttr::verify(function_ref<InFlightDiagnostic()> emitError, Atom,
                                 int64_t warpRows, int64_t warpColumns) {
  for (int64_t extent : {warpRows, warpColumns})
    if (extent < 1 || extent > 32)
      return emitError() << "expected 1 to 32 blocks along each axis, got " << extent;
  return success();
}

//===----------------------------------------------------------------------===//
// Tile, vec
//===----------------------------------------------------------------------===//

/// Parses `16x64xf32`: exactly `rank` numbers, then a type.
static ParseResult parseShape(AsmParser &parser, size_t rank, SmallVectorImpl<int64_t> &shape,
                              Type &elementType) {
  SMLoc loc = parser.getCurrentLocation();
  if (parser.parseDimensionList(shape, /*allowDynamic=*/false) || parser.parseType(elementType))
    return failure();
  if (shape.size() != rank)
    return parser.emitError(loc, "expected ") << rank << " numbers and an element type, got "
                                              << shape.size() << " numbers";
  return success();
}

Type TileType::parse(AsmParser &parser) {
  SmallVector<int64_t, 2> shape;
  Type elementType;
  LayoutAttr layout;
  SMLoc loc = parser.getCurrentLocation();
  if (parser.parseLess() || parseShape(parser, 2, shape, elementType))
    return {};
  if (succeeded(parser.parseOptionalComma()) && parser.parseAttribute(layout))
    return {};
  if (parser.parseGreater())
    return {};
  return parser.getChecked<TileType>(loc, parser.getContext(), shape[0], shape[1], elementType,
                                     layout);
}

void TileType::print(AsmPrinter &printer) const {
  printer << "<" << getRows() << "x" << getColumns() << "x" << getElementType();
  if (getLayout())
    printer << ", " << getLayout();
  printer << ">";
}

/// Registers of one tile that a thread may hold, spilled or not: that many products are
/// still compiled in seconds.
static constexpr int64_t kMaxRegisters = 2048;

static int64_t countRegisters(int64_t rows, int64_t columns, LayoutAttr layout) {
  auto [atomRows, atomColumns, registers] = getAtomShape(layout.getAtom());
  return (rows / layout.getWarpRows() / atomRows) *
         (columns / layout.getWarpColumns() / atomColumns) * registers;
}

LogicalResult TileType::verify(function_ref<InFlightDiagnostic()> emitError, int64_t rows,
                               int64_t columns, Type elementType, LayoutAttr layout) {
  if (!isa<Float32Type, Float16Type, BFloat16Type>(elementType))
    return emitError() << "expected a tile of f32, f16 or bf16, got " << elementType;
  if (rows < 1 || columns < 1 || rows > 4096 || columns > 4096)
    return emitError() << "expected 1 to 4096 rows and columns, got " << rows << "x" << columns;
  if (!layout)
    return success();
  auto [atomRows, atomColumns, registers] = getAtomShape(layout.getAtom());
  if (rows % (atomRows * layout.getWarpRows()) != 0 ||
      columns % (atomColumns * layout.getWarpColumns()) != 0)
    return emitError() << "expected whole atoms of " << atomRows << "x" << atomColumns
                       << " in each of " << layout.getWarpRows() << "x"
                       << layout.getWarpColumns() << " blocks, got " << rows << "x" << columns
                       << " elements";
  if (elementType.isF32() != (layout.getAtom() == Atom::MmaC))
    return emitError() << "expected " << (elementType.isF32() ? "mma_c" : "mma_a or mma_b")
                       << " for elements of " << elementType << ", got "
                       << stringifyAtom(layout.getAtom());
  if (int64_t count = countRegisters(rows, columns, layout); count > kMaxRegisters)
    return emitError() << "expected at most " << kMaxRegisters << " registers a thread, got "
                       << count;
  return success();
}

int64_t TileType::getWarpRows() const { return getRows() / getLayout().getWarpRows(); }
int64_t TileType::getWarpColumns() const { return getColumns() / getLayout().getWarpColumns(); }

int64_t TileType::getNumRegisters() const {
  return countRegisters(getRows(), getColumns(), getLayout());
}

LogicalResult VecType::verify(function_ref<InFlightDiagnostic()> emitError, int64_t size,
                              int64_t axis, LayoutAttr layout) {
  if (axis != 0 && axis != 1)
    return emitError() << "expected axis 0 (rows) or 1 (columns), got " << axis;
  if (size < 1 || size > 4096)
    return emitError() << "expected 1 to 4096 values, got " << size;
  if (!layout)
    return success();
  if (layout.getAtom() != Atom::MmaC)
    return emitError() << "expected the layout of a tile of mma_c, got "
                       << stringifyAtom(layout.getAtom());
  int64_t unit = axis == 0 ? 16 * layout.getWarpRows() : 8 * layout.getWarpColumns();
  if (size % unit != 0)
    return emitError() << "expected a multiple of " << unit << " values, got " << size;
  return success();
}

int64_t VecType::getNumRegisters() const {
  // Two rows of each 16, or two columns of each 8.
  return getAxis() == 0 ? getSize() / getLayout().getWarpRows() / 8
                        : getSize() / getLayout().getWarpColumns() / 4;
}

//===----------------------------------------------------------------------===//
// Slot
//===----------------------------------------------------------------------===//

Type SlotType::parse(AsmParser &parser) {
  SmallVector<int64_t, 2> shape;
  Type elementType;
  SlotLayout layout = SlotLayout::Unassigned;
  SMLoc loc = parser.getCurrentLocation();
  if (parser.parseLess() || parseShape(parser, 2, shape, elementType))
    return {};
  if (succeeded(parser.parseOptionalComma())) {
    StringRef word;
    SMLoc wordLoc = parser.getCurrentLocation();
    if (parser.parseKeyword(&word))
      return {};
    std::optional<SlotLayout> parsed = symbolizeSlotLayout(word);
    if (!parsed) {
      parser.emitError(wordLoc, "expected swizzled or linear, got '") << word << "'";
      return {};
    }
    layout = *parsed;
  }
  if (parser.parseGreater())
    return {};
  return parser.getChecked<SlotType>(loc, parser.getContext(), shape[0], shape[1], elementType,
                                     layout);
}

void SlotType::print(AsmPrinter &printer) const {
  printer << "<" << getRows() << "x" << getColumns() << "x" << getElementType();
  if (getLayout() != SlotLayout::Unassigned)
    printer << ", " << stringifySlotLayout(getLayout());
  printer << ">";
}

static LogicalResult verifyLinear(function_ref<InFlightDiagnostic()> emitError, int64_t rows,
                                  int64_t columns, Type elementType) {
  if (!isa<Float16Type, Float32Type>(elementType))
    return emitError() << "expected a linear slot of f32 or f16, got " << elementType;
  if (rows < 16 || rows > 4096 || rows % 16 != 0)
    return emitError() << "expected rows to be a multiple of 16 up to 4096, got " << rows;
  if (columns < 1 || columns > 4096)
    return emitError() << "expected 1 to 4096 columns, got " << columns;
  return success();
}

LogicalResult SlotType::verify(function_ref<InFlightDiagnostic()> emitError, int64_t rows,
                               int64_t columns, Type elementType, SlotLayout layout) {
  if (layout == SlotLayout::Linear)
    return verifyLinear(emitError, rows, columns, elementType);
  bool isFloat = isa<Float16Type, BFloat16Type, Float8E4M3FNType, Float8E5M2Type>(elementType);
  if (!isFloat && !elementType.isInteger(8) && !elementType.isInteger(4))
    return emitError() << "expected a slot of f16, bf16, f8E4M3FN, f8E5M2, i8 or i4, got "
                       << elementType;
  if (rows < 1 || rows > 4096)
    return emitError() << "expected 1 to 4096 rows, got " << rows;
  int64_t bits = elementType.getIntOrFloatBitWidth(), unit = bits == 4 ? 32 : 16;
  if (columns < unit || columns > 4096 || columns % unit != 0)
    return emitError() << "expected columns to be a multiple of " << unit << " up to 4096, got "
                       << columns;
  return success();
}

Type SlotType::getOperandElement() const {
  return holdsCodes() ? Float16Type::get(getContext()) : getElementType();
}

//===----------------------------------------------------------------------===//
// Page ids, pages, rows
//===----------------------------------------------------------------------===//

LogicalResult PageIdsType::verify(function_ref<InFlightDiagnostic()> emitError, int64_t count) {
  if (count >= 1 && count <= 4096)
    return success();
  return emitError() << "expected 1 to 4096 page ids, got " << count;
}

/// Checks a number that kernels hold in 32 bits.
static LogicalResult verifyCount(function_ref<InFlightDiagnostic()> emitError, StringRef what,
                                 int64_t count) {
  if (count >= 1 && count <= INT32_MAX)
    return success();
  return emitError() << "expected " << what << " from 1 to " << INT32_MAX << ", got " << count;
}

/// Checks an element of global memory, which has an address.
static LogicalResult verifyElement(function_ref<InFlightDiagnostic()> emitError, Type type) {
  if (type.isIntOrFloat() && llvm::is_contained({8u, 16u, 32u, 64u}, type.getIntOrFloatBitWidth()))
    return success();
  return emitError() << "expected an integer or float of 8, 16, 32 or 64 bits, got " << type;
}

LogicalResult PagesType::verify(function_ref<InFlightDiagnostic()> emitError, int64_t pageSize,
                                int64_t heads, int64_t width, Type elementType) {
  return success(succeeded(verifyCount(emitError, "a page size", pageSize)) &&
                 succeeded(verifyCount(emitError, "heads", heads)) &&
                 succeeded(verifyCount(emitError, "a width", width)) &&
                 succeeded(verifyElement(emitError, elementType)));
}

LogicalResult RowsType::verify(function_ref<InFlightDiagnostic()> emitError, int64_t heads,
                               int64_t width, Type elementType) {
  return success(succeeded(verifyCount(emitError, "heads", heads)) &&
                 (width == 0 || succeeded(verifyCount(emitError, "a width", width))) &&
                 succeeded(verifyElement(emitError, elementType)));
}

LogicalResult HeadsType::verify(function_ref<InFlightDiagnostic()> emitError, int64_t heads,
                                Type elementType) {
  return success(succeeded(verifyCount(emitError, "heads", heads)) &&
                 succeeded(verifyElement(emitError, elementType)));
}

Type PagesType::parse(AsmParser &parser) {
  int64_t pageSize = 0;
  SmallVector<int64_t, 2> shape;
  Type elementType;
  SMLoc loc = parser.getCurrentLocation();
  if (parser.parseLess() || parser.parseInteger(pageSize) || parser.parseComma() ||
      parseShape(parser, 2, shape, elementType) || parser.parseGreater())
    return {};
  return parser.getChecked<PagesType>(loc, parser.getContext(), pageSize, shape[0], shape[1],
                                      elementType);
}

void PagesType::print(AsmPrinter &printer) const {
  printer << "<" << getPageSize() << ", " << getHeads() << "x" << getWidth() << "x"
          << getElementType() << ">";
}

Type RowsType::parse(AsmParser &parser) {
  SmallVector<int64_t, 2> shape;
  Type elementType;
  SMLoc loc = parser.getCurrentLocation();
  if (parser.parseLess() || parser.parseDimensionList(shape, /*allowDynamic=*/false) ||
      parser.parseType(elementType) || parser.parseGreater())
    return {};
  if (shape.empty() || shape.size() > 2 || shape.back() == 0) {
    parser.emitError(loc, "expected heads, or heads x width, and an element type");
    return {};
  }
  return parser.getChecked<RowsType>(loc, parser.getContext(), shape[0],
                                     shape.size() == 2 ? shape[1] : 0, elementType);
}

void RowsType::print(AsmPrinter &printer) const {
  printer << "<" << getHeads() << "x";
  if (getWidth() != 0)
    printer << getWidth() << "x";
  printer << getElementType() << ">";
}

Type HeadsType::parse(AsmParser &parser) {
  SmallVector<int64_t, 1> shape;
  Type elementType;
  SMLoc loc = parser.getCurrentLocation();
  if (parser.parseLess() || parseShape(parser, 1, shape, elementType) || parser.parseGreater())
    return {};
  return parser.getChecked<HeadsType>(loc, parser.getContext(), shape[0], elementType);
}

void HeadsType::print(AsmPrinter &printer) const {
  printer << "<" << getHeads() << "x" << getElementType() << ">";
}

//===----------------------------------------------------------------------===//
// Copies
//===----------------------------------------------------------------------===//

int64_t CopyPlan::getCopyBytes(int64_t rowBytes) {
  return std::min<int64_t>(16, rowBytes & -rowBytes);
}

bool CopyPlan::splitsSectors(int64_t rowBytes) {
  return rowBytes % kSectorBytes != 0 && rowBytes > getCopyBytes(rowBytes);
}

int64_t CopyPlan::chooseLanes(int64_t copies) {
  // A power of two that divides the copies; 8 threads read 128 bytes at once, and
  // with fewer threads a row fewer addresses are computed.
  int64_t lanes = 1;
  while (lanes < 8 && copies % (2 * lanes) == 0)
    lanes *= 2;
  return lanes;
}

CopyPlan CopyPlan::get(int64_t keys, int64_t lanes, int64_t threads, int64_t pageSize) {
  CopyPlan plan;
  plan.rowsPerPass = kWarpSize / lanes;
  plan.rowsPerWarp =
      llvm::alignTo(llvm::divideCeil(keys, threads / kWarpSize), plan.rowsPerPass);
  plan.isAligned = plan.rowsPerWarp % pageSize == 0 || pageSize % plan.rowsPerWarp == 0;
  plan.isTileInPage = pageSize % keys == 0;
  plan.pages = plan.isTileInPage ? 1
               : plan.isAligned  ? llvm::divideCeil(plan.rowsPerWarp, pageSize)
                                 : (plan.rowsPerWarp - 2) / pageSize + 2;
  plan.pageIds = llvm::divideCeil(plan.pages, kWarpSize);
  return plan;
}

} // namespace kvc::kvtile
