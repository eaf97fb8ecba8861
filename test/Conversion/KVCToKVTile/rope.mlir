// RUN: kvc-opt %s -convert-kvc-to-kvtile -split-input-file | FileCheck %s

!rows = tensor<?x6x64xbf16>

// Frequencies of theta are a table, one for each theta and width: 1, 0.01 for theta
// 10^4 and two pairs.
// CHECK: llvm.mlir.global internal constant @kvc_frequencies_40c3880000000000_4(dense<[1.000000e+00, 1.000000e-02]> : tensor<2xf64>) {addr_space = 1 : i32
// CHECK-NOT: llvm.mlir.global

// Four heads a block share the sines and cosines of a token.
// CHECK-LABEL: kvtile.kernel @theta_rope(
// CHECK-SAME:    kvc.grid = array<i32: 2, 0, 1>, kvc.kind = "rope", kvc.op = 0 : i32
// CHECK-SAME:    kvc.parameters = ["batch num_tokens", "batch positions", "operand 0", "result 0"]
// CHECK: llvm.mlir.addressof @kvc_frequencies_40c3880000000000_4
// Nothing here is left to a library of the device.
// CHECK-NOT: math.
// CHECK: scf.for
// Elements past the rotary width are copied.
// CHECK: llvm.load %{{.*}} : !llvm.ptr<1> -> i16
// CHECK-LABEL: kvtile.kernel @theta_rope_1(
// CHECK: llvm.mlir.addressof @kvc_frequencies_40c3880000000000_4
func.func @theta(%x: !rows, %batch: !kvc.batch) -> (!rows, !rows) {
  %y = kvc.rope %x at %batch {theta = 1.0e4 : f64, rotary_width = 4 : i64} : !rows
  %z = kvc.rope %x at %batch {theta = 1.0e4 : f64, rotary_width = 4 : i64,
                              style = #kvc<rope_style interleaved>} : !rows
  return %y, %z : !rows, !rows
}

// -----

!rows = tensor<?x6x64xf32>

// CHECK-NOT: llvm.mlir.global
// CHECK-LABEL: kvtile.kernel @given_rope(
// CHECK-SAME:    %[[F:[a-z0-9]+]]: !kvtile.heads<32xf32>
// CHECK-SAME:    kvc.parameters = ["batch num_tokens", "batch positions", "operand 0", "operand 2", "result 0"]
// CHECK: kvtile.head %[[F]][%{{.*}} : i32]
func.func @given(%x: !rows, %batch: !kvc.batch, %f: tensor<32xf32>) -> !rows {
  %y = kvc.rope %x at %batch frequencies(%f : tensor<32xf32>) {rotary_width = 64 : i64} : !rows
  return %y : !rows
}
