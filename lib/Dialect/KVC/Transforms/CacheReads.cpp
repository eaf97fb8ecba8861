//===- CacheReads.cpp - attention over caches that are tensors ------------===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Finds which caches an attention's keys and values are, by their elements, and learns
// from it what the dimensions of the caches are.
//===----------------------------------------------------------------------===//
#include "CacheTensors.h"

using namespace mlir;
using namespace kvc;

using Dim = DenseAttentionOp::Dim;
using Expr = Elements::Expr;

namespace {
/// A tensor that an attention reads, with a dimension of its own for each of its axes.
struct ReadElement {
  Element element;
  SmallVector<std::pair<Dim, Expr>> dims; ///< None where there is one element only.

  ReadElement(Elements &elements, Value operand, AffineMap map);
  Expr find(Dim dim, IndexSpace &space) const;
};
} // namespace

ReadElement::ReadElement(Elements &elements, Value operand, AffineMap map) {
  IndexSpace &space = elements.getSpace();
  SmallVector<Expr> indices;
  for (auto [position, expr] : llvm::enumerate(map.getResults())) {
    Expr index = space.constant(0);
    auto mapDim = dyn_cast<AffineDimExpr>(expr);
    Expr size = elements.getSize(operand, position);
    if (mapDim && size != space.constant(1)) {
      index = space.addDim(size);
      dims.emplace_back(static_cast<Dim>(mapDim.getPosition()), index);
    }
    indices.push_back(index);
  }
  element = elements.load(operand, indices);
}

Expr ReadElement::find(Dim dim, IndexSpace &space) const {
  for (const auto &[known, expr] : dims)
    if (known == dim)
      return expr;
  return space.constant(0);
}

/// Takes an index apart into axes one after the other, from the innermost on.
static std::optional<CacheAxes> cutIndex(Expr index, Expr size, const ReadElement &read,
                                         IndexSpace &space) {
  CacheAxes axes;
  Expr rest = space.simplify(index), done = space.constant(1);
  while (rest != space.constant(0)) {
    std::optional<CacheAxis> found;
    for (const auto &[dim, expr] : read.dims) {
      if (!space.contains(rest, expr))
        continue;
      Expr without = space.simplify(rest - expr * done);
      if (space.contains(without, expr))
        continue;
      Expr extent = space.getExtent(expr);
      auto constant = dyn_cast<AffineConstantExpr>(extent);
      bool isOutermost = dim == Dim::Batch || dim == Dim::Key;
      if (!isOutermost && !(constant && constant.getValue() > 0))
        return std::nullopt;
      if (isOutermost && without != space.constant(0))
        return std::nullopt;
      found = CacheAxis{dim, isOutermost ? ShapedType::kDynamic : constant.getValue()};
      rest = without;
      done = space.simplify(extent * done);
      break;
    }
    if (!found)
      return std::nullopt;
    axes.insert(axes.begin(), *found);
  }
  // Of a cache with room for more, tokens are the first ones.
  bool isTokens = axes.size() == 1 && axes.front().dim == Dim::Key;
  bool hasTokens = llvm::any_of(axes, [](CacheAxis axis) { return axis.dim == Dim::Key; });
  if (!isTokens && (hasTokens || !space.areEqual(done, size)))
    return std::nullopt;
  return axes;
}

void CacheTensors::learnDims(Cache &cache, ArrayRef<CacheAxes> dims, Location loc) {
  if (cache.dims.empty()) {
    cache.dims.assign(dims.begin(), dims.end());
    return;
  }
  bool isSame = cache.dims.size() == dims.size();
  for (unsigned i = 0; isSame && i < dims.size(); ++i) {
    // One batch entry, or one token, does not show.
    auto isHidden = [&](const CacheAxes &axes, const CacheAxes &other) {
      return axes.empty() && other.size() == 1 && ShapedType::isDynamic(other.front().size);
    };
    if (isHidden(cache.dims[i], dims[i]))
      cache.dims[i] = dims[i];
    isSame = cache.dims[i] == dims[i] || isHidden(dims[i], cache.dims[i]);
  }
  if (!isSame)
    cache.fail(loc, "two attentions take its dimensions for different ones");
}

namespace {
using TensorMap = DenseMap<Value, Cache *>;

/// Learns how a cache of codes is read: which caches hold the scales of its tokens.
class CodeReader {
public:
  CodeReader(Elements &elements, const TensorMap &tensors, const ReadElement &read,
             Element numbers, DequantizeOp op)
      : elements(elements), space(elements.getSpace()), tensors(tensors), read(read),
        numbers(numbers), op(op) {}

