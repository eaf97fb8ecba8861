//===- BuildQuantization.cpp - operations for codes and numbers -----------===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Makes kvc.quantize and kvc.dequantize, whose scales have the dimensions of the numbers, and
// gives a model's own tensors of scales their elements.
//===----------------------------------------------------------------------===//
#include "ElementEmitter.h"
#include "FoldIntoAttention.h"
#include "QuantizationElements.h"

#include "llvm/Support/MathExtras.h"

#include <cmath>

using namespace mlir;
using namespace kvc;

using Expr = Elements::Expr;

/// The tensor itself if the load is of all its elements in their order, or a copy.
static Value emitLoad(OpBuilder &b, Elements &elements, Element load, ArrayRef<Expr> dims,
                      Operation *user) {
  if (areInPlace(elements, load->tensor, load->indices, dims))
    return load->tensor;
  return emitProduct(b, elements, user, dims, {}, load,
                     getElementTypeOrSelf(load->tensor.getType()));
}

/// The first operation of a function's block before which both values are known.
static Operation *findUser(Value first, Value second) {
  auto getNext = [](Value value) {
    Operation *op = value.getDefiningOp();
    return op ? op->getNextNode() : &value.getParentBlock()->front();
  };
  Operation *user = getNext(first);
  if (!second)
    return user;
  Operation *other = getNext(second);
  return user->isBeforeInBlock(other) ? other : user;
}

/// Positions of a tensor with that of the width last.
static SmallVector<unsigned> getOrder(unsigned rank, unsigned width) {
  SmallVector<unsigned> order;
  for (unsigned position = 0; position < rank; ++position)
    if (position != width)
      order.push_back(position);
  order.push_back(width);
  return order;
}

/// Scales, or zero points, as a tensor with the dimensions of what they are of, whose indices
/// are `own`, and sizes `sizes`, and along the last of which there are `count` of `group`.
/// Null, and the reason, if they are shaped in another way.
static Value emitScales(OpBuilder &b, Elements &elements, Element scale, ArrayRef<Expr> own,
                        ArrayRef<Expr> sizes, Expr group, int64_t count, Operation *user,
                        RaiseFailure &why) {
  IndexSpace &space = elements.getSpace();
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPoint(user);
  if (scale->kind == ElementKind::Scalar) {
    SmallVector<int64_t> ones(own.size(), 1);
    auto type = RankedTensorType::get(ones, scale->tensor.getType());
    return tensor::FromElementsOp::create(b, user->getLoc(), type, scale->tensor);
  }
  SmallVector<Expr> shared(own.size(), space.constant(1)), indices;
  shared.back() = space.constant(count);
  SmallVector<std::optional<unsigned>> found;
  for (Expr index : scale->indices) {
    std::optional<unsigned> &at = found.emplace_back();
    if (space.areEqual(index, space.constant(0)))
      continue;
    if (group && space.areEqual(index, group))
      at = own.size() - 1;
    for (unsigned position = 0; !at && position + 1 < own.size(); ++position)
      if (space.areEqual(index, own[position])) {
        at = position;
        shared[position] = sizes[position];
      }
    if (!at) {
      why.reason = "a scale has dimensions that the codes do not have";
      return {};
    }
  }
  SmallVector<Expr> dims;
  for (Expr size : shared)
    dims.push_back(space.addDim(size));
  for (std::optional<unsigned> at : found)
    indices.push_back(at ? dims[*at] : space.constant(0));
  if (areInPlace(elements, scale->tensor, indices, dims))
    return scale->tensor;
  Value result = emitLoad(b, elements, elements.load(scale->tensor, indices), dims, user);
  if (!result)
    why.reason = "the sizes of a scale are not known before it";
  return result;
}

//===----------------------------------------------------------------------===//
// Quantise
//===----------------------------------------------------------------------===//

