//===- HostileElementsTest.cpp - what nobody writes -----------------------===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Whatever it is, it is expanded, or unknown; and soon.
//===----------------------------------------------------------------------===//
#include "ElementsFixture.h"

using namespace kvc;

using HostileElementsTest = ElementsTest;

TEST_F(HostileElementsTest, WhatABodyComputesOtherwiseIsUnknown) {
  // The element of one row is not that of another, though it is one value of the body.
  EXPECT_EQ(expand("func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {"
                   "  %0 = tensor.generate {"
                   "  ^bb0(%i: index):"
                   "    %1 = \"some.thing\"(%i) : (index) -> f32"
                   "    tensor.yield %1 : f32"
                   "  } : tensor<4xf32>"
                   "  return %0 : tensor<4xf32> }"),
            "unknown");
  EXPECT_EQ(expand("func.func @f(%t: tensor<4xindex>) -> tensor<4xindex> {"
                   "  %0 = tensor.generate {"
                   "  ^bb0(%i: index):"
                   "    %1 = \"some.thing\"(%i) : (index) -> index"
                   "    tensor.yield %1 : index"
                   "  } : tensor<4xindex>"
                   "  return %0 : tensor<4xindex> }"),
            "unknown");
}

TEST_F(HostileElementsTest, ProductsOfIndicesAreKept) {
  EXPECT_EQ(expand("func.func @f() -> tensor<4x5xindex> {"
                   "  %0 = tensor.generate {"
                   "  ^bb0(%i: index, %j: index):"
                   "    %1 = arith.muli %i, %j : index"
                   "    tensor.yield %1 : index"
                   "  } : tensor<4x5xindex>"
                   "  return %0 : tensor<4x5xindex> }"),
            "arith.muli(d0, d1)");
}

TEST_F(HostileElementsTest, DivisorsThatAreNotPositive) {
  for (const char *divisor : {"0", "-1", "-9223372036854775808", "9223372036854775807"})
    for (const char *op : {"divsi", "divui", "floordivsi", "remsi", "remui", "ceildivsi"})
      expand(std::string("func.func @f() -> tensor<4xindex> {"
                         "  %c = arith.constant ") +
             divisor + " : index  %0 = tensor.generate {  ^bb0(%i: index):  %1 = arith." + op +
             " %i, %c : index  tensor.yield %1 : index } : tensor<4xindex>"
             "  return %0 : tensor<4xindex> }");
}

TEST_F(HostileElementsTest, TensorsWithoutElements) {
  expand("func.func @f(%x: tensor<0x0x3xf32>) -> tensor<0x3xf32> {"
         "  %0 = tensor.collapse_shape %x [[0, 1], [2]]"
         "      : tensor<0x0x3xf32> into tensor<0x3xf32>"
         "  return %0 : tensor<0x3xf32> }");
  EXPECT_EQ(expand("func.func @f(%x: tensor<f32>) -> tensor<f32> {"
                   "  %0 = math.exp %x : tensor<f32>"
                   "  return %0 : tensor<f32> }"),
            "math.exp(%arg0)");
}

TEST_F(HostileElementsTest, ElementsOfOtherTypes) {
  EXPECT_EQ(expand("func.func @f() -> tensor<2xcomplex<f32>> {"
                   "  %0 = arith.constant dense<(1.0, 2.0)> : tensor<2xcomplex<f32>>"
                   "  return %0 : tensor<2xcomplex<f32>> }"),
            "%cst[d0]");
  expand("func.func @f() -> tensor<2xi128> {"
         "  %0 = arith.constant dense<170141183460469231731687303715884105727> : tensor<2xi128>"
         "  return %0 : tensor<2xi128> }");
  EXPECT_EQ(expand("func.func @f() -> tensor<2xf128> {"
                   "  %0 = arith.constant dense<1.5> : tensor<2xf128>"
                   "  return %0 : tensor<2xf128> }"),
            "1.500000e+00");
  expand("func.func @f(%x: tensor<2x!some.type>) -> tensor<2x!some.type> {"
         "  return %x : tensor<2x!some.type> }");
  expand("func.func @f(%x: tensor<*xf32>) -> tensor<?xf32> {"
         "  %0 = tensor.cast %x : tensor<*xf32> to tensor<?xf32>"
         "  return %0 : tensor<?xf32> }");
  expand("func.func @f() -> tensor<2x!some.type> {"
         "  %0 = \"some.thing\"() : () -> tensor<2x!some.type>"
         "  return %0 : tensor<2x!some.type> }");
}

