//===- WrittenBytes.h - what caches took as written -------------*- C++ -*-===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef KVC_LIB_DIALECT_KVC_TRANSFORMS_WRITTENBYTES_H
#define KVC_LIB_DIALECT_KVC_TRANSFORMS_WRITTENBYTES_H

#include "mlir/IR/BuiltinOps.h"

namespace kvc {

/// The attribute of a module that keeps, by the names of its caches, the bytes that a token
/// took as the model wrote them, where passes have changed that since.
inline constexpr llvm::StringLiteral kWrittenBytesName = "kvc.written_bytes";

/// What is kept for a cache.
std::optional<int64_t> getWrittenBytes(mlir::ModuleOp module, llvm::StringRef cache);

/// Keeps it for `cache`, in place of `former` caches that it is made of.
void setWrittenBytes(mlir::ModuleOp module, llvm::ArrayRef<llvm::StringRef> former,
                     llvm::StringRef cache, int64_t bytes);

} // namespace kvc

#endif // KVC_LIB_DIALECT_KVC_TRANSFORMS_WRITTENBYTES_H
