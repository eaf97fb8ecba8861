//===- BuildAttention.cpp - the operation for an attention ----------------===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Splits the dimensions of the result until every index of every operand is a few of
// them, tells what each is, and makes the operation with its maps.
//===----------------------------------------------------------------------===//
#include "AttentionElements.h"
#include "SizeEmitter.h"

#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include <cmath>

using namespace mlir;
using namespace kvc;

using Expr = Elements::Expr;
using Dim = DenseAttentionOp::Dim;

/// As many as the operation has.
static constexpr size_t kMaxTerms = 64;

namespace {
/// A load that an operand may be: the first that works of these, the furthest back first.
using Candidates = SmallVector<Element>;

/// One operand as it is to be: a tensor, cut into dimensions of the attention.
struct Operand {
  Value tensor;
  /// For each dimension of the tensor, those it is made of, outermost first; none of
  /// size 1.
  SmallVector<SmallVector<Expr>> dims;
};

class AttentionBuilder {
public:
  AttentionBuilder(OpBuilder &b, Elements &elements, AttentionElements &attention,
                   Operation *user, Type elementType, function_ref<bool(Value)> stop,
                   RaiseFailure &why)
      : b(b), elements(elements), space(elements.getSpace()), attention(attention),
        loc(user->getLoc()), elementType(elementType), stop(stop), why(why),
        sizes(b, elements, user) {}

  Value build();

private:
  bool fail(const Twine &reason) {
    why.reason = reason.str();
    return false;
  }
  Candidates collectCandidates(Element load, Type element);
  bool checkLimits();
  bool chooseOperands();
  /// Splits dimensions until the indices of the chosen loads have no division left.
  /// Returns the operand that cannot be had so, if there is one.
  std::optional<unsigned> split();
  /// Splits one dimension of `index`; false if it has a division by which none splits.
  bool splitOnce(Expr index, bool &changed);
  std::optional<Operand> cut(Element load);
  Expr replaced(Expr expr);
  Element replaced(Element element);

  bool hasKeys();
  bool assignRoles();
  bool assignQuery(ArrayRef<Expr> dims);
  /// The map of an operand, and the tensor reshaped to it.
  std::pair<Value, AffineMap> reshape(const Operand &operand, Expr width);
  AffineExpr toMapDim(Expr dim, Expr width);
  std::optional<SmallVector<Attribute>> getScore();

  OpBuilder &b;
  Elements &elements;
  IndexSpace &space;
  AttentionElements &attention;
  Location loc;
  Type elementType;
  function_ref<bool(Value)> stop;
  RaiseFailure &why;
  SizeEmitter sizes;

  SmallVector<Candidates> candidates; ///< Of query and key of each term, value, mask, sinks.
  SmallVector<unsigned> chosen;
  DenseMap<Expr, Expr> splits;
  DenseMap<Expr, std::pair<Expr, Expr>> parts; ///< Outer and inner of a split.
  SmallVector<SmallVector<Expr>> outputDims; ///< What each dimension of the result is made of.
  SmallVector<Operand> operands;
  DenseMap<Expr, Dim> roles;
  Expr keys; ///< How many there are.
};
} // namespace

//===----------------------------------------------------------------------===//
// Operands and dimensions
//===----------------------------------------------------------------------===//

Candidates AttentionBuilder::collectCandidates(Element load, Type element) {
  Candidates result;
  auto add = [&](Element at) {
    Type type = cast<RankedTensorType>(at->tensor.getType()).getElementType();
    if (!element || type == element)
      result.push_back(at);
  };
  add(load);
  while (!stop || !stop(load->tensor)) {
    Element next = elements.expand(load);
    if (!next || next->kind != ElementKind::Load)
      break;
    load = next;
    add(load);
  }
  std::reverse(result.begin(), result.end());
  return result;
}

Expr AttentionBuilder::replaced(Expr expr) {
  // Splits of splits take several turns.
  Expr before;
  while (expr != before) {
    before = expr;
    expr = space.simplify(expr.replace(splits));
  }
  return expr;
}

Element AttentionBuilder::replaced(Element element) {
  DenseMap<Expr, Expr> all;
  for (auto [dim, expr] : splits)
    all[dim] = replaced(expr);
  return all.empty() ? element : elements.replaceDims(element, all);
}

