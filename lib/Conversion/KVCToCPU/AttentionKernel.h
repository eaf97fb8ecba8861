//===- AttentionKernel.h - the generator of CPU attention -------*- C++ -*-===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One generator for decode and prefill. A *row* is one query token of one query
// head; the rows of a KV head are ordered by token, then by head in the group.
//
//   for each tile of keys                      pages outside, so that a page of a
//     find the blocks of 16 keys in the pages  pool is read from start to end
//     for each KV head of the item             all of them (decode) or one
//       fetch: pointers to packed blocks
//       for each register tile of rows
//         scores:  S = modify(scale * Q K^T)   rows x key vectors accumulators
//         mask     (only where the tile needs it)
//         softmax: online, in base 2
//         values:  O = O * alpha + P V         rows x value vectors accumulators
//
// Kernels read *packed blocks* of 16 keys: [width / p][16][p] for keys and
// [16 / p][width][p] for values, where p is the packed pair. A packed layout is read
// in place; a row-major page, and a block that is not wholly visible, is packed into
// scratch first, with the rows that are not visible read as zero.
//
// A quantised component is read in place too, and its codes become operands in
// registers, where the products are bf16_dot and the image is the one made for that;
// else fetch decodes a block at a time. Either way the operands are the codes, and scales
// do their work on scores and probabilities: one multiplication for a row, a key and a
// group of columns.
//===----------------------------------------------------------------------===//
#ifndef KVC_LIB_CONVERSION_KVCTOCPU_ATTENTIONKERNEL_H
#define KVC_LIB_CONVERSION_KVCTOCPU_ATTENTIONKERNEL_H

#include "Emitter.h"
#include "Params.h"
#include "kvc/Conversion/WorkList.h"
#include "kvc/Dialect/KVC/IR/KVC.h"

namespace kvc {

enum class Phase { Decode, Prefill };

/// How codes become operands of products.
enum class Decoding {
  None,   ///< There are none.
  Block,  ///< A block at a time into scratch, from any layout.
  Halves, ///< The same to f16, of floats whose bytes lie as their lanes.
  Words,  ///< A block at a time to a packed block of bf16, from packed images.
  Pairs,  ///< In registers: packed images to pairs of bf16, by table look-up.
  Lanes,  ///< In registers: integers whose bytes lie as their lanes, to f32.
};

/// What comes next of words that are decoded is prefetched in the time of decoding, one part
/// in so many, and beside the products: neither is long enough.
inline constexpr int64_t kDecodedShare = 2;

class AttentionKernel {
public:
  AttentionKernel(Emitter &emitter, AttentionOp op, CPUScheduleAttr schedule, Phase phase);

  /// Emits the body of the kernel: item `item` (i64) for worker `worker` (i32).
  /// Decode has an item for each work item, prefill one for each of them and each
  /// KV head (KV head innermost).
  void emitBody(mlir::Value params, mlir::Value item, mlir::Value worker);

  /// Emits the body of the kernel that merges the parts of one merge entry and one
  /// query head (innermost). Decode only.
  void emitMergeBody(mlir::Value params, mlir::Value item);

  /// How the work list is to be built.
  WorkListConfig getWorkListConfig() const;
  /// Items of the kernel for each work item.
  int64_t getHeadItems() const { return phase == Phase::Decode ? 1 : heads; }
  int64_t getQueryHeads() const { return heads * group; }
  /// Scratch memory of one worker, in bytes; a multiple of 64.
  int64_t getScratchBytes() const { return scratchBytes; }
  /// Bytes of one part: for each query head the unscaled output row, its maximum
  /// (base 2) and its sum.
  int64_t getPartBytes() const { return getQueryHeads() * (value.width + 2) * 4; }

private:
  using Value = mlir::Value;
  using Type = mlir::Type;

  /// A component as the kernel reads it.
  struct Component {
    ComponentAttr attr;
    int64_t width;
    Type element; ///< of packed blocks; of a quantised one, of its operands
    Layout layout;
    int64_t pair;          ///< elements side by side in a packed block
    Decoding decoding;
    int64_t groups = 1;    ///< along the width, each with a scale
    int64_t params;        ///< offset of its ComponentParam
    int64_t base, next;    ///< scratch: pointers of the blocks of this and the next tile
    int64_t rows;          ///< scratch: pointers of the rows of a tile (row-major)
    int64_t blocks;        ///< scratch: pointers of this head's packed blocks
    int64_t ahead;         ///< scratch: pointers of the blocks to prefetch
    int64_t packed;        ///< scratch: blocks that were packed here
    int64_t decoded;       ///< scratch: rows of a block, decoded (row-major codes)
    int64_t scales, zeros; ///< scratch: [groups][tile] f32
    int64_t scaleRows;     ///< scratch: addresses of the scales, then of the zero points

