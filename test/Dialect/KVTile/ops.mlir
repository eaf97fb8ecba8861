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
