// What an append counts of each new token is a result like others.

// RUN: kvc-run %s --lengths=20,7 --query-lens=3,7 --verify --output-dir=%t | FileCheck %s
// CHECK: result 1: 10xi32
// CHECK: result 1 {{ *}}10 rows bit for bit PASS
// CHECK: {{^}}PASS

// NaN and infinities in two tokens of the keys, one of which has them in the values as well.
// RUN: %python -c "import numpy as np; k = np.full((4, 2, 64), 0x3F80, np.uint16); \
// RUN:   v = k.copy(); k[1, 1, 7] = 0x7FC0; k[3, 0, :5] = 0xFF80; v[3, 1, 2] = 0x7FC0; \
// RUN:   np.save(r'%t.k.npy', k); np.save(r'%t.v.npy', v)"
// RUN: kvc-run %s --lengths=9 --query-lens=4 --input 1=%t.k.npy --input 2=%t.v.npy --output 1=%t.n.npy
// RUN: %python -c "import numpy as np; print(np.load(r'%t.n.npy'))" | FileCheck %s --check-prefix=COUNTS
// COUNTS: [0 1 0 6]

!cache = !kvc.cache<page = 16, k: 2x64xi8 scale<f32, token>, v: 2x64xf8E4M3FN scale<f32, token>>
func.func @step(%q: tensor<?x8x64xbf16>, %k: tensor<?x2x64xbf16>, %v: tensor<?x2x64xbf16>,
                %cache: !cache, %batch: !kvc.batch) -> (tensor<?x8x64xbf16>, tensor<?xi32>) {
  %n = kvc.append %cache[k: %k, v: %v] at %batch
      : !cache, tensor<?x2x64xbf16>, tensor<?x2x64xbf16> -> tensor<?xi32>
  %o = kvc.attention %cache at %batch terms(%q * k) value(v) score [#kvc.causal]
      {scale = 0.125 : f32} : !cache, tensor<?x8x64xbf16> -> tensor<?x8x64xbf16>
  return %o, %n : tensor<?x8x64xbf16>, tensor<?xi32>
}
