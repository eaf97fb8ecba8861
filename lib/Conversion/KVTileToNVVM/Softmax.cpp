//===- Softmax.cpp - the online softmax on tiles --------------------------===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Lowering.h"

using namespace mlir;
using namespace kvc;
using namespace kvc::kvtile;

using Predicate = KernelBuilder::Predicate;

namespace {
/// The lines of a tile of scores, rows or columns, that share one softmax; those of a
/// thread ascend as the registers of a vec do.
struct Lines {
  Lines(TileType type, int64_t keysAxis) : index(type), keysAxis(keysAxis) {}
  int64_t count() const { return 2 * (keysAxis == 0 ? index.columns : index.rows); }
  /// Registers of line `line`.
  SmallVector<int64_t> registers(int64_t line) const {
    SmallVector<int64_t> result;
    for (int64_t atom = 0; atom < (keysAxis == 0 ? index.rows : index.columns); ++atom)
      for (int64_t i = 0; i < 2; ++i)
        result.push_back(keysAxis == 0 ? index.registerOf(atom, line / 2, i, line % 2)
                                       : index.registerOf(line / 2, atom, line % 2, i));
    return result;
  }
  /// Lanes apart whose elements are of the same line.
  ArrayRef<int64_t> lanes() const {
    static constexpr int64_t kOfColumn[] = {4, 8, 16}, kOfRow[] = {1, 2};
    return keysAxis == 0 ? ArrayRef<int64_t>(kOfColumn) : ArrayRef<int64_t>(kOfRow);
  }

  AccumulatorIndex index;
  int64_t keysAxis;
};

struct LowerSoftmaxStep final : Lowering<SoftmaxStepOp> {
  using Lowering::Lowering;
  LogicalResult matchAndRewrite(SoftmaxStepOp op, Adaptor adaptor,
                                Rewriter &rewriter) const override;
};
} // namespace

/// Replaces the maxima of each warp's keys by those of all warps, through shared memory
/// at `offset`. The lines are rows, of which every warp has all.
static void emitExchangeMaxima(KernelBuilder &k, int64_t offset, int64_t warps,
                               MutableArrayRef<Value> maxima) {
  ThreadPosition position(k);
  int64_t rows = maxima.size() * 8;
  Value base = k.add(k.sharedBase(), offset);
  Value own = k.toShared(k.add(
      base, k.mul(k.add(k.mul(position.warp, rows), position.group), sizeof(float))));
  auto rowOf = [](int64_t line) { return line / 2 * 16 + line % 2 * 8; };
  k.guarded(k.compare(Predicate::eq, position.quarter, k.i32(0)), [&] {
    for (auto [line, max] : llvm::enumerate(maxima))
      k.store(max, k.at(own, rowOf(line) * sizeof(float)), 4);
  });
  k.barrier();
  Value all = k.toShared(k.add(base, k.mul(position.group, sizeof(float))));
  for (auto [line, max] : llvm::enumerate(maxima))
    for (int64_t warp = 0; warp < warps; ++warp) {
      int64_t bytes = (warp * rows + rowOf(line)) * sizeof(float);
      max = k.maxF(max, k.load(k.f32Type(), k.at(all, bytes), 4));
    }
}

LogicalResult LowerSoftmaxStep::matchAndRewrite(SoftmaxStepOp op, Adaptor adaptor,
                                                Rewriter &rewriter) const {
  KernelBuilder k(rewriter, op.getLoc());
  Lines lines(op.getScores().getType(), op.getKeysAxis());
  SmallVector<Value> scores(adaptor.getScores());
  Value scale = k.f32(op.getScale().convertToDouble());

  SmallVector<Value> maxima;
  for (int64_t line = 0; line < lines.count(); ++line) {
    Value max;
    for (int64_t i : lines.registers(line))
      max = max ? k.maxF(max, scores[i]) : scores[i];
    for (int64_t lanes : lines.lanes())
      max = k.maxF(max, k.shuffleXor(max, lanes));
    maxima.push_back(max);
  }
  if (std::optional<int64_t> exchange = op.getExchange())
    emitExchangeMaxima(k, *exchange, op.getScores().getType().getLayout().getWarpColumns(),
                       maxima);

  SmallVector<Value> newMax, newSum, factors;
  for (int64_t line = 0; line < lines.count(); ++line) {
    Value old = adaptor.getMax()[line];
    // Maxima are of scaled scores; the scale is positive.
    Value max = k.maxF(old, k.mulF(maxima[line], scale));
    Value reference = emitFiniteMax(k, max);
    Value factor = k.exp2(k.subF(old, reference));
    Value sum = k.mulF(adaptor.getSum()[line], factor);
    for (int64_t i : lines.registers(line)) {
      scores[i] = k.exp2(k.subF(k.mulF(scores[i], scale), reference));
      sum = k.addF(sum, scores[i]);
    }
    newMax.push_back(max);
    newSum.push_back(sum);
    factors.push_back(factor);
  }
  rewriter.replaceOpWithMultiple(op, {scores, newMax, newSum, factors});
  return success();
}

