// RUN: kvc-opt %s -kvc-decompose -canonicalize -cse | FileCheck %s

!cache = !kvc.cache<page = 4, k: 2x8xf16, v: 2x16xf16>

// Elements are copied as they are, to the slot of their token, if it has one.
// CHECK-LABEL: func.func @append
// CHECK-SAME:    %{{[^:]*}}: memref<?x2x8xf16, strided<[?, ?, 1]>>,
// CHECK-SAME:    %{{[^:]*}}: memref<?x2x16xf16, strided<[?, ?, 1]>>,
// CHECK-SAME:    %[[K:[^:]*]]: memref<?x4x2x8xf16, strided<[?, ?, ?, 1], offset: ?>>,
// CHECK-SAME:    %[[V:[^:]*]]: memref<?x4x2x16xf16, strided<[?, ?, ?, 1], offset: ?>>,
// CHECK-SAME:    %[[SLOTS:[^:]*]]: memref<?xi64>,
func.func @append(%k: tensor<?x2x8xf16>, %v: tensor<?x2x16xf16>, %cache: !cache,
                  %batch: !kvc.batch) {
  // CHECK:     scf.for %[[TOKEN:.*]] = %c0
  // CHECK:       %[[LOADED:.*]] = memref.load %[[SLOTS]][%[[TOKEN]]]
  // CHECK:       %[[SLOT:.*]] = arith.index_cast %[[LOADED]]
  // CHECK:       %[[IS_USED:.*]] = arith.cmpi sge, %[[SLOT]], %c0
  // CHECK:       scf.if %[[IS_USED]]
  // CHECK-DAG:     %[[PAGE:.*]] = arith.divui %[[SLOT]], %c4
  // CHECK-DAG:     %[[PLACE:.*]] = arith.remui %[[SLOT]], %c4
  // CHECK:         scf.for %[[HEAD:.*]] = %c0{{.*}} to %c2
  // CHECK:           scf.for %[[W:.*]] = %c0{{.*}} to %c8
  // CHECK:             %[[ELEMENT:.*]] = tensor.extract %{{.*}}[%[[TOKEN]], %[[HEAD]], %[[W]]] : tensor<?x2x8xf16>
  // CHECK-NEXT:        memref.store %[[ELEMENT]], %[[K]][%[[PAGE]], %[[PLACE]], %[[HEAD]], %[[W]]]
  // CHECK:     scf.for
  // CHECK:       memref.store %{{.*}}, %[[V]]
  // CHECK-NOT: arith.extf
  kvc.append %cache[k: %k, v: %v] at %batch : !cache, tensor<?x2x8xf16>, tensor<?x2x16xf16>
  return
}

// A component that is not named is not written.
// CHECK-LABEL: func.func @one_component
// CHECK-SAME:    %[[K:[^:]*]]: memref<?x4x2x8xf16,
func.func @one_component(%v: tensor<?x2x16xf16>, %cache: !cache, %batch: !kvc.batch) {
  // CHECK-NOT: memref.store %{{.*}}, %[[K]]
  // CHECK:     memref.store %{{.*}} : memref<?x4x2x16xf16
  // CHECK-NOT: memref.store
  kvc.append %cache[v: %v] at %batch : !cache, tensor<?x2x16xf16>
  return
}
