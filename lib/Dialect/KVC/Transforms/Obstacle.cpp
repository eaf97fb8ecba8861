//===- Obstacle.cpp - why rows are no product -----------------------------===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Looks for a product further back than rows can be taken from, so that a remark can say
// what is in the way.
//===----------------------------------------------------------------------===//
#include "TokenFunction.h"

#include "kvc/Dialect/KVC/IR/KVC.h"

#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace kvc;

using Expr = Elements::Expr;

/// More elements are not looked at: a norm or a rotary embedding has few.
static constexpr unsigned kMaxElements = 64;

/// If a sum is a product of rows and a weight, why it is none that can be moved. `operation`:
/// what comes after it, or empty.
static std::optional<Obstacle> explainProduct(Elements &elements, Element sum, Expr token,
                                              StringRef operation) {
  if (!sum->isReduce("arith.addf") || sum->dims.size() != 1)
    return std::nullopt;
  Element product = elements.resolve(sum->operands[0]);
  if (!product->is("arith.mulf"))
    return std::nullopt;
  for (unsigned i : {0, 1}) {
    Element weight = findWeight(elements, product->operands[i]);
    Element rows = elements.followMoves(product->operands[1 - i]);
    if (!weight || rows->kind != ElementKind::Load ||
        !elements.contains(weight, sum->dims[0]) || !elements.contains(rows, sum->dims[0]))
      continue;
    // Of two arguments the one that has tokens is that of rows, if one of them has.
    bool isArgument = findWeight(elements, rows) != nullptr;
    if (isArgument && !elements.contains(rows, token))
      continue;
    Expr width = elements.getSpace().getExtent(sum->dims[0]);
    std::string ofWidth =
        isa<AffineConstantExpr>(width) ? llvm::formatv(" of {0}", width).str() : "";
    if (!operation.empty())
      return Obstacle{llvm::formatv("expected the product of a weight and rows{0}, got '{1}' "
                                    "of it",
                                    ofWidth, operation)
                          .str(),
                      rows};
    if (elements.contains(weight, token))
      return Obstacle{llvm::formatv("expected a weight of rows{0} that all tokens share, got "
                                    "one for each token",
                                    ofWidth)
                          .str(),
                      rows};
    if (isArgument)
      return Obstacle{llvm::formatv("expected rows{0} that are computed, got the product of "
                                    "two arguments",
                                    ofWidth)
                          .str(),
                      rows};
    return Obstacle{llvm::formatv("expected the product of a weight and all of a tensor's "
                                  "rows{0}, got one of a part of them, or added to another",
                                  ofWidth)
                        .str(),
                    rows};
  }
  return std::nullopt;
}

std::optional<Obstacle> kvc::findObstacle(Elements &elements, Element rows, Expr token,
                                          function_ref<bool(Value)> stop) {
  elements.resetBudget();
  // With what comes after each: the operation nearest to the rows.
  SmallVector<std::pair<Element, StringRef>> next = {{rows, StringRef()}};
  for (unsigned count = 0; !next.empty() && count < kMaxElements; ++count) {
    auto [element, operation] = next.pop_back_val();
    element = elements.followMoves(element, stop);
    if (element->kind == ElementKind::Load) {
      if (stop && stop(element->tensor))
        continue;
      if (auto rope = element->tensor.getDefiningOp<DenseRopeOp>()) {
        next.emplace_back(elements.load(rope.getInput(), element->indices),
                          operation.empty() ? DenseRopeOp::getOperationName() : operation);
        continue;
      }
      element = elements.expand(element);
      if (!element)
        continue;
    }
    if (auto obstacle = explainProduct(elements, element, token, operation))
      return obstacle;
    // The first operand is looked at first.
    for (Element operand : llvm::reverse(element->operands))
      next.emplace_back(operand, operation.empty() ? element->name : operation);
  }
  return std::nullopt;
}
