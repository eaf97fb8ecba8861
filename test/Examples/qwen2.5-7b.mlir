// The attention of one layer of Qwen 2.5 7B (arXiv:2412.15115), with the key-value cache.
// 28 query heads of width 128; each group of 7 shares one of 4 KV heads (GQA).
// Up to 8,192 tokens a sequence.
//
// The same text serves decode (one new token a sequence) and prefill (many).

// Keys and values in bf16, in pages of 64 tokens (name: KV heads x width x type).
!cache = !kvc.cache<page = 64, k: 4x128xbf16, v: 4x128xbf16>

// The rows of %q, %k and %v are the new tokens of all sequences, one sequence
// after the other, after the model's projections and rotary embedding.
// %cache refers to the pages; %batch says which pages and rows are whose.
func.func @attention(%q: tensor<?x28x128xbf16>, %k: tensor<?x4x128xbf16>, %v: tensor<?x4x128xbf16>,
                     %cache: !cache, %batch: !kvc.batch) -> tensor<?x28x128xbf16> {
  // The new tokens' keys and values join the cache, in place.
  kvc.append %cache[k: %k, v: %v] at %batch
      : !cache, tensor<?x4x128xbf16>, tensor<?x4x128xbf16>
  // A query sees itself and the tokens before it. The scale is 1 / sqrt(128).
  %out = kvc.attention %cache at %batch terms(%q * k) value(v) score [#kvc.causal]
      {scale = 0.08838834764 : f32} : !cache, tensor<?x28x128xbf16> -> tensor<?x28x128xbf16>
  return %out : tensor<?x28x128xbf16>
}
