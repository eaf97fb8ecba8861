//===- DecomposeDense.cpp - operations on plain tensors to linalg ---------===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The meaning of kvc.dense_attention, kvc.dense_rope, kvc.quantize and kvc.dequantize, step by step, for programs
// whose caches stay tensors. There is a matrix of scores.
//===----------------------------------------------------------------------===//
#include "DecomposeQuantization.h"
#include "ElementEmitter.h"

#include "kvc/Dialect/KVC/Transforms/Passes.h"

#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

#include <cmath>

#define DEBUG_TYPE "kvc-decompose-dense"

namespace kvc {
#define GEN_PASS_DEF_DECOMPOSEDENSEPASS
#include "kvc/Dialect/KVC/Transforms/Passes.h.inc"
} // namespace kvc

using namespace mlir;
using namespace kvc;

using Dim = DenseAttentionOp::Dim;
using Body = function_ref<Value(OpBuilder &, Location, ValueRange)>;

//===----------------------------------------------------------------------===//
// Attention
//===----------------------------------------------------------------------===//

namespace {
class AttentionDecomposer {
public:
  AttentionDecomposer(OpBuilder &b, DenseAttentionOp op)
      : b(b), loc(op.getLoc()), op(op), element(op.getOutput().getType().getElementType()),
        sumType(element.isF64() ? element : Type(b.getF32Type())) {}

  Value decompose();

private:
  Value constant(double value) {
    return arith::ConstantOp::create(b, loc, b.getFloatAttr(sumType, value));
  }
  void findSizes();
  /// The dimensions `dims` of which the attention has any, as expressions.
  SmallVector<AffineExpr> present(ArrayRef<unsigned> dims);
  AffineMap mapOf(ArrayRef<AffineExpr> results) {
    return AffineMap::get(DenseAttentionOp::kNumDims, 0, results, b.getContext());
  }
  /// Emits a linalg.generic over all dimensions in `maps`, the last of which is the
  /// result's; `init` fills it first, or is the tensor itself.
  Value emit(ArrayRef<Value> inputs, ArrayRef<AffineMap> maps, Value init, Type type,
             Body body);
  Value emitScores();
  Value modify(OpBuilder &nested, Location at, Value score, Value mask,
               function_ref<Value(Dim)> index);
  OpFoldResult sizeOf(unsigned dim, OpFoldResult width) {
    return dim == Dim::Width ? width : sizes[dim];
  }

  OpBuilder &b;
  Location loc;
  DenseAttentionOp op;
  Type element, sumType;
  OpFoldResult sizes[DenseAttentionOp::kNumDims];
};
} // namespace

void AttentionDecomposer::findSizes() {
  auto add = [&](Value value, AffineMap map) {
    for (auto [position, expr] : llvm::enumerate(map.getResults()))
      if (auto dim = dyn_cast<AffineDimExpr>(expr); dim && dim.getPosition() != Dim::Width)
        if (OpFoldResult &size = sizes[dim.getPosition()]; !size)
          size = tensor::getMixedSize(b, loc, value, position);
  };
  for (unsigned term = 0; term < op.getQueries().size(); ++term) {
    add(op.getQueries()[term], op.getQueryMap(term));
    add(op.getKeys()[term], op.getKeyMap(term));
  }
  add(op.getValue(), op.getValueMap());
  if (op.getMask())
    add(op.getMask(), op.getMaskMap());
  if (op.getSinks())
    add(op.getSinks(), op.getSinksMap());
  // Of what only the result has the size is in its type, or 1.
  for (auto [position, expr] : llvm::enumerate(op.getOutputMap().getResults()))
    if (auto dim = dyn_cast<AffineDimExpr>(expr); dim && dim.getPosition() != Dim::Width)
      if (OpFoldResult &size = sizes[dim.getPosition()]; !size) {
        int64_t known = op.getOutput().getType().getDimSize(position);
        size = b.getIndexAttr(ShapedType::isDynamic(known) ? 1 : known);
      }
}

