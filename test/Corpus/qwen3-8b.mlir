// The attention of one layer of Qwen 3 8B (arXiv:2505.09388).
// Made by test/Corpus/generate.py.

#map = affine_map<(d0, d1, d2) -> (d0, d2)>
#map1 = affine_map<(d0, d1, d2) -> (d1, d2)>
#map2 = affine_map<(d0, d1, d2) -> (d0, d1)>
#map3 = affine_map<(d0, d1) -> (d0, d1)>
#map4 = affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>
#map5 = affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, 0)>
#map6 = affine_map<(d0, d1, d2, d3) -> (d3)>
#map7 = affine_map<(d0, d1, d2) -> (d0, d1, d2)>
#map8 = affine_map<(d0, d1, d2, d3) -> (d0, 0, d2, d3)>
#map9 = affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, 0, d3, d4)>
#map10 = affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>
#map11 = affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d4)>
#map12 = affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d3, d4)>
#map13 = affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3)>
#map14 = affine_map<(d0) -> (d0)>
#map15 = affine_map<(d0, d1, d2) -> (d2)>
#map16 = affine_map<(d0, d1, d2) -> (d0, d1, 0)>
#map17 = affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d4, d3)>
#map18 = affine_map<(d0, d1, d2, d3) -> (d0, 0, d2, 0)>
#map19 = affine_map<(d0, d1) -> (d0, 0)>
#map20 = affine_map<(d0, d1, d2) -> (d0, 0, d2)>
#map21 = affine_map<(d0, d1, d2, d3) -> (d0, d1, 0, d3)>
#map22 = affine_map<(d0, d1, d2, d3) -> (d0, 0, 0, d3)>
#map23 = affine_map<(d0, d1, d2) -> (d0, 0, 0)>
#map24 = affine_map<(d0, d1, d2, d3) -> (d0, d1, 0, 0)>
module {
  func.func @prefill(%x: tensor<?x?x4096xbf16>,
                     %position_ids: tensor<?x?xi64> {kvc.positions},
                     %wq: tensor<4096x4096xbf16>,
                     %wk: tensor<1024x4096xbf16>,
                     %wv: tensor<1024x4096xbf16>,
                     %wo: tensor<4096x4096xbf16>,
                     %q_norm: tensor<128xbf16>,
                     %k_norm: tensor<128xbf16>,
                     %inv_freq: tensor<64xf32>)
      -> (tensor<?x?x4096xbf16>,
          tensor<?x8x?x128xbf16> {kvc.cache = "k"},
          tensor<?x8x?x128xbf16> {kvc.cache = "v"}) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %cst = arith.constant 0.0 : f32
    %cst_1 = arith.constant 128.0 : f32
    %cst_2 = arith.constant 1.0e-06 : f32
    %cst_3 = arith.constant 0.0 : bf16
    %cst_4 = arith.constant -3.38953139e+38 : bf16
    %cst_5 = arith.constant 0.0883883476 : f32
    %cst_6 = arith.constant 0xFF800000 : f32
    %batch = tensor.dim %x, %c0 : tensor<?x?x4096xbf16>
    %tokens = tensor.dim %x, %c1 : tensor<?x?x4096xbf16>
    // Queries, keys and values, by heads; each head's rows are normalized.
    %0 = arith.muli %batch, %tokens : index
    %1 = tensor.collapse_shape %x [[0, 1], [2]] : tensor<?x?x4096xbf16> into tensor<?x4096xbf16>
    %2 = tensor.empty(%0) : tensor<?x4096xf32>
    %3 = linalg.fill ins(%cst : f32) outs(%2 : tensor<?x4096xf32>) -> tensor<?x4096xf32>
    %4 = linalg.matmul indexing_maps = [#map, #map1, #map2] ins(%1, %wq : tensor<?x4096xbf16>, tensor<4096x4096xbf16>) outs(%3 : tensor<?x4096xf32>) -> tensor<?x4096xf32>
    %5 = tensor.empty(%0) : tensor<?x4096xbf16>
    %6 = linalg.generic {
        indexing_maps = [#map3, #map3], iterator_types = ["parallel", "parallel"]}
        ins(%4 : tensor<?x4096xf32>) outs(%5 : tensor<?x4096xbf16>) {
    ^bb0(%in: f32, %out: bf16):
      %7 = arith.truncf %in : f32 to bf16
      linalg.yield %7 : bf16
    } -> tensor<?x4096xbf16>
    %8 = tensor.expand_shape %6 [[0, 1], [2]] output_shape [%batch, %tokens, 4096] : tensor<?x4096xbf16> into tensor<?x?x4096xbf16>
    %9 = tensor.expand_shape %8 [[0], [1], [2, 3]] output_shape [%batch, %tokens, 32, 128] : tensor<?x?x4096xbf16> into tensor<?x?x32x128xbf16>
    %10 = tensor.collapse_shape %x [[0, 1], [2]] : tensor<?x?x4096xbf16> into tensor<?x4096xbf16>
    %11 = tensor.empty(%0) : tensor<?x1024xf32>
    %12 = linalg.fill ins(%cst : f32) outs(%11 : tensor<?x1024xf32>) -> tensor<?x1024xf32>
    %13 = linalg.matmul indexing_maps = [#map, #map1, #map2] ins(%10, %wk : tensor<?x4096xbf16>, tensor<1024x4096xbf16>) outs(%12 : tensor<?x1024xf32>) -> tensor<?x1024xf32>
    %14 = tensor.empty(%0) : tensor<?x1024xbf16>
    %15 = linalg.generic {
        indexing_maps = [#map3, #map3], iterator_types = ["parallel", "parallel"]}
        ins(%13 : tensor<?x1024xf32>) outs(%14 : tensor<?x1024xbf16>) {
    ^bb0(%in: f32, %out: bf16):
      %16 = arith.truncf %in : f32 to bf16
      linalg.yield %16 : bf16
    } -> tensor<?x1024xbf16>
    %17 = tensor.expand_shape %15 [[0, 1], [2]] output_shape [%batch, %tokens, 1024] : tensor<?x1024xbf16> into tensor<?x?x1024xbf16>
    %18 = tensor.expand_shape %17 [[0], [1], [2, 3]] output_shape [%batch, %tokens, 8, 128] : tensor<?x?x1024xbf16> into tensor<?x?x8x128xbf16>
    %19 = tensor.empty(%batch, %tokens) : tensor<?x?x32x128xf32>
    %20 = linalg.generic {
        indexing_maps = [#map4, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
        ins(%9 : tensor<?x?x32x128xbf16>) outs(%19 : tensor<?x?x32x128xf32>) {
    ^bb0(%in: bf16, %out: f32):
      %21 = arith.extf %in : bf16 to f32
      linalg.yield %21 : f32
    } -> tensor<?x?x32x128xf32>
    %22 = tensor.empty(%batch, %tokens) : tensor<?x?x32x128xf32>
    %23 = linalg.generic {
        indexing_maps = [#map4, #map4, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
        ins(%20, %20 : tensor<?x?x32x128xf32>, tensor<?x?x32x128xf32>) outs(%22 : tensor<?x?x32x128xf32>) {
    ^bb0(%in: f32, %in_1: f32, %out: f32):
      %24 = arith.mulf %in, %in_1 : f32
      linalg.yield %24 : f32
    } -> tensor<?x?x32x128xf32>
    %25 = tensor.empty(%batch, %tokens) : tensor<?x?x32x1xf32>
    %26 = linalg.fill ins(%cst : f32) outs(%25 : tensor<?x?x32x1xf32>) -> tensor<?x?x32x1xf32>
    %27 = linalg.generic {
        indexing_maps = [#map4, #map5], iterator_types = ["parallel", "parallel", "parallel", "reduction"]}
        ins(%23 : tensor<?x?x32x128xf32>) outs(%26 : tensor<?x?x32x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      %28 = arith.addf %in, %out : f32
      linalg.yield %28 : f32
    } -> tensor<?x?x32x1xf32>
    %29 = tensor.empty(%batch, %tokens) : tensor<?x?x32x1xf32>
    %30 = linalg.generic {
        indexing_maps = [#map5, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
        ins(%27 : tensor<?x?x32x1xf32>) outs(%29 : tensor<?x?x32x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      %31 = arith.divf %in, %cst_1 : f32
      linalg.yield %31 : f32
    } -> tensor<?x?x32x1xf32>
    %32 = tensor.empty(%batch, %tokens) : tensor<?x?x32x1xf32>
    %33 = linalg.generic {
        indexing_maps = [#map5, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
        ins(%30 : tensor<?x?x32x1xf32>) outs(%32 : tensor<?x?x32x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      %34 = arith.addf %in, %cst_2 : f32
      linalg.yield %34 : f32
    } -> tensor<?x?x32x1xf32>
    %35 = tensor.empty(%batch, %tokens) : tensor<?x?x32x1xf32>
    %36 = linalg.generic {
        indexing_maps = [#map5, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
        ins(%33 : tensor<?x?x32x1xf32>) outs(%35 : tensor<?x?x32x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      %37 = math.rsqrt %in : f32
      linalg.yield %37 : f32
    } -> tensor<?x?x32x1xf32>
    %38 = tensor.empty(%batch, %tokens) : tensor<?x?x32x128xf32>
    %39 = linalg.generic {
        indexing_maps = [#map4, #map5, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
        ins(%20, %36 : tensor<?x?x32x128xf32>, tensor<?x?x32x1xf32>) outs(%38 : tensor<?x?x32x128xf32>) {
    ^bb0(%in: f32, %in_1: f32, %out: f32):
      %40 = arith.mulf %in, %in_1 : f32
      linalg.yield %40 : f32
    } -> tensor<?x?x32x128xf32>
    %41 = tensor.empty(%batch, %tokens) : tensor<?x?x32x128xbf16>
    %42 = linalg.generic {
        indexing_maps = [#map4, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
        ins(%39 : tensor<?x?x32x128xf32>) outs(%41 : tensor<?x?x32x128xbf16>) {
    ^bb0(%in: f32, %out: bf16):
      %43 = arith.truncf %in : f32 to bf16
      linalg.yield %43 : bf16
    } -> tensor<?x?x32x128xbf16>
    %44 = tensor.empty(%batch, %tokens) : tensor<?x?x32x128xbf16>
    %45 = linalg.generic {
        indexing_maps = [#map6, #map4, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
        ins(%q_norm, %42 : tensor<128xbf16>, tensor<?x?x32x128xbf16>) outs(%44 : tensor<?x?x32x128xbf16>) {
    ^bb0(%in: bf16, %in_1: bf16, %out: bf16):
      %46 = arith.mulf %in, %in_1 : bf16
      linalg.yield %46 : bf16
    } -> tensor<?x?x32x128xbf16>
    %47 = tensor.empty(%batch, %tokens) : tensor<?x32x?x128xbf16>
    %48 = linalg.transpose ins(%45 : tensor<?x?x32x128xbf16>) outs(%47 : tensor<?x32x?x128xbf16>) permutation = [0, 2, 1, 3]
    %49 = tensor.empty(%batch, %tokens) : tensor<?x?x8x128xf32>
    %50 = linalg.generic {
        indexing_maps = [#map4, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
        ins(%18 : tensor<?x?x8x128xbf16>) outs(%49 : tensor<?x?x8x128xf32>) {
    ^bb0(%in: bf16, %out: f32):
      %51 = arith.extf %in : bf16 to f32
      linalg.yield %51 : f32
    } -> tensor<?x?x8x128xf32>
    %52 = tensor.empty(%batch, %tokens) : tensor<?x?x8x128xf32>
    %53 = linalg.generic {
        indexing_maps = [#map4, #map4, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
        ins(%50, %50 : tensor<?x?x8x128xf32>, tensor<?x?x8x128xf32>) outs(%52 : tensor<?x?x8x128xf32>) {
    ^bb0(%in: f32, %in_1: f32, %out: f32):
      %54 = arith.mulf %in, %in_1 : f32
      linalg.yield %54 : f32
    } -> tensor<?x?x8x128xf32>
    %55 = tensor.empty(%batch, %tokens) : tensor<?x?x8x1xf32>
    %56 = linalg.fill ins(%cst : f32) outs(%55 : tensor<?x?x8x1xf32>) -> tensor<?x?x8x1xf32>
    %57 = linalg.generic {
        indexing_maps = [#map4, #map5], iterator_types = ["parallel", "parallel", "parallel", "reduction"]}
        ins(%53 : tensor<?x?x8x128xf32>) outs(%56 : tensor<?x?x8x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      %58 = arith.addf %in, %out : f32
      linalg.yield %58 : f32
    } -> tensor<?x?x8x1xf32>
    %59 = tensor.empty(%batch, %tokens) : tensor<?x?x8x1xf32>
    %60 = linalg.generic {
        indexing_maps = [#map5, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
        ins(%57 : tensor<?x?x8x1xf32>) outs(%59 : tensor<?x?x8x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      %61 = arith.divf %in, %cst_1 : f32
      linalg.yield %61 : f32
    } -> tensor<?x?x8x1xf32>
    %62 = tensor.empty(%batch, %tokens) : tensor<?x?x8x1xf32>
    %63 = linalg.generic {
        indexing_maps = [#map5, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
        ins(%60 : tensor<?x?x8x1xf32>) outs(%62 : tensor<?x?x8x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      %64 = arith.addf %in, %cst_2 : f32
      linalg.yield %64 : f32
    } -> tensor<?x?x8x1xf32>
    %65 = tensor.empty(%batch, %tokens) : tensor<?x?x8x1xf32>
    %66 = linalg.generic {
        indexing_maps = [#map5, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
        ins(%63 : tensor<?x?x8x1xf32>) outs(%65 : tensor<?x?x8x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      %67 = math.rsqrt %in : f32
      linalg.yield %67 : f32
    } -> tensor<?x?x8x1xf32>
    %68 = tensor.empty(%batch, %tokens) : tensor<?x?x8x128xf32>
    %69 = linalg.generic {
        indexing_maps = [#map4, #map5, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
        ins(%50, %66 : tensor<?x?x8x128xf32>, tensor<?x?x8x1xf32>) outs(%68 : tensor<?x?x8x128xf32>) {
    ^bb0(%in: f32, %in_1: f32, %out: f32):
      %70 = arith.mulf %in, %in_1 : f32
      linalg.yield %70 : f32
    } -> tensor<?x?x8x128xf32>
    %71 = tensor.empty(%batch, %tokens) : tensor<?x?x8x128xbf16>
    %72 = linalg.generic {
        indexing_maps = [#map4, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
        ins(%69 : tensor<?x?x8x128xf32>) outs(%71 : tensor<?x?x8x128xbf16>) {
    ^bb0(%in: f32, %out: bf16):
      %73 = arith.truncf %in : f32 to bf16
      linalg.yield %73 : bf16
    } -> tensor<?x?x8x128xbf16>
    %74 = tensor.empty(%batch, %tokens) : tensor<?x?x8x128xbf16>
    %75 = linalg.generic {
        indexing_maps = [#map6, #map4, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
        ins(%k_norm, %72 : tensor<128xbf16>, tensor<?x?x8x128xbf16>) outs(%74 : tensor<?x?x8x128xbf16>) {
    ^bb0(%in: bf16, %in_1: bf16, %out: bf16):
      %76 = arith.mulf %in, %in_1 : bf16
      linalg.yield %76 : bf16
    } -> tensor<?x?x8x128xbf16>
    %77 = tensor.empty(%batch, %tokens) : tensor<?x8x?x128xbf16>
    %78 = linalg.transpose ins(%75 : tensor<?x?x8x128xbf16>) outs(%77 : tensor<?x8x?x128xbf16>) permutation = [0, 2, 1, 3]
    %79 = tensor.collapse_shape %x [[0, 1], [2]] : tensor<?x?x4096xbf16> into tensor<?x4096xbf16>
    %80 = tensor.empty(%0) : tensor<?x1024xf32>
    %81 = linalg.fill ins(%cst : f32) outs(%80 : tensor<?x1024xf32>) -> tensor<?x1024xf32>
    %82 = linalg.matmul indexing_maps = [#map, #map1, #map2] ins(%79, %wv : tensor<?x4096xbf16>, tensor<1024x4096xbf16>) outs(%81 : tensor<?x1024xf32>) -> tensor<?x1024xf32>
    %83 = tensor.empty(%0) : tensor<?x1024xbf16>
    %84 = linalg.generic {
        indexing_maps = [#map3, #map3], iterator_types = ["parallel", "parallel"]}
        ins(%82 : tensor<?x1024xf32>) outs(%83 : tensor<?x1024xbf16>) {
    ^bb0(%in: f32, %out: bf16):
      %85 = arith.truncf %in : f32 to bf16
      linalg.yield %85 : bf16
    } -> tensor<?x1024xbf16>
    %86 = tensor.expand_shape %84 [[0, 1], [2]] output_shape [%batch, %tokens, 1024] : tensor<?x1024xbf16> into tensor<?x?x1024xbf16>
    %87 = tensor.expand_shape %86 [[0], [1], [2, 3]] output_shape [%batch, %tokens, 8, 128] : tensor<?x?x1024xbf16> into tensor<?x?x8x128xbf16>
    %88 = tensor.empty(%batch, %tokens) : tensor<?x8x?x128xbf16>
    %89 = linalg.transpose ins(%87 : tensor<?x?x8x128xbf16>) outs(%88 : tensor<?x8x?x128xbf16>) permutation = [0, 2, 1, 3]
    // Rotary embedding, with frequencies from outside.
    %90 = tensor.expand_shape %inv_freq [[0, 1]] output_shape [64, 1] : tensor<64xf32> into tensor<64x1xf32>
    %91 = tensor.empty(%batch) : tensor<?x64x1xf32>
    %92 = linalg.broadcast ins(%90 : tensor<64x1xf32>) outs(%91 : tensor<?x64x1xf32>) dimensions = [0]
    %93 = tensor.empty(%batch, %tokens) : tensor<?x?xf32>
    %94 = linalg.generic {
        indexing_maps = [#map3, #map3], iterator_types = ["parallel", "parallel"]}
        ins(%position_ids : tensor<?x?xi64>) outs(%93 : tensor<?x?xf32>) {
    ^bb0(%in: i64, %out: f32):
      %95 = arith.sitofp %in : i64 to f32
      linalg.yield %95 : f32
    } -> tensor<?x?xf32>
    %96 = tensor.expand_shape %94 [[0], [1, 2]] output_shape [%batch, 1, %tokens] : tensor<?x?xf32> into tensor<?x1x?xf32>
    %97 = tensor.empty(%batch, %tokens) : tensor<?x64x?xf32>
    %98 = linalg.fill ins(%cst : f32) outs(%97 : tensor<?x64x?xf32>) -> tensor<?x64x?xf32>
    %99 = linalg.batch_matmul ins(%92, %96 : tensor<?x64x1xf32>, tensor<?x1x?xf32>) outs(%98 : tensor<?x64x?xf32>) -> tensor<?x64x?xf32>
    %100 = tensor.empty(%batch, %tokens) : tensor<?x?x64xf32>
    %101 = linalg.transpose ins(%99 : tensor<?x64x?xf32>) outs(%100 : tensor<?x?x64xf32>) permutation = [0, 2, 1]
    %102 = tensor.concat dim(2) %101, %101 : (tensor<?x?x64xf32>, tensor<?x?x64xf32>) -> tensor<?x?x128xf32>
    %103 = tensor.empty(%batch, %tokens) : tensor<?x?x128xf32>
    %104 = linalg.generic {
        indexing_maps = [#map7, #map7], iterator_types = ["parallel", "parallel", "parallel"]}
        ins(%102 : tensor<?x?x128xf32>) outs(%103 : tensor<?x?x128xf32>) {
    ^bb0(%in: f32, %out: f32):
      %105 = math.cos %in : f32
      linalg.yield %105 : f32
    } -> tensor<?x?x128xf32>
    %106 = tensor.empty(%batch, %tokens) : tensor<?x?x128xf32>
    %107 = linalg.generic {
        indexing_maps = [#map7, #map7], iterator_types = ["parallel", "parallel", "parallel"]}
        ins(%102 : tensor<?x?x128xf32>) outs(%106 : tensor<?x?x128xf32>) {
    ^bb0(%in: f32, %out: f32):
      %108 = math.sin %in : f32
      linalg.yield %108 : f32
    } -> tensor<?x?x128xf32>
    %109 = tensor.empty(%batch, %tokens) : tensor<?x?x128xbf16>
    %110 = linalg.generic {
        indexing_maps = [#map7, #map7], iterator_types = ["parallel", "parallel", "parallel"]}
        ins(%104 : tensor<?x?x128xf32>) outs(%109 : tensor<?x?x128xbf16>) {
    ^bb0(%in: f32, %out: bf16):
      %111 = arith.truncf %in : f32 to bf16
      linalg.yield %111 : bf16
    } -> tensor<?x?x128xbf16>
    %112 = tensor.expand_shape %110 [[0], [1, 2], [3]] output_shape [%batch, 1, %tokens, 128] : tensor<?x?x128xbf16> into tensor<?x1x?x128xbf16>
    %113 = tensor.empty(%batch, %tokens) : tensor<?x?x128xbf16>
    %114 = linalg.generic {
        indexing_maps = [#map7, #map7], iterator_types = ["parallel", "parallel", "parallel"]}
        ins(%107 : tensor<?x?x128xf32>) outs(%113 : tensor<?x?x128xbf16>) {
    ^bb0(%in: f32, %out: bf16):
      %115 = arith.truncf %in : f32 to bf16
      linalg.yield %115 : bf16
    } -> tensor<?x?x128xbf16>
    %116 = tensor.expand_shape %114 [[0], [1, 2], [3]] output_shape [%batch, 1, %tokens, 128] : tensor<?x?x128xbf16> into tensor<?x1x?x128xbf16>
    %117 = tensor.empty(%batch, %tokens) : tensor<?x32x?x128xbf16>
    %118 = linalg.generic {
        indexing_maps = [#map4, #map8, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
        ins(%48, %112 : tensor<?x32x?x128xbf16>, tensor<?x1x?x128xbf16>) outs(%117 : tensor<?x32x?x128xbf16>) {
    ^bb0(%in: bf16, %in_1: bf16, %out: bf16):
      %119 = arith.mulf %in, %in_1 : bf16
      linalg.yield %119 : bf16
    } -> tensor<?x32x?x128xbf16>
    %120 = tensor.extract_slice %48[0, 0, 0, 0] [%batch, 32, %tokens, 64] [1, 1, 1, 1] : tensor<?x32x?x128xbf16> to tensor<?x32x?x64xbf16>
    %121 = tensor.extract_slice %48[0, 0, 0, 64] [%batch, 32, %tokens, 64] [1, 1, 1, 1] : tensor<?x32x?x128xbf16> to tensor<?x32x?x64xbf16>
    %122 = tensor.empty(%batch, %tokens) : tensor<?x32x?x64xbf16>
    %123 = linalg.generic {
        indexing_maps = [#map4, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
        ins(%121 : tensor<?x32x?x64xbf16>) outs(%122 : tensor<?x32x?x64xbf16>) {
    ^bb0(%in: bf16, %out: bf16):
      %124 = arith.negf %in : bf16
      linalg.yield %124 : bf16
    } -> tensor<?x32x?x64xbf16>
    %125 = tensor.concat dim(3) %123, %120 : (tensor<?x32x?x64xbf16>, tensor<?x32x?x64xbf16>) -> tensor<?x32x?x128xbf16>
    %126 = tensor.empty(%batch, %tokens) : tensor<?x32x?x128xbf16>
    %127 = linalg.generic {
        indexing_maps = [#map4, #map8, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
        ins(%125, %116 : tensor<?x32x?x128xbf16>, tensor<?x1x?x128xbf16>) outs(%126 : tensor<?x32x?x128xbf16>) {
    ^bb0(%in: bf16, %in_1: bf16, %out: bf16):
      %128 = arith.mulf %in, %in_1 : bf16
      linalg.yield %128 : bf16
    } -> tensor<?x32x?x128xbf16>
    %129 = tensor.empty(%batch, %tokens) : tensor<?x32x?x128xbf16>
    %130 = linalg.generic {
        indexing_maps = [#map4, #map4, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
        ins(%118, %127 : tensor<?x32x?x128xbf16>, tensor<?x32x?x128xbf16>) outs(%129 : tensor<?x32x?x128xbf16>) {
    ^bb0(%in: bf16, %in_1: bf16, %out: bf16):
      %131 = arith.addf %in, %in_1 : bf16
      linalg.yield %131 : bf16
    } -> tensor<?x32x?x128xbf16>
    %132 = tensor.empty(%batch, %tokens) : tensor<?x8x?x128xbf16>
    %133 = linalg.generic {
        indexing_maps = [#map4, #map8, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
        ins(%78, %112 : tensor<?x8x?x128xbf16>, tensor<?x1x?x128xbf16>) outs(%132 : tensor<?x8x?x128xbf16>) {
    ^bb0(%in: bf16, %in_1: bf16, %out: bf16):
      %134 = arith.mulf %in, %in_1 : bf16
      linalg.yield %134 : bf16
    } -> tensor<?x8x?x128xbf16>
    %135 = tensor.extract_slice %78[0, 0, 0, 0] [%batch, 8, %tokens, 64] [1, 1, 1, 1] : tensor<?x8x?x128xbf16> to tensor<?x8x?x64xbf16>
    %136 = tensor.extract_slice %78[0, 0, 0, 64] [%batch, 8, %tokens, 64] [1, 1, 1, 1] : tensor<?x8x?x128xbf16> to tensor<?x8x?x64xbf16>
    %137 = tensor.empty(%batch, %tokens) : tensor<?x8x?x64xbf16>
    %138 = linalg.generic {
        indexing_maps = [#map4, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
        ins(%136 : tensor<?x8x?x64xbf16>) outs(%137 : tensor<?x8x?x64xbf16>) {
    ^bb0(%in: bf16, %out: bf16):
      %139 = arith.negf %in : bf16
      linalg.yield %139 : bf16
    } -> tensor<?x8x?x64xbf16>
    %140 = tensor.concat dim(3) %138, %135 : (tensor<?x8x?x64xbf16>, tensor<?x8x?x64xbf16>) -> tensor<?x8x?x128xbf16>
    %141 = tensor.empty(%batch, %tokens) : tensor<?x8x?x128xbf16>
    %142 = linalg.generic {
        indexing_maps = [#map4, #map8, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
        ins(%140, %116 : tensor<?x8x?x128xbf16>, tensor<?x1x?x128xbf16>) outs(%141 : tensor<?x8x?x128xbf16>) {
    ^bb0(%in: bf16, %in_1: bf16, %out: bf16):
      %143 = arith.mulf %in, %in_1 : bf16
      linalg.yield %143 : bf16
    } -> tensor<?x8x?x128xbf16>
    %144 = tensor.empty(%batch, %tokens) : tensor<?x8x?x128xbf16>
    %145 = linalg.generic {
        indexing_maps = [#map4, #map4, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
        ins(%133, %142 : tensor<?x8x?x128xbf16>, tensor<?x8x?x128xbf16>) outs(%144 : tensor<?x8x?x128xbf16>) {
    ^bb0(%in: bf16, %in_1: bf16, %out: bf16):
      %146 = arith.addf %in, %in_1 : bf16
      linalg.yield %146 : bf16
    } -> tensor<?x8x?x128xbf16>
    // The cache.
    // Attention; the mask compares the positions given.
    %147 = tensor.expand_shape %145 [[0], [1], [2, 3], [4]] output_shape [%batch, 8, 1, %tokens, 128] : tensor<?x8x?x128xbf16> into tensor<?x8x1x?x128xbf16>
    %148 = tensor.empty(%batch, %tokens) : tensor<?x8x4x?x128xbf16>
    %149 = linalg.generic {
        indexing_maps = [#map9, #map10], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]}
        ins(%147 : tensor<?x8x1x?x128xbf16>) outs(%148 : tensor<?x8x4x?x128xbf16>) {
    ^bb0(%in: bf16, %out: bf16):
      linalg.yield %in : bf16
    } -> tensor<?x8x4x?x128xbf16>
    %150 = tensor.collapse_shape %149 [[0], [1, 2], [3], [4]] : tensor<?x8x4x?x128xbf16> into tensor<?x32x?x128xbf16>
    %151 = tensor.expand_shape %89 [[0], [1], [2, 3], [4]] output_shape [%batch, 8, 1, %tokens, 128] : tensor<?x8x?x128xbf16> into tensor<?x8x1x?x128xbf16>
    %152 = tensor.empty(%batch, %tokens) : tensor<?x8x4x?x128xbf16>
    %153 = linalg.generic {
        indexing_maps = [#map9, #map10], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]}
        ins(%151 : tensor<?x8x1x?x128xbf16>) outs(%152 : tensor<?x8x4x?x128xbf16>) {
    ^bb0(%in: bf16, %out: bf16):
      linalg.yield %in : bf16
    } -> tensor<?x8x4x?x128xbf16>
    %154 = tensor.collapse_shape %153 [[0], [1, 2], [3], [4]] : tensor<?x8x4x?x128xbf16> into tensor<?x32x?x128xbf16>
    %155 = tensor.empty(%batch, %tokens, %tokens) : tensor<?x32x?x?xf32>
    %156 = linalg.fill ins(%cst : f32) outs(%155 : tensor<?x32x?x?xf32>) -> tensor<?x32x?x?xf32>
    %157 = linalg.generic {
        indexing_maps = [#map11, #map12, #map13], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]}
        ins(%130, %150 : tensor<?x32x?x128xbf16>, tensor<?x32x?x128xbf16>) outs(%156 : tensor<?x32x?x?xf32>) {
    ^bb0(%in: bf16, %in_1: bf16, %out: f32):
      %158 = arith.extf %in : bf16 to f32
      %159 = arith.extf %in_1 : bf16 to f32
      %160 = arith.mulf %158, %159 : f32
      %161 = arith.addf %out, %160 : f32
      linalg.yield %161 : f32
    } -> tensor<?x32x?x?xf32>
    %162 = tensor.empty(%batch, %tokens, %tokens) : tensor<?x32x?x?xbf16>
    %163 = linalg.generic {
        indexing_maps = [#map4, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
        ins(%157 : tensor<?x32x?x?xf32>) outs(%162 : tensor<?x32x?x?xbf16>) {
    ^bb0(%in: f32, %out: bf16):
      %164 = arith.truncf %in : f32 to bf16
      linalg.yield %164 : bf16
    } -> tensor<?x32x?x?xbf16>
    %165 = tensor.empty(%tokens) : tensor<?xi64>
    %166 = linalg.generic {
        indexing_maps = [#map14], iterator_types = ["parallel"]}
        outs(%165 : tensor<?xi64>) {
    ^bb0(%out: i64):
      %167 = linalg.index 0 : index
      %168 = arith.index_cast %167 : index to i64
      linalg.yield %168 : i64
    } -> tensor<?xi64>
    %169 = tensor.expand_shape %position_ids [[0], [1, 2]] output_shape [%batch, %tokens, 1] : tensor<?x?xi64> into tensor<?x?x1xi64>
    %170 = tensor.empty(%batch, %tokens, %tokens) : tensor<?x?x?xi1>
    %171 = linalg.generic {
        indexing_maps = [#map15, #map16, #map7], iterator_types = ["parallel", "parallel", "parallel"]}
        ins(%166, %169 : tensor<?xi64>, tensor<?x?x1xi64>) outs(%170 : tensor<?x?x?xi1>) {
    ^bb0(%in: i64, %in_1: i64, %out: i1):
      %172 = arith.cmpi sle, %in, %in_1 : i64
      linalg.yield %172 : i1
    } -> tensor<?x?x?xi1>
    %173 = tensor.empty(%batch, %tokens, %tokens) : tensor<?x?x?xbf16>
    %174 = linalg.generic {
        indexing_maps = [#map7, #map7], iterator_types = ["parallel", "parallel", "parallel"]}
        ins(%171 : tensor<?x?x?xi1>) outs(%173 : tensor<?x?x?xbf16>) {
    ^bb0(%in: i1, %out: bf16):
      %175 = arith.select %in, %cst_3, %cst_4 : bf16
      linalg.yield %175 : bf16
    } -> tensor<?x?x?xbf16>
    %176 = tensor.expand_shape %174 [[0], [1, 2], [3]] output_shape [%batch, 1, %tokens, %tokens] : tensor<?x?x?xbf16> into tensor<?x1x?x?xbf16>
    %177 = tensor.empty(%batch, %tokens, %tokens) : tensor<?x32x?x?xbf16>
    %178 = linalg.generic {
        indexing_maps = [#map4, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
        ins(%163 : tensor<?x32x?x?xbf16>) outs(%177 : tensor<?x32x?x?xbf16>) {
    ^bb0(%in: bf16, %out: bf16):
      %179 = arith.extf %in : bf16 to f32
      %180 = arith.mulf %179, %cst_5 : f32
      %181 = arith.truncf %180 : f32 to bf16
      linalg.yield %181 : bf16
    } -> tensor<?x32x?x?xbf16>
    %182 = tensor.empty(%batch, %tokens, %tokens) : tensor<?x32x?x?xbf16>
    %183 = linalg.generic {
        indexing_maps = [#map4, #map8, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
        ins(%178, %176 : tensor<?x32x?x?xbf16>, tensor<?x1x?x?xbf16>) outs(%182 : tensor<?x32x?x?xbf16>) {
    ^bb0(%in: bf16, %in_1: bf16, %out: bf16):
      %184 = arith.addf %in, %in_1 : bf16
      linalg.yield %184 : bf16
    } -> tensor<?x32x?x?xbf16>
    %185 = tensor.empty(%batch, %tokens, %tokens) : tensor<?x32x?x?xf32>
    %186 = linalg.generic {
        indexing_maps = [#map4, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
        ins(%183 : tensor<?x32x?x?xbf16>) outs(%185 : tensor<?x32x?x?xf32>) {
    ^bb0(%in: bf16, %out: f32):
      %187 = arith.extf %in : bf16 to f32
      linalg.yield %187 : f32
    } -> tensor<?x32x?x?xf32>
    %188 = tensor.empty(%batch, %tokens) : tensor<?x32x?x1xf32>
    %189 = linalg.fill ins(%cst_6 : f32) outs(%188 : tensor<?x32x?x1xf32>) -> tensor<?x32x?x1xf32>
    %190 = linalg.generic {
        indexing_maps = [#map4, #map5], iterator_types = ["parallel", "parallel", "parallel", "reduction"]}
        ins(%186 : tensor<?x32x?x?xf32>) outs(%189 : tensor<?x32x?x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      %191 = arith.maximumf %in, %out : f32
      linalg.yield %191 : f32
    } -> tensor<?x32x?x1xf32>
    %192 = tensor.empty(%batch, %tokens, %tokens) : tensor<?x32x?x?xf32>
    %193 = linalg.generic {
        indexing_maps = [#map4, #map5, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
        ins(%186, %190 : tensor<?x32x?x?xf32>, tensor<?x32x?x1xf32>) outs(%192 : tensor<?x32x?x?xf32>) {
    ^bb0(%in: f32, %in_1: f32, %out: f32):
      %194 = arith.subf %in, %in_1 : f32
      linalg.yield %194 : f32
    } -> tensor<?x32x?x?xf32>
    %195 = tensor.empty(%batch, %tokens, %tokens) : tensor<?x32x?x?xf32>
    %196 = linalg.generic {
        indexing_maps = [#map4, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
        ins(%193 : tensor<?x32x?x?xf32>) outs(%195 : tensor<?x32x?x?xf32>) {
    ^bb0(%in: f32, %out: f32):
      %197 = math.exp %in : f32
      linalg.yield %197 : f32
    } -> tensor<?x32x?x?xf32>
    %198 = tensor.empty(%batch, %tokens) : tensor<?x32x?x1xf32>
    %199 = linalg.fill ins(%cst : f32) outs(%198 : tensor<?x32x?x1xf32>) -> tensor<?x32x?x1xf32>
    %200 = linalg.generic {
        indexing_maps = [#map4, #map5], iterator_types = ["parallel", "parallel", "parallel", "reduction"]}
        ins(%196 : tensor<?x32x?x?xf32>) outs(%199 : tensor<?x32x?x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      %201 = arith.addf %in, %out : f32
      linalg.yield %201 : f32
    } -> tensor<?x32x?x1xf32>
    %202 = tensor.empty(%batch, %tokens, %tokens) : tensor<?x32x?x?xf32>
    %203 = linalg.generic {
        indexing_maps = [#map4, #map5, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
        ins(%196, %200 : tensor<?x32x?x?xf32>, tensor<?x32x?x1xf32>) outs(%202 : tensor<?x32x?x?xf32>) {
    ^bb0(%in: f32, %in_1: f32, %out: f32):
      %204 = arith.divf %in, %in_1 : f32
      linalg.yield %204 : f32
    } -> tensor<?x32x?x?xf32>
    %205 = tensor.empty(%batch, %tokens, %tokens) : tensor<?x32x?x?xbf16>
    %206 = linalg.generic {
        indexing_maps = [#map4, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
        ins(%203 : tensor<?x32x?x?xf32>) outs(%205 : tensor<?x32x?x?xbf16>) {
    ^bb0(%in: f32, %out: bf16):
      %207 = arith.truncf %in : f32 to bf16
      linalg.yield %207 : bf16
    } -> tensor<?x32x?x?xbf16>
    %208 = tensor.empty(%batch, %tokens) : tensor<?x32x?x128xf32>
    %209 = linalg.fill ins(%cst : f32) outs(%208 : tensor<?x32x?x128xf32>) -> tensor<?x32x?x128xf32>
    %210 = linalg.generic {
        indexing_maps = [#map11, #map17, #map13], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]}
        ins(%206, %154 : tensor<?x32x?x?xbf16>, tensor<?x32x?x128xbf16>) outs(%209 : tensor<?x32x?x128xf32>) {
    ^bb0(%in: bf16, %in_1: bf16, %out: f32):
      %211 = arith.extf %in : bf16 to f32
      %212 = arith.extf %in_1 : bf16 to f32
      %213 = arith.mulf %211, %212 : f32
      %214 = arith.addf %out, %213 : f32
      linalg.yield %214 : f32
    } -> tensor<?x32x?x128xf32>
    %215 = tensor.empty(%batch, %tokens) : tensor<?x32x?x128xbf16>
    %216 = linalg.generic {
        indexing_maps = [#map4, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
        ins(%210 : tensor<?x32x?x128xf32>) outs(%215 : tensor<?x32x?x128xbf16>) {
    ^bb0(%in: f32, %out: bf16):
      %217 = arith.truncf %in : f32 to bf16
      linalg.yield %217 : bf16
    } -> tensor<?x32x?x128xbf16>
    %218 = tensor.empty(%batch, %tokens) : tensor<?x?x32x128xbf16>
    %219 = linalg.transpose ins(%216 : tensor<?x32x?x128xbf16>) outs(%218 : tensor<?x?x32x128xbf16>) permutation = [0, 2, 1, 3]
    %220 = tensor.collapse_shape %219 [[0], [1], [2, 3]] : tensor<?x?x32x128xbf16> into tensor<?x?x4096xbf16>
    %221 = tensor.collapse_shape %220 [[0, 1], [2]] : tensor<?x?x4096xbf16> into tensor<?x4096xbf16>
    %222 = tensor.empty(%0) : tensor<?x4096xf32>
    %223 = linalg.fill ins(%cst : f32) outs(%222 : tensor<?x4096xf32>) -> tensor<?x4096xf32>
    %224 = linalg.matmul indexing_maps = [#map, #map1, #map2] ins(%221, %wo : tensor<?x4096xbf16>, tensor<4096x4096xbf16>) outs(%223 : tensor<?x4096xf32>) -> tensor<?x4096xf32>
    %225 = tensor.empty(%0) : tensor<?x4096xbf16>
    %226 = linalg.generic {
        indexing_maps = [#map3, #map3], iterator_types = ["parallel", "parallel"]}
        ins(%224 : tensor<?x4096xf32>) outs(%225 : tensor<?x4096xbf16>) {
    ^bb0(%in: f32, %out: bf16):
      %227 = arith.truncf %in : f32 to bf16
      linalg.yield %227 : bf16
    } -> tensor<?x4096xbf16>
    %228 = tensor.expand_shape %226 [[0, 1], [2]] output_shape [%batch, %tokens, 4096] : tensor<?x4096xbf16> into tensor<?x?x4096xbf16>
    return %228, %145, %89 : tensor<?x?x4096xbf16>, tensor<?x8x?x128xbf16>, tensor<?x8x?x128xbf16>
  }

  func.func @decode(%x: tensor<?x1x4096xbf16>,
                    %position_ids: tensor<?x1xi64> {kvc.positions},
                    %past_k: tensor<?x8x?x128xbf16> {kvc.cache = "k"},
                    %past_v: tensor<?x8x?x128xbf16> {kvc.cache = "v"},
                    %wq: tensor<4096x4096xbf16>,
                    %wk: tensor<1024x4096xbf16>,
                    %wv: tensor<1024x4096xbf16>,
                    %wo: tensor<4096x4096xbf16>,
                    %q_norm: tensor<128xbf16>,
                    %k_norm: tensor<128xbf16>,
                    %inv_freq: tensor<64xf32>)
      -> (tensor<?x1x4096xbf16>,
          tensor<?x8x?x128xbf16> {kvc.cache = "k"},
          tensor<?x8x?x128xbf16> {kvc.cache = "v"}) {
    %c0 = arith.constant 0 : index
    %c2 = arith.constant 2 : index
    %cst = arith.constant 0.0 : f32
    %cst_1 = arith.constant 128.0 : f32
    %cst_2 = arith.constant 1.0e-06 : f32
    %c1 = arith.constant 1 : index
    %cst_3 = arith.constant 0.0 : bf16
    %cst_4 = arith.constant -3.38953139e+38 : bf16
    %cst_5 = arith.constant 0.0883883476 : f32
    %cst_6 = arith.constant 0xFF800000 : f32
    %batch = tensor.dim %x, %c0 : tensor<?x1x4096xbf16>
    %past = tensor.dim %past_k, %c2 : tensor<?x8x?x128xbf16>
    // Queries, keys and values, by heads; each head's rows are normalized.
    %0 = tensor.collapse_shape %x [[0, 1], [2]] : tensor<?x1x4096xbf16> into tensor<?x4096xbf16>
    %1 = tensor.empty(%batch) : tensor<?x4096xf32>
    %2 = linalg.fill ins(%cst : f32) outs(%1 : tensor<?x4096xf32>) -> tensor<?x4096xf32>
    %3 = linalg.matmul indexing_maps = [#map, #map1, #map2] ins(%0, %wq : tensor<?x4096xbf16>, tensor<4096x4096xbf16>) outs(%2 : tensor<?x4096xf32>) -> tensor<?x4096xf32>
    %4 = tensor.empty(%batch) : tensor<?x4096xbf16>
    %5 = linalg.generic {
        indexing_maps = [#map3, #map3], iterator_types = ["parallel", "parallel"]}
        ins(%3 : tensor<?x4096xf32>) outs(%4 : tensor<?x4096xbf16>) {
    ^bb0(%in: f32, %out: bf16):
      %6 = arith.truncf %in : f32 to bf16
      linalg.yield %6 : bf16
    } -> tensor<?x4096xbf16>
    %7 = tensor.expand_shape %5 [[0, 1], [2]] output_shape [%batch, 1, 4096] : tensor<?x4096xbf16> into tensor<?x1x4096xbf16>
    %8 = tensor.expand_shape %7 [[0], [1], [2, 3]] output_shape [%batch, 1, 32, 128] : tensor<?x1x4096xbf16> into tensor<?x1x32x128xbf16>
    %9 = tensor.collapse_shape %x [[0, 1], [2]] : tensor<?x1x4096xbf16> into tensor<?x4096xbf16>
    %10 = tensor.empty(%batch) : tensor<?x1024xf32>
    %11 = linalg.fill ins(%cst : f32) outs(%10 : tensor<?x1024xf32>) -> tensor<?x1024xf32>
    %12 = linalg.matmul indexing_maps = [#map, #map1, #map2] ins(%9, %wk : tensor<?x4096xbf16>, tensor<1024x4096xbf16>) outs(%11 : tensor<?x1024xf32>) -> tensor<?x1024xf32>
    %13 = tensor.empty(%batch) : tensor<?x1024xbf16>
    %14 = linalg.generic {
        indexing_maps = [#map3, #map3], iterator_types = ["parallel", "parallel"]}
        ins(%12 : tensor<?x1024xf32>) outs(%13 : tensor<?x1024xbf16>) {
    ^bb0(%in: f32, %out: bf16):
      %15 = arith.truncf %in : f32 to bf16
      linalg.yield %15 : bf16
    } -> tensor<?x1024xbf16>
    %16 = tensor.expand_shape %14 [[0, 1], [2]] output_shape [%batch, 1, 1024] : tensor<?x1024xbf16> into tensor<?x1x1024xbf16>
    %17 = tensor.expand_shape %16 [[0], [1], [2, 3]] output_shape [%batch, 1, 8, 128] : tensor<?x1x1024xbf16> into tensor<?x1x8x128xbf16>
    %18 = tensor.empty(%batch) : tensor<?x1x32x128xf32>
    %19 = linalg.generic {
        indexing_maps = [#map8, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
        ins(%8 : tensor<?x1x32x128xbf16>) outs(%18 : tensor<?x1x32x128xf32>) {
    ^bb0(%in: bf16, %out: f32):
      %20 = arith.extf %in : bf16 to f32
      linalg.yield %20 : f32
    } -> tensor<?x1x32x128xf32>
    %21 = tensor.empty(%batch) : tensor<?x1x32x128xf32>
    %22 = linalg.generic {
        indexing_maps = [#map8, #map8, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
        ins(%19, %19 : tensor<?x1x32x128xf32>, tensor<?x1x32x128xf32>) outs(%21 : tensor<?x1x32x128xf32>) {
    ^bb0(%in: f32, %in_1: f32, %out: f32):
      %23 = arith.mulf %in, %in_1 : f32
      linalg.yield %23 : f32
    } -> tensor<?x1x32x128xf32>
    %24 = tensor.empty(%batch) : tensor<?x1x32x1xf32>
    %25 = linalg.fill ins(%cst : f32) outs(%24 : tensor<?x1x32x1xf32>) -> tensor<?x1x32x1xf32>
    %26 = linalg.generic {
        indexing_maps = [#map4, #map5], iterator_types = ["parallel", "parallel", "parallel", "reduction"]}
        ins(%22 : tensor<?x1x32x128xf32>) outs(%25 : tensor<?x1x32x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      %27 = arith.addf %in, %out : f32
      linalg.yield %27 : f32
    } -> tensor<?x1x32x1xf32>
    %28 = tensor.empty(%batch) : tensor<?x1x32x1xf32>
    %29 = linalg.generic {
        indexing_maps = [#map18, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
        ins(%26 : tensor<?x1x32x1xf32>) outs(%28 : tensor<?x1x32x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      %30 = arith.divf %in, %cst_1 : f32
      linalg.yield %30 : f32
    } -> tensor<?x1x32x1xf32>
    %31 = tensor.empty(%batch) : tensor<?x1x32x1xf32>
    %32 = linalg.generic {
        indexing_maps = [#map18, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
        ins(%29 : tensor<?x1x32x1xf32>) outs(%31 : tensor<?x1x32x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      %33 = arith.addf %in, %cst_2 : f32
      linalg.yield %33 : f32
    } -> tensor<?x1x32x1xf32>
    %34 = tensor.empty(%batch) : tensor<?x1x32x1xf32>
    %35 = linalg.generic {
        indexing_maps = [#map18, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
        ins(%32 : tensor<?x1x32x1xf32>) outs(%34 : tensor<?x1x32x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      %36 = math.rsqrt %in : f32
      linalg.yield %36 : f32
    } -> tensor<?x1x32x1xf32>
    %37 = tensor.empty(%batch) : tensor<?x1x32x128xf32>
    %38 = linalg.generic {
        indexing_maps = [#map8, #map18, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
        ins(%19, %35 : tensor<?x1x32x128xf32>, tensor<?x1x32x1xf32>) outs(%37 : tensor<?x1x32x128xf32>) {
    ^bb0(%in: f32, %in_1: f32, %out: f32):
      %39 = arith.mulf %in, %in_1 : f32
      linalg.yield %39 : f32
    } -> tensor<?x1x32x128xf32>
    %40 = tensor.empty(%batch) : tensor<?x1x32x128xbf16>
    %41 = linalg.generic {
        indexing_maps = [#map8, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
        ins(%38 : tensor<?x1x32x128xf32>) outs(%40 : tensor<?x1x32x128xbf16>) {
    ^bb0(%in: f32, %out: bf16):
      %42 = arith.truncf %in : f32 to bf16
      linalg.yield %42 : bf16
    } -> tensor<?x1x32x128xbf16>
    %43 = tensor.empty(%batch) : tensor<?x1x32x128xbf16>
    %44 = linalg.generic {
        indexing_maps = [#map6, #map8, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
        ins(%q_norm, %41 : tensor<128xbf16>, tensor<?x1x32x128xbf16>) outs(%43 : tensor<?x1x32x128xbf16>) {
    ^bb0(%in: bf16, %in_1: bf16, %out: bf16):
      %45 = arith.mulf %in, %in_1 : bf16
      linalg.yield %45 : bf16
    } -> tensor<?x1x32x128xbf16>
    %46 = tensor.empty(%batch) : tensor<?x32x1x128xbf16>
    %47 = linalg.transpose ins(%44 : tensor<?x1x32x128xbf16>) outs(%46 : tensor<?x32x1x128xbf16>) permutation = [0, 2, 1, 3]
    %48 = tensor.empty(%batch) : tensor<?x1x8x128xf32>
    %49 = linalg.generic {
        indexing_maps = [#map8, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
        ins(%17 : tensor<?x1x8x128xbf16>) outs(%48 : tensor<?x1x8x128xf32>) {
    ^bb0(%in: bf16, %out: f32):
      %50 = arith.extf %in : bf16 to f32
      linalg.yield %50 : f32
    } -> tensor<?x1x8x128xf32>
    %51 = tensor.empty(%batch) : tensor<?x1x8x128xf32>
    %52 = linalg.generic {
        indexing_maps = [#map8, #map8, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
        ins(%49, %49 : tensor<?x1x8x128xf32>, tensor<?x1x8x128xf32>) outs(%51 : tensor<?x1x8x128xf32>) {
    ^bb0(%in: f32, %in_1: f32, %out: f32):
      %53 = arith.mulf %in, %in_1 : f32
      linalg.yield %53 : f32
    } -> tensor<?x1x8x128xf32>
    %54 = tensor.empty(%batch) : tensor<?x1x8x1xf32>
    %55 = linalg.fill ins(%cst : f32) outs(%54 : tensor<?x1x8x1xf32>) -> tensor<?x1x8x1xf32>
    %56 = linalg.generic {
        indexing_maps = [#map4, #map5], iterator_types = ["parallel", "parallel", "parallel", "reduction"]}
        ins(%52 : tensor<?x1x8x128xf32>) outs(%55 : tensor<?x1x8x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      %57 = arith.addf %in, %out : f32
      linalg.yield %57 : f32
    } -> tensor<?x1x8x1xf32>
    %58 = tensor.empty(%batch) : tensor<?x1x8x1xf32>
    %59 = linalg.generic {
        indexing_maps = [#map18, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
        ins(%56 : tensor<?x1x8x1xf32>) outs(%58 : tensor<?x1x8x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      %60 = arith.divf %in, %cst_1 : f32
      linalg.yield %60 : f32
    } -> tensor<?x1x8x1xf32>
    %61 = tensor.empty(%batch) : tensor<?x1x8x1xf32>
    %62 = linalg.generic {
        indexing_maps = [#map18, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
        ins(%59 : tensor<?x1x8x1xf32>) outs(%61 : tensor<?x1x8x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      %63 = arith.addf %in, %cst_2 : f32
      linalg.yield %63 : f32
    } -> tensor<?x1x8x1xf32>
    %64 = tensor.empty(%batch) : tensor<?x1x8x1xf32>
    %65 = linalg.generic {
        indexing_maps = [#map18, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
        ins(%62 : tensor<?x1x8x1xf32>) outs(%64 : tensor<?x1x8x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      %66 = math.rsqrt %in : f32
      linalg.yield %66 : f32
    } -> tensor<?x1x8x1xf32>
    %67 = tensor.empty(%batch) : tensor<?x1x8x128xf32>
    %68 = linalg.generic {
        indexing_maps = [#map8, #map18, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
        ins(%49, %65 : tensor<?x1x8x128xf32>, tensor<?x1x8x1xf32>) outs(%67 : tensor<?x1x8x128xf32>) {
    ^bb0(%in: f32, %in_1: f32, %out: f32):
      %69 = arith.mulf %in, %in_1 : f32
      linalg.yield %69 : f32
    } -> tensor<?x1x8x128xf32>
    %70 = tensor.empty(%batch) : tensor<?x1x8x128xbf16>
    %71 = linalg.generic {
        indexing_maps = [#map8, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
        ins(%68 : tensor<?x1x8x128xf32>) outs(%70 : tensor<?x1x8x128xbf16>) {
    ^bb0(%in: f32, %out: bf16):
      %72 = arith.truncf %in : f32 to bf16
      linalg.yield %72 : bf16
    } -> tensor<?x1x8x128xbf16>
    %73 = tensor.empty(%batch) : tensor<?x1x8x128xbf16>
    %74 = linalg.generic {
        indexing_maps = [#map6, #map8, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
        ins(%k_norm, %71 : tensor<128xbf16>, tensor<?x1x8x128xbf16>) outs(%73 : tensor<?x1x8x128xbf16>) {
    ^bb0(%in: bf16, %in_1: bf16, %out: bf16):
      %75 = arith.mulf %in, %in_1 : bf16
      linalg.yield %75 : bf16
    } -> tensor<?x1x8x128xbf16>
    %76 = tensor.empty(%batch) : tensor<?x8x1x128xbf16>
    %77 = linalg.transpose ins(%74 : tensor<?x1x8x128xbf16>) outs(%76 : tensor<?x8x1x128xbf16>) permutation = [0, 2, 1, 3]
    %78 = tensor.collapse_shape %x [[0, 1], [2]] : tensor<?x1x4096xbf16> into tensor<?x4096xbf16>
    %79 = tensor.empty(%batch) : tensor<?x1024xf32>
    %80 = linalg.fill ins(%cst : f32) outs(%79 : tensor<?x1024xf32>) -> tensor<?x1024xf32>
    %81 = linalg.matmul indexing_maps = [#map, #map1, #map2] ins(%78, %wv : tensor<?x4096xbf16>, tensor<1024x4096xbf16>) outs(%80 : tensor<?x1024xf32>) -> tensor<?x1024xf32>
    %82 = tensor.empty(%batch) : tensor<?x1024xbf16>
    %83 = linalg.generic {
        indexing_maps = [#map3, #map3], iterator_types = ["parallel", "parallel"]}
        ins(%81 : tensor<?x1024xf32>) outs(%82 : tensor<?x1024xbf16>) {
    ^bb0(%in: f32, %out: bf16):
      %84 = arith.truncf %in : f32 to bf16
      linalg.yield %84 : bf16
    } -> tensor<?x1024xbf16>
    %85 = tensor.expand_shape %83 [[0, 1], [2]] output_shape [%batch, 1, 1024] : tensor<?x1024xbf16> into tensor<?x1x1024xbf16>
    %86 = tensor.expand_shape %85 [[0], [1], [2, 3]] output_shape [%batch, 1, 8, 128] : tensor<?x1x1024xbf16> into tensor<?x1x8x128xbf16>
    %87 = tensor.empty(%batch) : tensor<?x8x1x128xbf16>
    %88 = linalg.transpose ins(%86 : tensor<?x1x8x128xbf16>) outs(%87 : tensor<?x8x1x128xbf16>) permutation = [0, 2, 1, 3]
    // Rotary embedding, with frequencies from outside.
    %89 = tensor.expand_shape %inv_freq [[0, 1]] output_shape [64, 1] : tensor<64xf32> into tensor<64x1xf32>
    %90 = tensor.empty(%batch) : tensor<?x64x1xf32>
    %91 = linalg.broadcast ins(%89 : tensor<64x1xf32>) outs(%90 : tensor<?x64x1xf32>) dimensions = [0]
    %92 = tensor.empty(%batch) : tensor<?x1xf32>
    %93 = linalg.generic {
        indexing_maps = [#map19, #map3], iterator_types = ["parallel", "parallel"]}
        ins(%position_ids : tensor<?x1xi64>) outs(%92 : tensor<?x1xf32>) {
    ^bb0(%in: i64, %out: f32):
      %94 = arith.sitofp %in : i64 to f32
      linalg.yield %94 : f32
    } -> tensor<?x1xf32>
    %95 = tensor.expand_shape %93 [[0], [1, 2]] output_shape [%batch, 1, 1] : tensor<?x1xf32> into tensor<?x1x1xf32>
    %96 = tensor.empty(%batch) : tensor<?x64x1xf32>
    %97 = linalg.fill ins(%cst : f32) outs(%96 : tensor<?x64x1xf32>) -> tensor<?x64x1xf32>
    %98 = linalg.batch_matmul ins(%91, %95 : tensor<?x64x1xf32>, tensor<?x1x1xf32>) outs(%97 : tensor<?x64x1xf32>) -> tensor<?x64x1xf32>
    %99 = tensor.empty(%batch) : tensor<?x1x64xf32>
    %100 = linalg.transpose ins(%98 : tensor<?x64x1xf32>) outs(%99 : tensor<?x1x64xf32>) permutation = [0, 2, 1]
    %101 = tensor.concat dim(2) %100, %100 : (tensor<?x1x64xf32>, tensor<?x1x64xf32>) -> tensor<?x1x128xf32>
    %102 = tensor.empty(%batch) : tensor<?x1x128xf32>
    %103 = linalg.generic {
        indexing_maps = [#map20, #map7], iterator_types = ["parallel", "parallel", "parallel"]}
        ins(%101 : tensor<?x1x128xf32>) outs(%102 : tensor<?x1x128xf32>) {
    ^bb0(%in: f32, %out: f32):
      %104 = math.cos %in : f32
      linalg.yield %104 : f32
    } -> tensor<?x1x128xf32>
    %105 = tensor.empty(%batch) : tensor<?x1x128xf32>
    %106 = linalg.generic {
        indexing_maps = [#map20, #map7], iterator_types = ["parallel", "parallel", "parallel"]}
        ins(%101 : tensor<?x1x128xf32>) outs(%105 : tensor<?x1x128xf32>) {
    ^bb0(%in: f32, %out: f32):
      %107 = math.sin %in : f32
      linalg.yield %107 : f32
    } -> tensor<?x1x128xf32>
    %108 = tensor.empty(%batch) : tensor<?x1x128xbf16>
    %109 = linalg.generic {
        indexing_maps = [#map20, #map7], iterator_types = ["parallel", "parallel", "parallel"]}
        ins(%103 : tensor<?x1x128xf32>) outs(%108 : tensor<?x1x128xbf16>) {
    ^bb0(%in: f32, %out: bf16):
      %110 = arith.truncf %in : f32 to bf16
      linalg.yield %110 : bf16
    } -> tensor<?x1x128xbf16>
    %111 = tensor.expand_shape %109 [[0], [1, 2], [3]] output_shape [%batch, 1, 1, 128] : tensor<?x1x128xbf16> into tensor<?x1x1x128xbf16>
    %112 = tensor.empty(%batch) : tensor<?x1x128xbf16>
    %113 = linalg.generic {
        indexing_maps = [#map20, #map7], iterator_types = ["parallel", "parallel", "parallel"]}
        ins(%106 : tensor<?x1x128xf32>) outs(%112 : tensor<?x1x128xbf16>) {
    ^bb0(%in: f32, %out: bf16):
      %114 = arith.truncf %in : f32 to bf16
      linalg.yield %114 : bf16
    } -> tensor<?x1x128xbf16>
    %115 = tensor.expand_shape %113 [[0], [1, 2], [3]] output_shape [%batch, 1, 1, 128] : tensor<?x1x128xbf16> into tensor<?x1x1x128xbf16>
    %116 = tensor.empty(%batch) : tensor<?x32x1x128xbf16>
    %117 = linalg.generic {
        indexing_maps = [#map21, #map22, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
        ins(%47, %111 : tensor<?x32x1x128xbf16>, tensor<?x1x1x128xbf16>) outs(%116 : tensor<?x32x1x128xbf16>) {
    ^bb0(%in: bf16, %in_1: bf16, %out: bf16):
      %118 = arith.mulf %in, %in_1 : bf16
      linalg.yield %118 : bf16
    } -> tensor<?x32x1x128xbf16>
    %119 = tensor.extract_slice %47[0, 0, 0, 0] [%batch, 32, 1, 64] [1, 1, 1, 1] : tensor<?x32x1x128xbf16> to tensor<?x32x1x64xbf16>
    %120 = tensor.extract_slice %47[0, 0, 0, 64] [%batch, 32, 1, 64] [1, 1, 1, 1] : tensor<?x32x1x128xbf16> to tensor<?x32x1x64xbf16>
    %121 = tensor.empty(%batch) : tensor<?x32x1x64xbf16>
    %122 = linalg.generic {
        indexing_maps = [#map21, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
        ins(%120 : tensor<?x32x1x64xbf16>) outs(%121 : tensor<?x32x1x64xbf16>) {
    ^bb0(%in: bf16, %out: bf16):
      %123 = arith.negf %in : bf16
      linalg.yield %123 : bf16
    } -> tensor<?x32x1x64xbf16>
    %124 = tensor.concat dim(3) %122, %119 : (tensor<?x32x1x64xbf16>, tensor<?x32x1x64xbf16>) -> tensor<?x32x1x128xbf16>
    %125 = tensor.empty(%batch) : tensor<?x32x1x128xbf16>
    %126 = linalg.generic {
        indexing_maps = [#map21, #map22, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
        ins(%124, %115 : tensor<?x32x1x128xbf16>, tensor<?x1x1x128xbf16>) outs(%125 : tensor<?x32x1x128xbf16>) {
    ^bb0(%in: bf16, %in_1: bf16, %out: bf16):
      %127 = arith.mulf %in, %in_1 : bf16
      linalg.yield %127 : bf16
    } -> tensor<?x32x1x128xbf16>
    %128 = tensor.empty(%batch) : tensor<?x32x1x128xbf16>
    %129 = linalg.generic {
        indexing_maps = [#map21, #map21, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
        ins(%117, %126 : tensor<?x32x1x128xbf16>, tensor<?x32x1x128xbf16>) outs(%128 : tensor<?x32x1x128xbf16>) {
    ^bb0(%in: bf16, %in_1: bf16, %out: bf16):
      %130 = arith.addf %in, %in_1 : bf16
      linalg.yield %130 : bf16
    } -> tensor<?x32x1x128xbf16>
    %131 = tensor.empty(%batch) : tensor<?x8x1x128xbf16>
    %132 = linalg.generic {
        indexing_maps = [#map21, #map22, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
        ins(%77, %111 : tensor<?x8x1x128xbf16>, tensor<?x1x1x128xbf16>) outs(%131 : tensor<?x8x1x128xbf16>) {
    ^bb0(%in: bf16, %in_1: bf16, %out: bf16):
      %133 = arith.mulf %in, %in_1 : bf16
      linalg.yield %133 : bf16
    } -> tensor<?x8x1x128xbf16>
    %134 = tensor.extract_slice %77[0, 0, 0, 0] [%batch, 8, 1, 64] [1, 1, 1, 1] : tensor<?x8x1x128xbf16> to tensor<?x8x1x64xbf16>
    %135 = tensor.extract_slice %77[0, 0, 0, 64] [%batch, 8, 1, 64] [1, 1, 1, 1] : tensor<?x8x1x128xbf16> to tensor<?x8x1x64xbf16>
    %136 = tensor.empty(%batch) : tensor<?x8x1x64xbf16>
    %137 = linalg.generic {
        indexing_maps = [#map21, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
        ins(%135 : tensor<?x8x1x64xbf16>) outs(%136 : tensor<?x8x1x64xbf16>) {
    ^bb0(%in: bf16, %out: bf16):
      %138 = arith.negf %in : bf16
      linalg.yield %138 : bf16
    } -> tensor<?x8x1x64xbf16>
    %139 = tensor.concat dim(3) %137, %134 : (tensor<?x8x1x64xbf16>, tensor<?x8x1x64xbf16>) -> tensor<?x8x1x128xbf16>
    %140 = tensor.empty(%batch) : tensor<?x8x1x128xbf16>
    %141 = linalg.generic {
        indexing_maps = [#map21, #map22, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
        ins(%139, %115 : tensor<?x8x1x128xbf16>, tensor<?x1x1x128xbf16>) outs(%140 : tensor<?x8x1x128xbf16>) {
    ^bb0(%in: bf16, %in_1: bf16, %out: bf16):
      %142 = arith.mulf %in, %in_1 : bf16
      linalg.yield %142 : bf16
    } -> tensor<?x8x1x128xbf16>
    %143 = tensor.empty(%batch) : tensor<?x8x1x128xbf16>
    %144 = linalg.generic {
        indexing_maps = [#map21, #map21, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
        ins(%132, %141 : tensor<?x8x1x128xbf16>, tensor<?x8x1x128xbf16>) outs(%143 : tensor<?x8x1x128xbf16>) {
    ^bb0(%in: bf16, %in_1: bf16, %out: bf16):
      %145 = arith.addf %in, %in_1 : bf16
      linalg.yield %145 : bf16
    } -> tensor<?x8x1x128xbf16>
    // The cache.
    %146 = arith.addi %past, %c1 : index
    %147 = tensor.concat dim(2) %past_k, %144 : (tensor<?x8x?x128xbf16>, tensor<?x8x1x128xbf16>) -> tensor<?x8x?x128xbf16>
    %148 = tensor.concat dim(2) %past_v, %88 : (tensor<?x8x?x128xbf16>, tensor<?x8x1x128xbf16>) -> tensor<?x8x?x128xbf16>
    // Attention; the mask compares the positions given.
    %149 = tensor.expand_shape %147 [[0], [1], [2, 3], [4]] output_shape [%batch, 8, 1, %146, 128] : tensor<?x8x?x128xbf16> into tensor<?x8x1x?x128xbf16>
    %150 = tensor.empty(%batch, %146) : tensor<?x8x4x?x128xbf16>
    %151 = linalg.generic {
        indexing_maps = [#map9, #map10], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]}
        ins(%149 : tensor<?x8x1x?x128xbf16>) outs(%150 : tensor<?x8x4x?x128xbf16>) {
    ^bb0(%in: bf16, %out: bf16):
      linalg.yield %in : bf16
    } -> tensor<?x8x4x?x128xbf16>
    %152 = tensor.collapse_shape %151 [[0], [1, 2], [3], [4]] : tensor<?x8x4x?x128xbf16> into tensor<?x32x?x128xbf16>
    %153 = tensor.expand_shape %148 [[0], [1], [2, 3], [4]] output_shape [%batch, 8, 1, %146, 128] : tensor<?x8x?x128xbf16> into tensor<?x8x1x?x128xbf16>
    %154 = tensor.empty(%batch, %146) : tensor<?x8x4x?x128xbf16>
    %155 = linalg.generic {
        indexing_maps = [#map9, #map10], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]}
        ins(%153 : tensor<?x8x1x?x128xbf16>) outs(%154 : tensor<?x8x4x?x128xbf16>) {
    ^bb0(%in: bf16, %out: bf16):
      linalg.yield %in : bf16
    } -> tensor<?x8x4x?x128xbf16>
    %156 = tensor.collapse_shape %155 [[0], [1, 2], [3], [4]] : tensor<?x8x4x?x128xbf16> into tensor<?x32x?x128xbf16>
    %157 = tensor.empty(%batch, %146) : tensor<?x32x1x?xf32>
    %158 = linalg.fill ins(%cst : f32) outs(%157 : tensor<?x32x1x?xf32>) -> tensor<?x32x1x?xf32>
    %159 = linalg.generic {
        indexing_maps = [#map11, #map12, #map13], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]}
        ins(%129, %152 : tensor<?x32x1x128xbf16>, tensor<?x32x?x128xbf16>) outs(%158 : tensor<?x32x1x?xf32>) {
    ^bb0(%in: bf16, %in_1: bf16, %out: f32):
      %160 = arith.extf %in : bf16 to f32
      %161 = arith.extf %in_1 : bf16 to f32
      %162 = arith.mulf %160, %161 : f32
      %163 = arith.addf %out, %162 : f32
      linalg.yield %163 : f32
    } -> tensor<?x32x1x?xf32>
    %164 = tensor.empty(%batch, %146) : tensor<?x32x1x?xbf16>
    %165 = linalg.generic {
        indexing_maps = [#map21, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
        ins(%159 : tensor<?x32x1x?xf32>) outs(%164 : tensor<?x32x1x?xbf16>) {
    ^bb0(%in: f32, %out: bf16):
      %166 = arith.truncf %in : f32 to bf16
      linalg.yield %166 : bf16
    } -> tensor<?x32x1x?xbf16>
    %167 = tensor.empty(%146) : tensor<?xi64>
    %168 = linalg.generic {
        indexing_maps = [#map14], iterator_types = ["parallel"]}
        outs(%167 : tensor<?xi64>) {
    ^bb0(%out: i64):
      %169 = linalg.index 0 : index
      %170 = arith.index_cast %169 : index to i64
      linalg.yield %170 : i64
    } -> tensor<?xi64>
    %171 = tensor.expand_shape %position_ids [[0], [1, 2]] output_shape [%batch, 1, 1] : tensor<?x1xi64> into tensor<?x1x1xi64>
    %172 = tensor.empty(%batch, %146) : tensor<?x1x?xi1>
    %173 = linalg.generic {
        indexing_maps = [#map15, #map23, #map7], iterator_types = ["parallel", "parallel", "parallel"]}
        ins(%168, %171 : tensor<?xi64>, tensor<?x1x1xi64>) outs(%172 : tensor<?x1x?xi1>) {
    ^bb0(%in: i64, %in_1: i64, %out: i1):
      %174 = arith.cmpi sle, %in, %in_1 : i64
      linalg.yield %174 : i1
    } -> tensor<?x1x?xi1>
    %175 = tensor.empty(%batch, %146) : tensor<?x1x?xbf16>
    %176 = linalg.generic {
        indexing_maps = [#map20, #map7], iterator_types = ["parallel", "parallel", "parallel"]}
        ins(%173 : tensor<?x1x?xi1>) outs(%175 : tensor<?x1x?xbf16>) {
    ^bb0(%in: i1, %out: bf16):
      %177 = arith.select %in, %cst_3, %cst_4 : bf16
      linalg.yield %177 : bf16
    } -> tensor<?x1x?xbf16>
    %178 = tensor.expand_shape %176 [[0], [1, 2], [3]] output_shape [%batch, 1, 1, %146] : tensor<?x1x?xbf16> into tensor<?x1x1x?xbf16>
    %179 = tensor.empty(%batch, %146) : tensor<?x32x1x?xbf16>
    %180 = linalg.generic {
        indexing_maps = [#map21, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
        ins(%165 : tensor<?x32x1x?xbf16>) outs(%179 : tensor<?x32x1x?xbf16>) {
    ^bb0(%in: bf16, %out: bf16):
      %181 = arith.extf %in : bf16 to f32
      %182 = arith.mulf %181, %cst_5 : f32
      %183 = arith.truncf %182 : f32 to bf16
      linalg.yield %183 : bf16
    } -> tensor<?x32x1x?xbf16>
    %184 = tensor.empty(%batch, %146) : tensor<?x32x1x?xbf16>
    %185 = linalg.generic {
        indexing_maps = [#map21, #map22, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
        ins(%180, %178 : tensor<?x32x1x?xbf16>, tensor<?x1x1x?xbf16>) outs(%184 : tensor<?x32x1x?xbf16>) {
    ^bb0(%in: bf16, %in_1: bf16, %out: bf16):
      %186 = arith.addf %in, %in_1 : bf16
      linalg.yield %186 : bf16
    } -> tensor<?x32x1x?xbf16>
    %187 = tensor.empty(%batch, %146) : tensor<?x32x1x?xf32>
    %188 = linalg.generic {
        indexing_maps = [#map21, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
        ins(%185 : tensor<?x32x1x?xbf16>) outs(%187 : tensor<?x32x1x?xf32>) {
    ^bb0(%in: bf16, %out: f32):
      %189 = arith.extf %in : bf16 to f32
      linalg.yield %189 : f32
    } -> tensor<?x32x1x?xf32>
    %190 = tensor.empty(%batch) : tensor<?x32x1x1xf32>
    %191 = linalg.fill ins(%cst_6 : f32) outs(%190 : tensor<?x32x1x1xf32>) -> tensor<?x32x1x1xf32>
    %192 = linalg.generic {
        indexing_maps = [#map4, #map5], iterator_types = ["parallel", "parallel", "parallel", "reduction"]}
        ins(%188 : tensor<?x32x1x?xf32>) outs(%191 : tensor<?x32x1x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      %193 = arith.maximumf %in, %out : f32
      linalg.yield %193 : f32
    } -> tensor<?x32x1x1xf32>
    %194 = tensor.empty(%batch, %146) : tensor<?x32x1x?xf32>
    %195 = linalg.generic {
        indexing_maps = [#map21, #map24, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
        ins(%188, %192 : tensor<?x32x1x?xf32>, tensor<?x32x1x1xf32>) outs(%194 : tensor<?x32x1x?xf32>) {
    ^bb0(%in: f32, %in_1: f32, %out: f32):
      %196 = arith.subf %in, %in_1 : f32
      linalg.yield %196 : f32
    } -> tensor<?x32x1x?xf32>
    %197 = tensor.empty(%batch, %146) : tensor<?x32x1x?xf32>
    %198 = linalg.generic {
        indexing_maps = [#map21, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
        ins(%195 : tensor<?x32x1x?xf32>) outs(%197 : tensor<?x32x1x?xf32>) {
    ^bb0(%in: f32, %out: f32):
      %199 = math.exp %in : f32
      linalg.yield %199 : f32
    } -> tensor<?x32x1x?xf32>
    %200 = tensor.empty(%batch) : tensor<?x32x1x1xf32>
    %201 = linalg.fill ins(%cst : f32) outs(%200 : tensor<?x32x1x1xf32>) -> tensor<?x32x1x1xf32>
    %202 = linalg.generic {
        indexing_maps = [#map4, #map5], iterator_types = ["parallel", "parallel", "parallel", "reduction"]}
        ins(%198 : tensor<?x32x1x?xf32>) outs(%201 : tensor<?x32x1x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      %203 = arith.addf %in, %out : f32
      linalg.yield %203 : f32
    } -> tensor<?x32x1x1xf32>
    %204 = tensor.empty(%batch, %146) : tensor<?x32x1x?xf32>
    %205 = linalg.generic {
        indexing_maps = [#map21, #map24, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
        ins(%198, %202 : tensor<?x32x1x?xf32>, tensor<?x32x1x1xf32>) outs(%204 : tensor<?x32x1x?xf32>) {
    ^bb0(%in: f32, %in_1: f32, %out: f32):
      %206 = arith.divf %in, %in_1 : f32
      linalg.yield %206 : f32
    } -> tensor<?x32x1x?xf32>
    %207 = tensor.empty(%batch, %146) : tensor<?x32x1x?xbf16>
    %208 = linalg.generic {
        indexing_maps = [#map21, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
        ins(%205 : tensor<?x32x1x?xf32>) outs(%207 : tensor<?x32x1x?xbf16>) {
    ^bb0(%in: f32, %out: bf16):
      %209 = arith.truncf %in : f32 to bf16
      linalg.yield %209 : bf16
    } -> tensor<?x32x1x?xbf16>
    %210 = tensor.empty(%batch) : tensor<?x32x1x128xf32>
    %211 = linalg.fill ins(%cst : f32) outs(%210 : tensor<?x32x1x128xf32>) -> tensor<?x32x1x128xf32>
    %212 = linalg.generic {
        indexing_maps = [#map11, #map17, #map13], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]}
        ins(%208, %156 : tensor<?x32x1x?xbf16>, tensor<?x32x?x128xbf16>) outs(%211 : tensor<?x32x1x128xf32>) {
    ^bb0(%in: bf16, %in_1: bf16, %out: f32):
      %213 = arith.extf %in : bf16 to f32
      %214 = arith.extf %in_1 : bf16 to f32
      %215 = arith.mulf %213, %214 : f32
      %216 = arith.addf %out, %215 : f32
      linalg.yield %216 : f32
    } -> tensor<?x32x1x128xf32>
    %217 = tensor.empty(%batch) : tensor<?x32x1x128xbf16>
    %218 = linalg.generic {
        indexing_maps = [#map21, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
        ins(%212 : tensor<?x32x1x128xf32>) outs(%217 : tensor<?x32x1x128xbf16>) {
    ^bb0(%in: f32, %out: bf16):
      %219 = arith.truncf %in : f32 to bf16
      linalg.yield %219 : bf16
    } -> tensor<?x32x1x128xbf16>
    %220 = tensor.empty(%batch) : tensor<?x1x32x128xbf16>
    %221 = linalg.transpose ins(%218 : tensor<?x32x1x128xbf16>) outs(%220 : tensor<?x1x32x128xbf16>) permutation = [0, 2, 1, 3]
    %222 = tensor.collapse_shape %221 [[0], [1], [2, 3]] : tensor<?x1x32x128xbf16> into tensor<?x1x4096xbf16>
    %223 = tensor.collapse_shape %222 [[0, 1], [2]] : tensor<?x1x4096xbf16> into tensor<?x4096xbf16>
    %224 = tensor.empty(%batch) : tensor<?x4096xf32>
    %225 = linalg.fill ins(%cst : f32) outs(%224 : tensor<?x4096xf32>) -> tensor<?x4096xf32>
    %226 = linalg.matmul indexing_maps = [#map, #map1, #map2] ins(%223, %wo : tensor<?x4096xbf16>, tensor<4096x4096xbf16>) outs(%225 : tensor<?x4096xf32>) -> tensor<?x4096xf32>
    %227 = tensor.empty(%batch) : tensor<?x4096xbf16>
    %228 = linalg.generic {
        indexing_maps = [#map3, #map3], iterator_types = ["parallel", "parallel"]}
        ins(%226 : tensor<?x4096xf32>) outs(%227 : tensor<?x4096xbf16>) {
    ^bb0(%in: f32, %out: bf16):
      %229 = arith.truncf %in : f32 to bf16
      linalg.yield %229 : bf16
    } -> tensor<?x4096xbf16>
    %230 = tensor.expand_shape %228 [[0, 1], [2]] output_shape [%batch, 1, 4096] : tensor<?x4096xbf16> into tensor<?x1x4096xbf16>
    return %230, %147, %148 : tensor<?x1x4096xbf16>, tensor<?x8x?x128xbf16>, tensor<?x8x?x128xbf16>
  }
}
