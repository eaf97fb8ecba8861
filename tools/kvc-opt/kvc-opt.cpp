//===- kvc-opt.cpp - runs passes on .mlir files ---------------------------===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "kvc/Conversion/Passes.h"
#include "kvc/Dialect/KVC/IR/KVC.h"
#include "kvc/Dialect/KVC/Transforms/Passes.h"

#include "mlir/InitAllDialects.h"
#include "mlir/InitAllExtensions.h"
#include "mlir/InitAllPasses.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"

int main(int argc, char **argv) {
  mlir::DialectRegistry registry;
  mlir::registerAllDialects(registry);
  mlir::registerAllExtensions(registry);
  mlir::registerAllPasses();
  registry.insert<kvc::KVCDialect>();
  kvc::registerKVCTransformsPasses();
  kvc::registerDecomposePass();
  kvc::registerExpandRuntimeCallsPass();
  kvc::registerWrapDefinitionPass();
  kvc::registerBuildProgramPass();
  return mlir::asMainReturnCode(
      mlir::MlirOptMain(argc, argv, "kvc compiler driver\n", registry));
}
