//===- DefinitionChecks.cpp - checks before the definition runs -----------===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "DefinitionChecks.h"

#include "ConditionTexts.h"

#include "kvc/Conversion/HostCode.h"
#include "kvc/Dialect/KVC/IR/KVC.h"

using namespace mlir;
using namespace kvc;

DefinitionChecks::DefinitionChecks(OpBuilder &builder, LLVM::LLVMFuncOp run, Value program,
                                   int64_t functionIndex)
    : b(builder), loc(run.getLoc()), abi(builder, loc), run(run), rt(run.getArgument(0)),
      call(run.getArgument(2)), program(program), functionIndex(functionIndex) {}

//===----------------------------------------------------------------------===//
// Control flow
//===----------------------------------------------------------------------===//

Block *DefinitionChecks::branch(Value condition) {
  Block *here = b.getInsertionBlock();
  Block *next = b.createBlock(&run.getBody());
  Block *otherwise = b.createBlock(&run.getBody());
  b.setInsertionPointToEnd(here);
  LLVM::CondBrOp::create(b, loc, condition, next, otherwise);
  b.setInsertionPointToStart(next);
  return otherwise;
}

void DefinitionChecks::returnIfFailed(Value status) {
  Block *failed = branch(isEqual(status, abi.i32(KVC_STATUS_OK)));
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(failed);
  LLVM::ReturnOp::create(b, loc, status);
}

void DefinitionChecks::failIfBroken(Value number, ArrayAttr conditions) {
  if (!conditions || conditions.empty())
    return;
  Block *failed = branch(isEqual(number, abi.i32(0)));
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(failed);
  SymbolTable symbols(run->getParentOfType<ModuleOp>());
  StringRef function = run.getName();
  Value text = emitConditionText(b, loc, symbols, function.substr(0, function.rfind('.')),
                                 conditions, number);
  Value status = abi.callTable(rt, offsetof(kvc_rt_api_t, fail), b.getI32Type(),
                               {abi.i32(KVC_STATUS_INVALID_ARGUMENT), text});
  LLVM::ReturnOp::create(b, loc, status);
}

SmallVector<Value> DefinitionChecks::emitShapes(LLVM::LLVMFuncOp shapes, FunctionType type,
                                                Value args) {
  SmallVector<Value> dims;
  forEachDynamicDim(type.getInputs(), [&](unsigned index, int64_t dim) {
    Value arg = abi.loadPtr(args, index * sizeof(void *));
    if (isa<BatchType>(type.getInput(index)))
      dims.push_back(LLVM::SExtOp::create(b, loc, b.getI64Type(),
                                          abi.loadI32(arg, offsetof(kvc_batch_t, num_tokens))));
    else
      dims.push_back(abi.loadI64(arg, offsetof(kvc_tensor_t, shape) + dim * sizeof(int64_t)));
  });
  Value sizes = LLVM::CallOp::create(b, loc, shapes, dims).getResult();
  auto take = [&](int64_t place) -> Value {
    return LLVM::ExtractValueOp::create(b, loc, sizes, place);
  };
  failIfBroken(take(0), shapes->getAttrOfType<ArrayAttr>(kConditionsAttr));
  SmallVector<Value> result;
  for (int64_t i = 0; i <= countDynamicDims(type.getResults()); ++i)
    result.push_back(take(1 + i));
  return result;
}

void DefinitionChecks::failUnless(Value condition, StringRef message, kvc_status_t status) {
  Block *failed = branch(condition);
  OpBuilder::InsertionGuard guard(b);
  auto module = run->getParentOfType<ModuleOp>();
  std::string text = message.str() + '\0';
  b.setInsertionPointToEnd(module.getBody());
  auto global = LLVM::GlobalOp::create(
      b, loc, LLVM::LLVMArrayType::get(b.getI8Type(), text.size()), /*isConstant=*/true,
      LLVM::Linkage::Internal, "kvc.message", b.getStringAttr(text));
  SymbolTable(module).insert(global); // makes the name unique
  b.setInsertionPointToStart(failed);
  Value address = LLVM::AddressOfOp::create(b, loc, global);
  Value result = abi.callTable(rt, offsetof(kvc_rt_api_t, fail), b.getI32Type(),
                               {abi.i32(status), address});
  LLVM::ReturnOp::create(b, loc, result);
}

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

Value DefinitionChecks::getBatch(int64_t number) {
  return number < 0 ? batches[-1 - number] : abi.loadArg(call, number);
}

Value DefinitionChecks::getCache(int64_t number) {
  return number < 0 ? caches[-1 - number] : abi.loadArg(call, number);
}

Value DefinitionChecks::getSize(int64_t number, int64_t dim) {
  return abi.loadI64(abi.loadArg(call, number),
                     offsetof(kvc_tensor_t, shape) + dim * sizeof(int64_t));
}

Value DefinitionChecks::getData(int64_t number) {
  return abi.loadPtr(abi.loadArg(call, number), offsetof(kvc_tensor_t, data));
}