    /// Bytes of a block in the page, and of one as the products read it.
    int64_t storedBytes() const {
      return kPackedTokens * width * attr.getElementType().getIntOrFloatBitWidth() / 8;
    }
    int64_t blockBytes() const {
      return inRegisters() ? storedBytes() : kPackedTokens * width * getByteWidth(element);
    }
    bool isPacked() const { return layout != Layout::RowMajor; }
    /// The products read the page itself, but for blocks that are not wholly visible.
    bool isInPlace() const { return decoding == Decoding::None ? isPacked() : inRegisters(); }
    /// Blocks are decoded into scratch as they lie in pages.
    bool decodesBlocks() const {
      return decoding == Decoding::Halves || decoding == Decoding::Words;
    }
    /// Its blocks in pages are prefetched while products are taken.
    bool prefetches() const { return isInPlace() || decodesBlocks(); }
    /// Bytes of `bytes` of a tile that are prefetched while it is decoded.
    int64_t prefetchedEarly(int64_t bytes) const {
      return decoding == Decoding::Words ? bytes / kDecodedShare : 0;
    }
    bool isQuantized() const { return decoding != Decoding::None; }
    /// A block of it in a page is read through one address.
    bool hasBlocks() const { return isPacked() || decoding >= Decoding::Halves; }
    bool inRegisters() const {
      return decoding == Decoding::Pairs || decoding == Decoding::Lanes;
    }
    /// Steps along the width of a key that one load gives operands of.
    int64_t stepsOfLoad() const {
      if (!inRegisters())
        return 1;
      return (decoding == Decoding::Pairs ? 2 : 1) * (is4Bit() ? 2 : 1);
    }
    /// Tables decode its words, whose columns are in the order of decodeWords.
    bool usesTables() const {
      return decoding == Decoding::Pairs || decoding == Decoding::Words;
    }
    bool is4Bit() const { return attr.getElementType().isInteger(4); }
    /// Scales in memory, which differ among tokens or not.
    bool hasScales() const { return getNumScales(attr) > 0; }
    bool hasZeros() const { return hasScales() && attr.getScale().getZeroPoint(); }
    bool isStatic() const { return hasScales() && attr.getScale().getIsStatic(); }
    /// What the operand of a code is multiplied by to give what the code stands for
    /// without its scale: e4m3 has its smallest numbers in f16 as 2^-8 of them.
    double operandFactor() const {
      return decoding == Decoding::Halves &&
                     mlir::isa<mlir::Float8E4M3FNType>(attr.getElementType())
                 ? 256.0
                 : 1.0;
    }
    /// What operands are multiplied by, unless there are scales in memory.
    double constantScale() const {
      ScaleAttr scale = attr.getScale();
      bool isConstant = scale && scale.getConstant();
      return operandFactor() * (isConstant ? scale.getConstant().getValueAsDouble() : 1.0);
    }
  };
  struct Term : Component {
    int64_t queries;   ///< scratch: the rows of the item's queries
    int64_t querySums; ///< scratch: of each row and group, f32 (zero points)
  };

  Decoding chooseDecoding(ComponentAttr attr, bool isKey) const;
  void addComponent(Component &component, ComponentAttr attr, bool isKey, int64_t params);
  int64_t allocate(int64_t bytes);
  template <typename Fn> void forEachComponent(Fn fn);

  // Queries and state.
  void emitLoadQueries(Value params, Value firstHead);
  void emitClearState();

  // Fetch (AttentionFetch.cpp).
  /// The rows of one block of a row-major component: their addresses, and which of
  /// them are visible (i1).
  struct BlockRows {
    llvm::SmallVector<Value> addresses, valid;
  };
  void emitFindBlocks(const Component &c, Value params, Value tileBegin, int64_t target);
  void emitFindRows(const Component &c, Value params, Value tileBegin);
  void emitFetch(const Component &c, bool isKey, Value params, Value head, Value isLast);
  void emitPackKeyRows(const Component &c, const BlockRows &rows, Value target);
  void emitPackValueRows(const Component &c, const BlockRows &rows, Value target);
  void emitCopyKeys(const Component &c, Value source, Value block, Value target);
  void emitCopyValues(const Component &c, Value source, Value block, Value target);
  Value isVisible(Value token);
  Value visibleLanes(Value block);

  // Quantised components (AttentionDequantize.cpp).
  llvm::SmallVector<Value> emitDecodeRows(const Component &c, const BlockRows &rows);
  void emitDecodeImage(const Component &c, bool isKey, Value source, Value block, Value target);
  void emitCopyImage(const Component &c, bool isKey, Value source, Value block, Value target);
  /// Operands of the next steps of a product from an image: bf16 pairs of `lanes` keys or
  /// columns each, in their order.
  llvm::SmallVector<Value> decodeWords(const Component &c, Value words);
  /// The f32 operands of bytes of lanes: one vector, or the even and the odd elements of
  /// 4 bits.
  llvm::SmallVector<Value> decodeLanes(const Component &c, Value bytes);
  void emitDecodeHalves(const Component &c, Value source, Value target);
  void emitDecodeWords(const Component &c, bool isKey, Value source, Value target, Value ahead);
  void emitCopyRows(const Component &c, Value source, Value stride, Value block, Value target);

