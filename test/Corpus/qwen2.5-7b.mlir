// The attention of one layer of Qwen 2.5 7B (arXiv:2412.15115).
// Made by test/Corpus/generate.py.

#map = affine_map<(d0, d1) -> (d0, d1)>
#map1 = affine_map<(d0, d1, d2) -> (d0, d1, d2)>
#map2 = affine_map<(d0, d1, d2) -> (d2)>
#map3 = affine_map<(d0) -> (d0)>
#map4 = affine_map<(d0, d1, d2) -> (d0, d1, 0)>
#map5 = affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>
#map6 = affine_map<(d0, d1, d2, d3) -> (d0, 0, d2, d3)>
#map7 = affine_map<(d0, d1) -> (d1)>
#map8 = affine_map<(d0, d1) -> (d0, 0)>
#map9 = affine_map<(d0, d1, d2, d3) -> (d2, d3)>
#map10 = affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, 0)>
#map11 = affine_map<(d0, d1, d2) -> (d0, 0, d2)>
#map12 = affine_map<(d0, d1, d2) -> (d0, 0, 0)>
#map13 = affine_map<(d0, d1, d2, d3) -> (d0, d1, 0, d3)>
#map14 = affine_map<(d0, d1, d2, d3) -> (d0, 0, 0, d3)>
#map15 = affine_map<(d0, d1) -> (0, 0)>
#map16 = affine_map<(d0, d1, d2, d3) -> (0, d3)>
#map17 = affine_map<(d0, d1, d2, d3) -> (d0, d1, 0, 0)>
module {
  func.func @prefill(%x: tensor<?x?x3584xbf16>,
                     %position_ids: tensor<?x?xi64> {kvc.positions},
                     %wq: tensor<3584x3584xbf16>,
                     %wk: tensor<512x3584xbf16>,
                     %wv: tensor<512x3584xbf16>,
                     %wo: tensor<3584x3584xbf16>,
                     %bq: tensor<3584xbf16>,
                     %bk: tensor<512xbf16>,
                     %bv: tensor<512xbf16>)
      -> (tensor<?x?x3584xbf16>,
          tensor<?x4x?x128xbf16> {kvc.cache = "k"},
          tensor<?x4x?x128xbf16> {kvc.cache = "v"}) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %cst = arith.constant 0.0 : f32
    %c2 = arith.constant 2 : index
    %cst_1 = arith.constant 128.0 : f32
    %cst_2 = arith.constant 1000000.0 : f32
    %cst_3 = arith.constant 1.0 : f32
    %c28 = arith.constant 28 : index
    %cst_4 = arith.constant 0.0883883476 : f32
    %cst_5 = arith.constant 0xFF80 : bf16
    %cst_6 = arith.constant 0xFF800000 : f32
    %c0_i64 = arith.constant 0 : i64
    %batch = tensor.dim %x, %c0 : tensor<?x?x3584xbf16>
    %tokens = tensor.dim %x, %c1 : tensor<?x?x3584xbf16>
    // Queries, keys and values, by heads.
    %0 = arith.muli %batch, %tokens : index
    %1 = tensor.collapse_shape %x [[0, 1], [2]] : tensor<?x?x3584xbf16> into tensor<?x3584xbf16>
    %2 = tensor.empty() : tensor<3584x3584xbf16>
    %3 = linalg.transpose ins(%wq : tensor<3584x3584xbf16>) outs(%2 : tensor<3584x3584xbf16>) permutation = [1, 0]
    %4 = tensor.empty(%0) : tensor<?x3584xf32>
    %5 = linalg.fill ins(%cst : f32) outs(%4 : tensor<?x3584xf32>) -> tensor<?x3584xf32>
    %6 = linalg.matmul ins(%1, %3 : tensor<?x3584xbf16>, tensor<3584x3584xbf16>) outs(%5 : tensor<?x3584xf32>) -> tensor<?x3584xf32>
    %7 = tensor.empty(%0) : tensor<?x3584xbf16>
    %8 = linalg.generic {
        indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel"]}
        ins(%6 : tensor<?x3584xf32>) outs(%7 : tensor<?x3584xbf16>) {
    ^bb0(%in: f32, %out: bf16):
      %9 = arith.truncf %in : f32 to bf16
      linalg.yield %9 : bf16
    } -> tensor<?x3584xbf16>
    %10 = tensor.expand_shape %8 [[0, 1], [2]] output_shape [%batch, %tokens, 3584] : tensor<?x3584xbf16> into tensor<?x?x3584xbf16>
    %11 = tensor.empty(%batch, %tokens) : tensor<?x?x3584xbf16>
    %12 = linalg.generic {
        indexing_maps = [#map1, #map2, #map1], iterator_types = ["parallel", "parallel", "parallel"]}
        ins(%10, %bq : tensor<?x?x3584xbf16>, tensor<3584xbf16>) outs(%11 : tensor<?x?x3584xbf16>) {
    ^bb0(%in: bf16, %in_1: bf16, %out: bf16):
      %13 = arith.addf %in, %in_1 : bf16
      linalg.yield %13 : bf16
    } -> tensor<?x?x3584xbf16>
    %14 = tensor.expand_shape %12 [[0], [1], [2, 3]] output_shape [%batch, %tokens, 28, 128] : tensor<?x?x3584xbf16> into tensor<?x?x28x128xbf16>
    %15 = tensor.empty(%batch, %tokens) : tensor<?x28x?x128xbf16>
    %16 = linalg.transpose ins(%14 : tensor<?x?x28x128xbf16>) outs(%15 : tensor<?x28x?x128xbf16>) permutation = [0, 2, 1, 3]
    %17 = tensor.collapse_shape %x [[0, 1], [2]] : tensor<?x?x3584xbf16> into tensor<?x3584xbf16>
    %18 = tensor.empty() : tensor<3584x512xbf16>
    %19 = linalg.transpose ins(%wk : tensor<512x3584xbf16>) outs(%18 : tensor<3584x512xbf16>) permutation = [1, 0]
    %20 = tensor.empty(%0) : tensor<?x512xf32>
    %21 = linalg.fill ins(%cst : f32) outs(%20 : tensor<?x512xf32>) -> tensor<?x512xf32>
    %22 = linalg.matmul ins(%17, %19 : tensor<?x3584xbf16>, tensor<3584x512xbf16>) outs(%21 : tensor<?x512xf32>) -> tensor<?x512xf32>
    %23 = tensor.empty(%0) : tensor<?x512xbf16>
    %24 = linalg.generic {
        indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel"]}
        ins(%22 : tensor<?x512xf32>) outs(%23 : tensor<?x512xbf16>) {
    ^bb0(%in: f32, %out: bf16):
      %25 = arith.truncf %in : f32 to bf16
      linalg.yield %25 : bf16
    } -> tensor<?x512xbf16>
    %26 = tensor.expand_shape %24 [[0, 1], [2]] output_shape [%batch, %tokens, 512] : tensor<?x512xbf16> into tensor<?x?x512xbf16>
    %27 = tensor.empty(%batch, %tokens) : tensor<?x?x512xbf16>
    %28 = linalg.generic {
        indexing_maps = [#map1, #map2, #map1], iterator_types = ["parallel", "parallel", "parallel"]}
        ins(%26, %bk : tensor<?x?x512xbf16>, tensor<512xbf16>) outs(%27 : tensor<?x?x512xbf16>) {
    ^bb0(%in: bf16, %in_1: bf16, %out: bf16):
      %29 = arith.addf %in, %in_1 : bf16
      linalg.yield %29 : bf16
    } -> tensor<?x?x512xbf16>
    %30 = tensor.expand_shape %28 [[0], [1], [2, 3]] output_shape [%batch, %tokens, 4, 128] : tensor<?x?x512xbf16> into tensor<?x?x4x128xbf16>
    %31 = tensor.empty(%batch, %tokens) : tensor<?x4x?x128xbf16>
    %32 = linalg.transpose ins(%30 : tensor<?x?x4x128xbf16>) outs(%31 : tensor<?x4x?x128xbf16>) permutation = [0, 2, 1, 3]
    %33 = tensor.collapse_shape %x [[0, 1], [2]] : tensor<?x?x3584xbf16> into tensor<?x3584xbf16>
    %34 = tensor.empty() : tensor<3584x512xbf16>
    %35 = linalg.transpose ins(%wv : tensor<512x3584xbf16>) outs(%34 : tensor<3584x512xbf16>) permutation = [1, 0]
    %36 = tensor.empty(%0) : tensor<?x512xf32>
    %37 = linalg.fill ins(%cst : f32) outs(%36 : tensor<?x512xf32>) -> tensor<?x512xf32>
    %38 = linalg.matmul ins(%33, %35 : tensor<?x3584xbf16>, tensor<3584x512xbf16>) outs(%37 : tensor<?x512xf32>) -> tensor<?x512xf32>
    %39 = tensor.empty(%0) : tensor<?x512xbf16>
    %40 = linalg.generic {
        indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel"]}
        ins(%38 : tensor<?x512xf32>) outs(%39 : tensor<?x512xbf16>) {
    ^bb0(%in: f32, %out: bf16):
      %41 = arith.truncf %in : f32 to bf16
      linalg.yield %41 : bf16
    } -> tensor<?x512xbf16>
    %42 = tensor.expand_shape %40 [[0, 1], [2]] output_shape [%batch, %tokens, 512] : tensor<?x512xbf16> into tensor<?x?x512xbf16>
    %43 = tensor.empty(%batch, %tokens) : tensor<?x?x512xbf16>
    %44 = linalg.generic {
        indexing_maps = [#map1, #map2, #map1], iterator_types = ["parallel", "parallel", "parallel"]}
        ins(%42, %bv : tensor<?x?x512xbf16>, tensor<512xbf16>) outs(%43 : tensor<?x?x512xbf16>) {
    ^bb0(%in: bf16, %in_1: bf16, %out: bf16):
      %45 = arith.addf %in, %in_1 : bf16
      linalg.yield %45 : bf16
    } -> tensor<?x?x512xbf16>
    %46 = tensor.expand_shape %44 [[0], [1], [2, 3]] output_shape [%batch, %tokens, 4, 128] : tensor<?x?x512xbf16> into tensor<?x?x4x128xbf16>
    %47 = tensor.empty(%batch, %tokens) : tensor<?x4x?x128xbf16>
    %48 = linalg.transpose ins(%46 : tensor<?x?x4x128xbf16>) outs(%47 : tensor<?x4x?x128xbf16>) permutation = [0, 2, 1, 3]
    // Rotary embedding, with frequencies computed here.
    %49 = tensor.empty() : tensor<64xi64>
    %50 = linalg.generic {
        indexing_maps = [#map3], iterator_types = ["parallel"]}
        outs(%49 : tensor<64xi64>) {
    ^bb0(%out: i64):
      %51 = linalg.index 0 : index
      %52 = arith.muli %51, %c2 : index
      %53 = arith.index_cast %52 : index to i64
      linalg.yield %53 : i64
    } -> tensor<64xi64>
    %54 = tensor.empty() : tensor<64xf32>
    %55 = linalg.generic {
        indexing_maps = [#map3, #map3], iterator_types = ["parallel"]}
        ins(%50 : tensor<64xi64>) outs(%54 : tensor<64xf32>) {
    ^bb0(%in: i64, %out: f32):
      %56 = arith.sitofp %in : i64 to f32
      linalg.yield %56 : f32
    } -> tensor<64xf32>
    %57 = tensor.empty() : tensor<64xf32>
    %58 = linalg.generic {
        indexing_maps = [#map3, #map3], iterator_types = ["parallel"]}
        ins(%55 : tensor<64xf32>) outs(%57 : tensor<64xf32>) {
    ^bb0(%in: f32, %out: f32):
      %59 = arith.divf %in, %cst_1 : f32
      linalg.yield %59 : f32
    } -> tensor<64xf32>
    %60 = tensor.empty() : tensor<64xf32>
    %61 = linalg.generic {
        indexing_maps = [#map3, #map3], iterator_types = ["parallel"]}
        ins(%58 : tensor<64xf32>) outs(%60 : tensor<64xf32>) {
    ^bb0(%in: f32, %out: f32):
      %62 = math.powf %cst_2, %in : f32
      linalg.yield %62 : f32
    } -> tensor<64xf32>
    %63 = tensor.empty() : tensor<64xf32>
    %64 = linalg.generic {
        indexing_maps = [#map3, #map3], iterator_types = ["parallel"]}
        ins(%61 : tensor<64xf32>) outs(%63 : tensor<64xf32>) {
    ^bb0(%in: f32, %out: f32):
      %65 = arith.divf %cst_3, %in : f32
      linalg.yield %65 : f32
    } -> tensor<64xf32>
    %66 = tensor.empty(%batch, %tokens) : tensor<?x?xf32>
    %67 = linalg.generic {
        indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel"]}
        ins(%position_ids : tensor<?x?xi64>) outs(%66 : tensor<?x?xf32>) {
    ^bb0(%in: i64, %out: f32):
      %68 = arith.sitofp %in : i64 to f32
      linalg.yield %68 : f32
    } -> tensor<?x?xf32>
    %69 = tensor.expand_shape %67 [[0], [1, 2]] output_shape [%batch, %tokens, 1] : tensor<?x?xf32> into tensor<?x?x1xf32>
    %70 = tensor.empty(%batch, %tokens) : tensor<?x?x64xf32>
    %71 = linalg.generic {
        indexing_maps = [#map4, #map2, #map1], iterator_types = ["parallel", "parallel", "parallel"]}
        ins(%69, %64 : tensor<?x?x1xf32>, tensor<64xf32>) outs(%70 : tensor<?x?x64xf32>) {
    ^bb0(%in: f32, %in_1: f32, %out: f32):
      %72 = arith.mulf %in, %in_1 : f32
      linalg.yield %72 : f32
    } -> tensor<?x?x64xf32>
    %73 = tensor.concat dim(2) %71, %71 : (tensor<?x?x64xf32>, tensor<?x?x64xf32>) -> tensor<?x?x128xf32>
    %74 = tensor.empty(%batch, %tokens) : tensor<?x?x128xf32>
    %75 = linalg.generic {
        indexing_maps = [#map1, #map1], iterator_types = ["parallel", "parallel", "parallel"]}
        ins(%73 : tensor<?x?x128xf32>) outs(%74 : tensor<?x?x128xf32>) {
    ^bb0(%in: f32, %out: f32):
      %76 = math.cos %in : f32
      linalg.yield %76 : f32
    } -> tensor<?x?x128xf32>
    %77 = tensor.empty(%batch, %tokens) : tensor<?x?x128xf32>
    %78 = linalg.generic {
        indexing_maps = [#map1, #map1], iterator_types = ["parallel", "parallel", "parallel"]}
        ins(%73 : tensor<?x?x128xf32>) outs(%77 : tensor<?x?x128xf32>) {
    ^bb0(%in: f32, %out: f32):
      %79 = math.sin %in : f32
      linalg.yield %79 : f32
    } -> tensor<?x?x128xf32>
    %80 = tensor.empty(%batch, %tokens) : tensor<?x?x128xbf16>
    %81 = linalg.generic {
        indexing_maps = [#map1, #map1], iterator_types = ["parallel", "parallel", "parallel"]}
        ins(%75 : tensor<?x?x128xf32>) outs(%80 : tensor<?x?x128xbf16>) {
    ^bb0(%in: f32, %out: bf16):
      %82 = arith.truncf %in : f32 to bf16
      linalg.yield %82 : bf16
    } -> tensor<?x?x128xbf16>
    %83 = tensor.expand_shape %81 [[0], [1, 2], [3]] output_shape [%batch, 1, %tokens, 128] : tensor<?x?x128xbf16> into tensor<?x1x?x128xbf16>
    %84 = tensor.empty(%batch, %tokens) : tensor<?x?x128xbf16>
    %85 = linalg.generic {
        indexing_maps = [#map1, #map1], iterator_types = ["parallel", "parallel", "parallel"]}
        ins(%78 : tensor<?x?x128xf32>) outs(%84 : tensor<?x?x128xbf16>) {
    ^bb0(%in: f32, %out: bf16):
      %86 = arith.truncf %in : f32 to bf16
      linalg.yield %86 : bf16
    } -> tensor<?x?x128xbf16>
    %87 = tensor.expand_shape %85 [[0], [1, 2], [3]] output_shape [%batch, 1, %tokens, 128] : tensor<?x?x128xbf16> into tensor<?x1x?x128xbf16>
    %88 = tensor.empty(%batch, %tokens) : tensor<?x28x?x128xbf16>
    %89 = linalg.generic {
        indexing_maps = [#map5, #map6, #map5], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
        ins(%16, %83 : tensor<?x28x?x128xbf16>, tensor<?x1x?x128xbf16>) outs(%88 : tensor<?x28x?x128xbf16>) {
    ^bb0(%in: bf16, %in_1: bf16, %out: bf16):
      %90 = arith.mulf %in, %in_1 : bf16
      linalg.yield %90 : bf16
    } -> tensor<?x28x?x128xbf16>
    %91 = tensor.extract_slice %16[0, 0, 0, 0] [%batch, 28, %tokens, 64] [1, 1, 1, 1] : tensor<?x28x?x128xbf16> to tensor<?x28x?x64xbf16>
    %92 = tensor.extract_slice %16[0, 0, 0, 64] [%batch, 28, %tokens, 64] [1, 1, 1, 1] : tensor<?x28x?x128xbf16> to tensor<?x28x?x64xbf16>
    %93 = tensor.empty(%batch, %tokens) : tensor<?x28x?x64xbf16>
    %94 = linalg.generic {
        indexing_maps = [#map5, #map5], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
        ins(%92 : tensor<?x28x?x64xbf16>) outs(%93 : tensor<?x28x?x64xbf16>) {
    ^bb0(%in: bf16, %out: bf16):
      %95 = arith.negf %in : bf16
      linalg.yield %95 : bf16
    } -> tensor<?x28x?x64xbf16>
    %96 = tensor.concat dim(3) %94, %91 : (tensor<?x28x?x64xbf16>, tensor<?x28x?x64xbf16>) -> tensor<?x28x?x128xbf16>
    %97 = tensor.empty(%batch, %tokens) : tensor<?x28x?x128xbf16>
    %98 = linalg.generic {
        indexing_maps = [#map5, #map6, #map5], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
        ins(%96, %87 : tensor<?x28x?x128xbf16>, tensor<?x1x?x128xbf16>) outs(%97 : tensor<?x28x?x128xbf16>) {
    ^bb0(%in: bf16, %in_1: bf16, %out: bf16):
      %99 = arith.mulf %in, %in_1 : bf16
      linalg.yield %99 : bf16
    } -> tensor<?x28x?x128xbf16>
    %100 = tensor.empty(%batch, %tokens) : tensor<?x28x?x128xbf16>
    %101 = linalg.generic {
        indexing_maps = [#map5, #map5, #map5], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
        ins(%89, %98 : tensor<?x28x?x128xbf16>, tensor<?x28x?x128xbf16>) outs(%100 : tensor<?x28x?x128xbf16>) {
    ^bb0(%in: bf16, %in_1: bf16, %out: bf16):
      %102 = arith.addf %in, %in_1 : bf16
      linalg.yield %102 : bf16
    } -> tensor<?x28x?x128xbf16>
    %103 = tensor.empty(%batch, %tokens) : tensor<?x4x?x128xbf16>
    %104 = linalg.generic {
        indexing_maps = [#map5, #map6, #map5], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
        ins(%32, %83 : tensor<?x4x?x128xbf16>, tensor<?x1x?x128xbf16>) outs(%103 : tensor<?x4x?x128xbf16>) {
    ^bb0(%in: bf16, %in_1: bf16, %out: bf16):
      %105 = arith.mulf %in, %in_1 : bf16
      linalg.yield %105 : bf16
    } -> tensor<?x4x?x128xbf16>
    %106 = tensor.extract_slice %32[0, 0, 0, 0] [%batch, 4, %tokens, 64] [1, 1, 1, 1] : tensor<?x4x?x128xbf16> to tensor<?x4x?x64xbf16>
    %107 = tensor.extract_slice %32[0, 0, 0, 64] [%batch, 4, %tokens, 64] [1, 1, 1, 1] : tensor<?x4x?x128xbf16> to tensor<?x4x?x64xbf16>
    %108 = tensor.empty(%batch, %tokens) : tensor<?x4x?x64xbf16>
    %109 = linalg.generic {
        indexing_maps = [#map5, #map5], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
        ins(%107 : tensor<?x4x?x64xbf16>) outs(%108 : tensor<?x4x?x64xbf16>) {
    ^bb0(%in: bf16, %out: bf16):
      %110 = arith.negf %in : bf16
      linalg.yield %110 : bf16
    } -> tensor<?x4x?x64xbf16>
    %111 = tensor.concat dim(3) %109, %106 : (tensor<?x4x?x64xbf16>, tensor<?x4x?x64xbf16>) -> tensor<?x4x?x128xbf16>
    %112 = tensor.empty(%batch, %tokens) : tensor<?x4x?x128xbf16>
    %113 = linalg.generic {
        indexing_maps = [#map5, #map6, #map5], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
        ins(%111, %87 : tensor<?x4x?x128xbf16>, tensor<?x1x?x128xbf16>) outs(%112 : tensor<?x4x?x128xbf16>) {
    ^bb0(%in: bf16, %in_1: bf16, %out: bf16):
      %114 = arith.mulf %in, %in_1 : bf16
      linalg.yield %114 : bf16
    } -> tensor<?x4x?x128xbf16>
    %115 = tensor.empty(%batch, %tokens) : tensor<?x4x?x128xbf16>
    %116 = linalg.generic {
        indexing_maps = [#map5, #map5, #map5], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
        ins(%104, %113 : tensor<?x4x?x128xbf16>, tensor<?x4x?x128xbf16>) outs(%115 : tensor<?x4x?x128xbf16>) {
    ^bb0(%in: bf16, %in_1: bf16, %out: bf16):
      %117 = arith.addf %in, %in_1 : bf16
      linalg.yield %117 : bf16
    } -> tensor<?x4x?x128xbf16>
    // The cache.
    // Attention.
    %118 = tensor.empty(%batch, %tokens) : tensor<?x4x7x?x128xbf16>
    %119 = linalg.broadcast ins(%116 : tensor<?x4x?x128xbf16>) outs(%118 : tensor<?x4x7x?x128xbf16>) dimensions = [2]
    %120 = tensor.collapse_shape %119 [[0], [1, 2], [3], [4]] : tensor<?x4x7x?x128xbf16> into tensor<?x28x?x128xbf16>
    %121 = tensor.empty(%batch, %tokens) : tensor<?x4x7x?x128xbf16>
    %122 = linalg.broadcast ins(%48 : tensor<?x4x?x128xbf16>) outs(%121 : tensor<?x4x7x?x128xbf16>) dimensions = [2]
    %123 = tensor.collapse_shape %122 [[0], [1, 2], [3], [4]] : tensor<?x4x7x?x128xbf16> into tensor<?x28x?x128xbf16>
    %124 = tensor.empty(%batch, %tokens) : tensor<?x28x128x?xbf16>
    %125 = linalg.transpose ins(%120 : tensor<?x28x?x128xbf16>) outs(%124 : tensor<?x28x128x?xbf16>) permutation = [0, 1, 3, 2]
    %126 = arith.muli %batch, %c28 : index
    %127 = tensor.collapse_shape %101 [[0, 1], [2], [3]] : tensor<?x28x?x128xbf16> into tensor<?x?x128xbf16>
    %128 = tensor.collapse_shape %125 [[0, 1], [2], [3]] : tensor<?x28x128x?xbf16> into tensor<?x128x?xbf16>
    %129 = tensor.empty(%126, %tokens, %tokens) : tensor<?x?x?xf32>
    %130 = linalg.fill ins(%cst : f32) outs(%129 : tensor<?x?x?xf32>) -> tensor<?x?x?xf32>
    %131 = linalg.batch_matmul ins(%127, %128 : tensor<?x?x128xbf16>, tensor<?x128x?xbf16>) outs(%130 : tensor<?x?x?xf32>) -> tensor<?x?x?xf32>
    %132 = tensor.empty(%126, %tokens, %tokens) : tensor<?x?x?xbf16>
    %133 = linalg.generic {
        indexing_maps = [#map1, #map1], iterator_types = ["parallel", "parallel", "parallel"]}
        ins(%131 : tensor<?x?x?xf32>) outs(%132 : tensor<?x?x?xbf16>) {
    ^bb0(%in: f32, %out: bf16):
      %134 = arith.truncf %in : f32 to bf16
      linalg.yield %134 : bf16
    } -> tensor<?x?x?xbf16>
    %135 = tensor.expand_shape %133 [[0, 1], [2], [3]] output_shape [%batch, 28, %tokens, %tokens] : tensor<?x?x?xbf16> into tensor<?x28x?x?xbf16>
    %136 = tensor.empty(%batch, %tokens, %tokens) : tensor<?x28x?x?xbf16>
    %137 = linalg.generic {
        indexing_maps = [#map5, #map5], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
        ins(%135 : tensor<?x28x?x?xbf16>) outs(%136 : tensor<?x28x?x?xbf16>) {
    ^bb0(%in: bf16, %out: bf16):
      %138 = arith.extf %in : bf16 to f32
      %139 = arith.mulf %138, %cst_4 : f32
      %140 = arith.truncf %139 : f32 to bf16
      linalg.yield %140 : bf16
    } -> tensor<?x28x?x?xbf16>
    %141 = tensor.empty(%tokens) : tensor<?xi64>
    %142 = linalg.generic {
        indexing_maps = [#map3], iterator_types = ["parallel"]}
        outs(%141 : tensor<?xi64>) {
    ^bb0(%out: i64):
      %143 = linalg.index 0 : index
      %144 = arith.index_cast %143 : index to i64
      linalg.yield %144 : i64
    } -> tensor<?xi64>
    %145 = tensor.empty(%tokens) : tensor<?xi64>
    %146 = linalg.generic {
        indexing_maps = [#map3], iterator_types = ["parallel"]}
        outs(%145 : tensor<?xi64>) {
    ^bb0(%out: i64):
      %147 = linalg.index 0 : index
      %148 = arith.index_cast %147 : index to i64
      linalg.yield %148 : i64
    } -> tensor<?xi64>
    %149 = tensor.expand_shape %142 [[0, 1]] output_shape [%tokens, 1] : tensor<?xi64> into tensor<?x1xi64>
    %150 = tensor.empty(%tokens, %tokens) : tensor<?x?xi1>
    %151 = linalg.generic {
        indexing_maps = [#map7, #map8, #map], iterator_types = ["parallel", "parallel"]}
        ins(%146, %149 : tensor<?xi64>, tensor<?x1xi64>) outs(%150 : tensor<?x?xi1>) {
    ^bb0(%in: i64, %in_1: i64, %out: i1):
      %152 = arith.cmpi sle, %in, %in_1 : i64
      linalg.yield %152 : i1
    } -> tensor<?x?xi1>
    %153 = tensor.empty(%batch, %tokens, %tokens) : tensor<?x28x?x?xbf16>
    %154 = linalg.generic {
        indexing_maps = [#map5, #map9, #map5], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
        ins(%137, %151 : tensor<?x28x?x?xbf16>, tensor<?x?xi1>) outs(%153 : tensor<?x28x?x?xbf16>) {
    ^bb0(%in: bf16, %in_1: i1, %out: bf16):
      %155 = arith.select %in_1, %in, %cst_5 : bf16
      linalg.yield %155 : bf16
    } -> tensor<?x28x?x?xbf16>
    %156 = tensor.empty(%batch, %tokens, %tokens) : tensor<?x28x?x?xf32>
    %157 = linalg.generic {
        indexing_maps = [#map5, #map5], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
        ins(%154 : tensor<?x28x?x?xbf16>) outs(%156 : tensor<?x28x?x?xf32>) {
    ^bb0(%in: bf16, %out: f32):
      %158 = arith.extf %in : bf16 to f32
      linalg.yield %158 : f32
    } -> tensor<?x28x?x?xf32>
    %159 = tensor.empty(%batch, %tokens) : tensor<?x28x?x1xf32>
    %160 = linalg.fill ins(%cst_6 : f32) outs(%159 : tensor<?x28x?x1xf32>) -> tensor<?x28x?x1xf32>
    %161 = tensor.empty(%batch, %tokens) : tensor<?x28x?x1xi64>
    %162 = linalg.fill ins(%c0_i64 : i64) outs(%161 : tensor<?x28x?x1xi64>) -> tensor<?x28x?x1xi64>
    %163, %164 = linalg.generic {
        indexing_maps = [#map5, #map10, #map10], iterator_types = ["parallel", "parallel", "parallel", "reduction"]}
        ins(%157 : tensor<?x28x?x?xf32>) outs(%160, %162 : tensor<?x28x?x1xf32>, tensor<?x28x?x1xi64>) {
    ^bb0(%in: f32, %out: f32, %out_1: i64):
      %165 = linalg.index 3 : index
      %166 = arith.index_cast %165 : index to i64
      %167 = arith.cmpf ogt, %in, %out : f32
      %168 = arith.maximumf %in, %out : f32
      %169 = arith.select %167, %166, %out_1 : i64
      linalg.yield %168, %169 : f32, i64
    } -> (tensor<?x28x?x1xf32>, tensor<?x28x?x1xi64>)
    %170 = tensor.empty(%batch, %tokens, %tokens) : tensor<?x28x?x?xf32>
    %171 = linalg.generic {
        indexing_maps = [#map5, #map10, #map5], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
        ins(%157, %163 : tensor<?x28x?x?xf32>, tensor<?x28x?x1xf32>) outs(%170 : tensor<?x28x?x?xf32>) {
    ^bb0(%in: f32, %in_1: f32, %out: f32):
      %172 = arith.subf %in, %in_1 : f32
      linalg.yield %172 : f32
    } -> tensor<?x28x?x?xf32>
    %173 = tensor.empty(%batch, %tokens, %tokens) : tensor<?x28x?x?xf32>
    %174 = linalg.generic {
        indexing_maps = [#map5, #map5], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
        ins(%171 : tensor<?x28x?x?xf32>) outs(%173 : tensor<?x28x?x?xf32>) {
    ^bb0(%in: f32, %out: f32):
      %175 = math.exp %in : f32
      linalg.yield %175 : f32
    } -> tensor<?x28x?x?xf32>
    %176 = tensor.empty(%batch, %tokens) : tensor<?x28x?x1xf32>
    %177 = linalg.fill ins(%cst : f32) outs(%176 : tensor<?x28x?x1xf32>) -> tensor<?x28x?x1xf32>
    %178 = linalg.generic {
        indexing_maps = [#map5, #map10], iterator_types = ["parallel", "parallel", "parallel", "reduction"]}
        ins(%174 : tensor<?x28x?x?xf32>) outs(%177 : tensor<?x28x?x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      %179 = arith.addf %in, %out : f32
      linalg.yield %179 : f32
    } -> tensor<?x28x?x1xf32>
    %180 = tensor.empty(%batch, %tokens, %tokens) : tensor<?x28x?x?xf32>
    %181 = linalg.generic {
        indexing_maps = [#map5, #map10, #map5], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
        ins(%174, %178 : tensor<?x28x?x?xf32>, tensor<?x28x?x1xf32>) outs(%180 : tensor<?x28x?x?xf32>) {
    ^bb0(%in: f32, %in_1: f32, %out: f32):
      %182 = arith.divf %in, %in_1 : f32
      linalg.yield %182 : f32
    } -> tensor<?x28x?x?xf32>
    %183 = tensor.empty(%batch, %tokens, %tokens) : tensor<?x28x?x?xbf16>
    %184 = linalg.generic {
        indexing_maps = [#map5, #map5], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
        ins(%181 : tensor<?x28x?x?xf32>) outs(%183 : tensor<?x28x?x?xbf16>) {
    ^bb0(%in: f32, %out: bf16):
      %185 = arith.truncf %in : f32 to bf16
      linalg.yield %185 : bf16
    } -> tensor<?x28x?x?xbf16>
    %186 = tensor.collapse_shape %184 [[0, 1], [2], [3]] : tensor<?x28x?x?xbf16> into tensor<?x?x?xbf16>
    %187 = tensor.collapse_shape %123 [[0, 1], [2], [3]] : tensor<?x28x?x128xbf16> into tensor<?x?x128xbf16>
    %188 = tensor.empty(%126, %tokens) : tensor<?x?x128xf32>
    %189 = linalg.fill ins(%cst : f32) outs(%188 : tensor<?x?x128xf32>) -> tensor<?x?x128xf32>
    %190 = linalg.batch_matmul ins(%186, %187 : tensor<?x?x?xbf16>, tensor<?x?x128xbf16>) outs(%189 : tensor<?x?x128xf32>) -> tensor<?x?x128xf32>
    %191 = tensor.empty(%126, %tokens) : tensor<?x?x128xbf16>
    %192 = linalg.generic {
        indexing_maps = [#map1, #map1], iterator_types = ["parallel", "parallel", "parallel"]}
        ins(%190 : tensor<?x?x128xf32>) outs(%191 : tensor<?x?x128xbf16>) {
    ^bb0(%in: f32, %out: bf16):
      %193 = arith.truncf %in : f32 to bf16
      linalg.yield %193 : bf16
    } -> tensor<?x?x128xbf16>
    %194 = tensor.expand_shape %192 [[0, 1], [2], [3]] output_shape [%batch, 28, %tokens, 128] : tensor<?x?x128xbf16> into tensor<?x28x?x128xbf16>
    %195 = tensor.empty(%batch, %tokens) : tensor<?x?x28x128xbf16>
    %196 = linalg.transpose ins(%194 : tensor<?x28x?x128xbf16>) outs(%195 : tensor<?x?x28x128xbf16>) permutation = [0, 2, 1, 3]
    %197 = tensor.collapse_shape %196 [[0], [1], [2, 3]] : tensor<?x?x28x128xbf16> into tensor<?x?x3584xbf16>
    %198 = tensor.collapse_shape %197 [[0, 1], [2]] : tensor<?x?x3584xbf16> into tensor<?x3584xbf16>
    %199 = tensor.empty() : tensor<3584x3584xbf16>
    %200 = linalg.transpose ins(%wo : tensor<3584x3584xbf16>) outs(%199 : tensor<3584x3584xbf16>) permutation = [1, 0]
    %201 = tensor.empty(%0) : tensor<?x3584xf32>
    %202 = linalg.fill ins(%cst : f32) outs(%201 : tensor<?x3584xf32>) -> tensor<?x3584xf32>
    %203 = linalg.matmul ins(%198, %200 : tensor<?x3584xbf16>, tensor<3584x3584xbf16>) outs(%202 : tensor<?x3584xf32>) -> tensor<?x3584xf32>
    %204 = tensor.empty(%0) : tensor<?x3584xbf16>
    %205 = linalg.generic {
        indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel"]}
        ins(%203 : tensor<?x3584xf32>) outs(%204 : tensor<?x3584xbf16>) {
    ^bb0(%in: f32, %out: bf16):
      %206 = arith.truncf %in : f32 to bf16
      linalg.yield %206 : bf16
    } -> tensor<?x3584xbf16>
    %207 = tensor.expand_shape %205 [[0, 1], [2]] output_shape [%batch, %tokens, 3584] : tensor<?x3584xbf16> into tensor<?x?x3584xbf16>
    return %207, %116, %48 : tensor<?x?x3584xbf16>, tensor<?x4x?x128xbf16>, tensor<?x4x?x128xbf16>
  }

  func.func @decode(%x: tensor<?x1x3584xbf16>,
                    %position_ids: tensor<?x1xi64> {kvc.positions},
                    %past_k: tensor<?x4x?x128xbf16> {kvc.cache = "k"},
                    %past_v: tensor<?x4x?x128xbf16> {kvc.cache = "v"},
                    %wq: tensor<3584x3584xbf16>,
                    %wk: tensor<512x3584xbf16>,
                    %wv: tensor<512x3584xbf16>,
                    %wo: tensor<3584x3584xbf16>,
                    %bq: tensor<3584xbf16>,
                    %bk: tensor<512xbf16>,
                    %bv: tensor<512xbf16>)
      -> (tensor<?x1x3584xbf16>,
          tensor<?x4x?x128xbf16> {kvc.cache = "k"},
          tensor<?x4x?x128xbf16> {kvc.cache = "v"}) {
    %c0 = arith.constant 0 : index
    %c2 = arith.constant 2 : index
    %cst = arith.constant 0.0 : f32
    %cst_1 = arith.constant 128.0 : f32
    %cst_2 = arith.constant 1000000.0 : f32
    %cst_3 = arith.constant 1.0 : f32
    %c1 = arith.constant 1 : index
    %c28 = arith.constant 28 : index
    %cst_4 = arith.constant 0.0883883476 : f32
    %cst_5 = arith.constant 0xFF80 : bf16
    %cst_6 = arith.constant 0xFF800000 : f32
    %c0_i64 = arith.constant 0 : i64
    %batch = tensor.dim %x, %c0 : tensor<?x1x3584xbf16>
    %past = tensor.dim %past_k, %c2 : tensor<?x4x?x128xbf16>
    // Queries, keys and values, by heads.
    %0 = tensor.collapse_shape %x [[0, 1], [2]] : tensor<?x1x3584xbf16> into tensor<?x3584xbf16>
    %1 = tensor.empty() : tensor<3584x3584xbf16>
    %2 = linalg.transpose ins(%wq : tensor<3584x3584xbf16>) outs(%1 : tensor<3584x3584xbf16>) permutation = [1, 0]
    %3 = tensor.empty(%batch) : tensor<?x3584xf32>
    %4 = linalg.fill ins(%cst : f32) outs(%3 : tensor<?x3584xf32>) -> tensor<?x3584xf32>
    %5 = linalg.matmul ins(%0, %2 : tensor<?x3584xbf16>, tensor<3584x3584xbf16>) outs(%4 : tensor<?x3584xf32>) -> tensor<?x3584xf32>
    %6 = tensor.empty(%batch) : tensor<?x3584xbf16>
    %7 = linalg.generic {
        indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel"]}
        ins(%5 : tensor<?x3584xf32>) outs(%6 : tensor<?x3584xbf16>) {
    ^bb0(%in: f32, %out: bf16):
      %8 = arith.truncf %in : f32 to bf16
      linalg.yield %8 : bf16
    } -> tensor<?x3584xbf16>
    %9 = tensor.expand_shape %7 [[0, 1], [2]] output_shape [%batch, 1, 3584] : tensor<?x3584xbf16> into tensor<?x1x3584xbf16>
    %10 = tensor.empty(%batch) : tensor<?x1x3584xbf16>
    %11 = linalg.generic {
        indexing_maps = [#map11, #map2, #map1], iterator_types = ["parallel", "parallel", "parallel"]}
        ins(%9, %bq : tensor<?x1x3584xbf16>, tensor<3584xbf16>) outs(%10 : tensor<?x1x3584xbf16>) {
    ^bb0(%in: bf16, %in_1: bf16, %out: bf16):
      %12 = arith.addf %in, %in_1 : bf16
      linalg.yield %12 : bf16
    } -> tensor<?x1x3584xbf16>
    %13 = tensor.expand_shape %11 [[0], [1], [2, 3]] output_shape [%batch, 1, 28, 128] : tensor<?x1x3584xbf16> into tensor<?x1x28x128xbf16>
    %14 = tensor.empty(%batch) : tensor<?x28x1x128xbf16>
    %15 = linalg.transpose ins(%13 : tensor<?x1x28x128xbf16>) outs(%14 : tensor<?x28x1x128xbf16>) permutation = [0, 2, 1, 3]
    %16 = tensor.collapse_shape %x [[0, 1], [2]] : tensor<?x1x3584xbf16> into tensor<?x3584xbf16>
    %17 = tensor.empty() : tensor<3584x512xbf16>
    %18 = linalg.transpose ins(%wk : tensor<512x3584xbf16>) outs(%17 : tensor<3584x512xbf16>) permutation = [1, 0]
    %19 = tensor.empty(%batch) : tensor<?x512xf32>
    %20 = linalg.fill ins(%cst : f32) outs(%19 : tensor<?x512xf32>) -> tensor<?x512xf32>
    %21 = linalg.matmul ins(%16, %18 : tensor<?x3584xbf16>, tensor<3584x512xbf16>) outs(%20 : tensor<?x512xf32>) -> tensor<?x512xf32>
    %22 = tensor.empty(%batch) : tensor<?x512xbf16>
    %23 = linalg.generic {
        indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel"]}
        ins(%21 : tensor<?x512xf32>) outs(%22 : tensor<?x512xbf16>) {
    ^bb0(%in: f32, %out: bf16):
      %24 = arith.truncf %in : f32 to bf16
      linalg.yield %24 : bf16
    } -> tensor<?x512xbf16>
    %25 = tensor.expand_shape %23 [[0, 1], [2]] output_shape [%batch, 1, 512] : tensor<?x512xbf16> into tensor<?x1x512xbf16>
    %26 = tensor.empty(%batch) : tensor<?x1x512xbf16>
    %27 = linalg.generic {
        indexing_maps = [#map11, #map2, #map1], iterator_types = ["parallel", "parallel", "parallel"]}
        ins(%25, %bk : tensor<?x1x512xbf16>, tensor<512xbf16>) outs(%26 : tensor<?x1x512xbf16>) {
    ^bb0(%in: bf16, %in_1: bf16, %out: bf16):
      %28 = arith.addf %in, %in_1 : bf16
      linalg.yield %28 : bf16
    } -> tensor<?x1x512xbf16>
    %29 = tensor.expand_shape %27 [[0], [1], [2, 3]] output_shape [%batch, 1, 4, 128] : tensor<?x1x512xbf16> into tensor<?x1x4x128xbf16>
    %30 = tensor.empty(%batch) : tensor<?x4x1x128xbf16>
    %31 = linalg.transpose ins(%29 : tensor<?x1x4x128xbf16>) outs(%30 : tensor<?x4x1x128xbf16>) permutation = [0, 2, 1, 3]
    %32 = tensor.collapse_shape %x [[0, 1], [2]] : tensor<?x1x3584xbf16> into tensor<?x3584xbf16>
    %33 = tensor.empty() : tensor<3584x512xbf16>
    %34 = linalg.transpose ins(%wv : tensor<512x3584xbf16>) outs(%33 : tensor<3584x512xbf16>) permutation = [1, 0]
    %35 = tensor.empty(%batch) : tensor<?x512xf32>
    %36 = linalg.fill ins(%cst : f32) outs(%35 : tensor<?x512xf32>) -> tensor<?x512xf32>
    %37 = linalg.matmul ins(%32, %34 : tensor<?x3584xbf16>, tensor<3584x512xbf16>) outs(%36 : tensor<?x512xf32>) -> tensor<?x512xf32>
    %38 = tensor.empty(%batch) : tensor<?x512xbf16>
    %39 = linalg.generic {
        indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel"]}
        ins(%37 : tensor<?x512xf32>) outs(%38 : tensor<?x512xbf16>) {
    ^bb0(%in: f32, %out: bf16):
      %40 = arith.truncf %in : f32 to bf16
      linalg.yield %40 : bf16
    } -> tensor<?x512xbf16>
    %41 = tensor.expand_shape %39 [[0, 1], [2]] output_shape [%batch, 1, 512] : tensor<?x512xbf16> into tensor<?x1x512xbf16>
    %42 = tensor.empty(%batch) : tensor<?x1x512xbf16>
    %43 = linalg.generic {
        indexing_maps = [#map11, #map2, #map1], iterator_types = ["parallel", "parallel", "parallel"]}
        ins(%41, %bv : tensor<?x1x512xbf16>, tensor<512xbf16>) outs(%42 : tensor<?x1x512xbf16>) {
    ^bb0(%in: bf16, %in_1: bf16, %out: bf16):
      %44 = arith.addf %in, %in_1 : bf16
      linalg.yield %44 : bf16
    } -> tensor<?x1x512xbf16>
    %45 = tensor.expand_shape %43 [[0], [1], [2, 3]] output_shape [%batch, 1, 4, 128] : tensor<?x1x512xbf16> into tensor<?x1x4x128xbf16>
    %46 = tensor.empty(%batch) : tensor<?x4x1x128xbf16>
    %47 = linalg.transpose ins(%45 : tensor<?x1x4x128xbf16>) outs(%46 : tensor<?x4x1x128xbf16>) permutation = [0, 2, 1, 3]
    // Rotary embedding, with frequencies computed here.
    %48 = tensor.empty() : tensor<64xi64>
    %49 = linalg.generic {
        indexing_maps = [#map3], iterator_types = ["parallel"]}
        outs(%48 : tensor<64xi64>) {
    ^bb0(%out: i64):
      %50 = linalg.index 0 : index
      %51 = arith.muli %50, %c2 : index
      %52 = arith.index_cast %51 : index to i64
      linalg.yield %52 : i64
    } -> tensor<64xi64>
    %53 = tensor.empty() : tensor<64xf32>
    %54 = linalg.generic {
        indexing_maps = [#map3, #map3], iterator_types = ["parallel"]}
        ins(%49 : tensor<64xi64>) outs(%53 : tensor<64xf32>) {
    ^bb0(%in: i64, %out: f32):
      %55 = arith.sitofp %in : i64 to f32
      linalg.yield %55 : f32
    } -> tensor<64xf32>
    %56 = tensor.empty() : tensor<64xf32>
    %57 = linalg.generic {
        indexing_maps = [#map3, #map3], iterator_types = ["parallel"]}
        ins(%54 : tensor<64xf32>) outs(%56 : tensor<64xf32>) {
    ^bb0(%in: f32, %out: f32):
      %58 = arith.divf %in, %cst_1 : f32
      linalg.yield %58 : f32
    } -> tensor<64xf32>
    %59 = tensor.empty() : tensor<64xf32>
    %60 = linalg.generic {
        indexing_maps = [#map3, #map3], iterator_types = ["parallel"]}
        ins(%57 : tensor<64xf32>) outs(%59 : tensor<64xf32>) {
    ^bb0(%in: f32, %out: f32):
      %61 = math.powf %cst_2, %in : f32
      linalg.yield %61 : f32
    } -> tensor<64xf32>
    %62 = tensor.empty() : tensor<64xf32>
    %63 = linalg.generic {
        indexing_maps = [#map3, #map3], iterator_types = ["parallel"]}
        ins(%60 : tensor<64xf32>) outs(%62 : tensor<64xf32>) {
    ^bb0(%in: f32, %out: f32):
      %64 = arith.divf %cst_3, %in : f32
      linalg.yield %64 : f32
    } -> tensor<64xf32>
    %65 = tensor.empty(%batch) : tensor<?x1xf32>
    %66 = linalg.generic {
        indexing_maps = [#map8, #map], iterator_types = ["parallel", "parallel"]}
        ins(%position_ids : tensor<?x1xi64>) outs(%65 : tensor<?x1xf32>) {
    ^bb0(%in: i64, %out: f32):
      %67 = arith.sitofp %in : i64 to f32
      linalg.yield %67 : f32
    } -> tensor<?x1xf32>
    %68 = tensor.expand_shape %66 [[0], [1, 2]] output_shape [%batch, 1, 1] : tensor<?x1xf32> into tensor<?x1x1xf32>
    %69 = tensor.empty(%batch) : tensor<?x1x64xf32>
    %70 = linalg.generic {
        indexing_maps = [#map12, #map2, #map1], iterator_types = ["parallel", "parallel", "parallel"]}
        ins(%68, %63 : tensor<?x1x1xf32>, tensor<64xf32>) outs(%69 : tensor<?x1x64xf32>) {
    ^bb0(%in: f32, %in_1: f32, %out: f32):
      %71 = arith.mulf %in, %in_1 : f32
      linalg.yield %71 : f32
    } -> tensor<?x1x64xf32>
    %72 = tensor.concat dim(2) %70, %70 : (tensor<?x1x64xf32>, tensor<?x1x64xf32>) -> tensor<?x1x128xf32>
    %73 = tensor.empty(%batch) : tensor<?x1x128xf32>
    %74 = linalg.generic {
        indexing_maps = [#map11, #map1], iterator_types = ["parallel", "parallel", "parallel"]}
        ins(%72 : tensor<?x1x128xf32>) outs(%73 : tensor<?x1x128xf32>) {
    ^bb0(%in: f32, %out: f32):
      %75 = math.cos %in : f32
      linalg.yield %75 : f32
    } -> tensor<?x1x128xf32>
    %76 = tensor.empty(%batch) : tensor<?x1x128xf32>
    %77 = linalg.generic {
        indexing_maps = [#map11, #map1], iterator_types = ["parallel", "parallel", "parallel"]}
        ins(%72 : tensor<?x1x128xf32>) outs(%76 : tensor<?x1x128xf32>) {
    ^bb0(%in: f32, %out: f32):
      %78 = math.sin %in : f32
      linalg.yield %78 : f32
    } -> tensor<?x1x128xf32>
    %79 = tensor.empty(%batch) : tensor<?x1x128xbf16>
    %80 = linalg.generic {
        indexing_maps = [#map11, #map1], iterator_types = ["parallel", "parallel", "parallel"]}
        ins(%74 : tensor<?x1x128xf32>) outs(%79 : tensor<?x1x128xbf16>) {
    ^bb0(%in: f32, %out: bf16):
      %81 = arith.truncf %in : f32 to bf16
      linalg.yield %81 : bf16
    } -> tensor<?x1x128xbf16>
    %82 = tensor.expand_shape %80 [[0], [1, 2], [3]] output_shape [%batch, 1, 1, 128] : tensor<?x1x128xbf16> into tensor<?x1x1x128xbf16>
    %83 = tensor.empty(%batch) : tensor<?x1x128xbf16>
    %84 = linalg.generic {
        indexing_maps = [#map11, #map1], iterator_types = ["parallel", "parallel", "parallel"]}
        ins(%77 : tensor<?x1x128xf32>) outs(%83 : tensor<?x1x128xbf16>) {
    ^bb0(%in: f32, %out: bf16):
      %85 = arith.truncf %in : f32 to bf16
      linalg.yield %85 : bf16
    } -> tensor<?x1x128xbf16>
    %86 = tensor.expand_shape %84 [[0], [1, 2], [3]] output_shape [%batch, 1, 1, 128] : tensor<?x1x128xbf16> into tensor<?x1x1x128xbf16>
    %87 = tensor.empty(%batch) : tensor<?x28x1x128xbf16>
    %88 = linalg.generic {
        indexing_maps = [#map13, #map14, #map5], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
        ins(%15, %82 : tensor<?x28x1x128xbf16>, tensor<?x1x1x128xbf16>) outs(%87 : tensor<?x28x1x128xbf16>) {
    ^bb0(%in: bf16, %in_1: bf16, %out: bf16):
      %89 = arith.mulf %in, %in_1 : bf16
      linalg.yield %89 : bf16
    } -> tensor<?x28x1x128xbf16>
    %90 = tensor.extract_slice %15[0, 0, 0, 0] [%batch, 28, 1, 64] [1, 1, 1, 1] : tensor<?x28x1x128xbf16> to tensor<?x28x1x64xbf16>
    %91 = tensor.extract_slice %15[0, 0, 0, 64] [%batch, 28, 1, 64] [1, 1, 1, 1] : tensor<?x28x1x128xbf16> to tensor<?x28x1x64xbf16>
    %92 = tensor.empty(%batch) : tensor<?x28x1x64xbf16>
    %93 = linalg.generic {
        indexing_maps = [#map13, #map5], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
        ins(%91 : tensor<?x28x1x64xbf16>) outs(%92 : tensor<?x28x1x64xbf16>) {
    ^bb0(%in: bf16, %out: bf16):
      %94 = arith.negf %in : bf16
      linalg.yield %94 : bf16
    } -> tensor<?x28x1x64xbf16>
    %95 = tensor.concat dim(3) %93, %90 : (tensor<?x28x1x64xbf16>, tensor<?x28x1x64xbf16>) -> tensor<?x28x1x128xbf16>
    %96 = tensor.empty(%batch) : tensor<?x28x1x128xbf16>
    %97 = linalg.generic {
        indexing_maps = [#map13, #map14, #map5], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
        ins(%95, %86 : tensor<?x28x1x128xbf16>, tensor<?x1x1x128xbf16>) outs(%96 : tensor<?x28x1x128xbf16>) {
    ^bb0(%in: bf16, %in_1: bf16, %out: bf16):
      %98 = arith.mulf %in, %in_1 : bf16
      linalg.yield %98 : bf16
    } -> tensor<?x28x1x128xbf16>
    %99 = tensor.empty(%batch) : tensor<?x28x1x128xbf16>
    %100 = linalg.generic {
        indexing_maps = [#map13, #map13, #map5], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
        ins(%88, %97 : tensor<?x28x1x128xbf16>, tensor<?x28x1x128xbf16>) outs(%99 : tensor<?x28x1x128xbf16>) {
    ^bb0(%in: bf16, %in_1: bf16, %out: bf16):
      %101 = arith.addf %in, %in_1 : bf16
      linalg.yield %101 : bf16
    } -> tensor<?x28x1x128xbf16>
    %102 = tensor.empty(%batch) : tensor<?x4x1x128xbf16>
    %103 = linalg.generic {
        indexing_maps = [#map13, #map14, #map5], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
        ins(%31, %82 : tensor<?x4x1x128xbf16>, tensor<?x1x1x128xbf16>) outs(%102 : tensor<?x4x1x128xbf16>) {
    ^bb0(%in: bf16, %in_1: bf16, %out: bf16):
      %104 = arith.mulf %in, %in_1 : bf16
      linalg.yield %104 : bf16
    } -> tensor<?x4x1x128xbf16>
    %105 = tensor.extract_slice %31[0, 0, 0, 0] [%batch, 4, 1, 64] [1, 1, 1, 1] : tensor<?x4x1x128xbf16> to tensor<?x4x1x64xbf16>
    %106 = tensor.extract_slice %31[0, 0, 0, 64] [%batch, 4, 1, 64] [1, 1, 1, 1] : tensor<?x4x1x128xbf16> to tensor<?x4x1x64xbf16>
    %107 = tensor.empty(%batch) : tensor<?x4x1x64xbf16>
    %108 = linalg.generic {
        indexing_maps = [#map13, #map5], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
        ins(%106 : tensor<?x4x1x64xbf16>) outs(%107 : tensor<?x4x1x64xbf16>) {
    ^bb0(%in: bf16, %out: bf16):
      %109 = arith.negf %in : bf16
      linalg.yield %109 : bf16
    } -> tensor<?x4x1x64xbf16>
    %110 = tensor.concat dim(3) %108, %105 : (tensor<?x4x1x64xbf16>, tensor<?x4x1x64xbf16>) -> tensor<?x4x1x128xbf16>
    %111 = tensor.empty(%batch) : tensor<?x4x1x128xbf16>
    %112 = linalg.generic {
        indexing_maps = [#map13, #map14, #map5], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
        ins(%110, %86 : tensor<?x4x1x128xbf16>, tensor<?x1x1x128xbf16>) outs(%111 : tensor<?x4x1x128xbf16>) {
    ^bb0(%in: bf16, %in_1: bf16, %out: bf16):
      %113 = arith.mulf %in, %in_1 : bf16
      linalg.yield %113 : bf16
    } -> tensor<?x4x1x128xbf16>
    %114 = tensor.empty(%batch) : tensor<?x4x1x128xbf16>
    %115 = linalg.generic {
        indexing_maps = [#map13, #map13, #map5], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
        ins(%103, %112 : tensor<?x4x1x128xbf16>, tensor<?x4x1x128xbf16>) outs(%114 : tensor<?x4x1x128xbf16>) {
    ^bb0(%in: bf16, %in_1: bf16, %out: bf16):
      %116 = arith.addf %in, %in_1 : bf16
      linalg.yield %116 : bf16
    } -> tensor<?x4x1x128xbf16>
    // The cache.
    %117 = arith.addi %past, %c1 : index
    %118 = tensor.concat dim(2) %past_k, %115 : (tensor<?x4x?x128xbf16>, tensor<?x4x1x128xbf16>) -> tensor<?x4x?x128xbf16>
    %119 = tensor.concat dim(2) %past_v, %47 : (tensor<?x4x?x128xbf16>, tensor<?x4x1x128xbf16>) -> tensor<?x4x?x128xbf16>
    // Attention.
    %120 = tensor.empty(%batch, %117) : tensor<?x4x7x?x128xbf16>
    %121 = linalg.broadcast ins(%118 : tensor<?x4x?x128xbf16>) outs(%120 : tensor<?x4x7x?x128xbf16>) dimensions = [2]
    %122 = tensor.collapse_shape %121 [[0], [1, 2], [3], [4]] : tensor<?x4x7x?x128xbf16> into tensor<?x28x?x128xbf16>
    %123 = tensor.empty(%batch, %117) : tensor<?x4x7x?x128xbf16>
    %124 = linalg.broadcast ins(%119 : tensor<?x4x?x128xbf16>) outs(%123 : tensor<?x4x7x?x128xbf16>) dimensions = [2]
    %125 = tensor.collapse_shape %124 [[0], [1, 2], [3], [4]] : tensor<?x4x7x?x128xbf16> into tensor<?x28x?x128xbf16>
    %126 = tensor.empty(%batch, %117) : tensor<?x28x128x?xbf16>
    %127 = linalg.transpose ins(%122 : tensor<?x28x?x128xbf16>) outs(%126 : tensor<?x28x128x?xbf16>) permutation = [0, 1, 3, 2]
    %128 = arith.muli %batch, %c28 : index
    %129 = tensor.collapse_shape %100 [[0, 1], [2], [3]] : tensor<?x28x1x128xbf16> into tensor<?x1x128xbf16>
    %130 = tensor.collapse_shape %127 [[0, 1], [2], [3]] : tensor<?x28x128x?xbf16> into tensor<?x128x?xbf16>
    %131 = tensor.empty(%128, %117) : tensor<?x1x?xf32>
    %132 = linalg.fill ins(%cst : f32) outs(%131 : tensor<?x1x?xf32>) -> tensor<?x1x?xf32>
    %133 = linalg.batch_matmul ins(%129, %130 : tensor<?x1x128xbf16>, tensor<?x128x?xbf16>) outs(%132 : tensor<?x1x?xf32>) -> tensor<?x1x?xf32>
    %134 = tensor.empty(%128, %117) : tensor<?x1x?xbf16>
    %135 = linalg.generic {
        indexing_maps = [#map11, #map1], iterator_types = ["parallel", "parallel", "parallel"]}
        ins(%133 : tensor<?x1x?xf32>) outs(%134 : tensor<?x1x?xbf16>) {
    ^bb0(%in: f32, %out: bf16):
      %136 = arith.truncf %in : f32 to bf16
      linalg.yield %136 : bf16
    } -> tensor<?x1x?xbf16>
    %137 = tensor.expand_shape %135 [[0, 1], [2], [3]] output_shape [%batch, 28, 1, %117] : tensor<?x1x?xbf16> into tensor<?x28x1x?xbf16>
    %138 = tensor.empty(%batch, %117) : tensor<?x28x1x?xbf16>
    %139 = linalg.generic {
        indexing_maps = [#map13, #map5], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
        ins(%137 : tensor<?x28x1x?xbf16>) outs(%138 : tensor<?x28x1x?xbf16>) {
    ^bb0(%in: bf16, %out: bf16):
      %140 = arith.extf %in : bf16 to f32
      %141 = arith.mulf %140, %cst_4 : f32
      %142 = arith.truncf %141 : f32 to bf16
      linalg.yield %142 : bf16
    } -> tensor<?x28x1x?xbf16>
    %143 = tensor.empty() : tensor<1xi64>
    %144 = linalg.generic {
        indexing_maps = [#map3], iterator_types = ["parallel"]}
        outs(%143 : tensor<1xi64>) {
    ^bb0(%out: i64):
      %145 = linalg.index 0 : index
      %146 = arith.addi %145, %past : index
      %147 = arith.index_cast %146 : index to i64
      linalg.yield %147 : i64
    } -> tensor<1xi64>
    %148 = tensor.empty(%117) : tensor<?xi64>
    %149 = linalg.generic {
        indexing_maps = [#map3], iterator_types = ["parallel"]}
        outs(%148 : tensor<?xi64>) {
    ^bb0(%out: i64):
      %150 = linalg.index 0 : index
      %151 = arith.index_cast %150 : index to i64
      linalg.yield %151 : i64
    } -> tensor<?xi64>
    %152 = tensor.expand_shape %144 [[0, 1]] output_shape [1, 1] : tensor<1xi64> into tensor<1x1xi64>
    %153 = tensor.empty(%117) : tensor<1x?xi1>
    %154 = linalg.generic {
        indexing_maps = [#map7, #map15, #map], iterator_types = ["parallel", "parallel"]}
        ins(%149, %152 : tensor<?xi64>, tensor<1x1xi64>) outs(%153 : tensor<1x?xi1>) {
    ^bb0(%in: i64, %in_1: i64, %out: i1):
      %155 = arith.cmpi sle, %in, %in_1 : i64
      linalg.yield %155 : i1
    } -> tensor<1x?xi1>
    %156 = tensor.empty(%batch, %117) : tensor<?x28x1x?xbf16>
    %157 = linalg.generic {
        indexing_maps = [#map13, #map16, #map5], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
        ins(%139, %154 : tensor<?x28x1x?xbf16>, tensor<1x?xi1>) outs(%156 : tensor<?x28x1x?xbf16>) {
    ^bb0(%in: bf16, %in_1: i1, %out: bf16):
      %158 = arith.select %in_1, %in, %cst_5 : bf16
      linalg.yield %158 : bf16
    } -> tensor<?x28x1x?xbf16>
    %159 = tensor.empty(%batch, %117) : tensor<?x28x1x?xf32>
    %160 = linalg.generic {
        indexing_maps = [#map13, #map5], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
        ins(%157 : tensor<?x28x1x?xbf16>) outs(%159 : tensor<?x28x1x?xf32>) {
    ^bb0(%in: bf16, %out: f32):
      %161 = arith.extf %in : bf16 to f32
      linalg.yield %161 : f32
    } -> tensor<?x28x1x?xf32>
    %162 = tensor.empty(%batch) : tensor<?x28x1x1xf32>
    %163 = linalg.fill ins(%cst_6 : f32) outs(%162 : tensor<?x28x1x1xf32>) -> tensor<?x28x1x1xf32>
    %164 = tensor.empty(%batch) : tensor<?x28x1x1xi64>
    %165 = linalg.fill ins(%c0_i64 : i64) outs(%164 : tensor<?x28x1x1xi64>) -> tensor<?x28x1x1xi64>
    %166, %167 = linalg.generic {
        indexing_maps = [#map5, #map10, #map10], iterator_types = ["parallel", "parallel", "parallel", "reduction"]}
        ins(%160 : tensor<?x28x1x?xf32>) outs(%163, %165 : tensor<?x28x1x1xf32>, tensor<?x28x1x1xi64>) {
    ^bb0(%in: f32, %out: f32, %out_1: i64):
      %168 = linalg.index 3 : index
      %169 = arith.index_cast %168 : index to i64
      %170 = arith.cmpf ogt, %in, %out : f32
      %171 = arith.maximumf %in, %out : f32
      %172 = arith.select %170, %169, %out_1 : i64
      linalg.yield %171, %172 : f32, i64
    } -> (tensor<?x28x1x1xf32>, tensor<?x28x1x1xi64>)
    %173 = tensor.empty(%batch, %117) : tensor<?x28x1x?xf32>
    %174 = linalg.generic {
        indexing_maps = [#map13, #map17, #map5], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
        ins(%160, %166 : tensor<?x28x1x?xf32>, tensor<?x28x1x1xf32>) outs(%173 : tensor<?x28x1x?xf32>) {
    ^bb0(%in: f32, %in_1: f32, %out: f32):
      %175 = arith.subf %in, %in_1 : f32
      linalg.yield %175 : f32
    } -> tensor<?x28x1x?xf32>
    %176 = tensor.empty(%batch, %117) : tensor<?x28x1x?xf32>
    %177 = linalg.generic {
        indexing_maps = [#map13, #map5], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
        ins(%174 : tensor<?x28x1x?xf32>) outs(%176 : tensor<?x28x1x?xf32>) {
    ^bb0(%in: f32, %out: f32):
      %178 = math.exp %in : f32
      linalg.yield %178 : f32
    } -> tensor<?x28x1x?xf32>
    %179 = tensor.empty(%batch) : tensor<?x28x1x1xf32>
    %180 = linalg.fill ins(%cst : f32) outs(%179 : tensor<?x28x1x1xf32>) -> tensor<?x28x1x1xf32>
    %181 = linalg.generic {
        indexing_maps = [#map5, #map10], iterator_types = ["parallel", "parallel", "parallel", "reduction"]}
        ins(%177 : tensor<?x28x1x?xf32>) outs(%180 : tensor<?x28x1x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      %182 = arith.addf %in, %out : f32
      linalg.yield %182 : f32
    } -> tensor<?x28x1x1xf32>
    %183 = tensor.empty(%batch, %117) : tensor<?x28x1x?xf32>
    %184 = linalg.generic {
        indexing_maps = [#map13, #map17, #map5], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
        ins(%177, %181 : tensor<?x28x1x?xf32>, tensor<?x28x1x1xf32>) outs(%183 : tensor<?x28x1x?xf32>) {
    ^bb0(%in: f32, %in_1: f32, %out: f32):
      %185 = arith.divf %in, %in_1 : f32
      linalg.yield %185 : f32
    } -> tensor<?x28x1x?xf32>
    %186 = tensor.empty(%batch, %117) : tensor<?x28x1x?xbf16>
    %187 = linalg.generic {
        indexing_maps = [#map13, #map5], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
        ins(%184 : tensor<?x28x1x?xf32>) outs(%186 : tensor<?x28x1x?xbf16>) {
    ^bb0(%in: f32, %out: bf16):
      %188 = arith.truncf %in : f32 to bf16
      linalg.yield %188 : bf16
    } -> tensor<?x28x1x?xbf16>
    %189 = tensor.collapse_shape %187 [[0, 1], [2], [3]] : tensor<?x28x1x?xbf16> into tensor<?x1x?xbf16>
    %190 = tensor.collapse_shape %125 [[0, 1], [2], [3]] : tensor<?x28x?x128xbf16> into tensor<?x?x128xbf16>
    %191 = tensor.empty(%128) : tensor<?x1x128xf32>
    %192 = linalg.fill ins(%cst : f32) outs(%191 : tensor<?x1x128xf32>) -> tensor<?x1x128xf32>
    %193 = linalg.batch_matmul ins(%189, %190 : tensor<?x1x?xbf16>, tensor<?x?x128xbf16>) outs(%192 : tensor<?x1x128xf32>) -> tensor<?x1x128xf32>
    %194 = tensor.empty(%128) : tensor<?x1x128xbf16>
    %195 = linalg.generic {
        indexing_maps = [#map11, #map1], iterator_types = ["parallel", "parallel", "parallel"]}
        ins(%193 : tensor<?x1x128xf32>) outs(%194 : tensor<?x1x128xbf16>) {
    ^bb0(%in: f32, %out: bf16):
      %196 = arith.truncf %in : f32 to bf16
      linalg.yield %196 : bf16
    } -> tensor<?x1x128xbf16>
    %197 = tensor.expand_shape %195 [[0, 1], [2], [3]] output_shape [%batch, 28, 1, 128] : tensor<?x1x128xbf16> into tensor<?x28x1x128xbf16>
    %198 = tensor.empty(%batch) : tensor<?x1x28x128xbf16>
    %199 = linalg.transpose ins(%197 : tensor<?x28x1x128xbf16>) outs(%198 : tensor<?x1x28x128xbf16>) permutation = [0, 2, 1, 3]
    %200 = tensor.collapse_shape %199 [[0], [1], [2, 3]] : tensor<?x1x28x128xbf16> into tensor<?x1x3584xbf16>
    %201 = tensor.collapse_shape %200 [[0, 1], [2]] : tensor<?x1x3584xbf16> into tensor<?x3584xbf16>
    %202 = tensor.empty() : tensor<3584x3584xbf16>
    %203 = linalg.transpose ins(%wo : tensor<3584x3584xbf16>) outs(%202 : tensor<3584x3584xbf16>) permutation = [1, 0]
    %204 = tensor.empty(%batch) : tensor<?x3584xf32>
    %205 = linalg.fill ins(%cst : f32) outs(%204 : tensor<?x3584xf32>) -> tensor<?x3584xf32>
    %206 = linalg.matmul ins(%201, %203 : tensor<?x3584xbf16>, tensor<3584x3584xbf16>) outs(%205 : tensor<?x3584xf32>) -> tensor<?x3584xf32>
    %207 = tensor.empty(%batch) : tensor<?x3584xbf16>
    %208 = linalg.generic {
        indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel"]}
        ins(%206 : tensor<?x3584xf32>) outs(%207 : tensor<?x3584xbf16>) {
    ^bb0(%in: f32, %out: bf16):
      %209 = arith.truncf %in : f32 to bf16
      linalg.yield %209 : bf16
    } -> tensor<?x3584xbf16>
    %210 = tensor.expand_shape %208 [[0, 1], [2]] output_shape [%batch, 1, 3584] : tensor<?x3584xbf16> into tensor<?x1x3584xbf16>
    return %210, %118, %119 : tensor<?x1x3584xbf16>, tensor<?x4x?x128xbf16>, tensor<?x4x?x128xbf16>
  }
}
