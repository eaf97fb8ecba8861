//===- Passes.h - conversions from the kvc dialect --------------*- C++ -*-===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef KVC_CONVERSION_PASSES_H
#define KVC_CONVERSION_PASSES_H

#include "kvc/Dialect/KVTile/IR/KVTile.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

namespace kvc {
#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "kvc/Conversion/Passes.h.inc"
} // namespace kvc

#endif // KVC_CONVERSION_PASSES_H
