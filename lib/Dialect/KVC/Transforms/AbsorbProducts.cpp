//===- AbsorbProducts.cpp - products around an attention ------------------===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "AbsorbProducts.h"
#include "ElementEmitter.h"
#include "FoldIntoAttention.h"

#define DEBUG_TYPE "kvc-absorb-mla"

using namespace mlir;
using namespace kvc;
using namespace kvc::absorb;

using Dim = DenseAttentionOp::Dim;
using Expr = Elements::Expr;

Absorber::Absorber(OpBuilder &b, Elements &elements, DenseAttentionOp op, Precompute precompute)
    : b(b), elements(elements), space(elements.getSpace()), op(op), precompute(precompute),
      parts{readAttention(elements, op), {}, std::nullopt} {
  for (auto [term, read] : llvm::enumerate(parts.attention.terms))
    if (read.query->kind == ElementKind::Load)
      addOuterDims(op.getQueryMap(term), read.query->indices);
}

/// Dimensions of a tensor with the map of an operand or the result.
void Absorber::addOuterDims(AffineMap map, ArrayRef<Expr> indices) {
  for (Dim dim : {Dim::Batch, Dim::Query})
    if (std::optional<unsigned> position = DenseAttentionOp::findDim(map, dim))
      outerDims.push_back(indices[*position]);
}

Value Absorber::emit(ArrayRef<Expr> dims, ArrayRef<Expr> sumDims, ArrayRef<Element> factors) {
  Type type = cast<RankedTensorType>(op.getOutput().getType()).getElementType();
  return emitProduct(b, elements, op, dims, sumDims, factors, type);
}

bool Absorber::match() {
  const AttentionElements &attention = parts.attention;
  for (const AttentionElements::Term &term : attention.terms) {
    parts.keys.emplace_back();
    // Constants that are the same everywhere are no loads.
    if (term.query->kind != ElementKind::Load || term.key->kind != ElementKind::Load)
      continue;
    if (auto segments =
            matchTokenFunction(elements, term.key, attention.keyDim, term.width, isCached))
      parts.keys.back() = std::move(*segments);
  }
  // The width of the values is the result's only.
  for (Expr dim : attention.outputDims) {
    if (!elements.contains(attention.value, dim) ||
        elements.contains(attention.terms[0].query, dim))
      continue;
    auto segments =
        matchTokenFunction(elements, attention.value, attention.keyDim, dim, isCached);
    if (segments && segments->size() == 1 && segments->front().weight)
      parts.value = segments->front();
    valueParts = segments ? segments->size() : 1;
  }
  return parts.value || llvm::any_of(parts.keys, Parts::isProduct);
}

void Absorber::explain() {
  auto report = [&](const Twine &what, Element rows) {
    if (auto obstacle = findObstacle(elements, rows, parts.attention.keyDim, isCached))
      remark::missed(op.getLoc(), remark::RemarkOpts::name("Absorbed").category(DEBUG_TYPE))
          << remark::reason("{0} stays: {1}", what.str(), obstacle->reason);
  };
  for (auto [index, term] : llvm::enumerate(parts.attention.terms))
    if (!Parts::isProduct(parts.keys[index]))
      report("key " + Twine(index), term.key);
  if (!parts.value && valueParts <= 1)
    report("the value", parts.attention.value);
}

//===----------------------------------------------------------------------===//
// Products of weights
//===----------------------------------------------------------------------===//

/// Of a product: two operations for each point of the space that its factors span. None if a
/// size is not static.
std::optional<Absorber::Work> Absorber::getWork(Element source, Element weight) {
  SmallVector<Expr> dims = getDims(elements, {source, weight});
  llvm::erase_if(dims, [&](Expr dim) { return llvm::is_contained(outerDims, dim); });
  std::optional<double> points = countPoints(space, dims),
                        size = countPoints(space, getDims(elements, weight));
  if (!points || !size)
    return std::nullopt;
  auto type = cast<RankedTensorType>(weight->tensor.getType());
  return Work{*size * type.getElementTypeBitWidth() / 8, 2 * *points};
}

