//===- MatchQuantization.cpp - codes by what their elements are -----------===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Compares what a model computes with what `#kvc.scale` means, rounding by rounding: other
// codes in the cache would be other numbers in the attention.
//===----------------------------------------------------------------------===//
#include "QuantizationElements.h"

#include "llvm/Support/Format.h"

#include <cmath>

using namespace mlir;
using namespace kvc;

using Expr = Elements::Expr;

namespace {
class CodeMatcher {
public:
  CodeMatcher(Elements &elements, Type type, bool isSplit, QuantizationTolerance tolerance,
              RaiseFailure &why)
      : elements(elements), space(elements.getSpace()), type(type), isSplit(isSplit),
        tolerance(tolerance), why(why) {}

  std::optional<QuantizationElements> match(Element code);

private:
  bool fail(const Twine &reason) {
    if (why.reason.empty())
      why.reason = reason.str();
    return false;
  }
  /// Something that is not as `#kvc.scale` says, and may be let pass.
  bool differ(bool isAllowed, const Twine &reason) { return isAllowed || fail(reason); }

  std::optional<double> getNumber(Element element) { return elements.evaluate(element); }
  bool stripCode(Element &element);
  bool stripSelect(Element &element);
  bool stripBound(Element &element);
  bool matchDivision(Element quotient);
  bool matchScale(Element divisor);
  bool matchComputedScale(Element quotient, Element numbers);
  bool matchZeroPoint(Element difference, Element numerator);
  bool matchStaticScale(Element divisor, Element numbers);
  std::optional<double> matchLargestCode(Element quotient, Element &largest);
  bool chooseElement(double divisor);
  bool checkBounds(double low, double high);
  bool matchReduced(Element reduced, Element body, Element numbers);
  Element skipGuard(Element scale);

  Elements &elements;
  IndexSpace &space;
  Type type;
  bool isSplit;
  QuantizationTolerance tolerance;
  RaiseFailure &why;

  QuantizationElements result;
  double low = -INFINITY, high = INFINITY;
  bool isRounded = false, isConverted = false;
  Type smallFloat;
  Type scaleType;
};
} // namespace

static bool isMax(Element element) {
  return element->is("arith.maximumf") || element->is("arith.maxnumf") ||
         element->is("arith.maxsi");
}

static bool isMin(Element element) {
  return element->is("arith.minimumf") || element->is("arith.minnumf") ||
         element->is("arith.minsi");
}

static Type getConverted(Element element) {
  auto type = dyn_cast_or_null<TypeAttr>(element->predicate);
  return type ? type.getValue() : Type();
}

static std::string toText(double value) {
  std::string text;
  llvm::raw_string_ostream(text) << llvm::format("%g", value);
  return text;
}

static std::string toText(Type type) { return llvm::formatv("{0}", type).str(); }

