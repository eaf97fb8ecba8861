//===- HostEntries.cpp - needs and run of a function ----------------------===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "kvc/Conversion/HostEntries.h"

#include "kvc/Dialect/KVC/IR/KVC.h"

using namespace mlir;

namespace kvc {

HostEntries::HostEntries(func::FuncOp function, int64_t index, SymbolTable &symbols)
    : function(function), index(index), symbols(symbols), b(function.getContext()),
      ints(b, function.getLoc()), abi(b, function.getLoc()) {}

//===----------------------------------------------------------------------===//
// Checks
//===----------------------------------------------------------------------===//

/// Checks that each result has memory of its own to be computed into.
static LogicalResult checkReturn(func::ReturnOp op) {
  llvm::DenseSet<Value> returned;
  for (Value value : op.getOperands()) {
    if (isa<BlockArgument>(value))
      return op.emitOpError("expected results that the function computes, got an argument: "
                            "it would need a copy");
    if (!isa<RankedTensorType>(value.getType()))
      return op.emitOpError("expected tensors as results, got ") << value.getType();
    if (!returned.insert(value).second)
      return op.emitOpError("expected different values as results, got one twice: the "
                            "second would need a copy");
  }
  return success();
}

LogicalResult HostEntries::checkFunction() {
  if (function.getName().contains('\0'))
    return function.emitOpError("expected a name without NUL, got ")
           << static_cast<Attribute>(function.getSymNameAttr());
  if (!function.getBody().hasOneBlock())
    return function.emitOpError("expected one block, got ")
           << llvm::range_size(function.getBody());
  // Another end is one of the operations that the conversion refuses.
  auto op = dyn_cast<func::ReturnOp>(function.getBody().front().getTerminator());
  return op ? checkReturn(op) : success();
}

//===----------------------------------------------------------------------===//
// The entry points
//===----------------------------------------------------------------------===//

LLVM::LLVMFuncOp HostEntries::createEntry(StringRef name) {
  SmallVector<Type> arguments(3, ints.ptrType());
  auto type = LLVM::LLVMFunctionType::get(ints.i32Type(), arguments);
  b.setInsertionPointAfter(function);
  auto entry =
      LLVM::LLVMFuncOp::create(b, ints.loc, (function.getName() + "." + name).str(), type,
                               LLVM::Linkage::Internal);
  symbols.insert(entry); // which finds another name if this one is taken
  return entry;
}

LLVM::LLVMFuncOp HostEntries::startEntry(StringRef name) {
  LLVM::LLVMFuncOp entry = createEntry(name);
  Block *body = entry.addEntryBlock(b);
  failureBlock = b.createBlock(&entry.getBody(), {}, {ints.i32Type()}, {ints.loc});
  LLVM::ReturnOp::create(b, ints.loc, failureBlock->getArgument(0));
  b.setInsertionPointToStart(body);
  rt = entry.getArgument(0);
  return entry;
}

HostEntries::Sizes HostEntries::startNeeds() {
  needs = startEntry("needs");
  Value bounds = needs.getArgument(1);
  auto bound = [&](int64_t offset) { return abi.loadI32(bounds, offset); };
  Sizes sizes{bound(offsetof(kvc_bounds_t, max_sequences)),
              bound(offsetof(kvc_bounds_t, max_tokens)),
              bound(offsetof(kvc_bounds_t, max_kv_len)),
              bound(offsetof(kvc_bounds_t, num_workers))};
  Value smallest = ints.min(ints.min(sizes.sequences, sizes.tokens),
                            ints.min(sizes.kvLen, ints.sub(sizes.workers, ints.i32(1))));
  failUnless(ints.lessOrEqual(ints.i32(0), smallest), KVC_STATUS_INVALID_ARGUMENT,
             "expected bounds of at least 0 and at least 1 worker");
  return sizes;
}

void HostEntries::finishNeeds(Value workspaceBytes) {
  abi.store(workspaceBytes, needs.getArgument(2), offsetof(kvc_needs_t, workspace_size));
  LLVM::ReturnOp::create(b, ints.loc, ints.i32(KVC_STATUS_OK));
}

void HostEntries::startRun() {
  run = startEntry("run");
  stream = run.getArgument(1);
  call = run.getArgument(2);
  // The frame is in a block of its own, so that it can grow from anywhere.
  Block *entry = b.getInsertionBlock();
  Block *body = b.createBlock(failureBlock);
  b.setInsertionPointToEnd(entry);
  LLVM::BrOp::create(b, ints.loc, ValueRange(), body);
  b.setInsertionPointToStart(body);

  if (!symbols.lookup(kProgramSymbol)) {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(function->getParentOfType<ModuleOp>().getBody());
    symbols.insert(LLVM::LLVMFuncOp::create(
        b, ints.loc, kProgramSymbol, LLVM::LLVMFunctionType::get(ints.ptrType(), {})));
  }
  program =
      LLVM::CallOp::create(b, ints.loc, TypeRange{ints.ptrType()}, kProgramSymbol, ValueRange())
          .getResult();
  returnIfFailed(abi.callTable(rt, offsetof(kvc_rt_api_t, check_call), ints.i32Type(),
                               {program, ints.i32(index), call}));

  for (BlockArgument argument : function.getArguments())
    values[argument] = abi.loadArg(call, argument.getArgNumber());
  for (OpOperand &result : function.getBody().front().getTerminator()->getOpOperands())
    values[result.get()] =
        abi.loadArg(call, function.getNumArguments() + result.getOperandNumber());
}

void HostEntries::finishRun() {
  LLVM::ReturnOp::create(b, ints.loc, ints.i32(KVC_STATUS_OK));
}

void HostEntries::addToProgram(int32_t maxQueryLen, ArrayRef<int32_t> alignments) {
  ProgramFunction result;
  result.name = function.getName();
  result.type = function.getFunctionType();
  result.needs = needs.getName();
  result.run = run.getName();
  SmallVector<bool> tokenRows;
  if (shapesEntry) {
    result.shapes = shapesEntry.getName();
    tokenRows = findTokenRows();
    result.tokenRows = tokenRows;
  }
  result.maxQueryLen = maxQueryLen;
  result.alignments = alignments;
  addProgramFunction(function->getParentOfType<ModuleOp>(), result);
}

//===----------------------------------------------------------------------===//
// Control flow
//===----------------------------------------------------------------------===//

void HostEntries::returnIfFailed(Value status) {
  Block *next = b.createBlock(failureBlock);
  b.setInsertionPointToEnd(status.getParentBlock());
  LLVM::CondBrOp::create(b, ints.loc, ints.equal(status, ints.i32(KVC_STATUS_OK)), next,
                         ValueRange(), failureBlock, ValueRange(status));
  b.setInsertionPointToStart(next);
}

void HostEntries::failUnless(Value condition, kvc_status_t status, const Twine &message) {
  ModuleOp module = function->getParentOfType<ModuleOp>();
  Block *next = b.createBlock(failureBlock);
  Block *failed = b.createBlock(failureBlock);
  b.setInsertionPointToEnd(condition.getParentBlock());
  LLVM::CondBrOp::create(b, ints.loc, condition, next, failed);
  b.setInsertionPointToStart(failed);
  std::string text = ("in '" + function.getName() + "': " + message).str();
  text.push_back('\0');
  LLVM::GlobalOp global;
  {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(module.getBody());
    auto type = LLVM::LLVMArrayType::get(b.getI8Type(), text.size());
    global = LLVM::GlobalOp::create(b, ints.loc, type, /*isConstant=*/true,
                                    LLVM::Linkage::Internal, "kvc.message",
                                    b.getStringAttr(text));
    symbols.insert(global);
  }
  Value address = LLVM::AddressOfOp::create(b, ints.loc, global);
  Value result = abi.callTable(rt, offsetof(kvc_rt_api_t, fail), ints.i32Type(),
                               {ints.i32(status), address});
  LLVM::BrOp::create(b, ints.loc, ValueRange(result), failureBlock);
  b.setInsertionPointToStart(next);
}

void HostEntries::checkTokens(Operation *op, ArrayRef<Value> tensors, Value tokens) {
  Value same;
  for (Value tensor : tensors) {
    Value equal = ints.equal(tensorTokens(values.lookup(tensor)), tokens);
    same = same ? ints.logicalAnd(same, equal) : equal;
  }
  failUnless(same, KVC_STATUS_INVALID_ARGUMENT,
             "expected the tensors of '" + op->getName().getStringRef() +
                 "' to have as many rows as the batch has new tokens");
}

//===----------------------------------------------------------------------===//
// Workspace
//===----------------------------------------------------------------------===//

bool HostEntries::isIntermediate(Value tensor) {
  if (!isa<RankedTensorType>(tensor.getType()) || isa<BlockArgument>(tensor))
    return false;
  return llvm::none_of(tensor.getUsers(), [](Operation *user) {
    return isa<func::ReturnOp>(user);
  });
}

Value HostEntries::offsetAfter(Value offset, Value count, int64_t bytes) {
  return ints.add(offset, ints.alignTo(ints.mul(count, bytes), kWorkspaceAlignment));
}

void HostEntries::takeWorkspace(Value bytes) {
  Value size = abi.loadI64(call, offsetof(kvc_call_t, workspace_size));
  failUnless(ints.lessOrEqual(bytes, size), KVC_STATUS_INVALID_ARGUMENT,
             "expected a workspace of the size that 'needs' gives for this call, got a "
             "smaller one");
  workspace = abi.loadPtr(call, offsetof(kvc_call_t, workspace));
  // Vectors are loaded from it.
  Value address = LLVM::PtrToIntOp::create(b, ints.loc, ints.i64Type(), workspace);
  failUnless(ints.equal(ints.rem(address, kWorkspaceAlignment), ints.i64(0)),
             KVC_STATUS_INVALID_ARGUMENT,
             "expected a workspace aligned to " + Twine(kWorkspaceAlignment) +
                 " bytes, got another address");
}

//===----------------------------------------------------------------------===//
// Values in `run`
//===----------------------------------------------------------------------===//

Value HostEntries::allocate(int64_t bytes) {
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(&run.getBody().front());
  return LLVM::AllocaOp::create(b, ints.loc, ints.ptrType(), b.getI8Type(), ints.i64(bytes),
                                /*alignment=*/16);
}

Value HostEntries::tensorData(Value tensor) {
  return abi.loadPtr(tensor, offsetof(kvc_tensor_t, data));
}

Value HostEntries::tensorTokens(Value tensor) {
  return abi.loadI64(tensor, offsetof(kvc_tensor_t, shape));
}

Value HostEntries::batchField(Value batch, int64_t offset, Type type) {
  return abi.load(batch, offset, type);
}

HostEntries::Sizes HostEntries::batchSizes(Value batch, Value workers) {
  if (!workers)
    workers = abi.callTable(rt, offsetof(kvc_rt_api_t, num_workers), ints.i32Type(), {stream});
  return {batchField(batch, offsetof(kvc_batch_t, num_sequences), ints.i32Type()),
          batchField(batch, offsetof(kvc_batch_t, num_tokens), ints.i32Type()),
          batchField(batch, offsetof(kvc_batch_t, max_kv_len), ints.i32Type()), workers};
}

} // namespace kvc
