//===- KVCAttributes.td - attributes of the kvc dialect ----*- tablegen -*-===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef KVC_ATTRIBUTES
#define KVC_ATTRIBUTES

include "kvc/Dialect/KVC/IR/KVCDialect.td"
include "kvc/Dialect/KVC/IR/KVCInterfaces.td"
include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/EnumAttr.td"

class KVC_Attr<string name, string attrMnemonic, list<Trait> traits = []>
    : AttrDef<KVC_Dialect, name, traits> {
  let mnemonic = attrMnemonic;
}

//===----------------------------------------------------------------------===//
// Cache components
//===----------------------------------------------------------------------===//

def KVC_Layout : I32EnumAttr<"Layout", "physical order of the elements of a page", [
    I32EnumAttrCase<"RowMajor", 0, "row_major">,
    I32EnumAttrCase<"PackedKey", 1, "packed_key">,
    I32EnumAttrCase<"PackedValue", 2, "packed_value">,
    I32EnumAttrCase<"LaneKey", 3, "lane_key">]> {
  let cppNamespace = "::kvc";
  let genSpecializedAttr = 0;
}

def KVC_ScaleScheme : I32EnumAttr<"ScaleScheme", "what shares one scale", [
    I32EnumAttrCase<"Tensor", 0, "tensor">,
    I32EnumAttrCase<"Head", 1, "head">,
    I32EnumAttrCase<"Token", 2, "token">,
    I32EnumAttrCase<"Group", 3, "group">]> {
  let cppNamespace = "::kvc";
  let genSpecializedAttr = 0;
}

def KVC_ScaleAttr : KVC_Attr<"Scale", "scale"> {
  let summary = "scales of a quantised cache component";
  let description = [{
    `scale<f32, token>`: the element type of the scales, then what shares one of them
    (`tensor`, `head`, `token` = one per token and head, `group = n` = one per n
    elements along the width of a token and head; default `token`), then

    * `static` if it is known before the append instead of computed there. The
      scales are then part of the cache, the same for all its tokens, NaN until they
      are set; or a constant of the type, `static = 0.05`, which takes no memory;
    * `zero_point` if the range is not symmetric.

    A stored code c stands for `scale * c`, or `scale * c + zero` with a zero point.
    Of the finite elements x of its group an append computes, in f32,

    ```
    scale = round(max |x| / m)                                      symmetric
    scale = round(max x / 15 - min x / 15), zero = round(min x + 8 scale)
    c     = convert((x - zero) / scale), 0 where scale is 0
    ```

    where m is the largest code (127, 7, 448, 57344), `round` goes to the element type
    of the scales without overflow, and `convert` rounds to the nearest, ties to even,
    and saturates: i8 from -127 to 127, i4 from -7 to 7, with a zero point from -8 to 7.
    Infinities saturate; NaN is code 0 of integers and NaN of floats. Neither has a
    part in the scale, so that no other element changes with it. (Symmetric scales as
    in LLM.int8(), arXiv:2208.07339, and zero points as in KIVI, arXiv:2402.02750.)

    Constraints:
    1. scales are f32 or f16;
    2. one per tensor or per head is static, one per token is not: an append may not
       change what the tokens before it stand for;
    3. groups are of 32, 64 or 128 elements; the last of a row may be of fewer;
    4. a constant is for scales per tensor without zero point, finite and above 0.
  }];
  let parameters = (ins "::mlir::Type":$elementType, "::kvc::ScaleScheme":$scheme,
                        "int64_t":$group, "bool":$isStatic, "bool":$zeroPoint,
                        "::mlir::FloatAttr":$constant);
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
}

