//===- HostFunction.cpp - the host side of CPU programs -------------------===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "HostFunction.h"

#include "Params.h"
#include "RowKernels.h"

#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace kvc {

/// Alignment of everything in the workspace.
static constexpr int64_t kAlignment = 64;

HostFunction::HostFunction(func::FuncOp function, int64_t index, CPUTier tier,
                           SymbolTable &symbols)
    : function(function), index(index), symbols(symbols), b(function.getContext()),
      e(b, function.getLoc(), tier), abi(b, function.getLoc()) {}

//===----------------------------------------------------------------------===//
// Checks
//===----------------------------------------------------------------------===//

/// Checks that a component has a layout that its use can read: a packed image serves
/// one use only.
static LogicalResult checkLayout(AttentionOp op, ComponentAttr component, Layout allowed) {
  Layout layout = component.getLayout();
  if (layout == Layout::RowMajor || layout == allowed)
    return success();
  return op.emitOpError("expected layout row_major or ")
         << stringifyLayout(allowed) << " of component '" << component.getName().getValue()
         << "', got " << stringifyLayout(layout);
}

static LogicalResult checkAttention(AttentionOp op, CPUTier tier) {
  Attribute schedule = op.getSchedule().value_or(Attribute());
  if (!schedule)
    return op.emitOpError("expected a #kvc.cpu_schedule; run -kvc-plan-cpu before this pass");
  auto cpu = dyn_cast<CPUScheduleAttr>(schedule);
  if (!cpu)
    return op.emitOpError("expected a #kvc.cpu_schedule, got ") << schedule;
  int64_t terms = op.getQueries().size();
  if (terms > KVC_MAX_COMPONENTS)
    return op.emitOpError("expected at most ")
           << KVC_MAX_COMPONENTS << " terms on the CPU, got " << terms;
  auto isBF16 = [](Type type) { return getElementTypeOrSelf(type).isBF16(); };
  bool allBF16 = llvm::all_of(op.getQueries().getTypes(), isBF16) &&
                 op.getValueComponent().getElementType().isBF16();
  for (int64_t i = 0; i < terms; ++i) {
    allBF16 &= op.getTermComponent(i).getElementType().isBF16();
    if (failed(checkLayout(op, op.getTermComponent(i), Layout::PackedKey)))
      return failure();
  }
  if (failed(checkLayout(op, op.getValueComponent(), Layout::PackedValue)))
    return failure();
  if (cpu.getProducts() != Products::Bf16Dot)
    return success();
  if (!allBF16)
    return op.emitOpError("expected bf16 queries and components for bf16_dot products");
  if (tier != CPUTier::AVX512BF16)
    return op.emitOpError("expected tier avx512_bf16 for bf16_dot products, got ")
           << stringifyCPUTier(tier);
  return success();
}

static LogicalResult checkOperation(Operation *op, CPUTier tier) {
  if (auto attention = dyn_cast<AttentionOp>(op))
    return checkAttention(attention, tier);
  if (auto rope = dyn_cast<RopeOp>(op);
      rope && static_cast<int64_t>(rope.getRotaryWidth()) > kMaxRotaryWidth)
    return rope.emitOpError("expected a rotary width of at most ")
           << kMaxRotaryWidth << " on the CPU, got " << rope.getRotaryWidth();
  if (auto merge = dyn_cast<MergeOp>(op);
      merge && merge.getOutputs().size() > kMaxMergeParts)
    return merge.emitOpError("expected at most ")
           << kMaxMergeParts << " parts on the CPU, got " << merge.getOutputs().size();
  return success();
}

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

LogicalResult HostFunction::checkBody() {
  if (function.getName().contains('\0'))
    return function.emitOpError("expected a name without NUL, got ")
           << static_cast<Attribute>(function.getSymNameAttr());
  if (!function.getBody().hasOneBlock())
    return function.emitOpError("expected one block, got ")
           << llvm::range_size(function.getBody());
  Block &body = function.getBody().front();
  for (Operation &op : body) {
    if (!isa_and_nonnull<KVCDialect>(op.getDialect()) && !isa<func::ReturnOp>(op))
      return op.emitError("no lowering to the CPU for operation '")
             << op.getName() << "': expected operations of the kvc dialect only";
    if (failed(checkOperation(&op, e.tier)))
      return failure();
  }
  return checkReturn(cast<func::ReturnOp>(body.getTerminator()));
}

