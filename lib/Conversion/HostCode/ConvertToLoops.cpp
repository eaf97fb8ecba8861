//===- ConvertToLoops.cpp - linalg as loops along contiguous memory -------===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "LoopNest.h"
#include "Patterns.h"

#include "kvc/Conversion/Passes.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Linalg/Transforms/Transforms.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

#define DEBUG_TYPE "kvc-convert-host-code-to-loops"

namespace kvc {
#define GEN_PASS_DEF_CONVERTHOSTCODETOLOOPSPASS
#include "kvc/Conversion/Passes.h.inc"
} // namespace kvc

using namespace mlir;
using namespace kvc;

/// What it costs to have `loop` innermost: an operand that strides along it counts most,
/// a sum over it, which is a chain of additions, a little.
static int64_t getInnermostCost(linalg::LinalgOp op, unsigned loop) {
  AffineExpr dim = getAffineDimExpr(loop, op->getContext());
  int64_t cost = 0;
  for (OpOperand &operand : op->getOpOperands()) {
    auto type = dyn_cast<MemRefType>(operand.get().getType());
    AffineMap map = op.getMatchingIndexingMap(&operand);
    if (!type || !map.isFunctionOfDim(loop))
      continue;
    SmallVector<int64_t> strides;
    int64_t offset;
    bool isContiguous =
        map.getResults().back() == dim &&
        llvm::count_if(map.getResults(),
                       [&](AffineExpr expr) { return expr.isFunctionOfDim(loop); }) == 1 &&
        succeeded(type.getStridesAndOffset(strides, offset)) && strides.back() == 1;
    cost += isContiguous ? 0 : 4;
  }
  return cost + (linalg::isReductionIterator(op.getIteratorTypesArray()[loop]) ? 1 : 0);
}

/// The operation as a linalg.generic.
static FailureOr<linalg::LinalgOp> getGeneric(RewriterBase &rewriter, linalg::LinalgOp op) {
  if (isa<linalg::GenericOp>(op))
    return op;
  FailureOr<linalg::GenericOp> made = linalg::generalizeNamedOp(rewriter, op);
  if (failed(made))
    return failure();
  return cast<linalg::LinalgOp>(made->getOperation());
}

/// Puts the cheapest loop innermost; the others keep their order.
static FailureOr<linalg::LinalgOp> orderLoops(IRRewriter &rewriter, linalg::LinalgOp op) {
  unsigned numLoops = op.getNumLoops();
  if (numLoops < 2)
    return getGeneric(rewriter, op);
  unsigned innermost = numLoops - 1;
  for (unsigned loop = numLoops - 1; loop-- > 0;)
    if (getInnermostCost(op, loop) < getInnermostCost(op, innermost))
      innermost = loop;
  if (innermost == numLoops - 1)
    return getGeneric(rewriter, op);
  FailureOr<linalg::LinalgOp> made = getGeneric(rewriter, op);
  if (failed(made))
    return failure();
  auto generic = cast<linalg::GenericOp>(made->getOperation());
  SmallVector<unsigned> order;
  for (unsigned loop = 0; loop < numLoops; ++loop)
    if (loop != innermost)
      order.push_back(loop);
  order.push_back(innermost);
  rewriter.setInsertionPoint(generic);
  FailureOr<linalg::GenericOp> ordered = linalg::interchangeGenericOp(rewriter, generic, order);
  if (failed(ordered))
    return failure();
  return cast<linalg::LinalgOp>(ordered->getOperation());
}

void kvc::relaxSums(linalg::LinalgOp op) {
  if (op.getNumReductionLoops() == 0)
    return;
  op.getBlock()->walk([](arith::ArithFastMathInterface nested) {
    if (isa<arith::AddFOp, arith::MulFOp, arith::SubFOp>(nested.getOperation())) {
      auto flags = nested.getFastMathFlagsAttr().getValue();
      nested->setAttr(nested.getFastMathAttrName(),
                      arith::FastMathFlagsAttr::get(nested->getContext(),
                                                    flags | arith::FastMathFlags::reassoc |
                                                        arith::FastMathFlags::contract));
    }
  });
}

/// Loops over elements, and inside of them sums in registers: LLVM cannot tell whether memory
/// that is summed up in is read as well.
static void emitSums(linalg::GenericOp op) {
  ImplicitLocOpBuilder b(op.getLoc(), op);
  SmallVector<Value> sizes;
  for (Range range : cast<linalg::LinalgOp>(op.getOperation()).createLoopRanges(b, op.getLoc()))
    sizes.push_back(getValueOrCreateConstantIndexOp(b, op.getLoc(), range.size));
  IRMapping map;
  LoopNest nest(op, b, sizes, map);
  SmallVector<unsigned> parallel;
  op.getParallelDims(parallel);
  for (unsigned loop : parallel) {
    Value zero = arith::ConstantIndexOp::create(b, 0),
          one = arith::ConstantIndexOp::create(b, 1);
    auto open = scf::ForOp::create(b, zero, sizes[loop], one);
    nest.position[loop] = open.getInductionVar();
    b.setInsertionPointToStart(open.getBody());
  }
  nest.emitElements();
}

/// Emits the loops of an operation, in its own order, before it.
static LogicalResult emitLoops(RewriterBase &rewriter, linalg::LinalgOp op) {
  auto generic = dyn_cast<linalg::GenericOp>(op.getOperation());
  bool endsInSum = op.getNumReductionLoops() > 0 &&
                   linalg::isReductionIterator(op.getIteratorTypesArray().back());
  if (!generic || !endsInSum || !sumsInRegisters(generic))
    return linalg::linalgOpToLoops(rewriter, op);
  emitSums(generic);
  return success();
}

namespace {
struct ConvertHostCodeToLoopsPass final
    : kvc::impl::ConvertHostCodeToLoopsPassBase<ConvertHostCodeToLoopsPass> {
  using Base::Base;
  void runOnOperation() override;
};
} // namespace

void ConvertHostCodeToLoopsPass::runOnOperation() {
  SmallVector<linalg::LinalgOp> ops;
  getOperation().walk([&](linalg::LinalgOp op) { ops.push_back(op); });
  IRRewriter rewriter(&getContext());
  for (linalg::LinalgOp op : ops) {
    rewriter.setInsertionPoint(op);
    FailureOr<linalg::LinalgOp> ordered = orderLoops(rewriter, op);
    if (succeeded(ordered)) {
      relaxSums(*ordered);
      rewriter.setInsertionPoint(*ordered);
    }
    if (failed(ordered) || failed(emitLoops(rewriter, *ordered))) {
      op.emitError("expected an operation that becomes loops");
      return signalPassFailure();
    }
    rewriter.eraseOp(*ordered);
  }
}