SmallVector<AffineExpr> AttentionDecomposer::present(ArrayRef<unsigned> dims) {
  SmallVector<AffineExpr> result;
  for (unsigned dim : dims)
    if (dim == Dim::Width || sizes[dim])
      result.push_back(b.getAffineDimExpr(dim));
  return result;
}

Value AttentionDecomposer::emit(ArrayRef<Value> inputs, ArrayRef<AffineMap> maps, Value init,
                                Type type, Body body) {
  // The loops that there are, in the order of the dimensions.
  SmallVector<AffineExpr> loops(DenseAttentionOp::kNumDims, b.getAffineConstantExpr(0));
  SmallVector<utils::IteratorType> iterators;
  OpFoldResult width;
  for (auto [input, map] : llvm::zip(inputs, maps))
    if (auto position = DenseAttentionOp::findDim(map, Dim::Width); position && !width)
      width = tensor::getMixedSize(b, loc, input, *position);
  for (unsigned dim = 0; dim < DenseAttentionOp::kNumDims; ++dim) {
    bool isUsed = llvm::any_of(maps, [&](AffineMap map) { return map.isFunctionOfDim(dim); });
    if (!isUsed)
      continue;
    loops[dim] = b.getAffineDimExpr(iterators.size());
    iterators.push_back(maps.back().isFunctionOfDim(dim) ? utils::IteratorType::parallel
                                                         : utils::IteratorType::reduction);
  }
  SmallVector<AffineMap> loopMaps;
  for (AffineMap map : maps) {
    SmallVector<AffineExpr> results;
    for (AffineExpr expr : map.getResults())
      results.push_back(expr.replaceDims(loops));
    loopMaps.push_back(AffineMap::get(iterators.size(), 0, results, b.getContext()));
  }
  SmallVector<OpFoldResult> shape;
  for (AffineExpr expr : maps.back().getResults()) {
    auto dim = dyn_cast<AffineDimExpr>(expr);
    shape.push_back(dim ? sizeOf(dim.getPosition(), width) : OpFoldResult(b.getIndexAttr(1)));
  }
  Value output = init;
  if (!init || !isa<RankedTensorType>(init.getType())) {
    output = tensor::EmptyOp::create(b, loc, shape, type);
    if (init)
      output = linalg::FillOp::create(b, loc, init, output).getResult(0);
  }
  return linalg::GenericOp::create(
             b, loc, output.getType(), inputs, output, loopMaps, iterators,
             [&](OpBuilder &nested, Location at, ValueRange arguments) {
               linalg::YieldOp::create(nested, at, body(nested, at, arguments));
             })
      .getResult(0);
}

/// The score as modifiers and mask leave it; -inf where a key is not kept.
Value AttentionDecomposer::modify(OpBuilder &nested, Location at, Value score, Value mask,
                                  function_ref<Value(Dim)> index) {
  auto sizeValue = [&](Dim dim) {
    return sizes[dim] ? getValueOrCreateConstantIndexOp(nested, at, sizes[dim])
                      : Value(arith::ConstantIndexOp::create(nested, at, 1));
  };
  // Queries are the last tokens.
  auto queryPos = [&]() -> Value {
    Value first = arith::SubIOp::create(nested, at, sizeValue(Dim::Key), sizeValue(Dim::Query));
    return arith::AddIOp::create(nested, at, index(Dim::Query), first);
  };
  auto keyPos = [&]() -> Value { return index(Dim::Key); };
  auto queryHead = [&]() -> Value {
    Value own = arith::MulIOp::create(nested, at, index(Dim::KvHead), sizeValue(Dim::Group));
    return arith::AddIOp::create(nested, at, own, index(Dim::Group));
  };
  auto tanh = [&](Value x) -> Value { return math::TanhOp::create(nested, at, x); };
  auto exp2 = [&](Value x) -> Value { return math::Exp2Op::create(nested, at, x); };
  auto count = [&](Dim dim) {
    return sizes[dim] ? getConstantIntValue(sizes[dim]).value_or(1) : 1;
  };
  ScorePoint point{queryPos, keyPos, queryHead, count(Dim::KvHead) * count(Dim::Group)};
  Value none = arith::ConstantOp::create(nested, at, nested.getFloatAttr(sumType, -INFINITY));
  for (ScoreModifierInterface modifier : op.getModifiers())
    score = modifier.emitScore(nested, at, score, point, {tanh, exp2});
  if (mask && !mask.getType().isInteger(1))
    score = arith::AddFOp::create(nested, at, score, convertFloat(nested, at, mask, sumType));
  if (mask && mask.getType().isInteger(1))
    score = arith::SelectOp::create(nested, at, mask, score, none);
  for (ScoreModifierInterface modifier : op.getModifiers())
    if (Value keep = modifier.emitKeep(nested, at, queryPos(), keyPos()))
      score = arith::SelectOp::create(nested, at, keep, score, none);
  return score;
}

