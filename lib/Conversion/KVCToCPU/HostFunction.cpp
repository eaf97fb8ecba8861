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
#include "kvc/Conversion/FusedRope.h"

#include "kvc/Dialect/KVC/IR/MatrixTiles.h"

#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace kvc {

HostFunction::HostFunction(func::FuncOp function, int64_t index, CPUTier tier,
                           SymbolTable &symbols)
    : HostEntries(function, index, symbols), e(b, function.getLoc(), tier) {}

//===----------------------------------------------------------------------===//
// Checks
//===----------------------------------------------------------------------===//

/// Checks that a component has a layout that its use can read: a packed image serves
/// one use only.
static LogicalResult checkLayout(AttentionOp op, ComponentAttr component, Layout allowed) {
  Layout layout = component.getLayout();
  if (layout == Layout::RowMajor || layout == allowed ||
      (layout == Layout::LaneKey && allowed == Layout::PackedKey))
    return success();
  return op.emitOpError("expected layout row_major or ")
         << stringifyLayout(allowed) << " of component '" << component.getName().getValue()
         << "', got " << stringifyLayout(layout);
}

static LogicalResult checkAttention(AttentionOp op, CPUTier tier) {
  Attribute schedule = op.getSchedule().value_or(Attribute());
  if (!schedule)
    return op.emitOpError("expected a #kvc.cpu_schedule; run -kvc-plan=target=cpu before this pass");
  auto cpu = dyn_cast<CPUScheduleAttr>(schedule);
  if (!cpu)
    return op.emitOpError("expected a #kvc.cpu_schedule, got ") << schedule;
  int64_t terms = op.getQueries().size();
  if (terms > KVC_MAX_COMPONENTS)
    return op.emitOpError("expected at most ")
           << KVC_MAX_COMPONENTS << " terms on the CPU, got " << terms;
  auto isBF16 = [](Type type) {
    Type element = getElementTypeOrSelf(type);
    return element.isBF16() || isQuantized(element);
  };
  bool allBF16 = llvm::all_of(op.getQueries().getTypes(), isBF16) &&
                 isBF16(op.getValueComponent().getElementType());
  for (int64_t i = 0; i < terms; ++i) {
    allBF16 &= isBF16(op.getTermComponent(i).getElementType());
    if (failed(checkLayout(op, op.getTermComponent(i), Layout::PackedKey)))
      return failure();
  }
  if (failed(checkLayout(op, op.getValueComponent(), Layout::PackedValue)))
    return failure();
  for (RegisterTileAttr registers : {cpu.getDecode(), cpu.getPrefill()}) {
    if (registers.getProducts() == Products::Fma)
      continue;
    StringRef products = stringifyProducts(registers.getProducts());
    if (!allBF16)
      return op.emitOpError("expected bf16 queries and bf16 or quantised components for ")
             << products << " products";
    bool isTile = registers.getProducts() == Products::Bf16Tile;
    if (isTile && !hasTileWidths(op))
      return op.emitOpError("expected widths that are multiples of ")
             << kTileDepth << " up to " << kMaxTileWidth << " for " << products << " products";
    if (isTile ? tier != CPUTier::AMX : !hasBF16(tier))
      return op.emitOpError("expected tier ")
             << (isTile ? "amx" : "avx512_bf16 or amx") << " for " << products
             << " products, got " << stringifyCPUTier(tier);
  }
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

LogicalResult HostFunction::checkBody() {
  if (failed(checkFunction()) || failed(checkHostCode()))
    return failure();
  for (Operation &op : function.getBody().front()) {
    if (!isa_and_nonnull<KVCDialect>(op.getDialect()) &&
        !isa<func::CallOp, func::ReturnOp>(op))
      return op.emitError("no lowering to the CPU for operation '")
             << op.getName() << "': expected operations of the kvc dialect only";
    if (failed(checkOperation(&op, e.tier)))
      return failure();
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Functions
//===----------------------------------------------------------------------===//

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
    else if (auto rope = dyn_cast<RopeOp>(op); rope && !getFusingAppend(rope))
      rowKernels[&op] = emitKernel(&op, "rope", [&](Value params, Value item, Value) {
        emitRopeBody(e, rope, params, item);
      });
    else if (auto merge = dyn_cast<MergeOp>(op))
      rowKernels[&op] = emitKernel(&op, "merge", [&](Value params, Value item, Value) {
        emitMergeOpBody(e, merge, params, item);
      });
  }
  if (hasHostCode())
    emitShapesEntry();
  emitNeeds();
  if (failed(emitRun()))
    return failure();
  addToProgram();
  return success();
}

//===----------------------------------------------------------------------===//
// Workspace
//===----------------------------------------------------------------------===//

bool HostFunction::isPlaced(Value result) {
  auto rope = result.getDefiningOp<RopeOp>();
  return isIntermediate(result) && !(rope && getFusingAppend(rope));
}

HostFunction::AttentionSpace
HostFunction::emitAttentionSpace(const AttentionKernel &kernel, const Sizes &sizes,
                                 Value begin) {
  WorkListBounds bounds = emitWorkListBounds(b, e.loc, sizes.sequences, sizes.tokens,
                                             sizes.kvLen, kernel.getWorkListConfig());
  AttentionSpace space;
  // The counts come first.
  space.items = e.add(begin, kWorkspaceAlignment);
  space.merges = offsetAfter(space.items, bounds.items, sizeof(WorkItem));
  space.parts = offsetAfter(space.merges, bounds.merges, sizeof(MergeEntry));
  space.scratch = offsetAfter(space.parts, bounds.parts, kernel.getPartBytes());
  space.end = offsetAfter(space.scratch, e.toI64(sizes.workers), kernel.getScratchBytes());
  return space;
}

Value HostFunction::emitWorkspaceEnd(const Shapes &shapes,
                                     function_ref<Sizes(Operation *)> sizesOf) {
  Value begin = e.i64(0);
  for (Operation &op : function.getBody().front())
    for (Value result : op.getResults())
      if (isPlaced(result))
        begin = e.add(begin, emitBytes(result, shapes));
  Value end = begin;
  for (Operation &op : function.getBody().front()) {
    if (isa<func::CallOp>(op))
      end = e.max(end, e.add(begin, shapes.workspace.at(&op)));
    else if (isa<AttentionOp>(op))
      for (AttentionKernel *kernel :
           {attentions[&op].decode.get(), attentions[&op].prefill.get()})
        end = e.max(end, emitAttentionSpace(*kernel, sizesOf(&op), begin).end);
  }
  scratch = begin;
  return end;
}

//===----------------------------------------------------------------------===//
// needs
//===----------------------------------------------------------------------===//

void HostFunction::emitNeeds() {
  Sizes sizes = startNeeds();
  includeForeign(sizes);
  Shapes shapes =
      hasHostCode() ? emitShapesOfBounds() : emitShapesOfTokens(e.toI64(sizes.tokens));
  finishNeeds(emitWorkspaceEnd(shapes, [&](Operation *) { return sizes; }));
}

//===----------------------------------------------------------------------===//
// Values in `run`
//===----------------------------------------------------------------------===//

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

/// Fills an ArrayParam.
void HostFunction::setArray(Value params, int64_t field, Value cache, StringRef name) {
  auto type = cast<CacheType>(cache.getType());
  int64_t index = type.getArrayIndex(name);
  int64_t view = offsetof(kvc_cache_view_t, components) + index * sizeof(kvc_component_view_t);
  int64_t elementBytes = getByteWidth(type.getArrays()[index].getMemoryElement());
  Value abiCache = values.lookup(cache);
  abi.store(abi.loadPtr(abiCache, view + offsetof(kvc_component_view_t, data)), params,
            field + offsetof(ArrayParam, data));
  constexpr std::pair<int64_t, int64_t> strides[] = {
      {offsetof(kvc_component_view_t, page_stride), offsetof(ArrayParam, pageStride)},
      {offsetof(kvc_component_view_t, head_stride), offsetof(ArrayParam, headStride)},
      {offsetof(kvc_component_view_t, token_stride), offsetof(ArrayParam, tokenStride)}};
  for (auto [from, to] : strides)
    abi.store(e.mul(abi.loadI64(abiCache, view + from), elementBytes), params, field + to);
}

/// Fills a ComponentParam.
void HostFunction::setComponent(Value params, int64_t field, Value cache,
                                ComponentAttr component) {
  StringRef name = component.getName().getValue();
  setArray(params, field, cache, name);
  if (getNumScales(component) == 0)
    return;
  setArray(params, field + offsetof(ComponentParam, scales), cache,
           (name + kScaleSuffix).str());
  if (component.getScale().getZeroPoint())
    setArray(params, field + offsetof(ComponentParam, zeros), cache,
             (name + kZeroSuffix).str());
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
  startRun();
  Block &source = function.getBody().front();

  // Caches and batches first: the workspace depends on them.
  for (Operation &op : source)
    if (isForeign(op))
      emitForeign(op);
  shapes = emitShapes([&](BlockArgument arg) { return values.lookup(arg); });
  takeWorkspace(emitWorkspaceEnd(shapes, [&](Operation *op) {
    return batchSizes(values.lookup(cast<AttentionOp>(op).getBatch()));
  }));
  if (hasHostCode())
    checkResults(shapes);

  Value offset = e.i64(0);
  for (Operation &op : source)
    for (Value result : op.getResults())
      if (isPlaced(result))
        offset = placeIntermediate(result, shapes, offset);

  for (Operation &op : source)
    if (!isForeign(op))
      if (failed(emitOperation(op)))
        return failure();
  finishRun();
  return success();
}

LogicalResult HostFunction::emitOperation(Operation &op) {
  return TypeSwitch<Operation *, LogicalResult>(&op)
      .Case<AttentionOp>([&](auto op) { return emitAttention(op), success(); })
      .Case<AppendOp>([&](auto op) { return emitAppend(op), success(); })
      .Case<RopeOp>([&](auto op) { return emitRope(op), success(); })
      .Case<MergeOp>([&](auto op) { return emitMerge(op), success(); })
      .Case<func::CallOp>([&](auto op) { return emitPart(op, shapes, scratch), success(); })
      .Case<func::ReturnOp>([&](auto) { return success(); })
      .Default([&](Operation *op) { return op->emitError("no lowering to the CPU"); });
}

} // namespace kvc
