//===- MatrixTest.cpp - mma.sync ------------------------------------------===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Writes matrices into fragments element by element, by the formulas of the PTX
// manual, and judges sums by integers of 128 bits.
//===----------------------------------------------------------------------===//
#include "MatrixModel.h"

#include <gtest/gtest.h>

#include <cstring>
#include <random>
#include <string>

using namespace kvc::emu;
using T = MatrixType;

static const MatrixArithmetic kArithmetics[] = {
    MatrixArithmetic::H100, MatrixArithmetic::F32, MatrixArithmetic::F64};

static std::vector<MatrixInstruction> getFloatInstructions() {
  std::vector<MatrixInstruction> result;
  for (uint8_t k : {8, 16}) {
    result.push_back({k, T::F32, T::F16, T::F16, T::F32});
    result.push_back({k, T::F16, T::F16, T::F16, T::F16});
    result.push_back({k, T::F32, T::BF16, T::BF16, T::F32});
  }
  for (uint8_t k : {4, 8})
    result.push_back({k, T::F32, T::TF32, T::TF32, T::F32});
  for (T sum : {T::F32, T::F16})
    for (T a : {T::E4M3, T::E5M2})
      for (T b : {T::E4M3, T::E5M2})
        result.push_back({32, sum, a, b, sum});
  return result;
}

static std::vector<MatrixInstruction> getIntegerInstructions() {
  std::vector<MatrixInstruction> result;
  for (uint8_t k : {16, 32})
    for (T a : {T::S8, T::U8})
      for (T b : {T::S8, T::U8})
        result.push_back({k, T::S32, a, b, T::S32});
  return result;
}

static std::string getName(const MatrixInstruction &instruction) {
  static const char *const names[] = {"f16", "bf16", "tf32", "e4m3", "e5m2",
                                      "s8",  "u8",   "f32",  "s32"};
  return "m16n8k" + std::to_string(instruction.k) + " " +
         names[int(instruction.d)] + " " + names[int(instruction.a)] + " " +
         names[int(instruction.b)];
}

//===----------------------------------------------------------------------===//
// Fragments
//===----------------------------------------------------------------------===//

/// Moves single ones through A over a B of small integers, and the other way
/// round, so that each element's place shows.
static void checkPlaces(const MatrixInstruction &instruction,
                        MatrixArithmetic arithmetic) {
  SCOPED_TRACE(getName(instruction));
  unsigned numK = instruction.k;
  auto small = [](unsigned i, unsigned j) {
    return static_cast<int>((i * 7 + j * 3 + i * j) % 8) + 1;
  };
  Matrices in(numK);
  for (unsigned m = 0; m < 16; ++m)
    for (unsigned n = 0; n < 8; ++n)
      in.c[m][n] = encodeInteger(instruction.c, static_cast<int>(m * 8 + n));
  for (bool moveInA : {true, false})
    for (unsigned line = 0; line < (moveInA ? 16u : 8u); ++line)
      for (unsigned one = 0; one < numK; ++one) {
        for (unsigned k = 0; k < numK; ++k) {
          for (unsigned m = 0; m < 16; ++m)
            in.a[m][k] = encodeInteger(instruction.a,
                                       moveInA ? int(m == line && k == one)
                                               : small(m, k));
          for (unsigned n = 0; n < 8; ++n)
            in.b[k][n] = encodeInteger(instruction.b,
                                       moveInA ? small(n, k)
                                               : int(n == line && k == one));
        }
        Result result = multiply(instruction, arithmetic, in);
        for (unsigned m = 0; m < 16; ++m)
          for (unsigned n = 0; n < 8; ++n) {
            int expected = static_cast<int>(m * 8 + n);
            if (moveInA)
              expected += m == line ? small(n, one) : 0;
            else
              expected += n == line ? small(m, one) : 0;
            ASSERT_EQ(result.d[m][n], encodeInteger(instruction.d, expected))
                << "row " << m << " column " << n << " of k " << one;
          }
      }
}

TEST(Matrix, PlacesOfFloats) {
  for (const MatrixInstruction &instruction : getFloatInstructions())
    for (MatrixArithmetic arithmetic : kArithmetics)
      checkPlaces(instruction, arithmetic);
}

