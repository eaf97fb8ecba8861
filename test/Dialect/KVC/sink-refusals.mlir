// Caches that stay as they are: the remark says why, and the functions do not change at all.

// RUN: kvc-opt %s -split-input-file -mlir-elide-elementsattrs-if-larger=4 -o %t.before
// RUN: kvc-opt %s -split-input-file -mlir-elide-elementsattrs-if-larger=4 -kvc-sink-through-cache \
// RUN:   -remarks-filter=kvc-sink-through-cache -remark-policy=all -o %t.after 2> %t.remarks
// RUN: diff %t.before %t.after
// RUN: FileCheck %s --input-file=%t.remarks --implicit-check-not=Passed --implicit-check-not=Missed

// A second concatenation of one past, which others may rely on.
// CHECK: remark: [Missed] SunkThroughCache {{.*}}"cache 'k' stays as it is: its past is used elsewhere"
func.func @two_writers(%x: tensor<2x1x8xf32>, %past: tensor<2x8x?x8xf32> {kvc.cache = "k"})
    -> (tensor<2x8x?x8xf32>, tensor<2x8x?x8xf32> {kvc.cache = "k"}) {
  %e = tensor.empty() : tensor<2x8x1x8xf32>
  %k = linalg.broadcast ins(%x : tensor<2x1x8xf32>) outs(%e : tensor<2x8x1x8xf32>) dimensions = [1]
  %all = tensor.concat dim(2) %past, %k
      : (tensor<2x8x?x8xf32>, tensor<2x8x1x8xf32>) -> tensor<2x8x?x8xf32>
  %n = math.absf %k : tensor<2x8x1x8xf32>
  %other = tensor.concat dim(2) %past, %n
      : (tensor<2x8x?x8xf32>, tensor<2x8x1x8xf32>) -> tensor<2x8x?x8xf32>
  return %other, %all : tensor<2x8x?x8xf32>, tensor<2x8x?x8xf32>
}

// -----

// The past without new tokens is a result as well.
// CHECK: remark: [Missed] SunkThroughCache {{.*}}"cache 'k' stays as it is: its past is used elsewhere"
func.func @past_returned(%x: tensor<2x1x8xf32>, %past: tensor<2x8x?x8xf32> {kvc.cache = "k"})
    -> (tensor<2x8x?x8xf32> {kvc.cache = "k"}, tensor<2x8x?x8xf32>) {
  %e = tensor.empty() : tensor<2x8x1x8xf32>
  %k = linalg.broadcast ins(%x : tensor<2x1x8xf32>) outs(%e : tensor<2x8x1x8xf32>) dimensions = [1]
  %all = tensor.concat dim(2) %past, %k
      : (tensor<2x8x?x8xf32>, tensor<2x8x1x8xf32>) -> tensor<2x8x?x8xf32>
  return %all, %past : tensor<2x8x?x8xf32>, tensor<2x8x?x8xf32>
}

// -----

// The caller has the cache as another result too.
// CHECK: remark: [Missed] SunkThroughCache {{.*}}"cache 'k' stays as it is: a function returns it as another result too"
func.func @another_result(%x: tensor<2x1x8xf32>, %past: tensor<2x8x?x8xf32> {kvc.cache = "k"})
    -> (tensor<2x8x?x8xf32>, tensor<2x8x?x8xf32> {kvc.cache = "k"}) {
  %e = tensor.empty() : tensor<2x8x1x8xf32>
  %k = linalg.broadcast ins(%x : tensor<2x1x8xf32>) outs(%e : tensor<2x8x1x8xf32>) dimensions = [1]
  %all = tensor.concat dim(2) %past, %k
      : (tensor<2x8x?x8xf32>, tensor<2x8x1x8xf32>) -> tensor<2x8x?x8xf32>
  return %all, %all : tensor<2x8x?x8xf32>, tensor<2x8x?x8xf32>
}

// -----

