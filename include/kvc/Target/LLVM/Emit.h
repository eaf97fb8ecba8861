//===- Emit.h - LLVM dialect to LLVM IR and machine code --------*- C++ -*-===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// All functions take a module in the LLVM dialect and report what goes wrong at
// its location. No optimisation passes of LLVM run on the IR: what the lowering
// makes is already register-tiled, and they would cost more than they gain.
//===----------------------------------------------------------------------===//
#ifndef KVC_TARGET_LLVM_EMIT_H
#define KVC_TARGET_LLVM_EMIT_H

#include "kvc/Target/LLVM/CPUTarget.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/DialectRegistry.h"
#include "llvm/ADT/SmallVector.h"

namespace kvc {

/// Registers the translations of the dialects that a program may end up in.
void registerLLVMTranslations(mlir::DialectRegistry &registry);

/// LLVM IR as text, with the attributes and the triple of `target`.
mlir::FailureOr<std::string> emitLLVMIR(mlir::ModuleOp module, const CPUTarget &target);

/// A relocatable object file of position-independent code.
mlir::FailureOr<llvm::SmallVector<char, 0>> emitObject(mlir::ModuleOp module,
                                                       const CPUTarget &target);

} // namespace kvc

#endif // KVC_TARGET_LLVM_EMIT_H
