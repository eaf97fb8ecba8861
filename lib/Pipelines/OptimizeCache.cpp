//===- OptimizeCache.cpp - from a model's code to the best cache ----------===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "kvc/Dialect/KVC/Transforms/Passes.h"
#include "kvc/Pipelines/Pipelines.h"

#include "mlir/Transforms/Passes.h"

using namespace mlir;
using namespace kvc;

/// After it attention is kvc.dense_attention, rotary embeddings are kvc.dense_rope, and codes
/// are made and read by kvc.quantize and kvc.dequantize. What is computed twice would be two
/// things. Codes come first: to the others, roundings are nothing.
static void addRaising(OpPassManager &pm, const OptimizeCachePipelineOptions &options) {
  RaiseQuantizationPassOptions quantization;
  quantization.allowReciprocal = options.allowReciprocal;
  quantization.approximate = options.approximate;
  pm.addPass(createCSEPass());
  pm.addNestedPass<func::FuncOp>(createRaiseQuantizationPass(quantization));
  pm.addNestedPass<func::FuncOp>(createRaiseRopePass());
  pm.addNestedPass<func::FuncOp>(createRaiseAttentionPass());
}

/// After it caches hold the fewest bytes, and attention reads nothing else of them, unless
/// products of their rows are to stay before it.
static void addSinking(OpPassManager &pm, const OptimizeCachePipelineOptions &options) {
  SinkThroughCachePassOptions sink;
  sink.maxWork = options.maxWork;
  AbsorbMLAPassOptions absorb;
  absorb.strategy = options.strategy;
  absorb.precompute = options.precompute;
  absorb.paged = options.page > 0;
  absorb.maxWork = options.maxWork;
  pm.addPass(createSinkThroughCachePass(sink));
  pm.addPass(createFuseCacheQuantizationPass());
  pm.addNestedPass<func::FuncOp>(createEliminateGQABroadcastPass());
  pm.addNestedPass<func::FuncOp>(createAbsorbMLAPass(absorb));
}

/// After it caches are pages, and what is not read of them is multiplied by scales outside of
/// attention's loops. Before, scales are what codes are known by.
static void addPaging(OpPassManager &pm, const OptimizeCachePipelineOptions &options) {
  PageCachePassOptions page;
  page.page = options.page;
  pm.addPass(createPageCachePass(page));
  pm.addNestedPass<func::FuncOp>(createHoistScalesPass());
}

/// After it nothing is there twice, and nothing that would fold.
static void addCleaning(OpPassManager &pm) {
  pm.addPass(createCanonicalizerPass());
  pm.addPass(createCSEPass());
}

void kvc::buildOptimizeCachePipeline(OpPassManager &pm,
                                     const OptimizeCachePipelineOptions &options) {
  addRaising(pm, options);
  addSinking(pm, options);
  addCleaning(pm);
  if (options.page > 0)
    addPaging(pm, options);
  // Slices fold only once their sizes are the same values.
  addCleaning(pm);
}
