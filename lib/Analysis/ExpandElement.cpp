//===- ExpandElement.cpp - an element by the operation that made it -------===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "kvc/Analysis/Elements.h"

#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace kvc;

namespace kvc {

using Expr = Elements::Expr;

/// Loads that are expanded for one thing.
static constexpr unsigned kMaxExpanded = 10000;
/// Operations of a body that are followed from one to the next.
static constexpr unsigned kMaxBodyDepth = 200;

/// Expands one load.
class Expander {
public:
  Expander(Elements &elements, Element element)
      : elements(elements), space(elements.space), tensor(element->tensor),
        indices(element->indices) {}

  Element expand();

private:
  // Operations that move elements.
  Element expandCollapse(tensor::CollapseShapeOp op);
  Element expandExpand(tensor::ExpandShapeOp op);
  Element expandSlice(tensor::ExtractSliceOp op);
  Element expandInsert(tensor::InsertSliceOp op);
  Element expandConcat(tensor::ConcatOp op);
  Element expandPad(tensor::PadOp op);
  Element expandGather(tensor::GatherOp op);

  // Operations that compute.
  Element expandLinalg(linalg::LinalgOp op);
  Element expandSoftmax(linalg::SoftmaxOp op);
  Element expandElementwise(Operation *op);
  Element expandGenerate(tensor::GenerateOp op);

  /// The value of a scalar in a body, whose arguments and loops are known.
  Element evaluate(Value value);
  Element evaluateOnce(Value value);
  Element apply(Operation *op, ArrayRef<Element> operands);

  Expr toExpr(OpFoldResult value) { return elements.getInteger(value); }
  Element select(Element condition, Element then, Element otherwise) {
    return elements.apply("arith.select", {condition, then, otherwise});
  }
  Element isNonNegative(Expr expr);

