// RUN: kvc-opt %s -kvc-eliminate-gqa-broadcast -canonicalize -cse | FileCheck %s

#src = affine_map<(b, h, g, j, w) -> (b, h, j, w)>
#dst = affine_map<(b, h, g, j, w) -> (b, h, g, j, w)>
#all = affine_map<(b, g, h, j, w) -> (b, h, j, w)>
#q = affine_map<(b, h, g, i, j, w) -> (b, h, i, w)>
#k = affine_map<(b, h, g, i, j, w) -> (b, h, j, w)>

// CHECK-DAG: #[[$Q:.*]] = affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d1, d2, d3, d5)>
// CHECK-DAG: #[[$K:.*]] = affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d1, d4, d5)>
// CHECK-DAG: #[[$TILED:.*]] = affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d2, d1, d3, d5)>

// Each head four times, one after the other: the query heads of a KV head lie side by side.
// CHECK-LABEL: func.func @interleaved
// CHECK-SAME:    %[[Q0:.*]]: tensor<2x8x5x16xf32>, %[[K0:.*]]: tensor<2x2x7x16xf32>, %[[V0:.*]]: tensor<2x2x7x16xf32>
// CHECK:         %[[QUERY:.*]] = tensor.expand_shape %[[Q0]] {{\[\[}}0], [1, 2], [3], [4]] output_shape [2, 2, 4, 5, 16]
// CHECK:         %[[OUT:.*]] = kvc.dense_attention terms(%[[QUERY]] * %[[K0]]) value(%[[V0]]) score [#kvc.causal] maps [#[[$Q]], #[[$K]], #[[$K]], #[[$Q]]]
// CHECK:         tensor.collapse_shape %[[OUT]] {{\[\[}}0], [1, 2], [3], [4]]
func.func @interleaved(%q: tensor<2x8x5x16xf32>, %k: tensor<2x2x7x16xf32>, %v: tensor<2x2x7x16xf32>)
    -> tensor<2x8x5x16xf32> {
  %e = tensor.empty() : tensor<2x2x4x7x16xf32>
  %rk = linalg.generic {indexing_maps = [#src, #dst],
      iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]}
      ins(%k : tensor<2x2x7x16xf32>) outs(%e : tensor<2x2x4x7x16xf32>) {
  ^bb0(%in: f32, %out: f32):
    linalg.yield %in : f32
  } -> tensor<2x2x4x7x16xf32>
  %ck = tensor.collapse_shape %rk [[0], [1, 2], [3], [4]] : tensor<2x2x4x7x16xf32> into tensor<2x8x7x16xf32>
  %rv = linalg.generic {indexing_maps = [#src, #dst],
      iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]}
      ins(%v : tensor<2x2x7x16xf32>) outs(%e : tensor<2x2x4x7x16xf32>) {
  ^bb0(%in: f32, %out: f32):
    linalg.yield %in : f32
  } -> tensor<2x2x4x7x16xf32>
  %cv = tensor.collapse_shape %rv [[0], [1, 2], [3], [4]] : tensor<2x2x4x7x16xf32> into tensor<2x8x7x16xf32>
  %o = kvc.dense_attention terms(%q * %ck) value(%cv) score [#kvc.causal] maps [#q, #k, #k, #q]
      {scale = 0.25 : f32} : (tensor<2x8x5x16xf32>, tensor<2x8x7x16xf32>, tensor<2x8x7x16xf32>)
      -> tensor<2x8x5x16xf32>
  return %o : tensor<2x8x5x16xf32>
}

// All heads four times: those of a KV head lie apart.
// CHECK-LABEL: func.func @tiled
// CHECK-SAME:    %[[Q0:.*]]: tensor<2x8x5x16xf32>, %[[K0:.*]]: tensor<2x2x7x16xf32>, %[[V0:.*]]: tensor<2x2x7x16xf32>
// CHECK:         %[[QUERY:.*]] = tensor.expand_shape %[[Q0]] {{\[\[}}0], [1, 2], [3], [4]] output_shape [2, 4, 2, 5, 16]
// CHECK:         kvc.dense_attention terms(%[[QUERY]] * %[[K0]]) value(%[[V0]]) score [#kvc.causal] maps [#[[$TILED]], #[[$K]], #[[$K]], #[[$TILED]]]
func.func @tiled(%q: tensor<2x8x5x16xf32>, %k: tensor<2x2x7x16xf32>, %v: tensor<2x2x7x16xf32>)
    -> tensor<2x8x5x16xf32> {
  %rk = tensor.concat dim(1) %k, %k, %k, %k : (tensor<2x2x7x16xf32>, tensor<2x2x7x16xf32>,
      tensor<2x2x7x16xf32>, tensor<2x2x7x16xf32>) -> tensor<2x8x7x16xf32>
  %e = tensor.empty() : tensor<2x4x2x7x16xf32>
  %rv = linalg.generic {indexing_maps = [#all, #dst],
      iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]}
      ins(%v : tensor<2x2x7x16xf32>) outs(%e : tensor<2x4x2x7x16xf32>) {
  ^bb0(%in: f32, %out: f32):
    linalg.yield %in : f32
  } -> tensor<2x4x2x7x16xf32>
  %cv = tensor.collapse_shape %rv [[0], [1, 2], [3], [4]] : tensor<2x4x2x7x16xf32> into tensor<2x8x7x16xf32>
  %o = kvc.dense_attention terms(%q * %rk) value(%cv) score [#kvc.causal] maps [#q, #k, #k, #q]
      {scale = 0.25 : f32} : (tensor<2x8x5x16xf32>, tensor<2x8x7x16xf32>, tensor<2x8x7x16xf32>)
      -> tensor<2x8x5x16xf32>
  return %o : tensor<2x8x5x16xf32>
}

// Heads that are computed are not repeated.
// CHECK-LABEL: func.func @negative_computed
// CHECK:         %[[K:.*]] = math.absf
// CHECK:         kvc.dense_attention terms(%{{.*}} * %[[K]])
func.func @negative_computed(%q: tensor<2x8x5x16xf32>, %k: tensor<2x8x7x16xf32>)
    -> tensor<2x8x5x16xf32> {
  %a = math.absf %k : tensor<2x8x7x16xf32>
  %o = kvc.dense_attention terms(%q * %a) value(%a) maps [#q, #k, #k, #q] {scale = 0.25 : f32}
      : (tensor<2x8x5x16xf32>, tensor<2x8x7x16xf32>, tensor<2x8x7x16xf32>) -> tensor<2x8x5x16xf32>
  return %o : tensor<2x8x5x16xf32>
}
