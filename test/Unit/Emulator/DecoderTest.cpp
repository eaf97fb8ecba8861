//===- DecoderTest.cpp - what a decoded kernel is like --------------------===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "PTXRunner.h"

#include "Emulator/Decoder.h"

#include <gtest/gtest.h>

using namespace kvc::emu;
using namespace kvc::emu::test;

namespace {
/// After all tests: every opcode of the decoder was in one of them. Looks only if
/// all of them ran.
class OpcodeEnvironment : public testing::Environment {
public:
  void TearDown() override {
    const auto &unit = *testing::UnitTest::GetInstance();
    if (testing::GTEST_FLAG(filter) != "*" || unit.test_to_run_count() != unit.total_test_count())
      return;
    OpcodeTable table;
    addIntegerOpcodes(table);
    addBitOpcodes(table);
    addFloatOpcodes(table);
    addHalfOpcodes(table);
    addCompareOpcodes(table);
    addConvertOpcodes(table);
    addMoveOpcodes(table);
    addMemoryOpcodes(table);
    addAtomicOpcodes(table);
    addCopyOpcodes(table);
    addMatrixOpcodes(table);
    addWarpOpcodes(table);
    addControlOpcodes(table);
    addPrintOpcodes(table);
    EXPECT_GE(table.size(), 80u);
    for (const auto &[opcode, function] : table)
      EXPECT_TRUE(getSeenOpcodes().count(std::string(opcode))) << "no test runs '" << opcode << "'";
  }
};
} // namespace

static testing::Environment *const environment = testing::AddGlobalTestEnvironment(new OpcodeEnvironment);

/// Loads a module with one kernel.
static Kernel loadKernel(Memory &memory, const std::string &module) {
  std::string log;
  std::unique_ptr<Module> loaded = Module::load(module, memory, log);
  EXPECT_EQ(log, "");
  return loaded ? loaded->getKernels().at(0) : Kernel();
}

TEST(DecoderTest, LayOut) {
  ASSERT_TRUE(environment);
  Memory memory;
  Kernel kernel = loadKernel(memory, getHeader() + R"(
.shared .align 16 .b8 first[20]; .shared .align 4 .b32 unused[1000]; .shared .align 8 .b64 second;
.entry k(.param .u8 a, .param .u64 b, .param .u16 c, .param .align 16 .b8 d[20], .param .v4 .f32 e) {
  .reg .b32 %r<9>; .local .align 4 .b8 small[5]; .local .align 16 .b8 large[32];
  mov.u32 %r1, first; mov.u32 %r2, second; mov.u32 %r3, small; mov.u32 %r4, large; ret;
})");
  const uint32_t offsets[] = {0, 8, 16, 32, 64}, sizes[] = {1, 8, 2, 20, 16};
  ASSERT_EQ(kernel.parameters.size(), 5u);
  for (int i = 0; i < 5; ++i) {
    EXPECT_EQ(kernel.parameters[i].offset, offsets[i]);
    EXPECT_EQ(kernel.parameters[i].size, sizes[i]);
  }
  EXPECT_EQ(kernel.parameterBytes, 80u);
  EXPECT_EQ(kernel.staticShared, 32u) << "20 bytes, a gap of 4, 8 bytes";
  EXPECT_EQ(kernel.localBytes, 48u) << "5 bytes, a gap of 11, 32 bytes";
  EXPECT_FALSE(kernel.usesDynamicShared);
}

// Registers that do not live at once share a row.
TEST(DecoderTest, RegistersShareRows) {
  Memory memory;
  std::string body;
  for (int i = 1; i < 100; ++i)
    body += "add.u32 %r" + std::to_string(i) + ", %r" + std::to_string(i - 1) + ", 1;\n";
  Kernel kernel = loadKernel(memory, getHeader() + ".entry k(.param .u64 out) { .reg .b32 %r<100>; .reg .b64 %l; mov.u32 %r0, %tid.x;\n" + body +
                                         "ld.param.u64 %l, [out]; st.global.u32 [%l], %r99; ret; }");
  EXPECT_LE(kernel.registers, 4u);
}

