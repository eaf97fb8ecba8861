//===- PageNeeds.cpp - what a function needs once caches are paged --------===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "PageCache.h"

#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace kvc;

using Dim = DenseAttentionOp::Dim;
using Expr = Elements::Expr;

SmallVector<CacheAxes> kvc::getAxes(RankedTensorType type, AffineMap map) {
  SmallVector<CacheAxes> result;
  for (auto [position, expr] : llvm::enumerate(map.getResults())) {
    CacheAxes &axes = result.emplace_back();
    auto mapDim = dyn_cast<AffineDimExpr>(expr);
    if (!mapDim)
      continue;
    auto dim = static_cast<Dim>(mapDim.getPosition());
    bool isCount = dim == Dim::Batch || dim == Dim::Query;
    axes.push_back({dim, isCount ? ShapedType::kDynamic : type.getDimSize(position)});
  }
  return result;
}

//===----------------------------------------------------------------------===//
// Sizes
//===----------------------------------------------------------------------===//

namespace {
/// Batch entries, and new tokens of each.
struct NewTokens {
  Expr batch, tokens;
};

class NeedsPlanner {
public:
  NeedsPlanner(FunctionPlan &plan, CacheTensors &tensors)
      : plan(plan), function(plan.function->function), tensors(tensors),
        elements(*plan.function->elements), space(elements.getSpace()) {}

  void run();

private:
  std::optional<NewTokens> getNewTokens(const Cache &cache, const CacheTensor &tensor);
  void checkSizes();
  void checkRead(CacheRead &read);
  void failRead(CacheRead &read, const Twine &reason);

  bool isPaged(DenseAttentionOp op) const {
    return llvm::any_of(plan.reads, [&](CacheRead *read) { return read->op == op; });
  }
  std::optional<PagedRope> matchRope(DenseRopeOp op);

  void need(Value value, Operation *user);
  void needOperands(Operation *op);
  void findNeeds();
  bool replaceSize(tensor::DimOp op, const Cache &cache);

  FunctionPlan &plan;
  func::FuncOp function;
  CacheTensors &tensors;
  Elements &elements;
  IndexSpace &space;

  std::optional<NewTokens> newTokens;
  DenseMap<Value, Cache *> gone; ///< Tensors that will not be there.
  DenseMap<Operation *, unsigned> ropeIndices;
  llvm::SetVector<Operation *> needed;
};
} // namespace

std::optional<NewTokens> NeedsPlanner::getNewTokens(const Cache &cache,
                                                    const CacheTensor &tensor) {
  NewTokens result{space.constant(1), space.constant(1)};
  for (auto [position, axes] : llvm::enumerate(CacheTensors::getRowDims(cache, tensor))) {
    Expr size = elements.getSize(tensor.rows, position);
    if (axes.empty()) {
      if (!space.areEqual(size, space.constant(1)))
        return std::nullopt;
      continue;
    }
    int64_t inner = 1;
    for (const CacheAxis &axis : ArrayRef(axes).drop_front())
      inner *= axis.size;
    Dim dim = axes.front().dim;
    if (dim == Dim::Batch)
      result.batch = space.simplify(size.floorDiv(inner));
    else if (dim == Dim::Key)
      result.tokens = size;
  }
  return result;
}

void NeedsPlanner::failRead(CacheRead &read, const Twine &reason) {
  for (StringAttr name : read.names)
    tensors.caches.find(name)->second.fail(read.op.getLoc(), reason);
}

AttentionHeads kvc::getHeads(DenseAttentionOp op) {
  AttentionHeads heads;
  SmallVector<Value> values(op->getOperands());
  values.push_back(op.getOutput());
  for (auto [index, value] : llvm::enumerate(values)) {
    auto type = cast<RankedTensorType>(value.getType());
    // Operands are in the order of the maps, but for queries and keys.
    unsigned terms = op.getQueries().size();
    unsigned mapIndex = index < terms       ? 2 * index
                        : index < 2 * terms ? 2 * (index - terms) + 1
                                            : index;
    AffineMap map = cast<AffineMapAttr>(op.getMaps()[mapIndex]).getValue();
    for (auto [dim, size] :
         {std::pair(Dim::KvHead, &heads.kvHeads), std::pair(Dim::Group, &heads.group)}) {
      std::optional<unsigned> position = DenseAttentionOp::findDim(map, dim);
      // A size that is static anywhere is that of all.
      if (position && (*size == 1 || ShapedType::isDynamic(*size)))
        *size = type.getDimSize(*position);
    }
  }
  return heads;
}

