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
// HostCode
//===----------------------------------------------------------------------===//

def OutlineHostCodePass : Pass<"kvc-outline-host-code", "::mlir::ModuleOp"> {
  let summary = "cut what a function does around its kvc ops into functions of its own";
  let description = [{
    Cuts the body of each public function into maximal runs of operations that are
    not of the kvc dialect, and moves each run into a function of tensors in a module
    of its own, the *host code*. What is left of the function are kvc operations,
    calls of these parts, and the return. Scalars that several parts need are
    computed in each. A function of kvc operations alone stays as it is; one without
    any becomes one part.

    ```mlir
    func.func @f(%x: tensor<?x64xf32>, %w: tensor<64x64xf32>, %b: !kvc.batch) -> tensor<?x64xf32> {
      %y = linalg.matmul ins(%x, %w : ...) outs(...) -> tensor<?x64xf32>
      %q = tensor.expand_shape %y ... : tensor<?x64xf32> into tensor<?x2x32xf32>
      %r = kvc.rope %q at %b ...
    // becomes
    func.func @f(%x: tensor<?x64xf32>, %w: tensor<64x64xf32>, %b: !kvc.batch) -> tensor<?x64xf32> {
      %q = call @f.part0(%x, %w) : (tensor<?x64xf32>, tensor<64x64xf32>) -> tensor<?x2x32xf32>
      %r = kvc.rope %q at %b ...
    ```

    Refused, with the place: control flow around kvc operations; operations of host
    code on anything but ranked tensors and scalars; operations that have no lowering.
  }];
  let dependentDialects = ["::mlir::func::FuncDialect"];
}

