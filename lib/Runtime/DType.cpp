//===- DType.cpp - element types ------------------------------------------===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Sizes and names of element types.
//===----------------------------------------------------------------------===//
#include "kvc-rt/runtime.h"

extern "C" {

int32_t kvc_dtype_size(kvc_dtype_t dtype) {
  switch (dtype) {
  case KVC_DTYPE_F8E4M3FN:
  case KVC_DTYPE_F8E5M2:
  case KVC_DTYPE_I8:
  case KVC_DTYPE_I4X2:
  case KVC_DTYPE_I1:
    return 1;
  case KVC_DTYPE_F16:
  case KVC_DTYPE_BF16:
    return 2;
  case KVC_DTYPE_F32:
  case KVC_DTYPE_I32:
    return 4;
  case KVC_DTYPE_I64:
  case KVC_DTYPE_F64:
    return 8;
  default:
    return 0;
  }
}

const char *kvc_dtype_name(kvc_dtype_t dtype) {
  switch (dtype) {
  case KVC_DTYPE_F32:
    return "f32";
  case KVC_DTYPE_F16:
    return "f16";
  case KVC_DTYPE_BF16:
    return "bf16";
  case KVC_DTYPE_F8E4M3FN:
    return "f8E4M3FN";
  case KVC_DTYPE_F8E5M2:
    return "f8E5M2";
  case KVC_DTYPE_I8:
    return "i8";
  case KVC_DTYPE_I4X2:
    return "i4x2";
  case KVC_DTYPE_I32:
    return "i32";
  case KVC_DTYPE_I64:
    return "i64";
  case KVC_DTYPE_F64:
    return "f64";
  case KVC_DTYPE_I1:
    return "i1";
  default:
    return "?";
  }
}

} // extern "C"
