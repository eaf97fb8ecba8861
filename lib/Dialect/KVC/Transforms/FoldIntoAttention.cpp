//===- FoldIntoAttention.cpp - what keys and values are made of -----------===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "FoldIntoAttention.h"

#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;
using namespace kvc;

using Expr = Elements::Expr;
using Dim = DenseAttentionOp::Dim;

bool kvc::isCached(Value value) {
  for (OpOperand &use : value.getUses())
    if (auto ret = dyn_cast<func::ReturnOp>(use.getOwner())) {
      auto function = cast<func::FuncOp>(ret->getParentOp());
      if (function.getResultAttr(use.getOperandNumber(), kCacheName))
        return true;
    }
  return false;
}

AttentionElements kvc::readAttention(Elements &elements, DenseAttentionOp op) {
  elements.resetBudget();
  AttentionElements result;
  IndexSpace &space = elements.getSpace();
  Expr dims[DenseAttentionOp::kNumDims];
  // The width is each operand's own, and given.
  auto load = [&](Value value, AffineMap map, Expr &width) {
    SmallVector<Expr> indices;
    for (auto [position, expr] : llvm::enumerate(map.getResults())) {
      auto dim = dyn_cast<AffineDimExpr>(expr);
      if (!dim) {
        indices.push_back(space.constant(0));
        continue;
      }
      Expr &known = dim.getPosition() == Dim::Width ? width : dims[dim.getPosition()];
      if (!known)
        known = space.addDim(elements.getSize(value, position));
      indices.push_back(known);
    }
    return elements.load(value, indices);
  };
  for (unsigned term = 0; term < op.getQueries().size(); ++term) {
    Expr width;
    Element query = load(op.getQueries()[term], op.getQueryMap(term), width);
    Element key = load(op.getKeys()[term], op.getKeyMap(term), width);
    result.terms.push_back({query, key, width});
  }
  Expr width, none;
  result.value = load(op.getValue(), op.getValueMap(), width);
  if (op.getMask())
    result.mask = load(op.getMask(), op.getMaskMap(), none);
  if (op.getSinks())
    result.sinks = load(op.getSinks(), op.getSinksMap(), none);
  for (auto [position, expr] : llvm::enumerate(op.getOutputMap().getResults())) {
    // One of size 1 may be there that no operand has.
    auto dim = dyn_cast<AffineDimExpr>(expr);
    Expr known = !dim                              ? Expr()
                 : dim.getPosition() == Dim::Width ? width
                                                   : dims[dim.getPosition()];
    if (!known)
      known = space.addDim(elements.getSize(op.getOutput(), position));
    result.outputDims.push_back(known);
  }
  result.keyDim = dims[Dim::Key];
  result.queryDim = dims[Dim::Query];
  result.batchDim = dims[Dim::Batch];
  result.scale = op.getScale().convertToDouble();
  result.score = SmallVector<Attribute>(op.getScore().begin(), op.getScore().end());
  return result;
}

namespace {
/// Collects what is made in one block.
struct Created final : OpBuilder::Listener {
  explicit Created(Block &block) : block(block) {}
  void notifyOperationInserted(Operation *op, OpBuilder::InsertPoint) override {
    if (op->getBlock() == &block)
      ops.push_back(op);
  }
  Block &block;
  SmallVector<Operation *> ops;
};
} // namespace

void kvc::rewriteAttentions(
    func::FuncOp function,
    function_ref<Value(OpBuilder &, Elements &, DenseAttentionOp)> rewrite) {
  if (!llvm::hasSingleElement(function.getBody()))
    return;
  Elements elements(function);
  Created created(function.getBody().front());
  OpBuilder b(function.getContext(), &created);
  SmallVector<Operation *> replaced;
  for (auto op : llvm::to_vector(function.getBody().front().getOps<DenseAttentionOp>()))
    if (Value value = rewrite(b, elements, op)) {
      replaceTensor(b, op.getOutput(), value);
      replaced.push_back(op);
    }
  // Only now, as the analysis knows values by where they are.
  for (Operation *op : replaced)
    op->erase();
  // What was begun before a rewrite gave up.
  for (Operation *op : llvm::reverse(created.ops))
    if (isOpTriviallyDead(op))
      op->erase();
}
