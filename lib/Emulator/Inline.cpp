//===- Inline.cpp - calls of functions of the module ----------------------===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A call becomes the body of the function: its registers, variables and labels
// anew, its parameters those of the call, and `ret` a branch behind it.
//===----------------------------------------------------------------------===//
#include "Decoder.h"

#include <algorithm>

using namespace kvc::emu;

/// Deeper calls, and larger results, are refused: a recursion has no end, and calls
/// of calls grow beyond all measure.
static constexpr unsigned kMaxDepth = 16;
static constexpr size_t kMaxInstructions = 1 << 20;
static constexpr size_t kMaxCalls = 1 << 16;
static constexpr size_t kMaxRegisters = 1 << 22;
static constexpr size_t kMaxVariables = 1 << 18;

namespace {

class Inliner {
public:
  Inliner(const Syntax &syntax, Function &result) : result(result) {
    for (const Function &function : syntax.functions)
      if (!function.isEntry && function.hasBody)
        functions.try_emplace(function.name, &function);
  }

  void add(const Function &function, unsigned depth);

private:
  /// Where the names of a body are in the result.
  struct Names {
    RegisterId firstRegister = 0;
    int32_t firstVariable = 0;
    /// Parameters of an inlined function, by name, to variables of the result.
    std::unordered_map<std::string_view, int32_t> parameters;
    bool isInlined = false;
  };
  void addBody(const Function &function, const Names &names, unsigned depth);
  void addCall(const Instruction &call, const Function &callee, const Names &names,
               unsigned depth);
  Operand rename(Operand operand, const Names &names) const;
  const Function *findCallee(const Instruction &instruction) const;
  void push(Instruction instruction);
  /// A branch to the instruction after those that are there when it is patched.
  uint32_t pushBranch(const Instruction &original, bool keepsGuard, bool inverts);

  std::unordered_map<std::string_view, const Function *> functions;
  Function &result;
  size_t numCalls = 0;
};

} // namespace

const Function *Inliner::findCallee(const Instruction &instruction) const {
  if (instruction.opcode != "call")
    return nullptr;
  for (const Operand &operand : instruction.operands) {
    if (operand.kind != Operand::Kind::Name)
      continue;
    if (auto it = functions.find(operand.name); it != functions.end())
      return it->second;
  }
  return nullptr;
}

Operand Inliner::rename(Operand operand, const Names &names) const {
  if (operand.kind == Operand::Kind::Register)
    operand.reg += names.firstRegister;
  if (operand.kind == Operand::Kind::Name) {
    if (operand.variable >= 0)
      operand.variable += names.firstVariable;
    else if (auto it = names.parameters.find(operand.name);
             it != names.parameters.end())
      operand.variable = it->second;
  }
  for (Operand &element : operand.elements)
    element = rename(std::move(element), names);
  return operand;
}

void Inliner::push(Instruction instruction) {
  if (result.body.size() >= kMaxInstructions)
    throw PTXError(instruction.where, "expected calls that come to at most 1048576 "
                                      "instructions when inlined");
  result.body.push_back(std::move(instruction));
}

uint32_t Inliner::pushBranch(const Instruction &original, bool keepsGuard,
                             bool inverts) {
  Instruction branch;
  branch.where = original.where;
  branch.text = original.text;
  branch.opcode = "bra";
  Operand label;
  label.kind = Operand::Kind::Name;
  branch.operands.push_back(label);
  if (keepsGuard) {
    branch.guard = original.guard;
    branch.guardNegated = original.guardNegated != inverts;
  }
  push(std::move(branch));
  return uint32_t(result.body.size()) - 1;
}

