//===- Passes.td - passes on the kvc dialect ---------------*- tablegen -*-===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef KVC_DIALECT_KVC_TRANSFORMS_PASSES
#define KVC_DIALECT_KVC_TRANSFORMS_PASSES

include "mlir/Pass/PassBase.td"

def AssignCacheLayoutPass : Pass<"kvc-assign-cache-layout", "::mlir::ModuleOp"> {
  let summary = "choose the physical layout of every cache component";
  let description = [{
    Rewrites the cache types of a module, all functions alike, since they share
    the pool. With `layout=packed`, components that only ever serve as keys
    become `packed_key` and those that only ever serve as values become
    `packed_value`, which are the images that the CPU kernels read without
    shuffling; a component that is both, a page size that is not a multiple of
    16, and caches in somebody else's buffers stay row-major, with a remark. With
    `layout=row_major` every component becomes row-major. Types that
    already name a packed layout keep it under `layout=packed`.

    ```mlir
    // kvc-opt -kvc-assign-cache-layout="layout=packed"
    !kvc.cache<page = 16, k: 8x128xf16, v: 8x128xf16>
    // becomes
    !kvc.cache<page = 16, k: 8x128xf16 layout<packed_key>, v: 8x128xf16 layout<packed_value>>
    ```
  }];
  let options = [
    Option<"layout", "layout", "std::string", "\"packed\"",
           "packed or row_major">
  ];
  let dependentDialects = ["::kvc::KVCDialect"];
}

def PlanCPUPass : Pass<"kvc-plan-cpu", "::mlir::ModuleOp"> {
  let summary = "choose the register tiles and splits of attention on the CPU";
  let description = [{
    Writes a `#kvc.cpu_schedule` on every `kvc.attention` that has no schedule
    yet, so that a person can read or override it. The tier names what the
    processor has: `avx512_bf16`, `avx512`, `avx2` (with FMA and F16C), `plain`.
  }];
  let options = [
    Option<"tier", "tier", "std::string", "\"plain\"",
           "avx512_bf16, avx512, avx2 or plain">,
    Option<"split", "split", "int64_t", "4096",
           "keys of one decode work item; rounded up to a multiple of the tile">
  ];
  let dependentDialects = ["::kvc::KVCDialect"];
}

def PlanGPUPass : Pass<"kvc-plan-gpu", "::mlir::ModuleOp"> {
  let summary = "choose the tiles, stages and splits of attention on the GPU";
  let description = [{
    Writes a `#kvc.gpu_schedule` on every `kvc.attention` that has no schedule
    yet, so that a person can read or override it.
  }];
  let options = [
    Option<"split", "split", "int64_t", "1024",
           "keys of one work item; rounded up to a multiple of the tile">
  ];
  let dependentDialects = ["::kvc::KVCDialect"];
}

#endif // KVC_DIALECT_KVC_TRANSFORMS_PASSES
