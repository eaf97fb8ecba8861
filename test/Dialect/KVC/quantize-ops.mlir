// RUN: kvc-opt %s -verify-roundtrip | FileCheck %s

// CHECK-LABEL: func.func @quantize(
func.func @quantize(%x: tensor<?x8x?x128xbf16>, %s: tensor<1x8x1x1xf32>) {
  // CHECK: kvc.quantize %{{.*}} to i8 scale<f32, token> : (tensor<?x8x?x128xbf16>) -> (tensor<?x8x?x128xi8>, tensor<?x8x?x1xf32>)
  %0, %s0 = kvc.quantize %x to i8 scale<f32, token> : (tensor<?x8x?x128xbf16>) -> (tensor<?x8x?x128xi8>, tensor<?x8x?x1xf32>)
  // CHECK: kvc.quantize %{{.*}} to i4 scale<f16, group = 32, zero_point> : (tensor<?x8x?x128xbf16>) -> (tensor<?x8x?x128xi8>, tensor<?x8x?x4xf16>, tensor<?x8x?x4xf16>)
  %1, %s1:2 = kvc.quantize %x to i4 scale<f16, group = 32, zero_point> : (tensor<?x8x?x128xbf16>) -> (tensor<?x8x?x128xi8>, tensor<?x8x?x4xf16>, tensor<?x8x?x4xf16>)
  // CHECK: kvc.quantize %{{.*}} to i4 scale<f32, token, zero_point> biased : (tensor<?x8x?x128xbf16>) -> (tensor<?x8x?x128xi8>, tensor<?x8x?x1xf32>, tensor<?x8x?x1xf32>)
  %2, %s2:2 = kvc.quantize %x to i4 scale<f32, token, zero_point> biased : (tensor<?x8x?x128xbf16>) -> (tensor<?x8x?x128xi8>, tensor<?x8x?x1xf32>, tensor<?x8x?x1xf32>)
  // CHECK: kvc.quantize %{{.*}} by(%{{.*}}) to f8E4M3FN scale<f32, head, static> : (tensor<?x8x?x128xbf16>, tensor<1x8x1x1xf32>) -> tensor<?x8x?x128xf8E4M3FN>
  %3 = kvc.quantize %x by(%s) to f8E4M3FN scale<f32, head, static> : (tensor<?x8x?x128xbf16>, tensor<1x8x1x1xf32>) -> tensor<?x8x?x128xf8E4M3FN>
  // CHECK: kvc.quantize %{{.*}} to i8 scale<f32, tensor, static = 5.000000e-02> : (tensor<?x8x?x128xbf16>) -> tensor<?x8x?x128xi8>
  %4 = kvc.quantize %x to i8 scale<f32, tensor, static = 0.05> : (tensor<?x8x?x128xbf16>) -> tensor<?x8x?x128xi8>
  // CHECK: kvc.quantize %{{.*}} to f8E5M2 : (tensor<?x8x?x128xbf16>) -> tensor<?x8x?x128xf8E5M2>
  %5 = kvc.quantize %x to f8E5M2 : (tensor<?x8x?x128xbf16>) -> tensor<?x8x?x128xf8E5M2>
  return
}

// CHECK-LABEL: func.func @dequantize(
func.func @dequantize(%c: tensor<?x8x?x128xi8>, %s: tensor<?x8x?x4xf16>, %f: tensor<4x8xf8E4M3FN>) {
  // CHECK: kvc.dequantize %{{.*}} by(%{{.*}}, %{{.*}}) from i4 scale<f16, group = 32, zero_point> : (tensor<?x8x?x128xi8>, tensor<?x8x?x4xf16>, tensor<?x8x?x4xf16>) -> tensor<?x8x?x128xf16>
  %0 = kvc.dequantize %c by(%s, %s) from i4 scale<f16, group = 32, zero_point> : (tensor<?x8x?x128xi8>, tensor<?x8x?x4xf16>, tensor<?x8x?x4xf16>) -> tensor<?x8x?x128xf16>
  // CHECK: kvc.dequantize %{{.*}} from f8E4M3FN : (tensor<4x8xf8E4M3FN>) -> tensor<4x8xf32>
  %1 = kvc.dequantize %f from f8E4M3FN : (tensor<4x8xf8E4M3FN>) -> tensor<4x8xf32>
  return
}
