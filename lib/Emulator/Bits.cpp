//===- Bits.cpp - logic, shifts and fields --------------------------------===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Decoder.h"
#include "Lanes.h"

#include <algorithm>

using namespace kvc::emu;

namespace {

KVC_LANE_OP(And, (T a, T b), T(a & b))
KVC_LANE_OP(Or, (T a, T b), T(a | b))
KVC_LANE_OP(Xor, (T a, T b), T(a ^ b))
KVC_LANE_OP(Not, (T a), T(~a))
KVC_LANE_OP(CNot, (T a), T(a == 0))

// Amounts of the width and more give what shifting one by one would.
struct Shl {
  template <class T> static T apply(T a, uint32_t amount) {
    return amount < 8 * sizeof(T) ? T(uint64_t(a) << amount) : T(0);
  }
};
struct Shr {
  template <class T> static T apply(T a, uint32_t amount) {
    constexpr uint32_t kBits = 8 * sizeof(T);
    if constexpr (std::is_signed_v<T>)
      return T(a >> std::min(amount, kBits - 1));
    else
      return amount < kBits ? T(a >> amount) : T(0);
  }
};

/// Shifts of the 64 bits b:a.
template <bool IsLeft, bool Wraps> struct Funnel {
  static uint32_t apply(uint32_t a, uint32_t b, uint32_t amount) {
    amount = Wraps ? amount & 31 : std::min(amount, 32u);
    uint64_t both = uint64_t(b) << 32 | a;
    return IsLeft ? uint32_t((both << amount) >> 32) : uint32_t(both >> amount);
  }
};

/// Field of `length` bits from bit `position`; both are 8 bits.
struct Extract {
  template <class T> static T apply(T a, uint32_t position, uint32_t length) {
    constexpr uint32_t kBits = 8 * sizeof(T);
    using U = std::make_unsigned_t<T>;
    position &= 255, length &= 255;
    if (length == 0)
      return 0;
    bool isNegative = false;
    if constexpr (std::is_signed_v<T>) // by the top bit of the field, or of a
      isNegative = U(a) >> std::min(position + length - 1, kBits - 1) & 1;
    // What lies past the register is the sign.
    U fill = isNegative ? U(~U(0)) : U(0);
    U field = position < kBits ? U(U(a) >> position) : fill;
    if (position > 0 && position < kBits)
      field |= U(fill << (kBits - position));
    if (length < kBits) {
      U mask = U((U(1) << length) - 1);
      field = U((field & mask) | (fill & ~mask));
    }
    return T(field);
  }
};

template <class T> struct Insert {
  static T apply(T field, T into, uint32_t position, uint32_t length) {
    constexpr uint32_t kBits = 8 * sizeof(T);
    position &= 255, length &= 255;
    if (length == 0 || position >= kBits)
      return into;
    T mask = length < kBits ? T((T(1) << length) - 1) : T(~T(0));
    return (into & ~T(mask << position)) | T((field & mask) << position);
  }
};

template <class T>
void executeInsert(Warp &warp, const Ins &ins, uint32_t mask) {
  const uint32_t *lengths = warp.getRow(ins.maskRow);
  for (int l = 0; l < 32; ++l)
    if (isActive(mask, l))
      getWords<T>(warp, ins.d)[l] = Insert<T>::apply(
          getWords<T>(warp, ins.a)[l], getWords<T>(warp, ins.b)[l],
          warp.getRow(ins.c)[l], lengths[l]);
}

struct PopCount {
  template <class T> static uint32_t apply(T a) {
    return uint32_t(__builtin_popcountll(uint64_t(a)));
  }
};
struct LeadingZeros {
  template <class T> static uint32_t apply(T a) {
    return a ? uint32_t(__builtin_clzll(uint64_t(a))) - (64 - 8 * sizeof(T))
             : uint32_t(8 * sizeof(T));
  }
};
struct Reverse {
  template <class T> static T apply(T a) {
    T result = 0;
    for (unsigned i = 0; i < 8 * sizeof(T); ++i)
      result |= T(a >> i & 1) << (8 * sizeof(T) - 1 - i);
    return result;
  }
};
/// Highest bit that differs from the sign; -1 if none.
template <bool IsShift> struct FindHighest {
  template <class T> static uint32_t apply(T a) {
    using U = std::make_unsigned_t<T>;
    U value = std::is_signed_v<T> && a < 0 ? U(~a) : U(a);
    if (value == 0)
      return ~0u;
    uint32_t zeros = LeadingZeros::apply(value);
    return IsShift ? zeros : uint32_t(8 * sizeof(T)) - 1 - zeros;
  }
};

/// A bit of the result is the bit of the table that a, b and c number.
void executeLop3(Warp &warp, const Ins &ins, uint32_t mask) {
  const uint32_t *a = warp.getRow(ins.a), *b = warp.getRow(ins.b);
  const uint32_t *c = warp.getRow(ins.c);
  uint32_t *d = warp.getRow(ins.d), table = uint32_t(ins.offset), predicate = 0;
  for (int l = 0; l < 32; ++l) {
    uint32_t result = 0;
    for (int i = 0; i < 8; ++i)
      if (table >> i & 1)
        result |= (i & 4 ? a[l] : ~a[l]) & (i & 2 ? b[l] : ~b[l]) &
                  (i & 1 ? c[l] : ~c[l]);
    if (isActive(mask, l))
      d[l] = result;
    predicate |= uint32_t(result != 0) << l;
  }
  if (ins.count) {
    uint32_t q = warp.getPred(ins.maskRow);
    warp.setPred(ins.extra, ins.count == 1 ? predicate | q : predicate & q, mask);
  }
}

enum PermuteMode { kIndex, kF4E, kB4E, kRC8, kECL, kECR, kRC16 };

template <PermuteMode Mode> struct Permute {
  static uint32_t apply(uint32_t a, uint32_t b, uint32_t selector) {
    uint64_t bytes = uint64_t(b) << 32 | a;
    uint32_t s = selector & 3, result = 0;
    for (uint32_t i = 0; i < 4; ++i) {
      uint32_t index = Mode == kF4E    ? s + i
                       : Mode == kB4E  ? (s - i) & 7
                       : Mode == kRC8  ? s
                       : Mode == kECL  ? std::max(i, s)
                       : Mode == kECR  ? std::min(i, s)
                       : Mode == kRC16 ? (s & 1) * 2 + (i & 1)
                                       : selector >> (4 * i) & 7;
      uint32_t byte = uint32_t(bytes >> (8 * index)) & 0xFF;
      // Bit 3 of an index asks for the sign of the byte.
      bool isSign = Mode == kIndex && (selector >> (4 * i + 3) & 1);
      byte = isSign ? 0 - (byte >> 7) : byte;
      result |= (byte & 0xFF) << (8 * i);
    }
    return result;
  }
};

/// bmsk: ones from bit `a` on, `b` of them.
template <bool Wraps> struct BitMask {
  static uint32_t apply(uint32_t position, uint32_t length) {
    if (Wraps)
      position &= 31, length &= 31;
    if (position >= 32 || length == 0)
      return 0;
    return (length >= 32 ? ~0u : (1u << length) - 1) << position;
  }
};

/// szext: keeps the lowest `length` bits and extends them.
template <bool Wraps> struct Extend {
  template <class T> static T apply(T a, uint32_t length) {
    if (Wraps)
      length &= 31;
    if (length >= 32)
      return a;
    return length == 0 ? T(0) : T(T(uint32_t(a) << (32 - length)) >> (32 - length));
  }
};

// Logic on predicates works on all lanes at once.
enum PredicateOp { kPredAnd, kPredOr, kPredXor, kPredNot };

void executePredicate(Warp &warp, const Ins &ins, uint32_t mask) {
  uint32_t a = warp.getPred(ins.a), b = warp.getPred(ins.b), result = 0;
  switch (ins.count) {
  case kPredAnd: result = a & b; break;
  case kPredOr: result = a | b; break;
  case kPredXor: result = a ^ b; break;
  default: result = ~a;
  }
  warp.setPred(ins.d, result, mask);
}

} // namespace

