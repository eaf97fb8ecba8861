//===- Scales.cpp - scales of quantised caches on tiles -------------------===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Lowering.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace kvc;
using namespace kvc::kvtile;

using Predicate = KernelBuilder::Predicate;

/// Exponents that a reference may have: such that its reciprocal is a normal number too.
static constexpr int64_t kMinReference = 0x00800000, kMaxReference = 0x7e800000;

static Value toBits(KernelBuilder &k, Value number) {
  return LLVM::BitcastOp::create(k.b, k.loc, k.i32Type(), number);
}

static Value toFloat(KernelBuilder &k, Value bits) {
  return LLVM::BitcastOp::create(k.b, k.loc, k.f32Type(), bits);
}

/// 1 / x for a power of two x.
static Value emitInverse(KernelBuilder &k, Value power) {
  return toFloat(k, k.sub(k.i32(254 << 23), toBits(k, power)));
}

namespace {
/// Reads the scales of the keys of a tile, for this thread.
class KeyScales {
public:
  KeyScales(KernelBuilder &k, TileType tile, int64_t keysAxis)
      : k(k), keysAxis(keysAxis), position(k) {
    BlockOffset offset = emitBlockOffset(k, position, tile.getLayout(), tile.getWarpRows(),
                                         tile.getWarpColumns());
    key = keysAxis == 0 ? addTo(k, offset.row, position.group)
                        : addTo(k, offset.column, k.mul(position.quarter, 2));
  }

