//===- AttentionTiles.cpp - products of AMX tiles -------------------------===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Rows of queries or of probabilities are multiplied with packed blocks, whose pairs lie as
// tiles take them. Tiles have no place for softmax: results go through scratch.
//
// Rounded to bf16, probabilities would have 8 bits. What rounding takes from them is in
// rows of its own, of which a tile has enough, and both products are added: 16 bits.
//===----------------------------------------------------------------------===//
#include "AttentionKernel.h"

#include "kvc/Dialect/KVC/IR/MatrixTiles.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

using namespace mlir;

namespace kvc {

/// Bytes of a row of a tile, the most that there can be.
static constexpr int64_t kTileBytes = 64;

/// The registers: four for sums, and one for each operand.
static constexpr int64_t kQuery = 4, kWeights = 5, kKeys = 6, kValues = 7;

namespace {
/// Emits AMX instructions on registers by their numbers: LLVM's own allocation gives a
/// register one shape in the whole of a function, and so does not reach as far.
class TileEmitter {
public:
  explicit TileEmitter(Emitter &e) : e(e) {}

  /// Gives the registers their shapes, once for a kernel: it takes as long as some 15
  /// products. `memory`: 64 bytes.
  void configure(Value memory, int64_t rows) {
    SmallVector<int8_t> bytes(64, 0); // as section 3.2 of the reference has them
    auto set = [&](int64_t tile, int64_t rows, int64_t rowBytes) {
      bytes[16 + 2 * tile] = rowBytes;
      bytes[48 + tile] = rows;
    };
    bytes[0] = 1;
    for (int64_t tile = 0; tile <= kQuery; ++tile)
      set(tile, rows, kTileBytes);
    set(kWeights, rows, 2 * kPackedTokens);
    set(kKeys, kTileDepth / 2, kTileBytes);
    set(kValues, kPackedTokens / 2, kTileBytes);
    VectorType type = e.vectorOf(64, e.b.getI8Type());
    e.store(arith::ConstantOp::create(e.b, e.loc,
                                      DenseElementsAttr::get(type, ArrayRef<int8_t>(bytes))),
            memory);
    call("ldtilecfg", memory);
  }
  void release() { call("tilerelease", {}); }
  void zero(int64_t tile) { call("tilezero", number(tile)); }
  void load(int64_t tile, Value address, int64_t stride) {
    call("tileloadd64", {number(tile), address, e.i64(stride)});
  }
  void store(int64_t tile, Value address, int64_t stride) {
    call("tilestored64", {number(tile), address, e.i64(stride)});
  }
  /// sums += x y
  void multiply(int64_t sums, int64_t x, int64_t y) {
    call("tdpbf16ps", {number(sums), number(x), number(y)});
  }

private:
  Value number(int64_t tile) {
    return arith::ConstantOp::create(e.b, e.loc, e.b.getI8IntegerAttr(tile));
  }
  void call(StringRef name, ValueRange operands) {
    LLVM::CallIntrinsicOp::create(e.b, e.loc, e.b.getStringAttr("llvm.x86." + name), operands);
  }

