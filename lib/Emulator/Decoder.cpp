//===- Decoder.cpp - syntax to decoded instructions -----------------------===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Decoder.h"

#include "Machine.h"

#include <algorithm>
#include <cstring>

using namespace kvc::emu;

/// Shared and local memory of a kernel; more is refused when it is launched.
static constexpr uint64_t kMaxWindow = uint64_t(1) << 24;

namespace {
struct Family {
  const char *name;
  void (*addOpcodes)(OpcodeTable &table);
};
} // namespace

/// A file of instructions each.
static constexpr Family kFamilies[] = {
    {"integer", addIntegerOpcodes},   {"bits", addBitOpcodes},
    {"float", addFloatOpcodes},       {"half", addHalfOpcodes},
    {"compare", addCompareOpcodes},   {"convert", addConvertOpcodes},
    {"move", addMoveOpcodes},         {"memory", addMemoryOpcodes},
    {"atomic", addAtomicOpcodes},     {"copy", addCopyOpcodes},
    {"matrix", addMatrixOpcodes},     {"warp", addWarpOpcodes},
    {"control", addControlOpcodes},   {"cluster", addClusterOpcodes},
    {"print", addPrintOpcodes},
};

static const OpcodeTable &getOpcodes() {
  static const OpcodeTable table = [] {
    OpcodeTable result;
    for (const Family &family : kFamilies)
      family.addOpcodes(result);
    return result;
  }();
  return table;
}

std::vector<InstructionFamily> kvc::emu::getInstructionFamilies() {
  std::vector<InstructionFamily> families;
  for (const Family &family : kFamilies) {
    OpcodeTable table;
    family.addOpcodes(table);
    InstructionFamily result;
    result.name = family.name;
    for (const auto &entry : table)
      result.opcodes.emplace_back(entry.first);
    std::sort(result.opcodes.begin(), result.opcodes.end());
    if (!result.opcodes.empty())
      families.push_back(std::move(result));
  }
  return families;
}

Decoder::Decoder(const Function &function, const SymbolTable &symbols,
                 const std::vector<const Variable *> &shared, Kernel &kernel)
    : function(function), symbols(symbols), sharedVariables(shared), kernel(kernel),
      program(std::make_shared<Program>()) {}

//===----------------------------------------------------------------------===//
// Variables
//===----------------------------------------------------------------------===//

static uint64_t alignTo(uint64_t value, uint64_t alignment) {
  return (value + alignment - 1) / alignment * alignment;
}

void Decoder::layOutVariables() {
  kernel.name = std::string(function.name);
  if (function.maxThreads)
    kernel.maxThreads = std::min(function.maxThreads, kMaxThreads);
  kernel.requiredBlock = function.requiredBlock;
  uint64_t offset = 0;
  for (const Variable &parameter : function.parameters) {
    offset = alignTo(offset, parameter.alignment);
    if (parameter.size > 32764 || offset + parameter.size > 32764)
      throw PTXError(parameter.where,
                     "expected at most 32764 bytes of parameters");
    kernel.parameters.push_back({std::string(parameter.name), uint32_t(offset),
                                 uint32_t(parameter.size)});
    localSymbols[parameter.name] = {Space::Param, offset, parameter.size, false, true};
    offset += parameter.size;
  }
  kernel.parameterBytes = uint32_t(offset);

  uint64_t shared = 0, local = 0;
  auto place = [&](const Variable &variable) {
    uint64_t &end = variable.space == Space::Shared ? shared : local;
    SymbolValue value;
    value.space = variable.space;
    value.size = variable.size;
    if (variable.space == Space::Shared && variable.size == 0) {
      value.isDynamicShared = true;
      kernel.usesDynamicShared = true;
      return value;
    }
    end = alignTo(end, variable.alignment);
    value.address = end + (variable.space == Space::Shared ? kSharedStart : 0);
    end += variable.size;
    if (end > kMaxWindow)
      throw PTXError(variable.where, "expected at most 16 MiB of variables of "
                                     "this kind");
    return value;
  };
  for (const Variable &variable : function.variables) {
    if (variable.space == Space::Global || variable.space == Space::Const)
      throw PTXError(variable.where, "a variable of this space inside a function "
                                     "is not supported");
    functionVariables.push_back(place(variable));
  }
  for (const Variable *variable : sharedVariables)
    localSymbols[variable->name] = place(*variable);
  kernel.staticShared = uint32_t(shared);
  kernel.localBytes = uint32_t(alignTo(local, 16));
}

