//===- Parser.cpp - PTX text to syntax ------------------------------------===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Inline assembly leaves blocks with registers and labels of their own, many
// times the same names in one function: both are looked up block by block.
//===----------------------------------------------------------------------===//
#include "Lexer.h"

#include <algorithm>
#include <cstdlib>
#include <unordered_map>

using namespace kvc::emu;

/// Limits that no real module comes near; they bound memory on absurd input.
static constexpr uint64_t kMaxRegisters = 1 << 20;     ///< Of a function.
static constexpr uint64_t kMaxAllRegisters = 1 << 23;  ///< Of a module.
static constexpr uint64_t kMaxVariableBytes = uint64_t(1) << 32;
static constexpr size_t kMaxVariables = 1 << 16;       ///< Of a function or module.
static constexpr size_t kMaxValues = 1 << 22;          ///< Of initialisers.
static constexpr size_t kMaxFunctions = 1 << 12;
static constexpr size_t kMaxInstructions = 1 << 20;    ///< Of a module.
static constexpr size_t kMaxModifiers = 32;
static constexpr size_t kMaxElements = 512;            ///< Of an operand.
static constexpr unsigned kMaxDepth = 64;

namespace {

/// Names that a block declares.
struct Scope {
  /// `%r<n>`: a prefix with numbers from 0.
  struct Range {
    RegisterId first = 0;
    uint64_t count = 0;
  };
  struct Reference {
    uint32_t instruction;
    std::string_view label;
    Location where;
  };
  std::unordered_map<std::string_view, RegisterId> registers;
  std::unordered_map<std::string_view, Range> ranges;
  std::unordered_map<std::string_view, uint32_t> labels;
  std::unordered_map<std::string_view, int32_t> variables;
  std::vector<Reference> references;
};

class Parser {
public:
  explicit Parser(std::string_view text) : lexer(text) {}
  Syntax parseModule();

private:
  // Modules.
  void parseTopLevel();
  void skipSection();
  void skipFile();
  std::vector<Variable> parseVariables(Space space, bool isExtern);
  void parseInitialiser(Variable &variable);
  Initialiser parseInitialValue(Type type);
  void parseFunction(bool isEntry);
  Variable parseParameter();
  std::vector<Variable> parseParameters();
  void parseFunctionDirectives(Function &function);

  // Bodies.
  void parseBlock();
  void parseStatement();
  void checkNewName(Location where, std::string_view name, bool isRange) const;
  void parseRegisters();
  void parseLocation();
  void parsePragma();
  void parseInstruction();
  void closeScope();

  // Operands.
  Operand parseOperand(unsigned depth = 0);
  Operand parseList(Operand::Kind kind, char close, unsigned depth);
  Operand parseAddress(unsigned depth);
  Operand parseNamed(bool mayBePair = true);
  std::optional<RegisterId> findRegister(std::string_view name) const;
  int32_t findVariable(std::string_view name) const;

  // Pieces.
  uint64_t parseInteger();
  uint64_t parseSignedInteger();
  std::string_view parseName();
  /// Tokens up to the semicolon, which is left.
  void skipToSemicolon();

  Lexer lexer;
  Syntax syntax;
  Function *function = nullptr;
  std::vector<Scope> scopes;
  uint32_t usedBytesMask = 0;
  size_t numRegisters = 0, numValues = 0, numInstructions = 0;
};

} // namespace

//===----------------------------------------------------------------------===//
// Pieces
//===----------------------------------------------------------------------===//

uint64_t Parser::parseInteger() {
  if (lexer.peek().kind != Token::Kind::Integer)
    lexer.fail("an integer");
  return lexer.take().value;
}

uint64_t Parser::parseSignedInteger() {
  bool isNegative = false;
  while (lexer.peek().is('-') || lexer.peek().is('+'))
    isNegative ^= lexer.take().is('-');
  uint64_t value = parseInteger();
  return isNegative ? 0 - value : value;
}

std::string_view Parser::parseName() {
  if (lexer.peek().kind != Token::Kind::Identifier)
    lexer.fail("a name");
  return lexer.take().text;
}