  /// Of key `constant` after the thread's first, in f32.
  Value load(SlotType type, const SlotValues &slot, int64_t constant, int64_t column) {
    int64_t bytes = type.getElementType().getIntOrFloatBitWidth() / 8;
    Value base = k.toShared(k.add(slot.base, k.mul(key, type.getRowBytes())));
    Value address = k.at(base, slot.offset + constant * type.getRowBytes() + column * bytes);
    return k.toF32(k.load(type.getElementType(), address, bytes));
  }

private:
  KernelBuilder &k;
  int64_t keysAxis;
  ThreadPosition position;
  Value key;
};

/// The lines and keys of the registers of a tile: `visit(register, line, key)`, the key
/// relative to the thread's first.
template <typename Visitor>
void forEachKey(TileType tile, int64_t keysAxis, Visitor visit) {
  AccumulatorIndex index(tile);
  for (int64_t r = 0; r < index.rows; ++r)
    for (int64_t c = 0; c < index.columns; ++c)
      for (int64_t half = 0; half < 2; ++half)
        for (int64_t column = 0; column < 2; ++column) {
          int64_t line = keysAxis == 0 ? c * 2 + column : r * 2 + half;
          int64_t key = keysAxis == 0 ? r * 16 + half * 8 : c * 8 + column;
          visit(index.registerOf(r, c, half, column), line, key);
        }
}

struct LowerScaleKeys final : Lowering<ScaleKeysOp> {
  using Lowering::Lowering;
  LogicalResult matchAndRewrite(ScaleKeysOp op, Adaptor adaptor,
                                Rewriter &rewriter) const override {
    KernelBuilder k(rewriter, op.getLoc());
    TileType type = op.getTile().getType();
    KeyScales keys(k, type, op.getKeysAxis());
    Value inverse = op.getOver() ? emitInverse(k, adaptor.getOver()[0]) : Value();
    DenseMap<int64_t, Value> scales, zeros;
    auto scaleOf = [&](int64_t key) -> Value {
      Value &scale = scales[op.getScales() ? key : 0];
      if (!scale) {
        scale = op.getScales()
                    ? keys.load(cast<SlotType>(op.getScales().getType()),
                                SlotValues(k, adaptor.getScales()), key, op.getColumn())
                    : adaptor.getFactor()[0];
        if (inverse)
          scale = k.mulF(scale, inverse);
      }
      return scale;
    };
    auto zeroOf = [&](int64_t key) -> Value {
      if (op.getZero())
        return adaptor.getZero()[0];
      Value &zero = zeros[key];
      if (!zero)
        zero = keys.load(cast<SlotType>(op.getZeros().getType()),
                         SlotValues(k, adaptor.getZeros()), key, op.getColumn());
      return zero;
    };
    SmallVector<Value> tile(adaptor.getTile());
    forEachKey(type, op.getKeysAxis(), [&](int64_t index, int64_t line, int64_t key) {
      Value &value = tile[index];
      value = k.mulF(value, scaleOf(key));
      if (op.getAcc())
        value = k.addF(value, adaptor.getAcc()[index]);
      if (op.getSums())
        value = k.addF(value, k.mulF(adaptor.getSums()[line], zeroOf(key)));
    });
    rewriter.replaceOpWithMultiple(op, {tile});
    return success();
  }
};

struct LowerReferenceStep final : Lowering<ReferenceStepOp> {
  using Lowering::Lowering;
  LogicalResult matchAndRewrite(ReferenceStepOp op, Adaptor adaptor,
                                Rewriter &rewriter) const override {
    KernelBuilder k(rewriter, op.getLoc());
    ThreadPosition position(k);
    SlotType type = op.getScales().getType();
    LayoutAttr layout = op.getReference().getType().getLayout();
    int64_t warps = op.getAllKeys()         ? 1
                    : op.getKeysAxis() == 0 ? layout.getWarpRows()
                                            : layout.getWarpColumns();
    // The scales of a warp's keys lie side by side: each lane takes every 32nd.
    int64_t count = type.getRows() / warps * type.getColumns();
    int64_t bytes = type.getElementType().getIntOrFloatBitWidth() / 8;
    SlotValues slot(k, adaptor.getScales());
    Value first = warps > 1 ? k.mul(position.warp, count) : k.i32(0);
    Value largest;
    for (int64_t i = 0; i < count; i += kWarpSize) {
      Value index = k.add(position.lane, i);
      if (i + kWarpSize > count)
        index = k.min(index, k.i32(count - 1));
      Value address = k.toShared(k.add(slot.base, k.mul(k.add(first, index), bytes)));
      Value scale = k.toF32(k.load(type.getElementType(), k.at(address, slot.offset), bytes));
      largest = largest ? k.maxF(largest, scale) : scale;
    }
    Value old = adaptor.getReference()[0];
    Value isAbove = k.compareF(arith::CmpFPredicate::OGT, largest, old);
    Type f32 = k.f32Type();
    auto branch = scf::IfOp::create(rewriter, op.getLoc(), TypeRange{f32, f32},
                                    k.anyLane(isAbove), true);
    {
      OpBuilder::InsertionGuard guard(rewriter);
      rewriter.setInsertionPointToStart(branch.thenBlock());
      Value max = k.maxF(largest, old);
      for (int64_t lanes = 1; lanes < kWarpSize; lanes *= 2)
        max = k.maxF(max, k.shuffleXor(max, lanes));
      Value bits = k.bitAnd(k.add(toBits(k, max), 0x7fffff), 0x7f800000);
      bits = k.min(k.max(bits, k.i32(kMinReference)), k.i32(kMaxReference));
      Value reference = toFloat(k, bits);
      scf::YieldOp::create(rewriter, op.getLoc(),
                           ValueRange{reference, k.mulF(old, emitInverse(k, reference))});
      rewriter.setInsertionPointToStart(branch.elseBlock());
      scf::YieldOp::create(rewriter, op.getLoc(), ValueRange{old, k.f32(1.0)});
    }
    SmallVector<Value> references(adaptor.getReference().size(), branch.getResult(0)), factors;
    for (Value factor : adaptor.getFactor())
      factors.push_back(k.mulF(factor, branch.getResult(1)));
    rewriter.replaceOpWithMultiple(op, {references, factors});
    return success();
  }
};

struct LowerSumKeys final : Lowering<SumKeysOp> {
  using Lowering::Lowering;
  LogicalResult matchAndRewrite(SumKeysOp op, Adaptor adaptor, Rewriter &rewriter) const override {
    KernelBuilder k(rewriter, op.getLoc());
    KeyScales keys(k, op.getTile().getType(), op.getKeysAxis());
    SlotValues slot(k, adaptor.getZeros());
    SmallVector<Value> sums;
    for (auto [sum, factor] : llvm::zip(adaptor.getSum(), adaptor.getFactor()))
      sums.push_back(k.mulF(sum, factor));
    DenseMap<int64_t, Value> zeros;
    forEachKey(op.getTile().getType(), op.getKeysAxis(),
               [&](int64_t index, int64_t line, int64_t key) {
                 Value &zero = zeros[key];
                 if (!zero)
                   zero = keys.load(op.getZeros().getType(), slot, key, op.getColumn());
                 sums[line] = k.addF(sums[line], k.mulF(adaptor.getTile()[index], zero));
               });
    rewriter.replaceOpWithMultiple(op, {sums});
    return success();
  }
};

struct LowerSumRows final : Lowering<SumRowsOp> {
  using Lowering::Lowering;
  LogicalResult matchAndRewrite(SumRowsOp op, Adaptor adaptor, Rewriter &rewriter) const override {
    KernelBuilder k(rewriter, op.getLoc());
    ThreadPosition position(k);
    VecType vec = op.getSums().getType();
    SlotType type = op.getSlot().getType();
    SlotValues slot(k, adaptor.getSlot());
    bool isColumns = vec.getAxis() == 1;
    LayoutAttr layout = vec.getLayout();
    int64_t blocks = isColumns ? layout.getWarpColumns() : layout.getWarpRows();
    Value first = isColumns ? k.mul(position.quarter, 2) : position.group;
    if (blocks > 1)
      first = k.add(first, k.mul(position.warp, vec.getSize() / blocks));
    auto pairs = VectorType::get(2, type.getElementType());
    SmallVector<Value> sums;
    for (int64_t line = 0; line < vec.getNumRegisters(); ++line) {
      Value row = k.add(first, isColumns ? line / 2 * 8 + line % 2 : line * 8);
      Value sum = k.f32(0.0);
      sums.push_back(k.forRange(k.i32(op.getBegin() / 8), k.i32(op.getEnd() / 8), k.i32(1), {sum},
                 [&](Value chunk, ValueRange carried) -> SmallVector<Value> {
                   Value from = emitChunkPointer(k, type, slot, row, chunk);
                   Value total = carried[0];
                   for (Value word : k.fromVector(
                            k.load(VectorType::get(4, k.i32Type()), from, 16))) {
                     Value pair = LLVM::BitcastOp::create(k.b, k.loc, pairs, word);
                     Value wide = arith::ExtFOp::create(k.b, k.loc, k.pairType(), pair);
                     total = k.addF(k.addF(total, k.first(wide)), k.second(wide));
                   }
                   return {total};
                 })[0]);
    }
    rewriter.replaceOpWithMultiple(op, {sums});
    return success();
  }
};

struct LowerScaleColumns final : Lowering<ScaleColumnsOp> {
  using Lowering::Lowering;
  LogicalResult matchAndRewrite(ScaleColumnsOp op, Adaptor adaptor,
                                Rewriter &rewriter) const override;
};
} // namespace

