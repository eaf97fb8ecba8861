//===- CodeConverter.cpp - codes as operands of products ------------------===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Integers become the low bits of 1024 + u, an f16 whose last bit is worth 1, from which
// a subtraction leaves the code.
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

Registers CodeConverter::convertFloats(Value codes, std::array<int64_t, 4> order) {
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

Registers CodeConverter::convertBytes(Value codes, std::array<int64_t, 4> order) {
  // With the sign turned, c + 128.
  Value turned = k.bitXor(codes, k.i32(0x80808080));
  Value exponent = k.i32(0x64646464); // of 1024, a byte
  Registers result;
  for (int64_t i : {0, 2}) {
    Value placed =
        permute(turned, exponent, order[i] | 4 << 4 | order[i + 1] << 8 | 4 << 12);
    result.push_back(
        toBits(arith::SubFOp::create(k.b, k.loc, toPair(placed), pairOf(1024 + 128))));
  }
  return result;
}

Registers CodeConverter::convertHalfBytes(Value codes) {
  // (codes & mask) ^ magic: takes a code, turns its sign, and adds the exponent.
  auto place = [&](Value bits, int64_t mask, int64_t magic) {
    std::string text = "lop3.b32 $0, $1, " + std::to_string(mask) + ", " +
                       std::to_string(magic) + ", 0x6a;";
    return toPair(NVVM::InlinePtxOp::create(k.b, k.loc, TypeRange{k.i32Type()},
                                            ValueRange{bits}, ValueRange{}, text, Value())
                      .getResult(0));
  };
  Registers result;
  Value bits = codes;
  for (int64_t half = 0; half < 2; ++half) {
    if (half == 1)
      bits = arith::ShRUIOp::create(k.b, k.loc, codes, k.i32(8));
    Value low = place(bits, 0x000f000f, 0x64086408);
    result.push_back(toBits(arith::SubFOp::create(k.b, k.loc, low, pairOf(1024 + 8))));
    // Four bits further up: 1024 + 16 u.
    Value high = place(bits, 0x00f000f0, 0x64806480);
    result.push_back(
        toBits(LLVM::FMAOp::create(k.b, k.loc, high, pairOf(1.0 / 16), pairOf(-64 - 8))));
  }
  return result;
}

const Registers &CodeConverter::convert(Value codes, std::array<int64_t, 4> order) {
  Registers &found = converted[codes];
  if (found.empty()) {
    if (element.isInteger(4))
      found = convertHalfBytes(codes);
    else
      found = element.isInteger(8) ? convertBytes(codes, order) : convertFloats(codes, order);
  }
  return found;
}
