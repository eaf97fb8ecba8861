//===- Passes.td - passes on the kvc dialect ---------------*- tablegen -*-===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef KVC_DIALECT_KVC_TRANSFORMS_PASSES
#define KVC_DIALECT_KVC_TRANSFORMS_PASSES

include "mlir/Pass/PassBase.td"

def AssignCacheLayoutPass : Pass<"kvc-assign-cache-layout", "::mlir::ModuleOp"> {
  let summary = "choose the physical layout of every cache component";
  let description = [{
    Rewrites the cache types of a module, all functions alike, since they share
    the pool. With `layout=packed`, components that only ever serve as keys
    become `packed_key` and those that only ever serve as values become
    `packed_value`, which are the images that the CPU kernels read without
    shuffling; a component that is both, a page size that is not a multiple of
    16, and caches in somebody else's buffers stay row-major, with a remark. With
    `layout=row_major` every component becomes row-major. Types that
    already name a packed layout keep it under `layout=packed`.

    Codes of 8 and 4 bits have two kinds of images. `codes=pairs` gives these packed
    layouts, for products of pairs, to caches that bf16 queries alone read; `codes=tiles`
    gives them to caches whose products AMX tiles take. `codes=lanes`, for products in f32,
    gives `lane_key` to keys and leaves values row-major, as the other caches have it in any
    case.

    ```mlir
    // kvc-opt -kvc-assign-cache-layout="layout=packed"
    !kvc.cache<page = 16, k: 8x128xf16, v: 8x128xf16>
    // becomes
    !kvc.cache<page = 16, k: 8x128xf16 layout<packed_key>, v: 8x128xf16 layout<packed_value>>
    ```
  }];
  let options = [
    Option<"layout", "layout", "std::string", "\"packed\"",
           "packed or row_major">,
    Option<"codes", "codes", "std::string", "\"pairs\"",
           "pairs, tiles or lanes: what products of quantised components are of">
  ];
  let dependentDialects = ["::kvc::KVCDialect"];
}

