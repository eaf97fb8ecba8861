//===- ElementsFixture.h - functions by their elements ----------*- C++ -*-===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef KVC_TEST_UNIT_ANALYSIS_ELEMENTSFIXTURE_H
#define KVC_TEST_UNIT_ANALYSIS_ELEMENTSFIXTURE_H

#include "kvc/Analysis/Elements.h"
#include "kvc/Dialect/KVC/IR/KVC.h"

#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Parser/Parser.h"

#include <gtest/gtest.h>

/// Parses functions and expands the element of what they return.
class ElementsTest : public testing::Test {
protected:
  ElementsTest() : context(mlir::MLIRContext::Threading::DISABLED) {
    context.loadDialect<mlir::arith::ArithDialect, mlir::cf::ControlFlowDialect,
                        mlir::func::FuncDialect, mlir::linalg::LinalgDialect,
                        mlir::math::MathDialect, mlir::tensor::TensorDialect,
                        kvc::KVCDialect>();
    context.allowUnregisteredDialects();
  }

  mlir::func::FuncOp parse(llvm::StringRef text) {
    module = mlir::parseSourceString<mlir::ModuleOp>(text, &context);
    EXPECT_TRUE(module) << text.str();
    return *module->getOps<mlir::func::FuncOp>().begin();
  }

  /// The element that the function returns, with its dimensions d0, d1, ... as indices and
  /// everything expanded.
  std::string expand(llvm::StringRef text) {
    mlir::func::FuncOp function = parse(text);
    kvc::Elements elements(function);
    mlir::Value result = function.getBody().front().getTerminator()->getOperand(0);
    llvm::SmallVector<mlir::AffineExpr> indices;
    for (mlir::AffineExpr size : elements.getSizes(result))
      indices.push_back(elements.getSpace().addDim(size));
    std::string printed;
    llvm::raw_string_ostream os(printed);
    elements.print(os, resolveAll(elements, elements.load(result, indices)));
    return printed;
  }

  static kvc::Element resolveAll(kvc::Elements &elements, kvc::Element element) {
    element = elements.resolve(element);
    if (element->kind != kvc::ElementKind::Apply)
      return element;
    llvm::SmallVector<kvc::Element> operands;
    for (kvc::Element operand : element->operands)
      operands.push_back(resolveAll(elements, operand));
    return elements.apply(element->name, operands, element->predicate);
  }

  mlir::MLIRContext context;
  mlir::OwningOpRef<mlir::ModuleOp> module;
};

#endif // KVC_TEST_UNIT_ANALYSIS_ELEMENTSFIXTURE_H
