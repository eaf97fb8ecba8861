//===- QuantizeRow.h - append to a quantised component ----------*- C++ -*-===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef KVC_LIB_CONVERSION_KVCTOCPU_QUANTIZEROW_H
#define KVC_LIB_CONVERSION_KVCTOCPU_QUANTIZEROW_H

#include "Emitter.h"
#include "kvc/Dialect/KVC/IR/KVC.h"

namespace kvc {

/// The row of a component that is written: its ComponentParam, `field` bytes after
/// `params`, and the place of the token (i64 each).
struct RowPlace {
  mlir::Value params;
  int64_t field;
  mlir::Value page, inPage, head;
};

/// Quantises the row of `element` at `source` as #kvc.scale says: stores codes, and scales
/// and zero points that are computed here. Adds the elements that are not finite to the
/// i32 at `count`, unless it is null.
void emitQuantizeRow(Emitter &e, ComponentAttr component, const RowPlace &place,
                     mlir::Value source, mlir::Type element, mlir::Value count);

} // namespace kvc

#endif // KVC_LIB_CONVERSION_KVCTOCPU_QUANTIZEROW_H
