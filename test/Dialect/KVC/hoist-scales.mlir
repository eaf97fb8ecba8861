// RUN: kvc-opt %s -split-input-file -kvc-hoist-scales -canonicalize -remarks-filter=kvc-hoist-scales \
// RUN:   -remark-policy=all 2> %t.remarks | FileCheck %s
// RUN: FileCheck %s --check-prefix=REMARK < %t.remarks

#q = affine_map<(b, h, g, i, j, w) -> (h, w)>
#kv = affine_map<(b, h, g, i, j, w) -> (h, j, w)>

// A constant of the keys is one of the scores, before a cap.
// CHECK-LABEL: func.func @constant(
// CHECK-SAME:    %[[Q:.*]]: tensor<2x64xf32>, %[[C:.*]]: tensor<2x?x64xi8>, %[[V:.*]]: tensor<2x?x64xf32>)
// CHECK:         %[[K:.*]] = kvc.dequantize %[[C]] from i8 scale<f32, tensor, static = 1.000000e+00>
// CHECK:         %[[O:.*]] = kvc.dense_attention terms(%[[Q]] * %[[K]]) value(%[[V]]) score [#kvc.softcap<5.000000e+01>] maps {{.*}} {scale = 6.250000e-02 : f32}
// CHECK:         return %[[O]]
// REMARK: [Analysis] HoistedScales {{.*}}"keys: 0 multiplications by scales left for each element"
// REMARK: [Analysis] HoistedScales {{.*}}"values: 0 multiplications by scales left for each element"
func.func @constant(%q: tensor<2x64xf32>, %c: tensor<2x?x64xi8>, %v: tensor<2x?x64xf32>) -> tensor<2x64xf32> {
  %k = kvc.dequantize %c from i8 scale<f32, tensor, static = 0.5> : (tensor<2x?x64xi8>) -> tensor<2x?x64xf32>
  %o = kvc.dense_attention terms(%q * %k) value(%v) score [#kvc.softcap<50.0>] maps [#q, #kv, #kv, #q] {scale = 0.125 : f32}
      : (tensor<2x64xf32>, tensor<2x?x64xf32>, tensor<2x?x64xf32>) -> tensor<2x64xf32>
  return %o : tensor<2x64xf32>
}

// -----

#q = affine_map<(b, h, g, i, j, w) -> (h, w)>
#kv = affine_map<(b, h, g, i, j, w) -> (h, j, w)>

// One for each head is a factor of the query, and of the result: in f32, rounded once.
// CHECK-LABEL: func.func @heads(
// CHECK-SAME:    %[[Q:.*]]: tensor<2x64xf16>, %[[C:.*]]: tensor<2x?x64xi8>, %[[S:.*]]: tensor<2x1x1xf32>)
// CHECK:         %[[PRODUCT:.*]] = linalg.generic {{.*}} ins(%[[Q]], %[[S]] : tensor<2x64xf16>, tensor<2x1x1xf32>)
// CHECK:           arith.mulf {{.*}} : f32
// CHECK:         %[[SCALED:.*]] = linalg.generic {{.*}} ins(%[[PRODUCT]] : tensor<2x64xf32>)
// CHECK:           arith.truncf
// CHECK:         %[[K:.*]] = kvc.dequantize %[[C]] from i8 scale<f32, tensor, static = 1.000000e+00> : (tensor<2x?x64xi8>) -> tensor<2x?x64xf16>
// CHECK:         %[[O:.*]] = kvc.dense_attention terms(%[[SCALED]] * %[[K]]) value(%[[V:.*]]) maps
// CHECK:         %[[RESULT:.*]] = linalg.generic {{.*}} ins(%[[O]], %[[S]] : tensor<2x64xf16>, tensor<2x1x1xf32>)
// CHECK:           arith.mulf {{.*}} : f32
// REMARK: [Analysis] HoistedScales {{.*}}"keys: 0 multiplications by scales left for each element"
// REMARK: [Analysis] HoistedScales {{.*}}"values: 0 multiplications by scales left for each element"
func.func @heads(%q: tensor<2x64xf16>, %c: tensor<2x?x64xi8>, %s: tensor<2x1x1xf32>) -> tensor<2x64xf16> {
  %k = kvc.dequantize %c by(%s) from i8 scale<f32, head, static> : (tensor<2x?x64xi8>, tensor<2x1x1xf32>) -> tensor<2x?x64xf16>
  %o = kvc.dense_attention terms(%q * %k) value(%k) maps [#q, #kv, #kv, #q] {scale = 0.125 : f32}
      : (tensor<2x64xf16>, tensor<2x?x64xf16>, tensor<2x?x64xf16>) -> tensor<2x64xf16>
  return %o : tensor<2x64xf16>
}

// -----

#q = affine_map<(b, h, g, i, j, w) -> (h, w)>
#kv = affine_map<(b, h, g, i, j, w) -> (h, j, w)>

// What stays, and why.
// CHECK-LABEL: func.func @negative_stay(
// CHECK:         kvc.dequantize {{.*}} scale<f32, token>
// CHECK:         kvc.dequantize {{.*}} scale<f32, group = 32>
// REMARK: [Missed] HoistedScales {{.*}}"scales of keys stay before attention: scales vary along the keys, and attention on tensors has no operand for factors of scores"
// REMARK: [Analysis] HoistedScales {{.*}}"keys: 1 multiplications by scales left for each element"
// REMARK: [Missed] HoistedScales {{.*}}"scales of values stay before attention: scales vary along the width"
func.func @negative_stay(%q: tensor<2x64xf32>, %c: tensor<2x?x64xi8>, %s: tensor<2x?x1xf32>, %g: tensor<2x?x2xf32>) -> tensor<2x64xf32> {
  %k = kvc.dequantize %c by(%s) from i8 scale<f32, token> : (tensor<2x?x64xi8>, tensor<2x?x1xf32>) -> tensor<2x?x64xf32>
  %v = kvc.dequantize %c by(%g) from i8 scale<f32, group = 32> : (tensor<2x?x64xi8>, tensor<2x?x2xf32>) -> tensor<2x?x64xf32>
  %o = kvc.dense_attention terms(%q * %k) value(%v) maps [#q, #kv, #kv, #q] {scale = 0.125 : f32}
      : (tensor<2x64xf32>, tensor<2x?x64xf32>, tensor<2x?x64xf32>) -> tensor<2x64xf32>
  return %o : tensor<2x64xf32>
}

// -----

!cache = !kvc.cache<page = 16, k: 8x128xi4 scale<f16, group = 32>, v: 8x128xi8 scale<f32, token>>

// Kernels over pages apply scales where they vary.
// REMARK: [Analysis] HoistedScales {{.*}}"keys 'k': 1/32 multiplications by scales left for each element"
// REMARK: [Analysis] HoistedScales {{.*}}"values 'v': 0 multiplications by scales left for each element"
func.func @pages(%q: tensor<?x8x128xf16>, %cache: !cache, %batch: !kvc.batch) -> tensor<?x8x128xf16> {
  %o = kvc.attention %cache at %batch terms(%q * k) value(v) {scale = 0.125 : f32} : !cache, tensor<?x8x128xf16> -> tensor<?x8x128xf16>
  return %o : tensor<?x8x128xf16>
}
