//===- Copies.cpp - from pages to slots -----------------------------------===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A warp copies `rowsPerPass` rows at once. Mostly each row has `lanes` threads, whose
// copies lie `lanes` apart; where they are dealt, the copies of 8 rows are counted
// through, those of padding too, and a request takes up to 32 that follow each other. A
// copy has 16 bytes, or as many as rows are aligned to. A row that is no key of the item is
// copied with size 0, which writes zeros, from an address in a page that the item does own.
//===----------------------------------------------------------------------===//
#include "Lowering.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace kvc;
using namespace kvc::kvtile;

using Predicate = KernelBuilder::Predicate;

namespace {
struct LowerSlot final : Lowering<SlotOp> {
  using Lowering::Lowering;
  LogicalResult matchAndRewrite(SlotOp op, Adaptor adaptor, Rewriter &rewriter) const override {
    KernelBuilder k(rewriter, op.getLoc());
    Value base = k.sharedBase();
    if (op.getDynamicOffset())
      base = k.add(base, adaptor.getDynamicOffset()[0]);
    rewriter.replaceOpWithMultiple(op, {SmallVector<Value>{base, k.i32(op.getOffset())}});
    return success();
  }
};

struct LowerLookup final : Lowering<LookupOp> {
  using Lowering::Lowering;
  LogicalResult matchAndRewrite(LookupOp op, Adaptor adaptor, Rewriter &rewriter) const override {
    KernelBuilder k(rewriter, op.getLoc());
    WorkItemValues item = unpackItem(adaptor.getItem());
    int64_t keys = op.getKeys(), pageSize = op.getPageSize();
    CopyPlan plan = CopyPlan::get(keys, op.getLanes(), getThreads(op), pageSize);
    ThreadPosition position(k);
    Value begin = k.mul(adaptor.getTile()[0], keys);
    Value first = begin;
    if (!plan.isTileInPage)
      first = k.add(begin, k.mul(position.warp, plan.rowsPerWarp));
    auto loadIds = [&] {
      Value table = k.element(adaptor.getPageIds()[0], item.firstPage, 4);
      SmallVector<Value> ids;
      for (int64_t i = 0; i < plan.pageIds; ++i) {
        int64_t pages = std::min(plan.pages - i * kWarpSize, kWarpSize);
        Value index = k.add(k.div(first, pageSize), i * kWarpSize);
        if (pages > 1)
          index = k.add(index, k.min(position.lane, k.i32(pages - 1)));
        // Pages before the first key and past the last one may be anybody's.
        index = k.min(k.max(index, k.div(item.kvBegin, pageSize)),
                      k.div(k.add(item.kvEnd, -1), pageSize));
        ids.push_back(k.loadInvariant(k.i32Type(), k.element(table, index, 4), 4));
      }
      return ids;
    };
    // Past the last key, which an item without keys has at 0, there may be no page.
    SmallVector<Type> types(plan.pageIds, k.i32Type());
    Value exists = k.compare(Predicate::slt, begin, item.kvEnd);
    auto branch = scf::IfOp::create(rewriter, op.getLoc(), types, exists, true);
    {
      OpBuilder::InsertionGuard guard(rewriter);
      rewriter.setInsertionPointToStart(branch.thenBlock());
      scf::YieldOp::create(rewriter, op.getLoc(), loadIds());
      rewriter.setInsertionPointToStart(branch.elseBlock());
      scf::YieldOp::create(rewriter, op.getLoc(), SmallVector<Value>(plan.pageIds, k.i32(0)));
    }
    rewriter.replaceOpWithMultiple(op, {SmallVector<Value>(branch.getResults())});
    return success();
  }
};

/// Copies of a thread in each pass: `count` of one row.
struct Share {
  Value row;   ///< Of those of the pass.
  Value first; ///< The first copy's place in the row; the others are `lanes` apart.
  int64_t count = 1;
  Value isColumn;            ///< That the only copy is no padding, if it may be.
  int64_t lanes = kWarpSize; ///< Lanes from 0 on that have it.
  /// Of each pass, the address in memory, and the bytes to copy if not all.
  SmallVector<std::pair<Value, Value>> passes;
  Value source; ///< Its address less those of page and pass, and the row's if rows of a
                ///< pass lie in several pages.
};

/// One fetch as it is emitted.
class Fetch {
public:
  Fetch(KernelBuilder &k, FetchOp op, const PagesValues &source, ValueRange ids,
        const WorkItemValues &item, Value kvHead, Value tile, const SlotValues &slot);

