//===- ForeignMemory.cpp - caches and batches that somebody else laid out -===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "kvc/Conversion/HostEntries.h"

#include "kvc/Dialect/KVC/IR/KVC.h"

#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace kvc {

bool HostEntries::isForeign(Operation &op) {
  return isa<CacheFromBuffersOp, BatchFromBlockTableOp, BatchFromCSROp>(op);
}

void HostEntries::emitForeign(Operation &op) {
  auto emitBatch = [&](auto from) {
    emitBatchFrom(from, from.getQueryStart(), from.getKvLens(), from.getSlots(),
                  from.getPositions(), from.getMaxQueryLen(), from.getMaxKvLen());
  };
  TypeSwitch<Operation *>(&op)
      .Case<CacheFromBuffersOp>([&](auto from) { emitCacheFromBuffers(from); })
      .Case<BatchFromBlockTableOp, BatchFromCSROp>(emitBatch);
}

void HostEntries::includeForeign(Sizes &sizes) {
  for (Operation &op : function.getBody().front())
    TypeSwitch<Operation *>(&op).Case<BatchFromBlockTableOp, BatchFromCSROp>([&](auto from) {
      sizes.kvLen = ints.max(sizes.kvLen, ints.i32(from.getMaxKvLen()));
    });
}

void HostEntries::emitCacheFromBuffers(CacheFromBuffersOp op) {
  auto type = cast<CacheType>(op.getCache().getType());
  kvc_cache_type_t abiType = getABICacheType(type);
  Value view = allocate(sizeof(kvc_cache_view_t));
  abi.store(ints.i32(sizeof(kvc_cache_view_t)), view, offsetof(kvc_cache_view_t, struct_size));
  abi.store(ints.i32(abiType.num_components), view, offsetof(kvc_cache_view_t, num_components));
  abi.store(ints.i64(kvc_cache_type_fingerprint(&abiType)), view,
            offsetof(kvc_cache_view_t, fingerprint));
  Value numPages;
  for (auto [i, array] : llvm::enumerate(type.getArrays())) {
    Value buffer = values.lookup(op.getBuffers()[op.getFused() ? 0 : i]);
    auto stride = [&](int64_t dim) {
      return abi.loadI64(buffer, offsetof(kvc_tensor_t, strides) + dim * 8);
    };
    Value data = tensorData(buffer);
    int64_t first = 1; // the dimension after pages, or pages and components
    if (op.getFused()) {
      data = ints.offset(data, ints.mul(stride(1), i * getByteWidth(array.getMemoryElement())));
      first = 2;
    }
    bool nhd = op.getOrder() == BufferOrder::NHD;
    int64_t field = offsetof(kvc_cache_view_t, components) + i * sizeof(kvc_component_view_t);
    abi.store(data, view, field + offsetof(kvc_component_view_t, data));
    if (array.isStatic) { // [heads][groups]
      for (int64_t none : {offsetof(kvc_component_view_t, page_stride),
                           offsetof(kvc_component_view_t, token_stride)})
        abi.store(ints.i64(0), view, field + none);
      abi.store(stride(0), view, field + offsetof(kvc_component_view_t, head_stride));
      continue;
    }
    abi.store(stride(0), view, field + offsetof(kvc_component_view_t, page_stride));
    abi.store(stride(first + (nhd ? 1 : 0)), view,
              field + offsetof(kvc_component_view_t, head_stride));
    abi.store(stride(first + (nhd ? 0 : 1)), view,
              field + offsetof(kvc_component_view_t, token_stride));
    Value pages = abi.loadI64(buffer, offsetof(kvc_tensor_t, shape));
    numPages = numPages ? ints.min(numPages, pages) : pages;
  }
  abi.store(numPages, view, offsetof(kvc_cache_view_t, num_pages));
  values[op.getCache()] = view;
}

void HostEntries::emitBatchFrom(Operation *op, Value queryStart, Value kvLens, Value slots,
                                 Value positions, int64_t maxQueryLen, int64_t maxKvLen) {
  auto extent = [&](Value tensor, int64_t dim = 0) {
    return abi.loadI64(values.lookup(tensor), offsetof(kvc_tensor_t, shape) + dim * 8);
  };
  Value sequences = ints.sub(extent(queryStart), ints.i64(1));
  Value tokens = extent(positions);
  Value sane = ints.logicalAnd(ints.lessOrEqual(ints.i64(0), sequences),
                            ints.logicalAnd(ints.equal(extent(kvLens), sequences),
                                         ints.equal(extent(slots), tokens)));
  Value limit = ints.i64(INT32_MAX);
  sane = ints.logicalAnd(sane, ints.logicalAnd(ints.less(sequences, limit), ints.less(tokens, limit)));

  Value batch = allocate(sizeof(kvc_batch_t));
  Value pageIds, pageStart, pageStride, numPageIds;
  if (auto csr = dyn_cast<BatchFromCSROp>(op)) {
    sane = ints.logicalAnd(sane, ints.equal(extent(csr.getPageStart()), extent(queryStart)));
    pageIds = tensorData(values.lookup(csr.getPageIds()));
    pageStart = tensorData(values.lookup(csr.getPageStart()));
    pageStride = ints.i64(0);
    numPageIds = extent(csr.getPageIds());
  } else {
    Value table = cast<BatchFromBlockTableOp>(op).getBlockTable();
    sane = ints.logicalAnd(sane, ints.equal(extent(table), sequences));
    pageIds = tensorData(values.lookup(table));
    pageStart = LLVM::ZeroOp::create(b, ints.loc, ints.ptrType());
    pageStride = abi.loadI64(values.lookup(table), offsetof(kvc_tensor_t, strides));
    // The last row ends with its own columns, not with the stride.
    Value rows = ints.max(ints.sub(sequences, ints.i64(1)), ints.i64(0));
    numPageIds = ints.add(ints.mul(rows, pageStride), extent(table, 1));
  }
  failUnless(sane, KVC_STATUS_INVALID_ARGUMENT,
             "expected the arrays of '" + op->getName().getStringRef() +
                 "' to agree on the numbers of sequences and tokens");
  abi.store(ints.i32(sizeof(kvc_batch_t)), batch, offsetof(kvc_batch_t, struct_size));
  abi.store(ints.toI32(sequences), batch, offsetof(kvc_batch_t, num_sequences));
  abi.store(ints.toI32(tokens), batch, offsetof(kvc_batch_t, num_tokens));
  abi.store(ints.i32(maxQueryLen), batch, offsetof(kvc_batch_t, max_query_len));
  abi.store(ints.i32(maxKvLen), batch, offsetof(kvc_batch_t, max_kv_len));
  abi.store(ints.i32(0), batch, offsetof(kvc_batch_t, reserved));
  auto data = [&](Value tensor) { return tensorData(values.lookup(tensor)); };
  abi.store(data(queryStart), batch, offsetof(kvc_batch_t, query_start));
  abi.store(data(kvLens), batch, offsetof(kvc_batch_t, kv_lens));
  abi.store(pageIds, batch, offsetof(kvc_batch_t, page_ids));
  abi.store(pageStart, batch, offsetof(kvc_batch_t, page_start));
  abi.store(pageStride, batch, offsetof(kvc_batch_t, page_stride));
  abi.store(numPageIds, batch, offsetof(kvc_batch_t, num_page_ids));
  abi.store(data(slots), batch, offsetof(kvc_batch_t, slots));
  abi.store(data(positions), batch, offsetof(kvc_batch_t, positions));
  values[op->getResult(0)] = batch;
}

} // namespace kvc
