// RUN: kvc-opt %s -kvc-raise-attention -remarks-filter=kvc-raise-attention -remark-policy=all \
// RUN:     -split-input-file 2>%t | FileCheck %s --implicit-check-not=math.exp
// RUN: FileCheck %s --check-prefix=REMARK --input-file=%t

#all = affine_map<(h, i, j) -> (h, i, j)>
#keys = affine_map<(h, i, j) -> (j)>
#row = affine_map<(h, i, j) -> (h, i)>
#sink = affine_map<(h, i, j) -> (h)>

// A softmax of products; the transposed keys are a map. Without a mask all keys are seen.
// CHECK-DAG: #[[Q_MAP:.*]] = affine_map<(d0, d1, d2, d3, d4, d5) -> (d1, d3, d5)>
// CHECK-DAG: #[[K_MAP:.*]] = affine_map<(d0, d1, d2, d3, d4, d5) -> (d1, d5, d4)>
// CHECK-DAG: #[[V_MAP:.*]] = affine_map<(d0, d1, d2, d3, d4, d5) -> (d1, d4, d5)>
// CHECK-LABEL: func.func @plain
// CHECK-SAME:    %[[Q:.*]]: tensor<2x5x4xf32>, %[[K:.*]]: tensor<2x4x5xf32>, %[[V:.*]]: tensor<2x5x6xf32>
// CHECK:         %[[O:.*]] = kvc.dense_attention terms(%[[Q]] * %[[K]]) value(%[[V]]) maps [#[[Q_MAP]], #[[K_MAP]], #[[V_MAP]], #[[Q_MAP]]] {scale = 1.000000e+00 : f32}
// CHECK-NEXT:    return %[[O]]
// REMARK:      Passed{{.*}}attention raised
func.func @plain(%q: tensor<2x5x4xf32>, %k: tensor<2x4x5xf32>, %v: tensor<2x5x6xf32>)
    -> tensor<2x5x6xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<2x5x5xf32>
  %z = linalg.fill ins(%zero : f32) outs(%e : tensor<2x5x5xf32>) -> tensor<2x5x5xf32>
  %s = linalg.batch_matmul ins(%q, %k : tensor<2x5x4xf32>, tensor<2x4x5xf32>)
      outs(%z : tensor<2x5x5xf32>) -> tensor<2x5x5xf32>
  %p = linalg.softmax dimension(2) ins(%s : tensor<2x5x5xf32>) outs(%e : tensor<2x5x5xf32>) -> tensor<2x5x5xf32>
  %eo = tensor.empty() : tensor<2x5x6xf32>
  %zo = linalg.fill ins(%zero : f32) outs(%eo : tensor<2x5x6xf32>) -> tensor<2x5x6xf32>
  %o = linalg.batch_matmul ins(%p, %v : tensor<2x5x5xf32>, tensor<2x5x6xf32>)
      outs(%zo : tensor<2x5x6xf32>) -> tensor<2x5x6xf32>
  return %o : tensor<2x5x6xf32>
}

// -----

#all = affine_map<(h, i, j) -> (h, i, j)>
#keys = affine_map<(h, i, j) -> (j)>
#row = affine_map<(h, i, j) -> (h, i)>
#sink = affine_map<(h, i, j) -> (h)>

// Keys that are removed by comparing positions: not after the query, and the last 3 up to it.
// CHECK-LABEL: func.func @causal_window
// CHECK:         kvc.dense_attention {{.*}} score [#kvc.causal, #kvc.window<3>] {{.*}} {scale = 5.000000e-01 : f32}
func.func @causal_window(%q: tensor<2x5x4xf32>, %k: tensor<2x4x5xf32>, %v: tensor<2x5x6xf32>)
    -> tensor<2x5x6xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<2x5x5xf32>
  %z = linalg.fill ins(%zero : f32) outs(%e : tensor<2x5x5xf32>) -> tensor<2x5x5xf32>
  %s = linalg.batch_matmul ins(%q, %k : tensor<2x5x4xf32>, tensor<2x4x5xf32>)
      outs(%z : tensor<2x5x5xf32>) -> tensor<2x5x5xf32>
  %c3 = arith.constant 3 : index
  %half = arith.constant 0.5 : f32
  %low = arith.constant -1.0e9 : f32
  %m = linalg.generic {indexing_maps = [#all, #all],
      iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%s : tensor<2x5x5xf32>) outs(%e : tensor<2x5x5xf32>) {
  ^bb0(%in: f32, %out: f32):
    %i = linalg.index 1 : index
    %j = linalg.index 2 : index
    %d = arith.subi %i, %j : index
    %past = arith.cmpi sle, %j, %i : index
    %near = arith.cmpi slt, %d, %c3 : index
    %keep = arith.andi %past, %near : i1
    %scaled = arith.mulf %in, %half : f32
    %r = arith.select %keep, %scaled, %low : f32
    linalg.yield %r : f32
  } -> tensor<2x5x5xf32>
  %p = linalg.softmax dimension(2) ins(%m : tensor<2x5x5xf32>) outs(%e : tensor<2x5x5xf32>) -> tensor<2x5x5xf32>
  %eo = tensor.empty() : tensor<2x5x6xf32>
  %zo = linalg.fill ins(%zero : f32) outs(%eo : tensor<2x5x6xf32>) -> tensor<2x5x6xf32>
  %o = linalg.batch_matmul ins(%p, %v : tensor<2x5x5xf32>, tensor<2x5x6xf32>)
      outs(%zo : tensor<2x5x6xf32>) -> tensor<2x5x6xf32>
  return %o : tensor<2x5x6xf32>
}