/// The product of two weights as a constant, where that is wanted and can be; else null, with a
/// remark. `source` is what it is then multiplied by; `before`: of what it replaces.
Element Absorber::multiplyWeights(StringRef what, const WeightProduct &product, Operation *user,
                                  Element source, std::optional<Work> before) {
  auto options = remark::RemarkOpts::name("Precomputed").category(DEBUG_TYPE);
  auto refuse = [&](const std::string &why) -> Element {
    remark::missed(op.getLoc(), options)
        << remark::reason("weights of the {0} not multiplied beforehand: {1}", what, why);
    return nullptr;
  };
  SmallVector<Expr> dims = getDims(elements, source);
  for (Expr dim : product.dims)
    if (!llvm::is_contained(dims, dim))
      dims.push_back(dim);
  llvm::erase_if(dims, [&](Expr dim) { return llvm::is_contained(outerDims, dim); });
  std::optional<double> points = countPoints(space, dims),
                        size = countPoints(space, product.dims);
  if (!points || !size || !before)
    return refuse("a size is not static");
  Type type = cast<RankedTensorType>(op.getOutput().getType()).getElementType();
  Work after{*size * type.getIntOrFloatBitWidth() / 8, 2 * *points};
  std::string numbers = llvm::formatv(
      "{0:F0} bytes of weights and {1:F0} operations a new token, where they take "
      "{2:F0} and {3:F0}",
      after.bytes, after.operations, before->bytes, before->operations);
  if (precompute == Precompute::Auto &&
      !(after.bytes < before->bytes && after.operations < before->operations))
    return refuse("the product takes " + numbers);
  std::string why;
  Element combined = product.emit(b, elements, user, type, why);
  if (!combined)
    return refuse(why);
  precomputed.push_back(llvm::formatv(
      "weights of the {0} multiplied beforehand: the product takes {1}", what, numbers));
  return combined;
}

/// The query of a segment, as a product with one weight instead of two.
std::optional<Absorber::CombinedQuery> Absorber::combineQuery(unsigned term,
                                                              const Segment &segment) {
  if (precompute == Precompute::None || !segment.weight)
    return std::nullopt;
  Element query = getQuery(term, segment);
  std::optional<LinearElement> linear = matchLinear(elements, query, segment.column);
  if (!linear)
    return std::nullopt;
  // What other segments read stays.
  SmallVector<Value> kept;
  for (const Segment &other : parts.keys[term])
    if (other.begin != segment.begin)
      kept.push_back(getMovedQuery(term, other)->tensor);
  std::optional<Work> before = getWork(query, segment.weight),
                      former = getWork(linear->source, linear->weight);
  if (before && former && !isNeeded(linear->tensor, op, term, kept))
    before = Work{before->bytes + former->bytes, before->operations + former->operations};
  WeightProduct product(elements, linear->weight, segment.weight, segment.column);
  Element weight = multiplyWeights("query", product, op, linear->source, before);
  if (!weight)
    return std::nullopt;
  return CombinedQuery{linear->source, weight, linear->sumDim};
}

/// Replaces what multiplies the result next by a product of the attention's result in the
/// latent space with one weight.
void Absorber::combineOutput(Value latent, ArrayRef<Expr> latentDims) {
  if (precompute == Precompute::None)
    return;
  std::optional<Consumer> consumer = findConsumer(elements, op.getOutput());
  if (!consumer)
    return;
  // The sum is over heads and columns, one head after the other.
  const Segment &value = *parts.value;
  auto width = dyn_cast<AffineConstantExpr>(space.getExtent(value.column)),
       length = dyn_cast<AffineConstantExpr>(space.simplify(space.getExtent(consumer->sumDim)));
  if (!width || !length || width.getValue() < 1 || length.getValue() < 1 ||
      length.getValue() % width.getValue() != 0)
    return;
  Expr inner = space.addDim(width), outer = space.constant(0);
  SmallVector<Expr> sumDims = {value.sumDim};
  if (length.getValue() > width.getValue()) {
    outer = space.addDim(space.constant(length.getValue() / width.getValue()));
    sumDims.insert(sumDims.begin(), outer);
  }
  DenseMap<Expr, Expr> cut = {{consumer->sumDim, outer * width.getValue() + inner}};
  Element result = elements.replaceDims(consumer->source, cut),
          weight = elements.replaceDims(consumer->weight, cut);
  // A loop over heads needs an operand that has their dimension as it is.
  if (sumDims.size() > 1 && !elements.contains(weight, outer))
    return;
  DenseMap<Expr, Expr> moved;
  for (auto [dim, index] : llvm::zip(parts.attention.outputDims, result->indices)) {
    bool isColumn = dim == value.column;
    if (isColumn ? index != inner : space.contains(index, inner))
      return;
    moved[dim] = index;
  }
  Element source = elements.replaceDims(elements.load(latent, latentDims), moved),
          up = elements.replaceDims(value.weight, moved);
  for (Expr dim : consumer->dims)
    if (!elements.contains(weight, dim))
      outerDims.push_back(dim);
  std::optional<Work> before = getWork(source, up), former = getWork(result, weight);
  if (before && former)
    before = Work{before->bytes + former->bytes, before->operations + former->operations};
  Operation *user = consumer->tensor.getDefiningOp();
  WeightProduct product(elements, up, weight, inner);
  Element combined = multiplyWeights("result", product, user, source, before);
  if (!combined)
    return;
  Type type = cast<RankedTensorType>(consumer->tensor.getType()).getElementType();
  if (Value projected =
          emitProduct(b, elements, user, consumer->dims, sumDims, {source, combined}, type))
    replaceTensor(b, consumer->tensor, projected);
}

