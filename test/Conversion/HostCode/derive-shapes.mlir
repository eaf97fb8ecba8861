// RUN: kvc-opt %s -kvc-derive-shapes -split-input-file | FileCheck %s

// The rows of the result are those of both operands; the assertion on them moves, that
// on values stays.
// CHECK-LABEL: func.func @concat(
// CHECK-SAME:    kvc.dim_sources = array<i64: -1, 1>
// CHECK-SAME:    kvc.shapes = @concat.shapes
// CHECK-NOT:     "columns"
// CHECK:         cf.assert %{{.*}}, "value" {kvc.harmless}
// CHECK:         tensor.concat
// CHECK-LABEL: func.func private @concat.shapes(
// CHECK-SAME:    %[[N:[^:]*]]: index, %[[COLUMNS:[^:]*]]: index, %[[M:[^:]*]]: index, %[[OTHER:[^:]*]]: index) -> (index, index)
// CHECK-DAG:     %[[SAME:.*]] = arith.cmpi eq, %[[COLUMNS]], %[[OTHER]]
// CHECK-DAG:     cf.assert %[[SAME]], "columns"
// CHECK-DAG:     %[[SUM:.*]] = affine.apply #{{.*}}()[%[[N]], %[[M]]]
// CHECK:         return %[[SUM]], %[[COLUMNS]]
func.func @concat(%x: tensor<?x?xf32>, %y: tensor<?x?xf32>, %c: tensor<i1>) -> tensor<?x?xf32> {
  %c1 = arith.constant 1 : index
  %columns = tensor.dim %x, %c1 : tensor<?x?xf32>
  %other = tensor.dim %y, %c1 : tensor<?x?xf32>
  %same = arith.cmpi eq, %columns, %other : index
  cf.assert %same, "columns"
  %condition = tensor.extract %c[] : tensor<i1>
  cf.assert %condition, "value" {kvc.harmless}
  %z = tensor.concat dim(0) %x, %y : (tensor<?x?xf32>, tensor<?x?xf32>) -> tensor<?x?xf32>
  return %z : tensor<?x?xf32>
}

// -----

!cache = !kvc.cache<page = 16, k: 2x8xf32, v: 2x8xf32>

// All tensors of a kvc operation have a row for each token of its batch.
// CHECK-LABEL: func.func @attend(
// CHECK-SAME:    kvc.token_rows = array<i1: true, false, false, true>
// CHECK-LABEL: func.func private @attend.shapes(
// CHECK-SAME:    %[[ROWS:[^:]*]]: index, %[[TOKENS:[^:]*]]: index) -> index
// CHECK:         %[[SAME:.*]] = arith.cmpi eq, %[[ROWS]], %[[TOKENS]]
// CHECK-NEXT:    cf.assert %[[SAME]], "expected the tensors of 'kvc.attention' to have as many rows as the batch has new tokens"
// CHECK-NEXT:    return %[[ROWS]]
func.func @attend(%q: tensor<?x4x8xf32>, %cache: !cache, %batch: !kvc.batch)
    -> tensor<?x4x8xf32> {
  %o = kvc.attention %cache at %batch terms(%q * k) value(v) {scale = 1.0 : f32}
      : !cache, tensor<?x4x8xf32> -> tensor<?x4x8xf32>
  return %o : tensor<?x4x8xf32>
}

// -----

// An assertion in a loop that does not depend on it moves as well.
// CHECK-LABEL: func.func private @loop.shapes(
// CHECK-SAME:    %[[N:[^:]*]]: index) -> index
// CHECK:         cf.assert %{{.*}}, "small"
// CHECK-NEXT:    return %[[N]]
func.func @loop(%x: tensor<?xf32>) -> tensor<?xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c9 = arith.constant 9 : index
  %y = scf.for %i = %c0 to %c9 step %c1 iter_args(%z = %x) -> tensor<?xf32> {
    %n = tensor.dim %z, %c0 : tensor<?xf32>
    %small = arith.cmpi ult, %n, %c9 : index
    cf.assert %small, "small"
    %w = linalg.exp ins(%z : tensor<?xf32>) outs(%z : tensor<?xf32>) -> tensor<?xf32>
    scf.yield %w : tensor<?xf32>
  }
  return %y : tensor<?xf32>
}