// -----

#all = affine_map<(h, i, j) -> (h, i, j)>
#keys = affine_map<(h, i, j) -> (j)>
#row = affine_map<(h, i, j) -> (h, i)>
#sink = affine_map<(h, i, j) -> (h)>

// A scale, a cap by tanh, then a mask that is a tensor.
// CHECK-LABEL: func.func @softcap
// CHECK:         kvc.dense_attention terms({{.*}}) value({{.*}}) mask(%arg3) score [#kvc.softcap<3.000000e+01>] {{.*}} {scale = 2.500000e-01 : f32}
func.func @softcap(%q: tensor<2x5x4xf32>, %k: tensor<2x4x5xf32>, %v: tensor<2x5x6xf32>, %mask: tensor<5x5xf32>)
    -> tensor<2x5x6xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<2x5x5xf32>
  %z = linalg.fill ins(%zero : f32) outs(%e : tensor<2x5x5xf32>) -> tensor<2x5x5xf32>
  %s = linalg.batch_matmul ins(%q, %k : tensor<2x5x4xf32>, tensor<2x4x5xf32>)
      outs(%z : tensor<2x5x5xf32>) -> tensor<2x5x5xf32>
  %scale = arith.constant 0.25 : f32
  %cap = arith.constant 30.0 : f32
  %m = linalg.generic {indexing_maps = [#all, affine_map<(h, i, j) -> (i, j)>, #all],
      iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%s, %mask : tensor<2x5x5xf32>, tensor<5x5xf32>) outs(%e : tensor<2x5x5xf32>) {
  ^bb0(%in: f32, %b: f32, %out: f32):
    %0 = arith.mulf %in, %scale : f32
    %1 = arith.divf %0, %cap : f32
    %2 = math.tanh %1 : f32
    %3 = arith.mulf %2, %cap : f32
    %r = arith.addf %3, %b : f32
    linalg.yield %r : f32
  } -> tensor<2x5x5xf32>
  %p = linalg.softmax dimension(2) ins(%m : tensor<2x5x5xf32>) outs(%e : tensor<2x5x5xf32>) -> tensor<2x5x5xf32>
  %eo = tensor.empty() : tensor<2x5x6xf32>
  %zo = linalg.fill ins(%zero : f32) outs(%eo : tensor<2x5x6xf32>) -> tensor<2x5x6xf32>
  %o = linalg.batch_matmul ins(%p, %v : tensor<2x5x5xf32>, tensor<2x5x6xf32>)
      outs(%zo : tensor<2x5x6xf32>) -> tensor<2x5x6xf32>
  return %o : tensor<2x5x6xf32>
}

// -----

#all = affine_map<(h, i, j) -> (h, i, j)>
#keys = affine_map<(h, i, j) -> (j)>
#row = affine_map<(h, i, j) -> (h, i)>
#sink = affine_map<(h, i, j) -> (h)>

