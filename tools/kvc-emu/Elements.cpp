//===- Elements.cpp - types and texts of elements -------------------------===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Elements.h"

#include "../Common/Npy.h"

#include "llvm/ADT/APFloat.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSwitch.h"

#include <cmath>
#include <cstring>

using namespace kvcemu;
using kvctools::makeError;
using llvm::APFloat;
using llvm::StringRef;
using llvm::Twine;

static constexpr ElementType kTypes[] = {
    {"i8", "|i1", ElementType::Signed, 1},    {"i16", "<i2", ElementType::Signed, 2},
    {"i32", "<i4", ElementType::Signed, 4},   {"i64", "<i8", ElementType::Signed, 8},
    {"u8", "|u1", ElementType::Unsigned, 1},  {"u16", "<u2", ElementType::Unsigned, 2},
    {"u32", "<u4", ElementType::Unsigned, 4}, {"u64", "<u8", ElementType::Unsigned, 8},
    {"f16", "<f2", ElementType::Float, 2},    {"bf16", "<u2", ElementType::Float, 2},
    {"f32", "<f4", ElementType::Float, 4},    {"f64", "<f8", ElementType::Float, 8},
    {"e4m3", "|u1", ElementType::Float, 1},   {"e5m2", "|u1", ElementType::Float, 1}};

const ElementType *kvcemu::findType(StringRef name) {
  StringRef known = llvm::StringSwitch<StringRef>(name)
                        .Case("s8", "i8").Case("s16", "i16")
                        .Case("s32", "i32").Case("s64", "i64")
                        .Case("b8", "u8").Case("b16", "u16")
                        .Case("b32", "u32").Case("b64", "u64")
                        .Default(name);
  const auto *type =
      llvm::find_if(kTypes, [&](const ElementType &type) { return type.name == known; });
  return type == std::end(kTypes) ? nullptr : type;
}

const ElementType *kvcemu::findTypeOfDescr(StringRef descr) {
  if (descr == "|V2" || descr == "<V2") // how ml_dtypes names bf16
    return findType("bf16");
  if (descr == "|b1")
    return findType("u8");
  const auto *type = llvm::find_if(
      kTypes, [&](const ElementType &type) { return type.descr == descr; });
  return type == std::end(kTypes) ? nullptr : type;
}

std::string kvcemu::listTypes() {
  return llvm::join(llvm::map_range(kTypes, [](const ElementType &type) {
                      return type.name.str();
                    }), ", ");
}

static const llvm::fltSemantics &getSemantics(const ElementType &type) {
  return *llvm::StringSwitch<const llvm::fltSemantics *>(type.name)
              .Case("f16", &APFloat::IEEEhalf())
              .Case("bf16", &APFloat::BFloat())
              .Case("f32", &APFloat::IEEEsingle())
              .Case("e4m3", &APFloat::Float8E4M3FN())
              .Case("e5m2", &APFloat::Float8E5M2())
              .Default(&APFloat::IEEEdouble());
}

static void storeBits(uint64_t bits, const ElementType &type, void *to) {
  std::memcpy(to, &bits, type.bytes); // both are little-endian
}

static uint64_t loadBits(const ElementType &type, const void *from) {
  uint64_t bits = 0;
  std::memcpy(&bits, from, type.bytes);
  return bits;
}

void kvcemu::storeNumber(double value, const ElementType &type, void *to) {
  if (!type.isFloat()) {
    storeBits(type.kind == ElementType::Signed ? uint64_t(int64_t(value))
                                               : uint64_t(value),
              type, to);
    return;
  }
  APFloat number(value);
  bool loses;
  number.convert(getSemantics(type), APFloat::rmNearestTiesToEven, &loses);
  storeBits(number.bitcastToAPInt().getZExtValue(), type, to);
}

double kvcemu::loadNumber(const ElementType &type, const void *from) {
  uint64_t bits = loadBits(type, from);
  if (type.kind == ElementType::Unsigned)
    return double(bits);
  if (type.kind == ElementType::Signed)
    return double(llvm::SignExtend64(bits, type.bytes * 8));
  APFloat number(getSemantics(type), llvm::APInt(type.bytes * 8, bits));
  bool loses;
  number.convert(APFloat::IEEEdouble(), APFloat::rmNearestTiesToEven, &loses);
  return number.convertToDouble();
}

llvm::Error kvcemu::parseElement(StringRef text, const ElementType &type, void *to) {
  auto fail = [&] {
    return makeError("expected a number of type " + type.name + ", got '" + text + "'");
  };
  text = text.trim();
  bool isHexadecimal = text.starts_with_insensitive("0x");
  if (type.isFloat() && !isHexadecimal) {
    double value;
    StringRef magnitude = text.ltrim("+-");
    bool isSpecial = llvm::is_contained({"nan", "inf", "infinity"}, magnitude.lower());
    if (isSpecial) {
      value = magnitude.lower() == "nan" ? std::nan("") : INFINITY;
      value = text.starts_with("-") ? -value : value;
    } else if (text.getAsDouble(value)) {
      return fail();
    }
    storeNumber(value, type, to);
    return llvm::Error::success();
  }
  StringRef digits = text;
  bool isNegative = digits.consume_front("-");
  uint64_t magnitude;
  if (digits.empty() || digits.getAsInteger(isHexadecimal ? 0 : 10, magnitude))
    return fail();
  unsigned bits = type.bytes * 8;
  uint64_t most = bits == 64 ? UINT64_MAX : (uint64_t(1) << bits) - 1;
  // A signed type takes its bits as well, as PTX does.
  uint64_t least = type.kind == ElementType::Signed ? uint64_t(1) << (bits - 1) : 0;
  if (isNegative ? magnitude > least : magnitude > most)
    return fail();
  storeBits(isNegative ? 0 - magnitude : magnitude, type, to);
  return llvm::Error::success();
}

std::string kvcemu::printElement(const ElementType &type, const void *from) {
  if (type.kind == ElementType::Unsigned)
    return std::to_string(loadBits(type, from));
  if (type.kind == ElementType::Signed)
    return std::to_string(llvm::SignExtend64(loadBits(type, from), type.bytes * 8));
  double value = loadNumber(type, from);
  if (std::isnan(value))
    return "nan";
  if (std::isinf(value))
    return value < 0 ? "-inf" : "inf";
  char text[40];
  if (std::fabs(value) < 1e9 && value == std::trunc(value)) { // not as 1e+01
    std::snprintf(text, sizeof(text), "%.0f", value);
    return text;
  }
  for (int precision = 1;; ++precision) {
    std::snprintf(text, sizeof(text), "%.*g", precision, value);
    double again = std::strtod(text, nullptr);
    bool isSame = type.bytes == 8 ? again == value : float(again) == float(value);
    if (isSame || precision >= 17)
      return text;
  }
}
