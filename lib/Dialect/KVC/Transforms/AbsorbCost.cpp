//===- AbsorbCost.cpp - what attention over latent rows costs -------------===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "AbsorbCost.h"
#include "FoldIntoAttention.h"
#include "PageCache.h"

using namespace mlir;
using namespace kvc;
using namespace kvc::absorb;

using Dim = DenseAttentionOp::Dim;
using Expr = Elements::Expr;

bool Parts::hasWeight() const {
  return value || llvm::any_of(keys, [](const SmallVector<Segment> &segments) {
           return llvm::any_of(segments, [](const Segment &s) { return bool(s.weight); });
         });
}

std::string Cost::toText() const {
  return llvm::formatv("{0:F0} operations a new token, {1:F0} a token, {2:F0} a pair of both; "
                       "{3:F0} bytes of weights, {4:F0} a new token, {5:F0} a token",
                       operationsPerNewToken, operationsPerToken, operationsPerPair, bytes,
                       bytesPerNewToken, bytesPerToken);
}

static double getElementBytes(Value tensor) {
  return cast<RankedTensorType>(tensor.getType()).getElementTypeBitWidth() / 8.0;
}

namespace {
/// Adds up the costs of one attention.
class CostCounter {
public:
  CostCounter(Elements &elements, DenseAttentionOp op, const Parts &parts)
      : elements(elements), space(elements.getSpace()), op(op), parts(parts) {}

  std::optional<Costs> count();

private:
  double toNumber(Expr size);
  double countWeight(Element weight);
  double countRow(Value operand, AffineMap map);
  double countSource(Element rows);
  void addOuterDims(Element load, AffineMap map);
  void addSource(Value tensor, double elementsOfToken);
  void addSegment(const Segment &segment, double heads);
  void addTerm(unsigned term);
  void addValue();

  Elements &elements;
  IndexSpace &space;
  DenseAttentionOp op;
  const Parts &parts;
  double queryHeads = 1;
  SmallVector<Expr> outerDims; ///< Of batch entries and tokens in segments.
  SmallVector<Value> sources;  ///< Read by both strategies, each once.
  Costs costs;
  bool isKnown = true;
};
} // namespace

double CostCounter::toNumber(Expr size) {
  auto constant = dyn_cast<AffineConstantExpr>(space.simplify(size));
  isKnown &= constant && constant.getValue() > 0;
  return constant ? constant.getValue() : 0;
}

/// Elements of a weight that are used.
double CostCounter::countWeight(Element weight) {
  double count = 1;
  for (unsigned i = 0; i < space.getNumDims(); ++i) {
    Expr dim = getAffineDimExpr(i, space.getContext());
    if (elements.contains(weight, dim))
      count *= toNumber(space.getExtent(dim));
  }
  return count;
}

/// Elements of one token of one batch entry in an operand of the attention.
double CostCounter::countRow(Value operand, AffineMap map) {
  double count = 1;
  for (auto [position, expr] : llvm::enumerate(map.getResults())) {
    auto dim = dyn_cast<AffineDimExpr>(expr);
    if (dim && dim.getPosition() != Dim::Batch && dim.getPosition() != Dim::Key)
      count *= toNumber(elements.getSize(operand, position));
  }
  return count;
}

/// The same in what a segment is made of.
double CostCounter::countSource(Element rows) {
  double count = 1;
  for (auto [position, index] : llvm::enumerate(rows->indices))
    if (llvm::none_of(outerDims, [&](Expr dim) { return space.contains(index, dim); }))
      count *= toNumber(elements.getSize(rows->tensor, position));
  return count;
}

/// Rows that both strategies read once, however many terms they serve.
void CostCounter::addSource(Value tensor, double elementsOfToken) {
  if (llvm::is_contained(sources, tensor))
    return;
  sources.push_back(tensor);
  double bytes = elementsOfToken * getElementBytes(tensor);
  costs.absorb.bytesPerToken += bytes;
  costs.expand.bytesPerToken += bytes;
}

/// A product of a segment's source: with as many rows a token as there are `heads` in front
/// of the attention, or with the rows of all query heads at one of its ends.
void CostCounter::addSegment(const Segment &segment, double heads) {
  double latent = toNumber(space.getExtent(segment.sumDim)),
         width = toNumber(space.getExtent(segment.column));
  double bytes = countWeight(segment.weight) * getElementBytes(segment.weight->tensor);
  costs.absorb.bytes += bytes;
  costs.expand.bytes += bytes;
  costs.absorb.operationsPerNewToken += 2 * queryHeads * width * latent;
  costs.absorb.bytesPerNewToken += 2 * queryHeads * latent * getElementBytes(op.getOutput());
  costs.expand.operationsPerToken += 2 * heads * width * latent;
}

