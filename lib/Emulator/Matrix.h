//===- Matrix.h - mma.sync ---------------------------------------*- C++
//-*-===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef KVC_LIB_EMULATOR_MATRIX_H
#define KVC_LIB_EMULATOR_MATRIX_H

#include "kvc/Emulator/Emulator.h"

#include <cstdint>

namespace kvc::emu {

/// Element types of matrix operands.
enum class MatrixType : uint8_t {
  F16,
  BF16,
  TF32,
  E4M3,
  E5M2,
  S8,
  U8,
  F32,
  S32
};

/// mma.sync.aligned.m16n8k<K>.row.col.<d>.<a>.<b>.<c>.
struct MatrixInstruction {
  uint8_t k =
      16; ///< 8 or 16 for 16-bit types, 4 or 8 for tf32, 16 or 32 for 8 bits.
  MatrixType d = MatrixType::F32, a = MatrixType::F16, b = MatrixType::F16,
             c = MatrixType::F32;
  bool saturate = false; ///< .satfinite, of S32 sums.

  /// Registers of 32 bits a lane of each operand.
  unsigned getNumA() const;
  unsigned getNumB() const;
  unsigned getNumCD() const; ///< 4 of F32 and S32, 2 of F16.
};

/// A register of all lanes of a warp.
using LaneRow = uint32_t[32];

/// D = A * B + C for a whole warp. `a`, `b`, `c`, `d` point to the rows of
/// their registers; a row of `d` may also be one of the others.
///
/// MatrixArithmetic::H100 is what is known of mma.sync on an H100:
///  * A product has the sum of its factors' exponents. A subnormal has the
///  least
///    exponent of its type, zero has -126.
///  * Products and c are cut, towards zero, to 25 bits behind the point,
///  counted
///    from the largest exponent of them all, and added exactly.
///  * The sum is rounded towards zero to f32, beyond whose range is infinity,
///  or
///    to the nearest f16. Zero is positive.
/// In each arithmetic NaN is 0x7FFFFFFF (f16: 0x7FFF), infinities follow IEEE
/// 754, subnormals count, and tf32 operands lose their lowest 13 bits. Integers
/// are added exactly; the sum wraps, or is clamped with `saturate`.
void multiplyAccumulate(const MatrixInstruction &instruction,
                        MatrixArithmetic arithmetic, const LaneRow *const *a,
                        const LaneRow *const *b, const LaneRow *const *c,
                        LaneRow *const *d);

} // namespace kvc::emu

#endif // KVC_LIB_EMULATOR_MATRIX_H
