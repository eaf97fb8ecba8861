// RUN: kvc-opt %s -kvc-decompose -canonicalize -cse | FileCheck %s

// Angles are f64, whatever the precision; the second half of the rotated
// elements goes with the first; what follows is copied.
// CHECK-LABEL: func.func @half
// CHECK-SAME:    %[[POSITIONS:[^:]*]]: memref<?xi32>, %{{[^:]*}}: memref<?x3x16xbf16,
func.func @half(%x: tensor<?x3x16xbf16>, %batch: !kvc.batch) -> tensor<?x3x16xbf16> {
  // CHECK-DAG: %[[THETA:.*]] = arith.constant 1.000000e+04 : f64
  // CHECK:     %[[LOADED:.*]] = memref.load %[[POSITIONS]]
  // CHECK:     %[[POSITION:.*]] = arith.sitofp %[[LOADED]] : i32 to f64
  // CHECK:     scf.for %[[PAIR:.*]] = %c0{{.*}} to %c4
  // CHECK:       %[[FREQUENCY:.*]] = math.powf %[[THETA]], %{{.*}} : f64
  // CHECK:       %[[ANGLE:.*]] = arith.mulf %[[POSITION]], %[[FREQUENCY]] : f64
  // CHECK:       %[[OTHER:.*]] = arith.addi %[[PAIR]], %c4
  // CHECK-DAG:   math.cos %[[ANGLE]] : f64
  // CHECK-DAG:   math.sin %[[ANGLE]] : f64
  // CHECK:       tensor.extract %{{.*}}[%{{.*}}, %{{.*}}, %[[PAIR]]]
  // CHECK:       tensor.extract %{{.*}}[%{{.*}}, %{{.*}}, %[[OTHER]]]
  // CHECK:       arith.truncf %{{.*}} : f64 to bf16
  // CHECK:     scf.for %{{.*}} = %c0{{.*}} to %c3
  // CHECK:       scf.for %[[W:.*]] = %c8{{.*}} to %c16
  // CHECK:         %[[SAME:.*]] = tensor.extract %{{.*}}[%{{.*}}, %{{.*}}, %[[W]]]
  // CHECK:         tensor.insert %[[SAME]]
  %r = kvc.rope %x at %batch {theta = 1.0e4 : f64, rotary_width = 8 : i64}
      : tensor<?x3x16xbf16>
  return %r : tensor<?x3x16xbf16>
}

// Frequencies that are given; neighbours go together; nothing is left to copy.
// CHECK-LABEL: func.func @interleaved
func.func @interleaved(%x: tensor<?x3x16xf32>, %f: tensor<8xf32>, %batch: !kvc.batch)
    -> tensor<?x3x16xf32> {
  // CHECK:     scf.for %[[PAIR:.*]] = %c0{{.*}} to %c8
  // CHECK:       tensor.extract %{{.*}}[%[[PAIR]]] : tensor<8xf32>
  // CHECK-NOT:   math.powf
  // CHECK:       %[[FIRST:.*]] = arith.muli %[[PAIR]], %c2
  // CHECK:       arith.addi %[[FIRST]], %c1
  // CHECK:       tensor.extract %{{.*}}[%{{.*}}, %{{.*}}, %[[FIRST]]]
  // CHECK-NOT: scf.for %{{.*}} = %c16
  %r = kvc.rope %x at %batch frequencies(%f : tensor<8xf32>)
      {style = #kvc<rope_style interleaved>, rotary_width = 16 : i64} : tensor<?x3x16xf32>
  return %r : tensor<?x3x16xf32>
}
