// RUN: kvc-opt %s -kvc-expand-runtime-calls | FileCheck %s

// bf16 is the upper half of an f32.
// CHECK-LABEL: func.func @extend_bf16
func.func @extend_bf16(%x: bf16) -> f64 {
  // CHECK: %[[BITS:.*]] = arith.bitcast %{{.*}} : bf16 to i16
  // CHECK: %[[WIDE:.*]] = arith.extui %[[BITS]] : i16 to i32
  // CHECK: %[[SHIFTED:.*]] = arith.shli %[[WIDE]], %{{.*}}
  // CHECK: %[[SINGLE:.*]] = arith.bitcast %[[SHIFTED]] : i32 to f32
  // CHECK: arith.extf %[[SINGLE]] : f32 to f64
  %y = arith.extf %x : bf16 to f64
  return %y : f64
}

// Vectors go the same way as scalars; a denormal f16 is a normal f32.
// CHECK-LABEL: func.func @extend_f16
func.func @extend_f16(%x: vector<4xf16>) -> vector<4xf32> {
  // CHECK-NOT: arith.extf
  // CHECK:     arith.sitofp %{{.*}} : vector<4xi32> to vector<4xf32>
  // CHECK:     arith.bitcast %{{.*}} : vector<4xi32> to vector<4xf32>
  %y = arith.extf %x : vector<4xf16> to vector<4xf32>
  return %y : vector<4xf32>
}

// One rounding, from the bits of the f64.
// CHECK-LABEL: func.func @round_once
func.func @round_once(%x: f64) -> f16 {
  // CHECK:     arith.bitcast %{{.*}} : f64 to i64
  // CHECK-NOT: arith.truncf
  // CHECK:     %[[BITS:.*]] = arith.trunci %{{.*}} : i64 to i16
  // CHECK:     arith.bitcast %[[BITS]] : i16 to f16
  %y = arith.truncf %x : f64 to f16
  return %y : f16
}

// What every processor can do stays.
// CHECK-LABEL: func.func @between_wide
func.func @between_wide(%x: f64) -> f32 {
  // CHECK: arith.truncf %{{.*}} : f64 to f32
  %y = arith.truncf %x : f64 to f32
  return %y : f32
}

// CHECK-LABEL: func.func @copies
// CHECK-SAME:    %[[FROM:[^:]*]]: memref<?x4xf16, strided<[?, 1]>>, %[[TO:[^:]*]]: memref<?x4xf16>
func.func @copies(%from: memref<?x4xf16, strided<[?, 1]>>, %to: memref<?x4xf16>) {
  // CHECK: scf.for %[[I:.*]] = %{{.*}} to
  // CHECK:   scf.for %[[J:.*]] = %{{.*}} to
  // CHECK:     %[[X:.*]] = memref.load %[[FROM]][%[[I]], %[[J]]]
  // CHECK:     memref.store %[[X]], %[[TO]][%[[I]], %[[J]]]
  memref.copy %from, %to : memref<?x4xf16, strided<[?, 1]>> to memref<?x4xf16>
  // Contiguous memory is copied by libc.
  // CHECK: memref.copy %[[TO]], %[[TO]]
  memref.copy %to, %to : memref<?x4xf16> to memref<?x4xf16>
  return
}
