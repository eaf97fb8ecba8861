// Cache types with codes and scales: what is written is what is printed.
// RUN: kvc-opt %s | kvc-opt | FileCheck %s

// CHECK-LABEL: func.func private @floats
// CHECK-SAME: k: 8x128xf8E4M3FN, v: 8x128xf8E5M2 scale<f32, tensor, static = 5.000000e-02>
func.func private @floats(!kvc.cache<page = 16, k: 8x128xf8E4M3FN, v: 8x128xf8E5M2 scale<f32, tensor, static = 0.05>>)

// CHECK-LABEL: func.func private @integers
// CHECK-SAME: k: 8x128xi8 scale<f32, token>, v: 8x128xi4 scale<f16, group = 32, zero_point>
func.func private @integers(!kvc.cache<page = 64, k: 8x128xi8 scale<f32>, v: 8x128xi4 scale<f16, zero_point, group = 32>>)

// CHECK-LABEL: func.func private @static
// CHECK-SAME: k: 8x128xi8 scale<f16, head, static>, v: 8x128xi4 scale<f32, group = 128, static, zero_point>
func.func private @static(!kvc.cache<page = 1, k: 8x128xi8 scale<f16, static, head>, v: 8x128xi4 scale<f32, group = 128, static, zero_point>>)

// CHECK-LABEL: func.func private @latent
// CHECK-SAME: c: 1x512xf8E4M3FN scale<f32, group = 128>, r: 1x64xbf16
func.func private @latent(!kvc.cache<page = 64, c: 1x512xf8E4M3FN scale<f32, group = 128>, r: 1x64xbf16>)

// CHECK-LABEL: func.func private @images
// CHECK-SAME: k: 8x128xi8 layout<lane_key> scale<f32, token>, v: 8x128xi8 layout<packed_value> scale<f32, token>
func.func private @images(!kvc.cache<page = 16, k: 8x128xi8 layout<lane_key> scale<f32>, v: 8x128xi8 layout<packed_value> scale<f32>>)

// A row of 80 columns has groups of 32, 32 and 16. What is appended is plain, and counted.
// CHECK-LABEL: func.func @append
// CHECK: %[[COUNT:.*]] = kvc.append %{{.*}}[k: %{{.*}}, v: %{{.*}}] at %{{.*}} : !kvc.cache<page = 16, k: 2x80xi4 scale<f16, group = 32>, v: 2x80xbf16>, tensor<?x2x80xf32>, tensor<?x2x80xbf16> -> tensor<?xi32>
func.func @append(%cache: !kvc.cache<page = 16, k: 2x80xi4 scale<f16, group = 32>, v: 2x80xbf16>, %batch: !kvc.batch,
                  %k: tensor<?x2x80xf32>, %v: tensor<?x2x80xbf16>) -> tensor<?xi32> {
  %count = kvc.append %cache[k: %k, v: %v] at %batch
      : !kvc.cache<page = 16, k: 2x80xi4 scale<f16, group = 32>, v: 2x80xbf16>, tensor<?x2x80xf32>, tensor<?x2x80xbf16> -> tensor<?xi32>
  return %count : tensor<?xi32>
}

// Scales are buffers of their own; static ones have no pages.
// CHECK-LABEL: func.func @buffers
// CHECK: kvc.cache_from_buffers
func.func @buffers(%k: memref<?x16x8x128xi8>, %ks: memref<?x16x8x1xf32>, %v: memref<?x16x8x64xi8>, %vs: memref<8x4xf16>) {
  %c = kvc.cache_from_buffers %k, %ks, %v, %vs order nhd
      : memref<?x16x8x128xi8>, memref<?x16x8x1xf32>, memref<?x16x8x64xi8>, memref<8x4xf16>
      -> !kvc.cache<page = 16, k: 8x128xi8 scale<f32, token>, v: 8x128xi4 scale<f16, group = 32, static>>
  return
}
