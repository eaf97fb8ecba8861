//===- CodeMatcher.h - what matches a code and its scale --------*- C++ -*-===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef KVC_LIB_DIALECT_KVC_TRANSFORMS_CODEMATCHER_H
#define KVC_LIB_DIALECT_KVC_TRANSFORMS_CODEMATCHER_H

#include "QuantizationElements.h"

#include "llvm/Support/Format.h"
#include "llvm/Support/FormatVariadic.h"

#include <cmath>

namespace kvc {

/// Compares what a model computes with what `#kvc.scale` means, rounding by rounding: other
/// codes in the cache would be other numbers in the attention.
class CodeMatcher {
public:
  CodeMatcher(Elements &elements, mlir::Type type, bool isSplit,
              QuantizationTolerance tolerance, RaiseFailure &why)
      : elements(elements), space(elements.getSpace()), type(type), isSplit(isSplit),
        tolerance(tolerance), why(why) {}

  std::optional<QuantizationElements> match(Element code);

private:
  bool fail(const llvm::Twine &reason) {
    if (why.reason.empty())
      why.reason = reason.str();
    return false;
  }
  /// Something that is not as `#kvc.scale` says, and may be let pass.
  bool differ(bool isAllowed, const llvm::Twine &reason) { return isAllowed || fail(reason); }

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
  mlir::Type type;
  bool isSplit;
  QuantizationTolerance tolerance;
  RaiseFailure &why;

  QuantizationElements result;
  double low = -INFINITY, high = INFINITY;
  bool isRounded = false, isConverted = false;
  mlir::Type smallFloat;
  mlir::Type scaleType;
};

inline bool isMax(Element element) {
  return element->is("arith.maximumf") || element->is("arith.maxnumf") ||
         element->is("arith.maxsi");
}

/// The type that a conversion converts to, or null.
inline mlir::Type getConverted(Element element) {
  auto type = mlir::dyn_cast_or_null<mlir::TypeAttr>(element->predicate);
  return type ? type.getValue() : mlir::Type();
}

inline std::string toText(double value) {
  std::string text;
  llvm::raw_string_ostream(text) << llvm::format("%g", value);
  return text;
}

inline std::string toText(mlir::Type type) { return llvm::formatv("{0}", type).str(); }

/// The loads that one goes through, from itself back.
llvm::SmallVector<Element> getLoads(Elements &elements, Element element);

} // namespace kvc

#endif // KVC_LIB_DIALECT_KVC_TRANSFORMS_CODEMATCHER_H
