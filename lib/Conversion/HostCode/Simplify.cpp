//===- Simplify.cpp - host code as few loops over elements ----------------===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Patterns.h"

#include "kvc/Conversion/Passes.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Linalg/Transforms/Transforms.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Math/Transforms/Passes.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

#define DEBUG_TYPE "kvc-simplify-host-code"

namespace kvc {
#define GEN_PASS_DEF_SIMPLIFYHOSTCODEPASS
#include "kvc/Conversion/Passes.h.inc"
} // namespace kvc

using namespace mlir;
using namespace kvc;

namespace {
/// tensor.gather, as a computation of each element of the result.
struct ExpandGather final : OpRewritePattern<tensor::GatherOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(tensor::GatherOp op,
                                PatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    RankedTensorType type = op.getResultType();
    int64_t batchRank = op.getIndicesType().getRank() - 1;
    int64_t sourceRank = op.getSourceType().getRank();
    ArrayRef<int64_t> gathered = op.getGatherDims();
    bool keepsRank = type.getRank() == batchRank + sourceRank;

    // Dimensions of the result: those of the indices but the last, then the source's,
    // of which the gathered ones are 1 or left out.
    SmallVector<int64_t> resultDimOf(sourceRank, -1);
    SmallVector<OpFoldResult> sizes;
    for (int64_t dim = 0; dim < batchRank; ++dim)
      sizes.push_back(tensor::getMixedSize(rewriter, loc, op.getIndices(), dim));
    for (int64_t dim = 0; dim < sourceRank; ++dim) {
      bool isGathered = llvm::is_contained(gathered, dim);
      if (isGathered && !keepsRank)
        continue;
      resultDimOf[dim] = sizes.size();
      sizes.push_back(isGathered ? rewriter.getIndexAttr(1)
                                 : tensor::getMixedSize(rewriter, loc, op.getSource(), dim));
    }
    Value init = tensor::EmptyOp::create(rewriter, loc, sizes, type.getElementType());
    AffineMap identity = rewriter.getMultiDimIdentityMap(type.getRank());
    SmallVector<utils::IteratorType> loops(type.getRank(), utils::IteratorType::parallel);
    auto generic = linalg::GenericOp::create(
        rewriter, loc, init.getType(), ValueRange(), init, identity, loops,
        [&](OpBuilder &b, Location loc, ValueRange) {
          auto position = [&](int64_t dim) -> Value {
            return linalg::IndexOp::create(b, loc, dim);
          };
          SmallVector<Value> coordinate;
          for (int64_t dim = 0; dim < batchRank; ++dim)
            coordinate.push_back(position(dim));
          coordinate.push_back(Value());
          SmallVector<Value> indices(sourceRank);
          for (auto [place, dim] : llvm::enumerate(gathered)) {
            coordinate.back() = arith::ConstantIndexOp::create(b, loc, place);
            Value index = tensor::ExtractOp::create(b, loc, op.getIndices(), coordinate);
            if (!index.getType().isIndex())
              index = arith::IndexCastOp::create(b, loc, b.getIndexType(), index);
            indices[dim] = index;
          }
          for (int64_t dim = 0; dim < sourceRank; ++dim)
            if (!indices[dim])
              indices[dim] = position(resultDimOf[dim]);
          Value element = tensor::ExtractOp::create(b, loc, op.getSource(), indices);
          linalg::YieldOp::create(b, loc, element);
        });
    Value result = generic.getResult(0);
    if (result.getType() != type)
      result = tensor::CastOp::create(rewriter, loc, type, result);
    rewriter.replaceOp(op, result);
    return success();
  }
};

/// linalg.softmax, as the maximum, the exponentials, their sum and the quotients.
struct DecomposeSoftmax final : OpRewritePattern<linalg::SoftmaxOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(linalg::SoftmaxOp op,
                                PatternRewriter &rewriter) const override {
    FailureOr<SmallVector<Value>> parts = op.decomposeOperation(rewriter);
    if (failed(parts))
      return rewriter.notifyMatchFailure(op, "expected a softmax that decomposes");
    rewriter.replaceOp(op, *parts);
    return success();
  }
};

struct SimplifyHostCodePass final : kvc::impl::SimplifyHostCodePassBase<SimplifyHostCodePass> {
  using Base::Base;
  void runOnOperation() override;
};
} // namespace

/// True if each element of the result is one of an operand, such as of a transpose or of
/// heads that repeat, or that one in a wider type.
static bool isMove(linalg::LinalgOp op) {
  if (!isa<linalg::GenericOp>(op) || op->getNumResults() != 1 ||
      op.getNumLoops() != op.getNumParallelLoops())
    return false;
  Value element = op.getBlock()->getTerminator()->getOperand(0);
  if (auto wider = element.getDefiningOp<arith::ExtFOp>())
    element = wider.getIn();
  auto argument = dyn_cast<BlockArgument>(element);
  return argument && argument.getOwner() == op.getBlock() &&
         argument.getArgNumber() < op.getNumDpsInputs();
}

/// True if the producer of `operand` may be computed inside of the operation that uses
/// it: each of its elements is still computed once, or is only read elsewhere.
static bool isWorthFusing(OpOperand *operand) {
  auto consumer = dyn_cast<linalg::LinalgOp>(operand->getOwner());
  auto producer = operand->get().getDefiningOp<linalg::LinalgOp>();
  if (!consumer || !producer)
    return false;
  if (isMove(producer))
    return true;
  return producer->hasOneUse() && consumer.getNumLoops() == consumer.getNumParallelLoops() &&
         consumer.getMatchingIndexingMap(operand).isPermutation();
}

/// True for what becomes a linalg.generic: elements that are computed one by one, and what
/// reads elements that only moved.
static bool isToBeGeneric(linalg::LinalgOp op) {
  if (isa<linalg::GenericOp, linalg::FillOp, linalg::CopyOp>(op))
    return false;
  return op.getNumLoops() == op.getNumParallelLoops() ||
         llvm::any_of(op.getDpsInputs(), [](Value input) {
           auto producer = input.getDefiningOp<linalg::LinalgOp>();
           return producer && isMove(producer);
         });
}

void SimplifyHostCodePass::runOnOperation() {
  RewritePatternSet patterns(&getContext());
  patterns.add<ExpandGather, DecomposeSoftmax>(&getContext());
  populateLoopDimPatterns(patterns);
  populateMathAlgebraicSimplificationPatterns(patterns); // squares that are spelled as powers
  if (failed(applyPatternsGreedily(getOperation(), std::move(patterns))))
    return signalPassFailure();
  // Transposes and the like are computed element by element as well.
  IRRewriter rewriter(&getContext());
  auto result = getOperation().walk([&](linalg::LinalgOp op) {
    if (!isToBeGeneric(op))
      return WalkResult::advance();
    rewriter.setInsertionPoint(op);
    if (succeeded(linalg::generalizeNamedOp(rewriter, op)))
      return WalkResult::advance();
    op.emitOpError("expected an operation that linalg.generic can express");
    return WalkResult::interrupt();
  });
  if (result.wasInterrupted())
    return signalPassFailure();
  RewritePatternSet fusion(&getContext());
  linalg::populateElementwiseOpsFusionPatterns(fusion, isWorthFusing);
  if (failed(applyPatternsGreedily(getOperation(), std::move(fusion))))
    return signalPassFailure();
}
