//===- Merge.cpp - the definition of kvc.merge ----------------------------===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "LoopBuilder.h"
#include "Patterns.h"

#include "mlir/Dialect/Math/IR/Math.h"

#include <limits>

using namespace mlir;
using namespace kvc;

namespace {
/// Emits the loops of one merge.
struct MergeLoops {
  LoopBuilder &b;
  MergeOp op;
  SmallVector<Value> outputs, lses; ///< A tensor a part.
  Value sinks;                      ///< May be null.
  Type real;                        ///< f32 or f64.

  SmallVector<Value> emit();

private:
  using Values = LoopBuilder::Values;
  Values emitRow(Value token, Value head, ValueRange results);
};
} // namespace

LoopBuilder::Values MergeLoops::emitRow(Value token, Value head, ValueRange results) {
  Value lowest = b.real(real, -std::numeric_limits<double>::infinity());
  Value zero = b.real(real, 0);
  Value sink = sinks ? b.extend(b.extract(sinks, head), real) : Value();

  // The largest log-sum-exp; 0 if all are -inf.
  Values parts;
  Value max = sink ? sink : lowest;
  for (Value lse : lses) {
    parts.push_back(b.extend(b.extract(lse, {token, head}), real));
    max = arith::MaximumFOp::create(b, max, parts.back());
  }
  Value isEmpty = arith::CmpFOp::create(b, arith::CmpFPredicate::OEQ, max, lowest);
  max = arith::SelectOp::create(b, isEmpty, zero, max);

  // The weight of each part; an empty one has 0, and is not read below.
  auto exp = [&](Value x) -> Value { return math::ExpOp::create(b, b.sub(x, max)); };
  Value sum = sink ? exp(sink) : zero;
  Values weights, isUsed;
  for (Value part : parts) {
    isUsed.push_back(arith::CmpFOp::create(b, arith::CmpFPredicate::UNE, part, lowest));
    weights.push_back(exp(part));
    sum = b.add(sum, weights.back());
  }

  Value isZero = arith::CmpFOp::create(b, arith::CmpFPredicate::OEQ, sum, zero);
  Value divisor = arith::SelectOp::create(b, isZero, b.real(real, 1), sum);
  auto type = cast<RankedTensorType>(op.getOutput().getType());
  Values next = b.loop(
      b.index(type.getDimSize(2)), results[0], [&](Value w, ValueRange carried) -> Values {
        Value weighted = zero;
        for (auto [output, weight, used] : llvm::zip(outputs, weights, isUsed)) {
          Value part = output, factor = weight;
          weighted = b.choose(used, weighted, [&]() -> Values {
                        Value element = b.extend(b.extract(part, {token, head, w}), real);
                        return {b.add(weighted, b.mul(factor, element))};
                      }).front();
        }
        Value out = arith::DivFOp::create(b, weighted, divisor);
        return {b.insert(b.round(out, type.getElementType()), carried[0], {token, head, w})};
      });
  Value lse = b.add(max, math::LogOp::create(b, sum)); // log(0) = -inf
  next.push_back(b.insert(b.round(lse, b.getF32Type()), results[1], {token, head}));
  return next;
}

SmallVector<Value> MergeLoops::emit() {
  auto type = cast<RankedTensorType>(op.getOutput().getType());
  Value tokens = b.size(outputs.front(), 0);
  Values results = {b.empty(type, tokens), b.empty(op.getLse().getType(), tokens)};
  return b.loop(tokens, results, [&](Value token, ValueRange perToken) {
    return b.loop(b.index(type.getDimSize(1)), perToken, [&](Value head, ValueRange perHead) {
      return emitRow(token, head, perHead);
    });
  });
}

namespace {
struct DecomposeMerge final : OpConversionPattern<MergeOp> {
  DecomposeMerge(const TypeConverter &converter, MLIRContext *context, Type real)
      : OpConversionPattern(converter, context), real(real) {}

  LogicalResult matchAndRewrite(MergeOp op, OneToNOpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    LoopBuilder b(op.getLoc(), rewriter);
    MergeLoops loops{b, op, {}, {}, {}, real};
    for (auto [output, lse] : llvm::zip(adaptor.getOutputs(), adaptor.getLses())) {
      loops.outputs.push_back(output.front());
      loops.lses.push_back(lse.front());
    }
    if (op.getSinks())
      loops.sinks = adaptor.getSinks().front();
    rewriter.replaceOp(op, loops.emit());
    return success();
  }

private:
  Type real;
};
} // namespace

void kvc::populateMergeLoopPatterns(RewritePatternSet &patterns,
                                    const TypeConverter &converter, Type real) {
  patterns.add<DecomposeMerge>(converter, patterns.getContext(), real);
}
