//===- Mutator.cpp - texts that are nearly PTX ------------------------------===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Mutator.h"

#include <algorithm>
#include <cctype>

using namespace kvcfuzz;

static constexpr size_t kMaxText = 1 << 20;

/// Numbers at which something often changes.
static constexpr const char *kNumbers[] = {
    "0", "1", "-1", "2", "3", "7", "8", "15", "16", "17", "31", "32", "33", "63", "64",
    "127", "128", "255", "256", "1023", "1024", "4095", "4096", "65535", "65536",
    "1048575", "1048576", "16777216", "2147483647", "2147483648", "-2147483648",
    "4294967295", "4294967296", "9223372036854775807", "-9223372036854775808",
    "18446744073709551615", "0x7FC0DEAD", "0f7FC00000", "0f7F800000", "0fFF800000",
    "0f00000001", "0f80000000", "0f3F800000", "0f7F7FFFFF", "0f4F000000",
    "0d7FF0000000000000", "0d7FF8000000000000", "0d0000000000000001",
    "0d41E0000000000000", "0xE100000000000400", "0xE200000000000000", "1.5", "1e400"};

//===----------------------------------------------------------------------===//
// Seeds
//===----------------------------------------------------------------------===//

std::vector<Mutator::Token> Mutator::split(std::string_view text) {
  auto isSpace = [](char c) { return std::isspace(static_cast<unsigned char>(c)); };
  auto isWord = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '$' ||
           c == '%';
  };
  std::vector<Token> tokens;
  for (size_t i = 0; i < text.size();) {
    size_t end = i + 1;
    Kind kind = Sign;
    if (isSpace(text[i])) {
      kind = Space;
      while (end < text.size() && isSpace(text[end]))
        ++end;
    } else if (isWord(text[i]) || (text[i] == '.' && end < text.size() && isWord(text[end]))) {
      kind = text[i] == '.'                                            ? Modifier
             : std::isdigit(static_cast<unsigned char>(text[i])) ? Number
                                                                       : Name;
      while (end < text.size() &&
             (isWord(text[end]) || (kind == Modifier && text[end] == ':')))
        ++end;
    }
    tokens.push_back({kind, std::string(text.substr(i, end - i))});
    i = end;
  }
  return tokens;
}

void Mutator::add(std::string text) {
  // Comments are nothing to change.
  for (size_t at; (at = text.find("//")) != std::string::npos;)
    text.erase(at, text.find('\n', at) - at);
  for (Token &token : split(text))
    words[token.kind].push_back(std::move(token.text));
  std::string statement;
  for (char c : text) {
    statement += c;
    if (c != ';' && c != '\n')
      continue;
    if (c == ';')
      statements.push_back(statement);
    statement.clear();
  }
  seeds.push_back(std::move(text));
}

//===----------------------------------------------------------------------===//
// Changes
//===----------------------------------------------------------------------===//

void Mutator::mutateToken(std::vector<Token> &tokens, Random &random) const {
  size_t at = random.below(tokens.size());
  for (int i = 0; i < 8 && tokens[at].kind == Space; ++i)
    at = random.below(tokens.size());
  Token &token = tokens[at];
  switch (random.below(10)) {
  case 0: tokens.erase(tokens.begin() + at); break;
  case 1: tokens.insert(tokens.begin() + at, Token(token)); break;
  case 2: std::swap(token, tokens[random.below(tokens.size())]); break;
  case 3: case 4: { // by one of its kind in this text
    for (int i = 0; i < 32; ++i) {
      const Token &other = random.pick(tokens);
      if (other.kind == token.kind && other.text != token.text) {
        std::string copy = other.text;
        token.text = std::move(copy);
        break;
      }
    }
    break;
  }
  case 5: case 6: // by one of its kind in any
    if (!words[token.kind].empty())
      token.text = random.pick(words[token.kind]);
    break;
  case 7: // another modifier behind an opcode
    if (!words[Modifier].empty())
      tokens.insert(tokens.begin() + at, {Modifier, random.pick(words[Modifier])});
    break;
  default:
    for (int i = 0; i < 32 && tokens[at].kind != Number; ++i)
      at = random.below(tokens.size());
    tokens[at].text = random.pick(kNumbers);
  }
}

