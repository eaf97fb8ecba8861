// The entry points of programs for a GPU. What they do with numbers is in
// test/Unit/Pipelines.

// RUN: kvc-opt %s -split-input-file -pass-pipeline='builtin.module(kvc-plan,\
// RUN:   convert-kvc-to-kvtile{keep-functions},gpu.module(kvtile.kernel(kvtile-assign-layouts,\
// RUN:   kvtile-pipeline-copies),convert-kvtile-to-nvvm),convert-kvc-to-launches)' | FileCheck %s

!cache = !kvc.cache<page = 16, k: 8x128xbf16, v: 8x128xbf16>

// The runtime is told what the kernels need: 16 bytes of the cache and of queries,
// 8 of outputs; elements are enough for rows to append.
// CHECK:      module attributes {gpu.container_module,
// CHECK-SAME: kvc.functions = [{alignments = array<i32: 16, 0, 0, 16, 0, 8>,
// CHECK-SAME:   name = "decode", needs = "decode.needs", run = "decode.run"
// CHECK-SAME: kvc.kernels = [{name = "decode_append", {{[^}]*}}},
// CHECK-SAME:   {name = "decode_attention_decode_worklist", shared_bytes = 0 : i32, threads = 256 : i32},
// CHECK-SAME:   {name = "decode_attention_decode", shared_bytes = 100352 : i32, threads = 64 : i32},
// CHECK-SAME:   {name = "decode_attention_decode_combine", shared_bytes = 0 : i32, {{[^}]*}}},
// CHECK-SAME:   {name = "decode_attention_prefill_worklist", {{[^}]*}}},
// CHECK-SAME:   {name = "decode_attention_prefill", {{[^}]*}}},
// CHECK-SAME:   {name = "decode_attention_prefill_combine", {{[^}]*}}}]

// CHECK-DAG:  llvm.mlir.global internal constant @{{.*}}("in 'decode': expected the tensors of 'kvc.append' to have as many rows as the batch has new tokens\00")
// CHECK-DAG:  llvm.mlir.global internal constant @{{.*}}("in 'decode': expected the tensors of 'kvc.attention' to have as many rows as the batch has new tokens\00")
// CHECK-DAG:  llvm.mlir.global internal constant @[[$SPACE:.*]]("in 'decode': expected a workspace of the size that 'needs' gives for this call, got a smaller one\00")
// CHECK-DAG:  llvm.mlir.global internal constant @{{.*}}("in 'decode': expected at most 2147483647 work items, one for each query token and 256 keys of max_kv_len, got more\00")

// CHECK-LABEL: llvm.func internal @decode.run(
// CHECK-SAME:    %[[RT:.*]]: !llvm.ptr, %[[STREAM:.*]]: !llvm.ptr, %[[CALL:.*]]: !llvm.ptr) -> i32
// CHECK:         %[[PROGRAM:.*]] = llvm.call @kvc.program() : () -> !llvm.ptr
// CHECK:         %[[STATUS:.*]] = llvm.call %{{.*}}(%[[PROGRAM]], %{{.*}}, %[[CALL]])
// CHECK:         %[[WORKERS:.*]] = llvm.call %{{.*}}(%[[STREAM]])
// CHECK:         llvm.mlir.addressof @{{.*}}
// CHECK:         llvm.mlir.addressof @[[$SPACE]]
// CHECK-COUNT-7: llvm.call %{{.*}}(%[[STREAM]], %[[PROGRAM]], {{.*}}) : !llvm.ptr, (!llvm.ptr, !llvm.ptr, i32, !llvm.ptr, !llvm.ptr, !llvm.ptr) -> i32
// CHECK-LABEL: llvm.func internal @decode.needs(
// CHECK:         llvm.mlir.addressof @{{.*}}
// CHECK-NOT: func.func
func.func @decode(%q: tensor<?x32x128xbf16>, %k: tensor<?x8x128xbf16>, %v: tensor<?x8x128xbf16>,
                  %cache: !cache, %batch: !kvc.batch) -> tensor<?x32x128xbf16> {
  kvc.append %cache[k: %k, v: %v] at %batch
      : !cache, tensor<?x8x128xbf16>, tensor<?x8x128xbf16>
  %o = kvc.attention %cache at %batch terms(%q * k) value(v) score [#kvc.causal]
      {scale = 0.088388346 : f32} : !cache, tensor<?x32x128xbf16> -> tensor<?x32x128xbf16>
  return %o : tensor<?x32x128xbf16>
}

// -----

!cache = !kvc.cache<page = 16, k: 8x128xbf16, v: 8x128xbf16>

// Copies have no bound of the query length, and elements are aligned enough.
// CHECK: kvc.functions = [{alignments = array<i32: 0, 0, 0>, name = "append",
// A function that does nothing is one all the same; a private one goes.
// CHECK-SAME: {{{.*}}name = "nothing", needs = "nothing.needs", run = "nothing.run", type = () -> ()}]
// CHECK-LABEL: llvm.func internal @append.run(
// CHECK-LABEL: llvm.func internal @nothing.run(
// CHECK-NOT: unused
func.func @append(%k: tensor<?x8x128xbf16>, %cache: !cache, %batch: !kvc.batch) {
  kvc.append %cache[k: %k] at %batch : !cache, tensor<?x8x128xbf16>
  return
}
func.func @nothing() {
  return
}
func.func private @unused() {
  return
}
