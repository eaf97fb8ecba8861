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

  /// With `keepsOffsets` integers come with an offset, as what takes it off can be cheaper
  /// for a product than for each of its operands.
  CodeConverter(KernelBuilder &k, mlir::Type element, bool keepsOffsets)
      : k(k), element(element), keepsOffsets(keepsOffsets && element.isInteger()) {}

  /// Codes that follow each other along the width: of 8 bits as (0, 1), (2, 3); of 4 bits
  /// as (i, i + 4) for i = 0 to 3.
  const Registers &alongWidth(Value codes) { return convert(codes, Axis::Width); }
  /// Codes in the same columns of two tokens, the first one's in the low half: for each
  /// column the two tokens' numbers.
  const Registers &alongTokens(Value codes) { return convert(codes, Axis::Tokens); }

  /// True if what these return is more than the codes.
  bool hasOffsets() const { return keepsOffsets; }
  /// What to add to both halves of their register `index`.
  Value correctionAlongWidth(int64_t index) { return negate(getOffset(index, Axis::Width)); }
  Value correctionAlongTokens(int64_t index) { return negate(getOffset(index, Axis::Tokens)); }

private:
  enum class Axis { Width, Tokens };
  /// Of bytes, two by two.
  using Order = std::array<int64_t, 4>;

  const Registers &convert(Value codes, Axis axis);
  Registers convertE4M3(Value codes, Order order);
  Registers convertE5M2(Value codes, Order order);
  Registers convertBytes(Value codes, Order order);
  Registers convertHalfBytes(Value codes, Axis axis);
  /// True if half bytes stand where their offset is small: a sum over the width is a
  /// score, which is f32, one over the tokens becomes 16 bits.
  bool raisesHalfBytes(Axis axis) const { return keepsOffsets && axis == Axis::Width; }
  double getOffset(int64_t index, Axis axis) const;
  /// Takes an offset off, unless it is kept.
  Value finish(Value bits, double offset);
  Value negate(double offset) { return toBits(pairOf(-offset)); }
  Value permute(Value low, Value high, int64_t selector);
  Value pairOf(double value);
  Value toPair(Value bits);
  Value toBits(Value pair);

  KernelBuilder &k;
  mlir::Type element;
  bool keepsOffsets;
  llvm::DenseMap<Value, Registers> converted;
};

} // namespace kvc::kvtile

#endif // KVC_LIB_CONVERSION_KVTILETONVVM_CODECONVERTER_H
