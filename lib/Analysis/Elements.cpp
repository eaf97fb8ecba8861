//===- Elements.cpp - tensors element by element --------------------------===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "kvc/Analysis/Elements.h"

#include "kvc/Dialect/KVC/IR/KVC.h"

#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/IR/Matchers.h"

#include "llvm/Support/InterleavedRange.h"

#include <cmath>

using namespace mlir;
using namespace kvc;

using Expr = Elements::Expr;

/// Trees of more nodes are unknown, and so is what is behind more scalars.
static constexpr int64_t kMaxNodes = 5000;
static constexpr unsigned kMaxDepth = 200;

std::optional<double> ElementNode::getNumber() const {
  if (kind == ElementKind::Number)
    return number;
  if (kind == ElementKind::Index)
    if (auto constant = dyn_cast<AffineConstantExpr>(index))
      return constant.getValue();
  return std::nullopt;
}

//===----------------------------------------------------------------------===//
// Sizes
//===----------------------------------------------------------------------===//

Elements::Elements(func::FuncOp function, bool showsRounding)
    : space(function.getContext()), showsRounding(showsRounding) {
  if (function.isExternal())
    return;
  findPast(function);
  learnSizes(function);
}

/// Tokens that the caches hold before the function runs: those of the arguments that a
/// concatenation makes longer, or where new ones are written into them. All caches of a
/// function hold the same tokens.
void Elements::findPast(func::FuncOp function) {
  bool hasCache = false;
  auto learn = [&](Expr tokens) {
    if (past)
      space.learnEqual(past, tokens);
    else
      past = tokens;
  };
  for (BlockArgument argument : function.getArguments()) {
    if (!function.getArgAttr(argument.getArgNumber(), kCacheName) ||
        !isa<RankedTensorType>(argument.getType()))
      continue;
    hasCache = true;
    for (Operation *user : argument.getUsers()) {
      if (auto concat = dyn_cast<tensor::ConcatOp>(user);
          concat && concat.getInputs().front() == argument)
        learn(getSize(argument, concat.getDim()));
      auto insert = dyn_cast<tensor::InsertSliceOp>(user);
      // Copied to where there is room for more, along one dimension.
      if (insert && insert.getSource() == argument &&
          insert.getSourceType().getRank() == insert.getDestType().getRank() &&
          areAllConstantIntValue(insert.getMixedOffsets(), 0)) {
        std::optional<int64_t> longer;
        bool isOne = true;
        for (auto [dim, size] : llvm::enumerate(insert.getMixedSizes())) {
          std::optional<int64_t> constant = getConstantIntValue(size);
          Expr copied = constant ? space.constant(*constant) : getScalar(cast<Value>(size));
          space.learnEqual(getSize(argument, dim), copied);
          if (space.areEqual(copied, getSize(insert.getDest(), dim)))
            continue;
          isOne &= !longer;
          longer = dim;
        }
        if (isOne && longer)
          learn(getSize(argument, *longer));
      }
      if (!insert || insert.getDest() != argument)
        continue;
      // New tokens are of all batch entries.
      if (llvm::count_if(insert.getMixedOffsets(), [](OpFoldResult offset) {
            return getConstantIntValue(offset) != 0;
          }) == 1)
        for (auto [dim, offset] : llvm::enumerate(insert.getMixedOffsets()))
          if (auto size = dyn_cast<Value>(insert.getMixedSizes()[dim]);
              size && getConstantIntValue(offset) == 0)
            space.learnEqual(getSize(argument, dim), getScalar(size));
      for (OpFoldResult offset : insert.getMixedOffsets()) {
        auto value = dyn_cast<Value>(offset);
        if (!value)
          continue;
        // It may be said by way of the first position, which is the past.
        if (!past)
          past = addSymbol(value);
        learn(getScalar(value));
      }
    }
  }
  if (!hasCache)
    past = space.constant(0);
}

