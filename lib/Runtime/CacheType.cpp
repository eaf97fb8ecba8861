//===- CacheType.cpp - checks of cache types and their pages --------------===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The rules are those of abi.h; each has its own message.
//===----------------------------------------------------------------------===//
#include "CacheType.h"
#include "Status.h"

#include <cfloat>
#include <cstring>
#include <initializer_list>

using namespace kvc::rt;

static bool isAllZero(const void *data, size_t size) {
  const auto *bytes = static_cast<const unsigned char *>(data);
  for (size_t i = 0; i < size; ++i)
    if (bytes[i] != 0)
      return false;
  return true;
}

static kvc_status_t checkName(const kvc_cache_type_t &type, int32_t index) {
  const char *name = type.components[index].name;
  size_t length = strnlen(name, KVC_MAX_NAME);
  if (length == KVC_MAX_NAME)
    return fail(KVC_STATUS_INVALID_ARGUMENT,
                "component %d: expected a name of at most %d bytes that ends "
                "in NUL, got '%.*s...'",
                index, KVC_MAX_NAME - 1, KVC_MAX_NAME, name);
  if (length == 0)
    return fail(KVC_STATUS_INVALID_ARGUMENT,
                "component %d: expected a name, got an empty one", index);
  if (!isAllZero(name + length, KVC_MAX_NAME - length))
    return fail(KVC_STATUS_INVALID_ARGUMENT,
                "component %d: expected zeros after the end of its name '%s'",
                index, name);
  for (int32_t other = 0; other < index; ++other)
    if (std::strcmp(type.components[other].name, name) == 0)
      return fail(KVC_STATUS_INVALID_ARGUMENT,
                  "expected different names of components, got '%s' for "
                  "components %d and %d",
                  name, other, index);
  return KVC_STATUS_OK;
}

/// Elements along the width that a packed layout keeps together.
static int32_t getPackedWidth(const kvc_component_type_t &component) {
  if (component.layout == KVC_LAYOUT_LANE_KEY)
    return 1;
  switch (component.dtype) {
  case KVC_DTYPE_F8E4M3FN:
  case KVC_DTYPE_F8E5M2:
  case KVC_DTYPE_I8:
  case KVC_DTYPE_I4X2:
    return 4;
  case KVC_DTYPE_BF16:
    return component.layout == KVC_LAYOUT_PACKED_KEY ? 2 : 1;
  default:
    return 1;
  }
}

static kvc_status_t checkPackedLayout(const kvc_cache_type_t &type,
                                      const kvc_component_type_t &component) {
  if (type.page_size % 16 != 0)
    return fail(KVC_STATUS_INVALID_ARGUMENT,
                "component '%s': expected a page size that is a multiple of "
                "16 for a packed layout, got %d",
                component.name, type.page_size);
  if (component.width % getPackedWidth(component) != 0)
    return fail(KVC_STATUS_INVALID_ARGUMENT,
                "component '%s': expected a width that is a multiple of %d for "
                "a packed layout of %s, got %d",
                component.name, getPackedWidth(component),
                kvc_dtype_name(component.dtype), component.width);
  return KVC_STATUS_OK;
}

static kvc_status_t checkComponent(const kvc_cache_type_t &type,
                                   int32_t index) {
  KVC_RETURN_IF_FAILED(checkName(type, index));
  const kvc_component_type_t &component = type.components[index];
  if (component.heads < 1)
    return fail(KVC_STATUS_INVALID_ARGUMENT,
                "component '%s': expected at least 1 head, got %d",
                component.name, component.heads);
  if (component.width < 1)
    return fail(KVC_STATUS_INVALID_ARGUMENT,
                "component '%s': expected a width of at least 1, got %d",
                component.name, component.width);
  if (component.dtype < KVC_DTYPE_F32 || component.dtype > KVC_DTYPE_I64)
    return fail(KVC_STATUS_INVALID_ARGUMENT,
                "component '%s': expected an element type from %d to %d, got "
                "%d",
                component.name, KVC_DTYPE_F32, KVC_DTYPE_I64, component.dtype);
  if (!(component.scale >= 0) || component.scale > FLT_MAX ||
      component.reserved != 0)
    return fail(KVC_STATUS_INVALID_ARGUMENT,
                "component '%s': expected a constant scale that is finite and "
                "at least 0, and then 0, got %g and %d",
                component.name, static_cast<double>(component.scale),
                component.reserved);
  switch (component.layout) {
  case KVC_LAYOUT_ROW_MAJOR:
  case KVC_LAYOUT_STATIC:
    return KVC_STATUS_OK;
  case KVC_LAYOUT_LANE_KEY:
    if (kvc_dtype_size(component.dtype) != 1)
      return fail(KVC_STATUS_INVALID_ARGUMENT,
                  "component '%s': expected elements of f8, i8 or i4x2 for the "
                  "layout of lanes, got %s",
                  component.name, kvc_dtype_name(component.dtype));
    return checkPackedLayout(type, component);
  case KVC_LAYOUT_PACKED_KEY:
  case KVC_LAYOUT_PACKED_VALUE:
    return checkPackedLayout(type, component);
  default:
    return fail(KVC_STATUS_INVALID_ARGUMENT,
                "component '%s': expected a layout from %d to %d, got %d",
                component.name, KVC_LAYOUT_ROW_MAJOR, KVC_LAYOUT_LANE_KEY,
                component.layout);
  }
}

