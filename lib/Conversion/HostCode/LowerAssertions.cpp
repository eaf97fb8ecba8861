//===- LowerAssertions.cpp - broken assertions, reported to the caller ----===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "kvc/Conversion/HostCode.h"
#include "kvc/Conversion/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

#define DEBUG_TYPE "kvc-lower-assertions"

namespace kvc {
#define GEN_PASS_DEF_LOWERASSERTIONSPASS
#include "kvc/Conversion/Passes.h.inc"
} // namespace kvc

using namespace mlir;
using namespace kvc;

static Value createI32(OpBuilder &b, Location loc, int64_t value) {
  return arith::ConstantOp::create(b, loc, b.getI32IntegerAttr(value));
}

namespace {
/// The conditions of a function and their numbers, from 1.
class Conditions {
public:
  int64_t add(StringRef text) {
    auto [it, isNew] = numbers.try_emplace(text, numbers.size() + 1);
    if (isNew)
      texts.push_back(text.str());
    return it->second;
  }
  void setOn(Operation *op) const {
    Builder b(op->getContext());
    SmallVector<StringRef> refs(texts.begin(), texts.end());
    op->setAttr(kConditionsAttr, b.getStrArrayAttr(refs));
  }

private:
  llvm::StringMap<int64_t> numbers;
  std::vector<std::string> texts;
};
} // namespace

/// Returns whether the result of `op` fits into 64 bits; nothing if it always does.
static Value emitFits(Operation *op) {
  if (!isa<arith::AddIOp, arith::MulIOp, arith::SubIOp>(op) ||
      !op->getResult(0).getType().isIndex())
    return {};
  ImplicitLocOpBuilder b(op->getLoc(), op->getContext());
  b.setInsertionPointAfter(op);
  // index has no operations with overflow.
  auto wide = [&](Value value) -> Value {
    return arith::IndexCastOp::create(b, b.getI64Type(), value);
  };
  if (isa<arith::MulIOp>(op)) {
    auto product =
        arith::MulSIExtendedOp::create(b, wide(op->getOperand(0)), wide(op->getOperand(1)));
    Value shift = arith::ConstantOp::create(b, b.getI64IntegerAttr(63));
    Value sign = arith::ShRSIOp::create(b, product.getLow(), shift);
    return arith::CmpIOp::create(b, arith::CmpIPredicate::eq, product.getHigh(), sign);
  }
  // A sum overflowed if its sign differs from that of both summands; lhs - rhs = result
  // is lhs = result + rhs.
  bool isSum = isa<arith::AddIOp>(op);
  Value lhs = wide(op->getOperand(0)), rhs = wide(op->getOperand(1));
  Value result = wide(op->getResult(0));
  Value sum = isSum ? result : lhs, summand = isSum ? lhs : result;
  Value differs = arith::AndIOp::create(b, arith::XOrIOp::create(b, sum, summand),
                                        arith::XOrIOp::create(b, sum, rhs));
  Value zero = arith::ConstantOp::create(b, b.getI64IntegerAttr(0));
  return arith::CmpIOp::create(b, arith::CmpIPredicate::sge, differs, zero);
}

/// Returns the number of the first broken condition before the other results.
static void lowerShapes(func::FuncOp shapes) {
  Conditions conditions;
  Block &body = shapes.getBody().front();
  Location loc = shapes.getLoc();
  OpBuilder b = OpBuilder::atBlockBegin(&body);
  Value broken = createI32(b, loc, 0);
  Value zero = broken;
  // Behind `place`, as a condition may have been computed long before.
  auto addCondition = [&](Operation *place, Value holds, StringRef text) {
    b.setInsertionPointAfter(place);
    Value number = createI32(b, loc, conditions.add(text));
    Value isFirst = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq, broken, zero);
    Value next = arith::SelectOp::create(b, loc, holds, broken, number);
    broken = arith::SelectOp::create(b, loc, isFirst, next, broken);
  };
  SmallVector<Operation *> ops = llvm::map_to_vector(body, [](Operation &op) { return &op; });
  for (Operation *op : ops) {
    if (Value fits = emitFits(op))
      addCondition(fits.getDefiningOp(), fits, "expected sizes whose products fit into 64 bits");
    if (auto assertion = dyn_cast<cf::AssertOp>(op)) {
      addCondition(op, assertion.getArg(), assertion.getMsg());
      assertion.erase();
    }
  }
  Operation *terminator = body.getTerminator();
  terminator->insertOperands(0, broken);
  shapes.setFunctionType(
      b.getFunctionType(shapes.getArgumentTypes(), terminator->getOperandTypes()));
  conditions.setOn(shapes);
}

/// Stores the number of a broken condition where a new last argument says.
static LogicalResult lowerFunction(func::FuncOp function) {
  Conditions conditions;
  OpBuilder b(function.getContext());
  auto faultType = MemRefType::get({}, b.getI32Type());
  if (failed(function.insertArgument(function.getNumArguments(), faultType, {},
                                     function.getLoc())))
    return failure();
  Value fault = function.getArguments().back();
  SmallVector<cf::AssertOp> assertions;
  function.walk([&](cf::AssertOp op) { assertions.push_back(op); });
  for (cf::AssertOp op : assertions) {
    b.setInsertionPoint(op);
    Location loc = op.getLoc();
    Value isBroken = arith::XOrIOp::create(
        b, loc, op.getArg(), arith::ConstantOp::create(b, loc, b.getBoolAttr(true)));
    int64_t number = conditions.add(op.getMsg());
    scf::IfOp::create(b, loc, isBroken, [&](OpBuilder &b, Location loc) {
      memref::StoreOp::create(b, loc, createI32(b, loc, number), fault, ValueRange());
      scf::YieldOp::create(b, loc);
    });
    op.erase();
  }
  conditions.setOn(function);
  return success();
}

namespace {
struct LowerAssertionsPass final : kvc::impl::LowerAssertionsPassBase<LowerAssertionsPass> {
  using Base::Base;
  void runOnOperation() override;
};
} // namespace

void LowerAssertionsPass::runOnOperation() {
  SymbolTable symbols(getOperation());
  for (auto function : getOperation().getOps<func::FuncOp>()) {
    auto name = function->getAttrOfType<FlatSymbolRefAttr>(kShapesAttr);
    if (!name)
      continue;
    auto shapes = symbols.lookup<func::FuncOp>(name.getValue());
    if (!shapes || shapes.isExternal() || !shapes.getBody().hasOneBlock()) {
      function.emitOpError("expected a function of shapes of one block, found none");
      return signalPassFailure();
    }
    lowerShapes(shapes);
    if (failed(lowerFunction(function)))
      return signalPassFailure();
  }
}
