// The kernels and the device code of a program for a GPU.

// RUN: kvc-opt %s -kvc-build-program="target=sm_90a" | FileCheck %s

// All that conversions hand over is used up.
// CHECK: module {
module attributes {
  kvc.functions = [
    {name = "f", needs = "entry", run = "entry", max_query_len = 1 : i32,
     alignments = array<i32: 4, 16>,
     type = (tensor<?x8xbf16>, !kvc.cache<page = 16, k: 1x8xbf16>) -> ()}],
  kvc.kernels = [{name = "f_append", threads = 64 : i32, shared_bytes = 0 : i32},
                 {name = "f_attention", threads = 128 : i32, shared_bytes = 98304 : i32}],
  kvc.image = {target = "sm_90a", data = ".version 8.6"}} {
  llvm.func @entry(%rt: !llvm.ptr, %bounds: !llvm.ptr, %needs: !llvm.ptr) -> i32 {
    %ok = llvm.mlir.constant(0 : i32) : i32
    llvm.return %ok : i32
  }
}

// Kernel: name, image 0, threads, shared bytes.
// CHECK:      llvm.mlir.global internal constant @kvc.blob("KVCP\05\00\00\00
// CHECK-SAME: \00\00\00\00@\00\00\00\00\00\00\00
// CHECK-SAME: \00\00\00\00\80\00\00\00\00\80\01\00
// CHECK-SAME: f_append\00f_attention\00sm_90a\00sm_90a\00.version 8.6\00"
