// RUN: kvc-opt %s -split-input-file -verify-diagnostics

// A stream carries what consume yields.
func.func @stream(%begin: i32, %end: i32, %init: !kvtile.vec<8, 0>) {
  // expected-error@below {{'kvtile.stream' op expected consume to yield, and the operation to return, the types of its inits}}
  %r = kvtile.stream %begin to %end stages 2 offset 0 slots []
      init(%init : !kvtile.vec<8, 0>) lookup {
  ^bb0(%tile: i32):
    kvtile.yield
  } produce {
  ^bb0(%tile: i32):
    kvtile.yield
  } consume {
  ^bb0(%tile: i32, %carried: !kvtile.vec<8, 0>):
    kvtile.yield
  } -> !kvtile.vec<8, 0>
  return
}

// -----

func.func @stages(%begin: i32, %end: i32) {
  // expected-error@below {{'kvtile.stream' op expected 2 to 8 stages, got 1}}
  kvtile.stream %begin to %end stages 1 offset 0 slots [] lookup {
  ^bb0(%tile: i32):
    kvtile.yield
  } produce {
  ^bb0(%tile: i32):
    kvtile.yield
  } consume {
  ^bb0(%tile: i32):
    kvtile.yield
  }
  return
}

// -----

// A block without a terminator.
func.func @empty(%begin: i32, %end: i32) {
  // expected-error@below {{empty block: expect at least a terminator}}
  kvtile.stream %begin to %end stages 2 offset 0 slots [] lookup {
  ^bb0(%tile: i32):
  } produce {
  ^bb0(%tile: i32):
    kvtile.yield
  } consume {
  ^bb0(%tile: i32):
    kvtile.yield
  }
  return
}

// -----

func.func @slots(%begin: i32, %end: i32) {
  // expected-error@below {{'kvtile.stream' op expected types of slots, got 'i32'}}
  kvtile.stream %begin to %end stages 2 offset 0 slots [i32] lookup {
  ^bb0(%tile: i32):
    kvtile.yield
  } produce {
  ^bb0(%tile: i32, %slot: i32):
    kvtile.yield
  } consume {
  ^bb0(%tile: i32, %slot: i32):
    kvtile.yield
  }
  return
}

// -----

// PTX has no such name.
// expected-error@below {{'kvtile.kernel' op expected a name of letters, digits, '_', '$' and '.'}}
kvtile.kernel @"a name"()
    attributes {threads = 128 : i32, shared_bytes = 0 : i32, max_registers = 255 : i32} {
  kvtile.return
}

// -----

// Part of a warp.
// expected-error@below {{'kvtile.kernel' op expected threads to be a multiple of 32, got 100}}
kvtile.kernel @threads()
    attributes {threads = 100 : i32, shared_bytes = 0 : i32, max_registers = 255 : i32} {
  kvtile.return
}

// -----

// expected-error@below {{attribute 'threads' failed to satisfy constraint}}
kvtile.kernel @no_threads()
    attributes {threads = 0 : i32, shared_bytes = 0 : i32, max_registers = 255 : i32} {
  kvtile.return
}

// -----

// What only a kernel has.
// expected-error@below {{'kvtile.kernel' op expected parameter 1 to be pages, rows, heads, a pointer to global memory, i32 or i64, got '!kvtile.item'}}
kvtile.kernel @parameter(%n: i32, %item: !kvtile.item)
    attributes {threads = 128 : i32, shared_bytes = 0 : i32, max_registers = 255 : i32} {
  kvtile.return
}

// -----

// expected-error@below {{'kvtile.kernel' op expected no results, got 'i32'}}
kvtile.kernel @results() -> i32
    attributes {threads = 128 : i32, shared_bytes = 0 : i32, max_registers = 255 : i32} {
  kvtile.return
}

// -----

// expected-error@below {{'kvtile.kernel' op expected a body of one block, got 0}}
kvtile.kernel private @declared()
    attributes {threads = 128 : i32, shared_bytes = 0 : i32, max_registers = 255 : i32}

// -----