  Emitter &e;
};
} // namespace

/// Sums have a row for each row of a register tile, and one for what rounding took from its
/// probabilities.
void AttentionKernel::emitConfigureTiles() {
  TileEmitter(e).configure(scratchAt(tileConfig), 2 * registers.getRows());
}

/// Gives the tiles back: their state is saved with the thread's as long as they hold any.
void AttentionKernel::emitReleaseTiles() { TileEmitter(e).release(); }

//===----------------------------------------------------------------------===//
// Scores
//===----------------------------------------------------------------------===//

/// Products of one register tile of rows, and as many that mean nothing, with one step of
/// blocks, over the columns of a group, to `target`.
void AttentionKernel::emitTileProducts(const Term &term, int64_t group, Value headIndex,
                                       Value firstRow, Value firstKey, int64_t target) {
  TileEmitter t(e);
  int64_t numBlocks = registers.getKeyVectors();
  int64_t rowBytes = term.width * 2, blockBytes = kTileDepth * kPackedTokens * 2;
  // What comes next is prefetched meanwhile.
  int64_t keyBytes = term.storedBytes() / kPackedTokens;
  int64_t aheadBytes = kPackedTokens * keyBytes * kTileDepth / term.width;
  aheadBytes -= term.prefetchedEarly(aheadBytes);
  Value aheadOffset = e.add(e.mul(firstKey, keyBytes - term.prefetchedEarly(keyBytes)),
                            term.prefetchedEarly(tile * keyBytes));
  SmallVector<Value> blocks;
  for (int64_t i = 0; i < numBlocks; ++i) {
    Value block = e.div(e.add(firstKey, i * kPackedTokens), kPackedTokens);
    blocks.push_back(e.load(e.ptrType(), scratchAt(term.blocks, e.mul(block, sizeof(void *)))));
    t.zero(i);
  }
  Value queries = scratchAt(term.queries, e.mul(stateRow(headIndex, firstRow), rowBytes));
  int64_t groupWidth = getScaleGroup(term.attr);
  int64_t begin = group * groupWidth, end = std::min(begin + groupWidth, term.width);
  for (int64_t step = begin / kTileDepth; step < end / kTileDepth; ++step) {
    t.load(kQuery, e.offset(queries, step * kTileBytes), rowBytes);
    for (auto [i, block] : llvm::enumerate(blocks)) {
      emitPrefetch(term, aheadOffset, (step * numBlocks + i) * aheadBytes, aheadBytes);
      t.load(kKeys, e.offset(block, step * blockBytes), kTileBytes);
      t.multiply(i, kQuery, kKeys);
    }
  }
  Value products = scratchAt(target, e.mul(firstKey, 4));
  for (int64_t i = 0; i < numBlocks; ++i)
    t.store(i, e.offset(products, i * kTileBytes), tile * 4);
}

/// Scores of one register tile of rows with all keys of the tile.
void AttentionKernel::emitTileScores(Value head, Value headIndex, Value firstRow) {
  int64_t productBytes = 2 * registers.getRows() * tile * 4;
  e.loop(e.i64(0), e.i64(tile), registers.getKeyVectors() * kPackedTokens, [&](Value firstKey) {
    int64_t target = tileProducts;
    for (const Term &term : terms)
      for (int64_t group = 0; group < term.groups; ++group, target += productBytes)
        emitTileProducts(term, group, headIndex, firstRow, firstKey, target);
  });
  VectorType vector = e.vectorOf(lanes, e.f32Type());
  e.loop(e.i64(0), e.i64(registers.getRows()), 1, [&](Value r) {
    Value row = e.add(firstRow, r);
    e.loop(e.i64(0), e.i64(tile), lanes, [&](Value key) {
      Value offset = e.mul(e.add(e.mul(r, tile), key), 4), sum;
      int64_t source = tileProducts;
      for (const Term &term : terms)
        for (int64_t group = 0; group < term.groups; ++group, source += productBytes) {
          Value product = e.load(vector, scratchAt(source, offset));
          if (term.hasScales() || term.constantScale() != 1.0)
            product = applyScales(term, group, product, stateRow(headIndex, row), key);
          sum = sum ? e.addf(sum, product) : product;
        }
      auto queryPosition = [&] { return rowPosition(row); };
      auto keyPosition = [&] { return keyPositions(key); };
      auto queryHead = [&] { return rowHead(head, row); };
      ScorePoint point{queryPosition, keyPosition, queryHead, getQueryHeads()};
      e.store(modifyScore(sum, point), scratchAt(scores, offset));
    });
  });
}

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

/// Adds the weighted values of the tile to one register tile of rows.
void AttentionKernel::emitTileValues(Value headIndex, Value firstRow) {
  int64_t perChunk = registers.getValueVectors(), columns = value.width / kTileColumns;
  e.loop(e.i64(0), e.i64(columns / perChunk), 1, [&](Value chunk) {
    emitTileColumns(headIndex, firstRow, e.mul(chunk, perChunk * kTileColumns), perChunk);
  });
  if (int64_t rest = columns % perChunk)
    emitTileColumns(headIndex, firstRow, e.i64((columns - rest) * kTileColumns), rest);
}

/// The same of `count` tiles of columns from `firstColumn` on.
void AttentionKernel::emitTileColumns(Value headIndex, Value firstRow, Value firstColumn,
                                      int64_t count) {
  TileEmitter t(e);
  // Of probabilities, and what rounding took from them.
  int64_t rows = registers.getRows(), allRows = 2 * rows;
  int64_t keyBytes = kPackedTokens * 2, rowBytes = value.width * 4;
  SmallVector<Value> groups;
  for (int64_t i = 0; i < count; ++i) {
    Value column = e.add(firstColumn, i * kTileColumns);
    groups.push_back(value.groups > 1 ? e.div(column, getScaleGroup(value.attr)) : e.i64(0));
    t.zero(i);
  }
  // What comes next is prefetched meanwhile: a part as large as these columns.
  int64_t columnBits = value.attr.getElementType().getIntOrFloatBitWidth();
  int64_t aheadBytes = kPackedTokens * kTileColumns * columnBits / 8;
  aheadBytes -= value.prefetchedEarly(aheadBytes);
  int64_t columnBytes = tile * columnBits / 8, early = value.prefetchedEarly(columnBytes);
  Value aheadOffset = e.add(e.mul(firstColumn, columnBytes - early), early * value.width);
  for (int64_t block = 0; block < tile / kPackedTokens; ++block) {
    Value address = e.load(e.ptrType(), scratchAt(value.blocks + block * sizeof(void *)));
    for (int64_t i = 0; i < count; ++i) {
      emitPrefetch(value, aheadOffset, (block * count + i) * aheadBytes, aheadBytes);
      if (i == 0 || value.groups > 1)
        t.load(
            kWeights,
            scratchAt(probabilities + block * keyBytes, e.mul(groups[i], allRows * tile * 2)),
            tile * 2);
      Value column = e.mul(e.add(firstColumn, i * kTileColumns), 4);
      t.load(kValues, e.offset(address, column), rowBytes);
      t.multiply(i, kWeights, kValues);
    }
  }
  int64_t sumBytes = count * kTileBytes;
  for (int64_t i = 0; i < count; ++i)
    t.store(i, scratchAt(tileSums + i * kTileBytes), sumBytes);

  VectorType vector = e.vectorOf(kTileColumns, e.f32Type());
  e.loop(e.i64(0), e.i64(rows), 1, [&](Value r) {
    Value output = scratchAt(outputs, e.mul(stateRow(headIndex, e.add(firstRow, r)), rowBytes));
    Value ofRow = e.mul(r, value.groups * 4);
    for (auto [i, group] : llvm::enumerate(groups)) {
      Value inRow = e.add(ofRow, e.mul(group, 4));
      Value alpha = e.load(e.f32Type(), scratchAt(alphas, inRow));
      Value address = e.offset(output, e.mul(e.add(firstColumn, i * kTileColumns), 4));
      auto sumOf = [&](int64_t row) {
        return e.load(
            vector, scratchAt(tileSums + row * sumBytes + i * kTileBytes, e.mul(r, sumBytes)));
      };
      // An infinite value times what rounding took, 0 or negative, is no correction.
      Value sum = sumOf(0), difference = e.subf(sum, sum);
      Value isFinite =
          arith::CmpFOp::create(e.b, e.loc, arith::CmpFPredicate::ORD, difference, difference);
      sum = e.addf(sum, e.select(isFinite, sumOf(rows), e.splat(kTileColumns, 0.0)));
      if (value.hasZeros())
        sum = e.addf(
            sum, e.broadcast(e.load(e.f32Type(), scratchAt(valueSums, inRow)), kTileColumns));
      e.store(e.fma(e.load(vector, address), e.broadcast(alpha, kTileColumns), sum), address);
    }
  });
}

} // namespace kvc