void NeedsPlanner::checkRead(CacheRead &read) {
  DenseAttentionOp op = read.op;
  if (op.getMask())
    return failRead(read, "attention over it has a mask that is a tensor");
  AttentionHeads heads = getHeads(op);
  // Neither what is dynamic, which is negative, nor 0.
  int64_t queryHeads = 0;
  if (heads.kvHeads < 1 || heads.group < 1 ||
      llvm::MulOverflow(heads.kvHeads, heads.group, queryHeads) || queryHeads > INT32_MAX)
    return failRead(read, "the number of query heads is not static, or none that a cache has");

  Expr keys = elements.getPast() + newTokens->tokens;
  const Cache &value = tensors.caches.find(read.names.back())->second;
  for (auto [index, name] : llvm::enumerate(read.names)) {
    Cache &cache = tensors.caches.find(name)->second;
    bool isValue = index == op.getKeys().size();
    Value operand = isValue ? op.getValue() : op.getKeys()[index];
    AffineMap map = isValue ? op.getValueMap() : op.getKeyMap(index);
    if (!space.areEqual(elements.getSize(operand, *DenseAttentionOp::findDim(map, Dim::Key)),
                        keys))
      return failRead(read, "attention reads other tokens of it than past and new ones");
    bool hasOuter = heads.kvHeads == 1 || DenseAttentionOp::findDim(map, Dim::KvHead);
    bool hasGroup = heads.group > 1 && DenseAttentionOp::findDim(map, Dim::Group);
    if (cache.getHeads() != value.getHeads() || (!hasOuter && hasGroup))
      return failRead(read, "query heads that share a head of it are not consecutive");
  }

  // Queries and the result have all that there is more than one of.
  auto hasAll = [&](Value tensor, AffineMap map) {
    auto type = cast<RankedTensorType>(tensor.getType());
    auto has = [&](Dim dim, Expr size) {
      std::optional<unsigned> position = DenseAttentionOp::findDim(map, dim);
      return space.areEqual(position ? elements.getSize(tensor, *position) : space.constant(1),
                            size);
    };
    auto hasStatic = [&](Dim dim) {
      std::optional<unsigned> position = DenseAttentionOp::findDim(map, dim);
      return !position || !type.isDynamicDim(*position);
    };
    return has(Dim::KvHead, space.constant(heads.kvHeads)) &&
           has(Dim::Group, space.constant(heads.group)) && hasStatic(Dim::KvHead) &&
           hasStatic(Dim::Group) && hasStatic(Dim::Width);
  };
  auto hasNewTokens = [&](Value tensor, AffineMap map) {
    for (auto [dim, size] :
         {std::pair(Dim::Batch, newTokens->batch), std::pair(Dim::Query, newTokens->tokens)}) {
      std::optional<unsigned> position = DenseAttentionOp::findDim(map, dim);
      if (!space.areEqual(position ? elements.getSize(tensor, *position) : space.constant(1),
                          size))
        return false;
    }
    return true;
  };
  for (auto [term, query] : llvm::enumerate(op.getQueries())) {
    if (!hasAll(query, op.getQueryMap(term)))
      return failRead(read, "queries have other heads than the attention, or none that "
                            "are static");
    if (!hasNewTokens(query, op.getQueryMap(term)))
      return failRead(read, "queries are of other tokens than the new ones");
  }
  AffineMap map = op.getOutputMap();
  auto lacks = [&](Dim dim, Expr size) {
    return size != space.constant(1) && !DenseAttentionOp::findDim(map, dim);
  };
  if (lacks(Dim::Batch, newTokens->batch) || lacks(Dim::Query, newTokens->tokens) ||
      lacks(Dim::KvHead, space.constant(heads.kvHeads)) ||
      lacks(Dim::Group, space.constant(heads.group)))
    failRead(read, "the result of attention lacks a dimension of the queries");
}

