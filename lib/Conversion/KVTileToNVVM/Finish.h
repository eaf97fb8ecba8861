//===- Finish.h - emission of kvtile.finish ---------------------*- C++ -*-===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef KVC_LIB_CONVERSION_KVTILETONVVM_FINISH_H
#define KVC_LIB_CONVERSION_KVTILETONVVM_FINISH_H

#include "Lowering.h"

namespace kvc::kvtile {

/// Columns that a thread merges at a time. Widths are multiples of 8.
inline constexpr int64_t kMergedColumns = 4;

/// Emits one kvtile.finish.
class Finish {
public:
  using Value = mlir::Value;

  Finish(KernelBuilder &k, FinishOp op,
         FinishOp::GenericAdaptor<llvm::ArrayRef<mlir::ValueRange>> adaptor)
      : k(k), op(op), form(op.getForm()), tile(op.getAcc().getType()), position(k),
        item(unpackItem(adaptor.getItem())), output(adaptor.getOutput()),
        kvHead(adaptor.getKvHead()[0]), firstRow(adaptor.getFirstRow()[0]),
        partOutput(adaptor.getPartOutput()[0]), partStats(adaptor.getPartStats()[0]),
        acc(adaptor.getAcc()), max(adaptor.getMax()), sum(adaptor.getSum()),
        warps(getThreads(op) / kWarpSize), interleave(op.getInterleave().value_or(1)) {
    if (op.getLse())
      lse.emplace(adaptor.getLse());
    if (op.getSinks())
      sinks.emplace(adaptor.getSinks());
    isFinal = k.compare(KernelBuilder::Predicate::slt, item.part, k.i32(0));
    queryHeads = op.getOutput().getType().getHeads();
  }

  void emit();

private:
  bool isTransposed() const { return form == StreamForm::TokensM; }
  int64_t rows() const { return isTransposed() ? tile.getColumns() : tile.getRows(); }

  /// Stores columns of a row, which exists, from `column` on; `isFirst`: also what there
  /// is once a row. `sums.max` and `sums.sum` do not hold the sink.
  void storeColumns(const QueryRow &row, Value column, Value isFirst, const SummedRow &sums);
  void storeFinal(const QueryRow &row, Value column, Value isFirst, const SummedRow &sums);
  void storePart(const QueryRow &row, Value column, Value isFirst, const SummedRow &sums);

  // Warps that split the keys: through shared memory, in the place of the ring.
  void emitMergedWarps();
  void storeWarp();
  SummedRow mergeWarps(Value row, Value column);
  /// Emits `body` for kMergedColumns columns of the item's rows, from the `first`th of
  /// these on.
  void forColumns(Value first, Value step,
                  llvm::function_ref<void(Value row, Value column, Value isFirst)> body);
  void storeMerged(Value row, Value column, Value isFirst, const SummedRow &merged);
  // Blocks of a cluster: through shared memory, in the place of their first warps, or
  // of their ring.
  bool mayBeCluster() { return op.getCluster().has_value(); }
  void waitForReaders();
  void emitMergedBlocks();
  void storeOfColumns();
  void storeShares();
  SummedRow mergeBlocks(Value row, Value column);
  /// Bytes from one row to the next: rows of a warp's stores on different banks.
  int64_t rowBytes() const { return width() * 4 + (isTransposed() ? 16 : 32); }
  int64_t width() const { return isTransposed() ? tile.getRows() : tile.getColumns(); }
  int64_t statsOffset() const { return warps * rows() * rowBytes(); }
  int64_t blockStatsOffset() const {
    return form == StreamForm::Columns ? rows() * rowBytes()
                                       : statsOffset() + warps * rows() * 8;
  }
  /// Where columns of a row of the first warp are, and what there is once a row.
  Value columnsAt(Value row, Value column) {
    return k.toShared(k.add(k.add(k.sharedBase(), k.mul(row, rowBytes())), k.mul(column, 4)));
  }
  Value statsAt(int64_t offset, Value row) {
    return k.toShared(k.add(k.add(k.sharedBase(), offset), k.mul(row, 8)));
  }

  /// The columns side by side that a thread has of `interleave` blocks from `block` on.
  llvm::SmallVector<Value> columnsOf(const AccumulatorIndex &index, int64_t line,
                                     int64_t block);

  // Warps that hold whole rows or columns: from registers.
  void emitRegisters();
  void storeRegisters();
  llvm::SmallVector<Value> reduceSums();

  KernelBuilder &k;
  FinishOp op;
  StreamForm form;
  TileType tile;
  ThreadPosition position;
  WorkItemValues item;
  RowsValues output;
  std::optional<RowsValues> lse;
  std::optional<HeadsValues> sinks;
  Value kvHead, firstRow, partOutput, partStats, isFinal;
  mlir::ValueRange acc, max, sum;
  int64_t warps, queryHeads;
  /// Blocks of 8 columns that lie between each other: see kvtile.dot.
  int64_t interleave;
};

} // namespace kvc::kvtile

#endif // KVC_LIB_CONVERSION_KVTILETONVVM_FINISH_H
