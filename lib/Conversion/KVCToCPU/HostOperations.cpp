//===- HostOperations.cpp - operations in `run` ---------------------------===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Each operation fills in the parameters of its kernel and runs it on all items.
//===----------------------------------------------------------------------===//
#include "HostFunction.h"

#include "Params.h"

using namespace mlir;

namespace kvc {

/// A cache or batch that the function made, which check_call knows nothing of.
static bool isMadeHere(Value value) { return value.getDefiningOp() != nullptr; }

void HostFunction::checkUse(Value batch, Value cache) {
  if (!isMadeHere(batch) && !isMadeHere(cache))
    return;
  auto type = cast<CacheType>(cache.getType());
  returnIfFailed(abi.callTable(rt, offsetof(kvc_rt_api_t, check_batch), e.i32Type(),
                               {program, e.i32(index), values.lookup(batch),
                                values.lookup(cache), e.i32(type.getPageSize())}));
}

void HostFunction::runRowKernel(Operation *op, Value params, Value tokens) {
  returnIfFailed(parallelFor(rowKernels.lookup(op), params, e.ceilDiv(tokens, kTokensPerItem)));
}

//===----------------------------------------------------------------------===//
// Attention
//===----------------------------------------------------------------------===//

/// Builds the list and runs the kernels of one phase; returns the status.
Value HostFunction::emitAttentionPhase(AttentionOp op, Phase phase, Value batch, Value params,
                                       const Sizes &sizes) {
  AttentionFunctions &functions = attentions[op];
  bool isDecode = phase == Phase::Decode;
  AttentionKernel &kernel = isDecode ? *functions.decode : *functions.prefill;
  AttentionSpace space = emitAttentionSpace(kernel, sizes, attentionSpace);
  Value counts = e.offset(workspace, attentionSpace);
  WorkListArgs args;
  args.numSequences = sizes.sequences;
  args.maxKvLen = sizes.kvLen;
  auto pointer = [&](int64_t offset) { return batchField(batch, offset, e.ptrType()); };
  args.queryStart = pointer(offsetof(kvc_batch_t, query_start));
  args.kvLens = pointer(offsetof(kvc_batch_t, kv_lens));
  args.pageStart = pointer(offsetof(kvc_batch_t, page_start));
  args.pageStride = batchField(batch, offsetof(kvc_batch_t, page_stride), e.i64Type());
  args.items = e.offset(workspace, space.items);
  args.merges = e.offset(workspace, space.merges);
  args.counts = counts;
  emitBuildWorkList(b, e.loc, args, kernel.getWorkListConfig());

  abi.store(args.items, params, offsetof(AttentionParams, items));
  abi.store(args.merges, params, offsetof(AttentionParams, merges));
  abi.store(e.offset(workspace, space.parts), params, offsetof(AttentionParams, parts));
  abi.store(e.offset(workspace, space.scratch), params, offsetof(AttentionParams, scratch));
  Value items = e.toI64(abi.loadI32(counts, offsetof(WorkCounts, items)));
  Value status = parallelFor(isDecode ? functions.decodeFunction : functions.prefillFunction,
                             params, e.mul(items, kernel.getHeadItems()));
  if (!isDecode)
    return status;
  auto merge = scf::IfOp::create(
      b, e.loc, e.equal(status, e.i32(KVC_STATUS_OK)),
      [&](OpBuilder &, Location) {
        Value merges = e.toI64(abi.loadI32(counts, offsetof(WorkCounts, merges)));
        Value merged = parallelFor(functions.mergeFunction, params,
                                   e.mul(merges, kernel.getQueryHeads()));
        scf::YieldOp::create(b, e.loc, merged);
      },
      [&](OpBuilder &, Location) { scf::YieldOp::create(b, e.loc, status); });
  return merge.getResult(0);
}

void HostFunction::emitAttention(AttentionOp op) {
  checkUse(op.getBatch(), op.getCache());
  Value batch = values.lookup(op.getBatch());
  Sizes sizes = batchSizes(batch);
  SmallVector<Value> tensors(op.getQueries());
  tensors.push_back(op.getOutput());
  if (op.getLse())
    tensors.push_back(op.getLse());
  checkTokens(op, tensors, e.toI64(sizes.tokens));

  Value params = allocate(sizeof(AttentionParams));
  abi.store(batchField(batch, offsetof(kvc_batch_t, page_ids), e.ptrType()), params,
            offsetof(AttentionParams, pageIds));
  for (auto [i, query] : llvm::enumerate(op.getQueries())) {
    setTensor(params, offsetof(AttentionParams, queries) + i * sizeof(TensorParam), query);
    setComponent(params, offsetof(AttentionParams, keys) + i * sizeof(ComponentParam),
                 op.getCache(), op.getTermComponent(i));
  }
  setComponent(params, offsetof(AttentionParams, value), op.getCache(),
               op.getValueComponent());
  setTensor(params, offsetof(AttentionParams, output), op.getOutput());
  if (op.getLse())
    setTensor(params, offsetof(AttentionParams, lse), op.getLse());
  if (op.getSinks())
    abi.store(tensorData(values.lookup(op.getSinks())), params,
              offsetof(AttentionParams, sinks));

  Value maxQueryLen = batchField(batch, offsetof(kvc_batch_t, max_query_len), e.i32Type());
  auto phases = scf::IfOp::create(
      b, e.loc, e.lessOrEqual(maxQueryLen, e.i32(1)),
      [&](OpBuilder &, Location) {
        scf::YieldOp::create(b, e.loc,
                             emitAttentionPhase(op, Phase::Decode, batch, params, sizes));
      },
      [&](OpBuilder &, Location) {
        scf::YieldOp::create(b, e.loc,
                             emitAttentionPhase(op, Phase::Prefill, batch, params, sizes));
      });
  returnIfFailed(phases.getResult(0));
}

//===----------------------------------------------------------------------===//
// Append, rope, merge
//===----------------------------------------------------------------------===//

void HostFunction::emitAppend(AppendOp op) {
  checkUse(op.getBatch(), op.getCache());
  Value batch = values.lookup(op.getBatch());
  Value tokens =
      e.toI64(batchField(batch, offsetof(kvc_batch_t, num_tokens), e.i32Type()));
  checkTokens(op, llvm::to_vector(op.getValues()), tokens);
  Value params = allocate(sizeof(AppendParams));
  abi.store(tokens, params, offsetof(AppendParams, numTokens));
  abi.store(batchField(batch, offsetof(kvc_batch_t, slots), e.ptrType()), params,
            offsetof(AppendParams, slots));
  auto type = cast<CacheType>(op.getCache().getType());
  for (auto [i, pair] : llvm::enumerate(
           llvm::zip(op.getComponents().getAsRange<StringAttr>(), op.getValues()))) {
    auto [name, value] = pair;
    setTensor(params, offsetof(AppendParams, values) + i * sizeof(TensorParam), value);
    setComponent(params, offsetof(AppendParams, components) + i * sizeof(ComponentParam),
                 op.getCache(), type.getComponent(name.getValue()));
  }
  runRowKernel(op, params, tokens);
}

void HostFunction::emitRope(RopeOp op) {
  Value batch = values.lookup(op.getBatch());
  if (isMadeHere(op.getBatch()))
    returnIfFailed(abi.callTable(
        rt, offsetof(kvc_rt_api_t, check_batch), e.i32Type(),
        {program, e.i32(index), batch, LLVM::ZeroOp::create(b, e.loc, e.ptrType()), e.i32(1)}));
  Value tokens =
      e.toI64(batchField(batch, offsetof(kvc_batch_t, num_tokens), e.i32Type()));
  checkTokens(op, {op.getInput(), op.getOutput()}, tokens);
  Value params = allocate(sizeof(RopeParams));
  abi.store(tokens, params, offsetof(RopeParams, numTokens));
  abi.store(batchField(batch, offsetof(kvc_batch_t, positions), e.ptrType()), params,
            offsetof(RopeParams, positions));
  if (op.getFrequencies())
    abi.store(tensorData(values.lookup(op.getFrequencies())), params,
              offsetof(RopeParams, frequencies));
  setTensor(params, offsetof(RopeParams, input), op.getInput());
  setTensor(params, offsetof(RopeParams, output), op.getOutput());
  runRowKernel(op, params, tokens);
}

void HostFunction::emitMerge(MergeOp op) {
  Value tokens = tensorTokens(values.lookup(op.getOutputs().front()));
  SmallVector<Value> tensors(op.getOutputs());
  llvm::append_range(tensors, op.getLses());
  llvm::append_range(tensors, op->getResults());
  // A result that nobody uses has memory like any other intermediate tensor.
  checkTokens(op, tensors, tokens);
  Value params = allocate(sizeof(MergeParams));
  abi.store(tokens, params, offsetof(MergeParams, numTokens));
  if (op.getSinks())
    abi.store(tensorData(values.lookup(op.getSinks())), params, offsetof(MergeParams, sinks));
  setTensor(params, offsetof(MergeParams, output), op.getOutput());
  setTensor(params, offsetof(MergeParams, lse), op.getLse());
  for (auto [i, output] : llvm::enumerate(op.getOutputs()))
    setTensor(params, offsetof(MergeParams, outputs) + i * sizeof(TensorParam), output);
  for (auto [i, lse] : llvm::enumerate(op.getLses()))
    setTensor(params, offsetof(MergeParams, lses) + i * sizeof(TensorParam), lse);
  runRowKernel(op, params, tokens);
}

//===----------------------------------------------------------------------===//
// Caches and batches that somebody else laid out
//===----------------------------------------------------------------------===//

void HostFunction::emitCacheFromBuffers(CacheFromBuffersOp op) {
  auto type = cast<CacheType>(op.getCache().getType());
  kvc_cache_type_t abiType = getABICacheType(type);
  Value view = allocate(sizeof(kvc_cache_view_t));
  abi.store(e.i32(sizeof(kvc_cache_view_t)), view, offsetof(kvc_cache_view_t, struct_size));
  abi.store(e.i32(abiType.num_components), view, offsetof(kvc_cache_view_t, num_components));
  abi.store(e.i64(kvc_cache_type_fingerprint(&abiType)), view,
            offsetof(kvc_cache_view_t, fingerprint));
  Value numPages;
  for (auto [i, component] : llvm::enumerate(type.getComponents())) {
    Value buffer = values.lookup(op.getBuffers()[op.getFused() ? 0 : i]);
    auto stride = [&](int64_t dim) {
      return abi.loadI64(buffer, offsetof(kvc_tensor_t, strides) + dim * 8);
    };
    Value data = tensorData(buffer);
    int64_t first = 1; // the dimension after pages, or pages and components
    if (op.getFused()) {
      data = e.offset(data, e.mul(stride(1), i * getByteWidth(component.getElementType())));
      first = 2;
    }
    bool nhd = op.getOrder() == BufferOrder::NHD;
    int64_t field = offsetof(kvc_cache_view_t, components) + i * sizeof(kvc_component_view_t);
    abi.store(data, view, field + offsetof(kvc_component_view_t, data));
    abi.store(stride(0), view, field + offsetof(kvc_component_view_t, page_stride));
    abi.store(stride(first + (nhd ? 1 : 0)), view,
              field + offsetof(kvc_component_view_t, head_stride));
    abi.store(stride(first + (nhd ? 0 : 1)), view,
              field + offsetof(kvc_component_view_t, token_stride));
    Value pages = abi.loadI64(buffer, offsetof(kvc_tensor_t, shape));
    numPages = numPages ? e.min(numPages, pages) : pages;
  }
  abi.store(numPages, view, offsetof(kvc_cache_view_t, num_pages));
  values[op.getCache()] = view;
}

void HostFunction::emitBatchFrom(Operation *op, Value queryStart, Value kvLens, Value slots,
                                 Value positions, int64_t maxQueryLen, int64_t maxKvLen) {
  auto extent = [&](Value tensor, int64_t dim = 0) {
    return abi.loadI64(values.lookup(tensor), offsetof(kvc_tensor_t, shape) + dim * 8);
  };
  Value sequences = e.sub(extent(queryStart), e.i64(1));
  Value tokens = extent(positions);
  Value sane = e.logicalAnd(e.lessOrEqual(e.i64(0), sequences),
                            e.logicalAnd(e.equal(extent(kvLens), sequences),
                                         e.equal(extent(slots), tokens)));
  Value limit = e.i64(INT32_MAX);
  sane = e.logicalAnd(sane, e.logicalAnd(e.less(sequences, limit), e.less(tokens, limit)));

  Value batch = allocate(sizeof(kvc_batch_t));
  Value pageIds, pageStart, pageStride, numPageIds;
  if (auto csr = dyn_cast<BatchFromCSROp>(op)) {
    sane = e.logicalAnd(sane, e.equal(extent(csr.getPageStart()), extent(queryStart)));
    pageIds = tensorData(values.lookup(csr.getPageIds()));
    pageStart = tensorData(values.lookup(csr.getPageStart()));
    pageStride = e.i64(0);
    numPageIds = extent(csr.getPageIds());
  } else {
    Value table = cast<BatchFromBlockTableOp>(op).getBlockTable();
    sane = e.logicalAnd(sane, e.equal(extent(table), sequences));
    pageIds = tensorData(values.lookup(table));
    pageStart = LLVM::ZeroOp::create(b, e.loc, e.ptrType());
    pageStride = abi.loadI64(values.lookup(table), offsetof(kvc_tensor_t, strides));
    // The last row ends with its own columns, not with the stride.
    Value rows = e.max(e.sub(sequences, e.i64(1)), e.i64(0));
    numPageIds = e.add(e.mul(rows, pageStride), extent(table, 1));
  }
  failUnless(sane, KVC_STATUS_INVALID_ARGUMENT,
             "expected the arrays of '" + op->getName().getStringRef() +
                 "' to agree on the numbers of sequences and tokens");
  abi.store(e.i32(sizeof(kvc_batch_t)), batch, offsetof(kvc_batch_t, struct_size));
  abi.store(e.toI32(sequences), batch, offsetof(kvc_batch_t, num_sequences));
  abi.store(e.toI32(tokens), batch, offsetof(kvc_batch_t, num_tokens));
  abi.store(e.i32(maxQueryLen), batch, offsetof(kvc_batch_t, max_query_len));
  abi.store(e.i32(maxKvLen), batch, offsetof(kvc_batch_t, max_kv_len));
  abi.store(e.i32(0), batch, offsetof(kvc_batch_t, reserved));
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
