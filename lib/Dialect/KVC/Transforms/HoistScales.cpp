//===- HoistScales.cpp - scales outside the loops of attention ------------===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "CacheTensors.h"
#include "ElementEmitter.h"

#include "kvc/Dialect/KVC/Transforms/Passes.h"

#include "mlir/IR/Remarks.h"

#include <cmath>

#define DEBUG_TYPE "kvc-hoist-scales"

namespace kvc {
#define GEN_PASS_DEF_HOISTSCALESPASS
#include "kvc/Dialect/KVC/Transforms/Passes.h.inc"
} // namespace kvc

using namespace mlir;
using namespace kvc;

using Dim = DenseAttentionOp::Dim;
using Expr = Elements::Expr;

namespace {
struct HoistScalesPass final : kvc::impl::HoistScalesPassBase<HoistScalesPass> {
  using Base::Base;
  void runOnOperation() override;
};

/// Takes the scales of one attention's keys and value out of it.
class ScaleHoister {
public:
  ScaleHoister(Elements &elements, DenseAttentionOp op)
      : elements(elements), space(elements.getSpace()), op(op), b(op) {}

  void hoist();

private:
  /// An operand that is read as codes, and what its scale is.
  struct Operand {
    Value value;
    AffineMap map;
    SmallVector<Expr> dims = {};
    DequantizeOp codes = {};
    SmallVector<Expr> indices = {}; ///< Of the codes' numbers.
    std::string reason = {};        ///< Why its scale stays, or empty.
    bool isHoisted() const { return codes && reason.empty(); }
  };
  Operand read(Value value, AffineMap map);
  SmallVector<Expr> makeDims(Value value, AffineMap map);
  Value emitCodes(Operand &operand);
  /// `tensor`, whose dimensions are by `map`, times the scale of `operand`, before `user`.
  Value scale(Value tensor, AffineMap map, const Operand &operand, Operation *user);
  void report(StringRef what, const Operand &operand);
  static std::optional<double> getConstant(const Operand &operand) {
    FloatAttr constant = DequantizeOp(operand.codes).getScaleAttr().getConstant();
    return constant ? std::optional(constant.getValueAsDouble()) : std::nullopt;
  }

  Elements &elements;
  IndexSpace &space;
  DenseAttentionOp op;
  OpBuilder b;
  Expr known[DenseAttentionOp::kNumDims];
};
} // namespace

//===----------------------------------------------------------------------===//
// Attention on tensors
//===----------------------------------------------------------------------===//

/// Dimensions of a tensor: those of the attention, and widths of its own.
SmallVector<Expr> ScaleHoister::makeDims(Value value, AffineMap map) {
  SmallVector<Expr> dims;
  for (auto [position, expr] : llvm::enumerate(map.getResults())) {
    auto dim = dyn_cast<AffineDimExpr>(expr);
    Expr size = elements.getSize(value, position);
    bool isOwn = !dim || dim.getPosition() == Dim::Width;
    if (isOwn || !known[dim.getPosition()]) {
      Expr added = space.addDim(size);
      if (!isOwn)
        known[dim.getPosition()] = added;
      dims.push_back(added);
      continue;
    }
    dims.push_back(known[dim.getPosition()]);
  }
  return dims;
}

ScaleHoister::Operand ScaleHoister::read(Value value, AffineMap map) {
  Operand operand{value, map, makeDims(value, map)};
  Element leaf = elements.followMoves(elements.load(value, operand.dims));
  operand.codes = leaf->kind == ElementKind::Load ? leaf->tensor.getDefiningOp<DequantizeOp>()
                                                  : DequantizeOp();
  if (!operand.codes || !operand.codes.getScaleAttr()) {
    operand.codes = {};
    return operand;
  }
  operand.indices.assign(leaf->indices.begin(), leaf->indices.end());
  ScaleAttr scale = operand.codes.getScaleAttr();
  if (scale.getConstant() && scale.getConstant().getValueAsDouble() == 1.0)
    operand.codes = {};
  else if (scale.getZeroPoint())
    operand.reason = "it has zero points";
  else if (scale.getScheme() == ScaleScheme::Group)
    operand.reason = "scales vary along the width";
  else if (scale.getScheme() == ScaleScheme::Token)
    operand.reason = "scales vary along the keys, and attention on tensors has no operand for "
                     "factors of scores";
  else
    for (auto [position, index] : llvm::enumerate(operand.indices))
      for (unsigned dim : {Dim::Batch, Dim::Key})
        if (!scale.getConstant() && known[dim] && space.contains(index, known[dim]) &&
            elements.getSize(operand.codes.getScales()[0], position) != space.constant(1))
          operand.reason = "scales vary along other dimensions than heads";
  return operand;
}

