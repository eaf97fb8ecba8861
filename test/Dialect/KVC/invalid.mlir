// Each check of the verifiers and of the syntax: append_c2 is the second constraint of
// kvc.append.

// RUN: kvc-opt %s -split-input-file -verify-diagnostics

// append_c1: something is written.
!cache = !kvc.cache<page = 16, k: 2x8xf16, v: 2x24xf16>
func.func @append(%k: tensor<?x2x8xf16>, %cache: !cache, %batch: !kvc.batch) {
  // expected-error@below {{'kvc.append' op expected at least one component to write, got none}}
  "kvc.append"(%cache, %batch) {components = []} : (!cache, !kvc.batch) -> ()
  return
}

// -----

// append_c1: each value has a name.
!cache = !kvc.cache<page = 16, k: 2x8xf16, v: 2x24xf16>
func.func @append(%k: tensor<?x2x8xf16>, %cache: !cache, %batch: !kvc.batch) {
  // expected-error@below {{'kvc.append' op expected as many components as values (1), got 2}}
  "kvc.append"(%cache, %batch, %k) {components = ["k", "v"]}
      : (!cache, !kvc.batch, tensor<?x2x8xf16>) -> ()
  return
}

// -----

// append_c1: no component is written twice.
!cache = !kvc.cache<page = 16, k: 2x8xf16, v: 2x24xf16>
func.func @append(%k: tensor<?x2x8xf16>, %cache: !cache, %batch: !kvc.batch) {
  // expected-error@below {{'kvc.append' op expected each component once, got 'k' twice}}
  kvc.append %cache[k: %k, k: %k] at %batch : !cache, tensor<?x2x8xf16>, tensor<?x2x8xf16>
  return
}

// -----

// append_c1: a component is one of the cache; the note shows the cache.
!cache = !kvc.cache<page = 16, k: 2x8xf16, v: 2x24xf16>
// expected-note@below {{cache of type '!kvc.cache<page = 16, k: 2x8xf16, v: 2x24xf16>' defined here}}
func.func @append(%k: tensor<?x2x8xf16>, %cache: !cache, %batch: !kvc.batch) {
  // expected-error@below {{'kvc.append' op expected a component of the cache, got 'w'}}
  kvc.append %cache[w: %k] at %batch : !cache, tensor<?x2x8xf16>
  return
}

// -----

// append_c2: rank.
!cache = !kvc.cache<page = 16, k: 2x8xf16, v: 2x24xf16>
func.func @append(%k: tensor<?x8xf16>, %cache: !cache, %batch: !kvc.batch) {
  // expected-error@below {{'kvc.append' op expected value of component 'k' of rank 3, got rank 2}}
  kvc.append %cache[k: %k] at %batch : !cache, tensor<?x8xf16>
  return
}

// -----

// append_c2: heads.
!cache = !kvc.cache<page = 16, k: 2x8xf16, v: 2x24xf16>
func.func @append(%k: tensor<?x4x8xf16>, %cache: !cache, %batch: !kvc.batch) {
  // expected-error@below {{'kvc.append' op expected heads of value of component 'k' to be 2, got 4}}
  kvc.append %cache[k: %k] at %batch : !cache, tensor<?x4x8xf16>
  return
}

// -----

// append_c2: a dynamic number of heads is not enough.
!cache = !kvc.cache<page = 16, k: 2x8xf16, v: 2x24xf16>
func.func @append(%k: tensor<?x?x8xf16>, %cache: !cache, %batch: !kvc.batch) {
  // expected-error@below {{'kvc.append' op expected heads of value of component 'k' to be 2, got a dynamic one}}
  kvc.append %cache[k: %k] at %batch : !cache, tensor<?x?x8xf16>
  return
}

// -----

// append_c2: width.
!cache = !kvc.cache<page = 16, k: 2x8xf16, v: 2x24xf16>
func.func @append(%k: tensor<?x2x8xf16>, %cache: !cache, %batch: !kvc.batch) {
  // expected-error@below {{'kvc.append' op expected width of value of component 'v' to be 24, got 8}}
  kvc.append %cache[v: %k] at %batch : !cache, tensor<?x2x8xf16>
  return
}

// -----

// append_c2: element type.
!cache = !kvc.cache<page = 16, k: 2x8xf16, v: 2x24xf16>
func.func @append(%k: tensor<?x2x8xbf16>, %cache: !cache, %batch: !kvc.batch) {
  // expected-error@below {{'kvc.append' op expected value of component 'k' to have element type 'f16', got 'bf16'}}
  kvc.append %cache[k: %k] at %batch : !cache, tensor<?x2x8xbf16>
  return
}

// -----

// append_c3: as many tokens of each value, where it is known.
!cache = !kvc.cache<page = 16, k: 2x8xf16, v: 2x24xf16>
func.func @append(%k: tensor<3x2x8xf16>, %v: tensor<4x2x24xf16>, %cache: !cache, %batch: !kvc.batch) {
  // expected-error@below {{'kvc.append' op expected tokens of value of component 'v' to be 3, got 4}}
  kvc.append %cache[k: %k, v: %v] at %batch : !cache, tensor<3x2x8xf16>, tensor<4x2x24xf16>
  return
}

// -----

// attention_c1: there is a term.
!cache = !kvc.cache<page = 16, k: 2x8xf16, v: 2x24xf16>
func.func @attention(%q: tensor<?x4x8xf16>, %cache: !cache, %batch: !kvc.batch) {
  // expected-error@below {{'kvc.attention' op expected at least one term, got none}}
  %o = "kvc.attention"(%cache, %batch) {components = [], value = "v", scale = 1.0 : f32,
      operandSegmentSizes = array<i32: 1, 1, 0, 0>}
      : (!cache, !kvc.batch) -> tensor<?x4x24xf16>
  return
}

// -----

// attention_c1: each query has a component.
!cache = !kvc.cache<page = 16, k: 2x8xf16, v: 2x24xf16>
func.func @attention(%q: tensor<?x4x8xf16>, %cache: !cache, %batch: !kvc.batch) {
  // expected-error@below {{'kvc.attention' op expected as many components as queries (1), got 0}}
  %o = "kvc.attention"(%cache, %batch, %q) {components = [], value = "v", scale = 1.0 : f32,
      operandSegmentSizes = array<i32: 1, 1, 1, 0>}
      : (!cache, !kvc.batch, tensor<?x4x8xf16>) -> tensor<?x4x24xf16>
  return
}

// -----

// attention_c1: the component of a term is one of the cache.
!cache = !kvc.cache<page = 16, k: 2x8xf16, v: 2x24xf16>
// expected-note@below {{cache of type '!kvc.cache<page = 16, k: 2x8xf16, v: 2x24xf16>' defined here}}
func.func @attention(%q: tensor<?x4x8xf16>, %cache: !cache, %batch: !kvc.batch) {
  // expected-error@below {{'kvc.attention' op expected a component of the cache, got 'w'}}
  %o = kvc.attention %cache at %batch terms(%q * w) value(v) {scale = 1.0 : f32}
      : !cache, tensor<?x4x8xf16> -> tensor<?x4x24xf16>
  return
}

// -----

// attention_c1: the value is a component of the cache.
!cache = !kvc.cache<page = 16, k: 2x8xf16, v: 2x24xf16>
// expected-note@below {{cache of type '!kvc.cache<page = 16, k: 2x8xf16, v: 2x24xf16>' defined here}}
func.func @attention(%q: tensor<?x4x8xf16>, %cache: !cache, %batch: !kvc.batch) {
  // expected-error@below {{'kvc.attention' op expected a component of the cache, got 'w'}}
  %o = kvc.attention %cache at %batch terms(%q * k) value(w) {scale = 1.0 : f32}
      : !cache, tensor<?x4x8xf16> -> tensor<?x4x24xf16>
  return
}

// -----

// attention_c2: rank.
!cache = !kvc.cache<page = 16, k: 2x8xf16, v: 2x24xf16>
func.func @attention(%q: tensor<4x8xf16>, %cache: !cache, %batch: !kvc.batch) {
  // expected-error@below {{'kvc.attention' op expected query of component 'k' of rank 3, got rank 2}}
  %o = kvc.attention %cache at %batch terms(%q * k) value(v) {scale = 1.0 : f32}
      : !cache, tensor<4x8xf16> -> tensor<?x4x24xf16>
  return
}

// -----

// attention_c2: width.
!cache = !kvc.cache<page = 16, k: 2x8xf16, v: 2x24xf16>
func.func @attention(%q: tensor<?x4x24xf16>, %cache: !cache, %batch: !kvc.batch) {
  // expected-error@below {{'kvc.attention' op expected width of query of component 'k' to be 8, got 24}}
  %o = kvc.attention %cache at %batch terms(%q * k) value(v) {scale = 1.0 : f32}
      : !cache, tensor<?x4x24xf16> -> tensor<?x4x24xf16>
  return
}

// -----

// attention_c2: query heads.
!cache = !kvc.cache<page = 16, k: 2x8xf16, v: 2x24xf16>
func.func @attention(%q: tensor<?x2x8xf16>, %cache: !cache, %batch: !kvc.batch) {
  // expected-error@below {{'kvc.attention' op expected heads of query of component 'k' to be 4, got 2}}
  %o = kvc.attention %cache at %batch terms(%q * k) value(v) {scale = 1.0 : f32}
      : !cache, tensor<?x2x8xf16> -> tensor<?x4x24xf16>
  return
}

// -----

// attention_c2: tokens, where they are known.
!cache = !kvc.cache<page = 16, k: 2x8xf16, v: 2x24xf16>
func.func @attention(%q: tensor<5x4x8xf16>, %cache: !cache, %batch: !kvc.batch) {
  // expected-error@below {{'kvc.attention' op expected tokens of query of component 'k' to be 6, got 5}}
  %o = kvc.attention %cache at %batch terms(%q * k) value(v) {scale = 1.0 : f32}
      : !cache, tensor<5x4x8xf16> -> tensor<6x4x24xf16>
  return
}

// -----

// attention_c3: components agree on the KV heads.
!cache = !kvc.cache<page = 16, k: 4x8xf16, v: 2x24xf16>
func.func @attention(%q: tensor<?x4x8xf16>, %cache: !cache, %batch: !kvc.batch) {
  // expected-error@below {{'kvc.attention' op expected component 'k' to have the KV heads of the value (2), got 4}}
  %o = kvc.attention %cache at %batch terms(%q * k) value(v) {scale = 1.0 : f32}
      : !cache, tensor<?x4x8xf16> -> tensor<?x4x24xf16>
  return
}

// -----

// attention_c3: KV heads divide query heads.
!cache = !kvc.cache<page = 16, k: 2x8xf16, v: 2x24xf16>
// expected-note@below {{cache defined here}}
func.func @attention(%q: tensor<?x5x8xf16>, %cache: !cache, %batch: !kvc.batch) {
  // expected-error@below {{'kvc.attention' op expected query heads (5) to be a multiple of KV heads (2)}}
  %o = kvc.attention %cache at %batch terms(%q * k) value(v) {scale = 1.0 : f32}
      : !cache, tensor<?x5x8xf16> -> tensor<?x5x24xf16>
  return
}

// -----

// attention_c4: rank.
!cache = !kvc.cache<page = 16, k: 2x8xf16, v: 2x24xf16>
func.func @attention(%q: tensor<?x4x8xf16>, %cache: !cache, %batch: !kvc.batch) {
  // expected-error@below {{'kvc.attention' op expected output of rank 3, got rank 2}}
  %o = kvc.attention %cache at %batch terms(%q * k) value(v) {scale = 1.0 : f32}
      : !cache, tensor<?x4x8xf16> -> tensor<?x96xf16>
  return
}

// -----

// attention_c4: a dynamic number of query heads.
!cache = !kvc.cache<page = 16, k: 2x8xf16, v: 2x24xf16>
func.func @attention(%q: tensor<?x4x8xf16>, %cache: !cache, %batch: !kvc.batch) {
  // expected-error@below {{'kvc.attention' op expected a static number of query heads from 1 to 2147483647, got 'tensor<?x?x24xf16>'}}
  %o = kvc.attention %cache at %batch terms(%q * k) value(v) {scale = 1.0 : f32}
      : !cache, tensor<?x4x8xf16> -> tensor<?x?x24xf16>
  return
}

// -----

// attention_c4: no query heads.
!cache = !kvc.cache<page = 16, k: 2x8xf16, v: 2x24xf16>
func.func @attention(%q: tensor<?x0x8xf16>, %cache: !cache, %batch: !kvc.batch) {
  // expected-error@below {{'kvc.attention' op expected a static number of query heads from 1 to 2147483647, got 'tensor<?x0x24xf16>'}}
  %o = kvc.attention %cache at %batch terms(%q * k) value(v) {scale = 1.0 : f32}
      : !cache, tensor<?x0x8xf16> -> tensor<?x0x24xf16>
  return
}

// -----

// attention_c4: more query heads than can be counted in 32 bits.
!cache = !kvc.cache<page = 16, k: 2x8xf16, v: 2x24xf16>
func.func @attention(%q: tensor<?x2147483648x8xf16>, %cache: !cache, %batch: !kvc.batch) {
  // expected-error@below {{'kvc.attention' op expected a static number of query heads from 1 to 2147483647, got 'tensor<?x2147483648x24xf16>'}}
  %o = kvc.attention %cache at %batch terms(%q * k) value(v) {scale = 1.0 : f32}
      : !cache, tensor<?x2147483648x8xf16> -> tensor<?x2147483648x24xf16>
  return
}

// -----

// attention_c4: width.
!cache = !kvc.cache<page = 16, k: 2x8xf16, v: 2x24xf16>
func.func @attention(%q: tensor<?x4x8xf16>, %cache: !cache, %batch: !kvc.batch) {
  // expected-error@below {{'kvc.attention' op expected width of the output to be 24, got 8}}
  %o = kvc.attention %cache at %batch terms(%q * k) value(v) {scale = 1.0 : f32}
      : !cache, tensor<?x4x8xf16> -> tensor<?x4x8xf16>
  return
}

// -----

// attention_c4: a dynamic width.
!cache = !kvc.cache<page = 16, k: 2x8xf16, v: 2x24xf16>
func.func @attention(%q: tensor<?x4x8xf16>, %cache: !cache, %batch: !kvc.batch) {
  // expected-error@below {{'kvc.attention' op expected width of the output to be 24, got a dynamic one}}
  %o = kvc.attention %cache at %batch terms(%q * k) value(v) {scale = 1.0 : f32}
      : !cache, tensor<?x4x8xf16> -> tensor<?x4x?xf16>
  return
}

// -----

// attention_c5: rank.
!cache = !kvc.cache<page = 16, k: 2x8xf16, v: 2x24xf16>
func.func @attention(%q: tensor<?x4x8xf16>, %cache: !cache, %batch: !kvc.batch) {
  // expected-error@below {{'kvc.attention' op expected log-sum-exp of rank 2, got rank 3}}
  %o:2 = kvc.attention %cache at %batch terms(%q * k) value(v) {scale = 1.0 : f32}
      : !cache, tensor<?x4x8xf16> -> tensor<?x4x24xf16>, tensor<?x4x1xf32>
  return
}

// -----

// attention_c5: tokens.
!cache = !kvc.cache<page = 16, k: 2x8xf16, v: 2x24xf16>
func.func @attention(%q: tensor<5x4x8xf16>, %cache: !cache, %batch: !kvc.batch) {
  // expected-error@below {{'kvc.attention' op expected tokens of the log-sum-exp to be 5, got 6}}
  %o:2 = kvc.attention %cache at %batch terms(%q * k) value(v) {scale = 1.0 : f32}
      : !cache, tensor<5x4x8xf16> -> tensor<5x4x24xf16>, tensor<6x4xf32>
  return
}

// -----

