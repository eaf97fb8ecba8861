//===- Outline.cpp - host code as functions of its own --------------------===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Cuts what a function does around its kvc operations into parts, each a function
// of tensors that upstream passes lower.
//===----------------------------------------------------------------------===//
#include "kvc/Conversion/DefinitionABI.h"
#include "kvc/Conversion/HostCode.h"
#include "kvc/Conversion/Passes.h"
#include "kvc/Dialect/KVC/IR/KVC.h"

#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Transforms/RegionUtils.h"

#define DEBUG_TYPE "kvc-outline-host-code"

namespace kvc {
#define GEN_PASS_DEF_OUTLINEHOSTCODEPASS
#include "kvc/Conversion/Passes.h.inc"
} // namespace kvc

using namespace mlir;
using namespace kvc;

static bool isKVC(Operation *op) { return isa_and_nonnull<KVCDialect>(op->getDialect()); }

/// Makes a batch or cache of arguments: it ends no run.
static bool isForeign(Operation *op) {
  return isa<CacheFromBuffersOp, BatchFromBlockTableOp, BatchFromCSROp>(op);
}

namespace {
/// Operations that follow each other, or none and only values to copy.
struct Run {
  SmallVector<Operation *> ops;
  llvm::SetVector<Value> inputs; ///< Tensors that it needs.
  llvm::SetVector<Value> outputs; ///< Tensors of it, or of `inputs`, that others need.
  Operation *before = nullptr;   ///< What follows it.
};

/// Cuts up one function.
class Outliner {
public:
  Outliner(func::FuncOp function, SymbolTable &symbols) : function(function), symbols(symbols) {}

  /// Checks the function, and moves its runs into `target()`.
  LogicalResult outline(function_ref<ModuleOp()> target);

private:
  LogicalResult check(bool &hasHostCode);
  LogicalResult checkHostCode(Operation *op);
  void findRuns();
  LogicalResult findInputs(Run &run);
  void findOutputs();
  void addCopies();
  void emitPart(Run &run, size_t index, ModuleOp target);
  Value materialize(OpBuilder &b, IRMapping &map, Value value);

  func::FuncOp function;
  SymbolTable &symbols;
  std::vector<Run> runs;
  DenseMap<Operation *, size_t> runOf;
  DenseMap<Value, Value> results; ///< Of calls, for tensors of runs.
};
} // namespace

//===----------------------------------------------------------------------===//
// Checks
//===----------------------------------------------------------------------===//

static bool isHostType(Type type) {
  if (!isa<RankedTensorType>(type) && !type.isIntOrIndexOrFloat())
    return false;
  Type element = getElementTypeOrSelf(type);
  return isa<Float64Type, Float32Type, Float16Type, BFloat16Type, IndexType>(element) ||
         (element.isSignlessInteger() &&
          llvm::is_contained({1, 8, 16, 32, 64}, element.getIntOrFloatBitWidth()));
}

LogicalResult Outliner::checkHostCode(Operation *op) {
  WalkResult result = op->walk([&](Operation *nested) {
    if (isKVC(nested)) {
      InFlightDiagnostic diag =
          nested->emitOpError("expected to be outside of control flow");
      diag.attachNote(op->getLoc()) << "inside of '" << op->getName() << "'";
      return WalkResult::interrupt();
    }
    if (!isHostCode(nested)) {
      nested->emitError("no lowering for operation '") << nested->getName() << "'";
      return WalkResult::interrupt();
    }
    for (Type type : llvm::concat<const Type>(nested->getOperandTypes(), nested->getResultTypes()))
      if (!isHostType(type)) {
        nested->emitOpError("expected ranked tensors and scalars around kvc operations, of f64, "
                            "f32, f16, bf16, i1, i8, i16, i32, i64 or index, got ")
            << type;
        return WalkResult::interrupt();
      }
    return WalkResult::advance();
  });
  return failure(result.wasInterrupted());
}

LogicalResult Outliner::check(bool &hasHostCode) {
  hasHostCode = false;
  // One block is checked where functions become entry points.
  if (!function.getBody().hasOneBlock())
    return success();
  Block &body = function.getBody().front();
  // What another terminator means is checked there, too.
  if (!isa<func::ReturnOp>(body.getTerminator()))
    return success();
  for (Operation &op : body.without_terminator()) {
    if (isKVC(&op))
      continue;
    hasHostCode = true;
    if (failed(checkHostCode(&op)))
      return failure();
  }
  if (!hasHostCode)
    return success();
  for (Value value : body.getTerminator()->getOperands())
    if (!isa<RankedTensorType>(value.getType()))
      return body.getTerminator()->emitOpError("expected tensors as results, got ")
             << value.getType();
  return success();
}

//===----------------------------------------------------------------------===//
// Runs
//===----------------------------------------------------------------------===//

