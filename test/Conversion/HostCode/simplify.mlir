// RUN: kvc-opt %s -kvc-simplify-host-code | FileCheck %s

// Each element of a gather is read where its coordinates say.
// CHECK-LABEL: func.func @gather(
// CHECK-SAME:    %[[X:[^:]*]]: tensor<?x4x8xf32>, %[[AT:[^:]*]]: tensor<?x1xi64>)
// CHECK:         linalg.generic
// CHECK:           %[[ROW:.*]] = linalg.index 0
// CHECK:           %[[WORD:.*]] = tensor.extract %[[AT]][%[[ROW]], %{{.*}}]
// CHECK:           %[[INDEX:.*]] = arith.index_cast %[[WORD]] : i64 to index
// CHECK-DAG:       %[[J:.*]] = linalg.index 1
// CHECK-DAG:       %[[K:.*]] = linalg.index 2
// CHECK:           tensor.extract %[[X]][%[[INDEX]], %[[J]], %[[K]]]
func.func @gather(%x: tensor<?x4x8xf32>, %at: tensor<?x1xi64>) -> tensor<?x4x8xf32> {
  %y = tensor.gather %x[%at] gather_dims([0])
      : (tensor<?x4x8xf32>, tensor<?x1xi64>) -> tensor<?x4x8xf32>
  return %y : tensor<?x4x8xf32>
}

// What is used once, element by element, is computed there.
// CHECK-LABEL: func.func @fused(
// CHECK-COUNT-1: linalg.generic
// CHECK-NOT:     linalg.
// CHECK:           math.exp
// CHECK:           arith.negf
// CHECK:         return
func.func @fused(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %empty = tensor.empty() : tensor<4x8xf32>
  %y = linalg.exp ins(%x : tensor<4x8xf32>) outs(%empty : tensor<4x8xf32>) -> tensor<4x8xf32>
  %z = linalg.negf ins(%y : tensor<4x8xf32>) outs(%empty : tensor<4x8xf32>) -> tensor<4x8xf32>
  return %z : tensor<4x8xf32>
}

// Not into a sum that would compute it once for each row.
// CHECK-LABEL: func.func @negative(
// CHECK:         linalg.generic
// CHECK:         math.exp
// CHECK:         linalg.matmul
func.func @negative(%x: tensor<4x8xf32>, %w: tensor<8x8xf32>, %out: tensor<4x8xf32>)
    -> tensor<4x8xf32> {
  %empty = tensor.empty() : tensor<8x8xf32>
  %y = linalg.exp ins(%w : tensor<8x8xf32>) outs(%empty : tensor<8x8xf32>) -> tensor<8x8xf32>
  %z = linalg.matmul ins(%x, %y : tensor<4x8xf32>, tensor<8x8xf32>)
      outs(%out : tensor<4x8xf32>) -> tensor<4x8xf32>
  return %z : tensor<4x8xf32>
}

// What only moves elements is read where they come from, in a sum as well and by several.
// CHECK-LABEL: func.func @moved(
// CHECK-SAME:    %{{.*}}, %[[W:[^:]*]]: tensor<8x8xf32>
// CHECK-NOT:     linalg.transpose
// CHECK-COUNT-2: ins(%{{.*}}, %[[W]] : tensor<4x8xf32>, tensor<8x8xf32>)
// CHECK:         return
func.func @moved(%x: tensor<4x8xf32>, %w: tensor<8x8xf32>, %out: tensor<4x8xf32>)
    -> (tensor<4x8xf32>, tensor<4x8xf32>) {
  %empty = tensor.empty() : tensor<8x8xf32>
  %t = linalg.transpose ins(%w : tensor<8x8xf32>) outs(%empty : tensor<8x8xf32>) permutation = [1, 0]
  %y = linalg.matmul ins(%x, %t : tensor<4x8xf32>, tensor<8x8xf32>)
      outs(%out : tensor<4x8xf32>) -> tensor<4x8xf32>
  %z = linalg.matmul ins(%y, %t : tensor<4x8xf32>, tensor<8x8xf32>)
      outs(%out : tensor<4x8xf32>) -> tensor<4x8xf32>
  return %y, %z : tensor<4x8xf32>, tensor<4x8xf32>
}