Value AttentionDecomposer::emitScores() {
  AffineMap scoreMap =
      mapOf(present({Dim::Batch, Dim::KvHead, Dim::Group, Dim::Query, Dim::Key}));
  Value scores = constant(0.0);
  for (unsigned term = 0; term < op.getQueries().size(); ++term)
    scores = emit({op.getQueries()[term], op.getKeys()[term]},
                  {op.getQueryMap(term), op.getKeyMap(term), scoreMap}, scores, sumType,
                  [&](OpBuilder &nested, Location at, ValueRange x) -> Value {
                    Value product = arith::MulFOp::create(
                        nested, at, convertFloat(nested, at, x[0], sumType),
                        convertFloat(nested, at, x[1], sumType));
                    return arith::AddFOp::create(nested, at, x[2], product);
                  });
  SmallVector<Value> inputs = {scores};
  SmallVector<AffineMap> maps = {scoreMap};
  if (op.getMask()) {
    inputs.push_back(op.getMask());
    maps.push_back(op.getMaskMap());
  }
  maps.push_back(scoreMap);
  Value scale = constant(op.getScale().convertToDouble());
  return emit(inputs, maps, Value(), sumType,
              [&](OpBuilder &nested, Location at, ValueRange x) -> Value {
                auto index = [&](Dim dim) -> Value {
                  auto position = DenseAttentionOp::findDim(scoreMap, dim);
                  if (!position)
                    return arith::ConstantIndexOp::create(nested, at, 0);
                  return linalg::IndexOp::create(nested, at, *position);
                };
                Value score = arith::MulFOp::create(nested, at, x[0], scale);
                return modify(nested, at, score, op.getMask() ? x[1] : Value(), index);
              });
}

