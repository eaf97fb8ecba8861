//===- Copies.cpp - from pages to slots -----------------------------------===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Thread t copies `chunksPerLane` chunks, `lanes` apart, of row t / lanes + pass *
// rowsPerPass. Chunks have 16 bytes, or those of one copy where rows are not aligned to
// 16. A row that is no key of the item is copied with size 0, which writes
// zeros, from an address in a page that the item does own.
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
    Value first = k.mul(adaptor.getTile()[0], keys);
    if (!plan.sharesPages)
      first = k.add(first, k.div(k.threadId(), plan.lanes));
    Value table = k.element(adaptor.getPageIds()[0], item.firstPage, 4);
    auto load = [&](Value address) { return k.loadInvariant(k.i32Type(), address, 4); };
    auto loadEach = [&] {
      SmallVector<Value> ids;
      for (int64_t i = 0; i < plan.pageIds; ++i) {
        Value token = k.add(first, i * (plan.sharesPages ? pageSize : plan.rowsPerPass));
        // Pages before the first key and past the last one may be anybody's.
        token = k.min(k.max(token, item.kvBegin), k.add(item.kvEnd, -1));
        ids.push_back(load(k.element(table, k.div(token, pageSize), 4)));
      }
      return ids;
    };
    auto loadAtOnce = [&] {
      // Each lane loads one, so that a warp reads them at once; likewise clamped.
      int64_t count = keys / pageSize;
      Value lane = k.bitAnd(k.threadId(), llvm::PowerOf2Ceil(count) - 1);
      Value index = k.add(k.mul(adaptor.getTile()[0], count), lane);
      index = k.min(k.max(index, k.div(item.kvBegin, pageSize)),
                    k.div(k.add(item.kvEnd, -1), pageSize));
      Value own = load(k.element(table, index, 4));
      SmallVector<Value> ids;
      for (int64_t i = 0; i < plan.pageIds; ++i)
        ids.push_back(k.shuffle(own, i));
      return ids;
    };
    auto loadIds = [&] {
      // The ids of a tile of whole pages lie side by side.
      if (!plan.sharesPages || pageSize > keys || plan.pageIds == 1 || plan.pageIds > kWarpSize)
        return loadEach();
      return loadAtOnce();
    };
    // Past the last key, which an item without keys has at 0, there may be no page.
    SmallVector<Type> types(plan.pageIds, k.i32Type());
    Value exists = k.compare(Predicate::slt, k.mul(adaptor.getTile()[0], keys), item.kvEnd);
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

/// One fetch as it is emitted.
class Fetch {
public:
  Fetch(KernelBuilder &k, FetchOp op, const PagesValues &source, ValueRange ids,
        const WorkItemValues &item, Value kvHead, Value tile, const SlotValues &slot)
      : k(k), type(op.getSource().getType()), slotType(op.getSlot().getType()), ids(ids),
        item(item), slot(slot),
        plan(CopyPlan::get(slotType.getRows(), op.getLanes(), getThreads(op),
                           type.getPageSize())),
        source(source), elementBytes(type.getElementType().getIntOrFloatBitWidth() / 8),
        copyBytes(op.getCopyBytes()) {
    plan.chunksPerLane = slotType.getRowBytes() / copyBytes / plan.lanes;
    Value thread = k.threadId();
    row = k.div(thread, plan.lanes);
    chunk = k.rem(thread, plan.lanes);
    firstKey = k.mul(tile, slotType.getRows());
    Value offset = k.mul(k.toI64(kvHead), source.headStride);
    if (plan.sharesPages)
      offset = k.add(offset, k.mul(k.toI64(row), source.tokenStride));
    offset = k.add(k.mul(offset, elementBytes), k.mul(k.toI64(chunk), copyBytes));
    base = k.at(source.data, offset);
  }

  /// Copies of all passes; `checked`: rows may be no key of the item.
  void emit(bool checked);
  /// The tile's keys are all of the item.
  Value isWhole();

private:
  Value sourceOf(int64_t pass);
  /// Address of the thread's first chunk, and how the swizzle goes on from there.
  Value destinationOf(int64_t pass);
  /// Address of its chunk `i`, if chunks have not 16 bytes or rows no gaps.
  Value smallDestinationOf(int64_t pass, int64_t i);
  void copy(Value to, Value from, Value bytes);

  KernelBuilder &k;
  PagesType type;
  SlotType slotType;
  ValueRange ids;
  const WorkItemValues &item;
  SlotValues slot;
  CopyPlan plan;
  const PagesValues &source;
  int64_t elementBytes, copyBytes;
  Value row, chunk, firstKey, base;
};
} // namespace

