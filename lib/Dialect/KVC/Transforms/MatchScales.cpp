//===- MatchScales.cpp - scales of codes by what their elements are -------===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "CodeMatcher.h"

using namespace mlir;
using namespace kvc;

using Expr = Elements::Expr;

SmallVector<Element> kvc::getLoads(Elements &elements, Element element) {
  SmallVector<Element> loads;
  while (element && element->kind == ElementKind::Load) {
    loads.push_back(element);
    element = elements.expand(element);
  }
  return loads;
}

Element kvc::followScale(Elements &elements, Element scale, function_ref<bool(Value)> stop) {
  Element leaf = elements.followMoves(scale, stop);
  if (leaf->kind != ElementKind::Load || (stop && stop(leaf->tensor)))
    return leaf;
  Element expanded = elements.expand(leaf);
  return expanded && expanded->kind == ElementKind::Scalar ? expanded : leaf;
}

/// What a guard against division by 0 lets pass, or null.
Element CodeMatcher::skipGuard(Element scale) {
  if (isMax(scale)) {
    for (unsigned i : {1, 0})
      if (std::optional<double> least = getNumber(scale->operands[i])) {
        if (!(*least > 0) ||
            !differ(tolerance.rounding, "a scale is at least " + toText(*least) +
                                            ", and not 0 where all numbers are"))
          return nullptr;
        return scale->operands[1 - i];
      }
    return nullptr;
  }
  if (scale->is("arith.addf"))
    for (unsigned i : {1, 0})
      if (std::optional<double> added = getNumber(scale->operands[i])) {
        if (!differ(tolerance.rounding, toText(*added) + " is added to a scale"))
          return nullptr;
        return scale->operands[1 - i];
      }
  if (!scale->is("arith.select"))
    return nullptr;
  Element condition = elements.resolve(scale->operands[0]);
  if (!condition->is("arith.cmpf"))
    return nullptr;
  // Compared with 0, and something else where it is.
  for (unsigned i : {0, 1}) {
    if (getNumber(condition->operands[i]) != 0.0)
      continue;
    for (unsigned branch : {1, 2})
      if (getNumber(scale->operands[branch]))
        return scale->operands[3 - branch];
  }
  return nullptr;
}

bool CodeMatcher::chooseElement(double divisor) {
  MLIRContext *context = space.getContext();
  Type candidates[] = {IntegerType::get(context, 8), IntegerType::get(context, 4),
                       Float8E4M3FNType::get(context), Float8E5M2Type::get(context)};
  Type nearest;
  for (Type candidate : candidates) {
    bool isSmall = isa<FloatType>(candidate);
    if (isSmall != (smallFloat != nullptr) || (isSmall && candidate != smallFloat))
      continue;
    // Codes of 4 bits may be in tensors of more.
    if (type.isInteger(4) && !candidate.isInteger(4))
      continue;
    double largest = getLargestCode(candidate);
    if (divisor == largest) {
      result.element = candidate;
      return true;
    }
    if (!nearest || std::abs(divisor - largest) < std::abs(divisor - getLargestCode(nearest)))
      nearest = candidate;
  }
  double largest = getLargestCode(nearest);
  result.element = nearest;
  bool isNear = divisor >= 0.5 * largest && divisor <= 1.2 * largest;
  return differ(tolerance.rounding && isNear, "a scale is the largest magnitude divided by " +
                                                  toText(divisor) + ", and not by " +
                                                  toText(largest));
}

/// Whether all elements of a tensor are read, but for the dimension `width`.
static bool isWhole(Elements &elements, Element load, unsigned width) {
  IndexSpace &space = elements.getSpace();
  for (auto [position, index] : llvm::enumerate(load->indices)) {
    Expr size = elements.getSize(load->tensor, position);
    bool isDim = isa<AffineDimExpr>(index) && space.areEqual(space.getExtent(index), size);
    if (position != width && !isDim && size != space.constant(1))
      return false;
  }
  return true;
}

