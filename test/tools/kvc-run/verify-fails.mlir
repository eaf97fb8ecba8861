// --verify fails where a program and a definition differ: in one key that one query
// sees, in what is appended, in the log-sum-exp alone.

// RUN: split-file %s %t
// RUN: kvc-run %t/window-9.mlir --verify --lengths=9 | FileCheck %s --check-prefix=SAME
// SAME: {{^}}PASS{{$}}

// The queries of the first sequence see no key that a window of 9 leaves out.
// RUN: not kvc-run %t/window-9.mlir --verify --verify-against=%t/window-10.mlir \
// RUN:   --lengths=9,12 --query-lens=9,3 | FileCheck %s --check-prefix=WINDOW
// WINDOW: result 0 48 rows worst relative L2 error {{.+}} of 1e-03 (sequence 1, token {{[0-2]}}, head {{[0-3]}}) FAIL
// WINDOW-NEXT: 12 rows differ; sequence 1, token {{[0-2]}}, head {{[0-3]}}: relative L2 error
// WINDOW-NEXT: result 1 {{.+}} FAIL
// WINDOW-NEXT: 12 rows differ; sequence 1, token {{[0-2]}}, head {{[0-3]}}: expected {{.+}}, got
// WINDOW-NEXT: argument 2, component k, appended rows {{.+}} bit for bit PASS
// WINDOW: {{^}}FAIL{{$}}

// Only the component that other rows are appended to.
// RUN: not kvc-run %t/window-9.mlir --verify --verify-against=%t/appends-rotated.mlir \
// RUN:   --lengths=9,12 --query-lens=1 | FileCheck %s --check-prefix=APPEND
// APPEND: argument 2, component k, appended rows 4 rows bit for bit FAIL
// APPEND-NEXT: 4 rows differ; sequence {{[01]}}, token 0, head {{[01]}}: element 0: expected {{.+}}, got
// APPEND: argument 2, component k, other rows {{.+}} PASS
// APPEND: {{^}}FAIL{{$}}

// RUN: not kvc-run %t/window-9.mlir --verify --verify-against=%t/window-10.mlir \
// RUN:   --lengths=12 --json | FileCheck %s --check-prefix=JSON
// JSON: "verify": {
// JSON: "failure": "sequence 0, token 0, head {{[0-3]}}: relative L2 error
// JSON: "what": "argument 2, component k, other rows"
// JSON: "passed": false,
// JSON-NEXT: "query_tokens": 1

//--- window-9.mlir
!cache = !kvc.cache<page = 16, k: 2x16xf16, v: 2x16xf16>
func.func @f(%q: tensor<?x4x16xf16>, %k: tensor<?x2x16xf16>, %cache: !cache,
             %batch: !kvc.batch) -> (tensor<?x4x16xf16>, tensor<?x4xf32>) {
  kvc.append %cache[k: %k] at %batch : !cache, tensor<?x2x16xf16>
  %o, %l = kvc.attention %cache at %batch terms(%q * k) value(v)
      score [#kvc.causal, #kvc.window<9>] {scale = 0.25 : f32}
      : !cache, tensor<?x4x16xf16> -> tensor<?x4x16xf16>, tensor<?x4xf32>
  return %o, %l : tensor<?x4x16xf16>, tensor<?x4xf32>
}

//--- window-10.mlir
!cache = !kvc.cache<page = 16, k: 2x16xf16, v: 2x16xf16>
func.func @f(%q: tensor<?x4x16xf16>, %k: tensor<?x2x16xf16>, %cache: !cache,
             %batch: !kvc.batch) -> (tensor<?x4x16xf16>, tensor<?x4xf32>) {
  kvc.append %cache[k: %k] at %batch : !cache, tensor<?x2x16xf16>
  %o, %l = kvc.attention %cache at %batch terms(%q * k) value(v)
      score [#kvc.causal, #kvc.window<10>] {scale = 0.25 : f32}
      : !cache, tensor<?x4x16xf16> -> tensor<?x4x16xf16>, tensor<?x4xf32>
  return %o, %l : tensor<?x4x16xf16>, tensor<?x4xf32>
}

//--- appends-rotated.mlir
!cache = !kvc.cache<page = 16, k: 2x16xf16, v: 2x16xf16>
func.func @f(%q: tensor<?x4x16xf16>, %k: tensor<?x2x16xf16>, %cache: !cache,
             %batch: !kvc.batch) -> (tensor<?x4x16xf16>, tensor<?x4xf32>) {
  %r = kvc.rope %k at %batch {theta = 1.0e4 : f64, rotary_width = 16 : i64}
      : tensor<?x2x16xf16>
  kvc.append %cache[k: %r] at %batch : !cache, tensor<?x2x16xf16>
  %o, %l = kvc.attention %cache at %batch terms(%q * k) value(v)
      score [#kvc.causal, #kvc.window<9>] {scale = 0.25 : f32}
      : !cache, tensor<?x4x16xf16> -> tensor<?x4x16xf16>, tensor<?x4xf32>
  return %o, %l : tensor<?x4x16xf16>, tensor<?x4xf32>
}
