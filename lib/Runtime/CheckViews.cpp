//===- CheckViews.cpp - checks of tensors and caches ----------------------===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Shapes, strides and pointers of strided arrays.
//===----------------------------------------------------------------------===//
#include "CheckCall.h"
#include "Status.h"

#include <algorithm>
#include <cstdlib>

using namespace kvc::rt;

using Long = long long; // what %lld takes

namespace {
/// One dimension of a strided array: `size` steps of `stride` elements.
struct Dimension {
  int64_t size;
  int64_t stride;
};
} // namespace

/// Computes the elements from the first to the last of `dims`, one included;
/// false if their bytes do not fit in 64 bits. Sizes are at least 1.
static bool computeExtent(const Dimension *dims, int rank, int64_t elementSize,
                          int64_t &extent) {
  extent = 1;
  for (int i = 0; i < rank; ++i) {
    int64_t span;
    if (dims[i].size == 1)
      continue;
    if (dims[i].stride == INT64_MIN ||
        __builtin_mul_overflow(dims[i].size - 1, std::llabs(dims[i].stride),
                               &span) ||
        __builtin_add_overflow(extent, span, &extent))
      return false;
  }
  int64_t bytes;
  return !__builtin_mul_overflow(extent, elementSize, &bytes);
}

/// True if no element of the array is reached by two indices, for arrays whose
/// dimensions nest, which all layouts in use do: with the strides in order,
/// each steps over the whole extent of those before. Sizes are at least 1 and
/// the extent fits in 64 bits.
static bool hasDistinctElements(const Dimension *dims, int rank) {
  Dimension sorted[KVC_MAX_RANK]; // by insertion
  int count = 0;
  for (int i = 0; i < rank; ++i) {
    if (dims[i].size == 1)
      continue;
    Dimension dim = {dims[i].size, std::llabs(dims[i].stride)};
    int place = count++;
    for (; place > 0 && sorted[place - 1].stride > dim.stride; --place)
      sorted[place] = sorted[place - 1];
    sorted[place] = dim;
  }
  int64_t extent = 1;
  for (int i = 0; i < count; ++i) {
    if (sorted[i].stride < extent)
      return false;
    extent += (sorted[i].size - 1) * sorted[i].stride;
  }
  return true;
}

/// For bounds and alignment what has no size counts as one byte.
static int64_t getElementSize(kvc_dtype_t dtype) {
  return std::max(kvc_dtype_size(dtype), 1);
}

static bool isAligned(const void *data, int64_t bytes) {
  return reinterpret_cast<uintptr_t>(data) % static_cast<uint64_t>(bytes) == 0;
}

/// The largest power of two that divides `bytes`, >= 1.
static int64_t getPowerOfTwo(int64_t bytes) { return bytes & -bytes; }

/// True if a step of `stride` elements is a multiple of `bytes`, a power of
/// two.
static bool isAlignedStride(int64_t stride, int64_t elementSize,
                            int64_t bytes) {
  // What is lost by wrapping around is a multiple too.
  return static_cast<uint64_t>(stride) * static_cast<uint64_t>(elementSize) %
             static_cast<uint64_t>(bytes) ==
         0;
}

//===----------------------------------------------------------------------===//
// Tensors
//===----------------------------------------------------------------------===//

static kvc_status_t checkShape(const ArgContext &context,
                               const kvc_arg_desc_t &desc,
                               const kvc_tensor_t &tensor, bool &isEmpty) {
  if (tensor.rank != desc.rank)
    return context.fail(KVC_STATUS_INVALID_ARGUMENT, "expected rank %d, got %d",
                        desc.rank, tensor.rank);
  if (tensor.dtype != desc.dtype)
    return context.fail(
        KVC_STATUS_INVALID_ARGUMENT, "expected elements of %s, got %s (%d)",
        kvc_dtype_name(desc.dtype), kvc_dtype_name(tensor.dtype), tensor.dtype);
  isEmpty = false;
  for (int32_t i = 0; i < desc.rank; ++i) {
    if (tensor.shape[i] < 0)
      return context.fail(KVC_STATUS_INVALID_ARGUMENT,
                          "expected dimension %d to be at least 0, got %lld", i,
                          Long{tensor.shape[i]});
    if (desc.shape[i] != KVC_DYNAMIC && tensor.shape[i] != desc.shape[i])
      return context.fail(KVC_STATUS_INVALID_ARGUMENT,
                          "expected dimension %d to be %lld, got %lld", i,
                          Long{desc.shape[i]}, Long{tensor.shape[i]});
    isEmpty |= tensor.shape[i] == 0;
  }
  return KVC_STATUS_OK;
}

