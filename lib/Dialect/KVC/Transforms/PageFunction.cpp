//===- PageFunction.cpp - a function with caches in pages -----------------===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "PageCache.h"

using namespace mlir;
using namespace kvc;

using Dim = DenseAttentionOp::Dim;

namespace {
class FunctionPager {
public:
  explicit FunctionPager(FunctionPlan &plan)
      : plan(plan), function(plan.function->function), b(function.getContext()) {}

  void run();

private:
  void addArguments();
  void append(CacheGroup &group);
  void attend(CacheRead &read);
  Value makeSinks(DenseAttentionOp op);
  void rotate(PagedRope &rope);
  void removeTensors();
  CacheGroup &getGroup(StringAttr name);

  FunctionPlan &plan;
  func::FuncOp function;
  OpBuilder b;
  DenseMap<CacheGroup *, Value> arguments;
  Value batch;
};
} // namespace

CacheGroup &FunctionPager::getGroup(StringAttr name) {
  for (CacheGroup *group : plan.groups)
    for (Cache *cache : group->members)
      if (cache->name == name)
        return *group;
  llvm_unreachable("an attention that is paged has a group");
}

void FunctionPager::addArguments() {
  auto add = [&](Type type, DictionaryAttr attributes) -> Value {
    unsigned index = function.getNumArguments();
    LogicalResult added = function.insertArgument(index, type, attributes, function.getLoc());
    assert(succeeded(added) && "functions of func take any type");
    (void)added;
    return function.getArgument(index);
  };
  for (BlockArgument argument : function.getArguments())
    if (!batch && isa<BatchType>(argument.getType()))
      batch = argument;
  for (CacheGroup *group : plan.groups)
    arguments[group] =
        add(group->type, b.getDictionaryAttr(b.getNamedAttr(kCacheName, group->name)));
  if (!batch)
    batch = add(BatchType::get(b.getContext()), {});
}

/// What is appended: of codes, the numbers that they are made of.
static Value getRows(const CacheTensor &tensor) {
  QuantizeOp quantize = tensor.quantize;
  return quantize ? Value(quantize.getInput()) : tensor.rows;
}

void FunctionPager::append(CacheGroup &group) {
  // Before the first attention; if that comes before some of the rows, each component
  // where its rows are.
  Operation *reader = function.getBody().front().getTerminator();
  for (CacheRead *read : plan.reads)
    if (&getGroup(read->names.front()) == &group && read->op->isBeforeInBlock(reader))
      reader = read->op;
  auto isReady = [&](Cache *cache) {
    Operation *op = getRows(*cache->find(function)).getDefiningOp();
    return !op || op->isBeforeInBlock(reader);
  };
  Value cacheArgument = arguments[&group];
  bool areReady = llvm::all_of(group.members, isReady);
  SmallVector<Value> rows;
  SmallVector<Attribute> names;
  auto create = [&](Location loc) {
    AppendOp::create(b, loc, /*nonfinite=*/Type(), cacheArgument, batch, rows,
                     b.getArrayAttr(names));
    rows.clear();
    names.clear();
  };
  b.setInsertionPoint(reader);
  for (Cache *cache : group.members) {
    const CacheTensor &tensor = *cache->find(function);
    Operation *op = getRows(tensor).getDefiningOp();
    if (!areReady && op)
      b.setInsertionPointAfter(op);
    else if (!areReady)
      b.setInsertionPointToStart(&function.getBody().front());
    Location loc = tensor.full.getLoc();
    Value own = tensor.rows;
    if (tensor.quantize)
      own = emitNumbers(b, *plan.function->elements, tensor);
    rows.push_back(toRows(b, loc, own, CacheTensors::getRowDims(*cache, tensor)));
    names.push_back(b.getStringAttr(group.getComponent(*cache)));
    if (!areReady)
      create(loc);
  }
  if (areReady)
    create(reader->getLoc());
}

