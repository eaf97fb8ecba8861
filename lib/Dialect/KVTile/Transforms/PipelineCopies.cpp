//===- PipelineCopies.cpp - copies that run ahead of the stream -----------===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "kvc/Dialect/KVTile/Transforms/Passes.h"

#include "mlir/IR/IRMapping.h"
#include "mlir/Transforms/RegionUtils.h"

#define DEBUG_TYPE "kvtile-pipeline-copies"

namespace kvc::kvtile {
#define GEN_PASS_DEF_PIPELINECOPIESPASS
#include "kvc/Dialect/KVTile/Transforms/Passes.h.inc"
} // namespace kvc::kvtile

using namespace mlir;
using namespace kvc::kvtile;

namespace {
/// Rewrites one stream.
class Pipeliner {
public:
  explicit Pipeliner(StreamOp op)
      : op(op), b(op), loc(op.getLoc()), ahead(op.getStages() - 1),
        stageBytes(op.getStageBytes()) {
    for (Type type : op.getSlots().getAsValueRange<TypeAttr>())
      slots.push_back(cast<SlotType>(type));
  }
  void run();

private:
  void startEarly();
  Value i32(int64_t value) {
    return arith::ConstantOp::create(b, loc, b.getI32IntegerAttr(value));
  }
  Value add(Value lhs, int64_t rhs) {
    return rhs == 0 ? lhs : Value(arith::AddIOp::create(b, loc, lhs, i32(rhs)));
  }
  Value compare(arith::CmpIPredicate predicate, Value lhs, Value rhs) {
    return arith::CmpIOp::create(b, loc, predicate, lhs, rhs);
  }

  /// Clones a region for `arguments`; returns what it yields.
  SmallVector<Value> inlineRegion(Region &region, ValueRange arguments);
  /// The slots of the stage at `offset` bytes of the ring, or of a fixed stage.
  SmallVector<Value> emitSlots(Value offset, int64_t stage);
  SmallVector<Value> emitLookup(Value tile) { return inlineRegion(op.getLookup(), tile); }
  /// Starts the copies of `tile` if there is such a tile, and closes the group.
  void emitProduce(Value tile, ValueRange tileSlots, ValueRange ids);

  StreamOp op;
  OpBuilder b;
  Location loc;
  int64_t ahead, stageBytes;
  SmallVector<SlotType> slots;
};
} // namespace

SmallVector<Value> Pipeliner::inlineRegion(Region &region, ValueRange arguments) {
  IRMapping mapping;
  mapping.map(region.front().getArguments(), arguments);
  for (Operation &inner : region.front().without_terminator())
    b.clone(inner, mapping);
  return llvm::map_to_vector(region.front().getTerminator()->getOperands(),
                             [&](Value value) { return mapping.lookupOrDefault(value); });
}

SmallVector<Value> Pipeliner::emitSlots(Value offset, int64_t stage) {
  SmallVector<Value> values;
  int64_t begin = op.getOffset() + stage * stageBytes;
  for (SlotType slot : slots) {
    values.push_back(SlotOp::create(b, loc, slot, offset, b.getI64IntegerAttr(begin)));
    begin += slot.getBytes();
  }
  return values;
}

void Pipeliner::emitProduce(Value tile, ValueRange tileSlots, ValueRange ids) {
  Value exists = compare(arith::CmpIPredicate::slt, tile, op.getEnd());
  auto branch = scf::IfOp::create(b, loc, exists, /*withElseRegion=*/false);
  {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(branch.thenBlock());
    SmallVector<Value> arguments = {tile};
    llvm::append_range(arguments, tileSlots);
    llvm::append_range(arguments, ids);
    inlineRegion(op.getProduce(), arguments);
  }
  CommitOp::create(b, loc);
}

/// Moves the builder up to the first of the operations between the definitions that
/// the copies need and the stream: what else comes before, such as loading the query,
/// takes place while the first copies are under way. Not past copies and loops: their
/// slots may be the same, and the groups of a wait are counted.
void Pipeliner::startEarly() {
  SetVector<Value> needed;
  getUsedValuesDefinedAbove({&op.getLookup(), &op.getProduce()}, needed);
  needed.insert(op.getBegin());
  needed.insert(op.getEnd());
  Operation *last = nullptr;
  for (Value value : needed) {
    Operation *definition = value.getDefiningOp();
    if (definition && definition->getBlock() == op->getBlock() &&
        (!last || last->isBeforeInBlock(definition)))
      last = definition;
  }
  for (Operation *before = op->getPrevNode(); before && before != last;
       before = before->getPrevNode())
    if (before->getNumRegions() != 0 || isa<FetchOp, CommitOp, WaitOp, FinishOp>(before)) {
      last = before;
      break;
    }
  if (last)
    b.setInsertionPointAfter(last);
}

void Pipeliner::run() {
  Value begin = op.getBegin(), end = op.getEnd();
  startEarly();
  SmallVector<SmallVector<Value>> ids;
  for (int64_t stage = 0; stage <= ahead; ++stage)
    ids.push_back(emitLookup(add(begin, stage)));
  for (int64_t stage = 0; stage < ahead; ++stage)
    emitProduce(add(begin, stage), emitSlots(Value(), stage), ids[stage]);

  b.setInsertionPoint(op);
  // Carried: the values of consume, the offset of the stage that is read, the page
  // ids of the next copy.
  SmallVector<Value> carried(op.getInits());
  carried.push_back(i32(0));
  llvm::append_range(carried, ids.back());
  auto loop = scf::ForOp::create(b, loc, begin, end, i32(1), carried);
  b.setInsertionPointToStart(loop.getBody());
  Value tile = loop.getInductionVar();
  size_t numInits = op.getInits().size();
  ValueRange iters = loop.getRegionIterArgs();
  Value offset = iters[numInits];
  ValueRange nextIds = iters.drop_front(numInits + 1);

  WaitOp::create(b, loc, op.getStages() - 2);
  BarrierOp::create(b, loc);
  Value ringBytes = i32(op.getStages() * stageBytes);
  Value isFirst = compare(arith::CmpIPredicate::eq, offset, i32(0));
  Value previous = add(arith::SelectOp::create(b, loc, isFirst, ringBytes, offset), -stageBytes);
  emitProduce(add(tile, ahead), emitSlots(previous, 0), nextIds);
  SmallVector<Value> laterIds = emitLookup(add(tile, ahead + 1));

  SmallVector<Value> arguments = {tile};
  llvm::append_range(arguments, emitSlots(offset, 0));
  llvm::append_range(arguments, iters.take_front(numInits));
  SmallVector<Value> yielded = inlineRegion(op.getConsume(), arguments);
  Value next = add(offset, stageBytes);
  Value isLast = compare(arith::CmpIPredicate::eq, next, ringBytes);
  yielded.push_back(arith::SelectOp::create(b, loc, isLast, i32(0), next));
  llvm::append_range(yielded, laterIds);
  scf::YieldOp::create(b, loc, yielded);

  op.replaceAllUsesWith(loop.getResults().take_front(numInits));
  op.erase();
}

namespace {
struct PipelineCopiesPass final : kvc::kvtile::impl::PipelineCopiesPassBase<PipelineCopiesPass> {
  using Base::Base;
  void runOnOperation() override {
    SmallVector<StreamOp> streams;
    getOperation().walk([&](StreamOp op) { streams.push_back(op); });
    for (StreamOp op : streams)
      Pipeliner(op).run();
  }
};
} // namespace
