// RUN: kvc-opt %s -kvc-eliminate-gqa-broadcast -canonicalize -cse | FileCheck %s

#src = affine_map<(b, h, g, j, w) -> (b, h, j, w)>
#dst = affine_map<(b, h, g, j, w) -> (b, h, g, j, w)>
#all = affine_map<(b, g, h, j, w) -> (b, h, j, w)>
#q = affine_map<(b, h, g, i, j, w) -> (b, h, i, w)>
#k = affine_map<(b, h, g, i, j, w) -> (b, h, j, w)>

// CHECK-DAG: #[[$Q:.*]] = affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d1, d2, d3, d5)>
// CHECK-DAG: #[[$K:.*]] = affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d1, d4, d5)>
// CHECK-DAG: #[[$MASK:.*]] = affine_map<(d0, d1, d2, d3, d4, d5) -> (d1, d2, d3, d4)>
// CHECK-DAG: #[[$SINKS:.*]] = affine_map<(d0, d1, d2, d3, d4, d5) -> (d1, d2)>
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

#mask = affine_map<(b, h, g, i, j, w) -> (h, i, j)>
#sinks = affine_map<(b, h, g, i, j, w) -> (h)>

// Each query head keeps its own mask and sink, here one mask for every two heads of groups of
// three.
// CHECK-LABEL: func.func @mask_of_heads
// CHECK-SAME:    %[[Q0:.*]]: tensor<2x6x5x16xf32>, %[[K0:.*]]: tensor<2x2x7x16xf32>, %[[MASK0:.*]]: tensor<3x5x7xf32>, %[[SINKS0:.*]]: tensor<6xf32>
// CHECK:         %[[TWICE:.*]] = linalg.broadcast ins(%[[MASK0]] : tensor<3x5x7xf32>) {{.*}} dimensions = [1]
// CHECK:         %[[MASKS:.*]] = tensor.collapse_shape %[[TWICE]]
// CHECK:         %[[QUERY:.*]] = tensor.expand_shape %[[Q0]] {{\[\[}}0], [1, 2], [3], [4]] output_shape [2, 2, 3, 5, 16]
// CHECK:         %[[MASK:.*]] = tensor.expand_shape %[[MASKS]] {{\[\[}}0, 1], [2], [3]] output_shape [2, 3, 5, 7]
// CHECK:         %[[SINKS:.*]] = tensor.expand_shape %[[SINKS0]] {{\[\[}}0, 1]] output_shape [2, 3]
// CHECK:         kvc.dense_attention terms(%[[QUERY]] * %[[K0]]) value(%[[K0]]) mask(%[[MASK]]) sinks(%[[SINKS]])
// CHECK-SAME:      maps [#[[$Q]], #[[$K]], #[[$K]], #[[$MASK]], #[[$SINKS]], #[[$Q]]]
func.func @mask_of_heads(%q: tensor<2x6x5x16xf32>, %k: tensor<2x2x7x16xf32>, %m: tensor<3x5x7xf32>,
                         %s: tensor<6xf32>) -> tensor<2x6x5x16xf32> {
  %ek = tensor.empty() : tensor<2x2x3x7x16xf32>
  %rk = linalg.broadcast ins(%k : tensor<2x2x7x16xf32>) outs(%ek : tensor<2x2x3x7x16xf32>) dimensions = [2]
  %ck = tensor.collapse_shape %rk [[0], [1, 2], [3], [4]] : tensor<2x2x3x7x16xf32> into tensor<2x6x7x16xf32>
  %em = tensor.empty() : tensor<3x2x5x7xf32>
  %rm = linalg.broadcast ins(%m : tensor<3x5x7xf32>) outs(%em : tensor<3x2x5x7xf32>) dimensions = [1]
  %cm = tensor.collapse_shape %rm [[0, 1], [2], [3]] : tensor<3x2x5x7xf32> into tensor<6x5x7xf32>
  %o = kvc.dense_attention terms(%q * %ck) value(%ck) mask(%cm) sinks(%s) maps [#q, #k, #k, #mask, #sinks, #q]
      {scale = 0.25 : f32} : (tensor<2x6x5x16xf32>, tensor<2x6x7x16xf32>, tensor<2x6x7x16xf32>, tensor<6x5x7xf32>,
      tensor<6xf32>) -> tensor<2x6x5x16xf32>
  return %o : tensor<2x6x5x16xf32>
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
