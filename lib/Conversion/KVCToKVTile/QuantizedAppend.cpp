//===- QuantizedAppend.cpp - new tokens as codes with scales --------------===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A thread block takes the row of one token and head, rotated first if a rope is fused.
// Of the row, one warp holds columns 64 i + 2 l and the next in lane l, for all i, so
// that a lane stores whole bytes also of 4 bits, and groups of 32 columns are half a
// warp, of 64 a warp, and others several i.
//===----------------------------------------------------------------------===//
#include "Rows.h"

#include "kvc/Conversion/Codes.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace kvc;
using namespace kvc::kvtile;

using Predicate = KernelBuilder::Predicate;

/// Columns that a warp takes at once, two a lane.
static constexpr int64_t kStep = 2 * kWarpSize;

namespace {
/// A component that is written, and from what.
struct Quantized {
  ComponentAttr component;
  Value value;
  RopeOp rope; ///< Null, or what the kernel rotates by before.

  Type elementType() const { return getElementTypeOrSelf(value.getType()); }
  int64_t rowBytes() const {
    return component.getWidth() * elementType().getIntOrFloatBitWidth() / 8;
  }
};

/// Emits the quantisation of one row by one warp.
class RowQuantizer {
public:
  RowQuantizer(RowKernel &kernel, const Quantized &quantized, Value slot)
      : k(kernel.k), kernel(kernel), quantized(quantized), component(quantized.component),
        slot(slot), lane(k.bitAnd(kernel.thread, kWarpSize - 1)),
        group(getScaleGroup(component)), numSteps(llvm::divideCeil(width(), kStep)) {}

  /// `row`: address of the elements.
  void emit(Value row);

private:
  int64_t width() const { return component.getWidth(); }
  Value load(Value row, int64_t step, int64_t column);
  /// Address of the token's row in an array of the component.
  Value arrayRow(StringRef suffix, Value head);
  CodeEmitter::Scale emitScale(int64_t firstStep, int64_t steps);
  CodeEmitter::Scale loadStatic(int64_t firstStep);
  CodeEmitter::Scale computeRange(int64_t firstStep, int64_t steps);
  void storeScale(CodeEmitter::Scale scale, int64_t firstStep);
  void storeCodes(int64_t step, CodeEmitter::Scale scale);
  /// The group of this lane's columns of step `step`: two groups of 32 share a step.
  Value groupOf(int64_t step) {
    if (group < kStep)
      return k.add(k.div(lane, kWarpSize / 2), 2 * step);
    return k.i32(step * kStep / group);
  }

  KernelBuilder &k;
  RowKernel &kernel;
  const Quantized &quantized;
  ComponentAttr component;
  Value slot, lane;
  int64_t group, numSteps;
  SmallVector<std::array<Value, 2>> elements; ///< Of each step, f32.
};
} // namespace

Value RowQuantizer::load(Value row, int64_t step, int64_t column) {
  // Past the width the last columns again: their group, if it is one, has them already.
  Value first = k.add(k.mul(lane, 2), step * kStep);
  if ((step + 1) * kStep > width())
    first = k.min(first, k.i32(width() - 2));
  Type element = quantized.elementType();
  int64_t bytes = element.getIntOrFloatBitWidth() / 8;
  return k.toF32(k.load(element, k.element(row, k.add(first, column), bytes), bytes));
}

Value RowQuantizer::arrayRow(StringRef suffix, Value head) {
  std::string name = (component.getName().getValue() + suffix).str();
  return kernel.pageRow(kernel.arguments.array(name), slot, head);
}

