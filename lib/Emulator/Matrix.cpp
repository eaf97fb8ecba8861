//===- Matrix.cpp - mma.sync ----------------------------------------------===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Takes the fragments apart, multiplies, and puts the sums together again. All
// shapes share their layout, with lane = 4g + t:
//  * A register of A holds, over all lanes, the 8 rows g of 16 bytes along k
//  one
//    after the other: rows 0..7 or 8..15 (bit 0 of its number), bytes 0..15 or
//    16..31 of k (the next bit). One of B likewise, of columns.
//  * Registers 2h and 2h+1 of C and D hold the even and the odd columns of rows
//    8h..8h+7, four a row; with f16, the halves of register h do.
//
// Sums of one row are worked on together. They lie in order of `kColumnOf`,
// even columns first, as registers have them.
//===----------------------------------------------------------------------===//
#include "Matrix.h"
#include "MatrixElement.h"
#include "MatrixRow.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <limits>
#include <numeric>

using namespace kvc::emu;

static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__,
              "fragments are copied as bytes");

namespace {
constexpr unsigned kRows = 16;
constexpr unsigned kColumns = 8;
constexpr unsigned kColumnOf[kColumns] = {0, 2, 4, 6, 1, 3, 5, 7};

constexpr unsigned kNumSums = kRows * kColumns;

/// One value per sum, row by row.
template <typename T>
using Sums = T[kNumSums];

/// Rows of A or columns of B, each along k.
template <typename T, unsigned Lines, unsigned K>
using LinesOf = T[Lines * K];
} // namespace

//===----------------------------------------------------------------------===//
// Fragments
//===----------------------------------------------------------------------===//

/// Fills `elements` from the registers of A (16 lines) or B (8).
template <typename T, unsigned Lines, unsigned K>
static void readLines(const LaneRow *const *registers,
                      LinesOf<T, Lines, K> &elements) {
  constexpr unsigned kHalves = Lines / 8;
  constexpr unsigned kLineBytes = K * sizeof(T);
  for (unsigned r = 0; r < kLineBytes / 16 * kHalves; ++r) {
    const auto *from = reinterpret_cast<const char *>(*registers[r]);
    for (unsigned g = 0; g < 8; ++g) {
      auto *line = reinterpret_cast<char *>(elements) +
                   (8 * (r % kHalves) + g) * kLineBytes;
      std::memcpy(line + r / kHalves * 16, from + g * 16, 16);
    }
  }
}

/// Turns columns of B, each along k, into rows of B in order of `kColumnOf`.
template <unsigned K, typename T, typename Result>
static void turn(const T *columns, Result *rows) {
  for (unsigned k = 0; k < K; ++k)
    for (unsigned n = 0; n < kColumns; ++n)
      rows[k * kColumns + n] = columns[kColumnOf[n] * K + k];
}

/// Where the sums begin that register `r` holds of row `g` or `g + 8`.
static unsigned halfRow(unsigned r, unsigned g) {
  return (8 * (r / 2) + g) * kColumns + 4 * (r % 2);
}

/// Reads C of 32 bits.
static void readSums(const LaneRow *const *registers, Sums<uint32_t> &sums) {
  for (unsigned r = 0; r < 4; ++r)
    for (unsigned g = 0; g < 8; ++g)
      std::memcpy(&sums[halfRow(r, g)], &(*registers[r])[4 * g], 16);
}

static void writeSums(const Sums<uint32_t> &sums, LaneRow *const *registers) {
  for (unsigned r = 0; r < 4; ++r)
    for (unsigned g = 0; g < 8; ++g)
      std::memcpy(&(*registers[r])[4 * g], &sums[halfRow(r, g)], 16);
}

/// Reads C of f16.
static void readSums(const LaneRow *const *registers, Sums<uint16_t> &sums) {
  for (unsigned r = 0; r < 2; ++r)
    for (unsigned lane = 0; lane < 32; ++lane)
      for (unsigned h = 0; h < 2; ++h)
        sums[(8 * r + lane / 4) * kColumns + 4 * h + lane % 4] =
            static_cast<uint16_t>((*registers[r])[lane] >> (16 * h));
}

static void writeSums(const Sums<uint16_t> &sums, LaneRow *const *registers) {
  for (unsigned r = 0; r < 2; ++r)
    for (unsigned lane = 0; lane < 32; ++lane) {
      const uint16_t *row = sums + (8 * r + lane / 4) * kColumns;
      (*registers[r])[lane] =
          row[lane % 4] | static_cast<uint32_t>(row[4 + lane % 4]) << 16;
    }
}

