//===- Mutator.h - texts that are nearly PTX ----------------------*- C++ -*-===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef KVC_TEST_FUZZ_MUTATOR_H
#define KVC_TEST_FUZZ_MUTATOR_H

#include "Random.h"

#include <array>
#include <string>
#include <string_view>

namespace kvcfuzz {

/// Makes texts out of given ones, by changes of tokens, lines and bytes. A small
/// part are new: large or deep in one way each, to find what has no bound.
class Mutator {
public:
  /// Adds a text to start from.
  void add(std::string text);
  bool isEmpty() const { return seeds.empty(); }
  size_t getNumSeeds() const { return seeds.size(); }

  std::string make(Random &random) const;
  /// A changed `text`.
  std::string mutate(std::string_view text, Random &random) const;

private:
  enum Kind { Space, Name, Modifier, Number, Sign, kNumKinds };
  struct Token {
    Kind kind;
    std::string text;
  };
  static std::vector<Token> split(std::string_view text);
  void mutateToken(std::vector<Token> &tokens, Random &random) const;
  void mutateStatement(std::vector<Token> &tokens, Random &random) const;
  static void mutateBytes(std::string &text, Random &random);

  std::vector<std::string> seeds;
  std::array<std::vector<std::string>, kNumKinds> words; ///< Of all seeds.
  std::vector<std::string> statements;
};

/// A text that has much of one thing.
std::string makeLarge(Random &random);

} // namespace kvcfuzz

#endif // KVC_TEST_FUZZ_MUTATOR_H
