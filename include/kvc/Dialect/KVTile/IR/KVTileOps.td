//===- KVTileOps.td - operations of the kvtile dialect -----*- tablegen -*-===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef KVTILE_OPS
#define KVTILE_OPS

include "kvc/Dialect/KVTile/IR/KVTileTypes.td"
include "kvc/Dialect/KVC/IR/KVCAttributes.td"
include "mlir/Interfaces/CallInterfaces.td"
include "mlir/Interfaces/ControlFlowInterfaces.td"
include "mlir/Interfaces/FunctionInterfaces.td"
include "mlir/Interfaces/SideEffectInterfaces.td"
include "mlir/IR/SymbolInterfaces.td"

class KVTile_Op<string opMnemonic, list<Trait> traits = []>
    : Op<KVTile_Dialect, opMnemonic, traits>;

def KVTile_Pointer : Type<
    CPred<"::kvc::kvtile::isGlobalPointer($_self)">, "pointer to global memory">;
def KVTile_TileOrSlot : AnyTypeOf<[KVTile_TileType, KVTile_SlotType]>;
def KVTile_TileOrVec : AnyTypeOf<[KVTile_TileType, KVTile_VecType]>;

class KVTile_Range<int min, int max>
    : ConfinedAttr<I64Attr, [IntMinValue<min>, IntMaxValue<max>]>;

/// What is counted in 32 bits: rows, heads, tokens.
def KVTile_Count : KVTile_Range<1, 2147483647>;
def KVTile_Keys : KVTile_Range<1, 4096>;
/// Threads that share a row of a copy.
def KVTile_Lanes : ConfinedAttr<I64Attr, [IntPowerOf2, IntMaxValue<8>]>;
def KVTile_Axis : KVTile_Range<0, 1>;
/// Bytes of shared memory; more than any device has.
def KVTile_SharedOffset : KVTile_Range<0, 1048576>;

//===----------------------------------------------------------------------===//
// Kernels
//===----------------------------------------------------------------------===//

def KVTile_KernelOp : KVTile_Op<"kernel", [FunctionOpInterface, IsolatedFromAbove]> {
  let summary = "a kernel: what one thread block does";
  let description = [{
    A function without results and of one block, launched with `threads` threads a
    thread block, in whole warps, and `shared_bytes` bytes of dynamic shared memory. Attributes of the host ABI
    (`kvc.kind`, `kvc.grid`, `kvc.parameters`: see KernelABI.h) go over to the
    `llvm.func`. `max_registers` bounds the registers of a thread.

    ```mlir
    kvtile.kernel @decode(%q: !kvtile.rows<32x128xbf16>, %items: !llvm.ptr<1>)
        attributes {threads = 128 : i32, shared_bytes = 98304 : i32} { ... }
    ```
  }];
  let arguments = (ins SymbolNameAttr:$sym_name,
                       TypeAttrOf<FunctionType>:$function_type,
                       OptionalAttr<StrAttr>:$sym_visibility,
                       OptionalAttr<DictArrayAttr>:$arg_attrs,
                       OptionalAttr<DictArrayAttr>:$res_attrs,
                       ConfinedAttr<I32Attr, [IntMinValue<32>, IntMaxValue<1024>]>:$threads,
                       ConfinedAttr<I32Attr, [IntNonNegative]>:$shared_bytes,
                       ConfinedAttr<I32Attr, [IntMinValue<1>, IntMaxValue<255>]>:$max_registers);
  let regions = (region AnyRegion:$body);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
  let hasRegionVerifier = 1;
  let extraClassDeclaration = [{
    ::llvm::ArrayRef<::mlir::Type> getArgumentTypes() { return getFunctionType().getInputs(); }
    ::llvm::ArrayRef<::mlir::Type> getResultTypes() { return getFunctionType().getResults(); }
    ::mlir::Region *getCallableRegion() { return &getBody(); }
  }];
}

