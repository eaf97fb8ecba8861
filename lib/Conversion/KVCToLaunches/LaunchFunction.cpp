//===- LaunchFunction.cpp - the host side of GPU programs -----------------===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "LaunchFunction.h"

#include "kvc/Conversion/KVCToNVVM.h"

#include <cstddef>

using namespace mlir;

namespace kvc {

LaunchFunction::LaunchFunction(func::FuncOp function, int64_t index, SymbolTable &symbols,
                               SmallVector<Kernel> kernels)
    : HostEntries(function, index, symbols), kernels(std::move(kernels)) {}

//===----------------------------------------------------------------------===//
// Kernels of the operations
//===----------------------------------------------------------------------===//

/// Gives `op` the next kernels, which must be of these kinds.
LogicalResult LaunchFunction::assign(Operation *op, ArrayRef<StringRef> kinds) {
  for (StringRef kind : kinds) {
    if (kernels.empty() || kernels.front().kind != kind)
      return op->emitOpError("expected its ")
             << kind << " kernel next in the gpu.module, found "
             << (kernels.empty() ? StringRef("none") : kernels.front().kind)
             << "; run convert-kvc-to-nvvm with keep-functions before this pass";
    kernelsOf[op].push_back(kernels.front());
    kernels.erase(kernels.begin());
  }
  return success();
}

LogicalResult LaunchFunction::assignKernels() {
  for (Operation &op : function.getBody().front()) {
    if (isa<AppendOp>(op)) {
      if (failed(assign(&op, {"append"})))
        return failure();
    } else if (isa<AttentionOp>(op)) {
      if (failed(assign(&op, {"worklist", "attention", "merge"})))
        return failure();
      LLVM::LLVMFuncOp attention = kernelsOf[&op][1].op;
      for (StringRef name : {"kvc.split", "kvc.query_heads", "kvc.width"})
        if (!attention->getAttrOfType<IntegerAttr>(name))
          return attention.emitOpError("expected the attribute '") << name << "'";
    } else if (!isa<func::ReturnOp>(op)) {
      return op.emitError("no launch for operation '")
             << op.getName() << "'; supported: kvc.append, kvc.attention";
    }
  }
  return success();
}

int64_t LaunchFunction::getConstant(AttentionOp op, StringRef name) {
  return kernelsOf[op][1].op->getAttrOfType<IntegerAttr>(name).getInt();
}

//===----------------------------------------------------------------------===//
// The function
//===----------------------------------------------------------------------===//

LogicalResult LaunchFunction::lower() {
  if (failed(checkFunction()) || failed(assignKernels()))
    return failure();
  emitNeeds();
  emitRun();
  bool hasAttention = !function.getBody().front().getOps<AttentionOp>().empty();
  addToProgram(hasAttention ? kAttentionMaxQueryLen : 0, getAlignments());
  return success();
}

/// What the attention's kernels need of the arguments; elements are enough for the
/// copies of an append.
SmallVector<int32_t> LaunchFunction::getAlignments() {
  llvm::DenseMap<Value, int32_t> needed;
  for (auto op : function.getBody().front().getOps<AttentionOp>()) {
    needed[op.getCache()] = kAttentionCacheAlignment;
    needed[op.getQueries().front()] = kAttentionRowAlignment;
    needed[op.getOutput()] = kAttentionRowAlignment;
  }
  SmallVector<int32_t> alignments;
  for (BlockArgument argument : function.getArguments())
    alignments.push_back(needed.lookup(argument));
  for (Value result : function.getBody().front().getTerminator()->getOperands())
    alignments.push_back(needed.lookup(result));
  return alignments;
}

void LaunchFunction::emitNeeds() {
  Sizes sizes = startNeeds();
  finishNeeds(emitWorkspaceEnd([&](AttentionOp) { return sizes; }));
}

void LaunchFunction::emitRun() {
  startRun();
  Block &body = function.getBody().front();
  workers = abi.callTable(rt, offsetof(kvc_rt_api_t, num_workers), ints.i32Type(), {stream});
  auto sizesOf = [&](AttentionOp op) {
    return batchSizes(values.lookup(op.getBatch()), workers);
  };
  takeWorkspace(emitWorkspaceEnd(sizesOf));
  Value offset = ints.i64(0);
  for (auto op : body.getOps<AttentionOp>())
    for (Value result : op->getResults())
      if (isIntermediate(result))
        offset = placeIntermediate(result, ints.toI64(sizesOf(op).tokens), offset);

  // Nothing is launched before all is checked: what has been cannot be undone.
  for (Operation &op : body)
    checkRows(op);
  for (Operation &op : body) {
    if (auto append = dyn_cast<AppendOp>(op))
      emitAppend(append);
    else if (auto attention = dyn_cast<AttentionOp>(op))
      emitAttention(attention);
  }
  finishRun();
}

void LaunchFunction::checkRows(Operation &op) {
  SmallVector<Value> tensors;
  Value batch;
  if (auto append = dyn_cast<AppendOp>(op)) {
    tensors.append(append.getValues().begin(), append.getValues().end());
    batch = append.getBatch();
  } else if (auto attention = dyn_cast<AttentionOp>(op)) {
    tensors.push_back(attention.getQueries().front());
    tensors.append(attention->result_begin(), attention->result_end());
    batch = attention.getBatch();
  } else {
    return;
  }
  Value tokens = batchField(values.lookup(batch), offsetof(kvc_batch_t, num_tokens),
                            ints.i32Type());
  checkTokens(&op, tensors, ints.toI64(tokens));
}

//===----------------------------------------------------------------------===//
// Workspace
//===----------------------------------------------------------------------===//

LaunchFunction::AttentionSpace
LaunchFunction::emitAttentionSpace(AttentionOp op, const Sizes &sizes, Value begin) {
  WorkListConfig config;
  config.split = static_cast<int32_t>(getConstant(op, "kvc.split"));
  AttentionSpace space;
  space.bounds = emitWorkListBounds(b, ints.loc, sizes.sequences, sizes.tokens, sizes.kvLen,
                                    config);
  // The device counts in 32 bits; and with that many, no size below overflows.
  failUnless(ints.lessOrEqual(space.bounds.items, ints.i64(INT32_MAX)), KVC_STATUS_UNSUPPORTED,
             "expected at most " + Twine(INT32_MAX) + " work items, one for each query token "
             "and " + Twine(config.split) + " keys of max_kv_len, got more");
  int64_t rowBytes = getConstant(op, "kvc.query_heads") * sizeof(float);
  int64_t width = getConstant(op, "kvc.width");
  space.counts = begin;
  space.items = ints.add(begin, kWorkspaceAlignment);
  space.merges = offsetAfter(space.items, space.bounds.items, sizeof(WorkItem));
  space.partOutput = offsetAfter(space.merges, space.bounds.merges, sizeof(MergeEntry));
  space.partStats = offsetAfter(space.partOutput, space.bounds.parts, rowBytes * width);
  space.end = offsetAfter(space.partStats, space.bounds.parts, rowBytes * 2);
  return space;
}

Value LaunchFunction::emitWorkspaceEnd(function_ref<Sizes(AttentionOp)> sizesOf) {
  Value end = ints.i64(0);
  for (auto op : function.getBody().front().getOps<AttentionOp>()) {
    Sizes sizes = sizesOf(op);
    for (Value result : op->getResults())
      if (isIntermediate(result))
        end = ints.add(end, emitIntermediateBytes(result, ints.toI64(sizes.tokens)));
    space = emitAttentionSpace(op, sizes, end);
    end = space.end;
  }
  return end;
}

} // namespace kvc