// An argument says which keys to keep; each head has its own.
// CHECK-LABEL: func.func @bool_mask
// CHECK:         kvc.dense_attention terms({{.*}}) value({{.*}}) mask(%arg3) maps {{.*}} tensor<2x5xi1>
func.func @bool_mask(%q: tensor<2x5x4xf32>, %k: tensor<2x4x5xf32>, %v: tensor<2x5x6xf32>, %keep: tensor<2x5xi1>)
    -> tensor<2x5x6xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<2x5x5xf32>
  %z = linalg.fill ins(%zero : f32) outs(%e : tensor<2x5x5xf32>) -> tensor<2x5x5xf32>
  %s = linalg.batch_matmul ins(%q, %k : tensor<2x5x4xf32>, tensor<2x4x5xf32>)
      outs(%z : tensor<2x5x5xf32>) -> tensor<2x5x5xf32>
  %low = arith.constant 0xFF800000 : f32
  %m = linalg.generic {indexing_maps = [#all, affine_map<(h, i, j) -> (h, j)>, #all],
      iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%s, %keep : tensor<2x5x5xf32>, tensor<2x5xi1>) outs(%e : tensor<2x5x5xf32>) {
  ^bb0(%in: f32, %b: i1, %out: f32):
    %r = arith.select %b, %in, %low : f32
    linalg.yield %r : f32
  } -> tensor<2x5x5xf32>
  %p = linalg.softmax dimension(2) ins(%m : tensor<2x5x5xf32>) outs(%e : tensor<2x5x5xf32>) -> tensor<2x5x5xf32>
  %eo = tensor.empty() : tensor<2x5x6xf32>
  %zo = linalg.fill ins(%zero : f32) outs(%eo : tensor<2x5x6xf32>) -> tensor<2x5x6xf32>
  %o = linalg.batch_matmul ins(%p, %v : tensor<2x5x5xf32>, tensor<2x5x6xf32>)
      outs(%zo : tensor<2x5x6xf32>) -> tensor<2x5x6xf32>
  return %o : tensor<2x5x6xf32>
}

// -----

#all = affine_map<(h, i, j) -> (h, i, j)>
#keys = affine_map<(h, i, j) -> (j)>
#row = affine_map<(h, i, j) -> (h, i)>
#sink = affine_map<(h, i, j) -> (h)>

// What is read at an index that is computed from others is an unknown of the score: the tensor it
// makes stays a mask.
// CHECK-LABEL: func.func @bias_table
// CHECK:         %[[BIAS:.*]] = linalg.generic
// CHECK:         kvc.dense_attention terms({{.*}}) value({{.*}}) mask(%[[BIAS]])
func.func @bias_table(%q: tensor<2x5x4xf32>, %k: tensor<2x4x5xf32>, %v: tensor<2x5x6xf32>, %table: tensor<8xf32>, %buckets: tensor<5x5xindex>)
    -> tensor<2x5x6xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<2x5x5xf32>
  %z = linalg.fill ins(%zero : f32) outs(%e : tensor<2x5x5xf32>) -> tensor<2x5x5xf32>
  %s = linalg.batch_matmul ins(%q, %k : tensor<2x5x4xf32>, tensor<2x4x5xf32>)
      outs(%z : tensor<2x5x5xf32>) -> tensor<2x5x5xf32>
  %m = linalg.generic {indexing_maps = [#all],
      iterator_types = ["parallel", "parallel", "parallel"]}
      outs(%e : tensor<2x5x5xf32>) {
  ^bb0(%out: f32):
    %i = linalg.index 1 : index
    %j = linalg.index 2 : index
    %b = tensor.extract %buckets[%i, %j] : tensor<5x5xindex>
    %r = tensor.extract %table[%b] : tensor<8xf32>
    linalg.yield %r : f32
  } -> tensor<2x5x5xf32>
  %sm = linalg.generic {indexing_maps = [#all, #all, #all],
      iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%s, %m : tensor<2x5x5xf32>, tensor<2x5x5xf32>) outs(%e : tensor<2x5x5xf32>) {
  ^bb0(%in: f32, %b: f32, %out: f32):
    %r = arith.addf %in, %b : f32
    linalg.yield %r : f32
  } -> tensor<2x5x5xf32>
  %p = linalg.softmax dimension(2) ins(%sm : tensor<2x5x5xf32>) outs(%e : tensor<2x5x5xf32>) -> tensor<2x5x5xf32>
  %eo = tensor.empty() : tensor<2x5x6xf32>
  %zo = linalg.fill ins(%zero : f32) outs(%eo : tensor<2x5x6xf32>) -> tensor<2x5x6xf32>
  %o = linalg.batch_matmul ins(%p, %v : tensor<2x5x5xf32>, tensor<2x5x6xf32>)
      outs(%zo : tensor<2x5x6xf32>) -> tensor<2x5x6xf32>
  return %o : tensor<2x5x6xf32>
}

// -----

#all = affine_map<(h, i, j) -> (h, i, j)>
#keys = affine_map<(h, i, j) -> (j)>
#row = affine_map<(h, i, j) -> (h, i)>
#sink = affine_map<(h, i, j) -> (h)>

// The same within the loop of the score has no tensor to be a mask.
// CHECK-LABEL: func.func @negative_bias_in_place
// CHECK-NOT:     kvc.dense_attention
// REMARK:      Missed{{.*}}not raised to attention: the mask is not a tensor, and not made by comparing positions
func.func @negative_bias_in_place(%q: tensor<2x5x4xf32>, %k: tensor<2x4x5xf32>, %v: tensor<2x5x6xf32>, %table: tensor<8xf32>, %buckets: tensor<5x5xindex>)
    -> tensor<2x5x6xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<2x5x5xf32>
  %z = linalg.fill ins(%zero : f32) outs(%e : tensor<2x5x5xf32>) -> tensor<2x5x5xf32>
  %s = linalg.batch_matmul ins(%q, %k : tensor<2x5x4xf32>, tensor<2x4x5xf32>)
      outs(%z : tensor<2x5x5xf32>) -> tensor<2x5x5xf32>
  %m = linalg.generic {indexing_maps = [#all, #all],
      iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%s : tensor<2x5x5xf32>) outs(%e : tensor<2x5x5xf32>) {
  ^bb0(%in: f32, %out: f32):
    %i = linalg.index 1 : index
    %j = linalg.index 2 : index
    %at = tensor.extract %buckets[%i, %j] : tensor<5x5xindex>
    %b = tensor.extract %table[%at] : tensor<8xf32>
    %r = arith.addf %in, %b : f32
    linalg.yield %r : f32
  } -> tensor<2x5x5xf32>
  %p = linalg.softmax dimension(2) ins(%m : tensor<2x5x5xf32>) outs(%e : tensor<2x5x5xf32>) -> tensor<2x5x5xf32>
  %eo = tensor.empty() : tensor<2x5x6xf32>
  %zo = linalg.fill ins(%zero : f32) outs(%eo : tensor<2x5x6xf32>) -> tensor<2x5x6xf32>
  %o = linalg.batch_matmul ins(%p, %v : tensor<2x5x5xf32>, tensor<2x5x6xf32>)
      outs(%zo : tensor<2x5x6xf32>) -> tensor<2x5x6xf32>
  return %o : tensor<2x5x6xf32>
}

// -----

#all = affine_map<(h, i, j) -> (h, i, j)>
#keys = affine_map<(h, i, j) -> (j)>
#row = affine_map<(h, i, j) -> (h, i)>
#sink = affine_map<(h, i, j) -> (h)>

// A softmax over the queries is no attention.
// CHECK-LABEL: func.func @negative_other_axis
// CHECK-NOT:     kvc.dense_attention
// CHECK:         linalg.softmax dimension(1)
// REMARK:      Missed{{.*}}what the exponentials are divided by
func.func @negative_other_axis(%q: tensor<2x5x4xf32>, %k: tensor<2x4x5xf32>, %v: tensor<2x5x6xf32>)
    -> tensor<2x5x6xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<2x5x5xf32>
  %z = linalg.fill ins(%zero : f32) outs(%e : tensor<2x5x5xf32>) -> tensor<2x5x5xf32>
  %s = linalg.batch_matmul ins(%q, %k : tensor<2x5x4xf32>, tensor<2x4x5xf32>)
      outs(%z : tensor<2x5x5xf32>) -> tensor<2x5x5xf32>
  %p = linalg.softmax dimension(1) ins(%s : tensor<2x5x5xf32>) outs(%e : tensor<2x5x5xf32>) -> tensor<2x5x5xf32>
  %eo = tensor.empty() : tensor<2x5x6xf32>
  %zo = linalg.fill ins(%zero : f32) outs(%eo : tensor<2x5x6xf32>) -> tensor<2x5x6xf32>
  %o = linalg.batch_matmul ins(%p, %v : tensor<2x5x5xf32>, tensor<2x5x6xf32>)
      outs(%zo : tensor<2x5x6xf32>) -> tensor<2x5x6xf32>
  return %o : tensor<2x5x6xf32>
}

