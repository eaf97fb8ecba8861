//===- Module.cpp - loading modules ---------------------------------------===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Decoder.h"

#include <algorithm>
#include <cstring>
#include <new>
#include <unordered_set>

using namespace kvc::emu;

/// Text of kernels that can be loaded; real ones are a tenth of it.
static constexpr size_t kMaxText = size_t(64) << 20;
/// Variables of a module in global and constant memory.
static constexpr uint64_t kMaxVariableBytes = uint64_t(1) << 30;

Module::~Module() {
  for (const Symbol &symbol : symbols)
    memory.free(symbol.address);
}

const Kernel *Module::findKernel(std::string_view name) const {
  for (const Kernel &kernel : kernels)
    if (kernel.name == name)
      return &kernel;
  return nullptr;
}

const Symbol *Module::findSymbol(std::string_view name) const {
  for (const Symbol &symbol : symbols)
    if (symbol.name == name)
      return &symbol;
  return nullptr;
}

static void collectNames(const std::vector<Operand> &operands,
                         std::unordered_set<std::string_view> &names) {
  for (const Operand &operand : operands) {
    if (operand.kind == Operand::Kind::Name)
      names.insert(operand.name);
    collectNames(operand.elements, names);
  }
}

/// Writes the values of a variable; the rest is zero.
static void initialise(const Variable &variable, uint64_t address,
                       const SymbolTable &symbols, Memory &memory) {
  uint8_t *bytes = Memory::getBytes(address);
  std::memset(bytes, 0, variable.size);
  uint64_t elementSize = getNumBits(variable.type) / 8;
  for (size_t i = 0; i < variable.values.size(); ++i) {
    const Initialiser &initialiser = variable.values[i];
    uint64_t value = initialiser.value;
    if (!initialiser.symbol.empty()) {
      auto it = symbols.find(initialiser.symbol);
      if (it == symbols.end() || elementSize != 8)
        throw PTXError(variable.where, "expected the address of a variable of the "
                                       "module in a 64-bit variable, got '" +
                                           std::string(initialiser.symbol.substr(0, 60)) +
                                           "'");
      value += it->second.address;
    }
    std::memcpy(bytes + i * elementSize, &value, elementSize);
  }
  memory.markWritten(address, variable.size);
}

/// Whether the processor has what the handlers are compiled for.
static bool isProcessorSupported() {
#if defined(__x86_64__)
  return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
         __builtin_cpu_supports("bmi2");
#else
  return true;
#endif
}

std::unique_ptr<Module> Module::load(std::string_view text, Memory &memory,
                                     std::string &log) {
  if (!isProcessorSupported()) {
    log = "1:1: error: the emulator needs a processor with AVX2, BMI2 and FMA";
    return nullptr;
  }
  auto module = std::unique_ptr<Module>(new Module(memory));
  // The driver's callers end the text with a NUL.
  text = text.substr(0, text.find('\0'));
  try {
    if (text.size() > kMaxText)
      throw PTXError({1, 1}, "expected at most 64 MiB of text");
    Syntax syntax = parse(text);
    SymbolTable symbols;
    std::vector<const Variable *> variables;
    uint64_t variableBytes = 0;
    for (const Variable &variable : syntax.variables) {
      if (variable.space == Space::Shared)
        continue;
      if (variable.isExtern || variable.size == 0)
        throw PTXError(variable.where,
                       "expected a variable that the module defines, got '" +
                           std::string(variable.name.substr(0, 60)) + "'");
      variableBytes += variable.size;
      if (variableBytes > kMaxVariableBytes)
        throw PTXError(variable.where, "expected at most 1 GiB of variables");
      uint64_t address = memory.allocate(variable.size);
      if (!address)
        throw PTXError(variable.where, "no memory for a variable of " +
                                           std::to_string(variable.size) + " bytes");
      module->symbols.push_back({std::string(variable.name), address, variable.size});
      if (!symbols
               .try_emplace(variable.name,
                            SymbolValue{variable.space, address, variable.size})
               .second)
        throw PTXError(variable.where, "expected a new name, got '" +
                                           std::string(variable.name.substr(0, 60)) +
                                           "' again");
      variables.push_back(&variable);
    }
    for (size_t i = 0; i < variables.size(); ++i)
      initialise(*variables[i], module->symbols[i].address, symbols, memory);

    for (const Function &function : syntax.functions) {
      if (!function.isEntry || !function.hasBody)
        continue;
      Function inlined = inlineCalls(syntax, function);
      std::unordered_set<std::string_view> names;
      for (const Instruction &instruction : inlined.body)
        collectNames(instruction.operands, names);
      std::vector<const Variable *> shared;
      for (const Variable &variable : syntax.variables)
        if (variable.space == Space::Shared && names.count(variable.name))
          shared.push_back(&variable);
      if (module->findKernel(function.name))
        throw PTXError(function.where, "expected a new name, got '" +
                                           std::string(function.name.substr(0, 60)) +
                                           "' again");
      Kernel kernel;
      Decoder(inlined, symbols, shared, kernel).decode();
      module->kernels.push_back(std::move(kernel));
    }
  } catch (const PTXError &error) {
    log = std::to_string(error.where.line) + ":" + std::to_string(error.where.column) +
          ": error: " + error.what();
    return nullptr;
  } catch (const std::bad_alloc &) {
    log = "1:1: error: no memory to decode this module";
    return nullptr;
  }
  return module;
}
