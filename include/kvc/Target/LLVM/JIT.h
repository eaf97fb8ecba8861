//===- JIT.h - programs ready to run in this process ------------*- C++ -*-===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef KVC_TARGET_LLVM_JIT_H
#define KVC_TARGET_LLVM_JIT_H

#include "kvc-rt/abi.h"
#include "kvc/Target/LLVM/CPUTarget.h"

#include "llvm/ADT/ArrayRef.h"
#include <memory>

namespace llvm::orc {
class LLJIT;
} // namespace llvm::orc

namespace kvc {

/// A program linked into this process; its code lives as long as this object.
class JITProgram {
public:
  ~JITProgram();

  /// Links `object`, made for `target`. It may use functions of libc and libm
  /// that compute or allocate, nothing else of the process.
  static mlir::FailureOr<std::unique_ptr<JITProgram>>
  create(llvm::ArrayRef<char> object, const CPUTarget &target, llvm::StringRef querySymbol,
         EmitErrorFn emitError);

  kvc_program_query_fn getQuery() const { return query; }

private:
  JITProgram();

  std::unique_ptr<llvm::orc::LLJIT> jit;
  kvc_program_query_fn query = nullptr;
};

} // namespace kvc

#endif // KVC_TARGET_LLVM_JIT_H
