//===- FreeList.cpp - the free pages of a pool ----------------------------===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The order of the pages is a function of the seed and of the calls so far.
//===----------------------------------------------------------------------===//
#include "Pool.h"

#include <cstdlib>
#include <utility>

using namespace kvc::rt;

void FreeList::Deleter::operator()(int32_t *entries) const {
  std::free(entries);
}

FreeList::FreeList(int32_t numPages, uint64_t seed)
    : numPages(numPages), numFree(numPages), shuffled(seed != 0),
      randomState(seed), entries(static_cast<int32_t *>(std::calloc(
                             static_cast<size_t>(numPages), sizeof(int32_t)))) {
  if (!entries)
    throw std::bad_alloc();
}

/// splitmix64: a counter that steps by the golden ratio, hashed.
uint64_t FreeList::nextRandom() {
  uint64_t z = (randomState += 0x9e3779b97f4a7c15u);
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

int32_t FreeList::take() {
  int32_t last = numFree - 1;
  // One step of a Fisher-Yates shuffle for each page: as if the whole list were
  // shuffled, but pages that are not taken are not touched, and pages that come
  // back are shuffled again. The remainder favours small indices by less than
  // numFree / 2^64, which does not matter here.
  if (shuffled) {
    auto chosen =
        static_cast<int32_t>(nextRandom() % static_cast<uint64_t>(numFree));
    int32_t page = get(chosen);
    set(chosen, get(last));
    set(last, page);
  }
  numFree = last;
  return get(last);
}
