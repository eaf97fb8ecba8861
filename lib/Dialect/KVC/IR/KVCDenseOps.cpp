//===- KVCDenseOps.cpp - attention before paging --------------------------===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Verify.h"

#include "kvc/Dialect/KVC/IR/KVC.h"

using namespace mlir;
using namespace kvc;

using Dim = DenseAttentionOp::Dim;

static constexpr StringLiteral kDimNames[] = {"b", "h", "g", "i", "j", "w"};

//===----------------------------------------------------------------------===//
// DenseAttentionOp
//===----------------------------------------------------------------------===//

AffineMap DenseAttentionOp::getMaskMap() {
  return getMask() ? getMap(2 * getQueries().size() + 1) : AffineMap();
}

AffineMap DenseAttentionOp::getSinksMap() {
  return getSinks() ? getMap(getMaps().size() - 2) : AffineMap();
}

SmallVector<ScoreModifierInterface> DenseAttentionOp::getModifiers() {
  return llvm::to_vector(getScore().getAsRange<ScoreModifierInterface>());
}

std::optional<unsigned> DenseAttentionOp::findDim(AffineMap map, Dim dim) {
  return map.getResultPosition(getAffineDimExpr(dim, map.getContext()));
}

namespace {
/// Collects the sizes that the operands of one attention say of its dimensions.
class DimSizes {
public:
  explicit DimSizes(DenseAttentionOp op) : op(op) {}

  /// Checks the map of one operand, and its sizes; `width` is that of its w.
  LogicalResult add(const Twine &what, RankedTensorType type, AffineMap map,
                    ArrayRef<Dim> required, ArrayRef<Dim> allowed, int64_t &width);

  /// Whether a tensor before has the dimension.
  bool has(unsigned dim) const { return occurs[dim]; }

private:
  DenseAttentionOp op;
  bool occurs[DenseAttentionOp::kNumDims] = {};
  int64_t sizes[DenseAttentionOp::kNumDims] = {ShapedType::kDynamic, ShapedType::kDynamic,
                                               ShapedType::kDynamic, ShapedType::kDynamic,
                                               ShapedType::kDynamic, ShapedType::kDynamic};
};
} // namespace

LogicalResult DimSizes::add(const Twine &what, RankedTensorType type, AffineMap map,
                            ArrayRef<Dim> required, ArrayRef<Dim> allowed, int64_t &width) {
  // dense_attention_c2
  if (map.getNumDims() != DenseAttentionOp::kNumDims || map.getNumSymbols() != 0)
    return op.emitOpError("expected maps from (b, h, g, i, j, w), got ")
           << AffineMapAttr::get(map) << " for " << what;
  if (map.getNumResults() != type.getRank())
    return op.emitOpError("expected a map with ")
           << type.getRank() << " results for " << what << ", got " << AffineMapAttr::get(map);
  bool seen[DenseAttentionOp::kNumDims] = {};
  for (auto [position, expr] : llvm::enumerate(map.getResults())) {
    int64_t size = type.getDimSize(position);
    if (auto constant = dyn_cast<AffineConstantExpr>(expr)) {
      if (constant.getValue() == 0 && size == 1)
        continue;
      return op.emitOpError("expected 0 in a map for dimensions of size 1 only, got ")
             << AffineMapAttr::get(map) << " for " << what << " of type " << type;
    }
    auto dim = dyn_cast<AffineDimExpr>(expr);
    if (!dim)
      return op.emitOpError("expected dimensions or 0 as results of maps, got ")
             << AffineMapAttr::get(map) << " for " << what;
    unsigned index = dim.getPosition();
    if (seen[index])
      return op.emitOpError("expected each dimension once in a map, got ")
             << AffineMapAttr::get(map) << " for " << what;
    seen[index] = true;
    // dense_attention_c3
    if (!llvm::is_contained(required, index) && !llvm::is_contained(allowed, index))
      return op.emitOpError("expected no dimension ")
             << kDimNames[index] << " in the map of " << what << ", got "
             << AffineMapAttr::get(map);
    // dense_attention_c4
    int64_t &known = index == Dim::Width ? width : sizes[index];
    if (failed(verifySameDim(op, ("dimension " + kDimNames[index] + " of " + what).str(), size,
                             known)))
      return failure();
    if (ShapedType::isDynamic(known))
      known = size;
    occurs[index] = true;
  }
  for (Dim dim : required)
    if (!seen[dim])
      return op.emitOpError("expected dimension ")
             << kDimNames[dim] << " in the map of " << what << ", got "
             << AffineMapAttr::get(map);
  return success();
}