  /// Copies of all passes; `checked`: rows may be no key of the item.
  void emit(bool checked);
  /// The tile's keys are all of the item.
  Value isWhole();

private:
  void addRowShare();
  void addDealtShares();
  /// Number of the first copy that the request which begins with number `begin` leaves.
  int64_t endOfDealt(int64_t begin);
  void setSource(Share &share);
  /// The id of the warp's page `index`, one of those from `least` to `most`.
  Value pageId(Value index, int64_t least, int64_t most);
  Value sourceOf(int64_t pass, const Share &share);
  /// Address of copy `i` in the slot.
  Value destinationOf(int64_t pass, const Share &share, int64_t i);
  /// That the thread's row of the pass is one of the tile; null if it always is.
  Value isRow(int64_t pass, const Share &share);
  /// Computes where the copies of each pass come from.
  void prepare(Share &share, bool checked);
  /// Emits the copies of shares that as many lanes have, or fewer; the most first.
  void emitShares(ArrayRef<Share> rest, int64_t activeLanes);
  void copyRow(int64_t pass, const Share &share);
  void copy(Value to, Value from, Value bytes);

  KernelBuilder &k;
  PagesType type;
  SlotType slotType;
  ValueRange ids;
  const WorkItemValues &item;
  SlotValues slot;
  CopyPlan plan;
  const PagesValues &source;
  ThreadPosition position;
  int64_t lanes, elementBytes, copyBytes, realCopies, slotCopies, warps;
  bool isDealt;
  bool passesSharePage; ///< All rows of a pass lie in one page.
  Value warpRow, tileKey, firstKey, headBase;
  SmallVector<Share> shares;
  SmallVector<Value> offsets; ///< Of the pages that passes share, in bytes.
};
} // namespace

Fetch::Fetch(KernelBuilder &k, FetchOp op, const PagesValues &source, ValueRange ids,
             const WorkItemValues &item, Value kvHead, Value tile, const SlotValues &slot)
    : k(k), type(op.getSource().getType()), slotType(op.getSlot().getType()), ids(ids),
      item(item), slot(slot), plan(CopyPlan::get(slotType.getRows(), op.getLanes(),
                                                 getThreads(op), type.getPageSize())),
      source(source), position(k), lanes(op.getLanes()),
      elementBytes(type.getElementType().getIntOrFloatBitWidth() / 8),
      copyBytes(op.getCopyBytes()), realCopies(op.getSourceRowBytes() / copyBytes),
      slotCopies(slotType.getRowBytes() / copyBytes), warps(getThreads(op) / kWarpSize),
      isDealt(op.getDealt()) {
  passesSharePage =
      plan.isTileInPage || (plan.isAligned && type.getPageSize() % plan.rowsPerPass == 0);
  warpRow = k.mul(position.warp, plan.rowsPerWarp);
  tileKey = k.mul(tile, slotType.getRows());
  firstKey = k.add(tileKey, warpRow);
  headBase = k.at(source.data, k.mul(k.mul(k.toI64(kvHead), source.headStride), elementBytes));
  if (isDealt)
    addDealtShares();
  else
    addRowShare();
}

void Fetch::addRowShare() {
  Share share;
  share.row = k.div(position.lane, lanes);
  share.first = k.rem(position.lane, lanes);
  share.count = slotCopies / lanes;
  setSource(share);
  shares.push_back(share);
}

