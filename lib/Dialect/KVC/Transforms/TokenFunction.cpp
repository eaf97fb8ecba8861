//===- TokenFunction.cpp - what rows of a cache are made of ---------------===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "TokenFunction.h"

#include "kvc/Dialect/KVC/IR/KVC.h"

#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace kvc;

using Expr = Elements::Expr;

Element kvc::findWeight(Elements &elements, Element load) {
  Element leaf = elements.followMoves(load);
  if (leaf->kind != ElementKind::Load)
    return nullptr;
  if (matchPattern(leaf->tensor, m_Constant()))
    return leaf;
  auto argument = dyn_cast<BlockArgument>(leaf->tensor);
  auto function =
      argument ? dyn_cast<func::FuncOp>(argument.getOwner()->getParentOp()) : func::FuncOp();
  if (!function || function.getArgAttr(argument.getArgNumber(), kCacheName) ||
      function.getArgAttr(argument.getArgNumber(), kPositionsName))
    return nullptr;
  return leaf;
}

namespace {
class TokenFunctionMatcher {
public:
  TokenFunctionMatcher(Elements &elements, Element load, Expr token, Expr column,
                       function_ref<bool(Value)> stop)
      : elements(elements), space(elements.getSpace()), stop(stop), token(token) {
    for (Expr index : load->indices)
      for (unsigned dim = 0; dim < space.getNumDims(); ++dim) {
        Expr expr = getAffineDimExpr(dim, space.getContext());
        if (expr != column && index.isFunctionOfDim(dim))
          rows.push_back(expr);
      }
    type = cast<RankedTensorType>(load->tensor.getType()).getElementType();
  }

  bool match(Element element, int64_t begin, Expr column);
  SmallVector<Segment> segments;

private:
  /// Loads by which `element` may be taken, from itself back to what it is a move of.
  Element findSource(Element element, Expr column, Expr sumDim);
  bool isPlain(Element load, Expr column, Expr sumDim);
  bool matchLinear(Element sum, int64_t begin, Expr column);

  Elements &elements;
  IndexSpace &space;
  function_ref<bool(Value)> stop;
  Expr token;
  SmallVector<Expr> rows; ///< Dimensions but that of the width.
  Type type;
};
} // namespace

/// Whether each index is a dimension, or a repeated one, or 0.
bool TokenFunctionMatcher::isPlain(Element load, Expr column, Expr sumDim) {
  if (cast<RankedTensorType>(load->tensor.getType()).getElementType() != type)
    return false;
  SmallVector<Expr> seen;
  for (auto [position, index] : llvm::enumerate(load->indices)) {
    Expr dim = index, divisor = space.constant(1);
    if (index == space.constant(0) &&
        elements.getSize(load->tensor, position) == space.constant(1))
      continue;
    if (auto binary = dyn_cast<AffineBinaryOpExpr>(index);
        binary && (index.getKind() == AffineExprKind::FloorDiv ||
                   index.getKind() == AffineExprKind::Mod)) {
      dim = binary.getLHS();
      divisor = binary.getRHS();
    }
    if (!isa<AffineDimExpr>(dim) || llvm::is_contained(seen, dim))
      return false;
    seen.push_back(dim);
    bool isWidth = dim == column || dim == sumDim;
    if ((!isWidth && !llvm::is_contained(rows, dim)) || (isWidth && index != dim))
      return false;
    // All of the source is used.
    Expr used = space.getExtent(dim);
    if (index.getKind() == AffineExprKind::FloorDiv)
      used = space.simplify(used.floorDiv(divisor));
    else if (index.getKind() == AffineExprKind::Mod)
      used = divisor;
    if (!space.areEqual(used, elements.getSize(load->tensor, position)))
      return false;
  }
  return true;
}

Element TokenFunctionMatcher::findSource(Element element, Expr column, Expr sumDim) {
  Element best = nullptr;
  while (element->kind == ElementKind::Load) {
    if (isPlain(element, column, sumDim))
      best = element;
    if (stop && stop(element->tensor))
      break;
    Element next = elements.expand(element);
    if (!next)
      break;
    element = next;
  }
  return best;
}

bool TokenFunctionMatcher::matchLinear(Element sum, int64_t begin, Expr column) {
  if (sum->dims.size() != 1 || elements.resolve(sum->operands[1])->getNumber() != 0.0)
    return false;
  Element product = elements.resolve(sum->operands[0]);
  if (!product->is("arith.mulf"))
    return false;
  for (unsigned i : {0, 1}) {
    Element weight = findWeight(elements, product->operands[i]);
    if (!weight || !elements.contains(weight, sum->dims[0]))
      continue;
    if (llvm::any_of(rows, [&](Expr row) {
          bool isStatic = isa<AffineConstantExpr>(space.getExtent(row));
          return (row == token || !isStatic) && elements.contains(weight, row);
        }))
      continue;
    Element source = findSource(product->operands[1 - i], Expr(), sum->dims[0]);
    if (!source || isa<BlockArgument>(source->tensor) || elements.contains(source, column))
      continue;
    segments.push_back({begin, column, source, weight, sum->dims[0]});
    return true;
  }
  return false;
}

bool TokenFunctionMatcher::match(Element element, int64_t begin, Expr column) {
  if (segments.size() >= kMaxSegments)
    return false;
  Element leaf = elements.followMoves(element, stop);
  bool isStopped = leaf->kind == ElementKind::Load && stop && stop(leaf->tensor);
  Element resolved = isStopped ? leaf : elements.resolve(leaf);
  if (resolved->is("arith.select") && resolved->operands[0]->kind == ElementKind::NonNegative) {
    // One piece before a column, another from it on.
    std::optional<IndexSpace::Linear> linear =
        space.getLinear(resolved->operands[0]->index, column);
    auto bound = linear ? dyn_cast<AffineConstantExpr>(linear->rest) : AffineConstantExpr();
    auto width = dyn_cast<AffineConstantExpr>(space.getExtent(column));
    if (bound && width && linear->scale == -1) {
      int64_t end = bound.getValue() + 1;
      Expr first = space.addDim(space.constant(end)),
           second = space.addDim(space.constant(width.getValue() - end));
      return match(elements.replaceDims(resolved->operands[1], {{column, first}}), begin,
                   first) &&
             match(elements.replaceDims(resolved->operands[2], {{column, second + end}}),
                   begin + end, second);
    }
  }
  if (resolved->isReduce("arith.addf") && matchLinear(resolved, begin, column))
    return true;
  Element source = findSource(element, column, Expr());
  if (!source)
    return false;
  segments.push_back({begin, column, source, nullptr, Expr()});
  return true;
}

std::optional<SmallVector<Segment>> kvc::matchTokenFunction(Elements &elements, Element load,
                                                            Expr token, Expr column,
                                                            function_ref<bool(Value)> stop) {
  elements.resetBudget();
  TokenFunctionMatcher matcher(elements, load, token, column, stop);
  if (!matcher.match(load, 0, column))
    return std::nullopt;
  return std::move(matcher.segments);
}