// CHECK: remark: [Missed] SunkThroughCache {{.*}}"cache 'k' stays as it is: a function returns it twice"
func.func @returned_twice(%x: tensor<2x1x8xf32>, %past: tensor<2x8x?x8xf32> {kvc.cache = "k"})
    -> (tensor<2x8x?x8xf32> {kvc.cache = "k"}, tensor<2x8x?x8xf32> {kvc.cache = "k"}) {
  %e = tensor.empty() : tensor<2x8x1x8xf32>
  %k = linalg.broadcast ins(%x : tensor<2x1x8xf32>) outs(%e : tensor<2x8x1x8xf32>) dimensions = [1]
  %all = tensor.concat dim(2) %past, %k
      : (tensor<2x8x?x8xf32>, tensor<2x8x1x8xf32>) -> tensor<2x8x?x8xf32>
  return %all, %all : tensor<2x8x?x8xf32>, tensor<2x8x?x8xf32>
}

// -----

// CHECK: remark: [Missed] SunkThroughCache {{.*}}"cache 'k' stays as it is: two arguments of a function hold its past"
func.func @two_pasts(%x: tensor<2x1x8xf32>, %past: tensor<2x8x?x8xf32> {kvc.cache = "k"},
                     %other: tensor<2x8x?x8xf32> {kvc.cache = "k"})
    -> (tensor<2x8x?x8xf32> {kvc.cache = "k"}) {
  %e = tensor.empty() : tensor<2x8x1x8xf32>
  %k = linalg.broadcast ins(%x : tensor<2x1x8xf32>) outs(%e : tensor<2x8x1x8xf32>) dimensions = [1]
  %all = tensor.concat dim(2) %other, %k
      : (tensor<2x8x?x8xf32>, tensor<2x8x1x8xf32>) -> tensor<2x8x?x8xf32>
  return %all : tensor<2x8x?x8xf32>
}

// -----

// Written into a larger tensor, and the past after itself.
// CHECK: remark: [Missed] SunkThroughCache {{.*}}"cache 'k' stays as it is: its past and new rows are not concatenated"
// CHECK: remark: [Missed] SunkThroughCache {{.*}}"cache 'v' stays as it is: its past and new rows are not concatenated"
func.func @other_writers(%x: tensor<2x1x8xf32>, %at: index,
                         %past_k: tensor<2x8x64x8xf32> {kvc.cache = "k"},
                         %past_v: tensor<2x8x?x8xf32> {kvc.cache = "v"})
    -> (tensor<2x8x64x8xf32> {kvc.cache = "k"}, tensor<2x8x?x8xf32> {kvc.cache = "v"}) {
  %e = tensor.empty() : tensor<2x8x1x8xf32>
  %k = linalg.broadcast ins(%x : tensor<2x1x8xf32>) outs(%e : tensor<2x8x1x8xf32>) dimensions = [1]
  %all_k = tensor.insert_slice %k into %past_k[0, 0, %at, 0] [2, 8, 1, 8] [1, 1, 1, 1]
      : tensor<2x8x1x8xf32> into tensor<2x8x64x8xf32>
  %all_v = tensor.concat dim(2) %past_v, %past_v
      : (tensor<2x8x?x8xf32>, tensor<2x8x?x8xf32>) -> tensor<2x8x?x8xf32>
  return %all_k, %all_v : tensor<2x8x64x8xf32>, tensor<2x8x?x8xf32>
}

// -----

// CHECK: remark: [Missed] SunkThroughCache {{.*}}"cache 'k' stays as it is: functions concatenate it along different dimensions"
func.func @along_tokens(%x: tensor<?x1x8xf32>, %past: tensor<?x?x8xf32> {kvc.cache = "k"})
    -> (tensor<?x?x8xf32> {kvc.cache = "k"}) {
  %all = tensor.concat dim(1) %past, %x : (tensor<?x?x8xf32>, tensor<?x1x8xf32>) -> tensor<?x?x8xf32>
  return %all : tensor<?x?x8xf32>
}
func.func @along_batch(%x: tensor<1x?x8xf32>, %past: tensor<?x?x8xf32> {kvc.cache = "k"})
    -> (tensor<?x?x8xf32> {kvc.cache = "k"}) {
  %all = tensor.concat dim(0) %past, %x : (tensor<?x?x8xf32>, tensor<1x?x8xf32>) -> tensor<?x?x8xf32>
  return %all : tensor<?x?x8xf32>
}

