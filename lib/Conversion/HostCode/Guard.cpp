//===- Guard.cpp - what host code takes for granted, as assertions --------===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Shapes that do not fit and indices that lie outside would read and write the memory
// of others. Each operation gets the conditions that its types do not settle; what
// depends on values is made harmless besides, since it is known too late to stop.
//===----------------------------------------------------------------------===//
#include "kvc/Conversion/HostCode.h"
#include "kvc/Conversion/Passes.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "llvm/ADT/TypeSwitch.h"

#define DEBUG_TYPE "kvc-guard-host-code"

namespace kvc {
#define GEN_PASS_DEF_GUARDHOSTCODEPASS
#include "kvc/Conversion/Passes.h.inc"
} // namespace kvc

using namespace mlir;
using namespace kvc;

namespace {
/// Emits the conditions of one operation before it.
class Guard {
public:
  explicit Guard(Operation *op) : op(op), b(op->getLoc(), op) {}

  LogicalResult guard();

private:
  // Conditions.
  void require(Value condition, const Twine &what);
  void report(Value condition, const Twine &what);
  std::string describe(const Twine &what);

  // Index arithmetic; what is constant folds.
  Value index(int64_t value) { return arith::ConstantIndexOp::create(b, value); }
  Value index(OpFoldResult value) { return getValueOrCreateConstantIndexOp(b, b.getLoc(), value); }
  Value size(Value tensor, int64_t dim) {
    return index(tensor::getMixedSize(b, b.getLoc(), tensor, dim));
  }
  Value add(Value x, Value y) { return b.createOrFold<arith::AddIOp>(x, y); }
  Value sub(Value x, Value y) { return b.createOrFold<arith::SubIOp>(x, y); }
  Value mul(Value x, Value y) { return b.createOrFold<arith::MulIOp>(x, y); }
  Value max(Value x, Value y) { return b.createOrFold<arith::MaxSIOp>(x, y); }
  Value min(Value x, Value y) { return b.createOrFold<arith::MinSIOp>(x, y); }
  Value equal(Value x, Value y) { return compare(arith::CmpIPredicate::eq, x, y); }
  Value lessOrEqual(Value x, Value y) { return compare(arith::CmpIPredicate::sle, x, y); }
  Value less(Value x, Value y) { return compare(arith::CmpIPredicate::slt, x, y); }
  Value compare(arith::CmpIPredicate predicate, Value x, Value y) {
    return b.createOrFold<arith::CmpIOp>(predicate, x, y);
  }
  Value both(Value x, Value y) { return x ? b.createOrFold<arith::AndIOp>(x, y) : y; }
  Value either(Value x, Value y) { return x ? b.createOrFold<arith::OrIOp>(x, y) : y; }

  // Operations.
  LogicalResult guardLinalg(linalg::LinalgOp op);
  std::pair<Value, Value> computeRange(AffineExpr expr, ArrayRef<Value> last);
  void guardCast(tensor::CastOp op);
  void guardSizes(ValueRange sizes);
  void guardExpand(tensor::ExpandShapeOp op);
  void guardCollapse(tensor::CollapseShapeOp op);
  LogicalResult guardConcat(tensor::ConcatOp op);
  void guardPad(tensor::PadOp op);
  void guardSlice(OffsetSizeAndStrideOpInterface slice, Value sliced);
  void guardInsertSlice(tensor::InsertSliceOp op);
  void guardResult(Value result, ArrayRef<Value> sizes);
  Value isInside(Value tensor, ValueRange indices);
  void guardExtract(tensor::ExtractOp op);
  void guardInsert(tensor::InsertOp op);
  LogicalResult guardDim(tensor::DimOp op);
  void guardDivision(bool isSigned);
  void guardLoop(scf::ForOp op);

  Operation *op;
  ImplicitLocOpBuilder b;
};
} // namespace

//===----------------------------------------------------------------------===//
// Conditions
//===----------------------------------------------------------------------===//

/// Names the operation and its place.
std::string Guard::describe(const Twine &what) {
  std::string text = ("'" + op->getName().getStringRef() + "'").str();
  if (auto place = op->getLoc()->findInstanceOf<FileLineColLoc>())
    text += (" at " + place.getFilename().getValue() + ":" + Twine(place.getLine()) + ":" +
             Twine(place.getColumn()))
                .str();
  return (text + " expected " + what).str();
}

/// What has to hold before the operation.
void Guard::require(Value condition, const Twine &what) {
  if (condition && !matchPattern(condition, m_One()))
    cf::AssertOp::create(b, condition, describe(what));
}

