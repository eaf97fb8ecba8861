//===- CacheRows.cpp - tensors as the rows of a cache ---------------------===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "CacheRows.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Utils/IndexingUtils.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"

using namespace mlir;
using namespace kvc;

using Dim = DenseAttentionOp::Dim;

namespace {
/// Dimensions of a tensor to be: how its own are grouped, and their sizes.
struct Shape {
  SmallVector<ReassociationIndices> groups;
  SmallVector<OpFoldResult> sizes;

  void add(OpFoldResult size, bool startsGroup) {
    if (startsGroup)
      groups.emplace_back();
    groups.back().push_back(sizes.size());
    sizes.push_back(size);
  }
};
} // namespace

/// The dimension of [tokens, heads, width] that holds an axis.
static unsigned getSection(const CacheAxis &axis) {
  return axis.dim == Dim::Width ? 2 : axis.isHead() ? 1 : 0;
}

/// The order of axes there.
static bool isBefore(const CacheAxis &first, const CacheAxis &second) {
  auto order = [](const CacheAxis &axis) {
    return std::pair(getSection(axis), static_cast<unsigned>(axis.dim));
  };
  return order(first) < order(second);
}

static Value expand(OpBuilder &b, Location loc, Value tensor, const Shape &shape) {
  if (shape.groups.size() == shape.sizes.size())
    return tensor;
  auto type = cast<RankedTensorType>(tensor.getType());
  SmallVector<OpFoldResult> sizes = shape.sizes;
  SmallVector<int64_t> staticSizes;
  for (auto [dim, group] : llvm::enumerate(shape.groups)) {
    // One that stays whole is as static as it was.
    if (group.size() == 1)
      sizes[group.front()] = tensor::getMixedSize(b, loc, tensor, dim);
    for (int64_t index : group)
      staticSizes.push_back(getConstantIntValue(sizes[index]).value_or(ShapedType::kDynamic));
  }
  return tensor::ExpandShapeOp::create(b, loc, type.clone(staticSizes), tensor, shape.groups,
                                       sizes);
}

static Value collapse(OpBuilder &b, Location loc, Value tensor,
                      ArrayRef<ReassociationIndices> groups) {
  if (cast<RankedTensorType>(tensor.getType()).getRank() == static_cast<int64_t>(groups.size()))
    return tensor;
  return tensor::CollapseShapeOp::create(b, loc, tensor, groups);
}

Value kvc::transpose(OpBuilder &b, Location loc, Value tensor, ArrayRef<int64_t> permutation) {
  if (llvm::is_sorted(permutation))
    return tensor;
  SmallVector<OpFoldResult> sizes = tensor::getMixedSizes(b, loc, tensor);
  applyPermutationToVector(sizes, permutation);
  Value empty = tensor::EmptyOp::create(b, loc, sizes, getElementTypeOrSelf(tensor.getType()));
  return linalg::TransposeOp::create(b, loc, tensor, empty, permutation)->getResult(0);
}

Value kvc::toRows(OpBuilder &b, Location loc, Value tensor, ArrayRef<CacheAxes> dims) {
  // A dimension for each axis. One of size 1 is as good as a batch entry.
  Shape shape;
  CacheAxes axes;
  for (auto [position, parts] : llvm::enumerate(dims)) {
    OpFoldResult size = tensor::getMixedSize(b, loc, tensor, position);
    if (parts.empty()) {
      shape.add(size, /*startsGroup=*/true);
      axes.push_back({Dim::Batch, 1});
      continue;
    }
    int64_t inner = 1;
    for (const CacheAxis &axis : ArrayRef(parts).drop_front())
      inner *= axis.size;
    for (auto [index, axis] : llvm::enumerate(parts)) {
      OpFoldResult part = size;
      if (index > 0)
        part = b.getIndexAttr(axis.size);
      else if (inner > 1 && getConstantIntValue(size))
        part = b.getIndexAttr(*getConstantIntValue(size) / inner);
      else if (inner > 1)
        part = arith::DivUIOp::create(b, loc, cast<Value>(size),
                                      arith::ConstantIndexOp::create(b, loc, inner))
                   .getResult();
      shape.add(part, index == 0);
      axes.push_back(axis);
    }
  }
  Value value = expand(b, loc, tensor, shape);

  SmallVector<int64_t> permutation = llvm::to_vector(llvm::seq<int64_t>(axes.size()));
  llvm::stable_sort(permutation,
                    [&](int64_t i, int64_t j) { return isBefore(axes[i], axes[j]); });
  value = transpose(b, loc, value, permutation);
  applyPermutationToVector(axes, permutation);

  // The first dimension of a section that has none of its own is added to the next.
  Shape filled;
  SmallVector<ReassociationIndices> sections(3);
  unsigned section = 0;
  for (auto [position, axis] : llvm::enumerate(axes)) {
    bool startsGroup = true;
    for (; section < getSection(axis); ++section)
      if (sections[section].empty()) {
        sections[section].push_back(filled.sizes.size());
        filled.add(b.getIndexAttr(1), startsGroup);
        startsGroup = false;
      }
    sections[section].push_back(filled.sizes.size());
    filled.add(tensor::getMixedSize(b, loc, value, position), startsGroup);
  }
  return collapse(b, loc, expand(b, loc, value, filled), sections);
}

Value kvc::fromRows(OpBuilder &b, Location loc, Value rows, RankedTensorType type,
                    ArrayRef<CacheAxes> dims, OpFoldResult batch, OpFoldResult tokens) {
  CacheAxes axes;
  for (const CacheAxes &parts : dims)
    llvm::append_range(axes, parts);
  auto getSize = [&](const CacheAxis &axis) -> OpFoldResult {
    if (axis.dim == Dim::Batch)
      return batch;
    return getSection(axis) == 0 ? tokens : b.getIndexAttr(axis.size);
  };
  SmallVector<int64_t> permutation = llvm::to_vector(llvm::seq<int64_t>(axes.size()));
  llvm::stable_sort(permutation,
                    [&](int64_t i, int64_t j) { return isBefore(axes[i], axes[j]); });

  // A section without axes has size 1, and goes to the next dimension.
  Shape split;
  SmallVector<ReassociationIndices> groups;
  int64_t next = 0;
  bool joins = false;
  for (unsigned section = 0; section < 3; ++section) {
    bool startsGroup = true;
    auto add = [&](OpFoldResult size) {
      if (!joins)
        groups.emplace_back();
      groups.back().push_back(split.sizes.size());
      split.add(size, startsGroup);
      startsGroup = joins = false;
    };
    for (; next < static_cast<int64_t>(permutation.size()) &&
           getSection(axes[permutation[next]]) == section;
         ++next)
      add(getSize(axes[permutation[next]]));
    if (startsGroup) {
      add(b.getIndexAttr(1));
      joins = true;
    }
  }
  Value value = collapse(b, loc, expand(b, loc, rows, split), groups);
  value = transpose(b, loc, value, invertPermutationVector(permutation));

  // Dimensions of size 1 are beside their neighbour.
  Shape filled;
  bool startsGroup = true;
  int64_t left = axes.size();
  for (const CacheAxes &parts : dims) {
    // What follows the last axis stays in its group.
    bool isUnit = parts.empty();
    filled.add(isUnit ? OpFoldResult(b.getIndexAttr(1)) : getSize(parts.front()), startsGroup);
    left -= isUnit ? 0 : 1;
    startsGroup = !isUnit && left > 0;
  }
  value = expand(b, loc, value, filled);
  if (value.getType() != type)
    value = tensor::CastOp::create(b, loc, type, value);
  return value;
}