// -----

#all = affine_map<(h, i, j) -> (h, i, j)>
#keys = affine_map<(h, i, j) -> (j)>
#row = affine_map<(h, i, j) -> (h, i)>
#sink = affine_map<(h, i, j) -> (h)>

// Exponentials that are divided by the sum of others.
// CHECK-LABEL: func.func @negative_other_sum
// CHECK-NOT:     kvc.dense_attention
// CHECK-COUNT-2: math.exp
// REMARK:      Missed{{.*}}what the exponentials are divided by is a sum of others
func.func @negative_other_sum(%q: tensor<2x5x4xf32>, %k: tensor<2x4x5xf32>, %v: tensor<2x5x6xf32>)
    -> tensor<2x5x6xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<2x5x5xf32>
  %z = linalg.fill ins(%zero : f32) outs(%e : tensor<2x5x5xf32>) -> tensor<2x5x5xf32>
  %s = linalg.batch_matmul ins(%q, %k : tensor<2x5x4xf32>, tensor<2x4x5xf32>)
      outs(%z : tensor<2x5x5xf32>) -> tensor<2x5x5xf32>
  %two = arith.addf %s, %s : tensor<2x5x5xf32>
  %other = math.exp %two : tensor<2x5x5xf32>
  %exp = math.exp %s : tensor<2x5x5xf32>
  %er = tensor.empty() : tensor<2x5xf32>
  %zr = linalg.fill ins(%zero : f32) outs(%er : tensor<2x5xf32>) -> tensor<2x5xf32>
  %sum = linalg.generic {indexing_maps = [#all, #row],
      iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%other : tensor<2x5x5xf32>) outs(%zr : tensor<2x5xf32>) {
  ^bb0(%in: f32, %out: f32):
    %0 = arith.addf %in, %out : f32
    linalg.yield %0 : f32
  } -> tensor<2x5xf32>
  %p = linalg.generic {indexing_maps = [#all, #row, #all],
      iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%exp, %sum : tensor<2x5x5xf32>, tensor<2x5xf32>) outs(%e : tensor<2x5x5xf32>) {
  ^bb0(%in: f32, %by: f32, %out: f32):
    %0 = arith.divf %in, %by : f32
    linalg.yield %0 : f32
  } -> tensor<2x5x5xf32>
  %eo = tensor.empty() : tensor<2x5x6xf32>
  %zo = linalg.fill ins(%zero : f32) outs(%eo : tensor<2x5x6xf32>) -> tensor<2x5x6xf32>
  %o = linalg.batch_matmul ins(%p, %v : tensor<2x5x5xf32>, tensor<2x5x6xf32>)
      outs(%zo : tensor<2x5x6xf32>) -> tensor<2x5x6xf32>
  return %o : tensor<2x5x6xf32>
}

// -----

#all = affine_map<(h, i, j) -> (h, i, j)>
#keys = affine_map<(h, i, j) -> (j)>
#row = affine_map<(h, i, j) -> (h, i)>
#sink = affine_map<(h, i, j) -> (h)>

// A scale after the mask scales the mask too.
// CHECK-LABEL: func.func @negative_scaled_mask
// CHECK-NOT:     kvc.dense_attention
// REMARK:      Missed{{.*}}the score is scaled after its mask or its cap
func.func @negative_scaled_mask(%q: tensor<2x5x4xf32>, %k: tensor<2x4x5xf32>, %v: tensor<2x5x6xf32>, %mask: tensor<2x5x5xf32>)
    -> tensor<2x5x6xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<2x5x5xf32>
  %z = linalg.fill ins(%zero : f32) outs(%e : tensor<2x5x5xf32>) -> tensor<2x5x5xf32>
  %s = linalg.batch_matmul ins(%q, %k : tensor<2x5x4xf32>, tensor<2x4x5xf32>)
      outs(%z : tensor<2x5x5xf32>) -> tensor<2x5x5xf32>
  %half = arith.constant dense<0.5> : tensor<2x5x5xf32>
  %masked = arith.addf %s, %mask : tensor<2x5x5xf32>
  %scaled = arith.mulf %masked, %half : tensor<2x5x5xf32>
  %p = linalg.softmax dimension(2) ins(%scaled : tensor<2x5x5xf32>) outs(%e : tensor<2x5x5xf32>) -> tensor<2x5x5xf32>
  %eo = tensor.empty() : tensor<2x5x6xf32>
  %zo = linalg.fill ins(%zero : f32) outs(%eo : tensor<2x5x6xf32>) -> tensor<2x5x6xf32>
  %o = linalg.batch_matmul ins(%p, %v : tensor<2x5x5xf32>, tensor<2x5x6xf32>)
      outs(%zo : tensor<2x5x6xf32>) -> tensor<2x5x6xf32>
  return %o : tensor<2x5x6xf32>
}

