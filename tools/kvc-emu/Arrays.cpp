//===- Arrays.cpp - arrays that kernels get -------------------------------===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Arrays.h"

#include "../Common/Npy.h"
#include "../Common/RandomNumbers.h"

#include "mlir/Support/FileUtilities.h"
#include "llvm/ADT/StringExtras.h"

#include <cmath>
#include <cstring>

using namespace kvcemu;
using kvctools::makeError;
using llvm::ArrayRef;
using llvm::Error;
using llvm::StringRef;
using llvm::Twine;

//===----------------------------------------------------------------------===//
// Texts
//===----------------------------------------------------------------------===//

static std::string printShape(ArrayRef<int64_t> shape) {
  return llvm::join(llvm::map_range(shape, [](int64_t n) { return std::to_string(n); }),
                    "x");
}

std::string kvcemu::printType(const Array &array) {
  return (array.type->name + "[" + printShape(array.shape) + "]").str();
}

std::string kvcemu::printArray(const Array &array, ArrayRef<char> bytes) {
  std::string text = array.name + ": " + printType(array) + " = {";
  for (size_t i = 0; i < bytes.size(); i += array.type->bytes)
    text += (i ? ", " : "") + printElement(*array.type, bytes.data() + i);
  return text + "}";
}

/// Reads "4x8", or nothing, which is a single element.
static bool parseShape(StringRef text, std::vector<int64_t> &shape) {
  llvm::SmallVector<StringRef> parts;
  text.split(parts, 'x');
  for (StringRef part : parts) {
    int64_t size;
    if (part.trim().getAsInteger(10, size) || size < 0)
      return false;
    shape.push_back(size);
  }
  return true;
}

//===----------------------------------------------------------------------===//
// Sources
//===----------------------------------------------------------------------===//

/// Copies the data of a file, whose type and shape must be the array's if it has
/// them, and become its own if it does not.
static Error readNpy(StringRef path, bool hasShape, Array &array) {
  llvm::Expected<kvctools::NpyFile> file = kvctools::openNpy(path);
  if (!file)
    return file.takeError();
  const ElementType *type = findTypeOfDescr(file->descr);
  if (!type)
    return makeError("'" + path + "': expected elements of a type with NumPy's name of " +
                     "a number in little-endian order, got '" + file->descr + "'");
  // What NumPy lacks lies in files as bits of the same size.
  bool isBits = array.type && array.type->bytes == type->bytes &&
                type->kind == ElementType::Unsigned;
  bool isWrapped = array.type && array.type->bytes == type->bytes && !array.type->isFloat() &&
                   !type->isFloat();
  if (array.type && array.type != type && !isBits && !isWrapped)
    return makeError("'" + path + "': expected elements of type " + array.type->name +
                     ", got '" + file->descr + "'");
  if (!array.type)
    array.type = type;
  if (hasShape && array.shape != file->shape)
    return makeError("'" + path + "': expected shape " +
                     kvctools::printNumPyShape(array.shape) + ", got " +
                     kvctools::printNumPyShape(file->shape));
  array.shape = file->shape;
  std::optional<int64_t> bytes = kvctools::getNumBytes(array.shape, array.type->bytes);
  if (!bytes || uint64_t(*bytes) != file->data.size())
    return makeError("'" + path + "': expected data of shape " +
                     kvctools::printNumPyShape(array.shape) + ", got " +
                     Twine(file->data.size()) + " bytes");
  if (*bytes > kMaxArrayBytes)
    return makeError("'" + path + "': expected at most 2 GiB, got " + Twine(*bytes) +
                     " bytes");
  array.bytes.assign(file->data.begin(), file->data.end());
  return Error::success();
}

static Error readRaw(StringRef path, Array &array) {
  std::string message;
  auto file = mlir::openInputFile(path, &message);
  if (!file)
    return makeError(message);
  if (file->getBufferSize() != array.bytes.size())
    return makeError("'" + path + "': expected " + Twine(array.bytes.size()) +
                     " bytes of " + printType(array) + ", got " +
                     Twine(file->getBufferSize()));
  std::memcpy(array.bytes.data(), file->getBufferStart(), array.bytes.size());
  return Error::success();
}

static Error fillList(StringRef list, Array &array) {
  llvm::SmallVector<StringRef> texts;
  if (!list.trim().empty())
    list.split(texts, ',');
  if (int64_t(texts.size()) != array.getNumElements())
    return makeError("expected " + Twine(array.getNumElements()) + " numbers of " +
                     printType(array) + ", got " + Twine(texts.size()));
  for (size_t i = 0; i < texts.size(); ++i)
    if (Error error = parseElement(texts[i], *array.type,
                                   array.bytes.data() + i * array.type->bytes))
      return error;
  return Error::success();
}

/// "normal(7)": takes the seed off; false if it is no number.
static bool takeSeed(StringRef &pattern, uint64_t &seed) {
  auto [name, rest] = pattern.split('(');
  if (rest.empty())
    return name == pattern;
  pattern = name;
  return rest.consume_back(")") && !rest.getAsInteger(10, seed);
}

