//===- AttentionFetch.cpp - from pages to packed blocks -------------------===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Finds the keys of a tile in the pages, and gives the products pointers to
// packed blocks of 16 keys. Keys that no query of the item may see read as zero,
// whatever their slots hold: masking the scores would not be enough, since
// 0 * NaN is NaN.
//===----------------------------------------------------------------------===//
#include "AttentionKernel.h"

#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;

namespace kvc {

static constexpr int64_t kPointerBytes = sizeof(void *);

/// The integer that holds one packed pair.
static Type getUnitType(Emitter &e, Type element, int64_t pair) {
  return e.b.getIntegerType(element.getIntOrFloatBitWidth() * pair);
}

/// True (i1) if a key of the tile (its index there, i64) is visible to the item.
Value AttentionKernel::isVisible(Value token) {
  return e.logicalAnd(e.lessOrEqual(validBegin, token), e.less(token, validEnd));
}

/// The same (i1) for each of the 16 keys of a block.
Value AttentionKernel::visibleLanes(Value block) {
  SmallVector<int64_t> iota = llvm::to_vector(llvm::seq<int64_t>(0, kPackedTokens));
  Value lane = arith::ConstantOp::create(
      e.b, e.loc,
      DenseElementsAttr::get(e.vectorOf(kPackedTokens, e.i64Type()), ArrayRef<int64_t>(iota)));
  Value token = e.add(lane, e.broadcast(e.mul(block, kPackedTokens), kPackedTokens));
  return e.logicalAnd(e.lessOrEqual(e.broadcast(validBegin, kPackedTokens), token),
                      e.less(token, e.broadcast(validEnd, kPackedTokens)));
}

//===----------------------------------------------------------------------===//
// Finding keys
//===----------------------------------------------------------------------===//

/// Emits the byte offset of the page that holds `token`, which must be one of the
/// item's.
static Value emitPageOffset(Emitter &e, Value params, Value firstPage, Value token,
                            int64_t page, int64_t component) {
  Value ids = e.load(e.ptrType(), e.offset(params, offsetof(AttentionParams, pageIds)));
  Value index = e.add(firstPage, e.div(token, page));
  Value id = e.toI64(e.load(e.i32Type(), e.offset(ids, e.mul(index, 4))));
  Value stride =
      e.load(e.i64Type(), e.offset(params, component + offsetof(ArrayParam, pageStride)));
  return e.mul(id, stride);
}

/// Stores the addresses (for head 0) of the packed blocks of the tile at `begin`. A
/// block without visible keys gets the address of one that has some.
void AttentionKernel::emitFindBlocks(const Component &c, Value params, Value begin,
                                     int64_t target) {
  Value data = e.load(e.ptrType(), e.offset(params, c.params + offsetof(ArrayParam, data)));
  Value tokenStride =
      e.load(e.i64Type(), e.offset(params, c.params + offsetof(ArrayParam, tokenStride)));
  Value last = e.sub(kvEnd, e.i64(1));
  // A tile inside one page needs a single look-up.
  bool onePage = page % tile == 0;
  Value pageAddress, tileInPage;
  for (int64_t block = 0; block < tile / kPackedTokens; ++block) {
    Value offsetInPage;
    if (!onePage || block == 0) {
      Value token = e.min(e.max(e.add(begin, block * kPackedTokens), kvBegin), last);
      pageAddress =
          e.offset(data, emitPageOffset(e, params, itemFields.firstPage, token, page, c.params));
      int64_t unit = onePage ? tile : kPackedTokens;
      Value units = e.div(e.rem(token, page), unit);
      tileInPage = c.isPacked() ? e.mul(units, unit / kPackedTokens * c.storedBytes())
                                : e.mul(e.mul(units, unit), tokenStride);
    }
    offsetInPage = tileInPage;
    if (onePage)
      offsetInPage = c.isPacked()
                         ? e.add(tileInPage, block * c.storedBytes())
                         : e.add(tileInPage, e.mul(tokenStride, block * kPackedTokens));
    e.store(e.offset(pageAddress, offsetInPage), scratchAt(target + block * kPointerBytes));
  }
}

/// Stores the addresses (for head 0) of the rows of the tile at `begin`. A row that
/// is not visible gets the address of one that is.
void AttentionKernel::emitFindRows(const Component &c, Value params, Value begin) {
  Value data = e.load(e.ptrType(), e.offset(params, c.params + offsetof(ArrayParam, data)));
  Value stride =
      e.load(e.i64Type(), e.offset(params, c.params + offsetof(ArrayParam, tokenStride)));
  Value last = e.sub(kvEnd, e.i64(1));
  e.loop(e.i64(0), e.i64(tile), 1, [&](Value i) {
    Value token = e.min(e.max(e.add(begin, i), kvBegin), last);
    Value pageOffset =
        emitPageOffset(e, params, itemFields.firstPage, token, page, c.params);
    Value inPage = e.mul(e.rem(token, page), stride);
    e.store(e.offset(e.offset(data, pageOffset), inPage),
            scratchAt(c.rows, e.mul(i, kPointerBytes)));
  });
}

//===----------------------------------------------------------------------===//
// Fetch
//===----------------------------------------------------------------------===//

/// Stores the addresses of the packed blocks of one head, and what to prefetch.
void AttentionKernel::emitFetch(const Component &c, bool isKey, Value params, Value head,
                                Value isLast) {
  Value stride =
      e.load(e.i64Type(), e.offset(params, c.params + offsetof(ArrayParam, headStride)));
  Value headOffset = e.mul(head, stride);
  auto slot = [&](int64_t array, Value block) {
    return scratchAt(array, e.mul(block, kPointerBytes));
  };
  Value numBlocks = e.i64(tile / kPackedTokens);
  auto packedAt = [&](Value block) { return scratchAt(c.packed, e.mul(block, c.blockBytes())); };

  if (!c.hasBlocks()) {
    e.loop(e.i64(0), numBlocks, 1, [&](Value block) {
      BlockRows rows;
      for (int64_t i = 0; i < kPackedTokens; ++i) {
        Value token = e.add(e.mul(block, kPackedTokens), i);
        Value row = e.load(e.ptrType(), slot(c.rows, token));
        rows.addresses.push_back(e.offset(row, headOffset));
        rows.valid.push_back(isVisible(token));
      }
      if (c.isQuantized()) {
        rows.addresses = emitDecodeRows(c, rows);
        rows.valid.assign(kPackedTokens, arith::ConstantIntOp::create(e.b, e.loc, 1, 1));
      }
      Value target = packedAt(block);
      isKey ? emitPackKeyRows(c, rows, target) : emitPackValueRows(c, rows, target);
      e.store(target, slot(c.blocks, block));
    });
    return;
  }

  auto inPlace = [&](Value block) {
    return e.offset(e.load(e.ptrType(), slot(c.base, block)), headOffset);
  };
  // Rows of codes are a block where they lie side by side, as they do in pools.
  Value tokenStride, isDense = arith::ConstantIntOp::create(e.b, e.loc, 1, 1);
  if (!c.isPacked()) {
    tokenStride =
        e.load(e.i64Type(), e.offset(params, c.params + offsetof(ArrayParam, tokenStride)));
    isDense = e.equal(tokenStride, e.i64(c.storedBytes() / kPackedTokens));
  }
  auto storeAhead = [&] {
    for (int64_t i = 0; phase == Phase::Decode && i < tile / kPackedTokens; ++i) {
      Value nextHead = e.offset(inPlace(e.i64(i)), stride);
      Value nextTile = e.load(e.ptrType(), slot(c.next, e.i64(i)));
      e.store(e.select(isLast, nextTile, nextHead), slot(c.ahead, e.i64(i)));
    }
  };
  if (c.decodesBlocks()) {
    auto decode = [&](Value source, Value target, Value ahead) {
      c.decoding == Decoding::Halves ? emitDecodeHalves(c, source, target)
                                     : emitDecodeWords(c, isKey, source, target, ahead);
    };
    storeAhead();
    e.loop(e.i64(0), numBlocks, 1, [&](Value block) {
      Value begin = e.mul(block, kPackedTokens), target = packedAt(block);
      Value whole = e.logicalAnd(e.lessOrEqual(validBegin, begin),
                                 e.lessOrEqual(e.add(begin, kPackedTokens), validEnd));
      Value ahead = e.mul(block, c.storedBytes() / kDecodedShare);
      e.store(target, slot(c.blocks, block));
      e.ifThen(
          e.logicalAnd(whole, isDense), [&] { decode(inPlace(block), target, ahead); },
          [&] {
            Value copy = scratchAt(c.decoded);
            if (c.isPacked())
              emitCopyImage(c, isKey, inPlace(block), block, copy);
            else
              emitCopyRows(c, inPlace(block), tokenStride, block, copy);
            decode(copy, target, ahead);
          });
    });
    return;
  }
  if (!c.isInPlace()) {
    e.loop(e.i64(0), numBlocks, 1, [&](Value block) {
      Value target = packedAt(block);
      emitDecodeImage(c, isKey, inPlace(block), block, target);
      e.store(target, slot(c.blocks, block));
    });
    return;
  }
  auto storeAll = [&] {
    for (int64_t i = 0; i < tile / kPackedTokens; ++i)
      e.store(inPlace(e.i64(i)), slot(c.blocks, e.i64(i)));
  };
  auto storeEach = [&] {
    e.loop(e.i64(0), numBlocks, 1, [&](Value block) {
      Value begin = e.mul(block, kPackedTokens);
      Value whole = e.logicalAnd(e.lessOrEqual(validBegin, begin),
                                 e.lessOrEqual(e.add(begin, kPackedTokens), validEnd));
      e.ifThen(
          e.logicalAnd(whole, isDense), [&] { e.store(inPlace(block), slot(c.blocks, block)); },
          [&] {
            Value target = packedAt(block);
            if (!c.isPacked())
              emitCopyRows(c, inPlace(block), tokenStride, block, target);
            else if (c.isQuantized())
              emitCopyImage(c, isKey, inPlace(block), block, target);
            else if (isKey)
              emitCopyKeys(c, inPlace(block), block, target);
            else
              emitCopyValues(c, inPlace(block), block, target);
            e.store(target, slot(c.blocks, block));
          });
    });
  };
  e.ifThen(e.logicalAnd(isFull, isDense), storeAll, storeEach);
  storeAhead();
}

//===----------------------------------------------------------------------===//
// Row-major rows to a packed block
//===----------------------------------------------------------------------===//

/// Transposes 16 vectors of 16 elements by exchanging ever larger sub-squares.
static void transpose16(Emitter &e, SmallVectorImpl<Value> &rows) {
  for (int64_t distance = 1; distance < 16; distance *= 2) {
    SmallVector<int64_t> low, high;
    for (int64_t i = 0; i < 16; ++i) {
      low.push_back(i & distance ? 16 + i - distance : i);
      high.push_back(i & distance ? 16 + i : i + distance);
    }
    for (int64_t i = 0; i < 16; ++i)
      if (!(i & distance)) {
        Value x = rows[i], y = rows[i + distance];
        rows[i] = vector::ShuffleOp::create(e.b, e.loc, x, y, low);
        rows[i + distance] = vector::ShuffleOp::create(e.b, e.loc, x, y, high);
      }
  }
}

void AttentionKernel::emitPackKeyRows(const Component &c, const BlockRows &rows,
                                      Value target) {
  // 32-bit words of the rows become vectors of 16 keys.
  int64_t elementBytes = getByteWidth(c.element), wordElements = 4 / elementBytes;
  int64_t words = c.width / wordElements;
  int64_t whole = e.tier == CPUTier::Plain ? 0 : words / 16 * 16;
  VectorType wordVector = e.vectorOf(16, e.i32Type());
  Value zero = arith::ConstantOp::create(e.b, e.loc, e.b.getZeroAttr(wordVector));
  e.loop(e.i64(0), e.i64(whole), 16, [&](Value word) {
    SmallVector<Value> vectors;
    for (auto [address, valid] : llvm::zip(rows.addresses, rows.valid)) {
      Value loaded = e.load(wordVector, e.offset(address, e.mul(word, 4)), elementBytes);
      vectors.push_back(e.select(valid, loaded, zero));
    }
    transpose16(e, vectors);
    Value out = e.offset(target, e.mul(word, 64));
    for (auto [i, keys] : llvm::enumerate(vectors)) {
      if (wordElements == c.pair || elementBytes == 4) {
        e.store(keys, e.offset(out, i * 64));
        continue;
      }
      // Two elements a word that are not a pair: one vector of keys for each.
      Value halves = vector::BitCastOp::create(e.b, e.loc, e.vectorOf(32, e.i16Type()), keys);
      SmallVector<int64_t> even, odd;
      for (int64_t lane = 0; lane < 16; ++lane)
        even.push_back(2 * lane), odd.push_back(2 * lane + 1);
      e.store(vector::ShuffleOp::create(e.b, e.loc, halves, halves, even),
              e.offset(out, i * 64));
      e.store(vector::ShuffleOp::create(e.b, e.loc, halves, halves, odd),
              e.offset(out, i * 64 + 32));
    }
  });
  // What is left, one pair of elements of one key at a time.
  Type unit = getUnitType(e, c.element, c.pair);
  int64_t unitBytes = getByteWidth(unit);
  Value zeroUnit = arith::ConstantOp::create(e.b, e.loc, e.b.getZeroAttr(unit));
  e.loop(e.i64(whole * wordElements / c.pair), e.i64(c.width / c.pair), 1, [&](Value index) {
    for (auto [i, row] : llvm::enumerate(llvm::zip(rows.addresses, rows.valid))) {
      auto [address, valid] = row;
      Value loaded = e.load(unit, e.offset(address, e.mul(index, unitBytes)), elementBytes);
      e.store(e.select(valid, loaded, zeroUnit),
              e.offset(e.offset(target, e.mul(index, kPackedTokens * unitBytes)),
                       i * unitBytes));
    }
  });
}

void AttentionKernel::emitPackValueRows(const Component &c, const BlockRows &rows,
                                        Value target) {
  constexpr int64_t kChunk = 8; // divides every width
  int64_t elementBytes = getByteWidth(c.element);
  Type bits = e.b.getIntegerType(c.element.getIntOrFloatBitWidth());
  VectorType chunkType = e.vectorOf(kChunk, bits);
  Value zero = arith::ConstantOp::create(e.b, e.loc, e.b.getZeroAttr(chunkType));
  SmallVector<int64_t> interleave;
  for (int64_t i = 0; i < kChunk; ++i)
    interleave.append({i, i + kChunk});
  e.loop(e.i64(0), e.i64(c.width / kChunk), 1, [&](Value chunk) {
    Value column = e.mul(chunk, kChunk * elementBytes);
    auto loadRow = [&](int64_t token) {
      Value loaded = e.load(chunkType, e.offset(rows.addresses[token], column));
      return e.select(rows.valid[token], loaded, zero);
    };
    for (int64_t token = 0; token < kPackedTokens; token += c.pair) {
      Value out = e.offset(e.offset(target, e.mul(column, c.pair)),
                           token * c.width * elementBytes);
      Value row = loadRow(token);
      if (c.pair == 2)
        row = vector::ShuffleOp::create(e.b, e.loc, row, loadRow(token + 1), interleave);
      e.store(row, out);
    }
  });
}

//===----------------------------------------------------------------------===//
// A packed block of which not all keys are visible
//===----------------------------------------------------------------------===//

void AttentionKernel::emitCopyKeys(const Component &c, Value source, Value block,
                                   Value target) {
  Type unit = getUnitType(e, c.element, c.pair);
  VectorType keysType = e.vectorOf(kPackedTokens, unit);
  Value visible = visibleLanes(block);
  Value zero = arith::ConstantOp::create(e.b, e.loc, e.b.getZeroAttr(keysType));
  int64_t bytes = kPackedTokens * getByteWidth(unit);
  e.loop(e.i64(0), e.i64(c.width / c.pair), 1, [&](Value i) {
    Value offset = e.mul(i, bytes);
    Value keys = e.load(keysType, e.offset(source, offset), getByteWidth(c.element));
    e.store(e.select(visible, keys, zero), e.offset(target, offset));
  });
}

void AttentionKernel::emitCopyValues(const Component &c, Value source, Value block,
                                     Value target) {
  constexpr int64_t kChunk = 8; // divides every width
  Type unit = getUnitType(e, c.element, c.pair);
  int64_t elementBits = c.element.getIntOrFloatBitWidth();
  Value zero = arith::ConstantOp::create(e.b, e.loc, e.b.getZeroAttr(unit));
  e.loop(e.i64(0), e.i64(kPackedTokens / c.pair), 1, [&](Value group) {
    Value token = e.add(e.mul(block, kPackedTokens), e.mul(group, c.pair));
    // The bits of the visible keys of a pair.
    Value mask = zero;
    for (int64_t i = 0; i < c.pair; ++i) {
      APInt bits = APInt::getBitsSet(unit.getIntOrFloatBitWidth(), i * elementBits,
                                     (i + 1) * elementBits);
      Value set = arith::ConstantOp::create(e.b, e.loc, IntegerAttr::get(unit, bits));
      mask = e.logicalOr(mask, e.select(isVisible(e.add(token, i)), set, zero));
    }
    Value masks = e.broadcast(mask, kChunk);
    Value rowOffset = e.mul(group, c.width * getByteWidth(unit));
    e.loop(e.i64(0), e.i64(c.width / kChunk), 1, [&](Value chunk) {
      Value offset = e.add(rowOffset, e.mul(chunk, kChunk * getByteWidth(unit)));
      Value units = e.load(e.vectorOf(kChunk, unit), e.offset(source, offset),
                           getByteWidth(c.element));
      e.store(e.logicalAnd(units, masks), e.offset(target, offset));
    });
  });
}

} // namespace kvc
