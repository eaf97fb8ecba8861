//===- ExpandReshapes.cpp - buffers seen with more dimensions -------------===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "kvc/Conversion/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/PatternMatch.h"

#define DEBUG_TYPE "kvc-expand-reshapes"

namespace kvc {
#define GEN_PASS_DEF_EXPANDRESHAPESPASS
#include "kvc/Conversion/Passes.h.inc"
} // namespace kvc

using namespace mlir;
using namespace kvc;

/// Replaces `op` by a cast of its source to the sizes that it names and the strides that
/// follow.
static LogicalResult expandReshape(IRRewriter &rewriter, memref::ExpandShapeOp op) {
  MemRefType type = op.getResultType();
  SmallVector<int64_t> knownStrides;
  int64_t knownOffset;
  if (failed(type.getStridesAndOffset(knownStrides, knownOffset)))
    return op.emitOpError("expected a layout with strides, got ") << type;
  Location loc = op.getLoc();
  rewriter.setInsertionPoint(op);
  auto source = memref::ExtractStridedMetadataOp::create(rewriter, loc, op.getSrc());
  auto index = [&](OpFoldResult value) {
    return getValueOrCreateConstantIndexOp(rewriter, loc, value);
  };
  auto known = [&](int64_t constant, Value value) -> OpFoldResult {
    return ShapedType::isDynamic(constant) ? OpFoldResult(value)
                                           : rewriter.getIndexAttr(constant);
  };
  SmallVector<OpFoldResult> sizes = op.getMixedOutputShape();
  SmallVector<OpFoldResult> strides(sizes.size());
  for (auto [dim, group] : llvm::enumerate(op.getReassociationIndices())) {
    Value stride = source.getStrides()[dim];
    for (int64_t inner : llvm::reverse(group)) {
      strides[inner] = known(knownStrides[inner], stride);
      stride = arith::MulIOp::create(rewriter, loc, stride, index(sizes[inner]));
    }
  }
  rewriter.replaceOpWithNewOp<memref::ReinterpretCastOp>(
      op, type, source.getBaseBuffer(), known(knownOffset, source.getOffset()), sizes,
      strides);
  return success();
}

namespace {
struct ExpandReshapesPass final : kvc::impl::ExpandReshapesPassBase<ExpandReshapesPass> {
  using Base::Base;
  void runOnOperation() override;
};
} // namespace

void ExpandReshapesPass::runOnOperation() {
  SmallVector<memref::ExpandShapeOp> ops;
  getOperation()->walk([&](memref::ExpandShapeOp op) { ops.push_back(op); });
  IRRewriter rewriter(&getContext());
  for (memref::ExpandShapeOp op : ops)
    if (failed(expandReshape(rewriter, op)))
      return signalPassFailure();
}
