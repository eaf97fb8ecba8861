//===- Emitter.h - short forms for CPU kernels ------------------*- C++ -*-===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Kernels are written with LLVM pointers, `arith` on scalars and 1-D vectors, and
// `scf` loops. This keeps their text short, and holds what differs between the
// tiers of processors: multiply-add, conversions, exp2.
//===----------------------------------------------------------------------===//
#ifndef KVC_LIB_CONVERSION_KVCTOCPU_EMITTER_H
#define KVC_LIB_CONVERSION_KVCTOCPU_EMITTER_H

#include "kvc/Conversion/IntegerEmitter.h"
#include "kvc/Support/CPUTier.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

namespace kvc {

class Emitter : public IntegerEmitter {
public:
  Emitter(mlir::OpBuilder &builder, mlir::Location loc, CPUTier tier)
      : IntegerEmitter(builder, loc), tier(tier) {}

  //===--- Types and constants --------------------------------------------===//

  Type i16Type() { return b.getI16Type(); }
  Type f32Type() { return b.getF32Type(); }
  mlir::VectorType vectorOf(int64_t lanes, Type element) {
    return mlir::VectorType::get({lanes}, element);
  }

  Value f32(double value);
  /// A vector (or scalar, for 0 lanes) with `value` everywhere.
  Value splat(int64_t lanes, double value);

  //===--- Floats, scalar or vector ---------------------------------------===//

  Value addf(Value x, Value y);
  Value subf(Value x, Value y);
  Value mulf(Value x, Value y);
  Value divf(Value x, Value y);
  /// x * y + z; fused where the processor can.
  Value fma(Value x, Value y, Value z);
  /// The larger; `y` if either is NaN. One instruction, unlike maxnumf.
  Value maxf(Value x, Value y);
  /// Largest element; NaNs may be passed over.
  Value reduceMax(Value vector);
  Value reduceAdd(Value vector);
  Value broadcast(Value scalar, int64_t lanes);
  /// 2^x, exact at whole numbers, relative error below 3e-7; 0 below -126.
  Value exp2(Value x);

  /// Storage element (f32, f16, bf16) to f32, and back, rounded to nearest even;
  /// scalars and vectors.
  Value toF32(Value x);
  Value fromF32(Value x, Type element);

  //===--- Memory ---------------------------------------------------------===//

  /// Loads with the alignment of an element, or of `alignment` bytes.
  Value load(Type type, Value address, int64_t alignment = 0);
  Value load(Type type, Value base, int64_t bytes, int64_t alignment) {
    return load(type, offset(base, bytes), alignment);
  }
  void store(Value value, Value address, int64_t alignment = 0);
  void prefetch(Value address);

  //===--- Control --------------------------------------------------------===//

  using Body = llvm::function_ref<void(Value)>;
  using CarryingBody =
      llvm::function_ref<llvm::SmallVector<Value>(Value, mlir::ValueRange)>;
  /// for (i = begin; i < end; i += step)
  void loop(Value begin, Value end, int64_t step, Body body);
  llvm::SmallVector<Value> loop(Value begin, Value end, int64_t step,
                                mlir::ValueRange inits, CarryingBody body);
  void ifThen(Value condition, llvm::function_ref<void()> then,
              llvm::function_ref<void()> otherwise = nullptr);

  CPUTier tier;

private:
  Value bitcast(Value x, Type element);
  Value f16ToF32(Value x);
  Value f32ToF16(Value x);
  Value f32ToBF16(Value x);
};

} // namespace kvc

#endif // KVC_LIB_CONVERSION_KVCTOCPU_EMITTER_H
