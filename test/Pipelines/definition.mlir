// RUN: kvc-opt %s -kvc-to-definition-pipeline="precision=f64 program-name=gqa" | FileCheck %s

!cache = !kvc.cache<page = 16, k: 2x8xbf16, v: 2x8xbf16>

// A program that needs nothing but libc and libm, whatever stands around the
// attention; the libraries of compilers are not among them. It allocates nothing.
// CHECK-NOT: llvm.func @{{(__|memrefCopy|malloc)}}
// CHECK:     llvm.func @exp(f64) -> f64
// CHECK-NOT: llvm.func @{{(__|memrefCopy|malloc)}}
// CHECK-NOT: llvm.fptrunc {{.*}} to bf16
// CHECK-NOT: llvm.fpext {{.*}} : bf16
// CHECK:     llvm.func internal @decode.run
// CHECK:     llvm.func @gqa_program_query(
func.func @decode(%q: tensor<?x4x8xbf16>, %cache: !cache, %batch: !kvc.batch)
    -> tensor<?x4x8xbf16> {
  %out = kvc.attention %cache at %batch terms(%q * k) value(v) score [#kvc.causal]
      {scale = 0.5 : f32} : !cache, tensor<?x4x8xbf16> -> tensor<?x4x8xbf16>
  %twice = arith.addf %out, %out : tensor<?x4x8xbf16>
  return %twice : tensor<?x4x8xbf16>
}