def PlanPass : Pass<"kvc-plan", "::mlir::ModuleOp"> {
  let summary = "choose how each attention is computed, by a model of what it costs";
  let description = [{
    Writes a `#kvc.gpu_schedule` or a `#kvc.cpu_schedule` on every `kvc.attention`
    that has no schedule yet, so that a person can read or override it.

    The processor is `target`: one that is built in, by name, or `gpu` or `cpu` for
    the `kvc.target` of the module if it is of that kind, else for `h100_sxm` or
    `cpu`. Without the option it is the module's, else `h100_sxm`. Any other name is
    that of the module's `kvc.target`. `bandwidth` replaces what it says of memory.

    | built in | processors | memory | bf16, f16 | f32 | last cache |
    | --- | --- | --- | --- | --- | --- |
    | `h100_sxm` | 132 | 3.35 TB/s | 989.4 TFLOP/s | 66.9 TFLOP/s | 50 MiB |
    | `h200` | 132 | 4.8 TB/s | 989.4 TFLOP/s | 66.9 TFLOP/s | 50 MiB |
    | `cpu` | the host's | 16 GB/s a core, up to 200 GB/s | by `tier` | by `tier` | 2 MiB a core |

    Both GPUs have 227 KiB of shared memory a thread block, 228 KiB and 65536
    registers a multiprocessor, and launch a kernel behind another in 2.5
    microseconds. Planning.md says where each figure is from.

    On a GPU the candidates are the `#kvc.gpu_stream`s of the forms that are asked
    for; for each phase, the one with the shortest predicted time is taken, and of
    those that are equal the one with the fewest registers a thread. Planning.md
    describes the model. An attention that no candidate fits, or of elements that the
    matrix units do not take, gets no schedule, and a remark says why.

    On a CPU the register tiles are chosen so that the accumulators fit in the vector
    registers of the tier beside the operands, and few rows are padding.

    Two batches stand for those to come: decode, of `batch` sequences of `kv-len`
    tokens with one new token each; prefill, of `prefill-batch` sequences of `q-len`
    tokens that are all new.

    `print` writes a table to the error stream for each attention and phase: what was
    chosen, up to five others in the order of their times, and what does not fit, with
    the reason. A schedule that was there is costed too.

    ```mlir
    // kvc-opt -kvc-plan="target=h200 batch=32 print"
    ```
  }];
  let options = [
    Option<"target", "target", "std::string", "\"\"",
           "processor: h100_sxm, h200, cpu, gpu, or the name of the module's kvc.target">,
    Option<"bandwidth", "bandwidth", "double", "0.0",
           "bytes that memory gives a second, if not what the target says">,
    Option<"tier", "tier", "std::string", "\"\"",
           "cpu: amx, avx512_bf16, avx512, avx2 or plain (default: the host's)">,
    Option<"forms", "forms", "std::string", "::kvc::kDecodeForms.str()",
           "gpu: forms of decode, separated by commas; 'heads_m:16x64x3x4' is one with 16 rows, "
           "64 keys, 3 stages and 4 warps, of which the last may be left out">,
    Option<"prefillForms", "prefill-forms", "std::string", "::kvc::kPrefillForms.str()",
           "gpu: forms of prefill">,
    Option<"split", "split", "int64_t", "0",
           "keys of one decode work item (0: 4096) on a CPU, or what they are a multiple of "
           "(0: 256, or as large a power of two as has up to 64 KiB of cache) on a GPU; rounded "
           "up to a multiple of the tiles">,
    Option<"cluster", "cluster", "int64_t", "8",
           "gpu: thread blocks of decode that may form a cluster, where its form can: 1, 2, 4 or "
           "8">,
    Option<"batch", "batch", "int64_t", "8", "decode: sequences of the batch that is costed">,
    Option<"kvLen", "kv-len", "int64_t", "4096", "decode: tokens of each sequence">,
    Option<"prefillBatch", "prefill-batch", "int64_t", "1",
           "prefill: sequences of the batch that is costed">,
    Option<"qLen", "q-len", "int64_t", "2048", "prefill: tokens of each sequence, all new">,
    Option<"print", "print", "bool", "false", "print what was considered, and its costs">
  ];
  let dependentDialects = ["::kvc::KVCDialect"];
}

def RaiseAttentionPass : Pass<"kvc-raise-attention", "::mlir::func::FuncOp"> {
  let summary = "find attention in a model's own code";
  let description = [{
    Replaces scaled dot products with softmax, as models and frameworks spell them in
    tensor, linalg, arith and math, by `kvc.dense_attention`. What counts is what each
    element of the result is, not by which operations: contractions of any form, heads
    that are repeated by broadcasts, gathers or reshapes, transposes anywhere; a scale before
    or after, a cap by tanh; masks that are added or selected, made by comparing
    positions, which become `#kvc.causal` and `#kvc.window`, or tensors, which stay such; a softmax
    with or without a maximum that is subtracted, in another type, with one more column
    for sinks. Conversions between types of floating point, and so the roundings between the
    steps, are left out.

    A remark says for each tensor that begins like an attention why it is none.

    ```mlir
    // kvc-opt -kvc-raise-attention
    %s = linalg.batch_matmul_transpose_b ins(%q, %k : ...) ...
    ... // scale, mask, softmax
    %o = linalg.batch_matmul ins(%p, %v : ...) ...
    // becomes
    %o = kvc.dense_attention terms(%q * %k) value(%v) score [#kvc.causal] ...
    ```
  }];
  let dependentDialects = ["::kvc::KVCDialect", "::mlir::arith::ArithDialect",
                           "::mlir::tensor::TensorDialect"];
}