/// Whether `reduced` is over a row, or a group of one, of what `numbers` is an element of.
/// `body` is of it what is one number.
bool CodeMatcher::matchReduced(Element reduced, Element body, Element numbers) {
  SmallVector<Expr> dims;
  for (Expr dim : reduced->dims)
    if (space.getExtent(dim) != space.constant(1))
      dims.push_back(dim);
  if (dims.size() != 1)
    return fail("a scale is of " + Twine(dims.size()) + " dimensions, and not of the width");
  Expr dim = dims.front();
  SmallVector<Element> own = getLoads(elements, numbers), others = getLoads(elements, body);
  // A zero point is of the same numbers as the scale.
  const QuantizationElements before = result;
  bool isFound = false, isGroup = false;
  for (Element load : own)
    for (Element other : others) {
      if (load->tensor != other->tensor || isGroup)
        continue;
      std::optional<unsigned> width;
      bool isSame = true;
      for (unsigned i = 0; i < load->indices.size(); ++i) {
        if (!space.contains(other->indices[i], dim)) {
          isSame &= space.areEqual(load->indices[i], other->indices[i]);
          continue;
        }
        isSame &= !width;
        width = i;
      }
      if (!isSame || !width || !isWhole(elements, load, *width))
        continue;
      Expr size = elements.getSize(load->tensor, *width), extent = space.getExtent(dim);
      Expr group;
      if (!space.areEqual(other->indices[*width], dim) || !space.areEqual(size, extent)) {
        auto constant = dyn_cast<AffineConstantExpr>(extent);
        int64_t count = constant ? constant.getValue() : 0;
        if (count != 32 && count != 64 && count != 128)
          continue;
        group = space.simplify(load->indices[*width].floorDiv(count));
        if (!space.areEqual(other->indices[*width], group * count + dim))
          continue;
        // Heads next to each other look like groups.
        if (!isSplit && !isa<AffineDimExpr>(load->indices[*width]))
          continue;
      }
      bool isSameAsBefore = before.numbers && before.numbers->tensor == load->tensor &&
                            before.width == *width && before.group == group;
      if ((before.numbers && !isSameAsBefore) || (isFound && !group))
        continue;
      result.numbers = load;
      result.width = *width;
      result.group = group;
      isFound = true;
      isGroup = group != nullptr;
    }
  return isFound || fail("a scale is of other numbers than those that become codes, or of "
                         "groups that are not of 32, 64 or 128");
}

/// The number that the largest magnitude is divided by, and that magnitude.
std::optional<double> CodeMatcher::matchLargestCode(Element quotient, Element &largest) {
  if (quotient->is("arith.divf"))
    if (std::optional<double> number = getNumber(quotient->operands[1])) {
      largest = elements.resolve(quotient->operands[0]);
      return number;
    }
  if (quotient->is("arith.mulf"))
    for (unsigned i : {1, 0})
      if (std::optional<double> factor = getNumber(quotient->operands[i]);
          factor && *factor != 0) {
        largest = elements.resolve(quotient->operands[1 - i]);
        // The number whose reciprocal it was, if it is a whole one.
        double inverse = 1 / *factor, whole = std::round(inverse);
        return std::abs(inverse - whole) <= 1e-6 * std::abs(inverse) ? whole : inverse;
      }
  return std::nullopt;
}

bool CodeMatcher::matchComputedScale(Element quotient, Element numbers) {
  Element largest = nullptr;
  std::optional<double> divisor = matchLargestCode(quotient, largest);
  if (!divisor)
    return false;
  bool isProduct = quotient->is("arith.mulf");
  Element guarded = largest;
  if (isMax(largest)) {
    Element inner = skipGuard(largest);
    Element reduced = inner ? elements.resolve(inner) : nullptr;
    if (!reduced || reduced->kind != ElementKind::Reduce)
      return false;
    guarded = reduced;
  }
  if (guarded->is("arith.truncf"))
    return fail("the largest magnitude is rounded to " + toText(getConverted(guarded)));
  if (guarded->kind != ElementKind::Reduce)
    return false;
  if (!guarded->isReduce("arith.maximumf") && !guarded->isReduce("arith.maxnumf"))
    return fail("a scale is not of the largest magnitude");
  if (isProduct && !differ(tolerance.reciprocal,
                           "the largest magnitude is multiplied by a reciprocal, and not "
                           "divided by the largest code"))
    return false;
  Element body = elements.resolve(guarded->operands[0]);
  if (!body->is("math.absf"))
    return fail("a scale is of the largest number, and not of the largest magnitude");
  std::optional<double> start = getNumber(guarded->operands[1]);
  if (!start || *start > 0)
    return fail("the largest magnitude is not looked for from 0 or below on");
  return chooseElement(*divisor) && matchReduced(guarded, body->operands[0], numbers);
}

