//===- IndexSpace.cpp - expressions of indices ----------------------------===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "kvc/Analysis/IndexSpace.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

#include <limits>
#include <numeric>

using namespace mlir;
using namespace kvc;

using Expr = IndexSpace::Expr;

/// Terms and factors of an expression that is short.
static constexpr size_t kMaxLength = 64;

//===----------------------------------------------------------------------===//
// Dimensions and symbols
//===----------------------------------------------------------------------===//

Expr IndexSpace::addDim(Expr extent) {
  extents.push_back(simplify(extent));
  return getAffineDimExpr(extents.size() - 1, context);
}

Expr IndexSpace::getExtent(Expr dim) const {
  return simplify(extents[cast<AffineDimExpr>(dim).getPosition()]);
}

Expr IndexSpace::addSymbol() {
  symbolParents.push_back(symbolParents.size());
  return getAffineSymbolExpr(symbolParents.size() - 1, context);
}

Expr IndexSpace::findSymbol(Expr symbol) const {
  unsigned position = cast<AffineSymbolExpr>(symbol).getPosition();
  while (symbolParents[position] != position)
    position = symbolParents[position] = symbolParents[symbolParents[position]];
  return getAffineSymbolExpr(position, context);
}

void IndexSpace::unify(Expr first, Expr second) {
  unsigned a = cast<AffineSymbolExpr>(findSymbol(first)).getPosition();
  unsigned b = cast<AffineSymbolExpr>(findSymbol(second)).getPosition();
  symbolParents[std::max(a, b)] = std::min(a, b);
}

void IndexSpace::learnEqual(Expr first, Expr second) {
  Polynomial difference = expand(first);
  addTo(difference, expand(second), -1);
  if (difference.size() != 2)
    return;
  auto a = *difference.begin(), b = *std::next(difference.begin());
  auto isSymbol = [](ArrayRef<Expr> atoms) {
    return atoms.size() == 1 && isa<AffineSymbolExpr>(atoms[0]);
  };
  if (isSymbol(a.first) && isSymbol(b.first) && a.second == -b.second)
    unify(a.first[0], b.first[0]);
}

//===----------------------------------------------------------------------===//
// Sums of products
//===----------------------------------------------------------------------===//

int IndexSpace::compare(Expr first, Expr second) {
  if (first == second)
    return 0;
  if (first.getKind() != second.getKind())
    return first.getKind() < second.getKind() ? -1 : 1;
  if (auto dim = dyn_cast<AffineDimExpr>(first))
    return dim.getPosition() < cast<AffineDimExpr>(second).getPosition() ? -1 : 1;
  if (auto symbol = dyn_cast<AffineSymbolExpr>(first))
    return symbol.getPosition() < cast<AffineSymbolExpr>(second).getPosition() ? -1 : 1;
  if (auto constant = dyn_cast<AffineConstantExpr>(first))
    return constant.getValue() < cast<AffineConstantExpr>(second).getValue() ? -1 : 1;
  auto a = cast<AffineBinaryOpExpr>(first), b = cast<AffineBinaryOpExpr>(second);
  if (int order = compare(a.getLHS(), b.getLHS()))
    return order;
  return compare(a.getRHS(), b.getRHS());
}

bool IndexSpace::Less::operator()(ArrayRef<Expr> first, ArrayRef<Expr> second) const {
  for (auto [a, b] : llvm::zip(first, second))
    if (int order = compare(a, b))
      return order < 0;
  return first.size() < second.size();
}

/// Indices are integers of 64 bits, and wrap as these do.
static int64_t add(int64_t a, int64_t b) {
  return static_cast<uint64_t>(a) + static_cast<uint64_t>(b);
}
static int64_t multiplyNumbers(int64_t a, int64_t b) {
  return static_cast<uint64_t>(a) * static_cast<uint64_t>(b);
}

