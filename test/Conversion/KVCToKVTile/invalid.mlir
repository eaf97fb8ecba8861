// What has no GPU kernel is refused, with what there is.

// RUN: kvc-opt %s --kvc-plan --convert-kvc-to-kvtile --split-input-file --verify-diagnostics

!cache = !kvc.cache<page = 16, k: 8x128xf32, v: 8x128xf32>
func.func @element(%q: tensor<?x8x128xf32>, %cache: !cache, %batch: !kvc.batch)
    -> tensor<?x8x128xf32> {
  // expected-error@below {{has no GPU kernel for component 'v' of 'f32'; supported: bf16, f16, f8E4M3FN, f8E5M2, i8, i4}}
  %o = kvc.attention %cache at %batch terms(%q * k) value(v) {scale = 1.0 : f32}
      : !cache, tensor<?x8x128xf32> -> tensor<?x8x128xf32>
  return %o : tensor<?x8x128xf32>
}

// -----

!cache = !kvc.cache<page = 16, k: 8x128xbf16, v: 8x128xf16>
func.func @elements(%q: tensor<?x8x128xbf16>, %cache: !cache, %batch: !kvc.batch)
    -> tensor<?x8x128xbf16> {
  // expected-error@below {{has no GPU kernel for component 'k' of 'bf16' beside a component of 'f16'; supported: the same element type}}
  %o = kvc.attention %cache at %batch terms(%q * k) value(v) {scale = 1.0 : f32}
      : !cache, tensor<?x8x128xbf16> -> tensor<?x8x128xbf16>
  return %o : tensor<?x8x128xbf16>
}

// -----

!cache = !kvc.cache<page = 16, k: 8x128xbf16 layout<packed_key>, v: 8x128xbf16>
func.func @layout(%q: tensor<?x8x128xbf16>, %cache: !cache, %batch: !kvc.batch)
    -> tensor<?x8x128xbf16> {
  // expected-error@below {{has no GPU kernel for component 'k' of layout packed_key; supported: row_major}}
  %o = kvc.attention %cache at %batch terms(%q * k) value(v) {scale = 1.0 : f32}
      : !cache, tensor<?x8x128xbf16> -> tensor<?x8x128xbf16>
  return %o : tensor<?x8x128xbf16>
}

// -----

!cache = !kvc.cache<page = 16, k: 1x64xbf16, v: 1x64xbf16>
func.func @group(%q: tensor<?x129x64xbf16>, %cache: !cache, %batch: !kvc.batch)
    -> tensor<?x129x64xbf16> {
  // expected-error@below {{has no GPU kernel for 129 query heads a KV head; supported: 1 to 128}}
  %o = kvc.attention %cache at %batch terms(%q * k) value(v) {scale = 1.0 : f32}
      : !cache, tensor<?x129x64xbf16> -> tensor<?x129x64xbf16>
  return %o : tensor<?x129x64xbf16>
}

// -----