bool AttentionBuilder::splitOnce(Expr index, bool &changed) {
  bool ok = true;
  index.walk([&](Expr expr) {
    auto binary = dyn_cast<AffineBinaryOpExpr>(expr);
    if (!binary || changed || !ok ||
        (expr.getKind() != AffineExprKind::FloorDiv && expr.getKind() != AffineExprKind::Mod))
      return;
    Expr dim = binary.getLHS(), inner = binary.getRHS();
    if (!isa<AffineDimExpr>(dim) || splits.contains(dim)) {
      ok = false;
      return;
    }
    Expr extent = space.getExtent(dim);
    Expr outer = space.simplify(extent.floorDiv(inner));
    if (!space.areEqual(outer * inner, extent)) {
      ok = false;
      return;
    }
    parts[dim] = {space.addDim(outer), space.addDim(inner)};
    splits[dim] = parts[dim].first * inner + parts[dim].second;
    changed = true;
  });
  return ok;
}

std::optional<unsigned> AttentionBuilder::split() {
  for (bool changed = true; changed;) {
    changed = false;
    for (unsigned operand = 0; operand < candidates.size(); ++operand)
      for (Expr expr : candidates[operand][chosen[operand]]->indices)
        if (!splitOnce(replaced(expr), changed))
          return operand;
  }
  return std::nullopt;
}

/// Takes a load apart, if each index is dimensions one after the other, that fill it.
std::optional<Operand> AttentionBuilder::cut(Element load) {
  Operand operand{load->tensor, {}};
  for (auto [position, expr] : llvm::enumerate(load->indices)) {
    SmallVector<Expr> dims;
    Expr rest = expr, size = space.constant(1);
    // From the innermost on, whose scale is 1.
    while (rest != space.constant(0)) {
      Expr found;
      for (unsigned i = 0; i < space.getNumDims() && !found; ++i) {
        Expr dim = getAffineDimExpr(i, space.getContext());
        if (!rest.isFunctionOfDim(i))
          continue;
        Expr without = space.simplify(rest - dim * size);
        if (!without.isFunctionOfDim(i))
          found = dim;
      }
      if (!found)
        return std::nullopt;
      rest = space.simplify(rest - found * size);
      size = space.simplify(space.getExtent(found) * size);
      dims.insert(dims.begin(), found);
    }
    if (!space.areEqual(size, elements.getSize(load->tensor, position)))
      return std::nullopt;
    operand.dims.push_back(dims);
  }
  return operand;
}

/// Whether the operation has a way to say it.
bool AttentionBuilder::checkLimits() {
  if (attention.terms.size() > kMaxTerms)
    return fail("the score has more than " + Twine(kMaxTerms) + " terms");
  if (!std::isfinite(static_cast<float>(attention.scale)))
    return fail("its scale is not finite");
  if (attention.softcap && !(*attention.softcap >= 1e-30 && *attention.softcap <= 1e30))
    return fail("its cap is not from 1e-30 to 1e30");
  if (attention.window.value_or(1) > INT32_MAX)
    return fail("its window is more than " + Twine(INT32_MAX) + " keys");
  auto hasType = [](Element load, bool isMask) {
    Type type = cast<RankedTensorType>(load->tensor.getType()).getElementType();
    return isa<Float64Type, Float32Type, Float16Type, BFloat16Type>(type) ||
           (isMask && type.isInteger(1));
  };
  if (attention.mask && !hasType(attention.mask, true))
    return fail("its mask is of another type than f64, f32, f16, bf16 and i1");
  if (attention.sinks && !hasType(attention.sinks, false))
    return fail("its sinks are of another type than f64, f32, f16 and bf16");
  return true;
}

bool AttentionBuilder::chooseOperands() {
  // A constant that is one number everywhere is no load.
  SmallVector<Element> all = {attention.value, attention.mask, attention.sinks};
  for (const AttentionElements::Term &term : attention.terms)
    all.append({term.query, term.key});
  if (llvm::any_of(
          all, [](Element element) { return element && element->kind != ElementKind::Load; }))
    return fail("an operand is one number everywhere");
  for (const AttentionElements::Term &term : attention.terms)
    for (Element load : {term.query, term.key})
      candidates.push_back(collectCandidates(load, elementType));
  candidates.push_back(collectCandidates(attention.value, elementType));
  for (Element load : {attention.mask, attention.sinks})
    if (load)
      candidates.push_back(collectCandidates(load, Type()));
  chosen.assign(candidates.size(), 0);
  if (llvm::any_of(candidates, [](const Candidates &options) { return options.empty(); }))
    return fail("queries, keys and values of other types than the result");
  while (true) {
    splits.clear();
    parts.clear();
    operands.clear();
    std::optional<unsigned> failed = split();
    for (unsigned operand = 0; !failed && operand < candidates.size(); ++operand) {
      if (auto cutOperand = cut(replaced(candidates[operand][chosen[operand]])))
        operands.push_back(*cutOperand);
      else
        failed = operand;
    }
    if (!failed)
      break;
    // Such an operand is tried a step nearer.
    if (++chosen[*failed] == candidates[*failed].size())
      return fail("an operand is no reshape of a tensor");
  }
  for (Expr dim : attention.outputDims) {
    SmallVector<Expr> dims = {dim};
    for (unsigned i = 0; i < dims.size();) {
      auto found = parts.find(dims[i]);
      if (found == parts.end()) {
        ++i;
        continue;
      }
      dims[i] = found->second.first;
      dims.insert(dims.begin() + i + 1, found->second.second);
    }
    outputDims.push_back(dims);
  }
  return true;
}

