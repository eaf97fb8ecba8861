//===- KVCDenseOps.td - attention before paging ------------*- tablegen -*-===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Operations on plain tensors, which raising makes of a model's own code and paging
// turns into their counterparts on a cache.
//===----------------------------------------------------------------------===//
#ifndef KVC_DENSE_OPS
#define KVC_DENSE_OPS

include "kvc/Dialect/KVC/IR/KVCAttributes.td"
include "kvc/Dialect/KVC/IR/KVCTypes.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def KVC_DenseTensor : RankedTensorOf<[F64, F32, F16, BF16]>;

def KVC_DenseAttentionOp
    : KVC_Op<"dense_attention", [Pure, AttrSizedOperandSegments]> {
  let summary = "attention over keys and values that are plain tensors";
  let description = [{
    `kvc.attention` without a cache: for each batch entry b, KV head h, query head g
    of the group that shares it, query i and key j,

    ```
    s_j   = modify(scale * sum over terms (q_i . k_j)) + mask_ij      modifiers in order
    lse   = log(sum over kept j of exp(s_j) + exp(sink))
    out_i = sum over kept j of exp(s_j - lse) * value_j
    ```

    `maps` says which dimension of each tensor is which: one affine map an operand, from
    (b, h, g, i, j, w) to its dimensions, in the order query and key of each term, value,
    mask, sinks, result. Each result of a map is a dimension, or 0 for one of size 1. w is
    the width, summed in a term; that of the value is the result's. A key whose map lacks g
    is shared by the group: there are no maps for heads that are repeated. A transpose is
    a map too.

    Queries are the last ones of the keys, so that `#kvc.causal` is bottom-right, and
    positions count from the first key. A mask is added to the modified score, or, of i1,
    keeps the keys for which it holds. `sinks` are logits that take part in the softmax
    without a value. Sums are in f32, or in f64 if the elements are f64. A query that keeps
    no key gives 0.

    Source: scaled dot-product attention (arXiv:1706.03762) with grouped heads
    (arXiv:2305.13245).

    Example, 32 query heads over 8 KV heads:

    ```mlir
    #q = affine_map<(b, h, g, i, j, w) -> (b, h, g, i, w)>
    #kv = affine_map<(b, h, g, i, j, w) -> (b, h, j, w)>
    %out = kvc.dense_attention terms(%q * %k) value(%v) score [#kvc.causal]
        maps [#q, #kv, #kv, #q] {scale = 0.08838834764 : f32}
        : (tensor<?x8x4x?x128xbf16>, tensor<?x8x?x128xbf16>, tensor<?x8x?x128xbf16>)
          -> tensor<?x8x4x?x128xbf16>
    ```

    Constraints:
    1. there are 1 to 64 terms, and a map for each operand and the result;
    2. maps have 6 dimensions and no symbol, as many results as their tensor's rank, and
       each result is a dimension, not used twice, or 0 where the tensor's size is 1;
    3. queries and result have all dimensions but j, of which w has to be there; keys and
       values all but i, of which j and w have to; a mask all but w, of which j has to;
       sinks h and g. One that no query, key or value has is of size 1;
    4. dimensions that are static agree, w within a term, and of value and result;
    5. elements of queries, keys, values and result are of one type;
    6. score modifiers implement the score interface, no kind occurs twice, and a window
       comes with causal;
    7. the scale is finite.
  }];
  let arguments = (ins Variadic<KVC_DenseTensor>:$queries, Variadic<KVC_DenseTensor>:$keys,
                       KVC_DenseTensor:$value,
                       Optional<RankedTensorOf<[F64, F32, F16, BF16, I1]>>:$mask,
                       Optional<RankedTensorOf<[F64, F32, F16, BF16]>>:$sinks,
                       F32Attr:$scale,
                       DefaultValuedOptionalAttr<ArrayAttr, "{}">:$score,
                       AffineMapArrayAttr:$maps);
  let results = (outs KVC_DenseTensor:$output);
  let assemblyFormat = [{
    `terms` `` custom<DenseTerms>($queries, $keys) `value` `(` $value `)`
    (`mask` `(` $mask^ `)`)? (`sinks` `(` $sinks^ `)`)?
    (`score` $score^)? `maps` $maps attr-dict
    `:` functional-type(operands, results)
  }];
  let extraClassDeclaration = [{
    /// Dimensions of the maps.
    enum Dim : unsigned { Batch, KvHead, Group, Query, Key, Width };
    static constexpr unsigned kNumDims = 6;

    ::mlir::AffineMap getQueryMap(unsigned term) { return getMap(2 * term); }
    ::mlir::AffineMap getKeyMap(unsigned term) { return getMap(2 * term + 1); }
    ::mlir::AffineMap getValueMap() { return getMap(2 * getQueries().size()); }
    /// Null if there is no mask, and no sinks.
    ::mlir::AffineMap getMaskMap();
    ::mlir::AffineMap getSinksMap();
    ::mlir::AffineMap getOutputMap() { return getMap(getMaps().size() - 1); }
    /// The score modifiers, in order.
    ::llvm::SmallVector<::kvc::ScoreModifierInterface> getModifiers();

    /// The dimension of `dim` in a tensor with `map`, if it has it.
    static std::optional<unsigned> findDim(::mlir::AffineMap map, Dim dim);

  private:
    ::mlir::AffineMap getMap(unsigned index) {
      return ::llvm::cast<::mlir::AffineMapAttr>(getMaps()[index]).getValue();
    }
  }];
}

