//===- KVTileComputation.cpp - computation in the kvtile dialect ----------===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Verifiers of the operations on tiles in registers. What they say of layouts holds
// once these are assigned.
//===----------------------------------------------------------------------===//
#include "kvc/Dialect/KVTile/IR/KVTile.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace kvc;
using namespace kvc::kvtile;

/// Checks that a tile holds sums.
static LogicalResult verifySums(Operation *op, TileType tile) {
  if (tile.getElementType().isF32())
    return success();
  return op->emitOpError("expected a tile of f32, got ") << tile;
}

/// Checks that a vec has a value for each row (axis 0) or column of a tile, in the
/// threads that hold it.
static LogicalResult verifyLines(Operation *op, TileType tile, VecType vec, int64_t axis) {
  int64_t size = axis == 0 ? tile.getRows() : tile.getColumns();
  if (vec.getAxis() != axis || vec.getSize() != size)
    return op->emitOpError("expected a value for each of ")
           << size << (axis == 0 ? " rows" : " columns") << " (axis " << axis << "), got "
           << vec;
  LayoutAttr ofTile = tile.getLayout(), ofVec = vec.getLayout();
  if (!ofTile || !ofVec)
    return success();
  if (axis == 0 ? ofTile.getWarpRows() == ofVec.getWarpRows()
                : ofTile.getWarpColumns() == ofVec.getWarpColumns())
    return success();
  return op->emitOpError("expected values in the warps that hold ") << tile << ", got " << vec;
}

LogicalResult FillOp::verify() {
  auto tile = dyn_cast<TileType>(getResult().getType());
  return tile ? verifySums(*this, tile) : success();
}

//===----------------------------------------------------------------------===//
// DotOp
//===----------------------------------------------------------------------===//

/// Rows and columns of an operand as it takes part.
static std::pair<int64_t, int64_t> getShape(Type type, bool transposed) {
  std::pair<int64_t, int64_t> shape;
  if (auto tile = dyn_cast<TileType>(type))
    shape = {tile.getRows(), tile.getColumns()};
  else
    shape = {cast<SlotType>(type).getRows(), cast<SlotType>(type).getColumns()};
  if (transposed)
    std::swap(shape.first, shape.second);
  return shape;
}

static Type getElement(Type type) {
  if (auto tile = dyn_cast<TileType>(type))
    return tile.getElementType();
  return cast<SlotType>(type).getOperandElement();
}

/// Checks the columns of the slot of codes that take part.
static LogicalResult verifyColumns(DotOp op) {
  auto isCodes = [](Value operand) {
    auto slot = dyn_cast<SlotType>(operand.getType());
    return slot && slot.holdsCodes();
  };
  bool isA = isCodes(op.getA());
  if (isA && isCodes(op.getB()))
    return op.emitOpError("expected codes in one operand at most, got ")
           << op.getA().getType() << " and " << op.getB().getType();
  for (Value operand : {op.getA(), op.getB()})
    if (auto slot = dyn_cast<SlotType>(operand.getType()); slot && slot.isLinear())
      return op.emitOpError("expected no operand of scales, got ") << slot;
  if (!op.getColumns())
    return success();
  if (!isA && !isCodes(op.getB()))
    return op.emitOpError("expected an operand of codes beside columns");
  auto slot = cast<SlotType>((isA ? op.getA() : op.getB()).getType());
  ArrayRef<int64_t> columns = *op.getColumns();
  int64_t unit = 8 * slot.getInterleave();
  // They are rows or columns of the result where it is the value.
  LayoutAttr layout = op.getResult().getType().getLayout();
  bool isValue = isA ? op.getTransposeA() : !op.getTransposeB();
  int64_t most = slot.getColumns();
  if (isValue && layout)
    most /= isA ? layout.getWarpRows() : layout.getWarpColumns();
  if (columns.size() == 2 && columns[0] >= 0 && columns[0] < columns[1] && columns[1] <= most &&
      columns[0] % unit == 0 && columns[1] % unit == 0)
    return success();
  return op.emitOpError("expected a range of columns of ")
         << slot << ", of which each warp has " << most << ", in multiples of " << unit
         << ", got " << columns;
}