/// Dimensions that one loop runs over, or one elementwise operation, are equal.
void Elements::learnSizes(func::FuncOp function) {
  for (Operation &op : function.getBody().front()) {
    if (auto linalg = dyn_cast<linalg::LinalgOp>(&op)) {
      SmallVector<Expr> loops(linalg.getNumLoops());
      for (OpOperand &operand : op.getOpOperands()) {
        if (!isa<RankedTensorType>(operand.get().getType()))
          continue;
        AffineMap map = linalg.getMatchingIndexingMap(&operand);
        for (auto [dim, expr] : llvm::enumerate(map.getResults())) {
          auto loop = dyn_cast<AffineDimExpr>(expr);
          if (!loop)
            continue;
          Expr size = getSize(operand.get(), dim), &known = loops[loop.getPosition()];
          if (known)
            space.learnEqual(known, size);
          known = size;
        }
      }
      continue;
    }
    if (auto expand = dyn_cast<tensor::ExpandShapeOp>(&op)) {
      for (auto [dim, group] : llvm::enumerate(expand.getReassociationIndices())) {
        Expr product = space.constant(1);
        for (int64_t inner : group)
          if (product = space.simplify(product * getSize(expand.getResult(), inner));
              !space.isShort(product))
            break;
        if (space.isShort(product))
          space.learnEqual(getSize(expand.getSrc(), dim), product);
      }
      continue;
    }
    if (auto attention = dyn_cast<DenseAttentionOp>(&op)) {
      learnSizes(attention);
      continue;
    }
    if (auto insert = dyn_cast<tensor::InsertSliceOp>(&op)) {
      llvm::SmallBitVector dropped = insert.getDroppedDims();
      int64_t source = 0;
      for (auto [dim, size] : llvm::enumerate(insert.getMixedSizes()))
        if (auto value = dyn_cast<Value>(size); !dropped.test(dim)) {
          if (value)
            space.learnEqual(getScalar(value), getSize(insert.getSource(), source));
          ++source;
        }
      continue;
    }
    auto concat = dyn_cast<tensor::ConcatOp>(&op);
    if (!concat && !OpTrait::hasElementwiseMappableTraits(&op))
      continue;
    for (Value operand : op.getOperands()) {
      auto type = dyn_cast<RankedTensorType>(operand.getType());
      auto first = dyn_cast<RankedTensorType>(op.getOperand(0).getType());
      if (!type || !first || type.getRank() != first.getRank())
        continue;
      for (int64_t dim = 0; dim < type.getRank(); ++dim)
        if (!concat || dim != static_cast<int64_t>(concat.getDim()))
          space.learnEqual(getSize(op.getOperand(0), dim), getSize(operand, dim));
    }
  }
}

void Elements::learnSizes(DenseAttentionOp attention) {
  Expr known[DenseAttentionOp::kNumDims];
  auto learn = [&](Value tensor, AffineMap map) {
    if (!tensor)
      return;
    for (auto [position, expr] : llvm::enumerate(map.getResults())) {
      auto dim = dyn_cast<AffineDimExpr>(expr);
      // Each term has a width of its own.
      if (!dim || dim.getPosition() == DenseAttentionOp::Width)
        continue;
      Expr size = getSize(tensor, position), &first = known[dim.getPosition()];
      if (first)
        space.learnEqual(first, size);
      first = size;
    }
  };
  for (unsigned term = 0; term < attention.getQueries().size(); ++term) {
    learn(attention.getQueries()[term], attention.getQueryMap(term));
    learn(attention.getKeys()[term], attention.getKeyMap(term));
  }
  learn(attention.getValue(), attention.getValueMap());
  learn(attention.getMask(), attention.getMaskMap());
  learn(attention.getSinks(), attention.getSinksMap());
  learn(attention.getOutput(), attention.getOutputMap());
}

SmallVector<Expr> Elements::getSizes(Value tensor) {
  SmallVector<Expr> result;
  for (int64_t dim = 0; dim < cast<RankedTensorType>(tensor.getType()).getRank(); ++dim)
    result.push_back(getSize(tensor, dim));
  return result;
}

Expr Elements::getSize(Value tensor, int64_t dim) {
  auto type = cast<RankedTensorType>(tensor.getType());
  if (!type.isDynamicDim(dim))
    return space.constant(type.getDimSize(dim));
  auto key = std::pair(tensor, dim);
  if (auto found = sizes.find(key); found != sizes.end())
    return space.simplify(found->second);
  ++depth;
  Expr size = depth < kMaxDepth ? space.simplify(computeSize(tensor, dim)) : Expr();
  --depth;
  if (!size || !space.isShort(size))
    size = addSymbol(tensor, dim);
  sizes[key] = size;
  return space.simplify(size);
}

