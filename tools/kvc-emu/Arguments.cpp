//===- Arguments.cpp - values of a kernel's parameters --------------------===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Arguments.h"

#include "../Common/Npy.h"

#include "mlir/Support/FileUtilities.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/MathExtras.h"

#include <cstring>

using namespace kvcemu;
using kvctools::makeError;
using llvm::Error;
using llvm::StringRef;
using llvm::Twine;

/// Structs in structs.
static constexpr unsigned kMaxDepth = 8;
/// What a parameter may have.
static constexpr size_t kMaxBytes = 32764;

uint64_t Argument::getAlignment() const {
  if (array >= 0)
    return 8;
  uint64_t alignment = 1;
  for (const Argument &field : fields)
    alignment = std::max(alignment, field.getAlignment());
  // Scalars are aligned to their size, files not at all.
  return isStruct ? alignment : llvm::isPowerOf2_64(bytes.size()) && bytes.size() <= 8
                                    ? bytes.size()
                                    : 1;
}

uint64_t Argument::getSize() const {
  if (array >= 0)
    return 8;
  if (!isStruct)
    return bytes.size();
  uint64_t size = 0;
  for (const Argument &field : fields)
    size = llvm::alignTo(size, field.getAlignment()) + field.getSize();
  return llvm::alignTo(size, getAlignment());
}

void kvcemu::storeArgument(const Argument &argument, llvm::ArrayRef<uint64_t> addresses,
                           uint8_t *to) {
  if (argument.array >= 0) {
    uint64_t address = addresses[argument.array] + uint64_t(argument.offset);
    std::memcpy(to, &address, 8);
    return;
  }
  if (!argument.isStruct) {
    llvm::copy(argument.bytes, to);
    return;
  }
  uint64_t offset = 0;
  for (const Argument &field : argument.fields) {
    offset = llvm::alignTo(offset, field.getAlignment());
    storeArgument(field, addresses, to + offset);
    offset += field.getSize();
  }
}

int kvcemu::findArray(const std::vector<Array> &arrays, StringRef name) {
  for (size_t i = 0; i < arrays.size(); ++i)
    if (arrays[i].name == name)
      return int(i);
  return -1;
}

/// "@name+16".
static Error parsePointer(StringRef text, const std::vector<Array> &arrays,
                          Argument &argument) {
  size_t end = text.find_first_of("+-");
  StringRef name = text.substr(0, end);
  argument.array = findArray(arrays, name);
  if (argument.array < 0)
    return makeError("expected an array that an earlier argument declares after '@', got '" +
                     name + "'");
  StringRef offset = end == StringRef::npos ? "" : text.substr(end);
  (void)offset.consume_front("+");
  if (end != StringRef::npos && offset.getAsInteger(10, argument.offset))
    return makeError("expected a number of bytes after '@" + name + "', got '" +
                     text.substr(end) + "'");
  return Error::success();
}

static Error parseBytes(StringRef path, Argument &argument) {
  std::string message;
  auto file = mlir::openInputFile(path, &message);
  if (!file)
    return makeError(message);
  if (file->getBufferSize() > kMaxBytes)
    return makeError("'" + path + "': expected at most 32764 bytes, got " +
                     Twine(file->getBufferSize()));
  argument.bytes.assign(file->getBufferStart(), file->getBufferEnd());
  return Error::success();
}

/// Splits at the commas that are in no braces or brackets.
static std::vector<StringRef> splitFields(StringRef text) {
  std::vector<StringRef> fields;
  int depth = 0;
  size_t start = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    depth += text[i] == '{' || text[i] == '[';
    depth -= text[i] == '}' || text[i] == ']';
    if (text[i] == ',' && depth == 0) {
      fields.push_back(text.slice(start, i));
      start = i + 1;
    }
  }
  fields.push_back(text.substr(start));
  return fields;
}

static Error parse(StringRef text, std::vector<Array> &arrays, unsigned depth,
                   Argument &argument) {
  text = text.trim();
  argument.text = text.str();
  StringRef rest = text;
  if (rest.consume_front("{")) {
    if (!rest.consume_back("}") || depth >= kMaxDepth)
      return makeError("expected a struct such as {i32:4, @x}, of at most 8 levels, got '" +
                       text + "'");
    argument.isStruct = true;
    for (StringRef field : splitFields(rest)) {
      if (Error error = parse(field, arrays, depth + 1, argument.fields.emplace_back()))
        return error;
    }
    return Error::success();
  }
  if (rest.consume_front("@"))
    return parsePointer(rest, arrays, argument);
  if (rest == "null") {
    argument.bytes.assign(8, 0);
    return Error::success();
  }
  if (rest.consume_front("bytes:"))
    return parseBytes(rest, argument);
  if (rest.consume_front("hex:")) {
    std::string bytes;
    if (rest.size() % 2 || !llvm::tryGetFromHex(rest, bytes) || bytes.size() > kMaxBytes)
      return makeError("expected two hexadecimal digits a byte after 'hex:', got '" + rest +
                       "'");
    argument.bytes.assign(bytes.begin(), bytes.end());
    return Error::success();
  }
  auto [name, value] = text.split(':');
  if (const ElementType *type = findType(name)) {
    argument.bytes.resize(type->bytes);
    return parseElement(value, *type, argument.bytes.data());
  }
  if (!text.contains(':'))
    return makeError("expected an argument such as i32:512, x:f32[4x8]=zeros, x:x.npy, @x+16, "
                     "{i32:4, @x}, null, hex:00ff or bytes:file, got '" + text + "'");
  Array array;
  if (Error error = parseArray(text, unsigned(arrays.size()), array))
    return error;
  if (findArray(arrays, array.name) >= 0)
    return makeError("expected one array '" + array.name + "', got another");
  argument.array = int(arrays.size());
  arrays.push_back(std::move(array));
  return Error::success();
}

Error kvcemu::parseArgument(StringRef text, std::vector<Array> &arrays,
                            Argument &argument) {
  return parse(text, arrays, 0, argument);
}
