// Types and attributes, before and after a round trip.

// RUN: kvc-opt %s -verify-roundtrip | FileCheck %s

// Components of each element type, and the largest heads, width and page.
// CHECK-LABEL: func.func private @elements
// CHECK-SAME: !kvc.cache<page = 1, a: 1x8xf32, b: 2x16xf16, c: 3x24xbf16>
// CHECK-SAME: !kvc.cache<page = 2147483647, k: 2147483647x576xf32>
func.func private @elements(!kvc.cache<page = 1, a: 1x8xf32, b: 2x16xf16, c: 3x24xbf16>,
                            !kvc.cache<page = 2147483647, k: 2147483647x576xf32>)

// Row-major is the default layout, and is not printed.
// CHECK-LABEL: func.func private @layouts
// CHECK-SAME: !kvc.cache<page = 16, k: 1x8xf16>,
// CHECK-SAME: !kvc.cache<page = 48, k: 1x8xf16 layout<packed_key>, v: 1x8xf16 layout<packed_value>>
func.func private @layouts(!kvc.cache<page = 16, k: 1x8xf16 layout<row_major>>,
    !kvc.cache<page = 48, k: 1x8xf16 layout<packed_key>, v: 1x8xf16 layout<packed_value>>)

// Up to 8 components; a name of up to 15 characters is quoted where it is no word.
// CHECK-LABEL: func.func private @names
// CHECK-SAME: !kvc.cache<page = 1, a: {{.*}}, b: {{.*}}, c: {{.*}}, d: {{.*}}, e: {{.*}}, f: {{.*}}, g: {{.*}}, fifteen_letters: 1x8xf16>
// CHECK-SAME: !kvc.cache<page = 1, "two words": 1x8xf16, "\22\\": 1x8xf16, "\C3\BC": 1x8xf16, "0": 1x8xf16, layout: 1x8xf16>
func.func private @names(
    !kvc.cache<page = 1, a: 1x8xf16, b: 1x8xf16, c: 1x8xf16, d: 1x8xf16, e: 1x8xf16,
               f: 1x8xf16, g: 1x8xf16, "fifteen_letters": 1x8xf16>,
    !kvc.cache<page = 1, "two words": 1x8xf16, "\22\\": 1x8xf16, "ü": 1x8xf16, "0": 1x8xf16,
               layout: 1x8xf16>)

// A quoted name works wherever a component is named.
// CHECK-LABEL: func.func @quoted_name
// CHECK-SAME:    %[[X:[^:]*]]: tensor<?x1x8xf16>
func.func @quoted_name(%x: tensor<?x1x8xf16>, %batch: !kvc.batch,
                       %cache: !kvc.cache<page = 1, "two words": 1x8xf16>)
    -> tensor<?x1x8xf16> {
  // CHECK: kvc.append %{{.*}}["two words": %[[X]]] at
  kvc.append %cache["two words": %x] at %batch
      : !kvc.cache<page = 1, "two words": 1x8xf16>, tensor<?x1x8xf16>
  // CHECK: terms(%[[X]] * "two words") value("two words")
  %out = kvc.attention %cache at %batch terms(%x * "two words") value("two words")
      {scale = 1.0 : f32} : !kvc.cache<page = 1, "two words": 1x8xf16>, tensor<?x1x8xf16>
      -> tensor<?x1x8xf16>
  return %out : tensor<?x1x8xf16>
}

// CHECK-LABEL: func.func private @batch(!kvc.batch)
func.func private @batch(!kvc.batch)

