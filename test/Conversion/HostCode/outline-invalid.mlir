// RUN: kvc-opt %s -kvc-outline-host-code -split-input-file -verify-diagnostics

!cache = !kvc.cache<page = 16, k: 2x8xf32>

func.func @control_flow(%x: tensor<?x2x8xf32>, %c: tensor<i1>, %cache: !cache, %batch: !kvc.batch) {
  %condition = tensor.extract %c[] : tensor<i1>
  // expected-note@below {{inside of 'scf.if'}}
  scf.if %condition {
    // expected-error@below {{'kvc.append' op expected to be outside of control flow}}
    kvc.append %cache[k: %x] at %batch : !cache, tensor<?x2x8xf32>
  }
  return
}

// -----

func.func @operation(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error@below {{no lowering for operation 'tensor.bitcast'}}
  %y = tensor.bitcast %x : tensor<4xf32> to tensor<4xi32>
  %z = tensor.bitcast %y : tensor<4xi32> to tensor<4xf32>
  return %z : tensor<4xf32>
}

// -----

func.func @call(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error@below {{no lowering for operation 'func.call'}}
  %y = call @call(%x) : (tensor<4xf32>) -> tensor<4xf32>
  return %y : tensor<4xf32>
}

// -----

func.func @vector(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error@below {{'arith.constant' op expected ranked tensors and scalars around kvc operations, of f64, f32, f16, bf16, i1, i8, i16, i32, i64 or index, got 'vector<4xf32>'}}
  %y = arith.constant dense<1.0> : vector<4xf32>
  return %x : tensor<4xf32>
}

// -----

func.func @memory(%x: memref<4xf32>) -> tensor<4xf32> {
  %zero = arith.constant 0.0 : f32
  // expected-error@below {{'linalg.fill' op expected ranked tensors and scalars around kvc operations, of f64, f32, f16, bf16, i1, i8, i16, i32, i64 or index, got 'memref<4xf32>'}}
  linalg.fill ins(%zero : f32) outs(%x : memref<4xf32>)
  %y = tensor.empty() : tensor<4xf32>
  return %y : tensor<4xf32>
}

// -----

module {
  // expected-error@below {{'builtin.module' op expected no module inside of the module}}
  module {
  }
}