// -----

// CHECK: remark: [Missed] SunkThroughCache {{.*}}"cache 'k' stays as it is: a function reads it and does not return it"
// CHECK: remark: [Missed] SunkThroughCache {{.*}}"cache 'v' stays as it is: no function makes it longer"
// CHECK: remark: [Missed] SunkThroughCache {{.*}}"cache 'n' stays as it is: it has no rows of floating-point numbers"
// CHECK: remark: [Missed] SunkThroughCache {{.*}}"cache 'w' stays as it is: its width is not static"
func.func @read(%past: tensor<?x?x8xf32> {kvc.cache = "k"}) -> tensor<?x?x8xf32> {
  %y = math.absf %past : tensor<?x?x8xf32>
  return %y : tensor<?x?x8xf32>
}
func.func @make(%x: tensor<?x8x?x8xf32>) -> (tensor<?x8x?x8xf32> {kvc.cache = "v"}) {
  return %x : tensor<?x8x?x8xf32>
}
func.func @others(%n: tensor<2x1xi32>, %w: tensor<2x1x?xf32>,
                  %past_n: tensor<2x?xi32> {kvc.cache = "n"}, %past_w: tensor<2x?x?xf32> {kvc.cache = "w"})
    -> (tensor<2x?xi32> {kvc.cache = "n"}, tensor<2x?x?xf32> {kvc.cache = "w"}) {
  %all_n = tensor.concat dim(1) %past_n, %n : (tensor<2x?xi32>, tensor<2x1xi32>) -> tensor<2x?xi32>
  %all_w = tensor.concat dim(1) %past_w, %w : (tensor<2x?x?xf32>, tensor<2x1x?xf32>) -> tensor<2x?x?xf32>
  return %all_n, %all_w : tensor<2x?xi32>, tensor<2x?x?xf32>
}

// -----

// A body of two blocks.
// CHECK: remark: [Missed] SunkThroughCache {{.*}}"cache 'k' stays as it is: a function with it has no body of one block"
func.func @blocks(%x: tensor<?x1x8xf32>, %past: tensor<?x?x8xf32> {kvc.cache = "k"})
    -> (tensor<?x?x8xf32> {kvc.cache = "k"}) {
  cf.br ^bb1
^bb1:
  %all = tensor.concat dim(1) %past, %x : (tensor<?x?x8xf32>, tensor<?x1x8xf32>) -> tensor<?x?x8xf32>
  return %all : tensor<?x?x8xf32>
}

// -----

// How many heads there are would not be known any more.
// CHECK: remark: [Missed] SunkThroughCache {{.*}}"cache 'k' stays as it is: what its rows are made of lacks a dimension that is not static"
func.func @dynamic_heads(%x: tensor<2x1x8xf32>, %heads: index, %past: tensor<2x?x?x8xf32> {kvc.cache = "k"})
    -> (tensor<2x?x?x8xf32> {kvc.cache = "k"}) {
  %e = tensor.empty(%heads) : tensor<2x?x1x8xf32>
  %k = linalg.broadcast ins(%x : tensor<2x1x8xf32>) outs(%e : tensor<2x?x1x8xf32>) dimensions = [1]
  %all = tensor.concat dim(2) %past, %k
      : (tensor<2x?x?x8xf32>, tensor<2x?x1x8xf32>) -> tensor<2x?x?x8xf32>
  return %all : tensor<2x?x?x8xf32>
}

// -----

