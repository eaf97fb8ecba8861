//===- CacheType.h - checks of cache types and their pages ------*- C++ -*-===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides whether a cache type is well formed and where the components of a
// page lie.
//===----------------------------------------------------------------------===//
#ifndef KVC_LIB_RUNTIME_CACHETYPE_H
#define KVC_LIB_RUNTIME_CACHETYPE_H

#include "kvc-rt/runtime.h"

namespace kvc::rt {

/// Where things lie in one page of a pool, and in front of a layer's pages.
struct PageLayout {
  uint64_t pageBytes;   ///< A multiple of 64.
  uint64_t staticBytes; ///< Of static components, once a layer, likewise.
  uint64_t offsetBytes[KVC_MAX_COMPONENTS]; ///< Of each component, likewise.
};

/// Checks the rules that hold for every cache type: ranges, names, layouts,
/// and zeros in what is unused, since they are part of the fingerprint.
kvc_status_t checkCacheType(const kvc_cache_type_t &type);

/// Lays out a page of `type`, which passed checkCacheType; refuses element
/// types that pools do not hold and sizes that overflow.
kvc_status_t computePageLayout(const kvc_cache_type_t &type,
                               PageLayout &layout);

} // namespace kvc::rt

#endif // KVC_LIB_RUNTIME_CACHETYPE_H
