//===- Rows.cpp - work items, addresses and query rows --------------------===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Lowering.h"

#include <limits>

using namespace mlir;
using namespace kvc;
using namespace kvc::kvtile;

using Predicate = KernelBuilder::Predicate;

namespace {
struct LowerWorkItem final : Lowering<WorkItemOp> {
  using Lowering::Lowering;
  LogicalResult matchAndRewrite(WorkItemOp op, Adaptor adaptor, Rewriter &rewriter) const override {
    WorkItemValues item =
        emitLoadWorkItem(rewriter, op.getLoc(), adaptor.getItems()[0], adaptor.getIndex()[0]);
    SmallVector<Value> fields = {item.queryBegin, item.queryCount, item.queryPos,
                                 item.kvBegin,    item.kvEnd,      item.part,
                                 item.firstRank,  item.numRanks,   item.firstPage};
    rewriter.replaceOpWithMultiple(op, {fields});
    return success();
  }
};

struct LowerTileRange final : Lowering<TileRangeOp> {
  using Lowering::Lowering;
  LogicalResult matchAndRewrite(TileRangeOp op, Adaptor adaptor,
                                Rewriter &rewriter) const override {
    KernelBuilder k(rewriter, op.getLoc());
    WorkItemValues item = unpackItem(adaptor.getItem());
    Value begin = k.div(item.kvBegin, op.getKeys());
    Value end = k.div(k.add(item.kvEnd, op.getKeys() - 1), op.getKeys());
    rewriter.replaceOp(op, ValueRange{begin, end});
    return success();
  }
};

struct LowerRowBlock final : Lowering<RowBlockOp> {
  using Lowering::Lowering;
  LogicalResult matchAndRewrite(RowBlockOp op, Adaptor, Rewriter &rewriter) const override {
    KernelBuilder k(rewriter, op.getLoc());
    Value block = k.blockIdX();
    Value row = op.getBlocks() == 1 ? k.i32(0)
                                    : k.mul(k.rem(block, op.getBlocks()), op.getRows());
    rewriter.replaceOp(op, ValueRange{k.div(block, op.getBlocks()), row});
    return success();
  }
};

static int64_t getElementBytes(Type element) { return element.getIntOrFloatBitWidth() / 8; }

struct LowerRow final : Lowering<RowOp> {
  using Lowering::Lowering;
  LogicalResult matchAndRewrite(RowOp op, Adaptor adaptor, Rewriter &rewriter) const override {
    KernelBuilder k(rewriter, op.getLoc());
    int64_t bytes = getElementBytes(op.getSource().getType().getElementType());
    rewriter.replaceOp(op, RowsValues(adaptor.getSource())
                               .address(k, adaptor.getToken()[0], adaptor.getHead()[0], bytes));
    return success();
  }
};

struct LowerPageRow final : Lowering<PageRowOp> {
  using Lowering::Lowering;
  LogicalResult matchAndRewrite(PageRowOp op, Adaptor adaptor, Rewriter &rewriter) const override {
    KernelBuilder k(rewriter, op.getLoc());
    PagesType type = op.getSource().getType();
    PagesValues pages(adaptor.getSource());
    Value slot = adaptor.getSlot()[0];
    Value page = k.div(slot, type.getPageSize());
    Value token = k.sub(slot, k.mul(page, type.getPageSize()));
    Value offset = k.add(k.mul(page, pages.pageStride), k.mul(token, pages.tokenStride));
    offset = k.add(offset, k.mul(k.toI64(adaptor.getHead()[0]), pages.headStride));
    rewriter.replaceOp(op, k.element(pages.data, offset, getElementBytes(type.getElementType())));
    return success();
  }
};

struct LowerHead final : Lowering<HeadOp> {
  using Lowering::Lowering;
  LogicalResult matchAndRewrite(HeadOp op, Adaptor adaptor, Rewriter &rewriter) const override {
    KernelBuilder k(rewriter, op.getLoc());
    HeadsValues heads(adaptor.getSource());
    Value offset = k.mul(k.toI64(adaptor.getHead()[0]), heads.stride);
    int64_t bytes = getElementBytes(op.getSource().getType().getElementType());
    rewriter.replaceOp(op, k.element(heads.data, offset, bytes));
    return success();
  }
};

/// Loads two neighbouring 16-bit columns of a row, or zeros.
class PairLoader {
public:
  PairLoader(KernelBuilder &k, const RowsValues &rows, const QueryRow &row, int64_t width)
      : k(k), row(row), width(width), base(rows.address(k, row.token, row.head, 2)) {}

