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

#include "kvc/Conversion/KernelBuilder.h"
#include "kvc/Conversion/WorkList.h"

#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "llvm/Support/MathExtras.h"

#include <limits>

using namespace mlir;
using namespace kvc;
using namespace kvc::kvtile;

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
    double scale = op.getScale().convertToDouble() * getScoreConstant();
    scoreScale = changes ? scale : 1.0;
    softmaxScale = changes ? kLog2E : kLog2E * scale;
  }

  void emit(StringRef name, const KernelDescription &origin);

private:
  /// What a single term's codes all have to be multiplied by.
  double getScoreConstant() {
    ScaleAttr scale = op.getTermComponent(0).getScale();
    bool isConstant = op.getQueries().size() == 1 && scale && scale.getConstant();
    return isConstant ? scale.getConstant().getValueAsDouble() : 1.0;
  }
  /// What scales the codes of a component, for each group of columns: the same of all
  /// tokens, or in a slot.
  struct Scales {
    SmallVector<Value> factors, zeros;
    std::optional<int64_t> scaleSlot, zeroSlot;
    int64_t groups = 1;
    bool isUniform() const { return !scaleSlot; }
  };
  Scales loadScales(ComponentAttr component);
  Scales loadTermScales(unsigned term);
  bool isRead(StringRef array);
  Value headOf(StringRef array);
  TileType tile(int64_t rows, int64_t columns, Type element) {
    return TileType::get(b.getContext(), rows, columns, element, LayoutAttr());
  }
  Value fill(Type type, double value) {
    return FillOp::create(b, loc, type, b.getF32FloatAttr(value));
  }
  Value constant(int64_t value) {
    return arith::ConstantOp::create(b, loc, b.getI32IntegerAttr(value));
  }

  static bool hasZeros(const Scales &scales) {
    return scales.zeroSlot || !scales.zeros.empty();
  }
  VecType vecType() {
    return VecType::get(b.getContext(), shape.stream.getRows(), shape.isTransposed() ? 1 : 0,
                        LayoutAttr());
  }
  bool carriesReference() const { return valueScales.scaleSlot.has_value(); }

  SmallVector<Value> emitQuery(Value item);
  void emitItem(Value index);
  void emitLookup(Region &region, Value item);
  void emitProduce(Region &region, Value item);
  void emitConsume(Region &region, Value item, ValueRange query);
  Value emitScores(ValueRange slots, ValueRange query);
  Value emitTerm(unsigned term, ValueRange slots, Value query, Value scores);
  SmallVector<Value> emitWeights(ValueRange slots, Value probabilities, Value reference);
  Value emitSums(ValueRange slots, ArrayRef<Value> weights, Value sums);
  Value emitScaledSums(ValueRange results);
  /// sums + a b; a transposed operand is a slot that holds the transpose.
  Value dot(Value a, Value b, Value sums, bool transposeA, bool transposeB,
            ArrayRef<int64_t> columns = {}) {
    auto unit = [&](bool is) { return is ? UnitAttr::get(sums.getContext()) : UnitAttr(); };
    return DotOp::create(this->b, loc, sums.getType(), a, b, sums, unit(transposeA),
                         unit(transposeB),
                         columns.empty() ? DenseI64ArrayAttr()
                                         : this->b.getDenseI64ArrayAttr(columns));
  }
  /// The columns of group `group` of the component in `slot`, as kvtile.dot takes them;
  /// nothing if that is all of them.
  SmallVector<int64_t> columnsOf(ComponentAttr component, int64_t slot, int64_t group,
                                 int64_t groups);
  bool exchanges() const { return shape.stream.getForm() == StreamForm::Columns; }
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
  /// Of each term, and of the value.
  SmallVector<Scales> termScales;
  Scales valueScales;
  /// Of each term with zero points, the sums of the query's rows for each group.
  SmallVector<SmallVector<Value>> querySums;
  /// Threads a row of the copies of each slot, if they are dealt, and the lookup of its page
  /// ids.
  SmallVector<int64_t> lanes;
  SmallVector<bool> dealt;
  SmallVector<int64_t> lookups;
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
    int64_t bits = op.getTermComponent(term).getElementType().getIntOrFloatBitWidth();
    StageRowsOp::create(b, loc, rows, item, kvHead, firstRow, b.getI64IntegerAttr(shape.group),
                        to, shape.meetsCodes(term) ? b.getI64IntegerAttr(bits) : IntegerAttr(),
                        shape.cluster > 1 ? b.getUnitAttr() : UnitAttr());
    query.push_back(to);
  }
  if (shape.cluster > 1)
    GatherRowsOp::create(b, loc, query, item, firstRow, shape.group);
  bool sumsRows = llvm::any_of(termScales, hasZeros);
  if (!shape.stagesQuery() || (!shape.holdsQuery() && !sumsRows))
    return query; // the loop's first barrier comes before its first product
  BarrierOp::create(b, loc);
  querySums.assign(query.size(), {});
  for (auto [term, scales] : llvm::enumerate(termScales)) {
    if (!hasZeros(scales))
      continue;
    int64_t slot = shape.termSlots[term];
    for (int64_t group = 0; group < scales.groups; ++group) {
      SmallVector<int64_t> columns =
          columnsOf(op.getTermComponent(term), slot, group, scales.groups);
      if (columns.empty())
        columns = {0, shape.slots[slot].getColumns()};
      querySums[term].push_back(SumRowsOp::create(b, loc, vecType(), query[term], columns[0],
                                                  columns[1]));
    }
  }
  if (!shape.holdsQuery())
    return query;
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
                                   shape.stream.getKeys(), pageSize, rowLanes));
  }
  YieldOp::create(b, loc, ids);
}