//===----------------------------------------------------------------------===//
// Attention
//===----------------------------------------------------------------------===//

/// The columns of a query that meet a segment's.
Element Absorber::getQuery(unsigned term, const Segment &segment) {
  const AttentionElements::Term &read = parts.attention.terms[term];
  return elements.replaceDims(read.query, {{read.width, segment.column + segment.begin}});
}

/// The same in the tensor that it was moved from, where a loop can read that.
Element Absorber::getMovedQuery(unsigned term, const Segment &segment) {
  Element query = getQuery(term, segment);
  elements.resetBudget();
  Element moved = elements.followMoves(query);
  return isPlain(space, moved) ? moved : query;
}

/// Adds the terms that the segments of a key become. Fails if a size is not known.
bool Absorber::absorbTerm(unsigned term, AttentionElements &absorbed) {
  const AttentionElements::Term &read = parts.attention.terms[term];
  const SmallVector<Segment> &segments = parts.keys[term];
  SmallVector<std::optional<CombinedQuery>> combined;
  for (const Segment &segment : segments)
    combined.push_back(combineQuery(term, segment));
  bool isCombined = llvm::any_of(combined, [](const auto &query) { return bool(query); });
  for (auto [segment, product] : llvm::zip(segments, combined)) {
    SmallVector<Expr> dims;
    for (Expr index : read.query->indices)
      if (index != read.width && isa<AffineDimExpr>(index))
        dims.push_back(index);
    Expr width = segment.weight ? segment.sumDim : segment.column;
    dims.push_back(width);
    // What makes the other columns of the query is not to be needed for these.
    Element query = isCombined ? getMovedQuery(term, segment) : getQuery(term, segment);
    Value made;
    if (product)
      made = emit(dims, {product->sumDim}, {product->source, product->weight});
    else if (segment.weight) // of each KV head: the query has all dimensions that it has
      made = emit(dims, {segment.column}, {query, segment.weight});
    else
      made = emit(dims, {}, {query});
    if (!made)
      return false;
    absorbed.terms.push_back({elements.load(made, dims), segment.source, width});
  }
  return true;
}

Value Absorber::absorb(RaiseFailure &why) {
  const AttentionElements &attention = parts.attention;
  const std::optional<Segment> &value = parts.value;
  AttentionElements absorbed = attention;
  absorbed.terms.clear();
  for (auto [term, segments] : llvm::enumerate(parts.keys)) {
    if (!Parts::isProduct(segments)) {
      absorbed.terms.push_back(attention.terms[term]);
    } else if (!absorbTerm(term, absorbed)) {
      why.reason = "a size is not known before the attention";
      return {};
    }
  }
  Type element = op.getOutput().getType().getElementType();
  if (!value)
    return buildAttention(b, elements, absorbed, op, element, isCached, why);
  absorbed.value = value->source;
  for (Expr &dim : absorbed.outputDims)
    if (dim == value->column)
      dim = value->sumDim;
  Value latent = buildAttention(b, elements, absorbed, op, element, isCached, why);
  if (!latent)
    return {};
  Value result = emit(attention.outputDims, {value->sumDim},
                      {elements.load(latent, absorbed.outputDims), value->weight});
  if (!result)
    why.reason = "a size is not known before the attention";
  else
    combineOutput(latent, absorbed.outputDims);
  return result;
}
