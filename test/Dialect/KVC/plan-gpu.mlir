// RUN: kvc-opt %s -kvc-plan -verify-roundtrip | FileCheck %s --check-prefixes=CHECK,NOW
// RUN: kvc-opt %s -kvc-plan="forms=tokens_m,heads_m,rows,columns" -verify-roundtrip \
// RUN:   | FileCheck %s --check-prefixes=CHECK,ALL
// RUN: kvc-opt %s -kvc-plan="forms=tokens_m,heads_m,rows,columns batch=64" \
// RUN:   | FileCheck %s --check-prefix=BATCH
// RUN: kvc-opt %s -kvc-plan="forms=heads_m:32" | FileCheck %s --check-prefix=ROWS
// RUN: kvc-opt %s -kvc-plan=split=65 | FileCheck %s --check-prefix=SPLIT
// RUN: kvc-opt %s -kvc-plan -remark-policy=all -remarks-filter='kvc.*' -o /dev/null 2>&1 \
// RUN:   | FileCheck %s --check-prefix=REMARK

!llama = !kvc.cache<page = 16, k: 8x128xbf16, v: 8x128xbf16>
!falcon = !kvc.cache<page = 16, k: 1x64xbf16, v: 1x64xbf16>
!mla = !kvc.cache<page = 64, c: 1x512xbf16, r: 1x64xbf16>
!gemma = !kvc.cache<page = 16, k: 8x256xf16, v: 8x256xf16>
!tiny = !kvc.cache<page = 16, k: 1x8xf16, v: 1x8xf16>
!f32 = !kvc.cache<page = 16, k: 1x64xf32, v: 1x64xf32>

// Llama 3 8B: 4 query heads a KV head. Decode waits for memory, and 8 rows suffice;
// prefill takes as many query tokens as fill its rows: 128 / 4.
// CHECK-LABEL: func.func @llama
// NOW:           decode = <form = heads_m, rows = 16, keys = 64, stages = 3, warps = 4, query_tokens = 1>
// ALL:           decode = <form = tokens_m, rows = 8, {{.*}} query_tokens = 1>
// CHECK-SAME:    prefill = <form = rows, rows = 128, {{.*}} query_tokens = 32>, split = 256>
// Rows can be fixed.
// ROWS-LABEL:  func.func @llama
// ROWS:          decode = <form = heads_m, rows = 32,
// A split is rounded up to whole tiles of both phases: 64 and 128 keys.
// SPLIT-LABEL: func.func @llama
// SPLIT:         keys = 64, {{.*}} prefill = <{{.*}} keys = 128, {{.*}} split = 128>
func.func @llama(%q: tensor<?x32x128xbf16>, %cache: !llama, %batch: !kvc.batch)
    -> tensor<?x32x128xbf16> {
  %out = kvc.attention %cache at %batch terms(%q * k) value(v) score [#kvc.causal]
      {scale = 1.0 : f32} : !llama, tensor<?x32x128xbf16> -> tensor<?x32x128xbf16>
  return %out : tensor<?x32x128xbf16>
}

// Falcon 7B: 71 query heads share a KV head. Where the caches of a batch are larger than
// the last cache of the GPU, 72 rows read them once.
// CHECK-LABEL: func.func @falcon
// NOW:           decode = <form = heads_m, rows = 16,
// BATCH-LABEL: func.func @falcon
// BATCH:         decode = <form = tokens_m, rows = 72,
// BATCH-SAME:    prefill = <form = rows, {{.*}} query_tokens = 1>
func.func @falcon(%q: tensor<?x71x64xbf16>, %cache: !falcon, %batch: !kvc.batch)
    -> tensor<?x71x64xbf16> {
  %out = kvc.attention %cache at %batch terms(%q * k) value(v) score [#kvc.causal]
      {scale = 1.0 : f32} : !falcon, tensor<?x71x64xbf16> -> tensor<?x71x64xbf16>
  return %out : tensor<?x71x64xbf16>
}

// Absorbed MLA of 128 heads: 512 columns of the value are too wide for the registers of
// one warp with any but 8 rows, so warps share them. Without that form nothing fits.
// CHECK-LABEL: func.func @mla
// NOW:           kvc.attention {{.*}} {scale = 1.000000e+00 : f32}
// ALL:           decode = <form = columns, rows = {{.*}} prefill = <form = columns, rows =
// REMARK: remark: {{.*}}no schedule for h100_sxm: no candidate for decode fits
func.func @mla(%q: tensor<?x128x512xbf16>, %r: tensor<?x128x64xbf16>, %cache: !mla,
               %batch: !kvc.batch) -> tensor<?x128x512xbf16> {
  %out = kvc.attention %cache at %batch terms(%q * c, %r * r) value(c) score [#kvc.causal]
      {scale = 1.0 : f32}
      : !mla, tensor<?x128x512xbf16>, tensor<?x128x64xbf16> -> tensor<?x128x512xbf16>
  return %out : tensor<?x128x512xbf16>
}

// Width 256: a warp has registers for 16 rows of the output, not for more.
// CHECK-LABEL: func.func @gemma
// ALL:           decode = <form = tokens_m, rows = 8,
// ALL-SAME:      prefill = <form = rows, rows = 64, {{.*}} warps = 4, query_tokens = 32>
func.func @gemma(%q: tensor<?x16x256xf16>, %cache: !gemma, %batch: !kvc.batch)
    -> tensor<?x16x256xf16> {
  %out = kvc.attention %cache at %batch terms(%q * k) value(v)
      score [#kvc.causal, #kvc.window<4096>, #kvc.softcap<50.0>] {scale = 1.0 : f32}
      : !gemma, tensor<?x16x256xf16> -> tensor<?x16x256xf16>
  return %out : tensor<?x16x256xf16>
}

// Width 8, one head: long tiles, as a short one is little to wait for memory with.
// CHECK-LABEL: func.func @tiny
// ALL:           keys = 256, {{.*}} prefill = <form = rows,
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
      schedule = #kvc.cpu_schedule<products = fma, lanes = 4, tile = 16,
          decode = <rows = 1, key_vectors = 1, value_vectors = 1>,
          prefill = <rows = 1, key_vectors = 1, value_vectors = 1>,
          query_tokens = 1, split = 16>}
      : !llama, tensor<?x32x128xbf16> -> tensor<?x32x128xbf16>
  return %gpu, %cpu : tensor<?x32x128xbf16>, tensor<?x32x128xbf16>
}
