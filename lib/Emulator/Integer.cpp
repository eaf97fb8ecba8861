//===- Integer.cpp - integer arithmetic -----------------------------------===//
//
// Part of kvc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// add, sub, mul, mad, ... share their opcodes with floating point: the type says
// which file decodes them.
//===----------------------------------------------------------------------===//
#include "Families.h"
#include "Lanes.h"

#include <algorithm>

using namespace kvc::emu;

namespace {

template <class T> using Unsigned = std::make_unsigned_t<T>;
/// Twice as wide.
template <class T>
using Double = std::conditional_t<
    sizeof(T) == 2, std::conditional_t<std::is_signed_v<T>, int32_t, uint32_t>,
    std::conditional_t<
        sizeof(T) == 4, std::conditional_t<std::is_signed_v<T>, int64_t, uint64_t>,
        std::conditional_t<std::is_signed_v<T>, __int128, unsigned __int128>>>;

// Arithmetic wraps: in unsigned types, wide enough not to promote to int.
template <class T> T wrapAdd(T a, T b) { return T(uint64_t(a) + uint64_t(b)); }
template <class T> T wrapSub(T a, T b) { return T(uint64_t(a) - uint64_t(b)); }
template <class T> T wrapMul(T a, T b) { return T(uint64_t(a) * uint64_t(b)); }

KVC_LANE_OP(Add, (T a, T b), wrapAdd(a, b))
KVC_LANE_OP(Sub, (T a, T b), wrapSub(a, b))
KVC_LANE_OP(MulLo, (T a, T b), wrapMul(a, b))
KVC_LANE_OP(MulHi, (T a, T b), T((Double<T>(a) * Double<T>(b)) >> (8 * sizeof(T))))
KVC_LANE_OP(MulWide, (T a, T b), Double<T>(Double<T>(a) * Double<T>(b)))
KVC_LANE_OP(MadLo, (T a, T b, T c), wrapAdd(wrapMul(a, b), c))
KVC_LANE_OP(MadHi, (T a, T b, T c), wrapAdd(MulHi::apply(a, b), c))
KVC_LANE_OP(Min, (T a, T b), std::min(a, b))
KVC_LANE_OP(Max, (T a, T b), std::max(a, b))
KVC_LANE_OP(MinRelu, (T a, T b), std::max(std::min(a, b), T(0)))
KVC_LANE_OP(MaxRelu, (T a, T b), std::max(std::max(a, b), T(0)))
KVC_LANE_OP(Neg, (T a), wrapSub(T(0), a))
KVC_LANE_OP(Abs, (T a), a < 0 ? wrapSub(T(0), a) : a)
KVC_LANE_OP(Sad, (T a, T b, Unsigned<T> c),
            Unsigned<T>(wrapAdd(c, Unsigned<T>(a < b ? uint64_t(b) - uint64_t(a)
                                                     : uint64_t(a) - uint64_t(b)))))

struct MadWide {
  template <class T> static Double<T> apply(T a, T b, Double<T> c) {
    return wrapAdd(Double<T>(Double<T>(a) * Double<T>(b)), c);
  }
};

/// Clamps to the range of s32.
struct AddSat {
  static int32_t apply(int32_t a, int32_t b) { return clamp(int64_t(a) + b); }
  static int32_t clamp(int64_t value) {
    return int32_t(std::clamp<int64_t>(value, INT32_MIN, INT32_MAX));
  }
};
struct SubSat {
  static int32_t apply(int32_t a, int32_t b) {
    return AddSat::clamp(int64_t(a) - b);
  }
};
struct MadHiSat {
  static int32_t apply(int32_t a, int32_t b, int32_t c) {
    return AddSat::clamp((int64_t(a) * b >> 32) + c);
  }
};

/// Low 24 bits of both, sign extended if T is.
template <class T> int64_t take24(T value) {
  if constexpr (std::is_signed_v<T>)
    return int32_t(uint32_t(value) << 8) >> 8;
  else
    return value & 0xFFFFFF;
}
KVC_LANE_OP(Mul24Lo, (T a, T b), T(take24(a) * take24(b)))
KVC_LANE_OP(Mul24Hi, (T a, T b), T((take24(a) * take24(b)) >> 16))
KVC_LANE_OP(Mad24Lo, (T a, T b, T c), wrapAdd(Mul24Lo::apply(a, b), c))
KVC_LANE_OP(Mad24Hi, (T a, T b, T c), wrapAdd(Mul24Hi::apply(a, b), c))
struct Mad24HiSat {
  static int32_t apply(int32_t a, int32_t b, int32_t c) {
    return AddSat::clamp(int64_t(Mul24Hi::apply(a, b)) + c);
  }
};

/// Division by zero gives all ones and is reported; the smallest number divided
/// by -1 wraps.
template <class T, bool IsRemainder>
void executeDivision(Warp &warp, const Ins &ins, uint32_t mask) {
  Word<T> *d = getWords<T>(warp, ins.d);
  const Word<T> *a = getWords<T>(warp, ins.a), *b = getWords<T>(warp, ins.b);
  for (int l = 0; l < 32; ++l) {
    if (!isActive(mask, l))
      continue;
    T x = fromWord<T>(a[l]), y = fromWord<T>(b[l]), result;
    if (y == 0) {
      warp.launch->report(warp, ReportKind::Arithmetic, l, 0, "division by zero");
      result = IsRemainder ? x : T(~T(0));
    } else if (std::is_signed_v<T> && y == T(-1)) {
      result = IsRemainder ? T(0) : wrapSub(T(0), x);
    } else {
      result = IsRemainder ? T(x % y) : T(x / y);
    }
    d[l] = toWord<T>(result);
  }
}

/// dp4a and dp2a: products of bytes with bytes, or of halves with bytes.
template <class A, class B>
void executeDp4a(Warp &warp, const Ins &ins, uint32_t mask) {
  for (int l = 0; l < 32; ++l) {
    if (!isActive(mask, l))
      continue;
    uint32_t a = warp.getRow(ins.a)[l], b = warp.getRow(ins.b)[l];
    uint32_t sum = warp.getRow(ins.c)[l];
    for (int i = 0; i < 4; ++i)
      sum += uint32_t(int32_t(A(a >> (8 * i))) * int32_t(B(b >> (8 * i))));
    warp.getRow(ins.d)[l] = sum;
  }
}
template <class A, class B>
void executeDp2a(Warp &warp, const Ins &ins, uint32_t mask) {
  for (int l = 0; l < 32; ++l) {
    if (!isActive(mask, l))
      continue;
    uint32_t a = warp.getRow(ins.a)[l];
    uint32_t b = warp.getRow(ins.b)[l] >> (ins.count ? 16 : 0);
    uint32_t sum = warp.getRow(ins.c)[l];
    for (int i = 0; i < 2; ++i)
      sum += uint32_t(int32_t(A(a >> (16 * i))) * int32_t(B(b >> (8 * i))));
    warp.getRow(ins.d)[l] = sum;
  }
}

} // namespace

