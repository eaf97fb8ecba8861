//===- BuildRope.cpp - the operation for a rotary embedding ---------------===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Finds tensors for positions and frequencies, or makes them.
//===----------------------------------------------------------------------===//
#include "RopeElements.h"
#include "SizeEmitter.h"

#include "mlir/Dialect/Tensor/Utils/Utils.h"

#include <cmath>

using namespace mlir;
using namespace kvc;

using Expr = Elements::Expr;

namespace {
class RopeBuilder {
public:
  RopeBuilder(OpBuilder &b, Elements &elements, const RopeElements &rope, Value root,
              RaiseFailure &why)
      : b(b), elements(elements), space(elements.getSpace()), rope(rope), root(root),
        loc(root.getLoc()), why(why) {}

  Value build();

private:
  /// A tensor of positions, and which dimensions of the input are its own.
  struct Positions {
    Value tensor;
    SmallVector<int64_t> dims;
  };
  Value fail(const Twine &reason) {
    why.reason = reason.str();
    return {};
  }
  std::optional<Positions> findPositions();
  std::optional<Positions> useAsIs(Element load);
  std::optional<Positions> computePositions();

  std::optional<double> findTheta();
  Value buildFrequencies();
  Value scaleColumns(Value tensor);

  OpBuilder &b;
  Elements &elements;
  IndexSpace &space;
  const RopeElements &rope;
  Value root;
  Location loc;
  RaiseFailure &why;
};
} // namespace

//===----------------------------------------------------------------------===//
// Positions
//===----------------------------------------------------------------------===//

/// The tensor itself, if its dimensions are some of the input's, in their order.
std::optional<RopeBuilder::Positions> RopeBuilder::useAsIs(Element load) {
  auto type = cast<RankedTensorType>(load->tensor.getType());
  if (!type.getElementType().isInteger(32) && !type.getElementType().isInteger(64))
    return std::nullopt;
  // From the last on, so that one of size 1 is rather the tokens' than the heads'.
  Positions result{load->tensor, {}};
  int64_t own = rope.dims.size() - 1;
  for (int64_t dim = type.getRank() - 1; dim >= 0; --dim) {
    Expr size = elements.getSize(load->tensor, dim);
    while (own >= 0 && !(space.areEqual(load->indices[dim], rope.dims[own]) &&
                         space.areEqual(size, space.getExtent(rope.dims[own]))))
      --own;
    if (own < 0)
      return std::nullopt;
    result.dims.insert(result.dims.begin(), own--);
  }
  return result;
}

std::optional<RopeBuilder::Positions> RopeBuilder::findPositions() {
  Element position = rope.position;
  while (position && position->tensor && position->kind != ElementKind::Scalar) {
    if (std::optional<Positions> found = useAsIs(position))
      return found;
    position = position->kind == ElementKind::Load ? elements.expand(position) : nullptr;
  }
  return computePositions();
}

/// A new tensor over those dimensions of the input that the position depends on.
std::optional<RopeBuilder::Positions> RopeBuilder::computePositions() {
  auto refuse = [&](const Twine &reason) {
    fail(reason);
    return std::nullopt;
  };
  Element position = rope.position;
  bool isRead = position->tensor && position->kind != ElementKind::Scalar;
  if (!isRead && position->kind != ElementKind::Index)
    return refuse("its positions are no integers that are known or read");
  SmallVector<Expr> exprs;
  if (isRead)
    exprs = position->indices;
  else
    exprs.push_back(position->index);

  Positions result;
  SmallVector<OpFoldResult> shape;
  SmallVector<OpFoldResult> sizes = tensor::getMixedSizes(b, loc, rope.input);
  for (auto [dim, own] : llvm::enumerate(rope.dims))
    if (llvm::any_of(exprs, [&, own = own](Expr expr) { return space.contains(expr, own); })) {
      result.dims.push_back(dim);
      shape.push_back(sizes[dim]);
    }
  bool isKnown = true;
  Value init = tensor::EmptyOp::create(b, loc, shape, b.getI64Type());
  SmallVector<utils::IteratorType> loops(shape.size(), utils::IteratorType::parallel);
  auto body = [&](OpBuilder &nested, Location at, ValueRange arguments) {
    SizeEmitter emitter(nested, elements, root.getDefiningOp());
    for (auto [loop, dim] : llvm::enumerate(result.dims))
      emitter.setDim(rope.dims[dim], linalg::IndexOp::create(nested, at, loop));
    SmallVector<Value> values;
    for (Expr expr : exprs) {
      OpFoldResult emitted = emitter.emit(expr);
      isKnown &= static_cast<bool>(emitted);
      if (emitted)
        values.push_back(getValueOrCreateConstantIndexOp(nested, at, emitted));
    }
    // Where something is not known, the operation is erased below.
    Value value = arguments.front();
    if (isKnown)
      value = isRead ? tensor::ExtractOp::create(nested, at, position->tensor, values)
                     : values.front();
    if (value.getType().isIndex())
      value = arith::IndexCastOp::create(nested, at, b.getI64Type(), value);
    else if (value.getType().getIntOrFloatBitWidth() < 64)
      value = arith::ExtSIOp::create(nested, at, b.getI64Type(), value);
    linalg::YieldOp::create(nested, at, value);
  };
  auto op = linalg::GenericOp::create(
      b, loc, init.getType(), ValueRange(), init,
      b.getMultiDimIdentityMap(shape.size()), loops, body);
  result.tensor = op.getResult(0);
  if (isKnown)
    return result;
  op.erase();
  return refuse("its positions are not known before it");
}

