// RUN: kvc-opt %s -convert-kvc-to-kvtile -split-input-file | FileCheck %s

!cache = !kvc.cache<page = 16, k: 8x128xbf16, v: 4x72xbf16>

// One block a head and component; any number of them along the tokens.
// CHECK-LABEL: kvtile.kernel @two_append(
// CHECK-SAME:    %[[SLOTS:[a-z0-9]+]]: !llvm.ptr<1>, %[[TOKENS:[a-z0-9]+]]: i32,
// CHECK-SAME:    %[[FROM:[a-z0-9]+]]: !kvtile.rows<8x128xbf16>, %[[TO:[a-z0-9]+]]: !kvtile.pages<16, 8x128xbf16>,
// CHECK-SAME:    !kvtile.rows<4x72xbf16>, {{.*}}: !kvtile.pages<16, 4x72xbf16>)
// CHECK-SAME:    kvc.function = "two", kvc.grid = array<i32: 8, 0, 2>, kvc.kind = "append", kvc.op = 0 : i32,
// CHECK-SAME:    kvc.parameters = ["batch slots", "batch num_tokens", "operand 2", "component k", "operand 3", "component v"]
func.func @two(%cache: !cache, %batch: !kvc.batch, %k: tensor<?x8x128xbf16>,
               %v: tensor<?x4x72xbf16>) {
  // A slot of -1 is left out.
  // CHECK: %[[SLOT:.*]] = llvm.load %{{.*}} invariant {alignment = 8 : i64} : !llvm.ptr<1> -> i64
  // CHECK: %[[USED:.*]] = arith.cmpi sge, %[[SLOT]], %c0_i64 : i64
  // CHECK: scf.if %[[USED]]
  // CHECK-DAG: kvtile.page_row %[[TO]][%[[SLOT]], %{{.*}} : i32]
  // CHECK-DAG: kvtile.row %[[FROM]][%{{.*}} : i32, %{{.*}} : i32]
  // 16 bytes at a time if both rows are aligned, else elements.
  // CHECK: %[[REST:.*]] = arith.andi %{{.*}}, %c15_i64 : i64
  // CHECK: %[[ALIGNED:.*]] = arith.cmpi eq, %[[REST]], %c0_i64
  // CHECK: scf.if %[[ALIGNED]]
  // CHECK:   llvm.load %{{.*}} {alignment = 16 : i64} : !llvm.ptr<1> -> vector<4xi32>
  // CHECK: } else {
  // CHECK:   llvm.load %{{.*}} {alignment = 2 : i64} : !llvm.ptr<1> -> i16
  kvc.append %cache[k: %k, v: %v] at %batch
      : !cache, tensor<?x8x128xbf16>, tensor<?x4x72xbf16>
  return
}

// -----

!cache = !kvc.cache<page = 16, k: 8x128xf16, v: 8x128xf16>
!rows = tensor<?x8x128xf16>

// A rope for an append alone is a part of its kernel.
// CHECK-NOT: "rope"
// CHECK-LABEL: kvtile.kernel @fused_append(
// CHECK-SAME:    kvc.op = 1 : i32
// CHECK-SAME:    kvc.parameters = ["batch slots", "batch num_tokens", "batch positions", "op 0 operand 0", "component k", "operand 3", "component v"]
// CHECK-NOT: "rope"
func.func @fused(%cache: !cache, %batch: !kvc.batch, %k: !rows, %v: !rows) {
  %r = kvc.rope %k at %batch {theta = 1.0e4 : f64, rotary_width = 128 : i64} : !rows
  kvc.append %cache[k: %r, v: %v] at %batch : !cache, !rows, !rows
  return
}

// -----

!cache = !kvc.cache<page = 16, k: 8x128xf16>
!rows = tensor<?x8x128xf16>

// One that is used elsewhere too, or turned at other positions, has its own.
// CHECK-LABEL: kvtile.kernel @negative_rope(
// CHECK-SAME:    kvc.op = 0 : i32
// CHECK-LABEL: kvtile.kernel @negative_append(
// CHECK-SAME:    kvc.parameters = ["batch slots", "batch num_tokens", "operand 2", "component k"]
// CHECK-LABEL: kvtile.kernel @negative_rope_1(
// CHECK-SAME:    kvc.op = 2 : i32
// CHECK-LABEL: kvtile.kernel @negative_append_1(
func.func @negative(%cache: !cache, %batch: !kvc.batch, %other: !kvc.batch, %k: !rows) -> !rows {
  %r = kvc.rope %k at %batch {theta = 1.0e4 : f64, rotary_width = 128 : i64} : !rows
  kvc.append %cache[k: %r] at %batch : !cache, !rows
  %s = kvc.rope %k at %other {theta = 1.0e4 : f64, rotary_width = 128 : i64} : !rows
  kvc.append %cache[k: %s] at %batch : !cache, !rows
  return %r : !rows
}