//===----------------------------------------------------------------------===//
// Integers
//===----------------------------------------------------------------------===//

template <typename A, typename B, unsigned K>
static void multiplyIntegers(bool saturate, const LaneRow *const *aRegisters,
                             const LaneRow *const *bRegisters,
                             const LaneRow *const *cRegisters,
                             LaneRow *const *dRegisters) {
  LinesOf<A, kRows, K> a;
  LinesOf<B, kColumns, K> b;
  Sums<uint32_t> sums;
  readLines<A, kRows, K>(aRegisters, a);
  readLines<B, kColumns, K>(bRegisters, b);
  readSums(cRegisters, sums);

  alignas(32) int32_t across[K * kColumns];
  turn<K>(b, across);

  for (unsigned m = 0; m < kRows; ++m) {
    int32_t products[kColumns] = {};
    for (unsigned k = 0; k < K; ++k)
      for (unsigned n = 0; n < kColumns; ++n)
        products[n] += a[m * K + k] * across[k * kColumns + n];
    for (unsigned n = 0; n < kColumns; ++n) {
      uint32_t &result = sums[m * kColumns + n];
      int64_t sum = int64_t(static_cast<int32_t>(result)) + products[n];
      if (saturate)
        sum = std::clamp<int64_t>(sum, std::numeric_limits<int32_t>::min(),
                                  std::numeric_limits<int32_t>::max());
      result = static_cast<uint32_t>(sum);
    }
  }
  writeSums(sums, dRegisters);
}

//===----------------------------------------------------------------------===//
// Operands of floating-point products
//===----------------------------------------------------------------------===//

namespace {
/// A and B taken apart, both row by row: a row of B meets one element of A.
template <unsigned K>
struct Factors {
  alignas(32) float a[kRows * K];
  alignas(32) float b[K * kColumns];
  alignas(32) int32_t aExponents[kRows * K];
  alignas(32) int32_t bExponents[K * kColumns];
};

/// C taken apart.
struct Addends {
  alignas(32) Sums<float> values;
  alignas(32) Sums<int32_t> exponents;
};
} // namespace

template <typename A, typename B, unsigned K>
static void readFactors(const LaneRow *const *aRegisters,
                        const LaneRow *const *bRegisters, bool withExponents,
                        Factors<K> &factors) {
  using ABits = typename A::Bits;
  using BBits = typename B::Bits;
  alignas(32) LinesOf<ABits, kRows, K> a;
  alignas(32) LinesOf<BBits, kColumns, K> b;
  alignas(32) BBits across[K * kColumns];
  readLines<ABits, kRows, K>(aRegisters, a);
  readLines<BBits, kColumns, K>(bRegisters, b);
  turn<K>(b, across);

  A::widen(a, kRows * K, factors.a);
  B::widen(across, K * kColumns, factors.b);
  if (withExponents) {
    readExponents<A>(factors.a, kRows * K, factors.aExponents);
    readExponents<B>(factors.b, K * kColumns, factors.bExponents);
  }
}

//===----------------------------------------------------------------------===//
// Sums as an H100 forms them
//===----------------------------------------------------------------------===//

namespace {
/// Bits that are kept behind the point.
constexpr int32_t kFractionBits = 25;
/// With largest exponents from here to there no product overflows in f32, and
/// what underflows is too small to count.
constexpr int32_t kLeastExponent = -100, kGreatestExponent = 126;

/// What f32 arithmetic gives of the sums.
struct Parts {
  template <unsigned K>
  static constexpr unsigned kNumProducts = (K + 15) / 16;

  alignas(32) Sums<int32_t> exponents; ///< The largest of each sum.
  /// Terms as multiples of 2^(exponent - kFractionBits): products of each 16 k,
  /// of which 32 bits hold no more, and c.
  alignas(32) Sums<int32_t> products[2];
  alignas(32) Sums<int32_t> addends;
};
} // namespace

/// Adds up one sum, whatever its terms. Slow.
template <unsigned K>
static double addAnything(const Factors<K> &factors, unsigned m, unsigned n,
                          double c, int32_t exponent) {
  double products[K];
  for (unsigned k = 0; k < K; ++k)
    products[k] =
        static_cast<double>(factors.a[m * K + k]) * factors.b[k * kColumns + n];
  // Nothing overflows, so that the sum is finite if all terms are.
  double sum = std::accumulate(products, products + K, c);
  if (!std::isfinite(sum))
    return sum;
  double scale = std::ldexp(1.0, kFractionBits - exponent);
  auto terms = static_cast<int64_t>(c * scale);
  for (double product : products)
    terms += static_cast<int64_t>(product * scale);
  return static_cast<double>(terms) / scale;
}

