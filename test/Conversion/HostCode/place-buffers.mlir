// RUN: kvc-opt %s -kvc-place-buffers -cse | FileCheck %s

// Buffers lie one behind the other, at multiples of 64 bytes; the function of shapes
// returns where the last one ends.
// CHECK-LABEL: func.func @f(
// CHECK-SAME:    %[[X:[^:]*]]: memref<?x8xf32>, %[[W:[^:]*]]: memref<?xi8>)
// CHECK-DAG:     %[[N:.*]] = memref.dim %[[X]], %c0
// CHECK:         memref.view %[[W]][%c0][%[[N]]] : memref<?xi8> to memref<?xf32>
// CHECK:         %[[BYTES:.*]] = arith.muli %c4, %[[N]]
// CHECK:         %[[PADDED:.*]] = arith.addi %[[BYTES]], %c63
// CHECK:         %[[END:.*]] = arith.andi %[[PADDED]], %c-64
// CHECK:         %[[SECOND:.*]] = arith.addi %c0, %[[END]]
// CHECK:         memref.view %[[W]][%[[SECOND]]][] : memref<?xi8> to memref<3x5xbf16>
// CHECK-NOT:     memref.alloc
// CHECK-LABEL: func.func private @f.shapes(
// CHECK-SAME:    %[[N:[^:]*]]: index) -> index
// CHECK:         arith.muli %c4, %[[N]]
// CHECK:         arith.muli %{{.*}}, %c5
// CHECK:         return %{{.*}} : index
func.func @f(%x: memref<?x8xf32>) attributes {kvc.shapes = @f.shapes,
                                              kvc.function_type = (tensor<?x8xf32>) -> ()} {
  %zero = arith.constant 0.0 : f32
  %c0 = arith.constant 0 : index
  %n = memref.dim %x, %c0 : memref<?x8xf32>
  %a = memref.alloc(%n) : memref<?xf32>
  linalg.fill ins(%zero : f32) outs(%a : memref<?xf32>)
  %b = memref.alloc() : memref<3x5xbf16>
  %narrow = arith.constant 0.0 : bf16
  linalg.fill ins(%narrow : bf16) outs(%b : memref<3x5xbf16>)
  return
}
func.func private @f.shapes(%n: index) {
  return
}