/// Checks that each warp has the operands of its block of the result: a tile that cuts
/// M or N as the result does, or K, of which each warp then has a part.
static LogicalResult verifyLayouts(DotOp op) {
  LayoutAttr result = op.getResult().getType().getLayout();
  auto layoutOf = [](Value operand) {
    auto tile = dyn_cast<TileType>(operand.getType());
    return tile ? tile.getLayout() : LayoutAttr();
  };
  LayoutAttr a = layoutOf(op.getA()), b = layoutOf(op.getB());
  if (a && a.getAtom() != Atom::MmaA)
    return op.emitOpError("expected a left tile of mma_a, got ") << op.getA().getType();
  if (b && b.getAtom() != Atom::MmaB)
    return op.emitOpError("expected a right tile of mma_b, got ") << op.getB().getType();
  if (!result)
    return success();
  auto isWhole = [](LayoutAttr layout) {
    return layout.getWarpRows() == 1 && layout.getWarpColumns() == 1;
  };
  bool cutsK = (a && a.getWarpColumns() > 1) || (b && b.getWarpRows() > 1);
  bool fits = !cutsK || isWhole(result);
  if (a)
    fits &= a.getWarpRows() == result.getWarpRows() &&
            (a.getWarpRows() == 1 || result.getWarpColumns() == 1);
  if (b)
    fits &= b.getWarpColumns() == result.getWarpColumns() &&
            (b.getWarpColumns() == 1 || result.getWarpRows() == 1);
  if (a && b)
    fits &= a.getWarpColumns() == b.getWarpRows();
  if (fits)
    return success();
  InFlightDiagnostic diag =
      op.emitOpError("expected operands in the warps that hold their rows or columns of ");
  diag << result;
  for (LayoutAttr layout : {a, b})
    if (layout)
      diag << ", got " << layout;
  return diag;
}

LogicalResult DotOp::verify() {
  auto [m, k] = getShape(getA().getType(), getTransposeA());
  auto [k2, n] = getShape(getB().getType(), getTransposeB());
  TileType result = getResult().getType();
  if (failed(verifySums(*this, result)))
    return failure();
  // The columns of a slot are a multiple of 16, its tile's need not be.
  if (m < result.getRows() || n < result.getColumns() || k != k2)
    return emitOpError("expected M x K, K x N and M x N, got ")
           << m << "x" << k << ", " << k2 << "x" << n << " and " << result.getRows() << "x"
           << result.getColumns();
  if (k % 16 != 0)
    return emitOpError("expected K to be a multiple of 16, got ") << k;
  Type element = getElement(getA().getType());
  if (element != getElement(getB().getType()) || element.isF32())
    return emitOpError("expected operands of one element type, f16 or bf16, got ")
           << element << " and " << getElement(getB().getType());
  for (auto [value, transposed] : {std::pair<Value, bool>{getA(), getTransposeA()},
                                   std::pair<Value, bool>{getB(), getTransposeB()}})
    if (transposed && isa<TileType>(value.getType()))
      return emitOpError("expected a transposed operand to be a slot, got ") << value.getType();
  if (failed(verifyColumns(*this)))
    return failure();
  return verifyLayouts(*this);
}

//===----------------------------------------------------------------------===//
// Softmax
//===----------------------------------------------------------------------===//

LogicalResult ScoreOp::verify() {
  if (failed(verifySums(*this, getProducts().getType())))
    return failure();
  for (Attribute modifier : getModifiers())
    if (!isa<ScoreModifierInterface>(modifier))
      return emitOpError("expected modifiers of scores, got ") << modifier;
  if (getQueryHeads() % getGroup() != 0)
    return emitOpError("expected query heads (")
           << getQueryHeads() << ") to be a multiple of the group (" << getGroup() << ")";
  return success();
}

LogicalResult SoftmaxStepOp::verify() {
  TileType scores = getScores().getType();
  // A scale that is not positive would turn maxima around.
  if (!(getScale().convertToDouble() > 0))
    return emitOpError("expected a scale above 0, got ") << getScale().convertToDouble();
  if (getExchange() && getKeysAxis() != 1)
    return emitOpError("expected keys_axis 1 to exchange maxima, got ") << getKeysAxis();
  LayoutAttr layout = scores.getLayout();
  if (getExchange() && layout && layout.getWarpRows() != 1)
    return emitOpError("expected all rows in each warp to exchange maxima, got ") << scores;
  return success(succeeded(verifySums(*this, scores)) &&
                 succeeded(verifyLines(*this, scores, getMax().getType(), 1 - getKeysAxis())));
}

LogicalResult ScaleOp::verify() {
  TileType tile = getTile().getType();
  VecType factors = getFactors().getType();
  return success(succeeded(verifySums(*this, tile)) &&
                 succeeded(verifyLines(*this, tile, factors, factors.getAxis())));
}

LogicalResult ScaleKeysOp::verify() {
  TileType tile = getTile().getType();
  if (failed(verifySums(*this, tile)))
    return failure();
  if (getAcc() && getAcc().getType() != tile)
    return emitOpError("expected sums of ") << tile << ", got " << getAcc().getType();
  if (static_cast<bool>(getScales()) == static_cast<bool>(getFactor()))
    return emitOpError("expected scales or a factor, and not both");
  if ((getZeros() || getZero()) != static_cast<bool>(getSums()) || (getZeros() && getZero()))
    return emitOpError("expected zero points beside the sums of the rows, and only there");
  int64_t keys = getKeysAxis() == 0 ? tile.getRows() : tile.getColumns();
  for (Value value : {getScales(), getZeros()}) {
    if (!value)
      continue;
    auto slot = cast<SlotType>(value.getType());
    if (!slot.isLinear() || slot.getRows() != keys ||
        static_cast<int64_t>(getColumn()) >= slot.getColumns())
      return emitOpError("expected a linear slot of ")
             << keys << " rows and more than " << getColumn() << " columns, got " << slot;
  }
  for (Value value : {getOver(), getSums()})
    if (value && failed(verifyLines(*this, tile, cast<VecType>(value.getType()),
                                    1 - getKeysAxis())))
      return failure();
  return success();
}

