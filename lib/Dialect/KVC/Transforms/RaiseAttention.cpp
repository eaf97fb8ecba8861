//===- RaiseAttention.cpp - from a model's own code to attention ----------===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "FoldIntoAttention.h"

#include "kvc/Dialect/KVC/Transforms/Passes.h"

#include "mlir/IR/Remarks.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#define DEBUG_TYPE "kvc-raise-attention"

namespace kvc {
#define GEN_PASS_DEF_RAISEATTENTIONPASS
#include "kvc/Dialect/KVC/Transforms/Passes.h.inc"
} // namespace kvc

using namespace mlir;
using namespace kvc;

namespace {
struct RaiseAttentionPass final : kvc::impl::RaiseAttentionPassBase<RaiseAttentionPass> {
  using Base::Base;
  void runOnOperation() override;
};
} // namespace

void RaiseAttentionPass::runOnOperation() {
  func::FuncOp function = getOperation();
  if (!llvm::hasSingleElement(function.getBody()))
    return;
  Elements elements(function);
  OpBuilder b(function.getContext());
  IRRewriter rewriter(b);
  SmallVector<Operation *> ops = llvm::to_vector(
      llvm::map_range(function.getBody().front(), [](Operation &op) { return &op; }));
  // The last tensor that is an attention is the one with the fewest moves after it. What
  // it was computed by is dead then, and not looked at. Tensors further down that are not
  // quite an attention do not matter then: reasons are kept until one is found, each for the
  // first tensor it holds for.
  SmallVector<std::pair<std::string, Location>> missed;
  llvm::SmallPtrSet<Operation *, 16> unused;
  for (Operation *op : llvm::reverse(ops)) {
    if (isUnused(op, unused)) {
      unused.insert(op);
      continue;
    }
    if (op->getNumResults() != 1 || isa<DenseAttentionOp>(op))
      continue;
    Value root = op->getResult(0);
    auto type = dyn_cast<RankedTensorType>(root.getType());
    if (!type || !isa<Float64Type, Float32Type, Float16Type, BFloat16Type>(type.getElementType()))
      continue;
    elements.forgetElements();
    RaiseFailure why;
    Value raised;
    if (std::optional<AttentionElements> attention = matchAttention(elements, root, why))
      raised = buildAttention(b, elements, std::move(*attention), op, type.getElementType(),
                              isCached, why);
    if (raised) {
      replaceTensor(b, root, raised);
      unused.insert(op);
      remark::passed(raised.getLoc(),
                     remark::RemarkOpts::name("RaisedAttention").category(DEBUG_TYPE))
          << "attention raised";
      missed.clear();
    } else if (!why.reason.empty()) {
      llvm::erase_if(missed, [&](const auto &other) { return other.first == why.reason; });
      missed.emplace_back(why.reason, op->getLoc());
    }
  }
  for (Operation *op : llvm::reverse(ops))
    if (isOpTriviallyDead(op))
      rewriter.eraseOp(op);
  for (const auto &[reason, loc] : missed)
    remark::missed(loc, remark::RemarkOpts::name("RaisedAttention").category(DEBUG_TYPE))
        << remark::reason("not raised to attention: {0}", reason);
}
