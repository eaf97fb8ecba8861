//===- KVTileTypes.td - layouts and types of the kvtile dialect -*- tablegen -*-===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef KVTILE_TYPES
#define KVTILE_TYPES

include "kvc/Dialect/KVTile/IR/KVTileDialect.td"
include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/EnumAttr.td"

class KVTile_Attr<string name, string attrMnemonic, list<Trait> traits = []>
    : AttrDef<KVTile_Dialect, name, traits> {
  let mnemonic = attrMnemonic;
}

class KVTile_Type<string name, string typeMnemonic, list<Trait> traits = []>
    : TypeDef<KVTile_Dialect, name, traits> {
  let mnemonic = typeMnemonic;
}

//===----------------------------------------------------------------------===//
// Layouts
//===----------------------------------------------------------------------===//

def KVTile_Atom : I32EnumAttr<"Atom", "fragment of mma.sync", [
    I32EnumAttrCase<"MmaA", 0, "mma_a">,
    I32EnumAttrCase<"MmaB", 1, "mma_b">,
    I32EnumAttrCase<"MmaC", 2, "mma_c">]> {
  let cppNamespace = "::kvc::kvtile";
  let genSpecializedAttr = 0;
}

def KVTile_LayoutAttr : KVTile_Attr<"Layout", "layout"> {
  let summary = "which thread holds which element of a tile";
  let description = [{
    `#kvtile.layout<mma_c, 1x4>`: the tile is cut into as many blocks of rows x
    columns as the second part says; warp `w` holds block `(w / columns % rows,
    w % columns)`, so that with `1x1` every warp has a copy. A block is covered by
    atoms, in the order of rows, then columns. With `g = lane / 4`, `t = lane % 4`
    an atom is (PTX ISA, fragments of m16n8k16):

    * `mma_c`, 16x8, 4 registers of f32: register i is element
      (g + 8 (i / 2), 2 t + i % 2);
    * `mma_a`, 16x16, 4 registers of two 16-bit elements: register i holds columns
      2 t + 8 (i / 2) and the next of row g + 8 (i % 2);
    * `mma_b`, 16x8, 2 registers of two 16-bit elements: register i holds rows
      2 t + 8 i and the next of column g.

    A tile whose warps hold sums over different keys is *partial*: the type does not
    say so, `kvtile.finish` does.
  }];
  let parameters = (ins EnumParameter<KVTile_Atom>:$atom, "int64_t":$warpRows,
                        "int64_t":$warpColumns);
  let assemblyFormat = "`<` $atom `,` custom<Extents>($warpRows, $warpColumns) `>`";
  let genVerifyDecl = 1;
}

//===----------------------------------------------------------------------===//
// Types in registers
//===----------------------------------------------------------------------===//

def KVTile_TileType : KVTile_Type<"Tile", "tile"> {
  let summary = "matrix in the registers of a thread block";
  let description = [{
    `!kvtile.tile<16x64xf32, #kvtile.layout<mma_c, 1x4>>`: rows, columns, element
    (f32 in `mma_c`, f16 or bf16 in `mma_a` and `mma_b`), and a layout once it is
    assigned, by which a thread holds at most 2,048 registers.
  }];
  let parameters = (ins "int64_t":$rows, "int64_t":$columns, "::mlir::Type":$elementType,
                        OptionalParameter<"::kvc::kvtile::LayoutAttr">:$layout);
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    /// Rows and columns that one warp holds.
    int64_t getWarpRows() const;
    int64_t getWarpColumns() const;
    /// 32-bit registers that a thread holds.
    int64_t getNumRegisters() const;
  }];
}

def KVTile_VecType : KVTile_Type<"Vec", "vec"> {
  let summary = "one value for each row or column of a tile";
  let description = [{
    `!kvtile.vec<16, 1, #kvtile.layout<mma_c, 1x4>>`: f32 values for the `size` rows
    (axis 0) or columns (axis 1) of a tile with that layout of atom `mma_c`, held by
    the threads that hold the row or column. They ascend within a thread as in the
    tile.
  }];
  let parameters = (ins "int64_t":$size, "int64_t":$axis,
                        OptionalParameter<"::kvc::kvtile::LayoutAttr">:$layout);
  let assemblyFormat = "`<` $size `,` $axis (`,` qualified($layout)^)? `>`";
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    /// Values that a thread holds.
    int64_t getNumRegisters() const;
  }];
}

def KVTile_ItemType : KVTile_Type<"Item", "item"> {
  let summary = "work item: a block of query tokens and a range of keys";
  let description = "The fields of `WorkItem` (WorkList.h), in registers.";
}

