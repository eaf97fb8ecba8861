// RUN: kvc-opt %s -pass-pipeline='builtin.module(gpu.module(convert-kvtile-to-nvvm))' | FileCheck %s

!slot = !kvtile.slot<16x64xbf16, swizzled>
!tile = !kvtile.tile<16x64xbf16, #kvtile.layout<mma_a, 1x1>>

gpu.module @kernels {
  // The offset of a slot is a constant of the address.
  // CHECK-LABEL: llvm.func @constant(
  // CHECK: %[[ADDRESS:.*]] = llvm.inttoptr
  // CHECK: llvm.getelementptr %[[ADDRESS]][2048]
  // CHECK: nvvm.ldmatrix
  kvtile.kernel @constant()
      attributes {threads = 32 : i32, shared_bytes = 4096 : i32, max_registers = 64 : i32} {
    %slot = kvtile.slot 2048 : !slot
    %tile = kvtile.load_tile %slot : !slot -> !tile
    kvtile.return
  }

  // That of a slot which a branch chooses is added.
  // CHECK-LABEL: llvm.func @chosen(
  // CHECK: %[[SLOT:.*]]:2 = scf.if
  // CHECK: arith.addi %[[SLOT]]#0, %[[SLOT]]#1
  // CHECK: nvvm.ldmatrix
  kvtile.kernel @chosen(%n: i32)
      attributes {threads = 32 : i32, shared_bytes = 4096 : i32, max_registers = 64 : i32} {
    %zero = arith.constant 0 : i32
    %is_zero = arith.cmpi eq, %n, %zero : i32
    %slot = scf.if %is_zero -> !slot {
      %first = kvtile.slot 0 : !slot
      scf.yield %first : !slot
    } else {
      %second = kvtile.slot 2048 : !slot
      scf.yield %second : !slot
    }
    %tile = kvtile.load_tile %slot : !slot -> !tile
    kvtile.return
  }
}