/// What should hold, while the operation is harmless even if it does not.
void Guard::report(Value condition, const Twine &what) {
  if (!condition || matchPattern(condition, m_One()))
    return;
  auto assertion = cf::AssertOp::create(b, condition, describe(what));
  assertion->setAttr(kHarmlessAttr, b.getUnitAttr());
}

//===----------------------------------------------------------------------===//
// linalg
//===----------------------------------------------------------------------===//

/// Smallest and largest value of `expr` if each dimension d goes from 0 to `last[d]`.
std::pair<Value, Value> Guard::computeRange(AffineExpr expr, ArrayRef<Value> last) {
  if (auto dim = dyn_cast<AffineDimExpr>(expr))
    return {index(0), last[dim.getPosition()]};
  if (auto constant = dyn_cast<AffineConstantExpr>(expr))
    return {index(constant.getValue()), index(constant.getValue())};
  auto binary = cast<AffineBinaryOpExpr>(expr);
  auto [low, high] = computeRange(binary.getLHS(), last);
  if (binary.getKind() == AffineExprKind::Add) {
    auto [otherLow, otherHigh] = computeRange(binary.getRHS(), last);
    return {add(low, otherLow), add(high, otherHigh)};
  }
  // The other operand is a constant: maps of linalg have no symbols.
  int64_t factor = cast<AffineConstantExpr>(binary.getRHS()).getValue();
  switch (binary.getKind()) {
  case AffineExprKind::Mul:
    if (factor < 0)
      std::swap(low, high);
    return {mul(low, index(factor)), mul(high, index(factor))};
  case AffineExprKind::FloorDiv:
    return {b.createOrFold<arith::FloorDivSIOp>(low, index(factor)),
            b.createOrFold<arith::FloorDivSIOp>(high, index(factor))};
  case AffineExprKind::CeilDiv:
    return {b.createOrFold<arith::CeilDivSIOp>(low, index(factor)),
            b.createOrFold<arith::CeilDivSIOp>(high, index(factor))};
  default:
    return {index(0), index(factor - 1)}; // a remainder
  }
}

/// Upstream takes the shape of a result from the loops, and an output that no element of the
/// body reads for overwritten.
static LogicalResult checkOutputs(linalg::LinalgOp op) {
  SmallVector<int64_t> sizes = op.getStaticLoopRanges();
  SmallVector<unsigned> parallel;
  op.getParallelDims(parallel);
  for (OpOperand &output : op.getDpsInitsMutable()) {
    AffineMap map = op.getMatchingIndexingMap(&output);
    llvm::SmallBitVector named(op.getNumLoops());
    bool isWhole = true;
    for (auto [dim, expr] : llvm::enumerate(map.getResults())) {
      auto loop = dyn_cast<AffineDimExpr>(expr);
      bool isOne = cast<ShapedType>(output.get().getType()).getDimSize(dim) == 1;
      isWhole &= loop ? !named.test(loop.getPosition()) : isOne;
      if (loop)
        named.set(loop.getPosition());
    }
    for (unsigned loop : parallel)
      isWhole &= named.test(loop) || sizes[loop] == 1;
    if (!isWhole)
      return op.emitOpError("expected outputs whose elements are those of the parallel loops, got "
                            "the map ")
             << AffineMapAttr::get(map);
    if (op.getNumReductionLoops() > 0 && op.getMatchingBlockArgument(&output).use_empty())
      return op.emitOpError("expected a reduction that reads what it has so far");
  }
  return success();
}

LogicalResult Guard::guardLinalg(linalg::LinalgOp linalgOp) {
  if (failed(checkOutputs(linalgOp)))
    return failure();
  SmallVector<Value> sizes;
  for (Range range : linalgOp.createLoopRanges(b, b.getLoc()))
    sizes.push_back(index(range.size));
  Value isEmpty;
  for (Value size : sizes)
    isEmpty = either(isEmpty, equal(size, index(0)));
  SmallVector<Value> last =
      llvm::map_to_vector(sizes, [&](Value size) { return sub(size, index(1)); });
  Value agree, inside;
  for (OpOperand &operand : linalgOp->getOpOperands()) {
    if (!isa<RankedTensorType>(operand.get().getType()))
      continue;
    AffineMap map = linalgOp.getMatchingIndexingMap(&operand);
    for (auto [dim, expr] : llvm::enumerate(map.getResults())) {
      Value extent = size(operand.get(), dim);
      if (auto loop = dyn_cast<AffineDimExpr>(expr)) {
        agree = both(agree, equal(sizes[loop.getPosition()], extent));
        continue;
      }
      auto [low, high] = computeRange(expr, last);
      inside = both(inside, both(lessOrEqual(index(0), low), less(high, extent)));
    }
  }
  require(agree, "the sizes that the operands have in common to be equal");
  if (inside)
    require(either(isEmpty, inside), "all that is read and written to be inside the operands");
  return success();
}

