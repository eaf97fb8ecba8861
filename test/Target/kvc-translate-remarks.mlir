// Passes say why they took a slower way, if asked.

// RUN: kvc-translate --kvc-to-mlir --remarks %s -o %t.mlir 2>&1 | FileCheck %s
// RUN: kvc-translate --kvc-to-mlir %s -o %t.mlir 2>&1 | count 0

!cache = !kvc.cache<page = 16, c: 1x64xf32, r: 1x32xf32>
// CHECK: kvc-translate-remarks.mlir:[[# @LINE + 1]]:{{[0-9]+}}: remark: [Missed] PackedLayout
func.func @latent(%q: tensor<?x4x64xf32>, %p: tensor<?x4x32xf32>, %cache: !cache,
                  %batch: !kvc.batch) -> tensor<?x4x64xf32> {
  // CHECK-SAME: the component is both key and value
  %o = kvc.attention %cache at %batch terms(%q * c, %p * r) value(c) {scale = 0.1 : f32}
      : !cache, tensor<?x4x64xf32>, tensor<?x4x32xf32> -> tensor<?x4x64xf32>
  return %o : tensor<?x4x64xf32>
}