//===----------------------------------------------------------------------===//
// Functions
//===----------------------------------------------------------------------===//

LLVM::LLVMFuncOp HostFunction::startFunction(StringRef name, unsigned numArguments) {
  SmallVector<Type> arguments(numArguments, e.ptrType());
  auto type = LLVM::LLVMFunctionType::get(e.i32Type(), arguments);
  b.setInsertionPointAfter(function);
  auto result = LLVM::LLVMFuncOp::create(b, function.getLoc(), name, type,
                                         LLVM::Linkage::Internal);
  symbols.insert(result); // which finds another name if this one is taken
  b.setInsertionPointToStart(result.addEntryBlock(b));
  return result;
}

LLVM::LLVMFuncOp
HostFunction::emitKernel(Operation *op, StringRef name,
                         function_ref<void(Value, Value, Value)> body) {
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointAfter(function);
  auto type = LLVM::LLVMFunctionType::get(LLVM::LLVMVoidType::get(b.getContext()),
                                          {e.ptrType(), e.i64Type(), e.i32Type()});
  auto kernel =
      LLVM::LLVMFuncOp::create(b, op->getLoc(), (function.getName() + "." + name).str(), type,
                               LLVM::Linkage::Internal);
  symbols.insert(kernel);
  b.setInsertionPointToStart(kernel.addEntryBlock(b));
  body(kernel.getArgument(0), kernel.getArgument(1), kernel.getArgument(2));
  LLVM::ReturnOp::create(b, op->getLoc(), ValueRange());
  return kernel;
}

void HostFunction::emitAttentionKernels(AttentionOp op) {
  auto schedule = cast<CPUScheduleAttr>(*op.getSchedule());
  AttentionFunctions functions;
  functions.decode = std::make_unique<AttentionKernel>(e, op, schedule, Phase::Decode);
  functions.prefill = std::make_unique<AttentionKernel>(e, op, schedule, Phase::Prefill);
  functions.prefillFunction =
      emitKernel(op, "prefill", [&](Value params, Value item, Value worker) {
        functions.prefill->emitBody(params, item, worker);
      });
  functions.mergeFunction =
      emitKernel(op, "merge_parts", [&](Value params, Value item, Value) {
        functions.decode->emitMergeBody(params, item);
      });
  functions.decodeFunction =
      emitKernel(op, "decode", [&](Value params, Value item, Value worker) {
        functions.decode->emitBody(params, item, worker);
      });
  attentions[op] = std::move(functions);
}

LogicalResult HostFunction::lower() {
  if (failed(checkBody()))
    return failure();
  for (Operation &op : function.getBody().front()) {
    if (auto attention = dyn_cast<AttentionOp>(op))
      emitAttentionKernels(attention);
    else if (auto append = dyn_cast<AppendOp>(op))
      rowKernels[&op] = emitKernel(&op, "append", [&](Value params, Value item, Value) {
        emitAppendBody(e, append, params, item);
      });
    else if (auto rope = dyn_cast<RopeOp>(op))
      rowKernels[&op] = emitKernel(&op, "rope", [&](Value params, Value item, Value) {
        emitRopeBody(e, rope, params, item);
      });
    else if (auto merge = dyn_cast<MergeOp>(op))
      rowKernels[&op] = emitKernel(&op, "merge", [&](Value params, Value item, Value) {
        emitMergeOpBody(e, merge, params, item);
      });
  }
  LLVM::LLVMFuncOp needs = emitNeeds();
  if (failed(emitRun()))
    return failure();
  addProgramFunction(
      function->getParentOfType<ModuleOp>(),
      {function.getName(), function.getFunctionType(), needs.getName(), run.getName()});
  return success();
}

