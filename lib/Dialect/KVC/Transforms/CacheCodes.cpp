//===- CacheCodes.cpp - caches of codes that are tensors ------------------===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Whether all functions make the new rows of a cache of codes as attention takes them.
//===----------------------------------------------------------------------===//
#include "CacheTensors.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace kvc;

using Dim = DenseAttentionOp::Dim;
using Expr = Elements::Expr;

BlockArgument kvc::findScaleArgument(Elements &elements, Value scales) {
  SmallVector<Expr> indices;
  for (Expr size : elements.getSizes(scales))
    indices.push_back(elements.getSpace().addDim(size));
  Element leaf = elements.followMoves(elements.load(scales, indices));
  if (leaf->kind != ElementKind::Load && leaf->kind != ElementKind::Scalar)
    return {};
  auto argument = dyn_cast<BlockArgument>(leaf->tensor);
  auto function =
      argument ? dyn_cast<func::FuncOp>(argument.getOwner()->getParentOp()) : func::FuncOp();
  bool isCache = function && function.getArgAttr(argument.getArgNumber(), kCacheName);
  return function && !isCache ? argument : BlockArgument();
}

/// The place of an argument among those that are no caches: the same in all functions.
static unsigned getPlace(func::FuncOp function, BlockArgument argument) {
  unsigned place = 0;
  for (unsigned i = 0; i < argument.getArgNumber(); ++i)
    place += !function.getArgAttr(i, kCacheName);
  return place;
}

namespace {
/// Dimensions of new rows, one for each axis.
class RowDims {
public:
  RowDims(Elements &elements) : elements(elements), space(elements.getSpace()) {}

  /// A load of rows whose dimensions are `dims`; the width is apart.
  Element load(Value rows, ArrayRef<CacheAxes> dims, Expr &width);

private:
  Elements &elements;
  IndexSpace &space;
  Expr known[DenseAttentionOp::kNumDims];
};
} // namespace

Element RowDims::load(Value rows, ArrayRef<CacheAxes> dims, Expr &width) {
  SmallVector<Expr> indices;
  for (auto [position, axes] : llvm::enumerate(dims)) {
    Expr index = space.constant(0);
    int64_t inner = 1;
    for (const CacheAxis &axis : ArrayRef(axes).drop_front(axes.empty() ? 0 : 1))
      inner *= axis.size;
    for (const CacheAxis &axis : axes) {
      Expr &dim = axis.dim == Dim::Width ? width : known[axis.dim];
      Expr size = ShapedType::isDynamic(axis.size)
                      ? space.simplify(elements.getSize(rows, position).floorDiv(inner))
                      : space.constant(axis.size);
      if (!dim)
        dim = space.addDim(size);
      index = index * size + dim;
    }
    indices.push_back(index);
  }
  return elements.load(rows, indices);
}

/// For each dimension of new rows the one of the codes that it is, or none where there is one
/// element only; nothing if rows are more or less than the codes in another order.
static std::optional<SmallVector<std::optional<unsigned>>>
findMoves(Elements &elements, Value rows, QuantizeOp op) {
  IndexSpace &space = elements.getSpace();
  SmallVector<Expr> dims;
  for (Expr size : elements.getSizes(rows))
    dims.push_back(space.addDim(size));
  Element codes = elements.followMoves(elements.load(rows, dims),
                                       [&](Value value) { return value == op.getCodes(); });
  if (codes->kind != ElementKind::Load || codes->tensor != op.getCodes())
    return std::nullopt;
  SmallVector<std::optional<unsigned>> result(dims.size());
  for (auto [position, index] : llvm::enumerate(codes->indices)) {
    Expr size = elements.getSize(op.getCodes(), position);
    if (size == space.constant(1))
      continue;
    auto *dim = llvm::find(dims, index);
    if (dim == dims.end() || !space.areEqual(space.getExtent(index), size))
      return std::nullopt;
    result[dim - dims.begin()] = position;
  }
  for (auto [dim, position] : llvm::zip(dims, result))
    if (!position && space.getExtent(dim) != space.constant(1))
      return std::nullopt;
  return result;
}