Value Fetch::isWhole() {
  Value begins = k.compare(Predicate::sge, firstKey, item.kvBegin);
  Value ends = k.compare(Predicate::sle, k.add(firstKey, slotType.getRows()), item.kvEnd);
  return arith::AndIOp::create(k.b, k.loc, begins, ends);
}

Value Fetch::sourceOf(int64_t pass) {
  Value page = k.mul(k.toI64(ids[pass / plan.passesPerPage]), k.mul(source.pageStride, elementBytes));
  Value address = k.at(base, page);
  int64_t pageSize = type.getPageSize(), keys = slotType.getRows();
  if (plan.sharesPages && pageSize <= keys) {
    int64_t inPage = pass % plan.passesPerPage * plan.rowsPerPass;
    return inPage == 0 ? address : k.at(address, k.mul(source.tokenStride, elementBytes * inPage));
  }
  Value token = k.add(firstKey, pass * plan.rowsPerPass);
  if (!plan.sharesPages)
    token = k.add(token, row);
  Value inPage = k.mul(k.toI64(k.rem(token, pageSize)), k.mul(source.tokenStride, elementBytes));
  return k.at(address, inPage);
}

Value Fetch::destinationOf(int64_t pass) {
  // The permutation repeats every 8 rows.
  if (plan.rowsPerPass % 8 == 0 || slotType.getSwizzle() == 1)
    return k.at(emitChunkPointer(k, slotType, slot, row, chunk),
                pass * plan.rowsPerPass * slotType.getRowBytes());
  return emitChunkPointer(k, slotType, slot, k.add(row, pass * plan.rowsPerPass), chunk);
}

Value Fetch::smallDestinationOf(int64_t pass, int64_t i) {
  Value place = k.add(row, pass * plan.rowsPerPass);
  Value offset = k.mul(k.add(chunk, i * plan.lanes), copyBytes);
  if (slotType.isLinear()) {
    Value address = k.add(slot.base, k.add(k.mul(place, slotType.getRowBytes()), offset));
    return k.at(k.toShared(address), slot.offset);
  }
  return k.at(emitChunkPointer(k, slotType, slot, place, k.div(offset, 16)),
              k.rem(offset, 16));
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

void Fetch::emit(bool checked) {
  int64_t realChunks = type.getWidth() * elementBytes / copyBytes;
  bool isSmall = copyBytes != 16 || slotType.isLinear();
  // As unsigned numbers: kvBegin <= token < kvEnd.
  Value distance = k.sub(k.add(firstKey, row), item.kvBegin);
  Value length = k.sub(item.kvEnd, item.kvBegin);
  for (int64_t pass = 0; pass < plan.passes; ++pass) {
    auto copyPass = [&] {
      Value bytes;
      if (checked) {
        Value isKey = k.compare(Predicate::ult, k.add(distance, pass * plan.rowsPerPass), length);
        bytes = k.select(isKey, k.i32(copyBytes), k.i32(0));
      }
      Value from = sourceOf(pass), to = isSmall ? Value() : destinationOf(pass);
      for (int64_t i = 0; i < plan.chunksPerLane; ++i) {
        // Lanes are a power of two up to 8, so chunks that are lanes * i apart keep
        // the low bits that the swizzle changes; it has whole groups of so many.
        Value target = isSmall ? smallDestinationOf(pass, i) : k.at(to, i * plan.lanes * 16);
        int64_t last = (i + 1) * plan.lanes - 1;
        if (last < realChunks) {
          copy(target, k.at(from, i * plan.lanes * copyBytes), bytes);
          continue;
        }
        // Columns past the width: zeros, from an address that is there.
        Value isColumn = k.compare(Predicate::slt, k.add(chunk, i * plan.lanes),
                                   k.i32(realChunks));
        Value some = k.select(isColumn, bytes ? bytes : k.i32(copyBytes), k.i32(0));
        Value offset = k.select(isColumn, k.i64(i * plan.lanes * copyBytes), k.i64(0));
        Value start = k.select(isColumn, k.i64(0), k.mul(k.toI64(chunk), -copyBytes));
        copy(target, k.at(from, k.add(offset, start)), some);
      }
    };
    int64_t rows = slotType.getRows();
    if ((pass + 1) * plan.rowsPerPass <= rows) {
      copyPass();
      continue;
    }
    Value isRow = k.compare(Predicate::slt, row, k.i32(rows - pass * plan.rowsPerPass));
    k.guarded(isRow, copyPass);
  }
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
