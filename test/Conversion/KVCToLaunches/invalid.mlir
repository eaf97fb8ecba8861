// What has no launch is refused with the reason.

// RUN: kvc-opt %s -convert-kvc-to-launches -split-input-file -verify-diagnostics

!cache = !kvc.cache<page = 16, k: 8x128xbf16>

func.func @no_kernels(%k: tensor<?x8x128xbf16>, %cache: !cache, %batch: !kvc.batch) {
  // expected-error@below {{expected a kernel in the gpu.module, found none; run convert-kvc-to-kvtile with keep-functions before this pass}}
  kvc.append %cache[k: %k] at %batch : !cache, tensor<?x8x128xbf16>
  return
}

// -----

func.func @other(%x: i32) {
  // expected-error@below {{no launch for operation 'arith.addi'; supported: kvc.append, kvc.attention, kvc.merge, kvc.rope}}
  %y = arith.addi %x, %x : i32
  return
}

// -----

// A result that is an argument.
func.func @argument(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error@below {{expected results that the function computes, got an argument: it would need a copy}}
  return %x : tensor<4xf32>
}

// -----

// expected-error@below {{symbol 'kvc.program' is reserved for the program}}
func.func @kvc.program() {
  return
}