void StreamSkeleton::emitProduce(Region &region, Value item) {
  Block &block = region.front();
  size_t numSlots = shape.slots.size();
  for (auto [i, array] : llvm::enumerate(shape.arrays))
    FetchOp::create(b, loc, arguments.array(array),
                    block.getArgument(1 + numSlots + lookups[i]), item, kvHead,
                    block.getArgument(0), b.getI64IntegerAttr(lanes[i]),
                    dealt[i] ? b.getUnitAttr() : UnitAttr(), block.getArgument(1 + i));
  YieldOp::create(b, loc, ValueRange());
}

Value StreamSkeleton::emitScores(ValueRange slots, ValueRange query) {
  // What has to be scaled comes first; the products of the others are added to it.
  Value scores;
  auto numTerms = op.getQueries().size();
  for (bool isScaled : {true, false})
    for (unsigned term = 0; term < numTerms; ++term)
      if (isScaled != (termScales[term].factors.empty() && !termScales[term].scaleSlot))
        scores = emitTerm(term, slots, query[term], scores);
  assert(scores && cast<TileType>(scores.getType()) == type && "there is a term");
  return scores;
}

/// Adds the products of one term to `scores`, which is null at first.
Value StreamSkeleton::emitTerm(unsigned term, ValueRange slots, Value query, Value scores) {
  int64_t rows = shape.stream.getRows(), keys = shape.stream.getKeys();
  TileType type = shape.isTransposed() ? tile(keys, rows, b.getF32Type())
                                       : tile(rows, keys, b.getF32Type());
  const Scales &scales = termScales[term];
  int64_t slot = shape.termSlots[term];
  ComponentAttr component = op.getTermComponent(term);
  auto product = [&](Value sums, ArrayRef<int64_t> columns) {
    // Keys x rows is K Q^T with Q^T in registers; rows x keys is Q K^T.
    return shape.isTransposed() ? dot(slots[slot], query, sums, false, false, columns)
                                : dot(query, slots[slot], sums, false, true, columns);
  };
  if (scales.factors.empty() && !scales.scaleSlot)
    return product(scores ? scores : fill(type, 0.0), {});
  for (int64_t group = 0; group < scales.groups; ++group) {
    Value products =
        product(fill(type, 0.0), columnsOf(component, slot, group, scales.groups));
    auto slotOr = [&](std::optional<int64_t> index) { return index ? slots[*index] : Value(); };
    scores = ScaleKeysOp::create(
        b, loc, type, products, scores, slotOr(scales.scaleSlot),
        scales.isUniform() ? scales.factors[group] : Value(), Value(),
        slotOr(scales.zeroSlot), scales.zeros.empty() ? Value() : scales.zeros[group],
        hasZeros(scales) ? querySums[term][group] : Value(),
        b.getI64IntegerAttr(scales.isUniform() ? 0 : group),
        b.getI64IntegerAttr(shape.keysAxis()));
  }
  return scores;
}

/// What the codes of each group of columns of the value are multiplied by.
SmallVector<Value> StreamSkeleton::emitWeights(ValueRange slots, Value probabilities,
                                               Value reference) {
  if (!carriesReference())
    return {probabilities};
  SmallVector<Value> weights;
  for (int64_t group = 0; group < valueScales.groups; ++group)
    weights.push_back(ScaleKeysOp::create(
        b, loc, probabilities.getType(), probabilities, Value(), slots[*valueScales.scaleSlot],
        Value(), reference, Value(), Value(), Value(), b.getI64IntegerAttr(group),
        b.getI64IntegerAttr(shape.keysAxis())));
  return weights;
}

