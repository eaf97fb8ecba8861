// Decode in the shapes that differ in the GPU's kernels. Run by the tests of each
// device.

// Four query heads a KV head, bf16: half of each fragment.
!gqa = !kvc.cache<page = 16, k: 2x128xbf16, v: 2x128xbf16>
func.func @gqa(%q: tensor<?x8x128xbf16>, %k: tensor<?x2x128xbf16>, %v: tensor<?x2x128xbf16>,
               %cache: !gqa, %batch: !kvc.batch) -> tensor<?x8x128xbf16> {
  kvc.append %cache[k: %k, v: %v] at %batch
      : !gqa, tensor<?x2x128xbf16>, tensor<?x2x128xbf16>
  %o = kvc.attention %cache at %batch terms(%q * k) value(v) score [#kvc.causal]
      {scale = 0.0883883461 : f32} : !gqa, tensor<?x8x128xbf16> -> tensor<?x8x128xbf16>
  return %o : tensor<?x8x128xbf16>
}

// Everything that changes scores, the log-sum-exp, f16, pages of an odd size.
!odd = !kvc.cache<page = 5, k: 2x64xf16, v: 2x64xf16>
func.func @features(%q: tensor<?x2x64xf16>, %sinks: tensor<2xf32>, %cache: !odd,
                    %batch: !kvc.batch) -> (tensor<?x2x64xf16>, tensor<?x2xf32>) {
  %o, %lse = kvc.attention %cache at %batch terms(%q * k) value(v)
      sinks(%sinks : tensor<2xf32>)
      score [#kvc.softcap<3.0>, #kvc.causal, #kvc.window<150>] {scale = 0.125 : f32}
      : !odd, tensor<?x2x64xf16> -> tensor<?x2x64xf16>, tensor<?x2xf32>
  return %o, %lse : tensor<?x2x64xf16>, tensor<?x2xf32>
}

// More query heads than a thread block takes, on one KV head; pages of one token.
!mqa = !kvc.cache<page = 1, k: 1x64xbf16, v: 1x64xbf16>
func.func @mqa(%q: tensor<?x71x64xbf16>, %k: tensor<?x1x64xbf16>, %cache: !mqa,
               %batch: !kvc.batch) -> tensor<?x71x64xbf16> {
  kvc.append %cache[k: %k] at %batch : !mqa, tensor<?x1x64xbf16>
  %o = kvc.attention %cache at %batch terms(%q * k) value(v) {scale = 0.125 : f32}
      : !mqa, tensor<?x71x64xbf16> -> tensor<?x71x64xbf16>
  return %o : tensor<?x71x64xbf16>
}

// An output that nobody asks for, and two appends.
!f16 = !kvc.cache<page = 32, k: 1x128xf16, v: 1x128xf16>
func.func @lse(%q: tensor<?x16x128xf16>, %k: tensor<?x1x128xf16>, %v: tensor<?x1x128xf16>,
               %cache: !f16, %batch: !kvc.batch) -> tensor<?x16xf32> {
  kvc.append %cache[k: %k] at %batch : !f16, tensor<?x1x128xf16>
  kvc.append %cache[v: %v] at %batch : !f16, tensor<?x1x128xf16>
  %o, %lse = kvc.attention %cache at %batch terms(%q * k) value(v) score [#kvc.causal]
      {scale = 0.0883883461 : f32}
      : !f16, tensor<?x16x128xf16> -> tensor<?x16x128xf16>, tensor<?x16xf32>
  return %lse : tensor<?x16xf32>
}

// Copies alone, also of what has no attention kernel, and of any number of tokens.
!rows = !kvc.cache<page = 16, a: 1x24xf32, b: 3x8xbf16>
func.func @append(%a: tensor<?x1x24xf32>, %b: tensor<?x3x8xbf16>, %cache: !rows,
                  %batch: !kvc.batch) {
  kvc.append %cache[b: %b, a: %a] at %batch : !rows, tensor<?x3x8xbf16>, tensor<?x1x24xf32>
  return
}
