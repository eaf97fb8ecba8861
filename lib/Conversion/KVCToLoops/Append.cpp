//===- Append.cpp - the definition of kvc.append --------------------------===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "LoopBuilder.h"
#include "Patterns.h"

#include "kvc/Conversion/Codes.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;
using namespace kvc;

namespace {
/// A token that is appended: its row in the values, and its slot.
struct NewToken {
  Value row, page, token;
};

/// Stores the rows of one component.
struct RowStore {
  LoopBuilder &b;
  CacheType cache;
  ComponentAttr component;
  ValueRange arrays; ///< Of the whole cache.
  Value rows;

  using Values = LoopBuilder::Values;

  void copy(const NewToken &at);
  /// Returns how many elements were not finite.
  Value quantize(const NewToken &at);

private:
  Value findArray(StringRef suffix);
  Value loadRow(const NewToken &at, Value head, Value w);
  Value quantizeGroup(const NewToken &at, Value head, Value group, Value count);
  CodeEmitter::Scale emitScale(const NewToken &at, Value head, Value group, Value begin,
                               Value end);
  void storeCode(const NewToken &at, Value head, Value w, Value code);
};
} // namespace

Value RowStore::findArray(StringRef suffix) {
  return arrays[cache.getArrayIndex((component.getName().getValue() + suffix).str())];
}

void RowStore::copy(const NewToken &at) {
  Value buffer = findArray("");
  b.loop(b.index(component.getHeads()), {}, [&](Value head, ValueRange) {
    return b.loop(b.index(component.getWidth()), {}, [&](Value w, ValueRange) -> Values {
      memref::StoreOp::create(
          b, b.extract(rows, {at.row, head, w}), buffer,
          getElementPlace(b, component, at.page, at.token, head, w).indices);
      return {};
    });
  });
}

Value RowStore::loadRow(const NewToken &at, Value head, Value w) {
  return b.extend(b.extract(rows, {at.row, head, w}), b.getF32Type());
}

Value RowStore::quantize(const NewToken &at) {
  int64_t group = getScaleGroup(component);
  int64_t numGroups = llvm::divideCeil(component.getWidth(), group);
  Value none = arith::ConstantIntOp::create(b, 0, 32);
  return b
      .loop(b.index(component.getHeads()), none,
            [&](Value head, ValueRange carried) {
              return b.loop(b.index(numGroups), carried,
                            [&](Value index, ValueRange inner) -> Values {
                              return {quantizeGroup(at, head, index, inner[0])};
                            });
            })
      .front();
}

/// The scale of a group: of the cache if it is static, else computed and stored.
CodeEmitter::Scale RowStore::emitScale(const NewToken &at, Value head, Value group, Value begin,
                                       Value end) {
  ScaleAttr attr = component.getScale();
  if (!attr)
    return {};
  Type f32 = b.getF32Type();
  if (attr.getConstant())
    return {arith::ConstantOp::create(b, attr.getConstant()), Value()};
  Value storedHead = attr.getScheme() == ScaleScheme::Tensor ? b.index(0) : head;
  Values place = {at.page, at.token, storedHead, group};
  if (attr.getIsStatic()) {
    auto load = [&](StringRef suffix) {
      return b.extend(memref::LoadOp::create(b, findArray(suffix), place), f32);
    };
    return {load(kScaleSuffix), attr.getZeroPoint() ? load(kZeroSuffix) : Value()};
  }
  // A row without finite elements has the range from 0 to 0.
  CodeEmitter codes(b, b.getLoc());
  Value noElement = arith::ConstantIntOp::create(b, 0, 1);
  Values range = b.loop(begin, end, {b.real(f32, 0), b.real(f32, 0), noElement},
                        [&](Value w, ValueRange carried) -> Values {
                          Value x = loadRow(at, head, w);
                          Value isFinite = codes.isFinite(x);
                          auto choose = [&](Value best, arith::CmpFPredicate better) -> Value {
                            Value isBetter = arith::CmpFOp::create(b, better, x, best);
                            Value isFirst = arith::XOrIOp::create(
                                b, carried[2], arith::ConstantIntOp::create(b, 1, 1));
                            Value take = arith::AndIOp::create(
                                b, isFinite, arith::OrIOp::create(b, isFirst, isBetter));
                            return arith::SelectOp::create(b, take, x, best);
                          };
                          return {choose(carried[0], arith::CmpFPredicate::OLT),
                                  choose(carried[1], arith::CmpFPredicate::OGT),
                                  arith::OrIOp::create(b, carried[2], isFinite)};
                        });
  CodeEmitter::Scale scale = codes.computeScale(component, range[0], range[1]);
  auto store = [&](Value value, StringRef suffix) {
    memref::StoreOp::create(b, b.round(value, attr.getElementType()), findArray(suffix), place);
  };
  store(scale.scale, kScaleSuffix);
  if (scale.zero)
    store(scale.zero, kZeroSuffix);
  return scale;
}

