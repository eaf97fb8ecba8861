// RUN: kvc-opt %s -verify-roundtrip | FileCheck %s --check-prefix=OPS
// RUN: kvc-opt %s -pass-pipeline='builtin.module(gpu.module(convert-kvtile-to-nvvm))' | FileCheck %s

// Addresses of rows: offsets are computed in 64 bits.
gpu.module @kvc_kernels {
  // OPS-LABEL: kvtile.kernel @addresses(
  // OPS-SAME:    %[[ROWS:[a-z0-9]+]]: !kvtile.rows<4x64xf16>, %[[PAGES:[a-z0-9]+]]: !kvtile.pages<16, 4x64xf32>,
  // OPS-SAME:    %[[HEADS:[a-z0-9]+]]: !kvtile.heads<4xf32>, %[[TOKEN:[a-z0-9]+]]: i32, %[[SLOT:[a-z0-9]+]]: i64
  // OPS: kvtile.row %[[ROWS]][%[[TOKEN]] : i32, %[[TOKEN]] : i32] : !kvtile.rows<4x64xf16> -> !llvm.ptr<1>
  // OPS: kvtile.page_row %[[PAGES]][%[[SLOT]], %[[TOKEN]] : i32] : !kvtile.pages<16, 4x64xf32> -> !llvm.ptr<1>
  // OPS: kvtile.head %[[HEADS]][%[[SLOT]] : i64] : !kvtile.heads<4xf32> -> !llvm.ptr<1>

  // CHECK-LABEL: llvm.func @addresses(
  // CHECK-SAME:    %[[ROWS:[a-z0-9]+]]: !llvm.ptr<1>, %[[ROW_TOKEN:[a-z0-9]+]]: i64, %[[ROW_HEAD:[a-z0-9]+]]: i64,
  // CHECK-SAME:    %[[PAGES:[a-z0-9]+]]: !llvm.ptr<1>, %[[PAGE:[a-z0-9]+]]: i64, %[[PAGE_HEAD:[a-z0-9]+]]: i64, %[[PAGE_TOKEN:[a-z0-9]+]]: i64,
  // CHECK-SAME:    %[[HEADS:[a-z0-9]+]]: !llvm.ptr<1>, %[[STRIDE:[a-z0-9]+]]: i64, %[[TOKEN:[a-z0-9]+]]: i32, %[[SLOT:[a-z0-9]+]]: i64
  kvtile.kernel @addresses(%rows: !kvtile.rows<4x64xf16>, %pages: !kvtile.pages<16, 4x64xf32>,
                           %heads: !kvtile.heads<4xf32>, %token: i32, %slot: i64)
      attributes {threads = 32 : i32, shared_bytes = 0 : i32, max_registers = 64 : i32} {
    %bits = arith.constant 0 : i32
    // Token and head by their strides, in elements of two bytes.
    // CHECK-DAG: %[[BY_TOKEN:.*]] = arith.muli %{{.*}}, %[[ROW_TOKEN]] : i64
    // CHECK-DAG: %[[BY_HEAD:.*]] = arith.muli %{{.*}}, %[[ROW_HEAD]] : i64
    // CHECK: %[[OFFSET:.*]] = arith.addi %[[BY_TOKEN]], %[[BY_HEAD]] : i64
    // CHECK: %[[BYTES:.*]] = arith.muli %[[OFFSET]], %c2_i64
    // CHECK: %[[ROW:.*]] = llvm.getelementptr %[[ROWS]][%[[BYTES]]]
    // CHECK: llvm.store %{{.*}}, %[[ROW]]
    %row = kvtile.row %rows[%token : i32, %token : i32] : !kvtile.rows<4x64xf16> -> !llvm.ptr<1>
    llvm.store %bits, %row : i32, !llvm.ptr<1>
    // A slot is a page and a token of it.
    // CHECK: %[[WHICH:.*]] = arith.divui %[[SLOT]], %c16_i64{{.*}} : i64
    // CHECK-DAG: arith.muli %[[WHICH]], %[[PAGE]] : i64
    // CHECK-DAG: arith.muli %{{.*}}, %[[PAGE_TOKEN]] : i64
    // CHECK-DAG: arith.muli %{{.*}}, %[[PAGE_HEAD]] : i64
    // CHECK: %[[PAGE_ROW:.*]] = llvm.getelementptr %[[PAGES]]
    // CHECK: llvm.store %{{.*}}, %[[PAGE_ROW]]
    %page_row = kvtile.page_row %pages[%slot, %token : i32]
        : !kvtile.pages<16, 4x64xf32> -> !llvm.ptr<1>
    llvm.store %bits, %page_row : i32, !llvm.ptr<1>
    // CHECK: arith.muli %[[SLOT]], %[[STRIDE]] : i64
    // CHECK: llvm.getelementptr %[[HEADS]]
    %head = kvtile.head %heads[%slot : i64] : !kvtile.heads<4xf32> -> !llvm.ptr<1>
    llvm.store %bits, %head : i32, !llvm.ptr<1>
    kvtile.return
  }
}
