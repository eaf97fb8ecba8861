//===- DefinitionABI.cpp - signatures of decomposed functions -------------===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "kvc/Conversion/DefinitionABI.h"

#include "mlir/Dialect/Utils/IndexingUtils.h"

using namespace mlir;

namespace kvc {

/// The dimensions of a packed image of one head.
static SmallVector<int64_t> getImageShape(const CacheArray &array, int64_t page) {
  int64_t width = array.width, keyBlocks = page / kPackedTokens;
  bool isKey = array.layout == Layout::PackedKey;
  if (array.layout == Layout::LaneKey)
    return {keyBlocks, width, kPackedTokens};
  if (array.element.isInteger(4)) // pairs of elements: words of 8 in 4 bytes
    return isKey ? SmallVector<int64_t>{keyBlocks, width / 4, kPackedTokens, 4}
                 : SmallVector<int64_t>{page / 4, width / 4, 4, 4};
  if (isQuantized(array.element))
    return isKey ? SmallVector<int64_t>{keyBlocks, width / 4, 4, 2, 4, 2}
                 : SmallVector<int64_t>{page / 4, width / 4, 2, 4, 2};
  int64_t pair = getPackedPair(array.element);
  return isKey ? SmallVector<int64_t>{keyBlocks, width / pair, kPackedTokens, pair}
               : SmallVector<int64_t>{page / pair, width, pair};
}

MemRefType getArrayBuffer(CacheType cache, const CacheArray &array) {
  constexpr int64_t any = ShapedType::kDynamic;
  SmallVector<int64_t> shape, strides;
  int64_t offset = 0;
  if (array.layout == Layout::RowMajor) {
    shape = {any, cache.getPageSize(), array.heads, array.width};
    strides = {any, any, any, 1};
    offset = any; // of the buffers of cache_from_buffers
  } else {
    SmallVector<int64_t> image = getImageShape(array, cache.getPageSize());
    shape = {any, array.heads};
    llvm::append_range(shape, image);
    strides = {any, any};
    llvm::append_range(strides, computeSuffixProduct(image));
  }
  return MemRefType::get(shape, array.getMemoryElement(),
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
    first += cache                  ? cache.getArrays().size()
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
