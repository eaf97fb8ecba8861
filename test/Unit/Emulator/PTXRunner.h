//===- PTXRunner.h - runs pieces of PTX -------------------------*- C++ -*-===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Statements see these registers:
//
//   %h<n> 16 bits, %r<n> 32 bits, %l<n> 64 bits, %p<n> predicates
//
// Expected values come from the definitions in the PTX manual and from arithmetic,
// never from the emulator.
//===----------------------------------------------------------------------===//
#ifndef KVC_TEST_UNIT_EMULATOR_PTXRUNNER_H
#define KVC_TEST_UNIT_EMULATOR_PTXRUNNER_H

#include "kvc/Emulator/Emulator.h"

#include <cstdint>
#include <cstring>
#include <set>
#include <string>
#include <vector>

namespace kvc::emu::test {

//===----------------------------------------------------------------------===//
// One operation, many values
//===----------------------------------------------------------------------===//

/// Sources 1, 2, ... and the results of a lane.
struct Values {
  std::vector<uint64_t> inputs;
  std::vector<uint64_t> results;
};

/// Runs `text` for lanes that have the inputs of the rows in turn, and expects
/// their results: once with all lanes, and with the odd and the even ones only,
/// where the others must keep what they had.
///
/// Input i is in %h<i>, %r<i> and %l<i>, cut to their sizes, and in %p<i>, true if
/// it is not zero. Results are those of %h0, %r0, %l0 and %p0 that `text` names,
/// in this order.
void expectValues(const std::string &text, const std::vector<Values> &rows);

/// Results of `text`, which has one of %h0, %r0, %l0 or %p0, for each input of
/// source 1.
std::vector<uint64_t> evaluate(const std::string &text,
                               const std::vector<uint64_t> &inputs);

/// The same, with the reports of the launch, for rows of inputs.
struct Outcome {
  std::vector<std::vector<uint64_t>> results;
  std::vector<Report> reports;
};
Outcome evaluateRows(const std::string &text,
                     const std::vector<std::vector<uint64_t>> &rows,
                     uint32_t mask = ~0u);

/// Expects that `text` is refused with a message that holds `words`.
void expectRefused(const std::string &text, const std::string &words);

//===----------------------------------------------------------------------===//
// Kernels and modules
//===----------------------------------------------------------------------===//

/// The directives that a module starts with; one line.
std::string getHeader();

/// A module with an entry `k` of the parameters `out` and `in`, both .u64, around
/// `body`, and `globals` before it. Besides the registers above there are %out and
/// %in, the values of the parameters, %t, the thread's x, and %mine = %out + 4 * %t.
std::string makeKernel(const std::string &body, const std::string &globals = "");

struct Launched {
  std::string log; ///< Why the module was not loaded.
  LaunchResult result;
  std::vector<uint32_t> words; ///< Of the output.
  /// Fails the test unless the launch finished without reports.
  const Launched &expectClean() const;
  bool hasReport(ReportKind kind) const;
};

/// Launches the entry `k` of `module` with `numWords` words of output, which hold
/// 0xEEEEEEEE, and those of `in` as input.
Launched run(const std::string &module, size_t numWords,
             const std::vector<uint32_t> &in = {}, Dim3 block = {32, 1, 1},
             Dim3 grid = {1, 1, 1}, const LaunchOptions &options = LaunchOptions(),
             uint32_t dynamicShared = 0);

/// What loading says, "" if it succeeds.
std::string load(const std::string &module);

/// Opcodes, up to the first dot, of all statements that were run so far.
const std::set<std::string> &getSeenOpcodes();

//===----------------------------------------------------------------------===//
// Bits
//===----------------------------------------------------------------------===//

inline uint64_t f32(float value) {
  uint32_t bits;
  std::memcpy(&bits, &value, sizeof(bits));
  return bits;
}
inline uint64_t f64(double value) {
  uint64_t bits;
  std::memcpy(&bits, &value, sizeof(bits));
  return bits;
}
inline float toF32(uint64_t bits) {
  uint32_t narrow = uint32_t(bits);
  float value;
  std::memcpy(&value, &narrow, sizeof(value));
  return value;
}
inline double toF64(uint64_t bits) {
  double value;
  std::memcpy(&value, &bits, sizeof(value));
  return value;
}

inline constexpr uint64_t kInf = 0x7F800000, kNegInf = 0xFF800000;
inline constexpr uint64_t kNaN = 0x7FFFFFFF; ///< What f32 arithmetic gives.
inline constexpr uint64_t kNegZero = 0x80000000;

} // namespace kvc::emu::test

#endif // KVC_TEST_UNIT_EMULATOR_PTXRUNNER_H
