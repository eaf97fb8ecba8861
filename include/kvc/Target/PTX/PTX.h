//===- PTX.h - PTX text of a compiled module --------------------*- C++ -*-===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef KVC_TARGET_PTX_PTX_H
#define KVC_TARGET_PTX_PTX_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/DialectRegistry.h"

#include <string>

namespace kvc {

/// Registers what gpu.module needs to become PTX.
void registerPTXTranslations(mlir::DialectRegistry &registry);

/// The PTX text of the one gpu.binary of `module`. PTX that calls a function it
/// does not define is an error: nobody would link it.
mlir::FailureOr<std::string> getPTX(mlir::ModuleOp module);

} // namespace kvc

#endif // KVC_TARGET_PTX_PTX_H