TEST(Matrix, PlacesOfIntegers) {
  for (const MatrixInstruction &instruction : getIntegerInstructions())
    checkPlaces(instruction, MatrixArithmetic::H100);
}

TEST(Matrix, NumbersOfRegisters) {
  MatrixInstruction instruction = {16, T::F32, T::BF16, T::BF16, T::F32};
  EXPECT_EQ(instruction.getNumA(), 4u);
  EXPECT_EQ(instruction.getNumB(), 2u);
  EXPECT_EQ(instruction.getNumCD(), 4u);
  instruction = {8, T::F16, T::F16, T::F16, T::F16};
  EXPECT_EQ(instruction.getNumA(), 2u);
  EXPECT_EQ(instruction.getNumB(), 1u);
  EXPECT_EQ(instruction.getNumCD(), 2u);
  instruction = {4, T::F32, T::TF32, T::TF32, T::F32};
  EXPECT_EQ(instruction.getNumA(), 2u);
  EXPECT_EQ(instruction.getNumB(), 1u);
  instruction = {32, T::S32, T::S8, T::U8, T::S32};
  EXPECT_EQ(instruction.getNumA(), 4u);
  EXPECT_EQ(instruction.getNumB(), 2u);
  EXPECT_EQ(instruction.getNumCD(), 4u);
}

/// Registers of D may be any of the others, in any order.
TEST(Matrix, SharedRegisters) {
  MatrixInstruction instruction = {16, T::F32, T::F16, T::F16, T::F32};
  std::mt19937 random(1);
  LaneRow rows[10];
  for (LaneRow &row : rows)
    for (uint32_t &lane : row)
      lane = random() & 0x3FFF3FFF;
  const LaneRow *a[] = {&rows[0], &rows[1], &rows[2], &rows[3]};
  const LaneRow *b[] = {&rows[4], &rows[5]};
  const LaneRow *c[] = {&rows[6], &rows[7], &rows[8], &rows[9]};
  LaneRow apart[4];
  LaneRow *toApart[] = {&apart[0], &apart[1], &apart[2], &apart[3]};
  multiplyAccumulate(instruction, MatrixArithmetic::H100, a, b, c, toApart);
  LaneRow *toShared[] = {&rows[9], &rows[4], &rows[6], &rows[0]};
  multiplyAccumulate(instruction, MatrixArithmetic::H100, a, b, c, toShared);
  for (unsigned r = 0; r < 4; ++r)
    EXPECT_EQ(std::memcmp(toShared[r], toApart[r], sizeof(LaneRow)), 0) << r;
}

//===----------------------------------------------------------------------===//
// Random operands
//===----------------------------------------------------------------------===//

namespace {
/// Makes operands of many kinds.
class Generator {
public:
  explicit Generator(unsigned seed) : random(seed) {}

  Matrices makeMatrices(const MatrixInstruction &instruction) {
    Matrices result(instruction.k);
    pickKind(instruction.a);
    for (auto &row : result.a)
      for (uint32_t &element : row)
        element = makeElement(instruction.a);
    pickKind(instruction.b);
    for (auto &row : result.b)
      for (uint32_t &element : row)
        element = makeElement(instruction.b);
    pickKind(instruction.c);
    for (auto &row : result.c)
      for (uint32_t &element : row)
        element = makeElement(instruction.c);
    if (draw(4) == 0)
      clearLines(result);
    if (draw(2) == 0)
      cancel(instruction, result);
    return result;
  }

private:
  unsigned draw(unsigned count) { return random() % count; }

  /// Chooses how large the elements are and how far they lie apart.
  void pickKind(T type) {
    const FloatFormat &format = getFormat(type);
    int maxField = (1 << format.exponentBits) - 1;
    spread = int(draw(3) == 0 ? maxField : draw(unsigned(maxField) / 2 + 1));
    base = int(draw(unsigned(maxField - spread) + 1));
    zeroIn = draw(3) == 0 ? 2 : 40;
    specialIn = draw(6) == 0 ? 50 : 0;
    fullIn = draw(4) == 0 ? 1 : 8;
  }

