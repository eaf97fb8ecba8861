// Caches of codes that stay tensors: the remark says why, and the functions do not change at all.

// RUN: kvc-opt %s -split-input-file -o %t.before
// RUN: kvc-opt %s -split-input-file -kvc-page-cache -remarks-filter=kvc-page-cache \
// RUN:   -remark-policy=all -o %t.after 2> %t.remarks
// RUN: diff %t.before %t.after
// RUN: FileCheck %s --input-file=%t.remarks --implicit-check-not=Passed

#q = affine_map<(b, h, g, i, j, w) -> (b, h, w)>
#kv = affine_map<(b, h, g, i, j, w) -> (b, h, j, w)>

// Codes that are made in a way that is not known.
// CHECK: [Missed] PagedCache {{.*}}"cache 'k' not paged: its new rows are not what 'kvc.quantize' makes"
// CHECK: [Missed] PagedCache {{.*}}"cache 's' not paged: attention reads it with cache 'k'"
func.func @not_quantized(%q3: tensor<?x2x1x64xf32>, %past: tensor<?x2x?x64xi8> {kvc.cache = "k"}, %past_s: tensor<?x2x?x1xf32> {kvc.cache = "s"})
    -> (tensor<?x2x64xf32>, tensor<?x2x?x64xi8> {kvc.cache = "k"}, tensor<?x2x?x1xf32> {kvc.cache = "s"}) {
  %q = tensor.collapse_shape %q3 [[0], [1], [2, 3]] : tensor<?x2x1x64xf32> into tensor<?x2x64xf32>
  %c = arith.fptosi %q3 : tensor<?x2x1x64xf32> to tensor<?x2x1x64xi8>
  %c1, %s = kvc.quantize %q3 to i8 scale<f32, token> : (tensor<?x2x1x64xf32>) -> (tensor<?x2x1x64xi8>, tensor<?x2x1x1xf32>)
  %k = tensor.concat dim(2) %past, %c : (tensor<?x2x?x64xi8>, tensor<?x2x1x64xi8>) -> tensor<?x2x?x64xi8>
  %ss = tensor.concat dim(2) %past_s, %s : (tensor<?x2x?x1xf32>, tensor<?x2x1x1xf32>) -> tensor<?x2x?x1xf32>
  %keys = kvc.dequantize %k by(%ss) from i8 scale<f32, token> : (tensor<?x2x?x64xi8>, tensor<?x2x?x1xf32>) -> tensor<?x2x?x64xf32>
  %o = kvc.dense_attention terms(%q * %keys) value(%keys)
      maps [#q, #kv, #kv, #q] {scale = 0.125 : f32} : (tensor<?x2x64xf32>, tensor<?x2x?x64xf32>, tensor<?x2x?x64xf32>) -> tensor<?x2x64xf32>
  return %o, %k, %ss : tensor<?x2x64xf32>, tensor<?x2x?x64xi8>, tensor<?x2x?x1xf32>
}

// -----

#q = affine_map<(b, h, g, i, j, w) -> (b, h, w)>
#kv = affine_map<(b, h, g, i, j, w) -> (b, h, j, w)>

// Scales of other rows.
// CHECK: [Missed] PagedCache {{.*}}"cache 'k' not paged: cache 's' does not hold the scales or zero points of its rows"
// CHECK: [Missed] PagedCache {{.*}}"cache 's' not paged: attention reads it with cache 'k'"
func.func @other_scales(%q3: tensor<?x2x1x64xf32>, %past: tensor<?x2x?x64xi8> {kvc.cache = "k"}, %past_s: tensor<?x2x?x1xf32> {kvc.cache = "s"})
    -> (tensor<?x2x64xf32>, tensor<?x2x?x64xi8> {kvc.cache = "k"}, tensor<?x2x?x1xf32> {kvc.cache = "s"}) {
  %q = tensor.collapse_shape %q3 [[0], [1], [2, 3]] : tensor<?x2x1x64xf32> into tensor<?x2x64xf32>
  %c, %s = kvc.quantize %q3 to i8 scale<f32, token> : (tensor<?x2x1x64xf32>) -> (tensor<?x2x1x64xi8>, tensor<?x2x1x1xf32>)
  %y = math.absf %q3 : tensor<?x2x1x64xf32>
  %c1, %s1 = kvc.quantize %y to i8 scale<f32, token> : (tensor<?x2x1x64xf32>) -> (tensor<?x2x1x64xi8>, tensor<?x2x1x1xf32>)
  %k = tensor.concat dim(2) %past, %c : (tensor<?x2x?x64xi8>, tensor<?x2x1x64xi8>) -> tensor<?x2x?x64xi8>
  %ss = tensor.concat dim(2) %past_s, %s1 : (tensor<?x2x?x1xf32>, tensor<?x2x1x1xf32>) -> tensor<?x2x?x1xf32>
  %keys = kvc.dequantize %k by(%ss) from i8 scale<f32, token> : (tensor<?x2x?x64xi8>, tensor<?x2x?x1xf32>) -> tensor<?x2x?x64xf32>
  %o = kvc.dense_attention terms(%q * %keys) value(%keys)
      maps [#q, #kv, #kv, #q] {scale = 0.125 : f32} : (tensor<?x2x64xf32>, tensor<?x2x?x64xf32>, tensor<?x2x?x64xf32>) -> tensor<?x2x64xf32>
  return %o, %k, %ss : tensor<?x2x64xf32>, tensor<?x2x?x64xi8>, tensor<?x2x?x1xf32>
}

// -----

#q = affine_map<(b, h, g, i, j, w) -> (b, h, w)>
#kv = affine_map<(b, h, g, i, j, w) -> (b, h, j, w)>

// Scales that are not cached.
// CHECK: [Missed] PagedCache {{.*}}"cache 'k' not paged: its scales or zero points are not cached"
// CHECK: [Missed] PagedCache {{.*}}"cache 's' not paged: no attention of the module reads it"
func.func @not_cached(%q3: tensor<?x2x1x64xf32>, %all: tensor<?x2x?x1xf32>, %past: tensor<?x2x?x64xi8> {kvc.cache = "k"}, %past_s: tensor<?x2x?x1xf32> {kvc.cache = "s"})
    -> (tensor<?x2x64xf32>, tensor<?x2x?x64xi8> {kvc.cache = "k"}, tensor<?x2x?x1xf32> {kvc.cache = "s"}) {
  %q = tensor.collapse_shape %q3 [[0], [1], [2, 3]] : tensor<?x2x1x64xf32> into tensor<?x2x64xf32>
  %c, %s = kvc.quantize %q3 to i8 scale<f32, token> : (tensor<?x2x1x64xf32>) -> (tensor<?x2x1x64xi8>, tensor<?x2x1x1xf32>)
  %k = tensor.concat dim(2) %past, %c : (tensor<?x2x?x64xi8>, tensor<?x2x1x64xi8>) -> tensor<?x2x?x64xi8>
  %ss = tensor.concat dim(2) %past_s, %s : (tensor<?x2x?x1xf32>, tensor<?x2x1x1xf32>) -> tensor<?x2x?x1xf32>
  %keys = kvc.dequantize %k by(%all) from i8 scale<f32, token> : (tensor<?x2x?x64xi8>, tensor<?x2x?x1xf32>) -> tensor<?x2x?x64xf32>
  %o = kvc.dense_attention terms(%q * %keys) value(%keys)
      maps [#q, #kv, #kv, #q] {scale = 0.125 : f32} : (tensor<?x2x64xf32>, tensor<?x2x?x64xf32>, tensor<?x2x?x64xf32>) -> tensor<?x2x64xf32>
  return %o, %k, %ss : tensor<?x2x64xf32>, tensor<?x2x?x64xi8>, tensor<?x2x?x1xf32>
}

// -----

#q = affine_map<(b, h, g, i, j, w) -> (b, h, w)>
#kv = affine_map<(b, h, g, i, j, w) -> (b, h, j, w)>

// Tokens that share a scale.
// CHECK: [Missed] PagedCache {{.*}}"cache 'k' not paged: its scales are read in another way than token by token"
func.func @shared(%q3: tensor<?x2x1x64xf32>, %past: tensor<?x2x?x64xi8> {kvc.cache = "k"}, %past_s: tensor<?x2x?x1xf32> {kvc.cache = "s"})
    -> (tensor<?x2x64xf32>, tensor<?x2x?x64xi8> {kvc.cache = "k"}, tensor<?x2x?x1xf32> {kvc.cache = "s"}) {
  %q = tensor.collapse_shape %q3 [[0], [1], [2, 3]] : tensor<?x2x1x64xf32> into tensor<?x2x64xf32>
  %c, %s = kvc.quantize %q3 to i8 scale<f32, token> : (tensor<?x2x1x64xf32>) -> (tensor<?x2x1x64xi8>, tensor<?x2x1x1xf32>)
  %k = tensor.concat dim(2) %past, %c : (tensor<?x2x?x64xi8>, tensor<?x2x1x64xi8>) -> tensor<?x2x?x64xi8>
  %ss = tensor.concat dim(2) %past_s, %s : (tensor<?x2x?x1xf32>, tensor<?x2x1x1xf32>) -> tensor<?x2x?x1xf32>
  %first = tensor.extract_slice %ss[0, 0, 0, 0] [1, 2, 1, 1] [1, 1, 1, 1] : tensor<?x2x?x1xf32> to tensor<1x2x1x1xf32>
  %keys = kvc.dequantize %k by(%first) from i8 scale<f32, token> : (tensor<?x2x?x64xi8>, tensor<1x2x1x1xf32>) -> tensor<?x2x?x64xf32>
  %o = kvc.dense_attention terms(%q * %keys) value(%keys)
      maps [#q, #kv, #kv, #q] {scale = 0.125 : f32} : (tensor<?x2x64xf32>, tensor<?x2x?x64xf32>, tensor<?x2x?x64xf32>) -> tensor<?x2x64xf32>
  return %o, %k, %ss : tensor<?x2x64xf32>, tensor<?x2x?x64xi8>, tensor<?x2x?x1xf32>
}

// -----

#q = affine_map<(b, h, g, i, j, w) -> (b, h, w)>
#kv = affine_map<(b, h, g, i, j, w) -> (b, h, j, w)>

// Other scales than those that are read.
// CHECK: [Missed] PagedCache {{.*}}"cache 'k' not paged: its new rows have scales '#kvc.scale<f32, tensor, static = 5.000000e-01>', and attention takes them for '#kvc.scale<f32, token>'"
func.func @other_kind(%q3: tensor<?x2x1x64xf32>, %past: tensor<?x2x?x64xi8> {kvc.cache = "k"}, %past_s: tensor<?x2x?x1xf32> {kvc.cache = "s"})
    -> (tensor<?x2x64xf32>, tensor<?x2x?x64xi8> {kvc.cache = "k"}, tensor<?x2x?x1xf32> {kvc.cache = "s"}) {
  %q = tensor.collapse_shape %q3 [[0], [1], [2, 3]] : tensor<?x2x1x64xf32> into tensor<?x2x64xf32>
  %c = kvc.quantize %q3 to i8 scale<f32, tensor, static = 0.5> : (tensor<?x2x1x64xf32>) -> tensor<?x2x1x64xi8>
  %c2, %s = kvc.quantize %q3 to i8 scale<f32, token> : (tensor<?x2x1x64xf32>) -> (tensor<?x2x1x64xi8>, tensor<?x2x1x1xf32>)
  %k = tensor.concat dim(2) %past, %c : (tensor<?x2x?x64xi8>, tensor<?x2x1x64xi8>) -> tensor<?x2x?x64xi8>
  %ss = tensor.concat dim(2) %past_s, %s : (tensor<?x2x?x1xf32>, tensor<?x2x1x1xf32>) -> tensor<?x2x?x1xf32>
  %keys = kvc.dequantize %k by(%ss) from i8 scale<f32, token> : (tensor<?x2x?x64xi8>, tensor<?x2x?x1xf32>) -> tensor<?x2x?x64xf32>
  %o = kvc.dense_attention terms(%q * %keys) value(%keys)
      maps [#q, #kv, #kv, #q] {scale = 0.125 : f32} : (tensor<?x2x64xf32>, tensor<?x2x?x64xf32>, tensor<?x2x?x64xf32>) -> tensor<?x2x64xf32>
  return %o, %k, %ss : tensor<?x2x64xf32>, tensor<?x2x?x64xi8>, tensor<?x2x?x1xf32>
}

// -----

#q = affine_map<(b, h, g, i, j, w) -> (b, h, w)>
#kv = affine_map<(b, h, g, i, j, w) -> (b, h, j, w)>

// Static scales that differ by token.
// CHECK: [Missed] PagedCache {{.*}}"cache 'k' not paged: its static scales vary along other dimensions than heads"
func.func @by_token(%q3: tensor<?x2x1x64xf32>, %own: tensor<?x2x1x1xf32>, %all: tensor<?x2x?x1xf32>, %past: tensor<?x2x?x64xi8> {kvc.cache = "k"}, %past_s: tensor<?x2x?x1xf32> {kvc.cache = "s"})
    -> (tensor<?x2x64xf32>, tensor<?x2x?x64xi8> {kvc.cache = "k"}, tensor<?x2x?x1xf32> {kvc.cache = "s"}) {
  %q = tensor.collapse_shape %q3 [[0], [1], [2, 3]] : tensor<?x2x1x64xf32> into tensor<?x2x64xf32>
  %c = kvc.quantize %q3 by(%own) to i8 scale<f32, head, static> : (tensor<?x2x1x64xf32>, tensor<?x2x1x1xf32>) -> tensor<?x2x1x64xi8>
  %c2, %s = kvc.quantize %q3 to i8 scale<f32, token> : (tensor<?x2x1x64xf32>) -> (tensor<?x2x1x64xi8>, tensor<?x2x1x1xf32>)
  %k = tensor.concat dim(2) %past, %c : (tensor<?x2x?x64xi8>, tensor<?x2x1x64xi8>) -> tensor<?x2x?x64xi8>
  %ss = tensor.concat dim(2) %past_s, %s : (tensor<?x2x?x1xf32>, tensor<?x2x1x1xf32>) -> tensor<?x2x?x1xf32>
  %keys = kvc.dequantize %k by(%all) from i8 scale<f32, head, static> : (tensor<?x2x?x64xi8>, tensor<?x2x?x1xf32>) -> tensor<?x2x?x64xf32>
  %o = kvc.dense_attention terms(%q * %keys) value(%keys)
      maps [#q, #kv, #kv, #q] {scale = 0.125 : f32} : (tensor<?x2x64xf32>, tensor<?x2x?x64xf32>, tensor<?x2x?x64xf32>) -> tensor<?x2x64xf32>
  return %o, %k, %ss : tensor<?x2x64xf32>, tensor<?x2x?x64xi8>, tensor<?x2x?x1xf32>
}

// -----

#q = affine_map<(b, h, g, i, j, w) -> (b, h, w)>
#kv = affine_map<(b, h, g, i, j, w) -> (b, h, j, w)>

// Constants that differ by head.
// CHECK: [Missed] PagedCache {{.*}}"cache 'k' not paged: its static scales are neither an argument nor one constant for all heads"
func.func @constants(%q3: tensor<?x2x1x64xf32>, %past: tensor<?x2x?x64xi8> {kvc.cache = "k"}, %past_s: tensor<?x2x?x1xf32> {kvc.cache = "s"})
    -> (tensor<?x2x64xf32>, tensor<?x2x?x64xi8> {kvc.cache = "k"}, tensor<?x2x?x1xf32> {kvc.cache = "s"}) {
  %q = tensor.collapse_shape %q3 [[0], [1], [2, 3]] : tensor<?x2x1x64xf32> into tensor<?x2x64xf32>
  %cst = arith.constant dense<[[[[0.5]], [[0.25]]]]> : tensor<1x2x1x1xf32>
  %c = kvc.quantize %q3 by(%cst) to i8 scale<f32, head, static> : (tensor<?x2x1x64xf32>, tensor<1x2x1x1xf32>) -> tensor<?x2x1x64xi8>
  %c2, %s = kvc.quantize %q3 to i8 scale<f32, token> : (tensor<?x2x1x64xf32>) -> (tensor<?x2x1x64xi8>, tensor<?x2x1x1xf32>)
  %k = tensor.concat dim(2) %past, %c : (tensor<?x2x?x64xi8>, tensor<?x2x1x64xi8>) -> tensor<?x2x?x64xi8>
  %ss = tensor.concat dim(2) %past_s, %s : (tensor<?x2x?x1xf32>, tensor<?x2x1x1xf32>) -> tensor<?x2x?x1xf32>
  %keys = kvc.dequantize %k by(%cst) from i8 scale<f32, head, static> : (tensor<?x2x?x64xi8>, tensor<1x2x1x1xf32>) -> tensor<?x2x?x64xf32>
  %o = kvc.dense_attention terms(%q * %keys) value(%keys)
      maps [#q, #kv, #kv, #q] {scale = 0.125 : f32} : (tensor<?x2x64xf32>, tensor<?x2x?x64xf32>, tensor<?x2x?x64xf32>) -> tensor<?x2x64xf32>
  return %o, %k, %ss : tensor<?x2x64xf32>, tensor<?x2x?x64xi8>, tensor<?x2x?x1xf32>
}

// -----

#q = affine_map<(b, h, g, i, j, w) -> (b, h, w)>
#kv = affine_map<(b, h, g, i, j, w) -> (b, h, j, w)>

// Another argument at the read than at the write.
// CHECK: [Missed] PagedCache {{.*}}"cache 'k' not paged: its static scales are not everywhere the same argument"
func.func @arguments(%q3: tensor<?x2x1x64xf32>, %a: tensor<1x2x1x1xf32>, %b: tensor<1x2x1x1xf32>, %past: tensor<?x2x?x64xi8> {kvc.cache = "k"}, %past_s: tensor<?x2x?x1xf32> {kvc.cache = "s"})
    -> (tensor<?x2x64xf32>, tensor<?x2x?x64xi8> {kvc.cache = "k"}, tensor<?x2x?x1xf32> {kvc.cache = "s"}) {
  %q = tensor.collapse_shape %q3 [[0], [1], [2, 3]] : tensor<?x2x1x64xf32> into tensor<?x2x64xf32>
  %c = kvc.quantize %q3 by(%a) to i8 scale<f32, head, static> : (tensor<?x2x1x64xf32>, tensor<1x2x1x1xf32>) -> tensor<?x2x1x64xi8>
  %c2, %s = kvc.quantize %q3 to i8 scale<f32, token> : (tensor<?x2x1x64xf32>) -> (tensor<?x2x1x64xi8>, tensor<?x2x1x1xf32>)
  %k = tensor.concat dim(2) %past, %c : (tensor<?x2x?x64xi8>, tensor<?x2x1x64xi8>) -> tensor<?x2x?x64xi8>
  %ss = tensor.concat dim(2) %past_s, %s : (tensor<?x2x?x1xf32>, tensor<?x2x1x1xf32>) -> tensor<?x2x?x1xf32>
  %keys = kvc.dequantize %k by(%b) from i8 scale<f32, head, static> : (tensor<?x2x?x64xi8>, tensor<1x2x1x1xf32>) -> tensor<?x2x?x64xf32>
  %o = kvc.dense_attention terms(%q * %keys) value(%keys)
      maps [#q, #kv, #kv, #q] {scale = 0.125 : f32} : (tensor<?x2x64xf32>, tensor<?x2x?x64xf32>, tensor<?x2x?x64xf32>) -> tensor<?x2x64xf32>
  return %o, %k, %ss : tensor<?x2x64xf32>, tensor<?x2x?x64xi8>, tensor<?x2x?x1xf32>
}

// -----

#q = affine_map<(b, h, g, i, j, w) -> (b, h, w)>
#kv = affine_map<(b, h, g, i, j, w) -> (b, h, j, w)>

// Floats of 8 bits that are only converted, and so are no codes that saturate.
// CHECK: [Missed] PagedCache {{.*}}"cache 'k' not paged: attention reads its elements as they are, and not as codes by 'kvc.dequantize'"
func.func @converted(%q3: tensor<?x2x1x64xf32>, %past: tensor<?x2x?x64xf8E4M3FN> {kvc.cache = "k"}) -> (tensor<?x2x64xf32>, tensor<?x2x?x64xf8E4M3FN> {kvc.cache = "k"}) {
  %q = tensor.collapse_shape %q3 [[0], [1], [2, 3]] : tensor<?x2x1x64xf32> into tensor<?x2x64xf32>
  %c = arith.truncf %q3 : tensor<?x2x1x64xf32> to tensor<?x2x1x64xf8E4M3FN>
  %k = tensor.concat dim(2) %past, %c : (tensor<?x2x?x64xf8E4M3FN>, tensor<?x2x1x64xf8E4M3FN>) -> tensor<?x2x?x64xf8E4M3FN>
  %keys = arith.extf %k : tensor<?x2x?x64xf8E4M3FN> to tensor<?x2x?x64xf32>
  %o = kvc.dense_attention terms(%q * %keys) value(%keys)
      maps [#q, #kv, #kv, #q] {scale = 0.125 : f32} : (tensor<?x2x64xf32>, tensor<?x2x?x64xf32>, tensor<?x2x?x64xf32>) -> tensor<?x2x64xf32>
  return %o, %k : tensor<?x2x64xf32>, tensor<?x2x?x64xf8E4M3FN>
}

// -----

#q = affine_map<(b, h, g, i, j, w) -> (b, h, w)>
#kv = affine_map<(b, h, g, i, j, w) -> (b, h, j, w)>

// Heads that share a scale.
// CHECK: [Missed] PagedCache {{.*}}"cache 'k' not paged: tokens or heads share its scales"
func.func @heads(%q3: tensor<?x2x1x64xf32>, %past: tensor<?x2x?x64xi8> {kvc.cache = "k"}, %past_s: tensor<?x1x?x1xf32> {kvc.cache = "s"})
    -> (tensor<?x2x64xf32>, tensor<?x2x?x64xi8> {kvc.cache = "k"}, tensor<?x1x?x1xf32> {kvc.cache = "s"}) {
  %c0 = arith.constant 0 : index
  %b = tensor.dim %q3, %c0 : tensor<?x2x1x64xf32>
  %q = tensor.collapse_shape %q3 [[0], [1], [2, 3]] : tensor<?x2x1x64xf32> into tensor<?x2x64xf32>
  %c, %own = kvc.quantize %q3 to i8 scale<f32, token> : (tensor<?x2x1x64xf32>) -> (tensor<?x2x1x64xi8>, tensor<?x2x1x1xf32>)
  %one = tensor.extract_slice %own[0, 0, 0, 0] [%b, 1, 1, 1] [1, 1, 1, 1] : tensor<?x2x1x1xf32> to tensor<?x1x1x1xf32>
  %k = tensor.concat dim(2) %past, %c : (tensor<?x2x?x64xi8>, tensor<?x2x1x64xi8>) -> tensor<?x2x?x64xi8>
  %ss = tensor.concat dim(2) %past_s, %one : (tensor<?x1x?x1xf32>, tensor<?x1x1x1xf32>) -> tensor<?x1x?x1xf32>
  %keys = kvc.dequantize %k by(%ss) from i8 scale<f32, token> : (tensor<?x2x?x64xi8>, tensor<?x1x?x1xf32>) -> tensor<?x2x?x64xf32>
  %o = kvc.dense_attention terms(%q * %keys) value(%keys)
      maps [#q, #kv, #kv, #q] {scale = 0.125 : f32} : (tensor<?x2x64xf32>, tensor<?x2x?x64xf32>, tensor<?x2x?x64xf32>) -> tensor<?x2x64xf32>
  return %o, %k, %ss : tensor<?x2x64xf32>, tensor<?x2x?x64xi8>, tensor<?x1x?x1xf32>
}
