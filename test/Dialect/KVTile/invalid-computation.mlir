// RUN: kvc-opt %s -split-input-file -verify-diagnostics

// The shapes of a product.
func.func @dot(%a: !kvtile.tile<16x64xbf16>, %b: !kvtile.slot<64x128xbf16>,
               %acc: !kvtile.tile<16x64xf32>) {
  // expected-error@below {{'kvtile.dot' op expected M x K, K x N and M x N, got 16x64, 128x64 and 16x64}}
  %r = kvtile.dot %a, %b transposed acc %acc
      : !kvtile.tile<16x64xbf16>, !kvtile.slot<64x128xbf16> -> <16x64xf32>
  return
}

// -----

func.func @elements(%a: !kvtile.tile<16x64xf16>, %b: !kvtile.slot<64x64xbf16>,
                    %acc: !kvtile.tile<16x64xf32>) {
  // expected-error@below {{'kvtile.dot' op expected operands of one element type, f16 or bf16, got 'f16' and 'bf16'}}
  %r = kvtile.dot %a, %b acc %acc
      : !kvtile.tile<16x64xf16>, !kvtile.slot<64x64xbf16> -> <16x64xf32>
  return
}

// -----

// Registers cannot be read as their transpose.
func.func @transposed(%a: !kvtile.tile<64x16xbf16>, %b: !kvtile.slot<64x64xbf16>,
                      %acc: !kvtile.tile<16x64xf32>) {
  // expected-error@below {{'kvtile.dot' op expected a transposed operand to be a slot, got '!kvtile.tile<64x16xbf16>'}}
  %r = kvtile.dot %a transposed, %b acc %acc
      : !kvtile.tile<64x16xbf16>, !kvtile.slot<64x64xbf16> -> <16x64xf32>
  return
}

// -----

func.func @f32(%a: !kvtile.tile<16x64xf32>, %b: !kvtile.tile<64x64xf32>,
               %acc: !kvtile.tile<16x64xf32>) {
  // expected-error@below {{'kvtile.dot' op expected operands of one element type, f16 or bf16, got 'f32' and 'f32'}}
  %r = kvtile.dot %a, %b acc %acc
      : !kvtile.tile<16x64xf32>, !kvtile.tile<64x64xf32> -> <16x64xf32>
  return
}

// -----

func.func @sums(%a: !kvtile.tile<16x64xbf16>, %b: !kvtile.slot<64x64xbf16>,
                %acc: !kvtile.tile<16x64xbf16>) {
  // expected-error@below {{'kvtile.dot' op expected a tile of f32, got '!kvtile.tile<16x64xbf16>'}}
  %r = kvtile.dot %a, %b acc %acc
      : !kvtile.tile<16x64xbf16>, !kvtile.slot<64x64xbf16> -> <16x64xbf16>
  return
}

// -----

// An instruction takes 16 of K.
func.func @depth(%a: !kvtile.tile<16x8xbf16>, %b: !kvtile.slot<8x64xbf16>,
                 %acc: !kvtile.tile<16x64xf32>) {
  // expected-error@below {{'kvtile.dot' op expected K to be a multiple of 16, got 8}}
  %r = kvtile.dot %a, %b acc %acc
      : !kvtile.tile<16x8xbf16>, !kvtile.slot<8x64xbf16> -> <16x64xf32>
  return
}

// -----

#a = #kvtile.layout<mma_b, 1x1>
func.func @left(%a: !kvtile.tile<16x64xbf16, #a>, %b: !kvtile.slot<64x64xbf16>,
                %acc: !kvtile.tile<16x64xf32>) {
  // expected-error@below {{'kvtile.dot' op expected a left tile of mma_a, got '!kvtile.tile<16x64xbf16, #kvtile.layout<mma_b, 1x1>>'}}
  %r = kvtile.dot %a, %b acc %acc
      : !kvtile.tile<16x64xbf16, #a>, !kvtile.slot<64x64xbf16> -> <16x64xf32>
  return
}

// -----

