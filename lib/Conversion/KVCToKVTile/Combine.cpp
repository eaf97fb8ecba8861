//===- Combine.cpp - the parts of split query blocks, put together --------===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Rows.h"

#include "kvc/Conversion/WorkList.h"

using namespace mlir;
using namespace kvc;
using namespace kvc::kvtile;

using Predicate = KernelBuilder::Predicate;

/// Query tokens of one entry that have a block of their own.
static constexpr int64_t kMaxTokenBlocks = 16;

/// Columns of a thread. Widths are multiples of 8.
static constexpr int64_t kColumns = 4;

/// Room for the columns of several parts that are loaded at once.
static constexpr int32_t kMaxRegisters = 96;

namespace {
/// Emits the kernel that puts together what kvtile.finish has stored of split items.
class CombineKernel {
public:
  CombineKernel(OpBuilder &b, AttentionOp op, const KernelShape &shape)
      : op(op), shape(shape), tokens(shape.stream.getQueryTokens()),
        kernel(b, op, shape.valueWidth / kColumns), k(kernel.k) {}

  void emit(StringRef name, const KernelDescription &origin);

private:
  /// The entry with the parts that clusters have of it.
  MergeEntryValues loadEntry(Value index);
  /// Row of this head of query token `token` of an entry's part, counted over all parts.
  Value partRow(const MergeEntryValues &entry, Value part, Value token);
  Value loadStats(Value row) {
    Value stats = kernel.arguments.get(KernelValue::PartsStats);
    return k.load(k.pairType(), k.element(stats, row, 8), 8);
  }
  void emitRow(const MergeEntryValues &entry, Value token);
  /// Puts together kColumns neighbouring columns, the `index`th of these.
  void emitColumns(const MergeEntryValues &entry, Value token, Value index, Value sink);

  AttentionOp op;
  const KernelShape &shape;
  int64_t tokens;
  RowKernel kernel;
  KernelBuilder &k;
  Value cluster; ///< Blocks of one; null if there are none.
};
} // namespace

MergeEntryValues CombineKernel::loadEntry(Value index) {
  MergeEntryValues entry =
      emitLoadMergeEntry(k.b, k.loc, kernel.arguments.get(KernelValue::ListMerges), index);
  if (cluster) {
    Value end = k.add(entry.firstRank, k.add(entry.partCount, k.add(cluster, -1)));
    entry.partCount = arith::DivUIOp::create(k.b, k.loc, end, cluster);
  }
  return entry;
}

Value CombineKernel::partRow(const MergeEntryValues &entry, Value part, Value token) {
  // A cluster has that of its first block.
  if (cluster)
    part = k.max(k.sub(k.mul(part, cluster), entry.firstRank), k.i32(0));
  Value first = k.mul(k.toI64(k.add(entry.firstPart, part)), tokens);
  Value row = k.mul(k.add(first, k.toI64(token)), shape.queryHeads);
  return k.add(row, k.toI64(kernel.head));
}

