// Every operation with each of its optional parts, before and after a round trip.

// RUN: kvc-opt %s -verify-roundtrip | FileCheck %s
// RUN: kvc-opt %s -mlir-print-op-generic | kvc-opt | FileCheck %s
// RUN: kvc-opt %s -emit-bytecode | kvc-opt | FileCheck %s

!cache = !kvc.cache<page = 16, k: 2x8xf16, v: 2x24xf16>
!latent = !kvc.cache<page = 16, c: 1x16xf16, r: 1x8xf16>

// CHECK-DAG: #[[$Q:.*]] = affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d1, d2, d3, d5)>
// CHECK-DAG: #[[$KV:.*]] = affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d1, d4, d5)>
// CHECK-DAG: #[[$ONE:.*]] = affine_map<(d0, d1, d2, d3, d4, d5) -> (d4, 0, d5)>
// CHECK-DAG: #[[$MASK:.*]] = affine_map<(d0, d1, d2, d3, d4, d5) -> (d2, d3, d4)>
// CHECK-DAG: #[[$SINKS:.*]] = affine_map<(d0, d1, d2, d3, d4, d5) -> (d2, d1)>

// All components of a cache, or some of them in any order.
// CHECK-LABEL: func.func @append
// CHECK-SAME:    %[[K:.*]]: tensor<?x2x8xf16>, %[[V:.*]]: tensor<?x2x24xf16>, %[[CACHE:.*]]: !kvc.cache<{{.*}}>, %[[BATCH:.*]]: !kvc.batch
func.func @append(%k: tensor<?x2x8xf16>, %v: tensor<?x2x24xf16>, %cache: !cache,
                  %batch: !kvc.batch) {
  // CHECK: kvc.append %[[CACHE]][v: %[[V]], k: %[[K]]] at %[[BATCH]] : !kvc.cache<page = 16, k: 2x8xf16, v: 2x24xf16>, tensor<?x2x24xf16>, tensor<?x2x8xf16>
  kvc.append %cache[v: %v, k: %k] at %batch
      : !cache, tensor<?x2x24xf16>, tensor<?x2x8xf16>
  // CHECK: kvc.append %[[CACHE]][k: %[[K]]] at %[[BATCH]] {note = "keys"}
  kvc.append %cache[k: %k] at %batch {note = "keys"} : !cache, tensor<?x2x8xf16>
  return
}

// The least that an attention has: no modifiers, sinks, or log-sum-exp.
// CHECK-LABEL: func.func @attention
// CHECK-SAME:    %[[Q:.*]]: tensor<?x4x8xf16>, %[[CACHE:.*]]: !kvc.cache<{{.*}}>, %[[BATCH:.*]]: !kvc.batch
func.func @attention(%q: tensor<?x4x8xf16>, %cache: !cache, %batch: !kvc.batch)
    -> tensor<?x4x24xf16> {
  // CHECK: kvc.attention %[[CACHE]] at %[[BATCH]] terms(%[[Q]] * k) value(v) {scale = 5.000000e-01 : f32} : !kvc.cache<{{.*}}>, tensor<?x4x8xf16> -> tensor<?x4x24xf16>{{$}}
  %out = kvc.attention %cache at %batch terms(%q * k) value(v) {scale = 0.5 : f32}
      : !cache, tensor<?x4x8xf16> -> tensor<?x4x24xf16>
  return %out : tensor<?x4x24xf16>
}

// An empty list of modifiers is the default, and is not printed.
// CHECK-LABEL: func.func @no_modifiers
func.func @no_modifiers(%q: tensor<?x4x8xf16>, %cache: !cache, %batch: !kvc.batch)
    -> tensor<?x4x24xf16> {
  // CHECK: value(v) {scale = 5.000000e-01 : f32}
  %out = kvc.attention %cache at %batch terms(%q * k) value(v) score [] {scale = 0.5 : f32}
      : !cache, tensor<?x4x8xf16> -> tensor<?x4x24xf16>
  return %out : tensor<?x4x24xf16>
}