def SimplifyHostCodePass : Pass<"kvc-simplify-host-code", "::mlir::ModuleOp"> {
  let summary = "write host code as few loops over the elements of tensors";
  let description = [{
    Replaces `tensor.gather` and operations that are made of others, such as
    `linalg.softmax`, by `linalg` operations, and fuses an element by element
    computation into the one that uses it if it is the only one and each element is
    still computed once.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::linalg::LinalgDialect",
                           "::mlir::math::MathDialect", "::mlir::tensor::TensorDialect"];
}

def GuardHostCodePass : Pass<"kvc-guard-host-code", "::mlir::ModuleOp"> {
  let summary = "state what host code takes for granted as assertions";
  let description = [{
    The operations of `linalg` and `tensor` leave undefined what they do with sizes that
    do not fit each other and with indices that lie outside. This adds a `cf.assert`
    for every such condition that types do not settle. Where a condition is on
    values rather than shapes, the operation itself is made harmless as well: an element
    outside reads as zero, a slice moves inside, a division by zero divides by one.
    Refused: outputs of `linalg` whose elements are not those of the parallel loops, and
    reductions that do not read what they have so far.
    Those assertions have the attribute `kvc.harmless`.
  }];
  let dependentDialects = ["::mlir::affine::AffineDialect", "::mlir::arith::ArithDialect",
                           "::mlir::cf::ControlFlowDialect", "::mlir::scf::SCFDialect",
                           "::mlir::tensor::TensorDialect"];
}

def DeriveShapesPass : Pass<"kvc-derive-shapes", "::mlir::ModuleOp"> {
  let summary = "compute sizes of results, and what they have to fulfil, from shapes";
  let description = [{
    Gives each public function of tensors, and each part of host code, a second function
    `<name>.shapes` that takes the dynamic dimensions of its tensors and returns those
    of its results. Assertions on shapes move there. A result whose size depends on
    values, and an assertion on sizes that does and is not harmless, is refused.

    ```mlir
    func.func private @f.shapes(%n: index, %m: index) -> index {
      %same = arith.cmpi eq, %n, %m : index
      cf.assert %same, "expected ..."
      return %n : index
    }
    ```
  }];
  let dependentDialects = ["::mlir::affine::AffineDialect", "::mlir::arith::ArithDialect",
                           "::mlir::cf::ControlFlowDialect", "::mlir::func::FuncDialect",
                           "::mlir::tensor::TensorDialect"];
}

def ConvertBoundariesPass : Pass<"kvc-convert-boundaries", "::mlir::ModuleOp"> {
  let summary = "take buffers in place of tensors, those of the results last";
  let description = [{
    Each function with the attribute `kvc.function_type` gets buffers with any strides
    but the last. Results are materialised in buffers of the caller.
  }];
  let dependentDialects = ["::mlir::bufferization::BufferizationDialect",
                           "::mlir::memref::MemRefDialect"];
}

def PlaceBuffersPass : Pass<"kvc-place-buffers", "::mlir::ModuleOp"> {
  let summary = "put the buffers of host code into a workspace of the caller";
  let description = [{
    Runs on bufferised functions that have a function of shapes. Every allocation becomes
    a view of the workspace, a new last argument, one after the other, and the
    function of shapes returns the bytes of all of them as its last result. A
    buffer whose size does not follow from the shapes of arguments, or
    that one iteration of a loop hands to the next, is refused, or with
    `keep-others` stays an allocation.
  }];
  let options = [
    Option<"keepOthers", "keep-others", "bool", "false",
           "leave allocations whose sizes do not follow from shapes">
  ];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::memref::MemRefDialect"];
}

def LowerAssertionsPass : Pass<"kvc-lower-assertions", "::mlir::ModuleOp"> {
  let summary = "report broken assertions to the caller";
  let description = [{
    A function of shapes returns the number of the first assertion that is broken, and
    0 if none is; integer arithmetic in it that overflows counts as one. The
    function itself stores that number where a new last argument says. The texts
    are in the attribute `kvc.conditions`.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::memref::MemRefDialect",
                           "::mlir::scf::SCFDialect"];
}

def ConvertHostCodeToKernelsPass
    : Pass<"kvc-convert-host-code-to-kernels", "::mlir::ModuleOp"> {
  let summary = "turn linalg on buffers into kernels, and launch them";
  let description = [{
    Each operation of host code becomes a kernel of which a thread computes an element of
    the result; a sum is taken by one thread, in registers. In its place the host calls a
    function of the kernel's name that launches it, with the fields of its buffers. Sizes and
    views stay on the host. This suits what is small beside the cache, such as
    the products with each head's weights that absorption leaves; products as large as
    a model's projections are right, but slow.

    Assertions on values are dropped: the operations are harmless without them, and the
    caller does not wait for values.

    Refused, with the place: control flow, and reading or writing single elements, around the
    operations on whole tensors.
  }];
  let dependentDialects = ["::mlir::affine::AffineDialect", "::mlir::arith::ArithDialect",
                           "::mlir::func::FuncDialect", "::mlir::gpu::GPUDialect",
                           "::mlir::linalg::LinalgDialect", "::mlir::memref::MemRefDialect",
                           "::mlir::scf::SCFDialect"];
}
def ExpandDeviceMathPass : Pass<"kvc-expand-device-math", "::mlir::gpu::GPUModuleOp"> {
  let summary = "compute functions without an instruction from arithmetic";
  let description = [{
    Functions of f32 become upstream's polynomials, where these are within a few units in the
    last place for all numbers: exponentials, logarithms, `tanh`, `erf`, `asin`, `acos`. What is
    left and has no instruction is refused: sine and cosine (raise rotary embeddings to
    `kvc.rope`, or compute tables outside), powers but small whole ones, and functions of f64.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::LLVM::LLVMDialect", "::mlir::math::MathDialect",
                           "::mlir::vector::VectorDialect"];
}
def ConvertHostCodeToLoopsPass : Pass<"kvc-convert-host-code-to-loops", "::mlir::ModuleOp"> {
  let summary = "turn linalg on buffers into loops along contiguous memory";
  let description = [{
    Of the loops of each operation that one becomes the innermost along which most
    operands are contiguous, so that it becomes vectors. Sums of floats
    may be taken in any order (`reassoc`) and with fused multiply-adds (`contract`),
    as `linalg` leaves the order open.
  }];
  let dependentDialects = ["::mlir::affine::AffineDialect", "::mlir::arith::ArithDialect",
                           "::mlir::linalg::LinalgDialect", "::mlir::memref::MemRefDialect",
                           "::mlir::scf::SCFDialect"];
}

def ExpandReshapesPass : Pass<"kvc-expand-reshapes"> {
  let summary = "see buffers with more dimensions by casts";
  let description = [{
    Replaces `memref.expand_shape` by a cast to the sizes that it names. Upstream's
    `expand-strided-metadata` takes at most one of the sizes that a dimension is
    split into from the operation, and ends the process on several.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::memref::MemRefDialect"];
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
           "amx, avx512_bf16, avx512, avx2 or plain">
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
