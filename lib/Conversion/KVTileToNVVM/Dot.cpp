//===- Dot.cpp - products of tiles and slots by mma.sync ------------------===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Operands in shared memory are read 16 x 16 elements at once by ldmatrix.x4, whose
// matrices are always these four 8 x 8 blocks:
//
//   0: rows 0-7, columns 0-7     2: rows 0-7, columns 8-15
//   1: rows 8-15, columns 0-7    3: rows 8-15, columns 8-15
//
// so that one lane address serves every operand of a slot; they are the registers of
// a fragment of A, or of two fragments of B, in one order or another.
//
// Codes of a quantised cache are read the same way, 16 bits at a time, and converted in
// registers. Along the width a register then has 4 or 8 columns of one token where one
// of 16-bit elements has 2: enough for 1 or 2 steps of 16 columns, whose order does not
// matter as long as the query has the same. Along the tokens, transposed, it has 2 or 4
// columns of two tokens: a block of 8 columns for each of them, which kvtile.finish puts
// in their places.
//
// Integers as the operand A keep an offset when B is narrow: the product of the offsets,
// negated, with B comes first. Of keys it is the same for every tile, and computed where
// the query is loaded; of values it takes one mma where a fragment would take four
// subtractions.
//===----------------------------------------------------------------------===//
#include "CodeConverter.h"
#include "Lowering.h"

using namespace mlir;
using namespace kvc;
using namespace kvc::kvtile;

namespace {
using Registers = SmallVector<Value, 4>;

/// Reads blocks of a slot.
class SlotReader {
public:
  /// The warp's block begins at `origin` (elements of the stored matrix).
  SlotReader(KernelBuilder &k, const ThreadPosition &position, SlotType type, ValueRange slot,
             BlockOffset origin, int64_t originColumnUnit, bool transpose)
      : k(k), position(position), type(type), slot(k, slot), origin(origin),
        chunks(originColumnUnit ? originColumnUnit / 8 : type.getChunks()),
        isAligned(originColumnUnit % (8 * type.getSwizzle()) == 0), transpose(transpose) {}

  /// Rows 16 r to 16 r + 15, columns 16 c to 16 c + 15 of the block; with `half` only
  /// matrices 0 and 1.
  Registers block(int64_t r, int64_t c, bool half = false);
  /// Rows 8 r to 8 r + 7, columns 32 c to 32 c + 31: matrix i holds columns 8 i on;
  /// with `half` only the first two.
  Registers wideBlock(int64_t r, int64_t c, bool half);
  /// Rows 8 r to 8 r + 7, columns 16 c to 16 c + 15, or with `half` the first 8.
  Registers pairBlock(int64_t r, int64_t c, bool half);
  /// True if the block at columns 16 c is the last of the warp's and half as wide.
  bool endsAt(int64_t c) const { return 2 * c + 2 > chunks; }

private:
  /// Address of the row `row` (of this lane) and of chunk `laneChunk` + 2 `pair`.
  Value address(Value row, Value laneChunk, int64_t rowConstant, int64_t chunk);

  KernelBuilder &k;
  const ThreadPosition &position;
  SlotType type;
  SlotValues slot;
  BlockOffset origin;
  int64_t chunks; ///< Of a row of the warp's block.
  bool isAligned; ///< The block begins at a whole swizzle.
  bool transpose;
  DenseMap<std::pair<int64_t, int64_t>, Registers> blocks;
  DenseMap<std::pair<int64_t, int64_t>, Value> bases;
};

/// An operand of the product, as fragments of the warp's block.
struct Operand {
  /// Fragment of A at rows 16 m, columns 16 k.
  std::function<Registers(int64_t m, int64_t k)> a;
  /// What to add to it, if not nothing: the same in all rows of a key, in all columns of a
  /// value.
  std::function<Registers(int64_t m, int64_t k)> correction;
  /// Fragment of B at rows 16 k, columns 8 n.
  std::function<Registers(int64_t k, int64_t n)> b;
};
} // namespace