static InstructionClass getUnit(unsigned bits) {
  return bits == 64 ? InstructionClass::Integer64 : InstructionClass::Integer;
}

/// Handlers for 16, 32 and 64 bits.
struct BySize {
  Handler b16, b32, b64;
  Handler get(unsigned bits) const {
    return bits == 16 ? b16 : bits == 32 ? b32 : bits == 64 ? b64 : nullptr;
  }
};


static void decodeLogic(Decoder &decoder) {
  std::string_view opcode = decoder.get().opcode;
  Type type = decoder.takeType();
  bool isUnary = opcode == "not" || opcode == "cnot";
  decoder.expectOperands(isUnary ? 2 : 3);
  if (type == Type::Pred && opcode != "cnot") {
    Pred a = decoder.readPred(decoder.getOperand(1));
    Pred b = isUnary ? kAlways : decoder.readPred(decoder.getOperand(2));
    Pred d = decoder.writePred(decoder.getOperand(0));
    Ins &ins = decoder.emit(executePredicate, InstructionClass::Compare);
    ins.d = d, ins.a = a, ins.b = b;
    ins.count = uint8_t(isUnary           ? kPredNot
                        : opcode == "and" ? kPredAnd
                        : opcode == "or"  ? kPredOr
                                          : kPredXor);
    return;
  }
  if (type != Type::B16 && type != Type::B32 && type != Type::B64)
    decoder.failType(type);
  BySize handlers;
  if (opcode == "and")
    handlers = {executeBinary<And, uint16_t, uint16_t>,
                executeBinary<And, uint32_t, uint32_t>,
                executeBinary<And, uint64_t, uint64_t>};
  else if (opcode == "or")
    handlers = {executeBinary<Or, uint16_t, uint16_t>,
                executeBinary<Or, uint32_t, uint32_t>,
                executeBinary<Or, uint64_t, uint64_t>};
  else if (opcode == "xor")
    handlers = {executeBinary<Xor, uint16_t, uint16_t>,
                executeBinary<Xor, uint32_t, uint32_t>,
                executeBinary<Xor, uint64_t, uint64_t>};
  else if (opcode == "not")
    handlers = {executeUnary<Not, uint16_t, uint16_t>,
                executeUnary<Not, uint32_t, uint32_t>,
                executeUnary<Not, uint64_t, uint64_t>};
  else
    handlers = {executeUnary<CNot, uint16_t, uint16_t>,
                executeUnary<CNot, uint32_t, uint32_t>,
                executeUnary<CNot, uint64_t, uint64_t>};
  unsigned bits = getNumBits(type);
  Row a = decoder.read(decoder.getOperand(1), type);
  Row b = isUnary ? a : decoder.read(decoder.getOperand(2), type);
  Row d = decoder.write(decoder.getOperand(0), type);
  Ins &ins = decoder.emit(handlers.get(bits), getUnit(bits));
  ins.d = d, ins.a = a, ins.b = b;
}