// More parts than models have: each would be a term.
// CHECK: remark: [Missed] SunkThroughCache {{.*}}"cache 'k' stays as it is: expected rows of at most 16 parts next to each other, got more"
func.func @parts(%x: tensor<2x1x1xf32>, %y: tensor<2x1x1xf32>, %past: tensor<2x?x17xf32> {kvc.cache = "k"})
    -> (tensor<2x?x17xf32> {kvc.cache = "k"}) {
  %k = tensor.concat dim(2) %x, %y, %x, %y, %x, %y, %x, %y, %x, %y, %x, %y, %x, %y, %x, %y, %x
      : (tensor<2x1x1xf32>, tensor<2x1x1xf32>, tensor<2x1x1xf32>, tensor<2x1x1xf32>, tensor<2x1x1xf32>,
         tensor<2x1x1xf32>, tensor<2x1x1xf32>, tensor<2x1x1xf32>, tensor<2x1x1xf32>, tensor<2x1x1xf32>,
         tensor<2x1x1xf32>, tensor<2x1x1xf32>, tensor<2x1x1xf32>, tensor<2x1x1xf32>, tensor<2x1x1xf32>,
         tensor<2x1x1xf32>, tensor<2x1x1xf32>) -> tensor<2x1x17xf32>
  %all = tensor.concat dim(1) %past, %k : (tensor<2x?x17xf32>, tensor<2x1x17xf32>) -> tensor<2x?x17xf32>
  return %all : tensor<2x?x17xf32>
}

// -----

// Values are made of the rows that keys are made of, and keys of others in one function.
// CHECK: remark: [Missed] SunkThroughCache {{.*}}"cache 'k' stays as it is: functions make its rows in different ways"
// CHECK: remark: [Missed] SunkThroughCache {{.*}}"cache 'v' stays as it is: it shares a source with 'k', which stays"
func.func @shared_source(%x: tensor<2x1x8xf32>, %past_k: tensor<2x8x?x8xf32> {kvc.cache = "k"},
                         %past_v: tensor<2x8x?x8xf32> {kvc.cache = "v"})
    -> (tensor<2x8x?x8xf32> {kvc.cache = "k"}, tensor<2x8x?x8xf32> {kvc.cache = "v"}) {
  %e = tensor.empty() : tensor<2x8x1x8xf32>
  %k = linalg.broadcast ins(%x : tensor<2x1x8xf32>) outs(%e : tensor<2x8x1x8xf32>) dimensions = [1]
  %all_k = tensor.concat dim(2) %past_k, %k
      : (tensor<2x8x?x8xf32>, tensor<2x8x1x8xf32>) -> tensor<2x8x?x8xf32>
  %all_v = tensor.concat dim(2) %past_v, %k
      : (tensor<2x8x?x8xf32>, tensor<2x8x1x8xf32>) -> tensor<2x8x?x8xf32>
  return %all_k, %all_v : tensor<2x8x?x8xf32>, tensor<2x8x?x8xf32>
}
func.func @other_keys(%x: tensor<2x8x1x8xf32>, %past: tensor<2x8x?x8xf32> {kvc.cache = "k"})
    -> (tensor<2x8x?x8xf32> {kvc.cache = "k"}) {
  %all = tensor.concat dim(2) %past, %x
      : (tensor<2x8x?x8xf32>, tensor<2x8x1x8xf32>) -> tensor<2x8x?x8xf32>
  return %all : tensor<2x8x?x8xf32>
}

// -----

#row = affine_map<(b, h, t, w, c) -> (b, t, c)>
#weight = affine_map<(b, h, t, w, c) -> (h, w, c)>
#heads = affine_map<(b, h, t, w, c) -> (b, h, t, w)>