/// Cuts the terms of all sums. Those whose exponent is out of range come out
/// wrong, unless all their terms are zero.
template <unsigned K>
static void cutTerms(const Factors<K> &factors, const Addends &c,
                     Parts &parts) {
  for (unsigned m = 0; m < kRows; ++m) {
    const float *a = factors.a + m * K;
    const int32_t *aExponents = factors.aExponents + m * K;

    IntRow exponent = rowOf<IntRow>(c.exponents, m);
    for (unsigned k = 0; k < K; ++k) {
      IntRow other = aExponents[k] + rowOf<IntRow>(factors.bExponents, k);
      exponent = exponent > other ? exponent : other;
    }
    rowOf<IntRow>(parts.exponents, m) = exponent;

    const IntRow least = IntRow{} + kLeastExponent;
    const IntRow greatest = IntRow{} + kGreatestExponent;
    IntRow clamped = exponent < least ? least : exponent;
    clamped = clamped > greatest ? greatest : clamped;
    IntRow scaleBits = (127 + kFractionBits - clamped) << 23;
    const FloatRow &scale = rowOf<FloatRow>(&scaleBits);

    for (unsigned part = 0; part < Parts::kNumProducts<K>; ++part) {
      UIntRow products = {};
      for (unsigned k = 16 * part; k < std::min(16 * part + 16, K); ++k) {
        FloatRow product = a[k] * rowOf<FloatRow>(factors.b, k);
        IntRow cut = __builtin_convertvector(product * scale, IntRow);
        products += rowOf<UIntRow>(&cut);
      }
      rowOf<UIntRow>(parts.products[part], m) = products;
    }
    rowOf<IntRow>(parts.addends, m) =
        __builtin_convertvector(rowOf<FloatRow>(c.values, m) * scale, IntRow);
  }
}

/// Adds the sums again whose exponents are out of range. Many are sums of
/// zeros, where operands are padded with them, and right as they are.
template <unsigned K>
static void addOutOfRange(const Factors<K> &factors, const Addends &c,
                          const Parts &parts, Sums<double> &sums) {
  IntRow columnBits = {};
  for (unsigned k = 0; k < K; ++k)
    columnBits |= rowOf<IntRow>(factors.b, k);
  for (unsigned m = 0; m < kRows; ++m) {
    uint32_t rowBits = 0;
    for (unsigned k = 0; k < K; ++k)
      rowBits |= floatBits(factors.a[m * K + k]);

    // Doubled, patterns of zero are 0.
    IntRow isZero = (columnBits << 1) == 0;
    if (rowBits << 1 == 0)
      isZero |= -1;
    isZero &= (rowOf<IntRow>(c.values, m) << 1) == 0;
    const IntRow &exponents = rowOf<IntRow>(parts.exponents, m);
    alignas(32) IntRow isWrong = (exponents > kGreatestExponent) |
                                 ((exponents < kLeastExponent) & ~isZero);
    for (unsigned n = 0; n < kColumns; ++n)
      if (isWrong[n])
        sums[m * kColumns + n] = addAnything(
            factors, m, n, c.values[m * kColumns + n], exponents[n]);
  }
}

/// Exactly the sums, of terms cut as an H100 cuts them.
template <unsigned K>
static void addAsH100(const Factors<K> &factors, const Addends &c,
                      Sums<double> &sums) {
  Parts parts;
  cutTerms(factors, c, parts);

  const int32_t *exponents = parts.exponents;
  int32_t least = kLeastExponent, greatest = kGreatestExponent;
  for (unsigned i = 0; i < kNumSums; ++i) {
    double terms = parts.addends[i];
    for (unsigned part = 0; part < Parts::kNumProducts<K>; ++part)
      terms += parts.products[part][i];
    auto scaleBits =
        static_cast<uint64_t>(1023 - kFractionBits + int64_t(exponents[i]))
        << 52;
    double scale;
    std::memcpy(&scale, &scaleBits, sizeof(scale));
    sums[i] = terms * scale;
    least = std::min(least, exponents[i]);
    greatest = std::max(greatest, exponents[i]);
  }
  if (least < kLeastExponent || greatest > kGreatestExponent)
    addOutOfRange(factors, c, parts, sums);
}

