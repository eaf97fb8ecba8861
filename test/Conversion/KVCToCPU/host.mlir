// The functions `needs` and `run` of the host ABI.

// RUN: kvc-opt %s -kvc-plan="target=cpu tier=plain" -convert-kvc-to-cpu -split-input-file | FileCheck %s

!cache = !kvc.cache<page = 16, k: 1x8xf32>

// Each function is recorded, with the type that its caller knows.
// CHECK:      module attributes {kvc.functions = [{name = "f", needs = "f.needs", run = "f.run", type = (tensor<?x1x8xf32>, !kvc.cache<page = 16, k: 1x8xf32>, !kvc.batch) -> ()},
// CHECK-SAME:   {name = "g", needs = "g.needs", run = "g.run", type = () -> ()}]}
// What a call may violate has a text that names the function.
// CHECK-DAG:  llvm.mlir.global internal constant @[[$ROWS:.*]]("in 'f': expected the tensors of 'kvc.append' to have as many rows as the batch has new tokens\00")
// CHECK-DAG:  llvm.mlir.global internal constant @[[$BOUNDS:.*]]("in 'f': expected bounds of at least 0 and at least 1 worker\00")
// CHECK-DAG:  llvm.mlir.global internal constant @[[$SPACE:.*]]("in 'f': expected a workspace of the size that 'needs' gives for this call, got a smaller one\00")

// `run` has the runtime check the call against the program before it reads it.
// CHECK-LABEL: llvm.func internal @f.run(
// CHECK-SAME:    %[[RT:.*]]: !llvm.ptr, %[[STREAM:.*]]: !llvm.ptr, %[[CALL:.*]]: !llvm.ptr) -> i32
// CHECK:         %[[PROGRAM:.*]] = llvm.call @kvc.program() : () -> !llvm.ptr
// CHECK:         %[[STATUS:.*]] = llvm.call %{{.*}}(%[[PROGRAM]], %{{.*}}, %[[CALL]])
// CHECK:         llvm.cond_br
// CHECK-DAG:     llvm.mlir.addressof @[[$SPACE]]
// CHECK-DAG:     llvm.mlir.addressof @[[$ROWS]]
// CHECK-DAG:     %[[KERNEL:.*]] = llvm.mlir.addressof @f.append
// CHECK-DAG:     llvm.call %{{.*}}(%[[STREAM]], %[[KERNEL]],
// CHECK-LABEL: llvm.func internal @f.needs(
// CHECK:         llvm.mlir.addressof @[[$BOUNDS]]
// CHECK:         llvm.return
func.func @f(%k: tensor<?x1x8xf32>, %cache: !cache, %batch: !kvc.batch) {
  kvc.append %cache[k: %k] at %batch : !cache, tensor<?x1x8xf32>
  return
}

// A function that does nothing is one all the same.
// CHECK-LABEL: llvm.func internal @g.run(
func.func @g() {
  return
}

// A private function is one that nothing can call, and goes.
// CHECK-NOT: unused
func.func private @unused(%k: tensor<?x1x8xf32>, %cache: !cache, %batch: !kvc.batch) {
  kvc.append %cache[k: %k] at %batch : !cache, tensor<?x1x8xf32>
  return
}

// -----

// Names that are taken are left alone: the function's own name stays what callers know.
// CHECK:      {name = "f", needs = "f.needs", run = "[[ENTRY:f.run_[0-9]+]]", type = () -> ()}
// CHECK-SAME: {name = "f.run", needs = "f.run.needs", run = "f.run.run", type = () -> ()}
// CHECK:      llvm.mlir.global external @kvc.message
// CHECK-DAG:  llvm.func internal @[[ENTRY]](
// CHECK-DAG:  llvm.func internal @f.run.run(
llvm.mlir.global external @kvc.message(0 : i32) : i32
func.func @f() {
  return
}
func.func @f.run() {
  return
}

// -----

// A batch that the function makes is checked, as are the arrays it is made of; its
// bound of the length counts in `needs`.
// CHECK-DAG:   llvm.mlir.global internal constant @[[$ARRAYS:.*]]("in 'made_here': expected the arrays of 'kvc.batch_from_csr' to agree on the numbers of sequences and tokens\00")
// CHECK-LABEL: llvm.func internal @made_here.run(
// CHECK:         llvm.mlir.addressof @[[$ARRAYS]]
// CHECK-LABEL: llvm.func internal @made_here.needs(
// CHECK:         arith.constant 8192 : i32
func.func @made_here(%x: tensor<?x1x8xf32>, %start: tensor<?xi32>, %lens: tensor<?xi32>,
                     %ids: tensor<?xi32>, %slots: tensor<?xi64>, %pos: tensor<?xi32>)
    -> tensor<?x1x8xf32> {
  %batch = kvc.batch_from_csr %start, %lens, %start, %ids, %slots, %pos
      max_query_len 1 max_kv_len 8192
      : tensor<?xi32>, tensor<?xi32>, tensor<?xi32>, tensor<?xi32>, tensor<?xi64>,
        tensor<?xi32>
  %out = kvc.rope %x at %batch {theta = 1.0e4 : f64, rotary_width = 8 : i64}
      : tensor<?x1x8xf32>
  return %out : tensor<?x1x8xf32>
}
