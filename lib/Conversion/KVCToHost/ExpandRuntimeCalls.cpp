//===- ExpandRuntimeCalls.cpp - no symbols but libc's and libm's ----------===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Replaces what would become a call of compiler-rt (conversions of f16 and bf16,
// on processors without instructions for them) or of MLIR's runner utilities
// (copies between buffers with strides).
//===----------------------------------------------------------------------===//
#include "kvc/Conversion/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/Transforms/DialectConversion.h"
#include "llvm/Support/MathExtras.h"

#define DEBUG_TYPE "kvc-expand-runtime-calls"

namespace kvc {
#define GEN_PASS_DEF_EXPANDRUNTIMECALLSPASS
#include "kvc/Conversion/Passes.h.inc"
} // namespace kvc

using namespace mlir;
using namespace kvc;

static bool isNarrow(Type type) {
  return isa<Float16Type, BFloat16Type>(getElementTypeOrSelf(type));
}

/// `type` with elements of type `element`.
static Type withElement(Type type, Type element) {
  if (auto shaped = dyn_cast<ShapedType>(type))
    return shaped.clone(element);
  return element;
}

//===----------------------------------------------------------------------===//
// Conversions of floats
//===----------------------------------------------------------------------===//

namespace {
/// The bits of an IEEE format.
struct Format {
  explicit Format(FloatType type)
      : bits(type.getWidth()), mantissa(type.getFPMantissaWidth() - 1),
        bias((int64_t(1) << (bits - mantissa - 2)) - 1) {}

  int64_t bits, mantissa, bias;
  int64_t signBit() const { return int64_t(uint64_t(1) << (bits - 1)); }
  int64_t infinity() const { return ((2 * bias + 1) << mantissa); }
  int64_t quietBit() const { return int64_t(1) << (mantissa - 1); }
};

/// Integer arithmetic on the bits of a scalar or vector of one width.
class BitBuilder : public ImplicitLocOpBuilder {
public:
  BitBuilder(Location loc, OpBuilder &b, Type like, int64_t bits)
      : ImplicitLocOpBuilder(loc, b), type(withElement(like, b.getIntegerType(bits))) {}

  Type getType() const { return type; }
  Value bits(int64_t value) {
    Type element = getElementTypeOrSelf(type);
    auto attr = getIntegerAttr(
        element, llvm::SignExtend64(value, element.getIntOrFloatBitWidth()));
    if (auto shaped = dyn_cast<ShapedType>(type))
      return arith::ConstantOp::create(*this, DenseElementsAttr::get(shaped, attr));
    return arith::ConstantOp::create(*this, attr);
  }
  Value add(Value lhs, Value rhs) { return arith::AddIOp::create(*this, lhs, rhs); }
  Value sub(Value lhs, Value rhs) { return arith::SubIOp::create(*this, lhs, rhs); }
  Value bitAnd(Value lhs, Value rhs) { return arith::AndIOp::create(*this, lhs, rhs); }
  Value bitOr(Value lhs, Value rhs) { return arith::OrIOp::create(*this, lhs, rhs); }
  Value shl(Value lhs, Value rhs) { return arith::ShLIOp::create(*this, lhs, rhs); }
  Value shr(Value lhs, Value rhs) { return arith::ShRUIOp::create(*this, lhs, rhs); }
  Value min(Value lhs, Value rhs) { return arith::MinUIOp::create(*this, lhs, rhs); }
  Value less(Value lhs, Value rhs) {
    return arith::CmpIOp::create(*this, arith::CmpIPredicate::ult, lhs, rhs);
  }
  Value select(Value condition, Value then, Value otherwise) {
    return arith::SelectOp::create(*this, condition, then, otherwise);
  }

private:
  Type type;
};
} // namespace

/// value / 2^shift, rounded to nearest, ties to even; shift is at least 1.
static Value shiftAndRound(BitBuilder &b, Value value, Value shift) {
  Value one = b.bits(1);
  Value half = b.sub(b.shl(one, b.sub(shift, one)), one);
  Value isOdd = b.bitAnd(b.shr(value, shift), one);
  return b.shr(b.add(b.add(value, half), isOdd), shift);
}

