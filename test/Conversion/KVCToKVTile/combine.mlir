// RUN: kvc-opt %s -kvc-plan -convert-kvc-to-kvtile | FileCheck %s

!cache = !kvc.cache<page = 16, k: 8x128xbf16, v: 8x128xbf16>

// Each phase combines its own parts: a block for each head, entry, and query token of it.
// CHECK-LABEL: kvtile.kernel @both_attention_decode(
// CHECK-LABEL: kvtile.kernel @both_attention_decode_combine(
// CHECK-SAME:    kvc.alignments = array<i32: 8, 0, 0, 0, 0, 0, 0>
// CHECK-SAME:    kvc.grid = array<i32: 32, 0, 1>, kvc.kind = "combine"
// CHECK-SAME:    kvc.parameters = ["result 0", "result 1", "operand 3", "list merges", "list counts", "parts output", "parts stats"]
// CHECK-SAME:    kvc.phase = "decode"
// CHECK-LABEL: kvtile.kernel @both_attention_prefill(
// CHECK-LABEL: kvtile.kernel @both_attention_prefill_combine(
// CHECK-SAME:    kvc.kind = "combine"
// CHECK-SAME:    kvc.phase = "prefill"
func.func @both(%cache: !cache, %batch: !kvc.batch, %q: tensor<?x32x128xbf16>,
                %sinks: tensor<32xf32>) -> (tensor<?x32x128xbf16>, tensor<?x32xf32>) {
  %out, %lse = kvc.attention %cache at %batch terms(%q * k) value(v)
      sinks(%sinks : tensor<32xf32>) score [#kvc.causal] {scale = 0.125 : f32}
      : !cache, tensor<?x32x128xbf16> -> tensor<?x32x128xbf16>, tensor<?x32xf32>
  return %out, %lse : tensor<?x32x128xbf16>, tensor<?x32xf32>
}