// attention_c5: heads.
!cache = !kvc.cache<page = 16, k: 2x8xf16, v: 2x24xf16>
func.func @attention(%q: tensor<?x4x8xf16>, %cache: !cache, %batch: !kvc.batch) {
  // expected-error@below {{'kvc.attention' op expected heads of the log-sum-exp to be 4, got 2}}
  %o:2 = kvc.attention %cache at %batch terms(%q * k) value(v) {scale = 1.0 : f32}
      : !cache, tensor<?x4x8xf16> -> tensor<?x4x24xf16>, tensor<?x2xf32>
  return
}

// -----

// attention_c6: one sink a query head.
!cache = !kvc.cache<page = 16, k: 2x8xf16, v: 2x24xf16>
func.func @attention(%q: tensor<?x4x8xf16>, %sinks: tensor<2xf32>, %cache: !cache, %batch: !kvc.batch) {
  // expected-error@below {{'kvc.attention' op expected the number of sinks to be 4, got 2}}
  %o = kvc.attention %cache at %batch terms(%q * k) value(v) sinks(%sinks : tensor<2xf32>) {scale = 1.0 : f32}
      : !cache, tensor<?x4x8xf16> -> tensor<?x4x24xf16>
  return
}

// -----

// attention_c6: a dynamic number of sinks.
!cache = !kvc.cache<page = 16, k: 2x8xf16, v: 2x24xf16>
func.func @attention(%q: tensor<?x4x8xf16>, %sinks: tensor<?xf32>, %cache: !cache, %batch: !kvc.batch) {
  // expected-error@below {{'kvc.attention' op expected the number of sinks to be 4, got a dynamic one}}
  %o = kvc.attention %cache at %batch terms(%q * k) value(v) sinks(%sinks : tensor<?xf32>) {scale = 1.0 : f32}
      : !cache, tensor<?x4x8xf16> -> tensor<?x4x24xf16>
  return
}

// -----

// attention_c6: rank.
!cache = !kvc.cache<page = 16, k: 2x8xf16, v: 2x24xf16>
func.func @attention(%q: tensor<?x4x8xf16>, %sinks: tensor<4x1xf32>, %cache: !cache, %batch: !kvc.batch) {
  // expected-error@below {{'kvc.attention' op expected sinks of rank 1, got rank 2}}
  %o = kvc.attention %cache at %batch terms(%q * k) value(v) sinks(%sinks : tensor<4x1xf32>) {scale = 1.0 : f32}
      : !cache, tensor<?x4x8xf16> -> tensor<?x4x24xf16>
  return
}

// -----

// attention_c7: only attributes with the score interface.
!cache = !kvc.cache<page = 16, k: 2x8xf16, v: 2x24xf16>
func.func @attention(%q: tensor<?x4x8xf16>, %cache: !cache, %batch: !kvc.batch) {
  // expected-error@below {{'kvc.attention' op expected score modifiers, got 1 : i64}}
  %o = kvc.attention %cache at %batch terms(%q * k) value(v) score [1] {scale = 1.0 : f32}
      : !cache, tensor<?x4x8xf16> -> tensor<?x4x24xf16>
  return
}

// -----

