//===- Checks.cpp - what a call of a function has to fulfil ---------------===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Collects what the types of a function do not say, for its entry point to check
// before anything is read: see kChecksAttr.
//===----------------------------------------------------------------------===//
#include "Patterns.h"

#include "kvc/Conversion/DefinitionABI.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace kvc;

namespace {
/// Collects the checks of one function.
class CheckCollector {
public:
  explicit CheckCollector(func::FuncOp function) : function(function), b(function) {}

  DictionaryAttr collect();

private:
  /// Number of an argument of the function; nothing for other values.
  std::optional<int64_t> getArgument(Value value);
  /// Numbers of the arguments among `values`, and of the results that they become.
  SmallVector<int64_t> getTensors(ValueRange values);
  /// Number of a batch or cache; nothing if it is neither an argument nor recorded.
  std::optional<int64_t> getReference(Value value);

  void addBatch(Operation *op, ArrayRef<Value> arrays, int64_t maxQueryLen, int64_t maxKvLen);
  void addCache(CacheFromBuffersOp op);
  void addUse(Value batch, Value cache);
  void addRows(Value batch, ValueRange tensors);
  void addEqualRows(ValueRange tensors);

  func::FuncOp function;
  Builder b;
  DenseMap<Value, int64_t> made;
  SmallVector<Attribute> batches, caches, uses, rows, equalRows;
};
} // namespace

std::optional<int64_t> CheckCollector::getArgument(Value value) {
  auto arg = dyn_cast_or_null<BlockArgument>(value);
  if (!arg || arg.getOwner() != &function.getBody().front())
    return std::nullopt;
  return arg.getArgNumber();
}

SmallVector<int64_t> CheckCollector::getTensors(ValueRange values) {
  SmallVector<int64_t> numbers;
  for (Value value : values) {
    if (std::optional<int64_t> number = getArgument(value))
      numbers.push_back(*number);
    for (OpOperand &use : value.getUses())
      if (isa<func::ReturnOp>(use.getOwner()))
        numbers.push_back(function.getNumArguments() + use.getOperandNumber());
  }
  return numbers;
}

std::optional<int64_t> CheckCollector::getReference(Value value) {
  if (auto it = made.find(value); it != made.end())
    return it->second;
  return getArgument(value);
}

void CheckCollector::addBatch(Operation *op, ArrayRef<Value> arrays, int64_t maxQueryLen,
                              int64_t maxKvLen) {
  SmallVector<int64_t> numbers;
  for (Value array : arrays) {
    std::optional<int64_t> number = array ? getArgument(array) : -1;
    if (!number)
      return; // an array that the program computes is its own affair
    numbers.push_back(*number);
  }
  made[op->getResult(0)] = -1 - static_cast<int64_t>(batches.size());
  batches.push_back(b.getDictionaryAttr(
      {b.getNamedAttr("arrays", b.getDenseI64ArrayAttr(numbers)),
       b.getNamedAttr("max_query_len", b.getI64IntegerAttr(maxQueryLen)),
       b.getNamedAttr("max_kv_len", b.getI64IntegerAttr(maxKvLen))}));
}

void CheckCollector::addCache(CacheFromBuffersOp op) {
  SmallVector<int64_t> numbers;
  for (Value buffer : op.getBuffers()) {
    std::optional<int64_t> number = getArgument(buffer);
    if (!number)
      return;
    numbers.push_back(*number);
  }
  made[op.getCache()] = -1 - static_cast<int64_t>(caches.size());
  caches.push_back(b.getDenseI64ArrayAttr(numbers));
}

/// check_call sees to arguments that are used with arguments.
void CheckCollector::addUse(Value batch, Value cache) {
  std::optional<int64_t> batchNumber = getReference(batch), cacheNumber = getReference(cache);
  if (batchNumber && cacheNumber && (*batchNumber < 0 || *cacheNumber < 0))
    uses.push_back(b.getDenseI64ArrayAttr(
        {*batchNumber, *cacheNumber, cast<CacheType>(cache.getType()).getPageSize()}));
}

void CheckCollector::addRows(Value batch, ValueRange tensors) {
  std::optional<int64_t> number = getReference(batch);
  SmallVector<int64_t> numbers = getTensors(tensors);
  if (!number || numbers.empty())
    return;
  numbers.insert(numbers.begin(), *number);
  rows.push_back(b.getDenseI64ArrayAttr(numbers));
}

void CheckCollector::addEqualRows(ValueRange tensors) {
  SmallVector<int64_t> numbers = getTensors(tensors);
  if (numbers.size() > 1)
    equalRows.push_back(b.getDenseI64ArrayAttr(numbers));
}

DictionaryAttr CheckCollector::collect() {
  function.walk([&](Operation *op) {
    TypeSwitch<Operation *>(op)
        .Case<BatchFromCSROp>([&](auto csr) {
          addBatch(op,
                   {csr.getQueryStart(), csr.getKvLens(), csr.getPageStart(),
                    csr.getPageIds(), csr.getSlots(), csr.getPositions()},
                   csr.getMaxQueryLen(), csr.getMaxKvLen());
        })
        .Case<BatchFromBlockTableOp>([&](auto padded) {
          addBatch(op,
                   {padded.getQueryStart(), padded.getKvLens(), Value(),
                    padded.getBlockTable(), padded.getSlots(), padded.getPositions()},
                   padded.getMaxQueryLen(), padded.getMaxKvLen());
        })
        .Case<CacheFromBuffersOp>([&](auto cache) { addCache(cache); })
        .Case<AppendOp>([&](auto append) {
          addUse(append.getBatch(), append.getCache());
          SmallVector<Value> tensors = llvm::to_vector(append.getValues());
          llvm::append_range(tensors, append->getResults());
          addRows(append.getBatch(), tensors);
        })
        .Case<AttentionOp>([&](auto attention) {
          addUse(attention.getBatch(), attention.getCache());
          SmallVector<Value> tensors = llvm::to_vector(attention.getQueries());
          llvm::append_range(tensors, attention->getResults());
          addRows(attention.getBatch(), tensors);
        })
        .Case<RopeOp>([&](auto rope) {
          addRows(rope.getBatch(), {rope.getInput(), rope.getOutput()});
        })
        .Case<MergeOp>([&](auto merge) {
          SmallVector<Value> tensors = llvm::to_vector(merge.getOutputs());
          llvm::append_range(tensors, merge.getLses());
          llvm::append_range(tensors, merge->getResults());
          addEqualRows(tensors);
        });
  });
  SmallVector<NamedAttribute> checks;
  for (auto [name, list] :
       {std::pair("batches", &batches), std::pair("caches", &caches), std::pair("uses", &uses),
        std::pair("rows", &rows), std::pair("equal_rows", &equalRows)})
    checks.push_back(b.getNamedAttr(name, b.getArrayAttr(*list)));
  return b.getDictionaryAttr(checks);
}

void kvc::recordChecks(Operation *function) {
  function->setAttr(kChecksAttr, CheckCollector(cast<func::FuncOp>(function)).collect());
}