CodeEmitter::Scale RowQuantizer::loadStatic(int64_t firstStep) {
  ScaleAttr attr = component.getScale();
  if (FloatAttr constant = attr.getConstant())
    return {arith::ConstantOp::create(k.b, k.loc, constant), Value()};
  Type element = attr.getElementType();
  int64_t bytes = element.getIntOrFloatBitWidth() / 8;
  Value head = attr.getScheme() == ScaleScheme::Tensor ? k.i32(0) : kernel.head;
  // Past the last group nothing is stored.
  Value index = k.min(groupOf(firstStep), k.i32(getNumScales(component) - 1));
  auto load = [&](StringRef suffix) {
    Value address = k.element(arrayRow(suffix, head), index, bytes);
    return k.toF32(k.loadInvariant(element, address, bytes));
  };
  return {load(kScaleSuffix), attr.getZeroPoint() ? load(kZeroSuffix) : Value()};
}

CodeEmitter::Scale RowQuantizer::computeRange(int64_t firstStep, int64_t steps) {
  CodeEmitter codes(k.b, k.loc);
  // Maxima, of the numbers and of their negations; -inf where there is no finite one.
  Value none = k.minusInfinity(), largest = none, smallest = none;
  for (int64_t step = firstStep; step < firstStep + steps; ++step)
    for (Value x : elements[step]) {
      Value isFinite = codes.isFinite(x);
      largest = k.maxF(largest, k.select(isFinite, x, none));
      smallest = k.maxF(smallest, k.select(isFinite, k.negF(x), none));
    }
  for (int64_t lanes = 1; lanes < std::min(kWarpSize, group / 2); lanes *= 2) {
    largest = k.maxF(largest, k.shuffleXor(largest, lanes));
    smallest = k.maxF(smallest, k.shuffleXor(smallest, lanes));
  }
  Value isEmpty = k.compareF(arith::CmpFPredicate::OEQ, largest, none);
  Value zero = k.f32(0.0);
  return codes.computeScale(component, k.select(isEmpty, zero, k.negF(smallest)),
                            k.select(isEmpty, zero, largest));
}

void RowQuantizer::storeScale(CodeEmitter::Scale scale, int64_t firstStep) {
  Type element = component.getScale().getElementType();
  int64_t bytes = element.getIntOrFloatBitWidth() / 8;
  Value index = groupOf(firstStep);
  int64_t lanes = group < kStep ? kWarpSize / 2 : kWarpSize;
  Value isFirst = k.compare(Predicate::eq, k.bitAnd(lane, lanes - 1), k.i32(0));
  Value exists = k.compare(Predicate::slt, index, k.i32(getNumScales(component)));
  k.guarded(arith::AndIOp::create(k.b, k.loc, isFirst, exists), [&] {
    auto store = [&](Value value, StringRef suffix) {
      k.store(k.fromF32(value, element),
              k.element(arrayRow(suffix, kernel.head), index, bytes), bytes);
    };
    store(scale.scale, kScaleSuffix);
    if (scale.zero)
      store(scale.zero, kZeroSuffix);
  });
}

CodeEmitter::Scale RowQuantizer::emitScale(int64_t firstStep, int64_t steps) {
  if (!component.getScale())
    return {};
  if (component.getScale().getIsStatic())
    return loadStatic(firstStep);
  CodeEmitter::Scale scale = computeRange(firstStep, steps);
  storeScale(scale, firstStep);
  return scale;
}

void RowQuantizer::storeCodes(int64_t step, CodeEmitter::Scale scale) {
  CodeEmitter codes(k.b, k.loc);
  std::array<Value, 2> pair;
  for (int64_t i = 0; i < 2; ++i)
    pair[i] = codes.quantize(component, elements[step][i], scale);
  int64_t bits = component.getElementType().getIntOrFloatBitWidth();
  Type stored = k.b.getIntegerType(2 * bits);
  auto widen = [&](Value code) -> Value {
    return bits == 4 ? code : arith::ExtUIOp::create(k.b, k.loc, stored, code).getResult();
  };
  Value shift = arith::ConstantOp::create(k.b, k.loc, k.b.getIntegerAttr(stored, bits));
  Value low = widen(pair[0]);
  if (bits == 4)
    low = arith::AndIOp::create(
        k.b, k.loc, low,
        arith::ConstantOp::create(k.b, k.loc, k.b.getIntegerAttr(stored, 15)));
  Value high = arith::ShLIOp::create(k.b, k.loc, widen(pair[1]), shift);
  Value both = arith::OrIOp::create(k.b, k.loc, low, high);
  auto store = [&] {
    Value to = arrayRow("", kernel.head);
    k.store(both, k.element(to, k.add(lane, step * kWarpSize), bits / 4), bits / 4);
  };
  if ((step + 1) * kStep <= width())
    return store();
  k.guarded(k.compare(Predicate::slt, lane, k.i32((width() - step * kStep) / 2)), store);
}

