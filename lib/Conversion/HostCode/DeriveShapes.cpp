//===- DeriveShapes.cpp - sizes of results from those of arguments --------===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Copies a function, asks for the dimensions of its results alone, and lets upstream's
// patterns trace them to those of the arguments.
//===----------------------------------------------------------------------===//
#include "Patterns.h"

#include "kvc/Conversion/DefinitionABI.h"
#include "kvc/Conversion/HostCode.h"
#include "kvc/Conversion/Passes.h"
#include "kvc/Dialect/KVC/IR/KVC.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/MemRef/Transforms/Transforms.h"
#include "mlir/Dialect/SCF/Transforms/Patterns.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Dominance.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Transforms/CSE.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include "llvm/ADT/EquivalenceClasses.h"

#define DEBUG_TYPE "kvc-derive-shapes"

namespace kvc {
#define GEN_PASS_DEF_DERIVESHAPESPASS
#include "kvc/Conversion/Passes.h.inc"
} // namespace kvc

using namespace mlir;
using namespace kvc;

/// Attribute that ties an assertion to its copy.
static constexpr StringLiteral kNumberAttr = "kvc.number";

namespace {
/// Derives the function of shapes of one function.
class ShapeDerivation {
public:
  ShapeDerivation(func::FuncOp function, SymbolTable &symbols,
                  const FrozenRewritePatternSet &patterns)
      : function(function), symbols(symbols), patterns(patterns) {}

  LogicalResult derive();

private:
  void numberAssertions();
  void copy();
  void addTokens();
  void dropReferences();
  void dropOperation(Operation *op);
  Value getTokens(Value batch);
  void askForDims();
  LogicalResult trace();
  void hoistAssertions();
  LogicalResult takeAssertions();
  LogicalResult checkDims();
  void dropValues();
  void takeDims();
  void findTokenRows();

  func::FuncOp function;
  SymbolTable &symbols;
  const FrozenRewritePatternSet &patterns;
  func::FuncOp shapes;
  DenseMap<Value, Value> tokens; ///< Of batches.
  SmallVector<cf::AssertOp> assertions; ///< Of the function, by number.
};
} // namespace

static int64_t getNumber(cf::AssertOp op) {
  return op->getAttrOfType<IntegerAttr>(kNumberAttr).getInt();
}

void ShapeDerivation::numberAssertions() {
  Builder b(function.getContext());
  function.walk([&](cf::AssertOp op) {
    op->setAttr(kNumberAttr, b.getI64IntegerAttr(assertions.size()));
    assertions.push_back(op);
  });
}

void ShapeDerivation::copy() {
  OpBuilder b(function);
  b.setInsertionPointAfter(function);
  shapes = func::FuncOp::create(b, function.getLoc(), (function.getName() + ".shapes").str(),
                                function.getFunctionType());
  IRMapping map;
  function.getBody().cloneInto(&shapes.getBody(), map);
  shapes.setPrivate();
  symbols.insert(shapes);
  function->setAttr(kShapesAttr, FlatSymbolRefAttr::get(shapes));
}

/// Stands an index for the number of new tokens of each batch argument.
void ShapeDerivation::addTokens() {
  Block &body = shapes.getBody().front();
  for (BlockArgument arg : llvm::to_vector(body.getArguments()))
    if (isa<BatchType>(arg.getType()))
      tokens[arg] = body.addArgument(IndexType::get(arg.getContext()), arg.getLoc());
}

/// The number of new tokens of a batch that dominates the builder.
Value ShapeDerivation::getTokens(Value batch) {
  if (Value known = tokens.lookup(batch))
    return known;
  Operation *op = batch.getDefiningOp();
  Value positions;
  if (auto csr = dyn_cast_or_null<BatchFromCSROp>(op))
    positions = csr.getPositions();
  else if (auto padded = dyn_cast_or_null<BatchFromBlockTableOp>(op))
    positions = padded.getPositions();
  if (!positions)
    return {};
  OpBuilder b(op);
  return tokens[batch] = tensor::DimOp::create(b, op->getLoc(), positions, 0);
}

/// True of a tensor with a row for each token: what all heads and tokens share has
/// one dimension.
static bool hasRows(Value value) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  return type && type.getRank() > 1;
}