static kvc_status_t checkStrides(const ArgContext &context,
                                 const kvc_arg_desc_t &desc,
                                 const kvc_tensor_t &tensor) {
  for (int32_t i = 0; i < desc.rank; ++i) {
    if (tensor.shape[i] <= 1)
      continue;
    bool isLast = i == desc.rank - 1;
    int64_t expected =
        isLast && desc.strides[i] == KVC_DYNAMIC ? 1 : desc.strides[i];
    if (expected != KVC_DYNAMIC && tensor.strides[i] != expected)
      return context.fail(KVC_STATUS_INVALID_ARGUMENT,
                          "expected the stride of dimension %d to be %lld, got "
                          "%lld",
                          i, Long{expected}, Long{tensor.strides[i]});
  }
  return KVC_STATUS_OK;
}

/// Checks what a descriptor asks beyond the alignment of elements.
static kvc_status_t checkAlignment(const ArgContext &context,
                                   const kvc_arg_desc_t &desc,
                                   const kvc_tensor_t &tensor,
                                   int64_t elementSize) {
  if (desc.alignment <= elementSize)
    return KVC_STATUS_OK;
  if (!isAligned(tensor.data, desc.alignment))
    return context.fail(KVC_STATUS_INVALID_ARGUMENT,
                        "expected data aligned to %u bytes, got %p",
                        desc.alignment, tensor.data);
  for (int32_t i = 0; i + 1 < desc.rank; ++i)
    if (tensor.shape[i] > 1 &&
        !isAlignedStride(tensor.strides[i], elementSize, desc.alignment))
      return context.fail(
          KVC_STATUS_INVALID_ARGUMENT,
          "expected the stride of dimension %d to be a multiple "
          "of %u bytes, got %lld elements of %lld bytes",
          i, desc.alignment, Long{tensor.strides[i]}, Long{elementSize});
  return KVC_STATUS_OK;
}

kvc_status_t kvc::rt::checkTensorShape(const ArgContext &context,
                                       const kvc_arg_desc_t &desc,
                                       const kvc_tensor_t &tensor) {
  bool isEmpty = false;
  return checkShape(context, desc, tensor, isEmpty);
}

kvc_status_t kvc::rt::checkTensor(const ArgContext &context,
                                  const kvc_arg_desc_t &desc,
                                  const kvc_tensor_t &tensor) {
  bool isEmpty = false;
  KVC_RETURN_IF_FAILED(checkShape(context, desc, tensor, isEmpty));
  if (isEmpty) // nothing is read: data and strides do not matter
    return KVC_STATUS_OK;
  KVC_RETURN_IF_FAILED(checkStrides(context, desc, tensor));

  Dimension dims[KVC_MAX_RANK];
  for (int32_t i = 0; i < desc.rank; ++i)
    dims[i] = {tensor.shape[i], tensor.strides[i]};
  int64_t extent;
  int64_t elementSize = getElementSize(desc.dtype);
  if (!computeExtent(dims, desc.rank, elementSize, extent))
    return context.fail(KVC_STATUS_INVALID_ARGUMENT,
                        "expected offsets that fit in 64 bits, got a shape and "
                        "strides that overflow them");
  if (desc.is_result && !hasDistinctElements(dims, desc.rank))
    return context.fail(KVC_STATUS_INVALID_ARGUMENT,
                        "expected the elements of a result to be distinct, got "
                        "strides by which they overlap");
  if (!tensor.data)
    return context.fail(KVC_STATUS_INVALID_ARGUMENT,
                        "expected data of a tensor that is not empty, got "
                        "null");
  if (!isAligned(tensor.data, elementSize))
    return context.fail(KVC_STATUS_INVALID_ARGUMENT,
                        "expected data aligned to its elements of %lld bytes, "
                        "got %p",
                        Long{elementSize}, tensor.data);
  return checkAlignment(context, desc, tensor, elementSize);
}

//===----------------------------------------------------------------------===//
// Caches
//===----------------------------------------------------------------------===//