void Parser::skipToSemicolon() {
  while (!lexer.peek().is(';')) {
    if (lexer.peek().kind == Token::Kind::End)
      lexer.fail("';'");
    lexer.take();
  }
}

//===----------------------------------------------------------------------===//
// Modules
//===----------------------------------------------------------------------===//

Syntax Parser::parseModule() {
  while (lexer.peek().kind != Token::Kind::End)
    parseTopLevel();
  if (syntax.version == 0)
    throw PTXError({1, 1}, "expected a .version directive, got none");
  return std::move(syntax);
}

void Parser::parseTopLevel() {
  bool isExtern = false;
  while (true) {
    Token token = lexer.peek();
    if (token.kind != Token::Kind::Dotted)
      lexer.fail("a directive");
    lexer.take();
    std::string_view name = token.text;
    if (name == "extern" || name == "visible" || name == "weak" ||
        name == "common") {
      isExtern |= name == "extern";
      continue;
    }
    if (name == "version") {
      uint64_t major = 0, minor = 0;
      // "8.6" is a number with a point; its text says more than its value.
      Token number = lexer.take();
      size_t point = number.text.find('.');
      if (number.kind == Token::Kind::Float64 && point != std::string_view::npos) {
        for (char c : number.text.substr(0, point))
          major = std::min<uint64_t>(major * 10 + (c - '0'), 1000);
        for (char c : number.text.substr(point + 1))
          minor = std::min<uint64_t>(minor * 10 + (c - '0'), 1000);
      } else {
        throw PTXError(number.where, "expected a version such as 8.6, got '" +
                                         std::string(number.text) + "'");
      }
      syntax.version = unsigned(major * 10 + minor);
    } else if (name == "target") {
      syntax.target = parseName();
      while (lexer.accept(','))
        parseName();
    } else if (name == "address_size") {
      if (uint64_t size = parseInteger(); size != 64)
        throw PTXError(token.where, "expected addresses of 64 bits, got " +
                                        std::to_string(size));
    } else if (name == "file") {
      skipFile();
    } else if (name == "section") {
      skipSection();
    } else if (name == "pragma") {
      skipToSemicolon();
      lexer.expect(';');
    } else if (name == "entry" || name == "func") {
      parseFunction(name == "entry");
    } else if (name == "global" || name == "const" || name == "shared") {
      Space space = name == "global"  ? Space::Global
                    : name == "const" ? Space::Const
                                      : Space::Shared;
      for (Variable &variable : parseVariables(space, isExtern)) {
        if (syntax.variables.size() >= kMaxVariables)
          throw PTXError(variable.where, "expected at most 65536 variables");
        syntax.variables.push_back(std::move(variable));
      }
    } else {
      throw PTXError(token.where, "expected a directive of a module, got '." +
                                      std::string(name.substr(0, 40)) + "'");
    }
    return;
  }
}

void Parser::skipFile() {
  parseInteger();
  if (lexer.peek().kind != Token::Kind::String)
    lexer.fail("the name of a file");
  lexer.take();
  while (lexer.accept(','))
    parseInteger();
}

void Parser::skipSection() {
  if (lexer.peek().kind == Token::Kind::Dotted)
    lexer.take();
  else
    parseName();
  lexer.expect('{');
  while (!lexer.accept('}')) {
    if (lexer.peek().kind == Token::Kind::End)
      lexer.fail("'}'");
    lexer.take();
  }
}

