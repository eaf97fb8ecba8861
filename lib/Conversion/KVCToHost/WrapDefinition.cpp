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
#include "kvc/Conversion/HostCode.h"
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

  /// The fields of a memref descriptor.
  void addBuffer(Value data, ArrayRef<Value> sizes, ArrayRef<Value> strides);

private:
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
  for (auto [index, array] : llvm::enumerate(type.getArrays())) {
    int64_t bytes =
        offsetof(kvc_cache_view_t, components) + index * sizeof(kvc_component_view_t);
    addComponent(getArrayBuffer(type, array), array.layout == Layout::RowMajor, pages,
                 abi.at(view, bytes));
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

namespace {
/// A function that is lowered.
struct Definition {
  LLVM::LLVMFuncOp lowered;
  LLVM::LLVMFuncOp shapes; ///< Null if it has none.
  FunctionType type;       ///< Before it was decomposed.
};
} // namespace

/// Finds what belongs to a lowered function; an error if it is not as recorded.
static LogicalResult find(LLVM::LLVMFuncOp lowered, SymbolTable &symbols,
                          Definition &definition) {
  definition.lowered = lowered;
  definition.type =
      cast<FunctionType>(lowered->getAttrOfType<TypeAttr>(kFunctionTypeAttr).getValue());
  auto name = lowered->getAttrOfType<FlatSymbolRefAttr>(kShapesAttr);
  if (!name)
    return success();
  definition.shapes = symbols.lookup<LLVM::LLVMFuncOp>(name.getValue());
  MLIRContext *context = lowered.getContext();
  auto i64 = IntegerType::get(context, 64);
  SmallVector<Type> results(2 + countDynamicDims(definition.type.getResults()), i64);
  results.front() = IntegerType::get(context, 32);
  auto type = LLVM::LLVMFunctionType::get(
      LLVM::LLVMStructType::getLiteral(context, results),
      SmallVector<Type>(countDynamicDims(definition.type.getInputs()), i64));
  if (!definition.shapes || definition.shapes.getFunctionType() != type)
    return lowered.emitOpError("expected a function of shapes of type ") << type;
  return success();
}

/// Creates `name` with three pointers as arguments, and the builder within.
static LLVM::LLVMFuncOp createEntry(OpBuilder &b, Location loc, StringRef name) {
  Type ptr = LLVM::LLVMPointerType::get(b.getContext());
  auto type = LLVM::LLVMFunctionType::get(b.getI32Type(), {ptr, ptr, ptr});
  auto function = LLVM::LLVMFuncOp::create(b, loc, name, type);
  b.setInsertionPointToStart(function.addEntryBlock(b));
  return function;
}

/// needs(rt, bounds, out): what the function of shapes says; without one, nothing.
static void createNeeds(OpBuilder &b, Definition definition, StringRef name) {
  Location loc = definition.lowered.getLoc();
  LLVM::LLVMFuncOp function = createEntry(b, loc, name);
  ABIBuilder abi(b, loc);
  Value bytes = abi.i64(0);
  if (definition.shapes) {
    DefinitionChecks checks(b, function, /*program=*/{}, /*functionIndex=*/0);
    Value args = abi.loadPtr(function.getArgument(1), offsetof(kvc_bounds_t, args));
    Value null = LLVM::ZeroOp::create(b, loc, abi.ptr());
    checks.failUnless(LLVM::ICmpOp::create(b, loc, LLVM::ICmpPredicate::ne, args, null),
                      "expected bounds with the arguments of a call");
    bytes = checks.emitShapes(definition.shapes, definition.type, args).back();
  }
  abi.store(bytes, function.getArgument(2), offsetof(kvc_needs_t, workspace_size));
  LLVM::ReturnOp::create(b, loc, abi.i32(KVC_STATUS_OK));
}

/// shapes(rt, args, out): dimensions of the results.
static void createShapes(OpBuilder &b, Definition definition, StringRef name) {
  Location loc = definition.lowered.getLoc();
  LLVM::LLVMFuncOp function = createEntry(b, loc, name);
  ABIBuilder abi(b, loc);
  DefinitionChecks checks(b, function, /*program=*/{}, /*functionIndex=*/0);
  SmallVector<Value> sizes =
      checks.emitShapes(definition.shapes, definition.type, function.getArgument(1));
  auto dynamic = sizes.begin();
  for (auto [index, type] : llvm::enumerate(definition.type.getResults()))
    for (auto [dim, size] : llvm::enumerate(cast<RankedTensorType>(type).getShape()))
      abi.store(ShapedType::isDynamic(size) ? *dynamic++ : abi.i64(size),
                function.getArgument(2), (index * KVC_MAX_RANK + dim) * sizeof(int64_t));
  LLVM::ReturnOp::create(b, loc, abi.i32(KVC_STATUS_OK));
}

/// Checks the results' shapes and the workspace; returns the bytes of that.
static Value checkSizes(OpBuilder &b, DefinitionChecks &checks, Definition definition,
                        Value call) {
  Location loc = definition.lowered.getLoc();
  ABIBuilder abi(b, loc);
  SmallVector<Value> sizes = checks.emitShapes(
      definition.shapes, definition.type, abi.loadPtr(call, offsetof(kvc_call_t, args)));
  unsigned place = 0;
  forEachDynamicDim(definition.type.getResults(), [&](unsigned index, int64_t dim) {
    Value given = abi.loadI64(abi.loadArg(call, definition.type.getNumInputs() + index),
                              offsetof(kvc_tensor_t, shape) + dim * sizeof(int64_t));
    std::string message = ("expected result " + Twine(index) +
                           " to have the shape that follows from those of the arguments")
                              .str();
    checks.failUnless(checks.isEqual(given, sizes[place++]), message);
  });
  Value given = abi.loadI64(call, offsetof(kvc_call_t, workspace_size));
  checks.failUnless(
      LLVM::ICmpOp::create(b, loc, LLVM::ICmpPredicate::ule, sizes.back(), given),
      "expected a workspace of the size that 'needs' gives for this call, got a smaller one");
  return sizes.back();
}

/// run(rt, stream, call): checks the call and does the work.
static LogicalResult createRun(OpBuilder &b, Definition definition,
                               int64_t functionIndex, StringRef name) {
  LLVM::LLVMFuncOp lowered = definition.lowered;
  FunctionType type = definition.type;
  Location loc = lowered.getLoc();
  LLVM::LLVMFuncOp function = createEntry(b, loc, name);
  Value call = function.getArgument(2);
  ABIBuilder abi(b, loc);
  Value program =
      LLVM::CallOp::create(b, loc, TypeRange(abi.ptr()), kProgramSymbol, ValueRange())
          .getResult();
  Value fault;
  if (definition.shapes) {
    fault = LLVM::AllocaOp::create(b, loc, abi.ptr(), b.getI32Type(), abi.i64(1));
    abi.store(abi.i32(0), fault, 0);
  }
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
  Value workspaceBytes;
  if (definition.shapes)
    workspaceBytes = checkSizes(b, checks, definition, call);
  for (ArrayRef<Type> types : {type.getInputs(), type.getResults()})
    for (Type argType : types)
      args.add(argType, abi.loadArg(call, index++));
  if (definition.shapes) {
    args.addBuffer(abi.loadPtr(call, offsetof(kvc_call_t, workspace)), workspaceBytes,
                   abi.i64(1));
    args.addBuffer(fault, {}, {});
  }
  if (!llvm::equal(ValueRange(args.getValues()).getTypes(), lowered.getArgumentTypes()))
    return lowered.emitOpError("expected the arguments that kvc-decompose and the upstream "
                               "lowering make of ")
           << type << ", got " << lowered.getFunctionType();
  LLVM::CallOp::create(b, loc, lowered, args.getValues());
  if (definition.shapes)
    checks.failIfBroken(abi.loadI32(fault, 0),
                        lowered->getAttrOfType<ArrayAttr>(kConditionsAttr));
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

/// Functions of libraries that loops are compiled to calls of.
static bool isOfLibrary(StringRef name) {
  return llvm::is_contained({"aligned_alloc", "free", "malloc", "memcpy", "memmove", "memset"},
                            name);
}

void WrapDefinitionPass::runOnOperation() {
  ModuleOp module = getOperation();
  SymbolTable symbols(module);
  int64_t functionIndex = getProgramFunctions(module).size();
  for (auto function : llvm::make_early_inc_range(module.getOps<LLVM::LLVMFuncOp>())) {
    if (!function->hasAttrOfType<TypeAttr>(kFunctionTypeAttr))
      continue;
    if (isOfLibrary(function.getName())) {
      function.emitOpError("expected a name that is not one of the C library, which the "
                           "definition calls");
      return signalPassFailure();
    }
    Definition definition;
    if (failed(find(function, symbols, definition)))
      return signalPassFailure();
    declareProgram(module);
    auto nameOf = [&](StringRef entry) { return (function.getName() + "." + entry).str(); };
    std::string needs = nameOf("needs"), run = nameOf("run"), shapes;
    OpBuilder b(&getContext());
    b.setInsertionPointAfter(function);
    createNeeds(b, definition, needs);
    if (definition.shapes) {
      shapes = nameOf("result_shapes");
      b.setInsertionPointAfter(function);
      createShapes(b, definition, shapes);
    }
    b.setInsertionPointAfter(function);
    if (failed(createRun(b, definition, functionIndex++, run)))
      return signalPassFailure();
    ProgramFunction result;
    result.name = function.getName();
    result.type = definition.type;
    result.needs = needs;
    result.run = run;
    result.shapes = shapes;
    if (auto tokenRows = function->getAttrOfType<DenseBoolArrayAttr>(kTokenRowsAttr))
      result.tokenRows = tokenRows;
    addProgramFunction(module, result);
    for (StringRef name : {kFunctionTypeAttr, kChecksAttr, kShapesAttr, kConditionsAttr,
                           kDimSourcesAttr, kTokenRowsAttr})
      function->removeAttr(name);
    SymbolTable::setSymbolVisibility(function, SymbolTable::Visibility::Private);
  }
}
