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

#include "kvc/Support/CPUTier.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Builders.h"

namespace kvc {

class Emitter {
public:
  using Value = mlir::Value;
  using Type = mlir::Type;

  Emitter(mlir::OpBuilder &builder, mlir::Location loc, CPUTier tier)
      : b(builder), loc(loc), tier(tier) {}

  //===--- Types and constants --------------------------------------------===//

  Type ptrType() { return mlir::LLVM::LLVMPointerType::get(b.getContext()); }
  Type i16Type() { return b.getI16Type(); }
  Type i32Type() { return b.getI32Type(); }
  Type i64Type() { return b.getI64Type(); }
  Type f32Type() { return b.getF32Type(); }
  mlir::VectorType vectorOf(int64_t lanes, Type element) {
    return mlir::VectorType::get({lanes}, element);
  }

  Value i32(int64_t value);
  Value i64(int64_t value);
  Value f32(double value);
  /// A vector (or scalar, for 0 lanes) with `value` everywhere.
  Value splat(int64_t lanes, double value);

  //===--- Integers -------------------------------------------------------===//

  Value add(Value x, Value y);
  Value add(Value x, int64_t y);
  Value sub(Value x, Value y);
  Value mul(Value x, Value y);
  Value mul(Value x, int64_t y);
  /// Quotient and remainder of a number that is not negative.
  Value div(Value x, int64_t y);
  Value rem(Value x, int64_t y);
  Value ceilDiv(Value x, int64_t y) { return div(add(x, y - 1), y); }
  Value alignTo(Value x, int64_t y) { return mul(ceilDiv(x, y), y); }
  Value min(Value x, Value y);
  Value max(Value x, Value y);
  Value less(Value x, Value y);
  Value lessOrEqual(Value x, Value y);
  Value equal(Value x, Value y);
  Value notEqual(Value x, Value y);
  Value logicalAnd(Value x, Value y);
  Value logicalOr(Value x, Value y);
  Value select(Value condition, Value x, Value y);
  Value toI64(Value x); ///< Sign-extends an i32.
  Value toI32(Value x); ///< Truncates an i64.

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

  Value offset(Value base, int64_t bytes);
  Value offset(Value base, Value bytes);
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

  mlir::OpBuilder &b;
  mlir::Location loc;
  CPUTier tier;

private:
  Value bitcast(Value x, Type element);
  Value intSplat(Value like, int64_t value);
  Value f16ToF32(Value x);
  Value f32ToF16(Value x);
  Value f32ToBF16(Value x);
};

/// Bytes of one element.
int64_t getByteWidth(mlir::Type element);

} // namespace kvc

#endif // KVC_LIB_CONVERSION_KVCTOCPU_EMITTER_H
