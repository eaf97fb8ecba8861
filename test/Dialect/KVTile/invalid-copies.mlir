// RUN: kvc-opt %s -split-input-file -verify-diagnostics

func.func @item(%items: !llvm.ptr<3>, %n: i32) {
  // expected-error@below {{'kvtile.work_item' op operand #0 must be pointer to global memory, but got '!llvm.ptr<3>'}}
  %item = kvtile.work_item %items[%n] : !llvm.ptr<3>
  return
}

// -----

func.func @tile_range(%item: !kvtile.item) {
  // expected-error@below {{attribute 'keys' failed to satisfy constraint}}
  %begin, %end = kvtile.tile_range %item keys 0
  return
}

// -----

// Rows that are rounded already are not rounded again.
func.func @load_rows(%rows: !kvtile.rows<8x64xf32>, %item: !kvtile.item, %n: i32) {
  // expected-error@below {{'kvtile.load_rows' op expected elements of 'bf16', got 'f32'}}
  %tile = kvtile.load_rows %rows at %item, %n, %n group 4
      : !kvtile.rows<8x64xf32> -> !kvtile.tile<16x64xbf16>
  return
}

// -----

func.func @load_sums(%rows: !kvtile.rows<8x64xf32>, %item: !kvtile.item, %n: i32) {
  // expected-error@below {{'kvtile.load_rows' op expected a tile of f16 or bf16, got '!kvtile.tile<16x64xf32>'}}
  %tile = kvtile.load_rows %rows at %item, %n, %n group 4
      : !kvtile.rows<8x64xf32> -> !kvtile.tile<16x64xf32>
  return
}

// -----

func.func @load_width(%rows: !kvtile.rows<8x64xbf16>, %item: !kvtile.item, %n: i32) {
  // expected-error@below {{'kvtile.load_rows' op expected at most 16 columns, got 64}}
  %tile = kvtile.load_rows %rows at %item, %n, %n group 4
      : !kvtile.rows<8x64xbf16> -> !kvtile.tile<64x16xbf16, #kvtile.layout<mma_a, 1x1>>
  return
}

// -----

func.func @stage_rows(%rows: !kvtile.rows<8x36xbf16>, %item: !kvtile.item, %n: i32,
                      %slot: !kvtile.slot<16x64xbf16>) {
  // expected-error@below {{'kvtile.stage_rows' op expected a width that is a multiple of 8, got 36}}
  kvtile.stage_rows %rows at %item, %n, %n group 4 to %slot
      : !kvtile.rows<8x36xbf16>, !kvtile.slot<16x64xbf16>
  return
}

// -----

// One element a head.
func.func @stage_heads(%rows: !kvtile.rows<8xbf16>, %item: !kvtile.item, %n: i32,
                       %slot: !kvtile.slot<16x64xbf16>) {
  // expected-error@below {{'kvtile.stage_rows' op expected a width that is a multiple of 8, got 0}}
  kvtile.stage_rows %rows at %item, %n, %n group 4 to %slot
      : !kvtile.rows<8xbf16>, !kvtile.slot<16x64xbf16>
  return
}

// -----

func.func @gather_scales(%slot: !kvtile.slot<64x1xf32, linear>, %item: !kvtile.item, %n: i32) {
  // expected-error@below {{'kvtile.gather_rows' op expected slots of query rows (f16 or bf16), got '!kvtile.slot<64x1xf32, linear>'}}
  kvtile.gather_rows %slot at %item, %n group 4 : !kvtile.slot<64x1xf32, linear>
  return
}

// -----

func.func @gather_nothing(%item: !kvtile.item, %n: i32) {
  // expected-error@below {{'kvtile.gather_rows' op expected at least one slot}}
  "kvtile.gather_rows"(%item, %n) {group = 4 : i64} : (!kvtile.item, i32) -> ()
  return
}

// -----

func.func @gather_codes(%slot: !kvtile.slot<16x64xi8>, %item: !kvtile.item, %n: i32) {
  // expected-error@below {{'kvtile.gather_rows' op expected slots of query rows (f16 or bf16), got '!kvtile.slot<16x64xi8>'}}
  kvtile.gather_rows %slot at %item, %n group 4 : !kvtile.slot<16x64xi8>
  return
}

// -----

func.func @load_tile(%slot: !kvtile.slot<16x64xbf16, swizzled>) {
  // expected-error@below {{'kvtile.load_tile' op expected at most the 16x64 elements of the slot, got 32x64}}
  %tile = kvtile.load_tile %slot : !kvtile.slot<16x64xbf16, swizzled>
      -> !kvtile.tile<32x64xbf16, #kvtile.layout<mma_a, 1x1>>
  return
}

// -----

func.func @load_elements(%slot: !kvtile.slot<16x64xbf16>) {
  // expected-error@below {{'kvtile.load_tile' op expected elements of 'bf16', got 'f16'}}
  %tile = kvtile.load_tile %slot : !kvtile.slot<16x64xbf16> -> !kvtile.tile<16x64xf16>
  return
}

// -----

func.func @load_part(%slot: !kvtile.slot<64x64xbf16, swizzled>) {
  // expected-error@below {{'kvtile.load_tile' op expected a tile that every warp has, or whole rows of, got}}
  %tile = kvtile.load_tile %slot : !kvtile.slot<64x64xbf16, swizzled>
      -> !kvtile.tile<64x64xbf16, #kvtile.layout<mma_a, 1x4>>
  return
}

// -----

func.func @lanes(%table: !llvm.ptr<1>, %item: !kvtile.item, %tile: i32) {
  // expected-error@below {{attribute 'lanes' failed to satisfy constraint}}
  %ids = kvtile.lookup %table[%item, %tile] keys 64 page 16 lanes 3
      : !llvm.ptr<1> -> !kvtile.page_ids<4>
  return
}

