// The attention of one layer without a window of Gemma 2 9B (arXiv:2408.00118).
// Made by test/Corpus/generate.py.

#map = affine_map<(d0, d1) -> (d0, d1)>
#map1 = affine_map<(d0, d1, d2) -> (d0, d1, d2)>
#map2 = affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>
#map3 = affine_map<(d0, d1, d2, d3) -> (d0, 0, d2, d3)>
#map4 = affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, 0, d3, d4)>
#map5 = affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>
#map6 = affine_map<(d0) -> (d0)>
#map7 = affine_map<(d0, d1, d2) -> (d2)>
#map8 = affine_map<(d0, d1, d2) -> (d0, d1, 0)>
#map9 = affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, 0)>
#map10 = affine_map<(d0, d1) -> (d0, 0)>
#map11 = affine_map<(d0, d1, d2) -> (d0, 0, d2)>
#map12 = affine_map<(d0, d1, d2, d3) -> (d0, d1, 0, d3)>
#map13 = affine_map<(d0, d1, d2, d3) -> (d0, 0, 0, d3)>
#map14 = affine_map<(d0, d1, d2) -> (d0, 0, 0)>
#map15 = affine_map<(d0, d1, d2, d3) -> (d0, d1, 0, 0)>
module {
  func.func @prefill(%x: tensor<?x?x3584xbf16>,
                     %position_ids: tensor<?x?xi64> {kvc.positions},
                     %wq: tensor<4096x3584xbf16>,
                     %wk: tensor<2048x3584xbf16>,
                     %wv: tensor<2048x3584xbf16>,
                     %wo: tensor<3584x4096xbf16>)
      -> (tensor<?x?x3584xbf16>,
          tensor<?x8x8192x256xbf16> {kvc.cache = "k"},
          tensor<?x8x8192x256xbf16> {kvc.cache = "v"}) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %cst = arith.constant 0.0 : f32
    %cst_1 = arith.constant dense<[1.0, 0.930572041, 0.865964323, 0.805842188, 0.749894209,
        0.697830585, 0.649381632, 0.60429639, 0.562341325, 0.523299115, 0.486967525, 0.453158364,
        0.421696503, 0.392418976, 0.365174127, 0.339820833, 0.316227766, 0.294272718, 0.273841963,
        0.254829675, 0.237137371, 0.220673407, 0.205352503, 0.191095297, 0.177827941, 0.16548171,
        0.153992653, 0.143301257, 0.133352143, 0.124093776, 0.115478198, 0.107460783, 0.1,
        0.0930572041, 0.0865964323, 0.0805842188, 0.0749894209, 0.0697830585, 0.0649381632,
        0.060429639, 0.0562341325, 0.0523299115, 0.0486967525, 0.0453158364, 0.0421696503,
        0.0392418976, 0.0365174127, 0.0339820833, 0.0316227766, 0.0294272718, 0.0273841963,
        0.0254829675, 0.0237137371, 0.0220673407, 0.0205352503, 0.0191095297, 0.0177827941,
        0.016548171, 0.0153992653, 0.0143301257, 0.0133352143, 0.0124093776, 0.0115478198,
        0.0107460783, 0.01, 0.00930572041, 0.00865964323, 0.00805842188, 0.00749894209,
        0.00697830585, 0.00649381632, 0.0060429639, 0.00562341325, 0.00523299115, 0.00486967525,
        0.00453158364, 0.00421696503, 0.00392418976, 0.00365174127, 0.00339820833, 0.00316227766,
        0.00294272718, 0.00273841963, 0.00254829675, 0.00237137371, 0.00220673407, 0.00205352503,
        0.00191095297, 0.00177827941, 0.0016548171, 0.00153992653, 0.00143301257, 0.00133352143,
        0.00124093776, 0.00115478198, 0.00107460783, 0.001, 0.000930572041, 0.000865964323,
        0.000805842188, 0.000749894209, 0.000697830585, 0.000649381632, 0.00060429639,
        0.000562341325, 0.000523299115, 0.000486967525, 0.000453158364, 0.000421696503,
        0.000392418976, 0.000365174127, 0.000339820833, 0.000316227766, 0.000294272718,
        0.000273841963, 0.000254829675, 0.000237137371, 0.000220673407, 0.000205352503,
        0.000191095297, 0.000177827941, 0.00016548171, 0.000153992653, 0.000143301257,
        0.000133352143, 0.000124093776, 0.000115478198, 0.000107460783]> : tensor<128xf32>
    %cst_2 = arith.constant 0.0 : bf16
    %c16 = arith.constant 16 : index
    %cst_3 = arith.constant 0.0625 : f32
    %cst_4 = arith.constant 50.0 : f32
    %cst_5 = arith.constant -3.38953139e+38 : bf16
    %cst_6 = arith.constant 0xFF800000 : f32
    %batch = tensor.dim %x, %c0 : tensor<?x?x3584xbf16>
    %tokens = tensor.dim %x, %c1 : tensor<?x?x3584xbf16>
    // Queries, keys and values, by heads.
    %0 = arith.muli %batch, %tokens : index
    %1 = tensor.collapse_shape %x [[0, 1], [2]] : tensor<?x?x3584xbf16> into tensor<?x3584xbf16>
    %2 = tensor.empty() : tensor<3584x4096xbf16>
    %3 = linalg.transpose ins(%wq : tensor<4096x3584xbf16>) outs(%2 : tensor<3584x4096xbf16>) permutation = [1, 0]
    %4 = tensor.empty(%0) : tensor<?x4096xf32>
    %5 = linalg.fill ins(%cst : f32) outs(%4 : tensor<?x4096xf32>) -> tensor<?x4096xf32>
    %6 = linalg.matmul ins(%1, %3 : tensor<?x3584xbf16>, tensor<3584x4096xbf16>) outs(%5 : tensor<?x4096xf32>) -> tensor<?x4096xf32>
    %7 = tensor.empty(%0) : tensor<?x4096xbf16>
    %8 = linalg.generic {
        indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel"]}
        ins(%6 : tensor<?x4096xf32>) outs(%7 : tensor<?x4096xbf16>) {
    ^bb0(%in: f32, %out: bf16):
      %9 = arith.truncf %in : f32 to bf16
      linalg.yield %9 : bf16
    } -> tensor<?x4096xbf16>
    %10 = tensor.expand_shape %8 [[0, 1], [2]] output_shape [%batch, %tokens, 4096] : tensor<?x4096xbf16> into tensor<?x?x4096xbf16>
    %11 = tensor.expand_shape %10 [[0], [1], [2, 3]] output_shape [%batch, %tokens, 16, 256] : tensor<?x?x4096xbf16> into tensor<?x?x16x256xbf16>
    %12 = tensor.empty(%batch, %tokens) : tensor<?x16x?x256xbf16>
    %13 = linalg.transpose ins(%11 : tensor<?x?x16x256xbf16>) outs(%12 : tensor<?x16x?x256xbf16>) permutation = [0, 2, 1, 3]
    %14 = tensor.collapse_shape %x [[0, 1], [2]] : tensor<?x?x3584xbf16> into tensor<?x3584xbf16>
    %15 = tensor.empty() : tensor<3584x2048xbf16>
    %16 = linalg.transpose ins(%wk : tensor<2048x3584xbf16>) outs(%15 : tensor<3584x2048xbf16>) permutation = [1, 0]
    %17 = tensor.empty(%0) : tensor<?x2048xf32>
    %18 = linalg.fill ins(%cst : f32) outs(%17 : tensor<?x2048xf32>) -> tensor<?x2048xf32>
    %19 = linalg.matmul ins(%14, %16 : tensor<?x3584xbf16>, tensor<3584x2048xbf16>) outs(%18 : tensor<?x2048xf32>) -> tensor<?x2048xf32>
    %20 = tensor.empty(%0) : tensor<?x2048xbf16>
    %21 = linalg.generic {
        indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel"]}
        ins(%19 : tensor<?x2048xf32>) outs(%20 : tensor<?x2048xbf16>) {
    ^bb0(%in: f32, %out: bf16):
      %22 = arith.truncf %in : f32 to bf16
      linalg.yield %22 : bf16
    } -> tensor<?x2048xbf16>
    %23 = tensor.expand_shape %21 [[0, 1], [2]] output_shape [%batch, %tokens, 2048] : tensor<?x2048xbf16> into tensor<?x?x2048xbf16>
    %24 = tensor.expand_shape %23 [[0], [1], [2, 3]] output_shape [%batch, %tokens, 8, 256] : tensor<?x?x2048xbf16> into tensor<?x?x8x256xbf16>
    %25 = tensor.empty(%batch, %tokens) : tensor<?x8x?x256xbf16>
    %26 = linalg.transpose ins(%24 : tensor<?x?x8x256xbf16>) outs(%25 : tensor<?x8x?x256xbf16>) permutation = [0, 2, 1, 3]
    %27 = tensor.collapse_shape %x [[0, 1], [2]] : tensor<?x?x3584xbf16> into tensor<?x3584xbf16>
    %28 = tensor.empty() : tensor<3584x2048xbf16>
    %29 = linalg.transpose ins(%wv : tensor<2048x3584xbf16>) outs(%28 : tensor<3584x2048xbf16>) permutation = [1, 0]
    %30 = tensor.empty(%0) : tensor<?x2048xf32>
    %31 = linalg.fill ins(%cst : f32) outs(%30 : tensor<?x2048xf32>) -> tensor<?x2048xf32>
    %32 = linalg.matmul ins(%27, %29 : tensor<?x3584xbf16>, tensor<3584x2048xbf16>) outs(%31 : tensor<?x2048xf32>) -> tensor<?x2048xf32>
    %33 = tensor.empty(%0) : tensor<?x2048xbf16>
    %34 = linalg.generic {
        indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel"]}
        ins(%32 : tensor<?x2048xf32>) outs(%33 : tensor<?x2048xbf16>) {
    ^bb0(%in: f32, %out: bf16):
      %35 = arith.truncf %in : f32 to bf16
      linalg.yield %35 : bf16
    } -> tensor<?x2048xbf16>
    %36 = tensor.expand_shape %34 [[0, 1], [2]] output_shape [%batch, %tokens, 2048] : tensor<?x2048xbf16> into tensor<?x?x2048xbf16>
    %37 = tensor.expand_shape %36 [[0], [1], [2, 3]] output_shape [%batch, %tokens, 8, 256] : tensor<?x?x2048xbf16> into tensor<?x?x8x256xbf16>
    %38 = tensor.empty(%batch, %tokens) : tensor<?x8x?x256xbf16>
    %39 = linalg.transpose ins(%37 : tensor<?x?x8x256xbf16>) outs(%38 : tensor<?x8x?x256xbf16>) permutation = [0, 2, 1, 3]
    // Rotary embedding.
    %40 = tensor.expand_shape %cst_1 [[0, 1]] output_shape [128, 1] : tensor<128xf32> into tensor<128x1xf32>
    %41 = tensor.empty(%batch) : tensor<?x128x1xf32>
    %42 = linalg.broadcast ins(%40 : tensor<128x1xf32>) outs(%41 : tensor<?x128x1xf32>) dimensions = [0]
    %43 = tensor.empty(%batch, %tokens) : tensor<?x?xf32>
    %44 = linalg.generic {
        indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel"]}
        ins(%position_ids : tensor<?x?xi64>) outs(%43 : tensor<?x?xf32>) {
    ^bb0(%in: i64, %out: f32):
      %45 = arith.sitofp %in : i64 to f32
      linalg.yield %45 : f32
    } -> tensor<?x?xf32>
    %46 = tensor.expand_shape %44 [[0], [1, 2]] output_shape [%batch, 1, %tokens] : tensor<?x?xf32> into tensor<?x1x?xf32>
    %47 = tensor.empty(%batch, %tokens) : tensor<?x128x?xf32>
    %48 = linalg.fill ins(%cst : f32) outs(%47 : tensor<?x128x?xf32>) -> tensor<?x128x?xf32>
    %49 = linalg.batch_matmul ins(%42, %46 : tensor<?x128x1xf32>, tensor<?x1x?xf32>) outs(%48 : tensor<?x128x?xf32>) -> tensor<?x128x?xf32>
    %50 = tensor.empty(%batch, %tokens) : tensor<?x?x128xf32>
    %51 = linalg.transpose ins(%49 : tensor<?x128x?xf32>) outs(%50 : tensor<?x?x128xf32>) permutation = [0, 2, 1]
    %52 = tensor.concat dim(2) %51, %51 : (tensor<?x?x128xf32>, tensor<?x?x128xf32>) -> tensor<?x?x256xf32>
    %53 = tensor.empty(%batch, %tokens) : tensor<?x?x256xf32>
    %54 = linalg.generic {
        indexing_maps = [#map1, #map1], iterator_types = ["parallel", "parallel", "parallel"]}
        ins(%52 : tensor<?x?x256xf32>) outs(%53 : tensor<?x?x256xf32>) {
    ^bb0(%in: f32, %out: f32):
      %55 = math.cos %in : f32
      linalg.yield %55 : f32
    } -> tensor<?x?x256xf32>
    %56 = tensor.empty(%batch, %tokens) : tensor<?x?x256xf32>
    %57 = linalg.generic {
        indexing_maps = [#map1, #map1], iterator_types = ["parallel", "parallel", "parallel"]}
        ins(%52 : tensor<?x?x256xf32>) outs(%56 : tensor<?x?x256xf32>) {
    ^bb0(%in: f32, %out: f32):
      %58 = math.sin %in : f32
      linalg.yield %58 : f32
    } -> tensor<?x?x256xf32>
    %59 = tensor.empty(%batch, %tokens) : tensor<?x?x256xbf16>
    %60 = linalg.generic {
        indexing_maps = [#map1, #map1], iterator_types = ["parallel", "parallel", "parallel"]}
        ins(%54 : tensor<?x?x256xf32>) outs(%59 : tensor<?x?x256xbf16>) {
    ^bb0(%in: f32, %out: bf16):
      %61 = arith.truncf %in : f32 to bf16
      linalg.yield %61 : bf16
    } -> tensor<?x?x256xbf16>
    %62 = tensor.expand_shape %60 [[0], [1, 2], [3]] output_shape [%batch, 1, %tokens, 256] : tensor<?x?x256xbf16> into tensor<?x1x?x256xbf16>
    %63 = tensor.empty(%batch, %tokens) : tensor<?x?x256xbf16>
    %64 = linalg.generic {
        indexing_maps = [#map1, #map1], iterator_types = ["parallel", "parallel", "parallel"]}
        ins(%57 : tensor<?x?x256xf32>) outs(%63 : tensor<?x?x256xbf16>) {
    ^bb0(%in: f32, %out: bf16):
      %65 = arith.truncf %in : f32 to bf16
      linalg.yield %65 : bf16
    } -> tensor<?x?x256xbf16>
    %66 = tensor.expand_shape %64 [[0], [1, 2], [3]] output_shape [%batch, 1, %tokens, 256] : tensor<?x?x256xbf16> into tensor<?x1x?x256xbf16>
    %67 = tensor.empty(%batch, %tokens) : tensor<?x16x?x256xbf16>
    %68 = linalg.generic {
        indexing_maps = [#map2, #map3, #map2], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
        ins(%13, %62 : tensor<?x16x?x256xbf16>, tensor<?x1x?x256xbf16>) outs(%67 : tensor<?x16x?x256xbf16>) {
    ^bb0(%in: bf16, %in_1: bf16, %out: bf16):
      %69 = arith.mulf %in, %in_1 : bf16
      linalg.yield %69 : bf16
    } -> tensor<?x16x?x256xbf16>
    %70 = tensor.extract_slice %13[0, 0, 0, 0] [%batch, 16, %tokens, 128] [1, 1, 1, 1] : tensor<?x16x?x256xbf16> to tensor<?x16x?x128xbf16>
    %71 = tensor.extract_slice %13[0, 0, 0, 128] [%batch, 16, %tokens, 128] [1, 1, 1, 1] : tensor<?x16x?x256xbf16> to tensor<?x16x?x128xbf16>
    %72 = tensor.empty(%batch, %tokens) : tensor<?x16x?x128xbf16>
    %73 = linalg.generic {
        indexing_maps = [#map2, #map2], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
        ins(%71 : tensor<?x16x?x128xbf16>) outs(%72 : tensor<?x16x?x128xbf16>) {
    ^bb0(%in: bf16, %out: bf16):
      %74 = arith.negf %in : bf16
      linalg.yield %74 : bf16
    } -> tensor<?x16x?x128xbf16>
    %75 = tensor.concat dim(3) %73, %70 : (tensor<?x16x?x128xbf16>, tensor<?x16x?x128xbf16>) -> tensor<?x16x?x256xbf16>
    %76 = tensor.empty(%batch, %tokens) : tensor<?x16x?x256xbf16>
    %77 = linalg.generic {
        indexing_maps = [#map2, #map3, #map2], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
        ins(%75, %66 : tensor<?x16x?x256xbf16>, tensor<?x1x?x256xbf16>) outs(%76 : tensor<?x16x?x256xbf16>) {
    ^bb0(%in: bf16, %in_1: bf16, %out: bf16):
      %78 = arith.mulf %in, %in_1 : bf16
      linalg.yield %78 : bf16
    } -> tensor<?x16x?x256xbf16>
    %79 = tensor.empty(%batch, %tokens) : tensor<?x16x?x256xbf16>
    %80 = linalg.generic {
        indexing_maps = [#map2, #map2, #map2], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
        ins(%68, %77 : tensor<?x16x?x256xbf16>, tensor<?x16x?x256xbf16>) outs(%79 : tensor<?x16x?x256xbf16>) {
    ^bb0(%in: bf16, %in_1: bf16, %out: bf16):
      %81 = arith.addf %in, %in_1 : bf16
      linalg.yield %81 : bf16
    } -> tensor<?x16x?x256xbf16>
    %82 = tensor.empty(%batch, %tokens) : tensor<?x8x?x256xbf16>
    %83 = linalg.generic {
        indexing_maps = [#map2, #map3, #map2], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
        ins(%26, %62 : tensor<?x8x?x256xbf16>, tensor<?x1x?x256xbf16>) outs(%82 : tensor<?x8x?x256xbf16>) {
    ^bb0(%in: bf16, %in_1: bf16, %out: bf16):
      %84 = arith.mulf %in, %in_1 : bf16
      linalg.yield %84 : bf16
    } -> tensor<?x8x?x256xbf16>
    %85 = tensor.extract_slice %26[0, 0, 0, 0] [%batch, 8, %tokens, 128] [1, 1, 1, 1] : tensor<?x8x?x256xbf16> to tensor<?x8x?x128xbf16>
    %86 = tensor.extract_slice %26[0, 0, 0, 128] [%batch, 8, %tokens, 128] [1, 1, 1, 1] : tensor<?x8x?x256xbf16> to tensor<?x8x?x128xbf16>
    %87 = tensor.empty(%batch, %tokens) : tensor<?x8x?x128xbf16>
    %88 = linalg.generic {
        indexing_maps = [#map2, #map2], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
        ins(%86 : tensor<?x8x?x128xbf16>) outs(%87 : tensor<?x8x?x128xbf16>) {
    ^bb0(%in: bf16, %out: bf16):
      %89 = arith.negf %in : bf16
      linalg.yield %89 : bf16
    } -> tensor<?x8x?x128xbf16>
    %90 = tensor.concat dim(3) %88, %85 : (tensor<?x8x?x128xbf16>, tensor<?x8x?x128xbf16>) -> tensor<?x8x?x256xbf16>
    %91 = tensor.empty(%batch, %tokens) : tensor<?x8x?x256xbf16>
    %92 = linalg.generic {
        indexing_maps = [#map2, #map3, #map2], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
        ins(%90, %66 : tensor<?x8x?x256xbf16>, tensor<?x1x?x256xbf16>) outs(%91 : tensor<?x8x?x256xbf16>) {
    ^bb0(%in: bf16, %in_1: bf16, %out: bf16):
      %93 = arith.mulf %in, %in_1 : bf16
      linalg.yield %93 : bf16
    } -> tensor<?x8x?x256xbf16>
    %94 = tensor.empty(%batch, %tokens) : tensor<?x8x?x256xbf16>
    %95 = linalg.generic {
        indexing_maps = [#map2, #map2, #map2], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
        ins(%83, %92 : tensor<?x8x?x256xbf16>, tensor<?x8x?x256xbf16>) outs(%94 : tensor<?x8x?x256xbf16>) {
    ^bb0(%in: bf16, %in_1: bf16, %out: bf16):
      %96 = arith.addf %in, %in_1 : bf16
      linalg.yield %96 : bf16
    } -> tensor<?x8x?x256xbf16>
    // The cache.
    %97 = tensor.empty(%batch) : tensor<?x8x8192x256xbf16>
    %98 = linalg.fill ins(%cst_2 : bf16) outs(%97 : tensor<?x8x8192x256xbf16>) -> tensor<?x8x8192x256xbf16>
    %99 = tensor.insert_slice %95 into %98[0, 0, 0, 0] [%batch, 8, %tokens, 256] [1, 1, 1, 1] : tensor<?x8x?x256xbf16> into tensor<?x8x8192x256xbf16>
    %100 = tensor.empty(%batch) : tensor<?x8x8192x256xbf16>
    %101 = linalg.fill ins(%cst_2 : bf16) outs(%100 : tensor<?x8x8192x256xbf16>) -> tensor<?x8x8192x256xbf16>
    %102 = tensor.insert_slice %39 into %101[0, 0, 0, 0] [%batch, 8, %tokens, 256] [1, 1, 1, 1] : tensor<?x8x?x256xbf16> into tensor<?x8x8192x256xbf16>
    // Attention over all rows of the cache; the mask leaves out those not written.
    %103 = tensor.expand_shape %99 [[0], [1], [2, 3], [4]] output_shape [%batch, 8, 1, 8192, 256] : tensor<?x8x8192x256xbf16> into tensor<?x8x1x8192x256xbf16>
    %104 = tensor.empty(%batch) : tensor<?x8x2x8192x256xbf16>
    %105 = linalg.generic {
        indexing_maps = [#map4, #map5], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]}
        ins(%103 : tensor<?x8x1x8192x256xbf16>) outs(%104 : tensor<?x8x2x8192x256xbf16>) {
    ^bb0(%in: bf16, %out: bf16):
      linalg.yield %in : bf16
    } -> tensor<?x8x2x8192x256xbf16>
    %106 = tensor.collapse_shape %105 [[0], [1, 2], [3], [4]] : tensor<?x8x2x8192x256xbf16> into tensor<?x16x8192x256xbf16>
    %107 = tensor.expand_shape %102 [[0], [1], [2, 3], [4]] output_shape [%batch, 8, 1, 8192, 256] : tensor<?x8x8192x256xbf16> into tensor<?x8x1x8192x256xbf16>
    %108 = tensor.empty(%batch) : tensor<?x8x2x8192x256xbf16>
    %109 = linalg.generic {
        indexing_maps = [#map4, #map5], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]}
        ins(%107 : tensor<?x8x1x8192x256xbf16>) outs(%108 : tensor<?x8x2x8192x256xbf16>) {
    ^bb0(%in: bf16, %out: bf16):
      linalg.yield %in : bf16
    } -> tensor<?x8x2x8192x256xbf16>
    %110 = tensor.collapse_shape %109 [[0], [1, 2], [3], [4]] : tensor<?x8x2x8192x256xbf16> into tensor<?x16x8192x256xbf16>
    %111 = tensor.empty(%batch) : tensor<?x16x256x8192xbf16>
    %112 = linalg.transpose ins(%106 : tensor<?x16x8192x256xbf16>) outs(%111 : tensor<?x16x256x8192xbf16>) permutation = [0, 1, 3, 2]
    %113 = arith.muli %batch, %c16 : index
    %114 = tensor.collapse_shape %80 [[0, 1], [2], [3]] : tensor<?x16x?x256xbf16> into tensor<?x?x256xbf16>
    %115 = tensor.collapse_shape %112 [[0, 1], [2], [3]] : tensor<?x16x256x8192xbf16> into tensor<?x256x8192xbf16>
    %116 = tensor.empty(%113, %tokens) : tensor<?x?x8192xf32>
    %117 = linalg.fill ins(%cst : f32) outs(%116 : tensor<?x?x8192xf32>) -> tensor<?x?x8192xf32>
    %118 = linalg.batch_matmul ins(%114, %115 : tensor<?x?x256xbf16>, tensor<?x256x8192xbf16>) outs(%117 : tensor<?x?x8192xf32>) -> tensor<?x?x8192xf32>
    %119 = tensor.empty(%113, %tokens) : tensor<?x?x8192xbf16>
    %120 = linalg.generic {
        indexing_maps = [#map1, #map1], iterator_types = ["parallel", "parallel", "parallel"]}
        ins(%118 : tensor<?x?x8192xf32>) outs(%119 : tensor<?x?x8192xbf16>) {
    ^bb0(%in: f32, %out: bf16):
      %121 = arith.truncf %in : f32 to bf16
      linalg.yield %121 : bf16
    } -> tensor<?x?x8192xbf16>
    %122 = tensor.expand_shape %120 [[0, 1], [2], [3]] output_shape [%batch, 16, %tokens, 8192] : tensor<?x?x8192xbf16> into tensor<?x16x?x8192xbf16>
    %123 = tensor.empty(%batch, %tokens) : tensor<?x16x?x8192xbf16>
    %124 = linalg.generic {
        indexing_maps = [#map2, #map2], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
        ins(%122 : tensor<?x16x?x8192xbf16>) outs(%123 : tensor<?x16x?x8192xbf16>) {
    ^bb0(%in: bf16, %out: bf16):
      %125 = arith.extf %in : bf16 to f32
      %126 = arith.mulf %125, %cst_3 : f32
      %127 = arith.truncf %126 : f32 to bf16
      linalg.yield %127 : bf16
    } -> tensor<?x16x?x8192xbf16>
    %128 = tensor.empty(%batch, %tokens) : tensor<?x16x?x8192xbf16>
    %129 = linalg.generic {
        indexing_maps = [#map2, #map2], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
        ins(%124 : tensor<?x16x?x8192xbf16>) outs(%128 : tensor<?x16x?x8192xbf16>) {
    ^bb0(%in: bf16, %out: bf16):
      %130 = arith.extf %in : bf16 to f32
      %131 = arith.divf %130, %cst_4 : f32
      %132 = arith.truncf %131 : f32 to bf16
      linalg.yield %132 : bf16
    } -> tensor<?x16x?x8192xbf16>
    %133 = tensor.empty(%batch, %tokens) : tensor<?x16x?x8192xbf16>
    %134 = linalg.generic {
        indexing_maps = [#map2, #map2], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
        ins(%129 : tensor<?x16x?x8192xbf16>) outs(%133 : tensor<?x16x?x8192xbf16>) {
    ^bb0(%in: bf16, %out: bf16):
      %135 = math.tanh %in : bf16
      linalg.yield %135 : bf16
    } -> tensor<?x16x?x8192xbf16>
    %136 = tensor.empty(%batch, %tokens) : tensor<?x16x?x8192xbf16>
    %137 = linalg.generic {
        indexing_maps = [#map2, #map2], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
        ins(%134 : tensor<?x16x?x8192xbf16>) outs(%136 : tensor<?x16x?x8192xbf16>) {
    ^bb0(%in: bf16, %out: bf16):
      %138 = arith.extf %in : bf16 to f32
      %139 = arith.mulf %138, %cst_4 : f32
      %140 = arith.truncf %139 : f32 to bf16
      linalg.yield %140 : bf16
    } -> tensor<?x16x?x8192xbf16>
    %141 = tensor.empty() : tensor<8192xi64>
    %142 = linalg.generic {
        indexing_maps = [#map6], iterator_types = ["parallel"]}
        outs(%141 : tensor<8192xi64>) {
    ^bb0(%out: i64):
      %143 = linalg.index 0 : index
      %144 = arith.index_cast %143 : index to i64
      linalg.yield %144 : i64
    } -> tensor<8192xi64>
    %145 = tensor.expand_shape %position_ids [[0], [1, 2]] output_shape [%batch, %tokens, 1] : tensor<?x?xi64> into tensor<?x?x1xi64>
    %146 = tensor.empty(%batch, %tokens) : tensor<?x?x8192xi1>
    %147 = linalg.generic {
        indexing_maps = [#map7, #map8, #map1], iterator_types = ["parallel", "parallel", "parallel"]}
        ins(%142, %145 : tensor<8192xi64>, tensor<?x?x1xi64>) outs(%146 : tensor<?x?x8192xi1>) {
    ^bb0(%in: i64, %in_1: i64, %out: i1):
      %148 = arith.cmpi sle, %in, %in_1 : i64
      linalg.yield %148 : i1
    } -> tensor<?x?x8192xi1>
    %149 = tensor.empty(%batch, %tokens) : tensor<?x?x8192xbf16>
    %150 = linalg.generic {
        indexing_maps = [#map1, #map1], iterator_types = ["parallel", "parallel", "parallel"]}
        ins(%147 : tensor<?x?x8192xi1>) outs(%149 : tensor<?x?x8192xbf16>) {
    ^bb0(%in: i1, %out: bf16):
      %151 = arith.select %in, %cst_2, %cst_5 : bf16
      linalg.yield %151 : bf16
    } -> tensor<?x?x8192xbf16>
    %152 = tensor.expand_shape %150 [[0], [1, 2], [3]] output_shape [%batch, 1, %tokens, 8192] : tensor<?x?x8192xbf16> into tensor<?x1x?x8192xbf16>
    %153 = tensor.empty(%batch, %tokens) : tensor<?x16x?x8192xbf16>
    %154 = linalg.generic {
        indexing_maps = [#map2, #map3, #map2], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
        ins(%137, %152 : tensor<?x16x?x8192xbf16>, tensor<?x1x?x8192xbf16>) outs(%153 : tensor<?x16x?x8192xbf16>) {
    ^bb0(%in: bf16, %in_1: bf16, %out: bf16):
      %155 = arith.addf %in, %in_1 : bf16
      linalg.yield %155 : bf16
    } -> tensor<?x16x?x8192xbf16>
    %156 = tensor.empty(%batch, %tokens) : tensor<?x16x?x8192xf32>
    %157 = linalg.generic {
        indexing_maps = [#map2, #map2], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
        ins(%154 : tensor<?x16x?x8192xbf16>) outs(%156 : tensor<?x16x?x8192xf32>) {
    ^bb0(%in: bf16, %out: f32):
      %158 = arith.extf %in : bf16 to f32
      linalg.yield %158 : f32
    } -> tensor<?x16x?x8192xf32>
    %159 = tensor.empty(%batch, %tokens) : tensor<?x16x?x1xf32>
    %160 = linalg.fill ins(%cst_6 : f32) outs(%159 : tensor<?x16x?x1xf32>) -> tensor<?x16x?x1xf32>
    %161 = linalg.generic {
        indexing_maps = [#map2, #map9], iterator_types = ["parallel", "parallel", "parallel", "reduction"]}
        ins(%157 : tensor<?x16x?x8192xf32>) outs(%160 : tensor<?x16x?x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      %162 = arith.maximumf %in, %out : f32
      linalg.yield %162 : f32
    } -> tensor<?x16x?x1xf32>
    %163 = tensor.empty(%batch, %tokens) : tensor<?x16x?x8192xf32>
    %164 = linalg.generic {
        indexing_maps = [#map2, #map9, #map2], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
        ins(%157, %161 : tensor<?x16x?x8192xf32>, tensor<?x16x?x1xf32>) outs(%163 : tensor<?x16x?x8192xf32>) {
    ^bb0(%in: f32, %in_1: f32, %out: f32):
      %165 = arith.subf %in, %in_1 : f32
      linalg.yield %165 : f32
    } -> tensor<?x16x?x8192xf32>
    %166 = tensor.empty(%batch, %tokens) : tensor<?x16x?x8192xf32>
    %167 = linalg.generic {
        indexing_maps = [#map2, #map2], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
        ins(%164 : tensor<?x16x?x8192xf32>) outs(%166 : tensor<?x16x?x8192xf32>) {
    ^bb0(%in: f32, %out: f32):
      %168 = math.exp %in : f32
      linalg.yield %168 : f32
    } -> tensor<?x16x?x8192xf32>
    %169 = tensor.empty(%batch, %tokens) : tensor<?x16x?x1xf32>
    %170 = linalg.fill ins(%cst : f32) outs(%169 : tensor<?x16x?x1xf32>) -> tensor<?x16x?x1xf32>
    %171 = linalg.generic {
        indexing_maps = [#map2, #map9], iterator_types = ["parallel", "parallel", "parallel", "reduction"]}
        ins(%167 : tensor<?x16x?x8192xf32>) outs(%170 : tensor<?x16x?x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      %172 = arith.addf %in, %out : f32
      linalg.yield %172 : f32
    } -> tensor<?x16x?x1xf32>
    %173 = tensor.empty(%batch, %tokens) : tensor<?x16x?x8192xf32>
    %174 = linalg.generic {
        indexing_maps = [#map2, #map9, #map2], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
        ins(%167, %171 : tensor<?x16x?x8192xf32>, tensor<?x16x?x1xf32>) outs(%173 : tensor<?x16x?x8192xf32>) {
    ^bb0(%in: f32, %in_1: f32, %out: f32):
      %175 = arith.divf %in, %in_1 : f32
      linalg.yield %175 : f32
    } -> tensor<?x16x?x8192xf32>
    %176 = tensor.empty(%batch, %tokens) : tensor<?x16x?x8192xbf16>
    %177 = linalg.generic {
        indexing_maps = [#map2, #map2], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
        ins(%174 : tensor<?x16x?x8192xf32>) outs(%176 : tensor<?x16x?x8192xbf16>) {
    ^bb0(%in: f32, %out: bf16):
      %178 = arith.truncf %in : f32 to bf16
      linalg.yield %178 : bf16
    } -> tensor<?x16x?x8192xbf16>
    %179 = tensor.collapse_shape %177 [[0, 1], [2], [3]] : tensor<?x16x?x8192xbf16> into tensor<?x?x8192xbf16>
    %180 = tensor.collapse_shape %110 [[0, 1], [2], [3]] : tensor<?x16x8192x256xbf16> into tensor<?x8192x256xbf16>
    %181 = tensor.empty(%113, %tokens) : tensor<?x?x256xf32>
    %182 = linalg.fill ins(%cst : f32) outs(%181 : tensor<?x?x256xf32>) -> tensor<?x?x256xf32>
    %183 = linalg.batch_matmul ins(%179, %180 : tensor<?x?x8192xbf16>, tensor<?x8192x256xbf16>) outs(%182 : tensor<?x?x256xf32>) -> tensor<?x?x256xf32>
    %184 = tensor.empty(%113, %tokens) : tensor<?x?x256xbf16>
    %185 = linalg.generic {
        indexing_maps = [#map1, #map1], iterator_types = ["parallel", "parallel", "parallel"]}
        ins(%183 : tensor<?x?x256xf32>) outs(%184 : tensor<?x?x256xbf16>) {
    ^bb0(%in: f32, %out: bf16):
      %186 = arith.truncf %in : f32 to bf16
      linalg.yield %186 : bf16
    } -> tensor<?x?x256xbf16>
    %187 = tensor.expand_shape %185 [[0, 1], [2], [3]] output_shape [%batch, 16, %tokens, 256] : tensor<?x?x256xbf16> into tensor<?x16x?x256xbf16>
    %188 = tensor.empty(%batch, %tokens) : tensor<?x?x16x256xbf16>
    %189 = linalg.transpose ins(%187 : tensor<?x16x?x256xbf16>) outs(%188 : tensor<?x?x16x256xbf16>) permutation = [0, 2, 1, 3]
    %190 = tensor.collapse_shape %189 [[0], [1], [2, 3]] : tensor<?x?x16x256xbf16> into tensor<?x?x4096xbf16>
    %191 = tensor.collapse_shape %190 [[0, 1], [2]] : tensor<?x?x4096xbf16> into tensor<?x4096xbf16>
    %192 = tensor.empty() : tensor<4096x3584xbf16>
    %193 = linalg.transpose ins(%wo : tensor<3584x4096xbf16>) outs(%192 : tensor<4096x3584xbf16>) permutation = [1, 0]
    %194 = tensor.empty(%0) : tensor<?x3584xf32>
    %195 = linalg.fill ins(%cst : f32) outs(%194 : tensor<?x3584xf32>) -> tensor<?x3584xf32>
    %196 = linalg.matmul ins(%191, %193 : tensor<?x4096xbf16>, tensor<4096x3584xbf16>) outs(%195 : tensor<?x3584xf32>) -> tensor<?x3584xf32>
    %197 = tensor.empty(%0) : tensor<?x3584xbf16>
    %198 = linalg.generic {
        indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel"]}
        ins(%196 : tensor<?x3584xf32>) outs(%197 : tensor<?x3584xbf16>) {
    ^bb0(%in: f32, %out: bf16):
      %199 = arith.truncf %in : f32 to bf16
      linalg.yield %199 : bf16
    } -> tensor<?x3584xbf16>
    %200 = tensor.expand_shape %198 [[0, 1], [2]] output_shape [%batch, %tokens, 3584] : tensor<?x3584xbf16> into tensor<?x?x3584xbf16>
    return %200, %99, %102 : tensor<?x?x3584xbf16>, tensor<?x8x8192x256xbf16>, tensor<?x8x8192x256xbf16>
  }

  func.func @decode(%x: tensor<?x1x3584xbf16>,
                    %position_ids: tensor<?x1xi64> {kvc.positions},
                    %past_k: tensor<?x8x8192x256xbf16> {kvc.cache = "k"},
                    %past_v: tensor<?x8x8192x256xbf16> {kvc.cache = "v"},
                    %wq: tensor<4096x3584xbf16>,
                    %wk: tensor<2048x3584xbf16>,
                    %wv: tensor<2048x3584xbf16>,
                    %wo: tensor<3584x4096xbf16>)
      -> (tensor<?x1x3584xbf16>,
          tensor<?x8x8192x256xbf16> {kvc.cache = "k"},
          tensor<?x8x8192x256xbf16> {kvc.cache = "v"}) {
    %c0 = arith.constant 0 : index
    %cst = arith.constant 0.0 : f32
    %cst_1 = arith.constant dense<[1.0, 0.930572041, 0.865964323, 0.805842188, 0.749894209,
        0.697830585, 0.649381632, 0.60429639, 0.562341325, 0.523299115, 0.486967525, 0.453158364,
        0.421696503, 0.392418976, 0.365174127, 0.339820833, 0.316227766, 0.294272718, 0.273841963,
        0.254829675, 0.237137371, 0.220673407, 0.205352503, 0.191095297, 0.177827941, 0.16548171,
        0.153992653, 0.143301257, 0.133352143, 0.124093776, 0.115478198, 0.107460783, 0.1,
        0.0930572041, 0.0865964323, 0.0805842188, 0.0749894209, 0.0697830585, 0.0649381632,
        0.060429639, 0.0562341325, 0.0523299115, 0.0486967525, 0.0453158364, 0.0421696503,
        0.0392418976, 0.0365174127, 0.0339820833, 0.0316227766, 0.0294272718, 0.0273841963,
        0.0254829675, 0.0237137371, 0.0220673407, 0.0205352503, 0.0191095297, 0.0177827941,
        0.016548171, 0.0153992653, 0.0143301257, 0.0133352143, 0.0124093776, 0.0115478198,
        0.0107460783, 0.01, 0.00930572041, 0.00865964323, 0.00805842188, 0.00749894209,
        0.00697830585, 0.00649381632, 0.0060429639, 0.00562341325, 0.00523299115, 0.00486967525,
        0.00453158364, 0.00421696503, 0.00392418976, 0.00365174127, 0.00339820833, 0.00316227766,
        0.00294272718, 0.00273841963, 0.00254829675, 0.00237137371, 0.00220673407, 0.00205352503,
        0.00191095297, 0.00177827941, 0.0016548171, 0.00153992653, 0.00143301257, 0.00133352143,
        0.00124093776, 0.00115478198, 0.00107460783, 0.001, 0.000930572041, 0.000865964323,
        0.000805842188, 0.000749894209, 0.000697830585, 0.000649381632, 0.00060429639,
        0.000562341325, 0.000523299115, 0.000486967525, 0.000453158364, 0.000421696503,
        0.000392418976, 0.000365174127, 0.000339820833, 0.000316227766, 0.000294272718,
        0.000273841963, 0.000254829675, 0.000237137371, 0.000220673407, 0.000205352503,
        0.000191095297, 0.000177827941, 0.00016548171, 0.000153992653, 0.000143301257,
        0.000133352143, 0.000124093776, 0.000115478198, 0.000107460783]> : tensor<128xf32>
    %c16 = arith.constant 16 : index
    %cst_2 = arith.constant 0.0625 : f32
    %cst_3 = arith.constant 50.0 : f32
    %cst_4 = arith.constant 0.0 : bf16
    %cst_5 = arith.constant -3.38953139e+38 : bf16
    %cst_6 = arith.constant 0xFF800000 : f32
    %batch = tensor.dim %x, %c0 : tensor<?x1x3584xbf16>
    // Queries, keys and values, by heads.
    %0 = tensor.collapse_shape %x [[0, 1], [2]] : tensor<?x1x3584xbf16> into tensor<?x3584xbf16>
    %1 = tensor.empty() : tensor<3584x4096xbf16>
    %2 = linalg.transpose ins(%wq : tensor<4096x3584xbf16>) outs(%1 : tensor<3584x4096xbf16>) permutation = [1, 0]
    %3 = tensor.empty(%batch) : tensor<?x4096xf32>
    %4 = linalg.fill ins(%cst : f32) outs(%3 : tensor<?x4096xf32>) -> tensor<?x4096xf32>
    %5 = linalg.matmul ins(%0, %2 : tensor<?x3584xbf16>, tensor<3584x4096xbf16>) outs(%4 : tensor<?x4096xf32>) -> tensor<?x4096xf32>
    %6 = tensor.empty(%batch) : tensor<?x4096xbf16>
    %7 = linalg.generic {
        indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel"]}
        ins(%5 : tensor<?x4096xf32>) outs(%6 : tensor<?x4096xbf16>) {
    ^bb0(%in: f32, %out: bf16):
      %8 = arith.truncf %in : f32 to bf16
      linalg.yield %8 : bf16
    } -> tensor<?x4096xbf16>
    %9 = tensor.expand_shape %7 [[0, 1], [2]] output_shape [%batch, 1, 4096] : tensor<?x4096xbf16> into tensor<?x1x4096xbf16>
    %10 = tensor.expand_shape %9 [[0], [1], [2, 3]] output_shape [%batch, 1, 16, 256] : tensor<?x1x4096xbf16> into tensor<?x1x16x256xbf16>
    %11 = tensor.empty(%batch) : tensor<?x16x1x256xbf16>
    %12 = linalg.transpose ins(%10 : tensor<?x1x16x256xbf16>) outs(%11 : tensor<?x16x1x256xbf16>) permutation = [0, 2, 1, 3]
    %13 = tensor.collapse_shape %x [[0, 1], [2]] : tensor<?x1x3584xbf16> into tensor<?x3584xbf16>
    %14 = tensor.empty() : tensor<3584x2048xbf16>
    %15 = linalg.transpose ins(%wk : tensor<2048x3584xbf16>) outs(%14 : tensor<3584x2048xbf16>) permutation = [1, 0]
    %16 = tensor.empty(%batch) : tensor<?x2048xf32>
    %17 = linalg.fill ins(%cst : f32) outs(%16 : tensor<?x2048xf32>) -> tensor<?x2048xf32>
    %18 = linalg.matmul ins(%13, %15 : tensor<?x3584xbf16>, tensor<3584x2048xbf16>) outs(%17 : tensor<?x2048xf32>) -> tensor<?x2048xf32>
    %19 = tensor.empty(%batch) : tensor<?x2048xbf16>
    %20 = linalg.generic {
        indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel"]}
        ins(%18 : tensor<?x2048xf32>) outs(%19 : tensor<?x2048xbf16>) {
    ^bb0(%in: f32, %out: bf16):
      %21 = arith.truncf %in : f32 to bf16
      linalg.yield %21 : bf16
    } -> tensor<?x2048xbf16>
    %22 = tensor.expand_shape %20 [[0, 1], [2]] output_shape [%batch, 1, 2048] : tensor<?x2048xbf16> into tensor<?x1x2048xbf16>
    %23 = tensor.expand_shape %22 [[0], [1], [2, 3]] output_shape [%batch, 1, 8, 256] : tensor<?x1x2048xbf16> into tensor<?x1x8x256xbf16>
    %24 = tensor.empty(%batch) : tensor<?x8x1x256xbf16>
    %25 = linalg.transpose ins(%23 : tensor<?x1x8x256xbf16>) outs(%24 : tensor<?x8x1x256xbf16>) permutation = [0, 2, 1, 3]
    %26 = tensor.collapse_shape %x [[0, 1], [2]] : tensor<?x1x3584xbf16> into tensor<?x3584xbf16>
    %27 = tensor.empty() : tensor<3584x2048xbf16>
    %28 = linalg.transpose ins(%wv : tensor<2048x3584xbf16>) outs(%27 : tensor<3584x2048xbf16>) permutation = [1, 0]
    %29 = tensor.empty(%batch) : tensor<?x2048xf32>
    %30 = linalg.fill ins(%cst : f32) outs(%29 : tensor<?x2048xf32>) -> tensor<?x2048xf32>
    %31 = linalg.matmul ins(%26, %28 : tensor<?x3584xbf16>, tensor<3584x2048xbf16>) outs(%30 : tensor<?x2048xf32>) -> tensor<?x2048xf32>
    %32 = tensor.empty(%batch) : tensor<?x2048xbf16>
    %33 = linalg.generic {
        indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel"]}
        ins(%31 : tensor<?x2048xf32>) outs(%32 : tensor<?x2048xbf16>) {
    ^bb0(%in: f32, %out: bf16):
      %34 = arith.truncf %in : f32 to bf16
      linalg.yield %34 : bf16
    } -> tensor<?x2048xbf16>
    %35 = tensor.expand_shape %33 [[0, 1], [2]] output_shape [%batch, 1, 2048] : tensor<?x2048xbf16> into tensor<?x1x2048xbf16>
    %36 = tensor.expand_shape %35 [[0], [1], [2, 3]] output_shape [%batch, 1, 8, 256] : tensor<?x1x2048xbf16> into tensor<?x1x8x256xbf16>
    %37 = tensor.empty(%batch) : tensor<?x8x1x256xbf16>
    %38 = linalg.transpose ins(%36 : tensor<?x1x8x256xbf16>) outs(%37 : tensor<?x8x1x256xbf16>) permutation = [0, 2, 1, 3]
    // Rotary embedding.
    %39 = tensor.expand_shape %cst_1 [[0, 1]] output_shape [128, 1] : tensor<128xf32> into tensor<128x1xf32>
    %40 = tensor.empty(%batch) : tensor<?x128x1xf32>
    %41 = linalg.broadcast ins(%39 : tensor<128x1xf32>) outs(%40 : tensor<?x128x1xf32>) dimensions = [0]
    %42 = tensor.empty(%batch) : tensor<?x1xf32>
    %43 = linalg.generic {
        indexing_maps = [#map10, #map], iterator_types = ["parallel", "parallel"]}
        ins(%position_ids : tensor<?x1xi64>) outs(%42 : tensor<?x1xf32>) {
    ^bb0(%in: i64, %out: f32):
      %44 = arith.sitofp %in : i64 to f32
      linalg.yield %44 : f32
    } -> tensor<?x1xf32>
    %45 = tensor.expand_shape %43 [[0], [1, 2]] output_shape [%batch, 1, 1] : tensor<?x1xf32> into tensor<?x1x1xf32>
    %46 = tensor.empty(%batch) : tensor<?x128x1xf32>
    %47 = linalg.fill ins(%cst : f32) outs(%46 : tensor<?x128x1xf32>) -> tensor<?x128x1xf32>
    %48 = linalg.batch_matmul ins(%41, %45 : tensor<?x128x1xf32>, tensor<?x1x1xf32>) outs(%47 : tensor<?x128x1xf32>) -> tensor<?x128x1xf32>
    %49 = tensor.empty(%batch) : tensor<?x1x128xf32>
    %50 = linalg.transpose ins(%48 : tensor<?x128x1xf32>) outs(%49 : tensor<?x1x128xf32>) permutation = [0, 2, 1]
    %51 = tensor.concat dim(2) %50, %50 : (tensor<?x1x128xf32>, tensor<?x1x128xf32>) -> tensor<?x1x256xf32>
    %52 = tensor.empty(%batch) : tensor<?x1x256xf32>
    %53 = linalg.generic {
        indexing_maps = [#map11, #map1], iterator_types = ["parallel", "parallel", "parallel"]}
        ins(%51 : tensor<?x1x256xf32>) outs(%52 : tensor<?x1x256xf32>) {
    ^bb0(%in: f32, %out: f32):
      %54 = math.cos %in : f32
      linalg.yield %54 : f32
    } -> tensor<?x1x256xf32>
    %55 = tensor.empty(%batch) : tensor<?x1x256xf32>
    %56 = linalg.generic {
        indexing_maps = [#map11, #map1], iterator_types = ["parallel", "parallel", "parallel"]}
        ins(%51 : tensor<?x1x256xf32>) outs(%55 : tensor<?x1x256xf32>) {
    ^bb0(%in: f32, %out: f32):
      %57 = math.sin %in : f32
      linalg.yield %57 : f32
    } -> tensor<?x1x256xf32>
    %58 = tensor.empty(%batch) : tensor<?x1x256xbf16>
    %59 = linalg.generic {
        indexing_maps = [#map11, #map1], iterator_types = ["parallel", "parallel", "parallel"]}
        ins(%53 : tensor<?x1x256xf32>) outs(%58 : tensor<?x1x256xbf16>) {
    ^bb0(%in: f32, %out: bf16):
      %60 = arith.truncf %in : f32 to bf16
      linalg.yield %60 : bf16
    } -> tensor<?x1x256xbf16>
    %61 = tensor.expand_shape %59 [[0], [1, 2], [3]] output_shape [%batch, 1, 1, 256] : tensor<?x1x256xbf16> into tensor<?x1x1x256xbf16>
    %62 = tensor.empty(%batch) : tensor<?x1x256xbf16>
    %63 = linalg.generic {
        indexing_maps = [#map11, #map1], iterator_types = ["parallel", "parallel", "parallel"]}
        ins(%56 : tensor<?x1x256xf32>) outs(%62 : tensor<?x1x256xbf16>) {
    ^bb0(%in: f32, %out: bf16):
      %64 = arith.truncf %in : f32 to bf16
      linalg.yield %64 : bf16
    } -> tensor<?x1x256xbf16>
    %65 = tensor.expand_shape %63 [[0], [1, 2], [3]] output_shape [%batch, 1, 1, 256] : tensor<?x1x256xbf16> into tensor<?x1x1x256xbf16>
    %66 = tensor.empty(%batch) : tensor<?x16x1x256xbf16>
    %67 = linalg.generic {
        indexing_maps = [#map12, #map13, #map2], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
        ins(%12, %61 : tensor<?x16x1x256xbf16>, tensor<?x1x1x256xbf16>) outs(%66 : tensor<?x16x1x256xbf16>) {
    ^bb0(%in: bf16, %in_1: bf16, %out: bf16):
      %68 = arith.mulf %in, %in_1 : bf16
      linalg.yield %68 : bf16
    } -> tensor<?x16x1x256xbf16>
    %69 = tensor.extract_slice %12[0, 0, 0, 0] [%batch, 16, 1, 128] [1, 1, 1, 1] : tensor<?x16x1x256xbf16> to tensor<?x16x1x128xbf16>
    %70 = tensor.extract_slice %12[0, 0, 0, 128] [%batch, 16, 1, 128] [1, 1, 1, 1] : tensor<?x16x1x256xbf16> to tensor<?x16x1x128xbf16>
    %71 = tensor.empty(%batch) : tensor<?x16x1x128xbf16>
    %72 = linalg.generic {
        indexing_maps = [#map12, #map2], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
        ins(%70 : tensor<?x16x1x128xbf16>) outs(%71 : tensor<?x16x1x128xbf16>) {
    ^bb0(%in: bf16, %out: bf16):
      %73 = arith.negf %in : bf16
      linalg.yield %73 : bf16
    } -> tensor<?x16x1x128xbf16>
    %74 = tensor.concat dim(3) %72, %69 : (tensor<?x16x1x128xbf16>, tensor<?x16x1x128xbf16>) -> tensor<?x16x1x256xbf16>
    %75 = tensor.empty(%batch) : tensor<?x16x1x256xbf16>
    %76 = linalg.generic {
        indexing_maps = [#map12, #map13, #map2], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
        ins(%74, %65 : tensor<?x16x1x256xbf16>, tensor<?x1x1x256xbf16>) outs(%75 : tensor<?x16x1x256xbf16>) {
    ^bb0(%in: bf16, %in_1: bf16, %out: bf16):
      %77 = arith.mulf %in, %in_1 : bf16
      linalg.yield %77 : bf16
    } -> tensor<?x16x1x256xbf16>
    %78 = tensor.empty(%batch) : tensor<?x16x1x256xbf16>
    %79 = linalg.generic {
        indexing_maps = [#map12, #map12, #map2], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
        ins(%67, %76 : tensor<?x16x1x256xbf16>, tensor<?x16x1x256xbf16>) outs(%78 : tensor<?x16x1x256xbf16>) {
    ^bb0(%in: bf16, %in_1: bf16, %out: bf16):
      %80 = arith.addf %in, %in_1 : bf16
      linalg.yield %80 : bf16
    } -> tensor<?x16x1x256xbf16>
    %81 = tensor.empty(%batch) : tensor<?x8x1x256xbf16>
    %82 = linalg.generic {
        indexing_maps = [#map12, #map13, #map2], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
        ins(%25, %61 : tensor<?x8x1x256xbf16>, tensor<?x1x1x256xbf16>) outs(%81 : tensor<?x8x1x256xbf16>) {
    ^bb0(%in: bf16, %in_1: bf16, %out: bf16):
      %83 = arith.mulf %in, %in_1 : bf16
      linalg.yield %83 : bf16
    } -> tensor<?x8x1x256xbf16>
    %84 = tensor.extract_slice %25[0, 0, 0, 0] [%batch, 8, 1, 128] [1, 1, 1, 1] : tensor<?x8x1x256xbf16> to tensor<?x8x1x128xbf16>
    %85 = tensor.extract_slice %25[0, 0, 0, 128] [%batch, 8, 1, 128] [1, 1, 1, 1] : tensor<?x8x1x256xbf16> to tensor<?x8x1x128xbf16>
    %86 = tensor.empty(%batch) : tensor<?x8x1x128xbf16>
    %87 = linalg.generic {
        indexing_maps = [#map12, #map2], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
        ins(%85 : tensor<?x8x1x128xbf16>) outs(%86 : tensor<?x8x1x128xbf16>) {
    ^bb0(%in: bf16, %out: bf16):
      %88 = arith.negf %in : bf16
      linalg.yield %88 : bf16
    } -> tensor<?x8x1x128xbf16>
    %89 = tensor.concat dim(3) %87, %84 : (tensor<?x8x1x128xbf16>, tensor<?x8x1x128xbf16>) -> tensor<?x8x1x256xbf16>
    %90 = tensor.empty(%batch) : tensor<?x8x1x256xbf16>
    %91 = linalg.generic {
        indexing_maps = [#map12, #map13, #map2], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
        ins(%89, %65 : tensor<?x8x1x256xbf16>, tensor<?x1x1x256xbf16>) outs(%90 : tensor<?x8x1x256xbf16>) {
    ^bb0(%in: bf16, %in_1: bf16, %out: bf16):
      %92 = arith.mulf %in, %in_1 : bf16
      linalg.yield %92 : bf16
    } -> tensor<?x8x1x256xbf16>
    %93 = tensor.empty(%batch) : tensor<?x8x1x256xbf16>
    %94 = linalg.generic {
        indexing_maps = [#map12, #map12, #map2], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
        ins(%82, %91 : tensor<?x8x1x256xbf16>, tensor<?x8x1x256xbf16>) outs(%93 : tensor<?x8x1x256xbf16>) {
    ^bb0(%in: bf16, %in_1: bf16, %out: bf16):
      %95 = arith.addf %in, %in_1 : bf16
      linalg.yield %95 : bf16
    } -> tensor<?x8x1x256xbf16>
    // The cache.
    %96 = tensor.extract %position_ids[%c0, %c0] : tensor<?x1xi64>
    %97 = arith.index_cast %96 : i64 to index
    %98 = tensor.insert_slice %94 into %past_k[0, 0, %97, 0] [%batch, 8, 1, 256] [1, 1, 1, 1] : tensor<?x8x1x256xbf16> into tensor<?x8x8192x256xbf16>
    %99 = tensor.extract %position_ids[%c0, %c0] : tensor<?x1xi64>
    %100 = arith.index_cast %99 : i64 to index
    %101 = tensor.insert_slice %38 into %past_v[0, 0, %100, 0] [%batch, 8, 1, 256] [1, 1, 1, 1] : tensor<?x8x1x256xbf16> into tensor<?x8x8192x256xbf16>
    // Attention over all rows of the cache; the mask leaves out those not written.
    %102 = tensor.expand_shape %98 [[0], [1], [2, 3], [4]] output_shape [%batch, 8, 1, 8192, 256] : tensor<?x8x8192x256xbf16> into tensor<?x8x1x8192x256xbf16>
    %103 = tensor.empty(%batch) : tensor<?x8x2x8192x256xbf16>
    %104 = linalg.generic {
        indexing_maps = [#map4, #map5], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]}
        ins(%102 : tensor<?x8x1x8192x256xbf16>) outs(%103 : tensor<?x8x2x8192x256xbf16>) {
    ^bb0(%in: bf16, %out: bf16):
      linalg.yield %in : bf16
    } -> tensor<?x8x2x8192x256xbf16>
    %105 = tensor.collapse_shape %104 [[0], [1, 2], [3], [4]] : tensor<?x8x2x8192x256xbf16> into tensor<?x16x8192x256xbf16>
    %106 = tensor.expand_shape %101 [[0], [1], [2, 3], [4]] output_shape [%batch, 8, 1, 8192, 256] : tensor<?x8x8192x256xbf16> into tensor<?x8x1x8192x256xbf16>
    %107 = tensor.empty(%batch) : tensor<?x8x2x8192x256xbf16>
    %108 = linalg.generic {
        indexing_maps = [#map4, #map5], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]}
        ins(%106 : tensor<?x8x1x8192x256xbf16>) outs(%107 : tensor<?x8x2x8192x256xbf16>) {
    ^bb0(%in: bf16, %out: bf16):
      linalg.yield %in : bf16
    } -> tensor<?x8x2x8192x256xbf16>
    %109 = tensor.collapse_shape %108 [[0], [1, 2], [3], [4]] : tensor<?x8x2x8192x256xbf16> into tensor<?x16x8192x256xbf16>
    %110 = tensor.empty(%batch) : tensor<?x16x256x8192xbf16>
    %111 = linalg.transpose ins(%105 : tensor<?x16x8192x256xbf16>) outs(%110 : tensor<?x16x256x8192xbf16>) permutation = [0, 1, 3, 2]
    %112 = arith.muli %batch, %c16 : index
    %113 = tensor.collapse_shape %79 [[0, 1], [2], [3]] : tensor<?x16x1x256xbf16> into tensor<?x1x256xbf16>
    %114 = tensor.collapse_shape %111 [[0, 1], [2], [3]] : tensor<?x16x256x8192xbf16> into tensor<?x256x8192xbf16>
    %115 = tensor.empty(%112) : tensor<?x1x8192xf32>
    %116 = linalg.fill ins(%cst : f32) outs(%115 : tensor<?x1x8192xf32>) -> tensor<?x1x8192xf32>
    %117 = linalg.batch_matmul ins(%113, %114 : tensor<?x1x256xbf16>, tensor<?x256x8192xbf16>) outs(%116 : tensor<?x1x8192xf32>) -> tensor<?x1x8192xf32>
    %118 = tensor.empty(%112) : tensor<?x1x8192xbf16>
    %119 = linalg.generic {
        indexing_maps = [#map11, #map1], iterator_types = ["parallel", "parallel", "parallel"]}
        ins(%117 : tensor<?x1x8192xf32>) outs(%118 : tensor<?x1x8192xbf16>) {
    ^bb0(%in: f32, %out: bf16):
      %120 = arith.truncf %in : f32 to bf16
      linalg.yield %120 : bf16
    } -> tensor<?x1x8192xbf16>
    %121 = tensor.expand_shape %119 [[0, 1], [2], [3]] output_shape [%batch, 16, 1, 8192] : tensor<?x1x8192xbf16> into tensor<?x16x1x8192xbf16>
    %122 = tensor.empty(%batch) : tensor<?x16x1x8192xbf16>
    %123 = linalg.generic {
        indexing_maps = [#map12, #map2], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
        ins(%121 : tensor<?x16x1x8192xbf16>) outs(%122 : tensor<?x16x1x8192xbf16>) {
    ^bb0(%in: bf16, %out: bf16):
      %124 = arith.extf %in : bf16 to f32
      %125 = arith.mulf %124, %cst_2 : f32
      %126 = arith.truncf %125 : f32 to bf16
      linalg.yield %126 : bf16
    } -> tensor<?x16x1x8192xbf16>
    %127 = tensor.empty(%batch) : tensor<?x16x1x8192xbf16>
    %128 = linalg.generic {
        indexing_maps = [#map12, #map2], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
        ins(%123 : tensor<?x16x1x8192xbf16>) outs(%127 : tensor<?x16x1x8192xbf16>) {
    ^bb0(%in: bf16, %out: bf16):
      %129 = arith.extf %in : bf16 to f32
      %130 = arith.divf %129, %cst_3 : f32
      %131 = arith.truncf %130 : f32 to bf16
      linalg.yield %131 : bf16
    } -> tensor<?x16x1x8192xbf16>
    %132 = tensor.empty(%batch) : tensor<?x16x1x8192xbf16>
    %133 = linalg.generic {
        indexing_maps = [#map12, #map2], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
        ins(%128 : tensor<?x16x1x8192xbf16>) outs(%132 : tensor<?x16x1x8192xbf16>) {
    ^bb0(%in: bf16, %out: bf16):
      %134 = math.tanh %in : bf16
      linalg.yield %134 : bf16
    } -> tensor<?x16x1x8192xbf16>
    %135 = tensor.empty(%batch) : tensor<?x16x1x8192xbf16>
    %136 = linalg.generic {
        indexing_maps = [#map12, #map2], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
        ins(%133 : tensor<?x16x1x8192xbf16>) outs(%135 : tensor<?x16x1x8192xbf16>) {
    ^bb0(%in: bf16, %out: bf16):
      %137 = arith.extf %in : bf16 to f32
      %138 = arith.mulf %137, %cst_3 : f32
      %139 = arith.truncf %138 : f32 to bf16
      linalg.yield %139 : bf16
    } -> tensor<?x16x1x8192xbf16>
    %140 = tensor.empty() : tensor<8192xi64>
    %141 = linalg.generic {
        indexing_maps = [#map6], iterator_types = ["parallel"]}
        outs(%140 : tensor<8192xi64>) {
    ^bb0(%out: i64):
      %142 = linalg.index 0 : index
      %143 = arith.index_cast %142 : index to i64
      linalg.yield %143 : i64
    } -> tensor<8192xi64>
    %144 = tensor.expand_shape %position_ids [[0], [1, 2]] output_shape [%batch, 1, 1] : tensor<?x1xi64> into tensor<?x1x1xi64>
    %145 = tensor.empty(%batch) : tensor<?x1x8192xi1>
    %146 = linalg.generic {
        indexing_maps = [#map7, #map14, #map1], iterator_types = ["parallel", "parallel", "parallel"]}
        ins(%141, %144 : tensor<8192xi64>, tensor<?x1x1xi64>) outs(%145 : tensor<?x1x8192xi1>) {
    ^bb0(%in: i64, %in_1: i64, %out: i1):
      %147 = arith.cmpi sle, %in, %in_1 : i64
      linalg.yield %147 : i1
    } -> tensor<?x1x8192xi1>
    %148 = tensor.empty(%batch) : tensor<?x1x8192xbf16>
    %149 = linalg.generic {
        indexing_maps = [#map11, #map1], iterator_types = ["parallel", "parallel", "parallel"]}
        ins(%146 : tensor<?x1x8192xi1>) outs(%148 : tensor<?x1x8192xbf16>) {
    ^bb0(%in: i1, %out: bf16):
      %150 = arith.select %in, %cst_4, %cst_5 : bf16
      linalg.yield %150 : bf16
    } -> tensor<?x1x8192xbf16>
    %151 = tensor.expand_shape %149 [[0], [1, 2], [3]] output_shape [%batch, 1, 1, 8192] : tensor<?x1x8192xbf16> into tensor<?x1x1x8192xbf16>
    %152 = tensor.empty(%batch) : tensor<?x16x1x8192xbf16>
    %153 = linalg.generic {
        indexing_maps = [#map12, #map13, #map2], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
        ins(%136, %151 : tensor<?x16x1x8192xbf16>, tensor<?x1x1x8192xbf16>) outs(%152 : tensor<?x16x1x8192xbf16>) {
    ^bb0(%in: bf16, %in_1: bf16, %out: bf16):
      %154 = arith.addf %in, %in_1 : bf16
      linalg.yield %154 : bf16
    } -> tensor<?x16x1x8192xbf16>
    %155 = tensor.empty(%batch) : tensor<?x16x1x8192xf32>
    %156 = linalg.generic {
        indexing_maps = [#map12, #map2], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
        ins(%153 : tensor<?x16x1x8192xbf16>) outs(%155 : tensor<?x16x1x8192xf32>) {
    ^bb0(%in: bf16, %out: f32):
      %157 = arith.extf %in : bf16 to f32
      linalg.yield %157 : f32
    } -> tensor<?x16x1x8192xf32>
    %158 = tensor.empty(%batch) : tensor<?x16x1x1xf32>
    %159 = linalg.fill ins(%cst_6 : f32) outs(%158 : tensor<?x16x1x1xf32>) -> tensor<?x16x1x1xf32>
    %160 = linalg.generic {
        indexing_maps = [#map2, #map9], iterator_types = ["parallel", "parallel", "parallel", "reduction"]}
        ins(%156 : tensor<?x16x1x8192xf32>) outs(%159 : tensor<?x16x1x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      %161 = arith.maximumf %in, %out : f32
      linalg.yield %161 : f32
    } -> tensor<?x16x1x1xf32>
    %162 = tensor.empty(%batch) : tensor<?x16x1x8192xf32>
    %163 = linalg.generic {
        indexing_maps = [#map12, #map15, #map2], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
        ins(%156, %160 : tensor<?x16x1x8192xf32>, tensor<?x16x1x1xf32>) outs(%162 : tensor<?x16x1x8192xf32>) {
    ^bb0(%in: f32, %in_1: f32, %out: f32):
      %164 = arith.subf %in, %in_1 : f32
      linalg.yield %164 : f32
    } -> tensor<?x16x1x8192xf32>
    %165 = tensor.empty(%batch) : tensor<?x16x1x8192xf32>
    %166 = linalg.generic {
        indexing_maps = [#map12, #map2], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
        ins(%163 : tensor<?x16x1x8192xf32>) outs(%165 : tensor<?x16x1x8192xf32>) {
    ^bb0(%in: f32, %out: f32):
      %167 = math.exp %in : f32
      linalg.yield %167 : f32
    } -> tensor<?x16x1x8192xf32>
    %168 = tensor.empty(%batch) : tensor<?x16x1x1xf32>
    %169 = linalg.fill ins(%cst : f32) outs(%168 : tensor<?x16x1x1xf32>) -> tensor<?x16x1x1xf32>
    %170 = linalg.generic {
        indexing_maps = [#map2, #map9], iterator_types = ["parallel", "parallel", "parallel", "reduction"]}
        ins(%166 : tensor<?x16x1x8192xf32>) outs(%169 : tensor<?x16x1x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      %171 = arith.addf %in, %out : f32
      linalg.yield %171 : f32
    } -> tensor<?x16x1x1xf32>
    %172 = tensor.empty(%batch) : tensor<?x16x1x8192xf32>
    %173 = linalg.generic {
        indexing_maps = [#map12, #map15, #map2], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
        ins(%166, %170 : tensor<?x16x1x8192xf32>, tensor<?x16x1x1xf32>) outs(%172 : tensor<?x16x1x8192xf32>) {
    ^bb0(%in: f32, %in_1: f32, %out: f32):
      %174 = arith.divf %in, %in_1 : f32
      linalg.yield %174 : f32
    } -> tensor<?x16x1x8192xf32>
    %175 = tensor.empty(%batch) : tensor<?x16x1x8192xbf16>
    %176 = linalg.generic {
        indexing_maps = [#map12, #map2], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
        ins(%173 : tensor<?x16x1x8192xf32>) outs(%175 : tensor<?x16x1x8192xbf16>) {
    ^bb0(%in: f32, %out: bf16):
      %177 = arith.truncf %in : f32 to bf16
      linalg.yield %177 : bf16
    } -> tensor<?x16x1x8192xbf16>
    %178 = tensor.collapse_shape %176 [[0, 1], [2], [3]] : tensor<?x16x1x8192xbf16> into tensor<?x1x8192xbf16>
    %179 = tensor.collapse_shape %109 [[0, 1], [2], [3]] : tensor<?x16x8192x256xbf16> into tensor<?x8192x256xbf16>
    %180 = tensor.empty(%112) : tensor<?x1x256xf32>
    %181 = linalg.fill ins(%cst : f32) outs(%180 : tensor<?x1x256xf32>) -> tensor<?x1x256xf32>
    %182 = linalg.batch_matmul ins(%178, %179 : tensor<?x1x8192xbf16>, tensor<?x8192x256xbf16>) outs(%181 : tensor<?x1x256xf32>) -> tensor<?x1x256xf32>
    %183 = tensor.empty(%112) : tensor<?x1x256xbf16>
    %184 = linalg.generic {
        indexing_maps = [#map11, #map1], iterator_types = ["parallel", "parallel", "parallel"]}
        ins(%182 : tensor<?x1x256xf32>) outs(%183 : tensor<?x1x256xbf16>) {
    ^bb0(%in: f32, %out: bf16):
      %185 = arith.truncf %in : f32 to bf16
      linalg.yield %185 : bf16
    } -> tensor<?x1x256xbf16>
    %186 = tensor.expand_shape %184 [[0, 1], [2], [3]] output_shape [%batch, 16, 1, 256] : tensor<?x1x256xbf16> into tensor<?x16x1x256xbf16>
    %187 = tensor.empty(%batch) : tensor<?x1x16x256xbf16>
    %188 = linalg.transpose ins(%186 : tensor<?x16x1x256xbf16>) outs(%187 : tensor<?x1x16x256xbf16>) permutation = [0, 2, 1, 3]
    %189 = tensor.collapse_shape %188 [[0], [1], [2, 3]] : tensor<?x1x16x256xbf16> into tensor<?x1x4096xbf16>
    %190 = tensor.collapse_shape %189 [[0, 1], [2]] : tensor<?x1x4096xbf16> into tensor<?x4096xbf16>
    %191 = tensor.empty() : tensor<4096x3584xbf16>
    %192 = linalg.transpose ins(%wo : tensor<3584x4096xbf16>) outs(%191 : tensor<4096x3584xbf16>) permutation = [1, 0]
    %193 = tensor.empty(%batch) : tensor<?x3584xf32>
    %194 = linalg.fill ins(%cst : f32) outs(%193 : tensor<?x3584xf32>) -> tensor<?x3584xf32>
    %195 = linalg.matmul ins(%190, %192 : tensor<?x4096xbf16>, tensor<4096x3584xbf16>) outs(%194 : tensor<?x3584xf32>) -> tensor<?x3584xf32>
    %196 = tensor.empty(%batch) : tensor<?x3584xbf16>
    %197 = linalg.generic {
        indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel"]}
        ins(%195 : tensor<?x3584xf32>) outs(%196 : tensor<?x3584xbf16>) {
    ^bb0(%in: f32, %out: bf16):
      %198 = arith.truncf %in : f32 to bf16
      linalg.yield %198 : bf16
    } -> tensor<?x3584xbf16>
    %199 = tensor.expand_shape %197 [[0, 1], [2]] output_shape [%batch, 1, 3584] : tensor<?x3584xbf16> into tensor<?x1x3584xbf16>
    return %199, %98, %101 : tensor<?x1x3584xbf16>, tensor<?x8x8192x256xbf16>, tensor<?x8x8192x256xbf16>
  }
}