void Mutator::mutateStatement(std::vector<Token> &tokens, Random &random) const {
  // Starts and ends behind a semicolon or brace.
  std::vector<size_t> starts;
  for (size_t i = 0; i < tokens.size(); ++i)
    if (tokens[i].text == ";" || tokens[i].text == "{" || tokens[i].text == "}")
      starts.push_back(i + 1);
  if (starts.size() < 2)
    return;
  size_t which = random.below(starts.size() - 1);
  auto begin = tokens.begin() + starts[which], end = tokens.begin() + starts[which + 1];
  std::vector<Token> statement(begin, end);
  size_t to = random.pick(starts);
  switch (random.below(6)) {
  case 0: tokens.erase(begin, end); break;
  case 1: // again, elsewhere
    tokens.insert(tokens.begin() + to, statement.begin(), statement.end());
    break;
  case 2: { // many times
    size_t times = random.oneIn(8) ? 1000 : 1 + random.below(20);
    std::vector<Token> many;
    for (size_t i = 0; i < times; ++i)
      many.insert(many.end(), statement.begin(), statement.end());
    tokens.insert(tokens.begin() + starts[which], many.begin(), many.end());
    break;
  }
  case 3: // elsewhere
    if (to <= starts[which]) {
      tokens.erase(begin, end);
      tokens.insert(tokens.begin() + to, statement.begin(), statement.end());
    }
    break;
  default: { // one of another text
    if (statements.empty())
      break;
    std::vector<Token> other = split(random.pick(statements));
    tokens.insert(tokens.begin() + to, other.begin(), other.end());
  }
  }
}

void Mutator::mutateBytes(std::string &text, Random &random) {
  if (text.empty())
    return;
  size_t at = random.below(text.size());
  switch (random.below(6)) {
  case 0: text[at] = char(random.next()); break;
  case 1: text[at] ^= char(1 << random.below(8)); break;
  case 2: text.insert(at, 1, char(random.next())); break;
  case 3: text.erase(at, 1 + random.below(16)); break;
  case 4: text.resize(at); break;
  default: {
    std::string part = text.substr(at, 1 + random.below(64));
    text.insert(random.below(text.size()), part);
  }
  }
}

std::string Mutator::mutate(std::string_view seed, Random &random) const {
  std::string text(seed);
  if (!seeds.empty() && random.oneIn(12)) { // the head of one, the tail of another
    const std::string &other = random.pick(seeds);
    size_t from = other.find(';', random.below(other.size() + 1));
    size_t to = text.find(';', random.below(text.size() + 1));
    if (from != std::string::npos && to != std::string::npos)
      text = text.substr(0, to) + other.substr(from);
  }
  std::vector<Token> tokens = split(text);
  size_t changes = 1 + random.below(random.oneIn(4) ? 12 : 3);
  for (size_t i = 0; i < changes && !tokens.empty() && tokens.size() < kMaxText / 4; ++i) {
    if (random.oneIn(3))
      mutateStatement(tokens, random);
    else
      mutateToken(tokens, random);
  }
  text.clear();
  for (const Token &token : tokens)
    text += token.text;
  if (random.oneIn(10))
    mutateBytes(text, random);
  if (text.size() > kMaxText)
    text.resize(kMaxText);
  return text;
}

std::string Mutator::make(Random &random) const {
  if (seeds.empty() || random.oneIn(300))
    return makeLarge(random);
  return mutate(random.pick(seeds), random);
}

//===----------------------------------------------------------------------===//
// Large texts
//===----------------------------------------------------------------------===//

static std::string repeat(std::string_view text, size_t count) {
  std::string result;
  result.reserve(text.size() * count);
  for (size_t i = 0; i < count; ++i)
    result += text;
  return result;
}

