// RUN: kvc-opt %s -convert-kvc-to-kvtile -split-input-file | FileCheck %s

#stream = #kvc.gpu_stream<form = tokens_m, rows = 8, keys = 64, stages = 3, warps = 4, query_tokens = 1>
#schedule = #kvc.gpu_schedule<decode = #stream, prefill = #stream, split = 256>
!cache = !kvc.cache<page = 64, k: 8x128xf8E4M3FN scale<f32>, v: 8x128xf8E4M3FN scale<f32>>
!rows = tensor<?x32x128xbf16>

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

func.func @i4(%q: !rows, %cache: !cache, %batch: !kvc.batch) -> !rows {
  %o = kvc.attention %cache at %batch terms(%q * k) value(v)
      {scale = 0.125 : f32, schedule = #schedule} : !cache, !rows -> !rows
  return %o : !rows
}
