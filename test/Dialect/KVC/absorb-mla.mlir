// RUN: kvc-opt %s -kvc-absorb-mla -canonicalize -cse -remarks-filter=kvc-absorb-mla \
// RUN:   -remark-policy=all 2> %t.remarks | FileCheck %s
// RUN: FileCheck %s --check-prefix=REMARK < %t.remarks

#q = affine_map<(b, h, g, i, j, w) -> (b, h, i, w)>
#k = affine_map<(b, h, g, i, j, w) -> (b, h, j, w)>
#latent = affine_map<(b, h, j, w, c) -> (b, j, c)>
#weight = affine_map<(b, h, j, w, c) -> (h, w, c)>
#rows = affine_map<(b, h, j, w, c) -> (b, h, j, w)>

// CHECK-DAG: #[[$QUERY:.*]] = affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d2, d3, d5)>
// CHECK-DAG: #[[$LATENT:.*]] = affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d4, d5)>

// Keys that are products of latent rows, beside rotary ones, and values that are products of
// the same rows.
// REMARK: [Passed] Absorbed {{.*}}"products absorbed: 1 of 1 keys, and the value"
// CHECK-LABEL: func.func @latent_and_rotary
// CHECK-SAME:    %[[Q:.*]]: tensor<2x4x3x12xf32>, %[[C:.*]]: tensor<2x9x16xf32>, %[[R:.*]]: tensor<2x1x9x4xf32>, %[[WK:.*]]: tensor<4x8x16xf32>, %[[WV:.*]]: tensor<4x8x16xf32>
// CHECK:         %[[NOPE:.*]] = tensor.extract_slice %[[Q]][0, 0, 0, 0] [2, 4, 3, 8]
// CHECK:         %[[ABSORBED:.*]] = linalg.generic {{.*}} ins(%[[NOPE]], %[[WK]] :
// CHECK:         %[[PE:.*]] = tensor.extract_slice %[[Q]][0, 0, 0, 8] [2, 4, 3, 4]
// CHECK:         %[[LATENT:.*]] = kvc.dense_attention terms(%[[ABSORBED]] * %{{.*}}, %{{.*}} * %{{.*}}) value(%{{.*}}) score [#kvc.causal]
// CHECK-SAME:      (tensor<2x4x3x16xf32>, tensor<2x4x3x4xf32>, tensor<2x9x16xf32>, tensor<2x{{(1x)?}}9x4xf32>, tensor<2x9x16xf32>) -> tensor<2x4x3x16xf32>
// CHECK:         linalg.generic {{.*}} ins(%[[LATENT]], %[[WV]] :
func.func @latent_and_rotary(%q: tensor<2x4x3x12xf32>, %c: tensor<2x9x16xf32>,
                             %r: tensor<2x1x9x4xf32>, %wk: tensor<4x8x16xf32>,
                             %wv: tensor<4x8x16xf32>) -> tensor<2x4x3x8xf32> {
  %zero = arith.constant 0.0 : f32
  %x = math.absf %c : tensor<2x9x16xf32>
  %e = tensor.empty() : tensor<2x4x9x8xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<2x4x9x8xf32>) -> tensor<2x4x9x8xf32>
  %k0 = linalg.generic {indexing_maps = [#latent, #weight, #rows],
      iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]}
      ins(%x, %wk : tensor<2x9x16xf32>, tensor<4x8x16xf32>) outs(%f : tensor<2x4x9x8xf32>) {
  ^bb0(%a: f32, %w: f32, %out: f32):
    %p = arith.mulf %a, %w : f32
    %s = arith.addf %out, %p : f32
    linalg.yield %s : f32
  } -> tensor<2x4x9x8xf32>
  %v = linalg.generic {indexing_maps = [#latent, #weight, #rows],
      iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]}
      ins(%x, %wv : tensor<2x9x16xf32>, tensor<4x8x16xf32>) outs(%f : tensor<2x4x9x8xf32>) {
  ^bb0(%a: f32, %w: f32, %out: f32):
    %p = arith.mulf %a, %w : f32
    %s = arith.addf %out, %p : f32
    linalg.yield %s : f32
  } -> tensor<2x4x9x8xf32>
  %rr = math.absf %r : tensor<2x1x9x4xf32>
  %rs = tensor.collapse_shape %rr [[0], [1, 2], [3]] : tensor<2x1x9x4xf32> into tensor<2x9x4xf32>
  %re = tensor.empty() : tensor<2x4x9x4xf32>
  %k1 = linalg.broadcast ins(%rs : tensor<2x9x4xf32>) outs(%re : tensor<2x4x9x4xf32>) dimensions = [1]
  %k = tensor.concat dim(3) %k0, %k1
      : (tensor<2x4x9x8xf32>, tensor<2x4x9x4xf32>) -> tensor<2x4x9x12xf32>
  %o = kvc.dense_attention terms(%q * %k) value(%v) score [#kvc.causal] maps [#q, #k, #k, #q]
      {scale = 0.25 : f32} : (tensor<2x4x3x12xf32>, tensor<2x4x9x12xf32>, tensor<2x4x9x8xf32>)
      -> tensor<2x4x3x8xf32>
  return %o : tensor<2x4x3x8xf32>
}

