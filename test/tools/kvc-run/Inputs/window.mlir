!f32 = !kvc.cache<page = 16, k: 1x16xf32, v: 1x24xf32>
func.func @features(%q: tensor<?x4x16xf32>, %cache: !f32, %batch: !kvc.batch,
                    %sinks: tensor<4xf32>) -> (tensor<?x4x24xf32>, tensor<?x4xf32>) {
  %o, %l = kvc.attention %cache at %batch terms(%q * k) value(v)
      sinks(%sinks : tensor<4xf32>)
      score [#kvc.softcap<3.0>, #kvc.causal, #kvc.window<20>] {scale = 0.25 : f32}
      : !f32, tensor<?x4x16xf32> -> tensor<?x4x24xf32>, tensor<?x4xf32>
  return %o, %l : tensor<?x4x24xf32>, tensor<?x4xf32>
}
