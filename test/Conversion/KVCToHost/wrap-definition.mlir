// RUN: kvc-opt %s -kvc-wrap-definition | FileCheck %s

!cache = !kvc.cache<page = 16, k: 2x8xf16>

// CHECK: module attributes {kvc.functions = [{name = "f", needs = "f.needs", run = "f.run"
// CHECK-SAME: type = (tensor<?x8xf32>, !kvc.cache<page = 16, k: 2x8xf16>, !kvc.batch) -> tensor<8xf32>
// CHECK-LABEL: llvm.func @f(
// CHECK-SAME:    sym_visibility = "private"
// CHECK-NOT:     kvc.function_type
llvm.func @f(%x: !llvm.ptr, %x1: !llvm.ptr, %x2: i64, %x3: i64, %x4: i64, %x5: i64, %x6: i64,
             %k: !llvm.ptr, %k1: !llvm.ptr, %k2: i64, %k3: i64, %k4: i64, %k5: i64, %k6: i64,
             %k7: i64, %k8: i64, %k9: i64, %k10: i64,
             %s: !llvm.ptr, %s1: !llvm.ptr, %s2: i64, %s3: i64, %s4: i64,
             %l: !llvm.ptr, %l1: !llvm.ptr, %l2: i64, %l3: i64, %l4: i64,
             %p: !llvm.ptr, %p1: !llvm.ptr, %p2: i64, %p3: i64, %p4: i64,
             %c: !llvm.ptr, %c1: !llvm.ptr, %c2: i64, %c3: i64, %c4: i64, %stride: i64,
             %t: !llvm.ptr, %t1: !llvm.ptr, %t2: i64, %t3: i64, %t4: i64,
             %o: !llvm.ptr, %o1: !llvm.ptr, %o2: i64, %o3: i64, %o4: i64,
             %r: !llvm.ptr, %r1: !llvm.ptr, %r2: i64, %r3: i64, %r4: i64) attributes {
    kvc.function_type = (tensor<?x8xf32>, !cache, !kvc.batch) -> tensor<8xf32>} {
  llvm.return
}

// Nothing is touched before the runtime has checked the call.
// CHECK-LABEL: llvm.func @f.run(
// CHECK-SAME:    %[[RT:[^:]*]]: !llvm.ptr, %[[STREAM:[^:]*]]: !llvm.ptr, %[[CALL:[^:]*]]: !llvm.ptr) -> i32
// CHECK:         %[[PROGRAM:.*]] = llvm.call @kvc.program()
// CHECK:         %[[STATUS:.*]] = llvm.call %{{.*}}(%[[PROGRAM]], %{{.*}}, %[[CALL]])
// CHECK:         llvm.cond_br %{{.*}}, ^[[WORK:.*]], ^[[REFUSE:.*]]
// CHECK:       ^[[WORK]]:
// CHECK-NOT:     llvm.return
// CHECK:         llvm.call @f(
// CHECK:       ^[[REFUSE]]:
// CHECK-NEXT:    llvm.return %[[STATUS]]

// CHECK-LABEL: llvm.func @f.needs(
// CHECK-SAME:    %{{[^:]*}}: !llvm.ptr, %{{[^:]*}}: !llvm.ptr, %[[OUT:[^:]*]]: !llvm.ptr) -> i32
// CHECK:         %[[NOTHING:.*]] = llvm.mlir.constant(0 : i64)
// CHECK:         %[[SIZE:.*]] = llvm.getelementptr %[[OUT]][8]
// CHECK:         llvm.store %[[NOTHING]], %[[SIZE]]

// What kvc-decompose found beyond the types is checked next: a batch made of
// arguments 0 to 4, and the rows of argument 5 and of the result.
// CHECK-LABEL: llvm.func @made(
// CHECK-NOT:     kvc.checks
llvm.func @made(%s: !llvm.ptr, %s1: !llvm.ptr, %s2: i64, %s3: i64, %s4: i64,
                %l: !llvm.ptr, %l1: !llvm.ptr, %l2: i64, %l3: i64, %l4: i64,
                %b: !llvm.ptr, %b1: !llvm.ptr, %b2: i64, %b3: i64, %b4: i64, %b5: i64, %b6: i64,
                %t: !llvm.ptr, %t1: !llvm.ptr, %t2: i64, %t3: i64, %t4: i64,
                %o: !llvm.ptr, %o1: !llvm.ptr, %o2: i64, %o3: i64, %o4: i64,
                %x: !llvm.ptr, %x1: !llvm.ptr, %x2: i64, %x3: i64, %x4: i64,
                %r: !llvm.ptr, %r1: !llvm.ptr, %r2: i64, %r3: i64, %r4: i64) attributes {
    kvc.checks = {batches = [{arrays = array<i64: 0, 1, -1, 2, 3, 4>, max_kv_len = 9 : i64,
                              max_query_len = 2 : i64}],
                  caches = [], equal_rows = [], rows = [array<i64: -1, 5, 6>], uses = []},
    kvc.function_type = (tensor<?xi32>, tensor<?xi32>, tensor<?x?xi32>, tensor<?xi64>,
                         tensor<?xi32>, tensor<?xf32>) -> tensor<?xf32>} {
  llvm.return
}
// CHECK-LABEL: llvm.func @made.run(
// CHECK:         %[[BATCH:.*]] = llvm.alloca %{{.*}} x i8 {alignment = 8 : i64}
// CHECK:         %[[MAX_QUERY_LEN:.*]] = llvm.mlir.constant(2 : i32)
// CHECK-NEXT:    %[[FIELD:.*]] = llvm.getelementptr %[[BATCH]][12]
// CHECK-NEXT:    llvm.store %[[MAX_QUERY_LEN]], %[[FIELD]]
// CHECK:         llvm.call %{{.*}}(%{{.*}}, %{{.*}}, %[[BATCH]], %{{.*}}, %{{.*}})
// CHECK:         llvm.call @made(

// A function that kvc-decompose did not record is left alone.
// CHECK-LABEL: llvm.func @other()
// CHECK-NOT:   @other.run
llvm.func @other() {
  llvm.return
}
// CHECK: llvm.func @kvc.program() -> !llvm.ptr
// CHECK: llvm.mlir.global internal constant @kvc.message("expected the arrays that a batch is made from
// CHECK: llvm.mlir.global internal constant @kvc.message{{.*}}("expected tensors to have as many rows
