//===- Stream.cpp - the skeleton of attention kernels ---------------------===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One thread block takes a work item, a KV head and up to `rows` rows of it, and lets
// the item's tiles of keys and values stream past; then the next item of its column of
// the grid.
//===----------------------------------------------------------------------===//
#include "Kernels.h"

#include "kvc/Conversion/WorkList.h"

#include "mlir/Dialect/LLVMIR/NVVMDialect.h"

#include <limits>

using namespace mlir;
using namespace kvc;
using namespace kvc::kvtile;

static constexpr double kLog2E = 1.4426950408889634074;

namespace {
class StreamSkeleton {
public:
  StreamSkeleton(OpBuilder &b, AttentionOp op, const KernelShape &shape)
      : b(b), loc(op.getLoc()), op(op), shape(shape), arguments(op) {
    // A scale that is not positive would turn maxima around; and modifiers come
    // after it.
    bool changes = !(op.getScale().convertToDouble() > 0);
    for (ScoreModifierInterface modifier : op.getModifiers())
      changes |= modifier.changesScore();
    scoreScale = changes ? op.getScale().convertToDouble() : 1.0;
    softmaxScale = changes ? kLog2E : kLog2E * op.getScale().convertToDouble();
  }

  void emit(StringRef name, const KernelDescription &origin);

private:
  Type elementOf(int64_t slot) { return shape.slots[slot].getElementType(); }
  TileType tile(int64_t rows, int64_t columns, Type element) {
    return TileType::get(b.getContext(), rows, columns, element, LayoutAttr());
  }
  Value fill(Type type, double value) {
    return FillOp::create(b, loc, type, b.getF32FloatAttr(value));
  }
  Value constant(int64_t value) {
    return arith::ConstantOp::create(b, loc, b.getI32IntegerAttr(value));
  }

  SmallVector<Value> emitQuery(Value item);
  void emitItem(Value index);
  void emitLookup(Region &region, Value item);
  void emitProduce(Region &region, Value item);
  void emitConsume(Region &region, Value item, ValueRange query);
  Value emitScores(ValueRange slots, ValueRange query);
  /// sums + a b; a transposed operand is a slot that holds the transpose.
  Value dot(Value a, Value b, Value sums, bool transposeA, bool transposeB) {
    auto unit = [&](bool is) { return is ? UnitAttr::get(sums.getContext()) : UnitAttr(); };
    return DotOp::create(this->b, loc, sums.getType(), a, b, sums, unit(transposeA),
                         unit(transposeB));
  }
  Value loadItem(Value index) {
    return WorkItemOp::create(b, loc, ItemType::get(b.getContext()),
                              arguments.get(KernelValue::ListItems), index);
  }

  OpBuilder &b;
  Location loc;
  AttentionOp op;
  const KernelShape &shape;
  double scoreScale, softmaxScale;
  KernelArguments arguments;
  Value kvHead, firstRow;
  /// Threads a row of the copies of each slot, and the lookup of its page ids.
  SmallVector<int64_t> lanes, lookups;
  SmallVector<int64_t> lookupLanes;
};
} // namespace

SmallVector<Value> StreamSkeleton::emitQuery(Value item) {
  SmallVector<Value> query;
  int64_t offset = shape.queryOffset(), numRows = shape.stream.getRows();
  auto typeOf = [&](SlotType slot) {
    int64_t columns = slot.getColumns();
    return shape.isTransposed() ? tile(columns, numRows, slot.getElementType())
                                : tile(numRows, columns, slot.getElementType());
  };
  for (auto [term, slot] : llvm::enumerate(shape.querySlots())) {
    Value rows = arguments.tensor(op.getQueries()[term]);
    if (!shape.stagesQuery()) {
      query.push_back(LoadRowsOp::create(b, loc, typeOf(slot), rows, item, kvHead, firstRow,
                                         shape.group));
      continue;
    }
    Value to = SlotOp::create(b, loc, slot, Value(), b.getI64IntegerAttr(offset));
    offset += slot.getBytes();
    StageRowsOp::create(b, loc, rows, item, kvHead, firstRow, shape.group, to);
    query.push_back(to);
  }
  if (!shape.stagesQuery() || !shape.holdsQuery())
    return query; // the loop's first barrier comes before its first product
  BarrierOp::create(b, loc);
  for (auto [value, slot] : llvm::zip(query, shape.querySlots()))
    value = LoadTileOp::create(b, loc, typeOf(slot), value);
  return query;
}

void StreamSkeleton::emitLookup(Region &region, Value item) {
  Value index = region.front().getArgument(0);
  SmallVector<Value> ids;
  for (int64_t rowLanes : lookupLanes) {
    int64_t pageSize = op.getCache().getType().getPageSize();
    CopyPlan plan =
        CopyPlan::get(shape.stream.getKeys(), rowLanes, shape.threads, pageSize);
    ids.push_back(LookupOp::create(b, loc, PageIdsType::get(b.getContext(), plan.pageIds),
                                   arguments.get(KernelValue::PageIds), item, index,
                                   shape.stream.getKeys(), pageSize, rowLanes,
                                   /*may_be_empty=*/false));
  }
  YieldOp::create(b, loc, ids);
}