def RaiseRopePass : Pass<"kvc-raise-rope", "::mlir::func::FuncOp"> {
  let summary = "find rotary embeddings in a model's own code";
  let description = [{
    Replaces rotary embeddings, as models and frameworks spell them in tensor, linalg, arith
    and math, by `kvc.dense_rope`. What counts is what each element of the result is: halves
    or pairs that are turned together, of the whole width or the first part of it, by angles
    that are products of a position and a frequency. Cosines and sines may have the full
    width or half of it. Frequencies are constants, which become `theta` where they are its
    powers to within the rounding of f32, or elements of a tensor. Positions are those
    of an argument, or computed from indices and sizes. A factor of cosines and sines (as
    YaRN has, arXiv:2309.00071) scales the result. Roundings between the steps are left
    out.

    Cosines and sines that are read from tables are left alone. A remark says why for each
    tensor that is almost an embedding.

    ```mlir
    // kvc-opt -kvc-raise-rope
    %c = tensor.concat dim(3) %negated_second, %first ...
    ... // cos and sin of position times frequency
    %r = linalg.generic ins(%x, %cos, %c, %sin : ...) ... // x * cos + c * sin
    // becomes
    %r = kvc.dense_rope %x positions(%p) {position_dims = array<i64: 0, 2>, ...} ...
    ```
  }];
  let dependentDialects = ["::kvc::KVCDialect", "::mlir::arith::ArithDialect",
                           "::mlir::linalg::LinalgDialect", "::mlir::tensor::TensorDialect"];
}

def RaiseQuantizationPass : Pass<"kvc-raise-quantization", "::mlir::func::FuncOp"> {
  let summary = "find numbers that become codes, and codes that become numbers";
  let description = [{
    Replaces quantisation, as models and frameworks spell it in tensor, linalg, arith and math,
    by `kvc.quantize` and `kvc.dequantize`. What counts is what each element is:

    * codes are `x / scale`, rounded to even, clamped and converted to i8, i4, f8E4M3FN or
      f8E5M2; a scale is the largest |x| of a row, or of a group of 32, 64 or 128 along it,
      divided by the largest code (127, 7, 448, 57344), or a constant, or read from a tensor
      that does not depend on the width; codes of i4 may have zero points;
    * numbers are `scale * code`, or `scale * code + zero`, of codes that are a tensor or
      computed on the spot (as fake quantisation does);
    * `quant.qcast` and `quant.dcast` with `quant.scast` between them and tensors of integers,
      of types whose scales are of the whole tensor or of one dimension and whose zero points
      are 0.

    For numbers that are finite, the codes and what they stand for are then those of the code
    as written, to the last bit. So all steps are in f32, and what differs is left alone with a
    remark that names it: a scale that is multiplied by a reciprocal, or divided by 128;
    codes that are rounded half away from 0; clamps from -128 on of scales that are not
    computed; steps in 16 bits. A scale of a row of zeros is 0 afterwards, whatever stood
    there against a division by it; its codes are 0 in any case.

    `allow-reciprocal` takes `x * (1 / scale)` and `amax * (1 / 127)` for the quotients.
    `approximate` takes any of these, and the least scale that guards against 0; for the
    numbers of a row `(x - min) / scale` from 0 to 15 it takes codes with zero points. Then
    codes may be others than those as written, by one in few places.

    ```mlir
    // kvc-opt -kvc-raise-quantization
    %amax = linalg.reduce { arith.maximumf } ins(%abs : ...) ...
    %scale = linalg.generic ... // %amax / 127
    %codes = linalg.generic ... // %x / %scale, rounded and converted
    // becomes
    %codes, %scale = kvc.quantize %x to i8 scale<f32, token> : ...
    ```
  }];
  let options = [
    Option<"allowReciprocal", "allow-reciprocal", "bool", "false",
           "take products with a reciprocal for quotients">,
    Option<"approximate", "approximate", "bool", "false",
           "take what differs in rounding and guards too">
  ];
  let dependentDialects = ["::kvc::KVCDialect", "::mlir::arith::ArithDialect",
                           "::mlir::linalg::LinalgDialect", "::mlir::tensor::TensorDialect"];
}