def KVC_DenseRopeOp : KVC_Op<"dense_rope", [Pure, AllTypesMatch<["input", "output"]>]> {
  let summary = "rotary position embedding of a plain tensor";
  let description = [{
    `kvc.rope` at positions that are given: rotates pairs of the first `rotary_width`
    elements along the last dimension by the angle `position * f_p`, and copies the rest.
    The dimensions `position_dims` of the input are those of `positions`, in their order.
    `frequencies`, `theta` and `style` are as for `kvc.rope`, and so is the precision:
    rows are rounded once, f64 is f64 throughout.

    Source: RoFormer (arXiv:2104.09864).

    Example:

    ```mlir
    %r = kvc.dense_rope %q positions(%p) {position_dims = array<i64: 0, 2>,
        rotary_width = 128 : i64, theta = 5.0e5 : f64}
        : tensor<?x32x?x128xbf16>, tensor<?x?xi64>
    ```

    Constraints:
    1. the input has rank 1 or more and a static last dimension, which is no position
       dimension; position dimensions are of the input, ascending, one for each of
       the positions', and equal where static;
    2. the rotary width is even, at least 2 and at most the width;
    3. exactly one of `theta` (finite, above 0) and frequencies is given, the
       latter of shape [rotary_width / 2].
  }];
  let arguments = (ins KVC_DenseTensor:$input, RankedTensorOf<[I32, I64]>:$positions,
                       Optional<RankedTensorOf<[F32]>>:$frequencies,
                       OptionalAttr<F64Attr>:$theta,
                       DenseI64ArrayAttr:$position_dims,
                       I64Attr:$rotary_width,
                       DefaultValuedAttr<KVC_RopeStyleAttr, "::kvc::RopeStyle::Half">:$style);
  let results = (outs KVC_DenseTensor:$output);
  let assemblyFormat = [{
    $input `positions` `(` $positions `)`
    (`frequencies` `(` $frequencies^ `:` type($frequencies) `)`)? attr-dict
    `:` type($input) `,` type($positions)
  }];
}

//===----------------------------------------------------------------------===//
// Quantisation
//===----------------------------------------------------------------------===//

def KVC_CodesTensor : RankedTensorOf<[I8, I<4>, F8E4M3FN, F8E5M2]>;
def KVC_ScalesTensor : RankedTensorOf<[F32, F16]>;

