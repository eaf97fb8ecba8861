//===- Merge.cpp - attention over disjoint sets of keys, merged -----------===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Rows.h"

using namespace mlir;
using namespace kvc;
using namespace kvc::kvtile;

using Predicate = KernelBuilder::Predicate;

/// Bytes of the parameters of a kernel on sm_90 (PTX ISA 8.1 and later).
static constexpr int64_t kMaxParameterBytes = 32764;

/// A pointer and two strides, and of the sinks one.
static constexpr int64_t kRowsBytes = 24, kHeadsBytes = 16, kCountBytes = 8;

LogicalResult kvc::checkMerge(MergeOp op) {
  int64_t others = kCountBytes + 2 * kRowsBytes + (op.getSinks() ? kHeadsBytes : 0);
  int64_t parts = op.getOutputs().size();
  int64_t maxParts = (kMaxParameterBytes - others) / (2 * kRowsBytes);
  if (parts <= maxParts)
    return success();
  return op.emitOpError("has no GPU kernel for ")
         << parts << " parts; supported: 1 to " << maxParts;
}

/// An entry of the table of a block: the address of the row of its head and token 0 of
/// a tensor, and the bytes from one token to the next.
static constexpr int64_t kEntryBytes = 16;

/// Parts whose entries are written between two barriers: a basic block begins with all
/// the parameters that it needs, and has to have registers for them.
static constexpr int64_t kPartsAtOnce = 8;

/// For loops over some dozens of parts, which LLVM unrolls.
static constexpr int32_t kMaxRegisters = 96;

namespace {
/// Emits the kernel of a kvc.merge. Where the parts lie is put into shared memory first,
/// so that the loop over them is one, however many there are.
class MergeKernel {
public:
  MergeKernel(OpBuilder &b, MergeOp op)
      : op(op), type(cast<RankedTensorType>(op.getOutput().getType())),
        parts(op.getOutputs().size()), kernel(b, op, type.getDimSize(2)), k(kernel.k) {}

  void emit(StringRef name, const KernelDescription &origin);

private:
  void emitTable();
  void emitRow(Value token);
  void emitColumn(Value token, Value column, Value max, Value sink);
  /// Address of the row of `token`, in the output (0) or the log-sum-exps (1) of a part.
  Value rowOf(Value part, int64_t which, Value token);
  Value loadLse(Value part, Value token) {
    return k.loadInvariant(k.f32Type(), rowOf(part, 1, token), 4);
  }
  Value row(Value tensor, Value token) {
    return kernel.row(kernel.arguments.tensor(tensor), token, kernel.head);
  }

  MergeOp op;
  RankedTensorType type;
  int64_t parts;
  RowKernel kernel;
  KernelBuilder &k;
};
} // namespace

void MergeKernel::emitTable() {
  Value base = k.sharedBase();
  auto addressOf = [&](Value tensor, int64_t token) -> Value {
    return LLVM::PtrToIntOp::create(k.b, k.loc, k.i64Type(), row(tensor, k.i64(token)));
  };
  auto fill = [&](int64_t entry, Value tensor) {
    Value first = addressOf(tensor, 0);
    Value to = k.toShared(k.add(base, entry * kEntryBytes));
    k.store(first, to, 8);
    k.store(k.sub(addressOf(tensor, 1), first), k.at(to, 8), 8);
  };
  Value isFirst = k.compare(Predicate::eq, kernel.thread, k.i32(0));
  for (int64_t begin = 0; begin < parts; begin += kPartsAtOnce) {
    k.guarded(isFirst, [&] {
      for (int64_t part = begin; part < std::min(begin + kPartsAtOnce, parts); ++part) {
        fill(2 * part, op.getOutputs()[part]);
        fill(2 * part + 1, op.getLses()[part]);
      }
    });
    k.barrier();
  }
}

Value MergeKernel::rowOf(Value part, int64_t which, Value token) {
  Value offset = k.add(k.mul(part, 2 * kEntryBytes), which * kEntryBytes);
  Value entry = k.toShared(k.add(k.sharedBase(), offset));
  Value first = k.load(k.i64Type(), entry, 8);
  Value stride = k.load(k.i64Type(), k.at(entry, 8), 8);
  return LLVM::IntToPtrOp::create(k.b, k.loc, k.globalPtr(), k.add(first, k.mul(token, stride)));
}

void MergeKernel::emitColumn(Value token, Value column, Value max, Value sink) {
  Type element = type.getElementType();
  int64_t bytes = element.getIntOrFloatBitWidth() / 8;
  Value zero = k.f32(0.0), base = emitFiniteMax(k, max);
  auto weigh = [&](Value lse) { return k.exp2(k.mulF(k.subF(lse, base), k.f32(kLog2E))); };
  SmallVector<Value> totals = k.forRange(
      k.i32(0), k.i32(parts), k.i32(1), {sink ? weigh(sink) : zero, zero},
      [&](Value part, ValueRange carried) -> SmallVector<Value> {
        Value weight = weigh(loadLse(part, token));
        Value from = k.element(rowOf(part, 0, token), column, bytes);
        Value value = k.toF32(k.loadInvariant(element, from, bytes));
        // An empty part counts for nothing, whatever its output holds.
        Value isUnused = k.compareF(arith::CmpFPredicate::OEQ, weight, zero);
        return {k.addF(carried[0], weight),
                k.fma(weight, k.select(isUnused, zero, value), carried[1])};
      });
  Value sum = totals[0];
  Value isEmpty = k.compareF(arith::CmpFPredicate::OEQ, sum, zero);
  Value result = k.select(isEmpty, zero, k.mulF(totals[1], k.reciprocal(sum)));
  k.store(k.fromF32(result, element), k.element(row(op.getOutput(), token), column, bytes), bytes);
  k.guarded(k.compare(Predicate::eq, column, k.i32(0)), [&] {
    // The logarithm of a sum of 0 is -inf.
    k.store(k.addF(base, k.mulF(k.log2(sum), k.f32(kLn2))), row(op.getLse(), token), 4);
  });
}

void MergeKernel::emitRow(Value token) {
  Value sink = kernel.loadSink(op.getSinks());
  Value max = kernel.maxOf(k.i32(parts), [&](Value part) { return loadLse(part, token); });
  if (sink)
    max = k.maxF(max, sink);
  kernel.forColumns(type.getDimSize(2),
                    [&](Value column) { emitColumn(token, column, max, sink); });
}

void MergeKernel::emit(StringRef name, const KernelDescription &origin) {
  kernel.arguments.add(KernelValue::Rows);
  for (Value tensor : llvm::concat<Value>(op.getOutputs(), op.getLses()))
    kernel.arguments.addTensor(tensor);
  if (op.getSinks())
    kernel.arguments.addTensor(op.getSinks());
  kernel.arguments.addTensor(op.getOutput());
  kernel.arguments.addTensor(op.getLse());

  OpBuilder::InsertionGuard guard(k.b);
  KernelOp created = kernel.begin(name, origin, KernelKind::Merge, type.getDimSize(1),
                                  /*gridZ=*/1, 2 * parts * kEntryBytes);
  created.setMaxRegisters(kMaxRegisters);
  declareShared(k.b, k.b.getInsertionBlock()->getParentOp()->getParentOp());
  emitTable();
  kernel.forEntries(kernel.arguments.get(KernelValue::Rows),
                    [&](Value token) { emitRow(token); });
  kernel.end();
}

void kvc::emitMergeKernel(OpBuilder &b, StringRef name, const KernelDescription &origin,
                          MergeOp op) {
  MergeKernel(b, op).emit(name, origin);
}
