//===- LoopDims.cpp - dimensions of tensors that loops carry --------------===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Upstream follows slices through a loop; this follows every operation that writes
// into a destination.
//===----------------------------------------------------------------------===//
#include "Patterns.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Interfaces/DestinationStyleOpInterface.h"

using namespace mlir;

/// True if result `index` of `loop` has the shape that it begins with.
static bool keepsShape(scf::ForOp loop, unsigned index) {
  Value value = loop.getYieldedValues()[index];
  while (value != loop.getRegionIterArgs()[index]) {
    auto result = dyn_cast<OpResult>(value);
    if (!result)
      return false;
    if (auto nested = dyn_cast<scf::ForOp>(result.getOwner())) {
      if (!keepsShape(nested, result.getResultNumber()))
        return false;
      value = nested.getInitArgs()[result.getResultNumber()];
    } else if (auto op = dyn_cast<DestinationStyleOpInterface>(result.getOwner())) {
      value = op.getTiedOpOperand(result)->get();
    } else {
      return false;
    }
  }
  return true;
}

namespace {
struct ResolveLoopDim final : OpRewritePattern<tensor::DimOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(tensor::DimOp op, PatternRewriter &rewriter) const override {
    scf::ForOp loop;
    unsigned index = 0;
    if (auto arg = dyn_cast<BlockArgument>(op.getSource())) {
      loop = dyn_cast_or_null<scf::ForOp>(arg.getOwner()->getParentOp());
      if (!loop || arg == loop.getInductionVar())
        return rewriter.notifyMatchFailure(op, "expected a tensor that scf.for carries");
      index = arg.getArgNumber() - loop.getNumInductionVars();
    } else {
      auto result = cast<OpResult>(op.getSource());
      loop = dyn_cast<scf::ForOp>(result.getOwner());
      if (!loop)
        return rewriter.notifyMatchFailure(op, "expected a tensor that scf.for carries");
      index = result.getResultNumber();
    }
    if (!keepsShape(loop, index))
      return rewriter.notifyMatchFailure(op, "expected a shape that no iteration changes");
    rewriter.modifyOpInPlace(op, [&] { op.getSourceMutable().assign(loop.getInitArgs()[index]); });
    return success();
  }
};
} // namespace

void kvc::populateLoopDimPatterns(RewritePatternSet &patterns) {
  patterns.add<ResolveLoopDim>(patterns.getContext());
}
