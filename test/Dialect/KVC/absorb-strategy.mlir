// RUN: kvc-opt %s -kvc-absorb-mla=strategy=absorb -canonicalize -cse | FileCheck %s --check-prefixes=CHECK,ABSORB
// RUN: kvc-opt %s -kvc-absorb-mla=strategy=expand -canonicalize -cse | FileCheck %s --check-prefixes=CHECK,EXPAND
// RUN: kvc-opt %s -kvc-absorb-mla="strategy=auto new-tokens=1000 past-tokens=24" -canonicalize -cse \
// RUN:   -remarks-filter=kvc-absorb-mla -remark-policy=all 2> %t.remarks | FileCheck %s --check-prefixes=CHECK,AUTO
// RUN: FileCheck %s --check-prefix=REMARK < %t.remarks
// RUN: kvc-opt %s -kvc-absorb-mla="strategy=auto new-tokens=100 past-tokens=400" \
// RUN:   -canonicalize -cse | FileCheck %s --check-prefixes=CHECK,ABSORB
// RUN: kvc-opt %s -kvc-absorb-mla="strategy=auto new-tokens=100 past-tokens=400 operations-per-byte=1" \
// RUN:   -canonicalize -cse | FileCheck %s --check-prefixes=CHECK,AUTO
// RUN: kvc-opt %s -kvc-absorb-mla="strategy=auto paged" -canonicalize -cse \
// RUN:   -remarks-filter=kvc-absorb-mla -remark-policy=all 2> %t.paged | FileCheck %s --check-prefixes=CHECK,ABSORB
// RUN: FileCheck %s --check-prefix=PAGED < %t.paged
// RUN: kvc-opt %s -kvc-absorb-mla=strategy=expand -canonicalize -cse -kvc-page-cache \
// RUN:   -remarks-filter=kvc-page-cache -remark-policy=all 2>&1 >/dev/null | FileCheck %s --check-prefix=TENSOR
// RUN: kvc-opt %s -kvc-absorb-mla="strategy=auto new-tokens=1000 past-tokens=24" -canonicalize -cse -kvc-page-cache \
// RUN:   -remarks-filter=kvc-page-cache -remark-policy=all 2>&1 >/dev/null | FileCheck %s --check-prefix=MIXED
// RUN: not kvc-opt %s -kvc-absorb-mla=strategy=none 2>&1 | FileCheck %s --check-prefix=STRATEGY
// RUN: not kvc-opt %s -kvc-absorb-mla=precompute=some 2>&1 | FileCheck %s --check-prefix=PRECOMPUTE
// RUN: not kvc-opt %s -kvc-absorb-mla=new-tokens=0 2>&1 | FileCheck %s --check-prefix=NEW
// RUN: not kvc-opt %s -kvc-absorb-mla=past-tokens=-1 2>&1 | FileCheck %s --check-prefix=PAST
// RUN: not kvc-opt %s -kvc-absorb-mla=operations-per-byte=0 2>&1 | FileCheck %s --check-prefix=RATIO

// STRATEGY: error: expected strategy 'absorb', 'expand' or 'auto', got 'none'
// PRECOMPUTE: error: expected precompute 'none', 'auto' or 'all', got 'some'
// NEW: error: expected new-tokens to be at least 1, got 0
// PAST: error: expected past-tokens to be at least 0, got -1
// RATIO: error: expected operations-per-byte to be above 0, got 0

#q = affine_map<(b, h, g, i, j, w) -> (b, h, i, w)>
#k = affine_map<(b, h, g, i, j, w) -> (b, h, j, w)>
#latent = affine_map<(b, h, j, w, c) -> (b, j, c)>
#weight = affine_map<(b, h, j, w, c) -> (h, w, c)>
#rows = affine_map<(b, h, j, w, c) -> (b, h, j, w)>

