// A grouped-query layer of plain PyTorch: 32 query heads over 8, without positions.
// Made by test/Corpus/generate.py.

#map = affine_map<(d0, d1) -> (d0, d1)>
#map1 = affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>
#map2 = affine_map<(d0, d1, d2) -> (d0, d1, d2)>
#map3 = affine_map<(d0) -> (d0)>
#map4 = affine_map<(d0, d1) -> (d1)>
#map5 = affine_map<(d0, d1) -> (d0, 0)>
#map6 = affine_map<(d0, d1, d2, d3) -> (d2, d3)>
#map7 = affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, 0)>
#map8 = affine_map<(d0, d1, d2) -> (d0, 0, d2)>
#map9 = affine_map<(d0, d1, d2, d3) -> (d0, d1, 0, d3)>
#map10 = affine_map<(d0, d1, d2, d3) -> (d0, d1, 0, 0)>
module {
  func.func @prefill(%x: tensor<?x?x4096xbf16>,
                     %wq: tensor<4096x4096xbf16>,
                     %wk: tensor<1024x4096xbf16>,
                     %wv: tensor<1024x4096xbf16>,
                     %wo: tensor<4096x4096xbf16>)
      -> (tensor<?x?x4096xbf16>,
          tensor<?x?x8x128xbf16> {kvc.cache = "k"},
          tensor<?x?x8x128xbf16> {kvc.cache = "v"}) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %cst = arith.constant 0.0 : f32
    %c4 = arith.constant 4 : index
    %c32 = arith.constant 32 : index
    %cst_1 = arith.constant 0.0883883476 : f32
    %cst_2 = arith.constant 0.0 : bf16
    %cst_3 = arith.constant 0xFF80 : bf16
    %cst_4 = arith.constant 0xFF800000 : f32
    %batch = tensor.dim %x, %c0 : tensor<?x?x4096xbf16>
    %tokens = tensor.dim %x, %c1 : tensor<?x?x4096xbf16>
    // Queries, keys and values, by heads.
    %0 = arith.muli %batch, %tokens : index
    %1 = tensor.collapse_shape %x [[0, 1], [2]] : tensor<?x?x4096xbf16> into tensor<?x4096xbf16>
    %2 = tensor.empty() : tensor<4096x4096xbf16>
    %3 = linalg.transpose ins(%wq : tensor<4096x4096xbf16>) outs(%2 : tensor<4096x4096xbf16>) permutation = [1, 0]
    %4 = tensor.empty(%0) : tensor<?x4096xf32>
    %5 = linalg.fill ins(%cst : f32) outs(%4 : tensor<?x4096xf32>) -> tensor<?x4096xf32>
    %6 = linalg.matmul ins(%1, %3 : tensor<?x4096xbf16>, tensor<4096x4096xbf16>) outs(%5 : tensor<?x4096xf32>) -> tensor<?x4096xf32>
    %7 = tensor.empty(%0) : tensor<?x4096xbf16>
    %8 = linalg.generic {
        indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel"]}
        ins(%6 : tensor<?x4096xf32>) outs(%7 : tensor<?x4096xbf16>) {
    ^bb0(%in: f32, %out: bf16):
      %9 = arith.truncf %in : f32 to bf16
      linalg.yield %9 : bf16
    } -> tensor<?x4096xbf16>
    %10 = tensor.expand_shape %8 [[0, 1], [2]] output_shape [%batch, %tokens, 4096] : tensor<?x4096xbf16> into tensor<?x?x4096xbf16>
    %11 = tensor.expand_shape %10 [[0], [1], [2, 3]] output_shape [%batch, %tokens, 32, 128] : tensor<?x?x4096xbf16> into tensor<?x?x32x128xbf16>
    %12 = tensor.collapse_shape %x [[0, 1], [2]] : tensor<?x?x4096xbf16> into tensor<?x4096xbf16>
    %13 = tensor.empty() : tensor<4096x1024xbf16>
    %14 = linalg.transpose ins(%wk : tensor<1024x4096xbf16>) outs(%13 : tensor<4096x1024xbf16>) permutation = [1, 0]
    %15 = tensor.empty(%0) : tensor<?x1024xf32>
    %16 = linalg.fill ins(%cst : f32) outs(%15 : tensor<?x1024xf32>) -> tensor<?x1024xf32>
    %17 = linalg.matmul ins(%12, %14 : tensor<?x4096xbf16>, tensor<4096x1024xbf16>) outs(%16 : tensor<?x1024xf32>) -> tensor<?x1024xf32>
    %18 = tensor.empty(%0) : tensor<?x1024xbf16>
    %19 = linalg.generic {
        indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel"]}
        ins(%17 : tensor<?x1024xf32>) outs(%18 : tensor<?x1024xbf16>) {
    ^bb0(%in: f32, %out: bf16):
      %20 = arith.truncf %in : f32 to bf16
      linalg.yield %20 : bf16
    } -> tensor<?x1024xbf16>
    %21 = tensor.expand_shape %19 [[0, 1], [2]] output_shape [%batch, %tokens, 1024] : tensor<?x1024xbf16> into tensor<?x?x1024xbf16>
    %22 = tensor.expand_shape %21 [[0], [1], [2, 3]] output_shape [%batch, %tokens, 8, 128] : tensor<?x?x1024xbf16> into tensor<?x?x8x128xbf16>
    %23 = tensor.collapse_shape %x [[0, 1], [2]] : tensor<?x?x4096xbf16> into tensor<?x4096xbf16>
    %24 = tensor.empty() : tensor<4096x1024xbf16>
    %25 = linalg.transpose ins(%wv : tensor<1024x4096xbf16>) outs(%24 : tensor<4096x1024xbf16>) permutation = [1, 0]
    %26 = tensor.empty(%0) : tensor<?x1024xf32>
    %27 = linalg.fill ins(%cst : f32) outs(%26 : tensor<?x1024xf32>) -> tensor<?x1024xf32>
    %28 = linalg.matmul ins(%23, %25 : tensor<?x4096xbf16>, tensor<4096x1024xbf16>) outs(%27 : tensor<?x1024xf32>) -> tensor<?x1024xf32>
    %29 = tensor.empty(%0) : tensor<?x1024xbf16>
    %30 = linalg.generic {
        indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel"]}
        ins(%28 : tensor<?x1024xf32>) outs(%29 : tensor<?x1024xbf16>) {
    ^bb0(%in: f32, %out: bf16):
      %31 = arith.truncf %in : f32 to bf16
      linalg.yield %31 : bf16
    } -> tensor<?x1024xbf16>
    %32 = tensor.expand_shape %30 [[0, 1], [2]] output_shape [%batch, %tokens, 1024] : tensor<?x1024xbf16> into tensor<?x?x1024xbf16>
    %33 = tensor.expand_shape %32 [[0], [1], [2, 3]] output_shape [%batch, %tokens, 8, 128] : tensor<?x?x1024xbf16> into tensor<?x?x8x128xbf16>
    // The cache.
    // Heads repeated, then before tokens.
    %34 = tensor.empty(%batch, %tokens) : tensor<?x32x?x128xbf16>
    %35 = linalg.transpose ins(%11 : tensor<?x?x32x128xbf16>) outs(%34 : tensor<?x32x?x128xbf16>) permutation = [0, 2, 1, 3]
    %36 = tensor.empty(%batch, %tokens) : tensor<?x?x32x128xbf16>
    %37 = linalg.generic {
        indexing_maps = [#map1], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
        outs(%36 : tensor<?x?x32x128xbf16>) {
    ^bb0(%out: bf16):
      %38 = linalg.index 0 : index
      %39 = linalg.index 1 : index
      %40 = linalg.index 2 : index
      %41 = linalg.index 3 : index
      %42 = arith.floordivsi %40, %c4 : index
      %43 = tensor.extract %22[%38, %39, %42, %41] : tensor<?x?x8x128xbf16>
      linalg.yield %43 : bf16
    } -> tensor<?x?x32x128xbf16>
    %44 = tensor.empty(%batch, %tokens) : tensor<?x32x?x128xbf16>
    %45 = linalg.transpose ins(%37 : tensor<?x?x32x128xbf16>) outs(%44 : tensor<?x32x?x128xbf16>) permutation = [0, 2, 1, 3]
    %46 = tensor.empty(%batch, %tokens) : tensor<?x?x32x128xbf16>
    %47 = linalg.generic {
        indexing_maps = [#map1], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
        outs(%46 : tensor<?x?x32x128xbf16>) {
    ^bb0(%out: bf16):
      %48 = linalg.index 0 : index
      %49 = linalg.index 1 : index
      %50 = linalg.index 2 : index
      %51 = linalg.index 3 : index
      %52 = arith.floordivsi %50, %c4 : index
      %53 = tensor.extract %33[%48, %49, %52, %51] : tensor<?x?x8x128xbf16>
      linalg.yield %53 : bf16
    } -> tensor<?x?x32x128xbf16>
    %54 = tensor.empty(%batch, %tokens) : tensor<?x32x?x128xbf16>
    %55 = linalg.transpose ins(%47 : tensor<?x?x32x128xbf16>) outs(%54 : tensor<?x32x?x128xbf16>) permutation = [0, 2, 1, 3]
    // Scaled dot product attention, causal for more than one token.
    %56 = tensor.empty(%batch, %tokens) : tensor<?x32x128x?xbf16>
    %57 = linalg.transpose ins(%45 : tensor<?x32x?x128xbf16>) outs(%56 : tensor<?x32x128x?xbf16>) permutation = [0, 1, 3, 2]
    %58 = arith.muli %batch, %c32 : index
    %59 = tensor.collapse_shape %35 [[0, 1], [2], [3]] : tensor<?x32x?x128xbf16> into tensor<?x?x128xbf16>
    %60 = tensor.collapse_shape %57 [[0, 1], [2], [3]] : tensor<?x32x128x?xbf16> into tensor<?x128x?xbf16>
    %61 = tensor.empty(%58, %tokens, %tokens) : tensor<?x?x?xf32>
    %62 = linalg.fill ins(%cst : f32) outs(%61 : tensor<?x?x?xf32>) -> tensor<?x?x?xf32>
    %63 = linalg.batch_matmul ins(%59, %60 : tensor<?x?x128xbf16>, tensor<?x128x?xbf16>) outs(%62 : tensor<?x?x?xf32>) -> tensor<?x?x?xf32>
    %64 = tensor.empty(%58, %tokens, %tokens) : tensor<?x?x?xbf16>
    %65 = linalg.generic {
        indexing_maps = [#map2, #map2], iterator_types = ["parallel", "parallel", "parallel"]}
        ins(%63 : tensor<?x?x?xf32>) outs(%64 : tensor<?x?x?xbf16>) {
    ^bb0(%in: f32, %out: bf16):
      %66 = arith.truncf %in : f32 to bf16
      linalg.yield %66 : bf16
    } -> tensor<?x?x?xbf16>
    %67 = tensor.expand_shape %65 [[0, 1], [2], [3]] output_shape [%batch, 32, %tokens, %tokens] : tensor<?x?x?xbf16> into tensor<?x32x?x?xbf16>
    %68 = tensor.empty(%batch, %tokens, %tokens) : tensor<?x32x?x?xbf16>
    %69 = linalg.generic {
        indexing_maps = [#map1, #map1], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
        ins(%67 : tensor<?x32x?x?xbf16>) outs(%68 : tensor<?x32x?x?xbf16>) {
    ^bb0(%in: bf16, %out: bf16):
      %70 = arith.extf %in : bf16 to f32
      %71 = arith.mulf %70, %cst_1 : f32
      %72 = arith.truncf %71 : f32 to bf16
      linalg.yield %72 : bf16
    } -> tensor<?x32x?x?xbf16>
    %73 = tensor.empty(%tokens) : tensor<?xi64>
    %74 = linalg.generic {
        indexing_maps = [#map3], iterator_types = ["parallel"]}
        outs(%73 : tensor<?xi64>) {
    ^bb0(%out: i64):
      %75 = linalg.index 0 : index
      %76 = arith.index_cast %75 : index to i64
      linalg.yield %76 : i64
    } -> tensor<?xi64>
    %77 = tensor.empty(%tokens) : tensor<?xi64>
    %78 = linalg.generic {
        indexing_maps = [#map3], iterator_types = ["parallel"]}
        outs(%77 : tensor<?xi64>) {
    ^bb0(%out: i64):
      %79 = linalg.index 0 : index
      %80 = arith.index_cast %79 : index to i64
      linalg.yield %80 : i64
    } -> tensor<?xi64>
    %81 = tensor.expand_shape %74 [[0, 1]] output_shape [%tokens, 1] : tensor<?xi64> into tensor<?x1xi64>
    %82 = tensor.empty(%tokens, %tokens) : tensor<?x?xi1>
    %83 = linalg.generic {
        indexing_maps = [#map4, #map5, #map], iterator_types = ["parallel", "parallel"]}
        ins(%78, %81 : tensor<?xi64>, tensor<?x1xi64>) outs(%82 : tensor<?x?xi1>) {
    ^bb0(%in: i64, %in_1: i64, %out: i1):
      %84 = arith.cmpi sle, %in, %in_1 : i64
      linalg.yield %84 : i1
    } -> tensor<?x?xi1>
    %85 = tensor.empty(%tokens, %tokens) : tensor<?x?xbf16>
    %86 = linalg.generic {
        indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel"]}
        ins(%83 : tensor<?x?xi1>) outs(%85 : tensor<?x?xbf16>) {
    ^bb0(%in: i1, %out: bf16):
      %87 = arith.select %in, %cst_2, %cst_3 : bf16
      linalg.yield %87 : bf16
    } -> tensor<?x?xbf16>
    %88 = tensor.empty(%batch, %tokens, %tokens) : tensor<?x32x?x?xbf16>
    %89 = linalg.generic {
        indexing_maps = [#map1, #map6, #map1], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
        ins(%69, %86 : tensor<?x32x?x?xbf16>, tensor<?x?xbf16>) outs(%88 : tensor<?x32x?x?xbf16>) {
    ^bb0(%in: bf16, %in_1: bf16, %out: bf16):
      %90 = arith.addf %in, %in_1 : bf16
      linalg.yield %90 : bf16
    } -> tensor<?x32x?x?xbf16>
    %91 = tensor.empty(%batch, %tokens, %tokens) : tensor<?x32x?x?xf32>
    %92 = linalg.generic {
        indexing_maps = [#map1, #map1], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
        ins(%89 : tensor<?x32x?x?xbf16>) outs(%91 : tensor<?x32x?x?xf32>) {
    ^bb0(%in: bf16, %out: f32):
      %93 = arith.extf %in : bf16 to f32
      linalg.yield %93 : f32
    } -> tensor<?x32x?x?xf32>
    %94 = tensor.empty(%batch, %tokens) : tensor<?x32x?x1xf32>
    %95 = linalg.fill ins(%cst_4 : f32) outs(%94 : tensor<?x32x?x1xf32>) -> tensor<?x32x?x1xf32>
    %96 = linalg.generic {
        indexing_maps = [#map1, #map7], iterator_types = ["parallel", "parallel", "parallel", "reduction"]}
        ins(%92 : tensor<?x32x?x?xf32>) outs(%95 : tensor<?x32x?x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      %97 = arith.maximumf %in, %out : f32
      linalg.yield %97 : f32
    } -> tensor<?x32x?x1xf32>
    %98 = tensor.empty(%batch, %tokens, %tokens) : tensor<?x32x?x?xf32>
    %99 = linalg.generic {
        indexing_maps = [#map1, #map7, #map1], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
        ins(%92, %96 : tensor<?x32x?x?xf32>, tensor<?x32x?x1xf32>) outs(%98 : tensor<?x32x?x?xf32>) {
    ^bb0(%in: f32, %in_1: f32, %out: f32):
      %100 = arith.subf %in, %in_1 : f32
      linalg.yield %100 : f32
    } -> tensor<?x32x?x?xf32>
    %101 = tensor.empty(%batch, %tokens, %tokens) : tensor<?x32x?x?xf32>
    %102 = linalg.generic {
        indexing_maps = [#map1, #map1], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
        ins(%99 : tensor<?x32x?x?xf32>) outs(%101 : tensor<?x32x?x?xf32>) {
    ^bb0(%in: f32, %out: f32):
      %103 = math.exp %in : f32
      linalg.yield %103 : f32
    } -> tensor<?x32x?x?xf32>
    %104 = tensor.empty(%batch, %tokens) : tensor<?x32x?x1xf32>
    %105 = linalg.fill ins(%cst : f32) outs(%104 : tensor<?x32x?x1xf32>) -> tensor<?x32x?x1xf32>
    %106 = linalg.generic {
        indexing_maps = [#map1, #map7], iterator_types = ["parallel", "parallel", "parallel", "reduction"]}
        ins(%102 : tensor<?x32x?x?xf32>) outs(%105 : tensor<?x32x?x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      %107 = arith.addf %in, %out : f32
      linalg.yield %107 : f32
    } -> tensor<?x32x?x1xf32>
    %108 = tensor.empty(%batch, %tokens, %tokens) : tensor<?x32x?x?xf32>
    %109 = linalg.generic {
        indexing_maps = [#map1, #map7, #map1], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
        ins(%102, %106 : tensor<?x32x?x?xf32>, tensor<?x32x?x1xf32>) outs(%108 : tensor<?x32x?x?xf32>) {
    ^bb0(%in: f32, %in_1: f32, %out: f32):
      %110 = arith.divf %in, %in_1 : f32
      linalg.yield %110 : f32
    } -> tensor<?x32x?x?xf32>
    %111 = tensor.empty(%batch, %tokens, %tokens) : tensor<?x32x?x?xbf16>
    %112 = linalg.generic {
        indexing_maps = [#map1, #map1], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
        ins(%109 : tensor<?x32x?x?xf32>) outs(%111 : tensor<?x32x?x?xbf16>) {
    ^bb0(%in: f32, %out: bf16):
      %113 = arith.truncf %in : f32 to bf16
      linalg.yield %113 : bf16
    } -> tensor<?x32x?x?xbf16>
    %114 = tensor.collapse_shape %112 [[0, 1], [2], [3]] : tensor<?x32x?x?xbf16> into tensor<?x?x?xbf16>
    %115 = tensor.collapse_shape %55 [[0, 1], [2], [3]] : tensor<?x32x?x128xbf16> into tensor<?x?x128xbf16>
    %116 = tensor.empty(%58, %tokens) : tensor<?x?x128xf32>
    %117 = linalg.fill ins(%cst : f32) outs(%116 : tensor<?x?x128xf32>) -> tensor<?x?x128xf32>
    %118 = linalg.batch_matmul ins(%114, %115 : tensor<?x?x?xbf16>, tensor<?x?x128xbf16>) outs(%117 : tensor<?x?x128xf32>) -> tensor<?x?x128xf32>
    %119 = tensor.empty(%58, %tokens) : tensor<?x?x128xbf16>
    %120 = linalg.generic {
        indexing_maps = [#map2, #map2], iterator_types = ["parallel", "parallel", "parallel"]}
        ins(%118 : tensor<?x?x128xf32>) outs(%119 : tensor<?x?x128xbf16>) {
    ^bb0(%in: f32, %out: bf16):
      %121 = arith.truncf %in : f32 to bf16
      linalg.yield %121 : bf16
    } -> tensor<?x?x128xbf16>
    %122 = tensor.expand_shape %120 [[0, 1], [2], [3]] output_shape [%batch, 32, %tokens, 128] : tensor<?x?x128xbf16> into tensor<?x32x?x128xbf16>
    // Projected out.
    %123 = tensor.empty(%batch, %tokens) : tensor<?x?x32x128xbf16>
    %124 = linalg.transpose ins(%122 : tensor<?x32x?x128xbf16>) outs(%123 : tensor<?x?x32x128xbf16>) permutation = [0, 2, 1, 3]
    %125 = tensor.collapse_shape %124 [[0], [1], [2, 3]] : tensor<?x?x32x128xbf16> into tensor<?x?x4096xbf16>
    %126 = tensor.collapse_shape %125 [[0, 1], [2]] : tensor<?x?x4096xbf16> into tensor<?x4096xbf16>
    %127 = tensor.empty() : tensor<4096x4096xbf16>
    %128 = linalg.transpose ins(%wo : tensor<4096x4096xbf16>) outs(%127 : tensor<4096x4096xbf16>) permutation = [1, 0]
    %129 = tensor.empty(%0) : tensor<?x4096xf32>
    %130 = linalg.fill ins(%cst : f32) outs(%129 : tensor<?x4096xf32>) -> tensor<?x4096xf32>
    %131 = linalg.matmul ins(%126, %128 : tensor<?x4096xbf16>, tensor<4096x4096xbf16>) outs(%130 : tensor<?x4096xf32>) -> tensor<?x4096xf32>
    %132 = tensor.empty(%0) : tensor<?x4096xbf16>
    %133 = linalg.generic {
        indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel"]}
        ins(%131 : tensor<?x4096xf32>) outs(%132 : tensor<?x4096xbf16>) {
    ^bb0(%in: f32, %out: bf16):
      %134 = arith.truncf %in : f32 to bf16
      linalg.yield %134 : bf16
    } -> tensor<?x4096xbf16>
    %135 = tensor.expand_shape %133 [[0, 1], [2]] output_shape [%batch, %tokens, 4096] : tensor<?x4096xbf16> into tensor<?x?x4096xbf16>
    return %135, %22, %33 : tensor<?x?x4096xbf16>, tensor<?x?x8x128xbf16>, tensor<?x?x8x128xbf16>
  }

  func.func @decode(%x: tensor<?x1x4096xbf16>,
                    %past_k: tensor<?x?x8x128xbf16> {kvc.cache = "k"},
                    %past_v: tensor<?x?x8x128xbf16> {kvc.cache = "v"},
                    %wq: tensor<4096x4096xbf16>,
                    %wk: tensor<1024x4096xbf16>,
                    %wv: tensor<1024x4096xbf16>,
                    %wo: tensor<4096x4096xbf16>)
      -> (tensor<?x1x4096xbf16>,
          tensor<?x?x8x128xbf16> {kvc.cache = "k"},
          tensor<?x?x8x128xbf16> {kvc.cache = "v"}) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %cst = arith.constant 0.0 : f32
    %c4 = arith.constant 4 : index
    %c32 = arith.constant 32 : index
    %cst_1 = arith.constant 0.0883883476 : f32
    %cst_2 = arith.constant 0xFF800000 : f32
    %batch = tensor.dim %x, %c0 : tensor<?x1x4096xbf16>
    %past = tensor.dim %past_k, %c1 : tensor<?x?x8x128xbf16>
    // Queries, keys and values, by heads.
    %0 = tensor.collapse_shape %x [[0, 1], [2]] : tensor<?x1x4096xbf16> into tensor<?x4096xbf16>
    %1 = tensor.empty() : tensor<4096x4096xbf16>
    %2 = linalg.transpose ins(%wq : tensor<4096x4096xbf16>) outs(%1 : tensor<4096x4096xbf16>) permutation = [1, 0]
    %3 = tensor.empty(%batch) : tensor<?x4096xf32>
    %4 = linalg.fill ins(%cst : f32) outs(%3 : tensor<?x4096xf32>) -> tensor<?x4096xf32>
    %5 = linalg.matmul ins(%0, %2 : tensor<?x4096xbf16>, tensor<4096x4096xbf16>) outs(%4 : tensor<?x4096xf32>) -> tensor<?x4096xf32>
    %6 = tensor.empty(%batch) : tensor<?x4096xbf16>
    %7 = linalg.generic {
        indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel"]}
        ins(%5 : tensor<?x4096xf32>) outs(%6 : tensor<?x4096xbf16>) {
    ^bb0(%in: f32, %out: bf16):
      %8 = arith.truncf %in : f32 to bf16
      linalg.yield %8 : bf16
    } -> tensor<?x4096xbf16>
    %9 = tensor.expand_shape %7 [[0, 1], [2]] output_shape [%batch, 1, 4096] : tensor<?x4096xbf16> into tensor<?x1x4096xbf16>
    %10 = tensor.expand_shape %9 [[0], [1], [2, 3]] output_shape [%batch, 1, 32, 128] : tensor<?x1x4096xbf16> into tensor<?x1x32x128xbf16>
    %11 = tensor.collapse_shape %x [[0, 1], [2]] : tensor<?x1x4096xbf16> into tensor<?x4096xbf16>
    %12 = tensor.empty() : tensor<4096x1024xbf16>
    %13 = linalg.transpose ins(%wk : tensor<1024x4096xbf16>) outs(%12 : tensor<4096x1024xbf16>) permutation = [1, 0]
    %14 = tensor.empty(%batch) : tensor<?x1024xf32>
    %15 = linalg.fill ins(%cst : f32) outs(%14 : tensor<?x1024xf32>) -> tensor<?x1024xf32>
    %16 = linalg.matmul ins(%11, %13 : tensor<?x4096xbf16>, tensor<4096x1024xbf16>) outs(%15 : tensor<?x1024xf32>) -> tensor<?x1024xf32>
    %17 = tensor.empty(%batch) : tensor<?x1024xbf16>
    %18 = linalg.generic {
        indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel"]}
        ins(%16 : tensor<?x1024xf32>) outs(%17 : tensor<?x1024xbf16>) {
    ^bb0(%in: f32, %out: bf16):
      %19 = arith.truncf %in : f32 to bf16
      linalg.yield %19 : bf16
    } -> tensor<?x1024xbf16>
    %20 = tensor.expand_shape %18 [[0, 1], [2]] output_shape [%batch, 1, 1024] : tensor<?x1024xbf16> into tensor<?x1x1024xbf16>
    %21 = tensor.expand_shape %20 [[0], [1], [2, 3]] output_shape [%batch, 1, 8, 128] : tensor<?x1x1024xbf16> into tensor<?x1x8x128xbf16>
    %22 = tensor.collapse_shape %x [[0, 1], [2]] : tensor<?x1x4096xbf16> into tensor<?x4096xbf16>
    %23 = tensor.empty() : tensor<4096x1024xbf16>
    %24 = linalg.transpose ins(%wv : tensor<1024x4096xbf16>) outs(%23 : tensor<4096x1024xbf16>) permutation = [1, 0]
    %25 = tensor.empty(%batch) : tensor<?x1024xf32>
    %26 = linalg.fill ins(%cst : f32) outs(%25 : tensor<?x1024xf32>) -> tensor<?x1024xf32>
    %27 = linalg.matmul ins(%22, %24 : tensor<?x4096xbf16>, tensor<4096x1024xbf16>) outs(%26 : tensor<?x1024xf32>) -> tensor<?x1024xf32>
    %28 = tensor.empty(%batch) : tensor<?x1024xbf16>
    %29 = linalg.generic {
        indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel"]}
        ins(%27 : tensor<?x1024xf32>) outs(%28 : tensor<?x1024xbf16>) {
    ^bb0(%in: f32, %out: bf16):
      %30 = arith.truncf %in : f32 to bf16
      linalg.yield %30 : bf16
    } -> tensor<?x1024xbf16>
    %31 = tensor.expand_shape %29 [[0, 1], [2]] output_shape [%batch, 1, 1024] : tensor<?x1024xbf16> into tensor<?x1x1024xbf16>
    %32 = tensor.expand_shape %31 [[0], [1], [2, 3]] output_shape [%batch, 1, 8, 128] : tensor<?x1x1024xbf16> into tensor<?x1x8x128xbf16>
    // The cache.
    %33 = arith.addi %past, %c1 : index
    %34 = tensor.concat dim(1) %past_k, %21 : (tensor<?x?x8x128xbf16>, tensor<?x1x8x128xbf16>) -> tensor<?x?x8x128xbf16>
    %35 = tensor.concat dim(1) %past_v, %32 : (tensor<?x?x8x128xbf16>, tensor<?x1x8x128xbf16>) -> tensor<?x?x8x128xbf16>
    // Heads repeated, then before tokens.
    %36 = tensor.empty(%batch) : tensor<?x32x1x128xbf16>
    %37 = linalg.transpose ins(%10 : tensor<?x1x32x128xbf16>) outs(%36 : tensor<?x32x1x128xbf16>) permutation = [0, 2, 1, 3]
    %38 = tensor.empty(%batch, %33) : tensor<?x?x32x128xbf16>
    %39 = linalg.generic {
        indexing_maps = [#map1], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
        outs(%38 : tensor<?x?x32x128xbf16>) {
    ^bb0(%out: bf16):
      %40 = linalg.index 0 : index
      %41 = linalg.index 1 : index
      %42 = linalg.index 2 : index
      %43 = linalg.index 3 : index
      %44 = arith.floordivsi %42, %c4 : index
      %45 = tensor.extract %34[%40, %41, %44, %43] : tensor<?x?x8x128xbf16>
      linalg.yield %45 : bf16
    } -> tensor<?x?x32x128xbf16>
    %46 = tensor.empty(%batch, %33) : tensor<?x32x?x128xbf16>
    %47 = linalg.transpose ins(%39 : tensor<?x?x32x128xbf16>) outs(%46 : tensor<?x32x?x128xbf16>) permutation = [0, 2, 1, 3]
    %48 = tensor.empty(%batch, %33) : tensor<?x?x32x128xbf16>
    %49 = linalg.generic {
        indexing_maps = [#map1], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
        outs(%48 : tensor<?x?x32x128xbf16>) {
    ^bb0(%out: bf16):
      %50 = linalg.index 0 : index
      %51 = linalg.index 1 : index
      %52 = linalg.index 2 : index
      %53 = linalg.index 3 : index
      %54 = arith.floordivsi %52, %c4 : index
      %55 = tensor.extract %35[%50, %51, %54, %53] : tensor<?x?x8x128xbf16>
      linalg.yield %55 : bf16
    } -> tensor<?x?x32x128xbf16>
    %56 = tensor.empty(%batch, %33) : tensor<?x32x?x128xbf16>
    %57 = linalg.transpose ins(%49 : tensor<?x?x32x128xbf16>) outs(%56 : tensor<?x32x?x128xbf16>) permutation = [0, 2, 1, 3]
    // Scaled dot product attention, causal for more than one token.
    %58 = tensor.empty(%batch, %33) : tensor<?x32x128x?xbf16>
    %59 = linalg.transpose ins(%47 : tensor<?x32x?x128xbf16>) outs(%58 : tensor<?x32x128x?xbf16>) permutation = [0, 1, 3, 2]
    %60 = arith.muli %batch, %c32 : index
    %61 = tensor.collapse_shape %37 [[0, 1], [2], [3]] : tensor<?x32x1x128xbf16> into tensor<?x1x128xbf16>
    %62 = tensor.collapse_shape %59 [[0, 1], [2], [3]] : tensor<?x32x128x?xbf16> into tensor<?x128x?xbf16>
    %63 = tensor.empty(%60, %33) : tensor<?x1x?xf32>
    %64 = linalg.fill ins(%cst : f32) outs(%63 : tensor<?x1x?xf32>) -> tensor<?x1x?xf32>
    %65 = linalg.batch_matmul ins(%61, %62 : tensor<?x1x128xbf16>, tensor<?x128x?xbf16>) outs(%64 : tensor<?x1x?xf32>) -> tensor<?x1x?xf32>
    %66 = tensor.empty(%60, %33) : tensor<?x1x?xbf16>
    %67 = linalg.generic {
        indexing_maps = [#map8, #map2], iterator_types = ["parallel", "parallel", "parallel"]}
        ins(%65 : tensor<?x1x?xf32>) outs(%66 : tensor<?x1x?xbf16>) {
    ^bb0(%in: f32, %out: bf16):
      %68 = arith.truncf %in : f32 to bf16
      linalg.yield %68 : bf16
    } -> tensor<?x1x?xbf16>
    %69 = tensor.expand_shape %67 [[0, 1], [2], [3]] output_shape [%batch, 32, 1, %33] : tensor<?x1x?xbf16> into tensor<?x32x1x?xbf16>
    %70 = tensor.empty(%batch, %33) : tensor<?x32x1x?xbf16>
    %71 = linalg.generic {
        indexing_maps = [#map9, #map1], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
        ins(%69 : tensor<?x32x1x?xbf16>) outs(%70 : tensor<?x32x1x?xbf16>) {
    ^bb0(%in: bf16, %out: bf16):
      %72 = arith.extf %in : bf16 to f32
      %73 = arith.mulf %72, %cst_1 : f32
      %74 = arith.truncf %73 : f32 to bf16
      linalg.yield %74 : bf16
    } -> tensor<?x32x1x?xbf16>
    %75 = tensor.empty(%batch, %33) : tensor<?x32x1x?xf32>
    %76 = linalg.generic {
        indexing_maps = [#map9, #map1], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
        ins(%71 : tensor<?x32x1x?xbf16>) outs(%75 : tensor<?x32x1x?xf32>) {
    ^bb0(%in: bf16, %out: f32):
      %77 = arith.extf %in : bf16 to f32
      linalg.yield %77 : f32
    } -> tensor<?x32x1x?xf32>
    %78 = tensor.empty(%batch) : tensor<?x32x1x1xf32>
    %79 = linalg.fill ins(%cst_2 : f32) outs(%78 : tensor<?x32x1x1xf32>) -> tensor<?x32x1x1xf32>
    %80 = linalg.generic {
        indexing_maps = [#map1, #map7], iterator_types = ["parallel", "parallel", "parallel", "reduction"]}
        ins(%76 : tensor<?x32x1x?xf32>) outs(%79 : tensor<?x32x1x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      %81 = arith.maximumf %in, %out : f32
      linalg.yield %81 : f32
    } -> tensor<?x32x1x1xf32>
    %82 = tensor.empty(%batch, %33) : tensor<?x32x1x?xf32>
    %83 = linalg.generic {
        indexing_maps = [#map9, #map10, #map1], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
        ins(%76, %80 : tensor<?x32x1x?xf32>, tensor<?x32x1x1xf32>) outs(%82 : tensor<?x32x1x?xf32>) {
    ^bb0(%in: f32, %in_1: f32, %out: f32):
      %84 = arith.subf %in, %in_1 : f32
      linalg.yield %84 : f32
    } -> tensor<?x32x1x?xf32>
    %85 = tensor.empty(%batch, %33) : tensor<?x32x1x?xf32>
    %86 = linalg.generic {
        indexing_maps = [#map9, #map1], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
        ins(%83 : tensor<?x32x1x?xf32>) outs(%85 : tensor<?x32x1x?xf32>) {
    ^bb0(%in: f32, %out: f32):
      %87 = math.exp %in : f32
      linalg.yield %87 : f32
    } -> tensor<?x32x1x?xf32>
    %88 = tensor.empty(%batch) : tensor<?x32x1x1xf32>
    %89 = linalg.fill ins(%cst : f32) outs(%88 : tensor<?x32x1x1xf32>) -> tensor<?x32x1x1xf32>
    %90 = linalg.generic {
        indexing_maps = [#map1, #map7], iterator_types = ["parallel", "parallel", "parallel", "reduction"]}
        ins(%86 : tensor<?x32x1x?xf32>) outs(%89 : tensor<?x32x1x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      %91 = arith.addf %in, %out : f32
      linalg.yield %91 : f32
    } -> tensor<?x32x1x1xf32>
    %92 = tensor.empty(%batch, %33) : tensor<?x32x1x?xf32>
    %93 = linalg.generic {
        indexing_maps = [#map9, #map10, #map1], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
        ins(%86, %90 : tensor<?x32x1x?xf32>, tensor<?x32x1x1xf32>) outs(%92 : tensor<?x32x1x?xf32>) {
    ^bb0(%in: f32, %in_1: f32, %out: f32):
      %94 = arith.divf %in, %in_1 : f32
      linalg.yield %94 : f32
    } -> tensor<?x32x1x?xf32>
    %95 = tensor.empty(%batch, %33) : tensor<?x32x1x?xbf16>
    %96 = linalg.generic {
        indexing_maps = [#map9, #map1], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
        ins(%93 : tensor<?x32x1x?xf32>) outs(%95 : tensor<?x32x1x?xbf16>) {
    ^bb0(%in: f32, %out: bf16):
      %97 = arith.truncf %in : f32 to bf16
      linalg.yield %97 : bf16
    } -> tensor<?x32x1x?xbf16>
    %98 = tensor.collapse_shape %96 [[0, 1], [2], [3]] : tensor<?x32x1x?xbf16> into tensor<?x1x?xbf16>
    %99 = tensor.collapse_shape %57 [[0, 1], [2], [3]] : tensor<?x32x?x128xbf16> into tensor<?x?x128xbf16>
    %100 = tensor.empty(%60) : tensor<?x1x128xf32>
    %101 = linalg.fill ins(%cst : f32) outs(%100 : tensor<?x1x128xf32>) -> tensor<?x1x128xf32>
    %102 = linalg.batch_matmul ins(%98, %99 : tensor<?x1x?xbf16>, tensor<?x?x128xbf16>) outs(%101 : tensor<?x1x128xf32>) -> tensor<?x1x128xf32>
    %103 = tensor.empty(%60) : tensor<?x1x128xbf16>
    %104 = linalg.generic {
        indexing_maps = [#map8, #map2], iterator_types = ["parallel", "parallel", "parallel"]}
        ins(%102 : tensor<?x1x128xf32>) outs(%103 : tensor<?x1x128xbf16>) {
    ^bb0(%in: f32, %out: bf16):
      %105 = arith.truncf %in : f32 to bf16
      linalg.yield %105 : bf16
    } -> tensor<?x1x128xbf16>
    %106 = tensor.expand_shape %104 [[0, 1], [2], [3]] output_shape [%batch, 32, 1, 128] : tensor<?x1x128xbf16> into tensor<?x32x1x128xbf16>
    // Projected out.
    %107 = tensor.empty(%batch) : tensor<?x1x32x128xbf16>
    %108 = linalg.transpose ins(%106 : tensor<?x32x1x128xbf16>) outs(%107 : tensor<?x1x32x128xbf16>) permutation = [0, 2, 1, 3]
    %109 = tensor.collapse_shape %108 [[0], [1], [2, 3]] : tensor<?x1x32x128xbf16> into tensor<?x1x4096xbf16>
    %110 = tensor.collapse_shape %109 [[0, 1], [2]] : tensor<?x1x4096xbf16> into tensor<?x4096xbf16>
    %111 = tensor.empty() : tensor<4096x4096xbf16>
    %112 = linalg.transpose ins(%wo : tensor<4096x4096xbf16>) outs(%111 : tensor<4096x4096xbf16>) permutation = [1, 0]
    %113 = tensor.empty(%batch) : tensor<?x4096xf32>
    %114 = linalg.fill ins(%cst : f32) outs(%113 : tensor<?x4096xf32>) -> tensor<?x4096xf32>
    %115 = linalg.matmul ins(%110, %112 : tensor<?x4096xbf16>, tensor<4096x4096xbf16>) outs(%114 : tensor<?x4096xf32>) -> tensor<?x4096xf32>
    %116 = tensor.empty(%batch) : tensor<?x4096xbf16>
    %117 = linalg.generic {
        indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel"]}
        ins(%115 : tensor<?x4096xf32>) outs(%116 : tensor<?x4096xbf16>) {
    ^bb0(%in: f32, %out: bf16):
      %118 = arith.truncf %in : f32 to bf16
      linalg.yield %118 : bf16
    } -> tensor<?x4096xbf16>
    %119 = tensor.expand_shape %117 [[0, 1], [2]] output_shape [%batch, 1, 4096] : tensor<?x4096xbf16> into tensor<?x1x4096xbf16>
    return %119, %34, %35 : tensor<?x1x4096xbf16>, tensor<?x?x8x128xbf16>, tensor<?x?x8x128xbf16>
  }
}