// Two functions multiply by different weights.
// CHECK: remark: [Missed] SunkThroughCache {{.*}}"cache 'k' stays as it is: functions make its rows in different ways"
func.func @prefill(%c: tensor<2x?x16xf32>, %wk: tensor<8x8x16xf32>, %wv: tensor<8x8x16xf32>)
    -> (tensor<2x8x?x8xf32> {kvc.cache = "k"}) {
  %zero = arith.constant 0.0 : f32
  %c1 = arith.constant 1 : index
  %t = tensor.dim %c, %c1 : tensor<2x?x16xf32>
  %x = math.absf %c : tensor<2x?x16xf32>
  %e = tensor.empty(%t) : tensor<2x8x?x8xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<2x8x?x8xf32>) -> tensor<2x8x?x8xf32>
  %k = linalg.contract indexing_maps = [#row, #weight, #heads]
      ins(%x, %wk : tensor<2x?x16xf32>, tensor<8x8x16xf32>) outs(%f : tensor<2x8x?x8xf32>) -> tensor<2x8x?x8xf32>
  return %k : tensor<2x8x?x8xf32>
}
func.func @decode(%c: tensor<2x1x16xf32>, %past: tensor<2x8x?x8xf32> {kvc.cache = "k"},
                  %wk: tensor<8x8x16xf32>, %wv: tensor<8x8x16xf32>)
    -> (tensor<2x8x?x8xf32> {kvc.cache = "k"}) {
  %zero = arith.constant 0.0 : f32
  %x = math.absf %c : tensor<2x1x16xf32>
  %e = tensor.empty() : tensor<2x8x1x8xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<2x8x1x8xf32>) -> tensor<2x8x1x8xf32>
  %k = linalg.contract indexing_maps = [#row, #weight, #heads]
      ins(%x, %wv : tensor<2x1x16xf32>, tensor<8x8x16xf32>) outs(%f : tensor<2x8x1x8xf32>) -> tensor<2x8x1x8xf32>
  %all = tensor.concat dim(2) %past, %k
      : (tensor<2x8x?x8xf32>, tensor<2x8x1x8xf32>) -> tensor<2x8x?x8xf32>
  return %all : tensor<2x8x?x8xf32>
}

// -----

#row = affine_map<(b, h, t, w, c) -> (b, t, c)>
#weight = affine_map<(b, h, t, w, c) -> (h, w, c)>
#heads = affine_map<(b, h, t, w, c) -> (b, h, t, w)>

// Weights that are constants are told apart by their numbers, whether these are printed or not.
// CHECK: remark: [Missed] SunkThroughCache {{.*}}"cache 'k' stays as it is: functions make its rows in different ways"
func.func @prefill(%c: tensor<2x4x2xf32>) -> (tensor<2x8x4x2xf32> {kvc.cache = "k"}) {
  %w = arith.constant dense<[[[1.0, 2.0], [3.0, 4.0]], [[1.0, 2.0], [3.0, 4.0]], [[1.0, 2.0], [3.0, 4.0]], [[1.0, 2.0], [3.0, 4.0]],
                             [[1.0, 2.0], [3.0, 4.0]], [[1.0, 2.0], [3.0, 4.0]], [[1.0, 2.0], [3.0, 4.0]], [[1.0, 2.0], [3.0, 4.0]]]>
      : tensor<8x2x2xf32>
  %zero = arith.constant 0.0 : f32
  %x = math.absf %c : tensor<2x4x2xf32>
  %e = tensor.empty() : tensor<2x8x4x2xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<2x8x4x2xf32>) -> tensor<2x8x4x2xf32>
  %k = linalg.contract indexing_maps = [#row, #weight, #heads]
      ins(%x, %w : tensor<2x4x2xf32>, tensor<8x2x2xf32>) outs(%f : tensor<2x8x4x2xf32>) -> tensor<2x8x4x2xf32>
  return %k : tensor<2x8x4x2xf32>
}
func.func @decode(%c: tensor<2x1x2xf32>, %past: tensor<2x8x?x2xf32> {kvc.cache = "k"})
    -> (tensor<2x8x?x2xf32> {kvc.cache = "k"}) {
  %w = arith.constant dense<[[[9.0, 2.0], [3.0, 4.0]], [[1.0, 2.0], [3.0, 4.0]], [[1.0, 2.0], [3.0, 4.0]], [[1.0, 2.0], [3.0, 4.0]],
                             [[1.0, 2.0], [3.0, 4.0]], [[1.0, 2.0], [3.0, 4.0]], [[1.0, 2.0], [3.0, 4.0]], [[1.0, 2.0], [3.0, 4.0]]]>
      : tensor<8x2x2xf32>
  %zero = arith.constant 0.0 : f32
  %x = math.absf %c : tensor<2x1x2xf32>
  %e = tensor.empty() : tensor<2x8x1x2xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<2x8x1x2xf32>) -> tensor<2x8x1x2xf32>
  %k = linalg.contract indexing_maps = [#row, #weight, #heads]
      ins(%x, %w : tensor<2x1x2xf32>, tensor<8x2x2xf32>) outs(%f : tensor<2x8x1x2xf32>) -> tensor<2x8x1x2xf32>
  %all = tensor.concat dim(2) %past, %k
      : (tensor<2x8x?x2xf32>, tensor<2x8x1x2xf32>) -> tensor<2x8x?x2xf32>
  return %all : tensor<2x8x?x2xf32>
}

