//===- Arguments.h - values of a kernel's parameters ------------*- C++ -*-===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef KVC_TOOLS_KVC_EMU_ARGUMENTS_H
#define KVC_TOOLS_KVC_EMU_ARGUMENTS_H

#include "Arrays.h"

#include <vector>

namespace kvcemu {

/// The value of a parameter, or of a field of one.
struct Argument {
  std::string text; ///< As it was given.
  std::vector<char> bytes;
  int array = -1;     ///< Not -1: the address of this array, plus `offset`.
  int64_t offset = 0;
  std::vector<Argument> fields; ///< Of a struct.
  bool isStruct = false;

  uint64_t getSize() const;
  uint64_t getAlignment() const;
};

/// Reads the value of --arg: a scalar, a pointer, a struct or bytes. One that
/// declares an array adds it.
llvm::Error parseArgument(llvm::StringRef text, std::vector<Array> &arrays,
                          Argument &argument);

/// Writes the value; `addresses` are those of the arrays.
void storeArgument(const Argument &argument, llvm::ArrayRef<uint64_t> addresses,
                   uint8_t *to);

/// The array of that name, or -1.
int findArray(const std::vector<Array> &arrays, llvm::StringRef name);

} // namespace kvcemu

#endif // KVC_TOOLS_KVC_EMU_ARGUMENTS_H
