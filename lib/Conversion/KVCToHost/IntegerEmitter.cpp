//===- IntegerEmitter.cpp - short forms for integers and addresses --------===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "kvc/Conversion/IntegerEmitter.h"

using namespace mlir;

namespace kvc {

int64_t getByteWidth(Type element) {
  return llvm::PowerOf2Ceil(llvm::divideCeil(element.getIntOrFloatBitWidth(), 8));
}

Value IntegerEmitter::i32(int64_t value) {
  return arith::ConstantOp::create(b, loc, b.getI32IntegerAttr(value));
}

Value IntegerEmitter::i64(int64_t value) {
  return arith::ConstantOp::create(b, loc, b.getI64IntegerAttr(value));
}

Value IntegerEmitter::intSplat(Value like, int64_t value) {
  Type type = like.getType();
  TypedAttr attr = b.getIntegerAttr(getElementTypeOrSelf(type), value);
  if (auto vector = dyn_cast<VectorType>(type))
    attr = DenseElementsAttr::get(vector, attr);
  return arith::ConstantOp::create(b, loc, attr);
}

Value IntegerEmitter::add(Value x, Value y) { return arith::AddIOp::create(b, loc, x, y); }
Value IntegerEmitter::add(Value x, int64_t y) { return y == 0 ? x : add(x, intSplat(x, y)); }
Value IntegerEmitter::sub(Value x, Value y) { return arith::SubIOp::create(b, loc, x, y); }
Value IntegerEmitter::mul(Value x, Value y) { return arith::MulIOp::create(b, loc, x, y); }
Value IntegerEmitter::mul(Value x, int64_t y) { return y == 1 ? x : mul(x, intSplat(x, y)); }
Value IntegerEmitter::div(Value x, int64_t y) {
  return y == 1 ? x : Value(arith::DivUIOp::create(b, loc, x, intSplat(x, y)));
}
Value IntegerEmitter::rem(Value x, int64_t y) {
  return arith::RemUIOp::create(b, loc, x, intSplat(x, y));
}
Value IntegerEmitter::min(Value x, Value y) { return arith::MinSIOp::create(b, loc, x, y); }
Value IntegerEmitter::max(Value x, Value y) { return arith::MaxSIOp::create(b, loc, x, y); }
Value IntegerEmitter::less(Value x, Value y) {
  return arith::CmpIOp::create(b, loc, arith::CmpIPredicate::slt, x, y);
}
Value IntegerEmitter::lessOrEqual(Value x, Value y) {
  return arith::CmpIOp::create(b, loc, arith::CmpIPredicate::sle, x, y);
}
Value IntegerEmitter::equal(Value x, Value y) {
  return arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq, x, y);
}
Value IntegerEmitter::notEqual(Value x, Value y) {
  return arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ne, x, y);
}
Value IntegerEmitter::logicalAnd(Value x, Value y) { return arith::AndIOp::create(b, loc, x, y); }
Value IntegerEmitter::logicalOr(Value x, Value y) { return arith::OrIOp::create(b, loc, x, y); }
Value IntegerEmitter::select(Value condition, Value x, Value y) {
  return arith::SelectOp::create(b, loc, condition, x, y);
}
Value IntegerEmitter::toI64(Value x) { return arith::ExtSIOp::create(b, loc, i64Type(), x); }
Value IntegerEmitter::toI32(Value x) { return arith::TruncIOp::create(b, loc, i32Type(), x); }

Value IntegerEmitter::offset(Value base, int64_t bytes) {
  if (bytes == 0)
    return base;
  return LLVM::GEPOp::create(b, loc, ptrType(), b.getI8Type(), base,
                             ArrayRef<LLVM::GEPArg>{static_cast<int32_t>(bytes)});
}

Value IntegerEmitter::offset(Value base, Value bytes) {
  return LLVM::GEPOp::create(b, loc, ptrType(), b.getI8Type(), base,
                             ArrayRef<LLVM::GEPArg>{bytes});
}

} // namespace kvc