void NeedsPlanner::checkSizes() {
  const Cache *first = nullptr;
  for (CacheGroup *group : plan.groups)
    for (Cache *cache : group->members) {
      const CacheTensor *tensor = cache->find(function);
      if (!tensor) {
        cache->fail(function.getLoc(),
                    "attention reads it with others, and a function holds not all of them");
        continue;
      }
      std::optional<NewTokens> own = getNewTokens(*cache, *tensor);
      if (!own || !elements.getPast()) {
        cache->fail(tensor->full.getLoc(), "its batch entries and tokens are not known");
        continue;
      }
      if (newTokens && !(space.areEqual(newTokens->batch, own->batch) &&
                         space.areEqual(newTokens->tokens, own->tokens))) {
        cache->fail(tensor->full.getLoc(), "a function gives it other new tokens than cache '" +
                                               first->name.getValue() + "'");
        continue;
      }
      if (!newTokens)
        first = cache;
      newTokens = own;
    }
  if (newTokens)
    for (CacheRead *read : plan.reads)
      checkRead(*read);
}

//===----------------------------------------------------------------------===//
// Ropes
//===----------------------------------------------------------------------===//

std::optional<PagedRope> NeedsPlanner::matchRope(DenseRopeOp op) {
  auto type = cast<RankedTensorType>(op.getInput().getType());
  if (type.getElementType().isF64())
    return std::nullopt;
  // Positions are the past plus the index of the new token.
  SmallVector<Expr> indices;
  for (int64_t dim : op.getPositionDims())
    indices.push_back(space.addDim(elements.getSize(op.getInput(), dim)));
  Element position = elements.resolve(elements.load(op.getPositions(), indices));
  if (position->kind != ElementKind::Index)
    return std::nullopt;
  Expr token = space.simplify(position->index - elements.getPast());
  std::optional<int64_t> tokenDim, batchDim;
  for (auto [index, dim] : llvm::zip(indices, op.getPositionDims()))
    if (space.areEqual(token, index) && token != space.constant(0))
      tokenDim = dim;
  bool hasTokens = newTokens->tokens != space.constant(1);
  if (tokenDim.has_value() != hasTokens || (!hasTokens && token != space.constant(0)) ||
      (tokenDim &&
       !space.areEqual(elements.getSize(op.getInput(), *tokenDim), newTokens->tokens)))
    return std::nullopt;
  // Batch entries are a dimension of the positions, or the one of their number.
  if (newTokens->batch != space.constant(1)) {
    SmallVector<int64_t> ofPositions, others;
    for (int64_t dim = 0; dim < type.getRank() - 1; ++dim) {
      if (dim == tokenDim ||
          !space.areEqual(elements.getSize(op.getInput(), dim), newTokens->batch))
        continue;
      (llvm::is_contained(op.getPositionDims(), dim) ? ofPositions : others).push_back(dim);
    }
    const SmallVector<int64_t> &dims = ofPositions.empty() ? others : ofPositions;
    if (dims.size() != 1)
      return std::nullopt;
    batchDim = dims.front();
  }
  PagedRope rope{op, {}};
  int64_t elementsOfToken = 1;
  for (int64_t dim = 0; dim < type.getRank(); ++dim) {
    CacheAxes &axes = rope.dims.emplace_back();
    if (dim == batchDim || dim == tokenDim) {
      axes.push_back({dim == batchDim ? Dim::Batch : Dim::Query});
      continue;
    }
    if (type.isDynamicDim(dim))
      return std::nullopt;
    if (llvm::MulOverflow(elementsOfToken, type.getDimSize(dim), elementsOfToken) ||
        elementsOfToken < 1 || elementsOfToken > INT32_MAX)
      return std::nullopt;
    if (dim == type.getRank() - 1)
      axes.push_back({Dim::Width, type.getDimSize(dim)});
    else if (type.getDimSize(dim) != 1)
      axes.push_back({Dim::KvHead, type.getDimSize(dim)});
  }
  return rope;
}

//===----------------------------------------------------------------------===//
// Needs
//===----------------------------------------------------------------------===//

