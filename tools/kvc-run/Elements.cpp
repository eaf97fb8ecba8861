//===- Elements.cpp - elements of tensors and caches ----------------------===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Elements.h"

#include "kvc-rt/runtime.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringSwitch.h"

#include <cmath>

using namespace kvcrun;

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

std::optional<kvc_dtype_t> kvcrun::parseFloatType(llvm::StringRef text) {
  return llvm::StringSwitch<std::optional<kvc_dtype_t>>(text)
      .Case("f32", KVC_DTYPE_F32)
      .Case("f16", KVC_DTYPE_F16)
      .Case("bf16", KVC_DTYPE_BF16)
      .Default(std::nullopt);
}

static uint32_t toBits(float value) {
  uint32_t bits;
  std::memcpy(&bits, &value, sizeof(bits));
  return bits;
}

static float toFloat(uint32_t bits) {
  float value;
  std::memcpy(&value, &bits, sizeof(value));
  return value;
}

uint16_t kvcrun::toBF16(float value) {
  uint32_t bits = toBits(value);
  if (std::isnan(value))
    return static_cast<uint16_t>((bits >> 16) | 0x40);
  return static_cast<uint16_t>((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16);
}

uint16_t kvcrun::toF16(float value) {
  uint16_t sign = static_cast<uint16_t>((toBits(value) >> 16) & 0x8000);
  float magnitude = std::fabs(value);
  if (std::isnan(value))
    return sign | 0x7E00;
  if (magnitude >= 65520.0f)
    return sign | 0x7C00;
  if (magnitude < 0x1p-14f) // subnormal: multiples of 2^-24
    return sign | static_cast<uint16_t>(std::nearbyint(magnitude * 0x1p24f));
  uint32_t bits = toBits(magnitude);
  bits += 0xFFF + ((bits >> 13) & 1);
  return sign | static_cast<uint16_t>((bits - (112u << 23)) >> 13);
}

float kvcrun::fromF16(uint16_t bits) {
  uint32_t sign = uint32_t(bits & 0x8000) << 16, exponent = (bits >> 10) & 31,
           fraction = bits & 0x3FF;
  if (exponent == 31)
    return toFloat(sign | 0x7F800000 | (fraction << 13));
  if (exponent == 0)
    return (sign ? -1.0f : 1.0f) * static_cast<float>(fraction) * 0x1p-24f;
  return toFloat(sign | ((exponent + 112) << 23) | (fraction << 13));
}

double kvcrun::loadElement(const void *data, kvc_dtype_t dtype, int64_t index) {
  if (dtype == KVC_DTYPE_F32)
    return static_cast<const float *>(data)[index];
  if (dtype == KVC_DTYPE_I32)
    return static_cast<const int32_t *>(data)[index];
  uint16_t bits = static_cast<const uint16_t *>(data)[index];
  return dtype == KVC_DTYPE_BF16 ? toFloat(uint32_t(bits) << 16) : fromF16(bits);
}

//===----------------------------------------------------------------------===//
// Arrays
//===----------------------------------------------------------------------===//

Tensor::Tensor(kvc_dtype_t dtype, llvm::ArrayRef<int64_t> shape) {
  view.dtype = dtype;
  view.rank = static_cast<int32_t>(shape.size());
  int64_t stride = 1;
  for (int i = view.rank - 1; i >= 0; --i) {
    view.shape[i] = shape[i];
    view.strides[i] = stride;
    stride *= std::max<int64_t>(1, shape[i]);
  }
  constexpr int64_t kAlignment = 64;
  size_t bytes = llvm::alignTo(std::max<int64_t>(1, getNumBytes()), kAlignment);
  data.reset(static_cast<char *>(std::aligned_alloc(kAlignment, bytes)));
  if (data)
    std::memset(data.get(), 0xFF, bytes);
  view.data = data.get();
}

int64_t Tensor::getNumElements() const {
  return std::accumulate(view.shape, view.shape + view.rank, int64_t(1),
                         std::multiplies<int64_t>());
}

int64_t Tensor::getNumBytes() const { return getNumElements() * kvc_dtype_size(view.dtype); }

int64_t Tensor::getRowBytes() const {
  return std::accumulate(view.shape + 1, view.shape + view.rank,
                         int64_t(kvc_dtype_size(view.dtype)), std::multiplies<int64_t>());
}

std::string kvcrun::printShape(llvm::ArrayRef<int64_t> shape, kvc_dtype_t dtype) {
  std::string text;
  for (int64_t size : shape)
    text += (size == KVC_DYNAMIC ? "?" : std::to_string(size)) + "x";
  return text + kvc_dtype_name(dtype);
}
