//===- MatrixInstructionTest.cpp - ldmatrix, stmatrix, movmatrix, mma -----===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which element is in which register of which lane, by the formulas of the PTX
// manual; sums are in MatrixTest.cpp.
//===----------------------------------------------------------------------===//
#include "PTXRunner.h"

#include "MatrixModel.h"

#include <gtest/gtest.h>

using namespace kvc::emu;
using namespace kvc::emu::test;

static const std::string kTile = ".shared .align 16 .b8 tile[1024];\n";

static std::string list(const std::string &prefix, unsigned first, unsigned count) {
  std::string text = "{";
  for (unsigned i = 0; i < count; ++i)
    text += (i ? ", " : "") + prefix + std::to_string(first + i);
  return text + "}";
}

//===----------------------------------------------------------------------===//
// Matrices in shared memory
//===----------------------------------------------------------------------===//

/// Element of row `r`, column `c` of matrix `j`.
static uint16_t element(unsigned j, unsigned r, unsigned c) { return uint16_t(j << 8 | r << 4 | c); }

/// Four matrices whose rows of 16 bytes stand in the order of `place`.
static unsigned place(unsigned j, unsigned r) { return (j * 8 + r) * 5 % 32; }

static std::vector<uint32_t> makeTile() {
  std::vector<uint32_t> words(128);
  for (unsigned j = 0; j < 4; ++j)
    for (unsigned r = 0; r < 8; ++r)
      for (unsigned c = 0; c < 8; ++c)
        words[place(j, r) * 4 + c / 2] |= uint32_t(element(j, r, c)) << (16 * (c % 2));
  return words;
}

/// Lane l's register j: row l/4, columns 2(l%4) and 2(l%4)+1; transposed, rows
/// 2(l%4) and 2(l%4)+1 of column l/4.
static uint32_t fragment(unsigned lane, unsigned j, bool isTransposed) {
  unsigned g = lane / 4, t = 2 * (lane % 4);
  return isTransposed ? element(j, t, g) | uint32_t(element(j, t + 1, g)) << 16
                      : element(j, g, t) | uint32_t(element(j, g, t + 1)) << 16;
}

// Lane 8j + r gives the address of row r of matrix j.
static const std::string kRowAddress = "mul.lo.u32 %r1, %t, 5; and.b32 %r1, %r1, 31; shl.b32 %r1, %r1, 4; mov.u32 %r2, tile; add.u32 %r1, %r1, %r2;\n";

TEST(MatrixInstructionTest, LoadMatrix) {
  const std::string fill = "shl.b32 %r10, %t, 4; cvt.u64.u32 %l1, %r10; add.u64 %l1, %l1, %in; add.u32 %r10, %r10, %r2; ld.global.v4.u32 {%r11, %r12, %r13, %r14}, [%l1]; st.shared.v4.u32 [%r10], {%r11, %r12, %r13, %r14}; bar.warp.sync -1;\n";
  for (unsigned count : {1, 2, 4})
    for (bool isTransposed : {false, true})
      for (int form = 0; form < 3; ++form) {
        std::string x = ".x" + std::to_string(count), trans = isTransposed ? ".trans" : "", name, address = "[%r1]";
        if (form == 0)
          name = "ldmatrix.sync.aligned.m8n8" + x + trans + ".shared.b16 ";
        else if (form == 1)
          name = "ldmatrix.sync.aligned" + trans + x + ".m8n8.shared::cta.b16 ", address = "[%r3+16]";
        else
          name = "ldmatrix.sync.aligned.m8n8" + x + trans + ".b16 ", address = "[%l2]";
        std::string body = kRowAddress + fill + "sub.u32 %r3, %r1, 16; cvt.u64.u32 %l2, %r1; cvta.shared.u64 %l2, %l2;\n" + name + list("%r", 20, count) + ", " + address + ";\n";
        // Lanes whose address does not count may hold anything.
        body = "setp.ge.u32 %p1, %t, " + std::to_string(8 * count) + ";\n" + body;
        body.insert(body.find(name), "@%p1 mov.u32 %r1, 1; @%p1 mov.u32 %r3, 3; @%p1 mov.u64 %l2, 5;\n");
        for (unsigned j = 0; j < count; ++j)
          body += "st.global.u32 [%mine+" + std::to_string(128 * j) + "], %r" + std::to_string(20 + j) + ";\n";
        Launched r = run(makeKernel(body, kTile), 32 * count, makeTile());
        r.expectClean();
        for (unsigned j = 0; j < count; ++j)
          for (unsigned lane = 0; lane < 32; ++lane)
            ASSERT_EQ(r.words[32 * j + lane], fragment(lane, j, isTransposed)) << body;
      }
}

