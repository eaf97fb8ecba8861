// RUN: kvc-opt %s -kvc-to-cpu-pipeline | FileCheck %s
// RUN: kvc-opt %s -kvc-to-definition-pipeline | FileCheck %s --check-prefix=DEFINITION

// A function without a kvc operation has all three entries, and allocates nothing.
// CHECK-NOT:  @malloc
// CHECK-DAG:  llvm.func internal @softmax.part0(
// CHECK-DAG:  llvm.func internal @softmax.shapes(
// CHECK-DAG:  llvm.func internal @softmax.needs(
// CHECK-DAG:  llvm.func internal @softmax.run(
// CHECK-DAG:  llvm.func @expf(f32) -> f32
// CHECK:      llvm.func @kvc_program_query(
// DEFINITION-NOT: @malloc
// DEFINITION-DAG: llvm.func internal @softmax.result_shapes(
// DEFINITION-DAG: llvm.func internal @softmax.run(
func.func @softmax(%x: tensor<?x?xf32>) -> tensor<?x?xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = tensor.dim %x, %c0 : tensor<?x?xf32>
  %m = tensor.dim %x, %c1 : tensor<?x?xf32>
  %empty = tensor.empty(%n, %m) : tensor<?x?xf32>
  %y = linalg.softmax dimension(1) ins(%x : tensor<?x?xf32>) outs(%empty : tensor<?x?xf32>)
      -> tensor<?x?xf32>
  return %y : tensor<?x?xf32>
}