void Inliner::addCall(const Instruction &call, const Function &callee,
                      const Names &names, unsigned depth) {
  if (depth >= kMaxDepth)
    throw PTXError(call.where, "expected calls at most 16 deep, and no recursion, got "
                               "a call of '" +
                                   std::string(callee.name.substr(0, 60)) + "'");
  if (++numCalls > kMaxCalls ||
      result.registers.size() + callee.registers.size() > kMaxRegisters ||
      result.variables.size() + callee.variables.size() > kMaxVariables)
    throw PTXError(call.where, "expected at most 65536 calls, 4194304 registers and "
                               "262144 variables when inlined");
  // Lists before and after the name: results and arguments.
  std::vector<Operand> results, arguments;
  bool isAfter = false;
  for (const Operand &operand : call.operands) {
    if (operand.kind == Operand::Kind::List)
      (isAfter ? arguments : results) = operand.elements;
    else
      isAfter = true;
  }
  if (results.size() != callee.results.size() ||
      arguments.size() != callee.parameters.size())
    throw PTXError(call.where,
                   "expected " + std::to_string(callee.results.size()) +
                       " results and " + std::to_string(callee.parameters.size()) +
                       " arguments of '" + std::string(callee.name.substr(0, 60)) +
                       "', got " + std::to_string(results.size()) + " and " +
                       std::to_string(arguments.size()));
  Names inner;
  inner.isInlined = true;
  auto bind = [&](const std::vector<Variable> &formal, std::vector<Operand> &actual) {
    for (size_t i = 0; i < formal.size(); ++i) {
      Operand renamed = rename(actual[i], names);
      if (renamed.kind != Operand::Kind::Name || renamed.variable < 0 ||
          result.variables[renamed.variable].space != Space::Param ||
          result.variables[renamed.variable].size < formal[i].size)
        throw PTXError(call.where, "expected a .param variable of at least " +
                                       std::to_string(formal[i].size) +
                                       " bytes as argument " + std::to_string(i + 1));
      inner.parameters[formal[i].name] = renamed.variable;
    }
  };
  bind(callee.results, results);
  bind(callee.parameters, arguments);
  std::optional<uint32_t> skip;
  Instruction renamed = call;
  if (call.guard) {
    renamed.guard = *call.guard + names.firstRegister;
    skip = pushBranch(renamed, true, true);
  }
  inner.firstRegister = RegisterId(result.registers.size());
  inner.firstVariable = int32_t(result.variables.size());
  addBody(callee, inner, depth + 1);
  if (skip)
    result.body[*skip].target = uint32_t(result.body.size());
}

void Inliner::addBody(const Function &function, const Names &names, unsigned depth) {
  result.registers.insert(result.registers.end(), function.registers.begin(),
                          function.registers.end());
  result.variables.insert(result.variables.end(), function.variables.begin(),
                          function.variables.end());
  std::vector<uint32_t> positions;      // of each instruction
  std::vector<std::pair<uint32_t, uint32_t>> branches; // and their old targets
  std::vector<uint32_t> returns;
  for (const Instruction &instruction : function.body) {
    positions.push_back(uint32_t(result.body.size()));
    if (const Function *callee = findCallee(instruction)) {
      addCall(instruction, *callee, names, depth);
      continue;
    }
    Instruction copy = instruction;
    if (copy.guard)
      *copy.guard += names.firstRegister;
    for (Operand &operand : copy.operands)
      operand = rename(std::move(operand), names);
    if (names.isInlined && copy.opcode == "ret") {
      returns.push_back(pushBranch(copy, copy.guard.has_value(), false));
      continue;
    }
    if (copy.opcode == "bra")
      branches.emplace_back(uint32_t(result.body.size()), copy.target);
    push(std::move(copy));
  }
  positions.push_back(uint32_t(result.body.size()));
  for (auto [branch, target] : branches)
    result.body[branch].target = positions[target];
  for (uint32_t branch : returns)
    result.body[branch].target = uint32_t(result.body.size());
}

void Inliner::add(const Function &function, unsigned depth) {
  addBody(function, Names(), depth);
}

Function kvc::emu::inlineCalls(const Syntax &syntax, const Function &function) {
  Function result;
  result.name = function.name;
  result.isEntry = function.isEntry;
  result.hasBody = function.hasBody;
  result.where = function.where;
  result.parameters = function.parameters;
  result.maxThreads = function.maxThreads;
  result.requiredBlock = function.requiredBlock;
  Inliner(syntax, result).add(function, 0);
  return result;
}
