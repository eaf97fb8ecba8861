// The attention of one layer of Falcon 7B (arXiv:2311.16867), with the key-value cache.
// 71 query heads of width 64, which all share one KV head (multi-query attention).
// Up to 2,048 tokens a sequence.
//
// The same text serves decode (one new token a sequence) and prefill (many).

// Keys and values in bf16, in pages of 64 tokens (name: KV heads x width x type).
!cache = !kvc.cache<page = 64, k: 1x64xbf16, v: 1x64xbf16>

// The rows of %q, %k and %v are the new tokens of all sequences, one sequence
// after the other, after the model's projections and rotary embedding.
// %cache refers to the pages; %batch says which pages and rows are whose.
func.func @attention(%q: tensor<?x71x64xbf16>, %k: tensor<?x1x64xbf16>, %v: tensor<?x1x64xbf16>,
                     %cache: !cache, %batch: !kvc.batch) -> tensor<?x71x64xbf16> {
  // The new tokens' keys and values join the cache, in place.
  kvc.append %cache[k: %k, v: %v] at %batch
      : !cache, tensor<?x1x64xbf16>, tensor<?x1x64xbf16>
  // A query sees itself and the tokens before it. The scale is 1 / sqrt(64).
  %out = kvc.attention %cache at %batch terms(%q * k) value(v) score [#kvc.causal]
      {scale = 0.125 : f32} : !cache, tensor<?x71x64xbf16> -> tensor<?x71x64xbf16>
  return %out : tensor<?x71x64xbf16>
}