TEST(DecoderTest, ClassesOfInstructions) {
  struct Case {
    const char *text;
    InstructionClass unit;
  };
  for (const Case &c : {Case{"add.s32 %r0, %r1, 1;", InstructionClass::Integer}, {"add.s64 %l0, %l1, 1;", InstructionClass::Integer64}, {"add.f32 %r0, %r1, %r2;", InstructionClass::Float},
                        {"add.f16x2 %r0, %r1, %r2;", InstructionClass::Half}, {"ex2.approx.f32 %r0, %r1;", InstructionClass::Special}, {"cvt.u64.u32 %l0, %r1;", InstructionClass::Convert},
                        {"mov.b32 %r0, %r1;", InstructionClass::Move}, {"setp.eq.s32 %p0, %r1, 0;", InstructionClass::Compare}, {"ld.global.u32 %r0, [%in];", InstructionClass::Global},
                        {"ld.param.u32 %r0, [in];", InstructionClass::Parameter}, {"vote.sync.ballot.b32 %r0, %p1, -1;", InstructionClass::Shuffle}, {"bar.sync 0;", InstructionClass::Barrier},
                        {"cp.async.commit_group;", InstructionClass::Copy}, {"atom.global.add.u32 %r0, [%in], 1;", InstructionClass::Atomic}, {"bra L; L:", InstructionClass::Control}}) {
    Launched without = run(makeKernel("mov.u32 %r1, 0; mov.u32 %r2, 0; mov.u64 %l1, 0; setp.eq.u32 %p1, %r1, 0;"), 1, {1, 2});
    Launched with = run(makeKernel(std::string("mov.u32 %r1, 0; mov.u32 %r2, 0; mov.u64 %l1, 0; setp.eq.u32 %p1, %r1, 0;") + c.text), 1, {1, 2});
    EXPECT_EQ(with.result.counters.instructions[unsigned(c.unit)], without.result.counters.instructions[unsigned(c.unit)] + 1) << c.text;
    EXPECT_EQ(with.result.counters.getWarpInstructions(), without.result.counters.getWarpInstructions() + 1) << c.text;
  }
}

TEST(DecoderTest, SinksAndImmediates) {
  expectValues("add.u32 _, %r1, 1; mov.u32 %r0, %r1;", {{{5}, {5}}});
  expectValues("setp.eq.u32 _, %r1, 1; mov.u32 %r0, %r1;", {{{5}, {5}}});
  expectValues("mul.wide.u32 _, %r1, 9; mov.b64 {_, %r0}, %l1;", {{{0x500000007}, {5}}});
  // Both operands constants; one constant of two widths.
  expectValues("add.u32 %r0, 2, 3;", {{{0}, {5}}});
  expectValues("add.u64 %l2, %l1, 7; add.u32 %r2, %r1, 7; cvt.u64.u32 %l3, %r2; add.u64 %l0, %l2, %l3;", {{{1}, {16}}});
  expectValues("add.u16 %h0, %h1, -1;", {{{5}, {4}}});
}

TEST(DecoderTest, UnwrittenRegistersAreReported) {
  Launched r = run(makeKernel("st.global.u32 [%mine], %r5;"), 32);
  EXPECT_TRUE(r.hasReport(ReportKind::Uninitialised));
  r = run(makeKernel("setp.lt.u32 %p1, %t, 16; @%p1 mov.u32 %r5, 1; st.global.u32 [%mine], %r5;"), 32);
  EXPECT_TRUE(r.hasReport(ReportKind::Uninitialised));
  run(makeKernel("setp.lt.u32 %p1, %t, 16; @%p1 mov.u32 %r5, 1; @%p1 st.global.u32 [%mine], %r5;"), 32).expectClean();
}
