// Caches of codes and scales pass --verify: codes, scales and zero points that are made of
// arguments byte for byte, others by the numbers that they stand for.

// RUN: split-file %s %t
// DEFINE: %{target} = --target=definition
// DEFINE: %{verify} = kvc-run --verify --threads=2 %{target}

// Elements of 8 bits with scales per token.
// RUN: %{verify} %t/bytes.mlir --lengths=40,17,64 | FileCheck %s --check-prefixes=CHECK,BYTES
// BYTES: result 0 24 rows worst relative L2 error {{.+}} of 1e-05 {{.+}} PASS
// BYTES-NEXT: argument 3, component k, appended rows 6 rows bit for bit PASS
// BYTES-NEXT: argument 3, component k.scale, appended rows 6 rows bit for bit PASS
// BYTES-NEXT: argument 3, component v, appended rows 6 rows bit for bit PASS
// BYTES-NEXT: argument 3, component v.scale, appended rows 6 rows bit for bit PASS
// BYTES-NEXT: argument 3, component k, other rows {{[0-9]+}} rows bit for bit PASS
// BYTES-NEXT: argument 3, component k.scale, other rows {{[0-9]+}} rows bit for bit PASS
// BYTES-NEXT: argument 3, component v, other rows {{[0-9]+}} rows bit for bit PASS
// BYTES-NEXT: argument 3, component v.scale, other rows {{[0-9]+}} rows bit for bit PASS

// Packed pages, and several new tokens of a sequence.
// RUN: %{verify} %t/bytes.mlir --lengths=40,17 --query-lens=21,3 --layout=packed \
// RUN:   | FileCheck %s

// Of 4 bits, with zero points and groups of which the last is partial.
// RUN: %{verify} %t/nibbles.mlir --lengths=40,17 --query-lens=9,1 \
// RUN:   | FileCheck %s --check-prefixes=CHECK,NIBBLES
// NIBBLES: argument 3, component k, appended rows 20 rows bit for bit PASS
// NIBBLES-NEXT: argument 3, component k.scale, appended rows 20 rows bit for bit PASS
// NIBBLES-NEXT: argument 3, component k.zero, appended rows 20 rows bit for bit PASS
// NIBBLES-NEXT: argument 3, component v, appended rows 20 rows bit for bit PASS
// NIBBLES-NEXT: argument 3, component v.scale, appended rows 20 rows bit for bit PASS
// NIBBLES-NEXT: argument 3, component k, other rows
// RUN: %{verify} %t/nibbles.mlir --lengths=40,17 --query-lens=9,1 --layout=packed \
// RUN:   | FileCheck %s

// Static scales are not appended; that they stay is checked.
// RUN: %{verify} %t/static.mlir --lengths=20,33 | FileCheck %s --check-prefixes=CHECK,STATIC
// STATIC: argument 3, component k, appended rows 4 rows bit for bit PASS
// STATIC-NEXT: argument 3, component v, appended rows 4 rows bit for bit PASS
// STATIC-NEXT: argument 3, component k, other rows {{[0-9]+}} rows bit for bit PASS
// STATIC-NEXT: argument 3, component k.scale 2 rows bit for bit PASS
// STATIC-NEXT: argument 3, component k.zero 2 rows bit for bit PASS
// STATIC-NEXT: argument 3, component v, other rows {{[0-9]+}} rows bit for bit PASS
// STATIC-NEXT: argument 3, component v.scale 1 rows bit for bit PASS
// STATIC-NOT: argument

// Constant scales, and floats that have none.
// RUN: %{verify} %t/constant.mlir --lengths=20,33 --layout=packed \
// RUN:   | FileCheck %s --check-prefixes=CHECK,CONSTANT
// CONSTANT: argument 3, component v, other rows
// CONSTANT-NOT: scale

// What a rotary embedding made is compared by what it stands for.
// RUN: %{verify} %t/rope.mlir --lengths=70,5 --query-lens=40,5 \
// RUN:   | FileCheck %s --check-prefixes=CHECK,ROPE
// ROPE: argument 3, component k, appended rows 90 rows worst error in steps of a code {{.+}} of 1e+00 {{.+}} PASS
// ROPE-NEXT: argument 3, component v, appended rows 90 rows worst error in steps of a code {{.+}} PASS
// ROPE-NEXT: argument 3, component k, other rows
// ROPE-NEXT: argument 3, component k.scale, other rows