const SymbolValue *Decoder::findSymbol(const Operand &operand) const {
  if (operand.kind != Operand::Kind::Name)
    return nullptr;
  if (operand.variable >= 0)
    return &functionVariables[operand.variable];
  if (auto it = localSymbols.find(operand.name); it != localSymbols.end())
    return &it->second;
  auto it = symbols.find(operand.name);
  return it == symbols.end() ? nullptr : &it->second;
}

//===----------------------------------------------------------------------===//
// Modifiers
//===----------------------------------------------------------------------===//

void Decoder::fail(const std::string &message) const {
  throw PTXError(instruction->where, message);
}

void Decoder::failType(Type type) const {
  fail("'" + std::string(instruction->opcode.substr(0, 40)) +
       "' does not support the type ." + getName(type));
}

bool Decoder::take(std::string_view modifier) {
  for (size_t i = 0; i < taken.size(); ++i) {
    if (!taken[i] && instruction->modifiers[i] == modifier) {
      taken[i] = true;
      return true;
    }
  }
  return false;
}

int Decoder::takeOneOf(std::initializer_list<std::string_view> names) {
  int index = 0;
  for (std::string_view name : names) {
    if (take(name))
      return index;
    ++index;
  }
  return -1;
}

Type Decoder::takeOptionalType() {
  for (size_t i = 0; i < taken.size(); ++i) {
    Type type = taken[i] ? Type::None : parseType(instruction->modifiers[i]);
    if (type != Type::None) {
      taken[i] = true;
      return type;
    }
  }
  return Type::None;
}

Type Decoder::takeType() {
  Type type = takeOptionalType();
  if (type == Type::None)
    fail("expected a type after '" + std::string(instruction->opcode.substr(0, 40)) +
         "'");
  return type;
}

Rounding Decoder::takeRounding(Rounding otherwise) {
  static constexpr Rounding kRoundings[] = {Rounding::NearestEven, Rounding::Zero,
                                            Rounding::Down, Rounding::Up};
  int index = takeOneOf({"rn", "rz", "rm", "rp"});
  return index < 0 ? otherwise : kRoundings[index];
}

void Decoder::checkModifiersTaken() const {
  for (size_t i = 0; i < taken.size(); ++i)
    if (!taken[i])
      fail("'" + std::string(instruction->opcode.substr(0, 40)) +
           "' does not support the modifier ." +
           std::string(instruction->modifiers[i].substr(0, 40)));
}

void Decoder::expectOperands(size_t least, size_t most) {
  size_t count = getNumOperands();
  if (count >= least && count <= most)
    return;
  std::string expected = std::to_string(least);
  if (most != least)
    expected += " to " + std::to_string(most);
  fail("expected " + expected + " operands, got " + std::to_string(count));
}

//===----------------------------------------------------------------------===//
// Operands
//===----------------------------------------------------------------------===//

static unsigned getStorageBits(Type type) {
  unsigned bits = getNumBits(type);
  return bits == 8 ? 16 : bits;
}

unsigned Decoder::getRegisterBits(const Operand &operand) const {
  if (operand.kind != Operand::Kind::Register)
    return 0;
  return getStorageBits(function.registers[operand.reg].type);
}

static std::string quoteOperand(const Operand &operand) {
  switch (operand.kind) {
  case Operand::Kind::Register:
  case Operand::Kind::Name:
    return "'" + std::string(operand.name.substr(0, 60)) + "'";
  case Operand::Kind::Address: return "an address";
  case Operand::Kind::Vector: return "a vector";
  case Operand::Kind::Pair: return "a pair";
  case Operand::Kind::List: return "a list";
  case Operand::Kind::Sink: return "'_'";
  default: return "a number";
  }
}

Row Decoder::getVirtualRow(RegisterId id, bool isWrite) {
  pending.push_back({0, id, isWrite});
  return kVirtualRow | id;
}

Row Decoder::getConstant(uint64_t value, bool isWide) {
  if (!isWide)
    value = uint32_t(value);
  auto [it, isNew] = (isWide ? wideConstants : narrowConstants).try_emplace(value, 0);
  if (!isNew)
    return it->second;
  it->second = Row(program->constants.size());
  for (int lane = 0; lane < 32; ++lane) {
    program->constants.push_back(uint32_t(value));
    if (isWide)
      program->constants.push_back(uint32_t(value >> 32));
  }
  return it->second;
}