// -----

#all = affine_map<(h, i, j) -> (h, i, j)>
#keys = affine_map<(h, i, j) -> (j)>
#row = affine_map<(h, i, j) -> (h, i)>
#sink = affine_map<(h, i, j) -> (h)>

// A scale that is no constant.
// CHECK-LABEL: func.func @negative_data_scale
// CHECK-NOT:     kvc.dense_attention
// REMARK:      Missed{{.*}}the score is scaled by what is no constant
func.func @negative_data_scale(%q: tensor<2x5x4xf32>, %k: tensor<2x4x5xf32>, %v: tensor<2x5x6xf32>, %by: tensor<2x5x5xf32>)
    -> tensor<2x5x6xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<2x5x5xf32>
  %z = linalg.fill ins(%zero : f32) outs(%e : tensor<2x5x5xf32>) -> tensor<2x5x5xf32>
  %s = linalg.batch_matmul ins(%q, %k : tensor<2x5x4xf32>, tensor<2x4x5xf32>)
      outs(%z : tensor<2x5x5xf32>) -> tensor<2x5x5xf32>
  %scaled = arith.mulf %s, %by : tensor<2x5x5xf32>
  %p = linalg.softmax dimension(2) ins(%scaled : tensor<2x5x5xf32>) outs(%e : tensor<2x5x5xf32>) -> tensor<2x5x5xf32>
  %eo = tensor.empty() : tensor<2x5x6xf32>
  %zo = linalg.fill ins(%zero : f32) outs(%eo : tensor<2x5x6xf32>) -> tensor<2x5x6xf32>
  %o = linalg.batch_matmul ins(%p, %v : tensor<2x5x5xf32>, tensor<2x5x6xf32>)
      outs(%zo : tensor<2x5x6xf32>) -> tensor<2x5x6xf32>
  return %o : tensor<2x5x6xf32>
}