/// Puts scales, or zero points, of `op` in the place of a tensor that holds them, if it has no
/// other elements.
static void replaceHolder(OpBuilder &b, Elements &elements, Element holder, Value scales,
                          const QuantizationElements &quantization) {
  IndexSpace &space = elements.getSpace();
  Value tensor = holder->tensor;
  auto type = cast<RankedTensorType>(tensor.getType());
  SmallVector<Expr> dims, indices;
  for (Expr size : elements.getSizes(holder->tensor))
    dims.push_back(space.addDim(size));
  auto find = [&](Expr index, Expr size) -> Expr {
    if (size == space.constant(1))
      return space.constant(0);
    for (auto [position, own] : llvm::enumerate(holder->indices))
      if (space.areEqual(own, index))
        return dims[position];
    return {};
  };
  const Element numbers = quantization.numbers;
  for (unsigned position : getOrder(numbers->indices.size(), quantization.width)) {
    bool isWidth = position == quantization.width;
    Expr index = numbers->indices[position];
    Expr found = isWidth ? find(quantization.group ? quantization.group : space.constant(0),
                                quantization.group ? Expr() : space.constant(1))
                         : find(index, elements.getSize(numbers->tensor, position));
    if (!found)
      return;
    indices.push_back(found);
  }
  Operation *user = tensor.getDefiningOp();
  Element load = elements.load(scales, indices);
  Value replacement =
      areInPlace(elements, scales, indices, dims) &&
              getElementTypeOrSelf(scales.getType()) == type.getElementType()
          ? scales
          : emitProduct(b, elements, user, dims, {}, load, type.getElementType());
  if (!replacement)
    return;
  b.setInsertionPointAfterValue(replacement);
  if (replacement.getType() != type)
    replacement = tensor::CastOp::create(b, tensor.getLoc(), type, replacement);
  tensor.replaceAllUsesWith(replacement);
}

QuantizeOp kvc::buildQuantize(OpBuilder &b, Elements &elements,
                              const QuantizationElements &quantization) {
  OpBuilder::InsertionGuard guard(b);
  IndexSpace &space = elements.getSpace();
  const Element numbers = quantization.numbers;
  Value staticTensor = quantization.staticScale ? quantization.staticScale->tensor : Value();
  Operation *user = findUser(numbers->tensor, staticTensor);
  Location loc = numbers->tensor.getLoc();
  SmallVector<unsigned> order = getOrder(numbers->indices.size(), quantization.width);
  SmallVector<Expr> all, dims, own, sizes;
  for (Expr size : elements.getSizes(numbers->tensor))
    all.push_back(space.addDim(size));
  for (unsigned position : order) {
    dims.push_back(all[position]);
    own.push_back(numbers->indices[position]);
    sizes.push_back(elements.getSize(numbers->tensor, position));
  }
  Value input = emitLoad(b, elements, elements.load(numbers->tensor, all), dims, user);
  if (!input)
    return {};
  SmallVector<Value> staticScales;
  RaiseFailure why;
  if (quantization.staticScale) {
    staticScales.push_back(emitScales(b, elements, quantization.staticScale, own, sizes, Expr(),
                                      /*count=*/1, user, why));
    if (!staticScales.back())
      return {};
  }
  auto type = cast<RankedTensorType>(input.getType());
  SmallVector<Type> types = {type.clone(quantization.storage)};
  ScaleAttr scale = quantization.scale;
  if (scale && !scale.getIsStatic()) {
    SmallVector<int64_t> shape(type.getShape());
    shape.back() = scale.getScheme() == ScaleScheme::Group
                       ? llvm::divideCeil(shape.back(), scale.getGroup())
                       : 1;
    types.append(scale.getZeroPoint() ? 2 : 1,
                 RankedTensorType::get(shape, scale.getElementType()));
  }
  b.setInsertionPoint(user);
  auto op = QuantizeOp::create(b, loc, types, input, staticScales, quantization.element, scale,
                               quantization.biased);
  if (scale && !scale.getIsStatic()) {
    for (Element holder : quantization.scales)
      replaceHolder(b, elements, holder, op.getScales()[0], quantization);
    for (Element holder : quantization.zeros)
      replaceHolder(b, elements, holder, op.getScales()[1], quantization);
  }
  return op;
}

