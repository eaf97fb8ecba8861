//===- KVTile.h - the kvtile dialect ----------------------------*- C++ -*-===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef KVC_DIALECT_KVTILE_IR_KVTILE_H
#define KVC_DIALECT_KVTILE_IR_KVTILE_H

#include "kvc/Dialect/KVC/IR/KVC.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/CallInterfaces.h"
#include "mlir/Interfaces/ControlFlowInterfaces.h"
#include "mlir/Interfaces/FunctionInterfaces.h"

namespace kvc::kvtile {
/// True of a pointer to what is outside of a kernel.
bool isGlobalPointer(mlir::Type type);
} // namespace kvc::kvtile

#include "kvc/Dialect/KVTile/IR/KVTileDialect.h.inc"
#include "kvc/Dialect/KVTile/IR/KVTileEnums.h.inc"

#define GET_ATTRDEF_CLASSES
#include "kvc/Dialect/KVTile/IR/KVTileAttributes.h.inc"

#define GET_TYPEDEF_CLASSES
#include "kvc/Dialect/KVTile/IR/KVTileTypes.h.inc"

#define GET_OP_CLASSES
#include "kvc/Dialect/KVTile/IR/KVTileOps.h.inc"

namespace kvc::kvtile {

inline constexpr int64_t kWarpSize = 32;

/// Bytes that memory reads at once.
inline constexpr int64_t kSectorBytes = 32;

/// How the threads of a block copy a tile to a slot. Each warp copies rows of its own,
/// which lie side by side: it looks up the pages of those alone, a lane each.
struct CopyPlan {
  /// Rows that a warp copies at once, and all that it copies; warps past the tile's last
  /// row copy none.
  int64_t rowsPerPass, rowsPerWarp;
  /// Most pages that a warp's rows lie in, and registers for their ids.
  int64_t pages, pageIds;
  /// The rows of a warp begin where a page does, or lie in one.
  bool isAligned;
  /// All rows lie in one page, so that it is the same for all warps.
  bool isTileInPage;

  /// True if the pages of another plan, of the same tiles, are the same.
  bool sharesPages(const CopyPlan &other) const {
    return isTileInPage || rowsPerWarp == other.rowsPerWarp;
  }
  static CopyPlan get(int64_t keys, int64_t lanes, int64_t threads, int64_t pageSize);
  /// Threads that share a row of `copies` copies, and those of a fetch that is dealt.
  static int64_t chooseLanes(int64_t copies);
  static constexpr int64_t kDealtLanes = kWarpSize / 8;
  /// Bytes of one copy, with which each of the rows of `rowBytes` bytes is aligned: 16, 8,
  /// 4 or 2.
  static int64_t getCopyBytes(int64_t rowBytes);
  /// True if memory would be read twice by rows, which begin within what it reads at once:
  /// then fetches of them had better be dealt.
  static bool splitsSectors(int64_t rowBytes);
};

} // namespace kvc::kvtile

#endif // KVC_DIALECT_KVTILE_IR_KVTILE_H