def KVC_ComponentAttr : KVC_Attr<"Component", "component"> {
  let summary = "one named component of a cache type";
  let description = [{
    `k: 8x128xbf16`, optionally followed by `layout<packed_key>` and
    `scale<f16, group = 32>`: name, KV heads, width, storage element, physical
    order within a page, and scales.

    Layouts: `row_major` stores each token's row of `width` elements
    contiguously; strides come with the cache, so NHD and HND are both this one.
    `packed_key` and `packed_value` are the images that the CPU kernels read:
    for P tokens a page and pairs of p elements (p = 2 for bf16, 1 for f16 and f32)
    each head is `[P/16][width/p][16 tokens][p]` or `[P/p][width][p tokens]`.

    Elements of 8 and 4 bits are in words of 4 bytes: of 4 or 8 elements of a key, or
    of 4 tokens of a value in 1 or 2 columns. No byte is of two tokens:
    * keys of 8 bits: `[P/16][width/4][4 quads][2][4 tokens][2]`, token t of 16 and
      element w of 4 at quad t / 4, w / 2, t % 4, w % 2;
    * values of 8 bits: `[P/4][width/4][2][4 columns][2]`, token t of 4 at t / 2, t % 2;
    * keys of 4 bits: `[P/16][width/8][16 tokens]` words, elements 0, 2, 4, 6, 1, 3, 5, 7
      from the lowest bits up;
    * values of 4 bits: `[P/4][width/8][4]` words, lane l with columns l and l + 4 of 8,
      the tokens 0, 2, 1, 3 a byte each, the first column in its low half.
    These are for products of pairs (`bf16_dot`, `bf16_tile`). Products in f32 take bytes that lie side
    by side for their lanes: rows of values, which is `row_major`, and
    * `lane_key`, of 8 and 4 bits: `[P/16][width/p][16 tokens]` bytes of p elements (1 or 2).
    Bytes of two elements, of rows too, have the even one in their low half.

    Constraints:
    1. the element is f32, f16 or bf16 without scales, or f8E4M3FN or f8E5M2 with or
       without, or i8 or i4 with;
    2. a zero point is for i4;
    3. `lane_key` is for elements of 8 and 4 bits.
  }];
  let parameters = (ins "::mlir::StringAttr":$name, "int64_t":$heads, "int64_t":$width,
                        "::mlir::Type":$elementType, "::kvc::Layout":$layout,
                        "::kvc::ScaleAttr":$scale);
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
}

//===----------------------------------------------------------------------===//
// Score modifiers
//===----------------------------------------------------------------------===//

def KVC_CausalAttr : KVC_Attr<"Causal", "causal",
    [DeclareAttrInterfaceMethods<KVC_ScoreModifierInterface, ["emitKeep", "boundKeep"]>]> {
  let summary = "a query sees itself and the keys before it";
  let description = "Bottom-right: the queries are the last `q_len` of `kv_len` tokens.";
}

def KVC_WindowAttr : KVC_Attr<"Window", "window",
    [DeclareAttrInterfaceMethods<KVC_ScoreModifierInterface, ["emitKeep", "boundKeep"]>]> {
  let summary = "a query sees the last keys only";
  let description = [{
    `#kvc.window<4096>`: of the keys up to itself a query sees the last `size`,
    itself included. Needs `#kvc.causal` beside it.
  }];
  let parameters = (ins "int64_t":$size);
  let assemblyFormat = "`<` $size `>`";
  let genVerifyDecl = 1;
}

def KVC_SoftcapAttr : KVC_Attr<"Softcap", "softcap",
    [DeclareAttrInterfaceMethods<KVC_ScoreModifierInterface, ["emitScore", "changesScore"]>]> {
  let summary = "scores are bounded smoothly";
  let description = [{
    `#kvc.softcap<50.0>`: `cap * tanh(score / cap)`, after scaling and before
    masking (Gemma 2, arXiv:2408.00118).
  }];
  let parameters = (ins APFloatParameter<"f64">:$cap);
  let extraClassDeclaration = [{
    double getCapValue() const { return getCap().convertToDouble(); }
  }];
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
}

