//===- Npy.h - NumPy's .npy files -------------------------------*- C++ -*-===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef KVC_TOOLS_COMMON_NPY_H
#define KVC_TOOLS_COMMON_NPY_H

#include "mlir/Support/LLVM.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/MemoryBuffer.h"

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace kvctools {

/// An array in a file, in C order.
struct NpyFile {
  std::string descr; ///< NumPy's name of the element type, such as "<f4".
  std::vector<int64_t> shape;
  llvm::StringRef data; ///< As many bytes as the file has.
  std::unique_ptr<llvm::MemoryBuffer> buffer;
};

/// Reads the header of `path`, and refuses what is no .npy file of C order. That
/// the data fit the shape is for the caller to check.
llvm::Expected<NpyFile> openNpy(llvm::StringRef path);

/// Writes a file whose data `writeData` adds.
llvm::Error writeNpy(llvm::StringRef path, llvm::StringRef descr,
                     llvm::ArrayRef<int64_t> shape,
                     llvm::function_ref<void(llvm::raw_ostream &)> writeData);

/// "(3, 32)".
std::string printNumPyShape(llvm::ArrayRef<int64_t> shape);

/// The product of the sizes times `elementBytes`; none if it has no 63 bits.
std::optional<int64_t> getNumBytes(llvm::ArrayRef<int64_t> shape, int64_t elementBytes);

/// An error that is just a text.
llvm::Error makeError(const llvm::Twine &message);

} // namespace kvctools

#endif // KVC_TOOLS_COMMON_NPY_H
