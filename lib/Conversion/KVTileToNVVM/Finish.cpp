//===- Finish.cpp - from the warps' sums to rows of the output ------------===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Finish.h"

using namespace mlir;
using namespace kvc;
using namespace kvc::kvtile;

using Predicate = KernelBuilder::Predicate;

void Finish::storeFinal(const QueryRow &row, Value column, Value isFirst,
                        const SummedRow &sums) {
  Value sink;
  if (sinks) {
    Value offset = k.mul(k.toI64(row.head), sinks->stride);
    sink = k.loadInvariant(k.f32Type(), k.element(sinks->data, offset, 4), 4);
  }
  SummedRow divided = emitDividedRow(k, sums, sink);
  Type element = op.getOutput().getType().getElementType();
  int64_t bytes = element.getIntOrFloatBitWidth() / 8;
  k.storeRounded(divided.columns, element,
                 k.at(output.address(k, row.token, row.head, bytes),
                      k.mul(k.toI64(column), bytes)));
  if (!lse)
    return;
  k.guarded(isFirst, [&] {
    k.store(emitLogSumExp(k, divided.max, divided.sum),
            lse->address(k, row.token, row.head, 4), 4);
  });
}

void Finish::storePart(const QueryRow &row, Value column, Value isFirst,
                       const SummedRow &sums) {
  Value part = k.add(k.mul(k.toI64(item.part), op.getQueryTokens()), k.toI64(row.inItem));
  Value partRow = k.add(k.mul(part, queryHeads), k.toI64(row.head));
  Value offset = k.add(k.mul(partRow, op.getWidth()), k.toI64(column));
  k.storeRounded(sums.columns, k.f32Type(), k.element(partOutput, offset, 4));
  k.guarded(isFirst, [&] {
    k.store(k.pair(sums.max, sums.sum), k.element(partStats, partRow, 8), 8);
  });
}

