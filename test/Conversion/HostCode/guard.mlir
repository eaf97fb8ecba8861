// RUN: kvc-opt %s -kvc-guard-host-code -canonicalize -cse -split-input-file | FileCheck %s

// Sizes that share a loop have to be equal; those that types settle are not asked for.
// CHECK-LABEL: func.func @matmul(
// CHECK-SAME:    %[[X:[^:]*]]: tensor<?x?xf32>, %[[W:[^:]*]]: tensor<64x32xf32>, %[[Y:[^:]*]]: tensor<?x32xf32>)
// CHECK-DAG:     %[[ROWS:.*]] = tensor.dim %[[X]], %c0
// CHECK-DAG:     %[[INNER:.*]] = tensor.dim %[[X]], %c1
// CHECK-DAG:     %[[OUT:.*]] = tensor.dim %[[Y]], %c0
// CHECK-DAG:     arith.cmpi eq, %[[INNER]], %c64
// CHECK-DAG:     arith.cmpi eq, %[[ROWS]], %[[OUT]]
// CHECK:         cf.assert %{{.*}}, "'linalg.matmul' at {{.*}}guard.mlir{{.*}} expected the sizes that the operands have in common to be equal"{{$}}
// CHECK-NOT:     cf.assert
// CHECK:         linalg.matmul
func.func @matmul(%x: tensor<?x?xf32>, %w: tensor<64x32xf32>, %y: tensor<?x32xf32>)
    -> tensor<?x32xf32> {
  %z = linalg.matmul ins(%x, %w : tensor<?x?xf32>, tensor<64x32xf32>)
      outs(%y : tensor<?x32xf32>) -> tensor<?x32xf32>
  return %z : tensor<?x32xf32>
}

// -----

// An index that depends on values reads zero outside.
// CHECK-LABEL: func.func @extract(
// CHECK-SAME:    %[[X:[^:]*]]: tensor<?xf32>, %[[I:[^:]*]]: tensor<index>)
// CHECK:         %[[INDEX:.*]] = tensor.extract %[[I]][]
// CHECK:         %[[SIZE:.*]] = tensor.dim %[[X]]
// CHECK:         %[[INSIDE:.*]] = arith.cmpi ult, %[[INDEX]], %[[SIZE]]
// CHECK:         cf.assert %[[INSIDE]], "'tensor.extract' at {{.*}} expected indices inside the tensor" {kvc.harmless}
// CHECK:         scf.if %[[INSIDE]] -> (f32) {
// CHECK-NEXT:      %[[ELEMENT:.*]] = tensor.extract %[[X]][%[[INDEX]]]
// CHECK-NEXT:      scf.yield %[[ELEMENT]]
// CHECK-NEXT:    } else {
// CHECK-NEXT:      scf.yield %cst
func.func @extract(%x: tensor<?xf32>, %i: tensor<index>) -> f32 {
  %index = tensor.extract %i[] : tensor<index>
  %element = tensor.extract %x[%index] : tensor<?xf32>
  return %element : f32
}

// -----

// So does a slice move inside; its size has to fit whatever it is.
// CHECK-LABEL: func.func @slice(
// CHECK-SAME:    %[[X:[^:]*]]: tensor<?x8xf32>, %[[I:[^:]*]]: tensor<index>, %[[NEW:[^:]*]]: tensor<1x8xf32>)
// CHECK:         %[[OFFSET:.*]] = tensor.extract %[[I]][]
// CHECK:         %[[SIZE:.*]] = tensor.dim %[[X]]
// CHECK:         %[[LAST:.*]] = arith.subi %[[SIZE]], %c1
// CHECK:         cf.assert %{{.*}}, "'tensor.insert_slice' at {{.*}} expected offsets inside the tensor" {kvc.harmless}
// CHECK:         %[[BELOW:.*]] = arith.minsi %[[OFFSET]], %[[LAST]]
// CHECK:         %[[MOVED:.*]] = arith.maxsi %[[BELOW]], %c0
// CHECK:         cf.assert %{{.*}}, "'tensor.insert_slice' at {{.*}} expected sizes that fit into the tensor, and strides of at least 1"{{$}}
// CHECK:         tensor.insert_slice %[[NEW]] into %[[X]][%[[MOVED]], 0] [1, 8] [1, 1]
func.func @slice(%x: tensor<?x8xf32>, %i: tensor<index>, %new: tensor<1x8xf32>)
    -> tensor<?x8xf32> {
  %offset = tensor.extract %i[] : tensor<index>
  %y = tensor.insert_slice %new into %x[%offset, 0] [1, 8] [1, 1]
      : tensor<1x8xf32> into tensor<?x8xf32>
  return %y : tensor<?x8xf32>
}

// -----

// A division stops no process.
// CHECK-LABEL: func.func @divide(
// CHECK-SAME:    %[[A:[^:]*]]: i32, %[[B:[^:]*]]: i32)
// CHECK:         cf.assert %{{.*}}, "'arith.divsi' at {{.*}} expected a divisor other than 0" {kvc.harmless}
// CHECK:         %[[SAFE:.*]] = arith.select %{{.*}}, %c1_i32, %[[B]]
// CHECK:         arith.divsi %[[A]], %[[SAFE]]
func.func @divide(%a: i32, %b: i32) -> i32 {
  %c = arith.divsi %a, %b : i32
  return %c : i32
}

// -----

// What reaches beyond a dimension is bounded by the ranges of the loops.
// CHECK-LABEL: func.func @window(
// CHECK:         cf.assert %{{.*}}, "'linalg.generic' at {{.*}} expected all that is read and written to be inside the operands"
func.func @window(%x: tensor<?xf32>, %w: tensor<3xf32>, %y: tensor<?xf32>) -> tensor<?xf32> {
  %z = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i + j)>, affine_map<(i, j) -> (j)>,
                                        affine_map<(i, j) -> (i)>],
                       iterator_types = ["parallel", "reduction"]}
      ins(%x, %w : tensor<?xf32>, tensor<3xf32>) outs(%y : tensor<?xf32>) {
    ^bb0(%a: f32, %b: f32, %sum: f32):
      %product = arith.mulf %a, %b : f32
      %next = arith.addf %sum, %product : f32
      linalg.yield %next : f32
  } -> tensor<?xf32>
  return %z : tensor<?xf32>
}

// -----

// Nothing is asserted where types and verifiers say all.
// CHECK-LABEL: func.func @negative(
// CHECK-NOT:     cf.assert
func.func @negative(%x: tensor<4x8xf32>, %y: tensor<4x8xf32>) -> tensor<2x8xf32> {
  %z = linalg.add ins(%x, %y : tensor<4x8xf32>, tensor<4x8xf32>)
      outs(%y : tensor<4x8xf32>) -> tensor<4x8xf32>
  %s = tensor.extract_slice %z[1, 0] [2, 8] [1, 1] : tensor<4x8xf32> to tensor<2x8xf32>
  return %s : tensor<2x8xf32>
}