// The kernels of the CPU store the same bytes.
// REDEFINE: %{target} = --lengths=70,17,33 --query-lens=21,1,5
// RUN: %{verify} %t/bytes.mlir | FileCheck %s --check-prefixes=CHECK,CPU
// RUN: %{verify} %t/nibbles.mlir | FileCheck %s --check-prefixes=CHECK,CPU
// RUN: %{verify} %t/static.mlir | FileCheck %s --check-prefixes=CHECK,CPU
// RUN: %{verify} %t/constant.mlir | FileCheck %s --check-prefixes=CHECK,CPU
// RUN: %{verify} %t/rope.mlir | FileCheck %s
// CPU: @{{[a-z]+}} on x86_64
// CPU: argument 3, component k, appended rows 54 rows bit for bit PASS
// REDEFINE: %{target} = --lengths=70,17,33 --tier=plain --layout=row_major
// RUN: %{verify} %t/bytes.mlir | FileCheck %s
// RUN: %{verify} %t/nibbles.mlir | FileCheck %s

// Of which some want keys in other places than the definition does.
// REDEFINE: %{target} = --lengths=70,17,33 --query-lens=21,1,5 --tier=plain
// RUN: %{verify} %t/bytes.mlir | FileCheck %s --check-prefixes=CHECK,CPU
// RUN: %{verify} %t/nibbles.mlir | FileCheck %s --check-prefixes=CHECK,CPU
// RUN: %{verify} %t/static.mlir | FileCheck %s --check-prefixes=CHECK,CPU
// REDEFINE: %{target} = --target=definition

// CHECK: {{^}}PASS{{$}}

// A program that stores something else is found out.
// RUN: not %{verify} %t/straight.mlir --lengths=40,17 --verify-against=%t/rope.mlir \
// RUN:   | FileCheck %s --check-prefix=DIFFERS
// DIFFERS: argument 3, component k, appended rows 4 rows bit for bit FAIL
// DIFFERS-NEXT: 4 rows differ; sequence {{.+}}: element {{[0-9]+}}: expected {{-?[0-9]+}}, got {{-?[0-9]+}}
// DIFFERS: argument 3, component v, appended rows 4 rows bit for bit FAIL
// DIFFERS-NEXT: 4 rows differ; sequence {{.+}}: element {{[0-9]+}}: expected {{-?[0-7]}} and {{-?[0-7]}}, got
// RUN: sed 's/page = 16/page = 32/' %t/bytes.mlir > %t/pages.mlir
// RUN: not %{verify} %t/bytes.mlir --verify-against=%t/pages.mlir 2>&1 \
// RUN:   | FileCheck %s --check-prefix=PAGES
// PAGES: kvc-run: error: expected argument 3 of the function of --verify-against to be a cache of the same components and page size
// RUN: not %{verify} %t/rope.mlir --lengths=40,17 --verify-against=%t/straight.mlir \
// RUN:   | FileCheck %s --check-prefix=TURNED
// TURNED: argument 3, component k, appended rows 4 rows worst error in steps of a code {{.+}} FAIL
// TURNED-NEXT: rows differ; sequence {{.+}}: element {{[0-9]+}}: expected {{.+}}, got {{.+}}, at steps of

// Bytes of scales are counted: 40 tokens of 2 heads, 32 codes and a scale of k and v.
// RUN: kvc-run --bench --repetitions=1 --tier=plain %t/bytes.mlir --lengths=40 --json \
// RUN:   | FileCheck %s --check-prefix=BENCH
// BENCH: "kv_bytes": 5760,
// Static ones once: 20 tokens of 2 heads, 16 bytes of k and 32 of v; 2 x 2 x 2 and 4 bytes.
// RUN: kvc-run --bench --repetitions=1 --target=definition %t/static.mlir --lengths=20 --json \
// RUN:   | FileCheck %s --check-prefix=STATICBENCH
// STATICBENCH: "kv_bytes": 1932,