// -----

// 64 rows of each warp, each in a page of its own; a lane has two.
kvtile.kernel @lookup(%table: !llvm.ptr<1>, %items: !llvm.ptr<1>, %n: i32)
    attributes {threads = 128 : i32, shared_bytes = 0 : i32, max_registers = 255 : i32} {
  %item = kvtile.work_item %items[%n] : !llvm.ptr<1>
  // expected-error@below {{'kvtile.lookup' op expected 2 page ids for 256 keys, 8 lanes and 128 threads, got 3}}
  %ids = kvtile.lookup %table[%item, %n] keys 256 page 1 lanes 8
      : !llvm.ptr<1> -> !kvtile.page_ids<3>
  kvtile.return
}

// -----

kvtile.kernel @fetch(%pages: !kvtile.pages<1, 8x64xbf16>, %table: !llvm.ptr<1>,
                     %items: !llvm.ptr<1>, %n: i32)
    attributes {threads = 128 : i32, shared_bytes = 16384 : i32, max_registers = 255 : i32} {
  %item = kvtile.work_item %items[%n] : !llvm.ptr<1>
  %ids = kvtile.lookup %table[%item, %n] keys 128 page 1 lanes 8
      : !llvm.ptr<1> -> !kvtile.page_ids<1>
  %slot = kvtile.slot 0 : !kvtile.slot<256x64xbf16>
  // expected-error@below {{'kvtile.fetch' op expected 2 page ids for 256 keys, 8 lanes and 128 threads, got 1}}
  kvtile.fetch %pages[%ids, %n] of %item tile %n lanes 8 to %slot
      : !kvtile.pages<1, 8x64xbf16>, !kvtile.page_ids<1>, !kvtile.slot<256x64xbf16>
  kvtile.return
}

// -----

// With other lanes, a lane's chunks would take different turns in a swizzle.
func.func @swizzle(%pages: !kvtile.pages<16, 8x64xbf16>, %ids: !kvtile.page_ids<2>,
                   %item: !kvtile.item, %n: i32, %slot: !kvtile.slot<64x64xbf16>) {
  // expected-error@below {{'kvtile.fetch' op expected 8 lanes for rows of 8 chunks, got 4}}
  kvtile.fetch %pages[%ids, %n] of %item tile %n lanes 4 to %slot
      : !kvtile.pages<16, 8x64xbf16>, !kvtile.page_ids<2>, !kvtile.slot<64x64xbf16>
  return
}

// -----

func.func @short_swizzle(%pages: !kvtile.pages<16, 8x80xbf16>, %ids: !kvtile.page_ids<2>,
                         %item: !kvtile.item, %n: i32, %slot: !kvtile.slot<64x80xbf16>) {
  // expected-error@below {{'kvtile.fetch' op expected 2 lanes for rows of 10 chunks, got 1}}
  kvtile.fetch %pages[%ids, %n] of %item tile %n lanes 1 to %slot
      : !kvtile.pages<16, 8x80xbf16>, !kvtile.page_ids<2>, !kvtile.slot<64x80xbf16>
  return
}

// -----

// Rows of 96 bytes, copied by 16.
func.func @chunks(%pages: !kvtile.pages<16, 8x24xf32>, %ids: !kvtile.page_ids<2>,
                  %item: !kvtile.item, %n: i32, %slot: !kvtile.slot<64x24xf32, linear>) {
  // expected-error@below {{'kvtile.fetch' op expected lanes that divide the chunks for rows of 6 chunks, got 4}}
  kvtile.fetch %pages[%ids, %n] of %item tile %n lanes 4 to %slot
      : !kvtile.pages<16, 8x24xf32>, !kvtile.page_ids<2>, !kvtile.slot<64x24xf32, linear>
  return
}

// -----

func.func @dealt(%pages: !kvtile.pages<16, 8x40xbf16>, %ids: !kvtile.page_ids<2>,
                 %item: !kvtile.item, %n: i32, %slot: !kvtile.slot<64x48xbf16>) {
  // expected-error@below {{'kvtile.fetch' op expected 4 lanes for dealt copies, got 2}}
  kvtile.fetch %pages[%ids, %n] of %item tile %n lanes 2 dealt to %slot
      : !kvtile.pages<16, 8x40xbf16>, !kvtile.page_ids<2>, !kvtile.slot<64x48xbf16>
  return
}

// -----

func.func @dealt_scales(%pages: !kvtile.pages<16, 8x6xf32>, %ids: !kvtile.page_ids<2>,
                        %item: !kvtile.item, %n: i32, %slot: !kvtile.slot<64x6xf32, linear>) {
  // expected-error@below {{'kvtile.fetch' op expected a slot that is not linear for dealt copies, got}}
  kvtile.fetch %pages[%ids, %n] of %item tile %n lanes 4 dealt to %slot
      : !kvtile.pages<16, 8x6xf32>, !kvtile.page_ids<2>, !kvtile.slot<64x6xf32, linear>
  return
}

// -----

func.func @narrow(%pages: !kvtile.pages<16, 8x128xbf16>, %ids: !kvtile.page_ids<2>,
                  %item: !kvtile.item, %n: i32, %slot: !kvtile.slot<64x64xbf16>) {
  // expected-error@below {{'kvtile.fetch' op expected at most 64 columns, got 128}}
  kvtile.fetch %pages[%ids, %n] of %item tile %n lanes 8 to %slot
      : !kvtile.pages<16, 8x128xbf16>, !kvtile.page_ids<2>, !kvtile.slot<64x64xbf16>
  return
}

// -----

func.func @pending() {
  // expected-error@below {{attribute 'pending' failed to satisfy constraint}}
  kvtile.wait -1
  return
}