def FuseCacheQuantizationPass
    : Pass<"kvc-fuse-cache-quantization", "::mlir::ModuleOp"> {
  let summary = "cache codes rather than the numbers that they stand for";
  let description = [{
    Rows of a cache that are `kvc.dequantize` of `kvc.quantize` in all functions of a module are
    numbers that few codes stand for. As `read(append(f(x))) = f(read(append(x)))` for a
    function f of one token, the cache then holds codes, with scales and zero points as caches
    of their own (`k.scale`, `k.zero`), and what is read is dequantised after the read. Paging
    makes one component of them, with storage and scales, so that no dequantised row exists.

    A cache of which one function makes rows in another way stays as it is, with a remark.

    ```mlir
    // kvc-opt -kvc-fuse-cache-quantization
    %codes, %scales = kvc.quantize %x to i8 scale<f32, token> : ...
    %row = kvc.dequantize %codes by(%scales) from i8 scale<f32, token> : ...
    %k = tensor.concat dim(2) %past, %row : (tensor<?x8x?x128xf16>, tensor<?x8x1x128xf16>) ...
    // becomes
    %c = tensor.concat dim(2) %past, %codes : (tensor<?x8x?x128xi8>, tensor<?x8x1x128xi8>) ...
    %s = tensor.concat dim(2) %past_scales, %scales : ...
    %k = kvc.dequantize %c by(%s) from i8 scale<f32, token> : ...
    ```
  }];
  let dependentDialects = ["::kvc::KVCDialect", "::mlir::tensor::TensorDialect"];
}

def HoistScalesPass : Pass<"kvc-hoist-scales", "::mlir::func::FuncOp"> {
  let summary = "multiply by scales outside the innermost loop of attention";
  let description = [{
    A scale that does not vary along the width is a factor of whole rows: of keys, it leaves
    the product with the query, and of values the sum over keys if all tokens have it.

    On `kvc.dense_attention` of `kvc.dequantize`, static scales per tensor or head become
    factors of the query, or of the attention's scale if they are constant, and of the
    result; the attention is then over the codes as numbers. Scales per token stay, as no
    operand of attention is multiplied by a score's column, and a remark says so.

    On `kvc.attention` nothing changes: kernels apply scales where they vary. For both, an
    analysis remark counts the multiplications by scales that are left for each element of
    key and value: 0 for scales per tensor, head or token; for groups, one for each, as a
    fraction.

    ```mlir
    // kvc-opt -kvc-hoist-scales
    %k = kvc.dequantize %codes from i8 scale<f32, tensor, static = 0.05> : ...
    %o = kvc.dense_attention terms(%q * %k) ... {scale = 0.125 : f32}
    // becomes
    %k = kvc.dequantize %codes from i8 scale<f32, tensor, static = 1.0> : ...
    %o = kvc.dense_attention terms(%q * %k) ... {scale = 0.00625 : f32}
    ```
  }];
  let dependentDialects = ["::kvc::KVCDialect", "::mlir::arith::ArithDialect",
                           "::mlir::linalg::LinalgDialect", "::mlir::tensor::TensorDialect"];
}