kvc_status_t kvc::rt::checkCacheType(const kvc_cache_type_t &type) {
  if (type.page_size < 1)
    return fail(KVC_STATUS_INVALID_ARGUMENT,
                "expected a page size of at least 1, got %d", type.page_size);
  if (type.num_components < 1 || type.num_components > KVC_MAX_COMPONENTS)
    return fail(KVC_STATUS_INVALID_ARGUMENT,
                "expected 1 to %d components, got %d", KVC_MAX_COMPONENTS,
                type.num_components);
  for (int32_t i = 0; i < type.num_components; ++i)
    KVC_RETURN_IF_FAILED(checkComponent(type, i));
  for (int32_t i = type.num_components; i < KVC_MAX_COMPONENTS; ++i)
    if (!isAllZero(&type.components[i], sizeof(type.components[i])))
      return fail(KVC_STATUS_INVALID_ARGUMENT,
                  "expected zeros in component %d, which is past the %d in use",
                  i, type.num_components);
  return KVC_STATUS_OK;
}

/// Bytes of a component in a page, or of a static one, rounded up to a multiple
/// of 64; false on overflow.
static bool componentBytes(const kvc_cache_type_t &type,
                           const kvc_component_type_t &component,
                           uint64_t &bytes) {
  int32_t tokens = component.layout == KVC_LAYOUT_STATIC ? 1 : type.page_size;
  bytes = static_cast<uint64_t>(kvc_dtype_size(component.dtype));
  for (int32_t factor : {component.heads, tokens, component.width})
    if (__builtin_mul_overflow(bytes, static_cast<uint64_t>(factor), &bytes))
      return false;
  if (__builtin_add_overflow(bytes, 63, &bytes))
    return false;
  bytes &= ~uint64_t{63};
  return true;
}

static bool isPoolElement(kvc_dtype_t dtype) {
  return dtype >= KVC_DTYPE_F32 && dtype <= KVC_DTYPE_I4X2;
}

kvc_status_t kvc::rt::computePageLayout(const kvc_cache_type_t &type,
                                        PageLayout &layout) {
  layout = {};
  for (int32_t i = 0; i < type.num_components; ++i) {
    const kvc_component_type_t &component = type.components[i];
    if (!isPoolElement(component.dtype))
      return fail(KVC_STATUS_UNSUPPORTED,
                  "component '%s': expected elements of f32, f16, bf16, f8, i8 "
                  "or i4x2, got %s",
                  component.name, kvc_dtype_name(component.dtype));
    uint64_t bytes;
    uint64_t &total = component.layout == KVC_LAYOUT_STATIC
                          ? layout.staticBytes
                          : layout.pageBytes;
    layout.offsetBytes[i] = total;
    if (!componentBytes(type, component, bytes) ||
        __builtin_add_overflow(total, bytes, &total) ||
        total > static_cast<uint64_t>(INT64_MAX))
      return fail(KVC_STATUS_INVALID_ARGUMENT,
                  "component '%s': expected a page of fewer than 2^63 bytes, "
                  "got %d heads x %d tokens x width %d",
                  component.name, component.heads, type.page_size,
                  component.width);
  }
  return KVC_STATUS_OK;
}
