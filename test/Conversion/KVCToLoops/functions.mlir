// RUN: kvc-opt %s -kvc-decompose -split-input-file -verify-diagnostics | FileCheck %s

!cache = !kvc.cache<page = 16, k: 2x8xf16>

// A public function takes buffers, keeps its type, and gives results to the
// buffers behind its arguments; other operations stay.
// CHECK-LABEL: func.func @layer(
// CHECK-SAME:    %{{[^:]*}}: memref<?x8xf32, strided<[?, 1]>>, %[[W:[^:]*]]: memref<8xf32>,
// CHECK-SAME:    %[[OUT:[^:]*]]: memref<?x8xf32, strided<[?, 1]>>)
// CHECK-SAME:    kvc.function_type = (tensor<?x8xf32>, tensor<8xf32>) -> tensor<?x8xf32>
func.func @layer(%x: tensor<?x8xf32>, %w: tensor<8xf32>) -> tensor<?x8xf32> {
  // CHECK: bufferization.to_tensor %[[W]] restrict
  // CHECK: %[[SUM:.*]] = arith.addf %{{.*}} : tensor<?x8xf32>
  // CHECK: bufferization.materialize_in_destination %[[SUM]] in restrict writable %[[OUT]]
  // CHECK: return{{$}}
  %y = arith.addf %x, %x : tensor<?x8xf32>
  return %y : tensor<?x8xf32>
}

// A private one keeps its tensors; a call passes what stands for a cache.
// CHECK-LABEL: func.func private @write(
// CHECK-SAME:    tensor<?x2x8xf16>, %{{[^:]*}}: memref<?x16x2x8xf16,
// CHECK-NOT:     kvc.function_type
func.func private @write(%k: tensor<?x2x8xf16>, %cache: !cache, %batch: !kvc.batch) {
  kvc.append %cache[k: %k] at %batch : !cache, tensor<?x2x8xf16>
  return
}
// CHECK-LABEL: func.func @caller(
func.func @caller(%k: tensor<?x2x8xf16>, %cache: !cache, %batch: !kvc.batch) {
  // CHECK: call @write(%{{.*}}) : (tensor<?x2x8xf16>, memref<?x16x2x8xf16, {{.*}}>, memref<?xi32>, memref<?xi32>, memref<?xi32>, memref<?xi32>, index, memref<?xi64>, memref<?xi32>) -> ()
  call @write(%k, %cache, %batch) : (tensor<?x2x8xf16>, !cache, !kvc.batch) -> ()
  return
}

// What the types do not say is recorded: pages of a cache made of argument 1 have
// to exist, argument 0 has a row for each token of the batch, argument 2.
// CHECK-LABEL: func.func @checks(
// CHECK-SAME:    kvc.checks = {batches = [], caches = [array<i64: 1>], equal_rows = [],
// CHECK-SAME:    rows = [array<i64: 2, 0>], uses = [array<i64: 2, -1, 16>]}
func.func @checks(%k: tensor<?x2x8xf16>, %buffer: memref<?x16x2x8xf16>, %batch: !kvc.batch) {
  %cache = kvc.cache_from_buffers %buffer order nhd : memref<?x16x2x8xf16> -> !cache
  kvc.append %cache[k: %k] at %batch : !cache, tensor<?x2x8xf16>
  return
}

// -----

// The host knows no scalars.
// expected-error@below {{expected arguments of a public function to be tensors, strided memrefs, caches or batches, got 'f32'}}
func.func @scalar(%x: f32) {
  return
}

// -----

// expected-error@below {{expected results of a public function to be tensors, got 'memref<4xf32>'}}
func.func @memref(%x: memref<4xf32>) -> memref<4xf32> {
  return %x : memref<4xf32>
}

// -----

// Its results would have nobody to allocate them.
// expected-error@below {{expected a public function not to be used within its module}}
func.func @callee() {
  return
}
func.func @caller() {
  // expected-note@below {{used here}}
  call @callee() : () -> ()
  return
}
