// RUN: kvc-opt %s -split-input-file -verify-diagnostics -pass-pipeline='builtin.module(gpu.module(kvtile.kernel(kvtile-assign-layouts)))'

// Nothing says how the warps share the work.
gpu.module @kernels {
// expected-error@below {{'kvtile.kernel' op has a tile that its form cannot lay out: expected a kvtile.finish, which says the form, got '!kvtile.tile<16x64xf32>'}}
kvtile.kernel @form()
    attributes {threads = 128 : i32, shared_bytes = 1024 : i32, max_registers = 255 : i32} {
  %tile = kvtile.fill 0.0 : !kvtile.tile<16x64xf32>
  kvtile.return
}
}

// -----

// Two forms in one kernel.
gpu.module @kernels {
kvtile.kernel @forms(%items: !llvm.ptr<1>, %n: i32, %out: !kvtile.rows<8x64xbf16>)
    attributes {threads = 128 : i32, shared_bytes = 1024 : i32, max_registers = 255 : i32} {
  %item = kvtile.work_item %items[%n] : !llvm.ptr<1>
  %acc = kvtile.fill 0.0 : !kvtile.tile<64x64xf32>
  %max = kvtile.fill 0.0 : !kvtile.vec<64, 0>
  // expected-note@below {{rows here}}
  kvtile.finish %acc, %max, %max form rows at %item, %n, %n group 4 width 64
      query_tokens 1 exchange 0 to %out parts %items, %items
      : !kvtile.tile<64x64xf32>, <64, 0>, !kvtile.rows<8x64xbf16>, !llvm.ptr<1>, !llvm.ptr<1>
  // expected-error@below {{'kvtile.finish' op expected one form a kernel, got columns}}
  kvtile.finish %acc, %max, %max form columns at %item, %n, %n group 4 width 64
      query_tokens 1 exchange 0 to %out parts %items, %items
      : !kvtile.tile<64x64xf32>, <64, 0>, !kvtile.rows<8x64xbf16>, !llvm.ptr<1>, !llvm.ptr<1>
  kvtile.return
}
}

// -----

// Probabilities of form `columns` go through shared memory.
gpu.module @kernels {
// expected-error@below {{'kvtile.kernel' op has a tile that its form cannot lay out: expected a slot, got '!kvtile.tile<16x64xbf16>'}}
kvtile.kernel @columns(%items: !llvm.ptr<1>, %n: i32, %out: !kvtile.rows<8x64xbf16>)
    attributes {threads = 128 : i32, shared_bytes = 1024 : i32, max_registers = 255 : i32} {
  %item = kvtile.work_item %items[%n] : !llvm.ptr<1>
  %acc = kvtile.fill 0.0 : !kvtile.tile<16x64xf32>
  %max = kvtile.fill 0.0 : !kvtile.vec<16, 0>
  %converted = kvtile.convert %acc : !kvtile.tile<16x64xf32> -> !kvtile.tile<16x64xbf16>
  kvtile.finish %acc, %max, %max form columns at %item, %n, %n group 4 width 64
      query_tokens 1 exchange 0 to %out parts %items, %items
      : !kvtile.tile<16x64xf32>, <16, 0>, !kvtile.rows<8x64xbf16>, !llvm.ptr<1>, !llvm.ptr<1>
  kvtile.return
}
}

// -----

// 16 rows for four warps with rows of their own.
gpu.module @kernels {
// expected-error@below {{'kvtile.kernel' op has a tile that its form cannot lay out: expected whole atoms of 16x8 in each of 4x1 blocks, got 16x64 elements}}
// expected-error@below {{'kvtile.kernel' op has a tile that its form cannot lay out: expected a multiple of 64 values, got 16}}
kvtile.kernel @share(%items: !llvm.ptr<1>, %n: i32, %out: !kvtile.rows<8x64xbf16>)
    attributes {threads = 128 : i32, shared_bytes = 1024 : i32, max_registers = 255 : i32} {
  %item = kvtile.work_item %items[%n] : !llvm.ptr<1>
  %acc = kvtile.fill 0.0 : !kvtile.tile<16x64xf32>
  %max = kvtile.fill 0.0 : !kvtile.vec<16, 0>
  kvtile.finish %acc, %max, %max form rows at %item, %n, %n group 4 width 64
      query_tokens 1 exchange 0 to %out parts %items, %items
      : !kvtile.tile<16x64xf32>, <16, 0>, !kvtile.rows<8x64xbf16>, !llvm.ptr<1>, !llvm.ptr<1>
  kvtile.return
}
}
