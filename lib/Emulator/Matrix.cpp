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

template <typename Element>
static void widen(const typename Element::Bits *bits, unsigned count,
                  float *values) {
  for (unsigned i = 0; i < count; ++i)
    values[i] = Element::widen(bits[i]);
}

template <typename Element>
static void readExponents(const typename Element::Bits *bits, unsigned count,
                          int32_t *exponents) {
  for (unsigned i = 0; i < count; ++i)
    exponents[i] = Element::exponent(bits[i]);
}

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

  widen<A>(a, kRows * K, factors.a);
  widen<B>(across, K * kColumns, factors.b);
  if (withExponents) {
    readExponents<A>(a, kRows * K, factors.aExponents);
    readExponents<B>(across, K * kColumns, factors.bExponents);
  }
}

//===----------------------------------------------------------------------===//
// Sums as an H100 forms them
//===----------------------------------------------------------------------===//

namespace {
/// A row of sums, as GCC's and Clang's vectors.
typedef float FloatRow __attribute__((vector_size(4 * kColumns)));
typedef int32_t IntRow __attribute__((vector_size(4 * kColumns)));

/// Bits that are kept behind the point.
constexpr int32_t kFractionBits = 25;
/// Largest exponents with which no product overflows in f32, and what
/// underflows is too small to count.
constexpr int32_t kLeastExponent = -100, kGreatestExponent = 126;

/// What f32 arithmetic gives of the sums.
struct Parts {
  alignas(32) Sums<int32_t> exponents; ///< The largest, clamped to nothing.
  /// Terms as multiples of 2^(exponent - kFractionBits): products of each 16 k,
  /// of which 32 bits hold no more, and c.
  alignas(32) Sums<int32_t> products[2];
  alignas(32) Sums<int32_t> addends;
};
} // namespace

template <typename Row, typename T>
static Row load(const T *from) {
  Row row;
  std::memcpy(&row, from, sizeof(row));
  return row;
}

template <typename Row, typename T>
static void store(Row row, T *to) {
  std::memcpy(to, &row, sizeof(row));
}

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
    IntRow exponent = load<IntRow>(c.exponents + m * kColumns);
    for (unsigned k = 0; k < K; ++k) {
      IntRow other = factors.aExponents[m * K + k] +
                     load<IntRow>(factors.bExponents + k * kColumns);
      exponent = exponent > other ? exponent : other;
    }
    store(exponent, parts.exponents + m * kColumns);

    IntRow clamped =
        exponent < kLeastExponent ? IntRow{} + kLeastExponent : exponent;
    clamped =
        clamped > kGreatestExponent ? IntRow{} + kGreatestExponent : clamped;
    IntRow scaleBits = (127 + kFractionBits - clamped) << 23;
    auto scale = load<FloatRow>(&scaleBits);
    for (unsigned half = 0; half < (K + 15) / 16; ++half) {
      IntRow products = {};
      for (unsigned k = 16 * half; k < std::min(16 * half + 16, K); ++k) {
        FloatRow product =
            factors.a[m * K + k] * load<FloatRow>(factors.b + k * kColumns);
        products += __builtin_convertvector(product * scale, IntRow);
      }
      store(products, parts.products[half] + m * kColumns);
    }
    IntRow addends = __builtin_convertvector(
        load<FloatRow>(c.values + m * kColumns) * scale, IntRow);
    store(addends, parts.addends + m * kColumns);
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
    for (unsigned half = 0; half < (K + 15) / 16; ++half)
      terms += parts.products[half][i];
    int64_t scaleBits = static_cast<int64_t>(
        static_cast<uint64_t>(1023 - kFractionBits + int64_t(exponents[i]))
        << 52);
    double scale;
    std::memcpy(&scale, &scaleBits, sizeof(scale));
    sums[i] = terms * scale;
    least = std::min(least, exponents[i]);
    greatest = std::max(greatest, exponents[i]);
  }
  if (least == kLeastExponent && greatest == kGreatestExponent)
    return;

  // What is padded with zeros gives many sums of zeros, which are right.
  bool zeroRow[kRows], zeroColumn[kColumns];
  std::fill(zeroRow, zeroRow + kRows, true);
  std::fill(zeroColumn, zeroColumn + kColumns, true);
  for (unsigned i = 0; i < kRows * K; ++i)
    zeroRow[i / K] &= factors.a[i] == 0;
  for (unsigned i = 0; i < K * kColumns; ++i)
    zeroColumn[i % kColumns] &= factors.b[i] == 0;

  for (unsigned i = 0; i < kNumSums; ++i) {
    unsigned m = i / kColumns, n = i % kColumns;
    bool isZero = c.values[i] == 0 && (zeroRow[m] || zeroColumn[n]);
    if (exponents[i] > kGreatestExponent ||
        (exponents[i] < kLeastExponent && !isZero))
      sums[i] = addAnything(factors, m, n, c.values[i], exponents[i]);
  }
}