def SinkThroughCachePass : Pass<"kvc-sink-through-cache", "::mlir::ModuleOp"> {
  let summary = "cache what takes the fewest bytes";
  let description = [{
    For a function f of one token, whatever its position, what is read of a cache of rows
    f(x) is f of what would be read of a cache of rows x. So where rows are heads repeated
    (from grouped queries), products with weights (from latent rows, as in MLA), and parts of
    both next to each other, the pass caches what they are made of and computes them after
    the read: `kvc-eliminate-gqa-broadcast` and `kvc-absorb-mla` then fold that into attention.
    Caches are the results with the attribute `kvc.cache`, and the arguments of the same name
    whose rows come before; new rows are concatenated to these. All functions of the
    module have to make their rows in the same way; arguments that are no caches are taken to be the
    same in all of them, in their order. What f multiplies by is a weight if it does not
    depend on the token: no call changes it.

    The cut is taken where it saves bytes, and the columns that each query head multiplies by
    grow by at most a factor of `max-work`: absorbed MLA costs 3.4, caching the
    hidden state of a model far more. Remarks say what was done, with bytes and work, and
    what was not and why.

    Source: the absorption of DeepSeek-V2 (arXiv:2405.04434), in general form.

    ```mlir
    // kvc-opt -kvc-sink-through-cache
    %r = linalg.generic ... // 8 heads, each 4 times
    %k = tensor.concat dim(2) %past, %r : (tensor<?x32x?x128xbf16>, tensor<?x32x1x128xbf16>) ...
    // becomes
    %c = tensor.concat dim(2) %past, %n : (tensor<?x8x?x128xbf16>, tensor<?x8x1x128xbf16>) ...
    %k = linalg.generic ... // 8 heads, each 4 times
    ```
  }];
  let options = [
    Option<"maxWork", "max-work", "double", "4.0",
           "by how much the work a cached token may grow">
  ];
  let dependentDialects = ["::kvc::KVCDialect", "::mlir::arith::ArithDialect",
                           "::mlir::linalg::LinalgDialect", "::mlir::tensor::TensorDialect"];
}

def EliminateGQABroadcastPass
    : Pass<"kvc-eliminate-gqa-broadcast", "::mlir::func::FuncOp"> {
  let summary = "read each KV head once for its group";
  let description = [{
    Folds heads that are repeated, by whatever operations and in whatever order (each head
    several times, or all heads several times), into the maps of
    `kvc.dense_attention`: keys and values are then those of the KV heads, and their maps
    lack the group.

    ```mlir
    // kvc-opt -kvc-eliminate-gqa-broadcast
    %r = linalg.generic ... // 8 heads, each 4 times
    %o = kvc.dense_attention terms(%q * %r) ... : (tensor<?x32x?x128xbf16>, tensor<?x32x?x128xbf16>, ...
    // becomes
    %o = kvc.dense_attention terms(%q4 * %k) ... : (tensor<?x8x4x?x128xbf16>, tensor<?x8x?x128xbf16>, ...
    ```
  }];
  let dependentDialects = ["::kvc::KVCDialect", "::mlir::arith::ArithDialect",
                           "::mlir::tensor::TensorDialect"];
}