void Outliner::findRuns() {
  bool isOpen = false;
  for (Operation &op : function.getBody().front()) {
    if (isForeign(&op))
      continue;
    if (isKVC(&op) || isa<func::ReturnOp>(op)) {
      if (isOpen)
        runs.back().before = &op;
      isOpen = false;
      continue;
    }
    if (!isOpen)
      runs.emplace_back();
    isOpen = true;
    runs.back().ops.push_back(&op);
    runOf[&op] = runs.size() - 1;
  }
}

/// True for a tensor that is the same wherever it is written down: there is nothing to hand
/// from one part to another.
static bool isRecomputed(Value tensor) {
  if (auto fill = tensor.getDefiningOp<linalg::FillOp>())
    return isRecomputed(fill.getOutputs().front());
  return isa_and_nonnull<tensor::EmptyOp, arith::ConstantOp>(tensor.getDefiningOp());
}

/// Collects the tensors that `run` needs. A scalar is computed again where it is used,
/// so that what it was computed from is needed as well.
LogicalResult Outliner::findInputs(Run &run) {
  size_t index = runOf.lookup(run.ops.front());
  SmallVector<std::pair<Value, Operation *>> worklist;
  llvm::DenseSet<Value> seen;
  auto addOperands = [&](Operation *op) {
    auto add = [&](Value value) {
      if (seen.insert(value).second)
        worklist.push_back({value, op});
    };
    llvm::for_each(op->getOperands(), add);
    SetVector<Value> captured;
    getUsedValuesDefinedAbove(op->getRegions(), captured);
    llvm::for_each(captured, add);
  };
  llvm::for_each(run.ops, addOperands);
  while (!worklist.empty()) {
    auto [value, user] = worklist.pop_back_val();
    Operation *producer = value.getDefiningOp();
    if (producer && runOf.contains(producer) && runOf.lookup(producer) == index)
      continue;
    bool isTensor = isa<RankedTensorType>(value.getType());
    if (isTensor && !isRecomputed(value)) {
      run.inputs.insert(value);
      continue;
    }
    if (!producer)
      return user->emitOpError("expected ranked tensors as arguments, got ") << value.getType();
    if (!isTensor && (!isMemoryEffectFree(producer) || producer->getNumRegions() != 0))
      return user->emitOpError("expected a scalar that can be computed again behind a kvc "
                               "operation, got one of '")
             << producer->getName() << "'";
    addOperands(producer);
  }
  // In the order of the function, not in that of the search.
  SmallVector<Value> sorted = run.inputs.takeVector();
  auto placeOf = [](Value value) {
    if (auto arg = dyn_cast<BlockArgument>(value))
      return std::pair<Operation *, unsigned>(nullptr, arg.getArgNumber());
    auto result = cast<OpResult>(value);
    return std::pair<Operation *, unsigned>(result.getOwner(), result.getResultNumber());
  };
  llvm::sort(sorted, [&](Value a, Value b) {
    auto [opA, numberA] = placeOf(a);
    auto [opB, numberB] = placeOf(b);
    if (opA == opB)
      return numberA < numberB;
    return !opA || (opB && opA->isBeforeInBlock(opB));
  });
  run.inputs.insert(sorted.begin(), sorted.end());
  return success();
}

void Outliner::findOutputs() {
  // Values that somebody outside of the run needs.
  llvm::DenseSet<Value> needed;
  for (Run &run : runs)
    needed.insert(run.inputs.begin(), run.inputs.end());
  for (Run &run : runs)
    for (Operation *op : run.ops)
      for (Value result : op->getResults())
        if (isa<RankedTensorType>(result.getType()) &&
            (needed.contains(result) || llvm::any_of(result.getUsers(), [](Operation *user) {
               return isKVC(user) || isa<func::ReturnOp>(user);
             })))
          run.outputs.insert(result);
}

/// Results that have no memory of their own get a copy, in a last part.
void Outliner::addCopies() {
  Operation *terminator = function.getBody().front().getTerminator();
  llvm::DenseSet<Value> returned;
  for (OpOperand &operand : terminator->getOpOperands()) {
    if (!isa<BlockArgument>(operand.get()) && returned.insert(operand.get()).second)
      continue;
    OpBuilder b(terminator);
    Run run;
    run.before = terminator;
    run.inputs.insert(operand.get());
    run.outputs.insert(operand.get());
    runs.push_back(run);
  }
}

/// True of a run of scalars alone, which are computed where they are used.
static bool isUnneeded(const Run &run) {
  return run.outputs.empty() && llvm::none_of(run.ops, [](Operation *op) {
           return op->walk([](cf::AssertOp) { return WalkResult::interrupt(); })
               .wasInterrupted();
         });
}

//===----------------------------------------------------------------------===//
// Parts
//===----------------------------------------------------------------------===//