/// After the state space: `.align 16 .b8 name[4] = {...}, other;`.
std::vector<Variable> Parser::parseVariables(Space space, bool isExtern) {
  Variable common;
  common.space = space;
  common.isExtern = isExtern;
  uint64_t elements = 1, alignment = 0;
  while (lexer.peek().kind == Token::Kind::Dotted) {
    Token token = lexer.take();
    if (token.text == "align") {
      alignment = parseInteger();
      if (alignment == 0 || alignment > 4096 || (alignment & (alignment - 1)))
        throw PTXError(token.where, "expected an alignment that is a power of two "
                                    "up to 4096, got " +
                                        std::to_string(alignment));
    } else if (token.text == "v2" || token.text == "v4") {
      elements = token.text[1] - '0';
    } else if (token.text == "attribute") {
      lexer.expect('(');
      while (!lexer.accept(')')) {
        if (lexer.peek().kind == Token::Kind::End)
          lexer.fail("')'");
        lexer.take();
      }
    } else {
      common.type = parseType(token.text);
      if (common.type == Type::None || common.type == Type::Pred)
        throw PTXError(token.where, "expected the type of a variable, got '." +
                                        std::string(token.text.substr(0, 40)) + "'");
    }
  }
  uint64_t elementSize = getNumBits(common.type) / 8 * elements;
  if (elementSize == 0)
    lexer.fail("the type of a variable");
  common.alignment = uint32_t(alignment ? alignment : elementSize);

  std::vector<Variable> variables;
  do {
    Variable variable = common;
    variable.where = lexer.peek().where;
    variable.name = parseName();
    variable.size = elementSize;
    while (lexer.accept('[')) {
      if (lexer.accept(']')) {
        variable.size = 0;
        continue;
      }
      uint64_t count = parseInteger();
      if (__builtin_mul_overflow(variable.size, count, &variable.size) ||
          variable.size > kMaxVariableBytes)
        throw PTXError(variable.where, "expected a variable of at most 4 GiB");
      lexer.expect(']');
    }
    if (lexer.accept('='))
      parseInitialiser(variable);
    variables.push_back(std::move(variable));
  } while (lexer.accept(','));
  lexer.expect(';');
  return variables;
}

void Parser::parseInitialiser(Variable &variable) {
  unsigned depth = 0;
  do {
    while (lexer.accept('{'))
      ++depth;
    if (++numValues > kMaxValues)
      lexer.fail("at most 4194304 values of variables");
    if (!lexer.peek().is('}'))
      variable.values.push_back(parseInitialValue(variable.type));
    while (depth > 0 && lexer.accept('}'))
      --depth;
  } while (depth > 0 && lexer.accept(','));
  if (depth > 0)
    lexer.fail("'}'");
  uint64_t elementSize = getNumBits(variable.type) / 8;
  if (variable.size == 0)
    variable.size = variable.values.size() * elementSize;
  if (variable.values.size() * elementSize > variable.size)
    throw PTXError(variable.where,
                   "expected at most " + std::to_string(variable.size / elementSize) +
                       " values, got " + std::to_string(variable.values.size()));
}

Initialiser Parser::parseInitialValue(Type type) {
  Initialiser value;
  const Token &token = lexer.peek();
  if (token.kind == Token::Kind::Float32 || token.kind == Token::Kind::Float64) {
    Token number = lexer.take();
    value.value = number.value;
    if (number.kind == Token::Kind::Float64 && type == Type::F32) {
      double wide;
      __builtin_memcpy(&wide, &number.value, sizeof(wide));
      float narrow = float(wide);
      uint32_t bits;
      __builtin_memcpy(&bits, &narrow, sizeof(bits));
      value.value = bits;
    }
    return value;
  }
  if (token.kind == Token::Kind::Identifier) {
    value.symbol = parseName();
    if (value.symbol == "generic" && lexer.accept('(')) {
      value.isGeneric = true;
      value.symbol = parseName();
      lexer.expect(')');
    }
    if (lexer.peek().is('+') || lexer.peek().is('-'))
      value.value = parseSignedInteger();
    return value;
  }
  value.value = parseSignedInteger();
  return value;
}

