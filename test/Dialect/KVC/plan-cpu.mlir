// RUN: kvc-opt %s -kvc-plan="target=cpu tier=plain" -verify-roundtrip | FileCheck %s --check-prefixes=CHECK,PLAIN
// RUN: kvc-opt %s -kvc-plan="target=cpu tier=avx2" -verify-roundtrip | FileCheck %s --check-prefixes=CHECK,AVX2
// RUN: kvc-opt %s -kvc-plan="target=cpu tier=avx512" -verify-roundtrip | FileCheck %s --check-prefixes=CHECK,AVX512
// RUN: kvc-opt %s -kvc-plan="target=cpu tier=avx512_bf16" -verify-roundtrip | FileCheck %s --check-prefixes=CHECK,BF16
// RUN: kvc-opt %s -kvc-plan="target=cpu tier=amx" -verify-roundtrip | FileCheck %s --check-prefixes=CHECK,AMX
// RUN: kvc-opt %s -kvc-plan="target=cpu" | FileCheck %s --check-prefix=HOST
// RUN: kvc-opt %s -kvc-plan="target=cpu tier=plain split=65" | FileCheck %s --check-prefix=SPLIT

// Without a tier it is the host's, whatever that is.
// HOST-LABEL: func.func @all_bf16
// HOST:         #kvc.cpu_schedule<

!bf16 = !kvc.cache<page = 16, k: 8x128xbf16, v: 8x128xbf16>
!f16 = !kvc.cache<page = 16, k: 8x128xf16, v: 8x128xf16>
!f8 = !kvc.cache<page = 16, k: 8x128xf8E4M3FN scale<f32, token>, v: 8x128xbf16>
!narrow = !kvc.cache<page = 16, k: 8x128xbf16, v: 8x24xbf16>
!wide = !kvc.cache<page = 16, k: 1x576xf32, v: 1x576xf32>

// The tier gives the lanes; tiles and vdpbf16ps are taken where the processor has them and all
// operands are bf16. Rows of decode are query heads that share a KV head: all 4 where
// there are registers for their accumulators, so that each key is loaded once. So few wait
// for memory, and are multiplied in f32.
// CHECK-LABEL: func.func @all_bf16
// PLAIN:         lanes = 4, tile = 64, decode = <rows = 2, key_vectors = 4,
// AVX2:          lanes = 8, tile = 64, decode = <rows = 2, key_vectors = 4,
// AVX512:        lanes = 16, tile = 64, decode = <rows = 4, key_vectors = 4,
// BF16:          lanes = 16, tile = 64, decode = <rows = 4, key_vectors = 4, value_vectors = 4>, prefill = <{{[^>]*}}, products = bf16_dot>,
// AMX:           lanes = 16, tile = 64, decode = <rows = 4, key_vectors = 4, value_vectors = 4>, prefill = <rows = 8, key_vectors = 4, value_vectors = 4, products = bf16_tile>,
// CHECK-SAME:    query_tokens = 24, split = 4096>
// A split is rounded up to whole tiles.
// SPLIT-LABEL: func.func @all_bf16
// SPLIT:         tile = 64, {{.*}} split = 128>
func.func @all_bf16(%q: tensor<?x32x128xbf16>, %cache: !bf16, %batch: !kvc.batch)
    -> tensor<?x32x128xbf16> {
  %out = kvc.attention %cache at %batch terms(%q * k) value(v) {scale = 1.0 : f32}
      : !bf16, tensor<?x32x128xbf16> -> tensor<?x32x128xbf16>
  return %out : tensor<?x32x128xbf16>
}

// More rows make products the limit, and codes leave no time for f32.
// BF16-LABEL: func.func @dots
// BF16:         decode = <rows = {{[^>]*}}, products = bf16_dot>, prefill = <{{[^>]*}}, products = bf16_dot>,
// BF16:         decode = <rows = 4, {{[^>]*}}, products = bf16_dot>, prefill = <{{[^>]*}}, products = bf16_dot>,
func.func @dots(%many: tensor<?x64x128xbf16>, %few: tensor<?x32x128xbf16>, %cache: !bf16,
                %codes: !f8, %batch: !kvc.batch)
    -> (tensor<?x64x128xbf16>, tensor<?x32x128xbf16>) {
  %0 = kvc.attention %cache at %batch terms(%many * k) value(v) {scale = 1.0 : f32}
      : !bf16, tensor<?x64x128xbf16> -> tensor<?x64x128xbf16>
  %1 = kvc.attention %codes at %batch terms(%few * k) value(v) {scale = 1.0 : f32}
      : !f8, tensor<?x32x128xbf16> -> tensor<?x32x128xbf16>
  return %0, %1 : tensor<?x64x128xbf16>, tensor<?x32x128xbf16>
}

