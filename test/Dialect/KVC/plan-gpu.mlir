// RUN: kvc-opt %s -kvc-plan-gpu | FileCheck %s
// RUN: kvc-opt %s -kvc-plan-gpu=split=65 | FileCheck %s --check-prefix=SPLIT
// RUN: not kvc-opt %s -kvc-plan-gpu=split=0 2>&1 | FileCheck %s --check-prefix=ZERO
// RUN: not kvc-opt %s -kvc-plan-gpu=split=16777217 2>&1 | FileCheck %s --check-prefix=LARGE

// ZERO: error: expected a split of 1 to 16777216 keys, got 0
// LARGE: error: expected a split of 1 to 16777216 keys, got 16777217

!cache = !kvc.cache<page = 16, k: 8x128xbf16, v: 8x128xbf16>

// A tile is the keys of all warps, and a split is rounded up to whole tiles.
// CHECK-LABEL: func.func @planned
// CHECK:         #kvc.gpu_schedule<decode = <form = {{.*}}, split = 1024>
// SPLIT-LABEL: func.func @planned
// SPLIT:         #kvc.gpu_schedule<decode = <form = {{.*}}, split = 128>
func.func @planned(%q: tensor<?x32x128xbf16>, %cache: !cache, %batch: !kvc.batch)
    -> tensor<?x32x128xbf16> {
  %out = kvc.attention %cache at %batch terms(%q * k) value(v) {scale = 1.0 : f32}
      : !cache, tensor<?x32x128xbf16> -> tensor<?x32x128xbf16>
  return %out : tensor<?x32x128xbf16>
}

// A schedule that is there stays, of whatever target.
// CHECK-LABEL: func.func @negative_planned_before
// CHECK:         #kvc.gpu_schedule<decode = <form = heads_m, rows = 16, keys = 32, stages = 2, warps = 1, query_tokens = 1>, prefill = <form = heads_m, rows = 16, keys = 32, stages = 2, warps = 1, query_tokens = 1>, split = 64>
// CHECK:         #kvc.cpu_schedule<
func.func @negative_planned_before(%q: tensor<?x32x128xbf16>, %cache: !cache,
                                   %batch: !kvc.batch)
    -> (tensor<?x32x128xbf16>, tensor<?x32x128xbf16>) {
  %gpu = kvc.attention %cache at %batch terms(%q * k) value(v) {scale = 1.0 : f32,
      schedule = #kvc.gpu_schedule<decode = <form = heads_m, rows = 16, keys = 32, stages = 2, warps = 1, query_tokens = 1>, prefill = <form = heads_m, rows = 16, keys = 32, stages = 2, warps = 1, query_tokens = 1>, split = 64>}
      : !cache, tensor<?x32x128xbf16> -> tensor<?x32x128xbf16>
  %cpu = kvc.attention %cache at %batch terms(%q * k) value(v) {scale = 1.0 : f32,
      schedule = #kvc.cpu_schedule<products = fma, lanes = 4, tile = 16,
          decode = <rows = 1, key_vectors = 1, value_vectors = 1>,
          prefill = <rows = 1, key_vectors = 1, value_vectors = 1>,
          query_tokens = 1, split = 16>}
      : !cache, tensor<?x32x128xbf16> -> tensor<?x32x128xbf16>
  return %gpu, %cpu : tensor<?x32x128xbf16>, tensor<?x32x128xbf16>
}
