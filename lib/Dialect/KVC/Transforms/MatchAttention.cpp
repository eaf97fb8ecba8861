//===- MatchAttention.cpp - attention, by what is computed ----------------===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//   out = sum over j of (exp(a_j) / sum over j' of exp(a_j')) * value_j
//   a_j = score_j + mask_j + whatever does not depend on j
//
// What does not depend on j changes nothing, which is why no maximum is looked for: it
// is one of these.
//===----------------------------------------------------------------------===//
#include "FoldIntoAttention.h"

#include <cmath>

using namespace mlir;
using namespace kvc;

using Expr = Elements::Expr;

/// Below it, a number that is added to a score, or takes its place, removes the key: scores
/// of f16 reach 65504.
static constexpr double kRemoved = -1e4;

/// Truth values that a mask is tried for: more are not of any model.
static constexpr unsigned kMaxConditions = 6;

namespace {
class AttentionMatcher {
public:
  AttentionMatcher(Elements &elements, RaiseFailure &why)
      : elements(elements), space(elements.getSpace()), why(why) {}

  bool match(Value tensor);
  AttentionElements result;

private:
  /// A score and what it went through.
  struct Score {
    SmallVector<AttentionElements::Term, 2> terms;
    double scale = 1;
    bool hasTanh = false;
    std::optional<double> cap; ///< Factor of a tanh.
    SmallVector<Element> masks;
  };

  bool matchWeightedSum(Element sum, Element divisor);
  bool matchExponential(Element weight, Element divisor, Element value);
  bool matchDivisor(Element divisor, Element exponent);
  bool matchExponent(Element exponent);
  /// Summands that depend on the keys, and the others.
  void addSummands(Element element, double sign, SmallVectorImpl<Element> &own,
                   SmallVectorImpl<std::pair<double, Element>> &others);
  std::optional<Score> matchScore(Element element);
  std::optional<Score> matchProduct(Element element);
  Element takeFactors(Element element, double &scale);
  bool scaleBy(Score &score, double factor);
  bool hasScore(Element element);

  bool addMask(Element mask);
  bool addConstraint(Expr expr);
  Element resolveAll(Element element);
  void addConditions(Element element, SmallVectorImpl<Element> &conditions);
  std::optional<double> evaluate(Element element, ArrayRef<Element> conditions, unsigned truth);

  bool fail(const Twine &reason) {
    why.reason = reason.str();
    return false;
  }
  bool dependsOnKey(Element element) { return elements.contains(element, result.keyDim); }

  Elements &elements;
  IndexSpace &space;
  RaiseFailure &why;
  SmallVector<std::pair<double, Element>> shifts; ///< Summands without keys.
};
} // namespace

//===----------------------------------------------------------------------===//
// The softmax
//===----------------------------------------------------------------------===//

bool AttentionMatcher::match(Value tensor) {
  elements.resetBudget();
  for (Expr size : elements.getSizes(tensor))
    result.outputDims.push_back(space.addDim(size));
  Element element = elements.resolve(elements.load(tensor, result.outputDims));
  if (element->is("arith.divf"))
    return matchWeightedSum(elements.resolve(element->operands[0]), element->operands[1]);
  return matchWeightedSum(element, nullptr);
}

/// `sum` over keys of weights and values, divided by `divisor` if the weights are not.
bool AttentionMatcher::matchWeightedSum(Element sum, Element divisor) {
  if (!sum->isReduce("arith.addf") || sum->dims.size() != 1 ||
      elements.resolve(sum->operands[1])->getNumber() != 0.0)
    return false;
  Element product = elements.resolve(sum->operands[0]);
  if (!product->is("arith.mulf"))
    return false;
  result.keyDim = sum->dims[0];
  for (unsigned i : {0, 1}) {
    Element weight = elements.resolve(product->operands[i]);
    Element own = divisor;
    if (!own && weight->is("arith.divf")) {
      own = weight->operands[1];
      weight = elements.resolve(weight->operands[0]);
    } else if (!own && weight->is("arith.mulf")) {
      // By the reciprocal.
      Element inverse = elements.resolve(weight->operands[1]);
      if (inverse->is("arith.divf") && inverse->operands[0]->getNumber() == 1.0) {
        own = inverse->operands[1];
        weight = elements.resolve(weight->operands[0]);
      }
    }
    if (own && weight->is("math.exp"))
      return matchExponential(weight, own, product->operands[1 - i]);
  }
  return false;
}

