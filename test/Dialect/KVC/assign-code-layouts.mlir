// RUN: kvc-opt %s -kvc-assign-cache-layout=codes=pairs -split-input-file | FileCheck %s --check-prefixes=CHECK,PAIRS
// RUN: kvc-opt %s -kvc-assign-cache-layout=codes=tiles -split-input-file | FileCheck %s --check-prefixes=CHECK,TILES
// RUN: kvc-opt %s -kvc-assign-cache-layout=codes=lanes -split-input-file | FileCheck %s --check-prefixes=CHECK,LANES
// RUN: not kvc-opt %s -kvc-assign-cache-layout=codes=bits -split-input-file 2>&1 \
// RUN:   | FileCheck %s --check-prefix=ERROR

// ERROR: error: expected codes 'pairs', 'tiles' or 'lanes', got 'bits'

!f8 = !kvc.cache<page = 16, k: 1x64xf8E4M3FN scale<f32, token>, v: 1x64xf8E4M3FN scale<f32, token>>

// Codes that bf16 queries read have the image of what multiplies them.
// CHECK-LABEL: func.func @bf16
// PAIRS-SAME:    k: 1x64xf8E4M3FN layout<packed_key> {{.*}}, v: 1x64xf8E4M3FN layout<packed_value>
// TILES-SAME:    k: 1x64xf8E4M3FN layout<packed_key> {{.*}}, v: 1x64xf8E4M3FN layout<packed_value>
// LANES-SAME:    k: 1x64xf8E4M3FN layout<lane_key> {{.*}}, v: 1x64xf8E4M3FN scale
func.func @bf16(%q: tensor<?x8x64xbf16>, %cache: !f8, %batch: !kvc.batch) -> tensor<?x8x64xbf16> {
  %out = kvc.attention %cache at %batch terms(%q * k) value(v) {scale = 1.0 : f32}
      : !f8, tensor<?x8x64xbf16> -> tensor<?x8x64xbf16>
  return %out : tensor<?x8x64xbf16>
}

// -----

!f8 = !kvc.cache<page = 16, k: 1x64xf8E4M3FN scale<f32, token>, v: 1x64xf8E4M3FN scale<f32, token>>

// Products of f16 queries are in f32 on every tier.
// CHECK-LABEL: func.func @f16
// CHECK-SAME:    k: 1x64xf8E4M3FN layout<lane_key> {{.*}}, v: 1x64xf8E4M3FN scale
func.func @f16(%q: tensor<?x8x64xf16>, %cache: !f8, %batch: !kvc.batch) -> tensor<?x8x64xf16> {
  %out = kvc.attention %cache at %batch terms(%q * k) value(v) {scale = 1.0 : f32}
      : !f8, tensor<?x8x64xf16> -> tensor<?x8x64xf16>
  return %out : tensor<?x8x64xf16>
}

// -----

!i8 = !kvc.cache<page = 16, k: 1x64xi8 scale<f32, token>, v: 1x64xi8 scale<f32, token>>

// So are those of i8 beside few heads where there are tiles.
// CHECK-LABEL: func.func @i8
// PAIRS-SAME:    layout<packed_key> {{.*}} layout<packed_value>
// TILES-SAME:    k: 1x64xi8 layout<lane_key> {{.*}}, v: 1x64xi8 scale
func.func @i8(%q: tensor<?x8x64xbf16>, %cache: !i8, %batch: !kvc.batch) -> tensor<?x8x64xbf16> {
  %out = kvc.attention %cache at %batch terms(%q * k) value(v) {scale = 1.0 : f32}
      : !i8, tensor<?x8x64xbf16> -> tensor<?x8x64xbf16>
  return %out : tensor<?x8x64xbf16>
}