/// Rounds `abs`, the bits of a number without its sign, from one format to
/// another. Works like the hardware: denormals, overflow to infinity, NaN stay
/// NaN and become quiet.
static Value roundMagnitude(BitBuilder &b, Value abs, Format from, Format to) {
  int64_t dropped = from.mantissa - to.mantissa;
  int64_t rebias = from.bias - to.bias;
  Value drop = b.bits(dropped);

  // A mantissa that overflows carries into the exponent, as it should.
  Value rebiased = b.sub(abs, b.bits(rebias << from.mantissa));
  Value result = b.min(shiftAndRound(b, rebiased, drop), b.bits(to.infinity()));

  if (rebias != 0) {
    // Below the smallest normal number the mantissa, its leading 1 made
    // explicit, moves right once for each exponent that is missing.
    Value leading = b.bits(int64_t(1) << from.mantissa);
    Value mantissa =
        b.bitOr(b.bitAnd(abs, b.bits((int64_t(1) << from.mantissa) - 1)), leading);
    Value exponent = b.shr(abs, b.bits(from.mantissa));
    Value shift = b.sub(b.bits(rebias + 1 + dropped), exponent);
    Value denormal = shiftAndRound(b, mantissa, b.min(shift, b.bits(from.mantissa + 2)));
    Value isDenormal = b.less(abs, b.bits((rebias + 1) << from.mantissa));
    result = b.select(isDenormal, denormal, result);
  }

  Value payload = b.bitAnd(b.shr(abs, drop), b.bits((int64_t(1) << to.mantissa) - 1));
  Value nan = b.bitOr(payload, b.bits(to.infinity() | to.quietBit()));
  return b.select(b.less(b.bits(from.infinity()), abs), nan, result);
}

namespace {
/// truncf from f32 or f64 to f16 or bf16, with one rounding.
struct ExpandTruncF final : OpConversionPattern<arith::TruncFOp> {
  using OpConversionPattern::OpConversionPattern;

  LogicalResult matchAndRewrite(arith::TruncFOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    Type inType = op.getIn().getType(), outType = op.getType();
    auto fromType = cast<FloatType>(getElementTypeOrSelf(inType));
    auto toType = cast<FloatType>(getElementTypeOrSelf(outType));
    if (!isa<Float32Type, Float64Type>(fromType))
      return rewriter.notifyMatchFailure(op, "expected f32 or f64");
    Format from(fromType), to(toType);
    BitBuilder b(op.getLoc(), rewriter, inType, from.bits);
    Value bits = arith::BitcastOp::create(b, b.getType(), adaptor.getIn());
    Value sign = b.bitAnd(bits, b.bits(from.signBit()));
    Value abs = b.sub(bits, sign);
    Value result = b.bitOr(roundMagnitude(b, abs, from, to),
                           b.shr(sign, b.bits(from.bits - to.bits)));
    Value narrow = arith::TruncIOp::create(
        b, withElement(outType, b.getIntegerType(to.bits)), result);
    rewriter.replaceOpWithNewOp<arith::BitcastOp>(op, outType, narrow);
    return success();
  }
};

/// extf from f16 or bf16 to f32 or f64.
struct ExpandExtF final : OpConversionPattern<arith::ExtFOp> {
  using OpConversionPattern::OpConversionPattern;

