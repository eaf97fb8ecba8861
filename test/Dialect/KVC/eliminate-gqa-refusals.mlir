// Heads that stay repeated: the remark says why, and the function does not change at all.

// RUN: kvc-opt %s -o %t.before
// RUN: kvc-opt %s -kvc-eliminate-gqa-broadcast -remarks-filter=kvc-eliminate-gqa-broadcast \
// RUN:   -remark-policy=all -o %t.after 2> %t.remarks
// RUN: diff %t.before %t.after
// RUN: FileCheck %s --input-file=%t.remarks --implicit-check-not=Passed --implicit-check-not=Missed

#src = affine_map<(b, h, g, j, w) -> (b, h, j, w)>
#dst = affine_map<(b, h, g, j, w) -> (b, h, g, j, w)>
#q = affine_map<(b, h, g, i, j, w) -> (b, h, i, w)>
#k = affine_map<(b, h, g, i, j, w) -> (b, h, j, w)>

// Keys that neighbouring query heads share, and values that every second one shares: no head
// of the attention has both.
// CHECK: [Missed] EliminatedBroadcast {{.*}}"heads stay repeated: keys with more dimensions than batch entries and heads"
func.func @two_orders(%q: tensor<2x8x5x16xf32>, %k: tensor<2x2x7x16xf32>, %v: tensor<2x2x7x16xf32>)
    -> tensor<2x8x5x16xf32> {
  %e = tensor.empty() : tensor<2x2x4x7x16xf32>
  %rk = linalg.generic {indexing_maps = [#src, #dst],
      iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]}
      ins(%k : tensor<2x2x7x16xf32>) outs(%e : tensor<2x2x4x7x16xf32>) {
  ^bb0(%in: f32, %out: f32):
    linalg.yield %in : f32
  } -> tensor<2x2x4x7x16xf32>
  %ck = tensor.collapse_shape %rk [[0], [1, 2], [3], [4]] : tensor<2x2x4x7x16xf32> into tensor<2x8x7x16xf32>
  %cv = tensor.concat dim(1) %v, %v, %v, %v : (tensor<2x2x7x16xf32>, tensor<2x2x7x16xf32>,
      tensor<2x2x7x16xf32>, tensor<2x2x7x16xf32>) -> tensor<2x8x7x16xf32>
  %o = kvc.dense_attention terms(%q * %ck) value(%cv) score [#kvc.causal] maps [#q, #k, #k, #q]
      {scale = 0.25 : f32} : (tensor<2x8x5x16xf32>, tensor<2x8x7x16xf32>, tensor<2x8x7x16xf32>)
      -> tensor<2x8x5x16xf32>
  return %o : tensor<2x8x5x16xf32>
}
