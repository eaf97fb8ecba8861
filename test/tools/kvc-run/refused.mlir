// Programs that kvc-run cannot make arguments for, or cannot verify, and text that is
// none: a message at the place, and a status of 1.

// RUN: split-file %s %t
// RUN: not kvc-run %t/buffers.mlir 2>&1 | FileCheck %s --check-prefix=BUFFERS
// BUFFERS: buffers.mlir:2:1: error: argument 1: cannot run a function with 'memref<?x16x2x16xf16>'; expected tensors of f32, f16 or bf16 of rank 1 to 3, caches and batches
// RUN: not kvc-run %t/arrays.mlir 2>&1 | FileCheck %s --check-prefix=ARRAYS
// ARRAYS: arrays.mlir:2:1: error: argument 2: cannot run a function with 'tensor<?xi32>'; expected
// RUN: not kvc-run %t/pages.mlir 2>&1 | FileCheck %s --check-prefix=PAGES
// PAGES: kvc-run: error: expected all caches to have the same page size, got 16 for argument 2 and 32 for argument 3
// RUN: kvc-run %t/mixed.mlir | FileCheck %s --check-prefix=RUNS
// RUNS: result 1: 3x2x16xf16
// RUN: not kvc-run %t/mixed.mlir --verify 2>&1 | FileCheck %s --check-prefix=MIXED
// MIXED: kvc-run: error: cannot verify 'mixed': expected its attention to be all causal or all not
// RUN: not kvc-run %t/mixed.mlir --verify --verify-against=%t/other.mlir 2>&1 \
// RUN:   | FileCheck %s --check-prefix=OTHER
// OTHER: kvc-run: error: expected the function of --verify-against to have the same arguments and results

// From stdin, which is also the default.
// RUN: echo 'func.func @f( {' | not kvc-run 2>&1 | FileCheck %s --check-prefix=TEXT
// TEXT: <stdin>:1:14: error: expected non-function type
// RUN: echo 'module {}' | not kvc-run - 2>&1 | FileCheck %s --check-prefix=EMPTY
// EMPTY: <stdin>:1:1: error: expected a public function to run

//--- buffers.mlir
!cache = !kvc.cache<page = 16, k: 2x16xf16, v: 2x16xf16>
func.func @buffers(%q: tensor<?x2x16xf16>, %k: memref<?x16x2x16xf16>, %v: memref<?x16x2x16xf16>,
                   %batch: !kvc.batch) -> tensor<?x2x16xf16> {
  %cache = kvc.cache_from_buffers %k, %v order nhd
      : memref<?x16x2x16xf16>, memref<?x16x2x16xf16> -> !cache
  %o = kvc.attention %cache at %batch terms(%q * k) value(v) {scale = 0.25 : f32}
      : !cache, tensor<?x2x16xf16> -> tensor<?x2x16xf16>
  return %o : tensor<?x2x16xf16>
}

//--- arrays.mlir
!cache = !kvc.cache<page = 16, k: 2x16xf16, v: 2x16xf16>
func.func @arrays(%q: tensor<?x2x16xf16>, %cache: !cache, %start: tensor<?xi32>,
                  %lens: tensor<?xi32>, %table: tensor<?x?xi32>, %slots: tensor<?xi64>,
                  %positions: tensor<?xi32>) -> tensor<?x2x16xf16> {
  %batch = kvc.batch_from_block_table %start, %lens, %table, %slots, %positions
      max_query_len 1 max_kv_len 64
      : tensor<?xi32>, tensor<?xi32>, tensor<?x?xi32>, tensor<?xi64>, tensor<?xi32>
  %o = kvc.attention %cache at %batch terms(%q * k) value(v) {scale = 0.25 : f32}
      : !cache, tensor<?x2x16xf16> -> tensor<?x2x16xf16>
  return %o : tensor<?x2x16xf16>
}

//--- pages.mlir
!a = !kvc.cache<page = 16, k: 2x16xf16, v: 2x16xf16>
!b = !kvc.cache<page = 32, k: 2x16xf16, v: 2x16xf16>
func.func @pages(%p: tensor<?x2x16xf16>, %q: tensor<?x2x16xf16>, %a: !a, %b: !b,
                 %batch: !kvc.batch) -> (tensor<?x2x16xf16>, tensor<?x2x16xf16>) {
  %x = kvc.attention %a at %batch terms(%p * k) value(v) {scale = 0.25 : f32}
      : !a, tensor<?x2x16xf16> -> tensor<?x2x16xf16>
  %y = kvc.attention %b at %batch terms(%q * k) value(v) {scale = 0.25 : f32}
      : !b, tensor<?x2x16xf16> -> tensor<?x2x16xf16>
  return %x, %y : tensor<?x2x16xf16>, tensor<?x2x16xf16>
}

//--- mixed.mlir
!cache = !kvc.cache<page = 16, k: 2x16xf16, v: 2x16xf16>
func.func @mixed(%q: tensor<?x2x16xf16>, %cache: !cache, %batch: !kvc.batch)
    -> (tensor<?x2x16xf16>, tensor<?x2x16xf16>) {
  %x = kvc.attention %cache at %batch terms(%q * k) value(v) {scale = 0.25 : f32}
      : !cache, tensor<?x2x16xf16> -> tensor<?x2x16xf16>
  %y = kvc.attention %cache at %batch terms(%q * k) value(v) score [#kvc.causal]
      {scale = 0.25 : f32} : !cache, tensor<?x2x16xf16> -> tensor<?x2x16xf16>
  return %x, %y : tensor<?x2x16xf16>, tensor<?x2x16xf16>
}

//--- other.mlir
!cache = !kvc.cache<page = 16, k: 2x16xf16, v: 2x16xf16>
func.func @mixed(%q: tensor<?x4x16xf16>, %cache: !cache, %batch: !kvc.batch)
    -> tensor<?x4x16xf16> {
  %x = kvc.attention %cache at %batch terms(%q * k) value(v) {scale = 0.25 : f32}
      : !cache, tensor<?x4x16xf16> -> tensor<?x4x16xf16>
  return %x : tensor<?x4x16xf16>
}