  /// The pair at `column` + `constant`, where `column` (i32, below 8) is even. What
  /// does not exist is read from where something is, and dropped.
  Value load(Value column, int64_t constant) {
    if (constant >= width)
      return k.i32(0);
    Value exists = row.exists, offset = k.add(column, constant);
    if (constant + 8 > width) {
      Value isColumn = k.compare(Predicate::slt, offset, k.i32(width));
      exists = arith::AndIOp::create(k.b, k.loc, exists, isColumn);
      offset = k.select(isColumn, offset, k.i32(0));
      Value address = k.at(base, k.mul(k.toI64(offset), 2));
      return k.select(exists, k.load(k.i32Type(), address, 4), k.i32(0));
    }
    Value address = k.at(k.at(base, k.mul(k.toI64(column), 2)), constant * 2);
    return k.select(exists, k.load(k.i32Type(), address, 4), k.i32(0));
  }

private:
  KernelBuilder &k;
  const QueryRow &row;
  int64_t width;
  Value base;
};

struct LowerLoadRows final : Lowering<LoadRowsOp> {
  using Lowering::Lowering;
  LogicalResult matchAndRewrite(LoadRowsOp op, Adaptor adaptor, Rewriter &rewriter) const override {
    KernelBuilder k(rewriter, op.getLoc());
    ThreadPosition position(k);
    TileType tile = op.getTile().getType();
    WorkItemValues item = unpackItem(adaptor.getItem());
    RowsValues source(adaptor.getSource());
    int64_t width = op.getSource().getType().getWidth();
    bool isA = tile.getLayout().getAtom() == Atom::MmaA;
    int64_t rowAtoms = isA ? tile.getWarpRows() / 8 : tile.getWarpColumns() / 8; // of 8 rows
    int64_t steps = (isA ? tile.getWarpColumns() : tile.getWarpRows()) / 16;
    BlockOffset offset = emitBlockOffset(k, position, tile.getLayout(), tile.getWarpRows(),
                                         tile.getWarpColumns());
    Value first = addTo(k, isA ? offset.row : offset.column, adaptor.getFirstRow()[0]);
    Value column = k.mul(position.quarter, 2);
    SmallVector<Value> registers(tile.getNumRegisters());
    for (int64_t atom = 0; atom < rowAtoms; ++atom) {
      Value row = k.add(k.add(first, position.group), atom * 8);
      QueryRow query =
          emitQueryRow(k, item, adaptor.getKvHead()[0], row, op.getGroup());
      PairLoader loader(k, source, query, width);
      for (int64_t step = 0; step < steps; ++step)
        for (int64_t half = 0; half < 2; ++half) {
          // mma_a: registers (columns half) * 2 + (rows half); mma_b: (columns half).
          int64_t index = isA ? ((atom / 2) * steps + step) * 4 + half * 2 + atom % 2
                              : (step * rowAtoms + atom) * 2 + half;
          registers[index] = loader.load(column, step * 16 + half * 8);
        }
    }
    rewriter.replaceOpWithMultiple(op, {registers});
    return success();
  }
};

/// Two neighbouring 16-bit elements of `from` as two f16.
static Value emitHalfPair(KernelBuilder &k, Value bits, Type from) {
  if (from.isF16())
    return bits;
  Value pair = LLVM::BitcastOp::create(k.b, k.loc, VectorType::get(2, from), bits);
  Value wide = arith::ExtFOp::create(k.b, k.loc, k.pairType(), pair);
  return k.packPair(k.first(wide), k.second(wide), k.b.getF16Type());
}

/// The two low or high halves of two registers.
static Value emitHalves(KernelBuilder &k, Value first, Value second, bool high) {
  return NVVM::PermuteOp::create(k.b, k.loc, k.i32Type(), first, second,
                                 k.i32(high ? 0x7632 : 0x5410), NVVM::PermuteMode::DEFAULT);
}

/// Stores chunk `chunk` (8 columns, as four pairs) of a row that is multiplied with codes
/// of `bits` bits: see kvtile.stage_rows.
static void emitStoreForCodes(KernelBuilder &k, SlotType type, const SlotValues &slot, Value row,
                              Value chunk, ArrayRef<Value> pairs, int64_t bits) {
  if (bits == 8) {
    // Columns 8 h + 2 w of 16: t = 2 h + w / 2, i = w % 2.
    Value block = k.mul(k.div(chunk, 2), 2), half = k.rem(chunk, 2);
    for (int64_t i = 0; i < 2; ++i)
      k.store(k.toVector({pairs[i], pairs[i + 2]}),
              k.at(emitChunkPointer(k, type, slot, row, k.add(block, i)), k.mul(half, 8)), 8);
    return;
  }
  // Columns 8 t of 32: place 8 i + 2 t + j has column i + 4 j of these.
  Value block = k.mul(k.div(chunk, 4), 4), t = k.rem(chunk, 4);
  for (int64_t i = 0; i < 4; ++i)
    k.store(emitHalves(k, pairs[i / 2], pairs[i / 2 + 2], i % 2 != 0),
            k.at(emitChunkPointer(k, type, slot, row, k.add(block, i)), k.mul(t, 4)), 4);
}

/// Which rows of a query block each thread block of a cluster stages: of as many as a power
/// of two, in turn.
class RowShares {
public:
  RowShares(KernelBuilder &k, const WorkItemValues &item)
      : k(k), firstRank(item.firstRank), own(k.sub(k.clusterRank(), item.firstRank)) {
    Value zeros = LLVM::CountLeadingZerosOp::create(k.b, k.loc, k.i32Type(), item.numRanks,
                                                    /*is_zero_poison=*/false);
    mask =
        arith::ShRUIOp::create(k.b, k.loc, k.i32(std::numeric_limits<int32_t>::max()), zeros);
  }
  /// The rank, in the cluster, of the one that stages `row`.
  Value rankOf(Value row) { return k.add(firstRank, shareOf(row)); }
  Value isOwn(Value row) { return k.compare(Predicate::eq, shareOf(row), own); }
  Value isOther(Value row) { return k.compare(Predicate::ne, shareOf(row), own); }

private:
  Value shareOf(Value row) { return arith::AndIOp::create(k.b, k.loc, row, mask); }

