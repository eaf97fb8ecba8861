//===- RandomNumbers.h - random inputs of tools -----------------*- C++ -*-===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef KVC_TOOLS_COMMON_RANDOMNUMBERS_H
#define KVC_TOOLS_COMMON_RANDOMNUMBERS_H

#include <cstdint>

namespace kvctools {

/// Numbers of mean 0 and variance 1, each a function of a key and its index, so that
/// they may be made in any order and again. Number i is the sum of the four 16-bit
/// parts of splitmix64's i-th output, shifted and scaled: close to normal, never
/// beyond 3.47, and the same on every machine.
class RandomNumbers {
public:
  explicit RandomNumbers(uint64_t seed) : key(mix(seed)) {}

  /// Independent numbers, one sequence for each `n`.
  RandomNumbers fork(uint64_t n) const {
    RandomNumbers result(0);
    result.key = mix(key ^ mix(n + 1));
    return result;
  }

  float at(uint64_t index) const {
    uint64_t bits = bitsAt(index);
    int32_t sum = static_cast<int32_t>((bits & 0xFFFF) + ((bits >> 16) & 0xFFFF) +
                                       ((bits >> 32) & 0xFFFF) + (bits >> 48));
    constexpr float kScale = 1.0f / 37837.227f; // sqrt(4 * (2^32 - 1) / 12)
    return static_cast<float>(sum - 131070) * kScale;
  }

  uint64_t bitsAt(uint64_t index) const {
    return mix(key + (index + 1) * 0x9E3779B97F4A7C15ull);
  }

private:
  static uint64_t mix(uint64_t x) {
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9ull;
    x = (x ^ (x >> 27)) * 0x94D049BB133111EBull;
    return x ^ (x >> 31);
  }

  uint64_t key;
};

} // namespace kvctools

#endif // KVC_TOOLS_COMMON_RANDOMNUMBERS_H