/// Replaces a kvc operation by the shapes of its results: all have the rows of its first
/// tensor, and those are the tokens of its batch.
void ShapeDerivation::dropOperation(Operation *op) {
  OpBuilder b(op);
  Location loc = op->getLoc();
  SmallVector<Value> rows = llvm::filter_to_vector(op->getOperands(), hasRows);
  Value count;
  for (Value operand : op->getOperands())
    if (isa<BatchType>(operand.getType()))
      count = getTokens(operand);
  auto rowsOf = [&](Value tensor) { return tensor::DimOp::create(b, loc, tensor, 0); };
  SmallVector<Value> counts = llvm::map_to_vector(rows, [&](Value tensor) -> Value {
    return rowsOf(tensor);
  });
  if (!count && !counts.empty())
    count = counts.front();
  Value same;
  for (Value other : counts) {
    Value equal = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq, other, count);
    same = same ? arith::AndIOp::create(b, loc, same, equal).getResult() : equal;
  }
  if (same) {
    auto assertion = cf::AssertOp::create(
        b, loc, same,
        ("expected the tensors of '" + op->getName().getStringRef() +
         "' to have as many rows as the batch has new tokens")
            .str());
    assertion->setAttr(kNumberAttr, b.getI64IntegerAttr(-1));
  }
  for (Value result : op->getResults()) {
    auto type = dyn_cast<RankedTensorType>(result.getType());
    if (!type)
      continue;
    SmallVector<Value> dynamic;
    if (type.getRank() > 0 && type.isDynamicDim(0))
      dynamic.push_back(counts.front());
    result.replaceAllUsesWith(tensor::EmptyOp::create(b, loc, type, dynamic));
  }
}

/// Leaves of kvc operations what they have to do with shapes.
void ShapeDerivation::dropReferences() {
  SmallVector<Operation *> ops;
  shapes.walk([&](Operation *op) {
    if (isa_and_nonnull<KVCDialect>(op->getDialect()))
      ops.push_back(op);
  });
  auto isForeign = [](Operation *op) {
    return isa<CacheFromBuffersOp, BatchFromBlockTableOp, BatchFromCSROp>(op);
  };
  for (Operation *op : ops)
    if (!isForeign(op))
      dropOperation(op);
  for (Operation *op : llvm::reverse(ops)) {
    op->dropAllUses();
    op->erase();
  }
}

/// Returns dimensions in place of tensors.
void ShapeDerivation::askForDims() {
  auto terminator = cast<func::ReturnOp>(shapes.getBody().front().getTerminator());
  OpBuilder b(terminator);
  SmallVector<Value> dims;
  forEachDynamicDim(terminator.getOperandTypes(), [&](unsigned index, int64_t dim) {
    dims.push_back(tensor::DimOp::create(b, terminator.getLoc(), terminator.getOperand(index), dim));
  });
  terminator->setOperands(dims);
  shapes.setFunctionType(
      b.getFunctionType(shapes.getArgumentTypes(), ValueRange(dims).getTypes()));
}

/// Traces dimensions back as far as upstream's patterns can.
LogicalResult ShapeDerivation::trace() {
  DominanceInfo dominance;
  IRRewriter rewriter(shapes.getContext());
  // Equal dimensions have to be the same value before comparisons of them fold.
  for (int i = 0; i < 2; ++i) {
    (void)applyPatternsGreedily(shapes, patterns);
    eliminateCommonSubExpressions(rewriter, dominance, shapes);
  }
  return applyPatternsGreedily(shapes, patterns);
}

/// Moves assertions out of control flow whose conditions do not depend on it.
void ShapeDerivation::hoistAssertions() {
  Block &body = shapes.getBody().front();
  SmallVector<cf::AssertOp> nested;
  shapes.walk([&](cf::AssertOp op) {
    if (op->getBlock() != &body)
      nested.push_back(op);
  });
  for (cf::AssertOp op : nested) {
    // What the condition takes, each behind what it takes itself.
    llvm::SetVector<Operation *> slice;
    bool canMove = true;
    std::function<void(Value)> add = [&](Value value) {
      Operation *producer = value.getDefiningOp();
      if (!producer)
        canMove &= value.getParentBlock() == &body;
      if (!producer || producer->getBlock() == &body || slice.contains(producer))
        return;
      canMove &= isMemoryEffectFree(producer) && producer->getNumRegions() == 0;
      if (!canMove)
        return;
      llvm::for_each(producer->getOperands(), add);
      slice.insert(producer);
    };
    add(op.getArg());
    if (!canMove)
      continue;
    Operation *place = body.findAncestorOpInBlock(*op);
    for (Operation *producer : slice)
      producer->moveBefore(place);
    op->moveBefore(place);
  }
}