def KVTile_ReturnOp : KVTile_Op<"return", [Terminator, HasParent<"KernelOp">]> {
  let summary = "ends a kernel";
  let assemblyFormat = "attr-dict";
}

def KVTile_YieldOp : KVTile_Op<"yield", [Pure, Terminator, ReturnLike, HasParent<"StreamOp">]> {
  let summary = "values of a region of kvtile.stream";
  let arguments = (ins Variadic<AnyType>:$values);
  let assemblyFormat = "($values^ `:` type($values))? attr-dict";
}

//===----------------------------------------------------------------------===//
// Work
//===----------------------------------------------------------------------===//

def KVTile_WorkItemOp : KVTile_Op<"work_item", [MemoryEffects<[MemRead]>]> {
  let summary = "loads a work item";
  let arguments = (ins KVTile_Pointer:$items, I32:$index);
  let results = (outs KVTile_ItemType:$item);
  let assemblyFormat = "$items `[` $index `]` attr-dict `:` type($items)";
}

def KVTile_TileRangeOp : KVTile_Op<"tile_range", [Pure]> {
  let summary = "tiles of keys that an item visits";
  let description = "Indices of tiles of `keys` keys; `begin == end` if it has no key.";
  let arguments = (ins KVTile_ItemType:$item, KVTile_Keys:$keys);
  let results = (outs I32:$begin, I32:$end);
  let assemblyFormat = "$item `keys` $keys attr-dict";
}

def KVTile_RowBlockOp : KVTile_Op<"row_block", [Pure]> {
  let summary = "KV head and first row of this thread block";
  let description = [{
    Along x the grid has `blocks` blocks of `rows` rows for each KV head. Row r of an
    item is query head `r % group` of the KV head and query token `r / group` of the
    item.
  }];
  let arguments = (ins KVTile_Count:$blocks, KVTile_Count:$rows);
  let results = (outs I32:$kv_head, I32:$first_row);
  let assemblyFormat = "`blocks` $blocks `rows` $rows attr-dict";
}

//===----------------------------------------------------------------------===//
// Addresses
//===----------------------------------------------------------------------===//

def KVTile_Index : AnyTypeOf<[I32, I64]>;

def KVTile_RowOp : KVTile_Op<"row", [Pure]> {
  let summary = "address of the row of a token and head";
  let description = "Its elements lie one after the other. Computed in 64 bits.";
  let arguments = (ins KVTile_RowsType:$source, KVTile_Index:$token, KVTile_Index:$head);
  let results = (outs KVTile_Pointer:$address);
  let assemblyFormat = [{
    $source `[` $token `:` type($token) `,` $head `:` type($head) `]` attr-dict
    `:` qualified(type($source)) `->` type($address)
  }];
}

def KVTile_PageRowOp : KVTile_Op<"page_row", [Pure]> {
  let summary = "address of the row of a slot and head of a paged component";
  let description = [{
    Slot s is token `s % page size` of page `s / page size`; it is not negative.
  }];
  let arguments = (ins KVTile_PagesType:$source, I64:$slot, KVTile_Index:$head);
  let results = (outs KVTile_Pointer:$address);
  let assemblyFormat = [{
    $source `[` $slot `,` $head `:` type($head) `]` attr-dict
    `:` qualified(type($source)) `->` type($address)
  }];
}

def KVTile_HeadOp : KVTile_Op<"head", [Pure]> {
  let summary = "address of the element of a head";
  let arguments = (ins KVTile_HeadsType:$source, KVTile_Index:$head);
  let results = (outs KVTile_Pointer:$address);
  let assemblyFormat = [{
    $source `[` $head `:` type($head) `]` attr-dict
    `:` qualified(type($source)) `->` type($address)
  }];
}

//===----------------------------------------------------------------------===//
// Query rows
//===----------------------------------------------------------------------===//

class KVTile_RowsAccess<string name, list<Trait> traits> : KVTile_Op<name, traits> {
  dag rowsArguments = (ins KVTile_RowsType:$source, KVTile_ItemType:$item, I32:$kv_head,
                           I32:$first_row, KVTile_Count:$group);
  let hasVerifier = 1;
}