void StreamSkeleton::emitProduce(Region &region, Value item) {
  Block &block = region.front();
  size_t numSlots = shape.slots.size();
  for (auto [i, component] : llvm::enumerate(shape.components))
    FetchOp::create(b, loc, arguments.component(component),
                    block.getArgument(1 + numSlots + lookups[i]), item, kvHead,
                    block.getArgument(0), lanes[i], block.getArgument(1 + i));
  YieldOp::create(b, loc, ValueRange());
}

Value StreamSkeleton::emitScores(ValueRange slots, ValueRange query) {
  int64_t rows = shape.stream.getRows(), keys = shape.stream.getKeys();
  TileType type = shape.isTransposed() ? tile(keys, rows, b.getF32Type())
                                       : tile(rows, keys, b.getF32Type());
  Value scores = fill(type, 0.0);
  for (auto [term, slot] : llvm::enumerate(shape.termSlots)) {
    // Keys x rows is K Q^T with Q^T in registers; rows x keys is Q K^T.
    if (shape.isTransposed())
      scores = dot(slots[slot], query[term], scores, false, false);
    else
      scores = dot(query[term], slots[slot], scores, false, true);
  }
  return scores;
}

void StreamSkeleton::emitConsume(Region &region, Value item, ValueRange query) {
  Block &block = region.front();
  Value index = block.getArgument(0);
  ValueRange slots = block.getArguments().slice(1, shape.slots.size());
  ValueRange carried = block.getArguments().drop_front(1 + shape.slots.size());
  Value sums = carried[0], max = carried[1], sum = carried[2];

  Value scores = emitScores(slots, query);
  scores = ScoreOp::create(b, loc, scores.getType(), scores, item, kvHead, firstRow, index,
                           op.getScore(), b.getF32FloatAttr(scoreScale),
                           b.getI64IntegerAttr(shape.group),
                           b.getI64IntegerAttr(op.getQueryHeads()),
                           b.getI64IntegerAttr(shape.keysAxis()));
  bool exchanges = shape.stream.getForm() == StreamForm::Columns;
  auto step = SoftmaxStepOp::create(
      b, loc, scores.getType(), max.getType(), max.getType(), max.getType(), scores, max, sum,
      b.getF32FloatAttr(softmaxScale), b.getI64IntegerAttr(shape.keysAxis()),
      exchanges ? b.getI64IntegerAttr(shape.exchangeOffset()) : IntegerAttr());
  sums = ScaleOp::create(b, loc, sums.getType(), sums, step.getFactor());
  Value value = slots[shape.valueSlot];
  int64_t terms = shape.probabilityTerms();
  auto remainder = [&](int64_t term) { return term > 0 ? b.getUnitAttr() : UnitAttr(); };
  if (exchanges) {
    SlotType type = shape.probabilitySlot();
    SmallVector<Value> stored;
    for (int64_t term = 0; term < terms; ++term) {
      int64_t offset = shape.probabilityOffset() + term * type.getBytes();
      stored.push_back(SlotOp::create(b, loc, type, Value(), b.getI64IntegerAttr(offset)));
      StoreTileOp::create(b, loc, step.getProbabilities(), stored.back(), remainder(term));
    }
    BarrierOp::create(b, loc);
    for (Value slot : stored)
      sums = dot(slot, value, sums, false, false);
  } else {
    auto from = cast<TileType>(step.getProbabilities().getType());
    TileType to = tile(from.getRows(), from.getColumns(), elementOf(shape.valueSlot));
    for (int64_t term = 0; term < terms; ++term) {
      Value operand = ConvertOp::create(b, loc, to, step.getProbabilities(), remainder(term));
      // O^T = V^T P^T, or O = P V.
      sums = shape.isTransposed() ? dot(value, operand, sums, true, false)
                                  : dot(operand, value, sums, false, false);
    }
  }
  SmallVector<Value> yielded = {sums, step.getNewMax(), step.getNewSum()};
  YieldOp::create(b, loc, yielded);
}