#b = #kvtile.layout<mma_a, 1x1>
func.func @right(%a: !kvtile.slot<16x64xbf16>, %b: !kvtile.tile<64x64xbf16, #b>,
                 %acc: !kvtile.tile<16x64xf32>) {
  // expected-error@below {{'kvtile.dot' op expected a right tile of mma_b, got '!kvtile.tile<64x64xbf16, #kvtile.layout<mma_a, 1x1>>'}}
  %r = kvtile.dot %a, %b acc %acc
      : !kvtile.slot<16x64xbf16>, !kvtile.tile<64x64xbf16, #b> -> <16x64xf32>
  return
}

// -----

// A warp that has some rows of the left operand, and all of the result.
#a = #kvtile.layout<mma_a, 4x1>
#c = #kvtile.layout<mma_c, 1x1>
func.func @rows(%a: !kvtile.tile<64x64xbf16, #a>, %b: !kvtile.slot<64x64xbf16>,
                %acc: !kvtile.tile<64x64xf32, #c>) {
  // expected-error@below {{'kvtile.dot' op expected operands in the warps that hold their rows or columns of #kvtile.layout<mma_c, 1x1>, got #kvtile.layout<mma_a, 4x1>}}
  %r = kvtile.dot %a, %b acc %acc
      : !kvtile.tile<64x64xbf16, #a>, !kvtile.slot<64x64xbf16> -> <64x64xf32, #c>
  return
}

// -----

// Parts of K that the warps sum are no parts of the result.
#a = #kvtile.layout<mma_a, 1x4>
#c = #kvtile.layout<mma_c, 1x4>
func.func @parts(%a: !kvtile.tile<16x64xbf16, #a>, %b: !kvtile.slot<64x64xbf16>,
                 %acc: !kvtile.tile<16x64xf32, #c>) {
  // expected-error@below {{'kvtile.dot' op expected operands in the warps}}
  %r = kvtile.dot %a, %b acc %acc
      : !kvtile.tile<16x64xbf16, #a>, !kvtile.slot<64x64xbf16> -> <16x64xf32, #c>
  return
}

// -----

// Two cuts of K.
#a = #kvtile.layout<mma_a, 1x4>
#b = #kvtile.layout<mma_b, 1x1>
#c = #kvtile.layout<mma_c, 1x1>
func.func @cuts(%a: !kvtile.tile<16x64xbf16, #a>, %b: !kvtile.tile<64x64xbf16, #b>,
                %acc: !kvtile.tile<16x64xf32, #c>) {
  // expected-error@below {{'kvtile.dot' op expected operands in the warps}}
  %r = kvtile.dot %a, %b acc %acc
      : !kvtile.tile<16x64xbf16, #a>, !kvtile.tile<64x64xbf16, #b> -> <16x64xf32, #c>
  return
}

// -----

func.func @fill() {
  // expected-error@below {{'kvtile.fill' op expected a tile of f32, got '!kvtile.tile<16x64xbf16>'}}
  %r = kvtile.fill 0.0 : !kvtile.tile<16x64xbf16>
  return
}

// -----

