// What kernels an attention becomes, and what they are made of. That they compute the
// right numbers is tested in python/test_attention.py.

// DEFINE: %{tier} = plain
// DEFINE: %{layout} = packed
// DEFINE: %{convert} = kvc-opt %s -kvc-assign-cache-layout=layout=%{layout} \
// DEFINE:   -kvc-plan="target=cpu tier=%{tier}" -convert-kvc-to-cpu=tier=%{tier} -split-input-file

// RUN: %{convert} | FileCheck %s --check-prefixes=CHECK,PLAIN
// RUN: %{convert} | FileCheck %s --check-prefix=NO-DOT --implicit-check-not=x86vector
// RUN: %{convert} | FileCheck %s --check-prefix=NO-FMA \
// RUN:   --implicit-check-not=llvm.intr.fma --implicit-check-not=math.fma
// REDEFINE: %{tier} = avx2
// RUN: %{convert} | FileCheck %s --check-prefixes=CHECK,FMA
// RUN: %{convert} | FileCheck %s --check-prefix=NO-DOT --implicit-check-not=x86vector
// REDEFINE: %{tier} = avx512
// RUN: %{convert} | FileCheck %s --check-prefixes=CHECK,FMA
// RUN: %{convert} | FileCheck %s --check-prefix=NO-DOT --implicit-check-not=x86vector
// REDEFINE: %{tier} = avx512_bf16
// RUN: %{convert} | FileCheck %s --check-prefixes=CHECK,DOT
// REDEFINE: %{layout} = row_major
// RUN: %{convert} | FileCheck %s --check-prefix=ROWS --implicit-check-not=llvm.intr.prefetch
// REDEFINE: %{tier} = amx
// REDEFINE: %{layout} = packed
// RUN: %{convert} | FileCheck %s --check-prefixes=CHECK,TILE

!cache = !kvc.cache<page = 16, k: 2x128xbf16, v: 2x128xbf16>

