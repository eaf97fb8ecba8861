// RUN: kvc-opt %s -kvc-convert-host-code-to-kernels -split-input-file -verify-diagnostics

func.func private @element(%x: memref<4xf32>, %y: memref<4xf32>) attributes {kvc.function_type = () -> ()} {
  %c0 = arith.constant 0 : index
  // expected-error @+1 {{no GPU kernel for what becomes 'memref.load': expected operations on whole tensors around kvc operations}}
  %a = memref.load %x[%c0] : memref<4xf32>
  linalg.fill ins(%a : f32) outs(%y : memref<4xf32>)
  return
}

// -----

func.func private @loop(%x: memref<4xf32>, %n: index) attributes {kvc.function_type = () -> ()} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f32
  // expected-error @+1 {{no GPU kernel for what becomes 'scf.for'}}
  scf.for %i = %c0 to %n step %c1 {
    linalg.fill ins(%zero : f32) outs(%x : memref<4xf32>)
  }
  return
}

// -----

// expected-error @+1 {{no GPU kernel for an operation whose sums move along}}
func.func private @moving(%x: memref<4x7xf32>, %y: memref<7xf32>) attributes {kvc.function_type = () -> ()} {
  linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (j)>],
                  iterator_types = ["parallel", "reduction"]}
      ins(%x : memref<4x7xf32>) outs(%y : memref<7xf32>) {
    ^bb0(%a: f32, %sum: f32):
      %next = arith.addf %sum, %a : f32
      linalg.yield %next : f32
  }
  return
}
