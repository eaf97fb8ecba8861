// RUN: kvc-opt %s -kvc-page-cache -split-input-file | FileCheck %s
// RUN: kvc-opt %s -kvc-page-cache -split-input-file -o /dev/null -remark-policy=all \
// RUN:   -remarks-filter='kvc-page-cache' 2>&1 | FileCheck %s --check-prefix=REMARK

#q = affine_map<(b, h, g, i, j, w) -> (b, h, g, i, w)>
#kv = affine_map<(b, h, g, i, j, w) -> (b, h, j, w)>

// Codes and scales of tokens become one component: numbers are appended, and no past is
// dequantised. Scales may have a dimension less.
// CHECK-LABEL: func.func @token(
// CHECK-SAME:    %[[X:[^:]*]]: tensor<?x8x1x64xf16>,
// CHECK-SAME:    %[[CACHE:[^:]*]]: !kvc.cache<page = 16, k: 2x64xi8 scale<f32, token>, v: 2x64xi4 scale<f16, group = 32, zero_point>> {kvc.cache = "l"}, %{{.*}}: !kvc.batch) -> tensor<?x2x2x1x64xf16> {
// CHECK-NOT:     kvc.quantize
// CHECK-NOT:     kvc.dequantize
// CHECK-NOT:     tensor.concat
// CHECK:         kvc.append %[[CACHE]][k: %{{.*}}, v: %{{.*}}] at %{{.*}} tensor<?x2x64xf16>, tensor<?x2x64xf16>
// CHECK:         kvc.attention %[[CACHE]] at %{{.*}} terms(%{{.*}} * k) value(v) {{.*}} -> tensor<?x4x64xf16>
// REMARK: [Passed] PagedCache {{.*}}"cache 'l.k' paged: 2 x 64 elements a token"
// REMARK: [Passed] PagedCache {{.*}}"cache 'l.k_scale' paged as a part of 'l.k'"
// REMARK: [Passed] PagedCache {{.*}}"cache 'l.v' paged: 2 x 64 elements a token"
// REMARK: [Passed] PagedCache {{.*}}"cache 'l.v_scale' paged as a part of 'l.v'"
// REMARK: [Passed] PagedCache {{.*}}"cache 'l.v_zero' paged as a part of 'l.v'"
func.func @token(%x: tensor<?x8x1x64xf16>,
    %k_past: tensor<?x2x?x64xi8> {kvc.cache = "l.k"}, %ks_past: tensor<?x2x?xf32> {kvc.cache = "l.k_scale"},
    %v_past: tensor<?x2x?x64xi8> {kvc.cache = "l.v"}, %vs_past: tensor<?x2x?x2xf16> {kvc.cache = "l.v_scale"},
    %vz_past: tensor<?x2x?x2xf16> {kvc.cache = "l.v_zero"})
    -> (tensor<?x2x2x1x64xf16>, tensor<?x2x?x64xi8> {kvc.cache = "l.k"}, tensor<?x2x?xf32> {kvc.cache = "l.k_scale"},
        tensor<?x2x?x64xi8> {kvc.cache = "l.v"}, tensor<?x2x?x2xf16> {kvc.cache = "l.v_scale"},
        tensor<?x2x?x2xf16> {kvc.cache = "l.v_zero"}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %b = tensor.dim %x, %c0 : tensor<?x8x1x64xf16>
  %past = tensor.dim %k_past, %c2 : tensor<?x2x?x64xi8>
  %t = arith.addi %past, %c1 : index
  %q4 = tensor.extract_slice %x[0, 0, 0, 0] [%b, 4, 1, 64] [1, 1, 1, 1] : tensor<?x8x1x64xf16> to tensor<?x4x1x64xf16>
  %q = tensor.expand_shape %q4 [[0], [1, 2], [3], [4]] output_shape [%b, 2, 2, 1, 64] : tensor<?x4x1x64xf16> into tensor<?x2x2x1x64xf16>
  %k_new = tensor.extract_slice %x[0, 4, 0, 0] [%b, 2, 1, 64] [1, 1, 1, 1] : tensor<?x8x1x64xf16> to tensor<?x2x1x64xf16>
  %v_new = tensor.extract_slice %x[0, 6, 0, 0] [%b, 2, 1, 64] [1, 1, 1, 1] : tensor<?x8x1x64xf16> to tensor<?x2x1x64xf16>
  %kc, %ks = kvc.quantize %k_new to i8 scale<f32, token> : (tensor<?x2x1x64xf16>) -> (tensor<?x2x1x64xi8>, tensor<?x2x1x1xf32>)
  %vc, %vs, %vz = kvc.quantize %v_new to i4 scale<f16, group = 32, zero_point> : (tensor<?x2x1x64xf16>) -> (tensor<?x2x1x64xi8>, tensor<?x2x1x2xf16>, tensor<?x2x1x2xf16>)
  %ks3 = tensor.collapse_shape %ks [[0], [1], [2, 3]] : tensor<?x2x1x1xf32> into tensor<?x2x1xf32>
  %k = tensor.concat dim(2) %k_past, %kc : (tensor<?x2x?x64xi8>, tensor<?x2x1x64xi8>) -> tensor<?x2x?x64xi8>
  %s = tensor.concat dim(2) %ks_past, %ks3 : (tensor<?x2x?xf32>, tensor<?x2x1xf32>) -> tensor<?x2x?xf32>
  %v = tensor.concat dim(2) %v_past, %vc : (tensor<?x2x?x64xi8>, tensor<?x2x1x64xi8>) -> tensor<?x2x?x64xi8>
  %vss = tensor.concat dim(2) %vs_past, %vs : (tensor<?x2x?x2xf16>, tensor<?x2x1x2xf16>) -> tensor<?x2x?x2xf16>
  %vzz = tensor.concat dim(2) %vz_past, %vz : (tensor<?x2x?x2xf16>, tensor<?x2x1x2xf16>) -> tensor<?x2x?x2xf16>
  %s4 = tensor.expand_shape %s [[0], [1], [2, 3]] output_shape [%b, 2, %t, 1] : tensor<?x2x?xf32> into tensor<?x2x?x1xf32>
  %keys = kvc.dequantize %k by(%s4) from i8 scale<f32, token> : (tensor<?x2x?x64xi8>, tensor<?x2x?x1xf32>) -> tensor<?x2x?x64xf16>
  %values = kvc.dequantize %v by(%vss, %vzz) from i4 scale<f16, group = 32, zero_point> : (tensor<?x2x?x64xi8>, tensor<?x2x?x2xf16>, tensor<?x2x?x2xf16>) -> tensor<?x2x?x64xf16>
  %o = kvc.dense_attention terms(%q * %keys) value(%values) score [#kvc.causal]
      maps [#q, #kv, #kv, #q] {scale = 0.125 : f32}
      : (tensor<?x2x2x1x64xf16>, tensor<?x2x?x64xf16>, tensor<?x2x?x64xf16>) -> tensor<?x2x2x1x64xf16>
  return %o, %k, %s, %v, %vss, %vzz : tensor<?x2x2x1x64xf16>, tensor<?x2x?x64xi8>, tensor<?x2x?xf32>, tensor<?x2x?x64xi8>, tensor<?x2x?x2xf16>, tensor<?x2x?x2xf16>
}

// -----

#q = affine_map<(b, h, g, i, j, w) -> (b, h, w)>
#kv = affine_map<(b, h, g, i, j, w) -> (b, h, j, w)>

// Static scales that are an argument become the cache's own, which the caller sets; a constant
// is part of the type.
// CHECK-LABEL: func.func @static(
// CHECK-SAME:    %{{[^:]*}}: tensor<?x2x1x64xf32>, %{{[^:]*}}: !kvc.cache<page = 16, k: 2x64xf8E4M3FN scale<f32, head, static>, v: 2x64xi8 scale<f32, tensor, static = 5.000000e-02>> {{.*}}, %{{[^:]*}}: !kvc.batch)
// CHECK-NOT:     kvc.quantize
// CHECK-NOT:     kvc.dequantize
// CHECK:         kvc.append
// CHECK:         kvc.attention
// REMARK: [Passed] PagedCache {{.*}}"cache 'k' paged: 2 x 64 elements a token"
// REMARK: [Analysis] PagedCache {{.*}}"argument 1, which is no cache, is static scales or zero points of cache 'k': the caller writes them to its memory"
func.func @static(%q3: tensor<?x2x1x64xf32>, %scales: tensor<1x2x1x1xf32>,
    %k_past: tensor<?x2x?x64xf8E4M3FN> {kvc.cache = "k"}, %v_past: tensor<?x2x?x64xi8> {kvc.cache = "v"})
    -> (tensor<?x2x64xf32>, tensor<?x2x?x64xf8E4M3FN> {kvc.cache = "k"}, tensor<?x2x?x64xi8> {kvc.cache = "v"}) {
  %q = tensor.collapse_shape %q3 [[0], [1], [2, 3]] : tensor<?x2x1x64xf32> into tensor<?x2x64xf32>
  %kc = kvc.quantize %q3 by(%scales) to f8E4M3FN scale<f32, head, static> : (tensor<?x2x1x64xf32>, tensor<1x2x1x1xf32>) -> tensor<?x2x1x64xf8E4M3FN>
  %vc = kvc.quantize %q3 to i8 scale<f32, tensor, static = 0.05> : (tensor<?x2x1x64xf32>) -> tensor<?x2x1x64xi8>
  %k = tensor.concat dim(2) %k_past, %kc : (tensor<?x2x?x64xf8E4M3FN>, tensor<?x2x1x64xf8E4M3FN>) -> tensor<?x2x?x64xf8E4M3FN>
  %v = tensor.concat dim(2) %v_past, %vc : (tensor<?x2x?x64xi8>, tensor<?x2x1x64xi8>) -> tensor<?x2x?x64xi8>
  %keys = kvc.dequantize %k by(%scales) from f8E4M3FN scale<f32, head, static> : (tensor<?x2x?x64xf8E4M3FN>, tensor<1x2x1x1xf32>) -> tensor<?x2x?x64xf32>
  %values = kvc.dequantize %v from i8 scale<f32, tensor, static = 0.05> : (tensor<?x2x?x64xi8>) -> tensor<?x2x?x64xf32>
  %o = kvc.dense_attention terms(%q * %keys) value(%values)
      maps [#q, #kv, #kv, #q] {scale = 0.125 : f32}
      : (tensor<?x2x64xf32>, tensor<?x2x?x64xf32>, tensor<?x2x?x64xf32>) -> tensor<?x2x64xf32>
  return %o, %k, %v : tensor<?x2x64xf32>, tensor<?x2x?x64xf8E4M3FN>, tensor<?x2x?x64xi8>
}
