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
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include "llvm/ADT/TypeSwitch.h"

#define DEBUG_TYPE "kvc-expand-device-math"

namespace kvc {
#define GEN_PASS_DEF_EXPANDDEVICEMATHPASS
#include "kvc/Conversion/Passes.h.inc"
} // namespace kvc

using namespace mlir;
using namespace kvc;

/// Functions that upstream's conversion leaves to LLVM.
static bool isLeft(Operation *op) {
  return isa<math::AbsIOp, math::CountLeadingZerosOp, math::CountTrailingZerosOp, math::CtPopOp,
             math::FmaOp, math::RoundEvenOp, math::TruncOp>(op);
}

/// LLVM's name of a function that a GPU has an instruction for, while upstream's conversion
/// calls a library.
static StringRef getIntrinsic(Operation *op) {
  return llvm::TypeSwitch<Operation *, StringRef>(op)
      .Case([](math::AbsFOp) { return "llvm.fabs"; })
      .Case([](math::CeilOp) { return "llvm.ceil"; })
      .Case([](math::CopySignOp) { return "llvm.copysign"; })
      .Case([](math::FloorOp) { return "llvm.floor"; })
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
  RewritePatternSet patterns(&getContext());
  math::populateExpansionPatterns(
      patterns, {"rsqrt", "sinh", "cosh", "powf", "fpowi", "exp2f", "roundf", "clampf"});
  // Upstream's reduction of the angle loses digits as it grows: not for sine and cosine.
  populateMathPolynomialApproximationPatterns(patterns, [](StringRef name) {
    return name != math::SinOp::getOperationName() && name != math::CosOp::getOperationName();
  });
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