Expr Elements::computeSize(Value tensor, int64_t dim) {
  Operation *op = tensor.getDefiningOp();
  auto ofFoldResult = [&](OpFoldResult value) { return getInteger(value); };
  // The dimensions of a type that are dynamic have an operand each.
  auto ofDynamicSizes = [&](ValueRange operands) {
    return getScalar(
        operands[cast<RankedTensorType>(tensor.getType()).getDynamicDimIndex(dim)]);
  };
  if (auto linalg = dyn_cast_or_null<DestinationStyleOpInterface>(op))
    return getSize(linalg.getTiedOpOperand(cast<OpResult>(tensor))->get(), dim);
  if (auto empty = dyn_cast_or_null<tensor::EmptyOp>(op))
    return ofDynamicSizes(empty.getDynamicSizes());
  if (auto generate = dyn_cast_or_null<tensor::GenerateOp>(op))
    return ofDynamicSizes(generate.getDynamicExtents());
  if (auto splat = dyn_cast_or_null<tensor::SplatOp>(op))
    return ofDynamicSizes(splat.getDynamicSizes());
  if (auto cast = dyn_cast_or_null<tensor::CastOp>(op);
      cast && isa<RankedTensorType>(cast.getSource().getType()))
    return getSize(cast.getSource(), dim);
  if (auto concat = dyn_cast_or_null<tensor::ConcatOp>(op)) {
    if (dim != static_cast<int64_t>(concat.getDim()))
      return getSize(concat.getInputs().front(), dim);
    Expr sum = space.constant(0);
    for (Value input : concat.getInputs())
      sum = sum + getSize(input, dim);
    return sum;
  }
  if (auto collapse = dyn_cast_or_null<tensor::CollapseShapeOp>(op)) {
    Expr product = space.constant(1);
    SmallVector<ReassociationIndices> groups = collapse.getReassociationIndices();
    for (int64_t source : groups[dim]) {
      product = space.simplify(product * getSize(collapse.getSrc(), source));
      if (!space.isShort(product))
        return addSymbol(tensor, dim);
    }
    return product;
  }
  if (auto expand = dyn_cast_or_null<tensor::ExpandShapeOp>(op))
    return ofFoldResult(expand.getMixedOutputShape()[dim]);
  if (auto slice = dyn_cast_or_null<tensor::ExtractSliceOp>(op)) {
    llvm::SmallBitVector dropped = slice.getDroppedDims();
    int64_t kept = -1;
    for (auto [source, size] : llvm::enumerate(slice.getMixedSizes()))
      if (!dropped.test(source) && ++kept == dim)
        return ofFoldResult(size);
  }
  if (auto pad = dyn_cast_or_null<tensor::PadOp>(op))
    return ofFoldResult(pad.getMixedLowPad()[dim]) + getSize(pad.getSource(), dim) +
           ofFoldResult(pad.getMixedHighPad()[dim]);
  if (op && OpTrait::hasElementwiseMappableTraits(op))
    for (Value operand : op->getOperands())
      if (isa<RankedTensorType>(operand.getType()))
        return getSize(operand, dim);
  if (auto rope = dyn_cast_or_null<DenseRopeOp>(op))
    return getSize(rope.getInput(), dim);
  if (auto quantize = dyn_cast_or_null<QuantizeOp>(op))
    return getSize(quantize.getInput(), dim);
  if (auto dequantize = dyn_cast_or_null<DequantizeOp>(op))
    return getSize(dequantize.getCodes(), dim);
  return addSymbol(tensor, dim);
}

/// An argument that holds the positions of new tokens.
static bool isPositions(Value tensor) {
  auto argument = dyn_cast<BlockArgument>(tensor);
  if (!argument || !argument.getOwner()->isEntryBlock())
    return false;
  auto function = dyn_cast<func::FuncOp>(argument.getOwner()->getParentOp());
  return function && function.getArgAttr(argument.getArgNumber(), kPositionsName);
}

Expr Elements::addSymbol(Value value, int64_t dim) {
  origins.emplace_back(value, dim);
  return space.addSymbol();
}

std::pair<Value, int64_t> Elements::getOrigin(Expr symbol) {
  return origins[cast<AffineSymbolExpr>(space.simplify(symbol)).getPosition()];
}

/// Whether positions and sizes fit.
static bool isWide(Type type) {
  return type.isIndex() || (type.isSignlessInteger() && type.getIntOrFloatBitWidth() >= 32);
}

