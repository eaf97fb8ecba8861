//===- CPUTarget.h - the processor that code is for -------------*- C++ -*-===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef KVC_TARGET_LLVM_CPUTARGET_H
#define KVC_TARGET_LLVM_CPUTARGET_H

#include "kvc/Support/CPUTier.h"

#include "mlir/IR/Diagnostics.h"

#include <string>

namespace kvc {

/// A processor in LLVM's words. `features` always has all that `tier` uses, as
/// LLVM ends the process on an instruction that it cannot select.
struct CPUTarget {
  CPUTier tier = CPUTier::Plain;
  std::string triple;
  std::string cpu;
  std::string features; ///< Such as "+avx2,+fma"; may be empty.
};

using EmitErrorFn = llvm::function_ref<mlir::InFlightDiagnostic()>;

/// Chooses the processor from texts that a user gave; each may be empty.
/// - `cpu`: LLVM's name; without it the host, or the baseline if there is a tier;
/// - `features`: LLVM's feature string, added to those of cpu and tier;
/// - `tier`: without it, the best that cpu and features have.
mlir::FailureOr<CPUTarget> resolveCPUTarget(llvm::StringRef tier, llvm::StringRef cpu,
                                            llvm::StringRef features, EmitErrorFn emitError);

/// Fails with a message if the host lacks what code for `target` may use.
mlir::LogicalResult checkRunsOnHost(const CPUTarget &target, EmitErrorFn emitError);

} // namespace kvc

#endif // KVC_TARGET_LLVM_CPUTARGET_H