//===----------------------------------------------------------------------===//
// Shapes
//===----------------------------------------------------------------------===//

/// Sizes that the type of a result promises.
void Guard::guardResult(Value result, ArrayRef<Value> sizes) {
  auto type = cast<RankedTensorType>(result.getType());
  Value same;
  for (auto [dim, size] : llvm::enumerate(sizes))
    if (!type.isDynamicDim(dim))
      same = both(same, equal(size, index(type.getDimSize(dim))));
  require(same, "the sizes of the result type");
}

void Guard::guardCast(tensor::CastOp cast) {
  auto type = dyn_cast<RankedTensorType>(cast.getSource().getType());
  if (!type || !isa<RankedTensorType>(cast.getType()))
    return;
  SmallVector<Value> sizes;
  for (int64_t dim = 0; dim < type.getRank(); ++dim)
    sizes.push_back(size(cast.getSource(), dim));
  guardResult(cast.getResult(), sizes);
}

void Guard::guardSizes(ValueRange sizes) {
  Value positive;
  for (Value size : sizes)
    positive = both(positive, lessOrEqual(index(0), size));
  require(positive, "sizes of at least 0");
}

void Guard::guardExpand(tensor::ExpandShapeOp expand) {
  SmallVector<OpFoldResult> sizes = expand.getMixedOutputShape();
  Value same, positive;
  for (auto [dim, group] : llvm::enumerate(expand.getReassociationIndices())) {
    Value product = index(1);
    for (int64_t inner : group) {
      product = mul(product, index(sizes[inner]));
      positive = both(positive, lessOrEqual(index(0), index(sizes[inner])));
    }
    same = both(same, equal(product, size(expand.getSrc(), dim)));
  }
  require(positive, "sizes of at least 0");
  require(same, "the same number of elements before and after");
}

void Guard::guardCollapse(tensor::CollapseShapeOp collapse) {
  SmallVector<Value> sizes;
  for (const ReassociationIndices &group : collapse.getReassociationIndices()) {
    Value product = index(1);
    for (int64_t inner : group)
      product = mul(product, size(collapse.getSrc(), inner));
    sizes.push_back(product);
  }
  guardResult(collapse.getResult(), sizes);
}

LogicalResult Guard::guardConcat(tensor::ConcatOp concat) {
  int64_t axis = concat.getDim();
  Value first = concat.getInputs().front();
  SmallVector<Value> sizes;
  Value same;
  for (int64_t dim = 0; dim < concat.getRank(); ++dim) {
    sizes.push_back(size(first, dim));
    for (Value input : concat.getInputs().drop_front()) {
      if (dim == axis)
        sizes.back() = add(sizes.back(), size(input, dim));
      else
        same = both(same, equal(size(input, dim), sizes.back()));
    }
  }
  require(same, "the sizes that the operands have in common to be equal");
  guardResult(concat.getResult(), sizes);
  // As slices of one tensor, its size is computed here, from operands and not from
  // their buffers.
  FailureOr<SmallVector<Value>> slices = concat.decomposeOperation(b);
  if (failed(slices))
    return concat.emitOpError("expected a concatenation that decomposes into slices");
  concat.getResult().replaceAllUsesWith(slices->front());
  concat.erase();
  return success();
}

void Guard::guardPad(tensor::PadOp pad) {
  guardSizes(llvm::to_vector(llvm::concat<Value>(pad.getLow(), pad.getHigh())));
  SmallVector<Value> sizes;
  for (auto [dim, low, high] : llvm::enumerate(pad.getMixedLowPad(), pad.getMixedHighPad()))
    sizes.push_back(add(size(pad.getSource(), dim), add(index(low), index(high))));
  guardResult(pad.getResult(), sizes);
}

/// True if `value` is known before values are.
static bool isKnown(OpFoldResult value) {
  auto dynamic = dyn_cast<Value>(value);
  return !dynamic || followsFromShapes(dynamic);
}