def KVTile_LoadRowsOp : KVTile_RowsAccess<"load_rows", [MemoryEffects<[MemRead]>]> {
  let summary = "query rows of the block in registers";
  let description = [{
    Rows from `first_row` on: `#rows x width` (`mma_a`), or transposed as
    `width x #rows` (`mma_b`). Rows that the item does not have, and columns past
    the width, are zero.
  }];
  let arguments = rowsArguments;
  let results = (outs KVTile_TileType:$tile);
  let assemblyFormat = [{
    $source `at` $item `,` $kv_head `,` $first_row `group` $group attr-dict
    `:` qualified(type($source)) `->` qualified(type($tile))
  }];
}

def KVTile_StageRowsOp : KVTile_RowsAccess<"stage_rows", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "query rows of the block in shared memory";
  let description = [{
    As kvtile.load_rows, written to a slot; a barrier has to follow. With `for_codes`,
    rows that are multiplied with codes of so many bits: rounded to the slot's element,
    and in the order in which kvtile.dot takes the columns of such codes, in blocks of as
    many columns as 16 bytes hold:

    * 8 bits: place 8 i + 2 t + j holds column 4 t + 2 i + j (i, j < 2, t < 4);
    * 4 bits: place 8 i + 2 t + j holds column 8 t + i + 4 j (i, t < 4, j < 2).

    `shared`: where the thread block is of a cluster, only its share of the rows, and
    those that do not exist; kvtile.gather_rows has to follow.
  }];
  let arguments = !con(rowsArguments, (ins KVTile_SlotType:$slot,
      OptionalAttr<ConfinedAttr<I64Attr, [IntPowerOf2, IntMinValue<4>, IntMaxValue<8>]>>
          :$for_codes,
      UnitAttr:$shared));
  let assemblyFormat = [{
    $source `at` $item `,` $kv_head `,` $first_row `group` $group
    (`for_codes` $for_codes^)? (`shared` $shared^)? `to` $slot attr-dict
    `:` qualified(type($source)) `,` qualified(type($slot))
  }];
}

def KVTile_GatherRowsOp : KVTile_Op<"gather_rows", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "query rows that other thread blocks of the cluster have staged";
  let description = [{
    Of a cluster along y, those thread blocks that hold items of one query block (the item
    says which) have staged a share of its rows each, with kvtile.stage_rows `shared`;
    reads those of the others, through distributed shared memory. All thread blocks of a
    cluster that have not ended have to execute it, and then kvtile.finish with `cluster`,
    which waits until no other one still reads. A barrier has to follow. Does nothing
    where there is no cluster.
  }];
  let arguments = (ins Variadic<KVTile_SlotType>:$slots, KVTile_ItemType:$item,
                       I32:$first_row, KVTile_Count:$group);
  let assemblyFormat = [{
    $slots `at` $item `,` $first_row `group` $group attr-dict `:` qualified(type($slots))
  }];
  let hasVerifier = 1;
}

def KVTile_LoadTileOp : KVTile_Op<"load_tile", [MemoryEffects<[MemRead]>]> {
  let summary = "a slot, or its transpose, in registers";
  let description = [{
    The matrix of the slot as a tile of `mma_a`, or its transpose as one of `mma_b`, in
    every warp. What was written has to be behind a barrier.
  }];
  let arguments = (ins KVTile_SlotType:$slot);
  let results = (outs KVTile_TileType:$tile);
  let assemblyFormat = [{
    $slot attr-dict `:` qualified(type($slot)) `->` qualified(type($tile))
  }];
  let hasVerifier = 1;
}

def KVTile_SlotOp : KVTile_Op<"slot", [Pure]> {
  let summary = "a slot at an offset of the shared memory";
  let description = "`offset` bytes, plus `dynamic_offset` if given; multiples of 128.";
  let arguments = (ins Optional<I32>:$dynamic_offset, KVTile_SharedOffset:$offset);
  let results = (outs KVTile_SlotType:$slot);
  let assemblyFormat = [{
    $offset (`plus` $dynamic_offset^)? attr-dict `:` qualified(type($slot))
  }];
}

