!cache = !kvc.cache<page = 16, k: 1x64xbf16, v: 1x64xbf16>
func.func @gpu(%q: tensor<?x4x64xbf16>, %k: tensor<?x1x64xbf16>, %v: tensor<?x1x64xbf16>,
               %cache: !cache, %batch: !kvc.batch) -> tensor<?x4x64xbf16> {
  kvc.append %cache[k: %k, v: %v] at %batch
      : !cache, tensor<?x1x64xbf16>, tensor<?x1x64xbf16>
  %o = kvc.attention %cache at %batch terms(%q * k) value(v) score [#kvc.causal, #kvc.window<20>]
      {scale = 0.125 : f32} : !cache, tensor<?x4x64xbf16> -> tensor<?x4x64xbf16>
  return %o : tensor<?x4x64xbf16>
}
