//===- ElementsTest.cpp - an element by each operation --------------------===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "ElementsFixture.h"

using namespace kvc;

TEST_F(ElementsTest, Moves) {
  EXPECT_EQ(expand("func.func @f(%x: tensor<4x6xf32>) -> tensor<24xf32> {"
                   "  %0 = tensor.collapse_shape %x [[0, 1]] : tensor<4x6xf32> into tensor<24xf32>"
                   "  return %0 : tensor<24xf32> }"),
            "%arg0[d0 floordiv 6, d0 mod 6]");
  EXPECT_EQ(expand("func.func @f(%x: tensor<24xf32>) -> tensor<4x6xf32> {"
                   "  %0 = tensor.expand_shape %x [[0, 1]] output_shape [4, 6]"
                   "      : tensor<24xf32> into tensor<4x6xf32>"
                   "  return %0 : tensor<4x6xf32> }"),
            "%arg0[d0 * 6 + d1]");
  EXPECT_EQ(expand("func.func @f(%x: tensor<9x6xf32>) -> tensor<3xf32> {"
                   "  %0 = tensor.extract_slice %x[1, 5] [3, 1] [2, 1]"
                   "      : tensor<9x6xf32> to tensor<3xf32>"
                   "  return %0 : tensor<3xf32> }"),
            "%arg0[d0 * 2 + 1, 5]");
  EXPECT_EQ(expand("func.func @f(%x: tensor<4x6xf16>) -> tensor<6x4xf32> {"
                   "  %0 = tensor.empty() : tensor<6x4xf16>"
                   "  %1 = linalg.transpose ins(%x : tensor<4x6xf16>)"
                   "      outs(%0 : tensor<6x4xf16>) permutation = [1, 0]"
                   "  %2 = arith.extf %1 : tensor<6x4xf16> to tensor<6x4xf32>"
                   "  return %2 : tensor<6x4xf32> }"),
            "%arg0[d1, d0]");
}

TEST_F(ElementsTest, Pieces) {
  // Which piece it is depends on the index, unless there is one tensor only.
  EXPECT_EQ(expand("func.func @f(%x: tensor<2xf32>, %y: tensor<3xf32>) -> tensor<5xf32> {"
                   "  %0 = tensor.concat dim(0) %x, %y"
                   "      : (tensor<2xf32>, tensor<3xf32>) -> tensor<5xf32>"
                   "  return %0 : tensor<5xf32> }"),
            "arith.select(-d0 + 1 >= 0, %arg0[d0], %arg1[d0 - 2])");
  EXPECT_EQ(expand("func.func @f(%x: tensor<2xf32>) -> tensor<4xf32> {"
                   "  %0 = tensor.concat dim(0) %x, %x"
                   "      : (tensor<2xf32>, tensor<2xf32>) -> tensor<4xf32>"
                   "  return %0 : tensor<4xf32> }"),
            "%arg0[d0 mod 2]");
  EXPECT_EQ(expand("func.func @f(%x: tensor<2xf32>, %y: tensor<3xf32>) -> tensor<2xf32> {"
                   "  %0 = tensor.concat dim(0) %x, %y"
                   "      : (tensor<2xf32>, tensor<3xf32>) -> tensor<5xf32>"
                   "  %1 = tensor.extract_slice %0[2] [2] [1] : tensor<5xf32> to tensor<2xf32>"
                   "  return %1 : tensor<2xf32> }"),
            "%arg1[d0]");
}

TEST_F(ElementsTest, Computation) {
  EXPECT_EQ(expand("func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {"
                   "  %c = arith.constant dense<2.0> : tensor<4xf32>"
                   "  %0 = arith.mulf %x, %c : tensor<4xf32>"
                   "  %1 = math.exp %0 : tensor<4xf32>"
                   "  return %1 : tensor<4xf32> }"),
            "math.exp(arith.mulf(%arg0[d0], 2.000000e+00))");
  // Comparisons of indices are sums that are at least 0.
  EXPECT_EQ(expand("func.func @f() -> tensor<4x5xi1> {"
                   "  %0 = tensor.generate {"
                   "  ^bb0(%i: index, %j: index):"
                   "    %1 = arith.cmpi slt, %i, %j : index"
                   "    tensor.yield %1 : i1"
                   "  } : tensor<4x5xi1>"
                   "  return %0 : tensor<4x5xi1> }"),
            "-d0 + d1 - 1 >= 0");
}

TEST_F(ElementsTest, Sums) {
  EXPECT_EQ(expand("func.func @f(%x: tensor<2x4xf32>, %y: tensor<4x3xf32>) -> tensor<2x3xf32> {"
                   "  %z = arith.constant 0.0 : f32"
                   "  %0 = tensor.empty() : tensor<2x3xf32>"
                   "  %1 = linalg.fill ins(%z : f32) outs(%0 : tensor<2x3xf32>) -> tensor<2x3xf32>"
                   "  %2 = linalg.matmul ins(%x, %y : tensor<2x4xf32>, tensor<4x3xf32>)"
                   "      outs(%1 : tensor<2x3xf32>) -> tensor<2x3xf32>"
                   "  return %2 : tensor<2x3xf32> }"),
            "arith.addf(arith.mulf(%arg0[d0, d3], %arg1[d3, d1]), %1[d0, d1])");
}

TEST_F(ElementsTest, Constants) {
  // At an index that is known, an element is a number.
  parse("func.func @f() -> tensor<2x2xf32> {"
        "  %c = arith.constant dense<[[1.0, 2.0], [3.0, 4.5]]> : tensor<2x2xf32>"
        "  return %c : tensor<2x2xf32> }");
  auto function = *module->getOps<mlir::func::FuncOp>().begin();
  Elements elements(function);
  IndexSpace &space = elements.getSpace();
  mlir::Value value = function.getBody().front().getTerminator()->getOperand(0);
  EXPECT_EQ(elements.load(value, {space.constant(1), space.constant(1)})->getNumber(), 4.5);
  EXPECT_EQ(elements.load(value, {space.constant(1), space.constant(2)})->getNumber(),
            std::nullopt);
  EXPECT_EQ(elements.load(value, {space.constant(-1), space.constant(0)})->getNumber(),
            std::nullopt);
}

TEST_F(ElementsTest, PositionsCountFromThePast) {
  EXPECT_EQ(expand("func.func @f(%p: tensor<?xi64> {kvc.positions},"
                   "    %past: tensor<7xf32> {kvc.cache = \"k\"}, %x: tensor<?xf32>)"
                   "    -> (tensor<?xi64>, tensor<?xf32> {kvc.cache = \"k\"}) {"
                   "  %0 = tensor.concat dim(0) %past, %x"
                   "      : (tensor<7xf32>, tensor<?xf32>) -> tensor<?xf32>"
                   "  return %p, %0 : tensor<?xi64>, tensor<?xf32> }"),
            "d0 + 7");
}
