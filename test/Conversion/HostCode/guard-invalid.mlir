// RUN: kvc-opt %s -kvc-guard-host-code -split-input-file -verify-diagnostics

func.func @column(%x: tensor<?xf32>, %y: tensor<?x?xf32>) -> tensor<?x?xf32> {
  // expected-error @+1 {{'linalg.generic' op expected outputs whose elements are those of the parallel loops, got the map affine_map<(d0) -> (d0, 0)>}}
  %z = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i, 0)>],
                       iterator_types = ["parallel"]}
      ins(%x : tensor<?xf32>) outs(%y : tensor<?x?xf32>) {
    ^bb0(%a: f32, %b: f32):
      linalg.yield %a : f32
  } -> tensor<?x?xf32>
  return %z : tensor<?x?xf32>
}

// -----

func.func @shifted(%x: tensor<?xf32>, %y: tensor<?xf32>) -> tensor<?xf32> {
  // expected-error @+1 {{'linalg.generic' op expected outputs whose elements are those of the parallel loops}}
  %z = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i + 1)>],
                       iterator_types = ["parallel"]}
      ins(%x : tensor<?xf32>) outs(%y : tensor<?xf32>) {
    ^bb0(%a: f32, %b: f32):
      linalg.yield %a : f32
  } -> tensor<?xf32>
  return %z : tensor<?xf32>
}

// -----

func.func @racy(%x: tensor<?x?xf32>, %y: tensor<?xf32>) -> tensor<?xf32> {
  // expected-error @+1 {{'linalg.generic' op expected outputs whose elements are those of the parallel loops}}
  %z = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>],
                       iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<?x?xf32>) outs(%y : tensor<?xf32>) {
    ^bb0(%a: f32, %b: f32):
      %c = arith.addf %a, %b : f32
      linalg.yield %c : f32
  } -> tensor<?xf32>
  return %z : tensor<?xf32>
}

// -----

func.func @last(%x: tensor<?x?xf32>, %y: tensor<?xf32>) -> tensor<?xf32> {
  // expected-error @+1 {{'linalg.generic' op expected a reduction that reads what it has so far}}
  %z = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>],
                       iterator_types = ["parallel", "reduction"]}
      ins(%x : tensor<?x?xf32>) outs(%y : tensor<?xf32>) {
    ^bb0(%a: f32, %b: f32):
      linalg.yield %a : f32
  } -> tensor<?xf32>
  return %z : tensor<?xf32>
}