// Batch entries are not taken for KV heads, though keys have no other dimension left.
// REMARK: [Passed] Absorbed {{.*}}"products absorbed: 1 of 1 keys, and the value"
// CHECK-LABEL: func.func @batch
// CHECK:         kvc.dense_attention {{.*}} maps [#[[$QUERY]], #[[$LATENT]], #[[$LATENT]], #[[$QUERY]]] {{.*}} (tensor<2x4x3x16xf32>, tensor<2x9x16xf32>, tensor<2x9x16xf32>)
func.func @batch(%q: tensor<2x4x3x8xf32>, %c: tensor<2x9x16xf32>, %wk: tensor<4x8x16xf32>) -> tensor<2x4x3x8xf32> {
  %zero = arith.constant 0.0 : f32
  %x = math.absf %c : tensor<2x9x16xf32>
  %e = tensor.empty() : tensor<2x4x9x8xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<2x4x9x8xf32>) -> tensor<2x4x9x8xf32>
  %k = linalg.contract indexing_maps = [#latent, #weight, #rows]
      ins(%x, %wk : tensor<2x9x16xf32>, tensor<4x8x16xf32>) outs(%f : tensor<2x4x9x8xf32>) -> tensor<2x4x9x8xf32>
  %o = kvc.dense_attention terms(%q * %k) value(%k) maps [#q, #k, #k, #q]
      {scale = 0.25 : f32} : (tensor<2x4x3x8xf32>, tensor<2x4x9x8xf32>, tensor<2x4x9x8xf32>) -> tensor<2x4x3x8xf32>
  return %o : tensor<2x4x3x8xf32>
}

// A norm of each head stands between the product and the keys: nothing moves across it.
// REMARK: [Missed] Absorbed {{.*}}"key 0 stays: expected the product of a weight and rows of 16, got 'arith.mulf' of it"
// REMARK: [Missed] Absorbed {{.*}}"the value stays: expected the product of a weight and rows of 16, got 'arith.mulf' of it"
// CHECK-LABEL: func.func @negative_norm
// CHECK:         kvc.dense_attention {{.*}} (tensor<2x4x3x8xf32>, tensor<2x4x9x8xf32>, tensor<2x4x9x8xf32>)
#row = affine_map<(b, h, j, w) -> (b, h, j)>
#id = affine_map<(b, h, j, w) -> (b, h, j, w)>
func.func @negative_norm(%q: tensor<2x4x3x8xf32>, %c: tensor<2x9x16xf32>,
                         %wk: tensor<4x8x16xf32>) -> tensor<2x4x3x8xf32> {
  %zero = arith.constant 0.0 : f32
  %x = math.absf %c : tensor<2x9x16xf32>
  %e = tensor.empty() : tensor<2x4x9x8xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<2x4x9x8xf32>) -> tensor<2x4x9x8xf32>
  %k0 = linalg.generic {indexing_maps = [#latent, #weight, #rows],
      iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]}
      ins(%x, %wk : tensor<2x9x16xf32>, tensor<4x8x16xf32>) outs(%f : tensor<2x4x9x8xf32>) {
  ^bb0(%a: f32, %w: f32, %out: f32):
    %p = arith.mulf %a, %w : f32
    %s = arith.addf %out, %p : f32
    linalg.yield %s : f32
  } -> tensor<2x4x9x8xf32>
  %se = tensor.empty() : tensor<2x4x9xf32>
  %sf = linalg.fill ins(%zero : f32) outs(%se : tensor<2x4x9xf32>) -> tensor<2x4x9xf32>
  %squares = linalg.generic {indexing_maps = [#id, #row],
      iterator_types = ["parallel", "parallel", "parallel", "reduction"]}
      ins(%k0 : tensor<2x4x9x8xf32>) outs(%sf : tensor<2x4x9xf32>) {
  ^bb0(%a: f32, %out: f32):
    %p = arith.mulf %a, %a : f32
    %s = arith.addf %out, %p : f32
    linalg.yield %s : f32
  } -> tensor<2x4x9xf32>
  %k = linalg.generic {indexing_maps = [#id, #row, #id],
      iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      ins(%k0, %squares : tensor<2x4x9x8xf32>, tensor<2x4x9xf32>) outs(%e : tensor<2x4x9x8xf32>) {
  ^bb0(%a: f32, %n: f32, %out: f32):
    %d = math.rsqrt %n : f32
    %p = arith.mulf %a, %d : f32
    linalg.yield %p : f32
  } -> tensor<2x4x9x8xf32>
  %o = kvc.dense_attention terms(%q * %k) value(%k) score [#kvc.causal] maps [#q, #k, #k, #q]
      {scale = 0.25 : f32} : (tensor<2x4x3x8xf32>, tensor<2x4x9x8xf32>, tensor<2x4x9x8xf32>)
      -> tensor<2x4x3x8xf32>
  return %o : tensor<2x4x3x8xf32>
}

// A weight that has a row for each key is none.
// REMARK: [Missed] Absorbed {{.*}}"key 0 stays: expected a weight of rows of 16 that all tokens share, got one for each token"
// CHECK-LABEL: func.func @negative_weight_of_key
// CHECK:         kvc.dense_attention {{.*}} (tensor<2x4x3x8xf32>, tensor<2x4x9x8xf32>, tensor<2x4x9x8xf32>)
#each = affine_map<(b, h, j, w, c) -> (j, h, w, c)>
func.func @negative_weight_of_key(%q: tensor<2x4x3x8xf32>, %c: tensor<2x9x16xf32>,
                                  %wk: tensor<9x4x8x16xf32>, %v: tensor<2x4x9x8xf32>)
    -> tensor<2x4x3x8xf32> {
  %zero = arith.constant 0.0 : f32
  %x = math.absf %c : tensor<2x9x16xf32>
  %e = tensor.empty() : tensor<2x4x9x8xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<2x4x9x8xf32>) -> tensor<2x4x9x8xf32>
  %k = linalg.generic {indexing_maps = [#latent, #each, #rows],
      iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]}
      ins(%x, %wk : tensor<2x9x16xf32>, tensor<9x4x8x16xf32>) outs(%f : tensor<2x4x9x8xf32>) {
  ^bb0(%a: f32, %w: f32, %out: f32):
    %p = arith.mulf %a, %w : f32
    %s = arith.addf %out, %p : f32
    linalg.yield %s : f32
  } -> tensor<2x4x9x8xf32>
  %o = kvc.dense_attention terms(%q * %k) value(%v) score [#kvc.causal] maps [#q, #k, #k, #q]
      {scale = 0.25 : f32} : (tensor<2x4x3x8xf32>, tensor<2x4x9x8xf32>, tensor<2x4x9x8xf32>)
      -> tensor<2x4x3x8xf32>
  return %o : tensor<2x4x3x8xf32>
}

// A value that is one number everywhere is not taken apart.
// REMARK: [Missed] Absorbed {{.*}}"products stay before the attention: an operand is one number everywhere"
// CHECK-LABEL: func.func @negative_number
// CHECK:         kvc.dense_attention {{.*}} (tensor<2x4x3x8xf32>, tensor<2x4x9x8xf32>, tensor<2x4x9x8xf32>)
func.func @negative_number(%q: tensor<2x4x3x8xf32>, %c: tensor<2x9x16xf32>,
                           %wk: tensor<4x8x16xf32>) -> tensor<2x4x3x8xf32> {
  %zero = arith.constant 0.0 : f32
  %x = math.absf %c : tensor<2x9x16xf32>
  %v = arith.constant dense<1.0> : tensor<2x4x9x8xf32>
  %e = tensor.empty() : tensor<2x4x9x8xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<2x4x9x8xf32>) -> tensor<2x4x9x8xf32>
  %k = linalg.generic {indexing_maps = [#latent, #weight, #rows],
      iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]}
      ins(%x, %wk : tensor<2x9x16xf32>, tensor<4x8x16xf32>) outs(%f : tensor<2x4x9x8xf32>) {
  ^bb0(%a: f32, %w: f32, %out: f32):
    %p = arith.mulf %a, %w : f32
    %s = arith.addf %out, %p : f32
    linalg.yield %s : f32
  } -> tensor<2x4x9x8xf32>
  %o = kvc.dense_attention terms(%q * %k) value(%v) score [#kvc.causal] maps [#q, #k, #k, #q]
      {scale = 0.25 : f32} : (tensor<2x4x3x8xf32>, tensor<2x4x9x8xf32>, tensor<2x4x9x8xf32>)
      -> tensor<2x4x3x8xf32>
  return %o : tensor<2x4x3x8xf32>
}

// Keys of one column: nothing is summed where the query meets the weight.
// CHECK-LABEL: func.func @one_column
// CHECK-SAME:    %[[Q:.*]]: tensor<3x1xf32>
// CHECK:         %[[A:.*]] = linalg.generic {{.*}}iterator_types = ["parallel", "parallel"]} ins(%[[Q]], %{{.*}} :
// CHECK:         kvc.dense_attention terms(%[[A]] * %{{.*}}) {{.*}} (tensor<3x2xf32>, tensor<5x2xf32>, tensor<5x4xf32>)
#q2 = affine_map<(b, h, g, i, j, w) -> (i, w)>
#k2 = affine_map<(b, h, g, i, j, w) -> (j, w)>
func.func @one_column(%q: tensor<3x1xf32>, %c: tensor<5x2xf32>, %w: tensor<2x1xf32>,
                      %v: tensor<5x4xf32>) -> tensor<3x4xf32> {
  %zero = arith.constant 0.0 : f32
  %x = math.absf %c : tensor<5x2xf32>
  %e = tensor.empty() : tensor<5x1xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<5x1xf32>) -> tensor<5x1xf32>
  %k = linalg.matmul ins(%x, %w : tensor<5x2xf32>, tensor<2x1xf32>) outs(%f : tensor<5x1xf32>)
      -> tensor<5x1xf32>
  %o = kvc.dense_attention terms(%q * %k) value(%v) score [#kvc.causal] maps [#q2, #k2, #k2, #q2]
      {scale = 0.25 : f32} : (tensor<3x1xf32>, tensor<5x1xf32>, tensor<5x4xf32>) -> tensor<3x4xf32>
  return %o : tensor<3x4xf32>
}
