// A layer whose own code quantises its cache to codes of 4 bits ends at pages of them: there is no past of
// codes, scales or zero points, no quantisation of the code's own, and no key or value that is dequantised. Run
// again, the pipeline changes nothing.

// RUN: kvc-opt %s -kvc-optimize-cache-pipeline -o %t.once && FileCheck %s --input-file=%t.once
// RUN: kvc-opt %t.once -kvc-optimize-cache-pipeline -o %t.twice && diff %t.once %t.twice

// Caches that stay tensors hold codes too.

// RUN: kvc-opt %s -kvc-optimize-cache-pipeline=page=0 -o %t.small && FileCheck %s --input-file=%t.small --check-prefix=TENSORS
// RUN: kvc-opt %t.small -kvc-optimize-cache-pipeline=page=0 -o %t.smaller && diff %t.small %t.smaller
// RUN: kvc-opt %t.small -kvc-optimize-cache-pipeline -o %t.steps && diff %t.once %t.steps

// CHECK-LABEL: func.func @attend(
// CHECK-SAME:    %[[X:.*]]: tensor<?x8x?x64xf32>, %[[CACHE:.*]]: !kvc.cache<page = 16, k: 2x64xi4 scale<f32, group = 32, zero_point>, v: 2x64xi4 scale<f32, group = 32, zero_point>> {kvc.cache = "k+v"}, %{{.*}}: !kvc.batch) -> tensor<?x2x2x?x64xf32> {
// CHECK-NOT:     {{quantize|dequantize|concat|math|divf}}
// CHECK:         kvc.append %[[CACHE]][k: %{{.*}}, v: %{{.*}}]
// CHECK-NOT:     {{quantize|dequantize|concat|math|divf}}
// CHECK:         kvc.attention %[[CACHE]]
// CHECK-NOT:     {{quantize|dequantize|concat|math|divf}}
// CHECK:         return

// TENSORS-LABEL: func.func @attend(
// TENSORS-SAME:    tensor<?x2x?x64xi8> {kvc.cache = "k"}, %{{.*}}: tensor<?x2x?x2xf32> {kvc.cache = "k_scale"}, %{{.*}}: tensor<?x2x?x2xf32> {kvc.cache = "k_zero"}
// TENSORS:         kvc.quantize
// TENSORS:         kvc.dequantize
// TENSORS:         kvc.dense_attention

