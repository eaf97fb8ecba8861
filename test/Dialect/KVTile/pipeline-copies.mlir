// RUN: kvc-opt %s -pass-pipeline='builtin.module(gpu.module(kvtile.kernel(kvtile-pipeline-copies)))' | FileCheck %s

!slot = !kvtile.slot<64x64xbf16, swizzled>

gpu.module @kernels {
// Three stages: two copies run ahead, ids are looked up one tile before its copy. A
// slot is filled again only behind the barrier after which no warp reads it.
// CHECK-LABEL: kvtile.kernel @stream(
// CHECK-SAME:    %[[PAGES:.*]]: !kvtile.pages<16, 8x64xbf16>, %[[TABLE:.*]]: !llvm.ptr<1>, %[[ITEMS:.*]]: !llvm.ptr<1>
// CHECK:         %[[BEGIN:.*]], %[[END:.*]] = kvtile.tile_range
// CHECK-COUNT-3: kvtile.lookup
// CHECK-COUNT-2: kvtile.commit
// CHECK:         scf.for %[[TILE:.*]] = %[[BEGIN]] to %[[END]]
// CHECK-NEXT:      kvtile.wait 1
// CHECK-NEXT:      kvtile.barrier
// CHECK:           kvtile.fetch
// CHECK:           kvtile.commit
// CHECK:           kvtile.lookup
// CHECK:           kvtile.barrier
// CHECK:           scf.yield
// CHECK-NOT:     kvtile.stream
kvtile.kernel @stream(%pages: !kvtile.pages<16, 8x64xbf16>, %table: !llvm.ptr<1>,
                      %items: !llvm.ptr<1>)
    attributes {threads = 128 : i32, shared_bytes = 24576 : i32, max_registers = 255 : i32} {
  %zero = arith.constant 0 : i32
  %item = kvtile.work_item %items[%zero] : !llvm.ptr<1>
  %begin, %end = kvtile.tile_range %item keys 64
  kvtile.stream %begin to %end stages 3 offset 0 slots [!slot] lookup {
  ^bb0(%tile: i32):
    %ids = kvtile.lookup %table[%item, %tile] keys 64 page 16 lanes 8
        : !llvm.ptr<1> -> !kvtile.page_ids<1>
    kvtile.yield %ids : !kvtile.page_ids<1>
  } produce {
  ^bb0(%tile: i32, %slot: !slot, %ids: !kvtile.page_ids<1>):
    kvtile.fetch %pages[%ids, %zero] of %item tile %tile lanes 8 to %slot
        : !kvtile.pages<16, 8x64xbf16>, !kvtile.page_ids<1>, !slot
    kvtile.yield
  } consume {
  ^bb0(%tile: i32, %slot: !slot):
    kvtile.barrier
    kvtile.yield
  }
  kvtile.return
}
// Copies do not start before the loop in front is through with its slots, which here
// are the same.
// CHECK-LABEL: kvtile.kernel @two_streams(
// CHECK:         scf.for
// CHECK:         }
// CHECK:         kvtile.fetch
// CHECK:         scf.for
kvtile.kernel @two_streams(%pages: !kvtile.pages<64, 8x64xbf16>, %table: !llvm.ptr<1>,
                           %items: !llvm.ptr<1>)
    attributes {threads = 128 : i32, shared_bytes = 16384 : i32, max_registers = 255 : i32} {
  %zero = arith.constant 0 : i32
  %item = kvtile.work_item %items[%zero] : !llvm.ptr<1>
  %begin, %end = kvtile.tile_range %item keys 64
  kvtile.stream %begin to %end stages 2 offset 0 slots [!slot] lookup {
  ^bb0(%tile: i32):
    kvtile.yield
  } produce {
  ^bb0(%tile: i32, %slot: !slot):
    kvtile.yield
  } consume {
  ^bb0(%tile: i32, %slot: !slot):
    kvtile.yield
  }
  kvtile.stream %begin to %end stages 2 offset 0 slots [!slot] lookup {
  ^bb0(%tile: i32):
    %ids = kvtile.lookup %table[%item, %tile] keys 64 page 64 lanes 8
        : !llvm.ptr<1> -> !kvtile.page_ids<1>
    kvtile.yield %ids : !kvtile.page_ids<1>
  } produce {
  ^bb0(%tile: i32, %slot: !slot, %ids: !kvtile.page_ids<1>):
    kvtile.fetch %pages[%ids, %zero] of %item tile %tile lanes 8 to %slot
        : !kvtile.pages<64, 8x64xbf16>, !kvtile.page_ids<1>, !slot
    kvtile.yield
  } consume {
  ^bb0(%tile: i32, %slot: !slot):
    kvtile.yield
  }
  kvtile.return
}
}
