//===- PlaceBuffers.cpp - buffers of host code in a workspace -------------===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "kvc/Conversion/DefinitionABI.h"
#include "kvc/Conversion/HostCode.h"
#include "kvc/Conversion/IntegerEmitter.h"
#include "kvc/Conversion/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Bufferization/Transforms/BufferViewFlowAnalysis.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/Interfaces/LoopLikeInterface.h"

#define DEBUG_TYPE "kvc-place-buffers"

namespace kvc {
#define GEN_PASS_DEF_PLACEBUFFERSPASS
#include "kvc/Conversion/Passes.h.inc"
} // namespace kvc

using namespace mlir;
using namespace kvc;

namespace {
/// Computes sizes from dimensions: in the function itself, or in that of shapes.
class SizeEmitter {
public:
  SizeEmitter(Location loc, OpBuilder &builder) : b(loc, builder) {}

  /// Takes over what `value` is computed from; its dimensions are `dimOf`'s.
  Value emit(Value value, function_ref<Value(BlockArgument, int64_t)> dimOf);
  /// The offset after a buffer of the type and dynamic sizes at `offset`.
  Value emitEnd(Value offset, MemRefType type, ValueRange sizes);

private:
  ImplicitLocOpBuilder b;
  DenseMap<Value, Value> values;
};

/// Places the buffers of one function.
class Placement {
public:
  Placement(func::FuncOp function, func::FuncOp shapes, bool keepOthers)
      : function(function), shapes(shapes), keepOthers(keepOthers) {}

  LogicalResult place();

private:
  LogicalResult check(memref::AllocOp op, const BufferViewFlowAnalysis &aliases, bool &isPlaced);
  Value dimOfShapes(BlockArgument arg, int64_t dim);

  func::FuncOp function, shapes;
  bool keepOthers;
};
} // namespace

Value SizeEmitter::emit(Value value, function_ref<Value(BlockArgument, int64_t)> dimOf) {
  if (Value known = values.lookup(value))
    return known;
  Operation *op = value.getDefiningOp();
  if (auto dim = dyn_cast<memref::DimOp>(op))
    return values[value] = dimOf(cast<BlockArgument>(dim.getSource()), *dim.getConstantIndex());
  IRMapping map;
  for (Value operand : op->getOperands())
    map.map(operand, emit(operand, dimOf));
  Operation *copy = b.clone(*op, map);
  for (auto [from, to] : llvm::zip(op->getResults(), copy->getResults()))
    values[from] = to;
  return values[value];
}

Value SizeEmitter::emitEnd(Value offset, MemRefType type, ValueRange sizes) {
  int64_t bytes = type.getElementType().isIndex() ? 8 : getByteWidth(type.getElementType());
  Value size = arith::ConstantIndexOp::create(b, bytes);
  auto dynamic = sizes.begin();
  for (int64_t dim : type.getShape()) {
    Value extent = ShapedType::isDynamic(dim) ? *dynamic++
                                              : Value(arith::ConstantIndexOp::create(b, dim));
    size = arith::MulIOp::create(b, size, extent);
  }
  Value padding = arith::ConstantIndexOp::create(b, kWorkspaceAlignment - 1);
  Value mask = arith::ConstantIndexOp::create(b, -kWorkspaceAlignment);
  size = arith::AndIOp::create(b, arith::AddIOp::create(b, size, padding), mask);
  return arith::AddIOp::create(b, offset, size);
}

/// Tells whether a buffer can be placed; an error if it has to be and cannot.
LogicalResult Placement::check(memref::AllocOp op, const BufferViewFlowAnalysis &aliases,
                               bool &isPlaced) {
  isPlaced = false;
  auto refuse = [&](const Twine &what) -> LogicalResult {
    if (keepOthers)
      return success();
    return op.emitError(what) << ", got " << op.getType();
  };
  if (!op.getType().getLayout().isIdentity() || op.getType().getMemorySpace())
    return refuse("expected a contiguous buffer in the workspace");
  if (!llvm::all_of(op.getDynamicSizes(), followsFromShapes))
    return refuse("expected the sizes of a tensor in the workspace to follow from the shapes of "
                  "arguments");
  // One place serves all iterations of a loop, unless two are in use at once.
  for (auto loop = op->getParentOfType<LoopLikeOpInterface>(); loop;
       loop = loop->getParentOfType<LoopLikeOpInterface>())
    for (Value alias : aliases.resolve(op.getMemref()))
      if (alias.getDefiningOp() == loop ||
          (isa<BlockArgument>(alias) && alias.getParentRegion()->getParentOp() == loop))
        return refuse("expected a tensor of the workspace that is not handed from one iteration "
                      "of a loop to the next");
  isPlaced = true;
  return success();
}

