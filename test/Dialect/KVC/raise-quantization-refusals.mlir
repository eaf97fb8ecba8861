// What differs from the meaning of scales: the remark says how, and the functions do not change.

// RUN: kvc-opt %s -split-input-file -o %t.before
// RUN: kvc-opt %s -split-input-file -kvc-raise-quantization -remarks-filter=kvc-raise-quantization \
// RUN:   -remark-policy=all -o %t.after 2> %t.remarks
// RUN: diff %t.before %t.after
// RUN: FileCheck %s --input-file=%t.remarks --implicit-check-not=Passed --implicit-check-not=Missed

// With options that take them, some are codes all the same.

// RUN: kvc-opt %s -split-input-file -kvc-raise-quantization=allow-reciprocal | FileCheck %s --check-prefix=RECIPROCAL
// RUN: kvc-opt %s -split-input-file -kvc-raise-quantization=approximate | FileCheck %s --check-prefix=APPROXIMATE

// Products with a reciprocal are rounded twice.
// CHECK: [Missed] RaisedQuantization {{.*}}"not raised to codes: numbers are multiplied by the reciprocal of a scale, and not divided by it"
// RECIPROCAL-LABEL: func.func @reciprocal(
// RECIPROCAL:         kvc.quantize
// APPROXIMATE-LABEL: func.func @reciprocal(
// APPROXIMATE:         kvc.quantize
func.func @reciprocal(%x: tensor<4x64xf32>) -> (tensor<4x64xi8>, tensor<4xf32>) {
  %zero = arith.constant dense<0.0> : tensor<4xf32>
  %abs = math.absf %x : tensor<4x64xf32>
  %amax = linalg.reduce { arith.maximumf } ins(%abs : tensor<4x64xf32>) outs(%zero : tensor<4xf32>) dimensions = [1]
  %largest = arith.constant dense<127.0> : tensor<4xf32>
  %scale = arith.divf %amax, %largest : tensor<4xf32>
  %one = arith.constant dense<1.0> : tensor<4xf32>
  %inverse = arith.divf %one, %scale : tensor<4xf32>
  %e = tensor.empty() : tensor<4x64xf32>
  %wide = linalg.broadcast ins(%inverse : tensor<4xf32>) outs(%e : tensor<4x64xf32>) dimensions = [1]
  %y = arith.mulf %x, %wide : tensor<4x64xf32>
  %r = math.roundeven %y : tensor<4x64xf32>
  %codes = arith.fptosi %r : tensor<4x64xf32> to tensor<4x64xi8>
  return %codes, %scale : tensor<4x64xi8>, tensor<4xf32>
}

// -----

// So is the scale.
// CHECK: [Missed] RaisedQuantization {{.*}}"not raised to codes: the largest magnitude is multiplied by a reciprocal, and not divided by the largest code"
// RECIPROCAL-LABEL: func.func @reciprocal_127(
// RECIPROCAL:         kvc.quantize
// APPROXIMATE-LABEL: func.func @reciprocal_127(
// APPROXIMATE:         kvc.quantize
func.func @reciprocal_127(%x: tensor<4x64xf32>) -> (tensor<4x64xi8>, tensor<4xf32>) {
  %zero = arith.constant dense<0.0> : tensor<4xf32>
  %abs = math.absf %x : tensor<4x64xf32>
  %amax = linalg.reduce { arith.maximumf } ins(%abs : tensor<4x64xf32>) outs(%zero : tensor<4xf32>) dimensions = [1]
  %largest = arith.constant dense<0.007874016> : tensor<4xf32>
  %scale = arith.mulf %amax, %largest : tensor<4xf32>
  %e = tensor.empty() : tensor<4x64xf32>
  %wide = linalg.broadcast ins(%scale : tensor<4xf32>) outs(%e : tensor<4x64xf32>) dimensions = [1]
  %y = arith.divf %x, %wide : tensor<4x64xf32>
  %r = math.roundeven %y : tensor<4x64xf32>
  %codes = arith.fptosi %r : tensor<4x64xf32> to tensor<4x64xi8>
  return %codes, %scale : tensor<4x64xi8>, tensor<4xf32>
}