// An attribute of llvm.func.
// expected-error@below {{'kvtile.kernel' op expected further attributes to have a dialect's prefix, got "linkage"}}
kvtile.kernel @attribute()
    attributes {threads = 128 : i32, shared_bytes = 0 : i32, max_registers = 255 : i32,
                linkage = "none"} {
  kvtile.return
}

// -----

// expected-error@below {{'kvtile.kernel' op expected its body to end in kvtile.return}}
kvtile.kernel @terminator()
    attributes {threads = 128 : i32, shared_bytes = 0 : i32, max_registers = 255 : i32} {
  llvm.unreachable
}

// -----

// Four warps hold one block or four.
kvtile.kernel @warps()
    attributes {threads = 128 : i32, shared_bytes = 0 : i32, max_registers = 255 : i32} {
  // expected-error@below {{'kvtile.fill' op expected one block, or one for each of the kernel's 4 warps, got '!kvtile.tile<16x16xf32, #kvtile.layout<mma_c, 1x2>>'}}
  %tile = kvtile.fill 0.0 : !kvtile.tile<16x16xf32, #kvtile.layout<mma_c, 1x2>>
  kvtile.return
}

// -----

// expected-note@below {{kernel defined here}}
kvtile.kernel @shared()
    attributes {threads = 128 : i32, shared_bytes = 16384 : i32, max_registers = 255 : i32} {
  // expected-error@below {{'kvtile.slot' op expected to stay within the kernel's 16384 bytes of shared memory, got 16384 bytes from 128 on}}
  %slot = kvtile.slot 128 : !kvtile.slot<64x128xbf16>
  kvtile.return
}

// -----

kvtile.kernel @aligned()
    attributes {threads = 128 : i32, shared_bytes = 16384 : i32, max_registers = 255 : i32} {
  // expected-error@below {{'kvtile.slot' op expected an offset that is a multiple of 16, got 8}}
  %slot = kvtile.slot 8 : !kvtile.slot<32x128xbf16>
  kvtile.return
}

// -----

// expected-note@below {{kernel defined here}}
kvtile.kernel @ring(%begin: i32, %end: i32)
    attributes {threads = 128 : i32, shared_bytes = 16384 : i32, max_registers = 255 : i32} {
  // expected-error@below {{'kvtile.stream' op expected to stay within the kernel's 16384 bytes of shared memory, got 32768 bytes from 0 on}}
  kvtile.stream %begin to %end stages 2 offset 0 slots [!kvtile.slot<64x128xbf16>] lookup {
  ^bb0(%tile: i32):
    kvtile.yield
  } produce {
  ^bb0(%tile: i32, %slot: !kvtile.slot<64x128xbf16>):
    kvtile.yield
  } consume {
  ^bb0(%tile: i32, %slot: !kvtile.slot<64x128xbf16>):
    kvtile.yield
  }
  kvtile.return
}

// -----

// The warps hold 16 rows of 64 f32, padded, with a maximum and a sum each.
// expected-note@below {{kernel defined here}}
kvtile.kernel @merged(%n: i32, %out: !kvtile.rows<8x64xbf16>, %parts: !llvm.ptr<1>)
    attributes {threads = 128 : i32, shared_bytes = 16384 : i32, max_registers = 255 : i32} {
  %item = ub.poison : !kvtile.item
  %acc = kvtile.fill 0.0 : !kvtile.tile<16x64xf32>
  %max = kvtile.fill 0.0 : !kvtile.vec<16, 0>
  // expected-error@below {{'kvtile.finish' op expected to stay within the kernel's 16384 bytes of shared memory, got 18944 bytes from 0 on}}
  kvtile.finish %acc, %max, %max form heads_m at %item, %n, %n group 4 width 64
      query_tokens 1 exchange 0 to %out parts %parts, %parts
      : !kvtile.tile<16x64xf32>, <16, 0>, !kvtile.rows<8x64xbf16>, !llvm.ptr<1>, !llvm.ptr<1>
  kvtile.return
}

// -----

// It would wait for an arrival that is none.
!slot = !kvtile.slot<16x64xbf16>