Value kvc::buildCodes(OpBuilder &b, Elements &elements, QuantizeOp op,
                      const QuantizationElements &quantization, ArrayRef<Expr> dims,
                      Operation *user) {
  SmallVector<Expr> indices;
  const Element numbers = quantization.numbers;
  for (unsigned position : getOrder(numbers->indices.size(), quantization.width))
    indices.push_back(numbers->indices[position]);
  return emitLoad(b, elements, elements.load(op.getCodes(), indices), dims, user);
}

//===----------------------------------------------------------------------===//
// Dequantise
//===----------------------------------------------------------------------===//

/// Whether a tensor holds scales of tokens: a cache, or what is computed for one.
static bool isOfTokens(Value tensor) {
  if (auto argument = dyn_cast<BlockArgument>(tensor)) {
    auto function = dyn_cast<func::FuncOp>(argument.getOwner()->getParentOp());
    return function && function.getArgAttr(argument.getArgNumber(), kCacheName);
  }
  return isa<QuantizeOp, tensor::ConcatOp, tensor::InsertSliceOp>(tensor.getDefiningOp()) ||
         isCached(tensor);
}

/// Of a tensor of codes: which dimension is the width, how scales vary, and along it.
static std::optional<QuantizationElements>
describeCodes(Elements &elements, const DequantizationElements &dequantization,
              RaiseFailure &why) {
  IndexSpace &space = elements.getSpace();
  MLIRContext *context = space.getContext();
  auto fail = [&](const Twine &reason) {
    why.reason = reason.str();
    return std::nullopt;
  };
  QuantizationElements result;
  result.numbers = dequantization.codes;
  Value tensor = dequantization.codes->tensor;
  auto type = cast<RankedTensorType>(tensor.getType());
  result.element = type.getElementType();
  // Whole numbers with a zero point are of 4 bits.
  if (dequantization.zero && result.element.isInteger(8))
    result.element = IntegerType::get(context, 4);
  if (type.getRank() < 1)
    return fail("codes have no width");
  result.width = type.getRank() - 1;
  auto hasWidth = [&] {
    return !type.isDynamicDim(result.width) && type.getDimSize(result.width) > 0;
  };
  static constexpr StringLiteral kNoWidth = "the width of the codes is not static, or 0";
  if (!dequantization.scale) {
    if (!hasWidth())
      return fail(kNoWidth);
    return result;
  }
  std::optional<double> number = elements.evaluate(dequantization.scale);
  bool hasZero = dequantization.zero != nullptr;
  if (number) {
    auto rounded = static_cast<float>(*number);
    if (!hasWidth())
      return fail(kNoWidth);
    if (hasZero || !(rounded > 0) || !std::isfinite(rounded))
      return fail("a constant scale has a zero point, or is not above 0");
    auto f32 = Float32Type::get(context);
    result.scale = ScaleAttr::get(context, f32, ScaleScheme::Tensor, 0, /*isStatic=*/true,
                                  /*zeroPoint=*/false, FloatAttr::get(f32, rounded));
  } else {
    result.staticScale = followScale(elements, dequantization.scale, isCached);
    Element scale = result.staticScale;
    bool varies = false;
    SmallVector<bool> isMapped(type.getRank());
    for (Expr index : scale->indices) {
      if (space.areEqual(index, space.constant(0)))
        continue;
      varies = true;
      for (auto [position, own] : llvm::enumerate(dequantization.codes->indices))
        if (space.areEqual(index, own))
          isMapped[position] = true;
    }
    // The last dimension that scales do not vary along, but by group.
    std::optional<unsigned> width;
    for (int64_t position = 0; position < type.getRank(); ++position)
      if (!isMapped[position] && !type.isDynamicDim(position) && type.getDimSize(position) > 1)
        width = position;
    if (!width)
      return fail("scales vary along the width");
    result.width = *width;
    int64_t group = 0, size = type.getDimSize(*width);
    for (int64_t count : {32, 64, 128}) {
      Expr index = space.simplify(dequantization.codes->indices[*width].floorDiv(count));
      if (size > count &&
          llvm::any_of(scale->indices, [&](Expr at) { return space.areEqual(at, index); })) {
        group = count;
        result.group = index;
      }
    }
    bool isDynamic = scale->kind == ElementKind::Load && isOfTokens(scale->tensor);
    Type elementType = getElementTypeOrSelf(scale->tensor.getType());
    if (!isa<Float32Type, Float16Type>(elementType))
      return fail(llvm::formatv("expected scales of f32 or f16, got {0}", elementType).str());
    ScaleScheme scheme = group       ? ScaleScheme::Group
                         : isDynamic ? ScaleScheme::Token
                         : varies    ? ScaleScheme::Head
                                     : ScaleScheme::Tensor;
    result.scale =
        ScaleAttr::get(context, elementType, scheme, group, !isDynamic, hasZero, FloatAttr());
  }
  return result;
}

