//===- Launch.cpp - launches of the kernels of an operation ---------------===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "LaunchFunction.h"

#include "kvc/Conversion/KVCToNVVM.h"

using namespace mlir;

namespace kvc {

//===----------------------------------------------------------------------===//
// Parameters
//===----------------------------------------------------------------------===//

void LaunchFunction::appendTensor(Value tensor, SmallVectorImpl<Value> &parameters) {
  Value structure = values.lookup(tensor);
  parameters.push_back(tensorData(structure));
  for (int64_t dim = 0; dim < 2; ++dim)
    parameters.push_back(
        abi.loadI64(structure, offsetof(kvc_tensor_t, strides) + dim * sizeof(int64_t)));
}

void LaunchFunction::appendView(Value cache, ComponentAttr component,
                                SmallVectorImpl<Value> &parameters) {
  auto type = cast<CacheType>(cache.getType());
  Value view = abi.at(values.lookup(cache),
                      offsetof(kvc_cache_view_t, components) +
                          type.getComponentIndex(component.getName().getValue()) *
                              sizeof(kvc_component_view_t));
  parameters.push_back(abi.loadPtr(view, offsetof(kvc_component_view_t, data)));
  for (size_t stride :
       {offsetof(kvc_component_view_t, page_stride), offsetof(kvc_component_view_t, head_stride),
        offsetof(kvc_component_view_t, token_stride)})
    parameters.push_back(abi.loadI64(view, stride));
}

Value LaunchFunction::emitParameters(ArrayRef<Value> parameters) {
  constexpr int64_t slot = 8; // of the largest parameter
  Value storage = allocate(parameters.size() * slot);
  Value addresses = allocate(parameters.size() * sizeof(void *));
  for (auto [i, parameter] : llvm::enumerate(parameters)) {
    abi.store(parameter, storage, i * slot);
    abi.store(abi.at(storage, i * slot), addresses, i * sizeof(void *));
  }
  return addresses;
}

//===----------------------------------------------------------------------===//
// Grids
//===----------------------------------------------------------------------===//

// What a multiprocessor of sm_90 holds at once, registers aside.
static constexpr int64_t kResidentBlocks = 32;
static constexpr int64_t kResidentThreads = 2048;
static constexpr int64_t kSharedBytes = 228 * 1024;
static constexpr int64_t kReservedSharedBytes = 1024; ///< Of each block.

/// Blocks beyond those that run at once, as a factor: enough for the hardware to
/// even out work of different lengths. The kernels loop, so a grid need not grow with
/// an upper bound that few batches come near, and whose blocks would find no work.
static constexpr int64_t kRounds = 4;

/// Largest extent of a grid along x, and along y and z.
static constexpr int64_t kMaxGrid[] = {INT32_MAX, 65535, 65535};

/// Blocks of `kernel` that a multiprocessor is given.
static int64_t getBlocksPerMultiprocessor(const Kernel &kernel) {
  int64_t resident =
      std::min({kResidentBlocks, kResidentThreads / std::max<int64_t>(kernel.threads, 1),
                kSharedBytes / (kernel.sharedBytes + kReservedSharedBytes)});
  return std::max<int64_t>(resident, 1) * kRounds;
}

Value LaunchFunction::emitGrid(const Kernel &kernel, Value useful) {
  int64_t fixed = 1;
  for (int64_t extent : kernel.grid)
    fixed *= std::max<int64_t>(extent, 1);
  Value grid = allocate(3 * sizeof(uint32_t));
  for (int64_t dim = 0; dim < 3; ++dim) {
    Value extent = ints.i32(kernel.grid[dim]);
    if (kernel.grid[dim] == 0) {
      Value blocks = ints.mul(ints.toI64(workers), getBlocksPerMultiprocessor(kernel));
      Value limit = ints.min(ints.max(ints.ceilDiv(blocks, fixed), ints.i64(1)),
                             ints.i64(kMaxGrid[dim]));
      extent = ints.toI32(ints.min(useful, limit));
    }
    abi.store(extent, grid, dim * sizeof(uint32_t));
  }
  return grid;
}

void LaunchFunction::emitLaunch(const Kernel &kernel, Value useful, Value parameters) {
  Block *before = b.getInsertionBlock();
  Block *after = b.createBlock(before->getParent(), std::next(before->getIterator()));
  Block *launch = b.createBlock(after);
  b.setInsertionPointToEnd(before);
  LLVM::CondBrOp::create(b, ints.loc, ints.less(ints.i64(0), useful), launch, after);
  b.setInsertionPointToStart(launch);
  returnIfFailed(abi.callTable(rt, offsetof(kvc_rt_api_t, launch), ints.i32Type(),
                               {stream, program, ints.i32(kernel.index),
                                emitGrid(kernel, useful), parameters}));
  LLVM::BrOp::create(b, ints.loc, ValueRange(), after);
  b.setInsertionPointToStart(after);
}

//===----------------------------------------------------------------------===//
// Operations
//===----------------------------------------------------------------------===//

void LaunchFunction::emitAppend(AppendOp op) {
  Value batch = values.lookup(op.getBatch());
  Value tokens = batchField(batch, offsetof(kvc_batch_t, num_tokens), ints.i32Type());
  auto type = cast<CacheType>(op.getCache().getType());
  SmallVector<Value> parameters = {
      batchField(batch, offsetof(kvc_batch_t, slots), ints.ptrType()), tokens};
  assert(parameters.size() == AppendParam::FirstComponent && "see AppendParam");
  for (auto [name, rows] :
       llvm::zip(op.getComponents().getAsRange<StringAttr>(), op.getValues())) {
    appendTensor(rows, parameters);
    appendView(op.getCache(), type.getComponent(name.getValue()), parameters);
  }
  emitLaunch(kernelsOf[op][0], ints.toI64(tokens), emitParameters(parameters));
}

void LaunchFunction::emitAttention(AttentionOp op) {
  Value batch = values.lookup(op.getBatch());
  Sizes sizes = batchSizes(batch, workers);
  auto pointer = [&](int64_t field) { return batchField(batch, field, ints.ptrType()); };
  Value items = ints.offset(workspace, space.items);
  Value merges = ints.offset(workspace, space.merges);
  Value counts = ints.offset(workspace, space.counts);
  SmallVector<Value> list = {
      sizes.sequences,
      sizes.kvLen,
      pointer(offsetof(kvc_batch_t, query_start)),
      pointer(offsetof(kvc_batch_t, kv_lens)),
      pointer(offsetof(kvc_batch_t, page_start)),
      batchField(batch, offsetof(kvc_batch_t, page_stride), ints.i64Type()),
      items,
      merges,
      counts};
  assert(list.size() == WorkListParam::Count && "see WorkListParam");

  SmallVector<Value> parameters;
  auto appendUnused = [&](int64_t strides) {
    parameters.push_back(LLVM::ZeroOp::create(b, ints.loc, ints.ptrType()));
    parameters.append(strides, ints.i64(0));
  };
  appendTensor(op.getQueries().front(), parameters);
  appendView(op.getCache(), op.getTermComponent(0), parameters);
  appendView(op.getCache(), op.getValueComponent(), parameters);
  parameters.append(
      {pointer(offsetof(kvc_batch_t, page_ids)), items, merges, counts});
  appendTensor(op.getOutput(), parameters);
  if (op.getLse())
    appendTensor(op.getLse(), parameters);
  else
    appendUnused(/*strides=*/2);
  if (op.getSinks()) {
    Value sinks = values.lookup(op.getSinks());
    parameters.append({tensorData(sinks), abi.loadI64(sinks, offsetof(kvc_tensor_t, strides))});
  } else {
    appendUnused(/*strides=*/1);
  }
  parameters.append({ints.offset(workspace, space.partOutput),
                     ints.offset(workspace, space.partStats)});
  assert(parameters.size() == AttentionParam::Count && "see AttentionParam");

  // With nothing to list, nothing reads the list.
  ArrayRef<Kernel> own = kernelsOf[op];
  Value shared = emitParameters(parameters);
  emitLaunch(own[0], space.bounds.items, emitParameters(list));
  emitLaunch(own[1], space.bounds.items, shared);
  emitLaunch(own[2], space.bounds.merges, shared);
}

} // namespace kvc