// f16 has no such instruction.
// CHECK-LABEL: func.func @negative_f16
// CHECK:         decode = <{{[^>]*}}value_vectors = {{[0-9]+}}>, prefill = <{{[^>]*}}value_vectors = {{[0-9]+}}>
func.func @negative_f16(%q: tensor<?x32x128xf16>, %cache: !f16, %batch: !kvc.batch)
    -> tensor<?x32x128xf16> {
  %out = kvc.attention %cache at %batch terms(%q * k) value(v) {scale = 1.0 : f32}
      : !f16, tensor<?x32x128xf16> -> tensor<?x32x128xf16>
  return %out : tensor<?x32x128xf16>
}

// Queries or results of f32 say that the caller wants their precision.
// CHECK-LABEL: func.func @negative_f32_beside_bf16
// CHECK:         decode = <{{[^>]*}}value_vectors = {{[0-9]+}}>, prefill = <{{[^>]*}}value_vectors = {{[0-9]+}}>
// CHECK:         decode = <{{[^>]*}}value_vectors = {{[0-9]+}}>, prefill = <{{[^>]*}}value_vectors = {{[0-9]+}}>
func.func @negative_f32_beside_bf16(%q: tensor<?x32x128xbf16>, %exact: tensor<?x32x128xf32>,
                                    %cache: !bf16, %batch: !kvc.batch)
    -> (tensor<?x32x128xbf16>, tensor<?x32x128xf32>) {
  %0 = kvc.attention %cache at %batch terms(%exact * k) value(v) {scale = 1.0 : f32}
      : !bf16, tensor<?x32x128xf32> -> tensor<?x32x128xbf16>
  %1 = kvc.attention %cache at %batch terms(%q * k) value(v) {scale = 1.0 : f32}
      : !bf16, tensor<?x32x128xbf16> -> tensor<?x32x128xf32>
  return %0, %1 : tensor<?x32x128xbf16>, tensor<?x32x128xf32>
}

// Narrow values would show the rounding of the weights.
// CHECK-LABEL: func.func @negative_narrow_values
// CHECK:         decode = <{{[^>]*}}value_vectors = {{[0-9]+}}>, prefill = <{{[^>]*}}value_vectors = {{[0-9]+}}>
func.func @negative_narrow_values(%q: tensor<?x32x128xbf16>, %cache: !narrow,
                                  %batch: !kvc.batch) -> tensor<?x32x24xbf16> {
  %out = kvc.attention %cache at %batch terms(%q * k) value(v) {scale = 1.0 : f32}
      : !narrow, tensor<?x32x128xbf16> -> tensor<?x32x24xbf16>
  return %out : tensor<?x32x24xbf16>
}

// Tiles take many rows, of i8 more than of others, and are whole.
// AMX-LABEL: func.func @tiles
// AMX:         decode = <rows = 8, {{[^>]*}}, products = bf16_tile>, prefill = <{{[^>]*}}, products = bf16_tile>
// AMX:         decode = <rows = {{[0-9], key_vectors = [0-9], value_vectors = [0-9]+}}>, prefill = <rows = 8, {{[^>]*}}, products = bf16_tile>
// AMX:         decode = <rows = 8, {{[^>]*}}, products = bf16_tile>, prefill = <{{[^>]*}}, products = bf16_tile>
// AMX:         decode = <{{[^>]*}}value_vectors = {{[0-9]+}}>, prefill = <{{[^>]*}}value_vectors = {{[0-9]+}}>
!i8 = !kvc.cache<page = 16, k: 8x128xi8 scale<f32, token>, v: 8x128xi8 scale<f32, token>>
!odd = !kvc.cache<page = 16, k: 8x128xbf16, v: 8x80xbf16>
func.func @tiles(%few: tensor<?x64x128xbf16>, %many: tensor<?x128x128xbf16>, %bf16: !bf16,
                 %i8: !i8, %odd: !odd, %batch: !kvc.batch)
    -> (tensor<?x64x128xbf16>, tensor<?x64x128xbf16>, tensor<?x128x128xbf16>, tensor<?x128x80xbf16>) {
  %3 = kvc.attention %bf16 at %batch terms(%few * k) value(v) {scale = 1.0 : f32}
      : !bf16, tensor<?x64x128xbf16> -> tensor<?x64x128xbf16>
  %0 = kvc.attention %i8 at %batch terms(%few * k) value(v) {scale = 1.0 : f32}
      : !i8, tensor<?x64x128xbf16> -> tensor<?x64x128xbf16>
  %1 = kvc.attention %i8 at %batch terms(%many * k) value(v) {scale = 1.0 : f32}
      : !i8, tensor<?x128x128xbf16> -> tensor<?x128x128xbf16>
  %2 = kvc.attention %odd at %batch terms(%many * k) value(v) {scale = 1.0 : f32}
      : !odd, tensor<?x128x128xbf16> -> tensor<?x128x80xbf16>
  return %3, %0, %1, %2
      : tensor<?x64x128xbf16>, tensor<?x64x128xbf16>, tensor<?x128x128xbf16>, tensor<?x128x80xbf16>
}

