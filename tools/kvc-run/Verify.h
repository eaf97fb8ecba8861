//===- Verify.h - compares a call with the definition -----------*- C++ -*-===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef KVC_TOOLS_KVC_RUN_VERIFY_H
#define KVC_TOOLS_KVC_RUN_VERIFY_H

#include "Inputs.h"

namespace kvcrun {

/// What comparing the rows of one result, or of one appended component, came to. A
/// row is one token and one head.
struct Comparison {
  std::string what; ///< Such as "result 0" or "argument 3, component k".
  std::string measure; ///< What `worst` is; empty if rows had to be equal bit for bit.
  int64_t rows = 0;
  int64_t failures = 0;
  double worst = 0, bound = 0;
  int32_t sequence = 0, token = 0, head = 0; ///< Of the worst row.
  std::string failure; ///< Of the first row that failed.
};

struct Verification {
  int64_t tokens = 0; ///< Query tokens that were compared.
  std::vector<Comparison> comparisons;

  bool passed() const {
    return llvm::all_of(comparisons, [](const Comparison &c) { return c.failures == 0; });
  }
};

/// Compares what the call left in the results and caches of `inputs` with the
/// definition of `source` in f64. Fails, after a message, if there is no such
/// definition; a difference is no failure.
mlir::FailureOr<Verification> verify(const Options &options, Compiler &compiler,
                                     const Source &source, const FunctionFacts &facts,
                                     const Program &program, const Inputs &inputs,
                                     kvc_stream_t *stream);

} // namespace kvcrun

#endif // KVC_TOOLS_KVC_RUN_VERIFY_H
