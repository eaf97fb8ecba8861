//===- Append.cpp - copies of new tokens to their slots -------------------===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Rows.h"

#include "kvc/Conversion/FusedRope.h"

using namespace mlir;
using namespace kvc;
using namespace kvc::kvtile;

using Predicate = KernelBuilder::Predicate;

/// Bytes of one vector of a copy.
static constexpr int64_t kVectorBytes = 16;

namespace {
/// A component that is written, and from what.
struct Appended {
  ComponentAttr component;
  Value value;
  RopeOp rope; ///< Null, or what the kernel rotates by as it copies.

  int64_t elementBytes() { return component.getElementType().getIntOrFloatBitWidth() / 8; }
  int64_t bytes() { return component.getWidth() * elementBytes(); }
  /// What a row has that a thread takes one of at a time.
  int64_t columns() {
    if (rope)
      return rope.getRotaryWidth() / 2;
    return bytes() % kVectorBytes == 0 ? bytes() / kVectorBytes : component.getWidth();
  }
};
} // namespace

RopeOp kvc::getFusedRope(AppendOp append, Value value) {
  // What is not finite is counted by a kernel that reads the rotated rows.
  return append.getNonfinite() ? RopeOp() : getFusableRope(append, value);
}

bool kvc::isFusedRope(RopeOp rope) {
  AppendOp append = getFusingAppend(rope);
  return append && getFusedRope(append, rope.getOutput());
}

/// Copies a row. The branch is the same for all threads of the block: they share it.
static void emitCopyRow(RowKernel &kernel, Value from, Value to, Appended &appended) {
  KernelBuilder &k = kernel.k;
  auto copy = [&](Type type, int64_t size) {
    kernel.forColumns(appended.bytes() / size, [&](Value column) {
      k.store(k.load(type, k.element(from, column, size), size),
              k.element(to, column, size), size);
    });
  };
  auto copyElements = [&] {
    copy(k.b.getIntegerType(8 * appended.elementBytes()), appended.elementBytes());
  };
  if (appended.bytes() % kVectorBytes != 0)
    return copyElements();
  auto bitsOf = [&](Value address) -> Value {
    return LLVM::PtrToIntOp::create(k.b, k.loc, k.i64Type(), address);
  };
  Value both = arith::OrIOp::create(k.b, k.loc, bitsOf(from), bitsOf(to));
  Value isAligned = k.compare(Predicate::eq, k.bitAnd(both, kVectorBytes - 1), k.i64(0));
  k.guarded(
      isAligned, [&] { copy(VectorType::get({4}, k.i32Type()), kVectorBytes); }, copyElements);
}

/// Copies what one component gets of each token.
static void emitAppendComponent(RowKernel &kernel, Appended &appended) {
  KernelBuilder &k = kernel.k;
  KernelArguments &arguments = kernel.arguments;
  kernel.forEntries(arguments.get(KernelValue::NumTokens), [&](Value token) {
    Value slots = arguments.get(KernelValue::Slots);
    Value slot = k.loadInvariant(k.i64Type(), k.element(slots, token, 8), 8);
    // Slot -1 is ignored.
    k.guarded(k.compare(Predicate::sge, slot, k.i64(0)), [&] {
      Value to = kernel.pageRow(arguments.array(appended.component.getName()), slot, kernel.head);
      if (RopeOp rope = appended.rope) {
        Value from = kernel.row(arguments.tensorOf(rope, rope.getInput()), token, kernel.head);
        return emitRotation(kernel, rope, token, [&](auto rotate) { rotate(from, to); });
      }
      Value from = kernel.row(arguments.tensor(appended.value), token, kernel.head);
      emitCopyRow(kernel, from, to, appended);
    });
  });
}

void kvc::emitAppendKernel(OpBuilder &b, StringRef name, const KernelDescription &origin,
                           AppendOp op) {
  CacheType cache = op.getCache().getType();
  SmallVector<Appended> all;
  int64_t heads = 0, columns = 0;
  for (auto [component, value] :
       llvm::zip(op.getComponents().getAsRange<StringAttr>(), op.getValues())) {
    if (isQuantized(cache.getComponent(component).getElementType()))
      continue;
    all.push_back({cache.getComponent(component), value, getFusedRope(op, value)});
    heads = std::max(heads, all.back().component.getHeads());
    columns = std::max(columns, all.back().columns());
  }
  RowKernel kernel(b, op, columns);
  kernel.arguments.add(KernelValue::Slots);
  kernel.arguments.add(KernelValue::NumTokens);
  for (Appended &appended : all) {
    if (appended.rope)
      addRotation(kernel.arguments, appended.rope);
    else
      kernel.arguments.addTensor(appended.value);
    kernel.arguments.addArray(appended.component.getName());
  }

  OpBuilder::InsertionGuard guard(b);
  kernel.begin(name, origin, KernelKind::Append, heads, all.size());
  KernelBuilder &k = kernel.k;
  Value which = k.blockIdZ();
  for (auto [index, appended] : llvm::enumerate(all)) {
    // Components may have fewer heads than the grid.
    Value isThis = k.compare(Predicate::eq, which, k.i32(index));
    Value exists = k.compare(Predicate::slt, kernel.head, k.i32(appended.component.getHeads()));
    k.guarded(arith::AndIOp::create(b, k.loc, isThis, exists),
              [&] { emitAppendComponent(kernel, appended); });
  }
  kernel.end();
}
