//===- WeightProduct.cpp - products of two weights ------------------------===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "WeightProduct.h"
#include "TokenFunction.h"

#include "mlir/IR/DialectResourceBlobManager.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace kvc;
using namespace kvc::absorb;

using Expr = Elements::Expr;

/// Some seconds of compile time, and a gigabyte while it lasts.
static constexpr double kMaxMultiplications = 4294967296.0, kMaxElements = 33554432.0;

//===----------------------------------------------------------------------===//
// Matching
//===----------------------------------------------------------------------===//

bool absorb::isPlain(IndexSpace &space, Element load) {
  SmallVector<Expr> seen;
  if (load->kind != ElementKind::Load)
    return false;
  for (Expr index : load->indices) {
    if (index == space.constant(0))
      continue;
    if (!isa<AffineDimExpr>(index) || llvm::is_contained(seen, index))
      return false;
    seen.push_back(index);
  }
  return true;
}

std::optional<LinearElement> absorb::matchLinear(Elements &elements, Element element,
                                                 Expr column) {
  IndexSpace &space = elements.getSpace();
  elements.resetBudget();
  Element leaf = elements.followMoves(element);
  if (leaf->kind != ElementKind::Load)
    return std::nullopt;
  Element sum = elements.expand(leaf);
  if (!sum || !sum->isReduce("arith.addf") || sum->dims.size() != 1 ||
      elements.resolve(sum->operands[1])->getNumber() != 0.0)
    return std::nullopt;
  Element product = elements.resolve(sum->operands[0]);
  if (!product->is("arith.mulf"))
    return std::nullopt;
  for (unsigned i : {0, 1}) {
    Element weight = findWeight(elements, product->operands[i]);
    if (!weight || !elements.contains(weight, column) ||
        !elements.contains(weight, sum->dims[0]))
      continue;
    for (Element source :
         {product->operands[1 - i], elements.followMoves(product->operands[1 - i])})
      if (isPlain(space, source) && !elements.contains(source, column) &&
          elements.contains(source, sum->dims[0]))
        return LinearElement{leaf->tensor, source, weight, sum->dims[0]};
  }
  return std::nullopt;
}

/// Whether an index joins dimensions.
static bool isJoined(Expr index, ArrayRef<Expr> dims) {
  bool hasSymbol = false, hasDim = false;
  index.walk([&](Expr part) {
    hasSymbol |= isa<AffineSymbolExpr>(part);
    hasDim |= llvm::is_contained(dims, part);
  });
  return hasSymbol || (hasDim && !isa<AffineDimExpr>(index));
}

std::optional<Consumer> absorb::findConsumer(Elements &elements, Value tensor) {
  IndexSpace &space = elements.getSpace();
  elements.resetBudget();
  auto stop = [&](Value value) { return value == tensor; };
  for (Value value = tensor;;) {
    // One that is read twice would be needed besides.
    Operation *user = nullptr;
    for (OpOperand &use : value.getUses()) {
      if (isa<tensor::DimOp>(use.getOwner()))
        continue;
      if (user)
        return std::nullopt;
      user = use.getOwner();
    }
    if (!user || user->getBlock() != tensor.getParentBlock() || user->getNumResults() != 1 ||
        !isa<RankedTensorType>(user->getResult(0).getType()))
      return std::nullopt;
    std::optional<Consumer> found;
    value = user->getResult(0);
    SmallVector<Expr> dims;
    for (Expr size : elements.getSizes(value))
      dims.push_back(space.addDim(size));
    Element element = elements.followMoves(elements.load(value, dims), stop);
    if (element->kind == ElementKind::Load && element->tensor == tensor)
      continue;
    if (element->kind != ElementKind::Load)
      return std::nullopt;
    Element sum = elements.expand(element);
    if (!sum || !sum->isReduce("arith.addf") || sum->dims.size() != 1 ||
        elements.resolve(sum->operands[1])->getNumber() != 0.0)
      return std::nullopt;
    Element product = sum->operands[0];
    if (product->kind == ElementKind::Load)
      product = elements.resolve(product);
    if (!product->is("arith.mulf"))
      return std::nullopt;
    for (unsigned i : {0, 1}) {
      Element source = elements.followMoves(product->operands[1 - i], stop);
      Element weight = findWeight(elements, product->operands[i]);
      if (!weight || source->kind != ElementKind::Load || source->tensor != tensor)
        continue;
      found = Consumer{value, dims, source, weight, sum->dims[0]};
      break;
    }
    // Dimensions that are joined may be apart further on.
    if (!found || llvm::none_of(found->source->indices,
                                [&](Expr index) { return isJoined(index, dims); }))
      return found;
  }
}