TEST(MatrixInstructionTest, StoreMatrix) {
  for (unsigned count : {1, 2, 4})
    for (bool isTransposed : {false, true}) {
      std::string body = kRowAddress;
      for (unsigned j = 0; j < count; ++j)
        body += "ld.global.u32 %r" + std::to_string(20 + j) + ", [%l1+" + std::to_string(128 * j) + "];\n";
      body = "mul.wide.u32 %l1, %t, 4; add.u64 %l1, %l1, %in;\n" + body;
      body += "stmatrix.sync.aligned.m8n8.x" + std::to_string(count) + (isTransposed ? ".trans" : "") + ".shared.b16 [%r1], " + list("%r", 20, count) + ";\nbar.warp.sync -1;\n";
      body += "setp.lt.u32 %p1, %t, " + std::to_string(8 * count) + ";\n";
      body += "mul.wide.u32 %l2, %t, 16; add.u64 %l2, %l2, %out; @%p1 ld.shared.v4.u32 {%r11, %r12, %r13, %r14}, [%r1]; @%p1 st.global.v4.u32 [%l2], {%r11, %r12, %r13, %r14};";
      std::vector<uint32_t> in;
      for (unsigned j = 0; j < count; ++j)
        for (unsigned lane = 0; lane < 32; ++lane)
          in.push_back(fragment(lane, j, isTransposed));
      Launched r = run(makeKernel(body, kTile), 128, in);
      r.expectClean();
      for (unsigned j = 0; j < count; ++j)
        for (unsigned row = 0; row < 8; ++row)
          for (unsigned c = 0; c < 8; ++c)
            ASSERT_EQ(r.words[(8 * j + row) * 4 + c / 2] >> (16 * (c % 2)) & 0xFFFF, element(j, row, c)) << body;
    }
}

TEST(MatrixInstructionTest, MoveMatrix) {
  std::vector<uint32_t> in;
  for (unsigned lane = 0; lane < 32; ++lane)
    in.push_back(fragment(lane, 0, false));
  Launched r = run(makeKernel("mul.wide.u32 %l1, %t, 4; add.u64 %l1, %l1, %in; ld.global.u32 %r1, [%l1]; movmatrix.sync.aligned.m8n8.trans.b16 %r1, %r1; st.global.u32 [%mine], %r1;"), 32, in);
  r.expectClean();
  for (unsigned lane = 0; lane < 32; ++lane)
    EXPECT_EQ(r.words[lane], fragment(lane, 0, true));
}

TEST(MatrixInstructionTest, FaultsAndRefusals) {
  EXPECT_TRUE(run(makeKernel(kRowAddress + "add.u32 %r1, %r1, 8; ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r3}, [%r1]; st.global.u32 [%mine], %r3;", kTile), 32).hasReport(ReportKind::Misaligned));
  EXPECT_TRUE(run(makeKernel(kRowAddress + "add.u32 %r1, %r1, 4096; ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r3}, [%r1]; st.global.u32 [%mine], %r3;", kTile), 32).hasReport(ReportKind::OutOfBounds));
  expectRefused("ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%r1}, [%r2];", "expected 2 registers, got 1");
  expectRefused("ldmatrix.sync.aligned.m8n8.shared.b16 {%r1}, [%r2];", "with .x1, .x2 or .x4");
  expectRefused("ldmatrix.sync.aligned.m16n16.x1.shared.b8 {%r1}, [%r2];", "expected .sync.aligned.m8n8");
  expectRefused("ldmatrix.sync.aligned.m8n8.x1.global.b16 {%r1}, [%l2];", "in shared memory");
  expectRefused("ldmatrix.sync.aligned.m8n8.x1.shared.b8 {%r1}, [%r2];", "does not support the type .b8");
  expectRefused("movmatrix.sync.aligned.m8n8.b16 %r1, %r2;", "expected movmatrix.sync.aligned.m8n8.trans.b16");
}

