//===- AbsorbMLA.cpp - products of keys and values ------------------------===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//   q . (W c) = (W^T q) . c          a key that is a product: onto the query
//   sum p (W c) = W (sum p c)        a value that is one: onto the result
//   q . (k | r) = q1 . k + q2 . r    parts of a width: terms
//
// The scores do not change, so that any mask or cap may follow.
//===----------------------------------------------------------------------===//
#include "ElementEmitter.h"
#include "FoldIntoAttention.h"
#include "TokenFunction.h"

#include "kvc/Dialect/KVC/Transforms/Passes.h"

#include "mlir/IR/Remarks.h"
#include "llvm/Support/FormatVariadic.h"

#define DEBUG_TYPE "kvc-absorb-mla"

namespace kvc {
#define GEN_PASS_DEF_ABSORBMLAPASS
#include "kvc/Dialect/KVC/Transforms/Passes.h.inc"
} // namespace kvc

using namespace mlir;
using namespace kvc;

using Expr = Elements::Expr;

namespace {
/// Absorbs what keys and values of one attention are made of.
class Absorber {
public:
  Absorber(OpBuilder &b, Elements &elements, DenseAttentionOp op)
      : b(b), elements(elements), space(elements.getSpace()), op(op),
        attention(readAttention(elements, op)) {}

  /// Whether there is anything to absorb.
  bool match();
  /// Why keys and the value that are no products are none, where one is further back.
  void explain();
  /// By how much the columns that a query head multiplies by grow, or nothing if that is not
  /// known, or decided as the rows are cached.
  std::optional<double> getGrowth();
  /// The value that replaces the result, or null.
  Value absorb(RaiseFailure &why);
  bool hasValue() const { return value.has_value(); }
  /// Whether the value is parts next to each other, for which there is no way.
  bool hasValueParts() const { return valueParts > 1; }
  /// Keys that are absorbed.
  int64_t getNumKeys() const { return llvm::count_if(keys, isProduct); }

private:
  /// Whether rows are products, or several parts.
  static bool isProduct(const SmallVector<Segment> &segments) {
    return segments.size() > 1 || (segments.size() == 1 && segments[0].weight);
  }
  std::optional<AttentionElements::Term> absorbKey(const AttentionElements::Term &term,
                                                   const Segment &segment);
  Value emit(ArrayRef<Expr> dims, ArrayRef<Expr> sumDims, ArrayRef<Element> factors) {
    Type type = cast<RankedTensorType>(op.getOutput().getType()).getElementType();
    return emitProduct(b, elements, op, dims, sumDims, factors, type);
  }

  OpBuilder &b;
  Elements &elements;
  IndexSpace &space;
  DenseAttentionOp op;
  AttentionElements attention;
  SmallVector<SmallVector<Segment>> keys; ///< Of each term.
  std::optional<Segment> value;           ///< If it is a product.
  size_t valueParts = 1;
};

struct AbsorbMLAPass final : kvc::impl::AbsorbMLAPassBase<AbsorbMLAPass> {
  using Base::Base;
  void runOnOperation() override;
};
} // namespace

bool Absorber::match() {
  for (const AttentionElements::Term &term : attention.terms) {
    auto segments =
        matchTokenFunction(elements, term.key, attention.keyDim, term.width, isCached);
    keys.push_back(segments ? std::move(*segments) : SmallVector<Segment>());
  }
  // The width of the values is the result's only.
  for (Expr dim : attention.outputDims) {
    if (!elements.contains(attention.value, dim) ||
        elements.contains(attention.terms[0].query, dim))
      continue;
    auto segments =
        matchTokenFunction(elements, attention.value, attention.keyDim, dim, isCached);
    if (segments && segments->size() == 1 && segments->front().weight)
      value = segments->front();
    valueParts = segments ? segments->size() : 1;
  }
  return value || llvm::any_of(keys, isProduct);
}

