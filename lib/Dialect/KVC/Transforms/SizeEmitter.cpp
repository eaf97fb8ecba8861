//===- SizeEmitter.cpp - sizes as values ----------------------------------===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "SizeEmitter.h"

using namespace mlir;
using namespace kvc;

OpFoldResult SizeEmitter::emit(AffineExpr size) {
  size = elements.getSpace().simplify(size);
  if (auto constant = dyn_cast<AffineConstantExpr>(size))
    return b.getIndexAttr(constant.getValue());
  return emitValue(size);
}

Value SizeEmitter::emitValue(AffineExpr size) {
  Location loc = user->getLoc();
  if (auto constant = dyn_cast<AffineConstantExpr>(size))
    return arith::ConstantIndexOp::create(b, loc, constant.getValue());
  if (isa<AffineDimExpr>(size))
    return dims.lookup(size);
  if (isa<AffineSymbolExpr>(size)) {
    auto [value, dim] = elements.getOrigin(size);
    Operation *op = value.getDefiningOp();
    if (value.getParentBlock() != user->getBlock() || (op && !op->isBeforeInBlock(user)))
      return {};
    if (isa<RankedTensorType>(value.getType()))
      return tensor::DimOp::create(b, loc, value, dim);
    if (value.getType().isIndex())
      return value;
    return arith::IndexCastOp::create(b, loc, b.getIndexType(), value);
  }
  auto binary = dyn_cast<AffineBinaryOpExpr>(size);
  if (!binary)
    return {};
  Value lhs = emitValue(binary.getLHS()), rhs = emitValue(binary.getRHS());
  if (!lhs || !rhs)
    return {};
  bool divides = size.getKind() == AffineExprKind::FloorDiv ||
                 size.getKind() == AffineExprKind::Mod;
  if (divides && elements.getSpace().isNonNegative(binary.getLHS()) != true)
    return {};
  switch (size.getKind()) {
  case AffineExprKind::Add:
    return arith::AddIOp::create(b, loc, lhs, rhs);
  case AffineExprKind::Mul:
    return arith::MulIOp::create(b, loc, lhs, rhs);
  case AffineExprKind::FloorDiv: // of what is not negative
    return arith::DivUIOp::create(b, loc, lhs, rhs);
  case AffineExprKind::Mod:
    return arith::RemUIOp::create(b, loc, lhs, rhs);
  default:
    return {};
  }
}