bool AttentionMatcher::matchExponential(Element weight, Element divisor, Element value) {
  if (value->kind != ElementKind::Load)
    return fail("the values are not a tensor");
  result.value = value;
  Element exponent = weight->operands[0];
  return matchExponent(exponent) && matchDivisor(divisor, exponent);
}

/// The divisor is the sum of the same exponentials, and perhaps of one more.
bool AttentionMatcher::matchDivisor(Element divisor, Element exponent) {
  Element sum = elements.resolve(divisor);
  if (!sum->isReduce("arith.addf") || sum->dims.size() != 1 ||
      elements.resolve(sum->operands[1])->getNumber() != 0.0)
    return fail("what the exponentials are divided by is not their sum");
  Element summand = elements.resolve(sum->operands[0]);
  if (!summand->is("math.exp"))
    return fail("what the exponentials are divided by is not their sum");
  Expr keys = space.getExtent(result.keyDim), summed = space.getExtent(sum->dims[0]);
  auto at = [&](Expr index) {
    return elements.replaceDims(summand->operands[0], {{sum->dims[0], index}});
  };
  if (!elements.areEqual(at(result.keyDim), exponent))
    return fail("what the exponentials are divided by is a sum of others");
  if (space.areEqual(keys, summed))
    return true;
  if (!space.areEqual(keys + 1, summed))
    return fail("the softmax has more columns than there are keys and one sink");
  // The last column is the sink, shifted as the scores are.
  SmallVector<Element> own;
  SmallVector<std::pair<double, Element>> others;
  addSummands(at(keys), 1, own, others);
  for (auto [sign, shift] : shifts) {
    auto *found = llvm::find_if(others, [&, sign = sign, shift = shift](auto other) {
      return other.first == sign && elements.areEqual(other.second, shift);
    });
    if (found == others.end())
      return fail("the last column of the softmax is not shifted as the others are");
    others.erase(found);
  }
  if (others.size() != 1 || others[0].first != 1 || others[0].second->kind != ElementKind::Load)
    return fail("the last column of the softmax is not a sink");
  result.sinks = others[0].second;
  return true;
}

void AttentionMatcher::addSummands(Element element, double sign, SmallVectorImpl<Element> &own,
                                   SmallVectorImpl<std::pair<double, Element>> &others) {
  // Sums are taken apart where keys occur; the rest only as far as it has to be, to
  // compare it.
  Element resolved = elements.resolve(element);
  if (resolved->is("arith.addf") || resolved->is("arith.subf")) {
    addSummands(resolved->operands[0], sign, own, others);
    addSummands(resolved->operands[1], resolved->is("arith.subf") ? -sign : sign, own, others);
    return;
  }
  if (dependsOnKey(element)) {
    own.push_back(sign > 0 ? element : nullptr);
    return;
  }
  others.emplace_back(sign, elements.followMoves(element));
}

bool AttentionMatcher::matchExponent(Element exponent) {
  SmallVector<Element> own;
  addSummands(exponent, 1, own, shifts);
  std::optional<Score> score;
  SmallVector<Element> masks;
  for (Element summand : own) {
    if (!summand)
      return fail("something of the keys is subtracted from the score");
    if (!hasScore(summand)) {
      masks.push_back(summand);
      continue;
    }
    std::optional<Score> own = matchScore(summand);
    if (!own)
      return false;
    if (!score) {
      score = std::move(own);
      continue;
    }
    if (own->hasTanh || score->hasTanh || own->scale != score->scale || !own->masks.empty() ||
        !score->masks.empty())
      return fail("terms of the score with scales or masks of their own");
    llvm::append_range(score->terms, own->terms);
  }
  if (!score)
    return fail("no product of queries and keys in the score");
  llvm::append_range(masks, score->masks);
  result.terms = score->terms;
  result.scale = score->scale;
  if (score->hasTanh) {
    result.softcap = score->cap.value_or(1.0);
    result.scale *= *result.softcap;
  }
  return llvm::all_of(masks, [&](Element mask) { return addMask(mask); });
}