  uint32_t makeElement(T type) {
    const FloatFormat &format = getFormat(type);
    uint32_t sign = draw(2) << (format.getNumBits() - 1);
    uint32_t low = random() & ((1U << format.hiddenBits) - 1);
    if (draw(zeroIn) == 0)
      return sign;
    uint32_t maxMantissa = (1U << format.mantissaBits) - 1;
    uint32_t field = uint32_t(base) + draw(unsigned(spread) + 1);
    uint32_t mantissa =
        draw(fullIn) == 0 ? maxMantissa : random() & maxMantissa;
    uint32_t magnitude = field << format.mantissaBits | mantissa;
    if (specialIn == 0 || draw(specialIn) != 0)
      magnitude = std::min(magnitude, format.firstSpecial - 1);
    else
      magnitude = format.firstSpecial + (draw(2) ? 0 : mantissa);
    magnitude &= (1U << (format.getNumBits() - format.hiddenBits - 1)) - 1;
    return (magnitude << format.hiddenBits) | low | sign;
  }

  /// Zeroes some rows of A and columns of B, and some of C.
  void clearLines(Matrices &matrices) {
    for (unsigned m = 0; m < 16; ++m)
      if (draw(2)) {
        matrices.a[m].assign(matrices.a[m].size(), 0);
        if (draw(2))
          matrices.c[m].fill(0);
      }
    unsigned column = draw(8);
    for (auto &row : matrices.b)
      row[column] = 0;
  }

  /// Lets products cancel in pairs.
  void cancel(const MatrixInstruction &instruction, Matrices &matrices) {
    uint32_t sign = 1U << (getFormat(instruction.a).getNumBits() - 1);
    for (auto &row : matrices.a)
      for (unsigned k = 0; k + 1 < instruction.k; k += 2)
        row[k + 1] = row[k] ^ sign;
    for (unsigned k = 0; k + 1 < instruction.k; k += 2)
      matrices.b[k + 1] = matrices.b[k];
    unsigned k = draw(instruction.k);
    for (auto &row : matrices.a)
      row[k] = makeElement(instruction.a);
  }

  std::mt19937 random;
  int spread = 0, base = 0;
  unsigned zeroIn = 1, specialIn = 0, fullIn = 1;
};
} // namespace

/// Compares all sums of random operands with what `model` makes of each.
template <typename Model>
static void checkRandom(MatrixArithmetic arithmetic, Model model) {
  for (const MatrixInstruction &instruction : getFloatInstructions()) {
    SCOPED_TRACE(getName(instruction));
    Generator generator(instruction.k);
    for (unsigned round = 0; round < 400; ++round) {
      Matrices in = generator.makeMatrices(instruction);
      Result result = multiply(instruction, arithmetic, in);
      for (unsigned m = 0; m < 16; ++m)
        for (unsigned n = 0; n < 8; ++n) {
          std::vector<uint32_t> column;
          for (const auto &row : in.b)
            column.push_back(row[n]);
          ASSERT_EQ(result.d[m][n],
                    model(instruction, in.a[m], column, in.c[m][n]))
              << "round " << round << " row " << m << " column " << n;
        }
    }
  }
}

TEST(Matrix, RandomAsH100) { checkRandom(MatrixArithmetic::H100, modelH100); }

TEST(Matrix, RandomInF32) { checkRandom(MatrixArithmetic::F32, modelF32); }

TEST(Matrix, RandomInF64) { checkRandom(MatrixArithmetic::F64, modelF64); }

TEST(Matrix, RandomIntegers) {
  for (MatrixInstruction instruction : getIntegerInstructions())
    for (unsigned round = 0; round < 200; ++round) {
      SCOPED_TRACE(getName(instruction));
      instruction.saturate = round % 2;
      std::mt19937 random(round);
      Matrices in(instruction.k);
      for (auto &row : in.a)
        for (uint32_t &element : row)
          element = random() & 0xFF;
      for (auto &row : in.b)
        for (uint32_t &element : row)
          element = random() & 0xFF;
      for (auto &row : in.c)
        for (uint32_t &element : row)
          element =
              random() % 4 ? random() : 0x7FFFF000 + (random() & 1) * 4096;
      Result result = multiply(instruction, MatrixArithmetic::H100, in);
      for (unsigned m = 0; m < 16; ++m)
        for (unsigned n = 0; n < 8; ++n) {
          int64_t sum = static_cast<int32_t>(in.c[m][n]);
          for (unsigned k = 0; k < instruction.k; ++k) {
            int64_t a = in.a[m][k], b = in.b[k][n];
            a -= instruction.a == T::S8 && a > 127 ? 256 : 0;
            b -= instruction.b == T::S8 && b > 127 ? 256 : 0;
            sum += a * b;
          }
          if (instruction.saturate && sum > INT32_MAX)
            sum = INT32_MAX;
          if (instruction.saturate && sum < INT32_MIN)
            sum = INT32_MIN;
          ASSERT_EQ(result.d[m][n], static_cast<uint32_t>(sum));
        }
    }
}