Value DefinitionChecks::allocate(int64_t bytes) {
  return LLVM::AllocaOp::create(b, loc, abi.ptr(), b.getI8Type(), abi.i64(bytes),
                                /*alignment=*/8);
}

Value DefinitionChecks::isEqual(Value lhs, Value rhs) {
  return LLVM::ICmpOp::create(b, loc, LLVM::ICmpPredicate::eq, lhs, rhs);
}

//===----------------------------------------------------------------------===//
// Checks
//===----------------------------------------------------------------------===//

void DefinitionChecks::emitCall() {
  returnIfFailed(abi.callTable(rt, offsetof(kvc_rt_api_t, check_call), b.getI32Type(),
                               {program, abi.i32(functionIndex), call}));
}

/// Makes a kvc_batch_t of arrays, for the runtime to check.
void DefinitionChecks::emitBatch(DictionaryAttr recorded) {
  ArrayRef<int64_t> arrays = recorded.getAs<DenseI64ArrayAttr>("arrays").asArrayRef();
  int64_t queryStart = arrays[0], kvLens = arrays[1], pageStart = arrays[2];
  int64_t pageIds = arrays[3], slots = arrays[4], positions = arrays[5];
  bool isPadded = pageStart < 0;

  Value starts = getSize(queryStart), tokens = getSize(positions);
  Value sequences = LLVM::SubOp::create(b, loc, starts, abi.i64(1));
  auto both = [&](Value lhs, Value rhs) -> Value {
    return LLVM::AndOp::create(b, loc, lhs, rhs);
  };
  auto fits = [&](Value count) -> Value { // as an unsigned number: not negative
    return LLVM::ICmpOp::create(b, loc, LLVM::ICmpPredicate::ult, count, abi.i64(INT32_MAX));
  };
  Value agree = both(fits(sequences), fits(tokens));
  agree = both(agree, isEqual(getSize(kvLens), sequences));
  agree = both(agree, isEqual(getSize(slots), tokens));
  agree = both(agree, isPadded ? isEqual(getSize(pageIds), sequences)
                               : isEqual(getSize(pageStart), starts));
  failUnless(agree, "expected the arrays that a batch is made from to agree on the numbers of "
                    "sequences and tokens");

  Value batch = allocate(sizeof(kvc_batch_t));
  auto set = [&](Value value, int64_t offset) { abi.store(value, batch, offset); };
  auto toI32 = [&](Value value) -> Value {
    return LLVM::TruncOp::create(b, loc, b.getI32Type(), value);
  };
  auto getMax = [&](StringRef name) {
    return abi.i32(recorded.getAs<IntegerAttr>(name).getInt());
  };
  set(abi.i32(sizeof(kvc_batch_t)), offsetof(kvc_batch_t, struct_size));
  set(toI32(sequences), offsetof(kvc_batch_t, num_sequences));
  set(toI32(tokens), offsetof(kvc_batch_t, num_tokens));
  set(getMax("max_query_len"), offsetof(kvc_batch_t, max_query_len));
  set(getMax("max_kv_len"), offsetof(kvc_batch_t, max_kv_len));
  set(abi.i32(0), offsetof(kvc_batch_t, reserved));
  set(getData(queryStart), offsetof(kvc_batch_t, query_start));
  set(getData(kvLens), offsetof(kvc_batch_t, kv_lens));
  set(getData(pageIds), offsetof(kvc_batch_t, page_ids));
  set(getData(slots), offsetof(kvc_batch_t, slots));
  set(getData(positions), offsetof(kvc_batch_t, positions));
  if (isPadded) {
    // The rows of the table may lie apart; the last ends with its own columns.
    Value stride = abi.loadI64(abi.loadArg(call, pageIds), offsetof(kvc_tensor_t, strides));
    Value last = LLVM::SMaxOp::create(b, loc, abi.i64(0),
                                      LLVM::SubOp::create(b, loc, sequences, abi.i64(1)));
    Value count = LLVM::AddOp::create(b, loc, LLVM::MulOp::create(b, loc, last, stride),
                                      getSize(pageIds, 1));
    set(LLVM::ZeroOp::create(b, loc, abi.ptr()), offsetof(kvc_batch_t, page_start));
    set(stride, offsetof(kvc_batch_t, page_stride));
    set(count, offsetof(kvc_batch_t, num_page_ids));
  } else {
    set(getData(pageStart), offsetof(kvc_batch_t, page_start));
    set(abi.i64(0), offsetof(kvc_batch_t, page_stride));
    set(getSize(pageIds), offsetof(kvc_batch_t, num_page_ids));
  }
  batches.push_back(batch);
  returnIfFailed(abi.callTable(rt, offsetof(kvc_rt_api_t, check_batch), b.getI32Type(),
                               {program, abi.i32(functionIndex), batch,
                                LLVM::ZeroOp::create(b, loc, abi.ptr()), abi.i32(1)}));
}

