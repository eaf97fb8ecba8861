//===- WrapDefinition.cpp - entry points of decomposed functions ----------===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Adds `needs` and `run` of kvc-rt/abi.h to each function that kvc-decompose
// recorded, once it takes memref descriptors one field an argument.
//===----------------------------------------------------------------------===//
#include "DefinitionChecks.h"

#include "kvc/Conversion/DefinitionABI.h"
#include "kvc/Conversion/HostEntries.h"
#include "kvc/Conversion/Passes.h"

#define DEBUG_TYPE "kvc-wrap-definition"

namespace kvc {
#define GEN_PASS_DEF_WRAPDEFINITIONPASS
#include "kvc/Conversion/Passes.h.inc"
} // namespace kvc

using namespace mlir;
using namespace kvc;

namespace {
/// Collects the arguments of a call to a lowered function.
class ArgumentList {
public:
  ArgumentList(OpBuilder &builder, Location loc) : b(builder), loc(loc), abi(builder, loc) {}

  /// Appends what stands for an argument or result of type `type`, of which
  /// `arg` is the structure in the call.
  void add(Type type, Value arg);
  ArrayRef<Value> getValues() const { return values; }

private:
  /// The fields of a memref descriptor.
  void addBuffer(Value data, ArrayRef<Value> sizes, ArrayRef<Value> strides);
  void addTensor(int64_t rank, Value tensor);
  void addComponent(MemRefType type, bool isRowMajor, Value pages, Value view);
  void addCache(CacheType type, Value view);
  void addBatch(Value batch);

  OpBuilder &b;
  Location loc;
  ABIBuilder abi;
  SmallVector<Value> values;
};
} // namespace

void ArgumentList::addBuffer(Value data, ArrayRef<Value> sizes, ArrayRef<Value> strides) {
  values.append({data, data, abi.i64(0)}); // allocated, aligned, offset
  llvm::append_range(values, sizes);
  llvm::append_range(values, strides);
}

void ArgumentList::addTensor(int64_t rank, Value tensor) {
  SmallVector<Value> sizes, strides;
  for (int64_t dim = 0; dim < rank; ++dim) {
    int64_t bytes = dim * sizeof(int64_t);
    sizes.push_back(abi.loadI64(tensor, offsetof(kvc_tensor_t, shape) + bytes));
    strides.push_back(abi.loadI64(tensor, offsetof(kvc_tensor_t, strides) + bytes));
  }
  addBuffer(abi.loadPtr(tensor, offsetof(kvc_tensor_t, data)), sizes, strides);
}

void ArgumentList::addComponent(MemRefType type, bool isRowMajor, Value pages, Value view) {
  SmallVector<int64_t> knownStrides;
  int64_t offset;
  [[maybe_unused]] LogicalResult known = type.getStridesAndOffset(knownStrides, offset);
  assert(succeeded(known) && "components have strides");
  SmallVector<Value> sizes = {pages}, strides;
  for (int64_t size : type.getShape().drop_front())
    sizes.push_back(abi.i64(size));
  strides.push_back(abi.loadI64(view, offsetof(kvc_component_view_t, page_stride)));
  if (isRowMajor)
    strides.push_back(abi.loadI64(view, offsetof(kvc_component_view_t, token_stride)));
  strides.push_back(abi.loadI64(view, offsetof(kvc_component_view_t, head_stride)));
  for (int64_t stride : ArrayRef(knownStrides).drop_front(strides.size()))
    strides.push_back(abi.i64(stride));
  addBuffer(abi.loadPtr(view, offsetof(kvc_component_view_t, data)), sizes, strides);
}

void ArgumentList::addCache(CacheType type, Value view) {
  Value pages = abi.loadI64(view, offsetof(kvc_cache_view_t, num_pages));
  for (auto [index, component] : llvm::enumerate(type.getComponents())) {
    int64_t bytes =
        offsetof(kvc_cache_view_t, components) + index * sizeof(kvc_component_view_t);
    addComponent(getComponentBuffer(type, component),
                 component.getLayout() == Layout::RowMajor, pages, abi.at(view, bytes));
  }
}

/// Follows BatchArrays.
void ArgumentList::addBatch(Value batch) {
  Value one = abi.i64(1);
  auto addArray = [&](Value data, Value size) { addBuffer(data, size, one); };
  auto loadCount = [&](int64_t offset) -> Value {
    return LLVM::SExtOp::create(b, loc, b.getI64Type(), abi.loadI32(batch, offset));
  };
  Value sequences = loadCount(offsetof(kvc_batch_t, num_sequences));
  Value tokens = loadCount(offsetof(kvc_batch_t, num_tokens));
  Value starts = LLVM::AddOp::create(b, loc, sequences, one);
  addArray(abi.loadPtr(batch, offsetof(kvc_batch_t, query_start)), starts);
  addArray(abi.loadPtr(batch, offsetof(kvc_batch_t, kv_lens)), sequences);
  addArray(abi.loadPtr(batch, offsetof(kvc_batch_t, page_ids)),
           abi.loadI64(batch, offsetof(kvc_batch_t, num_page_ids)));
  Value pageStart = abi.loadPtr(batch, offsetof(kvc_batch_t, page_start));
  Value isPadded = LLVM::ICmpOp::create(b, loc, LLVM::ICmpPredicate::eq, pageStart,
                                        LLVM::ZeroOp::create(b, loc, abi.ptr()));
  addArray(pageStart, LLVM::SelectOp::create(b, loc, isPadded, abi.i64(0), starts));
  values.push_back(abi.loadI64(batch, offsetof(kvc_batch_t, page_stride)));
  addArray(abi.loadPtr(batch, offsetof(kvc_batch_t, slots)), tokens);
  addArray(abi.loadPtr(batch, offsetof(kvc_batch_t, positions)), tokens);
}