// A bias by distance, in its place among the modifiers.
// CHECK-LABEL: func.func @attention_with_alibi
func.func @attention_with_alibi(%q: tensor<?x4x8xf16>, %cache: !cache, %batch: !kvc.batch)
    -> tensor<?x4x24xf16> {
  // CHECK: kvc.attention {{.*}} value(v) score [#kvc.softcap<3.000000e+01>, #kvc.alibi, #kvc.causal] {scale
  %out = kvc.attention %cache at %batch terms(%q * k) value(v)
      score [#kvc.softcap<30.0>, #kvc.alibi, #kvc.causal] {scale = 1.0 : f32}
      : !cache, tensor<?x4x8xf16> -> tensor<?x4x24xf16>
  return %out : tensor<?x4x24xf16>
}

// All that an attention can have, with a static number of tokens; the result may
// have another type than the cache.
// CHECK-LABEL: func.func @attention_of_all_parts
// CHECK-SAME:    %[[Q:[^:]*]]: {{.*}}, %[[SINKS:[^:]*]]: tensor<4xf32>
func.func @attention_of_all_parts(%q: tensor<3x4x8xf16>, %cache: !cache, %batch: !kvc.batch,
                                  %sinks: tensor<4xf32>)
    -> (tensor<3x4x24xf32>, tensor<3x4xf32>) {
  // CHECK: kvc.attention {{.*}} value(v) sinks(%[[SINKS]] : tensor<4xf32>) score [#kvc.causal, #kvc.window<5>, #kvc.softcap<3.000000e+01>] {scale = -1.000000e+00 : f32, schedule = #kvc.gpu_schedule<decode = <form = heads_m, rows = 16, keys = 16, stages = 2, warps = 1, query_tokens = 1>, prefill = <form = heads_m, rows = 16, keys = 16, stages = 2, warps = 1, query_tokens = 1>, split = 64>}
  // CHECK-SAME: tensor<3x4x8xf16> -> tensor<3x4x24xf32>, tensor<3x4xf32>
  %out, %lse = kvc.attention %cache at %batch terms(%q * k) value(v)
      sinks(%sinks : tensor<4xf32>) score [#kvc.causal, #kvc.window<5>, #kvc.softcap<30.0>]
      {scale = -1.0 : f32,
       schedule = #kvc.gpu_schedule<decode = <form = heads_m, rows = 16, keys = 16, stages = 2, warps = 1, query_tokens = 1>, prefill = <form = heads_m, rows = 16, keys = 16, stages = 2, warps = 1, query_tokens = 1>, split = 64>}
      : !cache, tensor<3x4x8xf16> -> tensor<3x4x24xf32>, tensor<3x4xf32>
  return %out, %lse : tensor<3x4x24xf32>, tensor<3x4xf32>
}

// Several terms; one component is both key and value.
// CHECK-LABEL: func.func @terms
// CHECK-SAME:    %[[QC:[^:]*]]: tensor<?x4x16xf16>, %[[QR:[^:]*]]: tensor<?x4x8xf16>
func.func @terms(%qc: tensor<?x4x16xf16>, %qr: tensor<?x4x8xf16>, %cache: !latent,
                 %batch: !kvc.batch) -> tensor<?x4x16xf16> {
  // CHECK: terms(%[[QC]] * c, %[[QR]] * r) value(c) {{.*}}, tensor<?x4x16xf16>, tensor<?x4x8xf16> -> tensor<?x4x16xf16>
  %out = kvc.attention %cache at %batch terms(%qc * c, %qr * r) value(c) {scale = 1.0 : f32}
      : !latent, tensor<?x4x16xf16>, tensor<?x4x8xf16> -> tensor<?x4x16xf16>
  return %out : tensor<?x4x16xf16>
}

// Any number of parts, with and without sinks.
// CHECK-LABEL: func.func @merge
// CHECK-SAME:    %[[OUT:[^:]*]]: tensor<?x4x8xf16>, %[[LSE:[^:]*]]: tensor<?x4xf32>, %[[SINKS:[^:]*]]: tensor<4xf32>
func.func @merge(%out: tensor<?x4x8xf16>, %lse: tensor<?x4xf32>, %sinks: tensor<4xf32>) {
  // CHECK: kvc.merge outputs(%[[OUT]] : tensor<?x4x8xf16>) lses(%[[LSE]] : tensor<?x4xf32>) : tensor<?x4x8xf16>, tensor<?x4xf32>
  %o0, %l0 = kvc.merge outputs(%out : tensor<?x4x8xf16>) lses(%lse : tensor<?x4xf32>)
      : tensor<?x4x8xf16>, tensor<?x4xf32>
  // CHECK: kvc.merge outputs(%[[OUT]], %{{.*}} : tensor<?x4x8xf16>, tensor<?x4x8xf16>)
  // CHECK-SAME: lses(%[[LSE]], %{{.*}} : tensor<?x4xf32>, tensor<?x4xf32>) sinks(%[[SINKS]] : tensor<4xf32>)
  %o1, %l1 = kvc.merge outputs(%out, %o0 : tensor<?x4x8xf16>, tensor<?x4x8xf16>)
      lses(%lse, %l0 : tensor<?x4xf32>, tensor<?x4xf32>) sinks(%sinks : tensor<4xf32>)
      : tensor<?x4x8xf16>, tensor<?x4xf32>
  return
}

// Frequencies of theta or of a table; `half` is the default style.
// CHECK-LABEL: func.func @rope
// CHECK-SAME:    %[[X:[^:]*]]: tensor<?x4x8xbf16>, %[[TABLE:[^:]*]]: tensor<2xf32>
func.func @rope(%x: tensor<?x4x8xbf16>, %table: tensor<2xf32>, %batch: !kvc.batch) {
  // CHECK: kvc.rope %[[X]] at %{{.*}} {rotary_width = 8 : i64, theta = 1.000000e+04 : f64} : tensor<?x4x8xbf16>
  %0 = kvc.rope %x at %batch {theta = 1.0e4 : f64, rotary_width = 8 : i64}
      : tensor<?x4x8xbf16>
  // CHECK: kvc.rope %[[X]] at %{{.*}} frequencies(%[[TABLE]] : tensor<2xf32>) {rotary_width = 4 : i64, style = #kvc<rope_style interleaved>}
  %1 = kvc.rope %x at %batch frequencies(%table : tensor<2xf32>)
      {style = #kvc<rope_style interleaved>, rotary_width = 4 : i64} : tensor<?x4x8xbf16>
  return
}

// One buffer a component in either order, or one for all.
// CHECK-LABEL: func.func @cache_from_buffers
// CHECK-SAME:    %[[K:[^:]*]]: memref<?x16x2x8xf16>, %[[V:[^:]*]]: memref<?x2x16x8xf16,{{.*}}>, %[[KV:[^:]*]]: memref<?x2x16x2x8xf16>
func.func @cache_from_buffers(%k: memref<?x16x2x8xf16>,
                              %v: memref<?x2x16x8xf16, strided<[?, ?, ?, 1], offset: ?>>,
                              %kv: memref<?x2x16x2x8xf16>) {
  // CHECK: kvc.cache_from_buffers %[[K]], %[[K]] order nhd : memref<?x16x2x8xf16>, memref<?x16x2x8xf16> -> !kvc.cache<page = 16, k: 2x8xf16, v: 2x8xf16>
  %0 = kvc.cache_from_buffers %k, %k order nhd : memref<?x16x2x8xf16>, memref<?x16x2x8xf16>
      -> !kvc.cache<page = 16, k: 2x8xf16, v: 2x8xf16>
  // CHECK: kvc.cache_from_buffers %[[V]] order hnd : memref<?x2x16x8xf16, strided<[?, ?, ?, 1], offset: ?>> -> !kvc.cache<page = 16, v: 2x8xf16>
  %1 = kvc.cache_from_buffers %v order hnd
      : memref<?x2x16x8xf16, strided<[?, ?, ?, 1], offset: ?>>
      -> !kvc.cache<page = 16, v: 2x8xf16>
  // CHECK: kvc.cache_from_buffers %[[KV]] order nhd fused : memref<?x2x16x2x8xf16>
  %2 = kvc.cache_from_buffers %kv order nhd fused : memref<?x2x16x2x8xf16>
      -> !kvc.cache<page = 16, k: 2x8xf16, v: 2x8xf16>
  return
}

// Batches of arrays, with the smallest and largest bounds.
// CHECK-LABEL: func.func @batches
func.func @batches(%start: tensor<?xi32>, %lens: tensor<?xi32>, %table: tensor<?x?xi32>,
                   %ids: tensor<?xi32>, %slots: tensor<?xi64>, %pos: tensor<?xi32>) {
  // CHECK: kvc.batch_from_block_table %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}} max_query_len 0 max_kv_len 2147483647 : tensor<?xi32>, tensor<?xi32>, tensor<?x?xi32>, tensor<?xi64>, tensor<?xi32>
  %0 = kvc.batch_from_block_table %start, %lens, %table, %slots, %pos
      max_query_len 0 max_kv_len 2147483647
      : tensor<?xi32>, tensor<?xi32>, tensor<?x?xi32>, tensor<?xi64>, tensor<?xi32>
  // CHECK: kvc.batch_from_csr %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}} max_query_len 1 max_kv_len 64
  %1 = kvc.batch_from_csr %start, %lens, %start, %ids, %slots, %pos
      max_query_len 1 max_kv_len 64
      : tensor<?xi32>, tensor<?xi32>, tensor<?xi32>, tensor<?xi32>, tensor<?xi64>,
        tensor<?xi32>
  return
}

#q = affine_map<(b, h, g, i, j, w) -> (b, h, g, i, w)>
#kv = affine_map<(b, h, g, i, j, w) -> (b, h, j, w)>
#one = affine_map<(b, h, g, i, j, w) -> (j, 0, w)>
#mask = affine_map<(b, h, g, i, j, w) -> (g, i, j)>
#sinks = affine_map<(b, h, g, i, j, w) -> (g, h)>

// The least that an attention on plain tensors has.
// CHECK-LABEL: func.func @dense_attention
// CHECK-SAME:    %[[Q:[^:]*]]: tensor<?x2x4x?x8xf16>, %[[K:[^:]*]]: tensor<?x2x?x8xf16>, %[[V:[^:]*]]: tensor<?x2x?x24xf16>
func.func @dense_attention(%q: tensor<?x2x4x?x8xf16>, %k: tensor<?x2x?x8xf16>,
                           %v: tensor<?x2x?x24xf16>) -> tensor<?x2x4x?x24xf16> {
  // CHECK: kvc.dense_attention terms(%[[Q]] * %[[K]]) value(%[[V]]) maps [#[[$Q]], #[[$KV]], #[[$KV]], #[[$Q]]] {scale = 5.000000e-01 : f32} : (tensor<?x2x4x?x8xf16>, tensor<?x2x?x8xf16>, tensor<?x2x?x24xf16>) -> tensor<?x2x4x?x24xf16>{{$}}
  %out = kvc.dense_attention terms(%q * %k) value(%v) score [] maps [#q, #kv, #kv, #q]
      {scale = 0.5 : f32} : (tensor<?x2x4x?x8xf16>, tensor<?x2x?x8xf16>, tensor<?x2x?x24xf16>)
      -> tensor<?x2x4x?x24xf16>
  return %out : tensor<?x2x4x?x24xf16>
}

// All that it can have: two terms of different widths, keys without heads but a dimension of
// size 1, a mask that is added or one that keeps, sinks and modifiers.
// CHECK-LABEL: func.func @dense_attention_of_all_parts
// CHECK-SAME:    %[[Q0:[^:]*]]: tensor<3x2x4x5x8xf32>, %[[Q1:[^:]*]]: tensor<3x2x4x5x2xf32>, %[[K0:[^:]*]]: tensor<3x2x7x8xf32>, %[[K1:[^:]*]]: tensor<7x1x2xf32>, %[[BIAS:[^:]*]]: tensor<4x5x7xf16>, %[[KEEP:[^:]*]]: tensor<4x5x7xi1>, %[[SINKS:[^:]*]]: tensor<4x2xbf16>
func.func @dense_attention_of_all_parts(%q0: tensor<3x2x4x5x8xf32>, %q1: tensor<3x2x4x5x2xf32>, %k0: tensor<3x2x7x8xf32>,
                                        %k1: tensor<7x1x2xf32>, %bias: tensor<4x5x7xf16>, %keep: tensor<4x5x7xi1>,
                                        %sinks: tensor<4x2xbf16>) {
  // CHECK: kvc.dense_attention terms(%[[Q0]] * %[[K0]], %[[Q1]] * %[[K1]]) value(%[[K0]]) mask(%[[BIAS]]) sinks(%[[SINKS]]) score [#kvc.softcap<3.000000e+01>, #kvc.causal, #kvc.window<5>] maps [#[[$Q]], #[[$KV]], #[[$Q]], #[[$ONE]], #[[$KV]], #[[$MASK]], #[[$SINKS]], #[[$Q]]] {note = "all", scale = -1.000000e+00 : f32}
  %0 = kvc.dense_attention terms(%q0 * %k0, %q1 * %k1) value(%k0) mask(%bias) sinks(%sinks)
      score [#kvc.softcap<30.0>, #kvc.causal, #kvc.window<5>] maps [#q, #kv, #q, #one, #kv, #mask, #sinks, #q]
      {note = "all", scale = -1.0 : f32}
      : (tensor<3x2x4x5x8xf32>, tensor<3x2x4x5x2xf32>, tensor<3x2x7x8xf32>, tensor<7x1x2xf32>, tensor<3x2x7x8xf32>,
         tensor<4x5x7xf16>, tensor<4x2xbf16>) -> tensor<3x2x4x5x8xf32>
  // CHECK: kvc.dense_attention terms(%[[Q0]] * %[[K0]]) value(%[[K0]]) mask(%[[KEEP]]) maps [#[[$Q]], #[[$KV]], #[[$KV]], #[[$MASK]], #[[$Q]]]
  %1 = kvc.dense_attention terms(%q0 * %k0) value(%k0) mask(%keep) maps [#q, #kv, #kv, #mask, #q] {scale = 1.0 : f32}
      : (tensor<3x2x4x5x8xf32>, tensor<3x2x7x8xf32>, tensor<3x2x7x8xf32>, tensor<4x5x7xi1>) -> tensor<3x2x4x5x8xf32>
  return
}

// Positions of some dimensions, or one for the whole; `half` is the default style.
// CHECK-LABEL: func.func @dense_rope
// CHECK-SAME:    %[[X:[^:]*]]: tensor<?x4x?x8xbf16>, %[[P:[^:]*]]: tensor<?x?xi64>, %[[P0:[^:]*]]: tensor<i32>, %[[TABLE:[^:]*]]: tensor<2xf32>
func.func @dense_rope(%x: tensor<?x4x?x8xbf16>, %p: tensor<?x?xi64>, %p0: tensor<i32>, %table: tensor<2xf32>) {
  // CHECK: kvc.dense_rope %[[X]] positions(%[[P]]) {position_dims = array<i64: 0, 2>, rotary_width = 8 : i64, theta = 1.000000e+04 : f64} : tensor<?x4x?x8xbf16>, tensor<?x?xi64>{{$}}
  %0 = kvc.dense_rope %x positions(%p) {position_dims = array<i64: 0, 2>, rotary_width = 8 : i64, theta = 1.0e4 : f64}
      : tensor<?x4x?x8xbf16>, tensor<?x?xi64>
  // CHECK: kvc.dense_rope %[[X]] positions(%[[P0]]) frequencies(%[[TABLE]] : tensor<2xf32>) {position_dims = array<i64>, rotary_width = 4 : i64, style = #kvc<rope_style interleaved>} : tensor<?x4x?x8xbf16>, tensor<i32>
  %1 = kvc.dense_rope %x positions(%p0) frequencies(%table : tensor<2xf32>)
      {position_dims = array<i64>, rotary_width = 4 : i64, style = #kvc<rope_style interleaved>} : tensor<?x4x?x8xbf16>, tensor<i32>
  return
}