/// Computes `value` in a part, unless it is there.
Value Outliner::materialize(OpBuilder &b, IRMapping &map, Value value) {
  if (Value known = map.lookupOrNull(value))
    return known;
  Operation *producer = value.getDefiningOp();
  for (Value operand : producer->getOperands())
    materialize(b, map, operand);
  b.clone(*producer, map);
  return map.lookup(value);
}

void Outliner::emitPart(Run &run, size_t index, ModuleOp target) {
  OpBuilder b = OpBuilder::atBlockEnd(target.getBody());
  Location loc = run.ops.empty() ? run.before->getLoc() : run.ops.front()->getLoc();
  auto typesOf = [](const llvm::SetVector<Value> &values) {
    return llvm::to_vector(ValueRange(values.getArrayRef()).getTypes());
  };
  auto type = FunctionType::get(b.getContext(), typesOf(run.inputs), typesOf(run.outputs));
  std::string name = (function.getName() + ".part" + Twine(index)).str();

  // What is left in the module is a declaration, for the calls.
  OpBuilder outer(function);
  auto declaration = func::FuncOp::create(outer, loc, name, type);
  declaration.setPrivate();
  symbols.insert(declaration);
  auto part = func::FuncOp::create(b, loc, declaration.getName(), type);
  part.setPrivate();
  part->setAttr(kFunctionTypeAttr, TypeAttr::get(type));
  part->setAttr(kFunctionNameAttr, function.getSymNameAttr());

  IRMapping map;
  Block *body = part.addEntryBlock();
  map.map(run.inputs.getArrayRef(), body->getArguments());
  b.setInsertionPointToStart(body);
  for (Operation *op : run.ops) {
    for (Value operand : op->getOperands())
      materialize(b, map, operand);
    SetVector<Value> captured;
    getUsedValuesDefinedAbove(op->getRegions(), captured);
    for (Value value : captured)
      materialize(b, map, value);
    b.clone(*op, map);
  }
  auto mapped = llvm::map_to_vector(run.outputs, [&](Value value) { return map.lookup(value); });
  func::ReturnOp::create(b, loc, mapped);

  outer.setInsertionPoint(run.before);
  auto inputs = llvm::map_to_vector(run.inputs, [&](Value value) {
    Value result = results.lookup(value);
    return result ? result : value;
  });
  auto call = func::CallOp::create(outer, loc, declaration, inputs);
  for (auto [value, result] : llvm::zip(run.outputs, call.getResults())) {
    if (!run.ops.empty()) {
      results[value] = result;
      continue;
    }
    // A copy replaces the last use of the value, as the one before it is not a copy.
    for (OpOperand &operand : llvm::reverse(run.before->getOpOperands()))
      if (operand.get() == value) {
        operand.set(result);
        break;
      }
  }
}

LogicalResult Outliner::outline(function_ref<ModuleOp()> target) {
  bool hasHostCode;
  if (failed(check(hasHostCode)))
    return failure();
  if (!hasHostCode)
    return success();
  findRuns();
  for (Run &run : runs)
    if (failed(findInputs(run)))
      return failure();
  findOutputs();
  addCopies();
  llvm::erase_if(runs, isUnneeded);
  for (auto [index, run] : llvm::enumerate(runs))
    emitPart(run, index, target());
  for (auto [value, result] : results)
    value.replaceAllUsesWith(result);
  SmallVector<Operation *> old;
  for (auto [op, run] : runOf)
    old.push_back(op);
  for (Operation *op : old)
    op->dropAllUses();
  for (Operation *op : old)
    op->erase();
  return success();
}

//===----------------------------------------------------------------------===//
// The pass
//===----------------------------------------------------------------------===//

namespace {
struct OutlineHostCodePass final : kvc::impl::OutlineHostCodePassBase<OutlineHostCodePass> {
  using Base::Base;
  void runOnOperation() override;
};
} // namespace

void OutlineHostCodePass::runOnOperation() {
  ModuleOp module = getOperation();
  for (auto nested : module.getOps<ModuleOp>()) {
    nested.emitOpError("expected no module inside of the module");
    return signalPassFailure();
  }
  SymbolTable symbols(module);
  ModuleOp hostCode;
  auto target = [&] {
    if (!hostCode) {
      OpBuilder b = OpBuilder::atBlockEnd(module.getBody());
      hostCode = ModuleOp::create(b, module.getLoc());
      hostCode->setAttr(kHostCodeAttr, b.getUnitAttr());
    }
    return hostCode;
  };
  SmallVector<func::FuncOp> functions(module.getOps<func::FuncOp>());
  for (func::FuncOp function : functions)
    if (function.isPublic() && !function.isExternal() &&
        failed(Outliner(function, symbols).outline(target)))
      return signalPassFailure();
}
