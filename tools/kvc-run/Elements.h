//===- Elements.h - elements of tensors and caches --------------*- C++ -*-===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef KVC_TOOLS_KVC_RUN_ELEMENTS_H
#define KVC_TOOLS_KVC_RUN_ELEMENTS_H

#include "../Common/RandomNumbers.h"

#include "kvc-rt/abi.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

#include <cstdlib>
#include <cstring>
#include <memory>
#include <optional>
#include <string>

namespace kvcrun {

using kvctools::RandomNumbers;

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

/// "f32", "f16" or "bf16".
std::optional<kvc_dtype_t> parseFloatType(llvm::StringRef text);

/// Rounds to nearest, ties to even.
uint16_t toBF16(float value);
uint16_t toF16(float value);
float fromF16(uint16_t bits);

/// Element `index` of an array of f32, f16, bf16 or i32.
double loadElement(const void *data, kvc_dtype_t dtype, int64_t index);

inline void storeElement(void *data, kvc_dtype_t dtype, int64_t index, float value) {
  if (dtype == KVC_DTYPE_F32)
    static_cast<float *>(data)[index] = value;
  else
    static_cast<uint16_t *>(data)[index] =
        dtype == KVC_DTYPE_BF16 ? toBF16(value) : toF16(value);
}

//===----------------------------------------------------------------------===//
// Arrays
//===----------------------------------------------------------------------===//

/// A contiguous array and its description. Null data: no memory.
class Tensor {
public:
  Tensor() = default;
  /// All bits are set, which is NaN.
  Tensor(kvc_dtype_t dtype, llvm::ArrayRef<int64_t> shape);

  kvc_dtype_t getDType() const { return view.dtype; }
  llvm::ArrayRef<int64_t> getShape() const { return {view.shape, size_t(view.rank)}; }
  int64_t getNumElements() const;
  int64_t getNumBytes() const;
  /// Bytes of one index of the first dimension.
  int64_t getRowBytes() const;
  char *getData() { return data.get(); }
  const char *getData() const { return data.get(); }
  const kvc_tensor_t *getView() const { return &view; }

private:
  struct Free {
    void operator()(char *p) const { std::free(p); }
  };
  std::unique_ptr<char, Free> data;
  kvc_tensor_t view = {};
};

/// "3x32x128xf16".
std::string printShape(llvm::ArrayRef<int64_t> shape, kvc_dtype_t dtype);

} // namespace kvcrun

#endif // KVC_TOOLS_KVC_RUN_ELEMENTS_H
