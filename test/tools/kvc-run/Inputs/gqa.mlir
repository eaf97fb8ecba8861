!gqa = !kvc.cache<page = 16, k: 2x32xbf16, v: 2x32xbf16>
func.func @gqa(%q: tensor<?x8x32xbf16>, %k: tensor<?x2x32xbf16>, %v: tensor<?x2x32xbf16>,
               %cache: !gqa, %batch: !kvc.batch) -> tensor<?x8x32xbf16> {
  kvc.append %cache[k: %k, v: %v] at %batch
      : !gqa, tensor<?x2x32xbf16>, tensor<?x2x32xbf16>
  %o = kvc.attention %cache at %batch terms(%q * k) value(v) score [#kvc.causal]
      {scale = 0.176776695 : f32} : !gqa, tensor<?x8x32xbf16> -> tensor<?x8x32xbf16>
  return %o : tensor<?x8x32xbf16>
}
