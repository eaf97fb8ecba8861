//===- PTX.cpp - kvc to PTX -----------------------------------------------===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "kvc/Conversion/Passes.h"
#include "kvc/Dialect/KVC/Transforms/Passes.h"
#include "kvc/Pipelines/Pipelines.h"

#include "mlir/Conversion/Passes.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/GPU/Transforms/Passes.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;
using namespace kvc;

/// After it there is one gpu.module of llvm.func kernels, whose bodies may still
/// hold scf, arith and vector operations.
static void addKernels(OpPassManager &pm, const PTXPipelineOptions &options) {
  PlanGPUPassOptions plan;
  plan.split = options.split;
  pm.addPass(createPlanGPUPass(plan));
  pm.addPass(createConvertKVCToNVVMPass());
  pm.addPass(createVerifyNVVMPass());
}

/// After it the gpu.module is in the LLVM and NVVM dialects. convert-gpu-to-nvvm
/// takes care of control flow, and turns what arith and math operations it finds
/// into calls of a device library; arith is gone by then.
static void addNVVM(OpPassManager &pm) {
  OpPassManager &module = pm.nest<gpu::GPUModuleOp>();
  module.addPass(createSCFToControlFlowPass());
  module.addPass(createConvertVectorToLLVMPass());
  module.addPass(createArithToLLVMConversionPass());
  module.addPass(createConvertGpuOpsToNVVMOps());
  module.addPass(createConvertIndexToLLVMPass());
  module.addPass(createConvertNVVMToLLVMPass());
  module.addPass(createUBToLLVMConversionPass());
  module.addPass(createCanonicalizerPass());
  module.addPass(createCSEPass());
  module.addPass(createReconcileUnrealizedCastsPass());
}

void kvc::buildKVCToPTXPipeline(OpPassManager &pm, const PTXPipelineOptions &options) {
  addKernels(pm, options);
  // Below level 1, accumulators are copied and ptxas serialises wgmma.
  GpuNVVMAttachTargetOptions target;
  target.chip = options.chip;
  target.features = "+ptx" + std::to_string(options.ptxVersion);
  target.optLevel = 3;
  pm.addPass(createGpuNVVMAttachTarget(target));
  addNVVM(pm);
  GpuModuleToBinaryPassOptions binary;
  binary.compilationTarget = "isa";
  pm.addPass(createGpuModuleToBinaryPass(binary));
}