static InstructionClass getUnit(Type type) {
  return getNumBits(type) == 64 ? InstructionClass::Integer64
                                : InstructionClass::Integer;
}

/// The handler for the integer type of `type`.
#define KVC_INTEGER_HANDLER(TEMPLATE, OP)                                      \
  [](Type type) -> Handler {                                                   \
    switch (type) {                                                            \
    case Type::U16: return TEMPLATE<OP, uint16_t, uint16_t>;                   \
    case Type::S16: return TEMPLATE<OP, int16_t, int16_t>;                     \
    case Type::U32: return TEMPLATE<OP, uint32_t, uint32_t>;                   \
    case Type::S32: return TEMPLATE<OP, int32_t, int32_t>;                     \
    case Type::U64: return TEMPLATE<OP, uint64_t, uint64_t>;                   \
    case Type::S64: return TEMPLATE<OP, int64_t, int64_t>;                     \
    default: return nullptr;                                                   \
    }                                                                          \
  }

using HandlerOfType = Handler (*)(Type);

static void emitBinary(Decoder &decoder, Type type, HandlerOfType getHandler) {
  decoder.expectOperands(3);
  Handler handler = getHandler(type);
  if (!handler)
    decoder.failType(type);
  Row a = decoder.read(decoder.getOperand(1), type);
  Row b = decoder.read(decoder.getOperand(2), type);
  Row d = decoder.write(decoder.getOperand(0), type);
  Ins &ins = decoder.emit(handler, getUnit(type));
  ins.d = d, ins.a = a, ins.b = b;
}

