//===- Lowering.h - what the lowerings of kvtile share ----------*- C++ -*-===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A tile is a list of registers per thread, a vec too; a slot is an address in
// shared memory and an offset from it (i32), mostly constant, so that slots side by side
// share the addresses that depend on the lane; an item is its fields; pages and rows are a
// pointer and strides. The patterns see them as ranges of values (1:N conversion).
//===----------------------------------------------------------------------===//
#ifndef KVC_LIB_CONVERSION_KVTILETONVVM_LOWERING_H
#define KVC_LIB_CONVERSION_KVTILETONVVM_LOWERING_H

#include "kvc/Conversion/KernelBuilder.h"
#include "kvc/Conversion/WorkList.h"

#include "mlir/Transforms/DialectConversion.h"

namespace kvc::kvtile {

/// A pattern for one operation.
template <typename OpTy>
struct Lowering : mlir::OpConversionPattern<OpTy> {
  using mlir::OpConversionPattern<OpTy>::OpConversionPattern;
  using Adaptor = typename mlir::OpConversionPattern<OpTy>::OneToNOpAdaptor;
  using Rewriter = mlir::ConversionPatternRewriter;
};

/// The fields of a converted item.
WorkItemValues unpackItem(mlir::ValueRange values);

/// A converted component.
struct PagesValues {
  explicit PagesValues(mlir::ValueRange values)
      : data(values[0]), pageStride(values[1]), headStride(values[2]), tokenStride(values[3]) {}
  mlir::Value data, pageStride, headStride, tokenStride;
};

/// Converted rows.
struct RowsValues {
  explicit RowsValues(mlir::ValueRange values)
      : data(values[0]), tokenStride(values[1]), headStride(values[2]) {}
  mlir::Value data, tokenStride, headStride;

  /// Address of a row, given i32 token and head, in `bytes` an element.
  mlir::Value address(KernelBuilder &k, mlir::Value token, mlir::Value head, int64_t bytes) const {
    mlir::Value offset = k.add(k.mul(k.toI64(token), tokenStride),
                               k.mul(k.toI64(head), headStride));
    return k.element(data, offset, bytes);
  }
};

/// A converted tensor of heads.
struct HeadsValues {
  explicit HeadsValues(mlir::ValueRange values) : data(values[0]), stride(values[1]) {}
  mlir::Value data, stride;
};

/// A row of an attention: which query token and head it is.
struct QueryRow {
  mlir::Value exists;   ///< i1: the item has it.
  mlir::Value inItem;   ///< Query token within the item.
  mlir::Value token;    ///< Row of token-indexed tensors.
  mlir::Value head;     ///< Query head.
  mlir::Value position; ///< Of the token in its sequence.
};

/// Row `row` (i32) of the item; a row that does not exist is taken for the first.
QueryRow emitQueryRow(KernelBuilder &k, const WorkItemValues &item, mlir::Value kvHead,
                      mlir::Value row, int64_t group);

/// Threads of the kernel around `op`.
int64_t getThreads(mlir::Operation *op);

/// Where a warp's block of a tile begins, in elements; a null value is 0.
struct BlockOffset {
  mlir::Value row, column;
};
BlockOffset emitBlockOffset(KernelBuilder &k, const ThreadPosition &position, LayoutAttr layout,
                            int64_t warpRows, int64_t warpColumns);

/// `lhs + rhs`, where a null `lhs` is 0.
mlir::Value addTo(KernelBuilder &k, mlir::Value lhs, mlir::Value rhs);

/// A converted slot. An offset that is no constant, as of a slot that a branch chose, is
/// added to the base.
struct SlotValues {
  SlotValues(KernelBuilder &k, mlir::ValueRange values);
  mlir::Value base;
  int64_t offset = 0;
};

/// Bytes from a slot's beginning to chunk `chunk` of row `row` (i32 each).
mlir::Value emitChunkOffset(KernelBuilder &k, SlotType type, mlir::Value row,
                            mlir::Value chunk);

/// Pointer to chunk `chunk` of row `row` of a slot.
mlir::Value emitChunkPointer(KernelBuilder &k, SlotType type, const SlotValues &slot,
                             mlir::Value row, mlir::Value chunk);

/// The registers of a tile of `mma_c`, by what they hold.
struct AccumulatorIndex {
  explicit AccumulatorIndex(TileType type)
      : rows(type.getWarpRows() / 16), columns(type.getWarpColumns() / 8) {}
  int64_t rows, columns; ///< Atoms.
  int64_t registerOf(int64_t atomRow, int64_t atomColumn, int64_t half, int64_t column) const {
    return (atomRow * columns + atomColumn) * 4 + half * 2 + column;
  }
};

/// Replaces sums of each warp, of the rows that a thread has of a tile of `mma_c` with
/// `rows` rows, by their sum over the warps: the same in all lanes of a row. `exchange`:
/// offset in shared memory of an f32 for each row and warp.
void emitSumOfWarps(KernelBuilder &k, const ThreadPosition &position, int64_t exchange,
                    int64_t rows, int64_t warps, mlir::MutableArrayRef<mlir::Value> sums);

void populateCopyPatterns(mlir::TypeConverter &converter, mlir::RewritePatternSet &patterns);
void populateRowPatterns(mlir::TypeConverter &converter, mlir::RewritePatternSet &patterns);
void populateDotPatterns(mlir::TypeConverter &converter, mlir::RewritePatternSet &patterns);
void populateScorePatterns(mlir::TypeConverter &converter, mlir::RewritePatternSet &patterns);
void populateScalePatterns(mlir::TypeConverter &converter, mlir::RewritePatternSet &patterns);
void populateSoftmaxPatterns(mlir::TypeConverter &converter, mlir::RewritePatternSet &patterns);
void populateFinishPatterns(mlir::TypeConverter &converter, mlir::RewritePatternSet &patterns);

} // namespace kvc::kvtile

#endif // KVC_LIB_CONVERSION_KVTILETONVVM_LOWERING_H