void CombineKernel::emitColumns(const MergeEntryValues &entry, Value token, Value index,
                                Value sink) {
  Value column = k.mul(index, kColumns);
  Type columnsType = VectorType::get(kColumns, k.f32Type());
  // The maximum, the sum and the columns, which follow the maximum: their statistics are
  // read once, and no part waits for all others'.
  SmallVector<Value> totals(2 + kColumns, k.f32(0.0));
  totals[0] = k.minusInfinity();
  totals = k.forRange(
      k.i32(0), entry.partCount, k.i32(1), totals,
      [&](Value part, ValueRange carried) -> SmallVector<Value> {
        Value row = partRow(entry, part, token), stats = loadStats(row);
        Value offset = k.add(k.mul(row, shape.valueWidth), k.toI64(column));
        Value address = k.element(kernel.arguments.get(KernelValue::PartsOutput), offset, 4);
        SmallVector<Value> sums = {k.second(stats)};
        llvm::append_range(sums, k.fromVector(k.load(columnsType, address, 4 * kColumns)));
        Value max = k.maxF(carried[0], k.first(stats)), reference = emitFiniteMax(k, max);
        Value before = k.exp2(k.subF(carried[0], reference));
        Value factor = k.exp2(k.subF(k.first(stats), reference));
        SmallVector<Value> results = {max};
        for (auto [sum, total] : llvm::zip(sums, carried.drop_front()))
          results.push_back(k.addF(k.mulF(total, before), k.mulF(sum, factor)));
        return results;
      });
  SummedRow row =
      emitDividedRow(k, {totals[0], totals[1], {totals.begin() + 2, totals.end()}}, sink);

  Type element = getElementTypeOrSelf(op.getOutput());
  Value outToken = k.add(entry.queryBegin, token);
  Value to = kernel.row(kernel.arguments.tensor(op.getOutput()), outToken, kernel.head);
  k.storeRounded(row.columns, element,
                 k.element(to, column, element.getIntOrFloatBitWidth() / 8));
  if (!op.getLse())
    return;
  k.guarded(k.compare(Predicate::eq, index, k.i32(0)), [&] {
    k.store(emitLogSumExp(k, row.max, row.sum),
            kernel.row(kernel.arguments.tensor(op.getLse()), outToken, kernel.head), 4);
  });
}

void CombineKernel::emitRow(const MergeEntryValues &entry, Value token) {
  Value sink = kernel.loadSink(op.getSinks());
  kernel.forColumns(shape.valueWidth / kColumns,
                    [&](Value index) { emitColumns(entry, token, index, sink); });
}

void CombineKernel::emit(StringRef name, const KernelDescription &origin) {
  KernelArguments &arguments = kernel.arguments;
  int64_t bytes = getElementTypeOrSelf(op.getOutput()).getIntOrFloatBitWidth() / 8;
  arguments.addTensor(op.getOutput(), kColumns * bytes);
  if (op.getLse())
    arguments.addTensor(op.getLse());
  if (op.getSinks())
    arguments.addTensor(op.getSinks());
  for (KernelValue parameter : {KernelValue::ListMerges, KernelValue::ListCounts,
                                KernelValue::PartsOutput, KernelValue::PartsStats})
    arguments.add(parameter);

  OpBuilder::InsertionGuard guard(k.b);
  int64_t tokenBlocks = std::min(tokens, kMaxTokenBlocks);
  KernelOp created =
      kernel.begin(name, origin, KernelKind::Combine, shape.queryHeads, tokenBlocks);
  created.setMaxRegisters(kMaxRegisters);
  Value counts = arguments.get(KernelValue::ListCounts);
  // Two neighbours, by one request.
  static_assert(offsetof(WorkCounts, merges) % 8 == 0 &&
                offsetof(WorkCounts, cluster) == offsetof(WorkCounts, merges) + 4);
  Type pair = VectorType::get(2, k.i32Type());
  SmallVector<Value> loaded =
      k.fromVector(k.load(pair, k.at(counts, offsetof(WorkCounts, merges)), 8));
  if (shape.cluster > 1)
    cluster = loaded[1];
  kernel.forEntries(loaded[0], [&](Value index) {
    MergeEntryValues entry = loadEntry(index);
    auto emitRows = [&] {
      k.forRange(k.blockIdZ(), entry.queryCount, k.i32(tokenBlocks),
                 [&](Value token) { emitRow(entry, token); });
    };
    // What lies in one cluster is done.
    if (cluster)
      k.guarded(k.compare(Predicate::sgt, entry.partCount, k.i32(1)), emitRows);
    else
      emitRows();
  });
  kernel.end();
}

void kvc::emitCombineKernel(OpBuilder &b, StringRef name, const KernelDescription &origin,
                            AttentionOp op, const KernelShape &shape) {
  CombineKernel(b, op, shape).emit(name, origin);
}