LogicalResult LowerScaleColumns::matchAndRewrite(ScaleColumnsOp op, Adaptor adaptor,
                                                 Rewriter &rewriter) const {
  KernelBuilder k(rewriter, op.getLoc());
  ThreadPosition position(k);
  TileType type = op.getTile().getType();
  AccumulatorIndex index(type);
  bool isTransposed = op.getTransposed();
  int64_t unit = 8 * op.getInterleave(), columns = op.getColumns();
  BlockOffset offset = emitBlockOffset(k, position, type.getLayout(), type.getWarpRows(),
                                       type.getWarpColumns());
  Value first = isTransposed ? offset.row : offset.column;
  int64_t groups = std::max(op.getFactors().size(), op.getAdded().size());

  // The sums of the lanes that share a row.
  SmallVector<SmallVector<Value>> added;
  for (auto [group, sums] : llvm::enumerate(adaptor.getAdded())) {
    SmallVector<Value> &totals = added.emplace_back();
    for (Value sum : sums) {
      for (int64_t lanes : isTransposed ? SmallVector<int64_t>{4, 8, 16}
                                        : SmallVector<int64_t>{1, 2})
        sum = k.addF(sum, k.shuffleXor(sum, lanes));
      totals.push_back(sum);
    }
    if (std::optional<int64_t> exchange = op.getExchange())
      emitSumOfWarps(k, position, *exchange, type.getRows(), getThreads(op) / kWarpSize,
                     totals);
    if (!op.getWeights().empty())
      for (Value &total : totals)
        total = k.mulF(total, adaptor.getWeights()[group][0]);
  }
  // What `ofGroup` has for the group of the block of columns `block`.
  auto choose = [&](int64_t block, function_ref<Value(int64_t)> ofGroup) {
    if (!first || groups == 1)
      return ofGroup(std::min(block * unit / columns, groups - 1));
    Value group = k.div(k.add(first, block * unit), columns);
    Value chosen = ofGroup(0);
    for (int64_t i = 1; i < groups; ++i)
      chosen = k.select(k.compare(Predicate::eq, group, k.i32(i)), ofGroup(i), chosen);
    return chosen;
  };
  SmallVector<Value> tile(adaptor.getTile());
  DenseMap<int64_t, Value> factors;
  DenseMap<std::pair<int64_t, int64_t>, Value> terms;
  for (int64_t r = 0; r < index.rows; ++r)
    for (int64_t c = 0; c < index.columns; ++c)
      for (int64_t half = 0; half < 2; ++half)
        for (int64_t column = 0; column < 2; ++column) {
          int64_t block = (isTransposed ? 2 * r + half : c) / op.getInterleave();
          int64_t line = isTransposed ? c * 2 + column : r * 2 + half;
          Value &value = tile[index.registerOf(r, c, half, column)];
          if (!op.getFactors().empty()) {
            Value &factor = factors[block];
            if (!factor)
              factor = choose(block, [&](int64_t i) { return adaptor.getFactors()[i][0]; });
            value = k.mulF(value, factor);
          }
          if (!op.getAdded().empty()) {
            Value &term = terms[{block, line}];
            if (!term)
              term = choose(block, [&](int64_t i) { return added[i][line]; });
            value = k.addF(value, term);
          }
        }
  rewriter.replaceOpWithMultiple(op, {tile});
  return success();
}

void kvtile::populateScalePatterns(TypeConverter &converter, RewritePatternSet &patterns) {
  patterns.add<LowerScaleKeys, LowerReferenceStep, LowerSumKeys, LowerSumRows,
               LowerScaleColumns>(converter, patterns.getContext());
}
