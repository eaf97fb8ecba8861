//===- WorkListKernel.h - work lists on the device --------------*- C++ -*-===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef KVC_CONVERSION_WORKLISTKERNEL_H
#define KVC_CONVERSION_WORKLISTKERNEL_H

#include "kvc/Conversion/KernelABI.h"
#include "kvc/Dialect/KVC/IR/KVC.h"

namespace kvc {

/// Emits into a gpu.module the kernel that fills the work list of `op` for the attention
/// kernel that `attention` describes: one block, whose threads take a sequence each in
/// turns.
///
/// Unless that one is deterministic, the keys of one item are m times `kvc.split`, with
/// the smallest m >= 1 for which the splits that the query blocks touch make at most
/// "list target" times m; a query block that touches at most m splits is one item.
/// With clusters it takes "list cluster".
mlir::LLVM::LLVMFuncOp emitWorkListKernel(mlir::OpBuilder &b, AttentionOp op,
                                          llvm::StringRef name,
                                          const KernelDescription &attention);

} // namespace kvc

#endif // KVC_CONVERSION_WORKLISTKERNEL_H