static void emitUnary(Decoder &decoder, Type type, HandlerOfType getHandler) {
  decoder.expectOperands(2);
  Handler handler = getHandler(type);
  if (!handler)
    decoder.failType(type);
  Row a = decoder.read(decoder.getOperand(1), type);
  Row d = decoder.write(decoder.getOperand(0), type);
  Ins &ins = decoder.emit(handler, getUnit(type));
  ins.d = d, ins.a = a;
}

static void emitTernary(Decoder &decoder, Handler handler, Type type, Type wide) {
  decoder.expectOperands(4);
  if (!handler)
    decoder.failType(type);
  Row a = decoder.read(decoder.getOperand(1), type);
  Row b = decoder.read(decoder.getOperand(2), type);
  Row c = decoder.read(decoder.getOperand(3), wide);
  Row d = decoder.write(decoder.getOperand(0), wide);
  Ins &ins = decoder.emit(handler, getUnit(wide));
  ins.d = d, ins.a = a, ins.b = b, ins.c = c;
}

static Handler getSaturating(Decoder &decoder, Type type, Handler handler) {
  if (type != Type::S32)
    decoder.failType(type);
  return handler;
}

void kvc::emu::decodeIntegerAdd(Decoder &decoder, Type type) {
  if (decoder.take("sat")) {
    getSaturating(decoder, type, nullptr);
    return emitBinary(decoder, type, [](Type) -> Handler {
      return executeBinary<AddSat, int32_t, int32_t>;
    });
  }
  emitBinary(decoder, type, KVC_INTEGER_HANDLER(executeBinary, Add));
}

void kvc::emu::decodeIntegerSub(Decoder &decoder, Type type) {
  if (decoder.take("sat")) {
    getSaturating(decoder, type, nullptr);
    return emitBinary(decoder, type, [](Type) -> Handler {
      return executeBinary<SubSat, int32_t, int32_t>;
    });
  }
  emitBinary(decoder, type, KVC_INTEGER_HANDLER(executeBinary, Sub));
}

/// Twice the width of `type`; None for 64 bits.
static Type getWide(Type type) {
  switch (type) {
  case Type::U16: return Type::U32;
  case Type::S16: return Type::S32;
  case Type::U32: return Type::U64;
  case Type::S32: return Type::S64;
  default: return Type::None;
  }
}

void kvc::emu::decodeIntegerMul(Decoder &decoder, Type type) {
  switch (decoder.takeOneOf({"lo", "hi", "wide"})) {
  case 0:
    return emitBinary(decoder, type, KVC_INTEGER_HANDLER(executeBinary, MulLo));
  case 1:
    return emitBinary(decoder, type, KVC_INTEGER_HANDLER(executeBinary, MulHi));
  case 2: break;
  default: decoder.fail("expected .lo, .hi or .wide of an integer product");
  }
  decoder.expectOperands(3);
  Type wide = getWide(type);
  Handler handler = nullptr;
  switch (type) {
  case Type::U16: handler = executeBinary<MulWide, uint32_t, uint16_t>; break;
  case Type::S16: handler = executeBinary<MulWide, int32_t, int16_t>; break;
  case Type::U32: handler = executeBinary<MulWide, uint64_t, uint32_t>; break;
  case Type::S32: handler = executeBinary<MulWide, int64_t, int32_t>; break;
  default: decoder.failType(type);
  }
  Row a = decoder.read(decoder.getOperand(1), type);
  Row b = decoder.read(decoder.getOperand(2), type);
  Row d = decoder.write(decoder.getOperand(0), wide);
  Ins &ins = decoder.emit(handler, getUnit(wide));
  ins.d = d, ins.a = a, ins.b = b;
}

