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

/// Follows the formulas of #kvc.component, for elements of 4 bits.
static ElementPlace getNibblePlace(LoopBuilder &b, Layout layout, Value page, Value token,
                                   Value head, Value w) {
  switch (layout) {
  case Layout::RowMajor:
    return {{page, token, head, b.div(w, 2)}, b.rem(w, 2)};
  case Layout::PackedKey: { // 0, 2, 4, 6, 1, 3, 5, 7
    Value e = b.rem(w, 8);
    Value byte = b.add(b.mul(b.rem(e, 2), b.index(2)), b.div(e, 4));
    return {{page, head, b.div(token, kPackedTokens), b.div(w, 8), b.rem(token, kPackedTokens),
             byte},
            b.rem(b.div(e, 2), 2)};
  }
  case Layout::PackedValue: { // tokens 0, 2, 1, 3
    Value t = b.rem(token, 4);
    Value byte = b.add(b.mul(b.rem(t, 2), b.index(2)), b.div(t, 2));
    return {{page, head, b.div(token, 4), b.div(w, 8), b.rem(w, 4), byte},
            b.div(b.rem(w, 8), 4)};
  }
  case Layout::LaneKey:
    return {{page, head, b.div(token, kPackedTokens), b.div(w, 2), b.rem(token, kPackedTokens)},
            b.rem(w, 2)};
  }
  llvm_unreachable("unknown layout");
}

/// The same for elements of 8 bits.
static LoopBuilder::Values getByteIndices(LoopBuilder &b, Layout layout, Value page,
                                          Value token, Value head, Value w) {
  switch (layout) {
  case Layout::RowMajor:
    return {page, token, head, w};
  case Layout::PackedKey:
    return {page,
            head,
            b.div(token, kPackedTokens),
            b.div(w, 4),
            b.div(b.rem(token, kPackedTokens), 4),
            b.div(b.rem(w, 4), 2),
            b.rem(token, 4),
            b.rem(w, 2)};
  case Layout::PackedValue:
    return {
        page,        head,           b.div(token, 4), b.div(w, 4), b.div(b.rem(token, 4), 2),
        b.rem(w, 4), b.rem(token, 2)};
  case Layout::LaneKey:
    return {page, head, b.div(token, kPackedTokens), w, b.rem(token, kPackedTokens)};
  }
  llvm_unreachable("unknown layout");
}

ElementPlace kvc::getElementPlace(LoopBuilder &b, ComponentAttr component, Value page,
                                  Value token, Value head, Value w) {
  Type element = component.getElementType();
  if (element.isInteger(4))
    return getNibblePlace(b, component.getLayout(), page, token, head, w);
  if (isQuantized(element))
    return {getByteIndices(b, component.getLayout(), page, token, head, w), Value()};
  int64_t pair = getPackedPair(element);
  switch (component.getLayout()) {
  case Layout::RowMajor:
    return {{page, token, head, w}, Value()};
  case Layout::PackedKey:
    return {{page, head, b.div(token, kPackedTokens), b.div(w, pair),
             b.rem(token, kPackedTokens), b.rem(w, pair)},
            Value()};
  case Layout::PackedValue:
    return {{page, head, b.div(token, pair), w, b.rem(token, pair)}, Value()};
  case Layout::LaneKey:
    break; // of codes only
  }
  llvm_unreachable("unknown layout");
}
