// RUN: kvc-opt %s -split-input-file -verify-diagnostics

// Slots and operations of quantised caches.

// expected-error@below {{expected columns to be a multiple of 32 up to 4096, got 48}}
func.func private @half_bytes(!kvtile.slot<64x48xi4>)

// -----

// expected-error@below {{expected a linear slot of f32 or f16, got 'bf16'}}
func.func private @scales(!kvtile.slot<64x1xbf16, linear>)

// -----

// expected-error@below {{expected rows to be a multiple of 16 up to 4096, got 8}}
func.func private @few_scales(!kvtile.slot<8x1xf32, linear>)

// -----

func.func @columns(%a: !kvtile.tile<16x64xf16>, %b: !kvtile.slot<64x64xi8>, %acc: !kvtile.tile<16x64xf32>) {
  // expected-error@below {{'kvtile.dot' op expected a range of columns of '!kvtile.slot<64x64xi8>', of which each warp has 64, in multiples of 16, got 0, 40}}
  %0 = kvtile.dot %a, %b transposed acc %acc columns [0, 40] : !kvtile.tile<16x64xf16>, !kvtile.slot<64x64xi8> -> !kvtile.tile<16x64xf32>
  return
}

// -----

func.func @no_codes(%a: !kvtile.tile<16x64xf16>, %b: !kvtile.slot<64x64xf16>, %acc: !kvtile.tile<16x64xf32>) {
  // expected-error@below {{'kvtile.dot' op expected an operand of codes beside columns}}
  %0 = kvtile.dot %a, %b transposed acc %acc columns [0, 32] : !kvtile.tile<16x64xf16>, !kvtile.slot<64x64xf16> -> !kvtile.tile<16x64xf32>
  return
}

// -----

func.func @types(%a: !kvtile.tile<16x64xbf16>, %b: !kvtile.slot<64x64xi8>, %acc: !kvtile.tile<16x64xf32>) {
  // expected-error@below {{'kvtile.dot' op expected operands of one element type, f16 or bf16, got 'bf16' and 'f16'}}
  %0 = kvtile.dot %a, %b transposed acc %acc : !kvtile.tile<16x64xbf16>, !kvtile.slot<64x64xi8> -> !kvtile.tile<16x64xf32>
  return
}

// -----

func.func @neither(%t: !kvtile.tile<64x8xf32>) {
  // expected-error@below {{'kvtile.scale_keys' op expected scales or a factor, and not both}}
  %0 = kvtile.scale_keys %t column 0 keys_axis 0 : !kvtile.tile<64x8xf32>
  return
}

// -----

func.func @column(%t: !kvtile.tile<64x8xf32>, %s: !kvtile.slot<64x2xf32, linear>) {
  // expected-error@below {{'kvtile.scale_keys' op expected a linear slot of 64 rows and more than 2 columns, got '!kvtile.slot<64x2xf32, linear>'}}
  %0 = kvtile.scale_keys %t by %s : !kvtile.slot<64x2xf32, linear> column 2 keys_axis 0 : !kvtile.tile<64x8xf32>
  return
}

// -----

func.func @groups(%t: !kvtile.tile<16x64xf32>, %f: f32) {
  // expected-error@below {{'kvtile.scale_columns' op expected one factor and sum for each of 2 groups of columns, or none, got 1}}
  %0 = kvtile.scale_columns %t by(%f) columns 32 interleave 2 : !kvtile.tile<16x64xf32>
  return
}

// -----

func.func @exchange_nothing(%t: !kvtile.tile<16x64xf32>, %f: f32) {
  // expected-error@below {{'kvtile.scale_columns' op expected sums of rows to exchange, and no transposed tile}}
  %0 = kvtile.scale_columns %t by(%f) columns 64 interleave 2 exchange 16 : !kvtile.tile<16x64xf32>
  return
}

// -----

func.func @exchange_transposed(%t: !kvtile.tile<64x8xf32>, %v: !kvtile.vec<8, 1>) {
  // expected-error@below {{'kvtile.scale_columns' op expected sums of rows to exchange, and no transposed tile}}
  %0 = kvtile.scale_columns %t plus(%v : !kvtile.vec<8, 1>) columns 64 interleave 2 transposed exchange 16 : !kvtile.tile<64x8xf32>
  return
}

// -----

// expected-note@below {{kernel defined here}}
kvtile.kernel @exchange_outside() attributes {threads = 128 : i32, shared_bytes = 1024 : i32, max_registers = 255 : i32} {
  %t = kvtile.fill 0.0 : !kvtile.tile<16x64xf32>
  %v = kvtile.fill 1.0 : !kvtile.vec<16, 0>
  // expected-error@below {{'kvtile.scale_columns' op expected to stay within the kernel's 1024 bytes of shared memory, got 256 bytes from 896 on}}
  %0 = kvtile.scale_columns %t plus(%v : !kvtile.vec<16, 0>) columns 64 interleave 2 exchange 896 : !kvtile.tile<16x64xf32>
  kvtile.return
}

// -----

kvtile.kernel @reference(%i: i32) attributes {threads = 128 : i32, shared_bytes = 32768 : i32, max_registers = 255 : i32} {
  %s = kvtile.slot 0 : !kvtile.slot<64x128xi8>
  %v = kvtile.fill 1.0 : !kvtile.vec<8, 1>
  // expected-error@below {{'kvtile.reference_step' op expected a linear slot, got '!kvtile.slot<64x128xi8>'}}
  %0:2 = kvtile.reference_step %s, %v, %v keys_axis 0 : !kvtile.slot<64x128xi8>, !kvtile.vec<8, 1>
  kvtile.return
}

// -----

kvtile.kernel @sums(%i: i32) attributes {threads = 128 : i32, shared_bytes = 32768 : i32, max_registers = 255 : i32} {
  %s = kvtile.slot 0 : !kvtile.slot<64x1xf32, linear>
  %t = kvtile.fill 1.0 : !kvtile.tile<64x8xf32>
  %v = kvtile.fill 1.0 : !kvtile.vec<16, 1>
  // expected-error@below {{'kvtile.sum_keys' op expected a value for each of 8 columns (axis 1), got '!kvtile.vec<16, 1>'}}
  %0 = kvtile.sum_keys %t zeros %s sum %v factor %v column 0 keys_axis 0 : !kvtile.tile<64x8xf32>, !kvtile.slot<64x1xf32, linear>, !kvtile.vec<16, 1>
  kvtile.return
}

// -----

kvtile.kernel @rows(%i: i32) attributes {threads = 128 : i32, shared_bytes = 32768 : i32, max_registers = 255 : i32} {
  %s = kvtile.slot 0 : !kvtile.slot<16x64xf16>
  // expected-error@below {{'kvtile.sum_rows' op expected columns from 32 to 128 in multiples of 8 of a slot of f16 or bf16 with them, got '!kvtile.slot<16x64xf16>'}}
  %0 = kvtile.sum_rows %s from 32 to 128 : !kvtile.slot<16x64xf16> -> !kvtile.vec<16, 0>
  kvtile.return
}