void Finish::storeColumns(const QueryRow &row, Value column, Value isFirst,
                          const SummedRow &sums) {
  auto branch = scf::IfOp::create(k.b, k.loc, isFinal, /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(k.b);
  k.b.setInsertionPointToStart(branch.thenBlock());
  storeFinal(row, column, isFirst, sums);
  k.b.setInsertionPointToStart(branch.elseBlock());
  storePart(row, column, isFirst, sums);
}

//===----------------------------------------------------------------------===//
// Warps that split the keys
//===----------------------------------------------------------------------===//

void Finish::storeWarp() {
  AccumulatorIndex index(tile);
  Value warpRow = k.mul(position.warp, rows());
  // The sums are each thread's: of the lanes that share a line.
  static constexpr int64_t kOfColumn[] = {4, 8, 16}, kOfRow[] = {1, 2};
  ArrayRef<int64_t> lanes = isTransposed() ? ArrayRef(kOfColumn) : ArrayRef(kOfRow);
  Value isLeader = k.compare(Predicate::eq, isTransposed() ? position.group : position.quarter,
                             k.i32(0));
  Value base = k.sharedBase();
  for (size_t line = 0; line < sum.size(); ++line) {
    Value total = sum[line];
    for (int64_t lane : lanes)
      total = k.addF(total, k.shuffleXor(total, lane));
    Value inTile = isTransposed()
                       ? k.add(k.mul(position.quarter, 2), line / 2 * 8 + line % 2)
                       : k.add(position.group, line / 2 * 16 + line % 2 * 8);
    Value row = k.add(warpRow, inTile);
    k.guarded(isLeader, [&] {
      Value stats = k.add(k.add(base, statsOffset()), k.mul(row, 8));
      k.store(k.pair(max[line], total), k.toShared(stats), 8);
    });
    Value rowBase = k.add(base, k.mul(row, rowBytes()));
    if (isTransposed()) {
      // Value columns are rows of the tile.
      Value to = k.toShared(k.add(rowBase, k.mul(position.group, 4 * interleave)));
      for (int64_t block = 0; block < 2 * index.rows; block += interleave) {
        SmallVector<Value> columns;
        for (int64_t i = block; i < block + interleave; ++i)
          columns.push_back(acc[index.registerOf(i / 2, line / 2, i % 2, line % 2)]);
        if (interleave == 1)
          k.store(columns[0], k.at(to, block * 32), 4);
        else
          k.storeRounded(columns, k.f32Type(), k.at(to, block * 32));
      }
      continue;
    }
    Value to = k.toShared(k.add(rowBase, k.mul(position.quarter, 8 * interleave)));
    for (int64_t c = 0; c < index.columns; c += interleave) {
      SmallVector<Value> columns = columnsOf(index, line, c);
      for (size_t i = 0; i < columns.size(); i += 4) // 16 bytes are stored at once
        k.storeRounded(ArrayRef(columns).slice(i, std::min<size_t>(4, columns.size() - i)),
                       k.f32Type(), k.at(to, c * 32 + i * 4));
    }
  }
}

SmallVector<Value> Finish::columnsOf(const AccumulatorIndex &index, int64_t line,
                                     int64_t block) {
  SmallVector<Value> columns;
  for (int64_t column = 0; column < 2; ++column)
    for (int64_t c = block; c < block + interleave; ++c)
      columns.push_back(acc[index.registerOf(line / 2, c, line % 2, column)]);
  return columns;
}

SummedRow Finish::mergeWarps(Value row, Value column) {
  Value stats = statsAt(statsOffset(), row), results = columnsAt(row, column);
  SummedRow merged;
  SmallVector<Value> ofWarp;
  for (int64_t warp = 0; warp < warps; ++warp) {
    ofWarp.push_back(k.load(k.pairType(), k.at(stats, warp * rows() * 8), 8));
    Value own = k.first(ofWarp.back());
    merged.max = warp == 0 ? own : k.maxF(merged.max, own);
  }
  Value reference = emitFiniteMax(k, merged.max);
  for (int64_t warp = 0; warp < warps; ++warp) {
    Value factor = k.exp2(k.subF(k.first(ofWarp[warp]), reference));
    auto addTo = [&](Value &total, Value own) {
      Value scaled = k.mulF(own, factor);
      total = warp == 0 ? scaled : k.addF(total, scaled);
    };
    addTo(merged.sum, k.second(ofWarp[warp]));
    Value own = k.load(VectorType::get(kMergedColumns, k.f32Type()),
                       k.at(results, warp * rows() * rowBytes()), 4 * kMergedColumns);
    merged.columns.resize(kMergedColumns);
    for (auto [total, value] : llvm::zip(merged.columns, k.fromVector(own)))
      addTo(total, value);
  }
  return merged;
}

void Finish::forColumns(Value first, Value step, function_ref<void(Value, Value, Value)> body) {
  Value existing = k.sub(k.mul(item.queryCount, op.getGroup()), firstRow);
  int64_t perRow = op.getWidth() / kMergedColumns;
  Value count = k.mul(k.min(existing, k.i32(rows())), perRow);
  k.forRange(first, count, step, [&](Value index) {
    Value row = k.div(index, perRow), inRow = k.sub(index, k.mul(row, perRow));
    body(row, k.mul(inRow, kMergedColumns), k.compare(Predicate::eq, inRow, k.i32(0)));
  });
}

void Finish::storeMerged(Value row, Value column, Value isFirst, const SummedRow &merged) {
  QueryRow query = emitQueryRow(k, item, kvHead, k.add(firstRow, row), op.getGroup());
  storeColumns(query, column, isFirst, merged);
}

void Finish::emitMergedWarps() {
  // No warp may still read a tile. (No copy is under way: each was awaited by the loop
  // that read it.)
  k.barrier();
  storeWarp();
  k.barrier();
  auto storeRows = [&] {
    forColumns(position.thread, k.i32(warps * kWarpSize),
               [&](Value row, Value column, Value isFirst) {
                 storeMerged(row, column, isFirst, mergeWarps(row, column));
               });
  };
  if (mayBeCluster())
    k.guarded(k.isCluster(), [&] { emitMergedBlocks(); }, storeRows);
  else
    storeRows();
  // The next item fills the ring again.
  k.barrier();
}

//===----------------------------------------------------------------------===//
// Warps that hold whole rows or columns
//===----------------------------------------------------------------------===//

SmallVector<Value> Finish::reduceSums() {
  SmallVector<Value> totals;
  for (Value own : sum) {
    Value total = own;
    for (int64_t lane : {1, 2})
      total = k.addF(total, k.shuffleXor(total, lane));
    totals.push_back(total);
  }
  if (form == StreamForm::Columns) // each warp has summed its own keys
    emitSumOfWarps(k, position, op.getExchange(), rows(), warps, totals);
  return totals;
}

void Finish::emitRegisters() {
  auto storeBlocks = [&] {
    storeOfColumns();
    storeShares();
  };
  if (mayBeCluster())
    k.guarded(k.isCluster(), storeBlocks, [&] { storeRegisters(); });
  else
    storeRegisters();
  // The next item writes the slots of the query and of the exchange again.
  k.barrier();
}

void Finish::storeRegisters() {
  AccumulatorIndex index(tile);
  SmallVector<Value> totals = reduceSums();
  BlockOffset offset = emitBlockOffset(k, position, tile.getLayout(), tile.getWarpRows(),
                                       tile.getWarpColumns());
  Value row = k.add(firstRow, addTo(k, offset.row, position.group));
  Value column = addTo(k, offset.column, k.mul(position.quarter, 2 * interleave));
  for (size_t line = 0; line < totals.size(); ++line) {
    QueryRow query = emitQueryRow(k, item, kvHead, k.add(row, line / 2 * 16 + line % 2 * 8),
                                  op.getGroup());
    k.guarded(query.exists, [&] {
      auto branch = scf::IfOp::create(k.b, k.loc, isFinal, /*withElseRegion=*/true);
      for (bool final : {true, false}) {
        OpBuilder::InsertionGuard guard(k.b);
        k.b.setInsertionPointToStart(final ? branch.thenBlock() : branch.elseBlock());
        for (int64_t c = 0; c < index.columns; c += interleave) {
          SummedRow pair{max[line], totals[line], {}};
          llvm::append_range(pair.columns, columnsOf(index, line, c));
          Value at = k.add(column, c * 8);
          Value isFirst = k.compare(Predicate::eq, at, k.i32(0));
          auto store = [&] {
            final ? storeFinal(query, at, isFirst, pair) : storePart(query, at, isFirst, pair);
          };
          // Columns past the width are padding.
          if (tile.getColumns() > static_cast<int64_t>(op.getWidth()))
            k.guarded(k.compare(Predicate::slt, at, k.i32(op.getWidth())), store);
          else
            store();
        }
      }
    });
  }
}

void Finish::emit() {
  waitForReaders();
  if (form == StreamForm::HeadsM || form == StreamForm::TokensM)
    emitMergedWarps();
  else
    emitRegisters();
}

namespace {
struct LowerFinish final : Lowering<FinishOp> {
  using Lowering::Lowering;
  LogicalResult matchAndRewrite(FinishOp op, Adaptor adaptor, Rewriter &rewriter) const override {
    KernelBuilder k(rewriter, op.getLoc());
    Finish(k, op, adaptor).emit();
    rewriter.eraseOp(op);
    return success();
  }
};
} // namespace

void kvtile::populateFinishPatterns(TypeConverter &converter, RewritePatternSet &patterns) {
  patterns.add<LowerFinish>(converter, patterns.getContext());
}
