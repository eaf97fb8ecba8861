// RUN: kvc-opt %s -split-input-file -kvc-raise-quantization -canonicalize | FileCheck %s
// RUN: kvc-opt %s -split-input-file -kvc-raise-quantization -canonicalize \
// RUN:   | kvc-opt -split-input-file -kvc-raise-quantization -canonicalize | FileCheck %s

// A scale for each row, of its largest magnitude.
// CHECK-LABEL: func.func @token(
// CHECK-SAME:    %[[X:.*]]: tensor<4x64xf32>)
// CHECK:         %[[CODES:.*]], %[[SCALES:.*]] = kvc.quantize %[[X]] to i8 scale<f32, token> : (tensor<4x64xf32>) -> (tensor<4x64xi8>, tensor<4x1xf32>)
// CHECK-NOT:     math
// CHECK:         %[[OWN:.*]] = linalg.generic {{.*}} ins(%[[SCALES]] : tensor<4x1xf32>)
// CHECK:         return %[[CODES]], %[[OWN]]
func.func @token(%x: tensor<4x64xf32>) -> (tensor<4x64xi8>, tensor<4xf32>) {
  %zero = arith.constant dense<0.0> : tensor<4xf32>
  %abs = math.absf %x : tensor<4x64xf32>
  %amax = linalg.reduce { arith.maximumf } ins(%abs : tensor<4x64xf32>) outs(%zero : tensor<4xf32>) dimensions = [1]
  %largest = arith.constant dense<127.0> : tensor<4xf32>
  %scale = arith.divf %amax, %largest : tensor<4xf32>
  %e = tensor.empty() : tensor<4x64xf32>
  %wide = linalg.broadcast ins(%scale : tensor<4xf32>) outs(%e : tensor<4x64xf32>) dimensions = [1]
  %y = arith.divf %x, %wide : tensor<4x64xf32>
  %r = math.roundeven %y : tensor<4x64xf32>
  %codes = arith.fptosi %r : tensor<4x64xf32> to tensor<4x64xi8>
  return %codes, %scale : tensor<4x64xi8>, tensor<4xf32>
}

// -----

// Guards where a row is zero, and bounds that no code is beyond.
// CHECK-LABEL: func.func @guards(
// CHECK:         kvc.quantize %{{.*}} to i8 scale<f32, token>
// CHECK-NOT:     arith.divf
func.func @guards(%x: tensor<4x64xf32>) -> (tensor<4x64xi8>, tensor<4xf32>) {
  %zero = arith.constant dense<0.0> : tensor<4xf32>
  %abs = math.absf %x : tensor<4x64xf32>
  %amax = linalg.reduce { arith.maximumf } ins(%abs : tensor<4x64xf32>) outs(%zero : tensor<4xf32>) dimensions = [1]
  %largest = arith.constant dense<127.0> : tensor<4xf32>
  %scale = arith.divf %amax, %largest : tensor<4xf32>
  %one = arith.constant dense<1.0> : tensor<4xf32>
  %is_zero = arith.cmpf oeq, %scale, %zero : tensor<4xf32>
  %safe = arith.select %is_zero, %one, %scale : tensor<4xi1>, tensor<4xf32>
  %e = tensor.empty() : tensor<4x64xf32>
  %wide = linalg.broadcast ins(%safe : tensor<4xf32>) outs(%e : tensor<4x64xf32>) dimensions = [1]
  %y = arith.divf %x, %wide : tensor<4x64xf32>
  %r = math.roundeven %y : tensor<4x64xf32>
  %low = arith.constant dense<-128.0> : tensor<4x64xf32>
  %high = arith.constant dense<127.0> : tensor<4x64xf32>
  %above = arith.maximumf %r, %low : tensor<4x64xf32>
  %c = arith.minimumf %above, %high : tensor<4x64xf32>
  %wide_codes = arith.fptosi %c : tensor<4x64xf32> to tensor<4x64xi32>
  %codes = arith.trunci %wide_codes : tensor<4x64xi32> to tensor<4x64xi8>
  return %codes, %scale : tensor<4x64xi8>, tensor<4xf32>
}

