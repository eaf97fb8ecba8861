//===- Definition.cpp - kvc to loops that define it -----------------------===//
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

#include "mlir/Conversion/Passes.h"
#include "mlir/Dialect/Bufferization/Pipelines/Passes.h"
#include "mlir/Dialect/Bufferization/Transforms/Passes.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/Passes.h"
#include "mlir/Dialect/MemRef/Transforms/Passes.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;
using namespace kvc;

/// After it there is no kvc operation left; public functions take buffers.
static void addLoops(OpPassManager &pm, const DefinitionPipelineOptions &options) {
  pm.addPass(createInlinerPass());
  pm.addNestedPass<func::FuncOp>(createDecomposeDensePass());
  addShapes(pm);
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
  pm.addPass(memref::createResolveRankedShapeTypeResultDimsPass());
  pm.addPass(createCanonicalizerPass());
  pm.addNestedPass<func::FuncOp>(bufferization::createBufferLoopHoistingPass());
  // What the definition of an operation needs for each sequence is allocated.
  PlaceBuffersPassOptions place;
  place.keepOthers = true;
  pm.addPass(createPlaceBuffersPass(place));
  bufferization::buildBufferDeallocationPipeline(pm);
  pm.addPass(createConvertBufferizationToMemRefPass());
  pm.addPass(createConvertLinalgToLoopsPass());
  pm.addPass(createLowerAffinePass());
  pm.addPass(createLowerAssertionsPass());
}

void kvc::buildKVCToDefinitionPipeline(OpPassManager &pm,
                                       const DefinitionPipelineOptions &options) {
  addLoops(pm, options);
  addBuffers(pm);
  addPlainArithmetic(pm);
  addBuffersToLLVM(pm);
  pm.addPass(createWrapDefinitionPass());
  BuildProgramPassOptions program;
  program.programName = options.programName;
  program.target = "definition " + options.precision;
  pm.addPass(createBuildProgramPass(program));
}
