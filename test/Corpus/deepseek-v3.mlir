// The attention of one layer of DeepSeek-V3 (arXiv:2412.19437).
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
  func.func @prefill(%x: tensor<?x?x7168xbf16>,
                     %position_ids: tensor<?x?xi64> {kvc.positions},
                     %wq_a: tensor<1536x7168xbf16>,
                     %q_a_norm: tensor<1536xbf16>,
                     %wq_b: tensor<24576x1536xbf16>,
                     %wkv_a: tensor<576x7168xbf16>,
                     %kv_a_norm: tensor<512xbf16>,
                     %wkv_b: tensor<32768x512xbf16>,
                     %wo: tensor<7168x16384xbf16>)
      -> (tensor<?x?x7168xbf16>,
          tensor<?x128x?x192xbf16> {kvc.cache = "k"},
          tensor<?x128x?x128xbf16> {kvc.cache = "v"}) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %cst = arith.constant 0.0 : f32
    %cst_1 = arith.constant 2.0 : f32
    %cst_2 = arith.constant 1536.0 : f32
    %cst_3 = arith.constant 1.0e-06 : f32
    %cst_4 = arith.constant 512.0 : f32
    %cst_5 = arith.constant dense<[1.0, 0.749894209, 0.562341325, 0.421696503, 0.316227766,
        0.237137371, 0.177827941, 0.133352143, 0.1, 0.0749894209, 0.0562341325, 0.0390069266,
        0.0268793601, 0.0183781462, 0.0124479559, 0.00833450895, 0.0055, 0.00356199749,
        0.0022493653, 0.00137051364, 0.000790569415, 0.000414990398, 0.000177827941, 3.33380358e-05,
        2.5e-05, 1.87473552e-05, 1.40585331e-05, 1.05424126e-05, 7.90569415e-06, 5.92843426e-06,
        4.44569853e-06, 3.33380358e-06]> : tensor<32xf32>
    %c128 = arith.constant 128 : index
    %cst_6 = arith.constant 0.135233779 : f32
    %cst_7 = arith.constant 0.0 : bf16
    %cst_8 = arith.constant -3.38953139e+38 : bf16
    %cst_9 = arith.constant 0xFF800000 : f32
    %batch = tensor.dim %x, %c0 : tensor<?x?x7168xbf16>
    %tokens = tensor.dim %x, %c1 : tensor<?x?x7168xbf16>
    // Queries, without and with rotary embedding.
    %0 = arith.muli %batch, %tokens : index
    %1 = tensor.collapse_shape %x [[0, 1], [2]] : tensor<?x?x7168xbf16> into tensor<?x7168xbf16>
    %2 = tensor.empty() : tensor<7168x1536xbf16>
    %3 = linalg.transpose ins(%wq_a : tensor<1536x7168xbf16>) outs(%2 : tensor<7168x1536xbf16>) permutation = [1, 0]
    %4 = tensor.empty(%0) : tensor<?x1536xf32>
    %5 = linalg.fill ins(%cst : f32) outs(%4 : tensor<?x1536xf32>) -> tensor<?x1536xf32>
    %6 = linalg.matmul ins(%1, %3 : tensor<?x7168xbf16>, tensor<7168x1536xbf16>) outs(%5 : tensor<?x1536xf32>) -> tensor<?x1536xf32>
    %7 = tensor.empty(%0) : tensor<?x1536xbf16>
    %8 = linalg.generic {
        indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel"]}
        ins(%6 : tensor<?x1536xf32>) outs(%7 : tensor<?x1536xbf16>) {
    ^bb0(%in: f32, %out: bf16):
      %9 = arith.truncf %in : f32 to bf16
      linalg.yield %9 : bf16
    } -> tensor<?x1536xbf16>
    %10 = tensor.expand_shape %8 [[0, 1], [2]] output_shape [%batch, %tokens, 1536] : tensor<?x1536xbf16> into tensor<?x?x1536xbf16>
    %11 = tensor.empty(%batch, %tokens) : tensor<?x?x1536xf32>
    %12 = linalg.generic {
        indexing_maps = [#map1, #map1], iterator_types = ["parallel", "parallel", "parallel"]}
        ins(%10 : tensor<?x?x1536xbf16>) outs(%11 : tensor<?x?x1536xf32>) {
    ^bb0(%in: bf16, %out: f32):
      %13 = arith.extf %in : bf16 to f32
      linalg.yield %13 : f32
    } -> tensor<?x?x1536xf32>
    %14 = tensor.empty(%batch, %tokens) : tensor<?x?x1536xf32>
    %15 = linalg.generic {
        indexing_maps = [#map1, #map1], iterator_types = ["parallel", "parallel", "parallel"]}
        ins(%12 : tensor<?x?x1536xf32>) outs(%14 : tensor<?x?x1536xf32>) {
    ^bb0(%in: f32, %out: f32):
      %16 = math.powf %in, %cst_1 : f32
      linalg.yield %16 : f32
    } -> tensor<?x?x1536xf32>
    %17 = tensor.empty(%batch, %tokens) : tensor<?x?x1xf32>
    %18 = linalg.fill ins(%cst : f32) outs(%17 : tensor<?x?x1xf32>) -> tensor<?x?x1xf32>
    %19 = linalg.generic {
        indexing_maps = [#map1, #map2], iterator_types = ["parallel", "parallel", "reduction"]}
        ins(%15 : tensor<?x?x1536xf32>) outs(%18 : tensor<?x?x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      %20 = arith.addf %in, %out : f32
      linalg.yield %20 : f32
    } -> tensor<?x?x1xf32>
    %21 = tensor.empty(%batch, %tokens) : tensor<?x?x1xf32>
    %22 = linalg.generic {
        indexing_maps = [#map2, #map1], iterator_types = ["parallel", "parallel", "parallel"]}
        ins(%19 : tensor<?x?x1xf32>) outs(%21 : tensor<?x?x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      %23 = arith.divf %in, %cst_2 : f32
      linalg.yield %23 : f32
    } -> tensor<?x?x1xf32>
    %24 = tensor.empty(%batch, %tokens) : tensor<?x?x1xf32>
    %25 = linalg.generic {
        indexing_maps = [#map2, #map1], iterator_types = ["parallel", "parallel", "parallel"]}
        ins(%22 : tensor<?x?x1xf32>) outs(%24 : tensor<?x?x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      %26 = arith.addf %in, %cst_3 : f32
      linalg.yield %26 : f32
    } -> tensor<?x?x1xf32>
    %27 = tensor.empty(%batch, %tokens) : tensor<?x?x1xf32>
    %28 = linalg.generic {
        indexing_maps = [#map2, #map1], iterator_types = ["parallel", "parallel", "parallel"]}
        ins(%25 : tensor<?x?x1xf32>) outs(%27 : tensor<?x?x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      %29 = math.rsqrt %in : f32
      linalg.yield %29 : f32
    } -> tensor<?x?x1xf32>
    %30 = tensor.empty(%batch, %tokens) : tensor<?x?x1536xf32>
    %31 = linalg.generic {
        indexing_maps = [#map1, #map2, #map1], iterator_types = ["parallel", "parallel", "parallel"]}
        ins(%12, %28 : tensor<?x?x1536xf32>, tensor<?x?x1xf32>) outs(%30 : tensor<?x?x1536xf32>) {
    ^bb0(%in: f32, %in_1: f32, %out: f32):
      %32 = arith.mulf %in, %in_1 : f32
      linalg.yield %32 : f32
    } -> tensor<?x?x1536xf32>
    %33 = tensor.empty(%batch, %tokens) : tensor<?x?x1536xbf16>
    %34 = linalg.generic {
        indexing_maps = [#map1, #map1], iterator_types = ["parallel", "parallel", "parallel"]}
        ins(%31 : tensor<?x?x1536xf32>) outs(%33 : tensor<?x?x1536xbf16>) {
    ^bb0(%in: f32, %out: bf16):
      %35 = arith.truncf %in : f32 to bf16
      linalg.yield %35 : bf16
    } -> tensor<?x?x1536xbf16>
    %36 = tensor.empty(%batch, %tokens) : tensor<?x?x1536xbf16>
    %37 = linalg.generic {
        indexing_maps = [#map3, #map1, #map1], iterator_types = ["parallel", "parallel", "parallel"]}
        ins(%q_a_norm, %34 : tensor<1536xbf16>, tensor<?x?x1536xbf16>) outs(%36 : tensor<?x?x1536xbf16>) {
    ^bb0(%in: bf16, %in_1: bf16, %out: bf16):
      %38 = arith.mulf %in, %in_1 : bf16
      linalg.yield %38 : bf16
    } -> tensor<?x?x1536xbf16>
    %39 = tensor.collapse_shape %37 [[0, 1], [2]] : tensor<?x?x1536xbf16> into tensor<?x1536xbf16>
    %40 = tensor.empty() : tensor<1536x24576xbf16>
    %41 = linalg.transpose ins(%wq_b : tensor<24576x1536xbf16>) outs(%40 : tensor<1536x24576xbf16>) permutation = [1, 0]
    %42 = tensor.empty(%0) : tensor<?x24576xf32>
    %43 = linalg.fill ins(%cst : f32) outs(%42 : tensor<?x24576xf32>) -> tensor<?x24576xf32>
    %44 = linalg.matmul ins(%39, %41 : tensor<?x1536xbf16>, tensor<1536x24576xbf16>) outs(%43 : tensor<?x24576xf32>) -> tensor<?x24576xf32>
    %45 = tensor.empty(%0) : tensor<?x24576xbf16>
    %46 = linalg.generic {
        indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel"]}
        ins(%44 : tensor<?x24576xf32>) outs(%45 : tensor<?x24576xbf16>) {
    ^bb0(%in: f32, %out: bf16):
      %47 = arith.truncf %in : f32 to bf16
      linalg.yield %47 : bf16
    } -> tensor<?x24576xbf16>
    %48 = tensor.expand_shape %46 [[0, 1], [2]] output_shape [%batch, %tokens, 24576] : tensor<?x24576xbf16> into tensor<?x?x24576xbf16>
    %49 = tensor.expand_shape %48 [[0], [1], [2, 3]] output_shape [%batch, %tokens, 128, 192] : tensor<?x?x24576xbf16> into tensor<?x?x128x192xbf16>
    %50 = tensor.empty(%batch, %tokens) : tensor<?x128x?x192xbf16>
    %51 = linalg.transpose ins(%49 : tensor<?x?x128x192xbf16>) outs(%50 : tensor<?x128x?x192xbf16>) permutation = [0, 2, 1, 3]
    %52 = tensor.extract_slice %51[0, 0, 0, 0] [%batch, 128, %tokens, 128] [1, 1, 1, 1] : tensor<?x128x?x192xbf16> to tensor<?x128x?x128xbf16>
    %53 = tensor.extract_slice %51[0, 0, 0, 128] [%batch, 128, %tokens, 64] [1, 1, 1, 1] : tensor<?x128x?x192xbf16> to tensor<?x128x?x64xbf16>
    // The latent row and the rotary part of the keys, then keys and values of it.
    %54 = tensor.collapse_shape %x [[0, 1], [2]] : tensor<?x?x7168xbf16> into tensor<?x7168xbf16>
    %55 = tensor.empty() : tensor<7168x576xbf16>
    %56 = linalg.transpose ins(%wkv_a : tensor<576x7168xbf16>) outs(%55 : tensor<7168x576xbf16>) permutation = [1, 0]
    %57 = tensor.empty(%0) : tensor<?x576xf32>
    %58 = linalg.fill ins(%cst : f32) outs(%57 : tensor<?x576xf32>) -> tensor<?x576xf32>
    %59 = linalg.matmul ins(%54, %56 : tensor<?x7168xbf16>, tensor<7168x576xbf16>) outs(%58 : tensor<?x576xf32>) -> tensor<?x576xf32>
    %60 = tensor.empty(%0) : tensor<?x576xbf16>
    %61 = linalg.generic {
        indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel"]}
        ins(%59 : tensor<?x576xf32>) outs(%60 : tensor<?x576xbf16>) {
    ^bb0(%in: f32, %out: bf16):
      %62 = arith.truncf %in : f32 to bf16
      linalg.yield %62 : bf16
    } -> tensor<?x576xbf16>
    %63 = tensor.expand_shape %61 [[0, 1], [2]] output_shape [%batch, %tokens, 576] : tensor<?x576xbf16> into tensor<?x?x576xbf16>
    %64 = tensor.extract_slice %63[0, 0, 0] [%batch, %tokens, 512] [1, 1, 1] : tensor<?x?x576xbf16> to tensor<?x?x512xbf16>
    %65 = tensor.extract_slice %63[0, 0, 512] [%batch, %tokens, 64] [1, 1, 1] : tensor<?x?x576xbf16> to tensor<?x?x64xbf16>
    %66 = tensor.empty(%batch, %tokens) : tensor<?x?x512xf32>
    %67 = linalg.generic {
        indexing_maps = [#map1, #map1], iterator_types = ["parallel", "parallel", "parallel"]}
        ins(%64 : tensor<?x?x512xbf16>) outs(%66 : tensor<?x?x512xf32>) {
    ^bb0(%in: bf16, %out: f32):
      %68 = arith.extf %in : bf16 to f32
      linalg.yield %68 : f32
    } -> tensor<?x?x512xf32>
    %69 = tensor.empty(%batch, %tokens) : tensor<?x?x512xf32>
    %70 = linalg.generic {
        indexing_maps = [#map1, #map1], iterator_types = ["parallel", "parallel", "parallel"]}
        ins(%67 : tensor<?x?x512xf32>) outs(%69 : tensor<?x?x512xf32>) {
    ^bb0(%in: f32, %out: f32):
      %71 = math.powf %in, %cst_1 : f32
      linalg.yield %71 : f32
    } -> tensor<?x?x512xf32>
    %72 = tensor.empty(%batch, %tokens) : tensor<?x?x1xf32>
    %73 = linalg.fill ins(%cst : f32) outs(%72 : tensor<?x?x1xf32>) -> tensor<?x?x1xf32>
    %74 = linalg.generic {
        indexing_maps = [#map1, #map2], iterator_types = ["parallel", "parallel", "reduction"]}
        ins(%70 : tensor<?x?x512xf32>) outs(%73 : tensor<?x?x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      %75 = arith.addf %in, %out : f32
      linalg.yield %75 : f32
    } -> tensor<?x?x1xf32>
    %76 = tensor.empty(%batch, %tokens) : tensor<?x?x1xf32>
    %77 = linalg.generic {
        indexing_maps = [#map2, #map1], iterator_types = ["parallel", "parallel", "parallel"]}
        ins(%74 : tensor<?x?x1xf32>) outs(%76 : tensor<?x?x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      %78 = arith.divf %in, %cst_4 : f32
      linalg.yield %78 : f32
    } -> tensor<?x?x1xf32>
    %79 = tensor.empty(%batch, %tokens) : tensor<?x?x1xf32>
    %80 = linalg.generic {
        indexing_maps = [#map2, #map1], iterator_types = ["parallel", "parallel", "parallel"]}
        ins(%77 : tensor<?x?x1xf32>) outs(%79 : tensor<?x?x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      %81 = arith.addf %in, %cst_3 : f32
      linalg.yield %81 : f32
    } -> tensor<?x?x1xf32>
    %82 = tensor.empty(%batch, %tokens) : tensor<?x?x1xf32>
    %83 = linalg.generic {
        indexing_maps = [#map2, #map1], iterator_types = ["parallel", "parallel", "parallel"]}
        ins(%80 : tensor<?x?x1xf32>) outs(%82 : tensor<?x?x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      %84 = math.rsqrt %in : f32
      linalg.yield %84 : f32
    } -> tensor<?x?x1xf32>
    %85 = tensor.empty(%batch, %tokens) : tensor<?x?x512xf32>
    %86 = linalg.generic {
        indexing_maps = [#map1, #map2, #map1], iterator_types = ["parallel", "parallel", "parallel"]}
        ins(%67, %83 : tensor<?x?x512xf32>, tensor<?x?x1xf32>) outs(%85 : tensor<?x?x512xf32>) {
    ^bb0(%in: f32, %in_1: f32, %out: f32):
      %87 = arith.mulf %in, %in_1 : f32
      linalg.yield %87 : f32
    } -> tensor<?x?x512xf32>
    %88 = tensor.empty(%batch, %tokens) : tensor<?x?x512xbf16>
    %89 = linalg.generic {
        indexing_maps = [#map1, #map1], iterator_types = ["parallel", "parallel", "parallel"]}
        ins(%86 : tensor<?x?x512xf32>) outs(%88 : tensor<?x?x512xbf16>) {
    ^bb0(%in: f32, %out: bf16):
      %90 = arith.truncf %in : f32 to bf16
      linalg.yield %90 : bf16
    } -> tensor<?x?x512xbf16>
    %91 = tensor.empty(%batch, %tokens) : tensor<?x?x512xbf16>
    %92 = linalg.generic {
        indexing_maps = [#map3, #map1, #map1], iterator_types = ["parallel", "parallel", "parallel"]}
        ins(%kv_a_norm, %89 : tensor<512xbf16>, tensor<?x?x512xbf16>) outs(%91 : tensor<?x?x512xbf16>) {
    ^bb0(%in: bf16, %in_1: bf16, %out: bf16):
      %93 = arith.mulf %in, %in_1 : bf16
      linalg.yield %93 : bf16
    } -> tensor<?x?x512xbf16>
    %94 = tensor.collapse_shape %92 [[0, 1], [2]] : tensor<?x?x512xbf16> into tensor<?x512xbf16>
    %95 = tensor.empty() : tensor<512x32768xbf16>
    %96 = linalg.transpose ins(%wkv_b : tensor<32768x512xbf16>) outs(%95 : tensor<512x32768xbf16>) permutation = [1, 0]
    %97 = tensor.empty(%0) : tensor<?x32768xf32>
    %98 = linalg.fill ins(%cst : f32) outs(%97 : tensor<?x32768xf32>) -> tensor<?x32768xf32>
    %99 = linalg.matmul ins(%94, %96 : tensor<?x512xbf16>, tensor<512x32768xbf16>) outs(%98 : tensor<?x32768xf32>) -> tensor<?x32768xf32>
    %100 = tensor.empty(%0) : tensor<?x32768xbf16>
    %101 = linalg.generic {
        indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel"]}
        ins(%99 : tensor<?x32768xf32>) outs(%100 : tensor<?x32768xbf16>) {
    ^bb0(%in: f32, %out: bf16):
      %102 = arith.truncf %in : f32 to bf16
      linalg.yield %102 : bf16
    } -> tensor<?x32768xbf16>
    %103 = tensor.expand_shape %101 [[0, 1], [2]] output_shape [%batch, %tokens, 32768] : tensor<?x32768xbf16> into tensor<?x?x32768xbf16>
    %104 = tensor.expand_shape %103 [[0], [1], [2, 3]] output_shape [%batch, %tokens, 128, 256] : tensor<?x?x32768xbf16> into tensor<?x?x128x256xbf16>
    %105 = tensor.empty(%batch, %tokens) : tensor<?x128x?x256xbf16>
    %106 = linalg.transpose ins(%104 : tensor<?x?x128x256xbf16>) outs(%105 : tensor<?x128x?x256xbf16>) permutation = [0, 2, 1, 3]
    %107 = tensor.extract_slice %106[0, 0, 0, 0] [%batch, 128, %tokens, 128] [1, 1, 1, 1] : tensor<?x128x?x256xbf16> to tensor<?x128x?x128xbf16>
    %108 = tensor.extract_slice %106[0, 0, 0, 128] [%batch, 128, %tokens, 128] [1, 1, 1, 1] : tensor<?x128x?x256xbf16> to tensor<?x128x?x128xbf16>
    %109 = tensor.expand_shape %65 [[0], [1, 2], [3]] output_shape [%batch, 1, %tokens, 64] : tensor<?x?x64xbf16> into tensor<?x1x?x64xbf16>
    // Rotary embedding of pairs, whose elements are moved apart first.
    %110 = tensor.expand_shape %cst_5 [[0, 1]] output_shape [32, 1] : tensor<32xf32> into tensor<32x1xf32>
    %111 = tensor.empty(%batch) : tensor<?x32x1xf32>
    %112 = linalg.broadcast ins(%110 : tensor<32x1xf32>) outs(%111 : tensor<?x32x1xf32>) dimensions = [0]
    %113 = tensor.empty(%batch, %tokens) : tensor<?x?xf32>
    %114 = linalg.generic {
        indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel"]}
        ins(%position_ids : tensor<?x?xi64>) outs(%113 : tensor<?x?xf32>) {
    ^bb0(%in: i64, %out: f32):
      %115 = arith.sitofp %in : i64 to f32
      linalg.yield %115 : f32
    } -> tensor<?x?xf32>
    %116 = tensor.expand_shape %114 [[0], [1, 2]] output_shape [%batch, 1, %tokens] : tensor<?x?xf32> into tensor<?x1x?xf32>
    %117 = tensor.empty(%batch, %tokens) : tensor<?x32x?xf32>
    %118 = linalg.fill ins(%cst : f32) outs(%117 : tensor<?x32x?xf32>) -> tensor<?x32x?xf32>
    %119 = linalg.batch_matmul ins(%112, %116 : tensor<?x32x1xf32>, tensor<?x1x?xf32>) outs(%118 : tensor<?x32x?xf32>) -> tensor<?x32x?xf32>
    %120 = tensor.empty(%batch, %tokens) : tensor<?x?x32xf32>
    %121 = linalg.transpose ins(%119 : tensor<?x32x?xf32>) outs(%120 : tensor<?x?x32xf32>) permutation = [0, 2, 1]
    %122 = tensor.concat dim(2) %121, %121 : (tensor<?x?x32xf32>, tensor<?x?x32xf32>) -> tensor<?x?x64xf32>
    %123 = tensor.empty(%batch, %tokens) : tensor<?x?x64xf32>
    %124 = linalg.generic {
        indexing_maps = [#map1, #map1], iterator_types = ["parallel", "parallel", "parallel"]}
        ins(%122 : tensor<?x?x64xf32>) outs(%123 : tensor<?x?x64xf32>) {
    ^bb0(%in: f32, %out: f32):
      %125 = math.cos %in : f32
      linalg.yield %125 : f32
    } -> tensor<?x?x64xf32>
    %126 = tensor.empty(%batch, %tokens) : tensor<?x?x64xf32>
    %127 = linalg.generic {
        indexing_maps = [#map1, #map1], iterator_types = ["parallel", "parallel", "parallel"]}
        ins(%122 : tensor<?x?x64xf32>) outs(%126 : tensor<?x?x64xf32>) {
    ^bb0(%in: f32, %out: f32):
      %128 = math.sin %in : f32
      linalg.yield %128 : f32
    } -> tensor<?x?x64xf32>
    %129 = tensor.empty(%batch, %tokens) : tensor<?x?x64xbf16>
    %130 = linalg.generic {
        indexing_maps = [#map1, #map1], iterator_types = ["parallel", "parallel", "parallel"]}
        ins(%124 : tensor<?x?x64xf32>) outs(%129 : tensor<?x?x64xbf16>) {
    ^bb0(%in: f32, %out: bf16):
      %131 = arith.truncf %in : f32 to bf16
      linalg.yield %131 : bf16
    } -> tensor<?x?x64xbf16>
    %132 = tensor.expand_shape %130 [[0], [1, 2], [3]] output_shape [%batch, 1, %tokens, 64] : tensor<?x?x64xbf16> into tensor<?x1x?x64xbf16>
    %133 = tensor.empty(%batch, %tokens) : tensor<?x?x64xbf16>
    %134 = linalg.generic {
        indexing_maps = [#map1, #map1], iterator_types = ["parallel", "parallel", "parallel"]}
        ins(%127 : tensor<?x?x64xf32>) outs(%133 : tensor<?x?x64xbf16>) {
    ^bb0(%in: f32, %out: bf16):
      %135 = arith.truncf %in : f32 to bf16
      linalg.yield %135 : bf16
    } -> tensor<?x?x64xbf16>
    %136 = tensor.expand_shape %134 [[0], [1, 2], [3]] output_shape [%batch, 1, %tokens, 64] : tensor<?x?x64xbf16> into tensor<?x1x?x64xbf16>
    %137 = tensor.expand_shape %53 [[0], [1], [2], [3, 4]] output_shape [%batch, 128, %tokens, 32, 2] : tensor<?x128x?x64xbf16> into tensor<?x128x?x32x2xbf16>
    %138 = tensor.empty(%batch, %tokens) : tensor<?x128x?x2x32xbf16>
    %139 = linalg.transpose ins(%137 : tensor<?x128x?x32x2xbf16>) outs(%138 : tensor<?x128x?x2x32xbf16>) permutation = [0, 1, 2, 4, 3]
    %140 = tensor.collapse_shape %139 [[0], [1], [2], [3, 4]] : tensor<?x128x?x2x32xbf16> into tensor<?x128x?x64xbf16>
    %141 = tensor.empty(%batch, %tokens) : tensor<?x128x?x64xbf16>
    %142 = linalg.generic {
        indexing_maps = [#map4, #map5, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
        ins(%140, %132 : tensor<?x128x?x64xbf16>, tensor<?x1x?x64xbf16>) outs(%141 : tensor<?x128x?x64xbf16>) {
    ^bb0(%in: bf16, %in_1: bf16, %out: bf16):
      %143 = arith.mulf %in, %in_1 : bf16
      linalg.yield %143 : bf16
    } -> tensor<?x128x?x64xbf16>
    %144 = tensor.extract_slice %140[0, 0, 0, 0] [%batch, 128, %tokens, 32] [1, 1, 1, 1] : tensor<?x128x?x64xbf16> to tensor<?x128x?x32xbf16>
    %145 = tensor.extract_slice %140[0, 0, 0, 32] [%batch, 128, %tokens, 32] [1, 1, 1, 1] : tensor<?x128x?x64xbf16> to tensor<?x128x?x32xbf16>
    %146 = tensor.empty(%batch, %tokens) : tensor<?x128x?x32xbf16>
    %147 = linalg.generic {
        indexing_maps = [#map4, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
        ins(%145 : tensor<?x128x?x32xbf16>) outs(%146 : tensor<?x128x?x32xbf16>) {
    ^bb0(%in: bf16, %out: bf16):
      %148 = arith.negf %in : bf16
      linalg.yield %148 : bf16
    } -> tensor<?x128x?x32xbf16>
    %149 = tensor.concat dim(3) %147, %144 : (tensor<?x128x?x32xbf16>, tensor<?x128x?x32xbf16>) -> tensor<?x128x?x64xbf16>
    %150 = tensor.empty(%batch, %tokens) : tensor<?x128x?x64xbf16>
    %151 = linalg.generic {
        indexing_maps = [#map4, #map5, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
        ins(%149, %136 : tensor<?x128x?x64xbf16>, tensor<?x1x?x64xbf16>) outs(%150 : tensor<?x128x?x64xbf16>) {
    ^bb0(%in: bf16, %in_1: bf16, %out: bf16):
      %152 = arith.mulf %in, %in_1 : bf16
      linalg.yield %152 : bf16
    } -> tensor<?x128x?x64xbf16>
    %153 = tensor.empty(%batch, %tokens) : tensor<?x128x?x64xbf16>
    %154 = linalg.generic {
        indexing_maps = [#map4, #map4, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
        ins(%142, %151 : tensor<?x128x?x64xbf16>, tensor<?x128x?x64xbf16>) outs(%153 : tensor<?x128x?x64xbf16>) {
    ^bb0(%in: bf16, %in_1: bf16, %out: bf16):
      %155 = arith.addf %in, %in_1 : bf16
      linalg.yield %155 : bf16
    } -> tensor<?x128x?x64xbf16>
    %156 = tensor.expand_shape %109 [[0], [1], [2], [3, 4]] output_shape [%batch, 1, %tokens, 32, 2] : tensor<?x1x?x64xbf16> into tensor<?x1x?x32x2xbf16>
    %157 = tensor.empty(%batch, %tokens) : tensor<?x1x?x2x32xbf16>
    %158 = linalg.transpose ins(%156 : tensor<?x1x?x32x2xbf16>) outs(%157 : tensor<?x1x?x2x32xbf16>) permutation = [0, 1, 2, 4, 3]
    %159 = tensor.collapse_shape %158 [[0], [1], [2], [3, 4]] : tensor<?x1x?x2x32xbf16> into tensor<?x1x?x64xbf16>
    %160 = tensor.empty(%batch, %tokens) : tensor<?x1x?x64xbf16>
    %161 = linalg.generic {
        indexing_maps = [#map5, #map5, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
        ins(%159, %132 : tensor<?x1x?x64xbf16>, tensor<?x1x?x64xbf16>) outs(%160 : tensor<?x1x?x64xbf16>) {
    ^bb0(%in: bf16, %in_1: bf16, %out: bf16):
      %162 = arith.mulf %in, %in_1 : bf16
      linalg.yield %162 : bf16
    } -> tensor<?x1x?x64xbf16>
    %163 = tensor.extract_slice %159[0, 0, 0, 0] [%batch, 1, %tokens, 32] [1, 1, 1, 1] : tensor<?x1x?x64xbf16> to tensor<?x1x?x32xbf16>
    %164 = tensor.extract_slice %159[0, 0, 0, 32] [%batch, 1, %tokens, 32] [1, 1, 1, 1] : tensor<?x1x?x64xbf16> to tensor<?x1x?x32xbf16>
    %165 = tensor.empty(%batch, %tokens) : tensor<?x1x?x32xbf16>
    %166 = linalg.generic {
        indexing_maps = [#map5, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
        ins(%164 : tensor<?x1x?x32xbf16>) outs(%165 : tensor<?x1x?x32xbf16>) {
    ^bb0(%in: bf16, %out: bf16):
      %167 = arith.negf %in : bf16
      linalg.yield %167 : bf16
    } -> tensor<?x1x?x32xbf16>
    %168 = tensor.concat dim(3) %166, %163 : (tensor<?x1x?x32xbf16>, tensor<?x1x?x32xbf16>) -> tensor<?x1x?x64xbf16>
    %169 = tensor.empty(%batch, %tokens) : tensor<?x1x?x64xbf16>
    %170 = linalg.generic {
        indexing_maps = [#map5, #map5, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
        ins(%168, %136 : tensor<?x1x?x64xbf16>, tensor<?x1x?x64xbf16>) outs(%169 : tensor<?x1x?x64xbf16>) {
    ^bb0(%in: bf16, %in_1: bf16, %out: bf16):
      %171 = arith.mulf %in, %in_1 : bf16
      linalg.yield %171 : bf16
    } -> tensor<?x1x?x64xbf16>
    %172 = tensor.empty(%batch, %tokens) : tensor<?x1x?x64xbf16>
    %173 = linalg.generic {
        indexing_maps = [#map5, #map5, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
        ins(%161, %170 : tensor<?x1x?x64xbf16>, tensor<?x1x?x64xbf16>) outs(%172 : tensor<?x1x?x64xbf16>) {
    ^bb0(%in: bf16, %in_1: bf16, %out: bf16):
      %174 = arith.addf %in, %in_1 : bf16
      linalg.yield %174 : bf16
    } -> tensor<?x1x?x64xbf16>
    // Queries and keys of full width; the rotary part of the keys is every head's.
    %175 = tensor.concat dim(3) %52, %154 : (tensor<?x128x?x128xbf16>, tensor<?x128x?x64xbf16>) -> tensor<?x128x?x192xbf16>
    %176 = tensor.empty(%batch, %tokens) : tensor<?x128x?x64xbf16>
    %177 = linalg.generic {
        indexing_maps = [#map5, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
        ins(%173 : tensor<?x1x?x64xbf16>) outs(%176 : tensor<?x128x?x64xbf16>) {
    ^bb0(%in: bf16, %out: bf16):
      linalg.yield %in : bf16
    } -> tensor<?x128x?x64xbf16>
    %178 = tensor.concat dim(3) %107, %177 : (tensor<?x128x?x128xbf16>, tensor<?x128x?x64xbf16>) -> tensor<?x128x?x192xbf16>
    // The cache.
    // Attention.
    %179 = tensor.empty(%batch, %tokens) : tensor<?x128x192x?xbf16>
    %180 = linalg.transpose ins(%178 : tensor<?x128x?x192xbf16>) outs(%179 : tensor<?x128x192x?xbf16>) permutation = [0, 1, 3, 2]
    %181 = arith.muli %batch, %c128 : index
    %182 = tensor.collapse_shape %175 [[0, 1], [2], [3]] : tensor<?x128x?x192xbf16> into tensor<?x?x192xbf16>
    %183 = tensor.collapse_shape %180 [[0, 1], [2], [3]] : tensor<?x128x192x?xbf16> into tensor<?x192x?xbf16>
    %184 = tensor.empty(%181, %tokens, %tokens) : tensor<?x?x?xf32>
    %185 = linalg.fill ins(%cst : f32) outs(%184 : tensor<?x?x?xf32>) -> tensor<?x?x?xf32>
    %186 = linalg.batch_matmul ins(%182, %183 : tensor<?x?x192xbf16>, tensor<?x192x?xbf16>) outs(%185 : tensor<?x?x?xf32>) -> tensor<?x?x?xf32>
    %187 = tensor.empty(%181, %tokens, %tokens) : tensor<?x?x?xbf16>
    %188 = linalg.generic {
        indexing_maps = [#map1, #map1], iterator_types = ["parallel", "parallel", "parallel"]}
        ins(%186 : tensor<?x?x?xf32>) outs(%187 : tensor<?x?x?xbf16>) {
    ^bb0(%in: f32, %out: bf16):
      %189 = arith.truncf %in : f32 to bf16
      linalg.yield %189 : bf16
    } -> tensor<?x?x?xbf16>
    %190 = tensor.expand_shape %188 [[0, 1], [2], [3]] output_shape [%batch, 128, %tokens, %tokens] : tensor<?x?x?xbf16> into tensor<?x128x?x?xbf16>
    %191 = tensor.empty(%batch, %tokens, %tokens) : tensor<?x128x?x?xbf16>
    %192 = linalg.generic {
        indexing_maps = [#map4, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
        ins(%190 : tensor<?x128x?x?xbf16>) outs(%191 : tensor<?x128x?x?xbf16>) {
    ^bb0(%in: bf16, %out: bf16):
      %193 = arith.extf %in : bf16 to f32
      %194 = arith.mulf %193, %cst_6 : f32
      %195 = arith.truncf %194 : f32 to bf16
      linalg.yield %195 : bf16
    } -> tensor<?x128x?x?xbf16>
    %196 = tensor.empty(%tokens, %tokens) : tensor<1x1x?x?xbf16>
    %197 = linalg.generic {
        indexing_maps = [#map4], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
        outs(%196 : tensor<1x1x?x?xbf16>) {
    ^bb0(%out: bf16):
      %198 = linalg.index 2 : index
      %199 = arith.addi %198, %c0 : index
      %200 = linalg.index 3 : index
      %201 = arith.cmpi sge, %199, %200 : index
      %202 = arith.select %201, %cst_7, %cst_8 : bf16
      linalg.yield %202 : bf16
    } -> tensor<1x1x?x?xbf16>
    %203 = tensor.empty(%batch, %tokens, %tokens) : tensor<?x128x?x?xbf16>
    %204 = linalg.generic {
        indexing_maps = [#map4, #map6, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
        ins(%192, %197 : tensor<?x128x?x?xbf16>, tensor<1x1x?x?xbf16>) outs(%203 : tensor<?x128x?x?xbf16>) {
    ^bb0(%in: bf16, %in_1: bf16, %out: bf16):
      %205 = arith.addf %in, %in_1 : bf16
      linalg.yield %205 : bf16
    } -> tensor<?x128x?x?xbf16>
    %206 = tensor.empty(%batch, %tokens, %tokens) : tensor<?x128x?x?xf32>
    %207 = linalg.generic {
        indexing_maps = [#map4, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
        ins(%204 : tensor<?x128x?x?xbf16>) outs(%206 : tensor<?x128x?x?xf32>) {
    ^bb0(%in: bf16, %out: f32):
      %208 = arith.extf %in : bf16 to f32
      linalg.yield %208 : f32
    } -> tensor<?x128x?x?xf32>
    %209 = tensor.empty(%batch, %tokens) : tensor<?x128x?x1xf32>
    %210 = linalg.fill ins(%cst_9 : f32) outs(%209 : tensor<?x128x?x1xf32>) -> tensor<?x128x?x1xf32>
    %211 = linalg.generic {
        indexing_maps = [#map4, #map7], iterator_types = ["parallel", "parallel", "parallel", "reduction"]}
        ins(%207 : tensor<?x128x?x?xf32>) outs(%210 : tensor<?x128x?x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      %212 = arith.maximumf %in, %out : f32
      linalg.yield %212 : f32
    } -> tensor<?x128x?x1xf32>
    %213 = tensor.empty(%batch, %tokens, %tokens) : tensor<?x128x?x?xf32>
    %214 = linalg.generic {
        indexing_maps = [#map4, #map7, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
        ins(%207, %211 : tensor<?x128x?x?xf32>, tensor<?x128x?x1xf32>) outs(%213 : tensor<?x128x?x?xf32>) {
    ^bb0(%in: f32, %in_1: f32, %out: f32):
      %215 = arith.subf %in, %in_1 : f32
      linalg.yield %215 : f32
    } -> tensor<?x128x?x?xf32>
    %216 = tensor.empty(%batch, %tokens, %tokens) : tensor<?x128x?x?xf32>
    %217 = linalg.generic {
        indexing_maps = [#map4, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
        ins(%214 : tensor<?x128x?x?xf32>) outs(%216 : tensor<?x128x?x?xf32>) {
    ^bb0(%in: f32, %out: f32):
      %218 = math.exp %in : f32
      linalg.yield %218 : f32
    } -> tensor<?x128x?x?xf32>
    %219 = tensor.empty(%batch, %tokens) : tensor<?x128x?x1xf32>
    %220 = linalg.fill ins(%cst : f32) outs(%219 : tensor<?x128x?x1xf32>) -> tensor<?x128x?x1xf32>
    %221 = linalg.generic {
        indexing_maps = [#map4, #map7], iterator_types = ["parallel", "parallel", "parallel", "reduction"]}
        ins(%217 : tensor<?x128x?x?xf32>) outs(%220 : tensor<?x128x?x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      %222 = arith.addf %in, %out : f32
      linalg.yield %222 : f32
    } -> tensor<?x128x?x1xf32>
    %223 = tensor.empty(%batch, %tokens, %tokens) : tensor<?x128x?x?xf32>
    %224 = linalg.generic {
        indexing_maps = [#map4, #map7, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
        ins(%217, %221 : tensor<?x128x?x?xf32>, tensor<?x128x?x1xf32>) outs(%223 : tensor<?x128x?x?xf32>) {
    ^bb0(%in: f32, %in_1: f32, %out: f32):
      %225 = arith.divf %in, %in_1 : f32
      linalg.yield %225 : f32
    } -> tensor<?x128x?x?xf32>
    %226 = tensor.empty(%batch, %tokens, %tokens) : tensor<?x128x?x?xbf16>
    %227 = linalg.generic {
        indexing_maps = [#map4, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
        ins(%224 : tensor<?x128x?x?xf32>) outs(%226 : tensor<?x128x?x?xbf16>) {
    ^bb0(%in: f32, %out: bf16):
      %228 = arith.truncf %in : f32 to bf16
      linalg.yield %228 : bf16
    } -> tensor<?x128x?x?xbf16>
    %229 = tensor.collapse_shape %227 [[0, 1], [2], [3]] : tensor<?x128x?x?xbf16> into tensor<?x?x?xbf16>
    %230 = tensor.collapse_shape %108 [[0, 1], [2], [3]] : tensor<?x128x?x128xbf16> into tensor<?x?x128xbf16>
    %231 = tensor.empty(%181, %tokens) : tensor<?x?x128xf32>
    %232 = linalg.fill ins(%cst : f32) outs(%231 : tensor<?x?x128xf32>) -> tensor<?x?x128xf32>
    %233 = linalg.batch_matmul ins(%229, %230 : tensor<?x?x?xbf16>, tensor<?x?x128xbf16>) outs(%232 : tensor<?x?x128xf32>) -> tensor<?x?x128xf32>
    %234 = tensor.empty(%181, %tokens) : tensor<?x?x128xbf16>
    %235 = linalg.generic {
        indexing_maps = [#map1, #map1], iterator_types = ["parallel", "parallel", "parallel"]}
        ins(%233 : tensor<?x?x128xf32>) outs(%234 : tensor<?x?x128xbf16>) {
    ^bb0(%in: f32, %out: bf16):
      %236 = arith.truncf %in : f32 to bf16
      linalg.yield %236 : bf16
    } -> tensor<?x?x128xbf16>
    %237 = tensor.expand_shape %235 [[0, 1], [2], [3]] output_shape [%batch, 128, %tokens, 128] : tensor<?x?x128xbf16> into tensor<?x128x?x128xbf16>
    %238 = tensor.empty(%batch, %tokens) : tensor<?x?x128x128xbf16>
    %239 = linalg.transpose ins(%237 : tensor<?x128x?x128xbf16>) outs(%238 : tensor<?x?x128x128xbf16>) permutation = [0, 2, 1, 3]
    %240 = tensor.collapse_shape %239 [[0], [1], [2, 3]] : tensor<?x?x128x128xbf16> into tensor<?x?x16384xbf16>
    %241 = tensor.collapse_shape %240 [[0, 1], [2]] : tensor<?x?x16384xbf16> into tensor<?x16384xbf16>
    %242 = tensor.empty() : tensor<16384x7168xbf16>
    %243 = linalg.transpose ins(%wo : tensor<7168x16384xbf16>) outs(%242 : tensor<16384x7168xbf16>) permutation = [1, 0]
    %244 = tensor.empty(%0) : tensor<?x7168xf32>
    %245 = linalg.fill ins(%cst : f32) outs(%244 : tensor<?x7168xf32>) -> tensor<?x7168xf32>
    %246 = linalg.matmul ins(%241, %243 : tensor<?x16384xbf16>, tensor<16384x7168xbf16>) outs(%245 : tensor<?x7168xf32>) -> tensor<?x7168xf32>
    %247 = tensor.empty(%0) : tensor<?x7168xbf16>
    %248 = linalg.generic {
        indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel"]}
        ins(%246 : tensor<?x7168xf32>) outs(%247 : tensor<?x7168xbf16>) {
    ^bb0(%in: f32, %out: bf16):
      %249 = arith.truncf %in : f32 to bf16
      linalg.yield %249 : bf16
    } -> tensor<?x7168xbf16>
    %250 = tensor.expand_shape %248 [[0, 1], [2]] output_shape [%batch, %tokens, 7168] : tensor<?x7168xbf16> into tensor<?x?x7168xbf16>
    return %250, %178, %108 : tensor<?x?x7168xbf16>, tensor<?x128x?x192xbf16>, tensor<?x128x?x128xbf16>
  }

  func.func @decode(%x: tensor<?x1x7168xbf16>,
                    %position_ids: tensor<?x1xi64> {kvc.positions},
                    %past_k: tensor<?x128x?x192xbf16> {kvc.cache = "k"},
                    %past_v: tensor<?x128x?x128xbf16> {kvc.cache = "v"},
                    %wq_a: tensor<1536x7168xbf16>,
                    %q_a_norm: tensor<1536xbf16>,
                    %wq_b: tensor<24576x1536xbf16>,
                    %wkv_a: tensor<576x7168xbf16>,
                    %kv_a_norm: tensor<512xbf16>,
                    %wkv_b: tensor<32768x512xbf16>,
                    %wo: tensor<7168x16384xbf16>)
      -> (tensor<?x1x7168xbf16>,
          tensor<?x128x?x192xbf16> {kvc.cache = "k"},
          tensor<?x128x?x128xbf16> {kvc.cache = "v"}) {
    %c0 = arith.constant 0 : index
    %c2 = arith.constant 2 : index
    %cst = arith.constant 0.0 : f32
    %cst_1 = arith.constant 2.0 : f32
    %cst_2 = arith.constant 1536.0 : f32
    %cst_3 = arith.constant 1.0e-06 : f32
    %cst_4 = arith.constant 512.0 : f32
    %cst_5 = arith.constant dense<[1.0, 0.749894209, 0.562341325, 0.421696503, 0.316227766,
        0.237137371, 0.177827941, 0.133352143, 0.1, 0.0749894209, 0.0562341325, 0.0390069266,
        0.0268793601, 0.0183781462, 0.0124479559, 0.00833450895, 0.0055, 0.00356199749,
        0.0022493653, 0.00137051364, 0.000790569415, 0.000414990398, 0.000177827941, 3.33380358e-05,
        2.5e-05, 1.87473552e-05, 1.40585331e-05, 1.05424126e-05, 7.90569415e-06, 5.92843426e-06,
        4.44569853e-06, 3.33380358e-06]> : tensor<32xf32>
    %c1 = arith.constant 1 : index
    %c128 = arith.constant 128 : index
    %cst_6 = arith.constant 0.135233779 : f32
    %cst_7 = arith.constant 0.0 : bf16
    %cst_8 = arith.constant -3.38953139e+38 : bf16
    %cst_9 = arith.constant 0xFF800000 : f32
    %batch = tensor.dim %x, %c0 : tensor<?x1x7168xbf16>
    %past = tensor.dim %past_k, %c2 : tensor<?x128x?x192xbf16>
    // Queries, without and with rotary embedding.
    %0 = tensor.collapse_shape %x [[0, 1], [2]] : tensor<?x1x7168xbf16> into tensor<?x7168xbf16>
    %1 = tensor.empty() : tensor<7168x1536xbf16>
    %2 = linalg.transpose ins(%wq_a : tensor<1536x7168xbf16>) outs(%1 : tensor<7168x1536xbf16>) permutation = [1, 0]
    %3 = tensor.empty(%batch) : tensor<?x1536xf32>
    %4 = linalg.fill ins(%cst : f32) outs(%3 : tensor<?x1536xf32>) -> tensor<?x1536xf32>
    %5 = linalg.matmul ins(%0, %2 : tensor<?x7168xbf16>, tensor<7168x1536xbf16>) outs(%4 : tensor<?x1536xf32>) -> tensor<?x1536xf32>
    %6 = tensor.empty(%batch) : tensor<?x1536xbf16>
    %7 = linalg.generic {
        indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel"]}
        ins(%5 : tensor<?x1536xf32>) outs(%6 : tensor<?x1536xbf16>) {
    ^bb0(%in: f32, %out: bf16):
      %8 = arith.truncf %in : f32 to bf16
      linalg.yield %8 : bf16
    } -> tensor<?x1536xbf16>
    %9 = tensor.expand_shape %7 [[0, 1], [2]] output_shape [%batch, 1, 1536] : tensor<?x1536xbf16> into tensor<?x1x1536xbf16>
    %10 = tensor.empty(%batch) : tensor<?x1x1536xf32>
    %11 = linalg.generic {
        indexing_maps = [#map8, #map1], iterator_types = ["parallel", "parallel", "parallel"]}
        ins(%9 : tensor<?x1x1536xbf16>) outs(%10 : tensor<?x1x1536xf32>) {
    ^bb0(%in: bf16, %out: f32):
      %12 = arith.extf %in : bf16 to f32
      linalg.yield %12 : f32
    } -> tensor<?x1x1536xf32>
    %13 = tensor.empty(%batch) : tensor<?x1x1536xf32>
    %14 = linalg.generic {
        indexing_maps = [#map8, #map1], iterator_types = ["parallel", "parallel", "parallel"]}
        ins(%11 : tensor<?x1x1536xf32>) outs(%13 : tensor<?x1x1536xf32>) {
    ^bb0(%in: f32, %out: f32):
      %15 = math.powf %in, %cst_1 : f32
      linalg.yield %15 : f32
    } -> tensor<?x1x1536xf32>
    %16 = tensor.empty(%batch) : tensor<?x1x1xf32>
    %17 = linalg.fill ins(%cst : f32) outs(%16 : tensor<?x1x1xf32>) -> tensor<?x1x1xf32>
    %18 = linalg.generic {
        indexing_maps = [#map1, #map2], iterator_types = ["parallel", "parallel", "reduction"]}
        ins(%14 : tensor<?x1x1536xf32>) outs(%17 : tensor<?x1x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      %19 = arith.addf %in, %out : f32
      linalg.yield %19 : f32
    } -> tensor<?x1x1xf32>
    %20 = tensor.empty(%batch) : tensor<?x1x1xf32>
    %21 = linalg.generic {
        indexing_maps = [#map9, #map1], iterator_types = ["parallel", "parallel", "parallel"]}
        ins(%18 : tensor<?x1x1xf32>) outs(%20 : tensor<?x1x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      %22 = arith.divf %in, %cst_2 : f32
      linalg.yield %22 : f32
    } -> tensor<?x1x1xf32>
    %23 = tensor.empty(%batch) : tensor<?x1x1xf32>
    %24 = linalg.generic {
        indexing_maps = [#map9, #map1], iterator_types = ["parallel", "parallel", "parallel"]}
        ins(%21 : tensor<?x1x1xf32>) outs(%23 : tensor<?x1x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      %25 = arith.addf %in, %cst_3 : f32
      linalg.yield %25 : f32
    } -> tensor<?x1x1xf32>
    %26 = tensor.empty(%batch) : tensor<?x1x1xf32>
    %27 = linalg.generic {
        indexing_maps = [#map9, #map1], iterator_types = ["parallel", "parallel", "parallel"]}
        ins(%24 : tensor<?x1x1xf32>) outs(%26 : tensor<?x1x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      %28 = math.rsqrt %in : f32
      linalg.yield %28 : f32
    } -> tensor<?x1x1xf32>
    %29 = tensor.empty(%batch) : tensor<?x1x1536xf32>
    %30 = linalg.generic {
        indexing_maps = [#map8, #map9, #map1], iterator_types = ["parallel", "parallel", "parallel"]}
        ins(%11, %27 : tensor<?x1x1536xf32>, tensor<?x1x1xf32>) outs(%29 : tensor<?x1x1536xf32>) {
    ^bb0(%in: f32, %in_1: f32, %out: f32):
      %31 = arith.mulf %in, %in_1 : f32
      linalg.yield %31 : f32
    } -> tensor<?x1x1536xf32>
    %32 = tensor.empty(%batch) : tensor<?x1x1536xbf16>
    %33 = linalg.generic {
        indexing_maps = [#map8, #map1], iterator_types = ["parallel", "parallel", "parallel"]}
        ins(%30 : tensor<?x1x1536xf32>) outs(%32 : tensor<?x1x1536xbf16>) {
    ^bb0(%in: f32, %out: bf16):
      %34 = arith.truncf %in : f32 to bf16
      linalg.yield %34 : bf16
    } -> tensor<?x1x1536xbf16>
    %35 = tensor.empty(%batch) : tensor<?x1x1536xbf16>
    %36 = linalg.generic {
        indexing_maps = [#map3, #map8, #map1], iterator_types = ["parallel", "parallel", "parallel"]}
        ins(%q_a_norm, %33 : tensor<1536xbf16>, tensor<?x1x1536xbf16>) outs(%35 : tensor<?x1x1536xbf16>) {
    ^bb0(%in: bf16, %in_1: bf16, %out: bf16):
      %37 = arith.mulf %in, %in_1 : bf16
      linalg.yield %37 : bf16
    } -> tensor<?x1x1536xbf16>
    %38 = tensor.collapse_shape %36 [[0, 1], [2]] : tensor<?x1x1536xbf16> into tensor<?x1536xbf16>
    %39 = tensor.empty() : tensor<1536x24576xbf16>
    %40 = linalg.transpose ins(%wq_b : tensor<24576x1536xbf16>) outs(%39 : tensor<1536x24576xbf16>) permutation = [1, 0]
    %41 = tensor.empty(%batch) : tensor<?x24576xf32>
    %42 = linalg.fill ins(%cst : f32) outs(%41 : tensor<?x24576xf32>) -> tensor<?x24576xf32>
    %43 = linalg.matmul ins(%38, %40 : tensor<?x1536xbf16>, tensor<1536x24576xbf16>) outs(%42 : tensor<?x24576xf32>) -> tensor<?x24576xf32>
    %44 = tensor.empty(%batch) : tensor<?x24576xbf16>
    %45 = linalg.generic {
        indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel"]}
        ins(%43 : tensor<?x24576xf32>) outs(%44 : tensor<?x24576xbf16>) {
    ^bb0(%in: f32, %out: bf16):
      %46 = arith.truncf %in : f32 to bf16
      linalg.yield %46 : bf16
    } -> tensor<?x24576xbf16>
    %47 = tensor.expand_shape %45 [[0, 1], [2]] output_shape [%batch, 1, 24576] : tensor<?x24576xbf16> into tensor<?x1x24576xbf16>
    %48 = tensor.expand_shape %47 [[0], [1], [2, 3]] output_shape [%batch, 1, 128, 192] : tensor<?x1x24576xbf16> into tensor<?x1x128x192xbf16>
    %49 = tensor.empty(%batch) : tensor<?x128x1x192xbf16>
    %50 = linalg.transpose ins(%48 : tensor<?x1x128x192xbf16>) outs(%49 : tensor<?x128x1x192xbf16>) permutation = [0, 2, 1, 3]
    %51 = tensor.extract_slice %50[0, 0, 0, 0] [%batch, 128, 1, 128] [1, 1, 1, 1] : tensor<?x128x1x192xbf16> to tensor<?x128x1x128xbf16>
    %52 = tensor.extract_slice %50[0, 0, 0, 128] [%batch, 128, 1, 64] [1, 1, 1, 1] : tensor<?x128x1x192xbf16> to tensor<?x128x1x64xbf16>
    // The latent row and the rotary part of the keys, then keys and values of it.
    %53 = tensor.collapse_shape %x [[0, 1], [2]] : tensor<?x1x7168xbf16> into tensor<?x7168xbf16>
    %54 = tensor.empty() : tensor<7168x576xbf16>
    %55 = linalg.transpose ins(%wkv_a : tensor<576x7168xbf16>) outs(%54 : tensor<7168x576xbf16>) permutation = [1, 0]
    %56 = tensor.empty(%batch) : tensor<?x576xf32>
    %57 = linalg.fill ins(%cst : f32) outs(%56 : tensor<?x576xf32>) -> tensor<?x576xf32>
    %58 = linalg.matmul ins(%53, %55 : tensor<?x7168xbf16>, tensor<7168x576xbf16>) outs(%57 : tensor<?x576xf32>) -> tensor<?x576xf32>
    %59 = tensor.empty(%batch) : tensor<?x576xbf16>
    %60 = linalg.generic {
        indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel"]}
        ins(%58 : tensor<?x576xf32>) outs(%59 : tensor<?x576xbf16>) {
    ^bb0(%in: f32, %out: bf16):
      %61 = arith.truncf %in : f32 to bf16
      linalg.yield %61 : bf16
    } -> tensor<?x576xbf16>
    %62 = tensor.expand_shape %60 [[0, 1], [2]] output_shape [%batch, 1, 576] : tensor<?x576xbf16> into tensor<?x1x576xbf16>
    %63 = tensor.extract_slice %62[0, 0, 0] [%batch, 1, 512] [1, 1, 1] : tensor<?x1x576xbf16> to tensor<?x1x512xbf16>
    %64 = tensor.extract_slice %62[0, 0, 512] [%batch, 1, 64] [1, 1, 1] : tensor<?x1x576xbf16> to tensor<?x1x64xbf16>
    %65 = tensor.empty(%batch) : tensor<?x1x512xf32>
    %66 = linalg.generic {
        indexing_maps = [#map8, #map1], iterator_types = ["parallel", "parallel", "parallel"]}
        ins(%63 : tensor<?x1x512xbf16>) outs(%65 : tensor<?x1x512xf32>) {
    ^bb0(%in: bf16, %out: f32):
      %67 = arith.extf %in : bf16 to f32
      linalg.yield %67 : f32
    } -> tensor<?x1x512xf32>
    %68 = tensor.empty(%batch) : tensor<?x1x512xf32>
    %69 = linalg.generic {
        indexing_maps = [#map8, #map1], iterator_types = ["parallel", "parallel", "parallel"]}
        ins(%66 : tensor<?x1x512xf32>) outs(%68 : tensor<?x1x512xf32>) {
    ^bb0(%in: f32, %out: f32):
      %70 = math.powf %in, %cst_1 : f32
      linalg.yield %70 : f32
    } -> tensor<?x1x512xf32>
    %71 = tensor.empty(%batch) : tensor<?x1x1xf32>
    %72 = linalg.fill ins(%cst : f32) outs(%71 : tensor<?x1x1xf32>) -> tensor<?x1x1xf32>
    %73 = linalg.generic {
        indexing_maps = [#map1, #map2], iterator_types = ["parallel", "parallel", "reduction"]}
        ins(%69 : tensor<?x1x512xf32>) outs(%72 : tensor<?x1x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      %74 = arith.addf %in, %out : f32
      linalg.yield %74 : f32
    } -> tensor<?x1x1xf32>
    %75 = tensor.empty(%batch) : tensor<?x1x1xf32>
    %76 = linalg.generic {
        indexing_maps = [#map9, #map1], iterator_types = ["parallel", "parallel", "parallel"]}
        ins(%73 : tensor<?x1x1xf32>) outs(%75 : tensor<?x1x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      %77 = arith.divf %in, %cst_4 : f32
      linalg.yield %77 : f32
    } -> tensor<?x1x1xf32>
    %78 = tensor.empty(%batch) : tensor<?x1x1xf32>
    %79 = linalg.generic {
        indexing_maps = [#map9, #map1], iterator_types = ["parallel", "parallel", "parallel"]}
        ins(%76 : tensor<?x1x1xf32>) outs(%78 : tensor<?x1x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      %80 = arith.addf %in, %cst_3 : f32
      linalg.yield %80 : f32
    } -> tensor<?x1x1xf32>
    %81 = tensor.empty(%batch) : tensor<?x1x1xf32>
    %82 = linalg.generic {
        indexing_maps = [#map9, #map1], iterator_types = ["parallel", "parallel", "parallel"]}
        ins(%79 : tensor<?x1x1xf32>) outs(%81 : tensor<?x1x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      %83 = math.rsqrt %in : f32
      linalg.yield %83 : f32
    } -> tensor<?x1x1xf32>
    %84 = tensor.empty(%batch) : tensor<?x1x512xf32>
    %85 = linalg.generic {
        indexing_maps = [#map8, #map9, #map1], iterator_types = ["parallel", "parallel", "parallel"]}
        ins(%66, %82 : tensor<?x1x512xf32>, tensor<?x1x1xf32>) outs(%84 : tensor<?x1x512xf32>) {
    ^bb0(%in: f32, %in_1: f32, %out: f32):
      %86 = arith.mulf %in, %in_1 : f32
      linalg.yield %86 : f32
    } -> tensor<?x1x512xf32>
    %87 = tensor.empty(%batch) : tensor<?x1x512xbf16>
    %88 = linalg.generic {
        indexing_maps = [#map8, #map1], iterator_types = ["parallel", "parallel", "parallel"]}
        ins(%85 : tensor<?x1x512xf32>) outs(%87 : tensor<?x1x512xbf16>) {
    ^bb0(%in: f32, %out: bf16):
      %89 = arith.truncf %in : f32 to bf16
      linalg.yield %89 : bf16
    } -> tensor<?x1x512xbf16>
    %90 = tensor.empty(%batch) : tensor<?x1x512xbf16>
    %91 = linalg.generic {
        indexing_maps = [#map3, #map8, #map1], iterator_types = ["parallel", "parallel", "parallel"]}
        ins(%kv_a_norm, %88 : tensor<512xbf16>, tensor<?x1x512xbf16>) outs(%90 : tensor<?x1x512xbf16>) {
    ^bb0(%in: bf16, %in_1: bf16, %out: bf16):
      %92 = arith.mulf %in, %in_1 : bf16
      linalg.yield %92 : bf16
    } -> tensor<?x1x512xbf16>
    %93 = tensor.collapse_shape %91 [[0, 1], [2]] : tensor<?x1x512xbf16> into tensor<?x512xbf16>
    %94 = tensor.empty() : tensor<512x32768xbf16>
    %95 = linalg.transpose ins(%wkv_b : tensor<32768x512xbf16>) outs(%94 : tensor<512x32768xbf16>) permutation = [1, 0]
    %96 = tensor.empty(%batch) : tensor<?x32768xf32>
    %97 = linalg.fill ins(%cst : f32) outs(%96 : tensor<?x32768xf32>) -> tensor<?x32768xf32>
    %98 = linalg.matmul ins(%93, %95 : tensor<?x512xbf16>, tensor<512x32768xbf16>) outs(%97 : tensor<?x32768xf32>) -> tensor<?x32768xf32>
    %99 = tensor.empty(%batch) : tensor<?x32768xbf16>
    %100 = linalg.generic {
        indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel"]}
        ins(%98 : tensor<?x32768xf32>) outs(%99 : tensor<?x32768xbf16>) {
    ^bb0(%in: f32, %out: bf16):
      %101 = arith.truncf %in : f32 to bf16
      linalg.yield %101 : bf16
    } -> tensor<?x32768xbf16>
    %102 = tensor.expand_shape %100 [[0, 1], [2]] output_shape [%batch, 1, 32768] : tensor<?x32768xbf16> into tensor<?x1x32768xbf16>
    %103 = tensor.expand_shape %102 [[0], [1], [2, 3]] output_shape [%batch, 1, 128, 256] : tensor<?x1x32768xbf16> into tensor<?x1x128x256xbf16>
    %104 = tensor.empty(%batch) : tensor<?x128x1x256xbf16>
    %105 = linalg.transpose ins(%103 : tensor<?x1x128x256xbf16>) outs(%104 : tensor<?x128x1x256xbf16>) permutation = [0, 2, 1, 3]
    %106 = tensor.extract_slice %105[0, 0, 0, 0] [%batch, 128, 1, 128] [1, 1, 1, 1] : tensor<?x128x1x256xbf16> to tensor<?x128x1x128xbf16>
    %107 = tensor.extract_slice %105[0, 0, 0, 128] [%batch, 128, 1, 128] [1, 1, 1, 1] : tensor<?x128x1x256xbf16> to tensor<?x128x1x128xbf16>
    %108 = tensor.expand_shape %64 [[0], [1, 2], [3]] output_shape [%batch, 1, 1, 64] : tensor<?x1x64xbf16> into tensor<?x1x1x64xbf16>
    // Rotary embedding of pairs, whose elements are moved apart first.
    %109 = tensor.expand_shape %cst_5 [[0, 1]] output_shape [32, 1] : tensor<32xf32> into tensor<32x1xf32>
    %110 = tensor.empty(%batch) : tensor<?x32x1xf32>
    %111 = linalg.broadcast ins(%109 : tensor<32x1xf32>) outs(%110 : tensor<?x32x1xf32>) dimensions = [0]
    %112 = tensor.empty(%batch) : tensor<?x1xf32>
    %113 = linalg.generic {
        indexing_maps = [#map10, #map], iterator_types = ["parallel", "parallel"]}
        ins(%position_ids : tensor<?x1xi64>) outs(%112 : tensor<?x1xf32>) {
    ^bb0(%in: i64, %out: f32):
      %114 = arith.sitofp %in : i64 to f32
      linalg.yield %114 : f32
    } -> tensor<?x1xf32>
    %115 = tensor.expand_shape %113 [[0], [1, 2]] output_shape [%batch, 1, 1] : tensor<?x1xf32> into tensor<?x1x1xf32>
    %116 = tensor.empty(%batch) : tensor<?x32x1xf32>
    %117 = linalg.fill ins(%cst : f32) outs(%116 : tensor<?x32x1xf32>) -> tensor<?x32x1xf32>
    %118 = linalg.batch_matmul ins(%111, %115 : tensor<?x32x1xf32>, tensor<?x1x1xf32>) outs(%117 : tensor<?x32x1xf32>) -> tensor<?x32x1xf32>
    %119 = tensor.empty(%batch) : tensor<?x1x32xf32>
    %120 = linalg.transpose ins(%118 : tensor<?x32x1xf32>) outs(%119 : tensor<?x1x32xf32>) permutation = [0, 2, 1]
    %121 = tensor.concat dim(2) %120, %120 : (tensor<?x1x32xf32>, tensor<?x1x32xf32>) -> tensor<?x1x64xf32>
    %122 = tensor.empty(%batch) : tensor<?x1x64xf32>
    %123 = linalg.generic {
        indexing_maps = [#map8, #map1], iterator_types = ["parallel", "parallel", "parallel"]}
        ins(%121 : tensor<?x1x64xf32>) outs(%122 : tensor<?x1x64xf32>) {
    ^bb0(%in: f32, %out: f32):
      %124 = math.cos %in : f32
      linalg.yield %124 : f32
    } -> tensor<?x1x64xf32>
    %125 = tensor.empty(%batch) : tensor<?x1x64xf32>
    %126 = linalg.generic {
        indexing_maps = [#map8, #map1], iterator_types = ["parallel", "parallel", "parallel"]}
        ins(%121 : tensor<?x1x64xf32>) outs(%125 : tensor<?x1x64xf32>) {
    ^bb0(%in: f32, %out: f32):
      %127 = math.sin %in : f32
      linalg.yield %127 : f32
    } -> tensor<?x1x64xf32>
    %128 = tensor.empty(%batch) : tensor<?x1x64xbf16>
    %129 = linalg.generic {
        indexing_maps = [#map8, #map1], iterator_types = ["parallel", "parallel", "parallel"]}
        ins(%123 : tensor<?x1x64xf32>) outs(%128 : tensor<?x1x64xbf16>) {
    ^bb0(%in: f32, %out: bf16):
      %130 = arith.truncf %in : f32 to bf16
      linalg.yield %130 : bf16
    } -> tensor<?x1x64xbf16>
    %131 = tensor.expand_shape %129 [[0], [1, 2], [3]] output_shape [%batch, 1, 1, 64] : tensor<?x1x64xbf16> into tensor<?x1x1x64xbf16>
    %132 = tensor.empty(%batch) : tensor<?x1x64xbf16>
    %133 = linalg.generic {
        indexing_maps = [#map8, #map1], iterator_types = ["parallel", "parallel", "parallel"]}
        ins(%126 : tensor<?x1x64xf32>) outs(%132 : tensor<?x1x64xbf16>) {
    ^bb0(%in: f32, %out: bf16):
      %134 = arith.truncf %in : f32 to bf16
      linalg.yield %134 : bf16
    } -> tensor<?x1x64xbf16>
    %135 = tensor.expand_shape %133 [[0], [1, 2], [3]] output_shape [%batch, 1, 1, 64] : tensor<?x1x64xbf16> into tensor<?x1x1x64xbf16>
    %136 = tensor.expand_shape %52 [[0], [1], [2], [3, 4]] output_shape [%batch, 128, 1, 32, 2] : tensor<?x128x1x64xbf16> into tensor<?x128x1x32x2xbf16>
    %137 = tensor.empty(%batch) : tensor<?x128x1x2x32xbf16>
    %138 = linalg.transpose ins(%136 : tensor<?x128x1x32x2xbf16>) outs(%137 : tensor<?x128x1x2x32xbf16>) permutation = [0, 1, 2, 4, 3]
    %139 = tensor.collapse_shape %138 [[0], [1], [2], [3, 4]] : tensor<?x128x1x2x32xbf16> into tensor<?x128x1x64xbf16>
    %140 = tensor.empty(%batch) : tensor<?x128x1x64xbf16>
    %141 = linalg.generic {
        indexing_maps = [#map11, #map12, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
        ins(%139, %131 : tensor<?x128x1x64xbf16>, tensor<?x1x1x64xbf16>) outs(%140 : tensor<?x128x1x64xbf16>) {
    ^bb0(%in: bf16, %in_1: bf16, %out: bf16):
      %142 = arith.mulf %in, %in_1 : bf16
      linalg.yield %142 : bf16
    } -> tensor<?x128x1x64xbf16>
    %143 = tensor.extract_slice %139[0, 0, 0, 0] [%batch, 128, 1, 32] [1, 1, 1, 1] : tensor<?x128x1x64xbf16> to tensor<?x128x1x32xbf16>
    %144 = tensor.extract_slice %139[0, 0, 0, 32] [%batch, 128, 1, 32] [1, 1, 1, 1] : tensor<?x128x1x64xbf16> to tensor<?x128x1x32xbf16>
    %145 = tensor.empty(%batch) : tensor<?x128x1x32xbf16>
    %146 = linalg.generic {
        indexing_maps = [#map11, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
        ins(%144 : tensor<?x128x1x32xbf16>) outs(%145 : tensor<?x128x1x32xbf16>) {
    ^bb0(%in: bf16, %out: bf16):
      %147 = arith.negf %in : bf16
      linalg.yield %147 : bf16
    } -> tensor<?x128x1x32xbf16>
    %148 = tensor.concat dim(3) %146, %143 : (tensor<?x128x1x32xbf16>, tensor<?x128x1x32xbf16>) -> tensor<?x128x1x64xbf16>
    %149 = tensor.empty(%batch) : tensor<?x128x1x64xbf16>
    %150 = linalg.generic {
        indexing_maps = [#map11, #map12, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
        ins(%148, %135 : tensor<?x128x1x64xbf16>, tensor<?x1x1x64xbf16>) outs(%149 : tensor<?x128x1x64xbf16>) {
    ^bb0(%in: bf16, %in_1: bf16, %out: bf16):
      %151 = arith.mulf %in, %in_1 : bf16
      linalg.yield %151 : bf16
    } -> tensor<?x128x1x64xbf16>
    %152 = tensor.empty(%batch) : tensor<?x128x1x64xbf16>
    %153 = linalg.generic {
        indexing_maps = [#map11, #map11, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
        ins(%141, %150 : tensor<?x128x1x64xbf16>, tensor<?x128x1x64xbf16>) outs(%152 : tensor<?x128x1x64xbf16>) {
    ^bb0(%in: bf16, %in_1: bf16, %out: bf16):
      %154 = arith.addf %in, %in_1 : bf16
      linalg.yield %154 : bf16
    } -> tensor<?x128x1x64xbf16>
    %155 = tensor.expand_shape %108 [[0], [1], [2], [3, 4]] output_shape [%batch, 1, 1, 32, 2] : tensor<?x1x1x64xbf16> into tensor<?x1x1x32x2xbf16>
    %156 = tensor.empty(%batch) : tensor<?x1x1x2x32xbf16>
    %157 = linalg.transpose ins(%155 : tensor<?x1x1x32x2xbf16>) outs(%156 : tensor<?x1x1x2x32xbf16>) permutation = [0, 1, 2, 4, 3]
    %158 = tensor.collapse_shape %157 [[0], [1], [2], [3, 4]] : tensor<?x1x1x2x32xbf16> into tensor<?x1x1x64xbf16>
    %159 = tensor.empty(%batch) : tensor<?x1x1x64xbf16>
    %160 = linalg.generic {
        indexing_maps = [#map12, #map12, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
        ins(%158, %131 : tensor<?x1x1x64xbf16>, tensor<?x1x1x64xbf16>) outs(%159 : tensor<?x1x1x64xbf16>) {
    ^bb0(%in: bf16, %in_1: bf16, %out: bf16):
      %161 = arith.mulf %in, %in_1 : bf16
      linalg.yield %161 : bf16
    } -> tensor<?x1x1x64xbf16>
    %162 = tensor.extract_slice %158[0, 0, 0, 0] [%batch, 1, 1, 32] [1, 1, 1, 1] : tensor<?x1x1x64xbf16> to tensor<?x1x1x32xbf16>
    %163 = tensor.extract_slice %158[0, 0, 0, 32] [%batch, 1, 1, 32] [1, 1, 1, 1] : tensor<?x1x1x64xbf16> to tensor<?x1x1x32xbf16>
    %164 = tensor.empty(%batch) : tensor<?x1x1x32xbf16>
    %165 = linalg.generic {
        indexing_maps = [#map12, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
        ins(%163 : tensor<?x1x1x32xbf16>) outs(%164 : tensor<?x1x1x32xbf16>) {
    ^bb0(%in: bf16, %out: bf16):
      %166 = arith.negf %in : bf16
      linalg.yield %166 : bf16
    } -> tensor<?x1x1x32xbf16>
    %167 = tensor.concat dim(3) %165, %162 : (tensor<?x1x1x32xbf16>, tensor<?x1x1x32xbf16>) -> tensor<?x1x1x64xbf16>
    %168 = tensor.empty(%batch) : tensor<?x1x1x64xbf16>
    %169 = linalg.generic {
        indexing_maps = [#map12, #map12, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
        ins(%167, %135 : tensor<?x1x1x64xbf16>, tensor<?x1x1x64xbf16>) outs(%168 : tensor<?x1x1x64xbf16>) {
    ^bb0(%in: bf16, %in_1: bf16, %out: bf16):
      %170 = arith.mulf %in, %in_1 : bf16
      linalg.yield %170 : bf16
    } -> tensor<?x1x1x64xbf16>
    %171 = tensor.empty(%batch) : tensor<?x1x1x64xbf16>
    %172 = linalg.generic {
        indexing_maps = [#map12, #map12, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
        ins(%160, %169 : tensor<?x1x1x64xbf16>, tensor<?x1x1x64xbf16>) outs(%171 : tensor<?x1x1x64xbf16>) {
    ^bb0(%in: bf16, %in_1: bf16, %out: bf16):
      %173 = arith.addf %in, %in_1 : bf16
      linalg.yield %173 : bf16
    } -> tensor<?x1x1x64xbf16>
    // Queries and keys of full width; the rotary part of the keys is every head's.
    %174 = tensor.concat dim(3) %51, %153 : (tensor<?x128x1x128xbf16>, tensor<?x128x1x64xbf16>) -> tensor<?x128x1x192xbf16>
    %175 = tensor.empty(%batch) : tensor<?x128x1x64xbf16>
    %176 = linalg.generic {
        indexing_maps = [#map5, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
        ins(%172 : tensor<?x1x1x64xbf16>) outs(%175 : tensor<?x128x1x64xbf16>) {
    ^bb0(%in: bf16, %out: bf16):
      linalg.yield %in : bf16
    } -> tensor<?x128x1x64xbf16>
    %177 = tensor.concat dim(3) %106, %176 : (tensor<?x128x1x128xbf16>, tensor<?x128x1x64xbf16>) -> tensor<?x128x1x192xbf16>
    // The cache.
    %178 = arith.addi %past, %c1 : index
    %179 = tensor.concat dim(2) %past_k, %177 : (tensor<?x128x?x192xbf16>, tensor<?x128x1x192xbf16>) -> tensor<?x128x?x192xbf16>
    %180 = tensor.concat dim(2) %past_v, %107 : (tensor<?x128x?x128xbf16>, tensor<?x128x1x128xbf16>) -> tensor<?x128x?x128xbf16>
    // Attention.
    %181 = tensor.empty(%batch, %178) : tensor<?x128x192x?xbf16>
    %182 = linalg.transpose ins(%179 : tensor<?x128x?x192xbf16>) outs(%181 : tensor<?x128x192x?xbf16>) permutation = [0, 1, 3, 2]
    %183 = arith.muli %batch, %c128 : index
    %184 = tensor.collapse_shape %174 [[0, 1], [2], [3]] : tensor<?x128x1x192xbf16> into tensor<?x1x192xbf16>
    %185 = tensor.collapse_shape %182 [[0, 1], [2], [3]] : tensor<?x128x192x?xbf16> into tensor<?x192x?xbf16>
    %186 = tensor.empty(%183, %178) : tensor<?x1x?xf32>
    %187 = linalg.fill ins(%cst : f32) outs(%186 : tensor<?x1x?xf32>) -> tensor<?x1x?xf32>
    %188 = linalg.batch_matmul ins(%184, %185 : tensor<?x1x192xbf16>, tensor<?x192x?xbf16>) outs(%187 : tensor<?x1x?xf32>) -> tensor<?x1x?xf32>
    %189 = tensor.empty(%183, %178) : tensor<?x1x?xbf16>
    %190 = linalg.generic {
        indexing_maps = [#map8, #map1], iterator_types = ["parallel", "parallel", "parallel"]}
        ins(%188 : tensor<?x1x?xf32>) outs(%189 : tensor<?x1x?xbf16>) {
    ^bb0(%in: f32, %out: bf16):
      %191 = arith.truncf %in : f32 to bf16
      linalg.yield %191 : bf16
    } -> tensor<?x1x?xbf16>
    %192 = tensor.expand_shape %190 [[0, 1], [2], [3]] output_shape [%batch, 128, 1, %178] : tensor<?x1x?xbf16> into tensor<?x128x1x?xbf16>
    %193 = tensor.empty(%batch, %178) : tensor<?x128x1x?xbf16>
    %194 = linalg.generic {
        indexing_maps = [#map11, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
        ins(%192 : tensor<?x128x1x?xbf16>) outs(%193 : tensor<?x128x1x?xbf16>) {
    ^bb0(%in: bf16, %out: bf16):
      %195 = arith.extf %in : bf16 to f32
      %196 = arith.mulf %195, %cst_6 : f32
      %197 = arith.truncf %196 : f32 to bf16
      linalg.yield %197 : bf16
    } -> tensor<?x128x1x?xbf16>
    %198 = tensor.empty(%178) : tensor<1x1x1x?xbf16>
    %199 = linalg.generic {
        indexing_maps = [#map4], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
        outs(%198 : tensor<1x1x1x?xbf16>) {
    ^bb0(%out: bf16):
      %200 = linalg.index 2 : index
      %201 = arith.addi %200, %past : index
      %202 = linalg.index 3 : index
      %203 = arith.cmpi sge, %201, %202 : index
      %204 = arith.select %203, %cst_7, %cst_8 : bf16
      linalg.yield %204 : bf16
    } -> tensor<1x1x1x?xbf16>
    %205 = tensor.empty(%batch, %178) : tensor<?x128x1x?xbf16>
    %206 = linalg.generic {
        indexing_maps = [#map11, #map13, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
        ins(%194, %199 : tensor<?x128x1x?xbf16>, tensor<1x1x1x?xbf16>) outs(%205 : tensor<?x128x1x?xbf16>) {
    ^bb0(%in: bf16, %in_1: bf16, %out: bf16):
      %207 = arith.addf %in, %in_1 : bf16
      linalg.yield %207 : bf16
    } -> tensor<?x128x1x?xbf16>
    %208 = tensor.empty(%batch, %178) : tensor<?x128x1x?xf32>
    %209 = linalg.generic {
        indexing_maps = [#map11, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
        ins(%206 : tensor<?x128x1x?xbf16>) outs(%208 : tensor<?x128x1x?xf32>) {
    ^bb0(%in: bf16, %out: f32):
      %210 = arith.extf %in : bf16 to f32
      linalg.yield %210 : f32
    } -> tensor<?x128x1x?xf32>
    %211 = tensor.empty(%batch) : tensor<?x128x1x1xf32>
    %212 = linalg.fill ins(%cst_9 : f32) outs(%211 : tensor<?x128x1x1xf32>) -> tensor<?x128x1x1xf32>
    %213 = linalg.generic {
        indexing_maps = [#map4, #map7], iterator_types = ["parallel", "parallel", "parallel", "reduction"]}
        ins(%209 : tensor<?x128x1x?xf32>) outs(%212 : tensor<?x128x1x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      %214 = arith.maximumf %in, %out : f32
      linalg.yield %214 : f32
    } -> tensor<?x128x1x1xf32>
    %215 = tensor.empty(%batch, %178) : tensor<?x128x1x?xf32>
    %216 = linalg.generic {
        indexing_maps = [#map11, #map14, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
        ins(%209, %213 : tensor<?x128x1x?xf32>, tensor<?x128x1x1xf32>) outs(%215 : tensor<?x128x1x?xf32>) {
    ^bb0(%in: f32, %in_1: f32, %out: f32):
      %217 = arith.subf %in, %in_1 : f32
      linalg.yield %217 : f32
    } -> tensor<?x128x1x?xf32>
    %218 = tensor.empty(%batch, %178) : tensor<?x128x1x?xf32>
    %219 = linalg.generic {
        indexing_maps = [#map11, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
        ins(%216 : tensor<?x128x1x?xf32>) outs(%218 : tensor<?x128x1x?xf32>) {
    ^bb0(%in: f32, %out: f32):
      %220 = math.exp %in : f32
      linalg.yield %220 : f32
    } -> tensor<?x128x1x?xf32>
    %221 = tensor.empty(%batch) : tensor<?x128x1x1xf32>
    %222 = linalg.fill ins(%cst : f32) outs(%221 : tensor<?x128x1x1xf32>) -> tensor<?x128x1x1xf32>
    %223 = linalg.generic {
        indexing_maps = [#map4, #map7], iterator_types = ["parallel", "parallel", "parallel", "reduction"]}
        ins(%219 : tensor<?x128x1x?xf32>) outs(%222 : tensor<?x128x1x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      %224 = arith.addf %in, %out : f32
      linalg.yield %224 : f32
    } -> tensor<?x128x1x1xf32>
    %225 = tensor.empty(%batch, %178) : tensor<?x128x1x?xf32>
    %226 = linalg.generic {
        indexing_maps = [#map11, #map14, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
        ins(%219, %223 : tensor<?x128x1x?xf32>, tensor<?x128x1x1xf32>) outs(%225 : tensor<?x128x1x?xf32>) {
    ^bb0(%in: f32, %in_1: f32, %out: f32):
      %227 = arith.divf %in, %in_1 : f32
      linalg.yield %227 : f32
    } -> tensor<?x128x1x?xf32>
    %228 = tensor.empty(%batch, %178) : tensor<?x128x1x?xbf16>
    %229 = linalg.generic {
        indexing_maps = [#map11, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
        ins(%226 : tensor<?x128x1x?xf32>) outs(%228 : tensor<?x128x1x?xbf16>) {
    ^bb0(%in: f32, %out: bf16):
      %230 = arith.truncf %in : f32 to bf16
      linalg.yield %230 : bf16
    } -> tensor<?x128x1x?xbf16>
    %231 = tensor.collapse_shape %229 [[0, 1], [2], [3]] : tensor<?x128x1x?xbf16> into tensor<?x1x?xbf16>
    %232 = tensor.collapse_shape %180 [[0, 1], [2], [3]] : tensor<?x128x?x128xbf16> into tensor<?x?x128xbf16>
    %233 = tensor.empty(%183) : tensor<?x1x128xf32>
    %234 = linalg.fill ins(%cst : f32) outs(%233 : tensor<?x1x128xf32>) -> tensor<?x1x128xf32>
    %235 = linalg.batch_matmul ins(%231, %232 : tensor<?x1x?xbf16>, tensor<?x?x128xbf16>) outs(%234 : tensor<?x1x128xf32>) -> tensor<?x1x128xf32>
    %236 = tensor.empty(%183) : tensor<?x1x128xbf16>
    %237 = linalg.generic {
        indexing_maps = [#map8, #map1], iterator_types = ["parallel", "parallel", "parallel"]}
        ins(%235 : tensor<?x1x128xf32>) outs(%236 : tensor<?x1x128xbf16>) {
    ^bb0(%in: f32, %out: bf16):
      %238 = arith.truncf %in : f32 to bf16
      linalg.yield %238 : bf16
    } -> tensor<?x1x128xbf16>
    %239 = tensor.expand_shape %237 [[0, 1], [2], [3]] output_shape [%batch, 128, 1, 128] : tensor<?x1x128xbf16> into tensor<?x128x1x128xbf16>
    %240 = tensor.empty(%batch) : tensor<?x1x128x128xbf16>
    %241 = linalg.transpose ins(%239 : tensor<?x128x1x128xbf16>) outs(%240 : tensor<?x1x128x128xbf16>) permutation = [0, 2, 1, 3]
    %242 = tensor.collapse_shape %241 [[0], [1], [2, 3]] : tensor<?x1x128x128xbf16> into tensor<?x1x16384xbf16>
    %243 = tensor.collapse_shape %242 [[0, 1], [2]] : tensor<?x1x16384xbf16> into tensor<?x16384xbf16>
    %244 = tensor.empty() : tensor<16384x7168xbf16>
    %245 = linalg.transpose ins(%wo : tensor<7168x16384xbf16>) outs(%244 : tensor<16384x7168xbf16>) permutation = [1, 0]
    %246 = tensor.empty(%batch) : tensor<?x7168xf32>
    %247 = linalg.fill ins(%cst : f32) outs(%246 : tensor<?x7168xf32>) -> tensor<?x7168xf32>
    %248 = linalg.matmul ins(%243, %245 : tensor<?x16384xbf16>, tensor<16384x7168xbf16>) outs(%247 : tensor<?x7168xf32>) -> tensor<?x7168xf32>
    %249 = tensor.empty(%batch) : tensor<?x7168xbf16>
    %250 = linalg.generic {
        indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel"]}
        ins(%248 : tensor<?x7168xf32>) outs(%249 : tensor<?x7168xbf16>) {
    ^bb0(%in: f32, %out: bf16):
      %251 = arith.truncf %in : f32 to bf16
      linalg.yield %251 : bf16
    } -> tensor<?x7168xbf16>
    %252 = tensor.expand_shape %250 [[0, 1], [2]] output_shape [%batch, 1, 7168] : tensor<?x7168xbf16> into tensor<?x1x7168xbf16>
    return %252, %179, %180 : tensor<?x1x7168xbf16>, tensor<?x128x?x192xbf16>, tensor<?x128x?x128xbf16>
  }
}
