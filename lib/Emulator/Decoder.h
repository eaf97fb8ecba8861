//===- Decoder.h - syntax to decoded instructions ---------------*- C++ -*-===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Modifiers of an opcode are a set: real files spell them in any order. A family
// of instructions takes those that it knows; what is left over is refused.
//===----------------------------------------------------------------------===//
#ifndef KVC_LIB_EMULATOR_DECODER_H
#define KVC_LIB_EMULATOR_DECODER_H

#include "Numerics.h"
#include "Program.h"

#include <unordered_map>

namespace kvc::emu {

class Decoder;
using DecodeFunction = void (*)(Decoder &decoder);
using OpcodeTable = std::unordered_map<std::string_view, DecodeFunction>;

// One function for each file of instructions.
void addIntegerOpcodes(OpcodeTable &table);
void addBitOpcodes(OpcodeTable &table);
void addFloatOpcodes(OpcodeTable &table);
void addHalfOpcodes(OpcodeTable &table);
void addCompareOpcodes(OpcodeTable &table);
void addConvertOpcodes(OpcodeTable &table);
void addMoveOpcodes(OpcodeTable &table);
void addMemoryOpcodes(OpcodeTable &table);
void addAtomicOpcodes(OpcodeTable &table);
void addCopyOpcodes(OpcodeTable &table);
void addMatrixOpcodes(OpcodeTable &table);
void addWarpOpcodes(OpcodeTable &table);
void addControlOpcodes(OpcodeTable &table);
void addClusterOpcodes(OpcodeTable &table);
void addPrintOpcodes(OpcodeTable &table);

/// What a name of a module or a function stands for.
struct SymbolValue {
  Space space = Space::Global;
  uint64_t address = 0; ///< Within its space; for Global and Const absolute.
  uint64_t size = 0;
  bool isDynamicShared = false;
  bool isKernelParameter = false; ///< Else a Param is local memory.
};
using SymbolTable = std::unordered_map<std::string_view, SymbolValue>;

/// A read or write of a register by a decoded instruction.
struct RegisterUse {
  uint32_t instruction;
  RegisterId reg;
  bool isWrite;
};
struct RegisterRows {
  std::unordered_map<RegisterId, Row> rows;
  std::vector<RegisterId> unwritten; ///< Read before written, on some path.
  uint32_t end = 0;                  ///< First row word after all.
};
/// Gives rows to registers by liveness, from `firstRow` on.
RegisterRows allocateRegisters(const std::vector<Ins> &code,
                               const std::vector<RegisterUse> &uses,
                               const std::vector<Register> &registers,
                               Row firstRow);

/// Decodes one kernel, whose calls are inlined.
class Decoder {
public:
  /// `symbols` holds the variables of the module in global and constant memory,
  /// `shared` those in shared memory that the kernel names.
  Decoder(const Function &function, const SymbolTable &symbols,
          const std::vector<const Variable *> &shared, Kernel &kernel);
  void decode();

  //===--- The instruction at hand ----------------------------------------===//

  const Instruction &get() const { return *instruction; }
  /// Takes a modifier; false if it is not there.
  bool take(std::string_view modifier);
  /// Takes the first of `names` that is there; its index, or -1.
  int takeOneOf(std::initializer_list<std::string_view> names);
  /// Takes the first modifier that is a type.
  Type takeType();
  /// Takes an optional type: None if there is none.
  Type takeOptionalType();
  /// Takes .rn, .rz, .rm or .rp.
  Rounding takeRounding(Rounding otherwise);
  [[noreturn]] void fail(const std::string &message) const;
  [[noreturn]] void failType(Type type) const;

  /// Fails unless there are `least` to `most` operands.
  void expectOperands(size_t least, size_t most);
  void expectOperands(size_t count) { expectOperands(count, count); }
  const Operand &getOperand(size_t index) const {
    return instruction->operands[index];
  }
  size_t getNumOperands() const { return instruction->operands.size(); }

  //===--- Operands -------------------------------------------------------===//

  /// Row of a source: a register whose width is that of `type`, or (`isLoose`,
  /// for ld, st and cvt) at least that; or a constant.
  Row read(const Operand &operand, Type type, bool isLoose = false);
  Row write(const Operand &operand, Type type, bool isLoose = false);
  /// Bits of the register that an operand names; 0 if it is none.
  unsigned getRegisterBits(const Operand &operand) const;
  Pred readPred(const Operand &operand);
  Pred writePred(const Operand &operand);
  bool isImmediate(const Operand &operand) const;
  uint64_t getImmediate(const Operand &operand) const;
  Row getConstant(uint64_t value, bool isWide);
  Row getSpecial(Special special, uint32_t offset = 0, bool isWide = false);
  /// The special register, or none.
  std::optional<Special> findSpecial(const Operand &operand) const;
  const SymbolValue *findSymbol(const Operand &operand) const;
  /// A row that nothing reads, for results that are not wanted.
  Row getScratch(bool isWide);

  /// Address of a memory access.
  struct Address {
    Row base = 0;
    int64_t offset = 0;
    bool isWide = false;              ///< `base` is a row of 64 bits.
    Space space = Space::Generic;     ///< Parameters of calls are local.
  };
  Address getAddress(const Operand &operand, Space space);
  /// Appends to Program::lists; returns the index of the first.
  uint32_t addList(const std::vector<uint32_t> &rows);

  /// Adds an instruction with the guard of the text. Its modifiers must have been
  /// taken.
  Ins &emit(Handler handler, InstructionClass unit, Kind kind = Kind::Plain);

  Program &getProgram() { return *program; }
  const Kernel &getKernel() const { return kernel; }

private:
  void layOutVariables();
  void decodeInstruction(const Instruction &text);
  void checkModifiersTaken() const;
  void allocateRegisters();
  Row getVirtualRow(RegisterId id, bool isWrite);

  const Function &function;
  const SymbolTable &symbols;
  const std::vector<const Variable *> &sharedVariables;
  SymbolTable localSymbols;
  std::vector<SymbolValue> functionVariables;
  Kernel &kernel;
  std::shared_ptr<Program> program;

  const Instruction *instruction = nullptr;
  std::vector<bool> taken;
  std::vector<uint32_t> firstIns; ///< Of each instruction of the text.
  std::vector<Pred> predicates;   ///< Of each register that is a predicate.
  std::unordered_map<uint64_t, Row> narrowConstants, wideConstants;

  std::vector<RegisterUse> uses;
  std::vector<RegisterUse> pending; ///< Of the instruction at hand.
};

/// Bits of Ins::flags that several handlers share.
inline constexpr uint8_t kWideAddress = 1; ///< `a` is a row of 64 bits.

/// Tags a row that stands for a register until registers are allocated.
inline constexpr Row kVirtualRow = 0x80000000;

/// Replaces calls of functions of the module by their bodies.
Function inlineCalls(const Syntax &syntax, const Function &function);

} // namespace kvc::emu

#endif // KVC_LIB_EMULATOR_DECODER_H
