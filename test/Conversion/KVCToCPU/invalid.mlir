// What has no kernel on the CPU is refused, with what there is.

// RUN: kvc-opt %s -convert-kvc-to-cpu -split-input-file -verify-diagnostics \
// RUN:   -allow-unregistered-dialect
// RUN: not kvc-opt %s -convert-kvc-to-cpu=tier=sse2 -split-input-file \
// RUN:   -allow-unregistered-dialect 2>&1 | FileCheck %s

// CHECK: error: expected tier 'amx', 'avx512_bf16', 'avx512', 'avx2' or 'plain', got 'sse2'

// No schedule.
!cache = !kvc.cache<page = 16, k: 1x8xbf16, v: 1x8xbf16>
func.func @attention(%q: tensor<?x1x8xbf16>, %cache: !cache, %batch: !kvc.batch) -> tensor<?x1x8xbf16> {
  // expected-error@below {{'kvc.attention' op expected a #kvc.cpu_schedule; run -kvc-plan=target=cpu before this pass}}
  %out = kvc.attention %cache at %batch terms(%q * k) value(v) {scale = 1.0 : f32}
      : !cache, tensor<?x1x8xbf16> -> tensor<?x1x8xbf16>
  return %out : tensor<?x1x8xbf16>
}

// -----

// The schedule of another target.
!cache = !kvc.cache<page = 16, k: 1x8xbf16, v: 1x8xbf16>
func.func @attention(%q: tensor<?x1x8xbf16>, %cache: !cache, %batch: !kvc.batch) -> tensor<?x1x8xbf16> {
  // expected-error@below {{'kvc.attention' op expected a #kvc.cpu_schedule, got #kvc.gpu_schedule<decode = <form = heads_m, rows = 16, keys = 16, stages = 2, warps = 1, query_tokens = 1>, prefill = <form = heads_m, rows = 16, keys = 16, stages = 2, warps = 1, query_tokens = 1>, split = 64>}}
  %out = kvc.attention %cache at %batch terms(%q * k) value(v) {scale = 1.0 : f32,
      schedule = #kvc.gpu_schedule<decode = <form = heads_m, rows = 16, keys = 16, stages = 2, warps = 1, query_tokens = 1>, prefill = <form = heads_m, rows = 16, keys = 16, stages = 2, warps = 1, query_tokens = 1>, split = 64>}
      : !cache, tensor<?x1x8xbf16> -> tensor<?x1x8xbf16>
  return %out : tensor<?x1x8xbf16>
}

// -----

// The parameters of a kernel hold 8 terms.
!cache = !kvc.cache<page = 16, k: 1x8xbf16, v: 1x8xbf16>
func.func @attention(%q: tensor<?x1x8xbf16>, %cache: !cache, %batch: !kvc.batch) -> tensor<?x1x8xbf16> {
  // expected-error@below {{'kvc.attention' op expected at most 8 terms on the CPU, got 9}}
  %out = kvc.attention %cache at %batch terms(%q * k, %q * k, %q * k, %q * k, %q * k, %q * k, %q * k, %q * k, %q * k) value(v) {scale = 1.0 : f32,
      schedule = #kvc.cpu_schedule<lanes = 16, tile = 64,
          decode = <rows = 1, key_vectors = 4, value_vectors = 1>,
          prefill = <rows = 1, key_vectors = 4, value_vectors = 1>,
          query_tokens = 1, split = 64>}
      : !cache, tensor<?x1x8xbf16>, tensor<?x1x8xbf16>, tensor<?x1x8xbf16>, tensor<?x1x8xbf16>, tensor<?x1x8xbf16>, tensor<?x1x8xbf16>, tensor<?x1x8xbf16>, tensor<?x1x8xbf16>, tensor<?x1x8xbf16> -> tensor<?x1x8xbf16>
  return %out : tensor<?x1x8xbf16>
}

// -----

// A key cannot be read from the image of values.
!cache = !kvc.cache<page = 16, k: 1x8xbf16 layout<packed_value>, v: 1x8xbf16>
func.func @attention(%q: tensor<?x1x8xbf16>, %cache: !cache, %batch: !kvc.batch) -> tensor<?x1x8xbf16> {
  // expected-error@below {{'kvc.attention' op expected layout row_major or packed_key of component 'k', got packed_value}}
  %out = kvc.attention %cache at %batch terms(%q * k) value(v) {scale = 1.0 : f32,
      schedule = #kvc.cpu_schedule<lanes = 16, tile = 64,
          decode = <rows = 1, key_vectors = 4, value_vectors = 1>,
          prefill = <rows = 1, key_vectors = 4, value_vectors = 1>,
          query_tokens = 1, split = 64>}
      : !cache, tensor<?x1x8xbf16> -> tensor<?x1x8xbf16>
  return %out : tensor<?x1x8xbf16>
}

// -----

// A value cannot be read from the image of keys.
!cache = !kvc.cache<page = 16, k: 1x8xbf16, v: 1x8xbf16 layout<packed_key>>
func.func @attention(%q: tensor<?x1x8xbf16>, %cache: !cache, %batch: !kvc.batch) -> tensor<?x1x8xbf16> {
  // expected-error@below {{'kvc.attention' op expected layout row_major or packed_value of component 'v', got packed_key}}
  %out = kvc.attention %cache at %batch terms(%q * k) value(v) {scale = 1.0 : f32,
      schedule = #kvc.cpu_schedule<lanes = 16, tile = 64,
          decode = <rows = 1, key_vectors = 4, value_vectors = 1>,
          prefill = <rows = 1, key_vectors = 4, value_vectors = 1>,
          query_tokens = 1, split = 64>}
      : !cache, tensor<?x1x8xbf16> -> tensor<?x1x8xbf16>
  return %out : tensor<?x1x8xbf16>
}

// -----

// bf16_dot reads bf16 only: components.
!cache = !kvc.cache<page = 16, k: 1x8xf16, v: 1x8xbf16>
func.func @attention(%q: tensor<?x1x8xbf16>, %cache: !cache, %batch: !kvc.batch) -> tensor<?x1x8xbf16> {
  // expected-error@below {{'kvc.attention' op expected bf16 queries and bf16 or quantised components for bf16_dot products}}
  %out = kvc.attention %cache at %batch terms(%q * k) value(v) {scale = 1.0 : f32,
      schedule = #kvc.cpu_schedule<lanes = 16, tile = 64,
          decode = <rows = 1, key_vectors = 4, value_vectors = 1, products = bf16_dot>,
          prefill = <rows = 1, key_vectors = 4, value_vectors = 1, products = bf16_dot>,
          query_tokens = 1, split = 64>}
      : !cache, tensor<?x1x8xbf16> -> tensor<?x1x8xbf16>
  return %out : tensor<?x1x8xbf16>
}

// -----

// bf16_dot reads bf16 only: queries.
!cache = !kvc.cache<page = 16, k: 1x8xbf16, v: 1x8xbf16>
func.func @attention(%q: tensor<?x1x8xf16>, %cache: !cache, %batch: !kvc.batch) -> tensor<?x1x8xbf16> {
  // expected-error@below {{'kvc.attention' op expected bf16 queries and bf16 or quantised components for bf16_dot products}}
  %out = kvc.attention %cache at %batch terms(%q * k) value(v) {scale = 1.0 : f32,
      schedule = #kvc.cpu_schedule<lanes = 16, tile = 64,
          decode = <rows = 1, key_vectors = 4, value_vectors = 1, products = bf16_dot>,
          prefill = <rows = 1, key_vectors = 4, value_vectors = 1, products = bf16_dot>,
          query_tokens = 1, split = 64>}
      : !cache, tensor<?x1x8xf16> -> tensor<?x1x8xbf16>
  return %out : tensor<?x1x8xbf16>
}

// -----

// bf16_dot is an instruction of one tier.
!cache = !kvc.cache<page = 16, k: 1x8xbf16, v: 1x8xbf16>
func.func @attention(%q: tensor<?x1x8xbf16>, %cache: !cache, %batch: !kvc.batch) -> tensor<?x1x8xbf16> {
  // expected-error@below {{'kvc.attention' op expected tier avx512_bf16 or amx for bf16_dot products, got plain}}
  %out = kvc.attention %cache at %batch terms(%q * k) value(v) {scale = 1.0 : f32,
      schedule = #kvc.cpu_schedule<lanes = 16, tile = 64,
          decode = <rows = 1, key_vectors = 4, value_vectors = 1, products = bf16_dot>,
          prefill = <rows = 1, key_vectors = 4, value_vectors = 1, products = bf16_dot>,
          query_tokens = 1, split = 64>}
      : !cache, tensor<?x1x8xbf16> -> tensor<?x1x8xbf16>
  return %out : tensor<?x1x8xbf16>
}

// -----

// Tiles are of whole columns, and of one tier too.
!cache = !kvc.cache<page = 16, k: 1x64xbf16, v: 1x40xbf16>
func.func @attention(%q: tensor<?x1x64xbf16>, %cache: !cache, %batch: !kvc.batch) -> tensor<?x1x40xbf16> {
  // expected-error@below {{'kvc.attention' op expected widths that are multiples of 32 up to 1024 for bf16_tile products}}
  %out = kvc.attention %cache at %batch terms(%q * k) value(v) {scale = 1.0 : f32,
      schedule = #kvc.cpu_schedule<lanes = 16, tile = 64,
          decode = <rows = 1, key_vectors = 4, value_vectors = 1, products = bf16_tile>,
          prefill = <rows = 1, key_vectors = 4, value_vectors = 1, products = bf16_tile>,
          query_tokens = 1, split = 64>}
      : !cache, tensor<?x1x64xbf16> -> tensor<?x1x40xbf16>
  return %out : tensor<?x1x40xbf16>
}

// -----

!cache = !kvc.cache<page = 16, k: 1x64xbf16, v: 1x64xbf16>
func.func @attention(%q: tensor<?x1x64xbf16>, %cache: !cache, %batch: !kvc.batch) -> tensor<?x1x64xbf16> {
  // expected-error@below {{'kvc.attention' op expected tier amx for bf16_tile products, got plain}}
  %out = kvc.attention %cache at %batch terms(%q * k) value(v) {scale = 1.0 : f32,
      schedule = #kvc.cpu_schedule<lanes = 16, tile = 64,
          decode = <rows = 1, key_vectors = 4, value_vectors = 1, products = bf16_tile>,
          prefill = <rows = 1, key_vectors = 4, value_vectors = 1, products = bf16_tile>,
          query_tokens = 1, split = 64>}
      : !cache, tensor<?x1x64xbf16> -> tensor<?x1x64xbf16>
  return %out : tensor<?x1x64xbf16>
}

// -----

// Operations of other dialects.
func.func @foreign(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error@below {{no lowering to the CPU for operation 'arith.addf': expected operations of the kvc dialect only}}
  %sum = arith.addf %x, %x : tensor<4xf32>
  return %sum : tensor<4xf32>
}

// -----

// Operations of no dialect.
func.func @unregistered() {
  // expected-error@below {{no lowering to the CPU for operation 'nobody.knows': expected operations of the kvc dialect only}}
  "nobody.knows"() : () -> ()
  return
}

// -----

// Control flow around an operation.
!cache = !kvc.cache<page = 16, k: 1x8xf32>
func.func @region(%k: tensor<?x1x8xf32>, %cache: !cache, %batch: !kvc.batch, %condition: i1) {
  // expected-error@below {{no lowering to the CPU for operation 'scf.if': expected operations of the kvc dialect only}}
  scf.if %condition {
    kvc.append %cache[k: %k] at %batch : !cache, tensor<?x1x8xf32>
  }
  return
}

// -----

// Calls, here of itself.
func.func @recursion() {
  // expected-error@below {{expected a call of host code that has been lowered}}
  call @recursion() : () -> ()
  return
}

// -----

// An end other than return.
func.func @unreachable() {
  // expected-error@below {{no lowering to the CPU for operation 'llvm.unreachable': expected operations of the kvc dialect only}}
  llvm.unreachable
}

// -----

// Several blocks.
// expected-error@below {{'func.func' op expected one block, got 2}}
func.func @blocks() {
  cf.br ^end
^end:
  return
}

// -----

// A declaration.
// expected-error@below {{'func.func' op expected a body, got a declaration}}
func.func private @declaration()

// -----

// A name that would end before its end.
// expected-error@below {{'func.func' op expected a name without NUL, got "f\00g"}}
func.func @"f\00g"() {
  return
}

// -----

// The name of the function that returns the program.
// expected-error@below {{symbol 'kvc.program' is reserved for the program}}
func.func @kvc.program() {
  return
}

// -----

// A result that is an argument.
func.func @argument(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error@below {{'func.return' op expected results that the function computes, got an argument: it would need a copy}}
  return %x : tensor<4xf32>
}

// -----

// One value for two results.
func.func @twice(%x: tensor<?x1x8xf32>, %batch: !kvc.batch)
    -> (tensor<?x1x8xf32>, tensor<?x1x8xf32>) {
  %out = kvc.rope %x at %batch {theta = 1.0e4 : f64, rotary_width = 8 : i64}
      : tensor<?x1x8xf32>
  // expected-error@below {{'func.return' op expected different values as results, got one twice: the second would need a copy}}
  return %out, %out : tensor<?x1x8xf32>, tensor<?x1x8xf32>
}

// -----

// A result that is a cache.
!cache = !kvc.cache<page = 16, k: 1x8xf32>
func.func @cache(%buffer: memref<?x16x1x8xf32>) -> !cache {
  %cache = kvc.cache_from_buffers %buffer order nhd : memref<?x16x1x8xf32> -> !cache
  // expected-error@below {{'func.return' op expected tensors as results, got '!kvc.cache<page = 16, k: 1x8xf32>'}}
  return %cache : !cache
}

// -----

// Cosines and sines lie on the stack of a worker.
func.func @rope(%x: tensor<?x1x4098xf32>, %batch: !kvc.batch) -> tensor<?x1x4098xf32> {
  // expected-error@below {{'kvc.rope' op expected a rotary width of at most 4096 on the CPU, got 4098}}
  %out = kvc.rope %x at %batch {theta = 1.0e4 : f64, rotary_width = 4098 : i64}
      : tensor<?x1x4098xf32>
  return %out : tensor<?x1x4098xf32>
}

// -----

// More parts than the parameters of a kernel hold.
!out = tensor<?x1x8xf32>
!lse = tensor<?x1xf32>
func.func @merge(%o: !out, %l: !lse) -> (!out, !lse) {
  // expected-error@below {{'kvc.merge' op expected at most 64 parts on the CPU, got 65}}
  %0:2 = kvc.merge
      outputs(%o, %o, %o, %o, %o, %o, %o, %o, %o, %o, %o, %o, %o, %o, %o, %o, %o, %o, %o, %o,
        %o, %o, %o, %o, %o, %o, %o, %o, %o, %o, %o, %o, %o, %o, %o, %o, %o, %o, %o, %o,
        %o, %o, %o, %o, %o, %o, %o, %o, %o, %o, %o, %o, %o, %o, %o, %o, %o, %o, %o, %o,
        %o, %o, %o, %o, %o : !out, !out, !out, !out, !out, !out, !out, !out, !out, !out, !out, !out, !out, !out, !out,
        !out, !out, !out, !out, !out, !out, !out, !out, !out, !out, !out, !out, !out, !out, !out,
        !out, !out, !out, !out, !out, !out, !out, !out, !out, !out, !out, !out, !out, !out, !out,
        !out, !out, !out, !out, !out, !out, !out, !out, !out, !out, !out, !out, !out, !out, !out,
        !out, !out, !out, !out, !out)
      lses(%l, %l, %l, %l, %l, %l, %l, %l, %l, %l, %l, %l, %l, %l, %l, %l, %l, %l, %l, %l,
        %l, %l, %l, %l, %l, %l, %l, %l, %l, %l, %l, %l, %l, %l, %l, %l, %l, %l, %l, %l,
        %l, %l, %l, %l, %l, %l, %l, %l, %l, %l, %l, %l, %l, %l, %l, %l, %l, %l, %l, %l,
        %l, %l, %l, %l, %l : !lse, !lse, !lse, !lse, !lse, !lse, !lse, !lse, !lse, !lse, !lse, !lse, !lse, !lse, !lse,
        !lse, !lse, !lse, !lse, !lse, !lse, !lse, !lse, !lse, !lse, !lse, !lse, !lse, !lse, !lse,
        !lse, !lse, !lse, !lse, !lse, !lse, !lse, !lse, !lse, !lse, !lse, !lse, !lse, !lse, !lse,
        !lse, !lse, !lse, !lse, !lse, !lse, !lse, !lse, !lse, !lse, !lse, !lse, !lse, !lse, !lse,
        !lse, !lse, !lse, !lse, !lse)
      : !out, !lse
  return %0#0, %0#1 : !out, !lse
}