// -----

// Scales of 16 bits, by which numbers are divided.
// CHECK-LABEL: func.func @half_scales(
// CHECK:         kvc.quantize %{{.*}} to i8 scale<f16, token> : (tensor<4x64xf32>) -> (tensor<4x64xi8>, tensor<4x1xf16>)
func.func @half_scales(%x: tensor<4x64xf32>) -> (tensor<4x64xi8>, tensor<4xf16>) {
  %zero = arith.constant dense<0.0> : tensor<4xf32>
  %abs = math.absf %x : tensor<4x64xf32>
  %amax = linalg.reduce { arith.maximumf } ins(%abs : tensor<4x64xf32>) outs(%zero : tensor<4xf32>) dimensions = [1]
  %largest = arith.constant dense<127.0> : tensor<4xf32>
  %exact = arith.divf %amax, %largest : tensor<4xf32>
  %scale = arith.truncf %exact : tensor<4xf32> to tensor<4xf16>
  %again = arith.extf %scale : tensor<4xf16> to tensor<4xf32>
  %e = tensor.empty() : tensor<4x64xf32>
  %wide = linalg.broadcast ins(%again : tensor<4xf32>) outs(%e : tensor<4x64xf32>) dimensions = [1]
  %y = arith.divf %x, %wide : tensor<4x64xf32>
  %r = math.roundeven %y : tensor<4x64xf32>
  %codes = arith.fptosi %r : tensor<4x64xf32> to tensor<4x64xi8>
  return %codes, %scale : tensor<4x64xi8>, tensor<4xf16>
}

// -----

// Codes of 4 bits in a tensor of them, and rows of 16 bits.
// CHECK-LABEL: func.func @int4(
// CHECK-SAME:    %[[X:.*]]: tensor<4x64xbf16>)
// CHECK:         kvc.quantize %[[X]] to i4 scale<f32, token> : (tensor<4x64xbf16>) -> (tensor<4x64xi4>, tensor<4x1xf32>)
func.func @int4(%b: tensor<4x64xbf16>) -> (tensor<4x64xi4>, tensor<4xf32>) {
  %x = arith.extf %b : tensor<4x64xbf16> to tensor<4x64xf32>
  %zero = arith.constant dense<0.0> : tensor<4xf32>
  %abs = math.absf %x : tensor<4x64xf32>
  %amax = linalg.reduce { arith.maximumf } ins(%abs : tensor<4x64xf32>) outs(%zero : tensor<4xf32>) dimensions = [1]
  %largest = arith.constant dense<7.0> : tensor<4xf32>
  %scale = arith.divf %amax, %largest : tensor<4xf32>
  %e = tensor.empty() : tensor<4x64xf32>
  %wide = linalg.broadcast ins(%scale : tensor<4xf32>) outs(%e : tensor<4x64xf32>) dimensions = [1]
  %y = arith.divf %x, %wide : tensor<4x64xf32>
  %r = math.roundeven %y : tensor<4x64xf32>
  %codes = arith.fptosi %r : tensor<4x64xf32> to tensor<4x64xi4>
  return %codes, %scale : tensor<4x64xi4>, tensor<4xf32>
}

// -----

// Floats of 8 bits.
// CHECK-LABEL: func.func @float8(
// CHECK:         kvc.quantize %{{.*}} to f8E5M2 scale<f32, token>
func.func @float8(%x: tensor<4x64xf32>) -> (tensor<4x64xf8E5M2>, tensor<4xf32>) {
  %zero = arith.constant dense<0.0> : tensor<4xf32>
  %abs = math.absf %x : tensor<4x64xf32>
  %amax = linalg.reduce { arith.maximumf } ins(%abs : tensor<4x64xf32>) outs(%zero : tensor<4xf32>) dimensions = [1]
  %largest = arith.constant dense<57344.0> : tensor<4xf32>
  %scale = arith.divf %amax, %largest : tensor<4xf32>
  %e = tensor.empty() : tensor<4x64xf32>
  %wide = linalg.broadcast ins(%scale : tensor<4xf32>) outs(%e : tensor<4x64xf32>) dimensions = [1]
  %y = arith.divf %x, %wide : tensor<4x64xf32>
  %codes = arith.truncf %y : tensor<4x64xf32> to tensor<4x64xf8E5M2>
  return %codes, %scale : tensor<4x64xf8E5M2>, tensor<4xf32>
}

