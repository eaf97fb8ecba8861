// The attention of one layer of Mistral 7B (arXiv:2310.06825).
// Made by test/Corpus/generate.py.

#map = affine_map<(d0, d1, d2) -> (d0, d1, d2)>
#map1 = affine_map<(d0) -> (d0)>
#map2 = affine_map<(d0, d1) -> (0, d1)>
#map3 = affine_map<(d0, d1) -> (d0, d1)>
#map4 = affine_map<(d0, d1, d2) -> (0, d1, 0)>
#map5 = affine_map<(d0, d1, d2) -> (d2)>
#map6 = affine_map<(d0, d1, d2) -> (0, d1, d2)>
#map7 = affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>
#map8 = affine_map<(d0, d1, d2, d3) -> (0, 0, d2, d3)>
#map9 = affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, 0, d3, d4)>
#map10 = affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>
#map11 = affine_map<(d0, d1) -> (d1)>
#map12 = affine_map<(d0, d1) -> (d0, 0)>
#map13 = affine_map<(d0, d1, d2, d3) -> (d2, d3)>
#map14 = affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, 0)>
#map15 = affine_map<(d0, d1, d2) -> (d0, 0, d2)>
#map16 = affine_map<(d0, d1) -> (0, 0)>
#map17 = affine_map<(d0, d1, d2) -> (0, 0, 0)>
#map18 = affine_map<(d0, d1, d2) -> (0, 0, d2)>
#map19 = affine_map<(d0, d1, d2, d3) -> (d0, d1, 0, d3)>
#map20 = affine_map<(d0, d1, d2, d3) -> (0, 0, 0, d3)>
#map21 = affine_map<(d0, d1, d2, d3) -> (0, d3)>
#map22 = affine_map<(d0, d1, d2, d3) -> (d0, d1, 0, 0)>
module {
  func.func @prefill(%x: tensor<?x?x4096xbf16>,
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
    %cst_1 = arith.constant dense<[1.0, 0.865964323, 0.749894209, 0.649381632, 0.562341325,
        0.486967525, 0.421696503, 0.365174127, 0.316227766, 0.273841963, 0.237137371, 0.205352503,
        0.177827941, 0.153992653, 0.133352143, 0.115478198, 0.1, 0.0865964323, 0.0749894209,
        0.0649381632, 0.0562341325, 0.0486967525, 0.0421696503, 0.0365174127, 0.0316227766,
        0.0273841963, 0.0237137371, 0.0205352503, 0.0177827941, 0.0153992653, 0.0133352143,
        0.0115478198, 0.01, 0.00865964323, 0.00749894209, 0.00649381632, 0.00562341325,
        0.00486967525, 0.00421696503, 0.00365174127, 0.00316227766, 0.00273841963, 0.00237137371,
        0.00205352503, 0.00177827941, 0.00153992653, 0.00133352143, 0.00115478198, 0.001,
        0.000865964323, 0.000749894209, 0.000649381632, 0.000562341325, 0.000486967525,
        0.000421696503, 0.000365174127, 0.000316227766, 0.000273841963, 0.000237137371,
        0.000205352503, 0.000177827941, 0.000153992653, 0.000133352143, 0.000115478198]> :
        tensor<64xf32>
    %cst_2 = arith.constant 0.297301779 : f32
    %c32 = arith.constant 32 : index
    %c4096_i64 = arith.constant 4096 : i64
    %cst_3 = arith.constant 0.0 : bf16
    %cst_4 = arith.constant 0xFF80 : bf16
    %cst_5 = arith.constant 0xFF800000 : f32
    %batch = tensor.dim %x, %c0 : tensor<?x?x4096xbf16>
    %tokens = tensor.dim %x, %c1 : tensor<?x?x4096xbf16>
    // Queries, keys and values, by heads.
    %0 = tensor.empty() : tensor<4096x4096xbf16>
    %1 = linalg.transpose ins(%wq : tensor<4096x4096xbf16>) outs(%0 : tensor<4096x4096xbf16>) permutation = [1, 0]
    %2 = tensor.empty(%batch) : tensor<?x4096x4096xbf16>
    %3 = linalg.broadcast ins(%1 : tensor<4096x4096xbf16>) outs(%2 : tensor<?x4096x4096xbf16>) dimensions = [0]
    %4 = tensor.empty(%batch, %tokens) : tensor<?x?x4096xf32>
    %5 = linalg.fill ins(%cst : f32) outs(%4 : tensor<?x?x4096xf32>) -> tensor<?x?x4096xf32>
    %6 = linalg.batch_matmul ins(%x, %3 : tensor<?x?x4096xbf16>, tensor<?x4096x4096xbf16>) outs(%5 : tensor<?x?x4096xf32>) -> tensor<?x?x4096xf32>
    %7 = tensor.empty(%batch, %tokens) : tensor<?x?x4096xbf16>
    %8 = linalg.generic {
        indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel", "parallel"]}
        ins(%6 : tensor<?x?x4096xf32>) outs(%7 : tensor<?x?x4096xbf16>) {
    ^bb0(%in: f32, %out: bf16):
      %9 = arith.truncf %in : f32 to bf16
      linalg.yield %9 : bf16
    } -> tensor<?x?x4096xbf16>
    %10 = tensor.expand_shape %8 [[0], [1], [2, 3]] output_shape [%batch, %tokens, 32, 128] : tensor<?x?x4096xbf16> into tensor<?x?x32x128xbf16>
    %11 = tensor.empty(%batch, %tokens) : tensor<?x32x?x128xbf16>
    %12 = linalg.transpose ins(%10 : tensor<?x?x32x128xbf16>) outs(%11 : tensor<?x32x?x128xbf16>) permutation = [0, 2, 1, 3]
    %13 = tensor.empty() : tensor<4096x1024xbf16>
    %14 = linalg.transpose ins(%wk : tensor<1024x4096xbf16>) outs(%13 : tensor<4096x1024xbf16>) permutation = [1, 0]
    %15 = tensor.empty(%batch) : tensor<?x4096x1024xbf16>
    %16 = linalg.broadcast ins(%14 : tensor<4096x1024xbf16>) outs(%15 : tensor<?x4096x1024xbf16>) dimensions = [0]
    %17 = tensor.empty(%batch, %tokens) : tensor<?x?x1024xf32>
    %18 = linalg.fill ins(%cst : f32) outs(%17 : tensor<?x?x1024xf32>) -> tensor<?x?x1024xf32>
    %19 = linalg.batch_matmul ins(%x, %16 : tensor<?x?x4096xbf16>, tensor<?x4096x1024xbf16>) outs(%18 : tensor<?x?x1024xf32>) -> tensor<?x?x1024xf32>
    %20 = tensor.empty(%batch, %tokens) : tensor<?x?x1024xbf16>
    %21 = linalg.generic {
        indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel", "parallel"]}
        ins(%19 : tensor<?x?x1024xf32>) outs(%20 : tensor<?x?x1024xbf16>) {
    ^bb0(%in: f32, %out: bf16):
      %22 = arith.truncf %in : f32 to bf16
      linalg.yield %22 : bf16
    } -> tensor<?x?x1024xbf16>
    %23 = tensor.expand_shape %21 [[0], [1], [2, 3]] output_shape [%batch, %tokens, 8, 128] : tensor<?x?x1024xbf16> into tensor<?x?x8x128xbf16>
    %24 = tensor.empty(%batch, %tokens) : tensor<?x8x?x128xbf16>
    %25 = linalg.transpose ins(%23 : tensor<?x?x8x128xbf16>) outs(%24 : tensor<?x8x?x128xbf16>) permutation = [0, 2, 1, 3]
    %26 = tensor.empty() : tensor<4096x1024xbf16>
    %27 = linalg.transpose ins(%wv : tensor<1024x4096xbf16>) outs(%26 : tensor<4096x1024xbf16>) permutation = [1, 0]
    %28 = tensor.empty(%batch) : tensor<?x4096x1024xbf16>
    %29 = linalg.broadcast ins(%27 : tensor<4096x1024xbf16>) outs(%28 : tensor<?x4096x1024xbf16>) dimensions = [0]
    %30 = tensor.empty(%batch, %tokens) : tensor<?x?x1024xf32>
    %31 = linalg.fill ins(%cst : f32) outs(%30 : tensor<?x?x1024xf32>) -> tensor<?x?x1024xf32>
    %32 = linalg.batch_matmul ins(%x, %29 : tensor<?x?x4096xbf16>, tensor<?x4096x1024xbf16>) outs(%31 : tensor<?x?x1024xf32>) -> tensor<?x?x1024xf32>
    %33 = tensor.empty(%batch, %tokens) : tensor<?x?x1024xbf16>
    %34 = linalg.generic {
        indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel", "parallel"]}
        ins(%32 : tensor<?x?x1024xf32>) outs(%33 : tensor<?x?x1024xbf16>) {
    ^bb0(%in: f32, %out: bf16):
      %35 = arith.truncf %in : f32 to bf16
      linalg.yield %35 : bf16
    } -> tensor<?x?x1024xbf16>
    %36 = tensor.expand_shape %34 [[0], [1], [2, 3]] output_shape [%batch, %tokens, 8, 128] : tensor<?x?x1024xbf16> into tensor<?x?x8x128xbf16>
    %37 = tensor.empty(%batch, %tokens) : tensor<?x8x?x128xbf16>
    %38 = linalg.transpose ins(%36 : tensor<?x?x8x128xbf16>) outs(%37 : tensor<?x8x?x128xbf16>) permutation = [0, 2, 1, 3]
    // Rotary embedding; the positions are those after the cached tokens.
    %39 = tensor.empty(%tokens) : tensor<?xi64>
    %40 = linalg.generic {
        indexing_maps = [#map1], iterator_types = ["parallel"]}
        outs(%39 : tensor<?xi64>) {
    ^bb0(%out: i64):
      %41 = linalg.index 0 : index
      %42 = arith.index_cast %41 : index to i64
      linalg.yield %42 : i64
    } -> tensor<?xi64>
    %43 = tensor.expand_shape %40 [[0, 1]] output_shape [1, %tokens] : tensor<?xi64> into tensor<1x?xi64>
    %44 = tensor.empty(%tokens) : tensor<1x?xf32>
    %45 = linalg.generic {
        indexing_maps = [#map2, #map3], iterator_types = ["parallel", "parallel"]}
        ins(%43 : tensor<1x?xi64>) outs(%44 : tensor<1x?xf32>) {
    ^bb0(%in: i64, %out: f32):
      %46 = arith.sitofp %in : i64 to f32
      linalg.yield %46 : f32
    } -> tensor<1x?xf32>
    %47 = tensor.expand_shape %45 [[0], [1, 2]] output_shape [1, %tokens, 1] : tensor<1x?xf32> into tensor<1x?x1xf32>
    %48 = tensor.empty(%tokens) : tensor<1x?x64xf32>
    %49 = linalg.generic {
        indexing_maps = [#map4, #map5, #map], iterator_types = ["parallel", "parallel", "parallel"]}
        ins(%47, %cst_1 : tensor<1x?x1xf32>, tensor<64xf32>) outs(%48 : tensor<1x?x64xf32>) {
    ^bb0(%in: f32, %in_1: f32, %out: f32):
      %50 = arith.mulf %in, %in_1 : f32
      linalg.yield %50 : f32
    } -> tensor<1x?x64xf32>
    %51 = tensor.empty(%tokens) : tensor<1x?x128xf32>
    %52 = tensor.insert_slice %49 into %51[0, 0, 0] [1, %tokens, 64] [1, 1, 1] : tensor<1x?x64xf32> into tensor<1x?x128xf32>
    %53 = tensor.insert_slice %49 into %52[0, 0, 64] [1, %tokens, 64] [1, 1, 1] : tensor<1x?x64xf32> into tensor<1x?x128xf32>
    %54 = tensor.empty(%tokens) : tensor<1x?x128xf32>
    %55 = linalg.generic {
        indexing_maps = [#map6, #map], iterator_types = ["parallel", "parallel", "parallel"]}
        ins(%53 : tensor<1x?x128xf32>) outs(%54 : tensor<1x?x128xf32>) {
    ^bb0(%in: f32, %out: f32):
      %56 = math.cos %in : f32
      linalg.yield %56 : f32
    } -> tensor<1x?x128xf32>
    %57 = tensor.empty(%tokens) : tensor<1x?x128xf32>
    %58 = linalg.generic {
        indexing_maps = [#map6, #map], iterator_types = ["parallel", "parallel", "parallel"]}
        ins(%53 : tensor<1x?x128xf32>) outs(%57 : tensor<1x?x128xf32>) {
    ^bb0(%in: f32, %out: f32):
      %59 = math.sin %in : f32
      linalg.yield %59 : f32
    } -> tensor<1x?x128xf32>
    %60 = tensor.empty(%tokens) : tensor<1x?x128xbf16>
    %61 = linalg.generic {
        indexing_maps = [#map6, #map], iterator_types = ["parallel", "parallel", "parallel"]}
        ins(%55 : tensor<1x?x128xf32>) outs(%60 : tensor<1x?x128xbf16>) {
    ^bb0(%in: f32, %out: bf16):
      %62 = arith.truncf %in : f32 to bf16
      linalg.yield %62 : bf16
    } -> tensor<1x?x128xbf16>
    %63 = tensor.expand_shape %61 [[0], [1, 2], [3]] output_shape [1, 1, %tokens, 128] : tensor<1x?x128xbf16> into tensor<1x1x?x128xbf16>
    %64 = tensor.empty(%tokens) : tensor<1x?x128xbf16>
    %65 = linalg.generic {
        indexing_maps = [#map6, #map], iterator_types = ["parallel", "parallel", "parallel"]}
        ins(%58 : tensor<1x?x128xf32>) outs(%64 : tensor<1x?x128xbf16>) {
    ^bb0(%in: f32, %out: bf16):
      %66 = arith.truncf %in : f32 to bf16
      linalg.yield %66 : bf16
    } -> tensor<1x?x128xbf16>
    %67 = tensor.expand_shape %65 [[0], [1, 2], [3]] output_shape [1, 1, %tokens, 128] : tensor<1x?x128xbf16> into tensor<1x1x?x128xbf16>
    %68 = tensor.empty(%batch, %tokens) : tensor<?x32x?x128xbf16>
    %69 = linalg.generic {
        indexing_maps = [#map7, #map8, #map7], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
        ins(%12, %63 : tensor<?x32x?x128xbf16>, tensor<1x1x?x128xbf16>) outs(%68 : tensor<?x32x?x128xbf16>) {
    ^bb0(%in: bf16, %in_1: bf16, %out: bf16):
      %70 = arith.mulf %in, %in_1 : bf16
      linalg.yield %70 : bf16
    } -> tensor<?x32x?x128xbf16>
    %71 = tensor.extract_slice %12[0, 0, 0, 0] [%batch, 32, %tokens, 64] [1, 1, 1, 1] : tensor<?x32x?x128xbf16> to tensor<?x32x?x64xbf16>
    %72 = tensor.extract_slice %12[0, 0, 0, 64] [%batch, 32, %tokens, 64] [1, 1, 1, 1] : tensor<?x32x?x128xbf16> to tensor<?x32x?x64xbf16>
    %73 = tensor.empty(%batch, %tokens) : tensor<?x32x?x64xbf16>
    %74 = linalg.generic {
        indexing_maps = [#map7, #map7], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
        ins(%72 : tensor<?x32x?x64xbf16>) outs(%73 : tensor<?x32x?x64xbf16>) {
    ^bb0(%in: bf16, %out: bf16):
      %75 = arith.negf %in : bf16
      linalg.yield %75 : bf16
    } -> tensor<?x32x?x64xbf16>
    %76 = tensor.empty(%batch, %tokens) : tensor<?x32x?x128xbf16>
    %77 = tensor.insert_slice %74 into %76[0, 0, 0, 0] [%batch, 32, %tokens, 64] [1, 1, 1, 1] : tensor<?x32x?x64xbf16> into tensor<?x32x?x128xbf16>
    %78 = tensor.insert_slice %71 into %77[0, 0, 0, 64] [%batch, 32, %tokens, 64] [1, 1, 1, 1] : tensor<?x32x?x64xbf16> into tensor<?x32x?x128xbf16>
    %79 = tensor.empty(%batch, %tokens) : tensor<?x32x?x128xbf16>
    %80 = linalg.generic {
        indexing_maps = [#map7, #map8, #map7], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
        ins(%78, %67 : tensor<?x32x?x128xbf16>, tensor<1x1x?x128xbf16>) outs(%79 : tensor<?x32x?x128xbf16>) {
    ^bb0(%in: bf16, %in_1: bf16, %out: bf16):
      %81 = arith.mulf %in, %in_1 : bf16
      linalg.yield %81 : bf16
    } -> tensor<?x32x?x128xbf16>
    %82 = tensor.empty(%batch, %tokens) : tensor<?x32x?x128xbf16>
    %83 = linalg.generic {
        indexing_maps = [#map7, #map7, #map7], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
        ins(%69, %80 : tensor<?x32x?x128xbf16>, tensor<?x32x?x128xbf16>) outs(%82 : tensor<?x32x?x128xbf16>) {
    ^bb0(%in: bf16, %in_1: bf16, %out: bf16):
      %84 = arith.addf %in, %in_1 : bf16
      linalg.yield %84 : bf16
    } -> tensor<?x32x?x128xbf16>
    %85 = tensor.empty(%batch, %tokens) : tensor<?x8x?x128xbf16>
    %86 = linalg.generic {
        indexing_maps = [#map7, #map8, #map7], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
        ins(%25, %63 : tensor<?x8x?x128xbf16>, tensor<1x1x?x128xbf16>) outs(%85 : tensor<?x8x?x128xbf16>) {
    ^bb0(%in: bf16, %in_1: bf16, %out: bf16):
      %87 = arith.mulf %in, %in_1 : bf16
      linalg.yield %87 : bf16
    } -> tensor<?x8x?x128xbf16>
    %88 = tensor.extract_slice %25[0, 0, 0, 0] [%batch, 8, %tokens, 64] [1, 1, 1, 1] : tensor<?x8x?x128xbf16> to tensor<?x8x?x64xbf16>
    %89 = tensor.extract_slice %25[0, 0, 0, 64] [%batch, 8, %tokens, 64] [1, 1, 1, 1] : tensor<?x8x?x128xbf16> to tensor<?x8x?x64xbf16>
    %90 = tensor.empty(%batch, %tokens) : tensor<?x8x?x64xbf16>
    %91 = linalg.generic {
        indexing_maps = [#map7, #map7], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
        ins(%89 : tensor<?x8x?x64xbf16>) outs(%90 : tensor<?x8x?x64xbf16>) {
    ^bb0(%in: bf16, %out: bf16):
      %92 = arith.negf %in : bf16
      linalg.yield %92 : bf16
    } -> tensor<?x8x?x64xbf16>
    %93 = tensor.empty(%batch, %tokens) : tensor<?x8x?x128xbf16>
    %94 = tensor.insert_slice %91 into %93[0, 0, 0, 0] [%batch, 8, %tokens, 64] [1, 1, 1, 1] : tensor<?x8x?x64xbf16> into tensor<?x8x?x128xbf16>
    %95 = tensor.insert_slice %88 into %94[0, 0, 0, 64] [%batch, 8, %tokens, 64] [1, 1, 1, 1] : tensor<?x8x?x64xbf16> into tensor<?x8x?x128xbf16>
    %96 = tensor.empty(%batch, %tokens) : tensor<?x8x?x128xbf16>
    %97 = linalg.generic {
        indexing_maps = [#map7, #map8, #map7], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
        ins(%95, %67 : tensor<?x8x?x128xbf16>, tensor<1x1x?x128xbf16>) outs(%96 : tensor<?x8x?x128xbf16>) {
    ^bb0(%in: bf16, %in_1: bf16, %out: bf16):
      %98 = arith.mulf %in, %in_1 : bf16
      linalg.yield %98 : bf16
    } -> tensor<?x8x?x128xbf16>
    %99 = tensor.empty(%batch, %tokens) : tensor<?x8x?x128xbf16>
    %100 = linalg.generic {
        indexing_maps = [#map7, #map7, #map7], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
        ins(%86, %97 : tensor<?x8x?x128xbf16>, tensor<?x8x?x128xbf16>) outs(%99 : tensor<?x8x?x128xbf16>) {
    ^bb0(%in: bf16, %in_1: bf16, %out: bf16):
      %101 = arith.addf %in, %in_1 : bf16
      linalg.yield %101 : bf16
    } -> tensor<?x8x?x128xbf16>
    // The cache.
    // Attention in a window; queries and keys share the scale.
    %102 = tensor.expand_shape %100 [[0], [1], [2, 3], [4]] output_shape [%batch, 8, 1, %tokens, 128] : tensor<?x8x?x128xbf16> into tensor<?x8x1x?x128xbf16>
    %103 = tensor.empty(%batch, %tokens) : tensor<?x8x4x?x128xbf16>
    %104 = linalg.generic {
        indexing_maps = [#map9, #map10], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]}
        ins(%102 : tensor<?x8x1x?x128xbf16>) outs(%103 : tensor<?x8x4x?x128xbf16>) {
    ^bb0(%in: bf16, %out: bf16):
      linalg.yield %in : bf16
    } -> tensor<?x8x4x?x128xbf16>
    %105 = tensor.collapse_shape %104 [[0], [1, 2], [3], [4]] : tensor<?x8x4x?x128xbf16> into tensor<?x32x?x128xbf16>
    %106 = tensor.expand_shape %38 [[0], [1], [2, 3], [4]] output_shape [%batch, 8, 1, %tokens, 128] : tensor<?x8x?x128xbf16> into tensor<?x8x1x?x128xbf16>
    %107 = tensor.empty(%batch, %tokens) : tensor<?x8x4x?x128xbf16>
    %108 = linalg.generic {
        indexing_maps = [#map9, #map10], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]}
        ins(%106 : tensor<?x8x1x?x128xbf16>) outs(%107 : tensor<?x8x4x?x128xbf16>) {
    ^bb0(%in: bf16, %out: bf16):
      linalg.yield %in : bf16
    } -> tensor<?x8x4x?x128xbf16>
    %109 = tensor.collapse_shape %108 [[0], [1, 2], [3], [4]] : tensor<?x8x4x?x128xbf16> into tensor<?x32x?x128xbf16>
    %110 = tensor.empty(%batch, %tokens) : tensor<?x32x?x128xbf16>
    %111 = linalg.generic {
        indexing_maps = [#map7, #map7], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
        ins(%83 : tensor<?x32x?x128xbf16>) outs(%110 : tensor<?x32x?x128xbf16>) {
    ^bb0(%in: bf16, %out: bf16):
      %112 = arith.extf %in : bf16 to f32
      %113 = arith.mulf %112, %cst_2 : f32
      %114 = arith.truncf %113 : f32 to bf16
      linalg.yield %114 : bf16
    } -> tensor<?x32x?x128xbf16>
    %115 = tensor.empty(%batch, %tokens) : tensor<?x32x128x?xbf16>
    %116 = linalg.transpose ins(%105 : tensor<?x32x?x128xbf16>) outs(%115 : tensor<?x32x128x?xbf16>) permutation = [0, 1, 3, 2]
    %117 = tensor.empty(%batch, %tokens) : tensor<?x32x128x?xbf16>
    %118 = linalg.generic {
        indexing_maps = [#map7, #map7], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
        ins(%116 : tensor<?x32x128x?xbf16>) outs(%117 : tensor<?x32x128x?xbf16>) {
    ^bb0(%in: bf16, %out: bf16):
      %119 = arith.extf %in : bf16 to f32
      %120 = arith.mulf %119, %cst_2 : f32
      %121 = arith.truncf %120 : f32 to bf16
      linalg.yield %121 : bf16
    } -> tensor<?x32x128x?xbf16>
    %122 = arith.muli %batch, %c32 : index
    %123 = tensor.collapse_shape %111 [[0, 1], [2], [3]] : tensor<?x32x?x128xbf16> into tensor<?x?x128xbf16>
    %124 = tensor.collapse_shape %118 [[0, 1], [2], [3]] : tensor<?x32x128x?xbf16> into tensor<?x128x?xbf16>
    %125 = tensor.empty(%122, %tokens, %tokens) : tensor<?x?x?xf32>
    %126 = linalg.fill ins(%cst : f32) outs(%125 : tensor<?x?x?xf32>) -> tensor<?x?x?xf32>
    %127 = linalg.batch_matmul ins(%123, %124 : tensor<?x?x128xbf16>, tensor<?x128x?xbf16>) outs(%126 : tensor<?x?x?xf32>) -> tensor<?x?x?xf32>
    %128 = tensor.empty(%122, %tokens, %tokens) : tensor<?x?x?xbf16>
    %129 = linalg.generic {
        indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel", "parallel"]}
        ins(%127 : tensor<?x?x?xf32>) outs(%128 : tensor<?x?x?xbf16>) {
    ^bb0(%in: f32, %out: bf16):
      %130 = arith.truncf %in : f32 to bf16
      linalg.yield %130 : bf16
    } -> tensor<?x?x?xbf16>
    %131 = tensor.expand_shape %129 [[0, 1], [2], [3]] output_shape [%batch, 32, %tokens, %tokens] : tensor<?x?x?xbf16> into tensor<?x32x?x?xbf16>
    %132 = tensor.empty(%tokens) : tensor<?xi64>
    %133 = linalg.generic {
        indexing_maps = [#map1], iterator_types = ["parallel"]}
        outs(%132 : tensor<?xi64>) {
    ^bb0(%out: i64):
      %134 = linalg.index 0 : index
      %135 = arith.index_cast %134 : index to i64
      linalg.yield %135 : i64
    } -> tensor<?xi64>
    %136 = tensor.expand_shape %40 [[0, 1]] output_shape [%tokens, 1] : tensor<?xi64> into tensor<?x1xi64>
    %137 = tensor.empty(%tokens, %tokens) : tensor<?x?xi1>
    %138 = linalg.generic {
        indexing_maps = [#map11, #map12, #map3], iterator_types = ["parallel", "parallel"]}
        ins(%133, %136 : tensor<?xi64>, tensor<?x1xi64>) outs(%137 : tensor<?x?xi1>) {
    ^bb0(%in: i64, %in_1: i64, %out: i1):
      %139 = arith.cmpi sle, %in, %in_1 : i64
      linalg.yield %139 : i1
    } -> tensor<?x?xi1>
    %140 = tensor.empty(%tokens, %tokens) : tensor<?x?xi1>
    %141 = linalg.generic {
        indexing_maps = [#map11, #map12, #map3], iterator_types = ["parallel", "parallel"]}
        ins(%133, %136 : tensor<?xi64>, tensor<?x1xi64>) outs(%140 : tensor<?x?xi1>) {
    ^bb0(%in: i64, %in_1: i64, %out: i1):
      %142 = arith.subi %in_1, %c4096_i64 : i64
      %143 = arith.cmpi sgt, %in, %142 : i64
      linalg.yield %143 : i1
    } -> tensor<?x?xi1>
    %144 = tensor.empty(%tokens, %tokens) : tensor<?x?xi1>
    %145 = linalg.generic {
        indexing_maps = [#map3, #map3, #map3], iterator_types = ["parallel", "parallel"]}
        ins(%138, %141 : tensor<?x?xi1>, tensor<?x?xi1>) outs(%144 : tensor<?x?xi1>) {
    ^bb0(%in: i1, %in_1: i1, %out: i1):
      %146 = arith.andi %in, %in_1 : i1
      linalg.yield %146 : i1
    } -> tensor<?x?xi1>
    %147 = tensor.empty(%tokens, %tokens) : tensor<?x?xbf16>
    %148 = linalg.generic {
        indexing_maps = [#map3, #map3], iterator_types = ["parallel", "parallel"]}
        ins(%145 : tensor<?x?xi1>) outs(%147 : tensor<?x?xbf16>) {
    ^bb0(%in: i1, %out: bf16):
      %149 = arith.select %in, %cst_3, %cst_4 : bf16
      linalg.yield %149 : bf16
    } -> tensor<?x?xbf16>
    %150 = tensor.empty(%batch, %tokens, %tokens) : tensor<?x32x?x?xbf16>
    %151 = linalg.generic {
        indexing_maps = [#map7, #map13, #map7], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
        ins(%131, %148 : tensor<?x32x?x?xbf16>, tensor<?x?xbf16>) outs(%150 : tensor<?x32x?x?xbf16>) {
    ^bb0(%in: bf16, %in_1: bf16, %out: bf16):
      %152 = arith.addf %in, %in_1 : bf16
      linalg.yield %152 : bf16
    } -> tensor<?x32x?x?xbf16>
    %153 = tensor.empty(%batch, %tokens, %tokens) : tensor<?x32x?x?xf32>
    %154 = linalg.generic {
        indexing_maps = [#map7, #map7], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
        ins(%151 : tensor<?x32x?x?xbf16>) outs(%153 : tensor<?x32x?x?xf32>) {
    ^bb0(%in: bf16, %out: f32):
      %155 = arith.extf %in : bf16 to f32
      linalg.yield %155 : f32
    } -> tensor<?x32x?x?xf32>
    %156 = tensor.empty(%batch, %tokens) : tensor<?x32x?x1xf32>
    %157 = linalg.fill ins(%cst_5 : f32) outs(%156 : tensor<?x32x?x1xf32>) -> tensor<?x32x?x1xf32>
    %158 = linalg.generic {
        indexing_maps = [#map7, #map14], iterator_types = ["parallel", "parallel", "parallel", "reduction"]}
        ins(%154 : tensor<?x32x?x?xf32>) outs(%157 : tensor<?x32x?x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      %159 = arith.maximumf %in, %out : f32
      linalg.yield %159 : f32
    } -> tensor<?x32x?x1xf32>
    %160 = tensor.empty(%batch, %tokens, %tokens) : tensor<?x32x?x?xf32>
    %161 = linalg.generic {
        indexing_maps = [#map7, #map14, #map7], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
        ins(%154, %158 : tensor<?x32x?x?xf32>, tensor<?x32x?x1xf32>) outs(%160 : tensor<?x32x?x?xf32>) {
    ^bb0(%in: f32, %in_1: f32, %out: f32):
      %162 = arith.subf %in, %in_1 : f32
      linalg.yield %162 : f32
    } -> tensor<?x32x?x?xf32>
    %163 = tensor.empty(%batch, %tokens, %tokens) : tensor<?x32x?x?xf32>
    %164 = linalg.generic {
        indexing_maps = [#map7, #map7], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
        ins(%161 : tensor<?x32x?x?xf32>) outs(%163 : tensor<?x32x?x?xf32>) {
    ^bb0(%in: f32, %out: f32):
      %165 = math.exp %in : f32
      linalg.yield %165 : f32
    } -> tensor<?x32x?x?xf32>
    %166 = tensor.empty(%batch, %tokens) : tensor<?x32x?x1xf32>
    %167 = linalg.fill ins(%cst : f32) outs(%166 : tensor<?x32x?x1xf32>) -> tensor<?x32x?x1xf32>
    %168 = linalg.generic {
        indexing_maps = [#map7, #map14], iterator_types = ["parallel", "parallel", "parallel", "reduction"]}
        ins(%164 : tensor<?x32x?x?xf32>) outs(%167 : tensor<?x32x?x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      %169 = arith.addf %in, %out : f32
      linalg.yield %169 : f32
    } -> tensor<?x32x?x1xf32>
    %170 = tensor.empty(%batch, %tokens, %tokens) : tensor<?x32x?x?xf32>
    %171 = linalg.generic {
        indexing_maps = [#map7, #map14, #map7], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
        ins(%164, %168 : tensor<?x32x?x?xf32>, tensor<?x32x?x1xf32>) outs(%170 : tensor<?x32x?x?xf32>) {
    ^bb0(%in: f32, %in_1: f32, %out: f32):
      %172 = arith.divf %in, %in_1 : f32
      linalg.yield %172 : f32
    } -> tensor<?x32x?x?xf32>
    %173 = tensor.empty(%batch, %tokens, %tokens) : tensor<?x32x?x?xbf16>
    %174 = linalg.generic {
        indexing_maps = [#map7, #map7], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
        ins(%171 : tensor<?x32x?x?xf32>) outs(%173 : tensor<?x32x?x?xbf16>) {
    ^bb0(%in: f32, %out: bf16):
      %175 = arith.truncf %in : f32 to bf16
      linalg.yield %175 : bf16
    } -> tensor<?x32x?x?xbf16>
    %176 = tensor.collapse_shape %174 [[0, 1], [2], [3]] : tensor<?x32x?x?xbf16> into tensor<?x?x?xbf16>
    %177 = tensor.collapse_shape %109 [[0, 1], [2], [3]] : tensor<?x32x?x128xbf16> into tensor<?x?x128xbf16>
    %178 = tensor.empty(%122, %tokens) : tensor<?x?x128xf32>
    %179 = linalg.fill ins(%cst : f32) outs(%178 : tensor<?x?x128xf32>) -> tensor<?x?x128xf32>
    %180 = linalg.batch_matmul ins(%176, %177 : tensor<?x?x?xbf16>, tensor<?x?x128xbf16>) outs(%179 : tensor<?x?x128xf32>) -> tensor<?x?x128xf32>
    %181 = tensor.empty(%122, %tokens) : tensor<?x?x128xbf16>
    %182 = linalg.generic {
        indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel", "parallel"]}
        ins(%180 : tensor<?x?x128xf32>) outs(%181 : tensor<?x?x128xbf16>) {
    ^bb0(%in: f32, %out: bf16):
      %183 = arith.truncf %in : f32 to bf16
      linalg.yield %183 : bf16
    } -> tensor<?x?x128xbf16>
    %184 = tensor.expand_shape %182 [[0, 1], [2], [3]] output_shape [%batch, 32, %tokens, 128] : tensor<?x?x128xbf16> into tensor<?x32x?x128xbf16>
    %185 = tensor.empty(%batch, %tokens) : tensor<?x?x32x128xbf16>
    %186 = linalg.transpose ins(%184 : tensor<?x32x?x128xbf16>) outs(%185 : tensor<?x?x32x128xbf16>) permutation = [0, 2, 1, 3]
    %187 = tensor.collapse_shape %186 [[0], [1], [2, 3]] : tensor<?x?x32x128xbf16> into tensor<?x?x4096xbf16>
    %188 = tensor.empty() : tensor<4096x4096xbf16>
    %189 = linalg.transpose ins(%wo : tensor<4096x4096xbf16>) outs(%188 : tensor<4096x4096xbf16>) permutation = [1, 0]
    %190 = tensor.empty(%batch) : tensor<?x4096x4096xbf16>
    %191 = linalg.broadcast ins(%189 : tensor<4096x4096xbf16>) outs(%190 : tensor<?x4096x4096xbf16>) dimensions = [0]
    %192 = tensor.empty(%batch, %tokens) : tensor<?x?x4096xf32>
    %193 = linalg.fill ins(%cst : f32) outs(%192 : tensor<?x?x4096xf32>) -> tensor<?x?x4096xf32>
    %194 = linalg.batch_matmul ins(%187, %191 : tensor<?x?x4096xbf16>, tensor<?x4096x4096xbf16>) outs(%193 : tensor<?x?x4096xf32>) -> tensor<?x?x4096xf32>
    %195 = tensor.empty(%batch, %tokens) : tensor<?x?x4096xbf16>
    %196 = linalg.generic {
        indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel", "parallel"]}
        ins(%194 : tensor<?x?x4096xf32>) outs(%195 : tensor<?x?x4096xbf16>) {
    ^bb0(%in: f32, %out: bf16):
      %197 = arith.truncf %in : f32 to bf16
      linalg.yield %197 : bf16
    } -> tensor<?x?x4096xbf16>
    return %196, %100, %38 : tensor<?x?x4096xbf16>, tensor<?x8x?x128xbf16>, tensor<?x8x?x128xbf16>
  }

  func.func @decode(%x: tensor<?x1x4096xbf16>,
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
    %cst_1 = arith.constant dense<[1.0, 0.865964323, 0.749894209, 0.649381632, 0.562341325,
        0.486967525, 0.421696503, 0.365174127, 0.316227766, 0.273841963, 0.237137371, 0.205352503,
        0.177827941, 0.153992653, 0.133352143, 0.115478198, 0.1, 0.0865964323, 0.0749894209,
        0.0649381632, 0.0562341325, 0.0486967525, 0.0421696503, 0.0365174127, 0.0316227766,
        0.0273841963, 0.0237137371, 0.0205352503, 0.0177827941, 0.0153992653, 0.0133352143,
        0.0115478198, 0.01, 0.00865964323, 0.00749894209, 0.00649381632, 0.00562341325,
        0.00486967525, 0.00421696503, 0.00365174127, 0.00316227766, 0.00273841963, 0.00237137371,
        0.00205352503, 0.00177827941, 0.00153992653, 0.00133352143, 0.00115478198, 0.001,
        0.000865964323, 0.000749894209, 0.000649381632, 0.000562341325, 0.000486967525,
        0.000421696503, 0.000365174127, 0.000316227766, 0.000273841963, 0.000237137371,
        0.000205352503, 0.000177827941, 0.000153992653, 0.000133352143, 0.000115478198]> :
        tensor<64xf32>
    %c1 = arith.constant 1 : index
    %cst_2 = arith.constant 0.297301779 : f32
    %c32 = arith.constant 32 : index
    %c4096_i64 = arith.constant 4096 : i64
    %cst_3 = arith.constant 0.0 : bf16
    %cst_4 = arith.constant 0xFF80 : bf16
    %cst_5 = arith.constant 0xFF800000 : f32
    %batch = tensor.dim %x, %c0 : tensor<?x1x4096xbf16>
    %past = tensor.dim %past_k, %c2 : tensor<?x8x?x128xbf16>
    // Queries, keys and values, by heads.
    %0 = tensor.empty() : tensor<4096x4096xbf16>
    %1 = linalg.transpose ins(%wq : tensor<4096x4096xbf16>) outs(%0 : tensor<4096x4096xbf16>) permutation = [1, 0]
    %2 = tensor.empty(%batch) : tensor<?x4096x4096xbf16>
    %3 = linalg.broadcast ins(%1 : tensor<4096x4096xbf16>) outs(%2 : tensor<?x4096x4096xbf16>) dimensions = [0]
    %4 = tensor.empty(%batch) : tensor<?x1x4096xf32>
    %5 = linalg.fill ins(%cst : f32) outs(%4 : tensor<?x1x4096xf32>) -> tensor<?x1x4096xf32>
    %6 = linalg.batch_matmul ins(%x, %3 : tensor<?x1x4096xbf16>, tensor<?x4096x4096xbf16>) outs(%5 : tensor<?x1x4096xf32>) -> tensor<?x1x4096xf32>
    %7 = tensor.empty(%batch) : tensor<?x1x4096xbf16>
    %8 = linalg.generic {
        indexing_maps = [#map15, #map], iterator_types = ["parallel", "parallel", "parallel"]}
        ins(%6 : tensor<?x1x4096xf32>) outs(%7 : tensor<?x1x4096xbf16>) {
    ^bb0(%in: f32, %out: bf16):
      %9 = arith.truncf %in : f32 to bf16
      linalg.yield %9 : bf16
    } -> tensor<?x1x4096xbf16>
    %10 = tensor.expand_shape %8 [[0], [1], [2, 3]] output_shape [%batch, 1, 32, 128] : tensor<?x1x4096xbf16> into tensor<?x1x32x128xbf16>
    %11 = tensor.empty(%batch) : tensor<?x32x1x128xbf16>
    %12 = linalg.transpose ins(%10 : tensor<?x1x32x128xbf16>) outs(%11 : tensor<?x32x1x128xbf16>) permutation = [0, 2, 1, 3]
    %13 = tensor.empty() : tensor<4096x1024xbf16>
    %14 = linalg.transpose ins(%wk : tensor<1024x4096xbf16>) outs(%13 : tensor<4096x1024xbf16>) permutation = [1, 0]
    %15 = tensor.empty(%batch) : tensor<?x4096x1024xbf16>
    %16 = linalg.broadcast ins(%14 : tensor<4096x1024xbf16>) outs(%15 : tensor<?x4096x1024xbf16>) dimensions = [0]
    %17 = tensor.empty(%batch) : tensor<?x1x1024xf32>
    %18 = linalg.fill ins(%cst : f32) outs(%17 : tensor<?x1x1024xf32>) -> tensor<?x1x1024xf32>
    %19 = linalg.batch_matmul ins(%x, %16 : tensor<?x1x4096xbf16>, tensor<?x4096x1024xbf16>) outs(%18 : tensor<?x1x1024xf32>) -> tensor<?x1x1024xf32>
    %20 = tensor.empty(%batch) : tensor<?x1x1024xbf16>
    %21 = linalg.generic {
        indexing_maps = [#map15, #map], iterator_types = ["parallel", "parallel", "parallel"]}
        ins(%19 : tensor<?x1x1024xf32>) outs(%20 : tensor<?x1x1024xbf16>) {
    ^bb0(%in: f32, %out: bf16):
      %22 = arith.truncf %in : f32 to bf16
      linalg.yield %22 : bf16
    } -> tensor<?x1x1024xbf16>
    %23 = tensor.expand_shape %21 [[0], [1], [2, 3]] output_shape [%batch, 1, 8, 128] : tensor<?x1x1024xbf16> into tensor<?x1x8x128xbf16>
    %24 = tensor.empty(%batch) : tensor<?x8x1x128xbf16>
    %25 = linalg.transpose ins(%23 : tensor<?x1x8x128xbf16>) outs(%24 : tensor<?x8x1x128xbf16>) permutation = [0, 2, 1, 3]
    %26 = tensor.empty() : tensor<4096x1024xbf16>
    %27 = linalg.transpose ins(%wv : tensor<1024x4096xbf16>) outs(%26 : tensor<4096x1024xbf16>) permutation = [1, 0]
    %28 = tensor.empty(%batch) : tensor<?x4096x1024xbf16>
    %29 = linalg.broadcast ins(%27 : tensor<4096x1024xbf16>) outs(%28 : tensor<?x4096x1024xbf16>) dimensions = [0]
    %30 = tensor.empty(%batch) : tensor<?x1x1024xf32>
    %31 = linalg.fill ins(%cst : f32) outs(%30 : tensor<?x1x1024xf32>) -> tensor<?x1x1024xf32>
    %32 = linalg.batch_matmul ins(%x, %29 : tensor<?x1x4096xbf16>, tensor<?x4096x1024xbf16>) outs(%31 : tensor<?x1x1024xf32>) -> tensor<?x1x1024xf32>
    %33 = tensor.empty(%batch) : tensor<?x1x1024xbf16>
    %34 = linalg.generic {
        indexing_maps = [#map15, #map], iterator_types = ["parallel", "parallel", "parallel"]}
        ins(%32 : tensor<?x1x1024xf32>) outs(%33 : tensor<?x1x1024xbf16>) {
    ^bb0(%in: f32, %out: bf16):
      %35 = arith.truncf %in : f32 to bf16
      linalg.yield %35 : bf16
    } -> tensor<?x1x1024xbf16>
    %36 = tensor.expand_shape %34 [[0], [1], [2, 3]] output_shape [%batch, 1, 8, 128] : tensor<?x1x1024xbf16> into tensor<?x1x8x128xbf16>
    %37 = tensor.empty(%batch) : tensor<?x8x1x128xbf16>
    %38 = linalg.transpose ins(%36 : tensor<?x1x8x128xbf16>) outs(%37 : tensor<?x8x1x128xbf16>) permutation = [0, 2, 1, 3]
    // Rotary embedding; the positions are those after the cached tokens.
    %39 = tensor.empty() : tensor<1xi64>
    %40 = linalg.generic {
        indexing_maps = [#map1], iterator_types = ["parallel"]}
        outs(%39 : tensor<1xi64>) {
    ^bb0(%out: i64):
      %41 = linalg.index 0 : index
      %42 = arith.addi %41, %past : index
      %43 = arith.index_cast %42 : index to i64
      linalg.yield %43 : i64
    } -> tensor<1xi64>
    %44 = tensor.expand_shape %40 [[0, 1]] output_shape [1, 1] : tensor<1xi64> into tensor<1x1xi64>
    %45 = tensor.empty() : tensor<1x1xf32>
    %46 = linalg.generic {
        indexing_maps = [#map16, #map3], iterator_types = ["parallel", "parallel"]}
        ins(%44 : tensor<1x1xi64>) outs(%45 : tensor<1x1xf32>) {
    ^bb0(%in: i64, %out: f32):
      %47 = arith.sitofp %in : i64 to f32
      linalg.yield %47 : f32
    } -> tensor<1x1xf32>
    %48 = tensor.expand_shape %46 [[0], [1, 2]] output_shape [1, 1, 1] : tensor<1x1xf32> into tensor<1x1x1xf32>
    %49 = tensor.empty() : tensor<1x1x64xf32>
    %50 = linalg.generic {
        indexing_maps = [#map17, #map5, #map], iterator_types = ["parallel", "parallel", "parallel"]}
        ins(%48, %cst_1 : tensor<1x1x1xf32>, tensor<64xf32>) outs(%49 : tensor<1x1x64xf32>) {
    ^bb0(%in: f32, %in_1: f32, %out: f32):
      %51 = arith.mulf %in, %in_1 : f32
      linalg.yield %51 : f32
    } -> tensor<1x1x64xf32>
    %52 = tensor.empty() : tensor<1x1x128xf32>
    %53 = tensor.insert_slice %50 into %52[0, 0, 0] [1, 1, 64] [1, 1, 1] : tensor<1x1x64xf32> into tensor<1x1x128xf32>
    %54 = tensor.insert_slice %50 into %53[0, 0, 64] [1, 1, 64] [1, 1, 1] : tensor<1x1x64xf32> into tensor<1x1x128xf32>
    %55 = tensor.empty() : tensor<1x1x128xf32>
    %56 = linalg.generic {
        indexing_maps = [#map18, #map], iterator_types = ["parallel", "parallel", "parallel"]}
        ins(%54 : tensor<1x1x128xf32>) outs(%55 : tensor<1x1x128xf32>) {
    ^bb0(%in: f32, %out: f32):
      %57 = math.cos %in : f32
      linalg.yield %57 : f32
    } -> tensor<1x1x128xf32>
    %58 = tensor.empty() : tensor<1x1x128xf32>
    %59 = linalg.generic {
        indexing_maps = [#map18, #map], iterator_types = ["parallel", "parallel", "parallel"]}
        ins(%54 : tensor<1x1x128xf32>) outs(%58 : tensor<1x1x128xf32>) {
    ^bb0(%in: f32, %out: f32):
      %60 = math.sin %in : f32
      linalg.yield %60 : f32
    } -> tensor<1x1x128xf32>
    %61 = tensor.empty() : tensor<1x1x128xbf16>
    %62 = linalg.generic {
        indexing_maps = [#map18, #map], iterator_types = ["parallel", "parallel", "parallel"]}
        ins(%56 : tensor<1x1x128xf32>) outs(%61 : tensor<1x1x128xbf16>) {
    ^bb0(%in: f32, %out: bf16):
      %63 = arith.truncf %in : f32 to bf16
      linalg.yield %63 : bf16
    } -> tensor<1x1x128xbf16>
    %64 = tensor.expand_shape %62 [[0], [1, 2], [3]] output_shape [1, 1, 1, 128] : tensor<1x1x128xbf16> into tensor<1x1x1x128xbf16>
    %65 = tensor.empty() : tensor<1x1x128xbf16>
    %66 = linalg.generic {
        indexing_maps = [#map18, #map], iterator_types = ["parallel", "parallel", "parallel"]}
        ins(%59 : tensor<1x1x128xf32>) outs(%65 : tensor<1x1x128xbf16>) {
    ^bb0(%in: f32, %out: bf16):
      %67 = arith.truncf %in : f32 to bf16
      linalg.yield %67 : bf16
    } -> tensor<1x1x128xbf16>
    %68 = tensor.expand_shape %66 [[0], [1, 2], [3]] output_shape [1, 1, 1, 128] : tensor<1x1x128xbf16> into tensor<1x1x1x128xbf16>
    %69 = tensor.empty(%batch) : tensor<?x32x1x128xbf16>
    %70 = linalg.generic {
        indexing_maps = [#map19, #map20, #map7], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
        ins(%12, %64 : tensor<?x32x1x128xbf16>, tensor<1x1x1x128xbf16>) outs(%69 : tensor<?x32x1x128xbf16>) {
    ^bb0(%in: bf16, %in_1: bf16, %out: bf16):
      %71 = arith.mulf %in, %in_1 : bf16
      linalg.yield %71 : bf16
    } -> tensor<?x32x1x128xbf16>
    %72 = tensor.extract_slice %12[0, 0, 0, 0] [%batch, 32, 1, 64] [1, 1, 1, 1] : tensor<?x32x1x128xbf16> to tensor<?x32x1x64xbf16>
    %73 = tensor.extract_slice %12[0, 0, 0, 64] [%batch, 32, 1, 64] [1, 1, 1, 1] : tensor<?x32x1x128xbf16> to tensor<?x32x1x64xbf16>
    %74 = tensor.empty(%batch) : tensor<?x32x1x64xbf16>
    %75 = linalg.generic {
        indexing_maps = [#map19, #map7], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
        ins(%73 : tensor<?x32x1x64xbf16>) outs(%74 : tensor<?x32x1x64xbf16>) {
    ^bb0(%in: bf16, %out: bf16):
      %76 = arith.negf %in : bf16
      linalg.yield %76 : bf16
    } -> tensor<?x32x1x64xbf16>
    %77 = tensor.empty(%batch) : tensor<?x32x1x128xbf16>
    %78 = tensor.insert_slice %75 into %77[0, 0, 0, 0] [%batch, 32, 1, 64] [1, 1, 1, 1] : tensor<?x32x1x64xbf16> into tensor<?x32x1x128xbf16>
    %79 = tensor.insert_slice %72 into %78[0, 0, 0, 64] [%batch, 32, 1, 64] [1, 1, 1, 1] : tensor<?x32x1x64xbf16> into tensor<?x32x1x128xbf16>
    %80 = tensor.empty(%batch) : tensor<?x32x1x128xbf16>
    %81 = linalg.generic {
        indexing_maps = [#map19, #map20, #map7], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
        ins(%79, %68 : tensor<?x32x1x128xbf16>, tensor<1x1x1x128xbf16>) outs(%80 : tensor<?x32x1x128xbf16>) {
    ^bb0(%in: bf16, %in_1: bf16, %out: bf16):
      %82 = arith.mulf %in, %in_1 : bf16
      linalg.yield %82 : bf16
    } -> tensor<?x32x1x128xbf16>
    %83 = tensor.empty(%batch) : tensor<?x32x1x128xbf16>
    %84 = linalg.generic {
        indexing_maps = [#map19, #map19, #map7], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
        ins(%70, %81 : tensor<?x32x1x128xbf16>, tensor<?x32x1x128xbf16>) outs(%83 : tensor<?x32x1x128xbf16>) {
    ^bb0(%in: bf16, %in_1: bf16, %out: bf16):
      %85 = arith.addf %in, %in_1 : bf16
      linalg.yield %85 : bf16
    } -> tensor<?x32x1x128xbf16>
    %86 = tensor.empty(%batch) : tensor<?x8x1x128xbf16>
    %87 = linalg.generic {
        indexing_maps = [#map19, #map20, #map7], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
        ins(%25, %64 : tensor<?x8x1x128xbf16>, tensor<1x1x1x128xbf16>) outs(%86 : tensor<?x8x1x128xbf16>) {
    ^bb0(%in: bf16, %in_1: bf16, %out: bf16):
      %88 = arith.mulf %in, %in_1 : bf16
      linalg.yield %88 : bf16
    } -> tensor<?x8x1x128xbf16>
    %89 = tensor.extract_slice %25[0, 0, 0, 0] [%batch, 8, 1, 64] [1, 1, 1, 1] : tensor<?x8x1x128xbf16> to tensor<?x8x1x64xbf16>
    %90 = tensor.extract_slice %25[0, 0, 0, 64] [%batch, 8, 1, 64] [1, 1, 1, 1] : tensor<?x8x1x128xbf16> to tensor<?x8x1x64xbf16>
    %91 = tensor.empty(%batch) : tensor<?x8x1x64xbf16>
    %92 = linalg.generic {
        indexing_maps = [#map19, #map7], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
        ins(%90 : tensor<?x8x1x64xbf16>) outs(%91 : tensor<?x8x1x64xbf16>) {
    ^bb0(%in: bf16, %out: bf16):
      %93 = arith.negf %in : bf16
      linalg.yield %93 : bf16
    } -> tensor<?x8x1x64xbf16>
    %94 = tensor.empty(%batch) : tensor<?x8x1x128xbf16>
    %95 = tensor.insert_slice %92 into %94[0, 0, 0, 0] [%batch, 8, 1, 64] [1, 1, 1, 1] : tensor<?x8x1x64xbf16> into tensor<?x8x1x128xbf16>
    %96 = tensor.insert_slice %89 into %95[0, 0, 0, 64] [%batch, 8, 1, 64] [1, 1, 1, 1] : tensor<?x8x1x64xbf16> into tensor<?x8x1x128xbf16>
    %97 = tensor.empty(%batch) : tensor<?x8x1x128xbf16>
    %98 = linalg.generic {
        indexing_maps = [#map19, #map20, #map7], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
        ins(%96, %68 : tensor<?x8x1x128xbf16>, tensor<1x1x1x128xbf16>) outs(%97 : tensor<?x8x1x128xbf16>) {
    ^bb0(%in: bf16, %in_1: bf16, %out: bf16):
      %99 = arith.mulf %in, %in_1 : bf16
      linalg.yield %99 : bf16
    } -> tensor<?x8x1x128xbf16>
    %100 = tensor.empty(%batch) : tensor<?x8x1x128xbf16>
    %101 = linalg.generic {
        indexing_maps = [#map19, #map19, #map7], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
        ins(%87, %98 : tensor<?x8x1x128xbf16>, tensor<?x8x1x128xbf16>) outs(%100 : tensor<?x8x1x128xbf16>) {
    ^bb0(%in: bf16, %in_1: bf16, %out: bf16):
      %102 = arith.addf %in, %in_1 : bf16
      linalg.yield %102 : bf16
    } -> tensor<?x8x1x128xbf16>
    // The cache.
    %103 = arith.addi %past, %c1 : index
    %104 = tensor.empty(%batch, %103) : tensor<?x8x?x128xbf16>
    %105 = tensor.insert_slice %past_k into %104[0, 0, 0, 0] [%batch, 8, %past, 128] [1, 1, 1, 1] : tensor<?x8x?x128xbf16> into tensor<?x8x?x128xbf16>
    %106 = tensor.insert_slice %101 into %105[0, 0, %past, 0] [%batch, 8, 1, 128] [1, 1, 1, 1] : tensor<?x8x1x128xbf16> into tensor<?x8x?x128xbf16>
    %107 = tensor.empty(%batch, %103) : tensor<?x8x?x128xbf16>
    %108 = tensor.insert_slice %past_v into %107[0, 0, 0, 0] [%batch, 8, %past, 128] [1, 1, 1, 1] : tensor<?x8x?x128xbf16> into tensor<?x8x?x128xbf16>
    %109 = tensor.insert_slice %38 into %108[0, 0, %past, 0] [%batch, 8, 1, 128] [1, 1, 1, 1] : tensor<?x8x1x128xbf16> into tensor<?x8x?x128xbf16>
    // Attention in a window; queries and keys share the scale.
    %110 = tensor.expand_shape %106 [[0], [1], [2, 3], [4]] output_shape [%batch, 8, 1, %103, 128] : tensor<?x8x?x128xbf16> into tensor<?x8x1x?x128xbf16>
    %111 = tensor.empty(%batch, %103) : tensor<?x8x4x?x128xbf16>
    %112 = linalg.generic {
        indexing_maps = [#map9, #map10], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]}
        ins(%110 : tensor<?x8x1x?x128xbf16>) outs(%111 : tensor<?x8x4x?x128xbf16>) {
    ^bb0(%in: bf16, %out: bf16):
      linalg.yield %in : bf16
    } -> tensor<?x8x4x?x128xbf16>
    %113 = tensor.collapse_shape %112 [[0], [1, 2], [3], [4]] : tensor<?x8x4x?x128xbf16> into tensor<?x32x?x128xbf16>
    %114 = tensor.expand_shape %109 [[0], [1], [2, 3], [4]] output_shape [%batch, 8, 1, %103, 128] : tensor<?x8x?x128xbf16> into tensor<?x8x1x?x128xbf16>
    %115 = tensor.empty(%batch, %103) : tensor<?x8x4x?x128xbf16>
    %116 = linalg.generic {
        indexing_maps = [#map9, #map10], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]}
        ins(%114 : tensor<?x8x1x?x128xbf16>) outs(%115 : tensor<?x8x4x?x128xbf16>) {
    ^bb0(%in: bf16, %out: bf16):
      linalg.yield %in : bf16
    } -> tensor<?x8x4x?x128xbf16>
    %117 = tensor.collapse_shape %116 [[0], [1, 2], [3], [4]] : tensor<?x8x4x?x128xbf16> into tensor<?x32x?x128xbf16>
    %118 = tensor.empty(%batch) : tensor<?x32x1x128xbf16>
    %119 = linalg.generic {
        indexing_maps = [#map19, #map7], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
        ins(%84 : tensor<?x32x1x128xbf16>) outs(%118 : tensor<?x32x1x128xbf16>) {
    ^bb0(%in: bf16, %out: bf16):
      %120 = arith.extf %in : bf16 to f32
      %121 = arith.mulf %120, %cst_2 : f32
      %122 = arith.truncf %121 : f32 to bf16
      linalg.yield %122 : bf16
    } -> tensor<?x32x1x128xbf16>
    %123 = tensor.empty(%batch, %103) : tensor<?x32x128x?xbf16>
    %124 = linalg.transpose ins(%113 : tensor<?x32x?x128xbf16>) outs(%123 : tensor<?x32x128x?xbf16>) permutation = [0, 1, 3, 2]
    %125 = tensor.empty(%batch, %103) : tensor<?x32x128x?xbf16>
    %126 = linalg.generic {
        indexing_maps = [#map7, #map7], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
        ins(%124 : tensor<?x32x128x?xbf16>) outs(%125 : tensor<?x32x128x?xbf16>) {
    ^bb0(%in: bf16, %out: bf16):
      %127 = arith.extf %in : bf16 to f32
      %128 = arith.mulf %127, %cst_2 : f32
      %129 = arith.truncf %128 : f32 to bf16
      linalg.yield %129 : bf16
    } -> tensor<?x32x128x?xbf16>
    %130 = arith.muli %batch, %c32 : index
    %131 = tensor.collapse_shape %119 [[0, 1], [2], [3]] : tensor<?x32x1x128xbf16> into tensor<?x1x128xbf16>
    %132 = tensor.collapse_shape %126 [[0, 1], [2], [3]] : tensor<?x32x128x?xbf16> into tensor<?x128x?xbf16>
    %133 = tensor.empty(%130, %103) : tensor<?x1x?xf32>
    %134 = linalg.fill ins(%cst : f32) outs(%133 : tensor<?x1x?xf32>) -> tensor<?x1x?xf32>
    %135 = linalg.batch_matmul ins(%131, %132 : tensor<?x1x128xbf16>, tensor<?x128x?xbf16>) outs(%134 : tensor<?x1x?xf32>) -> tensor<?x1x?xf32>
    %136 = tensor.empty(%130, %103) : tensor<?x1x?xbf16>
    %137 = linalg.generic {
        indexing_maps = [#map15, #map], iterator_types = ["parallel", "parallel", "parallel"]}
        ins(%135 : tensor<?x1x?xf32>) outs(%136 : tensor<?x1x?xbf16>) {
    ^bb0(%in: f32, %out: bf16):
      %138 = arith.truncf %in : f32 to bf16
      linalg.yield %138 : bf16
    } -> tensor<?x1x?xbf16>
    %139 = tensor.expand_shape %137 [[0, 1], [2], [3]] output_shape [%batch, 32, 1, %103] : tensor<?x1x?xbf16> into tensor<?x32x1x?xbf16>
    %140 = tensor.empty(%103) : tensor<?xi64>
    %141 = linalg.generic {
        indexing_maps = [#map1], iterator_types = ["parallel"]}
        outs(%140 : tensor<?xi64>) {
    ^bb0(%out: i64):
      %142 = linalg.index 0 : index
      %143 = arith.index_cast %142 : index to i64
      linalg.yield %143 : i64
    } -> tensor<?xi64>
    %144 = tensor.expand_shape %40 [[0, 1]] output_shape [1, 1] : tensor<1xi64> into tensor<1x1xi64>
    %145 = tensor.empty(%103) : tensor<1x?xi1>
    %146 = linalg.generic {
        indexing_maps = [#map11, #map16, #map3], iterator_types = ["parallel", "parallel"]}
        ins(%141, %144 : tensor<?xi64>, tensor<1x1xi64>) outs(%145 : tensor<1x?xi1>) {
    ^bb0(%in: i64, %in_1: i64, %out: i1):
      %147 = arith.cmpi sle, %in, %in_1 : i64
      linalg.yield %147 : i1
    } -> tensor<1x?xi1>
    %148 = tensor.empty(%103) : tensor<1x?xi1>
    %149 = linalg.generic {
        indexing_maps = [#map11, #map16, #map3], iterator_types = ["parallel", "parallel"]}
        ins(%141, %144 : tensor<?xi64>, tensor<1x1xi64>) outs(%148 : tensor<1x?xi1>) {
    ^bb0(%in: i64, %in_1: i64, %out: i1):
      %150 = arith.subi %in_1, %c4096_i64 : i64
      %151 = arith.cmpi sgt, %in, %150 : i64
      linalg.yield %151 : i1
    } -> tensor<1x?xi1>
    %152 = tensor.empty(%103) : tensor<1x?xi1>
    %153 = linalg.generic {
        indexing_maps = [#map2, #map2, #map3], iterator_types = ["parallel", "parallel"]}
        ins(%146, %149 : tensor<1x?xi1>, tensor<1x?xi1>) outs(%152 : tensor<1x?xi1>) {
    ^bb0(%in: i1, %in_1: i1, %out: i1):
      %154 = arith.andi %in, %in_1 : i1
      linalg.yield %154 : i1
    } -> tensor<1x?xi1>
    %155 = tensor.empty(%103) : tensor<1x?xbf16>
    %156 = linalg.generic {
        indexing_maps = [#map2, #map3], iterator_types = ["parallel", "parallel"]}
        ins(%153 : tensor<1x?xi1>) outs(%155 : tensor<1x?xbf16>) {
    ^bb0(%in: i1, %out: bf16):
      %157 = arith.select %in, %cst_3, %cst_4 : bf16
      linalg.yield %157 : bf16
    } -> tensor<1x?xbf16>
    %158 = tensor.empty(%batch, %103) : tensor<?x32x1x?xbf16>
    %159 = linalg.generic {
        indexing_maps = [#map19, #map21, #map7], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
        ins(%139, %156 : tensor<?x32x1x?xbf16>, tensor<1x?xbf16>) outs(%158 : tensor<?x32x1x?xbf16>) {
    ^bb0(%in: bf16, %in_1: bf16, %out: bf16):
      %160 = arith.addf %in, %in_1 : bf16
      linalg.yield %160 : bf16
    } -> tensor<?x32x1x?xbf16>
    %161 = tensor.empty(%batch, %103) : tensor<?x32x1x?xf32>
    %162 = linalg.generic {
        indexing_maps = [#map19, #map7], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
        ins(%159 : tensor<?x32x1x?xbf16>) outs(%161 : tensor<?x32x1x?xf32>) {
    ^bb0(%in: bf16, %out: f32):
      %163 = arith.extf %in : bf16 to f32
      linalg.yield %163 : f32
    } -> tensor<?x32x1x?xf32>
    %164 = tensor.empty(%batch) : tensor<?x32x1x1xf32>
    %165 = linalg.fill ins(%cst_5 : f32) outs(%164 : tensor<?x32x1x1xf32>) -> tensor<?x32x1x1xf32>
    %166 = linalg.generic {
        indexing_maps = [#map7, #map14], iterator_types = ["parallel", "parallel", "parallel", "reduction"]}
        ins(%162 : tensor<?x32x1x?xf32>) outs(%165 : tensor<?x32x1x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      %167 = arith.maximumf %in, %out : f32
      linalg.yield %167 : f32
    } -> tensor<?x32x1x1xf32>
    %168 = tensor.empty(%batch, %103) : tensor<?x32x1x?xf32>
    %169 = linalg.generic {
        indexing_maps = [#map19, #map22, #map7], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
        ins(%162, %166 : tensor<?x32x1x?xf32>, tensor<?x32x1x1xf32>) outs(%168 : tensor<?x32x1x?xf32>) {
    ^bb0(%in: f32, %in_1: f32, %out: f32):
      %170 = arith.subf %in, %in_1 : f32
      linalg.yield %170 : f32
    } -> tensor<?x32x1x?xf32>
    %171 = tensor.empty(%batch, %103) : tensor<?x32x1x?xf32>
    %172 = linalg.generic {
        indexing_maps = [#map19, #map7], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
        ins(%169 : tensor<?x32x1x?xf32>) outs(%171 : tensor<?x32x1x?xf32>) {
    ^bb0(%in: f32, %out: f32):
      %173 = math.exp %in : f32
      linalg.yield %173 : f32
    } -> tensor<?x32x1x?xf32>
    %174 = tensor.empty(%batch) : tensor<?x32x1x1xf32>
    %175 = linalg.fill ins(%cst : f32) outs(%174 : tensor<?x32x1x1xf32>) -> tensor<?x32x1x1xf32>
    %176 = linalg.generic {
        indexing_maps = [#map7, #map14], iterator_types = ["parallel", "parallel", "parallel", "reduction"]}
        ins(%172 : tensor<?x32x1x?xf32>) outs(%175 : tensor<?x32x1x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      %177 = arith.addf %in, %out : f32
      linalg.yield %177 : f32
    } -> tensor<?x32x1x1xf32>
    %178 = tensor.empty(%batch, %103) : tensor<?x32x1x?xf32>
    %179 = linalg.generic {
        indexing_maps = [#map19, #map22, #map7], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
        ins(%172, %176 : tensor<?x32x1x?xf32>, tensor<?x32x1x1xf32>) outs(%178 : tensor<?x32x1x?xf32>) {
    ^bb0(%in: f32, %in_1: f32, %out: f32):
      %180 = arith.divf %in, %in_1 : f32
      linalg.yield %180 : f32
    } -> tensor<?x32x1x?xf32>
    %181 = tensor.empty(%batch, %103) : tensor<?x32x1x?xbf16>
    %182 = linalg.generic {
        indexing_maps = [#map19, #map7], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
        ins(%179 : tensor<?x32x1x?xf32>) outs(%181 : tensor<?x32x1x?xbf16>) {
    ^bb0(%in: f32, %out: bf16):
      %183 = arith.truncf %in : f32 to bf16
      linalg.yield %183 : bf16
    } -> tensor<?x32x1x?xbf16>
    %184 = tensor.collapse_shape %182 [[0, 1], [2], [3]] : tensor<?x32x1x?xbf16> into tensor<?x1x?xbf16>
    %185 = tensor.collapse_shape %117 [[0, 1], [2], [3]] : tensor<?x32x?x128xbf16> into tensor<?x?x128xbf16>
    %186 = tensor.empty(%130) : tensor<?x1x128xf32>
    %187 = linalg.fill ins(%cst : f32) outs(%186 : tensor<?x1x128xf32>) -> tensor<?x1x128xf32>
    %188 = linalg.batch_matmul ins(%184, %185 : tensor<?x1x?xbf16>, tensor<?x?x128xbf16>) outs(%187 : tensor<?x1x128xf32>) -> tensor<?x1x128xf32>
    %189 = tensor.empty(%130) : tensor<?x1x128xbf16>
    %190 = linalg.generic {
        indexing_maps = [#map15, #map], iterator_types = ["parallel", "parallel", "parallel"]}
        ins(%188 : tensor<?x1x128xf32>) outs(%189 : tensor<?x1x128xbf16>) {
    ^bb0(%in: f32, %out: bf16):
      %191 = arith.truncf %in : f32 to bf16
      linalg.yield %191 : bf16
    } -> tensor<?x1x128xbf16>
    %192 = tensor.expand_shape %190 [[0, 1], [2], [3]] output_shape [%batch, 32, 1, 128] : tensor<?x1x128xbf16> into tensor<?x32x1x128xbf16>
    %193 = tensor.empty(%batch) : tensor<?x1x32x128xbf16>
    %194 = linalg.transpose ins(%192 : tensor<?x32x1x128xbf16>) outs(%193 : tensor<?x1x32x128xbf16>) permutation = [0, 2, 1, 3]
    %195 = tensor.collapse_shape %194 [[0], [1], [2, 3]] : tensor<?x1x32x128xbf16> into tensor<?x1x4096xbf16>
    %196 = tensor.empty() : tensor<4096x4096xbf16>
    %197 = linalg.transpose ins(%wo : tensor<4096x4096xbf16>) outs(%196 : tensor<4096x4096xbf16>) permutation = [1, 0]
    %198 = tensor.empty(%batch) : tensor<?x4096x4096xbf16>
    %199 = linalg.broadcast ins(%197 : tensor<4096x4096xbf16>) outs(%198 : tensor<?x4096x4096xbf16>) dimensions = [0]
    %200 = tensor.empty(%batch) : tensor<?x1x4096xf32>
    %201 = linalg.fill ins(%cst : f32) outs(%200 : tensor<?x1x4096xf32>) -> tensor<?x1x4096xf32>
    %202 = linalg.batch_matmul ins(%195, %199 : tensor<?x1x4096xbf16>, tensor<?x4096x4096xbf16>) outs(%201 : tensor<?x1x4096xf32>) -> tensor<?x1x4096xf32>
    %203 = tensor.empty(%batch) : tensor<?x1x4096xbf16>
    %204 = linalg.generic {
        indexing_maps = [#map15, #map], iterator_types = ["parallel", "parallel", "parallel"]}
        ins(%202 : tensor<?x1x4096xf32>) outs(%203 : tensor<?x1x4096xbf16>) {
    ^bb0(%in: f32, %out: bf16):
      %205 = arith.truncf %in : f32 to bf16
      linalg.yield %205 : bf16
    } -> tensor<?x1x4096xbf16>
    return %204, %106, %109 : tensor<?x1x4096xbf16>, tensor<?x8x?x128xbf16>, tensor<?x8x?x128xbf16>
  }
}
