//===- HostCode.h - steps for what is around kvc operations -----*- C++ -*-===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Steps that the pipelines share.
//===----------------------------------------------------------------------===//
#ifndef KVC_LIB_PIPELINES_HOSTCODE_H
#define KVC_LIB_PIPELINES_HOSTCODE_H

#include "mlir/Pass/PassManager.h"

namespace kvc {

/// After it each public function consists of kvc operations and calls of host code, and
/// that is in the LLVM dialect, in a module of its own.
void addHostCode(mlir::OpPassManager &pm);

/// The same for a GPU: host code launches kernels, which are in the NVVM dialect, in a
/// gpu.module of its own.
void addHostCodeOfDevice(mlir::OpPassManager &pm);

/// After it each function of tensors states what it takes for granted, and has a
/// function of shapes.
void addShapes(mlir::OpPassManager &pm);

/// After it arithmetic is in types that every processor has, and nothing needs a
/// library but libc and libm.
void addPlainArithmetic(mlir::OpPassManager &pm);

/// After it loops on buffers are in the LLVM dialect.
void addBuffersToLLVM(mlir::OpPassManager &pm);

} // namespace kvc

#endif // KVC_LIB_PIPELINES_HOSTCODE_H