kvtile.kernel @no_gather(%rows: !kvtile.rows<8x64xbf16>, %out: !kvtile.rows<8x64xbf16>,
    %items: !llvm.ptr<1>, %parts: !llvm.ptr<1>, %n: i32)
    attributes {threads = 128 : i32, shared_bytes = 32768 : i32, max_registers = 255 : i32} {
  %item = kvtile.work_item %items[%n] : !llvm.ptr<1>
  %acc = kvtile.fill 0.0 : !kvtile.tile<16x64xf32>
  %max = kvtile.fill 0.0 : !kvtile.vec<16, 0>
  %slot = kvtile.slot 0 : !slot
  // expected-error@below {{'kvtile.finish' op expected a kvtile.gather_rows before it in its block, for the cluster}}
  kvtile.finish %acc, %max, %max form heads_m at %item, %n, %n group 4 width 64
      query_tokens 1 exchange 0 cluster 8 to %out parts %parts, %parts
      : !kvtile.tile<16x64xf32>, <16, 0>, !kvtile.rows<8x64xbf16>, !llvm.ptr<1>, !llvm.ptr<1>
  kvtile.return
}

// -----

// Nor for one that another one has awaited.
!slot = !kvtile.slot<16x64xbf16>

kvtile.kernel @gather_for_two(%rows: !kvtile.rows<8x64xbf16>, %out: !kvtile.rows<8x64xbf16>,
    %items: !llvm.ptr<1>, %parts: !llvm.ptr<1>, %n: i32)
    attributes {threads = 128 : i32, shared_bytes = 32768 : i32, max_registers = 255 : i32} {
  %item = kvtile.work_item %items[%n] : !llvm.ptr<1>
  %acc = kvtile.fill 0.0 : !kvtile.tile<16x64xf32>
  %max = kvtile.fill 0.0 : !kvtile.vec<16, 0>
  %slot = kvtile.slot 0 : !slot
  kvtile.stage_rows %rows at %item, %n, %n group 4 shared to %slot : !kvtile.rows<8x64xbf16>, !slot
  kvtile.gather_rows %slot at %item, %n group 4 : !slot
  kvtile.finish %acc, %max, %max form heads_m at %item, %n, %n group 4 width 64
      query_tokens 1 exchange 0 cluster 8 to %out parts %parts, %parts
      : !kvtile.tile<16x64xf32>, <16, 0>, !kvtile.rows<8x64xbf16>, !llvm.ptr<1>, !llvm.ptr<1>
  // expected-error@below {{'kvtile.finish' op expected a kvtile.gather_rows before it in its block, for the cluster}}
  kvtile.finish %acc, %max, %max form heads_m at %item, %n, %n group 4 width 64
      query_tokens 1 exchange 0 cluster 8 to %out parts %parts, %parts
      : !kvtile.tile<16x64xf32>, <16, 0>, !kvtile.rows<8x64xbf16>, !llvm.ptr<1>, !llvm.ptr<1>
  kvtile.return
}

// -----

!slot = !kvtile.slot<16x64xbf16>

kvtile.kernel @no_finish(%rows: !kvtile.rows<8x64xbf16>, %out: !kvtile.rows<8x64xbf16>,
    %items: !llvm.ptr<1>, %parts: !llvm.ptr<1>, %n: i32)
    attributes {threads = 128 : i32, shared_bytes = 32768 : i32, max_registers = 255 : i32} {
  %item = kvtile.work_item %items[%n] : !llvm.ptr<1>
  %acc = kvtile.fill 0.0 : !kvtile.tile<16x64xf32>
  %max = kvtile.fill 0.0 : !kvtile.vec<16, 0>
  %slot = kvtile.slot 0 : !slot
  kvtile.stage_rows %rows at %item, %n, %n group 4 shared to %slot : !kvtile.rows<8x64xbf16>, !slot
  // expected-error@below {{'kvtile.gather_rows' op expected a kvtile.finish of a cluster after it in its block}}
  kvtile.gather_rows %slot at %item, %n group 4 : !slot
  kvtile.return
}

// -----

!slot = !kvtile.slot<16x64xbf16>

