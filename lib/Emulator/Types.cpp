//===- Types.cpp - types by their names -----------------------------------===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Syntax.h"

#include <unordered_map>

using namespace kvc::emu;

Type kvc::emu::parseType(std::string_view text) {
  static const std::unordered_map<std::string_view, Type> types = {
      {"pred", Type::Pred},     {"b8", Type::B8},         {"b16", Type::B16},
      {"b32", Type::B32},       {"b64", Type::B64},       {"b128", Type::B128},
      {"u8", Type::U8},         {"u16", Type::U16},       {"u32", Type::U32},
      {"u64", Type::U64},       {"s8", Type::S8},         {"s16", Type::S16},
      {"s32", Type::S32},       {"s64", Type::S64},       {"f16", Type::F16},
      {"f16x2", Type::F16x2},   {"bf16", Type::BF16},     {"bf16x2", Type::BF16x2},
      {"f32", Type::F32},       {"f64", Type::F64},       {"tf32", Type::TF32},
      {"e4m3", Type::E4M3},     {"e5m2", Type::E5M2},     {"e4m3x2", Type::E4M3x2},
      {"e5m2x2", Type::E5M2x2}};
  auto it = types.find(text);
  return it == types.end() ? Type::None : it->second;
}

unsigned kvc::emu::getNumBits(Type type) {
  switch (type) {
  case Type::None: return 0;
  case Type::Pred: return 1;
  case Type::B8: case Type::U8: case Type::S8: case Type::E4M3: case Type::E5M2:
    return 8;
  case Type::B16: case Type::U16: case Type::S16: case Type::F16:
  case Type::BF16: case Type::E4M3x2: case Type::E5M2x2:
    return 16;
  case Type::B32: case Type::U32: case Type::S32: case Type::F16x2:
  case Type::BF16x2: case Type::F32: case Type::TF32:
    return 32;
  case Type::B64: case Type::U64: case Type::S64: case Type::F64:
    return 64;
  case Type::B128: return 128;
  }
  return 0;
}

const char *kvc::emu::getName(Type type) {
  static const char *const names[] = {
      "none", "pred", "b8",  "b16", "b32",   "b64",  "b128",   "u8",  "u16",
      "u32",  "u64",  "s8",  "s16", "s32",   "s64",  "f16",    "f16x2", "bf16",
      "bf16x2", "f32", "f64", "tf32", "e4m3", "e5m2", "e4m3x2", "e5m2x2"};
  return names[unsigned(type)];
}
