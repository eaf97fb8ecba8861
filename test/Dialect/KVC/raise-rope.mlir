// RUN: kvc-opt %s -kvc-raise-rope -remarks-filter=kvc-raise-rope -remark-policy=all \
// RUN:     -split-input-file 2>%t | FileCheck %s
// RUN: FileCheck %s --check-prefix=REMARK --input-file=%t

#angle = affine_map<(t, p) -> (t)>
#pair = affine_map<(t, p) -> (p)>
#both = affine_map<(t, p) -> (t, p)>

// Halves, with cosines and sines of the full width; frequencies are powers of 10,000.
// CHECK-LABEL: func.func @half
// CHECK-SAME:    %[[X:.*]]: tensor<3x4xf32>, %[[POSITIONS:.*]]: tensor<3xi64>
// CHECK:         %[[R:.*]] = kvc.dense_rope %[[X]] positions(%[[POSITIONS]]) {position_dims = array<i64: 0>, rotary_width = 4 : i64, theta = 1.000000e+04 : f64} : tensor<3x4xf32>, tensor<3xi64>
// CHECK-NEXT:    return %[[R]]
// REMARK:      Passed{{.*}}rotary embedding raised
func.func @half(%x: tensor<3x4xf32>, %positions: tensor<3xi64>) -> tensor<3x4xf32> {
  %f = arith.constant dense<[1.0, 0.01]> : tensor<2xf32>
  %p = arith.sitofp %positions : tensor<3xi64> to tensor<3xf32>
  %e = tensor.empty() : tensor<3x2xf32>
  %a = linalg.generic {indexing_maps = [#angle, #pair, #both],
      iterator_types = ["parallel", "parallel"]}
      ins(%p, %f : tensor<3xf32>, tensor<2xf32>) outs(%e : tensor<3x2xf32>) {
  ^bb0(%position: f32, %frequency: f32, %out: f32):
    %0 = arith.mulf %position, %frequency : f32
    linalg.yield %0 : f32
  } -> tensor<3x2xf32>
  %angles = tensor.concat dim(1) %a, %a : (tensor<3x2xf32>, tensor<3x2xf32>) -> tensor<3x4xf32>
  %cos = math.cos %angles : tensor<3x4xf32>
  %sin = math.sin %angles : tensor<3x4xf32>
  %first = tensor.extract_slice %x[0, 0] [3, 2] [1, 1] : tensor<3x4xf32> to tensor<3x2xf32>
  %second = tensor.extract_slice %x[0, 2] [3, 2] [1, 1] : tensor<3x4xf32> to tensor<3x2xf32>
  %negated = arith.negf %second : tensor<3x2xf32>
  %turned = tensor.concat dim(1) %negated, %first
      : (tensor<3x2xf32>, tensor<3x2xf32>) -> tensor<3x4xf32>
  %kept = arith.mulf %x, %cos : tensor<3x4xf32>
  %crossed = arith.mulf %turned, %sin : tensor<3x4xf32>
  %r = arith.addf %kept, %crossed : tensor<3x4xf32>
  return %r : tensor<3x4xf32>
}

// -----

#angle = affine_map<(b, t, p) -> (b, t)>
#pair = affine_map<(b, t, p) -> (p)>
#both = affine_map<(b, t, p) -> (b, t, p)>

// Pairs, of the first 4 of 6 columns, of any numbers of sequences and tokens; frequencies are an
// argument; a factor of cosines and sines scales the columns that are turned.
// CHECK-LABEL: func.func @pairs_partial_scaled
// CHECK-SAME:    %[[X:.*]]: tensor<?x?x6xbf16>, %[[POSITIONS:.*]]: tensor<?x?xi32>, %[[F:.*]]: tensor<2xf32>
// CHECK:         %[[R:.*]] = kvc.dense_rope %[[X]] positions(%[[POSITIONS]]) frequencies(%[[F]] : tensor<2xf32>) {position_dims = array<i64: 0, 1>, rotary_width = 4 : i64, style = #kvc<rope_style interleaved>} : tensor<?x?x6xbf16>, tensor<?x?xi32>
// CHECK-DAG:     %[[SCALE:.*]] = arith.constant 1.500000e+00 : f32
// CHECK-DAG:     %[[ONE:.*]] = arith.constant 1.000000e+00 : f32
// CHECK-DAG:     %[[END:.*]] = arith.constant 4 : index
// CHECK:         linalg.generic
// CHECK-SAME:      ins(%[[R]]
// CHECK:           %[[COLUMN:.*]] = linalg.index 2
// CHECK:           %[[IS_TURNED:.*]] = arith.cmpi ult, %[[COLUMN]], %[[END]]
// CHECK:           arith.select %[[IS_TURNED]], %[[SCALE]], %[[ONE]]
// CHECK-NOT:     math.cos
func.func @pairs_partial_scaled(%x: tensor<?x?x6xbf16>, %positions: tensor<?x?xi32>,
                                %f: tensor<2xf32>) -> tensor<?x?x6xbf16> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %scale = arith.constant 1.5 : f32
  %batch = tensor.dim %x, %c0 : tensor<?x?x6xbf16>
  %tokens = tensor.dim %x, %c1 : tensor<?x?x6xbf16>
  %e = tensor.empty(%batch, %tokens) : tensor<?x?x2xf32>
  %angles = linalg.generic {indexing_maps = [#angle, #pair, #both],
      iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%positions, %f : tensor<?x?xi32>, tensor<2xf32>) outs(%e : tensor<?x?x2xf32>) {
  ^bb0(%position: i32, %frequency: f32, %out: f32):
    %0 = arith.sitofp %position : i32 to f32
    %1 = arith.mulf %frequency, %0 : f32
    linalg.yield %1 : f32
  } -> tensor<?x?x2xf32>
  %cos_sin:2 = linalg.generic {indexing_maps = [#both, #both, #both],
      iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%angles : tensor<?x?x2xf32>) outs(%e, %e : tensor<?x?x2xf32>, tensor<?x?x2xf32>) {
  ^bb0(%angle: f32, %out: f32, %out_1: f32):
    %cos = math.cos %angle : f32
    %sin = math.sin %angle : f32
    %2 = arith.mulf %cos, %scale : f32
    %3 = arith.mulf %sin, %scale : f32
    linalg.yield %2, %3 : f32, f32
  } -> (tensor<?x?x2xf32>, tensor<?x?x2xf32>)
  %left = tensor.extract_slice %x[0, 0, 0] [%batch, %tokens, 4] [1, 1, 1]
      : tensor<?x?x6xbf16> to tensor<?x?x4xbf16>
  %rest = tensor.extract_slice %x[0, 0, 4] [%batch, %tokens, 2] [1, 1, 1]
      : tensor<?x?x6xbf16> to tensor<?x?x2xbf16>
  %wide = arith.extf %left : tensor<?x?x4xbf16> to tensor<?x?x4xf32>
  %pairs = tensor.expand_shape %wide [[0], [1], [2, 3]] output_shape [%batch, %tokens, 2, 2]
      : tensor<?x?x4xf32> into tensor<?x?x2x2xf32>
  %re = tensor.extract_slice %pairs[0, 0, 0, 0] [%batch, %tokens, 2, 1] [1, 1, 1, 1]
      : tensor<?x?x2x2xf32> to tensor<?x?x2xf32>
  %im = tensor.extract_slice %pairs[0, 0, 0, 1] [%batch, %tokens, 2, 1] [1, 1, 1, 1]
      : tensor<?x?x2x2xf32> to tensor<?x?x2xf32>
  %rc = arith.mulf %re, %cos_sin#0 : tensor<?x?x2xf32>
  %is = arith.mulf %im, %cos_sin#1 : tensor<?x?x2xf32>
  %rs = arith.mulf %re, %cos_sin#1 : tensor<?x?x2xf32>
  %ic = arith.mulf %im, %cos_sin#0 : tensor<?x?x2xf32>
  %re_out = arith.subf %rc, %is : tensor<?x?x2xf32>
  %im_out = arith.addf %rs, %ic : tensor<?x?x2xf32>
  %re_column = tensor.expand_shape %re_out [[0], [1], [2, 3]]
      output_shape [%batch, %tokens, 2, 1] : tensor<?x?x2xf32> into tensor<?x?x2x1xf32>
  %im_column = tensor.expand_shape %im_out [[0], [1], [2, 3]]
      output_shape [%batch, %tokens, 2, 1] : tensor<?x?x2xf32> into tensor<?x?x2x1xf32>
  %joined = tensor.concat dim(3) %re_column, %im_column
      : (tensor<?x?x2x1xf32>, tensor<?x?x2x1xf32>) -> tensor<?x?x2x2xf32>
  %flat = tensor.collapse_shape %joined [[0], [1], [2, 3]]
      : tensor<?x?x2x2xf32> into tensor<?x?x4xf32>
  %narrow = arith.truncf %flat : tensor<?x?x4xf32> to tensor<?x?x4xbf16>
  %r = tensor.concat dim(2) %narrow, %rest
      : (tensor<?x?x4xbf16>, tensor<?x?x2xbf16>) -> tensor<?x?x6xbf16>
  return %r : tensor<?x?x6xbf16>
}

// -----

#x = affine_map<(t, h, w) -> (t, h, w)>

// One loop computes all of it: frequencies from indices, positions from an index and the
// length of the past. The other way round, too: frequencies are negative then.
// CHECK-LABEL: func.func @computed
// CHECK-SAME:    %[[X:.*]]: tensor<?x2x2xf32>, %[[PAST:.*]]: tensor<?x2x2xf32>
// CHECK-DAG:     %[[F:.*]] = arith.constant dense<-5.000000e-01> : tensor<1xf32>
// CHECK:         %[[POSITIONS:.*]] = linalg.generic
// CHECK-SAME:      outs(%{{.*}} : tensor<?xi64>)
// CHECK:           %[[TOKEN:.*]] = linalg.index 0
// CHECK:           %[[TOKENS:.*]] = tensor.dim %[[PAST]], %{{.*}}
// CHECK:           %[[POSITION:.*]] = arith.addi %[[TOKEN]], %[[TOKENS]]
// CHECK:           %[[CAST:.*]] = arith.index_cast %[[POSITION]] : index to i64
// CHECK:           linalg.yield %[[CAST]]
// CHECK:         kvc.dense_rope %[[X]] positions(%[[POSITIONS]]) frequencies(%[[F]] : tensor<1xf32>) {position_dims = array<i64: 0>, rotary_width = 2 : i64} : tensor<?x2x2xf32>, tensor<?xi64>
func.func @computed(%x: tensor<?x2x2xf32>, %past: tensor<?x2x2xf32>) -> tensor<?x2x2xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %half = arith.constant 0.5 : f32
  %tokens = tensor.dim %x, %c0 : tensor<?x2x2xf32>
  %before = tensor.dim %past, %c0 : tensor<?x2x2xf32>
  %e = tensor.empty(%tokens) : tensor<?x2x1xf32>
  %columns = tensor.extract_slice %x[0, 0, 0] [%tokens, 2, 1] [1, 1, 1]
      : tensor<?x2x2xf32> to tensor<?x2x1xf32>
  %others = tensor.extract_slice %x[0, 0, 1] [%tokens, 2, 1] [1, 1, 1]
      : tensor<?x2x2xf32> to tensor<?x2x1xf32>
  %r:2 = linalg.generic {indexing_maps = [#x, #x, #x, #x],
      iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%columns, %others : tensor<?x2x1xf32>, tensor<?x2x1xf32>)
      outs(%e, %e : tensor<?x2x1xf32>, tensor<?x2x1xf32>) {
  ^bb0(%a: f32, %b: f32, %out: f32, %out_1: f32):
    %token = linalg.index 0 : index
    %position = arith.addi %token, %before : index
    %integer = arith.index_cast %position : index to i64
    %float = arith.sitofp %integer : i64 to f32
    %angle = arith.mulf %float, %half : f32
    %cos = math.cos %angle : f32
    %sin = math.sin %angle : f32
    %0 = arith.mulf %a, %cos : f32
    %1 = math.fma %b, %sin, %0 : f32
    %2 = arith.mulf %b, %cos : f32
    %3 = arith.mulf %a, %sin : f32
    %4 = arith.subf %2, %3 : f32
    linalg.yield %1, %4 : f32, f32
  } -> (tensor<?x2x1xf32>, tensor<?x2x1xf32>)
  %joined = tensor.concat dim(2) %r#0, %r#1
      : (tensor<?x2x1xf32>, tensor<?x2x1xf32>) -> tensor<?x2x2xf32>
  return %joined : tensor<?x2x2xf32>
}

// -----

// Pairs that are moved apart before their halves are turned: the move stays.
// CHECK-LABEL: func.func @moved_apart
// CHECK:         %[[MOVED:.*]] = tensor.concat dim(0)
// CHECK:         kvc.dense_rope %[[MOVED]] positions(%{{.*}}) {position_dims = array<i64>, rotary_width = 4 : i64, theta = 1.000000e+02 : f64} : tensor<4xf64>, tensor<i64>
// CHECK-NOT:     math.sin
func.func @moved_apart(%x: tensor<4xf64>, %position: tensor<i64>) -> tensor<4xf64> {
  %f = arith.constant dense<[1.0, 0.1, 1.0, 0.1]> : tensor<4xf64>
  %even = tensor.extract_slice %x[0] [2] [2] : tensor<4xf64> to tensor<2xf64>
  %odd = tensor.extract_slice %x[1] [2] [2] : tensor<4xf64> to tensor<2xf64>
  %moved = tensor.concat dim(0) %even, %odd : (tensor<2xf64>, tensor<2xf64>) -> tensor<4xf64>
  %e = tensor.empty() : tensor<4xf64>
  %p = arith.sitofp %position : tensor<i64> to tensor<f64>
  %row = linalg.broadcast ins(%p : tensor<f64>) outs(%e : tensor<4xf64>) dimensions = [0]
  %angles = arith.mulf %row, %f : tensor<4xf64>
  %cos = math.cos %angles : tensor<4xf64>
  %sin = math.sin %angles : tensor<4xf64>
  %first = tensor.extract_slice %moved[0] [2] [1] : tensor<4xf64> to tensor<2xf64>
  %second = tensor.extract_slice %moved[2] [2] [1] : tensor<4xf64> to tensor<2xf64>
  %negated = arith.negf %second : tensor<2xf64>
  %turned = tensor.concat dim(0) %negated, %first
      : (tensor<2xf64>, tensor<2xf64>) -> tensor<4xf64>
  %kept = arith.mulf %moved, %cos : tensor<4xf64>
  %crossed = arith.mulf %turned, %sin : tensor<4xf64>
  %r = arith.addf %kept, %crossed : tensor<4xf64>
  return %r : tensor<4xf64>
}

// -----

// Tables of cosines and sines are left alone.
// CHECK-LABEL: func.func @negative_tables
// CHECK-NOT:     kvc.dense_rope
// REMARK:      Missed{{.*}}not raised to a rotary embedding: its cosines and sines are not computed here
func.func @negative_tables(%x: tensor<3x2xf32>, %cos: tensor<3x2xf32>, %sin: tensor<3x2xf32>)
    -> tensor<3x2xf32> {
  %first = tensor.extract_slice %x[0, 0] [3, 1] [1, 1] : tensor<3x2xf32> to tensor<3x1xf32>
  %second = tensor.extract_slice %x[0, 1] [3, 1] [1, 1] : tensor<3x2xf32> to tensor<3x1xf32>
  %negated = arith.negf %second : tensor<3x1xf32>
  %turned = tensor.concat dim(1) %negated, %first
      : (tensor<3x1xf32>, tensor<3x1xf32>) -> tensor<3x2xf32>
  %kept = arith.mulf %x, %cos : tensor<3x2xf32>
  %crossed = arith.mulf %turned, %sin : tensor<3x2xf32>
  %r = arith.addf %kept, %crossed : tensor<3x2xf32>
  return %r : tensor<3x2xf32>
}

// -----

// Without the sign one column is reflected.
// CHECK-LABEL: func.func @negative_reflection
// CHECK-NOT:     kvc.dense_rope
// REMARK:      Missed{{.*}}the two columns of a pair turn by different angles
func.func @negative_reflection(%x: tensor<2xf32>, %position: tensor<i64>) -> tensor<2xf32> {
  %e = tensor.empty() : tensor<2xf32>
  %p = arith.sitofp %position : tensor<i64> to tensor<f32>
  %angles = linalg.broadcast ins(%p : tensor<f32>) outs(%e : tensor<2xf32>) dimensions = [0]
  %cos = math.cos %angles : tensor<2xf32>
  %sin = math.sin %angles : tensor<2xf32>
  %first = tensor.extract_slice %x[0] [1] [1] : tensor<2xf32> to tensor<1xf32>
  %second = tensor.extract_slice %x[1] [1] [1] : tensor<2xf32> to tensor<1xf32>
  %turned = tensor.concat dim(0) %second, %first
      : (tensor<1xf32>, tensor<1xf32>) -> tensor<2xf32>
  %kept = arith.mulf %x, %cos : tensor<2xf32>
  %crossed = arith.mulf %turned, %sin : tensor<2xf32>
  %r = arith.addf %kept, %crossed : tensor<2xf32>
  return %r : tensor<2xf32>
}

// -----

// Sines twice as large as cosines are no rotation.
// CHECK-LABEL: func.func @negative_scales
// CHECK-NOT:     kvc.dense_rope
// REMARK:      Missed{{.*}}cosines and sines are scaled by different factors
func.func @negative_scales(%x: tensor<2xf32>, %position: tensor<i64>) -> tensor<2xf32> {
  %e = tensor.empty() : tensor<2xf32>
  %two = arith.constant dense<2.0> : tensor<2xf32>
  %p = arith.sitofp %position : tensor<i64> to tensor<f32>
  %angles = linalg.broadcast ins(%p : tensor<f32>) outs(%e : tensor<2xf32>) dimensions = [0]
  %cos = math.cos %angles : tensor<2xf32>
  %sin = math.sin %angles : tensor<2xf32>
  %scaled = arith.mulf %two, %sin : tensor<2xf32>
  %first = tensor.extract_slice %x[0] [1] [1] : tensor<2xf32> to tensor<1xf32>
  %second = tensor.extract_slice %x[1] [1] [1] : tensor<2xf32> to tensor<1xf32>
  %negated = arith.negf %second : tensor<1xf32>
  %turned = tensor.concat dim(0) %negated, %first
      : (tensor<1xf32>, tensor<1xf32>) -> tensor<2xf32>
  %kept = arith.mulf %x, %cos : tensor<2xf32>
  %crossed = arith.mulf %turned, %scaled : tensor<2xf32>
  %r = arith.addf %kept, %crossed : tensor<2xf32>
  return %r : tensor<2xf32>
}

// -----

// An angle that is read is no position times a frequency.
// CHECK-LABEL: func.func @negative_angles
// CHECK-NOT:     kvc.dense_rope
// REMARK:      Missed{{.*}}angles do not depend on a position
func.func @negative_angles(%x: tensor<2xf32>, %angle: tensor<f32>) -> tensor<2xf32> {
  %e = tensor.empty() : tensor<2xf32>
  %angles = linalg.broadcast ins(%angle : tensor<f32>) outs(%e : tensor<2xf32>) dimensions = [0]
  %cos = math.cos %angles : tensor<2xf32>
  %sin = math.sin %angles : tensor<2xf32>
  %first = tensor.extract_slice %x[0] [1] [1] : tensor<2xf32> to tensor<1xf32>
  %second = tensor.extract_slice %x[1] [1] [1] : tensor<2xf32> to tensor<1xf32>
  %negated = arith.negf %second : tensor<1xf32>
  %turned = tensor.concat dim(0) %negated, %first
      : (tensor<1xf32>, tensor<1xf32>) -> tensor<2xf32>
  %kept = arith.mulf %x, %cos : tensor<2xf32>
  %crossed = arith.mulf %turned, %sin : tensor<2xf32>
  %r = arith.addf %kept, %crossed : tensor<2xf32>
  return %r : tensor<2xf32>
}
