//===- HostCode.cpp - steps for what is around kvc operations -------------===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "HostCode.h"

#include "kvc/Conversion/Passes.h"
#include "kvc/Dialect/KVC/Transforms/Passes.h"

#include "mlir/Conversion/Passes.h"
#include "mlir/Dialect/Arith/Transforms/Passes.h"
#include "mlir/Dialect/Bufferization/Transforms/Passes.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/Linalg/Passes.h"
#include "mlir/Dialect/Math/Transforms/Passes.h"
#include "mlir/Dialect/MemRef/Transforms/Passes.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;

void kvc::addShapes(OpPassManager &pm) {
  pm.addPass(createConvertElementwiseToLinalgPass());
  pm.addPass(createSimplifyHostCodePass());
  pm.addPass(createCanonicalizerPass());
  pm.addPass(createCSEPass());
  pm.addPass(createGuardHostCodePass());
  pm.addPass(createDeriveShapesPass());
  // Sizes of intermediate tensors, too, from those of arguments.
  pm.addPass(memref::createResolveRankedShapeTypeResultDimsPass());
  pm.addPass(createCanonicalizerPass());
  pm.addPass(createCSEPass());
}

/// After it there is no tensor left, and no allocation.
static void addBuffers(OpPassManager &pm) {
  // Without -eliminate-empty-tensors: it gives one place to two values that begin alike.
  pm.addPass(kvc::createConvertBoundariesPass());
  bufferization::OneShotBufferizePassOptions bufferize;
  bufferize.bufferizeFunctionBoundaries = true;
  pm.addPass(bufferization::createOneShotBufferizePass(bufferize));
  pm.addPass(memref::createResolveRankedShapeTypeResultDimsPass());
  pm.addPass(createCanonicalizerPass());
  pm.addPass(createCSEPass());
  pm.addPass(kvc::createPlaceBuffersPass());
}

void kvc::addPlainArithmetic(OpPassManager &pm) {
  math::MathExpandOpsPassOptions expand;
  expand.opMnemonics = {"rsqrt"}; // which libm lacks
  pm.addPass(math::createMathExpandOpsPass(expand));
  arith::ArithEmulateUnsupportedFloatsOptions emulate;
  emulate.sourceTypeStrs = {"f16", "bf16"};
  emulate.targetTypeStr = "f32";
  pm.addPass(arith::createArithEmulateUnsupportedFloats(emulate));
  pm.addPass(math::createMathExtendToSupportedTypes());
  pm.addPass(createExpandRuntimeCallsPass());
  // Conversions of bf16 as shifts of integers, which become vectors.
  arith::ArithExpandOpsPassOptions bits;
  bits.includeBf16 = true;
  pm.addPass(arith::createArithExpandOpsPass(bits));
  pm.addPass(createConvertMathToLibmPass());
}

void kvc::addBuffersToLLVM(OpPassManager &pm) {
  pm.addPass(createLowerAffinePass());
  pm.addPass(createExpandReshapesPass());
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

/// Cuts host code out; returns where it is.
static OpPassManager &addOutlining(OpPassManager &pm) {
  pm.addPass(createInlinerPass());
  pm.addNestedPass<func::FuncOp>(kvc::createDecomposeDensePass());
  pm.addPass(memref::createResolveRankedShapeTypeResultDimsPass());
  pm.addPass(createCanonicalizerPass());
  pm.addPass(createCSEPass());
  pm.addPass(kvc::createOutlineHostCodePass());
  OpPassManager &parts = pm.nest<ModuleOp>();
  kvc::addShapes(parts);
  addBuffers(parts);
  return parts;
}

void kvc::addHostCode(OpPassManager &pm) {
  OpPassManager &parts = addOutlining(pm);
  parts.addPass(createLowerAffinePass());
  parts.addPass(createConvertHostCodeToLoopsPass());
  parts.addPass(createConvertBufferizationToMemRefPass());
  parts.addPass(createCSEPass()); // sizes that several buffers have
  parts.addPass(createLowerAssertionsPass());
  addPlainArithmetic(parts);
  addBuffersToLLVM(parts);
}

/// Kernels of host code, in the NVVM dialect after it.
static void addDeviceCode(OpPassManager &kernels) {
  kernels.addPass(createLowerAffinePass());
  arith::ArithEmulateUnsupportedFloatsOptions emulate;
  emulate.sourceTypeStrs = {"f16", "bf16"};
  emulate.targetTypeStr = "f32";
  kernels.addPass(arith::createArithEmulateUnsupportedFloats(emulate));
  kernels.addPass(math::createMathExtendToSupportedTypes());
  kernels.addPass(kvc::createExpandDeviceMathPass());
  kernels.addPass(arith::createArithExpandOpsPass());
  kernels.addPass(createConvertVectorToLLVMPass());
  kernels.addPass(kvc::createExpandReshapesPass());
  kernels.addPass(memref::createExpandStridedMetadataPass());
  kernels.addPass(createLowerAffinePass()); // of the offsets that this computes
  kernels.addPass(createLoopInvariantCodeMotionPass());
  kernels.addPass(createSCFToControlFlowPass());
  kernels.addPass(createCanonicalizerPass());
  kernels.addPass(createCSEPass());
  kernels.addPass(createConvertMathToLLVMPass());
  kernels.addPass(createConvertGpuOpsToNVVMOps());
  kernels.addPass(createReconcileUnrealizedCastsPass());
}

void kvc::addHostCodeOfDevice(OpPassManager &pm) {
  OpPassManager &parts = addOutlining(pm);
  parts.addPass(createConvertBufferizationToMemRefPass());
  parts.addPass(createCanonicalizerPass());
  parts.addPass(createCSEPass());
  parts.addPass(createConvertHostCodeToKernelsPass());
  parts.addPass(createCSEPass());
  parts.addPass(createLowerAssertionsPass());
  addDeviceCode(parts.nest<gpu::GPUModuleOp>());
  addBuffersToLLVM(parts);
}
