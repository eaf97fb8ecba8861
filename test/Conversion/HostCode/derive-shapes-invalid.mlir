// RUN: kvc-opt %s -kvc-derive-shapes -split-input-file -verify-diagnostics

// The caller has to know the sizes of results.
func.func @result(%x: tensor<8xf32>, %n: tensor<index>) -> tensor<?xf32> {
  // expected-error@below {{expected the size of dimension 0 of result 0 of host code of 'result' to follow from the shapes of arguments}}
  %size = tensor.extract %n[] : tensor<index>
  %y = tensor.extract_slice %x[0] [%size] [1] : tensor<8xf32> to tensor<?xf32>
  return %y : tensor<?xf32>
}

// -----

func.func @condition(%x: tensor<8xf32>, %n: tensor<index>) -> tensor<8xf32> {
  %c8 = arith.constant 8 : index
  %size = tensor.extract %n[] : tensor<index>
  %fits = arith.cmpi ule, %size, %c8 : index
  // expected-error@below {{sizes that depend on values are not supported here: it has to fit}}
  cf.assert %fits, "it has to fit"
  return %x : tensor<8xf32>
}