def KVC_QuantizeOp : KVC_Op<"quantize", [Pure]> {
  let summary = "numbers of a plain tensor as codes";
  let description = [{
    What `kvc.append` stores of rows for a component with storage `element` and `scale`:
    codes of each number, and the scales and zero points that it computes, all of them as
    `#kvc.scale` says, or codes without scales if there is no `scale`. The last dimension is
    the width.

    Scales, and zero points after them, have the dimensions of the input, but for the last,
    which has an element for each group along the width: one if the scheme is `token`. They
    are results if they are computed here. Static ones are operands; any other of their
    dimensions may be 1, which all elements then share. A constant scale is neither.

    Codes of i4 are of type i4, or of i8, a code each. With `biased` they count from 0, as 8
    is added, and the zero points, of which 8 times the scale is subtracted, are what the
    code 0 stands for.

    Example:

    ```mlir
    %codes, %scales = kvc.quantize %k to i8 scale<f32, token>
        : (tensor<?x8x?x128xbf16>) -> (tensor<?x8x?x128xi8>, tensor<?x8x?x1xf32>)
    %f8 = kvc.quantize %v by(%s) to f8E4M3FN scale<f32, head, static>
        : (tensor<?x8x?x128xbf16>, tensor<1x8x1x1xf32>) -> tensor<?x8x?x128xf8E4M3FN>
    ```

    Constraints:
    1. `element` and `scale` are what a `#kvc.component` may have together;
    2. numbers and codes have one shape, of rank 1 or more, whose last dimension is static
       and at least 1; the codes are of type `element`, or of i8 for i4;
    3. there is a tensor of scales unless there is no `scale` or a constant, and one of zero
       points if it has them, among the operands if they are static, else among the results;
    4. they are of the type that `scale` says, and shaped as above;
    5. `biased` is for zero points.
  }];
  let arguments = (ins RankedTensorOf<[F32, F16, BF16]>:$input,
                       Variadic<KVC_ScalesTensor>:$staticScales, TypeAttr:$element,
                       OptionalAttr<KVC_ScaleAttr>:$scale, UnitAttr:$biased);
  let results = (outs KVC_CodesTensor:$codes, Variadic<KVC_ScalesTensor>:$scales);
  let assemblyFormat = [{
    $input (`by` `(` $staticScales^ `)`)? `to` $element (`scale` `` $scale^)?
    (`biased` $biased^)? attr-dict `:` functional-type(operands, results)
  }];
  let hasVerifier = 1;
}

def KVC_DequantizeOp : KVC_Op<"dequantize", [Pure]> {
  let summary = "the numbers that codes of a plain tensor stand for";
  let description = [{
    What `kvc.attention` reads of a component with storage `element` and `scale`: for each
    code c the number `scale * c`, `scale * c + zero`, or c, computed in f32 and rounded once
    to the type of the result. Codes, scales and zero points are as for `kvc.quantize`, but
    any dimension of the latter except the last may be 1.

    Example:

    ```mlir
    %k = kvc.dequantize %codes by(%scales) from i8 scale<f32, token>
        : (tensor<?x8x?x128xi8>, tensor<?x8x?x1xf32>) -> tensor<?x8x?x128xbf16>
    ```

    Constraints:
    1. as for `kvc.quantize`, scales and zero points being operands.
  }];
  let arguments = (ins KVC_CodesTensor:$codes, Variadic<KVC_ScalesTensor>:$scales,
                       TypeAttr:$element, OptionalAttr<KVC_ScaleAttr>:$scale);
  let results = (outs RankedTensorOf<[F32, F16, BF16]>:$output);
  let assemblyFormat = [{
    $codes (`by` `(` $scales^ `)`)? `from` $element (`scale` `` $scale^)?
    attr-dict `:` functional-type(operands, results)
  }];
  let hasVerifier = 1;
}

#endif // KVC_DENSE_OPS
