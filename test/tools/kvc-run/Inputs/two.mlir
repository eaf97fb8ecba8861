!cache = !kvc.cache<page = 1, k: 1x8xf16, v: 1x8xf16>
func.func @static(%q: tensor<4x2x8xf16>, %cache: !cache, %batch: !kvc.batch)
    -> tensor<4x2x8xf16> {
  %o = kvc.attention %cache at %batch terms(%q * k) value(v) score [#kvc.causal]
      {scale = 0.35 : f32} : !cache, tensor<4x2x8xf16> -> tensor<4x2x8xf16>
  return %o : tensor<4x2x8xf16>
}

func.func @rotate(%x: tensor<?x2x32xf32>, %batch: !kvc.batch, %f: tensor<8xf32>)
    -> tensor<?x2x32xf32> {
  %r = kvc.rope %x at %batch frequencies(%f : tensor<8xf32>)
      {style = #kvc<rope_style interleaved>, rotary_width = 16 : i64} : tensor<?x2x32xf32>
  return %r : tensor<?x2x32xf32>
}