LogicalResult DenseAttentionOp::verify() {
  // dense_attention_c1
  size_t terms = getQueries().size();
  if (terms < 1 || terms > kMaxTerms)
    return emitOpError("expected 1 to ") << kMaxTerms << " terms, got " << terms;
  if (getKeys().size() != terms)
    return emitOpError("expected as many keys as queries (")
           << terms << "), got " << getKeys().size();
  size_t maps = 2 * terms + 2 + (getMask() ? 1 : 0) + (getSinks() ? 1 : 0);
  if (getMaps().size() != maps)
    return emitOpError("expected ") << maps << " maps, got " << getMaps().size();

  DimSizes sizes(*this);
  auto typeOf = [](Value value) { return cast<RankedTensorType>(value.getType()); };
  RankedTensorType output = typeOf(getOutput());
  Type element = output.getElementType();
  auto verifyOperand = [&](const Twine &what, Value value, AffineMap map,
                           ArrayRef<Dim> required, ArrayRef<Dim> allowed,
                           int64_t &width) -> LogicalResult {
    // dense_attention_c5
    if (typeOf(value).getElementType() != element)
      return emitOpError("expected ")
             << what << " of " << element << " as the result is, got " << value.getType();
    return sizes.add(what, typeOf(value), map, required, allowed, width);
  };
  for (unsigned term = 0; term < terms; ++term) {
    int64_t width = ShapedType::kDynamic;
    if (failed(verifyOperand("query " + Twine(term), getQueries()[term], getQueryMap(term),
                             {Width}, {Batch, KvHead, Group, Query}, width)) ||
        failed(verifyOperand("key " + Twine(term), getKeys()[term], getKeyMap(term),
                             {Key, Width}, {Batch, KvHead, Group}, width)))
      return failure();
  }
  int64_t width = ShapedType::kDynamic;
  if (failed(verifyOperand("value", getValue(), getValueMap(), {Key, Width},
                           {Batch, KvHead, Group}, width)))
    return failure();
  for (auto [position, expr] : llvm::enumerate(getOutputMap().getResults()))
    if (auto dim = dyn_cast<AffineDimExpr>(expr);
        dim && dim.getPosition() < kNumDims && position < size_t(output.getRank()) &&
        output.getDimSize(position) != 1 && !sizes.has(dim.getPosition()))
      return emitOpError("expected dimension ")
             << kDimNames[dim.getPosition()]
             << " of the result, which is not 1, in a query, key or value";
  if (failed(verifyOperand("result", getOutput(), getOutputMap(), {Width},
                           {Batch, KvHead, Group, Query}, width)))
    return failure();
  if (getMask() && failed(sizes.add("mask", typeOf(getMask()), getMaskMap(), {Key},
                                    {Batch, KvHead, Group, Query}, width)))
    return failure();
  if (getSinks() &&
      failed(sizes.add("sinks", typeOf(getSinks()), getSinksMap(), {}, {KvHead, Group}, width)))
    return failure();
  // dense_attention_c6, dense_attention_c7
  return verifyScore(*this, getScore(), getScaleAttr());
}

//===----------------------------------------------------------------------===//
// DenseRopeOp
//===----------------------------------------------------------------------===//

LogicalResult DenseRopeOp::verify() {
  // dense_rope_c1
  auto type = cast<RankedTensorType>(getInput().getType());
  auto positions = cast<RankedTensorType>(getPositions().getType());
  if (type.getRank() < 1 || type.isDynamicDim(type.getRank() - 1))
    return emitOpError("expected an input with a static last dimension, got ") << type;
  ArrayRef<int64_t> dims = getPositionDims();
  if (positions.getRank() != static_cast<int64_t>(dims.size()))
    return emitOpError("expected a position dimension for each of the ")
           << positions.getRank() << " of the positions, got " << dims.size();
  int64_t previous = -1;
  for (auto [index, dim] : llvm::enumerate(dims)) {
    if (dim <= previous || dim >= type.getRank() - 1)
      return emitOpError("expected ascending position dimensions from 0 to ")
             << type.getRank() - 2 << ", got " << getPositionDimsAttr();
    previous = dim;
    if (failed(verifySameDim(*this, ("dimension " + Twine(dim) + " of the input").str(),
                             type.getDimSize(dim), positions.getDimSize(index))))
      return failure();
  }
  // dense_rope_c2, dense_rope_c3
  return verifyRotation(*this, type.getDimSize(type.getRank() - 1), getRotaryWidth(),
                        getThetaAttr(), getFrequencies());
}
