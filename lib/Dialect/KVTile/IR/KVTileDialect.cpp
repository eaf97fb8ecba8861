//===- KVTileDialect.cpp - registration of the kvtile dialect -------------===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "kvc/Dialect/KVTile/IR/KVTile.h"

#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace kvc;
using namespace kvc::kvtile;

/// 2x4: blocks of rows and of columns.
static ParseResult parseExtents(AsmParser &parser, int64_t &rows, int64_t &columns) {
  SmallVector<int64_t, 2> extents;
  SMLoc loc = parser.getCurrentLocation();
  if (parser.parseDimensionList(extents, /*allowDynamic=*/false, /*withTrailingX=*/false))
    return failure();
  if (extents.size() != 2)
    return parser.emitError(loc, "expected blocks of rows x blocks of columns, got ")
           << extents.size() << " numbers";
  rows = extents[0];
  columns = extents[1];
  return success();
}

static void printExtents(AsmPrinter &printer, int64_t rows, int64_t columns) {
  printer << rows << "x" << columns;
}

#include "kvc/Dialect/KVTile/IR/KVTileDialect.cpp.inc"

#include "kvc/Dialect/KVTile/IR/KVTileEnums.cpp.inc"

#define GET_ATTRDEF_CLASSES
#include "kvc/Dialect/KVTile/IR/KVTileAttributes.cpp.inc"

#define GET_TYPEDEF_CLASSES
#include "kvc/Dialect/KVTile/IR/KVTileTypes.cpp.inc"

void KVTileDialect::initialize() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "kvc/Dialect/KVTile/IR/KVTileAttributes.cpp.inc"
      >();
  addTypes<
#define GET_TYPEDEF_LIST
#include "kvc/Dialect/KVTile/IR/KVTileTypes.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "kvc/Dialect/KVTile/IR/KVTileOps.cpp.inc"
      >();
}