// -----

// A constant scale is one of the type.
// CHECK-LABEL: func.func @constant(
// CHECK:         kvc.quantize %{{.*}} to i8 scale<f32, tensor, static = 5.000000e-02> : (tensor<4x64xf32>) -> tensor<4x64xi8>
func.func @constant(%x: tensor<4x64xf32>) -> tensor<4x64xi8> {
  %wide = arith.constant dense<0.05> : tensor<4x64xf32>
  %y = arith.divf %x, %wide : tensor<4x64xf32>
  %r = math.roundeven %y : tensor<4x64xf32>
  %low = arith.constant dense<-127.0> : tensor<4x64xf32>
  %high = arith.constant dense<127.0> : tensor<4x64xf32>
  %above = arith.maximumf %r, %low : tensor<4x64xf32>
  %c = arith.minimumf %above, %high : tensor<4x64xf32>
  %codes = arith.fptosi %c : tensor<4x64xf32> to tensor<4x64xi8>
  return %codes : tensor<4x64xi8>
}

// -----

// A scale for each head is an operand.
// CHECK-LABEL: func.func @heads(
// CHECK-SAME:    %[[X:.*]]: tensor<4x64xf32>, %[[S:.*]]: tensor<4xf32>)
// CHECK:         %[[SCALES:.*]] = linalg.generic {{.*}} ins(%[[S]] : tensor<4xf32>)
// CHECK:         kvc.quantize %[[X]] by(%[[SCALES]]) to f8E4M3FN scale<f32, head, static> : (tensor<4x64xf32>, tensor<4x1xf32>) -> tensor<4x64xf8E4M3FN>
func.func @heads(%x: tensor<4x64xf32>, %scale: tensor<4xf32>) -> tensor<4x64xf8E4M3FN> {
  %e = tensor.empty() : tensor<4x64xf32>
  %wide = linalg.broadcast ins(%scale : tensor<4xf32>) outs(%e : tensor<4x64xf32>) dimensions = [1]
  %y = arith.divf %x, %wide : tensor<4x64xf32>
  %low = arith.constant dense<-448.0> : tensor<4x64xf32>
  %high = arith.constant dense<448.0> : tensor<4x64xf32>
  %above = arith.maximumf %y, %low : tensor<4x64xf32>
  %c = arith.minimumf %above, %high : tensor<4x64xf32>
  %codes = arith.truncf %c : tensor<4x64xf32> to tensor<4x64xf8E4M3FN>
  return %codes : tensor<4x64xf8E4M3FN>
}

// -----

// So is one for all, which may be a scalar.
// CHECK-LABEL: func.func @scalar(
// CHECK-SAME:    %[[X:.*]]: tensor<4x64xf32>, %[[S:.*]]: f32)
// CHECK:         %[[SCALES:.*]] = tensor.from_elements %[[S]] : tensor<1x1xf32>
// CHECK:         kvc.quantize %[[X]] by(%[[SCALES]]) to i8 scale<f32, tensor, static> : (tensor<4x64xf32>, tensor<1x1xf32>) -> tensor<4x64xi8>
// CHECK:         kvc.dequantize %{{.*}} by(%{{.*}}) from i8 scale<f32, tensor, static> : (tensor<4x64xi8>, tensor<1x1xf32>) -> tensor<4x64xf32>
func.func @scalar(%x: tensor<4x64xf32>, %scale: f32) -> (tensor<4x64xi8>, tensor<4x64xf32>) {
  %wide = tensor.splat %scale : tensor<4x64xf32>
  %y = arith.divf %x, %wide : tensor<4x64xf32>
  %r = math.roundeven %y : tensor<4x64xf32>
  %low = arith.constant dense<-127.0> : tensor<4x64xf32>
  %high = arith.constant dense<127.0> : tensor<4x64xf32>
  %above = arith.maximumf %r, %low : tensor<4x64xf32>
  %c = arith.minimumf %above, %high : tensor<4x64xf32>
  %codes = arith.fptosi %c : tensor<4x64xf32> to tensor<4x64xi8>
  %f = arith.sitofp %codes : tensor<4x64xi8> to tensor<4x64xf32>
  %z = arith.mulf %f, %wide : tensor<4x64xf32>
  return %codes, %z : tensor<4x64xi8>, tensor<4x64xf32>
}