//===----------------------------------------------------------------------===//
// Control flow of `run` and `needs`
//===----------------------------------------------------------------------===//

void HostFunction::returnIfFailed(Value status) {
  Block *next = b.createBlock(failureBlock);
  b.setInsertionPointToEnd(status.getParentBlock());
  LLVM::CondBrOp::create(b, e.loc, e.equal(status, e.i32(KVC_STATUS_OK)), next, ValueRange(),
                         failureBlock, ValueRange(status));
  b.setInsertionPointToStart(next);
}

void HostFunction::failUnless(Value condition, kvc_status_t status, Twine message) {
  ModuleOp module = function->getParentOfType<ModuleOp>();
  Block *next = b.createBlock(failureBlock);
  Block *failed = b.createBlock(failureBlock);
  b.setInsertionPointToEnd(condition.getParentBlock());
  LLVM::CondBrOp::create(b, e.loc, condition, next, failed);
  b.setInsertionPointToStart(failed);
  std::string text = ("in '" + function.getName() + "': " + message).str();
  text.push_back('\0');
  LLVM::GlobalOp global;
  {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(module.getBody());
    auto type = LLVM::LLVMArrayType::get(b.getI8Type(), text.size());
    global = LLVM::GlobalOp::create(b, e.loc, type, /*isConstant=*/true,
                                    LLVM::Linkage::Internal, "kvc.message",
                                    b.getStringAttr(text));
    symbols.insert(global);
  }
  Value address = LLVM::AddressOfOp::create(b, e.loc, global);
  Value result = abi.callTable(rt, offsetof(kvc_rt_api_t, fail), e.i32Type(),
                               {e.i32(status), address});
  LLVM::BrOp::create(b, e.loc, ValueRange(result), failureBlock);
  b.setInsertionPointToStart(next);
}

//===----------------------------------------------------------------------===//
// Workspace
//===----------------------------------------------------------------------===//

HostFunction::AttentionSpace
HostFunction::emitAttentionSpace(const AttentionKernel &kernel, const Sizes &sizes,
                                 Value begin) {
  WorkListBounds bounds = emitWorkListBounds(b, e.loc, sizes.sequences, sizes.tokens,
                                             sizes.kvLen, kernel.getWorkListConfig());
  auto after = [&](Value offset, Value count, int64_t bytes) {
    return e.add(offset, e.alignTo(e.mul(count, bytes), kAlignment));
  };
  AttentionSpace space;
  // The counts come first.
  space.items = e.add(begin, kAlignment);
  space.merges = after(space.items, bounds.items, sizeof(WorkItem));
  space.parts = after(space.merges, bounds.merges, sizeof(MergeEntry));
  space.scratch = after(space.parts, bounds.parts, kernel.getPartBytes());
  space.end = after(space.scratch, e.toI64(sizes.workers), kernel.getScratchBytes());
  return space;
}

/// A tensor that is neither an argument nor a result of the function.
bool HostFunction::isIntermediate(Value tensor) {
  if (!isa<RankedTensorType>(tensor.getType()) || isa<BlockArgument>(tensor))
    return false;
  return llvm::none_of(tensor.getUsers(), [](Operation *user) {
    return isa<func::ReturnOp>(user);
  });
}

Value HostFunction::emitIntermediateBytes(Value tensor, Value tokens) {
  auto type = cast<RankedTensorType>(tensor.getType());
  int64_t rowBytes = getByteWidth(type.getElementType());
  for (int64_t dim : type.getShape().drop_front())
    rowBytes *= dim;
  return e.alignTo(e.mul(tokens, rowBytes), kAlignment);
}

Value HostFunction::emitWorkspaceEnd(function_ref<Sizes(Operation *)> sizesOf) {
  Value begin = e.i64(0);
  for (Operation &op : function.getBody().front())
    for (Value result : op.getResults())
      if (isIntermediate(result))
        begin = e.add(begin, emitIntermediateBytes(result, e.toI64(sizesOf(&op).tokens)));
  Value end = begin;
  for (Operation &op : function.getBody().front())
    if (isa<AttentionOp>(op))
      for (AttentionKernel *kernel :
           {attentions[&op].decode.get(), attentions[&op].prefill.get()})
        end = e.max(end, emitAttentionSpace(*kernel, sizesOf(&op), begin).end);
  attentionSpace = begin;
  return end;
}