// -----

// One code more than there is.
// CHECK: [Missed] RaisedQuantization {{.*}}"not raised to codes: a scale is the largest magnitude divided by 128, and not by 127"
// RECIPROCAL-LABEL: func.func @by_128(
// RECIPROCAL-NOT:     kvc.quantize
// APPROXIMATE-LABEL: func.func @by_128(
// APPROXIMATE:         kvc.quantize
func.func @by_128(%x: tensor<4x64xf32>) -> (tensor<4x64xi8>, tensor<4xf32>) {
  %zero = arith.constant dense<0.0> : tensor<4xf32>
  %abs = math.absf %x : tensor<4x64xf32>
  %amax = linalg.reduce { arith.maximumf } ins(%abs : tensor<4x64xf32>) outs(%zero : tensor<4xf32>) dimensions = [1]
  %largest = arith.constant dense<128.0> : tensor<4xf32>
  %scale = arith.divf %amax, %largest : tensor<4xf32>
  %e = tensor.empty() : tensor<4x64xf32>
  %wide = linalg.broadcast ins(%scale : tensor<4xf32>) outs(%e : tensor<4x64xf32>) dimensions = [1]
  %y = arith.divf %x, %wide : tensor<4x64xf32>
  %r = math.roundeven %y : tensor<4x64xf32>
  %codes = arith.fptosi %r : tensor<4x64xf32> to tensor<4x64xi8>
  return %codes, %scale : tensor<4x64xi8>, tensor<4xf32>
}

// -----

// Codes that are rounded in another way.
// CHECK: [Missed] RaisedQuantization {{.*}}"not raised to codes: codes are rounded half away from 0, and not to even"
// RECIPROCAL-LABEL: func.func @half_away(
// RECIPROCAL-NOT:     kvc.quantize
// APPROXIMATE-LABEL: func.func @half_away(
// APPROXIMATE:         kvc.quantize
func.func @half_away(%x: tensor<4x64xf32>) -> (tensor<4x64xi8>, tensor<4xf32>) {
  %zero = arith.constant dense<0.0> : tensor<4xf32>
  %abs = math.absf %x : tensor<4x64xf32>
  %amax = linalg.reduce { arith.maximumf } ins(%abs : tensor<4x64xf32>) outs(%zero : tensor<4xf32>) dimensions = [1]
  %largest = arith.constant dense<127.0> : tensor<4xf32>
  %scale = arith.divf %amax, %largest : tensor<4xf32>
  %e = tensor.empty() : tensor<4x64xf32>
  %wide = linalg.broadcast ins(%scale : tensor<4xf32>) outs(%e : tensor<4x64xf32>) dimensions = [1]
  %y = arith.divf %x, %wide : tensor<4x64xf32>
  %r = math.round %y : tensor<4x64xf32>
  %codes = arith.fptosi %r : tensor<4x64xf32> to tensor<4x64xi8>
  return %codes, %scale : tensor<4x64xi8>, tensor<4xf32>
}

// -----

// Codes that are not rounded.
// CHECK: [Missed] RaisedQuantization {{.*}}"not raised to codes: codes are cut off towards 0, and not rounded to even"
// RECIPROCAL-LABEL: func.func @cut_off(
// RECIPROCAL-NOT:     kvc.quantize
// APPROXIMATE-LABEL: func.func @cut_off(
// APPROXIMATE-NOT:     kvc.quantize
func.func @cut_off(%x: tensor<4x64xf32>) -> (tensor<4x64xi8>, tensor<4xf32>) {
  %zero = arith.constant dense<0.0> : tensor<4xf32>
  %abs = math.absf %x : tensor<4x64xf32>
  %amax = linalg.reduce { arith.maximumf } ins(%abs : tensor<4x64xf32>) outs(%zero : tensor<4xf32>) dimensions = [1]
  %largest = arith.constant dense<127.0> : tensor<4xf32>
  %scale = arith.divf %amax, %largest : tensor<4xf32>
  %e = tensor.empty() : tensor<4x64xf32>
  %wide = linalg.broadcast ins(%scale : tensor<4xf32>) outs(%e : tensor<4x64xf32>) dimensions = [1]
  %y = arith.divf %x, %wide : tensor<4x64xf32>
  %codes = arith.fptosi %y : tensor<4x64xf32> to tensor<4x64xi8>
  return %codes, %scale : tensor<4x64xi8>, tensor<4xf32>
}