def KVC_AlibiAttr : KVC_Attr<"Alibi", "alibi",
    [DeclareAttrInterfaceMethods<KVC_ScoreModifierInterface, ["emitScore", "changesScore"]>]> {
  let summary = "scores fall with the distance of the key";
  let description = [{
    Attention with linear biases (Press et al., arXiv:2108.12409): adds
    `slope(head) * (key position - query position)`. Of H query heads, and n the
    largest power of two not above H, head h has the slope `2^(-8 (h + 1) / n)` if
    h < n, else `2^(-4 (2 (h - n) + 1) / n)`.
  }];
}

//===----------------------------------------------------------------------===//
// Schedules
//===----------------------------------------------------------------------===//

def KVC_Products : I32EnumAttr<"Products", "how products are computed", [
    I32EnumAttrCase<"Fma", 0, "fma">,
    I32EnumAttrCase<"Bf16Dot", 1, "bf16_dot">,
    I32EnumAttrCase<"Bf16Tile", 2, "bf16_tile">]> {
  let cppNamespace = "::kvc";
  let genSpecializedAttr = 0;
}

def KVC_ProductsParameter : EnumParameter<KVC_Products> {
  let defaultValue = "::kvc::Products::Fma";
}

def KVC_RegisterTileAttr : KVC_Attr<"RegisterTile", "register_tile"> {
  let summary = "a block of rows and vectors that stays in registers";
  let description = [{
    `rows` of the attention (one query token, one query head) beside
    `key_vectors` vectors of keys for the scores, and beside `value_vectors`
    vectors of value columns for the output: 1 to 32 rows, 1 to 16 vectors, and a
    product of at most 128.

    `products` is `bf16_tile` (AMX, tdpbf16ps; probabilities in two bf16 each), `bf16_dot`
    (vdpbf16ps) or `fma` (in f32; default). With `bf16_tile` there are at most 8 rows and 4
    vectors, which are tiles of 16 keys or columns.
  }];
  let parameters = (ins "int64_t":$rows, "int64_t":$keyVectors, "int64_t":$valueVectors,
      KVC_ProductsParameter:$products);
  let assemblyFormat = [{
    `<` `rows` `=` $rows `,` `key_vectors` `=` $keyVectors `,`
    `value_vectors` `=` $valueVectors (`,` `products` `=` $products^)? `>`
  }];
  let genVerifyDecl = 1;
}

def KVC_CPUScheduleAttr : KVC_Attr<"CPUSchedule", "cpu_schedule"> {
  let summary = "how an attention is computed on the CPU";
  let description = [{
    Two kernels are made of an attention: `decode`, for batches with one query
    token a sequence, and `prefill`.

    * `lanes`: f32 lanes of a vector: 16, 8 or 4.
    * `tile`: tokens a step of the online softmax; a multiple of 16.
    * `decode`, `prefill`: the register tile of each.
    * `query_tokens`: query tokens of one prefill work item.
    * `split`: keys of one decode work item; a multiple of `tile`.
  }];
  let parameters = (ins "int64_t":$lanes, "int64_t":$tile, "::kvc::RegisterTileAttr":$decode,
      "::kvc::RegisterTileAttr":$prefill, "int64_t":$queryTokens, "int64_t":$split);
  let assemblyFormat = [{
    `<` `lanes` `=` $lanes `,` `tile` `=` $tile `,`
    `decode` `=` $decode `,` `prefill` `=` $prefill `,`
    `query_tokens` `=` $queryTokens `,` `split` `=` $split `>`
  }];
  let genVerifyDecl = 1;
}

def KVC_StreamForm : I32EnumAttr<"StreamForm", "what the warps of a thread block share", [
    I32EnumAttrCase<"HeadsM", 0, "heads_m">,
    I32EnumAttrCase<"TokensM", 1, "tokens_m">,
    I32EnumAttrCase<"Rows", 2, "rows">,
    I32EnumAttrCase<"Columns", 3, "columns">]> {
  let cppNamespace = "::kvc";
  let genSpecializedAttr = 0;
}

def KVC_StreamFormAttr : EnumAttr<KVC_Dialect, KVC_StreamForm, "stream_form">;

