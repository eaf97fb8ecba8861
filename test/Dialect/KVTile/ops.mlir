// RUN: kvc-opt %s -verify-roundtrip | FileCheck %s

!rows = !kvtile.rows<8x64xbf16>
!lse = !kvtile.rows<8xf32>
!sinks = !kvtile.heads<8xf32>

// The log-sum-exp and the sinks are there or not.
// CHECK-LABEL: func.func @finish(
func.func @finish(%acc: !kvtile.tile<16x64xf32>, %max: !kvtile.vec<16, 0>, %item: !kvtile.item,
                  %n: i32, %out: !rows, %lse: !lse, %sinks: !sinks, %parts: !llvm.ptr<1>) {
  // CHECK: kvtile.finish {{.*}} to %{{.*}} parts {{.*}}, !kvtile.rows<8x64xbf16>, !llvm.ptr<1>
  kvtile.finish %acc, %max, %max form heads_m at %item, %n, %n group 4 width 64
      query_tokens 1 exchange 0 to %out parts %parts, %parts
      : !kvtile.tile<16x64xf32>, <16, 0>, !rows, !llvm.ptr<1>, !llvm.ptr<1>
  // CHECK: kvtile.finish {{.*}} lse %{{.*}} parts {{.*}}, lse !kvtile.rows<8xf32>, !llvm.ptr<1>
  kvtile.finish %acc, %max, %max form heads_m at %item, %n, %n group 4 width 64
      query_tokens 1 exchange 0 to %out lse %lse parts %parts, %parts
      : !kvtile.tile<16x64xf32>, <16, 0>, !rows, lse !lse, !llvm.ptr<1>, !llvm.ptr<1>
  // CHECK: kvtile.finish {{.*}} sinks %{{.*}} parts {{.*}}, sinks !kvtile.heads<8xf32>, !llvm.ptr<1>
  kvtile.finish %acc, %max, %max form heads_m at %item, %n, %n group 4 width 64
      query_tokens 1 exchange 0 to %out sinks %sinks parts %parts, %parts
      : !kvtile.tile<16x64xf32>, <16, 0>, !rows, sinks !sinks, !llvm.ptr<1>, !llvm.ptr<1>
  // CHECK: kvtile.finish {{.*}} lse %{{.*}} sinks %{{.*}} parts {{.*}}, lse !kvtile.rows<8xf32>, sinks !kvtile.heads<8xf32>, !llvm.ptr<1>
  kvtile.finish %acc, %max, %max form heads_m at %item, %n, %n group 4 width 64
      query_tokens 1 exchange 0 to %out lse %lse sinks %sinks parts %parts, %parts
      : !kvtile.tile<16x64xf32>, <16, 0>, !rows, lse !lse, sinks !sinks, !llvm.ptr<1>, !llvm.ptr<1>
  // CHECK: kvtile.finish {{.*}} exchange 0 cluster 8 to %{{.*}} parts {{.*}}, !kvtile.rows<8x64xbf16>, !llvm.ptr<1>
  kvtile.finish %acc, %max, %max form heads_m at %item, %n, %n group 4 width 64
      query_tokens 1 exchange 0 cluster 8 to %out parts %parts, %parts
      : !kvtile.tile<16x64xf32>, <16, 0>, !rows, !llvm.ptr<1>, !llvm.ptr<1>
  return
}

!slot = !kvtile.slot<16x64xbf16>
!codes = !kvtile.slot<16x32xf16>

// CHECK-LABEL: func.func @gather(
func.func @gather(%rows: !rows, %item: !kvtile.item, %n: i32, %a: !slot, %b: !codes) {
  // CHECK: kvtile.stage_rows {{.*}} group 4 shared to %[[A:.*]] :
  kvtile.stage_rows %rows at %item, %n, %n group 4 shared to %a : !rows, !slot
  // CHECK: kvtile.gather_rows %[[A]], %[[B:.*]] at %{{.*}}, %{{.*}} group 4 : !kvtile.slot<16x64xbf16>, !kvtile.slot<16x32xf16>
  kvtile.gather_rows %a, %b at %item, %n group 4 : !slot, !codes
  return
}