/// The codes as numbers, without their scales.
Value ScaleHoister::emitCodes(Operand &operand) {
  DequantizeOp codes = operand.codes;
  auto one = ScaleAttr::get(b.getContext(), b.getF32Type(), ScaleScheme::Tensor, /*group=*/0,
                            /*isStatic=*/true, /*zeroPoint=*/false, b.getF32FloatAttr(1));
  b.setInsertionPoint(op);
  Type element = getElementTypeOrSelf(operand.value.getType());
  auto numbers =
      DequantizeOp::create(b, codes.getLoc(), codes.getOutput().getType().clone(element),
                           codes.getCodes(), ValueRange(), codes.getElement(), one);
  if (areInPlace(elements, numbers, operand.indices, operand.dims))
    return numbers;
  Value moved = emitProduct(b, elements, op, operand.dims, {},
                            elements.load(numbers, operand.indices), element);
  b.setInsertionPoint(op);
  if (moved && moved.getType() != operand.value.getType())
    moved = tensor::CastOp::create(b, op.getLoc(), operand.value.getType(), moved);
  return moved;
}

/// `tensor` times a number, in f32 and rounded once; of f32, converted to `type`.
static Value mapTensor(OpBuilder &b, Location loc, Value tensor, Type type,
                       std::optional<double> factor) {
  auto shaped = cast<RankedTensorType>(tensor.getType());
  Value init = tensor::EmptyOp::create(b, loc, tensor::getMixedSizes(b, loc, tensor), type);
  AffineMap identity = b.getMultiDimIdentityMap(shaped.getRank());
  SmallVector<utils::IteratorType> loops(shaped.getRank(), utils::IteratorType::parallel);
  auto body = [&](OpBuilder &n, Location at, ValueRange x) {
    Value value = convertFloat(n, at, x[0], n.getF32Type());
    if (factor)
      value = arith::MulFOp::create(
          n, at, value, arith::ConstantOp::create(n, at, n.getF32FloatAttr(*factor)));
    linalg::YieldOp::create(n, at, convertFloat(n, at, value, type));
  };
  return linalg::GenericOp::create(b, loc, init.getType(), tensor, init, {identity, identity},
                                   loops, body)
      .getResult(0);
}

Value ScaleHoister::scale(Value tensor, AffineMap map, const Operand &operand,
                          Operation *user) {
  DequantizeOp codes = operand.codes;
  auto type = cast<RankedTensorType>(tensor.getType());
  Value product;
  if (std::optional<double> constant = getConstant(operand)) {
    b.setInsertionPoint(user);
    product = mapTensor(b, op.getLoc(), tensor, type.getElementType(), constant);
  } else {
    SmallVector<Expr> dims = makeDims(tensor, map), indices;
    Value scales = codes.getScales()[0];
    for (auto [position, index] : llvm::enumerate(operand.indices)) {
      bool isShared = elements.getSize(scales, position) == space.constant(1);
      indices.push_back(isShared ? space.constant(0) : index);
      for (unsigned dim = 0; !isShared && dim < space.getNumDims(); ++dim) {
        Expr expr = getAffineDimExpr(dim, b.getContext());
        if (space.contains(index, expr) && !llvm::is_contained(dims, expr))
          return {};
      }
    }
    product = emitProduct(b, elements, user, dims, {},
                          {elements.load(tensor, dims), elements.load(scales, indices)},
                          b.getF32Type());
    if (!product)
      return {};
    b.setInsertionPoint(user);
    if (!type.getElementType().isF32())
      product = mapTensor(b, op.getLoc(), product, type.getElementType(), std::nullopt);
  }
  b.setInsertionPoint(user);
  if (product.getType() != type)
    product = tensor::CastOp::create(b, op.getLoc(), type, product);
  return product;
}

