// Caches that stay tensors: the remark says why, and the functions do not change at all.

// RUN: kvc-opt %s -split-input-file -o %t.before
// RUN: kvc-opt %s -split-input-file -kvc-page-cache -remarks-filter=kvc-page-cache \
// RUN:   -remark-policy=all -o %t.after 2> %t.remarks
// RUN: diff %t.before %t.after
// RUN: FileCheck %s --input-file=%t.remarks --implicit-check-not=Passed --implicit-check-not=Missed

#q = affine_map<(b, h, g, i, j, w) -> (b, h, w)>
#kv = affine_map<(b, h, g, i, j, w) -> (b, j, w)>

// Two concatenations of one past.
// CHECK: [Missed] PagedCache {{.*}}"cache 'kv' not paged: 'tensor.concat' uses it too"
func.func @two_writers(%q: tensor<?x1x16xf16>, %new: tensor<?x1x16xf16>, %past: tensor<?x?x16xf16> {kvc.cache = "kv"})
    -> (tensor<?x1x16xf16>, tensor<?x?x16xf16> {kvc.cache = "kv"}, tensor<?x?x16xf16>) {
  %kv = tensor.concat dim(1) %past, %new : (tensor<?x?x16xf16>, tensor<?x1x16xf16>) -> tensor<?x?x16xf16>
  %n = math.absf %new : tensor<?x1x16xf16>
  %other = tensor.concat dim(1) %past, %n : (tensor<?x?x16xf16>, tensor<?x1x16xf16>) -> tensor<?x?x16xf16>
  %o = kvc.dense_attention terms(%q * %kv) value(%kv)
      maps [#q, #kv, #kv, #q] {scale = 0.125 : f32} : (tensor<?x1x16xf16>, tensor<?x?x16xf16>, tensor<?x?x16xf16>) -> tensor<?x1x16xf16>
  return %o, %kv, %other : tensor<?x1x16xf16>, tensor<?x?x16xf16>, tensor<?x?x16xf16>
}

// -----

#q = affine_map<(b, h, g, i, j, w) -> (b, h, w)>
#kv = affine_map<(b, h, g, i, j, w) -> (b, j, w)>

// The past goes back to the caller, or is read in a region, without the new tokens.
// CHECK: [Missed] PagedCache {{.*}}"cache 'kv' not paged: 'func.return' uses it too"
// CHECK: [Missed] PagedCache {{.*}}"cache 'region' not paged: 'tensor.extract' uses it too"
func.func @past_used(%q: tensor<?x1x16xf16>, %new: tensor<?x1x16xf16>, %past: tensor<?x?x16xf16> {kvc.cache = "kv"})
    -> (tensor<?x1x16xf16>, tensor<?x?x16xf16> {kvc.cache = "kv"}, tensor<?x?x16xf16>) {
  %kv = tensor.concat dim(1) %past, %new : (tensor<?x?x16xf16>, tensor<?x1x16xf16>) -> tensor<?x?x16xf16>
  %o = kvc.dense_attention terms(%q * %kv) value(%kv)
      maps [#q, #kv, #kv, #q] {scale = 0.125 : f32} : (tensor<?x1x16xf16>, tensor<?x?x16xf16>, tensor<?x?x16xf16>) -> tensor<?x1x16xf16>
  return %o, %kv, %past : tensor<?x1x16xf16>, tensor<?x?x16xf16>, tensor<?x?x16xf16>
}
func.func @region(%q: tensor<?x1x16xf16>, %new: tensor<?x1x16xf16>, %at: index, %past: tensor<?x?x16xf16> {kvc.cache = "region"})
    -> (tensor<?x1x16xf16>, tensor<?x?x16xf16> {kvc.cache = "region"}, tensor<4xf16>) {
  %kv = tensor.concat dim(1) %past, %new : (tensor<?x?x16xf16>, tensor<?x1x16xf16>) -> tensor<?x?x16xf16>
  %o = kvc.dense_attention terms(%q * %kv) value(%kv)
      maps [#q, #kv, #kv, #q] {scale = 0.125 : f32} : (tensor<?x1x16xf16>, tensor<?x?x16xf16>, tensor<?x?x16xf16>) -> tensor<?x1x16xf16>
  %row = tensor.generate {
  ^bb0(%i: index):
    %element = tensor.extract %past[%at, %at, %i] : tensor<?x?x16xf16>
    tensor.yield %element : f16
  } : tensor<4xf16>
  return %o, %kv, %row : tensor<?x1x16xf16>, tensor<?x?x16xf16>, tensor<4xf16>
}

// -----

#q = affine_map<(b, h, g, i, j, w) -> (b, h, w)>
#kv = affine_map<(b, h, g, i, j, w) -> (b, j, w)>

// One function adds a token along another dimension than the others.
// CHECK: [Missed] PagedCache {{.*}}"cache 'kv' not paged: tokens are added along a dimension that attention takes for another"
func.func @along_tokens(%q: tensor<?x1x16xf16>, %new: tensor<?x1x16xf16>, %past: tensor<?x?x16xf16> {kvc.cache = "kv"})
    -> (tensor<?x1x16xf16>, tensor<?x?x16xf16> {kvc.cache = "kv"}) {
  %kv = tensor.concat dim(1) %past, %new : (tensor<?x?x16xf16>, tensor<?x1x16xf16>) -> tensor<?x?x16xf16>
  %o = kvc.dense_attention terms(%q * %kv) value(%kv)
      maps [#q, #kv, #kv, #q] {scale = 0.125 : f32} : (tensor<?x1x16xf16>, tensor<?x?x16xf16>, tensor<?x?x16xf16>) -> tensor<?x1x16xf16>
  return %o, %kv : tensor<?x1x16xf16>, tensor<?x?x16xf16>
}
func.func @along_batch(%new: tensor<1x?x16xf16>, %past: tensor<?x?x16xf16> {kvc.cache = "kv"})
    -> (tensor<?x?x16xf16> {kvc.cache = "kv"}) {
  %kv = tensor.concat dim(0) %past, %new : (tensor<?x?x16xf16>, tensor<1x?x16xf16>) -> tensor<?x?x16xf16>
  return %kv : tensor<?x?x16xf16>
}

// -----

#q = affine_map<(b, h, g, i, j, w) -> (b, h, w)>
#kv = affine_map<(b, h, g, i, j, w) -> (b, j, w)>

// Keys of one function are batch entries of another.
// CHECK: [Missed] PagedCache {{.*}}"cache 'kv' not paged: two attentions take its dimensions for different ones"
#vk = affine_map<(b, h, g, i, j, w) -> (j, b, w)>
func.func @keys(%q: tensor<?x1x16xf16>, %kv: tensor<?x?x16xf16>)
    -> (tensor<?x1x16xf16>, tensor<?x?x16xf16> {kvc.cache = "kv"}) {
  %o = kvc.dense_attention terms(%q * %kv) value(%kv)
      maps [#q, #kv, #kv, #q] {scale = 0.125 : f32} : (tensor<?x1x16xf16>, tensor<?x?x16xf16>, tensor<?x?x16xf16>) -> tensor<?x1x16xf16>
  return %o, %kv : tensor<?x1x16xf16>, tensor<?x?x16xf16>
}
func.func @batch(%q: tensor<?x1x16xf16>, %kv: tensor<?x?x16xf16>)
    -> (tensor<?x1x16xf16>, tensor<?x?x16xf16> {kvc.cache = "kv"}) {
  %o = kvc.dense_attention terms(%q * %kv) value(%kv)
      maps [#q, #vk, #vk, #q] {scale = 0.125 : f32} : (tensor<?x1x16xf16>, tensor<?x?x16xf16>, tensor<?x?x16xf16>) -> tensor<?x1x16xf16>
  return %o, %kv : tensor<?x1x16xf16>, tensor<?x?x16xf16>
}

// -----

#q = affine_map<(b, h, g, i, j, w) -> (b, g, w)>
#kv = affine_map<(b, h, g, i, j, w) -> (b, j, w)>

// Attention over every second column.
// CHECK: [Missed] PagedCache {{.*}}"cache 'kv' not paged: attention reads it in another way than token by token"
func.func @columns(%q: tensor<2x1x8xf16>, %new: tensor<2x1x16xf16>, %past: tensor<2x?x16xf16> {kvc.cache = "kv"})
    -> (tensor<2x1x8xf16>, tensor<2x?x16xf16> {kvc.cache = "kv"}) {
  %c1 = arith.constant 1 : index
  %kv = tensor.concat dim(1) %past, %new : (tensor<2x?x16xf16>, tensor<2x1x16xf16>) -> tensor<2x?x16xf16>
  %t = tensor.dim %kv, %c1 : tensor<2x?x16xf16>
  %k = tensor.extract_slice %kv[0, 0, 0] [2, %t, 8] [1, 1, 2] : tensor<2x?x16xf16> to tensor<2x?x8xf16>
  %o = kvc.dense_attention terms(%q * %k) value(%k)
      maps [#q, #kv, #kv, #q] {scale = 0.125 : f32} : (tensor<2x1x8xf16>, tensor<2x?x8xf16>, tensor<2x?x8xf16>) -> tensor<2x1x8xf16>
  return %o, %kv : tensor<2x1x8xf16>, tensor<2x?x16xf16>
}

// -----

#q = affine_map<(b, h, g, i, j, w) -> (b, h, g, w)>
#kv = affine_map<(b, h, g, i, j, w) -> (b, g, j, w)>

// Rows for each of the query heads of a group, which are no KV heads.
// CHECK: [Missed] PagedCache {{.*}}"cache 'kv' not paged: query heads that share a head of it are not consecutive"
func.func @heads_apart(%q: tensor<2x4x2x16xf16>, %new: tensor<2x2x1x16xf16>, %past: tensor<2x2x?x16xf16> {kvc.cache = "kv"})
    -> (tensor<2x4x2x16xf16>, tensor<2x2x?x16xf16> {kvc.cache = "kv"}) {
  %kv = tensor.concat dim(2) %past, %new : (tensor<2x2x?x16xf16>, tensor<2x2x1x16xf16>) -> tensor<2x2x?x16xf16>
  %o = kvc.dense_attention terms(%q * %kv) value(%kv)
      maps [#q, #kv, #kv, #q] {scale = 0.125 : f32} : (tensor<2x4x2x16xf16>, tensor<2x2x?x16xf16>, tensor<2x2x?x16xf16>) -> tensor<2x4x2x16xf16>
  return %o, %kv : tensor<2x4x2x16xf16>, tensor<2x2x?x16xf16>
}

// -----

#q = affine_map<(b, h, g, i, j, w) -> (b, h, w)>
#kv = affine_map<(b, h, g, i, j, w) -> (b, j, w)>

// As many query heads as the caller likes.
// CHECK: [Missed] PagedCache {{.*}}"cache 'kv' not paged: the number of query heads is not static, or none that a cache has"
func.func @dynamic_heads(%q: tensor<2x?x16xf16>, %new: tensor<2x1x16xf16>, %past: tensor<2x?x16xf16> {kvc.cache = "kv"})
    -> (tensor<2x?x16xf16>, tensor<2x?x16xf16> {kvc.cache = "kv"}) {
  %kv = tensor.concat dim(1) %past, %new : (tensor<2x?x16xf16>, tensor<2x1x16xf16>) -> tensor<2x?x16xf16>
  %o = kvc.dense_attention terms(%q * %kv) value(%kv)
      maps [#q, #kv, #kv, #q] {scale = 0.125 : f32} : (tensor<2x?x16xf16>, tensor<2x?x16xf16>, tensor<2x?x16xf16>) -> tensor<2x?x16xf16>
  return %o, %kv : tensor<2x?x16xf16>, tensor<2x?x16xf16>
}

// -----

#q = affine_map<(b, h, g, i, j, w) -> (b, h, w)>
#one = affine_map<(b, h, g, i, j, w) -> (b, w)>
#kv = affine_map<(b, h, g, i, j, w) -> (b, h, j, w)>

// One query for all heads.
// CHECK: [Missed] PagedCache {{.*}}"cache 'kv' not paged: queries have other heads than the attention, or none that are static"
func.func @one_query(%q: tensor<2x16xf16>, %new: tensor<2x2x1x16xf16>, %past: tensor<2x2x?x16xf16> {kvc.cache = "kv"})
    -> (tensor<2x2x16xf16>, tensor<2x2x?x16xf16> {kvc.cache = "kv"}) {
  %kv = tensor.concat dim(2) %past, %new : (tensor<2x2x?x16xf16>, tensor<2x2x1x16xf16>) -> tensor<2x2x?x16xf16>
  %o = kvc.dense_attention terms(%q * %kv) value(%kv)
      maps [#one, #kv, #kv, #q] {scale = 0.125 : f32} : (tensor<2x16xf16>, tensor<2x2x?x16xf16>, tensor<2x2x?x16xf16>) -> tensor<2x2x16xf16>
  return %o, %kv : tensor<2x2x16xf16>, tensor<2x2x?x16xf16>
}

// -----

#q = affine_map<(b, h, g, i, j, w) -> (b, h, w)>
#kv = affine_map<(b, h, g, i, j, w) -> (b, j, w)>

// Keys and values together in one function, and keys alone in another.
// CHECK: [Missed] PagedCache {{.*}}"cache 'k' not paged: attention reads it with cache 'v'"
// CHECK: [Missed] PagedCache {{.*}}"cache 'v' not paged: attention reads it with others, and a function holds not all of them"
func.func @both(%q: tensor<?x1x16xf16>, %new: tensor<?x1x16xf16>, %past_k: tensor<?x?x16xf16> {kvc.cache = "k"},
                %past_v: tensor<?x?x16xf16> {kvc.cache = "v"})
    -> (tensor<?x1x16xf16>, tensor<?x?x16xf16> {kvc.cache = "k"}, tensor<?x?x16xf16> {kvc.cache = "v"}) {
  %k = tensor.concat dim(1) %past_k, %new : (tensor<?x?x16xf16>, tensor<?x1x16xf16>) -> tensor<?x?x16xf16>
  %v = tensor.concat dim(1) %past_v, %new : (tensor<?x?x16xf16>, tensor<?x1x16xf16>) -> tensor<?x?x16xf16>
  %o = kvc.dense_attention terms(%q * %k) value(%v)
      maps [#q, #kv, #kv, #q] {scale = 0.125 : f32} : (tensor<?x1x16xf16>, tensor<?x?x16xf16>, tensor<?x?x16xf16>) -> tensor<?x1x16xf16>
  return %o, %k, %v : tensor<?x1x16xf16>, tensor<?x?x16xf16>, tensor<?x?x16xf16>
}
func.func @keys_only(%new: tensor<?x1x16xf16>, %past: tensor<?x?x16xf16> {kvc.cache = "k"})
    -> (tensor<?x?x16xf16> {kvc.cache = "k"}) {
  %k = tensor.concat dim(1) %past, %new : (tensor<?x?x16xf16>, tensor<?x1x16xf16>) -> tensor<?x?x16xf16>
  return %k : tensor<?x?x16xf16>
}

// -----

#q = affine_map<(b, h, g, i, j, w) -> (b, h, w)>
#kv = affine_map<(b, h, g, i, j, w) -> (b, j, w)>

// More new tokens for values than for keys.
// CHECK: [Missed] PagedCache {{.*}}"cache 'k' not paged: attention reads other tokens of it than past and new ones"
// CHECK: [Missed] PagedCache {{.*}}"cache 'v' not paged: a function gives it other new tokens than cache 'k'"
func.func @other_tokens(%q: tensor<2x1x16xf16>, %new_k: tensor<2x1x16xf16>, %new_v: tensor<2x2x16xf16>, %past_k: tensor<2x?x16xf16> {kvc.cache = "k"},
                        %past_v: tensor<2x?x16xf16> {kvc.cache = "v"})
    -> (tensor<2x1x16xf16>, tensor<2x?x16xf16> {kvc.cache = "k"}, tensor<2x?x16xf16> {kvc.cache = "v"}) {
  %k = tensor.concat dim(1) %past_k, %new_k : (tensor<2x?x16xf16>, tensor<2x1x16xf16>) -> tensor<2x?x16xf16>
  %v = tensor.concat dim(1) %past_v, %new_v : (tensor<2x?x16xf16>, tensor<2x2x16xf16>) -> tensor<2x?x16xf16>
  %o = kvc.dense_attention terms(%q * %k) value(%v)
      maps [#q, #kv, #kv, #q] {scale = 0.125 : f32} : (tensor<2x1x16xf16>, tensor<2x?x16xf16>, tensor<2x?x16xf16>) -> tensor<2x1x16xf16>
  return %o, %k, %v : tensor<2x1x16xf16>, tensor<2x?x16xf16>, tensor<2x?x16xf16>
}

// -----

// What no attention can be looked for in, or what holds no rows.
// CHECK: [Missed] PagedCache {{.*}}"cache 'a' not paged: a function that holds it has more than one block"
// CHECK: [Missed] PagedCache {{.*}}"cache 'b' not paged: it is no tensor with a rank"
// CHECK: [Missed] PagedCache {{.*}}"cache 'c' not paged: two arguments of a function hold its past"
func.func @blocks(%new: tensor<?x1x16xf16>, %past: tensor<?x?x16xf16> {kvc.cache = "a"})
    -> (tensor<?x?x16xf16> {kvc.cache = "a"}) {
  cf.br ^bb1
^bb1:
  %all = tensor.concat dim(1) %past, %new : (tensor<?x?x16xf16>, tensor<?x1x16xf16>) -> tensor<?x?x16xf16>
  return %all : tensor<?x?x16xf16>
}
func.func @types(%new: tensor<?x1x16xf16>, %b: tensor<*xf16> {kvc.cache = "b"}, %c: tensor<?x?x16xf16> {kvc.cache = "c"},
                 %d: tensor<?x?x16xf16> {kvc.cache = "c"})
    -> (tensor<*xf16> {kvc.cache = "b"}, tensor<?x?x16xf16> {kvc.cache = "c"}) {
  %all = tensor.concat dim(1) %c, %new : (tensor<?x?x16xf16>, tensor<?x1x16xf16>) -> tensor<?x?x16xf16>
  return %b, %all : tensor<*xf16>, tensor<?x?x16xf16>
}

// -----

#q = affine_map<(b, h, g, i, j, w) -> (b, h, w)>
#kv = affine_map<(b, h, g, i, j, w) -> (b, j, w)>

// New tokens that are written to some place of the past.
// CHECK: [Missed] PagedCache {{.*}}"cache 'kv' not paged: how many tokens the past holds is not known"
func.func @unknown_past(%q: tensor<2x1x16xf16>, %new: tensor<2x1x16xf16>, %past: tensor<2x64x16xf16> {kvc.cache = "kv"})
    -> (tensor<2x1x16xf16>, tensor<2x64x16xf16> {kvc.cache = "kv"}) {
  %kv = tensor.insert_slice %new into %past[0, 3, 0] [2, 1, 16] [1, 1, 1] : tensor<2x1x16xf16> into tensor<2x64x16xf16>
  %o = kvc.dense_attention terms(%q * %kv) value(%kv)
      maps [#q, #kv, #kv, #q] {scale = 0.125 : f32} : (tensor<2x1x16xf16>, tensor<2x64x16xf16>, tensor<2x64x16xf16>) -> tensor<2x1x16xf16>
  return %o, %kv : tensor<2x1x16xf16>, tensor<2x64x16xf16>
}

// -----

#q = affine_map<(b, h, g, i, j, w) -> (b, h, w)>
#o = affine_map<(b, h, g, i, j, w) -> (b, w)>
#kv = affine_map<(b, h, g, i, j, w) -> (b, h, j, w)>

// A result of one head.
// CHECK: [Missed] PagedCache {{.*}}"cache 'kv' not paged: the result of attention lacks a dimension of the queries"
func.func @one_result(%q: tensor<2x2x16xf16>, %new: tensor<2x2x1x16xf16>, %past: tensor<2x2x?x16xf16> {kvc.cache = "kv"})
    -> (tensor<2x16xf16>, tensor<2x2x?x16xf16> {kvc.cache = "kv"}) {
  %kv = tensor.concat dim(2) %past, %new : (tensor<2x2x?x16xf16>, tensor<2x2x1x16xf16>) -> tensor<2x2x?x16xf16>
  %o = kvc.dense_attention terms(%q * %kv) value(%kv)
      maps [#q, #kv, #kv, #o] {scale = 0.125 : f32} : (tensor<2x2x16xf16>, tensor<2x2x?x16xf16>, tensor<2x2x?x16xf16>) -> tensor<2x16xf16>
  return %o, %kv : tensor<2x16xf16>, tensor<2x2x?x16xf16>
}

// -----

#q = affine_map<(b, h, g, i, j, w) -> (b, h, w)>
#kv = affine_map<(b, h, g, i, j, w) -> (b, j, w)>

// Pasts of two lengths.
// CHECK: [Missed] PagedCache {{.*}}"cache 'k' not paged: attention reads it with cache 'v'"
// CHECK: [Missed] PagedCache {{.*}}"cache 'v' not paged: it holds other tokens than the other caches"
func.func @other_past(%q: tensor<2x1x16xf16>, %new: tensor<2x1x16xf16>, %new_v: tensor<2x3x16xf16>, %past_k: tensor<2x7x16xf16> {kvc.cache = "k"},
                      %past_v: tensor<2x5x16xf16> {kvc.cache = "v"})
    -> (tensor<2x1x16xf16>, tensor<2x8x16xf16> {kvc.cache = "k"}, tensor<2x8x16xf16> {kvc.cache = "v"}) {
  %k = tensor.concat dim(1) %past_k, %new : (tensor<2x7x16xf16>, tensor<2x1x16xf16>) -> tensor<2x8x16xf16>
  %v = tensor.concat dim(1) %past_v, %new_v : (tensor<2x5x16xf16>, tensor<2x3x16xf16>) -> tensor<2x8x16xf16>
  %o = kvc.dense_attention terms(%q * %k) value(%v)
      maps [#q, #kv, #kv, #q] {scale = 0.125 : f32} : (tensor<2x1x16xf16>, tensor<2x8x16xf16>, tensor<2x8x16xf16>) -> tensor<2x1x16xf16>
  return %o, %k, %v : tensor<2x1x16xf16>, tensor<2x8x16xf16>, tensor<2x8x16xf16>
}
