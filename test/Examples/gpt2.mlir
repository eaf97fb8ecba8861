// The attention of one layer of GPT-2 (the 124M model), with the key-value cache.
// 12 query heads of width 64, each with a KV head of its own (multi-head attention).
// Up to 1,024 tokens a sequence.
//
// The same text serves decode (one new token a sequence) and prefill (many).

// Keys and values in bf16, in pages of 64 tokens (name: KV heads x width x type).
!cache = !kvc.cache<page = 64, k: 12x64xbf16, v: 12x64xbf16>

// The rows of %q, %k and %v are the new tokens of all sequences, one sequence
// after the other, as the model's projections give them.
// %cache refers to the pages; %batch says which pages and rows are whose.
func.func @attention(%q: tensor<?x12x64xbf16>, %k: tensor<?x12x64xbf16>, %v: tensor<?x12x64xbf16>,
                     %cache: !cache, %batch: !kvc.batch) -> tensor<?x12x64xbf16> {
  // The new tokens' keys and values join the cache, in place.
  kvc.append %cache[k: %k, v: %v] at %batch
      : !cache, tensor<?x12x64xbf16>, tensor<?x12x64xbf16>
  // A query sees itself and the tokens before it. The scale is 1 / sqrt(64).
  %out = kvc.attention %cache at %batch terms(%q * k) value(v) score [#kvc.causal]
      {scale = 0.125 : f32} : !cache, tensor<?x12x64xbf16> -> tensor<?x12x64xbf16>
  return %out : tensor<?x12x64xbf16>
}
