// RUN: kvc-opt %s -pass-pipeline='builtin.module(gpu.module(convert-kvtile-to-nvvm))' | FileCheck %s

// What integers are too much, as operands, is taken off by products if B is narrow.

!codes = !kvtile.slot<16x64xi8, swizzled>
!query = !kvtile.tile<64x8xf16, #kvtile.layout<mma_b, 1x1>>
!scores = !kvtile.tile<16x8xf32, #kvtile.layout<mma_c, 1x1>>
!weights = !kvtile.tile<16x8xf16, #kvtile.layout<mma_b, 1x1>>
!sums = !kvtile.tile<64x8xf32, #kvtile.layout<mma_c, 1x1>>
!wide_weights = !kvtile.tile<16x32xf16, #kvtile.layout<mma_b, 1x1>>
!wide_sums = !kvtile.tile<64x32xf32, #kvtile.layout<mma_c, 1x1>>

gpu.module @kernels {
  // Of keys before the loop, 64 columns in 4 steps; then sums start from it.
  // CHECK-LABEL: llvm.func @keys(
  // CHECK: arith.constant dense<-1.152000e+03> : vector<2xf16>
  // CHECK-COUNT-4: nvvm.mma.sync
  // CHECK-NOT: nvvm.mma.sync
  // CHECK: scf.for
  // CHECK-NOT: arith.subf
  // CHECK-COUNT-4: nvvm.mma.sync
  // CHECK-NOT: nvvm.mma.sync
  // CHECK: llvm.return
  kvtile.kernel @keys(%n: i32)
      attributes {threads = 32 : i32, shared_bytes = 8192 : i32, max_registers = 128 : i32} {
    %zero = arith.constant 0 : i32
    %one = arith.constant 1 : i32
    %rows = kvtile.slot 2048 : !kvtile.slot<8x64xf16, swizzled>
    %query = kvtile.load_tile %rows : !kvtile.slot<8x64xf16, swizzled> -> !query
    scf.for %i = %zero to %n step %one : i32 {
      %keys = kvtile.slot 0 : !codes
      %none = kvtile.fill 0.0 : !scores
      %scores = kvtile.dot %keys, %query acc %none : !codes, !query -> !scores
    }
    kvtile.return
  }

  // Of sums that are not 0 it is added to.
  // CHECK-LABEL: llvm.func @added(
  // CHECK-COUNT-4: nvvm.mma.sync
  // CHECK-COUNT-4: arith.addf
  // CHECK-NOT: arith.subf
  // CHECK-COUNT-4: nvvm.mma.sync
  // CHECK: llvm.return
  kvtile.kernel @added()
      attributes {threads = 32 : i32, shared_bytes = 8192 : i32, max_registers = 128 : i32} {
    %rows = kvtile.slot 2048 : !kvtile.slot<8x64xf16, swizzled>
    %query = kvtile.load_tile %rows : !kvtile.slot<8x64xf16, swizzled> -> !query
    %keys = kvtile.slot 0 : !codes
    %some = kvtile.fill 1.0 : !scores
    %scores = kvtile.dot %keys, %query acc %some : !codes, !query -> !scores
    kvtile.return
  }

  // Of values at each of the 4 fragments of 16 columns.
  // CHECK-LABEL: llvm.func @values(
  // CHECK-NOT: arith.subf
  // CHECK-COUNT-8: nvvm.mma.sync
  // CHECK-NOT: nvvm.mma.sync
  // CHECK: llvm.return
  kvtile.kernel @values()
      attributes {threads = 32 : i32, shared_bytes = 8192 : i32, max_registers = 128 : i32} {
    %values = kvtile.slot 0 : !codes
    %rows = kvtile.slot 2048 : !kvtile.slot<8x16xf16, swizzled>
    %weight = kvtile.load_tile %rows : !kvtile.slot<8x16xf16, swizzled> -> !weights
    %none = kvtile.fill 0.0 : !sums
    %sums = kvtile.dot %values transposed, %weight acc %none : !codes, !weights -> !sums
    kvtile.return
  }

  // Where B is wide, off each operand: 4 registers of 4 fragments.
  // CHECK-LABEL: llvm.func @wide(
  // CHECK: arith.subf
  // CHECK-COUNT-16: nvvm.mma.sync
  // CHECK-NOT: nvvm.mma.sync
  // CHECK: llvm.return
  kvtile.kernel @wide()
      attributes {threads = 32 : i32, shared_bytes = 8192 : i32, max_registers = 128 : i32} {
    %values = kvtile.slot 0 : !codes
    %rows = kvtile.slot 2048 : !kvtile.slot<32x16xf16, swizzled>
    %weight = kvtile.load_tile %rows : !kvtile.slot<32x16xf16, swizzled> -> !wide_weights
    %none = kvtile.fill 0.0 : !wide_sums
    %sums = kvtile.dot %values transposed, %weight acc %none : !codes, !wide_weights -> !wide_sums
    kvtile.return
  }
}
