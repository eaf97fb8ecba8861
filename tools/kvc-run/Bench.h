//===- Bench.h - times compilation and calls --------------------*- C++ -*-===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef KVC_TOOLS_KVC_RUN_BENCH_H
#define KVC_TOOLS_KVC_RUN_BENCH_H

#include "DeviceInputs.h"

#include "llvm/Support/JSON.h"

namespace kvcrun {

/// The middle of some measurements, and their range.
struct Spread {
  double median = 0, least = 0, most = 0;
};

/// Seconds, bytes and operations are of one call.
struct BenchResult {
  std::string phase; ///< decode, prefill, mixed or no attention.
  Spread compileSeconds; ///< From text to machine code.
  Spread seconds;
  int64_t tokens = 0; ///< New ones.
  double bytes = 0;   ///< Of the keys and values that queries see, once a sequence.
  double products = 0; ///< Operations of the products of queries, keys and values.
  /// Bytes per second that the machine reads linearly; not measured on a device.
  std::optional<Spread> readRate;
  std::string peakName; ///< Of the instruction that the kernel multiplies with; may be empty.
  Spread peak;        ///< Operations per second.

  void print(llvm::raw_ostream &os) const;
  llvm::json::Object toJSON() const;
};

/// Times calls of `program`: on a device, by the events of its stream, or else beside
/// the machine's rates, in turns.
mlir::FailureOr<BenchResult> runBench(const Options &options, Compiler &compiler,
                                      const Source &source, const FunctionFacts &facts,
                                      const Program &program, Inputs &inputs,
                                      kvc_stream_t *stream, const Device *device,
                                      DeviceInputs *deviceInputs);

} // namespace kvcrun

#endif // KVC_TOOLS_KVC_RUN_BENCH_H
