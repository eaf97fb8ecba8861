//===- LoopNest.cpp - the elements of a linalg.generic, in loops ----------===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "LoopNest.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace kvc;

bool kvc::sumsInRegisters(linalg::GenericOp op) {
  SmallVector<unsigned> reductions;
  op.getReductionDims(reductions);
  return llvm::all_of(op.getDpsInitsMutable(), [&](OpOperand &output) {
    AffineMap indexing = op.getMatchingIndexingMap(&output);
    return llvm::none_of(reductions,
                         [&](unsigned loop) { return indexing.isFunctionOfDim(loop); });
  });
}

Value LoopNest::index(int64_t value) { return arith::ConstantIndexOp::create(b, value); }

SmallVector<Value> LoopNest::subscripts(OpOperand &operand) {
  AffineMap indexing = op.getMatchingIndexingMap(&operand);
  SmallVector<Value> result;
  for (AffineExpr expr : indexing.getResults()) {
    if (auto dim = dyn_cast<AffineDimExpr>(expr)) {
      result.push_back(position[dim.getPosition()]);
      continue;
    }
    // Loops that a subscript does not name are not open yet.
    AffineMap one = AffineMap::get(indexing.getNumDims(), 0, expr);
    auto operands = llvm::map_to_vector(llvm::enumerate(position), [&](auto entry) {
      return expr.isFunctionOfDim(entry.index()) ? entry.value() : index(0);
    });
    result.push_back(affine::AffineApplyOp::create(b, one, operands));
  }
  return result;
}

SmallVector<Value> LoopNest::emitPoint(ValueRange sums) {
  Block &body = op.getRegion().front();
  IRMapping point(map);
  for (OpOperand *operand : op.getDpsInputOperands()) {
    Value value = map.lookupOrDefault(operand->get());
    if (isa<MemRefType>(value.getType()))
      value = memref::LoadOp::create(b, value, subscripts(*operand));
    point.map(body.getArgument(operand->getOperandNumber()), value);
  }
  point.map(op.getRegionOutputArgs(), sums);
  for (Operation &inner : body.without_terminator()) {
    if (auto number = dyn_cast<linalg::IndexOp>(inner))
      point.map(number.getResult(), position[number.getDim()]);
    else
      b.clone(inner, point);
  }
  return llvm::map_to_vector(body.getTerminator()->getOperands(),
                             [&](Value value) { return point.lookupOrDefault(value); });
}

SmallVector<Value> LoopNest::emitReductions(ArrayRef<unsigned> loops, ValueRange sums) {
  if (loops.empty())
    return emitPoint(sums);
  auto loop = scf::ForOp::create(b, index(0), map.lookupOrDefault(sizes[loops.front()]),
                                 index(1), sums);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(loop.getBody());
  position[loops.front()] = loop.getInductionVar();
  SmallVector<Value> next = emitReductions(loops.drop_front(), loop.getRegionIterArgs());
  scf::YieldOp::create(b, next);
  return SmallVector<Value>(loop.getResults());
}

void LoopNest::emitElements() {
  MutableArrayRef<OpOperand> outputs = op.getDpsInitsMutable();
  auto sums = llvm::map_to_vector(outputs, [&](OpOperand &output) -> Value {
    // What nobody looks at need not have been written: it is overwritten.
    if (op.getMatchingBlockArgument(&output).use_empty())
      return arith::ConstantOp::create(b, b.getZeroAttr(getElementTypeOrSelf(output.get())));
    return memref::LoadOp::create(b, map.lookupOrDefault(output.get()), subscripts(output));
  });
  SmallVector<unsigned> reductions;
  op.getReductionDims(reductions);
  for (auto [output, sum] : llvm::zip(outputs, emitReductions(reductions, sums)))
    memref::StoreOp::create(b, sum, map.lookupOrDefault(output.get()), subscripts(output));
}
