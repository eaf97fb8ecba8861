//===- Mapping.h - address space that fills lazily --------------*- C++ -*-===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Owns a range of address space whose memory appears when it is touched.
//===----------------------------------------------------------------------===//
#ifndef KVC_LIB_RUNTIME_MAPPING_H
#define KVC_LIB_RUNTIME_MAPPING_H

#include <cstddef>

namespace kvc::rt {

/// A private range of zeroed memory. Both ends are fenced by pages that may
/// not be touched, so that running off the pool faults.
class Mapping {
public:
  Mapping() = default;
  ~Mapping();
  Mapping(const Mapping &) = delete;
  Mapping &operator=(const Mapping &) = delete;

  /// Maps `size` bytes. With `lazy`, memory is promised to nobody before it is
  /// touched, so that the range may be larger than the machine; without, an
  /// obvious excess is refused. Returns false when the system refuses.
  bool map(size_t size, bool lazy);

  char *data() const { return begin; }

private:
  void *reserved = nullptr;
  size_t reservedSize = 0;
  char *begin = nullptr;
};

} // namespace kvc::rt

#endif // KVC_LIB_RUNTIME_MAPPING_H