bool absorb::isNeeded(Value tensor, Operation *op, unsigned operand, ArrayRef<Value> kept) {
  SmallVector<Value> values = {tensor};
  llvm::SmallPtrSet<Operation *, 16> seen;
  while (!values.empty()) {
    Value value = values.pop_back_val();
    if (llvm::is_contained(kept, value))
      return true;
    for (OpOperand &use : value.getUses()) {
      Operation *user = use.getOwner();
      if (user == op) {
        if (use.getOperandNumber() != operand)
          return true;
        continue;
      }
      // A size needs no elements.
      if (isa<tensor::DimOp>(user) || !seen.insert(user).second)
        continue;
      if (user->hasTrait<OpTrait::IsTerminator>() || !isMemoryEffectFree(user) ||
          user->getBlock() != op->getBlock())
        return true;
      llvm::append_range(values, user->getResults());
    }
  }
  return false;
}

//===----------------------------------------------------------------------===//
// Products
//===----------------------------------------------------------------------===//

SmallVector<Expr> absorb::getDims(Elements &elements, ArrayRef<Element> loads) {
  IndexSpace &space = elements.getSpace();
  SmallVector<Expr> dims;
  for (unsigned i = 0; i < space.getNumDims(); ++i) {
    Expr dim = getAffineDimExpr(i, space.getContext());
    if (llvm::any_of(loads, [&](Element load) { return elements.contains(load, dim); }))
      dims.push_back(dim);
  }
  return dims;
}

std::optional<double> absorb::countPoints(IndexSpace &space, ArrayRef<Expr> dims) {
  double count = 1;
  for (Expr dim : dims) {
    auto extent = dyn_cast<AffineConstantExpr>(space.simplify(space.getExtent(dim)));
    if (!extent)
      return std::nullopt;
    count *= extent.getValue();
  }
  return count;
}

WeightProduct::WeightProduct(Elements &elements, Element first, Element second, Expr sumDim)
    : first(first), second(second), sumDim(sumDim) {
  for (Expr dim : getDims(elements, {first, second}))
    if (dim != sumDim)
      dims.push_back(dim);
}

/// The value of an index whose symbols are all known: none if one is not.
static std::optional<int64_t> evaluate(Expr index, ArrayRef<std::pair<Expr, int64_t>> values) {
  if (auto constant = dyn_cast<AffineConstantExpr>(index))
    return constant.getValue();
  if (isa<AffineDimExpr>(index)) {
    for (auto [dim, value] : values)
      if (dim == index)
        return value;
    return std::nullopt;
  }
  auto binary = dyn_cast<AffineBinaryOpExpr>(index);
  if (!binary)
    return std::nullopt;
  std::optional<int64_t> lhs = evaluate(binary.getLHS(), values),
                         rhs = evaluate(binary.getRHS(), values);
  if (!lhs || !rhs)
    return std::nullopt;
  switch (index.getKind()) {
  case AffineExprKind::Add:
    return *lhs + *rhs;
  case AffineExprKind::Mul:
    return *lhs * *rhs;
  case AffineExprKind::Mod:
    return *rhs > 0 ? std::optional(llvm::mod(*lhs, *rhs)) : std::nullopt;
  case AffineExprKind::FloorDiv:
    return *rhs > 0 ? std::optional(llvm::divideFloorSigned(*lhs, *rhs)) : std::nullopt;
  default:
    return std::nullopt;
  }
}

namespace {
/// Reads elements of a constant tensor.
class ConstantReader {
public:
  explicit ConstantReader(Value tensor) : type(cast<RankedTensorType>(tensor.getType())) {
    Attribute attribute;
    if (!matchPattern(tensor, m_Constant(&attribute)))
      return;
    dense = dyn_cast<DenseFPElementsAttr>(attribute);
    auto resource = dyn_cast<DenseResourceElementsAttr>(attribute);
    AsmResourceBlob *blob = resource ? resource.getRawHandle().getBlob() : nullptr;
    if (blob && isa<FloatType>(type.getElementType()) &&
        type.getElementTypeBitWidth() % 8 == 0 && type.getElementTypeBitWidth() <= 64 &&
        static_cast<int64_t>(blob->getData().size()) ==
            type.getNumElements() * type.getElementTypeBitWidth() / 8)
      raw = blob->getData();
  }

  explicit operator bool() const { return dense || !raw.empty(); }

  double read(int64_t position) const {
    APFloat value = dense ? dense.getValues<APFloat>()[position] : readRaw(position);
    bool losesInfo = false;
    value.convert(APFloat::IEEEdouble(), APFloat::rmNearestTiesToEven, &losesInfo);
    return value.convertToDouble();
  }

  /// The elements of a load over `dims`, the last of which moves fastest. None if an index is
  /// not known.
  std::optional<std::vector<double>> gather(IndexSpace &space, Element load,
                                            ArrayRef<Expr> dims) const;

private:
  APFloat readRaw(int64_t position) const {
    unsigned bits = type.getElementTypeBitWidth();
    uint64_t word = 0;
    std::memcpy(&word, raw.data() + position * (bits / 8), bits / 8);
    return APFloat(cast<FloatType>(type.getElementType()).getFloatSemantics(),
                   APInt(bits, word));
  }

