//===- HostCode.cpp - what functions do around kvc operations -------------===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "kvc/Conversion/HostCode.h"

#include "kvc/Dialect/KVC/IR/KVC.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;

namespace kvc {

bool isHostCode(Operation *op) {
  if (isa<arith::ArithDialect, math::MathDialect>(op->getDialect()))
    return true;
  if (isa<linalg::LinalgDialect>(op->getDialect()))
    return isa<linalg::LinalgOp, linalg::SoftmaxOp, linalg::IndexOp,
               linalg::YieldOp>(op);
  return isa<affine::AffineApplyOp, affine::AffineMaxOp, affine::AffineMinOp, cf::AssertOp,
             scf::ConditionOp, scf::ExecuteRegionOp, scf::ForOp, scf::IfOp,
             scf::IndexSwitchOp, scf::WhileOp, scf::YieldOp, tensor::CastOp,
             tensor::CollapseShapeOp, tensor::ConcatOp, tensor::DimOp, tensor::EmptyOp,
             tensor::ExpandShapeOp, tensor::ExtractOp, tensor::ExtractSliceOp,
             tensor::FromElementsOp, tensor::GatherOp, tensor::GenerateOp, tensor::InsertOp,
             tensor::InsertSliceOp, tensor::PadOp, tensor::RankOp, tensor::SplatOp,
             tensor::YieldOp>(op);
}

void forEachDynamicDim(TypeRange types, function_ref<void(unsigned, int64_t)> visit) {
  for (auto [index, type] : llvm::enumerate(types)) {
    if (isa<BatchType>(type))
      visit(index, 0);
    else if (auto tensor = dyn_cast<RankedTensorType>(type))
      for (int64_t dim = 0; dim < tensor.getRank(); ++dim)
        if (tensor.isDynamicDim(dim))
          visit(index, dim);
  }
}

int64_t countDynamicDims(TypeRange types) {
  int64_t count = 0;
  forEachDynamicDim(types, [&](unsigned, int64_t) { ++count; });
  return count;
}

bool followsFromShapes(Value value) {
  SmallVector<Value> worklist = {value};
  llvm::DenseSet<Value> seen;
  auto isFunctionArgument = [](Value source) {
    auto arg = dyn_cast<BlockArgument>(source);
    return arg && isa<func::FuncOp>(arg.getOwner()->getParentOp());
  };
  while (!worklist.empty()) {
    Value next = worklist.pop_back_val();
    if (!seen.insert(next).second)
      continue;
    if (isFunctionArgument(next) && next.getType().isIndex())
      continue;
    Operation *op = next.getDefiningOp();
    if (!op || !isa<func::FuncOp>(op->getParentOp()))
      return false;
    if (isa<tensor::DimOp, memref::DimOp>(op)) {
      if (!isFunctionArgument(op->getOperand(0)) || !getConstantIntValue(op->getOperand(1)))
        return false;
      continue;
    }
    bool isArithmetic =
        isa<affine::AffineApplyOp, affine::AffineMaxOp, affine::AffineMinOp>(op) ||
        isa<arith::ArithDialect>(op->getDialect());
    if (!isArithmetic || !isMemoryEffectFree(op) || !next.getType().isIntOrIndex())
      return false;
    llvm::append_range(worklist, op->getOperands());
  }
  return true;
}

} // namespace kvc