  // Scales (AttentionScales.cpp).
  void emitFindScales(const Component &c, Value params, Value tileBegin);
  void emitFetchScales(const Component &c, Value params, Value head);
  void emitSumQueries(const Term &term, Value headIndex, Value row);
  Value applyScales(const Term &term, int64_t group, Value products, Value row, Value key);

  // Products (AttentionProducts.cpp).
  void emitScores(Value head, Value headIndex, Value firstRow);
  void emitMask(Value firstRow);
  void emitSoftmax(Value headIndex, Value firstRow);
  void emitValues(Value headIndex, Value firstRow);
  void emitValueColumns(Value headIndex, Value firstRow, Value firstColumn,
                        llvm::ArrayRef<int64_t> vectors);
  llvm::SmallVector<Value> emitTermProducts(const Term &term, int64_t group, Value headIndex,
                                            Value firstRow, Value firstKey,
                                            llvm::SmallVector<Value> acc);
  llvm::SmallVector<llvm::SmallVector<Value>> loadSteps(const Component &c, Value address);
  void emitPrefetch(const Component &c, Value offset, int64_t begin, int64_t bytes);
  bool usesUnits() const { return dot && !tiles && value.hasScales(); }
  Value emitUnit(Value unitAddress, int64_t group, llvm::ArrayRef<Value> scores, Value newMax,
                 Value isNew);
  void emitStoreWeights(Value row, int64_t key, Value probability,
                        llvm::ArrayRef<Value> inverses, llvm::MutableArrayRef<Value> zeroSums);
  llvm::SmallVector<int64_t> coverColumns(int64_t columns) const;
  llvm::SmallVector<llvm::SmallVector<llvm::SmallVector<Value>>>
  loadValueSteps(Value block, llvm::ArrayRef<int64_t> vectors);
  int64_t getColumnBits() const;

  // Products of tiles (AttentionTiles.cpp).
  void emitTileScores(Value head, Value headIndex, Value firstRow);
  void emitTileProducts(const Term &term, int64_t group, Value headIndex, Value firstRow,
                        Value firstKey, int64_t target);
  void emitTileValues(Value headIndex, Value firstRow);
  void emitTileColumns(Value headIndex, Value firstRow, Value firstColumn, int64_t count);
  void emitConfigureTiles();
  void emitReleaseTiles();

  void emitFinishColumns(Value headIndex, Value row);
  void emitOrderColumns(Value base);
  Value modifyScore(Value dot, const ScorePoint &point);
  Value rowPosition(Value row);
  Value rowHead(Value head, Value row);
  Value keyPositions(Value firstKey);

  // Finish (AttentionFinish.cpp).
  void emitFinish(Value params, Value firstHead);
  void emitFinalRow(Value params, Value token, Value queryHead, Value max, Value sum,
                    llvm::function_ref<Value(int64_t column, int64_t lanes)> loadColumn);

  Value scratchAt(int64_t offset) { return e.offset(scratch, offset); }
  Value scratchAt(int64_t offset, Value bytes) {
    return e.offset(e.offset(scratch, bytes), offset);
  }
  /// Index of a row of a head in the arrays of the state.
  Value stateRow(Value headIndex, Value row) { return e.add(e.mul(headIndex, maxRows), row); }
  /// (first column, lanes) of the vectors that cover a row of the value.
  llvm::SmallVector<std::pair<int64_t, int64_t>> valueColumns() const;

  Emitter &e;
  AttentionOp op;
  Phase phase;
  RegisterTileAttr registers;
  bool dot;   ///< operands are pairs of bf16
  bool tiles; ///< of AMX; then `dot` too
  int64_t lanes, tile, split, queryTokens;
  int64_t heads, group, page;
  int64_t headsPerItem; ///< KV heads of one item
  int64_t maxRows;      ///< rows of a KV head, padded to whole register tiles
  llvm::SmallVector<Term> terms;
  Component value;
  Type queryElement;

  // Offsets in the scratch memory.
  int64_t scratchBytes = 0;
  int64_t outputs, maxima, sums, scores, probabilities, alphas;
  int64_t valueSums; ///< of each row of a register tile and group: its zero points
  int64_t tileProducts; ///< of each term and group: [2 rows][tile] f32
  int64_t tileConfig;   ///< of the registers
  int64_t tileSums;     ///< [2 rows][columns of a register tile] f32
  int64_t units;     ///< of each row and group: what its sums are multiples of; see usesUnits

  // Values of the item at hand.
  Value scratch, numRows, paddedRows, queryPos, kvBegin, kvEnd, allBegin, allEnd;
  WorkItemValues itemFields;
  // Values of the tile at hand (i64).
  Value tileBegin, validBegin, validEnd, isFull, needsMask;
};

} // namespace kvc

#endif // KVC_LIB_CONVERSION_KVCTOCPU_ATTENTIONKERNEL_H