  KernelBuilder &k;
  Value firstRank, own, mask;
};

struct LowerStageRows final : Lowering<StageRowsOp> {
  using Lowering::Lowering;
  LogicalResult matchAndRewrite(StageRowsOp op, Adaptor adaptor,
                                Rewriter &rewriter) const override {
    KernelBuilder k(rewriter, op.getLoc());
    SlotType slot = op.getSlot().getType();
    WorkItemValues item = unpackItem(adaptor.getItem());
    RowsValues source(adaptor.getSource());
    int64_t width = op.getSource().getType().getWidth(), chunks = slot.getChunks();
    std::optional<RowShares> shares;
    if (op.getShared())
      shares.emplace(k, item);
    // A thread takes one chunk of columns at a time; what does not exist is zero, and what
    // is not its own will be gathered.
    Type chunkType = VectorType::get(4, k.i32Type());
    auto stage = [&](Value index) {
      Value row = k.div(index, chunks), chunk = k.rem(index, chunks);
      QueryRow query = emitQueryRow(k, item, adaptor.getKvHead()[0],
                                    k.add(adaptor.getFirstRow()[0], row), op.getGroup());
      Value exists = query.exists;
      auto mustBe = [&](Value condition) {
        exists = arith::AndIOp::create(rewriter, op.getLoc(), exists, condition);
      };
      if (width < slot.getColumns())
        mustBe(k.compare(Predicate::slt, chunk, k.i32(width / 8)));
      if (shares)
        mustBe(shares->isOwn(row));
      auto loaded = scf::IfOp::create(rewriter, op.getLoc(), chunkType, exists, true);
      {
        OpBuilder::InsertionGuard guard(rewriter);
        rewriter.setInsertionPointToStart(loaded.thenBlock());
        Value from = k.element(source.address(k, query.token, query.head, 2), chunk, 16);
        scf::YieldOp::create(rewriter, op.getLoc(), k.load(chunkType, from, 16));
        rewriter.setInsertionPointToStart(loaded.elseBlock());
        scf::YieldOp::create(rewriter, op.getLoc(),
                             k.toVector(SmallVector<Value>(4, k.i32(0))));
      }
      SlotValues to(k, adaptor.getSlot());
      if (std::optional<int64_t> bits = op.getForCodes()) {
        SmallVector<Value> pairs;
        for (Value pair : k.fromVector(loaded.getResult(0)))
          pairs.push_back(emitHalfPair(k, pair, op.getSource().getType().getElementType()));
        return emitStoreForCodes(k, slot, to, row, chunk, pairs, *bits);
      }
      k.store(loaded.getResult(0), emitChunkPointer(k, slot, to, row, chunk), 16);
    };
    k.forRange(k.threadId(), k.i32(slot.getRows() * chunks), k.i32(getThreads(op)), stage);
    rewriter.eraseOp(op);
    return success();
  }
};

struct LowerGatherRows final : Lowering<GatherRowsOp> {
  using Lowering::Lowering;
  LogicalResult matchAndRewrite(GatherRowsOp op, Adaptor adaptor,
                                Rewriter &rewriter) const override {
    KernelBuilder k(rewriter, op.getLoc());
    WorkItemValues item = unpackItem(adaptor.getItem());
    Value threads = k.i32(getThreads(op));
    Value existing = k.sub(k.mul(item.queryCount, op.getGroup()), adaptor.getFirstRow()[0]);
    auto gather = [&](SlotType type, const SlotValues &slot, RowShares &shares) {
      Value end = k.mul(k.min(existing, k.i32(type.getRows())), type.getChunks());
      k.forRange(k.threadId(), end, threads, [&](Value index) {
        Value row = k.div(index, type.getChunks()), chunk = k.rem(index, type.getChunks());
        Value at = emitChunkPointer(k, type, slot, row, chunk);
        k.guarded(shares.isOther(row), [&] {
          Value from = k.inCluster(at, shares.rankOf(row));
          k.store(k.load(VectorType::get(4, k.i32Type()), from, 16), at, 16);
        });
      });
    };
    k.guarded(k.isCluster(), [&] {
      k.clusterBarrier();
      RowShares shares(k, item);
      for (auto [slot, values] : llvm::zip(op.getSlots(), adaptor.getSlots()))
        gather(cast<SlotType>(slot.getType()), SlotValues(k, values), shares);
      // See kvtile.finish, which waits for the others to have come here.
      k.clusterArrive();
    });
    rewriter.eraseOp(op);
    return success();
  }
};
} // namespace

void kvtile::populateRowPatterns(TypeConverter &converter, RewritePatternSet &patterns) {
  patterns.add<LowerWorkItem, LowerTileRange, LowerRowBlock, LowerRow, LowerPageRow, LowerHead,
               LowerLoadRows, LowerStageRows, LowerGatherRows>(converter,
                                                               patterns.getContext());
}
