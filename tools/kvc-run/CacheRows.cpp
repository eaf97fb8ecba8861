//===- CacheRows.cpp - rows of the arrays of a cache ----------------------===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "CacheRows.h"

#include "kvc/Dialect/KVC/IR/KVC.h"

#include "llvm/Support/MathExtras.h"

#include <cmath>
#include <limits>

using namespace kvcrun;

//===----------------------------------------------------------------------===//
// Codes
//===----------------------------------------------------------------------===//

namespace {
/// A float of 8 bits: a sign, an exponent, and `mantissa` bits.
struct SmallFloat {
  int mantissa, bias;
};
} // namespace

/// Nothing for integers.
static std::optional<SmallFloat> getSmallFloat(kvc_dtype_t dtype) {
  if (dtype == KVC_DTYPE_F8E4M3FN)
    return SmallFloat{3, 7};
  if (dtype == KVC_DTYPE_F8E5M2)
    return SmallFloat{2, 15};
  return std::nullopt;
}

static bool isQuantized(kvc_dtype_t dtype) {
  return getSmallFloat(dtype) || dtype == KVC_DTYPE_I8 || dtype == KVC_DTYPE_I4X2;
}

/// Codes that an element of an array is.
static int64_t getCodes(kvc_dtype_t dtype) { return dtype == KVC_DTYPE_I4X2 ? 2 : 1; }

/// The number that is code `index` of a row, before scales.
static double decode(kvc_dtype_t dtype, const Row &row, int64_t index) {
  if (dtype == KVC_DTYPE_I8)
    return static_cast<int8_t>(row[index]);
  if (dtype == KVC_DTYPE_I4X2)
    return llvm::SignExtend32<4>(static_cast<uint8_t>(row[index / 2]) >> (index % 2 * 4) & 15);
  SmallFloat format = *getSmallFloat(dtype);
  auto bits = static_cast<uint8_t>(row[index]);
  int exponent = (bits & 0x7f) >> format.mantissa;
  int fraction = bits & ((1 << format.mantissa) - 1);
  double sign = bits & 0x80 ? -1 : 1;
  if (dtype == KVC_DTYPE_F8E4M3FN && (bits & 0x7f) == 0x7f)
    return std::numeric_limits<double>::quiet_NaN();
  if (dtype == KVC_DTYPE_F8E5M2 && exponent == 31)
    return fraction ? std::numeric_limits<double>::quiet_NaN()
                    : sign * std::numeric_limits<double>::infinity();
  int whole = exponent == 0 ? fraction : fraction + (1 << format.mantissa);
  return sign * std::ldexp(whole, std::max(exponent, 1) - format.bias - format.mantissa);
}

/// The distance from one code to the next near `value`.
static double getCodeStep(kvc_dtype_t dtype, double value) {
  std::optional<SmallFloat> format = getSmallFloat(dtype);
  if (!format)
    return 1;
  int exponent = value == 0 || !std::isfinite(value) ? 1 - format->bias : std::ilogb(value);
  return std::ldexp(1.0, std::max(exponent, 1 - format->bias) - format->mantissa);
}

//===----------------------------------------------------------------------===//
// Arrays
//===----------------------------------------------------------------------===//

std::optional<unsigned> kvcrun::findArray(const kvc_cache_type_t &type, llvm::StringRef name) {
  for (int i = 0; i < type.num_components; ++i)
    if (type.components[i].name == name)
      return i;
  return std::nullopt;
}

std::optional<QuantizedArrays> kvcrun::findQuantized(const kvc_cache_type_t &type,
                                                     unsigned array) {
  llvm::StringRef name = type.components[array].name;
  std::optional<unsigned> codes;
  if (name.consume_back(kvc::kScaleSuffix) || name.consume_back(kvc::kZeroSuffix))
    codes = findArray(type, name);
  if (!codes || !isQuantized(type.components[*codes].dtype)) {
    name = type.components[array].name;
    codes = array;
  }
  if (!isQuantized(type.components[*codes].dtype))
    return std::nullopt;
  return QuantizedArrays{*codes, findArray(type, (name + kvc::kScaleSuffix).str()),
                         findArray(type, (name + kvc::kZeroSuffix).str())};
}

int64_t kvcrun::getRowBytes(const kvc_component_type_t &array) {
  return int64_t{array.heads} * array.width * kvc_dtype_size(array.dtype);
}

//===----------------------------------------------------------------------===//
// Random rows
//===----------------------------------------------------------------------===//

/// A byte of random codes. Without zero point no append stores the smallest integers.
static char makeCodes(kvc_dtype_t dtype, uint64_t bits, bool hasZeros) {
  if (std::optional<SmallFloat> format = getSmallFloat(dtype)) {
    // Magnitudes from 1/16 to almost 2.
    int exponent = format->bias - 4 + static_cast<int>(bits % 5);
    int fraction = static_cast<int>(bits >> 8) & ((1 << format->mantissa) - 1);
    return static_cast<char>((bits >> 16 & 1) << 7 | exponent << format->mantissa | fraction);
  }
  if (dtype == KVC_DTYPE_I8)
    return static_cast<char>(static_cast<int>(bits % 255) - 127);
  auto nibble = [&](uint64_t some) {
    return hasZeros ? some % 16 : static_cast<uint64_t>(static_cast<int>(some % 15) - 7) & 15;
  };
  return static_cast<char>(nibble(bits >> 8) | nibble(bits >> 32) << 4);
}

