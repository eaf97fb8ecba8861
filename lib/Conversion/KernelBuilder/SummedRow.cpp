//===- SummedRow.cpp - from sums to a row of the output -------------------===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "kvc/Conversion/KernelBuilder.h"

using namespace mlir;

namespace kvc::kvtile {

Value emitFiniteMax(KernelBuilder &k, Value max) {
  // -inf - -inf would be NaN; with 0, exp2 of a score of -inf is 0 as it should.
  Value isNone = k.compareF(arith::CmpFPredicate::OEQ, max, k.minusInfinity());
  return k.select(isNone, k.f32(0.0), max);
}

SummedRow emitDividedRow(KernelBuilder &k, const SummedRow &row, Value sink) {
  SummedRow result = row;
  if (sink) {
    // A logit without a value; a partial result has none: it counts once.
    sink = k.mulF(sink, k.f32(kLog2E));
    result.max = k.maxF(row.max, sink);
    Value reference = emitFiniteMax(k, result.max);
    Value factor = k.exp2(k.subF(row.max, reference));
    result.sum = k.addF(k.mulF(row.sum, factor), k.exp2(k.subF(sink, reference)));
    for (Value &column : result.columns)
      column = k.mulF(column, factor);
  }
  Value zero = k.f32(0.0);
  Value isEmpty = k.compareF(arith::CmpFPredicate::OEQ, result.sum, zero);
  Value inverse = k.select(isEmpty, zero, k.reciprocal(result.sum));
  for (Value &column : result.columns)
    column = k.mulF(column, inverse);
  return result;
}

Value emitLogSumExp(KernelBuilder &k, Value max, Value sum) {
  // The logarithm of a sum of 0 is -inf.
  return k.mulF(k.addF(emitFiniteMax(k, max), k.log2(sum)), k.f32(kLn2));
}

} // namespace kvc::kvtile
