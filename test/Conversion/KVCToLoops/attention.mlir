// RUN: kvc-opt %s -kvc-decompose -canonicalize -cse -split-input-file | FileCheck %s
// RUN: kvc-opt %s -kvc-decompose=precision=f64 -canonicalize -cse -split-input-file \
// RUN:   | FileCheck %s --check-prefix=F64

!cache = !kvc.cache<page = 16, k: 2x8xbf16, v: 2x24xbf16>

// Two passes over the keys: the largest score, then the sum and the weighted sum.
// CHECK-LABEL: func.func @two_passes
// CHECK-SAME:    %[[Q:[^:]*]]: memref<?x8x8xbf16, strided<[?, ?, 1]>>,
// CHECK-SAME:    %[[K:[^:]*]]: memref<?x16x2x8xbf16, strided<[?, ?, ?, 1], offset: ?>>,
// CHECK-SAME:    %[[V:[^:]*]]: memref<?x16x2x24xbf16, strided<[?, ?, ?, 1], offset: ?>>,
// CHECK-SAME:    %[[STARTS:[^:]*]]: memref<?xi32>, %[[LENS:[^:]*]]: memref<?xi32>,
// CHECK-SAME:    %[[PAGES:[^:]*]]: memref<?xi32>,
// F64-LABEL: func.func @two_passes
func.func @two_passes(%q: tensor<?x8x8xbf16>, %cache: !cache, %batch: !kvc.batch)
    -> (tensor<?x8x24xbf16>, tensor<?x8xf32>) {
  // CHECK-DAG: %[[NONE:.*]] = arith.constant 0xFF800000 : f32
  // CHECK-DAG: %[[ZEROS:.*]] = arith.constant dense<0.000000e+00> : tensor<24xf32>
  // CHECK-DAG: %[[SCALE:.*]] = arith.constant 5.000000e-01 : f32
  // F64-DAG: arith.constant 0xFFF0000000000000 : f64

  // Sequences, their query tokens, query heads.
  // CHECK:      %[[BEGIN:.*]] = arith.index_cast %{{.*}} : i32 to index
  // CHECK:      %[[END:.*]] = arith.index_cast %{{.*}} : i32 to index
  // CHECK:      %[[KV_LEN:.*]] = arith.index_cast %{{.*}} : i32 to index
  // CHECK:      %[[SHIFT:.*]] = arith.subi %[[KV_LEN]], %[[END]]
  // CHECK:      scf.for %[[TOKEN:.*]] = %[[BEGIN]] to %[[END]]
  // CHECK:        %[[POSITION:.*]] = arith.addi %[[SHIFT]], %[[TOKEN]]
  // CHECK:        scf.for %[[HEAD:.*]] = %{{.*}} to %c8
  // CHECK:          %[[KV_HEAD:.*]] = arith.divui %[[HEAD]], %c4

  // A key that the query does not see is not read, its page id neither.
  // CHECK:          %[[FOUND:.*]] = scf.for %[[KEY:.*]] = %c0{{.*}} to %[[KV_LEN]] {{.*}} iter_args(%[[MAX:.*]] = %[[NONE]])
  // CHECK-NEXT:       %[[KEEP:.*]] = arith.cmpi sle, %[[KEY]], %[[POSITION]]
  // CHECK-NEXT:       scf.if %[[KEEP]]
  // CHECK:              memref.load %[[PAGES]]
  // CHECK:              memref.load %[[K]][%{{.*}}, %{{.*}}, %[[KV_HEAD]], %{{.*}}]
  // CHECK:              arith.mulf %{{.*}}, %[[SCALE]]
  // CHECK:              arith.maximumf %[[MAX]]
  // CHECK:            else
  // CHECK-NEXT:         scf.yield %[[MAX]]
  // F64: arith.extf %{{.*}} : bf16 to f64
  // F64: arith.maximumf %{{.*}} : f64

  // Where all scores are -inf, differences are to 0.
  // CHECK:          %[[IS_EMPTY:.*]] = arith.cmpf oeq, %[[FOUND]], %[[NONE]]
  // CHECK:          %[[SHIFTED:.*]] = arith.select %[[IS_EMPTY]], %{{.*}}, %[[FOUND]]

  // CHECK:          %[[SUMS:.*]]:2 = scf.for {{.*}} iter_args(%{{.*}} = %{{.*}}, %{{.*}} = %[[ZEROS]])
  // CHECK:            arith.subf %{{.*}}, %[[SHIFTED]]
  // CHECK:            math.exp
  // CHECK:            memref.load %[[V]]

  // One rounding; the log-sum-exp stays f32.
  // CHECK:          arith.divf
  // CHECK-NEXT:     arith.truncf %{{.*}} : f32 to bf16
  // CHECK:          %[[LOG:.*]] = math.log %[[SUMS]]#0 : f32
  // CHECK:          arith.addf %[[SHIFTED]], %[[LOG]] : f32
  // F64: arith.truncf %{{.*}} : f64 to bf16
  // F64: math.log %{{.*}} : f64
  // F64: arith.truncf %{{.*}} : f64 to f32
  %out, %lse = kvc.attention %cache at %batch terms(%q * k) value(v) score [#kvc.causal]
      {scale = 0.5 : f32} : !cache, tensor<?x8x8xbf16> -> tensor<?x8x24xbf16>, tensor<?x8xf32>
  return %out, %lse : tensor<?x8x24xbf16>, tensor<?x8xf32>
}

// -----

!cache = !kvc.cache<page = 16, k: 2x8xf32, v: 2x8xf32>

// Without a modifier that hides keys there is no condition.
// CHECK-LABEL: func.func @all_keys
func.func @all_keys(%q: tensor<?x2x8xf32>, %cache: !cache, %batch: !kvc.batch)
    -> tensor<?x2x8xf32> {
  // CHECK:     scf.for {{.*}} -> (f32)
  // CHECK-NOT: scf.if
  // CHECK:     arith.maximumf
  %out = kvc.attention %cache at %batch terms(%q * k) value(v) {scale = 1.0 : f32}
      : !cache, tensor<?x2x8xf32> -> tensor<?x2x8xf32>
  return %out : tensor<?x2x8xf32>
}

// -----

!cache = !kvc.cache<page = 16, k: 2x8xf32, v: 2x8xf32>

// Modifiers change the score in their order; what they hide adds up. A sink is
// in both passes, and has no value.
// CHECK-LABEL: func.func @modifiers
func.func @modifiers(%q: tensor<?x2x8xf32>, %cache: !cache, %batch: !kvc.batch,
                     %sinks: tensor<2xf32>) -> tensor<?x2x8xf32> {
  // CHECK: %[[SINK:.*]] = tensor.extract %{{.*}}[%{{.*}}] : tensor<2xf32>
  // CHECK: scf.for {{.*}} iter_args(%{{.*}} = %[[SINK]])
  // CHECK:   %[[CAUSAL:.*]] = arith.cmpi sle
  // CHECK:   %[[NEAR:.*]] = arith.cmpi slt
  // CHECK:   %[[KEEP:.*]] = arith.andi %[[CAUSAL]], %[[NEAR]]
  // CHECK:   scf.if %[[KEEP]]
  // CHECK:     math.tanh
  // CHECK:     arith.maximumf
  // CHECK: %[[WEIGHT:.*]] = math.exp
  // CHECK: scf.for {{.*}} iter_args(%{{.*}} = %[[WEIGHT]], %{{.*}} = %{{.*}})
  // CHECK:     math.tanh
  %out = kvc.attention %cache at %batch terms(%q * k) value(v) sinks(%sinks : tensor<2xf32>)
      score [#kvc.causal, #kvc.window<5>, #kvc.softcap<20.0>] {scale = 1.0 : f32}
      : !cache, tensor<?x2x8xf32> -> tensor<?x2x8xf32>
  return %out : tensor<?x2x8xf32>
}

// -----

!cache = !kvc.cache<page = 16, k: 2x8xf32, v: 2x8xf32>

// Modifiers are applied in the order of the list, after the scale; a bias by distance
// takes the positions of the key and the query, and the query head.
// CHECK-LABEL: func.func @alibi
func.func @alibi(%q: tensor<?x6x8xf32>, %cache: !cache, %batch: !kvc.batch)
    -> tensor<?x6x8xf32> {
  // CHECK: scf.for %{{[^ ]*}} =
  // CHECK: scf.for %[[TOKEN:[^ ]*]] =
  // CHECK: %[[POSITION:.*]] = arith.addi %{{.*}}, %[[TOKEN]]
  // CHECK: scf.for %[[HEAD:[^ ]*]] =
  // CHECK: scf.for %[[KEY:[^ ]*]] =
  // CHECK: math.tanh
  // CHECK: %[[CAPPED:.*]] = arith.mulf
  // CHECK-DAG: %[[DISTANCE:.*]] = arith.subi %[[KEY]], %[[POSITION]] : index
  // CHECK-DAG: %[[INT:.*]] = arith.index_cast %[[DISTANCE]] : index to i64
  // CHECK-DAG: %[[FLOAT:.*]] = arith.sitofp %[[INT]] : i64 to f32
  // CHECK-DAG: arith.cmpi slt, %[[HEAD]], %
  // CHECK-DAG: arith.index_cast %[[HEAD]] : index to i64
  // CHECK-DAG: %[[SLOPE:.*]] = math.exp2
  // CHECK: %[[BIAS:.*]] = arith.mulf %[[SLOPE]], %[[FLOAT]]
  // CHECK: arith.addf %[[CAPPED]], %[[BIAS]]
  // CHECK: arith.maximumf
  %out = kvc.attention %cache at %batch terms(%q * k) value(v)
      score [#kvc.softcap<20.0>, #kvc.alibi] {scale = 0.5 : f32}
      : !cache, tensor<?x6x8xf32> -> tensor<?x6x8xf32>
  return %out : tensor<?x6x8xf32>
}

// -----

!cache = !kvc.cache<page = 16, c: 1x16xf16, r: 1x8xf16>

// Terms add up in one sum; a component may be key and value.
// CHECK-LABEL: func.func @latent
// CHECK-SAME:    %[[C:[^:]*]]: memref<?x16x1x16xf16, {{[^:]*}}: ?>>,
// CHECK-SAME:    %[[R:[^:]*]]: memref<?x16x1x8xf16,
func.func @latent(%qc: tensor<?x4x16xf16>, %qr: tensor<?x4x8xf16>, %cache: !cache,
                  %batch: !kvc.batch) -> tensor<?x4x16xf16> {
  // CHECK: memref.load %[[C]]
  // CHECK: %[[SUM:.*]] = arith.addf
  // CHECK: scf.yield %[[SUM]]
  // CHECK: scf.for {{.*}} iter_args(%[[BOTH:[^ ]*]] = %{{[0-9]+}})
  // CHECK:   memref.load %[[R]]
  // CHECK:   arith.addf %[[BOTH]]
  // CHECK: arith.maximumf
  // CHECK: math.exp
  // CHECK: memref.load %[[C]]
  %out = kvc.attention %cache at %batch terms(%qc * c, %qr * r) value(c) {scale = 1.0 : f32}
      : !cache, tensor<?x4x16xf16>, tensor<?x4x8xf16> -> tensor<?x4x16xf16>
  return %out : tensor<?x4x16xf16>
}

// -----

!packed = !kvc.cache<page = 32, k: 2x8xbf16 layout<packed_key>, v: 2x8xbf16 layout<packed_value>>

// Packed pages: [head][token / 16][w / 2][token % 16][w % 2] and
// [head][token / 2][w][token % 2].
// CHECK-LABEL: func.func @packed
// CHECK-SAME:    %[[K:[^:]*]]: memref<?x2x2x4x16x2xbf16, strided<[?, ?, 128, 32, 2, 1]>>
// CHECK-SAME:    %[[V:[^:]*]]: memref<?x2x16x8x2xbf16, strided<[?, ?, 16, 2, 1]>>
func.func @packed(%q: tensor<?x2x8xbf16>, %cache: !packed, %batch: !kvc.batch)
    -> tensor<?x2x8xbf16> {
  // CHECK: %[[TOKEN:.*]] = arith.remui %{{.*}}, %c32
  // CHECK: scf.for %[[W:.*]] = %c0
  // CHECK:   %[[BLOCK:.*]] = arith.divui %[[TOKEN]], %c16
  // CHECK:   %[[PAIR:.*]] = arith.divui %[[W]], %c2
  // CHECK:   %[[ROW:.*]] = arith.remui %[[TOKEN]], %c16
  // CHECK:   %[[HALF:.*]] = arith.remui %[[W]], %c2
  // CHECK:   memref.load %[[K]][%{{.*}}, %{{.*}}, %[[BLOCK]], %[[PAIR]], %[[ROW]], %[[HALF]]]
  // CHECK: math.exp
  // CHECK: scf.for %[[COLUMN:.*]] = %c0
  // CHECK:   memref.load %[[V]][%{{.*}}, %{{.*}}, %{{.*}}, %[[COLUMN]], %{{.*}}]
  %out = kvc.attention %cache at %batch terms(%q * k) value(v) {scale = 1.0 : f32}
      : !packed, tensor<?x2x8xbf16> -> tensor<?x2x8xbf16>
  return %out : tensor<?x2x8xbf16>
}
