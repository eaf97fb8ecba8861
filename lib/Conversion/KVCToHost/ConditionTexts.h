//===- ConditionTexts.h - messages of broken conditions ---------*- C++ -*-===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef KVC_LIB_CONVERSION_KVCTOHOST_CONDITIONTEXTS_H
#define KVC_LIB_CONVERSION_KVCTOHOST_CONDITIONTEXTS_H

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/BuiltinOps.h"

namespace kvc {

/// Emits the address of the message of condition `number` (i32, from 1) of a function of
/// host code that has `conditions`, of which there is at least one. Messages begin with
/// "in '<function>': ".
mlir::Value emitConditionText(mlir::OpBuilder &b, mlir::Location loc,
                              mlir::SymbolTable &symbols, llvm::StringRef function,
                              mlir::ArrayAttr conditions, mlir::Value number);

} // namespace kvc

#endif // KVC_LIB_CONVERSION_KVCTOHOST_CONDITIONTEXTS_H
