//===- SineCosine.cpp - sine and cosine of large angles -------------------===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Rows.h"

#include <limits>

using namespace mlir;
using namespace kvc;
using namespace kvc::kvtile;

/// pi / 2 as the sum of three f64: what each leaves to the next.
static constexpr double kHalfPi[] = {1.5707963267948966, 6.123233995736766e-17,
                                     -1.4973849048591698e-33};
static constexpr double kTwoOverPi = 0.6366197723675814;

/// 1.5 * 2^52: a number below 2^51 added to it is rounded to an integer, whose last bits
/// are those of the sum.
static constexpr double kRounder = 6755399441055744.0;

static constexpr double kMaxAngle = 1125899906842624.0; // 2^50

/// 1 / n!, with the sign of the term x^n of the sine (n odd) or cosine (n even).
static double getCoefficient(int64_t n) {
  double coefficient = n / 2 % 2 == 0 ? 1.0 : -1.0;
  for (int64_t i = 2; i <= n; ++i)
    coefficient /= i;
  return coefficient;
}

/// The terms `first`, `first` + 2, ... `last` of the series, over x^first.
static Value emitSeries(KernelBuilder &k, Value square, int64_t first, int64_t last) {
  Value sum = k.f64(getCoefficient(last));
  for (int64_t n = last - 2; n >= first; n -= 2)
    sum = k.fma(sum, square, k.f64(getCoefficient(n)));
  return sum;
}

std::pair<Value, Value> kvc::emitSineCosine(KernelBuilder &k, Value angle) {
  // angle = n pi / 2 + rest, |rest| <= pi / 4. The first product cancels but for bits
  // that an f64 has, so nothing is lost; the others are small.
  Value rounded = k.fma(angle, k.f64(kTwoOverPi), k.f64(kRounder));
  Value quadrants = arith::SubFOp::create(k.b, k.loc, rounded, k.f64(kRounder));
  Value negated = k.negF(quadrants);
  Value rest = angle;
  for (double part : kHalfPi)
    rest = k.fma(negated, k.f64(part), rest);
  Value isSmall = arith::AndIOp::create(
      k.b, k.loc, k.compareF(arith::CmpFPredicate::OLT, angle, k.f64(kMaxAngle)),
      k.compareF(arith::CmpFPredicate::OGT, angle, k.f64(-kMaxAngle)));
  rest = k.select(isSmall, rest, k.f64(std::numeric_limits<double>::quiet_NaN()));

  // The first terms left out are below 10^-11, which no f32 near 1 shows.
  Value square = arith::MulFOp::create(k.b, k.loc, rest, rest);
  auto narrow = [&](Value value) -> Value {
    return arith::TruncFOp::create(k.b, k.loc, k.f32Type(), value);
  };
  Value odd = narrow(arith::MulFOp::create(k.b, k.loc, rest, emitSeries(k, square, 1, 11)));
  Value even = narrow(emitSeries(k, square, 0, 12));

  Value bits = arith::BitcastOp::create(k.b, k.loc, k.i64Type(), rounded);
  Value quadrant = arith::TruncIOp::create(k.b, k.loc, k.i32Type(), bits);
  auto hasBit = [&](Value value, int64_t bit) {
    return k.compare(KernelBuilder::Predicate::ne, k.bitAnd(value, bit), k.i32(0));
  };
  auto signedBy = [&](Value value, Value isNegative) {
    return k.select(isNegative, k.negF(value), value);
  };
  Value isOdd = hasBit(quadrant, 1);
  Value sine = signedBy(k.select(isOdd, even, odd), hasBit(quadrant, 2));
  Value cosine = signedBy(k.select(isOdd, odd, even), hasBit(k.add(quadrant, 1), 2));
  return {sine, cosine};
}