#q = affine_map<(b, h, g, i, j, w) -> (b, h, g, i, w)>
#kv = affine_map<(b, h, g, i, j, w) -> (b, h, j, w)>
func.func @attend(%x: tensor<?x8x?x64xf32>, %k_past: tensor<?x2x?x64xi8> {kvc.cache = "k"}, %k_scale_past: tensor<?x2x?x2xf32> {kvc.cache = "k_scale"}, %k_zero_past: tensor<?x2x?x2xf32> {kvc.cache = "k_zero"}, %v_past: tensor<?x2x?x64xi8> {kvc.cache = "v"}, %v_scale_past: tensor<?x2x?x2xf32> {kvc.cache = "v_scale"}, %v_zero_past: tensor<?x2x?x2xf32> {kvc.cache = "v_zero"})
    -> (tensor<?x2x2x?x64xf32>, tensor<?x2x?x64xi8> {kvc.cache = "k"}, tensor<?x2x?x2xf32> {kvc.cache = "k_scale"}, tensor<?x2x?x2xf32> {kvc.cache = "k_zero"}, tensor<?x2x?x64xi8> {kvc.cache = "v"}, tensor<?x2x?x2xf32> {kvc.cache = "v_scale"}, tensor<?x2x?x2xf32> {kvc.cache = "v_zero"}) {
  %c0 = arith.constant 0 : index
  %c2 = arith.constant 2 : index
  %b = tensor.dim %x, %c0 : tensor<?x8x?x64xf32>
  %t_new = tensor.dim %x, %c2 : tensor<?x8x?x64xf32>
  %t_past = tensor.dim %k_past, %c2 : tensor<?x2x?x64xi8>
  %t_all = arith.addi %t_past, %t_new : index

  %q_heads = tensor.extract_slice %x[0, 0, 0, 0] [%b, 4, %t_new, 64] [1, 1, 1, 1] : tensor<?x8x?x64xf32> to tensor<?x4x?x64xf32>
  %k = tensor.extract_slice %x[0, 4, 0, 0] [%b, 2, %t_new, 64] [1, 1, 1, 1] : tensor<?x8x?x64xf32> to tensor<?x2x?x64xf32>
  %v = tensor.extract_slice %x[0, 6, 0, 0] [%b, 2, %t_new, 64] [1, 1, 1, 1] : tensor<?x8x?x64xf32> to tensor<?x2x?x64xf32>
  %q = tensor.expand_shape %q_heads [[0], [1, 2], [3], [4]] output_shape [%b, 2, 2, %t_new, 64] : tensor<?x4x?x64xf32> into tensor<?x2x2x?x64xf32>

  %k_max_x = tensor.expand_shape %k [[0], [1], [2], [3, 4]] output_shape [%b, 2, %t_new, 2, 32] : tensor<?x2x?x64xf32> into tensor<?x2x?x2x32xf32>
  %k_max_s = arith.constant 0xFF800000 : f32
  %k_max_e = tensor.empty(%b, %t_new) : tensor<?x2x?x2xf32>
  %k_max_i = linalg.fill ins(%k_max_s : f32) outs(%k_max_e : tensor<?x2x?x2xf32>) -> tensor<?x2x?x2xf32>
  %k_max = linalg.generic {indexing_maps = [affine_map<(b, h, t, g, w) -> (b, h, t, g, w)>, affine_map<(b, h, t, g, w) -> (b, h, t, g)>],
      iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%k_max_x : tensor<?x2x?x2x32xf32>) outs(%k_max_i : tensor<?x2x?x2xf32>) {
  ^bb0(%in: f32, %acc: f32):
    %m = arith.maximumf %acc, %in : f32
    linalg.yield %m : f32
  } -> tensor<?x2x?x2xf32>
  %k_min_x = tensor.expand_shape %k [[0], [1], [2], [3, 4]] output_shape [%b, 2, %t_new, 2, 32] : tensor<?x2x?x64xf32> into tensor<?x2x?x2x32xf32>
  %k_min_s = arith.constant 0x7F800000 : f32
  %k_min_e = tensor.empty(%b, %t_new) : tensor<?x2x?x2xf32>
  %k_min_i = linalg.fill ins(%k_min_s : f32) outs(%k_min_e : tensor<?x2x?x2xf32>) -> tensor<?x2x?x2xf32>
  %k_min = linalg.generic {indexing_maps = [affine_map<(b, h, t, g, w) -> (b, h, t, g, w)>, affine_map<(b, h, t, g, w) -> (b, h, t, g)>],
      iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%k_min_x : tensor<?x2x?x2x32xf32>) outs(%k_min_i : tensor<?x2x?x2xf32>) {
  ^bb0(%in: f32, %acc: f32):
    %m = arith.minimumf %acc, %in : f32
    linalg.yield %m : f32
  } -> tensor<?x2x?x2xf32>
  %k_scale_new_e = tensor.empty(%b, %t_new) : tensor<?x2x?x2xf32>
  %k_scale_new = linalg.generic {indexing_maps = [affine_map<(b, h, t, w) -> (b, h, t, w)>, affine_map<(b, h, t, w) -> (b, h, t, w)>, affine_map<(b, h, t, w) -> (b, h, t, w)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      ins(%k_max, %k_min : tensor<?x2x?x2xf32>, tensor<?x2x?x2xf32>) outs(%k_scale_new_e : tensor<?x2x?x2xf32>) {
  ^bb0(%in0: f32, %in1: f32, %out: f32):
    %c = arith.constant 15.0 : f32
    %y = arith.divf %in0, %c : f32
    %z = arith.divf %in1, %c : f32
    %r = arith.subf %y, %z : f32
    linalg.yield %r : f32
  } -> tensor<?x2x?x2xf32>
  %k_zero_new_e = tensor.empty(%b, %t_new) : tensor<?x2x?x2xf32>
  %k_zero_new = linalg.generic {indexing_maps = [affine_map<(b, h, t, w) -> (b, h, t, w)>, affine_map<(b, h, t, w) -> (b, h, t, w)>, affine_map<(b, h, t, w) -> (b, h, t, w)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      ins(%k_min, %k_scale_new : tensor<?x2x?x2xf32>, tensor<?x2x?x2xf32>) outs(%k_zero_new_e : tensor<?x2x?x2xf32>) {
  ^bb0(%in0: f32, %in1: f32, %out: f32):
    %c = arith.constant 8.0 : f32
    %y = arith.mulf %in1, %c : f32
    %r = arith.addf %in0, %y : f32
    linalg.yield %r : f32
  } -> tensor<?x2x?x2xf32>
  %k_new_e = tensor.empty(%b, %t_new) : tensor<?x2x?x64xi8>
  %k_new = linalg.generic {indexing_maps = [affine_map<(b, h, t, w) -> (b, h, t, w)>, affine_map<(b, h, t, w) -> (b, h, t, w floordiv 32)>, affine_map<(b, h, t, w) -> (b, h, t, w floordiv 32)>, affine_map<(b, h, t, w) -> (b, h, t, w)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      ins(%k, %k_scale_new, %k_zero_new : tensor<?x2x?x64xf32>, tensor<?x2x?x2xf32>, tensor<?x2x?x2xf32>) outs(%k_new_e : tensor<?x2x?x64xi8>) {
  ^bb0(%in0: f32, %in1: f32, %in2: f32, %out: i8):
    %low = arith.constant -8.0 : f32
    %high = arith.constant 7.0 : f32
    %y = arith.subf %in0, %in2 : f32
    %z = arith.divf %y, %in1 : f32
    %u = math.roundeven %z : f32
    %a = arith.maximumf %u, %low : f32
    %c = arith.minimumf %a, %high : f32
    %r = arith.fptosi %c : f32 to i8
    linalg.yield %r : i8
  } -> tensor<?x2x?x64xi8>
  %v_max_x = tensor.expand_shape %v [[0], [1], [2], [3, 4]] output_shape [%b, 2, %t_new, 2, 32] : tensor<?x2x?x64xf32> into tensor<?x2x?x2x32xf32>
  %v_max_s = arith.constant 0xFF800000 : f32
  %v_max_e = tensor.empty(%b, %t_new) : tensor<?x2x?x2xf32>
  %v_max_i = linalg.fill ins(%v_max_s : f32) outs(%v_max_e : tensor<?x2x?x2xf32>) -> tensor<?x2x?x2xf32>
  %v_max = linalg.generic {indexing_maps = [affine_map<(b, h, t, g, w) -> (b, h, t, g, w)>, affine_map<(b, h, t, g, w) -> (b, h, t, g)>],
      iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%v_max_x : tensor<?x2x?x2x32xf32>) outs(%v_max_i : tensor<?x2x?x2xf32>) {
  ^bb0(%in: f32, %acc: f32):
    %m = arith.maximumf %acc, %in : f32
    linalg.yield %m : f32
  } -> tensor<?x2x?x2xf32>
  %v_min_x = tensor.expand_shape %v [[0], [1], [2], [3, 4]] output_shape [%b, 2, %t_new, 2, 32] : tensor<?x2x?x64xf32> into tensor<?x2x?x2x32xf32>
  %v_min_s = arith.constant 0x7F800000 : f32
  %v_min_e = tensor.empty(%b, %t_new) : tensor<?x2x?x2xf32>
  %v_min_i = linalg.fill ins(%v_min_s : f32) outs(%v_min_e : tensor<?x2x?x2xf32>) -> tensor<?x2x?x2xf32>
  %v_min = linalg.generic {indexing_maps = [affine_map<(b, h, t, g, w) -> (b, h, t, g, w)>, affine_map<(b, h, t, g, w) -> (b, h, t, g)>],
      iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%v_min_x : tensor<?x2x?x2x32xf32>) outs(%v_min_i : tensor<?x2x?x2xf32>) {
  ^bb0(%in: f32, %acc: f32):
    %m = arith.minimumf %acc, %in : f32
    linalg.yield %m : f32
  } -> tensor<?x2x?x2xf32>
  %v_scale_new_e = tensor.empty(%b, %t_new) : tensor<?x2x?x2xf32>
  %v_scale_new = linalg.generic {indexing_maps = [affine_map<(b, h, t, w) -> (b, h, t, w)>, affine_map<(b, h, t, w) -> (b, h, t, w)>, affine_map<(b, h, t, w) -> (b, h, t, w)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      ins(%v_max, %v_min : tensor<?x2x?x2xf32>, tensor<?x2x?x2xf32>) outs(%v_scale_new_e : tensor<?x2x?x2xf32>) {
  ^bb0(%in0: f32, %in1: f32, %out: f32):
    %c = arith.constant 15.0 : f32
    %y = arith.divf %in0, %c : f32
    %z = arith.divf %in1, %c : f32
    %r = arith.subf %y, %z : f32
    linalg.yield %r : f32
  } -> tensor<?x2x?x2xf32>
  %v_zero_new_e = tensor.empty(%b, %t_new) : tensor<?x2x?x2xf32>
  %v_zero_new = linalg.generic {indexing_maps = [affine_map<(b, h, t, w) -> (b, h, t, w)>, affine_map<(b, h, t, w) -> (b, h, t, w)>, affine_map<(b, h, t, w) -> (b, h, t, w)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      ins(%v_min, %v_scale_new : tensor<?x2x?x2xf32>, tensor<?x2x?x2xf32>) outs(%v_zero_new_e : tensor<?x2x?x2xf32>) {
  ^bb0(%in0: f32, %in1: f32, %out: f32):
    %c = arith.constant 8.0 : f32
    %y = arith.mulf %in1, %c : f32
    %r = arith.addf %in0, %y : f32
    linalg.yield %r : f32
  } -> tensor<?x2x?x2xf32>
  %v_new_e = tensor.empty(%b, %t_new) : tensor<?x2x?x64xi8>
  %v_new = linalg.generic {indexing_maps = [affine_map<(b, h, t, w) -> (b, h, t, w)>, affine_map<(b, h, t, w) -> (b, h, t, w floordiv 32)>, affine_map<(b, h, t, w) -> (b, h, t, w floordiv 32)>, affine_map<(b, h, t, w) -> (b, h, t, w)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      ins(%v, %v_scale_new, %v_zero_new : tensor<?x2x?x64xf32>, tensor<?x2x?x2xf32>, tensor<?x2x?x2xf32>) outs(%v_new_e : tensor<?x2x?x64xi8>) {
  ^bb0(%in0: f32, %in1: f32, %in2: f32, %out: i8):
    %low = arith.constant -8.0 : f32
    %high = arith.constant 7.0 : f32
    %y = arith.subf %in0, %in2 : f32
    %z = arith.divf %y, %in1 : f32
    %u = math.roundeven %z : f32
    %a = arith.maximumf %u, %low : f32
    %c = arith.minimumf %a, %high : f32
    %r = arith.fptosi %c : f32 to i8
    linalg.yield %r : i8
  } -> tensor<?x2x?x64xi8>

  %k_full = tensor.concat dim(2) %k_past, %k_new : (tensor<?x2x?x64xi8>, tensor<?x2x?x64xi8>) -> tensor<?x2x?x64xi8>
  %k_scale_full = tensor.concat dim(2) %k_scale_past, %k_scale_new : (tensor<?x2x?x2xf32>, tensor<?x2x?x2xf32>) -> tensor<?x2x?x2xf32>
  %k_zero_full = tensor.concat dim(2) %k_zero_past, %k_zero_new : (tensor<?x2x?x2xf32>, tensor<?x2x?x2xf32>) -> tensor<?x2x?x2xf32>
  %v_full = tensor.concat dim(2) %v_past, %v_new : (tensor<?x2x?x64xi8>, tensor<?x2x?x64xi8>) -> tensor<?x2x?x64xi8>
  %v_scale_full = tensor.concat dim(2) %v_scale_past, %v_scale_new : (tensor<?x2x?x2xf32>, tensor<?x2x?x2xf32>) -> tensor<?x2x?x2xf32>
  %v_zero_full = tensor.concat dim(2) %v_zero_past, %v_zero_new : (tensor<?x2x?x2xf32>, tensor<?x2x?x2xf32>) -> tensor<?x2x?x2xf32>

  %k_all_e = tensor.empty(%b, %t_all) : tensor<?x2x?x64xf32>
  %k_all = linalg.generic {indexing_maps = [affine_map<(b, h, t, w) -> (b, h, t, w)>, affine_map<(b, h, t, w) -> (b, h, t, w floordiv 32)>, affine_map<(b, h, t, w) -> (b, h, t, w floordiv 32)>, affine_map<(b, h, t, w) -> (b, h, t, w)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      ins(%k_full, %k_scale_full, %k_zero_full : tensor<?x2x?x64xi8>, tensor<?x2x?x2xf32>, tensor<?x2x?x2xf32>) outs(%k_all_e : tensor<?x2x?x64xf32>) {
  ^bb0(%in0: i8, %in1: f32, %in2: f32, %out: f32):
    %f = arith.sitofp %in0 : i8 to f32
    %y = arith.mulf %f, %in1 : f32
    %r = arith.addf %y, %in2 : f32
    linalg.yield %r : f32
  } -> tensor<?x2x?x64xf32>
  %v_all_e = tensor.empty(%b, %t_all) : tensor<?x2x?x64xf32>
  %v_all = linalg.generic {indexing_maps = [affine_map<(b, h, t, w) -> (b, h, t, w)>, affine_map<(b, h, t, w) -> (b, h, t, w floordiv 32)>, affine_map<(b, h, t, w) -> (b, h, t, w floordiv 32)>, affine_map<(b, h, t, w) -> (b, h, t, w)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      ins(%v_full, %v_scale_full, %v_zero_full : tensor<?x2x?x64xi8>, tensor<?x2x?x2xf32>, tensor<?x2x?x2xf32>) outs(%v_all_e : tensor<?x2x?x64xf32>) {
  ^bb0(%in0: i8, %in1: f32, %in2: f32, %out: f32):
    %f = arith.sitofp %in0 : i8 to f32
    %y = arith.mulf %f, %in1 : f32
    %r = arith.addf %y, %in2 : f32
    linalg.yield %r : f32
  } -> tensor<?x2x?x64xf32>
  %o = kvc.dense_attention terms(%q * %k_all) value(%v_all) score [#kvc.causal]
      maps [#q, #kv, #kv, #q] {scale = 0.125 : f32} : (tensor<?x2x2x?x64xf32>, tensor<?x2x?x64xf32>, tensor<?x2x?x64xf32>) -> tensor<?x2x2x?x64xf32>
  return %o, %k_full, %k_scale_full, %k_zero_full, %v_full, %v_scale_full, %v_zero_full : tensor<?x2x2x?x64xf32>, tensor<?x2x?x64xi8>, tensor<?x2x?x2xf32>, tensor<?x2x?x2xf32>, tensor<?x2x?x64xi8>, tensor<?x2x?x2xf32>, tensor<?x2x?x2xf32>
}