  Elements &elements;
  IndexSpace &space;
  Value tensor;
  SmallVector<Expr> indices;
  SmallVector<Expr> loops;
  DenseMap<Value, Element> values;
  unsigned depth = 0;
};

Element Expander::isNonNegative(Expr expr) {
  ElementNode node{ElementKind::NonNegative};
  std::optional<bool> known = space.isNonNegative(expr);
  node.index = known ? space.constant(*known ? 0 : -1) : space.simplify(expr);
  return elements.make(node);
}

//===----------------------------------------------------------------------===//
// Moves
//===----------------------------------------------------------------------===//

Element Expander::expandCollapse(tensor::CollapseShapeOp op) {
  SmallVector<Expr> source(op.getSrcType().getRank(), space.constant(0));
  for (auto [dim, group] : llvm::enumerate(op.getReassociationIndices())) {
    Expr rest = indices[dim];
    for (int64_t inner : llvm::reverse(group)) {
      Expr size = elements.getSize(op.getSrc(), inner);
      bool isOutermost = inner == group.front();
      source[inner] = isOutermost ? rest : rest % size;
      rest = isOutermost ? rest : rest.floorDiv(size);
    }
  }
  return elements.load(op.getSrc(), source);
}

Element Expander::expandExpand(tensor::ExpandShapeOp op) {
  SmallVector<Expr> source;
  for (const auto &group : op.getReassociationIndices()) {
    Expr index = space.constant(0);
    for (int64_t inner : group) {
      Expr size = elements.getSize(op.getResult(), inner);
      index = space.simplify(index * size + indices[inner]);
      if (!space.isShort(index))
        return nullptr;
    }
    source.push_back(index);
  }
  return elements.load(op.getSrc(), source);
}

Element Expander::expandSlice(tensor::ExtractSliceOp op) {
  SmallVector<Expr> source;
  llvm::SmallBitVector dropped = op.getDroppedDims();
  unsigned kept = 0;
  for (auto [dim, offset] : llvm::enumerate(op.getMixedOffsets())) {
    Expr index = dropped.test(dim) ? space.constant(0) : indices[kept++];
    source.push_back(index * toExpr(op.getMixedStrides()[dim]) + toExpr(offset));
  }
  return elements.load(op.getSource(), source);
}

Element Expander::expandInsert(tensor::InsertSliceOp op) {
  llvm::SmallBitVector dropped = op.getDroppedDims();
  SmallVector<Expr> source;
  Element isInside = isNonNegative(space.constant(0));
  for (auto [dim, offset] : llvm::enumerate(op.getMixedOffsets())) {
    if (getConstantIntValue(op.getMixedStrides()[dim]) != 1)
      return nullptr;
    Expr index = indices[dim] - toExpr(offset);
    Element begins = isNonNegative(index);
    Element ends = isNonNegative(toExpr(op.getMixedSizes()[dim]) - index - 1);
    for (Element condition : {begins, ends}) {
      std::optional<bool> known = space.isNonNegative(condition->index);
      if (known == false)
        return elements.load(op.getDest(), indices);
      if (!known)
        isInside = elements.apply("arith.andi", {isInside, condition});
    }
    if (!dropped.test(dim))
      source.push_back(index);
  }
  return select(isInside, elements.load(op.getSource(), source),
                elements.load(op.getDest(), indices));
}

Element Expander::expandConcat(tensor::ConcatOp op) {
  int64_t dim = op.getDim();
  // Copies of one tensor.
  if (llvm::all_equal(op.getInputs())) {
    Value input = op.getInputs().front();
    SmallVector<Expr> source = indices;
    source[dim] = indices[dim] % elements.getSize(input, dim);
    return elements.load(input, source);
  }
  Expr begin = space.constant(0);
  SmallVector<std::pair<Element, Element>> pieces; // whether it is before the end, and what
  for (Value input : op.getInputs()) {
    SmallVector<Expr> source = indices;
    source[dim] = indices[dim] - begin;
    begin = begin + elements.getSize(input, dim);
    Element isBefore = isNonNegative(begin - indices[dim] - 1);
    std::optional<bool> known = space.isNonNegative(isBefore->index);
    if (known == false)
      continue;
    pieces.emplace_back(isBefore, elements.load(input, source));
    if (known == true)
      break;
  }
  if (pieces.empty())
    return nullptr;
  Element result = pieces.back().second;
  for (auto [isBefore, piece] : llvm::reverse(ArrayRef(pieces).drop_back()))
    result = select(isBefore, piece, result);
  return result;
}

Element Expander::expandPad(tensor::PadOp op) {
  Value padding = op.getConstantPaddingValue();
  if (!padding)
    return nullptr;
  SmallVector<Expr> source;
  Element isInside = isNonNegative(space.constant(0));
  for (auto [dim, low] : llvm::enumerate(op.getMixedLowPad())) {
    Expr index = indices[dim] - toExpr(low);
    source.push_back(index);
    for (Expr bound : {index, elements.getSize(op.getSource(), dim) - index - 1}) {
      std::optional<bool> known = space.isNonNegative(bound);
      if (known == false)
        return evaluate(padding);
      if (!known)
        isInside = elements.apply("arith.andi", {isInside, isNonNegative(bound)});
    }
  }
  return select(isInside, elements.load(op.getSource(), source), evaluate(padding));
}

Element Expander::expandGather(tensor::GatherOp op) {
  // The last dimension of the indices is a coordinate in the gathered dimensions.
  int64_t batchRank = op.getIndicesType().getRank() - 1;
  SmallVector<Expr> source, batch(indices.begin(), indices.begin() + batchRank);
  ArrayRef<int64_t> gathered = op.getGatherDims();
  int64_t kept = op.getSourceType().getRank() - static_cast<int64_t>(gathered.size());
  bool isReduced = op.getResultType().getRank() == batchRank + kept;
  int64_t next = batchRank;
  for (int64_t dim = 0; dim < op.getSourceType().getRank(); ++dim) {
    const auto *found = llvm::find(gathered, dim);
    if (found == gathered.end()) {
      source.push_back(indices[next++]);
      continue;
    }
    if (!isReduced)
      ++next;
    SmallVector<Expr> at = batch;
    at.push_back(space.constant(found - gathered.begin()));
    Element coordinate = elements.resolve(elements.load(op.getIndices(), at));
    if (coordinate->kind != ElementKind::Index)
      return nullptr;
    source.push_back(coordinate->index);
  }
  return elements.load(op.getSource(), source);
}

//===----------------------------------------------------------------------===//
// Computation
//===----------------------------------------------------------------------===//

Element Expander::evaluate(Value value) {
  if (auto found = values.find(value); found != values.end())
    return found->second;
  ++depth;
  Element result =
      depth < kMaxBodyDepth ? evaluateOnce(value) : elements.make({ElementKind::Unknown});
  --depth;
  values[value] = result;
  return result;
}

/// Operations whose results need no more bits than their operands.
static bool isExact(Operation *op) {
  if (auto fromInteger = dyn_cast<arith::SIToFPOp>(op))
    return getElementTypeOrSelf(fromInteger.getIn().getType()).getIntOrFloatBitWidth() <= 8;
  static constexpr StringLiteral kExact[] = {
      "arith.extf",     "arith.maximumf", "arith.maxnumf", "arith.minimumf", "arith.minnumf",
      "arith.negf",     "arith.select",   "math.absf",     "math.ceil",      "math.floor",
      "math.roundeven", "math.round",     "math.trunc"};
  return llvm::is_contained(kExact, op->getName().getStringRef());
}

/// The operation on its operands, and what it rounds to if that is to show.
Element Expander::apply(Operation *op, ArrayRef<Element> operands) {
  StringRef name = op->getName().getStringRef();
  if (!elements.showsRounding)
    return elements.apply(name, operands, op->getAttr("predicate"));
  Type type = getElementTypeOrSelf(op->getResult(0).getType());
  auto round = [&](StringRef conversion, ArrayRef<Element> of) {
    return elements.makeApply(conversion, of, TypeAttr::get(type));
  };
  if (isa<arith::TruncFOp, arith::FPToSIOp, arith::FPToUIOp>(op) ||
      (isa<arith::TruncIOp>(op) && type.getIntOrFloatBitWidth() < 32))
    return round(name, operands);
  Element result = elements.apply(name, operands, op->getAttr("predicate"));
  bool isRounded = isa<FloatType>(type) && !type.isF32() && !isExact(op);
  return isRounded ? round("arith.truncf", result) : result;
}

Element Expander::evaluateOnce(Value value) {
  Operation *op = value.getDefiningOp();
  TypedAttr constant;
  if (matchPattern(value, m_Constant(&constant)) && isa<FloatAttr>(constant))
    return elements.number(cast<FloatAttr>(constant).getValueAsDouble());
  if (auto index = dyn_cast_or_null<linalg::IndexOp>(op);
      index && index.getDim() < loops.size()) {
    ElementNode node{ElementKind::Index};
    node.index = space.simplify(loops[index.getDim()]);
    return elements.make(node);
  }
  if (auto extract = dyn_cast_or_null<tensor::ExtractOp>(op)) {
    SmallVector<Expr> at;
    for (Value index : extract.getIndices()) {
      Element element = elements.resolve(evaluate(index));
      if (element->kind != ElementKind::Index)
        break;
      at.push_back(element->index);
    }
    if (at.size() == extract.getIndices().size())
      return elements.load(extract.getTensor(), at);
  }
  if (value.getType().isInteger(1) && constant)
    return isNonNegative(
        space.constant(cast<IntegerAttr>(constant).getValue().getBoolValue() - 1));
  if (op && op->getNumResults() == 1 && op->getNumRegions() == 0 &&
      isa_and_nonnull<arith::ArithDialect, math::MathDialect>(op->getDialect()) &&
      op->getNumOperands() > 0) {
    SmallVector<Element> operands;
    for (Value operand : op->getOperands())
      operands.push_back(evaluate(operand));
    // Integers that arrive by way of tensors may be known.
    for (Element &operand : operands)
      if (operand->kind == ElementKind::Load && value.getType().isIntOrIndex()) {
        Element resolved = elements.resolve(operand);
        if (resolved->kind == ElementKind::Index || resolved->kind == ElementKind::NonNegative)
          operand = resolved;
      }
    // Of few bits, it may be another number.
    if (isa<arith::TruncIOp>(op) && value.getType().getIntOrFloatBitWidth() < 32 &&
        !elements.showsRounding)
      return elements.make({ElementKind::Unknown});
    return apply(op, operands);
  }
  // Computed in a body, it may depend on the loops.
  if (!isa_and_nonnull<func::FuncOp>(value.getParentRegion()->getParentOp()) && !constant)
    return elements.make({ElementKind::Unknown});
  if (value.getType().isIntOrIndex() && !value.getType().isInteger(1)) {
    ElementNode node{ElementKind::Index};
    node.index = elements.getScalar(value);
    return elements.make(node);
  }
  ElementNode node{ElementKind::Scalar};
  node.tensor = value;
  return elements.make(node);
}

Element Expander::expandElementwise(Operation *op) {
  SmallVector<Element> operands;
  for (Value operand : op->getOperands()) {
    if (isa<UnrankedTensorType>(operand.getType()))
      return nullptr;
    operands.push_back(isa<RankedTensorType>(operand.getType())
                           ? elements.load(operand, indices)
                           : evaluate(operand));
  }
  if (auto trunc = dyn_cast<arith::TruncIOp>(op);
      trunc && getElementTypeOrSelf(trunc.getType()).getIntOrFloatBitWidth() < 32 &&
      !elements.showsRounding)
    return nullptr;
  return apply(op, operands);
}

Element Expander::expandGenerate(tensor::GenerateOp op) {
  Block &body = op.getBody().front();
  for (auto [argument, index] : llvm::zip(body.getArguments(), indices)) {
    ElementNode node{ElementKind::Index};
    node.index = index;
    values[argument] = elements.make(node);
  }
  return evaluate(cast<tensor::YieldOp>(body.getTerminator()).getValue());
}

Element Expander::expandLinalg(linalg::LinalgOp op) {
  unsigned result = cast<OpResult>(tensor).getResultNumber();
  OpOperand *init = op.getDpsInitOperand(result);
  AffineMap outputMap = op.getMatchingIndexingMap(init);
  loops.assign(op.getNumLoops(), Expr());
  for (auto [expr, index] : llvm::zip(outputMap.getResults(), indices)) {
    if (auto dim = dyn_cast<AffineDimExpr>(expr))
      loops[dim.getPosition()] = index;
    else if (!isa<AffineConstantExpr>(expr))
      return nullptr;
  }
  SmallVector<Expr> reduced;
  for (unsigned loop = 0; loop < loops.size(); ++loop) {
    if (loops[loop])
      continue;
    // Its size is that of any operand's dimension that it alone runs over.
    Expr size;
    for (OpOperand &operand : op->getOpOperands()) {
      if (!isa<RankedTensorType>(operand.get().getType()))
        continue;
      std::optional<unsigned> dim = op.getMatchingIndexingMap(&operand).getResultPosition(
          getAffineDimExpr(loop, op.getContext()));
      if (dim && !size)
        size = elements.getSize(operand.get(), *dim);
    }
    if (!size)
      return nullptr;
    loops[loop] = space.addDim(size);
    reduced.push_back(loops[loop]);
  }
  auto loadOperand = [&](OpOperand &operand) -> Element {
    if (!isa<RankedTensorType>(operand.get().getType()))
      return evaluate(operand.get());
    SmallVector<Expr> at;
    for (Expr expr : op.getMatchingIndexingMap(&operand).getResults())
      at.push_back(expr.replaceDims(loops));
    return elements.load(operand.get(), at);
  };
  Block *body = op.getBlock();
  for (OpOperand &operand : op->getOpOperands())
    values[op.getMatchingBlockArgument(&operand)] = loadOperand(operand);
  Value yielded = body->getTerminator()->getOperand(result);
  if (reduced.empty())
    return evaluate(yielded);

  // One operation that combines the running value with what does not depend on it.
  Operation *combiner = yielded.getDefiningOp();
  Value running = op.getMatchingBlockArgument(init);
  if (!combiner || combiner->getNumOperands() != 2 || !running.hasOneUse())
    return nullptr;
  unsigned position = combiner->getOperand(0) == running ? 0 : 1;
  if (combiner->getOperand(position) != running)
    return nullptr;
  static constexpr StringLiteral kCombiners[] = {"arith.addf",     "arith.mulf",
                                                 "arith.maximumf", "arith.maxnumf",
                                                 "arith.minimumf", "arith.minnumf"};
  if (!llvm::is_contained(kCombiners, combiner->getName().getStringRef()))
    return nullptr;
  ElementNode node{ElementKind::Reduce};
  node.name = combiner->getName().getStringRef();
  node.operands = {evaluate(combiner->getOperand(1 - position)), values[running]};
  node.dims = reduced;
  return elements.make(node);
}

/// exp(x) / sum exp(x), as the maximum that is subtracted changes nothing.
Element Expander::expandSoftmax(linalg::SoftmaxOp op) {
  auto exponential = [&](ArrayRef<Expr> at) {
    return elements.apply("math.exp", {elements.load(op.getInput(), at)});
  };
  SmallVector<Expr> summed = indices;
  Expr dim = space.addDim(elements.getSize(op.getInput(), op.getDimension()));
  summed[op.getDimension()] = dim;
  ElementNode sum{ElementKind::Reduce};
  sum.name = "arith.addf";
  sum.operands = {exponential(summed), elements.number(0)};
  sum.dims = {dim};
  return elements.apply("arith.divf", {exponential(indices), elements.make(sum)});
}

Element Expander::expand() {
  Operation *op = tensor.getDefiningOp();
  if (!op)
    return nullptr;
  return llvm::TypeSwitch<Operation *, Element>(op)
      .Case([&](tensor::CollapseShapeOp op) { return expandCollapse(op); })
      .Case([&](tensor::ExpandShapeOp op) { return expandExpand(op); })
      .Case([&](tensor::ExtractSliceOp op) { return expandSlice(op); })
      .Case([&](tensor::InsertSliceOp op) { return expandInsert(op); })
      .Case([&](tensor::ConcatOp op) { return expandConcat(op); })
      .Case([&](tensor::PadOp op) { return expandPad(op); })
      .Case([&](tensor::GatherOp op) { return expandGather(op); })
      .Case([&](tensor::GenerateOp op) { return expandGenerate(op); })
      .Case([&](tensor::CastOp op) -> Element {
        if (!isa<RankedTensorType>(op.getSource().getType()))
          return nullptr;
        return elements.load(op.getSource(), indices);
      })
      .Case([&](tensor::SplatOp op) { return evaluate(op.getInput()); })
      .Case([&](tensor::FromElementsOp op) -> Element {
        if (op.getElements().size() != 1)
          return nullptr;
        return evaluate(op.getElements().front());
      })
      .Case([&](linalg::SoftmaxOp op) { return expandSoftmax(op); })
      .Case([&](linalg::LinalgOp op) { return expandLinalg(op); })
      .Default([&](Operation *op) -> Element {
        if (OpTrait::hasElementwiseMappableTraits(op) && op->getNumResults() == 1 &&
            op->getNumOperands() > 0)
          return expandElementwise(op);
        return nullptr;
      });
}

Element Elements::expand(Element element) {
  if (++numExpanded > kMaxExpanded)
    return nullptr;
  return Expander(*this, element).expand();
}

} // namespace kvc