// attention_c7: no kind twice.
!cache = !kvc.cache<page = 16, k: 2x8xf16, v: 2x24xf16>
func.func @attention(%q: tensor<?x4x8xf16>, %cache: !cache, %batch: !kvc.batch) {
  // expected-error@below {{'kvc.attention' op expected each kind of score modifier once, got a second #kvc.softcap<2.000000e+00>}}
  %o = kvc.attention %cache at %batch terms(%q * k) value(v) score [#kvc.softcap<1.0>, #kvc.softcap<2.0>] {scale = 1.0 : f32}
      : !cache, tensor<?x4x8xf16> -> tensor<?x4x24xf16>
  return
}

// -----

// attention_c7: no kind twice, parameters or not.
!cache = !kvc.cache<page = 16, k: 2x8xf16, v: 2x24xf16>
func.func @attention(%q: tensor<?x4x8xf16>, %cache: !cache, %batch: !kvc.batch) {
  // expected-error@below {{'kvc.attention' op expected each kind of score modifier once, got a second #kvc.alibi}}
  %o = kvc.attention %cache at %batch terms(%q * k) value(v) score [#kvc.alibi, #kvc.causal, #kvc.alibi] {scale = 1.0 : f32}
      : !cache, tensor<?x4x8xf16> -> tensor<?x4x24xf16>
  return
}

// -----

// attention_c7: a window needs causal.
!cache = !kvc.cache<page = 16, k: 2x8xf16, v: 2x24xf16>
func.func @attention(%q: tensor<?x4x8xf16>, %cache: !cache, %batch: !kvc.batch) {
  // expected-error@below {{'kvc.attention' op expected #kvc.causal beside #kvc.window}}
  %o = kvc.attention %cache at %batch terms(%q * k) value(v) score [#kvc.window<4>] {scale = 1.0 : f32}
      : !cache, tensor<?x4x8xf16> -> tensor<?x4x24xf16>
  return
}

// -----

// attention_c8: an infinite scale.
!cache = !kvc.cache<page = 16, k: 2x8xf16, v: 2x24xf16>
func.func @attention(%q: tensor<?x4x8xf16>, %cache: !cache, %batch: !kvc.batch) {
  // expected-error@below {{'kvc.attention' op expected a finite scale, got 0x7F800000 : f32}}
  %o = kvc.attention %cache at %batch terms(%q * k) value(v) {scale = 0x7F800000 : f32}
      : !cache, tensor<?x4x8xf16> -> tensor<?x4x24xf16>
  return
}

// -----

// attention_c8: a scale that is no number.
!cache = !kvc.cache<page = 16, k: 2x8xf16, v: 2x24xf16>
func.func @attention(%q: tensor<?x4x8xf16>, %cache: !cache, %batch: !kvc.batch) {
  // expected-error@below {{'kvc.attention' op expected a finite scale, got 0x7FC00000 : f32}}
  %o = kvc.attention %cache at %batch terms(%q * k) value(v) {scale = 0x7FC00000 : f32}
      : !cache, tensor<?x4x8xf16> -> tensor<?x4x24xf16>
  return
}

// -----

// A schedule is one of the kvc dialect.
!cache = !kvc.cache<page = 16, k: 2x8xf16, v: 2x24xf16>
func.func @attention(%q: tensor<?x4x8xf16>, %cache: !cache, %batch: !kvc.batch) {
  // expected-error@below {{'kvc.attention' op expected a #kvc.cpu_schedule or #kvc.gpu_schedule, got "fast"}}
  %o = kvc.attention %cache at %batch terms(%q * k) value(v) {scale = 1.0 : f32, schedule = "fast"}
      : !cache, tensor<?x4x8xf16> -> tensor<?x4x24xf16>
  return
}

// -----

// merge_c1: there is a part.
func.func @merge(%o: tensor<?x4x8xf16>, %l: tensor<?x4xf32>) {
  // expected-error@below {{'kvc.merge' op expected at least one part, got none}}
  %0:2 = "kvc.merge"() {operandSegmentSizes = array<i32: 0, 0, 0>} : () -> (tensor<?x4x8xf16>, tensor<?x4xf32>)
  return
}

// -----

// merge_c1: each output has a log-sum-exp.
func.func @merge(%o: tensor<?x4x8xf16>, %l: tensor<?x4xf32>) {
  // expected-error@below {{'kvc.merge' op expected as many log-sum-exps as outputs (2), got 1}}
  %0:2 = kvc.merge outputs(%o, %o : tensor<?x4x8xf16>, tensor<?x4x8xf16>) lses(%l : tensor<?x4xf32>)
      : tensor<?x4x8xf16>, tensor<?x4xf32>
  return
}

// -----

// merge_c2: rank.
func.func @merge(%o: tensor<?x4xf16>, %l: tensor<?x4xf32>) {
  // expected-error@below {{'kvc.merge' op expected output of rank 3, got rank 2}}
  %0:2 = kvc.merge outputs(%o : tensor<?x4xf16>) lses(%l : tensor<?x4xf32>)
      : tensor<?x4xf16>, tensor<?x4xf32>
  return
}

// -----

// merge_c2: dynamic heads or width.
func.func @merge(%o: tensor<?x4x?xf16>, %l: tensor<?x4xf32>) {
  // expected-error@below {{'kvc.merge' op expected static heads and width, got 'tensor<?x4x?xf16>'}}
  %0:2 = kvc.merge outputs(%o : tensor<?x4x?xf16>) lses(%l : tensor<?x4xf32>)
      : tensor<?x4x?xf16>, tensor<?x4xf32>
  return
}

// -----

// merge_c2: no heads.
func.func @merge(%o: tensor<?x0x8xf16>, %l: tensor<?x4xf32>) {
  // expected-error@below {{'kvc.merge' op expected heads times width from 1 to 2147483647, got 'tensor<?x0x8xf16>'}}
  %0:2 = kvc.merge outputs(%o : tensor<?x0x8xf16>) lses(%l : tensor<?x4xf32>)
      : tensor<?x0x8xf16>, tensor<?x4xf32>
  return
}

// -----

// merge_c2: a row whose elements overflow 64 bits.
func.func @merge(%o: tensor<?x4x9223372036854775807xf16>, %l: tensor<?x4xf32>) {
  // expected-error@below {{'kvc.merge' op expected heads times width from 1 to 2147483647, got 'tensor<?x4x9223372036854775807xf16>'}}
  %0:2 = kvc.merge outputs(%o : tensor<?x4x9223372036854775807xf16>) lses(%l : tensor<?x4xf32>)
      : tensor<?x4x9223372036854775807xf16>, tensor<?x4xf32>
  return
}

// -----

// merge_c2: parts have the type of the result.
func.func @merge(%o: tensor<?x4x8xf16>, %l: tensor<?x4xf32>) {
  // expected-error@below {{'kvc.merge' op expected parts of the result's type ('tensor<?x4x8xf32>'), got 'tensor<?x4x8xf16>'}}
  %0:2 = kvc.merge outputs(%o : tensor<?x4x8xf16>) lses(%l : tensor<?x4xf32>)
      : tensor<?x4x8xf32>, tensor<?x4xf32>
  return
}

// -----

// merge_c3: rank of a part's log-sum-exp.
func.func @merge(%o: tensor<?x4x8xf16>, %l: tensor<4xf32>) {
  // expected-error@below {{'kvc.merge' op expected log-sum-exp of rank 2, got rank 1}}
  %0:2 = kvc.merge outputs(%o : tensor<?x4x8xf16>) lses(%l : tensor<4xf32>)
      : tensor<?x4x8xf16>, tensor<?x4xf32>
  return
}

// -----

// merge_c3: heads of a part's log-sum-exp.
func.func @merge(%o: tensor<?x4x8xf16>, %l: tensor<?x3xf32>) {
  // expected-error@below {{'kvc.merge' op expected heads of the log-sum-exp to be 4, got 3}}
  %0:2 = kvc.merge outputs(%o : tensor<?x4x8xf16>) lses(%l : tensor<?x3xf32>)
      : tensor<?x4x8xf16>, tensor<?x4xf32>
  return
}

// -----

// merge_c3: tokens of the result's log-sum-exp.
func.func @merge(%o: tensor<5x4x8xf16>, %l: tensor<5x4xf32>) {
  // expected-error@below {{'kvc.merge' op expected tokens of the log-sum-exp to be 5, got 6}}
  %0:2 = kvc.merge outputs(%o : tensor<5x4x8xf16>) lses(%l : tensor<5x4xf32>)
      : tensor<5x4x8xf16>, tensor<6x4xf32>
  return
}

// -----

// merge_c4: one sink a head.
func.func @merge(%o: tensor<?x4x8xf16>, %l: tensor<?x4xf32>, %s: tensor<8xf32>) {
  // expected-error@below {{'kvc.merge' op expected the number of sinks to be 4, got 8}}
  %0:2 = kvc.merge outputs(%o : tensor<?x4x8xf16>) lses(%l : tensor<?x4xf32>) sinks(%s : tensor<8xf32>)
      : tensor<?x4x8xf16>, tensor<?x4xf32>
  return
}

// -----

// rope_c1: rank.
func.func @rope(%x: tensor<?x8xf16>, %batch: !kvc.batch) {
  // expected-error@below {{'kvc.rope' op expected input of rank 3, got rank 2}}
  %0 = kvc.rope %x at %batch {theta = 1.0e4 : f64, rotary_width = 8 : i64} : tensor<?x8xf16>
  return
}

// -----

// rope_c1: a dynamic number of heads.
func.func @rope(%x: tensor<?x?x8xf16>, %batch: !kvc.batch) {
  // expected-error@below {{'kvc.rope' op expected static heads and width, got 'tensor<?x?x8xf16>'}}
  %0 = kvc.rope %x at %batch {theta = 1.0e4 : f64, rotary_width = 8 : i64} : tensor<?x?x8xf16>
  return
}

// -----

// rope_c1: a row whose elements overflow 32 bits.
func.func @rope(%x: tensor<?x268435456x8xf16>, %batch: !kvc.batch) {
  // expected-error@below {{'kvc.rope' op expected heads times width from 1 to 2147483647, got 'tensor<?x268435456x8xf16>'}}
  %0 = kvc.rope %x at %batch {theta = 1.0e4 : f64, rotary_width = 8 : i64} : tensor<?x268435456x8xf16>
  return
}

// -----

// rope_c2: a rotary width that is odd.
func.func @rope(%x: tensor<?x4x8xf16>, %batch: !kvc.batch) {
  // expected-error@below {{'kvc.rope' op expected an even rotary width from 2 to the width (8), got 7}}
  %0 = kvc.rope %x at %batch {theta = 1.0e4 : f64, rotary_width = 7 : i64} : tensor<?x4x8xf16>
  return
}

// -----

// rope_c2: a rotary width that is zero.
func.func @rope(%x: tensor<?x4x8xf16>, %batch: !kvc.batch) {
  // expected-error@below {{'kvc.rope' op expected an even rotary width from 2 to the width (8), got 0}}
  %0 = kvc.rope %x at %batch {theta = 1.0e4 : f64, rotary_width = 0 : i64} : tensor<?x4x8xf16>
  return
}

// -----

// rope_c2: a rotary width that is negative.
func.func @rope(%x: tensor<?x4x8xf16>, %batch: !kvc.batch) {
  // expected-error@below {{'kvc.rope' op expected an even rotary width from 2 to the width (8), got -2}}
  %0 = kvc.rope %x at %batch {theta = 1.0e4 : f64, rotary_width = -2 : i64} : tensor<?x4x8xf16>
  return
}

// -----

// rope_c2: a rotary width that is beyond the width.
func.func @rope(%x: tensor<?x4x8xf16>, %batch: !kvc.batch) {
  // expected-error@below {{'kvc.rope' op expected an even rotary width from 2 to the width (8), got 10}}
  %0 = kvc.rope %x at %batch {theta = 1.0e4 : f64, rotary_width = 10 : i64} : tensor<?x4x8xf16>
  return
}

// -----

// rope_c3: neither theta nor frequencies.
func.func @rope(%x: tensor<?x4x8xf16>, %batch: !kvc.batch) {
  // expected-error@below {{'kvc.rope' op expected either theta or frequencies, got neither}}
  %0 = kvc.rope %x at %batch {rotary_width = 8 : i64} : tensor<?x4x8xf16>
  return
}

// -----

// rope_c3: both.
func.func @rope(%x: tensor<?x4x8xf16>, %batch: !kvc.batch, %f: tensor<4xf32>) {
  // expected-error@below {{'kvc.rope' op expected either theta or frequencies, got both}}
  %0 = kvc.rope %x at %batch frequencies(%f : tensor<4xf32>) {theta = 1.0e4 : f64, rotary_width = 8 : i64} : tensor<?x4x8xf16>
  return
}

// -----

// rope_c3: theta of 0.
func.func @rope(%x: tensor<?x4x8xf16>, %batch: !kvc.batch) {
  // expected-error@below {{'kvc.rope' op expected a finite theta above 0, got 0.000000e+00 : f64}}
  %0 = kvc.rope %x at %batch {theta = 0.0 : f64, rotary_width = 8 : i64} : tensor<?x4x8xf16>
  return
}

// -----

// rope_c3: an infinite theta.
func.func @rope(%x: tensor<?x4x8xf16>, %batch: !kvc.batch) {
  // expected-error@below {{'kvc.rope' op expected a finite theta above 0, got 0x7FF0000000000000 : f64}}
  %0 = kvc.rope %x at %batch {theta = 0x7FF0000000000000 : f64, rotary_width = 8 : i64} : tensor<?x4x8xf16>
  return
}

// -----

// rope_c3: rank of the frequencies.
func.func @rope(%x: tensor<?x4x8xf16>, %batch: !kvc.batch, %f: tensor<4x1xf32>) {
  // expected-error@below {{'kvc.rope' op expected frequencies of rank 1, got rank 2}}
  %0 = kvc.rope %x at %batch frequencies(%f : tensor<4x1xf32>) {rotary_width = 8 : i64} : tensor<?x4x8xf16>
  return
}

// -----

// rope_c3: one frequency a pair.
func.func @rope(%x: tensor<?x4x8xf16>, %batch: !kvc.batch, %f: tensor<4xf32>) {
  // expected-error@below {{'kvc.rope' op expected the number of frequencies to be 2, got 4}}
  %0 = kvc.rope %x at %batch frequencies(%f : tensor<4xf32>) {rotary_width = 4 : i64} : tensor<?x4x8xf16>
  return
}

// -----

// cache_from_buffers_c1: a buffer a component.
func.func @cache_from_buffers(%b0: memref<?x16x2x8xf16>) {
  // expected-error@below {{'kvc.cache_from_buffers' op expected 2 buffers, got 1}}
  %0 = kvc.cache_from_buffers %b0 order nhd : memref<?x16x2x8xf16>
      -> !kvc.cache<page = 16, k: 2x8xf16, v: 2x8xf16>
  return
}

// -----

// cache_from_buffers_c1: one fused buffer.
func.func @cache_from_buffers(%b0: memref<?x2x16x2x8xf16>, %b1: memref<?x2x16x2x8xf16>) {
  // expected-error@below {{'kvc.cache_from_buffers' op expected 1 fused buffer, got 2}}
  %0 = kvc.cache_from_buffers %b0, %b1 order nhd fused : memref<?x2x16x2x8xf16>, memref<?x2x16x2x8xf16>
      -> !kvc.cache<page = 16, k: 2x8xf16, v: 2x8xf16>
  return
}

// -----

// cache_from_buffers_c2: rank.
func.func @cache_from_buffers(%b0: memref<?x16x16xf16>) {
  // expected-error@below {{'kvc.cache_from_buffers' op expected buffer of component 'k' to be 'memref<?x16x2x8xf16>', got 'memref<?x16x16xf16>'}}
  %0 = kvc.cache_from_buffers %b0 order nhd : memref<?x16x16xf16>
      -> !kvc.cache<page = 16, k: 2x8xf16>
  return
}

// -----

// cache_from_buffers_c2: page.
func.func @cache_from_buffers(%b0: memref<?x32x2x8xf16>) {
  // expected-error@below {{'kvc.cache_from_buffers' op expected buffer of component 'k' to be 'memref<?x16x2x8xf16>', got 'memref<?x32x2x8xf16>'}}
  %0 = kvc.cache_from_buffers %b0 order nhd : memref<?x32x2x8xf16>
      -> !kvc.cache<page = 16, k: 2x8xf16>
  return
}

// -----

// cache_from_buffers_c2: heads.
func.func @cache_from_buffers(%b0: memref<?x16x4x8xf16>) {
  // expected-error@below {{'kvc.cache_from_buffers' op expected buffer of component 'k' to be 'memref<?x16x2x8xf16>', got 'memref<?x16x4x8xf16>'}}
  %0 = kvc.cache_from_buffers %b0 order nhd : memref<?x16x4x8xf16>
      -> !kvc.cache<page = 16, k: 2x8xf16>
  return
}

// -----

// cache_from_buffers_c2: a dynamic width.
func.func @cache_from_buffers(%b0: memref<?x16x2x?xf16>) {
  // expected-error@below {{'kvc.cache_from_buffers' op expected buffer of component 'k' to be 'memref<?x16x2x8xf16>', got 'memref<?x16x2x?xf16>'}}
  %0 = kvc.cache_from_buffers %b0 order nhd : memref<?x16x2x?xf16>
      -> !kvc.cache<page = 16, k: 2x8xf16>
  return
}

// -----

// cache_from_buffers_c2: element type.
func.func @cache_from_buffers(%b0: memref<?x16x2x8xbf16>) {
  // expected-error@below {{'kvc.cache_from_buffers' op expected buffer of component 'k' to be 'memref<?x16x2x8xf16>', got 'memref<?x16x2x8xbf16>'}}
  %0 = kvc.cache_from_buffers %b0 order nhd : memref<?x16x2x8xbf16>
      -> !kvc.cache<page = 16, k: 2x8xf16>
  return
}

// -----

// cache_from_buffers_c2: the order says where the heads are.
func.func @cache_from_buffers(%b0: memref<?x16x2x8xf16>) {
  // expected-error@below {{'kvc.cache_from_buffers' op expected buffer of component 'k' to be 'memref<?x2x16x8xf16>', got 'memref<?x16x2x8xf16>'}}
  %0 = kvc.cache_from_buffers %b0 order hnd : memref<?x16x2x8xf16>
      -> !kvc.cache<page = 16, k: 2x8xf16>
  return
}

// -----

// cache_from_buffers_c2: a fused buffer counts the components.
func.func @cache_from_buffers(%b0: memref<?x3x16x2x8xf16>) {
  // expected-error@below {{'kvc.cache_from_buffers' op expected buffer of component 'k' to be 'memref<?x2x16x2x8xf16>', got 'memref<?x3x16x2x8xf16>'}}
  %0 = kvc.cache_from_buffers %b0 order nhd fused : memref<?x3x16x2x8xf16>
      -> !kvc.cache<page = 16, k: 2x8xf16, v: 2x8xf16>
  return
}

// -----

// cache_from_buffers_c2: innermost stride.
func.func @cache_from_buffers(%b0: memref<?x16x2x8xf16, strided<[256, 16, 8, 2]>>) {
  // expected-error@below {{'kvc.cache_from_buffers' op expected innermost stride 1 of buffer of component 'k', got 'memref<?x16x2x8xf16, strided<[256, 16, 8, 2]>>'}}
  %0 = kvc.cache_from_buffers %b0 order nhd : memref<?x16x2x8xf16, strided<[256, 16, 8, 2]>>
      -> !kvc.cache<page = 16, k: 2x8xf16>
  return
}

// -----

// cache_from_buffers_c2: a layout without strides.
func.func @cache_from_buffers(%b0: memref<?x16x2x8xf16, affine_map<(a, b, c, d) -> (a, b, c, d mod 4)>>) {
  // expected-error@below {{'kvc.cache_from_buffers' op expected innermost stride 1 of buffer of component 'k', got}}
  %0 = kvc.cache_from_buffers %b0 order nhd : memref<?x16x2x8xf16, affine_map<(a, b, c, d) -> (a, b, c, d mod 4)>>
      -> !kvc.cache<page = 16, k: 2x8xf16>
  return
}

// -----

// cache_from_buffers_c3: row-major components.
func.func @cache_from_buffers(%b0: memref<?x16x2x8xf16>) {
  // expected-error@below {{'kvc.cache_from_buffers' op expected row-major components, got layout packed_key of component 'k'}}
  %0 = kvc.cache_from_buffers %b0 order nhd : memref<?x16x2x8xf16>
      -> !kvc.cache<page = 16, k: 2x8xf16 layout<packed_key>>
  return
}

// -----

// cache_from_buffers_c3: fused components of one shape.
func.func @cache_from_buffers(%b0: memref<?x2x16x2x8xf16>) {
  // expected-error@below {{'kvc.cache_from_buffers' op expected fused components of one shape and element type, got 'k' and 'v' that differ}}
  %0 = kvc.cache_from_buffers %b0 order nhd fused : memref<?x2x16x2x8xf16>
      -> !kvc.cache<page = 16, k: 2x8xf16, v: 2x16xf16>
  return
}

// -----

// The order is one of two words.
func.func @cache_from_buffers(%b0: memref<?x16x2x8xf16>) {
  // expected-error@below {{expected order 'nhd' or 'hnd', got 'dhn'}}
  %0 = kvc.cache_from_buffers %b0 order dhn : memref<?x16x2x8xf16>
      -> !kvc.cache<page = 16, k: 2x8xf16>
  return
}

// -----

// batch_from_block_table_c1: a negative bound.
func.func @batch(%i: tensor<?xi32>, %t: tensor<?x?xi32>, %s: tensor<?xi64>) {
  // expected-error@below {{'kvc.batch_from_block_table' op expected max_query_len from 0 to 2147483647, got -1}}
  %0 = kvc.batch_from_block_table %i, %i, %t, %s, %i
      max_query_len -1 max_kv_len 1 : tensor<?xi32>, tensor<?xi32>, tensor<?x?xi32>, tensor<?xi64>, tensor<?xi32>
  return
}

// -----

// batch_from_block_table_c1: a bound of 2^31.
func.func @batch(%i: tensor<?xi32>, %t: tensor<?x?xi32>, %s: tensor<?xi64>) {
  // expected-error@below {{'kvc.batch_from_block_table' op expected max_kv_len from 0 to 2147483647, got 2147483648}}
  %0 = kvc.batch_from_block_table %i, %i, %t, %s, %i
      max_query_len 1 max_kv_len 2147483648 : tensor<?xi32>, tensor<?xi32>, tensor<?x?xi32>, tensor<?xi64>, tensor<?xi32>
  return
}

// -----

// batch_from_csr_c1: a negative bound.
func.func @batch(%i: tensor<?xi32>, %t: tensor<?x?xi32>, %s: tensor<?xi64>) {
  // expected-error@below {{'kvc.batch_from_csr' op expected max_query_len from 0 to 2147483647, got -1}}
  %0 = kvc.batch_from_csr %i, %i, %i, %i, %s, %i
      max_query_len -1 max_kv_len 1 : tensor<?xi32>, tensor<?xi32>, tensor<?xi32>, tensor<?xi32>, tensor<?xi64>,
        tensor<?xi32>
  return
}

// -----

// batch_from_csr_c1: a bound of 2^31.
func.func @batch(%i: tensor<?xi32>, %t: tensor<?x?xi32>, %s: tensor<?xi64>) {
  // expected-error@below {{'kvc.batch_from_csr' op expected max_kv_len from 0 to 2147483647, got 2147483648}}
  %0 = kvc.batch_from_csr %i, %i, %i, %i, %s, %i
      max_query_len 1 max_kv_len 2147483648 : tensor<?xi32>, tensor<?xi32>, tensor<?xi32>, tensor<?xi32>, tensor<?xi64>,
        tensor<?xi32>
  return
}

// -----

// A bound that 64 bits do not hold.
func.func @batch(%i: tensor<?xi32>, %t: tensor<?x?xi32>, %s: tensor<?xi64>) {
  %0 = kvc.batch_from_csr %i, %i, %i, %i, %s, %i
    // expected-error@below {{integer value too large}}
      max_query_len 99999999999999999999 max_kv_len 1 : tensor<?xi32>, tensor<?xi32>, tensor<?xi32>, tensor<?xi32>, tensor<?xi64>,
        tensor<?xi32>
  return
}

// -----

// cache_c1: no tokens a page.
// expected-error@below {{expected page size to be at least 1, got 0}}
func.func private @cache(!kvc.cache<page = 0, k: 2x8xf16>)

// -----

// cache_c1: a negative page size.
// expected-error@below {{expected page size to be at least 1, got -16}}
func.func private @cache(!kvc.cache<page = -16, k: 2x8xf16>)

// -----

// cache_c1: a page size of 2^31.
// expected-error@below {{expected page size to be at most 2147483647, got 2147483648}}
func.func private @cache(!kvc.cache<page = 2147483648, k: 2x8xf16>)

// -----

// cache_c2: no components.
// expected-error@below {{expected 1 to 8 components, got 0}}
func.func private @cache(!kvc.cache<page = 16>)

// -----

// cache_c2: nine components.
// expected-error@below {{expected 1 to 8 components, got 9}}
func.func private @cache(!kvc.cache<page = 16, a: 1x8xf16, b: 1x8xf16, c: 1x8xf16, d: 1x8xf16, e: 1x8xf16, f: 1x8xf16, g: 1x8xf16, h: 1x8xf16, i: 1x8xf16>)

// -----

// cache_c2: a name twice.
// expected-error@below {{expected distinct component names, got 'k' twice}}
func.func private @cache(!kvc.cache<page = 16, k: 2x8xf16, "k": 2x8xf16>)

// -----

// cache_c2: an empty name.
// expected-error@below {{expected a component name of 1 to 15 characters, got ''}}
func.func private @cache(!kvc.cache<page = 16, "": 2x8xf16>)

// -----

// cache_c2: a name of 16 characters.
// expected-error@below {{expected a component name of 1 to 15 characters, got 'sixteen_letters_'}}
func.func private @cache(!kvc.cache<page = 16, sixteen_letters_: 2x8xf16>)

// -----

// cache_c2: a name that would end before its end.
// expected-error@below {{expected a component name without NUL, got "k\00v"}}
func.func private @cache(!kvc.cache<page = 16, "k\00v": 2x8xf16>)

// -----

// cache_c3: no heads.
// expected-error@below {{expected component 'k' to have at least 1 head, got 0}}
func.func private @cache(!kvc.cache<page = 16, k: 0x8xf16>)

// -----

// cache_c3: 2^31 heads.
// expected-error@below {{expected component 'k' to have at most 2147483647 heads, got 2147483648}}
func.func private @cache(!kvc.cache<page = 16, k: 2147483648x8xf16>)

// -----

// cache_c3: a width of 0.
// expected-error@below {{expected component 'k' to have a width that is a multiple of 8 from 8 to 576, got 0}}
func.func private @cache(!kvc.cache<page = 16, k: 1x0xf16>)

// -----

// cache_c3: a width of 12.
// expected-error@below {{expected component 'k' to have a width that is a multiple of 8 from 8 to 576, got 12}}
func.func private @cache(!kvc.cache<page = 16, k: 1x12xf16>)

// -----

// cache_c3: a width of 584.
// expected-error@below {{expected component 'k' to have a width that is a multiple of 8 from 8 to 576, got 584}}
func.func private @cache(!kvc.cache<page = 16, k: 1x584xf16>)

// -----

// component_c1: elements of f64.
// expected-error@below {{expected component 'k' to have elements of f32, f16, bf16, f8E4M3FN, f8E5M2, i8 or i4, got 'f64'}}
func.func private @cache(!kvc.cache<page = 16, k: 1x8xf64>)

// -----

// component_c1: elements of vector<2xf16>.
// expected-error@below {{expected component 'k' to have elements of f32, f16, bf16, f8E4M3FN, f8E5M2, i8 or i4, got 'vector<2xf16>'}}
func.func private @cache(!kvc.cache<page = 16, k: 1x8xvector<2xf16>>)

// -----

// component_c1: elements of i16.
// expected-error@below {{expected component 'k' to have elements of f32, f16, bf16, f8E4M3FN, f8E5M2, i8 or i4, got 'i16'}}
func.func private @cache(!kvc.cache<page = 16, k: 1x8xi16 scale<f32>>)

// -----

// component_c1: scales of f16.
// expected-error@below {{expected no scales of component 'k', whose elements are 'f16'}}
func.func private @cache(!kvc.cache<page = 16, k: 1x8xf16 scale<f32, token>>)

// -----

// component_c1: i8 without scales.
// expected-error@below {{expected scale<...> of component 'k', whose elements are 'i8'}}
func.func private @cache(!kvc.cache<page = 16, k: 1x8xi8>)

// -----

// component_c1: i4 without scales.
// expected-error@below {{expected scale<...> of component 'k', whose elements are 'i4'}}
func.func private @cache(!kvc.cache<page = 16, k: 1x8xi4>)

// -----

// component_c2: a zero point of i8.
// expected-error@below {{expected no zero point of component 'k': it is for elements of i4, got 'i8'}}
func.func private @cache(!kvc.cache<page = 16, k: 1x8xi8 scale<f32, token, zero_point>>)

// -----

// component_c2: a zero point of f8.
// expected-error@below {{expected no zero point of component 'k': it is for elements of i4, got 'f8E4M3FN'}}
func.func private @cache(!kvc.cache<page = 16, k: 1x8xf8E4M3FN scale<f32, group = 32, zero_point>>)

// -----

// component_c3: lanes of f16.
// expected-error@below {{expected elements of 8 or 4 bits of component 'k' in layout lane_key, got 'f16'}}
func.func private @cache(!kvc.cache<page = 16, k: 1x8xf16 layout<lane_key>>)

// -----

// scale_c1: scales of bf16.
// expected-error@below {{expected scales of type f32 or f16, got 'bf16'}}
func.func private @cache(!kvc.cache<page = 16, k: 1x8xi8 scale<bf16, token>>)

// -----

// scale_c2: scales per tensor of an append.
// expected-error@below {{expected scales per tensor to be static: an append may not change what the tokens before it stand for}}
func.func private @cache(!kvc.cache<page = 16, k: 1x8xi8 scale<f32, tensor>>)

// -----

// scale_c2: scales per head of an append.
// expected-error@below {{expected scales per head to be static: an append may not change what the tokens before it stand for}}
func.func private @cache(!kvc.cache<page = 16, k: 1x8xi8 scale<f32, head>>)

// -----

// scale_c2: static scales per token.
// expected-error@below {{expected scales per token to be computed at append, got static}}
func.func private @cache(!kvc.cache<page = 16, k: 1x8xi8 scale<f32, token, static>>)

// -----

// scale_c3: groups of 16.
// expected-error@below {{expected groups of 32, 64 or 128 elements, got 16}}
func.func private @cache(!kvc.cache<page = 16, k: 1x64xi8 scale<f32, group = 16>>)

// -----

// scale_c4: a constant of scales per head.
// expected-error@below {{expected a constant scale to be per tensor and without zero point}}
func.func private @cache(!kvc.cache<page = 16, k: 1x8xi8 scale<f32, head, static = 0.5>>)

// -----

// scale_c4: a constant with a zero point.
// expected-error@below {{expected a constant scale to be per tensor and without zero point}}
func.func private @cache(!kvc.cache<page = 16, k: 1x8xi4 scale<f32, tensor, static = 0.5, zero_point>>)

// -----

// scale_c4: a constant of 0.
// expected-error@below {{expected a constant scale that is finite and above 0 in f32, got 0.000000e+00}}
func.func private @cache(!kvc.cache<page = 16, k: 1x8xi8 scale<f32, tensor, static = 0.0>>)

// -----

// scale_c4: a negative constant.
// expected-error@below {{expected a constant scale that is finite and above 0 in f32, got -1.000000e+00}}
func.func private @cache(!kvc.cache<page = 16, k: 1x8xi8 scale<f32, tensor, static = -1.0>>)

// -----

// scale_c4: a constant that f32 does not hold.
// expected-error@below {{expected a constant scale that is finite and above 0 in f32, got 0x7F800000}}
func.func private @cache(!kvc.cache<page = 16, k: 1x8xi8 scale<f32, tensor, static = 1.0e39>>)

// -----

// a word that scales do not have.
// expected-error@below {{expected 'tensor', 'head', 'token', 'group', 'static' or 'zero_point', got 'channel'}}
func.func private @cache(!kvc.cache<page = 16, k: 1x8xi8 scale<f32, channel>>)

// -----

// cache_c6: 9 arrays.
// expected-error@below {{expected at most 8 arrays, scales and zero points included, got 9}}
func.func private @cache(!kvc.cache<page = 16, a: 1x8xi4 scale<f32, zero_point>, b: 1x8xi4 scale<f32, zero_point>, c: 1x8xi4 scale<f32, zero_point>>)

// -----

// cache_c6: a component called as another's scales.
// expected-error@below {{expected distinct names of arrays, got 'k.scale' twice}}
func.func private @cache(!kvc.cache<page = 16, k: 1x8xi8 scale<f32>, "k.scale": 1x8xf16>)

// -----

// cache_c6: a name of 10 characters, whose scales have 16.
// expected-error@below {{expected a name of at most 15 characters for an array of component 'abcdefghij', got 'abcdefghij.scale'}}
func.func private @cache(!kvc.cache<page = 16, abcdefghij: 1x8xi8 scale<f32>>)

// -----

// cache_c5: a page of whole blocks of packed_key.
// expected-error@below {{expected page size to be a multiple of 16 for layout packed_key of component 'k', got 24}}
func.func private @cache(!kvc.cache<page = 24, k: 1x8xf16 layout<packed_key>>)

// -----

// cache_c5: a page of whole blocks of packed_value.
// expected-error@below {{expected page size to be a multiple of 16 for layout packed_value of component 'k', got 24}}
func.func private @cache(!kvc.cache<page = 24, k: 1x8xf16 layout<packed_value>>)

// -----

// A component has two dimensions.
// expected-error@below {{expected component 'k' to be heads x width x element, got 1 dimensions}}
func.func private @cache(!kvc.cache<page = 16, k: 8xf16>)

// -----

// A component has static dimensions.
// expected-error@below {{expected static shape}}
func.func private @cache(!kvc.cache<page = 16, k: ?x8xf16>)

// -----

// A layout is one of three words.
// expected-error@below {{expected layout 'row_major', 'packed_key', 'packed_value' or 'lane_key', got 'nhd'}}
func.func private @cache(!kvc.cache<page = 16, k: 1x8xf16 layout<nhd>>)

// -----

// Scales are shared in one of four ways.
// expected-error@below {{expected 'tensor', 'head', 'token', 'group', 'static' or 'zero_point', got 'page'}}
func.func private @cache(!kvc.cache<page = 16, k: 1x8xf16 scale<f32, page>>)

// -----

// Scales are floats.
// expected-error@below {{expected scales of type f32 or f16, got 'i8'}}
module attributes {test.a = #kvc.scale<i8>} {}

// -----

// A group has elements.
// expected-error@below {{expected groups of 32, 64 or 128 elements, got 0}}
module attributes {test.a = #kvc.scale<f32, group = 0>} {}

// -----

// window: a size of 0.
// expected-error@below {{expected a window of 1 to 2147483647 keys, got 0}}
module attributes {test.a = #kvc.window<0>} {}

// -----

// window: a size of -1.
// expected-error@below {{expected a window of 1 to 2147483647 keys, got -1}}
module attributes {test.a = #kvc.window<-1>} {}

// -----

// window: a size of 2147483648.
// expected-error@below {{expected a window of 1 to 2147483647 keys, got 2147483648}}
module attributes {test.a = #kvc.window<2147483648>} {}

// -----

// softcap: 0.
// expected-error@below {{expected a softcap from 1e-30 to 1e30, got 0.000000e+00}}
module attributes {test.a = #kvc.softcap<0.0>} {}

// -----

// softcap: negative.
// expected-error@below {{expected a softcap from 1e-30 to 1e30, got -1.000000e+00}}
module attributes {test.a = #kvc.softcap<-1.0>} {}

// -----

// softcap: too small for f32.
// expected-error@below {{expected a softcap from 1e-30 to 1e30, got 1.000000e-31}}
module attributes {test.a = #kvc.softcap<1.0e-31>} {}

// -----

// softcap: too large for f32.
// expected-error@below {{expected a softcap from 1e-30 to 1e30, got 1.000000e+31}}
module attributes {test.a = #kvc.softcap<1.0e31>} {}

// -----

// softcap: infinite.
// expected-error@below {{expected a softcap from 1e-30 to 1e30, got INF}}
module attributes {test.a = #kvc.softcap<0x7FF0000000000000>} {}

// -----

// softcap: no number.
// expected-error@below {{expected a softcap from 1e-30 to 1e30, got nan}}
module attributes {test.a = #kvc.softcap<0x7FF8000000000000>} {}

// -----

// register_tile: 0 rows, 1 and 1 vectors.
// expected-error@below {{expected 1 to 32 rows, got 0}}
module attributes {test.a = #kvc.register_tile<rows = 0, key_vectors = 1, value_vectors = 1>} {}

// -----

// register_tile: 33 rows, 1 and 1 vectors.
// expected-error@below {{expected 1 to 32 rows, got 33}}
module attributes {test.a = #kvc.register_tile<rows = 33, key_vectors = 1, value_vectors = 1>} {}

// -----

// register_tile: 1 rows, 0 and 1 vectors.
// expected-error@below {{expected 1 to 16 key_vectors, got 0}}
module attributes {test.a = #kvc.register_tile<rows = 1, key_vectors = 0, value_vectors = 1>} {}

// -----

// register_tile: 1 rows, 17 and 1 vectors.
// expected-error@below {{expected 1 to 16 key_vectors, got 17}}
module attributes {test.a = #kvc.register_tile<rows = 1, key_vectors = 17, value_vectors = 1>} {}

// -----

// register_tile: 1 rows, 1 and 0 vectors.
// expected-error@below {{expected 1 to 16 value_vectors, got 0}}
module attributes {test.a = #kvc.register_tile<rows = 1, key_vectors = 1, value_vectors = 0>} {}

// -----

// register_tile: 1 rows, 1 and 17 vectors.
// expected-error@below {{expected 1 to 16 value_vectors, got 17}}
module attributes {test.a = #kvc.register_tile<rows = 1, key_vectors = 1, value_vectors = 17>} {}

// -----

// register_tile: 32 rows, 16 and 1 vectors.
// expected-error@below {{expected rows times vectors to be at most 128, got 512}}
module attributes {test.a = #kvc.register_tile<rows = 32, key_vectors = 16, value_vectors = 1>} {}

// -----

// register_tile: rows of tiles have rows beside them.
// expected-error@below {{expected at most 8 rows and 4 vectors for bf16_tile products, got 12 rows, 4 key_vectors and 4 value_vectors}}
module attributes {test.a = #kvc.register_tile<rows = 12, key_vectors = 4, value_vectors = 4, products = bf16_tile>} {}

// -----

// register_tile: 32 rows, 1 and 5 vectors.
// expected-error@below {{expected rows times vectors to be at most 128, got 160}}
module attributes {test.a = #kvc.register_tile<rows = 32, key_vectors = 1, value_vectors = 5>} {}

// -----

// cpu_schedule: lanes of no vector.
// expected-error@below {{expected 4, 8 or 16 lanes, got 32}}
module attributes {test.a = #kvc.cpu_schedule<lanes = 32, tile = 64,
    decode = <rows = 1, key_vectors = 4, value_vectors = 1>,
    prefill = <rows = 1, key_vectors = 4, value_vectors = 1>, query_tokens = 1, split = 64>} {}

// -----

// cpu_schedule: bf16_dot has vectors of 16.
// expected-error@below {{expected 16 lanes for bf16_dot products, got 8}}
module attributes {test.a = #kvc.cpu_schedule<lanes = 8, tile = 64,
    decode = <rows = 1, key_vectors = 4, value_vectors = 1, products = bf16_dot>,
    prefill = <rows = 1, key_vectors = 4, value_vectors = 1, products = bf16_dot>, query_tokens = 1, split = 64>} {}

// -----

// cpu_schedule: a tile of 0.
// expected-error@below {{expected a tile that is a multiple of 16 up to 1024, got 0}}
module attributes {test.a = #kvc.cpu_schedule<lanes = 16, tile = 0,
    decode = <rows = 1, key_vectors = 4, value_vectors = 1>,
    prefill = <rows = 1, key_vectors = 4, value_vectors = 1>, query_tokens = 1, split = 1040>} {}

// -----

// cpu_schedule: a tile of 24.
// expected-error@below {{expected a tile that is a multiple of 16 up to 1024, got 24}}
module attributes {test.a = #kvc.cpu_schedule<lanes = 16, tile = 24,
    decode = <rows = 1, key_vectors = 4, value_vectors = 1>,
    prefill = <rows = 1, key_vectors = 4, value_vectors = 1>, query_tokens = 1, split = 1040>} {}

// -----

// cpu_schedule: a tile of 1040.
// expected-error@below {{expected a tile that is a multiple of 16 up to 1024, got 1040}}
module attributes {test.a = #kvc.cpu_schedule<lanes = 16, tile = 1040,
    decode = <rows = 1, key_vectors = 4, value_vectors = 1>,
    prefill = <rows = 1, key_vectors = 4, value_vectors = 1>, query_tokens = 1, split = 1040>} {}

// -----

// cpu_schedule: a tile holds whole register tiles.
// expected-error@below {{expected key_vectors to divide the 4 vectors of a tile, got 3}}
module attributes {test.a = #kvc.cpu_schedule<lanes = 16, tile = 64,
    decode = <rows = 1, key_vectors = 3, value_vectors = 1>,
    prefill = <rows = 1, key_vectors = 3, value_vectors = 1>, query_tokens = 1, split = 64>} {}

// -----

// cpu_schedule: 0 query tokens.
// expected-error@below {{expected 1 to 4096 query_tokens, got 0}}
module attributes {test.a = #kvc.cpu_schedule<lanes = 16, tile = 64,
    decode = <rows = 1, key_vectors = 4, value_vectors = 1>,
    prefill = <rows = 1, key_vectors = 4, value_vectors = 1>, query_tokens = 0, split = 64>} {}

// -----

// cpu_schedule: 4097 query tokens.
// expected-error@below {{expected 1 to 4096 query_tokens, got 4097}}
module attributes {test.a = #kvc.cpu_schedule<lanes = 16, tile = 64,
    decode = <rows = 1, key_vectors = 4, value_vectors = 1>,
    prefill = <rows = 1, key_vectors = 4, value_vectors = 1>, query_tokens = 4097, split = 64>} {}

// -----

// cpu_schedule: a split of 0.
// expected-error@below {{expected a split that is a multiple of the tile (64) up to 16777216, got 0}}
module attributes {test.a = #kvc.cpu_schedule<lanes = 16, tile = 64,
    decode = <rows = 1, key_vectors = 4, value_vectors = 1>,
    prefill = <rows = 1, key_vectors = 4, value_vectors = 1>, query_tokens = 1, split = 0>} {}

// -----

// cpu_schedule: a split of 96.
// expected-error@below {{expected a split that is a multiple of the tile (64) up to 16777216, got 96}}
module attributes {test.a = #kvc.cpu_schedule<lanes = 16, tile = 64,
    decode = <rows = 1, key_vectors = 4, value_vectors = 1>,
    prefill = <rows = 1, key_vectors = 4, value_vectors = 1>, query_tokens = 1, split = 96>} {}

// -----

// cpu_schedule: a split of 33554432.
// expected-error@below {{expected a split that is a multiple of the tile (64) up to 16777216, got 33554432}}
module attributes {test.a = #kvc.cpu_schedule<lanes = 16, tile = 64,
    decode = <rows = 1, key_vectors = 4, value_vectors = 1>,
    prefill = <rows = 1, key_vectors = 4, value_vectors = 1>, query_tokens = 1, split = 33554432>} {}

// -----

// gpu_stream: 8 rows of heads.
// expected-error@below {{expected rows of form heads_m to be a multiple of 16 up to 128, got 8}}
module attributes {test.a = #kvc.gpu_stream<form = heads_m, rows = 8, keys = 64, stages = 2,
    warps = 4, query_tokens = 1>} {}

// -----

// gpu_stream: 12 rows beside tokens.
// expected-error@below {{expected rows of form tokens_m to be a multiple of 8 up to 128, got 12}}
module attributes {test.a = #kvc.gpu_stream<form = tokens_m, rows = 12, keys = 64, stages = 2,
    warps = 4, query_tokens = 1>} {}

// -----

// gpu_stream: 32 rows on 4 warps.
// expected-error@below {{expected rows of form rows to be a multiple of 64 up to 128, got 32}}
module attributes {test.a = #kvc.gpu_stream<form = rows, rows = 32, keys = 64, stages = 2,
    warps = 4, query_tokens = 1>} {}

// -----

// gpu_stream: 144 rows.
// expected-error@below {{expected rows of form columns to be a multiple of 16 up to 128, got 144}}
module attributes {test.a = #kvc.gpu_stream<form = columns, rows = 144, keys = 64, stages = 2,
    warps = 4, query_tokens = 1>} {}

// -----

// gpu_stream: no rows.
// expected-error@below {{expected rows of form columns to be a multiple of 16 up to 128, got 0}}
module attributes {test.a = #kvc.gpu_stream<form = columns, rows = 0, keys = 64, stages = 2,
    warps = 4, query_tokens = 1>} {}

// -----

// gpu_stream: 96 keys on 4 warps.
// expected-error@below {{expected keys of form heads_m to be a multiple of 64 up to 256, got 96}}
module attributes {test.a = #kvc.gpu_stream<form = heads_m, rows = 16, keys = 96, stages = 2,
    warps = 4, query_tokens = 1>} {}

// -----

// gpu_stream: 24 keys.
// expected-error@below {{expected keys of form columns to be a multiple of 16 up to 256, got 24}}
module attributes {test.a = #kvc.gpu_stream<form = columns, rows = 16, keys = 24, stages = 2,
    warps = 4, query_tokens = 1>} {}

// -----

// gpu_stream: no keys.
// expected-error@below {{expected keys of form rows to be a multiple of 16 up to 256, got 0}}
module attributes {test.a = #kvc.gpu_stream<form = rows, rows = 64, keys = 0, stages = 2,
    warps = 4, query_tokens = 1>} {}

// -----

// gpu_stream: 512 keys.
// expected-error@below {{expected keys of form tokens_m to be a multiple of 64 up to 256, got 512}}
module attributes {test.a = #kvc.gpu_stream<form = tokens_m, rows = 16, keys = 512, stages = 2,
    warps = 4, query_tokens = 1>} {}

// -----

// gpu_stream: 1 stages.
// expected-error@below {{expected 2 to 8 stages, got 1}}
module attributes {test.a = #kvc.gpu_stream<form = heads_m, rows = 16, keys = 64, stages = 1,
    warps = 4, query_tokens = 1>} {}

// -----

// gpu_stream: 9 stages.
// expected-error@below {{expected 2 to 8 stages, got 9}}
module attributes {test.a = #kvc.gpu_stream<form = heads_m, rows = 16, keys = 64, stages = 9,
    warps = 4, query_tokens = 1>} {}

// -----

// gpu_stream: 0 warps.
// expected-error@below {{expected 1, 2, 4 or 8 warps, got 0}}
module attributes {test.a = #kvc.gpu_stream<form = heads_m, rows = 16, keys = 64, stages = 2,
    warps = 0, query_tokens = 1>} {}

// -----

// gpu_stream: 3 warps.
// expected-error@below {{expected 1, 2, 4 or 8 warps, got 3}}
module attributes {test.a = #kvc.gpu_stream<form = heads_m, rows = 16, keys = 64, stages = 2,
    warps = 3, query_tokens = 1>} {}

// -----

// gpu_stream: 16 warps.
// expected-error@below {{expected 1, 2, 4 or 8 warps, got 16}}
module attributes {test.a = #kvc.gpu_stream<form = heads_m, rows = 16, keys = 64, stages = 2,
    warps = 16, query_tokens = 1>} {}

// -----

// gpu_stream: 0 query tokens.
// expected-error@below {{expected 1 to 4096 query_tokens, got 0}}
module attributes {test.a = #kvc.gpu_stream<form = heads_m, rows = 16, keys = 64, stages = 2,
    warps = 4, query_tokens = 0>} {}

// -----

// gpu_stream: 4097 query tokens.
// expected-error@below {{expected 1 to 4096 query_tokens, got 4097}}
module attributes {test.a = #kvc.gpu_stream<form = heads_m, rows = 16, keys = 64, stages = 2,
    warps = 4, query_tokens = 4097>} {}

// -----

// gpu_schedule: a split of 0.
// expected-error@below {{expected a split that is a multiple of the tile (64 keys) up to 16777216, got 0}}
module attributes {test.a = #kvc.gpu_schedule<
    decode = <form = heads_m, rows = 16, keys = 64, stages = 2, warps = 4, query_tokens = 1>,
    prefill = <form = rows, rows = 64, keys = 64, stages = 2, warps = 4, query_tokens = 1>,
    split = 0>} {}

// -----

// gpu_schedule: a split of 96.
// expected-error@below {{expected a split that is a multiple of the tile (64 keys) up to 16777216, got 96}}
module attributes {test.a = #kvc.gpu_schedule<
    decode = <form = heads_m, rows = 16, keys = 64, stages = 2, warps = 4, query_tokens = 1>,
    prefill = <form = rows, rows = 64, keys = 64, stages = 2, warps = 4, query_tokens = 1>,
    split = 96>} {}

// -----

// gpu_schedule: a split of 33554432.
// expected-error@below {{expected a split that is a multiple of the tile (64 keys) up to 16777216, got 33554432}}
module attributes {test.a = #kvc.gpu_schedule<
    decode = <form = heads_m, rows = 16, keys = 64, stages = 2, warps = 4, query_tokens = 1>,
    prefill = <form = rows, rows = 64, keys = 64, stages = 2, warps = 4, query_tokens = 1>,
    split = 33554432>} {}

// -----

// gpu_schedule: a cluster of 3.
// expected-error@below {{expected a cluster of 1, 2, 4 or 8 thread blocks, got 3}}
module attributes {test.a = #kvc.gpu_schedule<
    decode = <form = heads_m, rows = 16, keys = 64, stages = 2, warps = 4, query_tokens = 1>,
    prefill = <form = rows, rows = 64, keys = 64, stages = 2, warps = 4, query_tokens = 1>,
    split = 64, cluster = 3>} {}

// -----

// gpu_schedule: a cluster of what has nothing to merge by.
// expected-error@below {{expected no cluster with decode of form rows, got 2; supported: heads_m, tokens_m, columns}}
module attributes {test.a = #kvc.gpu_schedule<
    decode = <form = rows, rows = 64, keys = 64, stages = 2, warps = 4, query_tokens = 1>,
    prefill = <form = rows, rows = 64, keys = 64, stages = 2, warps = 4, query_tokens = 1>,
    split = 64, cluster = 2>} {}

// -----

// gpu_schedule: a split that is no multiple of the tile of prefill.
// expected-error@below {{expected a split that is a multiple of the tile (128 keys) up to 16777216, got 64}}
module attributes {test.a = #kvc.gpu_schedule<
    decode = <form = heads_m, rows = 16, keys = 64, stages = 2, warps = 4, query_tokens = 1>,
    prefill = <form = rows, rows = 64, keys = 128, stages = 2, warps = 4, query_tokens = 1>,
    split = 64>} {}

// -----

// target: no name.
// expected-error@below {{expected a name, got ''}}
module attributes {test.a = #kvc.target<name = "", kind = gpu, processors = 1,
    bandwidth = 1.0e12, matrix_rates = {bf16 = 1.0e14}, f32_rate = 1.0e13, cache = 1,
    launch = 1.0e-6, shared_per_block = 1024, shared_per_processor = 1024, registers = 1024>} {}

// -----

// target: no processors.
// expected-error@below {{expected 1 to 65536 processors, got 0}}
module attributes {test.a = #kvc.target<name = "g", kind = gpu, processors = 0,
    bandwidth = 1.0e12, matrix_rates = {bf16 = 1.0e14}, f32_rate = 1.0e13, cache = 1,
    launch = 1.0e-6, shared_per_block = 1024, shared_per_processor = 1024, registers = 1024>} {}

// -----

// target: 65537 processors.
// expected-error@below {{expected 1 to 65536 processors, got 65537}}
module attributes {test.a = #kvc.target<name = "g", kind = gpu, processors = 65537,
    bandwidth = 1.0e12, matrix_rates = {bf16 = 1.0e14}, f32_rate = 1.0e13, cache = 1,
    launch = 1.0e-6, shared_per_block = 1024, shared_per_processor = 1024, registers = 1024>} {}

// -----

// target: no bandwidth.
// expected-error@below {{expected bandwidth to be finite and above 0, got 0.000000e+00}}
module attributes {test.a = #kvc.target<name = "g", kind = gpu, processors = 1, bandwidth = 0.0,
    matrix_rates = {bf16 = 1.0e14}, f32_rate = 1.0e13, cache = 1, launch = 1.0e-6,
    shared_per_block = 1024, shared_per_processor = 1024, registers = 1024>} {}

// -----

// target: an f32_rate below 0.
// expected-error@below {{expected f32_rate to be finite and above 0, got -1.000000e+00}}
module attributes {test.a = #kvc.target<name = "c", kind = cpu, processors = 1,
    bandwidth = 1.0e10, f32_rate = -1.0, cache = 1, launch = 0.0>} {}

// -----

// target: an infinite f32_rate.
// expected-error@below {{expected f32_rate to be finite and above 0, got }}
module attributes {test.a = #kvc.target<name = "c", kind = cpu, processors = 1,
    bandwidth = 1.0e10, f32_rate = 1.0e999, cache = 1, launch = 0.0>} {}

// -----

// target: a matrix rate of f32.
// expected-error@below {{expected matrix_rates of bf16 or f16, got f32}}
module attributes {test.a = #kvc.target<name = "g", kind = gpu, processors = 1,
    bandwidth = 1.0e12, matrix_rates = {f32 = 1.0}, f32_rate = 1.0e13, cache = 1,
    launch = 1.0e-6, shared_per_block = 1024, shared_per_processor = 1024, registers = 1024>} {}

// -----

// target: a matrix rate that is an integer.
// expected-error@below {{expected the matrix rate of f16 to be a number of f64, got 1 : i64}}
module attributes {test.a = #kvc.target<name = "g", kind = gpu, processors = 1,
    bandwidth = 1.0e12, matrix_rates = {f16 = 1 : i64}, f32_rate = 1.0e13, cache = 1,
    launch = 1.0e-6, shared_per_block = 1024, shared_per_processor = 1024, registers = 1024>} {}

// -----

// target: a matrix rate of 0.
// expected-error@below {{expected the matrix rate of f16 to be finite and above 0, got 0.000000e+00}}
module attributes {test.a = #kvc.target<name = "g", kind = gpu, processors = 1,
    bandwidth = 1.0e12, matrix_rates = {f16 = 0.0}, f32_rate = 1.0e13, cache = 1,
    launch = 1.0e-6, shared_per_block = 1024, shared_per_processor = 1024, registers = 1024>} {}

// -----

// target: a launch before the last.
// expected-error@below {{expected launch to be finite and at least 0, got -1.000000e+00}}
module attributes {test.a = #kvc.target<name = "g", kind = gpu, processors = 1,
    bandwidth = 1.0e12, matrix_rates = {bf16 = 1.0e14}, f32_rate = 1.0e13, cache = 1,
    launch = -1.0, shared_per_block = 1024, shared_per_processor = 1024, registers = 1024>} {}

// -----

// target: no cache.
// expected-error@below {{expected cache to be at least 1, got 0}}
module attributes {test.a = #kvc.target<name = "g", kind = gpu, processors = 1,
    bandwidth = 1.0e12, matrix_rates = {bf16 = 1.0e14}, f32_rate = 1.0e13, cache = 0,
    launch = 1.0e-6, shared_per_block = 1024, shared_per_processor = 1024, registers = 1024>} {}

// -----

// target: a cpu with shared memory.
// expected-error@below {{expected a cpu without shared memory, registers and launches, got shared_per_block 0, shared_per_processor 1, registers 0, launch 0.000000e+00}}
module attributes {test.a = #kvc.target<name = "c", kind = cpu, processors = 1,
    bandwidth = 1.0e10, f32_rate = 1.0e11, cache = 1, launch = 0.0,
    shared_per_processor = 1>} {}

// -----

// target: a gpu without matrix units.
// expected-error@below {{expected a gpu with matrix_rates, got none}}
module attributes {test.a = #kvc.target<name = "g", kind = gpu, processors = 1,
    bandwidth = 1.0e12, f32_rate = 1.0e13, cache = 1, launch = 1.0e-6, shared_per_block = 1024,
    shared_per_processor = 1024, registers = 1024>} {}

// -----

// target: no shared memory.
// expected-error@below {{expected shared_per_block of 1 to shared_per_processor (1024), got 0}}
module attributes {test.a = #kvc.target<name = "g", kind = gpu, processors = 1,
    bandwidth = 1.0e12, matrix_rates = {bf16 = 1.0e14}, f32_rate = 1.0e13, cache = 1,
    launch = 1.0e-6, shared_per_block = 0, shared_per_processor = 1024, registers = 1024>} {}

// -----

// target: more shared memory a block than there is.
// expected-error@below {{expected shared_per_block of 1 to shared_per_processor (1024), got 1025}}
module attributes {test.a = #kvc.target<name = "g", kind = gpu, processors = 1,
    bandwidth = 1.0e12, matrix_rates = {bf16 = 1.0e14}, f32_rate = 1.0e13, cache = 1,
    launch = 1.0e-6, shared_per_block = 1025, shared_per_processor = 1024, registers = 1024>} {}

// -----

// target: no registers.
// expected-error@below {{expected registers of a gpu to be at least 1, got 0}}
module attributes {test.a = #kvc.target<name = "g", kind = gpu, processors = 1,
    bandwidth = 1.0e12, matrix_rates = {bf16 = 1.0e14}, f32_rate = 1.0e13, cache = 1,
    launch = 1.0e-6, shared_per_block = 1024, shared_per_processor = 1024, registers = 0>} {}

// -----

// kvc.target is a target.
// expected-error@below {{expected 'kvc.target' to be a #kvc.target on a module, got "h100" on builtin.module}}
module attributes {kvc.target = "h100"} {}

// -----

// kvc.target is on a module.
// expected-error@below {{expected 'kvc.target' to be a #kvc.target on a module, got #kvc.target<name = "c", kind = cpu, processors = 1, bandwidth = 1.000000e+10, f32_rate = 1.000000e+11, cache = 1, launch = 0.000000e+00> on func.func}}
func.func private @f() attributes {kvc.target = #kvc.target<name = "c", kind = cpu,
    processors = 1, bandwidth = 1.0e10, f32_rate = 1.0e11, cache = 1, launch = 0.0>}

// -----

// kvc.functions is what the conversions write: an array.
// expected-error@below {{expected 'kvc.functions' to be an array of {name, type, needs, run}, got 1 : i64}}
module attributes {kvc.functions = 1 : i64} {}

// -----

// kvc.functions is what the conversions write: of dictionaries.
// expected-error@below {{expected 'kvc.functions' to be an array of {name, type, needs, run}, got [1]}}
module attributes {kvc.functions = [1]} {}

// -----

// kvc.functions is what the conversions write: with all fields.
// expected-error@below {{expected 'kvc.functions' to be an array of {name, type, needs, run}, got [{name = "f", needs = "f.needs", run = "f.run"}]}}
module attributes {kvc.functions = [{name = "f", needs = "f.needs", run = "f.run"}]} {}

// -----

// kvc.functions is what the conversions write: with the type of a function.
// expected-error@below {{expected 'kvc.functions' to be an array of {name, type, needs, run}, got [{name = "f", needs = "f.needs", run = "f.run", type = i32}]}}
module attributes {kvc.functions = [{name = "f", needs = "f.needs", run = "f.run", type = i32}]} {}

// -----

// dense_attention_c1: at least one term.
#value = affine_map<(b, h, g, i, j, w) -> (j, w)>
#result = affine_map<(b, h, g, i, j, w) -> (w)>
func.func @dense_attention(%v: tensor<7x6xf16>) {
  // expected-error@below {{'kvc.dense_attention' op expected 1 to 64 terms, got 0}}
  %0 = "kvc.dense_attention"(%v) {maps = [#value, #result], operandSegmentSizes = array<i32: 0, 0, 1, 0, 0>, scale = 0.5 : f32}
      : (tensor<7x6xf16>) -> tensor<6xf16>
  return
}

// -----

// dense_attention_c1: a key for each query.
#query = affine_map<(b, h, g, i, j, w) -> (w)>
#key = affine_map<(b, h, g, i, j, w) -> (j, w)>
func.func @dense_attention(%q: tensor<6xf16>, %k: tensor<7x6xf16>) {
  // expected-error@below {{'kvc.dense_attention' op expected as many keys as queries (1), got 2}}
  %0 = "kvc.dense_attention"(%q, %k, %k, %k) {maps = [#query, #key, #key, #query], operandSegmentSizes = array<i32: 1, 2, 1, 0, 0>, scale = 0.5 : f32}
      : (tensor<6xf16>, tensor<7x6xf16>, tensor<7x6xf16>, tensor<7x6xf16>) -> tensor<6xf16>
  return
}

// -----

// dense_attention_c1: a map for each operand and the result.
#query = affine_map<(b, h, g, i, j, w) -> (w)>
#key = affine_map<(b, h, g, i, j, w) -> (j, w)>
func.func @dense_attention(%q: tensor<6xf16>, %k: tensor<7x6xf16>) {
  // expected-error@below {{'kvc.dense_attention' op expected 4 maps, got 3}}
  %0 = kvc.dense_attention terms(%q * %k) value(%k) maps [#query, #key, #key]
      {scale = 0.5 : f32} : (tensor<6xf16>, tensor<7x6xf16>, tensor<7x6xf16>) -> tensor<6xf16>
  return
}

// -----

// dense_attention_c2: too few dimensions.
#query = affine_map<(b, h, g, i, w) -> (b, h, g, i, w)>
#key = affine_map<(b, h, g, i, j, w) -> (b, h, j, w)>
#value = affine_map<(b, h, g, i, j, w) -> (b, h, j, w)>
#result = affine_map<(b, h, g, i, j, w) -> (b, h, g, i, w)>
func.func @dense_attention(%q: tensor<2x3x4x5x8xf16>, %k: tensor<2x3x7x8xf16>, %v: tensor<2x3x7x6xf16>) {
  // expected-error@below {{'kvc.dense_attention' op expected maps from (b, h, g, i, j, w), got affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)> for query 0}}
  %0 = kvc.dense_attention terms(%q * %k) value(%v) maps [#query, #key, #value, #result]
      {scale = 0.5 : f32} : (tensor<2x3x4x5x8xf16>, tensor<2x3x7x8xf16>, tensor<2x3x7x6xf16>)
      -> tensor<2x3x4x5x6xf16>
  return
}

// -----

// dense_attention_c2: a symbol.
#query = affine_map<(b, h, g, i, j, w)[s] -> (b, h, g, i, w)>
#key = affine_map<(b, h, g, i, j, w) -> (b, h, j, w)>
#value = affine_map<(b, h, g, i, j, w) -> (b, h, j, w)>
#result = affine_map<(b, h, g, i, j, w) -> (b, h, g, i, w)>
func.func @dense_attention(%q: tensor<2x3x4x5x8xf16>, %k: tensor<2x3x7x8xf16>, %v: tensor<2x3x7x6xf16>) {
  // expected-error@below {{'kvc.dense_attention' op expected maps from (b, h, g, i, j, w), got affine_map<(d0, d1, d2, d3, d4, d5)[s0] -> (d0, d1, d2, d3, d5)> for query 0}}
  %0 = kvc.dense_attention terms(%q * %k) value(%v) maps [#query, #key, #value, #result]
      {scale = 0.5 : f32} : (tensor<2x3x4x5x8xf16>, tensor<2x3x7x8xf16>, tensor<2x3x7x6xf16>)
      -> tensor<2x3x4x5x6xf16>
  return
}

// -----

// dense_attention_c2: rank.
#query = affine_map<(b, h, g, i, j, w) -> (b, h, g, i, w)>
#key = affine_map<(b, h, g, i, j, w) -> (h, j, w)>
#value = affine_map<(b, h, g, i, j, w) -> (b, h, j, w)>
#result = affine_map<(b, h, g, i, j, w) -> (b, h, g, i, w)>
func.func @dense_attention(%q: tensor<2x3x4x5x8xf16>, %k: tensor<2x3x7x8xf16>, %v: tensor<2x3x7x6xf16>) {
  // expected-error@below {{'kvc.dense_attention' op expected a map with 4 results for key 0, got affine_map<(d0, d1, d2, d3, d4, d5) -> (d1, d4, d5)>}}
  %0 = kvc.dense_attention terms(%q * %k) value(%v) maps [#query, #key, #value, #result]
      {scale = 0.5 : f32} : (tensor<2x3x4x5x8xf16>, tensor<2x3x7x8xf16>, tensor<2x3x7x6xf16>)
      -> tensor<2x3x4x5x6xf16>
  return
}

// -----

// dense_attention_c2: 0 for more than one.
#query = affine_map<(b, h, g, i, j, w) -> (b, h, g, i, w)>
#key = affine_map<(b, h, g, i, j, w) -> (0, h, j, w)>
#value = affine_map<(b, h, g, i, j, w) -> (b, h, j, w)>
#result = affine_map<(b, h, g, i, j, w) -> (b, h, g, i, w)>
func.func @dense_attention(%q: tensor<2x3x4x5x8xf16>, %k: tensor<2x3x7x8xf16>, %v: tensor<2x3x7x6xf16>) {
  // expected-error@below {{'kvc.dense_attention' op expected 0 in a map for dimensions of size 1 only, got affine_map<(d0, d1, d2, d3, d4, d5) -> (0, d1, d4, d5)> for key 0 of type 'tensor<2x3x7x8xf16>'}}
  %0 = kvc.dense_attention terms(%q * %k) value(%v) maps [#query, #key, #value, #result]
      {scale = 0.5 : f32} : (tensor<2x3x4x5x8xf16>, tensor<2x3x7x8xf16>, tensor<2x3x7x6xf16>)
      -> tensor<2x3x4x5x6xf16>
  return
}

// -----

// dense_attention_c2: another constant.
#query = affine_map<(b, h, g, i, j, w) -> (b, h, g, i, w)>
#key = affine_map<(b, h, g, i, j, w) -> (1, h, j, w)>
#value = affine_map<(b, h, g, i, j, w) -> (b, h, j, w)>
#result = affine_map<(b, h, g, i, j, w) -> (b, h, g, i, w)>
func.func @dense_attention(%q: tensor<2x3x4x5x8xf16>, %k: tensor<1x3x7x8xf16>, %v: tensor<2x3x7x6xf16>) {
  // expected-error@below {{'kvc.dense_attention' op expected 0 in a map for dimensions of size 1 only, got affine_map<(d0, d1, d2, d3, d4, d5) -> (1, d1, d4, d5)> for key 0 of type 'tensor<1x3x7x8xf16>'}}
  %0 = kvc.dense_attention terms(%q * %k) value(%v) maps [#query, #key, #value, #result]
      {scale = 0.5 : f32} : (tensor<2x3x4x5x8xf16>, tensor<1x3x7x8xf16>, tensor<2x3x7x6xf16>)
      -> tensor<2x3x4x5x6xf16>
  return
}

// -----

// dense_attention_c2: no dimension.
#query = affine_map<(b, h, g, i, j, w) -> (b, h, g, i, w)>
#key = affine_map<(b, h, g, i, j, w) -> (b, h, j, w)>
#value = affine_map<(b, h, g, i, j, w) -> (b + h, h, j, w)>
#result = affine_map<(b, h, g, i, j, w) -> (b, h, g, i, w)>
func.func @dense_attention(%q: tensor<2x3x4x5x8xf16>, %k: tensor<2x3x7x8xf16>, %v: tensor<2x3x7x6xf16>) {
  // expected-error@below {{'kvc.dense_attention' op expected dimensions or 0 as results of maps, got affine_map<(d0, d1, d2, d3, d4, d5) -> (d0 + d1, d1, d4, d5)> for value}}
  %0 = kvc.dense_attention terms(%q * %k) value(%v) maps [#query, #key, #value, #result]
      {scale = 0.5 : f32} : (tensor<2x3x4x5x8xf16>, tensor<2x3x7x8xf16>, tensor<2x3x7x6xf16>)
      -> tensor<2x3x4x5x6xf16>
  return
}

// -----

// dense_attention_c2: a dimension twice.
#query = affine_map<(b, h, g, i, j, w) -> (b, h, g, i, w)>
#key = affine_map<(b, h, g, i, j, w) -> (b, h, j, w)>
#value = affine_map<(b, h, g, i, j, w) -> (h, h, j, w)>
#result = affine_map<(b, h, g, i, j, w) -> (b, h, g, i, w)>
func.func @dense_attention(%q: tensor<2x3x4x5x8xf16>, %k: tensor<2x3x7x8xf16>, %v: tensor<3x3x7x6xf16>) {
  // expected-error@below {{'kvc.dense_attention' op expected each dimension once in a map, got affine_map<(d0, d1, d2, d3, d4, d5) -> (d1, d1, d4, d5)> for value}}
  %0 = kvc.dense_attention terms(%q * %k) value(%v) maps [#query, #key, #value, #result]
      {scale = 0.5 : f32} : (tensor<2x3x4x5x8xf16>, tensor<2x3x7x8xf16>, tensor<3x3x7x6xf16>)
      -> tensor<2x3x4x5x6xf16>
  return
}

// -----

// dense_attention_c3: queries have no keys.
#query = affine_map<(b, h, g, i, j, w) -> (b, h, g, j, w)>
#key = affine_map<(b, h, g, i, j, w) -> (b, h, j, w)>
#value = affine_map<(b, h, g, i, j, w) -> (b, h, j, w)>
#result = affine_map<(b, h, g, i, j, w) -> (b, h, g, i, w)>
func.func @dense_attention(%q: tensor<2x3x4x5x8xf16>, %k: tensor<2x3x7x8xf16>, %v: tensor<2x3x7x6xf16>) {
  // expected-error@below {{'kvc.dense_attention' op expected no dimension j in the map of query 0, got affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d1, d2, d4, d5)>}}
  %0 = kvc.dense_attention terms(%q * %k) value(%v) maps [#query, #key, #value, #result]
      {scale = 0.5 : f32} : (tensor<2x3x4x5x8xf16>, tensor<2x3x7x8xf16>, tensor<2x3x7x6xf16>)
      -> tensor<2x3x4x5x6xf16>
  return
}

// -----

// dense_attention_c3: queries have a width.
#query = affine_map<(b, h, g, i, j, w) -> (b, h, g, i)>
#key = affine_map<(b, h, g, i, j, w) -> (b, h, j, w)>
#value = affine_map<(b, h, g, i, j, w) -> (b, h, j, w)>
#result = affine_map<(b, h, g, i, j, w) -> (b, h, g, i, w)>
func.func @dense_attention(%q: tensor<2x3x4x5xf16>, %k: tensor<2x3x7x8xf16>, %v: tensor<2x3x7x6xf16>) {
  // expected-error@below {{'kvc.dense_attention' op expected dimension w in the map of query 0, got affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d1, d2, d3)>}}
  %0 = kvc.dense_attention terms(%q * %k) value(%v) maps [#query, #key, #value, #result]
      {scale = 0.5 : f32} : (tensor<2x3x4x5xf16>, tensor<2x3x7x8xf16>, tensor<2x3x7x6xf16>)
      -> tensor<2x3x4x5x6xf16>
  return
}

// -----

// dense_attention_c3: keys have no queries.
#query = affine_map<(b, h, g, i, j, w) -> (b, h, g, i, w)>
#key = affine_map<(b, h, g, i, j, w) -> (b, i, j, w)>
#value = affine_map<(b, h, g, i, j, w) -> (b, h, j, w)>
#result = affine_map<(b, h, g, i, j, w) -> (b, h, g, i, w)>
func.func @dense_attention(%q: tensor<2x3x4x5x8xf16>, %k: tensor<2x3x7x8xf16>, %v: tensor<2x3x7x6xf16>) {
  // expected-error@below {{'kvc.dense_attention' op expected no dimension i in the map of key 0, got affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d3, d4, d5)>}}
  %0 = kvc.dense_attention terms(%q * %k) value(%v) maps [#query, #key, #value, #result]
      {scale = 0.5 : f32} : (tensor<2x3x4x5x8xf16>, tensor<2x3x7x8xf16>, tensor<2x3x7x6xf16>)
      -> tensor<2x3x4x5x6xf16>
  return
}

// -----

// dense_attention_c3: keys are keys.
#query = affine_map<(b, h, g, i, j, w) -> (b, h, g, i, w)>
#key = affine_map<(b, h, g, i, j, w) -> (b, h, g, w)>
#value = affine_map<(b, h, g, i, j, w) -> (b, h, j, w)>
#result = affine_map<(b, h, g, i, j, w) -> (b, h, g, i, w)>
func.func @dense_attention(%q: tensor<2x3x4x5x8xf16>, %k: tensor<2x3x4x8xf16>, %v: tensor<2x3x7x6xf16>) {
  // expected-error@below {{'kvc.dense_attention' op expected dimension j in the map of key 0, got affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d1, d2, d5)>}}
  %0 = kvc.dense_attention terms(%q * %k) value(%v) maps [#query, #key, #value, #result]
      {scale = 0.5 : f32} : (tensor<2x3x4x5x8xf16>, tensor<2x3x4x8xf16>, tensor<2x3x7x6xf16>)
      -> tensor<2x3x4x5x6xf16>
  return
}

// -----

// dense_attention_c3: values have no queries.
#query = affine_map<(b, h, g, i, j, w) -> (b, h, g, i, w)>
#key = affine_map<(b, h, g, i, j, w) -> (b, h, j, w)>
#value = affine_map<(b, h, g, i, j, w) -> (b, i, j, w)>
#result = affine_map<(b, h, g, i, j, w) -> (b, h, g, i, w)>
func.func @dense_attention(%q: tensor<2x3x4x5x8xf16>, %k: tensor<2x3x7x8xf16>, %v: tensor<2x3x7x6xf16>) {
  // expected-error@below {{'kvc.dense_attention' op expected no dimension i in the map of value, got affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d3, d4, d5)>}}
  %0 = kvc.dense_attention terms(%q * %k) value(%v) maps [#query, #key, #value, #result]
      {scale = 0.5 : f32} : (tensor<2x3x4x5x8xf16>, tensor<2x3x7x8xf16>, tensor<2x3x7x6xf16>)
      -> tensor<2x3x4x5x6xf16>
  return
}

// -----

// dense_attention_c3: values have a width.
#query = affine_map<(b, h, g, i, j, w) -> (b, h, g, i, w)>
#key = affine_map<(b, h, g, i, j, w) -> (b, h, j, w)>
#value = affine_map<(b, h, g, i, j, w) -> (b, h, g, j)>
#result = affine_map<(b, h, g, i, j, w) -> (b, h, g, i, w)>
func.func @dense_attention(%q: tensor<2x3x4x5x8xf16>, %k: tensor<2x3x7x8xf16>, %v: tensor<2x3x4x7xf16>) {
  // expected-error@below {{'kvc.dense_attention' op expected dimension w in the map of value, got affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d1, d2, d4)>}}
  %0 = kvc.dense_attention terms(%q * %k) value(%v) maps [#query, #key, #value, #result]
      {scale = 0.5 : f32} : (tensor<2x3x4x5x8xf16>, tensor<2x3x7x8xf16>, tensor<2x3x4x7xf16>)
      -> tensor<2x3x4x5x6xf16>
  return
}

// -----

// dense_attention_c3: the result has no keys.
#query = affine_map<(b, h, g, i, j, w) -> (b, h, g, i, w)>
#key = affine_map<(b, h, g, i, j, w) -> (b, h, j, w)>
#value = affine_map<(b, h, g, i, j, w) -> (b, h, j, w)>
#result = affine_map<(b, h, g, i, j, w) -> (b, h, g, j, w)>
func.func @dense_attention(%q: tensor<2x3x4x5x8xf16>, %k: tensor<2x3x7x8xf16>, %v: tensor<2x3x7x6xf16>) {
  // expected-error@below {{'kvc.dense_attention' op expected no dimension j in the map of result, got affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d1, d2, d4, d5)>}}
  %0 = kvc.dense_attention terms(%q * %k) value(%v) maps [#query, #key, #value, #result]
      {scale = 0.5 : f32} : (tensor<2x3x4x5x8xf16>, tensor<2x3x7x8xf16>, tensor<2x3x7x6xf16>)
      -> tensor<2x3x4x7x6xf16>
  return
}

// -----

// dense_attention_c3: the result has a width.
#query = affine_map<(b, h, g, i, j, w) -> (b, h, g, i, w)>
#key = affine_map<(b, h, g, i, j, w) -> (b, h, j, w)>
#value = affine_map<(b, h, g, i, j, w) -> (b, h, j, w)>
#result = affine_map<(b, h, g, i, j, w) -> (b, h, g, i)>
func.func @dense_attention(%q: tensor<2x3x4x5x8xf16>, %k: tensor<2x3x7x8xf16>, %v: tensor<2x3x7x6xf16>) {
  // expected-error@below {{'kvc.dense_attention' op expected dimension w in the map of result, got affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d1, d2, d3)>}}
  %0 = kvc.dense_attention terms(%q * %k) value(%v) maps [#query, #key, #value, #result]
      {scale = 0.5 : f32} : (tensor<2x3x4x5x8xf16>, tensor<2x3x7x8xf16>, tensor<2x3x7x6xf16>)
      -> tensor<2x3x4x5xf16>
  return
}

// -----

// dense_attention_c3: a mask has no width.
#query = affine_map<(b, h, g, i, j, w) -> (b, h, g, i, w)>
#key = affine_map<(b, h, g, i, j, w) -> (b, h, j, w)>
#value = affine_map<(b, h, g, i, j, w) -> (b, h, j, w)>
#mask = affine_map<(b, h, g, i, j, w) -> (j, w)>
#result = affine_map<(b, h, g, i, j, w) -> (b, h, g, i, w)>
func.func @dense_attention(%q: tensor<2x3x4x5x8xf16>, %k: tensor<2x3x7x8xf16>, %v: tensor<2x3x7x6xf16>, %mask: tensor<7x8xf16>) {
  // expected-error@below {{'kvc.dense_attention' op expected no dimension w in the map of mask, got affine_map<(d0, d1, d2, d3, d4, d5) -> (d4, d5)>}}
  %0 = kvc.dense_attention terms(%q * %k) value(%v) mask(%mask) maps [#query, #key, #value, #mask, #result]
      {scale = 0.5 : f32} : (tensor<2x3x4x5x8xf16>, tensor<2x3x7x8xf16>, tensor<2x3x7x6xf16>, tensor<7x8xf16>)
      -> tensor<2x3x4x5x6xf16>
  return
}

// -----

// dense_attention_c3: a mask has keys.
#query = affine_map<(b, h, g, i, j, w) -> (b, h, g, i, w)>
#key = affine_map<(b, h, g, i, j, w) -> (b, h, j, w)>
#value = affine_map<(b, h, g, i, j, w) -> (b, h, j, w)>
#mask = affine_map<(b, h, g, i, j, w) -> (i)>
#result = affine_map<(b, h, g, i, j, w) -> (b, h, g, i, w)>
func.func @dense_attention(%q: tensor<2x3x4x5x8xf16>, %k: tensor<2x3x7x8xf16>, %v: tensor<2x3x7x6xf16>, %mask: tensor<5xf16>) {
  // expected-error@below {{'kvc.dense_attention' op expected dimension j in the map of mask, got affine_map<(d0, d1, d2, d3, d4, d5) -> (d3)>}}
  %0 = kvc.dense_attention terms(%q * %k) value(%v) mask(%mask) maps [#query, #key, #value, #mask, #result]
      {scale = 0.5 : f32} : (tensor<2x3x4x5x8xf16>, tensor<2x3x7x8xf16>, tensor<2x3x7x6xf16>, tensor<5xf16>)
      -> tensor<2x3x4x5x6xf16>
  return
}

// -----

// dense_attention_c3: sinks are of heads.
#query = affine_map<(b, h, g, i, j, w) -> (b, h, g, i, w)>
#key = affine_map<(b, h, g, i, j, w) -> (b, h, j, w)>
#value = affine_map<(b, h, g, i, j, w) -> (b, h, j, w)>
#sinks = affine_map<(b, h, g, i, j, w) -> (b, h)>
#result = affine_map<(b, h, g, i, j, w) -> (b, h, g, i, w)>
func.func @dense_attention(%q: tensor<2x3x4x5x8xf16>, %k: tensor<2x3x7x8xf16>, %v: tensor<2x3x7x6xf16>, %sinks: tensor<2x3xf16>) {
  // expected-error@below {{'kvc.dense_attention' op expected no dimension b in the map of sinks, got affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d1)>}}
  %0 = kvc.dense_attention terms(%q * %k) value(%v) sinks(%sinks) maps [#query, #key, #value, #sinks, #result]
      {scale = 0.5 : f32} : (tensor<2x3x4x5x8xf16>, tensor<2x3x7x8xf16>, tensor<2x3x7x6xf16>, tensor<2x3xf16>)
      -> tensor<2x3x4x5x6xf16>
  return
}

// -----

// dense_attention_c3: a result that nothing makes as large.
#query = affine_map<(b, h, g, i, j, w) -> (b, h, i, w)>
#key = affine_map<(b, h, g, i, j, w) -> (b, h, j, w)>
#value = affine_map<(b, h, g, i, j, w) -> (b, h, j, w)>
#result = affine_map<(b, h, g, i, j, w) -> (b, h, g, i, w)>
func.func @dense_attention(%q: tensor<2x3x5x8xf16>, %k: tensor<2x3x7x8xf16>, %v: tensor<2x3x7x6xf16>) {
  // expected-error@below {{'kvc.dense_attention' op expected dimension g of the result, which is not 1, in a query, key or value}}
  %0 = kvc.dense_attention terms(%q * %k) value(%v) maps [#query, #key, #value, #result]
      {scale = 0.5 : f32} : (tensor<2x3x5x8xf16>, tensor<2x3x7x8xf16>, tensor<2x3x7x6xf16>)
      -> tensor<2x3x4x5x6xf16>
  return
}

// -----

// dense_attention_c4: heads.
#query = affine_map<(b, h, g, i, j, w) -> (b, h, g, i, w)>
#key = affine_map<(b, h, g, i, j, w) -> (b, h, j, w)>
#value = affine_map<(b, h, g, i, j, w) -> (b, h, j, w)>
#result = affine_map<(b, h, g, i, j, w) -> (b, h, g, i, w)>
func.func @dense_attention(%q: tensor<2x3x4x5x8xf16>, %k: tensor<2x4x7x8xf16>, %v: tensor<2x3x7x6xf16>) {
  // expected-error@below {{'kvc.dense_attention' op expected dimension h of key 0 to be 3, got 4}}
  %0 = kvc.dense_attention terms(%q * %k) value(%v) maps [#query, #key, #value, #result]
      {scale = 0.5 : f32} : (tensor<2x3x4x5x8xf16>, tensor<2x4x7x8xf16>, tensor<2x3x7x6xf16>)
      -> tensor<2x3x4x5x6xf16>
  return
}

// -----

// dense_attention_c4: the width of a term.
#query = affine_map<(b, h, g, i, j, w) -> (b, h, g, i, w)>
#key = affine_map<(b, h, g, i, j, w) -> (b, h, j, w)>
#value = affine_map<(b, h, g, i, j, w) -> (b, h, j, w)>
#result = affine_map<(b, h, g, i, j, w) -> (b, h, g, i, w)>
func.func @dense_attention(%q: tensor<2x3x4x5x8xf16>, %k: tensor<2x3x7x9xf16>, %v: tensor<2x3x7x6xf16>) {
  // expected-error@below {{'kvc.dense_attention' op expected dimension w of key 0 to be 8, got 9}}
  %0 = kvc.dense_attention terms(%q * %k) value(%v) maps [#query, #key, #value, #result]
      {scale = 0.5 : f32} : (tensor<2x3x4x5x8xf16>, tensor<2x3x7x9xf16>, tensor<2x3x7x6xf16>)
      -> tensor<2x3x4x5x6xf16>
  return
}

// -----

// dense_attention_c4: keys.
#query = affine_map<(b, h, g, i, j, w) -> (b, h, g, i, w)>
#key = affine_map<(b, h, g, i, j, w) -> (b, h, j, w)>
#value = affine_map<(b, h, g, i, j, w) -> (b, h, j, w)>
#result = affine_map<(b, h, g, i, j, w) -> (b, h, g, i, w)>
func.func @dense_attention(%q: tensor<2x3x4x5x8xf16>, %k: tensor<2x3x7x8xf16>, %v: tensor<2x3x8x6xf16>) {
  // expected-error@below {{'kvc.dense_attention' op expected dimension j of value to be 7, got 8}}
  %0 = kvc.dense_attention terms(%q * %k) value(%v) maps [#query, #key, #value, #result]
      {scale = 0.5 : f32} : (tensor<2x3x4x5x8xf16>, tensor<2x3x7x8xf16>, tensor<2x3x8x6xf16>)
      -> tensor<2x3x4x5x6xf16>
  return
}

// -----

// dense_attention_c4: the width of the values.
#query = affine_map<(b, h, g, i, j, w) -> (b, h, g, i, w)>
#key = affine_map<(b, h, g, i, j, w) -> (b, h, j, w)>
#value = affine_map<(b, h, g, i, j, w) -> (b, h, j, w)>
#result = affine_map<(b, h, g, i, j, w) -> (b, h, g, i, w)>
func.func @dense_attention(%q: tensor<2x3x4x5x8xf16>, %k: tensor<2x3x7x8xf16>, %v: tensor<2x3x7x6xf16>) {
  // expected-error@below {{'kvc.dense_attention' op expected dimension w of result to be 6, got 8}}
  %0 = kvc.dense_attention terms(%q * %k) value(%v) maps [#query, #key, #value, #result]
      {scale = 0.5 : f32} : (tensor<2x3x4x5x8xf16>, tensor<2x3x7x8xf16>, tensor<2x3x7x6xf16>)
      -> tensor<2x3x4x5x8xf16>
  return
}

// -----

// dense_attention_c4: the keys of a mask.
#query = affine_map<(b, h, g, i, j, w) -> (b, h, g, i, w)>
#key = affine_map<(b, h, g, i, j, w) -> (b, h, j, w)>
#value = affine_map<(b, h, g, i, j, w) -> (b, h, j, w)>
#mask = affine_map<(b, h, g, i, j, w) -> (j)>
#result = affine_map<(b, h, g, i, j, w) -> (b, h, g, i, w)>
func.func @dense_attention(%q: tensor<2x3x4x5x8xf16>, %k: tensor<2x3x7x8xf16>, %v: tensor<2x3x7x6xf16>, %mask: tensor<8xf16>) {
  // expected-error@below {{'kvc.dense_attention' op expected dimension j of mask to be 7, got 8}}
  %0 = kvc.dense_attention terms(%q * %k) value(%v) mask(%mask) maps [#query, #key, #value, #mask, #result]
      {scale = 0.5 : f32} : (tensor<2x3x4x5x8xf16>, tensor<2x3x7x8xf16>, tensor<2x3x7x6xf16>, tensor<8xf16>)
      -> tensor<2x3x4x5x6xf16>
  return
}

// -----

// dense_attention_c4: the heads of sinks.
#query = affine_map<(b, h, g, i, j, w) -> (b, h, g, i, w)>
#key = affine_map<(b, h, g, i, j, w) -> (b, h, j, w)>
#value = affine_map<(b, h, g, i, j, w) -> (b, h, j, w)>
#sinks = affine_map<(b, h, g, i, j, w) -> (h)>
#result = affine_map<(b, h, g, i, j, w) -> (b, h, g, i, w)>
func.func @dense_attention(%q: tensor<2x3x4x5x8xf16>, %k: tensor<2x3x7x8xf16>, %v: tensor<2x3x7x6xf16>, %sinks: tensor<4xf16>) {
  // expected-error@below {{'kvc.dense_attention' op expected dimension h of sinks to be 3, got 4}}
  %0 = kvc.dense_attention terms(%q * %k) value(%v) sinks(%sinks) maps [#query, #key, #value, #sinks, #result]
      {scale = 0.5 : f32} : (tensor<2x3x4x5x8xf16>, tensor<2x3x7x8xf16>, tensor<2x3x7x6xf16>, tensor<4xf16>)
      -> tensor<2x3x4x5x6xf16>
  return
}

// -----

// dense_attention_c5: queries of another type.
#query = affine_map<(b, h, g, i, j, w) -> (b, h, g, i, w)>
#key = affine_map<(b, h, g, i, j, w) -> (b, h, j, w)>
#value = affine_map<(b, h, g, i, j, w) -> (b, h, j, w)>
#result = affine_map<(b, h, g, i, j, w) -> (b, h, g, i, w)>
func.func @dense_attention(%q: tensor<2x3x4x5x8xf32>, %k: tensor<2x3x7x8xf16>, %v: tensor<2x3x7x6xf16>) {
  // expected-error@below {{'kvc.dense_attention' op expected query 0 of 'f16' as the result is, got 'tensor<2x3x4x5x8xf32>'}}
  %0 = kvc.dense_attention terms(%q * %k) value(%v) maps [#query, #key, #value, #result]
      {scale = 0.5 : f32} : (tensor<2x3x4x5x8xf32>, tensor<2x3x7x8xf16>, tensor<2x3x7x6xf16>)
      -> tensor<2x3x4x5x6xf16>
  return
}

// -----

// dense_attention_c5: values of another type.
#query = affine_map<(b, h, g, i, j, w) -> (b, h, g, i, w)>
#key = affine_map<(b, h, g, i, j, w) -> (b, h, j, w)>
#value = affine_map<(b, h, g, i, j, w) -> (b, h, j, w)>
#result = affine_map<(b, h, g, i, j, w) -> (b, h, g, i, w)>
func.func @dense_attention(%q: tensor<2x3x4x5x8xf16>, %k: tensor<2x3x7x8xf16>, %v: tensor<2x3x7x6xbf16>) {
  // expected-error@below {{'kvc.dense_attention' op expected value of 'f16' as the result is, got 'tensor<2x3x7x6xbf16>'}}
  %0 = kvc.dense_attention terms(%q * %k) value(%v) maps [#query, #key, #value, #result]
      {scale = 0.5 : f32} : (tensor<2x3x4x5x8xf16>, tensor<2x3x7x8xf16>, tensor<2x3x7x6xbf16>)
      -> tensor<2x3x4x5x6xf16>
  return
}

// -----

// dense_attention_c6: no modifier.
#query = affine_map<(b, h, g, i, j, w) -> (b, h, g, i, w)>
#key = affine_map<(b, h, g, i, j, w) -> (b, h, j, w)>
#value = affine_map<(b, h, g, i, j, w) -> (b, h, j, w)>
#result = affine_map<(b, h, g, i, j, w) -> (b, h, g, i, w)>
func.func @dense_attention(%q: tensor<2x3x4x5x8xf16>, %k: tensor<2x3x7x8xf16>, %v: tensor<2x3x7x6xf16>) {
  // expected-error@below {{'kvc.dense_attention' op expected score modifiers, got 1 : i64}}
  %0 = kvc.dense_attention terms(%q * %k) value(%v) score [1] maps [#query, #key, #value, #result]
      {scale = 0.5 : f32} : (tensor<2x3x4x5x8xf16>, tensor<2x3x7x8xf16>, tensor<2x3x7x6xf16>)
      -> tensor<2x3x4x5x6xf16>
  return
}

// -----

// dense_attention_c6: a kind twice.
#query = affine_map<(b, h, g, i, j, w) -> (b, h, g, i, w)>
#key = affine_map<(b, h, g, i, j, w) -> (b, h, j, w)>
#value = affine_map<(b, h, g, i, j, w) -> (b, h, j, w)>
#result = affine_map<(b, h, g, i, j, w) -> (b, h, g, i, w)>
func.func @dense_attention(%q: tensor<2x3x4x5x8xf16>, %k: tensor<2x3x7x8xf16>, %v: tensor<2x3x7x6xf16>) {
  // expected-error@below {{'kvc.dense_attention' op expected each kind of score modifier once, got a second #kvc.softcap<2.000000e+00>}}
  %0 = kvc.dense_attention terms(%q * %k) value(%v) score [#kvc.softcap<1.0>, #kvc.softcap<2.0>] maps [#query, #key, #value, #result]
      {scale = 0.5 : f32} : (tensor<2x3x4x5x8xf16>, tensor<2x3x7x8xf16>, tensor<2x3x7x6xf16>)
      -> tensor<2x3x4x5x6xf16>
  return
}

// -----

// dense_attention_c6: a window that is not causal.
#query = affine_map<(b, h, g, i, j, w) -> (b, h, g, i, w)>
#key = affine_map<(b, h, g, i, j, w) -> (b, h, j, w)>
#value = affine_map<(b, h, g, i, j, w) -> (b, h, j, w)>
#result = affine_map<(b, h, g, i, j, w) -> (b, h, g, i, w)>
func.func @dense_attention(%q: tensor<2x3x4x5x8xf16>, %k: tensor<2x3x7x8xf16>, %v: tensor<2x3x7x6xf16>) {
  // expected-error@below {{'kvc.dense_attention' op expected #kvc.causal beside #kvc.window}}
  %0 = kvc.dense_attention terms(%q * %k) value(%v) score [#kvc.window<4>] maps [#query, #key, #value, #result]
      {scale = 0.5 : f32} : (tensor<2x3x4x5x8xf16>, tensor<2x3x7x8xf16>, tensor<2x3x7x6xf16>)
      -> tensor<2x3x4x5x6xf16>
  return
}

// -----

// dense_attention_c7: an infinite scale.
#query = affine_map<(b, h, g, i, j, w) -> (b, h, g, i, w)>
#key = affine_map<(b, h, g, i, j, w) -> (b, h, j, w)>
#value = affine_map<(b, h, g, i, j, w) -> (b, h, j, w)>
#result = affine_map<(b, h, g, i, j, w) -> (b, h, g, i, w)>
func.func @dense_attention(%q: tensor<2x3x4x5x8xf16>, %k: tensor<2x3x7x8xf16>, %v: tensor<2x3x7x6xf16>) {
  // expected-error@below {{'kvc.dense_attention' op expected a finite scale, got 0x7F800000 : f32}}
  %0 = kvc.dense_attention terms(%q * %k) value(%v) maps [#query, #key, #value, #result]
      {scale = 0x7F800000 : f32} : (tensor<2x3x4x5x8xf16>, tensor<2x3x7x8xf16>, tensor<2x3x7x6xf16>)
      -> tensor<2x3x4x5x6xf16>
  return
}

// -----

// dense_rope_c1: no dimension.
func.func @dense_rope(%x: tensor<f16>, %p: tensor<i64>) {
  // expected-error@below {{'kvc.dense_rope' op expected an input with a static last dimension, got 'tensor<f16>'}}
  %0 = kvc.dense_rope %x positions(%p) {position_dims = array<i64>, rotary_width = 8 : i64, theta = 1.0e4 : f64}
      : tensor<f16>, tensor<i64>
  return
}

// -----

// dense_rope_c1: a dynamic width.
func.func @dense_rope(%x: tensor<2x3x?xf16>, %p: tensor<2x3xi64>) {
  // expected-error@below {{'kvc.dense_rope' op expected an input with a static last dimension, got 'tensor<2x3x?xf16>'}}
  %0 = kvc.dense_rope %x positions(%p) {position_dims = array<i64: 0, 1>, rotary_width = 8 : i64, theta = 1.0e4 : f64}
      : tensor<2x3x?xf16>, tensor<2x3xi64>
  return
}

// -----

// dense_rope_c1: a dimension for each of the positions'.
func.func @dense_rope(%x: tensor<2x3x8xf16>, %p: tensor<2x3xi64>) {
  // expected-error@below {{'kvc.dense_rope' op expected a position dimension for each of the 2 of the positions, got 1}}
  %0 = kvc.dense_rope %x positions(%p) {position_dims = array<i64: 0>, rotary_width = 8 : i64, theta = 1.0e4 : f64}
      : tensor<2x3x8xf16>, tensor<2x3xi64>
  return
}

// -----

// dense_rope_c1: descending.
func.func @dense_rope(%x: tensor<3x3x8xf16>, %p: tensor<3x3xi64>) {
  // expected-error@below {{'kvc.dense_rope' op expected ascending position dimensions from 0 to 1, got array<i64: 1, 0>}}
  %0 = kvc.dense_rope %x positions(%p) {position_dims = array<i64: 1, 0>, rotary_width = 8 : i64, theta = 1.0e4 : f64}
      : tensor<3x3x8xf16>, tensor<3x3xi64>
  return
}

// -----

// dense_rope_c1: twice.
func.func @dense_rope(%x: tensor<3x3x8xf16>, %p: tensor<3x3xi64>) {
  // expected-error@below {{'kvc.dense_rope' op expected ascending position dimensions from 0 to 1, got array<i64: 1, 1>}}
  %0 = kvc.dense_rope %x positions(%p) {position_dims = array<i64: 1, 1>, rotary_width = 8 : i64, theta = 1.0e4 : f64}
      : tensor<3x3x8xf16>, tensor<3x3xi64>
  return
}

// -----

// dense_rope_c1: the width.
func.func @dense_rope(%x: tensor<2x3x8xf16>, %p: tensor<2x3xi64>) {
  // expected-error@below {{'kvc.dense_rope' op expected ascending position dimensions from 0 to 1, got array<i64: 0, 2>}}
  %0 = kvc.dense_rope %x positions(%p) {position_dims = array<i64: 0, 2>, rotary_width = 8 : i64, theta = 1.0e4 : f64}
      : tensor<2x3x8xf16>, tensor<2x3xi64>
  return
}

// -----

// dense_rope_c1: below 0.
func.func @dense_rope(%x: tensor<2x3x8xf16>, %p: tensor<2x3xi64>) {
  // expected-error@below {{'kvc.dense_rope' op expected ascending position dimensions from 0 to 1, got array<i64: -1, 0>}}
  %0 = kvc.dense_rope %x positions(%p) {position_dims = array<i64: -1, 0>, rotary_width = 8 : i64, theta = 1.0e4 : f64}
      : tensor<2x3x8xf16>, tensor<2x3xi64>
  return
}

// -----

// dense_rope_c1: sizes.
func.func @dense_rope(%x: tensor<2x3x8xf16>, %p: tensor<2x4xi64>) {
  // expected-error@below {{'kvc.dense_rope' op expected dimension 1 of the input to be 4, got 3}}
  %0 = kvc.dense_rope %x positions(%p) {position_dims = array<i64: 0, 1>, rotary_width = 8 : i64, theta = 1.0e4 : f64}
      : tensor<2x3x8xf16>, tensor<2x4xi64>
  return
}

// -----

// dense_rope_c2: odd.
func.func @dense_rope(%x: tensor<2x3x8xf16>, %p: tensor<2x3xi64>) {
  // expected-error@below {{'kvc.dense_rope' op expected an even rotary width from 2 to the width (8), got 7}}
  %0 = kvc.dense_rope %x positions(%p) {position_dims = array<i64: 0, 1>, rotary_width = 7 : i64, theta = 1.0e4 : f64}
      : tensor<2x3x8xf16>, tensor<2x3xi64>
  return
}

// -----

// dense_rope_c2: 0.
func.func @dense_rope(%x: tensor<2x3x8xf16>, %p: tensor<2x3xi64>) {
  // expected-error@below {{'kvc.dense_rope' op expected an even rotary width from 2 to the width (8), got 0}}
  %0 = kvc.dense_rope %x positions(%p) {position_dims = array<i64: 0, 1>, rotary_width = 0 : i64, theta = 1.0e4 : f64}
      : tensor<2x3x8xf16>, tensor<2x3xi64>
  return
}

// -----

// dense_rope_c2: above the width.
func.func @dense_rope(%x: tensor<2x3x8xf16>, %p: tensor<2x3xi64>) {
  // expected-error@below {{'kvc.dense_rope' op expected an even rotary width from 2 to the width (8), got 10}}
  %0 = kvc.dense_rope %x positions(%p) {position_dims = array<i64: 0, 1>, rotary_width = 10 : i64, theta = 1.0e4 : f64}
      : tensor<2x3x8xf16>, tensor<2x3xi64>
  return
}

// -----

// dense_rope_c3: neither theta nor frequencies.
func.func @dense_rope(%x: tensor<2x3x8xf16>, %p: tensor<2x3xi64>) {
  // expected-error@below {{'kvc.dense_rope' op expected either theta or frequencies, got neither}}
  %0 = kvc.dense_rope %x positions(%p) {position_dims = array<i64: 0, 1>, rotary_width = 8 : i64}
      : tensor<2x3x8xf16>, tensor<2x3xi64>
  return
}

// -----

// dense_rope_c3: both.
func.func @dense_rope(%x: tensor<2x3x8xf16>, %p: tensor<2x3xi64>, %f: tensor<4xf32>) {
  // expected-error@below {{'kvc.dense_rope' op expected either theta or frequencies, got both}}
  %0 = kvc.dense_rope %x positions(%p) frequencies(%f : tensor<4xf32>) {position_dims = array<i64: 0, 1>, rotary_width = 8 : i64, theta = 1.0e4 : f64}
      : tensor<2x3x8xf16>, tensor<2x3xi64>
  return
}

// -----

// dense_rope_c3: theta of 0.
func.func @dense_rope(%x: tensor<2x3x8xf16>, %p: tensor<2x3xi64>) {
  // expected-error@below {{'kvc.dense_rope' op expected a finite theta above 0, got 0.000000e+00 : f64}}
  %0 = kvc.dense_rope %x positions(%p) {position_dims = array<i64: 0, 1>, rotary_width = 8 : i64, theta = 0.0 : f64}
      : tensor<2x3x8xf16>, tensor<2x3xi64>
  return
}

// -----

// dense_rope_c3: an infinite theta.
func.func @dense_rope(%x: tensor<2x3x8xf16>, %p: tensor<2x3xi64>) {
  // expected-error@below {{'kvc.dense_rope' op expected a finite theta above 0, got 0x7FF0000000000000 : f64}}
  %0 = kvc.dense_rope %x positions(%p) {position_dims = array<i64: 0, 1>, rotary_width = 8 : i64, theta = 0x7FF0000000000000 : f64}
      : tensor<2x3x8xf16>, tensor<2x3xi64>
  return
}

// -----

// dense_rope_c3: rank of the frequencies.
func.func @dense_rope(%x: tensor<2x3x8xf16>, %p: tensor<2x3xi64>, %f: tensor<1x4xf32>) {
  // expected-error@below {{'kvc.dense_rope' op expected frequencies of rank 1, got rank 2}}
  %0 = kvc.dense_rope %x positions(%p) frequencies(%f : tensor<1x4xf32>) {position_dims = array<i64: 0, 1>, rotary_width = 8 : i64}
      : tensor<2x3x8xf16>, tensor<2x3xi64>
  return
}

// -----

// dense_rope_c3: how many frequencies.
func.func @dense_rope(%x: tensor<2x3x8xf16>, %p: tensor<2x3xi64>, %f: tensor<8xf32>) {
  // expected-error@below {{'kvc.dense_rope' op expected the number of frequencies to be 4, got 8}}
  %0 = kvc.dense_rope %x positions(%p) frequencies(%f : tensor<8xf32>) {position_dims = array<i64: 0, 1>, rotary_width = 8 : i64}
      : tensor<2x3x8xf16>, tensor<2x3xi64>
  return
}

// -----

// dense_rope_c3: a dynamic number of frequencies.
func.func @dense_rope(%x: tensor<2x3x8xf16>, %p: tensor<2x3xi64>, %f: tensor<?xf32>) {
  // expected-error@below {{'kvc.dense_rope' op expected the number of frequencies to be 4, got a dynamic one}}
  %0 = kvc.dense_rope %x positions(%p) frequencies(%f : tensor<?xf32>) {position_dims = array<i64: 0, 1>, rotary_width = 8 : i64}
      : tensor<2x3x8xf16>, tensor<2x3xi64>
  return
}

// -----

// append_c4: a count without a quantised component.
func.func @count(%cache: !kvc.cache<page = 16, k: 1x8xf16>, %batch: !kvc.batch, %k: tensor<?x1x8xf16>) {
  // expected-error@below {{expected a quantised component where elements that are not finite are counted, got none}}
  %n = kvc.append %cache[k: %k] at %batch : !kvc.cache<page = 16, k: 1x8xf16>, tensor<?x1x8xf16> -> tensor<?xi32>
  return
}

// -----

// append_c4: a count of another number of tokens.
func.func @count(%cache: !kvc.cache<page = 16, k: 1x8xf8E5M2>, %batch: !kvc.batch, %k: tensor<4x1x8xf16>) {
  // expected-error@below {{expected tokens of the count to be 4, got 5}}
  %n = kvc.append %cache[k: %k] at %batch : !kvc.cache<page = 16, k: 1x8xf8E5M2>, tensor<4x1x8xf16> -> tensor<5xi32>
  return
}

// -----

// cache_from_buffers_c1: scales are buffers too.
func.func @buffers(%k: memref<?x16x8x128xi8>) {
  // expected-error@below {{expected 2 buffers, got 1}}
  %c = kvc.cache_from_buffers %k order nhd : memref<?x16x8x128xi8> -> !kvc.cache<page = 16, k: 8x128xi8 scale<f32, token>>
  return
}

// -----

// cache_from_buffers_c2: static scales have no pages.
func.func @buffers(%k: memref<?x16x8x128xi8>, %s: memref<?x16x8x1xf32>) {
  // expected-error@below {{expected buffer of component 'k.scale' to be 'memref<8x1xf32>', got 'memref<?x16x8x1xf32>'}}
  %c = kvc.cache_from_buffers %k, %s order nhd : memref<?x16x8x128xi8>, memref<?x16x8x1xf32> -> !kvc.cache<page = 16, k: 8x128xi8 scale<f32, head, static>>
  return
}
