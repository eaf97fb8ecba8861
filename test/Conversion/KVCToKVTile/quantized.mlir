// RUN: kvc-opt %s -convert-kvc-to-kvtile -split-input-file | FileCheck %s

#stream = #kvc.gpu_stream<form = tokens_m, rows = 8, keys = 64, stages = 3, warps = 4, query_tokens = 1>
#schedule = #kvc.gpu_schedule<decode = #stream, prefill = #stream, split = 256>
!cache = !kvc.cache<page = 64, k: 8x128xf8E4M3FN scale<f32>, v: 8x128xf8E4M3FN scale<f32>>
!rows = tensor<?x32x128xbf16>

// Codes are copied as rows of bytes, scales beside them; the query takes the order of the
// codes. Scales of keys are on the scores, those of values on the probabilities, over a
// power of two that comes back at the end.
// CHECK-LABEL: kvtile.kernel @f8_attention_decode(
// CHECK-SAME:    !kvtile.pages<64, 8x128xf8E4M3FN>, {{.*}}!kvtile.pages<64, 8x1xf32>
// CHECK-SAME:    kvc.alignments = array<i32: 16, 16, 16, 4, 4,
// CHECK-SAME:    "component k", "component v", "component k.scale", "component v.scale"
// CHECK: kvtile.stage_rows %{{.*}} group 4 for_codes 8 to %[[STAGED:.*]] : !kvtile.rows<32x128xbf16>, !kvtile.slot<8x128xf16>
// CHECK: kvtile.barrier
// CHECK: %[[Q:.*]] = kvtile.load_tile %[[STAGED]]
// CHECK: %[[R:.*]]:4 = kvtile.stream {{.*}} slots [!kvtile.slot<64x128xf8E4M3FN>, !kvtile.slot<64x128xf8E4M3FN>, !kvtile.slot<64x1xf32, linear>, !kvtile.slot<64x1xf32, linear>]
// CHECK:   ^bb0(%{{[^:]*}}: i32, %[[K:.*]]: !kvtile.slot<64x128xf8E4M3FN>, %[[V:.*]]: !kvtile.slot<64x128xf8E4M3FN>, %[[KS:.*]]: !kvtile.slot<64x1xf32, linear>, %[[VS:.*]]: !kvtile.slot<64x1xf32, linear>, %{{[^:]*}}: !kvtile.tile
// CHECK:   %[[DOT:.*]] = kvtile.dot %[[K]], %[[Q]] acc
// CHECK:   kvtile.scale_keys %[[DOT]] by %[[KS]] : !kvtile.slot<64x1xf32, linear> column 0
// CHECK:   %[[P:.*]], %{{.*}}, %{{.*}}, %[[FACTOR:.*]] = kvtile.softmax_step
// CHECK:   %[[REFERENCE:.*]], %[[NEW:.*]] = kvtile.reference_step %[[VS]], %{{.*}}, %[[FACTOR]]
// CHECK:   kvtile.scale %{{.*}} by %[[NEW]]
// CHECK:   %[[W:.*]] = kvtile.scale_keys %[[P]] by %[[VS]] : !kvtile.slot<64x1xf32, linear> over %[[REFERENCE]]
// CHECK:   kvtile.convert %[[W]] : !kvtile.tile<64x8xf32> -> !kvtile.tile<64x8xf16>
// CHECK:   kvtile.dot %[[V]] transposed
// CHECK: %[[SUMS:.*]] = kvtile.scale %[[R]]#0 by %[[R]]#3
// CHECK: kvtile.finish %[[SUMS]], {{.*}} interleave 2 to
func.func @f8(%q: !rows, %cache: !cache, %batch: !kvc.batch) -> !rows {
  %o = kvc.attention %cache at %batch terms(%q * k) value(v) score [#kvc.causal]
      {scale = 0.125 : f32, schedule = #schedule} : !cache, !rows -> !rows
  return %o : !rows
}

// -----

#stream = #kvc.gpu_stream<form = heads_m, rows = 16, keys = 64, stages = 3, warps = 4, query_tokens = 1>
#schedule = #kvc.gpu_schedule<decode = #stream, prefill = #stream, split = 256>
!cache = !kvc.cache<page = 16, k: 8x64xi8 scale<f32, group = 32>, v: 8x64xi8 scale<f32, head, static>>
!rows = tensor<?x32x64xf16>

// Groups along a key are products of their own. One scale per head is loaded once, and
// multiplied at the end.
// CHECK-LABEL: kvtile.kernel @i8_attention_decode(
// CHECK: %[[ROW:.*]] = kvtile.page_row %{{.*}} : !kvtile.pages<16, 8x1xf32>
// CHECK: %[[SCALE:.*]] = llvm.load %[[ROW]] invariant
// CHECK: scf.for
// CHECK: kvtile.stream {{.*}} slots [!kvtile.slot<64x64xi8>, !kvtile.slot<64x64xi8>, !kvtile.slot<64x2xf32, linear>]
// CHECK:   %[[FIRST:.*]] = kvtile.dot %{{.*}} transposed acc %{{.*}} columns [0, 32]
// CHECK:   %[[SCORES:.*]] = kvtile.scale_keys %[[FIRST]] by %[[KS:.*]] : !kvtile.slot<64x2xf32, linear> column 0
// CHECK:   %[[SECOND:.*]] = kvtile.dot %{{.*}} transposed acc %{{.*}} columns [32, 64]
// CHECK:   kvtile.scale_keys %[[SECOND]] acc %[[SCORES]] : !kvtile.tile<16x64xf32> by %[[KS]] : !kvtile.slot<64x2xf32, linear> column 1
// CHECK-NOT: kvtile.reference_step
// CHECK: kvtile.scale_columns %{{.*}} by(%[[SCALE]]) columns 64 interleave 2
func.func @i8(%q: !rows, %cache: !cache, %batch: !kvc.batch) -> !rows {
  %o = kvc.attention %cache at %batch terms(%q * k) value(v) score [#kvc.softcap<20.0>]
      {scale = 0.125 : f32, schedule = #schedule} : !cache, !rows -> !rows
  return %o : !rows
}

// -----

#stream = #kvc.gpu_stream<form = rows, rows = 64, keys = 64, stages = 2, warps = 4, query_tokens = 16>
#schedule = #kvc.gpu_schedule<decode = #stream, prefill = #stream, split = 256>
!cache = !kvc.cache<page = 16, k: 8x128xi4 scale<f16, zero_point>, v: 8x128xi4 scale<f16, group = 64, zero_point>>
!rows = tensor<?x32x128xbf16>

// Zero points are added to scores times the sums of the query, and to the output times
// those of the probabilities.
// CHECK-LABEL: kvtile.kernel @i4_attention_decode(
// CHECK-SAME:    !kvtile.pages<16, 8x64xi8>
// CHECK: kvtile.stage_rows %{{.*}} for_codes 4
// CHECK: %[[QUERY_SUMS:.*]] = kvtile.sum_rows %{{.*}} from 0 to 128
// CHECK: kvtile.stream {{.*}} slots [!kvtile.slot<64x128xi4>, !kvtile.slot<64x128xi4>,
// CHECK:   kvtile.scale_keys %{{.*}} by %{{.*}} : !kvtile.slot<64x1xf16, linear> zeros %{{.*}} : !kvtile.slot<64x1xf16, linear> sums %[[QUERY_SUMS]]
// CHECK:   kvtile.sum_keys %{{.*}} column 0
// CHECK:   kvtile.sum_keys %{{.*}} column 1
// CHECK:   kvtile.dot %{{.*}} columns [0, 64]
// CHECK:   kvtile.dot %{{.*}} columns [64, 128]
// CHECK: kvtile.scale_columns %{{.*}} plus(%{{.*}}, %{{.*}} : !kvtile.vec<64, 0>, !kvtile.vec<64, 0>) columns 64 interleave 4
func.func @i4(%q: !rows, %cache: !cache, %batch: !kvc.batch) -> !rows {
  %o = kvc.attention %cache at %batch terms(%q * k) value(v)
      {scale = 0.125 : f32, schedule = #schedule} : !cache, !rows -> !rows
  return %o : !rows
}

// -----

#stream = #kvc.gpu_stream<form = columns, rows = 16, keys = 64, stages = 2, warps = 4, query_tokens = 1>
#schedule = #kvc.gpu_schedule<decode = #stream, prefill = #stream, split = 256>
!cache = !kvc.cache<page = 16, c: 1x512xi4 scale<f32, group = 64, zero_point>>
!rows = tensor<?x16x512xbf16>

// Where warps share the columns of the value, each has 128 of them, two groups; and sums of
// zero points go from warp to warp.
// CHECK-LABEL: kvtile.kernel @columns_attention_decode(
// CHECK: kvtile.stream
// CHECK:   kvtile.sum_keys %{{.*}} column 7
// CHECK:   kvtile.dot %{{.*}} columns [0, 64]
// CHECK:   kvtile.dot %{{.*}} columns [64, 128]
// CHECK-NOT: kvtile.dot
// CHECK: kvtile.scale_columns %{{.*}} plus({{.*}}) columns 64 interleave 4 exchange {{[0-9]+}}
func.func @columns(%q: !rows, %cache: !cache, %batch: !kvc.batch) -> !rows {
  %o = kvc.attention %cache at %batch terms(%q * c) value(c)
      {scale = 0.125 : f32, schedule = #schedule} : !cache, !rows -> !rows
  return %o : !rows
}
