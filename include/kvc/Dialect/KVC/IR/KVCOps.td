//===- KVCOps.td - operations of the kvc dialect -----------*- tablegen -*-===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef KVC_OPS
#define KVC_OPS

include "kvc/Dialect/KVC/IR/KVCDenseOps.td"
include "kvc/Dialect/KVC/IR/KVCTypes.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

/// [tokens or parts, heads, width]
def KVC_RowsTensor : RankedTensorOf<[F32, F16, BF16]>;
/// [tokens, heads]
def KVC_LSETensor : RankedTensorOf<[F32]>;

//===----------------------------------------------------------------------===//
// Append
//===----------------------------------------------------------------------===//

def KVC_AppendOp : KVC_Op<"append"> {
  let summary = "writes the new tokens' rows into the cache";
  let description = [{
    Stores row `t` of each value at slot `slots[t]` of the batch, in the named
    component. A slot of -1 is ignored, and nothing else is written. Elements are
    copied bit for bit, or quantised as `#kvc.scale` says, with their scales and zero
    points where these are not static.

    Each value has shape [tokens, heads, width] of its component, any strides
    with a contiguous last dimension. The optional result counts, for each token
    [tokens], the elements that were NaN or infinite in values of quantised
    components, whose codes cannot say so; 0 for a slot of -1.

    Example:

    ```mlir
    kvc.append %cache[k: %k, v: %v] at %batch
        : !kvc.cache<page = 16, k: 8x128xf16, v: 8x128xf16>,
          tensor<?x8x128xf16>, tensor<?x8x128xf16>
    ```

    Constraints:
    1. at least one component is written, each at most once, each of the cache;
    2. values have rank 3 and their component's heads, width and, unless it is
       quantised, element type;
    3. all values have the same number of tokens, where it is static;
    4. the count has the tokens of the values, and a component is quantised.
  }];
  let arguments = (ins Arg<KVC_CacheType, "cache", [MemWrite]>:$cache,
                       KVC_AnyBatch:$batch,
                       Variadic<KVC_RowsTensor>:$values,
                       StrArrayAttr:$components);
  let results = (outs Optional<RankedTensorOf<[I32]>>:$nonfinite);
  let assemblyFormat = [{
    $cache `` custom<NamedValues>($components, $values) `at` $batch attr-dict
    `:` qualified(type($cache)) `,` type($values) (`->` type($nonfinite)^)?
  }];
}

//===----------------------------------------------------------------------===//
// Attention
//===----------------------------------------------------------------------===//

