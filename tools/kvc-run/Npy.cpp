//===- Npy.cpp - files of tensors -----------------------------------------===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Npy.h"

#include "Options.h"

#include "../Common/Npy.h"

#include "mlir/Support/FileUtilities.h"

using namespace kvcrun;
using namespace mlir;
using kvctools::printNumPyShape;

/// NumPy's names of an element type; the first is the one to write.
static ArrayRef<StringRef> getDescrs(kvc_dtype_t dtype) {
  static constexpr StringRef kF32[] = {"<f4"}, kF16[] = {"<f2"}, kI32[] = {"<i4"};
  static constexpr StringRef kBF16[] = {"<u2", "|V2", "<V2"};
  if (dtype == KVC_DTYPE_F32)
    return kF32;
  if (dtype == KVC_DTYPE_I32)
    return kI32;
  return dtype == KVC_DTYPE_F16 ? ArrayRef(kF16) : ArrayRef(kBF16);
}

//===----------------------------------------------------------------------===//
// Reading
//===----------------------------------------------------------------------===//

LogicalResult kvcrun::readNpy(StringRef path, Tensor &tensor) {
  llvm::Expected<kvctools::NpyFile> file = kvctools::openNpy(path);
  if (!file)
    return reportError(llvm::toString(file.takeError()));
  ArrayRef<StringRef> descrs = getDescrs(tensor.getDType());
  if (!llvm::is_contained(descrs, file->descr))
    return reportError("'" + path + "': expected dtype '" + descrs.front() + "'" +
                       (tensor.getDType() == KVC_DTYPE_BF16 ? " (the bits of bf16)" : "") +
                       ", got '" + file->descr + "'");
  if (ArrayRef(file->shape) != tensor.getShape())
    return reportError("'" + path + "': expected shape " + printNumPyShape(tensor.getShape()) +
                       ", got " + printNumPyShape(file->shape));
  if (file->data.size() != static_cast<size_t>(tensor.getNumBytes()))
    return reportError("'" + path + "': expected " + Twine(tensor.getNumBytes()) +
                       " bytes of data, got " + Twine(file->data.size()));
  std::memcpy(tensor.getData(), file->data.data(), file->data.size());
  return success();
}

LogicalResult kvcrun::readRaw(StringRef path, Tensor &tensor) {
  std::string message;
  auto file = openInputFile(path, &message);
  if (!file)
    return reportError(message);
  StringRef data = file->getBuffer();
  if (data.size() != static_cast<size_t>(tensor.getNumBytes()))
    return reportError("'" + path + "': expected " + Twine(tensor.getNumBytes()) +
                       " bytes for " + printShape(tensor.getShape(), tensor.getDType()) +
                       ", got " + Twine(data.size()));
  std::memcpy(tensor.getData(), data.data(), data.size());
  return success();
}

//===----------------------------------------------------------------------===//
// Writing
//===----------------------------------------------------------------------===//

LogicalResult kvcrun::writeNpy(StringRef path, const Tensor &tensor, bool bf16AsF32) {
  bool widens = bf16AsF32 && tensor.getDType() == KVC_DTYPE_BF16;
  auto writeData = [&](llvm::raw_ostream &os) {
    if (!widens) {
      os.write(tensor.getData(), tensor.getNumBytes());
      return;
    }
    for (int64_t i = 0, e = tensor.getNumElements(); i < e; ++i) {
      float value = static_cast<float>(loadElement(tensor.getData(), KVC_DTYPE_BF16, i));
      os.write(reinterpret_cast<const char *>(&value), sizeof(value));
    }
  };
  StringRef descr = widens ? "<f4" : getDescrs(tensor.getDType()).front();
  if (llvm::Error error = kvctools::writeNpy(path, descr, tensor.getShape(), writeData))
    return reportError(llvm::toString(std::move(error)));
  return success();
}
