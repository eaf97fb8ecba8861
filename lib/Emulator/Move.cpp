//===- Move.cpp - mov, selp, cvta, isspacep -------------------------------===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Decoder.h"
#include "Lanes.h"
#include "MemoryFlags.h"

using namespace kvc::emu;

namespace {

KVC_LANE_OP(Move, (T a), a)

void executeMovePredicate(Warp &warp, const Ins &ins, uint32_t mask) {
  warp.setPred(ins.d, warp.getPred(ins.a), mask);
}

/// Reads a clock: the number of instructions that the launch has executed.
void executeClock(Warp &warp, const Ins &ins, uint32_t mask) {
  uint64_t now = warp.launch->numExecuted;
  for (int l = 0; l < 32; ++l) {
    if (!isActive(mask, l))
      continue;
    if (ins.flags)
      warp.getWideRow(ins.d)[l] = now;
    else
      warp.getRow(ins.d)[l] = uint32_t(now >> ins.count);
  }
}

/// mov.b64 d, {a, b, ...}: `count` elements, whose rows are in the list.
void executePack(Warp &warp, const Ins &ins, uint32_t mask) {
  const uint32_t *rows = &warp.program->lists[ins.extra];
  unsigned bits = unsigned(ins.offset);
  for (int l = 0; l < 32; ++l) {
    if (!isActive(mask, l))
      continue;
    uint64_t value = 0;
    for (unsigned i = 0; i < ins.count; ++i) {
      uint64_t element = warp.getRow(rows[i])[l];
      value |= (bits == 32 ? element : element & ((1u << bits) - 1)) << (i * bits);
    }
    if (ins.flags)
      warp.getWideRow(ins.d)[l] = value;
    else
      warp.getRow(ins.d)[l] = uint32_t(value);
  }
}

/// mov.b64 {a, b, ...}, d
void executeUnpack(Warp &warp, const Ins &ins, uint32_t mask) {
  const uint32_t *rows = &warp.program->lists[ins.extra];
  unsigned bits = unsigned(ins.offset);
  for (int l = 0; l < 32; ++l) {
    if (!isActive(mask, l))
      continue;
    uint64_t value = ins.flags ? warp.getWideRow(ins.a)[l] : warp.getRow(ins.a)[l];
    for (unsigned i = 0; i < ins.count; ++i) {
      uint32_t element = uint32_t(value >> (i * bits));
      warp.getRow(rows[i])[l] = bits == 32 ? element : element & ((1u << bits) - 1);
    }
  }
}

template <class T> void executeSelect(Warp &warp, const Ins &ins, uint32_t mask) {
  const T *a = getWords<T>(warp, ins.a), *b = getWords<T>(warp, ins.b);
  T *d = getWords<T>(warp, ins.d);
  uint32_t choice = warp.getPred(ins.c);
  if (mask == kAllLanes) {
#pragma GCC ivdep
    for (int l = 0; l < 32; ++l)
      d[l] = choice >> l & 1 ? a[l] : b[l];
    return;
  }
  for (int l = 0; l < 32; ++l)
    if (isActive(mask, l))
      d[l] = choice >> l & 1 ? a[l] : b[l];
}

/// cvta: adds `offset`, the base of a window.
void executeConvertAddress(Warp &warp, const Ins &ins, uint32_t mask) {
  for (int l = 0; l < 32; ++l)
    if (isActive(mask, l))
      warp.getWideRow(ins.d)[l] =
          (ins.flags & kWideAddress ? warp.getWideRow(ins.a)[l]
                                    : warp.getRow(ins.a)[l]) +
          uint64_t(ins.offset);
}

/// isspacep: `count` is the space.
void executeIsSpace(Warp &warp, const Ins &ins, uint32_t mask) {
  uint32_t result = 0;
  for (int l = 0; l < 32; ++l) {
    uint64_t address = warp.getWideRow(ins.a)[l], window = address & ~kWindowMask;
    Space space = window == kSharedWindow  ? Space::Shared
                  : window == kLocalWindow ? Space::Local
                  : window == kParamWindow ? Space::Param
                                           : Space::Global;
    result |= uint32_t(space == Space(ins.count)) << l;
  }
  warp.setPred(ins.d, result, mask);
}

} // namespace

