//===- Arrays.h - arrays that kernels get -----------------------*- C++ -*-===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef KVC_TOOLS_KVC_EMU_ARRAYS_H
#define KVC_TOOLS_KVC_EMU_ARRAYS_H

#include "Elements.h"

#include "llvm/ADT/ArrayRef.h"

#include <vector>

namespace kvcemu {

/// An array in device memory, as it is before a launch.
struct Array {
  std::string name;
  const ElementType *type = nullptr;
  std::vector<int64_t> shape;
  std::vector<char> bytes;
  bool isWritten = true; ///< Else reading it is an error of the kernel.

  int64_t getNumElements() const { return int64_t(bytes.size() / type->bytes); }
  const char *getElement(int64_t index) const { return bytes.data() + index * type->bytes; }
};

/// Most bytes of an array.
inline constexpr int64_t kMaxArrayBytes = int64_t(1) << 31;

/// Reads "name:type[4x8]=source", "name:type=file.npy" or "name:file.npy".
/// `number` seeds sources by chance that name no seed.
llvm::Error parseArray(llvm::StringRef text, unsigned number, Array &array);

/// Fills the bytes of `array`, whose type and shape are there, from a source:
/// a file, a pattern, {numbers} or one number.
llvm::Error fillArray(llvm::StringRef source, unsigned number, Array &array);

/// "f32[4x8]".
std::string printType(const Array &array);
/// "out: f32[2] = {1, 2}".
std::string printArray(const Array &array, llvm::ArrayRef<char> bytes);

struct Tolerance {
  double absolute = 0, relative = 0; ///< Both 0: the same bits.
};

/// How bytes differ from those of an array.
struct Difference {
  int64_t count = 0; ///< Elements that differ.
  int64_t first = 0; ///< Index of the first.
  double largest = 0; ///< Distance, of those that are numbers.
};
Difference compare(const Array &expected, llvm::ArrayRef<char> bytes,
                   Tolerance tolerance);

llvm::Error saveArray(llvm::StringRef path, const Array &array,
                      llvm::ArrayRef<char> bytes);

} // namespace kvcemu

#endif // KVC_TOOLS_KVC_EMU_ARRAYS_H
