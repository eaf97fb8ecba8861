// Which processor is planned for, and what is refused.

// RUN: kvc-opt %s -split-input-file -kvc-plan="print forms=heads_m:16" -o /dev/null 2>&1 | FileCheck %s
// RUN: kvc-opt %s -split-input-file -kvc-plan="print target=h200" -o /dev/null 2>&1 \
// RUN:   | FileCheck %s --check-prefix=H200
// RUN: kvc-opt %s -split-input-file -kvc-plan="print target=cpu tier=avx2" -o /dev/null 2>&1 \
// RUN:   | FileCheck %s --check-prefix=CPU
// RUN: not kvc-opt %s -split-input-file -kvc-plan=target=a100 2>&1 | FileCheck %s --check-prefix=NAME

// The module's target decides; without one it is an H100. An option that names another
// one, or another kind, wins. 3 stages of 128 keys * 512 bytes are 196608, and 16 rows of
// the query * 256 bytes 4096.
// CHECK:      @f, decode on small_gpu (4 multiprocessors)
// CHECK-NEXT: form
// CHECK-NEXT: chosen heads_m 16
// CHECK:      does not fit heads_m 16 128 3 {{.*}} expected at most 102400 bytes of shared memory a block, got 200704
// CHECK:      @f, decode on h100_sxm (132 multiprocessors)
// H200-COUNT-2: @f, decode on h200 (132 multiprocessors)
// CPU-COUNT-2: @f, decode on cpu ({{[0-9]+}} cores)
// NAME:       error: expected target h100_sxm, h200, gpu or cpu, or small_gpu of 'kvc.target', got 'a100'
// NAME:       error: expected target h100_sxm, h200, gpu or cpu, got 'a100'

!cache = !kvc.cache<page = 16, k: 8x128xbf16, v: 8x128xbf16>

module attributes {kvc.target = #kvc.target<name = "small_gpu", kind = gpu, processors = 4,
    bandwidth = 5.0e11, matrix_rates = {bf16 = 30.0e12}, f32_rate = 2.0e12, cache = 4194304,
    launch = 2.5e-6, shared_per_block = 102400, shared_per_processor = 102400,
    registers = 65536>} {
  func.func @f(%q: tensor<?x32x128xbf16>, %cache: !cache, %batch: !kvc.batch)
      -> tensor<?x32x128xbf16> {
    %out = kvc.attention %cache at %batch terms(%q * k) value(v) {scale = 1.0 : f32}
        : !cache, tensor<?x32x128xbf16> -> tensor<?x32x128xbf16>
    return %out : tensor<?x32x128xbf16>
  }
}

// -----

!cache = !kvc.cache<page = 16, k: 8x128xbf16, v: 8x128xbf16>

func.func @f(%q: tensor<?x32x128xbf16>, %cache: !cache, %batch: !kvc.batch)
    -> tensor<?x32x128xbf16> {
  %out = kvc.attention %cache at %batch terms(%q * k) value(v) {scale = 1.0 : f32}
      : !cache, tensor<?x32x128xbf16> -> tensor<?x32x128xbf16>
  return %out : tensor<?x32x128xbf16>
}
