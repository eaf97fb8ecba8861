//===- Pipelines.h - from kvc IR to programs --------------------*- C++ -*-===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The one place where passes are strung together. Tools, the C API and tests
// use these builders, so what they run is the same.
//===----------------------------------------------------------------------===//
#ifndef KVC_PIPELINES_PIPELINES_H
#define KVC_PIPELINES_PIPELINES_H

#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassOptions.h"

namespace kvc {

struct CPUPipelineOptions : mlir::PassPipelineOptions<CPUPipelineOptions> {
  Option<std::string> tier{*this, "tier",
                           llvm::cl::desc("amx, avx512_bf16, avx512, avx2 or plain"),
                           llvm::cl::init("plain")};
  Option<std::string> layout{*this, "layout", llvm::cl::desc("packed or row_major"),
                             llvm::cl::init("packed")};
  Option<int64_t> split{*this, "split",
                        llvm::cl::desc("keys of one decode work item (0: what kvc-plan takes)"),
                        llvm::cl::init(0)};
  Option<bool> printPlan{*this, "print-plan",
                         llvm::cl::desc("print what kvc-plan considers, and its costs"),
                         llvm::cl::init(false)};
  Option<std::string> programName{*this, "program-name",
                                  llvm::cl::desc("prefix of the query function"),
                                  llvm::cl::init("")};
};

/// How caches shrink.
struct OptimizeCachePipelineOptions
    : mlir::PassPipelineOptions<OptimizeCachePipelineOptions> {
  Option<double> maxWork{*this, "max-work",
                         llvm::cl::desc("by how much the work a cached token may grow"),
                         llvm::cl::init(4.0)};
  Option<int64_t> page{*this, "page",
                       llvm::cl::desc("tokens a page (0: caches stay tensors)"),
                       llvm::cl::init(16)};
  Option<std::string> strategy{*this, "strategy",
                               llvm::cl::desc("attention over latent rows: absorb, expand "
                                              "(whose caches stay tensors) or auto"),
                               llvm::cl::init("absorb")};
  Option<std::string> precompute{*this, "precompute",
                                 llvm::cl::desc("products of constant weights around it: "
                                                "none, auto or all"),
                                 llvm::cl::init("auto")};
  Option<bool> allowReciprocal{*this, "allow-reciprocal",
                               llvm::cl::desc("quantisation: take products with a reciprocal "
                                              "for quotients"),
                               llvm::cl::init(false)};
  Option<bool> approximate{*this, "approximate",
                           llvm::cl::desc("quantisation: take what differs in rounding and "
                                          "guards too"),
                           llvm::cl::init(false)};
};

struct DefinitionPipelineOptions : mlir::PassPipelineOptions<DefinitionPipelineOptions> {
  Option<std::string> precision{*this, "precision", llvm::cl::desc("f32 or f64"),
                                llvm::cl::init("f32")};
  Option<std::string> layout{*this, "layout", llvm::cl::desc("packed or row_major"),
                             llvm::cl::init("packed")};
  Option<std::string> programName{*this, "program-name",
                                  llvm::cl::desc("prefix of the query function"),
                                  llvm::cl::init("")};
};

/// Options of everything that makes PTX.
template <typename Options>
struct DevicePipelineOptions : mlir::PassPipelineOptions<Options> {
  template <typename T>
  using Option = mlir::detail::PassOptions::Option<T>;

  Option<std::string> chip{*this, "chip", llvm::cl::desc("GPU architecture"),
                           llvm::cl::init("sm_90a")};
  Option<int64_t> ptxVersion{*this, "ptx-version",
                             llvm::cl::desc("PTX version times ten, such as 86"),
                             llvm::cl::init(86)};
  Option<std::string> target{*this, "target",
                             llvm::cl::desc("GPU that kvc-plan plans for, by name; gpu: the "
                                            "module's kvc.target, or h100_sxm"),
                             llvm::cl::init("gpu")};
  Option<int64_t> split{*this, "split",
                        llvm::cl::desc("what the keys of a work item are a multiple of (0: "
                                       "what kvc-plan takes)"),
                        llvm::cl::init(0)};
  Option<bool> printPlan{*this, "print-plan",
                         llvm::cl::desc("print what kvc-plan considers, and its costs"),
                         llvm::cl::init(false)};
};

struct PTXPipelineOptions : DevicePipelineOptions<PTXPipelineOptions> {};

struct GPUPipelineOptions : DevicePipelineOptions<GPUPipelineOptions> {
  Option<std::string> programName{*this, "program-name",
                                  llvm::cl::desc("prefix of the query function"),
                                  llvm::cl::init("")};
};

/// From a model's own code to attention over the fewest bytes a token: see docs/Caches.md.
void buildOptimizeCachePipeline(mlir::OpPassManager &pm,
                                const OptimizeCachePipelineOptions &options);

/// kvc -> LLVM dialect: optimised CPU kernels and a program's entry points.
void buildKVCToCPUPipeline(mlir::OpPassManager &pm, const CPUPipelineOptions &options);

/// kvc -> LLVM dialect: the definition as loops, and a program's entry points.
void buildKVCToDefinitionPipeline(mlir::OpPassManager &pm,
                                  const DefinitionPipelineOptions &options);

/// kvc -> gpu.binary with PTX text.
void buildKVCToPTXPipeline(mlir::OpPassManager &pm, const PTXPipelineOptions &options);

/// kvc -> LLVM dialect: host code that launches kernels, their PTX as the image of
/// the program, and a program's entry points.
void buildKVCToGPUPipeline(mlir::OpPassManager &pm, const GPUPipelineOptions &options);

/// Registers kvc-to-cpu-pipeline, kvc-to-definition-pipeline, kvc-to-ptx-pipeline
/// and kvc-to-gpu-pipeline.
void registerKVCPipelines();

} // namespace kvc

#endif // KVC_PIPELINES_PIPELINES_H
