//===- Edge.cpp - caches and batches that somebody else laid out ----------===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "LoopBuilder.h"
#include "Patterns.h"

#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace kvc;

/// The memory of a 1-D tensor of integers.
static Value toArray(LoopBuilder &b, Value tensor) {
  auto type = cast<RankedTensorType>(tensor.getType());
  auto buffer = MemRefType::get(type.getShape(), type.getElementType());
  auto wanted = MemRefType::get(ShapedType::kDynamic, type.getElementType());
  Value array = bufferization::ToBufferOp::create(b, buffer, tensor, /*read_only=*/true);
  if (wanted == buffer)
    return array;
  return memref::CastOp::create(b, wanted, array);
}

/// Views what is [heads][groups] as [page][token][head][group], of as many pages as
/// `pages` has.
static Value viewStatic(LoopBuilder &b, MemRefType type, Value pages,
                        memref::ExtractStridedMetadataOp parts) {
  SmallVector<OpFoldResult> sizes = {b.size(pages, 0)};
  for (int64_t size : type.getShape().drop_front())
    sizes.push_back(b.getIndexAttr(size));
  SmallVector<OpFoldResult> strides = {b.index(0), b.index(0), parts.getStrides()[0],
                                       b.getIndexAttr(1)};
  return memref::ReinterpretCastOp::create(b, type, parts.getBaseBuffer(),
                                           OpFoldResult(parts.getOffset()), sizes, strides);
}

static Value onlyValue(ValueRange values) { return values.front(); }

namespace {
/// Views each buffer, or each part of a fused one, as [page][token][head][w].
struct DecomposeCacheFromBuffers final : OpConversionPattern<CacheFromBuffersOp> {
  using OpConversionPattern::OpConversionPattern;

  LogicalResult matchAndRewrite(CacheFromBuffersOp op, OneToNOpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    LoopBuilder b(op.getLoc(), rewriter);
    auto cache = cast<CacheType>(op.getCache().getType());
    // Dimension of the buffer that counts pages, tokens, heads, columns.
    SmallVector<int64_t> dims = {0, 1, 2, 3};
    if (op.getOrder() == BufferOrder::HND)
      std::swap(dims[1], dims[2]);
    if (op.getFused())
      for (int64_t dim : {1, 2, 3})
        ++dims[dim];

    SmallVector<Value> buffers;
    for (auto [index, array] : llvm::enumerate(cache.getArrays())) {
      Value whole = adaptor.getBuffers()[op.getFused() ? 0 : index].front();
      auto parts = memref::ExtractStridedMetadataOp::create(b, whole);
      MemRefType type = getArrayBuffer(cache, array);
      SmallVector<OpFoldResult> sizes, strides;
      if (array.isStatic) { // [heads][groups], the same for all tokens
        buffers.push_back(viewStatic(b, type, buffers.front(), parts));
        continue;
      }
      for (int64_t dim : dims) {
        sizes.push_back(parts.getSizes()[dim]);
        strides.push_back(parts.getStrides()[dim]);
      }
      for (int64_t dim : {1, 2, 3})
        sizes[dim] = b.getIndexAttr(type.getDimSize(dim));
      strides.back() = b.getIndexAttr(1);
      Value offset = parts.getOffset();
      if (op.getFused())
        offset = b.add(offset, b.mul(parts.getStrides()[1], b.index(index)));
      buffers.push_back(memref::ReinterpretCastOp::create(
          b, type, parts.getBaseBuffer(), OpFoldResult(offset), sizes, strides));
    }
    rewriter.replaceOpWithMultiple(op, ArrayRef<ValueRange>{ValueRange(buffers)});
    return success();
  }
};

struct DecomposeBatchFromCSR final : OpConversionPattern<BatchFromCSROp> {
  using OpConversionPattern::OpConversionPattern;

  LogicalResult matchAndRewrite(BatchFromCSROp op, OneToNOpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    LoopBuilder b(op.getLoc(), rewriter);
    BatchArrays batch;
    batch.queryStart = toArray(b, onlyValue(adaptor.getQueryStart()));
    batch.kvLens = toArray(b, onlyValue(adaptor.getKvLens()));
    batch.pageIds = toArray(b, onlyValue(adaptor.getPageIds()));
    batch.pageStart = toArray(b, onlyValue(adaptor.getPageStart()));
    batch.pageStride = b.index(0);
    batch.slots = toArray(b, onlyValue(adaptor.getSlots()));
    batch.positions = toArray(b, onlyValue(adaptor.getPositions()));
    SmallVector<Value> values = batch.getValues();
    rewriter.replaceOpWithMultiple(op, ArrayRef<ValueRange>{ValueRange(values)});
    return success();
  }
};

struct DecomposeBatchFromBlockTable final : OpConversionPattern<BatchFromBlockTableOp> {
  using OpConversionPattern::OpConversionPattern;

  LogicalResult matchAndRewrite(BatchFromBlockTableOp op, OneToNOpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    LoopBuilder b(op.getLoc(), rewriter);
    BatchArrays batch;
    batch.queryStart = toArray(b, onlyValue(adaptor.getQueryStart()));
    batch.kvLens = toArray(b, onlyValue(adaptor.getKvLens()));
    // Its rows may lie apart; those of the flat tensor follow each other.
    Value table = onlyValue(adaptor.getBlockTable());
    Value flat = tensor::CollapseShapeOp::create(b, table,
                                                 SmallVector<ReassociationIndices>{{0, 1}});
    batch.pageIds = toArray(b, flat);
    batch.pageStart = emptyArray(b);
    batch.pageStride = b.size(table, 1);
    batch.slots = toArray(b, onlyValue(adaptor.getSlots()));
    batch.positions = toArray(b, onlyValue(adaptor.getPositions()));
    SmallVector<Value> values = batch.getValues();
    rewriter.replaceOpWithMultiple(op, ArrayRef<ValueRange>{ValueRange(values)});
    return success();
  }

private:
  static Value emptyArray(LoopBuilder &b) {
    auto type = MemRefType::get(0, b.getI32Type());
    Value array = memref::AllocaOp::create(b, type);
    return memref::CastOp::create(
        b, MemRefType::get(ShapedType::kDynamic, b.getI32Type()), array);
  }
};
} // namespace

void kvc::populateEdgeLoopPatterns(RewritePatternSet &patterns,
                                   const TypeConverter &converter) {
  patterns.add<DecomposeCacheFromBuffers, DecomposeBatchFromCSR,
               DecomposeBatchFromBlockTable>(converter, patterns.getContext());
}