void IndexSpace::addTo(Polynomial &sum, const Polynomial &summand, int64_t factor) {
  for (const auto &[atoms, coefficient] : summand) {
    int64_t &own = sum[atoms];
    own = add(own, multiplyNumbers(factor, coefficient));
    if (own == 0)
      sum.erase(atoms);
  }
}

IndexSpace::Polynomial IndexSpace::multiply(const Polynomial &first,
                                            const Polynomial &second) const {
  Polynomial product;
  for (const auto &[a, ca] : first)
    for (const auto &[b, cb] : second) {
      SmallVector<Expr, 2> atoms(a);
      llvm::append_range(atoms, b);
      llvm::sort(atoms, [](Expr x, Expr y) { return compare(x, y) < 0; });
      addTo(product, {{atoms, multiplyNumbers(ca, cb)}});
    }
  return product;
}

IndexSpace::Polynomial IndexSpace::expand(Expr expr) const {
  if (auto constant = dyn_cast<AffineConstantExpr>(expr)) {
    if (constant.getValue() == 0)
      return {};
    return {{{}, constant.getValue()}};
  }
  if (isa<AffineDimExpr>(expr)) {
    Expr extent = extents[cast<AffineDimExpr>(expr).getPosition()];
    if (extent == constant(1))
      return {};
    return {{{expr}, 1}};
  }
  if (isa<AffineSymbolExpr>(expr))
    return {{{findSymbol(expr)}, 1}};
  auto binary = cast<AffineBinaryOpExpr>(expr);
  Polynomial lhs = expand(binary.getLHS()), rhs = expand(binary.getRHS());
  switch (expr.getKind()) {
  case AffineExprKind::Add:
    addTo(lhs, rhs);
    return lhs;
  case AffineExprKind::Mul:
    return multiply(lhs, rhs);
  case AffineExprKind::CeilDiv:
    addTo(lhs, rhs);
    addTo(lhs, {{{}, -1}});
    return divide(lhs, rhs).first;
  case AffineExprKind::FloorDiv:
    return divide(lhs, rhs).first;
  default:
    return divide(lhs, rhs).second;
  }
}

Expr IndexSpace::toExpr(const Polynomial &polynomial) const {
  Expr sum = constant(0);
  for (const auto &[atoms, coefficient] : polynomial) {
    Expr product = constant(coefficient);
    for (Expr atom : atoms) // symbols are last, so that each product is a legal one
      product = atom.isSymbolicOrConstant() ? product * atom : atom * product;
    sum = sum + product;
  }
  return sum;
}

Expr IndexSpace::simplify(Expr expr) const { return toExpr(expand(expr)); }

bool IndexSpace::isShort(Expr expr) const {
  size_t length = 0;
  for (const auto &[atoms, _] : expand(expr))
    length += 1 + atoms.size();
  return length <= kMaxLength;
}

//===----------------------------------------------------------------------===//
// Division
//===----------------------------------------------------------------------===//

/// Divides a product by another with coefficient 1, if it is a multiple.
static std::optional<std::pair<SmallVector<Expr, 2>, int64_t>>
divideProduct(ArrayRef<Expr> atoms, int64_t coefficient, ArrayRef<Expr> divisorAtoms,
              int64_t divisor) {
  if (coefficient % divisor != 0)
    return std::nullopt;
  SmallVector<Expr, 2> rest(atoms);
  for (Expr atom : divisorAtoms) {
    auto *found = llvm::find(rest, atom);
    if (found == rest.end())
      return std::nullopt;
    rest.erase(found);
  }
  return std::pair(rest, coefficient / divisor);
}

bool IndexSpace::isRemainder(const Polynomial &value, const Polynomial &divisor) const {
  Polynomial left = divisor;
  addTo(left, value, -1);
  addTo(left, {{{}, -1}});
  std::optional<int64_t> low = getLowerBound(value), high = getLowerBound(left);
  return low && *low >= 0 && high && *high >= 0;
}

