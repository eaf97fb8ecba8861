// The passes of the GPU pipeline, in their order, and the program that they make.

// RUN: kvc-opt %s -kvc-to-gpu-pipeline="chip=sm_90a ptx-version=83 split=64 program-name=gqa" \
// RUN:   -dump-pass-pipeline -o %t.mlir 2>&1 | FileCheck %s --check-prefix=PASSES
// RUN: FileCheck %s --input-file=%t.mlir
// RUN: kvc-opt --help | FileCheck %s --check-prefix=NAMES
// RUN: not kvc-opt %s -kvc-to-gpu-pipeline=program-name=a-b 2>&1 | FileCheck %s --check-prefix=NAME

// NAMES: --kvc-to-gpu-pipeline

// Kernels and launches, then PTX, then the host code.
// PASSES:      kvc-plan{{.*}}split=64 target=gpu
// PASSES-NEXT: convert-kvc-to-kvtile{keep-functions=true},
// PASSES-NEXT: gpu.module(
// PASSES-NEXT:   kvtile.kernel(
// PASSES-NEXT:     kvtile-assign-layouts
// PASSES-NEXT:   ),
// PASSES-NEXT:   kvtile.kernel(
// PASSES-NEXT:     kvtile-pipeline-copies
// PASSES-NEXT:   ),
// PASSES-NEXT:   convert-kvtile-to-nvvm,
// PASSES:      kvc-verify-nvvm,
// PASSES-NEXT: convert-kvc-to-launches,
// PASSES-NEXT: nvvm-attach-target
// PASSES:      gpu-module-to-binary
// PASSES-NEXT: kvc-embed-ptx,
// PASSES:      convert-arith-to-llvm
// PASSES:      kvc-build-program{program-name=gqa target=sm_90a}

// NAME: error: expected program-name to be a C identifier, got 'a-b'

!cache = !kvc.cache<page = 16, k: 8x64xf16, v: 8x64xf16>

// CHECK:      module {
// CHECK-NOT:  gpu.
// CHECK:      llvm.mlir.global internal constant @kvc.blob("KVCP
// CHECK-SAME: f_attention_decode_worklist\00f_attention_decode\00f_attention_decode_combine\00
// CHECK-SAME: f_attention_prefill_worklist\00f_attention_prefill\00f_attention_prefill_combine\00sm_90a\00sm_90a\00
// CHECK-SAME: .version 8.3
// CHECK-SAME: .entry f_attention
// CHECK:      llvm.func @gqa_program_query(
// CHECK-NOT:  arith.
func.func @f(%q: tensor<?x8x64xf16>, %cache: !cache, %batch: !kvc.batch) -> tensor<?x8x64xf16> {
  %o = kvc.attention %cache at %batch terms(%q * k) value(v) {scale = 1.0 : f32}
      : !cache, tensor<?x8x64xf16> -> tensor<?x8x64xf16>
  return %o : tensor<?x8x64xf16>
}