def KVC_GPUStreamAttr : KVC_Attr<"GPUStream", "gpu_stream"> {
  let summary = "how one kernel streams the cache past the rows of a thread block";
  let description = [{
    The rows of an attention are pairs of a query token and a query head of one KV
    head. A thread block holds `rows` of them and visits the keys of its work item
    in tiles of `keys`, of which `stages` are in shared memory or on their way.

    `form` says what is M and N of the matrix instructions, and what the warps
    split:
    * `heads_m`: scores are rows x keys; each warp takes `keys / warps` keys of a
      tile for all rows, and the warps' results are merged at the end;
    * `tokens_m`: the same with scores as keys x rows, so that 8 rows are not
      padded to 16;
    * `rows`: each warp takes `rows / warps` rows and all keys;
    * `columns`: the warps split the keys for the scores and the columns of the
      value for the output, and exchange probabilities in shared memory: for
      values too wide for the registers of a warp.

    `query_tokens`: query tokens of one work item.

    Constraints:
    1. `rows` is a multiple of 8 (`tokens_m`), 16 (`heads_m`, `columns`) or
       16 times the warps (`rows`), up to 128;
    2. `keys` is a multiple of 16, or of 16 times the warps where they split the keys
       of a tile by themselves (`heads_m`, `tokens_m`), up to 256;
    3. there are 2 to 8 stages, and 1, 2, 4 or 8 warps;
    4. there are 1 to 4096 query tokens.
  }];
  let parameters = (ins EnumParameter<KVC_StreamForm>:$form, "int64_t":$rows,
      "int64_t":$keys, "int64_t":$stages, "int64_t":$warps, "int64_t":$queryTokens);
  let assemblyFormat = [{
    `<` `form` `=` $form `,` `rows` `=` $rows `,` `keys` `=` $keys `,`
    `stages` `=` $stages `,` `warps` `=` $warps `,` `query_tokens` `=` $queryTokens `>`
  }];
  let genVerifyDecl = 1;
}

def KVC_GPUScheduleAttr : KVC_Attr<"GPUSchedule", "gpu_schedule"> {
  let summary = "how an attention is computed on the GPU";
  let description = [{
    Two kernels are made of an attention: `decode`, for batches with one query
    token a sequence, and `prefill`, each by its `#kvc.gpu_stream`.

    `split`: the keys of one work item are a multiple of it, chosen on the device
    from the lengths of the batch; of a `deterministic` attention they are just that
    many. A multiple of the keys of both tiles.

    `cluster`: 1, 2, 4 or 8 (1 where it is left out): thread blocks of decode that may
    form a cluster. Those of one that hold items of the same query block merge their
    results through distributed shared memory, so that fewer partial results go through
    global memory. The launch takes as many as leave each query block of the batch a
    cluster, and 1 in batches of many sequences. Not with `rows` as the form of decode;
    `columns` takes 1 where a block's rows in f32 do not fit the shared memory, and a
    `deterministic` attention always, since items of other sequences move a query block
    within its clusters.
  }];
  let parameters = (ins "::kvc::GPUStreamAttr":$decode, "::kvc::GPUStreamAttr":$prefill,
                        "int64_t":$split, DefaultValuedParameter<"int64_t", "1">:$cluster);
  let assemblyFormat = [{
    `<` `decode` `=` $decode `,` `prefill` `=` $prefill `,` `split` `=` $split
    (`,` `cluster` `=` $cluster^)? `>`
  }];
  let genVerifyDecl = 1;
}

//===----------------------------------------------------------------------===//
// Targets
//===----------------------------------------------------------------------===//

def KVC_TargetKind : I32EnumAttr<"TargetKind", "kind of processor", [
    I32EnumAttrCase<"CPU", 0, "cpu">,
    I32EnumAttrCase<"GPU", 1, "gpu">]> {
  let cppNamespace = "::kvc";
  let genSpecializedAttr = 0;
}

/// A number of things a second, written as `3.35e12`.
class KVC_Real<string desc> : APFloatParameter<desc> {
  let parser = [{[&]() -> ::mlir::FailureOr<::llvm::APFloat> {
    double value = 0;
    if (failed($_parser.parseFloat(value)))
      return ::mlir::failure();
    return ::llvm::APFloat(value);
  }()}];
  let printer = "$_printer.printFloat($_self)";
}