void RowQuantizer::emit(Value row) {
  for (int64_t step = 0; step < numSteps; ++step)
    elements.push_back({load(row, step, 0), load(row, step, 1)});
  int64_t steps = std::max<int64_t>(1, llvm::divideCeil(group, kStep));
  for (int64_t first = 0; first < numSteps; first += steps) {
    int64_t count = std::min(steps, numSteps - first);
    CodeEmitter::Scale scale = emitScale(first, count);
    for (int64_t step = first; step < first + count; ++step)
      storeCodes(step, scale);
  }
}

/// Quantises what one component gets of each token.
static void emitQuantizeComponent(RowKernel &kernel, const Quantized &quantized) {
  KernelBuilder &k = kernel.k;
  KernelArguments &arguments = kernel.arguments;
  kernel.forEntries(arguments.get(KernelValue::NumTokens), [&](Value token) {
    Value slots = arguments.get(KernelValue::Slots);
    Value slot = k.loadInvariant(k.i64Type(), k.element(slots, token, 8), 8);
    // Slot -1 is ignored.
    k.guarded(k.compare(Predicate::sge, slot, k.i64(0)), [&] {
      Value row;
      if (RopeOp rope = quantized.rope) {
        // In shared memory, rounded as the rope's result is.
        Value from = kernel.row(arguments.tensorOf(rope, rope.getInput()), token, kernel.head);
        row = LLVM::AddressOfOp::create(k.b, k.loc, k.sharedPtr(), kSharedName);
        emitRotation(kernel, rope, token, [&](auto rotate) { rotate(from, row); });
        k.barrier();
      } else {
        row = kernel.row(arguments.tensor(quantized.value), token, kernel.head);
      }
      auto quantize = [&] { RowQuantizer(kernel, quantized, slot).emit(row); };
      if (kernel.threads == kWarpSize)
        quantize();
      else
        k.guarded(k.compare(Predicate::slt, kernel.thread, k.i32(kWarpSize)), quantize);
      if (quantized.rope)
        k.barrier();
    });
  });
}

static SmallVector<Quantized> getQuantized(AppendOp op) {
  CacheType cache = op.getCache().getType();
  SmallVector<Quantized> all;
  for (auto [name, value] :
       llvm::zip(op.getComponents().getAsRange<StringAttr>(), op.getValues()))
    if (ComponentAttr component = cache.getComponent(name);
        isQuantized(component.getElementType()))
      all.push_back({component, value, getFusedRope(op, value)});
  return all;
}

