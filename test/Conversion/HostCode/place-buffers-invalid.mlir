// RUN: kvc-opt %s -kvc-place-buffers -split-input-file -verify-diagnostics

func.func @values(%x: memref<index>) attributes {kvc.shapes = @values.shapes,
                                                 kvc.function_type = (tensor<index>) -> ()} {
  %n = memref.load %x[] : memref<index>
  // expected-error@below {{expected the sizes of a tensor in the workspace to follow from the shapes of arguments, got 'memref<?xf32>'}}
  %a = memref.alloc(%n) : memref<?xf32>
  return
}
func.func private @values.shapes() {
  return
}

// -----

// Two buffers of one allocation in use at once cannot have the same place.
func.func @loop(%x: memref<4xf32>) attributes {kvc.shapes = @loop.shapes,
                                               kvc.function_type = (tensor<4xf32>) -> ()} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c9 = arith.constant 9 : index
  %y = scf.for %i = %c0 to %c9 step %c1 iter_args(%z = %x) -> memref<4xf32> {
    // expected-error@below {{expected a tensor of the workspace that is not handed from one iteration of a loop to the next, got 'memref<4xf32>'}}
    %a = memref.alloc() : memref<4xf32>
    memref.copy %z, %a : memref<4xf32> to memref<4xf32>
    scf.yield %a : memref<4xf32>
  }
  return
}
func.func private @loop.shapes() {
  return
}

// -----

// expected-error@below {{expected a function of shapes, found none}}
func.func @missing() attributes {kvc.shapes = @nobody, kvc.function_type = () -> ()} {
  return
}