/// `text` with '#' replaced by each number below `count`.
static std::string number(std::string_view text, size_t count) {
  std::string result;
  for (size_t i = 0; i < count; ++i)
    for (char c : text)
      result += c == '#' ? std::to_string(i) : std::string(1, c);
  return result;
}

std::string kvcfuzz::makeLarge(Random &random) {
  // A size between 2 and the largest, each power of two as likely.
  auto size = [&](unsigned most) {
    size_t power = size_t(1) << (1 + random.below(most));
    return power + random.below(power);
  };
  std::string before, body, parameters;
  auto num = [](uint64_t n) { return std::to_string(n); };
  switch (random.below(24)) {
  case 0: body = ".reg .b32 %x<" + num(size(40)) + ">;"; break;
  case 1: body = ".shared .align 16 .b8 x[" + num(size(40)) + "]; mov.u32 %r0, x;"; break;
  case 2: body = ".local .b8 x[" + num(size(40)) + "]; st.local.u8 [x], 1;"; break;
  case 3: before = ".global .b8 x[" + num(size(40)) + "];"; break;
  case 4: before = ".global .b8 x[] = {" + repeat("1, ", size(15)) + "1};"; break;
  case 5: parameters = ".param .b8 x[" + num(size(40)) + "]"; break;
  case 6: {
    size_t depth = size(15);
    body = repeat("{", depth) + repeat("}", depth - random.below(2));
    break;
  }
  case 7: { // calls of calls
    size_t depth = 1 + random.below(20), width = 1 + random.below(12);
    before = ".func f0() { .reg .b32 %x<" + num(size(16)) + ">; .local .b8 y[64];" +
             (random.oneIn(2) ? "ret; " : "") + "}";
    for (size_t i = 1; i < depth; ++i)
      before += ".func f" + num(i) + "() {" +
                repeat("call f" + num(i - 1) + ";", width) + "}\n";
    body = "call f" + num(depth - 1) + ";";
    break;
  }
  case 8:
    before = ".func f() { call g; } .func g() { call f; }";
    body = "call f;";
    break;
  case 9: body = "mov.u32 " + repeat("%r0|", size(17)) + "%r0, 1;"; break;
  case 10: body = "mov.b64 %d0, {" + repeat("%r0, ", size(17)) + "%r1};"; break;
  case 11: body = "mov" + repeat(".u32", size(17)) + " %r0, 1;"; break;
  case 12: body = "mov.u32 %r" + repeat("1", size(18)) + ", 1;"; break;
  case 13: body = number("mov.u32 %r1, #;\n", size(15)); break;
  case 14: { // many registers that are alive in many blocks
    size_t count = size(13);
    body = ".reg .b32 %x<" + num(count) + ">;" +
           number("L#: mov.u32 %x#, 1; @%p0 bra L#;\n", count) +
           number("add.u32 %r0, %r0, %x#;\n", count);
    break;
  }
  case 15: body = number("L#: bra L#;\n", size(15)); break;
  case 16: before = number(".func f#() { ret; }\n", size(14)); break;
  case 17: before = number(".visible .entry k#() { ret; }\n", size(13)); break;
  case 18: before = number(".global .b32 g#;\n", size(13)); break;
  case 19: parameters = number(".param .b32 a#,", size(13)) + " .param .b32 last"; break;
  case 20: body = number(".reg .pred %q#; setp.eq.u32 %q#, %r0, 0;\n", size(14)); break;
  case 21: body = number("mov.u32 %r#, %tid.x;", 4) + "ld.global.u32 %r0, " +
                  repeat("[", size(17)) + "%d0];"; break;
  case 22: before = "/*" + repeat("*", size(18)) + (random.oneIn(2) ? "/" : "*/"); break;
  default:
    body = number(".local .b8 y#[16]; .shared .b8 z#[16]; st.local.u8 [y#], 1;\n", size(13));
  }
  return ".version 8.6\n.target sm_90a\n.address_size 64\n" + before +
         "\n.visible .entry large(" + parameters + ") {\n" +
         ".reg .b32 %r<4>; .reg .b64 %d<4>; .reg .pred %p<2>;\n" + body + "\nret;\n}\n";
}
