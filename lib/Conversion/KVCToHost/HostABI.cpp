//===- HostABI.cpp - the host ABI as IR -----------------------------------===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "kvc/Conversion/HostABI.h"

#include "kvc/Dialect/KVC/IR/KVC.h"

#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace kvc {

static constexpr StringLiteral kFunctionsAttr = "kvc.functions";

void addProgramFunction(ModuleOp module, const ProgramFunction &function) {
  Builder b(module.getContext());
  SmallVector<Attribute> functions;
  if (auto list = module->getAttrOfType<ArrayAttr>(kFunctionsAttr))
    functions.append(list.begin(), list.end());
  functions.push_back(b.getDictionaryAttr(
      {b.getNamedAttr("name", b.getStringAttr(function.name)),
       b.getNamedAttr("type", TypeAttr::get(function.type)),
       b.getNamedAttr("needs", b.getStringAttr(function.needs)),
       b.getNamedAttr("run", b.getStringAttr(function.run))}));
  module->setAttr(kFunctionsAttr, b.getArrayAttr(functions));
}

SmallVector<ProgramFunction> getProgramFunctions(ModuleOp module) {
  SmallVector<ProgramFunction> functions;
  if (auto list = module->getAttrOfType<ArrayAttr>(kFunctionsAttr))
    for (auto entry : list.getAsRange<DictionaryAttr>())
      functions.push_back(
          {entry.getAs<StringAttr>("name").getValue(),
           cast<FunctionType>(entry.getAs<TypeAttr>("type").getValue()),
           entry.getAs<StringAttr>("needs").getValue(),
           entry.getAs<StringAttr>("run").getValue()});
  return functions;
}

kvc_dtype_t getABIDtype(Type elementType) {
  return TypeSwitch<Type, kvc_dtype_t>(elementType)
      .Case<Float32Type>([](auto) { return KVC_DTYPE_F32; })
      .Case<Float16Type>([](auto) { return KVC_DTYPE_F16; })
      .Case<BFloat16Type>([](auto) { return KVC_DTYPE_BF16; })
      .Case<Float8E4M3FNType>([](auto) { return KVC_DTYPE_F8E4M3FN; })
      .Case<Float8E5M2Type>([](auto) { return KVC_DTYPE_F8E5M2; })
      .Case<IntegerType>([](IntegerType type) -> kvc_dtype_t {
        switch (type.getWidth()) {
        case 4:
          return KVC_DTYPE_I4;
        case 8:
          return KVC_DTYPE_I8;
        case 32:
          return KVC_DTYPE_I32;
        case 64:
          return KVC_DTYPE_I64;
        default:
          return 0;
        }
      })
      .Default([](Type) { return 0; });
}

static kvc_layout_t getABILayout(Layout layout) {
  switch (layout) {
  case Layout::RowMajor:
    return KVC_LAYOUT_ROW_MAJOR;
  case Layout::PackedKey:
    return KVC_LAYOUT_PACKED_KEY;
  case Layout::PackedValue:
    return KVC_LAYOUT_PACKED_VALUE;
  }
  llvm_unreachable("unknown layout");
}

kvc_cache_type_t getABICacheType(CacheType type) {
  kvc_cache_type_t result = {};
  result.page_size = type.getPageSize();
  result.num_components = type.getComponents().size();
  for (auto [component, out] : llvm::zip(type.getComponents(), result.components)) {
    llvm::copy(component.getName().getValue(), out.name);
    out.heads = component.getHeads();
    out.width = component.getWidth();
    out.dtype = getABIDtype(component.getElementType());
    out.layout = getABILayout(component.getLayout());
  }
  return result;
}

Value ABIBuilder::i32(int64_t value) {
  return LLVM::ConstantOp::create(b, loc, b.getI32IntegerAttr(value));
}

Value ABIBuilder::i64(int64_t value) {
  return LLVM::ConstantOp::create(b, loc, b.getI64IntegerAttr(value));
}

Value ABIBuilder::at(Value base, int64_t bytes) {
  if (bytes == 0)
    return base;
  return LLVM::GEPOp::create(b, loc, ptr(), b.getI8Type(), base,
                             ArrayRef<LLVM::GEPArg>{static_cast<int32_t>(bytes)});
}

Value ABIBuilder::load(Value base, int64_t bytes, Type type) {
  return LLVM::LoadOp::create(b, loc, type, at(base, bytes));
}

void ABIBuilder::store(Value value, Value base, int64_t bytes) {
  LLVM::StoreOp::create(b, loc, value, at(base, bytes));
}

Value ABIBuilder::loadArg(Value call, int64_t index) {
  return loadPtr(loadPtr(call, offsetof(kvc_call_t, args)), index * sizeof(void *));
}

Value ABIBuilder::callTable(Value rt, int64_t offset, Type result, ValueRange args) {
  auto type = LLVM::LLVMFunctionType::get(result, llvm::to_vector(args.getTypes()));
  SmallVector<Value> operands = {loadPtr(rt, offset)};
  llvm::append_range(operands, args);
  return LLVM::CallOp::create(b, loc, type, operands).getResult();
}

} // namespace kvc