//===----------------------------------------------------------------------===//
// The score
//===----------------------------------------------------------------------===//

/// Whether there is a sum of products below, which no mask has.
bool AttentionMatcher::hasScore(Element element) {
  Element resolved = elements.resolve(element);
  if (resolved->isReduce("arith.addf"))
    return true;
  return resolved->kind == ElementKind::Apply &&
         llvm::any_of(resolved->operands, [&](Element e) { return hasScore(e); });
}

bool AttentionMatcher::scaleBy(Score &score, double factor) {
  if (!score.masks.empty() || (score.hasTanh && score.cap))
    return fail("the score is scaled after its mask or its cap");
  if (score.hasTanh)
    score.cap = factor;
  else
    score.scale *= factor;
  return true;
}

/// What is left of an operand of the product without constant factors.
Element AttentionMatcher::takeFactors(Element element, double &scale) {
  while (true) {
    // What is cached is a key with its factors.
    Element moved = elements.followMoves(element, isCached);
    if (moved->kind == ElementKind::Load && isCached(moved->tensor))
      return element;
    Element resolved = elements.resolve(element);
    if (!resolved->is("arith.mulf") && !resolved->is("arith.divf"))
      return element;
    Element lhs = resolved->operands[0], rhs = resolved->operands[1];
    if (resolved->is("arith.mulf") && elements.resolve(lhs)->getNumber())
      std::swap(lhs, rhs);
    std::optional<double> factor = elements.resolve(rhs)->getNumber();
    if (!factor || *factor == 0)
      return element;
    scale = resolved->is("arith.mulf") ? scale * *factor : scale / *factor;
    element = lhs;
  }
}

/// The sum over a width of query and key.
std::optional<AttentionMatcher::Score> AttentionMatcher::matchProduct(Element element) {
  auto refuse = [&](const Twine &reason) {
    fail(reason);
    return std::nullopt;
  };
  if (element->dims.size() != 1 || elements.resolve(element->operands[1])->getNumber() != 0.0)
    return refuse("the score is a sum over more than one dimension");
  Element product = elements.resolve(element->operands[0]);
  if (!product->is("arith.mulf"))
    return refuse("the score is not a sum of products");
  Score score;
  Element query = takeFactors(product->operands[0], score.scale);
  Element key = takeFactors(product->operands[1], score.scale);
  if (query->kind != ElementKind::Load || key->kind != ElementKind::Load)
    return refuse("the score is not a product of two tensors");
  if (dependsOnKey(query))
    std::swap(query, key);
  if (dependsOnKey(query) || !dependsOnKey(key))
    return refuse("the score is not a product of queries and keys");
  score.terms.push_back({query, key, element->dims[0]});
  return score;
}