Value SlotReader::address(Value row, Value laneChunk, int64_t rowConstant, int64_t chunk) {
  // `row` is below 16 and what is added to it a multiple of 8, so that row % 8 stays.
  if (!isAligned) {
    Value column = k.add(k.add(k.div(origin.column, 8), laneChunk), chunk);
    return k.at(emitChunkPointer(k, type, slot, addTo(k, origin.row, row), column),
                rowConstant * type.getRowBytes());
  }
  // Within a swizzle, a multiple of 2 chunks away is one exclusive or; whole swizzles, and
  // rows, are constants.
  int64_t inSwizzle = chunk % type.getSwizzle();
  int64_t constant = (chunk - inSwizzle) * 16 + rowConstant * type.getRowBytes();
  Value &base = bases[{inSwizzle, 0}];
  if (!base) {
    Value lane = emitChunkOffset(k, type, row, laneChunk);
    if (inSwizzle)
      lane = k.bitXor(lane, k.i32(inSwizzle * 16));
    if (origin.row)
      lane = k.add(lane, k.mul(origin.row, type.getRowBytes()));
    if (origin.column)
      lane = k.add(lane, k.mul(origin.column, 2));
    // What a loop does not change is added first.
    base = k.toShared(k.add(slot.base, lane));
  }
  return k.at(base, slot.offset + constant);
}

Registers SlotReader::block(int64_t r, int64_t c, bool half) {
  Registers &found = blocks[{r, c}];
  if (found.empty()) {
    Value matrix = k.div(position.lane, 8);
    Value row = k.add(k.bitAnd(position.lane, 7), k.mul(k.bitAnd(matrix, 1), 8));
    Value from = address(row, k.div(matrix, 2), r * 16, c * 2);
    found = k.loadMatrices(from, transpose, half ? 2 : 4);
  }
  return found;
}

Registers SlotReader::wideBlock(int64_t r, int64_t c, bool half) {
  Registers &found = blocks[{r, c}];
  if (found.empty()) {
    // Four chunks a lane: the address takes one exclusive or every 4 chunks.
    Value from = address(k.bitAnd(position.lane, 7), k.div(position.lane, 8), r * 8, c * 4);
    found = k.loadMatrices(from, transpose, half ? 2 : 4);
  }
  return found;
}

Registers SlotReader::pairBlock(int64_t r, int64_t c, bool half) {
  Registers &found = blocks[{r, c}];
  if (found.empty()) {
    Value from = address(k.bitAnd(position.lane, 7), k.bitAnd(k.div(position.lane, 8), 1), r * 8,
                         c * 2);
    found = k.loadMatrices(from, transpose, half ? 1 : 2);
  }
  return found;
}

/// The operand that registers hold: those of the warp's block.
static Operand getTileOperand(TileType type, ValueRange registers) {
  Operand operand;
  operand.a = [=](int64_t m, int64_t kk) {
    int64_t columns = type.getWarpColumns() / 16;
    return Registers(registers.slice((m * columns + kk) * 4, 4));
  };
  operand.b = [=](int64_t kk, int64_t n) {
    int64_t columns = type.getWarpColumns() / 8;
    return Registers(registers.slice((kk * columns + n) * 2, 2));
  };
  return operand;
}

/// An operand of codes. Columns are counted as those of the product are: 16 bits of each
/// step and fragment of a key or value.
static Operand getCodeOperandA(SlotReader &reader, CodeConverter &codes, SlotType type,
                               bool isTransposed) {
  // Chunks of 16 bytes are fragments of 16 columns: 1 of them, or 2 of 4 bits.
  int64_t perChunk = type.getInterleave() / 2;
  Operand operand;
  operand.a = [=, &reader, &codes](int64_t m, int64_t kk) -> Registers {
    int64_t index = isTransposed ? m : kk;
    int64_t chunk = index / perChunk, first = index % perChunk * 2;
    Registers r = isTransposed ? reader.block(kk, chunk / 2, reader.endsAt(chunk / 2))
                               : reader.block(m, chunk / 2, reader.endsAt(chunk / 2));
    const int64_t low = chunk % 2 * 2;
    if (isTransposed) {
      Registers early = codes.alongTokens(r[low]), late = codes.alongTokens(r[low + 1]);
      return {early[first], early[first + 1], late[first], late[first + 1]};
    }
    Registers top = codes.alongWidth(r[low]), bottom = codes.alongWidth(r[low + 1]);
    return {top[first], bottom[first], top[first + 1], bottom[first + 1]};
  };
  if (codes.hasOffsets())
    operand.correction = [=, &codes](int64_t m, int64_t kk) -> Registers {
      int64_t first = (isTransposed ? m : kk) % perChunk * 2;
      if (isTransposed) {
        Value one = codes.correctionAlongTokens(first);
        Value other = codes.correctionAlongTokens(first + 1);
        return {one, other, one, other};
      }
      Value one = codes.correctionAlongWidth(first);
      Value other = codes.correctionAlongWidth(first + 1);
      return {one, one, other, other};
    };
  return operand;
}