// -----

#all = affine_map<(h, i, j) -> (h, i, j)>
#keys = affine_map<(h, i, j) -> (j)>
#row = affine_map<(h, i, j) -> (h, i)>
#sink = affine_map<(h, i, j) -> (h)>

// A scale without a value.
// CHECK-LABEL: func.func @negative_infinite_scale
// CHECK-NOT:     kvc.dense_attention
// REMARK:      Missed{{.*}}its scale is not finite
func.func @negative_infinite_scale(%q: tensor<2x5x4xf32>, %k: tensor<2x4x5xf32>, %v: tensor<2x5x6xf32>)
    -> tensor<2x5x6xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<2x5x5xf32>
  %z = linalg.fill ins(%zero : f32) outs(%e : tensor<2x5x5xf32>) -> tensor<2x5x5xf32>
  %s = linalg.batch_matmul ins(%q, %k : tensor<2x5x4xf32>, tensor<2x4x5xf32>)
      outs(%z : tensor<2x5x5xf32>) -> tensor<2x5x5xf32>
  %inf = arith.constant dense<0x7F800000> : tensor<2x5x5xf32>
  %scaled = arith.mulf %s, %inf : tensor<2x5x5xf32>
  %p = linalg.softmax dimension(2) ins(%scaled : tensor<2x5x5xf32>) outs(%e : tensor<2x5x5xf32>) -> tensor<2x5x5xf32>
  %eo = tensor.empty() : tensor<2x5x6xf32>
  %zo = linalg.fill ins(%zero : f32) outs(%eo : tensor<2x5x6xf32>) -> tensor<2x5x6xf32>
  %o = linalg.batch_matmul ins(%p, %v : tensor<2x5x5xf32>, tensor<2x5x6xf32>)
      outs(%zo : tensor<2x5x6xf32>) -> tensor<2x5x6xf32>
  return %o : tensor<2x5x6xf32>
}

// -----

#all = affine_map<(h, i, j) -> (h, i, j)>
#keys = affine_map<(h, i, j) -> (j)>
#row = affine_map<(h, i, j) -> (h, i)>
#sink = affine_map<(h, i, j) -> (h)>

// What the score goes through is not known.
// CHECK-LABEL: func.func @negative_unknown_operation
// CHECK-NOT:     kvc.dense_attention
func.func @negative_unknown_operation(%q: tensor<2x5x4xf32>, %k: tensor<2x4x5xf32>, %v: tensor<2x5x6xf32>)
    -> tensor<2x5x6xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<2x5x5xf32>
  %z = linalg.fill ins(%zero : f32) outs(%e : tensor<2x5x5xf32>) -> tensor<2x5x5xf32>
  %s = linalg.batch_matmul ins(%q, %k : tensor<2x5x4xf32>, tensor<2x4x5xf32>)
      outs(%z : tensor<2x5x5xf32>) -> tensor<2x5x5xf32>
  %f = math.absf %s : tensor<2x5x5xf32>
  %p = linalg.softmax dimension(2) ins(%f : tensor<2x5x5xf32>) outs(%e : tensor<2x5x5xf32>) -> tensor<2x5x5xf32>
  %eo = tensor.empty() : tensor<2x5x6xf32>
  %zo = linalg.fill ins(%zero : f32) outs(%eo : tensor<2x5x6xf32>) -> tensor<2x5x6xf32>
  %o = linalg.batch_matmul ins(%p, %v : tensor<2x5x5xf32>, tensor<2x5x6xf32>)
      outs(%zo : tensor<2x5x6xf32>) -> tensor<2x5x6xf32>
  return %o : tensor<2x5x6xf32>
}

// -----

#all = affine_map<(h, i, j) -> (h, i, j)>
#keys = affine_map<(h, i, j) -> (j)>
#row = affine_map<(h, i, j) -> (h, i)>
#sink = affine_map<(h, i, j) -> (h)>

