// The attention of one layer with a window of gpt-oss-20b (arXiv:2508.10925).
// Made by test/Corpus/generate.py.

#map = affine_map<(d0) -> (d0)>
#map1 = affine_map<(d0, d1) -> (d0, d1)>
#map2 = affine_map<(d0, d1) -> (0, d1)>
#map3 = affine_map<(d0, d1, d2) -> (0, d1, d2)>
#map4 = affine_map<(d0, d1, d2) -> (d0, d1, d2)>
#map5 = affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>
#map6 = affine_map<(d0, d1, d2, d3) -> (0, 0, d2, d3)>
#map7 = affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, 0, d3, d4)>
#map8 = affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>
#map9 = affine_map<(d0, d1) -> (d1)>
#map10 = affine_map<(d0, d1) -> (d0, 0)>
#map11 = affine_map<(d0, d1, d2, d3) -> (d2, d3)>
#map12 = affine_map<(d0, d1, d2, d3) -> (0, d1, 0, 0)>
#map13 = affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, 0)>
#map14 = affine_map<(d0, d1) -> (0, 0)>
#map15 = affine_map<(d0, d1, d2) -> (0, 0, d2)>
#map16 = affine_map<(d0, d1, d2, d3) -> (d0, d1, 0, d3)>
#map17 = affine_map<(d0, d1, d2, d3) -> (0, 0, 0, d3)>
#map18 = affine_map<(d0, d1, d2) -> (d0, 0, d2)>
#map19 = affine_map<(d0, d1, d2, d3) -> (0, d3)>
#map20 = affine_map<(d0, d1, d2, d3) -> (d0, d1, 0, 0)>
module {
  func.func @prefill(%x: tensor<?x?x2880xbf16>,
                     %wq: tensor<4096x2880xbf16>,
                     %wk: tensor<512x2880xbf16>,
                     %wv: tensor<512x2880xbf16>,
                     %wo: tensor<2880x4096xbf16>,
                     %bq: tensor<4096xbf16>,
                     %bk: tensor<512xbf16>,
                     %bv: tensor<512xbf16>,
                     %bo: tensor<2880xbf16>,
                     %sinks: tensor<64xbf16>)
      -> (tensor<?x?x2880xbf16>,
          tensor<?x8x?x64xbf16> {kvc.cache = "k"},
          tensor<?x8x?x64xbf16> {kvc.cache = "v"}) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %cst = arith.constant dense<[1.0, 0.689044306, 0.474782055, 0.327145872, 0.225418, 0.155322989,
        0.107024421, 0.0737445682, 0.0508132748, 0.0317056962, 0.0193350011, 0.0115920493,
        0.00679495949, 0.00386035932, 0.00209379238, 0.0010526021, 0.000456483919, 0.000129318701,
        3.83088124e-05, 2.6396469e-05, 1.81883367e-05, 1.25325698e-05, 8.63549588e-06,
        5.95023926e-06, 4.09997848e-06, 2.82506683e-06, 1.94659621e-06, 1.34129104e-06,
        9.2420895e-07, 6.36820915e-07, 4.38797825e-07, 3.02351143e-07]> : tensor<32xf32>
    %cst_1 = arith.constant 0.0 : f32
    %cst_2 = arith.constant 1.34657359 : f32
    %c64 = arith.constant 64 : index
    %cst_3 = arith.constant 0.125 : f32
    %c128_i64 = arith.constant 128 : i64
    %cst_4 = arith.constant 0.0 : bf16
    %cst_5 = arith.constant -3.38953139e+38 : bf16
    %cst_6 = arith.constant 0xFF80 : bf16
    %cst_7 = arith.constant 0xFF800000 : f32
    %batch = tensor.dim %x, %c0 : tensor<?x?x2880xbf16>
    %tokens = tensor.dim %x, %c1 : tensor<?x?x2880xbf16>
    // Queries, keys and values, by heads.
    %0 = arith.muli %batch, %tokens : index
    %1 = tensor.collapse_shape %x [[0, 1], [2]] : tensor<?x?x2880xbf16> into tensor<?x2880xbf16>
    %2 = tensor.empty() : tensor<2880x4096xbf16>
    %3 = linalg.transpose ins(%wq : tensor<4096x2880xbf16>) outs(%2 : tensor<2880x4096xbf16>) permutation = [1, 0]
    %4 = tensor.empty() : tensor<4096xf32>
    %5 = linalg.generic {
        indexing_maps = [#map, #map], iterator_types = ["parallel"]}
        ins(%bq : tensor<4096xbf16>) outs(%4 : tensor<4096xf32>) {
    ^bb0(%in: bf16, %out: f32):
      %6 = arith.extf %in : bf16 to f32
      linalg.yield %6 : f32
    } -> tensor<4096xf32>
    %7 = tensor.empty(%0) : tensor<?x4096xf32>
    %8 = linalg.broadcast ins(%5 : tensor<4096xf32>) outs(%7 : tensor<?x4096xf32>) dimensions = [0]
    %9 = linalg.matmul ins(%1, %3 : tensor<?x2880xbf16>, tensor<2880x4096xbf16>) outs(%8 : tensor<?x4096xf32>) -> tensor<?x4096xf32>
    %10 = tensor.empty(%0) : tensor<?x4096xbf16>
    %11 = linalg.generic {
        indexing_maps = [#map1, #map1], iterator_types = ["parallel", "parallel"]}
        ins(%9 : tensor<?x4096xf32>) outs(%10 : tensor<?x4096xbf16>) {
    ^bb0(%in: f32, %out: bf16):
      %12 = arith.truncf %in : f32 to bf16
      linalg.yield %12 : bf16
    } -> tensor<?x4096xbf16>
    %13 = tensor.expand_shape %11 [[0, 1], [2]] output_shape [%batch, %tokens, 4096] : tensor<?x4096xbf16> into tensor<?x?x4096xbf16>
    %14 = tensor.expand_shape %13 [[0], [1], [2, 3]] output_shape [%batch, %tokens, 64, 64] : tensor<?x?x4096xbf16> into tensor<?x?x64x64xbf16>
    %15 = tensor.empty(%batch, %tokens) : tensor<?x64x?x64xbf16>
    %16 = linalg.transpose ins(%14 : tensor<?x?x64x64xbf16>) outs(%15 : tensor<?x64x?x64xbf16>) permutation = [0, 2, 1, 3]
    %17 = tensor.collapse_shape %x [[0, 1], [2]] : tensor<?x?x2880xbf16> into tensor<?x2880xbf16>
    %18 = tensor.empty() : tensor<2880x512xbf16>
    %19 = linalg.transpose ins(%wk : tensor<512x2880xbf16>) outs(%18 : tensor<2880x512xbf16>) permutation = [1, 0]
    %20 = tensor.empty() : tensor<512xf32>
    %21 = linalg.generic {
        indexing_maps = [#map, #map], iterator_types = ["parallel"]}
        ins(%bk : tensor<512xbf16>) outs(%20 : tensor<512xf32>) {
    ^bb0(%in: bf16, %out: f32):
      %22 = arith.extf %in : bf16 to f32
      linalg.yield %22 : f32
    } -> tensor<512xf32>
    %23 = tensor.empty(%0) : tensor<?x512xf32>
    %24 = linalg.broadcast ins(%21 : tensor<512xf32>) outs(%23 : tensor<?x512xf32>) dimensions = [0]
    %25 = linalg.matmul ins(%17, %19 : tensor<?x2880xbf16>, tensor<2880x512xbf16>) outs(%24 : tensor<?x512xf32>) -> tensor<?x512xf32>
    %26 = tensor.empty(%0) : tensor<?x512xbf16>
    %27 = linalg.generic {
        indexing_maps = [#map1, #map1], iterator_types = ["parallel", "parallel"]}
        ins(%25 : tensor<?x512xf32>) outs(%26 : tensor<?x512xbf16>) {
    ^bb0(%in: f32, %out: bf16):
      %28 = arith.truncf %in : f32 to bf16
      linalg.yield %28 : bf16
    } -> tensor<?x512xbf16>
    %29 = tensor.expand_shape %27 [[0, 1], [2]] output_shape [%batch, %tokens, 512] : tensor<?x512xbf16> into tensor<?x?x512xbf16>
    %30 = tensor.expand_shape %29 [[0], [1], [2, 3]] output_shape [%batch, %tokens, 8, 64] : tensor<?x?x512xbf16> into tensor<?x?x8x64xbf16>
    %31 = tensor.empty(%batch, %tokens) : tensor<?x8x?x64xbf16>
    %32 = linalg.transpose ins(%30 : tensor<?x?x8x64xbf16>) outs(%31 : tensor<?x8x?x64xbf16>) permutation = [0, 2, 1, 3]
    %33 = tensor.collapse_shape %x [[0, 1], [2]] : tensor<?x?x2880xbf16> into tensor<?x2880xbf16>
    %34 = tensor.empty() : tensor<2880x512xbf16>
    %35 = linalg.transpose ins(%wv : tensor<512x2880xbf16>) outs(%34 : tensor<2880x512xbf16>) permutation = [1, 0]
    %36 = tensor.empty() : tensor<512xf32>
    %37 = linalg.generic {
        indexing_maps = [#map, #map], iterator_types = ["parallel"]}
        ins(%bv : tensor<512xbf16>) outs(%36 : tensor<512xf32>) {
    ^bb0(%in: bf16, %out: f32):
      %38 = arith.extf %in : bf16 to f32
      linalg.yield %38 : f32
    } -> tensor<512xf32>
    %39 = tensor.empty(%0) : tensor<?x512xf32>
    %40 = linalg.broadcast ins(%37 : tensor<512xf32>) outs(%39 : tensor<?x512xf32>) dimensions = [0]
    %41 = linalg.matmul ins(%33, %35 : tensor<?x2880xbf16>, tensor<2880x512xbf16>) outs(%40 : tensor<?x512xf32>) -> tensor<?x512xf32>
    %42 = tensor.empty(%0) : tensor<?x512xbf16>
    %43 = linalg.generic {
        indexing_maps = [#map1, #map1], iterator_types = ["parallel", "parallel"]}
        ins(%41 : tensor<?x512xf32>) outs(%42 : tensor<?x512xbf16>) {
    ^bb0(%in: f32, %out: bf16):
      %44 = arith.truncf %in : f32 to bf16
      linalg.yield %44 : bf16
    } -> tensor<?x512xbf16>
    %45 = tensor.expand_shape %43 [[0, 1], [2]] output_shape [%batch, %tokens, 512] : tensor<?x512xbf16> into tensor<?x?x512xbf16>
    %46 = tensor.expand_shape %45 [[0], [1], [2, 3]] output_shape [%batch, %tokens, 8, 64] : tensor<?x?x512xbf16> into tensor<?x?x8x64xbf16>
    %47 = tensor.empty(%batch, %tokens) : tensor<?x8x?x64xbf16>
    %48 = linalg.transpose ins(%46 : tensor<?x?x8x64xbf16>) outs(%47 : tensor<?x8x?x64xbf16>) permutation = [0, 2, 1, 3]
    // Rotary embedding; the positions are those after the cached tokens.
    %49 = tensor.empty(%tokens) : tensor<?xi64>
    %50 = linalg.generic {
        indexing_maps = [#map], iterator_types = ["parallel"]}
        outs(%49 : tensor<?xi64>) {
    ^bb0(%out: i64):
      %51 = linalg.index 0 : index
      %52 = arith.index_cast %51 : index to i64
      linalg.yield %52 : i64
    } -> tensor<?xi64>
    %53 = tensor.expand_shape %50 [[0, 1]] output_shape [1, %tokens] : tensor<?xi64> into tensor<1x?xi64>
    %54 = tensor.expand_shape %cst [[0, 1]] output_shape [32, 1] : tensor<32xf32> into tensor<32x1xf32>
    %55 = tensor.empty() : tensor<1x32x1xf32>
    %56 = linalg.broadcast ins(%54 : tensor<32x1xf32>) outs(%55 : tensor<1x32x1xf32>) dimensions = [0]
    %57 = tensor.empty(%tokens) : tensor<1x?xf32>
    %58 = linalg.generic {
        indexing_maps = [#map2, #map1], iterator_types = ["parallel", "parallel"]}
        ins(%53 : tensor<1x?xi64>) outs(%57 : tensor<1x?xf32>) {
    ^bb0(%in: i64, %out: f32):
      %59 = arith.sitofp %in : i64 to f32
      linalg.yield %59 : f32
    } -> tensor<1x?xf32>
    %60 = tensor.expand_shape %58 [[0], [1, 2]] output_shape [1, 1, %tokens] : tensor<1x?xf32> into tensor<1x1x?xf32>
    %61 = tensor.empty(%tokens) : tensor<1x32x?xf32>
    %62 = linalg.fill ins(%cst_1 : f32) outs(%61 : tensor<1x32x?xf32>) -> tensor<1x32x?xf32>
    %63 = linalg.batch_matmul ins(%56, %60 : tensor<1x32x1xf32>, tensor<1x1x?xf32>) outs(%62 : tensor<1x32x?xf32>) -> tensor<1x32x?xf32>
    %64 = tensor.empty(%tokens) : tensor<1x?x32xf32>
    %65 = linalg.transpose ins(%63 : tensor<1x32x?xf32>) outs(%64 : tensor<1x?x32xf32>) permutation = [0, 2, 1]
    %66 = tensor.empty(%tokens) : tensor<1x?x32xf32>
    %67 = linalg.generic {
        indexing_maps = [#map3, #map4], iterator_types = ["parallel", "parallel", "parallel"]}
        ins(%65 : tensor<1x?x32xf32>) outs(%66 : tensor<1x?x32xf32>) {
    ^bb0(%in: f32, %out: f32):
      %68 = math.cos %in : f32
      linalg.yield %68 : f32
    } -> tensor<1x?x32xf32>
    %69 = tensor.empty(%tokens) : tensor<1x?x32xf32>
    %70 = linalg.generic {
        indexing_maps = [#map3, #map4], iterator_types = ["parallel", "parallel", "parallel"]}
        ins(%65 : tensor<1x?x32xf32>) outs(%69 : tensor<1x?x32xf32>) {
    ^bb0(%in: f32, %out: f32):
      %71 = math.sin %in : f32
      linalg.yield %71 : f32
    } -> tensor<1x?x32xf32>
    %72 = tensor.empty(%tokens) : tensor<1x?x32xf32>
    %73 = linalg.generic {
        indexing_maps = [#map3, #map4], iterator_types = ["parallel", "parallel", "parallel"]}
        ins(%67 : tensor<1x?x32xf32>) outs(%72 : tensor<1x?x32xf32>) {
    ^bb0(%in: f32, %out: f32):
      %74 = arith.mulf %in, %cst_2 : f32
      linalg.yield %74 : f32
    } -> tensor<1x?x32xf32>
    %75 = tensor.empty(%tokens) : tensor<1x?x32xf32>
    %76 = linalg.generic {
        indexing_maps = [#map3, #map4], iterator_types = ["parallel", "parallel", "parallel"]}
        ins(%70 : tensor<1x?x32xf32>) outs(%75 : tensor<1x?x32xf32>) {
    ^bb0(%in: f32, %out: f32):
      %77 = arith.mulf %in, %cst_2 : f32
      linalg.yield %77 : f32
    } -> tensor<1x?x32xf32>
    %78 = tensor.empty(%tokens) : tensor<1x?x32xbf16>
    %79 = linalg.generic {
        indexing_maps = [#map3, #map4], iterator_types = ["parallel", "parallel", "parallel"]}
        ins(%73 : tensor<1x?x32xf32>) outs(%78 : tensor<1x?x32xbf16>) {
    ^bb0(%in: f32, %out: bf16):
      %80 = arith.truncf %in : f32 to bf16
      linalg.yield %80 : bf16
    } -> tensor<1x?x32xbf16>
    %81 = tensor.expand_shape %79 [[0], [1, 2], [3]] output_shape [1, 1, %tokens, 32] : tensor<1x?x32xbf16> into tensor<1x1x?x32xbf16>
    %82 = tensor.empty(%tokens) : tensor<1x?x32xbf16>
    %83 = linalg.generic {
        indexing_maps = [#map3, #map4], iterator_types = ["parallel", "parallel", "parallel"]}
        ins(%76 : tensor<1x?x32xf32>) outs(%82 : tensor<1x?x32xbf16>) {
    ^bb0(%in: f32, %out: bf16):
      %84 = arith.truncf %in : f32 to bf16
      linalg.yield %84 : bf16
    } -> tensor<1x?x32xbf16>
    %85 = tensor.expand_shape %83 [[0], [1, 2], [3]] output_shape [1, 1, %tokens, 32] : tensor<1x?x32xbf16> into tensor<1x1x?x32xbf16>
    %86 = tensor.extract_slice %16[0, 0, 0, 0] [%batch, 64, %tokens, 32] [1, 1, 1, 1] : tensor<?x64x?x64xbf16> to tensor<?x64x?x32xbf16>
    %87 = tensor.extract_slice %16[0, 0, 0, 32] [%batch, 64, %tokens, 32] [1, 1, 1, 1] : tensor<?x64x?x64xbf16> to tensor<?x64x?x32xbf16>
    %88 = tensor.empty(%batch, %tokens) : tensor<?x64x?x32xbf16>
    %89 = linalg.generic {
        indexing_maps = [#map5, #map6, #map5], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
        ins(%86, %81 : tensor<?x64x?x32xbf16>, tensor<1x1x?x32xbf16>) outs(%88 : tensor<?x64x?x32xbf16>) {
    ^bb0(%in: bf16, %in_1: bf16, %out: bf16):
      %90 = arith.mulf %in, %in_1 : bf16
      linalg.yield %90 : bf16
    } -> tensor<?x64x?x32xbf16>
    %91 = tensor.empty(%batch, %tokens) : tensor<?x64x?x32xbf16>
    %92 = linalg.generic {
        indexing_maps = [#map5, #map6, #map5], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
        ins(%87, %85 : tensor<?x64x?x32xbf16>, tensor<1x1x?x32xbf16>) outs(%91 : tensor<?x64x?x32xbf16>) {
    ^bb0(%in: bf16, %in_1: bf16, %out: bf16):
      %93 = arith.mulf %in, %in_1 : bf16
      linalg.yield %93 : bf16
    } -> tensor<?x64x?x32xbf16>
    %94 = tensor.empty(%batch, %tokens) : tensor<?x64x?x32xbf16>
    %95 = linalg.generic {
        indexing_maps = [#map5, #map5, #map5], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
        ins(%89, %92 : tensor<?x64x?x32xbf16>, tensor<?x64x?x32xbf16>) outs(%94 : tensor<?x64x?x32xbf16>) {
    ^bb0(%in: bf16, %in_1: bf16, %out: bf16):
      %96 = arith.subf %in, %in_1 : bf16
      linalg.yield %96 : bf16
    } -> tensor<?x64x?x32xbf16>
    %97 = tensor.empty(%batch, %tokens) : tensor<?x64x?x32xbf16>
    %98 = linalg.generic {
        indexing_maps = [#map5, #map6, #map5], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
        ins(%87, %81 : tensor<?x64x?x32xbf16>, tensor<1x1x?x32xbf16>) outs(%97 : tensor<?x64x?x32xbf16>) {
    ^bb0(%in: bf16, %in_1: bf16, %out: bf16):
      %99 = arith.mulf %in, %in_1 : bf16
      linalg.yield %99 : bf16
    } -> tensor<?x64x?x32xbf16>
    %100 = tensor.empty(%batch, %tokens) : tensor<?x64x?x32xbf16>
    %101 = linalg.generic {
        indexing_maps = [#map5, #map6, #map5], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
        ins(%86, %85 : tensor<?x64x?x32xbf16>, tensor<1x1x?x32xbf16>) outs(%100 : tensor<?x64x?x32xbf16>) {
    ^bb0(%in: bf16, %in_1: bf16, %out: bf16):
      %102 = arith.mulf %in, %in_1 : bf16
      linalg.yield %102 : bf16
    } -> tensor<?x64x?x32xbf16>
    %103 = tensor.empty(%batch, %tokens) : tensor<?x64x?x32xbf16>
    %104 = linalg.generic {
        indexing_maps = [#map5, #map5, #map5], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
        ins(%98, %101 : tensor<?x64x?x32xbf16>, tensor<?x64x?x32xbf16>) outs(%103 : tensor<?x64x?x32xbf16>) {
    ^bb0(%in: bf16, %in_1: bf16, %out: bf16):
      %105 = arith.addf %in, %in_1 : bf16
      linalg.yield %105 : bf16
    } -> tensor<?x64x?x32xbf16>
    %106 = tensor.concat dim(3) %95, %104 : (tensor<?x64x?x32xbf16>, tensor<?x64x?x32xbf16>) -> tensor<?x64x?x64xbf16>
    %107 = tensor.extract_slice %32[0, 0, 0, 0] [%batch, 8, %tokens, 32] [1, 1, 1, 1] : tensor<?x8x?x64xbf16> to tensor<?x8x?x32xbf16>
    %108 = tensor.extract_slice %32[0, 0, 0, 32] [%batch, 8, %tokens, 32] [1, 1, 1, 1] : tensor<?x8x?x64xbf16> to tensor<?x8x?x32xbf16>
    %109 = tensor.empty(%batch, %tokens) : tensor<?x8x?x32xbf16>
    %110 = linalg.generic {
        indexing_maps = [#map5, #map6, #map5], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
        ins(%107, %81 : tensor<?x8x?x32xbf16>, tensor<1x1x?x32xbf16>) outs(%109 : tensor<?x8x?x32xbf16>) {
    ^bb0(%in: bf16, %in_1: bf16, %out: bf16):
      %111 = arith.mulf %in, %in_1 : bf16
      linalg.yield %111 : bf16
    } -> tensor<?x8x?x32xbf16>
    %112 = tensor.empty(%batch, %tokens) : tensor<?x8x?x32xbf16>
    %113 = linalg.generic {
        indexing_maps = [#map5, #map6, #map5], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
        ins(%108, %85 : tensor<?x8x?x32xbf16>, tensor<1x1x?x32xbf16>) outs(%112 : tensor<?x8x?x32xbf16>) {
    ^bb0(%in: bf16, %in_1: bf16, %out: bf16):
      %114 = arith.mulf %in, %in_1 : bf16
      linalg.yield %114 : bf16
    } -> tensor<?x8x?x32xbf16>
    %115 = tensor.empty(%batch, %tokens) : tensor<?x8x?x32xbf16>
    %116 = linalg.generic {
        indexing_maps = [#map5, #map5, #map5], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
        ins(%110, %113 : tensor<?x8x?x32xbf16>, tensor<?x8x?x32xbf16>) outs(%115 : tensor<?x8x?x32xbf16>) {
    ^bb0(%in: bf16, %in_1: bf16, %out: bf16):
      %117 = arith.subf %in, %in_1 : bf16
      linalg.yield %117 : bf16
    } -> tensor<?x8x?x32xbf16>
    %118 = tensor.empty(%batch, %tokens) : tensor<?x8x?x32xbf16>
    %119 = linalg.generic {
        indexing_maps = [#map5, #map6, #map5], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
        ins(%108, %81 : tensor<?x8x?x32xbf16>, tensor<1x1x?x32xbf16>) outs(%118 : tensor<?x8x?x32xbf16>) {
    ^bb0(%in: bf16, %in_1: bf16, %out: bf16):
      %120 = arith.mulf %in, %in_1 : bf16
      linalg.yield %120 : bf16
    } -> tensor<?x8x?x32xbf16>
    %121 = tensor.empty(%batch, %tokens) : tensor<?x8x?x32xbf16>
    %122 = linalg.generic {
        indexing_maps = [#map5, #map6, #map5], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
        ins(%107, %85 : tensor<?x8x?x32xbf16>, tensor<1x1x?x32xbf16>) outs(%121 : tensor<?x8x?x32xbf16>) {
    ^bb0(%in: bf16, %in_1: bf16, %out: bf16):
      %123 = arith.mulf %in, %in_1 : bf16
      linalg.yield %123 : bf16
    } -> tensor<?x8x?x32xbf16>
    %124 = tensor.empty(%batch, %tokens) : tensor<?x8x?x32xbf16>
    %125 = linalg.generic {
        indexing_maps = [#map5, #map5, #map5], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
        ins(%119, %122 : tensor<?x8x?x32xbf16>, tensor<?x8x?x32xbf16>) outs(%124 : tensor<?x8x?x32xbf16>) {
    ^bb0(%in: bf16, %in_1: bf16, %out: bf16):
      %126 = arith.addf %in, %in_1 : bf16
      linalg.yield %126 : bf16
    } -> tensor<?x8x?x32xbf16>
    %127 = tensor.concat dim(3) %116, %125 : (tensor<?x8x?x32xbf16>, tensor<?x8x?x32xbf16>) -> tensor<?x8x?x64xbf16>
    // The cache.
    // Attention in a window, with sinks.
    %128 = tensor.expand_shape %127 [[0], [1], [2, 3], [4]] output_shape [%batch, 8, 1, %tokens, 64] : tensor<?x8x?x64xbf16> into tensor<?x8x1x?x64xbf16>
    %129 = tensor.empty(%batch, %tokens) : tensor<?x8x8x?x64xbf16>
    %130 = linalg.generic {
        indexing_maps = [#map7, #map8], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]}
        ins(%128 : tensor<?x8x1x?x64xbf16>) outs(%129 : tensor<?x8x8x?x64xbf16>) {
    ^bb0(%in: bf16, %out: bf16):
      linalg.yield %in : bf16
    } -> tensor<?x8x8x?x64xbf16>
    %131 = tensor.collapse_shape %130 [[0], [1, 2], [3], [4]] : tensor<?x8x8x?x64xbf16> into tensor<?x64x?x64xbf16>
    %132 = tensor.expand_shape %48 [[0], [1], [2, 3], [4]] output_shape [%batch, 8, 1, %tokens, 64] : tensor<?x8x?x64xbf16> into tensor<?x8x1x?x64xbf16>
    %133 = tensor.empty(%batch, %tokens) : tensor<?x8x8x?x64xbf16>
    %134 = linalg.generic {
        indexing_maps = [#map7, #map8], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]}
        ins(%132 : tensor<?x8x1x?x64xbf16>) outs(%133 : tensor<?x8x8x?x64xbf16>) {
    ^bb0(%in: bf16, %out: bf16):
      linalg.yield %in : bf16
    } -> tensor<?x8x8x?x64xbf16>
    %135 = tensor.collapse_shape %134 [[0], [1, 2], [3], [4]] : tensor<?x8x8x?x64xbf16> into tensor<?x64x?x64xbf16>
    %136 = tensor.empty(%batch, %tokens) : tensor<?x64x64x?xbf16>
    %137 = linalg.transpose ins(%131 : tensor<?x64x?x64xbf16>) outs(%136 : tensor<?x64x64x?xbf16>) permutation = [0, 1, 3, 2]
    %138 = arith.muli %batch, %c64 : index
    %139 = tensor.collapse_shape %106 [[0, 1], [2], [3]] : tensor<?x64x?x64xbf16> into tensor<?x?x64xbf16>
    %140 = tensor.collapse_shape %137 [[0, 1], [2], [3]] : tensor<?x64x64x?xbf16> into tensor<?x64x?xbf16>
    %141 = tensor.empty(%138, %tokens, %tokens) : tensor<?x?x?xf32>
    %142 = linalg.fill ins(%cst_1 : f32) outs(%141 : tensor<?x?x?xf32>) -> tensor<?x?x?xf32>
    %143 = linalg.batch_matmul ins(%139, %140 : tensor<?x?x64xbf16>, tensor<?x64x?xbf16>) outs(%142 : tensor<?x?x?xf32>) -> tensor<?x?x?xf32>
    %144 = tensor.empty(%138, %tokens, %tokens) : tensor<?x?x?xbf16>
    %145 = linalg.generic {
        indexing_maps = [#map4, #map4], iterator_types = ["parallel", "parallel", "parallel"]}
        ins(%143 : tensor<?x?x?xf32>) outs(%144 : tensor<?x?x?xbf16>) {
    ^bb0(%in: f32, %out: bf16):
      %146 = arith.truncf %in : f32 to bf16
      linalg.yield %146 : bf16
    } -> tensor<?x?x?xbf16>
    %147 = tensor.expand_shape %145 [[0, 1], [2], [3]] output_shape [%batch, 64, %tokens, %tokens] : tensor<?x?x?xbf16> into tensor<?x64x?x?xbf16>
    %148 = tensor.empty(%batch, %tokens, %tokens) : tensor<?x64x?x?xbf16>
    %149 = linalg.generic {
        indexing_maps = [#map5, #map5], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
        ins(%147 : tensor<?x64x?x?xbf16>) outs(%148 : tensor<?x64x?x?xbf16>) {
    ^bb0(%in: bf16, %out: bf16):
      %150 = arith.extf %in : bf16 to f32
      %151 = arith.mulf %150, %cst_3 : f32
      %152 = arith.truncf %151 : f32 to bf16
      linalg.yield %152 : bf16
    } -> tensor<?x64x?x?xbf16>
    %153 = tensor.empty(%tokens) : tensor<?xi64>
    %154 = linalg.generic {
        indexing_maps = [#map], iterator_types = ["parallel"]}
        outs(%153 : tensor<?xi64>) {
    ^bb0(%out: i64):
      %155 = linalg.index 0 : index
      %156 = arith.index_cast %155 : index to i64
      linalg.yield %156 : i64
    } -> tensor<?xi64>
    %157 = tensor.expand_shape %50 [[0, 1]] output_shape [%tokens, 1] : tensor<?xi64> into tensor<?x1xi64>
    %158 = tensor.empty(%tokens, %tokens) : tensor<?x?xi1>
    %159 = linalg.generic {
        indexing_maps = [#map9, #map10, #map1], iterator_types = ["parallel", "parallel"]}
        ins(%154, %157 : tensor<?xi64>, tensor<?x1xi64>) outs(%158 : tensor<?x?xi1>) {
    ^bb0(%in: i64, %in_1: i64, %out: i1):
      %160 = arith.cmpi sle, %in, %in_1 : i64
      linalg.yield %160 : i1
    } -> tensor<?x?xi1>
    %161 = tensor.empty(%tokens, %tokens) : tensor<?x?xi1>
    %162 = linalg.generic {
        indexing_maps = [#map9, #map10, #map1], iterator_types = ["parallel", "parallel"]}
        ins(%154, %157 : tensor<?xi64>, tensor<?x1xi64>) outs(%161 : tensor<?x?xi1>) {
    ^bb0(%in: i64, %in_1: i64, %out: i1):
      %163 = arith.subi %in_1, %c128_i64 : i64
      %164 = arith.cmpi sgt, %in, %163 : i64
      linalg.yield %164 : i1
    } -> tensor<?x?xi1>
    %165 = tensor.empty(%tokens, %tokens) : tensor<?x?xi1>
    %166 = linalg.generic {
        indexing_maps = [#map1, #map1, #map1], iterator_types = ["parallel", "parallel"]}
        ins(%159, %162 : tensor<?x?xi1>, tensor<?x?xi1>) outs(%165 : tensor<?x?xi1>) {
    ^bb0(%in: i1, %in_1: i1, %out: i1):
      %167 = arith.andi %in, %in_1 : i1
      linalg.yield %167 : i1
    } -> tensor<?x?xi1>
    %168 = tensor.empty(%tokens, %tokens) : tensor<?x?xbf16>
    %169 = linalg.generic {
        indexing_maps = [#map1, #map1], iterator_types = ["parallel", "parallel"]}
        ins(%166 : tensor<?x?xi1>) outs(%168 : tensor<?x?xbf16>) {
    ^bb0(%in: i1, %out: bf16):
      %170 = arith.select %in, %cst_4, %cst_5 : bf16
      linalg.yield %170 : bf16
    } -> tensor<?x?xbf16>
    %171 = tensor.empty(%batch, %tokens, %tokens) : tensor<?x64x?x?xbf16>
    %172 = linalg.generic {
        indexing_maps = [#map5, #map11, #map5], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
        ins(%149, %169 : tensor<?x64x?x?xbf16>, tensor<?x?xbf16>) outs(%171 : tensor<?x64x?x?xbf16>) {
    ^bb0(%in: bf16, %in_1: bf16, %out: bf16):
      %173 = arith.addf %in, %in_1 : bf16
      linalg.yield %173 : bf16
    } -> tensor<?x64x?x?xbf16>
    %174 = tensor.empty(%batch, %tokens) : tensor<?x64x?x1xbf16>
    %175 = tensor.expand_shape %sinks [[0, 1, 2, 3]] output_shape [1, 64, 1, 1] : tensor<64xbf16> into tensor<1x64x1x1xbf16>
    %176 = linalg.generic {
        indexing_maps = [#map12, #map5], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
        ins(%175 : tensor<1x64x1x1xbf16>) outs(%174 : tensor<?x64x?x1xbf16>) {
    ^bb0(%in: bf16, %out: bf16):
      linalg.yield %in : bf16
    } -> tensor<?x64x?x1xbf16>
    %177 = arith.addi %tokens, %c1 : index
    %178 = tensor.concat dim(3) %172, %176 : (tensor<?x64x?x?xbf16>, tensor<?x64x?x1xbf16>) -> tensor<?x64x?x?xbf16>
    %179 = tensor.empty(%batch, %tokens) : tensor<?x64x?x1xbf16>
    %180 = linalg.fill ins(%cst_6 : bf16) outs(%179 : tensor<?x64x?x1xbf16>) -> tensor<?x64x?x1xbf16>
    %181 = linalg.generic {
        indexing_maps = [#map5, #map13], iterator_types = ["parallel", "parallel", "parallel", "reduction"]}
        ins(%178 : tensor<?x64x?x?xbf16>) outs(%180 : tensor<?x64x?x1xbf16>) {
    ^bb0(%in: bf16, %out: bf16):
      %182 = arith.maximumf %in, %out : bf16
      linalg.yield %182 : bf16
    } -> tensor<?x64x?x1xbf16>
    %183 = tensor.empty(%batch, %tokens, %177) : tensor<?x64x?x?xbf16>
    %184 = linalg.generic {
        indexing_maps = [#map5, #map13, #map5], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
        ins(%178, %181 : tensor<?x64x?x?xbf16>, tensor<?x64x?x1xbf16>) outs(%183 : tensor<?x64x?x?xbf16>) {
    ^bb0(%in: bf16, %in_1: bf16, %out: bf16):
      %185 = arith.subf %in, %in_1 : bf16
      linalg.yield %185 : bf16
    } -> tensor<?x64x?x?xbf16>
    %186 = tensor.empty(%batch, %tokens, %177) : tensor<?x64x?x?xf32>
    %187 = linalg.generic {
        indexing_maps = [#map5, #map5], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
        ins(%184 : tensor<?x64x?x?xbf16>) outs(%186 : tensor<?x64x?x?xf32>) {
    ^bb0(%in: bf16, %out: f32):
      %188 = arith.extf %in : bf16 to f32
      linalg.yield %188 : f32
    } -> tensor<?x64x?x?xf32>
    %189 = tensor.empty(%batch, %tokens) : tensor<?x64x?x1xf32>
    %190 = linalg.fill ins(%cst_7 : f32) outs(%189 : tensor<?x64x?x1xf32>) -> tensor<?x64x?x1xf32>
    %191 = linalg.generic {
        indexing_maps = [#map5, #map13], iterator_types = ["parallel", "parallel", "parallel", "reduction"]}
        ins(%187 : tensor<?x64x?x?xf32>) outs(%190 : tensor<?x64x?x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      %192 = arith.maximumf %in, %out : f32
      linalg.yield %192 : f32
    } -> tensor<?x64x?x1xf32>
    %193 = tensor.empty(%batch, %tokens, %177) : tensor<?x64x?x?xf32>
    %194 = linalg.generic {
        indexing_maps = [#map5, #map13, #map5], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
        ins(%187, %191 : tensor<?x64x?x?xf32>, tensor<?x64x?x1xf32>) outs(%193 : tensor<?x64x?x?xf32>) {
    ^bb0(%in: f32, %in_1: f32, %out: f32):
      %195 = arith.subf %in, %in_1 : f32
      linalg.yield %195 : f32
    } -> tensor<?x64x?x?xf32>
    %196 = tensor.empty(%batch, %tokens, %177) : tensor<?x64x?x?xf32>
    %197 = linalg.generic {
        indexing_maps = [#map5, #map5], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
        ins(%194 : tensor<?x64x?x?xf32>) outs(%196 : tensor<?x64x?x?xf32>) {
    ^bb0(%in: f32, %out: f32):
      %198 = math.exp %in : f32
      linalg.yield %198 : f32
    } -> tensor<?x64x?x?xf32>
    %199 = tensor.empty(%batch, %tokens) : tensor<?x64x?x1xf32>
    %200 = linalg.fill ins(%cst_1 : f32) outs(%199 : tensor<?x64x?x1xf32>) -> tensor<?x64x?x1xf32>
    %201 = linalg.generic {
        indexing_maps = [#map5, #map13], iterator_types = ["parallel", "parallel", "parallel", "reduction"]}
        ins(%197 : tensor<?x64x?x?xf32>) outs(%200 : tensor<?x64x?x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      %202 = arith.addf %in, %out : f32
      linalg.yield %202 : f32
    } -> tensor<?x64x?x1xf32>
    %203 = tensor.empty(%batch, %tokens, %177) : tensor<?x64x?x?xf32>
    %204 = linalg.generic {
        indexing_maps = [#map5, #map13, #map5], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
        ins(%197, %201 : tensor<?x64x?x?xf32>, tensor<?x64x?x1xf32>) outs(%203 : tensor<?x64x?x?xf32>) {
    ^bb0(%in: f32, %in_1: f32, %out: f32):
      %205 = arith.divf %in, %in_1 : f32
      linalg.yield %205 : f32
    } -> tensor<?x64x?x?xf32>
    %206 = tensor.empty(%batch, %tokens, %177) : tensor<?x64x?x?xbf16>
    %207 = linalg.generic {
        indexing_maps = [#map5, #map5], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
        ins(%204 : tensor<?x64x?x?xf32>) outs(%206 : tensor<?x64x?x?xbf16>) {
    ^bb0(%in: f32, %out: bf16):
      %208 = arith.truncf %in : f32 to bf16
      linalg.yield %208 : bf16
    } -> tensor<?x64x?x?xbf16>
    %209 = tensor.extract_slice %207[0, 0, 0, 0] [%batch, 64, %tokens, %tokens] [1, 1, 1, 1] : tensor<?x64x?x?xbf16> to tensor<?x64x?x?xbf16>
    %210 = tensor.collapse_shape %209 [[0, 1], [2], [3]] : tensor<?x64x?x?xbf16> into tensor<?x?x?xbf16>
    %211 = tensor.collapse_shape %135 [[0, 1], [2], [3]] : tensor<?x64x?x64xbf16> into tensor<?x?x64xbf16>
    %212 = tensor.empty(%138, %tokens) : tensor<?x?x64xf32>
    %213 = linalg.fill ins(%cst_1 : f32) outs(%212 : tensor<?x?x64xf32>) -> tensor<?x?x64xf32>
    %214 = linalg.batch_matmul ins(%210, %211 : tensor<?x?x?xbf16>, tensor<?x?x64xbf16>) outs(%213 : tensor<?x?x64xf32>) -> tensor<?x?x64xf32>
    %215 = tensor.empty(%138, %tokens) : tensor<?x?x64xbf16>
    %216 = linalg.generic {
        indexing_maps = [#map4, #map4], iterator_types = ["parallel", "parallel", "parallel"]}
        ins(%214 : tensor<?x?x64xf32>) outs(%215 : tensor<?x?x64xbf16>) {
    ^bb0(%in: f32, %out: bf16):
      %217 = arith.truncf %in : f32 to bf16
      linalg.yield %217 : bf16
    } -> tensor<?x?x64xbf16>
    %218 = tensor.expand_shape %216 [[0, 1], [2], [3]] output_shape [%batch, 64, %tokens, 64] : tensor<?x?x64xbf16> into tensor<?x64x?x64xbf16>
    %219 = tensor.empty(%batch, %tokens) : tensor<?x?x64x64xbf16>
    %220 = linalg.transpose ins(%218 : tensor<?x64x?x64xbf16>) outs(%219 : tensor<?x?x64x64xbf16>) permutation = [0, 2, 1, 3]
    %221 = tensor.collapse_shape %220 [[0], [1], [2, 3]] : tensor<?x?x64x64xbf16> into tensor<?x?x4096xbf16>
    %222 = tensor.collapse_shape %221 [[0, 1], [2]] : tensor<?x?x4096xbf16> into tensor<?x4096xbf16>
    %223 = tensor.empty() : tensor<4096x2880xbf16>
    %224 = linalg.transpose ins(%wo : tensor<2880x4096xbf16>) outs(%223 : tensor<4096x2880xbf16>) permutation = [1, 0]
    %225 = tensor.empty() : tensor<2880xf32>
    %226 = linalg.generic {
        indexing_maps = [#map, #map], iterator_types = ["parallel"]}
        ins(%bo : tensor<2880xbf16>) outs(%225 : tensor<2880xf32>) {
    ^bb0(%in: bf16, %out: f32):
      %227 = arith.extf %in : bf16 to f32
      linalg.yield %227 : f32
    } -> tensor<2880xf32>
    %228 = tensor.empty(%0) : tensor<?x2880xf32>
    %229 = linalg.broadcast ins(%226 : tensor<2880xf32>) outs(%228 : tensor<?x2880xf32>) dimensions = [0]
    %230 = linalg.matmul ins(%222, %224 : tensor<?x4096xbf16>, tensor<4096x2880xbf16>) outs(%229 : tensor<?x2880xf32>) -> tensor<?x2880xf32>
    %231 = tensor.empty(%0) : tensor<?x2880xbf16>
    %232 = linalg.generic {
        indexing_maps = [#map1, #map1], iterator_types = ["parallel", "parallel"]}
        ins(%230 : tensor<?x2880xf32>) outs(%231 : tensor<?x2880xbf16>) {
    ^bb0(%in: f32, %out: bf16):
      %233 = arith.truncf %in : f32 to bf16
      linalg.yield %233 : bf16
    } -> tensor<?x2880xbf16>
    %234 = tensor.expand_shape %232 [[0, 1], [2]] output_shape [%batch, %tokens, 2880] : tensor<?x2880xbf16> into tensor<?x?x2880xbf16>
    return %234, %127, %48 : tensor<?x?x2880xbf16>, tensor<?x8x?x64xbf16>, tensor<?x8x?x64xbf16>
  }

  func.func @decode(%x: tensor<?x1x2880xbf16>,
                    %past_k: tensor<?x8x?x64xbf16> {kvc.cache = "k"},
                    %past_v: tensor<?x8x?x64xbf16> {kvc.cache = "v"},
                    %wq: tensor<4096x2880xbf16>,
                    %wk: tensor<512x2880xbf16>,
                    %wv: tensor<512x2880xbf16>,
                    %wo: tensor<2880x4096xbf16>,
                    %bq: tensor<4096xbf16>,
                    %bk: tensor<512xbf16>,
                    %bv: tensor<512xbf16>,
                    %bo: tensor<2880xbf16>,
                    %sinks: tensor<64xbf16>)
      -> (tensor<?x1x2880xbf16>,
          tensor<?x8x?x64xbf16> {kvc.cache = "k"},
          tensor<?x8x?x64xbf16> {kvc.cache = "v"}) {
    %c0 = arith.constant 0 : index
    %c2 = arith.constant 2 : index
    %cst = arith.constant dense<[1.0, 0.689044306, 0.474782055, 0.327145872, 0.225418, 0.155322989,
        0.107024421, 0.0737445682, 0.0508132748, 0.0317056962, 0.0193350011, 0.0115920493,
        0.00679495949, 0.00386035932, 0.00209379238, 0.0010526021, 0.000456483919, 0.000129318701,
        3.83088124e-05, 2.6396469e-05, 1.81883367e-05, 1.25325698e-05, 8.63549588e-06,
        5.95023926e-06, 4.09997848e-06, 2.82506683e-06, 1.94659621e-06, 1.34129104e-06,
        9.2420895e-07, 6.36820915e-07, 4.38797825e-07, 3.02351143e-07]> : tensor<32xf32>
    %cst_1 = arith.constant 0.0 : f32
    %cst_2 = arith.constant 1.34657359 : f32
    %c1 = arith.constant 1 : index
    %c64 = arith.constant 64 : index
    %cst_3 = arith.constant 0.125 : f32
    %c128_i64 = arith.constant 128 : i64
    %cst_4 = arith.constant 0.0 : bf16
    %cst_5 = arith.constant -3.38953139e+38 : bf16
    %cst_6 = arith.constant 0xFF80 : bf16
    %cst_7 = arith.constant 0xFF800000 : f32
    %batch = tensor.dim %x, %c0 : tensor<?x1x2880xbf16>
    %past = tensor.dim %past_k, %c2 : tensor<?x8x?x64xbf16>
    // Queries, keys and values, by heads.
    %0 = tensor.collapse_shape %x [[0, 1], [2]] : tensor<?x1x2880xbf16> into tensor<?x2880xbf16>
    %1 = tensor.empty() : tensor<2880x4096xbf16>
    %2 = linalg.transpose ins(%wq : tensor<4096x2880xbf16>) outs(%1 : tensor<2880x4096xbf16>) permutation = [1, 0]
    %3 = tensor.empty() : tensor<4096xf32>
    %4 = linalg.generic {
        indexing_maps = [#map, #map], iterator_types = ["parallel"]}
        ins(%bq : tensor<4096xbf16>) outs(%3 : tensor<4096xf32>) {
    ^bb0(%in: bf16, %out: f32):
      %5 = arith.extf %in : bf16 to f32
      linalg.yield %5 : f32
    } -> tensor<4096xf32>
    %6 = tensor.empty(%batch) : tensor<?x4096xf32>
    %7 = linalg.broadcast ins(%4 : tensor<4096xf32>) outs(%6 : tensor<?x4096xf32>) dimensions = [0]
    %8 = linalg.matmul ins(%0, %2 : tensor<?x2880xbf16>, tensor<2880x4096xbf16>) outs(%7 : tensor<?x4096xf32>) -> tensor<?x4096xf32>
    %9 = tensor.empty(%batch) : tensor<?x4096xbf16>
    %10 = linalg.generic {
        indexing_maps = [#map1, #map1], iterator_types = ["parallel", "parallel"]}
        ins(%8 : tensor<?x4096xf32>) outs(%9 : tensor<?x4096xbf16>) {
    ^bb0(%in: f32, %out: bf16):
      %11 = arith.truncf %in : f32 to bf16
      linalg.yield %11 : bf16
    } -> tensor<?x4096xbf16>
    %12 = tensor.expand_shape %10 [[0, 1], [2]] output_shape [%batch, 1, 4096] : tensor<?x4096xbf16> into tensor<?x1x4096xbf16>
    %13 = tensor.expand_shape %12 [[0], [1], [2, 3]] output_shape [%batch, 1, 64, 64] : tensor<?x1x4096xbf16> into tensor<?x1x64x64xbf16>
    %14 = tensor.empty(%batch) : tensor<?x64x1x64xbf16>
    %15 = linalg.transpose ins(%13 : tensor<?x1x64x64xbf16>) outs(%14 : tensor<?x64x1x64xbf16>) permutation = [0, 2, 1, 3]
    %16 = tensor.collapse_shape %x [[0, 1], [2]] : tensor<?x1x2880xbf16> into tensor<?x2880xbf16>
    %17 = tensor.empty() : tensor<2880x512xbf16>
    %18 = linalg.transpose ins(%wk : tensor<512x2880xbf16>) outs(%17 : tensor<2880x512xbf16>) permutation = [1, 0]
    %19 = tensor.empty() : tensor<512xf32>
    %20 = linalg.generic {
        indexing_maps = [#map, #map], iterator_types = ["parallel"]}
        ins(%bk : tensor<512xbf16>) outs(%19 : tensor<512xf32>) {
    ^bb0(%in: bf16, %out: f32):
      %21 = arith.extf %in : bf16 to f32
      linalg.yield %21 : f32
    } -> tensor<512xf32>
    %22 = tensor.empty(%batch) : tensor<?x512xf32>
    %23 = linalg.broadcast ins(%20 : tensor<512xf32>) outs(%22 : tensor<?x512xf32>) dimensions = [0]
    %24 = linalg.matmul ins(%16, %18 : tensor<?x2880xbf16>, tensor<2880x512xbf16>) outs(%23 : tensor<?x512xf32>) -> tensor<?x512xf32>
    %25 = tensor.empty(%batch) : tensor<?x512xbf16>
    %26 = linalg.generic {
        indexing_maps = [#map1, #map1], iterator_types = ["parallel", "parallel"]}
        ins(%24 : tensor<?x512xf32>) outs(%25 : tensor<?x512xbf16>) {
    ^bb0(%in: f32, %out: bf16):
      %27 = arith.truncf %in : f32 to bf16
      linalg.yield %27 : bf16
    } -> tensor<?x512xbf16>
    %28 = tensor.expand_shape %26 [[0, 1], [2]] output_shape [%batch, 1, 512] : tensor<?x512xbf16> into tensor<?x1x512xbf16>
    %29 = tensor.expand_shape %28 [[0], [1], [2, 3]] output_shape [%batch, 1, 8, 64] : tensor<?x1x512xbf16> into tensor<?x1x8x64xbf16>
    %30 = tensor.empty(%batch) : tensor<?x8x1x64xbf16>
    %31 = linalg.transpose ins(%29 : tensor<?x1x8x64xbf16>) outs(%30 : tensor<?x8x1x64xbf16>) permutation = [0, 2, 1, 3]
    %32 = tensor.collapse_shape %x [[0, 1], [2]] : tensor<?x1x2880xbf16> into tensor<?x2880xbf16>
    %33 = tensor.empty() : tensor<2880x512xbf16>
    %34 = linalg.transpose ins(%wv : tensor<512x2880xbf16>) outs(%33 : tensor<2880x512xbf16>) permutation = [1, 0]
    %35 = tensor.empty() : tensor<512xf32>
    %36 = linalg.generic {
        indexing_maps = [#map, #map], iterator_types = ["parallel"]}
        ins(%bv : tensor<512xbf16>) outs(%35 : tensor<512xf32>) {
    ^bb0(%in: bf16, %out: f32):
      %37 = arith.extf %in : bf16 to f32
      linalg.yield %37 : f32
    } -> tensor<512xf32>
    %38 = tensor.empty(%batch) : tensor<?x512xf32>
    %39 = linalg.broadcast ins(%36 : tensor<512xf32>) outs(%38 : tensor<?x512xf32>) dimensions = [0]
    %40 = linalg.matmul ins(%32, %34 : tensor<?x2880xbf16>, tensor<2880x512xbf16>) outs(%39 : tensor<?x512xf32>) -> tensor<?x512xf32>
    %41 = tensor.empty(%batch) : tensor<?x512xbf16>
    %42 = linalg.generic {
        indexing_maps = [#map1, #map1], iterator_types = ["parallel", "parallel"]}
        ins(%40 : tensor<?x512xf32>) outs(%41 : tensor<?x512xbf16>) {
    ^bb0(%in: f32, %out: bf16):
      %43 = arith.truncf %in : f32 to bf16
      linalg.yield %43 : bf16
    } -> tensor<?x512xbf16>
    %44 = tensor.expand_shape %42 [[0, 1], [2]] output_shape [%batch, 1, 512] : tensor<?x512xbf16> into tensor<?x1x512xbf16>
    %45 = tensor.expand_shape %44 [[0], [1], [2, 3]] output_shape [%batch, 1, 8, 64] : tensor<?x1x512xbf16> into tensor<?x1x8x64xbf16>
    %46 = tensor.empty(%batch) : tensor<?x8x1x64xbf16>
    %47 = linalg.transpose ins(%45 : tensor<?x1x8x64xbf16>) outs(%46 : tensor<?x8x1x64xbf16>) permutation = [0, 2, 1, 3]
    // Rotary embedding; the positions are those after the cached tokens.
    %48 = tensor.empty() : tensor<1xi64>
    %49 = linalg.generic {
        indexing_maps = [#map], iterator_types = ["parallel"]}
        outs(%48 : tensor<1xi64>) {
    ^bb0(%out: i64):
      %50 = linalg.index 0 : index
      %51 = arith.addi %50, %past : index
      %52 = arith.index_cast %51 : index to i64
      linalg.yield %52 : i64
    } -> tensor<1xi64>
    %53 = tensor.expand_shape %49 [[0, 1]] output_shape [1, 1] : tensor<1xi64> into tensor<1x1xi64>
    %54 = tensor.expand_shape %cst [[0, 1]] output_shape [32, 1] : tensor<32xf32> into tensor<32x1xf32>
    %55 = tensor.empty() : tensor<1x32x1xf32>
    %56 = linalg.broadcast ins(%54 : tensor<32x1xf32>) outs(%55 : tensor<1x32x1xf32>) dimensions = [0]
    %57 = tensor.empty() : tensor<1x1xf32>
    %58 = linalg.generic {
        indexing_maps = [#map14, #map1], iterator_types = ["parallel", "parallel"]}
        ins(%53 : tensor<1x1xi64>) outs(%57 : tensor<1x1xf32>) {
    ^bb0(%in: i64, %out: f32):
      %59 = arith.sitofp %in : i64 to f32
      linalg.yield %59 : f32
    } -> tensor<1x1xf32>
    %60 = tensor.expand_shape %58 [[0], [1, 2]] output_shape [1, 1, 1] : tensor<1x1xf32> into tensor<1x1x1xf32>
    %61 = tensor.empty() : tensor<1x32x1xf32>
    %62 = linalg.fill ins(%cst_1 : f32) outs(%61 : tensor<1x32x1xf32>) -> tensor<1x32x1xf32>
    %63 = linalg.batch_matmul ins(%56, %60 : tensor<1x32x1xf32>, tensor<1x1x1xf32>) outs(%62 : tensor<1x32x1xf32>) -> tensor<1x32x1xf32>
    %64 = tensor.empty() : tensor<1x1x32xf32>
    %65 = linalg.transpose ins(%63 : tensor<1x32x1xf32>) outs(%64 : tensor<1x1x32xf32>) permutation = [0, 2, 1]
    %66 = tensor.empty() : tensor<1x1x32xf32>
    %67 = linalg.generic {
        indexing_maps = [#map15, #map4], iterator_types = ["parallel", "parallel", "parallel"]}
        ins(%65 : tensor<1x1x32xf32>) outs(%66 : tensor<1x1x32xf32>) {
    ^bb0(%in: f32, %out: f32):
      %68 = math.cos %in : f32
      linalg.yield %68 : f32
    } -> tensor<1x1x32xf32>
    %69 = tensor.empty() : tensor<1x1x32xf32>
    %70 = linalg.generic {
        indexing_maps = [#map15, #map4], iterator_types = ["parallel", "parallel", "parallel"]}
        ins(%65 : tensor<1x1x32xf32>) outs(%69 : tensor<1x1x32xf32>) {
    ^bb0(%in: f32, %out: f32):
      %71 = math.sin %in : f32
      linalg.yield %71 : f32
    } -> tensor<1x1x32xf32>
    %72 = tensor.empty() : tensor<1x1x32xf32>
    %73 = linalg.generic {
        indexing_maps = [#map15, #map4], iterator_types = ["parallel", "parallel", "parallel"]}
        ins(%67 : tensor<1x1x32xf32>) outs(%72 : tensor<1x1x32xf32>) {
    ^bb0(%in: f32, %out: f32):
      %74 = arith.mulf %in, %cst_2 : f32
      linalg.yield %74 : f32
    } -> tensor<1x1x32xf32>
    %75 = tensor.empty() : tensor<1x1x32xf32>
    %76 = linalg.generic {
        indexing_maps = [#map15, #map4], iterator_types = ["parallel", "parallel", "parallel"]}
        ins(%70 : tensor<1x1x32xf32>) outs(%75 : tensor<1x1x32xf32>) {
    ^bb0(%in: f32, %out: f32):
      %77 = arith.mulf %in, %cst_2 : f32
      linalg.yield %77 : f32
    } -> tensor<1x1x32xf32>
    %78 = tensor.empty() : tensor<1x1x32xbf16>
    %79 = linalg.generic {
        indexing_maps = [#map15, #map4], iterator_types = ["parallel", "parallel", "parallel"]}
        ins(%73 : tensor<1x1x32xf32>) outs(%78 : tensor<1x1x32xbf16>) {
    ^bb0(%in: f32, %out: bf16):
      %80 = arith.truncf %in : f32 to bf16
      linalg.yield %80 : bf16
    } -> tensor<1x1x32xbf16>
    %81 = tensor.expand_shape %79 [[0], [1, 2], [3]] output_shape [1, 1, 1, 32] : tensor<1x1x32xbf16> into tensor<1x1x1x32xbf16>
    %82 = tensor.empty() : tensor<1x1x32xbf16>
    %83 = linalg.generic {
        indexing_maps = [#map15, #map4], iterator_types = ["parallel", "parallel", "parallel"]}
        ins(%76 : tensor<1x1x32xf32>) outs(%82 : tensor<1x1x32xbf16>) {
    ^bb0(%in: f32, %out: bf16):
      %84 = arith.truncf %in : f32 to bf16
      linalg.yield %84 : bf16
    } -> tensor<1x1x32xbf16>
    %85 = tensor.expand_shape %83 [[0], [1, 2], [3]] output_shape [1, 1, 1, 32] : tensor<1x1x32xbf16> into tensor<1x1x1x32xbf16>
    %86 = tensor.extract_slice %15[0, 0, 0, 0] [%batch, 64, 1, 32] [1, 1, 1, 1] : tensor<?x64x1x64xbf16> to tensor<?x64x1x32xbf16>
    %87 = tensor.extract_slice %15[0, 0, 0, 32] [%batch, 64, 1, 32] [1, 1, 1, 1] : tensor<?x64x1x64xbf16> to tensor<?x64x1x32xbf16>
    %88 = tensor.empty(%batch) : tensor<?x64x1x32xbf16>
    %89 = linalg.generic {
        indexing_maps = [#map16, #map17, #map5], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
        ins(%86, %81 : tensor<?x64x1x32xbf16>, tensor<1x1x1x32xbf16>) outs(%88 : tensor<?x64x1x32xbf16>) {
    ^bb0(%in: bf16, %in_1: bf16, %out: bf16):
      %90 = arith.mulf %in, %in_1 : bf16
      linalg.yield %90 : bf16
    } -> tensor<?x64x1x32xbf16>
    %91 = tensor.empty(%batch) : tensor<?x64x1x32xbf16>
    %92 = linalg.generic {
        indexing_maps = [#map16, #map17, #map5], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
        ins(%87, %85 : tensor<?x64x1x32xbf16>, tensor<1x1x1x32xbf16>) outs(%91 : tensor<?x64x1x32xbf16>) {
    ^bb0(%in: bf16, %in_1: bf16, %out: bf16):
      %93 = arith.mulf %in, %in_1 : bf16
      linalg.yield %93 : bf16
    } -> tensor<?x64x1x32xbf16>
    %94 = tensor.empty(%batch) : tensor<?x64x1x32xbf16>
    %95 = linalg.generic {
        indexing_maps = [#map16, #map16, #map5], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
        ins(%89, %92 : tensor<?x64x1x32xbf16>, tensor<?x64x1x32xbf16>) outs(%94 : tensor<?x64x1x32xbf16>) {
    ^bb0(%in: bf16, %in_1: bf16, %out: bf16):
      %96 = arith.subf %in, %in_1 : bf16
      linalg.yield %96 : bf16
    } -> tensor<?x64x1x32xbf16>
    %97 = tensor.empty(%batch) : tensor<?x64x1x32xbf16>
    %98 = linalg.generic {
        indexing_maps = [#map16, #map17, #map5], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
        ins(%87, %81 : tensor<?x64x1x32xbf16>, tensor<1x1x1x32xbf16>) outs(%97 : tensor<?x64x1x32xbf16>) {
    ^bb0(%in: bf16, %in_1: bf16, %out: bf16):
      %99 = arith.mulf %in, %in_1 : bf16
      linalg.yield %99 : bf16
    } -> tensor<?x64x1x32xbf16>
    %100 = tensor.empty(%batch) : tensor<?x64x1x32xbf16>
    %101 = linalg.generic {
        indexing_maps = [#map16, #map17, #map5], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
        ins(%86, %85 : tensor<?x64x1x32xbf16>, tensor<1x1x1x32xbf16>) outs(%100 : tensor<?x64x1x32xbf16>) {
    ^bb0(%in: bf16, %in_1: bf16, %out: bf16):
      %102 = arith.mulf %in, %in_1 : bf16
      linalg.yield %102 : bf16
    } -> tensor<?x64x1x32xbf16>
    %103 = tensor.empty(%batch) : tensor<?x64x1x32xbf16>
    %104 = linalg.generic {
        indexing_maps = [#map16, #map16, #map5], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
        ins(%98, %101 : tensor<?x64x1x32xbf16>, tensor<?x64x1x32xbf16>) outs(%103 : tensor<?x64x1x32xbf16>) {
    ^bb0(%in: bf16, %in_1: bf16, %out: bf16):
      %105 = arith.addf %in, %in_1 : bf16
      linalg.yield %105 : bf16
    } -> tensor<?x64x1x32xbf16>
    %106 = tensor.concat dim(3) %95, %104 : (tensor<?x64x1x32xbf16>, tensor<?x64x1x32xbf16>) -> tensor<?x64x1x64xbf16>
    %107 = tensor.extract_slice %31[0, 0, 0, 0] [%batch, 8, 1, 32] [1, 1, 1, 1] : tensor<?x8x1x64xbf16> to tensor<?x8x1x32xbf16>
    %108 = tensor.extract_slice %31[0, 0, 0, 32] [%batch, 8, 1, 32] [1, 1, 1, 1] : tensor<?x8x1x64xbf16> to tensor<?x8x1x32xbf16>
    %109 = tensor.empty(%batch) : tensor<?x8x1x32xbf16>
    %110 = linalg.generic {
        indexing_maps = [#map16, #map17, #map5], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
        ins(%107, %81 : tensor<?x8x1x32xbf16>, tensor<1x1x1x32xbf16>) outs(%109 : tensor<?x8x1x32xbf16>) {
    ^bb0(%in: bf16, %in_1: bf16, %out: bf16):
      %111 = arith.mulf %in, %in_1 : bf16
      linalg.yield %111 : bf16
    } -> tensor<?x8x1x32xbf16>
    %112 = tensor.empty(%batch) : tensor<?x8x1x32xbf16>
    %113 = linalg.generic {
        indexing_maps = [#map16, #map17, #map5], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
        ins(%108, %85 : tensor<?x8x1x32xbf16>, tensor<1x1x1x32xbf16>) outs(%112 : tensor<?x8x1x32xbf16>) {
    ^bb0(%in: bf16, %in_1: bf16, %out: bf16):
      %114 = arith.mulf %in, %in_1 : bf16
      linalg.yield %114 : bf16
    } -> tensor<?x8x1x32xbf16>
    %115 = tensor.empty(%batch) : tensor<?x8x1x32xbf16>
    %116 = linalg.generic {
        indexing_maps = [#map16, #map16, #map5], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
        ins(%110, %113 : tensor<?x8x1x32xbf16>, tensor<?x8x1x32xbf16>) outs(%115 : tensor<?x8x1x32xbf16>) {
    ^bb0(%in: bf16, %in_1: bf16, %out: bf16):
      %117 = arith.subf %in, %in_1 : bf16
      linalg.yield %117 : bf16
    } -> tensor<?x8x1x32xbf16>
    %118 = tensor.empty(%batch) : tensor<?x8x1x32xbf16>
    %119 = linalg.generic {
        indexing_maps = [#map16, #map17, #map5], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
        ins(%108, %81 : tensor<?x8x1x32xbf16>, tensor<1x1x1x32xbf16>) outs(%118 : tensor<?x8x1x32xbf16>) {
    ^bb0(%in: bf16, %in_1: bf16, %out: bf16):
      %120 = arith.mulf %in, %in_1 : bf16
      linalg.yield %120 : bf16
    } -> tensor<?x8x1x32xbf16>
    %121 = tensor.empty(%batch) : tensor<?x8x1x32xbf16>
    %122 = linalg.generic {
        indexing_maps = [#map16, #map17, #map5], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
        ins(%107, %85 : tensor<?x8x1x32xbf16>, tensor<1x1x1x32xbf16>) outs(%121 : tensor<?x8x1x32xbf16>) {
    ^bb0(%in: bf16, %in_1: bf16, %out: bf16):
      %123 = arith.mulf %in, %in_1 : bf16
      linalg.yield %123 : bf16
    } -> tensor<?x8x1x32xbf16>
    %124 = tensor.empty(%batch) : tensor<?x8x1x32xbf16>
    %125 = linalg.generic {
        indexing_maps = [#map16, #map16, #map5], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
        ins(%119, %122 : tensor<?x8x1x32xbf16>, tensor<?x8x1x32xbf16>) outs(%124 : tensor<?x8x1x32xbf16>) {
    ^bb0(%in: bf16, %in_1: bf16, %out: bf16):
      %126 = arith.addf %in, %in_1 : bf16
      linalg.yield %126 : bf16
    } -> tensor<?x8x1x32xbf16>
    %127 = tensor.concat dim(3) %116, %125 : (tensor<?x8x1x32xbf16>, tensor<?x8x1x32xbf16>) -> tensor<?x8x1x64xbf16>
    // The cache.
    %128 = arith.addi %past, %c1 : index
    %129 = tensor.concat dim(2) %past_k, %127 : (tensor<?x8x?x64xbf16>, tensor<?x8x1x64xbf16>) -> tensor<?x8x?x64xbf16>
    %130 = tensor.concat dim(2) %past_v, %47 : (tensor<?x8x?x64xbf16>, tensor<?x8x1x64xbf16>) -> tensor<?x8x?x64xbf16>
    // Attention in a window, with sinks.
    %131 = tensor.expand_shape %129 [[0], [1], [2, 3], [4]] output_shape [%batch, 8, 1, %128, 64] : tensor<?x8x?x64xbf16> into tensor<?x8x1x?x64xbf16>
    %132 = tensor.empty(%batch, %128) : tensor<?x8x8x?x64xbf16>
    %133 = linalg.generic {
        indexing_maps = [#map7, #map8], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]}
        ins(%131 : tensor<?x8x1x?x64xbf16>) outs(%132 : tensor<?x8x8x?x64xbf16>) {
    ^bb0(%in: bf16, %out: bf16):
      linalg.yield %in : bf16
    } -> tensor<?x8x8x?x64xbf16>
    %134 = tensor.collapse_shape %133 [[0], [1, 2], [3], [4]] : tensor<?x8x8x?x64xbf16> into tensor<?x64x?x64xbf16>
    %135 = tensor.expand_shape %130 [[0], [1], [2, 3], [4]] output_shape [%batch, 8, 1, %128, 64] : tensor<?x8x?x64xbf16> into tensor<?x8x1x?x64xbf16>
    %136 = tensor.empty(%batch, %128) : tensor<?x8x8x?x64xbf16>
    %137 = linalg.generic {
        indexing_maps = [#map7, #map8], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]}
        ins(%135 : tensor<?x8x1x?x64xbf16>) outs(%136 : tensor<?x8x8x?x64xbf16>) {
    ^bb0(%in: bf16, %out: bf16):
      linalg.yield %in : bf16
    } -> tensor<?x8x8x?x64xbf16>
    %138 = tensor.collapse_shape %137 [[0], [1, 2], [3], [4]] : tensor<?x8x8x?x64xbf16> into tensor<?x64x?x64xbf16>
    %139 = tensor.empty(%batch, %128) : tensor<?x64x64x?xbf16>
    %140 = linalg.transpose ins(%134 : tensor<?x64x?x64xbf16>) outs(%139 : tensor<?x64x64x?xbf16>) permutation = [0, 1, 3, 2]
    %141 = arith.muli %batch, %c64 : index
    %142 = tensor.collapse_shape %106 [[0, 1], [2], [3]] : tensor<?x64x1x64xbf16> into tensor<?x1x64xbf16>
    %143 = tensor.collapse_shape %140 [[0, 1], [2], [3]] : tensor<?x64x64x?xbf16> into tensor<?x64x?xbf16>
    %144 = tensor.empty(%141, %128) : tensor<?x1x?xf32>
    %145 = linalg.fill ins(%cst_1 : f32) outs(%144 : tensor<?x1x?xf32>) -> tensor<?x1x?xf32>
    %146 = linalg.batch_matmul ins(%142, %143 : tensor<?x1x64xbf16>, tensor<?x64x?xbf16>) outs(%145 : tensor<?x1x?xf32>) -> tensor<?x1x?xf32>
    %147 = tensor.empty(%141, %128) : tensor<?x1x?xbf16>
    %148 = linalg.generic {
        indexing_maps = [#map18, #map4], iterator_types = ["parallel", "parallel", "parallel"]}
        ins(%146 : tensor<?x1x?xf32>) outs(%147 : tensor<?x1x?xbf16>) {
    ^bb0(%in: f32, %out: bf16):
      %149 = arith.truncf %in : f32 to bf16
      linalg.yield %149 : bf16
    } -> tensor<?x1x?xbf16>
    %150 = tensor.expand_shape %148 [[0, 1], [2], [3]] output_shape [%batch, 64, 1, %128] : tensor<?x1x?xbf16> into tensor<?x64x1x?xbf16>
    %151 = tensor.empty(%batch, %128) : tensor<?x64x1x?xbf16>
    %152 = linalg.generic {
        indexing_maps = [#map16, #map5], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
        ins(%150 : tensor<?x64x1x?xbf16>) outs(%151 : tensor<?x64x1x?xbf16>) {
    ^bb0(%in: bf16, %out: bf16):
      %153 = arith.extf %in : bf16 to f32
      %154 = arith.mulf %153, %cst_3 : f32
      %155 = arith.truncf %154 : f32 to bf16
      linalg.yield %155 : bf16
    } -> tensor<?x64x1x?xbf16>
    %156 = tensor.empty(%128) : tensor<?xi64>
    %157 = linalg.generic {
        indexing_maps = [#map], iterator_types = ["parallel"]}
        outs(%156 : tensor<?xi64>) {
    ^bb0(%out: i64):
      %158 = linalg.index 0 : index
      %159 = arith.index_cast %158 : index to i64
      linalg.yield %159 : i64
    } -> tensor<?xi64>
    %160 = tensor.expand_shape %49 [[0, 1]] output_shape [1, 1] : tensor<1xi64> into tensor<1x1xi64>
    %161 = tensor.empty(%128) : tensor<1x?xi1>
    %162 = linalg.generic {
        indexing_maps = [#map9, #map14, #map1], iterator_types = ["parallel", "parallel"]}
        ins(%157, %160 : tensor<?xi64>, tensor<1x1xi64>) outs(%161 : tensor<1x?xi1>) {
    ^bb0(%in: i64, %in_1: i64, %out: i1):
      %163 = arith.cmpi sle, %in, %in_1 : i64
      linalg.yield %163 : i1
    } -> tensor<1x?xi1>
    %164 = tensor.empty(%128) : tensor<1x?xi1>
    %165 = linalg.generic {
        indexing_maps = [#map9, #map14, #map1], iterator_types = ["parallel", "parallel"]}
        ins(%157, %160 : tensor<?xi64>, tensor<1x1xi64>) outs(%164 : tensor<1x?xi1>) {
    ^bb0(%in: i64, %in_1: i64, %out: i1):
      %166 = arith.subi %in_1, %c128_i64 : i64
      %167 = arith.cmpi sgt, %in, %166 : i64
      linalg.yield %167 : i1
    } -> tensor<1x?xi1>
    %168 = tensor.empty(%128) : tensor<1x?xi1>
    %169 = linalg.generic {
        indexing_maps = [#map2, #map2, #map1], iterator_types = ["parallel", "parallel"]}
        ins(%162, %165 : tensor<1x?xi1>, tensor<1x?xi1>) outs(%168 : tensor<1x?xi1>) {
    ^bb0(%in: i1, %in_1: i1, %out: i1):
      %170 = arith.andi %in, %in_1 : i1
      linalg.yield %170 : i1
    } -> tensor<1x?xi1>
    %171 = tensor.empty(%128) : tensor<1x?xbf16>
    %172 = linalg.generic {
        indexing_maps = [#map2, #map1], iterator_types = ["parallel", "parallel"]}
        ins(%169 : tensor<1x?xi1>) outs(%171 : tensor<1x?xbf16>) {
    ^bb0(%in: i1, %out: bf16):
      %173 = arith.select %in, %cst_4, %cst_5 : bf16
      linalg.yield %173 : bf16
    } -> tensor<1x?xbf16>
    %174 = tensor.empty(%batch, %128) : tensor<?x64x1x?xbf16>
    %175 = linalg.generic {
        indexing_maps = [#map16, #map19, #map5], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
        ins(%152, %172 : tensor<?x64x1x?xbf16>, tensor<1x?xbf16>) outs(%174 : tensor<?x64x1x?xbf16>) {
    ^bb0(%in: bf16, %in_1: bf16, %out: bf16):
      %176 = arith.addf %in, %in_1 : bf16
      linalg.yield %176 : bf16
    } -> tensor<?x64x1x?xbf16>
    %177 = tensor.empty(%batch) : tensor<?x64x1x1xbf16>
    %178 = tensor.expand_shape %sinks [[0, 1, 2, 3]] output_shape [1, 64, 1, 1] : tensor<64xbf16> into tensor<1x64x1x1xbf16>
    %179 = linalg.generic {
        indexing_maps = [#map12, #map5], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
        ins(%178 : tensor<1x64x1x1xbf16>) outs(%177 : tensor<?x64x1x1xbf16>) {
    ^bb0(%in: bf16, %out: bf16):
      linalg.yield %in : bf16
    } -> tensor<?x64x1x1xbf16>
    %180 = arith.addi %128, %c1 : index
    %181 = tensor.concat dim(3) %175, %179 : (tensor<?x64x1x?xbf16>, tensor<?x64x1x1xbf16>) -> tensor<?x64x1x?xbf16>
    %182 = tensor.empty(%batch) : tensor<?x64x1x1xbf16>
    %183 = linalg.fill ins(%cst_6 : bf16) outs(%182 : tensor<?x64x1x1xbf16>) -> tensor<?x64x1x1xbf16>
    %184 = linalg.generic {
        indexing_maps = [#map5, #map13], iterator_types = ["parallel", "parallel", "parallel", "reduction"]}
        ins(%181 : tensor<?x64x1x?xbf16>) outs(%183 : tensor<?x64x1x1xbf16>) {
    ^bb0(%in: bf16, %out: bf16):
      %185 = arith.maximumf %in, %out : bf16
      linalg.yield %185 : bf16
    } -> tensor<?x64x1x1xbf16>
    %186 = tensor.empty(%batch, %180) : tensor<?x64x1x?xbf16>
    %187 = linalg.generic {
        indexing_maps = [#map16, #map20, #map5], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
        ins(%181, %184 : tensor<?x64x1x?xbf16>, tensor<?x64x1x1xbf16>) outs(%186 : tensor<?x64x1x?xbf16>) {
    ^bb0(%in: bf16, %in_1: bf16, %out: bf16):
      %188 = arith.subf %in, %in_1 : bf16
      linalg.yield %188 : bf16
    } -> tensor<?x64x1x?xbf16>
    %189 = tensor.empty(%batch, %180) : tensor<?x64x1x?xf32>
    %190 = linalg.generic {
        indexing_maps = [#map16, #map5], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
        ins(%187 : tensor<?x64x1x?xbf16>) outs(%189 : tensor<?x64x1x?xf32>) {
    ^bb0(%in: bf16, %out: f32):
      %191 = arith.extf %in : bf16 to f32
      linalg.yield %191 : f32
    } -> tensor<?x64x1x?xf32>
    %192 = tensor.empty(%batch) : tensor<?x64x1x1xf32>
    %193 = linalg.fill ins(%cst_7 : f32) outs(%192 : tensor<?x64x1x1xf32>) -> tensor<?x64x1x1xf32>
    %194 = linalg.generic {
        indexing_maps = [#map5, #map13], iterator_types = ["parallel", "parallel", "parallel", "reduction"]}
        ins(%190 : tensor<?x64x1x?xf32>) outs(%193 : tensor<?x64x1x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      %195 = arith.maximumf %in, %out : f32
      linalg.yield %195 : f32
    } -> tensor<?x64x1x1xf32>
    %196 = tensor.empty(%batch, %180) : tensor<?x64x1x?xf32>
    %197 = linalg.generic {
        indexing_maps = [#map16, #map20, #map5], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
        ins(%190, %194 : tensor<?x64x1x?xf32>, tensor<?x64x1x1xf32>) outs(%196 : tensor<?x64x1x?xf32>) {
    ^bb0(%in: f32, %in_1: f32, %out: f32):
      %198 = arith.subf %in, %in_1 : f32
      linalg.yield %198 : f32
    } -> tensor<?x64x1x?xf32>
    %199 = tensor.empty(%batch, %180) : tensor<?x64x1x?xf32>
    %200 = linalg.generic {
        indexing_maps = [#map16, #map5], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
        ins(%197 : tensor<?x64x1x?xf32>) outs(%199 : tensor<?x64x1x?xf32>) {
    ^bb0(%in: f32, %out: f32):
      %201 = math.exp %in : f32
      linalg.yield %201 : f32
    } -> tensor<?x64x1x?xf32>
    %202 = tensor.empty(%batch) : tensor<?x64x1x1xf32>
    %203 = linalg.fill ins(%cst_1 : f32) outs(%202 : tensor<?x64x1x1xf32>) -> tensor<?x64x1x1xf32>
    %204 = linalg.generic {
        indexing_maps = [#map5, #map13], iterator_types = ["parallel", "parallel", "parallel", "reduction"]}
        ins(%200 : tensor<?x64x1x?xf32>) outs(%203 : tensor<?x64x1x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      %205 = arith.addf %in, %out : f32
      linalg.yield %205 : f32
    } -> tensor<?x64x1x1xf32>
    %206 = tensor.empty(%batch, %180) : tensor<?x64x1x?xf32>
    %207 = linalg.generic {
        indexing_maps = [#map16, #map20, #map5], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
        ins(%200, %204 : tensor<?x64x1x?xf32>, tensor<?x64x1x1xf32>) outs(%206 : tensor<?x64x1x?xf32>) {
    ^bb0(%in: f32, %in_1: f32, %out: f32):
      %208 = arith.divf %in, %in_1 : f32
      linalg.yield %208 : f32
    } -> tensor<?x64x1x?xf32>
    %209 = tensor.empty(%batch, %180) : tensor<?x64x1x?xbf16>
    %210 = linalg.generic {
        indexing_maps = [#map16, #map5], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
        ins(%207 : tensor<?x64x1x?xf32>) outs(%209 : tensor<?x64x1x?xbf16>) {
    ^bb0(%in: f32, %out: bf16):
      %211 = arith.truncf %in : f32 to bf16
      linalg.yield %211 : bf16
    } -> tensor<?x64x1x?xbf16>
    %212 = tensor.extract_slice %210[0, 0, 0, 0] [%batch, 64, 1, %128] [1, 1, 1, 1] : tensor<?x64x1x?xbf16> to tensor<?x64x1x?xbf16>
    %213 = tensor.collapse_shape %212 [[0, 1], [2], [3]] : tensor<?x64x1x?xbf16> into tensor<?x1x?xbf16>
    %214 = tensor.collapse_shape %138 [[0, 1], [2], [3]] : tensor<?x64x?x64xbf16> into tensor<?x?x64xbf16>
    %215 = tensor.empty(%141) : tensor<?x1x64xf32>
    %216 = linalg.fill ins(%cst_1 : f32) outs(%215 : tensor<?x1x64xf32>) -> tensor<?x1x64xf32>
    %217 = linalg.batch_matmul ins(%213, %214 : tensor<?x1x?xbf16>, tensor<?x?x64xbf16>) outs(%216 : tensor<?x1x64xf32>) -> tensor<?x1x64xf32>
    %218 = tensor.empty(%141) : tensor<?x1x64xbf16>
    %219 = linalg.generic {
        indexing_maps = [#map18, #map4], iterator_types = ["parallel", "parallel", "parallel"]}
        ins(%217 : tensor<?x1x64xf32>) outs(%218 : tensor<?x1x64xbf16>) {
    ^bb0(%in: f32, %out: bf16):
      %220 = arith.truncf %in : f32 to bf16
      linalg.yield %220 : bf16
    } -> tensor<?x1x64xbf16>
    %221 = tensor.expand_shape %219 [[0, 1], [2], [3]] output_shape [%batch, 64, 1, 64] : tensor<?x1x64xbf16> into tensor<?x64x1x64xbf16>
    %222 = tensor.empty(%batch) : tensor<?x1x64x64xbf16>
    %223 = linalg.transpose ins(%221 : tensor<?x64x1x64xbf16>) outs(%222 : tensor<?x1x64x64xbf16>) permutation = [0, 2, 1, 3]
    %224 = tensor.collapse_shape %223 [[0], [1], [2, 3]] : tensor<?x1x64x64xbf16> into tensor<?x1x4096xbf16>
    %225 = tensor.collapse_shape %224 [[0, 1], [2]] : tensor<?x1x4096xbf16> into tensor<?x4096xbf16>
    %226 = tensor.empty() : tensor<4096x2880xbf16>
    %227 = linalg.transpose ins(%wo : tensor<2880x4096xbf16>) outs(%226 : tensor<4096x2880xbf16>) permutation = [1, 0]
    %228 = tensor.empty() : tensor<2880xf32>
    %229 = linalg.generic {
        indexing_maps = [#map, #map], iterator_types = ["parallel"]}
        ins(%bo : tensor<2880xbf16>) outs(%228 : tensor<2880xf32>) {
    ^bb0(%in: bf16, %out: f32):
      %230 = arith.extf %in : bf16 to f32
      linalg.yield %230 : f32
    } -> tensor<2880xf32>
    %231 = tensor.empty(%batch) : tensor<?x2880xf32>
    %232 = linalg.broadcast ins(%229 : tensor<2880xf32>) outs(%231 : tensor<?x2880xf32>) dimensions = [0]
    %233 = linalg.matmul ins(%225, %227 : tensor<?x4096xbf16>, tensor<4096x2880xbf16>) outs(%232 : tensor<?x2880xf32>) -> tensor<?x2880xf32>
    %234 = tensor.empty(%batch) : tensor<?x2880xbf16>
    %235 = linalg.generic {
        indexing_maps = [#map1, #map1], iterator_types = ["parallel", "parallel"]}
        ins(%233 : tensor<?x2880xf32>) outs(%234 : tensor<?x2880xbf16>) {
    ^bb0(%in: f32, %out: bf16):
      %236 = arith.truncf %in : f32 to bf16
      linalg.yield %236 : bf16
    } -> tensor<?x2880xbf16>
    %237 = tensor.expand_shape %235 [[0, 1], [2]] output_shape [%batch, 1, 2880] : tensor<?x2880xbf16> into tensor<?x1x2880xbf16>
    return %237, %129, %130 : tensor<?x1x2880xbf16>, tensor<?x8x?x64xbf16>, tensor<?x8x?x64xbf16>
  }
}
