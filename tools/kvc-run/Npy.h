//===- Npy.h - NumPy's .npy files -------------------------------*- C++ -*-===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef KVC_TOOLS_KVC_RUN_NPY_H
#define KVC_TOOLS_KVC_RUN_NPY_H

#include "Elements.h"

#include "mlir/Support/LLVM.h"

namespace kvcrun {

/// Reads `path` into `tensor`, whose element type and shape the file must have.
/// bf16, which NumPy lacks, is uint16 (or two opaque bytes) with the bits.
mlir::LogicalResult readNpy(llvm::StringRef path, Tensor &tensor);

/// Reads raw elements, as many as `tensor` has.
mlir::LogicalResult readRaw(llvm::StringRef path, Tensor &tensor);

/// Writes `tensor`; bf16 as uint16 with the bits, or as float32 with the values.
mlir::LogicalResult writeNpy(llvm::StringRef path, const Tensor &tensor, bool bf16AsF32);

} // namespace kvcrun

#endif // KVC_TOOLS_KVC_RUN_NPY_H