static Operand getCodeOperandB(SlotReader &reader, CodeConverter &codes, SlotType type,
                               bool isTransposed, int64_t columns) {
  int64_t interleave = type.getInterleave();
  Operand operand;
  operand.b = [=, &reader, &codes](int64_t kk, int64_t n) -> Registers {
    if (!isTransposed) {
      int64_t chunk = n / interleave, which = n % interleave;
      Registers r = reader.block(kk, chunk / 2, reader.endsAt(chunk / 2));
      const int64_t low = chunk % 2 * 2;
      return {codes.alongTokens(r[low])[which], codes.alongTokens(r[low + 1])[which]};
    }
    int64_t perChunk = interleave / 2, chunk = kk / perChunk, first = kk % perChunk * 2;
    Value codesOfKeys;
    if (columns % 2 != 0) {
      // Two chunks of 8 keys; of an odd number the last has none beside it.
      Registers r = reader.pairBlock(n, chunk / 2, reader.endsAt(chunk / 2));
      codesOfKeys = r[chunk % 2];
    } else {
      Registers r = reader.block(n / 2, chunk / 2, reader.endsAt(chunk / 2));
      codesOfKeys = r[chunk % 2 * 2 + n % 2];
    }
    Registers numbers = codes.alongWidth(codesOfKeys);
    return {numbers[first], numbers[first + 1]};
  };
  return operand;
}

static Operand getOperandA(SlotReader &reader, bool isTransposed) {
  Operand operand;
  operand.a = [&reader, isTransposed](int64_t m, int64_t kk) -> Registers {
    if (!isTransposed)
      return reader.block(m, kk);
    Registers r = reader.block(kk, m);
    return {r[0], r[2], r[1], r[3]};
  };
  return operand;
}

/// `n` and `steps`: fragments of the warp's block along N and K.
static Operand getOperandB(SlotReader &reader, bool isTransposed, int64_t columns,
                           int64_t steps) {
  Operand operand;
  operand.b = [=, &reader](int64_t kk, int64_t n) -> Registers {
    if (!isTransposed) {
      bool isLast = n == columns - 1 && n % 2 == 0;
      Registers r = reader.block(kk, n / 2, /*half=*/isLast);
      return n % 2 == 0 ? Registers{r[0], r[1]} : Registers{r[2], r[3]};
    }
    if (columns % 2 != 0) {
      Registers r = reader.wideBlock(n, kk / 2, /*half=*/kk == steps - 1 && kk % 2 == 0);
      return kk % 2 == 0 ? Registers{r[0], r[1]} : Registers{r[2], r[3]};
    }
    Registers r = reader.block(n / 2, kk);
    return n % 2 == 0 ? Registers{r[0], r[2]} : Registers{r[1], r[3]};
  };
  return operand;
}