static Handler getCopy(unsigned bits) {
  return bits == 64 ? executeUnary<Move, uint64_t, uint64_t>
                    : executeUnary<Move, uint32_t, uint32_t>;
}

/// A vector on either side packs or unpacks.
static void decodeVectorMove(Decoder &decoder, Type type) {
  const Operand &result = decoder.getOperand(0), &source = decoder.getOperand(1);
  bool isPack = source.kind == Operand::Kind::Vector;
  const Operand &vector = isPack ? source : result;
  unsigned bits = getNumBits(type), count = unsigned(vector.elements.size());
  if ((isPack && result.kind == Operand::Kind::Vector) ||
      (count != 2 && count != 4) || bits / count < 16 || bits < 32)
    decoder.fail("expected a register and a vector of 2 or 4 elements of 16 or 32 "
                 "bits");
  Type element = bits / count == 16 ? Type::B16 : Type::B32;
  std::vector<uint32_t> rows;
  Row whole = 0;
  if (!isPack)
    whole = decoder.read(source, type);
  for (const Operand &operand : vector.elements)
    rows.push_back(isPack ? decoder.read(operand, element)
                          : decoder.write(operand, element));
  if (isPack)
    whole = decoder.write(result, type);
  uint32_t list = decoder.addList(rows);
  Ins &ins = decoder.emit(isPack ? executePack : executeUnpack, InstructionClass::Move);
  (isPack ? ins.d : ins.a) = whole;
  ins.extra = list;
  ins.count = uint8_t(count);
  ins.offset = bits / count;
  ins.flags = bits == 64;
}

static bool decodeClock(Decoder &decoder, Type type) {
  std::string_view name = decoder.getOperand(1).name;
  bool isClock = name == "%clock" || name == "%clock_hi" || name == "%clock64" ||
                 name == "%globaltimer" || name == "%globaltimer_lo" ||
                 name == "%globaltimer_hi";
  if (!isClock)
    return false;
  Row d = decoder.write(decoder.getOperand(0), type);
  Ins &ins = decoder.emit(executeClock, InstructionClass::Move);
  ins.d = d;
  ins.flags = getNumBits(type) == 64;
  ins.count = name == "%clock_hi" || name == "%globaltimer_hi" ? 32 : 0;
  return true;
}

/// mov.pred of %is_explicit_cluster: whether the launch has clusters.
static void executeIsExplicitCluster(Warp &warp, const Ins &ins, uint32_t mask) {
  warp.setPred(ins.d, warp.block->cluster->blocks.size() > 1 ? kAllLanes : 0, mask);
}

static void decodeMov(Decoder &decoder) {
  decoder.expectOperands(2);
  Type type = decoder.takeType();
  const Operand &source = decoder.getOperand(1);
  if (type == Type::Pred && source.kind == Operand::Kind::Name &&
      source.name == "%is_explicit_cluster") {
    Pred d = decoder.writePred(decoder.getOperand(0));
    decoder.emit(executeIsExplicitCluster, InstructionClass::Move).d = d;
    return;
  }
  if (type == Type::Pred) {
    Pred a = decoder.readPred(source);
    Pred d = decoder.writePred(decoder.getOperand(0));
    Ins &ins = decoder.emit(executeMovePredicate, InstructionClass::Move);
    ins.d = d, ins.a = a;
    return;
  }
  unsigned bits = getNumBits(type);
  if (bits != 16 && bits != 32 && bits != 64)
    decoder.failType(type);
  if (source.kind == Operand::Kind::Vector ||
      decoder.getOperand(0).kind == Operand::Kind::Vector)
    return decodeVectorMove(decoder, type);
  Row a;
  if (source.kind == Operand::Kind::Name && !decoder.isImmediate(source)) {
    if (decodeClock(decoder, type))
      return;
    if (std::optional<Special> special = decoder.findSpecial(source)) {
      a = decoder.getSpecial(*special, 0, bits == 64);
    } else if (const SymbolValue *symbol = decoder.findSymbol(source)) {
      // The address of a variable, within its space.
      if (bits == 16)
        decoder.failType(type);
      a = symbol->isDynamicShared
              ? decoder.getSpecial(Special::SharedBase, uint32_t(source.value),
                                   bits == 64)
              : decoder.getConstant(symbol->address + source.value, bits == 64);
    } else {
      decoder.fail("expected a register, a constant or a variable, got '" +
                   std::string(source.name.substr(0, 60)) + "'");
    }
  } else {
    a = decoder.read(source, type);
  }
  Row d = decoder.write(decoder.getOperand(0), type);
  Ins &ins = decoder.emit(getCopy(bits), InstructionClass::Move);
  ins.d = d, ins.a = a;
}