/// A size of a tensor that goes, if one that stays has it too.
bool NeedsPlanner::replaceSize(tensor::DimOp op, const Cache &cache) {
  std::optional<int64_t> dim = op.getConstantIndex();
  auto type = dyn_cast<RankedTensorType>(op.getSource().getType());
  if (!dim || !type || *dim >= type.getRank() ||
      cache.getTokenDim() == static_cast<unsigned>(*dim))
    return false;
  Expr size = elements.getSize(op.getSource(), *dim);
  for (BlockArgument argument : function.getArguments()) {
    auto argumentType = dyn_cast<RankedTensorType>(argument.getType());
    if (!argumentType || gone.contains(argument))
      continue;
    for (int64_t other = 0; other < argumentType.getRank(); ++other)
      if (space.areEqual(elements.getSize(argument, other), size)) {
        plan.sizes.push_back({op, argument, other});
        return true;
      }
  }
  return false;
}

void NeedsPlanner::need(Value value, Operation *user) {
  if (Cache *cache = gone.lookup(value)) {
    auto dim = dyn_cast<tensor::DimOp>(user);
    if (dim && replaceSize(dim, *cache))
      return;
    StringRef name = user->getName().getStringRef();
    if (dim)
      cache->fail(user->getLoc(), "'tensor.dim' asks how many tokens it holds");
    else if (user->getNumResults() == 1 && !isa<DenseAttentionOp>(user) &&
             findReader(user->getResult(0)))
      cache->fail(user->getLoc(), "attention reads what '" + name + "' computes of its rows");
    else
      cache->fail(user->getLoc(), "'" + name + "' uses it too");
    return;
  }
  if (Operation *op = value.getDefiningOp())
    needed.insert(op);
}

void NeedsPlanner::needOperands(Operation *op) {
  auto needAll = [&](ValueRange values) {
    for (Value value : values)
      need(value, op);
  };
  if (auto attention = dyn_cast<DenseAttentionOp>(op); attention && isPaged(attention)) {
    needAll(attention.getQueries());
    if (Value sinks = attention.getSinks())
      need(sinks, op);
    return;
  }
  if (ropeIndices.contains(op)) {
    auto rope = cast<DenseRopeOp>(op);
    need(rope.getInput(), op);
    if (Value frequencies = rope.getFrequencies())
      need(frequencies, op);
    return;
  }
  op->walk([&](Operation *inner) {
    for (Value operand : inner->getOperands())
      if (operand.getParentBlock() == &function.getBody().front())
        need(operand, inner);
  });
}

void NeedsPlanner::findNeeds() {
  Operation *terminator = function.getBody().front().getTerminator();
  llvm::SmallDenseSet<unsigned> dropped;
  for (CacheGroup *group : plan.groups) {
    SmallVector<Cache *> all = group->members;
    llvm::append_range(all, group->parts);
    for (Cache *cache : all) {
      const CacheTensor *tensor = cache->find(function);
      if (!tensor || cache->hasFailed())
        continue;
      if (tensor->past)
        gone[tensor->past] = cache;
      if (tensor->full != tensor->rows)
        gone[tensor->full] = cache;
      dropped.insert(tensor->result);
    }
  }
  for (CacheGroup *group : plan.groups)
    for (Cache *cache : group->members)
      if (const CacheTensor *tensor = cache->find(function); tensor && !cache->hasFailed()) {
        QuantizeOp quantize = tensor->quantize;
        need(quantize ? Value(quantize.getInput()) : tensor->rows, terminator);
      }
  for (auto [index, operand] : llvm::enumerate(terminator->getOperands()))
    if (!dropped.contains(index))
      need(operand, terminator);
  for (Operation &op : function.getBody().front())
    if (&op != terminator && !wouldOpBeTriviallyDead(&op))
      needed.insert(&op);
  for (unsigned i = 0; i < needed.size(); ++i)
    needOperands(needed[i]);
}

void NeedsPlanner::run() {
  checkSizes();
  if (!newTokens)
    return;
  for (Operation &op : function.getBody().front())
    if (auto rope = dyn_cast<DenseRopeOp>(&op))
      if (std::optional<PagedRope> paged = matchRope(rope)) {
        ropeIndices[rope] = plan.ropes.size();
        plan.ropes.push_back(*paged);
      }
  findNeeds();
}

void kvc::planNeeds(FunctionPlan &plan, CacheTensors &tensors) {
  NeedsPlanner(plan, tensors).run();
}
