//===- AttentionKernel.cpp - the generator of CPU attention ---------------===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "AttentionKernel.h"

#include "kvc/Dialect/KVC/IR/MatrixTiles.h"

#include "llvm/Support/MathExtras.h"

#include <limits>

using namespace mlir;

namespace kvc {

//===----------------------------------------------------------------------===//
// Set-up
//===----------------------------------------------------------------------===//

int64_t AttentionKernel::allocate(int64_t bytes) {
  int64_t offset = scratchBytes;
  scratchBytes = llvm::alignTo(offset + bytes, 64);
  return offset;
}

Decoding AttentionKernel::chooseDecoding(ComponentAttr attr, bool isKey) const {
  if (!isQuantized(attr.getElementType()))
    return Decoding::None;
  Layout layout = attr.getLayout();
  if (tiles && layout == (isKey ? Layout::PackedKey : Layout::PackedValue))
    return Decoding::Words;
  // What is used by many rows is decoded once.
  if (group * queryTokens > 2 * registers.getRows())
    return Decoding::Block;
  if (dot)
    return layout == (isKey ? Layout::PackedKey : Layout::PackedValue) ? Decoding::Pairs
                                                                       : Decoding::Block;
  bool isLanes = isKey ? layout == Layout::LaneKey
                       : layout == Layout::RowMajor && page % kPackedTokens == 0;
  if (!isLanes || e.tier == CPUTier::Plain)
    return Decoding::Block;
  return isa<FloatType>(attr.getElementType()) ? Decoding::Halves : Decoding::Lanes;
}

void AttentionKernel::addComponent(Component &c, ComponentAttr attr, bool isKey,
                                   int64_t params) {
  c.attr = attr;
  c.width = attr.getWidth();
  c.layout = attr.getLayout();
  c.decoding = chooseDecoding(attr, isKey);
  // Operands hold codes exactly.
  if (c.decoding == Decoding::Halves)
    c.element = e.b.getF16Type();
  else if (c.isQuantized())
    c.element = dot ? Type(e.b.getBF16Type()) : e.f32Type();
  else
    c.element = attr.getElementType();
  c.pair = getPackedPair(c.element);
  c.params = params;
  int64_t pointers = tile / kPackedTokens * sizeof(void *);
  c.base = allocate(pointers);
  c.next = allocate(pointers);
  c.blocks = allocate(pointers);
  c.ahead = allocate(pointers);
  c.rows = c.hasBlocks() ? 0 : allocate(tile * sizeof(void *));
  c.packed = allocate(tile / kPackedTokens * c.blockBytes());
  if (!c.isQuantized())
    return;
  if (!c.hasBlocks() || c.decodesBlocks())
    c.decoded = allocate(c.blockBytes());
  if (!c.hasScales())
    return;
  c.groups = getNumScales(attr);
  c.scales = allocate(c.groups * tile * 4);
  c.zeros = allocate(c.groups * tile * 4);
  c.scaleRows = allocate(2 * tile * sizeof(void *));
}

AttentionKernel::AttentionKernel(Emitter &emitter, AttentionOp op, CPUScheduleAttr schedule,
                                 Phase phase)
    : e(emitter), op(op), phase(phase),
      registers(phase == Phase::Decode ? schedule.getDecode() : schedule.getPrefill()),
      dot(registers.getProducts() != Products::Fma),
      tiles(registers.getProducts() == Products::Bf16Tile), lanes(schedule.getLanes()),
      tile(schedule.getTile()), split(schedule.getSplit()),
      queryTokens(phase == Phase::Decode ? 1 : schedule.getQueryTokens()),
      heads(op.getValueComponent().getHeads()), group(op.getGroup()),
      page(cast<CacheType>(op.getCache().getType()).getPageSize()),
      headsPerItem(phase == Phase::Decode ? heads : 1),
      maxRows(llvm::alignTo(group * queryTokens, registers.getRows())),
      queryElement(dot ? Type(emitter.b.getBF16Type()) : emitter.f32Type()) {
  for (unsigned i = 0; i < op.getQueries().size(); ++i) {
    Term &term = terms.emplace_back();
    addComponent(term, op.getTermComponent(i), /*isKey=*/true,
                 offsetof(AttentionParams, keys) + i * sizeof(ComponentParam));
    // Tiles read as many rows again.
    int64_t queryRows = headsPerItem * maxRows + (tiles ? registers.getRows() : 0);
    term.queries = allocate(queryRows * term.width * getByteWidth(queryElement));
    if (term.hasZeros())
      term.querySums = allocate(headsPerItem * maxRows * term.groups * 4);
  }
  addComponent(value, op.getValueComponent(), /*isKey=*/false,
               offsetof(AttentionParams, value));

  int64_t stateRows = headsPerItem * maxRows, rows = registers.getRows();
  outputs = allocate(stateRows * value.width * 4);
  maxima = allocate(stateRows * 4);
  sums = allocate(stateRows * lanes * 4);
  scores = allocate(rows * tile * 4);
  // A row of them for each group of the value's columns; a single row may lie where the
  // scores were.
  int64_t probabilityBytes = dot && !tiles ? 2 : 4; // of tiles two bf16
  probabilities = dot || value.groups > 1
                      ? allocate(value.groups * rows * tile * probabilityBytes)
                      : scores;
  valueSums = allocate(rows * value.groups * 4);
  alphas = allocate(rows * value.groups * 4);
  if (tiles) {
    int64_t count = 0;
    for (const Term &term : terms)
      count += term.groups;
    tileProducts = allocate(count * 2 * rows * tile * 4);
    tileConfig = allocate(64);
    tileSums = allocate(2 * rows * registers.getValueVectors() * kTileColumns * 4);
  }
  units = usesUnits() ? allocate(stateRows * value.groups * 4) : 0;
}

WorkListConfig AttentionKernel::getWorkListConfig() const {
  WorkListConfig config;
  config.queryTokens = queryTokens;
  config.split = phase == Phase::Decode ? split : kNoSplit;
  config.modifiers = AttentionOp(op).getModifiers();
  return config;
}

template <typename Fn> void AttentionKernel::forEachComponent(Fn fn) {
  for (Term &term : terms)
    fn(term, /*isKey=*/true);
  fn(value, /*isKey=*/false);
}

SmallVector<std::pair<int64_t, int64_t>> AttentionKernel::valueColumns() const {
  SmallVector<std::pair<int64_t, int64_t>> columns;
  for (int64_t column = 0; column < value.width;) {
    int64_t count = std::min(lanes, value.width - column);
    columns.push_back({column, count});
    column += count;
  }
  return columns;
}

//===----------------------------------------------------------------------===//
// The kernel
//===----------------------------------------------------------------------===//

void AttentionKernel::emitBody(Value params, Value item, Value worker) {
  Value listIndex = item, firstHead = e.i64(0);
  if (phase == Phase::Prefill) {
    listIndex = e.div(item, heads);
    firstHead = e.rem(item, heads);
  }
  auto param = [&](int64_t offset) { return e.load(e.ptrType(), e.offset(params, offset)); };
  itemFields = emitLoadWorkItem(e.b, e.loc, param(offsetof(AttentionParams, items)), listIndex);
  scratch = e.offset(param(offsetof(AttentionParams, scratch)),
                     e.mul(e.toI64(worker), scratchBytes));
  numRows = e.mul(e.toI64(itemFields.queryCount), group);
  paddedRows = e.alignTo(numRows, registers.getRows());
  queryPos = itemFields.queryPos;
  kvBegin = e.toI64(itemFields.kvBegin);
  kvEnd = e.toI64(itemFields.kvEnd);

  // The keys that all queries of the item see.
  KeyBounds bounds;
  bounds.anyBegin = bounds.allBegin = itemFields.kvBegin;
  bounds.anyEnd = bounds.allEnd = itemFields.kvEnd;
  Value lastPos = e.sub(e.add(queryPos, itemFields.queryCount), e.i32(1));
  for (ScoreModifierInterface modifier : op.getModifiers())
    modifier.boundKeep(e.b, e.loc, queryPos, lastPos, bounds);
  allBegin = e.toI64(bounds.allBegin);
  allEnd = e.toI64(bounds.allEnd);

  emitLoadQueries(params, firstHead);
  emitClearState();
  if (tiles)
    emitConfigureTiles();

  Value begin = e.mul(e.div(kvBegin, tile), tile);
  Value end = e.select(e.less(kvBegin, kvEnd), kvEnd, begin);
  e.ifThen(e.less(begin, end), [&] {
    forEachComponent([&](Component &c, bool) {
      if (c.hasBlocks())
        emitFindBlocks(c, params, begin, c.next);
    });
  });
  e.loop(begin, end, tile, [&](Value t) {
    tileBegin = t;
    Value tileEnd = e.add(t, tile);
    validBegin = e.max(e.sub(kvBegin, t), e.i64(0));
    validEnd = e.min(e.sub(kvEnd, t), e.i64(tile));
    isFull = e.logicalAnd(e.lessOrEqual(kvBegin, t), e.lessOrEqual(tileEnd, kvEnd));
    needsMask = e.logicalOr(e.less(t, allBegin), e.less(allEnd, tileEnd));
    forEachComponent([&](Component &c, bool) {
      if (c.isQuantized())
        emitFindScales(c, params, t);
      if (!c.hasBlocks())
        return emitFindRows(c, params, t);
      for (int64_t i = 0; i < tile / kPackedTokens; ++i) {
        int64_t bytes = i * sizeof(void *);
        e.store(e.load(e.ptrType(), scratchAt(c.next + bytes)), scratchAt(c.base + bytes));
      }
      emitFindBlocks(c, params, tileEnd, c.next);
    });
    auto emitHead = [&](Value headIndex) {
      Value head = e.add(firstHead, headIndex);
      Value isLast = e.equal(headIndex, e.i64(headsPerItem - 1));
      forEachComponent([&](Component &c, bool isKey) {
        emitFetch(c, isKey, params, head, isLast);
        emitFetchScales(c, params, head);
      });
      e.loop(e.i64(0), paddedRows, registers.getRows(), [&](Value firstRow) {
        emitScores(head, headIndex, firstRow);
        e.ifThen(needsMask, [&] { emitMask(firstRow); });
        emitSoftmax(headIndex, firstRow);
        emitValues(headIndex, firstRow);
      });
    };
    e.loop(e.i64(0), e.i64(headsPerItem), 1, emitHead);
  });
  if (tiles)
    emitReleaseTiles();
  emitFinish(params, firstHead);
}

/// Copies the rows of the item's queries to scratch, in the type of the products;
/// the rows that pad the last register tile are zero.
void AttentionKernel::emitLoadQueries(Value params, Value firstHead) {
  constexpr int64_t kChunk = 8; // divides every width
  for (auto [index, term] : llvm::enumerate(terms)) {
    int64_t tensor = offsetof(AttentionParams, queries) + index * sizeof(TensorParam);
    Type element = cast<RankedTensorType>(op.getQueries()[index].getType()).getElementType();
    Value data = e.load(e.ptrType(), e.offset(params, tensor));
    Value tokenStride =
        e.load(e.i64Type(), e.offset(params, tensor + offsetof(TensorParam, tokenStride)));
    Value headStride =
        e.load(e.i64Type(), e.offset(params, tensor + offsetof(TensorParam, headStride)));
    int64_t rowBytes = term.width * getByteWidth(queryElement);
    int64_t chunkBytes = kChunk * getByteWidth(queryElement);
    e.loop(e.i64(0), e.i64(headsPerItem), 1, [&](Value headIndex) {
      e.loop(e.i64(0), paddedRows, 1, [&](Value row) {
        Value target = scratchAt(term.queries, e.mul(stateRow(headIndex, row), rowBytes));
        auto copy = [&] {
          Value token = e.add(e.toI64(itemFields.queryBegin), e.div(row, group));
          Value queryHead =
              e.add(e.mul(e.add(firstHead, headIndex), group), e.rem(row, group));
          Value source = e.offset(e.offset(data, e.mul(token, tokenStride)),
                                  e.mul(queryHead, headStride));
          e.loop(e.i64(0), e.i64(term.width / kChunk), 1, [&](Value chunk) {
            Value loaded = e.load(e.vectorOf(kChunk, element),
                                  e.offset(source, e.mul(chunk, kChunk * getByteWidth(element))));
            Value converted = element == queryElement ? loaded : e.toF32(loaded);
            e.store(converted, e.offset(target, e.mul(chunk, chunkBytes)));
          });
        };
        auto clear = [&] {
          e.loop(e.i64(0), e.i64(rowBytes / 8), 1,
                 [&](Value i) { e.store(e.i64(0), e.offset(target, e.mul(i, 8))); });
        };
        e.ifThen(e.less(row, numRows), copy, clear);
        emitSumQueries(term, headIndex, row);
      });
    });
  }
}

void AttentionKernel::emitClearState() {
  Value zero = e.splat(8, 0.0);
  Value minusInfinity = e.f32(-std::numeric_limits<float>::infinity());
  e.loop(e.i64(0), e.i64(headsPerItem), 1, [&](Value headIndex) {
    e.loop(e.i64(0), paddedRows, 1, [&](Value row) {
      Value index = stateRow(headIndex, row);
      Value output = scratchAt(outputs, e.mul(index, value.width * 4));
      e.loop(e.i64(0), e.i64(value.width / 8), 1,
             [&](Value i) { e.store(zero, e.offset(output, e.mul(i, 32))); });
      e.store(minusInfinity, scratchAt(maxima, e.mul(index, 4)));
      e.store(e.splat(lanes, 0.0), scratchAt(sums, e.mul(index, lanes * 4)));
      for (int64_t group = 0; usesUnits() && group < value.groups; ++group)
        e.store(e.f32(1), scratchAt(units + group * 4, e.mul(index, value.groups * 4)));
    });
  });
}

} // namespace kvc