Value RowStore::quantizeGroup(const NewToken &at, Value head, Value group, Value count) {
  int64_t size = getScaleGroup(component);
  Value begin = b.mul(group, b.index(size));
  Value end =
      arith::MinUIOp::create(b, b.add(begin, b.index(size)), b.index(component.getWidth()));
  CodeEmitter codes(b, b.getLoc());
  CodeEmitter::Scale scale = emitScale(at, head, group, begin, end);
  return b
      .loop(begin, end, count,
            [&](Value w, ValueRange carried) -> Values {
              Value x = loadRow(at, head, w);
              storeCode(at, head, w, codes.quantize(component, x, scale));
              Value isOther = arith::XOrIOp::create(b, codes.isFinite(x),
                                                    arith::ConstantIntOp::create(b, 1, 1));
              return {b.add(carried[0], arith::ExtUIOp::create(b, b.getI32Type(), isOther))};
            })
      .front();
}

void RowStore::storeCode(const NewToken &at, Value head, Value w, Value code) {
  ElementPlace place = getElementPlace(b, component, at.page, at.token, head, w);
  Value buffer = findArray("");
  Type element = component.getElementType();
  if (place.half) {
    // The other half is of the same token.
    auto i8 = [&](int64_t value) { return arith::ConstantIntOp::create(b, value, 8); };
    Value isHigh = arith::CmpIOp::create(b, arith::CmpIPredicate::ne, place.half, b.index(0));
    Value low = arith::AndIOp::create(b, code, i8(15));
    Value high = arith::ShLIOp::create(b, code, i8(4));
    Value old = memref::LoadOp::create(b, buffer, place.indices);
    Value keptLow = arith::AndIOp::create(b, old, i8(15));
    Value keptHigh = arith::AndIOp::create(b, old, i8(-16));
    code = arith::SelectOp::create(b, isHigh, arith::OrIOp::create(b, high, keptLow),
                                   arith::OrIOp::create(b, low, keptHigh));
  } else if (isa<FloatType>(element)) {
    code = arith::BitcastOp::create(b, element, code);
  }
  memref::StoreOp::create(b, code, buffer, place.indices);
}

namespace {
struct DecomposeAppend final : OpConversionPattern<AppendOp> {
  using OpConversionPattern::OpConversionPattern;

  LogicalResult matchAndRewrite(AppendOp op, OneToNOpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    LoopBuilder b(op.getLoc(), rewriter);
    auto cache = cast<CacheType>(op.getCache().getType());
    BatchArrays batch(adaptor.getBatch());
    Value tokens = b.size(adaptor.getValues().front().front(), 0);
    Value none = arith::ConstantIntOp::create(b, 0, 32);
    LoopBuilder::Values counts;
    if (op.getNonfinite())
      counts.push_back(b.empty(op.getNonfinite().getType(), tokens));
    counts = b.loop(tokens, counts, [&](Value row, ValueRange carried) {
      Value slot = b.loadIndex(batch.slots, row);
      Value isUsed = arith::CmpIOp::create(b, arith::CmpIPredicate::sge, slot, b.index(0));
      Value count =
          b.choose(isUsed, none, [&]() -> LoopBuilder::Values {
             NewToken at{row, b.div(slot, cache.getPageSize()),
                         b.rem(slot, cache.getPageSize())};
             Value sum = none;
             for (auto [name, values] :
                  llvm::zip(op.getComponents().getAsRange<StringAttr>(), adaptor.getValues())) {
               ComponentAttr component = cache.getComponent(name.getValue());
               RowStore store{b, cache, component, adaptor.getCache(), values.front()};
               if (isQuantized(component.getElementType()))
                 sum = b.add(sum, store.quantize(at));
               else
                 store.copy(at);
             }
             return {sum};
           }).front();
      LoopBuilder::Values next;
      if (!carried.empty())
        next.push_back(b.insert(count, carried[0], row));
      return next;
    });
    rewriter.replaceOp(op, counts);
    return success();
  }
};
} // namespace

void kvc::populateAppendLoopPatterns(RewritePatternSet &patterns,
                                     const TypeConverter &converter) {
  patterns.add<DecomposeAppend>(converter, patterns.getContext());
}
