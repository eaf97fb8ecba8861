//===- Lowering.cpp - what the lowerings of kvtile share ------------------===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Lowering.h"

#include "mlir/IR/Matchers.h"

using namespace mlir;

namespace kvc::kvtile {

WorkItemValues unpackItem(ValueRange v) {
  return {v[0], v[1], v[2], v[3], v[4], v[5], v[6], v[7], v[8]};
}

QueryRow emitQueryRow(KernelBuilder &k, const WorkItemValues &item, Value kvHead, Value row,
                      int64_t group) {
  QueryRow result;
  result.exists =
      k.compare(KernelBuilder::Predicate::slt, row, k.mul(item.queryCount, group));
  Value safe = k.select(result.exists, row, k.i32(0));
  result.inItem = k.div(safe, group);
  result.token = k.add(item.queryBegin, result.inItem);
  result.head = k.add(k.mul(kvHead, group), k.sub(safe, k.mul(result.inItem, group)));
  result.position = k.add(item.queryPos, result.inItem);
  return result;
}

int64_t getThreads(Operation *op) {
  // The kernel has been converted before what is in it.
  auto kernel = op->getParentOfType<LLVM::LLVMFuncOp>();
  return kernel->getAttrOfType<DenseI32ArrayAttr>(NVVM::NVVMDialect::getReqntidAttrName())[0];
}

BlockOffset emitBlockOffset(KernelBuilder &k, const ThreadPosition &position, LayoutAttr layout,
                            int64_t warpRows, int64_t warpColumns) {
  BlockOffset offset;
  if (layout.getWarpRows() > 1) {
    Value block = k.div(position.warp, layout.getWarpColumns());
    offset.row = k.mul(block, warpRows);
  }
  if (layout.getWarpColumns() > 1) {
    Value block = position.warp;
    if (layout.getWarpRows() > 1)
      block = k.rem(block, layout.getWarpColumns());
    offset.column = k.mul(block, warpColumns);
  }
  return offset;
}

Value addTo(KernelBuilder &k, Value lhs, Value rhs) { return lhs ? k.add(lhs, rhs) : rhs; }

SlotValues::SlotValues(KernelBuilder &k, ValueRange values) : base(values[0]) {
  IntegerAttr constant;
  if (matchPattern(values[1], m_Constant(&constant)))
    offset = constant.getInt();
  else
    base = k.add(base, values[1]);
}

Value emitChunkOffset(KernelBuilder &k, SlotType type, Value row, Value chunk) {
  if (int64_t swizzle = type.getSwizzle(); swizzle > 1)
    chunk = k.bitXor(chunk, k.bitAnd(k.div(row, 8 / swizzle), swizzle - 1));
  return k.add(k.mul(row, type.getRowBytes()), k.mul(chunk, 16));
}

Value emitChunkPointer(KernelBuilder &k, SlotType type, const SlotValues &slot, Value row,
                       Value chunk) {
  Value address = k.add(slot.base, emitChunkOffset(k, type, row, chunk));
  return k.at(k.toShared(address), slot.offset);
}

void emitSumOfWarps(KernelBuilder &k, const ThreadPosition &position, int64_t exchange,
                    int64_t rows, int64_t warps, MutableArrayRef<Value> sums) {
  Value base = k.add(k.sharedBase(), exchange);
  auto rowOf = [](int64_t line) { return line / 2 * 16 + line % 2 * 8; };
  Value own =
      k.toShared(k.add(base, k.mul(k.add(k.mul(position.warp, rows), position.group), 4)));
  k.barrier();
  k.guarded(k.compare(KernelBuilder::Predicate::eq, position.quarter, k.i32(0)), [&] {
    for (auto [line, sum] : llvm::enumerate(sums))
      k.store(sum, k.at(own, rowOf(line) * 4), 4);
  });
  k.barrier();
  Value all = k.toShared(k.add(base, k.mul(position.group, 4)));
  for (auto [line, sum] : llvm::enumerate(sums)) {
    sum = k.f32(0.0);
    for (int64_t warp = 0; warp < warps; ++warp)
      sum = k.addF(sum, k.load(k.f32Type(), k.at(all, (warp * rows + rowOf(line)) * 4), 4));
  }
}

} // namespace kvc::kvtile