/// Logits by query head, in f32.
Value FunctionPager::makeSinks(DenseAttentionOp op) {
  Value sinks = op.getSinks();
  if (!sinks)
    return {};
  Location loc = op.getLoc();
  AttentionHeads heads = getHeads(op);
  AffineMap map = op.getSinksMap();
  // [heads, group] of what there is, then repeated along what there is not.
  std::optional<unsigned> outer = DenseAttentionOp::findDim(map, Dim::KvHead),
                          inner = DenseAttentionOp::findDim(map, Dim::Group);
  if (outer && inner && *outer > *inner) {
    SmallVector<int64_t> permutation = llvm::to_vector(llvm::seq<int64_t>(map.getNumResults()));
    std::swap(permutation[*outer], permutation[*inner]);
    sinks = transpose(b, loc, sinks, permutation);
  }
  auto type = cast<RankedTensorType>(sinks.getType());
  SmallVector<ReassociationIndices> groups;
  SmallVector<int64_t> kept, missing;
  if (outer || inner)
    groups.emplace_back();
  for (unsigned position = 0; position < map.getNumResults(); ++position) {
    if (groups.empty())
      continue;
    bool isKept = position == outer || position == inner;
    if (isKept && kept.size() == 1)
      groups.emplace_back();
    if (isKept)
      kept.push_back(position);
    groups.back().push_back(position);
  }
  if (static_cast<int64_t>(groups.size()) != type.getRank())
    sinks = tensor::CollapseShapeOp::create(b, loc, sinks, groups);
  if (!outer)
    missing.push_back(0);
  if (!inner)
    missing.push_back(1);
  SmallVector<int64_t> shape = {heads.kvHeads, heads.group};
  if (!missing.empty()) {
    Value empty = tensor::EmptyOp::create(b, loc, shape, type.getElementType());
    sinks = linalg::BroadcastOp::create(b, loc, sinks, empty, missing)->getResult(0);
  }
  RankedTensorType matrix = RankedTensorType::get(shape, type.getElementType());
  if (sinks.getType() != matrix)
    sinks = tensor::CastOp::create(b, loc, matrix, sinks);
  sinks =
      tensor::CollapseShapeOp::create(b, loc, sinks, ArrayRef<ReassociationIndices>{{0, 1}});
  Type result = RankedTensorType::get({heads.kvHeads * heads.group}, b.getF32Type());
  unsigned bits = type.getElementTypeBitWidth();
  if (bits < 32)
    return arith::ExtFOp::create(b, loc, result, sinks);
  if (bits > 32)
    return arith::TruncFOp::create(b, loc, result, sinks);
  return sinks;
}

void FunctionPager::attend(CacheRead &read) {
  DenseAttentionOp op = read.op;
  Location loc = op.getLoc();
  b.setInsertionPoint(op);
  CacheGroup &group = getGroup(read.names.front());
  auto getComponent = [&](StringAttr name) {
    for (const Cache *cache : group.members)
      if (cache->name == name)
        return b.getStringAttr(group.getComponent(*cache));
    llvm_unreachable("caches that an attention reads are of one group");
  };
  SmallVector<Value> queries;
  SmallVector<Attribute> components;
  OpFoldResult entries = b.getIndexAttr(1), tokens = b.getIndexAttr(1);
  for (auto [term, query] : llvm::enumerate(op.getQueries())) {
    AffineMap map = op.getQueryMap(term);
    auto type = cast<RankedTensorType>(query.getType());
    queries.push_back(toRows(b, loc, query, getAxes(type, map)));
    components.push_back(getComponent(read.names[term]));
    if (term > 0)
      continue;
    if (std::optional<unsigned> dim = DenseAttentionOp::findDim(map, Dim::Batch))
      entries = tensor::getMixedSize(b, loc, query, *dim);
    if (std::optional<unsigned> dim = DenseAttentionOp::findDim(map, Dim::Query))
      tokens = tensor::getMixedSize(b, loc, query, *dim);
  }
  StringAttr value = getComponent(read.names.back());
  auto rowsType = cast<RankedTensorType>(queries.front().getType());
  ComponentAttr component = group.type.getComponent(value.getValue());
  Type element = isQuantized(component.getElementType())
                     ? op.getOutput().getType().getElementType()
                     : component.getElementType();
  Type outputType = RankedTensorType::get(
      {rowsType.getDimSize(0), rowsType.getDimSize(1), component.getWidth()}, element);
  auto paged = AttentionOp::create(b, loc, outputType, /*lse=*/Type(), arguments[&group], batch,
                                   queries, makeSinks(op), b.getArrayAttr(components), value,
                                   op.getScaleAttr(), op.getScoreAttr(),
                                   /*deterministic=*/UnitAttr(), /*schedule=*/Attribute());
  auto type = cast<RankedTensorType>(op.getOutput().getType());
  SmallVector<CacheAxes> dims = getAxes(type, op.getOutputMap());
  AttentionHeads heads = getHeads(op);
  for (CacheAxes &axes : dims)
    for (CacheAxis &axis : axes) {
      if (axis.isHead())
        axis.size = axis.dim == Dim::KvHead ? heads.kvHeads : heads.group;
      else if (axis.dim == Dim::Width)
        axis.size = component.getWidth();
    }
  Value result = fromRows(b, loc, paged.getOutput(), type, dims, entries, tokens);
  op.getOutput().replaceAllUsesWith(result);
}