def KVC_TargetAttr : KVC_Attr<"Target", "target"> {
  let summary = "a processor, as `kvc-plan` knows it";
  let description = [{
    `kvc.target` on a module describes the processor that it is planned for, in
    place of one that `kvc-plan` has built in:

    ```mlir
    module attributes {kvc.target = #kvc.target<name = "half_h100", kind = gpu,
        processors = 66, bandwidth = 1.675e12,
        matrix_rates = {bf16 = 494.7e12, f16 = 494.7e12}, f32_rate = 33.45e12,
        cache = 26214400, launch = 2.5e-6, shared_per_block = 232448,
        shared_per_processor = 233472, registers = 65536>} {}
    ```

    * `name`: how reports call it.
    * `kind`: `gpu` or `cpu`.
    * `processors`: multiprocessors, or cores.
    * `bandwidth`: bytes that memory gives a second.
    * `matrix_rates`: operations a second (an addition and a multiplication are two)
      of the matrix units, or of the dot product instruction, by the type of their
      operands; sums are in f32.
    * `f32_rate`: other operations a second, in f32; a multiply-add is two.
    * `cache`: bytes of the last cache before memory.
    * `launch`: seconds to launch one kernel behind another.
    * `shared_per_block`, `shared_per_processor`: bytes of shared memory that a thread
      block may have, and that a multiprocessor has.
    * `registers`: 32-bit registers of a multiprocessor.

    Constraints:
    1. there is a name, and there are 1 to 65536 processors;
    2. `bandwidth` and `f32_rate` are positive, `launch` is not negative; all finite;
    3. `matrix_rates` are positive and finite, of bf16 or f16;
    4. `cache` is at least 1;
    5. a GPU has matrix rates, shared memory and registers, and no more shared memory a
       block than a multiprocessor; a CPU has no shared memory, registers or launches.
  }];
  let parameters = (ins StringRefParameter<>:$name, EnumParameter<KVC_TargetKind>:$kind,
      "int64_t":$processors, KVC_Real<"bytes/s">:$bandwidth,
      OptionalParameter<"::mlir::DictionaryAttr">:$matrix_rates,
      KVC_Real<"operations/s">:$f32_rate, "int64_t":$cache, KVC_Real<"seconds">:$launch,
      DefaultValuedParameter<"int64_t", "0">:$shared_per_block,
      DefaultValuedParameter<"int64_t", "0">:$shared_per_processor,
      DefaultValuedParameter<"int64_t", "0">:$registers);
  let assemblyFormat = "`<` struct(params) `>`";
  let extraClassDeclaration = [{
    /// Operations a second on operands of `elementType`; 0 if there are no such units.
    double getMatrixRate(::mlir::Type elementType) const;
  }];
  let genVerifyDecl = 1;
}

//===----------------------------------------------------------------------===//
// Other enums
//===----------------------------------------------------------------------===//

def KVC_RopeStyle : I32EnumAttr<"RopeStyle", "which elements are rotated together", [
    I32EnumAttrCase<"Half", 0, "half">,
    I32EnumAttrCase<"Interleaved", 1, "interleaved">]> {
  let cppNamespace = "::kvc";
  let genSpecializedAttr = 0;
}
def KVC_RopeStyleAttr : EnumAttr<KVC_Dialect, KVC_RopeStyle, "rope_style">;

def KVC_BufferOrder : I32EnumAttr<"BufferOrder", "order of the dimensions of a foreign cache", [
    I32EnumAttrCase<"NHD", 0, "nhd">,
    I32EnumAttrCase<"HND", 1, "hnd">]> {
  let cppNamespace = "::kvc";
  let genSpecializedAttr = 0;
}
def KVC_BufferOrderAttr : EnumAttr<KVC_Dialect, KVC_BufferOrder, "buffer_order">;

#endif // KVC_ATTRIBUTES