void ScaleHoister::report(StringRef what, const Operand &operand) {
  auto options = remark::RemarkOpts::name("HoistedScales").category(DEBUG_TYPE);
  if (operand.codes && !operand.isHoisted())
    remark::missed(op.getLoc(), options)
        << remark::reason("scales of {0} stay before attention: {1}", what, operand.reason);
  remark::analysis(op.getLoc(), options)
      << llvm::formatv("{0}: {1} multiplications by scales left for each element", what,
                       operand.codes && !operand.isHoisted() ? 1 : 0)
             .str();
}

void ScaleHoister::hoist() {
  SmallVector<Operand> keys;
  unsigned terms = op.getKeys().size();
  for (unsigned term = 0; term < terms; ++term)
    keys.push_back(read(op.getKeys()[term], op.getKeyMap(term)));
  Operand value = read(op.getValue(), op.getValueMap());

  // A constant of all terms is one of the scores.
  std::optional<double> shared;
  float scoreScale = op.getScale().convertToFloat();
  if (keys.front().isHoisted())
    shared = getConstant(keys.front());
  for (const Operand &key : keys)
    if (!key.isHoisted() || getConstant(key) != shared)
      shared.reset();
  float scaled = scoreScale * static_cast<float>(shared.value_or(1));
  if (!std::isfinite(scaled))
    shared.reset();
  for (auto [term, key] : llvm::enumerate(keys)) {
    if (key.isHoisted()) {
      Value query = op.getQueries()[term];
      Value own = shared ? query : scale(query, op.getQueryMap(term), key, op);
      Value codes = own ? emitCodes(key) : Value();
      if (codes) {
        op.getQueriesMutable()[term].assign(own);
        op.getKeysMutable()[term].assign(codes);
      } else {
        key.reason = "the query has not the heads that scales vary along";
      }
    }
    std::string what = terms == 1 ? "keys" : ("keys of term " + Twine(term)).str();
    report(what, key);
  }
  if (shared)
    op.setScale(APFloat(scaled));
  if (value.isHoisted()) {
    Value output = op.getOutput();
    SmallVector<OpOperand *> uses = llvm::to_vector(llvm::make_pointer_range(output.getUses()));
    Value codes = emitCodes(value);
    Value product =
        codes ? scale(output, op.getOutputMap(), value, op->getNextNode()) : Value();
    if (product) {
      op.getValueMutable().assign(codes);
      for (OpOperand *use : uses)
        use->set(product);
    } else {
      value.reason = "the result has not the heads that scales vary along";
    }
  }
  report("values", value);
}

//===----------------------------------------------------------------------===//
// Attention over pages
//===----------------------------------------------------------------------===//

/// How many multiplications by scales kernels do for an element of a component.
static std::string countScales(ComponentAttr component) {
  ScaleAttr scale = component.getScale();
  if (!scale || scale.getScheme() != ScaleScheme::Group)
    return "0";
  return llvm::formatv("1/{0}", std::min(scale.getGroup(), component.getWidth())).str();
}

static void reportPaged(AttentionOp op) {
  SmallVector<std::pair<std::string, ComponentAttr>> parts;
  for (unsigned term = 0; term < op.getQueries().size(); ++term)
    parts.emplace_back("keys", op.getTermComponent(term));
  parts.emplace_back("values", op.getValueComponent());
  for (auto &[what, component] : parts)
    remark::analysis(op.getLoc(),
                     remark::RemarkOpts::name("HoistedScales").category(DEBUG_TYPE))
        << llvm::formatv("{0} '{1}': {2} multiplications by scales left for each element", what,
                         component.getName().getValue(), countScales(component))
               .str();
}

void HoistScalesPass::runOnOperation() {
  func::FuncOp function = getOperation();
  if (!llvm::hasSingleElement(function.getBody()))
    return;
  Elements elements(function);
  for (Operation &op : llvm::make_early_inc_range(function.getBody().front())) {
    if (auto dense = dyn_cast<DenseAttentionOp>(&op))
      ScaleHoister(elements, dense).hoist();
    else if (auto paged = dyn_cast<AttentionOp>(&op))
      reportPaged(paged);
  }
  eraseDeadOps(function);
}
