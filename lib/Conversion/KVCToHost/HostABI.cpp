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
static constexpr StringLiteral kKernelsAttr = "kvc.kernels";
static constexpr StringLiteral kImageAttr = "kvc.image";

//===----------------------------------------------------------------------===//
// What conversions hand over
//===----------------------------------------------------------------------===//

/// Appends `entry` to the list called `name`; returns its place.
static int32_t appendEntry(ModuleOp module, StringRef name, ArrayRef<NamedAttribute> entry) {
  Builder b(module.getContext());
  SmallVector<Attribute> entries;
  if (auto list = module->getAttrOfType<ArrayAttr>(name))
    entries.append(list.begin(), list.end());
  entries.push_back(b.getDictionaryAttr(entry));
  module->setAttr(name, b.getArrayAttr(entries));
  return entries.size() - 1;
}

/// The entries of the list called `name`.
static SmallVector<DictionaryAttr> getEntries(ModuleOp module, StringRef name) {
  if (auto list = module->getAttrOfType<ArrayAttr>(name))
    return llvm::to_vector(list.getAsRange<DictionaryAttr>());
  return {};
}

/// Fields of an entry; without the attribute, empty or 0.
static StringRef getText(DictionaryAttr entry, StringRef name) {
  auto attr = entry.getAs<StringAttr>(name);
  return attr ? attr.getValue() : StringRef();
}
static int32_t getNumber(DictionaryAttr entry, StringRef name) {
  auto attr = entry.getAs<IntegerAttr>(name);
  return attr ? attr.getInt() : 0;
}

void addProgramFunction(ModuleOp module, const ProgramFunction &function) {
  Builder b(module.getContext());
  SmallVector<NamedAttribute> entry = {
      b.getNamedAttr("name", b.getStringAttr(function.name)),
      b.getNamedAttr("type", TypeAttr::get(function.type)),
      b.getNamedAttr("needs", b.getStringAttr(function.needs)),
      b.getNamedAttr("run", b.getStringAttr(function.run))};
  if (!function.shapes.empty())
    entry.push_back(b.getNamedAttr("shapes", b.getStringAttr(function.shapes)));
  if (!function.tokenRows.empty())
    entry.push_back(
        b.getNamedAttr("token_rows", b.getDenseBoolArrayAttr(function.tokenRows)));
  if (function.maxQueryLen != 0)
    entry.push_back(
        b.getNamedAttr("max_query_len", b.getI32IntegerAttr(function.maxQueryLen)));
  if (!function.alignments.empty())
    entry.push_back(
        b.getNamedAttr("alignments", b.getDenseI32ArrayAttr(function.alignments)));
  appendEntry(module, kFunctionsAttr, entry);
}

SmallVector<ProgramFunction> getProgramFunctions(ModuleOp module) {
  SmallVector<ProgramFunction> functions;
  for (DictionaryAttr entry : getEntries(module, kFunctionsAttr)) {
    ProgramFunction function;
    function.name = getText(entry, "name");
    function.type = cast<FunctionType>(entry.getAs<TypeAttr>("type").getValue());
    function.needs = getText(entry, "needs");
    function.run = getText(entry, "run");
    function.shapes = getText(entry, "shapes");
    if (auto tokenRows = entry.getAs<DenseBoolArrayAttr>("token_rows"))
      function.tokenRows = tokenRows;
    function.maxQueryLen = getNumber(entry, "max_query_len");
    if (auto alignments = entry.getAs<DenseI32ArrayAttr>("alignments"))
      function.alignments = alignments;
    functions.push_back(function);
  }
  return functions;
}

int32_t addProgramKernel(ModuleOp module, const ProgramKernel &kernel) {
  Builder b(module.getContext());
  return appendEntry(
      module, kKernelsAttr,
      {b.getNamedAttr("name", b.getStringAttr(kernel.name)),
       b.getNamedAttr("threads", b.getI32IntegerAttr(kernel.threads)),
       b.getNamedAttr("shared_bytes", b.getI32IntegerAttr(kernel.sharedBytes))});
}

SmallVector<ProgramKernel> getProgramKernels(ModuleOp module) {
  SmallVector<ProgramKernel> kernels;
  for (DictionaryAttr entry : getEntries(module, kKernelsAttr))
    kernels.push_back({getText(entry, "name"), getNumber(entry, "threads"),
                       getNumber(entry, "shared_bytes")});
  return kernels;
}

void setProgramImage(ModuleOp module, const ProgramImage &image) {
  Builder b(module.getContext());
  module->setAttr(kImageAttr,
                  b.getDictionaryAttr({b.getNamedAttr("target", b.getStringAttr(image.target)),
                                       b.getNamedAttr("data", b.getStringAttr(image.data))}));
}

std::optional<ProgramImage> getProgramImage(ModuleOp module) {
  auto image = module->getAttrOfType<DictionaryAttr>(kImageAttr);
  if (!image)
    return std::nullopt;
  return ProgramImage{getText(image, "target"), getText(image, "data")};
}

void removeProgramAttributes(ModuleOp module) {
  for (StringRef name : {kFunctionsAttr, kKernelsAttr, kImageAttr})
    module->removeAttr(name);
}

//===----------------------------------------------------------------------===//
// The structures
//===----------------------------------------------------------------------===//

kvc_dtype_t getABIDtype(Type elementType) {
  return TypeSwitch<Type, kvc_dtype_t>(elementType)
      .Case<Float64Type>([](auto) { return KVC_DTYPE_F64; })
      .Case<Float32Type>([](auto) { return KVC_DTYPE_F32; })
      .Case<Float16Type>([](auto) { return KVC_DTYPE_F16; })
      .Case<BFloat16Type>([](auto) { return KVC_DTYPE_BF16; })
      .Case<Float8E4M3FNType>([](auto) { return KVC_DTYPE_F8E4M3FN; })
      .Case<Float8E5M2Type>([](auto) { return KVC_DTYPE_F8E5M2; })
      .Case<IntegerType>([](IntegerType type) -> kvc_dtype_t {
        switch (type.getWidth()) {
        case 1:
          return KVC_DTYPE_I1;
        case 4:
          return KVC_DTYPE_I4X2;
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
  case Layout::LaneKey:
    return KVC_LAYOUT_LANE_KEY;
  }
  llvm_unreachable("unknown layout");
}

kvc_cache_type_t getABICacheType(CacheType type) {
  kvc_cache_type_t result = {};
  result.page_size = type.getPageSize();
  SmallVector<CacheArray> arrays = type.getArrays();
  result.num_components = arrays.size();
  for (auto [array, out] : llvm::zip(arrays, result.components)) {
    llvm::copy(array.name, out.name);
    out.heads = array.heads;
    out.width = array.width;
    out.dtype = getABIDtype(array.element);
    out.scale = array.scale;
    out.layout = array.isStatic ? KVC_LAYOUT_STATIC : getABILayout(array.layout);
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