namespace {
struct LowerScale final : Lowering<ScaleOp> {
  using Lowering::Lowering;
  LogicalResult matchAndRewrite(ScaleOp op, Adaptor adaptor, Rewriter &rewriter) const override {
    KernelBuilder k(rewriter, op.getLoc());
    AccumulatorIndex index(op.getTile().getType());
    bool ofColumns = op.getFactors().getType().getAxis() == 1;
    ValueRange factors = adaptor.getFactors();

    // Most tiles change no maximum: a warp whose factors are all 1 has nothing to do.
    Value changes;
    for (Value factor : factors) {
      Value isOther = k.compareF(arith::CmpFPredicate::UNE, factor, k.f32(1.0));
      changes = changes ? Value(arith::OrIOp::create(rewriter, op.getLoc(), changes, isOther))
                        : isOther;
    }
    SmallVector<Value> tile(adaptor.getTile());
    SmallVector<Type> types(tile.size(), k.f32Type());
    auto branch = scf::IfOp::create(rewriter, op.getLoc(), types, k.anyLane(changes), true);
    {
      OpBuilder::InsertionGuard guard(rewriter);
      rewriter.setInsertionPointToStart(branch.elseBlock());
      scf::YieldOp::create(rewriter, op.getLoc(), tile);
      rewriter.setInsertionPointToStart(branch.thenBlock());
      for (int64_t r = 0; r < index.rows; ++r)
        for (int64_t c = 0; c < index.columns; ++c)
          for (int64_t half = 0; half < 2; ++half)
            for (int64_t column = 0; column < 2; ++column) {
              Value &value = tile[index.registerOf(r, c, half, column)];
              value = k.mulF(value, factors[ofColumns ? c * 2 + column : r * 2 + half]);
            }
      scf::YieldOp::create(rewriter, op.getLoc(), tile);
    }
    rewriter.replaceOpWithMultiple(op, {SmallVector<Value>(branch.getResults())});
    return success();
  }
};

struct LowerFill final : Lowering<FillOp> {
  using Lowering::Lowering;
  LogicalResult matchAndRewrite(FillOp op, Adaptor, Rewriter &rewriter) const override {
    KernelBuilder k(rewriter, op.getLoc());
    Type type = op.getResult().getType();
    auto tile = dyn_cast<TileType>(type);
    int64_t count = tile ? tile.getNumRegisters() : cast<VecType>(type).getNumRegisters();
    Value value = k.f32(op.getValue().convertToDouble());
    rewriter.replaceOpWithMultiple(op, {SmallVector<Value>(count, value)});
    return success();
  }
};

/// Two f32 rounded to bf16 or f16, or what that leaves of them.
static Value emitPack(KernelBuilder &k, Value low, Value high, Type element, bool remainder) {
  Value packed = k.packPair(low, high, element);
  if (!remainder)
    return packed;
  Value pair = LLVM::BitcastOp::create(k.b, k.loc, VectorType::get(2, element), packed);
  Value rounded = arith::ExtFOp::create(k.b, k.loc, k.pairType(), pair);
  return k.packPair(k.subF(low, k.first(rounded)), k.subF(high, k.second(rounded)), element);
}

struct LowerConvert final : Lowering<ConvertOp> {
  using Lowering::Lowering;
  LogicalResult matchAndRewrite(ConvertOp op, Adaptor adaptor, Rewriter &rewriter) const override {
    KernelBuilder k(rewriter, op.getLoc());
    TileType from = op.getTile().getType(), to = op.getResult().getType();
    AccumulatorIndex index(from);
    ValueRange values = adaptor.getTile();
    SmallVector<Value> registers(to.getNumRegisters());
    for (int64_t r = 0; r < index.rows; ++r)
      for (int64_t c = 0; c < index.columns; ++c)
        for (int64_t half = 0; half < 2; ++half) {
          int64_t first = index.registerOf(r, c, half, 0);
          Value packed = emitPack(k, values[first], values[first + 1], to.getElementType(),
                                  op.getRemainder());
          // Two atoms of mma_c side by side are one of mma_a; an atom of mma_b holds
          // the columns of the two halves.
          if (to.getLayout().getAtom() == Atom::MmaA)
            registers[(r * (index.columns / 2) + c / 2) * 4 + c % 2 * 2 + half] = packed;
          else
            registers[(r * index.columns + c) * 2 + half] = k.transposeMatrix(packed);
        }
    rewriter.replaceOpWithMultiple(op, {registers});
    return success();
  }
};

struct LowerStoreTile final : Lowering<StoreTileOp> {
  using Lowering::Lowering;
  LogicalResult matchAndRewrite(StoreTileOp op, Adaptor adaptor,
                                Rewriter &rewriter) const override {
    KernelBuilder k(rewriter, op.getLoc());
    ThreadPosition position(k);
    TileType tile = op.getTile().getType();
    SlotType slot = op.getSlot().getType();
    AccumulatorIndex index(tile);
    BlockOffset offset = emitBlockOffset(k, position, tile.getLayout(), tile.getWarpRows(),
                                         tile.getWarpColumns());
    Value row = addTo(k, offset.row, position.group);
    Value firstChunk = offset.column ? k.div(offset.column, 8) : k.i32(0);
    Value inChunk = k.mul(position.quarter, 4);
    ValueRange values = adaptor.getTile();
    for (int64_t c = 0; c < index.columns; ++c) {
      Value chunk = emitChunkPointer(k, slot, SlotValues(k, adaptor.getSlot()), row,
                                     k.add(firstChunk, c));
      Value to = k.at(chunk, inChunk);
      for (int64_t r = 0; r < index.rows; ++r)
        for (int64_t half = 0; half < 2; ++half) {
          int64_t first = index.registerOf(r, c, half, 0);
          Value packed = emitPack(k, values[first], values[first + 1], slot.getElementType(),
                                  op.getRemainder());
          k.store(packed, k.at(to, (r * 16 + half * 8) * slot.getRowBytes()), 4);
        }
    }
    rewriter.eraseOp(op);
    return success();
  }
};
} // namespace

void kvtile::populateSoftmaxPatterns(TypeConverter &converter, RewritePatternSet &patterns) {
  patterns.add<LowerSoftmaxStep, LowerScale, LowerFill, LowerConvert, LowerStoreTile>(
      converter, patterns.getContext());
}
