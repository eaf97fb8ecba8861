//===- RaiseQuantization.cpp - from a model's own code to codes -----------===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "QuantizationElements.h"

#include "kvc/Dialect/KVC/Transforms/Passes.h"

#include "mlir/IR/Remarks.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#define DEBUG_TYPE "kvc-raise-quantization"

namespace kvc {
#define GEN_PASS_DEF_RAISEQUANTIZATIONPASS
#include "kvc/Dialect/KVC/Transforms/Passes.h.inc"
} // namespace kvc

using namespace mlir;
using namespace kvc;

using Expr = Elements::Expr;

namespace {
struct RaiseQuantizationPass final
    : kvc::impl::RaiseQuantizationPassBase<RaiseQuantizationPass> {
  using Base::Base;
  void runOnOperation() override;

private:
  void raise(Elements &elements, Operation *op);

  QuantizationTolerance tolerance;
  llvm::SmallPtrSet<Operation *, 16> unused;
  SmallVector<std::pair<std::string, Location>> missed;
};
} // namespace

/// An element of a tensor, over a dimension for each of its own.
static Element getElement(Elements &elements, Value tensor, SmallVector<Expr> &dims) {
  dims.clear();
  for (Expr size : elements.getSizes(tensor))
    dims.push_back(elements.getSpace().addDim(size));
  return elements.load(tensor, dims);
}

/// Whether groups of a row are put next to each other again.
static bool isSplit(Value tensor) {
  int64_t rank = cast<RankedTensorType>(tensor.getType()).getRank();
  return rank >= 2 && llvm::any_of(tensor.getUsers(), [&](Operation *user) {
           auto collapse = dyn_cast<tensor::CollapseShapeOp>(user);
           return collapse &&
                  collapse.getReassociationIndices().back() == ReassociationIndices{rank - 2, rank - 1};
         });
}

void RaiseQuantizationPass::raise(Elements &elements, Operation *op) {
  Value root = op->getResult(0);
  auto type = cast<RankedTensorType>(root.getType());
  Type elementType = type.getElementType();
  elements.forgetElements();
  elements.resetBudget();
  SmallVector<Expr> dims;
  Element element = getElement(elements, root, dims);
  bool isCodes = isQuantized(elementType);
  // What only moves elements is none, but for codes that become numbers as they are.
  Element expanded = elements.expand(element);
  if (!expanded)
    return;
  if (expanded->kind == ElementKind::Load) {
    Type from = getElementTypeOrSelf(expanded->tensor.getType());
    if (isCodes || !isQuantized(from) || !isa<FloatType>(from))
      return;
  }
  OpBuilder b(op);
  RaiseFailure why;
  Value raised;
  StringRef what;
  if (isCodes) {
    what = "codes of numbers raised";
    std::optional<QuantizationElements> match =
        matchQuantization(elements, element, elementType, isSplit(root), tolerance, why);
    if (match)
      if (QuantizeOp quantize = buildQuantize(b, elements, *match))
        raised = buildCodes(b, elements, quantize, *match, dims, op);
  } else {
    what = "numbers of codes raised";
    std::optional<DequantizationElements> match =
        matchDequantization(elements, element, elementType, isSplit(root), tolerance, why);
    if (match)
      raised = buildDequantize(b, elements, *match, dims, elementType, op, why);
  }
  if (!raised) {
    if (!why.reason.empty())
      missed.emplace_back(why.reason, op->getLoc());
    return;
  }
  b.setInsertionPoint(op);
  replaceTensor(b, root, raised);
  unused.insert(op);
  remark::passed(op->getLoc(),
                 remark::RemarkOpts::name("RaisedQuantization").category(DEBUG_TYPE))
      << what.str();
}

void RaiseQuantizationPass::runOnOperation() {
  func::FuncOp function = getOperation();
  if (!llvm::hasSingleElement(function.getBody()))
    return;
  tolerance = {allowReciprocal || approximate, approximate};
  unused.clear();
  missed.clear();
  raiseQuantCasts(function, tolerance, [&](Location loc, const Twine &reason) {
    missed.emplace_back(reason.str(), loc);
  });
  Elements elements(function, /*showsRounding=*/true);
  SmallVector<Operation *> ops =
      llvm::to_vector(llvm::make_pointer_range(function.getBody().front().getOperations()));
  auto getType = [](Operation *op) {
    return op->getNumResults() == 1 ? dyn_cast<RankedTensorType>(op->getResult(0).getType())
                                    : RankedTensorType();
  };
  // Codes first, as numbers are made of them; of each, the last tensor that is any has the
  // fewest conversions after it.
  for (bool areCodes : {true, false})
    for (Operation *op : llvm::reverse(ops)) {
      if (isUnused(op, unused)) {
        unused.insert(op);
        continue;
      }
      RankedTensorType type = getType(op);
      if (!type || isa<QuantizeOp, DequantizeOp>(op))
        continue;
      Type element = type.getElementType();
      if (areCodes ? isQuantized(element)
                   : isa<Float32Type, Float16Type, BFloat16Type>(element))
        raise(elements, op);
    }
  IRRewriter rewriter(&getContext());
  for (Operation *op : llvm::reverse(ops))
    if (isOpTriviallyDead(op))
      rewriter.eraseOp(op);
  for (const auto &[reason, loc] : missed)
    remark::missed(loc, remark::RemarkOpts::name("RaisedQuantization").category(DEBUG_TYPE))
        << remark::reason("not raised to codes: {0}", reason);
}
