// RUN: kvc-opt %s -kvc-decompose -canonicalize -cse | FileCheck %s

// The parts' weights are exp(lse - largest lse); an empty part is not read.
// CHECK-LABEL: func.func @merge
func.func @merge(%o0: tensor<?x4x8xf16>, %o1: tensor<?x4x8xf16>, %l0: tensor<?x4xf32>,
                 %l1: tensor<?x4xf32>, %sinks: tensor<4xf32>)
    -> (tensor<?x4x8xf16>, tensor<?x4xf32>) {
  // CHECK-DAG: %[[NONE:.*]] = arith.constant 0xFF800000 : f32
  // CHECK:     %[[SINK:.*]] = tensor.extract %{{.*}} : tensor<4xf32>
  // CHECK:     %[[L0:.*]] = tensor.extract %{{.*}} : tensor<?x4xf32>
  // CHECK:     %[[MAX0:.*]] = arith.maximumf %[[SINK]], %[[L0]]
  // CHECK:     %[[L1:.*]] = tensor.extract %{{.*}} : tensor<?x4xf32>
  // CHECK:     %[[MAX1:.*]] = arith.maximumf %[[MAX0]], %[[L1]]
  // CHECK:     arith.cmpf oeq, %[[MAX1]], %[[NONE]]
  // CHECK:     math.exp
  // CHECK:     %[[USED0:.*]] = arith.cmpf une, %[[L0]], %[[NONE]]
  // CHECK:     %[[USED1:.*]] = arith.cmpf une, %[[L1]], %[[NONE]]
  // CHECK:     scf.if %[[USED0]]
  // CHECK:       tensor.extract %{{.*}} : tensor<?x4x8xf16>
  // CHECK:     scf.if %[[USED1]]
  // CHECK:       tensor.extract %{{.*}} : tensor<?x4x8xf16>
  // CHECK:     arith.divf
  // CHECK-NEXT: arith.truncf
  // CHECK:     math.log
  %out, %lse = kvc.merge outputs(%o0, %o1 : tensor<?x4x8xf16>, tensor<?x4x8xf16>)
      lses(%l0, %l1 : tensor<?x4xf32>, tensor<?x4xf32>) sinks(%sinks : tensor<4xf32>)
      : tensor<?x4x8xf16>, tensor<?x4xf32>
  return %out, %lse : tensor<?x4x8xf16>, tensor<?x4xf32>
}