kvtile.kernel @gather_twice(%rows: !kvtile.rows<8x64xbf16>, %out: !kvtile.rows<8x64xbf16>,
    %items: !llvm.ptr<1>, %parts: !llvm.ptr<1>, %n: i32)
    attributes {threads = 128 : i32, shared_bytes = 32768 : i32, max_registers = 255 : i32} {
  %item = kvtile.work_item %items[%n] : !llvm.ptr<1>
  %acc = kvtile.fill 0.0 : !kvtile.tile<16x64xf32>
  %max = kvtile.fill 0.0 : !kvtile.vec<16, 0>
  %slot = kvtile.slot 0 : !slot
  kvtile.stage_rows %rows at %item, %n, %n group 4 shared to %slot : !kvtile.rows<8x64xbf16>, !slot
  // expected-error@below {{'kvtile.gather_rows' op expected a kvtile.finish of a cluster after it in its block}}
  kvtile.gather_rows %slot at %item, %n group 4 : !slot
  kvtile.gather_rows %slot at %item, %n group 4 : !slot
  kvtile.finish %acc, %max, %max form heads_m at %item, %n, %n group 4 width 64
      query_tokens 1 exchange 0 cluster 8 to %out parts %parts, %parts
      : !kvtile.tile<16x64xf32>, <16, 0>, !kvtile.rows<8x64xbf16>, !llvm.ptr<1>, !llvm.ptr<1>
  kvtile.return
}

// -----

!slot = !kvtile.slot<16x64xbf16>

kvtile.kernel @not_staged(%rows: !kvtile.rows<8x64xbf16>, %out: !kvtile.rows<8x64xbf16>,
    %items: !llvm.ptr<1>, %parts: !llvm.ptr<1>, %n: i32)
    attributes {threads = 128 : i32, shared_bytes = 32768 : i32, max_registers = 255 : i32} {
  %item = kvtile.work_item %items[%n] : !llvm.ptr<1>
  %acc = kvtile.fill 0.0 : !kvtile.tile<16x64xf32>
  %max = kvtile.fill 0.0 : !kvtile.vec<16, 0>
  %slot = kvtile.slot 0 : !slot
  // expected-error@below {{'kvtile.gather_rows' op expected slots that one kvtile.stage_rows before it shares each, of the same item, first row and group}}
  kvtile.gather_rows %slot at %item, %n group 4 : !slot
  kvtile.finish %acc, %max, %max form heads_m at %item, %n, %n group 4 width 64
      query_tokens 1 exchange 0 cluster 8 to %out parts %parts, %parts
      : !kvtile.tile<16x64xf32>, <16, 0>, !kvtile.rows<8x64xbf16>, !llvm.ptr<1>, !llvm.ptr<1>
  kvtile.return
}

// -----

!slot = !kvtile.slot<16x64xbf16>

kvtile.kernel @not_shared(%rows: !kvtile.rows<8x64xbf16>, %out: !kvtile.rows<8x64xbf16>,
    %items: !llvm.ptr<1>, %parts: !llvm.ptr<1>, %n: i32)
    attributes {threads = 128 : i32, shared_bytes = 32768 : i32, max_registers = 255 : i32} {
  %item = kvtile.work_item %items[%n] : !llvm.ptr<1>
  %acc = kvtile.fill 0.0 : !kvtile.tile<16x64xf32>
  %max = kvtile.fill 0.0 : !kvtile.vec<16, 0>
  %slot = kvtile.slot 0 : !slot
  kvtile.stage_rows %rows at %item, %n, %n group 4 to %slot : !kvtile.rows<8x64xbf16>, !slot
  // expected-error@below {{'kvtile.gather_rows' op expected slots that one kvtile.stage_rows before it shares each, of the same item, first row and group}}
  kvtile.gather_rows %slot at %item, %n group 4 : !slot
  kvtile.finish %acc, %max, %max form heads_m at %item, %n, %n group 4 width 64
      query_tokens 1 exchange 0 cluster 8 to %out parts %parts, %parts
      : !kvtile.tile<16x64xf32>, <16, 0>, !kvtile.rows<8x64xbf16>, !llvm.ptr<1>, !llvm.ptr<1>
  kvtile.return
}

