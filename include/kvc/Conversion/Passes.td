//===- Passes.td - conversions from the kvc dialect --------*- tablegen -*-===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef KVC_CONVERSION_PASSES
#define KVC_CONVERSION_PASSES

include "mlir/Pass/PassBase.td"

//===----------------------------------------------------------------------===//
// KVCToLoops
//===----------------------------------------------------------------------===//

def DecomposePass : Pass<"kvc-decompose", "::mlir::ModuleOp"> {
  let summary = "replace every kvc op by its definition as loops";
  let description = [{
    Decomposes the operations of the dialect into `scf`, `arith`, `math`,
    `tensor` and `memref` loops over sequences, heads, queries and keys: two
    passes over the keys, no score matrix. This text is the meaning of the
    operations; every optimised path is compared with it.

    A cache argument becomes one memref a component, a batch argument one a
    array (`getComponentBuffer` and `BatchArrays` in `DefinitionABI.h`). Public
    functions take their tensors as memrefs with any strides but the last, those
    of results behind the arguments, and keep their type in the attribute
    `kvc.function_type`; `kvc.checks` says what a call has to fulfil beyond it.
    What else there is in a function stays as it is.

    ```mlir
    func.func @f(%q: tensor<?x8x64xf32>, %c: !kvc.cache<page = 16, k: 2x64xf32>, ...)
        -> tensor<?x8x64xf32>
    // becomes
    func.func @f(%q: memref<?x8x64xf32, strided<[?, ?, 1]>>,
                 %k: memref<?x16x2x64xf32, strided<[?, ?, ?, 1], offset: ?>>, ...,
                 %out: memref<?x8x64xf32, strided<[?, ?, 1]>>)
    ```
  }];
  let options = [
    Option<"precision", "precision", "std::string", "\"f32\"",
           "type of scores and sums: f32 or f64">
  ];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::func::FuncDialect",
                           "::mlir::math::MathDialect", "::mlir::memref::MemRefDialect",
                           "::mlir::scf::SCFDialect", "::mlir::tensor::TensorDialect",
                           "::mlir::bufferization::BufferizationDialect"];
}

//===----------------------------------------------------------------------===//
// KVCToCPU
//===----------------------------------------------------------------------===//

def ConvertKVCToCPUPass : Pass<"convert-kvc-to-cpu", "::mlir::ModuleOp"> {
  let summary = "generate CPU kernels and the host code that runs them";
  let description = [{
    Replaces every public function of kvc operations by kernels on explicit
    register tiles of 1-D vectors, and by the functions `needs` and `run` of the
    host ABI (`kvc-rt/abi.h`). Attention needs a `#kvc.cpu_schedule`. Private
    functions, which nothing can call, are dropped.
  }];
  let options = [
    Option<"tier", "tier", "std::string", "\"plain\"",
           "avx512_bf16, avx512, avx2 or plain">
  ];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::LLVM::LLVMDialect",
                           "::mlir::scf::SCFDialect", "::mlir::vector::VectorDialect",
                           "::mlir::math::MathDialect",
                           "::mlir::x86vector::X86VectorDialect"];
}

//===----------------------------------------------------------------------===//
// KVCToKVTile, KVTileToNVVM
//===----------------------------------------------------------------------===//

def ConvertKVCToKVTilePass : Pass<"convert-kvc-to-kvtile", "::mlir::ModuleOp"> {
  let summary = "generate GPU kernels as tile programs";
  let description = [{
    Replaces every public function of kvc operations by kernels in a `gpu.module`,
    in the order in which the host launches them. Attention needs a
    `#kvc.gpu_schedule`. What has no kernel is refused with the reason.
  }];
  let options = [
    Option<"keepFunctions", "keep-functions", "bool", "false",
           "leave the functions, for -convert-kvc-to-launches">
  ];
  let dependentDialects = ["::kvc::kvtile::KVTileDialect", "::mlir::arith::ArithDialect",
                           "::mlir::gpu::GPUDialect", "::mlir::LLVM::LLVMDialect",
                           "::mlir::NVVM::NVVMDialect", "::mlir::scf::SCFDialect",
                           "::mlir::vector::VectorDialect"];
}