static void decodeShift(Decoder &decoder) {
  decoder.expectOperands(3);
  Type type = decoder.takeType();
  bool isLeft = decoder.get().opcode == "shl";
  Handler handler = nullptr;
  switch (type) {
  case Type::B16: case Type::U16:
    handler = isLeft ? executeBinary<Shl, uint16_t, uint16_t, uint32_t>
                     : executeBinary<Shr, uint16_t, uint16_t, uint32_t>;
    break;
  case Type::B32: case Type::U32:
    handler = isLeft ? executeBinary<Shl, uint32_t, uint32_t, uint32_t>
                     : executeBinary<Shr, uint32_t, uint32_t, uint32_t>;
    break;
  case Type::B64: case Type::U64:
    handler = isLeft ? executeBinary<Shl, uint64_t, uint64_t, uint32_t>
                     : executeBinary<Shr, uint64_t, uint64_t, uint32_t>;
    break;
  case Type::S16:
    handler = isLeft ? nullptr : executeBinary<Shr, int16_t, int16_t, uint32_t>;
    break;
  case Type::S32:
    handler = isLeft ? nullptr : executeBinary<Shr, int32_t, int32_t, uint32_t>;
    break;
  case Type::S64:
    handler = isLeft ? nullptr : executeBinary<Shr, int64_t, int64_t, uint32_t>;
    break;
  default: break;
  }
  if (!handler || (isLeft && (type == Type::U16 || type == Type::U32 || type == Type::U64)))
    decoder.failType(type);
  Row a = decoder.read(decoder.getOperand(1), type);
  Row b = decoder.read(decoder.getOperand(2), Type::U32);
  Row d = decoder.write(decoder.getOperand(0), type);
  Ins &ins = decoder.emit(handler, getUnit(getNumBits(type)));
  ins.d = d, ins.a = a, ins.b = b;
}

