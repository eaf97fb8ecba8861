//===- Passes.h - passes on the kvtile dialect ------------------*- C++ -*-===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef KVC_DIALECT_KVTILE_TRANSFORMS_PASSES_H
#define KVC_DIALECT_KVTILE_TRANSFORMS_PASSES_H

#include "kvc/Dialect/KVTile/IR/KVTile.h"

#include "mlir/Pass/Pass.h"

namespace kvc::kvtile {
#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "kvc/Dialect/KVTile/Transforms/Passes.h.inc"
} // namespace kvc::kvtile

#endif // KVC_DIALECT_KVTILE_TRANSFORMS_PASSES_H