//===----------------------------------------------------------------------===//
// mma
//===----------------------------------------------------------------------===//

static std::string getTypeName(MatrixType type) {
  static const char *const names[] = {"f16", "bf16", "tf32", "e4m3", "e5m2", "s8", "u8", "f32", "s32"};
  return names[unsigned(type)];
}

static unsigned getElementBits(MatrixType type) {
  switch (type) {
  case MatrixType::F16: case MatrixType::BF16: return 16;
  case MatrixType::TF32: case MatrixType::F32: case MatrixType::S32: return 32;
  default: return 8;
  }
}

/// Multiplies small integers with `instruction` of PTX; every sum is exact.
static void checkProduct(const MatrixInstruction &instruction, const std::string &modifiers = "") {
  unsigned numK = instruction.k;
  int a[16][32], b[32][8], c[16][8];
  bool isUnsignedA = instruction.a == MatrixType::U8, isUnsignedB = instruction.b == MatrixType::U8;
  for (unsigned k = 0; k < numK; ++k) {
    for (unsigned m = 0; m < 16; ++m)
      a[m][k] = int((m * 5 + k * 3) % 7) - (isUnsignedA ? 0 : 3);
    for (unsigned n = 0; n < 8; ++n)
      b[k][n] = int((k * 2 + n * 3 + k * n) % 5) - (isUnsignedB ? 0 : 2);
  }
  for (unsigned m = 0; m < 16; ++m)
    for (unsigned n = 0; n < 8; ++n)
      c[m][n] = int(m * 8 + n) - 60;

  // Registers of a lane: `perRegister` neighbours along k; the lane's group g and
  // place t; rows g and g + 8 alternate.
  unsigned bits = getElementBits(instruction.a), perRegister = 32 / bits;
  unsigned numA = instruction.getNumA(), numB = instruction.getNumB(), numC = instruction.getNumCD();
  std::vector<uint32_t> in;
  for (unsigned lane = 0; lane < 32; ++lane) {
    unsigned g = lane / 4, t = lane % 4;
    for (unsigned r = 0; r < numA; ++r) {
      uint32_t word = 0;
      for (unsigned h = 0; h < perRegister; ++h) {
        unsigned k = perRegister * t + h + 4 * perRegister * (r >> 1);
        word |= encodeInteger(instruction.a, a[g + 8 * (r & 1)][k]) << (bits * h % 32);
      }
      in.push_back(word);
    }
    for (unsigned r = 0; r < numB; ++r) {
      uint32_t word = 0;
      for (unsigned h = 0; h < perRegister; ++h)
        word |= encodeInteger(instruction.b, b[perRegister * t + h + 4 * perRegister * r][g]) << (bits * h % 32);
      in.push_back(word);
    }
    for (unsigned i = 0; i < numC; ++i) {
      if (numC == 4)
        in.push_back(encodeInteger(instruction.c, c[g + 8 * (i >> 1)][2 * t + (i & 1)]));
      else
        in.push_back(encodeInteger(instruction.c, c[g + 8 * i][2 * t]) | encodeInteger(instruction.c, c[g + 8 * i][2 * t + 1]) << 16);
    }
  }
  unsigned numIn = numA + numB + numC;
  std::string body = "mul.wide.u32 %l1, %t, " + std::to_string(4 * numIn) + "; add.u64 %l1, %l1, %in; mul.wide.u32 %l2, %t, " + std::to_string(4 * numC) + "; add.u64 %l2, %l2, %out;\n";
  for (unsigned i = 0; i < numIn; ++i)
    body += "ld.global.u32 %r" + std::to_string(20 + i) + ", [%l1+" + std::to_string(4 * i) + "];\n";
  auto operand = [](unsigned first, unsigned count) { return count == 1 && first % 2 ? "%r" + std::to_string(first) : list("%r", first, count); };
  std::string types = "." + getTypeName(instruction.d) + "." + getTypeName(instruction.a) + "." + getTypeName(instruction.b) + "." + getTypeName(instruction.c);
  body += "mma.sync.aligned.m16n8k" + std::to_string(numK) + ".row.col" + modifiers + types + " " + list("%r", 1, numC) + ", " + operand(20, numA) + ", " + operand(20 + numA, numB) + ", " + list("%r", 20 + numA + numB, numC) + ";\n";
  for (unsigned i = 0; i < numC; ++i)
    body += "st.global.u32 [%l2+" + std::to_string(4 * i) + "], %r" + std::to_string(1 + i) + ";\n";
  for (MatrixArithmetic arithmetic : {MatrixArithmetic::H100, MatrixArithmetic::F32, MatrixArithmetic::F64}) {
    LaunchOptions options;
    options.matrix = arithmetic;
    Launched result = run(makeKernel(body), 32 * numC, in, {32, 1, 1}, {1, 1, 1}, options);
    result.expectClean();
    for (unsigned m = 0; m < 16; ++m)
      for (unsigned n = 0; n < 8; ++n) {
        int sum = c[m][n];
        for (unsigned k = 0; k < numK; ++k)
          sum += a[m][k] * b[k][n];
        unsigned lane = 4 * (m % 8) + n / 2;
        uint32_t bits = numC == 4 ? result.words[lane * 4 + 2 * (m / 8) + n % 2]
                                  : result.words[lane * 2 + m / 8] >> (16 * (n % 2)) & 0xFFFF;
        ASSERT_EQ(bits, encodeInteger(instruction.d, sum)) << body << m << ", " << n;
      }
  }
}