// -----

// Codes that become numbers on the spot, without a tensor of codes.
// CHECK-LABEL: func.func @fake(
// CHECK:         %[[CODES:.*]], %[[SCALES:.*]] = kvc.quantize %{{.*}} to i8 scale<f32, token>
// CHECK:         %[[Y:.*]] = kvc.dequantize %[[CODES]] by(%[[SCALES]]) from i8 scale<f32, token> : (tensor<4x64xi8>, tensor<4x1xf32>) -> tensor<4x64xbf16>
// CHECK:         return %[[Y]]
func.func @fake(%x: tensor<4x64xf32>) -> tensor<4x64xbf16> {
  %zero = arith.constant dense<0.0> : tensor<4xf32>
  %abs = math.absf %x : tensor<4x64xf32>
  %amax = linalg.reduce { arith.maximumf } ins(%abs : tensor<4x64xf32>) outs(%zero : tensor<4xf32>) dimensions = [1]
  %largest = arith.constant dense<127.0> : tensor<4xf32>
  %scale = arith.divf %amax, %largest : tensor<4xf32>
  %e = tensor.empty() : tensor<4x64xf32>
  %wide = linalg.broadcast ins(%scale : tensor<4xf32>) outs(%e : tensor<4x64xf32>) dimensions = [1]
  %y = arith.divf %x, %wide : tensor<4x64xf32>
  %r = math.roundeven %y : tensor<4x64xf32>
  %z = arith.mulf %r, %wide : tensor<4x64xf32>
  %out = arith.truncf %z : tensor<4x64xf32> to tensor<4x64xbf16>
  return %out : tensor<4x64xbf16>
}

// -----

// Groups along the width, as a dimension of their own or not.
// CHECK-LABEL: func.func @groups(
// CHECK-SAME:    %[[X:.*]]: tensor<4x64xf32>)
// CHECK:         %{{.*}}, %[[SCALES:.*]] = kvc.quantize %[[X]] to i8 scale<f32, group = 32> : (tensor<4x64xf32>) -> (tensor<4x64xi8>, tensor<4x2xf32>)
// CHECK-NOT:     math
func.func @groups(%x: tensor<4x64xf32>) -> (tensor<4x64xi8>, tensor<4x2xf32>) {
  %g = tensor.expand_shape %x [[0], [1, 2]] output_shape [4, 2, 32] : tensor<4x64xf32> into tensor<4x2x32xf32>
  %zero = arith.constant dense<0.0> : tensor<4x2xf32>
  %abs = math.absf %g : tensor<4x2x32xf32>
  %amax = linalg.reduce { arith.maximumf } ins(%abs : tensor<4x2x32xf32>) outs(%zero : tensor<4x2xf32>) dimensions = [2]
  %largest = arith.constant dense<127.0> : tensor<4x2xf32>
  %scale = arith.divf %amax, %largest : tensor<4x2xf32>
  %e = tensor.empty() : tensor<4x2x32xf32>
  %wide = linalg.broadcast ins(%scale : tensor<4x2xf32>) outs(%e : tensor<4x2x32xf32>) dimensions = [2]
  %y = arith.divf %g, %wide : tensor<4x2x32xf32>
  %r = math.roundeven %y : tensor<4x2x32xf32>
  %c = arith.fptosi %r : tensor<4x2x32xf32> to tensor<4x2x32xi8>
  %codes = tensor.collapse_shape %c [[0], [1, 2]] : tensor<4x2x32xi8> into tensor<4x64xi8>
  return %codes, %scale : tensor<4x64xi8>, tensor<4x2xf32>
}