void StreamSkeleton::emitItem(Value index) {
  Value item = loadItem(index);
  auto range = TileRangeOp::create(b, loc, b.getI32Type(), b.getI32Type(), item,
                                   b.getI64IntegerAttr(shape.stream.getKeys()));
  SmallVector<Value> query = emitQuery(item);
  int64_t rows = shape.stream.getRows(), columns = shape.paddedValueWidth();
  TileType sums = shape.isTransposed() ? tile(columns, rows, b.getF32Type())
                                       : tile(rows, columns, b.getF32Type());
  auto vec = VecType::get(b.getContext(), rows, shape.isTransposed() ? 1 : 0, LayoutAttr());
  SmallVector<Value> inits = {fill(sums, 0.0),
                              fill(vec, -std::numeric_limits<double>::infinity()),
                              fill(vec, 0.0)};
  SmallVector<Attribute> slotTypes;
  for (SlotType slot : shape.slots)
    slotTypes.push_back(TypeAttr::get(slot));
  auto stream = StreamOp::create(b, loc, ValueRange(inits).getTypes(), range.getBegin(),
                                 range.getEnd(), inits,
                                 b.getI64IntegerAttr(shape.stream.getStages()),
                                 b.getI64IntegerAttr(0), b.getArrayAttr(slotTypes));

  SmallVector<Type> base = {b.getI32Type()};
  SmallVector<Type> ids;
  auto build = [&](Region &region, ArrayRef<Type> types, auto body) {
    OpBuilder::InsertionGuard guard(b);
    b.createBlock(&region, {}, types, SmallVector<Location>(types.size(), loc));
    body();
  };
  build(stream.getLookup(), base, [&] { emitLookup(stream.getLookup(), item); });
  llvm::append_range(ids, stream.getLookup().front().getTerminator()->getOperandTypes());
  llvm::append_range(base, shape.slots);
  SmallVector<Type> produced = base, consumed = base;
  llvm::append_range(produced, ids);
  llvm::append_range(consumed, ValueRange(inits).getTypes());
  build(stream.getProduce(), produced, [&] { emitProduce(stream.getProduce(), item); });
  build(stream.getConsume(), consumed, [&] { emitConsume(stream.getConsume(), item, query); });

  // Loaded again rather than kept in registers over the loop.
  Value again = loadItem(index);
  FinishOp::create(b, loc, stream.getResult(0), stream.getResult(1), stream.getResult(2), again,
                   kvHead, firstRow, arguments.tensor(op.getOutput()),
                   op.getLse() ? arguments.tensor(op.getLse()) : Value(),
                   op.getSinks() ? arguments.tensor(op.getSinks()) : Value(),
                   arguments.get(KernelValue::PartsOutput),
                   arguments.get(KernelValue::PartsStats), shape.stream.getForm(), shape.group,
                   shape.valueWidth, shape.stream.getQueryTokens(), shape.exchangeOffset());
}

void StreamSkeleton::emit(StringRef name, const KernelDescription &origin) {
  for (SlotType slot : shape.slots) {
    lanes.push_back(CopyPlan::chooseLanes(slot.getChunks()));
    auto *found = llvm::find(lookupLanes, lanes.back());
    lookups.push_back(found - lookupLanes.begin());
    if (found == lookupLanes.end())
      lookupLanes.push_back(lanes.back());
  }
  // What is staged is read by 16 bytes; what is merged, written by 8.
  for (Value query : op.getQueries())
    arguments.addTensor(query, shape.stagesQuery() ? 16 : 4);
  for (ComponentAttr component : shape.components)
    arguments.addComponent(component, /*alignment=*/16);
  arguments.add(KernelValue::PageIds);
  arguments.add(KernelValue::ListItems);
  arguments.add(KernelValue::ListCounts);
  arguments.addTensor(op.getOutput(), shape.mergesWarps() ? 8 : 4);
  if (op.getLse())
    arguments.addTensor(op.getLse());
  if (op.getSinks())
    arguments.addTensor(op.getSinks());
  arguments.add(KernelValue::PartsOutput);
  arguments.add(KernelValue::PartsStats);

  OpBuilder::InsertionGuard guard(b);
  KernelDescription description = describeAttention(origin, op, shape);
  description.grid[0] = shape.kvHeads * shape.rowBlocks();
  description.grid[1] = 0;
  description.threads = shape.threads;
  description.sharedBytes = shape.sharedBytes();
  createKernel(b, loc, name, description, arguments);

  auto blockOp = RowBlockOp::create(b, loc, b.getI32Type(), b.getI32Type(),
                                    b.getI64IntegerAttr(shape.rowBlocks()),
                                    b.getI64IntegerAttr(shape.stream.getRows()));
  kvHead = blockOp.getKvHead();
  firstRow = blockOp.getFirstRow();
  Value items =
      LLVM::LoadOp::create(b, loc, b.getI32Type(), arguments.get(KernelValue::ListCounts), 4);
  Value first = NVVM::BlockIdYOp::create(b, loc, b.getI32Type());
  Value step = NVVM::GridDimYOp::create(b, loc, b.getI32Type());
  auto loop = scf::ForOp::create(b, loc, first, items, step);
  {
    OpBuilder::InsertionGuard inner(b);
    b.setInsertionPointToStart(loop.getBody());
    emitItem(loop.getInductionVar());
  }
  kvtile::ReturnOp::create(b, loc);
}

void kvc::emitStreamKernel(OpBuilder &b, StringRef name, const KernelDescription &origin,
                           AttentionOp op, const KernelShape &shape) {
  static_assert(offsetof(WorkCounts, items) == 0, "the kernel loads the first field");
  StreamSkeleton(b, op, shape).emit(name, origin);
}
