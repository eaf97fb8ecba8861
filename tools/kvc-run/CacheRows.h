//===- CacheRows.h - rows of the arrays of a cache --------------*- C++ -*-===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A row is what an array of a cache holds of one token: [heads][width] elements. The
// runtime knows where they lie.
//===----------------------------------------------------------------------===//
#ifndef KVC_TOOLS_KVC_RUN_CACHEROWS_H
#define KVC_TOOLS_KVC_RUN_CACHEROWS_H

#include "Elements.h"

#include "kvc-rt/runtime.h"

#include <vector>

namespace kvcrun {

using Row = std::vector<char>;

/// A quantised component of a cache: the arrays that it consists of.
struct QuantizedArrays {
  unsigned codes;
  std::optional<unsigned> scales, zeros;
};

/// The place of the array called `name`; nothing if there is none.
std::optional<unsigned> findArray(const kvc_cache_type_t &type, llvm::StringRef name);

/// The arrays that `array` belongs with, as codes, scales or zero points; nothing if its
/// elements stand for themselves.
std::optional<QuantizedArrays> findQuantized(const kvc_cache_type_t &type, unsigned array);

inline bool isStatic(const kvc_component_type_t &array) {
  return array.layout == KVC_LAYOUT_STATIC;
}

/// Bytes of one row; of a static array all of it.
int64_t getRowBytes(const kvc_component_type_t &array);

/// A row of random elements, made of `numbers` from `first` on: codes that an append may
/// store, scales above 0 by which these come to about 1, and other numbers as they are.
Row makeRandomRow(const kvc_cache_type_t &type, unsigned array, RandomNumbers numbers,
                  int64_t first);

/// Copies rows out of or into the memory of the host; `slots` are as kvc_cache_read has
/// them. False after a failure, with the runtime's message.
bool readRows(const kvc_cache_type_t &type, const kvc_cache_view_t &view, unsigned array,
              llvm::ArrayRef<int64_t> slots, Row &rows);
bool writeRows(const kvc_cache_type_t &type, const kvc_cache_view_t &view, unsigned array,
               llvm::ArrayRef<int64_t> slots, const Row &rows);
/// The same for a static array.
Row readStatic(const kvc_cache_type_t &type, const kvc_cache_view_t &view, unsigned array);
void writeStatic(const kvc_cache_type_t &type, const kvc_cache_view_t &view, unsigned array,
                 const Row &row);

/// What the codes of one row stand for, and the distance between neighbours among the
/// codes there, in the same unit.
struct Numbers {
  std::vector<double> values, steps;
};

/// The numbers of [heads][width] codes, of which `scales` and `zeros` are the rows.
Numbers dequantize(const kvc_cache_type_t &type, const QuantizedArrays &arrays,
                   const Row &codes, const Row &scales, const Row &zeros);

/// Element `index` of a row, as a message prints it.
std::string printElement(const kvc_component_type_t &array, const Row &row, int64_t index);

} // namespace kvcrun

#endif // KVC_TOOLS_KVC_RUN_CACHEROWS_H
