// Decode by AMX tiles. That it computes the right numbers is tested in
// python/test_attention.py.

// RUN: kvc-opt %s -kvc-assign-cache-layout=codes=tiles -kvc-plan="target=cpu tier=amx" \
// RUN:   -convert-kvc-to-cpu=tier=amx | FileCheck %s

!cache = !kvc.cache<page = 16, k: 1x64xbf16, v: 1x64xf8E4M3FN>

// Tiles take decode of many heads; codes are decoded to bf16 before, by tables.
// CHECK-LABEL: llvm.func internal @many_heads.decode(
// CHECK:         llvm.x86.ldtilecfg
// CHECK:         llvm.x86.avx512.vpermi2var.qi.512
// CHECK:         llvm.intr.prefetch
// CHECK:         llvm.x86.tdpbf16ps
// CHECK:         llvm.x86.tilerelease
func.func @many_heads(%q: tensor<?x8x64xbf16>, %cache: !cache, %batch: !kvc.batch)
    -> tensor<?x8x64xbf16> {
  %out = kvc.attention %cache at %batch terms(%q * k) value(v) {scale = 1.0 : f32}
      : !cache, tensor<?x8x64xbf16> -> tensor<?x8x64xbf16>
  return %out : tensor<?x8x64xbf16>
}
