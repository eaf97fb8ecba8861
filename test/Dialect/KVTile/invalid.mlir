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

// Rows that are no whole number of swizzles.
// expected-error@below {{expected a multiple of 64 columns to swizzle, got 80}}
func.func private @swizzle(!kvtile.slot<64x80xbf16, swizzled>)

// -----

// expected-error@below {{expected swizzled or padded, got 'shuffled'}}
func.func private @order(!kvtile.slot<64x64xbf16, shuffled>)

// -----

// The shapes of a product.
func.func @dot(%a: !kvtile.tile<16x64xbf16>, %b: !kvtile.slot<64x128xbf16>,
               %acc: !kvtile.tile<16x64xf32>) {
  // expected-error@below {{'kvtile.dot' op expected M x K, K x N and M x N, got 16x64, 128x64 and 16x64}}
  %r = kvtile.dot %a, %b transposed acc %acc
      : !kvtile.tile<16x64xbf16>, !kvtile.slot<64x128xbf16> -> <16x64xf32>
  return
}

// -----

func.func @elements(%a: !kvtile.tile<16x64xf16>, %b: !kvtile.slot<64x64xbf16>,
                    %acc: !kvtile.tile<16x64xf32>) {
  // expected-error@below {{'kvtile.dot' op expected operands of one element type, got 'f16' and 'bf16'}}
  %r = kvtile.dot %a, %b acc %acc
      : !kvtile.tile<16x64xf16>, !kvtile.slot<64x64xbf16> -> <16x64xf32>
  return
}

// -----

// Registers cannot be read as their transpose.
func.func @transposed(%a: !kvtile.tile<64x16xbf16>, %b: !kvtile.slot<64x64xbf16>,
                      %acc: !kvtile.tile<16x64xf32>) {
  // expected-error@below {{'kvtile.dot' op expected a transposed operand to be a slot, got '!kvtile.tile<64x16xbf16>'}}
  %r = kvtile.dot %a transposed, %b acc %acc
      : !kvtile.tile<64x16xbf16>, !kvtile.slot<64x64xbf16> -> <16x64xf32>
  return
}

// -----

// A stream carries what consume yields.
func.func @stream(%begin: i32, %end: i32, %init: !kvtile.vec<8, 0>) {
  // expected-error@below {{'kvtile.stream' op expected consume to yield, and the operation to return, the types of its inits}}
  %r = kvtile.stream %begin to %end stages 2 offset 0 slots []
      init(%init : !kvtile.vec<8, 0>) lookup {
  ^bb0(%tile: i32):
    kvtile.yield
  } produce {
  ^bb0(%tile: i32):
    kvtile.yield
  } consume {
  ^bb0(%tile: i32, %carried: !kvtile.vec<8, 0>):
    kvtile.yield
  } -> !kvtile.vec<8, 0>
  return
}

// -----

func.func @stages(%begin: i32, %end: i32) {
  // expected-error@below {{'kvtile.stream' op expected 2 to 8 stages, got 1}}
  kvtile.stream %begin to %end stages 1 offset 0 slots [] lookup {
  ^bb0(%tile: i32):
    kvtile.yield
  } produce {
  ^bb0(%tile: i32):
    kvtile.yield
  } consume {
  ^bb0(%tile: i32):
    kvtile.yield
  }
  return
}