void kvc::emu::decodeIntegerMad(Decoder &decoder, Type type) {
  bool isSaturated = decoder.take("sat");
  switch (decoder.takeOneOf({"lo", "hi", "wide"})) {
  case 0:
    if (isSaturated)
      decoder.fail("'mad.lo' does not support the modifier .sat");
    return emitTernary(decoder, KVC_INTEGER_HANDLER(executeTernary, MadLo)(type),
                       type, type);
  case 1:
    if (isSaturated)
      return emitTernary(
          decoder,
          getSaturating(decoder, type, executeTernary<MadHiSat, int32_t, int32_t>),
          type, type);
    return emitTernary(decoder, KVC_INTEGER_HANDLER(executeTernary, MadHi)(type),
                       type, type);
  case 2: break;
  default: decoder.fail("expected .lo, .hi or .wide of an integer product");
  }
  Handler handler = nullptr;
  switch (isSaturated ? Type::None : type) {
  case Type::U16:
    handler = executeTernary<MadWide, uint32_t, uint16_t, uint16_t, uint32_t>;
    break;
  case Type::S16:
    handler = executeTernary<MadWide, int32_t, int16_t, int16_t, int32_t>;
    break;
  case Type::U32:
    handler = executeTernary<MadWide, uint64_t, uint32_t, uint32_t, uint64_t>;
    break;
  case Type::S32:
    handler = executeTernary<MadWide, int64_t, int32_t, int32_t, int64_t>;
    break;
  default: decoder.failType(type);
  }
  emitTernary(decoder, handler, type, getWide(type));
}

static void decodeMul24(Decoder &decoder) {
  Type type = decoder.takeType();
  int half = decoder.takeOneOf({"lo", "hi"});
  bool isHigh = half == 1, isSigned = type == Type::S32;
  if (!isSigned && type != Type::U32)
    decoder.failType(type);
  if (half < 0)
    decoder.fail("expected .lo or .hi of a product of 24 bits");
  if (decoder.get().opcode == "mad24") {
    if (isHigh && isSigned && decoder.take("sat"))
      return emitTernary(decoder, executeTernary<Mad24HiSat, int32_t, int32_t>, type,
                         type);
    Handler handler =
        isHigh ? (isSigned ? executeTernary<Mad24Hi, int32_t, int32_t>
                           : executeTernary<Mad24Hi, uint32_t, uint32_t>)
               : (isSigned ? executeTernary<Mad24Lo, int32_t, int32_t>
                           : executeTernary<Mad24Lo, uint32_t, uint32_t>);
    return emitTernary(decoder, handler, type, type);
  }
  if (isHigh)
    emitBinary(decoder, type, KVC_INTEGER_HANDLER(executeBinary, Mul24Hi));
  else
    emitBinary(decoder, type, KVC_INTEGER_HANDLER(executeBinary, Mul24Lo));
}

template <bool IsRemainder> static Handler getDivision(Type type) {
  switch (type) {
  case Type::U16: return executeDivision<uint16_t, IsRemainder>;
  case Type::S16: return executeDivision<int16_t, IsRemainder>;
  case Type::U32: return executeDivision<uint32_t, IsRemainder>;
  case Type::S32: return executeDivision<int32_t, IsRemainder>;
  case Type::U64: return executeDivision<uint64_t, IsRemainder>;
  case Type::S64: return executeDivision<int64_t, IsRemainder>;
  default: return nullptr;
  }
}

void kvc::emu::decodeIntegerDiv(Decoder &decoder, Type type) {
  emitBinary(decoder, type, getDivision<false>);
}

static void decodeRem(Decoder &decoder) {
  emitBinary(decoder, decoder.takeType(), getDivision<true>);
}

