//===- CodeConverter.cpp - codes as operands of products ------------------===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Integers become low bits of an f16 whose exponent gives them the right worth, 1024 + u,
// or 64 + u if they stand four bits further up; less that and the code's own bias, they
// are the code.
//===----------------------------------------------------------------------===//
#include "CodeConverter.h"

using namespace mlir;
using namespace kvc;
using namespace kvc::kvtile;

using Registers = CodeConverter::Registers;

Value CodeConverter::pairOf(double value) {
  auto type = VectorType::get(2, k.b.getF16Type());
  APFloat number(value);
  bool losesInfo = false;
  number.convert(APFloat::IEEEhalf(), APFloat::rmNearestTiesToEven, &losesInfo);
  assert(!losesInfo && "expected a number that f16 has");
  return arith::ConstantOp::create(k.b, k.loc, DenseElementsAttr::get(type, number));
}

Value CodeConverter::toPair(Value bits) {
  return LLVM::BitcastOp::create(k.b, k.loc, VectorType::get(2, k.b.getF16Type()), bits);
}

Value CodeConverter::toBits(Value pair) {
  return LLVM::BitcastOp::create(k.b, k.loc, k.i32Type(), pair);
}

Value CodeConverter::permute(Value low, Value high, int64_t selector) {
  return NVVM::PermuteOp::create(k.b, k.loc, k.i32Type(), low, high, k.i32(selector),
                                 NVVM::PermuteMode::DEFAULT);
}

/// Of 8 bits, at the last bit of an f16.
static constexpr double kByteOffset = 1024 + 128;
/// Of 4 bits, there, and 4 bits further up.
static constexpr double kLowOffset = 1024 + 8, kHighOffset = 64 + 8;

double CodeConverter::getOffset(int64_t index, Axis axis) const {
  if (element.isInteger(8))
    return kByteOffset;
  return index % 2 == 0 && !raisesHalfBytes(axis) ? kLowOffset : kHighOffset;
}

Value CodeConverter::finish(Value bits, double offset) {
  if (keepsOffsets)
    return bits;
  return toBits(arith::SubFOp::create(k.b, k.loc, toPair(bits), pairOf(offset)));
}

Registers CodeConverter::convertE4M3(Value codes, Order order) {
  if (order[1] != 1)
    codes = permute(codes, codes, order[0] | order[1] << 4 | order[2] << 8 | order[3] << 12);
  Type i16 = k.b.getIntegerType(16);
  auto pairs = VectorType::get(2, i16);
  Value halves = LLVM::BitcastOp::create(k.b, k.loc, pairs, codes);
  Registers result;
  for (Value half : k.fromVector(halves)) {
    Value bytes = LLVM::BitcastOp::create(k.b, k.loc, VectorType::get(2, k.b.getI8Type()), half);
    Value pair = NVVM::ConvertF8x2ToF16x2Op::create(
        k.b, k.loc, VectorType::get(2, k.b.getF16Type()), bytes, /*relu=*/false, element);
    result.push_back(toBits(pair));
  }
  return result;
}

Registers CodeConverter::convertE5M2(Value codes, Order order) {
  // The high byte of an f16.
  Registers result;
  for (int64_t i : {0, 2})
    result.push_back(permute(codes, k.i32(0), 4 | order[i] << 4 | 4 << 8 | order[i + 1] << 12));
  return result;
}

Registers CodeConverter::convertBytes(Value codes, Order order) {
  // With the sign turned, c + 128.
  Value turned = k.bitXor(codes, k.i32(0x80808080));
  Value exponent = k.i32(0x64646464); // of 1024, a byte
  Registers result;
  for (int64_t i : {0, 2})
    result.push_back(
        finish(permute(turned, exponent, order[i] | 4 << 4 | order[i + 1] << 8 | 4 << 12),
               kByteOffset));
  return result;
}

Registers CodeConverter::convertHalfBytes(Value codes, Axis axis) {
  // (codes & mask) ^ magic: takes a code, turns its sign, and adds the exponent.
  auto place = [&](Value bits, int64_t mask, int64_t magic) {
    std::string text = "lop3.b32 $0, $1, " + std::to_string(mask) + ", " +
                       std::to_string(magic) + ", 0x6a;";
    return NVVM::InlinePtxOp::create(k.b, k.loc, TypeRange{k.i32Type()}, ValueRange{bits},
                                     ValueRange{}, text, Value())
        .getResult(0);
  };
  auto low = [&](Value bits) {
    return finish(place(bits, 0x000f000f, 0x64086408), kLowOffset);
  };
  auto high = [&](Value bits) {
    return finish(place(bits, 0x00f000f0, 0x54805480), kHighOffset);
  };
  auto shiftRight = [&](int64_t bits) -> Value {
    return arith::ShRUIOp::create(k.b, k.loc, codes, k.i32(bits));
  };
  Value upper = shiftRight(8);
  if (!raisesHalfBytes(axis))
    return {low(codes), high(codes), low(upper), high(upper)};
  return {high(k.mul(codes, 16)), high(codes), high(shiftRight(4)), high(upper)};
}

const Registers &CodeConverter::convert(Value codes, Axis axis) {
  Order order = axis == Axis::Width ? Order{0, 1, 2, 3} : Order{0, 2, 1, 3};
  Registers &found = converted[codes];
  if (!found.empty())
    return found;
  if (element.isInteger(4))
    found = convertHalfBytes(codes, axis);
  else if (element.isInteger(8))
    found = convertBytes(codes, order);
  else
    found =
        isa<Float8E5M2Type>(element) ? convertE5M2(codes, order) : convertE4M3(codes, order);
  return found;
}