TEST(MatrixInstructionTest, Products) {
  using T = MatrixType;
  for (uint8_t k : {8, 16}) {
    checkProduct({k, T::F32, T::F16, T::F16, T::F32});
    checkProduct({k, T::F16, T::F16, T::F16, T::F16});
    checkProduct({k, T::F32, T::BF16, T::BF16, T::F32});
  }
  for (uint8_t k : {4, 8})
    checkProduct({k, T::F32, T::TF32, T::TF32, T::F32});
  for (T sum : {T::F32, T::F16})
    for (T a : {T::E4M3, T::E5M2})
      for (T b : {T::E4M3, T::E5M2})
        checkProduct({32, sum, a, b, sum});
  for (uint8_t k : {16, 32})
    for (T a : {T::S8, T::U8})
      for (T b : {T::S8, T::U8}) {
        checkProduct({k, T::S32, a, b, T::S32});
        checkProduct({k, T::S32, a, b, T::S32}, ".satfinite");
      }
}

TEST(MatrixInstructionTest, ProductsRefused) {
  const std::string f16 = " {%r1, %r2, %r3, %r4}, {%r5, %r6, %r7, %r8}, {%r9, %r10}, {%r1, %r2, %r3, %r4};";
  expectRefused("mma.sync.aligned.m8n8k4.row.col.f32.f16.f16.f32" + f16, "of a shape");
  expectRefused("mma.sync.aligned.m16n8k16.row.row.f32.f16.f16.f32" + f16, "with .row.col");
  expectRefused("mma.sync.aligned.m16n8k16.row.col.f32.f16.bf16.f32" + f16, "is not supported");
  expectRefused("mma.sync.aligned.m16n8k16.row.col.satfinite.f32.f16.f16.f32" + f16, "is not supported");
  expectRefused("mma.sync.aligned.m16n8k32.row.col.f32.f16.f16.f32" + f16, "m16n8k32 of .f16 and .f16");
  expectRefused("mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32" + f16, "expected 2 registers of operand 2, got 4");
}

// All lanes of the warp take part.
TEST(MatrixInstructionTest, DivergenceIsReported) {
  Launched r = run(makeKernel("mov.u32 %r1, 0; mov.u32 %r2, 0; mov.u32 %r3, 0; setp.lt.u32 %p1, %t, 16; @%p1 mma.sync.aligned.m16n8k8.row.col.f16.f16.f16.f16 {%r1, %r2}, {%r1, %r2}, {%r3}, {%r1, %r2}; st.global.u32 [%mine], %r1;"), 32);
  EXPECT_TRUE(r.hasReport(ReportKind::Divergence));
}