def KVTile_FillOp : KVTile_Op<"fill", [Pure]> {
  let summary = "a tile of f32, or a vec, of one value";
  let arguments = (ins F32Attr:$value);
  let results = (outs KVTile_TileOrVec:$result);
  let assemblyFormat = "$value attr-dict `:` qualified(type($result))";
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// The stream
//===----------------------------------------------------------------------===//

def KVTile_StreamOp : KVTile_Op<"stream", [RecursiveMemoryEffects]> {
  let summary = "the loop over tiles of the cache";
  let description = [{
    For each tile from `begin` to `end` (exclusive):

    * `lookup` (tile) yields the page ids of its copies;
    * `produce` (tile, slots, what lookup yielded) starts the copies to the slots;
    * `consume` (tile, slots, carried values) computes, and yields the values to carry
      on. It sees the slots as produced for its tile.

    There are `stages` sets of slots, at `offset` bytes of the shared memory one after
    the other. `kvtile-pipeline-copies` lets lookup and produce run ahead of consume.
  }];
  let arguments = (ins I32:$begin, I32:$end, Variadic<KVTile_TileOrVec>:$inits,
                       I64Attr:$stages, KVTile_SharedOffset:$offset, TypeArrayAttr:$slots);
  let results = (outs Variadic<KVTile_TileOrVec>:$results);
  let regions = (region SizedRegion<1>:$lookup, SizedRegion<1>:$produce,
                        SizedRegion<1>:$consume);
  let assemblyFormat = [{
    $begin `to` $end `stages` $stages `offset` $offset `slots` $slots
    (`init` `(` $inits^ `:` type($inits) `)`)? attr-dict
    `lookup` $lookup `produce` $produce `consume` $consume (`->` type($results)^)?
  }];
  let hasRegionVerifier = 1;
  let extraClassDeclaration = [{
    /// Bytes of one set of slots.
    int64_t getStageBytes();
  }];
}

def KVTile_LookupOp : KVTile_Op<"lookup", [MemoryEffects<[MemRead]>]> {
  let summary = "page ids of a tile";
  let description = [{
    Loads the ids of the pages of those rows of tile `tile`, of `keys` keys, that this
    thread's warp copies with `lanes` threads a row: of pages of `page_size` tokens, a lane
    each. Ids of pages that the item does not own are never read. Reads nothing, and yields zeros, for tiles past
    the item's last key.
  }];
  let arguments = (ins KVTile_Pointer:$page_ids, KVTile_ItemType:$item, I32:$tile,
                       KVTile_Keys:$keys, KVTile_Count:$page_size, KVTile_Lanes:$lanes);
  let results = (outs KVTile_PageIdsType:$ids);
  let assemblyFormat = [{
    $page_ids `[` $item `,` $tile `]` `keys` $keys `page` $page_size `lanes` $lanes
    attr-dict `:` type($page_ids) `->` qualified(type($ids))
  }];
  let hasVerifier = 1;
}

def KVTile_FetchOp : KVTile_Op<"fetch", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "starts the copy of a tile of a component to a slot";
  let description = [{
    Rows of tokens that are no key of the item read as zero, as do columns past the
    width: a probability of 0 times a NaN that was left in a page would be NaN.
    `lanes` threads share a row, with which `ids` were looked up. With `dealt` these are 4,
    and the copies of 8 rows are dealt to the lanes of a warp one by one: of rows that begin
    within the 32 bytes that memory reads at once, it then reads none of these twice.
  }];
  let arguments = (ins KVTile_PagesType:$source, KVTile_PageIdsType:$ids,
                       KVTile_ItemType:$item, I32:$kv_head, I32:$tile, KVTile_Lanes:$lanes,
                       UnitAttr:$dealt, KVTile_SlotType:$slot);
  let assemblyFormat = [{
    $source `[` $ids `,` $kv_head `]` `of` $item `tile` $tile `lanes` $lanes
    (`dealt` $dealt^)? `to` $slot
    attr-dict `:` qualified(type($source)) `,` qualified(type($ids)) `,`
    qualified(type($slot))
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// Bytes of a row in memory.
    int64_t getSourceRowBytes();
    /// Bytes of one copy; below 16 of rows that are not a multiple of it.
    int64_t getCopyBytes();
  }];
}

