//===- kvc-opt.cpp - runs passes on .mlir files ---------------------------===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "kvc/Conversion/Passes.h"
#include "kvc/Dialect/KVC/Transforms/Passes.h"
#include "kvc/Dialect/KVTile/Transforms/Passes.h"
#include "kvc/Pipelines/Compile.h"
#include "kvc/Pipelines/Pipelines.h"
#include "kvc/Target/PTX/Passes.h"

#include "mlir/Conversion/Passes.h"
#include "mlir/Dialect/Arith/Transforms/Passes.h"
#include "mlir/Dialect/Bufferization/Transforms/Passes.h"
#include "mlir/Dialect/GPU/Transforms/Passes.h"
#include "mlir/Dialect/LLVMIR/Transforms/Passes.h"
#include "mlir/Dialect/Linalg/Passes.h"
#include "mlir/Dialect/MemRef/Transforms/Passes.h"
#include "mlir/Dialect/NVGPU/IR/NVGPUDialect.h"
#include "mlir/Dialect/SCF/Transforms/Passes.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"
#include "mlir/Transforms/Passes.h"

/// The upstream passes that kvc's pipelines are made of. All of MLIR's would
/// treble the time to compile this file, and need dialects that kvc does not use.
static void registerUpstreamPasses() {
  mlir::registerTransformsPasses();
  mlir::registerConversionPasses();
  mlir::registerLinalgPasses();
  mlir::registerSCFPasses();
  mlir::registerGPUPasses();
  mlir::arith::registerArithPasses();
  mlir::bufferization::registerBufferizationPasses();
  mlir::LLVM::registerLLVMPasses();
  mlir::memref::registerMemRefPasses();
}

int main(int argc, char **argv) {
  mlir::DialectRegistry registry;
  kvc::registerCompilerDialects(registry);
  registry.insert<mlir::nvgpu::NVGPUDialect>(); // for what -kvc-verify-nvvm refuses
  registerUpstreamPasses();
  kvc::registerKVCTransformsPasses();
  kvc::kvtile::registerKVTileTransformsPasses();
  kvc::registerKVCConversionPasses();
  kvc::registerKVCTargetPTXPasses();
  kvc::registerKVCPipelines();
  return mlir::asMainReturnCode(
      mlir::MlirOptMain(argc, argv, "kvc compiler driver\n", registry));
}
