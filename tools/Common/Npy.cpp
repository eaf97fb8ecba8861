//===- Npy.cpp - NumPy's .npy files ---------------------------------------===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Npy.h"

#include "mlir/Support/FileUtilities.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Endian.h"
#include "llvm/Support/ToolOutputFile.h"

using namespace kvctools;
using namespace mlir;

/// The six bytes that a file starts with.
static constexpr StringLiteral kMagic = "\x93NUMPY";

llvm::Error kvctools::makeError(const Twine &message) {
  return llvm::createStringError(llvm::inconvertibleErrorCode(), message);
}

//===----------------------------------------------------------------------===//
// Shapes
//===----------------------------------------------------------------------===//

std::string kvctools::printNumPyShape(ArrayRef<int64_t> shape) {
  return "(" + llvm::join(llvm::map_range(shape, [](int64_t n) { return std::to_string(n); }),
                          ", ") +
         (shape.size() == 1 ? ",)" : ")");
}

std::optional<int64_t> kvctools::getNumBytes(ArrayRef<int64_t> shape,
                                              int64_t elementBytes) {
  int64_t bytes = elementBytes;
  for (int64_t size : shape)
    if (size < 0 || __builtin_mul_overflow(bytes, size, &bytes))
      return std::nullopt;
  return bytes;
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

llvm::Expected<NpyFile> kvctools::openNpy(StringRef path) {
  std::string message;
  NpyFile result;
  result.buffer = openInputFile(path, &message);
  if (!result.buffer)
    return makeError(message);
  Header header;
  StringRef bytes = result.buffer->getBuffer();
  if (!parseHeader(bytes, header))
    return makeError("expected '" + path + "' to be a .npy file of version 1 to 3");
  if (header.isFortran && header.shape.size() > 1)
    return makeError("'" + path + "': expected C order, got Fortran order");
  result.descr = header.descr.str();
  result.shape = std::move(header.shape);
  result.data = bytes.substr(header.dataOffset);
  return result;
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

llvm::Error kvctools::writeNpy(StringRef path, StringRef descr, ArrayRef<int64_t> shape,
                               llvm::function_ref<void(llvm::raw_ostream &)> writeData) {
  std::string message;
  auto file = openOutputFile(path, &message);
  if (!file)
    return makeError(message);
  llvm::raw_fd_ostream &os = file->os();
  os << makeHeader(descr, shape);
  writeData(os);
  os.flush();
  if (std::error_code error = os.error()) {
    os.clear_error(); // or else the destructor ends the process
    return makeError("cannot write '" + path + "': " + error.message());
  }
  file->keep();
  return llvm::Error::success();
}