/// An integer that does not depend on the loops.
Expr Elements::getScalar(Value value) {
  if (auto found = scalars.find(value); found != scalars.end())
    return found->second;
  ++depth;
  Expr result = depth < kMaxDepth ? space.simplify(computeScalar(value)) : Expr();
  --depth;
  if (!result || !space.isShort(result))
    result = addSymbol(value);
  scalars[value] = result;
  return result;
}

Expr Elements::getInteger(OpFoldResult value) {
  if (std::optional<int64_t> constant = getConstantIntValue(value))
    return space.constant(*constant);
  return getScalar(cast<Value>(value));
}

Expr Elements::computeScalar(Value value) {
  APInt constant;
  if (matchPattern(value, m_ConstantInt(&constant)) && constant.getSignificantBits() <= 64)
    return space.constant(constant.getSExtValue());
  Operation *op = value.getDefiningOp();
  if (auto dim = dyn_cast_or_null<tensor::DimOp>(op))
    if (std::optional<int64_t> index = dim.getConstantIndex();
        index && isa<RankedTensorType>(dim.getSource().getType()) &&
        *index < cast<RankedTensorType>(dim.getSource().getType()).getRank())
      return getSize(dim.getSource(), *index);
  if (isa_and_nonnull<arith::IndexCastOp, arith::ExtSIOp, arith::TruncIOp>(op) &&
      isWide(value.getType()))
    return getScalar(op->getOperand(0));
  if (auto extract = dyn_cast_or_null<tensor::ExtractOp>(op);
      extract && past && isPositions(extract.getTensor()) && !extract.getIndices().empty())
    return getScalar(extract.getIndices().back()) + past;
  auto isFactor = [](Expr expr) { return expr.isSymbolicOrConstant(); };
  if (isa_and_nonnull<arith::AddIOp, arith::SubIOp, arith::MulIOp>(op)) {
    Expr lhs = getScalar(op->getOperand(0)), rhs = getScalar(op->getOperand(1));
    if (isa<arith::AddIOp>(op))
      return lhs + rhs;
    if (isa<arith::SubIOp>(op))
      return lhs - rhs;
    if (isFactor(lhs) && isFactor(rhs))
      return lhs * rhs;
  }
  if (isa_and_nonnull<arith::FloorDivSIOp, arith::DivSIOp, arith::DivUIOp>(op)) {
    // Rounded down, as sizes are not negative.
    Expr lhs = getScalar(op->getOperand(0)), rhs = getScalar(op->getOperand(1));
    auto divisor = dyn_cast<AffineConstantExpr>(rhs);
    if (divisor && divisor.getValue() > 0 && space.isNonNegative(lhs) == true)
      return lhs.floorDiv(rhs);
  }
  return addSymbol(value);
}

//===----------------------------------------------------------------------===//
// Nodes
//===----------------------------------------------------------------------===//

Element Elements::make(ElementNode node) {
  nodes.push_back(std::move(node));
  return &nodes.back();
}

Element Elements::number(double value) {
  ElementNode node{ElementKind::Number};
  node.number = value;
  return make(node);
}

/// The elements of a constant of one dimension as an expression of their index: a line,
/// or a line of index floordiv c or index mod c.
static Expr matchSequence(ArrayRef<int64_t> values, Expr index) {
  int64_t count = values.size(), step = count > 1 ? values[1] - values[0] : 0;
  auto holds = [&](auto formula) {
    for (int64_t i = 0; i < count; ++i)
      if (values[i] != formula(i))
        return false;
    return true;
  };
  if (holds([&](int64_t i) { return values[0] + i * step; }))
    return index * step + values[0];
  int64_t run = 1;
  while (run < count && values[run] == values[0])
    ++run;
  if (run > 1 && run < count) {
    int64_t rise = values[run] - values[0];
    if (holds([&](int64_t i) { return values[0] + i / run * rise; }))
      return index.floorDiv(run) * rise + values[0];
  }
  int64_t period = 1;
  while (period < count && values[period] != values[0])
    ++period;
  if (period > 1 && period < count &&
      holds([&](int64_t i) { return values[0] + i % period * step; }))
    return (index % period) * step + values[0];
  return {};
}

static double toDouble(APFloat value) {
  bool losesInfo;
  value.convert(APFloat::IEEEdouble(), APFloat::rmNearestTiesToEven, &losesInfo);
  return value.convertToDouble();
}

