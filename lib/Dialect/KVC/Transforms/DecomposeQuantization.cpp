//===- DecomposeQuantization.cpp - codes in linalg ------------------------===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The meaning of kvc.quantize and kvc.dequantize, step by step, in f32: the same bits as
// kvc.append stores.
//===----------------------------------------------------------------------===//
#include "DecomposeQuantization.h"
#include "ElementEmitter.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

#include <cmath>

using namespace mlir;
using namespace kvc;

using Body = function_ref<Value(OpBuilder &, Location, ValueRange)>;

namespace {
/// Emits operations of one quantisation.
class CodesDecomposer {
public:
  CodesDecomposer(OpBuilder &b, Location loc, Value shaped, ScaleAttr scale, Type element)
      : b(b), loc(loc), shaped(shaped), rank(cast<RankedTensorType>(shaped.getType()).getRank()),
        scale(scale), element(element), f32(b.getF32Type()) {}

  struct Range {
    Value scale, zero;
  };
  Range computeScales(bool biased);
  /// The elements of `body` of an element of `shaped` and of each tensor of scales.
  Value emit(ValueRange scales, Type type, Body body);

  /// Of a scale of `type`, without overflow.
  Value roundToScaleType(OpBuilder &n, Location at, Value value, bool widen = true);
  Value constant(OpBuilder &n, Location at, double value) {
    return arith::ConstantOp::create(n, at, n.getF32FloatAttr(value));
  }
  Value isFinite(OpBuilder &n, Location at, Value x);

private:
  Value reduce(bool isMax, Body body);

  OpBuilder &b;
  Location loc;
  Value shaped;
  int64_t rank;
  ScaleAttr scale;
  Type element, f32;
};
} // namespace

Value CodesDecomposer::isFinite(OpBuilder &n, Location at, Value x) {
  Value magnitude = math::AbsFOp::create(n, at, x);
  return arith::CmpFOp::create(n, at, arith::CmpFPredicate::OLT, magnitude,
                               constant(n, at, INFINITY));
}

Value CodesDecomposer::roundToScaleType(OpBuilder &n, Location at, Value value, bool widen) {
  if (scale.getElementType().isF32())
    return value;
  value = arith::MinNumFOp::create(n, at, value, constant(n, at, 65504));
  value = arith::MaxNumFOp::create(n, at, value, constant(n, at, -65504));
  value = arith::TruncFOp::create(n, at, scale.getElementType(), value);
  return widen ? Value(arith::ExtFOp::create(n, at, n.getF32Type(), value)) : value;
}

Value CodesDecomposer::emit(ValueRange scales, Type type, Body body) {
  SmallVector<Value> inputs = {shaped};
  SmallVector<AffineMap> maps = {b.getMultiDimIdentityMap(rank)};
  bool isGroup = scale && scale.getScheme() == ScaleScheme::Group;
  for (Value value : scales) {
    SmallVector<AffineExpr> results;
    auto scalesType = cast<RankedTensorType>(value.getType());
    for (int64_t dim = 0; dim < rank; ++dim) {
      AffineExpr expr = b.getAffineDimExpr(dim);
      if (scalesType.getDimSize(dim) == 1)
        expr = b.getAffineConstantExpr(0);
      else if (dim == rank - 1 && isGroup)
        expr = expr.floorDiv(scale.getGroup());
      results.push_back(expr);
    }
    inputs.push_back(value);
    maps.push_back(AffineMap::get(rank, 0, results, b.getContext()));
  }
  maps.push_back(b.getMultiDimIdentityMap(rank));
  Value init =
      tensor::EmptyOp::create(b, loc, tensor::getMixedSizes(b, loc, shaped), type);
  SmallVector<utils::IteratorType> loops(rank, utils::IteratorType::parallel);
  return linalg::GenericOp::create(b, loc, init.getType(), inputs, init, maps, loops,
                                   [&](OpBuilder &n, Location at, ValueRange x) {
                                     linalg::YieldOp::create(n, at, body(n, at, x));
                                   })
      .getResult(0);
}

