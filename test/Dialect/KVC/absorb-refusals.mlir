// Attention that stays as it is: the remark says why, and the functions do not change at all.

// RUN: kvc-opt %s -split-input-file -o %t.before
// RUN: kvc-opt %s -split-input-file -kvc-absorb-mla -remarks-filter=kvc-absorb-mla \
// RUN:   -remark-policy=all -o %t.after 2> %t.remarks
// RUN: diff %t.before %t.after
// RUN: FileCheck %s --input-file=%t.remarks --implicit-check-not=Passed --implicit-check-not=Missed

#q = affine_map<(b, h, g, i, j, w) -> (b, h, i, w)>
#k = affine_map<(b, h, g, i, j, w) -> (b, h, j, w)>
#row = affine_map<(b, h, j, w, c) -> (b, j, c)>
#weight = affine_map<(b, h, j, w, c) -> (h, w, c)>
#heads = affine_map<(b, h, j, w, c) -> (b, h, j, w)>
#id = affine_map<(b, h, j, w) -> (b, h, j, w)>
#head = affine_map<(b, h, j, w) -> (b, h, j)>

// A norm of each head after the product, with the mask and the sinks of each head beside it.
// CHECK: [Missed] Absorbed {{.*}}"key 0 stays: expected the product of a weight and rows of 16, got 'arith.mulf' of it"
// CHECK: [Missed] Absorbed {{.*}}"the value stays: expected the product of a weight and rows of 16, got 'arith.mulf' of it"
#m = affine_map<(b, h, g, i, j, w) -> (h, i, j)>
#s = affine_map<(b, h, g, i, j, w) -> (h)>
func.func @norm(%q: tensor<2x4x3x8xf32>, %c: tensor<2x9x16xf32>, %wk: tensor<4x8x16xf32>,
                %mask: tensor<4x3x9xf32>, %sinks: tensor<4xf32>) -> tensor<2x4x3x8xf32> {
  %zero = arith.constant 0.0 : f32
  %x = math.absf %c : tensor<2x9x16xf32>
  %e = tensor.empty() : tensor<2x4x9x8xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<2x4x9x8xf32>) -> tensor<2x4x9x8xf32>
  %k0 = linalg.contract indexing_maps = [#row, #weight, #heads]
      ins(%x, %wk : tensor<2x9x16xf32>, tensor<4x8x16xf32>) outs(%f : tensor<2x4x9x8xf32>) -> tensor<2x4x9x8xf32>
  %se = tensor.empty() : tensor<2x4x9xf32>
  %sf = linalg.fill ins(%zero : f32) outs(%se : tensor<2x4x9xf32>) -> tensor<2x4x9xf32>
  %squares = linalg.contract indexing_maps = [#id, #id, #head]
      ins(%k0, %k0 : tensor<2x4x9x8xf32>, tensor<2x4x9x8xf32>) outs(%sf : tensor<2x4x9xf32>) -> tensor<2x4x9xf32>
  %k = linalg.generic {indexing_maps = [#id, #head, #id],
      iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      ins(%k0, %squares : tensor<2x4x9x8xf32>, tensor<2x4x9xf32>) outs(%e : tensor<2x4x9x8xf32>) {
  ^bb0(%a: f32, %n: f32, %out: f32):
    %d = math.rsqrt %n : f32
    %p = arith.mulf %a, %d : f32
    linalg.yield %p : f32
  } -> tensor<2x4x9x8xf32>
  %o = kvc.dense_attention terms(%q * %k) value(%k) mask(%mask) sinks(%sinks) maps [#q, #k, #k, #m, #s, #q]
      {scale = 0.25 : f32} : (tensor<2x4x3x8xf32>, tensor<2x4x9x8xf32>, tensor<2x4x9x8xf32>, tensor<4x3x9xf32>, tensor<4xf32>)
      -> tensor<2x4x3x8xf32>
  return %o : tensor<2x4x3x8xf32>
}

// -----

#q = affine_map<(b, h, g, i, j, w) -> (b, h, i, w)>
#k = affine_map<(b, h, g, i, j, w) -> (b, h, j, w)>
#row = affine_map<(b, h, j, w, c) -> (b, j, c)>
#weight = affine_map<(b, h, j, w, c) -> (h, w, c)>
#each = affine_map<(b, h, j, w, c) -> (j, h, w, c)>
#heads = affine_map<(b, h, j, w, c) -> (b, h, j, w)>

// Keys that are turned after the product, and a weight for each of the values.
// CHECK: [Missed] Absorbed {{.*}}"key 0 stays: expected the product of a weight and rows of 16, got 'kvc.dense_rope' of it"
// CHECK: [Missed] Absorbed {{.*}}"the value stays: expected a weight of rows of 16 that all tokens share, got one for each token"
func.func @rope_and_weight_of_key(%q: tensor<2x4x3x8xf32>, %c: tensor<2x9x16xf32>, %positions: tensor<9xi64>,
                                  %wk: tensor<4x8x16xf32>, %wv: tensor<9x4x8x16xf32>) -> tensor<2x4x3x8xf32> {
  %zero = arith.constant 0.0 : f32
  %x = math.absf %c : tensor<2x9x16xf32>
  %e = tensor.empty() : tensor<2x4x9x8xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<2x4x9x8xf32>) -> tensor<2x4x9x8xf32>
  %k0 = linalg.contract indexing_maps = [#row, #weight, #heads]
      ins(%x, %wk : tensor<2x9x16xf32>, tensor<4x8x16xf32>) outs(%f : tensor<2x4x9x8xf32>) -> tensor<2x4x9x8xf32>
  %k = kvc.dense_rope %k0 positions(%positions) {position_dims = array<i64: 2>, rotary_width = 8 : i64, theta = 1.0e4 : f64}
      : tensor<2x4x9x8xf32>, tensor<9xi64>
  %v = linalg.contract indexing_maps = [#row, #each, #heads]
      ins(%x, %wv : tensor<2x9x16xf32>, tensor<9x4x8x16xf32>) outs(%f : tensor<2x4x9x8xf32>) -> tensor<2x4x9x8xf32>
  %o = kvc.dense_attention terms(%q * %k) value(%v) score [#kvc.causal] maps [#q, #k, #k, #q]
      {scale = 0.25 : f32} : (tensor<2x4x3x8xf32>, tensor<2x4x9x8xf32>, tensor<2x4x9x8xf32>) -> tensor<2x4x3x8xf32>
  return %o : tensor<2x4x3x8xf32>
}

// -----

#q = affine_map<(b, h, g, i, j, w) -> (b, h, i, w)>
#k = affine_map<(b, h, g, i, j, w) -> (b, h, j, w)>
#row = affine_map<(b, h, j, w, c) -> (b, j, c)>
#weight = affine_map<(b, h, j, w, c) -> (h, w, c)>
#heads = affine_map<(b, h, j, w, c) -> (b, h, j, w)>

// A value of a product and another part.
// CHECK: [Missed] Absorbed {{.*}}"the value stays: it is parts next to each other"
func.func @value_parts(%q: tensor<2x4x3x8xf32>, %k: tensor<2x4x9x8xf32>, %c: tensor<2x9x16xf32>,
                       %rest: tensor<2x4x9x4xf32>, %wv: tensor<4x8x16xf32>) -> tensor<2x4x3x12xf32> {
  %zero = arith.constant 0.0 : f32
  %x = math.absf %c : tensor<2x9x16xf32>
  %e = tensor.empty() : tensor<2x4x9x8xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<2x4x9x8xf32>) -> tensor<2x4x9x8xf32>
  %v0 = linalg.contract indexing_maps = [#row, #weight, #heads]
      ins(%x, %wv : tensor<2x9x16xf32>, tensor<4x8x16xf32>) outs(%f : tensor<2x4x9x8xf32>) -> tensor<2x4x9x8xf32>
  %v = tensor.concat dim(3) %v0, %rest : (tensor<2x4x9x8xf32>, tensor<2x4x9x4xf32>) -> tensor<2x4x9x12xf32>
  %o = kvc.dense_attention terms(%q * %k) value(%v) score [#kvc.causal] maps [#q, #k, #k, #q]
      {scale = 0.25 : f32} : (tensor<2x4x3x8xf32>, tensor<2x4x9x8xf32>, tensor<2x4x9x12xf32>) -> tensor<2x4x3x12xf32>
  return %o : tensor<2x4x3x12xf32>
}

// -----

#q = affine_map<(b, h, g, i, j, w) -> (b, h, i, w)>
#k = affine_map<(b, h, g, i, j, w) -> (b, h, j, w)>
#row = affine_map<(b, h, j, w, c) -> (b, j, c)>
#weight = affine_map<(b, h, j, w, c) -> (h, w, c)>
#heads = affine_map<(b, h, j, w, c) -> (b, h, j, w)>

// Nothing is cached, and the rows are as wide as a hidden state: 128 times a head's.
// CHECK: [Missed] Absorbed {{.*}}"products stay before the attention: expected at most 4.0 times the work a key, got 128.0"
func.func @hidden_state(%q: tensor<2x4x3x8xf32>, %c: tensor<2x9x1024xf32>, %wk: tensor<4x8x1024xf32>)
    -> tensor<2x4x3x8xf32> {
  %zero = arith.constant 0.0 : f32
  %x = math.absf %c : tensor<2x9x1024xf32>
  %e = tensor.empty() : tensor<2x4x9x8xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<2x4x9x8xf32>) -> tensor<2x4x9x8xf32>
  %k = linalg.contract indexing_maps = [#row, #weight, #heads]
      ins(%x, %wk : tensor<2x9x1024xf32>, tensor<4x8x1024xf32>) outs(%f : tensor<2x4x9x8xf32>) -> tensor<2x4x9x8xf32>
  %o = kvc.dense_attention terms(%q * %k) value(%k) score [#kvc.causal] maps [#q, #k, #k, #q]
      {scale = 0.25 : f32} : (tensor<2x4x3x8xf32>, tensor<2x4x9x8xf32>, tensor<2x4x9x8xf32>) -> tensor<2x4x3x8xf32>
  return %o : tensor<2x4x3x8xf32>
}

// -----

#q = affine_map<(b, h, g, i, j, w) -> (b, h, i, w)>
#k = affine_map<(b, h, g, i, j, w) -> (b, h, j, w)>
#halves = affine_map<(b, h, j, w, c) -> (b, h floordiv 2, j, c)>
#turns = affine_map<(b, h, j, w, c) -> (b, h mod 2, j, c)>
#weight = affine_map<(b, h, j, w, c) -> (h, w, c)>
#heads = affine_map<(b, h, j, w, c) -> (b, h, j, w)>

// Latent rows that neighbouring heads share for keys, and every second head for values.
// CHECK: [Missed] Absorbed {{.*}}"products stay before the attention: keys with more dimensions than batch entries and heads"
func.func @two_orders(%q: tensor<2x4x3x8xf32>, %c: tensor<2x2x9x16xf32>, %d: tensor<2x2x9x16xf32>,
                      %wk: tensor<4x8x16xf32>, %wv: tensor<4x8x16xf32>) -> tensor<2x4x3x8xf32> {
  %zero = arith.constant 0.0 : f32
  %x = math.absf %c : tensor<2x2x9x16xf32>
  %y = math.absf %d : tensor<2x2x9x16xf32>
  %e = tensor.empty() : tensor<2x4x9x8xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<2x4x9x8xf32>) -> tensor<2x4x9x8xf32>
  %k = linalg.generic {indexing_maps = [#halves, #weight, #heads],
      iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]}
      ins(%x, %wk : tensor<2x2x9x16xf32>, tensor<4x8x16xf32>) outs(%f : tensor<2x4x9x8xf32>) {
  ^bb0(%a: f32, %w: f32, %out: f32):
    %p = arith.mulf %a, %w : f32
    %s = arith.addf %out, %p : f32
    linalg.yield %s : f32
  } -> tensor<2x4x9x8xf32>
  %v = linalg.generic {indexing_maps = [#turns, #weight, #heads],
      iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]}
      ins(%y, %wv : tensor<2x2x9x16xf32>, tensor<4x8x16xf32>) outs(%f : tensor<2x4x9x8xf32>) {
  ^bb0(%a: f32, %w: f32, %out: f32):
    %p = arith.mulf %a, %w : f32
    %s = arith.addf %out, %p : f32
    linalg.yield %s : f32
  } -> tensor<2x4x9x8xf32>
  %o = kvc.dense_attention terms(%q * %k) value(%v) score [#kvc.causal] maps [#q, #k, #k, #q]
      {scale = 0.25 : f32} : (tensor<2x4x3x8xf32>, tensor<2x4x9x8xf32>, tensor<2x4x9x8xf32>) -> tensor<2x4x3x8xf32>
  return %o : tensor<2x4x3x8xf32>
}
