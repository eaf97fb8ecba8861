//===- Append.cpp - the definition of kvc.append --------------------------===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "LoopBuilder.h"
#include "Patterns.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;
using namespace kvc;

/// Copies row `token` of `rows` to a slot of `buffer`, bit for bit.
static void copyRow(LoopBuilder &b, ComponentAttr component, Value rows, Value token,
                    Value buffer, Value page, Value pageToken) {
  b.loop(b.index(component.getHeads()), {}, [&](Value head, ValueRange) {
    return b.loop(b.index(component.getWidth()), {},
                  [&](Value w, ValueRange) -> LoopBuilder::Values {
                    memref::StoreOp::create(
                        b, b.extract(rows, {token, head, w}), buffer,
                        getElementIndices(b, component, page, pageToken, head, w));
                    return {};
                  });
  });
}

namespace {
struct DecomposeAppend final : OpConversionPattern<AppendOp> {
  using OpConversionPattern::OpConversionPattern;

  LogicalResult matchAndRewrite(AppendOp op, OneToNOpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    LoopBuilder b(op.getLoc(), rewriter);
    auto cache = cast<CacheType>(op.getCache().getType());
    BatchArrays batch(adaptor.getBatch());
    for (auto [name, values] :
         llvm::zip(op.getComponents().getAsRange<StringAttr>(), adaptor.getValues())) {
      int64_t index = cache.getComponentIndex(name.getValue());
      ComponentAttr component = cache.getComponents()[index];
      Value rows = values.front(), buffer = adaptor.getCache()[index];
      b.loop(b.size(rows, 0), {}, [&](Value token, ValueRange) {
        Value slot = b.loadIndex(batch.slots, token);
        Value isUsed =
            arith::CmpIOp::create(b, arith::CmpIPredicate::sge, slot, b.index(0));
        return b.choose(isUsed, {}, [&]() -> LoopBuilder::Values {
          copyRow(b, component, rows, token, buffer, b.div(slot, cache.getPageSize()),
                  b.rem(slot, cache.getPageSize()));
          return {};
        });
      });
    }
    rewriter.eraseOp(op);
    return success();
  }
};
} // namespace

void kvc::populateAppendLoopPatterns(RewritePatternSet &patterns,
                                     const TypeConverter &converter) {
  patterns.add<DecomposeAppend>(converter, patterns.getContext());
}