//===----------------------------------------------------------------------===//
// Sums in plain arithmetic
//===----------------------------------------------------------------------===//

template <unsigned K>
static void addInF32(const Factors<K> &factors, const Addends &c,
                     Sums<double> &sums) {
  for (unsigned m = 0; m < kRows; ++m) {
    alignas(32) float row[kColumns];
    std::memcpy(row, c.values + m * kColumns, sizeof(row));
    for (unsigned k = 0; k < K; ++k)
      for (unsigned n = 0; n < kColumns; ++n)
        row[n] =
            std::fma(factors.a[m * K + k], factors.b[k * kColumns + n], row[n]);
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

/// To f32, towards zero, with infinity beyond its range.
static void cutToF32(const Sums<double> &sums, Sums<uint32_t> &results) {
  int anySmall = 0;
  for (unsigned i = 0; i < kNumSums; ++i) {
    uint64_t bits;
    std::memcpy(&bits, &sums[i], sizeof(bits));
    bits &= ~uint64_t(0x1FFFFFFF); // the bits that f32 lacks
    double cut;
    std::memcpy(&cut, &bits, sizeof(cut));
    results[i] = floatBits(static_cast<float>(cut));
    results[i] = sums[i] != sums[i] ? 0x7FFFFFFF : results[i];
    anySmall |= std::fabs(sums[i]) < 0x1p-126 && sums[i] != 0;
  }
  if (!anySmall)
    return;
  for (unsigned i = 0; i < kNumSums; ++i)
    if (std::fabs(sums[i]) < 0x1p-126)
      results[i] = floatBits(
          static_cast<float>(static_cast<int32_t>(sums[i] * 0x1p149)) *
          0x1p-149f);
}

static void roundToF32(const Sums<double> &sums, Sums<uint32_t> &results) {
  for (unsigned i = 0; i < kNumSums; ++i) {
    results[i] = floatBits(static_cast<float>(sums[i]));
    results[i] = sums[i] != sums[i] ? 0x7FFFFFFF : results[i];
  }
}

static void roundToF16(const Sums<double> &sums, bool negativeZero,
                       Sums<uint16_t> &results) {
  for (unsigned i = 0; i < kNumSums; ++i) {
    uint16_t bits = f64ToF16(sums[i], Rounding::NearestEven);
    results[i] = bits == 0x8000 && !negativeZero ? 0 : bits;
  }
}

//===----------------------------------------------------------------------===//
// Instructions
//===----------------------------------------------------------------------===//

/// Reads C and calls `add` on it, then writes the rounded sums to D.
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
    widen<F16Element>(sums16, kNumSums, c.values);
    readExponents<F16Element>(sums16, kNumSums, c.exponents);
  } else {
    readSums(cRegisters, sums32);
    widen<F32Element>(sums32, kNumSums, c.values);
    readExponents<F32Element>(sums32, kNumSums, c.exponents);
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