std::optional<AttentionMatcher::Score> AttentionMatcher::matchScore(Element element) {
  auto refuse = [&](const Twine &reason) {
    fail(reason);
    return std::nullopt;
  };
  Element e = elements.resolve(element);
  if (e->isReduce("arith.addf"))
    return matchProduct(e);
  if (e->kind != ElementKind::Apply)
    return refuse("the score is not computed here");
  if (e->is("arith.mulf") || e->is("arith.divf")) {
    Element lhs = elements.resolve(e->operands[0]), rhs = elements.resolve(e->operands[1]);
    if (e->is("arith.mulf") && lhs->getNumber())
      std::swap(lhs, rhs);
    std::optional<double> factor = rhs->getNumber();
    if (!factor || *factor == 0)
      return refuse("the score is scaled by what is no constant");
    std::optional<Score> score = matchScore(lhs);
    if (!score || !scaleBy(*score, e->is("arith.mulf") ? *factor : 1 / *factor))
      return std::nullopt;
    return score;
  }
  if (e->is("math.tanh")) {
    std::optional<Score> score = matchScore(e->operands[0]);
    if (!score)
      return std::nullopt;
    if (score->hasTanh || !score->masks.empty())
      return refuse("a mask or a cap within the cap of the score");
    score->hasTanh = true;
    return score;
  }
  if (e->is("arith.addf")) {
    bool first = hasScore(e->operands[0]), second = hasScore(e->operands[1]);
    if (first && second) {
      std::optional<Score> a = matchScore(e->operands[0]), b = matchScore(e->operands[1]);
      if (!a || !b)
        return std::nullopt;
      if (a->hasTanh || b->hasTanh || a->scale != b->scale || !a->masks.empty() ||
          !b->masks.empty())
        return refuse("terms of the score with scales or masks of their own");
      llvm::append_range(a->terms, b->terms);
      return a;
    }
    std::optional<Score> score = matchScore(e->operands[first ? 0 : 1]);
    if (score)
      score->masks.push_back(e->operands[first ? 1 : 0]);
    return score;
  }
  if (e->is("arith.select")) {
    // A key is removed where its score is replaced.
    for (unsigned i : {1, 2}) {
      std::optional<double> other = elements.resolve(e->operands[3 - i])->getNumber();
      if (!other || *other > kRemoved)
        continue;
      std::optional<Score> score = matchScore(e->operands[i]);
      if (!score)
        return std::nullopt;
      if (Element condition = elements.followMoves(e->operands[0]);
          i == 1 && condition->kind == ElementKind::Load &&
          elements.resolve(condition)->kind == ElementKind::Load) {
        score->masks.push_back(condition); // of i1
        return score;
      }
      Element none = elements.number(-INFINITY), keep = elements.number(0);
      score->masks.push_back(elements.apply(
          "arith.select", {e->operands[0], i == 1 ? keep : none, i == 1 ? none : keep}));
      return score;
    }
  }
  return refuse("the score goes through " + e->name);
}

//===----------------------------------------------------------------------===//
// Masks
//===----------------------------------------------------------------------===//

/// The element with nothing left to expand.
Element AttentionMatcher::resolveAll(Element element) {
  element = elements.resolve(element);
  if (element->kind != ElementKind::Apply)
    return element;
  SmallVector<Element> operands;
  for (Element operand : element->operands)
    operands.push_back(resolveAll(operand));
  return elements.apply(element->name, operands, element->predicate);
}

void AttentionMatcher::addConditions(Element element, SmallVectorImpl<Element> &conditions) {
  if (element->kind == ElementKind::NonNegative) {
    if (!space.isNonNegative(element->index) && llvm::none_of(conditions, [&](Element known) {
          return space.areEqual(known->index, element->index);
        }))
      conditions.push_back(element);
    return;
  }
  for (Element operand : element->operands)
    addConditions(operand, conditions);
}

/// The value of a mask where bit i of `truth` says whether condition i holds.
std::optional<double> AttentionMatcher::evaluate(Element element, ArrayRef<Element> conditions,
                                                 unsigned truth) {
  if (std::optional<double> number = element->getNumber())
    return number;
  if (element->kind == ElementKind::NonNegative) {
    if (std::optional<bool> known = space.isNonNegative(element->index))
      return *known;
    for (auto [i, condition] : llvm::enumerate(conditions))
      if (space.areEqual(condition->index, element->index))
        return truth >> i & 1;
    return std::nullopt;
  }
  if (element->kind != ElementKind::Apply)
    return std::nullopt;
  SmallVector<double> values;
  for (Element operand : element->operands) {
    std::optional<double> value = evaluate(operand, conditions, truth);
    if (!value)
      return std::nullopt;
    values.push_back(*value);
  }
  StringRef name = element->name;
  auto isBit = [&] {
    return llvm::all_of(values, [](double value) { return value == 0 || value == 1; });
  };
  if (name == "arith.select")
    return values[0] != 0 ? values[1] : values[2];
  if ((name == "arith.andi" || name == "arith.muli") && isBit())
    return values[0] * values[1];
  if (name == "arith.ori" && isBit())
    return std::max(values[0], values[1]);
  if (name == "arith.xori" && isBit())
    return values[0] != values[1];
  if (name == "arith.addf")
    return values[0] + values[1];
  if (name == "arith.subf")
    return values[0] - values[1];
  if (name == "arith.mulf") // where 0 * -inf is meant, the model would have NaN
    return values[0] * values[1];
  if (name == "arith.minimumf" || name == "arith.minnumf")
    return std::min(values[0], values[1]);
  if (name == "arith.maximumf" || name == "arith.maxnumf")
    return std::max(values[0], values[1]);
  if (name == "arith.uitofp" || name == "arith.extui")
    return values[0];
  return std::nullopt;
}

