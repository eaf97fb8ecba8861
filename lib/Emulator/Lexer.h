//===- Lexer.h - tokens of PTX ----------------------------------*- C++ -*-===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef KVC_LIB_EMULATOR_LEXER_H
#define KVC_LIB_EMULATOR_LEXER_H

#include "Syntax.h"

namespace kvc::emu {

struct Token {
  enum class Kind : uint8_t {
    End,
    Identifier, ///< Also %names; dots end it.
    Dotted,     ///< .name, or .name::name, without the dot.
    Integer,
    Float32,
    Float64,
    String, ///< Without quotes.
    Punctuation
  };
  Kind kind = Kind::End;
  std::string_view text;
  uint64_t value = 0; ///< Of numbers: bits.
  Location where;

  bool is(char punctuation) const {
    return kind == Kind::Punctuation && text[0] == punctuation;
  }
  bool isDotted(std::string_view name) const {
    return kind == Kind::Dotted && text == name;
  }
  const char *begin() const { return text.data(); }
};

/// Splits text into tokens, one ahead. Throws PTXError.
class Lexer {
public:
  explicit Lexer(std::string_view text) : rest(text) { next(); }

  const Token &peek() const { return current; }
  /// Returns the current token and goes on to the next.
  Token take() {
    Token token = current;
    next();
    return token;
  }
  /// Takes the punctuation if it comes now.
  bool accept(char punctuation) {
    if (!current.is(punctuation))
      return false;
    next();
    return true;
  }
  void expect(char punctuation);
  [[noreturn]] void fail(const std::string &expected) const;
  /// One past the last character of the token before the current one.
  const char *getEnd() const { return end; }

private:
  void next();
  void skipSpace();
  Token lexNumber();

  std::string_view rest;
  Location where = {1, 1};
  Token current;
  const char *end = nullptr;

  void advance(size_t count);
};

} // namespace kvc::emu

#endif // KVC_LIB_EMULATOR_LEXER_H
