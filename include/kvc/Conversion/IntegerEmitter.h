//===- IntegerEmitter.h - short forms for integers --------------*- C++ -*-===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef KVC_CONVERSION_INTEGEREMITTER_H
#define KVC_CONVERSION_INTEGEREMITTER_H

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/Builders.h"

namespace kvc {

/// Emits `arith` on integers and addresses of the LLVM dialect, so that code which
/// computes sizes reads as the arithmetic that it is.
class IntegerEmitter {
public:
  using Value = mlir::Value;
  using Type = mlir::Type;

  IntegerEmitter(mlir::OpBuilder &builder, mlir::Location loc) : b(builder), loc(loc) {}

  Type ptrType() { return mlir::LLVM::LLVMPointerType::get(b.getContext()); }
  Type i32Type() { return b.getI32Type(); }
  Type i64Type() { return b.getI64Type(); }

  Value i32(int64_t value);
  Value i64(int64_t value);

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

  /// Address `bytes` after `base`.
  Value offset(Value base, int64_t bytes);
  Value offset(Value base, Value bytes);

  /// An integer constant of the type of `like`.
  Value intSplat(Value like, int64_t value);

  mlir::OpBuilder &b;
  mlir::Location loc;
};

/// Bytes of one element.
int64_t getByteWidth(mlir::Type element);

} // namespace kvc

#endif // KVC_CONVERSION_INTEGEREMITTER_H