def KVC_AttentionOp : KVC_Op<"attention", [AttrSizedOperandSegments]> {
  let summary = "attention of new queries over a paged key-value cache";
  let description = [{
    For each sequence, query token i and query head h, with keys j over the
    tokens of the sequence's cache:

    ```
    s_j   = modify(scale * sum over terms (q_i . c_j))     modifiers in order
    lse   = log(sum over kept j of exp(s_j) + exp(sink_h))
    out   = sum over kept j of exp(s_j - lse) * value_j
    ```

    Each term pairs a query tensor [tokens, query heads, width] with a component
    of the cache; each group of `query heads / KV heads` consecutive query heads
    shares a KV head. The output is [tokens, query heads, width of the value].
    `score` lists modifiers (`#kvc.causal`, `#kvc.window`, `#kvc.softcap`, any
    attribute with the score interface); scores are multiplied by `scale` first.

    `sinks` [query heads] are logits, in the units of the scaled score, that
    take part in the softmax without a value (gpt-oss); they count once, however
    the work is split, and the log-sum-exp includes them. The optional second
    result is the log-sum-exp [tokens, query heads], in natural-log units.

    A query that sees no key gives 0, and log-sum-exp `-inf` (its sink, if there
    are sinks). With `deterministic`, the bits of a sequence's results do not depend
    on the rest of a batch of the same phase, nor on the device's number of processors:
    its keys are cut at fixed places. Phases are decode, where no sequence of the batch has
    more than one new token, and prefill, and have kernels of their own: a sequence with one
    new token may have other bits beside a prompt than beside others like it. Keys that no query may see are not read, nor is any slot that no
    sequence owns. Reads `cache`.

    Source: scaled dot-product attention (arXiv:1706.03762) with grouped heads
    (arXiv:2305.13245) over a paged cache (arXiv:2309.06180).

    Example:

    ```mlir
    %out, %lse = kvc.attention %cache at %batch terms(%q * k) value(v)
        sinks(%sinks : tensor<32xf32>) score [#kvc.causal, #kvc.window<128>]
        {scale = 0.125 : f32}
        : !kvc.cache<page = 16, k: 8x128xf16, v: 8x128xf16>, tensor<?x32x128xf16>
          -> tensor<?x32x128xf16>, tensor<?x32xf32>
    ```

    Constraints:
    1. there are 1 to 64 terms; components of terms and value are the cache's;
    2. queries have rank 3, the width of their component and the same numbers of
       tokens and query heads;
    3. query heads, 1 to 2^31 - 1, are a multiple of each component's KV heads, which
       agree;
    4. the output has the queries' tokens and heads, and the value's width;
    5. the log-sum-exp has the output's tokens and heads;
    6. sinks have one element a query head;
    7. score modifiers implement the score interface, no kind occurs twice, and
       a window comes with causal;
    8. the scale is finite.
  }];
  let arguments = (ins Arg<KVC_CacheType, "cache", [MemRead]>:$cache,
                       KVC_AnyBatch:$batch,
                       Variadic<KVC_RowsTensor>:$queries,
                       Optional<RankedTensorOf<[F32]>>:$sinks,
                       StrArrayAttr:$components,
                       StrAttr:$value,
                       F32Attr:$scale,
                       DefaultValuedOptionalAttr<ArrayAttr, "{}">:$score,
                       UnitAttr:$deterministic,
                       OptionalAttr<AnyAttr>:$schedule);
  let results = (outs KVC_RowsTensor:$output, Optional<KVC_LSETensor>:$lse);
  let assemblyFormat = [{
    $cache `at` $batch `terms` `` custom<Terms>($components, $queries)
    `value` `(` custom<Name>($value) `)` (`sinks` `(` $sinks^ `:` type($sinks) `)`)?
    (`score` $score^)? attr-dict
    `:` qualified(type($cache)) `,` type($queries)
    `->` type($output) (`,` type($lse)^)?
  }];
  let extraClassDeclaration = [{
    /// Component of term `index`, and of the value.
    ::kvc::ComponentAttr getTermComponent(unsigned index);
    ::kvc::ComponentAttr getValueComponent();
    int64_t getQueryHeads();
    /// Query heads that share a KV head.
    int64_t getGroup();
    /// The score modifiers, in order.
    ::llvm::SmallVector<::kvc::ScoreModifierInterface> getModifiers();
  }];
}

//===----------------------------------------------------------------------===//
// Merge
//===----------------------------------------------------------------------===//

def KVC_MergeOp : KVC_Op<"merge", [Pure, AttrSizedOperandSegments]> {
  let summary = "merges attention over disjoint sets of keys";
  let description = [{
    Given partial outputs `o_p` [tokens, heads, width] and their log-sum-exps
    `l_p` [tokens, heads] (natural log), over disjoint sets of keys:

    ```
    lse = log(sum over p of exp(l_p) + exp(sink))
    out = sum over p of exp(l_p - lse) * o_p
    ```

    A part with log-sum-exp `-inf` is empty and counts for nothing, whatever its
    output holds; if all are, the output is 0 and the log-sum-exp `-inf`. Sinks
    count once: give them here and to none of the parts, or to one part only.

    Example:

    ```mlir
    %o, %l = kvc.merge outputs(%o0, %o1 : tensor<?x32x128xf16>, tensor<?x32x128xf16>)
        lses(%l0, %l1 : tensor<?x32xf32>, tensor<?x32xf32>)
        : tensor<?x32x128xf16>, tensor<?x32xf32>
    ```

    Constraints:
    1. there are as many outputs as log-sum-exps, 1 to 1024;
    2. all outputs have the same type, of rank 3, which is the result's; heads and
       width are static, their product from 1 to 2^31 - 1;
    3. log-sum-exps have the outputs' tokens and heads;
    4. sinks have one element a head.
  }];
  let arguments = (ins Variadic<KVC_RowsTensor>:$outputs,
                       Variadic<KVC_LSETensor>:$lses,
                       Optional<RankedTensorOf<[F32]>>:$sinks);
  let results = (outs KVC_RowsTensor:$output, KVC_LSETensor:$lse);
  let assemblyFormat = [{
    `outputs` `(` $outputs `:` type($outputs) `)` `lses` `(` $lses `:` type($lses) `)`
    (`sinks` `(` $sinks^ `:` type($sinks) `)`)? attr-dict
    `:` type($output) `,` type($lse)
  }];
}