//===----------------------------------------------------------------------===//
// Sums worked out by hand
//===----------------------------------------------------------------------===//

namespace {
/// The sum of one row and column.
class OneSum {
public:
  OneSum(const MatrixInstruction &instruction) : instruction(instruction) {}

  uint32_t operator()(const std::vector<double> &a,
                      const std::vector<double> &b, double c,
                      MatrixArithmetic arithmetic = MatrixArithmetic::H100) {
    Matrices in(instruction.k);
    for (unsigned k = 0; k < a.size(); ++k) {
      in.a[3][k] = encode(instruction.a, a[k]);
      in.b[k][5] = encode(instruction.b, b[k]);
    }
    in.c[3][5] = encode(instruction.c, c);
    return multiply(instruction, arithmetic, in).d[3][5];
  }

private:
  MatrixInstruction instruction;
};
} // namespace

static uint32_t bitsOf(float value) { return floatBits(value); }

TEST(Matrix, CutsSmallTerms) {
  OneSum sum({16, T::F32, T::F16, T::F16, T::F32});
  std::vector<double> ones(16, 1.0);
  // Next to 2^25, 25 bits behind the point end at 1, and each one counts.
  EXPECT_EQ(sum(ones, ones, 0x1p24), bitsOf(16777232));
  EXPECT_EQ(sum(ones, ones, 0x1p25), bitsOf(33554448));
  // Next to 2^26 they end at 2, and ones vanish.
  EXPECT_EQ(sum(ones, ones, 0x1p26), bitsOf(0x1p26f));
  // In order, each is a tie that goes back to the even sum.
  EXPECT_EQ(sum(ones, ones, 0x1p24, MatrixArithmetic::F32), bitsOf(0x1p24f));
  EXPECT_EQ(sum(ones, ones, 0x1p26, MatrixArithmetic::F64),
            bitsOf(67108880)); // 2^26 + 16
}

TEST(Matrix, CutsTowardsZero) {
  OneSum sum({16, T::F32, T::F16, T::F16, T::F32});
  // 1 + 2^-24 + 2^-25, whose nearest f32 would be 1 + 2^-23.
  EXPECT_EQ(sum({1, 0x1p-12, 0x1p-12}, {1, 0x1p-12, 0x1p-13}, 0), bitsOf(1.0f));
  EXPECT_EQ(sum({-1, 0x1p-12, 0x1p-12}, {1, -0x1p-12, -0x1p-13}, 0),
            bitsOf(-1.0f));
  // 1 - 2^-25 lies between 1 - 2^-24 and 1.
  EXPECT_EQ(sum({1, -0x1p-12}, {1, 0x1p-13}, 0), bitsOf(1 - 0x1p-24f));
  // Each of these terms is cut to nothing, though their sum would count.
  std::vector<double> a(16, 0x1p-13), b(16, 0x1p-13);
  a[0] = b[0] = 1;
  EXPECT_EQ(sum(a, b, 0), bitsOf(1.0f));
  EXPECT_EQ(sum(a, b, 0, MatrixArithmetic::F64), bitsOf(1.0f + 0x1p-22f));
}

/// The exponent of 1.5 * 1.5 is 0, though it is 2.25.
TEST(Matrix, AlignsByExponentsOfFactors) {
  OneSum sum({8, T::F32, T::BF16, T::BF16, T::F32});
  EXPECT_EQ(sum({1.5, -1.5, 0x1p-12}, {1.5, 1.5, 0x1p-13}, 0),
            bitsOf(0x1p-25f));
  EXPECT_EQ(sum({2, -2, 0x1p-12}, {1, 1, 0x1p-13}, 0), bitsOf(0));
}

