// RUN: kvc-opt %s -verify-roundtrip | FileCheck %s

// Tiles, with and without a layout.
// CHECK-LABEL: func.func private @tiles(
// CHECK-SAME:    !kvtile.tile<16x64xf32>, !kvtile.tile<16x64xf32, #kvtile.layout<mma_c, 1x4>>
// CHECK-SAME:    !kvtile.tile<64x128xbf16, #kvtile.layout<mma_a, 4x1>>, !kvtile.tile<128x8xf16, #kvtile.layout<mma_b, 1x1>>
func.func private @tiles(!kvtile.tile<16x64xf32>,
    !kvtile.tile<16x64xf32, #kvtile.layout<mma_c, 1x4>>,
    !kvtile.tile<64x128xbf16, #kvtile.layout<mma_a, 4x1>>,
    !kvtile.tile<128x8xf16, #kvtile.layout<mma_b, 1x1>>)

// Values of rows (axis 0) and of columns (axis 1).
// CHECK-LABEL: func.func private @vecs(
// CHECK-SAME:    !kvtile.vec<16, 0>, !kvtile.vec<8, 1, #kvtile.layout<mma_c, 4x1>>
func.func private @vecs(!kvtile.vec<16, 0>, !kvtile.vec<8, 1, #kvtile.layout<mma_c, 4x1>>)

// What is in memory.
// CHECK-LABEL: func.func private @memory(
// CHECK-SAME:    !kvtile.slot<64x128xbf16>, !kvtile.slot<64x128xbf16, swizzled>
// CHECK-SAME:    !kvtile.slot<64x80xf16, swizzled>, !kvtile.pages<16, 8x128xbf16>
// CHECK-SAME:    !kvtile.rows<32x128xbf16>, !kvtile.rows<32xf32>, !kvtile.heads<32xf32>
func.func private @memory(!kvtile.slot<64x128xbf16>, !kvtile.slot<64x128xbf16, swizzled>,
    !kvtile.slot<64x80xf16, swizzled>, !kvtile.pages<16, 8x128xbf16>,
    !kvtile.rows<32x128xbf16>, !kvtile.rows<32xf32>, !kvtile.heads<32xf32>)

// CHECK-LABEL: func.func private @work(!kvtile.item, !kvtile.page_ids<4>)
func.func private @work(!kvtile.item, !kvtile.page_ids<4>)