Value AttentionDecomposer::decompose() {
  findSizes();
  Value scores = emitScores();
  AffineMap scoreMap =
      mapOf(present({Dim::Batch, Dim::KvHead, Dim::Group, Dim::Query, Dim::Key}));
  AffineMap rowMap = mapOf(present({Dim::Batch, Dim::KvHead, Dim::Group, Dim::Query}));
  AffineMap sumMap =
      mapOf(present({Dim::Batch, Dim::KvHead, Dim::Group, Dim::Query, Dim::Width}));
  Value max = emit({scores}, {scoreMap, rowMap}, constant(-INFINITY), sumType,
                   [&](OpBuilder &nested, Location at, ValueRange x) -> Value {
                     return arith::MaxNumFOp::create(nested, at, x[1], x[0]);
                   });
  if (op.getSinks())
    max = emit({max, op.getSinks()}, {rowMap, op.getSinksMap(), rowMap}, Value(), sumType,
               [&](OpBuilder &nested, Location at, ValueRange x) -> Value {
                 return arith::MaxNumFOp::create(nested, at, x[0],
                                                 convertFloat(nested, at, x[1], sumType));
               });
  // One that can be subtracted.
  Value none = constant(-INFINITY), zero = constant(0.0), one = constant(1.0);
  max = emit({max}, {rowMap, rowMap}, Value(), sumType,
             [&](OpBuilder &nested, Location at, ValueRange x) -> Value {
               Value isNone =
                   arith::CmpFOp::create(nested, at, arith::CmpFPredicate::OEQ, x[0], none);
               return arith::SelectOp::create(nested, at, isNone, zero, x[0]);
             });
  auto exponential = [&](OpBuilder &nested, Location at, Value x, Value shift) -> Value {
    return math::ExpOp::create(nested, at, arith::SubFOp::create(nested, at, x, shift));
  };
  Value weights = emit({scores, max}, {scoreMap, rowMap, scoreMap}, Value(), sumType,
                       [&](OpBuilder &nested, Location at, ValueRange x) {
                         return exponential(nested, at, x[0], x[1]);
                       });
  Value sum = emit({weights}, {scoreMap, rowMap}, zero, sumType,
                   [&](OpBuilder &nested, Location at, ValueRange x) -> Value {
                     return arith::AddFOp::create(nested, at, x[1], x[0]);
                   });
  if (op.getSinks())
    sum = emit({sum, max, op.getSinks()}, {rowMap, rowMap, op.getSinksMap(), rowMap}, Value(),
               sumType, [&](OpBuilder &nested, Location at, ValueRange x) -> Value {
                 Value sink = convertFloat(nested, at, x[2], sumType);
                 return arith::AddFOp::create(nested, at, x[0],
                                              exponential(nested, at, sink, x[1]));
               });
  Value total = emit(
      {weights, op.getValue()}, {scoreMap, op.getValueMap(), sumMap}, zero, sumType,
      [&](OpBuilder &nested, Location at, ValueRange x) -> Value {
        // What is not kept counts for nothing, whatever its value.
        Value product =
            arith::MulFOp::create(nested, at, x[0], convertFloat(nested, at, x[1], sumType));
        Value isKept = arith::CmpFOp::create(nested, at, arith::CmpFPredicate::OGT, x[0], zero);
        Value term = arith::SelectOp::create(nested, at, isKept, product, zero);
        return arith::AddFOp::create(nested, at, x[2], term);
      });
  Value result = emit({total, sum}, {sumMap, rowMap, op.getOutputMap()}, Value(), element,
                      [&](OpBuilder &nested, Location at, ValueRange x) -> Value {
                        Value isEmpty = arith::CmpFOp::create(
                            nested, at, arith::CmpFPredicate::OEQ, x[1], zero);
                        Value divisor = arith::SelectOp::create(nested, at, isEmpty, one, x[1]);
                        Value quotient = arith::DivFOp::create(nested, at, x[0], divisor);
                        return convertFloat(nested, at, quotient, element);
                      });
  if (result.getType() != op.getOutput().getType())
    result = tensor::CastOp::create(b, loc, op.getOutput().getType(), result);
  return result;
}

//===----------------------------------------------------------------------===//
// Rope
//===----------------------------------------------------------------------===//

/// The frequency of pair `pair`.
static Value emitFrequency(OpBuilder &b, Location loc, DenseRopeOp op, Value pair, Type type) {
  if (op.getFrequencies())
    return convertFloat(b, loc, tensor::ExtractOp::create(b, loc, op.getFrequencies(), pair),
                        type);
  // theta ^ (-2 p / width), by exp2.
  double factor = -2.0 * std::log2(op.getTheta()->convertToDouble()) / op.getRotaryWidth();
  Value index = arith::IndexCastOp::create(b, loc, b.getI64Type(), pair);
  Value wide = arith::SIToFPOp::create(b, loc, b.getF64Type(), index);
  Value scaled = arith::MulFOp::create(
      b, loc, wide, arith::ConstantOp::create(b, loc, b.getF64FloatAttr(factor)));
  return convertFloat(b, loc, math::Exp2Op::create(b, loc, scaled), type);
}

