// The attention of one sliding-window layer of Gemma 2 9B (arXiv:2408.00118),
// with the key-value cache.
// 16 query heads of width 256; each pair shares one of 8 KV heads (GQA).
// Up to 8,192 tokens a sequence.
//
// The same text serves decode (one new token a sequence) and prefill (many).

// Keys and values in bf16, in pages of 64 tokens (name: KV heads x width x type).
!cache = !kvc.cache<page = 64, k: 8x256xbf16, v: 8x256xbf16>

// The rows of %q, %k and %v are the new tokens of all sequences, one sequence
// after the other, after the model's projections and rotary embedding.
// %cache refers to the pages; %batch says which pages and rows are whose.
func.func @attention(%q: tensor<?x16x256xbf16>, %k: tensor<?x8x256xbf16>, %v: tensor<?x8x256xbf16>,
                     %cache: !cache, %batch: !kvc.batch) -> tensor<?x16x256xbf16> {
  // The new tokens' keys and values join the cache, in place.
  kvc.append %cache[k: %k, v: %v] at %batch
      : !cache, tensor<?x8x256xbf16>, tensor<?x8x256xbf16>
  // Scores are bounded to (-50, 50), then masked: a query sees itself and earlier
  // tokens, of which the last 4096. The layers between have no window.
  // The scale is 1 / sqrt(256).
  %out = kvc.attention %cache at %batch terms(%q * k) value(v)
      score [#kvc.softcap<50.0>, #kvc.causal, #kvc.window<4096>]
      {scale = 0.0625 : f32} : !cache, tensor<?x16x256xbf16> -> tensor<?x16x256xbf16>
  return %out : tensor<?x16x256xbf16>
}
