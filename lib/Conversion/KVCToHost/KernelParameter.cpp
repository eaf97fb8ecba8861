//===- KernelParameter.cpp - entries of kvc.parameters --------------------===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "kvc/Conversion/KernelABI.h"

#include "kvc/Dialect/KVC/IR/KVC.h"

using namespace mlir;
using namespace kvc;

KernelParameter KernelParameter::operand(int64_t number) {
  KernelParameter parameter(KernelValue::Operand);
  parameter.number = number;
  return parameter;
}

KernelParameter KernelParameter::result(int64_t number) {
  KernelParameter parameter(KernelValue::Result);
  parameter.number = number;
  return parameter;
}

KernelParameter KernelParameter::component(StringRef name) {
  KernelParameter parameter(KernelValue::Component);
  parameter.name = name;
  return parameter;
}

//===----------------------------------------------------------------------===//
// Spelling
//===----------------------------------------------------------------------===//

static constexpr std::pair<KernelValue, StringLiteral> kSpellings[] = {
    {KernelValue::Operand, "operand"},
    {KernelValue::Result, "result"},
    {KernelValue::Component, "component"},
    {KernelValue::QueryStart, "batch query_start"},
    {KernelValue::KvLens, "batch kv_lens"},
    {KernelValue::PageStart, "batch page_start"},
    {KernelValue::PageIds, "batch page_ids"},
    {KernelValue::Slots, "batch slots"},
    {KernelValue::Positions, "batch positions"},
    {KernelValue::PageStride, "batch page_stride"},
    {KernelValue::NumTokens, "batch num_tokens"},
    {KernelValue::NumSequences, "batch num_sequences"},
    {KernelValue::MaxKvLen, "batch max_kv_len"},
    {KernelValue::Rows, "rows"},
    {KernelValue::ListItems, "list items"},
    {KernelValue::ListMerges, "list merges"},
    {KernelValue::ListCounts, "list counts"},
    {KernelValue::ListTarget, "list target"},
    {KernelValue::ListCluster, "list cluster"},
    {KernelValue::PartsOutput, "parts output"},
    {KernelValue::PartsStats, "parts stats"},
};

std::string KernelParameter::print() const {
  std::string text = op ? "op " + std::to_string(*op) + " " : "";
  text += llvm::find_if(kSpellings, [&](auto &entry) { return entry.first == value; })->second;
  if (value == KernelValue::Component)
    return text + " " + name.str();
  return hasStrides() ? text + " " + std::to_string(number) : text;
}

/// Takes "<word> <number>" from the front of `text`, and the space after it.
static std::optional<int64_t> consumeNumber(StringRef &text, StringRef word) {
  StringRef rest = text;
  uint32_t number;
  if (!rest.consume_front(word) || !rest.consume_front(" ") || rest.consumeInteger(10, number))
    return std::nullopt;
  if (!rest.empty() && !rest.consume_front(" "))
    return std::nullopt;
  text = rest;
  return number;
}

std::optional<KernelParameter> KernelParameter::parse(StringRef text) {
  std::optional<int64_t> op = consumeNumber(text, "op");
  std::optional<KernelParameter> parameter;
  StringRef rest = text;
  if (std::optional<int64_t> number = consumeNumber(rest, "operand"); number && rest.empty()) {
    parameter = operand(*number);
  } else if (number = consumeNumber(rest, "result"); number && rest.empty()) {
    parameter = result(*number);
  } else if (rest.consume_front("component ")) {
    parameter = component(rest);
  } else {
    for (auto [value, spelling] : kSpellings)
      if (text == spelling && value > KernelValue::Component)
        parameter = value;
  }
  if (!parameter || (op && parameter->isOfList()))
    return std::nullopt;
  parameter->op = op;
  return parameter;
}

//===----------------------------------------------------------------------===//
// Types
//===----------------------------------------------------------------------===//

/// The operand of `op` that is of type `T`.
template <typename T>
static Value findOperand(Operation *op) {
  for (Value operand : op->getOperands())
    if (isa<T>(operand.getType()))
      return operand;
  return {};
}

std::optional<SmallVector<Type, 4>>
kvc::getParameterTypes(const KernelParameter &parameter, Operation *op, unsigned addressSpace) {
  MLIRContext *context = op->getContext();
  Type pointer = LLVM::LLVMPointerType::get(context, addressSpace);
  Type i32 = IntegerType::get(context, 32), i64 = IntegerType::get(context, 64);
  if (parameter.isOfBatch() && !findOperand<BatchType>(op))
    return std::nullopt;
  switch (parameter.value) {
  case KernelValue::Operand:
  case KernelValue::Result: {
    bool isOperand = parameter.value == KernelValue::Operand;
    if (parameter.number >= (isOperand ? op->getNumOperands() : op->getNumResults()))
      return std::nullopt;
    auto type = dyn_cast<RankedTensorType>(isOperand
                                               ? op->getOperand(parameter.number).getType()
                                               : op->getResult(parameter.number).getType());
    if (!type || type.getRank() < 1 || type.getRank() > 3)
      return std::nullopt;
    SmallVector<Type, 4> types = {pointer};
    types.append(std::min<int64_t>(type.getRank(), 2), i64);
    return types;
  }
  case KernelValue::Component: {
    Value cache = findOperand<CacheType>(op);
    if (!cache || cast<CacheType>(cache.getType()).getArrayIndex(parameter.name) < 0)
      return std::nullopt;
    return SmallVector<Type, 4>{pointer, i64, i64, i64};
  }
  case KernelValue::NumTokens:
  case KernelValue::NumSequences:
  case KernelValue::MaxKvLen:
  case KernelValue::ListTarget:
  case KernelValue::ListCluster:
    return SmallVector<Type, 4>{i32};
  case KernelValue::Rows:
    if (!findOperand<BatchType>(op) && !isa<MergeOp>(op))
      return std::nullopt;
    return SmallVector<Type, 4>{i64};
  case KernelValue::PageStride:
    return SmallVector<Type, 4>{i64};
  default:
    return SmallVector<Type, 4>{pointer};
  }
}