// Score modifiers at the ends of their ranges.
// CHECK-LABEL: func.func private @modifiers
// CHECK-SAME: all = [#kvc.causal, #kvc.window<1>, #kvc.window<2147483647>, #kvc.softcap<1.000000e-30>, #kvc.softcap<1.000000e+30>]
func.func private @modifiers() attributes {all = [#kvc.causal, #kvc.window<1>,
    #kvc.window<2147483647>, #kvc.softcap<1.0e-30>, #kvc.softcap<1.0e30>]}

// Schedules, with register tiles in the short form.
// CHECK-LABEL: func.func private @schedules
// CHECK-SAME: cpu = #kvc.cpu_schedule<lanes = 16, tile = 1024, decode = <rows = 32, key_vectors = 4, value_vectors = 4, products = bf16_dot>, prefill = <rows = 1, key_vectors = 16, value_vectors = 16, products = bf16_dot>, query_tokens = 4096, split = 16777216>
// CHECK-SAME: gpu = #kvc.gpu_schedule<decode = <form = tokens_m, rows = 8, keys = 256, stages = 8, warps = 8, query_tokens = 1>, prefill = <form = columns, rows = 128, keys = 16, stages = 2, warps = 1, query_tokens = 4096>, split = 768>
// CHECK-SAME: gpu_clusters = #kvc.gpu_schedule<decode = <form = tokens_m, rows = 8, keys = 64, stages = 2, warps = 4, query_tokens = 1>, prefill = <form = rows, rows = 64, keys = 64, stages = 2, warps = 4, query_tokens = 1>, split = 64, cluster = 8>
func.func private @schedules() attributes {
    cpu = #kvc.cpu_schedule<lanes = 16, tile = 1024,
        decode = <rows = 32, key_vectors = 4, value_vectors = 4, products = bf16_dot>,
        prefill = <rows = 1, key_vectors = 16, value_vectors = 16, products = bf16_dot>,
        query_tokens = 4096, split = 16777216>,
    gpu = #kvc.gpu_schedule<decode = <form = tokens_m, rows = 8, keys = 256, stages = 8, warps = 8, query_tokens = 1>, prefill = <form = columns, rows = 128, keys = 16, stages = 2, warps = 1, query_tokens = 4096>, split = 768, cluster = 1>,
    gpu_clusters = #kvc.gpu_schedule<decode = <form = tokens_m, rows = 8, keys = 64, stages = 2, warps = 4, query_tokens = 1>, prefill = <form = rows, rows = 64, keys = 64, stages = 2, warps = 4, query_tokens = 1>, split = 64, cluster = 8>}

// Processors; what a CPU lacks is left out.
// CHECK-LABEL: func.func private @targets
// CHECK-SAME: cpu = #kvc.target<name = "a cpu", kind = cpu, processors = 1, bandwidth = 1.500000e+10, f32_rate = 1.000000e+11, cache = 1, launch = 0.000000e+00>
// CHECK-SAME: gpu = #kvc.target<name = "a gpu", kind = gpu, processors = 65536, bandwidth = 3.350000e+12, matrix_rates = {bf16 = 1.000000e+15 : f64}, f32_rate = 1.000000e+14, cache = 52428800, launch = 2.500000e-06, shared_per_block = 1, shared_per_processor = 1, registers = 1>
func.func private @targets() attributes {
    cpu = #kvc.target<name = "a cpu", kind = cpu, processors = 1, bandwidth = 15.0e9,
        f32_rate = 1.0e11, cache = 1, launch = 0.0>,
    gpu = #kvc.target<registers = 1, kind = gpu, processors = 65536, bandwidth = 3.35e12,
        matrix_rates = {bf16 = 1.0e15}, f32_rate = 1.0e14, cache = 52428800, launch = 2.5e-6,
        shared_per_block = 1, shared_per_processor = 1, name = "a gpu">}

// Scales of quantised components by themselves.
// CHECK-LABEL: func.func private @scales
// CHECK-SAME: all = [#kvc.scale<f32, token>, #kvc.scale<f16, tensor, static>, #kvc.scale<f32, head, static>, #kvc.scale<f16, group = 32, zero_point>]
func.func private @scales() attributes {all = [#kvc.scale<f32>, #kvc.scale<f16, static, tensor>,
    #kvc.scale<f32, head, static>, #kvc.scale<f16, group = 32, zero_point>]}

// A component by itself.
// CHECK-LABEL: func.func private @component
// CHECK-SAME: one = #kvc.component<k: 8x128xbf16 layout<packed_key>>
func.func private @component() attributes {one = #kvc.component<k: 8x128xbf16 layout<packed_key>>}