void FunctionPager::rotate(PagedRope &rope) {
  DenseRopeOp op = rope.op;
  Location loc = op.getLoc();
  b.setInsertionPoint(op);
  OpFoldResult entries = b.getIndexAttr(1), tokens = b.getIndexAttr(1);
  for (auto [position, axes] : llvm::enumerate(rope.dims))
    if (!axes.empty() && axes.front().dim == Dim::Batch)
      entries = tensor::getMixedSize(b, loc, op.getInput(), position);
    else if (!axes.empty() && axes.front().dim == Dim::Query)
      tokens = tensor::getMixedSize(b, loc, op.getInput(), position);
  Value rows = toRows(b, loc, op.getInput(), rope.dims);
  Value rotated = RopeOp::create(b, loc, rows.getType(), rows, batch, op.getFrequencies(),
                                 op.getThetaAttr(), op.getRotaryWidthAttr(), op.getStyleAttr());
  auto type = cast<RankedTensorType>(op.getOutput().getType());
  op.getOutput().replaceAllUsesWith(
      fromRows(b, loc, rotated, type, rope.dims, entries, tokens));
}

void FunctionPager::removeTensors() {
  llvm::BitVector results(function.getNumResults()), gone(function.getNumArguments());
  auto remove = [&](const Cache *cache) {
    const CacheTensor &tensor = *cache->find(function);
    results.set(tensor.result);
    if (tensor.past)
      gone.set(tensor.past.getArgNumber());
  };
  SmallVector<BlockArgument> scales;
  for (CacheGroup *group : plan.groups) {
    llvm::for_each(group->members, remove);
    llvm::for_each(group->parts, remove);
    for (Cache *cache : group->members)
      if (QuantizeOp quantize = cache->find(function)->quantize)
        for (Value value : quantize.getStaticScales())
          scales.push_back(findScaleArgument(*plan.function->elements, value));
  }
  Operation *terminator = function.getBody().front().getTerminator();
  for (int index : llvm::reverse(llvm::to_vector(results.set_bits())))
    terminator->eraseOperand(index);
  eraseDeadOps(function);
  for (BlockArgument argument : function.getArguments())
    if (argument.use_empty() && function.getArgAttr(argument.getArgNumber(), kPositionsName))
      gone.set(argument.getArgNumber());
  // Scales that are the cache's now.
  for (BlockArgument argument : scales)
    if (argument.use_empty())
      gone.set(argument.getArgNumber());
  LogicalResult erased = success();
  erased = function.eraseResults(results);
  assert(succeeded(erased) && "functions of func have any results");
  erased = function.eraseArguments(gone);
  assert(succeeded(erased) && "functions of func have any arguments");
  (void)erased;
}

void FunctionPager::run() {
  addArguments();
  for (ReplacedSize &size : plan.sizes) {
    b.setInsertionPoint(size.op);
    Value same = tensor::DimOp::create(b, size.op.getLoc(), size.argument, size.dim);
    size.op.getResult().replaceAllUsesWith(same);
  }
  for (CacheGroup *group : plan.groups)
    append(*group);
  for (CacheRead *read : plan.reads)
    attend(*read);
  for (PagedRope &rope : plan.ropes)
    rotate(rope);
  removeTensors();
}

void kvc::pageFunction(FunctionPlan &plan) { FunctionPager(plan).run(); }