/// Checks the new rows of one function.
void CacheTensors::checkRowCodes(Cache &cache, CacheTensor &tensor, CacheFunction &function) {
  Elements &elements = *function.elements;
  IndexSpace &space = elements.getSpace();
  Location loc = tensor.full.getLoc();
  RowDims dims(elements);
  Expr width;
  auto isQuantize = [](Value value) { return value.getDefiningOp<QuantizeOp>() != nullptr; };
  Element rows = elements.followMoves(
      dims.load(tensor.rows, getRowDims(cache, tensor), width), isQuantize);
  auto op = rows->kind == ElementKind::Load ? rows->tensor.getDefiningOp<QuantizeOp>()
                                            : QuantizeOp();
  if (!op || rows->tensor != op.getCodes())
    return cache.fail(loc, "its new rows are not what 'kvc.quantize' makes");
  if (!findMoves(elements, tensor.rows, op))
    return cache.fail(loc, "its new rows are a part of what is quantised, or repeat it");
  ScaleAttr scale = op.getScaleAttr(), &known = cache.codes->scale;
  if (scale != known)
    return cache.fail(loc, llvm::formatv("its new rows have scales '{0}', and attention takes "
                                         "them for '{1}'",
                                         scale, known)
                               .str());
  if (rows->indices.back() != width)
    return cache.fail(loc, "the width of its new rows is not what attention takes for it");
  // Numbers of 4 bits in 8 are read as any.
  if (cache.codes->element != op.getElement() && !op.getElement().isInteger(4))
    return cache.fail(loc, "its new rows are codes of another type than attention takes them "
                           "for");
  cache.codes->element = op.getElement();
  tensor.quantize = op;
  for (auto [index, name] : llvm::enumerate(cache.codes->parts)) {
    Cache &part = caches.find(name)->second;
    const CacheTensor *partTensor = part.find(function.function);
    if (part.hasFailed() || !partTensor || !partTensor->rows)
      return cache.fail(loc, "cache '" + name.getValue() + "' of its scales or zero points is "
                             "not made longer with it");
    Expr group;
    Element scales = elements.followMoves(
        dims.load(partTensor->rows, getRowDims(part, *partTensor), group), isQuantize);
    bool isSame = scales->kind == ElementKind::Load && scales->tensor == op.getScales()[index];
    for (unsigned i = 0; isSame && i + 1 < rows->indices.size(); ++i)
      isSame = scales->indices[i] == rows->indices[i];
    isSame = isSame && scales->indices.back() == (group ? group : space.constant(0));
    if (!isSame)
      return cache.fail(loc, "cache '" + name.getValue() +
                                 "' does not hold the scales or zero points of its rows");
  }
  if (!scale || !scale.getIsStatic())
    return;
  SmallVector<unsigned, 2> places;
  auto find = [&](ValueRange values) {
    places.clear();
    for (Value value : values) {
      BlockArgument argument = findScaleArgument(elements, value);
      if (!argument)
        return false;
      places.push_back(getPlace(function.function, argument));
    }
    return true;
  };
  bool areArguments = find(op.getStaticScales());
  if (areArguments && cache.codes->arguments.empty())
    cache.codes->arguments = places;
  bool isSame = areArguments && cache.codes->arguments == places;
  for (auto dequantize : function.function.getOps<DequantizeOp>())
    if (isSame && dequantize.getScaleAttr() == scale) {
      SmallVector<Expr> indices;
      for (Expr size : elements.getSizes(dequantize.getCodes()))
        indices.push_back(space.addDim(size));
      Element codes =
          elements.followMoves(elements.load(dequantize.getCodes(), indices),
                               [&](Value value) { return value == tensor.full; });
      if (codes->kind == ElementKind::Load && codes->tensor == tensor.full)
        isSame = find(dequantize.getScales()) && cache.codes->arguments == places;
    }
  if (!areArguments)
    cache.fail(loc, "its static scales are neither an argument nor one constant for all heads");
  else if (!isSame)
    cache.fail(loc, "its static scales are not everywhere the same argument");
}

void CacheTensors::checkCodes(Cache &cache) {
  if (cache.hasFailed() || cache.dims.empty() || cache.partOf)
    return;
  if (!isQuantized(cache.getElementType())) {
    if (cache.codes)
      cache.fail(cache.loc, "it is of another type than codes are");
    return;
  }
  if (!cache.codes)
    return cache.fail(cache.loc, "attention reads its elements as they are, and not as codes "
                                 "by 'kvc.dequantize'");
  for (CacheTensor &tensor : cache.tensors) {
    auto *function = llvm::find_if(functions, [&](const CacheFunction &candidate) {
      return candidate.function == tensor.function;
    });
    if (function == functions.end() || !tensor.rows)
      return cache.fail(cache.loc, "how a function makes its rows is not known");
    checkRowCodes(cache, tensor, *function);
    if (cache.hasFailed())
      return;
  }
}

Value kvc::emitNumbers(OpBuilder &b, Elements &elements, const CacheTensor &tensor) {
  QuantizeOp op = tensor.quantize;
  Value input = op.getInput();
  Location loc = op.getLoc();
  std::optional<SmallVector<std::optional<unsigned>>> moves =
      findMoves(elements, tensor.rows, op);
  if (!moves)
    return {};
  int64_t rank = op.getInput().getType().getRank();
  bool isInPlace = static_cast<int64_t>(moves->size()) == rank;
  for (auto [dim, position] : llvm::enumerate(*moves))
    isInPlace &= !position || *position == dim;
  if (isInPlace)
    return input;
  SmallVector<OpFoldResult> sizes;
  SmallVector<AffineExpr> results(rank, b.getAffineConstantExpr(0));
  for (auto [dim, position] : llvm::enumerate(*moves)) {
    sizes.push_back(position ? tensor::getMixedSize(b, loc, input, *position)
                             : OpFoldResult(b.getIndexAttr(1)));
    if (position)
      results[*position] = b.getAffineDimExpr(dim);
  }
  Value init = tensor::EmptyOp::create(b, loc, sizes, getElementTypeOrSelf(input.getType()));
  SmallVector<utils::IteratorType> loops(sizes.size(), utils::IteratorType::parallel);
  AffineMap map = AffineMap::get(sizes.size(), 0, results, b.getContext());
  return linalg::GenericOp::create(
             b, loc, init.getType(), input, init,
             {map, b.getMultiDimIdentityMap(sizes.size())}, loops,
             [](OpBuilder &nested, Location at, ValueRange x) {
               linalg::YieldOp::create(nested, at, x[0]);
             })
      .getResult(0);
}