LogicalResult ScaleColumnsOp::verify() {
  TileType tile = getTile().getType();
  if (failed(verifySums(*this, tile)))
    return failure();
  int64_t width = getTransposed() ? tile.getRows() : tile.getColumns();
  int64_t groups = llvm::divideCeil(width, getColumns());
  for (size_t count : {getFactors().size(), getAdded().size(), getWeights().size()})
    if (count != 0 && static_cast<int64_t>(count) < groups)
      return emitOpError("expected one factor and sum for each of ")
             << groups << " groups of columns, or none, got " << count;
  if (getAdded().empty() && !getWeights().empty())
    return emitOpError("expected sums beside their weights");
  if (getExchange() && (getAdded().empty() || getTransposed()))
    return emitOpError("expected sums of rows to exchange, and no transposed tile");
  if (getInterleave() == 3 || getColumns() % (8 * getInterleave()) != 0)
    return emitOpError("expected groups of a multiple of ")
           << 8 * getInterleave() << " columns, got " << getColumns();
  for (Value added : getAdded())
    if (failed(verifyLines(*this, tile, cast<VecType>(added.getType()), getTransposed() ? 1 : 0)))
      return failure();
  return success();
}

LogicalResult ConvertOp::verify() {
  TileType from = getTile().getType(), to = getResult().getType();
  if (failed(verifySums(*this, from)))
    return failure();
  if (to.getElementType().isF32() || from.getRows() != to.getRows() ||
      from.getColumns() != to.getColumns())
    return emitOpError("expected a tile of ") << from.getRows() << "x" << from.getColumns()
                                              << " elements of f16 or bf16, got " << to;
  LayoutAttr before = from.getLayout(), after = to.getLayout();
  if (!before || !after ||
      (before.getWarpRows() == after.getWarpRows() &&
       before.getWarpColumns() == after.getWarpColumns()))
    return success();
  return emitOpError("expected the tile to stay in its warps, got ") << from << " and " << to;
}

LogicalResult StoreTileOp::verify() {
  TileType tile = getTile().getType();
  SlotType slot = getSlot().getType();
  if (failed(verifySums(*this, tile)))
    return failure();
  if (tile.getRows() > slot.getRows() || tile.getColumns() > slot.getColumns())
    return emitOpError("expected a slot of at least ")
           << tile.getRows() << "x" << tile.getColumns() << " elements, got " << slot;
  return success();
}

//===----------------------------------------------------------------------===//
// FinishOp
//===----------------------------------------------------------------------===//

LogicalResult FinishOp::verify() {
  TileType acc = getAcc().getType();
  bool isTransposed = getForm() == StreamForm::TokensM;
  if (failed(verifySums(*this, acc)) ||
      failed(verifyLines(*this, acc, getMax().getType(), isTransposed ? 1 : 0)))
    return failure();
  int64_t columns = isTransposed ? acc.getRows() : acc.getColumns(), width = getWidth();
  if (width % 8 != 0 || width > columns)
    return emitOpError("expected a width that is a multiple of 8 up to ")
           << columns << ", got " << width;
  LayoutAttr layout = acc.getLayout();
  bool cutsRows = getForm() == StreamForm::Rows, cutsColumns = getForm() == StreamForm::Columns;
  if (layout && ((layout.getWarpRows() != 1 && !cutsRows) ||
                 (layout.getWarpColumns() != 1 && !cutsColumns)))
    return emitOpError("expected sums as form ")
           << stringifyStreamForm(getForm()) << " lays them out, got " << acc;
  if (getCluster() && cutsRows)
    return emitOpError("expected no cluster with form rows; supported: heads_m, tokens_m, "
                       "columns");
  RowsType output = getOutput().getType();
  if (output.getWidth() != width ||
      !isa<Float32Type, Float16Type, BFloat16Type>(output.getElementType()))
    return emitOpError("expected output rows of ")
           << width << " elements of f32, f16 or bf16, got " << output;
  if (getLse() &&
      (getLse().getType().getWidth() != 0 || !getLse().getType().getElementType().isF32()))
    return emitOpError("expected one f32 a head for the log-sum-exp, got ")
           << getLse().getType();
  if (getSinks() && !getSinks().getType().getElementType().isF32())
    return emitOpError("expected sinks of f32, got ") << getSinks().getType();
  return success();
}
