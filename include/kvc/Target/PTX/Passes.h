//===- Passes.h - passes on compiled device code ----------------*- C++ -*-===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef KVC_TARGET_PTX_PASSES_H
#define KVC_TARGET_PTX_PASSES_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

namespace kvc {
#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "kvc/Target/PTX/Passes.h.inc"
} // namespace kvc

#endif // KVC_TARGET_PTX_PASSES_H
