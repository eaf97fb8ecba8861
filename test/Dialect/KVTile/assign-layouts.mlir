// RUN: kvc-opt %s -pass-pipeline='builtin.module(convert-kvc-to-kvtile,gpu.module(kvtile.kernel(kvtile-assign-layouts)))' | FileCheck %s

!cache = !kvc.cache<page = 16, k: 8x128xbf16, v: 8x80xbf16>
#decode = #kvc.gpu_stream<form = tokens_m, rows = 8, keys = 64, stages = 3, warps = 4, query_tokens = 1>
#prefill = #kvc.gpu_stream<form = rows, rows = 64, keys = 64, stages = 2, warps = 4, query_tokens = 16>

// Tokens as M: scores cut among the warps by keys (rows), whole sums in each warp. Keys
// and values are swizzled. The block stages the query's rows once, and each warp loads
// all of them.
// CHECK-LABEL: kvtile.kernel @f_attention_decode(
// CHECK:         kvtile.stage_rows {{.*}} to %[[QUERY:[0-9]+]] : {{.*}}, !kvtile.slot<8x128xbf16, swizzled>
// CHECK:         kvtile.load_tile %[[QUERY]] {{.*}} -> !kvtile.tile<128x8xbf16, #kvtile.layout<mma_b, 1x1>>
// CHECK:         kvtile.stream {{.*}} slots [!kvtile.slot<64x128xbf16, swizzled>, !kvtile.slot<64x80xbf16, swizzled>]
// CHECK:         kvtile.dot {{.*}} -> <64x8xf32, #kvtile.layout<mma_c, 4x1>>
// CHECK:         kvtile.softmax_step {{.*}} keys_axis 0 : <64x8xf32, #kvtile.layout<mma_c, 4x1>>, <8, 1, #kvtile.layout<mma_c, 4x1>>
// CHECK:         kvtile.convert {{.*}} -> !kvtile.tile<64x8xbf16, #kvtile.layout<mma_b, 4x1>>
// CHECK:         kvtile.dot {{.*}} transposed, {{.*}} -> <80x8xf32, #kvtile.layout<mma_c, 1x1>>

// Rows: each warp has rows of its own throughout.
// CHECK-LABEL: kvtile.kernel @f_attention_prefill(
// CHECK:         kvtile.load_rows {{.*}} -> !kvtile.tile<64x128xbf16, #kvtile.layout<mma_a, 4x1>>
// CHECK:         kvtile.dot {{.*}} -> <64x64xf32, #kvtile.layout<mma_c, 4x1>>
// CHECK:         kvtile.convert {{.*}} -> !kvtile.tile<64x64xbf16, #kvtile.layout<mma_a, 4x1>>
// CHECK:         kvtile.dot {{.*}} -> <64x80xf32, #kvtile.layout<mma_c, 4x1>>
func.func @f(%q: tensor<?x16x128xbf16>, %cache: !cache, %batch: !kvc.batch)
    -> tensor<?x16x80xbf16> {
  %out = kvc.attention %cache at %batch terms(%q * k) value(v) {scale = 1.0 : f32,
      schedule = #kvc.gpu_schedule<decode = #decode, prefill = #prefill, split = 256>}
      : !cache, tensor<?x16x128xbf16> -> tensor<?x16x80xbf16>
  return %out : tensor<?x16x80xbf16>
}

#heads = #kvc.gpu_stream<form = heads_m, rows = 16, keys = 64, stages = 2, warps = 4, query_tokens = 1>
#wide = #kvc.gpu_stream<form = columns, rows = 16, keys = 64, stages = 2, warps = 4, query_tokens = 8>

// Heads as M: scores cut by keys (columns), whole sums in each warp.
// CHECK-LABEL: kvtile.kernel @g_attention_decode(
// CHECK:         kvtile.load_tile {{.*}} -> !kvtile.tile<16x128xbf16, #kvtile.layout<mma_a, 1x1>>
// CHECK:         kvtile.dot {{.*}} -> <16x64xf32, #kvtile.layout<mma_c, 1x4>>
// CHECK:         kvtile.convert {{.*}} -> !kvtile.tile<16x64xbf16, #kvtile.layout<mma_a, 1x4>>
// CHECK:         kvtile.dot {{.*}} -> <16x80xf32, #kvtile.layout<mma_c, 1x1>>

// Columns: sums cut by columns, probabilities in a slot; a value of 80 columns becomes
// 96, a whole atom for each of four warps.
// CHECK-LABEL: kvtile.kernel @g_attention_prefill(
// CHECK:         kvtile.stage_rows {{.*}} !kvtile.slot<16x128xbf16, swizzled>
// CHECK:         kvtile.dot {{.*}} -> <16x64xf32, #kvtile.layout<mma_c, 1x4>>
// CHECK:         kvtile.store_tile {{.*}} !kvtile.slot<16x64xbf16, swizzled>
// CHECK:         kvtile.dot {{.*}} -> <16x96xf32, #kvtile.layout<mma_c, 1x4>>
func.func @g(%q: tensor<?x16x128xbf16>, %cache: !cache, %batch: !kvc.batch)
    -> tensor<?x16x80xbf16> {
  %out = kvc.attention %cache at %batch terms(%q * k) value(v) {scale = 1.0 : f32,
      schedule = #kvc.gpu_schedule<decode = #heads, prefill = #wide, split = 256>}
      : !cache, tensor<?x16x128xbf16> -> tensor<?x16x80xbf16>
  return %out : tensor<?x16x80xbf16>
}
