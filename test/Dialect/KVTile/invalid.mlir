// RUN: kvc-opt %s -split-input-file -verify-diagnostics

// Half an atom a warp.
// expected-error@below {{expected whole atoms of 16x8 in each of 1x4 blocks, got 16x16 elements}}
func.func private @atoms(!kvtile.tile<16x16xf32, #kvtile.layout<mma_c, 1x4>>)

// -----

// Sums are f32.
// expected-error@below {{expected mma_c for elements of 'f32', got mma_a}}
func.func private @sums(!kvtile.tile<16x16xf32, #kvtile.layout<mma_a, 1x1>>)

// -----

// Operands are not.
// expected-error@below {{expected mma_a or mma_b for elements of 'bf16', got mma_c}}
func.func private @operands(!kvtile.tile<16x16xbf16, #kvtile.layout<mma_c, 1x1>>)

// -----

// expected-error@below {{expected a tile of f32, f16 or bf16, got 'i8'}}
func.func private @element(!kvtile.tile<16x16xi8>)

// -----

// expected-error@below {{expected 1 to 32 blocks along each axis, got 33}}
func.func private @blocks(!kvtile.tile<16x16xf32, #kvtile.layout<mma_c, 1x33>>)

// -----

// expected-error@below {{expected axis 0 (rows) or 1 (columns), got 2}}
func.func private @axis(!kvtile.vec<16, 2>)

// -----

// expected-error@below {{expected a multiple of 16 values, got 8}}
func.func private @vec(!kvtile.vec<8, 0, #kvtile.layout<mma_c, 1x1>>)

// -----

// expected-error@below {{expected columns to be a multiple of 16 up to 4096, got 72}}
func.func private @columns(!kvtile.slot<64x72xbf16>)

// -----

// expected-error@below {{expected swizzled or linear, got 'shuffled'}}
func.func private @order(!kvtile.slot<64x64xbf16, shuffled>)

// -----

// expected-error@below {{expected at most 2048 registers a thread, got 4096}}
func.func private @registers(!kvtile.tile<32x4096xf32, #kvtile.layout<mma_c, 1x1>>)

// -----

// expected-error@below {{expected 1 to 4096 page ids, got -1}}
func.func private @page_ids(!kvtile.page_ids<-1>)

// -----

// expected-error@below {{expected a page size from 1 to 2147483647, got 0}}
func.func private @page_size(!kvtile.pages<0, 8x128xbf16>)

// -----

// Elements without an address.
// expected-error@below {{expected an integer or float of 8, 16, 32 or 64 bits, got 'i4'}}
func.func private @pages(!kvtile.pages<16, 8x128xi4>)

// -----

// expected-error@below {{expected an integer or float of 8, 16, 32 or 64 bits, got 'index'}}
func.func private @rows(!kvtile.rows<8x128xindex>)

// -----

// expected-error@below {{expected heads, or heads x width, and an element type}}
func.func private @width(!kvtile.rows<8x0xf32>)

// -----

// expected-error@below {{expected heads from 1 to 2147483647, got 0}}
func.func private @heads(!kvtile.heads<0xf32>)