/// The argument of `shapes` that is dimension `dim` of `arg` of the function.
Value Placement::dimOfShapes(BlockArgument arg, int64_t dim) {
  auto type = cast<FunctionType>(
      function->getAttrOfType<TypeAttr>(kFunctionTypeAttr).getValue());
  unsigned place = 0, found = 0;
  forEachDynamicDim(type.getInputs(), [&](unsigned index, int64_t other) {
    if (getFirstValue(type.getInputs(), index) == arg.getArgNumber() && other == dim)
      found = place;
    ++place;
  });
  return shapes.getArgument(found);
}

LogicalResult Placement::place() {
  Location loc = function.getLoc();
  SmallVector<memref::AllocOp> buffers;
  BufferViewFlowAnalysis aliases(function);
  WalkResult result = function.walk([&](memref::AllocOp op) {
    bool isPlaced;
    if (failed(check(op, aliases, isPlaced)))
      return WalkResult::interrupt();
    if (isPlaced)
      buffers.push_back(op);
    return WalkResult::advance();
  });
  if (result.wasInterrupted())
    return failure();

  OpBuilder b(function.getBody());
  auto workspaceType = MemRefType::get(ShapedType::kDynamic, b.getI8Type());
  if (failed(function.insertArgument(function.getNumArguments(), workspaceType, {}, loc)))
    return failure();
  Value workspace = function.getArguments().back();
  OpBuilder outside(shapes.getBody().front().getTerminator());
  SizeEmitter inner(loc, b), outer(loc, outside);
  Value innerEnd = arith::ConstantIndexOp::create(b, loc, 0);
  Value outerEnd = arith::ConstantIndexOp::create(outside, loc, 0);
  for (memref::AllocOp op : buffers) {
    auto innerSizes = llvm::map_to_vector(op.getDynamicSizes(), [&](Value size) {
      return inner.emit(size, [&](BlockArgument arg, int64_t dim) -> Value {
        return memref::DimOp::create(b, loc, arg, dim);
      });
    });
    auto outerSizes = llvm::map_to_vector(op.getDynamicSizes(), [&](Value size) {
      return outer.emit(size,
                        [&](BlockArgument arg, int64_t dim) { return dimOfShapes(arg, dim); });
    });
    Value view = memref::ViewOp::create(b, loc, op.getType(), workspace, innerEnd, innerSizes);
    innerEnd = inner.emitEnd(innerEnd, op.getType(), innerSizes);
    outerEnd = outer.emitEnd(outerEnd, op.getType(), outerSizes);
    op.replaceAllUsesWith(view);
    op.erase();
  }
  Operation *terminator = shapes.getBody().front().getTerminator();
  terminator->insertOperands(terminator->getNumOperands(), outerEnd);
  shapes.setFunctionType(b.getFunctionType(shapes.getArgumentTypes(), terminator->getOperandTypes()));
  return success();
}

namespace {
struct PlaceBuffersPass final : kvc::impl::PlaceBuffersPassBase<PlaceBuffersPass> {
  using Base::Base;
  void runOnOperation() override;
};
} // namespace

void PlaceBuffersPass::runOnOperation() {
  SymbolTable symbols(getOperation());
  for (auto function : getOperation().getOps<func::FuncOp>()) {
    auto name = function->getAttrOfType<FlatSymbolRefAttr>(kShapesAttr);
    if (!name)
      continue;
    auto shapes = symbols.lookup<func::FuncOp>(name.getValue());
    if (!shapes || shapes.isExternal() || !function->hasAttr(kFunctionTypeAttr)) {
      function.emitOpError("expected a function of shapes, found none");
      return signalPassFailure();
    }
    if (failed(Placement(function, shapes, keepOthers).place()))
      return signalPassFailure();
  }
}
