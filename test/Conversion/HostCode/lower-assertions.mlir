// RUN: kvc-opt %s -kvc-lower-assertions | FileCheck %s

// The function stores the number of a broken condition; that of shapes returns the number
// of the first one.
// CHECK-LABEL: func.func @f(
// CHECK-SAME:    %{{[^:]*}}: memref<?xf32>, %[[CONDITION:[^:]*]]: i1, %[[FAULT:[^:]*]]: memref<i32>)
// CHECK-SAME:    kvc.conditions = ["of a value"]
// CHECK:         %[[BROKEN:.*]] = arith.xori %[[CONDITION]], %true
// CHECK-NEXT:    scf.if %[[BROKEN]] {
// CHECK-NEXT:      %[[NUMBER:.*]] = arith.constant 1 : i32
// CHECK-NEXT:      memref.store %[[NUMBER]], %[[FAULT]][]
// CHECK-LABEL: func.func private @f.shapes(
// CHECK-SAME:    %[[N:[^:]*]]: index, %[[HOLDS:[^:]*]]: i1) -> (i32, index)
// CHECK-SAME:    kvc.conditions = ["first", "expected sizes whose products fit into 64 bits"]
// CHECK:         %[[NONE:.*]] = arith.constant 0 : i32
// CHECK-NEXT:    %[[ONE:.*]] = arith.constant 1 : i32
// CHECK-NEXT:    %[[IS_FIRST:.*]] = arith.cmpi eq, %[[NONE]], %[[NONE]]
// CHECK-NEXT:    %[[THEN:.*]] = arith.select %[[HOLDS]], %[[NONE]], %[[ONE]]
// CHECK-NEXT:    %[[NUMBER:.*]] = arith.select %[[IS_FIRST]], %[[THEN]], %[[NONE]]
// CHECK:         %[[SQUARE:.*]] = arith.muli %[[N]], %[[N]]
// CHECK:         %[[LOW:.*]], %[[HIGH:.*]] = arith.mulsi_extended
// CHECK:         %[[FITS:.*]] = arith.cmpi eq, %[[HIGH]],
// CHECK:         arith.select %[[FITS]], %[[NUMBER]], %{{.*}}
// CHECK:         return %{{.*}}, %[[SQUARE]] : i32, index
func.func @f(%x: memref<?xf32>, %condition: i1) attributes {kvc.shapes = @f.shapes} {
  cf.assert %condition, "of a value"
  return
}
func.func private @f.shapes(%n: index, %holds: i1) -> index {
  cf.assert %holds, "first"
  %square = arith.muli %n, %n : index
  return %square : index
}