//===----------------------------------------------------------------------===//
// needs
//===----------------------------------------------------------------------===//

LLVM::LLVMFuncOp HostFunction::emitNeeds() {
  LLVM::LLVMFuncOp needs = startFunction((function.getName() + ".needs").str(), 3);
  rt = needs.getArgument(0);
  Value bounds = needs.getArgument(1), out = needs.getArgument(2);
  Block *entry = b.getInsertionBlock();
  failureBlock = b.createBlock(&needs.getBody(), {}, {e.i32Type()}, {e.loc});
  LLVM::ReturnOp::create(b, e.loc, failureBlock->getArgument(0));
  b.setInsertionPointToStart(entry);

  auto bound = [&](int64_t offset) { return abi.loadI32(bounds, offset); };
  Sizes sizes{bound(offsetof(kvc_bounds_t, max_sequences)),
              bound(offsetof(kvc_bounds_t, max_tokens)),
              bound(offsetof(kvc_bounds_t, max_kv_len)),
              bound(offsetof(kvc_bounds_t, num_workers))};
  Value smallest = e.min(e.min(sizes.sequences, sizes.tokens),
                         e.min(sizes.kvLen, e.sub(sizes.workers, e.i32(1))));
  failUnless(e.lessOrEqual(e.i32(0), smallest), KVC_STATUS_INVALID_ARGUMENT,
             "expected bounds of at least 0 and at least 1 worker");
  // A batch that the function makes itself knows its longest sequence.
  for (Operation &op : function.getBody().front()) {
    if (auto table = dyn_cast<BatchFromBlockTableOp>(op))
      sizes.kvLen = e.max(sizes.kvLen, e.i32(table.getMaxKvLen()));
    if (auto csr = dyn_cast<BatchFromCSROp>(op))
      sizes.kvLen = e.max(sizes.kvLen, e.i32(csr.getMaxKvLen()));
  }
  Value end = emitWorkspaceEnd([&](Operation *) { return sizes; });
  abi.store(end, out, offsetof(kvc_needs_t, workspace_size));
  LLVM::ReturnOp::create(b, e.loc, e.i32(KVC_STATUS_OK));
  return needs;
}

//===----------------------------------------------------------------------===//
// Values in `run`
//===----------------------------------------------------------------------===//

/// Memory of the function's frame.
Value HostFunction::allocate(int64_t bytes) {
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(&run.getBody().front());
  return LLVM::AllocaOp::create(b, e.loc, e.ptrType(), b.getI8Type(), e.i64(bytes),
                                /*alignment=*/16);
}

Value HostFunction::tensorData(Value tensor) {
  return abi.loadPtr(tensor, offsetof(kvc_tensor_t, data));
}

Value HostFunction::tensorTokens(Value tensor) {
  return abi.loadI64(tensor, offsetof(kvc_tensor_t, shape));
}

Value HostFunction::batchField(Value batch, int64_t offset, Type type) {
  return abi.load(batch, offset, type);
}

HostFunction::Sizes HostFunction::batchSizes(Value batch) {
  Value workers = abi.callTable(rt, offsetof(kvc_rt_api_t, num_workers), e.i32Type(), {stream});
  return {batchField(batch, offsetof(kvc_batch_t, num_sequences), e.i32Type()),
          batchField(batch, offsetof(kvc_batch_t, num_tokens), e.i32Type()),
          batchField(batch, offsetof(kvc_batch_t, max_kv_len), e.i32Type()), workers};
}

