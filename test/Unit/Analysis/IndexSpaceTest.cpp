//===- IndexSpaceTest.cpp - expressions of indices ------------------------===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "kvc/Analysis/IndexSpace.h"

#include <gtest/gtest.h>

#include <limits>
#include <random>

using namespace mlir;
using namespace kvc;

namespace {
class IndexSpaceTest : public testing::Test {
protected:
  using Expr = IndexSpace::Expr;

  Expr constant(int64_t value) { return space.constant(value); }
  Expr addDim(int64_t extent) { return space.addDim(constant(extent)); }
  Expr divide(Expr lhs, Expr rhs) {
    return getAffineBinaryOpExpr(AffineExprKind::FloorDiv, lhs, rhs);
  }
  Expr modulo(Expr lhs, Expr rhs) {
    return getAffineBinaryOpExpr(AffineExprKind::Mod, lhs, rhs);
  }

  MLIRContext context{MLIRContext::Threading::DISABLED};
  IndexSpace space{&context};
};

constexpr int64_t kMin = std::numeric_limits<int64_t>::min();
constexpr int64_t kMax = std::numeric_limits<int64_t>::max();
} // namespace

TEST_F(IndexSpaceTest, SumsHaveOneForm) {
  Expr a = addDim(7), b = addDim(5), s = space.addSymbol();
  EXPECT_TRUE(space.areEqual(a * 3 + b * s - a, b * s + a * 2));
  EXPECT_TRUE(space.areEqual((a + b) * (s + 2), a * s + b * s + a * 2 + b * 2));
  EXPECT_FALSE(space.areEqual(a, b));
  EXPECT_EQ(space.simplify(a - a), constant(0));
}

TEST_F(IndexSpaceTest, DimensionsOfExtentOneAreZero) {
  Expr one = addDim(1), a = addDim(4);
  EXPECT_EQ(space.simplify(one + a * 2), space.simplify(a * 2));
  EXPECT_FALSE(space.contains(one + a, one));
}

TEST_F(IndexSpaceTest, DivisionsUseExtents) {
  Expr h = addDim(8), g = addDim(4), s = space.addSymbol(), t = space.addDim(s);
  EXPECT_TRUE(space.areEqual(divide(h * 4 + g, constant(4)), h));
  EXPECT_TRUE(space.areEqual(modulo(h * 4 + g, constant(4)), g));
  EXPECT_TRUE(space.areEqual(divide(h * s + t, s), h));
  EXPECT_TRUE(space.areEqual(modulo(h * s + t, s), t));
  // The remainder may be larger.
  Expr wide = addDim(5);
  EXPECT_FALSE(space.areEqual(divide(h * 4 + wide, constant(4)), h));
  EXPECT_TRUE(space.areEqual(divide(divide(h, constant(2)), constant(3)), divide(h, constant(6))));
}

TEST_F(IndexSpaceTest, BoundsAreProven) {
  Expr a = addDim(8), s = space.addSymbol(), t = space.addDim(s);
  EXPECT_EQ(space.isNonNegative(a), true);
  EXPECT_EQ(space.isNonNegative(constant(7) - a), true);
  EXPECT_EQ(space.isNonNegative(constant(6) - a), std::nullopt);
  EXPECT_EQ(space.isNonNegative(a - 8), false);
  EXPECT_EQ(space.isNonNegative(s - t - 1), true);
  EXPECT_EQ(space.isNonNegative(s - t - 2), std::nullopt);
  EXPECT_EQ(space.isNonNegative(t - s), false);
  EXPECT_EQ(space.isNonNegative(constant(3) - modulo(a, constant(4))), true);
}

TEST_F(IndexSpaceTest, EqualSymbolsAreUnified) {
  Expr a = space.addSymbol(), b = space.addSymbol(), c = space.addSymbol();
  space.learnEqual(a * 4, b * 4);
  EXPECT_TRUE(space.areEqual(a, b));
  space.learnEqual(a + 1, c);
  EXPECT_FALSE(space.areEqual(a, c));
}

TEST_F(IndexSpaceTest, LinearPartsAreTakenOut) {
  Expr a = addDim(8), b = addDim(8), s = space.addSymbol();
  std::optional<IndexSpace::Linear> linear = space.getLinear(a * 3 + b * s + 2, a);
  ASSERT_TRUE(linear);
  EXPECT_EQ(linear->scale, 3);
  EXPECT_TRUE(space.areEqual(linear->rest, b * s + 2));
  EXPECT_FALSE(space.getLinear(a * s, a));
  EXPECT_FALSE(space.getLinear(modulo(a, constant(3)), a));
  EXPECT_EQ(space.getLinear(b, a)->scale, 0);
}

