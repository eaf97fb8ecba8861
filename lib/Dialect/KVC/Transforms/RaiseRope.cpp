//===- RaiseRope.cpp - from a model's own code to rotary embeddings -------===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "RopeElements.h"

#include "kvc/Dialect/KVC/Transforms/Passes.h"

#include "mlir/IR/Remarks.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#define DEBUG_TYPE "kvc-raise-rope"

namespace kvc {
#define GEN_PASS_DEF_RAISEROPEPASS
#include "kvc/Dialect/KVC/Transforms/Passes.h.inc"
} // namespace kvc

using namespace mlir;
using namespace kvc;

namespace {
struct RaiseRopePass final : kvc::impl::RaiseRopePassBase<RaiseRopePass> {
  using Base::Base;
  void runOnOperation() override;
};

/// What was in the way, of a tensor whose first column comes from `origin`.
struct Missed {
  Value origin;
  std::string reason;
  Location loc;
};
} // namespace

/// The tensor that the first column of `tensor` is computed in.
static Value findOrigin(Elements &elements, Value tensor) {
  SmallVector<AffineExpr> indices;
  for (AffineExpr size : elements.getSizes(tensor))
    indices.push_back(elements.getSpace().addDim(size));
  indices.back() = elements.getSpace().constant(0);
  return elements.followMoves(elements.load(tensor, indices))->tensor;
}

void RaiseRopePass::runOnOperation() {
  func::FuncOp function = getOperation();
  if (!llvm::hasSingleElement(function.getBody()))
    return;
  Elements elements(function);
  OpBuilder b(function.getContext());
  IRRewriter rewriter(b);
  // The last tensor that is an embedding is the one with the fewest moves and conversions
  // after it; those before it are no longer used then.
  SmallVector<Operation *> ops = llvm::to_vector(llvm::make_pointer_range(
      function.getBody().front().getOperations()));
  llvm::SmallPtrSet<Operation *, 16> unused;
  SmallVector<Missed> missed;
  for (Operation *op : llvm::reverse(ops)) {
    if (isUnused(op, unused)) {
      unused.insert(op);
      continue;
    }
    if (op->getNumResults() != 1 || isa<DenseRopeOp>(op))
      continue;
    Value root = op->getResult(0);
    auto type = dyn_cast<RankedTensorType>(root.getType());
    if (!type || !isa<Float16Type, BFloat16Type, Float32Type, Float64Type>(type.getElementType()))
      continue;
    elements.forgetElements();
    RaiseFailure why;
    Value raised;
    if (std::optional<RopeElements> rope = matchRope(elements, root, why))
      raised = buildRope(b, elements, *rope, root, why);
    if (!raised && why.reason.empty())
      continue;
    elements.resetBudget();
    Value origin = findOrigin(elements, root);
    auto isSame = [&](const Missed &other) { return other.origin == origin; };
    if (!raised) {
      // The nearest to the embedding itself says best what is in the way.
      llvm::erase_if(missed, isSame);
      missed.push_back({origin, why.reason, op->getLoc()});
      continue;
    }
    llvm::erase_if(missed, isSame);
    root.replaceAllUsesWith(raised);
    unused.insert(op);
    remark::passed(raised.getLoc(),
                   remark::RemarkOpts::name("RaisedRope").category(DEBUG_TYPE))
        << "rotary embedding raised";
  }
  for (Operation *op : llvm::reverse(ops))
    if (isOpTriviallyDead(op))
      rewriter.eraseOp(op);
  for (const Missed &miss : missed)
    remark::missed(miss.loc, remark::RemarkOpts::name("RaisedRope").category(DEBUG_TYPE))
        << remark::reason("not raised to a rotary embedding: {0}", miss.reason);
}
