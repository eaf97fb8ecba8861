//===- RowKernels.h - append, rope and merge on the CPU ---------*- C++ -*-===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Kernels that handle each row of a tensor by itself. An item is kTokensPerItem
// tokens. Their parameters are in Params.h.
//===----------------------------------------------------------------------===//
#ifndef KVC_LIB_CONVERSION_KVCTOCPU_ROWKERNELS_H
#define KVC_LIB_CONVERSION_KVCTOCPU_ROWKERNELS_H

#include "Emitter.h"
#include "kvc/Dialect/KVC/IR/KVC.h"

namespace kvc {

void emitAppendBody(Emitter &e, AppendOp op, mlir::Value params, mlir::Value item);
void emitRopeBody(Emitter &e, RopeOp op, mlir::Value params, mlir::Value item);
void emitMergeOpBody(Emitter &e, MergeOp op, mlir::Value params, mlir::Value item);

/// Emits the address of row (token, head) of the TensorParam `tensor` bytes after
/// `params`; token and head are i64.
mlir::Value emitTensorRow(Emitter &e, mlir::Value params, int64_t tensor,
                          mlir::Value token, mlir::Value head);

} // namespace kvc

#endif // KVC_LIB_CONVERSION_KVCTOCPU_ROWKERNELS_H