// A column for the sink of each head, whose weight is dropped.
// CHECK-LABEL: func.func @sinks
// CHECK:         kvc.dense_attention terms({{.*}}) value({{.*}}) sinks(%arg3) maps {{.*}} tensor<2xf32>
func.func @sinks(%q: tensor<2x5x4xf32>, %k: tensor<2x4x5xf32>, %v: tensor<2x5x6xf32>, %sinks: tensor<2xf32>)
    -> tensor<2x5x6xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<2x5x5xf32>
  %z = linalg.fill ins(%zero : f32) outs(%e : tensor<2x5x5xf32>) -> tensor<2x5x5xf32>
  %s = linalg.batch_matmul ins(%q, %k : tensor<2x5x4xf32>, tensor<2x4x5xf32>)
      outs(%z : tensor<2x5x5xf32>) -> tensor<2x5x5xf32>
  %e1 = tensor.empty() : tensor<2x5x1xf32>
  %column = linalg.generic {indexing_maps = [#sink, #all],
      iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%sinks : tensor<2xf32>) outs(%e1 : tensor<2x5x1xf32>) {
  ^bb0(%in: f32, %out: f32):
    linalg.yield %in : f32
  } -> tensor<2x5x1xf32>
  %joined = tensor.concat dim(2) %s, %column
      : (tensor<2x5x5xf32>, tensor<2x5x1xf32>) -> tensor<2x5x6xf32>
  %e6 = tensor.empty() : tensor<2x5x6xf32>
  %all = linalg.softmax dimension(2) ins(%joined : tensor<2x5x6xf32>)
      outs(%e6 : tensor<2x5x6xf32>) -> tensor<2x5x6xf32>
  %p = tensor.extract_slice %all[0, 0, 0] [2, 5, 5] [1, 1, 1]
      : tensor<2x5x6xf32> to tensor<2x5x5xf32>
  %eo = tensor.empty() : tensor<2x5x6xf32>
  %zo = linalg.fill ins(%zero : f32) outs(%eo : tensor<2x5x6xf32>) -> tensor<2x5x6xf32>
  %o = linalg.batch_matmul ins(%p, %v : tensor<2x5x5xf32>, tensor<2x5x6xf32>)
      outs(%zo : tensor<2x5x6xf32>) -> tensor<2x5x6xf32>
  return %o : tensor<2x5x6xf32>
}

// -----

#q = affine_map<(b, h, i, j, w) -> (b, h, i, w)>
#k = affine_map<(b, h, i, j, w) -> (b, h, j, w)>
#s = affine_map<(b, h, i, j, w) -> (b, h, i, j)>

