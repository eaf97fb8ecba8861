// What the CPU computes passes --verify: each function with a batch that shows what
// is special about it.

// RUN: split-file %s %t
// DEFINE: %{verify} = kvc-run --verify --threads=2

// Decode: three sequences that end in the middle, at the start and at the end of a page.
// RUN: %{verify} %t/gqa.mlir --lengths=40,17,64 | FileCheck %s --check-prefixes=CHECK,DECODE
// DECODE: @gqa on x86_64 {{.+}}, 2 threads: 3 sequences, 3 new tokens, 121 tokens in all
// DECODE-NEXT: result 0: 3x8x32xbf16, norm {{[0-9.]+$}}
// DECODE: verify: 3 query tokens against the definition in f64
// DECODE-NEXT: result 0 24 rows worst relative L2 error {{.+}} of 5e-03 (sequence {{[0-2]}}, token 0, head {{[0-7]}}) PASS
// DECODE-NEXT: argument 3, component k, appended rows 6 rows bit for bit PASS
// DECODE-NEXT: argument 3, component v, appended rows 6 rows bit for bit PASS
// DECODE-NEXT: argument 3, component k, other rows {{[0-9]+}} rows bit for bit PASS
// DECODE-NEXT: argument 3, component v, other rows {{[0-9]+}} rows bit for bit PASS

// Prefill beside decode, and a sequence without new tokens. Of 100 new tokens, 64 are
// compared, or as many as --verify-rows says.
// RUN: %{verify} %t/gqa.mlir --lengths=100,40,33 --query-lens=100,1,0 \
// RUN:   | FileCheck %s --check-prefixes=CHECK,PREFILL
// PREFILL: 3 sequences, 101 new tokens, 173 tokens in all
// PREFILL: verify: 65 query tokens
// RUN: %{verify} %t/gqa.mlir --lengths=100,40,33 --query-lens=100,1,0 --verify-rows=5 \
// RUN:   | FileCheck %s --check-prefixes=CHECK,FIVE
// FIVE: verify: 6 query tokens

// Other code and other memory, same values.
// RUN: %{verify} %t/gqa.mlir --lengths=100 --query-lens=9 --tier=plain --layout=row_major \
// RUN:   --page-order=linear --split=64 | FileCheck %s --check-prefixes=CHECK,PLAIN
// PLAIN: @gqa on x86_64 plain,
// RUN: %{verify} %t/gqa.mlir --lengths=100 --query-lens=9 --target=definition \
// RUN:   --precision=f32 | FileCheck %s --check-prefixes=CHECK,DEFINITION
// DEFINITION: @gqa on definition f32,

// A window, a softcap, sinks and the log-sum-exp, in f32.
// RUN: %{verify} %t/features.mlir --lengths=80,3 --query-lens=30,3 \
// RUN:   | FileCheck %s --check-prefixes=CHECK,FEATURES
// FEATURES: result 0 {{.+}} of 1e-05 {{.+}} PASS
// FEATURES-NEXT: result 1 132 rows worst error {{.+}} of 1e-04 {{.+}} PASS

// Every query of a batch without causal mask sees all keys.
// RUN: %{verify} %t/bidirectional.mlir --lengths=50,20 --query-lens=7 \
// RUN:   | FileCheck %s --check-prefixes=CHECK,BIDIRECTIONAL
// BIDIRECTIONAL: result 0 {{.+}} of 1e-03 {{.+}} PASS

// Rows that the program computes are compared within the tolerance of their type.
// RUN: %{verify} %t/rope.mlir --lengths=300,20 --query-lens=9 \
// RUN:   | FileCheck %s --check-prefixes=CHECK,ROPE
// ROPE: argument 4, component c, appended rows 18 rows worst relative L2 error {{.+}} of 5e-03 {{.+}} PASS
// ROPE: argument 4, component r, appended rows 18 rows worst relative L2 error {{.+}} of 5e-03 {{.+}} PASS

// Two caches, pages of one token, and numbers of tokens that the types know.
// RUN: %{verify} %t/two_caches.mlir --lengths=5,9 --query-lens=2,2 \
// RUN:   | FileCheck %s --check-prefixes=CHECK,TWO
// TWO: verify: 4 query tokens
// TWO: argument 3, component k, appended rows
// TWO-NOT: argument 4

// Without a cache, and without a batch.
// RUN: %{verify} %t/rotate.mlir --query-lens=1 | FileCheck %s
// RUN: %{verify} %t/merge.mlir --lengths=20 --query-lens=20 | FileCheck %s

// CHECK: {{^}}PASS{{$}}

