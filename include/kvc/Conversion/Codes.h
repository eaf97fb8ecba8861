//===- Codes.h - numbers and the codes of quantised caches ------*- C++ -*-===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What `#kvc.scale` says, in operations on scalars or vectors of f32: from numbers to
// codes and back, and the scales that an append computes. Everything is exact or rounded
// once by IEEE 754, so that every target stores the same bits.
//===----------------------------------------------------------------------===//
#ifndef KVC_CONVERSION_CODES_H
#define KVC_CONVERSION_CODES_H

#include "kvc/Dialect/KVC/IR/KVC.h"

#include "mlir/IR/Builders.h"

namespace kvc {

class CodeEmitter {
public:
  CodeEmitter(mlir::OpBuilder &b, mlir::Location loc) : b(b), loc(loc) {}

  using Value = mlir::Value;
  using Type = mlir::Type;

  /// The f32 that code `bits` (i8; of i4 sign-extended) of `element` stands for, exactly.
  Value decode(Value bits, Type element);
  /// The code (i8; of i4 sign-extended) nearest to `x`, saturated; NaN is 0 for integers.
  Value encode(Value x, Type element, bool zeroPoint);

  /// |x| and x as far as they have a part in the scale: 0 if not finite.
  Value finiteOrZero(Value x);
  Value isFinite(Value x); ///< i1

  /// A scale and what is added to the codes times the scale (null without zero point),
  /// in f32, as they are stored.
  struct Scale {
    Value scale, zero;
  };
  /// From the smallest and largest finite elements.
  Scale computeScale(ComponentAttr component, Value min, Value max);
  /// The code of `x`: encode((x - zero) / scale), 0 where the scale is 0.
  Value quantize(ComponentAttr component, Value x, Scale scale);

private:
  Value constant(Type like, double value);
  Value intConstant(Type like, int64_t value);
  Type withElement(Type like, Type element);
  Value toBits(Value x);
  Value toFloat(Value bits);
  Value roundToScaleType(Value x, Type element);

  mlir::OpBuilder &b;
  mlir::Location loc;
};

} // namespace kvc

#endif // KVC_CONVERSION_CODES_H
