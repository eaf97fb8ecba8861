//===- PTXTest.cpp - PTX text of a compiled module ------------------------===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "kvc/Target/PTX/PTX.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Parser/Parser.h"

#include <gtest/gtest.h>

namespace {
class PTXTest : public testing::Test {
protected:
  PTXTest() : context(mlir::MLIRContext::Threading::DISABLED) {
    context.loadDialect<mlir::gpu::GPUDialect, mlir::NVVM::NVVMDialect>();
    context.getDiagEngine().registerHandler(
        [this](mlir::Diagnostic &diagnostic) { message = diagnostic.str(); });
  }

  /// The PTX of a module with a binary of `object`, or nothing.
  std::string get(const std::string &object) {
    auto module = mlir::parseSourceString<mlir::ModuleOp>(
        "gpu.binary @kernels [#gpu.object<#nvvm.target<chip = \"sm_90a\">, " + object + ">]",
        &context);
    EXPECT_TRUE(module) << message;
    auto ptx = kvc::getPTX(*module);
    return succeeded(ptx) ? *ptx : "";
  }

  mlir::MLIRContext context;
  std::string message;
};
} // namespace

TEST_F(PTXTest, IsTextWithoutTheNUL) {
  EXPECT_EQ(get("assembly = \".version 8.6\\0A\\00\""), ".version 8.6\n");
}

TEST_F(PTXTest, RefusesOtherObjects) {
  EXPECT_EQ(get("\"ELF\""), "");
  EXPECT_EQ(message, "'gpu.binary' op expected one object of PTX text");
  mlir::OwningOpRef<mlir::ModuleOp> module =
      mlir::ModuleOp::create(mlir::UnknownLoc::get(&context));
  EXPECT_TRUE(failed(kvc::getPTX(*module)));
  EXPECT_EQ(message, "expected at least one function of kvc operations to make PTX of, which "
                     "gives one gpu.binary; got 0");
}

// Lowering succeeds without the device library; the driver would not link it.
TEST_F(PTXTest, RefusesCallsOfALibrary) {
  EXPECT_EQ(get("assembly = \".extern .func  (.param .b32 r) __nv_exp2f\\0A(\\0A.param .b32 "
                "x\\0A)\\0A;\""),
            "");
  EXPECT_EQ(message, "'gpu.binary' op expected device code that needs no library, but it "
                     "calls '__nv_exp2f'");
}
