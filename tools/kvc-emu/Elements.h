//===- Elements.h - types and texts of elements -----------------*- C++ -*-===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef KVC_TOOLS_KVC_EMU_ELEMENTS_H
#define KVC_TOOLS_KVC_EMU_ELEMENTS_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <cstdint>
#include <string>

namespace kvcemu {

/// A type of elements and scalars.
struct ElementType {
  enum Kind : uint8_t { Signed, Unsigned, Float };
  llvm::StringRef name;  ///< "f32"
  llvm::StringRef descr; ///< NumPy's name, to write; bf16 and fp8 as their bits.
  Kind kind;
  unsigned bytes;

  bool isFloat() const { return kind == Float; }
};

/// Null if `name` is no type. PTX's names, such as s32 and b32, are known as well.
const ElementType *findType(llvm::StringRef name);
/// The type of a .npy file's elements; null if there is none.
const ElementType *findTypeOfDescr(llvm::StringRef descr);
/// "i8, i16, ...".
std::string listTypes();

/// Writes the element that `text` means to `to`: a number in the range of the type,
/// which is rounded to nearest, or its bits as 0x... of a floating-point type.
llvm::Error parseElement(llvm::StringRef text, const ElementType &type, void *to);
void storeNumber(double value, const ElementType &type, void *to);
/// The value, rounded to f64.
double loadNumber(const ElementType &type, const void *from);
/// The shortest decimal that means the element.
std::string printElement(const ElementType &type, const void *from);

} // namespace kvcemu

#endif // KVC_TOOLS_KVC_EMU_ELEMENTS_H