/// `.param .align 8 .b8 name[16]`, `.param .u64 .ptr .global .align 16 name`.
Variable Parser::parseParameter() {
  if (!lexer.peek().isDotted("param") && !lexer.peek().isDotted("reg"))
    lexer.fail("'.param'");
  lexer.take();
  Variable parameter;
  parameter.space = Space::Param;
  uint64_t alignment = 0, elements = 1;
  while (lexer.peek().kind == Token::Kind::Dotted) {
    Token token = lexer.take();
    if (token.text == "align") {
      uint64_t value = parseInteger();
      alignment = alignment ? alignment : value;
    } else if (token.text == "ptr") {
      // Where it points: a space and an alignment, which is not the parameter's.
      alignment = alignment ? alignment : getNumBits(parameter.type) / 8;
      while (lexer.peek().kind == Token::Kind::Dotted)
        if (lexer.take().text == "align")
          parseInteger();
    } else if (token.text == "v2" || token.text == "v4") {
      elements = token.text[1] - '0';
    } else if ((parameter.type = parseType(token.text)) == Type::None) {
      throw PTXError(token.where, "expected the type of a parameter, got '." +
                                      std::string(token.text.substr(0, 40)) + "'");
    }
  }
  parameter.size = getNumBits(parameter.type) / 8 * elements;
  parameter.where = lexer.peek().where;
  parameter.name = parseName();
  if (parameter.size == 0 || (alignment & (alignment - 1)) || alignment > 4096)
    throw PTXError(parameter.where,
                   "expected a parameter of a type with a size, and an alignment "
                   "that is a power of two up to 4096");
  parameter.alignment = uint32_t(alignment ? alignment : parameter.size);
  if (lexer.accept('[')) {
    if (!lexer.peek().is(']'))
      parameter.size *= std::min<uint64_t>(parseInteger(), kMaxVariableBytes);
    lexer.expect(']');
  }
  return parameter;
}

std::vector<Variable> Parser::parseParameters() {
  std::vector<Variable> parameters;
  lexer.expect('(');
  if (lexer.accept(')'))
    return parameters;
  do {
    if (parameters.size() >= kMaxVariables)
      lexer.fail("at most 65536 parameters");
    parameters.push_back(parseParameter());
  } while (lexer.accept(','));
  lexer.expect(')');
  return parameters;
}

void Parser::parseFunctionDirectives(Function &result) {
  while (lexer.peek().kind == Token::Kind::Dotted) {
    Token token = lexer.take();
    if (token.text == "maxntid" || token.text == "reqntid") {
      uint64_t threads = 1;
      std::array<uint32_t, 3> block = {1, 1, 1};
      size_t axis = 0;
      do {
        if (axis == block.size())
          lexer.fail("at most three numbers of threads");
        uint64_t size = std::min<uint64_t>(parseInteger(), 1 << 20);
        block[axis++] = uint32_t(size);
        threads *= size; // at most 2^60
      } while (lexer.accept(','));
      result.maxThreads = uint32_t(std::min<uint64_t>(threads, 1 << 20));
      if (token.text == "reqntid")
        result.requiredBlock = block;
    } else if (token.text == "minnctapersm" || token.text == "maxnreg" ||
               token.text == "maxnctapersm" || token.text == "maxclusterrank") {
      parseInteger();
    } else if (token.text == "pragma") {
      skipToSemicolon();
      lexer.expect(';');
    } else if (token.text != "noreturn") {
      throw PTXError(token.where, "expected a directive that the emulator knows, "
                                  "got '." +
                                      std::string(token.text.substr(0, 40)) + "'");
    }
  }
}

void Parser::parseFunction(bool isEntry) {
  Function result;
  result.isEntry = isEntry;
  if (!isEntry && lexer.peek().is('('))
    result.results = parseParameters();
  if (syntax.functions.size() >= kMaxFunctions)
    lexer.fail("at most 4096 functions");
  result.where = lexer.peek().where;
  result.name = parseName();
  if (lexer.peek().is('('))
    result.parameters = parseParameters();
  parseFunctionDirectives(result);
  if (!lexer.accept(';')) {
    result.hasBody = true;
    function = &result;
    scopes.emplace_back();
    lexer.expect('{');
    parseBlock();
    function = nullptr;
  }
  syntax.functions.push_back(std::move(result));
}

//===----------------------------------------------------------------------===//
// Bodies
//===----------------------------------------------------------------------===//

/// After the opening brace, whose scope is open already.
void Parser::parseBlock() {
  size_t depth = scopes.size();
  while (true) {
    if (lexer.accept('}')) {
      closeScope();
      if (scopes.size() < depth)
        return;
    } else if (lexer.accept('{')) {
      if (scopes.size() >= kMaxDepth)
        lexer.fail("at most 64 nested blocks");
      scopes.emplace_back();
    } else {
      parseStatement();
    }
  }
}