static void decodeSelp(Decoder &decoder) {
  decoder.expectOperands(4);
  Type type = decoder.takeType();
  unsigned bits = getNumBits(type);
  if (bits != 16 && bits != 32 && bits != 64)
    decoder.failType(type);
  Row a = decoder.read(decoder.getOperand(1), type);
  Row b = decoder.read(decoder.getOperand(2), type);
  Pred c = decoder.readPred(decoder.getOperand(3));
  Row d = decoder.write(decoder.getOperand(0), type);
  Ins &ins = decoder.emit(bits == 64 ? executeSelect<uint64_t> : executeSelect<uint32_t>,
                          InstructionClass::Move);
  ins.d = d, ins.a = a, ins.b = b, ins.c = c;
}

static uint64_t getWindow(Space space) {
  switch (space) {
  case Space::Shared: return kSharedWindow;
  case Space::Local: return kLocalWindow;
  case Space::Param: return kParamWindow;
  default: return 0;
  }
}

static void decodeCvta(Decoder &decoder) {
  decoder.expectOperands(2);
  bool isTo = decoder.take("to");
  Space space = takeSpace(decoder);
  Type type = decoder.takeType();
  if (space == Space::Generic)
    decoder.fail("expected a state space after 'cvta'");
  if (type != Type::U64)
    decoder.failType(type);
  const Operand &source = decoder.getOperand(1);
  Row a;
  bool isWide = true;
  if (source.kind == Operand::Kind::Name) {
    const SymbolValue *symbol = decoder.findSymbol(source);
    if (!symbol || isTo || symbol->space != space)
      decoder.fail("expected a register, or a variable of the space, got '" +
                   std::string(source.name.substr(0, 60)) + "'");
    isWide = !symbol->isDynamicShared;
    a = symbol->isDynamicShared
            ? decoder.getSpecial(Special::SharedBase, uint32_t(source.value))
            : decoder.getConstant(symbol->address + source.value, true);
  } else {
    a = decoder.read(source, type);
  }
  Row d = decoder.write(decoder.getOperand(0), type);
  Ins &ins = decoder.emit(executeConvertAddress, InstructionClass::Move);
  ins.d = d, ins.a = a;
  uint64_t window = getWindow(space);
  ins.offset = int64_t(isTo ? 0 - window : window);
  ins.flags = isWide ? kWideAddress : 0;
}

static void decodeIsSpace(Decoder &decoder) {
  decoder.expectOperands(2);
  Space space = takeSpace(decoder);
  if (space == Space::Generic)
    decoder.fail("expected a state space after 'isspacep'");
  // Constants lie among global memory, where their addresses do not tell.
  if (space == Space::Const)
    decoder.fail("'isspacep' does not support the modifier .const");
  Row a = decoder.read(decoder.getOperand(1), Type::U64);
  Pred d = decoder.writePred(decoder.getOperand(0));
  Ins &ins = decoder.emit(executeIsSpace, InstructionClass::Compare);
  ins.d = d, ins.a = a;
  ins.count = uint8_t(space);
}

void kvc::emu::addMoveOpcodes(OpcodeTable &table) {
  table["mov"] = decodeMov;
  table["selp"] = decodeSelp;
  table["cvta"] = decodeCvta;
  table["isspacep"] = decodeIsSpace;
}