  /// The codes, or why they are none that can be paged.
  std::optional<CacheCodes> learn(std::string &reason);
  /// What the dimensions of the caches of scales and zero points are.
  SmallVector<std::pair<Cache *, SmallVector<CacheAxes>>> parts;

private:
  bool checkStatic(ArrayRef<Expr> indices);

  Elements &elements;
  IndexSpace &space;
  const TensorMap &tensors;
  const ReadElement &read;
  Element numbers;
  DequantizeOp op;
};
} // namespace

/// Whether scales vary along heads at most.
bool CodeReader::checkStatic(ArrayRef<Expr> indices) {
  for (Expr index : indices.drop_back())
    for (const auto &[dim, expr] : read.dims)
      if (dim != Dim::KvHead && dim != Dim::Group && space.contains(index, expr))
        return false;
  return true;
}

std::optional<CacheCodes> CodeReader::learn(std::string &reason) {
  auto fail = [&](StringRef why) {
    reason = why.str();
    return std::nullopt;
  };
  ScaleAttr scale = op.getScaleAttr();
  CacheCodes codes{op.getElement(), scale};
  // The width of scales is that of the groups.
  ReadElement ofScales = read;
  llvm::erase_if(ofScales.dims, [](const auto &dim) { return dim.first == Dim::Width; });
  Expr group = space.constant(0);
  for (Value scales : op.getScales().take_front(1)) {
    Expr count = elements.getSize(scales, numbers->indices.size() - 1);
    if (count == space.constant(1))
      continue;
    group = space.addDim(count);
    ofScales.dims.emplace_back(Dim::Width, group);
  }
  // Rows are rows of codes: the last dimension of these is the width.
  bool hasWidth = llvm::any_of(read.dims, [&](const auto &dim) {
    return dim.first == Dim::Width && numbers->indices.back() == dim.second;
  });
  if (!hasWidth)
    return fail("attention takes the dimension that its scales are along for another");
  for (Value scales : op.getScales()) {
    SmallVector<Expr> indices;
    for (auto [position, index] : llvm::enumerate(numbers->indices)) {
      bool isShared = elements.getSize(scales, position) == space.constant(1);
      bool isLast = position + 1 == numbers->indices.size();
      indices.push_back(isLast ? group : isShared ? space.constant(0) : index);
    }
    if (scale.getIsStatic()) {
      if (!checkStatic(indices))
        return fail("its static scales vary along other dimensions than heads");
      continue;
    }
    Element leaf = elements.followMoves(elements.load(scales, indices), [&](Value tensor) {
      return tensors.contains(tensor);
    });
    Cache *part = leaf->kind == ElementKind::Load ? tensors.lookup(leaf->tensor) : nullptr;
    if (!part)
      return fail("its scales or zero points are not cached");
    SmallVector<CacheAxes> dims;
    size_t numAxes = 0;
    for (auto [position, index] : llvm::enumerate(leaf->indices)) {
      std::optional<CacheAxes> axes =
          cutIndex(index, elements.getSize(leaf->tensor, position), ofScales, space);
      if (!axes)
        return fail("its scales are read in another way than token by token");
      numAxes += axes->size();
      dims.push_back(*axes);
    }
    if (numAxes != ofScales.dims.size())
      return fail("tokens or heads share its scales");
    codes.parts.push_back(part->name);
    parts.emplace_back(part, dims);
  }
  return codes;
}