/// (max - min) / 15, where numbers are less a zero point.
bool CodeMatcher::matchZeroPoint(Element scale, Element numerator) {
  MLIRContext *context = space.getContext();
  auto isReduced = [&](Element element, StringRef name, StringRef other) {
    return element->isReduce(name) || element->isReduce(other);
  };
  auto matchRange = [&](Element difference, bool isDivided, Element &max, Element &min) {
    if (!difference->is("arith.subf"))
      return false;
    Element ends[2];
    for (unsigned i : {0, 1}) {
      ends[i] = elements.resolve(difference->operands[i]);
      if (!isDivided)
        continue;
      if (!ends[i]->is("arith.divf") || getNumber(ends[i]->operands[1]) != 15.0)
        return false;
      ends[i] = elements.resolve(ends[i]->operands[0]);
    }
    max = ends[0];
    min = ends[1];
    return isReduced(max, "arith.maximumf", "arith.maxnumf") &&
           isReduced(min, "arith.minimumf", "arith.minnumf");
  };
  Element max = nullptr, min = nullptr;
  bool isExact = matchRange(scale, /*isDivided=*/true, max, min);
  if (!isExact) {
    if (!scale->is("arith.divf") || getNumber(scale->operands[1]) != 15.0 ||
        !matchRange(elements.resolve(scale->operands[0]), /*isDivided=*/false, max, min))
      return false;
    if (!differ(tolerance.rounding, "a scale is the difference of largest and smallest number "
                                    "divided by 15, and not that of their 15ths"))
      return false;
  }
  std::optional<double> maxStart = getNumber(max->operands[1]),
                        minStart = getNumber(min->operands[1]);
  if (!maxStart || !minStart || *maxStart > -3e38 || *minStart < 3e38)
    return fail("the largest and smallest number are not looked for from infinity on");
  numerator = elements.resolve(numerator);
  if (!numerator->is("arith.subf"))
    return fail("no zero point is subtracted from the numbers");
  Element numbers = numerator->operands[0], zero = numerator->operands[1];
  // The tensors that hold it.
  Element at = zero;
  for (;;) {
    at = elements.followMoves(at);
    if (at->kind == ElementKind::Load) {
      Element expanded = elements.expand(at);
      if (!expanded)
        return fail("the zero point is not computed of the numbers");
      result.zeros.push_back(at);
      at = expanded;
    }
    if (at->is("arith.truncf") && getConverted(at).isF16() && scaleType && scaleType.isF16())
      at = elements.resolve(at->operands[0]);
    else
      break;
  }
  result.biased = elements.areEqual(at, min);
  if (!result.biased) {
    // min + 8 * scale, in this order or another.
    bool isZero = false;
    if (at->is("arith.addf"))
      for (unsigned i : {0, 1}) {
        Element product = elements.resolve(at->operands[1 - i]);
        if (!product->is("arith.mulf") ||
            !elements.areEqual(elements.resolve(at->operands[i]), min))
          continue;
        for (unsigned j : {0, 1})
          isZero |= getNumber(product->operands[j]) == 8.0 &&
                    elements.areEqual(product->operands[1 - j], result.divisor);
      }
    if (!isZero)
      return fail("the zero point is not the smallest number plus 8 scales");
  } else if (!differ(tolerance.rounding,
                     "the zero point is the smallest number, and codes count from 0")) {
    return false;
  }
  result.element = IntegerType::get(context, 4);
  return matchReduced(max, max->operands[0], numbers) &&
         matchReduced(min, min->operands[0], numbers);
}

