//===- KVCQuantizeOps.cpp - numbers and codes before paging ---------------===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "kvc/Dialect/KVC/IR/KVC.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace kvc;

/// What both operations have: numbers, their codes, and what scales them.
static LogicalResult verifyCodes(Operation *op, RankedTensorType numbers,
                                 RankedTensorType codes, ValueRange scales, Type element,
                                 ScaleAttr scale, bool areStatic) {
  // quantize_c1
  if (failed(ComponentAttr::verify([&] { return op->emitOpError(); },
                                   StringAttr::get(op->getContext(), "codes"), /*heads=*/1,
                                   /*width=*/8, element, Layout::RowMajor, scale)))
    return failure();
  if (!isQuantized(element))
    return op->emitOpError("expected an element type of codes, got ") << element;
  // quantize_c2
  if (failed(verifyCompatibleShape(numbers, codes)))
    return op->emitOpError("expected codes of the shape of ") << numbers << ", got " << codes;
  int64_t rank = codes.getRank();
  if (rank < 1 || codes.isDynamicDim(rank - 1) || numbers.isDynamicDim(rank - 1) ||
      codes.getShape().back() < 1)
    return op->emitOpError("expected a width, the last dimension, that is static and at "
                           "least 1, got ")
           << codes;
  bool isWide = element.isInteger(4) && codes.getElementType().isInteger(8);
  if (codes.getElementType() != element && !isWide)
    return op->emitOpError("expected codes of type ") << element << ", got " << codes;
  // quantize_c3
  bool hasZeros = scale && scale.getZeroPoint();
  size_t count = !scale || scale.getConstant() ? 0 : hasZeros ? 2 : 1;
  if (scales.size() != count)
    return op->emitOpError("expected ")
           << count << " tensors of scales and zero points, got " << scales.size();
  // quantize_c4
  int64_t width = codes.getShape().back(), groups = 1;
  if (scale && scale.getScheme() == ScaleScheme::Group)
    groups = llvm::divideCeil(width, scale.getGroup());
  for (Value value : scales) {
    auto type = cast<RankedTensorType>(value.getType());
    bool isRight = type.getElementType() == scale.getElementType() && type.getRank() == rank &&
                   type.getShape().back() == groups;
    for (int64_t dim = 0; isRight && dim < rank - 1; ++dim) {
      int64_t size = type.getDimSize(dim);
      isRight = (areStatic && size == 1) || ShapedType::isDynamic(size) ||
                codes.isDynamicDim(dim) || size == codes.getDimSize(dim);
    }
    // One scale for all means one element.
    if (isRight && scale.getScheme() == ScaleScheme::Tensor)
      isRight = llvm::all_of(type.getShape(), [](int64_t size) { return size == 1; });
    if (!isRight)
      return op->emitOpError("expected scales of type ")
             << scale.getElementType() << ", with " << groups
             << " along the width and the other dimensions of " << codes << ", got " << type;
  }
  return success();
}

LogicalResult QuantizeOp::verify() {
  bool isStatic = getScaleAttr() && getScaleAttr().getIsStatic();
  // quantize_c5
  if (getBiased() && !(getScaleAttr() && getScaleAttr().getZeroPoint()))
    return emitOpError("expected a scale with zero points for codes that are biased");
  if ((isStatic && !getScales().empty()) || (!isStatic && !getStaticScales().empty()))
    return emitOpError("expected scales to be ")
           << (isStatic ? "operands, as they are static" : "results, as they are not static");
  return verifyCodes(*this, getInput().getType(), getCodes().getType(),
                     isStatic ? ValueRange(getStaticScales()) : ValueRange(getScales()),
                     getElement(), getScaleAttr(), isStatic);
}

LogicalResult DequantizeOp::verify() {
  return verifyCodes(*this, getOutput().getType(), getCodes().getType(), getScales(),
                     getElement(), getScaleAttr(), /*areStatic=*/true);
}
