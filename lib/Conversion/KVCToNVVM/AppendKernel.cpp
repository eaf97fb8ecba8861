//===- AppendKernel.cpp - copies of new tokens to their slots -------------===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "AttentionKernel.h"

using namespace mlir;
using namespace kvc;

static constexpr int64_t kAppendThreads = 64;

/// Parameters of the kernel: Slots and NumTokens, then for each component written, in
/// the order of the op, the PerComponent ones.
namespace {
struct AppendParam {
  enum Index : unsigned { Slots, NumTokens, FirstComponent };
  enum ComponentIndex : unsigned {
    Source, ///< [tokens, heads, width], last stride 1
    SourceTokenStride,
    SourceHeadStride,
    Data, ///< kvc_component_view_t
    PageStride,
    HeadStride,
    TokenStride,
    PerComponent
  };
};
} // namespace

/// Copies the rows of one component: head blockIdx.x of the tokens blockIdx.y,
/// blockIdx.y + gridDim.y, ...
static void emitCopyComponent(KernelBuilder &k, ComponentAttr component, int64_t pageSize,
                              ValueRange params, ValueRange own) {
  using P = AppendParam;
  using Predicate = KernelBuilder::Predicate;
  OpBuilder &b = k.b;
  auto param = [&](P::ComponentIndex index) { return own[index]; };
  int64_t bytes = component.getElementType().getIntOrFloatBitWidth() / 8;
  Type bits = b.getIntegerType(bytes * 8);
  Value thread = k.threadId(), head = k.blockIdX();
  k.guarded(k.compare(Predicate::slt, head, k.i32(component.getHeads())), [&] {
    auto tokens =
        scf::ForOp::create(b, k.loc, k.blockIdY(), params[P::NumTokens], k.gridDimY());
    b.setInsertionPointToStart(tokens.getBody());
    Value token = tokens.getInductionVar();
    Value slot = k.loadInvariant(k.i64Type(), k.element(params[P::Slots], token, 8), 8);
    // Slot -1 is ignored.
    k.guarded(k.compare(Predicate::sge, slot, k.i64(0)), [&] {
      Value head64 = k.toI64(head);
      Value source = k.add(k.mul(k.toI64(token), param(P::SourceTokenStride)),
                           k.mul(head64, param(P::SourceHeadStride)));
      Value target = k.add(k.mul(k.div(slot, pageSize), param(P::PageStride)),
                           k.mul(k.rem(slot, pageSize), param(P::TokenStride)));
      target = k.add(target, k.mul(head64, param(P::HeadStride)));
      auto columns = scf::ForOp::create(b, k.loc, thread, k.i32(component.getWidth()),
                                        k.i32(kAppendThreads));
      b.setInsertionPointToStart(columns.getBody());
      Value column = k.toI64(columns.getInductionVar());
      Value from = k.element(param(P::Source), k.add(source, column), bytes);
      Value to = k.element(param(P::Data), k.add(target, column), bytes);
      k.store(k.load(bits, from, bytes), to, bytes);
    });
  });
}

void kvc::emitAppendKernel(OpBuilder &b, StringRef name, StringRef function, AppendOp op,
                           int64_t index) {
  using P = AppendParam;
  OpBuilder::InsertionGuard guard(b);
  Location loc = op.getLoc();
  KernelBuilder k(b, loc);
  CacheType cache = op.getCache().getType();
  KernelDescription description;
  description.function = function;
  description.op = index;
  description.kind = KernelKind::Append;
  description.threads = kAppendThreads;
  description.parameters = {KernelValue::Slots, KernelValue::NumTokens};
  SmallVector<ComponentAttr> components;
  int64_t maxHeads = 0;
  for (auto [i, name] : llvm::enumerate(op.getComponents().getAsRange<StringAttr>())) {
    components.push_back(cache.getComponent(name.getValue()));
    maxHeads = std::max(maxHeads, components.back().getHeads());
    description.parameters.push_back(
        KernelParameter::operand(op.getValues().getBeginOperandIndex() + i));
    description.parameters.push_back(KernelParameter::component(name.getValue()));
  }
  description.grid[0] = maxHeads;
  description.grid[1] = 0;
  description.grid[2] = components.size();
  LLVM::LLVMFuncOp kernel = createKernel(b, op, name, description, kGlobalSpace);

  ValueRange params = kernel.getBody().front().getArguments();
  Value which = k.blockIdZ();
  for (auto [index, component] : llvm::enumerate(components)) {
    Value isThis = k.compare(KernelBuilder::Predicate::eq, which, k.i32(index));
    k.guarded(isThis, [&] {
      emitCopyComponent(k, component, cache.getPageSize(), params,
                        params.slice(P::FirstComponent + index * P::PerComponent,
                                     P::PerComponent));
    });
  }
  LLVM::ReturnOp::create(b, loc, ValueRange{});
}
