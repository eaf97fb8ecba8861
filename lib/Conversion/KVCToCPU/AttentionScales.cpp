//===- AttentionScales.cpp - scales of quantised components ---------------===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// With codes c, scales s and zero points z of a group of columns, q . k is
// s (q . c) + z (sum of q), and the sum of p v is the sum of (p s) c plus the sum of
// p z: scales are on scores and probabilities, not on elements. Those of the tile at hand
// are gathered in scratch as [groups][tile] f32; of keys that are not visible as 0,
// whatever their slots hold.
//===----------------------------------------------------------------------===//
#include "AttentionKernel.h"

#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;

namespace kvc {

static constexpr int64_t kPointerBytes = sizeof(void *);

/// Tokens whose scales are found by one address: a block, where pages consist of them.
static int64_t getRun(int64_t page) { return page % kPackedTokens == 0 ? kPackedTokens : 1; }

namespace {
/// The scales or the zero points of a component.
struct ScaleArray {
  double factor;  ///< of what is gathered
  int64_t params; ///< offset of its ArrayParam
  int64_t rows;   ///< scratch: addresses of the runs (for head 0)
  int64_t target; ///< scratch: [groups][tile]
};
} // namespace

template <typename Component>
static SmallVector<ScaleArray> getScaleArrays(const Component &c, int64_t tile, int64_t page) {
  SmallVector<ScaleArray> arrays;
  if (c.hasScales())
    arrays.push_back({c.operandFactor(),
                      static_cast<int64_t>(c.params + offsetof(ComponentParam, scales)),
                      c.scaleRows, c.scales});
  if (c.hasZeros())
    arrays.push_back({1.0, static_cast<int64_t>(c.params + offsetof(ComponentParam, zeros)),
                      c.scaleRows + tile / getRun(page) * kPointerBytes, c.zeros});
  return arrays;
}

/// Stores the addresses (for head 0) of the scales of the tile at `begin`. What is not
/// visible gets the address of something that is.
void AttentionKernel::emitFindScales(const Component &c, Value params, Value begin) {
  if (c.isStatic())
    return;
  int64_t run = getRun(page);
  Value last = e.sub(kvEnd, e.i64(1));
  auto field = [&](const ScaleArray &array, int64_t offset, Type type) {
    return e.load(type, e.offset(params, array.params + offset));
  };
  for (const ScaleArray &array : getScaleArrays(c, tile, page)) {
    Value data = field(array, offsetof(ArrayParam, data), e.ptrType());
    Value pageStride = field(array, offsetof(ArrayParam, pageStride), e.i64Type());
    Value tokenStride = field(array, offsetof(ArrayParam, tokenStride), e.i64Type());
    e.loop(e.i64(0), e.i64(tile / run), 1, [&](Value i) {
      Value token = e.min(e.max(e.add(begin, e.mul(i, run)), kvBegin), last);
      Value ids = e.load(e.ptrType(), e.offset(params, offsetof(AttentionParams, pageIds)));
      Value index = e.add(itemFields.firstPage, e.div(token, page));
      Value id = e.toI64(e.load(e.i32Type(), e.offset(ids, e.mul(index, 4))));
      Value inPage = e.mul(e.div(e.rem(token, page), run), run);
      Value address =
          e.offset(e.offset(data, e.mul(id, pageStride)), e.mul(inPage, tokenStride));
      e.store(address, scratchAt(array.rows, e.mul(i, kPointerBytes)));
    });
  }
}

/// Gathers the scales of one head.
void AttentionKernel::emitFetchScales(const Component &c, Value params, Value head) {
  if (!c.hasScales())
    return;
  ScaleAttr attr = c.attr.getScale();
  Type element = attr.getElementType();
  int64_t run = getRun(page), elementBytes = getByteWidth(element);
  for (const ScaleArray &array : getScaleArrays(c, tile, page)) {
    auto field = [&](int64_t offset, Type type) {
      return e.load(type, e.offset(params, array.params + offset));
    };
    Value headStride = field(offsetof(ArrayParam, headStride), e.i64Type());
    Value headOffset =
        attr.getScheme() == ScaleScheme::Tensor ? e.i64(0) : e.mul(head, headStride);
    auto toScale = [&](Value stored) {
      Value scale = e.toF32(stored);
      auto vector = dyn_cast<VectorType>(scale.getType());
      return array.factor == 1.0
                 ? scale
                 : e.mulf(scale, e.splat(vector ? vector.getDimSize(0) : 0, array.factor));
    };
    auto targetOf = [&](int64_t group) { return scratchAt(array.target + group * tile * 4); };
    if (c.isStatic()) {
      Value data = e.offset(field(offsetof(ArrayParam, data), e.ptrType()), headOffset);
      for (int64_t group = 0; group < c.groups; ++group) {
        Value scale = toScale(e.load(element, e.offset(data, group * elementBytes)));
        for (int64_t key = 0; key < tile; key += lanes)
          e.store(e.broadcast(scale, lanes), e.offset(targetOf(group), key * 4));
      }
      continue;
    }
    Value tokenStride = field(offsetof(ArrayParam, tokenStride), e.i64Type());
    auto rowOf = [&](Value i) {
      Value row = e.load(e.ptrType(), scratchAt(array.rows, e.mul(i, kPointerBytes)));
      return e.offset(row, headOffset);
    };
    auto gatherEach = [&] {
      e.loop(e.i64(0), e.i64(tile), 1, [&](Value token) {
        Value visible = isVisible(token);
        Value row = e.offset(rowOf(e.div(token, run)), e.mul(e.rem(token, run), tokenStride));
        for (int64_t group = 0; group < c.groups; ++group) {
          Value scale = toScale(e.load(element, e.offset(row, group * elementBytes)));
          e.store(e.select(visible, scale, e.f32(0)),
                  e.offset(targetOf(group), e.mul(token, 4)));
        }
      });
    };
    if (run == 1 || c.groups > 1) {
      gatherEach();
      continue;
    }
    auto gatherBlocks = [&] {
      VectorType block = e.vectorOf(kPackedTokens, element);
      for (int64_t i = 0; i < tile / kPackedTokens; ++i) {
        Value row = rowOf(e.i64(i));
        Value scales = toScale(e.load(block, row));
        if (phase == Phase::Decode)
          e.prefetch(e.offset(row, headStride));
        e.store(e.select(visibleLanes(e.i64(i)), scales, e.splat(kPackedTokens, 0.0)),
                e.offset(targetOf(0), i * kPackedTokens * 4));
      }
    };
    // Pools have the scales of a head side by side, other memory need not.
    e.ifThen(e.equal(tokenStride, e.i64(elementBytes)), gatherBlocks, gatherEach);
  }
}

/// Sums the elements of a row of queries over the columns of each group.
void AttentionKernel::emitSumQueries(const Term &term, Value headIndex, Value row) {
  if (!term.hasZeros())
    return;
  constexpr int64_t kChunk = 8; // divides every group
  int64_t groupWidth = getScaleGroup(term.attr), bytes = getByteWidth(queryElement);
  Value index = stateRow(headIndex, row);
  Value source = scratchAt(term.queries, e.mul(index, term.width * bytes));
  for (int64_t group = 0; group < term.groups; ++group) {
    int64_t begin = group * groupWidth, end = std::min(begin + groupWidth, term.width);
    Value sum = e.loop(e.i64(begin), e.i64(end), kChunk, {e.splat(kChunk, 0.0)},
                       [&](Value column, ValueRange carried) -> SmallVector<Value> {
                         Value q = e.load(e.vectorOf(kChunk, queryElement),
                                          e.offset(source, e.mul(column, bytes)));
                         return {e.addf(carried[0], e.toF32(q))};
                       })[0];
    e.store(e.reduceAdd(sum),
            scratchAt(term.querySums + group * 4, e.mul(index, term.groups * 4)));
  }
}

/// From products with the codes of a group of columns to those with the elements: of row
/// `row` (of the state), and the vector of keys that begins with `key` of the tile.
Value AttentionKernel::applyScales(const Term &term, int64_t group, Value products, Value row,
                                   Value key) {
  VectorType vector = e.vectorOf(lanes, e.f32Type());
  if (!term.hasScales()) {
    double constant = term.constantScale();
    return constant == 1.0 ? products : e.mulf(products, e.splat(lanes, constant));
  }
  Value offset = e.mul(key, 4);
  Value scales = e.load(vector, scratchAt(term.scales + group * tile * 4, offset));
  if (!term.hasZeros())
    return e.mulf(products, scales);
  Value zeros = e.load(vector, scratchAt(term.zeros + group * tile * 4, offset));
  Value sum =
      e.load(e.f32Type(), scratchAt(term.querySums + group * 4, e.mul(row, term.groups * 4)));
  return e.fma(products, scales, e.mulf(zeros, e.broadcast(sum, lanes)));
}

} // namespace kvc
