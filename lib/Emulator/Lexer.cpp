//===- Lexer.cpp - tokens of PTX ------------------------------------------===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Lexer.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>

using namespace kvc::emu;

static bool isDigit(char c) { return c >= '0' && c <= '9'; }
static bool isLetter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}
/// Characters of names, but for the dot.
static bool isNameChar(char c) {
  return isDigit(c) || isLetter(c) || c == '_' || c == '$' || c == '%';
}
static int getDigit(char c) {
  if (isDigit(c))
    return c - '0';
  if (c >= 'a' && c <= 'f')
    return c - 'a' + 10;
  if (c >= 'A' && c <= 'F')
    return c - 'A' + 10;
  return 16;
}

/// A message may quote what was found: long names are cut.
static std::string quote(const Token &token) {
  if (token.kind == Token::Kind::End)
    return "the end of the text";
  std::string text;
  for (char c : token.text.substr(0, 60))
    text += c >= 32 && c < 127 ? c : '?';
  if (token.text.size() > 60)
    text += "...";
  return (token.kind == Token::Kind::Dotted ? "'." : "'") + text + "'";
}

void Lexer::fail(const std::string &expected) const {
  throw PTXError(current.where,
                 "expected " + expected + ", got " + quote(current));
}

void Lexer::expect(char punctuation) {
  if (!accept(punctuation))
    fail(std::string("'") + punctuation + "'");
}

void Lexer::advance(size_t count) {
  for (char c : rest.substr(0, count)) {
    if (c == '\n') {
      ++where.line;
      where.column = 1;
    } else {
      ++where.column;
    }
  }
  rest.remove_prefix(count);
}

void Lexer::skipSpace() {
  while (!rest.empty()) {
    size_t count = 0;
    if (rest[0] == ' ' || (rest[0] >= '\t' && rest[0] <= '\r')) {
      count = 1;
    } else if (rest.substr(0, 2) == "//") {
      count = std::min(rest.find('\n'), rest.size());
    } else if (rest.substr(0, 2) == "/*") {
      size_t close = rest.find("*/", 2);
      if (close == std::string_view::npos)
        throw PTXError(where, "expected the end of this comment, got the end of "
                              "the text");
      count = close + 2;
    } else {
      return;
    }
    advance(count);
  }
}

Token Lexer::lexNumber() {
  Token token;
  token.where = where;
  token.kind = Token::Kind::Integer;
  size_t length = 0;
  unsigned base = 10;
  char second = rest.size() > 1 ? rest[1] : '\0';
  if (rest[0] == '0' && (second == 'f' || second == 'F' || second == 'd' ||
                         second == 'D')) {
    bool isFloat32 = second == 'f' || second == 'F';
    token.kind = isFloat32 ? Token::Kind::Float32 : Token::Kind::Float64;
    unsigned digits = isFloat32 ? 8 : 16;
    for (length = 2; length < rest.size() && getDigit(rest[length]) < 16;
         ++length)
      token.value = token.value * 16 + getDigit(rest[length]);
    if (length != 2 + digits)
      throw PTXError(where, "expected " + std::to_string(digits) +
                                " hexadecimal digits of a number, got " +
                                std::to_string(length - 2));
  } else {
    if (rest[0] == '0' && (second == 'x' || second == 'X'))
      base = 16, length = 2;
    else if (rest[0] == '0' && (second == 'b' || second == 'B'))
      base = 2, length = 2;
    else if (rest[0] == '0')
      base = 8;
    bool overflows = false, hasDigit = base == 8;
    for (; length < rest.size() && getDigit(rest[length]) < int(base); ++length) {
      hasDigit = true;
      overflows |= __builtin_mul_overflow(token.value, base, &token.value);
      overflows |= __builtin_add_overflow(
          token.value, uint64_t(getDigit(rest[length])), &token.value);
    }
    if (!hasDigit || overflows)
      throw PTXError(where, "expected an integer of at most 64 bits");
    if (length < rest.size() && (rest[length] == 'U' || rest[length] == 'u'))
      ++length;
    // Decimal fractions, such as 1.5, only occur in hand-written text.
    if (length < rest.size() && (rest[length] == '.' || rest[length] == 'e')) {
      size_t end = length;
      while (end < rest.size() &&
             (isDigit(rest[end]) || rest[end] == '.' || rest[end] == 'e' ||
              ((rest[end] == '-' || rest[end] == '+') && rest[end - 1] == 'e')))
        ++end;
      double value = std::strtod(std::string(rest.substr(0, end)).c_str(), nullptr);
      std::memcpy(&token.value, &value, sizeof(value));
      token.kind = Token::Kind::Float64;
      length = end;
    }
  }
  if (length < rest.size() && isNameChar(rest[length]))
    throw PTXError(where, "expected a number, got '" +
                              std::string(rest.substr(0, std::min<size_t>(
                                                             length + 1, 60))) +
                              "'");
  token.text = rest.substr(0, length);
  return token;
}

void Lexer::next() {
  end = current.text.data() + current.text.size();
  if (current.kind == Token::Kind::String)
    ++end;
  skipSpace();
  current = Token();
  current.where = where;
  current.text = rest.substr(0, 0);
  if (rest.empty())
    return;
  size_t length = 1;
  char first = rest[0];
  if (isDigit(first)) {
    current = lexNumber();
    length = current.text.size();
  } else if (first == '"') {
    size_t close = rest.find('"', 1);
    if (close == std::string_view::npos)
      throw PTXError(where, "expected '\"' at the end of a string, got the end "
                            "of the text");
    current.kind = Token::Kind::String;
    current.text = rest.substr(1, close - 1);
    length = close + 1;
  } else if (isNameChar(first)) {
    while (length < rest.size() && isNameChar(rest[length]))
      ++length;
    current.kind = Token::Kind::Identifier;
    current.text = rest.substr(0, length);
  } else if (first == '.' && rest.size() > 1 && isNameChar(rest[1])) {
    while (length < rest.size() &&
           (isNameChar(rest[length]) ||
            (rest.substr(length, 2) == "::" && length + 2 < rest.size() &&
             isNameChar(rest[length + 2])))) {
      length += rest[length] == ':' ? 2 : 1;
    }
    current.kind = Token::Kind::Dotted;
    current.text = rest.substr(1, length - 1);
  } else {
    static constexpr std::string_view kPunctuation = "{}[]()<>,;:@!+-*/|=~&^?.";
    if (kPunctuation.find(first) == std::string_view::npos) {
      char text[16];
      std::snprintf(text, sizeof(text), "0x%02x", (unsigned char)first);
      throw PTXError(where, std::string("expected PTX, got the character ") + text);
    }
    current.kind = Token::Kind::Punctuation;
    current.text = rest.substr(0, 1);
  }
  advance(length);
}
