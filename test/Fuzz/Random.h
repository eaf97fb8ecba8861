//===- Random.h - random choices of the fuzzer --------------------*- C++ -*-===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef KVC_TEST_FUZZ_RANDOM_H
#define KVC_TEST_FUZZ_RANDOM_H

#include <cstddef>
#include <cstdint>
#include <vector>

namespace kvcfuzz {

/// The same numbers for the same seed on every machine (splitmix64).
class Random {
public:
  explicit Random(uint64_t seed) : state(seed) {}

  uint64_t next() {
    uint64_t z = (state += 0x9E3779B97F4A7C15);
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EB;
    return z ^ (z >> 31);
  }
  /// A number below `limit`, which is not 0.
  size_t below(size_t limit) { return size_t(next() % limit); }
  /// True once in `n` times.
  bool oneIn(unsigned n) { return below(n) == 0; }
  template <class T> const T &pick(const std::vector<T> &list) {
    return list[below(list.size())];
  }
  template <class T, size_t N> const T &pick(const T (&list)[N]) {
    return list[below(N)];
  }

private:
  uint64_t state;
};

} // namespace kvcfuzz

#endif // KVC_TEST_FUZZ_RANDOM_H