/// The row-major position of an element whose indices are constants in range.
static std::optional<int64_t> getPosition(ShapedType type, ArrayRef<Expr> indices) {
  int64_t position = 0;
  for (auto [size, index] : llvm::zip_equal(type.getShape(), indices)) {
    auto constant = dyn_cast<AffineConstantExpr>(index);
    if (!constant || constant.getValue() < 0 || constant.getValue() >= size)
      return std::nullopt;
    position = position * size + constant.getValue();
  }
  return position;
}

Element Elements::load(Value tensor, ArrayRef<Expr> indices) {
  ElementNode node{ElementKind::Load};
  node.tensor = tensor;
  for (Expr index : indices)
    node.indices.push_back(space.simplify(index));
  DenseElementsAttr constant;
  if (matchPattern(tensor, m_Constant(&constant))) {
    Type type = constant.getElementType();
    if (constant.isSplat() && isa<FloatType>(type))
      return number(toDouble(constant.getSplatValue<APFloat>()));
    ElementNode integer{type.isInteger(1) ? ElementKind::NonNegative : ElementKind::Index};
    bool isInteger = type.isIndex() || (type.isInteger() && type.getIntOrFloatBitWidth() <= 64);
    if (constant.isSplat() && isInteger) {
      APInt value = constant.getSplatValue<APInt>();
      // Of i1: whether -1 >= 0, or 0 >= 0.
      integer.index =
          space.constant(type.isInteger(1) ? value.getBoolValue() - 1 : value.getSExtValue());
      return make(integer);
    }
    if (node.indices.size() == 1 && isInteger && !type.isInteger(1)) {
      SmallVector<int64_t> values;
      for (const APInt &value : constant.getValues<APInt>())
        values.push_back(value.getSExtValue());
      if (Expr sequence = matchSequence(values, node.indices[0])) {
        integer.index = space.simplify(sequence);
        return make(integer);
      }
    }
    if (std::optional<int64_t> position = getPosition(constant.getType(), node.indices);
        position && isa<FloatType>(type))
      return number(toDouble(constant.getValues<APFloat>()[*position]));
  }
  // Positions count from the first token of the sequence.
  if (past && isPositions(tensor) && !node.indices.empty()) {
    ElementNode position{ElementKind::Index, tensor, node.indices};
    position.index = space.simplify(node.indices.back() + past);
    return make(position);
  }
  return make(node);
}

/// What arith does to integers that are known as expressions, or null.
Element Elements::applyToIndices(StringRef name, ArrayRef<Element> operands,
                                 Attribute predicate) {
  Expr lhs = operands[0]->index, rhs = operands.size() > 1 ? operands[1]->index : Expr();
  ElementNode node{ElementKind::Index};
  // What may be short again once it is simplified is not waited for.
  if (!space.isShort(lhs) || (rhs && !space.isShort(rhs)))
    return nullptr;
  auto divisor = rhs ? dyn_cast<AffineConstantExpr>(rhs) : AffineConstantExpr();
  bool divides = divisor && divisor.getValue() > 0;
  bool isFloored = divides && space.isNonNegative(lhs) == true;
  if (name == "arith.addi")
    node.index = lhs + rhs;
  else if (name == "arith.subi")
    node.index = lhs - rhs;
  else if (name == "arith.muli" && (lhs.isSymbolicOrConstant() || rhs.isSymbolicOrConstant()))
    node.index = rhs.isSymbolicOrConstant() ? lhs * rhs : rhs * lhs;
  else if ((name == "arith.floordivsi" && divides) ||
           ((name == "arith.divsi" || name == "arith.divui") && isFloored))
    node.index = lhs.floorDiv(rhs);
  else if ((name == "arith.remsi" || name == "arith.remui") && isFloored)
    node.index = lhs % rhs;
  else if (name == "arith.cmpi") {
    node.kind = ElementKind::NonNegative;
    switch (static_cast<arith::CmpIPredicate>(cast<IntegerAttr>(predicate).getInt())) {
    case arith::CmpIPredicate::sge:
      node.index = lhs - rhs;
      break;
    case arith::CmpIPredicate::sgt:
      node.index = lhs - rhs - 1;
      break;
    case arith::CmpIPredicate::sle:
      node.index = rhs - lhs;
      break;
    case arith::CmpIPredicate::slt:
      node.index = rhs - lhs - 1;
      break;
    default:
      return nullptr;
    }
    if (std::optional<bool> known = space.isNonNegative(node.index))
      node.index = space.constant(*known ? 0 : -1);
  } else {
    return nullptr;
  }
  node.index = space.simplify(node.index);
  return make(node);
}