def KVTile_PageIdsType : KVTile_Type<"PageIds", "page_ids"> {
  let summary = "page ids that the copy of one tile needs";
  let description = [{
    `!kvtile.page_ids<2>`: two registers of each thread. Of the pages of its warp's rows,
    lane i has numbers i, 32 + i, ...; of one page, all lanes have the id.
  }];
  let parameters = (ins "int64_t":$count);
  let assemblyFormat = "`<` $count `>`";
  let genVerifyDecl = 1;
}

//===----------------------------------------------------------------------===//
// Types in memory
//===----------------------------------------------------------------------===//

def KVTile_SlotLayout : I32EnumAttr<"SlotLayout", "order of 16-byte chunks in shared memory", [
    I32EnumAttrCase<"Unassigned", 0, "unassigned">,
    I32EnumAttrCase<"Swizzled", 1, "swizzled">,
    I32EnumAttrCase<"Linear", 2, "linear">]> {
  let cppNamespace = "::kvc::kvtile";
  let genSpecializedAttr = 0;
}

def KVTile_SlotType : KVTile_Type<"Slot", "slot"> {
  let summary = "matrix in shared memory";
  let description = [{
    `!kvtile.slot<64x128xbf16, swizzled>`: rows, columns, element, and how the
    16-byte chunks of a row lie: chunk c of row r at `c ^ (r * s / 8 % s)`, where s is the
    largest power of two, up to 8, that divides the chunks of a row. So 8 rows of one
    column of chunks touch all banks, and so do 8 / s rows of s chunks side by side.

    Elements are f16 or bf16, or the codes of a quantised cache: f8E4M3FN, f8E5M2, i8
    or i4. Columns are a multiple of 16, of i4 of 32.

    `!kvtile.slot<64x4xf32, linear>`: rows of scales (f32 or f16), one after the other.
  }];
  let parameters = (ins "int64_t":$rows, "int64_t":$columns, "::mlir::Type":$elementType,
                        "::kvc::kvtile::SlotLayout":$layout);
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    /// Bytes of a row, its 16-byte chunks, and those that a swizzle permutes.
    int64_t getRowBytes() const {
      return getColumns() * getElementType().getIntOrFloatBitWidth() / 8;
    }
    int64_t getChunks() const { return getRowBytes() / 16; }
    int64_t getSwizzle() const {
      return std::min<int64_t>(8, int64_t(1) << ::llvm::countr_zero<uint64_t>(getChunks()));
    }
    /// True if the elements are codes of a quantised cache.
    bool holdsCodes() const { return getElementType().getIntOrFloatBitWidth() < 16; }
    /// Codes in 16 bits: columns that ldmatrix moves as one. 1 of other elements.
    int64_t getInterleave() const {
      return holdsCodes() ? 16 / getElementType().getIntOrFloatBitWidth() : 1;
    }
    /// The element that the matrix units multiply: f16 for codes.
    ::mlir::Type getOperandElement() const;
    bool isLinear() const { return getLayout() == ::kvc::kvtile::SlotLayout::Linear; }
    int64_t getBytes() const { return getRows() * getRowBytes(); }
  }];
}

def KVTile_PagesType : KVTile_Type<"Pages", "pages"> {
  let summary = "component of a paged cache in global memory";
  let description = [{
    `!kvtile.pages<16, 8x128xbf16>`: tokens a page, KV heads, width, element. Data
    pointer and three strides (page, head, token), in elements.
  }];
  let parameters = (ins "int64_t":$pageSize, "int64_t":$heads, "int64_t":$width,
                        "::mlir::Type":$elementType);
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
}

def KVTile_RowsType : KVTile_Type<"Rows", "rows"> {
  let summary = "tensor [tokens, heads, width] or [tokens, heads] in global memory";
  let description = [{
    `!kvtile.rows<32x128xbf16>`: heads, width, element. Data pointer and the strides
    of token and head, in elements; without a width, `!kvtile.rows<32xf32>`, the
    same for one element a head.
  }];
  let parameters = (ins "int64_t":$heads, "int64_t":$width, "::mlir::Type":$elementType);
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
}

def KVTile_HeadsType : KVTile_Type<"Heads", "heads"> {
  let summary = "tensor [heads] in global memory";
  let description = [{
    `!kvtile.heads<32xf32>`: heads and element. Data pointer and stride, in elements.
  }];
  let parameters = (ins "int64_t":$heads, "::mlir::Type":$elementType);
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
}

#endif // KVTILE_TYPES