static kvc_status_t checkComponentView(const ArgContext &context,
                                       const kvc_cache_type_t &type,
                                       const kvc_component_type_t &component,
                                       const kvc_component_view_t &view,
                                       int64_t numPages, uint32_t alignment) {
  // The stretch without strides is a row, or the packed image of a head.
  bool isRowMajor = component.layout == KVC_LAYOUT_ROW_MAJOR;
  bool isStatic = component.layout == KVC_LAYOUT_STATIC;
  if (isStatic && (view.page_stride != 0 || view.token_stride != 0))
    return context.fail(KVC_STATUS_INVALID_ARGUMENT,
                        "component '%s': expected page and token strides of 0 "
                        "of what is static, got %lld and %lld",
                        component.name, Long{view.page_stride},
                        Long{view.token_stride});
  int64_t tokens = isRowMajor || isStatic ? 1 : type.page_size;
  Dimension dims[] = {
      {tokens * component.width, 1},
      {isRowMajor ? type.page_size : 1, view.token_stride},
      {component.heads, view.head_stride},
      {isStatic ? 1 : numPages, view.page_stride},
  };
  static const char *const names[] = {"", "token", "head", "page"};
  for (int i = 1; i < 4; ++i)
    if (dims[i].size > 1 && dims[i].stride < 1)
      return context.fail(KVC_STATUS_INVALID_ARGUMENT,
                          "component '%s': expected a %s stride of at least 1, "
                          "got %lld",
                          component.name, names[i], Long{dims[i].stride});
  int64_t extent;
  int64_t elementSize = getElementSize(component.dtype);
  if (!computeExtent(dims, 4, elementSize, extent))
    return context.fail(KVC_STATUS_INVALID_ARGUMENT,
                        "component '%s': expected offsets that fit in 64 bits, "
                        "got %lld pages with a page stride of %lld",
                        component.name, Long{numPages}, Long{view.page_stride});
  if (!hasDistinctElements(dims, 4))
    return context.fail(KVC_STATUS_INVALID_ARGUMENT,
                        "component '%s': expected its elements to be distinct, "
                        "got strides by which they overlap: page %lld, head "
                        "%lld, token %lld",
                        component.name, Long{view.page_stride},
                        Long{view.head_stride}, Long{view.token_stride});
  if (!view.data)
    return context.fail(KVC_STATUS_INVALID_ARGUMENT,
                        "component '%s': expected data of %lld pages, got null",
                        component.name, Long{numPages});
  if (!isAligned(view.data, elementSize))
    return context.fail(KVC_STATUS_INVALID_ARGUMENT,
                        "component '%s': expected data aligned to its elements "
                        "of %lld bytes, got %p",
                        component.name, Long{elementSize}, view.data);
  // Rows that follow each other without gaps are aligned as far as their bytes allow.
  alignment = static_cast<uint32_t>(
      std::min<int64_t>(alignment, getPowerOfTwo(dims[0].size * elementSize)));
  if (isStatic || alignment <= elementSize)
    return KVC_STATUS_OK;
  if (!isAligned(view.data, alignment))
    return context.fail(KVC_STATUS_INVALID_ARGUMENT,
                        "component '%s': expected data aligned to %u bytes, "
                        "got %p",
                        component.name, alignment, view.data);
  for (int i = 1; i < 4; ++i)
    if (dims[i].size > 1 &&
        !isAlignedStride(dims[i].stride, elementSize, alignment))
      return context.fail(KVC_STATUS_INVALID_ARGUMENT,
                          "component '%s': expected a %s stride that is a "
                          "multiple of %u bytes, got %lld elements of %lld "
                          "bytes",
                          component.name, names[i], alignment,
                          Long{dims[i].stride}, Long{elementSize});
  return KVC_STATUS_OK;
}

kvc_status_t kvc::rt::checkCache(const ArgContext &context,
                                 const CacheArg &cache, uint32_t alignment) {
  const kvc_cache_view_t &view = *cache.view;
  const kvc_cache_type_t &type = *cache.type;
  if (view.struct_size < sizeof(view))
    return context.fail(KVC_STATUS_INVALID_ARGUMENT,
                        "expected a struct_size of a cache view of at least "
                        "%zu, got %u",
                        sizeof(view), view.struct_size);
  uint64_t expected = kvc_cache_type_fingerprint(&type);
  if (view.fingerprint != expected)
    return context.fail(KVC_STATUS_MISMATCH,
                        "expected a cache of the type that the program was "
                        "compiled for (fingerprint %#018llx), got one of "
                        "another type (%#018llx)",
                        static_cast<unsigned long long>(expected),
                        static_cast<unsigned long long>(view.fingerprint));
  if (view.num_components != static_cast<uint32_t>(type.num_components))
    return context.fail(KVC_STATUS_INVALID_ARGUMENT,
                        "expected %d components, got %u", type.num_components,
                        view.num_components);
  if (view.num_pages < 0)
    return context.fail(KVC_STATUS_INVALID_ARGUMENT,
                        "expected num_pages to be at least 0, got %lld",
                        Long{view.num_pages});
  if (view.num_pages == 0)
    return KVC_STATUS_OK;
  for (int32_t i = 0; i < type.num_components; ++i)
    KVC_RETURN_IF_FAILED(checkComponentView(context, type, type.components[i],
                                            view.components[i], view.num_pages,
                                            alignment));
  return KVC_STATUS_OK;
}