Error kvcemu::fillArray(StringRef source, unsigned number, Array &array) {
  if (source.ends_with(".npy"))
    return readNpy(source, true, array);
  if (source.consume_front("@"))
    return readRaw(source, array);
  if (source.consume_front("{")) {
    if (!source.consume_back("}"))
      return makeError("expected '}' after the numbers of '" + array.name + "'");
    return fillList(source, array);
  }
  const ElementType &type = *array.type;
  char *bytes = array.bytes.data();
  int64_t count = array.getNumElements();
  uint64_t seed = number;
  StringRef pattern = source;
  bool isRandom = pattern.starts_with("normal") || pattern.starts_with("uniform");
  if (isRandom && takeSeed(pattern, seed) && (pattern == "normal" || pattern == "uniform")) {
    bool isNormal = pattern == "normal";
    if (isNormal && !type.isFloat())
      return makeError("expected a floating-point type for 'normal', got " + type.name);
    kvctools::RandomNumbers numbers(seed);
    for (int64_t i = 0; i < count; ++i) {
      uint64_t bits = numbers.bitsAt(uint64_t(i));
      if (isNormal)
        storeNumber(numbers.at(uint64_t(i)), type, bytes + i * type.bytes);
      else if (type.isFloat())
        storeNumber(double(bits >> 11) * 0x1p-53, type, bytes + i * type.bytes);
      else
        std::memcpy(bytes + i * type.bytes, &bits, type.bytes);
    }
    return Error::success();
  }
  if (source == "iota") {
    for (int64_t i = 0; i < count; ++i)
      storeNumber(double(i), type, bytes + i * type.bytes);
    return Error::success();
  }
  StringRef word = source == "zeros" ? "0" : source == "ones" ? "1" : source;
  char element[8];
  if (Error error = parseElement(word, type, element)) {
    llvm::consumeError(std::move(error));
    return makeError("expected zeros, ones, iota, uniform, normal, a number of type " +
                     type.name + ", {numbers}, a .npy file or @file for '" + array.name +
                     "', got '" + source + "'");
  }
  for (int64_t i = 0; i < count; ++i)
    std::memcpy(bytes + i * type.bytes, element, type.bytes);
  return Error::success();
}

Error kvcemu::parseArray(StringRef text, unsigned number, Array &array) {
  auto [name, rest] = text.split(':');
  array.name = name.str();
  auto isNameChar = [](char c) { return llvm::isAlnum(c) || c == '_'; };
  if (name.empty() || !llvm::all_of(name, isNameChar) || findType(name))
    return makeError("expected a name of letters, digits and '_' that is no type, got '" +
                     name + "'");
  auto [typeAndShape, source] = rest.split('=');
  auto [typeName, bracket] = typeAndShape.split('[');
  array.type = findType(typeName);
  if (!array.type) {
    if (source.empty() && rest.ends_with(".npy"))
      return readNpy(rest, false, array);
    return makeError("expected a type (" + listTypes() + ") or a .npy file after '" + name +
                     ":', got '" + typeName + "'");
  }
  if (!typeAndShape.contains('[')) {
    if (!source.ends_with(".npy"))
      return makeError("expected a shape such as " + typeName +
                       "[4x8], or a .npy file that has one, in '" + text + "'");
    return readNpy(source, false, array);
  }
  if (!bracket.consume_back("]") || !parseShape(bracket, array.shape))
    return makeError("expected a shape such as [512] or [4x8], got '[" + bracket +
                     "' in '" + text + "'");
  std::optional<int64_t> bytes = kvctools::getNumBytes(array.shape, array.type->bytes);
  if (!bytes || *bytes > kMaxArrayBytes)
    return makeError("expected an array of at most 2 GiB, got " + printType(array));
  bool hasSource = rest.contains('=');
  array.bytes.assign(size_t(*bytes), char(0xFF));
  array.isWritten = hasSource;
  return hasSource ? fillArray(source, number, array) : Error::success();
}

//===----------------------------------------------------------------------===//
// Results
//===----------------------------------------------------------------------===//

Difference kvcemu::compare(const Array &expected, ArrayRef<char> bytes,
                           Tolerance tolerance) {
  Difference result;
  const ElementType &type = *expected.type;
  bool isExact = tolerance.absolute == 0 && tolerance.relative == 0;
  for (int64_t i = 0, e = expected.getNumElements(); i < e; ++i) {
    const char *want = expected.getElement(i), *got = bytes.data() + i * type.bytes;
    if (std::memcmp(want, got, type.bytes) == 0)
      continue;
    double a = loadNumber(type, want), b = loadNumber(type, got);
    double distance = std::fabs(a - b);
    bool bothNaN = std::isnan(a) && std::isnan(b);
    if (!isExact && (bothNaN || distance <= tolerance.absolute +
                                                tolerance.relative * std::fabs(a)))
      continue;
    if (result.count++ == 0)
      result.first = i;
    if (distance > result.largest) // not if it is NaN
      result.largest = distance;
  }
  return result;
}

Error kvcemu::saveArray(StringRef path, const Array &array, ArrayRef<char> bytes) {
  return kvctools::writeNpy(path, array.type->descr, array.shape,
                            [&](llvm::raw_ostream &os) {
                              os.write(bytes.data(), bytes.size());
                            });
}