//===----------------------------------------------------------------------===//
// Rope
//===----------------------------------------------------------------------===//

def KVC_RopeOp : KVC_Op<"rope", [Pure, AllTypesMatch<["input", "output"]>]> {
  let summary = "rotary position embedding at the batch's positions";
  let description = [{
    Rotates pairs of the first `rotary_width` elements of each row by the angle
    `positions[t] * f_p`, pair p of `rotary_width / 2`; the rest is copied.
    `half` pairs element p with p + rotary_width / 2, `interleaved` pairs 2p with
    2p + 1. `f_p` is element p of `frequencies` [rotary_width / 2] if given,
    else `theta ^ (-2 p / rotary_width)` (RoFormer, arXiv:2104.09864). Angles,
    sines and cosines are computed in f64 in the definition and as f32 products
    of exactly reduced angles elsewhere; rows are rounded once.

    Example:

    ```mlir
    %r = kvc.rope %q at %batch {theta = 5.0e5 : f64, rotary_width = 128 : i64}
        : tensor<?x32x128xbf16>
    %s = kvc.rope %q at %batch frequencies(%f : tensor<32xf32>)
        {style = #kvc<rope_style interleaved>, rotary_width = 64 : i64}
        : tensor<?x32x128xbf16>
    ```

    Constraints:
    1. the input has rank 3, and the result has its type; heads and width are static,
       their product from 1 to 2^31 - 1;
    2. the rotary width is even, at least 2 and at most the width;
    3. exactly one of `theta` (finite, above 0) and frequencies is given, the
       latter of shape [rotary_width / 2].
  }];
  let arguments = (ins KVC_RowsTensor:$input, KVC_AnyBatch:$batch,
                       Optional<RankedTensorOf<[F32]>>:$frequencies,
                       OptionalAttr<F64Attr>:$theta,
                       I64Attr:$rotary_width,
                       DefaultValuedAttr<KVC_RopeStyleAttr, "::kvc::RopeStyle::Half">:$style);
  let results = (outs KVC_RowsTensor:$output);
  let assemblyFormat = [{
    $input `at` $batch (`frequencies` `(` $frequencies^ `:` type($frequencies) `)`)? attr-dict
    `:` type($input)
  }];
}

//===----------------------------------------------------------------------===//
// The edge: caches and batches that somebody else laid out
//===----------------------------------------------------------------------===//

def KVC_CacheFromBuffersOp : KVC_Op<"cache_from_buffers", [Pure]> {
  let summary = "a cache in the memory of an existing engine";
  let description = [{
    Makes a cache of row-major components from strided buffers, in place.
    `order` is `nhd` ([pages, page, heads, width]) or `hnd`
    ([pages, heads, page, width]). There is one buffer an array of the cache: of a
    component, then of its scales and of its zero points ([..., groups], or, if
    static, [heads, groups]; one head if they are per tensor); or, with `fused`, a
    single one with a second dimension that counts the components:
    `[pages, components, ...]`. Buffers of i4 are bytes of two elements: half the width
    of i8. The innermost stride is 1; the others are what the memref says.

    Example:

    ```mlir
    %c = kvc.cache_from_buffers %k, %v order nhd
        : memref<?x16x8x128xbf16>, memref<?x16x8x128xbf16>
        -> !kvc.cache<page = 16, k: 8x128xbf16, v: 8x128xbf16>
    %d = kvc.cache_from_buffers %kv order hnd fused
        : memref<?x2x8x16x128xbf16> -> !kvc.cache<page = 16, k: 8x128xbf16, v: 8x128xbf16>
    ```

    Constraints:
    1. one buffer an array of the cache, or exactly one if fused;
    2. buffers have the dimensions and element type of their array, static
       but for the pages, and innermost stride 1;
    3. components are row-major; if fused they have the same shape and element, and no
       scales in memory.
  }];
  let arguments = (ins Variadic<AnyMemRef>:$buffers,
                       KVC_BufferOrderAttr:$order,
                       UnitAttr:$fused);
  let results = (outs KVC_CacheType:$cache);
  let assemblyFormat = [{
    $buffers `order` custom<BufferOrder>($order) (`fused` $fused^)? attr-dict
    `:` type($buffers) `->` qualified(type($cache))
  }];
}