/// (f x + r) floordiv (f c) is x floordiv c, and the remainder f (x mod c) + r, for r from
/// 0 to f - 1.
std::optional<std::pair<IndexSpace::Polynomial, IndexSpace::Polynomial>>
IndexSpace::divideByFactor(const Polynomial &dividend, const Polynomial &divisor) const {
  if (divisor.size() != 1 || !divisor.begin()->first.empty() || divisor.begin()->second <= 0)
    return std::nullopt;
  int64_t whole = divisor.begin()->second;
  for (const auto &[_, candidate] : dividend) {
    if (candidate == std::numeric_limits<int64_t>::min())
      continue;
    int64_t factor = std::gcd(candidate, whole);
    if (factor == 1)
      continue;
    Polynomial multiple, rest;
    for (const auto &[atoms, coefficient] : dividend) {
      if (coefficient % factor == 0)
        addTo(multiple, {{atoms, coefficient / factor}});
      else
        addTo(rest, {{atoms, coefficient}});
    }
    if (!rest.empty() && !isRemainder(rest, {{{}, factor}}))
      continue;
    auto [quotient, remainder] = divide(multiple, {{{}, whole / factor}});
    Polynomial scaled = rest;
    addTo(scaled, remainder, factor);
    return std::pair(quotient, scaled);
  }
  return std::nullopt;
}

std::pair<IndexSpace::Polynomial, IndexSpace::Polynomial>
IndexSpace::divide(const Polynomial &dividend, const Polynomial &divisor) const {
  Polynomial quotient, remainder;
  if (divisor.size() == 1 && divisor.begin()->second > 0) {
    const auto &[divisorAtoms, factor] = *divisor.begin();
    for (const auto &[atoms, coefficient] : dividend) {
      if (auto part = divideProduct(atoms, coefficient, divisorAtoms, factor))
        addTo(quotient, {{part->first, part->second}});
      else
        addTo(remainder, {{atoms, coefficient}});
    }
  } else {
    remainder = dividend;
  }
  if (remainder.empty() || isRemainder(remainder, divisor))
    return {quotient, remainder};
  if (auto factored = divideByFactor(remainder, divisor)) {
    addTo(quotient, factored->first);
    return {quotient, factored->second};
  }
  Expr left = toExpr(remainder), right = toExpr(divisor);
  auto make = [&](AffineExprKind kind, Expr lhs, Expr rhs) -> Polynomial {
    Expr expr = getAffineBinaryOpExpr(kind, lhs, rhs);
    // MLIR may know better than to make a division of it.
    return expr.getKind() == kind ? Polynomial{{{expr}, 1}} : expand(expr);
  };
  // x floordiv a floordiv b is x floordiv (a b).
  auto inner = dyn_cast<AffineBinaryOpExpr>(left);
  auto first = inner && inner.getKind() == AffineExprKind::FloorDiv
                   ? dyn_cast<AffineConstantExpr>(inner.getRHS())
                   : AffineConstantExpr();
  auto second = dyn_cast<AffineConstantExpr>(right);
  int64_t both;
  bool nests = first && second && first.getValue() > 0 && second.getValue() > 0 &&
               !llvm::MulOverflow(first.getValue(), second.getValue(), both);
  addTo(quotient, nests ? make(AffineExprKind::FloorDiv, inner.getLHS(), constant(both))
                        : make(AffineExprKind::FloorDiv, left, right));
  return {quotient, make(AffineExprKind::Mod, left, right)};
}

//===----------------------------------------------------------------------===//
// Bounds
//===----------------------------------------------------------------------===//