/// Settles who checks each assertion: the function of shapes, or the function itself.
LogicalResult ShapeDerivation::takeAssertions() {
  llvm::BitVector isOpen(assertions.size());
  WalkResult result = shapes.walk([&](cf::AssertOp op) {
    if (op->getBlock() == &shapes.getBody().front() && followsFromShapes(op.getArg()))
      return WalkResult::advance();
    if (!op->hasAttr(kHarmlessAttr)) {
      op.emitError("sizes that depend on values are not supported here: ") << op.getMsg();
      return WalkResult::interrupt();
    }
    isOpen.set(getNumber(op));
    return WalkResult::advance();
  });
  if (result.wasInterrupted())
    return failure();
  for (auto [number, assertion] : llvm::enumerate(assertions)) {
    assertion->removeAttr(kNumberAttr);
    if (!isOpen.test(number))
      assertion.erase();
  }
  return success();
}

LogicalResult ShapeDerivation::checkDims() {
  auto terminator = cast<func::ReturnOp>(shapes.getBody().front().getTerminator());
  LogicalResult result = success();
  unsigned place = 0;
  forEachDynamicDim(function.getResultTypes(), [&](unsigned index, int64_t dim) {
    Value size = terminator.getOperand(place++);
    if (failed(result) || followsFromShapes(size))
      return;
    Location loc = size.getDefiningOp() ? size.getDefiningOp()->getLoc() : function.getLoc();
    result = emitError(loc) << "expected the size of dimension " << dim << " of result "
                            << index << " of host code of '" << function.getName()
                            << "' to follow from the shapes of arguments";
  });
  return result;
}

/// Leaves what computes dimensions and conditions.
void ShapeDerivation::dropValues() {
  Block &body = shapes.getBody().front();
  llvm::DenseSet<Operation *> needed;
  for (Operation &op : llvm::reverse(body)) {
    bool isRoot = isa<func::ReturnOp>(op) ||
                  (isa<cf::AssertOp>(op) && followsFromShapes(op.getOperand(0)));
    if (isRoot || needed.contains(&op))
      for (Value operand : op.getOperands())
        if (Operation *producer = operand.getDefiningOp())
          needed.insert(producer);
    if (isRoot)
      needed.insert(&op);
  }
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(body)))
    if (!needed.contains(&op)) {
      op.dropAllUses();
      op.erase();
    }
  body.walk([&](cf::AssertOp op) {
    op->removeAttr(kNumberAttr);
    op->removeAttr(kHarmlessAttr);
  });
}

/// Takes dimensions in place of tensors.
void ShapeDerivation::takeDims() {
  Block &body = shapes.getBody().front();
  OpBuilder b = OpBuilder::atBlockBegin(&body);
  unsigned numOld = body.getNumArguments();
  DenseMap<std::pair<unsigned, int64_t>, Value> dims;
  forEachDynamicDim(function.getArgumentTypes(), [&](unsigned index, int64_t dim) {
    Value size = body.addArgument(b.getIndexType(), function.getLoc());
    dims[{index, dim}] = size;
    if (Value count = tokens.lookup(body.getArgument(index)))
      count.replaceAllUsesWith(size);
  });
  SmallVector<tensor::DimOp> reads(body.getOps<tensor::DimOp>());
  for (tensor::DimOp read : reads) {
    unsigned index = cast<BlockArgument>(read.getSource()).getArgNumber();
    read.replaceAllUsesWith(dims.lookup({index, *read.getConstantIndex()}));
    read.erase();
  }
  body.eraseArguments(0, numOld);
  SmallVector<int64_t> sources;
  for (Value size : body.getTerminator()->getOperands()) {
    auto arg = dyn_cast<BlockArgument>(size);
    sources.push_back(arg ? int64_t{arg.getArgNumber()} : -1);
  }
  function->setAttr(kDimSourcesAttr, b.getDenseI64ArrayAttr(sources));
  shapes.setFunctionType(b.getFunctionType(body.getArgumentTypes(), shapes.getResultTypes()));
}

