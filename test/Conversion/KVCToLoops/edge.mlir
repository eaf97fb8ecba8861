// RUN: kvc-opt %s -kvc-decompose -canonicalize -cse | FileCheck %s

!cache = !kvc.cache<page = 16, k: 2x8xf16, v: 2x8xf16>

// Buffers are viewed in place: dimensions of `hnd` change places, the second
// component of a fused buffer starts one stride of dimension 1 later.
// CHECK-LABEL: func.func @fused_hnd
// CHECK-SAME:    %[[BUFFER:[^:]*]]: memref<?x2x2x16x8xf16>
func.func @fused_hnd(%v: tensor<?x2x8xf16>, %kv: memref<?x2x2x16x8xf16>, %batch: !kvc.batch) {
  // CHECK:     memref.reinterpret_cast %[[BUFFER]] to offset: [256],
  // CHECK-SAME:  sizes: [%{{[^,]*}}, 16, 2, 8], strides: [512, 8, 128, 1]
  // CHECK-NOT: memref.alloc
  // CHECK:     memref.store %{{.*}}, %{{.*}}[
  %cache = kvc.cache_from_buffers %kv order hnd fused : memref<?x2x2x16x8xf16> -> !cache
  kvc.append %cache[v: %v] at %batch : !cache, tensor<?x2x8xf16>
  return
}

// The pages of sequence i of a padded table start i rows later.
// CHECK-LABEL: func.func @block_table
// CHECK-SAME:    %{{[^:]*}}: memref<?x?xi32, strided<[?, 1]>>
func.func @block_table(%q: tensor<?x2x8xf16>, %cache: !cache, %start: tensor<?xi32>,
                       %lens: tensor<?xi32>, %table: tensor<?x?xi32>, %slots: tensor<?xi64>,
                       %pos: tensor<?xi32>) -> tensor<?x2x8xf16> {
  // CHECK:     tensor.collapse_shape %{{.*}} : tensor<?x?xi32> into tensor<?xi32>
  // CHECK:     %[[STRIDE:.*]] = memref.dim
  // CHECK:     scf.for %[[SEQUENCE:.*]] = %c0
  // CHECK:       arith.muli %[[SEQUENCE]], %[[STRIDE]]
  %batch = kvc.batch_from_block_table %start, %lens, %table, %slots, %pos
      max_query_len 4 max_kv_len 64
      : tensor<?xi32>, tensor<?xi32>, tensor<?x?xi32>, tensor<?xi64>, tensor<?xi32>
  %out = kvc.attention %cache at %batch terms(%q * k) value(v) {scale = 1.0 : f32}
      : !cache, tensor<?x2x8xf16> -> tensor<?x2x8xf16>
  return %out : tensor<?x2x8xf16>
}

// Those of compressed rows start where the array says.
// CHECK-LABEL: func.func @csr
func.func @csr(%q: tensor<?x2x8xf16>, %cache: !cache, %start: tensor<?xi32>,
               %lens: tensor<?xi32>, %page_start: tensor<?xi32>, %page_ids: tensor<?xi32>,
               %slots: tensor<?xi64>, %pos: tensor<?xi32>) -> tensor<?x2x8xf16> {
  // CHECK:     %[[HAS_STARTS:.*]] = arith.cmpi ne, %{{.*}}, %c0
  // CHECK:     scf.if %[[HAS_STARTS]]
  // CHECK-NEXT:  memref.load
  %batch = kvc.batch_from_csr %start, %lens, %page_start, %page_ids, %slots, %pos
      max_query_len 4 max_kv_len 64
      : tensor<?xi32>, tensor<?xi32>, tensor<?xi32>, tensor<?xi32>, tensor<?xi64>,
        tensor<?xi32>
  %out = kvc.attention %cache at %batch terms(%q * k) value(v) {scale = 1.0 : f32}
      : !cache, tensor<?x2x8xf16> -> tensor<?x2x8xf16>
  return %out : tensor<?x2x8xf16>
}