// -----

// A scale that is never 0.
// CHECK: [Missed] RaisedQuantization {{.*}}"not raised to codes: a scale is at least 1e-05, and not 0 where all numbers are"
// RECIPROCAL-LABEL: func.func @least_scale(
// RECIPROCAL-NOT:     kvc.quantize
// APPROXIMATE-LABEL: func.func @least_scale(
// APPROXIMATE:         kvc.quantize
func.func @least_scale(%x: tensor<4x64xf32>) -> (tensor<4x64xi8>, tensor<4xf32>) {
  %zero = arith.constant dense<0.0> : tensor<4xf32>
  %abs = math.absf %x : tensor<4x64xf32>
  %amax = linalg.reduce { arith.maximumf } ins(%abs : tensor<4x64xf32>) outs(%zero : tensor<4xf32>) dimensions = [1]
  %largest = arith.constant dense<127.0> : tensor<4xf32>
  %exact = arith.divf %amax, %largest : tensor<4xf32>
  %least = arith.constant dense<9.99999974E-6> : tensor<4xf32>
  %scale = arith.maximumf %exact, %least : tensor<4xf32>
  %e = tensor.empty() : tensor<4x64xf32>
  %wide = linalg.broadcast ins(%scale : tensor<4xf32>) outs(%e : tensor<4x64xf32>) dimensions = [1]
  %y = arith.divf %x, %wide : tensor<4x64xf32>
  %r = math.roundeven %y : tensor<4x64xf32>
  %codes = arith.fptosi %r : tensor<4x64xf32> to tensor<4x64xi8>
  return %codes, %scale : tensor<4x64xi8>, tensor<4xf32>
}

// -----

