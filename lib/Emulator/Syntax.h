//===- Syntax.h - a parsed PTX module ---------------------------*- C++ -*-===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What the parser hands to the decoder: names of registers and labels are
// resolved (both are scoped by blocks), instructions are still text. Text is
// referred to, not copied: the source outlives it.
//===----------------------------------------------------------------------===//
#ifndef KVC_LIB_EMULATOR_SYNTAX_H
#define KVC_LIB_EMULATOR_SYNTAX_H

#include <array>
#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace kvc::emu {

struct Location {
  uint32_t line = 0, column = 0;
};

/// Thrown by lexer, parser and decoder, caught by Module::load.
struct PTXError : std::runtime_error {
  PTXError(Location where, const std::string &message)
      : std::runtime_error(message), where(where) {}
  Location where;
};

/// Fundamental types, and those that only modifiers name.
enum class Type : uint8_t {
  None, Pred, B8, B16, B32, B64, B128, U8, U16, U32, U64, S8, S16, S32, S64,
  F16, F16x2, BF16, BF16x2, F32, F64, TF32, E4M3, E5M2, E4M3x2, E5M2x2
};
/// Type of a modifier without its dot; None if it is no type.
Type parseType(std::string_view text);
unsigned getNumBits(Type type);
const char *getName(Type type);

enum class Space : uint8_t {
  Generic,
  Global,
  Shared,
  SharedCluster, ///< Of any block of the cluster.
  Local,
  Param,
  Const
};

/// Number of a register in its function.
using RegisterId = uint32_t;

struct Register {
  std::string_view prefix; ///< The name, or what is before the number.
  int32_t number = -1;     ///< -1: none.
  Type type = Type::None;
  std::string getName() const {
    return std::string(prefix.substr(0, 60)) +
           (number < 0 ? std::string() : std::to_string(number));
  }
};

struct Operand {
  enum class Kind : uint8_t {
    Register, ///< `reg`, with `negated` for !%p
    Integer,  ///< `value`
    Float32,  ///< bits in `value`
    Float64,  ///< bits in `value`
    Name,     ///< a symbol, label, function or special register, + `value`
    Address,  ///< [elements[0] + value]
    Vector,   ///< {elements}
    Pair,     ///< elements[0]|elements[1]
    List,     ///< (elements), of a call
    Sink      ///< _
  };
  Kind kind = Kind::Sink;
  bool negated = false;
  RegisterId reg = 0;
  uint64_t value = 0;
  std::string_view name;
  /// Of a name: index into the function's variables; -1: of the module, or a
  /// special register.
  int32_t variable = -1;
  std::vector<Operand> elements;
  Location where;
};

struct Instruction {
  Location where;
  std::string_view text;   ///< From the opcode to before the semicolon.
  std::string_view opcode; ///< Up to the first dot.
  std::vector<std::string_view> modifiers; ///< Without dots, `::` kept.
  std::vector<Operand> operands;
  std::optional<RegisterId> guard;
  bool guardNegated = false;
  uint32_t target = 0; ///< Of a branch: index into the body.
  /// Bytes of the next vector load that matter, from a pragma; 0: all.
  uint32_t usedBytesMask = 0;
};

struct Initialiser {
  uint64_t value = 0;
  std::string_view symbol; ///< Its address is added, unless empty.
  bool isGeneric = false;
};

/// A variable, or a parameter.
struct Variable {
  std::string_view name;
  Space space = Space::Global;
  Type type = Type::None;
  uint32_t alignment = 1;
  uint64_t size = 0; ///< Bytes; 0: an unsized array.
  bool isExtern = false;
  std::vector<Initialiser> values;
  Location where;
};

struct Function {
  std::string_view name;
  bool isEntry = false;
  bool hasBody = false;
  Location where;
  std::vector<Variable> parameters, results;
  std::vector<Register> registers;
  std::vector<Variable> variables; ///< Declared in the body, any space.
  std::vector<Instruction> body;
  uint32_t maxThreads = 0; ///< .maxntid, .reqntid; 0: not said.
  std::array<uint32_t, 3> requiredBlock = {}; ///< .reqntid; zeros: not said.
};

struct Syntax {
  unsigned version = 0; ///< Times ten.
  std::string_view target;
  std::vector<Variable> variables;
  std::vector<Function> functions;
};

/// Parses a module. Throws PTXError.
Syntax parse(std::string_view text);

} // namespace kvc::emu

#endif // KVC_LIB_EMULATOR_SYNTAX_H