int64_t Fetch::endOfDealt(int64_t begin) {
  int64_t all = plan.rowsPerPass * slotCopies;
  if (begin + kWarpSize >= all)
    return all;
  // No two requests should read one sector, nor should lanes meet in a bank: what the
  // swizzle permutes stays together.
  for (int64_t unit : {slotType.getSwizzle() * 16, copyBytes})
    for (int64_t end = begin + kWarpSize; end > begin; --end) {
      int64_t real = end / slotCopies * realCopies + std::min(end % slotCopies, realCopies);
      if (real * copyBytes % kSectorBytes == 0 && end * copyBytes % unit == 0)
        return end;
    }
  return begin + kWarpSize;
}

void Fetch::addDealtShares() {
  int64_t all = plan.rowsPerPass * slotCopies, end = 0;
  for (int64_t begin = 0; begin < all; begin = end) {
    end = endOfDealt(begin);
    Share share;
    Value number = k.add(position.lane, begin);
    share.row = k.div(number, slotCopies);
    share.first = k.rem(number, slotCopies);
    if (realCopies < slotCopies)
      share.isColumn = k.compare(Predicate::slt, share.first, k.i32(realCopies));
    share.lanes = end - begin;
    setSource(share);
    shares.push_back(share);
  }
  llvm::stable_sort(shares, [](const Share &a, const Share &b) { return a.lanes > b.lanes; });
}

void Fetch::setSource(Share &share) {
  // Padding is copied from an address that is there.
  Value first = share.isColumn ? k.select(share.isColumn, share.first, k.i32(0)) : share.first;
  Value offset = k.mul(k.toI64(first), copyBytes);
  if (passesSharePage)
    offset = k.add(offset, k.mul(k.mul(k.toI64(share.row), source.tokenStride), elementBytes));
  share.source = k.at(headBase, offset);
}

Value Fetch::isWhole() {
  Value begins = k.compare(Predicate::sge, tileKey, item.kvBegin);
  Value ends = k.compare(Predicate::sle, k.add(tileKey, slotType.getRows()), item.kvEnd);
  return arith::AndIOp::create(k.b, k.loc, begins, ends);
}

Value Fetch::pageId(Value index, int64_t least, int64_t most) {
  if (plan.pages == 1)
    return ids[0];
  Value id, lane = plan.pageIds == 1 ? index : k.rem(index, kWarpSize);
  for (int64_t i = least / kWarpSize; i <= most / kWarpSize; ++i) {
    Value other = k.shuffle(ids[i], lane);
    Value isHere = id ? k.compare(Predicate::sge, index, k.i32(i * kWarpSize)) : Value();
    id = id ? k.select(isHere, other, id) : other;
  }
  return id;
}

Value Fetch::sourceOf(int64_t pass, const Share &share) {
  int64_t pageSize = type.getPageSize(), begin = pass * plan.rowsPerPass;
  Value tokenBytes = k.mul(source.tokenStride, elementBytes);
  auto pageOffset = [&](Value index, int64_t least, int64_t most) {
    return k.mul(k.toI64(pageId(index, least, most)), k.mul(source.pageStride, elementBytes));
  };
  if (passesSharePage) {
    int64_t index = plan.isTileInPage ? 0 : begin / pageSize;
    int64_t inPage = begin - index * pageSize;
    if (index == static_cast<int64_t>(offsets.size())) {
      Value offset = pageOffset(k.i32(index), index, index);
      if (pageSize > std::min<int64_t>(plan.rowsPerWarp, slotType.getRows()))
        offset = k.add(offset, k.mul(k.toI64(k.rem(firstKey, pageSize)), tokenBytes));
      offsets.push_back(offset);
    }
    Value page = k.at(share.source, offsets[index]);
    return inPage == 0 ? page : k.at(page, k.mul(tokenBytes, inPage));
  }
  // Rows of the warp, or keys where pages do not begin with the warp's first row.
  Value row = k.add(share.row, begin), index = k.div(row, pageSize);
  if (!plan.isAligned) {
    row = k.add(firstKey, row);
    index = k.sub(k.div(row, pageSize), k.div(firstKey, pageSize));
  }
  int64_t most = (begin + plan.rowsPerPass - 1) / pageSize + !plan.isAligned;
  Value page =
      k.at(share.source, pageOffset(index, begin / pageSize, std::min(most, plan.pages - 1)));
  return k.at(page, k.mul(k.toI64(k.rem(row, pageSize)), tokenBytes));
}

