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
#include "kvc/Conversion/FusedRope.h"

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
  AttentionSpace space = emitAttentionSpace(kernel, sizes, scratch);
  Value counts = e.offset(workspace, scratch);
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
  SmallVector<Value> tensors(op->getResults());
  for (Value value : op.getValues())
    if (!getFusableRope(op, value)) // the input of a rotation has been checked
      tensors.push_back(value);
  if (!tensors.empty())
    checkTokens(op, tensors, tokens);
  Value params = allocate(sizeof(AppendParams));
  abi.store(batchField(batch, offsetof(kvc_batch_t, positions), e.ptrType()), params,
            offsetof(AppendParams, positions));
  abi.store(tokens, params, offsetof(AppendParams, numTokens));
  abi.store(batchField(batch, offsetof(kvc_batch_t, slots), e.ptrType()), params,
            offsetof(AppendParams, slots));
  if (op.getNonfinite()) {
    Value count = values.lookup(op.getNonfinite());
    abi.store(tensorData(count), params, offsetof(AppendParams, nonfinite));
    abi.store(e.mul(abi.loadI64(count, offsetof(kvc_tensor_t, strides)), 4), params,
              offsetof(AppendParams, nonfiniteStride));
  }
  auto type = cast<CacheType>(op.getCache().getType());
  for (auto [i, pair] : llvm::enumerate(
           llvm::zip(op.getComponents().getAsRange<StringAttr>(), op.getValues()))) {
    auto [name, value] = pair;
    RopeOp rope = getFusableRope(op, value);
    setTensor(params, offsetof(AppendParams, values) + i * sizeof(TensorParam),
              rope ? rope.getInput() : value);
    if (rope && rope.getFrequencies())
      abi.store(tensorData(values.lookup(rope.getFrequencies())), params,
                offsetof(AppendParams, frequencies) + i * sizeof(float *));
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
  if (getFusingAppend(op)) // which rotates
    return checkTokens(op, op.getInput(), tokens);
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

} // namespace kvc
