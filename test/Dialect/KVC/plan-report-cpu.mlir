// What a schedule costs on a CPU, computed by hand.

// RUN: kvc-opt %s -kvc-plan="print batch=1 kv-len=40 q-len=4" -o /dev/null 2>&1 | FileCheck %s
// RUN: kvc-opt %s -kvc-plan="print batch=1 kv-len=40 bandwidth=1.0e9" -o /dev/null 2>&1 \
// RUN:   | FileCheck %s --check-prefix=SLOW
// RUN: kvc-opt %s -kvc-plan="print target=other batch=1 kv-len=40" -o /dev/null 2>&1 \
// RUN:   | FileCheck %s --check-prefix=NAME
// RUN: kvc-opt %s -kvc-plan="print target=cpu batch=1 kv-len=40" -o /dev/null 2>&1 \
// RUN:   | FileCheck %s --check-prefix=NAME

!cache = !kvc.cache<page = 16, k: 1x8xf32, v: 1x8xf32>

// One sequence of 40 tokens; 2 query heads on a KV head.
//   keys, values 40 * (32 + 32)                     = 2560
//   page ids     3 pages * 4                        =   12
//   queries      2 items of 32 keys * 2 heads * 32  =  128
//   output       2 heads * 32                       =   64
//   parts        2 * 2 heads * (8 * 4 + 4) * 2      =  288
//                together                             3052
//   operations   3 tiles * 16 keys * 2 rows * 2 * (8 + 8) = 3072
//   time         3052 / 1e10 = 0.3052 us, as (3072 + 20 * 96) / 1e11 = 0.05 us is less
// CHECK:      kvc-plan: @small, decode on other (2 cores), for 1 x 40 tokens, 1 of each new
// CHECK-NEXT: products rows key vectors value vectors query tokens bytes of memory operations bound time/us
// CHECK-NEXT: given fma 1 1 1 1 3052 3052 3072 memory 0.31{{$}}
// At a tenth of the bandwidth, ten times as long.
// SLOW:       given fma 1 1 1 1 3052 3052 3072 memory 3.05{{$}}
// The module's target is found by its kind and by its name.
// NAME:       kvc-plan: @small, decode on other (2 cores)

// 4 new tokens in items of 2: 2 + 4 keys if causal, but here all see 4 each.
//   keys, values 2 * 4 * 64 = 512, half of it again from the cache
//   page ids     2 * 4      =   8
//   queries      4 * 2 * 32 = 256
//   output       4 * 2 * 32 = 256
//   together                 1032, of memory 1032 - 256 = 776
//   operations   2 tiles * 16 keys * 4 rows * 2 * (8 + 8) = 4096
// CHECK:      kvc-plan: @small, prefill on other (2 cores), for 1 x 4 tokens, 4 of each new
// CHECK-NEXT: products
// CHECK-NEXT: given fma 2 1 1 2 1032 776 4096 memory 0.08{{$}}
module attributes {kvc.target = #kvc.target<name = "other", kind = cpu, processors = 2,
    bandwidth = 1.0e10, f32_rate = 1.0e11, cache = 1048576, launch = 0.0>} {
  func.func @small(%q: tensor<?x2x8xf32>, %cache: !cache, %batch: !kvc.batch)
      -> tensor<?x2x8xf32> {
    %out = kvc.attention %cache at %batch terms(%q * k) value(v) {scale = 1.0 : f32,
        schedule = #kvc.cpu_schedule<lanes = 4, tile = 16,
            decode = <rows = 1, key_vectors = 1, value_vectors = 1>,
            prefill = <rows = 2, key_vectors = 1, value_vectors = 1>,
            query_tokens = 2, split = 32>}
        : !cache, tensor<?x2x8xf32> -> tensor<?x2x8xf32>
    return %out : tensor<?x2x8xf32>
  }
}