Value Fetch::destinationOf(int64_t pass, const Share &share, int64_t i) {
  int64_t begin = pass * plan.rowsPerPass;
  Value row = k.add(warpRow, share.row);
  if (slotType.isLinear()) {
    Value place = k.mul(k.add(share.first, i * lanes), copyBytes);
    Value address = k.add(k.add(slot.base, k.mul(row, slotType.getRowBytes())), place);
    return k.at(k.toShared(address), slot.offset + begin * slotType.getRowBytes());
  }
  // The permutation repeats every 8 rows.
  int64_t repeated = begin / 8 * 8 * slotType.getRowBytes();
  row = k.add(row, begin % 8);
  if (copyBytes == 16 && !isDealt) // low bits, which a swizzle changes, stay
    return k.at(emitChunkPointer(k, slotType, slot, row, share.first),
                i * lanes * 16 + repeated);
  Value place = k.mul(k.add(share.first, i * lanes), copyBytes);
  Value chunk = emitChunkPointer(k, slotType, slot, row, k.div(place, 16));
  return k.at(k.at(chunk, k.rem(place, 16)), repeated);
}

Value Fetch::isRow(int64_t pass, const Share &share) {
  int64_t begin = pass * plan.rowsPerPass, rows = slotType.getRows();
  if ((warps - 1) * plan.rowsPerWarp + begin + plan.rowsPerPass <= rows)
    return Value();
  return k.compare(Predicate::slt, k.add(warpRow, share.row), k.i32(rows - begin));
}

void Fetch::copy(Value to, Value from, Value bytes) {
  if (copyBytes >= 4)
    return k.copyAsync(to, from, bytes, copyBytes);
  // Copies of 2 bytes are none: the thread takes them through a register.
  Type half = k.b.getIntegerType(16);
  Value loaded = k.load(half, from, 2);
  if (bytes)
    loaded = k.select(k.compare(Predicate::ne, bytes, k.i32(0)), loaded,
                      arith::ConstantOp::create(k.b, k.loc, k.b.getIntegerAttr(half, 0)));
  k.store(loaded, to, 2);
}

void Fetch::copyRow(int64_t pass, const Share &share) {
  auto [from, bytes] = share.passes[pass];
  for (int64_t i = 0; i < share.count; ++i) {
    Value isColumn = share.isColumn;
    bool mayBePadding = !isDealt && (i + 1) * lanes > realCopies;
    if (mayBePadding)
      isColumn = k.compare(Predicate::slt, k.add(share.first, i * lanes), k.i32(realCopies));
    Value some = bytes;
    if (isColumn)
      some = k.select(isColumn, bytes ? bytes : k.i32(copyBytes), k.i32(0));
    Value offset = k.i64(i * lanes * copyBytes);
    if (mayBePadding) // from an address that is there
      offset = k.select(isColumn, offset, k.mul(k.toI64(share.first), -copyBytes));
    copy(destinationOf(pass, share, i), k.at(from, offset), some);
  }
}

