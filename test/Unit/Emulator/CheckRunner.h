//===- CheckRunner.h - small kernels and what they report -------*- C++ -*-===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef KVC_TEST_UNIT_EMULATOR_CHECKRUNNER_H
#define KVC_TEST_UNIT_EMULATOR_CHECKRUNNER_H

#include "kvc/Emulator/Emulator.h"

#include <gtest/gtest.h>
#include <set>

namespace kvc::emu {

/// Shared memory starts here.
inline constexpr uint64_t kShared = 1024;

/// How a launch is run: right kernels give the same bits, and wrong ones the same
/// kind of report, in each.
struct Mode {
  const char *name;
  CopyPolicy copies;
  uint64_t seed;
};
inline constexpr Mode kModes[] = {{"lazy", CopyPolicy::Lazy, 0},
                                  {"eager", CopyPolicy::Eager, 0},
                                  {"random 1", CopyPolicy::Random, 1},
                                  {"random 2", CopyPolicy::Random, 2}};

/// Where an address of an expected report counts from.
enum class From { Zero, Shared, In, Out };

/// The first report of a launch. With a seed either access of a race may come
/// second, so that only its kind and that its line is marked are looked at.
struct Fault {
  ReportKind kind;
  uint32_t warp = 0, lane = 0;
  From from = From::Zero;
  uint64_t offset = 0;
  std::array<uint32_t, 3> block = {0, 0, 0};
  bool isExact = true; ///< If not, warp, lane and address are not looked at.
};

/// A kernel made of a body, which finds these registers filled:
///
///   %t  thread in the block    %w  warp    %l  lane    %b  block (x)
///   %in, %out  addresses in global memory: `in` holds words 0, 1, 2, ...; `out`
///       was never written; both have kBytes
///   %s  address of 4 bytes a thread in the variable `smem` of shared memory, which
///       has kBytes; `dynamic` lies after it
///
/// and these free: %p<16> predicates, %h<16> of 16 bits, %r<32>, %f<16>, %d<16> of
/// 64 bits. Lines with the comment "// !" are those that reports name; "// ?" those
/// that they may name instead with a seed.
class CheckRunner {
public:
  static constexpr uint32_t kBytes = 8192;

  explicit CheckRunner(const std::string &body);

  Dim3 grid = {1, 1, 1}, block = {32, 1, 1}, cluster = {1, 1, 1};
  uint32_t dynamicShared = 0;
  LaunchOptions options;

  /// Runs in one mode. The contents of `out` are in `result`.
  LaunchResult run(const Mode &mode);
  /// Expects no report and the same `out` in all modes; returns it as words.
  std::vector<uint32_t> expectClean();
  void expectFault(const Fault &fault);
  /// Expects `finished` to be false with `error` holding these words.
  void expectError(const std::string &words);

  /// Lines with "// !".
  const std::set<uint32_t> &getMarks() const { return marks; }

  uint64_t in = 0, out = 0; ///< Addresses during the last run.
  std::vector<uint32_t> result;

private:
  std::string text;
  std::set<uint32_t> marks, seededMarks;
};

} // namespace kvc::emu

#endif // KVC_TEST_UNIT_EMULATOR_CHECKRUNNER_H
