//===- Definition.cpp - kvc to loops that define it -----------------------===//
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
#include "mlir/Dialect/Arith/Transforms/Passes.h"
#include "mlir/Dialect/Bufferization/Pipelines/Passes.h"
#include "mlir/Dialect/Bufferization/Transforms/Passes.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/Passes.h"
#include "mlir/Dialect/Math/Transforms/Passes.h"
#include "mlir/Dialect/MemRef/Transforms/Passes.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;
using namespace kvc;

/// After it there is no kvc operation left; public functions take buffers.
static void addLoops(OpPassManager &pm, const DefinitionPipelineOptions &options) {
  AssignCacheLayoutPassOptions layout;
  layout.layout = options.layout;
  pm.addPass(createAssignCacheLayoutPass(layout));
  DecomposePassOptions decompose;
  decompose.precision = options.precision;
  pm.addPass(createDecomposePass(decompose));
  pm.addPass(createCanonicalizerPass());
  pm.addPass(createCSEPass());
}

/// After it there is no tensor left, and every buffer that is allocated is freed.
static void addBuffers(OpPassManager &pm) {
  pm.addPass(createConvertElementwiseToLinalgPass());
  bufferization::OneShotBufferizePassOptions bufferize;
  bufferize.bufferizeFunctionBoundaries = true;
  pm.addPass(bufferization::createOneShotBufferizePass(bufferize));
  pm.addPass(createCanonicalizerPass());
  pm.addNestedPass<func::FuncOp>(bufferization::createBufferLoopHoistingPass());
  bufferization::buildBufferDeallocationPipeline(pm);
  pm.addPass(createConvertBufferizationToMemRefPass());
  pm.addPass(createConvertLinalgToLoopsPass());
}

/// After it arithmetic is in types that every processor has, and nothing needs a
/// library but libc and libm.
static void addPlainArithmetic(OpPassManager &pm) {
  arith::ArithEmulateUnsupportedFloatsOptions emulate;
  emulate.sourceTypeStrs = {"f16", "bf16"};
  emulate.targetTypeStr = "f32";
  pm.addPass(arith::createArithEmulateUnsupportedFloats(emulate));
  pm.addPass(math::createMathExtendToSupportedTypes());
  pm.addPass(createExpandRuntimeCallsPass());
  pm.addPass(arith::createArithExpandOpsPass());
  pm.addPass(createConvertMathToLibmPass());
}

/// After it everything is in the LLVM dialect.
static void addLLVM(OpPassManager &pm) {
  pm.addPass(createLowerAffinePass());
  pm.addPass(memref::createExpandStridedMetadataPass());
  pm.addPass(createLowerAffinePass()); // of the offsets that this computes
  pm.addPass(createSCFToControlFlowPass());
  pm.addPass(createCanonicalizerPass());
  pm.addPass(createCSEPass());
  pm.addPass(createConvertMathToLLVMPass());
  pm.addPass(createFinalizeMemRefToLLVMConversionPass());
  pm.addPass(createArithToLLVMConversionPass());
  pm.addPass(createConvertIndexToLLVMPass());
  pm.addPass(createConvertFuncToLLVMPass());
  pm.addPass(createConvertControlFlowToLLVMPass());
  pm.addPass(createUBToLLVMConversionPass());
  pm.addPass(createReconcileUnrealizedCastsPass());
}

void kvc::buildKVCToDefinitionPipeline(OpPassManager &pm,
                                       const DefinitionPipelineOptions &options) {
  addLoops(pm, options);
  addBuffers(pm);
  addPlainArithmetic(pm);
  addLLVM(pm);
  pm.addPass(createWrapDefinitionPass());
  BuildProgramPassOptions program;
  program.programName = options.programName;
  program.target = "definition " + options.precision;
  pm.addPass(createBuildProgramPass(program));
}
