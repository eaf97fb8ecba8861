// RUN: kvc-opt %s -kvc-absorb-mla -canonicalize -cse -remarks-filter=kvc-absorb-mla \
// RUN:   -remark-policy=all 2> %t.remarks | FileCheck %s --check-prefixes=CHECK,AUTO
// RUN: FileCheck %s --check-prefix=REMARK < %t.remarks
// RUN: kvc-opt %s -kvc-absorb-mla=precompute=all -canonicalize -cse | FileCheck %s --check-prefixes=CHECK,ALL
// RUN: kvc-opt %s -kvc-absorb-mla=precompute=none -canonicalize -cse -remarks-filter=kvc-absorb-mla \
// RUN:   -remark-policy=all 2>&1 | FileCheck %s --check-prefix=NONE

#q = affine_map<(b, h, g, i, j, w) -> (i, w)>
#k = affine_map<(b, h, g, i, j, w) -> (j, w)>

// A query x U, keys c W, values c V, and a result times O: constants all, and the products U W'
// and V O are smaller than they.
//
// REMARK: "weights of the query multiplied beforehand: the product takes 16 bytes of weights and 8 operations a new token, where they take 64 and 32"
// REMARK: "weights of the result multiplied beforehand: the product takes 24 bytes of weights and 12 operations a new token, where they take 80 and 40"
// NONE-NOT: Precomputed
// CHECK-LABEL: func.func @both
// CHECK-SAME:    %[[X:.*]]: tensor<3x2xf32>, %{{.*}}: tensor<5x2xf32>
// CHECK-DAG:     %[[UW:.*]] = arith.constant dense<{{\[}}[2.800000e+01, 3.400000e+01], [1.000000e+01, 1.200000e+01]]> : tensor<2x2xf32>
// CHECK-DAG:     %[[VO:.*]] = arith.constant dense<{{\[}}[1.100000e+01, 1.300000e+01, 1.500000e+01], [4.000000e+00, 5.000000e+00, 6.000000e+00]]> : tensor<2x3xf32>
// CHECK-NOT:     tensor<{{[35]}}x4xf32>
// CHECK:         %[[Q:.*]] = linalg.generic {{.*}} ins(%[[X]], %[[UW]] :
// CHECK:         %[[A:.*]] = kvc.dense_attention terms(%[[Q]] * %{{.*}})
// CHECK:         %[[R:.*]] = linalg.generic {{.*}} ins(%[[A]], %[[VO]] :
// CHECK:         return %[[R]]
func.func @both(%x: tensor<3x2xf32>, %c: tensor<5x2xf32>) -> tensor<3x3xf32> {
  %zero = arith.constant 0.0 : f32
  %u = arith.constant dense<[[1.0, 3.0, 5.0, 7.0], [2.0, 4.0, 6.0, 8.0]]> : tensor<2x4xf32>
  %w = arith.constant dense<[[1.0, 1.0, 2.0, 2.0], [0.0, 1.0, 0.0, 1.0]]> : tensor<2x4xf32>
  %v = arith.constant dense<[[1.0, 0.0, 0.0, 1.0], [0.0, 1.0, 0.0, 0.0]]> : tensor<2x4xf32>
  %o = arith.constant dense<[[1.0, 2.0, 3.0], [4.0, 5.0, 6.0], [7.0, 8.0, 9.0], [10.0, 11.0, 12.0]]>
      : tensor<4x3xf32>
  %rows = math.absf %c : tensor<5x2xf32>
  %e3 = tensor.empty() : tensor<3x4xf32>
  %f3 = linalg.fill ins(%zero : f32) outs(%e3 : tensor<3x4xf32>) -> tensor<3x4xf32>
  %e5 = tensor.empty() : tensor<5x4xf32>
  %f5 = linalg.fill ins(%zero : f32) outs(%e5 : tensor<5x4xf32>) -> tensor<5x4xf32>
  %er = tensor.empty() : tensor<3x3xf32>
  %fr = linalg.fill ins(%zero : f32) outs(%er : tensor<3x3xf32>) -> tensor<3x3xf32>
  %query = linalg.matmul ins(%x, %u : tensor<3x2xf32>, tensor<2x4xf32>) outs(%f3 : tensor<3x4xf32>) -> tensor<3x4xf32>
  %key = linalg.matmul ins(%rows, %w : tensor<5x2xf32>, tensor<2x4xf32>) outs(%f5 : tensor<5x4xf32>) -> tensor<5x4xf32>
  %value = linalg.matmul ins(%rows, %v : tensor<5x2xf32>, tensor<2x4xf32>) outs(%f5 : tensor<5x4xf32>) -> tensor<5x4xf32>
  %a = kvc.dense_attention terms(%query * %key) value(%value) score [#kvc.causal]
      maps [#q, #k, #k, #q] {scale = 0.25 : f32}
      : (tensor<3x4xf32>, tensor<5x4xf32>, tensor<5x4xf32>) -> tensor<3x4xf32>
  %r = linalg.matmul ins(%a, %o : tensor<3x4xf32>, tensor<4x3xf32>) outs(%fr : tensor<3x3xf32>) -> tensor<3x3xf32>
  return %r : tensor<3x3xf32>
}

// The query is returned too, so that U stays: its product with W' would come on top.
//
// REMARK: "weights of the query not multiplied beforehand: the product takes 32 bytes of weights and 16 operations a new token, where they take 32 and 16"
// CHECK-LABEL: func.func @used_besides
// CHECK-SAME:    %[[X:.*]]: tensor<3x4xf32>
// CHECK:         %[[OLD:.*]] = linalg.matmul ins(%[[X]],
// AUTO:          %[[Q:.*]] = linalg.generic {{.*}} ins(%[[OLD]], %{{.*}} :
// ALL:           %[[Q:.*]] = linalg.generic {{.*}} ins(%[[X]], %{{.*}} :
// CHECK:         kvc.dense_attention terms(%[[Q]] * %{{.*}})
func.func @used_besides(%x: tensor<3x4xf32>, %c: tensor<5x2xf32>, %value: tensor<5x5xf32>)
    -> (tensor<3x5xf32>, tensor<3x4xf32>) {
  %zero = arith.constant 0.0 : f32
  %u = arith.constant dense<[[1.0, 2.0, 3.0, 4.0], [2.0, 3.0, 4.0, 5.0], [3.0, 4.0, 5.0, 6.0],
                             [4.0, 5.0, 6.0, 7.0]]> : tensor<4x4xf32>
  %w = arith.constant dense<[[1.0, 1.0, 2.0, 2.0], [0.0, 1.0, 0.0, 1.0]]> : tensor<2x4xf32>
  %rows = math.absf %c : tensor<5x2xf32>
  %e3 = tensor.empty() : tensor<3x4xf32>
  %f3 = linalg.fill ins(%zero : f32) outs(%e3 : tensor<3x4xf32>) -> tensor<3x4xf32>
  %e5 = tensor.empty() : tensor<5x4xf32>
  %f5 = linalg.fill ins(%zero : f32) outs(%e5 : tensor<5x4xf32>) -> tensor<5x4xf32>
  %query = linalg.matmul ins(%x, %u : tensor<3x4xf32>, tensor<4x4xf32>) outs(%f3 : tensor<3x4xf32>) -> tensor<3x4xf32>
  %key = linalg.matmul ins(%rows, %w : tensor<5x2xf32>, tensor<2x4xf32>) outs(%f5 : tensor<5x4xf32>) -> tensor<5x4xf32>
  %a = kvc.dense_attention terms(%query * %key) value(%value) score [#kvc.causal]
      maps [#q, #k, #k, #q] {scale = 0.25 : f32}
      : (tensor<3x4xf32>, tensor<5x4xf32>, tensor<5x5xf32>) -> tensor<3x5xf32>
  return %a, %query : tensor<3x5xf32>, tensor<3x4xf32>
}

// Weights that are arguments: the product would be computed in each call.
//
// REMARK: "weights of the query not multiplied beforehand: they are arguments, so that each call would compute the product"
// CHECK-LABEL: func.func @negative_arguments
// CHECK-SAME:    %[[X:.*]]: tensor<3x2xf32>, %{{.*}}: tensor<5x2xf32>, %[[U:.*]]: tensor<2x4xf32>, %[[W:.*]]: tensor<2x4xf32>
// CHECK:         %[[OLD:.*]] = linalg.matmul ins(%[[X]], %[[U]] :
// CHECK:         linalg.generic {{.*}} ins(%[[OLD]], %[[W]] :
func.func @negative_arguments(%x: tensor<3x2xf32>, %c: tensor<5x2xf32>, %u: tensor<2x4xf32>,
                              %w: tensor<2x4xf32>, %value: tensor<5x5xf32>) -> tensor<3x5xf32> {
  %zero = arith.constant 0.0 : f32
  %rows = math.absf %c : tensor<5x2xf32>
  %e3 = tensor.empty() : tensor<3x4xf32>
  %f3 = linalg.fill ins(%zero : f32) outs(%e3 : tensor<3x4xf32>) -> tensor<3x4xf32>
  %e5 = tensor.empty() : tensor<5x4xf32>
  %f5 = linalg.fill ins(%zero : f32) outs(%e5 : tensor<5x4xf32>) -> tensor<5x4xf32>
  %query = linalg.matmul ins(%x, %u : tensor<3x2xf32>, tensor<2x4xf32>) outs(%f3 : tensor<3x4xf32>) -> tensor<3x4xf32>
  %key = linalg.matmul ins(%rows, %w : tensor<5x2xf32>, tensor<2x4xf32>) outs(%f5 : tensor<5x4xf32>) -> tensor<5x4xf32>
  %a = kvc.dense_attention terms(%query * %key) value(%value) score [#kvc.causal]
      maps [#q, #k, #k, #q] {scale = 0.25 : f32}
      : (tensor<3x4xf32>, tensor<5x4xf32>, tensor<5x5xf32>) -> tensor<3x5xf32>
  return %a : tensor<3x5xf32>
}

// A resource is read as it lies in memory.
//
// REMARK: "weights of the query multiplied beforehand: the product takes 8 bytes of weights and 8 operations a new token, where they take 32 and 32"
// CHECK-LABEL: func.func @resource
// CHECK:         arith.constant dense<{{\[}}[2.800000e+01, 3.400000e+01], [1.000000e+01, 1.200000e+01]]> : tensor<2x2xbf16>
func.func @resource(%x: tensor<3x2xbf16>, %c: tensor<5x2xbf16>, %value: tensor<5x5xbf16>) -> tensor<3x5xbf16> {
  %zero = arith.constant 0.0 : bf16
  %u = arith.constant dense_resource<known> : tensor<2x4xbf16>
  %w = arith.constant dense<[[1.0, 1.0, 2.0, 2.0], [0.0, 1.0, 0.0, 1.0]]> : tensor<2x4xbf16>
  %rows = math.absf %c : tensor<5x2xbf16>
  %e3 = tensor.empty() : tensor<3x4xbf16>
  %f3 = linalg.fill ins(%zero : bf16) outs(%e3 : tensor<3x4xbf16>) -> tensor<3x4xbf16>
  %e5 = tensor.empty() : tensor<5x4xbf16>
  %f5 = linalg.fill ins(%zero : bf16) outs(%e5 : tensor<5x4xbf16>) -> tensor<5x4xbf16>
  %query = linalg.matmul ins(%x, %u : tensor<3x2xbf16>, tensor<2x4xbf16>) outs(%f3 : tensor<3x4xbf16>) -> tensor<3x4xbf16>
  %key = linalg.matmul ins(%rows, %w : tensor<5x2xbf16>, tensor<2x4xbf16>) outs(%f5 : tensor<5x4xbf16>) -> tensor<5x4xbf16>
  %a = kvc.dense_attention terms(%query * %key) value(%value) score [#kvc.causal]
      maps [#q, #k, #k, #q] {scale = 0.25 : f32}
      : (tensor<3x4xbf16>, tensor<5x4xbf16>, tensor<5x5xbf16>) -> tensor<3x5xbf16>
  return %a : tensor<3x5xbf16>
}

// One without its data has no elements that are known.
//
// REMARK: "weights of the query not multiplied beforehand: they are no constants whose elements are known"
// CHECK-LABEL: func.func @negative_no_data
// CHECK:         linalg.matmul
func.func @negative_no_data(%x: tensor<3x2xbf16>, %c: tensor<5x2xbf16>, %value: tensor<5x5xbf16>) -> tensor<3x5xbf16> {
  %zero = arith.constant 0.0 : bf16
  %u = arith.constant dense_resource<missing> : tensor<2x4xbf16>
  %w = arith.constant dense<[[1.0, 1.0, 2.0, 2.0], [0.0, 1.0, 0.0, 1.0]]> : tensor<2x4xbf16>
  %rows = math.absf %c : tensor<5x2xbf16>
  %e3 = tensor.empty() : tensor<3x4xbf16>
  %f3 = linalg.fill ins(%zero : bf16) outs(%e3 : tensor<3x4xbf16>) -> tensor<3x4xbf16>
  %e5 = tensor.empty() : tensor<5x4xbf16>
  %f5 = linalg.fill ins(%zero : bf16) outs(%e5 : tensor<5x4xbf16>) -> tensor<5x4xbf16>
  %query = linalg.matmul ins(%x, %u : tensor<3x2xbf16>, tensor<2x4xbf16>) outs(%f3 : tensor<3x4xbf16>) -> tensor<3x4xbf16>
  %key = linalg.matmul ins(%rows, %w : tensor<5x2xbf16>, tensor<2x4xbf16>) outs(%f5 : tensor<5x4xbf16>) -> tensor<5x4xbf16>
  %a = kvc.dense_attention terms(%query * %key) value(%value) score [#kvc.causal]
      maps [#q, #k, #k, #q] {scale = 0.25 : f32}
      : (tensor<3x4xbf16>, tensor<5x4xbf16>, tensor<5x5xbf16>) -> tensor<3x5xbf16>
  return %a : tensor<3x5xbf16>
}

// More multiplications than a compiler is to do.
//
// REMARK: "weights of the query not multiplied beforehand: expected at most 4294967296 multiplications, and 33554432 elements of each and of the product"
// CHECK-LABEL: func.func @negative_large
// CHECK:         linalg.matmul
func.func @negative_large(%x: tensor<3x4096xbf16>, %c: tensor<5x4096xbf16>, %value: tensor<5x5xbf16>) -> tensor<3x5xbf16> {
  %zero = arith.constant 0.0 : bf16
  %u = arith.constant dense_resource<missing> : tensor<4096x65536xbf16>
  %w = arith.constant dense_resource<missing> : tensor<4096x65536xbf16>
  %rows = math.absf %c : tensor<5x4096xbf16>
  %e3 = tensor.empty() : tensor<3x65536xbf16>
  %f3 = linalg.fill ins(%zero : bf16) outs(%e3 : tensor<3x65536xbf16>) -> tensor<3x65536xbf16>
  %e5 = tensor.empty() : tensor<5x65536xbf16>
  %f5 = linalg.fill ins(%zero : bf16) outs(%e5 : tensor<5x65536xbf16>) -> tensor<5x65536xbf16>
  %query = linalg.matmul ins(%x, %u : tensor<3x4096xbf16>, tensor<4096x65536xbf16>) outs(%f3 : tensor<3x65536xbf16>) -> tensor<3x65536xbf16>
  %key = linalg.matmul ins(%rows, %w : tensor<5x4096xbf16>, tensor<4096x65536xbf16>) outs(%f5 : tensor<5x65536xbf16>) -> tensor<5x65536xbf16>
  %a = kvc.dense_attention terms(%query * %key) value(%value) score [#kvc.causal]
      maps [#q, #k, #k, #q] {scale = 0.25 : f32}
      : (tensor<3x65536xbf16>, tensor<5x65536xbf16>, tensor<5x5xbf16>) -> tensor<3x5xbf16>
  return %a : tensor<3x5xbf16>
}

{-#
  dialect_resources: {
    builtin: {
      known: "0x02000000803F4040A040E04000408040C0400041"
    }
  }
#-}