/// The loads that one goes through, from itself back.
static SmallVector<Element> getLoads(Elements &elements, Element element) {
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

//===----------------------------------------------------------------------===//
// Codes
//===----------------------------------------------------------------------===//

/// max or min with a number.
bool CodeMatcher::stripBound(Element &element) {
  for (unsigned i : {1, 0})
    if (std::optional<double> bound = getNumber(element->operands[i])) {
      if (isMax(element))
        low = std::max(low, *bound);
      else
        high = std::min(high, *bound);
      element = element->operands[1 - i];
      return true;
    }
  return false;
}

/// A bound by a comparison, or a guard where the scale is 0.
bool CodeMatcher::stripSelect(Element &element) {
  Element condition = elements.resolve(element->operands[0]);
  if (!condition->is("arith.cmpf") && !condition->is("arith.cmpi"))
    return false;
  for (unsigned i : {1, 2}) {
    std::optional<double> number = getNumber(element->operands[i]);
    Element other = element->operands[3 - i];
    if (!number)
      continue;
    // x > c ? c : x and so on: the comparison is of these two.
    std::optional<double> left = getNumber(condition->operands[0]),
                          right = getNumber(condition->operands[1]);
    if (left == number || right == number) {
      Element compared = condition->operands[right == number ? 0 : 1];
      if (elements.areEqual(compared, other)) {
        auto predicate = cast<IntegerAttr>(condition->predicate).getInt();
        bool isFloat = condition->is("arith.cmpf");
        auto is = [&](arith::CmpFPredicate f, arith::CmpFPredicate u, arith::CmpIPredicate n) {
          return isFloat ? predicate == static_cast<int64_t>(f) ||
                               predicate == static_cast<int64_t>(u)
                         : predicate == static_cast<int64_t>(n);
        };
        using F = arith::CmpFPredicate;
        using N = arith::CmpIPredicate;
        bool isAbove = is(F::OGT, F::UGT, N::sgt) || is(F::OGE, F::UGE, N::sge);
        bool isBelow = is(F::OLT, F::ULT, N::slt) || is(F::OLE, F::ULE, N::sle);
        if (!isAbove && !isBelow)
          return false;
        // Whether the number is taken where x is above it.
        bool isUpper = isAbove == (right == number) && i == 1;
        bool isLower = isBelow == (right == number) && i == 1;
        if (i == 2) {
          isUpper = isBelow == (right == number);
          isLower = !isUpper;
        }
        if (isUpper)
          high = std::min(high, *number);
        else if (isLower)
          low = std::max(low, *number);
        element = other;
        return true;
      }
    }
    // Codes of a row of zeros are 0 in any case.
    if (*number == 0 && (left == 0.0 || right == 0.0)) {
      element = other;
      return true;
    }
  }
  return false;
}

/// Goes from a code back to the quotient that is rounded.
bool CodeMatcher::stripCode(Element &element) {
  for (;;) {
    Element resolved = elements.resolve(element);
    // The nearest tensor, where there is nothing but moves.
    if (resolved->kind != ElementKind::Apply)
      return true;
    element = resolved;
    if (element->is("arith.trunci") || element->is("arith.extsi") ||
        element->is("arith.sitofp")) {
      element = element->operands[0];
    } else if (element->is("arith.fptosi")) {
      isConverted = true;
      element = element->operands[0];
    } else if (element->is("arith.truncf")) {
      Type to = getConverted(element);
      bool isSmall = isa<Float8E4M3FNType, Float8E5M2Type>(to);
      if (isSmall && !smallFloat && !isRounded) {
        smallFloat = to;
        isConverted = true;
      } else if (isConverted || isRounded) {
        return fail("codes are rounded to " + toText(to) + " on the way");
      } else {
        return false;
      }
      element = element->operands[0];
    } else if (isMax(element) || isMin(element)) {
      if (!stripBound(element))
        return false;
    } else if (element->is("arith.select")) {
      if (!stripSelect(element))
        return false;
    } else if (element->is("math.roundeven") && !isRounded && !smallFloat) {
      isRounded = true;
      element = element->operands[0];
    } else if (element->is("math.round") && !isRounded && isConverted) {
      if (!differ(tolerance.rounding, "codes are rounded half away from 0, and not to even"))
        return false;
      isRounded = true;
      element = element->operands[0];
    } else {
      return true;
    }
  }
}

bool CodeMatcher::checkBounds(double from, double to) {
  // Of scales that are computed no quotient is beyond the largest code.
  bool isComputed = !result.scale || !result.scale.getIsStatic();
  if (result.scale && isComputed) {
    if (low <= from && high >= to)
      return true;
    return fail("codes are clamped from " + toText(low) + " to " + toText(high) +
                ", and not from " + toText(from) + " to " + toText(to));
  }
  if (low == from && high == to)
    return true;
  if (std::isinf(low) && std::isinf(high))
    return differ(tolerance.rounding, "codes are not clamped from " + toText(from) + " to " +
                                          toText(to) + " before they are converted");
  bool isNear = low >= from - 1 && low <= from && high <= to + 1 && high >= to;
  return differ(tolerance.rounding && isNear, "codes are clamped from " + toText(low) + " to " +
                                                  toText(high) + ", and not from " +
                                                  toText(from) + " to " + toText(to));
}

//===----------------------------------------------------------------------===//
// Scales
//===----------------------------------------------------------------------===//

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

std::optional<QuantizationElements> CodeMatcher::match(Element code) {
  elements.resetBudget();
  bool isWhole = stripCode(code);
  if (!isWhole)
    return std::nullopt;
  if (!isConverted && !isRounded)
    return std::nullopt;
  if (smallFloat && code->kind == ElementKind::Load && !code->indices.empty()) {
    // Converted as it is.
    result.numbers = code;
    result.element = smallFloat;
    result.width = code->indices.size() - 1;
  } else {
    if (isConverted && !smallFloat && !isRounded) {
      if (code->is("arith.divf"))
        fail("codes are cut off towards 0, and not rounded to even");
      return std::nullopt;
    }
    if (!matchDivision(code))
      return std::nullopt;
  }
  result.storage = isQuantized(type) ? type : result.element;
  double largest = getLargestCode(result.element);
  bool hasZero = result.scale && result.scale.getZeroPoint();
  double from = result.biased ? 0 : hasZero ? -largest - 1 : -largest;
  if (!checkBounds(from, result.biased ? 15 : largest))
    return std::nullopt;
  // Of 16 bits they take less until they are codes.
  auto getBits = [](Element load) {
    return getElementTypeOrSelf(load->tensor.getType()).getIntOrFloatBitWidth();
  };
  for (;;) {
    Element narrow = elements.expand(result.numbers);
    if (!narrow || narrow->kind != ElementKind::Load ||
        narrow->indices != result.numbers->indices ||
        getBits(narrow) >= getBits(result.numbers) || getBits(narrow) < 16)
      break;
    result.numbers = narrow;
  }
  auto numbers = cast<RankedTensorType>(result.numbers->tensor.getType());
  if (!isa<Float32Type, Float16Type, BFloat16Type>(numbers.getElementType())) {
    fail("expected numbers of f32, f16 or bf16, got " + toText(numbers.getElementType()));
    return std::nullopt;
  }
  if (numbers.isDynamicDim(result.width) || numbers.getDimSize(result.width) < 1) {
    fail("the width of the numbers is not static, or 0");
    return std::nullopt;
  }
  return result;
}

std::optional<QuantizationElements> kvc::matchQuantization(Elements &elements, Element code,
                                                           Type type, bool isSplit,
                                                           QuantizationTolerance tolerance,
                                                           RaiseFailure &why) {
  return CodeMatcher(elements, type, isSplit, tolerance, why).match(code);
}

//===----------------------------------------------------------------------===//
// Numbers
//===----------------------------------------------------------------------===//

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
