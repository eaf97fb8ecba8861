// RUN: kvc-opt %s -convert-kvc-to-kvtile -split-input-file | FileCheck %s

!rows = tensor<?x4x20xf16>
!lse = tensor<?x4xf32>

// An entry of 16 bytes for each output and log-sum-exp says where the parts lie.
// CHECK: llvm.mlir.global external @kvc_shared
// CHECK-LABEL: kvtile.kernel @merge_merge(
// CHECK-SAME:    kvc.grid = array<i32: 4, 0, 1>, kvc.kind = "merge", kvc.op = 0 : i32
// CHECK-SAME:    kvc.parameters = ["rows", "operand 0", "operand 1", "operand 2", "operand 3", "operand 4", "result 0", "result 1"]
// CHECK-SAME:    shared_bytes = 64 : i32
func.func @merge(%o0: !rows, %o1: !rows, %l0: !lse, %l1: !lse, %s: tensor<4xf32>) -> (!rows, !lse) {
  // CHECK: nvvm.barrier0
  // One loop over the parts for the maximum, one for the sums, in which a part of
  // weight 0 counts for nothing.
  // CHECK: scf.for
  // CHECK:   scf.for
  // CHECK:   nvvm.shfl.sync bfly
  // CHECK:   scf.for
  // CHECK:     %[[UNUSED:.*]] = arith.cmpf oeq
  // CHECK:     arith.select %[[UNUSED]]
  %o, %l = kvc.merge outputs(%o0, %o1 : !rows, !rows) lses(%l0, %l1 : !lse, !lse)
      sinks(%s : tensor<4xf32>) : !rows, !lse
  return %o, %l : !rows, !lse
}

// -----

!rows = tensor<?x4x20xf16>
!lse = tensor<?x4xf32>

// A tensor that is a part twice is a parameter once.
// CHECK-LABEL: kvtile.kernel @same_merge(
// CHECK-SAME:    kvc.parameters = ["rows", "operand 0", "operand 2", "result 0", "result 1"]
func.func @same(%o0: !rows, %l0: !lse) -> (!rows, !lse) {
  %o, %l = kvc.merge outputs(%o0, %o0 : !rows, !rows) lses(%l0, %l0 : !lse, !lse) : !rows, !lse
  return %o, %l : !rows, !lse
}
