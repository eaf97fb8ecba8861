//===- AttentionDequantize.cpp - from codes to operands -------------------===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Codes of 8 and 4 bits become f32 or bf16, which hold each of them exactly: in
// registers, from the images made for that, or a block at a time into scratch. Without scales:
// see AttentionScales.cpp. The images are those of #kvc.component.
//===----------------------------------------------------------------------===//
#include "AttentionKernel.h"

#include "kvc/Conversion/Codes.h"

#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "llvm/ADT/APFloat.h"

using namespace mlir;

namespace kvc {

/// Tokens of one word of a value, columns or tokens of one step of the decoding.
static constexpr int64_t kWordTokens = 4, kChunk = 8;

static Value shuffle(Emitter &e, Value x, Value y, ArrayRef<int64_t> indices) {
  return vector::ShuffleOp::create(e.b, e.loc, x, y, indices);
}

/// Elements 0, 1, 2, ... of two vectors in turn.
static Value interleave(Emitter &e, Value x, Value y) {
  SmallVector<int64_t> indices;
  int64_t size = cast<VectorType>(x.getType()).getDimSize(0);
  for (int64_t i = 0; i < size; ++i)
    indices.append({i, i + size});
  return shuffle(e, x, y, indices);
}

static Value shift(Emitter &e, Value x, int64_t left, int64_t right) {
  if (left != 0)
    x = arith::ShLIOp::create(e.b, e.loc, x, e.intSplat(x, left));
  return right == 0 ? x : Value(arith::ShRSIOp::create(e.b, e.loc, x, e.intSplat(x, right)));
}

//===----------------------------------------------------------------------===//
// Into scratch: row-major codes
//===----------------------------------------------------------------------===//

/// The codes of 8 elements of a row, as i8.
static Value loadRowCodes(Emitter &e, bool is4Bit, Value address) {
  if (!is4Bit)
    return e.load(e.vectorOf(kChunk, e.b.getI8Type()), address);
  Value bytes = e.load(e.vectorOf(kChunk / 2, e.b.getI8Type()), address);
  return interleave(e, shift(e, bytes, 4, 4), shift(e, bytes, 0, 4));
}

/// Decodes the rows of a block; returns where each is now. Those that are not visible
/// are zero.
SmallVector<Value> AttentionKernel::emitDecodeRows(const Component &c, const BlockRows &rows) {
  Type stored = c.attr.getElementType();
  int64_t elementBytes = getByteWidth(c.element), rowBytes = c.width * elementBytes;
  int64_t chunkBytes = kChunk * stored.getIntOrFloatBitWidth() / 8;
  SmallVector<Value> decoded;
  for (int64_t i = 0; i < kPackedTokens; ++i)
    decoded.push_back(scratchAt(c.decoded + i * rowBytes));
  CodeEmitter codes(e.b, e.loc);
  e.loop(e.i64(0), e.i64(c.width / kChunk), 1, [&](Value chunk) {
    Value offset = e.mul(chunk, chunkBytes);
    Value target = e.mul(chunk, kChunk * elementBytes);
    for (auto [row, valid, to] : llvm::zip(rows.addresses, rows.valid, decoded)) {
      Value code = loadRowCodes(e, c.is4Bit(), e.offset(row, offset));
      Value number = e.select(valid, codes.decode(code, stored), e.splat(kChunk, 0.0));
      e.store(e.fromF32(number, c.element), e.offset(to, target));
    }
  });
  return decoded;
}

//===----------------------------------------------------------------------===//
// Into scratch: images
//===----------------------------------------------------------------------===//

/// Element w of a word of each of the 16 keys in 64 bytes, as i8.
static Value extractKeys(Emitter &e, bool is4Bit, Value line, int64_t w) {
  if (is4Bit) { // in words of 8
    Value words =
        vector::BitCastOp::create(e.b, e.loc, e.vectorOf(kPackedTokens, e.i32Type()), line);
    int64_t place = w / 2 + w % 2 * 4;
    Value code = shift(e, words, 28 - 4 * place, 28);
    return arith::TruncIOp::create(e.b, e.loc, e.vectorOf(kPackedTokens, e.b.getI8Type()),
                                   code);
  }
  SmallVector<int64_t> indices;
  for (int64_t token = 0; token < kPackedTokens; ++token)
    indices.push_back(token / 4 * 16 + w / 2 * 8 + token % 4 * 2 + w % 2);
  return shuffle(e, line, line, indices);
}

/// Token t of 4 of the 8 columns in 32 or 16 bytes, as i8.
static Value extractValues(Emitter &e, bool is4Bit, Value line, int64_t token) {
  SmallVector<int64_t> indices;
  if (is4Bit) {
    for (int64_t lane = 0; lane < 4; ++lane)
      indices.push_back(lane * 4 + token % 2 * 2 + token / 2);
    Value bytes = shuffle(e, line, line, indices);
    return shuffle(e, shift(e, bytes, 4, 4), shift(e, bytes, 0, 4), {0, 1, 2, 3, 4, 5, 6, 7});
  }
  for (int64_t column = 0; column < kChunk; ++column)
    indices.push_back(column / 4 * 16 + token / 2 * 8 + column % 4 * 2 + token % 2);
  return shuffle(e, line, line, indices);
}

/// Decodes 16 bytes for 16 keys each to a packed block.
static Value extractLaneKeys(Emitter &e, bool is4Bit, Value source, Value w, int64_t next) {
  Type i8 = e.b.getI8Type();
  if (!is4Bit)
    return e.load(e.vectorOf(kPackedTokens, i8),
                  e.offset(source, e.mul(e.add(w, next), kPackedTokens)));
  Value bytes = e.load(e.vectorOf(kPackedTokens, i8),
                       e.offset(source, e.mul(e.div(w, 2), kPackedTokens)));
  return next == 0 ? shift(e, bytes, 4, 4) : shift(e, bytes, 0, 4);
}

/// Decodes a block of an image to a packed block, rows that are not visible as zero.
void AttentionKernel::emitDecodeImage(const Component &c, bool isKey, Value source, Value block,
                                      Value target) {
  Type stored = c.attr.getElementType(), i8 = e.b.getI8Type();
  int64_t elementBytes = getByteWidth(c.element);
  CodeEmitter codes(e.b, e.loc);
  if (c.layout == Layout::LaneKey) {
    Value visible = visibleLanes(block);
    e.loop(e.i64(0), e.i64(c.width), 2, [&](Value w) {
      SmallVector<Value> keys;
      for (int64_t next : {0, 1}) {
        Value number = codes.decode(extractLaneKeys(e, c.is4Bit(), source, w, next), stored);
        keys.push_back(e.select(visible, number, e.splat(kPackedTokens, 0.0)));
      }
      Value out = e.offset(target, e.mul(w, kPackedTokens * elementBytes));
      if (c.pair == 2)
        return e.store(e.fromF32(interleave(e, keys[0], keys[1]), c.element), out);
      e.store(keys[0], out);
      e.store(keys[1], e.offset(out, kPackedTokens * elementBytes));
    });
    return;
  }
  if (isKey) {
    Value visible = visibleLanes(block);
    int64_t wordElements = c.is4Bit() ? 8 : 4;
    e.loop(e.i64(0), e.i64(c.width / wordElements), 1, [&](Value line) {
      Value bytes = e.load(e.vectorOf(64, i8), e.offset(source, e.mul(line, 64)));
      Value out = e.offset(target, e.mul(line, wordElements * kPackedTokens * elementBytes));
      auto keys = [&](int64_t w) {
        Value number = codes.decode(extractKeys(e, c.is4Bit(), bytes, w), stored);
        return e.select(visible, number, e.splat(kPackedTokens, 0.0));
      };
      for (int64_t w = 0; w < wordElements; w += c.pair) {
        Value vector = c.pair == 2 ? interleave(e, keys(w), keys(w + 1)) : keys(w);
        e.store(e.fromF32(vector, c.element), e.offset(out, w * kPackedTokens * elementBytes));
      }
    });
    return;
  }
  int64_t lineBytes = kWordTokens * kChunk * stored.getIntOrFloatBitWidth() / 8;
  Value zero = e.splat(kChunk, 0.0);
  e.loop(e.i64(0), e.i64(kPackedTokens / kWordTokens), 1, [&](Value group) {
    Value first = e.mul(group, kWordTokens);
    Value token = e.add(e.mul(block, kPackedTokens), first);
    SmallVector<Value> visible;
    for (int64_t i = 0; i < kWordTokens; ++i)
      visible.push_back(isVisible(e.add(token, i)));
    Value row = e.offset(source, e.mul(group, c.width / kChunk * lineBytes));
    Value out = e.offset(target, e.mul(first, c.width * elementBytes));
    e.loop(e.i64(0), e.i64(c.width / kChunk), 1, [&](Value chunk) {
      Value bytes = e.load(e.vectorOf(lineBytes, i8), e.offset(row, e.mul(chunk, lineBytes)));
      Value columns = e.offset(out, e.mul(chunk, kChunk * c.pair * elementBytes));
      auto values = [&](int64_t i) {
        Value number = codes.decode(extractValues(e, c.is4Bit(), bytes, i), stored);
        return e.select(visible[i], number, zero);
      };
      for (int64_t i = 0; i < kWordTokens; i += c.pair) {
        Value vector = c.pair == 2 ? interleave(e, values(i), values(i + 1)) : values(i);
        e.store(e.fromF32(vector, c.element), e.offset(columns, i * c.width * elementBytes));
      }
    });
  });
}

//===----------------------------------------------------------------------===//
// A block of an image of which not all keys are visible
//===----------------------------------------------------------------------===//

/// Copies a block of an image, with code 0 for what is not visible.
void AttentionKernel::emitCopyImage(const Component &c, bool isKey, Value source, Value block,
                                    Value target) {
  Type i8 = e.b.getI8Type();
  // The token of each byte, of 16 in a line of keys, of 4 in one of values.
  SmallVector<int64_t> tokens;
  for (int64_t byte = 0; byte < 64; ++byte) {
    if (c.layout == Layout::LaneKey)
      tokens.push_back(byte % kPackedTokens);
    else if (isKey)
      tokens.push_back(c.is4Bit() ? byte / 4 : byte / 16 * 4 + byte % 8 / 2);
    else
      tokens.push_back(c.is4Bit() ? byte % 4 / 2 + byte % 2 * 2 : byte % 16 / 8 * 2 + byte % 2);
  }
  Value all =
      arith::ExtSIOp::create(e.b, e.loc, e.vectorOf(kPackedTokens, i8), visibleLanes(block));
  int64_t rowBytes = c.storedBytes() / 4; // of 4 tokens
  if (isKey) { // in lines of 64 bytes, or of 16 if the width is that small
    int64_t lineBytes = c.storedBytes() % 64 == 0 ? 64 : kPackedTokens;
    Value mask = shuffle(e, all, all, ArrayRef(tokens).take_front(lineBytes));
    e.loop(e.i64(0), e.i64(c.storedBytes()), lineBytes, [&](Value offset) {
      Value bytes = e.load(e.vectorOf(lineBytes, i8), e.offset(source, offset));
      e.store(e.logicalAnd(bytes, mask), e.offset(target, offset));
    });
    return;
  }
  for (int64_t group = 0; group < kPackedTokens / kWordTokens; ++group) {
    SmallVector<int64_t> indices;
    for (int64_t token : ArrayRef(tokens).take_front(16))
      indices.push_back(group * kWordTokens + token);
    Value mask = shuffle(e, all, all, indices);
    e.loop(e.i64(group * rowBytes), e.i64((group + 1) * rowBytes), 16, [&](Value offset) {
      Value bytes = e.load(e.vectorOf(16, i8), e.offset(source, offset));
      e.store(e.logicalAnd(bytes, mask), e.offset(target, offset));
    });
  }
}

/// Copies a block of rows that lie `stride` bytes apart, those that are not visible as
/// code 0.
void AttentionKernel::emitCopyRows(const Component &c, Value source, Value stride, Value block,
                                   Value target) {
  int64_t rowBytes = c.storedBytes() / kPackedTokens;
  VectorType chunk = e.vectorOf(4, e.b.getI8Type()); // divides every row
  Value zero = arith::ConstantOp::create(e.b, e.loc, e.b.getZeroAttr(chunk));
  e.loop(e.i64(0), e.i64(kPackedTokens), 1, [&](Value i) {
    Value visible = isVisible(e.add(e.mul(block, kPackedTokens), i));
    Value from = e.offset(source, e.mul(i, stride)), to = e.offset(target, e.mul(i, rowBytes));
    e.loop(e.i64(0), e.i64(rowBytes), 4, [&](Value offset) {
      Value bytes = e.load(chunk, e.offset(from, offset));
      e.store(e.select(visible, bytes, zero), e.offset(to, offset));
    });
  });
}

//===----------------------------------------------------------------------===//
// Into scratch: f16
//===----------------------------------------------------------------------===//

/// Decodes a block of floats of 8 bits, element by element, to f16, which processors
/// convert to f32 as they load it: e5m2 is its upper half, and e4m3 between its sign and
/// its last bits 2^-8 of what it should be, but for NaN, which is looked for on the way.
void AttentionKernel::emitDecodeHalves(const Component &c, Value source, Value target) {
  constexpr int64_t kBytes = 64;
  Type element = c.attr.getElementType(), i8 = e.b.getI8Type();
  VectorType lineType = e.vectorOf(kBytes, i8), wordsType = e.vectorOf(kBytes / 2, e.i16Type());
  bool isE4M3 = isa<Float8E4M3FNType>(element);
  Value none = arith::ConstantOp::create(e.b, e.loc, e.b.getZeroAttr(lineType));
  Value largest =
      e.loop(e.i64(0), e.i64(c.storedBytes()), kBytes, {none},
             [&](Value offset, ValueRange carried) -> SmallVector<Value> {
               Value from = e.offset(source, offset), to = e.offset(target, e.mul(offset, 2));
               for (int64_t half : {0, 1}) {
                 Value bytes =
                     e.load(e.vectorOf(kBytes / 2, i8), e.offset(from, half * kBytes / 2));
                 Value words = arith::ExtSIOp::create(e.b, e.loc, wordsType, bytes);
                 words = shift(e, words, isE4M3 ? 7 : 8, 0);
                 if (isE4M3)
                   words = e.logicalAnd(words, e.intSplat(words, static_cast<int16_t>(0xbfff)));
                 e.store(words, e.offset(to, half * kBytes));
               }
               if (!isE4M3)
                 return {carried[0]};
               Value codes = e.load(lineType, from); // without their signs
               return {arith::MaxUIOp::create(e.b, e.loc, carried[0], e.add(codes, codes))};
             })[0];
  if (!isE4M3)
    return;
  Value max = vector::ReductionOp::create(e.b, e.loc, vector::CombiningKind::MAXUI, largest);
  e.ifThen(e.equal(max, e.intSplat(max, 2 * 0x7f)), [&] {
    e.loop(e.i64(0), e.i64(c.storedBytes()), kChunk, [&](Value offset) {
      Value codes = e.load(e.vectorOf(kChunk, i8), e.offset(source, offset));
      Value number = CodeEmitter(e.b, e.loc).decode(codes, element);
      number = e.mulf(number, e.splat(kChunk, 1 / c.operandFactor()));
      e.store(e.fromF32(number, c.element), e.offset(target, e.mul(offset, 2)));
    });
  });
}

//===----------------------------------------------------------------------===//
// In registers: pairs of bf16
//===----------------------------------------------------------------------===//

/// The upper 16 bits of the f32 that a code stands for; bf16 holds it exactly.
static uint16_t getBF16(Type element, uint8_t code) {
  APFloat number(0.0f);
  if (element.isInteger(8)) {
    number = APFloat(static_cast<float>(static_cast<int8_t>(code)));
  } else {
    bool lost;
    number = APFloat(cast<FloatType>(element).getFloatSemantics(), APInt(8, code));
    number.convert(APFloat::IEEEsingle(), APFloat::rmNearestTiesToEven, &lost);
  }
  return number.bitcastToAPInt().getZExtValue() >> 16;
}

/// One byte of the bf16 of 128 codes from `first` on, in two registers.
static std::pair<Value, Value> makeTable(Emitter &e, Type element, int first, int byte) {
  auto half = [&](int begin) -> Value {
    SmallVector<int8_t> bytes;
    for (int code = begin; code < begin + 64; ++code)
      bytes.push_back(static_cast<int8_t>(getBF16(element, code) >> (8 * byte)));
    return arith::ConstantOp::create(
        e.b, e.loc,
        DenseElementsAttr::get(e.vectorOf(64, e.b.getI8Type()), ArrayRef<int8_t>(bytes)));
  };
  return {half(first), half(first + 64)};
}

/// vpermi2b: entry `index % 128` of a table.
static Value lookUp(Emitter &e, std::pair<Value, Value> table, Value index) {
  return LLVM::CallIntrinsicOp::create(e.b, e.loc, index.getType(),
                                       e.b.getStringAttr("llvm.x86.avx512.vpermi2var.qi.512"),
                                       ValueRange{table.first, index, table.second})
      .getResult(0);
}

/// The first elements of a vector, or all of it.
static Value takeFront(Emitter &e, Value x, int64_t count) {
  if (cast<VectorType>(x.getType()).getDimSize(0) == count)
    return x;
  return shuffle(e, x, x, llvm::to_vector(llvm::seq<int64_t>(0, count)));
}

static SmallVector<Value> decodeBytes(Emitter &e, Type element, Value bytes) {
  Value high, low;
  auto table = [&](int first, int byte) { return makeTable(e, element, first, byte); };
  if (isa<FloatType>(element)) {
    Value sign = e.logicalAnd(bytes, e.intSplat(bytes, -128));
    high = e.logicalOr(lookUp(e, table(0, 1), bytes), sign);
    low = lookUp(e, table(0, 0), bytes);
  } else {
    Value isNegative = e.less(bytes, e.intSplat(bytes, 0));
    high = e.select(isNegative, lookUp(e, table(128, 1), bytes), lookUp(e, table(0, 1), bytes));
    low = e.select(isNegative, lookUp(e, table(128, 0), bytes), lookUp(e, table(0, 0), bytes));
  }
  // vpunpcklbw and vpunpckhbw: within each 16 bytes.
  SmallVector<Value> operands;
  for (int64_t first : {0, 8}) {
    SmallVector<int64_t> indices;
    for (int64_t lane = 0; lane < 64; lane += 16)
      for (int64_t i = 0; i < 8; ++i)
        indices.append({lane + first + i, 64 + lane + first + i});
    operands.push_back(vector::BitCastOp::create(e.b, e.loc, e.vectorOf(32, e.b.getBF16Type()),
                                                 shuffle(e, low, high, indices)));
  }
  return operands;
}

static SmallVector<Value> decodeNibbles(Emitter &e, Value bytes) {
  // Twice, since vpermw looks at 5 bits: no masking.
  SmallVector<int16_t> entries;
  for (int i = 0; i < 32; ++i) {
    int code = i % 16 < 8 ? i % 16 : i % 16 - 16;
    entries.push_back(static_cast<int16_t>(
        getBF16(IntegerType::get(e.b.getContext(), 8), static_cast<uint8_t>(code))));
  }
  VectorType words = e.vectorOf(32, e.i16Type());
  Value table = arith::ConstantOp::create(
      e.b, e.loc, DenseElementsAttr::get(words, ArrayRef<int16_t>(entries)));
  Value packed = vector::BitCastOp::create(e.b, e.loc, words, bytes);
  SmallVector<Value> operands;
  for (int64_t i = 0; i < 4; ++i) {
    Value index = packed;
    if (i > 0)
      index = arith::ShRUIOp::create(e.b, e.loc, packed, e.intSplat(packed, 4 * i));
    Value looked = LLVM::CallIntrinsicOp::create(
                       e.b, e.loc, words, e.b.getStringAttr("llvm.x86.avx512.permvar.hi.512"),
                       ValueRange{table, index})
                       .getResult(0);
    operands.push_back(
        vector::BitCastOp::create(e.b, e.loc, e.vectorOf(32, e.b.getBF16Type()), looked));
  }
  return operands;
}

SmallVector<Value> AttentionKernel::decodeWords(const Component &c, Value words) {
  int64_t bytes = cast<VectorType>(words.getType()).getDimSize(0);
  if (bytes < 64) {
    SmallVector<int64_t> indices(64, -1);
    for (int64_t i = 0; i < bytes; ++i)
      indices[i] = i;
    words = shuffle(e, words, words, indices);
  }
  SmallVector<Value> operands =
      c.is4Bit() ? decodeNibbles(e, words) : decodeBytes(e, c.attr.getElementType(), words);
  for (Value &operand : operands)
    operand = takeFront(e, operand, bytes / 2);
  return operands;
}

/// Decodes a block of a packed image to a packed block of bf16, and prefetches a line for
/// kDecodedShare lines, from `ahead` on (see emitPrefetch).
void AttentionKernel::emitDecodeWords(const Component &c, bool isKey, Value source,
                                      Value target, Value ahead) {
  constexpr int64_t kBytes = 64;
  VectorType line = e.vectorOf(kBytes, e.b.getI8Type());
  int64_t bits = c.attr.getElementType().getIntOrFloatBitWidth();
  int64_t operands = 16 / bits; // of a line, as long each
  auto prefetch = [&](Value offset) {
    emitPrefetch(c, e.add(ahead, e.div(offset, kDecodedShare)), 0, kBytes / kDecodedShare);
  };
  if (isKey) {
    e.loop(e.i64(0), e.i64(c.storedBytes()), kBytes, [&](Value offset) {
      Value to = e.offset(target, e.mul(offset, operands));
      prefetch(offset);
      for (auto [i, operand] :
           llvm::enumerate(decodeWords(c, e.load(line, e.offset(source, offset)))))
        e.store(operand, e.offset(to, i * 64));
    });
    return;
  }
  // A line has four tokens, two pairs, of 16 columns or, in turn, twice as many.
  int64_t together = operands / 2, pairBytes = c.width * 4;
  int64_t groupBytes = kWordTokens * c.width * bits / 8, columnBytes = together * 64;
  e.loop(e.i64(0), e.i64(kPackedTokens / kWordTokens), 1, [&](Value group) {
    Value from = e.offset(source, e.mul(group, groupBytes));
    Value to = e.offset(target, e.mul(group, 2 * pairBytes));
    e.loop(e.i64(0), e.i64(groupBytes / kBytes), 1, [&](Value column) {
      Value words = e.load(line, e.offset(from, e.mul(column, kBytes)));
      Value columns = e.offset(to, e.mul(column, columnBytes));
      prefetch(e.add(e.mul(group, groupBytes), e.mul(column, kBytes)));
      for (auto [i, operand] : llvm::enumerate(decodeWords(c, words)))
        e.store(operand, e.offset(columns, i / together * pairBytes + i % together * 64));
    });
  });
}

//===----------------------------------------------------------------------===//
// In registers: lanes of f32
//===----------------------------------------------------------------------===//

SmallVector<Value> AttentionKernel::decodeLanes(const Component &c, Value bytes) {
  Type element = c.attr.getElementType();
  auto type = cast<VectorType>(bytes.getType());
  auto extended = [&](Type to) -> Value {
    return arith::ExtSIOp::create(e.b, e.loc, type.clone(to), bytes);
  };
  auto toFloat = [&](Value x) -> Value {
    return arith::SIToFPOp::create(e.b, e.loc, type.clone(e.f32Type()), x);
  };
  if (element.isInteger(8))
    return {toFloat(extended(e.i32Type()))};
  Value words = extended(e.i32Type());
  return {toFloat(shift(e, words, 28, 28)), toFloat(shift(e, words, 0, 4))};
}

} // namespace kvc
