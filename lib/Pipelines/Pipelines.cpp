//===- Pipelines.cpp - names of the pipelines -----------------------------===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "kvc/Pipelines/Pipelines.h"

#include "mlir/Pass/PassRegistry.h"

using namespace mlir;

void kvc::registerKVCPipelines() {
  PassPipelineRegistration<OptimizeCachePipelineOptions>(
      "kvc-optimize-cache-pipeline", "a model's own code to attention over the smallest cache",
      buildOptimizeCachePipeline);
  PassPipelineRegistration<CPUPipelineOptions>(
      "kvc-to-cpu-pipeline", "kvc to optimised CPU kernels in the LLVM dialect",
      buildKVCToCPUPipeline);
  PassPipelineRegistration<DefinitionPipelineOptions>(
      "kvc-to-definition-pipeline", "kvc to its definition in the LLVM dialect",
      buildKVCToDefinitionPipeline);
  PassPipelineRegistration<PTXPipelineOptions>(
      "kvc-to-ptx-pipeline", "kvc to PTX text in a gpu.binary", buildKVCToPTXPipeline);
  PassPipelineRegistration<GPUPipelineOptions>(
      "kvc-to-gpu-pipeline",
      "kvc to PTX and the host code that launches it, in the LLVM dialect",
      buildKVCToGPUPipeline);
}
