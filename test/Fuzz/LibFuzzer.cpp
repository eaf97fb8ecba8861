//===- LibFuzzer.cpp - the target for libFuzzer -----------------------------===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Mutator.h"
#include "Target.h"

#include <algorithm>
#include <cstring>

using namespace kvcfuzz;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static Target *target = new Target;
  // Chance follows from the text alone, so that a text fails again.
  uint64_t hash = 0xCBF29CE484222325;
  for (size_t i = 0; i < size; ++i)
    hash = (hash ^ data[i]) * 0x100000001B3;
  Random random(hash);
  target->run({reinterpret_cast<const char *>(data), size}, random);
  return 0;
}

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t maxSize,
                                          unsigned seed) {
  Random random(seed);
  std::string_view text(reinterpret_cast<const char *>(data), size);
  std::string result = random.oneIn(100) ? makeLarge(random)
                                         : Mutator().mutate(text, random);
  size_t count = std::min(result.size(), maxSize);
  std::memcpy(data, result.data(), count);
  return count;
}
