// RUN: kvc-opt %s --kvc-plan --convert-kvc-to-nvvm --split-input-file | FileCheck %s
// RUN: kvc-opt %s --kvc-plan --convert-kvc-to-nvvm --kvc-verify-nvvm --split-input-file \
// RUN:   | FileCheck %s --check-prefix=VERIFIED

// VERIFIED: gpu.module @kvc_kernels

!cache = !kvc.cache<page = 16, k: 8x128xbf16, v: 8x128xbf16>

// The kernels of a function stand in the order of their launches.
// CHECK-LABEL: gpu.module @kvc_kernels
// CHECK:       llvm.mlir.global external @kvc_shared() {addr_space = 3 : i32, alignment = 1024 : i64}

// A negative slot is not written; offsets into the cache are 64-bit.
// CHECK:       llvm.func @decode_append(
// CHECK-SAME:    kvc.function = "decode", kvc.grid = array<i32: 8, 0, 2>, kvc.kind = "append", kvc.op = 0 : i32,
// CHECK-SAME:    kvc.parameters = ["batch slots", "batch num_tokens", "operand 2", "component k", "operand 3", "component v"]
// CHECK:         %[[SLOT:.*]] = llvm.load %{{.*}} invariant {{.*}} -> i64
// CHECK:         arith.cmpi sge, %[[SLOT]], %{{.*}} : i64
// CHECK:         %[[PAGE:.*]] = arith.divui %[[SLOT]], %{{.*}} : i64
// CHECK:         arith.muli %[[PAGE]], %{{.*}} : i64

// The list is built by a block of threads, which share their counts.
// CHECK:       llvm.func @decode_worklist(
// CHECK-SAME:    kvc.kind = "worklist", kvc.op = 1 : i32, {{.*}}, kvc.phase = "decode"
// CHECK:         nvvm.shfl.sync bfly
// CHECK:         nvvm.barrier0
// CHECK:         nvvm.shfl.sync up
// CHECK:         nvvm.barrier0

// CHECK:       llvm.func @decode_attention(
// CHECK-SAME:    kvc.alignments = array<i32: 4, 16, 16, 0, 0, 0, 0, 4, 0, 0>
// CHECK-SAME:    kvc.grid = array<i32: 8, 0, 1>, kvc.kind = "attention", kvc.op = 1 : i32,
// CHECK-SAME:    kvc.parameters = ["operand 2", "component k", "component v", "batch page_ids",
// CHECK-SAME:      "list items", "list merges", "list counts", "result 0", "parts output", "parts stats"],
// CHECK-SAME:    kvc.phase = "decode", kvc.query_heads = 32 : i32, kvc.query_tokens = 1 : i32,
// CHECK-SAME:    kvc.shared_bytes = 98304 : i32, kvc.split = 256 : i32, kvc.threads = 128 : i32,
// CHECK-SAME:    kvc.width = 128 : i32, nvvm.kernel, nvvm.maxnreg = 168 : i32, nvvm.reqntid = array<i32: 128>

// A row is copied with 16 bytes if it is a key of the item, else with none.
// CHECK:         %[[IS_KEY:.*]] = arith.cmpi ult, %{{.*}}, %{{.*}} : i32
// CHECK:         %[[BYTES:.*]] = arith.select %[[IS_KEY]], %{{.*}}, %{{.*}} : i32
// CHECK:         arith.muli %{{.*}}, %{{.*}} : i64
// CHECK:         nvvm.cp.async.shared.global %{{.*}}, %{{.*}}, 16, cache = cg, %[[BYTES]]
// CHECK:         nvvm.cp.async.shared.global %{{.*}}, %{{.*}}, 16, cache = cg, %[[BYTES]]
// CHECK:         nvvm.cp.async.commit.group

// One tile: its copies are awaited, the slot read before is filled, the page ids
// of the copy after that are loaded, then the products.
// CHECK:         scf.for %{{.*}} iter_args
// CHECK:           nvvm.cp.async.wait.group 1
// CHECK-NEXT:      nvvm.barrier0
// CHECK:           nvvm.cp.async.commit.group
// CHECK:           llvm.load %{{.*}} invariant {{.*}} -> i32
// CHECK:           nvvm.ldmatrix %{{.*}} {eltType = #nvvm.ld_st_matrix_elt_type<b16>, layout = #nvvm.mma_layout<row>, num = 4 : i32
// CHECK:           nvvm.mma.sync
// CHECK-SAME:        shape = #nvvm.shape<m = 16, n = 8, k = 16>
// CHECK:           nvvm.ldmatrix %{{.*}} layout = #nvvm.mma_layout<col>
// CHECK:         nvvm.barrier0

// CHECK:       llvm.func @decode_combine(
// CHECK-SAME:    kvc.grid = array<i32: 32, 0, 1>, kvc.kind = "combine"
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

!cache = !kvc.cache<page = 16, k: 2x64xf16, v: 2x64xf16>

// A group of 20 takes two blocks of 16 rows. Products of f16 take vectors.
// CHECK-LABEL: gpu.module @kvc_kernels
// CHECK:       llvm.func @group_of_20_attention(
// CHECK-SAME:    kvc.grid = array<i32: 4, 0, 1>
// CHECK:           nvvm.mma.sync
// CHECK-SAME:        (vector<2xf16>, vector<2xf16>, f32)
func.func @group_of_20(%q: tensor<?x40x64xf16>, %cache: !cache, %batch: !kvc.batch)
    -> tensor<?x40x64xf16> {
  %o = kvc.attention %cache at %batch terms(%q * k) value(v) {scale = 0.125 : f32}
      : !cache, tensor<?x40x64xf16> -> tensor<?x40x64xf16>
  return %o : tensor<?x40x64xf16>
}

// -----

!cache = !kvc.cache<page = 16, k: 2x64xf16, v: 2x64xf16>

// Without a target, keys are cut at fixed places, and no total is needed.
// CHECK-LABEL: gpu.module @kvc_kernels
// CHECK:       llvm.func @fixed_worklist(
// CHECK-NOT:   list target
// CHECK-NOT:   bfly
// CHECK:       llvm.func @fixed_attention(
// CHECK-SAME:    kvc.deterministic
func.func @fixed(%q: tensor<?x2x64xf16>, %cache: !cache, %batch: !kvc.batch)
    -> tensor<?x2x64xf16> {
  %o = kvc.attention %cache at %batch terms(%q * k) value(v) {deterministic, scale = 0.125 : f32}
      : !cache, tensor<?x2x64xf16> -> tensor<?x2x64xf16>
  return %o : tensor<?x2x64xf16>
}

// -----

!cache = !kvc.cache<page = 1, k: 2x64xf16, v: 2x64xf16>

// A function without attention has the append's kernel only, and one of other
// operations stays.
// CHECK-LABEL: func.func @negative_plain
// CHECK-LABEL: gpu.module @kvc_kernels
// CHECK:       llvm.func @fill_append(
// CHECK:       llvm.func @fill_append_1(
// CHECK-NOT:   llvm.func
func.func @fill(%k: tensor<?x2x64xf16>, %cache: !cache, %batch: !kvc.batch) {
  kvc.append %cache[k: %k] at %batch : !cache, tensor<?x2x64xf16>
  kvc.append %cache[v: %k] at %batch : !cache, tensor<?x2x64xf16>
  return
}
func.func @negative_plain(%x: f32) -> f32 {
  return %x : f32
}