// -----

// Codes and scales of tokens that are cached become numbers.
// CHECK-LABEL: func.func @cached(
// CHECK-SAME:    %[[C:.*]]: tensor<4x64xi8> {kvc.cache = "k"}, %[[S:.*]]: tensor<4x1xf32> {kvc.cache = "s"})
// CHECK:         %[[Y:.*]] = kvc.dequantize %[[C]] by(%[[S]]) from i8 scale<f32, token> : (tensor<4x64xi8>, tensor<4x1xf32>) -> tensor<4x64xf16>
// CHECK:         return %[[Y]]
func.func @cached(%c: tensor<4x64xi8> {kvc.cache = "k"}, %s: tensor<4x1xf32> {kvc.cache = "s"}) -> tensor<4x64xf16> {
  %f = arith.sitofp %c : tensor<4x64xi8> to tensor<4x64xf32>
  %e = tensor.empty() : tensor<4x64xf32>
  %s0 = tensor.collapse_shape %s [[0, 1]] : tensor<4x1xf32> into tensor<4xf32>
  %wide = linalg.broadcast ins(%s0 : tensor<4xf32>) outs(%e : tensor<4x64xf32>) dimensions = [1]
  %y = arith.mulf %wide, %f : tensor<4x64xf32>
  %h = arith.truncf %y : tensor<4x64xf32> to tensor<4x64xf16>
  return %h : tensor<4x64xf16>
}

// -----

// Whole numbers that are no codes are left alone.
// CHECK-LABEL: func.func @negative_conversion(
// CHECK-NOT:     kvc
// CHECK:         arith.fptosi
func.func @negative_conversion(%x: tensor<4x64xf32>) -> tensor<4x64xi8> {
  %c = arith.fptosi %x : tensor<4x64xf32> to tensor<4x64xi8>
  return %c : tensor<4x64xi8>
}

// -----

// Upstream's quantisation, whose roundings are open.
// CHECK-LABEL: func.func @quant_casts(
// CHECK-SAME:    %[[X:.*]]: tensor<4x64xf32>, %[[C:.*]]: tensor<4x64xi8>)
// CHECK-DAG:     %[[SCALES:.*]] = arith.constant dense<{{.*}}> : tensor<4x1xf32>
// CHECK-DAG:     %[[CODES:.*]] = kvc.quantize %[[X]] to i8 scale<f32, tensor, static = 5.000000e-02> : (tensor<4x64xf32>) -> tensor<4x64xi8>
// CHECK-DAG:     %[[Y:.*]] = kvc.dequantize %[[CODES]] from i8 scale<f32, tensor, static = 5.000000e-02>
// CHECK-DAG:     %[[Z:.*]] = kvc.dequantize %[[C]] by(%[[SCALES]]) from i8 scale<f32, head, static> : (tensor<4x64xi8>, tensor<4x1xf32>) -> tensor<4x64xf32>
// CHECK:         return %[[CODES]], %[[Y]], %[[Z]]
!tensor = !quant.uniform<i8<-127:127>:f32, 0.05>
!heads = !quant.uniform<i8<-127:127>:f32:0, {0.1, 0.2, 0.3, 0.4}>
func.func @quant_casts(%x: tensor<4x64xf32>, %c: tensor<4x64xi8>) -> (tensor<4x64xi8>, tensor<4x64xf32>, tensor<4x64xf32>) {
  %q = quant.qcast %x : tensor<4x64xf32> to tensor<4x64x!tensor>
  %codes = quant.scast %q : tensor<4x64x!tensor> to tensor<4x64xi8>
  %y = quant.dcast %q : tensor<4x64x!tensor> to tensor<4x64xf32>
  %s = quant.scast %c : tensor<4x64xi8> to tensor<4x64x!heads>
  %z = quant.dcast %s : tensor<4x64x!heads> to tensor<4x64xf32>
  return %codes, %y, %z : tensor<4x64xi8>, tensor<4x64xf32>, tensor<4x64xf32>
}
