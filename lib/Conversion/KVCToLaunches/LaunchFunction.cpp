//===- LaunchFunction.cpp - the host side of GPU programs -----------------===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "LaunchFunction.h"

#include <cstddef>

using namespace mlir;

namespace kvc {

LaunchFunction::LaunchFunction(func::FuncOp function, int64_t index, SymbolTable &symbols,
                               SmallVector<Kernel> kernels)
    : HostEntries(function, index, symbols), kernels(std::move(kernels)) {}

//===----------------------------------------------------------------------===//
// The function
//===----------------------------------------------------------------------===//

LogicalResult LaunchFunction::lower() {
  if (failed(checkFunction()) || failed(checkHostCode()) || failed(assignKernels()))
    return failure();
  if (hasHostCode())
    emitShapesEntry();
  emitNeeds();
  emitRun();
  addToProgram(getMaxQueryLen(), getAlignments());
  return success();
}

/// An attention without kernels for prefill takes one query token a sequence.
int32_t LaunchFunction::getMaxQueryLen() {
  auto isLimited = [&](AttentionOp op) {
    return hasPhase(op, KernelPhase::Decode) && !hasPhase(op, KernelPhase::Prefill);
  };
  return llvm::any_of(function.getBody().front().getOps<AttentionOp>(), isLimited) ? 1 : 0;
}

SmallVector<int32_t> LaunchFunction::getAlignments() {
  SmallVector<int32_t> result;
  for (BlockArgument argument : function.getArguments())
    result.push_back(alignments.lookup(argument));
  for (Value value : body.back()->getOperands())
    result.push_back(alignments.lookup(value));
  return result;
}

void LaunchFunction::emitNeeds() {
  Sizes sizes = startNeeds();
  includeForeign(sizes);
  Shapes shapes =
      hasHostCode() ? emitShapesOfBounds() : emitShapesOfTokens(ints.toI64(sizes.tokens));
  finishNeeds(emitWorkspaceEnd(shapes, [&](AttentionOp) { return sizes; }));
}

void LaunchFunction::emitRun() {
  startRun();
  for (Operation *op : body)
    if (isForeign(*op))
      emitForeign(*op);
  workers = abi.callTable(rt, offsetof(kvc_rt_api_t, num_workers), ints.i32Type(), {stream});
  Shapes shapes = emitShapes([&](BlockArgument arg) { return values.lookup(arg); });
  takeWorkspace(emitWorkspaceEnd(shapes, [&](AttentionOp op) {
    return batchSizes(values.lookup(op.getBatch()), workers);
  }));
  if (hasHostCode())
    checkResults(shapes);
  Value offset = ints.i64(0);
  for (Operation *op : body)
    for (Value result : op->getResults())
      if (isPlaced(result))
        offset = placeIntermediate(result, shapes, offset);

  // Nothing is launched before all is checked: what has been cannot be undone.
  for (Operation *op : body)
    checkRows(*op);
  if (hasHostCode())
    emitLauncher();
  for (Operation *op : body) {
    if (auto part = dyn_cast<func::CallOp>(op))
      emitPart(part, shapes, partSpace);
    for (const Kernel &kernel : kernelsOf[op])
      emitLaunch(kernel);
  }
  finishRun();
}

void LaunchFunction::checkRows(Operation &op) {
  SmallVector<Value> tensors;
  if (auto append = dyn_cast<AppendOp>(op))
    tensors = append.getValues();
  else if (auto attention = dyn_cast<AttentionOp>(op))
    tensors = attention.getQueries();
  else if (auto merge = dyn_cast<MergeOp>(op))
    tensors = llvm::to_vector(llvm::concat<Value>(merge.getOutputs(), merge.getLses()));
  else if (auto rope = dyn_cast<RopeOp>(op))
    tensors.push_back(rope.getInput());
  else
    return;
  llvm::append_range(tensors, op.getResults());
  // What no kernel writes, since it is part of another one, is nowhere.
  llvm::erase_if(tensors, [&](Value tensor) { return !values.contains(tensor); });
  if (!tensors.empty())
    checkTokens(&op, tensors, emitRows(&op));
}

Value LaunchFunction::emitRows(Operation *op) {
  if (Value batch = getBatch(op))
    return ints.toI64(batchField(values.lookup(batch), offsetof(kvc_batch_t, num_tokens),
                                 ints.i32Type()));
  Value first = cast<MergeOp>(op).getOutputs().front();
  if (Operation *producer = first.getDefiningOp())
    return emitRows(producer);
  return tensorTokens(values.lookup(first));
}

/// What the launches of host code take.
void LaunchFunction::emitLauncher() {
  launcher = allocate(sizeof(LaunchContext));
  abi.store(rt, launcher, offsetof(LaunchContext, rt));
  abi.store(stream, launcher, offsetof(LaunchContext, stream));
  abi.store(program, launcher, offsetof(LaunchContext, program));
  abi.store(ints.i32(KVC_STATUS_OK), launcher, offsetof(LaunchContext, status));
}

//===----------------------------------------------------------------------===//
// Workspace
//===----------------------------------------------------------------------===//

/// No size of a workspace that passes the checks reaches this.
static constexpr int64_t kMaxWorkspace = int64_t(1) << 62;

LaunchFunction::AttentionSpace
LaunchFunction::emitAttentionSpace(const Kernel &attention, const Sizes &sizes, Value begin) {
  const KernelDescription &description = attention.description;
  WorkListConfig config;
  config.split = description.split;
  config.queryTokens = description.queryTokens;
  AttentionSpace space;
  space.target = emitTarget(attention, sizes.workers);
  space.cluster = emitCluster(attention, space.target, sizes.tokens);
  space.bounds = emitWorkListBounds(b, ints.loc, sizes.sequences, sizes.tokens, sizes.kvLen,
                                    config,
                                    description.deterministic ? Value() : space.target);
  // The device counts in 32 bits, and no size below may overflow. Both factors are
  // below 2^62.
  int64_t partRows = int64_t(description.queryTokens) * description.queryHeads;
  int64_t rowBytes = (int64_t(description.width) + 2) * sizeof(float);
  int64_t limit = std::min<int64_t>(INT32_MAX, kMaxWorkspace / partRows / rowBytes);
  std::string tokens = config.queryTokens == 1
                           ? "query token"
                           : std::to_string(config.queryTokens) + " query tokens";
  failUnless(ints.lessOrEqual(space.bounds.items, ints.i64(limit)), KVC_STATUS_UNSUPPORTED,
             "expected at most " + Twine(limit) + " work items, one for each " + tokens +
                 " and " + Twine(config.split) + " keys of max_kv_len, got more");
  space.counts = begin;
  space.items = ints.add(begin, kWorkspaceAlignment);
  space.merges = offsetAfter(space.items, space.bounds.items, sizeof(WorkItem));
  space.partsOutput = offsetAfter(space.merges, space.bounds.merges, sizeof(MergeEntry));
  space.partsStats = offsetAfter(space.partsOutput, space.bounds.parts,
                                 partRows * description.width * sizeof(float));
  space.end =
      offsetAfter(space.partsStats, space.bounds.parts, partRows * 2 * sizeof(float));
  return space;
}

/// True if it is a tensor that a kernel writes to the workspace.
bool LaunchFunction::isPlaced(Value result) {
  return computed.contains(result) && isIntermediate(result);
}

Value LaunchFunction::emitWorkspaceEnd(const Shapes &shapes,
                                       function_ref<Sizes(AttentionOp)> sizesOf) {
  Value begin = ints.i64(0);
  for (Operation *op : body)
    for (Value result : op->getResults())
      if (isPlaced(result))
        begin = ints.add(begin, emitBytes(result, shapes));
  Value end = begin;
  partSpace = begin;
  for (auto part : function.getBody().front().getOps<func::CallOp>())
    end = ints.max(end, ints.add(begin, shapes.workspace.at(part)));
  for (auto op : function.getBody().front().getOps<AttentionOp>())
    for (const Kernel &kernel : kernelsOf[op])
      if (kernel.description.kind == KernelKind::Attention) {
        AttentionSpace &space = spaces[kernel.op];
        space = emitAttentionSpace(kernel, sizesOf(op), begin);
        end = ints.max(end, space.end);
      }
  return end;
}

} // namespace kvc