/// Adds the products of weights and values.
Value StreamSkeleton::emitSums(ValueRange slots, ArrayRef<Value> weights, Value sums) {
  Value value = slots[shape.valueSlot];
  int64_t terms = shape.probabilityTerms(), groups = weights.size();
  auto remainder = [&](int64_t term) { return term > 0 ? b.getUnitAttr() : UnitAttr(); };
  if (exchanges()) {
    SlotType type = shape.probabilitySlot();
    for (int64_t term = 0; term < terms; ++term)
      for (int64_t group = 0; group < groups; ++group) {
        int64_t offset =
            shape.probabilityOffset() + (term * groups + group) * type.getBytes();
        Value slot = SlotOp::create(b, loc, type, Value(), b.getI64IntegerAttr(offset));
        StoreTileOp::create(b, loc, weights[group], slot, remainder(term));
      }
    BarrierOp::create(b, loc);
    // The warp's columns are of one group, or each `size` of them are.
    int64_t columns = shape.paddedValueWidth() / shape.stream.getWarps();
    int64_t size = groups > 1 ? getScaleGroup(op.getValueComponent()) : columns;
    for (int64_t first = 0; first < columns; first += std::min(size, columns)) {
      Value group;
      if (groups > 1) {
        KernelBuilder k(b, loc);
        Value column = k.add(k.mul(k.div(k.threadId(), kWarpSize), columns), first);
        group = k.mul(k.min(k.div(column, size), k.i32(groups - 1)), type.getBytes());
      }
      SmallVector<int64_t> range;
      if (size < columns)
        range = {first, first + size};
      for (int64_t term = 0; term < terms; ++term) {
        int64_t offset = shape.probabilityOffset() + term * groups * type.getBytes();
        Value slot = SlotOp::create(b, loc, type, group, b.getI64IntegerAttr(offset));
        sums = dot(slot, value, sums, false, false, range);
      }
    }
    return sums;
  }
  for (int64_t group = 0; group < groups; ++group) {
    SmallVector<int64_t> columns =
        columnsOf(op.getValueComponent(), shape.valueSlot, group, groups);
    auto from = cast<TileType>(weights[group].getType());
    TileType to = tile(from.getRows(), from.getColumns(),
                       shape.slots[shape.valueSlot].getOperandElement());
    for (int64_t term = 0; term < terms; ++term) {
      Value operand = ConvertOp::create(b, loc, to, weights[group], remainder(term));
      // O^T = V^T P^T, or O = P V.
      sums = shape.isTransposed() ? dot(value, operand, sums, true, false, columns)
                                  : dot(operand, value, sums, false, false, columns);
    }
  }
  return sums;
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
  auto step = SoftmaxStepOp::create(
      b, loc, scores.getType(), max.getType(), max.getType(), max.getType(), scores, max, sum,
      b.getF32FloatAttr(softmaxScale), b.getI64IntegerAttr(shape.keysAxis()),
      exchanges() ? b.getI64IntegerAttr(shape.exchangeOffset()) : IntegerAttr());
  SmallVector<Value> others;
  Value factor = step.getFactor(), reference;
  if (carriesReference()) {
    auto next = ReferenceStepOp::create(
        b, loc, max.getType(), max.getType(), slots[*valueScales.scaleSlot], carried[3], factor,
        b.getI64IntegerAttr(shape.keysAxis()), exchanges() ? b.getUnitAttr() : UnitAttr());
    factor = next.getNewFactor();
    reference = next.getNewReference();
    others.push_back(reference);
  }
  if (valueScales.zeroSlot)
    for (int64_t group = 0; group < valueScales.groups; ++group)
      others.push_back(SumKeysOp::create(b, loc, max.getType(), step.getProbabilities(),
                                         slots[*valueScales.zeroSlot], carried[4 + group],
                                         step.getFactor(), group, shape.keysAxis()));
  sums = ScaleOp::create(b, loc, sums.getType(), sums, factor);
  sums = emitSums(slots, emitWeights(slots, step.getProbabilities(), reference), sums);
  SmallVector<Value> yielded = {sums, step.getNewMax(), step.getNewSum()};
  llvm::append_range(yielded, others);
  YieldOp::create(b, loc, yielded);
}

