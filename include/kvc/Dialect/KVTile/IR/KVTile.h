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

/// How the threads of a block copy a tile to a slot: `lanes` threads a row, each
/// `chunksPerLane` chunks `lanes` apart; `rowsPerPass` rows at once. Chunks are of 16
/// bytes, or of what divides a row's bytes: see getCopyBytes.
struct CopyPlan {
  int64_t lanes, chunksPerLane, rowsPerPass, passes;
  /// All rows of a pass lie in one page, the same for all threads.
  bool sharesPages;
  /// Passes that read one page; page ids that a thread holds.
  int64_t passesPerPage, pageIds;

  static CopyPlan get(int64_t keys, int64_t lanes, int64_t threads, int64_t pageSize);
  /// Threads that share a row of `chunks` chunks.
  static int64_t chooseLanes(int64_t chunks);
  /// Bytes of one copy, with which each of the rows of `rowBytes` bytes is aligned: 16, 8,
  /// 4 or 2.
  static int64_t getCopyBytes(int64_t rowBytes);
};

} // namespace kvc::kvtile

#endif // KVC_DIALECT_KVTILE_IR_KVTILE_H