static void decodeFunnel(Decoder &decoder) {
  decoder.expectOperands(4);
  int direction = decoder.takeOneOf({"l", "r"});
  int mode = decoder.takeOneOf({"wrap", "clamp"});
  Type type = decoder.takeType();
  if (direction < 0 || mode < 0)
    decoder.fail("expected .l or .r, and .wrap or .clamp, after 'shf'");
  if (type != Type::B32)
    decoder.failType(type);
  static constexpr Handler handlers[2][2] = {
      {executeTernary<Funnel<true, true>, uint32_t, uint32_t>,
       executeTernary<Funnel<true, false>, uint32_t, uint32_t>},
      {executeTernary<Funnel<false, true>, uint32_t, uint32_t>,
       executeTernary<Funnel<false, false>, uint32_t, uint32_t>}};
  Row a = decoder.read(decoder.getOperand(1), type);
  Row b = decoder.read(decoder.getOperand(2), type);
  Row c = decoder.read(decoder.getOperand(3), Type::U32);
  Row d = decoder.write(decoder.getOperand(0), type);
  Ins &ins = decoder.emit(handlers[direction][mode], InstructionClass::Integer);
  ins.d = d, ins.a = a, ins.b = b, ins.c = c;
}

static void decodeExtract(Decoder &decoder) {
  decoder.expectOperands(4);
  Type type = decoder.takeType();
  Handler handler = nullptr;
  switch (type) {
  case Type::U32:
    handler = executeTernary<Extract, uint32_t, uint32_t, uint32_t, uint32_t>;
    break;
  case Type::S32:
    handler = executeTernary<Extract, int32_t, int32_t, uint32_t, uint32_t>;
    break;
  case Type::U64:
    handler = executeTernary<Extract, uint64_t, uint64_t, uint32_t, uint32_t>;
    break;
  case Type::S64:
    handler = executeTernary<Extract, int64_t, int64_t, uint32_t, uint32_t>;
    break;
  default: decoder.failType(type);
  }
  Row a = decoder.read(decoder.getOperand(1), type);
  Row b = decoder.read(decoder.getOperand(2), Type::U32);
  Row c = decoder.read(decoder.getOperand(3), Type::U32);
  Row d = decoder.write(decoder.getOperand(0), type);
  Ins &ins = decoder.emit(handler, getUnit(getNumBits(type)));
  ins.d = d, ins.a = a, ins.b = b, ins.c = c;
}

static void decodeInsert(Decoder &decoder) {
  decoder.expectOperands(5);
  Type type = decoder.takeType();
  if (type != Type::B32 && type != Type::B64)
    decoder.failType(type);
  Row a = decoder.read(decoder.getOperand(1), type);
  Row b = decoder.read(decoder.getOperand(2), type);
  Row c = decoder.read(decoder.getOperand(3), Type::U32);
  Row length = decoder.read(decoder.getOperand(4), Type::U32);
  Row d = decoder.write(decoder.getOperand(0), type);
  Ins &ins = decoder.emit(type == Type::B64 ? executeInsert<uint64_t>
                                            : executeInsert<uint32_t>,
                          getUnit(getNumBits(type)));
  ins.d = d, ins.a = a, ins.b = b, ins.c = c;
  ins.maskRow = length;
}