void Guard::guardSlice(OffsetSizeAndStrideOpInterface slice, Value sliced) {
  Value sane, inside;
  SmallVector<Value> moved;
  for (auto [dim, offset, size, stride] :
       llvm::enumerate(slice.getMixedOffsets(), slice.getMixedSizes(), slice.getMixedStrides())) {
    Value count = index(size), step = index(stride), begin = index(offset);
    sane = both(sane, both(lessOrEqual(index(0), count), less(index(0), step)));
    Value isEmpty = equal(count, index(0));
    // Where the last of the slices that fit begins; an empty one reads nothing.
    Value span = add(mul(sub(count, index(1)), step), index(1));
    Value lastBegin = sub(this->size(sliced, dim), span);
    Value fits = both(lessOrEqual(index(0), begin), lessOrEqual(begin, lastBegin));
    if (isKnown(offset)) {
      inside = both(inside, either(isEmpty, fits));
      continue;
    }
    sane = both(sane, either(isEmpty, lessOrEqual(index(0), lastBegin)));
    report(either(isEmpty, fits), "offsets inside the tensor");
    moved.push_back(max(index(0), min(begin, lastBegin)));
  }
  require(sane, "sizes that fit into the tensor, and strides of at least 1");
  require(inside, "offsets inside the tensor");
  if (moved.empty())
    return;
  // Only those that were not known changed.
  SmallVector<OpFoldResult> offsets = slice.getMixedOffsets();
  auto next = moved.begin();
  for (OpFoldResult &offset : offsets)
    if (!isKnown(offset))
      offset = *next++;
  unsigned operand = slice.getOffsetSizeAndStrideStartOperandIndex();
  for (OpFoldResult offset : offsets)
    if (auto dynamic = dyn_cast<Value>(offset))
      slice->setOperand(operand++, dynamic);
}

void Guard::guardInsertSlice(tensor::InsertSliceOp insert) {
  llvm::SmallBitVector dropped = insert.getDroppedDims();
  Value same;
  int64_t sourceDim = 0;
  for (auto [dim, count] : llvm::enumerate(insert.getMixedSizes()))
    if (!dropped.test(dim))
      same = both(same, equal(index(count), size(insert.getSource(), sourceDim++)));
  require(same, "a source of the size of the slice");
}

//===----------------------------------------------------------------------===//
// Elements
//===----------------------------------------------------------------------===//

Value Guard::isInside(Value tensor, ValueRange indices) {
  Value inside;
  for (auto [dim, position] : llvm::enumerate(indices))
    // As unsigned numbers, negative ones are large.
    inside = both(inside, compare(arith::CmpIPredicate::ult, position, size(tensor, dim)));
  return inside;
}

void Guard::guardExtract(tensor::ExtractOp extract) {
  Value inside = isInside(extract.getTensor(), extract.getIndices());
  if (!inside || matchPattern(inside, m_One()))
    return;
  report(inside, "indices inside the tensor");
  auto element = scf::IfOp::create(b, extract.getType(), inside, /*withElseRegion=*/true);
  extract.getResult().replaceAllUsesWith(element.getResult(0));
  extract->moveBefore(element.thenBlock(), element.thenBlock()->end());
  b.setInsertionPointToEnd(element.thenBlock());
  scf::YieldOp::create(b, extract.getResult());
  b.setInsertionPointToEnd(element.elseBlock());
  Value zero = arith::ConstantOp::create(b, b.getZeroAttr(extract.getType()));
  scf::YieldOp::create(b, zero);
}

void Guard::guardInsert(tensor::InsertOp insert) {
  Value inside = isInside(insert.getDest(), insert.getIndices());
  if (!inside || matchPattern(inside, m_One()))
    return;
  report(inside, "indices inside the tensor");
  auto result = scf::IfOp::create(b, insert.getType(), inside, /*withElseRegion=*/true);
  insert.getResult().replaceAllUsesWith(result.getResult(0));
  insert->moveBefore(result.thenBlock(), result.thenBlock()->end());
  b.setInsertionPointToEnd(result.thenBlock());
  scf::YieldOp::create(b, insert.getResult());
  b.setInsertionPointToEnd(result.elseBlock());
  scf::YieldOp::create(b, insert.getDest());
}

LogicalResult Guard::guardDim(tensor::DimOp dim) {
  auto type = dyn_cast<RankedTensorType>(dim.getSource().getType());
  std::optional<int64_t> number = dim.getConstantIndex();
  if (type && number && *number >= 0 && *number < type.getRank())
    return success();
  return dim.emitOpError("expected a constant dimension of a ranked tensor");
}

//===----------------------------------------------------------------------===//
// Scalars and loops
//===----------------------------------------------------------------------===//