TEST_F(HostileElementsTest, FewBitsWrap) {
  EXPECT_EQ(expand("func.func @f() -> tensor<1000xi8> {"
                   "  %0 = tensor.generate {"
                   "  ^bb0(%i: index):"
                   "    %1 = arith.index_cast %i : index to i32"
                   "    %2 = arith.trunci %1 : i32 to i8"
                   "    tensor.yield %2 : i8"
                   "  } : tensor<1000xi8>"
                   "  return %0 : tensor<1000xi8> }"),
            "unknown");
}

TEST_F(HostileElementsTest, FunctionsWithoutOrWithSeveralBlocks) {
  Elements declared(parse("func.func private @f(tensor<4xf32>) -> tensor<4xf32>"));
  Elements branching(parse("func.func @f(%x: tensor<4xi64>) -> tensor<4xi64> {"
                           "  cf.br ^bb1(%x : tensor<4xi64>)"
                           "^bb1(%y: tensor<4xi64>):"
                           "  return %y : tensor<4xi64> }"));
  mlir::func::FuncOp function = *module->getOps<mlir::func::FuncOp>().begin();
  branching.load(function.getBody().back().getArgument(0), {branching.getSpace().constant(0)});
}

/// A function that applies `line` to its own result again and again.
static std::string repeat(const char *signature, const char *type, const char *line, int count) {
  std::string text = std::string("func.func @f(") + signature + ") -> " + type + " {\n";
  for (int i = 0; i < count; ++i) {
    std::string own = line;
    for (auto [mark, name] : {std::pair("IN", i == 0 ? std::string("%x") : "%v" + std::to_string(i)),
                              std::pair("OUT", "%v" + std::to_string(i + 1))})
      for (size_t at = own.find(mark); at != std::string::npos; at = own.find(mark))
        own.replace(at, strlen(mark), name);
    text += own + "\n";
  }
  return text + "  return %v" + std::to_string(count) + " : " + type + " }";
}

TEST_F(HostileElementsTest, WhatDoublesEachTimeEnds) {
  expand(repeat("%x: tensor<4xf32>", "tensor<4xf32>", "OUT = arith.addf IN, IN : tensor<4xf32>",
                100));
  // The same in one body, where the nodes of the tree would double.
  std::string body = "func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {"
                     "  %0 = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>,"
                     "      affine_map<(i) -> (i)>], iterator_types = [\"parallel\"]}"
                     "      ins(%x : tensor<4xf32>) outs(%x : tensor<4xf32>) {"
                     "  ^bb0(%v0: f32, %out: f32):\n";
  for (int i = 0; i < 100; ++i)
    body += "%v" + std::to_string(i + 1) + " = arith.addf %v" + std::to_string(i) + ", %v" +
            std::to_string(i) + " : f32\n";
  body += "linalg.yield %v100 : f32 } -> tensor<4xf32>  return %0 : tensor<4xf32> }";
  EXPECT_NE(expand(body).find("unknown"), std::string::npos);
  // Squares of squares of a size.
  std::string squares = "func.func @f(%n: index, %m: index) -> tensor<?xf32> {\n"
                        "  %v0 = arith.addi %n, %m : index\n";
  for (int i = 0; i < 60; ++i)
    squares += "%v" + std::to_string(i + 1) + " = arith.muli %v" + std::to_string(i) + ", %v" +
               std::to_string(i) + " : index\n";
  expand(squares + "  %e = tensor.empty(%v60) : tensor<?xf32>  return %e : tensor<?xf32> }");
}

TEST_F(HostileElementsTest, LongChainsEnd) {
  expand(repeat("%x: tensor<4xf32>", "tensor<4xf32>", "OUT = math.exp IN : tensor<4xf32>", 20000));
  expand(repeat("%x: tensor<?xf32>", "tensor<?xf32>",
                "OUT = tensor.cast IN : tensor<?xf32> to tensor<?xf32>", 20000));
  std::string sums = "func.func @f(%v0: index) -> tensor<?xf32> {\n";
  for (int i = 0; i < 20000; ++i)
    sums += "%v" + std::to_string(i + 1) + " = arith.addi %v" + std::to_string(i) +
            ", %v0 : index\n";
  expand(sums + "  %e = tensor.empty(%v20000) : tensor<?xf32>  return %e : tensor<?xf32> }");
}