// Wide values beside one row are cut into chunks of equal size that fit a register
// tile: 144, 72 and 36 vectors.
// CHECK-LABEL: func.func @wide_values
// PLAIN:         decode = <rows = 1, key_vectors = 8, value_vectors = 8>
// AVX2:          decode = <rows = 1, key_vectors = 8, value_vectors = 8>
// AVX512:        decode = <rows = 1, key_vectors = 4, value_vectors = 12>
// BF16:          decode = <rows = 1, key_vectors = 4, value_vectors = 12>
// AMX:           decode = <rows = 1, key_vectors = 4, value_vectors = 12>
// CHECK-SAME:    query_tokens = 96
func.func @wide_values(%q: tensor<?x1x576xf32>, %cache: !wide, %batch: !kvc.batch)
    -> tensor<?x1x576xf32> {
  %out = kvc.attention %cache at %batch terms(%q * k) value(v) {scale = 1.0 : f32}
      : !wide, tensor<?x1x576xf32> -> tensor<?x1x576xf32>
  return %out : tensor<?x1x576xf32>
}

// Where one token has more rows than a prefill item aims at, an item is one token.
// CHECK-LABEL: func.func @many_heads
// CHECK:         query_tokens = 1, split = 4096>
func.func @many_heads(%q: tensor<?x128x576xf32>, %cache: !wide, %batch: !kvc.batch)
    -> tensor<?x128x576xf32> {
  %out = kvc.attention %cache at %batch terms(%q * k) value(v) {scale = 1.0 : f32}
      : !wide, tensor<?x128x576xf32> -> tensor<?x128x576xf32>
  return %out : tensor<?x128x576xf32>
}

// A schedule that is there stays, of whatever target.
// CHECK-LABEL: func.func @negative_planned_before
// CHECK:         #kvc.cpu_schedule<lanes = 4, tile = 16, {{.*}}, query_tokens = 7, split = 32>
// CHECK:         #kvc.gpu_schedule<
func.func @negative_planned_before(%q: tensor<?x32x128xf16>, %cache: !f16, %batch: !kvc.batch)
    -> (tensor<?x32x128xf16>, tensor<?x32x128xf16>) {
  %cpu = kvc.attention %cache at %batch terms(%q * k) value(v) {scale = 1.0 : f32,
      schedule = #kvc.cpu_schedule<lanes = 4, tile = 16,
          decode = <rows = 1, key_vectors = 1, value_vectors = 1>,
          prefill = <rows = 1, key_vectors = 1, value_vectors = 1>,
          query_tokens = 7, split = 32>}
      : !f16, tensor<?x32x128xf16> -> tensor<?x32x128xf16>
  %gpu = kvc.attention %cache at %batch terms(%q * k) value(v) {scale = 1.0 : f32,
      schedule = #kvc.gpu_schedule<decode = <form = heads_m, rows = 16, keys = 32, stages = 2, warps = 1, query_tokens = 1>, prefill = <form = heads_m, rows = 16, keys = 32, stages = 2, warps = 1, query_tokens = 1>, split = 64>}
      : !f16, tensor<?x32x128xf16> -> tensor<?x32x128xf16>
  return %cpu, %gpu : tensor<?x32x128xf16>, tensor<?x32x128xf16>
}