/// The sums of a stream with the scales of the value.
Value StreamSkeleton::emitScaledSums(ValueRange results) {
  Value sums = results[0];
  if (carriesReference())
    sums = ScaleOp::create(b, loc, sums.getType(), sums, results[3]);
  SmallVector<Value> added;
  if (valueScales.zeroSlot)
    llvm::append_range(added, results.drop_front(4));
  else if (!valueScales.zeros.empty())
    added.assign(valueScales.zeros.size(), results[2]);
  if (valueScales.factors.empty() && added.empty())
    return sums;
  // One for each group, also of columns that are padding.
  int64_t columns = valueScales.groups == 1 ? shape.paddedValueWidth()
                                            : getScaleGroup(op.getValueComponent());
  auto pad = [&](SmallVector<Value> values) {
    if (!values.empty())
      values.resize(llvm::divideCeil(shape.paddedValueWidth(), columns), values.back());
    return values;
  };
  return ScaleColumnsOp::create(
      b, loc, sums.getType(), sums, pad(valueScales.factors), pad(added),
      pad(valueScales.zeros), columns, shape.interleave(), shape.isTransposed(),
      exchanges() && !added.empty() ? b.getI64IntegerAttr(shape.exchangeOffset())
                                    : IntegerAttr());
}

SmallVector<int64_t> StreamSkeleton::columnsOf(ComponentAttr component, int64_t slot,
                                               int64_t group, int64_t groups) {
  if (groups == 1)
    return {};
  int64_t size = getScaleGroup(component);
  bool isLast = group == groups - 1;
  return {group * size, isLast ? shape.slots[slot].getColumns() : (group + 1) * size};
}

/// The head whose row of static scales belongs to this block: those per tensor have one.
Value StreamSkeleton::headOf(StringRef array) {
  CacheType cache = op.getCache().getType();
  bool isShared = cache.getArrays()[cache.getArrayIndex(array)].heads < shape.kvHeads;
  return isShared ? constant(0) : kvHead;
}

StreamSkeleton::Scales StreamSkeleton::loadScales(ComponentAttr component) {
  Scales scales;
  ScaleAttr attr = component.getScale();
  if (!attr)
    return scales;
  if (FloatAttr value = attr.getConstant()) {
    scales.factors.push_back(arith::ConstantOp::create(b, loc, value));
    return scales;
  }
  scales.groups = getNumScales(component);
  scales.scaleSlot = shape.findSlot(component, kScaleSuffix);
  scales.zeroSlot = shape.findSlot(component, kZeroSuffix);
  if (scales.scaleSlot)
    return scales;
  // What is static lies at every page and token.
  auto load = [&](StringRef suffix) {
    std::string name = (component.getName().getValue() + suffix).str();
    KernelBuilder k(b, loc);
    Value row = PageRowOp::create(b, loc, k.globalPtr(), arguments.array(name), k.i64(0),
                                  headOf(name));
    int64_t bytes = attr.getElementType().getIntOrFloatBitWidth() / 8;
    SmallVector<Value> values;
    for (int64_t group = 0; group < scales.groups; ++group)
      values.push_back(k.toF32(
          k.loadInvariant(attr.getElementType(), k.at(row, group * bytes), bytes)));
    return values;
  };
  scales.factors = load(kScaleSuffix);
  if (attr.getZeroPoint())
    scales.zeros = load(kZeroSuffix);
  return scales;
}

void StreamSkeleton::emitItem(Value index) {
  Value item = loadItem(index);
  auto range = TileRangeOp::create(b, loc, b.getI32Type(), b.getI32Type(), item,
                                   b.getI64IntegerAttr(shape.stream.getKeys()));
  SmallVector<Value> query = emitQuery(item);
  int64_t rows = shape.stream.getRows(), columns = shape.paddedValueWidth();
  TileType sums = shape.isTransposed() ? tile(columns, rows, b.getF32Type())
                                       : tile(rows, columns, b.getF32Type());
  VecType vec = vecType();
  SmallVector<Value> inits = {fill(sums, 0.0),
                              fill(vec, -std::numeric_limits<double>::infinity()),
                              fill(vec, 0.0)};
  if (carriesReference())
    inits.push_back(fill(vec, std::numeric_limits<float>::min()));
  if (valueScales.zeroSlot)
    for (int64_t group = 0; group < valueScales.groups; ++group)
      inits.push_back(fill(vec, 0.0));
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

  // Where warps hold whole rows or columns, registers are too few to keep it over the loop.
  Value again = shape.mergesWarps() ? item : loadItem(index);
  int64_t interleave = shape.interleave();
  FinishOp::create(
      b, loc, emitScaledSums(stream.getResults()), stream.getResult(1), stream.getResult(2),
      again, kvHead, firstRow, arguments.tensor(op.getOutput()),
      op.getLse() ? arguments.tensor(op.getLse()) : Value(),
      op.getSinks() ? arguments.tensor(op.getSinks()) : Value(),
      arguments.get(KernelValue::PartsOutput), arguments.get(KernelValue::PartsStats),
      shape.stream.getForm(), shape.group, shape.valueWidth, shape.stream.getQueryTokens(),
      shape.exchangeOffset(), interleave > 1 ? b.getI64IntegerAttr(interleave) : IntegerAttr(),
      shape.cluster > 1 ? b.getI64IntegerAttr(shape.cluster) : IntegerAttr());
}