//===----------------------------------------------------------------------===//
// Roles
//===----------------------------------------------------------------------===//

/// Tells queries from query heads, among dimensions that keys lack.
bool AttentionBuilder::assignQuery(ArrayRef<Expr> dims) {
  Expr query = attention.queryDim ? replaced(attention.queryDim) : Expr();
  bool isKnownOne = query == space.constant(0); // of size 1
  if (isKnownOne)
    query = Expr();
  if (query && !isa<AffineDimExpr>(query))
    return fail("queries are a part of a dimension only");
  auto isStatic = [&](Expr dim) { return isa<AffineConstantExpr>(space.getExtent(dim)); };
  auto isUnit = [&](Expr dim) { return space.getExtent(dim) == space.constant(1); };
  // As many as there are keys beyond those of the past.
  Expr past = elements.getPast(), queries;
  if (past)
    queries = space.simplify(keys - past);
  auto isQuery = [&](Expr dim) {
    return queries ? space.getExtent(dim) == queries : !isStatic(dim);
  };
  bool isOne = isKnownOne || queries == space.constant(1) || (!queries && dims.empty());
  if (!query && !isOne) {
    if (llvm::count_if(dims, isQuery) == 1)
      query = *llvm::find_if(dims, isQuery);
    else if (!queries && dims.size() == 1)
      query = dims[0];
    else
      return fail("cannot tell which dimension is that of the queries");
  }
  // A single query shows in shapes only, the last of such, or not at all.
  if (!query)
    for (const SmallVector<Expr> &group : outputDims)
      for (Expr dim : group)
        if (isUnit(dim))
          query = dim;
  if (query && roles.contains(query))
    return fail("keys or values depend on the query");
  if (query)
    roles[query] = Dim::Query;
  for (Expr dim : dims) {
    if (dim == query)
      continue;
    if (!isStatic(dim))
      return fail("the number of query heads is not static");
    if (llvm::any_of(roles, [](auto role) { return role.second == Dim::Group; }))
      return fail("query heads in more than two dimensions");
    roles[dim] = Dim::Group;
  }
  return true;
}

/// Whether there are as many keys as queries see: it is known, or they have been written.
bool AttentionBuilder::hasKeys() {
  if (space.isNonNegative(space.getExtent(attention.keyDim) - keys) == true)
    return true;
  return llvm::all_of(operands, [&](const Operand &operand) {
    auto insert = operand.tensor.getDefiningOp<tensor::InsertSliceOp>();
    for (auto [position, dims] : llvm::enumerate(operand.dims))
      if (llvm::is_contained(dims, attention.keyDim) &&
          !(insert && insert.getSourceType().getRank() == insert.getDestType().getRank() &&
            space.areEqual(elements.getInteger(insert.getMixedOffsets()[position]) +
                               elements.getInteger(insert.getMixedSizes()[position]),
                           keys)))
        return false;
    return true;
  });
}

