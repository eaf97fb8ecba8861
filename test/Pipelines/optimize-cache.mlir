// What a whole module becomes where its caches could shrink, and where something is in the way:
// then they are as the model has them, in pages if these are possible.

// RUN: kvc-opt %s -split-input-file -kvc-optimize-cache-pipeline -remark-policy=all \
// RUN:   -remarks-filter='kvc-.*' 2> %t.remarks | FileCheck %s
// RUN: FileCheck %s --check-prefix=REMARK --input-file=%t.remarks
// RUN: kvc-opt %s -split-input-file -kvc-optimize-cache-pipeline=max-work=1.5 -remark-policy=all \
// RUN:   -remarks-filter='kvc-.*' 2> %t.work | FileCheck %s --check-prefix=WORK
// RUN: FileCheck %s --check-prefix=WORK-REMARK --input-file=%t.work

#row = affine_map<(b, h, t, w, c) -> (b, t, c)>
#weight = affine_map<(b, h, t, w, c) -> (h, w, c)>
#heads = affine_map<(b, h, t, w, c) -> (b, h, t, w)>
#q = affine_map<(b, h, g, i, j, w) -> (b, h, i, w)>
#k = affine_map<(b, h, g, i, j, w) -> (b, h, j, w)>

// Keys and values of 8 heads that are products of rows of 16; twice the work is more than 1.5.
// CHECK-LABEL: func.func @shrinks(
// CHECK-SAME:    !kvc.cache<page = 16, kv: 1x16xf16>
// CHECK:         kvc.attention {{.*}} terms(%{{.*}} * kv) value(kv)
// CHECK-NOT:     kvc.dense_attention
// REMARK: [Passed] SunkThroughCache {{.*}}"64 bytes a token instead of 512 for caches 'k', 'v', 2.0 times the work a cached token"
// REMARK: [Passed] Absorbed {{.*}}"products absorbed: 1 of 1 keys, and the value"
// REMARK: [Passed] PagedCache {{.*}}"cache 'kv' paged: 1 x 16 elements a token"
// WORK-LABEL: func.func @shrinks(
// WORK-SAME:    !kvc.cache<page = 16, k: 8x8xf16, v: 8x8xf16>
// WORK:         kvc.attention {{.*}} terms(%{{.*}} * k) value(v)
// WORK-REMARK: [Missed] SunkThroughCache {{.*}}"cache 'k' stays as it is: 64 instead of 512 bytes a token would take 2.0 times the work a cached token, which is above 1.5"
// WORK-REMARK: [Passed] PagedCache {{.*}}"cache 'k' paged: 8 x 8 elements a token"
func.func @shrinks(%query: tensor<2x8x1x8xf16>, %c: tensor<2x1x16xf16>, %past_k: tensor<2x8x?x8xf16> {kvc.cache = "k"},
                   %past_v: tensor<2x8x?x8xf16> {kvc.cache = "v"}, %wk: tensor<8x8x16xf16>, %wv: tensor<8x8x16xf16>)
    -> (tensor<2x8x1x8xf16>, tensor<2x8x?x8xf16> {kvc.cache = "k"}, tensor<2x8x?x8xf16> {kvc.cache = "v"}) {
  %zero = arith.constant 0.0 : f16
  %x = math.absf %c : tensor<2x1x16xf16>
  %e = tensor.empty() : tensor<2x8x1x8xf16>
  %f = linalg.fill ins(%zero : f16) outs(%e : tensor<2x8x1x8xf16>) -> tensor<2x8x1x8xf16>
  %k = linalg.contract indexing_maps = [#row, #weight, #heads]
      ins(%x, %wk : tensor<2x1x16xf16>, tensor<8x8x16xf16>) outs(%f : tensor<2x8x1x8xf16>) -> tensor<2x8x1x8xf16>
  %v = linalg.contract indexing_maps = [#row, #weight, #heads]
      ins(%x, %wv : tensor<2x1x16xf16>, tensor<8x8x16xf16>) outs(%f : tensor<2x8x1x8xf16>) -> tensor<2x8x1x8xf16>
  %all_k = tensor.concat dim(2) %past_k, %k : (tensor<2x8x?x8xf16>, tensor<2x8x1x8xf16>) -> tensor<2x8x?x8xf16>
  %all_v = tensor.concat dim(2) %past_v, %v : (tensor<2x8x?x8xf16>, tensor<2x8x1x8xf16>) -> tensor<2x8x?x8xf16>
  %o = kvc.dense_attention terms(%query * %all_k) value(%all_v) score [#kvc.causal] maps [#q, #k, #k, #q]
      {scale = 0.25 : f32} : (tensor<2x8x1x8xf16>, tensor<2x8x?x8xf16>, tensor<2x8x?x8xf16>) -> tensor<2x8x1x8xf16>
  return %o, %all_k, %all_v : tensor<2x8x1x8xf16>, tensor<2x8x?x8xf16>, tensor<2x8x?x8xf16>
}

// -----

#row = affine_map<(b, h, t, w, c) -> (b, t, c)>
#weight = affine_map<(b, h, t, w, c) -> (h, w, c)>
#heads = affine_map<(b, h, t, w, c) -> (b, h, t, w)>
#q = affine_map<(b, h, g, i, j, w) -> (b, h, i, w)>
#k = affine_map<(b, h, g, i, j, w) -> (b, h, j, w)>

// The past is used elsewhere: neither another cache, nor pages.
// CHECK-LABEL: func.func @past_used(
// CHECK-SAME:    %[[PAST:[^:]*]]: tensor<2x8x?x8xf16> {kvc.cache = "k"}
// CHECK-SAME:    -> (tensor<2x8x1x8xf16>, tensor<2x8x?x8xf16> {kvc.cache = "k"}, tensor<2x8x?x8xf16>)
// CHECK:         %[[ALL:.*]] = tensor.concat dim(2) %[[PAST]], %{{.*}} : (tensor<2x8x?x8xf16>, tensor<2x8x1x8xf16>) -> tensor<2x8x?x8xf16>
// CHECK:         %[[OUT:.*]] = kvc.dense_attention terms(%{{.*}} * %[[ALL]]) value(%[[ALL]])
// CHECK:         %[[OTHER:.*]] = math.tanh %[[PAST]]
// CHECK:         return %[[OUT]], %[[ALL]], %[[OTHER]]
// REMARK: [Missed] SunkThroughCache {{.*}}"cache 'k' stays as it is: its past is used elsewhere"
// REMARK: [Missed] PagedCache {{.*}}"cache 'k' not paged: 'math.tanh' uses it too"
func.func @past_used(%query: tensor<2x8x1x8xf16>, %c: tensor<2x1x16xf16>, %past: tensor<2x8x?x8xf16> {kvc.cache = "k"},
                     %wk: tensor<8x8x16xf16>)
    -> (tensor<2x8x1x8xf16>, tensor<2x8x?x8xf16> {kvc.cache = "k"}, tensor<2x8x?x8xf16>) {
  %zero = arith.constant 0.0 : f16
  %x = math.absf %c : tensor<2x1x16xf16>
  %e = tensor.empty() : tensor<2x8x1x8xf16>
  %f = linalg.fill ins(%zero : f16) outs(%e : tensor<2x8x1x8xf16>) -> tensor<2x8x1x8xf16>
  %k = linalg.contract indexing_maps = [#row, #weight, #heads]
      ins(%x, %wk : tensor<2x1x16xf16>, tensor<8x8x16xf16>) outs(%f : tensor<2x8x1x8xf16>) -> tensor<2x8x1x8xf16>
  %all = tensor.concat dim(2) %past, %k : (tensor<2x8x?x8xf16>, tensor<2x8x1x8xf16>) -> tensor<2x8x?x8xf16>
  %o = kvc.dense_attention terms(%query * %all) value(%all) score [#kvc.causal] maps [#q, #k, #k, #q]
      {scale = 0.25 : f32} : (tensor<2x8x1x8xf16>, tensor<2x8x?x8xf16>, tensor<2x8x?x8xf16>) -> tensor<2x8x1x8xf16>
  %other = math.tanh %past : tensor<2x8x?x8xf16>
  return %o, %all, %other : tensor<2x8x1x8xf16>, tensor<2x8x?x8xf16>, tensor<2x8x?x8xf16>
}

// -----

#row = affine_map<(b, h, t, w, c) -> (b, t, c)>
#weight = affine_map<(b, h, t, w, c) -> (h, w, c)>
#heads = affine_map<(b, h, t, w, c) -> (b, h, t, w)>
#q = affine_map<(b, h, g, i, j, w) -> (b, h, i, w)>
#k = affine_map<(b, h, g, i, j, w) -> (b, h, j, w)>

// The caller has the cache as another result too.
// CHECK-LABEL: func.func @another_result(
// CHECK-SAME:    tensor<2x8x?x8xf16> {kvc.cache = "k"}
// CHECK:         %[[OUT:.*]] = kvc.dense_attention terms(%{{.*}} * %[[ALL:.*]]) value(%[[ALL]])
// CHECK:         return %[[OUT]], %[[ALL]], %[[ALL]]
// REMARK: [Missed] SunkThroughCache {{.*}}"cache 'k' stays as it is: a function returns it as another result too"
// REMARK: [Missed] PagedCache {{.*}}"cache 'k' not paged: 'func.return' uses it too"
func.func @another_result(%query: tensor<2x8x1x8xf16>, %c: tensor<2x1x16xf16>, %past: tensor<2x8x?x8xf16> {kvc.cache = "k"},
                          %wk: tensor<8x8x16xf16>)
    -> (tensor<2x8x1x8xf16>, tensor<2x8x?x8xf16> {kvc.cache = "k"}, tensor<2x8x?x8xf16>) {
  %zero = arith.constant 0.0 : f16
  %x = math.absf %c : tensor<2x1x16xf16>
  %e = tensor.empty() : tensor<2x8x1x8xf16>
  %f = linalg.fill ins(%zero : f16) outs(%e : tensor<2x8x1x8xf16>) -> tensor<2x8x1x8xf16>
  %k = linalg.contract indexing_maps = [#row, #weight, #heads]
      ins(%x, %wk : tensor<2x1x16xf16>, tensor<8x8x16xf16>) outs(%f : tensor<2x8x1x8xf16>) -> tensor<2x8x1x8xf16>
  %all = tensor.concat dim(2) %past, %k : (tensor<2x8x?x8xf16>, tensor<2x8x1x8xf16>) -> tensor<2x8x?x8xf16>
  %o = kvc.dense_attention terms(%query * %all) value(%all) score [#kvc.causal] maps [#q, #k, #k, #q]
      {scale = 0.25 : f32} : (tensor<2x8x1x8xf16>, tensor<2x8x?x8xf16>, tensor<2x8x?x8xf16>) -> tensor<2x8x1x8xf16>
  return %o, %all, %all : tensor<2x8x1x8xf16>, tensor<2x8x?x8xf16>, tensor<2x8x?x8xf16>
}

// -----

#row = affine_map<(b, h, t, w, c) -> (b, t, c)>
#weight = affine_map<(b, h, t, w, c) -> (h, w, c)>
#heads = affine_map<(b, h, t, w, c) -> (b, h, t, w)>
#id = affine_map<(b, h, t, w) -> (b, h, t, w)>
#head = affine_map<(b, h, t, w) -> (b, h, t)>
#q = affine_map<(b, h, g, i, j, w) -> (b, h, i, w)>
#k = affine_map<(b, h, g, i, j, w) -> (b, h, j, w)>

// A norm of each head keeps the cache what it is, but not from pages.
// CHECK-LABEL: func.func @norm(
// CHECK-SAME:    !kvc.cache<page = 16, k: 8x8xf16>
// CHECK:         math.rsqrt
// CHECK:         kvc.append
// CHECK:         kvc.attention {{.*}} terms(%{{.*}} * k) value(k)
// REMARK: [Missed] SunkThroughCache {{.*}}"cache 'k' stays as it is: expected the product of a weight and rows of 16, got 'arith.mulf' of it"
// REMARK-NOT: Absorbed
// REMARK: [Passed] PagedCache {{.*}}"cache 'k' paged: 8 x 8 elements a token"
func.func @norm(%query: tensor<2x8x1x8xf16>, %c: tensor<2x1x16xf16>, %past: tensor<2x8x?x8xf16> {kvc.cache = "k"},
                %wk: tensor<8x8x16xf16>) -> (tensor<2x8x1x8xf16>, tensor<2x8x?x8xf16> {kvc.cache = "k"}) {
  %zero = arith.constant 0.0 : f16
  %x = math.absf %c : tensor<2x1x16xf16>
  %e = tensor.empty() : tensor<2x8x1x8xf16>
  %f = linalg.fill ins(%zero : f16) outs(%e : tensor<2x8x1x8xf16>) -> tensor<2x8x1x8xf16>
  %k0 = linalg.contract indexing_maps = [#row, #weight, #heads]
      ins(%x, %wk : tensor<2x1x16xf16>, tensor<8x8x16xf16>) outs(%f : tensor<2x8x1x8xf16>) -> tensor<2x8x1x8xf16>
  %se = tensor.empty() : tensor<2x8x1xf16>
  %sf = linalg.fill ins(%zero : f16) outs(%se : tensor<2x8x1xf16>) -> tensor<2x8x1xf16>
  %squares = linalg.contract indexing_maps = [#id, #id, #head]
      ins(%k0, %k0 : tensor<2x8x1x8xf16>, tensor<2x8x1x8xf16>) outs(%sf : tensor<2x8x1xf16>) -> tensor<2x8x1xf16>
  %k = linalg.generic {indexing_maps = [#id, #head, #id],
      iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      ins(%k0, %squares : tensor<2x8x1x8xf16>, tensor<2x8x1xf16>) outs(%e : tensor<2x8x1x8xf16>) {
  ^bb0(%a: f16, %n: f16, %out: f16):
    %d = math.rsqrt %n : f16
    %p = arith.mulf %a, %d : f16
    linalg.yield %p : f16
  } -> tensor<2x8x1x8xf16>
  %all = tensor.concat dim(2) %past, %k : (tensor<2x8x?x8xf16>, tensor<2x8x1x8xf16>) -> tensor<2x8x?x8xf16>
  %o = kvc.dense_attention terms(%query * %all) value(%all) score [#kvc.causal] maps [#q, #k, #k, #q]
      {scale = 0.25 : f32} : (tensor<2x8x1x8xf16>, tensor<2x8x?x8xf16>, tensor<2x8x?x8xf16>) -> tensor<2x8x1x8xf16>
  return %o, %all : tensor<2x8x1x8xf16>, tensor<2x8x?x8xf16>
}