func.func @modifiers(%products: !kvtile.tile<16x64xf32>, %item: !kvtile.item, %n: i32) {
  // expected-error@below {{'kvtile.score' op expected modifiers of scores, got 3 : i64}}
  %r = kvtile.score %products at %item, %n, %n, %n modifiers [#kvc.causal, 3] scale 1.0
      group 4 query_heads 8 keys_axis 1 : <16x64xf32>
  return
}

// -----

func.func @group(%products: !kvtile.tile<16x64xf32>, %item: !kvtile.item, %n: i32) {
  // expected-error@below {{attribute 'group' failed to satisfy constraint}}
  %r = kvtile.score %products at %item, %n, %n, %n modifiers [] scale 1.0
      group 0 query_heads 8 keys_axis 1 : <16x64xf32>
  return
}

// -----

func.func @query_heads(%products: !kvtile.tile<16x64xf32>, %item: !kvtile.item, %n: i32) {
  // expected-error@below {{'kvtile.score' op expected query heads (8) to be a multiple of the group (3)}}
  %r = kvtile.score %products at %item, %n, %n, %n modifiers [] scale 1.0
      group 3 query_heads 8 keys_axis 1 : <16x64xf32>
  return
}

// -----

// A maximum for each column, of a tile whose columns are keys.
func.func @lines(%scores: !kvtile.tile<16x64xf32>, %max: !kvtile.vec<64, 1>) {
  // expected-error@below {{'kvtile.softmax_step' op expected a value for each of 16 rows (axis 0), got '!kvtile.vec<64, 1>'}}
  %p:4 = kvtile.softmax_step %scores, %max, %max scale 1.0 keys_axis 1
      : <16x64xf32>, <64, 1>
  return
}

// -----

func.func @scale(%scores: !kvtile.tile<16x64xf32>, %max: !kvtile.vec<16, 0>) {
  // expected-error@below {{'kvtile.softmax_step' op expected a scale above 0, got -1.000000e+00}}
  %p:4 = kvtile.softmax_step %scores, %max, %max scale -1.0 keys_axis 1
      : <16x64xf32>, <16, 0>
  return
}

// -----

func.func @exchange(%scores: !kvtile.tile<64x8xf32>, %max: !kvtile.vec<8, 1>) {
  // expected-error@below {{'kvtile.softmax_step' op expected keys_axis 1 to exchange maxima, got 0}}
  %p:4 = kvtile.softmax_step %scores, %max, %max scale 1.0 keys_axis 0 exchange 0
      : <64x8xf32>, <8, 1>
  return
}

// -----

#rows = #kvtile.layout<mma_c, 4x1>
func.func @exchange_rows(%scores: !kvtile.tile<64x64xf32, #rows>,
                         %max: !kvtile.vec<64, 0, #rows>) {
  // expected-error@below {{'kvtile.softmax_step' op expected all rows in each warp to exchange maxima}}
  %p:4 = kvtile.softmax_step %scores, %max, %max scale 1.0 keys_axis 1 exchange 0
      : <64x64xf32, #rows>, <64, 0, #rows>
  return
}

// -----

// Factors of other warps' rows.
#whole = #kvtile.layout<mma_c, 1x1>
#rows = #kvtile.layout<mma_c, 4x1>
func.func @factors(%tile: !kvtile.tile<64x64xf32, #whole>, %factors: !kvtile.vec<64, 0, #rows>) {
  // expected-error@below {{'kvtile.scale' op expected values in the warps that hold '!kvtile.tile<64x64xf32, #kvtile.layout<mma_c, 1x1>>', got '!kvtile.vec<64, 0, #kvtile.layout<mma_c, 4x1>>'}}
  %r = kvtile.scale %tile by %factors
      : <64x64xf32, #whole>, !kvtile.vec<64, 0, #rows>
  return
}

// -----

func.func @convert(%tile: !kvtile.tile<16x64xf32>) {
  // expected-error@below {{'kvtile.convert' op expected a tile of 16x64 elements of f16 or bf16, got '!kvtile.tile<64x16xbf16>'}}
  %r = kvtile.convert %tile : !kvtile.tile<16x64xf32> -> !kvtile.tile<64x16xbf16>
  return
}

// -----

#whole = #kvtile.layout<mma_c, 1x1>
#a = #kvtile.layout<mma_a, 1x4>
func.func @convert_warps(%tile: !kvtile.tile<16x64xf32, #whole>) {
  // expected-error@below {{'kvtile.convert' op expected the tile to stay in its warps}}
  %r = kvtile.convert %tile : !kvtile.tile<16x64xf32, #whole> -> !kvtile.tile<16x64xbf16, #a>
  return
}

// -----

func.func @store(%tile: !kvtile.tile<16x64xf32>, %slot: !kvtile.slot<8x64xbf16>) {
  // expected-error@below {{'kvtile.store_tile' op expected a slot of at least 16x64 elements, got '!kvtile.slot<8x64xbf16>'}}
  kvtile.store_tile %tile to %slot : !kvtile.tile<16x64xf32>, !kvtile.slot<8x64xbf16>
  return
}

// -----

// What lies past the tile is no output.
func.func @finish(%acc: !kvtile.tile<16x64xf32>, %max: !kvtile.vec<16, 0>, %item: !kvtile.item,
                  %n: i32, %out: !kvtile.rows<8x128xbf16>, %parts: !llvm.ptr<1>) {
  // expected-error@below {{'kvtile.finish' op expected a width that is a multiple of 8 up to 64, got 128}}
  kvtile.finish %acc, %max, %max form heads_m at %item, %n, %n group 4 width 128
      query_tokens 1 exchange 0 to %out parts %parts, %parts
      : !kvtile.tile<16x64xf32>, <16, 0>, !kvtile.rows<8x128xbf16>, !llvm.ptr<1>, !llvm.ptr<1>
  return
}

// -----

// Blocks merge as warps do.
func.func @finish_cluster(%acc: !kvtile.tile<16x64xf32>, %max: !kvtile.vec<16, 0>,
                          %item: !kvtile.item, %n: i32, %out: !kvtile.rows<8x64xbf16>,
                          %parts: !llvm.ptr<1>) {
  // expected-error@below {{'kvtile.finish' op expected no cluster with form rows; supported: heads_m, tokens_m, columns}}
  kvtile.finish %acc, %max, %max form rows at %item, %n, %n group 4 width 64
      query_tokens 1 exchange 0 cluster 8 to %out parts %parts, %parts
      : !kvtile.tile<16x64xf32>, <16, 0>, !kvtile.rows<8x64xbf16>, !llvm.ptr<1>, !llvm.ptr<1>
  return
}

// -----

func.func @finish_output(%acc: !kvtile.tile<16x64xf32>, %max: !kvtile.vec<16, 0>,
                         %item: !kvtile.item, %n: i32, %out: !kvtile.rows<8x128xbf16>,
                         %parts: !llvm.ptr<1>) {
  // expected-error@below {{'kvtile.finish' op expected output rows of 64 elements of f32, f16 or bf16, got '!kvtile.rows<8x128xbf16>'}}
  kvtile.finish %acc, %max, %max form heads_m at %item, %n, %n group 4 width 64
      query_tokens 1 exchange 0 to %out parts %parts, %parts
      : !kvtile.tile<16x64xf32>, <16, 0>, !kvtile.rows<8x128xbf16>, !llvm.ptr<1>, !llvm.ptr<1>
  return
}

// -----

#rows = #kvtile.layout<mma_c, 4x1>
func.func @finish_form(%acc: !kvtile.tile<64x64xf32, #rows>, %max: !kvtile.vec<64, 0, #rows>,
                       %item: !kvtile.item, %n: i32, %out: !kvtile.rows<8x64xbf16>,
                       %parts: !llvm.ptr<1>) {
  // expected-error@below {{'kvtile.finish' op expected sums as form heads_m lays them out}}
  kvtile.finish %acc, %max, %max form heads_m at %item, %n, %n group 4 width 64
      query_tokens 1 exchange 0 to %out parts %parts, %parts
      : !kvtile.tile<64x64xf32, #rows>, <64, 0, #rows>, !kvtile.rows<8x64xbf16>,
        !llvm.ptr<1>, !llvm.ptr<1>
  return
}

// -----

func.func @finish_lse(%acc: !kvtile.tile<16x64xf32>, %max: !kvtile.vec<16, 0>,
                      %item: !kvtile.item, %n: i32, %out: !kvtile.rows<8x64xbf16>,
                      %parts: !llvm.ptr<1>) {
  // expected-error@below {{'kvtile.finish' op expected one f32 a head for the log-sum-exp, got '!kvtile.rows<8x64xbf16>'}}
  kvtile.finish %acc, %max, %max form heads_m at %item, %n, %n group 4 width 64
      query_tokens 1 exchange 0 to %out lse %out parts %parts, %parts
      : !kvtile.tile<16x64xf32>, <16, 0>, !kvtile.rows<8x64xbf16>, lse !kvtile.rows<8x64xbf16>,
        !llvm.ptr<1>, !llvm.ptr<1>
  return
}

// -----

func.func @finish_sinks(%acc: !kvtile.tile<16x64xf32>, %max: !kvtile.vec<16, 0>,
                        %item: !kvtile.item, %n: i32, %out: !kvtile.rows<8x64xbf16>,
                        %sinks: !kvtile.heads<8xf16>, %parts: !llvm.ptr<1>) {
  // expected-error@below {{'kvtile.finish' op expected sinks of f32, got '!kvtile.heads<8xf16>'}}
  kvtile.finish %acc, %max, %max form heads_m at %item, %n, %n group 4 width 64
      query_tokens 1 exchange 0 to %out sinks %sinks parts %parts, %parts
      : !kvtile.tile<16x64xf32>, <16, 0>, !kvtile.rows<8x64xbf16>, sinks !kvtile.heads<8xf16>,
        !llvm.ptr<1>, !llvm.ptr<1>
  return
}