def AbsorbMLAPass : Pass<"kvc-absorb-mla", "::mlir::func::FuncOp"> {
  let summary = "attend to latent rows rather than to products of them";
  let description = [{
    Where keys or values of a `kvc.dense_attention` are products of latent rows with
    weights that do not depend on the token, multiplies the query, and the result,
    with the weights instead, so that the attention is over the latent rows. Keys that are
    several such parts next to each other, as a latent one and a rotary one, become as many
    terms. Any ranks, widths and numbers of heads; the weight may be a part of a larger one. The
    scores are the same, so that any mask, cap or sink may be there. Functions that are not
    linear, as norms of each head, stay before the attention; a remark says so.

    Rows that are cached are absorbed whatever they cost, as what to cache is decided. Others
    are if the columns that each query head multiplies by grow by at most a factor of
    `max-work`: a model's hidden state, of which keys and values are made, is wider than these.

    What is cached does not change with it. `strategy` says how attention over the latent rows
    is computed:

    | strategy | before the attention | each pair of a new token and one that it sees |
    | --- | --- | --- |
    | `absorb` | new tokens: queries times weights; results after it | latent widths |
    | `expand` | all tokens, past ones too: rows times weights, as the model says | widths of keys and values |
    | `auto` | what takes less time | |

    `auto` counts bytes and operations of a sequence as functions of its new tokens, its
    tokens, and the pairs of both; the time is that of the bytes or of the operations,
    whichever is longer, for a processor that does `operations-per-byte` operations while
    memory gives a byte (295: 989.4 TFLOP/s and 3.35 TB/s, `h100_sxm` in bf16). A function that
    takes any number of new tokens is taken to have `new-tokens`, and one that takes any past
    `past-tokens`. Windows and masks but the causal one are not counted. Analysis remarks say
    the counts of both, and what was taken.

    Caches in pages are read by attention alone, so `expand` keeps them tensors; with `paged`,
    which says that caches are to be paged, `auto` takes `absorb`.

    A query x U becomes (x U) W with an absorbed weight W, and a result y V that is multiplied
    by O next is (y V) O. `precompute` says where U W and V O are computed at compile time,
    once, so that a call reads and multiplies one weight: `all` where both are constants,
    with their elements in the module, and static in size; `auto` where moreover the product has
    fewer bytes and takes fewer operations a new token than what it replaces (U itself counts
    only if nothing else needs its product); `none` nowhere. For DeepSeek-V3 it does not: 128
    heads of 1536 x 512 against as many of 128 x (1536 + 512). Weights that are arguments
    would be multiplied in each call, so they are left alone. A remark has the numbers.

    Source: DeepSeek-V2 (arXiv:2405.04434).

    ```mlir
    // kvc-opt -kvc-absorb-mla
    %k = linalg.generic ... // rows %c of 512 times %w, for 128 heads of 128
    %o = kvc.dense_attention terms(%q * %k) ...
    // becomes
    %a = linalg.generic ... // %q times %w: 128 heads of 512
    %o = kvc.dense_attention terms(%a * %c) ...
    ```
  }];
  let options = [
    Option<"maxWork", "max-work", "double", "4.0",
           "by how much the work of a key may grow, if it is not cached">,
    Option<"strategy", "strategy", "std::string", "\"absorb\"", "absorb, expand or auto">,
    Option<"paged", "paged", "bool", "false",
           "caches are to be paged: auto takes what reads their rows">,
    Option<"newTokens", "new-tokens", "int64_t", "2048",
           "auto: new tokens of a function that takes any number">,
    Option<"pastTokens", "past-tokens", "int64_t", "4096",
           "auto: tokens before them, if the function takes any number">,
    Option<"operationsPerByte", "operations-per-byte", "double", "295.0",
           "auto: operations that the processor does while memory gives a byte">,
    Option<"precompute", "precompute", "std::string", "\"auto\"",
           "products of constant weights computed at compile time: none, auto or all">
  ];
  let dependentDialects = ["::kvc::KVCDialect", "::mlir::arith::ArithDialect",
                           "::mlir::linalg::LinalgDialect", "::mlir::tensor::TensorDialect"];
}

def DecomposeDensePass : Pass<"kvc-decompose-dense", "::mlir::func::FuncOp"> {
  let summary = "say attention on plain tensors in linalg";
  let description = [{
    Replaces `kvc.dense_attention` and `kvc.dense_rope` by what they mean, in linalg, arith
    and math: for programs whose caches stay tensors, and to compare others with. There is a
    matrix of scores, in f32 or f64.
  }];
  let dependentDialects = ["::kvc::KVCDialect", "::mlir::arith::ArithDialect",
                           "::mlir::linalg::LinalgDialect", "::mlir::math::MathDialect",
                           "::mlir::tensor::TensorDialect"];
}

