// The attention of one layer of Llama 3 8B (arXiv:2407.21783).
// Made by test/Corpus/generate.py.

#map = affine_map<(d0, d1) -> (d0, d1)>
#map1 = affine_map<(d0, d1, d2) -> (d0, d1, d2)>
#map2 = affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>
#map3 = affine_map<(d0, d1, d2, d3) -> (d0, 0, d2, d3)>
#map4 = affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, 0, d3, d4)>
#map5 = affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>
#map6 = affine_map<(d0, d1, d2, d3) -> (0, 0, d2, d3)>
#map7 = affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, 0)>
#map8 = affine_map<(d0, d1) -> (d0, 0)>
#map9 = affine_map<(d0, d1, d2) -> (d0, 0, d2)>
#map10 = affine_map<(d0, d1, d2, d3) -> (d0, d1, 0, d3)>
#map11 = affine_map<(d0, d1, d2, d3) -> (d0, 0, 0, d3)>
#map12 = affine_map<(d0, d1, d2, d3) -> (0, 0, 0, d3)>
#map13 = affine_map<(d0, d1, d2, d3) -> (d0, d1, 0, 0)>
module {
  func.func @prefill(%x: tensor<?x?x4096xbf16>,
                     %position_ids: tensor<?x?xi64> {kvc.positions},
                     %wq: tensor<4096x4096xbf16>,
                     %wk: tensor<1024x4096xbf16>,
                     %wv: tensor<1024x4096xbf16>,
                     %wo: tensor<4096x4096xbf16>)
      -> (tensor<?x?x4096xbf16>,
          tensor<?x8x?x128xbf16> {kvc.cache = "k"},
          tensor<?x8x?x128xbf16> {kvc.cache = "v"}) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %cst = arith.constant 0.0 : f32
    %cst_1 = arith.constant dense<[1.0, 0.814617234, 0.663601238, 0.540581005, 0.440366603,
        0.358730224, 0.292227823, 0.23805382, 0.193922745, 0.15797281, 0.128687373, 0.104830952,
        0.0853971003, 0.0695659496, 0.0566696214, 0.0461640503, 0.0376060309, 0.0306345209,
        0.0249554087, 0.020329106, 0.0165604401, 0.0134904199, 0.0109895285, 0.00895225934,
        0.00729266474, 0.00594073038, 0.00483942135, 0.00394227603, 0.00321144599, 0.00261609925,
        0.00213111954, 0.0017360467, 0.00141421356, 0.00115204274, 0.00093847387, 0.000764496988,
        0.000622772422, 0.000507321148, 0.00041327255, 0.000336658941, 0.000274248176,
        0.00022340729, 0.000181991429, 0.000148253354, 0.000120769737, 9.83811094e-05,
        8.01429472e-05, 6.5285826e-05, 5.3182959e-05, 4.33237549e-05, 3.52922774e-05,
        2.87496974e-05, 2.3419999e-05, 1.90783348e-05, 1.55415403e-05, 1.26604066e-05,
        1.03133854e-05, 8.40146147e-06, 6.8439753e-06, 5.57522023e-06, 4.54167048e-06,
        3.69972304e-06, 3.01385815e-06, 2.45514079e-06]> : tensor<64xf32>
    %c32 = arith.constant 32 : index
    %cst_2 = arith.constant 0.0883883476 : f32
    %cst_3 = arith.constant 0.0 : bf16
    %cst_4 = arith.constant -3.38953139e+38 : bf16
    %cst_5 = arith.constant 0xFF800000 : f32
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
    %12 = tensor.empty(%batch, %tokens) : tensor<?x32x?x128xbf16>
    %13 = linalg.transpose ins(%11 : tensor<?x?x32x128xbf16>) outs(%12 : tensor<?x32x?x128xbf16>) permutation = [0, 2, 1, 3]
    %14 = tensor.collapse_shape %x [[0, 1], [2]] : tensor<?x?x4096xbf16> into tensor<?x4096xbf16>
    %15 = tensor.empty() : tensor<4096x1024xbf16>
    %16 = linalg.transpose ins(%wk : tensor<1024x4096xbf16>) outs(%15 : tensor<4096x1024xbf16>) permutation = [1, 0]
    %17 = tensor.empty(%0) : tensor<?x1024xf32>
    %18 = linalg.fill ins(%cst : f32) outs(%17 : tensor<?x1024xf32>) -> tensor<?x1024xf32>
    %19 = linalg.matmul ins(%14, %16 : tensor<?x4096xbf16>, tensor<4096x1024xbf16>) outs(%18 : tensor<?x1024xf32>) -> tensor<?x1024xf32>
    %20 = tensor.empty(%0) : tensor<?x1024xbf16>
    %21 = linalg.generic {
        indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel"]}
        ins(%19 : tensor<?x1024xf32>) outs(%20 : tensor<?x1024xbf16>) {
    ^bb0(%in: f32, %out: bf16):
      %22 = arith.truncf %in : f32 to bf16
      linalg.yield %22 : bf16
    } -> tensor<?x1024xbf16>
    %23 = tensor.expand_shape %21 [[0, 1], [2]] output_shape [%batch, %tokens, 1024] : tensor<?x1024xbf16> into tensor<?x?x1024xbf16>
    %24 = tensor.expand_shape %23 [[0], [1], [2, 3]] output_shape [%batch, %tokens, 8, 128] : tensor<?x?x1024xbf16> into tensor<?x?x8x128xbf16>
    %25 = tensor.empty(%batch, %tokens) : tensor<?x8x?x128xbf16>
    %26 = linalg.transpose ins(%24 : tensor<?x?x8x128xbf16>) outs(%25 : tensor<?x8x?x128xbf16>) permutation = [0, 2, 1, 3]
    %27 = tensor.collapse_shape %x [[0, 1], [2]] : tensor<?x?x4096xbf16> into tensor<?x4096xbf16>
    %28 = tensor.empty() : tensor<4096x1024xbf16>
    %29 = linalg.transpose ins(%wv : tensor<1024x4096xbf16>) outs(%28 : tensor<4096x1024xbf16>) permutation = [1, 0]
    %30 = tensor.empty(%0) : tensor<?x1024xf32>
    %31 = linalg.fill ins(%cst : f32) outs(%30 : tensor<?x1024xf32>) -> tensor<?x1024xf32>
    %32 = linalg.matmul ins(%27, %29 : tensor<?x4096xbf16>, tensor<4096x1024xbf16>) outs(%31 : tensor<?x1024xf32>) -> tensor<?x1024xf32>
    %33 = tensor.empty(%0) : tensor<?x1024xbf16>
    %34 = linalg.generic {
        indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel"]}
        ins(%32 : tensor<?x1024xf32>) outs(%33 : tensor<?x1024xbf16>) {
    ^bb0(%in: f32, %out: bf16):
      %35 = arith.truncf %in : f32 to bf16
      linalg.yield %35 : bf16
    } -> tensor<?x1024xbf16>
    %36 = tensor.expand_shape %34 [[0, 1], [2]] output_shape [%batch, %tokens, 1024] : tensor<?x1024xbf16> into tensor<?x?x1024xbf16>
    %37 = tensor.expand_shape %36 [[0], [1], [2, 3]] output_shape [%batch, %tokens, 8, 128] : tensor<?x?x1024xbf16> into tensor<?x?x8x128xbf16>
    %38 = tensor.empty(%batch, %tokens) : tensor<?x8x?x128xbf16>
    %39 = linalg.transpose ins(%37 : tensor<?x?x8x128xbf16>) outs(%38 : tensor<?x8x?x128xbf16>) permutation = [0, 2, 1, 3]
    // Rotary embedding.
    %40 = tensor.expand_shape %cst_1 [[0, 1]] output_shape [64, 1] : tensor<64xf32> into tensor<64x1xf32>
    %41 = tensor.empty(%batch) : tensor<?x64x1xf32>
    %42 = linalg.broadcast ins(%40 : tensor<64x1xf32>) outs(%41 : tensor<?x64x1xf32>) dimensions = [0]
    %43 = tensor.empty(%batch, %tokens) : tensor<?x?xf32>
    %44 = linalg.generic {
        indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel"]}
        ins(%position_ids : tensor<?x?xi64>) outs(%43 : tensor<?x?xf32>) {
    ^bb0(%in: i64, %out: f32):
      %45 = arith.sitofp %in : i64 to f32
      linalg.yield %45 : f32
    } -> tensor<?x?xf32>
    %46 = tensor.expand_shape %44 [[0], [1, 2]] output_shape [%batch, 1, %tokens] : tensor<?x?xf32> into tensor<?x1x?xf32>
    %47 = tensor.empty(%batch, %tokens) : tensor<?x64x?xf32>
    %48 = linalg.fill ins(%cst : f32) outs(%47 : tensor<?x64x?xf32>) -> tensor<?x64x?xf32>
    %49 = linalg.batch_matmul ins(%42, %46 : tensor<?x64x1xf32>, tensor<?x1x?xf32>) outs(%48 : tensor<?x64x?xf32>) -> tensor<?x64x?xf32>
    %50 = tensor.empty(%batch, %tokens) : tensor<?x?x64xf32>
    %51 = linalg.transpose ins(%49 : tensor<?x64x?xf32>) outs(%50 : tensor<?x?x64xf32>) permutation = [0, 2, 1]
    %52 = tensor.concat dim(2) %51, %51 : (tensor<?x?x64xf32>, tensor<?x?x64xf32>) -> tensor<?x?x128xf32>
    %53 = tensor.empty(%batch, %tokens) : tensor<?x?x128xf32>
    %54 = linalg.generic {
        indexing_maps = [#map1, #map1], iterator_types = ["parallel", "parallel", "parallel"]}
        ins(%52 : tensor<?x?x128xf32>) outs(%53 : tensor<?x?x128xf32>) {
    ^bb0(%in: f32, %out: f32):
      %55 = math.cos %in : f32
      linalg.yield %55 : f32
    } -> tensor<?x?x128xf32>
    %56 = tensor.empty(%batch, %tokens) : tensor<?x?x128xf32>
    %57 = linalg.generic {
        indexing_maps = [#map1, #map1], iterator_types = ["parallel", "parallel", "parallel"]}
        ins(%52 : tensor<?x?x128xf32>) outs(%56 : tensor<?x?x128xf32>) {
    ^bb0(%in: f32, %out: f32):
      %58 = math.sin %in : f32
      linalg.yield %58 : f32
    } -> tensor<?x?x128xf32>
    %59 = tensor.empty(%batch, %tokens) : tensor<?x?x128xbf16>
    %60 = linalg.generic {
        indexing_maps = [#map1, #map1], iterator_types = ["parallel", "parallel", "parallel"]}
        ins(%54 : tensor<?x?x128xf32>) outs(%59 : tensor<?x?x128xbf16>) {
    ^bb0(%in: f32, %out: bf16):
      %61 = arith.truncf %in : f32 to bf16
      linalg.yield %61 : bf16
    } -> tensor<?x?x128xbf16>
    %62 = tensor.expand_shape %60 [[0], [1, 2], [3]] output_shape [%batch, 1, %tokens, 128] : tensor<?x?x128xbf16> into tensor<?x1x?x128xbf16>
    %63 = tensor.empty(%batch, %tokens) : tensor<?x?x128xbf16>
    %64 = linalg.generic {
        indexing_maps = [#map1, #map1], iterator_types = ["parallel", "parallel", "parallel"]}
        ins(%57 : tensor<?x?x128xf32>) outs(%63 : tensor<?x?x128xbf16>) {
    ^bb0(%in: f32, %out: bf16):
      %65 = arith.truncf %in : f32 to bf16
      linalg.yield %65 : bf16
    } -> tensor<?x?x128xbf16>
    %66 = tensor.expand_shape %64 [[0], [1, 2], [3]] output_shape [%batch, 1, %tokens, 128] : tensor<?x?x128xbf16> into tensor<?x1x?x128xbf16>
    %67 = tensor.empty(%batch, %tokens) : tensor<?x32x?x128xbf16>
    %68 = linalg.generic {
        indexing_maps = [#map2, #map3, #map2], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
        ins(%13, %62 : tensor<?x32x?x128xbf16>, tensor<?x1x?x128xbf16>) outs(%67 : tensor<?x32x?x128xbf16>) {
    ^bb0(%in: bf16, %in_1: bf16, %out: bf16):
      %69 = arith.mulf %in, %in_1 : bf16
      linalg.yield %69 : bf16
    } -> tensor<?x32x?x128xbf16>
    %70 = tensor.extract_slice %13[0, 0, 0, 0] [%batch, 32, %tokens, 64] [1, 1, 1, 1] : tensor<?x32x?x128xbf16> to tensor<?x32x?x64xbf16>
    %71 = tensor.extract_slice %13[0, 0, 0, 64] [%batch, 32, %tokens, 64] [1, 1, 1, 1] : tensor<?x32x?x128xbf16> to tensor<?x32x?x64xbf16>
    %72 = tensor.empty(%batch, %tokens) : tensor<?x32x?x64xbf16>
    %73 = linalg.generic {
        indexing_maps = [#map2, #map2], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
        ins(%71 : tensor<?x32x?x64xbf16>) outs(%72 : tensor<?x32x?x64xbf16>) {
    ^bb0(%in: bf16, %out: bf16):
      %74 = arith.negf %in : bf16
      linalg.yield %74 : bf16
    } -> tensor<?x32x?x64xbf16>
    %75 = tensor.concat dim(3) %73, %70 : (tensor<?x32x?x64xbf16>, tensor<?x32x?x64xbf16>) -> tensor<?x32x?x128xbf16>
    %76 = tensor.empty(%batch, %tokens) : tensor<?x32x?x128xbf16>
    %77 = linalg.generic {
        indexing_maps = [#map2, #map3, #map2], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
        ins(%75, %66 : tensor<?x32x?x128xbf16>, tensor<?x1x?x128xbf16>) outs(%76 : tensor<?x32x?x128xbf16>) {
    ^bb0(%in: bf16, %in_1: bf16, %out: bf16):
      %78 = arith.mulf %in, %in_1 : bf16
      linalg.yield %78 : bf16
    } -> tensor<?x32x?x128xbf16>
    %79 = tensor.empty(%batch, %tokens) : tensor<?x32x?x128xbf16>
    %80 = linalg.generic {
        indexing_maps = [#map2, #map2, #map2], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
        ins(%68, %77 : tensor<?x32x?x128xbf16>, tensor<?x32x?x128xbf16>) outs(%79 : tensor<?x32x?x128xbf16>) {
    ^bb0(%in: bf16, %in_1: bf16, %out: bf16):
      %81 = arith.addf %in, %in_1 : bf16
      linalg.yield %81 : bf16
    } -> tensor<?x32x?x128xbf16>
    %82 = tensor.empty(%batch, %tokens) : tensor<?x8x?x128xbf16>
    %83 = linalg.generic {
        indexing_maps = [#map2, #map3, #map2], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
        ins(%26, %62 : tensor<?x8x?x128xbf16>, tensor<?x1x?x128xbf16>) outs(%82 : tensor<?x8x?x128xbf16>) {
    ^bb0(%in: bf16, %in_1: bf16, %out: bf16):
      %84 = arith.mulf %in, %in_1 : bf16
      linalg.yield %84 : bf16
    } -> tensor<?x8x?x128xbf16>
    %85 = tensor.extract_slice %26[0, 0, 0, 0] [%batch, 8, %tokens, 64] [1, 1, 1, 1] : tensor<?x8x?x128xbf16> to tensor<?x8x?x64xbf16>
    %86 = tensor.extract_slice %26[0, 0, 0, 64] [%batch, 8, %tokens, 64] [1, 1, 1, 1] : tensor<?x8x?x128xbf16> to tensor<?x8x?x64xbf16>
    %87 = tensor.empty(%batch, %tokens) : tensor<?x8x?x64xbf16>
    %88 = linalg.generic {
        indexing_maps = [#map2, #map2], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
        ins(%86 : tensor<?x8x?x64xbf16>) outs(%87 : tensor<?x8x?x64xbf16>) {
    ^bb0(%in: bf16, %out: bf16):
      %89 = arith.negf %in : bf16
      linalg.yield %89 : bf16
    } -> tensor<?x8x?x64xbf16>
    %90 = tensor.concat dim(3) %88, %85 : (tensor<?x8x?x64xbf16>, tensor<?x8x?x64xbf16>) -> tensor<?x8x?x128xbf16>
    %91 = tensor.empty(%batch, %tokens) : tensor<?x8x?x128xbf16>
    %92 = linalg.generic {
        indexing_maps = [#map2, #map3, #map2], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
        ins(%90, %66 : tensor<?x8x?x128xbf16>, tensor<?x1x?x128xbf16>) outs(%91 : tensor<?x8x?x128xbf16>) {
    ^bb0(%in: bf16, %in_1: bf16, %out: bf16):
      %93 = arith.mulf %in, %in_1 : bf16
      linalg.yield %93 : bf16
    } -> tensor<?x8x?x128xbf16>
    %94 = tensor.empty(%batch, %tokens) : tensor<?x8x?x128xbf16>
    %95 = linalg.generic {
        indexing_maps = [#map2, #map2, #map2], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
        ins(%83, %92 : tensor<?x8x?x128xbf16>, tensor<?x8x?x128xbf16>) outs(%94 : tensor<?x8x?x128xbf16>) {
    ^bb0(%in: bf16, %in_1: bf16, %out: bf16):
      %96 = arith.addf %in, %in_1 : bf16
      linalg.yield %96 : bf16
    } -> tensor<?x8x?x128xbf16>
    // The cache.
    // Attention.
    %97 = tensor.expand_shape %95 [[0], [1], [2, 3], [4]] output_shape [%batch, 8, 1, %tokens, 128] : tensor<?x8x?x128xbf16> into tensor<?x8x1x?x128xbf16>
    %98 = tensor.empty(%batch, %tokens) : tensor<?x8x4x?x128xbf16>
    %99 = linalg.generic {
        indexing_maps = [#map4, #map5], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]}
        ins(%97 : tensor<?x8x1x?x128xbf16>) outs(%98 : tensor<?x8x4x?x128xbf16>) {
    ^bb0(%in: bf16, %out: bf16):
      linalg.yield %in : bf16
    } -> tensor<?x8x4x?x128xbf16>
    %100 = tensor.collapse_shape %99 [[0], [1, 2], [3], [4]] : tensor<?x8x4x?x128xbf16> into tensor<?x32x?x128xbf16>
    %101 = tensor.expand_shape %39 [[0], [1], [2, 3], [4]] output_shape [%batch, 8, 1, %tokens, 128] : tensor<?x8x?x128xbf16> into tensor<?x8x1x?x128xbf16>
    %102 = tensor.empty(%batch, %tokens) : tensor<?x8x4x?x128xbf16>
    %103 = linalg.generic {
        indexing_maps = [#map4, #map5], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]}
        ins(%101 : tensor<?x8x1x?x128xbf16>) outs(%102 : tensor<?x8x4x?x128xbf16>) {
    ^bb0(%in: bf16, %out: bf16):
      linalg.yield %in : bf16
    } -> tensor<?x8x4x?x128xbf16>
    %104 = tensor.collapse_shape %103 [[0], [1, 2], [3], [4]] : tensor<?x8x4x?x128xbf16> into tensor<?x32x?x128xbf16>
    %105 = tensor.empty(%batch, %tokens) : tensor<?x32x128x?xbf16>
    %106 = linalg.transpose ins(%100 : tensor<?x32x?x128xbf16>) outs(%105 : tensor<?x32x128x?xbf16>) permutation = [0, 1, 3, 2]
    %107 = arith.muli %batch, %c32 : index
    %108 = tensor.collapse_shape %80 [[0, 1], [2], [3]] : tensor<?x32x?x128xbf16> into tensor<?x?x128xbf16>
    %109 = tensor.collapse_shape %106 [[0, 1], [2], [3]] : tensor<?x32x128x?xbf16> into tensor<?x128x?xbf16>
    %110 = tensor.empty(%107, %tokens, %tokens) : tensor<?x?x?xf32>
    %111 = linalg.fill ins(%cst : f32) outs(%110 : tensor<?x?x?xf32>) -> tensor<?x?x?xf32>
    %112 = linalg.batch_matmul ins(%108, %109 : tensor<?x?x128xbf16>, tensor<?x128x?xbf16>) outs(%111 : tensor<?x?x?xf32>) -> tensor<?x?x?xf32>
    %113 = tensor.empty(%107, %tokens, %tokens) : tensor<?x?x?xbf16>
    %114 = linalg.generic {
        indexing_maps = [#map1, #map1], iterator_types = ["parallel", "parallel", "parallel"]}
        ins(%112 : tensor<?x?x?xf32>) outs(%113 : tensor<?x?x?xbf16>) {
    ^bb0(%in: f32, %out: bf16):
      %115 = arith.truncf %in : f32 to bf16
      linalg.yield %115 : bf16
    } -> tensor<?x?x?xbf16>
    %116 = tensor.expand_shape %114 [[0, 1], [2], [3]] output_shape [%batch, 32, %tokens, %tokens] : tensor<?x?x?xbf16> into tensor<?x32x?x?xbf16>
    %117 = tensor.empty(%batch, %tokens, %tokens) : tensor<?x32x?x?xbf16>
    %118 = linalg.generic {
        indexing_maps = [#map2, #map2], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
        ins(%116 : tensor<?x32x?x?xbf16>) outs(%117 : tensor<?x32x?x?xbf16>) {
    ^bb0(%in: bf16, %out: bf16):
      %119 = arith.extf %in : bf16 to f32
      %120 = arith.mulf %119, %cst_2 : f32
      %121 = arith.truncf %120 : f32 to bf16
      linalg.yield %121 : bf16
    } -> tensor<?x32x?x?xbf16>
    %122 = tensor.empty(%tokens, %tokens) : tensor<1x1x?x?xbf16>
    %123 = linalg.generic {
        indexing_maps = [#map2], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
        outs(%122 : tensor<1x1x?x?xbf16>) {
    ^bb0(%out: bf16):
      %124 = linalg.index 2 : index
      %125 = arith.addi %124, %c0 : index
      %126 = linalg.index 3 : index
      %127 = arith.cmpi sge, %125, %126 : index
      %128 = arith.select %127, %cst_3, %cst_4 : bf16
      linalg.yield %128 : bf16
    } -> tensor<1x1x?x?xbf16>
    %129 = tensor.empty(%batch, %tokens, %tokens) : tensor<?x32x?x?xbf16>
    %130 = linalg.generic {
        indexing_maps = [#map2, #map6, #map2], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
        ins(%118, %123 : tensor<?x32x?x?xbf16>, tensor<1x1x?x?xbf16>) outs(%129 : tensor<?x32x?x?xbf16>) {
    ^bb0(%in: bf16, %in_1: bf16, %out: bf16):
      %131 = arith.addf %in, %in_1 : bf16
      linalg.yield %131 : bf16
    } -> tensor<?x32x?x?xbf16>
    %132 = tensor.empty(%batch, %tokens, %tokens) : tensor<?x32x?x?xf32>
    %133 = linalg.generic {
        indexing_maps = [#map2, #map2], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
        ins(%130 : tensor<?x32x?x?xbf16>) outs(%132 : tensor<?x32x?x?xf32>) {
    ^bb0(%in: bf16, %out: f32):
      %134 = arith.extf %in : bf16 to f32
      linalg.yield %134 : f32
    } -> tensor<?x32x?x?xf32>
    %135 = tensor.empty(%batch, %tokens) : tensor<?x32x?x1xf32>
    %136 = linalg.fill ins(%cst_5 : f32) outs(%135 : tensor<?x32x?x1xf32>) -> tensor<?x32x?x1xf32>
    %137 = linalg.generic {
        indexing_maps = [#map2, #map7], iterator_types = ["parallel", "parallel", "parallel", "reduction"]}
        ins(%133 : tensor<?x32x?x?xf32>) outs(%136 : tensor<?x32x?x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      %138 = arith.maximumf %in, %out : f32
      linalg.yield %138 : f32
    } -> tensor<?x32x?x1xf32>
    %139 = tensor.empty(%batch, %tokens, %tokens) : tensor<?x32x?x?xf32>
    %140 = linalg.generic {
        indexing_maps = [#map2, #map7, #map2], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
        ins(%133, %137 : tensor<?x32x?x?xf32>, tensor<?x32x?x1xf32>) outs(%139 : tensor<?x32x?x?xf32>) {
    ^bb0(%in: f32, %in_1: f32, %out: f32):
      %141 = arith.subf %in, %in_1 : f32
      linalg.yield %141 : f32
    } -> tensor<?x32x?x?xf32>
    %142 = tensor.empty(%batch, %tokens, %tokens) : tensor<?x32x?x?xf32>
    %143 = linalg.generic {
        indexing_maps = [#map2, #map2], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
        ins(%140 : tensor<?x32x?x?xf32>) outs(%142 : tensor<?x32x?x?xf32>) {
    ^bb0(%in: f32, %out: f32):
      %144 = math.exp %in : f32
      linalg.yield %144 : f32
    } -> tensor<?x32x?x?xf32>
    %145 = tensor.empty(%batch, %tokens) : tensor<?x32x?x1xf32>
    %146 = linalg.fill ins(%cst : f32) outs(%145 : tensor<?x32x?x1xf32>) -> tensor<?x32x?x1xf32>
    %147 = linalg.generic {
        indexing_maps = [#map2, #map7], iterator_types = ["parallel", "parallel", "parallel", "reduction"]}
        ins(%143 : tensor<?x32x?x?xf32>) outs(%146 : tensor<?x32x?x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      %148 = arith.addf %in, %out : f32
      linalg.yield %148 : f32
    } -> tensor<?x32x?x1xf32>
    %149 = tensor.empty(%batch, %tokens, %tokens) : tensor<?x32x?x?xf32>
    %150 = linalg.generic {
        indexing_maps = [#map2, #map7, #map2], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
        ins(%143, %147 : tensor<?x32x?x?xf32>, tensor<?x32x?x1xf32>) outs(%149 : tensor<?x32x?x?xf32>) {
    ^bb0(%in: f32, %in_1: f32, %out: f32):
      %151 = arith.divf %in, %in_1 : f32
      linalg.yield %151 : f32
    } -> tensor<?x32x?x?xf32>
    %152 = tensor.empty(%batch, %tokens, %tokens) : tensor<?x32x?x?xbf16>
    %153 = linalg.generic {
        indexing_maps = [#map2, #map2], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
        ins(%150 : tensor<?x32x?x?xf32>) outs(%152 : tensor<?x32x?x?xbf16>) {
    ^bb0(%in: f32, %out: bf16):
      %154 = arith.truncf %in : f32 to bf16
      linalg.yield %154 : bf16
    } -> tensor<?x32x?x?xbf16>
    %155 = tensor.collapse_shape %153 [[0, 1], [2], [3]] : tensor<?x32x?x?xbf16> into tensor<?x?x?xbf16>
    %156 = tensor.collapse_shape %104 [[0, 1], [2], [3]] : tensor<?x32x?x128xbf16> into tensor<?x?x128xbf16>
    %157 = tensor.empty(%107, %tokens) : tensor<?x?x128xf32>
    %158 = linalg.fill ins(%cst : f32) outs(%157 : tensor<?x?x128xf32>) -> tensor<?x?x128xf32>
    %159 = linalg.batch_matmul ins(%155, %156 : tensor<?x?x?xbf16>, tensor<?x?x128xbf16>) outs(%158 : tensor<?x?x128xf32>) -> tensor<?x?x128xf32>
    %160 = tensor.empty(%107, %tokens) : tensor<?x?x128xbf16>
    %161 = linalg.generic {
        indexing_maps = [#map1, #map1], iterator_types = ["parallel", "parallel", "parallel"]}
        ins(%159 : tensor<?x?x128xf32>) outs(%160 : tensor<?x?x128xbf16>) {
    ^bb0(%in: f32, %out: bf16):
      %162 = arith.truncf %in : f32 to bf16
      linalg.yield %162 : bf16
    } -> tensor<?x?x128xbf16>
    %163 = tensor.expand_shape %161 [[0, 1], [2], [3]] output_shape [%batch, 32, %tokens, 128] : tensor<?x?x128xbf16> into tensor<?x32x?x128xbf16>
    %164 = tensor.empty(%batch, %tokens) : tensor<?x?x32x128xbf16>
    %165 = linalg.transpose ins(%163 : tensor<?x32x?x128xbf16>) outs(%164 : tensor<?x?x32x128xbf16>) permutation = [0, 2, 1, 3]
    %166 = tensor.collapse_shape %165 [[0], [1], [2, 3]] : tensor<?x?x32x128xbf16> into tensor<?x?x4096xbf16>
    %167 = tensor.collapse_shape %166 [[0, 1], [2]] : tensor<?x?x4096xbf16> into tensor<?x4096xbf16>
    %168 = tensor.empty() : tensor<4096x4096xbf16>
    %169 = linalg.transpose ins(%wo : tensor<4096x4096xbf16>) outs(%168 : tensor<4096x4096xbf16>) permutation = [1, 0]
    %170 = tensor.empty(%0) : tensor<?x4096xf32>
    %171 = linalg.fill ins(%cst : f32) outs(%170 : tensor<?x4096xf32>) -> tensor<?x4096xf32>
    %172 = linalg.matmul ins(%167, %169 : tensor<?x4096xbf16>, tensor<4096x4096xbf16>) outs(%171 : tensor<?x4096xf32>) -> tensor<?x4096xf32>
    %173 = tensor.empty(%0) : tensor<?x4096xbf16>
    %174 = linalg.generic {
        indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel"]}
        ins(%172 : tensor<?x4096xf32>) outs(%173 : tensor<?x4096xbf16>) {
    ^bb0(%in: f32, %out: bf16):
      %175 = arith.truncf %in : f32 to bf16
      linalg.yield %175 : bf16
    } -> tensor<?x4096xbf16>
    %176 = tensor.expand_shape %174 [[0, 1], [2]] output_shape [%batch, %tokens, 4096] : tensor<?x4096xbf16> into tensor<?x?x4096xbf16>
    return %176, %95, %39 : tensor<?x?x4096xbf16>, tensor<?x8x?x128xbf16>, tensor<?x8x?x128xbf16>
  }

  func.func @decode(%x: tensor<?x1x4096xbf16>,
                    %position_ids: tensor<?x1xi64> {kvc.positions},
                    %past_k: tensor<?x8x?x128xbf16> {kvc.cache = "k"},
                    %past_v: tensor<?x8x?x128xbf16> {kvc.cache = "v"},
                    %wq: tensor<4096x4096xbf16>,
                    %wk: tensor<1024x4096xbf16>,
                    %wv: tensor<1024x4096xbf16>,
                    %wo: tensor<4096x4096xbf16>)
      -> (tensor<?x1x4096xbf16>,
          tensor<?x8x?x128xbf16> {kvc.cache = "k"},
          tensor<?x8x?x128xbf16> {kvc.cache = "v"}) {
    %c0 = arith.constant 0 : index
    %c2 = arith.constant 2 : index
    %cst = arith.constant 0.0 : f32
    %cst_1 = arith.constant dense<[1.0, 0.814617234, 0.663601238, 0.540581005, 0.440366603,
        0.358730224, 0.292227823, 0.23805382, 0.193922745, 0.15797281, 0.128687373, 0.104830952,
        0.0853971003, 0.0695659496, 0.0566696214, 0.0461640503, 0.0376060309, 0.0306345209,
        0.0249554087, 0.020329106, 0.0165604401, 0.0134904199, 0.0109895285, 0.00895225934,
        0.00729266474, 0.00594073038, 0.00483942135, 0.00394227603, 0.00321144599, 0.00261609925,
        0.00213111954, 0.0017360467, 0.00141421356, 0.00115204274, 0.00093847387, 0.000764496988,
        0.000622772422, 0.000507321148, 0.00041327255, 0.000336658941, 0.000274248176,
        0.00022340729, 0.000181991429, 0.000148253354, 0.000120769737, 9.83811094e-05,
        8.01429472e-05, 6.5285826e-05, 5.3182959e-05, 4.33237549e-05, 3.52922774e-05,
        2.87496974e-05, 2.3419999e-05, 1.90783348e-05, 1.55415403e-05, 1.26604066e-05,
        1.03133854e-05, 8.40146147e-06, 6.8439753e-06, 5.57522023e-06, 4.54167048e-06,
        3.69972304e-06, 3.01385815e-06, 2.45514079e-06]> : tensor<64xf32>
    %c1 = arith.constant 1 : index
    %c32 = arith.constant 32 : index
    %cst_2 = arith.constant 0.0883883476 : f32
    %cst_3 = arith.constant 0.0 : bf16
    %cst_4 = arith.constant -3.38953139e+38 : bf16
    %cst_5 = arith.constant 0xFF800000 : f32
    %batch = tensor.dim %x, %c0 : tensor<?x1x4096xbf16>
    %past = tensor.dim %past_k, %c2 : tensor<?x8x?x128xbf16>
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
    %11 = tensor.empty(%batch) : tensor<?x32x1x128xbf16>
    %12 = linalg.transpose ins(%10 : tensor<?x1x32x128xbf16>) outs(%11 : tensor<?x32x1x128xbf16>) permutation = [0, 2, 1, 3]
    %13 = tensor.collapse_shape %x [[0, 1], [2]] : tensor<?x1x4096xbf16> into tensor<?x4096xbf16>
    %14 = tensor.empty() : tensor<4096x1024xbf16>
    %15 = linalg.transpose ins(%wk : tensor<1024x4096xbf16>) outs(%14 : tensor<4096x1024xbf16>) permutation = [1, 0]
    %16 = tensor.empty(%batch) : tensor<?x1024xf32>
    %17 = linalg.fill ins(%cst : f32) outs(%16 : tensor<?x1024xf32>) -> tensor<?x1024xf32>
    %18 = linalg.matmul ins(%13, %15 : tensor<?x4096xbf16>, tensor<4096x1024xbf16>) outs(%17 : tensor<?x1024xf32>) -> tensor<?x1024xf32>
    %19 = tensor.empty(%batch) : tensor<?x1024xbf16>
    %20 = linalg.generic {
        indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel"]}
        ins(%18 : tensor<?x1024xf32>) outs(%19 : tensor<?x1024xbf16>) {
    ^bb0(%in: f32, %out: bf16):
      %21 = arith.truncf %in : f32 to bf16
      linalg.yield %21 : bf16
    } -> tensor<?x1024xbf16>
    %22 = tensor.expand_shape %20 [[0, 1], [2]] output_shape [%batch, 1, 1024] : tensor<?x1024xbf16> into tensor<?x1x1024xbf16>
    %23 = tensor.expand_shape %22 [[0], [1], [2, 3]] output_shape [%batch, 1, 8, 128] : tensor<?x1x1024xbf16> into tensor<?x1x8x128xbf16>
    %24 = tensor.empty(%batch) : tensor<?x8x1x128xbf16>
    %25 = linalg.transpose ins(%23 : tensor<?x1x8x128xbf16>) outs(%24 : tensor<?x8x1x128xbf16>) permutation = [0, 2, 1, 3]
    %26 = tensor.collapse_shape %x [[0, 1], [2]] : tensor<?x1x4096xbf16> into tensor<?x4096xbf16>
    %27 = tensor.empty() : tensor<4096x1024xbf16>
    %28 = linalg.transpose ins(%wv : tensor<1024x4096xbf16>) outs(%27 : tensor<4096x1024xbf16>) permutation = [1, 0]
    %29 = tensor.empty(%batch) : tensor<?x1024xf32>
    %30 = linalg.fill ins(%cst : f32) outs(%29 : tensor<?x1024xf32>) -> tensor<?x1024xf32>
    %31 = linalg.matmul ins(%26, %28 : tensor<?x4096xbf16>, tensor<4096x1024xbf16>) outs(%30 : tensor<?x1024xf32>) -> tensor<?x1024xf32>
    %32 = tensor.empty(%batch) : tensor<?x1024xbf16>
    %33 = linalg.generic {
        indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel"]}
        ins(%31 : tensor<?x1024xf32>) outs(%32 : tensor<?x1024xbf16>) {
    ^bb0(%in: f32, %out: bf16):
      %34 = arith.truncf %in : f32 to bf16
      linalg.yield %34 : bf16
    } -> tensor<?x1024xbf16>
    %35 = tensor.expand_shape %33 [[0, 1], [2]] output_shape [%batch, 1, 1024] : tensor<?x1024xbf16> into tensor<?x1x1024xbf16>
    %36 = tensor.expand_shape %35 [[0], [1], [2, 3]] output_shape [%batch, 1, 8, 128] : tensor<?x1x1024xbf16> into tensor<?x1x8x128xbf16>
    %37 = tensor.empty(%batch) : tensor<?x8x1x128xbf16>
    %38 = linalg.transpose ins(%36 : tensor<?x1x8x128xbf16>) outs(%37 : tensor<?x8x1x128xbf16>) permutation = [0, 2, 1, 3]
    // Rotary embedding.
    %39 = tensor.expand_shape %cst_1 [[0, 1]] output_shape [64, 1] : tensor<64xf32> into tensor<64x1xf32>
    %40 = tensor.empty(%batch) : tensor<?x64x1xf32>
    %41 = linalg.broadcast ins(%39 : tensor<64x1xf32>) outs(%40 : tensor<?x64x1xf32>) dimensions = [0]
    %42 = tensor.empty(%batch) : tensor<?x1xf32>
    %43 = linalg.generic {
        indexing_maps = [#map8, #map], iterator_types = ["parallel", "parallel"]}
        ins(%position_ids : tensor<?x1xi64>) outs(%42 : tensor<?x1xf32>) {
    ^bb0(%in: i64, %out: f32):
      %44 = arith.sitofp %in : i64 to f32
      linalg.yield %44 : f32
    } -> tensor<?x1xf32>
    %45 = tensor.expand_shape %43 [[0], [1, 2]] output_shape [%batch, 1, 1] : tensor<?x1xf32> into tensor<?x1x1xf32>
    %46 = tensor.empty(%batch) : tensor<?x64x1xf32>
    %47 = linalg.fill ins(%cst : f32) outs(%46 : tensor<?x64x1xf32>) -> tensor<?x64x1xf32>
    %48 = linalg.batch_matmul ins(%41, %45 : tensor<?x64x1xf32>, tensor<?x1x1xf32>) outs(%47 : tensor<?x64x1xf32>) -> tensor<?x64x1xf32>
    %49 = tensor.empty(%batch) : tensor<?x1x64xf32>
    %50 = linalg.transpose ins(%48 : tensor<?x64x1xf32>) outs(%49 : tensor<?x1x64xf32>) permutation = [0, 2, 1]
    %51 = tensor.concat dim(2) %50, %50 : (tensor<?x1x64xf32>, tensor<?x1x64xf32>) -> tensor<?x1x128xf32>
    %52 = tensor.empty(%batch) : tensor<?x1x128xf32>
    %53 = linalg.generic {
        indexing_maps = [#map9, #map1], iterator_types = ["parallel", "parallel", "parallel"]}
        ins(%51 : tensor<?x1x128xf32>) outs(%52 : tensor<?x1x128xf32>) {
    ^bb0(%in: f32, %out: f32):
      %54 = math.cos %in : f32
      linalg.yield %54 : f32
    } -> tensor<?x1x128xf32>
    %55 = tensor.empty(%batch) : tensor<?x1x128xf32>
    %56 = linalg.generic {
        indexing_maps = [#map9, #map1], iterator_types = ["parallel", "parallel", "parallel"]}
        ins(%51 : tensor<?x1x128xf32>) outs(%55 : tensor<?x1x128xf32>) {
    ^bb0(%in: f32, %out: f32):
      %57 = math.sin %in : f32
      linalg.yield %57 : f32
    } -> tensor<?x1x128xf32>
    %58 = tensor.empty(%batch) : tensor<?x1x128xbf16>
    %59 = linalg.generic {
        indexing_maps = [#map9, #map1], iterator_types = ["parallel", "parallel", "parallel"]}
        ins(%53 : tensor<?x1x128xf32>) outs(%58 : tensor<?x1x128xbf16>) {
    ^bb0(%in: f32, %out: bf16):
      %60 = arith.truncf %in : f32 to bf16
      linalg.yield %60 : bf16
    } -> tensor<?x1x128xbf16>
    %61 = tensor.expand_shape %59 [[0], [1, 2], [3]] output_shape [%batch, 1, 1, 128] : tensor<?x1x128xbf16> into tensor<?x1x1x128xbf16>
    %62 = tensor.empty(%batch) : tensor<?x1x128xbf16>
    %63 = linalg.generic {
        indexing_maps = [#map9, #map1], iterator_types = ["parallel", "parallel", "parallel"]}
        ins(%56 : tensor<?x1x128xf32>) outs(%62 : tensor<?x1x128xbf16>) {
    ^bb0(%in: f32, %out: bf16):
      %64 = arith.truncf %in : f32 to bf16
      linalg.yield %64 : bf16
    } -> tensor<?x1x128xbf16>
    %65 = tensor.expand_shape %63 [[0], [1, 2], [3]] output_shape [%batch, 1, 1, 128] : tensor<?x1x128xbf16> into tensor<?x1x1x128xbf16>
    %66 = tensor.empty(%batch) : tensor<?x32x1x128xbf16>
    %67 = linalg.generic {
        indexing_maps = [#map10, #map11, #map2], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
        ins(%12, %61 : tensor<?x32x1x128xbf16>, tensor<?x1x1x128xbf16>) outs(%66 : tensor<?x32x1x128xbf16>) {
    ^bb0(%in: bf16, %in_1: bf16, %out: bf16):
      %68 = arith.mulf %in, %in_1 : bf16
      linalg.yield %68 : bf16
    } -> tensor<?x32x1x128xbf16>
    %69 = tensor.extract_slice %12[0, 0, 0, 0] [%batch, 32, 1, 64] [1, 1, 1, 1] : tensor<?x32x1x128xbf16> to tensor<?x32x1x64xbf16>
    %70 = tensor.extract_slice %12[0, 0, 0, 64] [%batch, 32, 1, 64] [1, 1, 1, 1] : tensor<?x32x1x128xbf16> to tensor<?x32x1x64xbf16>
    %71 = tensor.empty(%batch) : tensor<?x32x1x64xbf16>
    %72 = linalg.generic {
        indexing_maps = [#map10, #map2], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
        ins(%70 : tensor<?x32x1x64xbf16>) outs(%71 : tensor<?x32x1x64xbf16>) {
    ^bb0(%in: bf16, %out: bf16):
      %73 = arith.negf %in : bf16
      linalg.yield %73 : bf16
    } -> tensor<?x32x1x64xbf16>
    %74 = tensor.concat dim(3) %72, %69 : (tensor<?x32x1x64xbf16>, tensor<?x32x1x64xbf16>) -> tensor<?x32x1x128xbf16>
    %75 = tensor.empty(%batch) : tensor<?x32x1x128xbf16>
    %76 = linalg.generic {
        indexing_maps = [#map10, #map11, #map2], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
        ins(%74, %65 : tensor<?x32x1x128xbf16>, tensor<?x1x1x128xbf16>) outs(%75 : tensor<?x32x1x128xbf16>) {
    ^bb0(%in: bf16, %in_1: bf16, %out: bf16):
      %77 = arith.mulf %in, %in_1 : bf16
      linalg.yield %77 : bf16
    } -> tensor<?x32x1x128xbf16>
    %78 = tensor.empty(%batch) : tensor<?x32x1x128xbf16>
    %79 = linalg.generic {
        indexing_maps = [#map10, #map10, #map2], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
        ins(%67, %76 : tensor<?x32x1x128xbf16>, tensor<?x32x1x128xbf16>) outs(%78 : tensor<?x32x1x128xbf16>) {
    ^bb0(%in: bf16, %in_1: bf16, %out: bf16):
      %80 = arith.addf %in, %in_1 : bf16
      linalg.yield %80 : bf16
    } -> tensor<?x32x1x128xbf16>
    %81 = tensor.empty(%batch) : tensor<?x8x1x128xbf16>
    %82 = linalg.generic {
        indexing_maps = [#map10, #map11, #map2], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
        ins(%25, %61 : tensor<?x8x1x128xbf16>, tensor<?x1x1x128xbf16>) outs(%81 : tensor<?x8x1x128xbf16>) {
    ^bb0(%in: bf16, %in_1: bf16, %out: bf16):
      %83 = arith.mulf %in, %in_1 : bf16
      linalg.yield %83 : bf16
    } -> tensor<?x8x1x128xbf16>
    %84 = tensor.extract_slice %25[0, 0, 0, 0] [%batch, 8, 1, 64] [1, 1, 1, 1] : tensor<?x8x1x128xbf16> to tensor<?x8x1x64xbf16>
    %85 = tensor.extract_slice %25[0, 0, 0, 64] [%batch, 8, 1, 64] [1, 1, 1, 1] : tensor<?x8x1x128xbf16> to tensor<?x8x1x64xbf16>
    %86 = tensor.empty(%batch) : tensor<?x8x1x64xbf16>
    %87 = linalg.generic {
        indexing_maps = [#map10, #map2], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
        ins(%85 : tensor<?x8x1x64xbf16>) outs(%86 : tensor<?x8x1x64xbf16>) {
    ^bb0(%in: bf16, %out: bf16):
      %88 = arith.negf %in : bf16
      linalg.yield %88 : bf16
    } -> tensor<?x8x1x64xbf16>
    %89 = tensor.concat dim(3) %87, %84 : (tensor<?x8x1x64xbf16>, tensor<?x8x1x64xbf16>) -> tensor<?x8x1x128xbf16>
    %90 = tensor.empty(%batch) : tensor<?x8x1x128xbf16>
    %91 = linalg.generic {
        indexing_maps = [#map10, #map11, #map2], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
        ins(%89, %65 : tensor<?x8x1x128xbf16>, tensor<?x1x1x128xbf16>) outs(%90 : tensor<?x8x1x128xbf16>) {
    ^bb0(%in: bf16, %in_1: bf16, %out: bf16):
      %92 = arith.mulf %in, %in_1 : bf16
      linalg.yield %92 : bf16
    } -> tensor<?x8x1x128xbf16>
    %93 = tensor.empty(%batch) : tensor<?x8x1x128xbf16>
    %94 = linalg.generic {
        indexing_maps = [#map10, #map10, #map2], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
        ins(%82, %91 : tensor<?x8x1x128xbf16>, tensor<?x8x1x128xbf16>) outs(%93 : tensor<?x8x1x128xbf16>) {
    ^bb0(%in: bf16, %in_1: bf16, %out: bf16):
      %95 = arith.addf %in, %in_1 : bf16
      linalg.yield %95 : bf16
    } -> tensor<?x8x1x128xbf16>
    // The cache.
    %96 = arith.addi %past, %c1 : index
    %97 = tensor.concat dim(2) %past_k, %94 : (tensor<?x8x?x128xbf16>, tensor<?x8x1x128xbf16>) -> tensor<?x8x?x128xbf16>
    %98 = tensor.concat dim(2) %past_v, %38 : (tensor<?x8x?x128xbf16>, tensor<?x8x1x128xbf16>) -> tensor<?x8x?x128xbf16>
    // Attention.
    %99 = tensor.expand_shape %97 [[0], [1], [2, 3], [4]] output_shape [%batch, 8, 1, %96, 128] : tensor<?x8x?x128xbf16> into tensor<?x8x1x?x128xbf16>
    %100 = tensor.empty(%batch, %96) : tensor<?x8x4x?x128xbf16>
    %101 = linalg.generic {
        indexing_maps = [#map4, #map5], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]}
        ins(%99 : tensor<?x8x1x?x128xbf16>) outs(%100 : tensor<?x8x4x?x128xbf16>) {
    ^bb0(%in: bf16, %out: bf16):
      linalg.yield %in : bf16
    } -> tensor<?x8x4x?x128xbf16>
    %102 = tensor.collapse_shape %101 [[0], [1, 2], [3], [4]] : tensor<?x8x4x?x128xbf16> into tensor<?x32x?x128xbf16>
    %103 = tensor.expand_shape %98 [[0], [1], [2, 3], [4]] output_shape [%batch, 8, 1, %96, 128] : tensor<?x8x?x128xbf16> into tensor<?x8x1x?x128xbf16>
    %104 = tensor.empty(%batch, %96) : tensor<?x8x4x?x128xbf16>
    %105 = linalg.generic {
        indexing_maps = [#map4, #map5], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]}
        ins(%103 : tensor<?x8x1x?x128xbf16>) outs(%104 : tensor<?x8x4x?x128xbf16>) {
    ^bb0(%in: bf16, %out: bf16):
      linalg.yield %in : bf16
    } -> tensor<?x8x4x?x128xbf16>
    %106 = tensor.collapse_shape %105 [[0], [1, 2], [3], [4]] : tensor<?x8x4x?x128xbf16> into tensor<?x32x?x128xbf16>
    %107 = tensor.empty(%batch, %96) : tensor<?x32x128x?xbf16>
    %108 = linalg.transpose ins(%102 : tensor<?x32x?x128xbf16>) outs(%107 : tensor<?x32x128x?xbf16>) permutation = [0, 1, 3, 2]
    %109 = arith.muli %batch, %c32 : index
    %110 = tensor.collapse_shape %79 [[0, 1], [2], [3]] : tensor<?x32x1x128xbf16> into tensor<?x1x128xbf16>
    %111 = tensor.collapse_shape %108 [[0, 1], [2], [3]] : tensor<?x32x128x?xbf16> into tensor<?x128x?xbf16>
    %112 = tensor.empty(%109, %96) : tensor<?x1x?xf32>
    %113 = linalg.fill ins(%cst : f32) outs(%112 : tensor<?x1x?xf32>) -> tensor<?x1x?xf32>
    %114 = linalg.batch_matmul ins(%110, %111 : tensor<?x1x128xbf16>, tensor<?x128x?xbf16>) outs(%113 : tensor<?x1x?xf32>) -> tensor<?x1x?xf32>
    %115 = tensor.empty(%109, %96) : tensor<?x1x?xbf16>
    %116 = linalg.generic {
        indexing_maps = [#map9, #map1], iterator_types = ["parallel", "parallel", "parallel"]}
        ins(%114 : tensor<?x1x?xf32>) outs(%115 : tensor<?x1x?xbf16>) {
    ^bb0(%in: f32, %out: bf16):
      %117 = arith.truncf %in : f32 to bf16
      linalg.yield %117 : bf16
    } -> tensor<?x1x?xbf16>
    %118 = tensor.expand_shape %116 [[0, 1], [2], [3]] output_shape [%batch, 32, 1, %96] : tensor<?x1x?xbf16> into tensor<?x32x1x?xbf16>
    %119 = tensor.empty(%batch, %96) : tensor<?x32x1x?xbf16>
    %120 = linalg.generic {
        indexing_maps = [#map10, #map2], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
        ins(%118 : tensor<?x32x1x?xbf16>) outs(%119 : tensor<?x32x1x?xbf16>) {
    ^bb0(%in: bf16, %out: bf16):
      %121 = arith.extf %in : bf16 to f32
      %122 = arith.mulf %121, %cst_2 : f32
      %123 = arith.truncf %122 : f32 to bf16
      linalg.yield %123 : bf16
    } -> tensor<?x32x1x?xbf16>
    %124 = tensor.empty(%96) : tensor<1x1x1x?xbf16>
    %125 = linalg.generic {
        indexing_maps = [#map2], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
        outs(%124 : tensor<1x1x1x?xbf16>) {
    ^bb0(%out: bf16):
      %126 = linalg.index 2 : index
      %127 = arith.addi %126, %past : index
      %128 = linalg.index 3 : index
      %129 = arith.cmpi sge, %127, %128 : index
      %130 = arith.select %129, %cst_3, %cst_4 : bf16
      linalg.yield %130 : bf16
    } -> tensor<1x1x1x?xbf16>
    %131 = tensor.empty(%batch, %96) : tensor<?x32x1x?xbf16>
    %132 = linalg.generic {
        indexing_maps = [#map10, #map12, #map2], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
        ins(%120, %125 : tensor<?x32x1x?xbf16>, tensor<1x1x1x?xbf16>) outs(%131 : tensor<?x32x1x?xbf16>) {
    ^bb0(%in: bf16, %in_1: bf16, %out: bf16):
      %133 = arith.addf %in, %in_1 : bf16
      linalg.yield %133 : bf16
    } -> tensor<?x32x1x?xbf16>
    %134 = tensor.empty(%batch, %96) : tensor<?x32x1x?xf32>
    %135 = linalg.generic {
        indexing_maps = [#map10, #map2], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
        ins(%132 : tensor<?x32x1x?xbf16>) outs(%134 : tensor<?x32x1x?xf32>) {
    ^bb0(%in: bf16, %out: f32):
      %136 = arith.extf %in : bf16 to f32
      linalg.yield %136 : f32
    } -> tensor<?x32x1x?xf32>
    %137 = tensor.empty(%batch) : tensor<?x32x1x1xf32>
    %138 = linalg.fill ins(%cst_5 : f32) outs(%137 : tensor<?x32x1x1xf32>) -> tensor<?x32x1x1xf32>
    %139 = linalg.generic {
        indexing_maps = [#map2, #map7], iterator_types = ["parallel", "parallel", "parallel", "reduction"]}
        ins(%135 : tensor<?x32x1x?xf32>) outs(%138 : tensor<?x32x1x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      %140 = arith.maximumf %in, %out : f32
      linalg.yield %140 : f32
    } -> tensor<?x32x1x1xf32>
    %141 = tensor.empty(%batch, %96) : tensor<?x32x1x?xf32>
    %142 = linalg.generic {
        indexing_maps = [#map10, #map13, #map2], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
        ins(%135, %139 : tensor<?x32x1x?xf32>, tensor<?x32x1x1xf32>) outs(%141 : tensor<?x32x1x?xf32>) {
    ^bb0(%in: f32, %in_1: f32, %out: f32):
      %143 = arith.subf %in, %in_1 : f32
      linalg.yield %143 : f32
    } -> tensor<?x32x1x?xf32>
    %144 = tensor.empty(%batch, %96) : tensor<?x32x1x?xf32>
    %145 = linalg.generic {
        indexing_maps = [#map10, #map2], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
        ins(%142 : tensor<?x32x1x?xf32>) outs(%144 : tensor<?x32x1x?xf32>) {
    ^bb0(%in: f32, %out: f32):
      %146 = math.exp %in : f32
      linalg.yield %146 : f32
    } -> tensor<?x32x1x?xf32>
    %147 = tensor.empty(%batch) : tensor<?x32x1x1xf32>
    %148 = linalg.fill ins(%cst : f32) outs(%147 : tensor<?x32x1x1xf32>) -> tensor<?x32x1x1xf32>
    %149 = linalg.generic {
        indexing_maps = [#map2, #map7], iterator_types = ["parallel", "parallel", "parallel", "reduction"]}
        ins(%145 : tensor<?x32x1x?xf32>) outs(%148 : tensor<?x32x1x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      %150 = arith.addf %in, %out : f32
      linalg.yield %150 : f32
    } -> tensor<?x32x1x1xf32>
    %151 = tensor.empty(%batch, %96) : tensor<?x32x1x?xf32>
    %152 = linalg.generic {
        indexing_maps = [#map10, #map13, #map2], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
        ins(%145, %149 : tensor<?x32x1x?xf32>, tensor<?x32x1x1xf32>) outs(%151 : tensor<?x32x1x?xf32>) {
    ^bb0(%in: f32, %in_1: f32, %out: f32):
      %153 = arith.divf %in, %in_1 : f32
      linalg.yield %153 : f32
    } -> tensor<?x32x1x?xf32>
    %154 = tensor.empty(%batch, %96) : tensor<?x32x1x?xbf16>
    %155 = linalg.generic {
        indexing_maps = [#map10, #map2], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
        ins(%152 : tensor<?x32x1x?xf32>) outs(%154 : tensor<?x32x1x?xbf16>) {
    ^bb0(%in: f32, %out: bf16):
      %156 = arith.truncf %in : f32 to bf16
      linalg.yield %156 : bf16
    } -> tensor<?x32x1x?xbf16>
    %157 = tensor.collapse_shape %155 [[0, 1], [2], [3]] : tensor<?x32x1x?xbf16> into tensor<?x1x?xbf16>
    %158 = tensor.collapse_shape %106 [[0, 1], [2], [3]] : tensor<?x32x?x128xbf16> into tensor<?x?x128xbf16>
    %159 = tensor.empty(%109) : tensor<?x1x128xf32>
    %160 = linalg.fill ins(%cst : f32) outs(%159 : tensor<?x1x128xf32>) -> tensor<?x1x128xf32>
    %161 = linalg.batch_matmul ins(%157, %158 : tensor<?x1x?xbf16>, tensor<?x?x128xbf16>) outs(%160 : tensor<?x1x128xf32>) -> tensor<?x1x128xf32>
    %162 = tensor.empty(%109) : tensor<?x1x128xbf16>
    %163 = linalg.generic {
        indexing_maps = [#map9, #map1], iterator_types = ["parallel", "parallel", "parallel"]}
        ins(%161 : tensor<?x1x128xf32>) outs(%162 : tensor<?x1x128xbf16>) {
    ^bb0(%in: f32, %out: bf16):
      %164 = arith.truncf %in : f32 to bf16
      linalg.yield %164 : bf16
    } -> tensor<?x1x128xbf16>
    %165 = tensor.expand_shape %163 [[0, 1], [2], [3]] output_shape [%batch, 32, 1, 128] : tensor<?x1x128xbf16> into tensor<?x32x1x128xbf16>
    %166 = tensor.empty(%batch) : tensor<?x1x32x128xbf16>
    %167 = linalg.transpose ins(%165 : tensor<?x32x1x128xbf16>) outs(%166 : tensor<?x1x32x128xbf16>) permutation = [0, 2, 1, 3]
    %168 = tensor.collapse_shape %167 [[0], [1], [2, 3]] : tensor<?x1x32x128xbf16> into tensor<?x1x4096xbf16>
    %169 = tensor.collapse_shape %168 [[0, 1], [2]] : tensor<?x1x4096xbf16> into tensor<?x4096xbf16>
    %170 = tensor.empty() : tensor<4096x4096xbf16>
    %171 = linalg.transpose ins(%wo : tensor<4096x4096xbf16>) outs(%170 : tensor<4096x4096xbf16>) permutation = [1, 0]
    %172 = tensor.empty(%batch) : tensor<?x4096xf32>
    %173 = linalg.fill ins(%cst : f32) outs(%172 : tensor<?x4096xf32>) -> tensor<?x4096xf32>
    %174 = linalg.matmul ins(%169, %171 : tensor<?x4096xbf16>, tensor<4096x4096xbf16>) outs(%173 : tensor<?x4096xf32>) -> tensor<?x4096xf32>
    %175 = tensor.empty(%batch) : tensor<?x4096xbf16>
    %176 = linalg.generic {
        indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel"]}
        ins(%174 : tensor<?x4096xf32>) outs(%175 : tensor<?x4096xbf16>) {
    ^bb0(%in: f32, %out: bf16):
      %177 = arith.truncf %in : f32 to bf16
      linalg.yield %177 : bf16
    } -> tensor<?x4096xbf16>
    %178 = tensor.expand_shape %176 [[0, 1], [2]] output_shape [%batch, 1, 4096] : tensor<?x4096xbf16> into tensor<?x1x4096xbf16>
    return %178, %97, %98 : tensor<?x1x4096xbf16>, tensor<?x8x?x128xbf16>, tensor<?x8x?x128xbf16>
  }
}