bool AttentionBuilder::assignRoles() {
  if (splits.contains(attention.keyDim))
    return fail("keys are taken apart");
  roles[attention.keyDim] = Dim::Key;
  keys = attention.keys ? attention.keys : space.getExtent(attention.keyDim);
  if (!hasKeys())
    return fail("there may be fewer keys than the mask lets queries see");
  size_t numTerms = attention.terms.size();
  auto has = [&](const Operand &operand, Expr dim) {
    return llvm::any_of(operand.dims,
                        [&](const auto &dims) { return llvm::is_contained(dims, dim); });
  };
  auto isOfKeys = [&](Expr dim) {
    for (size_t term = 0; term < numTerms; ++term)
      if (has(operands[2 * term + 1], dim))
        return true;
    return has(operands[2 * numTerms], dim);
  };
  auto isOfQueries = [&](Expr dim) {
    for (size_t term = 0; term < numTerms; ++term)
      if (has(operands[2 * term], dim))
        return true;
    return false;
  };
  SmallVector<Expr> shared, ofQueries, widths;
  for (const SmallVector<Expr> &group : outputDims)
    for (Expr dim : group) {
      if (space.getExtent(dim) == space.constant(1))
        continue;
      if (!isOfQueries(dim))
        widths.push_back(dim); // of the values only
      else
        (isOfKeys(dim) ? shared : ofQueries).push_back(dim);
    }
  if (widths.size() != 1)
    return fail("the values have no width of their own");
  roles[widths[0]] = Dim::Width;
  // Batch entries, then heads. A number that is not static is that of batch entries.
  if (shared.size() > 2)
    return fail("keys with more dimensions than batch entries and heads");
  Expr batch = attention.batchDim ? replaced(attention.batchDim) : Expr();
  for (Expr dim : shared) {
    bool isStatic = isa<AffineConstantExpr>(space.getExtent(dim));
    bool isBatch = !isStatic || (shared.size() == 2 && dim == shared.front() &&
                                 isa<AffineConstantExpr>(space.getExtent(shared.back())));
    if (llvm::is_contained(shared, batch))
      isBatch = dim == batch;
    Dim role = isBatch ? Dim::Batch : Dim::KvHead;
    if (llvm::any_of(roles, [&](auto other) { return other.second == role; }))
      return fail("cannot tell batch entries from heads");
    roles[dim] = role;
  }
  return assignQuery(ofQueries);
}

//===----------------------------------------------------------------------===//
// The operation
//===----------------------------------------------------------------------===//

AffineExpr AttentionBuilder::toMapDim(Expr dim, Expr width) {
  if (dim == width)
    return b.getAffineDimExpr(Dim::Width);
  auto found = roles.find(dim);
  return found == roles.end() ? AffineExpr() : b.getAffineDimExpr(found->second);
}

std::pair<Value, AffineMap> AttentionBuilder::reshape(const Operand &operand, Expr width) {
  auto type = cast<RankedTensorType>(operand.tensor.getType());
  SmallVector<AffineExpr> results;
  SmallVector<OpFoldResult> shape;
  SmallVector<int64_t> staticShape;
  SmallVector<ReassociationIndices> groups;
  bool isCut = false, hasSizes = true;
  for (const SmallVector<Expr> &dims : operand.dims) {
    ReassociationIndices &group = groups.emplace_back();
    auto add = [&](Expr size, AffineExpr result) {
      group.push_back(results.size());
      results.push_back(result);
      OpFoldResult emitted = sizes.emit(size);
      hasSizes &= static_cast<bool>(emitted);
      shape.push_back(emitted ? emitted : b.getIndexAttr(1));
      std::optional<int64_t> constant = getConstantIntValue(shape.back());
      staticShape.push_back(constant.value_or(ShapedType::kDynamic));
    };
    isCut |= dims.size() > 1;
    if (dims.empty())
      add(space.constant(1), b.getAffineConstantExpr(0));
    for (Expr dim : dims) {
      AffineExpr result = toMapDim(dim, width);
      if (!result)
        return {};
      add(dim == attention.keyDim ? keys : space.getExtent(dim), result);
    }
  }
  if (!hasSizes)
    return {};
  Value value = operand.tensor;
  // Of a cache that has room for more, the tokens that it holds.
  for (auto [position, dims] : llvm::enumerate(operand.dims)) {
    if (!llvm::is_contained(dims, attention.keyDim) ||
        space.areEqual(keys, space.getExtent(attention.keyDim)))
      continue;
    OpFoldResult size = sizes.emit(keys);
    if (!size || dims.size() != 1)
      return {};
    SmallVector<OpFoldResult> offsets(type.getRank(), b.getIndexAttr(0)),
        strides(type.getRank(), b.getIndexAttr(1)), kept;
    for (int64_t dim = 0; dim < type.getRank(); ++dim)
      kept.push_back(dim == static_cast<int64_t>(position)
                         ? size
                         : sizes.emit(elements.getSize(operand.tensor, dim)));
    if (llvm::any_of(kept, [](OpFoldResult value) { return !value; }))
      return {};
    value = tensor::ExtractSliceOp::create(b, loc, value, offsets, kept, strides);
  }
  if (isCut)
    value = tensor::ExpandShapeOp::create(
        b, loc, RankedTensorType::get(staticShape, type.getElementType()), value, groups,
        shape);
  return {value, AffineMap::get(DenseAttentionOp::kNumDims, 0, results, b.getContext())};
}