// One new token: products of all tokens are more work than they save. Latent rows of 16, 4 heads
// of 8: 2 products of 2 * 4 * 8 * 16 operations, once for each new token or for each token.
//
// REMARK: "absorb: 2048 operations a new token, 0 a token, 256 a pair of both; 4096 bytes of weights, 1280 a new token, 64 a token"
// REMARK: "expand: 0 operations a new token, 2048 a token, 128 a pair of both; 4096 bytes of weights, 256 a new token, 576 a token"
// REMARK: "new tokens 1 of 25: absorb takes 8448 operations and 6976 bytes, expand 54400 operations and 18752 bytes; absorb, which takes the least time"
// CHECK-LABEL: func.func @decode
// ABSORB:        kvc.dense_attention {{.*}}x16xf32>, tensor<1x?x16xf32>, tensor<1x?x16xf32>) ->
// EXPAND:        kvc.dense_attention {{.*}} (tensor<1x4x1x8xf32>, tensor<1x4x?x8xf32>, tensor<1x4x?x8xf32>)
// AUTO:          kvc.dense_attention {{.*}}x16xf32>, tensor<1x?x16xf32>, tensor<1x?x16xf32>) ->
func.func @decode(%q: tensor<1x4x1x8xf32>, %new: tensor<1x1x16xf32>,
                  %past: tensor<1x?x16xf32> {kvc.cache = "c"}, %wk: tensor<4x8x16xf32>,
                  %wv: tensor<4x8x16xf32>)
    -> (tensor<1x4x1x8xf32>, tensor<1x?x16xf32> {kvc.cache = "c"}) {
  %zero = arith.constant 0.0 : f32
  %one = arith.constant 1 : index
  %c = tensor.concat dim(1) %past, %new
      : (tensor<1x?x16xf32>, tensor<1x1x16xf32>) -> tensor<1x?x16xf32>
  %size = tensor.dim %c, %one : tensor<1x?x16xf32>
  %e = tensor.empty(%size) : tensor<1x4x?x8xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<1x4x?x8xf32>) -> tensor<1x4x?x8xf32>
  %k = linalg.generic {indexing_maps = [#latent, #weight, #rows],
      iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]}
      ins(%c, %wk : tensor<1x?x16xf32>, tensor<4x8x16xf32>) outs(%f : tensor<1x4x?x8xf32>) {
  ^bb0(%a: f32, %w: f32, %out: f32):
    %p = arith.mulf %a, %w : f32
    %s = arith.addf %out, %p : f32
    linalg.yield %s : f32
  } -> tensor<1x4x?x8xf32>
  %v = linalg.generic {indexing_maps = [#latent, #weight, #rows],
      iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]}
      ins(%c, %wv : tensor<1x?x16xf32>, tensor<4x8x16xf32>) outs(%f : tensor<1x4x?x8xf32>) {
  ^bb0(%a: f32, %w: f32, %out: f32):
    %p = arith.mulf %a, %w : f32
    %s = arith.addf %out, %p : f32
    linalg.yield %s : f32
  } -> tensor<1x4x?x8xf32>
  %o = kvc.dense_attention terms(%q * %k) value(%v) score [#kvc.causal] maps [#q, #k, #k, #q]
      {scale = 0.25 : f32} : (tensor<1x4x1x8xf32>, tensor<1x4x?x8xf32>, tensor<1x4x?x8xf32>)
      -> tensor<1x4x1x8xf32>
  return %o, %c : tensor<1x4x1x8xf32>, tensor<1x?x16xf32>
}

// Any number of new tokens, 1000 of 1024 assumed: pairs are most of the work. With 100 of 500,
// expand takes fewer operations and more bytes, so that the processor decides.
//
// REMARK: "new tokens 1000 of 1024: absorb takes 136320000 operations and 1349632 bytes, expand 69233152 operations and 849920 bytes; expand, which takes the least time"
// PAGED: "new tokens 2048 of 6144: {{.*}}; absorb, as caches are to be paged, and attention over pages reads what they hold; expand would take less time"
// CHECK-LABEL: func.func @chunk
// ABSORB:        kvc.dense_attention {{.*}}x16xf32>, tensor<1x?x16xf32>, tensor<1x?x16xf32>) ->
// EXPAND:        kvc.dense_attention {{.*}} (tensor<1x4x?x8xf32>, tensor<1x4x?x8xf32>, tensor<1x4x?x8xf32>)
// AUTO:          kvc.dense_attention {{.*}} (tensor<1x4x?x8xf32>, tensor<1x4x?x8xf32>, tensor<1x4x?x8xf32>)
//
// Caches are paged by all functions or by none.
//
// TENSOR: "cache 'c' not paged: attention reads what is computed of its rows, and not them"
// MIXED: "cache 'c' not paged: attention reads what 'linalg.generic' computes of its rows"
func.func @chunk(%q: tensor<1x4x?x8xf32>, %new: tensor<1x?x16xf32>,
                 %past: tensor<1x?x16xf32> {kvc.cache = "c"}, %wk: tensor<4x8x16xf32>,
                 %wv: tensor<4x8x16xf32>)
    -> (tensor<1x4x?x8xf32>, tensor<1x?x16xf32> {kvc.cache = "c"}) {
  %zero = arith.constant 0.0 : f32
  %one = arith.constant 1 : index
  %c = tensor.concat dim(1) %past, %new
      : (tensor<1x?x16xf32>, tensor<1x?x16xf32>) -> tensor<1x?x16xf32>
  %size = tensor.dim %c, %one : tensor<1x?x16xf32>
  %e = tensor.empty(%size) : tensor<1x4x?x8xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<1x4x?x8xf32>) -> tensor<1x4x?x8xf32>
  %k = linalg.generic {indexing_maps = [#latent, #weight, #rows],
      iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]}
      ins(%c, %wk : tensor<1x?x16xf32>, tensor<4x8x16xf32>) outs(%f : tensor<1x4x?x8xf32>) {
  ^bb0(%a: f32, %w: f32, %out: f32):
    %p = arith.mulf %a, %w : f32
    %s = arith.addf %out, %p : f32
    linalg.yield %s : f32
  } -> tensor<1x4x?x8xf32>
  %v = linalg.generic {indexing_maps = [#latent, #weight, #rows],
      iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]}
      ins(%c, %wv : tensor<1x?x16xf32>, tensor<4x8x16xf32>) outs(%f : tensor<1x4x?x8xf32>) {
  ^bb0(%a: f32, %w: f32, %out: f32):
    %p = arith.mulf %a, %w : f32
    %s = arith.addf %out, %p : f32
    linalg.yield %s : f32
  } -> tensor<1x4x?x8xf32>
  %o = kvc.dense_attention terms(%q * %k) value(%v) score [#kvc.causal] maps [#q, #k, #k, #q]
      {scale = 0.25 : f32} : (tensor<1x4x?x8xf32>, tensor<1x4x?x8xf32>, tensor<1x4x?x8xf32>)
      -> tensor<1x4x?x8xf32>
  return %o, %c : tensor<1x4x?x8xf32>, tensor<1x?x16xf32>
}