void Parser::closeScope() {
  Scope scope = std::move(scopes.back());
  scopes.pop_back();
  for (const Scope::Reference &reference : scope.references) {
    auto it = scope.labels.find(reference.label);
    if (it != scope.labels.end())
      function->body[reference.instruction].target = it->second;
    else if (!scopes.empty())
      scopes.back().references.push_back(reference);
    else
      throw PTXError(reference.where,
                     "expected a label of this function, got '" +
                         std::string(reference.label.substr(0, 60)) + "'");
  }
}

void Parser::parseStatement() {
  Token token = lexer.peek();
  if (token.kind == Token::Kind::Dotted) {
    lexer.take();
    if (token.text == "reg")
      return parseRegisters();
    if (token.text == "loc")
      return parseLocation();
    if (token.text == "pragma")
      return parsePragma();
    if (token.text == "local" || token.text == "shared" ||
        token.text == "param" || token.text == "global" || token.text == "const") {
      Space space = token.text == "local"    ? Space::Local
                    : token.text == "shared" ? Space::Shared
                    : token.text == "param"  ? Space::Param
                    : token.text == "global" ? Space::Global
                                             : Space::Const;
      for (Variable &variable : parseVariables(space, false)) {
        if (function->variables.size() >= kMaxVariables)
          throw PTXError(variable.where, "expected at most 65536 variables");
        checkNewName(variable.where, variable.name, /*isRange=*/false);
        scopes.back().variables[variable.name] = int32_t(function->variables.size());
        function->variables.push_back(std::move(variable));
      }
      return;
    }
    throw PTXError(token.where, "expected a statement, got '." +
                                    std::string(token.text.substr(0, 40)) + "'");
  }
  if (lexer.accept(';'))
    return;
  parseInstruction();
}

/// A block declares a name once; an inner block may declare it anew. `%r` and
/// `%r<4>` are two names.
void Parser::checkNewName(Location where, std::string_view name, bool isRange) const {
  const Scope &scope = scopes.back();
  if (isRange ? scope.ranges.count(name)
              : scope.registers.count(name) || scope.variables.count(name))
    throw PTXError(where, "expected a new name, got '" + std::string(name.substr(0, 60)) +
                              "' again");
}

/// `.reg .b32 %r<5>, %other;`
void Parser::parseRegisters() {
  if (lexer.peek().kind != Token::Kind::Dotted)
    lexer.fail("the type of registers");
  Token typeToken = lexer.take();
  Type type = parseType(typeToken.text);
  if (type == Type::None)
    throw PTXError(typeToken.where, "expected the type of registers, got '." +
                                        std::string(typeToken.text.substr(0, 40)) +
                                        "'");
  do {
    Location where = lexer.peek().where;
    std::string_view name = parseName();
    uint64_t count = 1;
    bool isRange = lexer.accept('<');
    if (isRange) {
      count = parseInteger();
      lexer.expect('>');
    }
    if (count > kMaxRegisters || function->registers.size() + count > kMaxRegisters)
      throw PTXError(where, "expected at most 1048576 registers of a function");
    numRegisters += count;
    if (numRegisters > kMaxAllRegisters)
      throw PTXError(where, "expected at most 8388608 registers of a module");
    checkNewName(where, name, isRange);
    RegisterId first = RegisterId(function->registers.size());
    if (isRange)
      scopes.back().ranges[name] = {first, count};
    else
      scopes.back().registers[name] = first;
    for (uint64_t i = 0; i < count; ++i)
      function->registers.push_back({name, isRange ? int32_t(i) : -1, type});
  } while (lexer.accept(','));
  lexer.expect(';');
}

/// `.loc 1 23 4, function_name $L + 5, inlined_at 1 2 3`, without a semicolon.
void Parser::parseLocation() {
  for (int i = 0; i < 3; ++i)
    parseInteger();
  while (lexer.accept(',')) {
    std::string_view what = parseName();
    if (what == "function_name") {
      parseName();
      if (lexer.accept('+'))
        parseInteger();
    } else {
      for (int i = 0; i < 3; ++i)
        parseInteger();
    }
  }
}

