!cache = !kvc.cache<page = 4, k: 1x8xf32, v: 1x8xf32>
func.func @decode(%q: tensor<?x2x8xf32>, %k: tensor<?x1x8xf32>, %v: tensor<?x1x8xf32>,
                  %cache: !cache, %batch: !kvc.batch) -> tensor<?x2x8xf32> {
  kvc.append %cache[k: %k, v: %v] at %batch : !cache, tensor<?x1x8xf32>, tensor<?x1x8xf32>
  %out = kvc.attention %cache at %batch terms(%q * k) value(v) score [#kvc.causal]
      {scale = 0.5 : f32} : !cache, tensor<?x2x8xf32> -> tensor<?x2x8xf32>
  return %out : tensor<?x2x8xf32>
}
