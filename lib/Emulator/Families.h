//===- Families.h - opcodes that several files decode -----------*- C++ -*-===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// `add` is an integer, a float or a half instruction by its type. Float.cpp owns
// the shared opcodes; the type is taken already.
//===----------------------------------------------------------------------===//
#ifndef KVC_LIB_EMULATOR_FAMILIES_H
#define KVC_LIB_EMULATOR_FAMILIES_H

#include "Decoder.h"

namespace kvc::emu {

void decodeIntegerAdd(Decoder &decoder, Type type);
void decodeIntegerSub(Decoder &decoder, Type type);
void decodeIntegerMul(Decoder &decoder, Type type);
void decodeIntegerMad(Decoder &decoder, Type type);
void decodeIntegerDiv(Decoder &decoder, Type type);
void decodeIntegerMin(Decoder &decoder, Type type);
void decodeIntegerMax(Decoder &decoder, Type type);
void decodeIntegerNeg(Decoder &decoder, Type type);
void decodeIntegerAbs(Decoder &decoder, Type type);

/// The opcode at hand, of f16, f16x2, bf16 or bf16x2.
void decodeHalf(Decoder &decoder, Type type);

bool isHalf(Type type);
inline bool isFloat(Type type) { return type == Type::F32 || type == Type::F64; }

} // namespace kvc::emu

#endif // KVC_LIB_EMULATOR_FAMILIES_H