//===----------------------------------------------------------------------===//
// Frequencies
//===----------------------------------------------------------------------===//

/// The number with the fewest digits whose powers the frequencies are, as far as f32 says.
std::optional<double> RopeBuilder::findTheta() {
  size_t pairs = rope.frequencies.size();
  auto isFormula = [&](double theta) {
    for (auto [pair, frequency] : llvm::enumerate(rope.frequencies)) {
      double expected = std::pow(theta, -static_cast<double>(pair) / pairs);
      if (frequency.load || !(std::abs(frequency.factor - expected) <= 1.2e-7 * expected))
        return false;
    }
    return true;
  };
  if (pairs == 1)
    return isFormula(1.0) ? std::optional(1.0) : std::nullopt;
  double last = rope.frequencies.back().factor;
  if (!(last > 0))
    return std::nullopt;
  double exact = std::pow(last, -static_cast<double>(pairs) / (pairs - 1));
  if (!std::isfinite(exact) || exact <= 0)
    return std::nullopt;
  // The number with more and more digits.
  int exponent = static_cast<int>(std::floor(std::log10(exact)));
  for (int digits = 0; digits < 10; ++digits) {
    double unit = std::pow(10.0, exponent - digits), theta = std::round(exact / unit) * unit;
    if (theta > 0 && isFormula(theta))
      return theta;
  }
  return isFormula(exact) ? std::optional(exact) : std::nullopt;
}

/// A tensor of f32 with one element for each pair.
Value RopeBuilder::buildFrequencies() {
  int64_t pairs = rope.frequencies.size();
  auto type = RankedTensorType::get({pairs}, b.getF32Type());
  ArrayRef<RopeElements::Frequency> all = rope.frequencies;
  if (llvm::none_of(all, [](const auto &frequency) { return frequency.load; })) {
    SmallVector<float> values;
    for (const auto &frequency : all)
      values.push_back(frequency.factor);
    return arith::ConstantOp::create(b, loc, DenseElementsAttr::get(type, ArrayRef(values)));
  }
  // Elements of one tensor, at the same distance each from the one before.
  Element first = all[0].load;
  if (!first)
    return fail("some of its frequencies are constant and some are not");
  auto source = cast<RankedTensorType>(first->tensor.getType());
  SmallVector<OpFoldResult> offsets, strides, sizes;
  int64_t varying = -1, step = 1;
  auto getIndex = [&](int64_t pair, int64_t dim) -> std::optional<int64_t> {
    Element load = all[pair].load;
    if (!load || load->tensor != first->tensor || all[pair].factor != all[0].factor)
      return std::nullopt;
    auto index = dyn_cast<AffineConstantExpr>(load->indices[dim]);
    return index ? std::optional(index.getValue()) : std::nullopt;
  };
  for (int64_t dim = 0; dim < source.getRank(); ++dim) {
    std::optional<int64_t> begin = getIndex(0, dim), next = getIndex(pairs - 1, dim);
    if (!begin || !next)
      return fail("its frequencies depend on more than the pair");
    bool varies = *begin != *next;
    if (varies && (varying >= 0 || (*next - *begin) % (pairs - 1) != 0 || *next < *begin))
      return fail("its frequencies are not next to each other in one tensor");
    int64_t own = varies ? (*next - *begin) / (pairs - 1) : 0;
    for (int64_t pair = 0; pair < pairs; ++pair)
      if (getIndex(pair, dim) != *begin + pair * own)
        return fail("its frequencies are not next to each other in one tensor");
    if (varies) {
      varying = dim;
      step = own;
    }
    offsets.push_back(b.getIndexAttr(*begin));
    sizes.push_back(b.getIndexAttr(varies ? pairs : 1));
    strides.push_back(b.getIndexAttr(varies ? step : 1));
  }
  if (pairs > 1 && varying < 0)
    return fail("its frequencies are one element of a tensor");
  Value result = first->tensor;
  if (source.getShape() != type.getShape() || step != 1) {
    auto sliced = RankedTensorType::get({pairs}, source.getElementType());
    result = tensor::ExtractSliceOp::create(b, loc, sliced, result, offsets, sizes, strides);
  }
  if (result.getType() == type && all[0].factor == 1)
    return result;
  Value factor = arith::ConstantOp::create(b, loc, b.getF32FloatAttr(all[0].factor));
  Value init = tensor::EmptyOp::create(b, loc, type.getShape(), type.getElementType());
  auto body = [&](OpBuilder &nested, Location at, ValueRange arguments) {
    Value value = arguments.front();
    unsigned bits = value.getType().getIntOrFloatBitWidth();
    if (bits < 32)
      value = arith::ExtFOp::create(nested, at, nested.getF32Type(), value);
    else if (bits > 32)
      value = arith::TruncFOp::create(nested, at, nested.getF32Type(), value);
    linalg::YieldOp::create(nested, at, arith::MulFOp::create(nested, at, value, factor).getResult());
  };
  AffineMap identity = b.getMultiDimIdentityMap(1);
  return linalg::GenericOp::create(b, loc, type, result, init, {identity, identity},
                                   utils::IteratorType::parallel, body)
      .getResult(0);
}