// -----

#row = affine_map<(b, h, t, w, c) -> (b, t, c)>
#weight = affine_map<(b, h, t, w, c) -> (h, w, c)>
#heads = affine_map<(b, h, t, w, c) -> (b, h, t, w)>
#id = affine_map<(b, h, t, w) -> (b, h, t, w)>
#head = affine_map<(b, h, t, w) -> (b, h, t)>

// A norm of each head between the product and the cache: a norm is no
// product, so that nothing before it is what an attention could read instead.
// CHECK: remark: [Missed] SunkThroughCache {{.*}}"cache 'k' stays as it is: expected the product of a weight and rows of 16, got 'arith.mulf' of it"
func.func @norm(%c: tensor<2x1x16xf32>, %past: tensor<2x8x?x8xf32> {kvc.cache = "k"},
                %wk: tensor<8x8x16xf32>) -> (tensor<2x8x?x8xf32> {kvc.cache = "k"}) {
  %zero = arith.constant 0.0 : f32
  %x = math.absf %c : tensor<2x1x16xf32>
  %e = tensor.empty() : tensor<2x8x1x8xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<2x8x1x8xf32>) -> tensor<2x8x1x8xf32>
  %k0 = linalg.contract indexing_maps = [#row, #weight, #heads]
      ins(%x, %wk : tensor<2x1x16xf32>, tensor<8x8x16xf32>) outs(%f : tensor<2x8x1x8xf32>) -> tensor<2x8x1x8xf32>
  %se = tensor.empty() : tensor<2x8x1xf32>
  %sf = linalg.fill ins(%zero : f32) outs(%se : tensor<2x8x1xf32>) -> tensor<2x8x1xf32>
  %squares = linalg.contract indexing_maps = [#id, #id, #head]
      ins(%k0, %k0 : tensor<2x8x1x8xf32>, tensor<2x8x1x8xf32>) outs(%sf : tensor<2x8x1xf32>) -> tensor<2x8x1xf32>
  %k = linalg.generic {indexing_maps = [#id, #head, #id],
      iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      ins(%k0, %squares : tensor<2x8x1x8xf32>, tensor<2x8x1xf32>) outs(%e : tensor<2x8x1x8xf32>) {
  ^bb0(%a: f32, %n: f32, %out: f32):
    %d = math.rsqrt %n : f32
    %p = arith.mulf %a, %d : f32
    linalg.yield %p : f32
  } -> tensor<2x8x1x8xf32>
  %all = tensor.concat dim(2) %past, %k
      : (tensor<2x8x?x8xf32>, tensor<2x8x1x8xf32>) -> tensor<2x8x?x8xf32>
  return %all : tensor<2x8x?x8xf32>
}

// -----

#row = affine_map<(b, h, t, w, c) -> (b, t, c)>
#weight = affine_map<(b, h, t, w, c) -> (h, w, c)>
#heads = affine_map<(b, h, t, w, c) -> (b, h, t, w)>

// A rotary embedding of keys that are products: each token turns by its own angle.
// CHECK: remark: [Missed] SunkThroughCache {{.*}}"cache 'k' stays as it is: expected the product of a weight and rows of 16, got 'kvc.dense_rope' of it"
func.func @rope(%c: tensor<2x1x16xf32>, %positions: tensor<1xi64> {kvc.positions},
                %past: tensor<2x8x?x8xf32> {kvc.cache = "k"}, %wk: tensor<8x8x16xf32>)
    -> (tensor<2x8x?x8xf32> {kvc.cache = "k"}) {
  %zero = arith.constant 0.0 : f32
  %x = math.absf %c : tensor<2x1x16xf32>
  %e = tensor.empty() : tensor<2x8x1x8xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<2x8x1x8xf32>) -> tensor<2x8x1x8xf32>
  %k0 = linalg.contract indexing_maps = [#row, #weight, #heads]
      ins(%x, %wk : tensor<2x1x16xf32>, tensor<8x8x16xf32>) outs(%f : tensor<2x8x1x8xf32>) -> tensor<2x8x1x8xf32>
  %k = kvc.dense_rope %k0 positions(%positions) {position_dims = array<i64: 2>, rotary_width = 8 : i64, theta = 1.0e4 : f64}
      : tensor<2x8x1x8xf32>, tensor<1xi64>
  %all = tensor.concat dim(2) %past, %k
      : (tensor<2x8x?x8xf32>, tensor<2x8x1x8xf32>) -> tensor<2x8x?x8xf32>
  return %all : tensor<2x8x?x8xf32>
}

// -----

#row = affine_map<(b, h, t, w, c) -> (b, t, c)>
#each = affine_map<(b, h, t, w, c) -> (t, h, w, c)>
#heads = affine_map<(b, h, t, w, c) -> (b, h, t, w)>

// A weight for each token.
// CHECK: remark: [Missed] SunkThroughCache {{.*}}"cache 'k' stays as it is: expected a weight of rows of 16 that all tokens share, got one for each token"
func.func @weight_of_token(%c: tensor<2x4x16xf32>, %past: tensor<2x8x?x8xf32> {kvc.cache = "k"},
                           %wk: tensor<4x8x8x16xf32>) -> (tensor<2x8x?x8xf32> {kvc.cache = "k"}) {
  %zero = arith.constant 0.0 : f32
  %x = math.absf %c : tensor<2x4x16xf32>
  %e = tensor.empty() : tensor<2x8x4x8xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<2x8x4x8xf32>) -> tensor<2x8x4x8xf32>
  %k = linalg.contract indexing_maps = [#row, #each, #heads]
      ins(%x, %wk : tensor<2x4x16xf32>, tensor<4x8x8x16xf32>) outs(%f : tensor<2x8x4x8xf32>) -> tensor<2x8x4x8xf32>
  %all = tensor.concat dim(2) %past, %k
      : (tensor<2x8x?x8xf32>, tensor<2x8x4x8xf32>) -> tensor<2x8x?x8xf32>
  return %all : tensor<2x8x?x8xf32>
}

// -----

#row = affine_map<(b, h, t, w, c) -> (b, t, c)>
#weight = affine_map<(b, h, t, w, c) -> (h, w, c)>
#heads = affine_map<(b, h, t, w, c) -> (b, h, t, w)>

// Which of two arguments is the weight?
// CHECK: remark: [Missed] SunkThroughCache {{.*}}"cache 'k' stays as it is: expected rows of 16 that are computed, got the product of two arguments"
func.func @two_arguments(%x: tensor<2x4x16xf32>, %past: tensor<2x8x?x8xf32> {kvc.cache = "k"},
                         %wk: tensor<8x8x16xf32>) -> (tensor<2x8x?x8xf32> {kvc.cache = "k"}) {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<2x8x4x8xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<2x8x4x8xf32>) -> tensor<2x8x4x8xf32>
  %k = linalg.contract indexing_maps = [#row, #weight, #heads]
      ins(%x, %wk : tensor<2x4x16xf32>, tensor<8x8x16xf32>) outs(%f : tensor<2x8x4x8xf32>) -> tensor<2x8x4x8xf32>
  %all = tensor.concat dim(2) %past, %k
      : (tensor<2x8x?x8xf32>, tensor<2x8x4x8xf32>) -> tensor<2x8x?x8xf32>
  return %all : tensor<2x8x?x8xf32>
}

// -----

#row = affine_map<(b, h, t, w, c) -> (b, t, c)>
#weight = affine_map<(b, h, t, w, c) -> (h, w, c)>
#heads = affine_map<(b, h, t, w, c) -> (b, h, t, w)>

// What is multiplied is a part of the rows.
// CHECK: remark: [Missed] SunkThroughCache {{.*}}"cache 'k' stays as it is: expected the product of a weight and all of a tensor's rows of 16, got one of a part of them, or added to another"
func.func @added(%c: tensor<2x1x16xf32>, %first: tensor<2x8x1x8xf32>, %past: tensor<2x8x?x8xf32> {kvc.cache = "k"},
                 %wk: tensor<8x8x16xf32>) -> (tensor<2x8x?x8xf32> {kvc.cache = "k"}) {
  %x = math.absf %c : tensor<2x1x16xf32>
  %k = linalg.contract indexing_maps = [#row, #weight, #heads]
      ins(%x, %wk : tensor<2x1x16xf32>, tensor<8x8x16xf32>) outs(%first : tensor<2x8x1x8xf32>) -> tensor<2x8x1x8xf32>
  %all = tensor.concat dim(2) %past, %k
      : (tensor<2x8x?x8xf32>, tensor<2x8x1x8xf32>) -> tensor<2x8x?x8xf32>
  return %all : tensor<2x8x?x8xf32>
}

// -----

#row = affine_map<(b, h, t, w, c) -> (b, t, c)>
#weight = affine_map<(b, h, t, w, c) -> (h, w, c)>
#heads = affine_map<(b, h, t, w, c) -> (b, h, t, w)>

// The hidden state, of fewer bytes than all heads, but 16 times as wide as one.
// CHECK: remark: [Missed] SunkThroughCache {{.*}}"cache 'k' stays as it is: 1024 instead of 2048 bytes a token would take 16.0 times the work a cached token, which is above 4.0"
func.func @hidden_state(%c: tensor<2x1x128xf32>, %past: tensor<2x32x?x8xf32> {kvc.cache = "k"},
                        %wk: tensor<32x8x128xf32>) -> (tensor<2x32x?x8xf32> {kvc.cache = "k"}) {
  %zero = arith.constant 0.0 : f32
  %x = math.absf %c : tensor<2x1x128xf32>
  %e = tensor.empty() : tensor<2x32x1x8xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<2x32x1x8xf32>) -> tensor<2x32x1x8xf32>
  %k = linalg.contract indexing_maps = [#row, #weight, #heads]
      ins(%x, %wk : tensor<2x1x128xf32>, tensor<32x8x128xf32>) outs(%f : tensor<2x32x1x8xf32>) -> tensor<2x32x1x8xf32>
  %all = tensor.concat dim(2) %past, %k
      : (tensor<2x32x?x8xf32>, tensor<2x32x1x8xf32>) -> tensor<2x32x?x8xf32>
  return %all : tensor<2x32x?x8xf32>
}

// -----

// A cache in pages is no tensor, and no remark says that it is not returned.
func.func @pages(%cache: !kvc.cache<page = 16, k: 8x128xbf16> {kvc.cache = "k"}) {
  return
}
