//===- DefinitionABI.cpp - signatures of decomposed functions -------------===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "kvc/Conversion/DefinitionABI.h"

using namespace mlir;

namespace kvc {

MemRefType getComponentBuffer(CacheType cache, ComponentAttr component) {
  constexpr int64_t any = ShapedType::kDynamic;
  int64_t page = cache.getPageSize();
  int64_t heads = component.getHeads(), width = component.getWidth();
  int64_t pair = getPackedPair(component.getElementType());
  SmallVector<int64_t> shape, strides;
  int64_t offset = 0;
  switch (component.getLayout()) {
  case Layout::RowMajor:
    shape = {any, page, heads, width};
    strides = {any, any, any, 1};
    offset = any; // of the buffers of cache_from_buffers
    break;
  case Layout::PackedKey:
    shape = {any, heads, page / kPackedTokens, width / pair, kPackedTokens, pair};
    strides = {any, any, kPackedTokens * width, kPackedTokens * pair, pair, 1};
    break;
  case Layout::PackedValue:
    shape = {any, heads, page / pair, width, pair};
    strides = {any, any, width * pair, pair, 1};
    break;
  }
  return MemRefType::get(shape, component.getElementType(),
                         StridedLayoutAttr::get(cache.getContext(), offset, strides));
}

BatchArrays::BatchArrays(ValueRange values) {
  assert(values.size() == 7 && "expected the values of a batch");
  queryStart = values[0];
  kvLens = values[1];
  pageIds = values[2];
  pageStart = values[3];
  pageStride = values[4];
  slots = values[5];
  positions = values[6];
}

SmallVector<Value> BatchArrays::getValues() const {
  return {queryStart, kvLens, pageIds, pageStart, pageStride, slots, positions};
}

SmallVector<Type> BatchArrays::getTypes(MLIRContext *context) {
  Type i32s = MemRefType::get(ShapedType::kDynamic, IntegerType::get(context, 32));
  Type i64s = MemRefType::get(ShapedType::kDynamic, IntegerType::get(context, 64));
  return {i32s, i32s, i32s, i32s, IndexType::get(context), i64s, i32s};
}

unsigned getFirstValue(TypeRange types, unsigned index) {
  unsigned first = 0;
  for (Type type : types.take_front(index)) {
    auto cache = dyn_cast<CacheType>(type);
    first += cache                  ? cache.getComponents().size()
             : isa<BatchType>(type) ? BatchArrays::getTypes(type.getContext()).size()
                                    : 1;
  }
  return first;
}

MemRefType getTensorBuffer(RankedTensorType type) {
  if (type.getRank() <= 1)
    return MemRefType::get(type.getShape(), type.getElementType());
  SmallVector<int64_t> strides(type.getRank(), ShapedType::kDynamic);
  strides.back() = 1;
  return MemRefType::get(type.getShape(), type.getElementType(),
                         StridedLayoutAttr::get(type.getContext(), 0, strides));
}

} // namespace kvc