/// Rows of special registers and scratch are tagged by numbers past those of
/// registers until the number of constants is known.
static constexpr Row kSpecialRow = 0x40000000;

Row Decoder::getSpecial(Special special, uint32_t offset, bool isWide) {
  for (size_t i = 0; i < program->specials.size(); ++i) {
    const Program::SpecialRow &row = program->specials[i];
    if (row.special == special && row.offset == offset && row.isWide == isWide)
      return kSpecialRow | Row(i);
  }
  program->specials.push_back({special, 0, offset, isWide});
  return kSpecialRow | Row(program->specials.size() - 1);
}

Row Decoder::getScratch(bool isWide) {
  // The value is overwritten at will; the offset keeps it apart from those read.
  return getSpecial(Special::LaneId, 0x5C4A7C4, isWide);
}

bool Decoder::isImmediate(const Operand &operand) const {
  return operand.kind == Operand::Kind::Integer ||
         operand.kind == Operand::Kind::Float32 ||
         operand.kind == Operand::Kind::Float64 ||
         (operand.kind == Operand::Kind::Name && operand.name == "WARP_SZ");
}

uint64_t Decoder::getImmediate(const Operand &operand) const {
  if (!isImmediate(operand))
    fail("expected a constant, got " + quoteOperand(operand));
  return operand.kind == Operand::Kind::Name ? 32 : operand.value;
}

Row Decoder::read(const Operand &operand, Type type, bool isLoose) {
  unsigned bits = getNumBits(type);
  if (operand.kind == Operand::Kind::Register) {
    if (operand.negated)
      fail("expected a register, got a negated one");
    unsigned have = getRegisterBits(operand);
    bool fits = isLoose ? have >= std::max(bits, 16u) : have == getStorageBits(type);
    if (!fits || have == 1 || have > 64)
      fail("expected a register of " + std::to_string(getStorageBits(type)) +
           " bits, got " + quoteOperand(operand) + " of " + std::to_string(have));
    return getVirtualRow(operand.reg, false);
  }
  if (!isImmediate(operand))
    fail("expected a register or a constant, got " + quoteOperand(operand));
  uint64_t value = getImmediate(operand);
  if (operand.kind == Operand::Kind::Float64 && bits == 32) {
    double wide;
    std::memcpy(&wide, &value, sizeof(wide));
    float narrow = float(wide);
    uint32_t narrowBits;
    std::memcpy(&narrowBits, &narrow, sizeof(narrow));
    value = narrowBits;
  } else if (operand.kind == Operand::Kind::Float32 && type == Type::F64) {
    uint32_t narrowBits = uint32_t(value);
    float narrow;
    std::memcpy(&narrow, &narrowBits, sizeof(narrow));
    double wide = narrow;
    std::memcpy(&value, &wide, sizeof(wide));
  }
  if (bits < 32)
    value &= (uint64_t(1) << bits) - 1;
  return getConstant(value, bits == 64);
}

Row Decoder::write(const Operand &operand, Type type, bool isLoose) {
  if (operand.kind == Operand::Kind::Sink)
    return getScratch(getNumBits(type) == 64);
  if (operand.kind != Operand::Kind::Register || operand.negated)
    fail("expected a register, got " + quoteOperand(operand));
  unsigned have = getRegisterBits(operand);
  unsigned want = getStorageBits(type);
  bool fits = isLoose ? have >= std::max(getNumBits(type), 16u) : have == want;
  if (!fits || have == 1 || have > 64)
    fail("expected a register of " + std::to_string(want) + " bits, got " +
         quoteOperand(operand) + " of " + std::to_string(have));
  return getVirtualRow(operand.reg, true);
}

Pred Decoder::readPred(const Operand &operand) {
  if (operand.kind == Operand::Kind::Integer)
    return kAlways | (operand.value ? 0 : 1);
  if (operand.kind != Operand::Kind::Register || getRegisterBits(operand) != 1)
    fail("expected a predicate, got " + quoteOperand(operand));
  return predicates[operand.reg] | Pred(operand.negated);
}