std::optional<SmallVector<Attribute>> AttentionBuilder::getScore() {
  if (attention.score)
    return attention.score;
  SmallVector<Attribute> score;
  if (attention.softcap)
    score.push_back(SoftcapAttr::get(b.getContext(), APFloat(*attention.softcap)));
  // A single query is the last token in any case.
  bool hasQueryDim = llvm::any_of(roles, [&](auto role) {
    return role.second == Dim::Query && space.getExtent(role.first) != space.constant(1);
  });
  if (attention.isCausal || !hasQueryDim)
    score.push_back(CausalAttr::get(b.getContext()));
  if (attention.window) {
    if (!attention.isCausal && hasQueryDim) {
      fail("a window without a causal mask");
      return std::nullopt;
    }
    score.push_back(WindowAttr::get(b.getContext(), *attention.window));
  }
  return score;
}

Value AttentionBuilder::build() {
  elements.resetBudget();
  if (!checkLimits() || !chooseOperands() || !assignRoles())
    return {};
  size_t numTerms = attention.terms.size();
  SmallVector<Value> queries, keys;
  SmallVector<AffineMap> maps;
  auto add = [&](size_t index, Expr width) -> Value {
    auto [value, map] = reshape(operands[index], width);
    maps.push_back(map);
    return value;
  };
  for (size_t term = 0; term < numTerms; ++term) {
    Expr width = replaced(attention.terms[term].width);
    queries.push_back(add(2 * term, width));
    keys.push_back(add(2 * term + 1, width));
  }
  Value value = add(2 * numTerms, Expr()), mask, sinks;
  size_t next = 2 * numTerms + 1;
  if (attention.mask)
    mask = add(next++, Expr());
  if (attention.sinks)
    sinks = add(next++, Expr());

  // The result, its dimensions in the order of the root's.
  SmallVector<AffineExpr> results;
  SmallVector<int64_t> shape;
  SmallVector<ReassociationIndices> groups;
  for (const SmallVector<Expr> &dims : outputDims) {
    ReassociationIndices &group = groups.emplace_back();
    for (Expr dim : dims) {
      AffineExpr result = toMapDim(dim, Expr());
      if (!result && space.getExtent(dim) == space.constant(1))
        result = b.getAffineConstantExpr(0);
      group.push_back(results.size());
      results.push_back(result);
      auto constant = dyn_cast<AffineConstantExpr>(space.getExtent(dim));
      shape.push_back(constant ? constant.getValue() : ShapedType::kDynamic);
    }
  }
  maps.push_back(AffineMap::get(DenseAttentionOp::kNumDims, 0, results, b.getContext()));
  if (llvm::any_of(maps, [](AffineMap map) {
        return !map || llvm::is_contained(map.getResults(), AffineExpr());
      })) {
    fail("an operand has a dimension that is none of the attention's");
    return {};
  }
  std::optional<SmallVector<Attribute>> score = getScore();
  if (!score)
    return {};
  Type type = RankedTensorType::get(shape, elementType);
  auto op = DenseAttentionOp::create(b, loc, type, queries, keys, value, mask, sinks,
                                     b.getF32FloatAttr(attention.scale), b.getArrayAttr(*score),
                                     b.getAffineMapArrayAttr(maps));
  if (shape.size() == outputDims.size())
    return op.getOutput();
  return tensor::CollapseShapeOp::create(b, loc, op.getOutput(), groups);
}

Value kvc::buildAttention(OpBuilder &b, Elements &elements, AttentionElements attention,
                          Operation *user, Type elementType, function_ref<bool(Value)> stop,
                          RaiseFailure &why) {
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPoint(user);
  return AttentionBuilder(b, elements, attention, user, elementType, stop, why).build();
}

bool kvc::isUnused(Operation *op, const llvm::SmallPtrSetImpl<Operation *> &unused) {
  return wouldOpBeTriviallyDead(op) && llvm::all_of(op->getUsers(), [&](Operation *user) {
           return unused.contains(op->getBlock()->findAncestorOpInBlock(*user));
         });
}

void kvc::replaceTensor(OpBuilder &b, Value tensor, Value replacement) {
  if (replacement.getType() != tensor.getType()) {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointAfterValue(replacement);
    replacement = tensor::CastOp::create(b, tensor.getLoc(), tensor.getType(), replacement);
  }
  tensor.replaceAllUsesWith(replacement);
}
