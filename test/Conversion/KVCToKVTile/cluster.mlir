// Thread blocks of decode merge in clusters, where the schedule says so.

// RUN: kvc-opt %s -kvc-plan -convert-kvc-to-kvtile | FileCheck %s
// RUN: kvc-opt %s -kvc-plan="cluster=1" -convert-kvc-to-kvtile \
// RUN:   | FileCheck %s --check-prefix=NONE --implicit-check-not=cluster
// RUN: kvc-opt %s --pass-pipeline="builtin.module(kvc-plan,convert-kvc-to-kvtile,gpu.module(kvtile.kernel(kvtile-assign-layouts,kvtile-pipeline-copies),convert-kvtile-to-nvvm))" \
// RUN:   | FileCheck %s --check-prefix=NVVM
// RUN: not kvc-opt %s -kvc-plan="cluster=16" 2>&1 | FileCheck %s --check-prefix=BAD

// BAD: error: expected a cluster of 1, 2, 4 or 8 thread blocks, got 16

// NONE-LABEL: kvtile.kernel @llama_attention_decode(

!cache = !kvc.cache<page = 16, k: 8x128xbf16, v: 8x128xbf16>

// The list is told of the cluster, and says who merges; whoever puts parts together reads
// it there.
// CHECK-LABEL: llvm.func @llama_attention_decode_worklist(
// CHECK-SAME:    "list target", "list cluster"]
// CHECK-LABEL: kvtile.kernel @llama_attention_decode(
// CHECK-SAME:    kvc.cluster = 8 : i32
// CHECK:         kvtile.stage_rows {{.*}} shared to %[[QUERY:.*]] :
// CHECK-NEXT:    kvtile.gather_rows %[[QUERY]] at
// CHECK:         kvtile.finish {{.*}} cluster 8
// CHECK-LABEL: kvtile.kernel @llama_attention_decode_combine(
// CHECK:         arith.divui
// CHECK-LABEL: kvtile.kernel @llama_attention_prefill(
// CHECK-NOT:     cluster
// CHECK:       kvtile.kernel @llama_attention_prefill_combine(

// Between barriers of the cluster, and only there, a block reads what others have: their
// rows of the query, while the first copies are under way, and their results. That no
// other one reads the query any more is waited for when its place is needed.
// NVVM-LABEL: @llama_attention_decode(
// NVVM:         nvvm.cp.async.shared.global
// NVVM:         nvvm.cluster.arrive {aligned}
// NVVM-NEXT:    nvvm.cluster.wait {aligned}
// NVVM:         llvm.load {{.*}} : !llvm.ptr<7> -> vector<4xi32>
// NVVM-NOT:     llvm.load {{.*}} : !llvm.ptr<7>
// NVVM:         nvvm.cluster.arrive {aligned}
// NVVM-NOT:     nvvm.cluster
// NVVM:         nvvm.mma.sync
// NVVM:         nvvm.cluster.wait {aligned}
// NVVM:         nvvm.cluster.arrive {aligned}
// NVVM-NEXT:    nvvm.cluster.wait {aligned}
// NVVM-NOT:     nvvm.cluster
// NVVM-COUNT-8: llvm.load {{.*}} : !llvm.ptr<7> -> vector<4xf32>
// NVVM:         nvvm.cluster.arrive {aligned}
// NVVM-NEXT:    nvvm.cluster.wait {aligned}
// NVVM-LABEL: @llama_attention_decode_combine(
// NVVM-NOT:     llvm.ptr<7>
// NVVM:       @llama_attention_prefill(
func.func @llama(%cache: !cache, %batch: !kvc.batch, %q: tensor<?x32x128xbf16>)
    -> tensor<?x32x128xbf16> {
  %out = kvc.attention %cache at %batch terms(%q * k) value(v) score [#kvc.causal]
      {scale = 0.125 : f32} : !cache, tensor<?x32x128xbf16> -> tensor<?x32x128xbf16>
  return %out : tensor<?x32x128xbf16>
}

// Items of a deterministic attention would merge in an order that others' lengths decide.
// CHECK-LABEL: llvm.func @deterministic_attention_decode_worklist(
// CHECK-NOT:     cluster
func.func @deterministic(%cache: !cache, %batch: !kvc.batch, %q: tensor<?x32x128xbf16>)
    -> tensor<?x32x128xbf16> {
  %out = kvc.attention %cache at %batch terms(%q * k) value(v)
      {scale = 0.125 : f32, deterministic} : !cache, tensor<?x32x128xbf16> -> tensor<?x32x128xbf16>
  return %out : tensor<?x32x128xbf16>
}
