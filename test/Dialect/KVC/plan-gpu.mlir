// RUN: kvc-opt %s -kvc-plan -verify-roundtrip | FileCheck %s
// RUN: kvc-opt %s -kvc-plan=batch=64 | FileCheck %s --check-prefix=BATCH
// RUN: kvc-opt %s -kvc-plan=batch=1 | FileCheck %s --check-prefix=SINGLE
// RUN: kvc-opt %s -kvc-plan="forms=heads_m:32" | FileCheck %s --check-prefix=ROWS
// RUN: kvc-opt %s -kvc-plan="split=65 prefill-forms=rows:64x48 cluster=2" | FileCheck %s --check-prefix=SPLIT
// RUN: kvc-opt %s -kvc-plan="forms=tokens_m,heads_m" | FileCheck %s --check-prefix=NARROW
// RUN: kvc-opt %s -kvc-plan="forms=tokens_m,heads_m" -remark-policy=all -remarks-filter='kvc.*' \
// RUN:   -o /dev/null 2>&1 | FileCheck %s --check-prefix=REMARK

!llama = !kvc.cache<page = 16, k: 8x128xbf16, v: 8x128xbf16>
!one = !kvc.cache<page = 16, k: 1x64xbf16, v: 1x64xbf16>
!mla = !kvc.cache<page = 64, c: 1x512xbf16, r: 1x64xbf16>
!gemma = !kvc.cache<page = 16, k: 8x256xf16, v: 8x256xf16>
!tiny = !kvc.cache<page = 16, k: 1x8xf16, v: 1x8xf16>
!f32 = !kvc.cache<page = 16, k: 1x64xf32, v: 1x64xf32>

