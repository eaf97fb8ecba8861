//===- AttentionFinish.cpp - from sums to output rows ---------------------===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The last step of an item that saw all keys of its rows, the hand-over of one that
// saw a part, and the kernel that merges parts. Sinks come in here, once.
//===----------------------------------------------------------------------===//
#include "AttentionKernel.h"
#include "RowKernels.h"

#include "mlir/Dialect/Math/IR/Math.h"

#include <limits>

using namespace mlir;

namespace kvc {

static constexpr double kLog2E = 1.4426950408889634;
static constexpr double kLn2 = 0.6931471805599453;

static Value equalF(Emitter &e, Value x, double y) {
  return arith::CmpFOp::create(e.b, e.loc, arith::CmpFPredicate::OEQ, x, e.f32(y));
}

/// `max`, or 0 where no key was seen, so that differences to it are no NaN.
static Value finiteBase(Emitter &e, Value max) {
  return e.select(equalF(e, max, -std::numeric_limits<float>::infinity()), e.f32(0), max);
}

/// Scales and stores one row of the output and its log-sum-exp, from the maximum
/// score (base 2), the sum and the unscaled columns.
void AttentionKernel::emitFinalRow(Value params, Value token, Value queryHead, Value max,
                                   Value sum,
                                   function_ref<Value(int64_t, int64_t)> loadColumn) {
  Value base, sinkTerm = e.f32(0);
  if (op.getSinks()) {
    Value sinks = e.load(e.ptrType(), e.offset(params, offsetof(AttentionParams, sinks)));
    Value sink = e.mulf(e.load(e.f32Type(), e.offset(sinks, e.mul(queryHead, 4))),
                        e.f32(kLog2E));
    base = finiteBase(e, e.maxf(max, sink));
    sinkTerm = e.exp2(e.subf(sink, base));
  } else {
    base = finiteBase(e, max);
  }
  Value weight = e.exp2(e.subf(max, base));
  Value denominator = e.addf(e.mulf(sum, weight), sinkTerm);
  Value isEmpty = equalF(e, denominator, 0.0);
  Value factor = e.select(isEmpty, e.f32(0), e.divf(weight, denominator));

  Type element = cast<RankedTensorType>(op.getOutput().getType()).getElementType();
  Value row = emitTensorRow(e, params, offsetof(AttentionParams, output), token, queryHead);
  for (auto [column, count] : valueColumns())
    e.store(e.fromF32(e.mulf(loadColumn(column, count), e.broadcast(factor, count)), element),
            e.offset(row, column * getByteWidth(element)));

  if (op.getLse()) {
    Value log = e.addf(e.mulf(base, e.f32(kLn2)),
                       math::LogOp::create(e.b, e.loc, denominator));
    Value lse = e.select(isEmpty, e.f32(-std::numeric_limits<float>::infinity()), log);
    e.store(lse, emitTensorRow(e, params, offsetof(AttentionParams, lse), token, queryHead));
  }
}

void AttentionKernel::emitFinish(Value params, Value firstHead) {
  Value isFinal = e.less(itemFields.part, e.i32(0));
  int64_t partRowBytes = (value.width + 2) * 4;
  e.loop(e.i64(0), e.i64(headsPerItem), 1, [&](Value headIndex) {
    e.loop(e.i64(0), numRows, 1, [&](Value row) {
      emitFinishColumns(headIndex, row);
      Value index = stateRow(headIndex, row);
      Value max = e.load(e.f32Type(), scratchAt(maxima, e.mul(index, 4)));
      Value sum = e.reduceAdd(
          e.load(e.vectorOf(lanes, e.f32Type()), scratchAt(sums, e.mul(index, lanes * 4))));
      Value columns = scratchAt(outputs, e.mul(index, value.width * 4));
      auto loadColumn = [&](int64_t column, int64_t count) {
        return e.load(e.vectorOf(count, e.f32Type()), e.offset(columns, column * 4));
      };
      Value queryHead = e.add(e.mul(e.add(firstHead, headIndex), group), e.rem(row, group));
      auto storeFinal = [&] {
        Value token = e.add(e.toI64(itemFields.queryBegin), e.div(row, group));
        emitFinalRow(params, token, queryHead, max, sum, loadColumn);
      };
      if (phase == Phase::Prefill) // never split
        return storeFinal();
      auto storePart = [&] {
        Value parts = e.load(e.ptrType(), e.offset(params, offsetof(AttentionParams, parts)));
        Value partRow =
            e.add(e.mul(e.toI64(itemFields.part), getQueryHeads()), queryHead);
        Value target = e.offset(parts, e.mul(partRow, partRowBytes));
        for (auto [column, count] : valueColumns())
          e.store(loadColumn(column, count), e.offset(target, column * 4));
        e.store(max, e.offset(target, value.width * 4));
        e.store(sum, e.offset(target, (value.width + 1) * 4));
      };
      e.ifThen(isFinal, storeFinal, storePart);
    });
  });
}

void AttentionKernel::emitMergeBody(Value params, Value item) {
  auto param = [&](int64_t offset) { return e.load(e.ptrType(), e.offset(params, offset)); };
  Value queryHead = e.rem(item, getQueryHeads());
  MergeEntryValues entry = emitLoadMergeEntry(
      e.b, e.loc, param(offsetof(AttentionParams, merges)), e.div(item, getQueryHeads()));
  Value parts = param(offsetof(AttentionParams, parts));
  int64_t rowBytes = (value.width + 2) * 4;
  Value begin = e.toI64(entry.firstPart);
  Value end = e.add(begin, e.toI64(entry.partCount));
  auto partRow = [&](Value part) {
    return e.offset(parts, e.mul(e.add(e.mul(part, getQueryHeads()), queryHead), rowBytes));
  };
  auto loadMax = [&](Value part) {
    return e.load(e.f32Type(), e.offset(partRow(part), value.width * 4));
  };
  Value max = e.loop(begin, end, 1,
                     {e.f32(-std::numeric_limits<float>::infinity())},
                     [&](Value part, ValueRange carried) -> SmallVector<Value> {
                       return {e.maxf(loadMax(part), carried[0])};
                     })[0];
  Value base = finiteBase(e, max);
  // The weight of a part takes the place of its maximum, which is not needed again.
  Value sum = e.loop(begin, end, 1, {e.f32(0)},
                     [&](Value part, ValueRange carried) -> SmallVector<Value> {
                       Value weight = e.exp2(e.subf(loadMax(part), base));
                       e.store(weight, e.offset(partRow(part), value.width * 4));
                       Value partSum = e.load(e.f32Type(),
                                              e.offset(partRow(part), (value.width + 1) * 4));
                       return {e.addf(carried[0], e.mulf(partSum, weight))};
                     })[0];
  auto loadColumn = [&](int64_t column, int64_t count) {
    return e.loop(begin, end, 1, {e.splat(count, 0.0)},
                  [&](Value part, ValueRange carried) -> SmallVector<Value> {
                    Value values = e.load(e.vectorOf(count, e.f32Type()),
                                          e.offset(partRow(part), column * 4));
                    return {e.fma(values, e.broadcast(loadMax(part), count), carried[0])};
                  })[0];
  };
  emitFinalRow(params, e.toI64(entry.queryBegin), queryHead, max, sum, loadColumn);
}

} // namespace kvc