/// A processor stops at a division by zero, and at one whose quotient does not fit.
void Guard::guardDivision(bool isSigned) {
  Value divisor = op->getOperand(1);
  Type type = divisor.getType();
  APInt constant;
  bool isKnown = matchPattern(divisor, m_ConstantInt(&constant));
  if (!type.isIntOrIndex() || (isKnown && !constant.isZero() && !constant.isAllOnes()))
    return;
  unsigned width = type.isIndex() ? 64 : type.getIntOrFloatBitWidth();
  auto number = [&](const APInt &value) -> Value {
    return arith::ConstantOp::create(b, b.getIntegerAttr(type, value));
  };
  Value isZero = equal(divisor, number(APInt(width, 0)));
  report(b.createOrFold<arith::XOrIOp>(
             isZero, arith::ConstantOp::create(b, b.getBoolAttr(true))),
         "a divisor other than 0");
  Value unsafe = isZero;
  if (isSigned) {
    Value overflows = both(equal(divisor, number(APInt::getAllOnes(width))),
                           equal(op->getOperand(0), number(APInt::getSignedMinValue(width))));
    unsafe = either(unsafe, overflows);
  }
  op->setOperand(1, arith::SelectOp::create(b, unsafe, number(APInt(width, 1)), divisor));
}

/// A loop whose step is not positive does not end.
void Guard::guardLoop(scf::ForOp loop) {
  Type type = loop.getStep().getType();
  if (std::optional<int64_t> step = getConstantIntValue(loop.getStep()); step && *step > 0)
    return;
  Value one = arith::ConstantOp::create(b, b.getIntegerAttr(type, 1));
  report(lessOrEqual(one, loop.getStep()), "a step of at least 1");
  loop.setStep(max(loop.getStep(), one));
}

//===----------------------------------------------------------------------===//
// The pass
//===----------------------------------------------------------------------===//

LogicalResult Guard::guard() {
  return TypeSwitch<Operation *, LogicalResult>(op)
      .Case<linalg::LinalgOp>([&](auto op) { return guardLinalg(op); })
      .Case<tensor::CastOp>([&](auto op) { return guardCast(op), success(); })
      .Case<tensor::ExpandShapeOp>([&](auto op) { return guardExpand(op), success(); })
      .Case<tensor::CollapseShapeOp>([&](auto op) { return guardCollapse(op), success(); })
      .Case<tensor::ConcatOp>([&](auto op) { return guardConcat(op); })
      .Case<tensor::PadOp>([&](auto op) { return guardPad(op), success(); })
      .Case<tensor::EmptyOp>([&](auto op) { return guardSizes(op.getDynamicSizes()), success(); })
      .Case<tensor::GenerateOp>(
          [&](auto op) { return guardSizes(op.getDynamicExtents()), success(); })
      .Case<tensor::SplatOp>([&](auto op) { return guardSizes(op.getDynamicSizes()), success(); })
      .Case<tensor::ExtractSliceOp>(
          [&](auto op) { return guardSlice(op, op.getSource()), success(); })
      .Case<tensor::InsertSliceOp>([&](auto op) {
        guardInsertSlice(op);
        guardSlice(op, op.getDest());
        return success();
      })
      .Case<tensor::ExtractOp>([&](auto op) { return guardExtract(op), success(); })
      .Case<tensor::InsertOp>([&](auto op) { return guardInsert(op), success(); })
      .Case<tensor::DimOp>([&](auto op) { return guardDim(op); })
      .Case<arith::DivSIOp, arith::RemSIOp, arith::CeilDivSIOp, arith::FloorDivSIOp>(
          [&](auto) { return guardDivision(/*isSigned=*/true), success(); })
      .Case<arith::DivUIOp, arith::RemUIOp, arith::CeilDivUIOp>(
          [&](auto) { return guardDivision(/*isSigned=*/false), success(); })
      .Case<scf::ForOp>([&](auto op) { return guardLoop(op), success(); })
      .Default([](Operation *) { return success(); });
}

namespace {
struct GuardHostCodePass final : kvc::impl::GuardHostCodePassBase<GuardHostCodePass> {
  using Base::Base;
  void runOnOperation() override;
};
} // namespace

void GuardHostCodePass::runOnOperation() {
  for (auto function : getOperation().getOps<func::FuncOp>()) {
    // Assertions of the user are harmless: nothing was said to depend on them.
    SmallVector<Operation *> ops;
    function.walk([&](Operation *op) {
      if (isa<cf::AssertOp>(op))
        op->setAttr(kHarmlessAttr, UnitAttr::get(&getContext()));
      else if (isHostCode(op))
        ops.push_back(op);
    });
    for (Operation *op : ops)
      if (failed(Guard(op).guard()))
        return signalPassFailure();
  }
}
