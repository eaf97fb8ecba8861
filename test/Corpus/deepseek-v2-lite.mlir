// The attention of one layer of DeepSeek-V2-Lite (arXiv:2405.04434).
// Made by test/Corpus/generate.py.

#map = affine_map<(d0, d1) -> (d0, d1)>
#map1 = affine_map<(d0, d1, d2) -> (d0, d1, d2)>
#map2 = affine_map<(d0, d1, d2) -> (d0, d1, 0)>
#map3 = affine_map<(d0, d1, d2) -> (d2)>
#map4 = affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>
#map5 = affine_map<(d0, d1, d2, d3) -> (d0, 0, d2, d3)>
#map6 = affine_map<(d0, d1, d2, d3) -> (0, 0, d2, d3)>
#map7 = affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, 0)>
#map8 = affine_map<(d0, d1, d2) -> (d0, 0, d2)>
#map9 = affine_map<(d0, d1, d2) -> (d0, 0, 0)>
#map10 = affine_map<(d0, d1) -> (d0, 0)>
#map11 = affine_map<(d0, d1, d2, d3) -> (d0, d1, 0, d3)>
#map12 = affine_map<(d0, d1, d2, d3) -> (d0, 0, 0, d3)>
#map13 = affine_map<(d0, d1, d2, d3) -> (0, 0, 0, d3)>
#map14 = affine_map<(d0, d1, d2, d3) -> (d0, d1, 0, 0)>
module {
  func.func @prefill(%x: tensor<?x?x2048xbf16>,
                     %position_ids: tensor<?x?xi64> {kvc.positions},
                     %wq: tensor<3072x2048xbf16>,
                     %wkv_a: tensor<576x2048xbf16>,
                     %kv_a_norm: tensor<512xbf16>,
                     %wkv_b: tensor<4096x512xbf16>,
                     %wo: tensor<2048x2048xbf16>)
      -> (tensor<?x?x2048xbf16>,
          tensor<?x16x?x192xbf16> {kvc.cache = "k"},
          tensor<?x16x?x128xbf16> {kvc.cache = "v"}) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %cst = arith.constant 0.0 : f32
    %cst_1 = arith.constant 2.0 : f32
    %cst_2 = arith.constant 512.0 : f32
    %cst_3 = arith.constant 1.0e-06 : f32
    %cst_4 = arith.constant dense<[1.0, 0.749894209, 0.562341325, 0.421696503, 0.316227766,
        0.237137371, 0.177827941, 0.133352143, 0.1, 0.0749894209, 0.0562341325, 0.0390069266,
        0.0268793601, 0.0183781462, 0.0124479559, 0.00833450895, 0.0055, 0.00356199749,
        0.0022493653, 0.00137051364, 0.000790569415, 0.000414990398, 0.000177827941, 3.33380358e-05,
        2.5e-05, 1.87473552e-05, 1.40585331e-05, 1.05424126e-05, 7.90569415e-06, 5.92843426e-06,
        4.44569853e-06, 3.33380358e-06]> : tensor<32xf32>
    %c16 = arith.constant 16 : index
    %cst_5 = arith.constant 0.114721387 : f32
    %cst_6 = arith.constant 0.0 : bf16
    %cst_7 = arith.constant -3.38953139e+38 : bf16
    %cst_8 = arith.constant 0xFF800000 : f32
    %batch = tensor.dim %x, %c0 : tensor<?x?x2048xbf16>
    %tokens = tensor.dim %x, %c1 : tensor<?x?x2048xbf16>
    // Queries, without and with rotary embedding.
    %0 = arith.muli %batch, %tokens : index
    %1 = tensor.collapse_shape %x [[0, 1], [2]] : tensor<?x?x2048xbf16> into tensor<?x2048xbf16>
    %2 = tensor.empty() : tensor<2048x3072xbf16>
    %3 = linalg.transpose ins(%wq : tensor<3072x2048xbf16>) outs(%2 : tensor<2048x3072xbf16>) permutation = [1, 0]
    %4 = tensor.empty(%0) : tensor<?x3072xf32>
    %5 = linalg.fill ins(%cst : f32) outs(%4 : tensor<?x3072xf32>) -> tensor<?x3072xf32>
    %6 = linalg.matmul ins(%1, %3 : tensor<?x2048xbf16>, tensor<2048x3072xbf16>) outs(%5 : tensor<?x3072xf32>) -> tensor<?x3072xf32>
    %7 = tensor.empty(%0) : tensor<?x3072xbf16>
    %8 = linalg.generic {
        indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel"]}
        ins(%6 : tensor<?x3072xf32>) outs(%7 : tensor<?x3072xbf16>) {
    ^bb0(%in: f32, %out: bf16):
      %9 = arith.truncf %in : f32 to bf16
      linalg.yield %9 : bf16
    } -> tensor<?x3072xbf16>
    %10 = tensor.expand_shape %8 [[0, 1], [2]] output_shape [%batch, %tokens, 3072] : tensor<?x3072xbf16> into tensor<?x?x3072xbf16>
    %11 = tensor.expand_shape %10 [[0], [1], [2, 3]] output_shape [%batch, %tokens, 16, 192] : tensor<?x?x3072xbf16> into tensor<?x?x16x192xbf16>
    %12 = tensor.empty(%batch, %tokens) : tensor<?x16x?x192xbf16>
    %13 = linalg.transpose ins(%11 : tensor<?x?x16x192xbf16>) outs(%12 : tensor<?x16x?x192xbf16>) permutation = [0, 2, 1, 3]
    %14 = tensor.extract_slice %13[0, 0, 0, 0] [%batch, 16, %tokens, 128] [1, 1, 1, 1] : tensor<?x16x?x192xbf16> to tensor<?x16x?x128xbf16>
    %15 = tensor.extract_slice %13[0, 0, 0, 128] [%batch, 16, %tokens, 64] [1, 1, 1, 1] : tensor<?x16x?x192xbf16> to tensor<?x16x?x64xbf16>
    // The latent row and the rotary part of the keys, then keys and values of it.
    %16 = tensor.collapse_shape %x [[0, 1], [2]] : tensor<?x?x2048xbf16> into tensor<?x2048xbf16>
    %17 = tensor.empty() : tensor<2048x576xbf16>
    %18 = linalg.transpose ins(%wkv_a : tensor<576x2048xbf16>) outs(%17 : tensor<2048x576xbf16>) permutation = [1, 0]
    %19 = tensor.empty(%0) : tensor<?x576xf32>
    %20 = linalg.fill ins(%cst : f32) outs(%19 : tensor<?x576xf32>) -> tensor<?x576xf32>
    %21 = linalg.matmul ins(%16, %18 : tensor<?x2048xbf16>, tensor<2048x576xbf16>) outs(%20 : tensor<?x576xf32>) -> tensor<?x576xf32>
    %22 = tensor.empty(%0) : tensor<?x576xbf16>
    %23 = linalg.generic {
        indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel"]}
        ins(%21 : tensor<?x576xf32>) outs(%22 : tensor<?x576xbf16>) {
    ^bb0(%in: f32, %out: bf16):
      %24 = arith.truncf %in : f32 to bf16
      linalg.yield %24 : bf16
    } -> tensor<?x576xbf16>
    %25 = tensor.expand_shape %23 [[0, 1], [2]] output_shape [%batch, %tokens, 576] : tensor<?x576xbf16> into tensor<?x?x576xbf16>
    %26 = tensor.extract_slice %25[0, 0, 0] [%batch, %tokens, 512] [1, 1, 1] : tensor<?x?x576xbf16> to tensor<?x?x512xbf16>
    %27 = tensor.extract_slice %25[0, 0, 512] [%batch, %tokens, 64] [1, 1, 1] : tensor<?x?x576xbf16> to tensor<?x?x64xbf16>
    %28 = tensor.empty(%batch, %tokens) : tensor<?x?x512xf32>
    %29 = linalg.generic {
        indexing_maps = [#map1, #map1], iterator_types = ["parallel", "parallel", "parallel"]}
        ins(%26 : tensor<?x?x512xbf16>) outs(%28 : tensor<?x?x512xf32>) {
    ^bb0(%in: bf16, %out: f32):
      %30 = arith.extf %in : bf16 to f32
      linalg.yield %30 : f32
    } -> tensor<?x?x512xf32>
    %31 = tensor.empty(%batch, %tokens) : tensor<?x?x512xf32>
    %32 = linalg.generic {
        indexing_maps = [#map1, #map1], iterator_types = ["parallel", "parallel", "parallel"]}
        ins(%29 : tensor<?x?x512xf32>) outs(%31 : tensor<?x?x512xf32>) {
    ^bb0(%in: f32, %out: f32):
      %33 = math.powf %in, %cst_1 : f32
      linalg.yield %33 : f32
    } -> tensor<?x?x512xf32>
    %34 = tensor.empty(%batch, %tokens) : tensor<?x?x1xf32>
    %35 = linalg.fill ins(%cst : f32) outs(%34 : tensor<?x?x1xf32>) -> tensor<?x?x1xf32>
    %36 = linalg.generic {
        indexing_maps = [#map1, #map2], iterator_types = ["parallel", "parallel", "reduction"]}
        ins(%32 : tensor<?x?x512xf32>) outs(%35 : tensor<?x?x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      %37 = arith.addf %in, %out : f32
      linalg.yield %37 : f32
    } -> tensor<?x?x1xf32>
    %38 = tensor.empty(%batch, %tokens) : tensor<?x?x1xf32>
    %39 = linalg.generic {
        indexing_maps = [#map2, #map1], iterator_types = ["parallel", "parallel", "parallel"]}
        ins(%36 : tensor<?x?x1xf32>) outs(%38 : tensor<?x?x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      %40 = arith.divf %in, %cst_2 : f32
      linalg.yield %40 : f32
    } -> tensor<?x?x1xf32>
    %41 = tensor.empty(%batch, %tokens) : tensor<?x?x1xf32>
    %42 = linalg.generic {
        indexing_maps = [#map2, #map1], iterator_types = ["parallel", "parallel", "parallel"]}
        ins(%39 : tensor<?x?x1xf32>) outs(%41 : tensor<?x?x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      %43 = arith.addf %in, %cst_3 : f32
      linalg.yield %43 : f32
    } -> tensor<?x?x1xf32>
    %44 = tensor.empty(%batch, %tokens) : tensor<?x?x1xf32>
    %45 = linalg.generic {
        indexing_maps = [#map2, #map1], iterator_types = ["parallel", "parallel", "parallel"]}
        ins(%42 : tensor<?x?x1xf32>) outs(%44 : tensor<?x?x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      %46 = math.rsqrt %in : f32
      linalg.yield %46 : f32
    } -> tensor<?x?x1xf32>
    %47 = tensor.empty(%batch, %tokens) : tensor<?x?x512xf32>
    %48 = linalg.generic {
        indexing_maps = [#map1, #map2, #map1], iterator_types = ["parallel", "parallel", "parallel"]}
        ins(%29, %45 : tensor<?x?x512xf32>, tensor<?x?x1xf32>) outs(%47 : tensor<?x?x512xf32>) {
    ^bb0(%in: f32, %in_1: f32, %out: f32):
      %49 = arith.mulf %in, %in_1 : f32
      linalg.yield %49 : f32
    } -> tensor<?x?x512xf32>
    %50 = tensor.empty(%batch, %tokens) : tensor<?x?x512xbf16>
    %51 = linalg.generic {
        indexing_maps = [#map1, #map1], iterator_types = ["parallel", "parallel", "parallel"]}
        ins(%48 : tensor<?x?x512xf32>) outs(%50 : tensor<?x?x512xbf16>) {
    ^bb0(%in: f32, %out: bf16):
      %52 = arith.truncf %in : f32 to bf16
      linalg.yield %52 : bf16
    } -> tensor<?x?x512xbf16>
    %53 = tensor.empty(%batch, %tokens) : tensor<?x?x512xbf16>
    %54 = linalg.generic {
        indexing_maps = [#map3, #map1, #map1], iterator_types = ["parallel", "parallel", "parallel"]}
        ins(%kv_a_norm, %51 : tensor<512xbf16>, tensor<?x?x512xbf16>) outs(%53 : tensor<?x?x512xbf16>) {
    ^bb0(%in: bf16, %in_1: bf16, %out: bf16):
      %55 = arith.mulf %in, %in_1 : bf16
      linalg.yield %55 : bf16
    } -> tensor<?x?x512xbf16>
    %56 = tensor.collapse_shape %54 [[0, 1], [2]] : tensor<?x?x512xbf16> into tensor<?x512xbf16>
    %57 = tensor.empty() : tensor<512x4096xbf16>
    %58 = linalg.transpose ins(%wkv_b : tensor<4096x512xbf16>) outs(%57 : tensor<512x4096xbf16>) permutation = [1, 0]
    %59 = tensor.empty(%0) : tensor<?x4096xf32>
    %60 = linalg.fill ins(%cst : f32) outs(%59 : tensor<?x4096xf32>) -> tensor<?x4096xf32>
    %61 = linalg.matmul ins(%56, %58 : tensor<?x512xbf16>, tensor<512x4096xbf16>) outs(%60 : tensor<?x4096xf32>) -> tensor<?x4096xf32>
    %62 = tensor.empty(%0) : tensor<?x4096xbf16>
    %63 = linalg.generic {
        indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel"]}
        ins(%61 : tensor<?x4096xf32>) outs(%62 : tensor<?x4096xbf16>) {
    ^bb0(%in: f32, %out: bf16):
      %64 = arith.truncf %in : f32 to bf16
      linalg.yield %64 : bf16
    } -> tensor<?x4096xbf16>
    %65 = tensor.expand_shape %63 [[0, 1], [2]] output_shape [%batch, %tokens, 4096] : tensor<?x4096xbf16> into tensor<?x?x4096xbf16>
    %66 = tensor.expand_shape %65 [[0], [1], [2, 3]] output_shape [%batch, %tokens, 16, 256] : tensor<?x?x4096xbf16> into tensor<?x?x16x256xbf16>
    %67 = tensor.empty(%batch, %tokens) : tensor<?x16x?x256xbf16>
    %68 = linalg.transpose ins(%66 : tensor<?x?x16x256xbf16>) outs(%67 : tensor<?x16x?x256xbf16>) permutation = [0, 2, 1, 3]
    %69 = tensor.extract_slice %68[0, 0, 0, 0] [%batch, 16, %tokens, 128] [1, 1, 1, 1] : tensor<?x16x?x256xbf16> to tensor<?x16x?x128xbf16>
    %70 = tensor.extract_slice %68[0, 0, 0, 128] [%batch, 16, %tokens, 128] [1, 1, 1, 1] : tensor<?x16x?x256xbf16> to tensor<?x16x?x128xbf16>
    %71 = tensor.expand_shape %27 [[0], [1, 2], [3]] output_shape [%batch, 1, %tokens, 64] : tensor<?x?x64xbf16> into tensor<?x1x?x64xbf16>
    // Rotary embedding of pairs, as complex numbers.
    %72 = tensor.empty(%batch, %tokens) : tensor<?x?xf32>
    %73 = linalg.generic {
        indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel"]}
        ins(%position_ids : tensor<?x?xi64>) outs(%72 : tensor<?x?xf32>) {
    ^bb0(%in: i64, %out: f32):
      %74 = arith.sitofp %in : i64 to f32
      linalg.yield %74 : f32
    } -> tensor<?x?xf32>
    %75 = tensor.expand_shape %73 [[0], [1, 2]] output_shape [%batch, %tokens, 1] : tensor<?x?xf32> into tensor<?x?x1xf32>
    %76 = tensor.empty(%batch, %tokens) : tensor<?x?x32xf32>
    %77 = linalg.generic {
        indexing_maps = [#map2, #map3, #map1], iterator_types = ["parallel", "parallel", "parallel"]}
        ins(%75, %cst_4 : tensor<?x?x1xf32>, tensor<32xf32>) outs(%76 : tensor<?x?x32xf32>) {
    ^bb0(%in: f32, %in_1: f32, %out: f32):
      %78 = arith.mulf %in, %in_1 : f32
      linalg.yield %78 : f32
    } -> tensor<?x?x32xf32>
    %79 = tensor.empty(%batch, %tokens) : tensor<?x?x32xf32>
    %80 = linalg.generic {
        indexing_maps = [#map1, #map1], iterator_types = ["parallel", "parallel", "parallel"]}
        ins(%77 : tensor<?x?x32xf32>) outs(%79 : tensor<?x?x32xf32>) {
    ^bb0(%in: f32, %out: f32):
      %81 = math.cos %in : f32
      linalg.yield %81 : f32
    } -> tensor<?x?x32xf32>
    %82 = tensor.empty(%batch, %tokens) : tensor<?x?x32xf32>
    %83 = linalg.generic {
        indexing_maps = [#map1, #map1], iterator_types = ["parallel", "parallel", "parallel"]}
        ins(%77 : tensor<?x?x32xf32>) outs(%82 : tensor<?x?x32xf32>) {
    ^bb0(%in: f32, %out: f32):
      %84 = math.sin %in : f32
      linalg.yield %84 : f32
    } -> tensor<?x?x32xf32>
    %85 = tensor.expand_shape %80 [[0], [1, 2], [3]] output_shape [%batch, 1, %tokens, 32] : tensor<?x?x32xf32> into tensor<?x1x?x32xf32>
    %86 = tensor.expand_shape %83 [[0], [1, 2], [3]] output_shape [%batch, 1, %tokens, 32] : tensor<?x?x32xf32> into tensor<?x1x?x32xf32>
    %87 = tensor.empty(%batch, %tokens) : tensor<?x16x?x64xf32>
    %88 = linalg.generic {
        indexing_maps = [#map4, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
        ins(%15 : tensor<?x16x?x64xbf16>) outs(%87 : tensor<?x16x?x64xf32>) {
    ^bb0(%in: bf16, %out: f32):
      %89 = arith.extf %in : bf16 to f32
      linalg.yield %89 : f32
    } -> tensor<?x16x?x64xf32>
    %90 = tensor.expand_shape %88 [[0], [1], [2], [3, 4]] output_shape [%batch, 16, %tokens, 32, 2] : tensor<?x16x?x64xf32> into tensor<?x16x?x32x2xf32>
    %91 = tensor.extract_slice %90[0, 0, 0, 0, 0] [%batch, 16, %tokens, 32, 1] [1, 1, 1, 1, 1] : tensor<?x16x?x32x2xf32> to tensor<?x16x?x32x1xf32>
    %92 = tensor.collapse_shape %91 [[0], [1], [2], [3, 4]] : tensor<?x16x?x32x1xf32> into tensor<?x16x?x32xf32>
    %93 = tensor.extract_slice %90[0, 0, 0, 0, 1] [%batch, 16, %tokens, 32, 1] [1, 1, 1, 1, 1] : tensor<?x16x?x32x2xf32> to tensor<?x16x?x32x1xf32>
    %94 = tensor.collapse_shape %93 [[0], [1], [2], [3, 4]] : tensor<?x16x?x32x1xf32> into tensor<?x16x?x32xf32>
    %95 = tensor.empty(%batch, %tokens) : tensor<?x16x?x32xf32>
    %96 = linalg.generic {
        indexing_maps = [#map4, #map5, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
        ins(%92, %85 : tensor<?x16x?x32xf32>, tensor<?x1x?x32xf32>) outs(%95 : tensor<?x16x?x32xf32>) {
    ^bb0(%in: f32, %in_1: f32, %out: f32):
      %97 = arith.mulf %in, %in_1 : f32
      linalg.yield %97 : f32
    } -> tensor<?x16x?x32xf32>
    %98 = tensor.empty(%batch, %tokens) : tensor<?x16x?x32xf32>
    %99 = linalg.generic {
        indexing_maps = [#map4, #map5, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
        ins(%94, %86 : tensor<?x16x?x32xf32>, tensor<?x1x?x32xf32>) outs(%98 : tensor<?x16x?x32xf32>) {
    ^bb0(%in: f32, %in_1: f32, %out: f32):
      %100 = arith.mulf %in, %in_1 : f32
      linalg.yield %100 : f32
    } -> tensor<?x16x?x32xf32>
    %101 = tensor.empty(%batch, %tokens) : tensor<?x16x?x32xf32>
    %102 = linalg.generic {
        indexing_maps = [#map4, #map4, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
        ins(%96, %99 : tensor<?x16x?x32xf32>, tensor<?x16x?x32xf32>) outs(%101 : tensor<?x16x?x32xf32>) {
    ^bb0(%in: f32, %in_1: f32, %out: f32):
      %103 = arith.subf %in, %in_1 : f32
      linalg.yield %103 : f32
    } -> tensor<?x16x?x32xf32>
    %104 = tensor.empty(%batch, %tokens) : tensor<?x16x?x32xf32>
    %105 = linalg.generic {
        indexing_maps = [#map4, #map5, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
        ins(%92, %86 : tensor<?x16x?x32xf32>, tensor<?x1x?x32xf32>) outs(%104 : tensor<?x16x?x32xf32>) {
    ^bb0(%in: f32, %in_1: f32, %out: f32):
      %106 = arith.mulf %in, %in_1 : f32
      linalg.yield %106 : f32
    } -> tensor<?x16x?x32xf32>
    %107 = tensor.empty(%batch, %tokens) : tensor<?x16x?x32xf32>
    %108 = linalg.generic {
        indexing_maps = [#map4, #map5, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
        ins(%94, %85 : tensor<?x16x?x32xf32>, tensor<?x1x?x32xf32>) outs(%107 : tensor<?x16x?x32xf32>) {
    ^bb0(%in: f32, %in_1: f32, %out: f32):
      %109 = arith.mulf %in, %in_1 : f32
      linalg.yield %109 : f32
    } -> tensor<?x16x?x32xf32>
    %110 = tensor.empty(%batch, %tokens) : tensor<?x16x?x32xf32>
    %111 = linalg.generic {
        indexing_maps = [#map4, #map4, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
        ins(%105, %108 : tensor<?x16x?x32xf32>, tensor<?x16x?x32xf32>) outs(%110 : tensor<?x16x?x32xf32>) {
    ^bb0(%in: f32, %in_1: f32, %out: f32):
      %112 = arith.addf %in, %in_1 : f32
      linalg.yield %112 : f32
    } -> tensor<?x16x?x32xf32>
    %113 = tensor.expand_shape %102 [[0], [1], [2], [3, 4]] output_shape [%batch, 16, %tokens, 32, 1] : tensor<?x16x?x32xf32> into tensor<?x16x?x32x1xf32>
    %114 = tensor.expand_shape %111 [[0], [1], [2], [3, 4]] output_shape [%batch, 16, %tokens, 32, 1] : tensor<?x16x?x32xf32> into tensor<?x16x?x32x1xf32>
    %115 = tensor.concat dim(4) %113, %114 : (tensor<?x16x?x32x1xf32>, tensor<?x16x?x32x1xf32>) -> tensor<?x16x?x32x2xf32>
    %116 = tensor.collapse_shape %115 [[0], [1], [2], [3, 4]] : tensor<?x16x?x32x2xf32> into tensor<?x16x?x64xf32>
    %117 = tensor.empty(%batch, %tokens) : tensor<?x16x?x64xbf16>
    %118 = linalg.generic {
        indexing_maps = [#map4, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
        ins(%116 : tensor<?x16x?x64xf32>) outs(%117 : tensor<?x16x?x64xbf16>) {
    ^bb0(%in: f32, %out: bf16):
      %119 = arith.truncf %in : f32 to bf16
      linalg.yield %119 : bf16
    } -> tensor<?x16x?x64xbf16>
    %120 = tensor.empty(%batch, %tokens) : tensor<?x1x?x64xf32>
    %121 = linalg.generic {
        indexing_maps = [#map5, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
        ins(%71 : tensor<?x1x?x64xbf16>) outs(%120 : tensor<?x1x?x64xf32>) {
    ^bb0(%in: bf16, %out: f32):
      %122 = arith.extf %in : bf16 to f32
      linalg.yield %122 : f32
    } -> tensor<?x1x?x64xf32>
    %123 = tensor.expand_shape %121 [[0], [1], [2], [3, 4]] output_shape [%batch, 1, %tokens, 32, 2] : tensor<?x1x?x64xf32> into tensor<?x1x?x32x2xf32>
    %124 = tensor.extract_slice %123[0, 0, 0, 0, 0] [%batch, 1, %tokens, 32, 1] [1, 1, 1, 1, 1] : tensor<?x1x?x32x2xf32> to tensor<?x1x?x32x1xf32>
    %125 = tensor.collapse_shape %124 [[0], [1], [2], [3, 4]] : tensor<?x1x?x32x1xf32> into tensor<?x1x?x32xf32>
    %126 = tensor.extract_slice %123[0, 0, 0, 0, 1] [%batch, 1, %tokens, 32, 1] [1, 1, 1, 1, 1] : tensor<?x1x?x32x2xf32> to tensor<?x1x?x32x1xf32>
    %127 = tensor.collapse_shape %126 [[0], [1], [2], [3, 4]] : tensor<?x1x?x32x1xf32> into tensor<?x1x?x32xf32>
    %128 = tensor.empty(%batch, %tokens) : tensor<?x1x?x32xf32>
    %129 = linalg.generic {
        indexing_maps = [#map5, #map5, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
        ins(%125, %85 : tensor<?x1x?x32xf32>, tensor<?x1x?x32xf32>) outs(%128 : tensor<?x1x?x32xf32>) {
    ^bb0(%in: f32, %in_1: f32, %out: f32):
      %130 = arith.mulf %in, %in_1 : f32
      linalg.yield %130 : f32
    } -> tensor<?x1x?x32xf32>
    %131 = tensor.empty(%batch, %tokens) : tensor<?x1x?x32xf32>
    %132 = linalg.generic {
        indexing_maps = [#map5, #map5, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
        ins(%127, %86 : tensor<?x1x?x32xf32>, tensor<?x1x?x32xf32>) outs(%131 : tensor<?x1x?x32xf32>) {
    ^bb0(%in: f32, %in_1: f32, %out: f32):
      %133 = arith.mulf %in, %in_1 : f32
      linalg.yield %133 : f32
    } -> tensor<?x1x?x32xf32>
    %134 = tensor.empty(%batch, %tokens) : tensor<?x1x?x32xf32>
    %135 = linalg.generic {
        indexing_maps = [#map5, #map5, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
        ins(%129, %132 : tensor<?x1x?x32xf32>, tensor<?x1x?x32xf32>) outs(%134 : tensor<?x1x?x32xf32>) {
    ^bb0(%in: f32, %in_1: f32, %out: f32):
      %136 = arith.subf %in, %in_1 : f32
      linalg.yield %136 : f32
    } -> tensor<?x1x?x32xf32>
    %137 = tensor.empty(%batch, %tokens) : tensor<?x1x?x32xf32>
    %138 = linalg.generic {
        indexing_maps = [#map5, #map5, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
        ins(%125, %86 : tensor<?x1x?x32xf32>, tensor<?x1x?x32xf32>) outs(%137 : tensor<?x1x?x32xf32>) {
    ^bb0(%in: f32, %in_1: f32, %out: f32):
      %139 = arith.mulf %in, %in_1 : f32
      linalg.yield %139 : f32
    } -> tensor<?x1x?x32xf32>
    %140 = tensor.empty(%batch, %tokens) : tensor<?x1x?x32xf32>
    %141 = linalg.generic {
        indexing_maps = [#map5, #map5, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
        ins(%127, %85 : tensor<?x1x?x32xf32>, tensor<?x1x?x32xf32>) outs(%140 : tensor<?x1x?x32xf32>) {
    ^bb0(%in: f32, %in_1: f32, %out: f32):
      %142 = arith.mulf %in, %in_1 : f32
      linalg.yield %142 : f32
    } -> tensor<?x1x?x32xf32>
    %143 = tensor.empty(%batch, %tokens) : tensor<?x1x?x32xf32>
    %144 = linalg.generic {
        indexing_maps = [#map5, #map5, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
        ins(%138, %141 : tensor<?x1x?x32xf32>, tensor<?x1x?x32xf32>) outs(%143 : tensor<?x1x?x32xf32>) {
    ^bb0(%in: f32, %in_1: f32, %out: f32):
      %145 = arith.addf %in, %in_1 : f32
      linalg.yield %145 : f32
    } -> tensor<?x1x?x32xf32>
    %146 = tensor.expand_shape %135 [[0], [1], [2], [3, 4]] output_shape [%batch, 1, %tokens, 32, 1] : tensor<?x1x?x32xf32> into tensor<?x1x?x32x1xf32>
    %147 = tensor.expand_shape %144 [[0], [1], [2], [3, 4]] output_shape [%batch, 1, %tokens, 32, 1] : tensor<?x1x?x32xf32> into tensor<?x1x?x32x1xf32>
    %148 = tensor.concat dim(4) %146, %147 : (tensor<?x1x?x32x1xf32>, tensor<?x1x?x32x1xf32>) -> tensor<?x1x?x32x2xf32>
    %149 = tensor.collapse_shape %148 [[0], [1], [2], [3, 4]] : tensor<?x1x?x32x2xf32> into tensor<?x1x?x64xf32>
    %150 = tensor.empty(%batch, %tokens) : tensor<?x1x?x64xbf16>
    %151 = linalg.generic {
        indexing_maps = [#map5, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
        ins(%149 : tensor<?x1x?x64xf32>) outs(%150 : tensor<?x1x?x64xbf16>) {
    ^bb0(%in: f32, %out: bf16):
      %152 = arith.truncf %in : f32 to bf16
      linalg.yield %152 : bf16
    } -> tensor<?x1x?x64xbf16>
    // Queries and keys of full width; the rotary part of the keys is every head's.
    %153 = tensor.concat dim(3) %14, %118 : (tensor<?x16x?x128xbf16>, tensor<?x16x?x64xbf16>) -> tensor<?x16x?x192xbf16>
    %154 = tensor.empty(%batch, %tokens) : tensor<?x16x?x64xbf16>
    %155 = linalg.generic {
        indexing_maps = [#map5, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
        ins(%151 : tensor<?x1x?x64xbf16>) outs(%154 : tensor<?x16x?x64xbf16>) {
    ^bb0(%in: bf16, %out: bf16):
      linalg.yield %in : bf16
    } -> tensor<?x16x?x64xbf16>
    %156 = tensor.concat dim(3) %69, %155 : (tensor<?x16x?x128xbf16>, tensor<?x16x?x64xbf16>) -> tensor<?x16x?x192xbf16>
    // The cache.
    // Attention.
    %157 = tensor.empty(%batch, %tokens) : tensor<?x16x192x?xbf16>
    %158 = linalg.transpose ins(%156 : tensor<?x16x?x192xbf16>) outs(%157 : tensor<?x16x192x?xbf16>) permutation = [0, 1, 3, 2]
    %159 = arith.muli %batch, %c16 : index
    %160 = tensor.collapse_shape %153 [[0, 1], [2], [3]] : tensor<?x16x?x192xbf16> into tensor<?x?x192xbf16>
    %161 = tensor.collapse_shape %158 [[0, 1], [2], [3]] : tensor<?x16x192x?xbf16> into tensor<?x192x?xbf16>
    %162 = tensor.empty(%159, %tokens, %tokens) : tensor<?x?x?xf32>
    %163 = linalg.fill ins(%cst : f32) outs(%162 : tensor<?x?x?xf32>) -> tensor<?x?x?xf32>
    %164 = linalg.batch_matmul ins(%160, %161 : tensor<?x?x192xbf16>, tensor<?x192x?xbf16>) outs(%163 : tensor<?x?x?xf32>) -> tensor<?x?x?xf32>
    %165 = tensor.empty(%159, %tokens, %tokens) : tensor<?x?x?xbf16>
    %166 = linalg.generic {
        indexing_maps = [#map1, #map1], iterator_types = ["parallel", "parallel", "parallel"]}
        ins(%164 : tensor<?x?x?xf32>) outs(%165 : tensor<?x?x?xbf16>) {
    ^bb0(%in: f32, %out: bf16):
      %167 = arith.truncf %in : f32 to bf16
      linalg.yield %167 : bf16
    } -> tensor<?x?x?xbf16>
    %168 = tensor.expand_shape %166 [[0, 1], [2], [3]] output_shape [%batch, 16, %tokens, %tokens] : tensor<?x?x?xbf16> into tensor<?x16x?x?xbf16>
    %169 = tensor.empty(%batch, %tokens, %tokens) : tensor<?x16x?x?xbf16>
    %170 = linalg.generic {
        indexing_maps = [#map4, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
        ins(%168 : tensor<?x16x?x?xbf16>) outs(%169 : tensor<?x16x?x?xbf16>) {
    ^bb0(%in: bf16, %out: bf16):
      %171 = arith.extf %in : bf16 to f32
      %172 = arith.mulf %171, %cst_5 : f32
      %173 = arith.truncf %172 : f32 to bf16
      linalg.yield %173 : bf16
    } -> tensor<?x16x?x?xbf16>
    %174 = tensor.empty(%tokens, %tokens) : tensor<1x1x?x?xbf16>
    %175 = linalg.generic {
        indexing_maps = [#map4], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
        outs(%174 : tensor<1x1x?x?xbf16>) {
    ^bb0(%out: bf16):
      %176 = linalg.index 2 : index
      %177 = arith.addi %176, %c0 : index
      %178 = linalg.index 3 : index
      %179 = arith.cmpi sge, %177, %178 : index
      %180 = arith.select %179, %cst_6, %cst_7 : bf16
      linalg.yield %180 : bf16
    } -> tensor<1x1x?x?xbf16>
    %181 = tensor.empty(%batch, %tokens, %tokens) : tensor<?x16x?x?xbf16>
    %182 = linalg.generic {
        indexing_maps = [#map4, #map6, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
        ins(%170, %175 : tensor<?x16x?x?xbf16>, tensor<1x1x?x?xbf16>) outs(%181 : tensor<?x16x?x?xbf16>) {
    ^bb0(%in: bf16, %in_1: bf16, %out: bf16):
      %183 = arith.addf %in, %in_1 : bf16
      linalg.yield %183 : bf16
    } -> tensor<?x16x?x?xbf16>
    %184 = tensor.empty(%batch, %tokens, %tokens) : tensor<?x16x?x?xf32>
    %185 = linalg.generic {
        indexing_maps = [#map4, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
        ins(%182 : tensor<?x16x?x?xbf16>) outs(%184 : tensor<?x16x?x?xf32>) {
    ^bb0(%in: bf16, %out: f32):
      %186 = arith.extf %in : bf16 to f32
      linalg.yield %186 : f32
    } -> tensor<?x16x?x?xf32>
    %187 = tensor.empty(%batch, %tokens) : tensor<?x16x?x1xf32>
    %188 = linalg.fill ins(%cst_8 : f32) outs(%187 : tensor<?x16x?x1xf32>) -> tensor<?x16x?x1xf32>
    %189 = linalg.generic {
        indexing_maps = [#map4, #map7], iterator_types = ["parallel", "parallel", "parallel", "reduction"]}
        ins(%185 : tensor<?x16x?x?xf32>) outs(%188 : tensor<?x16x?x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      %190 = arith.maximumf %in, %out : f32
      linalg.yield %190 : f32
    } -> tensor<?x16x?x1xf32>
    %191 = tensor.empty(%batch, %tokens, %tokens) : tensor<?x16x?x?xf32>
    %192 = linalg.generic {
        indexing_maps = [#map4, #map7, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
        ins(%185, %189 : tensor<?x16x?x?xf32>, tensor<?x16x?x1xf32>) outs(%191 : tensor<?x16x?x?xf32>) {
    ^bb0(%in: f32, %in_1: f32, %out: f32):
      %193 = arith.subf %in, %in_1 : f32
      linalg.yield %193 : f32
    } -> tensor<?x16x?x?xf32>
    %194 = tensor.empty(%batch, %tokens, %tokens) : tensor<?x16x?x?xf32>
    %195 = linalg.generic {
        indexing_maps = [#map4, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
        ins(%192 : tensor<?x16x?x?xf32>) outs(%194 : tensor<?x16x?x?xf32>) {
    ^bb0(%in: f32, %out: f32):
      %196 = math.exp %in : f32
      linalg.yield %196 : f32
    } -> tensor<?x16x?x?xf32>
    %197 = tensor.empty(%batch, %tokens) : tensor<?x16x?x1xf32>
    %198 = linalg.fill ins(%cst : f32) outs(%197 : tensor<?x16x?x1xf32>) -> tensor<?x16x?x1xf32>
    %199 = linalg.generic {
        indexing_maps = [#map4, #map7], iterator_types = ["parallel", "parallel", "parallel", "reduction"]}
        ins(%195 : tensor<?x16x?x?xf32>) outs(%198 : tensor<?x16x?x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      %200 = arith.addf %in, %out : f32
      linalg.yield %200 : f32
    } -> tensor<?x16x?x1xf32>
    %201 = tensor.empty(%batch, %tokens, %tokens) : tensor<?x16x?x?xf32>
    %202 = linalg.generic {
        indexing_maps = [#map4, #map7, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
        ins(%195, %199 : tensor<?x16x?x?xf32>, tensor<?x16x?x1xf32>) outs(%201 : tensor<?x16x?x?xf32>) {
    ^bb0(%in: f32, %in_1: f32, %out: f32):
      %203 = arith.divf %in, %in_1 : f32
      linalg.yield %203 : f32
    } -> tensor<?x16x?x?xf32>
    %204 = tensor.empty(%batch, %tokens, %tokens) : tensor<?x16x?x?xbf16>
    %205 = linalg.generic {
        indexing_maps = [#map4, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
        ins(%202 : tensor<?x16x?x?xf32>) outs(%204 : tensor<?x16x?x?xbf16>) {
    ^bb0(%in: f32, %out: bf16):
      %206 = arith.truncf %in : f32 to bf16
      linalg.yield %206 : bf16
    } -> tensor<?x16x?x?xbf16>
    %207 = tensor.collapse_shape %205 [[0, 1], [2], [3]] : tensor<?x16x?x?xbf16> into tensor<?x?x?xbf16>
    %208 = tensor.collapse_shape %70 [[0, 1], [2], [3]] : tensor<?x16x?x128xbf16> into tensor<?x?x128xbf16>
    %209 = tensor.empty(%159, %tokens) : tensor<?x?x128xf32>
    %210 = linalg.fill ins(%cst : f32) outs(%209 : tensor<?x?x128xf32>) -> tensor<?x?x128xf32>
    %211 = linalg.batch_matmul ins(%207, %208 : tensor<?x?x?xbf16>, tensor<?x?x128xbf16>) outs(%210 : tensor<?x?x128xf32>) -> tensor<?x?x128xf32>
    %212 = tensor.empty(%159, %tokens) : tensor<?x?x128xbf16>
    %213 = linalg.generic {
        indexing_maps = [#map1, #map1], iterator_types = ["parallel", "parallel", "parallel"]}
        ins(%211 : tensor<?x?x128xf32>) outs(%212 : tensor<?x?x128xbf16>) {
    ^bb0(%in: f32, %out: bf16):
      %214 = arith.truncf %in : f32 to bf16
      linalg.yield %214 : bf16
    } -> tensor<?x?x128xbf16>
    %215 = tensor.expand_shape %213 [[0, 1], [2], [3]] output_shape [%batch, 16, %tokens, 128] : tensor<?x?x128xbf16> into tensor<?x16x?x128xbf16>
    %216 = tensor.empty(%batch, %tokens) : tensor<?x?x16x128xbf16>
    %217 = linalg.transpose ins(%215 : tensor<?x16x?x128xbf16>) outs(%216 : tensor<?x?x16x128xbf16>) permutation = [0, 2, 1, 3]
    %218 = tensor.collapse_shape %217 [[0], [1], [2, 3]] : tensor<?x?x16x128xbf16> into tensor<?x?x2048xbf16>
    %219 = tensor.collapse_shape %218 [[0, 1], [2]] : tensor<?x?x2048xbf16> into tensor<?x2048xbf16>
    %220 = tensor.empty() : tensor<2048x2048xbf16>
    %221 = linalg.transpose ins(%wo : tensor<2048x2048xbf16>) outs(%220 : tensor<2048x2048xbf16>) permutation = [1, 0]
    %222 = tensor.empty(%0) : tensor<?x2048xf32>
    %223 = linalg.fill ins(%cst : f32) outs(%222 : tensor<?x2048xf32>) -> tensor<?x2048xf32>
    %224 = linalg.matmul ins(%219, %221 : tensor<?x2048xbf16>, tensor<2048x2048xbf16>) outs(%223 : tensor<?x2048xf32>) -> tensor<?x2048xf32>
    %225 = tensor.empty(%0) : tensor<?x2048xbf16>
    %226 = linalg.generic {
        indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel"]}
        ins(%224 : tensor<?x2048xf32>) outs(%225 : tensor<?x2048xbf16>) {
    ^bb0(%in: f32, %out: bf16):
      %227 = arith.truncf %in : f32 to bf16
      linalg.yield %227 : bf16
    } -> tensor<?x2048xbf16>
    %228 = tensor.expand_shape %226 [[0, 1], [2]] output_shape [%batch, %tokens, 2048] : tensor<?x2048xbf16> into tensor<?x?x2048xbf16>
    return %228, %156, %70 : tensor<?x?x2048xbf16>, tensor<?x16x?x192xbf16>, tensor<?x16x?x128xbf16>
  }

  func.func @decode(%x: tensor<?x1x2048xbf16>,
                    %position_ids: tensor<?x1xi64> {kvc.positions},
                    %past_k: tensor<?x16x?x192xbf16> {kvc.cache = "k"},
                    %past_v: tensor<?x16x?x128xbf16> {kvc.cache = "v"},
                    %wq: tensor<3072x2048xbf16>,
                    %wkv_a: tensor<576x2048xbf16>,
                    %kv_a_norm: tensor<512xbf16>,
                    %wkv_b: tensor<4096x512xbf16>,
                    %wo: tensor<2048x2048xbf16>)
      -> (tensor<?x1x2048xbf16>,
          tensor<?x16x?x192xbf16> {kvc.cache = "k"},
          tensor<?x16x?x128xbf16> {kvc.cache = "v"}) {
    %c0 = arith.constant 0 : index
    %c2 = arith.constant 2 : index
    %cst = arith.constant 0.0 : f32
    %cst_1 = arith.constant 2.0 : f32
    %cst_2 = arith.constant 512.0 : f32
    %cst_3 = arith.constant 1.0e-06 : f32
    %cst_4 = arith.constant dense<[1.0, 0.749894209, 0.562341325, 0.421696503, 0.316227766,
        0.237137371, 0.177827941, 0.133352143, 0.1, 0.0749894209, 0.0562341325, 0.0390069266,
        0.0268793601, 0.0183781462, 0.0124479559, 0.00833450895, 0.0055, 0.00356199749,
        0.0022493653, 0.00137051364, 0.000790569415, 0.000414990398, 0.000177827941, 3.33380358e-05,
        2.5e-05, 1.87473552e-05, 1.40585331e-05, 1.05424126e-05, 7.90569415e-06, 5.92843426e-06,
        4.44569853e-06, 3.33380358e-06]> : tensor<32xf32>
    %c1 = arith.constant 1 : index
    %c16 = arith.constant 16 : index
    %cst_5 = arith.constant 0.114721387 : f32
    %cst_6 = arith.constant 0.0 : bf16
    %cst_7 = arith.constant -3.38953139e+38 : bf16
    %cst_8 = arith.constant 0xFF800000 : f32
    %batch = tensor.dim %x, %c0 : tensor<?x1x2048xbf16>
    %past = tensor.dim %past_k, %c2 : tensor<?x16x?x192xbf16>
    // Queries, without and with rotary embedding.
    %0 = tensor.collapse_shape %x [[0, 1], [2]] : tensor<?x1x2048xbf16> into tensor<?x2048xbf16>
    %1 = tensor.empty() : tensor<2048x3072xbf16>
    %2 = linalg.transpose ins(%wq : tensor<3072x2048xbf16>) outs(%1 : tensor<2048x3072xbf16>) permutation = [1, 0]
    %3 = tensor.empty(%batch) : tensor<?x3072xf32>
    %4 = linalg.fill ins(%cst : f32) outs(%3 : tensor<?x3072xf32>) -> tensor<?x3072xf32>
    %5 = linalg.matmul ins(%0, %2 : tensor<?x2048xbf16>, tensor<2048x3072xbf16>) outs(%4 : tensor<?x3072xf32>) -> tensor<?x3072xf32>
    %6 = tensor.empty(%batch) : tensor<?x3072xbf16>
    %7 = linalg.generic {
        indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel"]}
        ins(%5 : tensor<?x3072xf32>) outs(%6 : tensor<?x3072xbf16>) {
    ^bb0(%in: f32, %out: bf16):
      %8 = arith.truncf %in : f32 to bf16
      linalg.yield %8 : bf16
    } -> tensor<?x3072xbf16>
    %9 = tensor.expand_shape %7 [[0, 1], [2]] output_shape [%batch, 1, 3072] : tensor<?x3072xbf16> into tensor<?x1x3072xbf16>
    %10 = tensor.expand_shape %9 [[0], [1], [2, 3]] output_shape [%batch, 1, 16, 192] : tensor<?x1x3072xbf16> into tensor<?x1x16x192xbf16>
    %11 = tensor.empty(%batch) : tensor<?x16x1x192xbf16>
    %12 = linalg.transpose ins(%10 : tensor<?x1x16x192xbf16>) outs(%11 : tensor<?x16x1x192xbf16>) permutation = [0, 2, 1, 3]
    %13 = tensor.extract_slice %12[0, 0, 0, 0] [%batch, 16, 1, 128] [1, 1, 1, 1] : tensor<?x16x1x192xbf16> to tensor<?x16x1x128xbf16>
    %14 = tensor.extract_slice %12[0, 0, 0, 128] [%batch, 16, 1, 64] [1, 1, 1, 1] : tensor<?x16x1x192xbf16> to tensor<?x16x1x64xbf16>
    // The latent row and the rotary part of the keys, then keys and values of it.
    %15 = tensor.collapse_shape %x [[0, 1], [2]] : tensor<?x1x2048xbf16> into tensor<?x2048xbf16>
    %16 = tensor.empty() : tensor<2048x576xbf16>
    %17 = linalg.transpose ins(%wkv_a : tensor<576x2048xbf16>) outs(%16 : tensor<2048x576xbf16>) permutation = [1, 0]
    %18 = tensor.empty(%batch) : tensor<?x576xf32>
    %19 = linalg.fill ins(%cst : f32) outs(%18 : tensor<?x576xf32>) -> tensor<?x576xf32>
    %20 = linalg.matmul ins(%15, %17 : tensor<?x2048xbf16>, tensor<2048x576xbf16>) outs(%19 : tensor<?x576xf32>) -> tensor<?x576xf32>
    %21 = tensor.empty(%batch) : tensor<?x576xbf16>
    %22 = linalg.generic {
        indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel"]}
        ins(%20 : tensor<?x576xf32>) outs(%21 : tensor<?x576xbf16>) {
    ^bb0(%in: f32, %out: bf16):
      %23 = arith.truncf %in : f32 to bf16
      linalg.yield %23 : bf16
    } -> tensor<?x576xbf16>
    %24 = tensor.expand_shape %22 [[0, 1], [2]] output_shape [%batch, 1, 576] : tensor<?x576xbf16> into tensor<?x1x576xbf16>
    %25 = tensor.extract_slice %24[0, 0, 0] [%batch, 1, 512] [1, 1, 1] : tensor<?x1x576xbf16> to tensor<?x1x512xbf16>
    %26 = tensor.extract_slice %24[0, 0, 512] [%batch, 1, 64] [1, 1, 1] : tensor<?x1x576xbf16> to tensor<?x1x64xbf16>
    %27 = tensor.empty(%batch) : tensor<?x1x512xf32>
    %28 = linalg.generic {
        indexing_maps = [#map8, #map1], iterator_types = ["parallel", "parallel", "parallel"]}
        ins(%25 : tensor<?x1x512xbf16>) outs(%27 : tensor<?x1x512xf32>) {
    ^bb0(%in: bf16, %out: f32):
      %29 = arith.extf %in : bf16 to f32
      linalg.yield %29 : f32
    } -> tensor<?x1x512xf32>
    %30 = tensor.empty(%batch) : tensor<?x1x512xf32>
    %31 = linalg.generic {
        indexing_maps = [#map8, #map1], iterator_types = ["parallel", "parallel", "parallel"]}
        ins(%28 : tensor<?x1x512xf32>) outs(%30 : tensor<?x1x512xf32>) {
    ^bb0(%in: f32, %out: f32):
      %32 = math.powf %in, %cst_1 : f32
      linalg.yield %32 : f32
    } -> tensor<?x1x512xf32>
    %33 = tensor.empty(%batch) : tensor<?x1x1xf32>
    %34 = linalg.fill ins(%cst : f32) outs(%33 : tensor<?x1x1xf32>) -> tensor<?x1x1xf32>
    %35 = linalg.generic {
        indexing_maps = [#map1, #map2], iterator_types = ["parallel", "parallel", "reduction"]}
        ins(%31 : tensor<?x1x512xf32>) outs(%34 : tensor<?x1x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      %36 = arith.addf %in, %out : f32
      linalg.yield %36 : f32
    } -> tensor<?x1x1xf32>
    %37 = tensor.empty(%batch) : tensor<?x1x1xf32>
    %38 = linalg.generic {
        indexing_maps = [#map9, #map1], iterator_types = ["parallel", "parallel", "parallel"]}
        ins(%35 : tensor<?x1x1xf32>) outs(%37 : tensor<?x1x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      %39 = arith.divf %in, %cst_2 : f32
      linalg.yield %39 : f32
    } -> tensor<?x1x1xf32>
    %40 = tensor.empty(%batch) : tensor<?x1x1xf32>
    %41 = linalg.generic {
        indexing_maps = [#map9, #map1], iterator_types = ["parallel", "parallel", "parallel"]}
        ins(%38 : tensor<?x1x1xf32>) outs(%40 : tensor<?x1x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      %42 = arith.addf %in, %cst_3 : f32
      linalg.yield %42 : f32
    } -> tensor<?x1x1xf32>
    %43 = tensor.empty(%batch) : tensor<?x1x1xf32>
    %44 = linalg.generic {
        indexing_maps = [#map9, #map1], iterator_types = ["parallel", "parallel", "parallel"]}
        ins(%41 : tensor<?x1x1xf32>) outs(%43 : tensor<?x1x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      %45 = math.rsqrt %in : f32
      linalg.yield %45 : f32
    } -> tensor<?x1x1xf32>
    %46 = tensor.empty(%batch) : tensor<?x1x512xf32>
    %47 = linalg.generic {
        indexing_maps = [#map8, #map9, #map1], iterator_types = ["parallel", "parallel", "parallel"]}
        ins(%28, %44 : tensor<?x1x512xf32>, tensor<?x1x1xf32>) outs(%46 : tensor<?x1x512xf32>) {
    ^bb0(%in: f32, %in_1: f32, %out: f32):
      %48 = arith.mulf %in, %in_1 : f32
      linalg.yield %48 : f32
    } -> tensor<?x1x512xf32>
    %49 = tensor.empty(%batch) : tensor<?x1x512xbf16>
    %50 = linalg.generic {
        indexing_maps = [#map8, #map1], iterator_types = ["parallel", "parallel", "parallel"]}
        ins(%47 : tensor<?x1x512xf32>) outs(%49 : tensor<?x1x512xbf16>) {
    ^bb0(%in: f32, %out: bf16):
      %51 = arith.truncf %in : f32 to bf16
      linalg.yield %51 : bf16
    } -> tensor<?x1x512xbf16>
    %52 = tensor.empty(%batch) : tensor<?x1x512xbf16>
    %53 = linalg.generic {
        indexing_maps = [#map3, #map8, #map1], iterator_types = ["parallel", "parallel", "parallel"]}
        ins(%kv_a_norm, %50 : tensor<512xbf16>, tensor<?x1x512xbf16>) outs(%52 : tensor<?x1x512xbf16>) {
    ^bb0(%in: bf16, %in_1: bf16, %out: bf16):
      %54 = arith.mulf %in, %in_1 : bf16
      linalg.yield %54 : bf16
    } -> tensor<?x1x512xbf16>
    %55 = tensor.collapse_shape %53 [[0, 1], [2]] : tensor<?x1x512xbf16> into tensor<?x512xbf16>
    %56 = tensor.empty() : tensor<512x4096xbf16>
    %57 = linalg.transpose ins(%wkv_b : tensor<4096x512xbf16>) outs(%56 : tensor<512x4096xbf16>) permutation = [1, 0]
    %58 = tensor.empty(%batch) : tensor<?x4096xf32>
    %59 = linalg.fill ins(%cst : f32) outs(%58 : tensor<?x4096xf32>) -> tensor<?x4096xf32>
    %60 = linalg.matmul ins(%55, %57 : tensor<?x512xbf16>, tensor<512x4096xbf16>) outs(%59 : tensor<?x4096xf32>) -> tensor<?x4096xf32>
    %61 = tensor.empty(%batch) : tensor<?x4096xbf16>
    %62 = linalg.generic {
        indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel"]}
        ins(%60 : tensor<?x4096xf32>) outs(%61 : tensor<?x4096xbf16>) {
    ^bb0(%in: f32, %out: bf16):
      %63 = arith.truncf %in : f32 to bf16
      linalg.yield %63 : bf16
    } -> tensor<?x4096xbf16>
    %64 = tensor.expand_shape %62 [[0, 1], [2]] output_shape [%batch, 1, 4096] : tensor<?x4096xbf16> into tensor<?x1x4096xbf16>
    %65 = tensor.expand_shape %64 [[0], [1], [2, 3]] output_shape [%batch, 1, 16, 256] : tensor<?x1x4096xbf16> into tensor<?x1x16x256xbf16>
    %66 = tensor.empty(%batch) : tensor<?x16x1x256xbf16>
    %67 = linalg.transpose ins(%65 : tensor<?x1x16x256xbf16>) outs(%66 : tensor<?x16x1x256xbf16>) permutation = [0, 2, 1, 3]
    %68 = tensor.extract_slice %67[0, 0, 0, 0] [%batch, 16, 1, 128] [1, 1, 1, 1] : tensor<?x16x1x256xbf16> to tensor<?x16x1x128xbf16>
    %69 = tensor.extract_slice %67[0, 0, 0, 128] [%batch, 16, 1, 128] [1, 1, 1, 1] : tensor<?x16x1x256xbf16> to tensor<?x16x1x128xbf16>
    %70 = tensor.expand_shape %26 [[0], [1, 2], [3]] output_shape [%batch, 1, 1, 64] : tensor<?x1x64xbf16> into tensor<?x1x1x64xbf16>
    // Rotary embedding of pairs, as complex numbers.
    %71 = tensor.empty(%batch) : tensor<?x1xf32>
    %72 = linalg.generic {
        indexing_maps = [#map10, #map], iterator_types = ["parallel", "parallel"]}
        ins(%position_ids : tensor<?x1xi64>) outs(%71 : tensor<?x1xf32>) {
    ^bb0(%in: i64, %out: f32):
      %73 = arith.sitofp %in : i64 to f32
      linalg.yield %73 : f32
    } -> tensor<?x1xf32>
    %74 = tensor.expand_shape %72 [[0], [1, 2]] output_shape [%batch, 1, 1] : tensor<?x1xf32> into tensor<?x1x1xf32>
    %75 = tensor.empty(%batch) : tensor<?x1x32xf32>
    %76 = linalg.generic {
        indexing_maps = [#map9, #map3, #map1], iterator_types = ["parallel", "parallel", "parallel"]}
        ins(%74, %cst_4 : tensor<?x1x1xf32>, tensor<32xf32>) outs(%75 : tensor<?x1x32xf32>) {
    ^bb0(%in: f32, %in_1: f32, %out: f32):
      %77 = arith.mulf %in, %in_1 : f32
      linalg.yield %77 : f32
    } -> tensor<?x1x32xf32>
    %78 = tensor.empty(%batch) : tensor<?x1x32xf32>
    %79 = linalg.generic {
        indexing_maps = [#map8, #map1], iterator_types = ["parallel", "parallel", "parallel"]}
        ins(%76 : tensor<?x1x32xf32>) outs(%78 : tensor<?x1x32xf32>) {
    ^bb0(%in: f32, %out: f32):
      %80 = math.cos %in : f32
      linalg.yield %80 : f32
    } -> tensor<?x1x32xf32>
    %81 = tensor.empty(%batch) : tensor<?x1x32xf32>
    %82 = linalg.generic {
        indexing_maps = [#map8, #map1], iterator_types = ["parallel", "parallel", "parallel"]}
        ins(%76 : tensor<?x1x32xf32>) outs(%81 : tensor<?x1x32xf32>) {
    ^bb0(%in: f32, %out: f32):
      %83 = math.sin %in : f32
      linalg.yield %83 : f32
    } -> tensor<?x1x32xf32>
    %84 = tensor.expand_shape %79 [[0], [1, 2], [3]] output_shape [%batch, 1, 1, 32] : tensor<?x1x32xf32> into tensor<?x1x1x32xf32>
    %85 = tensor.expand_shape %82 [[0], [1, 2], [3]] output_shape [%batch, 1, 1, 32] : tensor<?x1x32xf32> into tensor<?x1x1x32xf32>
    %86 = tensor.empty(%batch) : tensor<?x16x1x64xf32>
    %87 = linalg.generic {
        indexing_maps = [#map11, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
        ins(%14 : tensor<?x16x1x64xbf16>) outs(%86 : tensor<?x16x1x64xf32>) {
    ^bb0(%in: bf16, %out: f32):
      %88 = arith.extf %in : bf16 to f32
      linalg.yield %88 : f32
    } -> tensor<?x16x1x64xf32>
    %89 = tensor.expand_shape %87 [[0], [1], [2], [3, 4]] output_shape [%batch, 16, 1, 32, 2] : tensor<?x16x1x64xf32> into tensor<?x16x1x32x2xf32>
    %90 = tensor.extract_slice %89[0, 0, 0, 0, 0] [%batch, 16, 1, 32, 1] [1, 1, 1, 1, 1] : tensor<?x16x1x32x2xf32> to tensor<?x16x1x32x1xf32>
    %91 = tensor.collapse_shape %90 [[0], [1], [2], [3, 4]] : tensor<?x16x1x32x1xf32> into tensor<?x16x1x32xf32>
    %92 = tensor.extract_slice %89[0, 0, 0, 0, 1] [%batch, 16, 1, 32, 1] [1, 1, 1, 1, 1] : tensor<?x16x1x32x2xf32> to tensor<?x16x1x32x1xf32>
    %93 = tensor.collapse_shape %92 [[0], [1], [2], [3, 4]] : tensor<?x16x1x32x1xf32> into tensor<?x16x1x32xf32>
    %94 = tensor.empty(%batch) : tensor<?x16x1x32xf32>
    %95 = linalg.generic {
        indexing_maps = [#map11, #map12, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
        ins(%91, %84 : tensor<?x16x1x32xf32>, tensor<?x1x1x32xf32>) outs(%94 : tensor<?x16x1x32xf32>) {
    ^bb0(%in: f32, %in_1: f32, %out: f32):
      %96 = arith.mulf %in, %in_1 : f32
      linalg.yield %96 : f32
    } -> tensor<?x16x1x32xf32>
    %97 = tensor.empty(%batch) : tensor<?x16x1x32xf32>
    %98 = linalg.generic {
        indexing_maps = [#map11, #map12, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
        ins(%93, %85 : tensor<?x16x1x32xf32>, tensor<?x1x1x32xf32>) outs(%97 : tensor<?x16x1x32xf32>) {
    ^bb0(%in: f32, %in_1: f32, %out: f32):
      %99 = arith.mulf %in, %in_1 : f32
      linalg.yield %99 : f32
    } -> tensor<?x16x1x32xf32>
    %100 = tensor.empty(%batch) : tensor<?x16x1x32xf32>
    %101 = linalg.generic {
        indexing_maps = [#map11, #map11, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
        ins(%95, %98 : tensor<?x16x1x32xf32>, tensor<?x16x1x32xf32>) outs(%100 : tensor<?x16x1x32xf32>) {
    ^bb0(%in: f32, %in_1: f32, %out: f32):
      %102 = arith.subf %in, %in_1 : f32
      linalg.yield %102 : f32
    } -> tensor<?x16x1x32xf32>
    %103 = tensor.empty(%batch) : tensor<?x16x1x32xf32>
    %104 = linalg.generic {
        indexing_maps = [#map11, #map12, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
        ins(%91, %85 : tensor<?x16x1x32xf32>, tensor<?x1x1x32xf32>) outs(%103 : tensor<?x16x1x32xf32>) {
    ^bb0(%in: f32, %in_1: f32, %out: f32):
      %105 = arith.mulf %in, %in_1 : f32
      linalg.yield %105 : f32
    } -> tensor<?x16x1x32xf32>
    %106 = tensor.empty(%batch) : tensor<?x16x1x32xf32>
    %107 = linalg.generic {
        indexing_maps = [#map11, #map12, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
        ins(%93, %84 : tensor<?x16x1x32xf32>, tensor<?x1x1x32xf32>) outs(%106 : tensor<?x16x1x32xf32>) {
    ^bb0(%in: f32, %in_1: f32, %out: f32):
      %108 = arith.mulf %in, %in_1 : f32
      linalg.yield %108 : f32
    } -> tensor<?x16x1x32xf32>
    %109 = tensor.empty(%batch) : tensor<?x16x1x32xf32>
    %110 = linalg.generic {
        indexing_maps = [#map11, #map11, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
        ins(%104, %107 : tensor<?x16x1x32xf32>, tensor<?x16x1x32xf32>) outs(%109 : tensor<?x16x1x32xf32>) {
    ^bb0(%in: f32, %in_1: f32, %out: f32):
      %111 = arith.addf %in, %in_1 : f32
      linalg.yield %111 : f32
    } -> tensor<?x16x1x32xf32>
    %112 = tensor.expand_shape %101 [[0], [1], [2], [3, 4]] output_shape [%batch, 16, 1, 32, 1] : tensor<?x16x1x32xf32> into tensor<?x16x1x32x1xf32>
    %113 = tensor.expand_shape %110 [[0], [1], [2], [3, 4]] output_shape [%batch, 16, 1, 32, 1] : tensor<?x16x1x32xf32> into tensor<?x16x1x32x1xf32>
    %114 = tensor.concat dim(4) %112, %113 : (tensor<?x16x1x32x1xf32>, tensor<?x16x1x32x1xf32>) -> tensor<?x16x1x32x2xf32>
    %115 = tensor.collapse_shape %114 [[0], [1], [2], [3, 4]] : tensor<?x16x1x32x2xf32> into tensor<?x16x1x64xf32>
    %116 = tensor.empty(%batch) : tensor<?x16x1x64xbf16>
    %117 = linalg.generic {
        indexing_maps = [#map11, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
        ins(%115 : tensor<?x16x1x64xf32>) outs(%116 : tensor<?x16x1x64xbf16>) {
    ^bb0(%in: f32, %out: bf16):
      %118 = arith.truncf %in : f32 to bf16
      linalg.yield %118 : bf16
    } -> tensor<?x16x1x64xbf16>
    %119 = tensor.empty(%batch) : tensor<?x1x1x64xf32>
    %120 = linalg.generic {
        indexing_maps = [#map12, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
        ins(%70 : tensor<?x1x1x64xbf16>) outs(%119 : tensor<?x1x1x64xf32>) {
    ^bb0(%in: bf16, %out: f32):
      %121 = arith.extf %in : bf16 to f32
      linalg.yield %121 : f32
    } -> tensor<?x1x1x64xf32>
    %122 = tensor.expand_shape %120 [[0], [1], [2], [3, 4]] output_shape [%batch, 1, 1, 32, 2] : tensor<?x1x1x64xf32> into tensor<?x1x1x32x2xf32>
    %123 = tensor.extract_slice %122[0, 0, 0, 0, 0] [%batch, 1, 1, 32, 1] [1, 1, 1, 1, 1] : tensor<?x1x1x32x2xf32> to tensor<?x1x1x32x1xf32>
    %124 = tensor.collapse_shape %123 [[0], [1], [2], [3, 4]] : tensor<?x1x1x32x1xf32> into tensor<?x1x1x32xf32>
    %125 = tensor.extract_slice %122[0, 0, 0, 0, 1] [%batch, 1, 1, 32, 1] [1, 1, 1, 1, 1] : tensor<?x1x1x32x2xf32> to tensor<?x1x1x32x1xf32>
    %126 = tensor.collapse_shape %125 [[0], [1], [2], [3, 4]] : tensor<?x1x1x32x1xf32> into tensor<?x1x1x32xf32>
    %127 = tensor.empty(%batch) : tensor<?x1x1x32xf32>
    %128 = linalg.generic {
        indexing_maps = [#map12, #map12, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
        ins(%124, %84 : tensor<?x1x1x32xf32>, tensor<?x1x1x32xf32>) outs(%127 : tensor<?x1x1x32xf32>) {
    ^bb0(%in: f32, %in_1: f32, %out: f32):
      %129 = arith.mulf %in, %in_1 : f32
      linalg.yield %129 : f32
    } -> tensor<?x1x1x32xf32>
    %130 = tensor.empty(%batch) : tensor<?x1x1x32xf32>
    %131 = linalg.generic {
        indexing_maps = [#map12, #map12, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
        ins(%126, %85 : tensor<?x1x1x32xf32>, tensor<?x1x1x32xf32>) outs(%130 : tensor<?x1x1x32xf32>) {
    ^bb0(%in: f32, %in_1: f32, %out: f32):
      %132 = arith.mulf %in, %in_1 : f32
      linalg.yield %132 : f32
    } -> tensor<?x1x1x32xf32>
    %133 = tensor.empty(%batch) : tensor<?x1x1x32xf32>
    %134 = linalg.generic {
        indexing_maps = [#map12, #map12, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
        ins(%128, %131 : tensor<?x1x1x32xf32>, tensor<?x1x1x32xf32>) outs(%133 : tensor<?x1x1x32xf32>) {
    ^bb0(%in: f32, %in_1: f32, %out: f32):
      %135 = arith.subf %in, %in_1 : f32
      linalg.yield %135 : f32
    } -> tensor<?x1x1x32xf32>
    %136 = tensor.empty(%batch) : tensor<?x1x1x32xf32>
    %137 = linalg.generic {
        indexing_maps = [#map12, #map12, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
        ins(%124, %85 : tensor<?x1x1x32xf32>, tensor<?x1x1x32xf32>) outs(%136 : tensor<?x1x1x32xf32>) {
    ^bb0(%in: f32, %in_1: f32, %out: f32):
      %138 = arith.mulf %in, %in_1 : f32
      linalg.yield %138 : f32
    } -> tensor<?x1x1x32xf32>
    %139 = tensor.empty(%batch) : tensor<?x1x1x32xf32>
    %140 = linalg.generic {
        indexing_maps = [#map12, #map12, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
        ins(%126, %84 : tensor<?x1x1x32xf32>, tensor<?x1x1x32xf32>) outs(%139 : tensor<?x1x1x32xf32>) {
    ^bb0(%in: f32, %in_1: f32, %out: f32):
      %141 = arith.mulf %in, %in_1 : f32
      linalg.yield %141 : f32
    } -> tensor<?x1x1x32xf32>
    %142 = tensor.empty(%batch) : tensor<?x1x1x32xf32>
    %143 = linalg.generic {
        indexing_maps = [#map12, #map12, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
        ins(%137, %140 : tensor<?x1x1x32xf32>, tensor<?x1x1x32xf32>) outs(%142 : tensor<?x1x1x32xf32>) {
    ^bb0(%in: f32, %in_1: f32, %out: f32):
      %144 = arith.addf %in, %in_1 : f32
      linalg.yield %144 : f32
    } -> tensor<?x1x1x32xf32>
    %145 = tensor.expand_shape %134 [[0], [1], [2], [3, 4]] output_shape [%batch, 1, 1, 32, 1] : tensor<?x1x1x32xf32> into tensor<?x1x1x32x1xf32>
    %146 = tensor.expand_shape %143 [[0], [1], [2], [3, 4]] output_shape [%batch, 1, 1, 32, 1] : tensor<?x1x1x32xf32> into tensor<?x1x1x32x1xf32>
    %147 = tensor.concat dim(4) %145, %146 : (tensor<?x1x1x32x1xf32>, tensor<?x1x1x32x1xf32>) -> tensor<?x1x1x32x2xf32>
    %148 = tensor.collapse_shape %147 [[0], [1], [2], [3, 4]] : tensor<?x1x1x32x2xf32> into tensor<?x1x1x64xf32>
    %149 = tensor.empty(%batch) : tensor<?x1x1x64xbf16>
    %150 = linalg.generic {
        indexing_maps = [#map12, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
        ins(%148 : tensor<?x1x1x64xf32>) outs(%149 : tensor<?x1x1x64xbf16>) {
    ^bb0(%in: f32, %out: bf16):
      %151 = arith.truncf %in : f32 to bf16
      linalg.yield %151 : bf16
    } -> tensor<?x1x1x64xbf16>
    // Queries and keys of full width; the rotary part of the keys is every head's.
    %152 = tensor.concat dim(3) %13, %117 : (tensor<?x16x1x128xbf16>, tensor<?x16x1x64xbf16>) -> tensor<?x16x1x192xbf16>
    %153 = tensor.empty(%batch) : tensor<?x16x1x64xbf16>
    %154 = linalg.generic {
        indexing_maps = [#map5, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
        ins(%150 : tensor<?x1x1x64xbf16>) outs(%153 : tensor<?x16x1x64xbf16>) {
    ^bb0(%in: bf16, %out: bf16):
      linalg.yield %in : bf16
    } -> tensor<?x16x1x64xbf16>
    %155 = tensor.concat dim(3) %68, %154 : (tensor<?x16x1x128xbf16>, tensor<?x16x1x64xbf16>) -> tensor<?x16x1x192xbf16>
    // The cache.
    %156 = arith.addi %past, %c1 : index
    %157 = tensor.concat dim(2) %past_k, %155 : (tensor<?x16x?x192xbf16>, tensor<?x16x1x192xbf16>) -> tensor<?x16x?x192xbf16>
    %158 = tensor.concat dim(2) %past_v, %69 : (tensor<?x16x?x128xbf16>, tensor<?x16x1x128xbf16>) -> tensor<?x16x?x128xbf16>
    // Attention.
    %159 = tensor.empty(%batch, %156) : tensor<?x16x192x?xbf16>
    %160 = linalg.transpose ins(%157 : tensor<?x16x?x192xbf16>) outs(%159 : tensor<?x16x192x?xbf16>) permutation = [0, 1, 3, 2]
    %161 = arith.muli %batch, %c16 : index
    %162 = tensor.collapse_shape %152 [[0, 1], [2], [3]] : tensor<?x16x1x192xbf16> into tensor<?x1x192xbf16>
    %163 = tensor.collapse_shape %160 [[0, 1], [2], [3]] : tensor<?x16x192x?xbf16> into tensor<?x192x?xbf16>
    %164 = tensor.empty(%161, %156) : tensor<?x1x?xf32>
    %165 = linalg.fill ins(%cst : f32) outs(%164 : tensor<?x1x?xf32>) -> tensor<?x1x?xf32>
    %166 = linalg.batch_matmul ins(%162, %163 : tensor<?x1x192xbf16>, tensor<?x192x?xbf16>) outs(%165 : tensor<?x1x?xf32>) -> tensor<?x1x?xf32>
    %167 = tensor.empty(%161, %156) : tensor<?x1x?xbf16>
    %168 = linalg.generic {
        indexing_maps = [#map8, #map1], iterator_types = ["parallel", "parallel", "parallel"]}
        ins(%166 : tensor<?x1x?xf32>) outs(%167 : tensor<?x1x?xbf16>) {
    ^bb0(%in: f32, %out: bf16):
      %169 = arith.truncf %in : f32 to bf16
      linalg.yield %169 : bf16
    } -> tensor<?x1x?xbf16>
    %170 = tensor.expand_shape %168 [[0, 1], [2], [3]] output_shape [%batch, 16, 1, %156] : tensor<?x1x?xbf16> into tensor<?x16x1x?xbf16>
    %171 = tensor.empty(%batch, %156) : tensor<?x16x1x?xbf16>
    %172 = linalg.generic {
        indexing_maps = [#map11, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
        ins(%170 : tensor<?x16x1x?xbf16>) outs(%171 : tensor<?x16x1x?xbf16>) {
    ^bb0(%in: bf16, %out: bf16):
      %173 = arith.extf %in : bf16 to f32
      %174 = arith.mulf %173, %cst_5 : f32
      %175 = arith.truncf %174 : f32 to bf16
      linalg.yield %175 : bf16
    } -> tensor<?x16x1x?xbf16>
    %176 = tensor.empty(%156) : tensor<1x1x1x?xbf16>
    %177 = linalg.generic {
        indexing_maps = [#map4], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
        outs(%176 : tensor<1x1x1x?xbf16>) {
    ^bb0(%out: bf16):
      %178 = linalg.index 2 : index
      %179 = arith.addi %178, %past : index
      %180 = linalg.index 3 : index
      %181 = arith.cmpi sge, %179, %180 : index
      %182 = arith.select %181, %cst_6, %cst_7 : bf16
      linalg.yield %182 : bf16
    } -> tensor<1x1x1x?xbf16>
    %183 = tensor.empty(%batch, %156) : tensor<?x16x1x?xbf16>
    %184 = linalg.generic {
        indexing_maps = [#map11, #map13, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
        ins(%172, %177 : tensor<?x16x1x?xbf16>, tensor<1x1x1x?xbf16>) outs(%183 : tensor<?x16x1x?xbf16>) {
    ^bb0(%in: bf16, %in_1: bf16, %out: bf16):
      %185 = arith.addf %in, %in_1 : bf16
      linalg.yield %185 : bf16
    } -> tensor<?x16x1x?xbf16>
    %186 = tensor.empty(%batch, %156) : tensor<?x16x1x?xf32>
    %187 = linalg.generic {
        indexing_maps = [#map11, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
        ins(%184 : tensor<?x16x1x?xbf16>) outs(%186 : tensor<?x16x1x?xf32>) {
    ^bb0(%in: bf16, %out: f32):
      %188 = arith.extf %in : bf16 to f32
      linalg.yield %188 : f32
    } -> tensor<?x16x1x?xf32>
    %189 = tensor.empty(%batch) : tensor<?x16x1x1xf32>
    %190 = linalg.fill ins(%cst_8 : f32) outs(%189 : tensor<?x16x1x1xf32>) -> tensor<?x16x1x1xf32>
    %191 = linalg.generic {
        indexing_maps = [#map4, #map7], iterator_types = ["parallel", "parallel", "parallel", "reduction"]}
        ins(%187 : tensor<?x16x1x?xf32>) outs(%190 : tensor<?x16x1x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      %192 = arith.maximumf %in, %out : f32
      linalg.yield %192 : f32
    } -> tensor<?x16x1x1xf32>
    %193 = tensor.empty(%batch, %156) : tensor<?x16x1x?xf32>
    %194 = linalg.generic {
        indexing_maps = [#map11, #map14, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
        ins(%187, %191 : tensor<?x16x1x?xf32>, tensor<?x16x1x1xf32>) outs(%193 : tensor<?x16x1x?xf32>) {
    ^bb0(%in: f32, %in_1: f32, %out: f32):
      %195 = arith.subf %in, %in_1 : f32
      linalg.yield %195 : f32
    } -> tensor<?x16x1x?xf32>
    %196 = tensor.empty(%batch, %156) : tensor<?x16x1x?xf32>
    %197 = linalg.generic {
        indexing_maps = [#map11, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
        ins(%194 : tensor<?x16x1x?xf32>) outs(%196 : tensor<?x16x1x?xf32>) {
    ^bb0(%in: f32, %out: f32):
      %198 = math.exp %in : f32
      linalg.yield %198 : f32
    } -> tensor<?x16x1x?xf32>
    %199 = tensor.empty(%batch) : tensor<?x16x1x1xf32>
    %200 = linalg.fill ins(%cst : f32) outs(%199 : tensor<?x16x1x1xf32>) -> tensor<?x16x1x1xf32>
    %201 = linalg.generic {
        indexing_maps = [#map4, #map7], iterator_types = ["parallel", "parallel", "parallel", "reduction"]}
        ins(%197 : tensor<?x16x1x?xf32>) outs(%200 : tensor<?x16x1x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      %202 = arith.addf %in, %out : f32
      linalg.yield %202 : f32
    } -> tensor<?x16x1x1xf32>
    %203 = tensor.empty(%batch, %156) : tensor<?x16x1x?xf32>
    %204 = linalg.generic {
        indexing_maps = [#map11, #map14, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
        ins(%197, %201 : tensor<?x16x1x?xf32>, tensor<?x16x1x1xf32>) outs(%203 : tensor<?x16x1x?xf32>) {
    ^bb0(%in: f32, %in_1: f32, %out: f32):
      %205 = arith.divf %in, %in_1 : f32
      linalg.yield %205 : f32
    } -> tensor<?x16x1x?xf32>
    %206 = tensor.empty(%batch, %156) : tensor<?x16x1x?xbf16>
    %207 = linalg.generic {
        indexing_maps = [#map11, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
        ins(%204 : tensor<?x16x1x?xf32>) outs(%206 : tensor<?x16x1x?xbf16>) {
    ^bb0(%in: f32, %out: bf16):
      %208 = arith.truncf %in : f32 to bf16
      linalg.yield %208 : bf16
    } -> tensor<?x16x1x?xbf16>
    %209 = tensor.collapse_shape %207 [[0, 1], [2], [3]] : tensor<?x16x1x?xbf16> into tensor<?x1x?xbf16>
    %210 = tensor.collapse_shape %158 [[0, 1], [2], [3]] : tensor<?x16x?x128xbf16> into tensor<?x?x128xbf16>
    %211 = tensor.empty(%161) : tensor<?x1x128xf32>
    %212 = linalg.fill ins(%cst : f32) outs(%211 : tensor<?x1x128xf32>) -> tensor<?x1x128xf32>
    %213 = linalg.batch_matmul ins(%209, %210 : tensor<?x1x?xbf16>, tensor<?x?x128xbf16>) outs(%212 : tensor<?x1x128xf32>) -> tensor<?x1x128xf32>
    %214 = tensor.empty(%161) : tensor<?x1x128xbf16>
    %215 = linalg.generic {
        indexing_maps = [#map8, #map1], iterator_types = ["parallel", "parallel", "parallel"]}
        ins(%213 : tensor<?x1x128xf32>) outs(%214 : tensor<?x1x128xbf16>) {
    ^bb0(%in: f32, %out: bf16):
      %216 = arith.truncf %in : f32 to bf16
      linalg.yield %216 : bf16
    } -> tensor<?x1x128xbf16>
    %217 = tensor.expand_shape %215 [[0, 1], [2], [3]] output_shape [%batch, 16, 1, 128] : tensor<?x1x128xbf16> into tensor<?x16x1x128xbf16>
    %218 = tensor.empty(%batch) : tensor<?x1x16x128xbf16>
    %219 = linalg.transpose ins(%217 : tensor<?x16x1x128xbf16>) outs(%218 : tensor<?x1x16x128xbf16>) permutation = [0, 2, 1, 3]
    %220 = tensor.collapse_shape %219 [[0], [1], [2, 3]] : tensor<?x1x16x128xbf16> into tensor<?x1x2048xbf16>
    %221 = tensor.collapse_shape %220 [[0, 1], [2]] : tensor<?x1x2048xbf16> into tensor<?x2048xbf16>
    %222 = tensor.empty() : tensor<2048x2048xbf16>
    %223 = linalg.transpose ins(%wo : tensor<2048x2048xbf16>) outs(%222 : tensor<2048x2048xbf16>) permutation = [1, 0]
    %224 = tensor.empty(%batch) : tensor<?x2048xf32>
    %225 = linalg.fill ins(%cst : f32) outs(%224 : tensor<?x2048xf32>) -> tensor<?x2048xf32>
    %226 = linalg.matmul ins(%221, %223 : tensor<?x2048xbf16>, tensor<2048x2048xbf16>) outs(%225 : tensor<?x2048xf32>) -> tensor<?x2048xf32>
    %227 = tensor.empty(%batch) : tensor<?x2048xbf16>
    %228 = linalg.generic {
        indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel"]}
        ins(%226 : tensor<?x2048xf32>) outs(%227 : tensor<?x2048xbf16>) {
    ^bb0(%in: f32, %out: bf16):
      %229 = arith.truncf %in : f32 to bf16
      linalg.yield %229 : bf16
    } -> tensor<?x2048xbf16>
    %230 = tensor.expand_shape %228 [[0, 1], [2]] output_shape [%batch, 1, 2048] : tensor<?x2048xbf16> into tensor<?x1x2048xbf16>
    return %230, %157, %158 : tensor<?x1x2048xbf16>, tensor<?x16x?x192xbf16>, tensor<?x16x?x128xbf16>
  }
}