void Parser::parsePragma() {
  static constexpr std::string_view kUsedBytes = "used_bytes_mask";
  do {
    if (lexer.peek().kind != Token::Kind::String)
      lexer.fail("a string");
    std::string_view text = lexer.take().text;
    if (text.substr(0, kUsedBytes.size()) == kUsedBytes)
      usedBytesMask = uint32_t(std::strtoull(
          std::string(text.substr(kUsedBytes.size())).c_str(), nullptr, 0));
  } while (lexer.accept(','));
  lexer.expect(';');
}

void Parser::parseInstruction() {
  Instruction instruction;
  if (lexer.accept('@')) {
    instruction.guardNegated = lexer.accept('!');
    Location where = lexer.peek().where;
    std::string_view name = parseName();
    instruction.guard = findRegister(name);
    if (!instruction.guard)
      throw PTXError(where, "expected a declared predicate, got '" +
                                std::string(name.substr(0, 60)) + "'");
  }
  Token opcode = lexer.peek();
  if (opcode.kind != Token::Kind::Identifier)
    lexer.fail("an instruction");
  lexer.take();
  if (!instruction.guard && lexer.accept(':')) {
    if (!scopes.back().labels.try_emplace(opcode.text, function->body.size()).second)
      throw PTXError(opcode.where, "expected a new label, got '" +
                                       std::string(opcode.text.substr(0, 60)) +
                                       "' again");
    return;
  }
  instruction.where = opcode.where;
  instruction.opcode = opcode.text;
  if (++numInstructions > kMaxInstructions)
    throw PTXError(opcode.where, "expected at most 1048576 instructions");
  while (lexer.peek().kind == Token::Kind::Dotted) {
    if (instruction.modifiers.size() >= kMaxModifiers)
      lexer.fail("at most 32 modifiers");
    instruction.modifiers.push_back(lexer.take().text);
  }
  if (!lexer.peek().is(';')) {
    do {
      if (instruction.operands.size() >= kMaxElements)
        lexer.fail("at most 512 operands");
      instruction.operands.push_back(parseOperand());
    } while (lexer.accept(','));
  }
  if (!lexer.peek().is(';'))
    lexer.fail("',' or ';'");
  instruction.text =
      std::string_view(opcode.text.data(), lexer.getEnd() - opcode.text.data());
  lexer.take();
  instruction.usedBytesMask = usedBytesMask;
  if (instruction.opcode == "ld")
    usedBytesMask = 0;
  if (instruction.opcode == "bra" && !instruction.operands.empty())
    scopes.back().references.push_back({uint32_t(function->body.size()),
                                        instruction.operands[0].name,
                                        instruction.operands[0].where});
  function->body.push_back(std::move(instruction));
}

//===----------------------------------------------------------------------===//
// Operands
//===----------------------------------------------------------------------===//

std::optional<RegisterId> Parser::findRegister(std::string_view name) const {
  size_t prefix = name.size();
  while (prefix > 0 && name[prefix - 1] >= '0' && name[prefix - 1] <= '9')
    --prefix;
  // Numbers have at most nine digits.
  if (name.size() > 9)
    prefix = std::max(prefix, name.size() - 9);
  for (auto scope = scopes.rbegin(); scope != scopes.rend(); ++scope) {
    if (auto it = scope->registers.find(name); it != scope->registers.end())
      return it->second;
    // A prefix may itself end with a digit: %f1_<2> does not, %a1<2> does.
    for (size_t length = prefix; length < name.size(); ++length) {
      if (name[length] == '0' && length + 1 < name.size())
        continue;
      auto it = scope->ranges.find(name.substr(0, length));
      if (it == scope->ranges.end())
        continue;
      uint64_t number = 0;
      for (char c : name.substr(length))
        number = number * 10 + (c - '0');
      if (number < it->second.count)
        return RegisterId(it->second.first + number);
    }
  }
  return std::nullopt;
}