/// popc, clz, brev, bfind: their results have widths of their own.
static void decodeCount(Decoder &decoder) {
  decoder.expectOperands(2);
  std::string_view opcode = decoder.get().opcode;
  bool isShift = decoder.take("shiftamt");
  Type type = decoder.takeType();
  Type result = Type::U32;
  Handler handler = nullptr;
  bool isWide = getNumBits(type) == 64;
  if (opcode == "bfind") {
    switch (type) {
    case Type::U32:
      handler = isShift ? executeUnary<FindHighest<true>, uint32_t, uint32_t>
                        : executeUnary<FindHighest<false>, uint32_t, uint32_t>;
      break;
    case Type::S32:
      handler = isShift ? executeUnary<FindHighest<true>, uint32_t, int32_t>
                        : executeUnary<FindHighest<false>, uint32_t, int32_t>;
      break;
    case Type::U64:
      handler = isShift ? executeUnary<FindHighest<true>, uint32_t, uint64_t>
                        : executeUnary<FindHighest<false>, uint32_t, uint64_t>;
      break;
    case Type::S64:
      handler = isShift ? executeUnary<FindHighest<true>, uint32_t, int64_t>
                        : executeUnary<FindHighest<false>, uint32_t, int64_t>;
      break;
    default: break;
    }
  } else if (type == Type::B32 || type == Type::B64) {
    if (opcode == "popc")
      handler = isWide ? executeUnary<PopCount, uint32_t, uint64_t>
                       : executeUnary<PopCount, uint32_t, uint32_t>;
    else if (opcode == "clz")
      handler = isWide ? executeUnary<LeadingZeros, uint32_t, uint64_t>
                       : executeUnary<LeadingZeros, uint32_t, uint32_t>;
    else {
      handler = isWide ? executeUnary<Reverse, uint64_t, uint64_t>
                       : executeUnary<Reverse, uint32_t, uint32_t>;
      result = type;
    }
  }
  if (!handler)
    decoder.failType(type);
  if (isShift && opcode != "bfind")
    decoder.fail("expected no .shiftamt");
  Row a = decoder.read(decoder.getOperand(1), type);
  Row d = decoder.write(decoder.getOperand(0), result);
  Ins &ins = decoder.emit(handler, getUnit(getNumBits(type)));
  ins.d = d, ins.a = a;
}

/// lop3.b32 d, a, b, c, table; lop3.or.b32 d|p, a, b, c, table, q
static void decodeLop3(Decoder &decoder) {
  int combine = decoder.takeOneOf({"or", "and"});
  Type type = decoder.takeType();
  decoder.expectOperands(combine < 0 ? 5 : 6);
  if (type != Type::B32)
    decoder.failType(type);
  const Operand &result = decoder.getOperand(0);
  bool isPair = result.kind == Operand::Kind::Pair;
  if (isPair != (combine >= 0))
    decoder.fail("expected d|p exactly with .or or .and");
  Row a = decoder.read(decoder.getOperand(1), type);
  Row b = decoder.read(decoder.getOperand(2), type);
  Row c = decoder.read(decoder.getOperand(3), type);
  uint64_t table = decoder.getImmediate(decoder.getOperand(4));
  if (table > 255)
    decoder.fail("expected a table from 0 to 255, got " + std::to_string(table));
  Row d = decoder.write(isPair ? result.elements[0] : result, type);
  Pred p = isPair ? decoder.writePred(result.elements[1]) : 0;
  Pred q = isPair ? decoder.readPred(decoder.getOperand(5)) : 0;
  Ins &ins = decoder.emit(executeLop3, InstructionClass::Integer);
  ins.d = d, ins.a = a, ins.b = b, ins.c = c;
  ins.offset = int64_t(table);
  ins.extra = p, ins.maskRow = q;
  ins.count = uint8_t(combine + 1);
}