// Each KV head twice: query head 2 h + g is of KV head h.
// CHECK-DAG: #[[HG:.*]] = affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d1, d2, d3, d5)>
// CHECK-DAG: #[[H:.*]] = affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d1, d4, d5)>
// CHECK-LABEL: func.func @interleaved_heads
// CHECK-SAME:    %[[Q:.*]]: tensor<?x4x7x8xf16>, %[[K:.*]]: tensor<?x2x7x8xf16>, %[[V:.*]]: tensor<?x2x7x8xf16>
// CHECK:         %[[SPLIT:.*]] = tensor.expand_shape %[[Q]] {{\[}}[0], [1, 2], [3], [4]] output_shape [%{{.*}}, 2, 2, 7, 8]
// CHECK:         kvc.dense_attention terms(%[[SPLIT]] * %[[K]]) value(%[[V]]) maps [#[[HG]], #[[H]], #[[H]], #[[HG]]]
func.func @interleaved_heads(%q: tensor<?x4x7x8xf16>, %k: tensor<?x2x7x8xf16>, %v: tensor<?x2x7x8xf16>)
    -> tensor<?x4x7x8xf16> {
  %zero = arith.constant 0.0 : f16
  %c0 = arith.constant 0 : index
  %batch = tensor.dim %q, %c0 : tensor<?x4x7x8xf16>
  %tk = tensor.empty(%batch) : tensor<?x2x2x7x8xf16>
  %tk_0 = linalg.broadcast ins(%k : tensor<?x2x7x8xf16>) outs(%tk : tensor<?x2x2x7x8xf16>)
      dimensions = [2]
  %rk = tensor.collapse_shape %tk_0 [[0], [1, 2], [3], [4]]
      : tensor<?x2x2x7x8xf16> into tensor<?x4x7x8xf16>
  %tv = tensor.empty(%batch) : tensor<?x2x2x7x8xf16>
  %tv_0 = linalg.broadcast ins(%v : tensor<?x2x7x8xf16>) outs(%tv : tensor<?x2x2x7x8xf16>)
      dimensions = [2]
  %rv = tensor.collapse_shape %tv_0 [[0], [1, 2], [3], [4]]
      : tensor<?x2x2x7x8xf16> into tensor<?x4x7x8xf16>
  %e = tensor.empty(%batch) : tensor<?x4x7x7xf16>
  %z = linalg.fill ins(%zero : f16) outs(%e : tensor<?x4x7x7xf16>) -> tensor<?x4x7x7xf16>
  %s = linalg.contract indexing_maps = [#q, #k, #s]
      ins(%q, %rk : tensor<?x4x7x8xf16>, tensor<?x4x7x8xf16>)
      outs(%z : tensor<?x4x7x7xf16>) -> tensor<?x4x7x7xf16>
  %p = linalg.softmax dimension(3) ins(%s : tensor<?x4x7x7xf16>)
      outs(%e : tensor<?x4x7x7xf16>) -> tensor<?x4x7x7xf16>
  %eo = tensor.empty(%batch) : tensor<?x4x7x8xf16>
  %zo = linalg.fill ins(%zero : f16) outs(%eo : tensor<?x4x7x8xf16>) -> tensor<?x4x7x8xf16>
  %o = linalg.contract indexing_maps = [#s, #k, #q]
      ins(%p, %rv : tensor<?x4x7x7xf16>, tensor<?x4x7x8xf16>)
      outs(%zo : tensor<?x4x7x8xf16>) -> tensor<?x4x7x8xf16>
  return %o : tensor<?x4x7x8xf16>
}

// -----

#q = affine_map<(b, h, i, j, w) -> (b, h, i, w)>
#k = affine_map<(b, h, i, j, w) -> (b, h, j, w)>
#s = affine_map<(b, h, i, j, w) -> (b, h, i, j)>

// All KV heads, twice: query head 2 g + h is of KV head h.
// CHECK-DAG: #[[GH:.*]] = affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d2, d1, d3, d5)>
// CHECK-DAG: #[[H:.*]] = affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d1, d4, d5)>
// CHECK-LABEL: func.func @tiled_heads
// CHECK-SAME:    %[[Q:.*]]: tensor<?x4x7x8xf16>, %[[K:.*]]: tensor<?x2x7x8xf16>, %[[V:.*]]: tensor<?x2x7x8xf16>
// CHECK:         kvc.dense_attention terms(%{{.*}} * %[[K]]) value(%[[V]]) maps [#[[GH]], #[[H]], #[[H]], #[[GH]]]
func.func @tiled_heads(%q: tensor<?x4x7x8xf16>, %k: tensor<?x2x7x8xf16>, %v: tensor<?x2x7x8xf16>)
    -> tensor<?x4x7x8xf16> {
  %zero = arith.constant 0.0 : f16
  %c0 = arith.constant 0 : index
  %batch = tensor.dim %q, %c0 : tensor<?x4x7x8xf16>
  %tk = tensor.empty(%batch) : tensor<?x2x2x7x8xf16>
  %tk_0 = linalg.broadcast ins(%k : tensor<?x2x7x8xf16>) outs(%tk : tensor<?x2x2x7x8xf16>)
      dimensions = [1]
  %rk = tensor.collapse_shape %tk_0 [[0], [1, 2], [3], [4]]
      : tensor<?x2x2x7x8xf16> into tensor<?x4x7x8xf16>
  %tv = tensor.empty(%batch) : tensor<?x2x2x7x8xf16>
  %tv_0 = linalg.broadcast ins(%v : tensor<?x2x7x8xf16>) outs(%tv : tensor<?x2x2x7x8xf16>)
      dimensions = [1]
  %rv = tensor.collapse_shape %tv_0 [[0], [1, 2], [3], [4]]
      : tensor<?x2x2x7x8xf16> into tensor<?x4x7x8xf16>
  %e = tensor.empty(%batch) : tensor<?x4x7x7xf16>
  %z = linalg.fill ins(%zero : f16) outs(%e : tensor<?x4x7x7xf16>) -> tensor<?x4x7x7xf16>
  %s = linalg.contract indexing_maps = [#q, #k, #s]
      ins(%q, %rk : tensor<?x4x7x8xf16>, tensor<?x4x7x8xf16>)
      outs(%z : tensor<?x4x7x7xf16>) -> tensor<?x4x7x7xf16>
  %p = linalg.softmax dimension(3) ins(%s : tensor<?x4x7x7xf16>)
      outs(%e : tensor<?x4x7x7xf16>) -> tensor<?x4x7x7xf16>
  %eo = tensor.empty(%batch) : tensor<?x4x7x8xf16>
  %zo = linalg.fill ins(%zero : f16) outs(%eo : tensor<?x4x7x8xf16>) -> tensor<?x4x7x8xf16>
  %o = linalg.contract indexing_maps = [#s, #k, #q]
      ins(%p, %rv : tensor<?x4x7x7xf16>, tensor<?x4x7x8xf16>)
      outs(%zo : tensor<?x4x7x8xf16>) -> tensor<?x4x7x8xf16>
  return %o : tensor<?x4x7x8xf16>
}
