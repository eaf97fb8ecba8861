// RUN: kvc-opt %s -kvc-outline-host-code -split-input-file | FileCheck %s

!cache = !kvc.cache<page = 16, k: 2x8xf32, v: 2x8xf32>

// What is between two kvc operations becomes one part. A scalar that several need is
// computed in each; what a part makes and others need are its results.
// CHECK-LABEL: func.func @layer(
// CHECK-SAME:    %[[X:[^:]*]]: tensor<?x16xf32>, %[[C:[^:]*]]: !kvc.cache<{{[^>]*}}>, %[[B:[^:]*]]: !kvc.batch)
// CHECK-NEXT:    %[[Q:.*]] = call @layer.part0(%[[X]]) : (tensor<?x16xf32>) -> tensor<?x2x8xf32>
// CHECK-NEXT:    %[[R:.*]] = kvc.rope %[[Q]] at %[[B]]
// CHECK-NEXT:    %[[Y:.*]] = call @layer.part1(%[[X]], %[[R]]) : (tensor<?x16xf32>, tensor<?x2x8xf32>) -> tensor<?x2x8xf32>
// CHECK-NEXT:    %[[A:.*]] = kvc.attention %[[C]] at %[[B]] terms(%[[Y]] * k)
// CHECK-NEXT:    return %[[A]]
// CHECK:       module attributes {kvc.host_code} {
// CHECK-LABEL: func.func private @layer.part0(
// CHECK-SAME:    %[[X:[^:]*]]: tensor<?x16xf32>) -> tensor<?x2x8xf32>
// CHECK-SAME:    kvc.function = "layer", kvc.function_type = (tensor<?x16xf32>) -> tensor<?x2x8xf32>
// CHECK:         %[[N:.*]] = tensor.dim %[[X]]
// CHECK:         tensor.expand_shape %[[X]] {{.*}} output_shape [%[[N]], 2, 8]
// CHECK-LABEL: func.func private @layer.part1(
// CHECK-SAME:    %[[X:[^:]*]]: tensor<?x16xf32>, %[[R:[^:]*]]: tensor<?x2x8xf32>) -> tensor<?x2x8xf32>
// CHECK:         %[[N:.*]] = tensor.dim %[[X]]
// CHECK:         tensor.empty(%[[N]])
func.func @layer(%x: tensor<?x16xf32>, %cache: !cache, %batch: !kvc.batch) -> tensor<?x2x8xf32> {
  %c0 = arith.constant 0 : index
  %n = tensor.dim %x, %c0 : tensor<?x16xf32>
  %q = tensor.expand_shape %x [[0], [1, 2]] output_shape [%n, 2, 8]
      : tensor<?x16xf32> into tensor<?x2x8xf32>
  %r = kvc.rope %q at %batch {theta = 10000.0 : f64, rotary_width = 8 : i64}
      : tensor<?x2x8xf32>
  %empty = tensor.empty(%n) : tensor<?x2x8xf32>
  %y = linalg.add ins(%r, %r : tensor<?x2x8xf32>, tensor<?x2x8xf32>)
      outs(%empty : tensor<?x2x8xf32>) -> tensor<?x2x8xf32>
  %a = kvc.attention %cache at %batch terms(%y * k) value(v) {scale = 1.0 : f32}
      : !cache, tensor<?x2x8xf32> -> tensor<?x2x8xf32>
  return %a : tensor<?x2x8xf32>
}

// -----

// A function without a kvc operation is one part.
// CHECK-LABEL: func.func @alone(
// CHECK-NEXT:    %[[Y:.*]]:2 = call @alone.part0(%{{.*}}) : (tensor<4xf64>) -> (tensor<4xf64>, tensor<4xi1>)
// CHECK-NEXT:    return %[[Y]]#0, %[[Y]]#1
func.func @alone(%x: tensor<4xf64>) -> (tensor<4xf64>, tensor<4xi1>) {
  %y = arith.addf %x, %x : tensor<4xf64>
  %less = arith.cmpf olt, %x, %y : tensor<4xf64>
  return %y, %less : tensor<4xf64>, tensor<4xi1>
}

// -----

// Results without memory of their own get it from a part that copies.
// CHECK-LABEL: func.func @copies(
// CHECK-SAME:    %[[X:.*]]: tensor<4xf32>)
// CHECK-NEXT:    %[[Y:.*]] = call @copies.part0(%[[X]])
// CHECK-NEXT:    %[[AGAIN:.*]] = call @copies.part1(%[[Y]])
// CHECK-NEXT:    %[[COPY:.*]] = call @copies.part2(%[[X]])
// CHECK-NEXT:    return %[[Y]], %[[AGAIN]], %[[COPY]]
// CHECK-LABEL: func.func private @copies.part2(
// CHECK-SAME:    %[[X:.*]]: tensor<4xf32>)
// CHECK-NEXT:    return %[[X]]
func.func @copies(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) {
  %y = arith.addf %x, %x : tensor<4xf32>
  return %y, %y, %x : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
}

// -----

!cache = !kvc.cache<page = 16, k: 2x8xf32, v: 2x8xf32>

// A function of kvc operations alone stays as it is.
// CHECK-LABEL: func.func @negative(
// CHECK-NEXT:    kvc.append
// CHECK-NEXT:    return
// CHECK-NOT:   module attributes
func.func @negative(%k: tensor<?x2x8xf32>, %cache: !cache, %batch: !kvc.batch) {
  kvc.append %cache[k: %k, v: %k] at %batch : !cache, tensor<?x2x8xf32>, tensor<?x2x8xf32>
  return
}

// Constants and places for results are not handed from part to part.
// CHECK-LABEL: func.func @constants(
// CHECK:         %[[Y:.*]] = call @constants.part0(%{{[^,]*}}) : (tensor<?x4x8xf32>) -> tensor<?x4x8xf32>
// CHECK:         %[[R:.*]] = kvc.rope %[[Y]]
// CHECK:         call @constants.part1(%{{[^,]*}}, %[[R]])
func.func @constants(%x: tensor<?x4x8xf32>, %batch: !kvc.batch) -> tensor<?x4x8xf32> {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0.0 : f32
  %n = tensor.dim %x, %c0 : tensor<?x4x8xf32>
  %empty = tensor.empty(%n) : tensor<?x4x8xf32>
  %fill = linalg.fill ins(%zero : f32) outs(%empty : tensor<?x4x8xf32>) -> tensor<?x4x8xf32>
  %y = linalg.add ins(%x, %fill : tensor<?x4x8xf32>, tensor<?x4x8xf32>)
      outs(%empty : tensor<?x4x8xf32>) -> tensor<?x4x8xf32>
  %r = kvc.rope %y at %batch {theta = 1.0e4 : f64, rotary_width = 8 : i64} : tensor<?x4x8xf32>
  %z = linalg.add ins(%r, %fill : tensor<?x4x8xf32>, tensor<?x4x8xf32>)
      outs(%empty : tensor<?x4x8xf32>) -> tensor<?x4x8xf32>
  return %z : tensor<?x4x8xf32>
}
