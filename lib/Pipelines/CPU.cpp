//===- CPU.cpp - kvc to optimised CPU code --------------------------------===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "HostCode.h"

#include "kvc/Conversion/Passes.h"
#include "kvc/Dialect/KVC/Transforms/Passes.h"
#include "kvc/Pipelines/Pipelines.h"
#include "kvc/Support/CPUTier.h"

#include "mlir/Conversion/Passes.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;
using namespace kvc;

/// After it every attention has its layout and its schedule.
static void addDecisions(OpPassManager &pm, const CPUPipelineOptions &options) {
  AssignCacheLayoutPassOptions layout;
  layout.layout = options.layout;
  std::optional<CPUTier> tier = symbolizeCPUTier(options.tier);
  layout.codes = tier == CPUTier::AMX          ? "tiles"
                 : tier == CPUTier::AVX512BF16 ? "pairs"
                                               : "lanes";
  pm.addPass(createAssignCacheLayoutPass(layout));
  PlanPassOptions plan;
  plan.target = "cpu";
  plan.tier = options.tier;
  plan.split = options.split;
  plan.print = options.printPlan;
  pm.addPass(createPlanPass(plan));
}

/// After it there is no kvc operation left, only loops and vectors.
static void addKernels(OpPassManager &pm, const CPUPipelineOptions &options) {
  ConvertKVCToCPUPassOptions convert;
  convert.tier = options.tier;
  pm.addPass(createConvertKVCToCPUPass(convert));
  pm.addPass(createCanonicalizerPass());
  pm.addPass(createCSEPass());
}

/// After it everything is in the LLVM dialect. Poison goes last: earlier passes
/// make it, and canonicalisation does not remove it.
static void addLLVM(OpPassManager &pm) {
  pm.addPass(createSCFToControlFlowPass());
  ConvertVectorToLLVMPassOptions vector;
  vector.x86Vector = true;
  pm.addPass(createConvertVectorToLLVMPass(vector));
  pm.addPass(createConvertMathToLLVMPass());
  pm.addPass(createArithToLLVMConversionPass());
  pm.addPass(createConvertIndexToLLVMPass());
  pm.addPass(createConvertFuncToLLVMPass());
  pm.addPass(createConvertControlFlowToLLVMPass());
  pm.addPass(createUBToLLVMConversionPass());
  pm.addPass(createReconcileUnrealizedCastsPass());
}

void kvc::buildKVCToCPUPipeline(OpPassManager &pm, const CPUPipelineOptions &options) {
  addHostCode(pm);
  addDecisions(pm, options);
  addKernels(pm, options);
  addLLVM(pm);
  BuildProgramPassOptions program;
  program.programName = options.programName;
  program.target = "x86_64 " + options.tier;
  pm.addPass(createBuildProgramPass(program));
}
