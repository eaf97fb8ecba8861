//===- CodeConverter.h - codes as operands of products ----------*- C++ -*-===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef KVC_LIB_CONVERSION_KVTILETONVVM_CODECONVERTER_H
#define KVC_LIB_CONVERSION_KVTILETONVVM_CODECONVERTER_H

#include "kvc/Conversion/KernelBuilder.h"

namespace kvc::kvtile {

/// From registers of codes, as ldmatrix leaves them, to registers of two f16, exactly:
/// every code is an f16.
class CodeConverter {
public:
  using Value = mlir::Value;
  using Registers = llvm::SmallVector<Value, 4>;

  CodeConverter(KernelBuilder &k, mlir::Type element) : k(k), element(element) {}

  /// Codes that follow each other along the width: of 8 bits as (0, 1), (2, 3); of 4 bits
  /// as (i, i + 4) for i = 0 to 3.
  const Registers &alongWidth(Value codes) { return convert(codes, {0, 1, 2, 3}); }
  /// Codes in the same columns of two tokens, the first one's in the low half: for each
  /// column the two tokens' numbers.
  const Registers &alongTokens(Value codes) { return convert(codes, {0, 2, 1, 3}); }

private:
  /// `order`: of bytes, two by two.
  const Registers &convert(Value codes, std::array<int64_t, 4> order);
  Registers convertFloats(Value codes, std::array<int64_t, 4> order);
  Registers convertBytes(Value codes, std::array<int64_t, 4> order);
  Registers convertHalfBytes(Value codes);
  Value permute(Value low, Value high, int64_t selector);
  Value pairOf(double value);
  Value toPair(Value bits);
  Value toBits(Value pair);

  KernelBuilder &k;
  mlir::Type element;
  llvm::DenseMap<Value, Registers> converted;
};

} // namespace kvc::kvtile

#endif // KVC_LIB_CONVERSION_KVTILETONVVM_CODECONVERTER_H