Value kvc::buildDequantize(OpBuilder &b, Elements &elements,
                           const DequantizationElements &dequantization, ArrayRef<Expr> dims,
                           Type elementType, Operation *user, RaiseFailure &why) {
  OpBuilder::InsertionGuard guard(b);
  IndexSpace &space = elements.getSpace();
  SmallVector<Expr> indices;
  Value codes;
  SmallVector<Value> scales;
  QuantizationElements form;
  if (dequantization.quantization) {
    form = *dequantization.quantization;
    QuantizeOp op = buildQuantize(b, elements, form);
    if (!op) {
      why.reason = "sizes are not known before it";
      return {};
    }
    codes = op.getCodes();
    llvm::append_range(scales, op.getStaticScales());
    llvm::append_range(scales, op.getScales());
  } else {
    std::optional<QuantizationElements> described =
        describeCodes(elements, dequantization, why);
    if (!described)
      return {};
    form = *described;
  }
  const Element numbers = form.numbers;
  SmallVector<Expr> all, ordered, own, sizes;
  for (Expr size : elements.getSizes(numbers->tensor))
    all.push_back(space.addDim(size));
  for (unsigned position : getOrder(numbers->indices.size(), form.width)) {
    ordered.push_back(all[position]);
    indices.push_back(numbers->indices[position]);
    own.push_back(numbers->indices[position]);
    sizes.push_back(elements.getSize(numbers->tensor, position));
  }
  if (!codes) {
    codes = emitLoad(b, elements, elements.load(numbers->tensor, all), ordered, user);
    if (!codes) {
      why.reason = "sizes are not known before it";
      return {};
    }
    int64_t width = cast<RankedTensorType>(codes.getType()).getShape().back();
    int64_t count = form.group ? llvm::divideCeil(width, form.scale.getGroup()) : 1;
    for (Element scale : {form.staticScale, dequantization.zero}) {
      if (!scale)
        continue;
      Element leaf = followScale(elements, scale, isCached);
      scales.push_back(emitScales(b, elements, leaf, own, sizes, form.group, count, user, why));
      if (!scales.back())
        return {};
      Type type = getElementTypeOrSelf(scales.back().getType());
      if (type != form.scale.getElementType()) {
        why.reason = "scales and zero points are of two types";
        return {};
      }
    }
  }
  b.setInsertionPoint(user);
  auto type = cast<RankedTensorType>(codes.getType()).clone(elementType);
  Value result =
      DequantizeOp::create(b, user->getLoc(), type, codes, scales, form.element, form.scale);
  return emitLoad(b, elements, elements.load(result, indices), dims, user);
}
