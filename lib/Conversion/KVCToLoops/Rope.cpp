//===- Rope.cpp - the definition of kvc.rope ------------------------------===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "LoopBuilder.h"
#include "Patterns.h"

#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;
using namespace kvc;

namespace {
/// Emits the loops of one rotary embedding, all in f64.
struct RopeLoops {
  LoopBuilder &b;
  RopeOp op;
  Value input;
  Value positions;
  Value frequencies; ///< Null if the operation has a theta.

  Value emit();

private:
  using Values = LoopBuilder::Values;

  Value toReal(Value integer) {
    return arith::SIToFPOp::create(b, b.getF64Type(), integer);
  }
  Value emitFrequency(Value pair);
  Value emitPair(Value token, Value pair, Value angle, Value output);
};
} // namespace

/// theta ^ (-2 pair / rotary_width), or the frequency that is given.
Value RopeLoops::emitFrequency(Value pair) {
  Type f64 = b.getF64Type();
  if (frequencies)
    return b.extend(b.extract(frequencies, pair), f64);
  Value integer = arith::IndexCastOp::create(b, b.getI64Type(), pair);
  Value exponent = arith::DivFOp::create(b, b.mul(toReal(integer), b.real(f64, -2)),
                                         b.real(f64, op.getRotaryWidth()));
  return math::PowFOp::create(b, b.real(f64, op.getTheta()->convertToDouble()), exponent);
}

/// Rotates pair `pair` of all heads of a token.
Value RopeLoops::emitPair(Value token, Value pair, Value angle, Value output) {
  auto type = cast<RankedTensorType>(op.getOutput().getType());
  Type f64 = b.getF64Type(), element = type.getElementType();
  Value first = pair, second;
  if (op.getStyle() == RopeStyle::Half) {
    second = b.add(pair, b.index(op.getRotaryWidth() / 2));
  } else {
    first = b.mul(pair, b.index(2));
    second = b.add(first, b.index(1));
  }
  Value cos = math::CosOp::create(b, angle), sin = math::SinOp::create(b, angle);
  return b
      .loop(b.index(type.getDimSize(1)), output,
            [&](Value head, ValueRange carried) -> Values {
              Value x = b.extend(b.extract(input, {token, head, first}), f64);
              Value y = b.extend(b.extract(input, {token, head, second}), f64);
              Value newX = b.sub(b.mul(x, cos), b.mul(y, sin));
              Value newY = b.add(b.mul(y, cos), b.mul(x, sin));
              Value next =
                  b.insert(b.round(newX, element), carried[0], {token, head, first});
              return {b.insert(b.round(newY, element), next, {token, head, second})};
            })
      .front();
}

Value RopeLoops::emit() {
  auto type = cast<RankedTensorType>(op.getOutput().getType());
  int64_t rotary = op.getRotaryWidth(), width = type.getDimSize(2);
  Value tokens = b.size(input, 0);
  Values result = b.loop(tokens, b.empty(type, tokens), [&](Value token, ValueRange carried) {
    Value position = toReal(memref::LoadOp::create(b, positions, token));
    Values rotated =
        b.loop(b.index(rotary / 2), carried, [&](Value pair, ValueRange perPair) -> Values {
          Value angle = b.mul(position, emitFrequency(pair));
          return {emitPair(token, pair, angle, perPair[0])};
        });
    if (rotary == width)
      return rotated;
    return b.loop(b.index(type.getDimSize(1)), rotated, [&](Value head, ValueRange perHead) {
      return b.loop(b.index(rotary), b.index(width), perHead,
                    [&](Value w, ValueRange perElement) -> Values {
                      Value element = b.extract(input, {token, head, w});
                      return {b.insert(element, perElement[0], {token, head, w})};
                    });
    });
  });
  return result.front();
}

namespace {
struct DecomposeRope final : OpConversionPattern<RopeOp> {
  using OpConversionPattern::OpConversionPattern;

  LogicalResult matchAndRewrite(RopeOp op, OneToNOpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    LoopBuilder b(op.getLoc(), rewriter);
    RopeLoops loops{b, op, adaptor.getInput().front(),
                    BatchArrays(adaptor.getBatch()).positions, Value()};
    if (op.getFrequencies())
      loops.frequencies = adaptor.getFrequencies().front();
    rewriter.replaceOp(op, loops.emit());
    return success();
  }
};
} // namespace

void kvc::populateRopeLoopPatterns(RewritePatternSet &patterns,
                                   const TypeConverter &converter) {
  patterns.add<DecomposeRope>(converter, patterns.getContext());
}