static void decodePermute(Decoder &decoder) {
  decoder.expectOperands(4);
  Type type = decoder.takeType();
  int mode = decoder.takeOneOf({"f4e", "b4e", "rc8", "ecl", "ecr", "rc16"}) + 1;
  if (type != Type::B32)
    decoder.failType(type);
  Row a = decoder.read(decoder.getOperand(1), type);
  Row b = decoder.read(decoder.getOperand(2), type);
  Row c = decoder.read(decoder.getOperand(3), type);
  Row d = decoder.write(decoder.getOperand(0), type);
  static constexpr Handler handlers[] = {
      executeTernary<Permute<kIndex>, uint32_t, uint32_t>,
      executeTernary<Permute<kF4E>, uint32_t, uint32_t>,
      executeTernary<Permute<kB4E>, uint32_t, uint32_t>,
      executeTernary<Permute<kRC8>, uint32_t, uint32_t>,
      executeTernary<Permute<kECL>, uint32_t, uint32_t>,
      executeTernary<Permute<kECR>, uint32_t, uint32_t>,
      executeTernary<Permute<kRC16>, uint32_t, uint32_t>};
  Ins &ins = decoder.emit(handlers[mode], InstructionClass::Integer);
  ins.d = d, ins.a = a, ins.b = b, ins.c = c;
}

static void decodeBitMask(Decoder &decoder) {
  decoder.expectOperands(3);
  int mode = decoder.takeOneOf({"clamp", "wrap"});
  Type type = decoder.takeType();
  if (type != Type::B32)
    decoder.failType(type);
  if (mode < 0)
    decoder.fail("expected .clamp or .wrap after 'bmsk'");
  Row a = decoder.read(decoder.getOperand(1), type);
  Row b = decoder.read(decoder.getOperand(2), type);
  Row d = decoder.write(decoder.getOperand(0), type);
  Ins &ins = decoder.emit(mode ? executeBinary<BitMask<true>, uint32_t, uint32_t>
                               : executeBinary<BitMask<false>, uint32_t, uint32_t>,
                          InstructionClass::Integer);
  ins.d = d, ins.a = a, ins.b = b;
}

static void decodeExtend(Decoder &decoder) {
  decoder.expectOperands(3);
  int mode = decoder.takeOneOf({"clamp", "wrap"});
  Type type = decoder.takeType();
  if (type != Type::S32 && type != Type::U32)
    decoder.failType(type);
  if (mode < 0)
    decoder.fail("expected .clamp or .wrap after 'szext'");
  static constexpr Handler handlers[2][2] = {
      {executeBinary<Extend<false>, uint32_t, uint32_t>,
       executeBinary<Extend<true>, uint32_t, uint32_t>},
      {executeBinary<Extend<false>, int32_t, int32_t, uint32_t>,
       executeBinary<Extend<true>, int32_t, int32_t, uint32_t>}};
  Row a = decoder.read(decoder.getOperand(1), type);
  Row b = decoder.read(decoder.getOperand(2), Type::U32);
  Row d = decoder.write(decoder.getOperand(0), type);
  Ins &ins = decoder.emit(handlers[type == Type::S32][mode], InstructionClass::Integer);
  ins.d = d, ins.a = a, ins.b = b;
}

void kvc::emu::addBitOpcodes(OpcodeTable &table) {
  for (const char *name : {"and", "or", "xor", "not", "cnot"})
    table[name] = decodeLogic;
  table["shl"] = table["shr"] = decodeShift;
  table["shf"] = decodeFunnel;
  table["bfe"] = decodeExtract;
  table["bfi"] = decodeInsert;
  for (const char *name : {"popc", "clz", "brev", "bfind"})
    table[name] = decodeCount;
  table["lop3"] = decodeLop3;
  table["prmt"] = decodePermute;
  table["bmsk"] = decodeBitMask;
  table["szext"] = decodeExtend;
}