Pred Decoder::writePred(const Operand &operand) {
  if (operand.kind == Operand::Kind::Sink)
    return program->numPredicates * 2; // one past all: reserved below
  if (operand.kind != Operand::Kind::Register || operand.negated ||
      getRegisterBits(operand) != 1)
    fail("expected a predicate, got " + quoteOperand(operand));
  return predicates[operand.reg];
}

uint32_t Decoder::addList(const std::vector<uint32_t> &rows) {
  uint32_t first = uint32_t(program->lists.size());
  program->lists.insert(program->lists.end(), rows.begin(), rows.end());
  return first;
}

std::optional<Special> Decoder::findSpecial(const Operand &operand) const {
  static const std::unordered_map<std::string_view, Special> specials = {
      {"%tid.x", Special::TidX}, {"%tid.y", Special::TidY}, {"%tid.z", Special::TidZ},
      {"%ntid.x", Special::NTidX}, {"%ntid.y", Special::NTidY},
      {"%ntid.z", Special::NTidZ}, {"%ctaid.x", Special::CTAIdX},
      {"%ctaid.y", Special::CTAIdY}, {"%ctaid.z", Special::CTAIdZ},
      {"%nctaid.x", Special::NCTAIdX}, {"%nctaid.y", Special::NCTAIdY},
      {"%nctaid.z", Special::NCTAIdZ}, {"%laneid", Special::LaneId},
      {"%warpid", Special::WarpId}, {"%nwarpid", Special::NWarpId},
      {"%smid", Special::SMId}, {"%nsmid", Special::NSMId},
      {"%gridid", Special::GridId}, {"%lanemask_eq", Special::LaneMaskEq},
      {"%lanemask_le", Special::LaneMaskLe}, {"%lanemask_lt", Special::LaneMaskLt},
      {"%lanemask_ge", Special::LaneMaskGe}, {"%lanemask_gt", Special::LaneMaskGt},
      {"%dynamic_smem_size", Special::DynamicShared},
      {"%total_smem_size", Special::TotalShared},
      {"%clusterid.x", Special::ClusterIdX}, {"%clusterid.y", Special::ClusterIdY},
      {"%clusterid.z", Special::ClusterIdZ},
      {"%nclusterid.x", Special::NClusterIdX}, {"%nclusterid.y", Special::NClusterIdY},
      {"%nclusterid.z", Special::NClusterIdZ},
      {"%cluster_ctaid.x", Special::ClusterCTAIdX},
      {"%cluster_ctaid.y", Special::ClusterCTAIdY},
      {"%cluster_ctaid.z", Special::ClusterCTAIdZ},
      {"%cluster_nctaid.x", Special::ClusterNCTAIdX},
      {"%cluster_nctaid.y", Special::ClusterNCTAIdY},
      {"%cluster_nctaid.z", Special::ClusterNCTAIdZ},
      {"%cluster_ctarank", Special::ClusterCTARank},
      {"%cluster_nctarank", Special::ClusterNCTARank}};
  if (operand.kind != Operand::Kind::Name)
    return std::nullopt;
  auto it = specials.find(operand.name);
  return it == specials.end() ? std::nullopt : std::optional(it->second);
}

Decoder::Address Decoder::getAddress(const Operand &operand, Space space) {
  if (operand.kind != Operand::Kind::Address || operand.elements.size() != 1)
    fail("expected an address in brackets, got " + quoteOperand(operand));
  const Operand &base = operand.elements[0];
  Address result;
  result.space = space;
  result.offset = int64_t(base.value);
  if (base.kind == Operand::Kind::Register) {
    unsigned bits = getRegisterBits(base);
    bool mayBeNarrow = space != Space::Generic && space != Space::Global;
    if (bits != 64 && !(bits == 32 && mayBeNarrow))
      fail("expected an address of 64 bits, got " + quoteOperand(base) + " of " +
           std::to_string(bits));
    result.base = getVirtualRow(base.reg, false);
    result.isWide = bits == 64;
    return result;
  }
  result.isWide = true;
  if (base.kind == Operand::Kind::Integer) {
    result.offset = 0;
    result.base = getConstant(base.value, true);
    return result;
  }
  const SymbolValue *symbol = findSymbol(base);
  if (!symbol)
    fail("expected a variable or a register as address, got " + quoteOperand(base));
  if (space != Space::Generic && symbol->space != space)
    fail("expected a variable in the space of the access, got " + quoteOperand(base));
  if (symbol->isDynamicShared) {
    result.base = getSpecial(Special::SharedBase);
    result.isWide = false;
    result.space = Space::Shared;
    return result;
  }
  result.space = symbol->space == Space::Param && !symbol->isKernelParameter
                     ? Space::Local
                     : symbol->space;
  result.base = getConstant(symbol->address, true);
  return result;
}