void kvc::emu::decodeIntegerMin(Decoder &decoder, Type type) {
  if (type == Type::S32 && decoder.take("relu"))
    return emitBinary(decoder, type, [](Type) -> Handler {
      return executeBinary<MinRelu, int32_t, int32_t>;
    });
  emitBinary(decoder, type, KVC_INTEGER_HANDLER(executeBinary, Min));
}

void kvc::emu::decodeIntegerMax(Decoder &decoder, Type type) {
  if (type == Type::S32 && decoder.take("relu"))
    return emitBinary(decoder, type, [](Type) -> Handler {
      return executeBinary<MaxRelu, int32_t, int32_t>;
    });
  emitBinary(decoder, type, KVC_INTEGER_HANDLER(executeBinary, Max));
}

void kvc::emu::decodeIntegerNeg(Decoder &decoder, Type type) {
  emitUnary(decoder, type, [](Type t) -> Handler {
    switch (t) {
    case Type::S16: return executeUnary<Neg, int16_t, int16_t>;
    case Type::S32: return executeUnary<Neg, int32_t, int32_t>;
    case Type::S64: return executeUnary<Neg, int64_t, int64_t>;
    default: return nullptr;
    }
  });
}

void kvc::emu::decodeIntegerAbs(Decoder &decoder, Type type) {
  emitUnary(decoder, type, [](Type t) -> Handler {
    switch (t) {
    case Type::S16: return executeUnary<Abs, int16_t, int16_t>;
    case Type::S32: return executeUnary<Abs, int32_t, int32_t>;
    case Type::S64: return executeUnary<Abs, int64_t, int64_t>;
    default: return nullptr;
    }
  });
}

static void decodeSad(Decoder &decoder) {
  Type type = decoder.takeType();
  Handler handler = nullptr;
  switch (type) {
  case Type::U16: handler = executeTernary<Sad, uint16_t, uint16_t>; break;
  case Type::S16:
    handler = executeTernary<Sad, uint16_t, int16_t, int16_t, uint16_t>;
    break;
  case Type::U32: handler = executeTernary<Sad, uint32_t, uint32_t>; break;
  case Type::S32:
    handler = executeTernary<Sad, uint32_t, int32_t, int32_t, uint32_t>;
    break;
  case Type::U64: handler = executeTernary<Sad, uint64_t, uint64_t>; break;
  case Type::S64:
    handler = executeTernary<Sad, uint64_t, int64_t, int64_t, uint64_t>;
    break;
  default: break;
  }
  emitTernary(decoder, handler, type, type);
}

/// dp4a.atype.btype, dp2a.lo/hi.atype.btype
static void decodeDotProduct(Decoder &decoder) {
  bool isDp4a = decoder.get().opcode == "dp4a";
  int half = isDp4a ? 0 : decoder.takeOneOf({"lo", "hi"});
  Type a = decoder.takeType(), b = decoder.takeType();
  auto isSigned = [&](Type type) {
    if (type != Type::S32 && type != Type::U32)
      decoder.failType(type);
    return type == Type::S32;
  };
  if (half < 0)
    decoder.fail("expected .lo or .hi after 'dp2a'");
  static constexpr Handler handlers[2][2][2] = {
      {{executeDp2a<uint16_t, uint8_t>, executeDp2a<uint16_t, int8_t>},
       {executeDp2a<int16_t, uint8_t>, executeDp2a<int16_t, int8_t>}},
      {{executeDp4a<uint8_t, uint8_t>, executeDp4a<uint8_t, int8_t>},
       {executeDp4a<int8_t, uint8_t>, executeDp4a<int8_t, int8_t>}}};
  emitTernary(decoder, handlers[isDp4a][isSigned(a)][isSigned(b)], Type::B32,
              Type::B32);
  decoder.getProgram().code.back().count = uint8_t(half);
}

void kvc::emu::addIntegerOpcodes(OpcodeTable &table) {
  table["mul24"] = table["mad24"] = decodeMul24;
  table["rem"] = decodeRem;
  table["sad"] = decodeSad;
  table["dp4a"] = table["dp2a"] = decodeDotProduct;
}