std::optional<int64_t> IndexSpace::getMax(Expr atom) const {
  if (auto dim = dyn_cast<AffineDimExpr>(atom)) {
    auto extent = dyn_cast<AffineConstantExpr>(getExtent(dim));
    return extent && extent.getValue() > 0 ? std::optional(extent.getValue() - 1)
                                           : std::nullopt;
  }
  auto binary = dyn_cast<AffineBinaryOpExpr>(atom);
  if (!binary)
    return std::nullopt;
  auto divisor = dyn_cast<AffineConstantExpr>(binary.getRHS());
  if (!divisor || divisor.getValue() <= 0)
    return std::nullopt;
  if (binary.getKind() == AffineExprKind::Mod)
    return divisor.getValue() - 1;
  Polynomial negated;
  addTo(negated, expand(binary.getLHS()), -1);
  std::optional<int64_t> low = getLowerBound(negated);
  if (!low || *low == std::numeric_limits<int64_t>::min())
    return std::nullopt;
  return llvm::divideFloorSigned(-*low, divisor.getValue());
}

bool IndexSpace::isAtLeastZero(Expr atom) const {
  if (isa<AffineDimExpr, AffineSymbolExpr>(atom))
    return true;
  auto binary = cast<AffineBinaryOpExpr>(atom);
  if (binary.getKind() == AffineExprKind::Mod)
    return true;
  std::optional<int64_t> low = getLowerBound(expand(binary.getLHS()));
  return low && *low >= 0;
}

std::optional<int64_t> IndexSpace::getLowerBound(Polynomial value) const {
  // A dimension that is subtracted is at most its extent less one.
  for (bool changed = true; changed;) {
    changed = false;
    for (const auto &[atoms, coefficient] : value) {
      if (coefficient > 0)
        continue;
      auto *dim = llvm::find_if(
          atoms, [&](Expr atom) { return isa<AffineDimExpr>(atom) && !getMax(atom); });
      if (dim == atoms.end())
        continue;
      SmallVector<Expr, 2> rest(atoms);
      rest.erase(rest.begin() + (dim - atoms.begin()));
      Polynomial bound = expand(getExtent(*dim));
      addTo(bound, {{{}, -1}});
      Polynomial replaced = multiply(bound, {{rest, coefficient}});
      value.erase(atoms);
      addTo(value, replaced);
      changed = true;
      break;
    }
  }
  int64_t low = 0;
  for (const auto &[atoms, coefficient] : value) {
    if (coefficient > 0) {
      if (!llvm::all_of(atoms, [&](Expr atom) { return isAtLeastZero(atom); }))
        return std::nullopt;
      if (llvm::AddOverflow(low, atoms.empty() ? coefficient : 0, low))
        return std::nullopt;
      continue;
    }
    int64_t largest = 1;
    for (Expr atom : atoms) {
      std::optional<int64_t> max = getMax(atom);
      if (!max || !isAtLeastZero(atom))
        return std::nullopt;
      if (llvm::MulOverflow(largest, *max, largest))
        return std::nullopt;
    }
    int64_t part;
    if (llvm::MulOverflow(coefficient, largest, part) || llvm::AddOverflow(low, part, low))
      return std::nullopt;
  }
  return low;
}

std::optional<bool> IndexSpace::isNonNegative(Expr expr) const {
  Polynomial value = expand(expr), negated;
  if (std::optional<int64_t> low = getLowerBound(value); low && *low >= 0)
    return true;
  addTo(negated, value, -1);
  addTo(negated, {{{}, -1}});
  if (std::optional<int64_t> low = getLowerBound(negated); low && *low >= 0)
    return false;
  return std::nullopt;
}

std::optional<IndexSpace::Linear> IndexSpace::getLinear(Expr expr, Expr dim) const {
  Polynomial rest;
  int64_t scale = 0;
  for (const auto &[atoms, coefficient] : expand(expr)) {
    if (atoms.size() == 1 && atoms[0] == dim)
      scale = coefficient;
    else if (llvm::any_of(atoms, [&](Expr atom) {
               return atom.isFunctionOfDim(cast<AffineDimExpr>(dim).getPosition());
             }))
      return std::nullopt;
    else
      addTo(rest, {{atoms, coefficient}});
  }
  return Linear{scale, toExpr(rest)};
}

bool IndexSpace::contains(Expr expr, Expr dim) const {
  return simplify(expr).isFunctionOfDim(cast<AffineDimExpr>(dim).getPosition());
}