void Fetch::prepare(Share &share, bool checked) {
  // As unsigned numbers: kvBegin <= token < kvEnd.
  Value distance = k.sub(firstKey, item.kvBegin), length = k.sub(item.kvEnd, item.kvBegin);
  share.passes.clear();
  for (int64_t pass = 0; pass < plan.rowsPerWarp / plan.rowsPerPass; ++pass) {
    // Outside of any branch: all lanes take part in the shuffles of page ids.
    Value from = sourceOf(pass, share), bytes;
    if (checked) {
      Value key = k.add(k.add(distance, share.row), pass * plan.rowsPerPass);
      bytes = k.select(k.compare(Predicate::ult, key, length), k.i32(copyBytes), k.i32(0));
    }
    share.passes.emplace_back(from, bytes);
  }
}

void Fetch::emitShares(ArrayRef<Share> rest, int64_t activeLanes) {
  for (; !rest.empty() && rest.front().lanes == activeLanes; rest = rest.drop_front()) {
    const Share &share = rest.front();
    for (int64_t pass = 0, passes = share.passes.size(); pass < passes; ++pass) {
      auto copyPass = [&] { copyRow(pass, share); };
      if (Value isInTile = isRow(pass, share))
        k.guarded(isInTile, copyPass);
      else
        copyPass();
    }
  }
  if (rest.empty())
    return;
  // Those of fewer lanes within: of branches side by side LLVM makes one, and halves of
  // the warp would make the copies in between.
  int64_t lanes = rest.front().lanes;
  k.guarded(k.compare(Predicate::slt, position.lane, k.i32(lanes)),
            [&] { emitShares(rest, lanes); });
}

void Fetch::emit(bool checked) {
  offsets.clear();
  for (Share &share : shares)
    prepare(share, checked);
  emitShares(shares, kWarpSize);
}

namespace {
struct LowerFetch final : Lowering<FetchOp> {
  using Lowering::Lowering;
  LogicalResult matchAndRewrite(FetchOp op, Adaptor adaptor, Rewriter &rewriter) const override {
    KernelBuilder k(rewriter, op.getLoc());
    PagesValues source(adaptor.getSource());
    WorkItemValues item = unpackItem(adaptor.getItem());
    Fetch fetch(k, op, source, adaptor.getIds(), item, adaptor.getKvHead()[0],
                adaptor.getTile()[0], SlotValues(k, adaptor.getSlot()));
    auto branch = scf::IfOp::create(rewriter, op.getLoc(), fetch.isWhole(), true);
    {
      OpBuilder::InsertionGuard guard(rewriter);
      rewriter.setInsertionPointToStart(branch.thenBlock());
      fetch.emit(/*checked=*/false);
      rewriter.setInsertionPointToStart(branch.elseBlock());
      fetch.emit(/*checked=*/true);
    }
    rewriter.eraseOp(op);
    return success();
  }
};

struct LowerCommit final : Lowering<CommitOp> {
  using Lowering::Lowering;
  LogicalResult matchAndRewrite(CommitOp op, Adaptor, Rewriter &rewriter) const override {
    rewriter.replaceOpWithNewOp<NVVM::CpAsyncCommitGroupOp>(op);
    return success();
  }
};

struct LowerWait final : Lowering<WaitOp> {
  using Lowering::Lowering;
  LogicalResult matchAndRewrite(WaitOp op, Adaptor, Rewriter &rewriter) const override {
    rewriter.replaceOpWithNewOp<NVVM::CpAsyncWaitGroupOp>(op, op.getPending());
    return success();
  }
};

struct LowerBarrier final : Lowering<BarrierOp> {
  using Lowering::Lowering;
  LogicalResult matchAndRewrite(BarrierOp op, Adaptor, Rewriter &rewriter) const override {
    rewriter.replaceOpWithNewOp<NVVM::Barrier0Op>(op);
    return success();
  }
};
} // namespace

void kvtile::populateCopyPatterns(TypeConverter &converter, RewritePatternSet &patterns) {
  patterns.add<LowerSlot, LowerLookup, LowerFetch, LowerCommit, LowerWait, LowerBarrier>(
      converter, patterns.getContext());
}
