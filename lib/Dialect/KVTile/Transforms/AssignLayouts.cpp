//===- AssignLayouts.cpp - layouts of tiles and slots ---------------------===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "kvc/Dialect/KVTile/Transforms/Passes.h"

#define DEBUG_TYPE "kvtile-assign-layouts"

namespace kvc::kvtile {
#define GEN_PASS_DEF_ASSIGNLAYOUTSPASS
#include "kvc/Dialect/KVTile/Transforms/Passes.h.inc"
} // namespace kvc::kvtile

using namespace mlir;
using namespace kvc;
using namespace kvc::kvtile;

static SlotType assignSlot(SlotType slot) {
  if (slot.isLinear())
    return slot;
  return SlotType::get(slot.getContext(), slot.getRows(), slot.getColumns(),
                       slot.getElementType(), SlotLayout::Swizzled);
}

namespace {
/// The layouts of one form.
struct FormLayouts {
  LayoutAttr scores, probabilities, sums, query;
};
} // namespace

static FormLayouts getLayouts(MLIRContext *context, StreamForm form, int64_t warps) {
  auto layout = [&](Atom atom, int64_t rows, int64_t columns) {
    return LayoutAttr::get(context, atom, rows, columns);
  };
  switch (form) {
  case StreamForm::HeadsM:
    return {layout(Atom::MmaC, 1, warps), layout(Atom::MmaA, 1, warps),
            layout(Atom::MmaC, 1, 1), layout(Atom::MmaA, 1, 1)};
  case StreamForm::TokensM:
    return {layout(Atom::MmaC, warps, 1), layout(Atom::MmaB, warps, 1),
            layout(Atom::MmaC, 1, 1), layout(Atom::MmaB, 1, 1)};
  case StreamForm::Rows:
    return {layout(Atom::MmaC, warps, 1), layout(Atom::MmaA, warps, 1),
            layout(Atom::MmaC, warps, 1), layout(Atom::MmaA, warps, 1)};
  case StreamForm::Columns:
    // Probabilities and query are in slots.
    return {layout(Atom::MmaC, 1, warps), LayoutAttr(), layout(Atom::MmaC, 1, warps),
            LayoutAttr()};
  }
  llvm_unreachable("all forms are listed");
}

/// The tiles of scores: products with the query, down from the first accumulator, and
/// what becomes of them; and what scales are multiplied onto, which are of keys.
static DenseSet<Value> findScores(KernelOp kernel) {
  DenseSet<Value> scores;
  SmallVector<Value> pending;
  kernel.walk([&](ScoreOp op) {
    scores.insert(op.getScores());
    pending.push_back(op.getProducts());
  });
  kernel.walk([&](SoftmaxStepOp op) { scores.insert(op.getProbabilities()); });
  kernel.walk([&](ScaleKeysOp op) { pending.push_back(op.getResult()); });
  while (!pending.empty()) {
    Value value = pending.pop_back_val();
    if (!value || !scores.insert(value).second)
      continue;
    if (auto dot = value.getDefiningOp<DotOp>())
      pending.push_back(dot.getAcc());
    if (auto scaled = value.getDefiningOp<ScaleKeysOp>())
      pending.append({scaled.getTile(), scaled.getAcc()});
  }
  return scores;
}

namespace {
struct AssignLayoutsPass final : kvc::kvtile::impl::AssignLayoutsPassBase<AssignLayoutsPass> {
  using Base::Base;
  void runOnOperation() override;
};
} // namespace

void AssignLayoutsPass::runOnOperation() {
  KernelOp kernel = getOperation();
  FinishOp finish;
  WalkResult walked = kernel.walk([&](FinishOp op) -> WalkResult {
    if (finish && finish.getForm() != op.getForm()) {
      InFlightDiagnostic diag = op.emitOpError("expected one form a kernel, got ")
                                << stringifyStreamForm(op.getForm());
      diag.attachNote(finish.getLoc()) << stringifyStreamForm(finish.getForm()) << " here";
      return diag;
    }
    finish = op;
    return WalkResult::advance();
  });
  if (walked.wasInterrupted())
    return signalPassFailure();
  FormLayouts layouts;
  if (finish)
    layouts = getLayouts(&getContext(), finish.getForm(), kernel.getThreads() / kWarpSize);
  DenseSet<Value> scores = findScores(kernel);

  auto layoutOfTile = [&](Value value) {
    if (isa_and_nonnull<LoadRowsOp, LoadTileOp>(value.getDefiningOp()))
      return layouts.query;
    if (value.getDefiningOp<ConvertOp>())
      return layouts.probabilities;
    return scores.contains(value) ? layouts.scores : layouts.sums;
  };
  bool hasFailed = false;
  auto assign = [&](Value value) {
    // getChecked: a tile that the warps cannot share evenly is a bad schedule.
    auto emitError = [&] { return kernel.emitOpError("has a tile that its form cannot lay out: "); };
    Type type = value.getType(), assigned = type;
    auto refuse = [&] {
      emitError() << (finish ? "expected a slot" : "expected a kvtile.finish, which says the form")
                  << ", got " << type;
      return Type();
    };
    if (auto tile = dyn_cast<TileType>(type); tile && !tile.getLayout()) {
      LayoutAttr layout = layoutOfTile(value);
      assigned = !layout ? refuse()
                         : TileType::getChecked(emitError, &getContext(), tile.getRows(),
                                                tile.getColumns(), tile.getElementType(), layout);
    } else if (auto vec = dyn_cast<VecType>(type); vec && !vec.getLayout()) {
      assigned = !layouts.scores ? refuse()
                                 : VecType::getChecked(emitError, &getContext(), vec.getSize(),
                                                       vec.getAxis(), layouts.scores);
    } else if (auto slot = dyn_cast<SlotType>(type)) {
      assigned = assignSlot(slot);
    }
    hasFailed |= !assigned;
    if (assigned)
      value.setType(assigned);
  };
  kernel.walk([&](Operation *op) {
    for (Region &region : op->getRegions())
      for (Block &block : region)
        for (Value argument : block.getArguments())
          assign(argument);
    for (Value result : op->getResults())
      assign(result);
    if (auto stream = dyn_cast<StreamOp>(op)) {
      SmallVector<Attribute> slots;
      for (Type type : stream.getSlots().getAsValueRange<TypeAttr>()) {
        auto slot = cast<SlotType>(type);
        slots.push_back(TypeAttr::get(assignSlot(slot)));
      }
      stream.setSlotsAttr(ArrayAttr::get(&getContext(), slots));
    }
  });
  if (hasFailed)
    return signalPassFailure();
}
