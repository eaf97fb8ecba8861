// What a schedule costs, computed by hand.

// RUN: kvc-opt %s -kvc-plan="print forms=heads_m:16 prefill-batch=2 q-len=25" -o /dev/null 2>&1 \
// RUN:   | FileCheck %s --check-prefix=GPU

!llama = !kvc.cache<page = 16, k: 8x128xbf16, v: 8x128xbf16>
!odd = !kvc.cache<page = 5, k: 2x96xf16, v: 2x40xf16>

// Decode of 8 sequences of 4096 tokens; 4 query heads of width 128 on each of 8 KV heads,
// 16 rows.
//   shared/B     3 stages * 64 keys * (256 + 256) = 98304, and 16 rows of the query * 256
//                = 4096: 102400; with 1024 more for each block, 2 blocks have room in 233472
//   registers    query 16 * 128 / 64 = 32, output 16 * 128 / 32 = 64, scores
//                16 * (64 / 4) / 32 = 8, probabilities 4, statistics of 16 / 8 rows 4 * 2 = 8,
//                others 64: 180
//   blocks/SM    184 * 32 * 4 warps = 23552 of 65536 registers: 2, as by shared memory
//   blocks       8 * 8 heads * 16 splits of 256 are 1024, of which 132 * 2 = 264 run at once:
//                4 splits an item, 8 * 8 * 4 = 256
//   keys, values 8 * 4096 * 8 heads * 512           = 134217728
//   page ids     8 * 256 pages * 8 heads * 4        =     65536
//   queries      8 * 4 items * 32 heads * 256       =    262144
//   output       8 * 32 heads * 256                 =     65536
//   parts        8 * 4 * 32 * (128 * 4 + 4) * 2     =   1056768
//                together                             135667712, all of memory
//   operations   8 * 8 heads * 64 tiles * 2 * 16 rows * 64 keys * (128 + 128)
//                                                   = 2147483648
//   time         135667712 / (0.9 * 3.35e12) = 45.0 us, and launches of 7.5 us: more than 52.5
// GPU:      kvc-plan: @by_hand, decode on h100_sxm (132 multiprocessors), for 8 x 4096 tokens, 1 of each new
// GPU-NEXT: form rows keys stages warps query tokens bytes of memory operations instructions bound time/us shared/B registers blocks/SM blocks
// GPU-NEXT: given heads_m 16 64 3 4 1 135667712 135667712 2147483648 {{[0-9]+}} memory 5{{[3-9]\.[0-9]+}} 102400 180 2 256{{$}}
// GPU-NOT:  other
// GPU:      kvc-plan: @by_hand, prefill on h100_sxm
#decode = #kvc.gpu_stream<form = heads_m, rows = 16, keys = 64, stages = 3, warps = 4, query_tokens = 1>
func.func @by_hand(%q: tensor<?x32x128xbf16>, %cache: !llama, %batch: !kvc.batch)
    -> tensor<?x32x128xbf16> {
  %out = kvc.attention %cache at %batch terms(%q * k) value(v) score [#kvc.causal]
      {scale = 1.0 : f32, schedule = #kvc.gpu_schedule<decode = #decode, prefill = #decode, split = 256>}
      : !llama, tensor<?x32x128xbf16> -> tensor<?x32x128xbf16>
  return %out : tensor<?x32x128xbf16>
}

// Prefill of 2 sequences of 25 tokens, all new; 3 query heads on each of 2 KV heads; keys
// of 96 columns and values of 40, padded to 48; a log-sum-exp. Blocks of 10, 10 and 5
// query tokens see 10, 20 and 25 keys: 55.
//   shared/B     2 stages * 32 keys * (12 + 6 chunks of 16) = 18432
//   registers    for 16 rows a warp: query 16 * 96 / 64 = 24, output 16 * 48 / 32 = 24, scores
//                16 * 32 / 32 = 16, probabilities in two terms, as 40 columns are few, 2 * 8,
//                statistics of 16 / 8 rows 4 * 2 = 8, others 64: 152
//   blocks/SM    152 * 32 * 2 warps = 9728 of 65536 registers: 6
//   blocks       2 * 3 * 2 heads = 12
//   keys, values 2 * 55 * 2 heads * (192 + 80)      =     59840
//   page ids     2 * (2 + 4 + 5 pages) * 2 heads * 4 =      176
//   queries      2 * 25 * 6 heads * 192             =     57600
//   output       2 * 25 * 6 heads * (80 + 4)        =     25200
//                together                             142816
//   of memory    what is read again, 2 * (55 - 25) * 2 * 272 = 32640, is cached: 110176
//   operations   2 * 3 tiles * 2 heads * 2 * 32 rows * 32 keys * (96 + 48) = 3538944
// GPU:      kvc-plan: @odd, prefill on h100_sxm (132 multiprocessors), for 2 x 25 tokens, 25 of each new
// GPU-NEXT: form
// GPU-NEXT: given rows 32 32 2 2 10 142816 110176 3538944 {{[0-9]+ [a-z]+ [0-9.]+}} 18432 152 6 12{{$}}
#prefill = #kvc.gpu_stream<form = rows, rows = 32, keys = 32, stages = 2, warps = 2, query_tokens = 10>
func.func @odd(%q: tensor<?x6x96xf16>, %cache: !odd, %batch: !kvc.batch)
    -> (tensor<?x6x40xf16>, tensor<?x6xf32>) {
  %out, %lse = kvc.attention %cache at %batch terms(%q * k) value(v) score [#kvc.causal]
      {scale = 1.0 : f32, schedule = #kvc.gpu_schedule<decode = #prefill, prefill = #prefill, split = 32>}
      : !odd, tensor<?x6x96xf16> -> tensor<?x6x40xf16>, tensor<?x6xf32>
  return %out, %lse : tensor<?x6x40xf16>, tensor<?x6xf32>
}

// What was chosen comes first, then others; what takes too much is listed with the
// reason, and the rest is counted.
// GPU:      kvc-plan: @chosen, decode on h100_sxm
// GPU:      chosen heads_m 16 64 2 4 1
// GPU-NEXT: other heads_m 16
// GPU:      does not fit heads_m 16 256 {{.*}} expected at most 232448 bytes of shared memory a block, got {{[0-9]+$}}
// GPU:      and {{[0-9]+}} more
// GPU:      kvc-plan: @chosen, prefill on h100_sxm
// GPU:      chosen rows
// GPU:      does not fit rows {{.*}} expected at most 255 registers a thread, got {{[0-9]+$}}
func.func @chosen(%q: tensor<?x32x128xbf16>, %cache: !llama, %batch: !kvc.batch)
    -> tensor<?x32x128xbf16> {
  %out = kvc.attention %cache at %batch terms(%q * k) value(v) score [#kvc.causal]
      {scale = 1.0 : f32} : !llama, tensor<?x32x128xbf16> -> tensor<?x32x128xbf16>
  return %out : tensor<?x32x128xbf16>
}