void ArgumentList::add(Type type, Value arg) {
  if (auto cache = dyn_cast<CacheType>(type))
    addCache(cache, arg);
  else if (isa<BatchType>(type))
    addBatch(arg);
  else
    addTensor(cast<ShapedType>(type).getRank(), arg);
}

//===----------------------------------------------------------------------===//
// The entry points
//===----------------------------------------------------------------------===//

/// Creates `name` with three pointers as arguments, and the builder within.
static LLVM::LLVMFuncOp createEntry(OpBuilder &b, Location loc, StringRef name) {
  Type ptr = LLVM::LLVMPointerType::get(b.getContext());
  auto type = LLVM::LLVMFunctionType::get(b.getI32Type(), {ptr, ptr, ptr});
  auto function = LLVM::LLVMFuncOp::create(b, loc, name, type);
  b.setInsertionPointToStart(function.addEntryBlock(b));
  return function;
}

/// needs(rt, bounds, out): no workspace.
static void createNeeds(OpBuilder &b, Location loc, StringRef name) {
  LLVM::LLVMFuncOp function = createEntry(b, loc, name);
  ABIBuilder abi(b, loc);
  abi.store(abi.i64(0), function.getArgument(2), offsetof(kvc_needs_t, workspace_size));
  LLVM::ReturnOp::create(b, loc, abi.i32(KVC_STATUS_OK));
}

/// run(rt, stream, call): checks the call and does the work.
static LogicalResult createRun(OpBuilder &b, LLVM::LLVMFuncOp lowered, FunctionType type,
                               int64_t functionIndex, StringRef name) {
  Location loc = lowered.getLoc();
  LLVM::LLVMFuncOp function = createEntry(b, loc, name);
  Value call = function.getArgument(2);
  ABIBuilder abi(b, loc);
  Value program =
      LLVM::CallOp::create(b, loc, TypeRange(abi.ptr()), kProgramSymbol, ValueRange())
          .getResult();
  DefinitionChecks checks(b, function, program, functionIndex);
  checks.emitCall();
  auto recorded = lowered->getAttrOfType<DictionaryAttr>(kChecksAttr);
  if (recorded && !DefinitionChecks::isWellFormed(recorded,
                                                  type.getNumInputs() + type.getNumResults()))
    return lowered.emitOpError("expected '")
           << kChecksAttr << "' as kvc-decompose writes it, got " << recorded;
  checks.emitRecorded(recorded);

  ArgumentList args(b, loc);
  int64_t index = 0;
  for (ArrayRef<Type> types : {type.getInputs(), type.getResults()})
    for (Type argType : types)
      args.add(argType, abi.loadArg(call, index++));
  if (!llvm::equal(ValueRange(args.getValues()).getTypes(), lowered.getArgumentTypes()))
    return lowered.emitOpError("expected the arguments that kvc-decompose and the upstream "
                               "lowering make of ")
           << type << ", got " << lowered.getFunctionType();
  LLVM::CallOp::create(b, loc, lowered, args.getValues());
  LLVM::ReturnOp::create(b, loc, abi.i32(KVC_STATUS_OK));
  return success();
}

/// Declares the function that returns the program, which another pass defines.
static void declareProgram(ModuleOp module) {
  if (module.lookupSymbol(kProgramSymbol))
    return;
  OpBuilder b = OpBuilder::atBlockEnd(module.getBody());
  auto type = LLVM::LLVMFunctionType::get(LLVM::LLVMPointerType::get(b.getContext()), {});
  auto function = LLVM::LLVMFuncOp::create(b, module.getLoc(), kProgramSymbol, type);
  SymbolTable::setSymbolVisibility(function, SymbolTable::Visibility::Private);
}

namespace {
struct WrapDefinitionPass final : kvc::impl::WrapDefinitionPassBase<WrapDefinitionPass> {
  using Base::Base;
  void runOnOperation() override;
};
} // namespace

void WrapDefinitionPass::runOnOperation() {
  ModuleOp module = getOperation();
  int64_t functionIndex = getProgramFunctions(module).size();
  for (auto function : llvm::make_early_inc_range(module.getOps<LLVM::LLVMFuncOp>())) {
    auto recorded = function->getAttrOfType<TypeAttr>(kFunctionTypeAttr);
    if (!recorded)
      continue;
    declareProgram(module);
    auto type = cast<FunctionType>(recorded.getValue());
    std::string needs = (function.getName() + ".needs").str();
    std::string run = (function.getName() + ".run").str();
    OpBuilder b(&getContext());
    b.setInsertionPointAfter(function);
    createNeeds(b, function.getLoc(), needs);
    b.setInsertionPointAfter(function);
    if (failed(createRun(b, function, type, functionIndex++, run)))
      return signalPassFailure();
    ProgramFunction result;
    result.name = function.getName();
    result.type = type;
    result.needs = needs;
    result.run = run;
    addProgramFunction(module, result);
    function->removeAttr(kFunctionTypeAttr);
    function->removeAttr(kChecksAttr);
    SymbolTable::setSymbolVisibility(function, SymbolTable::Visibility::Private);
  }
}
