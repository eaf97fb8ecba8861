//===- MatchDequantization.cpp - numbers that are codes and scales --------===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "CodeMatcher.h"

using namespace mlir;
using namespace kvc;

/// A load of codes, if the element is one as a number.
static Element findCodes(Elements &elements, Element number) {
  SmallVector<Element> loads = getLoads(elements, number);
  for (Element load : loads)
    if (isa<Float8E4M3FNType, Float8E5M2Type>(getElementTypeOrSelf(load->tensor.getType())))
      return load;
  Element resolved = elements.resolve(number);
  if (!resolved->is("arith.sitofp"))
    return nullptr;
  // Whole numbers of more bits may come of fewer.
  Element at = resolved->operands[0];
  for (;;) {
    for (Element load : getLoads(elements, at)) {
      Type type = getElementTypeOrSelf(load->tensor.getType());
      if (type.isInteger(8) || type.isInteger(4))
        return load;
    }
    at = elements.resolve(at);
    if (!at->is("arith.extsi"))
      return nullptr;
    at = at->operands[0];
  }
}

static bool isScale(Elements &elements, Element element) {
  if (elements.evaluate(element))
    return true;
  Element leaf = followScale(elements, element);
  return leaf->kind == ElementKind::Scalar ||
         (leaf->kind == ElementKind::Load &&
          isa<Float32Type, Float16Type>(getElementTypeOrSelf(leaf->tensor.getType())));
}

std::optional<DequantizationElements>
kvc::matchDequantization(Elements &elements, Element number, Type type, bool isSplit,
                         QuantizationTolerance tolerance, RaiseFailure &why) {
  elements.resetBudget();
  DequantizationElements result;
  Element at = elements.resolve(number);
  // Rounded once, at the end.
  if (at->is("arith.truncf") && getConverted(at) == type)
    at = elements.resolve(at->operands[0]);
  if (at->kind == ElementKind::Load) {
    result.codes = findCodes(elements, number);
    if (!result.codes)
      return std::nullopt;
    return result;
  }
  auto matchProduct = [&](Element product) {
    if (!product->is("arith.mulf"))
      return false;
    for (unsigned i : {0, 1}) {
      Element codes = product->operands[i], scale = product->operands[1 - i];
      result.codes = findCodes(elements, codes);
      if (result.codes && isScale(elements, scale)) {
        result.scale = scale;
        return true;
      }
      // Codes that are in no tensor: of these the scale is what numbers are divided by.
      Element resolved = elements.resolve(codes);
      if (result.codes || resolved->kind != ElementKind::Apply)
        continue;
      RaiseFailure inner;
      std::optional<QuantizationElements> quantization =
          matchQuantization(elements, codes, type, isSplit, tolerance, inner);
      if (!quantization) {
        if (why.reason.empty())
          why = inner;
        continue;
      }
      bool isSame = quantization->scale && elements.areEqual(quantization->divisor, scale);
      if (quantization->scale && !isSame) {
        Element leaf = elements.followMoves(scale);
        for (Element holder : quantization->scales)
          isSame |= elements.areEqual(holder, leaf);
      }
      if (!isSame) {
        why.reason = "codes are multiplied by another scale than numbers are divided by";
        continue;
      }
      result.quantization = quantization;
      result.scale = scale;
      return true;
    }
    return false;
  };
  if (at->is("arith.addf"))
    for (unsigned i : {0, 1}) {
      Element product = elements.resolve(at->operands[i]), zero = at->operands[1 - i];
      if (!matchProduct(product) || !isScale(elements, zero))
        continue;
      result.zero = zero;
      if (!result.quantization)
        return result;
      // The zero point that was subtracted.
      Element leaf = elements.followMoves(zero);
      for (Element holder : result.quantization->zeros)
        if (elements.areEqual(holder, leaf))
          return result;
      why.reason = "another zero point is added than was subtracted";
      return std::nullopt;
    }
  if (!matchProduct(at))
    return std::nullopt;
  if (result.quantization && result.quantization->scale.getZeroPoint()) {
    why.reason = "the zero point is not added again";
    return std::nullopt;
  }
  why.reason.clear();
  return result;
}