std::optional<double> Absorber::getGrowth() {
  double before = 0, after = 0;
  bool areCached = true, areKnown = true;
  auto getColumns = [&](Expr dim) -> double {
    auto columns = dyn_cast<AffineConstantExpr>(space.getExtent(dim));
    areKnown &= columns && columns.getValue() > 0;
    return areKnown ? columns.getValue() : 0;
  };
  auto addProduct = [&](const Segment &segment) {
    before += getColumns(segment.column);
    after += getColumns(segment.weight ? segment.sumDim : segment.column);
    areCached &= !segment.weight || isCached(segment.source->tensor);
  };
  for (auto [term, segments] : llvm::zip(attention.terms, keys)) {
    if (isProduct(segments)) {
      llvm::for_each(segments, addProduct);
      continue;
    }
    before += getColumns(term.width);
    after += getColumns(term.width);
  }
  if (value)
    addProduct(*value);
  if (areCached || !areKnown)
    return std::nullopt;
  return after / before;
}

void Absorber::explain() {
  auto report = [&](const Twine &what, Element rows) {
    if (auto obstacle = findObstacle(elements, rows, attention.keyDim, isCached))
      remark::missed(op.getLoc(), remark::RemarkOpts::name("Absorbed").category(DEBUG_TYPE))
          << remark::reason("{0} stays: {1}", what.str(), obstacle->reason);
  };
  for (auto [index, term] : llvm::enumerate(attention.terms))
    if (!isProduct(keys[index]))
      report("key " + Twine(index), term.key);
  if (!value && valueParts <= 1)
    report("the value", attention.value);
}

/// The term that a segment of a key becomes.
std::optional<AttentionElements::Term> Absorber::absorbKey(const AttentionElements::Term &term,
                                                           const Segment &segment) {
  // The columns of the query that meet the segment's.
  DenseMap<Expr, Expr> columns = {{term.width, segment.column + segment.begin}};
  Element query = elements.replaceDims(term.query, columns);
  SmallVector<Expr> dims;
  for (Expr index : term.query->indices)
    if (index != term.width && isa<AffineDimExpr>(index))
      dims.push_back(index);
  Expr width = segment.weight ? segment.sumDim : segment.column;
  dims.push_back(width);
  Value absorbed;
  if (segment.weight) {
    // A weight of each KV head: the query has all dimensions that it has.
    absorbed = emit(dims, {segment.column}, {query, segment.weight});
  } else {
    absorbed = emit(dims, {}, {query});
  }
  if (!absorbed)
    return std::nullopt;
  return AttentionElements::Term{elements.load(absorbed, dims), segment.source, width};
}

Value Absorber::absorb(RaiseFailure &why) {
  AttentionElements absorbed = attention;
  absorbed.terms.clear();
  for (auto [term, segments] : llvm::zip(attention.terms, keys)) {
    if (!isProduct(segments)) {
      absorbed.terms.push_back(term);
      continue;
    }
    for (const Segment &segment : segments) {
      std::optional<AttentionElements::Term> made = absorbKey(term, segment);
      if (!made) {
        why.reason = "a size is not known before the attention";
        return {};
      }
      absorbed.terms.push_back(*made);
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
  return result;
}

static Value absorbProducts(OpBuilder &b, Elements &elements, DenseAttentionOp op,
                            double maxWork) {
  Absorber absorber(b, elements, op);
  auto options = remark::RemarkOpts::name("Absorbed").category(DEBUG_TYPE);
  bool absorbs = absorber.match();
  absorber.explain();
  if (absorber.hasValueParts())
    remark::missed(op.getLoc(), options)
        << remark::reason("the value stays: it is parts next to each other");
  if (!absorbs)
    return {};
  RaiseFailure why;
  Value result;
  if (std::optional<double> growth = absorber.getGrowth(); growth && *growth > maxWork)
    why.reason = llvm::formatv("expected at most {0:f1} times the work a key, got {1:f1}",
                               maxWork, *growth)
                     .str();
  else
    result = absorber.absorb(why);
  if (!result)
    remark::missed(op.getLoc(), options)
        << remark::reason("products stay before the attention: {0}", why.reason);
  else
    remark::passed(op.getLoc(), options)
        << llvm::formatv("products absorbed: {0} of {1} keys, {2} the value",
                         absorber.getNumKeys(), op.getKeys().size(),
                         absorber.hasValue() ? "and" : "not")
               .str();
  return result;
}

void AbsorbMLAPass::runOnOperation() {
  rewriteAttentions(getOperation(), [&](OpBuilder &b, Elements &elements, DenseAttentionOp op) {
    return absorbProducts(b, elements, op, maxWork);
  });
}