/// Makes as much of a kvc_cache_view_t as the check of a batch looks at.
void DefinitionChecks::emitCache(ArrayRef<int64_t> buffers) {
  Value pages;
  for (int64_t buffer : buffers) {
    Value size = getSize(buffer);
    pages = pages ? Value(LLVM::SMinOp::create(b, loc, pages, size)) : size;
  }
  Value view = allocate(sizeof(kvc_cache_view_t));
  abi.store(abi.i32(sizeof(kvc_cache_view_t)), view, offsetof(kvc_cache_view_t, struct_size));
  abi.store(pages, view, offsetof(kvc_cache_view_t, num_pages));
  caches.push_back(view);
}

void DefinitionChecks::emitUse(ArrayRef<int64_t> use) {
  returnIfFailed(abi.callTable(rt, offsetof(kvc_rt_api_t, check_batch), b.getI32Type(),
                               {program, abi.i32(functionIndex), getBatch(use[0]),
                                getCache(use[1]), abi.i32(use[2])}));
}

void DefinitionChecks::emitRows(Value count, ArrayRef<int64_t> tensors, StringRef message) {
  Value same;
  for (int64_t tensor : tensors) {
    Value equal = isEqual(getSize(tensor), count);
    same = same ? Value(LLVM::AndOp::create(b, loc, same, equal)) : equal;
  }
  failUnless(same, message);
}

/// True if `attribute` is an array of `minSize` numbers or more, the first of them from
/// `firstLimit` on and all others arguments.
static bool areNumbers(Attribute attribute, size_t minSize, int64_t firstLimit,
                       int64_t numArgs) {
  auto array = dyn_cast_or_null<DenseI64ArrayAttr>(attribute);
  if (!array || static_cast<size_t>(array.size()) < minSize)
    return false;
  ArrayRef<int64_t> numbers = array.asArrayRef();
  return numbers.front() >= firstLimit && numbers.front() < numArgs &&
         llvm::all_of(numbers.drop_front(),
                      [&](int64_t number) { return number >= 0 && number < numArgs; });
}

bool DefinitionChecks::isWellFormed(DictionaryAttr checks, int64_t numArgs) {
  auto getList = [&](StringRef name) { return checks.getAs<ArrayAttr>(name); };
  for (StringRef name : {"batches", "caches", "uses", "rows", "equal_rows"})
    if (!getList(name))
      return false;
  auto all = [&](StringRef name, size_t minSize, int64_t firstLimit) {
    return llvm::all_of(getList(name), [&](Attribute numbers) {
      return areNumbers(numbers, minSize, firstLimit, numArgs);
    });
  };
  auto isBatch = [&](Attribute attribute) {
    auto batch = dyn_cast<DictionaryAttr>(attribute);
    auto arrays = batch ? batch.getAs<DenseI64ArrayAttr>("arrays") : nullptr;
    // Without page_start (the third), the page ids are a padded table.
    return arrays && arrays.size() == 6 && batch.getAs<IntegerAttr>("max_query_len") &&
           batch.getAs<IntegerAttr>("max_kv_len") &&
           llvm::all_of(llvm::enumerate(arrays.asArrayRef()), [&](auto array) {
             return array.value() >= (array.index() == 2 ? -1 : 0) && array.value() < numArgs;
           });
  };
  int64_t numBatches = getList("batches").size(), numCaches = getList("caches").size();
  auto isUse = [&](Attribute attribute) {
    auto use = dyn_cast<DenseI64ArrayAttr>(attribute);
    return use && use.size() == 3 && use[0] >= -numBatches && use[0] < numArgs &&
           use[1] >= -numCaches && use[1] < numArgs;
  };
  return llvm::all_of(getList("batches"), isBatch) && all("caches", 1, 0) &&
         llvm::all_of(getList("uses"), isUse) && all("rows", 2, -numBatches) &&
         all("equal_rows", 2, 0);
}

void DefinitionChecks::emitRecorded(DictionaryAttr checks) {
  if (!checks)
    return;
  auto getList = [&](StringRef name) { return checks.getAs<ArrayAttr>(name); };
  auto getNumbers = [&](StringRef name) {
    return llvm::map_range(getList(name), [](Attribute numbers) {
      return cast<DenseI64ArrayAttr>(numbers).asArrayRef();
    });
  };
  for (auto batch : getList("batches").getAsRange<DictionaryAttr>())
    emitBatch(batch);
  for (ArrayRef<int64_t> buffers : getNumbers("caches"))
    emitCache(buffers);
  for (ArrayRef<int64_t> use : getNumbers("uses"))
    emitUse(use);
  for (ArrayRef<int64_t> rows : getNumbers("rows")) {
    Value tokens = abi.loadI32(getBatch(rows[0]), offsetof(kvc_batch_t, num_tokens));
    emitRows(LLVM::SExtOp::create(b, loc, b.getI64Type(), tokens), rows.drop_front(),
             "expected tensors to have as many rows as their batch has new tokens");
  }
  for (ArrayRef<int64_t> rows : getNumbers("equal_rows"))
    emitRows(getSize(rows[0]), rows.drop_front(),
             "expected the tensors of a merge to have the same number of rows");
}