!cache = !kvc.cache<page = 16, k: 8x128xbf16, v: 8x128xbf16>
#stream = #kvc.gpu_stream<form = heads_m, rows = 16, keys = 256, stages = 2, warps = 4, query_tokens = 1>
#schedule = #kvc.gpu_schedule<decode = #stream, prefill = #stream, split = 1024>
func.func @shared_memory(%q: tensor<?x8x128xbf16>, %cache: !cache, %batch: !kvc.batch)
    -> tensor<?x8x128xbf16> {
  // expected-error@below {{expected a schedule of at most 232448 bytes of shared memory, got 266240 for #kvc.gpu_stream<form = heads_m, rows = 16, keys = 256, stages = 2, warps = 4, query_tokens = 1>; take fewer stages, keys or rows}}
  %o = kvc.attention %cache at %batch terms(%q * k) value(v) {scale = 1.0 : f32, schedule = #schedule}
      : !cache, tensor<?x8x128xbf16> -> tensor<?x8x128xbf16>
  return %o : tensor<?x8x128xbf16>
}

// -----

!cache = !kvc.cache<page = 16, k: 8x128xbf16, v: 8x128xbf16>
// expected-error@below {{expected GPU kernels to be asked for by a public function of one block}}
func.func private @hidden(%k: tensor<?x8x128xbf16>, %cache: !cache, %batch: !kvc.batch) {
  kvc.append %cache[k: %k] at %batch : !cache, tensor<?x8x128xbf16>
  return
}

// -----

// LLVM would end the process on a kernel's name that PTX cannot spell.

!cache = !kvc.cache<page = 16, k: 8x128xbf16, v: 8x128xbf16>
// expected-error@below {{expected a name of letters, digits, '_', '$' and '.' for GPU kernels}}
func.func @"two words"(%k: tensor<?x8x128xbf16>, %cache: !cache, %batch: !kvc.batch) {
  kvc.append %cache[k: %k] at %batch : !cache, tensor<?x8x128xbf16>
  return
}

// -----

// An output has the digits of the probabilities, which are rounded to 16 bits.

!cache = !kvc.cache<page = 16, k: 8x128xbf16, v: 8x128xbf16>
func.func @wide_output(%q: tensor<?x8x128xbf16>, %cache: !cache, %batch: !kvc.batch)
    -> tensor<?x8x128xf32> {
  // expected-error@below {{has no GPU kernel for an output of 'f32' beside a component of 'bf16'; supported: the same element type}}
  %o = kvc.attention %cache at %batch terms(%q * k) value(v) {scale = 1.0 : f32}
      : !cache, tensor<?x8x128xbf16> -> tensor<?x8x128xf32>
  return %o : tensor<?x8x128xf32>
}

// -----

!cache = !kvc.cache<page = 16, k: 8x128xbf16, v: 8x128xbf16>
func.func @query(%q: tensor<?x8x128xf16>, %cache: !cache, %batch: !kvc.batch)
    -> tensor<?x8x128xbf16> {
  // expected-error@below {{has no GPU kernel for a query of 'f16' beside a component of 'bf16'; supported: the same element type}}
  %o = kvc.attention %cache at %batch terms(%q * k) value(v) {scale = 1.0 : f32}
      : !cache, tensor<?x8x128xf16> -> tensor<?x8x128xbf16>
  return %o : tensor<?x8x128xbf16>
}

// -----

!cache = !kvc.cache<page = 16, a: 8x128xbf16, b: 8x128xf16>
func.func @terms(%q: tensor<?x8x128xbf16>, %p: tensor<?x8x128xf16>, %cache: !cache,
                 %batch: !kvc.batch) -> tensor<?x8x128xf16> {
  // expected-error@below {{has no GPU kernel for component 'a' of 'bf16' beside a component of 'f16'; supported: the same element type}}
  %o = kvc.attention %cache at %batch terms(%q * a, %p * b) value(b) {scale = 1.0 : f32}
      : !cache, tensor<?x8x128xbf16>, tensor<?x8x128xf16> -> tensor<?x8x128xf16>
  return %o : tensor<?x8x128xf16>
}

// -----

// What is around kvc operations is named in one message.
!cache = !kvc.cache<page = 64, k: 8x128xbf16, v: 8x128xbf16>
// expected-error@below {{has no GPU kernel for 'tensor.empty', 'linalg.add'; supported: kvc.append, kvc.attention, kvc.merge, kvc.rope, and in a program, whose host code launches them, what is around these}}
func.func @host_code(%k: tensor<4x8x128xbf16>, %cache: !cache, %batch: !kvc.batch) {
  // expected-note@below {{'tensor.empty' is here}}
  %empty = tensor.empty() : tensor<4x8x128xbf16>
  // expected-note@below {{'linalg.add' is here}}
  %twice = linalg.add ins(%k, %k : tensor<4x8x128xbf16>, tensor<4x8x128xbf16>)
      outs(%empty : tensor<4x8x128xbf16>) -> tensor<4x8x128xbf16>
  kvc.append %cache[k: %twice] at %batch : !cache, tensor<4x8x128xbf16>
  return
}

// -----

// expected-error@below {{has no GPU kernel for 'arith.addf'; supported: kvc.append, kvc.attention, kvc.merge, kvc.rope}}
func.func @no_operation(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-note@below {{'arith.addf' is here}}
  %y = arith.addf %x, %x : tensor<4xf32>
  return %y : tensor<4xf32>
}
