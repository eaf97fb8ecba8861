//===- MatchQuantization.cpp - codes by what their elements are -----------===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "CodeMatcher.h"

using namespace mlir;
using namespace kvc;

static bool isMin(Element element) {
  return element->is("arith.minimumf") || element->is("arith.minnumf") ||
         element->is("arith.minsi");
}

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
