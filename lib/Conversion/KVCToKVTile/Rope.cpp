//===- Rope.cpp - rotary position embedding -------------------------------===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Rows.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"

#include <cmath>

using namespace mlir;
using namespace kvc;
using namespace kvc::kvtile;

/// Heads that a block rotates by the same sines and cosines.
static constexpr int64_t kHeadsPerBlock = 4;

/// Above it the angle of the largest position is one that emitSineCosine refuses.
static constexpr double kMaxFrequency = 1 << 19;

/// theta ^ (-2 p / w), rounded once.
static double getFrequency(RopeOp op, int64_t pair) {
  long double theta = op.getTheta()->convertToDouble();
  return std::pow(theta, -2.0L * pair / op.getRotaryWidth());
}

LogicalResult kvc::checkRope(RopeOp op) {
  if (!op.getTheta())
    return success();
  double largest = getFrequency(op, op.getRotaryWidth() / 2 - 1);
  if (largest <= kMaxFrequency) // the first is 1
    return success();
  return op.emitOpError("has no GPU kernel for frequencies above ")
         << static_cast<int64_t>(kMaxFrequency) << ", got " << largest;
}

/// The constant with all frequencies of `op`, one for each theta and width.
static Value emitFrequencyTable(KernelBuilder &k, RopeOp op) {
  auto module = k.b.getInsertionBlock()->getParentOp()->getParentOfType<gpu::GPUModuleOp>();
  int64_t pairs = op.getRotaryWidth() / 2;
  std::string name =
      ("kvc_frequencies_" + llvm::Twine::utohexstr(op.getTheta()->bitcastToAPInt().getZExtValue()) +
       "_" + llvm::Twine(op.getRotaryWidth()))
          .str();
  if (!module.lookupSymbol(name)) {
    SmallVector<double> frequencies;
    for (int64_t pair = 0; pair < pairs; ++pair)
      frequencies.push_back(getFrequency(op, pair));
    OpBuilder::InsertionGuard guard(k.b);
    k.b.setInsertionPointToStart(module.getBody());
    auto values = DenseElementsAttr::get(RankedTensorType::get({pairs}, k.f64Type()),
                                         ArrayRef(frequencies));
    LLVM::GlobalOp::create(k.b, module.getLoc(), LLVM::LLVMArrayType::get(k.f64Type(), pairs),
                           /*isConstant=*/true, LLVM::Linkage::Internal, name, values,
                           /*alignment=*/8, kGlobalSpace);
  }
  return LLVM::AddressOfOp::create(k.b, k.loc, k.globalPtr(), name);
}

/// The frequency (f64) of pair `pair` (i32).
static Value emitFrequency(RowKernel &kernel, RopeOp op, Value pair) {
  KernelBuilder &k = kernel.k;
  if (Value frequencies = op.getFrequencies()) {
    Value address = kernel.element(kernel.arguments.tensorOf(op, frequencies), pair);
    return arith::ExtFOp::create(k.b, k.loc, k.f64Type(),
                                 k.loadInvariant(k.f32Type(), address, 4));
  }
  return k.loadInvariant(k.f64Type(), k.element(emitFrequencyTable(k, op), pair, 8), 8);
}

void kvc::addRotation(KernelArguments &arguments, RopeOp op) {
  arguments.add(KernelValue::Positions);
  arguments.addTensorOf(op, op.getInput());
  if (op.getFrequencies())
    arguments.addTensorOf(op, op.getFrequencies());
}

void kvc::emitRotation(RowKernel &kernel, RopeOp op, Value token, ForEachRow forEachRow) {
  KernelBuilder &k = kernel.k;
  auto type = cast<RankedTensorType>(op.getInput().getType());
  Type element = type.getElementType();
  int64_t bytes = element.getIntOrFloatBitWidth() / 8, pairs = op.getRotaryWidth() / 2;
  int64_t width = type.getDimSize(2);
  bool interleaved = op.getStyle() == RopeStyle::Interleaved;
  Value positions = kernel.arguments.get(KernelValue::Positions);
  Value position = arith::SIToFPOp::create(
      k.b, k.loc, k.f64Type(), k.loadInvariant(k.i32Type(), k.element(positions, token, 4), 4));
  kernel.forColumns(pairs, [&](Value pair) {
    Value angle =
        arith::MulFOp::create(k.b, k.loc, position, emitFrequency(kernel, op, pair));
    auto [sine, cosine] = emitSineCosine(k, angle);
    Value first = interleaved ? k.mul(pair, 2) : pair;
    Value second = k.add(first, interleaved ? 1 : pairs);
    forEachRow([&](Value from, Value to) {
      auto load = [&](Value column) {
        return k.toF32(k.load(element, k.element(from, column, bytes), bytes));
      };
      auto store = [&](Value value, Value column) {
        k.store(k.fromF32(value, element), k.element(to, column, bytes), bytes);
      };
      Value x = load(first), y = load(second);
      // Not left to be fused one way or the other: wherever a row is rotated, it gets
      // the same bits.
      Value ySine = arith::MulFOp::create(k.b, k.loc, y, sine);
      Value xSine = arith::MulFOp::create(k.b, k.loc, x, sine);
      store(k.fma(x, cosine, k.negF(ySine)), first);
      store(k.fma(y, cosine, xSine), second);
    });
  });
  if (width == 2 * pairs)
    return;
  Type bits = k.b.getIntegerType(8 * bytes);
  forEachRow([&](Value from, Value to) {
    kernel.forColumns(
        width - 2 * pairs,
        [&](Value column) {
          k.store(k.load(bits, k.element(from, column, bytes), bytes),
                  k.element(to, column, bytes), bytes);
        },
        /*first=*/2 * pairs);
  });
}

void kvc::emitRopeKernel(OpBuilder &b, StringRef name, const KernelDescription &origin,
                         RopeOp op) {
  int64_t heads = cast<RankedTensorType>(op.getInput().getType()).getDimSize(1);
  int64_t headsPerBlock = std::min(heads, kHeadsPerBlock);
  RowKernel kernel(b, op, op.getRotaryWidth() / 2);
  kernel.arguments.add(KernelValue::NumTokens);
  addRotation(kernel.arguments, op);
  kernel.arguments.addTensor(op.getOutput());

  OpBuilder::InsertionGuard guard(b);
  kernel.begin(name, origin, KernelKind::Rope, llvm::divideCeil(heads, headsPerBlock));
  KernelBuilder &k = kernel.k;
  KernelArguments &arguments = kernel.arguments;
  Value begin = k.mul(kernel.head, headsPerBlock);
  Value end = k.min(k.add(begin, headsPerBlock), k.i32(heads));
  kernel.forEntries(arguments.get(KernelValue::NumTokens), [&](Value token) {
    emitRotation(kernel, op, token, [&](auto rotate) {
      k.forRange(begin, end, k.i32(1), [&](Value head) {
        rotate(kernel.row(arguments.tensor(op.getInput()), token, head),
               kernel.row(arguments.tensor(op.getOutput()), token, head));
      });
    });
  });
  kernel.end();
}
