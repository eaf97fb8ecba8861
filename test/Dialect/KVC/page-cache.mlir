// RUN: kvc-opt %s -kvc-page-cache -split-input-file | FileCheck %s
// RUN: kvc-opt %s -kvc-page-cache=page=64 -split-input-file | FileCheck %s --check-prefix=PAGE
// RUN: kvc-opt %s -kvc-page-cache -split-input-file -o /dev/null \
// RUN:   -remark-policy=all -remarks-filter='kvc-page-cache' 2>&1 \
// RUN:   | FileCheck %s --check-prefix=REMARK
// RUN: not kvc-opt %s -kvc-page-cache=page=0 -split-input-file 2>&1 \
// RUN:   | FileCheck %s --check-prefix=ERROR

// ERROR: error: expected a page of 1 to 2147483647 tokens, got 0

#q = affine_map<(b, h, g, i, j, w) -> (b, i, h, g, w)>
#kv = affine_map<(b, h, g, i, j, w) -> (b, h, j, w)>

// Without a past the new tokens are all there are. All rows of a token come together, heads
// that share a KV head beside each other; the result is as it was.
// CHECK-LABEL: func.func @prefill(
// CHECK-SAME:    %[[X:[^:]*]]: tensor<?x?x48x128xbf16>,
// CHECK-SAME:    %[[CACHE:[^:]*]]: !kvc.cache<page = 16, k: 8x128xbf16, v: 8x128xbf16> {kvc.cache = "k+v"},
// CHECK-SAME:    %[[BATCH:[^:]*]]: !kvc.batch) -> tensor<?x?x8x4x128xbf16> {
// CHECK:         %[[K:.*]] = linalg.transpose {{.*}} permutation = [0, 2, 1, 3]
// CHECK:         %[[V:.*]] = linalg.transpose {{.*}} permutation = [0, 2, 1, 3]
// CHECK:         %[[K_T:.*]] = linalg.transpose ins(%[[K]] : {{.*}} permutation = [0, 2, 1, 3]
// CHECK:         %[[K_ROWS:.*]] = tensor.collapse_shape %[[K_T]] {{\[\[}}0, 1], [2], [3]] : tensor<?x?x8x128xbf16> into tensor<?x8x128xbf16>
// CHECK:         %[[V_T:.*]] = linalg.transpose ins(%[[V]] :
// CHECK:         %[[V_ROWS:.*]] = tensor.collapse_shape %[[V_T]]
// CHECK:         kvc.append %[[CACHE]][k: %[[K_ROWS]], v: %[[V_ROWS]]] at %[[BATCH]]
// CHECK:         %[[Q_ROWS:.*]] = tensor.collapse_shape %{{.*}} {{\[\[}}0, 1], [2, 3], [4]] : tensor<?x?x8x4x128xbf16> into tensor<?x32x128xbf16>
// CHECK:         %[[ROWS:.*]] = kvc.attention %[[CACHE]] at %[[BATCH]] terms(%[[Q_ROWS]] * k) value(v) score [#kvc.causal] {scale = 1.250000e-01 : f32}
// CHECK:         %[[OUT:.*]] = tensor.expand_shape %[[ROWS]] {{\[\[}}0, 1], [2, 3], [4]] {{.*}} : tensor<?x32x128xbf16> into tensor<?x?x8x4x128xbf16>
// CHECK:         return %[[OUT]] : tensor<?x?x8x4x128xbf16>
// PAGE-LABEL: func.func @prefill(
// PAGE-SAME:    !kvc.cache<page = 64, k: 8x128xbf16, v: 8x128xbf16>
// REMARK: [Passed] PagedCache | Category:kvc-page-cache {{.*}}"cache 'k' paged: 8 x 128 elements a token"
// REMARK: [Passed] PagedCache | Category:kvc-page-cache {{.*}}"cache 'v' paged: 8 x 128 elements a token"
func.func @prefill(%x: tensor<?x?x48x128xbf16>)
    -> (tensor<?x?x8x4x128xbf16>, tensor<?x8x?x128xbf16> {kvc.cache = "k"},
        tensor<?x8x?x128xbf16> {kvc.cache = "v"}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %b = tensor.dim %x, %c0 : tensor<?x?x48x128xbf16>
  %t = tensor.dim %x, %c1 : tensor<?x?x48x128xbf16>
  %q_part = tensor.extract_slice %x[0, 0, 0, 0] [%b, %t, 32, 128] [1, 1, 1, 1] : tensor<?x?x48x128xbf16> to tensor<?x?x32x128xbf16>
  %k_part = tensor.extract_slice %x[0, 0, 32, 0] [%b, %t, 8, 128] [1, 1, 1, 1] : tensor<?x?x48x128xbf16> to tensor<?x?x8x128xbf16>
  %v_part = tensor.extract_slice %x[0, 0, 40, 0] [%b, %t, 8, 128] [1, 1, 1, 1] : tensor<?x?x48x128xbf16> to tensor<?x?x8x128xbf16>
  %q = tensor.expand_shape %q_part [[0], [1], [2, 3], [4]] output_shape [%b, %t, 8, 4, 128] : tensor<?x?x32x128xbf16> into tensor<?x?x8x4x128xbf16>
  %empty = tensor.empty(%b, %t) : tensor<?x8x?x128xbf16>
  %k = linalg.transpose ins(%k_part : tensor<?x?x8x128xbf16>) outs(%empty : tensor<?x8x?x128xbf16>) permutation = [0, 2, 1, 3]
  %v = linalg.transpose ins(%v_part : tensor<?x?x8x128xbf16>) outs(%empty : tensor<?x8x?x128xbf16>) permutation = [0, 2, 1, 3]
  %o = kvc.dense_attention terms(%q * %k) value(%v) score [#kvc.causal]
      maps [#q, #kv, #kv, #q] {scale = 0.125 : f32}
      : (tensor<?x?x8x4x128xbf16>, tensor<?x8x?x128xbf16>, tensor<?x8x?x128xbf16>) -> tensor<?x?x8x4x128xbf16>
  return %o, %k, %v : tensor<?x?x8x4x128xbf16>, tensor<?x8x?x128xbf16>, tensor<?x8x?x128xbf16>
}

#q1 = affine_map<(b, h, g, i, j, w) -> (b, h, g, 0, w)>
#o1 = affine_map<(b, h, g, i, j, w) -> (b, h, g, w)>

// Another function of the module, which adds a token to the past: the past is gone.
// CHECK-LABEL: func.func @decode(
// CHECK-SAME:    %[[Q:[^:]*]]: tensor<?x8x4x1x128xbf16>, %[[K:[^:]*]]: tensor<?x8x1x128xbf16>, %[[V:[^:]*]]: tensor<?x8x1x128xbf16>,
// CHECK-SAME:    %[[CACHE:[^:]*]]: !kvc.cache<page = 16, k: 8x128xbf16, v: 8x128xbf16> {kvc.cache = "k+v"}, %[[BATCH:[^:]*]]: !kvc.batch) -> (tensor<?x8x4x128xbf16>, index) {
// CHECK-NOT:     tensor.concat
// CHECK:         %[[SIZE:.*]] = tensor.dim %[[Q]], %
// CHECK:         kvc.append %[[CACHE]][k: %{{.*}}, v: %{{.*}}] at %[[BATCH]]
// CHECK:         %[[Q_ROWS:.*]] = tensor.collapse_shape %{{.*}} : tensor<?x1x8x4x128xbf16> into tensor<?x32x128xbf16>
// CHECK:         %[[ROWS:.*]] = kvc.attention %[[CACHE]] at %[[BATCH]] terms(%[[Q_ROWS]] * k) value(v)
// CHECK:         %[[OUT:.*]] = tensor.expand_shape %[[ROWS]] {{\[\[}}0], [1, 2], [3]]
// CHECK:         return %[[OUT]], %[[SIZE]] : tensor<?x8x4x128xbf16>, index
func.func @decode(%q: tensor<?x8x4x1x128xbf16>, %new_k: tensor<?x8x1x128xbf16>, %new_v: tensor<?x8x1x128xbf16>,
                  %past_k: tensor<?x8x?x128xbf16> {kvc.cache = "k"}, %past_v: tensor<?x8x?x128xbf16> {kvc.cache = "v"})
    -> (tensor<?x8x4x128xbf16>, tensor<?x8x?x128xbf16> {kvc.cache = "k"},
        tensor<?x8x?x128xbf16> {kvc.cache = "v"}, index) {
  %c0 = arith.constant 0 : index
  // A size that others have too.
  %b = tensor.dim %past_k, %c0 : tensor<?x8x?x128xbf16>
  %k = tensor.concat dim(2) %past_k, %new_k : (tensor<?x8x?x128xbf16>, tensor<?x8x1x128xbf16>) -> tensor<?x8x?x128xbf16>
  %v = tensor.concat dim(2) %past_v, %new_v : (tensor<?x8x?x128xbf16>, tensor<?x8x1x128xbf16>) -> tensor<?x8x?x128xbf16>
  %o = kvc.dense_attention terms(%q * %k) value(%v) score [#kvc.causal]
      maps [#q1, #kv, #kv, #o1] {scale = 0.125 : f32}
      : (tensor<?x8x4x1x128xbf16>, tensor<?x8x?x128xbf16>, tensor<?x8x?x128xbf16>) -> tensor<?x8x4x128xbf16>
  return %o, %k, %v, %b : tensor<?x8x4x128xbf16>, tensor<?x8x?x128xbf16>, tensor<?x8x?x128xbf16>, index
}

// -----

#q = affine_map<(b, h, g, i, j, w) -> (b, h, 0, w)>
#kv = affine_map<(b, h, g, i, j, w) -> (b, h, j, w)>

// A cache with room, into which the new token is written at its position; attention reads
// the tokens that there are. The argument of positions has no use left.
// CHECK-LABEL: func.func @static_cache(
// CHECK-SAME:    %[[Q:[^:]*]]: tensor<2x8x1x16xf32>, %[[K:[^:]*]]: tensor<2x8x1x16xf32>, %[[V:[^:]*]]: tensor<2x8x16xf32>,
// CHECK-SAME:    %[[CACHE:[^:]*]]: !kvc.cache<page = 16, k: 8x16xf32, v: 8x16xf32> {{.*}}, %[[BATCH:[^:]*]]: !kvc.batch) -> tensor<2x8x1x16xf32> {
// CHECK-NOT:     tensor.insert_slice
// CHECK:         %[[K_ROWS:.*]] = tensor.collapse_shape %{{.*}} : tensor<2x1x8x16xf32> into tensor<2x8x16xf32>
// CHECK:         kvc.append %[[CACHE]][k: %[[K_ROWS]], v: %[[V]]] at %[[BATCH]]
// CHECK:         kvc.attention %[[CACHE]] at %[[BATCH]] terms(%{{.*}} * k) value(v)
func.func @static_cache(%q: tensor<2x8x1x16xf32>, %new_k: tensor<2x8x1x16xf32>, %new_v: tensor<2x8x16xf32>,
                        %positions: tensor<2x1xi64> {kvc.positions},
                        %past_k: tensor<2x8x64x16xf32> {kvc.cache = "k"}, %past_v: tensor<2x8x64x16xf32> {kvc.cache = "v"})
    -> (tensor<2x8x1x16xf32>, tensor<2x8x64x16xf32> {kvc.cache = "k"}, tensor<2x8x64x16xf32> {kvc.cache = "v"}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %first = tensor.extract %positions[%c0, %c0] : tensor<2x1xi64>
  %past = arith.index_cast %first : i64 to index
  %all = arith.addi %past, %c1 : index
  %k = tensor.insert_slice %new_k into %past_k[0, 0, %past, 0] [2, 8, 1, 16] [1, 1, 1, 1] : tensor<2x8x1x16xf32> into tensor<2x8x64x16xf32>
  %v = tensor.insert_slice %new_v into %past_v[0, 0, %past, 0] [2, 8, 1, 16] [1, 1, 1, 1] : tensor<2x8x16xf32> into tensor<2x8x64x16xf32>
  %keys = tensor.extract_slice %k[0, 0, 0, 0] [2, 8, %all, 16] [1, 1, 1, 1] : tensor<2x8x64x16xf32> to tensor<2x8x?x16xf32>
  %values = tensor.extract_slice %v[0, 0, 0, 0] [2, 8, %all, 16] [1, 1, 1, 1] : tensor<2x8x64x16xf32> to tensor<2x8x?x16xf32>
  %o = kvc.dense_attention terms(%q * %keys) value(%values) score [#kvc.causal]
      maps [#q, #kv, #kv, #q] {scale = 0.25 : f32}
      : (tensor<2x8x1x16xf32>, tensor<2x8x?x16xf32>, tensor<2x8x?x16xf32>) -> tensor<2x8x1x16xf32>
  return %o, %k, %v : tensor<2x8x1x16xf32>, tensor<2x8x64x16xf32>, tensor<2x8x64x16xf32>
}

#i = affine_map<(b, h, g, i, j, w) -> (b, h, i, w)>

// A prompt in such a cache, at its beginning.
// CHECK-LABEL: func.func @static_prompt(
// CHECK-SAME:    -> tensor<2x8x?x16xf32> {
// CHECK-NOT:     tensor.insert_slice
// CHECK:         kvc.append
// CHECK:         kvc.attention
func.func @static_prompt(%x: tensor<2x8x?x48xf32>)
    -> (tensor<2x8x?x16xf32>, tensor<2x8x64x16xf32> {kvc.cache = "k"}, tensor<2x8x64x16xf32> {kvc.cache = "v"}) {
  %c2 = arith.constant 2 : index
  %zero = arith.constant 0.0 : f32
  %t = tensor.dim %x, %c2 : tensor<2x8x?x48xf32>
  %q = tensor.extract_slice %x[0, 0, 0, 0] [2, 8, %t, 16] [1, 1, 1, 1] : tensor<2x8x?x48xf32> to tensor<2x8x?x16xf32>
  %new_k = tensor.extract_slice %x[0, 0, 0, 16] [2, 8, %t, 16] [1, 1, 1, 1] : tensor<2x8x?x48xf32> to tensor<2x8x?x16xf32>
  %new_v = tensor.extract_slice %x[0, 0, 0, 32] [2, 8, %t, 16] [1, 1, 1, 1] : tensor<2x8x?x48xf32> to tensor<2x8x?x16xf32>
  %empty = tensor.empty() : tensor<2x8x64x16xf32>
  %room = linalg.fill ins(%zero : f32) outs(%empty : tensor<2x8x64x16xf32>) -> tensor<2x8x64x16xf32>
  %k = tensor.insert_slice %new_k into %room[0, 0, 0, 0] [2, 8, %t, 16] [1, 1, 1, 1] : tensor<2x8x?x16xf32> into tensor<2x8x64x16xf32>
  %v = tensor.insert_slice %new_v into %empty[0, 0, 0, 0] [2, 8, %t, 16] [1, 1, 1, 1] : tensor<2x8x?x16xf32> into tensor<2x8x64x16xf32>
  %o = kvc.dense_attention terms(%q * %new_k) value(%new_v) score [#kvc.causal]
      maps [#i, #kv, #kv, #i] {scale = 0.25 : f32}
      : (tensor<2x8x?x16xf32>, tensor<2x8x?x16xf32>, tensor<2x8x?x16xf32>) -> tensor<2x8x?x16xf32>
  return %o, %k, %v : tensor<2x8x?x16xf32>, tensor<2x8x64x16xf32>, tensor<2x8x64x16xf32>
}

// -----

#q = affine_map<(b, h, g, i, j, w) -> (b, g, w)>
#kv = affine_map<(b, h, g, i, j, w) -> (b, j, w)>
#s = affine_map<(b, h, g, i, j, w) -> (g)>

// Past and new tokens are copied into an empty tensor; a single KV head has no dimension.
// Sinks are by query head, in f32.
// CHECK-LABEL: func.func @one_head(
// CHECK-SAME:    %[[Q:[^:]*]]: tensor<?x4x32xf16>, %[[K:[^:]*]]: tensor<?x1x32xf16>, %[[V:[^:]*]]: tensor<?x1x64xf16>, %[[SINKS:[^:]*]]: tensor<4xf16>,
// CHECK-SAME:    %[[CACHE:[^:]*]]: !kvc.cache<page = 16, k: 1x32xf16, v: 1x64xf16>
// CHECK-NOT:     tensor.insert_slice
// CHECK:         %[[K_ROWS:.*]] = tensor.collapse_shape %{{.*}} {{\[\[}}0, 1], [2], [3]] : tensor<?x1x1x32xf16> into tensor<?x1x32xf16>
// CHECK:         kvc.append %[[CACHE]][k: %[[K_ROWS]], v: %{{.*}}]
// CHECK:         %[[F32:.*]] = arith.extf %{{.*}} : tensor<4xf16> to tensor<4xf32>
// CHECK:         kvc.attention %[[CACHE]] at %{{.*}} terms(%[[Q]] * k) value(v) sinks(%[[F32]] : tensor<4xf32>)
// CHECK-SAME:      tensor<?x4x32xf16> -> tensor<?x4x64xf16>
func.func @one_head(%q: tensor<?x4x32xf16>, %new_k: tensor<?x1x32xf16>, %new_v: tensor<?x1x64xf16>, %sinks: tensor<4xf16>,
                    %past_k: tensor<?x?x32xf16> {kvc.cache = "k"}, %past_v: tensor<?x?x64xf16> {kvc.cache = "v"})
    -> (tensor<?x4x64xf16>, tensor<?x?x32xf16> {kvc.cache = "k"}, tensor<?x?x64xf16> {kvc.cache = "v"}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %b = tensor.dim %q, %c0 : tensor<?x4x32xf16>
  %past = tensor.dim %past_k, %c1 : tensor<?x?x32xf16>
  %all = arith.addi %past, %c1 : index
  %k0 = tensor.empty(%b, %all) : tensor<?x?x32xf16>
  %k1 = tensor.insert_slice %past_k into %k0[0, 0, 0] [%b, %past, 32] [1, 1, 1] : tensor<?x?x32xf16> into tensor<?x?x32xf16>
  %k = tensor.insert_slice %new_k into %k1[0, %past, 0] [%b, 1, 32] [1, 1, 1] : tensor<?x1x32xf16> into tensor<?x?x32xf16>
  %v0 = tensor.empty(%b, %all) : tensor<?x?x64xf16>
  // In the other order.
  %v1 = tensor.insert_slice %new_v into %v0[0, %past, 0] [%b, 1, 64] [1, 1, 1] : tensor<?x1x64xf16> into tensor<?x?x64xf16>
  %v = tensor.insert_slice %past_v into %v1[0, 0, 0] [%b, %past, 64] [1, 1, 1] : tensor<?x?x64xf16> into tensor<?x?x64xf16>
  %o = kvc.dense_attention terms(%q * %k) value(%v) sinks(%sinks) score [#kvc.causal, #kvc.window<32>]
      maps [#q, #kv, #kv, #s, #q] {scale = 0.5 : f32}
      : (tensor<?x4x32xf16>, tensor<?x?x32xf16>, tensor<?x?x64xf16>, tensor<4xf16>) -> tensor<?x4x64xf16>
  return %o, %k, %v : tensor<?x4x64xf16>, tensor<?x?x32xf16>, tensor<?x?x64xf16>
}

// -----

#q = affine_map<(b, h, g, i, j, w) -> (b, h, w)>
#kv = affine_map<(b, h, g, i, j, w) -> (b, j, w)>

// Latent attention: two terms, and the first component is the value too. The names share
// their first part.
// CHECK-LABEL: func.func @latent(
// CHECK-SAME:    !kvc.cache<page = 16, c: 1x64xbf16, r: 1x16xbf16> {kvc.cache = "layers.0"}
// CHECK:         kvc.append %{{.*}}[c: %{{.*}}, r: %{{.*}}]
// CHECK:         kvc.attention %{{.*}} at %{{.*}} terms(%{{.*}} * c, %{{.*}} * r) value(c)
func.func @latent(%qc: tensor<?x4x64xbf16>, %qr: tensor<?x4x16xbf16>, %new_c: tensor<?x1x64xbf16>, %new_r: tensor<?x1x16xbf16>,
                  %past_c: tensor<?x?x64xbf16> {kvc.cache = "layers.0.c"}, %past_r: tensor<?x?x16xbf16> {kvc.cache = "layers.0.r"})
    -> (tensor<?x4x64xbf16>, tensor<?x?x64xbf16> {kvc.cache = "layers.0.c"}, tensor<?x?x16xbf16> {kvc.cache = "layers.0.r"}) {
  %c = tensor.concat dim(1) %past_c, %new_c : (tensor<?x?x64xbf16>, tensor<?x1x64xbf16>) -> tensor<?x?x64xbf16>
  %r = tensor.concat dim(1) %past_r, %new_r : (tensor<?x?x16xbf16>, tensor<?x1x16xbf16>) -> tensor<?x?x16xbf16>
  %o = kvc.dense_attention terms(%qc * %c, %qr * %r) value(%c) score [#kvc.causal]
      maps [#q, #kv, #q, #kv, #kv, #q] {scale = 0.125 : f32}
      : (tensor<?x4x64xbf16>, tensor<?x4x16xbf16>, tensor<?x?x64xbf16>, tensor<?x?x16xbf16>, tensor<?x?x64xbf16>) -> tensor<?x4x64xbf16>
  return %o, %c, %r : tensor<?x4x64xbf16>, tensor<?x?x64xbf16>, tensor<?x?x16xbf16>
}

// -----

#q = affine_map<(b, h, g, i, j, w) -> (b, h, w)>
#kv = affine_map<(b, h, g, i, j, w) -> (b, j, w)>

// Two layers: a cache each, and one batch.
// CHECK-LABEL: func.func @layers(
// CHECK-SAME:    !kvc.cache<page = 16, kv: 1x16xf16> {kvc.cache = "0"}, %{{[^:]*}}: !kvc.cache<page = 16, kv: 1x16xf16> {kvc.cache = "1"}, %{{[^:]*}}: !kvc.batch)
// CHECK:         kvc.append
// CHECK:         %[[FIRST:.*]] = kvc.attention
// CHECK:         kvc.append
// CHECK:         kvc.attention %{{.*}} at %{{.*}} terms(%[[FIRST]] * kv) value(kv)
func.func @layers(%q: tensor<?x1x16xf16>, %new: tensor<?x1x16xf16>,
                  %past0: tensor<?x?x16xf16> {kvc.cache = "0.kv"}, %past1: tensor<?x?x16xf16> {kvc.cache = "1.kv"})
    -> (tensor<?x1x16xf16>, tensor<?x?x16xf16> {kvc.cache = "0.kv"}, tensor<?x?x16xf16> {kvc.cache = "1.kv"}) {
  %kv0 = tensor.concat dim(1) %past0, %new : (tensor<?x?x16xf16>, tensor<?x1x16xf16>) -> tensor<?x?x16xf16>
  %o0 = kvc.dense_attention terms(%q * %kv0) value(%kv0) score [#kvc.causal]
      maps [#q, #kv, #kv, #q] {scale = 0.125 : f32} : (tensor<?x1x16xf16>, tensor<?x?x16xf16>, tensor<?x?x16xf16>) -> tensor<?x1x16xf16>
  %kv1 = tensor.concat dim(1) %past1, %o0 : (tensor<?x?x16xf16>, tensor<?x1x16xf16>) -> tensor<?x?x16xf16>
  %o1 = kvc.dense_attention terms(%o0 * %kv1) value(%kv1) score [#kvc.causal]
      maps [#q, #kv, #kv, #q] {scale = 0.125 : f32} : (tensor<?x1x16xf16>, tensor<?x?x16xf16>, tensor<?x?x16xf16>) -> tensor<?x1x16xf16>
  return %o1, %kv0, %kv1 : tensor<?x1x16xf16>, tensor<?x?x16xf16>, tensor<?x?x16xf16>
}

// -----

#q = affine_map<(b, h, g, i, j, w) -> (b, h, i, w)>
#kv = affine_map<(b, h, g, i, j, w) -> (b, j, h, w)>

// Rotary embeddings at the tokens' positions are at the batch's. The heads of keys are cached
// in one dimension with the width, and attention takes it apart.
// CHECK-LABEL: func.func @ropes(
// CHECK-SAME:    %[[Q:[^:]*]]: tensor<?x2x3x16xf16>, %[[K:[^:]*]]: tensor<?x3x2x16xf16>, %[[CACHE:[^:]*]]: !kvc.cache<page = 16, kv: 2x16xf16> {kvc.cache = "kv"}, %[[BATCH:[^:]*]]: !kvc.batch)
// CHECK:         kvc.rope %{{.*}} at %[[BATCH]] {rotary_width = 16 : i64, theta = 1.000000e+04 : f64} : tensor<?x2x16xf16>
// CHECK:         kvc.rope %{{.*}} at %[[BATCH]] {rotary_width = 8 : i64, style = {{.*}}interleaved{{.*}}, theta = 1.000000e+04 : f64} : tensor<?x2x16xf16>
// CHECK:         kvc.append %[[CACHE]][kv: %{{.*}}] at %[[BATCH]]
// CHECK:         kvc.attention
// CHECK-NOT:     dense_rope
func.func @ropes(%q0: tensor<?x2x3x16xf16>, %k0: tensor<?x3x2x16xf16>, %positions: tensor<?x3xi64> {kvc.positions},
                 %past: tensor<?x?x32xf16> {kvc.cache = "kv"})
    -> (tensor<?x2x3x16xf16>, tensor<?x?x32xf16> {kvc.cache = "kv"}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %b = tensor.dim %q0, %c0 : tensor<?x2x3x16xf16>
  %q = kvc.dense_rope %q0 positions(%positions) {position_dims = array<i64: 0, 2>, rotary_width = 16 : i64, theta = 1.0e4 : f64} : tensor<?x2x3x16xf16>, tensor<?x3xi64>
  %k1 = kvc.dense_rope %k0 positions(%positions) {position_dims = array<i64: 0, 1>, rotary_width = 8 : i64, style = #kvc<rope_style interleaved>, theta = 1.0e4 : f64} : tensor<?x3x2x16xf16>, tensor<?x3xi64>
  %new = tensor.collapse_shape %k1 [[0], [1], [2, 3]] : tensor<?x3x2x16xf16> into tensor<?x3x32xf16>
  %kv = tensor.concat dim(1) %past, %new : (tensor<?x?x32xf16>, tensor<?x3x32xf16>) -> tensor<?x?x32xf16>
  %all = tensor.dim %kv, %c1 : tensor<?x?x32xf16>
  %heads = tensor.expand_shape %kv [[0], [1], [2, 3]] output_shape [%b, %all, 2, 16] : tensor<?x?x32xf16> into tensor<?x?x2x16xf16>
  %o = kvc.dense_attention terms(%q * %heads) value(%heads) score [#kvc.causal]
      maps [#q, #kv, #kv, #q] {scale = 0.25 : f32} : (tensor<?x2x3x16xf16>, tensor<?x?x2x16xf16>, tensor<?x?x2x16xf16>) -> tensor<?x2x3x16xf16>
  return %o, %kv : tensor<?x2x3x16xf16>, tensor<?x?x32xf16>
}

// -----

#q = affine_map<(b, h, g, i, j, w) -> (b, h, w)>
#kv = affine_map<(b, h, g, i, j, w) -> (b, j, w)>

// Positions that are not those of the tokens stay, and with them the rotary embedding.
// CHECK-LABEL: func.func @negative_positions(
// CHECK-SAME:    %[[Q:[^:]*]]: tensor<?x1x16xf16>, %{{[^:]*}}: tensor<?x1x16xf16>, %[[P:[^:]*]]: tensor<?xi64>, %[[CACHE:[^:]*]]: !kvc.cache
// CHECK:         kvc.dense_rope %[[Q]] positions(%[[P]])
// CHECK:         kvc.attention %[[CACHE]]
// REMARK: [Missed] PagedRope {{.*}}"rope stays on tensors: it is not at the positions of the new tokens, one head after the other"
func.func @negative_positions(%q0: tensor<?x1x16xf16>, %new: tensor<?x1x16xf16>, %positions: tensor<?xi64>, %past: tensor<?x?x16xf16> {kvc.cache = "kv"})
    -> (tensor<?x1x16xf16>, tensor<?x?x16xf16> {kvc.cache = "kv"}) {
  %q = kvc.dense_rope %q0 positions(%positions) {position_dims = array<i64: 0>, rotary_width = 16 : i64, theta = 1.0e4 : f64} : tensor<?x1x16xf16>, tensor<?xi64>
  %kv = tensor.concat dim(1) %past, %new : (tensor<?x?x16xf16>, tensor<?x1x16xf16>) -> tensor<?x?x16xf16>
  %o = kvc.dense_attention terms(%q * %kv) value(%kv) score [#kvc.causal]
      maps [#q, #kv, #kv, #q] {scale = 0.125 : f32} : (tensor<?x1x16xf16>, tensor<?x?x16xf16>, tensor<?x?x16xf16>) -> tensor<?x1x16xf16>
  return %o, %kv : tensor<?x1x16xf16>, tensor<?x?x16xf16>
}

// -----

#q = affine_map<(b, h, g, i, j, w) -> (b, h, w)>
#kv = affine_map<(b, h, g, i, j, w) -> (b, j, w)>
#m = affine_map<(b, h, g, i, j, w) -> (b, j)>

// A mask that is a tensor.
// CHECK-LABEL: func.func @negative_mask(
// CHECK-SAME:    tensor<?x?x16xf16> {kvc.cache = "kv"})
// CHECK:         kvc.dense_attention
// REMARK: "cache 'kv' not paged: attention over it has a mask that is a tensor"
func.func @negative_mask(%q: tensor<?x1x16xf16>, %new: tensor<?x1x16xf16>, %mask: tensor<?x?xi1>, %past: tensor<?x?x16xf16> {kvc.cache = "kv"})
    -> (tensor<?x1x16xf16>, tensor<?x?x16xf16> {kvc.cache = "kv"}) {
  %kv = tensor.concat dim(1) %past, %new : (tensor<?x?x16xf16>, tensor<?x1x16xf16>) -> tensor<?x?x16xf16>
  %o = kvc.dense_attention terms(%q * %kv) value(%kv) mask(%mask)
      maps [#q, #kv, #kv, #m, #q] {scale = 0.125 : f32} : (tensor<?x1x16xf16>, tensor<?x?x16xf16>, tensor<?x?x16xf16>, tensor<?x?xi1>) -> tensor<?x1x16xf16>
  return %o, %kv : tensor<?x1x16xf16>, tensor<?x?x16xf16>
}

// -----

#q = affine_map<(b, h, g, i, j, w) -> (b, h, w)>
#kv = affine_map<(b, h, g, i, j, w) -> (b, j, w)>

// Its length is asked for.
// CHECK-LABEL: func.func @negative_length(
// CHECK:         kvc.dense_attention
// REMARK: "cache 'kv' not paged: 'tensor.dim' asks how many tokens it holds"
func.func @negative_length(%q: tensor<?x1x16xf16>, %new: tensor<?x1x16xf16>, %past: tensor<?x?x16xf16> {kvc.cache = "kv"})
    -> (tensor<?x1x16xf16>, tensor<?x?x16xf16> {kvc.cache = "kv"}, index) {
  %c1 = arith.constant 1 : index
  %kv = tensor.concat dim(1) %past, %new : (tensor<?x?x16xf16>, tensor<?x1x16xf16>) -> tensor<?x?x16xf16>
  %o = kvc.dense_attention terms(%q * %kv) value(%kv)
      maps [#q, #kv, #kv, #q] {scale = 0.125 : f32} : (tensor<?x1x16xf16>, tensor<?x?x16xf16>, tensor<?x?x16xf16>) -> tensor<?x1x16xf16>
  %t = tensor.dim %past, %c1 : tensor<?x?x16xf16>
  return %o, %kv, %t : tensor<?x1x16xf16>, tensor<?x?x16xf16>, index
}

// -----

#q = affine_map<(b, h, g, i, j, w) -> (b, h, w)>
#kv = affine_map<(b, h, g, i, j, w) -> (b, j, w)>

// Its tokens are used by something else; the other cache of the attention stays too.
// CHECK-LABEL: func.func @negative_use(
// CHECK:         kvc.dense_attention
// REMARK: "cache 'k' not paged: 'math.tanh' uses it too"
// REMARK: "cache 'v' not paged: attention reads it with cache 'k'"
func.func @negative_use(%q: tensor<?x1x16xf16>, %new: tensor<?x1x16xf16>,
                        %past_k: tensor<?x?x16xf16> {kvc.cache = "k"}, %past_v: tensor<?x?x16xf16> {kvc.cache = "v"})
    -> (tensor<?x1x16xf16>, tensor<?x?x16xf16> {kvc.cache = "k"}, tensor<?x?x16xf16> {kvc.cache = "v"}, tensor<?x?x16xf16>) {
  %k = tensor.concat dim(1) %past_k, %new : (tensor<?x?x16xf16>, tensor<?x1x16xf16>) -> tensor<?x?x16xf16>
  %v = tensor.concat dim(1) %past_v, %new : (tensor<?x?x16xf16>, tensor<?x1x16xf16>) -> tensor<?x?x16xf16>
  %o = kvc.dense_attention terms(%q * %k) value(%v)
      maps [#q, #kv, #kv, #q] {scale = 0.125 : f32} : (tensor<?x1x16xf16>, tensor<?x?x16xf16>, tensor<?x?x16xf16>) -> tensor<?x1x16xf16>
  %t = math.tanh %k : tensor<?x?x16xf16>
  return %o, %k, %v, %t : tensor<?x1x16xf16>, tensor<?x?x16xf16>, tensor<?x?x16xf16>, tensor<?x?x16xf16>
}

// -----

#q = affine_map<(b, h, g, i, j, w) -> (b, h, w)>
#kv = affine_map<(b, h, g, i, j, w) -> (b, j, w)>

// It is another result as well.
// CHECK-LABEL: func.func @negative_returned(
// CHECK:         kvc.dense_attention
// REMARK: "cache 'kv' not paged: 'func.return' uses it too"
func.func @negative_returned(%q: tensor<?x1x16xf16>, %new: tensor<?x1x16xf16>, %past: tensor<?x?x16xf16> {kvc.cache = "kv"})
    -> (tensor<?x1x16xf16>, tensor<?x?x16xf16> {kvc.cache = "kv"}, tensor<?x?x16xf16>) {
  %kv = tensor.concat dim(1) %past, %new : (tensor<?x?x16xf16>, tensor<?x1x16xf16>) -> tensor<?x?x16xf16>
  %o = kvc.dense_attention terms(%q * %kv) value(%kv)
      maps [#q, #kv, #kv, #q] {scale = 0.125 : f32} : (tensor<?x1x16xf16>, tensor<?x?x16xf16>, tensor<?x?x16xf16>) -> tensor<?x1x16xf16>
  return %o, %kv, %kv : tensor<?x1x16xf16>, tensor<?x?x16xf16>, tensor<?x?x16xf16>
}

// -----

#q = affine_map<(b, h, g, i, j, w) -> (b, h, w)>
#kv = affine_map<(b, h, g, i, j, w) -> (b, j, w)>

// What !kvc.cache refuses.
// CHECK-LABEL: func.func @negative_width(
// CHECK:         kvc.dense_attention
// REMARK: "cache 'kv' not paged: expected component 'kv' to have a width that is a multiple of 8 from 8 to 576, got 12"
func.func @negative_width(%q: tensor<?x1x12xf16>, %new: tensor<?x1x12xf16>, %past: tensor<?x?x12xf16> {kvc.cache = "kv"})
    -> (tensor<?x1x12xf16>, tensor<?x?x12xf16> {kvc.cache = "kv"}) {
  %kv = tensor.concat dim(1) %past, %new : (tensor<?x?x12xf16>, tensor<?x1x12xf16>) -> tensor<?x?x12xf16>
  %o = kvc.dense_attention terms(%q * %kv) value(%kv)
      maps [#q, #kv, #kv, #q] {scale = 0.125 : f32} : (tensor<?x1x12xf16>, tensor<?x?x12xf16>, tensor<?x?x12xf16>) -> tensor<?x1x12xf16>
  return %o, %kv : tensor<?x1x12xf16>, tensor<?x?x12xf16>
}

// -----

// How a function makes it longer, or does not.
// CHECK-LABEL: func.func @negative_writers(
// CHECK-SAME:    {kvc.cache = "a"}, {{.*}} {kvc.cache = "b"}, {{.*}} {kvc.cache = "c"}, {{.*}} {kvc.cache = "d"})
// REMARK: "cache 'a' not paged: it is not the past with new tokens after it"
// REMARK: "cache 'b' not paged: the past is returned without new tokens"
// REMARK: "cache 'c' not paged: a function that holds its past does not return it"
// REMARK: "cache 'd' not paged: no attention of the module reads it"
// REMARK: "cache 'e' not paged: two results of a function hold it"
// REMARK: "cache '3 : i64' not paged: its name is no string"
func.func @negative_writers(%new: tensor<?x1x16xf16>, %a: tensor<?x?x16xf16> {kvc.cache = "a"}, %b: tensor<?x?x16xf16> {kvc.cache = "b"},
                            %c: tensor<?x?x16xf16> {kvc.cache = "c"}, %d: tensor<?x?x16xf16> {kvc.cache = "d"})
    -> (tensor<?x?x16xf16> {kvc.cache = "a"}, tensor<?x?x16xf16> {kvc.cache = "b"}, tensor<?x?x16xf16> {kvc.cache = "d"},
        tensor<?x1x16xf16> {kvc.cache = "e"}, tensor<?x1x16xf16> {kvc.cache = "e"}, tensor<?x1x16xf16> {kvc.cache = 3}) {
  %first = tensor.concat dim(1) %new, %a : (tensor<?x1x16xf16>, tensor<?x?x16xf16>) -> tensor<?x?x16xf16>
  %last = tensor.concat dim(1) %d, %new : (tensor<?x?x16xf16>, tensor<?x1x16xf16>) -> tensor<?x?x16xf16>
  return %first, %b, %last, %new, %new, %new : tensor<?x?x16xf16>, tensor<?x?x16xf16>, tensor<?x?x16xf16>, tensor<?x1x16xf16>, tensor<?x1x16xf16>, tensor<?x1x16xf16>
}

// -----

#q = affine_map<(b, h, g, i, j, w) -> (b, h, w)>
#kv = affine_map<(b, h, g, i, j, w) -> (b, j, w)>

// Somebody calls the function.
// CHECK-LABEL: func.func @negative_called(
// CHECK:         kvc.dense_attention
// REMARK: "cache 'kv' not paged: a function that holds it is used by its name"
func.func @negative_called(%q: tensor<?x1x16xf16>, %new: tensor<?x1x16xf16>, %past: tensor<?x?x16xf16> {kvc.cache = "kv"})
    -> (tensor<?x1x16xf16>, tensor<?x?x16xf16> {kvc.cache = "kv"}) {
  %kv = tensor.concat dim(1) %past, %new : (tensor<?x?x16xf16>, tensor<?x1x16xf16>) -> tensor<?x?x16xf16>
  %o = kvc.dense_attention terms(%q * %kv) value(%kv)
      maps [#q, #kv, #kv, #q] {scale = 0.125 : f32} : (tensor<?x1x16xf16>, tensor<?x?x16xf16>, tensor<?x?x16xf16>) -> tensor<?x1x16xf16>
  return %o, %kv : tensor<?x1x16xf16>, tensor<?x?x16xf16>
}
func.func @caller(%q: tensor<?x1x16xf16>, %past: tensor<?x?x16xf16>) -> tensor<?x?x16xf16> {
  %o, %kv = call @negative_called(%q, %q, %past) : (tensor<?x1x16xf16>, tensor<?x1x16xf16>, tensor<?x?x16xf16>) -> (tensor<?x1x16xf16>, tensor<?x?x16xf16>)
  return %kv : tensor<?x?x16xf16>
}

// -----

#q = affine_map<(b, h, g, i, j, w) -> (b, h, w)>
#kv = affine_map<(b, h, g, i, j, w) -> (b, j, w)>

// Another function has it in another shape.
// CHECK-LABEL: func.func @negative_shape(
// CHECK:         kvc.dense_attention
// REMARK: "cache 'kv' not paged: two functions have it in different shapes"
func.func @negative_shape(%q: tensor<?x1x16xf16>, %new: tensor<?x1x16xf16>, %past: tensor<?x?x16xf16> {kvc.cache = "kv"})
    -> (tensor<?x1x16xf16>, tensor<?x?x16xf16> {kvc.cache = "kv"}) {
  %kv = tensor.concat dim(1) %past, %new : (tensor<?x?x16xf16>, tensor<?x1x16xf16>) -> tensor<?x?x16xf16>
  %o = kvc.dense_attention terms(%q * %kv) value(%kv)
      maps [#q, #kv, #kv, #q] {scale = 0.125 : f32} : (tensor<?x1x16xf16>, tensor<?x?x16xf16>, tensor<?x?x16xf16>) -> tensor<?x1x16xf16>
  return %o, %kv : tensor<?x1x16xf16>, tensor<?x?x16xf16>
}
func.func @other_shape(%new: tensor<?x?x32xf16>) -> (tensor<?x?x32xf16> {kvc.cache = "kv"}) {
  return %new : tensor<?x?x32xf16>
}

// -----

// Without a body.
// CHECK-LABEL: func.func private @negative_declared(
// REMARK: "cache 'kv' not paged: a function that holds it has no body"
func.func private @negative_declared(tensor<?x?x16xf16> {kvc.cache = "kv"})

// -----

#q = affine_map<(b, h, g, i, j, w) -> (b, h, i, w)>
#kv = affine_map<(b, h, g, i, j, w) -> (b, j, w)>

// Queries of the last token only, which a batch of two new ones has none of.
// CHECK-LABEL: func.func @negative_queries(
// CHECK:         kvc.dense_attention
// REMARK: "cache 'kv' not paged: queries are of other tokens than the new ones"
func.func @negative_queries(%q: tensor<?x4x1x16xf16>, %new: tensor<?x2x16xf16>, %past: tensor<?x?x16xf16> {kvc.cache = "kv"})
    -> (tensor<?x4x1x16xf16>, tensor<?x?x16xf16> {kvc.cache = "kv"}) {
  %kv = tensor.concat dim(1) %past, %new : (tensor<?x?x16xf16>, tensor<?x2x16xf16>) -> tensor<?x?x16xf16>
  %o = kvc.dense_attention terms(%q * %kv) value(%kv) score [#kvc.causal]
      maps [#q, #kv, #kv, #q] {scale = 0.125 : f32} : (tensor<?x4x1x16xf16>, tensor<?x?x16xf16>, tensor<?x?x16xf16>) -> tensor<?x4x1x16xf16>
  return %o, %kv : tensor<?x4x1x16xf16>, tensor<?x?x16xf16>
}

// -----

#q = affine_map<(b, h, g, i, j, w) -> (b, h, w)>
#kv = affine_map<(b, h, g, i, j, w) -> (b, j, w)>

// A value that is not cached, and a static cache that is read to its end.
// CHECK-LABEL: func.func @negative_reads(
// CHECK-COUNT-2: kvc.dense_attention
// REMARK: "cache 'k' not paged: attention reads it beside a tensor that is not cached"
// REMARK: "cache 's' not paged: attention reads other tokens of it than past and new ones"
func.func @negative_reads(%q: tensor<?x1x16xf16>, %new: tensor<?x1x16xf16>, %v: tensor<?x?x16xf16>, %at: index,
                          %past: tensor<?x?x16xf16> {kvc.cache = "k"}, %static: tensor<?x64x16xf16> {kvc.cache = "s"})
    -> (tensor<?x1x16xf16>, tensor<?x?x16xf16> {kvc.cache = "k"}, tensor<?x1x16xf16>, tensor<?x64x16xf16> {kvc.cache = "s"}) {
  %c0 = arith.constant 0 : index
  %b = tensor.dim %q, %c0 : tensor<?x1x16xf16>
  %k = tensor.concat dim(1) %past, %new : (tensor<?x?x16xf16>, tensor<?x1x16xf16>) -> tensor<?x?x16xf16>
  %o = kvc.dense_attention terms(%q * %k) value(%v)
      maps [#q, #kv, #kv, #q] {scale = 0.125 : f32} : (tensor<?x1x16xf16>, tensor<?x?x16xf16>, tensor<?x?x16xf16>) -> tensor<?x1x16xf16>
  %s = tensor.insert_slice %new into %static[0, %at, 0] [%b, 1, 16] [1, 1, 1] : tensor<?x1x16xf16> into tensor<?x64x16xf16>
  %p = kvc.dense_attention terms(%q * %s) value(%s)
      maps [#q, #kv, #kv, #q] {scale = 0.125 : f32} : (tensor<?x1x16xf16>, tensor<?x64x16xf16>, tensor<?x64x16xf16>) -> tensor<?x1x16xf16>
  return %o, %k, %p, %s : tensor<?x1x16xf16>, tensor<?x?x16xf16>, tensor<?x1x16xf16>, tensor<?x64x16xf16>
}