static Value decomposeRope(OpBuilder &b, DenseRopeOp op) {
  Location loc = op.getLoc();
  auto type = cast<RankedTensorType>(op.getInput().getType());
  int64_t rank = type.getRank(), rotary = op.getRotaryWidth();
  bool isHalf = op.getStyle() == RopeStyle::Half;
  Type element = type.getElementType(), wide = b.getF64Type();
  Value output =
      tensor::EmptyOp::create(b, loc, tensor::getMixedSizes(b, loc, op.getInput()), element);
  AffineMap identity = AffineMap::getMultiDimIdentityMap(rank, b.getContext());
  auto body = [&](OpBuilder &n, Location at, ValueRange x) {
    auto constant = [&](int64_t value) -> Value {
      return arith::ConstantIndexOp::create(n, at, value);
    };
    SmallVector<Value> indices;
    for (int64_t dim = 0; dim < rank; ++dim)
      indices.push_back(linalg::IndexOp::create(n, at, dim));
    Value column = indices.back();
    Value isRotated =
        arith::CmpIOp::create(n, at, arith::CmpIPredicate::ult, column, constant(rotary));
    // Where nothing is rotated, any pair will do.
    Value safe = arith::SelectOp::create(n, at, isRotated, column, constant(0));
    Value pair, isSecond, partner;
    if (isHalf) {
      Value half = constant(rotary / 2);
      isSecond = arith::CmpIOp::create(n, at, arith::CmpIPredicate::uge, safe, half);
      Value below = arith::SubIOp::create(n, at, safe, half);
      pair = arith::SelectOp::create(n, at, isSecond, below, safe);
      partner = arith::SelectOp::create(n, at, isSecond, below,
                                        arith::AddIOp::create(n, at, safe, half));
    } else {
      Value two = constant(2), one = constant(1);
      pair = arith::DivUIOp::create(n, at, safe, two);
      isSecond = arith::CmpIOp::create(n, at, arith::CmpIPredicate::eq,
                                       arith::RemUIOp::create(n, at, safe, two), one);
      partner = arith::XOrIOp::create(n, at, safe, one);
    }
    SmallVector<Value> positionAt;
    for (int64_t dim : op.getPositionDims())
      positionAt.push_back(indices[dim]);
    Value position = tensor::ExtractOp::create(n, at, op.getPositions(), positionAt);
    position = arith::SIToFPOp::create(n, at, wide, position);
    Value angle = arith::MulFOp::create(n, at, position, emitFrequency(n, at, op, pair, wide));
    Value cos = math::CosOp::create(n, at, angle), sin = math::SinOp::create(n, at, angle);
    indices.back() = partner;
    Value other = tensor::ExtractOp::create(n, at, op.getInput(), indices);
    Value turned = arith::MulFOp::create(n, at, convertFloat(n, at, other, wide), sin);
    turned =
        arith::SelectOp::create(n, at, isSecond, turned, arith::NegFOp::create(n, at, turned));
    Value kept = arith::MulFOp::create(n, at, convertFloat(n, at, x[0], wide), cos);
    Value rotated = convertFloat(n, at, arith::AddFOp::create(n, at, kept, turned), element);
    Value result = arith::SelectOp::create(n, at, isRotated, rotated, x[0]);
    linalg::YieldOp::create(n, at, result);
  };
  return linalg::GenericOp::create(
             b, loc, type, op.getInput(), output, {identity, identity},
             SmallVector<utils::IteratorType>(rank, utils::IteratorType::parallel), body)
      .getResult(0);
}

namespace {
struct DecomposeDensePass final : kvc::impl::DecomposeDensePassBase<DecomposeDensePass> {
  using Base::Base;
  void runOnOperation() override;
};
} // namespace

void DecomposeDensePass::runOnOperation() {
  IRRewriter rewriter(&getContext());
  getOperation()->walk([&](Operation *op) {
    rewriter.setInsertionPoint(op);
    if (auto attention = dyn_cast<DenseAttentionOp>(op))
      rewriter.replaceOp(op, AttentionDecomposer(rewriter, attention).decompose());
    else if (auto rope = dyn_cast<DenseRopeOp>(op))
      rewriter.replaceOp(op, decomposeRope(rewriter, rope));
    else if (auto quantize = dyn_cast<QuantizeOp>(op))
      rewriter.replaceOp(op, decomposeQuantize(rewriter, quantize));
    else if (auto dequantize = dyn_cast<DequantizeOp>(op))
      rewriter.replaceOp(op, decomposeDequantize(rewriter, dequantize));
  });
}
