//===- Rows.cpp - kernels over rows ---------------------------------------===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Rows.h"

#include "mlir/Dialect/LLVMIR/NVVMDialect.h"

using namespace mlir;
using namespace kvc;
using namespace kvc::kvtile;

/// Enough for all of these kernels, and small enough for many blocks at once.
static constexpr int32_t kMaxRegisters = 64;

/// Wider rows are taken in turns.
static constexpr int64_t kMaxThreads = 256;

static int64_t getThreads(int64_t columns) {
  return std::min(llvm::alignTo(columns, kWarpSize), uint64_t(kMaxThreads));
}

RowKernel::RowKernel(OpBuilder &b, Operation *op, int64_t columns)
    : k(b, op->getLoc()), arguments(op), threads(getThreads(columns)) {}

KernelOp RowKernel::begin(StringRef name, const KernelDescription &origin, KernelKind kind,
                          int64_t heads, int64_t gridZ, int64_t sharedBytes) {
  KernelDescription description = origin;
  description.kind = kind;
  description.grid[0] = heads;
  description.grid[1] = 0;
  description.grid[2] = gridZ;
  description.threads = threads;
  description.sharedBytes = sharedBytes;
  KernelOp kernel = createKernel(k.b, k.loc, name, description, arguments);
  kernel.setMaxRegisters(kMaxRegisters);
  thread = k.threadId();
  head = k.blockIdX();
  return kernel;
}

void RowKernel::forEntries(Value count, function_ref<void(Value)> body) {
  Value begin = k.blockIdY(), step = k.gridDimY();
  if (count.getType().isInteger(64)) {
    begin = k.toI64(begin);
    step = k.toI64(step);
  }
  k.forRange(begin, count, step, body);
}

void RowKernel::forColumns(int64_t count, function_ref<void(Value)> body, int64_t first) {
  Value column = k.add(thread, first), end = k.i32(first + count);
  if (count == threads)
    return body(column);
  if (count < threads)
    return k.guarded(k.compare(KernelBuilder::Predicate::slt, column, end),
                     [&] { body(column); });
  k.forRange(column, end, k.i32(threads), body);
}

Value RowKernel::maxOf(Value count, function_ref<Value(Value)> value) {
  Value lane = k.bitAnd(thread, kWarpSize - 1);
  Value max = k.forRange(lane, count, k.i32(kWarpSize), {k.minusInfinity()},
                         [&](Value i, ValueRange carried) -> SmallVector<Value> {
                           return {k.maxF(carried[0], value(i))};
                         })[0];
  for (int64_t lanes = 1; lanes < kWarpSize; lanes *= 2)
    max = k.maxF(max, k.shuffleXor(max, lanes));
  return max;
}

Value RowKernel::row(Value rows, Value token, Value head) {
  return RowOp::create(k.b, k.loc, k.globalPtr(), rows, token, head);
}

Value RowKernel::pageRow(Value pages, Value slot, Value head) {
  return PageRowOp::create(k.b, k.loc, k.globalPtr(), pages, slot, head);
}

Value RowKernel::element(Value heads, Value head) {
  return HeadOp::create(k.b, k.loc, k.globalPtr(), heads, head);
}

Value RowKernel::loadSink(Value sinks) {
  if (!sinks)
    return {};
  return k.loadInvariant(k.f32Type(), element(arguments.tensor(sinks), head), 4);
}
