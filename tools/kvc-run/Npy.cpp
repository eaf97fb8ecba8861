//===- Npy.cpp - NumPy's .npy files ---------------------------------------===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Npy.h"

#include "Options.h"

#include "mlir/Support/FileUtilities.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Endian.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/ToolOutputFile.h"

using namespace kvcrun;
using namespace mlir;

/// The six bytes that a file starts with.
static constexpr StringLiteral kMagic = "\x93NUMPY";

static std::unique_ptr<llvm::MemoryBuffer> openFile(StringRef path) {
  std::string message;
  auto file = openInputFile(path, &message);
  if (!file)
    (void)reportError(message);
  return file;
}

//===----------------------------------------------------------------------===//
// Reading
//===----------------------------------------------------------------------===//

namespace {
/// What the header says; the texts lie in the file.
struct Header {
  StringRef descr;
  bool isFortran = false;
  std::vector<int64_t> shape;
  size_t dataOffset = 0;
};
} // namespace

/// The value of `key` in a Python dictionary literal, up to its end or the
/// closing parenthesis of a tuple.
static StringRef findValue(StringRef dictionary, StringRef key) {
  for (StringRef quote : {"'", "\""}) {
    size_t at = dictionary.find((quote + key + quote).str());
    if (at == StringRef::npos)
      continue;
    StringRef rest = dictionary.substr(at + key.size() + 2).ltrim(" :");
    if (rest.consume_front("("))
      return rest.take_until([](char c) { return c == ')'; });
    return rest.take_until([](char c) { return c == ',' || c == '}'; }).trim(" '\"");
  }
  return {};
}

static bool parseHeader(StringRef file, Header &header) {
  if (!file.starts_with(kMagic) || file.size() < 10)
    return false;
  bool isShort = file[6] == 1;
  size_t start = isShort ? 10 : 12;
  if (file[6] < 1 || file[6] > 3 || file.size() < start)
    return false;
  size_t size = isShort ? llvm::support::endian::read16le(file.data() + 8)
                        : llvm::support::endian::read32le(file.data() + 8);
  if (size > file.size() - start)
    return false;
  StringRef dictionary = file.substr(start, size);
  header.dataOffset = start + size;
  header.descr = findValue(dictionary, "descr");
  header.isFortran = findValue(dictionary, "fortran_order") == "True";
  SmallVector<StringRef> sizes;
  findValue(dictionary, "shape").split(sizes, ',');
  for (StringRef text : sizes) {
    int64_t dimension;
    if (text.trim().empty()) // the end of "(3,)"
      continue;
    if (text.trim().getAsInteger(10, dimension) || dimension < 0)
      return false;
    header.shape.push_back(dimension);
  }
  return !header.descr.empty();
}

/// NumPy's names of an element type; the first is the one to write.
static ArrayRef<StringRef> getDescrs(kvc_dtype_t dtype) {
  static constexpr StringRef kF32[] = {"<f4"}, kF16[] = {"<f2"};
  static constexpr StringRef kBF16[] = {"<u2", "|V2", "<V2"};
  if (dtype == KVC_DTYPE_F32)
    return kF32;
  return dtype == KVC_DTYPE_F16 ? ArrayRef(kF16) : ArrayRef(kBF16);
}

static std::string printNumPyShape(ArrayRef<int64_t> shape) {
  return "(" + llvm::join(llvm::map_range(shape, [](int64_t n) { return std::to_string(n); }),
                          ", ") +
         (shape.size() == 1 ? ",)" : ")");
}

LogicalResult kvcrun::readNpy(StringRef path, Tensor &tensor) {
  auto file = openFile(path);
  if (!file)
    return failure();
  Header header;
  StringRef bytes = file->getBuffer();
  if (!parseHeader(bytes, header))
    return reportError("expected '" + path + "' to be a .npy file of version 1 to 3");
  ArrayRef<StringRef> descrs = getDescrs(tensor.getDType());
  if (!llvm::is_contained(descrs, header.descr))
    return reportError("'" + path + "': expected dtype '" + descrs.front() + "'" +
                       (tensor.getDType() == KVC_DTYPE_BF16 ? " (the bits of bf16)" : "") +
                       ", got '" + header.descr + "'");
  if (header.isFortran && header.shape.size() > 1)
    return reportError("'" + path + "': expected C order, got Fortran order");
  if (ArrayRef(header.shape) != tensor.getShape())
    return reportError("'" + path + "': expected shape " + printNumPyShape(tensor.getShape()) +
                       ", got " + printNumPyShape(header.shape));
  StringRef data = bytes.substr(header.dataOffset);
  if (data.size() != static_cast<size_t>(tensor.getNumBytes()))
    return reportError("'" + path + "': expected " + Twine(tensor.getNumBytes()) +
                       " bytes of data, got " + Twine(data.size()));
  std::memcpy(tensor.getData(), data.data(), data.size());
  return success();
}

LogicalResult kvcrun::readRaw(StringRef path, Tensor &tensor) {
  auto file = openFile(path);
  if (!file)
    return failure();
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

/// Magic, version 1.0, and the header padded so that the data start at a multiple
/// of 64.
static std::string makeHeader(StringRef descr, ArrayRef<int64_t> shape) {
  std::string dictionary = "{'descr': '" + descr.str() +
                           "', 'fortran_order': False, 'shape': " + printNumPyShape(shape) +
                           ", }";
  size_t start = kMagic.size() + 4;
  dictionary.resize(llvm::alignTo(start + dictionary.size() + 1, 64) - start - 1, ' ');
  dictionary += '\n';
  char size[2];
  llvm::support::endian::write16le(size, static_cast<uint16_t>(dictionary.size()));
  return kMagic.str() + std::string("\1\0", 2) + std::string(size, 2) + dictionary;
}

LogicalResult kvcrun::writeNpy(StringRef path, const Tensor &tensor, bool bf16AsF32) {
  std::string message;
  auto file = openOutputFile(path, &message);
  if (!file)
    return reportError(message);
  llvm::raw_fd_ostream &os = file->os();
  if (bf16AsF32 && tensor.getDType() == KVC_DTYPE_BF16) {
    os << makeHeader("<f4", tensor.getShape());
    for (int64_t i = 0, e = tensor.getNumElements(); i < e; ++i) {
      float value = static_cast<float>(loadElement(tensor.getData(), KVC_DTYPE_BF16, i));
      os.write(reinterpret_cast<const char *>(&value), sizeof(value));
    }
  } else {
    os << makeHeader(getDescrs(tensor.getDType()).front(), tensor.getShape());
    os.write(tensor.getData(), tensor.getNumBytes());
  }
  os.flush();
  if (std::error_code error = os.error()) {
    os.clear_error(); // or else the destructor ends the process
    return reportError("cannot write '" + path + "': " + error.message());
  }
  file->keep();
  return success();
}
