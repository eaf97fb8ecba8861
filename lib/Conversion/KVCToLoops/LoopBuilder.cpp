//===- LoopBuilder.cpp - loops over elements of tensors and caches --------===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "LoopBuilder.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace kvc;

Value LoopBuilder::index(int64_t value) {
  return arith::ConstantIndexOp::create(*this, value);
}

Value LoopBuilder::real(Type type, double value) {
  return arith::ConstantOp::create(*this, getFloatAttr(type, value));
}

Value LoopBuilder::add(Value lhs, Value rhs) {
  if (isa<FloatType>(lhs.getType()))
    return arith::AddFOp::create(*this, lhs, rhs);
  return arith::AddIOp::create(*this, lhs, rhs);
}

Value LoopBuilder::sub(Value lhs, Value rhs) {
  if (isa<FloatType>(lhs.getType()))
    return arith::SubFOp::create(*this, lhs, rhs);
  return arith::SubIOp::create(*this, lhs, rhs);
}

Value LoopBuilder::mul(Value lhs, Value rhs) {
  if (isa<FloatType>(lhs.getType()))
    return arith::MulFOp::create(*this, lhs, rhs);
  return arith::MulIOp::create(*this, lhs, rhs);
}

Value LoopBuilder::div(Value lhs, int64_t rhs) {
  return arith::DivUIOp::create(*this, lhs, index(rhs));
}

Value LoopBuilder::rem(Value lhs, int64_t rhs) {
  return arith::RemUIOp::create(*this, lhs, index(rhs));
}

LoopBuilder::Values LoopBuilder::loop(Value begin, Value end, ValueRange carried,
                                      LoopBody body) {
  auto op = scf::ForOp::create(*this, begin, end, index(1), carried);
  InsertionGuard guard(*this);
  setInsertionPointToStart(op.getBody());
  Values next = body(op.getInductionVar(), op.getRegionIterArgs());
  if (!carried.empty()) // else the operation has made its terminator itself
    scf::YieldOp::create(*this, next);
  return llvm::to_vector_of<Value>(op.getResults());
}

LoopBuilder::Values LoopBuilder::choose(Value condition, ValueRange otherwise,
                                        function_ref<Values()> then) {
  if (!condition)
    return then();
  auto op = scf::IfOp::create(*this, otherwise.getTypes(), condition,
                              /*withElseRegion=*/!otherwise.empty());
  InsertionGuard guard(*this);
  setInsertionPointToStart(op.thenBlock());
  Values chosen = then();
  if (otherwise.empty())
    return {};
  scf::YieldOp::create(*this, chosen);
  setInsertionPointToStart(op.elseBlock());
  scf::YieldOp::create(*this, otherwise);
  return llvm::to_vector_of<Value>(op.getResults());
}

Value LoopBuilder::size(Value shaped, int64_t dim) {
  if (isa<TensorType>(shaped.getType()))
    return tensor::DimOp::create(*this, shaped, dim);
  return memref::DimOp::create(*this, shaped, dim);
}

Value LoopBuilder::empty(Type type, Value rows) {
  auto tensor = cast<RankedTensorType>(type);
  return tensor::EmptyOp::create(*this, tensor,
                                 tensor.isDynamicDim(0) ? ValueRange(rows) : ValueRange());
}

Value LoopBuilder::extract(Value tensor, ValueRange indices) {
  return tensor::ExtractOp::create(*this, tensor, indices);
}

Value LoopBuilder::insert(Value element, Value tensor, ValueRange indices) {
  return tensor::InsertOp::create(*this, element, tensor, indices);
}

Value LoopBuilder::loadIndex(Value array, Value i) {
  return arith::IndexCastOp::create(*this, getIndexType(),
                                    memref::LoadOp::create(*this, array, i));
}

Value LoopBuilder::extend(Value value, Type type) {
  if (value.getType() == type)
    return value;
  return arith::ExtFOp::create(*this, type, value);
}

Value LoopBuilder::round(Value value, Type type) {
  if (value.getType() == type)
    return value;
  return arith::TruncFOp::create(*this, type, value);
}

LoopBuilder::Values kvc::getElementIndices(LoopBuilder &b, ComponentAttr component,
                                           Value page, Value token, Value head, Value w) {
  int64_t pair = getPackedPair(component.getElementType());
  switch (component.getLayout()) {
  case Layout::RowMajor:
    return {page, token, head, w};
  case Layout::PackedKey:
    return {page,           head, b.div(token, kPackedTokens), b.div(w, pair),
            b.rem(token, kPackedTokens), b.rem(w, pair)};
  case Layout::PackedValue:
    return {page, head, b.div(token, pair), w, b.rem(token, pair)};
  }
  llvm_unreachable("unknown layout");
}
