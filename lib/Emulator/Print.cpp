//===- Print.cpp - printf of kernels --------------------------------------===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// call (result), vprintf, (format, arguments): the one function that a device
// offers to every module.
//===----------------------------------------------------------------------===//
#include "Access.h"
#include "Decoder.h"
#include "Lanes.h"

#include <cstdio>

using namespace kvc::emu;

namespace {

/// Longest text of one call.
constexpr size_t kMaxText = 4096;

/// Reads bytes at a generic address; false (and a report) if there are none.
bool readBytes(Warp &warp, int lane, uint64_t address, uint32_t size, void *to) {
  Access access;
  access.mask = 1u << lane;
  access.size = size;
  access.addresses[lane] = address;
  uint8_t *pointers[32];
  if (!resolve(warp, Space::Generic, access, pointers))
    return false;
  std::memcpy(to, pointers[lane], size);
  return true;
}

bool readString(Warp &warp, int lane, uint64_t address, std::string &text) {
  for (char c; text.size() < kMaxText; text += c) {
    if (!readBytes(warp, lane, address++, 1, &c))
      return false;
    if (c == '\0')
      return true;
  }
  return true;
}

/// Whether a width or precision has more than two digits.
bool hasLongNumber(const std::string &pattern, size_t begin, size_t end) {
  unsigned digits = 0;
  for (size_t i = begin; i < end && digits < 3; ++i)
    digits = pattern[i] >= '0' && pattern[i] <= '9' ? digits + 1 : 0;
  return digits >= 3;
}

/// Formats one conversion, such as "%5.2f", whose argument is at `argument`.
bool formatOne(Warp &warp, int lane, std::string spec, uint64_t &argument,
               std::string &text) {
  char kind = spec.back(), buffer[512];
  bool isLong = spec.find('l') != std::string::npos;
  spec.pop_back();
  while (!spec.empty() && (spec.back() == 'l' || spec.back() == 'h'))
    spec.pop_back();
  bool isFloat = std::strchr("fFeEgGaA", kind);
  bool isString = kind == 's', isWide = isFloat || isString || isLong || kind == 'p';
  if (!isWide && !std::strchr("diouxXc", kind))
    return false;
  uint32_t size = isWide ? 8 : 4;
  argument = (argument + size - 1) & ~uint64_t(size - 1);
  uint64_t value = 0;
  if (!readBytes(warp, lane, argument, size, &value))
    return false;
  argument += size;
  if (isString) {
    std::string inner;
    if (!readString(warp, lane, value, inner))
      return false;
    std::snprintf(buffer, sizeof(buffer), (spec + "s").c_str(), inner.c_str());
  } else if (isFloat) {
    std::snprintf(buffer, sizeof(buffer), (spec + kind).c_str(),
                  bitCast<double>(value));
  } else if (kind == 'c') {
    std::snprintf(buffer, sizeof(buffer), (spec + kind).c_str(), int(value));
  } else if (kind == 'p') {
    std::snprintf(buffer, sizeof(buffer), "0x%llx", (unsigned long long)value);
  } else {
    long long number = isLong                       ? (long long)value
                       : kind == 'd' || kind == 'i' ? (long long)(int32_t(value))
                                                    : (long long)(uint32_t(value));
    std::snprintf(buffer, sizeof(buffer), (spec + "ll" + kind).c_str(), number);
  }
  text += buffer;
  return true;
}

/// `a` the address of the format, `b` of the arguments, `d` the result.
void executePrint(Warp &warp, const Ins &ins, uint32_t mask) {
  for (int l = 0; l < 32; ++l) {
    if (!isActive(mask, l))
      continue;
    // Both are in parameters of the call, which are local memory.
    uint64_t format = 0, arguments = 0;
    uint8_t *local = warp.local + size_t(l) * warp.localBytes;
    std::memcpy(&format, local + ins.offset, 8);
    std::memcpy(&arguments, local + ins.extra, 8);
    std::string pattern, text;
    if (!readString(warp, l, format, pattern))
      continue;
    for (size_t i = 0; i < pattern.size() && text.size() < kMaxText;) {
      if (pattern[i] != '%') {
        text += pattern[i++];
        continue;
      }
      size_t end = pattern.find_first_not_of("0123456789+-# .lh", i + 1);
      if (pattern.compare(i, 2, "%%") == 0) {
        text += '%';
        i += 2;
        continue;
      }
      // Widths are kept to what fits the buffer.
      if (end == std::string::npos || end - i > 12 || hasLongNumber(pattern, i, end) ||
          !formatOne(warp, l, pattern.substr(i, end - i + 1), arguments, text))
        break;
      i = end + 1;
    }
    std::fputs(text.c_str(), stdout);
    if (!ins.count)
      continue;
    std::memset(local + ins.target, 0, 4);
    if (!warp.localWritten.empty())
      std::memset(&warp.localWritten[size_t(l) * warp.localBytes + ins.target], 1, 4);
  }
}

} // namespace

static void decodeCall(Decoder &decoder) {
  decoder.take("uni");
  size_t count = decoder.getNumOperands();
  bool returns = count > 0 && decoder.getOperand(0).kind == Operand::Kind::List;
  decoder.expectOperands(size_t(1) + returns, size_t(2) + returns);
  const Operand &callee = decoder.getOperand(returns);
  if (callee.kind != Operand::Kind::Name || callee.name != "vprintf")
    decoder.fail("expected a call of a function of the module or of vprintf, got '" +
                 std::string(callee.name.substr(0, 60)) + "'");
  if (count != size_t(2) + returns ||
      decoder.getOperand(size_t(1) + returns).elements.size() != 2)
    decoder.fail("expected two arguments of vprintf");
  auto getLocal = [&](const Operand &operand, uint64_t size) {
    const SymbolValue *symbol = decoder.findSymbol(operand);
    if (!symbol || symbol->space != Space::Param || symbol->isKernelParameter ||
        symbol->size < size)
      decoder.fail("expected a .param variable of at least " + std::to_string(size) +
                   " bytes as argument of vprintf");
    return symbol->address;
  };
  const Operand &arguments = decoder.getOperand(size_t(1) + returns);
  uint64_t format = getLocal(arguments.elements[0], 8);
  uint64_t values = getLocal(arguments.elements[1], 8);
  bool hasResult = returns && decoder.getOperand(0).elements.size() == 1;
  uint64_t result = hasResult ? getLocal(decoder.getOperand(0).elements[0], 4) : 0;
  Ins &ins = decoder.emit(executePrint, InstructionClass::Control);
  ins.offset = int64_t(format);
  ins.extra = uint32_t(values);
  ins.target = uint32_t(result);
  ins.count = hasResult;
}

void kvc::emu::addPrintOpcodes(OpcodeTable &table) { table["call"] = decodeCall; }
