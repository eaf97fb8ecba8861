//===- GPU.cpp - kvc to PTX, and to programs for a GPU --------------------===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "HostCode.h"

#include "kvc/Conversion/Passes.h"
#include "kvc/Dialect/KVC/Transforms/Passes.h"
#include "kvc/Dialect/KVTile/Transforms/Passes.h"
#include "kvc/Pipelines/Pipelines.h"
#include "kvc/Target/PTX/Passes.h"

#include "mlir/Conversion/Passes.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/GPU/Transforms/Passes.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;
using namespace kvc;

/// After it there is one gpu.module of llvm.func kernels, whose bodies may still
/// hold scf, arith and vector operations.
template <typename Options>
static void addKernels(OpPassManager &pm, const Options &options, bool keepFunctions) {
  PlanPassOptions plan;
  plan.target = options.target;
  plan.split = options.split;
  plan.print = options.printPlan;
  pm.addPass(createPlanPass(plan));
  ConvertKVCToKVTilePassOptions convert;
  convert.keepFunctions = keepFunctions;
  pm.addPass(createConvertKVCToKVTilePass(convert));
  OpPassManager &module = pm.nest<gpu::GPUModuleOp>();
  module.addNestedPass<kvtile::KernelOp>(kvtile::createAssignLayoutsPass());
  module.addNestedPass<kvtile::KernelOp>(kvtile::createPipelineCopiesPass());
  module.addPass(createConvertKVTileToNVVMPass());
  module.addPass(createCanonicalizerPass());
  module.addPass(createCSEPass());
  module.addPass(createLoopInvariantCodeMotionPass());
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

/// After it the gpu.module is a gpu.binary with PTX text.
static void addPTX(OpPassManager &pm, StringRef chip, int64_t ptxVersion) {
  // Below level 1, accumulators are copied and ptxas serialises wgmma.
  GpuNVVMAttachTargetOptions target;
  target.chip = chip.str();
  target.features = "+ptx" + std::to_string(ptxVersion);
  target.optLevel = 3;
  pm.addPass(createGpuNVVMAttachTarget(target));
  addNVVM(pm);
  GpuModuleToBinaryPassOptions binary;
  binary.compilationTarget = "isa";
  pm.addPass(createGpuModuleToBinaryPass(binary));
}

/// After it the host code is in the LLVM dialect.
static void addHost(OpPassManager &pm) {
  pm.addPass(createCanonicalizerPass());
  pm.addPass(createCSEPass());
  pm.addPass(createArithToLLVMConversionPass());
  pm.addPass(createReconcileUnrealizedCastsPass());
}

void kvc::buildKVCToPTXPipeline(OpPassManager &pm, const PTXPipelineOptions &options) {
  addKernels(pm, options, /*keepFunctions=*/false);
  addPTX(pm, options.chip, options.ptxVersion);
}

void kvc::buildKVCToGPUPipeline(OpPassManager &pm, const GPUPipelineOptions &options) {
  addHostCodeOfDevice(pm);
  addKernels(pm, options, /*keepFunctions=*/true);
  pm.addPass(createConvertKVCToLaunchesPass());
  addPTX(pm, options.chip, options.ptxVersion);
  pm.addPass(createEmbedPTXPass());
  addHost(pm);
  BuildProgramPassOptions program;
  program.programName = options.programName;
  program.target = options.chip;
  pm.addPass(createBuildProgramPass(program));
}