//--- gqa.mlir
!gqa = !kvc.cache<page = 16, k: 2x32xbf16, v: 2x32xbf16>
func.func @gqa(%q: tensor<?x8x32xbf16>, %k: tensor<?x2x32xbf16>, %v: tensor<?x2x32xbf16>,
               %cache: !gqa, %batch: !kvc.batch) -> tensor<?x8x32xbf16> {
  kvc.append %cache[k: %k, v: %v] at %batch
      : !gqa, tensor<?x2x32xbf16>, tensor<?x2x32xbf16>
  %o = kvc.attention %cache at %batch terms(%q * k) value(v) score [#kvc.causal]
      {scale = 0.176776695 : f32} : !gqa, tensor<?x8x32xbf16> -> tensor<?x8x32xbf16>
  return %o : tensor<?x8x32xbf16>
}

//--- features.mlir
!f32 = !kvc.cache<page = 16, k: 1x16xf32, v: 1x24xf32>
func.func @features(%q: tensor<?x4x16xf32>, %cache: !f32, %batch: !kvc.batch,
                    %sinks: tensor<4xf32>) -> (tensor<?x4x24xf32>, tensor<?x4xf32>) {
  %o, %l = kvc.attention %cache at %batch terms(%q * k) value(v)
      sinks(%sinks : tensor<4xf32>)
      score [#kvc.softcap<3.0>, #kvc.causal, #kvc.window<20>] {scale = 0.25 : f32}
      : !f32, tensor<?x4x16xf32> -> tensor<?x4x24xf32>, tensor<?x4xf32>
  return %o, %l : tensor<?x4x24xf32>, tensor<?x4xf32>
}

//--- bidirectional.mlir
!f16 = !kvc.cache<page = 16, k: 2x16xf16, v: 2x16xf16>
func.func @bidirectional(%q: tensor<?x2x16xf16>, %cache: !f16, %batch: !kvc.batch)
    -> tensor<?x2x16xf16> {
  %o = kvc.attention %cache at %batch terms(%q * k) value(v) {scale = 0.25 : f32}
      : !f16, tensor<?x2x16xf16> -> tensor<?x2x16xf16>
  return %o : tensor<?x2x16xf16>
}

//--- rope.mlir
!mla = !kvc.cache<page = 64, c: 1x64xbf16, r: 1x16xbf16>
func.func @rope(%qc: tensor<?x4x64xbf16>, %qr: tensor<?x4x16xbf16>, %c: tensor<?x1x64xbf16>,
                %r: tensor<?x1x16xbf16>, %cache: !mla, %batch: !kvc.batch)
    -> tensor<?x4x64xbf16> {
  %rc = kvc.rope %c at %batch {theta = 1.0e4 : f64, rotary_width = 32 : i64}
      : tensor<?x1x64xbf16>
  %rr = kvc.rope %r at %batch {theta = 1.0e4 : f64, rotary_width = 16 : i64}
      : tensor<?x1x16xbf16>
  %rq = kvc.rope %qr at %batch {theta = 1.0e4 : f64, rotary_width = 16 : i64}
      : tensor<?x4x16xbf16>
  kvc.append %cache[c: %rc, r: %rr] at %batch
      : !mla, tensor<?x1x64xbf16>, tensor<?x1x16xbf16>
  %o = kvc.attention %cache at %batch terms(%qc * c, %rq * r) value(c) score [#kvc.causal]
      {scale = 0.11 : f32} : !mla, tensor<?x4x64xbf16>, tensor<?x4x16xbf16> -> tensor<?x4x64xbf16>
  return %o : tensor<?x4x64xbf16>
}

//--- two_caches.mlir
!ones = !kvc.cache<page = 1, k: 1x8xf16, v: 1x8xf16>
!others = !kvc.cache<page = 1, k: 1x16xf32, v: 1x16xf32>
func.func @two_caches(%q: tensor<4x2x8xf16>, %k: tensor<4x1x8xf16>, %p: tensor<4x2x16xf32>,
                      %a: !ones, %b: !others, %batch: !kvc.batch)
    -> (tensor<4x2x8xf16>, tensor<4x2x16xf32>) {
  kvc.append %a[k: %k] at %batch : !ones, tensor<4x1x8xf16>
  %o = kvc.attention %a at %batch terms(%q * k) value(v) score [#kvc.causal]
      {scale = 0.35 : f32} : !ones, tensor<4x2x8xf16> -> tensor<4x2x8xf16>
  %r = kvc.attention %b at %batch terms(%p * k) value(v) score [#kvc.causal]
      {scale = 0.25 : f32} : !others, tensor<4x2x16xf32> -> tensor<4x2x16xf32>
  return %o, %r : tensor<4x2x8xf16>, tensor<4x2x16xf32>
}

//--- rotate.mlir
func.func @rotate(%x: tensor<?x2x32xf32>, %batch: !kvc.batch, %f: tensor<8xf32>)
    -> tensor<?x2x32xf32> {
  %r = kvc.rope %x at %batch frequencies(%f : tensor<8xf32>)
      {style = #kvc<rope_style interleaved>, rotary_width = 16 : i64} : tensor<?x2x32xf32>
  return %r : tensor<?x2x32xf32>
}

//--- merge.mlir
func.func @merge(%a: tensor<?x4x16xf32>, %b: tensor<?x4x16xf32>, %la: tensor<?x4xf32>,
                 %lb: tensor<?x4xf32>) -> (tensor<?x4x16xf32>, tensor<?x4xf32>) {
  %o, %l = kvc.merge outputs(%a, %b : tensor<?x4x16xf32>, tensor<?x4x16xf32>)
      lses(%la, %lb : tensor<?x4xf32>, tensor<?x4xf32>) : tensor<?x4x16xf32>, tensor<?x4xf32>
  return %o, %l : tensor<?x4x16xf32>, tensor<?x4xf32>
}