// Llama 3 8B: 4 query heads a KV head. Decode waits for memory, and 8 rows suffice;
// prefill takes as many query tokens as fill its rows: 128 / 4.
// CHECK-LABEL: func.func @llama
// CHECK:         decode = <form = tokens_m, rows = 8, keys = 64, stages = 3, warps = 2, query_tokens = 1>
// CHECK-SAME:    prefill = <form = rows, rows = 128, {{.*}} query_tokens = 32>, split = 256, cluster = 8>
// Rows can be fixed.
// ROWS-LABEL:  func.func @llama
// ROWS:          decode = <form = heads_m, rows = 32,
// A split is rounded up to whole tiles of both phases: 64 and 48 keys.
// SPLIT-LABEL: func.func @llama
// SPLIT:         keys = 64, {{.*}} prefill = <{{.*}} keys = 48, {{.*}} split = 192, cluster = 2>
func.func @llama(%q: tensor<?x32x128xbf16>, %cache: !llama, %batch: !kvc.batch)
    -> tensor<?x32x128xbf16> {
  %out = kvc.attention %cache at %batch terms(%q * k) value(v) score [#kvc.causal]
      {scale = 1.0 : f32} : !llama, tensor<?x32x128xbf16> -> tensor<?x32x128xbf16>
  return %out : tensor<?x32x128xbf16>
}

// 48 query heads share a KV head. The caches of 8 sequences, 8 * 4096 * 256 bytes = 8 MiB,
// stay in half of the last cache, 25 MiB, from where 24 rows would read them twice with
// twice as many blocks. By less than a tenth of the time that is no reason to: 48 rows read
// them once. The blocks of one sequence are few, and 24 rows are worth it.
// CHECK-LABEL: func.func @multi_query
// CHECK:         decode = <form = heads_m, rows = 48,
// BATCH-LABEL: func.func @multi_query
// BATCH:         decode = <form = heads_m, rows = 48,
// SINGLE-LABEL: func.func @multi_query
// SINGLE:        decode = <form = tokens_m, rows = 24,
func.func @multi_query(%q: tensor<?x48x64xbf16>, %cache: !one, %batch: !kvc.batch)
    -> tensor<?x48x64xbf16> {
  %out = kvc.attention %cache at %batch terms(%q * k) value(v) score [#kvc.causal]
      {scale = 1.0 : f32} : !one, tensor<?x48x64xbf16> -> tensor<?x48x64xbf16>
  return %out : tensor<?x48x64xbf16>
}

// Falcon 7B: 71 query heads share a KV head. 72 rows would read the caches once, and leave
// no registers for scores: query 72 * 64 / 64 = 72, output 72 * 64 / 32 = 144, statistics
// of 72 / 4 rows 4 * 18 = 72, others 64 are 352. As M, 80 rows have their query in shared
// memory, and no registers either: output 160, scores 80 * 16 / 32 = 40, probabilities in
// two terms, as the value is narrower than 128, 40, statistics 40, others 64: 344. Where
// warps split the columns, they do: output 80 * 64 / (32 * 4) = 40.
// BATCH-LABEL: func.func @falcon
// BATCH:         decode = <form = columns, rows = 80, keys = 64, stages = 3, warps = 4,
// BATCH-SAME:    prefill = <form = rows, {{.*}} query_tokens = 1>
func.func @falcon(%q: tensor<?x71x64xbf16>, %cache: !one, %batch: !kvc.batch)
    -> tensor<?x71x64xbf16> {
  %out = kvc.attention %cache at %batch terms(%q * k) value(v) score [#kvc.causal]
      {scale = 1.0 : f32} : !one, tensor<?x71x64xbf16> -> tensor<?x71x64xbf16>
  return %out : tensor<?x71x64xbf16>
}

// Absorbed MLA of 128 heads: 512 columns of the value are too wide for the registers of
// one warp, so warps share them. Without that form nothing fits: 16 rows of the output take
// 16 * 512 / 32 = 256, and the 8 rows of tokens_m 128, with 8 * 576 / 64 = 72 for the query,
// 6 for 16 keys, 8 for statistics and 64 for others: 278.
// NARROW-LABEL: func.func @mla
// NARROW:        kvc.attention {{.*}} {scale = 1.000000e+00 : f32}
// CHECK-LABEL: func.func @mla
// CHECK:         decode = <form = columns, rows = {{.*}} prefill = <form = columns, rows = {{.*}}, cluster = 8>
// REMARK: remark: {{.*}}no schedule for h100_sxm: no candidate for decode fits: tokens_m expected at most 255 registers a thread, got 1920; heads_m
func.func @mla(%q: tensor<?x128x512xbf16>, %r: tensor<?x128x64xbf16>, %cache: !mla,
               %batch: !kvc.batch) -> tensor<?x128x512xbf16> {
  %out = kvc.attention %cache at %batch terms(%q * c, %r * r) value(c) score [#kvc.causal]
      {scale = 1.0 : f32}
      : !mla, tensor<?x128x512xbf16>, tensor<?x128x64xbf16> -> tensor<?x128x512xbf16>
  return %out : tensor<?x128x512xbf16>
}

// Width 256: a warp has registers for 16 rows of the output, not for more.
// CHECK-LABEL: func.func @gemma
// CHECK:         decode = <form = tokens_m, rows = 8,
// CHECK-SAME:    prefill = <form = rows, rows = 128, {{.*}} warps = 8, query_tokens = 64>
func.func @gemma(%q: tensor<?x16x256xf16>, %cache: !gemma, %batch: !kvc.batch)
    -> tensor<?x16x256xf16> {
  %out = kvc.attention %cache at %batch terms(%q * k) value(v)
      score [#kvc.causal, #kvc.window<4096>, #kvc.softcap<50.0>] {scale = 1.0 : f32}
      : !gemma, tensor<?x16x256xf16> -> tensor<?x16x256xf16>
  return %out : tensor<?x16x256xf16>
}

// Width 8, one head: long tiles, as a short one is little to wait for memory with.
// CHECK-LABEL: func.func @tiny
// A work item has 64 KiB of the cache, of 32 bytes a token.
// CHECK:         keys = 256, {{.*}} prefill = <form = rows, {{.*}} split = 2048,
func.func @tiny(%q: tensor<?x1x8xf16>, %cache: !tiny, %batch: !kvc.batch)
    -> tensor<?x1x8xf16> {
  %out = kvc.attention %cache at %batch terms(%q * k) value(v) score [#kvc.causal]
      {scale = 1.0 : f32} : !tiny, tensor<?x1x8xf16> -> tensor<?x1x8xf16>
  return %out : tensor<?x1x8xf16>
}

// The matrix units have no f32, nor a mixture.
// CHECK-LABEL: func.func @negative_f32
// CHECK-COUNT-2: kvc.attention {{.*}} {scale = 1.000000e+00 : f32}
// REMARK: remark: {{.*}}no schedule for h100_sxm: queries, cache and output are not all of one type
func.func @negative_f32(%q: tensor<?x4x64xf32>, %b: tensor<?x32x128xbf16>, %cache: !f32,
                        %other: !llama, %batch: !kvc.batch)
    -> (tensor<?x4x64xf32>, tensor<?x32x128xf16>) {
  %0 = kvc.attention %cache at %batch terms(%q * k) value(v) {scale = 1.0 : f32}
      : !f32, tensor<?x4x64xf32> -> tensor<?x4x64xf32>
  %1 = kvc.attention %other at %batch terms(%b * k) value(v) {scale = 1.0 : f32}
      : !llama, tensor<?x32x128xbf16> -> tensor<?x32x128xf16>
  return %0, %1 : tensor<?x4x64xf32>, tensor<?x32x128xf16>
}

// A schedule that is there stays, of whatever target.
#stream = #kvc.gpu_stream<form = heads_m, rows = 16, keys = 32, stages = 2, warps = 1, query_tokens = 1>
// CHECK-LABEL: func.func @negative_planned_before
// CHECK:         #kvc.gpu_schedule<decode = <form = heads_m, rows = 16, keys = 32, stages = 2, warps = 1, query_tokens = 1>, prefill = <form = heads_m, rows = 16, keys = 32, stages = 2, warps = 1, query_tokens = 1>, split = 64>
// CHECK:         #kvc.cpu_schedule<
func.func @negative_planned_before(%q: tensor<?x32x128xbf16>, %cache: !llama,
                                   %batch: !kvc.batch)
    -> (tensor<?x32x128xbf16>, tensor<?x32x128xbf16>) {
  %gpu = kvc.attention %cache at %batch terms(%q * k) value(v) {scale = 1.0 : f32,
      schedule = #kvc.gpu_schedule<decode = #stream, prefill = #stream, split = 64>}
      : !llama, tensor<?x32x128xbf16> -> tensor<?x32x128xbf16>
  %cpu = kvc.attention %cache at %batch terms(%q * k) value(v) {scale = 1.0 : f32,
      schedule = #kvc.cpu_schedule<lanes = 4, tile = 16,
          decode = <rows = 1, key_vectors = 1, value_vectors = 1>,
          prefill = <rows = 1, key_vectors = 1, value_vectors = 1>,
          query_tokens = 1, split = 16>}
      : !llama, tensor<?x32x128xbf16> -> tensor<?x32x128xbf16>
  return %gpu, %cpu : tensor<?x32x128xbf16>, tensor<?x32x128xbf16>
}

// Over codes a warp takes 64 keys at a time, not 32: of streams whose times are within 2 %,
// the one that issues least.
!codes = !kvc.cache<page = 64, k: 8x128xf8E4M3FN scale<f32>, v: 8x128xf8E4M3FN scale<f32>>
// CHECK-LABEL: func.func @codes
// CHECK:         decode = <form = tokens_m, rows = 8, keys = 128, stages = 2, warps = 2,
func.func @codes(%q: tensor<?x32x128xbf16>, %cache: !codes, %batch: !kvc.batch)
    -> tensor<?x32x128xbf16> {
  %out = kvc.attention %cache at %batch terms(%q * k) value(v) score [#kvc.causal]
      {scale = 1.0 : f32} : !codes, tensor<?x32x128xbf16> -> tensor<?x32x128xbf16>
  return %out : tensor<?x32x128xbf16>
}