/// True of scales or zero points of a component that is read.
bool StreamSkeleton::isRead(StringRef array) {
  return llvm::any_of(shape.components, [&](ComponentAttr component) {
    StringRef name = component.getName().getValue();
    return array == (name + kScaleSuffix).str() || array == (name + kZeroSuffix).str();
  });
}

StreamSkeleton::Scales StreamSkeleton::loadTermScales(unsigned term) {
  ComponentAttr component = op.getTermComponent(term);
  // A constant is in the scale of the scores.
  bool isConstant = component.getScale() && component.getScale().getConstant();
  return isConstant && op.getQueries().size() == 1 ? Scales() : loadScales(component);
}

void StreamSkeleton::emit(StringRef name, const KernelDescription &origin) {
  CacheType cache = op.getCache().getType();
  auto rowBytesOf = [&](StringRef name) {
    CacheArray array = cache.getArrays()[cache.getArrayIndex(name)];
    return array.width * array.getMemoryElement().getIntOrFloatBitWidth() / 8;
  };
  for (auto [slot, array] : llvm::zip(shape.slots, shape.arrays)) {
    // Decode waits for memory. Rows of scales are small, for the registers of addresses.
    int64_t rowBytes = rowBytesOf(array), copyBytes = CopyPlan::getCopyBytes(rowBytes);
    dealt.push_back(origin.phase == KernelPhase::Decode && !slot.isLinear() &&
                    CopyPlan::splitsSectors(rowBytes));
    lanes.push_back(dealt.back() ? CopyPlan::kDealtLanes
                                 : CopyPlan::chooseLanes(slot.getRowBytes() / copyBytes));
    auto planOf = [&](int64_t rowLanes) {
      return CopyPlan::get(shape.stream.getKeys(), rowLanes, shape.threads,
                           cache.getPageSize());
    };
    auto *found = llvm::find_if(lookupLanes, [&](int64_t other) {
      return planOf(other).sharesPages(planOf(lanes.back()));
    });
    lookups.push_back(found - lookupLanes.begin());
    if (found == lookupLanes.end())
      lookupLanes.push_back(lanes.back());
  }
  // What is staged is read by 16 bytes; what is merged, written by 8.
  for (Value query : op.getQueries())
    arguments.addTensor(query, shape.stagesQuery() ? 16 : 4);
  for (StringRef array : shape.arrays)
    arguments.addArray(array, CopyPlan::getCopyBytes(rowBytesOf(array)));
  for (const CacheArray &array : cache.getArrays())
    if (array.isStatic && isRead(array.name))
      arguments.addArray(array.name);
  arguments.add(KernelValue::PageIds);
  arguments.add(KernelValue::ListItems);
  arguments.add(KernelValue::ListCounts);
  arguments.addTensor(op.getOutput(), shape.mergesWarps() ? 8 : 4 * shape.interleave());
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
  for (unsigned term = 0; term < op.getQueries().size(); ++term)
    termScales.push_back(loadTermScales(term));
  valueScales = loadScales(op.getValueComponent());
  Value items =
      LLVM::LoadOp::create(b, loc, b.getI32Type(), arguments.get(KernelValue::ListCounts), 4);
  // Blocks of a cluster take turns together. One without an item has ended: there are none
  // after it, and the barriers of the others do not wait for it.
  KernelBuilder k(b, loc);
  k.forRange(k.blockIdY(), items, k.gridDimY(), [&](Value index) { emitItem(index); });
  kvtile::ReturnOp::create(b, loc);
}

void kvc::emitStreamKernel(OpBuilder &b, StringRef name, const KernelDescription &origin,
                           AttentionOp op, const KernelShape &shape) {
  static_assert(offsetof(WorkCounts, items) == 0, "the kernel loads the first field");
  StreamSkeleton(b, op, shape).emit(name, origin);
}