/// Records which arguments and results have a row for each token of the one batch: their
/// number is asserted to be equal.
void ShapeDerivation::findTokenRows() {
  if (llvm::count_if(function.getArgumentTypes(), llvm::IsaPred<BatchType>) != 1)
    return;
  llvm::EquivalenceClasses<Value> classes;
  std::function<void(Value)> addEqual = [&](Value condition) {
    if (auto both = condition.getDefiningOp<arith::AndIOp>()) {
      addEqual(both.getLhs());
      addEqual(both.getRhs());
    }
    if (auto compare = condition.getDefiningOp<arith::CmpIOp>();
        compare && compare.getPredicate() == arith::CmpIPredicate::eq)
      classes.unionSets(compare.getLhs(), compare.getRhs());
  };
  Block &body = shapes.getBody().front();
  for (auto assertion : body.getOps<cf::AssertOp>())
    addEqual(assertion.getArg());
  Value count;
  DenseMap<unsigned, Value> rowsOfArgument, rowsOfResult;
  unsigned place = 0;
  forEachDynamicDim(function.getArgumentTypes(), [&](unsigned index, int64_t dim) {
    Value size = body.getArgument(place++);
    if (isa<BatchType>(function.getArgument(index).getType()))
      count = size;
    else if (dim == 0)
      rowsOfArgument[index] = size;
  });
  place = 0;
  forEachDynamicDim(function.getResultTypes(), [&](unsigned index, int64_t dim) {
    Value size = body.getTerminator()->getOperand(place++);
    if (dim == 0)
      rowsOfResult[index] = size;
  });
  SmallVector<bool> tokenRows;
  auto add = [&](Value rows) {
    tokenRows.push_back(rows && (rows == count || classes.isEquivalent(rows, count)));
  };
  for (unsigned i = 0; i < function.getNumArguments(); ++i)
    add(rowsOfArgument.lookup(i));
  for (unsigned i = 0; i < function.getNumResults(); ++i)
    add(rowsOfResult.lookup(i));
  function->setAttr(kTokenRowsAttr,
                    DenseBoolArrayAttr::get(function.getContext(), tokenRows));
}

LogicalResult ShapeDerivation::derive() {
  numberAssertions();
  copy();
  addTokens();
  dropReferences();
  askForDims();
  if (failed(trace()))
    return function.emitOpError("expected its sizes to be computed in a bounded time");
  hoistAssertions();
  if (failed(takeAssertions()) || failed(checkDims()))
    return failure();
  dropValues();
  takeDims();
  findTokenRows();
  return success();
}

namespace {
struct DeriveShapesPass final : kvc::impl::DeriveShapesPassBase<DeriveShapesPass> {
  using Base::Base;
  LogicalResult initialize(MLIRContext *context) override;
  void runOnOperation() override;

private:
  FrozenRewritePatternSet patterns;
};
} // namespace

LogicalResult DeriveShapesPass::initialize(MLIRContext *context) {
  RewritePatternSet all(context);
  memref::populateResolveRankedShapedTypeResultDimsPatterns(all);
  memref::populateResolveShapedTypeResultDimsPatterns(all);
  scf::populateSCFForLoopCanonicalizationPatterns(all);
  populateLoopDimPatterns(all);
  for (Dialect *dialect : context->getLoadedDialects())
    dialect->getCanonicalizationPatterns(all);
  for (RegisteredOperationName op : context->getRegisteredOperations())
    op.getCanonicalizationPatterns(all, context);
  patterns = FrozenRewritePatternSet(std::move(all));
  return success();
}

void DeriveShapesPass::runOnOperation() {
  SymbolTable symbols(getOperation());
  SmallVector<func::FuncOp> functions(getOperation().getOps<func::FuncOp>());
  for (func::FuncOp function : functions) {
    bool isWanted = function.isPublic() || function->hasAttr(kFunctionTypeAttr);
    if (isWanted && !function.isExternal() && function.getBody().hasOneBlock() &&
        failed(ShapeDerivation(function, symbols, patterns).derive()))
      return signalPassFailure();
  }
}