  LogicalResult matchAndRewrite(arith::ExtFOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    Type inType = op.getIn().getType();
    auto fromType = cast<FloatType>(getElementTypeOrSelf(inType));
    if (!isa<Float32Type, Float64Type>(getElementTypeOrSelf(op.getType())))
      return rewriter.notifyMatchFailure(op, "expected f32 or f64");
    Format from(fromType), to(cast<FloatType>(rewriter.getF32Type()));
    BitBuilder b(op.getLoc(), rewriter, inType, to.bits);
    Type f32 = withElement(inType, b.getF32Type());
    Value narrow = arith::BitcastOp::create(
        b, withElement(inType, b.getIntegerType(from.bits)), adaptor.getIn());
    Value bits = arith::ExtUIOp::create(b, b.getType(), narrow);

    // bf16 is the upper half of an f32.
    Value single = fromType.isBF16() ? b.shl(bits, b.bits(to.bits - from.bits))
                                     : extendHalf(b, bits, f32, from, to);
    Value result = arith::BitcastOp::create(b, f32, single);
    if (op.getType() != f32)
      result = arith::ExtFOp::create(b, op.getType(), result);
    rewriter.replaceOp(op, result);
    return success();
  }

private:
  static Value extendHalf(BitBuilder &b, Value bits, Type f32, Format from, Format to) {
    Value sign = b.bitAnd(bits, b.bits(from.signBit()));
    Value abs = b.sub(bits, sign);
    Value wide = b.shl(abs, b.bits(to.mantissa - from.mantissa));
    Value rebias = b.bits((to.bias - from.bias) << to.mantissa);
    Value normal = b.add(wide, rebias);
    // Infinity and NaN: the largest exponent becomes the largest exponent.
    Value isFinite = b.less(abs, b.bits(from.infinity()));
    normal = b.select(isFinite, normal, b.add(normal, rebias));
    // A denormal is a small integer times the smallest one, exactly.
    Value integer = arith::SIToFPOp::create(b, f32, abs);
    TypedAttr smallest = b.getF32FloatAttr(0x1p-24f);
    if (auto shaped = dyn_cast<ShapedType>(f32))
      smallest = DenseElementsAttr::get(shaped, smallest);
    Value scaled = arith::MulFOp::create(b, integer, arith::ConstantOp::create(b, smallest));
    Value denormal = arith::BitcastOp::create(b, b.getType(), scaled);
    Value isDenormal = b.less(abs, b.bits(int64_t(1) << from.mantissa));
    return b.bitOr(b.select(isDenormal, denormal, normal),
                   b.shl(sign, b.bits(to.bits - from.bits)));
  }
};

//===----------------------------------------------------------------------===//
// Copies
//===----------------------------------------------------------------------===//

/// A copy between buffers of which one is not known to be contiguous.
struct ExpandCopy final : OpConversionPattern<memref::CopyOp> {
  using OpConversionPattern::OpConversionPattern;

  static bool isExpanded(memref::CopyOp op) {
    auto isContiguous = [](Value buffer) {
      auto type = dyn_cast<MemRefType>(buffer.getType());
      return type && type.getLayout().isIdentity();
    };
    return !isContiguous(op.getSource()) || !isContiguous(op.getTarget());
  }

  LogicalResult matchAndRewrite(memref::CopyOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    auto type = dyn_cast<MemRefType>(op.getSource().getType());
    if (!type || !isa<MemRefType>(op.getTarget().getType()))
      return rewriter.notifyMatchFailure(op, "expected ranked memrefs");
    Value zero = arith::ConstantIndexOp::create(rewriter, loc, 0);
    Value one = arith::ConstantIndexOp::create(rewriter, loc, 1);
    SmallVector<Value> indices;
    for (int64_t dim = 0; dim < type.getRank(); ++dim) {
      Value size = memref::DimOp::create(rewriter, loc, op.getSource(), dim);
      auto loop = scf::ForOp::create(rewriter, loc, zero, size, one);
      indices.push_back(loop.getInductionVar());
      rewriter.setInsertionPointToStart(loop.getBody());
    }
    Value element = memref::LoadOp::create(rewriter, loc, op.getSource(), indices);
    memref::StoreOp::create(rewriter, loc, element, op.getTarget(), indices);
    rewriter.eraseOp(op);
    return success();
  }
};

struct ExpandRuntimeCallsPass final
    : kvc::impl::ExpandRuntimeCallsPassBase<ExpandRuntimeCallsPass> {
  using Base::Base;
  void runOnOperation() override;
};
} // namespace

void ExpandRuntimeCallsPass::runOnOperation() {
  ConversionTarget target(getContext());
  target.markUnknownOpDynamicallyLegal([](Operation *) { return true; });
  target.addDynamicallyLegalOp<arith::TruncFOp>(
      [](arith::TruncFOp op) { return !isNarrow(op.getType()); });
  target.addDynamicallyLegalOp<arith::ExtFOp>(
      [](arith::ExtFOp op) { return !isNarrow(op.getIn().getType()); });
  target.addDynamicallyLegalOp<memref::CopyOp>(
      [](memref::CopyOp op) { return !ExpandCopy::isExpanded(op); });
  RewritePatternSet patterns(&getContext());
  patterns.add<ExpandTruncF, ExpandExtF, ExpandCopy>(&getContext());
  if (failed(applyPartialConversion(getOperation(), target, std::move(patterns))))
    signalPassFailure();
}
