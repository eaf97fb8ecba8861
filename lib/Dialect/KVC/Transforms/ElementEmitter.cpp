//===- ElementEmitter.cpp - tensors from their elements -------------------===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "ElementEmitter.h"
#include "SizeEmitter.h"

#include "mlir/Dialect/Utils/StaticValueUtils.h"

using namespace mlir;
using namespace kvc;

using Expr = Elements::Expr;

Value kvc::convertFloat(OpBuilder &b, Location loc, Value value, Type type) {
  unsigned from = value.getType().getIntOrFloatBitWidth(), to = type.getIntOrFloatBitWidth();
  if (value.getType() == type)
    return value;
  if (from < to)
    return arith::ExtFOp::create(b, loc, type, value);
  return arith::TruncFOp::create(b, loc, type, value);
}

bool kvc::areInPlace(Elements &elements, Value tensor, ArrayRef<Expr> indices,
                     ArrayRef<Expr> dims) {
  IndexSpace &space = elements.getSpace();
  if (indices.size() != dims.size())
    return false;
  for (auto [position, dim] : llvm::enumerate(dims)) {
    bool isOne = space.getExtent(dim) == space.constant(1) &&
                 elements.getSize(tensor, position) == space.constant(1);
    if (indices[position] != dim && !isOne)
      return false;
  }
  return true;
}

/// Cuts a tensor where a factor takes a part of a dimension only: a loop of linalg is as long
/// as the dimension that it runs over alone.
static std::optional<Element> emitSlice(OpBuilder &b, Location loc, Elements &elements,
                                        SizeEmitter &sizes, Element factor) {
  IndexSpace &space = elements.getSpace();
  SmallVector<Expr> indices;
  SmallVector<OpFoldResult> offsets, kept;
  bool isCut = false;
  for (auto [position, index] : llvm::enumerate(factor->indices)) {
    Expr size = elements.getSize(factor->tensor, position), offset = space.constant(0);
    indices.push_back(index);
    for (unsigned i = 0; i < space.getNumDims(); ++i) {
      Expr dim = getAffineDimExpr(i, space.getContext());
      if (!index.isFunctionOfDim(i))
        continue;
      std::optional<IndexSpace::Linear> linear = space.getLinear(index, dim);
      if (!linear || linear->scale != 1 || !isa<AffineConstantExpr>(linear->rest) ||
          (linear->rest == offset && space.areEqual(space.getExtent(dim), size)))
        continue;
      isCut = true;
      offset = linear->rest;
      size = space.getExtent(dim);
      indices.back() = dim;
    }
    offsets.push_back(sizes.emit(offset));
    kept.push_back(sizes.emit(size));
    if (!kept.back())
      return std::nullopt;
  }
  if (!isCut)
    return factor;
  SmallVector<OpFoldResult> strides(kept.size(), b.getIndexAttr(1));
  Value slice = tensor::ExtractSliceOp::create(b, loc, factor->tensor, offsets, kept, strides);
  return elements.load(slice, indices);
}

Value kvc::emitProduct(OpBuilder &b, Elements &elements, Operation *user, ArrayRef<Expr> dims,
                       ArrayRef<Expr> sumDims, ArrayRef<Element> factors, Type elementType) {
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPoint(user);
  Location loc = user->getLoc();
  IndexSpace &space = elements.getSpace();
  SizeEmitter sizes(b, elements, user);

  // One of size 1 is in no index, and a loop has to be in one.
  SmallVector<Expr> summed;
  llvm::copy_if(sumDims, std::back_inserter(summed),
                [&](Expr dim) { return space.getExtent(dim) != space.constant(1); });
  sumDims = summed;

  // The dimensions as loops, in their order.
  SmallVector<Expr> loops(dims);
  llvm::append_range(loops, sumDims);
  DenseMap<Expr, Expr> toLoop;
  for (auto [i, dim] : llvm::enumerate(loops))
    toLoop[dim] = b.getAffineDimExpr(i);
  SmallVector<AffineMap> maps;
  SmallVector<Value> inputs;
  for (Element whole : factors) {
    std::optional<Element> factor = emitSlice(b, loc, elements, sizes, whole);
    if (!factor)
      return {};
    SmallVector<AffineExpr> results;
    for (Expr index : (*factor)->indices)
      results.push_back(space.simplify(index).replace(toLoop));
    maps.push_back(AffineMap::get(loops.size(), 0, results, b.getContext()));
    inputs.push_back((*factor)->tensor);
  }
  maps.push_back(AffineMap::getMultiDimIdentityMap(loops.size(), b.getContext())
                     .getMajorSubMap(dims.size()));
  SmallVector<OpFoldResult> shape;
  for (Expr dim : dims) {
    shape.push_back(sizes.emit(space.getExtent(dim)));
    if (!shape.back())
      return {};
  }
  SmallVector<utils::IteratorType> iterators(dims.size(), utils::IteratorType::parallel);
  iterators.append(sumDims.size(), utils::IteratorType::reduction);

  Type sumType = elementType.isF64() ? elementType : Type(b.getF32Type());
  if (sumDims.empty())
    sumType = elementType;
  Value init = tensor::EmptyOp::create(b, loc, shape, sumType);
  if (!sumDims.empty()) {
    Value zero = arith::ConstantOp::create(b, loc, b.getFloatAttr(sumType, 0.0));
    init = linalg::FillOp::create(b, loc, zero, init).getResult(0);
  }
  auto body = [&](OpBuilder &nested, Location at, ValueRange arguments) {
    Value product;
    for (Value factor : arguments.drop_back()) {
      factor = convertFloat(nested, at, factor, sumType);
      product = product ? arith::MulFOp::create(nested, at, product, factor) : factor;
    }
    if (!sumDims.empty())
      product = arith::AddFOp::create(nested, at, arguments.back(), product);
    linalg::YieldOp::create(nested, at, product);
  };
  Value result =
      linalg::GenericOp::create(b, loc, init.getType(), inputs, init, maps, iterators, body)
          .getResult(0);
  if (sumType == elementType)
    return result;
  Value rounded = tensor::EmptyOp::create(b, loc, shape, elementType);
  AffineMap identity = AffineMap::getMultiDimIdentityMap(dims.size(), b.getContext());
  return linalg::GenericOp::create(
             b, loc, rounded.getType(), result, rounded, {identity, identity},
             SmallVector<utils::IteratorType>(dims.size(), utils::IteratorType::parallel),
             [&](OpBuilder &nested, Location at, ValueRange arguments) {
               linalg::YieldOp::create(nested, at,
                                       convertFloat(nested, at, arguments[0], elementType));
             })
      .getResult(0);
}