void CostCounter::addTerm(unsigned term) {
  const AttentionElements::Term &read = parts.attention.terms[term];
  const SmallVector<Segment> &segments = parts.keys[term];
  double width = toNumber(space.getExtent(read.width));
  double query = queryHeads * width * getElementBytes(op.getQueries()[term]);
  double keys = countRow(op.getKeys()[term], op.getKeyMap(term));
  costs.absorb.bytesPerNewToken += query;
  costs.expand.bytesPerNewToken += query;
  costs.expand.operationsPerPair += 2 * queryHeads * width;
  if (!Parts::isProduct(segments)) {
    costs.absorb.operationsPerPair += 2 * queryHeads * width;
    return addSource(op.getKeys()[term], keys);
  }
  costs.expand.bytesPerToken += 2 * keys * getElementBytes(op.getKeys()[term]);
  for (const Segment &segment : segments) {
    addSource(segment.source->tensor, countSource(segment.source));
    Expr columns = segment.weight ? segment.sumDim : segment.column;
    costs.absorb.operationsPerPair += 2 * queryHeads * toNumber(space.getExtent(columns));
    if (segment.weight)
      addSegment(segment, keys / width);
  }
}

void CostCounter::addValue() {
  double width = 1;
  if (std::optional<unsigned> position =
          DenseAttentionOp::findDim(op.getValueMap(), Dim::Width))
    width = toNumber(elements.getSize(op.getValue(), *position));
  double output = queryHeads * width * getElementBytes(op.getOutput());
  costs.absorb.bytesPerNewToken += output;
  costs.expand.bytesPerNewToken += output;
  costs.expand.operationsPerPair += 2 * queryHeads * width;
  double values = countRow(op.getValue(), op.getValueMap());
  if (!parts.value) {
    costs.absorb.operationsPerPair += 2 * queryHeads * width;
    return addSource(op.getValue(), values);
  }
  addSource(parts.value->source->tensor, countSource(parts.value->source));
  costs.expand.bytesPerToken += 2 * values * getElementBytes(op.getValue());
  costs.absorb.operationsPerPair +=
      2 * queryHeads * toNumber(space.getExtent(parts.value->sumDim));
  addSegment(*parts.value, values / width);
}

void CostCounter::addOuterDims(Element load, AffineMap map) {
  std::optional<unsigned> batch = DenseAttentionOp::findDim(map, Dim::Batch);
  if (batch && load->kind == ElementKind::Load)
    outerDims.push_back(load->indices[*batch]);
}

std::optional<Costs> CostCounter::count() {
  AttentionHeads heads = getHeads(op);
  if (heads.kvHeads < 1 || heads.group < 1 || !parts.attention.keyDim)
    return std::nullopt;
  outerDims.push_back(parts.attention.keyDim);
  for (unsigned term = 0; term < parts.attention.terms.size(); ++term)
    addOuterDims(parts.attention.terms[term].key, op.getKeyMap(term));
  addOuterDims(parts.attention.value, op.getValueMap());
  queryHeads = static_cast<double>(heads.kvHeads) * heads.group;
  for (unsigned term = 0; term < parts.attention.terms.size(); ++term)
    addTerm(term);
  addValue();
  if (!isKnown)
    return std::nullopt;
  return costs;
}

std::optional<Costs> absorb::getCosts(Elements &elements, DenseAttentionOp op,
                                      const Parts &parts) {
  return CostCounter(elements, op, parts).count();
}

Tokens absorb::getTokens(Elements &elements, DenseAttentionOp op,
                         const AttentionElements &attention, int64_t newTokens,
                         int64_t pastTokens) {
  IndexSpace &space = elements.getSpace();
  Expr added = attention.queryDim ? space.simplify(space.getExtent(attention.queryDim))
                                  : space.constant(1);
  Expr all = space.simplify(space.getExtent(attention.keyDim));
  Tokens tokens;
  auto known = dyn_cast<AffineConstantExpr>(added);
  tokens.added = known ? known.getValue() : newTokens;
  if (auto knownAll = dyn_cast<AffineConstantExpr>(all))
    tokens.all = knownAll.getValue();
  else
    tokens.all = tokens.added + (space.areEqual(added, all) ? 0 : pastTokens);
  tokens.pairs = tokens.added * tokens.all;
  if (llvm::any_of(op.getScore(), [](Attribute score) { return isa<CausalAttr>(score); })) {
    // The last new token sees all, those before it one less each.
    double seeing = std::min(tokens.added, tokens.all);
    tokens.pairs = seeing * tokens.all - seeing * (seeing - 1) / 2;
  }
  return tokens;
}

std::optional<double> absorb::getGrowth(IndexSpace &space, const Parts &parts) {
  double before = 0, after = 0;
  bool areCached = true, areKnown = true;
  auto getColumns = [&](AffineExpr dim) -> double {
    auto columns = dyn_cast<AffineConstantExpr>(space.getExtent(dim));
    areKnown &= columns && columns.getValue() > 0;
    return areKnown ? columns.getValue() : 0;
  };
  auto addProduct = [&](const Segment &segment) {
    before += getColumns(segment.column);
    after += getColumns(segment.weight ? segment.sumDim : segment.column);
    areCached &= !segment.weight || isCached(segment.source->tensor);
  };
  for (auto [term, segments] : llvm::zip(parts.attention.terms, parts.keys)) {
    if (Parts::isProduct(segments)) {
      llvm::for_each(segments, addProduct);
      continue;
    }
    before += getColumns(term.width);
    after += getColumns(term.width);
  }
  if (parts.value)
    addProduct(*parts.value);
  if (areCached || !areKnown)
    return std::nullopt;
  return after / before;
}
