//===- Passes.h - passes on the kvc dialect ---------------------*- C++ -*-===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef KVC_DIALECT_KVC_TRANSFORMS_PASSES_H
#define KVC_DIALECT_KVC_TRANSFORMS_PASSES_H

#include "kvc/Dialect/KVC/IR/KVC.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

namespace kvc {
/// Forms that kvc-plan takes by default.
inline constexpr llvm::StringLiteral kDecodeForms = "tokens_m,heads_m,columns";
inline constexpr llvm::StringLiteral kPrefillForms = "rows,columns";

#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "kvc/Dialect/KVC/Transforms/Passes.h.inc"
} // namespace kvc

#endif // KVC_DIALECT_KVC_TRANSFORMS_PASSES_H
