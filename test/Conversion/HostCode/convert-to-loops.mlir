// RUN: kvc-opt %s -kvc-convert-host-code-to-loops -canonicalize | FileCheck %s

// The columns are innermost: along them the output and the second operand are contiguous.
// CHECK-LABEL: func.func @matmul(
// CHECK-SAME:    %[[A:[^:]*]]: memref<4x16xf32>, %[[B:[^:]*]]: memref<16x8xf32>, %[[C:[^:]*]]: memref<4x8xf32>)
// CHECK:         scf.for %[[I:.*]] = %{{.*}} to %c4
// CHECK:           scf.for %[[K:.*]] = %{{.*}} to %c16
// CHECK:             scf.for %[[J:.*]] = %{{.*}} to %c8
// CHECK:               memref.load %[[A]][%[[I]], %[[K]]]
// CHECK:               memref.load %[[B]][%[[K]], %[[J]]]
// CHECK:               %[[PRODUCT:.*]] = arith.mulf %{{.*}} fastmath<reassoc,contract>
// CHECK:               %[[SUM:.*]] = arith.addf %{{.*}}, %[[PRODUCT]] fastmath<reassoc,contract>
// CHECK:               memref.store %[[SUM]], %[[C]][%[[I]], %[[J]]]
func.func @matmul(%a: memref<4x16xf32>, %b: memref<16x8xf32>, %c: memref<4x8xf32>) {
  linalg.matmul ins(%a, %b : memref<4x16xf32>, memref<16x8xf32>) outs(%c : memref<4x8xf32>)
  return
}

// With the second operand turned, the sum is.
// CHECK-LABEL: func.func @turned(
// CHECK-SAME:    %[[A:[^:]*]]: memref<4x16xf32>, %[[B:[^:]*]]: memref<8x16xf32>, %[[C:[^:]*]]: memref<4x8xf32>)
// CHECK:         scf.for %[[I:.*]] = %{{.*}} to %c4
// CHECK:           scf.for %[[J:.*]] = %{{.*}} to %c8
// CHECK:             scf.for %[[K:.*]] = %{{.*}} to %c16
// CHECK:               memref.load %[[B]][%[[J]], %[[K]]]
func.func @turned(%a: memref<4x16xf32>, %b: memref<8x16xf32>, %c: memref<4x8xf32>) {
  linalg.matmul indexing_maps = [affine_map<(i, j, k) -> (i, k)>,
                                 affine_map<(i, j, k) -> (j, k)>,
                                 affine_map<(i, j, k) -> (i, j)>]
      ins(%a, %b : memref<4x16xf32>, memref<8x16xf32>) outs(%c : memref<4x8xf32>)
  return
}

// What adds without summing up keeps its arithmetic.
// CHECK-LABEL: func.func @negative(
// CHECK:         arith.addf %{{[^ ]*}}, %{{[^ ]*}} : f32
func.func @negative(%a: memref<4xf32>, %b: memref<4xf32>) {
  linalg.add ins(%a, %a : memref<4xf32>, memref<4xf32>) outs(%b : memref<4xf32>)
  return
}