def KVTile_CommitOp : KVTile_Op<"commit", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "closes the group of copies started since the last one";
  let assemblyFormat = "attr-dict";
}

def KVTile_WaitOp : KVTile_Op<"wait", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "waits until at most `pending` groups of this thread's copies are open";
  let arguments = (ins KVTile_Range<0, 64>:$pending);
  let assemblyFormat = "$pending attr-dict";
}

def KVTile_BarrierOp : KVTile_Op<"barrier", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "all threads of the block arrive before any goes on";
  let assemblyFormat = "attr-dict";
}

//===----------------------------------------------------------------------===//
// Computation
//===----------------------------------------------------------------------===//

def KVTile_DotOp : KVTile_Op<"dot", [MemoryEffects<[MemRead]>,
    AllTypesMatch<["acc", "result"]>]> {
  let summary = "acc + a b";
  let description = [{
    `a` is M x K, `b` K x N, each a tile or a slot; a slot holds the matrix, or with
    `transpose_a` (`transpose_b`) its transpose. If the layout of a tile operand cuts K
    among the warps, each warp sums its own part, and the result is partial: each has
    one of its own, of the whole size.

    A slot of codes takes part as f16, each code exactly. As a key (its columns are K)
    the other operand has the order of kvtile.stage_rows `for_codes`. As a value (its
    columns are those of the result, or with `transpose_a` the rows) each f of the
    result's blocks of 8 columns, where f codes are 16 bits, hold column f c + i of these
    8 f at place c of block i.

    `columns = [begin, end)`: of the slot with codes, those that take part; where the
    warps share the columns of the result, of those that each has.
  }];
  let arguments = (ins KVTile_TileOrSlot:$a, KVTile_TileOrSlot:$b, KVTile_TileType:$acc,
                       UnitAttr:$transpose_a, UnitAttr:$transpose_b,
                       OptionalAttr<DenseI64ArrayAttr>:$columns);
  let results = (outs KVTile_TileType:$result);
  let assemblyFormat = [{
    $a (`transposed` $transpose_a^)? `,` $b (`transposed` $transpose_b^)? `acc` $acc
    (`columns` $columns^)? attr-dict
    `:` qualified(type($a)) `,` qualified(type($b)) `->` type($result)
  }];
  let hasVerifier = 1;
}

def KVTile_ScoreOp : KVTile_Op<"score", [Pure, AllTypesMatch<["products", "scores"]>]> {
  let summary = "modifiers and mask of scores";
  let description = [{
    From products to scores: where a modifier changes scores, `scale` and the
    modifiers in order, otherwise nothing (the scale is left to
    kvtile.softmax_step). Scores of keys that a query does not see, or that are none
    of the item, become -inf. `keys_axis`: the axis of the tile that counts keys. The
    item's row i is query head `kv_head * group + i % group` of `query_heads`.
  }];
  let arguments = (ins KVTile_TileType:$products, KVTile_ItemType:$item, I32:$kv_head,
                       I32:$first_row, I32:$tile, ArrayAttr:$modifiers, F32Attr:$scale,
                       KVTile_Count:$group, KVTile_Count:$query_heads, KVTile_Axis:$keys_axis);
  let results = (outs KVTile_TileType:$scores);
  let assemblyFormat = [{
    $products `at` $item `,` $kv_head `,` $first_row `,` $tile `modifiers` $modifiers
    `scale` $scale `group` $group `query_heads` $query_heads `keys_axis` $keys_axis attr-dict
    `:` type($products)
  }];
  let hasVerifier = 1;
}