/// Fills a TensorParam.
void HostFunction::setTensor(Value params, int64_t field, Value tensor) {
  auto type = cast<RankedTensorType>(tensor.getType());
  Value abiTensor = values.lookup(tensor);
  int64_t bytes = getByteWidth(type.getElementType());
  abi.store(tensorData(abiTensor), params, field + offsetof(TensorParam, data));
  constexpr int64_t strides[] = {offsetof(TensorParam, tokenStride),
                                 offsetof(TensorParam, headStride)};
  for (int64_t dim = 0; dim < std::min<int64_t>(2, type.getRank()); ++dim) {
    Value stride = abi.loadI64(abiTensor, offsetof(kvc_tensor_t, strides) + dim * 8);
    abi.store(e.mul(stride, bytes), params, field + strides[dim]);
  }
}

/// Fills a ComponentParam.
void HostFunction::setComponent(Value params, int64_t field, Value cache,
                                ComponentAttr component) {
  auto type = cast<CacheType>(cache.getType());
  int64_t view = offsetof(kvc_cache_view_t, components) +
                 type.getComponentIndex(component.getName().getValue()) *
                     sizeof(kvc_component_view_t);
  Value abiCache = values.lookup(cache);
  abi.store(abi.loadPtr(abiCache, view), params, field);
  constexpr std::pair<int64_t, int64_t> strides[] = {
      {offsetof(kvc_component_view_t, page_stride), offsetof(ComponentParam, pageStride)},
      {offsetof(kvc_component_view_t, head_stride), offsetof(ComponentParam, headStride)},
      {offsetof(kvc_component_view_t, token_stride), offsetof(ComponentParam, tokenStride)}};
  for (auto [from, to] : strides)
    abi.store(e.mul(abi.loadI64(abiCache, view + from),
                    getByteWidth(component.getElementType())),
              params, field + to);
}

Value HostFunction::parallelFor(LLVM::LLVMFuncOp kernel, Value params, Value count) {
  Value address = LLVM::AddressOfOp::create(b, e.loc, kernel);
  return abi.callTable(rt, offsetof(kvc_rt_api_t, parallel_for), e.i32Type(),
                       {stream, address, params, count});
}

//===----------------------------------------------------------------------===//
// run
//===----------------------------------------------------------------------===//