namespace {
/// Fragments from `begin` to `end` (exclusive).
struct Range {
  int64_t begin, end;
};

/// Columns of B, in fragments, up to which a correction is cheaper than what it spares.
constexpr int64_t kMaxCorrected = 2;

/// What to add to the products of keys with column `n` of B, the same for all keys. It is
/// computed where the registers of B come from, perhaps before a loop.
Registers emitKeyCorrection(KernelBuilder &k, const Operand &a, const Operand &b, int64_t n,
                            Range steps, ValueRange registersB, Type element) {
  OpBuilder::InsertionGuard guard(k.b);
  Operation *last = nullptr;
  for (Value value : registersB) {
    Operation *defining = value.getDefiningOp();
    if (!defining || (last && defining->getBlock() != last->getBlock())) {
      last = nullptr;
      break;
    }
    if (!last || last->isBeforeInBlock(defining))
      last = defining;
  }
  if (last)
    k.b.setInsertionPointAfter(last);
  Registers sum(4, k.f32(0.0));
  for (int64_t kk = steps.begin; kk < steps.end; ++kk)
    sum = k.multiply(a.correction(0, kk), b.b(kk, n), sum, element);
  return sum;
}

struct LowerDot final : Lowering<DotOp> {
  using Lowering::Lowering;
  LogicalResult matchAndRewrite(DotOp op, Adaptor adaptor, Rewriter &rewriter) const override {
    KernelBuilder k(rewriter, op.getLoc());
    ThreadPosition position(k);
    TileType result = op.getResult().getType();
    LayoutAttr layout = result.getLayout();
    auto tileA = dyn_cast<TileType>(op.getA().getType());
    auto tileB = dyn_cast<TileType>(op.getB().getType());
    auto slotA = dyn_cast<SlotType>(op.getA().getType());
    auto slotB = dyn_cast<SlotType>(op.getB().getType());

    // K, and how the warps cut it.
    int64_t sizeK = tileA ? tileA.getColumns() : op.getTransposeA() ? slotA.getRows()
                                                                    : slotA.getColumns();
    LayoutAttr cut = tileA ? tileA.getLayout() : tileB ? tileB.getLayout() : LayoutAttr();
    int64_t cutsK = tileA ? cut.getWarpColumns() : tileB ? cut.getWarpRows() : 1;
    int64_t warpK = sizeK / cutsK; // a multiple of 16, as a layout has whole atoms
    Value offsetK = cutsK > 1 ? k.mul(k.rem(position.warp, cutsK), warpK) : Value();
    BlockOffset offset = emitBlockOffset(k, position, layout, result.getWarpRows(),
                                         result.getWarpColumns());

    int64_t rows = result.getWarpRows() / 16, columns = result.getWarpColumns() / 8;
    std::optional<SlotReader> readerA, readerB;
    std::optional<CodeConverter> codes;
    // From columns of a slot to what ldmatrix counts, 16 bits.
    auto toUnits = [&](SlotType slot, BlockOffset &origin, int64_t unit) {
      if (!slot.holdsCodes() || !origin.column)
        return origin.column ? unit : 0;
      origin.column = k.div(origin.column, slot.getInterleave());
      return unit / slot.getInterleave();
    };
    Operand a, b;
    if (tileA) {
      a = getTileOperand(tileA, adaptor.getA());
    } else {
      bool isTransposed = op.getTransposeA();
      BlockOffset origin{offset.row, offsetK};
      if (isTransposed)
        std::swap(origin.row, origin.column);
      int64_t unit = toUnits(slotA, origin, isTransposed ? result.getWarpRows() : warpK);
      readerA.emplace(k, position, slotA, adaptor.getA(), origin, unit, isTransposed);
      if (slotA.holdsCodes()) {
        codes.emplace(k, slotA.getElementType(),
                      /*keepsOffsets=*/tileB && columns <= kMaxCorrected);
        a = getCodeOperandA(*readerA, *codes, slotA, isTransposed);
      } else {
        a = getOperandA(*readerA, isTransposed);
      }
    }
    if (tileB) {
      b = getTileOperand(tileB, adaptor.getB());
    } else {
      bool isTransposed = op.getTransposeB();
      BlockOffset origin{offsetK, offset.column};
      if (isTransposed)
        std::swap(origin.row, origin.column);
      int64_t unit = toUnits(slotB, origin, isTransposed ? warpK : result.getWarpColumns());
      readerB.emplace(k, position, slotB, adaptor.getB(), origin, unit,
                      /*transpose=*/!isTransposed);
      if (slotB.holdsCodes()) {
        codes.emplace(k, slotB.getElementType(), /*keepsOffsets=*/false);
        b = getCodeOperandB(*readerB, *codes, slotB, isTransposed, columns);
      } else {
        b = getOperandB(*readerB, isTransposed, columns, warpK / 16);
      }
    }

    // The whole, or what has the columns that are asked for.
    Range stepsK{0, warpK / 16}, rangeM{0, rows}, rangeN{0, columns};
    if (std::optional<ArrayRef<int64_t>> part = op.getColumns()) {
      bool isA = slotA && slotA.holdsCodes();
      bool isKey = isA ? !op.getTransposeA() : op.getTransposeB();
      Range &range = isKey ? stepsK : isA ? rangeM : rangeN;
      int64_t size = &range == &rangeN ? 8 : 16;
      range = {(*part)[0] / size, std::min(range.end, (*part)[1] / size)};
    }
    Type element = tileA ? tileA.getElementType() : slotA.getOperandElement();
    SmallVector<Value> sums(adaptor.getAcc());
    auto sumOf = [&](int64_t m, int64_t n) {
      return MutableArrayRef(sums).slice((m * columns + n) * 4, 4);
    };
    bool isValue = op.getTransposeA();
    if (a.correction && !isValue)
      for (int64_t n = rangeN.begin; n < rangeN.end; ++n) {
        Registers offsets = emitKeyCorrection(k, a, b, n, stepsK, adaptor.getB(), element);
        for (int64_t m = rangeM.begin; m < rangeM.end; ++m)
          for (auto [sum, offset] : llvm::zip(sumOf(m, n), offsets))
            sum = matchPattern(sum, m_AnyZeroFloat()) ? offset : k.addF(sum, offset);
      }
    for (int64_t kk = stepsK.begin; kk < stepsK.end; ++kk)
      for (int64_t m = rangeM.begin; m < rangeM.end; ++m) {
        Registers fragmentA = a.a(m, kk);
        for (int64_t n = rangeN.begin; n < rangeN.end; ++n) {
          MutableArrayRef<Value> sum = sumOf(m, n);
          Registers fragmentB = b.b(kk, n);
          if (a.correction && isValue)
            llvm::copy(k.multiply(a.correction(m, kk), fragmentB, sum, element), sum.begin());
          llvm::copy(k.multiply(fragmentA, fragmentB, sum, element), sum.begin());
        }
      }
    rewriter.replaceOpWithMultiple(op, {sums});
    return success();
  }
};

struct LowerLoadTile final : Lowering<LoadTileOp> {
  using Lowering::Lowering;
  LogicalResult matchAndRewrite(LoadTileOp op, Adaptor adaptor, Rewriter &rewriter) const override {
    KernelBuilder k(rewriter, op.getLoc());
    ThreadPosition position(k);
    TileType tile = op.getTile().getType();
    BlockOffset origin;
    if (tile.getLayout().getWarpRows() > 1) // of mma_a: each warp's own rows
      origin.row = k.mul(position.warp, tile.getWarpRows());
    SlotReader reader(k, position, op.getSlot().getType(), adaptor.getSlot(), origin,
                      /*originColumnUnit=*/0, /*transpose=*/false);
    SmallVector<Value> registers;
    if (tile.getLayout().getAtom() == Atom::MmaA) {
      Operand operand = getOperandA(reader, /*isTransposed=*/false);
      for (int64_t m = 0; m < tile.getWarpRows() / 16; ++m)
        for (int64_t kk = 0; kk < tile.getWarpColumns() / 16; ++kk)
          llvm::append_range(registers, operand.a(m, kk));
    } else {
      int64_t steps = tile.getWarpRows() / 16, columns = tile.getWarpColumns() / 8;
      Operand operand = getOperandB(reader, /*isTransposed=*/true, columns, steps);
      for (int64_t kk = 0; kk < steps; ++kk)
        for (int64_t n = 0; n < columns; ++n)
          llvm::append_range(registers, operand.b(kk, n));
    }
    rewriter.replaceOpWithMultiple(op, {registers});
    return success();
  }
};
} // namespace

void kvtile::populateDotPatterns(TypeConverter &converter, RewritePatternSet &patterns) {
  patterns.add<LowerDot, LowerLoadTile>(converter, patterns.getContext());
}
