//===- EliminateGQABroadcast.cpp - heads that are repeated ----------------===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "FoldIntoAttention.h"

#include "kvc/Dialect/KVC/Transforms/Passes.h"

#include "mlir/IR/Remarks.h"

#define DEBUG_TYPE "kvc-eliminate-gqa-broadcast"

namespace kvc {
#define GEN_PASS_DEF_ELIMINATEGQABROADCASTPASS
#include "kvc/Dialect/KVC/Transforms/Passes.h.inc"
} // namespace kvc

using namespace mlir;
using namespace kvc;

using Expr = Elements::Expr;

namespace {
struct EliminateGQABroadcastPass final
    : kvc::impl::EliminateGQABroadcastPassBase<EliminateGQABroadcastPass> {
  using Base::Base;
  void runOnOperation() override;
};
} // namespace

/// Whether `load` is of a tensor that repeats another along some dimension.
static bool isRepeated(Elements &elements, Element load) {
  Element source = elements.followMoves(load, isCached);
  if (source->kind != ElementKind::Load || source->tensor == load->tensor)
    return false;
  IndexSpace &space = elements.getSpace();
  for (Expr index : load->indices) {
    auto dim = dyn_cast<AffineDimExpr>(index);
    if (!dim || space.getExtent(dim) == space.constant(1))
      continue;
    if (!elements.contains(source, dim))
      return true;
    for (Expr from : source->indices)
      if (from.isFunctionOfDim(dim.getPosition()) && !isa<AffineDimExpr>(from) &&
          (from.getKind() == AffineExprKind::FloorDiv || from.getKind() == AffineExprKind::Mod))
        return true;
  }
  return false;
}

static Value eliminate(OpBuilder &b, Elements &elements, DenseAttentionOp op) {
  AttentionElements attention = readAttention(elements, op);
  bool repeats = isRepeated(elements, attention.value);
  for (const AttentionElements::Term &term : attention.terms)
    repeats |= isRepeated(elements, term.key);
  if (!repeats)
    return {};
  RaiseFailure why;
  Value result = buildAttention(b, elements, attention, op,
                                op.getOutput().getType().getElementType(), isCached, why);
  auto options = remark::RemarkOpts::name("EliminatedBroadcast").category(DEBUG_TYPE);
  if (result)
    remark::passed(op.getLoc(), options) << "keys and values without repeated heads";
  else
    remark::missed(op.getLoc(), options)
        << remark::reason("heads stay repeated: {0}", why.reason);
  return result;
}

void EliminateGQABroadcastPass::runOnOperation() {
  rewriteAttentions(getOperation(), eliminate);
}