//===----------------------------------------------------------------------===//
// The operation
//===----------------------------------------------------------------------===//

/// Scales the columns that are turned, in f32 or wider, and rounds once more.
Value RopeBuilder::scaleColumns(Value tensor) {
  auto type = cast<RankedTensorType>(tensor.getType());
  int64_t rank = type.getRank(), width = type.getShape().back();
  Type wide = type.getElementType().isF64() ? Type(b.getF64Type()) : Type(b.getF32Type());
  auto constant = [&](double value) -> Value {
    return arith::ConstantOp::create(b, loc, b.getFloatAttr(wide, value));
  };
  Value scale = constant(rope.scale), one, end;
  if (rope.getRotaryWidth() != width) {
    one = constant(1);
    end = arith::ConstantIndexOp::create(b, loc, rope.getRotaryWidth());
  }
  Value init = tensor::EmptyOp::create(b, loc, tensor::getMixedSizes(b, loc, tensor),
                                       type.getElementType());
  auto body = [&](OpBuilder &nested, Location at, ValueRange arguments) {
    Value value = arguments.front(), factor = scale;
    if (end) {
      Value column = linalg::IndexOp::create(nested, at, rank - 1);
      Value isTurned =
          arith::CmpIOp::create(nested, at, arith::CmpIPredicate::ult, column, end);
      factor = arith::SelectOp::create(nested, at, isTurned, scale, one);
    }
    if (wide != type.getElementType())
      value = arith::ExtFOp::create(nested, at, wide, value);
    value = arith::MulFOp::create(nested, at, value, factor);
    if (wide != type.getElementType())
      value = arith::TruncFOp::create(nested, at, type.getElementType(), value);
    linalg::YieldOp::create(nested, at, value);
  };
  AffineMap identity = b.getMultiDimIdentityMap(rank);
  return linalg::GenericOp::create(
             b, loc, type, tensor, init, {identity, identity},
             SmallVector<utils::IteratorType>(rank, utils::IteratorType::parallel), body)
      .getResult(0);
}

Value RopeBuilder::build() {
  std::optional<double> theta = findTheta();
  Value frequencies = theta ? Value() : buildFrequencies();
  if (!theta && !frequencies)
    return {};
  std::optional<Positions> positions = findPositions();
  if (!positions)
    return {};
  Value input = rope.input;
  if (input.getType() != root.getType())
    input = tensor::CastOp::create(b, loc, root.getType(), input);
  Value result =
      DenseRopeOp::create(b, loc, root.getType(), input, positions->tensor, frequencies,
                          theta ? b.getF64FloatAttr(*theta) : FloatAttr(), positions->dims,
                          rope.getRotaryWidth(), rope.style);
  return rope.scale == 1 ? result : scaleColumns(result);
}

Value kvc::buildRope(OpBuilder &b, Elements &elements, const RopeElements &rope, Value root,
                     RaiseFailure &why) {
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPoint(root.getDefiningOp());
  return RopeBuilder(b, elements, rope, root, why).build();
}