int32_t Parser::findVariable(std::string_view name) const {
  for (auto scope = scopes.rbegin(); scope != scopes.rend(); ++scope)
    if (auto it = scope->variables.find(name); it != scope->variables.end())
      return it->second;
  return -1;
}

Operand Parser::parseList(Operand::Kind kind, char close, unsigned depth) {
  Operand list;
  list.kind = kind;
  list.where = lexer.peek().where;
  lexer.take();
  if (!lexer.peek().is(close)) {
    do {
      if (list.elements.size() >= kMaxElements)
        lexer.fail("at most 512 elements");
      list.elements.push_back(parseOperand(depth + 1));
    } while (lexer.accept(','));
  }
  lexer.expect(close);
  return list;
}

Operand Parser::parseAddress(unsigned depth) {
  Operand address;
  address.kind = Operand::Kind::Address;
  address.where = lexer.peek().where;
  lexer.take();
  do {
    if (address.elements.size() >= kMaxElements)
      lexer.fail("at most 512 elements");
    address.elements.push_back(parseOperand(depth + 1));
  } while (lexer.accept(','));
  lexer.expect(']');
  // [register + offset]: a symbol takes its offset itself.
  return address;
}

/// A register, symbol, label or special register, with an offset or a second
/// register of a pair.
Operand Parser::parseNamed(bool mayBePair) {
  Operand operand;
  operand.where = lexer.peek().where;
  Token token = lexer.take();
  operand.name = token.text;
  if (std::optional<RegisterId> reg = findRegister(token.text)) {
    operand.kind = Operand::Kind::Register;
    operand.reg = *reg;
  } else if (token.text == "_") {
    operand.kind = Operand::Kind::Sink;
  } else {
    operand.kind = Operand::Kind::Name;
    operand.variable = findVariable(token.text);
    // %tid.x: one name with its dot.
    if (token.text[0] == '%' && lexer.peek().kind == Token::Kind::Dotted &&
        lexer.peek().text.data() == token.text.data() + token.text.size() + 1) {
      Token component = lexer.take();
      operand.name = std::string_view(
          token.begin(), component.text.data() + component.text.size() - token.begin());
    }
  }
  if (mayBePair && lexer.accept('|')) {
    Operand pair;
    pair.kind = Operand::Kind::Pair;
    pair.where = operand.where;
    pair.elements.push_back(std::move(operand));
    if (lexer.peek().kind != Token::Kind::Identifier)
      lexer.fail("a register");
    pair.elements.push_back(parseNamed(false));
    return pair;
  }
  if (lexer.peek().is('+') || lexer.peek().is('-'))
    operand.value = parseSignedInteger();
  return operand;
}

Operand Parser::parseOperand(unsigned depth) {
  if (depth > 4)
    lexer.fail("an operand of fewer levels");
  const Token &token = lexer.peek();
  Operand operand;
  operand.where = token.where;
  if (token.is('{'))
    return parseList(Operand::Kind::Vector, '}', depth);
  if (token.is('('))
    return parseList(Operand::Kind::List, ')', depth);
  if (token.is('['))
    return parseAddress(depth);
  if (token.is('!')) {
    lexer.take();
    if (lexer.peek().kind != Token::Kind::Identifier)
      lexer.fail("a predicate");
    operand = parseNamed();
    operand.negated = true;
    return operand;
  }
  switch (token.kind) {
  case Token::Kind::Identifier:
    return parseNamed();
  case Token::Kind::Float32:
  case Token::Kind::Float64:
    operand.kind = token.kind == Token::Kind::Float32 ? Operand::Kind::Float32
                                                      : Operand::Kind::Float64;
    operand.value = lexer.take().value;
    return operand;
  default:
    if (token.kind != Token::Kind::Integer && !token.is('-') && !token.is('+'))
      lexer.fail("an operand");
    operand.kind = Operand::Kind::Integer;
    operand.value = parseSignedInteger();
    return operand;
  }
}

Syntax kvc::emu::parse(std::string_view text) { return Parser(text).parseModule(); }
