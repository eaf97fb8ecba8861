// What has no GPU kernel is refused, with what there is.

// RUN: kvc-opt %s --kvc-plan --convert-kvc-to-nvvm --split-input-file --verify-diagnostics

!cache = !kvc.cache<page = 16, k: 8x128xf32, v: 8x128xf32>
func.func @element(%q: tensor<?x8x128xf32>, %cache: !cache, %batch: !kvc.batch)
    -> tensor<?x8x128xf32> {
  // expected-error@below {{has no GPU kernel for keys of 'f32'; supported: bf16, f16}}
  %o = kvc.attention %cache at %batch terms(%q * k) value(v) {scale = 1.0 : f32}
      : !cache, tensor<?x8x128xf32> -> tensor<?x8x128xf32>
  return %o : tensor<?x8x128xf32>
}

// -----

!cache = !kvc.cache<page = 16, k: 8x128xbf16, v: 8x128xf16>
func.func @elements(%q: tensor<?x8x128xbf16>, %cache: !cache, %batch: !kvc.batch)
    -> tensor<?x8x128xbf16> {
  // expected-error@below {{has no GPU kernel for values of 'f16' beside keys of 'bf16'; supported: the same element type}}
  %o = kvc.attention %cache at %batch terms(%q * k) value(v) {scale = 1.0 : f32}
      : !cache, tensor<?x8x128xbf16> -> tensor<?x8x128xbf16>
  return %o : tensor<?x8x128xbf16>
}

// -----

!cache = !kvc.cache<page = 16, k: 8x96xbf16, v: 8x96xbf16>
func.func @width(%q: tensor<?x8x96xbf16>, %cache: !cache, %batch: !kvc.batch)
    -> tensor<?x8x96xbf16> {
  // expected-error@below {{has no GPU kernel for width 96; supported: 64, 128}}
  %o = kvc.attention %cache at %batch terms(%q * k) value(v) {scale = 1.0 : f32}
      : !cache, tensor<?x8x96xbf16> -> tensor<?x8x96xbf16>
  return %o : tensor<?x8x96xbf16>
}

// -----

!cache = !kvc.cache<page = 16, k: 8x128xbf16, v: 8x64xbf16>
func.func @widths(%q: tensor<?x8x128xbf16>, %cache: !cache, %batch: !kvc.batch)
    -> tensor<?x8x64xbf16> {
  // expected-error@below {{has no GPU kernel for keys of width 128 and values of width 64; supported: equal widths}}
  %o = kvc.attention %cache at %batch terms(%q * k) value(v) {scale = 1.0 : f32}
      : !cache, tensor<?x8x128xbf16> -> tensor<?x8x64xbf16>
  return %o : tensor<?x8x64xbf16>
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

!cache = !kvc.cache<page = 16, c: 1x128xbf16, r: 1x64xbf16>
func.func @terms(%q: tensor<?x8x128xbf16>, %r: tensor<?x8x64xbf16>, %cache: !cache,
                 %batch: !kvc.batch) -> tensor<?x8x128xbf16> {
  // expected-error@below {{has no GPU kernel for 2 score terms; supported: 1}}
  %o = kvc.attention %cache at %batch terms(%q * c, %r * r) value(c) {scale = 1.0 : f32}
      : !cache, tensor<?x8x128xbf16>, tensor<?x8x64xbf16> -> tensor<?x8x128xbf16>
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
#schedule = #kvc.gpu_schedule<decode = <form = heads_m, rows = 16, keys = 256, stages = 2, warps = 4, query_tokens = 1>, prefill = <form = heads_m, rows = 16, keys = 256, stages = 2, warps = 4, query_tokens = 1>, split = 1024>
func.func @shared(%q: tensor<?x8x128xbf16>, %cache: !cache, %batch: !kvc.batch)
    -> tensor<?x8x128xbf16> {
  // expected-error@below {{expected a schedule of at most 232448 bytes of shared memory, got 262144; take fewer stages or keys}}
  %o = kvc.attention %cache at %batch terms(%q * k) value(v) {scale = 1.0 : f32, schedule = #schedule}
      : !cache, tensor<?x8x128xbf16> -> tensor<?x8x128xbf16>
  return %o : tensor<?x8x128xbf16>
}

// -----

!cache = !kvc.cache<page = 16, k: 8x128xbf16, v: 8x128xbf16>
func.func @other_op(%q: tensor<?x8x128xbf16>, %cache: !cache, %batch: !kvc.batch)
    -> tensor<?x8x128xbf16> {
  // expected-error@below {{'kvc.rope' op has no GPU kernel; supported: kvc.append, kvc.attention}}
  %r = kvc.rope %q at %batch {theta = 1.0e4 : f64, rotary_width = 128 : i64} : tensor<?x8x128xbf16>
  %o = kvc.attention %cache at %batch terms(%r * k) value(v) {scale = 1.0 : f32}
      : !cache, tensor<?x8x128xbf16> -> tensor<?x8x128xbf16>
  return %o : tensor<?x8x128xbf16>
}

// -----

!cache = !kvc.cache<page = 16, k: 8x128xbf16, v: 8x128xbf16>
func.func @two(%q: tensor<?x8x128xbf16>, %cache: !cache, %batch: !kvc.batch)
    -> tensor<?x8x128xbf16> {
  // expected-note@below {{another one is here}}
  %o = kvc.attention %cache at %batch terms(%q * k) value(v) {scale = 1.0 : f32}
      : !cache, tensor<?x8x128xbf16> -> tensor<?x8x128xbf16>
  // expected-error@below {{expected one attention a function on the GPU}}
  %p = kvc.attention %cache at %batch terms(%q * k) value(v) {scale = 2.0 : f32}
      : !cache, tensor<?x8x128xbf16> -> tensor<?x8x128xbf16>
  return %p : tensor<?x8x128xbf16>
}

// -----

!cache = !kvc.cache<page = 16, k: 8x128xbf16, v: 8x128xbf16>
func.func @passes_argument(%k: tensor<?x8x128xbf16>, %cache: !cache, %batch: !kvc.batch)
    -> tensor<?x8x128xbf16> {
  kvc.append %cache[k: %k] at %batch : !cache, tensor<?x8x128xbf16>
  // expected-error@below {{expected the results of an attention on the GPU}}
  return %k : tensor<?x8x128xbf16>
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
