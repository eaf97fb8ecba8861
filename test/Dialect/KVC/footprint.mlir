// RUN: kvc-opt %s -kvc-footprint="tokens=8192 batch=32 layers=80 print" -split-input-file \
// RUN:   -o /dev/null 2>&1 | FileCheck %s
// RUN: kvc-opt %s -kvc-footprint="tokens=8192 batch=32 layers=80" -split-input-file -o /dev/null \
// RUN:   -remark-policy=all -remarks-filter='kvc-footprint' 2>&1 \
// RUN:   | FileCheck %s --check-prefix=REMARK
// RUN: kvc-opt %s -kvc-page-cache -kvc-footprint="tokens=8192 batch=32 layers=80 print" \
// RUN:   -split-input-file -o /dev/null 2>&1 | FileCheck %s --check-prefix=PAGED
// RUN: not kvc-opt %s -kvc-footprint=batch=0 -split-input-file 2>&1 \
// RUN:   | FileCheck %s --check-prefix=ERROR
// RUN: not kvc-opt %s -kvc-footprint="tokens=9223372036854775807 layers=2" -split-input-file 2>&1 \
// RUN:   | FileCheck %s --check-prefix=LARGE

// ERROR: error: expected batch to be at least 1, got 0
// LARGE: error: expected caches of less than 2^63 bytes in all

// A 70B model with 8 KV heads for 32 users at 8,192 tokens fills an H100.
// CHECK:      kvc-footprint: bytes of a token
// CHECK-NEXT:   cache            before        after     ratio
// CHECK-NEXT:   k+v                4096         4096     1.00x
// CHECK-NEXT:   85899345920 bytes in all: 32 sequences x 8192 tokens x 80 layers
// REMARK: [Analysis] Footprint | Category:kvc-footprint {{.*}}"cache 'k+v': 4096 bytes a token, 4096 as written, 1.00x"
// REMARK: [Analysis] Footprint | Category:kvc-footprint {{.*}}"all caches: 85899345920 bytes, of 32 sequences x 8192 tokens x 80 layers"
func.func @paged(%cache: !kvc.cache<page = 16, k: 8x128xbf16, v: 8x128xbf16> {kvc.cache = "k+v"}) {
  return
}
func.func @same(%cache: !kvc.cache<page = 16, k: 8x128xbf16, v: 8x128xbf16> {kvc.cache = "k+v"}) {
  return
}

// -----

// Latent rows instead of keys and values of 128 heads, and a cache without a name.
// CHECK:        cache before        after     ratio
// CHECK-NEXT:   cache 0 32           32     1.00x
// CHECK-NEXT:   latent 81920         1152    71.11x
// CHECK-NEXT:   all caches 81952         1184    69.22x
module attributes {kvc.written_bytes = {latent = 81920}} {
  func.func @absorbed(%other: !kvc.cache<page = 16, k: 1x16xf16>,
                      %cache: !kvc.cache<page = 16, c: 1x512xbf16, r: 1x64xbf16> {kvc.cache = "latent"}) {
    return
  }
}

// -----

#q = affine_map<(b, h, g, i, j, w) -> (b, h, w)>
#kv = affine_map<(b, h, g, i, j, w) -> (b, h, j, w)>

// Tensors: what a token is, attention says; the length of a static cache is no part of it.
// Paging keeps the figures.
// CHECK:        cache before        after     ratio
// CHECK-NEXT:   k 2048         2048     1.00x
// CHECK-NEXT:   v 2048         2048     1.00x
// CHECK-NEXT:   all caches 4096         4096     1.00x
// CHECK-NEXT:   85899345920 bytes in all
// PAGED:        latent
// PAGED:        k+v 4096         4096     1.00x
// PAGED-NEXT:   85899345920 bytes in all
func.func @tensors(%q: tensor<2x8x128xbf16>, %new_k: tensor<2x8x1x128xbf16>, %new_v: tensor<2x8x1x128xbf16>, %past: index,
                   %past_k: tensor<2x8x64x128xbf16> {kvc.cache = "k"}, %past_v: tensor<2x8x64x128xbf16> {kvc.cache = "v"})
    -> (tensor<2x8x128xbf16>, tensor<2x8x64x128xbf16> {kvc.cache = "k"}, tensor<2x8x64x128xbf16> {kvc.cache = "v"}) {
  %c1 = arith.constant 1 : index
  %all = arith.addi %past, %c1 : index
  %k = tensor.insert_slice %new_k into %past_k[0, 0, %past, 0] [2, 8, 1, 128] [1, 1, 1, 1] : tensor<2x8x1x128xbf16> into tensor<2x8x64x128xbf16>
  %v = tensor.insert_slice %new_v into %past_v[0, 0, %past, 0] [2, 8, 1, 128] [1, 1, 1, 1] : tensor<2x8x1x128xbf16> into tensor<2x8x64x128xbf16>
  %keys = tensor.extract_slice %k[0, 0, 0, 0] [2, 8, %all, 128] [1, 1, 1, 1] : tensor<2x8x64x128xbf16> to tensor<2x8x?x128xbf16>
  %values = tensor.extract_slice %v[0, 0, 0, 0] [2, 8, %all, 128] [1, 1, 1, 1] : tensor<2x8x64x128xbf16> to tensor<2x8x?x128xbf16>
  %o = kvc.dense_attention terms(%q * %keys) value(%values) score [#kvc.causal]
      maps [#q, #kv, #kv, #q] {scale = 0.25 : f32} : (tensor<2x8x128xbf16>, tensor<2x8x?x128xbf16>, tensor<2x8x?x128xbf16>) -> tensor<2x8x128xbf16>
  return %o, %k, %v : tensor<2x8x128xbf16>, tensor<2x8x64x128xbf16>, tensor<2x8x64x128xbf16>
}

// -----

// Without an attention: what is static. Where nothing says which dimension counts tokens,
// nothing is known.
// CHECK:        cache before        after     ratio
// CHECK-NEXT:   k 9999         2048     4.88x
// CHECK-NEXT:   42949672960 bytes in all
// REMARK: [Missed] Footprint {{.*}}"footprint of cache 's' not known: no dimension of tensor<2x64x16xf16> is known to count tokens"
module attributes {kvc.written_bytes = {k = 9999}} {
  func.func private @declared(tensor<?x?x8x128xbf16> {kvc.cache = "k"}, tensor<2x64x16xf16> {kvc.cache = "s"})
}