void kvc::emitQuantizedAppendKernel(OpBuilder &b, StringRef name,
                                    const KernelDescription &origin, AppendOp op) {
  SmallVector<Quantized> all = getQuantized(op);
  int64_t heads = 0, columns = kWarpSize, sharedBytes = 0;
  for (Quantized &quantized : all) {
    heads = std::max(heads, quantized.component.getHeads());
    if (!quantized.rope)
      continue;
    columns = std::max<int64_t>(columns, quantized.rope.getRotaryWidth() / 2);
    sharedBytes = std::max(sharedBytes, quantized.rowBytes());
  }
  RowKernel kernel(b, op, columns);
  kernel.arguments.add(KernelValue::Slots);
  kernel.arguments.add(KernelValue::NumTokens);
  for (Quantized &quantized : all) {
    if (quantized.rope)
      addRotation(kernel.arguments, quantized.rope);
    else
      kernel.arguments.addTensor(quantized.value);
    // Two codes are stored at once.
    StringRef array = quantized.component.getName().getValue();
    kernel.arguments.addArray(array, /*alignment=*/2);
    if (getNumScales(quantized.component) > 0)
      kernel.arguments.addArray((array + kScaleSuffix).str());
    if (quantized.component.getScale() && quantized.component.getScale().getZeroPoint())
      kernel.arguments.addArray((array + kZeroSuffix).str());
  }

  OpBuilder::InsertionGuard guard(b);
  if (sharedBytes > 0)
    declareShared(b, b.getInsertionBlock()->getParentOp());
  kernel.begin(name, origin, KernelKind::Append, heads, all.size(), sharedBytes);
  KernelBuilder &k = kernel.k;
  Value which = k.blockIdZ();
  for (auto [index, quantized] : llvm::enumerate(all)) {
    // Components may have fewer heads than the grid.
    Value isThis = k.compare(Predicate::eq, which, k.i32(index));
    Value exists = k.compare(Predicate::slt, kernel.head, k.i32(quantized.component.getHeads()));
    const Quantized &own = quantized;
    k.guarded(arith::AndIOp::create(b, k.loc, isThis, exists),
              [&] { emitQuantizeComponent(kernel, own); });
  }
  kernel.end();
}

void kvc::emitCountKernel(OpBuilder &b, StringRef name, const KernelDescription &origin,
                          AppendOp op) {
  SmallVector<Quantized> all = getQuantized(op);
  RowKernel kernel(b, op, kWarpSize);
  kernel.arguments.add(KernelValue::Slots);
  kernel.arguments.add(KernelValue::NumTokens);
  for (Quantized &quantized : all)
    kernel.arguments.addTensor(quantized.value);
  kernel.arguments.addTensor(op.getNonfinite());

  OpBuilder::InsertionGuard guard(b);
  kernel.begin(name, origin, KernelKind::Append, /*heads=*/1);
  KernelBuilder &k = kernel.k;
  KernelArguments &arguments = kernel.arguments;
  kernel.forEntries(arguments.get(KernelValue::NumTokens), [&](Value token) {
    Value slots = arguments.get(KernelValue::Slots);
    Value slot = k.loadInvariant(k.i64Type(), k.element(slots, token, 8), 8);
    // Of a slot of -1 there is no head to look at.
    Value isUsed = k.compare(Predicate::sge, slot, k.i64(0));
    Value total = k.i32(0);
    for (const Quantized &quantized : all) {
      Type element = quantized.elementType();
      int64_t bytes = element.getIntOrFloatBitWidth() / 8;
      Value heads = k.select(isUsed, k.i32(quantized.component.getHeads()), k.i32(0));
      auto countRow = [&](Value head, ValueRange carried) -> SmallVector<Value> {
        Value row = kernel.row(arguments.tensor(quantized.value), token, head);
        return k.forRange(
            kernel.thread, k.i32(quantized.component.getWidth()), k.i32(kWarpSize), carried,
            [&](Value column, ValueRange inner) -> SmallVector<Value> {
              Value x = k.toF32(k.load(element, k.element(row, column, bytes), bytes));
              Value isFinite = CodeEmitter(k.b, k.loc).isFinite(x);
              return {k.add(inner[0], k.select(isFinite, k.i32(0), k.i32(1)))};
            });
      };
      total = k.forRange(k.i32(0), heads, k.i32(1), {total}, countRow)[0];
    }
    for (int64_t lanes = 1; lanes < kWarpSize; lanes *= 2)
      total = k.add(total, k.shuffleXor(total, lanes));
    k.guarded(k.compare(Predicate::eq, kernel.thread, k.i32(0)), [&] {
      k.store(total, kernel.element(arguments.tensor(op.getNonfinite()), token), 4);
    });
  });
  kernel.end();
}