// -----

!slot = !kvtile.slot<16x64xbf16>

kvtile.kernel @other_group(%rows: !kvtile.rows<8x64xbf16>, %out: !kvtile.rows<8x64xbf16>,
    %items: !llvm.ptr<1>, %parts: !llvm.ptr<1>, %n: i32)
    attributes {threads = 128 : i32, shared_bytes = 32768 : i32, max_registers = 255 : i32} {
  %item = kvtile.work_item %items[%n] : !llvm.ptr<1>
  %acc = kvtile.fill 0.0 : !kvtile.tile<16x64xf32>
  %max = kvtile.fill 0.0 : !kvtile.vec<16, 0>
  %slot = kvtile.slot 0 : !slot
  kvtile.stage_rows %rows at %item, %n, %n group 4 shared to %slot : !kvtile.rows<8x64xbf16>, !slot
  // expected-error@below {{'kvtile.gather_rows' op expected slots that one kvtile.stage_rows before it shares each, of the same item, first row and group}}
  kvtile.gather_rows %slot at %item, %n group 3 : !slot
  kvtile.finish %acc, %max, %max form heads_m at %item, %n, %n group 4 width 64
      query_tokens 1 exchange 0 cluster 8 to %out parts %parts, %parts
      : !kvtile.tile<16x64xf32>, <16, 0>, !kvtile.rows<8x64xbf16>, !llvm.ptr<1>, !llvm.ptr<1>
  kvtile.return
}

// -----

!slot = !kvtile.slot<16x64xbf16>

kvtile.kernel @same_slot_twice(%rows: !kvtile.rows<8x64xbf16>, %out: !kvtile.rows<8x64xbf16>,
    %items: !llvm.ptr<1>, %parts: !llvm.ptr<1>, %n: i32)
    attributes {threads = 128 : i32, shared_bytes = 32768 : i32, max_registers = 255 : i32} {
  %item = kvtile.work_item %items[%n] : !llvm.ptr<1>
  %acc = kvtile.fill 0.0 : !kvtile.tile<16x64xf32>
  %max = kvtile.fill 0.0 : !kvtile.vec<16, 0>
  %slot = kvtile.slot 0 : !slot
  kvtile.stage_rows %rows at %item, %n, %n group 4 shared to %slot : !kvtile.rows<8x64xbf16>, !slot
  // expected-error@below {{'kvtile.gather_rows' op expected slots that one kvtile.stage_rows before it shares each, of the same item, first row and group}}
  kvtile.gather_rows %slot, %slot at %item, %n group 4 : !slot, !slot
  kvtile.finish %acc, %max, %max form heads_m at %item, %n, %n group 4 width 64
      query_tokens 1 exchange 0 cluster 8 to %out parts %parts, %parts
      : !kvtile.tile<16x64xf32>, <16, 0>, !kvtile.rows<8x64xbf16>, !llvm.ptr<1>, !llvm.ptr<1>
  kvtile.return
}

// -----

// Rows that others have would stay zero.
!slot = !kvtile.slot<16x64xbf16>

kvtile.kernel @not_gathered(%rows: !kvtile.rows<8x64xbf16>, %out: !kvtile.rows<8x64xbf16>,
    %items: !llvm.ptr<1>, %parts: !llvm.ptr<1>, %n: i32)
    attributes {threads = 128 : i32, shared_bytes = 32768 : i32, max_registers = 255 : i32} {
  %item = kvtile.work_item %items[%n] : !llvm.ptr<1>
  %acc = kvtile.fill 0.0 : !kvtile.tile<16x64xf32>
  %max = kvtile.fill 0.0 : !kvtile.vec<16, 0>
  %slot = kvtile.slot 0 : !slot
  // expected-error@below {{'kvtile.stage_rows' op expected a kvtile.gather_rows of its slot after it in its block}}
  kvtile.stage_rows %rows at %item, %n, %n group 4 shared to %slot : !kvtile.rows<8x64xbf16>, !slot
  kvtile.return
}
