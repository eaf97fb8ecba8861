//===- ExpandDeviceMath.cpp - functions that a GPU has no library for -----===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "kvc/Conversion/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Math/Transforms/Passes.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include "llvm/ADT/TypeSwitch.h"

#include <cmath>

#define DEBUG_TYPE "kvc-expand-device-math"

namespace kvc {
#define GEN_PASS_DEF_EXPANDDEVICEMATHPASS
#include "kvc/Conversion/Passes.h.inc"
} // namespace kvc

using namespace mlir;
using namespace kvc;

/// Functions whose polynomials of upstream are within a few units in the last place for all
/// numbers: not sine and cosine of large angles, powers, and cube roots.
static const llvm::StringRef kPolynomials[] = {
    math::AcosOp::getOperationName(), math::AsinOp::getOperationName(),
    math::ErfOp::getOperationName(),  math::ErfcOp::getOperationName(),
    math::ExpOp::getOperationName(),  math::ExpM1Op::getOperationName(),
    math::LogOp::getOperationName(),  math::Log1pOp::getOperationName(),
    math::Log2Op::getOperationName(), math::TanhOp::getOperationName()};

/// log x = log (x 2^23) - log 2^23 where x is not normal.
static void scaleLogarithm(Operation *op) {
  ImplicitLocOpBuilder b(op->getLoc(), op);
  auto number = [&](double value) -> Value {
    return arith::ConstantOp::create(b, b.getF32FloatAttr(value));
  };
  Value x = op->getOperand(0);
  Value isSmall =
      arith::CmpFOp::create(b, arith::CmpFPredicate::OLT, x, number(std::ldexp(1.0, -126)));
  Value scaled = arith::MulFOp::create(b, x, number(std::ldexp(1.0, 23)));
  op->setOperand(0, arith::SelectOp::create(b, isSmall, scaled, x));
  b.setInsertionPointAfter(op);
  Value shift = number(isa<math::Log2Op>(op) ? 23.0 : 23.0 * std::log(2.0));
  Value result = op->getResult(0);
  Value less = arith::SubFOp::create(b, result, shift);
  Value chosen = arith::SelectOp::create(b, isSmall, less, result);
  result.replaceUsesWithIf(chosen, [&](OpOperand &use) {
    return use.getOwner() != less.getDefiningOp() && use.getOwner() != chosen.getDefiningOp();
  });
}

/// Functions that upstream's conversion leaves to LLVM.
static bool isLeft(Operation *op) {
  return isa<math::AbsIOp, math::CountLeadingZerosOp, math::CountTrailingZerosOp, math::CtPopOp,
             math::FmaOp, math::TruncOp>(op);
}

/// LLVM's name of a function that a GPU has an instruction for, while upstream's conversion
/// calls a library.
static StringRef getIntrinsic(Operation *op) {
  return llvm::TypeSwitch<Operation *, StringRef>(op)
      .Case([](math::AbsFOp) { return "llvm.fabs"; })
      .Case([](math::CeilOp) { return "llvm.ceil"; })
      .Case([](math::CopySignOp) { return "llvm.copysign"; })
      .Case([](math::FloorOp) { return "llvm.floor"; })
      .Case([](math::RoundEvenOp) { return "llvm.roundeven"; })
      .Case([](math::SqrtOp) { return "llvm.sqrt"; })
      .Default([](Operation *) { return ""; });
}

namespace {
struct ExpandDeviceMathPass final : kvc::impl::ExpandDeviceMathPassBase<ExpandDeviceMathPass> {
  using Base::Base;
  void runOnOperation() override;
};
} // namespace

void ExpandDeviceMathPass::runOnOperation() {
  // Upstream's polynomials take no numbers below the smallest normal one.
  SmallVector<Operation *> logarithms;
  getOperation().walk([&](Operation *op) {
    if (isa<math::LogOp, math::Log2Op>(op) && op->getResult(0).getType().isF32())
      logarithms.push_back(op);
  });
  llvm::for_each(logarithms, scaleLogarithm);
  RewritePatternSet patterns(&getContext());
  math::populateExpansionPatterns(patterns, {"rsqrt", "clampf"});
  populateMathPolynomialApproximationPatterns(
      patterns, [](StringRef name) { return llvm::is_contained(kPolynomials, name); });
  if (failed(applyPatternsGreedily(getOperation(), std::move(patterns))))
    return signalPassFailure();
  auto result = getOperation().walk([](Operation *op) {
    if (!isa<math::MathDialect>(op->getDialect()) || isLeft(op))
      return WalkResult::advance();
    if (StringRef intrinsic = getIntrinsic(op); !intrinsic.empty()) {
      OpBuilder b(op);
      op->replaceAllUsesWith(
          LLVM::CallIntrinsicOp::create(b, op->getLoc(), op->getResult(0).getType(),
                                        b.getStringAttr(intrinsic), op->getOperands()));
      op->erase();
      return WalkResult::advance();
    }
    op->emitError("no GPU kernel for '")
        << op->getName() << "' of " << op->getResult(0).getType();
    return WalkResult::interrupt();
  });
  if (result.wasInterrupted())
    signalPassFailure();
}