/// Half the range of random scales: the root mean square of the values is about 1.
static float getTypicalScale(kvc_dtype_t dtype) {
  switch (dtype) {
  case KVC_DTYPE_I8:
    return 1.0f / 73;
  case KVC_DTYPE_I4X2:
    return 1.0f / 4;
  default:
    return 1;
  }
}

Row kvcrun::makeRandomRow(const kvc_cache_type_t &type, unsigned array, RandomNumbers numbers,
                          int64_t first) {
  const kvc_component_type_t &component = type.components[array];
  Row row(getRowBytes(component));
  std::optional<QuantizedArrays> arrays = findQuantized(type, array);
  for (int64_t i = 0, e = int64_t{component.heads} * component.width; i < e; ++i) {
    if (!arrays) {
      storeElement(row.data(), component.dtype, i, numbers.at(first + i));
      continue;
    }
    uint64_t bits = numbers.bitsAt(first + i);
    if (arrays->codes == array) {
      row[i] = makeCodes(component.dtype, bits, arrays->zeros.has_value());
    } else if (arrays->scales == array) {
      float factor = 0.5f + static_cast<float>(bits % 1024) / 1024;
      storeElement(row.data(), component.dtype, i,
                   factor * getTypicalScale(type.components[arrays->codes].dtype));
    } else {
      storeElement(row.data(), component.dtype, i, numbers.at(first + i) / 4);
    }
  }
  return row;
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

bool kvcrun::readRows(const kvc_cache_type_t &type, const kvc_cache_view_t &view,
                      unsigned array, llvm::ArrayRef<int64_t> slots, Row &rows) {
  rows.resize(slots.size() * getRowBytes(type.components[array]));
  return kvc_cache_read(&type, &view, /*device=*/nullptr, static_cast<int32_t>(array),
                        slots.data(), static_cast<int64_t>(slots.size()),
                        rows.data()) == KVC_STATUS_OK;
}

bool kvcrun::writeRows(const kvc_cache_type_t &type, const kvc_cache_view_t &view,
                       unsigned array, llvm::ArrayRef<int64_t> slots, const Row &rows) {
  return kvc_cache_write(&type, &view, /*device=*/nullptr, static_cast<int32_t>(array),
                         slots.data(), static_cast<int64_t>(slots.size()),
                         rows.data()) == KVC_STATUS_OK;
}

/// Calls `body` with each head of a static array and its part of a row, in bytes.
template <typename Body>
static void forEachHead(const kvc_component_type_t &array, const kvc_component_view_t &view,
                        Body body) {
  int64_t size = kvc_dtype_size(array.dtype), bytes = array.width * size;
  for (int64_t head = 0; head < array.heads; ++head)
    body(static_cast<char *>(view.data) + head * view.head_stride * size, head * bytes, bytes);
}

Row kvcrun::readStatic(const kvc_cache_type_t &type, const kvc_cache_view_t &view,
                       unsigned array) {
  Row row(getRowBytes(type.components[array]));
  forEachHead(type.components[array], view.components[array],
              [&](char *data, int64_t at, int64_t bytes) {
                std::memcpy(row.data() + at, data, bytes);
              });
  return row;
}

void kvcrun::writeStatic(const kvc_cache_type_t &type, const kvc_cache_view_t &view,
                         unsigned array, const Row &row) {
  forEachHead(type.components[array], view.components[array],
              [&](char *data, int64_t at, int64_t bytes) {
                std::memcpy(data, row.data() + at, bytes);
              });
}

//===----------------------------------------------------------------------===//
// Numbers
//===----------------------------------------------------------------------===//

/// Elements of `width` that share each of `count` scales: #kvc.scale has these groups.
static int64_t getGroup(int64_t width, int64_t count) {
  for (int64_t group : {32, 64, 128})
    if (llvm::divideCeil(width, group) == static_cast<uint64_t>(count))
      return group;
  return width;
}

Numbers kvcrun::dequantize(const kvc_cache_type_t &type, const QuantizedArrays &arrays,
                           const Row &codes, const Row &scales, const Row &zeros) {
  const kvc_component_type_t &component = type.components[arrays.codes];
  int64_t width = component.width * getCodes(component.dtype);
  auto load = [&](std::optional<unsigned> array, const Row &row, int64_t head, int64_t w) {
    const kvc_component_type_t &other = type.components[*array];
    int64_t group = getGroup(width, other.width);
    return loadElement(row.data(), other.dtype,
                       (other.heads == 1 ? 0 : head) * other.width + w / group);
  };
  Numbers numbers;
  for (int64_t head = 0; head < component.heads; ++head)
    for (int64_t w = 0; w < width; ++w) {
      double code = decode(component.dtype, codes, head * width + w);
      double scale = arrays.scales          ? load(arrays.scales, scales, head, w)
                     : component.scale != 0 ? component.scale
                                            : 1;
      double zero = arrays.zeros ? load(arrays.zeros, zeros, head, w) : 0;
      numbers.values.push_back(scale * code + zero);
      numbers.steps.push_back(scale * getCodeStep(component.dtype, code));
    }
  return numbers;
}

std::string kvcrun::printElement(const kvc_component_type_t &array, const Row &row,
                                 int64_t index) {
  char text[64];
  if (!isQuantized(array.dtype))
    std::snprintf(text, sizeof(text), "%.6g", loadElement(row.data(), array.dtype, index));
  else if (array.dtype == KVC_DTYPE_I4X2)
    std::snprintf(text, sizeof(text), "%g and %g", decode(array.dtype, row, 2 * index),
                  decode(array.dtype, row, 2 * index + 1));
  else
    std::snprintf(text, sizeof(text), "%g", decode(array.dtype, row, index));
  return text;
}
