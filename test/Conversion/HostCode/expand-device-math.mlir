// RUN: kvc-opt %s -pass-pipeline='builtin.module(gpu.module(kvc-expand-device-math))' -split-input-file -verify-diagnostics | FileCheck %s

gpu.module @kernels {
  // CHECK-LABEL: gpu.func @known(
  // CHECK:         %[[ROOT:.*]] = llvm.call_intrinsic "llvm.sqrt"(%{{.*}}) : (f32) -> f32
  // CHECK:         arith.divf %{{.*}}, %[[ROOT]]
  // CHECK-NOT:     math.{{exp|tanh|rsqrt|absf}}
  // CHECK:         llvm.call_intrinsic "llvm.fabs"
  // CHECK:         gpu.return
  gpu.func @known(%x: memref<4xf32>) kernel {
    %i = gpu.thread_id x
    %a = memref.load %x[%i] : memref<4xf32>
    %b = math.rsqrt %a : f32
    %c = math.exp %b : f32
    %d = math.tanh %c : f32
    %e = math.absf %d : f32
    memref.store %e, %x[%i] : memref<4xf32>
    gpu.return
  }
}

// -----

gpu.module @kernels {
  gpu.func @angle(%x: memref<4xf32>) kernel {
    %i = gpu.thread_id x
    %a = memref.load %x[%i] : memref<4xf32>
    // expected-error @+1 {{no GPU kernel for 'math.sin' of 'f32'}}
    %b = math.sin %a : f32
    memref.store %b, %x[%i] : memref<4xf32>
    gpu.return
  }
}

// -----

gpu.module @kernels {
  gpu.func @wide(%x: memref<4xf64>) kernel {
    %i = gpu.thread_id x
    %a = memref.load %x[%i] : memref<4xf64>
    // expected-error @+1 {{no GPU kernel for 'math.exp' of 'f64'}}
    %b = math.exp %a : f64
    memref.store %b, %x[%i] : memref<4xf64>
    gpu.return
  }
}