/// The value of an operation on numbers, where it is needed to know a model's constants.
static std::optional<double> foldNumbers(StringRef name, ArrayRef<Element> operands) {
  SmallVector<double> values;
  for (Element operand : operands) {
    std::optional<double> value = operand->getNumber();
    if (!value)
      return std::nullopt;
    values.push_back(*value);
  }
  if (name == "arith.addf")
    return values[0] + values[1];
  if (name == "arith.subf")
    return values[0] - values[1];
  if (name == "arith.mulf")
    return values[0] * values[1];
  if (name == "arith.divf")
    return values[0] / values[1];
  if (name == "arith.negf")
    return -values[0];
  if (name == "math.sqrt")
    return std::sqrt(values[0]);
  if (name == "math.rsqrt")
    return 1 / std::sqrt(values[0]);
  if (name == "math.powf")
    return std::pow(values[0], values[1]);
  if (name == "math.exp")
    return std::exp(values[0]);
  if (name == "math.exp2")
    return std::exp2(values[0]);
  if (name == "math.log")
    return std::log(values[0]);
  if (name == "arith.sitofp")
    return values[0];
  return std::nullopt;
}

Element Elements::apply(StringRef name, ArrayRef<Element> operands, Attribute predicate) {
  auto isKind = [&](ElementKind kind) {
    return llvm::all_of(operands, [&](Element operand) { return operand->kind == kind; });
  };
  if (name == "arith.extf" || (name == "arith.truncf" && !predicate))
    return operands[0];
  bool isSigned = name == "arith.extsi" || name == "arith.trunci" || name == "arith.index_cast";
  bool isUnsigned = name == "arith.extui" || name == "arith.index_castui";
  if (isKind(ElementKind::Index) &&
      (isSigned || (isUnsigned && space.isNonNegative(operands[0]->index) == true)))
    return operands[0];
  if (isKind(ElementKind::Index))
    if (Element result = applyToIndices(name, operands, predicate))
      return result;
  if (std::optional<double> value = foldNumbers(name, operands))
    return number(*value);
  if (name == "arith.select" && operands[0]->kind == ElementKind::NonNegative)
    if (std::optional<bool> known = space.isNonNegative(operands[0]->index))
      return operands[*known ? 1 : 2];
  if (name == "math.fma")
    return apply("arith.addf", {apply("arith.mulf", operands.take_front(2)), operands[2]});
  // Neutral elements, which exports are full of.
  auto isNumber = [&](unsigned index, double value) {
    return operands[index]->getNumber() == value;
  };
  if ((name == "arith.mulf" || name == "arith.divf") && isNumber(1, 1.0))
    return operands[0];
  if (name == "arith.mulf" && isNumber(0, 1.0))
    return operands[1];
  return makeApply(name, operands, predicate);
}

Element Elements::makeApply(StringRef name, ArrayRef<Element> operands, Attribute predicate) {
  ElementNode node{ElementKind::Apply};
  node.name = name;
  llvm::append_range(node.operands, operands);
  node.predicate = predicate;
  for (Element operand : operands)
    node.size += operand->size;
  return make(node.size <= kMaxNodes ? node : ElementNode{ElementKind::Unknown});
}

void Elements::print(raw_ostream &os, Element element) {
  if (element->kind == ElementKind::Number) {
    os << element->number;
    return;
  }
  if (element->index) {
    os << element->index << (element->kind == ElementKind::NonNegative ? " >= 0" : "");
    return;
  }
  if (element->kind == ElementKind::Unknown)
    os << "unknown";
  if (element->tensor)
    element->tensor.printAsOperand(os, OpPrintingFlags());
  os << element->name;
  if (!element->indices.empty())
    os << '[' << llvm::interleaved(element->indices) << ']';
  if (element->operands.empty())
    return;
  os << '(';
  llvm::interleaveComma(element->operands, os, [&](Element e) { print(os, e); });
  os << ')';
}

//===----------------------------------------------------------------------===//
// Going back
//===----------------------------------------------------------------------===//