/// The cache that an operand of attention is, by going back to it; null if it is none.
StringAttr CacheTensors::traceRead(CacheFunction &function, Value operand, AffineMap map,
                                   Location loc) {
  Elements &elements = *function.elements;
  IndexSpace &space = elements.getSpace();
  // Where there is no past, the new tokens are all there are.
  TensorMap tensors;
  for (auto &[name, cache] : caches) {
    const CacheTensor *tensor = cache.find(function.function);
    if (!tensor || !tensor->full)
      continue;
    tensors.try_emplace(tensor->full, &cache);
    if (tensor->rows && !tensor->past &&
        tensor->rowDims.size() ==
            static_cast<size_t>(cast<RankedTensorType>(tensor->full.getType()).getRank()))
      tensors.try_emplace(tensor->rows, &cache);
  }
  ReadElement read(elements, operand, map);
  auto isTensor = [&](Value tensor) { return tensors.contains(tensor); };
  Element element = elements.followMoves(read.element, isTensor), numbers = element;
  if (element->kind != ElementKind::Load)
    return {};
  auto dequantize = element->tensor.getDefiningOp<DequantizeOp>();
  if (dequantize) {
    element = elements.followMoves(elements.load(dequantize.getCodes(), element->indices),
                                   isTensor);
    if (element->kind != ElementKind::Load)
      return {};
  }
  Cache *cache = tensors.lookup(element->tensor);
  if (!cache)
    return {};
  SmallVector<CacheAxes> dims;
  unsigned numAxes = 0;
  for (auto [position, index] : llvm::enumerate(element->indices)) {
    std::optional<CacheAxes> axes =
        cutIndex(index, elements.getSize(element->tensor, position), read, space);
    if (!axes) {
      cache->fail(loc, "attention reads it in another way than token by token");
      return cache->name;
    }
    numAxes += axes->size();
    dims.push_back(*axes);
  }
  if (numAxes != read.dims.size())
    cache->fail(loc, "attention reads it in another way than token by token");
  else
    learnDims(*cache, dims, loc);
  if (!dequantize)
    return cache->name;
  std::string reason;
  CodeReader reader(elements, tensors, read, numbers, dequantize);
  std::optional<CacheCodes> codes = reader.learn(reason);
  if (codes && cache->codes && !(*codes == *cache->codes)) {
    codes.reset();
    reason = "two attentions take its codes for different ones";
  }
  for (auto &[part, partDims] : reader.parts)
    if (codes && part->partOf && part->partOf != cache->name) {
      codes.reset();
      reason = "its scales are those of cache '" + part->partOf.str() + "' too";
    }
  if (!codes) {
    cache->fail(loc, reason);
    return cache->name;
  }
  for (auto &[part, partDims] : reader.parts) {
    part->partOf = cache->name;
    learnDims(*part, partDims, loc);
  }
  cache->codes = codes;
  return cache->name;
}

/// The cache whose rows an operand of attention equals, in a function without a past:
/// raising may have gone back beyond them.
StringAttr CacheTensors::matchRows(CacheFunction &function, Value operand, AffineMap map) {
  Elements &elements = *function.elements;
  IndexSpace &space = elements.getSpace();
  for (auto &[name, cache] : caches) {
    const CacheTensor *tensor = cache.find(function.function);
    if (!tensor || !tensor->rows || tensor->past || cache.dims.empty() ||
        cache.dims.size() !=
            static_cast<size_t>(cast<RankedTensorType>(tensor->full.getType()).getRank()))
      continue;
    ReadElement read(elements, operand, map);
    SmallVector<Expr> indices;
    bool hasAll = true;
    for (auto [position, axes] : llvm::enumerate(getRowDims(cache, *tensor))) {
      Expr index = space.constant(0), size = space.constant(1);
      for (const CacheAxis &axis : axes) {
        Expr dim = read.find(axis.dim, space);
        if (!ShapedType::isDynamic(axis.size)) {
          hasAll &=
              isa<AffineDimExpr>(dim) && space.getExtent(dim) == space.constant(axis.size);
          index = index * axis.size;
          size = size * axis.size;
        } else if (isa<AffineDimExpr>(dim)) {
          size = size * space.getExtent(dim);
        }
        index = index + dim;
      }
      hasAll &= space.areEqual(size, elements.getSize(tensor->rows, position));
      indices.push_back(index);
    }
    if (hasAll && elements.areEqual(read.element, elements.load(tensor->rows, indices)))
      return name;
  }
  return {};
}

void CacheTensors::findReads(CacheFunction &function) {
  for (Operation &op : function.function.getBody().front())
    if (auto attention = dyn_cast<DenseAttentionOp>(&op)) {
      CacheRead read{attention, {}};
      for (unsigned term = 0; term < attention.getKeys().size(); ++term)
        read.names.push_back(traceRead(function, attention.getKeys()[term],
                                       attention.getKeyMap(term), op.getLoc()));
      read.names.push_back(
          traceRead(function, attention.getValue(), attention.getValueMap(), op.getLoc()));
      function.reads.push_back(read);
    }
}

void CacheTensors::completeReads(CacheFunction &function) {
  for (CacheRead &read : function.reads)
    for (auto [index, name] : llvm::enumerate(read.names)) {
      bool isValue = index == read.op.getKeys().size();
      if (!name)
        name = matchRows(function, isValue ? read.op.getValue() : read.op.getKeys()[index],
                         isValue ? read.op.getValueMap() : read.op.getKeyMap(index));
    }
  // What reads no cache at all is no concern of paging.
  llvm::erase_if(function.reads, [](const CacheRead &read) {
    return llvm::none_of(read.names, [](StringAttr name) { return name != nullptr; });
  });
  for (CacheRead &read : function.reads)
    for (StringAttr name : read.names)
      if (name && llvm::is_contained(read.names, StringAttr()))
        caches.find(name)->second.fail(read.op.getLoc(),
                                       "attention reads it beside a tensor that is not cached");
}