  RankedTensorType type;
  DenseFPElementsAttr dense;
  ArrayRef<char> raw;
};
} // namespace

static int64_t getExtent(IndexSpace &space, Expr dim) {
  return cast<AffineConstantExpr>(space.simplify(space.getExtent(dim))).getValue();
}

std::optional<std::vector<double>> ConstantReader::gather(IndexSpace &space, Element load,
                                                          ArrayRef<Expr> dims) const {
  std::vector<double> values;
  SmallVector<std::pair<Expr, int64_t>> point;
  int64_t count = 1;
  for (Expr dim : dims) {
    point.emplace_back(dim, 0);
    count *= getExtent(space, dim);
  }
  values.reserve(count);
  for (int64_t i = 0; i < count; ++i) {
    int64_t rest = i, position = 0;
    for (auto &[dim, value] : llvm::reverse(point)) {
      value = rest % getExtent(space, dim);
      rest /= getExtent(space, dim);
    }
    for (auto [dim, index] : llvm::enumerate(load->indices)) {
      std::optional<int64_t> at = evaluate(index, point);
      if (!at || *at < 0 || *at >= type.getDimSize(dim))
        return std::nullopt;
      position = position * type.getDimSize(dim) + *at;
    }
    values.push_back(read(position));
  }
  return values;
}

/// Rounds sums to the elements of a constant.
static DenseElementsAttr toAttribute(RankedTensorType type, ArrayRef<double> sums) {
  const llvm::fltSemantics &semantics =
      cast<FloatType>(type.getElementType()).getFloatSemantics();
  SmallVector<APFloat> rounded;
  rounded.reserve(sums.size());
  for (double sum : sums) {
    rounded.emplace_back(sum);
    bool losesInfo = false;
    rounded.back().convert(semantics, APFloat::rmNearestTiesToEven, &losesInfo);
  }
  return DenseElementsAttr::get(type, rounded);
}

Element WeightProduct::emit(OpBuilder &b, Elements &elements, Operation *user, Type elementType,
                            std::string &why) const {
  IndexSpace &space = elements.getSpace();
  if (isa<BlockArgument>(first->tensor) || isa<BlockArgument>(second->tensor)) {
    why = "they are arguments, so that each call would compute the product";
    return nullptr;
  }
  std::optional<double> count = countPoints(space, dims), summed = countPoints(space, sumDim);
  SmallVector<Expr> firstDims, secondDims;
  for (Expr dim : dims) {
    if (elements.contains(first, dim))
      firstDims.push_back(dim);
    if (elements.contains(second, dim))
      secondDims.push_back(dim);
  }
  firstDims.push_back(sumDim);
  secondDims.push_back(sumDim);
  if (!count || !summed || *count * *summed > kMaxMultiplications || *count > kMaxElements ||
      *countPoints(space, firstDims) > kMaxElements ||
      *countPoints(space, secondDims) > kMaxElements) {
    why = llvm::formatv("expected at most {0:F0} multiplications, and {1:F0} elements of each "
                        "and of the product",
                        kMaxMultiplications, kMaxElements);
    return nullptr;
  }
  ConstantReader firstReader(first->tensor), secondReader(second->tensor);
  if (!firstReader || !secondReader) {
    why = "they are no constants whose elements are known";
    return nullptr;
  }
  auto firstValues = firstReader.gather(space, first, firstDims),
       secondValues = secondReader.gather(space, second, secondDims);
  if (!firstValues || !secondValues) {
    why = "an element of theirs is not known";
    return nullptr;
  }
  // Where each starts, for every element of the product.
  int64_t length = getExtent(space, sumDim);
  auto getStart = [&](ArrayRef<Expr> own, int64_t element) {
    int64_t start = 0, stride = length;
    for (Expr dim : llvm::reverse(dims)) {
      int64_t extent = getExtent(space, dim);
      if (llvm::is_contained(own, dim)) {
        start += element % extent * stride;
        stride *= extent;
      }
      element /= extent;
    }
    return start;
  };
  std::vector<double> sums(static_cast<size_t>(*count));
  for (auto [element, sum] : llvm::enumerate(sums)) {
    const double *x = firstValues->data() + getStart(firstDims, element);
    const double *y = secondValues->data() + getStart(secondDims, element);
    for (int64_t i = 0; i < length; ++i)
      sum += x[i] * y[i];
  }
  SmallVector<int64_t> shape;
  for (Expr dim : dims)
    shape.push_back(getExtent(space, dim));
  auto type = RankedTensorType::get(shape, elementType);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPoint(user);
  Value constant = arith::ConstantOp::create(b, user->getLoc(), type, toAttribute(type, sums));
  return elements.load(constant, dims);
}