/// A condition on keys and queries that keeps a key: 0 <= `expr`.
bool AttentionMatcher::addConstraint(Expr expr) {
  if (space.isNonNegative(expr) == true)
    return true;
  Expr keys = space.getExtent(result.keyDim);
  std::optional<IndexSpace::Linear> linear = space.getLinear(expr, result.keyDim);
  if (!linear || std::abs(linear->scale) != 1)
    return fail("the mask compares other things than positions of queries and keys");
  // A query's position is its index after the keys before the first query.
  Expr position = linear->scale < 0 ? linear->rest : -linear->rest;
  Expr query, queries = space.constant(1), rest = position;
  for (Expr dim : result.outputDims) {
    std::optional<IndexSpace::Linear> own = space.getLinear(rest, dim);
    if (!own || own->scale == 0)
      continue;
    if (query || own->scale != 1)
      return fail("the mask compares other things than positions of queries and keys");
    query = dim;
    queries = space.getExtent(dim);
    rest = own->rest;
  }
  if (query && result.queryDim && query != result.queryDim)
    return fail("the mask takes two dimensions for queries");
  if (query)
    result.queryDim = query;
  // Key <= query + past, or key >= that - (window - 1). Keys after the last query, of caches
  // with room for more, are none then.
  Expr past = elements.getPast() ? elements.getPast() : keys - queries;
  Expr distance = space.simplify(past - rest);
  auto constant = dyn_cast<AffineConstantExpr>(distance);
  if (linear->scale < 0 && constant && constant.getValue() == 0) {
    result.isCausal = true;
    result.keys = space.simplify(past + queries);
    return true;
  }
  if (linear->scale > 0 && constant && constant.getValue() >= 0) {
    int64_t window = constant.getValue() + 1;
    result.window = std::min(window, result.window.value_or(window));
    return true;
  }
  return fail("the mask is neither causal nor a window");
}

bool AttentionMatcher::addMask(Element mask) {
  Element resolved = resolveAll(mask);
  SmallVector<Element> conditions;
  addConditions(resolved, conditions);
  std::optional<unsigned> kept;
  bool isUnique = conditions.size() <= kMaxConditions;
  for (unsigned truth = 0; isUnique && truth < 1u << conditions.size(); ++truth) {
    std::optional<double> value = evaluate(resolved, conditions, truth);
    if (value && *value <= kRemoved)
      continue;
    isUnique = value == 0.0 && !kept;
    kept = truth;
  }
  if (!isUnique || !kept) {
    // It stays the tensor that it is.
    if (mask->kind != ElementKind::Load || result.mask)
      return fail("the mask is not a tensor, and not made by comparing positions");
    result.mask = mask;
    return true;
  }
  for (auto [i, condition] : llvm::enumerate(conditions)) {
    Expr expr = condition->index;
    if (!addConstraint(*kept >> i & 1 ? expr : -expr - 1))
      return false;
  }
  return true;
}

std::optional<AttentionElements> kvc::matchAttention(Elements &elements, Value tensor,
                                                     RaiseFailure &why) {
  AttentionMatcher matcher(elements, why);
  if (!matcher.match(tensor))
    return std::nullopt;
  return std::move(matcher.result);
}
