// RUN: kvc-opt %s -convert-kvc-to-cpu -canonicalize -split-input-file | FileCheck %s

!rows = !kvc.cache<page = 24, k: 2x16xbf16>

// A token with slot -1 is passed over; others are split into page and place in the
// page. Rows of a row-major page are copied 8 elements at a time.
// CHECK-LABEL: llvm.func internal @row_major.append(
// CHECK-SAME:    %[[PARAMS:.*]]: !llvm.ptr, %[[ITEM:.*]]: i64, %{{.*}}: i32)
// CHECK-DAG:     %[[PAGE_SIZE:.*]] = arith.constant 24 : i64
// CHECK-DAG:     %[[ZERO:.*]] = arith.constant 0 : i64
// CHECK:         %[[OWNED:.*]] = arith.cmpi sge, %[[SLOT:.*]], %[[ZERO]] : i64
// CHECK:         scf.if %[[OWNED]]
// CHECK-DAG:       arith.divui %[[SLOT]], %[[PAGE_SIZE]]
// CHECK-DAG:       arith.remui %[[SLOT]], %[[PAGE_SIZE]]
// CHECK:           scf.for
// CHECK:             llvm.load {{.*}} -> vector<8xi16>
// CHECK:             llvm.store {{.*}} : vector<8xi16>, !llvm.ptr
func.func @row_major(%k: tensor<?x2x16xbf16>, %cache: !rows, %batch: !kvc.batch) {
  kvc.append %cache[k: %k] at %batch : !rows, tensor<?x2x16xbf16>
  return
}

// -----

!packed = !kvc.cache<page = 16, k: 2x16xbf16 layout<packed_key>,
                                v: 2x16xbf16 layout<packed_value>>

// Packed keys keep pairs of elements together, packed values none.
// CHECK-LABEL: llvm.func internal @packed.append(
// CHECK:         llvm.store {{.*}} : vector<2xi16>, !llvm.ptr
// CHECK:         llvm.store {{.*}} : i16, !llvm.ptr
func.func @packed(%k: tensor<?x2x16xbf16>, %v: tensor<?x2x16xbf16>, %cache: !packed,
                  %batch: !kvc.batch) {
  kvc.append %cache[k: %k, v: %v] at %batch
      : !packed, tensor<?x2x16xbf16>, tensor<?x2x16xbf16>
  return
}

// -----

!cache = !kvc.cache<page = 16, k: 2x16xf32 layout<packed_key>>

// f32 has no pairs.
// CHECK-LABEL: llvm.func internal @f32.append(
// CHECK:         llvm.store {{.*}} : i32, !llvm.ptr
func.func @f32(%k: tensor<?x2x16xf32>, %cache: !cache, %batch: !kvc.batch) {
  kvc.append %cache[k: %k] at %batch : !cache, tensor<?x2x16xf32>
  return
}
