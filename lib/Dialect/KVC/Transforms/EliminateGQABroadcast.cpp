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

void EliminateGQABroadcastPass::runOnOperation() {
  func::FuncOp function = getOperation();
  if (!llvm::hasSingleElement(function.getBody()))
    return;
  Elements elements(function);
  OpBuilder b(function.getContext());
  for (auto op : llvm::to_vector(function.getBody().front().getOps<DenseAttentionOp>())) {
    AttentionElements attention = readAttention(elements, op);
    bool repeats = isRepeated(elements, attention.value);
    for (const AttentionElements::Term &term : attention.terms)
      repeats |= isRepeated(elements, term.key);
    if (!repeats)
      continue;
    RaiseFailure why;
    Value replaced = buildAttention(b, elements, attention, op,
                                    op.getOutput().getType().getElementType(), isCached, why);
    if (!replaced) {
      remark::missed(op.getLoc(),
                     remark::RemarkOpts::name("EliminatedBroadcast").category(DEBUG_TYPE))
          << remark::reason("heads stay repeated: {0}", why.reason);
      continue;
    }
    remark::passed(op.getLoc(),
                   remark::RemarkOpts::name("EliminatedBroadcast").category(DEBUG_TYPE))
        << "keys and values without repeated heads";
    replaceTensor(b, op.getOutput(), replaced);
    op.erase();
  }
}
