// RUN: kvc-opt %s -split-input-file -verify-diagnostics

// quantize_c1: what a component may not have.
func.func @quantize(%x: tensor<4x64xf32>) {
  // expected-error@below {{'kvc.quantize' op expected scale<...> of component 'codes', whose elements are 'i8'}}
  %0 = kvc.quantize %x to i8 : (tensor<4x64xf32>) -> tensor<4x64xi8>
  return
}

// -----

// quantize_c1: no codes.
func.func @quantize(%x: tensor<4x64xf32>) {
  // expected-error@below {{'kvc.quantize' op expected an element type of codes, got 'f16'}}
  %0 = kvc.quantize %x to f16 : (tensor<4x64xf32>) -> tensor<4x64xi8>
  return
}

// -----

// quantize_c2: another shape.
func.func @quantize(%x: tensor<4x64xf32>) {
  // expected-error@below {{'kvc.quantize' op expected codes of the shape of 'tensor<4x64xf32>', got 'tensor<4x32xi8>'}}
  %0, %s = kvc.quantize %x to i8 scale<f32, token> : (tensor<4x64xf32>) -> (tensor<4x32xi8>, tensor<4x1xf32>)
  return
}

// -----

// quantize_c2: a dynamic width.
func.func @quantize(%x: tensor<4x?xf32>) {
  // expected-error@below {{'kvc.quantize' op expected a width, the last dimension, that is static and at least 1, got 'tensor<4x?xi8>'}}
  %0, %s = kvc.quantize %x to i8 scale<f32, token> : (tensor<4x?xf32>) -> (tensor<4x?xi8>, tensor<4x1xf32>)
  return
}

// -----

// quantize_c2: codes of another type.
func.func @quantize(%x: tensor<4x64xf32>) {
  // expected-error@below {{'kvc.quantize' op expected codes of type 'i8', got 'tensor<4x64xf8E5M2>'}}
  %0, %s = kvc.quantize %x to i8 scale<f32, token> : (tensor<4x64xf32>) -> (tensor<4x64xf8E5M2>, tensor<4x1xf32>)
  return
}

// -----

// quantize_c3: no scales.
func.func @quantize(%x: tensor<4x64xf32>) {
  // expected-error@below {{'kvc.quantize' op expected 1 tensors of scales and zero points, got 0}}
  %0 = kvc.quantize %x to i8 scale<f32, token> : (tensor<4x64xf32>) -> tensor<4x64xi8>
  return
}

// -----

// quantize_c3: static ones are operands.
func.func @quantize(%x: tensor<4x64xf32>) {
  // expected-error@below {{'kvc.quantize' op expected scales to be operands, as they are static}}
  %0, %s = kvc.quantize %x to i8 scale<f32, head, static> : (tensor<4x64xf32>) -> (tensor<4x64xi8>, tensor<4x1xf32>)
  return
}

// -----

// quantize_c3: others are results.
func.func @quantize(%x: tensor<4x64xf32>, %s: tensor<4x1xf32>) {
  // expected-error@below {{'kvc.quantize' op expected scales to be results, as they are not static}}
  %0 = kvc.quantize %x by(%s) to i8 scale<f32, token> : (tensor<4x64xf32>, tensor<4x1xf32>) -> tensor<4x64xi8>
  return
}

// -----

// quantize_c4: another type.
func.func @quantize(%x: tensor<4x64xf32>) {
  // expected-error@below {{'kvc.quantize' op expected scales of type 'f32', with 2 along the width and the other dimensions of 'tensor<4x64xi8>', got 'tensor<4x2xf16>'}}
  %0, %s = kvc.quantize %x to i8 scale<f32, group = 32> : (tensor<4x64xf32>) -> (tensor<4x64xi8>, tensor<4x2xf16>)
  return
}

// -----

// quantize_c4: tokens that share one.
func.func @quantize(%x: tensor<4x64xf32>) {
  // expected-error@below {{'kvc.quantize' op expected scales of type 'f32', with 1 along the width and the other dimensions of 'tensor<4x64xi8>', got 'tensor<1x1xf32>'}}
  %0, %s = kvc.quantize %x to i8 scale<f32, token> : (tensor<4x64xf32>) -> (tensor<4x64xi8>, tensor<1x1xf32>)
  return
}

// -----

// quantize_c4: more than one of a tensor.
func.func @dequantize(%c: tensor<4x64xi8>, %s: tensor<4x1xf32>) {
  // expected-error@below {{'kvc.dequantize' op expected scales of type 'f32', with 1 along the width and the other dimensions of 'tensor<4x64xi8>', got 'tensor<4x1xf32>'}}
  %0 = kvc.dequantize %c by(%s) from i8 scale<f32, tensor, static> : (tensor<4x64xi8>, tensor<4x1xf32>) -> tensor<4x64xf32>
  return
}

// -----

// quantize_c5: nothing to count from 0.
func.func @quantize(%x: tensor<4x64xf32>) {
  // expected-error@below {{'kvc.quantize' op expected a scale with zero points for codes that are biased}}
  %0, %s = kvc.quantize %x to i8 scale<f32, token> biased : (tensor<4x64xf32>) -> (tensor<4x64xi8>, tensor<4x1xf32>)
  return
}
