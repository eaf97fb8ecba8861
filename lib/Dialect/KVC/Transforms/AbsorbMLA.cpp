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
// The scores do not change, so that any mask or cap may follow. What is cached is the same
// whether products are absorbed or not: only how attention over it is computed differs.
//===----------------------------------------------------------------------===//
#include "AbsorbProducts.h"
#include "FoldIntoAttention.h"

#include "kvc/Dialect/KVC/Transforms/Passes.h"

#define DEBUG_TYPE "kvc-absorb-mla"

namespace kvc {
#define GEN_PASS_DEF_ABSORBMLAPASS
#include "kvc/Dialect/KVC/Transforms/Passes.h.inc"
} // namespace kvc

using namespace mlir;
using namespace kvc;
using namespace kvc::absorb;

namespace {
struct AbsorbMLAPass final : kvc::impl::AbsorbMLAPassBase<AbsorbMLAPass> {
  using Base::Base;
  void runOnOperation() override;

private:
  bool checkOptions();
  bool isAbsorbed(Elements &elements, DenseAttentionOp op, const Parts &parts);
  Value absorb(OpBuilder &b, Elements &elements, DenseAttentionOp op);
};
} // namespace

/// Whether the products of an attention are absorbed, or computed before it. Says why.
bool AbsorbMLAPass::isAbsorbed(Elements &elements, DenseAttentionOp op, const Parts &parts) {
  // Parts next to each other become terms, which costs nothing.
  if (!parts.hasWeight())
    return true;
  auto say = [&](const std::string &text) {
    remark::analysis(op.getLoc(), remark::RemarkOpts::name("Strategy").category(DEBUG_TYPE))
        << text;
  };
  bool isAsked = strategy != "auto";
  std::optional<Costs> costs = getCosts(elements, op, parts);
  if (!costs) {
    bool absorbs = strategy != "expand";
    say(llvm::formatv(
        "{0} {1}: the costs are not known, as a width or a number of heads is not "
        "static",
        absorbs ? "absorb" : "expand", isAsked ? "as asked for" : "taken"));
    return absorbs;
  }
  Tokens tokens = getTokens(elements, op, parts.attention, newTokens, pastTokens);
  double absorb = costs->absorb.getTime(tokens, operationsPerByte),
         expand = costs->expand.getTime(tokens, operationsPerByte);
  // If they are equal, the one that may be paged.
  bool isCheaper = absorb <= expand, absorbs = isCheaper;
  StringRef why = "which takes the least time";
  if (isAsked) {
    absorbs = strategy == "absorb";
    why = "as asked for";
  } else if (paged && !isCheaper) {
    absorbs = true;
    why = "as caches are to be paged, and attention over pages reads what they hold; "
          "expand would take less time";
  }
  say("absorb: " + costs->absorb.toText());
  say("expand: " + costs->expand.toText());
  auto total = [&](const Cost &cost) {
    return llvm::formatv("{0:F0} operations and {1:F0} bytes", cost.getOperations(tokens),
                         cost.getBytes(tokens))
        .str();
  };
  say(llvm::formatv("new tokens {0:F0} of {1:F0}: absorb takes {2}, expand {3}; {4}, {5}",
                    tokens.added, tokens.all, total(costs->absorb), total(costs->expand),
                    absorbs ? "absorb" : "expand", why));
  return absorbs;
}

Value AbsorbMLAPass::absorb(OpBuilder &b, Elements &elements, DenseAttentionOp op) {
  Precompute products = precompute == "none"   ? Precompute::None
                        : precompute == "auto" ? Precompute::Auto
                                               : Precompute::All;
  Absorber absorber(b, elements, op, products);
  auto options = remark::RemarkOpts::name("Absorbed").category(DEBUG_TYPE);
  bool matches = absorber.match();
  absorber.explain();
  if (absorber.hasValueParts())
    remark::missed(op.getLoc(), options)
        << remark::reason("the value stays: it is parts next to each other");
  if (!matches)
    return {};
  RaiseFailure why;
  Value result;
  if (std::optional<double> growth = getGrowth(elements.getSpace(), absorber.getParts());
      growth && *growth > maxWork)
    why.reason = llvm::formatv("expected at most {0:f1} times the work a key, got {1:f1}",
                               maxWork.getValue(), *growth)
                     .str();
  else if (isAbsorbed(elements, op, absorber.getParts()))
    result = absorber.absorb(why);
  else
    return {};
  if (!result) {
    remark::missed(op.getLoc(), options)
        << remark::reason("products stay before the attention: {0}", why.reason);
    return {};
  }
  for (const std::string &text : absorber.getPrecomputed())
    remark::passed(op.getLoc(), remark::RemarkOpts::name("Precomputed").category(DEBUG_TYPE))
        << text;
  remark::passed(op.getLoc(), options)
      << llvm::formatv("products absorbed: {0} of {1} keys, {2} the value",
                       absorber.getNumKeys(), op.getKeys().size(),
                       absorber.getParts().value ? "and" : "not")
             .str();
  return result;
}

bool AbsorbMLAPass::checkOptions() {
  func::FuncOp function = getOperation();
  if (strategy != "absorb" && strategy != "expand" && strategy != "auto") {
    function.emitError("expected strategy 'absorb', 'expand' or 'auto', got '")
        << strategy << "'";
    return false;
  }
  if (precompute != "none" && precompute != "auto" && precompute != "all") {
    function.emitError("expected precompute 'none', 'auto' or 'all', got '")
        << precompute << "'";
    return false;
  }
  if (newTokens < 1) {
    function.emitError("expected new-tokens to be at least 1, got ") << newTokens.getValue();
    return false;
  }
  if (pastTokens < 0) {
    function.emitError("expected past-tokens to be at least 0, got ") << pastTokens.getValue();
    return false;
  }
  if (!(operationsPerByte > 0)) {
    function.emitError("expected operations-per-byte to be above 0, got ")
        << operationsPerByte.getValue();
    return false;
  }
  return true;
}

void AbsorbMLAPass::runOnOperation() {
  if (!checkOptions())
    return signalPassFailure();
  rewriteAttentions(getOperation(), [&](OpBuilder &b, Elements &elements, DenseAttentionOp op) {
    return absorb(b, elements, op);
  });
}
