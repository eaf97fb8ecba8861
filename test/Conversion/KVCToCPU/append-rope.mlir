// An append rotates as it reads if nothing else needs the rotated rows: the rope then has
// no kernel, and its result no memory.

// RUN: kvc-opt %s -kvc-plan="target=cpu tier=plain" -convert-kvc-to-cpu | FileCheck %s

!cache = !kvc.cache<page = 16, k: 2x64xi8 scale<f32>, v: 2x64xbf16>
!rows = tensor<?x2x64xbf16>

// CHECK-LABEL: llvm.func internal @fused.append(
// CHECK:         math.cos
// CHECK-NOT:   @fused.rope
// CHECK-LABEL: llvm.func internal @alone.run(
func.func @fused(%k: !rows, %v: !rows, %cache: !cache, %batch: !kvc.batch) {
  %r = kvc.rope %k at %batch {theta = 1.0e4 : f64, rotary_width = 64 : i64} : !rows
  kvc.append %cache[k: %r, v: %v] at %batch : !cache, !rows, !rows
  return
}

// Nothing else is appended.
// CHECK-LABEL: llvm.func internal @alone.append(
// CHECK:         math.cos
func.func @alone(%k: !rows, %cache: !cache, %batch: !kvc.batch) {
  %r = kvc.rope %k at %batch {theta = 1.0e4 : f64, rotary_width = 64 : i64} : !rows
  kvc.append %cache[k: %r] at %batch : !cache, !rows
  return
}

// The rotated rows are a result too.
// CHECK-LABEL: llvm.func internal @returned.append(
// CHECK-NOT:     math.cos
// CHECK-LABEL: llvm.func internal @returned.rope(
// CHECK:         math.cos
func.func @returned(%k: !rows, %v: !rows, %cache: !cache, %batch: !kvc.batch) -> !rows {
  %r = kvc.rope %k at %batch {theta = 1.0e4 : f64, rotary_width = 64 : i64} : !rows
  kvc.append %cache[k: %r, v: %v] at %batch : !cache, !rows, !rows
  return %r : !rows
}

// Other tokens have other positions.
// CHECK-LABEL: llvm.func internal @other.append(
// CHECK-NOT:     math.cos
// CHECK-LABEL: llvm.func internal @other.rope(
func.func @other(%k: !rows, %v: !rows, %cache: !cache, %batch: !kvc.batch, %old: !kvc.batch) {
  %r = kvc.rope %k at %old {theta = 1.0e4 : f64, rotary_width = 64 : i64} : !rows
  kvc.append %cache[k: %r, v: %v] at %batch : !cache, !rows, !rows
  return
}