//===----------------------------------------------------------------------===//
// Sums in plain arithmetic
//===----------------------------------------------------------------------===//

template <unsigned K>
static void addInF32(const Factors<K> &factors, const Addends &c,
                     Sums<double> &sums) {
  for (unsigned m = 0; m < kRows; ++m) {
    FloatRow row = rowOf<FloatRow>(c.values, m);
    for (unsigned k = 0; k < K; ++k)
      fuseMultiplyAdd(factors.a[m * K + k], rowOf<FloatRow>(factors.b, k), row);
    for (unsigned n = 0; n < kColumns; ++n)
      sums[m * kColumns + n] = row[n];
  }
}

template <unsigned K>
static void addInF64(const Factors<K> &factors, const Addends &c,
                     Sums<double> &sums) {
  for (unsigned m = 0; m < kRows; ++m) {
    alignas(32) double row[kColumns];
    for (unsigned n = 0; n < kColumns; ++n)
      row[n] = c.values[m * kColumns + n];
    for (unsigned k = 0; k < K; ++k)
      for (unsigned n = 0; n < kColumns; ++n)
        row[n] += static_cast<double>(factors.a[m * K + k]) *
                  factors.b[k * kColumns + n];
    std::memcpy(sums + m * kColumns, row, sizeof(row));
  }
}

//===----------------------------------------------------------------------===//
// Rounding
//===----------------------------------------------------------------------===//

/// Makes every NaN the one that processors write.
static void unifyNaNs(Sums<uint32_t> &results) {
  for (uint32_t &result : results)
    result = (result & 0x7FFFFFFF) > 0x7F800000 ? 0x7FFFFFFF : result;
}

/// To f32, towards zero, with infinity beyond its range.
static void cutToF32(const Sums<double> &sums, Sums<uint32_t> &results) {
  for (unsigned i = 0; i < kNumSums; ++i) {
    uint64_t bits;
    std::memcpy(&bits, &sums[i], sizeof(bits));
    bits &= ~uint64_t(0x1FFFFFFF); // the bits that f32 lacks
    double cut;
    std::memcpy(&cut, &bits, sizeof(cut));
    results[i] = floatBits(static_cast<float>(cut));
  }
  unifyNaNs(results);

  // Below 2^-126 f32 lacks more bits, and results were rounded: up to 2^-126.
  int anySmall = 0;
  for (uint32_t result : results)
    anySmall |= (result & 0x7FFFFFFF) < 0x01000000 && result != 0;
  if (!anySmall)
    return;
  for (unsigned i = 0; i < kNumSums; ++i)
    if (std::fabs(sums[i]) < 0x1p-126)
      results[i] = floatBits(
          static_cast<float>(static_cast<int32_t>(sums[i] * 0x1p149)) *
          0x1p-149f);
}

static void roundToF32(const Sums<double> &sums, Sums<uint32_t> &results) {
  for (unsigned i = 0; i < kNumSums; ++i)
    results[i] = floatBits(static_cast<float>(sums[i]));
  unifyNaNs(results);
}

static void roundToF16(const Sums<double> &sums, bool negativeZero,
                       Sums<uint16_t> &results) {
  for (unsigned m = 0; m < kRows; ++m)
    roundRowToF16(sums + m * kColumns, results + m * kColumns);
  if (!negativeZero)
    for (uint16_t &result : results)
      result = result == 0x8000 ? 0 : result;
}

//===----------------------------------------------------------------------===//
// Instructions
//===----------------------------------------------------------------------===//

/// D = A * B + C of floating-point types; `sumType` is that of C and D.
template <typename A, typename B, unsigned K>
static void multiplyFloats(MatrixType sumType, MatrixArithmetic arithmetic,
                           const LaneRow *const *a, const LaneRow *const *b,
                           const LaneRow *const *cRegisters,
                           LaneRow *const *dRegisters) {
  bool asH100 = arithmetic == MatrixArithmetic::H100;
  Factors<K> factors;
  readFactors<A, B, K>(a, b, asH100, factors);

  Addends c;
  alignas(32) Sums<uint32_t> sums32;
  alignas(32) Sums<uint16_t> sums16;
  if (sumType == MatrixType::F16) {
    readSums(cRegisters, sums16);
    F16Element::widen(sums16, kNumSums, c.values);
    if (asH100)
      readExponents<F16Element>(c.values, kNumSums, c.exponents);
  } else {
    readSums(cRegisters, sums32);
    F32Element::widen(sums32, kNumSums, c.values);
    if (asH100)
      readExponents<F32Element>(c.values, kNumSums, c.exponents);
  }

  alignas(32) Sums<double> sums;
  if (asH100)
    addAsH100(factors, c, sums);
  else if (arithmetic == MatrixArithmetic::F32)
    addInF32(factors, c, sums);
  else
    addInF64(factors, c, sums);

  if (sumType == MatrixType::F16) {
    roundToF16(sums, /*negativeZero=*/!asH100, sums16);
    writeSums(sums16, dRegisters);
  } else {
    if (asH100)
      cutToF32(sums, sums32);
    else
      roundToF32(sums, sums32);
    writeSums(sums32, dRegisters);
  }
}