/// Sixteen of the largest significands, and c, exceed 31 bits.
TEST(Matrix, LargestSums) {
  std::vector<double> largest(16, 2 - 0x1p-10);
  OneSum sum({16, T::F32, T::F16, T::F16, T::F32});
  // 16 * 2047^2 / 2^20 + 1.5.
  EXPECT_EQ(sum(largest, largest, 1.5), bitsOf(65.4375152587890625f));
  EXPECT_EQ(sum(largest, largest, -1.5), bitsOf(62.4375152587890625f));
  // 32 * 1.875^2 + 1.5.
  OneSum sum8({32, T::F32, T::E4M3, T::E4M3, T::F32});
  largest.assign(32, 1.875);
  EXPECT_EQ(sum8(largest, largest, 1.5), bitsOf(114));
  std::vector<double> negative(32, -1.875);
  EXPECT_EQ(sum8(largest, negative, -1.5), bitsOf(-114));
}

TEST(Matrix, CutsSubnormals) {
  OneSum sum({16, T::F32, T::BF16, T::BF16, T::F32});
  // 2^-126 - 2^-150 lies half way between the largest subnormal and 2^-126.
  EXPECT_EQ(sum({-0x1p-75}, {0x1p-75}, 0x1p-126), 0x007FFFFFu);
  EXPECT_EQ(sum({0x1p-75}, {0x1p-75}, -0x1p-126), 0x807FFFFFu);
  EXPECT_EQ(sum({0x1p-75, 0x1p-75}, {0x1p-75, 0x1p-75}, 0), 1u);
  EXPECT_EQ(sum({-0x1.8p-74}, {0x1p-75}, 0), 0x80000001u);
  // Less than the smallest is zero, without a sign.
  EXPECT_EQ(sum({-0x1p-75}, {0x1p-75}, 0), 0u);
}

TEST(Matrix, Specials) {
  double infinity = INFINITY;
  OneSum sum({16, T::F32, T::BF16, T::BF16, T::F32});
  for (MatrixArithmetic arithmetic : kArithmetics) {
    EXPECT_EQ(sum({infinity}, {1}, 0, arithmetic), 0x7F800000u);
    EXPECT_EQ(sum({infinity}, {-1}, 0, arithmetic), 0xFF800000u);
    EXPECT_EQ(sum({1}, {1}, -infinity, arithmetic), 0xFF800000u);
    EXPECT_EQ(sum({infinity}, {1}, -infinity, arithmetic), 0x7FFFFFFFu);
    EXPECT_EQ(sum({infinity, infinity}, {1, -1}, 0, arithmetic), 0x7FFFFFFFu);
    EXPECT_EQ(sum({infinity}, {0}, 0, arithmetic), 0x7FFFFFFFu);
    EXPECT_EQ(sum({NAN}, {1}, 0, arithmetic), 0x7FFFFFFFu);
    EXPECT_EQ(sum({1}, {1}, -NAN, arithmetic), 0x7FFFFFFFu);
    // Beyond the range.
    EXPECT_EQ(sum({0x1p127, 0x1p127}, {1, 1}, 0, arithmetic), 0x7F800000u);
    EXPECT_EQ(sum({0x1p100}, {-0x1p100}, 0, arithmetic), 0xFF800000u);
  }
  // Only plain arithmetic has a negative zero.
  EXPECT_EQ(sum({-0.0}, {1}, -0.0), 0u);
  EXPECT_EQ(sum({-1e-30}, {1e-30}, 0), 0u);
  OneSum toF16({16, T::F16, T::F16, T::F16, T::F16});
  EXPECT_EQ(toF16({NAN}, {1}, 0), 0x7FFFu);
  EXPECT_EQ(toF16({65504}, {1}, 65504), 0x7C00u);
  EXPECT_EQ(toF16({-0x1p-14}, {0x1p-14}, 0), 0u);
  EXPECT_EQ(toF16({-0x1p-14}, {0x1p-14}, 0, MatrixArithmetic::F32), 0x8000u);
  EXPECT_EQ(toF16({1, 1}, {1, 0x1p-11}, 0), 0x3C00u); // a tie, to even
}