class KVC_BatchFromOp<string opMnemonic> : KVC_Op<opMnemonic, [Pure]> {
  let results = (outs KVC_AnyBatch:$batch);
}

def KVC_BatchFromBlockTableOp : KVC_BatchFromOp<"batch_from_block_table"> {
  let summary = "a batch from a padded block table";
  let description = [{
    Makes a batch from arrays: `query_start` [sequences + 1], `kv_lens`
    [sequences], `block_table` [sequences, pages] (row i holds the page ids of
    sequence i, padded with anything), `slots` [tokens], `positions` [tokens].
    `max_query_len` and `max_kv_len` are upper bounds; a call that exceeds them
    is refused.

    Example:

    ```mlir
    %b = kvc.batch_from_block_table %start, %lens, %table, %slots, %pos
        max_query_len 1 max_kv_len 8192
        : tensor<?xi32>, tensor<?xi32>, tensor<?x?xi32>, tensor<?xi64>, tensor<?xi32>
    ```

    Constraints:
    1. the maxima are between 0 and 2^31 - 1.
  }];
  let arguments = (ins 1DTensorOf<[I32]>:$query_start, 1DTensorOf<[I32]>:$kv_lens,
                       2DTensorOf<[I32]>:$block_table, 1DTensorOf<[I64]>:$slots,
                       1DTensorOf<[I32]>:$positions,
                       I64Attr:$max_query_len, I64Attr:$max_kv_len);
  let assemblyFormat = [{
    $query_start `,` $kv_lens `,` $block_table `,` $slots `,` $positions
    `max_query_len` custom<Integer>($max_query_len)
    `max_kv_len` custom<Integer>($max_kv_len) attr-dict
    `:` type($query_start) `,` type($kv_lens) `,` type($block_table) `,`
    type($slots) `,` type($positions)
  }];
}

def KVC_BatchFromCSROp : KVC_BatchFromOp<"batch_from_csr"> {
  let summary = "a batch from page ids in compressed rows";
  let description = [{
    Like `kvc.batch_from_block_table`, with the pages of sequence i being
    `page_ids[page_start[i]]` up to `page_ids[page_start[i + 1] - 1]`:
    `page_start` [sequences + 1], `page_ids` [pages of all sequences].

    Example:

    ```mlir
    %b = kvc.batch_from_csr %start, %lens, %page_start, %page_ids, %slots, %pos
        max_query_len 64 max_kv_len 8192
        : tensor<?xi32>, tensor<?xi32>, tensor<?xi32>, tensor<?xi32>, tensor<?xi64>,
          tensor<?xi32>
    ```

    Constraints:
    1. the maxima are between 0 and 2^31 - 1.
  }];
  let arguments = (ins 1DTensorOf<[I32]>:$query_start, 1DTensorOf<[I32]>:$kv_lens,
                       1DTensorOf<[I32]>:$page_start, 1DTensorOf<[I32]>:$page_ids,
                       1DTensorOf<[I64]>:$slots, 1DTensorOf<[I32]>:$positions,
                       I64Attr:$max_query_len, I64Attr:$max_kv_len);
  let assemblyFormat = [{
    $query_start `,` $kv_lens `,` $page_start `,` $page_ids `,` $slots `,` $positions
    `max_query_len` custom<Integer>($max_query_len)
    `max_kv_len` custom<Integer>($max_kv_len) attr-dict
    `:` type($query_start) `,` type($kv_lens) `,` type($page_start) `,`
    type($page_ids) `,` type($slots) `,` type($positions)
  }];
}

#endif // KVC_OPS