/// The largest, or smallest, of `body` over each group.
Value CodesDecomposer::reduce(bool isMax, Body body) {
  auto type = cast<RankedTensorType>(shaped.getType());
  int64_t width = type.getShape().back(), group = width;
  if (scale.getScheme() == ScaleScheme::Group)
    group = std::min<int64_t>(scale.getGroup(), width);
  // A loop over groups, and one in each; the last group may have fewer.
  int64_t groups = llvm::divideCeil(width, group);
  SmallVector<OpFoldResult> sizes = tensor::getMixedSizes(b, loc, shaped);
  sizes.back() = b.getIndexAttr(groups);
  Value start = constant(b, loc, isMax ? -INFINITY : INFINITY);
  Value init = tensor::EmptyOp::create(b, loc, sizes, f32);
  init = linalg::FillOp::create(b, loc, start, init).getResult(0);
  Value members = tensor::EmptyOp::create(b, loc, ArrayRef<int64_t>{group}, f32);
  SmallVector<AffineExpr> output;
  for (int64_t dim = 0; dim < rank; ++dim)
    output.push_back(b.getAffineDimExpr(dim));
  AffineMap memberMap = AffineMap::get(rank + 1, 0, b.getAffineDimExpr(rank), b.getContext());
  AffineMap outputMap = AffineMap::get(rank + 1, 0, output, b.getContext());
  SmallVector<utils::IteratorType> loops(rank, utils::IteratorType::parallel);
  loops.push_back(utils::IteratorType::reduction);
  auto emitBody = [&](OpBuilder &n, Location at, ValueRange x) {
    SmallVector<Value> indices;
    for (int64_t dim = 0; dim < rank; ++dim)
      indices.push_back(linalg::IndexOp::create(n, at, dim));
    Value size = arith::ConstantIndexOp::create(n, at, group);
    Value end = arith::ConstantIndexOp::create(n, at, width);
    Value first = arith::MulIOp::create(n, at, indices.back(), size);
    Value column =
        arith::AddIOp::create(n, at, first, linalg::IndexOp::create(n, at, rank));
    Value isInside =
        arith::CmpIOp::create(n, at, arith::CmpIPredicate::ult, column, end);
    // Beyond the end, the first of the group once more.
    indices.back() = arith::SelectOp::create(n, at, isInside, column, first);
    Value number = tensor::ExtractOp::create(n, at, shaped, indices);
    number = convertFloat(n, at, number, f32);
    number = arith::SelectOp::create(n, at, isFinite(n, at, number), number,
                                     constant(n, at, 0));
    number = body(n, at, number);
    Value result = isMax ? Value(arith::MaxNumFOp::create(n, at, x.back(), number))
                         : Value(arith::MinNumFOp::create(n, at, x.back(), number));
    linalg::YieldOp::create(n, at, result);
  };
  return linalg::GenericOp::create(b, loc, init.getType(), members, init,
                                   {memberMap, outputMap}, loops, emitBody)
      .getResult(0);
}

CodesDecomposer::Range CodesDecomposer::computeScales(bool biased) {
  Body itself = [](OpBuilder &, Location, ValueRange x) { return x[0]; };
  auto map = [&](ValueRange inputs, Body body) {
    auto type = cast<RankedTensorType>(inputs[0].getType());
    Value init = tensor::EmptyOp::create(b, loc, tensor::getMixedSizes(b, loc, inputs[0]),
                                         scale.getElementType());
    SmallVector<AffineMap> maps(inputs.size() + 1, b.getMultiDimIdentityMap(type.getRank()));
    SmallVector<utils::IteratorType> loops(type.getRank(), utils::IteratorType::parallel);
    return linalg::GenericOp::create(b, loc, init.getType(), inputs, init, maps, loops,
                                     [&](OpBuilder &n, Location at, ValueRange x) {
                                       linalg::YieldOp::create(n, at, body(n, at, x));
                                     })
        .getResult(0);
  };
  if (!scale.getZeroPoint()) {
    Value largest = reduce(/*isMax=*/true, [](OpBuilder &n, Location at, ValueRange x) -> Value {
      return math::AbsFOp::create(n, at, x[0]);
    });
    Value scales = map(largest, [&](OpBuilder &n, Location at, ValueRange x) {
      Value quotient =
          arith::DivFOp::create(n, at, x[0], constant(n, at, getLargestCode(element)));
      return roundToScaleType(n, at, quotient, /*widen=*/false);
    });
    return {scales, Value()};
  }
  Value max = reduce(/*isMax=*/true, itself), min = reduce(/*isMax=*/false, itself);
  Value scales = map({max, min}, [&](OpBuilder &n, Location at, ValueRange x) {
    Value steps = constant(n, at, 15);
    Value range = arith::SubFOp::create(n, at, arith::DivFOp::create(n, at, x[0], steps),
                                        arith::DivFOp::create(n, at, x[1], steps));
    return roundToScaleType(n, at, range, /*widen=*/false);
  });
  Value zeros = map({min, scales}, [&](OpBuilder &n, Location at, ValueRange x) {
    Value wide = convertFloat(n, at, x[1], f32);
    Value offset = arith::MulFOp::create(n, at, wide, constant(n, at, biased ? 0 : 8));
    return roundToScaleType(n, at, arith::AddFOp::create(n, at, x[0], offset),
                            /*widen=*/false);
  });
  return {scales, zeros};
}