//===----------------------------------------------------------------------===//
// Instructions
//===----------------------------------------------------------------------===//

Ins &Decoder::emit(Handler handler, InstructionClass unit, Kind kind) {
  checkModifiersTaken();
  Ins ins;
  ins.handler = handler;
  ins.unit = unit;
  ins.kind = kind;
  ins.line = instruction->where.line;
  if (instruction->guard) {
    if (function.registers[*instruction->guard].type != Type::Pred)
      fail("expected a predicate as guard, got '" +
           function.registers[*instruction->guard].getName() + "'");
    ins.guard = predicates[*instruction->guard] | Pred(instruction->guardNegated);
  }
  program->code.push_back(ins);
  std::string text(instruction->text.substr(0, 200));
  for (char &c : text)
    if (c < 32 || c > 126)
      c = ' ';
  program->texts.push_back(std::move(text));
  return program->code.back();
}

void Decoder::decodeInstruction(const Instruction &text) {
  instruction = &text;
  taken.assign(text.modifiers.size(), false);
  pending.clear();
  auto it = getOpcodes().find(text.opcode);
  if (it == getOpcodes().end())
    fail("the instruction '" + std::string(text.opcode.substr(0, 60)) +
         "' is not supported");
  size_t before = program->code.size();
  it->second(*this);
  for (RegisterUse use : pending) {
    use.instruction = uint32_t(std::max(program->code.size(), before + 1) - 1);
    uses.push_back(use);
  }
}

void Decoder::decode() {
  layOutVariables();
  predicates.assign(function.registers.size(), 0);
  for (size_t i = 0; i < function.registers.size(); ++i)
    if (function.registers[i].type == Type::Pred)
      predicates[i] = 2 * program->numPredicates++;
  for (const Instruction &text : function.body) {
    firstIns.push_back(uint32_t(program->code.size()));
    decodeInstruction(text);
  }
  // A body may end with a label, or without `ret`.
  static const Instruction kEnd = [] {
    Instruction ins;
    ins.opcode = ins.text = "ret";
    return ins;
  }();
  Instruction end = kEnd;
  end.where = function.where;
  firstIns.push_back(uint32_t(program->code.size()));
  decodeInstruction(end);
  for (Ins &ins : program->code)
    if (ins.kind == Kind::Branch)
      ins.target = firstIns[ins.target];
  program->numPredicates += 1; // of sinks
  allocateRegisters();
  kernel.program = program;
}

void Decoder::allocateRegisters() {
  // Constants, then special registers.
  Row next = Row(program->constants.size());
  for (Program::SpecialRow &special : program->specials) {
    special.row = next;
    next += special.isWide ? 64 : 32;
  }
  RegisterRows rows = emu::allocateRegisters(program->code, uses, function.registers, next);
  program->numRowWords = rows.end;
  kernel.registers = (rows.end - next) / 32;

  auto patch = [&](Row &row) {
    if (row & kVirtualRow)
      row = rows.rows.at(row & ~kVirtualRow);
    else if (row & kSpecialRow)
      row = program->specials[row & ~kSpecialRow].row;
  };
  for (Ins &ins : program->code)
    for (Row *row : {&ins.d, &ins.a, &ins.b, &ins.c, &ins.maskRow})
      patch(*row);
  for (uint32_t &row : program->lists)
    patch(row);

  std::unordered_map<RegisterId, uint32_t> indices;
  for (RegisterId reg : rows.unwritten) {
    indices[reg] = uint32_t(program->unwritten.size());
    program->unwritten.push_back({rows.rows.at(reg), function.registers[reg].getName()});
  }
  for (const RegisterUse &use : uses) {
    if (auto it = indices.find(use.reg); it != indices.end()) {
      program->unwrittenUses.push_back({use.instruction, it->second, use.isWrite});
      program->code[use.instruction].isTracked = true;
    }
  }
  std::stable_sort(program->unwrittenUses.begin(), program->unwrittenUses.end(),
                   [](const auto &a, const auto &b) {
                     return a.instruction < b.instruction;
                   });
}
