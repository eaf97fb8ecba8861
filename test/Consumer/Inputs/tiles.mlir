!cache = !kvc.cache<page = 16, k: 1x32xbf16, v: 1x32xbf16>
func.func @decode(%q: tensor<?x8x32xbf16>, %k: tensor<?x1x32xbf16>, %v: tensor<?x1x32xbf16>,
                  %cache: !cache, %batch: !kvc.batch) -> tensor<?x8x32xbf16> {
  kvc.append %cache[k: %k, v: %v] at %batch : !cache, tensor<?x1x32xbf16>, tensor<?x1x32xbf16>
  %out = kvc.attention %cache at %batch terms(%q * k) value(v) score [#kvc.causal]
      {scale = 0.25 : f32} : !cache, tensor<?x8x32xbf16> -> tensor<?x8x32xbf16>
  return %out : tensor<?x8x32xbf16>
}