TEST_F(IndexSpaceTest, DivisorsThatAreNotPositiveStay) {
  Expr a = addDim(8);
  for (int64_t divisor : {int64_t(0), int64_t(-1), int64_t(-3)}) {
    Expr quotient = divide(a, constant(divisor)), rest = modulo(a, constant(divisor));
    EXPECT_EQ(space.isNonNegative(quotient - 100), std::nullopt) << divisor;
    EXPECT_EQ(space.isNonNegative(rest - 100), std::nullopt) << divisor;
    space.simplify(divide(quotient * 4 + a, constant(divisor)));
    space.simplify(modulo(rest + a * divisor, constant(3)));
    space.simplify(divide(constant(5), constant(divisor)));
  }
  Expr empty = addDim(0);
  space.simplify(divide(a * 3 + empty, constant(3)));
  space.isNonNegative(constant(0) - empty);
}

TEST_F(IndexSpaceTest, HugeNumbersProveNothing) {
  Expr a = addDim(kMax), b = addDim(kMax), s = space.addSymbol();
  for (int64_t huge : {kMin, kMin + 1, kMax, kMax - 1}) {
    Expr expr = a * huge + b * huge + s * huge + huge;
    space.simplify(expr * 2 + expr);
    space.simplify(divide(expr, constant(kMax)));
    space.simplify(divide(divide(expr, constant(kMax)), constant(kMax)));
    space.simplify(modulo(expr, constant(7)));
    space.isNonNegative(expr);
    space.isNonNegative(modulo(a, constant(kMax)) * huge);
  }
  EXPECT_EQ(space.isNonNegative(constant(0) - a * kMax - b * kMax), std::nullopt);
}

TEST_F(IndexSpaceTest, LongExpressionsAreTold) {
  Expr sum = constant(0);
  for (int i = 0; i < 8; ++i)
    sum = sum + space.addSymbol();
  EXPECT_TRUE(space.isShort(sum));
  EXPECT_FALSE(space.isShort(sum * sum));
}

/// The value of an expression, rounding down.
static int64_t evaluate(AffineExpr expr, ArrayRef<int64_t> dims, ArrayRef<int64_t> symbols) {
  if (auto constant = dyn_cast<AffineConstantExpr>(expr))
    return constant.getValue();
  if (auto dim = dyn_cast<AffineDimExpr>(expr))
    return dims[dim.getPosition()];
  if (auto symbol = dyn_cast<AffineSymbolExpr>(expr))
    return symbols[symbol.getPosition()];
  auto binary = cast<AffineBinaryOpExpr>(expr);
  int64_t lhs = evaluate(binary.getLHS(), dims, symbols);
  int64_t rhs = evaluate(binary.getRHS(), dims, symbols);
  int64_t quotient = lhs / rhs - (lhs % rhs != 0 && (lhs < 0) != (rhs < 0));
  switch (expr.getKind()) {
  case AffineExprKind::Add:
    return lhs + rhs;
  case AffineExprKind::Mul:
    return lhs * rhs;
  case AffineExprKind::FloorDiv:
    return quotient;
  default:
    return lhs - quotient * rhs;
  }
}

TEST_F(IndexSpaceTest, RandomExpressionsKeepTheirValues) {
  std::mt19937 random(7);
  auto below = [&](int64_t end) { return static_cast<int64_t>(random() % end); };
  SmallVector<int64_t> extents = {1, 2, 3, 4, 6, 8}, symbolValues = {5, 12};
  SmallVector<Expr> leaves;
  for (int64_t extent : extents)
    leaves.push_back(addDim(extent));
  Expr n = space.addSymbol(), m = space.addSymbol();
  SmallVector<Expr> divisors = {constant(2), constant(3), constant(4), constant(12), n};
  leaves.append({n, m, constant(1), constant(7)});
  for (int round = 0; round < 3000; ++round) {
    Expr expr = leaves[below(leaves.size())];
    for (int step = 0; step < 3; ++step) {
      Expr other = leaves[below(leaves.size())];
      switch (below(5)) {
      case 0:
        expr = expr + other;
        break;
      case 1:
        expr = expr - other;
        break;
      case 2:
        expr = expr * (below(2) ? constant(below(9) - 2) : n);
        break;
      case 3:
        expr = divide(expr, divisors[below(divisors.size())]);
        break;
      default:
        expr = modulo(expr, divisors[below(divisors.size())]);
      }
    }
    Expr simple = space.simplify(expr);
    EXPECT_EQ(space.simplify(simple), simple);
    std::optional<bool> sign = space.isNonNegative(expr);
    for (int sample = 0; sample < 8; ++sample) {
      SmallVector<int64_t> dims;
      for (int64_t extent : extents)
        dims.push_back(below(extent));
      int64_t value = evaluate(expr, dims, symbolValues);
      ASSERT_EQ(value, evaluate(simple, dims, symbolValues)) << round;
      if (sign) {
        ASSERT_EQ(value >= 0, *sign) << round;
      }
    }
  }
}