def KVTile_SoftmaxStepOp : KVTile_Op<"softmax_step", [
    AllTypesMatch<["scores", "probabilities"]>,
    AllTypesMatch<["max", "sum", "new_max", "new_sum", "factor"]>,
    MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "one step of the online softmax";
  let description = [{
    With scores s times `scale` in base 2: probabilities `exp2(scale s - m')` for the
    new maximum m', the factor `exp2(m - m')` of what was summed before, and the new
    sum. Sums are those of each thread; maxima are of a warp's keys, or with
    `exchange` (bytes of shared memory, 4 for each row and warp) of all warps'.
    `keys_axis` as in kvtile.score.

    Source: Milakov and Gimelshein, arXiv:1805.02867.
  }];
  let arguments = (ins KVTile_TileType:$scores, KVTile_VecType:$max, KVTile_VecType:$sum,
                       F32Attr:$scale, KVTile_Axis:$keys_axis,
                       OptionalAttr<KVTile_SharedOffset>:$exchange);
  let results = (outs KVTile_TileType:$probabilities, KVTile_VecType:$new_max,
                      KVTile_VecType:$new_sum, KVTile_VecType:$factor);
  let assemblyFormat = [{
    $scores `,` $max `,` $sum `scale` $scale `keys_axis` $keys_axis
    (`exchange` $exchange^)? attr-dict
    `:` type($scores) `,` type($max)
  }];
  let hasVerifier = 1;
}

def KVTile_ScaleOp : KVTile_Op<"scale", [Pure, AllTypesMatch<["tile", "result"]>]> {
  let summary = "a tile times a factor for each row or column";
  let arguments = (ins KVTile_TileType:$tile, KVTile_VecType:$factors);
  let results = (outs KVTile_TileType:$result);
  let assemblyFormat = [{
    $tile `by` $factors attr-dict `:` type($tile) `,` qualified(type($factors))
  }];
  let hasVerifier = 1;
}

def KVTile_ScaleKeysOp : KVTile_Op<"scale_keys", [AttrSizedOperandSegments,
    AllTypesMatch<["tile", "result"]>, MemoryEffects<[MemRead]>]> {
  let summary = "a tile of keys and rows times the scales of the keys";
  let description = [{
    `acc + tile * s`, without `acc` the product alone, where s is `factor`, the same for
    all keys, or for each key column `column` of its row in the slot `scales`. With
    `over`, a vec of one power of two as of kvtile.reference_step, s is divided by it.
    With zero points, z of the same column of the slot `zeros` is added times the `sums`
    (a vec) of the rows: `acc + tile * s + sums * z`.
  }];
  let arguments = (ins KVTile_TileType:$tile, Optional<KVTile_TileType>:$acc,
                       Optional<KVTile_SlotType>:$scales, Optional<F32>:$factor,
                       Optional<KVTile_VecType>:$over, Optional<KVTile_SlotType>:$zeros,
                       Optional<F32>:$zero, Optional<KVTile_VecType>:$sums,
                       KVTile_Range<0, 4095>:$column, KVTile_Axis:$keys_axis);
  let results = (outs KVTile_TileType:$result);
  let assemblyFormat = [{
    $tile (`acc` $acc^ `:` qualified(type($acc)))?
    (`by` $scales^ `:` qualified(type($scales)))? (`factor` $factor^)?
    (`over` $over^ `:` type($over))?
    (`zeros` $zeros^ `:` qualified(type($zeros)))? (`zero` $zero^)?
    (`sums` $sums^ `:` type($sums))?
    `column` $column `keys_axis` $keys_axis attr-dict `:` type($tile)
  }];
  let hasVerifier = 1;
}

def KVTile_ReferenceStepOp : KVTile_Op<"reference_step", [
    AllTypesMatch<["reference", "factor", "new_reference", "new_factor"]>,
    MemoryEffects<[MemRead]>]> {
  let summary = "a power of two that no scale exceeds";
  let description = [{
    Scales of values are multiplied onto the probabilities, which have 16 bits: divided
    by a power of two that none exceeds, the products stay in the range of f16. If one of
    the scales in the slot is above `reference`, the result is the least that is not
    below any, and `factor` is turned to what the sums before are multiplied by. The
    elements of `reference` are all the same in a warp; with `all_keys`, of which every
    warp looks at all, in the block. `keys_axis` as in kvtile.score.
  }];
  let arguments = (ins KVTile_SlotType:$scales, KVTile_VecType:$reference,
                       KVTile_VecType:$factor, KVTile_Axis:$keys_axis, UnitAttr:$all_keys);
  let results = (outs KVTile_VecType:$new_reference, KVTile_VecType:$new_factor);
  let assemblyFormat = [{
    $scales `,` $reference `,` $factor `keys_axis` $keys_axis (`all_keys` $all_keys^)? attr-dict
    `:` qualified(type($scales)) `,` type($reference)
  }];
}

def KVTile_SumKeysOp : KVTile_Op<"sum_keys", [MemoryEffects<[MemRead]>,
    AllTypesMatch<["sum", "factor", "result"]>]> {
  let summary = "sums of the zero points of the keys";
  let description = [{
    `sum * factor + sum_t tile_t z_t` for each row, where z is column `column` of the
    slot `zeros`. As in kvtile.softmax_step these are the sums of each thread.
  }];
  let arguments = (ins KVTile_TileType:$tile, KVTile_SlotType:$zeros, KVTile_VecType:$sum,
                       KVTile_VecType:$factor, KVTile_Range<0, 4095>:$column,
                       KVTile_Axis:$keys_axis);
  let results = (outs KVTile_VecType:$result);
  let assemblyFormat = [{
    $tile `zeros` $zeros `sum` $sum `factor` $factor `column` $column `keys_axis` $keys_axis
    attr-dict `:` type($tile) `,` qualified(type($zeros)) `,` type($sum)
  }];
}

def KVTile_SumRowsOp : KVTile_Op<"sum_rows", [MemoryEffects<[MemRead]>]> {
  let summary = "sums of the elements of each row of a slot";
  let description = [{
    For each row of the slot, of f16 or bf16, the sum in f32 of the columns from `begin`
    to `end` (exclusive), multiples of 8. What was written has to be behind a barrier.
  }];
  let arguments = (ins KVTile_SlotType:$slot, KVTile_Range<0, 4096>:$begin,
                       KVTile_Range<8, 4096>:$end);
  let results = (outs KVTile_VecType:$sums);
  let assemblyFormat = [{
    $slot `from` $begin `to` $end attr-dict `:` qualified(type($slot)) `->` type($sums)
  }];
}

def KVTile_ScaleColumnsOp : KVTile_Op<"scale_columns", [AttrSizedOperandSegments,
    MemoryEffects<[MemRead, MemWrite]>, AllTypesMatch<["tile", "result"]>]> {
  let summary = "the sums of a value times a factor for each group of columns";
  let description = [{
    Each `columns` columns of the value times a factor, plus for each row what `added`
    has, sums of each thread (as of kvtile.sum_keys), times its weight if there are
    weights. There is one of each for each group of columns, or none. `interleave` and `transposed` say how the tile has the columns, as
    the product with the codes left them: see kvtile.dot. With `exchange`, an offset in
    shared memory of an f32 for each row and warp, warps have summed keys of their own.
  }];
  let arguments = (ins KVTile_TileType:$tile, Variadic<F32>:$factors,
                       Variadic<KVTile_VecType>:$added, Variadic<F32>:$weights,
                       KVTile_Count:$columns,
                       KVTile_Range<1, 4>:$interleave, UnitAttr:$transposed,
                       OptionalAttr<KVTile_Count>:$exchange);
  let results = (outs KVTile_TileType:$result);
  let assemblyFormat = [{
    $tile (`by` `(` $factors^ `)`)?
    (`plus` `(` $added^ `:` type($added) `)`)? (`weights` `(` $weights^ `)`)?
    `columns` $columns `interleave` $interleave (`transposed` $transposed^)?
    (`exchange` $exchange^)? attr-dict `:` type($tile)
  }];
  let hasVerifier = 1;
}

def KVTile_ConvertOp : KVTile_Op<"convert", [Pure]> {
  let summary = "a tile of f32 as operand of kvtile.dot";
  let description = [{
    Rounds from `mma_c` to 16-bit elements in `mma_a` (registers only) or, `mma_b`,
    with a movmatrix an 8x8 block; the tile stays in the warps that hold it. With
    `remainder`: what that rounding leaves, rounded.
  }];
  let arguments = (ins KVTile_TileType:$tile, UnitAttr:$remainder);
  let results = (outs KVTile_TileType:$result);
  let assemblyFormat = [{
    $tile (`remainder` $remainder^)? attr-dict `:` qualified(type($tile)) `->`
    qualified(type($result))
  }];
  let hasVerifier = 1;
}

def KVTile_StoreTileOp : KVTile_Op<"store_tile", [MemoryEffects<[MemWrite]>]> {
  let summary = "a tile of f32, rounded, to a slot";
  let description = "A barrier has to follow. `remainder` as in kvtile.convert.";
  let arguments = (ins KVTile_TileType:$tile, KVTile_SlotType:$slot, UnitAttr:$remainder);
  let assemblyFormat = "$tile `to` $slot (`remainder` $remainder^)? attr-dict `:` qualified(type($tile)) `,` qualified(type($slot))";
  let hasVerifier = 1;
}

def KVTile_FinishOp : KVTile_Op<"finish", [AttrSizedOperandSegments, AllTypesMatch<["max", "sum"]>,
    MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "from sums to rows of the output";
  let description = [{
    Merges what the warps hold, as `form` says, and stores the rows of an item that is
    the only one of its query block (divided by the sum, with the sink and the
    log-sum-exp), or its partial result (sums as they are, and maximum and sum). Uses
    the shared memory from its beginning (form `columns`: from `exchange`); barriers
    before and after are part of it. `interleave`: how `acc` has the columns of a value
    of codes, see kvtile.dot.

    `cluster`: of a cluster with up to that many thread blocks along y, those that hold
    items of one query block (the item says which) merge their results first, through
    distributed shared memory, and each stores some of the rows. All thread blocks of a
    cluster that have not ended have to execute it, and kvtile.gather_rows before. Not with
    form `rows`.
  }];
  let arguments = (ins KVTile_TileType:$acc, KVTile_VecType:$max, KVTile_VecType:$sum,
                       KVTile_ItemType:$item, I32:$kv_head, I32:$first_row,
                       KVTile_RowsType:$output, Optional<KVTile_RowsType>:$lse,
                       Optional<KVTile_HeadsType>:$sinks,
                       KVTile_Pointer:$part_output, KVTile_Pointer:$part_stats,
                       KVC_StreamFormAttr:$form, KVTile_Count:$group, KVTile_Count:$width,
                       KVTile_Count:$query_tokens, KVTile_SharedOffset:$exchange,
                       OptionalAttr<KVTile_Range<1, 4>>:$interleave,
                       OptionalAttr<KVTile_Range<2, 8>>:$cluster);
  let assemblyFormat = [{
    $acc `,` $max `,` $sum `form` $form `at` $item `,` $kv_head `,` $first_row
    `group` $group `width` $width `query_tokens` $query_tokens `exchange` $exchange
    (`interleave` $interleave^)? (`cluster` $cluster^)? `to` $output (`lse` $lse^)? (`sinks` $sinks^)? `parts` $part_output `,` $part_stats
    attr-dict `:` qualified(type($acc)) `,` type($max) `,`
    qualified(type($output)) `,` (`lse` qualified(type($lse))^ `,`)?
    (`sinks` qualified(type($sinks))^ `,`)? type($part_output) `,` type($part_stats)
  }];
  let hasVerifier = 1;
}

#endif // KVTILE_OPS