def PageCachePass : Pass<"kvc-page-cache", "::mlir::ModuleOp"> {
  let summary = "keep caches in pages, instead of tensors that grow by copies";
  let description = [{
    Before it, a model's past is a tensor: arguments with `kvc.cache` hold it, and results
    with `kvc.cache` past and new tokens. After it, functions take a `!kvc.cache` and a
    `!kvc.batch` in their place, append the new tokens and attend over the pages; no token
    of the past is copied.

    A cache is paged if all functions of the module allow it:
    * those with a past return it with new tokens after it: by `tensor.concat` along any
      dimension, by `tensor.insert_slice` into the past, after as many tokens as there are,
      or by both into a tensor that is empty; those without one return the new tokens, or
      insert them at the beginning of zeros or of an empty tensor;
    * it is only returned, and read as key or value of `kvc.dense_attention`, which
      takes all of its tokens, through whatever moves elements: `tensor.extract_slice`,
      `tensor.expand_shape`, transposes;
    * heads and width are static, and what `!kvc.cache` takes;
    * no operation that stays needs its past.

    Caches that one attention reads are components of one `!kvc.cache`, in the order in
    which functions name them, each called by the last part of its name (`k` of
    `layers.0.k`). The new argument has, as `kvc.cache`, the part that the names share, or
    the names. They are paged together or not at all. New arguments are the last of the
    function, the batch after the caches; a batch that the function has is used.

    `kvc.dense_rope` at the positions of the new tokens, given by a `kvc.positions` argument or
    counted from the past, becomes `kvc.rope` in functions that are paged. An argument of
    positions that nothing uses then goes.

    The caller makes the batch of the same sequences: as many as the batch dimension has
    entries, in their order, each with the function's number of new tokens as query
    length, and its past in the cache.

    A cache that stays as it was gets a remark with the reason.

    ```mlir
    // kvc-opt -kvc-page-cache
    func.func @decode(%q: tensor<?x8x4x1x128xbf16>, %new_k: tensor<?x8x1x128xbf16>,
                      %past_k: tensor<?x8x?x128xbf16> {kvc.cache = "k"}, ...)
        -> (..., tensor<?x8x?x128xbf16> {kvc.cache = "k"}, ...) {
      %k = tensor.concat dim(2) %past_k, %new_k : ...
      ...
      %out = kvc.dense_attention terms(%q * %k) value(%v) score [#kvc.causal] ...
    // becomes
    func.func @decode(%q: tensor<?x8x4x1x128xbf16>, %new_k: tensor<?x8x1x128xbf16>, ...,
        %cache: !kvc.cache<page = 16, k: 8x128xbf16, v: 8x128xbf16>
            {kvc.cache = "k+v"}, %batch: !kvc.batch) -> ... {
      kvc.append %cache[k: %k_rows, v: %v_rows] at %batch : ...
      %rows = kvc.attention %cache at %batch terms(%q_rows * k) value(v) ...
    ```
  }];
  let options = [
    Option<"page", "page", "int64_t", "16", "tokens of a page">
  ];
  let dependentDialects = ["::kvc::KVCDialect", "::mlir::arith::ArithDialect",
                           "::mlir::linalg::LinalgDialect", "::mlir::tensor::TensorDialect"];
}

def FootprintPass : Pass<"kvc-footprint", "::mlir::ModuleOp"> {
  let summary = "what the caches of a module take";
  let description = [{
    Says in remarks, and with `print` in a table on the error stream, how many bytes a token
    takes in each cache, as the model wrote it and as it is now, and how many all caches take
    for `batch` sequences of `tokens` tokens, in `layers` layers like the module. Changes
    nothing.

    Caches are arguments of type `!kvc.cache`, and tensors with the attribute `kvc.cache`; all
    functions of the module share those of one name. `kvc.written_bytes` of the module says,
    by these names, what a token took before passes made it smaller. A token of a tensor is what attention
    over it says, or, without one, its dimensions that are static and do not count tokens.

    ```
    // kvc-opt -kvc-footprint="tokens=8192 batch=32 layers=80 print"
    kvc-footprint: bytes of a token
      cache       before        after     ratio
      k+v           4096         4096     1.00x
      85899345920 bytes in all: 32 sequences x 8192 tokens x 80 layers
    ```
  }];
  let options = [
    Option<"tokens", "tokens", "int64_t", "1", "tokens of each sequence">,
    Option<"batch", "batch", "int64_t", "1", "sequences">,
    Option<"layers", "layers", "int64_t", "1", "layers like the module">,
    Option<"printTable", "print", "bool", "false", "print a table">
  ];
  let dependentDialects = ["::kvc::KVCDialect"];
}

#endif // KVC_DIALECT_KVC_TRANSFORMS_PASSES