SmallVector<Value> kvc::decomposeQuantize(OpBuilder &b, QuantizeOp op) {
  Location loc = op.getLoc();
  ScaleAttr scale = op.getScaleAttr();
  Type element = op.getElement(), f32 = b.getF32Type();
  CodesDecomposer decomposer(b, loc, op.getInput(), scale, element);
  SmallVector<Value> scales(op.getStaticScales()), results;
  if (scale && !scale.getIsStatic()) {
    CodesDecomposer::Range range = decomposer.computeScales(op.getBiased());
    scales.push_back(range.scale);
    if (range.zero)
      scales.push_back(range.zero);
  }
  double largest = getLargestCode(element);
  bool hasZero = scale && scale.getZeroPoint();
  double low = op.getBiased() ? 0 : hasZero ? -largest - 1 : -largest;
  double high = op.getBiased() ? 15 : largest;
  Type storage = op.getCodes().getType().getElementType();
  Value codes = decomposer.emit(scales, storage, [&](OpBuilder &n, Location at, ValueRange x) {
    auto constant = [&](double value) { return decomposer.constant(n, at, value); };
    Value number = convertFloat(n, at, x[0], f32), divisor;
    if (hasZero)
      number = arith::SubFOp::create(n, at, number, convertFloat(n, at, x[2], f32));
    if (scale)
      divisor = scale.getConstant() ? constant(scale.getConstant().getValueAsDouble())
                                    : convertFloat(n, at, x[1], f32);
    if (divisor)
      number = arith::DivFOp::create(n, at, number, divisor);
    Value isNaN = arith::CmpFOp::create(n, at, arith::CmpFPredicate::UNO, number, number);
    Value clamped = arith::MinNumFOp::create(n, at, number, constant(high));
    clamped = arith::MaxNumFOp::create(n, at, clamped, constant(low));
    Value zero = constant(0), isZero;
    if (divisor)
      isZero = arith::CmpFOp::create(n, at, arith::CmpFPredicate::OEQ, divisor, zero);
    if (isa<IntegerType>(element)) {
      clamped = arith::SelectOp::create(n, at, isNaN, zero, clamped);
      if (isZero)
        clamped = arith::SelectOp::create(n, at, isZero, zero, clamped);
      Value rounded = math::RoundEvenOp::create(n, at, clamped);
      return Value(arith::FPToSIOp::create(n, at, storage, rounded));
    }
    Value kept = arith::SelectOp::create(n, at, isNaN, number, clamped);
    if (isZero)
      kept = arith::SelectOp::create(n, at, isZero, zero, kept);
    return Value(arith::TruncFOp::create(n, at, storage, kept));
  });
  results.push_back(codes);
  if (scale && !scale.getIsStatic())
    llvm::append_range(results, scales);
  for (auto [value, result] : llvm::zip(results, op->getResults()))
    if (value.getType() != result.getType())
      value = tensor::CastOp::create(b, loc, result.getType(), value);
  return results;
}

Value kvc::decomposeDequantize(OpBuilder &b, DequantizeOp op) {
  ScaleAttr scale = op.getScaleAttr();
  Type f32 = b.getF32Type(), type = op.getOutput().getType().getElementType();
  CodesDecomposer decomposer(b, op.getLoc(), op.getCodes(), scale, op.getElement());
  Value result = decomposer.emit(
      op.getScales(), type, [&](OpBuilder &n, Location at, ValueRange x) {
        Value number = isa<IntegerType>(x[0].getType())
                           ? Value(arith::SIToFPOp::create(n, at, f32, x[0]))
                           : convertFloat(n, at, x[0], f32);
        if (scale && scale.getConstant())
          number = arith::MulFOp::create(
              n, at, number,
              decomposer.constant(n, at, scale.getConstant().getValueAsDouble()));
        else if (scale)
          number = arith::MulFOp::create(n, at, number, convertFloat(n, at, x[1], f32));
        if (scale && scale.getZeroPoint())
          number = arith::AddFOp::create(n, at, number, convertFloat(n, at, x[2], f32));
        return convertFloat(n, at, number, type);
      });
  if (result.getType() != op.getOutput().getType())
    result = tensor::CastOp::create(b, op.getLoc(), op.getOutput().getType(), result);
  return result;
}
