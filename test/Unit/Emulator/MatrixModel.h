//===- MatrixModel.h - what mma.sync should give ----------------*- C++ -*-===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef KVC_TEST_UNIT_EMULATOR_MATRIXMODEL_H
#define KVC_TEST_UNIT_EMULATOR_MATRIXMODEL_H

#include "Emulator/Matrix.h"
#include "Emulator/Numerics.h"

#include <array>
#include <vector>

/// A floating-point format: a sign, `exponentBits`, `mantissaBits`, and
/// `hiddenBits` that do not count.
struct FloatFormat {
  unsigned exponentBits, mantissaBits, hiddenBits;
  int bias;
  uint32_t firstSpecial; ///< Least magnitude that is not finite, shifted by
                         ///< hiddenBits.

  unsigned getNumBits() const {
    return 1 + exponentBits + mantissaBits + hiddenBits;
  }
};

const FloatFormat &getFormat(kvc::emu::MatrixType type);

/// Bits of `value`, which `type` must have; not for integers.
uint32_t encode(kvc::emu::MatrixType type, double value);
/// Bits of a small integer, of any type.
uint32_t encodeInteger(kvc::emu::MatrixType type, int value);

/// Bits of the elements of A [16][k], B [k][8] and C.
struct Matrices {
  explicit Matrices(unsigned k);

  std::vector<std::vector<uint32_t>> a;
  std::vector<std::array<uint32_t, 8>> b;
  std::array<std::array<uint32_t, 8>, 16> c{};
};

struct Result {
  std::array<std::array<uint32_t, 8>, 16> d{};
};

/// Writes fragments, calls multiplyAccumulate, and reads D.
Result multiply(const kvc::emu::MatrixInstruction &instruction,
                kvc::emu::MatrixArithmetic arithmetic, const Matrices &in);

// Bits of one sum.
uint32_t modelH100(const kvc::emu::MatrixInstruction &instruction,
                   const std::vector<uint32_t> &a,
                   const std::vector<uint32_t> &b, uint32_t c);
uint32_t modelF32(const kvc::emu::MatrixInstruction &instruction,
                  const std::vector<uint32_t> &a,
                  const std::vector<uint32_t> &b, uint32_t c);
uint32_t modelF64(const kvc::emu::MatrixInstruction &instruction,
                  const std::vector<uint32_t> &a,
                  const std::vector<uint32_t> &b, uint32_t c);

#endif // KVC_TEST_UNIT_EMULATOR_MATRIXMODEL_H
