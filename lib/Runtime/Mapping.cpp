//===- Mapping.cpp - address space that fills lazily ----------------------===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reserves more than asked, without access, and opens the part in the middle:
// what is left on both sides aligns the start and fences the ends.
//===----------------------------------------------------------------------===//
#include "Mapping.h"

#include <cstdint>
#include <sys/mman.h>

using namespace kvc::rt;

/// Size of a huge page; pools from kHugeThreshold on start at a multiple.
static constexpr size_t kHugePage = size_t{2} << 20;
static constexpr size_t kHugeThreshold = size_t{32} << 20;
/// A multiple of every page size in use (up to 64 KiB on some systems).
static constexpr size_t kSmallPage = size_t{64} << 10;

Mapping::~Mapping() {
  if (reserved)
    munmap(reserved, reservedSize);
}

bool Mapping::map(size_t size, bool lazy) {
  bool huge = size >= kHugeThreshold;
  size_t alignment = huge ? kHugePage : kSmallPage;
  size_t total;
  if (size > SIZE_MAX - alignment)
    return false;
  size = (size + alignment - 1) & ~(alignment - 1);
  if (__builtin_add_overflow(size, 3 * alignment, &total))
    return false;
  int flags = MAP_PRIVATE | MAP_ANONYMOUS | (lazy ? MAP_NORESERVE : 0);
  void *address = mmap(nullptr, total, PROT_NONE, flags, -1, 0);
  if (address == MAP_FAILED)
    return false;
  reserved = address;
  reservedSize = total;
  // One alignment unit stays in front as the fence.
  uintptr_t start = reinterpret_cast<uintptr_t>(address) + 2 * alignment - 1;
  begin = static_cast<char *>(address) +
          ((start & ~(alignment - 1)) - reinterpret_cast<uintptr_t>(address));
  if (mprotect(begin, size, PROT_READ | PROT_WRITE) != 0)
    return false;
  // A hint: without huge pages everything works, only slower.
  if (huge)
    (void)madvise(begin, size, MADV_HUGEPAGE);
  return true;
}
