// RUN: kvc-opt %s -kvc-build-program="target=x86_64" | FileCheck %s
// RUN: kvc-opt %s -kvc-build-program="program-name=gqa" | FileCheck %s --check-prefix=NAMED

!cache = !kvc.cache<page = 16, k: 8x128xbf16, v: 8x128xbf16>

// The list of functions is used up.
// CHECK-NOT: kvc.functions
module attributes {kvc.functions = [
  {name = "decode", needs = "decode.needs", run = "decode.run",
   type = (tensor<?x32x128xbf16>, !cache, !kvc.batch) -> (tensor<?x32x128xbf16>, tensor<?x32xf32>)},
  {name = "prefill", needs = "shared.needs", run = "prefill.run",
   type = (memref<4x?xf16, strided<[?, 1]>>, !cache) -> ()}]} {

  // What the module defines is private, what it takes from libm stays as it is.
  // CHECK: llvm.func @expf(f32) -> f32
  llvm.func @expf(f32) -> f32
  // CHECK: llvm.mlir.global internal constant @table
  llvm.mlir.global external constant @table(1 : i32) : i32
  // A declaration for the passes that come before is replaced.
  // CHECK-NOT: llvm.func @kvc.program
  llvm.func @kvc.program() -> !llvm.ptr
  // CHECK: llvm.func internal @decode.needs
  llvm.func @decode.needs(%rt: !llvm.ptr, %bounds: !llvm.ptr, %needs: !llvm.ptr) -> i32 {
    %ok = llvm.mlir.constant(0 : i32) : i32
    llvm.return %ok : i32
  }
  llvm.func @shared.needs(%rt: !llvm.ptr, %bounds: !llvm.ptr, %needs: !llvm.ptr) -> i32 {
    %ok = llvm.mlir.constant(0 : i32) : i32
    llvm.return %ok : i32
  }
  llvm.func @decode.run(%rt: !llvm.ptr, %stream: !llvm.ptr, %call: !llvm.ptr) -> i32 {
    %program = llvm.call @kvc.program() : () -> !llvm.ptr
    %ok = llvm.mlir.constant(0 : i32) : i32
    llvm.return %ok : i32
  }
  llvm.func @prefill.run(%rt: !llvm.ptr, %stream: !llvm.ptr, %call: !llvm.ptr) -> i32 {
    %ok = llvm.mlir.constant(0 : i32) : i32
    llvm.return %ok : i32
  }
}

// Header, two functions, one cache type that both share, 5 + 2 arguments.
// CHECK: llvm.mlir.global internal constant @kvc.blob("KVCP\05\00\00\00
// CHECK-SAME: decode\00
// CHECK-SAME: prefill\00x86_64\00") {addr_space = 0 : i32, alignment = 8 : i64}

// CHECK: llvm.mlir.global internal constant @kvc.entries()
// CHECK: llvm.mlir.addressof @decode.needs
// CHECK: llvm.mlir.addressof @decode.run
// CHECK: llvm.mlir.addressof @shared.needs
// CHECK: llvm.mlir.addressof @prefill.run

// CHECK: llvm.mlir.global internal constant @kvc.program_table()
// CHECK: llvm.func internal @kvc.program() -> !llvm.ptr
// CHECK-NEXT: %[[PROGRAM:.*]] = llvm.mlir.addressof @kvc.program_table
// CHECK-NEXT: llvm.return %[[PROGRAM]]

// The only symbol that others see; null for another version of the interface.
// CHECK: llvm.func @kvc_program_query(%[[VERSION:.*]]: i32) -> !llvm.ptr
// CHECK: %[[KNOWN:.*]] = llvm.mlir.constant(5 : i32)
// CHECK: %[[IS_KNOWN:.*]] = llvm.icmp "eq" %[[VERSION]], %[[KNOWN]]
// CHECK: %[[ADDRESS:.*]] = llvm.mlir.addressof @kvc.program_table
// CHECK: %[[NULL:.*]] = llvm.mlir.zero
// CHECK: %[[RESULT:.*]] = llvm.select %[[IS_KNOWN]], %[[ADDRESS]], %[[NULL]]
// CHECK: llvm.return %[[RESULT]]

// NAMED-NOT: @kvc_program_query
// NAMED: llvm.func @gqa_program_query(