//--- bytes.mlir
!cache = !kvc.cache<page = 16, k: 2x32xi8 scale<f32, token>, v: 2x32xf8E4M3FN scale<f32, token>>
func.func @bytes(%q: tensor<?x8x32xf32>, %k: tensor<?x2x32xf32>, %v: tensor<?x2x32xf32>,
                 %cache: !cache, %batch: !kvc.batch) -> tensor<?x8x32xf32> {
  kvc.append %cache[k: %k, v: %v] at %batch
      : !cache, tensor<?x2x32xf32>, tensor<?x2x32xf32>
  %o = kvc.attention %cache at %batch terms(%q * k) value(v) score [#kvc.causal]
      {scale = 0.176776695 : f32} : !cache, tensor<?x8x32xf32> -> tensor<?x8x32xf32>
  return %o : tensor<?x8x32xf32>
}

//--- nibbles.mlir
!cache = !kvc.cache<page = 16, k: 2x72xi4 scale<f16, group = 32, zero_point>,
                               v: 2x72xi4 scale<f16, group = 64>>
func.func @nibbles(%q: tensor<?x4x72xf32>, %k: tensor<?x2x72xf16>, %v: tensor<?x2x72xf16>,
                   %cache: !cache, %batch: !kvc.batch) -> tensor<?x4x72xf32> {
  kvc.append %cache[k: %k, v: %v] at %batch
      : !cache, tensor<?x2x72xf16>, tensor<?x2x72xf16>
  %o = kvc.attention %cache at %batch terms(%q * k) value(v) score [#kvc.causal]
      {scale = 0.12 : f32} : !cache, tensor<?x4x72xf32> -> tensor<?x4x72xf32>
  return %o : tensor<?x4x72xf32>
}

//--- static.mlir
!cache = !kvc.cache<page = 16, k: 2x32xi4 scale<f16, head, static, zero_point>,
                               v: 2x32xi8 scale<f32, tensor, static>>
func.func @static(%q: tensor<?x4x32xf32>, %k: tensor<?x2x32xf32>, %v: tensor<?x2x32xf32>,
                  %cache: !cache, %batch: !kvc.batch) -> tensor<?x4x32xf32> {
  kvc.append %cache[k: %k, v: %v] at %batch
      : !cache, tensor<?x2x32xf32>, tensor<?x2x32xf32>
  %o = kvc.attention %cache at %batch terms(%q * k) value(v) score [#kvc.causal]
      {scale = 0.176776695 : f32} : !cache, tensor<?x4x32xf32> -> tensor<?x4x32xf32>
  return %o : tensor<?x4x32xf32>
}

//--- constant.mlir
!cache = !kvc.cache<page = 16, k: 2x32xi8 scale<f32, tensor, static = 0.025>, v: 2x32xf8E5M2>
func.func @constant(%q: tensor<?x4x32xf32>, %k: tensor<?x2x32xbf16>, %v: tensor<?x2x32xbf16>,
                    %cache: !cache, %batch: !kvc.batch) -> tensor<?x4x32xf32> {
  kvc.append %cache[k: %k, v: %v] at %batch
      : !cache, tensor<?x2x32xbf16>, tensor<?x2x32xbf16>
  %o = kvc.attention %cache at %batch terms(%q * k) value(v) score [#kvc.causal]
      {scale = 0.176776695 : f32} : !cache, tensor<?x4x32xf32> -> tensor<?x4x32xf32>
  return %o : tensor<?x4x32xf32>
}

//--- rope.mlir
!cache = !kvc.cache<page = 16, k: 2x64xi8 scale<f32, token>, v: 2x64xi4 scale<f16, group = 32, zero_point>>
func.func @rope(%q: tensor<?x4x64xf32>, %k: tensor<?x2x64xf32>, %v: tensor<?x2x64xf32>,
                %cache: !cache, %batch: !kvc.batch) -> tensor<?x4x64xf32> {
  %rk = kvc.rope %k at %batch {theta = 1.0e4 : f64, rotary_width = 64 : i64} : tensor<?x2x64xf32>
  %rv = kvc.rope %v at %batch {theta = 1.0e4 : f64, rotary_width = 32 : i64} : tensor<?x2x64xf32>
  kvc.append %cache[k: %rk, v: %rv] at %batch
      : !cache, tensor<?x2x64xf32>, tensor<?x2x64xf32>
  %o = kvc.attention %cache at %batch terms(%q * k) value(v) score [#kvc.causal]
      {scale = 0.125 : f32} : !cache, tensor<?x4x64xf32> -> tensor<?x4x64xf32>
  return %o : tensor<?x4x64xf32>
}

//--- straight.mlir
!cache = !kvc.cache<page = 16, k: 2x64xi8 scale<f32, token>, v: 2x64xi4 scale<f16, group = 32, zero_point>>
func.func @rope(%q: tensor<?x4x64xf32>, %k: tensor<?x2x64xf32>, %v: tensor<?x2x64xf32>,
                %cache: !cache, %batch: !kvc.batch) -> tensor<?x4x64xf32> {
  kvc.append %cache[k: %k, v: %v] at %batch
      : !cache, tensor<?x2x64xf32>, tensor<?x2x64xf32>
  %o = kvc.attention %cache at %batch terms(%q * k) value(v) score [#kvc.causal]
      {scale = 0.125 : f32} : !cache, tensor<?x4x64xf32> -> tensor<?x4x64xf32>
  return %o : tensor<?x4x64xf32>
}