LogicalResult HostFunction::emitRun() {
  run = startFunction((function.getName() + ".run").str(), 3);
  rt = run.getArgument(0);
  stream = run.getArgument(1);
  call = run.getArgument(2);
  Block *entry = b.getInsertionBlock();
  failureBlock = b.createBlock(&run.getBody(), {}, {e.i32Type()}, {e.loc});
  LLVM::ReturnOp::create(b, e.loc, failureBlock->getArgument(0));
  // The frame is in a block of its own, so that it can grow from anywhere.
  Block *body = b.createBlock(failureBlock);
  b.setInsertionPointToEnd(entry);
  LLVM::BrOp::create(b, e.loc, ValueRange(), body);
  b.setInsertionPointToStart(body);

  if (!symbols.lookup(kProgramSymbol)) {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(function->getParentOfType<ModuleOp>().getBody());
    symbols.insert(LLVM::LLVMFuncOp::create(b, e.loc, kProgramSymbol,
                                            LLVM::LLVMFunctionType::get(e.ptrType(), {})));
  }
  program =
      LLVM::CallOp::create(b, e.loc, TypeRange{e.ptrType()}, kProgramSymbol, ValueRange())
          .getResult();
  returnIfFailed(abi.callTable(rt, offsetof(kvc_rt_api_t, check_call), e.i32Type(),
                               {program, e.i32(index), call}));

  for (BlockArgument argument : function.getArguments())
    values[argument] = abi.loadArg(call, argument.getArgNumber());
  Block &source = function.getBody().front();
  for (OpOperand &result : source.getTerminator()->getOpOperands())
    values[result.get()] =
        abi.loadArg(call, function.getNumArguments() + result.getOperandNumber());

  // Caches and batches first: the workspace depends on them.
  for (Operation &op : source)
    if (isa<CacheFromBuffersOp, BatchFromBlockTableOp, BatchFromCSROp>(op))
      if (failed(emitOperation(op)))
        return failure();
  auto sizesOf = [&](Operation *op) -> Sizes {
    if (auto attention = dyn_cast<AttentionOp>(op))
      return batchSizes(values.lookup(attention.getBatch()));
    if (auto rope = dyn_cast<RopeOp>(op))
      return batchSizes(values.lookup(rope.getBatch()));
    auto merge = cast<MergeOp>(op);
    // Rows of a merge are those of its first part that lies in memory already.
    Value part = merge.getOutputs().front();
    while (Operation *producer = part.getDefiningOp()) {
      if (auto attention = dyn_cast<AttentionOp>(producer))
        return batchSizes(values.lookup(attention.getBatch()));
      if (auto rope = dyn_cast<RopeOp>(producer))
        return batchSizes(values.lookup(rope.getBatch()));
      part = cast<MergeOp>(producer).getOutputs().front();
    }
    return {{}, e.toI32(tensorTokens(values.lookup(part))), {}, {}};
  };
  Value end = emitWorkspaceEnd(sizesOf);
  Value size = abi.loadI64(call, offsetof(kvc_call_t, workspace_size));
  failUnless(e.lessOrEqual(end, size), KVC_STATUS_INVALID_ARGUMENT,
             "expected a workspace of the size that 'needs' gives for this call, got a "
             "smaller one");
  workspace = abi.loadPtr(call, offsetof(kvc_call_t, workspace));

  // Intermediate tensors.
  Value offset = e.i64(0);
  for (Operation &op : source)
    for (Value result : op.getResults()) {
      if (!isIntermediate(result))
        continue;
      Value tokens = e.toI64(sizesOf(&op).tokens);
      auto type = cast<RankedTensorType>(result.getType());
      Value tensor = allocate(sizeof(kvc_tensor_t));
      abi.store(e.offset(workspace, offset), tensor, offsetof(kvc_tensor_t, data));
      int64_t stride = 1;
      for (int64_t dim = type.getRank() - 1; dim >= 0; --dim) {
        Value extent = dim == 0 ? tokens : e.i64(type.getDimSize(dim));
        abi.store(extent, tensor, offsetof(kvc_tensor_t, shape) + dim * 8);
        abi.store(e.i64(stride), tensor, offsetof(kvc_tensor_t, strides) + dim * 8);
        stride *= dim == 0 ? 1 : type.getDimSize(dim);
      }
      values[result] = tensor;
      offset = e.add(offset, emitIntermediateBytes(result, tokens));
    }

  for (Operation &op : source)
    if (!isa<CacheFromBuffersOp, BatchFromBlockTableOp, BatchFromCSROp>(op))
      if (failed(emitOperation(op)))
        return failure();
  LLVM::ReturnOp::create(b, e.loc, e.i32(KVC_STATUS_OK));
  return success();
}

LogicalResult HostFunction::emitOperation(Operation &op) {
  return TypeSwitch<Operation *, LogicalResult>(&op)
      .Case<AttentionOp>([&](auto op) { return emitAttention(op), success(); })
      .Case<AppendOp>([&](auto op) { return emitAppend(op), success(); })
      .Case<RopeOp>([&](auto op) { return emitRope(op), success(); })
      .Case<MergeOp>([&](auto op) { return emitMerge(op), success(); })
      .Case<CacheFromBuffersOp>([&](auto op) { return emitCacheFromBuffers(op), success(); })
      .Case<BatchFromBlockTableOp>([&](BatchFromBlockTableOp op) {
        emitBatchFrom(op, op.getQueryStart(), op.getKvLens(), op.getSlots(), op.getPositions(),
                      op.getMaxQueryLen(), op.getMaxKvLen());
        return success();
      })
      .Case<BatchFromCSROp>([&](BatchFromCSROp op) {
        emitBatchFrom(op, op.getQueryStart(), op.getKvLens(), op.getSlots(), op.getPositions(),
                      op.getMaxQueryLen(), op.getMaxKvLen());
        return success();
      })
      .Case<func::ReturnOp>([&](auto) { return success(); })
      .Default([&](Operation *op) { return op->emitError("no lowering to the CPU"); });
}

} // namespace kvc
