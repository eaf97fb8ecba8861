//===- Launch.cpp - launches of kernels -----------------------------------===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "LaunchFunction.h"

using namespace mlir;

namespace kvc {

//===----------------------------------------------------------------------===//
// Parameters
//===----------------------------------------------------------------------===//

/// The field of kvc_batch_t that an entry stands for.
static size_t getBatchField(KernelValue value) {
  switch (value) {
  case KernelValue::QueryStart:
    return offsetof(kvc_batch_t, query_start);
  case KernelValue::KvLens:
    return offsetof(kvc_batch_t, kv_lens);
  case KernelValue::PageStart:
    return offsetof(kvc_batch_t, page_start);
  case KernelValue::PageIds:
    return offsetof(kvc_batch_t, page_ids);
  case KernelValue::Slots:
    return offsetof(kvc_batch_t, slots);
  case KernelValue::Positions:
    return offsetof(kvc_batch_t, positions);
  case KernelValue::PageStride:
    return offsetof(kvc_batch_t, page_stride);
  case KernelValue::NumTokens:
    return offsetof(kvc_batch_t, num_tokens);
  case KernelValue::NumSequences:
    return offsetof(kvc_batch_t, num_sequences);
  case KernelValue::MaxKvLen:
    return offsetof(kvc_batch_t, max_kv_len);
  default:
    llvm_unreachable("expected a field of the batch");
  }
}

void LaunchFunction::emitParameter(const Kernel &kernel, const KernelParameter &parameter,
                                   SmallVectorImpl<Value> &results) {
  Operation *op = getOwner(kernel, parameter);
  SmallVector<Type, 4> types = *getParameterTypes(parameter, op);
  if (parameter.isOfBatch()) {
    results.push_back(
        batchField(values.lookup(getBatch(op)), getBatchField(parameter.value), types[0]));
    return;
  }
  if (parameter.hasStrides()) {
    Value structure = values.lookup(getArgument(kernel, parameter));
    int64_t data = offsetof(kvc_tensor_t, data), strides = offsetof(kvc_tensor_t, strides);
    if (parameter.value == KernelValue::Component) {
      auto type = cast<CacheType>(getArgument(kernel, parameter).getType());
      data = offsetof(kvc_cache_view_t, components) +
             type.getArrayIndex(parameter.name) * sizeof(kvc_component_view_t);
      strides = data + offsetof(kvc_component_view_t, page_stride);
    }
    results.push_back(abi.loadPtr(structure, data));
    for (size_t i = 1; i < types.size(); ++i, strides += sizeof(int64_t))
      results.push_back(abi.loadI64(structure, strides));
    return;
  }
  if (parameter.value == KernelValue::Rows)
    return results.push_back(emitRows(op));
  const AttentionSpace &space = spaces[getAttentionKernel(kernel).op];
  auto at = [&](Value offset) { results.push_back(ints.offset(workspace, offset)); };
  switch (parameter.value) {
  case KernelValue::ListItems:
    return at(space.items);
  case KernelValue::ListMerges:
    return at(space.merges);
  case KernelValue::ListCounts:
    return at(space.counts);
  case KernelValue::PartsOutput:
    return at(space.partsOutput);
  case KernelValue::PartsStats:
    return at(space.partsStats);
  case KernelValue::ListTarget:
    return results.push_back(ints.toI32(space.target));
  case KernelValue::ListCluster:
    return results.push_back(ints.toI32(space.cluster));
  default:
    llvm_unreachable("expected a part of the workspace");
  }
}

Value LaunchFunction::emitParameters(const Kernel &kernel) {
  SmallVector<Value> parameters;
  for (const KernelParameter &parameter : kernel.description.parameters)
    emitParameter(kernel, parameter, parameters);
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
static constexpr int64_t kGridRounds = 4;

/// Blocks that work items are cut for, as a factor of those that run at once.
static constexpr int64_t kTargetRounds = 1;

/// Largest extent of a grid along x, and along y and z.
static constexpr int64_t kMaxGrid[] = {INT32_MAX, 65535, 65535};

/// Blocks of the kernel that a multiprocessor holds at once.
static int64_t getResidentBlocks(const KernelDescription &kernel) {
  int64_t resident = std::min({kResidentBlocks, kResidentThreads / kernel.threads,
                               kSharedBytes / (kernel.sharedBytes + kReservedSharedBytes)});
  return std::max<int64_t>(resident, 1);
}

/// Blocks along the dimensions of the grid that are not free.
static int64_t getFixedBlocks(const KernelDescription &kernel) {
  int64_t fixed = 1;
  for (int64_t extent : kernel.grid)
    fixed *= std::max<int64_t>(extent, 1);
  return fixed;
}

Value LaunchFunction::emitTarget(const Kernel &attention, Value workers) {
  int64_t blocks = getResidentBlocks(attention.description) * kTargetRounds;
  Value target = ints.div(ints.mul(ints.toI64(workers), blocks),
                          getFixedBlocks(attention.description));
  return ints.max(ints.min(target, ints.i64(INT32_MAX)), ints.i64(1));
}

Value LaunchFunction::emitCluster(const Kernel &attention, Value target, Value tokens) {
  // A decode has a query block for each token.
  Value cluster = ints.i64(1), blocks = ints.toI64(tokens);
  for (int64_t size = 2; size <= attention.description.cluster; size *= 2)
    cluster =
        ints.select(ints.lessOrEqual(ints.mul(blocks, size), target), ints.i64(size), cluster);
  return cluster;
}

Value LaunchFunction::emitClusterShape(const Kernel &kernel) {
  if (kernel.description.cluster == 1)
    return LLVM::ZeroOp::create(b, ints.loc, ints.ptrType());
  Value shape = allocate(3 * sizeof(uint32_t));
  Value blocks = ints.toI32(spaces[kernel.op].cluster);
  for (auto [dim, extent] :
       llvm::enumerate(SmallVector<Value>{ints.i32(1), blocks, ints.i32(1)}))
    abi.store(extent, shape, dim * sizeof(uint32_t));
  return shape;
}

Value LaunchFunction::emitGrid(const Kernel &kernel, Value useful) {
  const KernelDescription &description = kernel.description;
  Value grid = allocate(3 * sizeof(uint32_t));
  for (int64_t dim = 0; dim < 3; ++dim) {
    Value extent = ints.i32(description.grid[dim]);
    if (description.grid[dim] == 0) {
      Value blocks =
          ints.mul(ints.toI64(workers), getResidentBlocks(description) * kGridRounds);
      // A grid is whole clusters.
      int64_t most = kMaxGrid[dim] / description.cluster * description.cluster;
      Value limit =
          ints.min(ints.max(ints.ceilDiv(blocks, getFixedBlocks(description)), ints.i64(1)),
                   ints.i64(most));
      Value blocksAlong = ints.min(useful, limit);
      if (description.cluster > 1) {
        Value cluster = spaces[kernel.op].cluster;
        Value last = ints.add(blocksAlong, ints.add(cluster, -1));
        blocksAlong = ints.mul(arith::DivUIOp::create(b, ints.loc, last, cluster), cluster);
      }
      extent = ints.toI32(blocksAlong);
    }
    abi.store(extent, grid, dim * sizeof(uint32_t));
  }
  return grid;
}

//===----------------------------------------------------------------------===//
// Launches
//===----------------------------------------------------------------------===//

Value LaunchFunction::emitUsefulBlocks(const Kernel &kernel) {
  switch (kernel.description.kind) {
  case KernelKind::WorkList: // With nothing to list, nothing reads the list.
  case KernelKind::Attention:
    return spaces[getAttentionKernel(kernel).op].bounds.items;
  case KernelKind::Combine:
    return spaces[getAttentionKernel(kernel).op].bounds.merges;
  case KernelKind::Append:
  case KernelKind::Rope:
  case KernelKind::Merge:
    return emitRows(body[kernel.description.op]);
  }
  llvm_unreachable("unknown kind");
}

void LaunchFunction::emitLaunch(const Kernel &kernel) {
  Value useful = emitUsefulBlocks(kernel);
  Value condition = ints.less(ints.i64(0), useful);
  if (KernelPhase phase = kernel.description.phase; phase != KernelPhase::Any) {
    Value batch = values.lookup(getBatch(body[kernel.description.op]));
    Value queryLen = batchField(batch, offsetof(kvc_batch_t, max_query_len), ints.i32Type());
    Value isPhase = phase == KernelPhase::Decode ? ints.lessOrEqual(queryLen, ints.i32(1))
                                                 : ints.less(ints.i32(1), queryLen);
    condition = ints.logicalAnd(condition, isPhase);
  }
  Block *before = b.getInsertionBlock();
  Block *after = b.createBlock(before->getParent(), std::next(before->getIterator()));
  Block *launch = b.createBlock(after);
  b.setInsertionPointToEnd(before);
  LLVM::CondBrOp::create(b, ints.loc, condition, launch, after);
  b.setInsertionPointToStart(launch);
  returnIfFailed(
      abi.callTable(rt, offsetof(kvc_rt_api_t, launch), ints.i32Type(),
                    {stream, program, ints.i32(kernel.index), emitGrid(kernel, useful),
                     emitClusterShape(kernel), emitParameters(kernel)}));
  LLVM::BrOp::create(b, ints.loc, ValueRange(), after);
  b.setInsertionPointToStart(after);
}

} // namespace kvc