/// One that does not depend on the numbers.
bool CodeMatcher::matchStaticScale(Element divisor, Element numbers) {
  MLIRContext *context = space.getContext();
  for (Element load : getLoads(elements, numbers)) {
    result.numbers = load;
    break;
  }
  if (!result.numbers || result.numbers->indices.empty())
    return fail("the numbers are not a tensor of their own");
  result.width = result.numbers->indices.size() - 1;
  if (!isWhole(elements, result.numbers, result.width))
    return fail("the numbers are a part of a tensor, or repeat it");
  // The element is what the bounds say.
  if (smallFloat)
    result.element = smallFloat;
  else if (type.isInteger(4) || (high <= 8 && low >= -9))
    result.element = IntegerType::get(context, 4);
  else
    result.element = IntegerType::get(context, 8);
  std::optional<double> number = getNumber(divisor);
  FloatAttr constant;
  Type elementType = Float32Type::get(context);
  ScaleScheme scheme = ScaleScheme::Tensor;
  if (number) {
    auto rounded = static_cast<float>(*number);
    if (!(rounded > 0) || !std::isfinite(rounded))
      return fail("a constant scale is not above 0");
    constant = FloatAttr::get(elementType, rounded);
  } else {
    Element leaf = followScale(elements, divisor);
    if (leaf->kind != ElementKind::Load && leaf->kind != ElementKind::Scalar)
      return fail("a scale is neither of the largest magnitude, nor read from a tensor");
    elementType = getElementTypeOrSelf(leaf->tensor.getType());
    if (!isa<Float32Type, Float16Type>(elementType))
      return fail("expected scales of f32 or f16, got " + toText(elementType));
    result.staticScale = leaf;
    for (auto [position, index] : llvm::enumerate(leaf->indices)) {
      if (index == space.constant(0))
        continue;
      scheme = ScaleScheme::Head;
      bool isHead = false;
      for (auto [own, numberIndex] : llvm::enumerate(result.numbers->indices))
        isHead |= own != result.width && space.areEqual(index, numberIndex) &&
                  isa<AffineConstantExpr>(elements.getSize(result.numbers->tensor, own));
      if (!isHead)
        return fail("a scale is neither of the largest magnitude, nor the same for all "
                    "tokens");
    }
  }
  result.scale = ScaleAttr::get(context, elementType, scheme, /*group=*/0, /*isStatic=*/true,
                                /*zeroPoint=*/false, constant);
  return true;
}

bool CodeMatcher::matchDivision(Element quotient) {
  Element numbers = nullptr;
  if (quotient->is("arith.divf")) {
    numbers = quotient->operands[0];
    result.divisor = quotient->operands[1];
  } else if (quotient->is("arith.mulf")) {
    for (unsigned i : {1, 0}) {
      Element inverse = elements.resolve(quotient->operands[i]);
      std::optional<double> number = getNumber(inverse);
      if (!number && !(inverse->is("arith.divf") && getNumber(inverse->operands[0]) == 1.0))
        continue;
      if (!differ(tolerance.reciprocal,
                  "numbers are multiplied by the reciprocal of a scale, and not divided by it"))
        return false;
      numbers = quotient->operands[1 - i];
      result.divisor = number ? elements.number(1 / *number) : inverse->operands[1];
      break;
    }
  }
  if (!numbers)
    return (isRounded || (isConverted && smallFloat)) &&
           fail("what becomes codes is not divided by a scale");
  // Back through tensors that hold the scale, and guards, to what computes it.
  MLIRContext *context = space.getContext();
  Element at = result.divisor;
  SmallVector<Element> holders;
  bool isComputed = false, hasZero = false;
  for (;;) {
    at = elements.followMoves(at);
    if (at->kind == ElementKind::Load) {
      Element expanded = elements.expand(at);
      if (!expanded)
        break;
      if (!scaleType)
        holders.push_back(at);
      at = expanded;
    }
    if (at->is("arith.truncf")) {
      if (scaleType || !getConverted(at).isF16())
        return fail("a scale is rounded to " + toText(getConverted(at)) +
                    ", and not to f32 or f16");
      scaleType = getConverted(at);
      at = at->operands[0];
      continue;
    }
    if (at->is("arith.subf") ||
        (at->is("arith.divf") && elements.resolve(at->operands[0])->is("arith.subf"))) {
      hasZero = isComputed = matchZeroPoint(at, numbers);
      if (!isComputed)
        return fail("a scale is computed of a difference that is not that of the largest and "
                    "the smallest number");
      break;
    }
    isComputed = matchComputedScale(at, numbers);
    if (isComputed || !why.reason.empty())
      break;
    Element inner = skipGuard(at);
    if (!inner)
      break;
    at = inner;
  }
  if (!why.reason.empty())
    return false;
  if (!isComputed) {
    scaleType = Type();
    return matchStaticScale(result.divisor, numbers);
  }
  result.scales = holders;
  if (!scaleType)
    scaleType = Float32Type::get(context);
  int64_t group = 0;
  if (result.group) {
    // Of which all but the last have the same elements.
    Expr size = elements.getSize(result.numbers->tensor, result.width);
    auto width = dyn_cast<AffineConstantExpr>(size);
    for (int64_t count : {32, 64, 128})
      if (width &&
          space.areEqual(result.group, result.numbers->indices[result.width].floorDiv(count)))
        group = count;
    if (group == 0)
      return fail("expected a static width of groups of 32, 64 or 128");
  }
  result.scale =
      ScaleAttr::get(context, scaleType, group ? ScaleScheme::Group : ScaleScheme::Token, group,
                     /*isStatic=*/false, hasZero, FloatAttr());
  return true;
}