def ConvertKVTileToNVVMPass : Pass<"convert-kvtile-to-nvvm", "::mlir::gpu::GPUModuleOp"> {
  let summary = "lower tile programs to kernels on the nvvm dialect";
  let description = [{
    Every tile becomes the registers that its layout gives each thread; products become
    ldmatrix and mma.sync, copies cp.async. Tiles need layouts
    (`kvtile-assign-layouts`), and streams have to be pipelined
    (`kvtile-pipeline-copies`).
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::LLVM::LLVMDialect",
                           "::mlir::NVVM::NVVMDialect", "::mlir::scf::SCFDialect",
                           "::mlir::vector::VectorDialect"];
}

def VerifyNVVMPass : Pass<"kvc-verify-nvvm", "::mlir::ModuleOp"> {
  let summary = "refuse device code that is known to miscompile or abort";
  let description = [{
    Walks the kernels of a module before they become PTX, and refuses the
    constructs that LLVM 22 compiles to wrong code without a word, or on which it
    ends the process. Each message says what to write instead.
  }];
}

//===----------------------------------------------------------------------===//
// KVCToHost
//===----------------------------------------------------------------------===//

def WrapDefinitionPass : Pass<"kvc-wrap-definition", "::mlir::ModuleOp"> {
  let summary = "give decomposed functions the entry points of the host ABI";
  let description = [{
    Runs after the decomposed, bufferised functions have been lowered to the
    LLVM dialect: adds, for each, the functions `needs` and `run` that take its
    arguments from a `kvc_call_t`, check them, and pass them as memref descriptors.
  }];
  let dependentDialects = ["::mlir::LLVM::LLVMDialect"];
}

def ExpandRuntimeCallsPass : Pass<"kvc-expand-runtime-calls"> {
  let summary = "replace operations that become calls of a compiler's library";
  let description = [{
    A program may call libc and libm, nothing else. Before the lowering to the
    LLVM dialect this replaces

    * `arith.extf` and `arith.truncf` from and to f16 and bf16 by integer
      arithmetic on the bits, exact and with one rounding to nearest even, which
      needs no instruction that a plain x86-64 lacks;
    * `memref.copy` between buffers with strides by loops.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::memref::MemRefDialect",
                           "::mlir::scf::SCFDialect"];
}

def ConvertKVCToLaunchesPass : Pass<"convert-kvc-to-launches", "::mlir::ModuleOp"> {
  let summary = "generate the host code that launches GPU kernels";
  let description = [{
    Runs after `-convert-kvc-to-kvtile="keep-functions"`: replaces each function by
    `needs` and `run` of the host ABI, and lists the kernels of the `gpu.module`
    in the attribute `kvc.kernels` of the module. `run` has the runtime check the
    call, lays out the workspace, and launches the kernels of each operation in
    order, each by what its own attributes say (`KernelABI.h`). It reads no device
    memory: arrays are sized by the upper bounds that the batch states, and the work
    list is built on the device. Private functions, which nothing can call, are
    dropped.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::LLVM::LLVMDialect"];
}

def BuildProgramPass : Pass<"kvc-build-program", "::mlir::ModuleOp"> {
  let summary = "add the descriptor and the one exported symbol of a program";
  let description = [{
    Reads the module's `kvc.functions` attribute, which the conversions to CPU
    and host write, and adds the flat descriptor, the table of entry points and
    the query function of `kvc-rt/abi.h`. All other symbols become private. For a
    GPU there are `kvc.kernels` and `kvc.image` as well, which become part of the
    descriptor.
  }];
  let options = [
    Option<"programName", "program-name", "std::string", "\"\"",
           "prefix of the query function: <name>_program_query">,
    Option<"target", "target", "std::string", "\"\"",
           "text that says what the code was compiled for">
  ];
  let dependentDialects = ["::mlir::LLVM::LLVMDialect"];
}

#endif // KVC_CONVERSION_PASSES