/// Bytes of an element of A or B.
static unsigned getElementBytes(MatrixType type) {
  switch (type) {
  case MatrixType::F16:
  case MatrixType::BF16:
    return 2;
  case MatrixType::E4M3:
  case MatrixType::E5M2:
  case MatrixType::S8:
  case MatrixType::U8:
    return 1;
  case MatrixType::TF32:
  case MatrixType::F32:
  case MatrixType::S32:
    return 4;
  }
  return 4;
}

unsigned MatrixInstruction::getNumA() const {
  return k * getElementBytes(a) / 8;
}

unsigned MatrixInstruction::getNumB() const {
  return k * getElementBytes(b) / 16;
}

unsigned MatrixInstruction::getNumCD() const {
  return d == MatrixType::F16 ? 2 : 4;
}

void kvc::emu::multiplyAccumulate(const MatrixInstruction &instruction,
                                  MatrixArithmetic arithmetic,
                                  const LaneRow *const *a,
                                  const LaneRow *const *b,
                                  const LaneRow *const *c, LaneRow *const *d) {
  assert(instruction.d == instruction.c && "sums have one type");
  auto integers = [&](auto multiply) {
    multiply(instruction.saturate, a, b, c, d);
  };
  auto floats = [&](auto multiply) {
    multiply(instruction.d, arithmetic, a, b, c, d);
  };
  auto is = [&](MatrixType aType, MatrixType bType, unsigned k) {
    return instruction.a == aType && instruction.b == bType &&
           instruction.k == k;
  };
  using T = MatrixType;

  if (is(T::F16, T::F16, 16))
    return floats(multiplyFloats<F16Element, F16Element, 16>);
  if (is(T::BF16, T::BF16, 16))
    return floats(multiplyFloats<BF16Element, BF16Element, 16>);
  if (is(T::F16, T::F16, 8))
    return floats(multiplyFloats<F16Element, F16Element, 8>);
  if (is(T::BF16, T::BF16, 8))
    return floats(multiplyFloats<BF16Element, BF16Element, 8>);
  if (is(T::TF32, T::TF32, 8))
    return floats(multiplyFloats<TF32Element, TF32Element, 8>);
  if (is(T::TF32, T::TF32, 4))
    return floats(multiplyFloats<TF32Element, TF32Element, 4>);
  if (is(T::E4M3, T::E4M3, 32))
    return floats(multiplyFloats<E4M3Element, E4M3Element, 32>);
  if (is(T::E4M3, T::E5M2, 32))
    return floats(multiplyFloats<E4M3Element, E5M2Element, 32>);
  if (is(T::E5M2, T::E4M3, 32))
    return floats(multiplyFloats<E5M2Element, E4M3Element, 32>);
  if (is(T::E5M2, T::E5M2, 32))
    return floats(multiplyFloats<E5M2Element, E5M2Element, 32>);
  if (is(T::S8, T::S8, 32))
    return integers(multiplyIntegers<int8_t, int8_t, 32>);
  if (is(T::S8, T::U8, 32))
    return integers(multiplyIntegers<int8_t, uint8_t, 32>);
  if (is(T::U8, T::S8, 32))
    return integers(multiplyIntegers<uint8_t, int8_t, 32>);
  if (is(T::U8, T::U8, 32))
    return integers(multiplyIntegers<uint8_t, uint8_t, 32>);
  if (is(T::S8, T::S8, 16))
    return integers(multiplyIntegers<int8_t, int8_t, 16>);
  if (is(T::S8, T::U8, 16))
    return integers(multiplyIntegers<int8_t, uint8_t, 16>);
  if (is(T::U8, T::S8, 16))
    return integers(multiplyIntegers<uint8_t, int8_t, 16>);
  if (is(T::U8, T::U8, 16))
    return integers(multiplyIntegers<uint8_t, uint8_t, 16>);
  assert(false && "no such matrix instruction");
}