// One function to run, one that tells what it needs, and three kernels: decode, the
// merge of its parts, and prefill. The products are in vdpbf16ps, in fused
// multiply-adds, or in neither. Decode reads packed pages in place and prefetches
// those of the next tile; rows of other layouts are copied into blocks first.
// CHECK-LABEL: llvm.func internal @bf16.run(
// CHECK-LABEL: llvm.func internal @bf16.needs(
// CHECK-LABEL: llvm.func internal @bf16.decode(
// CHECK-SAME:    %{{.*}}: !llvm.ptr, %{{.*}}: i64, %{{.*}}: i32)
// PLAIN:         arith.mulf {{.*}} : vector<4xf32>
// FMA:           math.fma
// DOT:           math.fma
// TILE:          math.fma
// CHECK:         llvm.intr.prefetch
// CHECK-LABEL: llvm.func internal @bf16.merge_parts(
// CHECK-NOT:     llvm.intr.prefetch
// CHECK-LABEL: llvm.func internal @bf16.prefill(
// DOT:           x86vector.avx512.dot
// TILE:          llvm.x86.ldtilecfg
// TILE:          llvm.x86.tdpbf16ps
// TILE:          llvm.x86.tilerelease
// CHECK-NOT:     llvm.intr.prefetch
// NO-DOT:      llvm.func internal @bf16.decode(
// NO-FMA:      llvm.func internal @bf16.decode(
// ROWS:        llvm.func internal @bf16.decode(
func.func @bf16(%q: tensor<?x4x128xbf16>, %cache: !cache, %batch: !kvc.batch)
    -> tensor<?x4x128xbf16> {
  %out = kvc.attention %cache at %batch terms(%q * k) value(v) score [#kvc.causal]
      {scale = 1.0 : f32} : !cache, tensor<?x4x128xbf16> -> tensor<?x4x128xbf16>
  return %out : tensor<?x4x128xbf16>
}

// -----

!cache = !kvc.cache<page = 16, k: 2x128xbf16, v: 2x128xbf16>

// Decode of more query heads a KV head multiplies bf16, where the tier can.
// CHECK-LABEL: llvm.func internal @many.decode(
// PLAIN:         arith.mulf {{.*}} : vector<4xf32>
// FMA:           math.fma
// DOT:           x86vector.avx512.dot
// TILE:          llvm.x86.tdpbf16ps
// CHECK:         llvm.intr.prefetch
// CHECK-LABEL: llvm.func internal @many.merge_parts(
// NO-DOT:      llvm.func internal @many.decode(
// NO-FMA:      llvm.func internal @many.decode(
// ROWS:        llvm.func internal @many.decode(
func.func @many(%q: tensor<?x16x128xbf16>, %cache: !cache, %batch: !kvc.batch)
    -> tensor<?x16x128xbf16> {
  %out = kvc.attention %cache at %batch terms(%q * k) value(v)
      {scale = 1.0 : f32} : !cache, tensor<?x16x128xbf16> -> tensor<?x16x128xbf16>
  return %out : tensor<?x16x128xbf16>
}

// -----

!cache = !kvc.cache<page = 16, k: 2x64xf16, v: 2x64xf16>

// Elements of f16 have no dot product on any tier.
// CHECK-LABEL: llvm.func internal @f16.decode(
// DOT-NOT:       x86vector
// DOT:           math.fma
// DOT-NOT:       x86vector
// CHECK-LABEL: llvm.func internal @f16.prefill(
// DOT-NOT:       x86vector
func.func @f16(%q: tensor<?x4x64xf16>, %cache: !cache, %batch: !kvc.batch)
    -> tensor<?x4x64xf16> {
  %out = kvc.attention %cache at %batch terms(%q * k) value(v) {scale = 1.0 : f32}
      : !cache, tensor<?x4x64xf16> -> tensor<?x4x64xf16>
  return %out : tensor<?x4x64xf16>
}

// -----

!cache = !kvc.cache<page = 16, k: 1x8xf32, v: 1x8xf32>

// A softcap is a polynomial, not a call for each score; without FMA as well.
// CHECK-LABEL: llvm.func internal @softcap.decode(
// CHECK-NOT:     math.tanh
// CHECK:         arith.divf
// CHECK-NOT:     math.tanh
// NO-FMA:      llvm.func internal @softcap.decode(
func.func @softcap(%q: tensor<?x1x8xf32>, %cache: !cache, %batch: !kvc.batch)
    -> tensor<?x1x8xf32> {
  %out = kvc.attention %cache at %batch terms(%q * k) value(v) score [#kvc.softcap<20.0>]
      {scale = 1.0 : f32} : !cache, tensor<?x1x8xf32> -> tensor<?x1x8xf32>
  return %out : tensor<?x1x8xf32>
}

// -----

!cache = !kvc.cache<page = 16, k: 1x8xf32, v: 1x8xf32>

// The slope of a bias by distance is a polynomial too.
// CHECK-LABEL: llvm.func internal @alibi.decode(
// CHECK-NOT:     math.exp2
// CHECK:         arith.sitofp {{.*}} : vector<{{[0-9]+}}xi32> to vector<{{[0-9]+}}xf32>
// CHECK-NOT:     math.exp2
// NO-FMA:      llvm.func internal @alibi.decode(
func.func @alibi(%q: tensor<?x3x8xf32>, %cache: !cache, %batch: !kvc.batch)
    -> tensor<?x3x8xf32> {
  %out = kvc.attention %cache at %batch terms(%q * k) value(v) score [#kvc.alibi]
      {scale = 1.0 : f32} : !cache, tensor<?x3x8xf32> -> tensor<?x3x8xf32>
  return %out : tensor<?x3x8xf32>
}

// -----

!cache = !kvc.cache<page = 16, k: 1x8xf32, v: 1x8xf32>

// Each attention of a function has kernels of its own, under names of its own.
// CHECK-DAG: llvm.func internal @two.decode(
// CHECK-DAG: llvm.func internal @two.decode_{{[0-9]+}}(
// CHECK-DAG: llvm.func internal @two.prefill(
// CHECK-DAG: llvm.func internal @two.prefill_{{[0-9]+}}(
func.func @two(%q: tensor<?x1x8xf32>, %cache: !cache, %batch: !kvc.batch)
    -> (tensor<?x1x8xf32>, tensor<?x1x8xf32>) {
  %0 = kvc.attention %cache at %batch terms(%q * k) value(v) {scale = 1.0 : f32}
      : !cache, tensor<?x1x8xf32> -> tensor<?x1x8xf32>
  %1 = kvc.attention %cache at %batch terms(%q * k) value(v) {scale = 2.0 : f32}
      : !cache, tensor<?x1x8xf32> -> tensor<?x1x8xf32>
  return %0, %1 : tensor<?x1x8xf32>, tensor<?x1x8xf32>
}