Element Elements::followMoves(Element element, function_ref<bool(Value)> stop) {
  while (element->kind == ElementKind::Load && !(stop && stop(element->tensor))) {
    Element next = expand(element);
    if (!next || next->kind != ElementKind::Load)
      break;
    element = next;
  }
  return element;
}

Element Elements::resolve(Element element) {
  element = followMoves(element);
  if (element->kind != ElementKind::Load)
    return element;
  Element expanded = expand(element);
  return expanded ? expanded : element;
}

std::optional<double> Elements::evaluate(Element element) {
  element = resolve(element);
  if (element->kind != ElementKind::Apply)
    return element->getNumber();
  SmallVector<Element> operands;
  for (Element operand : element->operands) {
    std::optional<double> value = evaluate(operand);
    if (!value)
      return std::nullopt;
    operands.push_back(number(*value));
  }
  return foldNumbers(element->name, operands);
}

Element Elements::replaceDims(Element element, const DenseMap<Expr, Expr> &replacements) {
  auto replace = [&](Expr expr) { return space.simplify(expr.replace(replacements)); };
  switch (element->kind) {
  case ElementKind::Load: {
    SmallVector<Expr> indices;
    for (Expr index : element->indices)
      indices.push_back(replace(index));
    return load(element->tensor, indices);
  }
  case ElementKind::Number:
  case ElementKind::Scalar:
  case ElementKind::Unknown:
    return element;
  case ElementKind::Index:
  case ElementKind::NonNegative: {
    ElementNode node = *element;
    node.index = replace(node.index);
    for (Expr &index : node.indices)
      index = replace(index);
    return make(node);
  }
  case ElementKind::Apply: {
    SmallVector<Element> operands;
    for (Element operand : element->operands)
      operands.push_back(replaceDims(operand, replacements));
    return apply(element->name, operands, element->predicate);
  }
  case ElementKind::Reduce: {
    ElementNode node = *element;
    for (Element &operand : node.operands)
      operand = replaceDims(operand, replacements);
    return make(node);
  }
  }
  llvm_unreachable("unknown kind");
}

bool Elements::contains(Element element, Expr dim) {
  auto has = [&](Expr expr) { return space.contains(expr, dim); };
  if (element->kind == ElementKind::Unknown || (element->index && has(element->index)))
    return true;
  return llvm::any_of(element->indices, has) ||
         llvm::any_of(element->operands, [&](Element e) { return contains(e, dim); });
}

bool Elements::areEqual(Element first, Element second) {
  if (first == second)
    return true;
  auto haveSameTensor = [&] { return first->tensor == second->tensor; };
  if (first->kind == ElementKind::Load && second->kind == ElementKind::Load && haveSameTensor())
    return llvm::equal(first->indices, second->indices,
                       [&](Expr a, Expr b) { return space.areEqual(a, b); });
  // The same value may be computed twice.
  if (first->kind == ElementKind::Load || second->kind == ElementKind::Load) {
    Element a = resolve(first), b = resolve(second);
    if (a->kind == ElementKind::Load && b->kind == ElementKind::Load)
      return a->tensor == b->tensor && llvm::equal(a->indices, b->indices, [&](Expr x, Expr y) {
               return space.areEqual(x, y);
             });
    return a->kind != ElementKind::Load && b->kind != ElementKind::Load && areEqual(a, b);
  }
  if (first->kind != second->kind || first->name != second->name ||
      first->predicate != second->predicate ||
      first->operands.size() != second->operands.size() ||
      first->dims.size() != second->dims.size())
    return false;
  switch (first->kind) {
  case ElementKind::Unknown:
    return false;
  case ElementKind::Number:
    return first->number == second->number;
  case ElementKind::Scalar:
    return haveSameTensor();
  case ElementKind::Index:
  case ElementKind::NonNegative:
    return space.areEqual(first->index, second->index);
  case ElementKind::Reduce: {
    DenseMap<Expr, Expr> renamed;
    for (auto [a, b] : llvm::zip(first->dims, second->dims)) {
      if (space.getExtent(a) != space.getExtent(b))
        return false;
      renamed[b] = a;
    }
    return areEqual(first->operands[0], replaceDims(second->operands[0], renamed)) &&
           areEqual(first->operands[1], second->operands[1]);
  }
  default:
    return llvm::equal(first->operands, second->operands,
                       [&](Element a, Element b) { return areEqual(a, b); });
  }
}