// The largest number is not the largest magnitude.
// CHECK: [Missed] RaisedQuantization {{.*}}"not raised to codes: a scale is of the largest number, and not of the largest magnitude"
// RECIPROCAL-LABEL: func.func @largest_number(
// RECIPROCAL-NOT:     kvc.quantize
// APPROXIMATE-LABEL: func.func @largest_number(
// APPROXIMATE-NOT:     kvc.quantize
func.func @largest_number(%x: tensor<4x64xf32>) -> (tensor<4x64xi8>, tensor<4xf32>) {
  %zero = arith.constant dense<0.0> : tensor<4xf32>
  %amax = linalg.reduce { arith.maximumf } ins(%x : tensor<4x64xf32>) outs(%zero : tensor<4xf32>) dimensions = [1]
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

// A scale of other numbers.
// CHECK: [Missed] RaisedQuantization {{.*}}"not raised to codes: a scale is of other numbers than those that become codes, or of groups that are not of 32, 64 or 128"
// RECIPROCAL-LABEL: func.func @other_numbers(
// RECIPROCAL-NOT:     kvc.quantize
// APPROXIMATE-LABEL: func.func @other_numbers(
// APPROXIMATE-NOT:     kvc.quantize
func.func @other_numbers(%x: tensor<4x64xf32>, %other: tensor<4x64xf32>) -> (tensor<4x64xi8>, tensor<4xf32>) {
  %zero = arith.constant dense<0.0> : tensor<4xf32>
  %abs = math.absf %other : tensor<4x64xf32>
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

// Bounds that cut codes off.
// CHECK: [Missed] RaisedQuantization {{.*}}"not raised to codes: codes are clamped from -100 to 100, and not from -127 to 127"
// RECIPROCAL-LABEL: func.func @narrow_clamp(
// RECIPROCAL-NOT:     kvc.quantize
// APPROXIMATE-LABEL: func.func @narrow_clamp(
// APPROXIMATE-NOT:     kvc.quantize
func.func @narrow_clamp(%x: tensor<4x64xf32>) -> (tensor<4x64xi8>, tensor<4xf32>) {
  %zero = arith.constant dense<0.0> : tensor<4xf32>
  %abs = math.absf %x : tensor<4x64xf32>
  %amax = linalg.reduce { arith.maximumf } ins(%abs : tensor<4x64xf32>) outs(%zero : tensor<4xf32>) dimensions = [1]
  %largest = arith.constant dense<127.0> : tensor<4xf32>
  %scale = arith.divf %amax, %largest : tensor<4xf32>
  %e = tensor.empty() : tensor<4x64xf32>
  %wide = linalg.broadcast ins(%scale : tensor<4xf32>) outs(%e : tensor<4x64xf32>) dimensions = [1]
  %y = arith.divf %x, %wide : tensor<4x64xf32>
  %r = math.roundeven %y : tensor<4x64xf32>
  %low = arith.constant dense<-100.0> : tensor<4x64xf32>
  %high = arith.constant dense<100.0> : tensor<4x64xf32>
  %above = arith.maximumf %r, %low : tensor<4x64xf32>
  %c = arith.minimumf %above, %high : tensor<4x64xf32>
  %codes = arith.fptosi %c : tensor<4x64xf32> to tensor<4x64xi8>
  return %codes, %scale : tensor<4x64xi8>, tensor<4xf32>
}

// -----

// Of a scale that is given, the lowest code is -127.
// CHECK: [Missed] RaisedQuantization {{.*}}"not raised to codes: codes are clamped from -128 to 127, and not from -127 to 127"
// RECIPROCAL-LABEL: func.func @static_clamp(
// RECIPROCAL-NOT:     kvc.quantize
// APPROXIMATE-LABEL: func.func @static_clamp(
// APPROXIMATE:         kvc.quantize
func.func @static_clamp(%x: tensor<4x64xf32>) -> tensor<4x64xi8> {
  %wide = arith.constant dense<0.05> : tensor<4x64xf32>
  %y = arith.divf %x, %wide : tensor<4x64xf32>
  %r = math.roundeven %y : tensor<4x64xf32>
  %low = arith.constant dense<-128.0> : tensor<4x64xf32>
  %high = arith.constant dense<127.0> : tensor<4x64xf32>
  %above = arith.maximumf %r, %low : tensor<4x64xf32>
  %c = arith.minimumf %above, %high : tensor<4x64xf32>
  %codes = arith.fptosi %c : tensor<4x64xf32> to tensor<4x64xi8>
  return %codes : tensor<4x64xi8>
}

// -----

// Floats beyond the largest become NaN if they are not clamped.
// CHECK: [Missed] RaisedQuantization {{.*}}"not raised to codes: codes are not clamped from -448 to 448 before they are converted"
// RECIPROCAL-LABEL: func.func @float8_overflow(
// RECIPROCAL-NOT:     kvc.quantize
// APPROXIMATE-LABEL: func.func @float8_overflow(
// APPROXIMATE:         kvc.quantize
func.func @float8_overflow(%x: tensor<4x64xf32>) -> tensor<4x64xf8E4M3FN> {
  %wide = arith.constant dense<0.05> : tensor<4x64xf32>
  %y = arith.divf %x, %wide : tensor<4x64xf32>
  %codes = arith.truncf %y : tensor<4x64xf32> to tensor<4x64xf8E4M3FN>
  return %codes : tensor<4x64xf8E4M3FN>
}

// -----

// Steps of 16 bits.
// CHECK: [Missed] RaisedQuantization {{.*}}"not raised to codes: codes are rounded to bf16 on the way"
// RECIPROCAL-LABEL: func.func @half_steps(
// RECIPROCAL-NOT:     kvc.quantize
// APPROXIMATE-LABEL: func.func @half_steps(
// APPROXIMATE-NOT:     kvc.quantize
func.func @half_steps(%x: tensor<4x64xf32>) -> (tensor<4x64xi8>, tensor<4xf32>) {
  %zero = arith.constant dense<0.0> : tensor<4xf32>
  %abs = math.absf %x : tensor<4x64xf32>
  %amax = linalg.reduce { arith.maximumf } ins(%abs : tensor<4x64xf32>) outs(%zero : tensor<4xf32>) dimensions = [1]
  %largest = arith.constant dense<127.0> : tensor<4xf32>
  %scale = arith.divf %amax, %largest : tensor<4xf32>
  %e = tensor.empty() : tensor<4x64xf32>
  %wide = linalg.broadcast ins(%scale : tensor<4xf32>) outs(%e : tensor<4x64xf32>) dimensions = [1]
  %y = arith.divf %x, %wide : tensor<4x64xf32>
  %n = arith.truncf %y : tensor<4x64xf32> to tensor<4x64xbf16>
  %r = math.roundeven %n : tensor<4x64xbf16>
  %codes = arith.fptosi %r : tensor<4x64xbf16> to tensor<4x64xi8>
  return %codes, %scale : tensor<4x64xi8>, tensor<4xf32>
}

// -----

// Scales of bf16.
// CHECK: [Missed] RaisedQuantization {{.*}}"not raised to codes: a scale is rounded to bf16, and not to f32 or f16"
// RECIPROCAL-LABEL: func.func @scale_bf16(
// RECIPROCAL-NOT:     kvc.quantize
// APPROXIMATE-LABEL: func.func @scale_bf16(
// APPROXIMATE-NOT:     kvc.quantize
func.func @scale_bf16(%x: tensor<4x64xf32>) -> (tensor<4x64xi8>, tensor<4xbf16>) {
  %zero = arith.constant dense<0.0> : tensor<4xf32>
  %abs = math.absf %x : tensor<4x64xf32>
  %amax = linalg.reduce { arith.maximumf } ins(%abs : tensor<4x64xf32>) outs(%zero : tensor<4xf32>) dimensions = [1]
  %largest = arith.constant dense<127.0> : tensor<4xf32>
  %exact = arith.divf %amax, %largest : tensor<4xf32>
  %scale = arith.truncf %exact : tensor<4xf32> to tensor<4xbf16>
  %again = arith.extf %scale : tensor<4xbf16> to tensor<4xf32>
  %e = tensor.empty() : tensor<4x64xf32>
  %wide = linalg.broadcast ins(%again : tensor<4xf32>) outs(%e : tensor<4x64xf32>) dimensions = [1]
  %y = arith.divf %x, %wide : tensor<4x64xf32>
  %r = math.roundeven %y : tensor<4x64xf32>
  %codes = arith.fptosi %r : tensor<4x64xf32> to tensor<4x64xi8>
  return %codes, %scale : tensor<4x64xi8>, tensor<4xbf16>
}

// -----

// One scale for several dimensions.
// CHECK: [Missed] RaisedQuantization {{.*}}"not raised to codes: a scale is of 2 dimensions, and not of the width"
// RECIPROCAL-LABEL: func.func @all_heads(
// RECIPROCAL-NOT:     kvc.quantize
// APPROXIMATE-LABEL: func.func @all_heads(
// APPROXIMATE-NOT:     kvc.quantize
func.func @all_heads(%x: tensor<4x64xf32>) -> (tensor<4x64xi8>, tensor<f32>) {
  %zero = arith.constant dense<0.0> : tensor<f32>
  %abs = math.absf %x : tensor<4x64xf32>
  %amax = linalg.reduce { arith.maximumf } ins(%abs : tensor<4x64xf32>) outs(%zero : tensor<f32>) dimensions = [0, 1]
  %largest = arith.constant dense<127.0> : tensor<f32>
  %scale = arith.divf %amax, %largest : tensor<f32>
  %e = tensor.empty() : tensor<4x64xf32>
  %wide = linalg.broadcast ins(%scale : tensor<f32>) outs(%e : tensor<4x64xf32>) dimensions = [0, 1]
  %y = arith.divf %x, %wide : tensor<4x64xf32>
  %r = math.roundeven %y : tensor<4x64xf32>
  %codes = arith.fptosi %r : tensor<4x64xf32> to tensor<4x64xi8>
  return %codes, %scale : tensor<4x64xi8>, tensor<f32>
}

// -----

// Rounded numbers without a scale.
// CHECK: [Missed] RaisedQuantization {{.*}}"not raised to codes: what becomes codes is not divided by a scale"
// RECIPROCAL-LABEL: func.func @no_scale(
// RECIPROCAL-NOT:     kvc.quantize
// APPROXIMATE-LABEL: func.func @no_scale(
// APPROXIMATE-NOT:     kvc.quantize
func.func @no_scale(%x: tensor<4x64xf32>) -> tensor<4x64xi8> {
  %r = math.roundeven %x : tensor<4x64xf32>
  %codes = arith.fptosi %r : tensor<4x64xf32> to tensor<4x64xi8>
  return %codes : tensor<4x64xi8>
}

// -----

// Upstream's quantisation from -128 on, with a zero point, along the width, or of a tensor that stays quantised.
// CHECK: [Missed] RaisedQuantization {{.*}}"not raised to codes: codes are clamped from -128 to 127, and not from -127 to 127"
// CHECK: [Missed] RaisedQuantization {{.*}}"not raised to codes: it has a zero point"
// CHECK: [Missed] RaisedQuantization {{.*}}"not raised to codes: scales vary along the width"
// CHECK: [Missed] RaisedQuantization {{.*}}"not raised to codes: expected 'quant.scast' before 'func.return' uses its codes"
// CHECK: [Missed] RaisedQuantization {{.*}}"not raised to codes: expected 'quant.scast' of a tensor of integers before it"
// RECIPROCAL-LABEL: func.func @quant_casts(
// RECIPROCAL-NOT:     kvc.quantize
// APPROXIMATE-LABEL: func.func @quant_casts(
// APPROXIMATE:         kvc.quantize
!low = !quant.uniform<i8:f32, 0.05>
!zero = !quant.uniform<i8<-127:127>:f32, 0.05:3>
!width = !quant.uniform<i8<-127:127>:f32:1, {0.5, 0.25}>
func.func @quant_casts(%x: tensor<4x64xf32>, %y: tensor<4x2xf32>, %z: tensor<4x64x!zero>)
    -> (tensor<4x64xi8>, tensor<4x64xi8>, tensor<4x2xi8>, tensor<4x64x!low>, tensor<4x64xf32>) {
  %0 = quant.qcast %x : tensor<4x64xf32> to tensor<4x64x!low>
  %1 = quant.scast %0 : tensor<4x64x!low> to tensor<4x64xi8>
  %2 = quant.qcast %x : tensor<4x64xf32> to tensor<4x64x!zero>
  %3 = quant.scast %2 : tensor<4x64x!zero> to tensor<4x64xi8>
  %4 = quant.qcast %y : tensor<4x2xf32> to tensor<4x2x!width>
  %5 = quant.scast %4 : tensor<4x2x!width> to tensor<4x2xi8>
  %6 = quant.qcast %x : tensor<4x64xf32> to tensor<4x64x!low>
  %7 = quant.dcast %z : tensor<4x64x!zero> to tensor<4x64xf32>
  return %1, %3, %5, %6, %7 : tensor<4x64xi8>, tensor<4x64xi8>, tensor<4x2xi8>, tensor<4x64x!low>, tensor<4x64xf32>
}
